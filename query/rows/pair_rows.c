/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/pair_rows.h"

#include "base/buf.h"
#include "loader/version.h"
#include "query/rows/listing_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KIND_PAIR DX_KIND('P', 'A', 'I', 'R')
#define TEXT_MAX ((size_t)16 << 20)

/* In memory: this header, the runs, the rows, their text. No row: the pair cannot be kept. */
struct header {
    uint32_t row_count, run_count;
};

static struct dx_cache_key key_of(const struct dx_part *part, uint64_t ordinal, uint32_t dataset_id)
{
    struct dx_cache_key key = { .part = ordinal, .kind = KIND_PAIR, .more = dataset_id };

    static_assert(sizeof key.object == sizeof part->entry.build.bytes, "a build id is an object");
    memcpy(key.object, part->entry.build.bytes, sizeof key.object);
    return key;
}

int dx_pair_rows_find(struct dx_pair_rows *p, const struct dx_version *v,
                      const struct dx_part *part, uint64_t ordinal, uint32_t dataset_id)
{
    const struct dx_cache_key key = key_of(part, ordinal, dataset_id);
    struct dx_cached *block = dx_page_cache_get(v->caches->pages, &key);
    struct header h;

    *p = (struct dx_pair_rows){ .block = block };
    if (block == NULL)
        return -1;
    memcpy(&h, block->bytes.data, sizeof h);
    if (h.row_count == 0) {
        dx_pair_rows_put(p, v);
        return 0;
    }
    p->row_count = h.row_count;
    p->run_count = h.run_count;
    p->runs = (const void *)(block->bytes.data + sizeof h);
    p->rows = (const void *)(p->runs + h.run_count);
    p->text = (const uint8_t *)(p->rows + h.row_count);
    return 1;
}

void dx_pair_rows_put(struct dx_pair_rows *p, const struct dx_version *v)
{
    if (p->block != NULL)
        dx_page_cache_put(v->caches->pages, &p->block);
    *p = (struct dx_pair_rows){ .block = NULL };
}

void dx_pair_rows_count(const struct dx_pair_rows *p, unsigned fields, uint64_t first, uint64_t end,
                        uint64_t *pages, uint64_t *bytes)
{
    bool url = (fields & (DX_FIELD_URL | DX_FIELD_URL_ID)) != 0;
    bool ts = (fields & DX_FIELD_TS) != 0;
    uint64_t begin = 0;

    for (uint32_t i = 0; i < p->run_count && begin < end; i++) {
        const struct dx_pair_rows_run *run = &p->runs[i];

        if (run->end > first) {
            *pages += (url ? run->url_pages : 0) + (ts ? run->ts_pages : 0);
            *bytes += (url ? run->url_bytes : 0) + (ts ? run->ts_bytes : 0);
        }
        begin = run->end;
    }
}

/* ---- keeping ---- */

struct maker {
    struct dx_pair_row rows[DX_PAIR_ROWS_MAX];
    struct header head;
    struct dx_pair_rows_run runs[DX_PAIR_ROWS_RUNS];
    struct dx_buf text;
};

/* Whether each column of the run lies on one page: what then is counted of it. */
static bool take_run(const struct dx_listing *l, const struct dx_listing_piece *piece,
                     struct dx_pair_rows_run *run)
{
    for (size_t c = 0; c < piece->column_count; c++) {
        const struct dx_listing_column *column = &l->columns[piece->first_column + c];
        const struct dx_listing_page *page = &l->pages[column->first_page];
        bool is_ts = column->role == DX_ROLE_TS;
        uint64_t bytes = column->page_count == 1 ? page->place.size + page->dictionary.size : 0;

        if (column->page_count != 1)
            return false;
        *(is_ts ? &run->ts_pages : &run->url_pages) += 1;
        *(is_ts ? &run->ts_bytes : &run->url_bytes) += bytes;
    }
    return run->ts_pages <= 1;
}

/* A page that two runs share would be counted twice: such a pair is not kept. */
static bool take_runs(struct maker *m, const struct dx_listing *l)
{
    uint64_t place = 0;

    if (l->total > DX_PAIR_ROWS_MAX || l->row_count != l->total ||
        l->piece_count > DX_PAIR_ROWS_RUNS || l->reads != l->page_count ||
        l->read_bytes > DX_PAIR_ROWS_BYTES)
        return false;
    for (size_t i = 0; i < l->piece_count; i++) {
        place += l->pieces[i].row_count;
        m->runs[i].end = place;
        if (!take_run(l, &l->pieces[i], &m->runs[i]))
            return false;
    }
    m->head.run_count = (uint32_t)l->piece_count;
    return true;
}

static int take_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct maker *m = ctx;

    (void)err;
    m->rows[m->head.row_count++] = (struct dx_pair_row){
        .ts_us = row->ts_us,
        .at = (uint32_t)m->text.size,
        .scheme = (uint32_t)row->scheme.size,
        .host = (uint32_t)row->host.size,
        .path_query = (uint32_t)row->path_query.size,
        .has_ts = row->has_ts,
    };
    dx_buf_append(&m->text, row->scheme.data, row->scheme.size);
    dx_buf_append(&m->text, row->host.data, row->host.size);
    dx_buf_append(&m->text, row->path_query.data, row->path_query.size);
    return m->text.failed ? DX_E_LIMIT : DX_OK;
}

/* Rows of a pair all of whose pages are at hand: false, an error came up, which reading shows. */
static bool take_rows(struct maker *m, struct dx_listing *l)
{
    struct dx_error err = DX_ERROR_INIT;

    if (take_runs(m, l))
        return dx_listing_rows(l, &(struct dx_listing_taker){ .ctx = m, .row = take_row }, &err) ==
               DX_OK;
    m->head = (struct header){ 0, 0 };
    return true;
}

static void add_block(const struct maker *m, struct dx_page_cache *cache,
                      const struct dx_cache_key *key)
{
    const struct dx_span pieces[] = {
        { (const uint8_t *)&m->head, sizeof m->head },
        { (const uint8_t *)m->runs, m->head.run_count * sizeof *m->runs },
        { (const uint8_t *)m->rows, m->head.row_count * sizeof *m->rows },
        { m->text.data, m->head.row_count > 0 ? m->text.size : 0 },
    };
    struct dx_cached *cached = dx_page_cache_join(cache, key, pieces, 4);

    if (cached != NULL)
        dx_page_cache_put(cache, &cached);
}

void dx_pair_rows_keep(struct dx_version *v, const struct dx_part *part, uint64_t ordinal,
                       uint32_t dataset_id)
{
    const struct dx_cache_key key = key_of(part, ordinal, dataset_id);
    struct dx_error err = DX_ERROR_INIT;
    struct maker *m = malloc(sizeof *m); /* its rows are not zeroed: 40 kB */
    struct dx_listing l;

    if (m == NULL)
        return;
    m->head = (struct header){ 0, 0 };
    memset(m->runs, 0, sizeof m->runs);
    dx_buf_init(&m->text, TEXT_MAX);
    dx_listing_init(&l, v, part, ordinal, dataset_id,
                    (struct dx_page_of){ 0, DX_PAIR_ROWS_MAX + 1 }, DX_PAIR_ROWS_FIELDS, 0);
    if (dx_listing_step(&l, &err) == DX_LISTING_DONE && l.found && take_rows(m, &l))
        add_block(m, v->caches->pages, &key);
    dx_listing_release(&l);
    dx_buf_release(&m->text);
    free(m);
}
