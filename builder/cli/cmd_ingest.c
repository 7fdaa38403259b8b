/* SPDX-License-Identifier: Apache-2.0
 * cmd_ingest.c - domaindex ingest: options, signals, summary.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/command/process.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "builder/cli/command.h"
#include "builder/cli/detect_report.h"
#include "builder/cli/ingest_json.h"
#include "builder/exchange/filestore/ingest_file_store.h"
#include "builder/exchange/queue/amqp_url.h"
#include "builder/exchange/queue/receive.h"
#include "builder/ingest/ingest.h"
#include "builder/ingest/ingest_journal.h"
#include "builder/input/files/input_list.h"
#include "builder/input/records/profile.h"
#include "builder/input/records/rejects.h"
#include "builder/lake/dataset_registry.h"
#include "builder/root/interrupt.h"
#include "builder/root/progress.h"
#include "builder/root/root.h"

enum {
    OPT_ROOT,
    OPT_DATASET,
    OPT_DATASET_COLUMN,
    OPT_DATASET_FROM,
    OPT_PROFILE,
    OPT_INCLUDE,
    OPT_EXCLUDE,
    OPT_BASE,
    OPT_FROM,
    OPT_SET_ASIDE,
    OPT_SUPPRESS_TOMBSTONES,
    OPT_FORMAT,
    OPT_URL_COLUMN,
    OPT_TS_COLUMN,
    OPT_NO_TS,
    OPT_TS_UNIT,
    OPT_EXTRA_COLUMN,
    OPT_CANONICAL_COLUMN,
    OPT_COUNTS,
    OPT_LOCATORS,
    OPT_IN_PLACE,
    OPT_HEADER,
    OPT_NO_HEADER,
    OPT_MAX_REJECTS,
    OPT_REQUIRE_TS,
    OPT_DRY_RUN,
    OPT_DETECT,
    OPT_REJECTS,
    OPT_REJECTS_SIZE,
    OPT_WORK_DIR,
    OPT_JOURNAL,
    OPT_JOURNAL_STEP,
    OPT_REPLACE,
    OPT_SPLIT_EDGES,
    OPT_SPOOL,
    OPT_TRANSFERS,
    OPT_WAIT,
    OPT_BAD_TO,
    OPT_DATASET_META,
    OPT_PSL,
    OPT_MEMORY,
    OPT_THREADS,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

#define AT(member) DX_OPT_PLACE(struct dx_ingest_options, member)
#define WARNING "  WARNING: "

static const struct dx_option table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "the lake and the index: a directory, made if missing, or s3://bucket/prefix",
                   DX_OPT_ONE_TEXT, AT(root) },
    [OPT_DATASET] = { "dataset", "NAME", NULL, "dataset that all records belong to",
                      DX_OPT_ONE_TEXT, AT(dataset) },
    [OPT_DATASET_COLUMN] = { "dataset-column", "C", NULL, "column that names each record's dataset",
                             DX_OPT_ONE_TEXT, AT(want.dataset) },
    [OPT_DATASET_FROM] = { "dataset-from", "TEMPLATE", NULL,
                           "name of the dataset, made of text, {file}, {folder} and {crawl} of "
                           "each "
                           "INPUT's path, and {C} at its end, a column of the record: "
                           "fineweb-{dump}",
                           DX_OPT_ONE_TEXT },
    [OPT_PROFILE] = { "profile", "NAME", NULL,
                      "read INPUT as the files of this public corpus: columns, dataset, extras; "
                      "'domaindex profiles' lists them; other options win over it",
                      DX_OPT_ONE_TEXT },
    [OPT_INCLUDE] = { "include", "PATTERN", NULL,
                      "of a folder take only files whose path ends like this: '*.gz'; may be given "
                      "several times",
                      DX_OPT_TEXT },
    [OPT_EXCLUDE] = { "exclude", "PATTERN", NULL,
                      "of a folder leave out files whose path ends like this: 'test/*'; may be "
                      "given several times",
                      DX_OPT_TEXT },
    [OPT_BASE] = { "base", "ADDRESS", NULL,
                   "the address or folder that relative paths in @LIST are below: "
                   "https://data.commoncrawl.org/ for the lists of Common Crawl",
                   DX_OPT_ONE_TEXT },
    [OPT_FROM] = { "from", "SOURCE", NULL,
                   "file-store: INPUT is the directory of a file store; or, in place of INPUT, a "
                   "queue: amqp://host:port/vhost?queue=NAME, amqps:// with TLS",
                   DX_OPT_TEXT },
    [OPT_SET_ASIDE] = { "set-aside", NULL, NULL,
                        "rename storage files of a file store that are corrupt to .invalid",
                        DX_OPT_FLAG },
    [OPT_SUPPRESS_TOMBSTONES] = { "suppress-tombstones", NULL, NULL,
                                  "hide what a file store has deleted, by rules as of 'domaindex "
                                  "suppress': in all datasets and versions, within seconds",
                                  DX_OPT_FLAG },
    [OPT_FORMAT] = { "format", "AUTO|TSV|CSV|JSONL|LIST|CDX|CDXJ|CDX-JSON|PARQUET|WARC|ARC", "auto",
                     "tsv, csv, jsonl, list (a URL a line), cdx, cdxj, cdx-json (the array of "
                     "arrays of a CDX server), parquet, warc, arc, or auto: by name, then by the "
                     "first "
                     "lines; what is not certain is refused",
                     DX_OPT_CHOICE, AT(format) },
    [OPT_URL_COLUMN] = { "url-column", "C", NULL,
                         "column of the URL; if not given it is looked for by its usual names",
                         DX_OPT_ONE_TEXT, AT(want.url) },
    [OPT_TS_COLUMN] = { "ts-column", "C", NULL,
                        "column of the time: if no record has it, the run fails; if not given it "
                        "is "
                        "looked for by its usual names",
                        DX_OPT_ONE_TEXT, AT(want.ts) },
    [OPT_NO_TS] = { "no-ts", NULL, NULL, "store no time, whatever the columns are called",
                    DX_OPT_FLAG, AT(want.no_ts) },
    [OPT_TS_UNIT] = { "ts-unit", "AUTO|S|MS|US", "auto",
                      "unit of times that are numbers: s, ms, us, or auto: by their size",
                      DX_OPT_CHOICE, AT(ts_unit) },
    [OPT_EXTRA_COLUMN] = { "extra-column", "C", NULL,
                           "keep this column too, or NAME=C: keep it as NAME; may be given several "
                           "times",
                           DX_OPT_TEXT },
    [OPT_CANONICAL_COLUMN] = { "canonical-column", "C", NULL,
                               "column of the URL that the record's content says it is: the row is "
                               "of that one, what was requested is kept as requested_url",
                               DX_OPT_ONE_TEXT },
    [OPT_COUNTS] = { "counts", "C", NULL,
                     "records are hosts (a name, or one in SURT, in the URL column), and column C "
                     "says how many pages each has: the datasets of this run have counts and no "
                     "URLs",
                     DX_OPT_ONE_TEXT },
    [OPT_LOCATORS] = { "locators", NULL, NULL,
                       "keep where each row came from in the column locator: the input and the "
                       "place in it",
                       DX_OPT_FLAG, AT(want.locators) },
    [OPT_IN_PLACE] = { "in-place", NULL, NULL,
                       "INPUT are Parquet files that stay where they are: of each row keep URL, "
                       "time, the extra columns that are asked for, and a locator that also says "
                       "what its file was",
                       DX_OPT_FLAG, AT(in_place) },
    [OPT_HEADER] = { "header", NULL, NULL, "the first line of each TSV or CSV input is a header",
                     DX_OPT_FLAG },
    [OPT_NO_HEADER] = { "no-header", NULL, NULL, "it is not", DX_OPT_FLAG },
    [OPT_MAX_REJECTS] = { "max-rejects", "SHARE", "10%",
                          "end with exit code 1, and add nothing, if more of the records are "
                          "rejected; 0.1 or 10%; with --from amqp:// it holds only if given, for "
                          "each transfer",
                          DX_OPT_SHARE },
    [OPT_REQUIRE_TS] = { "require-ts", NULL, NULL,
                         "reject records without a valid time; if not given they are stored "
                         "without one",
                         DX_OPT_FLAG, AT(require_ts) },
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL,
                      "read all input and print columns, first rows and rejects; write nothing",
                      DX_OPT_FLAG, AT(dry_run) },
    [OPT_DETECT] = { "detect", NULL, NULL,
                     "look at the first records of INPUT and print format, columns, profile, first "
                     "rows and the command to use; write nothing",
                     DX_OPT_FLAG },
    [OPT_REJECTS] = { "rejects", "FILE", NULL,
                      "where rejected records go, of all steps and transfers of a run; if not "
                      "given ROOT/rejects/NNNNN.tsv, and for an "
                      "s3:// root domaindex-rejects-UID/NNNNN.tsv in the work directory",
                      DX_OPT_TEXT, AT(rejects_path) },
    [OPT_REJECTS_SIZE] = { "rejects-size", "SIZE", "64M",
                           "list the first rejected records, up to so many bytes of the rejects "
                           "file; the counts by reason are of all",
                           DX_OPT_SIZE(4096, DX_OPTION_OPEN), AT(rejects_bytes) },
    [OPT_WORK_DIR] = { "work-dir", "DIR", NULL,
                       "local directory for sorting and finished files of an s3:// root; if not "
                       "given TMPDIR, else /tmp",
                       DX_OPT_TEXT, AT(work_dir) },
    [OPT_JOURNAL] = { "journal", "FILE", NULL,
                      "add the rows step by step, and list the inputs that are in the lake in "
                      "FILE: "
                      "the same command again goes on behind them, whatever ended it; a file that "
                      "was changed since is read again",
                      DX_OPT_TEXT },
    [OPT_JOURNAL_STEP] = { "journal-step", "SIZE", "16G",
                           "with --journal, add the rows when the inputs of a step have so many "
                           "bytes; an object whose size is not known counts as 128M",
                           DX_OPT_SIZE(1, DX_OPTION_OPEN) },
    [OPT_REPLACE] = { "replace", NULL, NULL,
                      "the rows of this run take the place of all that its datasets had; the old "
                      "files stay in ROOT/urls/ until 'domaindex gc' deletes them, and programs "
                      "that read that folder read both ('domaindex files' lists those of a "
                      "version)",
                      DX_OPT_FLAG, AT(replace) },
    [OPT_SPLIT_EDGES] = { "split-edges", NULL, NULL,
                          "the rows are a range of domain ids, beside those of other writers "
                          "('domaindex adopt'): the first and the last prefix of a dataset of "
                          "4,096 rows and more get files of their own, so that files of two "
                          "writers have at most one prefix in common",
                          DX_OPT_FLAG, AT(split_edges) },
    [OPT_SPOOL] = { "spool", "DIR", NULL,
                    "local directory for segments until their rows are in the lake, of this ROOT "
                    "alone; if not given ROOT/spool",
                    DX_OPT_TEXT },
    [OPT_TRANSFERS] = { "transfers", "N", "1",
                        "with --from amqp://, end after so many; 0: go on until a signal",
                        DX_OPT_NUMBER(0, DX_OPTION_OPEN) },
    [OPT_WAIT] = { "wait", "SECONDS", "0",
                   "in a directory: wait so long for another command that writes there to end; "
                   "with "
                   "--from amqp://: end when nothing useful has come for so long, 0: never",
                   DX_OPTION_WAIT_KIND },
    [OPT_BAD_TO] = { "bad-to", "QUEUE", NULL,
                     "with --from amqp://, move messages that are not segments to this queue of "
                     "the "
                     "same vhost; if not given they stay and end the run",
                     DX_OPT_TEXT },
    [OPT_DATASET_META] = { "dataset-meta", "KEY=VALUE", NULL,
                           "metadata of the datasets of this run; empty VALUE removes the key",
                           DX_OPT_TEXT },
    [OPT_PSL] = { "psl", "FILE", NULL,
                  "public suffix list for a new lake; a lake keeps the list it began with",
                  DX_OPT_TEXT, AT(psl_path) },
    [OPT_MEMORY] = { "memory", "SIZE", "1G", "memory budget; K, M, G, T: powers of 1024",
                     DX_OPT_SIZE(DX_INGEST_MEMORY_MIN, DX_OPTION_OPEN), AT(memory_bytes) },
    [OPT_THREADS] = { "threads", "N", NULL, "threads that parse and sort; if not given one a CPU",
                      DX_OPT_NUMBER(1, DX_INGEST_THREADS_MAX), AT(threads) },
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = { "json", NULL, NULL,
                   "print the summary as one line of JSON on standard output; with --from amqp:// "
                   "a line for each transfer",
                   DX_OPT_FLAG },
};

static struct dx_progress progress;

static void say(const char *text)
{
    dx_progress_end(&progress);
    (void)dx_line_print(stderr, "domaindex ingest: %s", text);
}

/* How an input is read. */
static void print_columns(const char *input, const char *text)
{
    dx_progress_end(&progress);
    (void)dx_line_print(stderr, "%s: %s", input, text);
}

