/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cache/reply_cache.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_EACH 1024 /* that a bucket stands for */
#define BUCKETS_MAX (1u << 20)
#define FORGET_EACH 4 /* of those that are of no use any more, with each that is kept */
#define SHARE_MAX 8   /* one reply is at most this part of all */

void dx_reply_cache_init(struct dx_reply_cache *h, size_t max_bytes, uint64_t seed)
{
    *h = (struct dx_reply_cache){ .max_bytes = max_bytes, .seed = seed, .bucket_count = 64 };
    while (h->bucket_count < max_bytes / BYTES_EACH && h->bucket_count < BUCKETS_MAX)
        h->bucket_count *= 2;
    TAILQ_INIT(&h->list);
}

static size_t bytes_of(const struct dx_cached_reply *r)
{
    return sizeof *r + r->target_size + r->head_size + r->body_size + r->subject_size;
}

void dx_cached_reply_drop(struct dx_cached_reply **r)
{
    if (*r != NULL && --(*r)->holders == 0)
        free(*r);
    *r = NULL;
}

static void forget(struct dx_reply_cache *h, struct dx_cached_reply *r)
{
    struct dx_cached_reply **at = &h->buckets[r->hash & (h->bucket_count - 1)];

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (h->hand == r)
        h->hand = TAILQ_PREV(r, dx_cached_reply_list, links);
    TAILQ_REMOVE(&h->list, r, links);
    h->bytes -= bytes_of(r);
    dx_cached_reply_drop(&r);
}

void dx_reply_cache_release(struct dx_reply_cache *h)
{
    while (!TAILQ_EMPTY(&h->list))
        forget(h, TAILQ_FIRST(&h->list));
    free(h->buckets);
    h->buckets = NULL;
}

void dx_reply_cache_begin(struct dx_reply_cache *h, const struct dx_hot_state *of)
{
    if (dx_hot_state_same(&h->of, of))
        return;
    h->turn++; /* to free them all at once would hold up the requests that wait */
    h->of = *of;
}

static uint64_t hash_of(const struct dx_reply_cache *h, uint64_t scope, struct dx_span target)
{
    return dx_hash64_seeded(target, h->seed ^ scope);
}

static struct dx_cached_reply *find(const struct dx_reply_cache *h, uint64_t hash, uint64_t scope,
                                    struct dx_span target)
{
    struct dx_cached_reply *r = h->buckets == NULL ? NULL
                                                   : h->buckets[hash & (h->bucket_count - 1)];

    while (r != NULL &&
           (r->hash != hash || r->turn != h->turn || r->scope != scope ||
            r->target_size != target.size || memcmp(r->bytes, target.data, target.size) != 0))
        r = r->next;
    return r;
}

struct dx_cached_reply *dx_reply_cache_get(struct dx_reply_cache *h, uint64_t scope,
                                           struct dx_span target)
{
    struct dx_cached_reply *r = target.size == 0
                                    ? NULL
                                    : find(h, hash_of(h, scope, target), scope, target);

    if (r != NULL)
        r->again = true;
    return r;
}

bool dx_reply_cache_wants(struct dx_reply_cache *h, uint64_t scope, struct dx_span target)
{
    uint64_t hash = hash_of(h, scope, target);
    uint16_t *seen = &h->seen[hash & (DX_HOT_SEEN - 1)];
    uint16_t mark = (uint16_t)(hash >> 48 | 1); /* 0: nothing yet */
    bool again = *seen == mark;

    *seen = mark;
    return again && h->max_bytes > 0;
}

/* SIEVE: the hand goes from old to new and round again; what was asked for since it passed stays. */
static void make_room(struct dx_reply_cache *h, size_t bytes)
{
    while (h->bytes + bytes > h->max_bytes) {
        struct dx_cached_reply *r = h->hand != NULL ? h->hand
                                                    : TAILQ_LAST(&h->list, dx_cached_reply_list);

        if (r->again && r->turn == h->turn) {
            r->again = false;
            h->hand = TAILQ_PREV(r, dx_cached_reply_list, links);
        } else {
            h->hand = r;
            forget(h, r);
        }
    }
}

/* Those of other versions are the oldest ones. */
static void forget_some(struct dx_reply_cache *h)
{
    for (unsigned i = 0; i < FORGET_EACH; i++) {
        struct dx_cached_reply *oldest = TAILQ_LAST(&h->list, dx_cached_reply_list);

        if (oldest == NULL || oldest->turn == h->turn)
            return;
        forget(h, oldest);
    }
}

static struct dx_cached_reply *make_reply(struct dx_span target,
                                          const struct dx_cached_reply_parts *parts)
{
    struct dx_cached_reply *r = malloc(sizeof *r + target.size + parts->head.size +
                                       parts->body.size + parts->subject.size);

    if (r == NULL)
        return NULL;
    r->again = false;
    r->holders = 1;
    r->status = parts->status;
    r->etag[0] = '\0';
    if (parts->etag != NULL)
        memcpy(r->etag, parts->etag, strlen(parts->etag) + 1);
    r->refusal = parts->refusal;
    r->route = parts->route;
    r->summary = parts->summary;
    r->date_second = parts->date_second;
    r->date_at = (uint32_t)parts->date_at;
    r->target_size = (uint32_t)target.size;
    r->head_size = parts->head.size;
    r->body_size = parts->body.size;
    r->subject_size = (uint32_t)parts->subject.size;
    memcpy(r->bytes, target.data, target.size);
    memcpy(r->bytes + target.size, parts->head.data, parts->head.size);
    memcpy(r->bytes + target.size + parts->head.size, parts->body.data, parts->body.size);
    if (parts->subject.size > 0)
        memcpy(r->bytes + target.size + parts->head.size + parts->body.size, parts->subject.data,
               parts->subject.size);
    return r;
}

void dx_reply_cache_put(struct dx_reply_cache *h, uint64_t scope, struct dx_span target,
                        const struct dx_cached_reply_parts *parts)
{
    size_t bytes = sizeof(struct dx_cached_reply) + target.size + parts->head.size +
                   parts->body.size + parts->subject.size;
    uint64_t hash = hash_of(h, scope, target);
    struct dx_cached_reply **bucket;
    struct dx_cached_reply *r;

    if (bytes > h->max_bytes / SHARE_MAX || find(h, hash, scope, target) != NULL)
        return;
    if (h->buckets == NULL)
        h->buckets = calloc(h->bucket_count, sizeof(struct dx_cached_reply *));
    if (h->buckets == NULL)
        return;
    forget_some(h);
    make_room(h, bytes);
    r = make_reply(target, parts);
    if (r == NULL)
        return;
    bucket = &h->buckets[hash & (h->bucket_count - 1)];
    r->hash = hash;
    r->scope = scope;
    r->turn = h->turn;
    r->next = *bucket;
    *bucket = r;
    TAILQ_INSERT_HEAD(&h->list, r, links);
    h->bytes += bytes;
}

struct dx_span dx_cached_reply_bytes(struct dx_cached_reply *r, time_t date_second,
                                     const char *date)
{
    uint8_t *head = r->bytes + r->target_size;

    if (r->date_second != date_second) {
        if (r->holders > 1)
            return (struct dx_span){ head, 0 };
        memcpy(head + r->date_at, date, DX_HTTP_DATE_TEXT - 1);
        r->date_second = date_second;
    }
    return (struct dx_span){ head, r->head_size + r->body_size };
}

struct dx_span dx_cached_reply_subject(const struct dx_cached_reply *r)
{
    return (struct dx_span){ r->bytes + r->target_size + r->head_size + r->body_size,
                             r->subject_size };
}
