/* SPDX-License-Identifier: Apache-2.0
 * fake_answers.h - a double of the answers, for tests of the server alone.
 *
 *   struct dx_fake *fake = dx_fake_new();
 *   struct dx_answers answers = dx_fake_answers(fake);
 *   dx_fake_flip(fake);                "fake-2" becomes current
 *   dx_fake_keep(fake);                those that flips supersede can be asked for by name, and
 *                                      must be fetched the first time
 *   dx_fake_forget(fake);              they are gone
 *   dx_fake_gate(fake, false);         listings of "gate.example", and who fetches a
 *                                      version, wait until it opens
 *   clean = dx_fake_free(&fake);       whether no pin and no canonicaliser was left
 *
 * What is asked decides: "absent.example" 404, "bad.example" 400, "damaged.example" 500,
 * "unavailable.example" 503, "toomuch.example" 422, "big.example" 8 MiB of body,
 * "slow.example" a listing that takes 200 ms; all else is found and echoed. An answer with a
 * canonicaliser of another version fails as damaged.
 */
#ifndef DX_TESTS_SUPPORT_FAKE_ANSWERS_H
#define DX_TESTS_SUPPORT_FAKE_ANSWERS_H

#include "server/routes/answers.h"

#define DX_FAKE_BIG_BYTES (8u << 20)
/* Of a domain and of a listing. */
#define DX_FAKE_SUMMARY          \
    ((struct dx_answer_summary){ \
        .domain_id = 0xfa4e, .has_domain_id = true, .datasets = 2, .rows = 30 })

struct dx_fake;

struct dx_fake *dx_fake_new(void);
struct dx_answers dx_fake_answers(struct dx_fake *fake);
void dx_fake_flip(struct dx_fake *fake);
void dx_fake_keep(struct dx_fake *fake);
void dx_fake_forget(struct dx_fake *fake);
void dx_fake_gate(struct dx_fake *fake, bool open);
long dx_fake_versions(const struct dx_fake *fake); /* not yet freed, the current one included */
long dx_fake_pins(const struct dx_fake *fake);     /* held by users */
long dx_fake_listings(const struct dx_fake *fake); /* begun so far */
long dx_fake_fetched(const struct dx_fake *fake);  /* versions, so far */
bool dx_fake_free(struct dx_fake **fake);

#endif
