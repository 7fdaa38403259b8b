/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/listing.h"

#include "base/array.h"
#include "format/core/zseek.h"
#include "format/version/url_ids.h"
#include "loader/domain_pairs.h"
#include "loader/version_parts.h"
#include "parquet/page.h"
#include "query/rows/column_block.h"
#include "query/rows/listing_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define KIND_PAGE DX_KIND('P', 'A', 'G', 'E')

/* What a brief listing may walk and write: posting lists, of some hundred runs at most, and
 * text. */
#define BRIEF_PAYLOAD_BYTES 512
#define BRIEF_TEXT_BYTES (256u << 10)

enum { FIND_PAGE, TAKE_POSTINGS, TAKE_PAGES, DONE };

void dx_listing_init(struct dx_listing *l, struct dx_version *v, const struct dx_part *part,
                     uint64_t ordinal, uint32_t dataset_id, struct dx_page_of window,
                     unsigned fields, uint64_t deadline_ms)
{
    *l = (struct dx_listing){ .version = v,
                              .part = part,
                              .ordinal = ordinal,
                              .dataset_id = dataset_id,
                              .window = window,
                              .fields = fields,
                              .deadline_ms = deadline_ms };
    dx_posting_frames_init(&l->frames, part, v->caches);
}

void dx_listing_release(struct dx_listing *l)
{
    for (size_t i = 0; i < l->page_count; i++)
        dx_block_request_release(&l->pages[i].want);
    dx_posting_frames_release(&l->frames);
    for (size_t i = 0; i < l->object_count; i++)
        free(l->objects[i]);
    dx_zstd_decoder_free(&l->decoder);
    dx_read_batch_release(&l->reading);
    free(l->pages);
    free(l->columns);
    free(l->pieces);
    free(l->objects);
    free(l->runs);
    dx_listing_init(l, l->version, NULL, 0, 0, (struct dx_page_of){ 0, 0 }, 0, 0);
}

/* What the step waits for now: DX_LISTING_WAITS, or nothing. */
static int waits(const struct dx_listing *l)
{
    return dx_read_batch_state(&l->reading) == DX_READ_BATCH_DONE ? DX_LISTING_DONE
                                                                  : DX_LISTING_WAITS;
}

/* ---- postings ---- */

static int find_page(struct dx_listing *l, struct dx_error *err)
{
    int rc = dx_pair_place(l->part, l->ordinal, l->dataset_id, &l->pair, err);

    if (rc == 1)
        rc = dx_posting_frames_find(&l->frames, l->pair, err);
    l->state = rc == 0 ? DONE : TAKE_POSTINGS;
    return rc < 0 ? rc : DX_OK;
}

/* ---- the plan: which pages hold the window ---- */

/* Extras that are fields of their own, or that tell whether one may be shown. */
static unsigned named_field(struct dx_span name)
{
    if (dx_span_equal(name, dx_span_str(DX_REQUESTED_URL)))
        return DX_FIELD_LOCATOR;
    for (unsigned i = 0; i < DX_FIELD_COUNT; i++)
        if ((DX_FIELDS_NAMED >> i & 1) != 0 && dx_span_equal(name, dx_span_str(dx_field_names[i])))
            return 1u << i;
    return 0;
}

static bool is_named(const struct dx_listing *l, struct dx_span name)
{
    for (size_t i = 0; i < l->extra_count; i++)
        if (dx_span_equal(l->extras[i], name))
            return true;
    return false;
}

static bool wants_column(const struct dx_listing *l, const struct dx_page_column *column)
{
    unsigned fields = l->fields;

    switch (column->role) {
    case DX_ROLE_SCHEME:
    case DX_ROLE_HOST:
    case DX_ROLE_PATH_QUERY:
        return (fields & (DX_FIELD_URL | DX_FIELD_URL_ID)) != 0;
    case DX_ROLE_TS:
        return (fields & DX_FIELD_TS) != 0;
    case DX_ROLE_RAW_URL:
        return (fields & (DX_FIELD_RAW_URL | DX_FIELD_LOCATOR)) != 0;
    case DX_ROLE_EXTRA:
        return (fields & DX_FIELD_EXTRAS) != 0 ||
               ((fields & DX_FIELDS_NAMED) != 0 && (fields & named_field(column->name)) != 0) ||
               is_named(l, column->name);
    default:
        return false;
    }
}

/* Runs of one page are planned near each other: the page, and its dictionary, count once. */
static int count_page(struct dx_listing *l, const struct dx_listing_page *page,
                      struct dx_error *err)
{
    bool dictionary_counted = page->dictionary.size == 0;
    const struct dx_listing_page *at = page;

