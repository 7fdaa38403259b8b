/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text/json_array.h"

enum place {
    AT_FRONT,     /* '[' or '{' */
    AT_KEY,       /* "domains" */
    AT_COLON,     /* ':' */
    AT_ARRAY,     /* '[' of the member */
    AT_FIRST,     /* an element, or ']' */
    AT_ELEMENT,   /* an element */
    BEHIND_ONE,   /* ',' or ']' */
    BEHIND_ARRAY, /* '}' of the object */
    AT_END,       /* white space alone */
    BROKEN
};

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether the element ends before c, which is not in it: a number or a word has no end of its own.
 */
static bool ends_before(const struct dx_json_array *a, uint8_t c)
{
    return !a->in_string && a->depth == 0 &&
           (is_space(c) || c == ',' || c == ']' || c == '}' || c == ':');
}

/* Takes c into the element; true: it ends with it. */
static bool take(struct dx_json_array *a, uint8_t c)
{
    if (a->in_string) {
        bool ends = c == '"' && !a->escaped;

        a->escaped = c == '\\' && !a->escaped;
        a->in_string = !ends;
        return ends && a->depth == 0;
    }
    a->in_string = c == '"';
    if (c == '[' || c == '{')
        a->depth++;
    else if ((c == ']' || c == '}') && a->depth > 0)
        return --a->depth == 0;
    return false;
}

static void begin_element(struct dx_json_array *a)
{
    a->depth = 0;
    a->in_string = a->escaped = a->skipping = false;
    a->seen = 0;
}

/* rest: from the element's first byte on, or from where it is skipped on. 1: its size is found; 0:
 * more bytes are needed. */
static int measure(struct dx_json_array *a, struct dx_span rest, bool eof, size_t *size)
{
    for (; a->seen < rest.size; a->seen++) {
        if (ends_before(a, rest.data[a->seen])) {
            *size = a->seen;
            return 1;
        }
        if (take(a, rest.data[a->seen])) {
            *size = a->seen + 1;
            return 1;
        }
    }
    *size = rest.size;
    return eof;
}

/* 1: *step is what came of the element that begins at *at, or goes on there; 0: it was skipped. */
static int cut_element(struct dx_json_array *a, struct dx_span bytes, bool eof, size_t *at,
                       struct dx_json_array_cut *cut, enum dx_json_array_step *step)
{
    struct dx_span rest = dx_span_of(bytes.data + *at, bytes.size - *at);
    bool was_skipped = a->skipping;
    size_t size = 0;
    int rc = measure(a, rest, eof, &size);

    if (rc == 0 && size <= a->size_max && !a->skipping) {
        *step = DX_JSON_ARRAY_MORE;
        return 1;
    }
    *at += size;
    cut->element = dx_span_of(rest.data, size);
    *step = size > a->size_max ? DX_JSON_ARRAY_TOO_LONG : DX_JSON_ARRAY_ELEMENT;
    if (rc == 0) {
        a->skipping = true;
        a->seen = 0;
        if (was_skipped)
            *step = DX_JSON_ARRAY_MORE;
        return 1;
    }
    a->place = BEHIND_ONE;
    begin_element(a);
    return !was_skipped;
}

/* What stands between elements. */
static unsigned next_place(struct dx_json_array *a, uint8_t c)
{
    switch (a->place) {
    case AT_FRONT:
        a->in_object = c == '{';
        return c == '[' ? AT_FIRST : c == '{' ? AT_KEY : BROKEN;
    case AT_COLON:
        return c == ':' ? AT_ARRAY : BROKEN;
    case AT_ARRAY:
        return c == '[' ? AT_FIRST : BROKEN;
    case AT_FIRST:
    case BEHIND_ONE:
        if (c == ',' && a->place == BEHIND_ONE)
            return AT_ELEMENT;
        return c != ']' ? BROKEN : a->in_object ? BEHIND_ARRAY : AT_END;
    case BEHIND_ARRAY:
        return c == '}' ? AT_END : BROKEN;
    default:
        return BROKEN;
    }
}

static bool begins_element(const struct dx_json_array *a, uint8_t c)
{
    return a->skipping || ((a->place == AT_FIRST || a->place == AT_ELEMENT) && c != ',' &&
                           c != ']' && c != '}' && c != ':');
}

enum dx_json_array_step dx_json_array_next(struct dx_json_array *a, struct dx_span bytes, bool eof,
                                           struct dx_json_array_cut *cut)
{
    static const char key[] = "\"domains\"";
    enum dx_json_array_step step;
    size_t at = 0;

    cut->element = dx_span_of(NULL, 0);
    cut->used = 0;
    while (at < bytes.size && a->place != BROKEN) {
        uint8_t c = bytes.data[at];

        if (begins_element(a, c) && !(is_space(c) && !a->skipping)) {
            if (cut_element(a, bytes, eof, &at, cut, &step) == 0)
                continue;
            cut->used = at;
            return step;
        }
        if (is_space(c)) {
            at++;
        } else if (a->place != AT_KEY) {
            a->place = next_place(a, c);
            at++;
        } else if (bytes.size - at < sizeof key - 1 && !eof) {
            cut->used = at;
            return DX_JSON_ARRAY_MORE;
        } else {
            bool is_key = bytes.size - at >= sizeof key - 1 &&
                          memcmp(bytes.data + at, key, sizeof key - 1) == 0;

            a->place = is_key ? AT_COLON : BROKEN;
            at += is_key ? sizeof key - 1 : 0;
        }
    }
    cut->used = a->place == BROKEN ? bytes.size : at;
    if (a->place == BROKEN || (eof && a->place != AT_END)) {
        a->place = BROKEN;
        return DX_JSON_ARRAY_BROKEN;
    }
    return eof ? DX_JSON_ARRAY_END : DX_JSON_ARRAY_MORE;
}
