/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/item_text.h"

#include "base/civil_time.h"
#include "base/json_out.h"
#include "base/plain_text.h"
#include "base/put.h"
#include "canon/ids.h"
#include "canon/url.h"
#include "format/text/locator.h"
#include "format/version/tag_list.h"
#include "format/version/url_ids.h"
#include "loader/version.h"
#include "parquet/page.h"
#include "query/rows/listing.h"

#include <assert.h>

#define URL_MAX \
    (4 * DX_URL_MAX) /* longer than any canonical one: a foreign lake may say anything */

#define TAG_MAX \
    (64u << 20) /* as large as a page of the lake may be; ours have some hundred bytes */

void dx_item_text_init(struct dx_item_text *t, struct dx_json *json, unsigned fields,
                       struct dx_version *v)
{
    t->json = json;
    t->fields = fields;
    dx_shown_request_init(&t->shown, v);
    t->has_dataset = false;
    t->dataset_size = 0;
    dx_buf_init(&t->url, URL_MAX);
    dx_buf_init(&t->tag, TAG_MAX);
}

void dx_item_text_release(struct dx_item_text *t)
{
    dx_buf_release(&t->url);
    dx_buf_release(&t->tag);
    dx_shown_request_release(&t->shown);
}

void dx_item_text_dataset(struct dx_item_text *t, uint32_t dataset_id)
{
    static_assert(sizeof t->dataset > DX_PUT_SIZE(",\"dataset_id\":") + 10, "ten digits fit");

    t->has_dataset = true;
    t->dataset_id = dataset_id;
    t->dataset_size = (size_t)(dx_put_u64(DX_PUT(t->dataset, ",\"dataset_id\":"), dataset_id) -
                               t->dataset);
}

/* ---- in one piece ---- */

#define ID_NAME "\"url_id\":\"0x"
#define URL_NAME "\"url\":\""
#define TS_NAME "\"ts\":"
/* All of the three members but the bytes of the URL. */
#define AROUND_URL \
    (DX_PUT_SIZE(ID_NAME "\"," URL_NAME "\"," TS_NAME) + DX_PUT_HEX64_SIZE + DX_CIVIL_TEXT + 2)

#define AROUND_ROW (sizeof(",{},,://") + AROUND_URL)
#define USUAL_FIELDS ((unsigned)DX_FIELDS_DEFAULT)

static uint8_t *put_url(uint8_t *at, const struct dx_listing_row *row)
{
    at = dx_put_span(at, row->scheme);
    at = DX_PUT(at, "://");
    at = dx_put_span(at, row->host);
    return dx_put_span(at, row->path_query);
}

static inline uint8_t *put_ts(uint8_t *at, bool has_ts, int64_t us)
{
    at = DX_PUT(at, TS_NAME);
    if (!has_ts)
        return DX_PUT(at, "null");
    *at++ = '"';
    at += dx_civil_text_us(us, (char *)at);
    *at++ = '"';
    return at;
}

/* id, URL and time, as far as they are wanted; returns what is behind them. The URL is put to its place first, or where it would
 * be, and hashed there. NULL: it is not plain. */
static uint8_t *put_plain(unsigned fields, const struct dx_listing_row *row, uint8_t *out)
{
    bool with_id = (fields & DX_FIELD_URL_ID) != 0;
    bool with_url = (fields & DX_FIELD_URL) != 0;
    uint8_t *url = out + (with_id ? DX_PUT_SIZE(ID_NAME "\",") + DX_PUT_HEX64_SIZE : 0) +
                   DX_PUT_SIZE(URL_NAME);
    uint8_t *end = put_url(url, row);
    size_t size = (size_t)(end - url);
    uint8_t *at = out;

    if (dx_plain_prefix(url, size) != size)
        return NULL;
    if (with_id) {
        at = DX_PUT(at, ID_NAME);
        at = dx_put_hex64(at, dx_url_id(dx_span_of(url, size)));
        *at++ = '"';
    }
    if (with_url) {
        if (with_id)
            *at++ = ',';
        (void)DX_PUT(at, URL_NAME);
        at = end;
        *at++ = '"';
    }
    if ((fields & DX_FIELD_TS) != 0) {
        if (at > out)
            *at++ = ',';
        at = put_ts(at, row->has_ts, row->ts_us);
    }
    return at;
}

