/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text/name_list.h"

#include "base/buf.h"
#include "format/text/json_array.h"
#include "format/text/record_fields.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>

/* What is left when no name can be taken is less than a record of the longest, and its line end. */
#define CAPACITY (DX_NAME_LINE_MAX + 2 + DX_NAME_LIST_ROOM)

struct dx_name_list {
    enum dx_name_list_format format;
    uint64_t line;   /* of the next record */
    size_t at, end;  /* what has not been taken, in bytes */
    size_t column;   /* of CSV */
    bool begun;      /* the byte order mark, or what stands there, has passed */
    bool header_due; /* the next record of a CSV may be a header */
    bool skipping;   /* inside a record that was reported as too long */
    bool ended;
    struct dx_json_array array; /* of JSON */
    bool array_over;            /* its end, or what is wrong with it, was given */
    struct dx_buf text;         /* of the name given last, where it is not in bytes as it is */
    uint8_t bytes[CAPACITY];
};

static const char *const names[] = { "domain", "host", "url" };

int dx_name_list_new(struct dx_name_list **out, enum dx_name_list_format format,
                     struct dx_error *err)
{
    struct dx_name_list *l = malloc(sizeof *l);

    *out = l;
    if (l == NULL)
        return dx_no_memory(err, "list of names");
    l->format = format;
    l->line = 1;
    l->at = l->end = l->column = 0;
    l->begun = l->skipping = l->ended = false;
    l->header_due = format == DX_NAME_LIST_CSV;
    l->array = (struct dx_json_array){ .size_max = DX_NAME_LINE_MAX };
    l->array_over = false;
    dx_buf_init(&l->text, DX_NAME_LINE_MAX);
    return DX_OK;
}

void dx_name_list_free(struct dx_name_list **l)
{
    if (*l != NULL)
        dx_buf_release(&(*l)->text);
    free(*l);
    *l = NULL;
}

uint8_t *dx_name_list_room(struct dx_name_list *l, size_t *size)
{
    if (l->at > 0) { /* bytes that come one by one do not move those before them each time */
        memmove(l->bytes, l->bytes + l->at, l->end - l->at);
        l->end -= l->at;
        l->at = 0;
    }
    *size = CAPACITY - l->end;
    return l->bytes + l->end;
}

void dx_name_list_put(struct dx_name_list *l, size_t size)
{
    assert(size <= CAPACITY - l->end && (size == 0 || !l->ended));
    l->end += size;
}

void dx_name_list_end(struct dx_name_list *l)
{
    l->ended = true;
}

/* False: more bytes are needed to decide. */
static bool drop_mark(struct dx_name_list *l)
{
    static const uint8_t mark[3] = { 0xef, 0xbb, 0xbf };
    size_t n = l->end - l->at < sizeof mark ? l->end - l->at : sizeof mark;

    if (memcmp(l->bytes + l->at, mark, n) == 0) {
        if (n < sizeof mark && !l->ended)
            return false;
        if (n == sizeof mark)
            l->at += n;
    }
    l->begun = true;
    return true;
}

/* 1: a record that is not empty; its bytes stay where they are until room is asked for. */
static int cut_record(struct dx_name_list *l, struct dx_name *name)
{
    while (l->at < l->end) {
        struct dx_span rest = { l->bytes + l->at, l->end - l->at };
        struct dx_record_cut c;

        if (l->skipping) {
            const uint8_t *next = dx_record_line_end(rest, l->ended);

            l->at = next == NULL ? l->end : (size_t)(next - l->bytes);
            l->skipping = next == NULL;
            l->line += next != NULL;
            continue;
        }
        if (dx_record_cut(rest, l->format == DX_NAME_LIST_CSV, l->ended, DX_NAME_LINE_MAX, &c) == 0)
            return 0;
        *name = (struct dx_name){ l->line, { rest.data, c.size }, c.flaw };
        l->skipping = c.next == NULL;
        l->at = l->skipping ? l->end : (size_t)(c.next - l->bytes);
        l->line += l->skipping ? 0 : c.lines;
        if (c.size > 0)
            return 1;
    }
    return 0;
}

