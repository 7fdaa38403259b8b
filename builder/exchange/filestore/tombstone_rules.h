/* SPDX-License-Identifier: Apache-2.0
 * tombstone_rules.h - the keys that a file store has deleted, as rules of the suppressions.
 *
 *   struct dx_tombstone_rules t = { .root = root, .dataset = "crawl", .folder = work, .dead = "dead", .live = "live" };
 *   rc = dx_tombstone_rules_apply(&t, &err);               1 the log was written, 0 all was so already
 *   ... t.added, t.lifted, t.kept, t.live_too, t.unusable ...
 *
 * dead and live are files in `folder`, a key a line: those of the tombstone, and those of pages
 * that the store has. Afterwards each dead key has a rule for its canonical URL, policy absent, but
 * where a live key has the same one. A rule that an earlier run made for this dataset, as its
 * reason says, is lifted when a live key has its URL. Other rules stay as they are, also those for
 * the same URLs.
 *
 * A rule is for a URL in all datasets (format/root/rules.h). All of it is one change of the log
 * (builder/policy/suppress.h), and the same again changes nothing. Memory: the canonical URLs of
 * dead keys and of earlier rules.
 */
#ifndef DX_BUILDER_EXCHANGE_FILESTORE_TOMBSTONE_RULES_H
#define DX_BUILDER_EXCHANGE_FILESTORE_TOMBSTONE_RULES_H

#include "base/error.h"

#include <stdint.h>

struct dx_tombstone_rules {
    const char *root;
    const char *dataset;
    const char *folder;
    const char *dead, *live;

    uint64_t added;
    uint64_t lifted;
    uint64_t kept;     /* dead keys whose URL was hidden so already */
    uint64_t live_too; /* dead keys whose URL the store has under another key */
    uint64_t unusable; /* dead keys without a canonical URL: no row can be of them */
};

int dx_tombstone_rules_apply(struct dx_tombstone_rules *t, struct dx_error *err);

#endif
