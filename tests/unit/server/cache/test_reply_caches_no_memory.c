/* SPDX-License-Identifier: Apache-2.0
 * Both caches of answers keep less when memory runs out, and what they have is right. */
#include "server/cache/reply_cache.h"

#include <stdio.h>
#include <string.h>

#include "server/cache/body_cache.h"
#include "tests/runner/fail_alloc.h"

#define TARGETS 30

static int replies(void *ctx, struct dx_error *err)
{
    static const struct dx_hot_state state = { .version = 1 };
    struct dx_reply_cache cache;
    int rc = DX_OK;

    (void)ctx;
    dx_reply_cache_init(&cache, 1 << 16, 42);
    dx_reply_cache_begin(&cache, &state);
    for (unsigned i = 0; rc == DX_OK && i < 3 * TARGETS; i++) {
        char target[32];
        char head[256] = "";
        struct dx_cached_reply *r;
        const struct dx_cached_reply_parts parts = { .status = 200,
                                                     .etag = "\"tag\"",
                                                     .date_second = 1,
                                                     .head = dx_span_of(head, sizeof head),
                                                     .body = dx_span_of(target, sizeof target) };

        memset(target, 0, sizeof target);
        (void)snprintf(target, sizeof target, "/v1/domain/%u", i % TARGETS);
        r = dx_reply_cache_get(&cache, 7, dx_span_str(target));
        if (r != NULL &&
            memcmp(r->bytes + r->target_size + r->head_size, target, sizeof target) != 0)
            rc = dx_fail(err, DX_E_CORRUPT, "%s: another reply", target);
        if (r == NULL && dx_reply_cache_wants(&cache, 7, dx_span_str(target)))
            dx_reply_cache_put(&cache, 7, dx_span_str(target), &parts);
    }
    dx_reply_cache_release(&cache);
    return rc;
}

static bool state(struct dx_version *v, uint64_t out[2])
{
    (void)v;
    out[0] = out[1] = 1;
    return true;
}

static int bodies(void *ctx, struct dx_error *err)
{
    static const struct dx_answers answers = { .state = state, .cursor_life_s = 900 };
    struct dx_body_cache *c = NULL;
    int rc = dx_body_cache_new(&c, 1 << 16, 42, err);

    (void)ctx;
    for (uint32_t i = 0; rc == DX_OK && i < TARGETS; i++) {
        const struct dx_ask ask = { .route = DX_ROUTE_URLS,
                                    .dataset_id = i + 1,
                                    .page = { 10, 0 },
                                    .field_bits = DX_FIELDS_DEFAULT,
                                    .now_s = 1700000000,
                                    .asked = dx_span_str("example.com") };
        struct dx_hot_answer answer = { .body = dx_span_of((const uint8_t *)&i, sizeof i),
                                        .etag = "\"e\"" };
        struct dx_body_key key;
        struct dx_cached *block;

        if (!dx_body_key_make(&key, &answers, NULL, &ask))
            rc = dx_fail(err, DX_E_INVALID, "no key");
        dx_body_cache_offer(c, &key, &answers, NULL, &answer);
        dx_body_cache_offer(c, &key, &answers, NULL, &answer); /* the second time it is kept */
        block = dx_body_cache_get(c, &key, &answer);
        if (block != NULL && memcmp(answer.body.data, &i, sizeof i) != 0)
            rc = dx_fail(err, DX_E_CORRUPT, "%u: another answer", i);
        if (block != NULL)
            dx_body_cache_put(c, &block);
    }
    dx_body_cache_free(&c);
    return rc;
}

int main(void)
{
    return fail_alloc_each("replies", FAIL_ALLOC_GOES_ON, replies, NULL) +
               fail_alloc_each("bodies", FAIL_ALLOC_GOES_ON, bodies, NULL) >
           0;
}
