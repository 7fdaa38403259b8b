/* SPDX-License-Identifier: Apache-2.0
 * rule_redirects.h - rules that hit what led to a row, where that is not the row's own URL.
 *
 *   struct dx_rule_redirects l = { .rules = rules, .psl_text = text };     rules: NULL, or some
 *   dx_rule_redirects_file(&l, &scan);                                     finds l.requested
 *   rc = dx_rule_redirects_row(&l, row, &hits, &err);
 *   hits.requested, hits.raw                                       numbers of rules; 0: none
 *   dx_rule_redirects_release(&l);
 *
 * A row of a canonical URL keeps what was requested, in requested_url and as it was typed in
 * raw_url. A rule for that URL does not take the row out, but its text. One thread at a time.
 */
#ifndef DX_BUILDER_SCAN_RULE_REDIRECTS_H
#define DX_BUILDER_SCAN_RULE_REDIRECTS_H

#include "builder/lake/lake_scan.h"

struct dx_canon;
struct dx_psl;
struct dx_rules;

struct dx_rule_redirects {
    const struct dx_rules *rules;
    struct dx_span psl_text;

    size_t requested; /* 1 + the extra that is requested_url; 0: the file has none */

    /* private */
    struct dx_psl *psl;
    struct dx_canon *canon;
};

struct dx_rule_redirects_hits {
    size_t extra; /* which one is requested_url, where it is hit */
    uint64_t requested;
    uint64_t raw;
};

void dx_rule_redirects_file(struct dx_rule_redirects *l, const struct dx_lake_scan *scan);
int dx_rule_redirects_row(struct dx_rule_redirects *l, const struct dx_lake_row *row,
                          struct dx_rule_redirects_hits *hits, struct dx_error *err);
void dx_rule_redirects_release(struct dx_rule_redirects *l);

/* The lower one of two numbers of rules, of which 0 means no rule. */
uint64_t dx_rule_redirects_first(uint64_t a, uint64_t b);

#endif
