/* SPDX-License-Identifier: Apache-2.0 */
#include "query/listing.h"

#include "format/zseek.h"
#include "loader/version.h"
#include "parquet/page.h"

#include <stdio.h>
#include <stdlib.h>

#define KIND_IDX DX_KIND('P', 'I', 'D', 'X')
#define KIND_DAT DX_KIND('P', 'D', 'A', 'T')
#define KIND_PAGE DX_KIND('P', 'A', 'G', 'E')

enum { FIND_PAGE, TAKE_POSTINGS, TAKE_PAGES, DONE };

struct dx_listing_page {
    struct dx_pages_file file;
    struct dx_pq_column column;
    struct dx_page_location place;
    struct dx_page_location dictionary; /* size 0: none */
    struct dx_cached *block;            /* decoded; NULL: raw is on its way */
    uint8_t *raw;
    uint8_t *raw_dictionary;
};

struct piece_column {
    uint8_t role;
    uint8_t time_unit;
    struct dx_span name;
    size_t first_page; /* in l->pages */
    size_t page_count;
};

/* Rows [first_row, first_row + row_count) of one row group. */
struct dx_listing_piece {
    uint64_t first_row, row_count;
    size_t column_count;
    struct piece_column columns[DX_PAGE_COLUMNS_MAX];
};

void dx_listing_init(struct dx_listing *l, struct dx_version *v, uint64_t domain_id,
                     uint32_t dataset_id, struct dx_page_of window, unsigned fields)
{
    *l = (struct dx_listing){ .version = v,
                              .domain_id = domain_id,
                              .dataset_id = dataset_id,
                              .window = window,
                              .fields = fields };
}

void dx_listing_release(struct dx_listing *l)
{
    struct dx_caches *caches = l->version->caches;

    for (size_t i = 0; i < l->page_count; i++) {
        dx_page_cache_put(caches->pages, &l->pages[i].block);
        free(l->pages[i].raw);
        free(l->pages[i].raw_dictionary);
    }
    for (size_t i = 0; i < l->object_count; i++)
        free(l->objects[i]);
    dx_page_cache_put(caches->idx, &l->idx);
    dx_page_cache_put(caches->payload, &l->dat);
    dx_zstd_decoder_free(&l->decoder);
    free(l->idx_raw);
    free(l->dat_raw);
    free(l->pages);
    free(l->pieces);
    free(l->reads);
    free(l->objects);
    dx_listing_init(l, l->version, 0, 0, (struct dx_page_of){ 0, 0 }, 0);
}

/* Room for one more element; false: out of memory. */
static bool grow(void **array, size_t count, size_t *capacity, size_t element)
{
    size_t more = *capacity == 0 ? 16 : *capacity * 2;
    void *to;

    if (count < *capacity)
        return true;
    to = realloc(*array, more * element);
    if (to == NULL)
        return false;
    *array = to;
    *capacity = more;
    return true;
}

static int no_memory(struct dx_error *err)
{
    return dx_fail(err, DX_E_NOMEM, "listing: out of memory");
}

static int want_read(struct dx_listing *l, const char *object, uint64_t offset, size_t size,
                     uint8_t **to, struct dx_error *err)
{
    *to = malloc(size > 0 ? size : 1);
    if (*to == NULL ||
        !grow((void **)&l->reads, l->read_count, &l->read_capacity, sizeof *l->reads))
        return no_memory(err);
    l->reads[l->read_count++] = (struct dx_read){ object, offset, size, *to };
    return DX_OK;
}

static struct dx_cache_key posting_key(const struct dx_postings_page *page, uint32_t kind)
{
    struct dx_cache_key key = { .part = (uint64_t)page->shard << 32 | page->number, .kind = kind };

    memcpy(key.object, page->build.bytes, sizeof key.object);
    return key;
}

