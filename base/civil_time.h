/* SPDX-License-Identifier: Apache-2.0
 * civil_time.h - microseconds since 1970-01-01T00:00:00Z and ISO 8601 text.
 *
 *   n = dx_civil_text_us(us, text);     "2024-06-14T08:15:30Z"; fraction .sss or
 *                                       .ssssss only when the time is not whole
 *   ok = dx_civil_parse(span, &us);     date, or date and time with optional fraction
 *                                       (1-9 digits) and Z or +hh:mm; 'T', 't' or space
 *
 * Proleptic Gregorian, UTC, no leap seconds (":60" is refused), years -290000..294000
 * out and 0000..9999 in. Fraction digits beyond microseconds are dropped.
 */
#ifndef DX_BASE_CIVIL_TIME_H
#define DX_BASE_CIVIL_TIME_H

#include "base/bytes.h"

#define DX_CIVIL_TEXT 40

size_t dx_civil_text_us(int64_t us, char out[DX_CIVIL_TEXT]);
bool dx_civil_parse(struct dx_span s, int64_t *us);

#endif