static int usage(const struct dx_error *err)
{
    return dx_command_fail("ingest", DX_EXIT_USAGE, err);
}

/* *profile: NULL if none is asked for. */
static int find_profile(const struct dx_options *options, const struct dx_profile **profile,
                        struct dx_error *err)
{
    const char *name = dx_options_text(options, OPT_PROFILE);

    *profile = NULL;
    return name == NULL ? DX_OK : dx_profile_get(profile, name, err);
}

/* The column of --counts, or of the profile, is the only extra of a run of counts. */
static int read_counts(const struct dx_options *options, const struct dx_profile *profile,
                       struct dx_ingest_options *o, struct dx_error *err)
{
    static const size_t others[] = { OPT_EXTRA_COLUMN, OPT_CANONICAL_COLUMN, OPT_LOCATORS,
                                     OPT_IN_PLACE,     OPT_TS_COLUMN,        OPT_REQUIRE_TS,
                                     OPT_FROM,         OPT_JOURNAL };
    const char *column = dx_options_text(options, OPT_COUNTS);

    if (column == NULL && profile != NULL)
        column = profile->counts;
    if (column == NULL)
        return DX_OK;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (dx_options_has(options, others[i]))
            return dx_fail(err, DX_E_INVALID,
                           "--counts and --%s exclude each other: of a host its pages are stored, "
                           "by one run",
                           table[others[i]].name);
    o->counts = true;
    o->want.no_ts = true;
    o->want.extra[0] = column;
    o->want.extra_count = 1;
    return DX_OK;
}

static int read_columns(const struct dx_options *options, const struct dx_profile *profile,
                        struct dx_columns_want *want, struct dx_error *err)
{
    const char *extra;

    want->header = dx_options_has(options, OPT_HEADER)      ? DX_HEADER_YES
                   : dx_options_has(options, OPT_NO_HEADER) ? DX_HEADER_NO
                                                            : DX_HEADER_AUTO;
    if (dx_options_has(options, OPT_HEADER) && dx_options_has(options, OPT_NO_HEADER))
        return dx_fail(err, DX_E_INVALID, "--header and --no-header exclude each other");
    if (want->no_ts && want->ts != NULL)
        return dx_fail(err, DX_E_INVALID, "--no-ts and --ts-column exclude each other");
    while ((extra = dx_options_nth(options, OPT_EXTRA_COLUMN, want->extra_count)) != NULL) {
        if (want->extra_count == DX_EXTRA_COLUMNS_MAX)
            return dx_fail(err, DX_E_INVALID, "at most %d extra columns", DX_EXTRA_COLUMNS_MAX);
        dx_columns_want_extra(want, extra);
    }
    if (profile != NULL)
        dx_profile_apply(profile, want);
    want->url_may_lack = want->url == NULL && want->url_names != NULL;
    want->locators = want->locators || dx_options_has(options, OPT_IN_PLACE);
    if (want->locators && dx_options_has(options, OPT_FROM))
        return dx_fail(
            err, DX_E_INVALID,
            "--%s and --from exclude each other: a queue keeps no file that "
            "`fetch-record` could read again",
            table[dx_options_has(options, OPT_IN_PLACE) ? OPT_IN_PLACE : OPT_LOCATORS].name);
    if (dx_options_has(options, OPT_CANONICAL_COLUMN)) {
        if (want->extra_count == DX_EXTRA_COLUMNS_MAX)
            return dx_fail(err, DX_E_INVALID, "at most %d columns beside URL, time and dataset",
                           DX_EXTRA_COLUMNS_MAX);
        want->extra[want->extra_count++] = dx_options_text(options, OPT_CANONICAL_COLUMN);
        want->canonical = want->extra_count;
    }
    return dx_columns_want_check(want, err);
}

