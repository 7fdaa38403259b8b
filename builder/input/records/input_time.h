/* SPDX-License-Identifier: Apache-2.0
 * input_time.h - the time forms of data sets, as microseconds since 1970.
 *
 *   if (!dx_input_time(text, DX_TS_AUTO, &us))      no time: reject the row
 *
 * Taken: yyyymmdd and yyyymmddhhmmss (web archives), ISO 8601 (base/civil_time.h), the forms of HTTP, mail and
 * asctime (http_time.h), and whole
 * numbers of Unix time, in seconds also with a fraction ("1718352930.25"), and as floating-point columns
 * have them, with an exponent ("1.71835293E9", "1.7e+15"). The unit of a number is the caller's, or by its size: below 10^11 seconds, below 10^14 milliseconds, below 10^17
 * microseconds; larger is refused. In AUTO, 14 digits are yyyymmddhhmmss of 1900 to 2999 or no time
 * (as milliseconds they would lie after the year 2286), and 8 digits that are such a date are one
 * (as seconds they would lie in 1970); so are 12 (to the minute; as milliseconds in the seventies) and 17 digits (with
 * milliseconds; as microseconds after 2286). In ARCHIVE, for the times of CDX, CDXJ and WARC, digits are never Unix time: yyyy,
 * yyyymm, yyyymmdd, …hh, …hhmm, …hhmmss and longer, as replay tools read them, and the forms of WARC-Date, from yyyy and
 * yyyy-mm on. Fractions below a microsecond are dropped.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_INPUT_TIME_H
#define DX_BUILDER_INPUT_RECORDS_INPUT_TIME_H

#include "base/bytes.h"

enum dx_ts_unit { DX_TS_AUTO, DX_TS_SECONDS, DX_TS_MILLIS, DX_TS_MICROS, DX_TS_ARCHIVE };

bool dx_input_time(struct dx_span text, enum dx_ts_unit unit, int64_t *us);

#endif
