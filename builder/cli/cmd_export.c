/* SPDX-License-Identifier: Apache-2.0
 * cmd_export.c - `domaindex export`: what a version has, as another system keeps it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/exchange/filestore/file_store.h"
#include "builder/exchange/numbers/visible_rows.h"
#include "builder/exchange/postgres/postgres_dsn.h"
#include "builder/exchange/postgres/postgres_export.h"
#include "builder/root/interrupt.h"
#include "builder/root/opened_version.h"
#include "builder/root/work_folder.h"
#include "canon/url.h"
#include "format/version/store_index.h"

enum {
    OPT_ROOT,
    OPT_FILE_STORE,
    OPT_POSTGRES,
    OPT_DATASET,
    OPT_VERSION,
    OPT_TABLE,
    OPT_PARTITION_ROWS,
    OPT_EXTRA_COLUMN,
    OPT_STRICT,
    OPT_WORK_DIR,
    OPT_MEMORY,
    OPT_CACHE_DIR,
    OPT_DRY_RUN,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

#define MEMORY_MIN (UINT64_C(64) << 20)
#define AT(member) DX_OPT_PLACE(struct dx_postgres_export, member)

static const struct dx_option table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT,
                   AT(root) },
    [OPT_FILE_STORE] = { "file-store", "DIR", NULL, "write a file store; DIR is new or empty",
                         DX_OPT_TEXT },
    [OPT_POSTGRES] = { "postgres", "DSN", NULL,
                       "load a table of PostgreSQL: postgresql://user@host/database, 'host=... "
                       "dbname=...', the name of a database, or '' for what the environment says",
                       DX_OPT_TEXT, AT(dsn) },
    [OPT_DATASET] = { "dataset", "D", NULL, "of this dataset, by name or number; else of all",
                      DX_OPT_ONE_TEXT },
    [OPT_VERSION] = { "version", "VERSION", NULL, "of this version, not the current one",
                      DX_OPT_ONE_TEXT },
    [OPT_TABLE] = { "table", "NAME", "urls", "postgres: of the table, 1 to 46 bytes", DX_OPT_TEXT,
                    AT(ddl.table) },
    [OPT_PARTITION_ROWS] = { "partition-rows", "N", "1000000",
                             "postgres: a domain with so many rows gets a partition of its own; 0: "
                             "none does",
                             DX_OPT_NUMBER(0, DX_OPTION_OPEN), AT(partition_rows) },
    [OPT_EXTRA_COLUMN] = { "extra-column", "NAME", NULL,
                           "postgres: also this column of the lake, as text; may be repeated",
                           DX_OPT_TEXT },
    [OPT_STRICT] = { "strict", NULL, NULL, "postgres: a row whose URL has no number is an error",
                     DX_OPT_FLAG, AT(strict) },
    [OPT_WORK_DIR] = { "work-dir", "DIR", NULL,
                       "local directory for temporary files; if not given TMPDIR, else /tmp",
                       DX_OPT_TEXT },
    [OPT_MEMORY] = { "memory", "SIZE", "256M",
                     "file-store: memory for sorting; K, M, G, T: powers of 1024",
                     DX_OPT_SIZE(MEMORY_MIN, DX_OPTION_OPEN) },
    [OPT_CACHE_DIR] = DX_OPTION_CACHE_DIR,
    [OPT_DRY_RUN] = DX_OPTION_DRY_RUN(AT(dry_run),
                                      "read and count the rows, and look at the place that "
                                      "they would go to; write nothing there"),
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = DX_OPTION_JSON,
};

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

/* As it was typed, so that what came from a store goes into one under its own key; the canonical
 * URL where no line could hold that. */
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

static void summary(const char *dir, bool dry_run, const struct dx_visible_rows *rows,
                    const struct dx_file_store_counts *n)
{
    (void)dx_line_print(stderr, "file store: %s%s", dir,
                        dry_run ? "; dry run: nothing is written, these would be" : "");
    (void)fprintf(stderr,
                  "  rows                   %14" PRIu64 "\n  left out: suppressed   %14" PRIu64
                  "\n  left out: older rows   %14" PRIu64 "\n  left out: ',!,' in URL %14" PRIu64
                  "\n  pages                  %14" PRIu64 "\n  tags                   %14" PRIu64
                  "\n  tags dropped           %14" PRIu64 "\n  titles mended          %14" PRIu64
                  "\n",
                  rows->rows, rows->hidden, n->superseded, n->unwritable, n->pages, n->tag_lines,
                  n->tags_dropped, n->titles_mended);
}

