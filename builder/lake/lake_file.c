/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_file.h"

#include "base/file.h"
#include "base/release.h"
#include "base/utf8.h"
#include "builder/lake/lake_page.h"
#include "builder/lake/lake_pool.h"
#include "canon/url.h"
#include "parquet/footer.h"
#include "parquet/page_index.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define FOOTER_BUF_MAX (1u << 30)

/* A higher level of zstd finds nothing in hashes and times, and takes up to four times as long to see it. */
#define NUMBERS_LEVEL (-1)

/* Fixed columns by their place in the file; extras come behind TS, url_id is the last. */
enum { DOMAIN, DOMAIN_ID, SCHEME, HOST, PATH_QUERY, RAW_URL, TS, FIRST_EXTRA };

/* The order of rows, which the file promises. */
/* The rows are sorted by these, and then by ts with nulls first. */
static const uint8_t text_key[] = { DOMAIN, HOST, PATH_QUERY };
#define TEXT_KEYS (sizeof(text_key) / sizeof(*text_key))
#define SORT_KEYS (TEXT_KEYS + 1)

/* What a column has in the row group whose pages are coming in. */
struct chunk {
    struct dx_buf pages;
    struct dx_pq_page_entry *entry;
    uint32_t entry_count, entry_capacity;
    struct dx_pq_bounds bounds;
    uint64_t null_count;
    uint64_t uncompressed_size;
    uint64_t bytes_written; /* of all row groups */
    uint32_t encodings;     /* of pages: a bit each */
};

/* A row group that is in the file. Offsets of indexes are within their buffers. */
struct group {
    struct dx_pq_chunk *chunk;
    struct dx_pq_bounds *bounds;
    uint64_t row_count, offset, plain_size, size;
};

/* Two stages, both in the caller's thread: rows fill pages, and pages that the pool has encoded are
 * finished, put into their row group and that into the file, up to some pages later. */
struct dx_lake_writer {
    struct dx_lake_options options;
    struct dx_lake_pool *pool;
    struct dx_lake_column column[DX_LAKE_COLUMNS_MAX];
    bool is_binary
        [DX_LAKE_COLUMNS_MAX]; /* a value is not UTF-8: the column cannot be called STRING */
    size_t column_count;
    size_t extra_count;
    bool has_url_id, ts_micros;
    char *dataset_name;

    struct dx_lake_page *page; /* being filled, or NULL */
    uint64_t group_rows, rows, page_count;
    uint64_t group_number;          /* of the row group that is being filled: */
    uint64_t finished_bytes;        /* of its pages, */
    uint64_t coming_bytes;          /* and what those that are not finished have at most */
    struct dx_span last[TEXT_KEYS]; /* in the page, which ends after the next row was checked */
    bool last_has_ts;
    int64_t last_ts_us;
    bool any;

    struct dx_file_out out; /* from here on: the second stage */
    struct chunk chunk[DX_LAKE_COLUMNS_MAX];
    uint64_t chunk_rows;
    struct group *group;
    uint32_t group_count, group_capacity;
    struct dx_buf column_index, offset_index;
    enum dx_sync sync;
    dx_lake_closed *closed;
    void *closed_ctx;
};

/* ---- opening ---- */

static int add_column(struct dx_lake_writer *w, const char *name, const struct dx_lake_column *like,
                      struct dx_error *err)
{
    struct dx_lake_column *c = &w->column[w->column_count];

    *c = *like;
    c->type.codec = DX_PQ_ZSTD;
    dx_buf_init(&w->chunk[w->column_count].pages, FOOTER_BUF_MAX);
    w->column_count++;
    c->name = strdup(name);
    return c->name != NULL ? DX_OK : dx_no_memory(err, "lake file");
}