static bool has_queue(const struct dx_options *options)
{
    const char *from = dx_options_text(options, OPT_FROM);

    return from != NULL && dx_amqp_url_is(from);
}

/* Of --dataset-from, or of the profile where no option names the dataset. */
static struct dx_dataset_template dataset_template;

static int read_template(const struct dx_options *options, const struct dx_profile *profile,
                         struct dx_ingest_options *o, struct dx_error *err)
{
    const char *text = dx_options_text(options, OPT_DATASET_FROM);
    int rc;

    if (text != NULL && (o->dataset != NULL || o->want.dataset != NULL))
        return dx_fail(err, DX_E_INVALID,
                       "--dataset-from, --dataset and --dataset-column exclude each other");
    if (text == NULL && profile != NULL && o->dataset == NULL && o->want.dataset == NULL)
        text = profile->dataset;
    if (text == NULL)
        return DX_OK;
    rc = dx_dataset_template_parse(&dataset_template, text, err);
    if (rc < 0)
        return dx_fail_in(err, "--dataset-from");
    for (size_t i = 0; i < options->operand_count; i++)
        if (strcmp(options->operand[i], "-") == 0 && strchr(dataset_template.prefix, '{') != NULL)
            return dx_fail(err, DX_E_INVALID,
                           "standard input has no path to name the dataset by (%s); give --dataset "
                           "NAME",
                           text);
    o->want.dataset_prefix = dataset_template.prefix;
    if (dataset_template.column[0] != '\0')
        o->want.dataset = dataset_template.column;
    return DX_OK;
}

static int read_dataset(const struct dx_options *options, struct dx_ingest_options *o,
                        struct dx_error *err)
{
    /* Messages of a broker may tell it. */
    if (o->dataset == NULL
            ? o->want.dataset == NULL && o->want.dataset_prefix == NULL && !has_queue(options)
            : o->want.dataset != NULL)
        return dx_fail(err, DX_E_INVALID,
                       "give --dataset NAME, --dataset-column C, --dataset-from TEMPLATE or "
                       "--profile NAME");
    if (o->dataset != NULL && !dx_dataset_registry_name_valid(dx_span_str(o->dataset)))
        return dx_fail(err, DX_E_INVALID,
                       "--dataset: a name is 1..%d bytes of UTF-8 without control characters",
                       DX_DATASET_REGISTRY_NAME_MAX);
    while (dx_options_nth(options, OPT_DATASET_META, o->meta_count) != NULL)
        o->meta_count++;
    for (size_t i = 0; i < o->meta_count; i++)
        if (strchr(dx_options_nth(options, OPT_DATASET_META, i), '=') == NULL)
            return dx_fail(err, DX_E_INVALID, "--dataset-meta '%s': KEY=VALUE is expected",
                           dx_options_nth(options, OPT_DATASET_META, i));
    return DX_OK;
}

static bool has_store(const struct dx_options *options)
{
    return dx_options_has(options, OPT_FROM) && !has_queue(options);
}

/* What --from says of the operands. */
static int read_store(const struct dx_options *options, struct dx_file_store_options *store,
                      struct dx_error *err)
{
    const char *from = dx_options_text(options, OPT_FROM);

    store->set_aside = dx_options_has(options, OPT_SET_ASIDE);
    if (!has_store(options) && store->set_aside)
        return dx_fail(err, DX_E_INVALID, "--set-aside goes with --from file-store");
    if (!has_store(options) && dx_options_has(options, OPT_SUPPRESS_TOMBSTONES))
        return dx_fail(err, DX_E_INVALID, "--suppress-tombstones goes with --from file-store");
    if (dx_options_has(options, OPT_DRY_RUN) &&
        (store->set_aside || dx_options_has(options, OPT_SUPPRESS_TOMBSTONES)))
        return dx_fail(err, DX_E_INVALID,
                       "--dry-run writes nothing, so it excludes --set-aside and "
                       "--suppress-tombstones");
    if (dx_options_has(options, OPT_SUPPRESS_TOMBSTONES) && !dx_options_has(options, OPT_DATASET))
        return dx_fail(err, DX_E_INVALID,
                       "--suppress-tombstones needs --dataset: its rules say which one they are "
                       "from");
    if (!has_store(options))
        return DX_OK;
    /* What it is may hold a password, so it is not repeated. */
    if (strcmp(from, "file-store") != 0)
        return dx_fail(err, DX_E_INVALID, "--from is file-store, amqp://… or amqps://…");
    if (options->operand_count != 1)
        return dx_fail(err, DX_E_INVALID, "--from file-store takes one directory");
    if (dx_options_has(options, OPT_URL_COLUMN) || dx_options_has(options, OPT_HEADER) ||
        dx_options_has(options, OPT_NO_HEADER))
        return dx_fail(err, DX_E_INVALID,
                       "a file store has its own columns: no --url-column, --header, --no-header");
    store->dir = options->operand[0];
    return DX_OK;
}

/* What a record must have, and how many of them. A queue holds what other programs sent: one bad
 * transfer must not keep those behind it from being stored. */
static int read_limits(const struct dx_options *options, struct dx_ingest_options *o,
                       struct dx_error *err)
{
    uint64_t most = 0;
    int rc = dx_options_value(options, OPT_MAX_REJECTS, &most, err);

    o->accept_min_ppm = has_queue(options) && !dx_options_has(options, OPT_MAX_REJECTS)
                            ? 0
                            : 1000000 - (uint32_t)most;
    if (rc == DX_OK && !has_queue(options))
        rc = dx_options_value(options, OPT_WAIT, &o->lock_wait_ms, err);
    if (rc == DX_OK && o->require_ts && o->want.no_ts)
        rc = dx_fail(err, DX_E_INVALID, "--require-ts and --no-ts exclude each other");
    if (rc == DX_OK && o->dry_run && has_queue(options))
        rc = dx_fail(err, DX_E_INVALID, "--dry-run cannot read a queue: what is read is taken");
    return rc;
}

static int read_options(const struct dx_options *options, struct dx_ingest_options *o,
                        struct dx_error *err)
{
    const struct dx_profile *profile = NULL;
    int rc;

    o->threads = dx_command_cores(DX_INGEST_THREADS_MAX);
    rc = dx_options_store(options, o, err);
    if (rc == DX_OK)
        rc = find_profile(options, &profile, err);
    if (rc < 0)
        return rc;
    if (dx_options_has(options, OPT_FROM) &&
        (profile != NULL || dx_options_has(options, OPT_DATASET_FROM)))
        return dx_fail(err, DX_E_INVALID,
                       "--profile and --dataset-from are of files, not of --from");
    if (profile != NULL && !dx_options_has(options, OPT_FORMAT))
        o->format = profile->format;
    if (o->root == NULL)
        return dx_fail(err, DX_E_INVALID, "--root ROOT is missing");
    if (o->work_dir != NULL && dx_root_in_place(o->root) && !has_store(options))
        return dx_fail(err, DX_E_INVALID,
                       "--work-dir is for roots on object storage; a run into a directory works in "
                       "that directory, so that its files can be renamed into place");
    rc = read_template(options, profile, o, err);
    if (rc == DX_OK)
        rc = read_counts(options, profile, o, err);
    if (rc == DX_OK)
        rc = read_columns(options, profile, &o->want, err);
    if (rc == DX_OK)
        rc = read_dataset(options, o, err);
    /* A share of the sort must hold a fair number of rows. */
    if (rc == DX_OK && o->memory_bytes / o->threads < (uint64_t)8 << 20)
        rc = dx_fail(err, DX_E_INVALID, "--threads %u needs --memory of at least %uM", o->threads,
                     o->threads * 8);
    if (rc == DX_OK)
        rc = read_limits(options, o, err);
    o->input = options->operand;
    o->input_count = options->operand_count;
    /* A name of a file that cannot be opened is repeated; this one may hold a password. */
    for (size_t i = 0; rc == DX_OK && i < o->input_count; i++)
        if (dx_amqp_url_is(o->input[i]))
            rc = dx_fail(err, DX_E_INVALID, "an AMQP URL cannot be an INPUT; use --from URL");
    if (rc == DX_OK && o->input_count == 0 && !has_queue(options))
        rc = dx_fail(err, DX_E_INVALID, "INPUT is missing; give a file, or - for standard input");
    return rc;
}

