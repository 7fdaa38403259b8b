/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/time_words.h"

#include "base/civil_time.h"
#include "base/put.h"

enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, PARTS };

#define SECOND_US INT64_C(1000000)

struct parts {
    unsigned part[PARTS];
    unsigned count; /* that are there */
    int64_t fraction_us;
    int64_t fraction_unit_us; /* 0: no fraction */
};

static bool take_digits(struct dx_span *s, size_t n, unsigned *out)
{
    *out = 0;
    if (s->size < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->data[i] < '0' || s->data[i] > '9')
            return false;
        *out = *out * 10 + (unsigned)(s->data[i] - '0');
    }
    *s = dx_span_from(*s, n);
    return true;
}

static bool take_character(struct dx_span *s, char c)
{
    if (s->size == 0 || s->data[0] != (uint8_t)c)
        return false;
    *s = dx_span_of(s->data + 1, s->size - 1);
    return true;
}

/* ".25": behind seconds. */
static bool take_fraction(struct dx_span *s, struct parts *p)
{
    int64_t unit = SECOND_US;
    unsigned digit;

    while (take_digits(s, 1, &digit)) {
        if (unit == 1)
            return false;
        unit /= 10;
        p->fraction_us += unit * (int64_t)digit;
    }
    p->fraction_unit_us = unit;
    return unit < SECOND_US;
}

static bool take_parts(struct dx_span s, struct parts *p)
{
    static const char before[PARTS] = {
        [MONTH] = '-', [DAY] = '-', [HOUR] = 'T', [MINUTE] = ':', [SECOND] = ':'
    };
    bool dashed = s.size > 4 && s.data[4] == '-';

    if (!take_digits(&s, 4, &p->part[YEAR]))
        return false;
    for (p->count = 1; p->count < PARTS && s.size > 0; p->count++) {
        if (dashed && p->count > DAY && s.data[0] == 'Z')
            break;
        if (dashed && !take_character(&s, before[p->count]) &&
            (p->count != HOUR || !take_character(&s, ' ')))
            return false;
        if (!take_digits(&s, 2, &p->part[p->count]))
            return false;
    }
    if (dashed && p->count == PARTS && take_character(&s, '.') && !take_fraction(&s, p))
        return false;
    if (dashed && p->count > HOUR)
        (void)take_character(&s, 'Z');
    return s.size == 0;
}

/* Of what is there; the rest is its first. A part but the year has two digits. */
static bool time_of(const struct parts *p, int64_t *us)
{
    unsigned part[PARTS] = { [MONTH] = 1, [DAY] = 1 };
    uint8_t text[] = "0000-00-00T00:00:00Z";

    for (unsigned i = 0; i < p->count; i++)
        part[i] = p->part[i];
    if (part[YEAR] > 9999) { /* the end of the last one */
        *us = DX_CIVIL_LAST_US + 1;
        return true;
    }
    (void)dx_put_four(text, part[YEAR]);
    for (unsigned i = MONTH; i < PARTS; i++)
        (void)dx_put_two(text + 2 + 3 * (size_t)i, part[i]);
    if (!dx_civil_parse(dx_span_of(text, sizeof text - 1), us))
        return false;
    *us += p->fraction_us;
    return true;
}

bool dx_time_words(struct dx_span text, int64_t *first_us, int64_t *end_us)
{
    static const int64_t unit_us[PARTS] = { [DAY] = 86400 * SECOND_US,
                                            [HOUR] = 3600 * SECOND_US,
                                            [MINUTE] = 60 * SECOND_US,
                                            [SECOND] = SECOND_US };
    struct parts p = { .count = 0 };

    if (!take_parts(text, &p) || !time_of(&p, first_us))
        return false;
    if (p.count > DAY) {
        *end_us = *first_us + (p.fraction_unit_us > 0 ? p.fraction_unit_us : unit_us[p.count - 1]);
        return true;
    }
    p.part[p.count - 1]++;
    if (p.count == MONTH + 1 && p.part[MONTH] > 12) {
        p.part[MONTH] = 1;
        p.part[YEAR]++;
    }
    return time_of(&p, end_us);
}
