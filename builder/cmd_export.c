/* SPDX-License-Identifier: Apache-2.0
 * cmd_export.c - `domaindex export`: what a version has, as another system keeps it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "builder/command.h"
#include "builder/file_store.h"
#include "builder/interrupt.h"
#include "builder/opened_version.h"
#include "builder/visible_rows.h"
#include "builder/work_folder.h"
#include "canon/url.h"
#include "format/store_index.h"

enum {
    OPT_ROOT,
    OPT_FILE_STORE,
    OPT_DATASET,
    OPT_VERSION,
    OPT_WORK_DIR,
    OPT_MEMORY,
    OPT_CACHE_DIR,
    OPT_COUNT
};

static const struct dx_option table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live" },
    [OPT_FILE_STORE] = { "file-store", "DIR", NULL, "write a file store; DIR is new or empty" },
    [OPT_DATASET] = { "dataset", "D", NULL, "of this dataset, by name or number; else of all" },
    [OPT_VERSION] = { "version", "VERSION", NULL, "of this version, not the current one" },
    [OPT_WORK_DIR] = { "work-dir", "DIR", NULL,
                       "local directory for sorting; if not given TMPDIR, else /tmp" },
    [OPT_MEMORY] = { "memory", "SIZE", "256M", "memory for sorting; K, M, G, T: powers of 1024" },
    [OPT_CACHE_DIR] = { "cache-dir", "DIR", NULL,
                        "where copies of a remote root's index are kept; else CACHE_DIRECTORY, or "
                        "domaindex in XDG_CACHE_HOME or in ~/.cache" },
};

#define MEMORY_MIN ((uint64_t)64 << 20)

struct export
{
    struct dx_file_store *store;
    struct dx_buf url;
};

/* The extra column of that name; data NULL: the row has none. */
static struct dx_span extra(const struct dx_lake_scan *scan, const struct dx_lake_row *row,
                            const char *name)
{
    size_t k = 0;

    for (size_t i = 0; i < scan->column_count; i++) {
        if (scan->column[i].role != DX_LAKE_EXTRA)
            continue;
        if (dx_span_equal(scan->column[i].name, dx_span_str(name)))
            return row->extra[k];
        k++;
    }
    return (struct dx_span){ NULL, 0 };
}

/* As it was typed, so that what came from a store goes into one under its own key; the canonical URL
 * where no line could hold that. */
static struct dx_span key_of(struct export *e, const struct dx_lake_row *row)
{
    struct dx_span key;

    if (row->raw_url.data != NULL && dx_store_tombstone_parse(row->raw_url, &key) == DX_STORE_SOUND)
        return key;
    dx_buf_clear(&e->url);
    dx_buf_append(&e->url, row->scheme.data, row->scheme.size);
    dx_buf_str(&e->url, "://");
    dx_buf_append(&e->url, row->host.data, row->host.size);
    dx_buf_append(&e->url, row->path_query.data, row->path_query.size);
    return dx_span_of(e->url.data, e->url.size);
}

static int add_row(void *ctx, const struct dx_lake_scan *scan, const struct dx_lake_row *row,
                   struct dx_error *err)
{
    struct export *e = ctx;
    struct dx_file_store_page page = { .url = key_of(e, row),
                                       .type = extra(scan, row, "content_type"),
                                       .title = extra(scan, row, "title"),
                                       .tags = extra(scan, row, "tags"),
                                       .domain = row->host,
                                       .path = row->path_query,
                                       .has_ts = row->has_ts,
                                       .ts_us = row->ts_us,
                                       .dataset_id = row->dataset_id };

    if (e->url.failed)
        return dx_buf_fail(&e->url, err, "export: a URL");
    return dx_file_store_add(e->store, &page, err);
}

static void summary(const char *dir, const struct dx_visible_rows *rows,
                    const struct dx_file_store_counts *n)
{
    (void)fprintf(stderr,
                  "file store: %s\n  rows                   %14" PRIu64
                  "\n  left out: suppressed   %14" PRIu64 "\n  left out: a later one  %14" PRIu64
                  "\n  left out: no such line %14" PRIu64 "\n  pages                  %14" PRIu64
                  "\n  tags                   %14" PRIu64 "\n  tags dropped           %14" PRIu64
                  "\n  titles mended          %14" PRIu64 "\n",
                  dir, rows->rows, rows->hidden, n->superseded, n->unwritable, n->pages,
                  n->tag_lines, n->tags_dropped, n->titles_mended);
}