static int add_columns(struct dx_lake_writer *w, const struct dx_lake_schema *schema,
                       struct dx_error *err)
{
    /* Hashes: nothing to gain from differences, and zstd finds the repeats of a domain_id
     * better in the plain bytes (reddit list: 0.345 bytes a row, with differences 0.420). */
    const struct dx_lake_column id = { .type = { .type = DX_PQ_INT64, .is_unsigned = true },
                                       .encoding = DX_PQ_PLAIN,
                                       .level_max = NUMBERS_LEVEL,
                                       .logical = DX_PQ_LOGICAL_INTEGER };
    const struct dx_lake_column string = { .type.type = DX_PQ_BYTE_ARRAY,
                                           .encoding = DX_PQ_PLAIN,
                                           .level_max = INT_MAX,
                                           .logical = DX_PQ_LOGICAL_STRING };
    const struct dx_lake_column nullable = { .type = { .type = DX_PQ_BYTE_ARRAY, .max_def = 1 },
                                             .encoding = DX_PQ_PLAIN,
                                             .level_max = INT_MAX,
                                             .logical = DX_PQ_LOGICAL_STRING };
    const struct dx_lake_column time = {
        .type = { .type = DX_PQ_INT64,
                  .max_def = 1,
                  .time_unit = schema->ts_micros ? DX_PQ_TIME_MICROS : DX_PQ_TIME_MILLIS },
        .encoding = DX_PQ_DELTA_BINARY_PACKED,
        .level_max = NUMBERS_LEVEL,
        .logical = DX_PQ_LOGICAL_TIMESTAMP
    };
    struct dx_lake_column domain = string, host = string, path = string;
    struct dx_lake_column url_id = id;
    int rc;

    /* Of rows that mostly repeat the one before zstd makes less with sizes and bytes together. Hosts are sorted
     * too, but zstd finds more in whole ones. */
    domain.encoding = DX_PQ_DELTA_BYTE_ARRAY;
    host.encoding = DX_PQ_DELTA_LENGTH_BYTE_ARRAY;
    domain.plain_repeats = host.plain_repeats = true;
    path.encoding = DX_PQ_DELTA_BYTE_ARRAY;
    url_id.mostly_unique = true;
    rc = add_column(w, "domain", &domain, err);
    if (rc == DX_OK)
        rc = add_column(w, "domain_id", &id, err);
    if (rc == DX_OK)
        rc = add_column(w, "scheme", &string, err);
    if (rc == DX_OK)
        rc = add_column(w, "host", &host, err);
    if (rc == DX_OK)
        rc = add_column(w, "path_query", &path, err);
    if (rc == DX_OK)
        rc = add_column(w, "raw_url", &nullable, err);
    if (rc == DX_OK)
        rc = add_column(w, "ts", &time, err);
    for (size_t i = 0; rc == DX_OK && i < schema->extra_count; i++)
        rc = add_column(w, schema->extra_names[i], &nullable, err);
    if (rc == DX_OK && schema->url_id)
        rc = add_column(w, "url_id", &url_id, err);
    return rc;
}

static int check_names(const struct dx_lake_schema *schema, struct dx_error *err)
{
    static const char *const taken[] = { "dataset_id", "domain",  "domain_id", "scheme", "host",
                                         "path_query", "raw_url", "ts",        "url_id" };

    if (schema->extra_count > DX_LAKE_EXTRA_MAX)
        return dx_fail(err, DX_E_LIMIT, "lake file: %zu further columns, limit %d",
                       schema->extra_count, DX_LAKE_EXTRA_MAX);
    for (size_t i = 0; i < schema->extra_count; i++) {
        const char *name = schema->extra_names[i];
        bool is_taken = name[0] == '\0';

        for (size_t k = 0; k < sizeof(taken) / sizeof(*taken); k++)
            is_taken |= strcmp(name, taken[k]) == 0;
        for (size_t k = 0; k < i; k++)
            is_taken |= strcmp(name, schema->extra_names[k]) == 0;
        if (is_taken)
            return dx_fail(err, DX_E_INVALID, "lake file: a column cannot be named \"%s\" (taken)",
                           name);
    }
    return DX_OK;
}

static int check_options(const struct dx_lake_options *o, struct dx_error *err)
{
    if (o->page_rows_max == 0 || o->page_rows_max > 1u << 20 ||
        o->page_rows_min > o->page_rows_max || o->group_rows_max == 0 ||
        o->group_rows_min > o->group_rows_max || o->page_bytes_max == 0 ||
        o->page_bytes_max > 1u << 28 || o->group_bytes_max == 0 || o->group_bytes_max > 1u << 29)
        return dx_fail(err, DX_E_INVALID, "lake file: options out of range");
    return DX_OK;
}

static void free_writer(struct dx_lake_writer *w)
{
    dx_lake_pool_give_back(w->pool, &w->page);
    for (size_t i = 0; i < w->column_count; i++) {
        free(w->column[i].name);
        free(w->chunk[i].entry);
        dx_buf_release(&w->chunk[i].pages);
    }
    for (uint32_t i = 0; i < w->group_count; i++) {
        free(w->group[i].chunk);
        free(w->group[i].bounds);
    }
    free(w->group);
    free(w->dataset_name);
    dx_buf_release(&w->column_index);
    dx_buf_release(&w->offset_index);
    free(w);
}