static void print_count(const char *label, uint64_t n)
{
    char text[32];

    (void)dx_line_print(stderr, "  %-22s %14s", label, dx_progress_count(n, text));
}

static void store_summary(const char *dir, const struct dx_file_store_counts *n)
{
    (void)dx_line_print(stderr, "file store: %s", dir);
    print_count("lines of the index", n->lines);
    print_count("pages", n->pages);
    print_count("in the tombstone", n->tombstoned);
    print_count("duplicate lines", n->duplicates);
    print_count("malformed lines", n->malformed);
    print_count("hashes not the key's", n->hash_mismatches);
    print_count("lines of tags", n->tag_lines);
    print_count("  malformed", n->tag_lines_malformed);
    print_count("  keys not in the index", n->tags_of_nothing);
    print_count("pages with tags dropped", n->tags_dropped);
    print_count("storage files missing", n->missing);
    print_count("storage files corrupt", n->corrupt);
    print_count("  set aside", n->set_aside);
}

static void rules_summary(const struct dx_tombstone_rules *t)
{
    (void)dx_line_print(stderr, "suppressions: of the tombstone");
    print_count("rules added", t->added);
    print_count("there already", t->kept);
    print_count("lifted", t->lifted);
    print_count("pages there again", t->live_too);
    print_count("no URLs", t->unusable);
}

static const char *shown(const char *input)
{
    return strcmp(input, "-") == 0 ? "stdin" : input;
}

static void print_samples(const struct dx_ingest_stats *s, int why)
{
    for (size_t i = 0; i < s->samples.reject_count[why]; i++) {
        const struct dx_reject_sample *r = &s->samples.reject[why][i];

        (void)dx_line_print(stderr, "      %s:%llu: %s", shown(r->input),
                            (unsigned long long)r->line, r->text);
    }
}

static void print_full(const struct dx_ingest_options *o, const struct dx_ingest_stats *s)
{
    char size[32];

    if (s->rejects_unlisted > 0)
        (void)dx_line_print(
            stderr,
            WARNING "the rejects file is full and lists the first %llu of %llu rejected records "
                    "(--rejects-size %s)",
            (unsigned long long)(s->rejected_total - s->rejects_unlisted),
            (unsigned long long)s->rejected_total, dx_progress_size(o->rejects_bytes, size));
}

/* What was left out, and the first records of each reason. */
static void print_rejects(const struct dx_ingest_options *o, const struct dx_ingest_stats *s)
{
    print_count("rejected", s->rejected_total);
    for (int why = 1; why < DX_ROW_REJECT_COUNT; why++)
        if (s->rejected[why] > 0) {
            char label[64];

            (void)snprintf(label, sizeof label, "  %s", dx_row_reject_name(why));
            print_count(label, s->rejected[why]);
            print_samples(s, why);
        }
    if (s->rejects_path != NULL)
        (void)dx_line_print(stderr, "  %-22s %s", "rejects are in", s->rejects_path);
    print_full(o, s);
    if (s->ts_dropped > 0) {
        print_count("invalid times dropped", s->ts_dropped);
        print_samples(s, DX_ROW_TS_INVALID);
    }
    if ((s->ts_dropped > 0 || s->rejected[DX_ROW_TS_INVALID] > 0) && o->want.ts == NULL)
        (void)dx_line_print(stderr,
                            "  the time column was found by its name; --ts-column names another, "
                            "--no-ts leaves it out");
}

static void print_lack(const char *begin, const char *column, const struct dx_ingest_lacking *e,
                       uint64_t of)
{
    char inputs[32], records[32], all[32];

    (void)dx_line_print(
        stderr, "%scolumn '%s' is null in %s record%s: inputs without it: %s of %s, the first %s",
        begin, column, dx_progress_count(e->records, records), dx_plural(e->records),
        dx_progress_count(e->inputs, inputs), dx_progress_count(of, all), shown(e->first));
}

/* Of a column that was asked for by its name. */
static void warn_of_column(const char *kind, const char *column, const struct dx_ingest_lacking *e,
                           const struct dx_ingest_stats *s)
{
    if (e->inputs > 0)
        print_lack(WARNING, column, e, s->inputs);
    if (!e->has_value && s->accepted > 0)
        (void)dx_line_print(stderr, WARNING "no record has a value of the %s '%s'", kind, column);
}

/* A list may have columns by blanks that none of its first lines showed. */
static void warn_of_blanks(const struct dx_ingest_stats *s)
{
    char count[32];

    if (s->with_blanks > 0)
        (void)dx_line_print(stderr,
                            WARNING "blanks within %s line%s of a list: taken as part of the URL "
                                    "(%%20); if columns stand behind them, give tabs and --format "
                                    "tsv",
                            dx_progress_count(s->with_blanks, count), dx_plural(s->with_blanks));
}

static void print_warnings(const struct dx_ingest_options *o, const struct dx_ingest_stats *s)
{
    char count[32];

    warn_of_blanks(s);
    if (s->empty > 0)
        (void)dx_line_print(stderr, WARNING "empty inputs: %s; the first: %s",
                            dx_progress_count(s->empty, count), shown(s->empty_input));
    if (o->want.ts != NULL)
        warn_of_column("time column", o->want.ts, &s->time, s);
    for (size_t i = o->want.extra_optional; i < o->want.extra_count; i++)
        warn_of_column("column", o->want.extra[i], &s->extra[i], s);
}

/* What the inputs are without, and need not have. */
static void print_lacking(const struct dx_ingest_options *o, const struct dx_ingest_stats *s)
{
    char count[32], all[32];

    print_warnings(o, s);
    if (s->without_urls > 0)
        (void)dx_line_print(stderr, "  passed over, as without URLs: %s of %s inputs: %s%s",
                            dx_progress_count(s->without_urls, count),
                            dx_progress_count(s->inputs + s->without_urls, all),
                            s->without_urls_input[0], s->without_urls > 1 ? ", ..." : "");
    if (s->untimed > 0 && s->untimed < s->accepted && !o->want.no_ts)
        (void)dx_line_print(stderr, "  without a time: %s record%s, the first in %s",
                            dx_progress_count(s->untimed, count), dx_plural(s->untimed),
                            s->untimed_input);
    for (size_t i = 0; i < o->want.extra_optional; i++)
        if (s->extra[i].inputs > 0)
            print_lack("  ", o->want.extra[i], &s->extra[i], s->inputs);
}

static void dry_summary(const struct dx_ingest_options *o, const struct dx_ingest_stats *s)
{
    if (s->samples.row_count > 0)
        (void)dx_line_print(stderr, "first rows:");
    for (size_t i = 0; i < s->samples.row_count; i++)
        (void)dx_line_print(stderr, "  %s", s->samples.row[i]);
    (void)dx_line_print(stderr, "dry run: %s: nothing was written", o->root);
    print_count("records read", s->records);
    print_count("records accepted", s->accepted);
    print_rejects(o, s);
    print_lacking(o, s);
}

