/* SPDX-License-Identifier: Apache-2.0
 * body_cache.h - whole bodies of answers that were asked for more than once, under a byte budget.
 *
 *   rc = dx_body_cache_new(&c, budget_bytes, seed, &err);     seed: not to be guessed
 *   if (dx_body_key_make(&key, answers, v, &ask)) {           else it is not cached
 *       struct dx_cached *block = dx_body_cache_get(c, &key, &hot);
 *       if (block != NULL) ... hot.body, hot.etag ...; dx_body_cache_put(c, &block);
 *       else ... compute ..., and then
 *           dx_body_cache_offer(c, &key, answers, v, &hot);
 *   }
 *   dx_body_cache_free(&c);                                    after the last put
 *
 * The key is all that a byte of the answer depends on, as bytes, and a hit compares all of them:
 * hashes only lead there. It is of one open version (whatever its name), of one state of the
 * suppressions, of what the caller may see, and of one request as it was sent; with cursors also of
 * the minute that they count from, and of the principal, since they are sealed for it. What was
 * computed while the suppressions changed is not kept. Flips and rules need not invalidate
 * anything: outdated entries are not found again, and give way in time.
 *
 * An answer is kept when its question comes for the second time within some ten thousand others:
 * what is asked once, by a crawl, drives nothing out. One that is larger than a sixteenth of the
 * budget is not kept. Bodies are sent from where they lie: a block stays until its last put.
 *
 * Thread-safe.
 */
#ifndef DX_SERVER_CACHE_BODY_CACHE_H
#define DX_SERVER_CACHE_BODY_CACHE_H

#include "cache/page_cache.h"
#include "format/root/access_table.h"
#include "server/http/reply.h"
#include "server/routes/answers.h"

#define DX_ANSWER_KEY_FIXED 152 /* nineteen numbers */
#define DX_ANSWER_ASKED_MAX \
    256 /* a longer name is not a domain; with a filter, it is rarely requested twice */

struct dx_body_key {
    uint64_t state[2]; /* as dx_answers.state gives it */
    size_t size;
    uint8_t bytes[DX_ANSWER_KEY_FIXED + DX_ANSWER_ASKED_MAX + DX_ACCESS_NAME_MAX];
};

struct dx_hot_answer {
    struct dx_span body;
    const char *etag;
    struct dx_answer_summary summary;
    struct dx_span subject; /* the domain that it is about; size 0: none, or unknown */
    enum dx_coding coding;  /* that the body is in */
    bool lasts;             /* dx_route_answer_lasts */
};

struct dx_body_cache;

int dx_body_cache_new(struct dx_body_cache **c, uint64_t budget_bytes, uint64_t seed,
                      struct dx_error *err);
void dx_body_cache_free(struct dx_body_cache **c);

/* ask: resolved. False: answers to it are not kept. */
bool dx_body_key_make(struct dx_body_key *key, const struct dx_answers *answers,
                      struct dx_version *v, const struct dx_ask *ask);

struct dx_cached *dx_body_cache_get(struct dx_body_cache *c, const struct dx_body_key *key,
                                    struct dx_hot_answer *hot);
void dx_body_cache_put(struct dx_body_cache *c, struct dx_cached **block);

/* v: that the answer was computed from after the key was made. */
void dx_body_cache_offer(struct dx_body_cache *c, const struct dx_body_key *key,
                         const struct dx_answers *answers, struct dx_version *v,
                         const struct dx_hot_answer *hot);

void dx_body_cache_stats(struct dx_body_cache *c, struct dx_page_cache_stats *out);

#endif