static struct dx_lake_writer *new_writer(const struct dx_lake_schema *schema,
                                         const struct dx_lake_options *options,
                                         struct dx_lake_pool *pool, struct dx_error *err)
{
    struct dx_lake_writer *w = calloc(1, sizeof(*w));
    int rc;

    if (w == NULL) {
        (void)dx_no_memory(err, "lake file");
        return NULL;
    }
    w->options = *options;
    w->pool = pool;
    w->extra_count = schema->extra_count;
    w->has_url_id = schema->url_id;
    w->ts_micros = schema->ts_micros;
    dx_buf_init(&w->column_index, FOOTER_BUF_MAX);
    dx_buf_init(&w->offset_index, FOOTER_BUF_MAX);
    rc = add_columns(w, schema, err);
    if (rc == DX_OK && schema->dataset_name != NULL) {
        w->dataset_name = strdup(schema->dataset_name);
        if (w->dataset_name == NULL)
            rc = dx_no_memory(err, "lake file");
    }
    if (rc == DX_OK)
        return w;
    free_writer(w);
    return NULL;
}

int dx_lake_file_open_in(struct dx_lake_file *file, struct dx_lake_pool *pool, const char *path,
                         const struct dx_lake_schema *schema, const struct dx_lake_options *options,
                         struct dx_error *err)
{
    static const struct dx_lake_options defaults = DX_LAKE_OPTIONS_DEFAULT;
    struct dx_lake_writer *w;
    int rc;

    file->writer = NULL;
    options = options == NULL ? &defaults : options;
    rc = check_options(options, err);
    if (rc == DX_OK)
        rc = check_names(schema, err);
    if (rc < 0)
        return rc;
    w = new_writer(schema, options, pool, err);
    if (w == NULL)
        return DX_E_NOMEM;
    rc = dx_file_out_open(&w->out, path, err);
    if (rc < 0) {
        free_writer(w);
        return rc;
    }
    file->writer = w;
    return dx_file_out_write(&w->out, dx_span_str("PAR1"), err);
}

int dx_lake_file_open(struct dx_lake_file *file, const char *path,
                      const struct dx_lake_schema *schema, const struct dx_lake_options *options,
                      struct dx_error *err)
{
    int rc;

    *file = (struct dx_lake_file)DX_LAKE_FILE_INIT;
    rc = dx_lake_pool_new(&file->own_pool, 1, err);
    if (rc == DX_OK)
        rc = dx_lake_file_open_in(file, file->own_pool, path, schema, options, err);
    if (file->writer == NULL)
        dx_lake_pool_free(&file->own_pool);
    return rc;
}

static void drop_writer(void *ctx)
{
    struct dx_lake_writer *w = ctx;

    dx_file_out_abort(&w->out);
    free_writer(w);
}

void dx_lake_file_abort(struct dx_lake_file *file)
{
    if (file->writer != NULL)
        dx_lake_pool_stop(file->writer->pool); /* its pages may be there still */
    if (file->writer != NULL)
        drop_writer(file->writer);
    file->writer = NULL;
    dx_lake_pool_free(&file->own_pool);
}

/* ---- pages and row groups ---- */

static int add_entry(struct chunk *c, const struct dx_pq_page_entry *e, struct dx_error *err)
{
    if (c->entry_count == c->entry_capacity) {
        uint32_t capacity = c->entry_capacity == 0 ? 16 : c->entry_capacity * 2;
        void *bigger = realloc(c->entry, capacity * sizeof(*c->entry));

        if (bigger == NULL)
            return dx_no_memory(err, "lake file");
        c->entry = bigger;
        c->entry_capacity = capacity;
    }
    c->entry[c->entry_count++] = *e;
    return DX_OK;
}

static int take_page_of(struct dx_lake_writer *w, const struct dx_lake_page *page, size_t i,
                        struct dx_error *err)
{
    const struct dx_lake_page_column *from = &page->column[i];
    struct chunk *c = &w->chunk[i];
    struct dx_pq_page_entry e = { .offset = c->pages.size,
                                  .first_row = page->first_row,
                                  .row_count = page->rows,
                                  .null_count = from->values.null_count,
                                  .size = from->info.size,
                                  .bounds = from->bounds };

