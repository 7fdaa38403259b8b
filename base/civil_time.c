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

/* Days from 1900-03-01 to 2099-12-31, between which each fourth year has a leap day: with multiplications in place of
 * divisions (Neri and Schneider, "Euclidean affine functions and their application to calendar algorithms", 2022), and
 * the text of each day of a year ready. A listing formats a thousand of them. */
#define DAYS_TO_1970 25508 /* from 1900-03-01 */
#define DAYS_TO_2100 72990
#define JANUARY 306 /* days from March on */

#define DAY_TEXT 8

/* clang-format off */
#define DAY(m, d) "-" m "-" d "T "
#define TEN(m, t) \
    DAY(m, t "0") DAY(m, t "1") DAY(m, t "2") DAY(m, t "3") DAY(m, t "4") \
    DAY(m, t "5") DAY(m, t "6") DAY(m, t "7") DAY(m, t "8") DAY(m, t "9")
#define NINE(m) \
    DAY(m, "01") DAY(m, "02") DAY(m, "03") DAY(m, "04") DAY(m, "05") \
    DAY(m, "06") DAY(m, "07") DAY(m, "08") DAY(m, "09")
#define DAYS_29(m) NINE(m) TEN(m, "1") TEN(m, "2")
#define DAYS_30(m) DAYS_29(m) DAY(m, "30")
#define DAYS_31(m) DAYS_30(m) DAY(m, "31")

static const char days_of_year[] =
    DAYS_31("03") DAYS_30("04") DAYS_31("05") DAYS_30("06") DAYS_31("07") DAYS_31("08")
    DAYS_30("09") DAYS_31("10") DAYS_30("11") DAYS_31("12") DAYS_31("01") DAYS_29("02");
/* clang-format on */

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
    (void)dx_put_two((uint8_t *)out, v);
}

/* "2024-06-14T " */
static inline void put_common_date(char *out, uint32_t n)
{
    uint64_t p2 = UINT64_C(2939745) * (4 * n + 3);
    uint32_t of_year = (uint32_t)p2 / 2939745 / 4;
    uint32_t years = (uint32_t)(p2 >> 32) + (of_year >= JANUARY); /* since 1900 */
    bool later = years >= 100;

    put_two(out, later ? 20 : 19);
    put_two(out + 2, later ? years - 100 : years);
    memcpy(out + 4, days_of_year + (size_t)DAY_TEXT * of_year, DAY_TEXT);
}

/* "08:15:30", of less than a day: what is below the binary point is the rest of an hour, then of a minute. Rounding up is off by a
 * tenth of a millisecond at most. */
