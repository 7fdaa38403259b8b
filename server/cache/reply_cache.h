/* SPDX-License-Identifier: Apache-2.0
 * reply_cache.h - whole replies that are asked for again and again, ready to be sent.
 *
 *   dx_reply_cache_init(&h, max_bytes, seed);                 0 bytes: keeps none
 *   dx_reply_cache_begin(&h, &of);                            before get and put: nothing that is of
 *                                                             another version or state is found
 *   r = dx_reply_cache_get(&h, scope, target);                NULL: not kept
 *   bytes = dx_cached_reply_bytes(r, date_second, date);         head and body, with this Date
 *   dx_cached_reply_hold(r); ... dx_cached_reply_drop(&r);          bytes stay while it is held
 *   if (dx_reply_cache_wants(&h, scope, target))              the second time lately
 *       dx_reply_cache_put(&h, scope, target, &reply);        copies
 *   dx_reply_cache_release(&h);
 *
 * A reply is found by the bytes of the request target (with the content coding that is wanted) and the key of the caller's scope
 * (format/root/scope.h), both compared in full. What it says must follow from these, the version
 * and the state alone: then one that is kept has the same bytes as one that would be made now, but
 * for the Date.
 *
 * One for each loop, so there is no lock and no line of memory that two cores write to; a popular
 * reply is kept by each loop. What goes first is found by SIEVE: those that were asked for again
 * stay, and a hit sets a flag. What is asked for once is not kept at all: a scan does not push
 * anything out. Memory: max_bytes, and what is held of replies that have gone. One thread.
 */
#ifndef DX_SERVER_CACHE_REPLY_CACHE_H
#define DX_SERVER_CACHE_REPLY_CACHE_H

#include "query/answers/answer.h"
#include "server/http/reply.h"
#include "server/routes/routes.h"

#include <sys/queue.h>

struct dx_cached_reply {
    struct dx_cached_reply *next; /* of its bucket */
    TAILQ_ENTRY(dx_cached_reply) links;
    uint64_t hash;
    uint64_t scope;
    unsigned turn;    /* of the store when it was kept; another one: it is found no more */
    bool again;       /* asked for since the hand passed */
    unsigned holders; /* the store is one, until it goes */
    int status;
    char etag[DX_ETAG_TEXT]; /* "": none */
    const char *refusal;     /* of a record; NULL: none */
    enum dx_route_id route;
    struct dx_answer_summary summary;
    time_t date_second;
    uint32_t date_at; /* in the head */
    uint32_t target_size;
    uint32_t subject_size;
    size_t head_size;
    size_t body_size;
    uint8_t bytes[]; /* target, head, body, subject */
};

TAILQ_HEAD(dx_cached_reply_list, dx_cached_reply);

#define DX_HOT_SEEN 8192 /* targets that were asked for lately; a power of two */

/* What all that can be found is of. */
struct dx_hot_state {
    uint64_t version; /* two numbers as dx_answers.state gives them */
    uint64_t state;
    bool table; /* an access table is in force: replies have other heads */
};

struct dx_reply_cache {
    struct dx_hot_state of;
    unsigned turn; /* another one with each version or state */
    uint64_t seed;
    size_t max_bytes;
    size_t bytes;
    struct dx_cached_reply **buckets; /* NULL: nothing was ever kept */
    size_t bucket_count;              /* a power of two */
    struct dx_cached_reply_list list; /* newest first */
    struct dx_cached_reply *hand;     /* the next that may go; NULL: the oldest */
    uint16_t seen[DX_HOT_SEEN];       /* by some bits of the hash: others */
};

void dx_reply_cache_init(struct dx_reply_cache *h, size_t max_bytes, uint64_t seed);
void dx_reply_cache_release(struct dx_reply_cache *h);

void dx_reply_cache_begin(struct dx_reply_cache *h, const struct dx_hot_state *of);
struct dx_cached_reply *dx_reply_cache_get(struct dx_reply_cache *h, uint64_t scope,
                                           struct dx_span target);
bool dx_reply_cache_wants(struct dx_reply_cache *h, uint64_t scope, struct dx_span target);

static inline bool dx_hot_state_same(const struct dx_hot_state *a, const struct dx_hot_state *b)
{
    return a->version == b->version && a->state == b->state && a->table == b->table;
}

struct dx_cached_reply_parts {
    int status;
    const char *etag; /* NULL: none */
    time_t date_second;
    size_t date_at; /* where the text of the Date is in the head */
    struct dx_span head;
    struct dx_span body;
    struct dx_span subject; /* the domain that it is about; size 0: none */
    /* For the record of each request that it answers; refusal: static, a problem's slug. */
    const char *refusal;
    enum dx_route_id route;
    struct dx_answer_summary summary;
};

/* Does nothing if there is no room, or no memory. */
void dx_reply_cache_put(struct dx_reply_cache *h, uint64_t scope, struct dx_span target,
                        const struct dx_cached_reply_parts *parts);

/* Size 0: it is being sent with another Date. */
struct dx_span dx_cached_reply_bytes(struct dx_cached_reply *r, time_t date_second,
                                     const char *date);
struct dx_span dx_cached_reply_subject(const struct dx_cached_reply *r);

static inline void dx_cached_reply_hold(struct dx_cached_reply *r)
{
    r->holders++;
}

void dx_cached_reply_drop(struct dx_cached_reply **r);

#endif
