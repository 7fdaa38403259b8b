/* SPDX-License-Identifier: Apache-2.0 */
#include "query/formats/cdx_row.h"

#include "base/json_out.h"
#include "query/formats/json_rows.h"

#define SCRATCH_MAX ((size_t)64 << 20)
#define TIME_DIGITS 14

static const struct dx_span none = { NULL, 0 };

void dx_cdx_row_init(struct dx_cdx_row *l)
{
    *l = (struct dx_cdx_row){ .time = "-" };
    dx_urlkey_init(&l->key);
    dx_buf_init(&l->scratch, SCRATCH_MAX);
}

void dx_cdx_row_release(struct dx_cdx_row *l)
{
    dx_urlkey_release(&l->key);
    dx_buf_release(&l->scratch);
}

/* The text of a string; of all else nothing. */
static struct dx_span text_of(struct dx_cdx_row *l, struct dx_span value)
{
    struct dx_span text;

    return value.data != NULL && dx_json_plain(value, &l->scratch, &text) && text.size > 0 ? text
                                                                                           : none;
}

/* "2024-06-14T08:15:30.5Z" */
static void set_time(struct dx_cdx_row *l, struct dx_span text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.size && n < TIME_DIGITS; i++)
        if (text.data[i] >= '0' && text.data[i] <= '9')
            l->time[n++] = (char)text.data[i];
    if (n < TIME_DIGITS) {
        l->time[0] = '-';
        n = 1;
    }
    l->time[n] = '\0';
}

static bool all_digits(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    return s.size > 0;
}

/* "NAME#warc=OFFSET+LENGTH", of which the length may be missing. */
static void set_place(struct dx_cdx_row *l, struct dx_span locator)
{
    static const char mark[] = "#warc=";
    const size_t size = sizeof mark - 1;
    const uint8_t *hash = locator.size == 0 ? NULL : memrchr(locator.data, '#', locator.size);
    struct dx_span place;
    const uint8_t *plus;

    if (hash == NULL || (size_t)(locator.data + locator.size - hash) <= size ||
        memcmp(hash, mark, size) != 0)
        return;
    place = dx_span_of(hash + size, (size_t)(locator.data + locator.size - hash) - size);
    plus = memchr(place.data, '+', place.size);
    l->offset = plus == NULL ? place : dx_span_of(place.data, (size_t)(plus - place.data));
    if (plus != NULL)
        l->length = dx_span_of(plus + 1, (size_t)(place.data + place.size - plus - 1));
    if (!all_digits(l->offset) || (plus != NULL && !all_digits(l->length))) {
        l->offset = l->length = none;
        return;
    }
    l->filename = dx_span_of(locator.data, (size_t)(hash - locator.data));
}

static bool is(struct dx_span name, const char *a, const char *b)
{
    return dx_span_equal(name, dx_span_str(a)) || dx_span_equal(name, dx_span_str(b));
}

static int set_extras(struct dx_cdx_row *l, struct dx_span object, struct dx_error *err)
{
    struct dx_json_members m;
    struct dx_span name;
    struct dx_span value;
    bool revisit = false;
    int rc = 0;

    if (object.data == NULL)
        return 0;
    dx_json_members_begin(&m, object);
    while ((rc = dx_json_members_next(&m, &name, &value, err)) == 1) {
        if (is(name, "mime", "mimetype") && l->mime.data == NULL)
            l->mime = text_of(l, value);
        else if (is(name, "type", "type"))
            revisit = dx_span_equal(text_of(l, value), dx_span_str("revisit"));
        else if (is(name, "status", "statuscode"))
            l->status = text_of(l, value);
        else if (is(name, "digest", "digest"))
            l->digest = text_of(l, value);
        else if (is(name, "redirect", "redirect"))
            l->redirect = text_of(l, value);
        else if (is(name, "robotflags", "robotflags"))
            l->flags = text_of(l, value);
    }
    if (revisit)
        l->mime = dx_span_str("warc/revisit");
    return rc;
}

/* "text/html" of "text/html; charset=utf-8". */
static struct dx_span without_parameters(struct dx_span mime)
{
    size_t i = 0;

    while (i < mime.size && mime.data[i] != ';' && mime.data[i] != ',')
        i++;
    while (i > 0 && mime.data[i - 1] == ' ')
        i--;
    return dx_span_of(mime.data, i);
}

static struct dx_span value_of(const struct dx_row_column *columns, size_t count,
                               const struct dx_span *values, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(columns[i].name, name) == 0)
            return values[i];
    return none;
}