    dx_buf_append(&c->pages, page->out.data + from->at, from->info.size);
    if (c->pages.failed)
        return dx_buf_fail(&c->pages, err, "pages");
    dx_pq_bounds_merge(&w->column[i].type, &c->bounds, &e.bounds);
    c->null_count += from->values.null_count;
    c->uncompressed_size += from->info.uncompressed_size;
    c->encodings |= 1u << from->encoding;
    return add_entry(c, &e, err);
}

/* Second stage: a page comes into its row group. */
static int finish_page(void *ctx, struct dx_lake_page *page, struct dx_error *err)
{
    struct dx_lake_writer *w = ctx;
    int rc = DX_OK;

    assert(page->first_row == w->chunk_rows && page->out.size <= page->bytes_bound);
    for (size_t i = 0; rc == DX_OK && i < w->column_count; i++)
        rc = take_page_of(w, page, i, err);
    w->chunk_rows += page->rows;
    if (page->group == w->group_number) {
        w->finished_bytes += page->out.size;
        w->coming_bytes -= page->bytes_bound;
    }
    return rc;
}

static uint32_t page_rows(const struct dx_lake_writer *w)
{
    return w->page == NULL ? 0 : w->page->rows;
}

static int end_page(struct dx_lake_writer *w, struct dx_error *err)
{
    struct dx_lake_task task = { .ctx = w, .finish = finish_page };
    int rc;

    if (page_rows(w) == 0)
        return DX_OK;
    task.page = w->page;
    w->page->first_row = w->group_rows - w->page->rows;
    w->page->group = w->group_number;
    w->page->bytes_bound = dx_lake_page_bound(w->page);
    w->coming_bytes += w->page->bytes_bound;
    rc = dx_lake_pool_put(w->pool, &task, err);
    if (rc < 0)
        return rc;
    w->page = NULL;
    w->page_count++;
    return DX_OK;
}

/* The page for the next row, `size` bytes of strings. */
static int need_page(struct dx_lake_writer *w, size_t size, struct dx_error *err)
{
    int rc = DX_OK;

    if (w->page == NULL) {
        rc = dx_lake_pool_page(w->pool, &w->page, err);
        if (rc == DX_OK)
            rc = dx_lake_page_begin(w->page, w->column, w->column_count, &w->options, err);
    }
    return rc == DX_OK ? dx_lake_page_need(w->page, size, &w->options, err) : rc;
}

static int new_group(struct dx_lake_writer *w, struct group **out, struct dx_error *err)
{
    struct group *g;

    if (w->group_count == w->group_capacity) {
        uint32_t capacity = w->group_capacity == 0 ? 4 : w->group_capacity * 2;
        void *bigger = realloc(w->group, capacity * sizeof(*w->group));

        if (bigger == NULL)
            return dx_no_memory(err, "lake file");
        w->group = bigger;
        w->group_capacity = capacity;
    }
    g = &w->group[w->group_count];
    *g = (struct group){ .row_count = w->chunk_rows, .offset = w->out.size };
    g->chunk = calloc(w->column_count, sizeof(*g->chunk));
    g->bounds = calloc(w->column_count, sizeof(*g->bounds));
    w->group_count++;
    *out = g;
    return g->chunk != NULL && g->bounds != NULL ? DX_OK : dx_no_memory(err, "lake file");
}

static struct dx_pq_statistics statistics_of(const struct dx_pq_bounds *b, uint64_t null_count)
{
    struct dx_pq_statistics s = { .has_null_count = true, .null_count = null_count };

    if (b->has_min) {
        s.min = dx_span_of(b->min, b->min_size);
        s.min_is_exact = b->min_is_exact;
    }
    if (b->has_max) {
        s.max = dx_span_of(b->max, b->max_size);
        s.max_is_exact = b->max_is_exact;
    }
    return s;
}

static void put_indexes(struct dx_lake_writer *w, size_t number, struct dx_pq_chunk *chunk)
{
    const struct chunk *c = &w->chunk[number];
    size_t at = w->column_index.size;

    chunk->column_index_offset = at;
    if (dx_pq_column_index_write(&w->column[number].type, c->entry, c->entry_count,
                                 &w->column_index))
        chunk->column_index_size = (uint32_t)(w->column_index.size - at);
    at = w->offset_index.size;
    chunk->offset_index_offset = at;
    dx_pq_offset_index_write(c->entry, c->entry_count, &w->offset_index);
    chunk->offset_index_size = (uint32_t)(w->offset_index.size - at);
}

