/* SPDX-License-Identifier: Apache-2.0
 * column_names.h - what crawls, training sets and exports call the columns of URL and time.
 *
 *   for (size_t i = 0; dx_column_url_names[i] != NULL; i++)
 *       dotted paths as of input_json.h, in order of preference, lower case
 *   dx_column_is_url_name(field)        a field of a header, whatever its case
 *
 * Matched without regard to case. A flat file writes a path without its quotes.
 * No state; any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_COLUMN_NAMES_H
#define DX_BUILDER_INPUT_RECORDS_COLUMN_NAMES_H

#include "base/bytes.h"

extern const char *const dx_column_url_names[]; /* end with NULL */
extern const char *const dx_column_ts_names[];

/* 0.. the first field with the first of these names, -1 if no field has one. */
int dx_column_find(const struct dx_span *field, size_t n, const char *const *names);
/* Another field that is called as the one at `at`, -1 if none is. */
int dx_column_twin(const struct dx_span *field, size_t n, size_t at, bool any_case);
bool dx_column_is_url_name(struct dx_span field);

#endif