#define POINT 40
static inline __attribute__((always_inline)) void put_clock(char *out, uint32_t seconds)
{
    const uint64_t below = (UINT64_C(1) << POINT) - 1;
    uint64_t hours = seconds * (below / 3600 + 1);
    uint64_t minutes = (hours & below) * 60;
    uint64_t rest = (minutes & below) * 60;

    put_two(out, (uint32_t)(hours >> POINT));
    out[2] = ':';
    put_two(out + 3, (uint32_t)(minutes >> POINT));
    out[5] = ':';
    put_two(out + 6, (uint32_t)(rest >> POINT));
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

static __attribute__((noinline)) size_t put_fraction(char *out, unsigned fraction)
{
    bool fine = fraction % 1000 != 0;
    size_t n = fine ? 6 : 3;

    out[0] = '.';
    (void)put_digits(out + 1, fine ? fraction : fraction / 1000, (unsigned)n);
    memcpy(out + 1 + n, "Z", 2);
    return n + 2;
}

/* What follows the seconds: ".250Z", "Z". */
static inline size_t put_end(char *out, unsigned fraction)
{
    if (fraction != 0)
        return put_fraction(out, fraction);
    memcpy(out, "Z", 2);
    return 1;
}

/* Not in line: the registers that it saves would be saved for all. */
static __attribute__((noinline)) size_t put_rare_text(int64_t us, char *out)
{
    int64_t rest = us % US_PER_SECOND;
    int64_t seconds = us / US_PER_SECOND - (rest < 0);
    int64_t days = seconds / SECONDS_PER_DAY - (seconds % SECONDS_PER_DAY < 0);
    size_t n = put_rare_date(out, days);

    out[n] = 'T';
    put_clock(out + n + 1, (uint32_t)(seconds - days * SECONDS_PER_DAY));
    return n + 9 + put_end(out + n + 9, (unsigned)(rest < 0 ? rest + US_PER_SECOND : rest));
}

size_t dx_civil_text_us(int64_t us, char out[DX_CIVIL_TEXT])
{
    uint64_t common = (uint64_t)us + (uint64_t)DAYS_TO_1970 * SECONDS_PER_DAY * US_PER_SECOND;
    uint64_t seconds = common / US_PER_SECOND;
    uint32_t days = (uint32_t)(seconds / SECONDS_PER_DAY);

    if (common >= (uint64_t)DAYS_TO_2100 * SECONDS_PER_DAY * US_PER_SECOND)
        return put_rare_text(us, out);
    put_common_date(out, days);
    put_clock(out + 11, (uint32_t)(seconds - (uint64_t)days * SECONDS_PER_DAY));
    return 19 + put_end(out + 19, (unsigned)(common - seconds * US_PER_SECOND));
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
static bool parse_zone(struct dx_bytes *r, int *minutes)
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

#define USUAL_SIZE 20

/* "2024-06-14T08:15:30Z", which is what most are; false: it may be another form. */
static bool parse_usual(const uint8_t *p, int64_t *us)
{
    unsigned year = digit_pair(p) * 100 + digit_pair(p + 2);
    unsigned month = digit_pair(p + 5);
    unsigned day = digit_pair(p + 8);
    unsigned hour = digit_pair(p + 11);
    unsigned minute = digit_pair(p + 14);
    unsigned second = digit_pair(p + 17);

    if (p[4] != '-' || p[7] != '-' || p[10] != 'T' || p[13] != ':' || p[16] != ':' ||
        p[19] != 'Z' || year > 9999 || month - 1 > 11 || day - 1 >= month_days(year, month) ||
        hour > 23 || minute > 59 || second > 59)
        return false;
    *us = (days_of(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second) *
          US_PER_SECOND;
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

    if (s.size == USUAL_SIZE && parse_usual(s.data, us))
        return true;
    if (!four_digits(&r, &year) || !literal(&r, '-') || !two_digits(&r, &month) ||
        !literal(&r, '-') || !two_digits(&r, &day) || month < 1 || month > 12 || day < 1 ||
        day > month_days(year, month))
        return false;
    if (dx_bytes_left(&r) > 0) {
        if (!literal(&r, 'T') && !literal(&r, 't') && !literal(&r, ' '))
            return false;
        if (!two_digits(&r, &hour) || !literal(&r, ':') || !two_digits(&r, &minute))
            return false;
        if (literal(&r, ':') &&
            (!two_digits(&r, &second) ||
             ((literal(&r, '.') || literal(&r, ',')) && !fraction_us(&r, &fraction))))
            return false;
        (void)literal(&r, ' ');
        if (!parse_zone(&r, &offset) || dx_bytes_left(&r) > 0 || hour > 23 || minute > 59 ||
            second > 59)
            return false;
    }
    *us = ((days_of(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second) -
           (int64_t)offset * 60) *
              US_PER_SECOND +
          fraction;
    return dx_civil_is_stored(*us);
}

void dx_http_date(time_t t, char out[DX_HTTP_DATE_TEXT])
{
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    struct tm tm;

    (void)gmtime_r(&t, &tm); /* not strftime: names must not follow the locale */
    (void)snprintf(out, DX_HTTP_DATE_TEXT, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                   days[tm.tm_wday % 7], tm.tm_mday, months[tm.tm_mon % 12],
                   (tm.tm_year + 1900) % 10000, tm.tm_hour, tm.tm_min, tm.tm_sec);
}