static int write_chunk(struct dx_lake_writer *w, struct group *g, size_t number,
                       struct dx_error *err)
{
    struct dx_pq_chunk *chunk = &g->chunk[number];
    struct chunk *c = &w->chunk[number];
    int rc;

    for (uint32_t i = 0; i < c->entry_count; i++)
        c->entry[i].offset += w->out.size;
    g->bounds[number] = c->bounds;
    *chunk = (struct dx_pq_chunk){
        .codec = DX_PQ_ZSTD,
        .encodings = c->encodings | 1u << DX_PQ_RLE,
        .value_count = g->row_count,
        .uncompressed_size = c->uncompressed_size,
        .compressed_size = c->pages.size,
        .data_page_offset = w->out.size,
        .statistics = statistics_of(&g->bounds[number], c->null_count),
    };
    put_indexes(w, number, chunk);
    g->size += c->pages.size;
    g->plain_size += c->uncompressed_size;
    c->bytes_written += c->pages.size;
    rc = dx_file_out_write(&w->out, dx_span_of(c->pages.data, c->pages.size), err);
    dx_buf_clear(&c->pages);
    c->entry_count = 0;
    c->bounds = (struct dx_pq_bounds){ .has_min = false };
    c->null_count = 0;
    c->uncompressed_size = 0;
    c->encodings = 0;
    return rc;
}

/* Second stage: all pages of a row group are there. */
static int finish_group(void *ctx, struct dx_lake_page *page, struct dx_error *err)
{
    struct dx_lake_writer *w = ctx;
    struct group *g = NULL;
    int rc = new_group(w, &g, err);

    assert(w->chunk_rows > 0);
    (void)page;
    for (size_t i = 0; rc == DX_OK && i < w->column_count; i++)
        rc = write_chunk(w, g, i, err);
    w->chunk_rows = 0;
    return rc;
}

static int end_group(struct dx_lake_writer *w, struct dx_error *err)
{
    const struct dx_lake_task task = { .ctx = w, .finish = finish_group };
    int rc = end_page(w, err);

    if (rc < 0 || w->group_rows == 0)
        return rc;
    w->group_rows = 0;
    w->group_number++;
    w->finished_bytes = 0;
    w->coming_bytes = 0;
    return dx_lake_pool_put(w->pool, &task, err);
}

/* Where a row group ends may depend on the sizes of its pages. They are waited for where what is
 * certain about them does not decide. */
static int group_is_full(struct dx_lake_writer *w, bool *is_full, struct dx_error *err)
{
    uint64_t max = w->options.group_bytes_max;
    int rc = DX_OK;

    while (rc >= 0 && w->finished_bytes < max && w->coming_bytes > 0 &&
           w->finished_bytes + w->coming_bytes >= max)
        rc = dx_lake_pool_step(w->pool, err);
    *is_full = w->finished_bytes >= max;
    return rc < 0 ? rc : DX_OK;
}

/* Ends page and row group where the next row, `size` bytes of strings, must not join them. */
static int make_room(struct dx_lake_writer *w, bool is_border, size_t size, struct dx_error *err)
{
    const struct dx_lake_options *o = &w->options;
    uint32_t rows = page_rows(w);
    bool page_ends, group_ends;
    int rc = DX_OK;

    group_ends = w->group_rows >= o->group_rows_max ||
                 (is_border && w->group_rows >= o->group_rows_min);
    page_ends = rows >= o->page_rows_max || (is_border && rows >= o->page_rows_min) ||
                (rows > 0 && w->page->text_size + size > o->page_bytes_max);
    if (page_ends && !group_ends) {
        rc = end_page(w, err);
        if (rc == DX_OK)
            rc = group_is_full(w, &group_ends, err);
    }
    return rc == DX_OK && group_ends ? end_group(w, err) : rc;
}

/* ---- rows ---- */

static size_t row_bytes(const struct dx_lake_writer *w, const struct dx_lake_row *row)
{
    size_t size = row->domain.size + row->scheme.size + row->host.size + row->path_query.size;

    if (row->raw_url.data != NULL)
        size += row->raw_url.size;
    for (size_t i = 0; i < w->extra_count; i++)
        if (row->extra[i].data != NULL)
            size += row->extra[i].size;
    return size;
}