static int set_key(struct dx_cdx_row *l, struct dx_error *err)
{
    const uint8_t *colon = l->url.size == 0 ? NULL : memchr(l->url.data, ':', l->url.size);
    const uint8_t *end = colon == NULL ? NULL : l->url.data + l->url.size;
    const uint8_t *host = colon == NULL || end - colon < 3 ? NULL : colon + 3;
    const uint8_t *slash = host == NULL ? NULL : memchr(host, '/', (size_t)(end - host));

    if (slash == NULL)
        return dx_fail(err, DX_E_CORRUPT, "answer: the url of a row is not canonical");
    if (!dx_urlkey_make(&l->key, dx_span_of(host, (size_t)(slash - host)),
                        dx_span_of(slash, (size_t)(end - slash))))
        return dx_urlkey_no_memory(&l->key)
                   ? dx_no_memory(err, "answer: the key of a URL")
                   : dx_fail(err, DX_E_LIMIT, "answer: the key of a URL of %zu bytes is too long",
                             l->url.size);
    return DX_OK;
}

int dx_cdx_row_set(struct dx_cdx_row *l, const struct dx_row_column *columns, size_t count,
                   const struct dx_span *values, struct dx_error *err)
{
    size_t room = 1;
    int rc;

    /* No text is longer than what it is decoded from, so that spans into scratch stay where they are. */
    for (size_t i = 0; i < count; i++)
        room += values[i].size;
    dx_buf_clear(&l->scratch);
    if (dx_buf_reserve(&l->scratch, room) == NULL)
        return dx_buf_fail(&l->scratch, err, "a row");
    l->status = l->digest = l->redirect = l->flags = l->length = l->offset = l->filename = none;
    l->url = text_of(l, value_of(columns, count, values, "url"));
    l->raw_url = text_of(l, value_of(columns, count, values, "raw_url"));
    l->mime = text_of(l, value_of(columns, count, values, "content_type"));
    set_time(l, value_of(columns, count, values, "ts"));
    set_place(l, text_of(l, value_of(columns, count, values, "locator")));
    rc = set_extras(l, value_of(columns, count, values, "extras"), err);
    l->mime = without_parameters(l->mime);
    return rc < 0 ? rc : set_key(l, err);
}

/* ---- values: as CDX answers have them (query/cdx/capture_row.c) ---- */

static bool is_graphic(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] <= ' ' || s.data[i] >= 0x7f)
            return false;
    return true;
}

static struct dx_span original_of(const struct dx_cdx_row *l)
{
    return l->raw_url.size > 0 && is_graphic(l->raw_url) ? l->raw_url : l->url;
}

/* json: in a string of it. */
static void put_value(struct dx_span s, bool json, struct dx_buf *out)
{
    if (is_graphic(s)) {
        json ? dx_json_escape(out, s) : dx_buf_append(out, s.data, s.size);
        return;
    }
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] <= ' ' || s.data[i] >= 0x7f) {
            dx_buf_fmt(out, "%%%02X", s.data[i]);
            continue;
        }
        if (json && (s.data[i] == '"' || s.data[i] == '\\'))
            dx_buf_u8(out, '\\');
        dx_buf_u8(out, s.data[i]);
    }
}

/* ---- CDX ---- */

static void put_column(struct dx_span s, struct dx_buf *out)
{
    dx_buf_u8(out, ' ');
    if (s.size == 0)
        dx_buf_u8(out, '-');
    put_value(s, false, out);
}

void dx_cdx_row_put(const struct dx_cdx_row *l, struct dx_buf *out)
{
    const struct dx_span columns[] = {
        original_of(l), l->mime,   l->status, l->digest,   l->redirect,
        l->flags,       l->length, l->offset, l->filename,
    };

    dx_buf_append(out, l->key.key.data, l->key.key.size);
    dx_buf_u8(out, ' ');
    dx_buf_str(out, l->time);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        put_column(columns[i], out);
    dx_buf_u8(out, '\n');
}

/* ---- CDXJ ---- */

static void put_member(const char *name, struct dx_span value, struct dx_buf *out)
{
    if (value.size == 0)
        return;
    dx_buf_fmt(out, ", \"%s\": \"", name);
    put_value(value, true, out);
    dx_buf_u8(out, '"');
}

void dx_cdx_row_put_json(const struct dx_cdx_row *l, struct dx_buf *out)
{
    dx_buf_append(out, l->key.key.data, l->key.key.size);
    dx_buf_u8(out, ' ');
    dx_buf_str(out, l->time);
    dx_buf_str(out, " {\"url\": \"");
    put_value(original_of(l), true, out);
    dx_buf_u8(out, '"');
    put_member("mime", l->mime, out);
    put_member("status", l->status, out);
    put_member("digest", l->digest, out);
    put_member("redirect", l->redirect, out);
    put_member("length", l->length, out);
    put_member("offset", l->offset, out);
    put_member("filename", l->filename, out);
    dx_buf_str(out, "}\n");
}