/* The same of an array. */
static int cut_array(struct dx_name_list *l, struct dx_name *name)
{
    struct dx_json_array_cut c;
    enum dx_json_array_step step;

    if (l->array_over) {
        l->at = l->end;
        return 0;
    }
    step = dx_json_array_next(&l->array, dx_span_of(l->bytes + l->at, l->end - l->at), l->ended,
                              &c);
    l->at += c.used;
    if (step == DX_JSON_ARRAY_MORE)
        return 0;
    *name = (struct dx_name){ l->line++, c.element, DX_FLAW_NONE };
    if (step == DX_JSON_ARRAY_TOO_LONG)
        name->flaw = DX_FLAW_TOO_LONG;
    if (step == DX_JSON_ARRAY_BROKEN)
        name->flaw = DX_FLAW_MALFORMED;
    l->array_over = step == DX_JSON_ARRAY_BROKEN || step == DX_JSON_ARRAY_END;
    return step != DX_JSON_ARRAY_END;
}

static void set_flaw(struct dx_name *name)
{
    name->asked = (struct dx_span){ NULL, 0 };
    if (name->flaw == DX_FLAW_NONE)
        name->flaw = DX_FLAW_MALFORMED;
}

/* ---- CSV ---- */

/* Whether the record is a header: then its column is known. */
static bool take_header(struct dx_name_list *l, const struct dx_span *fields, size_t count)
{
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t i = 0; i < count; i++)
            if (dx_span_is_word(dx_span_trimmed(fields[i]), names[n])) {
                l->column = i;
                return true;
            }
    return false;
}

/* False: it was the header. */
static bool of_csv(struct dx_name_list *l, struct dx_name *name)
{
    struct dx_span fields[DX_NAME_CSV_COLUMN_MAX];
    bool is_first = l->header_due;
    size_t max = is_first ? DX_NAME_CSV_COLUMN_MAX : l->column + 1;
    bool ok;
    size_t count = dx_fields_csv(name->asked, fields, max, &l->text, &ok);

    l->header_due = false;
    if (!ok) {
        set_flaw(name);
        return true;
    }
    if (is_first && take_header(l, fields, count))
        return false;
    name->asked = l->column < count ? fields[l->column] : (struct dx_span){ NULL, 0 };
    return true;
}

/* ---- NDJSON ---- */

static const json_t *name_in(const json_t *value)
{
    const json_t *found = value;

    for (size_t n = 0; json_is_object(value) && n < sizeof names / sizeof *names; n++) {
        found = json_object_get(value, names[n]);
        if (found != NULL)
            break;
    }
    return json_is_string(found) ? found : NULL;
}

static void of_json(struct dx_name_list *l, struct dx_name *name)
{
    json_t *value = json_loadb((const char *)name->asked.data, name->asked.size,
                               JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    const json_t *found = name_in(value);

    dx_buf_clear(&l->text);
    if (found != NULL)
        dx_buf_append(&l->text, json_string_value(found), json_string_length(found));
    if (found == NULL || l->text.failed)
        set_flaw(name);
    else
        name->asked = (struct dx_span){ l->text.data, l->text.size };
    json_decref(value);
}

bool dx_name_list_next(struct dx_name_list *l, struct dx_name *name)
{
    if (!l->begun && !drop_mark(l))
        return false;
    while (l->format == DX_NAME_LIST_JSON ? cut_array(l, name) : cut_record(l, name)) {
        if (name->flaw != DX_FLAW_NONE) {
            l->header_due = false;
            set_flaw(name);
            return true;
        }
        if (l->format == DX_NAME_LIST_CSV && !of_csv(l, name))
            continue;
        if (l->format == DX_NAME_LIST_NDJSON || l->format == DX_NAME_LIST_JSON)
            of_json(l, name);
        return true;
    }
    return false;
}