static int find_page(struct dx_listing *l, struct dx_error *err)
{
    struct dx_caches *caches = l->version->caches;
    struct dx_postings_page *page = &l->posting_page;
    struct dx_cache_key idx_key;
    struct dx_cache_key dat_key;
    char shard[DX_POSTINGS_SHARD_NAME];
    int rc = dx_postings_page_find(&l->version->postings, l->domain_id, l->dataset_id, page, err);

    if (rc <= 0) {
        l->state = DONE;
        return rc;
    }
    l->state = TAKE_POSTINGS;
    idx_key = posting_key(page, KIND_IDX);
    dat_key = posting_key(page, KIND_DAT);
    l->idx = dx_page_cache_get(caches->idx, &idx_key);
    l->dat = dx_page_cache_get(caches->payload, &dat_key);
    dx_postings_shard_name(page->shard, shard);
    (void)snprintf(l->idx_object, sizeof l->idx_object, "%s/postings/%s/postings.idx.zst",
                   l->version->directory, shard);
    (void)snprintf(l->dat_object, sizeof l->dat_object, "%s/postings/%s/postings.dat.zst",
                   l->version->directory, shard);
    rc = DX_OK;
    if (l->idx == NULL)
        rc = want_read(l, l->idx_object, page->idx_offset, page->idx_size, &l->idx_raw, err);
    if (rc == DX_OK && l->dat == NULL)
        rc = want_read(l, l->dat_object, page->dat_offset, page->dat_size, &l->dat_raw, err);
    if (rc < 0)
        return rc;
    return l->read_count > 0 ? DX_LISTING_READ : DX_LISTING_DONE;
}

typedef int decode_fn(const struct dx_postings_page *page, struct dx_zstd_decoder *decoder,
                      unsigned flags, struct dx_span compressed, uint8_t *plain,
                      struct dx_error *err);

/* Raw frame -> checked plain bytes in the cache. */
static int take_frame(struct dx_listing *l, struct dx_page_cache *cache, uint32_t kind,
                      decode_fn *decode, struct dx_span raw, size_t plain_size,
                      struct dx_cached **out, const char *object, struct dx_error *err)
{
    struct dx_cache_key key = posting_key(&l->posting_page, kind);
    uint8_t *plain = malloc(plain_size > 0 ? plain_size : 1);
    int rc;

    if (l->decoder == NULL)
        l->decoder = dx_zstd_decoder_new();
    if (plain == NULL || l->decoder == NULL) {
        free(plain);
        return no_memory(err);
    }
    rc = decode(&l->posting_page, l->decoder, l->version->open_flags, raw, plain, err);
    if (rc < 0) {
        free(plain);
        return dx_fail_in(err, "%s", object);
    }
    *out = dx_page_cache_add(cache, &key, plain, plain_size);
    return *out == NULL ? no_memory(err) : DX_OK;
}

static bool wanted(uint8_t role, unsigned fields)
{
    switch (role) {
    case DX_ROLE_SCHEME:
    case DX_ROLE_HOST:
    case DX_ROLE_PATH_QUERY:
        return (fields & (DX_FIELD_URL | DX_FIELD_URL_ID)) != 0;
    case DX_ROLE_TS:
        return (fields & DX_FIELD_TS) != 0;
    case DX_ROLE_RAW_URL:
        return (fields & DX_FIELD_RAW_URL) != 0;
    case DX_ROLE_EXTRA:
        return (fields & DX_FIELD_EXTRAS) != 0;
    default:
        return false;
    }
}

/* One page of one column: from the cache, or a read. */
static int want_page(struct dx_listing *l, const struct dx_pages_file *file, const char *object,
                     const struct dx_page_column *column, const struct dx_page_location *place,
                     struct dx_error *err)
{
    struct dx_cache_key key = { .part = place->offset, .kind = KIND_PAGE };
    struct dx_listing_page *page;
    int rc = DX_OK;

    if (!grow((void **)&l->pages, l->page_count, &l->page_capacity, sizeof *l->pages))
        return no_memory(err);
    page = &l->pages[l->page_count++];
    *page = (struct dx_listing_page){ .file = *file,
                                      .column = { .type = column->physical_type,
                                                  .codec = column->codec,
                                                  .max_def = column->max_def,
                                                  .time_unit = column->time_unit,
                                                  .type_length = column->type_length },
                                      .place = *place,
                                      .dictionary = column->dictionary };
    memcpy(key.object, file->hash.bytes, sizeof key.object);
    page->block = dx_page_cache_get(l->version->caches->pages, &key);
    if (page->block != NULL)
        return DX_OK;
    l->read_bytes += place->size + page->dictionary.size;
    if (l->read_bytes > DX_LISTING_READ_MAX)
        return dx_fail(err, DX_E_LIMIT, "these rows lie scattered over more than %u MiB of pages",
                       DX_LISTING_READ_MAX >> 20);
    rc = want_read(l, object, place->offset, place->size, &page->raw, err);
    if (rc == DX_OK && page->dictionary.size > 0)
        rc = want_read(l, object, page->dictionary.offset, page->dictionary.size,
                       &page->raw_dictionary, err);
    return rc;
}

static int want_column(struct dx_listing *l, const struct dx_pages_file *file, const char *object,
                       struct dx_listing_piece *piece, struct dx_page_column *column,
                       struct dx_error *err)
{
    struct piece_column *c = &piece->columns[piece->column_count++];
    struct dx_page_location place;
    int rc = DX_OK;

