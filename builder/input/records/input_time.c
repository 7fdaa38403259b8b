/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/input_time.h"

#include "base/civil_time.h"
#include "builder/input/records/http_time.h"

#define TEXT_MAX 40     /* longer than any form taken */
#define EXPONENT_MAX 17 /* of ten; a larger number is not a time */

static size_t leading_digits(struct dx_span s)
{
    size_t n = 0;

    while (n < s.size && s.data[n] >= '0' && s.data[n] <= '9')
        n++;
    return n;
}

static bool all_digits(struct dx_span s)
{
    return s.size > 0 && leading_digits(s) == s.size;
}

#define ARCHIVE_DIGITS 14
#define WITH_MILLIS 17

/* Digits only, as many as yyyymmdd, yyyymmddhhmm, yyyymmddhhmmss or that with milliseconds have. */
static bool has_archive_form(struct dx_span s)
{
    return (s.size == 8 || s.size == 12 || s.size == ARCHIVE_DIGITS || s.size == WITH_MILLIS) &&
           all_digits(s);
}

/* yyyy[mm[dd[hh[mm[ss[millis]]]]]] of 1900 to 2999 through the ISO parser, which knows the calendar. */
static bool archive_time(struct dx_span s, int64_t *us)
{
    static const uint8_t at[ARCHIVE_DIGITS] = { 0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18 };
    const char *d = (const char *)s.data;
    char iso[] = "0000-01-01T00:00:00Z";

    if (d[0] < '1' || (d[0] == '1' && d[1] < '9') || d[0] > '2')
        return false;
    for (size_t i = 0; i < ARCHIVE_DIGITS && i < s.size; i++)
        iso[at[i]] = d[i];
    if (!dx_civil_parse(dx_span_of((const uint8_t *)iso, sizeof iso - 1), us))
        return false;
    if (s.size == WITH_MILLIS)
        *us += ((d[14] - '0') * 100 + (d[15] - '0') * 10 + d[16] - '0') * INT64_C(1000);
    return true;
}

/* Of CDX, CDXJ and WARC. */
static bool archive_text(struct dx_span s, int64_t *us)
{
    uint8_t month[6];

    if (all_digits(s))
        return s.size >= 4 && (s.size % 2 == 0 || s.size > ARCHIVE_DIGITS) && archive_time(s, us);
    if (s.size == 7 && s.data[4] == '-' && all_digits(dx_span_of(s.data, 4)) &&
        all_digits(dx_span_of(s.data + 5, 2))) {
        memcpy(month, s.data, 4);
        memcpy(month + 4, s.data + 5, 2);
        return archive_time(dx_span_of(month, sizeof month), us);
    }
    return dx_civil_parse(s, us) || dx_http_time(s, us);
}

static enum dx_ts_unit unit_by_size(uint64_t magnitude)
{
    if (magnitude < 100000000000u)
        return DX_TS_SECONDS;
    if (magnitude < 100000000000000u)
        return DX_TS_MILLIS;
    return DX_TS_MICROS;
}

/* [-+]digits, with ".digits" for seconds only. */
static bool unix_time(struct dx_span s, enum dx_ts_unit unit, int64_t *us)
{
    static const int64_t scale[] = {
        [DX_TS_SECONDS] = 1000000, [DX_TS_MILLIS] = 1000, [DX_TS_MICROS] = 1
    };
    bool negative = s.size > 0 && s.data[0] == '-';
    size_t i = negative || (s.size > 0 && s.data[0] == '+') ? 1 : 0;
    size_t begin = i;
    uint64_t v = 0;
    int64_t fraction = 0;
    int64_t value;

    for (; i < s.size && s.data[i] >= '0' && s.data[i] <= '9'; i++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.data[i] - '0'), &v))
            return false;
    if (i == begin || v >= 100000000000000000u)
        return false;
    if (unit == DX_TS_AUTO)
        unit = unit_by_size(v);
    if (i < s.size) {
        int64_t step = 100000;

        if (s.data[i] != '.' || unit != DX_TS_SECONDS ||
            !all_digits(dx_span_of(s.data + i + 1, s.size - i - 1)))
            return false;
        for (i++; i < s.size; i++, step /= 10)
            fraction += (s.data[i] - '0') * step;
    }
    if (__builtin_mul_overflow((int64_t)v, scale[unit], &value) ||
        __builtin_add_overflow(value, fraction, &value))
        return false;
    *us = negative ? -value : value;
    return dx_civil_is_stored(*us);
}

