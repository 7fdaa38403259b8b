/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"

#include "base/civil_time.h"
#include "base/plain_text.h"
#include "base/put.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

void dx_json_open(struct dx_json *j, struct dx_buf *buf)
{
    *j = (struct dx_json){ .buf = buf };
}

/* Everything that begins a value passes here: comma or none. */
static void begin_value(struct dx_json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth > 0) {
        if (j->not_first[j->depth - 1])
            dx_buf_u8(j->buf, ',');
        j->not_first[j->depth - 1] = true;
    }
}

static void open_level(struct dx_json *j, char opener, char closer)
{
    begin_value(j);
    assert(j->depth < DX_JSON_DEPTH_MAX);
    dx_buf_u8(j->buf, (uint8_t)opener);
    j->closer[j->depth] = closer;
    j->not_first[j->depth] = false;
    j->depth++;
}

void dx_json_object(struct dx_json *j)
{
    open_level(j, '{', '}');
}

void dx_json_array(struct dx_json *j)
{
    open_level(j, '[', ']');
}

void dx_json_end(struct dx_json *j)
{
    assert(j->depth > 0 && !j->after_key);
    j->depth--;
    dx_buf_u8(j->buf, (uint8_t)j->closer[j->depth]);
}

void dx_json_key_span(struct dx_json *j, struct dx_span key)
{
    assert(!j->after_key);
    begin_value(j);
    dx_buf_u8(j->buf, '"');
    dx_json_escape(j->buf, key);
    dx_buf_append(j->buf, "\":", 2);
    j->after_key = true;
}

void dx_json_key(struct dx_json *j, const char *key)
{
    begin_value(j);
    dx_buf_u8(j->buf, '"');
    dx_buf_str(j->buf, key);
    dx_buf_append(j->buf, "\":", 2);
    j->after_key = true;
}

static void escape_one(struct dx_buf *buf, uint8_t c)
{
    switch (c) {
    case '"':
        dx_buf_append(buf, "\\\"", 2);
        break;
    case '\\':
        dx_buf_append(buf, "\\\\", 2);
        break;
    case '\n':
        dx_buf_append(buf, "\\n", 2);
        break;
    case '\r':
        dx_buf_append(buf, "\\r", 2);
        break;
    case '\t':
        dx_buf_append(buf, "\\t", 2);
        break;
    default:
        dx_buf_fmt(buf, "\\u%04x", c);
    }
}

void dx_json_escape(struct dx_buf *buf, struct dx_span s)
{
    size_t plain = 0; /* start of the run that needs no escape */
    size_t i = 0;

    while (i < s.size) {
        const uint8_t *p = s.data + i;
        size_t n = dx_plain_prefix(p, s.size - i);

        if (n > 0) {
            i += n;
            continue;
        }
        n = dx_utf8_size(p, s.size - i);
        bool separator = n == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] | 1) == 0xa9;
        bool control = n == 2 && p[0] == 0xc2 && p[1] < 0xa0; /* C1: terminals obey them */
        if (n > 1 && !separator && !control) {
            i += n;
            continue;
        }
        dx_buf_append(buf, s.data + plain, i - plain);
        if (n == 1 || control) {
            escape_one(buf, p[n - 1]);
        } else if (separator) {
            dx_buf_str(buf, p[2] == 0xa8 ? "\\u2028" : "\\u2029");
        } else {
            dx_buf_str(buf, "\xef\xbf\xbd");
            n = 1;
        }
        i += n;
        plain = i;
    }
    if (plain < s.size) /* an empty text may have no address */
        dx_buf_append(buf, s.data + plain, s.size - plain);
}

void dx_json_text(struct dx_json *j, struct dx_span s)
{
    begin_value(j);
    dx_buf_u8(j->buf, '"');
    dx_json_escape(j->buf, s);
    dx_buf_u8(j->buf, '"');
}

void dx_json_str(struct dx_json *j, const char *s)
{
    dx_json_text(j, dx_span_str(s));
}

bool dx_json_comma_due(const struct dx_json *j)
{
    return j->depth > 0 && j->not_first[j->depth - 1];
}

void dx_json_wrote(struct dx_json *j, size_t bytes)
{
    assert(j->depth > 0 && !j->after_key);
    j->buf->size += bytes;
    j->not_first[j->depth - 1] = true;
}

void dx_json_u64(struct dx_json *j, uint64_t v)
{
    uint8_t digits[DX_PUT_U64_MAX];

    begin_value(j);
    dx_buf_append(j->buf, digits, (size_t)(dx_put_u64(digits, v) - digits));
}

void dx_json_key_u64(struct dx_json *j, const char *key, uint64_t v)
{
    dx_json_key(j, key);
    dx_json_u64(j, v);
}

void dx_json_number(struct dx_json *j, struct dx_span text)
{
    begin_value(j);
    dx_buf_append(j->buf, text.data, text.size);
}

void dx_json_i64(struct dx_json *j, int64_t v)
{
    if (v >= 0) {
        dx_json_u64(j, (uint64_t)v);
        return;
    }
    begin_value(j);
    dx_buf_u8(j->buf, '-');
    j->after_key = true; /* the digits belong to the same value */
    dx_json_u64(j, (uint64_t)0 - (uint64_t)v);
}

void dx_json_bool(struct dx_json *j, bool v)
{
    begin_value(j);
    dx_buf_str(j->buf, v ? "true" : "false");
}

void dx_json_null(struct dx_json *j)
{
    begin_value(j);
    dx_buf_append(j->buf, "null", 4);
}

void dx_json_hex64(struct dx_json *j, uint64_t v)
{
    uint8_t text[DX_PUT_SIZE("\"0x\"") + DX_PUT_HEX64_SIZE];

    begin_value(j);
    *dx_put_hex64(DX_PUT(text, "\"0x"), v) = '"';
    dx_buf_append(j->buf, text, sizeof text);
}

void dx_json_double(struct dx_json *j, double v)
{
    uint8_t text[DX_PUT_REAL_MAX];

    begin_value(j);
    dx_buf_append(j->buf, text, (size_t)(dx_put_real(text, 6, v) - text));
}

void dx_json_time_us(struct dx_json *j, int64_t us)
{
    char text[DX_CIVIL_TEXT];
    size_t n = dx_civil_text_us(us, text);

    begin_value(j);
    dx_buf_u8(j->buf, '"');
    dx_buf_append(j->buf, text, n);
    dx_buf_u8(j->buf, '"');
}
