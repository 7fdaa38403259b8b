/* SPDX-License-Identifier: Apache-2.0
 * ruled_domains.h - which domains of a version the rules in force concern: found once for all requests, not by each.
 *
 *   struct dx_ruled_domains *r;
 *   rc = dx_ruled_domains_prepare(v, canon, &err);                before v serves, and before other rules hold
 *   rc = dx_ruled_domains_get(&r, v, canon, &err);                1; 0: no rule is in force, and r is NULL; <0
 *   end = dx_ruled_domains_end(r, number);                        0: no rule is for the whole domain; r may be NULL
 *   dx_ruled_domains_put(&r);                                     NULL is fine
 *
 * Numbers are the version's (loader/version_parts.h). A version keeps those of two turns of the rules, so those that come
 * next beside those that hold: 16 bytes a range, 8 a domain of which a part is hidden. To find them costs two look-ups a
 * rule, and two for each new rule where only rules were added to those found before. Prepare does it without making a get
 * wait. In a server no get has to do it, as each version is prepared before it serves, and the rules are exchanged after
 * all open versions were prepared for the next ones (dx_suppression_view_follow): a version that is not open then sees
 * these when it is prepared. Elsewhere the first get finds them, and others wait for it. All later ones cost two locks, and
 * without rules a look at an atomic. canon is of the version, which the caller holds. Read-only; any thread.
 */
#ifndef DX_QUERY_SUPPRESSION_RULED_DOMAINS_H
#define DX_QUERY_SUPPRESSION_RULED_DOMAINS_H

#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct dx_canon;
struct dx_version;

struct dx_hidden_range {
    uint64_t first, end; /* numbers; a rule for a public suffix hides many */
};

struct dx_ruled_domains {
    uint64_t turn;                 /* of the rules, */
    uint64_t line;                 /* the last line of their log, */
    size_t rule_count;             /* and how many of them are active */
    struct dx_hidden_range *whole; /* by rules for a domain: in order, apart from each other */
    size_t whole_count;
    /* Domains of which rules concern some rows: ascending, each once, none in a range of whole. */
    uint64_t *parts;
    size_t part_count;
    _Atomic long holders; /* private */
};

int dx_ruled_domains_prepare(struct dx_version *v, struct dx_canon *canon, struct dx_error *err);
int dx_ruled_domains_get(struct dx_ruled_domains **r, struct dx_version *v, struct dx_canon *canon,
                         struct dx_error *err);
void dx_ruled_domains_put(struct dx_ruled_domains **r);
/* The end of the range that has the number. */
uint64_t dx_ruled_domains_end(const struct dx_ruled_domains *r, uint64_t number);

/* The first one from this one on that ends behind the number; count: none does. */
size_t dx_hidden_range_from(const struct dx_hidden_range *ranges, size_t count, size_t from,
                            uint64_t number);
/* Brings ranges in order and unites those that meet: how many are left. */
size_t dx_hidden_ranges_join(struct dx_hidden_range *ranges, size_t count);
/* The first of ascending numbers from this one on that is not below the number; count: none. */
size_t dx_ruled_part_from(const uint64_t *parts, size_t count, size_t from, uint64_t number);

#endif
