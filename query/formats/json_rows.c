/* SPDX-License-Identifier: Apache-2.0 */
#include "query/formats/json_rows.h"

#include "base/decimal.h"
#include "base/hex.h"
#include "base/utf8.h"

static int broken(const char *what, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "answer: %s", what);
}

/* Behind the closing quote; at: behind the opening one. NULL: there is none. */
static const uint8_t *skip_string(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        const uint8_t *quote = memchr(at, '"', (size_t)(end - at));
        const uint8_t *before = quote;

        if (quote == NULL)
            return NULL;
        while (before > at && before[-1] == '\\')
            before--;
        if ((quote - before) % 2 == 0)
            return quote + 1;
        at = quote + 1;
    }
    return NULL;
}

static const uint8_t *skip_nested(const uint8_t *at, const uint8_t *end)
{
    size_t depth = 0;

    while (at != NULL && at < end) {
        uint8_t c = *at++;

        if (c == '"')
            at = skip_string(at, end);
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return at;
    }
    return NULL;
}

/* Behind the value that begins here. */
static const uint8_t *skip_value(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *begin = at;

    if (at == end)
        return NULL;
    if (*at == '"')
        return skip_string(at + 1, end);
    if (*at == '{' || *at == '[')
        return skip_nested(at, end);
    while (at < end && *at != ',' && *at != '}' && *at != ']')
        at++;
    return at == begin ? NULL : at;
}

/* ---- members ---- */

void dx_json_members_begin(struct dx_json_members *m, struct dx_span object)
{
    m->at = object.data;
    m->end = object.data + object.size;
}

/* The name, and the colon. */
static int next_name(struct dx_json_members *m, struct dx_span *name, struct dx_error *err)
{
    const uint8_t *begin = m->at + 1;
    const uint8_t *behind;

    if (m->at == m->end || *m->at != '"')
        return broken("a member without a name", err);
    behind = skip_string(begin, m->end);
    if (behind == NULL || behind == m->end || *behind != ':')
        return broken("a name without a value", err);
    *name = dx_span_of(begin, (size_t)(behind - 1 - begin));
    m->at = behind + 1;
    return DX_OK;
}

/* 1 with the place of its value, 0 at the end. */
static int begin_member(struct dx_json_members *m, struct dx_span *name, struct dx_error *err)
{
    int rc;

    if (m->at == m->end || (*m->at != '{' && *m->at != ',' && *m->at != '}'))
        return broken("an object that does not end", err);
    if (*m->at == '}' || (*m->at == '{' && m->at + 1 < m->end && m->at[1] == '}'))
        return 0;
    m->at++;
    rc = next_name(m, name, err);
    return rc < 0 ? rc : 1;
}

static int end_member(struct dx_json_members *m, struct dx_span *value, struct dx_error *err)
{
    const uint8_t *behind = skip_value(m->at, m->end);

    if (behind == NULL)
        return broken("a value that does not end", err);
    *value = dx_span_of(m->at, (size_t)(behind - m->at));
    m->at = behind;
    return 1;
}

int dx_json_members_next(struct dx_json_members *m, struct dx_span *name, struct dx_span *value,
                         struct dx_error *err)
{
    int rc = begin_member(m, name, err);

    return rc == 1 ? end_member(m, value, err) : rc;
}

/* ---- rows ---- */

int dx_json_rows_open(struct dx_json_rows *r, struct dx_span body, const char *member,
                      struct dx_error *err)
{
    struct dx_json_members m;
    struct dx_span name = { NULL, 0 };
    struct dx_span before;
    int rc;

    dx_json_members_begin(&m, body);
    while ((rc = begin_member(&m, &name, err)) == 1 && !dx_span_equal(name, dx_span_str(member)))
        if (end_member(&m, &before, err) < 0)
            return (int)err->code;
    if (rc < 0)
        return rc;
    if (rc == 0 || m.at == m.end || *m.at != '[')
        return broken("no array of rows", err);
    *r = (struct dx_json_rows){ .at = m.at + 1, .end = m.end };
    return DX_OK;
}