    for (unsigned back = 0; back < DX_PAGE_COLUMNS_MAX && at > l->pages; back++) {
        at--;
        if (at->file.file_id != page->file.file_id)
            break;
        if (at->place.offset == page->place.offset)
            return DX_OK;
        dictionary_counted = dictionary_counted || at->dictionary.offset == page->dictionary.offset;
    }
    l->reads++;
    l->read_bytes += page->place.size + (dictionary_counted ? 0 : page->dictionary.size);
    if (l->read_bytes > DX_LISTING_READ_MAX)
        return dx_fail(err, DX_E_LIMIT, "these rows lie scattered over more than %u MiB of pages",
                       DX_LISTING_READ_MAX >> 20);
    if (l->reads > DX_LISTING_PAGES_MAX)
        return dx_fail(err, DX_E_LIMIT, "these rows lie scattered over more than %u pages",
                       DX_LISTING_PAGES_MAX);
    return DX_OK;
}

static int want_page(struct dx_listing *l, const struct dx_part *part,
                     const struct dx_pages_file *file, const char *object,
                     const struct dx_page_location *dictionary,
                     const struct dx_page_location *place, struct dx_error *err)
{
    struct dx_listing_page *page = dx_array_room(l->pages, l->page_count, &l->page_capacity,
                                                 sizeof *page);

    assert(l->column_count > 0);
    if (page == NULL)
        return dx_no_memory(err, "listing");
    l->pages = page;
    page = &l->pages[l->page_count++];
    *page = (struct dx_listing_page){
        .want = { .of = { .part = part,
                          .object = { DX_OBJECT_LAKE, file->file_id },
                          .name = object,
                          .total = file->size },
                  .cache = l->version->caches->pages,
                  .key = { .part = place->offset, .kind = KIND_PAGE },
                  .offset = place->offset,
                  .size = place->size,
                  .dictionary_offset = dictionary->offset,
                  .dictionary_size = dictionary->size },
        .file = *file,
        .column = l->column_count - 1,
        .place = *place,
        .dictionary = *dictionary,
    };
    memcpy(page->want.key.object, file->hash.bytes, sizeof page->want.key.object);
    return count_page(l, page, err);
}

static void count_column(struct dx_listing *l, size_t first_page)
{
    l->run_reads += (unsigned)(l->page_count - first_page);
    for (size_t i = first_page; i < l->page_count; i++)
        l->run_bytes += l->pages[i].place.size;
    if (first_page < l->page_count)
        l->run_bytes += l->pages[first_page].dictionary.size;
}

static int want_column(struct dx_listing *l, const struct dx_part *part,
                       const struct dx_pages_file *file, const char *object,
                       struct dx_listing_piece *piece, struct dx_page_column *column,
                       struct dx_error *err)
{
    struct dx_listing_column *columns = dx_array_room(l->columns, l->column_count,
                                                      &l->column_capacity, sizeof *columns);
    struct dx_page_location place;
    size_t first_page = l->page_count;
    int rc = DX_OK;

    if (columns == NULL)
        return dx_no_memory(err, "listing");
    l->columns = columns;
    l->columns[l->column_count++] = (struct dx_listing_column){
        .name = column->name,
        .type_length = column->type_length,
        .role = column->role,
        .physical_type = column->physical_type,
        .codec = column->codec,
        .max_def = column->max_def,
        .time_unit = column->time_unit,
        .first_page = first_page,
    };
    piece->column_count++;
    while (rc == DX_OK && dx_page_column_next(column, &place) == 1) {
        if (place.first_row >= piece->first_row + piece->row_count)
            break;
        if (place.first_row + place.rows > piece->first_row)
            rc = want_page(l, part, file, object, &column->dictionary, &place, err);
    }
    l->columns[l->column_count - 1].page_count = l->page_count - first_page;
    count_column(l, first_page);
    return rc;
}

/* A URL needs each of its three columns once: without one of them it would be another URL. */
static bool has_url_columns(const struct dx_listing *l, const struct dx_listing_piece *piece)
{
    unsigned seen[DX_ROLE_PATH_QUERY + 1] = { 0 };

    for (size_t i = 0; i < piece->column_count; i++) {
        uint8_t role = l->columns[piece->first_column + i].role;

        if (role <= DX_ROLE_PATH_QUERY)
            seen[role]++;
    }
    return seen[DX_ROLE_SCHEME] == 1 && seen[DX_ROLE_HOST] == 1 && seen[DX_ROLE_PATH_QUERY] == 1;
}

static int room_for_piece(struct dx_listing *l, struct dx_error *err)
{
    struct dx_listing_piece *pieces = dx_array_room(l->pieces, l->piece_count, &l->piece_capacity,
                                                    sizeof *pieces);
    char **objects = dx_array_room(l->objects, l->object_count, &l->object_capacity,
                                   sizeof *objects);

    if (pieces != NULL)
        l->pieces = pieces;
    if (objects != NULL)
        l->objects = objects;
    return pieces == NULL || objects == NULL ? dx_no_memory(err, "listing") : DX_OK;
}

