/* SPDX-License-Identifier: Apache-2.0
 * suffix_rules.h - the rules of a Public Suffix List as a hash table: psl.h asks it in place of libpsl.
 *
 *   rc = dx_suffix_rules_new_below(&rules, text, tail, &err);    for this name and those below it alone: much faster;
 *                                                        rules == NULL: a text that only libpsl reads
 *   found = dx_suffix_rules_find(rules, name, DX_SUFFIX_ALL, &domain);  1 found, 0 none
 *   dx_suffix_rules_free(&rules);
 *
 * The answers are those of libpsl for the same text. libpsl searches its rules by bisection, once
 * for each label and once more for wildcards, which took a fifth of an ingest of pages on many
 * domains, and it sorts them when it loads, which took 4 ms of each `domaindex lookup`; here a name is
 * hashed once, from its end on. A rule in UTF-8 stands in the table as it is and, by canon/idna.h, in
 * A-labels. A text with a line that this file reads otherwise than libpsl might (very long, a NUL, a rule
 * that is neither lower-case ASCII nor surely an A-label) makes no table at all.
 *
 * DX_SUFFIX_ICANN: by the rules that stand between the markers of the ICANN section, and by "*".
 *
 * name: not empty, no NUL, no dot in front or at its end. domain points into it. Read-only after new: threads
 * may share it.
 */
#ifndef DX_CANON_SUFFIX_RULES_H
#define DX_CANON_SUFFIX_RULES_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_suffix_rules;

enum dx_suffix_section { DX_SUFFIX_ALL = 0, DX_SUFFIX_ICANN = 8 };

/* tail: lower-case letters, digits, '-' and '_' with single dots between, the last label without "xn--" in front; empty: any names.
 * Rules that no such name meets are left out, most of them after a look at their last byte. */
int dx_suffix_rules_new_below(struct dx_suffix_rules **rules, struct dx_span text,
                              struct dx_span tail, struct dx_error *err);
/* Rules of the text, those that were left out too. */
size_t dx_suffix_rules_count(const struct dx_suffix_rules *rules); /* 0: only comments */
void dx_suffix_rules_free(struct dx_suffix_rules **rules);
int dx_suffix_rules_find(const struct dx_suffix_rules *rules, struct dx_span name,
                         enum dx_suffix_section of, struct dx_span *domain);

#endif
