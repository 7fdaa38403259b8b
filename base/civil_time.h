/* SPDX-License-Identifier: Apache-2.0
 * civil_time.h - microseconds since 1970-01-01T00:00:00Z and ISO 8601 text.
 *
 *   n = dx_civil_text_us(us, text);     "2024-06-14T08:15:30Z"; fraction .sss or
 *                                       .ssssss only when the time is not whole
 *   ok = dx_civil_parse(span, &us);     date, or date and time with optional fraction
 *                                       (1-9 digits) and Z, UTC, +hh, +hhmm or +hh:mm;
 *                                       'T', 't' or space
 *
 * Proleptic Gregorian, UTC, no leap seconds (":60" is refused), years -290000..294000 out and
 * 0000..9999 in, also after the offset is applied. Fraction digits beyond microseconds are dropped.
 *
 *   ok = dx_civil_is_stored(us);        whether a row, a count and a listing can have this time: only
 *                                       years 0000..9999 have a text that dx_civil_parse reads back
 *
 *   dx_http_date(second, text);         "Sun, 06 Nov 1994 08:49:37 GMT", in every locale
 *
 * No state; any thread.
 */
#ifndef DX_BASE_CIVIL_TIME_H
#define DX_BASE_CIVIL_TIME_H

#include "base/bytes.h"

#include <time.h>

#define DX_CIVIL_TEXT 40
#define DX_HTTP_DATE_TEXT 30                          /* with its NUL */
#define DX_CIVIL_FIRST_US INT64_C(-62167219200000000) /* 0000-01-01T00:00:00Z */
#define DX_CIVIL_LAST_US INT64_C(253402300799999999)  /* 9999-12-31T23:59:59.999999Z */

size_t dx_civil_text_us(int64_t us, char out[DX_CIVIL_TEXT]);
static inline bool dx_civil_is_stored(int64_t us)
{
    return us >= DX_CIVIL_FIRST_US && us <= DX_CIVIL_LAST_US;
}

bool dx_civil_parse(struct dx_span s, int64_t *us);

void dx_http_date(time_t t, char out[DX_HTTP_DATE_TEXT]);

#endif