static void print_summary(const struct dx_ingest_options *o, const struct dx_ingest_stats *s)
{
    uint64_t peak = dx_process_peak();
    char a[32];
    char b[32];
    double seconds = s->total_seconds > 0 ? s->total_seconds : 0.001;

    (void)dx_line_print(stderr, "ingest: %s", o->root);
    print_count("records read", s->records);
    print_count("rows stored", s->stored);
    print_count(o->counts ? "added to their host's" : "duplicates",
                s->accepted - s->left_out - s->stored);
    if (s->left_out > 0)
        print_count("rows not stored", s->left_out);
    print_rejects(o, s);
    print_lacking(o, s);
    if (s->unlocated > 0)
        print_count("records not located", s->unlocated);
    if (s->repaired > 0)
        print_count("texts not UTF-8, mended", s->repaired);
    if (s->canonical_refused > 0)
        print_count("canonical URLs refused", s->canonical_refused);
    print_count(o->replace ? "datasets replaced" : "datasets in this run", s->datasets);
    print_count("  new", s->datasets_new);
    print_count("datasets in the lake", s->datasets_total);
    print_count("files added", s->files);
    (void)dx_line_print(stderr, "  %-22s %14s  (%.1f B/row)", "bytes added",
                        dx_progress_size(s->file_bytes, a),
                        s->stored > 0 ? (double)s->file_bytes / (double)s->stored : 0.0);
    if (s->spilled_bytes > 0)
        (void)dx_line_print(stderr, "  %-22s %14s  (%llu run%s)", "sorted on disk",
                            dx_progress_size(s->spilled_bytes, a), (unsigned long long)s->runs,
                            dx_plural(s->runs));
    (void)dx_line_print(stderr, "  %-22s %13.1fs  (%s records/s)", "time", s->total_seconds,
                        dx_progress_count((uint64_t)((double)s->records / seconds), b));
    if (peak > 0)
        (void)dx_line_print(stderr, "  %-22s %14s", "peak memory", dx_progress_size(peak, a));
}

/* Steps and transfers are runs of their own, and share the file that --rejects names. */
static bool rejects_begun;

/* One run with these options; prints its result. store: NULL, or where its input is. *is_left_out (or NULL): of its stats. */
static int ingest_once(const struct dx_options *options, struct dx_ingest_options *o,
                       struct dx_file_store_options *store, bool *is_left_out, struct dx_error *err)
{
    bool quiet = dx_options_has(options, OPT_QUIET);
    bool with_rules = dx_options_has(options, OPT_SUPPRESS_TOMBSTONES);
    struct dx_tombstone_rules rules = { .root = NULL };
    struct dx_file_store_counts counts;
    struct dx_ingest_stats *stats = calloc(1, sizeof *stats); /* samples are large for a stack */
    const char **meta = calloc(o->meta_count + 1, sizeof *meta);
    int rc;

    if (meta == NULL || stats == NULL) {
        free(meta);
        free(stats);
        return dx_no_memory(err, "ingest");
    }
    for (size_t i = 0; i < o->meta_count; i++)
        meta[i] = dx_options_nth(options, OPT_DATASET_META, i);
    o->meta = meta;
    dx_progress_init(&progress, STDERR_FILENO);
    o->progress = quiet ? NULL : &progress;
    o->stopped = dx_interrupted;
    o->say = say;
    o->columns = quiet ? NULL : print_columns;
    o->rejects_append = rejects_begun;
    rc = store != NULL
             ? dx_ingest_file_store(o, store, &counts, stats, with_rules ? &rules : NULL, err)
             : dx_ingest_run(o, stats, err);
    dx_progress_end(&progress);
    rejects_begun = rejects_begun || stats->rejects_path != NULL;
    if (rc == DX_OK && store != NULL && !quiet)
        store_summary(store->dir, &counts);
    if (dx_options_has(options, OPT_JSON)) {
        const struct dx_error none = DX_ERROR_INIT;
        int printed = dx_ingest_json_print(stdout, o, stats, rc < 0 ? err : &none,
                                           rc < 0 ? NULL : err);

        if (rc < 0)
            dx_command_json_printed();
        rc = rc < 0 ? rc : printed;
    } else if (quiet && (rc == DX_OK || stats->left_out > 0)) {
        print_full(o, stats);
        print_warnings(o, stats);
    } else if (o->dry_run && stats->records > 0)
        dry_summary(o, stats);
    else if (rc == DX_OK || stats->left_out > 0)
        print_summary(o, stats);
    else if (stats->rejected_total > 0)
        print_rejects(o, stats);
    if (rc == DX_OK && with_rules && !quiet)
        rules_summary(&rules);
    if (is_left_out != NULL)
        *is_left_out = stats->is_left_out;
    free(stats->rejects_path);
    free(stats);
    free(meta);
    return rc;
}

/* What has come over a broker: joined in one file. */
static int store_received(void *ctx, const char *path, const char *dataset, struct dx_error *err)
{
    const struct dx_options *options = ctx;
    struct dx_ingest_options o = { .root = NULL };
    int rc = read_options(options, &o, err);

    if (rc < 0)
        return rc;
    if (o.want.dataset == NULL)
        o.dataset = dataset;
    o.input = &path;
    o.input_count = 1;
    return ingest_once(options, &o, NULL, NULL, err);
}

static int read_receive(const struct dx_options *options, const struct dx_ingest_options *o,
                        struct dx_receive_options *r, struct dx_amqp_url *url, char spool[PATH_MAX],
                        struct dx_error *err)
{
    int rc = dx_amqp_url_parse(url, dx_options_text(options, OPT_FROM), err);

    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_TRANSFERS, &r->transfers, err);
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_WAIT, &r->wait_ms, err);
    if (rc == DX_OK && o->input_count > 0)
        rc = dx_fail(err, DX_E_INVALID, "--from and INPUT exclude each other");
    r->bad_to = dx_options_text(options, OPT_BAD_TO);
    if (rc == DX_OK && r->bad_to != NULL) {
        struct dx_amqp_url bad = *url;

        rc = dx_amqp_url_set_queue(&bad, r->bad_to, err);
        dx_amqp_url_release(&bad);
        if (rc == DX_OK && strcmp(r->bad_to, url->queue) == 0)
            rc = dx_fail(err, DX_E_INVALID, "--bad-to is the queue that is read");
    }
    if (rc < 0)
        return rc;
    r->spool = dx_options_text(options, OPT_SPOOL);
    if (r->spool == NULL && !dx_root_in_place(o->root))
        return dx_fail(err, DX_E_INVALID,
                       "--spool DIR is missing: segments are kept on a local disk until their rows "
                       "are in the lake");
    if (r->spool == NULL) {
        rc = dx_path_format(spool, PATH_MAX, err, "%s/spool", o->root);
        if (rc < 0)
            return rc;
        r->spool = spool;
    }
    r->url = url;
    r->dataset = o->dataset;
    r->needs_dataset = o->want.dataset == NULL;
    return DX_OK;
}

/* For whom a spool that lies elsewhere is: a root that is not there yet gets its folder. */
static int name_owner(const char *root, char **owner, struct dx_error *err)
{
    int rc = dx_root_in_place(root) ? dx_dir_make(root, err) : DX_OK;

    return rc < 0 ? rc : dx_root_identity(root, owner, err);
}

static int receive_queue(const struct dx_options *options, const struct dx_ingest_options *o,
                         struct dx_error *err)
{
    union {
        const struct dx_options *from;
        void *ctx;
    } plain = { .from = options };
    struct dx_receive_options r = {
        .stopped = dx_interrupted, .say = say, .store = store_received, .ctx = plain.ctx
    };
    struct dx_amqp_url url = DX_AMQP_URL_INIT;
    struct dx_receive_stats stats = { 0 };
    char spool[PATH_MAX];
    char size[32];
    char *owner = NULL;
    int rc = read_receive(options, o, &r, &url, spool, err);

    if (rc < 0) {
        dx_amqp_url_release(&url);
        return usage(err);
    }
    dx_interrupt_catch();
    if (r.spool != spool)
        rc = name_owner(o->root, &owner, err);
    r.owner = owner;
    if (rc == DX_OK)
        rc = dx_receive_run(&r, &stats, err);
    free(owner);
    dx_amqp_url_release(&url);
    (void)dx_line_print(stderr,
                        "received: %llu transfers, %llu of them stored before, %llu segments of "
                        "%s; %llu messages over %llu connections, "
                        "%llu came twice, %llu were put back, %llu were not segments",
                        (unsigned long long)stats.transfers,
                        (unsigned long long)stats.transfers_again,
                        (unsigned long long)stats.segments, dx_progress_size(stats.bytes, size),
                        (unsigned long long)stats.messages, (unsigned long long)stats.connections,
                        (unsigned long long)stats.again, (unsigned long long)stats.requeued,
                        (unsigned long long)stats.bad);
    if (rc < 0)
        (void)dx_command_fail("ingest", DX_EXIT_REFUSED, err);
    return rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

/* Those of an option, NULL at the end; NULL: out of memory. */
static const char **patterns_of(const struct dx_options *options, size_t option)
{
    const char **pattern;
    size_t n = 0;

    while (dx_options_nth(options, option, n) != NULL)
        n++;
    pattern = calloc(n + 1, sizeof *pattern);
    for (size_t i = 0; pattern != NULL && i < n; i++)
        pattern[i] = dx_options_nth(options, option, i);
    return pattern;
}

static int list_inputs(const struct dx_options *options, const struct dx_ingest_options *o,
                       struct dx_input_list *list, struct dx_error *err)
{
    const char **include = patterns_of(options, OPT_INCLUDE);
    const char **exclude = patterns_of(options, OPT_EXCLUDE);
    struct dx_input_filter filter = { .include = include,
                                      .exclude = exclude,
                                      .base = dx_options_text(options, OPT_BASE) };
    const struct dx_profile *profile = NULL;
    int rc = include == NULL || exclude == NULL ? dx_no_memory(err, "ingest")
                                                : find_profile(options, &profile, err);