static void put_text(struct dx_lake_writer *w, size_t i, struct dx_span s)
{
    dx_lake_page_text(w->page, i, s);
    if (!w->is_binary[i] && !dx_utf8_is_valid(s))
        w->is_binary[i] = true;
}

static void put_nullable_text(struct dx_lake_writer *w, size_t i, struct dx_span s)
{
    if (s.data == NULL)
        dx_lake_page_null(w->page, i);
    else
        put_text(w, i, s);
}

static void put_text_or_again(struct dx_lake_writer *w, size_t i, struct dx_span s, bool again)
{
    if (again)
        dx_lake_page_again(w->page, i);
    else
        put_text(w, i, s);
}

/* equal: how many of the text keys are those of the row before. */
static void put_row(struct dx_lake_writer *w, const struct dx_lake_row *row, size_t equal)
{
    struct dx_lake_page *p = w->page;
    bool first = p->rows == 0;

    put_text_or_again(w, DOMAIN, row->domain, !first && equal >= 1);
    dx_lake_page_int(p, DOMAIN_ID, row->domain_id);
    put_text_or_again(w, SCHEME, row->scheme,
                      !first &&
                          dx_span_equal(row->scheme, p->column[SCHEME].values.spans[p->rows - 1]));
    put_text_or_again(w, HOST, row->host, !first && equal >= 2);
    put_text(w, PATH_QUERY, row->path_query);
    put_nullable_text(w, RAW_URL, row->raw_url);
    if (row->has_ts)
        dx_lake_page_int(p, TS, (uint64_t)(w->ts_micros ? row->ts_us : row->ts_us / 1000));
    else
        dx_lake_page_null(p, TS);
    for (size_t i = 0; i < w->extra_count; i++)
        put_nullable_text(w, FIRST_EXTRA + i, row->extra[i]);
    if (w->has_url_id)
        dx_lake_page_int(p, w->column_count - 1, row->url_id);
    for (size_t i = 0; i < TEXT_KEYS; i++)
        w->last[i] = p->column[text_key[i]].values.spans[p->rows];
    w->last_has_ts = row->has_ts;
    w->last_ts_us = row->ts_us;
    p->rows++;
}

/* equal: how many of the text keys, from the first on, are those of the row before. */
static int check_order(const struct dx_lake_writer *w, const struct dx_lake_row *row, size_t *equal,
                       struct dx_error *err)
{
    const struct dx_span key[TEXT_KEYS] = { row->domain, row->host, row->path_query };

    for (size_t i = 0; i < TEXT_KEYS; i++) {
        int order = dx_span_compare(w->last[i], key[i]);

        if (order < 0)
            return DX_OK;
        *equal += order == 0;
        if (order > 0)
            return dx_fail(err, DX_E_INVALID,
                           "lake file: rows out of order: %s \"%.*s\" after \"%.*s\"",
                           w->column[text_key[i]].name, key[i].size > 80 ? 80 : (int)key[i].size,
                           key[i].size > 0 ? (const char *)key[i].data : "",
                           w->last[i].size > 80 ? 80 : (int)w->last[i].size,
                           w->last[i].size > 0 ? (const char *)w->last[i].data : "");
    }
    if (w->last_has_ts && (!row->has_ts || row->ts_us < w->last_ts_us))
        return dx_fail(err, DX_E_INVALID, "lake file: rows out of order: a ts %s %lld us",
                       row->has_ts ? "earlier than" : "of null after", (long long)w->last_ts_us);
    return DX_OK;
}

static int check_row(const struct dx_lake_writer *w, const struct dx_lake_row *row, size_t size,
                     size_t *equal, struct dx_error *err)
{
    if (size > DX_LAKE_ROW_BYTES_MAX)
        return dx_fail(err, DX_E_LIMIT, "lake file: a row of %zu bytes, limit %u", size,
                       DX_LAKE_ROW_BYTES_MAX);
    if (row->has_ts && !w->ts_micros && row->ts_us % 1000 != 0)
        return dx_fail(err, DX_E_INVALID, "lake file: a time of %lld us in a file of milliseconds",
                       (long long)row->ts_us);
    return w->any ? check_order(w, row, equal, err) : DX_OK;
}