    *c = (struct piece_column){ .role = column->role,
                                .time_unit = column->time_unit,
                                .name = column->name,
                                .first_page = l->page_count };
    while (rc == DX_OK && dx_page_column_next(column, &place) == 1) {
        if (place.first_row >= piece->first_row + piece->row_count)
            break;
        if (place.first_row + place.rows > piece->first_row)
            rc = want_page(l, file, object, column, &place, err);
    }
    c->page_count = l->page_count - c->first_page;
    return rc;
}

/* A URL needs each of its three columns once: without one of them it would be another URL. */
static bool has_url_columns(const struct dx_listing_piece *piece)
{
    unsigned seen[DX_ROLE_PATH_QUERY + 1] = { 0 };

    for (size_t i = 0; i < piece->column_count; i++)
        if (piece->columns[i].role <= DX_ROLE_PATH_QUERY)
            seen[piece->columns[i].role]++;
    return seen[DX_ROLE_SCHEME] == 1 && seen[DX_ROLE_HOST] == 1 && seen[DX_ROLE_PATH_QUERY] == 1;
}

static int want_piece(struct dx_listing *l, const struct dx_run *run, uint64_t skip, uint64_t take,
                      struct dx_error *err)
{
    struct dx_listing_piece *piece;
    struct dx_pages_file file;
    struct dx_page_group group;
    struct dx_page_column column;
    char *object = NULL;
    int rc = dx_pages_file(&l->version->pages, run->file_id, &file, err);

    if (rc == 1)
        rc = dx_pages_group(&l->version->pages, &file, run->row_group, &group, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || run->first_row + run->row_count > group.rows)
        return dx_fail(err, DX_E_CORRUPT,
                       "posting of file %u row group %u rows %llu+%llu: not in "
                       "pages.dxp",
                       (unsigned)run->file_id, (unsigned)run->row_group,
                       (unsigned long long)run->first_row, (unsigned long long)run->row_count);
    if (asprintf(&object, "%s%.*s", l->version->entry.parquet_root, (int)file.path.size,
                 (const char *)file.path.data) < 0)
        return no_memory(err);
    if (!grow((void **)&l->objects, l->object_count, &l->object_capacity, sizeof *l->objects) ||
        !grow((void **)&l->pieces, l->piece_count, &l->piece_capacity, sizeof *l->pieces)) {
        free(object);
        return no_memory(err);
    }
    l->objects[l->object_count++] = object;
    piece = &l->pieces[l->piece_count++];
    piece->first_row = run->first_row + skip;
    piece->row_count = take;
    piece->column_count = 0;
    rc = DX_OK;
    while (rc == DX_OK && dx_page_group_next(&group, &column) == 1)
        if (wanted(column.role, l->fields))
            rc = want_column(l, &file, object, piece, &column, err);
    if (rc == DX_OK && (l->fields & (DX_FIELD_URL | DX_FIELD_URL_ID)) != 0 &&
        !has_url_columns(piece))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: row group %u: pages.dxp does not name scheme, host and path_query once "
                     "each",
                     object, (unsigned)run->row_group);
    return rc;
}

/* Which parts of which runs lie in the window. */
static int plan(struct dx_listing *l, struct dx_payload *payload, struct dx_error *err)
{
    uint64_t skip = l->window.offset;
    uint64_t left = l->window.limit;
    struct dx_run run;

    while (left > 0 && dx_payload_next(payload, &run) == 1) {
        uint64_t take;
        int rc;

        if (skip >= run.row_count) {
            skip -= run.row_count;
            continue;
        }
        take = run.row_count - skip < left ? run.row_count - skip : left;
        rc = want_piece(l, &run, skip, take, err);
        if (rc < 0)
            return rc;
        l->row_count += take;
        left -= take;
        skip = 0;
    }
    return DX_OK;
}

