/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/row_tally.h"

#include <stdlib.h>

#include "base/array.h"
#include "format/text/host_pages.h"
#include "format/version/pair_tally.h"
#include "query/rows/listing.h"

struct dx_tallied_row {
    size_t at; /* in text: host, path and query, scheme */
    uint32_t host_size;
    uint32_t path_query_size;
    uint32_t scheme_size;
    const uint8_t *text; /* there, once all rows have come */
};

void dx_row_tally_init(struct dx_row_tally *t)
{
    *t = (struct dx_row_tally){ .rows = NULL };
    dx_buf_init(&t->text, DX_ROW_TALLY_BYTES);
}

void dx_row_tally_release(struct dx_row_tally *t)
{
    free(t->rows);
    dx_buf_release(&t->text);
    dx_row_tally_init(t);
}

static int make_room(struct dx_row_tally *t, struct dx_error *err)
{
    struct dx_tallied_row *to = dx_array_room(t->rows, t->count, &t->capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "rows of a domain");
    t->rows = to;
    return DX_OK;
}

int dx_row_tally_add(struct dx_row_tally *t, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_tallied_row r = { .at = t->text.size };
    int rc = make_room(t, err);

    if (rc < 0)
        return rc;
    dx_buf_append(&t->text, row->host.data, row->host.size);
    dx_buf_append(&t->text, row->path_query.data, row->path_query.size);
    dx_buf_append(&t->text, row->scheme.data, row->scheme.size);
    if (t->text.failed && t->text.size < DX_ROW_TALLY_BYTES / 2)
        return dx_buf_fail(&t->text, err, "rows of a domain");
    if (t->text.failed || t->count == DX_ROW_TALLY_ROWS)
        return dx_fail(err, DX_E_LIMIT,
                       "more than %u rows, or %u MiB of their URLs, would have to be counted",
                       DX_ROW_TALLY_ROWS, DX_ROW_TALLY_BYTES >> 20);
    r.host_size = (uint32_t)row->host.size; /* text is bounded */
    r.path_query_size = (uint32_t)row->path_query.size;
    r.scheme_size = (uint32_t)row->scheme.size;
    t->rows[t->count++] = r;
    return DX_OK;
}

static struct dx_span host_of(const struct dx_tallied_row *r)
{
    return dx_span_of(r->text, r->host_size);
}

static struct dx_span path_query_of(const struct dx_tallied_row *r)
{
    return dx_span_of(r->text + r->host_size, r->path_query_size);
}

static struct dx_span scheme_of(const struct dx_tallied_row *r)
{
    return dx_span_of(r->text + r->host_size + r->path_query_size, r->scheme_size);
}

/* By scheme last, so that rows of one URL follow each other. */
static int compare_rows(const void *a, const void *b)
{
    const struct dx_tallied_row *x = a;
    const struct dx_tallied_row *y = b;
    int c = dx_span_compare(host_of(x), host_of(y));

    if (c == 0)
        c = dx_span_compare(path_query_of(x), path_query_of(y));
    return c != 0 ? c : dx_span_compare(scheme_of(x), scheme_of(y));
}

static int tally_host(const struct dx_tallied_row *r, struct dx_pair_tally *tally,
                      struct dx_error *err)
{
    uint64_t pages;

    return dx_host_pages_parse(path_query_of(r), &pages)
               ? dx_pair_tally_pages(tally, host_of(r), pages, err)
               : dx_fail(err, DX_E_CORRUPT, "a row of a dataset of counts has no number of pages");
}

static int tally_all(const struct dx_row_tally *t, struct dx_pair_tally *tally,
                     struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < t->count && rc >= 0; i++) {
        const struct dx_tallied_row *r = &t->rows[i];
        bool new_url = i == 0 || compare_rows(&t->rows[i - 1], r) != 0;

        if (t->of_counts) {
            rc = tally_host(r, tally, err);
            continue;
        }
        rc = dx_pair_tally_row(tally, scheme_of(r), host_of(r), path_query_of(r), new_url, err);
    }
    return rc;
}

int dx_row_tally_end(struct dx_row_tally *t, struct dx_span domain, bool all_paths,
                     struct dx_buf *facts, uint64_t *url_count, struct dx_error *err)
{
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    struct dx_pair_tally *tally;
    uint64_t row_count;
    int rc = dx_pair_tally_new(&tally, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < t->count; i++)
        t->rows[i].text = t->text.data + t->rows[i].at;
    if (t->count > 0)
        qsort(t->rows, t->count, sizeof *t->rows, compare_rows);
    dx_pair_tally_begin(tally, domain);
    if (all_paths)
        dx_pair_tally_all_paths(tally);
    rc = tally_all(t, tally, err);
    if (rc >= 0)
        rc = dx_pair_tally_end(tally, facts, &sketch, err);
    dx_pair_tally_counts(tally, url_count, &row_count);
    dx_buf_release(&sketch);
    dx_pair_tally_free(&tally);
    return rc;
}