    if (profile != NULL && !dx_options_has(options, OPT_INCLUDE))
        filter.include = profile->include;
    if (profile != NULL && !dx_options_has(options, OPT_EXCLUDE))
        filter.exclude = profile->exclude;
    if (rc == DX_OK)
        rc = dx_input_list_make(list, o->input, o->input_count, &filter, err);
    free(include);
    free(exclude);
    return rc;
}

static void say_of_folders(const struct dx_input_list *list)
{
    struct dx_buf text = DX_BUF_INIT(1u << 16);

    dx_buf_fmt(&text, "of folders: %zu file%s taken, %zu %s left out", list->taken,
               dx_plural(list->taken), list->left_out,
               list->left_out == 1 ? "file or folder" : "files and folders");
    if (list->odd != NULL) {
        dx_buf_str(&text, "; ");
        dx_rejects_text(&text, dx_span_str(list->odd));
        dx_buf_fmt(&text, ": %s", list->odd_why);
    }
    dx_buf_u8(&text, 0);
    if (!text.failed)
        (void)dx_line_print(stderr, "%s", (const char *)text.data);
    dx_buf_release(&text);
}

/* Folders, patterns and lists become the files that they stand for. */
static int expand_inputs(const struct dx_options *options, struct dx_ingest_options *o,
                         struct dx_input_list *list, struct dx_error *err)
{
    int rc = list_inputs(options, o, list, err);

    if (rc == DX_OK && o->counts && dx_input_list_check_once(list, err) < 0)
        rc = dx_fail_in(err, "--counts would add up their pages twice");
    if (rc < 0)
        return rc;
    if (list->taken + list->left_out > 0)
        say_of_folders(list);
    o->input = list->path;
    o->input_count = list->count;
    o->input_size = list->size;
    return DX_OK;
}

/* Folders and patterns are looked at by their first file. */
static int detect_input(const struct dx_options *options)
{
    struct dx_ingest_options o = { .root = NULL };
    struct dx_input_list list = { .path = NULL };
    struct dx_buf out = DX_BUF_INIT(1u << 20);
    const struct dx_profile *profile = NULL;
    struct dx_detected *found = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_options_store(options, &o, &err);

    if (rc == DX_OK)
        rc = find_profile(options, &profile, &err);
    if (rc == DX_OK && (options->operand_count == 0 || dx_options_has(options, OPT_FROM)))
        rc = dx_fail(&err, DX_E_INVALID, "--detect needs an INPUT that is a file, and no --from");
    if (rc < 0)
        return usage(&err);
    o.input = options->operand;
    o.input_count = options->operand_count;
    rc = list_inputs(options, &o, &list, &err);
    if (rc == DX_OK && list.count == 0)
        rc = dx_fail(&err, DX_E_INVALID, "the lists name no file");
    if (rc == DX_OK)
        rc = dx_input_detect(&found, list.path[0], o.format, profile, &err);
    if (found != NULL) {
        dx_detect_report(&out, found, list.path[0], rc < 0 ? err.text : NULL);
        if (rc == DX_OK) {
            dx_buf_str(&out, "\n");
            dx_detect_command(&out, found, list.path[0], o.root, options->operand,
                              options->operand_count);
        }
    } else {
        (void)dx_command_fail("ingest", DX_EXIT_REFUSED, &err);
    }
    if (out.failed || fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout) != 0)
        rc = DX_E_IO;
    dx_buf_release(&out);
    dx_input_detect_free(&found);
    dx_input_list_release(&list);
    return rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

/* ---- step by step ---- */

#define SIZE_OF_UNKNOWN (UINT64_C(128) << 20)

static int check_journal(const struct dx_options *options, struct dx_error *err)
{
    static const size_t excluded[] = { OPT_REPLACE, OPT_DRY_RUN, OPT_FROM };

    if (!dx_options_has(options, OPT_JOURNAL))
        return dx_options_has(options, OPT_JOURNAL_STEP)
                   ? dx_fail(err, DX_E_INVALID, "--journal-step goes with --journal")
                   : DX_OK;
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        if (dx_options_has(options, excluded[i]))
            return dx_fail(err, DX_E_INVALID, "--journal and --%s exclude each other",
                           table[excluded[i]].name);
    for (size_t i = 0; i < options->operand_count; i++)
        if (strcmp(options->operand[i], "-") == 0)
            return dx_fail(
                err, DX_E_INVALID,
                "--journal: standard input has no name by which it could be passed over");
    return DX_OK;
}

/* What decides which rows an input gives: all options but those that say how it is done. */
static int put_about(const struct dx_options *options, struct dx_buf *about, struct dx_error *err)
{
    static const size_t without[] = { OPT_JOURNAL, OPT_JOURNAL_STEP, OPT_MEMORY,      OPT_THREADS,
                                      OPT_JSON,    OPT_QUIET,        OPT_WORK_DIR,    OPT_WAIT,
                                      OPT_REJECTS, OPT_REJECTS_SIZE, OPT_MAX_REJECTS, OPT_INCLUDE,
                                      OPT_EXCLUDE, OPT_BASE,         OPT_DATASET_META };

    for (size_t i = 0; i < OPT_COUNT; i++) {
        bool is_how = false;

        for (size_t k = 0; k < sizeof without / sizeof *without; k++)
            is_how = is_how || without[k] == i;
        if (is_how || !dx_options_has(options, i))
            continue;
        dx_buf_fmt(about, "--%s", table[i].name);
        for (size_t k = 0; table[i].arg != NULL && dx_options_nth(options, i, k) != NULL; k++)
            dx_buf_fmt(about, "=%zu:%s", strlen(dx_options_nth(options, i, k)),
                       dx_options_nth(options, i, k));
        dx_buf_u8(about, '\n');
    }
    return about->failed ? dx_buf_fail(about, err, "options") : DX_OK;
}

static uint64_t bytes_of(const char *input, uint64_t must_be)
{
    struct stat st;

    return must_be > 0 ? must_be : stat(input, &st) == 0 ? (uint64_t)st.st_size : SIZE_OF_UNKNOWN;
}

/* A journal outlives the root that it is of. */
static int check_lake(const struct dx_options *options, const struct dx_ingest_journal *j,
                      struct dx_error *err)
{
    const char *root = dx_options_text(options, OPT_ROOT);
    char path[PATH_MAX];
    int rc = DX_OK;

    if (j->count == 0 || !dx_root_in_place(root))
        return DX_OK;
    rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_DIR, root);
    if (rc == DX_OK && access(path, F_OK) < 0)
        rc = dx_fail(
            err, DX_E_INVALID,
            "%s: says that %zu inputs are in the lake, and there is none at %s; remove the "
            "journal to read them again",
            j->path, j->count, root);
    return rc;
}

/* The inputs of one step, from *next on: those that the journal does not have. */
struct step {
    const char **input;
    uint64_t *size;
    size_t count;
    size_t passed_over, added, left_out; /* of all steps */
    struct dx_error why;                 /* of the first that was left out */
};