static int take_postings(struct dx_listing *l, struct dx_error *err)
{
    const struct dx_postings_page *page = &l->posting_page;
    struct dx_caches *caches = l->version->caches;
    struct dx_posting posting;
    struct dx_payload payload;
    struct dx_span bytes;
    int rc = DX_OK;

    if (l->idx == NULL)
        rc = take_frame(l, caches->idx, KIND_IDX, dx_postings_idx_decode,
                        dx_span_of(l->idx_raw, page->idx_size), page->idx_plain, &l->idx,
                        l->idx_object, err);
    if (rc == DX_OK)
        rc = dx_postings_entry_find(page, l->idx->bytes, l->domain_id, l->dataset_id, &posting,
                                    err);
    if (rc <= 0) {
        l->state = DONE;
        return rc;
    }
    rc = DX_OK;
    if (l->dat == NULL)
        rc = take_frame(l, caches->payload, KIND_DAT, dx_postings_dat_decode,
                        dx_span_of(l->dat_raw, page->dat_size), page->dat_plain, &l->dat,
                        l->dat_object, err);
    if (rc == DX_OK)
        rc = dx_postings_payload(page, l->dat->bytes, &posting, &bytes, err);
    if (rc >= 0)
        rc = dx_payload_open(&payload, &page->build, l->domain_id, l->dataset_id, bytes,
                             l->version->open_flags, l->dat_object, err);
    if (rc < 0)
        return rc;
    l->found = true;
    l->total = payload.rows;
    l->read_count = 0;
    rc = plan(l, &payload, err);
    if (rc < 0)
        return rc;
    l->state = TAKE_PAGES;
    return l->read_count > 0 ? DX_LISTING_READ : DX_LISTING_DONE;
}

static int take_page(struct dx_listing *l, struct dx_listing_page *page,
                     struct dx_pq_dictionary *dictionary, struct dx_pq_values *values,
                     struct dx_error *err)
{
    static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    struct dx_cache_key key = { .part = page->place.offset, .kind = KIND_PAGE };
    struct dx_span raw = dx_span_of(page->raw, page->place.size);
    struct dx_span raw_dictionary = dx_span_of(page->raw_dictionary, page->dictionary.size);
    uint8_t *bytes;
    size_t size;
    bool checked = (l->version->open_flags & DX_OPEN_UNCHECKED) == 0;
    int rc = checked ? dx_page_sum_check(&page->file, &page->place, raw, err) : DX_OK;

    if (rc == DX_OK && page->raw_dictionary != NULL) {
        if (checked)
            rc = dx_page_sum_check(&page->file, &page->dictionary, raw_dictionary, err);
        if (rc == DX_OK)
            rc = dx_pq_dictionary_decode(&page->column, raw_dictionary, &limits, dictionary, err);
    }
    if (rc == DX_OK)
        rc = dx_pq_page_decode(&page->column, raw, page->raw_dictionary != NULL ? dictionary : NULL,
                               &limits, values, err);
    if (rc == DX_OK && values->row_count != page->place.rows)
        rc = dx_fail(err, DX_E_CORRUPT, "page holds %u rows, pages.dxp says %llu",
                     (unsigned)values->row_count, (unsigned long long)page->place.rows);
    if (rc < 0)
        return dx_fail_in(err, "%.*s: page at offset %llu", (int)page->file.path.size,
                          (const char *)page->file.path.data,
                          (unsigned long long)page->place.offset);
    bytes = dx_column_block_make(values, page->column.type, &size, err);
    if (bytes == NULL)
        return (int)err->code;
    memcpy(key.object, page->file.hash.bytes, sizeof key.object);
    page->block = dx_page_cache_add(l->version->caches->pages, &key, bytes, size);
    free(page->raw);
    free(page->raw_dictionary);
    page->raw = page->raw_dictionary = NULL;
    return page->block == NULL ? no_memory(err) : DX_OK;
}

static int take_pages(struct dx_listing *l, struct dx_error *err)
{
    struct dx_pq_values values = DX_PQ_VALUES_INIT;
    struct dx_pq_dictionary dictionary = DX_PQ_DICTIONARY_INIT;
    int rc = DX_OK;

    for (size_t i = 0; i < l->page_count && rc == DX_OK; i++)
        if (l->pages[i].block == NULL)
            rc = take_page(l, &l->pages[i], &dictionary, &values, err);
    dx_pq_values_release(&values);
    dx_pq_dictionary_release(&dictionary);
    l->state = DONE;
    return rc;
}

int dx_listing_step(struct dx_listing *l, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && l->state != DONE) {
        if (l->state == FIND_PAGE)
            rc = find_page(l, err);
        else if (l->state == TAKE_POSTINGS)
            rc = take_postings(l, err);
        else
            rc = take_pages(l, err);
    }
    return rc;
}

/* A column while rows are walked: the page that the row is in. */
struct walk {
    const struct piece_column *column;
    const struct dx_listing_page *page, *end;
    struct dx_column_block block;
};

/* A block in the cache may stem from another record of the same page (of another version, or of
 * another column): it is believed only for as many rows as this record says. */