static int export_store(const struct dx_options *o, struct dx_opened_version *opened,
                        uint64_t memory, struct dx_error *err)
{
    const char *dir = dx_options_text(o, OPT_FILE_STORE);
    struct dx_work_folder work = DX_WORK_FOLDER_INIT;
    struct export e = { .url = DX_BUF_INIT(2 * DX_URL_MAX) };
    struct dx_file_store_counts counts;
    struct dx_visible_rows rows = {
        .version = opened->version, .row = add_row, .ctx = &e, .stopped = dx_interrupted
    };
    int rc = DX_OK;

    if (dx_options_has(o, OPT_DATASET))
        rc = dx_opened_version_dataset(opened, dx_options_text(o, OPT_DATASET), &rows.dataset_id,
                                       err);
    if (rc == DX_OK)
        rc = dx_work_folder_make(&work, dx_options_text(o, OPT_WORK_DIR), "export", err);
    rows.tmp = work.path;
    if (rc == DX_OK)
        rc = dx_file_store_new(&e.store, dir, work.path, memory, err);
    if (rc == DX_OK)
        rc = dx_visible_rows_each(&rows, err);
    if (rc == DX_OK)
        rc = dx_file_store_write(e.store, &counts, err);
    if (rc == DX_OK)
        summary(dir, &rows, &counts);
    dx_file_store_free(&e.store);
    dx_work_folder_remove(&work);
    dx_buf_release(&e.url);
    return rc;
}

static int run(const struct dx_options *o)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_opened_version opened = { .version = NULL };
    struct dx_error err = DX_ERROR_INIT;
    uint64_t memory = 0;
    int rc = DX_OK;

    if (dx_options_text(o, OPT_ROOT) == NULL || dx_options_text(o, OPT_FILE_STORE) == NULL ||
        o->operand_count != 0)
        rc = dx_fail(&err, DX_E_INVALID, "--root ROOT and --file-store DIR are needed");
    if (rc == DX_OK)
        rc = dx_options_size(o, OPT_MEMORY, MEMORY_MIN, UINT64_MAX / 2, &memory, &err);
    if (rc < 0) {
        (void)fprintf(stderr, "domaindex export: %s\n", err.text);
        return DX_EXIT_USAGE;
    }
    dx_interrupt_catch();
    options.mirror_dir = dx_options_text(o, OPT_CACHE_DIR);
    rc = dx_opened_version_open(&opened, dx_options_text(o, OPT_ROOT),
                                dx_options_text(o, OPT_VERSION), &options, &err);
    if (rc == DX_OK)
        rc = export_store(o, &opened, memory, &err);
    if (rc < 0)
        (void)fprintf(stderr, "domaindex export: %s\n", err.text);
    dx_opened_version_close(&opened);
    return rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

const struct dx_command dx_command_export = {
    .name = "export",
    .synopsis = "--root ROOT --file-store DIR [--dataset D] [--version VERSION]",
    .summary = "write what a version has as another system keeps it",
    .description =
        "Writes a file store: the files index and tags, and a storage file a page below store. "
        "The key of a page is its URL as it was ingested; type, title and tags are those of the "
        "columns content_type, title and tags. Of several rows of a URL the latest is written, of "
        "several datasets at one time that with the highest number. Rows that suppressions hide "
        "are left out, and so are those whose URL holds ',!,', which no line of the index can "
        "tell apart; line ends in titles become spaces. Storage files have an empty payload.\n\n"
        "The same rows make the same bytes. The index comes last: a store without one is of a run "
        "that did not end. DIR must be new or empty. Read it again with 'domaindex ingest --from "
        "file-store'.\n\n"
        "ROOT is a directory, http://..., https://... or s3://bucket/prefix; domaindex(1) names "
        "the environment variables that remote ones are reached with.",
    .example = "domaindex export --root ./quickstart-root --file-store ./store",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run,
};
