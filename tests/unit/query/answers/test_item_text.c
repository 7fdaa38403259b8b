/* SPDX-License-Identifier: Apache-2.0
 * Rows as JSON: written in one piece, a stretch at a time, or with escapes, they are the text that
 * base/json_out.h makes of their members. And what of a text is plain, by every way to look.
 */
#include "base/json_out.h"
#include "base/plain_text.h"
#include "canon/ids.h"
#include "parquet/page.h"
#include "query/answers/item_text.h"
#include "query/rows/listing.h"
#include "tests/support/damage.h"

#define ROWS 40
#define TEXT 80 /* bytes of one at most */

static unsigned failures;

/* ---- plain text ---- */

static size_t plain_bytewise(const uint8_t *p, size_t size)
{
    size_t i = 0;

    while (i < size && p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

static void check_prefix(const uint8_t *p, size_t size)
{
    size_t want = plain_bytewise(p, size);

    EXPECT(dx_plain_prefix(p, size) == want, "%zu of %zu, want %zu", dx_plain_prefix(p, size), size,
           want);
    EXPECT(dx_plain_prefix_words(p, size) == want, "words: %zu of %zu, want %zu",
           dx_plain_prefix_words(p, size), size, want);
}

/* Each byte at each place of texts that end at a page that cannot be read, behind plain bytes and
 * before others of all kinds. */
static void check_plain(void)
{
    uint8_t bytes[48];
    uint64_t seed = 3;

    for (size_t size = 0; size <= sizeof bytes; size++) {
        struct damaged d;

        memset(bytes, 'a', sizeof bytes);
        d = damaged_copy(dx_span_of(bytes, size));
        check_prefix(d.bytes, size);
        for (size_t at = 0; at < size; at++)
            for (unsigned c = 0; c < 256; c++) {
                d.bytes[at] = (uint8_t)c;
                check_prefix(d.bytes, size);
                for (size_t i = at + 1; i < size; i++)
                    d.bytes[i] = (uint8_t)random_next(&seed);
                check_prefix(d.bytes, size);
                memset(d.bytes + at, 'a', size - at);
            }
        damaged_free(&d);
    }
}

/* ---- rows ---- */

struct model {
    char text[3][ROWS][TEXT]; /* scheme, host, path_query */
    size_t size[3][ROWS];
    bool has_ts[ROWS];
    int64_t ts[ROWS];
};

static void random_text(uint64_t *seed, bool wild, size_t most, char *to, size_t *size)
{
    *size = (size_t)random_below(seed, most + 1);
    for (size_t i = 0; i < *size; i++)
        to[i] = (char)(wild && random_below(seed, 8) == 0 ? random_next(seed)
                                                          : 'a' + random_below(seed, 26));
}

static void make_model(struct model *m, uint64_t *seed, bool wild, bool with_nulls)
{
    static const size_t most[3] = { 5, 30, TEXT };

    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned k = 0; k < 3; k++)
            random_text(seed, wild, most[k], m->text[k][i], &m->size[k][i]);
        m->has_ts[i] = !with_nulls || random_below(seed, 3) > 0;
        m->ts[i] = (int64_t)(random_next(seed) % 4000000000000000);
    }
}

static struct dx_listing_row row_of(const struct model *m, unsigned i)
{
    struct dx_listing_row row = { .has_ts = m->has_ts[i], .ts_us = m->ts[i], .extra_count = 4 };

    row.scheme = dx_span_of(m->text[0][i], m->size[0][i]);
    row.host = dx_span_of(m->text[1][i], m->size[1][i]);
    row.path_query = dx_span_of(m->text[2][i], m->size[2][i]);
    if (i % 3 != 0)
        row.raw_url = dx_span_of(m->text[2][i], m->size[2][i]);
    row.extra[0].name = dx_span_str("a\"b");
    row.extra[0].value = row.host;
    row.extra[1].name = dx_span_str("null");
    row.extra[1].value = dx_span_of(NULL, 0);
    row.extra[2].name = dx_span_str("title");
    row.extra[2].value = row.path_query;
    row.extra[3].name = dx_span_str("tags");
    row.extra[3].value = dx_span_str(i % 2 != 0 ? "[\"a\", \"\\u00e9\\\"\"]" : "[\"a\", 1]");
    return row;
}

