/* SPDX-License-Identifier: Apache-2.0
 * The files that rows indexed in place came from (`ingest --in-place`): whether they are there, and are what they
 * were. Of the lake the pages of the column locator are read, of each of the files its footer.
 */
#include "builder/check/verify.h"
#include "builder/input/bytes/input_ranges.h"
#include "builder/input/located/located_path.h"
#include "builder/input/parquet/parquet_footer.h"
#include "fetch/source.h"
#include "format/text/locator.h"
#include "loader/version_parts.h"
#include "parquet/footer.h"
#include "query/rows/listing.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>

#define ROWS_AT_ONCE 65536
#define FILES_MAX (1u << 20) /* that are remembered */

/* A file as rows say that it was. Of one name there are several where rows say different things. */
struct source_file {
    struct dx_locator was; /* its name: the bytes below */
    uint64_t rows;
    struct dx_span lake_path; /* of the first row; the version has the text */
    uint8_t name[];
};

struct sources_check {
    struct dx_verify *w;
    void *files; /* tree of struct source_file */
    size_t count;
    struct source_file *last;
    struct dx_pages_file lake; /* that is read */
    int rc;                    /* of the walk over the tree */
    struct dx_error *err;
};

static int compare_files(const void *a, const void *b)
{
    const struct dx_locator *x = &((const struct source_file *)a)->was;
    const struct dx_locator *y = &((const struct source_file *)b)->was;
    int order = dx_span_compare(x->name, y->name);

    if (order == 0)
        order = (x->was_size > y->was_size) - (x->was_size < y->was_size);
    return order != 0 ? order : (x->was_hash > y->was_hash) - (x->was_hash < y->was_hash);
}

static int add_file(struct sources_check *c, const struct dx_locator *l, struct dx_error *err)
{
    struct source_file *f = malloc(sizeof *f + l->name.size);

    if (c->count == FILES_MAX) {
        free(f);
        return dx_fail(err, DX_E_LIMIT, "rows lead to over %u files; no more are checked",
                       FILES_MAX);
    }
    if (f == NULL)
        return dx_no_memory(err, "verify: files of locators");
    *f = (struct source_file){ .was = *l, .lake_path = c->lake.path };
    memcpy(f->name, l->name.data, l->name.size);
    f->was.name.data = f->name;
    if (tsearch(f, &c->files, compare_files) == NULL) {
        free(f);
        return dx_no_memory(err, "verify: files of locators");
    }
    c->count++;
    c->last = f;
    return DX_OK;
}

static int count_row(struct sources_check *c, const struct dx_locator *l, struct dx_error *err)
{
    const struct source_file key = { .was = *l };
    void *found;
    int rc = DX_OK;

    if (c->last == NULL || compare_files(&key, c->last) != 0) {
        found = tfind(&key, &c->files, compare_files);
        if (found != NULL)
            c->last = *(struct source_file **)found;
        else
            rc = add_file(c, l, err);
    }
    if (rc == DX_OK)
        c->last->rows++;
    return rc;
}

/* Of rows that say what their file was: others may lead anywhere. */
static int take_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < row->extra_count; i++) {
        struct dx_locator l;

        if (dx_span_equal(row->extra[i].name, dx_span_str(DX_LOCATOR_COLUMN)) &&
            row->extra[i].value.data != NULL && dx_locator_parse(row->extra[i].value, &l) &&
            l.was_size > 0)
            rc = count_row(ctx, &l, err);
    }
    return rc;
}

static int read_rows(struct sources_check *c, const struct dx_run *run, struct dx_error *err)
{
    const struct dx_span column = dx_span_str(DX_LOCATOR_COLUMN);
    const struct dx_listing_taker taker = { c, take_row, NULL };
    struct dx_listing l;
    int rc;

    assert(run->row_count > 0 && run->row_count <= ROWS_AT_ONCE);
    dx_listing_init(&l, c->w->version, NULL, 0, 0, (struct dx_page_of){ 0, 0 }, 0, 0);
    l.extras = &column;
    l.extra_count = 1;
    rc = dx_listing_run(&l, run, err);
    while (rc == DX_OK && (rc = dx_listing_step(&l, err)) == DX_LISTING_WAITS) {
        rc = dx_read_batch_perform(&l.reading, err);
        rc = dx_listing_fetched(&l, rc, err);
    }
    if (rc == DX_OK)
        rc = dx_listing_rows(&l, &taker, err);
    dx_listing_release(&l);
    return rc;
}

