/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/http_time.h"

#include "base/civil_time.h"
#include "base/put.h"

#define NAME 3 /* bytes of a day's or a month's name */
#define WORDS_MAX 6

struct words {
    struct dx_span word[WORDS_MAX];
    size_t count;
};

struct parts {
    struct dx_span day, month, year, clock, zone;
};

/* False: more words than any form has. */
static bool cut_words(struct dx_span s, struct words *w)
{
    *w = (struct words){ 0 };
    for (size_t i = 0; i < s.size; i++) {
        bool begins = s.data[i] != ' ' && (i == 0 || s.data[i - 1] == ' ');

        if (begins && w->count == WORDS_MAX)
            return false;
        if (begins)
            w->word[w->count++] = dx_span_of(s.data + i, 0);
        if (s.data[i] != ' ')
            w->word[w->count - 1].size++;
    }
    return true;
}

/* From 1 on; 0: not among the `count` names. */
static unsigned find_name(struct dx_span s, const char *names, unsigned count)
{
    for (unsigned i = 0; s.size == NAME && i < count; i++)
        if (memcmp(s.data, names + (size_t)NAME * i, NAME) == 0)
            return i + 1;
    return 0;
}

static bool is_weekday(struct dx_span s)
{
    return find_name(s, "MonTueWedThuFriSatSun", 7) > 0;
}

/* "Sun, 29 Nov 2026 10:00:00 GMT"; the day of the week may be missing. */
static bool read_mail_form(const struct words *w, struct parts *p)
{
    const struct dx_span *at = w->word;

    if (at->size == NAME + 1 && at->data[NAME] == ',' && is_weekday(dx_span_of(at->data, NAME)))
        at++;
    *p = (struct parts){ at[0], at[1], at[2], at[3], at[4] };
    return w->word + w->count == at + 5;
}

/* "Sun Nov 29 10:00:00 2026", with a zone before the year or without one. */
static bool read_c_form(const struct words *w, struct parts *p)
{
    const struct dx_span *at = w->word;
    bool has_zone = w->count == 6;

    *p = (struct parts){ at[2], at[1], at[has_zone ? 5 : 4], at[3],
                         has_zone ? at[4] : dx_span_str("Z") };
    return has_zone || w->count == 5;
}

/* "Z", "+hhmm" or "-hhmm", whose digits the ISO parser checks. */
static bool read_zone(struct dx_span *zone)
{
    static const char *const utc[] = { "GMT", "UTC", "UT", "Z" };

    for (size_t i = 0; i < sizeof utc / sizeof *utc; i++)
        if (dx_span_equal(*zone, dx_span_str(utc[i]))) {
            *zone = dx_span_str("Z");
            return true;
        }
    return zone->size == 5 && (zone->data[0] == '+' || zone->data[0] == '-');
}

/* "hh:mm" or "hh:mm:ss", whose digits the ISO parser checks. */
static bool is_clock(struct dx_span s)
{
    return (s.size == 5 || (s.size == 8 && s.data[5] == ':')) && s.data[2] == ':';
}

bool dx_http_time(struct dx_span s, int64_t *us)
{
    char iso[] = "yyyy-mm-ddThh:mm:00+hhmm";
    struct words w;
    struct parts p;
    unsigned month;

    if (!cut_words(s, &w) || w.count < 5 ||
        !(is_weekday(w.word[0]) ? read_c_form(&w, &p) : read_mail_form(&w, &p)))
        return false;
    month = find_name(p.month, "JanFebMarAprMayJunJulAugSepOctNovDec", 12);
    if (month == 0 || p.day.size > 2 || p.year.size != 4 || !is_clock(p.clock) ||
        !read_zone(&p.zone))
        return false;
    memcpy(iso, p.year.data, 4);
    (void)dx_put_two((uint8_t *)iso + 5, month);
    iso[8] = '0';
    memcpy(iso + 10 - p.day.size, p.day.data, p.day.size);
    memcpy(iso + 11, p.clock.data, p.clock.size);
    memcpy(iso + 19, p.zone.data, p.zone.size);
    return dx_civil_parse(dx_span_of((const uint8_t *)iso, 19 + p.zone.size), us);
}