/* What docs/API.md says of an item, member by member. */
static void want_item(struct dx_json *j, const struct dx_listing_row *row, unsigned fields)
{
    struct dx_buf url = DX_BUF_INIT(1000);

    dx_buf_append(&url, row->scheme.data, row->scheme.size);
    dx_buf_str(&url, "://");
    dx_buf_append(&url, row->host.data, row->host.size);
    dx_buf_append(&url, row->path_query.data, row->path_query.size);
    dx_json_object(j);
    if (fields & DX_FIELD_URL_ID) {
        dx_json_key(j, "url_id");
        dx_json_hex64(j, dx_url_id(dx_span_of(url.data, url.size)));
    }
    if (fields & DX_FIELD_URL) {
        dx_json_key(j, "url");
        dx_json_text(j, dx_span_of(url.data, url.size));
    }
    if (fields & DX_FIELD_TS) {
        dx_json_key(j, "ts");
        row->has_ts ? dx_json_time_us(j, row->ts_us) : dx_json_null(j);
    }
    if (fields & DX_FIELD_RAW_URL) {
        dx_json_key(j, "raw_url");
        row->raw_url.data != NULL ? dx_json_text(j, row->raw_url) : dx_json_null(j);
    }
    if (fields & DX_FIELD_EXTRAS) {
        dx_json_key(j, "extras");
        dx_json_object(j);
        dx_json_key_span(j, row->extra[0].name);
        dx_json_text(j, row->extra[0].value);
        dx_json_key(j, "title");
        dx_json_text(j, row->path_query);
        dx_json_key(j, "tags");
        dx_json_text(j, row->extra[3].value);
        dx_json_end(j);
    }
    if (fields & DX_FIELD_TITLE) {
        dx_json_key(j, "title");
        dx_json_text(j, row->path_query);
    }
    if (fields & DX_FIELD_CONTENT_TYPE) {
        dx_json_key(j, "content_type");
        dx_json_null(j);
    }
    if (fields & DX_FIELD_TAGS) {
        dx_json_key(j, "tags");
        if (dx_span_equal(row->extra[3].value, dx_span_str("[\"a\", 1]"))) {
            dx_json_null(j);
        } else {
            dx_json_array(j);
            dx_json_str(j, "a");
            dx_json_str(j, "\xc3\xa9\"");
            dx_json_end(j);
        }
    }
    if (fields & DX_FIELD_LOCATOR) {
        dx_json_key(j, "locator");
        dx_json_null(j);
    }
    dx_json_end(j);
    dx_buf_release(&url);
}

static uint8_t *block_of(const struct model *m, unsigned column, size_t *size)
{
    struct dx_pq_values values = DX_PQ_VALUES_INIT;
    struct dx_span spans[ROWS];
    uint8_t valid[ROWS];
    struct dx_error err;

    values.row_count = ROWS;
    for (unsigned i = 0; i < ROWS; i++) {
        valid[i] = m->has_ts[i];
        if (column < 3)
            spans[i] = dx_span_of(m->text[column][i], m->size[column][i]);
    }
    values.spans = spans;
    values.ints = (int64_t *)(uintptr_t)m->ts;
    values.valid = column == 3 ? valid : NULL;
    return dx_column_block_make(&values, column == 3 ? DX_PQ_INT64 : DX_PQ_BYTE_ARRAY, size, &err);
}

/* Rows [first, first + count) as one stretch, behind an item that is there already or not. */
static void check_stretch(const struct model *m, struct dx_column_block blocks[4], uint32_t first,
                          uint32_t count, bool behind, bool with_ts, unsigned fields)
{
    struct dx_listing_stretch s = { count, blocks[0], blocks[1], blocks[2], blocks[3],
                                    first, first,     first,     first,     DX_PQ_TIME_MICROS };
    struct dx_buf got = DX_BUF_INIT(1 << 20), want = DX_BUF_INIT(1 << 20);
    struct dx_item_text t;
    struct dx_error err;
    struct dx_json j, w;

    if (!with_ts)
        s.ts = (struct dx_column_block){ 0 };
    dx_json_open(&j, &got);
    dx_json_open(&w, &want);
    dx_json_array(&j);
    dx_json_array(&w);
    if (behind) {
        dx_json_null(&j);
        dx_json_null(&w);
    }
    dx_item_text_init(&t, &j, fields, NULL);
    EXPECT(dx_item_text_stretch(&t, &s, &err) == 1, "%u rows from %u on", count, first);
    for (uint32_t i = 0; i < count; i++) {
        struct dx_listing_row row = row_of(m, first + i);

        row.has_ts = row.has_ts && with_ts;
        want_item(&w, &row, fields);
    }
    dx_json_end(&j);
    dx_json_end(&w);
    EXPECT(got.size == want.size && memcmp(got.data, want.data, want.size) == 0, "%.*s\nwant %.*s",
           (int)got.size, (const char *)got.data, (int)want.size, (const char *)want.data);
    dx_item_text_release(&t);
    dx_buf_release(&got);
    dx_buf_release(&want);
}