static void collect_step(struct step *s, const struct dx_input_list *list, size_t *next,
                         uint64_t bytes_max, struct dx_ingest_journal *j)
{
    uint64_t bytes = 0;

    s->count = 0;
    for (; *next < list->count && bytes < bytes_max; ++*next) {
        const char *input = list->path[*next];
        struct dx_hash128 key = dx_ingest_journal_key(input, list->size[*next]);

        if (dx_ingest_journal_has(j, &key)) {
            s->passed_over++;
            continue;
        }
        dx_ingest_journal_note(j, &key, input);
        bytes += bytes_of(input, list->size[*next]);
        s->input[s->count] = input;
        s->size[s->count++] = list->size[*next];
    }
}

static bool has_datasets(const struct dx_ingest_options *o)
{
    const char *prefix = o->want.dataset_prefix;

    return o->dataset == NULL &&
           (o->want.dataset != NULL || (prefix != NULL && strchr(prefix, '{') != NULL));
}

/* Rows of a dataset with a faulty lake file stop no other dataset: the step is not in the journal, and the next one is read. */
static int ingest_step(const struct dx_options *options, struct step *s,
                       struct dx_ingest_journal *j, struct dx_error *err)
{
    struct dx_ingest_options o = { .root = NULL };
    bool is_left_out = false;
    int rc = read_options(options, &o, err);

    assert(s->count > 0); /* without inputs nothing is to be noted */
    o.input = s->input;
    o.input_count = s->count;
    o.input_size = s->size;
    o.in_steps = true;
    if (rc == DX_OK)
        rc = ingest_once(options, &o, NULL, &is_left_out, err);
    if (rc < 0 && is_left_out && has_datasets(&o)) {
        if (s->left_out == 0)
            s->why = *err;
        s->left_out += s->count;
        *err = (struct dx_error)DX_ERROR_INIT;
        dx_ingest_journal_forget(j);
        return DX_OK;
    }
    if (rc == DX_OK)
        rc = dx_ingest_journal_write(j, err);
    s->added += rc == DX_OK ? s->count : 0;
    return rc;
}

static int ingest_steps(const struct dx_options *options, const struct dx_input_list *list,
                        struct dx_error *err)
{
    struct dx_ingest_journal j = DX_INGEST_JOURNAL_INIT;
    struct dx_buf about = DX_BUF_INIT(1u << 20);
    struct step s = { .input = calloc(list->count + 1, sizeof *s.input),
                      .size = calloc(list->count + 1, sizeof *s.size) };
    uint64_t bytes_max = 0;
    size_t next = 0;
    int rc = s.input == NULL || s.size == NULL ? dx_no_memory(err, "ingest")
                                               : put_about(options, &about, err);

    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_JOURNAL_STEP, &bytes_max, err);
    if (rc == DX_OK)
        rc = dx_ingest_journal_open(&j, dx_options_text(options, OPT_JOURNAL),
                                    dx_span_of(about.data, about.size), err);
    if (rc == DX_OK)
        rc = check_lake(options, &j, err);
    while (rc == DX_OK && next < list->count) {
        collect_step(&s, list, &next, bytes_max, &j);
        if (s.count > 0)
            rc = ingest_step(options, &s, &j, err);
        if (rc == DX_OK && next < list->count && dx_interrupted())
            rc = dx_fail(err, DX_E_IO, "interrupted between two steps");
    }
    if (rc == DX_OK && s.left_out > 0) {
        *err = s.why;
        rc = (int)err->code;
    }
    if (j.path != NULL) {
        char left_out[80] = "";

        if (s.left_out > 0)
            (void)snprintf(left_out, sizeof left_out, ", %zu have rows that were not stored",
                           s.left_out);
        (void)dx_line_print(stderr,
                            "journal %s: %zu of %zu inputs were in the lake, %zu were added%s%s",
                            j.path, s.passed_over, list->count, s.added, left_out,
                            rc < 0 ? "; the same command again goes on behind them" : "");
    }
    dx_ingest_journal_close(&j);
    dx_buf_release(&about);
    free(s.input);
    free(s.size);
    return rc;
}