static size_t url_size_of(const struct dx_listing_row *row)
{
    return row->scheme.size + DX_PUT_SIZE("://") + row->host.size + row->path_query.size;
}

/* The whole item, where it has these members alone: false, nothing is written. */
static bool write_plain_item(const struct dx_item_text *t, const struct dx_listing_row *row)
{
    size_t url_size = url_size_of(row);
    uint8_t *begin;
    uint8_t *at;

    if ((t->fields & ~USUAL_FIELDS) != 0 || t->fields == 0 || url_size > URL_MAX)
        return false;
    begin = at = dx_buf_reserve(t->json->buf, AROUND_ROW + url_size + t->dataset_size);
    if (begin == NULL)
        return false;
    if (dx_json_comma_due(t->json))
        *at++ = ',';
    *at++ = '{';
    at = put_plain(t->fields, row, at);
    if (at == NULL)
        return false;
    at = dx_put(at, t->dataset, t->dataset_size);
    *at++ = '}';
    dx_json_wrote(t->json, (size_t)(at - begin));
    return true;
}

/* ---- a stretch of rows ---- */

/* In whole vectors: as many bytes more may be read there and written here. */
static inline uint8_t *put_padded(uint8_t *at, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += DX_COLUMN_BLOCK_PAD)
        memcpy(at + i, bytes + i, DX_COLUMN_BLOCK_PAD);
    return at + size;
}

static inline uint8_t *put_row_of(uint8_t *at, const struct dx_column_block *b, uint32_t row)
{
    return put_padded(at, b->text + b->offsets[row], b->offsets[row + 1] - b->offsets[row]);
}

static size_t text_of(const struct dx_column_block *b, uint32_t first, uint32_t rows)
{
    return b->offsets[first + rows] - b->offsets[first];
}

/* Members of a row, of whose kinds there is one at least; its URL is plain. */
static inline uint8_t *put_members(uint8_t *at, const struct dx_listing_stretch *s, uint32_t i,
                                   bool with_id, bool with_url, bool with_ts)
{
    static const char middle[] = "\"," URL_NAME;
    uint8_t *id = at + DX_PUT_SIZE(ID_NAME);
    uint8_t *url = with_id ? id + DX_PUT_HEX64_SIZE + DX_PUT_SIZE(middle)
                           : at + DX_PUT_SIZE(URL_NAME);
    uint8_t *begin = at;

    if (with_id || with_url) {
        at = put_row_of(url, &s->scheme, s->first_scheme + i);
        memcpy(at, "://", 3);
        at = put_row_of(at + 3, &s->host, s->first_host + i);
        at = put_row_of(at, &s->path_query, s->first_path_query + i);
    }
    if (with_id) {
        memcpy(begin, ID_NAME, DX_PUT_SIZE(ID_NAME));
        (void)dx_put_hex64(id, dx_url_id(dx_span_of(url, (size_t)(at - url))));
        memcpy(id + DX_PUT_HEX64_SIZE, middle, DX_PUT_SIZE(middle));
    } else if (with_url) {
        memcpy(begin, URL_NAME, DX_PUT_SIZE(URL_NAME));
    }
    if (with_id && !with_url)
        at = id + DX_PUT_HEX64_SIZE;
    if (with_id || with_url)
        *at++ = '"';
    if (with_ts) {
        int64_t value = 0;
        int64_t us = 0;
        bool has_ts = dx_column_block_int(&s->ts, s->first_ts + i, &value) &&
                      dx_pq_time_us(s->time_unit, value, &us);

        if (with_id || with_url)
            *at++ = ',';
        at = put_ts(at, has_ts, us);
    }
    return at;
}

static inline uint8_t *put_stretch(const struct dx_item_text *t, const struct dx_listing_stretch *s,
                                   uint8_t *at, bool with_id, bool with_url, bool with_ts)
{
    for (uint32_t i = 0; i < s->row_count; i++) {
        if (i > 0 || dx_json_comma_due(t->json))
            *at++ = ',';
        *at++ = '{';
        at = put_members(at, s, i, with_id, with_url, with_ts);
        at = dx_put(at, t->dataset, t->dataset_size);
        *at++ = '}';
    }
    return at;
}

