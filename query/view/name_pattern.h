/* SPDX-License-Identifier: Apache-2.0
 * name_pattern.h - which names of domains a question is about: what they begin with, and wildcards.
 *
 *   struct dx_name_pattern p = { .prefix = dx_span_str("pay"), .match = dx_span_str("*bank*") };
 *   dx_name_pattern_check(span)                    whether it can be a `match`
 *   dx_name_pattern_any(&p)                        whether it asks for anything
 *   dx_name_pattern_takes(&p, name)
 *   needle = dx_name_pattern_needle(&p);           in the key (format/core/surt.h) of each name that it takes; size 0: nothing is
 *   suffix = dx_name_pattern_suffix(&p);           names that it takes are below it; data NULL: unknown
 *
 * In `match` a star stands for any bytes, none too, and '?' for one; dots are bytes like others. All that are given must hold. Names
 * are those of the index: A-labels. Time is at most the product of both lengths. Spans are borrowed. Pure; any thread.
 */
#ifndef DX_QUERY_VIEW_NAME_PATTERN_H
#define DX_QUERY_VIEW_NAME_PATTERN_H

#include "base/bytes.h"

struct dx_name_pattern {
    struct dx_span prefix, match; /* data NULL: not asked */
    struct dx_span
        regex; /* the same; query/view/regex.h, anywhere in a name. query/scan/name_scan.h applies it: takes does not */
};

bool dx_name_pattern_check(struct dx_span match);
bool dx_name_pattern_any(const struct dx_name_pattern *p);
bool dx_name_pattern_takes(const struct dx_name_pattern *p, struct dx_span name);
struct dx_span dx_name_pattern_needle(const struct dx_name_pattern *p);
struct dx_span dx_name_pattern_suffix(const struct dx_name_pattern *p);

#endif