static int run_ingest(const struct dx_options *options)
{
    struct dx_ingest_options o = { .root = NULL };
    struct dx_file_store_options store = { .dir = NULL };
    struct dx_input_list list = { .path = NULL };
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (dx_options_has(options, OPT_DETECT))
        return detect_input(options);
    rc = read_options(options, &o, &err);
    if (rc == DX_OK)
        rc = read_store(options, &store, &err);
    if (rc == DX_OK)
        rc = check_journal(options, &err);
    if (rc < 0)
        return usage(&err);
    if (has_queue(options)) {
        rc = receive_queue(options, &o, &err);
        dx_columns_want_release(&o.want);
        return rc;
    }
    dx_interrupt_catch();
    rc = expand_inputs(options, &o, &list, &err);
    if (rc == DX_OK && dx_options_has(options, OPT_JOURNAL) && list.count > 0) {
        dx_columns_want_release(&o.want);
        rc = ingest_steps(options, &list, &err);
    } else if (rc == DX_OK)
        rc = ingest_once(options, &o, store.dir != NULL ? &store : NULL, NULL, &err);
    if (rc < 0)
        (void)dx_command_fail("ingest", DX_EXIT_REFUSED, &err);
    dx_input_list_release(&list);
    return rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

const struct dx_command dx_command_ingest = {
    .name = "ingest",
    .synopsis =
        "--root ROOT (--profile NAME | --dataset NAME | --dataset-column C) [options] INPUT... "
        "| --from SOURCE",
    .operands = DX_COMPLETE_FILES,
    .summary = "add raw records to the lake",
    .description =
        "Reads URLs with optional time, dataset and further columns, fetches each URL into its "
        "canonical form and stores every distinct (URL, time, extras) of a dataset once, as "
        "sorted Parquet files below ROOT/urls. Run 'domaindex publish' afterwards to make them "
        "answerable.\n\n"
        "INPUT is a file, - for standard input, or an object as https://host/path/file.parquet or "
        "s3://bucket/path/file.tsv.gz, which is read by ranges and must not change meanwhile; a "
        "folder or s3://bucket/prefix/ (all files below: the Parquet files if there are some), a "
        "quoted pattern ('part-*.parquet', 's3://bucket/crawl=2024-*'; the folder name ** is any "
        "number of folders: 'crawl/**/*.parquet'), or @LIST, a text file with "
        "an INPUT on each line, which may be compressed or remote. The cluster index of a ZipNum "
        "CDX (FILE.idx) stands for the shards that it names, each of which must have the size that "
        "the index says; a folder with one must have all of them. "
        "Parquet, WARC, ARC, WACZ, plain text, gzip, zstd, bzip2 and xz are recognised by content; "
        "an object is read as "
        "Parquet if its name ends in .parquet or --format says so. "
        "C is a number from 1 or a name: of the header line in TSV and CSV, a dotted path in "
        "JSONL and Parquet, with quotes around parts that hold dots "
        "(metadata.\"WARC-Target-URI\"). Of Parquet only the pages of these columns are read; "
        "groups that only make lists and maps need no name (images.url), each element of a list of "
        "URLs is a record, as it is in JSON lines, with what lies in the same list, below a column "
        "of strings the path goes on in their JSON, and folders "
        "of "
        "the path are columns too (crawl=2024-10/); a column that is encrypted is refused if it is "
        "needed, as is a file whose footer is. A path into a map is the value of that key. A list "
        "as an extra column is a JSON array "
        "([\"x\",null]). Of CDX C is the name or letter of a field "
        "(original, "
        "timestamp, statuscode, m), with a header line or 7, 9, 10, 11 or 14 fields; CDXJ is read "
        "as its JSON with "
        "the time in front. Of WARC, WAT and WET each response, resource, revisit and conversion "
        "of "
        "an http, https or ftp URL is a record, at WARC-Target-URI and WARC-Date; C is status, "
        "mime, "
        "digest, type, redirect, ip, filename, offset, length, a WARC-... field, http.NAME of the "
        "reply, "
        "or a path into the JSON of a WAT; a record of an ARC file is read as the WARC record that "
        "it "
        "would be; a damaged record is rejected, and reading goes on at "
        "the "
        "next sound one. TSV has no "
        "quoting; CSV is RFC 4180; a JSONL or text line may be 16 MiB long.\n\n"
        "--detect FILE prints what is recognised in its first records and the command to use; "
        "--dry-run reads all of INPUT, prints the first rows as they would be stored and three "
        "examples of each kind of reject, and writes nothing.\n\n"
        "Which columns are used is printed for each input that differs from the one before. Of "
        "several inputs some may lack a column that --extra-column names: it is null in their "
        "rows, "
        "and a warning counts inputs and records and names the first. If no input has it, the run "
        "fails and nothing "
        "is added. In JSON lines, CDXJ, WARC, and JSON and maps in Parquet, a column is what a "
        "record has, and an input lacks it if no record of it has a value; an extra column without "
        "a value in the whole run is a warning. A column of the URL, the time or the dataset may "
        "not lack; of the time, where a column is what a record has, it is enough that one record "
        "of the run has it, and the "
        "inputs without it are a warning. With --max-rejects 100% and of a queue rows are stored "
        "without a time then, with a warning. "
        "Without --url-column and --ts-column the usual names are found, in any case: url, uri, "
        "link, page_url, original, meta.url, \"warc-target-uri\" and so on; date, timestamp, when, "
        "meta.timestamp, \"warc-date\" and so on. Files of other formats (Feather, "
        "SQLite, "
        "XML, UTF-16, archives) are recognised and refused with a command that converts "
        "them.\n\n"
        "With --profile NAME the files of a public corpus are read as they are published "
        "(cc-index, "
        "cdxj, c4, fineweb, redpajama, oscar, dolma, laion and more, see 'domaindex profiles'): it "
        "sets columns, further columns to keep, the names of datasets, and which files of a folder "
        "are left out. An input without any of its columns of URLs is passed over and counted, if "
        "others have them. "
        "What another option says holds instead.\n\n"
        "Times are Unix seconds, milliseconds or microseconds, ISO 8601, yyyymmdd, "
        "yyyymmddhhmm or yyyymmddhhmmss, 'Sun, 29 Nov 2026 10:00:00 GMT' (HTTP, mail) or "
        "'Sun Nov 29 10:00:00 2026' (asctime); in CDX, CDXJ, WARC and ARC digits are a date of any "
        "precision. "
        "An empty one means no time. A record with an invalid time is stored "
        "without "
        "one and counted, unless --require-ts is given. Rejected records are counted by reason, "
        "the first three of each are printed, and all are written to a TSV file: input, line "
        "number, reason, raw record. If more than --max-rejects of the records are rejected, or no "
        "input has a record, the exit code is 1 and nothing is added. Damaged or cut input of "
        "other formats than WARC and ARC ends "
        "the run in the same way.\n\n"
        "Ingesting what the lake has already adds nothing, so an interrupted or repeated run is "
        "simply run again. The stored bytes do not depend on the order of records, on --threads "
        "or on --memory.\n\n"
        "With --replace each dataset that has rows in this run gets these and loses those it had, "
        "with the next publish; until then, and if the run dies, the old rows stay, and the same "
        "run starts again. A plain run into a dataset whose replacement is unfinished is "
        "refused, and so is replacing one that has files which were not published yet.\n\n"
        "With --from amqp://host:port/vhost?queue=NAME the records come over a broker (AMQP 0-9-1, "
        "RabbitMQ) as segments, as 'domaindex ship' sends them: u32 number, u32 how many there "
        "are, little-endian, and a part of what --format reads; a JSON array of objects or of URLs "
        "too. A "
        "segment is synced to the spool before it is acknowledged, the last one of a transfer "
        "when its rows are in the lake: whichever side is killed or cut off, nothing is lost and "
        "nothing is stored twice. One that is not the expected one is put back, with a pause that "
        "grows. A transfer that was stored and of which all segments come again is stored again, "
        "and adds the rows that the lake does not have. A "
        "message tells its transfer (message-id), its dataset and the sum of all bytes (headers "
        "`dataset`, `sha256`); for those that do not, --dataset NAME names it, and the queue is "
        "one transfer after the other, so that nothing can tell a late copy from a segment of the "
        "next one. A message that is not a segment ends the run and stays in the queue, or is "
        "moved "
        "to "
        "--bad-to; a transfer whose bytes are not what the sender has summed ends it, too. One run "
        "consumes a queue. "
        "User and password: DOMAINDEX_AMQP_USER and DOMAINDEX_AMQP_PASSWORD, or in the address, "
        "where others on the machine can see them; DOMAINDEX_AMQP_CA: certificates to trust with "
        "amqps://.\n\n"
        "With an s3:// root everything is sorted and written in the work directory, which needs "
        "room for that and for the largest file the lake has of the datasets of the run; finished "
        "files are then put into the store, and nothing there is ever replaced but "
        "registry.json and writers, each on the condition that no other process has changed it. A "
        "run that dies leaves whole files, new names in the registry at most, and its "
        "entry in writers; the same run again adds what is missing. The first run into a "
        "root tries whether the store keeps such conditions, refuses one that does not, and notes "
        "it "
        "in index/store.json. "
        "Address, region and credentials come from AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_PROFILE, "
        "AWS_ACCESS_KEY_ID and so on. http:// and https:// roots can only be read.\n\n"
        "Several runs may add to one s3:// root at once, from any machines. Those with datasets "
        "in common take turns, from looking at what is stored to the last file: a run enters its "
        "datasets into writers and waits while another one is there. One that is entered "
        "says every 15 seconds that it lives; after 60 seconds of silence, or at once if it ran "
        "on this machine and has ended, it is passed over. One that is cut off from the store for "
        "40 seconds sends nothing more and ends with an error. So no row is stored twice, unless a "
        "file that such a run had sent before comes to life in the store after the others have "
        "looked; the run asks at its end whether it was passed over, and says so with an error. "
        "publish would count the URLs of such a file once and its rows twice. A publish meanwhile "
        "takes the files that are there, each of them whole. Into a directory one run writes at a "
        "time, others are refused.\n\n"
        "With --canonical-column a record may say which URL its content is (rel=canonical). The "
        "row "
        "is then stored under that one, and the URL that was requested, in canonical form, in the "
        "column requested_url; /v1/url leads from it to the row. One that is empty or no URL is "
        "left aside, the latter counted.\n\n"
        "With --locators a row keeps where it came from, in the column locator, and 'domaindex "
        "fetch-record' and fields=locator lead back to it: FILE#row=GROUP:ROW of Parquet; "
        "FILE#warc=OFFSET+LENGTH of WARC and ARC, and of CDX and CDXJ, whose lines name such a "
        "file; "
        "FILE#text=OFFSET+LENGTH of other text, FILE#line=NUMBER if it is compressed. FILE is the "
        "INPUT as it was given, or an absolute path where that has a '..'. Records of standard "
        "input and the elements of a JSON array have none. Rows that differ only in it are equal; "
        "the least locator in byte order is kept, but a row that the lake has stays as it is.\n\n"
        "With --in-place INPUT are Parquet files, which must stay where they are and as they are; "
        "other inputs are refused. The lake gets URL, time and the extra columns that are asked "
        "for, as always, and a locator for each row that also says what its file was: "
        "FILE#was=SIZE-HASH,row=GROUP:ROW with the file's size and the XXH3 of its footer. All "
        "other columns are read from FILE when they are asked for: 'domaindex fetch-record' does, "
        "and 'domaindex verify --base' finds files that are gone or were replaced. A row that the "
        "lake has keeps its locator, so index files that were replaced with --replace.\n\n"
        "With --from file-store INPUT is a directory with the files index, index.tomb, tags and "
        "the folder store. Each page of it becomes a row with the extras content_type, title and "
        "tags (a JSON array). What is in a storage file can be named as payload.NAME for "
        "--extra-column and --ts-column. Malformed lines, hashes that are not their key's, "
        "keys of the tombstone, and storage files that are missing or corrupt are counted; links "
        "in the store are not followed. Of equal keys the last line holds. The lines go through "
        "the work directory, also for a root that is a directory. With --suppress-tombstones each "
        "key of the tombstone becomes a rule for its URL (policy absent, see 'domaindex "
        "suppress'), which hides what earlier runs have stored of it. Such a rule holds in all "
        "datasets; it is lifted by a later run with this option that finds the page in the store "
        "again.",
    .example = "domaindex ingest --root /srv/dx --dataset-column 1 --ts-column 2 --url-column 3 "
               "--extra-column 4 posts.tsv.zst",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_ingest,
};