static int want_piece(struct dx_listing *l, const struct dx_run *run, uint64_t skip, uint64_t take,
                      struct dx_error *err)
{
    struct dx_listing_piece *piece;
    struct dx_pages_file file;
    struct dx_page_group group;
    struct dx_page_column column;
    const struct dx_part *part;
    char *object = NULL;
    int rc = dx_version_file(l->version, run->file_id, &part, &file, err);

    if (rc == 1)
        rc = dx_pages_group(&part->pages, &file, run->row_group, &group, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || run->first_row + run->row_count > group.rows)
        return dx_fail(err, DX_E_CORRUPT,
                       "posting of file %u row group %u rows %llu+%llu: not in "
                       "pages.dxp",
                       (unsigned)run->file_id, (unsigned)run->row_group,
                       (unsigned long long)run->first_row, (unsigned long long)run->row_count);
    rc = room_for_piece(l, err);
    if (rc < 0)
        return rc;
    if (asprintf(&object, "%s%.*s", l->version->entry.parquet_root, (int)file.path.size,
                 (const char *)file.path.data) < 0)
        return dx_no_memory(err, "listing");
    l->objects[l->object_count++] = object;
    l->run_bytes = l->run_reads = 0;
    piece = &l->pieces[l->piece_count++];
    piece->first_row = run->first_row + skip;
    piece->row_count = take;
    piece->first_column = l->column_count;
    piece->column_count = 0;
    rc = DX_OK;
    while (rc == DX_OK && dx_page_group_next(&group, &column) == 1)
        if (wants_column(l, &column))
            rc = want_column(l, part, &file, object, piece, &column, err);
    if (rc == DX_OK && (l->fields & (DX_FIELD_URL | DX_FIELD_URL_ID)) != 0 &&
        !has_url_columns(l, piece))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: row group %u: pages.dxp does not name scheme, host and path_query once "
                     "each",
                     object, (unsigned)run->row_group);
    return rc;
}

static int keep_run(struct dx_listing *l, const struct dx_run *run, uint64_t skip, uint64_t take,
                    struct dx_error *err)
{
    struct dx_run *runs = dx_array_room(l->runs, l->run_count, &l->run_capacity, sizeof *runs);

    if (runs == NULL)
        return dx_no_memory(err, "listing");
    l->runs = runs;
    l->runs[l->run_count] = *run;
    l->runs[l->run_count].first_row += skip;
    l->runs[l->run_count++].row_count = take;
    return DX_OK;
}

/* Which parts of which runs lie in the window. */
static int plan_runs(struct dx_listing *l, struct dx_payload *payload, struct dx_error *err)
{
    uint64_t skip = l->window.offset;
    uint64_t left = l->window.limit;
    struct dx_run run;

    while (left > 0 && (l->runs_max == 0 || l->run_count < l->runs_max) &&
           dx_payload_next(payload, &run) == 1) {
        uint64_t take;
        int rc;

        if (skip >= run.row_count) {
            skip -= run.row_count;
            continue;
        }
        take = run.row_count - skip < left ? run.row_count - skip : left;
        rc = l->runs_max > 0 ? keep_run(l, &run, skip, take, err)
                             : want_piece(l, &run, skip, take, err);
        if (rc < 0)
            return rc;
        l->row_count += take;
        left -= take;
        skip = 0;
    }
    return DX_OK;
}

int dx_listing_run(struct dx_listing *l, const struct dx_run *run, struct dx_error *err)
{
    assert(l->part == NULL); /* begun for rows by their place, not for a pair */
    l->state = TAKE_PAGES;
    l->found = true;
    l->total += run->row_count;
    l->row_count += run->row_count;
    return want_piece(l, run, 0, run->row_count, err);
}

/* ---- the steps ---- */

static int advance_postings(struct dx_listing *l, struct dx_error *err)
{
    dx_read_batch_begin(&l->reading, l->version, l->part->paged, l->deadline_ms);
    return dx_posting_frames_advance(&l->frames, &l->reading, &l->decoder, err);
}

/* Whether a brief listing ends here; the next step goes on. */
static bool leave_to_others(struct dx_listing *l, bool is_long)
{
    bool leave = l->brief && is_long;

    l->brief = l->brief && !leave;
    return leave;
}

