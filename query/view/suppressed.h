/* SPDX-License-Identifier: Apache-2.0
 * suppressed.h - what the suppression rules in force say of a whole domain, or of one URL.
 *
 *   hit = dx_suppressed_domain(v, domain);           hit.number 0: no rule is for the whole domain
 *   effect = dx_suppressed_url(v, domain, scheme, host, path_query);
 *   return dx_suppressed_problem(domain, &problem);  0: the problem of the policy "withheld"
 *   line = dx_suppressed_line(v);                    compare before and after several looks
 *
 * Which rows of a domain rules hide is query/suppression/suppression_view.h's. Without rules each
 * call costs the look at an atomic. Any thread; the caller holds v pinned.
 */
#ifndef DX_QUERY_VIEW_SUPPRESSED_H
#define DX_QUERY_VIEW_SUPPRESSED_H

#include "base/bytes.h"
#include "format/root/rules.h"

struct dx_suppressions_live;
struct dx_problem;
struct dx_version;

/* Where the rules of a version are followed; NULL: nowhere. */
struct dx_suppressions_live *dx_suppressed_by(const struct dx_version *v);

struct dx_rule_hit dx_suppressed_domain(const struct dx_version *v, struct dx_span domain);

/* What the rules that hold now do to one URL, which is to all of its rows or to none. */
enum dx_effect dx_suppressed_url(const struct dx_version *v, struct dx_span domain,
                                 struct dx_span scheme, struct dx_span host,
                                 struct dx_span path_query);

/* The problem of a policy "withheld": 0. */
int dx_suppressed_problem(struct dx_span domain, struct dx_problem *problem);

/* Up to which line of the log suppressions are in force now. Several looks are of one state only if
 * this is the same before and after. */
uint64_t dx_suppressed_line(const struct dx_version *v);

/* Rules in force. */
uint64_t dx_suppressed_count(const struct dx_version *v);

/* Changes whenever other suppressions come into force, and is odd while they are being exchanged:
 * what was computed between two looks at the same even number is of one state. */
uint64_t dx_suppressed_turn(const struct dx_version *v);

#endif
