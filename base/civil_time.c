/* SPDX-License-Identifier: Apache-2.0 */
#include "base/civil_time.h"

#include "base/put.h"

#include <stdio.h>

#define US_PER_SECOND 1000000
#define SECONDS_PER_DAY 86400

/* Days since 1970-01-01 of a proleptic Gregorian date; years begin in March so that
 * the leap day is the last of its year. */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void date_of(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;

    *day = (unsigned)(doy - (153 * mp + 2) / 5 + 1);
    *month = (unsigned)(mp < 10 ? mp + 3 : mp - 9);
    *year = yoe + era * 400 + (*month <= 2);
}

/* The same for days from 0000-03-01 to 9999-12-31, with multiplications in place of divisions (Neri
 * and Schneider, "Euclidean affine functions and their application to calendar algorithms", 2022):
 * a listing formats a thousand of them. */
#define DAYS_TO_1970 719468 /* from 0000-03-01 */
#define DAYS_TO_10000 3652365

static void common_date_of(uint32_t n, uint32_t *year, uint32_t *month, uint32_t *day)
{
    uint32_t n1 = 4 * n + 3;
    uint32_t century = n1 / 146097;
    uint32_t n2 = 4 * (n1 % 146097 / 4) + 3;
    uint64_t p2 = UINT64_C(2939745) * n2;
    uint32_t of_year = (uint32_t)p2 / 2939745 / 4;
    uint32_t n3 = 2141 * of_year + 197913;
    bool next = of_year >= 306; /* January and February */

    *year = 100 * century + (uint32_t)(p2 >> 32) + next;
    *month = (n3 >> 16) - (next ? 12 : 0);
    *day = (n3 & 0xffff) / 2141 + 1;
}

/* The last `digits` decimal digits of v. Formatting by printf costs more than all the
 * rest of an answer with hundreds of times in it. */
static size_t put_digits(char *out, unsigned v, unsigned digits)
{
    for (unsigned i = digits; i > 0; i--) {
        out[i - 1] = (char)('0' + v % 10);
        v /= 10;
    }
    return digits;
}

static void put_two(char *out, uint32_t v)
{
    memcpy(out, dx_put_pairs + 2 * (size_t)v, 2);
}

/* "2024-06-14" */
static void put_common_date(char *out, uint32_t n)
{
    uint32_t year;
    uint32_t month;
    uint32_t day;

    common_date_of(n, &year, &month, &day);
    put_two(out, year / 100);
    put_two(out + 2, year % 100);
    out[4] = '-';
    put_two(out + 5, month);
    out[7] = '-';
    put_two(out + 8, day);
}

static size_t put_year(char *out, int64_t year)
{
    if (year >= 0 && year <= 9999)
        return put_digits(out, (unsigned)year, 4);
    return (size_t)snprintf(out, DX_CIVIL_TEXT, "%04lld", (long long)year);
}

static size_t put_rare_date(char *out, int64_t days)
{
    int64_t year;
    unsigned month;
    unsigned day;
    size_t n;

    date_of(days, &year, &month, &day);
    n = put_year(out, year);
    out[n++] = '-';
    n += put_digits(out + n, month, 2);
    out[n++] = '-';
    n += put_digits(out + n, day, 2);
    return n;
}

size_t dx_civil_text_us(int64_t us, char out[DX_CIVIL_TEXT])
{
    uint64_t common = (uint64_t)us + (uint64_t)DAYS_TO_1970 * SECONDS_PER_DAY * US_PER_SECOND;
    unsigned fraction;
    unsigned rest;
    size_t n = 10;

    /* Without a sign, and with what comes first divided off at once, half of the divisions are gone. */
    if (common < (uint64_t)DAYS_TO_10000 * SECONDS_PER_DAY * US_PER_SECOND) {
        uint64_t seconds = common / US_PER_SECOND;
        uint32_t days = (uint32_t)(seconds / SECONDS_PER_DAY);

        fraction = (unsigned)(common - seconds * US_PER_SECOND);
        rest = (unsigned)(seconds - (uint64_t)days * SECONDS_PER_DAY);
        put_common_date(out, days);
    } else {
        int64_t seconds = us / US_PER_SECOND - (us % US_PER_SECOND < 0);
        int64_t days = seconds / SECONDS_PER_DAY - (seconds % SECONDS_PER_DAY < 0);

        fraction = (unsigned)(us - seconds * US_PER_SECOND);
        rest = (unsigned)(seconds - days * SECONDS_PER_DAY);
        n = put_rare_date(out, days);
    }
    out[n] = 'T';
    put_two(out + n + 1, rest / 3600);
    out[n + 3] = ':';
    put_two(out + n + 4, rest / 60 % 60);
    out[n + 6] = ':';
    put_two(out + n + 7, rest % 60);
    n += 9;
    if (fraction != 0) {
        bool fine = fraction % 1000 != 0;

        out[n++] = '.';
        n += put_digits(out + n, fine ? fraction : fraction / 1000, fine ? 6 : 3);
    }
    out[n++] = 'Z';
    out[n] = '\0';
    return n;
}