/* The two usual lists of fields have loops of their own. */
static uint8_t *put_stretch_of(const struct dx_item_text *t, const struct dx_listing_stretch *s,
                               uint8_t *at)
{
    switch (t->fields) {
    case DX_FIELDS_DEFAULT:
        return put_stretch(t, s, at, true, true, true);
    case DX_FIELD_URL | DX_FIELD_TS:
        return put_stretch(t, s, at, false, true, true);
    default:
        return put_stretch(t, s, at, (t->fields & DX_FIELD_URL_ID) != 0,
                           (t->fields & DX_FIELD_URL) != 0, (t->fields & DX_FIELD_TS) != 0);
    }
}

int dx_item_text_stretch(struct dx_item_text *t, const struct dx_listing_stretch *s,
                         struct dx_error *err)
{
    struct dx_buf *buf = t->json->buf;
    size_t room = text_of(&s->scheme, s->first_scheme, s->row_count) +
                  text_of(&s->host, s->first_host, s->row_count) +
                  text_of(&s->path_query, s->first_path_query, s->row_count) +
                  s->row_count * (AROUND_ROW + t->dataset_size) + DX_COLUMN_BLOCK_PAD;
    uint8_t *begin;
    uint8_t *at;

    if ((t->fields & ~USUAL_FIELDS) != 0 || t->fields == 0 || buf->failed ||
        room > buf->max - buf->size)
        return 0;
    begin = at = dx_buf_reserve(buf, room);
    if (begin == NULL)
        return dx_buf_fail(buf, err, "answer");
    at = put_stretch_of(t, s, at);
    dx_json_wrote(t->json, (size_t)(at - begin));
    return 1;
}

/* ---- piece by piece ---- */

static int write_escaped(struct dx_item_text *t, const struct dx_listing_row *row,
                         struct dx_error *err)
{
    struct dx_json *j = t->json;
    struct dx_span url;

    dx_buf_clear(&t->url);
    dx_buf_append(&t->url, row->scheme.data, row->scheme.size);
    dx_buf_append(&t->url, "://", 3);
    dx_buf_append(&t->url, row->host.data, row->host.size);
    dx_buf_append(&t->url, row->path_query.data, row->path_query.size);
    if (t->url.failed)
        return dx_buf_fail(&t->url, err, "URL of a row");
    url = dx_span_of(t->url.data, t->url.size);
    if (t->fields & DX_FIELD_URL_ID) {
        dx_json_key(j, "url_id");
        dx_json_hex64(j, dx_url_id(url));
    }
    if (t->fields & DX_FIELD_URL) {
        dx_json_key(j, "url");
        dx_json_text(j, url);
    }
    if (t->fields & DX_FIELD_TS) {
        dx_json_key(j, "ts");
        row->has_ts ? dx_json_time_us(j, row->ts_us) : dx_json_null(j);
    }
    return DX_OK;
}

static void write_text_or_null(struct dx_json *j, struct dx_span text)
{
    text.data != NULL ? dx_json_text(j, text) : dx_json_null(j);
}

/* Of a row that is stored under its canonical URL it is the one that was requested. */
static int write_raw_url(struct dx_item_text *t, const struct dx_listing_row *row,
                         struct dx_error *err)
{
    int rc = row->raw_url.data == NULL ? 1 : dx_shown_request_text(&t->shown, row->raw_url, err);

    dx_json_key(t->json, "raw_url");
    write_text_or_null(t->json, rc == 1 ? row->raw_url : dx_span_of(NULL, 0));
    return rc < 0 ? rc : DX_OK;
}

static int write_extras(struct dx_item_text *t, const struct dx_listing_row *row,
                        struct dx_error *err)
{
    struct dx_json *j = t->json;
    int rc = 1;

    dx_json_key(j, "extras");
    dx_json_object(j);
    for (size_t i = 0; i < row->extra_count && rc >= 0; i++) {
        struct dx_span name = row->extra[i].name;
        struct dx_span value = row->extra[i].value;

        if (value.data == NULL)
            continue;
        rc = dx_span_equal(name, dx_span_str(DX_REQUESTED_URL))
                 ? dx_shown_request_text(&t->shown, value, err)
             : dx_span_equal(name, dx_span_str(DX_LOCATOR_COLUMN))
                 ? dx_shown_request_locator(&t->shown, row, err)
                 : 1;
        if (rc != 1)
            continue;
        dx_json_key_span(j, name);
        dx_json_text(j, value);
    }
    dx_json_end(j);
    return rc < 0 ? rc : DX_OK;
}

