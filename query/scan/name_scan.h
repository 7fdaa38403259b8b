/* SPDX-License-Identifier: Apache-2.0
 * name_scan.h - the names of a dictionary, one after the other, that a pattern takes.
 *
 *   struct dx_name_scan *s;
 *   rc = dx_name_scan_new(&s, &pattern, &problem);                                1; 0: its regex cannot be one; <0
 *   rc = dx_name_scan_range(s, &dictionary, first, end, base, found, &err);      adds base + ordinal of each to the set
 *   rc = dx_name_scan_numbers(s, &dictionary, first, end, base, among, found, &err);     the same of those in `among`
 *   if (dx_name_scan_is_enough(s)) ...                         its regex has taken DX_REGEX_STEPS_PAGE; over DX_REGEX_STEPS_ANSWER: DX_E_LIMIT
 *   dx_name_scan_free(&s);                                     NULL is fine
 *
 * range decodes some thousand keys at a time and searches all of them for the pattern's needle at once; only keys that
 * have it become names. numbers reads the names of a sparse set one by one where range would decode many for each. The pattern's texts are
 * needed until free. Maps are read, nothing waits; one thread at a time.
 */
#ifndef DX_QUERY_SCAN_NAME_SCAN_H
#define DX_QUERY_SCAN_NAME_SCAN_H

#include "base/error.h"
#include "query/view/name_pattern.h"

#include <stdint.h>

struct dx_dictionary;
struct dx_name_scan;
struct dx_problem;
struct roaring_bitmap_s;

int dx_name_scan_new(struct dx_name_scan **s, const struct dx_name_pattern *pattern,
                     struct dx_problem *problem);
void dx_name_scan_free(struct dx_name_scan **s);
bool dx_name_scan_is_enough(const struct dx_name_scan *s);
/* Names between two looks at that. */
uint64_t dx_name_scan_stretch(const struct dx_name_scan *s);
int dx_name_scan_range(struct dx_name_scan *s, const struct dx_dictionary *d, uint64_t first,
                       uint64_t end, uint64_t base, struct roaring_bitmap_s *found,
                       struct dx_error *err);
int dx_name_scan_numbers(struct dx_name_scan *s, const struct dx_dictionary *d, uint64_t first,
                         uint64_t end, uint64_t base, const struct roaring_bitmap_s *among,
                         struct roaring_bitmap_s *found, struct dx_error *err);

#endif