/* Digits, with one '.' between two of them at most. */
static bool is_decimal(struct dx_span s)
{
    size_t points = 0;

    for (size_t i = 0; i < s.size; i++) {
        bool point = s.data[i] == '.' && i > 0 && i + 1 < s.size;

        points += point;
        if (!point && (s.data[i] < '0' || s.data[i] > '9'))
            return false;
    }
    return s.size > 0 && points <= 1;
}

/* "+09" or "9": 0 to EXPONENT_MAX. */
static bool read_exponent(struct dx_span s, size_t *exponent)
{
    if (s.size > 0 && s.data[0] == '+')
        s = dx_span_of(s.data + 1, s.size - 1);
    *exponent = 0;
    for (size_t i = 0; i < s.size && i < 3; i++)
        *exponent = *exponent * 10 + (size_t)(s.data[i] - '0');
    return all_digits(s) && s.size < 3 && *exponent <= EXPONENT_MAX;
}

/* Large floating-point numbers as C ("1.7e+15") and Java ("1.7E9") write them, without exponent; any other text as it
 * is. */
static struct dx_span without_exponent(struct dx_span s, uint8_t to[TEXT_MAX + EXPONENT_MAX])
{
    size_t sign = s.data[0] == '-' || s.data[0] == '+';
    size_t end = sign, n = sign, exponent;
    bool behind = false;

    while (end < s.size && (s.data[end] | 0x20) != 'e')
        end++;
    if (end == s.size || !is_decimal(dx_span_of(s.data + sign, end - sign)) ||
        !read_exponent(dx_span_of(s.data + end + 1, s.size - end - 1), &exponent))
        return s;
    to[0] = s.data[0];
    for (size_t i = sign; i < end; i++) {
        behind = behind || s.data[i] == '.';
        if (s.data[i] != '.' || exponent == 0)
            to[n++] = s.data[i];
        if (behind && s.data[i] != '.' && exponent > 0 && --exponent == 0 && i + 1 < end)
            to[n++] = '.';
    }
    for (; exponent > 0; exponent--)
        to[n++] = '0';
    return dx_span_of(to, n);
}

bool dx_input_time(struct dx_span s, enum dx_ts_unit unit, int64_t *us)
{
    DX_UNINITIALIZED uint8_t plain[TEXT_MAX + EXPONENT_MAX];

    while (s.size > 0 && s.data[0] == ' ') {
        s.data++;
        s.size--;
    }
    while (s.size > 0 && s.data[s.size - 1] == ' ')
        s.size--;
    if (s.size == 0 || s.size > TEXT_MAX)
        return false;
    if (unit == DX_TS_ARCHIVE)
        return archive_text(s, us);
    if (s.size > 4 && s.data[4] == '-') /* behind a year, and within no number */
        return dx_civil_parse(s, us);
    if (leading_digits(s) < s.size) /* mostly it is digits, and nothing else needs a look */
        s = without_exponent(s, plain);
    if (unit == DX_TS_AUTO && has_archive_form(s)) {
        if (archive_time(s, us))
            return true;
        if (s.size >= ARCHIVE_DIGITS) /* a date with a slip in it, not a time after the year 2286 */
            return false;
    }
    return unix_time(s, unit, us) || dx_civil_parse(s, us) || dx_http_time(s, us);
}