static int read_lake_file(struct sources_check *c, const struct dx_part *part, struct dx_error *err)
{
    int rc = dx_pages_has_column(&part->pages, &c->lake, DX_LOCATOR_COLUMN, err);

    if (rc <= 0)
        return rc;
    rc = DX_OK;
    for (uint32_t g = 0; rc == DX_OK && g < c->lake.row_groups; g++) {
        struct dx_page_group group;
        struct dx_run run = { .file_id = c->lake.file_id, .row_group = g };

        rc = dx_pages_group(&part->pages, &c->lake, g, &group, err);
        rc = rc < 0 ? rc : DX_OK;
        for (; rc == DX_OK && run.first_row < group.rows; run.first_row += run.row_count) {
            run.row_count = group.rows - run.first_row < ROWS_AT_ONCE ? group.rows - run.first_row
                                                                      : ROWS_AT_ONCE;
            rc = read_rows(c, &run, err);
        }
    }
    return rc;
}

static int read_lake(struct sources_check *c, struct dx_error *err)
{
    const struct dx_part *part;
    int rc = DX_OK;

    for (uint64_t id = 0; rc == DX_OK && id < c->w->version->entry.file_ids; id++) {
        rc = dx_version_file(c->w->version, id, &part, &c->lake, err);
        if (rc == 1)
            rc = read_lake_file(c, part, err);
    }
    return rc;
}

/* ---- the files ---- */

static int look_at(const char *path, const struct dx_locator *was, struct dx_error *why)
{
    struct dx_buf metadata = DX_BUF_INIT(DX_PQ_FOOTER_MAX);
    struct dx_pq_footer footer = { .node = NULL };
    struct dx_input_ranges *ranges = NULL;
    int rc = dx_input_ranges_open(&ranges, path, why);

    if (rc == DX_OK && dx_input_ranges_size(ranges) == was->was_size)
        rc = dx_parquet_footer_read(&footer, ranges, &metadata, UINT64_MAX, why);
    if (rc == DX_OK)
        rc = dx_parquet_footer_same(ranges, &metadata, was, why);
    dx_pq_footer_release(&footer);
    dx_buf_release(&metadata);
    dx_input_ranges_close(&ranges);
    return rc;
}

/* A store that cannot be asked says nothing of its objects. */
static bool is_damage(const struct sources_check *c, int code)
{
    bool network = code == DX_E_IO || code == DX_E_TIMEOUT || code == DX_E_BUSY;

    return code != DX_E_NOMEM && !(network && dx_source_remote(c->w->options->base));
}

static void check_file(const void *node, VISIT visit, void *ctx)
{
    const struct source_file *f = *(struct source_file *const *)node;
    struct dx_error why = DX_ERROR_INIT;
    struct sources_check *c = ctx;
    char *path = NULL;
    int rc;

    if ((visit != postorder && visit != leaf) || c->rc < 0)
        return;
    rc = dx_located_path(c->w->options->base, f->was.name, &path, &why);
    if (rc == DX_OK)
        rc = look_at(path, &f->was, &why);
    free(path);
    if (c->w->options->progress != NULL)
        atomic_fetch_add(&c->w->options->progress->items, 1);
    if (rc == DX_OK)
        return;
    if (is_damage(c, rc)) {
        dx_verify_found(c->w, "%.*s, which %llu rows indexed in place lead to (first in %.*s): %s",
                        (int)f->was.name.size, (const char *)f->was.name.data,
                        (unsigned long long)f->rows, (int)f->lake_path.size,
                        (const char *)f->lake_path.data, why.text);
        return;
    }
    c->rc = rc;
    if (c->err != NULL)
        *c->err = why;
}

int dx_verify_sources(struct dx_verify *w, struct dx_error *err)
{
    struct sources_check c = { .w = w, .err = err };
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    if (w->options->base == NULL)
        return DX_OK;
    dx_verify_phase(w, "reading where rows came from");
    rc = read_lake(&c, &why);
    if (rc < 0)
        rc = dx_verify_damage(w, &why, err);
    dx_verify_phase(w, "looking at the files that rows came from");
    if (rc == DX_OK)
        twalk_r(c.files, check_file, &c);
    w->result->sources = c.count;
    tdestroy(c.files, free);
    return rc < 0 ? rc : c.rc;
}
