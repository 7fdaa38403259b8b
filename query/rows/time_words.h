/* SPDX-License-Identifier: Apache-2.0
 * time_words.h - the stretch of time that a text names, at whatever precision it has.
 *
 *   ok = dx_time_words(span, &first_us, &end_us);      "2019-07": [2019-07-01, 2019-08-01)
 *
 * 2019, 2019-07, 2019-07-04, 2019-07-04T10, T10:20, T10:20:30, T10:20:30.25 (up to six digits), with a Z behind a time or
 * not; or 4, 6, 8, 10, 12 or 14 digits, as timestamps of CDX files are. UTC, years 0000 to 9999. Microseconds since
 * 1970; end_us is the first one behind it. Pure; any thread.
 */
#ifndef DX_QUERY_ROWS_TIME_WORDS_H
#define DX_QUERY_ROWS_TIME_WORDS_H

#include "base/bytes.h"

bool dx_time_words(struct dx_span text, int64_t *first_us, int64_t *end_us);

#endif
