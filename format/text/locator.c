/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text/locator.h"

#include <stdio.h>

#include "base/utf8.h"

#define WAS "was="
#define HASH_DIGITS 16

#define NUMBER_MAX ((uint64_t)INT64_MAX)

/* Between the two numbers: ':' or '+'; 0: there is one number. */
static const struct {
    const char *word;
    char between;
    bool may_end;    /* the second number may be left out */
    uint64_t min[2]; /* of the numbers */
} kinds[] = {
    [DX_LOCATOR_NONE] = { "", 0, false, { 0, 0 } },
    [DX_LOCATOR_WARC] = { "warc=", '+', true, { 0, 1 } },
    [DX_LOCATOR_ROW] = { "row=", ':', false, { 0, 0 } },
    [DX_LOCATOR_TEXT] = { "text=", '+', false, { 0, 1 } },
    [DX_LOCATOR_LINE] = { "line=", 0, false, { 1, 0 } },
};

#define KINDS (sizeof kinds / sizeof *kinds)

bool dx_locator_name_valid(struct dx_span name)
{
    if (name.size == 0 || name.size > DX_LOCATOR_NAME_MAX || !dx_utf8_is_valid(name))
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < 0x20 || name.data[i] == 0x7f)
            return false;
    return true;
}

/* Whether the numbers are in their ranges; the second one of WARC may be unknown. */
static bool place_valid(const struct dx_locator *l)
{
    const uint64_t *p = l->place;

    if (l->kind == DX_LOCATOR_NONE || (size_t)l->kind >= KINDS)
        return false;
    if (p[0] < kinds[l->kind].min[0] || p[0] > NUMBER_MAX || p[1] > NUMBER_MAX)
        return false;
    if (p[1] < kinds[l->kind].min[1] && !kinds[l->kind].may_end)
        return false;
    if (l->was_size > NUMBER_MAX || (l->was_size > 0 && l->kind != DX_LOCATOR_ROW))
        return false;
    return kinds[l->kind].between != '+' || p[1] <= NUMBER_MAX - p[0];
}

size_t dx_locator_put(const struct dx_locator *l, uint8_t *text)
{
    char place[96] = "#";
    int n = 1;

    if (!place_valid(l) || !dx_locator_name_valid(l->name))
        return 0;
    if (l->was_size > 0)
        n += snprintf(place + n, sizeof place - (size_t)n, WAS "%llu-%016llx,",
                      (unsigned long long)l->was_size, (unsigned long long)l->was_hash);
    n += snprintf(place + n, sizeof place - (size_t)n, "%s%llu", kinds[l->kind].word,
                  (unsigned long long)l->place[0]);
    if (kinds[l->kind].between != 0 && !(kinds[l->kind].may_end && l->place[1] == 0))
        n += snprintf(place + n, sizeof place - (size_t)n, "%c%llu", kinds[l->kind].between,
                      (unsigned long long)l->place[1]);
    memcpy(text, l->name.data, l->name.size);
    memcpy(text + l->name.size, place, (size_t)n);
    return l->name.size + (size_t)n;
}

/* The number that s begins with, cut off; false: none, or not as we write it. */
static bool take_number(struct dx_span *s, uint64_t *number)
{
    size_t n = 0;
    uint64_t v = 0;

    while (n < s->size && s->data[n] >= '0' && s->data[n] <= '9') {
        if (v > (NUMBER_MAX - (s->data[n] - '0')) / 10)
            return false;
        v = v * 10 + (s->data[n++] - '0');
    }
    if (n == 0 || (n > 1 && s->data[0] == '0'))
        return false;
    *s = dx_span_from(*s, n);
    *number = v;
    return true;
}

static bool begins_with(struct dx_span s, const char *word)
{
    return s.size >= strlen(word) && memcmp(s.data, word, strlen(word)) == 0;
}

/* "SIZE-HASH,", cut off. */
static bool take_was(struct dx_span *s, struct dx_locator *l)
{
    if (!take_number(s, &l->was_size) || l->was_size == 0 || s->size < HASH_DIGITS + 2 ||
        s->data[0] != '-' || s->data[HASH_DIGITS + 1] != ',')
        return false;
    for (size_t i = 1; i <= HASH_DIGITS; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = memchr(digits, s->data[i], sizeof digits - 1);

        if (digit == NULL)
            return false;
        l->was_hash = l->was_hash << 4 | (uint64_t)(digit - digits);
    }
    *s = dx_span_from(*s, HASH_DIGITS + 2);
    return true;
}

static bool parse_place(struct dx_span place, struct dx_locator *l)
{
    size_t word = 0;

    if (begins_with(place, WAS)) {
        place = dx_span_from(place, strlen(WAS));
        if (!take_was(&place, l))
            return false;
    }
    for (l->kind = DX_LOCATOR_WARC; l->kind < KINDS; l->kind++) {
        word = strlen(kinds[l->kind].word);
        if (begins_with(place, kinds[l->kind].word))
            break;
    }
    if (l->kind == KINDS)
        return false;
    place = dx_span_from(place, word);
    if (!take_number(&place, &l->place[0]))
        return false;
    if (place.size == 0)
        return kinds[l->kind].between == 0 || kinds[l->kind].may_end;
    if (kinds[l->kind].between == 0 || place.data[0] != (uint8_t)kinds[l->kind].between)
        return false;
    place = dx_span_from(place, 1);
    /* A length of 0 is said by leaving it out. */
    return take_number(&place, &l->place[1]) && place.size == 0 &&
           l->place[1] >= kinds[l->kind].min[1];
}

bool dx_locator_parse(struct dx_span text, struct dx_locator *l)
{
    size_t at = text.size > DX_LOCATOR_MAX ? 0 : text.size;

    *l = (struct dx_locator){ .kind = DX_LOCATOR_NONE };
    while (at > 0 && text.data[at - 1] != '#')
        at--;
    if (at == 0)
        return false;
    l->name = dx_span_of(text.data, at - 1);
    return parse_place(dx_span_from(text, at), l) && place_valid(l) &&
           dx_locator_name_valid(l->name);
}