int dx_json_rows_next(struct dx_json_rows *r, struct dx_span *row, struct dx_error *err)
{
    const uint8_t *behind;

    if (r->at < r->end && *r->at == ']') {
        r->at++;
        return 0;
    }
    if (r->any && r->at < r->end && *r->at == ',')
        r->at++;
    else if (r->any)
        return broken("an array that does not end", err);
    if (r->at == r->end || *r->at != '{')
        return broken("a row is not an object", err);
    behind = skip_nested(r->at, r->end);
    if (behind == NULL)
        return broken("a row does not end", err);
    *row = dx_span_of(r->at, (size_t)(behind - r->at));
    r->at = behind;
    r->any = true;
    return 1;
}

int dx_json_rows_end(struct dx_json_rows *r, struct dx_json_next *next, struct dx_error *err)
{
    struct dx_json_members m = { r->at, r->end };
    struct dx_span name;
    struct dx_span value;
    int rc;

    *next = (struct dx_json_next){ .cursor = { NULL, 0 } };
    while ((rc = dx_json_members_next(&m, &name, &value, err)) == 1) {
        if (dx_span_equal(name, dx_span_str("next_cursor")) && value.data[0] == '"')
            next->cursor = dx_span_of(value.data + 1, value.size - 2);
        else if (dx_span_equal(name, dx_span_str("next_offset")))
            next->has_offset = dx_decimal(value, UINT64_MAX, &next->offset);
    }
    return rc;
}

/* ---- texts ---- */

static void put_code(struct dx_buf *out, uint32_t code)
{
    uint8_t bytes[DX_UTF8_MAX];

    dx_buf_append(out, bytes, dx_utf8_write(bytes, code));
}

/* at: behind the 'u'. Bytes of it that were used; 0: it is not one. */
static size_t put_escaped(struct dx_buf *b, const uint8_t *at, const uint8_t *end)
{
    uint64_t c;
    uint64_t low;

    if (end - at < 4 || !dx_hex_number(at, 4, &c) || (c >= 0xdc00 && c < 0xe000))
        return 0;
    if (c < 0xd800 || c >= 0xe000) {
        put_code(b, (uint32_t)c);
        return 4;
    }
    if (end - at < 10 || at[4] != '\\' || at[5] != 'u' || !dx_hex_number(at + 6, 4, &low) ||
        low < 0xdc00 || low >= 0xe000)
        return 0;
    put_code(b, (uint32_t)(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00)));
    return 10;
}

static bool decode_string(struct dx_span s, struct dx_buf *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const uint8_t *end = s.data + s.size;

    for (const uint8_t *at = s.data; at < end;) {
        const char *which;
        size_t used;

        if (*at != '\\') {
            dx_buf_u8(out, *at++);
            continue;
        }
        if (++at == end)
            return false;
        if (*at == 'u') {
            used = put_escaped(out, at + 1, end);
            if (used == 0)
                return false;
            at += 1 + used;
            continue;
        }
        which = *at == '\0' ? NULL : strchr(from, *at);
        if (which == NULL)
            return false;
        dx_buf_u8(out, (uint8_t)to[which - from]);
        at++;
    }
    return !out->failed;
}

bool dx_json_plain(struct dx_span value, struct dx_buf *scratch, struct dx_span *text)
{
    size_t begin = scratch->size;
    struct dx_span inside;

    if (value.size < 2 || value.data[0] != '"')
        return false;
    inside = dx_span_of(value.data + 1, value.size - 2);
    *text = inside;
    if (inside.size == 0 || memchr(inside.data, '\\', inside.size) == NULL)
        return true;
    if (!decode_string(inside, scratch))
        return false;
    *text = dx_buf_from(scratch, begin);
    return true;
}
