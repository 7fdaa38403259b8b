/* SPDX-License-Identifier: Apache-2.0
 * Replies that are kept: beside a plain table of what was put, at random; what stays and what goes;
 * the Date; those that are being sent while the store forgets them.
 */
#include "server/cache/reply_cache.h"
#include "tests/support/damage.h"

#include <stdlib.h>

#define TARGETS 400

static unsigned failures;
static uint64_t random_state = 7;

static const char date_a[] = "Sun, 06 Nov 1994 08:49:37 GMT";
static const char date_b[] = "Mon, 07 Nov 1994 08:49:38 GMT";

struct made {
    char target[40];
    char head[120];
    char body[4000];
    size_t body_size;
    struct dx_cached_reply_parts parts;
};

/* What the reply to a target is, of a version and a state. */
static void make(struct made *m, unsigned target, unsigned version, unsigned state)
{
    (void)snprintf(m->target, sizeof m->target, "/v1/domain/site%u.com", target);
    m->body_size = target * 7919 % sizeof m->body;
    memset(m->body, 'a' + (int)((version * 5 + state + target) % 26), m->body_size);
    (void)snprintf(m->head, sizeof m->head, "HTTP/1.1 200 OK\r\nDate: %s\r\nV: %u.%u.%u\r\n\r\n",
                   date_a, version, state, target);
    m->parts = (struct dx_cached_reply_parts){ .status = 200,
                                               .etag = "\"tag\"",
                                               .date_second = 1,
                                               .date_at = dx_reply_date_at(200),
                                               .head = dx_span_str(m->head),
                                               .body = dx_span_of(m->body, m->body_size) };
}

static bool is_made(struct dx_cached_reply *r, struct made *m, time_t second, const char *date)
{
    struct dx_span got = dx_cached_reply_bytes(r, second, date);
    size_t head = strlen(m->head);

    memcpy(m->head + dx_reply_date_at(200), date, DX_HTTP_DATE_TEXT - 1);
    return got.size == head + m->body_size && memcmp(got.data, m->head, head) == 0 &&
           memcmp(got.data + head, m->body, m->body_size) == 0;
}

static size_t sum(const struct dx_reply_cache *h)
{
    size_t bytes = 0;
    struct dx_cached_reply *r;

    TAILQ_FOREACH(r, &h->list, links)
    bytes += sizeof *r + r->target_size + r->head_size + r->body_size;
    return bytes;
}

/* Never another answer than that of this target, this version and this state. */
static void check_random(size_t max_bytes)
{
    struct dx_reply_cache h;
    struct dx_cached_reply *held[8] = { NULL };
    struct made held_made[8];
    unsigned version = 1;
    unsigned state = 0;
    unsigned found = 0;

    dx_reply_cache_init(&h, max_bytes, 42);
    for (unsigned i = 0; i < 60000; i++) {
        uint64_t r = random_next(&random_state);
        unsigned target = (unsigned)(r % TARGETS * (r >> 32 & 1023) / 1024); /* some are hot */
        unsigned place = r >> 50 & 7;
        struct dx_cached_reply *got;
        struct made m;

        version += r % 997 == 0;
        state += r % 499 == 0;
        dx_reply_cache_begin(&h, &(struct dx_hot_state){ version, state, false });
        make(&m, target, version, state);
        got = dx_reply_cache_get(&h, 0, dx_span_str(m.target));
        if (got == NULL) {
            if (dx_reply_cache_wants(&h, 0, dx_span_str(m.target)))
                dx_reply_cache_put(&h, 0, dx_span_str(m.target), &m.parts);
            continue;
        }
        found++;
        if (got->holders == 1)
            EXPECT(r % 2 == 0 ? is_made(got, &m, 1, date_a) : is_made(got, &m, 2, date_b),
                   "%s of %u.%u", m.target, version, state);
        if (held[place] != NULL)
            EXPECT(is_made(held[place], &held_made[place], held[place]->date_second,
                           held[place]->date_second == 1 ? date_a : date_b),
                   "%s changed while it was held", held_made[place].target);
        dx_cached_reply_drop(&held[place]);
        if (r >> 40 & 1) {
            held[place] = got;
            held_made[place] = m;
            dx_cached_reply_hold(got);
        }
        EXPECT(h.bytes <= max_bytes && h.bytes == sum(&h), "%zu bytes, %zu are there", h.bytes,
               sum(&h));
    }
    EXPECT(found > 2000, "only %u found", found);
    dx_reply_cache_release(&h);
    for (unsigned i = 0; i < 8; i++)
        dx_cached_reply_drop(&held[i]);
}

