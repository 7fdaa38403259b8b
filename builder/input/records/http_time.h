/* SPDX-License-Identifier: Apache-2.0
 * http_time.h - times as HTTP, mail and the C library write them, as microseconds since 1970.
 *
 *   if (dx_http_time(text, &us))
 *
 * Taken, with English names in this case, one or two digits of the day and four of the year:
 *
 *   "Sun, 29 Nov 2026 10:00:00 GMT"    RFC 1123, RFC 9110; the day of the week may be missing, and the seconds;
 *                                      the zone is GMT, UT, UTC, Z, +hhmm or -hhmm
 *   "Sun Nov 29 10:00:00 2026"         asctime; UTC, or a zone as above before the year, as date(1) and Twitter have it
 *
 * The day of the week need not be that of the date: HTTP's rule, and many programs write a wrong one. Years of two digits and
 * zones by name ("EST") are refused: they have several meanings. Days that do not exist and ":60" are refused.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_HTTP_TIME_H
#define DX_BUILDER_INPUT_RECORDS_HTTP_TIME_H

#include "base/bytes.h"

bool dx_http_time(struct dx_span text, int64_t *us);

#endif