static int store_json(const char *dir, bool dry_run, const struct dx_visible_rows *rows,
                      const struct dx_file_store_counts *n, struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT((size_t)64 << 10);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "file_store");
    dx_json_str(&j, dir);
    dx_json_key_u64(&j, "rows", rows->rows);
    dx_json_key_u64(&j, "rows_suppressed", rows->hidden);
    dx_json_key_u64(&j, "rows_superseded", n->superseded);
    dx_json_key_u64(&j, "rows_unwritable", n->unwritable);
    dx_json_key_u64(&j, "pages", n->pages);
    dx_json_key_u64(&j, "tags", n->tag_lines);
    dx_json_key_u64(&j, "tags_dropped", n->tags_dropped);
    dx_json_key_u64(&j, "titles_mended", n->titles_mended);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, dry_run);
    dx_command_json_end(&j, &out);
    return dx_command_write(&out, err);
}

/* Of --dataset; one of counts has no rows to write. */
static int find_dataset(const struct dx_options *o, const struct dx_opened_version *opened,
                        uint32_t *id, struct dx_error *err)
{
    const char *said = dx_options_text(o, OPT_DATASET);
    int rc = dx_opened_version_dataset(opened, said, id, err);

    if (rc == DX_OK && dx_registry_of_counts(&opened->version->registry, *id))
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     "dataset %.60s has counts of pages a host, and no URLs to export", said);
    return rc;
}

static int export_store(const struct dx_options *o, struct dx_opened_version *opened,
                        uint64_t memory, struct dx_error *err)
{
    struct dx_file_store_to to = { .dir = dx_options_text(o, OPT_FILE_STORE),
                                   .memory_bytes = memory,
                                   .dry_run = dx_options_has(o, OPT_DRY_RUN) };
    struct dx_work_folder work = DX_WORK_FOLDER_INIT;
    struct export e = { .url = DX_BUF_INIT(2 * DX_URL_MAX) };
    struct dx_file_store_counts counts;
    struct dx_visible_rows rows = {
        .version = opened->version, .row = add_row, .ctx = &e, .stopped = dx_interrupted
    };
    int rc = DX_OK;

    if (dx_options_has(o, OPT_DATASET))
        rc = find_dataset(o, opened, &rows.dataset_id, err);
    if (rc == DX_OK)
        rc = dx_work_folder_make(&work, dx_options_text(o, OPT_WORK_DIR), "export", err);
    rows.tmp = to.tmp = work.path;
    if (rc == DX_OK)
        rc = dx_file_store_new(&e.store, &to, err);
    if (rc == DX_OK)
        rc = dx_visible_rows_each(&rows, err);
    if (rc == DX_OK)
        rc = dx_file_store_write(e.store, &counts, err);
    if (rc == DX_OK && dx_options_has(o, OPT_JSON))
        rc = store_json(to.dir, to.dry_run, &rows, &counts, err);
    else if (rc == DX_OK && !dx_options_has(o, OPT_QUIET))
        summary(to.dir, to.dry_run, &rows, &counts);
    dx_file_store_free(&e.store);
    dx_work_folder_remove(&work);
    dx_buf_release(&e.url);
    return rc;
}