int dx_lake_file_add(struct dx_lake_file *file, const struct dx_lake_row *row, struct dx_error *err)
{
    struct dx_lake_writer *w = file->writer;
    size_t size = row_bytes(w, row);
    size_t equal = 0;
    int rc = check_row(w, row, size, &equal, err);

    if (rc == DX_OK)
        rc = make_room(w, w->any && equal == 0, size, err);
    if (rc == DX_OK)
        rc = need_page(w, size, err);
    if (rc < 0)
        return rc;
    put_row(w, row, equal);
    w->group_rows++;
    w->rows++;
    w->any = true;
    return DX_OK;
}

/* ---- closing ---- */

static struct dx_pq_node node_of(const struct dx_lake_column *c, bool is_binary)
{
    return (struct dx_pq_node){
        .name = dx_span_str(c->name),
        .type = (int8_t)c->type.type,
        .repetition = c->type.max_def > 0 ? DX_PQ_OPTIONAL : DX_PQ_REQUIRED,
        .logical = is_binary ? DX_PQ_LOGICAL_NONE : c->logical,
        .time_unit = c->type.time_unit,
        .bit_width = 64,
        .is_unsigned = c->type.is_unsigned,
        .is_utc = true,
    };
}

static void describe_groups(struct dx_lake_writer *w, struct dx_pq_group *to, uint64_t column_base,
                            uint64_t offset_base, struct dx_pq_sorting *sorting)
{
    for (uint32_t i = 0; i < w->group_count; i++) {
        struct group *g = &w->group[i];

        for (size_t k = 0; k < w->column_count; k++) {
            g->chunk[k].column_index_offset += column_base;
            g->chunk[k].offset_index_offset += offset_base;
        }
        to[i] = (struct dx_pq_group){ .chunk = g->chunk,
                                      .row_count = g->row_count,
                                      .total_size = g->plain_size,
                                      .compressed_size = g->size,
                                      .offset = g->offset,
                                      .sorting = sorting,
                                      .sorting_count = SORT_KEYS };
    }
}

/* Puts the checksum of the metadata into its own field, which counts as zeros. */
static int sign_footer(struct dx_buf *buf, struct dx_error *err)
{
    struct dx_span metadata = dx_span_of(buf->data, buf->size - DX_PQ_TAIL_SIZE);
    char text[DX_LAKE_SUM_SIZE + 1];
    struct dx_pq_footer f;
    int rc = dx_pq_footer_parse(&f, metadata, UINT64_MAX, err);

    if (rc < 0)
        return rc;
    (void)snprintf(text, sizeof(text), "%016" PRIx64, dx_hash64(metadata));
    for (uint32_t i = 0; i < f.key_value_count; i++)
        if (dx_span_equal(f.key_value[i].key, dx_span_str(DX_LAKE_SUM_KEY)))
            memcpy(buf->data + (f.key_value[i].value.data - buf->data), text, DX_LAKE_SUM_SIZE);
    dx_pq_footer_release(&f);
    return DX_OK;
}

static int write_footer(struct dx_lake_writer *w, uint64_t column_base, uint64_t offset_base,
                        struct dx_error *err)
{
    struct dx_pq_node node[DX_LAKE_COLUMNS_MAX + 1];
    uint32_t leaf[DX_LAKE_COLUMNS_MAX];
    struct dx_pq_sorting sorting[SORT_KEYS] = { { 0, false, false } };
    struct dx_pq_key_value pair[3];
    struct dx_buf buf = DX_BUF_INIT(FOOTER_BUF_MAX);
    char canon[16];
    struct dx_pq_footer f = {
        .version = 2,
        .row_count = w->rows,
        .created_by = dx_span_str(dx_release_writer()),
        .node = node,
        .node_count = (uint32_t)w->column_count + 1,
        .leaf = leaf,
        .leaf_count = (uint32_t)w->column_count,
        .group_count = w->group_count,
        .key_value = pair,
    };
    int rc;

