/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/url_texts.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "canon/url.h"

/* One text, decoded. */
struct text {
    uint8_t byte[DX_URL_MAX];
    size_t size; /* over DX_URL_MAX: too long */
};

struct walk {
    dx_url_text_take *take;
    void *ctx;
};

static void put(struct text *t, unsigned c)
{
    if (t->size < DX_URL_MAX)
        t->byte[t->size++] = (uint8_t)c;
    else
        t->size = DX_URL_MAX + 1;
}

static void put_utf8(struct text *t, uint32_t c)
{
    uint8_t bytes[DX_UTF8_MAX];
    size_t n = dx_utf8_write(bytes, c);

    for (size_t i = 0; i < n; i++)
        put(t, bytes[i]);
}

static int give(const struct walk *w, const uint8_t *data, size_t size)
{
    return size == 0 || size > DX_URL_MAX ? 0 : w->take(w->ctx, dx_span_of(data, size));
}

/* ---- strings ---- */

/* The four digits behind "\u"; -1: there are none. */
static int32_t unit(const uint8_t *at, const uint8_t *end)
{
    uint64_t c;

    if (end - at < 6 || at[0] != '\\' || at[1] != 'u' || !dx_hex_number(at + 2, 4, &c))
        return -1;
    return (int32_t)c;
}

/* What begins with a backslash; returns what is behind it. */
static const uint8_t *put_escape(struct text *t, const uint8_t *at, const uint8_t *end)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    int32_t c = unit(at, end);
    int32_t low = c >> 10 == 0xd800 >> 10 ? unit(at + 6, end) : -1;
    const char *control;

    if (low >> 10 == 0xdc00 >> 10) {
        put_utf8(t, 0x10000 + ((uint32_t)(c & 0x3ff) << 10) + (low & 0x3ff));
        return at + 12;
    }
    if (c >= 0) {
        put_utf8(t, (uint32_t)c);
        return at + 6;
    }
    if (end - at < 2)
        return end;
    control = memchr(from, at[1], sizeof from - 1);
    put(t, control == NULL ? at[1] : (uint8_t)to[control - from]);
    return at + 2;
}

/* at: behind the quote that begins a string. Returns what is behind the one that ends it; NULL: none does. */
typedef const uint8_t *take_string(struct text *t, const uint8_t *at, const uint8_t *end);

static const uint8_t *json_string(struct text *t, const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at != '"')
        if (*at == '\\')
            at = put_escape(t, at, end);
        else
            put(t, *at++);
    return at < end ? at + 1 : NULL;
}

static const uint8_t *csv_string(struct text *t, const uint8_t *at, const uint8_t *end)
{
    while (at < end && (*at != '"' || (end - at > 1 && at[1] == '"'))) {
        put(t, *at);
        at += *at == '"' ? 2 : 1;
    }
    return at < end ? at + 1 : NULL;
}

static int each_string(const struct walk *w, struct dx_span text, take_string *string)
{
    const uint8_t *end = text.data + text.size;
    const uint8_t *at = text.data;
    struct text t;
    int rc = 0;

    while (rc == 0 && at != NULL && (at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        t.size = 0;
        at = string(&t, at + 1, end);
        rc = at == NULL ? 0 : give(w, t.byte, t.size);
    }
    return rc;
}

/* ---- fields ---- */

static bool is_json(struct dx_span text)
{
    size_t i = 0;

    while (i < text.size && text.data[i] != 0 && strchr(" \t\r\n", text.data[i]) != NULL)
        i++;
    return i < text.size && (text.data[i] == '{' || text.data[i] == '[');
}

static int each_field(const struct walk *w, struct dx_span line, char separator)
{
    const uint8_t *end = line.data + line.size;
    const uint8_t *at = line.data;
    int rc = 0;

    while (rc == 0 && at != NULL && at < end) {
        const uint8_t *next = memchr(at, separator, (size_t)(end - at));

        rc = give(w, at, (size_t)((next == NULL ? end : next) - at));
        at = next == NULL ? NULL : next + 1;
    }
    return rc;
}

/* Between marks that no canonical URL has. */
static int each_word(const struct walk *w, struct dx_span line)
{
    size_t begin = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i <= line.size; i++) {
        if (i < line.size && line.data[i] > ' ' && strchr("\"'<>", line.data[i]) == NULL)
            continue;
        rc = give(w, line.data + begin, i - begin);
        begin = i + 1;
    }
    return rc;
}

int dx_url_texts_row(struct dx_span text, dx_url_text_take *take, void *ctx)
{
    const struct walk w = { take, ctx };
    int rc = text.size == 0 ? 0 : give(&w, text.data, text.size);

    return rc != 0 || !is_json(text) ? rc : each_string(&w, text, json_string);
}

int dx_url_texts_line(struct dx_span line, dx_url_text_take *take, void *ctx)
{
    const struct walk w = { take, ctx };
    int rc = 0;

    if (line.size == 0)
        return 0;
    if (!is_json(line))
        for (const char *separator = "\t, "; rc == 0 && *separator != '\0'; separator++)
            rc = each_field(&w, line, *separator);
    if (rc == 0 && !is_json(line))
        rc = each_word(&w, line);
    if (rc == 0)
        rc = each_string(&w, line, json_string);
    return rc != 0 || is_json(line) ? rc : each_string(&w, line, csv_string);
}

/* ---- folders ---- */

static int give_value(const struct walk *w, const uint8_t *at, const uint8_t *end)
{
    struct text t;

    for (t.size = 0; at < end; at++) {
        int c = dx_hex_escape(at, end);

        put(&t, c < 0 ? *at : (unsigned)c);
        at += c < 0 ? 0 : 2;
    }
    return give(w, t.byte, t.size);
}

int dx_url_texts_path(struct dx_span path, dx_url_text_take *take, void *ctx)
{
    const struct walk w = { take, ctx };
    const uint8_t *at = path.data, *slash, *sign;
    size_t left = path.size;
    int rc = 0;

    while (rc == 0 && left > 0 && (slash = memchr(at, '/', left)) != NULL) {
        sign = memchr(at, '=', (size_t)(slash - at));
        if (sign != NULL)
            rc = give_value(&w, sign + 1, slash);
        left -= (size_t)(slash + 1 - at);
        at = slash + 1;
    }
    return rc;
}