static bool taken(const char *name)
{
    static const char *const own[] = { "domain64", "dataset_id", "url", "ts" };

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

static int read_columns(const struct dx_options *o, const char *column[DX_POSTGRES_COLUMNS_MAX],
                        size_t *count, struct dx_error *err)
{
    const char *name;

    for (*count = 0; (name = dx_options_nth(o, OPT_EXTRA_COLUMN, *count)) != NULL; ++*count) {
        if (*count == DX_POSTGRES_COLUMNS_MAX)
            return dx_fail(err, DX_E_INVALID, "--extra-column: at most %d of them",
                           DX_POSTGRES_COLUMNS_MAX);
        if (!dx_postgres_name_ok(name, DX_POSTGRES_COLUMN_MAX))
            return dx_fail(
                err, DX_E_INVALID,
                "--extra-column %.60s: a name is 1 to %d bytes of UTF-8 without control characters",
                name, DX_POSTGRES_COLUMN_MAX);
        for (size_t i = 0; i < *count; i++)
            if (strcmp(column[i], name) == 0)
                return dx_fail(err, DX_E_INVALID,
                               "--extra-column %s is given twice; once is enough", name);
        if (taken(name))
            return dx_fail(
                err, DX_E_INVALID,
                "--extra-column %s: the table has a column of that name already; leave it out",
                name);
        column[*count] = name;
    }
    return DX_OK;
}

static int postgres_json(const struct dx_postgres_export *e, bool complete, struct dx_error *err)
{
    static const char *const parts[] = { "tld", "domain", "subdomain", "path" };
    const struct dx_postgres_counts *n = &e->done.n;
    struct dx_buf out = DX_BUF_INIT((size_t)64 << 10);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "table");
    dx_json_str(&j, e->ddl.table);
    dx_json_key(&j, "server");
    dx_json_str(&j, e->done.where);
    dx_json_key(&j, "complete");
    dx_json_bool(&j, complete);
    dx_json_key_u64(&j, "partitions_made", e->done.partitions);
    dx_json_key_u64(&j, "datasets_loaded", e->done.loaded);
    dx_json_key_u64(&j, "datasets_as_before", e->done.as_before);
    dx_json_key_u64(&j, "datasets_removed", e->done.removed);
    dx_json_key_u64(&j, "rows", n->rows);
    dx_json_key_u64(&j, "rows_suppressed", n->hidden);
    dx_json_key(&j, "rows_without_number");
    dx_json_object(&j);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        dx_json_key_u64(&j, parts[i], n->unnumbered[i]);
    dx_json_end(&j);
    dx_json_key_u64(&j, "rows_of_one_label", n->one_label);
    dx_json_key_u64(&j, "rows_not_text", n->not_text);
    dx_json_key_u64(&j, "texts_mended", n->mended);
    dx_json_key_u64(&j, "times_out_of_range", n->times);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, e->dry_run);
    dx_command_json_end(&j, &out);
    return dx_command_write(&out, err);
}

static int export_postgres(const struct dx_options *o, struct dx_opened_version *opened,
                           struct dx_postgres_export *e, struct dx_error *err)
{
    struct dx_work_folder work = DX_WORK_FOLDER_INIT;
    int rc = DX_OK;

    e->opened = opened;
    e->quiet = dx_options_has(o, OPT_QUIET);
    if (dx_options_has(o, OPT_DATASET))
        rc = find_dataset(o, opened, &e->dataset_id, err);
    if (rc == DX_OK)
        rc = dx_work_folder_make(&work, dx_options_text(o, OPT_WORK_DIR), "export", err);
    e->tmp = work.path;
    if (rc == DX_OK)
        rc = dx_postgres_export_run(e, err);
    if (e->done.where[0] != '\0' && dx_options_has(o, OPT_JSON)) {
        struct dx_error why = DX_ERROR_INIT; /* the export's error is the one to keep */
        int printed = postgres_json(e, rc == DX_OK, rc == DX_OK ? err : &why);

        rc = rc == DX_OK ? printed : rc;
    } else if (e->done.where[0] != '\0' && !dx_options_has(o, OPT_QUIET)) {
        dx_postgres_export_summary(e, stderr);
    }
    dx_work_folder_remove(&work);
    e->tmp = NULL;
    return rc;
}

/* What goes with the other way of exporting only is a mistake, not a thing to ignore. */
static int check_kind(const struct dx_options *o, struct dx_error *err)
{
    static const size_t postgres_only[] = { OPT_TABLE, OPT_PARTITION_ROWS, OPT_EXTRA_COLUMN,
                                            OPT_STRICT };
    bool postgres = dx_options_text(o, OPT_POSTGRES) != NULL;

    if (dx_options_text(o, OPT_ROOT) == NULL || o->operand_count != 0 ||
        postgres == (dx_options_text(o, OPT_FILE_STORE) != NULL))
        return dx_fail(err, DX_E_INVALID,
                       "give --root ROOT and either --file-store DIR or --postgres DSN");
    for (size_t i = 0; !postgres && i < sizeof postgres_only / sizeof *postgres_only; i++)
        if (dx_options_has(o, postgres_only[i]))
            return dx_fail(err, DX_E_INVALID, "--%s works with --postgres only; leave it out",
                           table[postgres_only[i]].name);
    if (postgres && dx_options_has(o, OPT_MEMORY))
        return dx_fail(err, DX_E_INVALID,
                       "--memory works with --file-store only, which sorts; leave it out");
    return DX_OK;
}