/* All or nothing of them, so the text is gone through first. */
static void write_tags(struct dx_item_text *t, struct dx_span text)
{
    struct dx_tag_list all;
    int rc = text.data != NULL ? 1 : -1;

    dx_tag_list_begin(&all, text);
    while (rc == 1)
        rc = dx_tag_list_next(&all, &t->tag);
    if (rc < 0) {
        dx_json_null(t->json);
        if (text.data != NULL &&
            t->tag.no_memory) /* the answer fails: it may not say that there are none */
            t->json->buf->failed = t->json->buf->no_memory = true;
        return;
    }
    dx_tag_list_begin(&all, text);
    dx_json_array(t->json);
    while (dx_tag_list_next(&all, &t->tag) == 1)
        dx_json_text(t->json, dx_span_of(t->tag.data, t->tag.size));
    dx_json_end(t->json);
    if (t->tag.no_memory)
        t->json->buf->failed = t->json->buf->no_memory = true;
}

static void write_named(struct dx_item_text *t, const struct dx_listing_row *row)
{
    if (t->fields & DX_FIELD_TITLE) {
        dx_json_key(t->json, "title");
        write_text_or_null(t->json, dx_listing_extra(row, dx_span_str("title")));
    }
    if (t->fields & DX_FIELD_CONTENT_TYPE) {
        dx_json_key(t->json, "content_type");
        write_text_or_null(t->json, dx_listing_extra(row, dx_span_str("content_type")));
    }
    if (t->fields & DX_FIELD_TAGS) {
        dx_json_key(t->json, "tags");
        write_tags(t, dx_listing_extra(row, dx_span_str(DX_TAGS_COLUMN)));
    }
}

static int write_locator(struct dx_item_text *t, const struct dx_listing_row *row,
                         struct dx_error *err)
{
    struct dx_span locator = dx_listing_extra(row, dx_span_str(DX_LOCATOR_COLUMN));
    int rc = locator.data == NULL ? 1 : dx_shown_request_locator(&t->shown, row, err);

    dx_json_key(t->json, DX_LOCATOR_COLUMN);
    write_text_or_null(t->json, rc == 1 ? locator : dx_span_of(NULL, 0));
    return rc < 0 ? rc : DX_OK;
}

int dx_item_text_members(struct dx_item_text *t, const struct dx_listing_row *row,
                         struct dx_error *err)
{
    size_t url_size = url_size_of(row);
    struct dx_json *j = t->json;
    uint8_t *out = NULL;
    uint8_t *end;
    int rc = DX_OK;

    if (url_size <= URL_MAX)
        out = dx_buf_reserve(j->buf, AROUND_URL + url_size);
    if (j->buf->failed)
        return dx_buf_fail(j->buf, err, "answer");
    end = out == NULL ? NULL : put_plain(t->fields, row, out);
    if (end == NULL)
        rc = write_escaped(t, row, err);
    else if (end > out)
        dx_json_wrote(j, (size_t)(end - out));
    if (rc == DX_OK && (t->fields & DX_FIELD_RAW_URL) != 0)
        rc = write_raw_url(t, row, err);
    if (rc == DX_OK && (t->fields & DX_FIELD_EXTRAS) != 0)
        rc = write_extras(t, row, err);
    if (t->fields & DX_FIELDS_NAMED)
        write_named(t, row);
    if (rc == DX_OK && (t->fields & DX_FIELD_LOCATOR) != 0)
        rc = write_locator(t, row, err);
    return rc;
}

int dx_item_text_write(struct dx_item_text *t, const struct dx_listing_row *row,
                       struct dx_error *err)
{
    int rc;

    if (write_plain_item(t, row))
        return DX_OK;
    dx_json_object(t->json);
    rc = dx_item_text_members(t, row, err);
    if (t->has_dataset)
        dx_json_key_u64(t->json, "dataset_id", t->dataset_id);
    dx_json_end(t->json);
    return rc == DX_OK && t->json->buf->failed ? dx_buf_fail(t->json->buf, err, "answer") : rc;
}
