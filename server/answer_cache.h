/* SPDX-License-Identifier: Apache-2.0
 * answer_cache.h - whole bodies of answers that were asked for more than once, under a byte budget.
 *
 *   rc = dx_answer_cache_new(&c, budget_bytes, seed, &err);     seed: not to be guessed
 *   if (dx_answer_key_make(&key, answers, v, &ask)) {           else it is none that is kept
 *       struct dx_cached *block = dx_answer_cache_get(c, &key, &hot);
 *       if (block != NULL) ... hot.body, hot.etag ...; dx_answer_cache_put(c, &block);
 *       else ... compute ..., and then
 *           dx_answer_cache_offer(c, &key, answers, v, body, etag);
 *   }
 *   dx_answer_cache_free(&c);                                    after the last put
 *
 * The key is all that a byte of the answer depends on, as bytes, and a hit compares all of them: hashes
 * only lead there. It is of one open version (whatever its name), of one state of the suppressions,
 * of what who asks may see, and of one question as it was asked; with cursors also of the minute that they count
 * from, and of the principal, since they are sealed for him. What
 * was computed while the suppressions changed is not kept. Nobody has to be told of flips or
 * of rules: entries of what is over are not found again, and give way in time.
 *
 * An answer is kept when its question comes for the second time within some ten thousand others: what
 * is asked once, by a crawl, drives nothing out. One that is larger than a sixteenth of the budget
 * is not kept. Bodies are sent from where they lie: a block stays until its last put.
 *
 * Thread-safe.
 */
#ifndef DX_SERVER_ANSWER_CACHE_H
#define DX_SERVER_ANSWER_CACHE_H

#include "cache/page_cache.h"
#include "format/access_table.h"
#include "server/answers.h"
#include "server/reply.h"

#define DX_ANSWER_KEY_FIXED 144 /* eighteen numbers */
#define DX_ANSWER_ASKED_MAX \
    256 /* a longer name is no domain; with what a filter asks, it is rarely asked twice */

struct dx_answer_key {
    uint64_t state[2]; /* as dx_answers.state gives it */
    size_t size;
    uint8_t bytes[DX_ANSWER_KEY_FIXED + DX_ANSWER_ASKED_MAX + DX_ACCESS_NAME_MAX];
};

struct dx_hot_answer {
    struct dx_span body;
    const char *etag;
};

struct dx_answer_cache;

int dx_answer_cache_new(struct dx_answer_cache **c, uint64_t budget_bytes, uint64_t seed,
                        struct dx_error *err);
void dx_answer_cache_free(struct dx_answer_cache **c);

/* ask: resolved. False: answers to it are not kept. */
bool dx_answer_key_make(struct dx_answer_key *key, const struct dx_answers *answers,
                        struct dx_version *v, const struct dx_ask *ask);

struct dx_cached *dx_answer_cache_get(struct dx_answer_cache *c, const struct dx_answer_key *key,
                                      struct dx_hot_answer *hot);
void dx_answer_cache_put(struct dx_answer_cache *c, struct dx_cached **block);

/* v: that the answer was computed from after the key was made. */
void dx_answer_cache_offer(struct dx_answer_cache *c, const struct dx_answer_key *key,
                           const struct dx_answers *answers, struct dx_version *v,
                           struct dx_span body, const char *etag);

void dx_answer_cache_stats(struct dx_answer_cache *c, struct dx_page_cache_stats *out);

#endif