static void check_stretches(uint64_t *seed, bool wild, bool with_nulls)
{
    struct dx_column_block blocks[4];
    uint8_t *bytes[4];
    struct model m;
    bool plain = true;

    make_model(&m, seed, wild, with_nulls);
    for (unsigned k = 0; k < 4; k++) {
        size_t size;

        bytes[k] = block_of(&m, k, &size);
        if (bytes[k] == NULL)
            abort();
        blocks[k] = dx_column_block_of(dx_span_of(bytes[k], size));
        for (unsigned i = 0; i < ROWS && k < 3; i++)
            plain = plain &&
                    plain_bytewise((const uint8_t *)m.text[k][i], m.size[k][i]) == m.size[k][i];
    }
    EXPECT((blocks[0].plain && blocks[1].plain && blocks[2].plain) == plain, "wild %d", wild);
    for (unsigned round = 0; round < 20 && plain; round++) {
        uint32_t first = (uint32_t)random_below(seed, ROWS);

        check_stretch(&m, blocks, first, (uint32_t)random_below(seed, ROWS - first + 1), round & 1,
                      round & 2, 1 + round % DX_FIELDS_DEFAULT);
    }
    for (unsigned k = 0; k < 4; k++)
        free(bytes[k]);
}

static void check_rows(uint64_t *seed, bool wild, unsigned fields)
{
    struct dx_buf got = DX_BUF_INIT(1 << 20), want = DX_BUF_INIT(1 << 20);
    struct dx_item_text t;
    struct dx_error err;
    struct dx_json j, w;
    struct model m;

    make_model(&m, seed, wild, true);
    dx_json_open(&j, &got);
    dx_json_open(&w, &want);
    dx_json_array(&j);
    dx_json_array(&w);
    dx_item_text_init(&t, &j, fields, NULL);
    for (unsigned i = 0; i < ROWS; i++) {
        struct dx_listing_row row = row_of(&m, i);

        EXPECT(dx_item_text_write(&t, &row, &err) == DX_OK, "row %u", i);
        want_item(&w, &row, fields);
    }
    EXPECT(got.size == want.size && memcmp(got.data, want.data, want.size) == 0,
           "fields %u: %.*s\nwant %.*s", fields, (int)got.size, (const char *)got.data,
           (int)want.size, (const char *)want.data);
    dx_item_text_release(&t);
    dx_buf_release(&got);
    dx_buf_release(&want);
}

/* What a body may not hold is an error of the row, by each way; a time outside of the years that a
 * text can have counts as missing. */
static void check_refusals(uint64_t *seed)
{
    struct dx_listing_stretch s = { .row_count = ROWS, .time_unit = DX_PQ_TIME_MILLIS };
    struct dx_buf small = DX_BUF_INIT(20), large = DX_BUF_INIT(1 << 20);
    struct dx_item_text t;
    struct dx_error err;
    uint8_t *bytes[4];
    struct model m;
    struct dx_listing_row row;
    struct dx_json j;

    make_model(&m, seed, false, false);
    m.ts[ROWS - 1] = INT64_MAX;
    for (unsigned k = 0; k < 4; k++) {
        struct dx_column_block *to[4] = { &s.scheme, &s.host, &s.path_query, &s.ts };
        size_t size;

        bytes[k] = block_of(&m, k, &size);
        if (bytes[k] == NULL)
            abort();
        *to[k] = dx_column_block_of(dx_span_of(bytes[k], size));
    }
    dx_json_open(&j, &large);
    dx_json_array(&j);
    dx_item_text_init(&t, &j, DX_FIELDS_DEFAULT, NULL);
    EXPECT(dx_item_text_stretch(&t, &s, &err) == 1 && large.size > 20 &&
               memcmp(large.data + large.size - 10, "\"ts\":null}", 10) == 0,
           "a time that does not fit: %.*s", 40, (char *)large.data + large.size - 40);
    dx_buf_clear(&large);
    dx_json_open(&j, &large);
    dx_json_array(&j);
    t.fields = DX_FIELD_URL | DX_FIELD_RAW_URL;
    EXPECT(dx_item_text_stretch(&t, &s, &err) == 0 && large.size == 1, "other fields");
    dx_json_open(&j, &small);
    dx_json_array(&j);
    t.fields = DX_FIELDS_DEFAULT;
    EXPECT(dx_item_text_stretch(&t, &s, &err) == 0 && small.size == 1, "no room");
    row = row_of(&m, 0);
    EXPECT(dx_item_text_write(&t, &row, &err) < 0, "no room for a row");
    dx_item_text_release(&t);
    for (unsigned k = 0; k < 4; k++)
        free(bytes[k]);
    dx_buf_release(&small);
    dx_buf_release(&large);
}

int main(void)
{
    uint64_t seed = 5;

    check_plain();
    for (unsigned round = 0; round < 100; round++) {
        check_stretches(&seed, round % 4 == 3, round & 1);
        check_rows(&seed, round & 1, round * 101 % (DX_FIELDS_ALL + 1));
    }
    check_refusals(&seed);
    return failures > 0;
}