static bool keep(struct dx_reply_cache *h, unsigned target)
{
    struct made m;

    make(&m, target, 1, 1);
    if (!dx_reply_cache_wants(h, 0, dx_span_str(m.target)))
        return false;
    dx_reply_cache_put(h, 0, dx_span_str(m.target), &m.parts);
    return true;
}

static struct dx_cached_reply *get(struct dx_reply_cache *h, unsigned target)
{
    struct made m;

    make(&m, target, 1, 1);
    return dx_reply_cache_get(h, 0, dx_span_str(m.target));
}

static void check_scan(void)
{
    struct dx_reply_cache h;
    unsigned kept = 0;

    dx_reply_cache_init(&h, 64 << 10, 1);
    dx_reply_cache_begin(&h, &(struct dx_hot_state){ 1, 1, false });
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 8; i++)
            if (get(&h, i) == NULL)
                EXPECT(keep(&h, i) == (round == 1), "kept the second time: %u, round %u", i, round);
    for (unsigned i = 100; i < 5000;
         i++) { /* once each: none is kept, but by chance of its marks */
        (void)keep(&h, i);
        kept += get(&h, i) != NULL;
    }
    EXPECT(kept <= 5, "%u of a scan were kept", kept);
    for (unsigned i = 100; i < 400; i++) { /* twice each: those that are asked for again stay */
        (void)keep(&h, i);
        EXPECT(keep(&h, i), "wanted the second time: %u", i);
        for (unsigned k = 0; i % 10 == 0 && k < 8; k++)
            EXPECT(get(&h, k) != NULL, "%u was pushed out at %u", k, i);
    }
    dx_reply_cache_release(&h);
}

static void check_edges(void)
{
    struct dx_reply_cache h;
    struct dx_cached_reply *r;
    struct made m;

    make(&m, 3, 1, 1);
    dx_reply_cache_init(&h, 0, 1);
    dx_reply_cache_begin(&h, &(struct dx_hot_state){ 1, 1, false });
    EXPECT(!keep(&h, 3) && !keep(&h, 3), "no memory: none is wanted");
    dx_reply_cache_put(&h, 0, dx_span_str(m.target), &m.parts);
    EXPECT(get(&h, 3) == NULL, "no memory: none is kept");
    dx_reply_cache_release(&h);

    dx_reply_cache_init(&h, 64 << 10, 1);
    dx_reply_cache_begin(&h, &(struct dx_hot_state){ 1, 1, false });
    m.parts.body = dx_span_of(calloc(1, 32 << 10), 32 << 10);
    dx_reply_cache_put(&h, 0, dx_span_str(m.target), &m.parts);
    EXPECT(get(&h, 3) == NULL, "one that is too large for its share");
    free((void *)(uintptr_t)m.parts.body.data);

    make(&m, 3, 1, 1);
    dx_reply_cache_put(&h, 0, dx_span_str(m.target), &m.parts);
    r = get(&h, 3);
    EXPECT(r != NULL && strcmp(r->etag, "\"tag\"") == 0, "kept with its tag");
    EXPECT(dx_reply_cache_get(&h, 0, (struct dx_span){ NULL, 0 }) == NULL, "an empty target");
    EXPECT(dx_reply_cache_get(&h, 5, dx_span_str(m.target)) == NULL, "found of another scope");
    EXPECT(!dx_reply_cache_wants(&h, 6, dx_span_str(m.target)) &&
               !dx_reply_cache_wants(&h, 7, dx_span_str(m.target)),
           "wanted since others asked for it");
    dx_cached_reply_hold(r);
    EXPECT(dx_cached_reply_bytes(r, 2, date_b).size == 0, "no other Date while it is being sent");
    EXPECT(is_made(r, &m, 1, date_a), "the same Date while it is being sent");
    dx_reply_cache_begin(&h, &(struct dx_hot_state){ 2, 1, false });
    EXPECT(get(&h, 3) == NULL, "found of another version");
    dx_reply_cache_begin(&h, &(struct dx_hot_state){ 1, 1, false });
    EXPECT(get(&h, 3) == NULL, "found after another version was there");
    make(&m, 3, 1, 1);
    dx_reply_cache_put(&h, 0, dx_span_str(m.target), &m.parts);
    EXPECT(get(&h, 3) != NULL, "not kept again");
    dx_reply_cache_begin(&h, &(struct dx_hot_state){ 1, 1, true });
    EXPECT(get(&h, 3) == NULL, "found with the head of a time without a table");
    dx_reply_cache_release(&h);
    EXPECT(is_made(r, &m, 1, date_a), "held longer than its store");
    dx_cached_reply_drop(&r);
}

int main(void)
{
    check_random(16 << 10);
    check_random(200 << 10);
    check_random(16 << 20);
    check_scan();
    check_edges();
    return failures > 0;
}