static int walk_enter(struct walk *w, struct dx_error *err)
{
    w->block = dx_column_block_of(w->page->block->bytes);
    if (w->block.row_count == w->page->place.rows)
        return DX_OK;
    return dx_fail(err, DX_E_CORRUPT,
                   "column %.*s: the page at offset %llu holds %u rows, pages.dxp says %llu",
                   (int)w->column->name.size, (const char *)w->column->name.data,
                   (unsigned long long)w->page->place.offset, (unsigned)w->block.row_count,
                   (unsigned long long)w->page->place.rows);
}

static int walk_to(struct walk *w, uint64_t row, uint32_t *in_page, struct dx_error *err)
{
    while (w->page < w->end && row >= w->page->place.first_row + w->page->place.rows) {
        int rc = ++w->page < w->end ? walk_enter(w, err) : DX_OK;

        if (rc < 0)
            return rc;
    }
    if (w->page == w->end || row < w->page->place.first_row)
        return dx_fail(err, DX_E_CORRUPT, "no page of column %.*s holds row %llu",
                       (int)w->column->name.size, (const char *)w->column->name.data,
                       (unsigned long long)row);
    *in_page = (uint32_t)(row - w->page->place.first_row);
    return DX_OK;
}

/* A null is an answer, a number where text belongs is not. */
static int not_text(const struct walk *w, struct dx_error *err)
{
    return dx_fail(err, DX_E_UNSUPPORTED, "column %.*s holds numbers, not text",
                   (int)w->column->name.size, (const char *)w->column->name.data);
}

static int fill(struct dx_listing_row *out, const struct walk *w, uint32_t row,
                struct dx_error *err)
{
    struct dx_span text = dx_column_block_text(&w->block, row);
    int64_t value;

    switch (w->column->role) {
    case DX_ROLE_SCHEME:
        out->scheme = text;
        break;
    case DX_ROLE_HOST:
        out->host = text;
        break;
    case DX_ROLE_PATH_QUERY:
        out->path_query = text;
        break;
    case DX_ROLE_RAW_URL:
        out->raw_url = text;
        return w->block.ints != NULL ? not_text(w, err) : DX_OK;
    case DX_ROLE_TS:
        if (w->block.ints != NULL ? !dx_column_block_int(&w->block, row, &value)
                                  : text.data == NULL)
            return DX_OK;
        out->has_ts = w->block.ints != NULL
                          ? dx_pq_time_us(w->column->time_unit, value, &out->ts_us)
                          : text.size == 12 && dx_pq_int96_us(text.data, &out->ts_us);
        if (!out->has_ts)
            return dx_fail(err, DX_E_CORRUPT, "a timestamp does not fit 64-bit microseconds");
        return DX_OK;
    default:
        out->extra[out->extra_count].name = w->column->name;
        out->extra[out->extra_count++].value = text;
        return w->block.ints != NULL ? not_text(w, err) : DX_OK;
    }
    if (text.data == NULL)
        return dx_fail(err, DX_E_CORRUPT, "column %.*s has a null", (int)w->column->name.size,
                       (const char *)w->column->name.data);
    return DX_OK;
}

static int piece_rows(const struct dx_listing *l, const struct dx_listing_piece *piece,
                      int (*each)(void *ctx, const struct dx_listing_row *row,
                                  struct dx_error *err),
                      void *ctx, struct dx_error *err)
{
    struct walk walks[DX_PAGE_COLUMNS_MAX];

    for (size_t c = 0; c < piece->column_count; c++) {
        walks[c].column = &piece->columns[c];
        walks[c].page = &l->pages[piece->columns[c].first_page];
        walks[c].end = walks[c].page + piece->columns[c].page_count;
        if (walks[c].page < walks[c].end) {
            int rc = walk_enter(&walks[c], err);

            if (rc < 0)
                return rc;
        }
    }
    for (uint64_t row = piece->first_row; row < piece->first_row + piece->row_count; row++) {
        struct dx_listing_row out;
        int rc = DX_OK;

        out.scheme = out.host = out.path_query = out.raw_url = dx_span_of(NULL, 0);
        out.has_ts = false;
        out.ts_us = 0;
        out.extra_count = 0;
        for (size_t c = 0; c < piece->column_count && rc == DX_OK; c++) {
            uint32_t in_page;

            rc = walk_to(&walks[c], row, &in_page, err);
            if (rc == DX_OK)
                rc = fill(&out, &walks[c], in_page, err);
        }
        if (rc == DX_OK)
            rc = each(ctx, &out, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

int dx_listing_rows(struct dx_listing *l,
                    int (*each)(void *ctx, const struct dx_listing_row *row, struct dx_error *err),
                    void *ctx, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < l->piece_count && rc == DX_OK; i++)
        rc = piece_rows(l, &l->pieces[i], each, ctx, err);
    return rc;
}