#define NO_PAIR 10000

static unsigned digit_pair(const uint8_t *p)
{
    unsigned tens = p[0] - (unsigned)'0';
    unsigned ones = p[1] - (unsigned)'0';

    return tens > 9 || ones > 9 ? NO_PAIR : tens * 10 + ones;
}

static bool two_digits(struct dx_bytes *r, unsigned *out)
{
    if (dx_bytes_left(r) < 2)
        return false;
    *out = digit_pair(r->at);
    r->at += 2;
    return *out < NO_PAIR;
}

static bool four_digits(struct dx_bytes *r, unsigned *out)
{
    if (dx_bytes_left(r) < 4)
        return false;
    *out = digit_pair(r->at) * 100 + digit_pair(r->at + 2);
    r->at += 4;
    return *out < NO_PAIR;
}

static bool literal(struct dx_bytes *r, char c)
{
    if (dx_bytes_left(r) == 0 || *r->at != (uint8_t)c)
        return false;
    r->at++;
    return true;
}

static unsigned month_days(unsigned year, unsigned month)
{
    static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap ? 1U : 0U);
}

/* Up to nine digits after the point; in *us, rounded down to microseconds. */
static bool fraction_us(struct dx_bytes *r, unsigned *us)
{
    unsigned scale = 100000;
    unsigned digits = 0;

    *us = 0;
    while (dx_bytes_left(r) > 0 && *r->at >= '0' && *r->at <= '9') {
        *us += (*r->at++ - (unsigned)'0') * scale;
        scale /= 10;
        digits++;
    }
    return digits >= 1 && digits <= 9;
}

/* "Z", "UTC", nothing (UTC) or "+hh", "+hh:mm", "-hhmm"; in *minutes east of UTC. */
static bool zone(struct dx_bytes *r, int *minutes)
{
    unsigned hours;
    unsigned mins = 0;
    bool east;

    *minutes = 0;
    if (dx_bytes_left(r) == 0 || literal(r, 'Z') || literal(r, 'z'))
        return true;
    if (literal(r, 'U'))
        return literal(r, 'T') && literal(r, 'C');
    east = literal(r, '+');
    if (!east && !literal(r, '-'))
        return false;
    if (!two_digits(r, &hours))
        return false;
    if ((literal(r, ':') || dx_bytes_left(r) > 0) && !two_digits(r, &mins))
        return false;
    if (hours > 23 || mins > 59)
        return false;
    *minutes = (int)(hours * 60 + mins) * (east ? 1 : -1);
    return true;
}

bool dx_civil_parse(struct dx_span s, int64_t *us)
{
    struct dx_bytes r = dx_bytes_of(s);
    unsigned year;
    unsigned month;
    unsigned day;
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned second = 0;
    unsigned fraction = 0;
    int offset = 0;

    if (!four_digits(&r, &year) || !literal(&r, '-') || !two_digits(&r, &month) ||
        !literal(&r, '-') || !two_digits(&r, &day) || month < 1 || month > 12 || day < 1 ||
        day > month_days(year, month))
        return false;
    if (dx_bytes_left(&r) > 0) {
        if (!literal(&r, 'T') && !literal(&r, 't') && !literal(&r, ' '))
            return false;
        if (!two_digits(&r, &hour) || !literal(&r, ':') || !two_digits(&r, &minute))
            return false;
        if (literal(&r, ':') && !two_digits(&r, &second))
            return false;
        if ((literal(&r, '.') || literal(&r, ',')) && !fraction_us(&r, &fraction))
            return false;
        (void)literal(&r, ' ');
        if (!zone(&r, &offset) || dx_bytes_left(&r) > 0 || hour > 23 || minute > 59 || second > 59)
            return false;
    }
    *us = ((days_of(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second) -
           (int64_t)offset * 60) *
              US_PER_SECOND +
          fraction;
    return dx_civil_is_stored(*us);
}