    f.group = calloc(w->group_count + 1, sizeof(*f.group));
    if (f.group == NULL)
        return dx_no_memory(err, "lake file");
    node[0] = (struct dx_pq_node){ .name = dx_span_str("schema"),
                                   .child_count = f.leaf_count,
                                   .type = -1 };
    for (uint32_t i = 0; i < f.leaf_count; i++) {
        node[i + 1] = node_of(&w->column[i], w->is_binary[i]);
        leaf[i] = i + 1;
    }
    for (size_t i = 0; i < TEXT_KEYS; i++)
        sorting[i].leaf = text_key[i];
    sorting[TEXT_KEYS] = (struct dx_pq_sorting){ .leaf = TS, .nulls_first = true };
    describe_groups(w, f.group, column_base, offset_base, sorting);
    (void)snprintf(canon, sizeof(canon), "%d", DX_CANON_VERSION);
    pair[f.key_value_count++] = (struct dx_pq_key_value){
        dx_span_str(DX_LAKE_SUM_KEY), dx_span_of(DX_LAKE_SUM_ZERO, DX_LAKE_SUM_SIZE)
    };
    pair[f.key_value_count++] = (struct dx_pq_key_value){ dx_span_str(DX_LAKE_CANON_KEY),
                                                          dx_span_str(canon) };
    if (w->dataset_name != NULL)
        pair[f.key_value_count++] = (struct dx_pq_key_value){ dx_span_str("domaindex.dataset"),
                                                              dx_span_str(w->dataset_name) };
    dx_pq_footer_write(&f, &buf);
    rc = buf.failed ? dx_buf_fail(&buf, err, "lake file: footer") : sign_footer(&buf, err);
    if (rc == DX_OK)
        rc = dx_file_out_write(&w->out, dx_span_of(buf.data, buf.size), err);
    free(f.group);
    dx_buf_release(&buf);
    return rc;
}

static int write_tail(struct dx_lake_writer *w, struct dx_error *err)
{
    uint64_t column_base = w->out.size;
    uint64_t offset_base = column_base + w->column_index.size;
    int rc;

    if (w->column_index.failed || w->offset_index.failed)
        return dx_no_memory(err, "lake file");
    rc = dx_file_out_write(&w->out, dx_span_of(w->column_index.data, w->column_index.size), err);
    if (rc == DX_OK)
        rc = dx_file_out_write(&w->out, dx_span_of(w->offset_index.data, w->offset_index.size),
                               err);
    return rc == DX_OK ? write_footer(w, column_base, offset_base, err) : rc;
}

static void fill_stats(const struct dx_lake_writer *w, struct dx_lake_stats *stats)
{
    *stats = (struct dx_lake_stats){ .rows = w->rows,
                                     .row_groups = w->group_count,
                                     .pages = w->page_count,
                                     .size = w->out.size,
                                     .hash = w->out.hash,
                                     .column_count = w->column_count };
    for (size_t i = 0; i < w->column_count; i++) {
        (void)snprintf(stats->column[i].name, sizeof(stats->column[i].name), "%s",
                       w->column[i].name);
        stats->column[i].bytes = w->chunk[i].bytes_written;
    }
}

/* Second stage: all row groups are in the file. */
static int finish_file(void *ctx, struct dx_lake_page *page, struct dx_error *err)
{
    struct dx_lake_writer *w = ctx;
    struct dx_lake_stats stats;
    int rc = write_tail(w, err);

    (void)page;
    if (rc == DX_OK)
        rc = dx_file_out_close(&w->out, w->sync, err);
    if (rc < 0)
        return rc;
    fill_stats(w, &stats);
    if (w->closed != NULL)
        rc = w->closed(w->closed_ctx, &stats, err);
    if (rc == DX_OK)
        free_writer(w);
    return rc;
}

int dx_lake_file_close_later(struct dx_lake_file *file, enum dx_sync sync, dx_lake_closed *closed,
                             void *ctx, struct dx_error *err)
{
    struct dx_lake_writer *w = file->writer;
    const struct dx_lake_task task = { .ctx = w, .finish = finish_file, .drop = drop_writer };
    int rc = end_group(w, err);

    w->sync = sync;
    w->closed = closed;
    w->closed_ctx = ctx;
    if (rc == DX_OK)
        rc = dx_lake_pool_put(w->pool, &task, err);
    if (rc == DX_OK)
        file->writer = NULL; /* the pool's */
    return rc;
}

static int keep_stats(void *ctx, const struct dx_lake_stats *stats, struct dx_error *err)
{
    (void)err;
    *(struct dx_lake_stats *)ctx = *stats;
    return DX_OK;
}

int dx_lake_file_close(struct dx_lake_file *file, enum dx_sync sync, struct dx_lake_stats *stats,
                       struct dx_error *err)
{
    struct dx_lake_pool *pool = file->writer->pool;
    int rc = dx_lake_file_close_later(file, sync, stats == NULL ? NULL : keep_stats, stats, err);

    if (rc == DX_OK)
        rc = dx_lake_pool_drain(pool, err);
    if (rc == DX_OK)
        dx_lake_pool_free(&file->own_pool);
    return rc;
}