static int read_postgres(const struct dx_options *o, struct dx_postgres_export *e,
                         const char *column[DX_POSTGRES_COLUMNS_MAX], struct dx_error *err)
{
    int rc = dx_options_store(o, e, err);

    e->ddl.column = column;
    e->stopped = dx_interrupted;
    if (rc < 0 || e->dsn == NULL)
        return rc;
    rc = dx_postgres_dsn_check(e->dsn, err);
    if (rc == DX_OK && !dx_postgres_name_ok(e->ddl.table, DX_POSTGRES_TABLE_MAX))
        rc = dx_fail(err, DX_E_INVALID,
                     "--table %.60s: a name is 1 to %d bytes of UTF-8 without control characters",
                     e->ddl.table, DX_POSTGRES_TABLE_MAX);
    return rc == DX_OK ? read_columns(o, column, &e->ddl.column_count, err) : rc;
}

static int run_export(const struct dx_options *o)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_opened_version opened = { .version = NULL };
    const char *column[DX_POSTGRES_COLUMNS_MAX];
    struct dx_postgres_export postgres = { .root = NULL };
    struct dx_error err = DX_ERROR_INIT;
    uint64_t memory = 0;
    int rc = check_kind(o, &err);

    if (rc == DX_OK)
        rc = dx_options_value(o, OPT_MEMORY, &memory, &err);
    if (rc == DX_OK)
        rc = read_postgres(o, &postgres, column, &err);
    if (rc < 0)
        return dx_command_fail("export", DX_EXIT_USAGE, &err);
    dx_interrupt_catch();
    options.mirror_dir = dx_options_text(o, OPT_CACHE_DIR);
    rc = dx_opened_version_open(&opened, dx_options_text(o, OPT_ROOT),
                                dx_options_text(o, OPT_VERSION), &options, &err);
    if (rc == DX_OK)
        rc = postgres.dsn != NULL ? export_postgres(o, &opened, &postgres, &err)
                                  : export_store(o, &opened, memory, &err);
    if (rc < 0)
        (void)dx_command_fail("export", DX_EXIT_REFUSED, &err);
    dx_opened_version_close(&opened);
    return rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

const struct dx_command dx_command_export = {
    .name = "export",
    .synopsis = "--root ROOT (--file-store DIR | --postgres DSN) [--dry-run] [--json] [options]",
    .summary = "write what a version has as another system keeps it",
    .description =
        "Of a version the rows that may be shown, as another system keeps them; rows that "
        "suppressions "
        "hide are left out.\n\n"
        "--file-store: the files index and tags, and a storage file a page below store. The key of "
        "a page is its URL as it was ingested; type, title and tags are those of the columns "
        "content_type, title and tags. Of several rows of a URL the latest is written, of several "
        "datasets at one time that with the highest number. Rows whose URL holds ',!,', which no "
        "line of the index can tell apart, are left out; line ends in titles become spaces. "
        "Storage "
        "files have an empty payload. The same rows make the same bytes. The index comes last: a "
        "store without one is of a run that did not end. DIR must be new or empty. Read it again "
        "with 'domaindex ingest --from file-store'.\n\n"
        "--postgres: a table NAME (domain64 bigint, dataset_id integer, url text, ts timestamptz, "
        "and "
        "a text for each --extra-column), indexed and partitioned by domain64: a partition for "
        "each TLD, below it one for each domain with --partition-rows rows or more (the 1000 "
        "largest), and one for the rest. The numbers are those of 'domaindex domain64 fill', which "
        "comes first; rows whose URL has none are left out and counted by the part without a "
        "number, "
        "or with --strict end the export. A NAME of any characters is taken as it is, a dot "
        "included; for a schema set its search_path: options=-csearch_path=SCHEMA in DSN.\n\n"
        "A second table, NAME_datasets, has the number, name and count of rows of each dataset, "
        "the "
        "version it was last seen in, and of what it was made. Each dataset is one transaction: "
        "its old "
        "rows go, its new ones come. One whose files, suppressions and numbers are still the same "
        "is not "
        "loaded again. So a run that was killed can be run again, and has each row once; after "
        "SIGINT the dataset at hand is rolled back, and the summary says what was committed. "
        "Without "
        "--dataset, datasets that the version has no more are removed. Partitions that are there "
        "stay as "
        "they are, new TLDs get theirs; for others drop both tables, or take another NAME.\n\n"
        "libpq reads PGHOST, PGUSER, PGPASSWORD, PGPASSFILE and the like; a password is better "
        "there "
        "than in DSN, which others on the machine can see. It is never printed.\n\n"
        "ROOT is a directory, http://..., https://... or s3://bucket/prefix; domaindex(1) names "
        "the environment variables that remote ones are reached with.",
    .example = "domaindex export --root ./quickstart-root --postgres "
               "'postgresql://loader@db.example/crawls' --table urls",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_export,
};