static int take_postings(struct dx_listing *l, struct dx_error *err)
{
    struct dx_payload payload;
    struct dx_span bytes;
    int rc = advance_postings(l, err);

    if (rc < 0 || waits(l))
        return rc < 0 ? rc : DX_LISTING_WAITS;
    rc = dx_posting_frames_payload(&l->frames, l->pair, &bytes, err);
    if (rc <= 0) {
        l->state = DONE;
        return rc;
    }
    if (leave_to_others(l, bytes.size > BRIEF_PAYLOAD_BYTES))
        return DX_LISTING_WAITS;
    rc = dx_postings_list(&l->part->postings, l->ordinal, l->dataset_id, bytes,
                          l->frames.dat_object, &payload, err);
    if (rc < 0)
        return rc;
    l->found = true;
    l->total = payload.rows;
    rc = plan_runs(l, &payload, err);
    l->state = TAKE_PAGES;
    return rc;
}

/* What decoding of pages needs beside the listing. */
struct page_decoder {
    const struct dx_listing *listing;
    struct dx_pq_values values;
    struct dx_pq_dictionary dictionary;
};

static int check_sums(const struct dx_listing_page *page, struct dx_error *err)
{
    const struct dx_block_request *w = &page->want;
    int rc = dx_page_sum_check(&page->file, &page->place, dx_span_of(w->raw, w->size), err);

    if (rc == DX_OK && w->dictionary_size > 0)
        rc = dx_page_sum_check(&page->file, &page->dictionary,
                               dx_span_of(w->raw_dictionary, w->dictionary_size), err);
    return rc;
}

static int decode_values(struct page_decoder *d, const struct dx_listing_page *page,
                         const struct dx_pq_column *column, struct dx_error *err)
{
    static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    const struct dx_block_request *w = &page->want;
    bool has_dictionary = w->dictionary_size > 0;
    int rc = DX_OK;

    if (has_dictionary)
        rc = dx_pq_dictionary_decode(column, dx_span_of(w->raw_dictionary, w->dictionary_size),
                                     &limits, &d->dictionary, err);
    if (rc == DX_OK)
        rc = dx_pq_page_decode(column, dx_span_of(w->raw, w->size),
                               has_dictionary ? &d->dictionary : NULL, &limits, &d->values, err);
    if (rc == DX_OK && d->values.row_count != page->place.rows)
        rc = dx_fail(err, DX_E_CORRUPT, "page holds %u rows, pages.dxp says %llu",
                     (unsigned)d->values.row_count, (unsigned long long)page->place.rows);
    return rc;
}

static int decode_page(void *ctx, const struct dx_block_request *w, uint8_t **bytes, size_t *size,
                       struct dx_error *err)
{
    struct page_decoder *d = ctx;
    const struct dx_listing_page *page = (const struct dx_listing_page *)w; /* its first member */
    const struct dx_listing_column *c = &d->listing->columns[page->column];
    const struct dx_pq_column column = { .type = c->physical_type,
                                         .codec = c->codec,
                                         .max_def = c->max_def,
                                         .time_unit = c->time_unit,
                                         .type_length = c->type_length };
    int rc = DX_OK;

    if ((w->of.part->open_flags & DX_OPEN_UNCHECKED) == 0)
        rc = check_sums(page, err);
    if (rc == DX_OK)
        rc = decode_values(d, page, &column, err);
    if (rc < 0)
        return dx_fail_in(err, "%s: page at offset %llu", w->of.name,
                          (unsigned long long)page->place.offset);
    *bytes = dx_column_block_make(&d->values, column.type, size, err);
    return *bytes == NULL ? (int)err->code : DX_OK;
}

static int take_pages(struct dx_listing *l, struct dx_error *err)
{
    struct page_decoder d = { l, DX_PQ_VALUES_INIT, DX_PQ_DICTIONARY_INIT };
    int rc = DX_OK;

    dx_read_batch_begin(&l->reading, l->version, l->version->source, l->deadline_ms);
    for (size_t i = 0; i < l->page_count && rc == DX_OK; i++)
        rc = dx_block_request_advance(&l->pages[i].want, &l->reading, decode_page, &d, err);
    dx_pq_values_release(&d.values);
    dx_pq_dictionary_release(&d.dictionary);
    if (rc < 0 || waits(l))
        return rc < 0 ? rc : DX_LISTING_WAITS;
    if (l->url != NULL)
        dx_listing_keep_url(l, l->url);
    l->url = NULL;
    if (l->brief && leave_to_others(l, dx_listing_text_bytes(l) > BRIEF_TEXT_BYTES))
        return DX_LISTING_WAITS;
    l->state = DONE;
    return DX_LISTING_DONE;
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

int dx_listing_fetched(struct dx_listing *l, int rc, struct dx_error *err)
{
    rc = dx_read_batch_fetched(&l->reading, rc, err);
    if (rc < 0)
        dx_block_request_failed(&l->reading, err);
    return rc;
}
