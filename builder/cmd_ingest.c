/* SPDX-License-Identifier: Apache-2.0
 * cmd_ingest.c - domaindex ingest: options, signals, summary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "builder/command.h"
#include "builder/ingest.h"
#include "builder/ingest_file_store.h"
#include "builder/interrupt.h"
#include "builder/progress.h"
#include "builder/receive.h"
#include "builder/registry.h"
#include "fetch/amqp_url.h"

enum {
    OPT_ROOT,
    OPT_DATASET,
    OPT_DATASET_COLUMN,
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
    OPT_HEADER,
    OPT_NO_HEADER,
    OPT_REJECTS,
    OPT_WORK_DIR,
    OPT_REPLACE,
    OPT_SPOOL,
    OPT_TRANSFERS,
    OPT_WAIT,
    OPT_BAD_TO,
    OPT_DATASET_META,
    OPT_PSL,
    OPT_MEMORY,
    OPT_THREADS,
    OPT_COUNT
};

static const struct dx_option table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "the lake and the index: a directory, made if missing, or s3://bucket/prefix" },
    [OPT_DATASET] = { "dataset", "NAME", NULL, "dataset that all records belong to" },
    [OPT_DATASET_COLUMN] = { "dataset-column", "C", NULL,
                             "column that names each record's dataset" },
    [OPT_FROM] = { "from", "SOURCE", NULL,
                   "file-store: INPUT is the directory of a file store; or, in place of INPUT, a "
                   "queue: amqp://host:port/vhost?queue=NAME, amqps:// with TLS" },
    [OPT_SET_ASIDE] = { "set-aside", NULL, NULL,
                        "rename storage files of a file store that are corrupt to .invalid" },
    [OPT_SUPPRESS_TOMBSTONES] = { "suppress-tombstones", NULL, NULL,
                                  "hide what a file store has deleted, by rules as of 'domaindex "
                                  "suppress': in all datasets and versions, within seconds" },
    [OPT_FORMAT] = { "format", "FORMAT", "auto",
                     "tsv, csv, jsonl, list (a URL a line), or auto: by name, then by content" },
    [OPT_URL_COLUMN] = { "url-column", "C", NULL,
                         "column of the URL; if not given it is looked for by its usual names" },
    [OPT_TS_COLUMN] = { "ts-column", "C", NULL,
                        "column of the time; if not given it is looked for by its usual names" },
    [OPT_NO_TS] = { "no-ts", NULL, NULL, "store no time, whatever the columns are called" },
    [OPT_TS_UNIT] = { "ts-unit", "UNIT", "auto",
                      "unit of times that are numbers: s, ms, us, or auto: by their size" },
    [OPT_EXTRA_COLUMN] = { "extra-column", "C", NULL,
                           "keep this column too; may be given several times" },
    [OPT_CANONICAL_COLUMN] = { "canonical-column", "C", NULL,
                               "column of the URL that the record's content says it is: the row is "
                               "of that one, what was requested is kept as requested_url" },
    [OPT_HEADER] = { "header", NULL, NULL, "the first line of each TSV or CSV input is a header" },
    [OPT_NO_HEADER] = { "no-header", NULL, NULL, "it is not" },
    [OPT_REJECTS] = { "rejects", "FILE", NULL,
                      "where rejected records go; if not given ROOT/rejects/NNNNN.tsv, and for an "
                      "s3:// root domaindex-rejects-UID/NNNNN.tsv in the work directory" },
    [OPT_WORK_DIR] = { "work-dir", "DIR", NULL,
                       "local directory for sorting and finished files of an s3:// root; if not "
                       "given TMPDIR, else /tmp" },
    [OPT_REPLACE] = { "replace", NULL, NULL,
                      "the rows of this run take the place of all that its datasets had" },
    [OPT_SPOOL] = { "spool", "DIR", NULL,
                    "local directory for segments until their rows are in the lake; if not given "
                    "ROOT/spool" },
    [OPT_TRANSFERS] = { "transfers", "N", "1",
                        "with --from amqp://, end after so many; 0: go on until a signal" },
    [OPT_WAIT] = { "wait", "SECONDS", "0",
                   "with --from amqp://, end when nothing useful has come for so long; 0: never" },
    [OPT_BAD_TO] = { "bad-to", "QUEUE", NULL,
                     "with --from amqp://, move messages that are no segments to this queue of the "
                     "same vhost; if not given they stay and end the run" },
    [OPT_DATASET_META] = { "dataset-meta", "KEY=VALUE", NULL,
                           "metadata of the datasets of this run; empty VALUE removes the key" },
    [OPT_PSL] = { "psl", "FILE", NULL,
                  "public suffix list for a new lake; a lake keeps the list it began with" },
    [OPT_MEMORY] = { "memory", "SIZE", "1G",
                     "memory budget, at least 64M; K, M, G, T: powers of 1024" },
    [OPT_THREADS] = { "threads", "N", NULL, "threads that parse and sort; if not given one a CPU" },
};

static struct dx_progress progress;

static void say(const char *text)
{
    dx_progress_end(&progress);
    fprintf(stderr, "domaindex ingest: %s\n", text);
}

static int usage(const struct dx_error *err)
{
    fprintf(stderr, "domaindex ingest: %s\nTry 'domaindex help ingest'.\n", err->text);
    return DX_EXIT_USAGE;
}

static int read_columns(const struct dx_options *options, struct dx_columns_want *want,
                        struct dx_error *err)
{
    const char *extra;

    want->url = dx_options_text(options, OPT_URL_COLUMN);
    want->ts = dx_options_text(options, OPT_TS_COLUMN);
    want->no_ts = dx_options_has(options, OPT_NO_TS);
    want->dataset = dx_options_text(options, OPT_DATASET_COLUMN);
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
        want->extra[want->extra_count++] = extra;
    }
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

static int read_dataset(const struct dx_options *options, struct dx_ingest_options *o,
                        struct dx_error *err)
{
    o->dataset = dx_options_text(options, OPT_DATASET);
    /* Messages of a broker may tell it. */
    if (o->dataset == NULL ? o->want.dataset == NULL && !has_queue(options)
                           : o->want.dataset != NULL)
        return dx_fail(err, DX_E_INVALID, "give --dataset NAME or --dataset-column C");
    if (o->dataset != NULL && !dx_roster_name_valid(dx_span_str(o->dataset)))
        return dx_fail(err, DX_E_INVALID,
                       "--dataset: a name is 1..%d bytes of UTF-8 without control characters",
                       DX_ROSTER_NAME_MAX);
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

static int read_options(const struct dx_options *options, struct dx_ingest_options *o,
                        struct dx_error *err)
{
    uint64_t threads = dx_command_cores(DX_INGEST_THREADS_MAX);
    int rc;

    o->root = dx_options_text(options, OPT_ROOT);
    if (o->root == NULL || o->root[0] == '\0')
        return dx_fail(err, DX_E_INVALID, "--root ROOT is missing");
    o->work_dir = dx_options_text(options, OPT_WORK_DIR);
    o->replace = dx_options_has(options, OPT_REPLACE);
    if (o->work_dir != NULL && strstr(o->root, "://") == NULL && !has_store(options))
        return dx_fail(err, DX_E_INVALID,
                       "--work-dir is for roots on object storage; a run into a directory works in "
                       "that directory, so that its files can be renamed into place");
    rc = read_columns(options, &o->want, err);
    if (rc == DX_OK)
        rc = read_dataset(options, o, err);
    if (rc == DX_OK && !dx_record_format_parse(dx_options_text(options, OPT_FORMAT), &o->format))
        rc = dx_fail(err, DX_E_INVALID, "--format: '%s' is none of auto, tsv, csv, jsonl, list",
                     dx_options_text(options, OPT_FORMAT));
    if (rc == DX_OK && !dx_ts_unit_parse(dx_options_text(options, OPT_TS_UNIT), &o->ts_unit))
        rc = dx_fail(err, DX_E_INVALID, "--ts-unit: '%s' is none of auto, s, ms, us",
                     dx_options_text(options, OPT_TS_UNIT));
    if (rc == DX_OK)
        rc = dx_options_size(options, OPT_MEMORY, DX_INGEST_MEMORY_MIN, UINT64_MAX / 2,
                             &o->memory_bytes, err);
    if (rc == DX_OK && dx_options_has(options, OPT_THREADS))
        rc = dx_options_number(options, OPT_THREADS, 1, DX_INGEST_THREADS_MAX, &threads, err);
    /* A share of the sort must hold a fair number of rows. */
    if (rc == DX_OK && o->memory_bytes / threads < (uint64_t)8 << 20)
        rc = dx_fail(err, DX_E_INVALID, "--threads %llu needs --memory of at least %lluM",
                     (unsigned long long)threads, (unsigned long long)threads * 8);
    o->threads = (unsigned)threads;
    o->rejects_path = dx_options_text(options, OPT_REJECTS);
    o->psl_path = dx_options_text(options, OPT_PSL);
    o->input = options->operand;
    o->input_count = options->operand_count;
    /* A name of a file that cannot be opened is repeated; this one may hold a password. */
    for (size_t i = 0; rc == DX_OK && i < o->input_count; i++)
        if (dx_amqp_url_is(o->input[i]))
            rc = dx_fail(err, DX_E_INVALID, "a queue is no INPUT; --from takes its address");
    if (rc == DX_OK && o->input_count == 0 && !has_queue(options))
        rc = dx_fail(err, DX_E_INVALID, "no INPUT; - is standard input");
    return rc;
}

static void print_count(const char *label, uint64_t n)
{
    char text[32];

    fprintf(stderr, "  %-22s %14s\n", label, dx_progress_count(n, text));
}

static void store_summary(const char *dir, const struct dx_file_store_counts *n)
{
    fprintf(stderr, "file store: %s\n", dir);
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
    fprintf(stderr, "suppressions: of the tombstone\n");
    print_count("rules added", t->added);
    print_count("there already", t->kept);
    print_count("lifted", t->lifted);
    print_count("pages there again", t->live_too);
    print_count("no URLs", t->unusable);
}

static void summary(const struct dx_ingest_options *o, const struct dx_ingest_stats *s)
{
    struct rusage usage;
    char a[32];
    char b[32];
    double seconds = s->total_seconds > 0 ? s->total_seconds : 0.001;

    fprintf(stderr, "ingest: %s\n", o->root);
    print_count("records read", s->records);
    print_count("rows stored", s->stored);
    print_count("duplicates", s->accepted - s->stored);
    print_count("rejected", s->rejected_total);
    for (int why = 1; why < DX_ROW_REJECT_COUNT; why++)
        if (s->rejected[why] > 0) {
            char label[64];

            (void)snprintf(label, sizeof label, "  %s", dx_row_reject_name(why));
            print_count(label, s->rejected[why]);
        }
    if (s->rejects_path != NULL)
        fprintf(stderr, "  %-22s %s\n", "rejects are in", s->rejects_path);
    if (s->rejected[DX_ROW_TS_INVALID] > 0 && o->want.ts == NULL)
        fprintf(stderr, "  the time column was found by its name; --ts-column names another, "
                        "--no-ts leaves it out\n");
    if (s->repaired > 0)
        print_count("texts not UTF-8, mended", s->repaired);
    if (s->canonical_refused > 0)
        print_count("canonical URLs refused", s->canonical_refused);
    print_count(o->replace ? "datasets replaced" : "datasets in this run", s->datasets);
    print_count("  new", s->datasets_new);
    print_count("datasets in the lake", s->datasets_total);
    print_count("files added", s->files);
    fprintf(stderr, "  %-22s %14s  (%.1f B/row)\n", "bytes added",
            dx_progress_size(s->file_bytes, a),
            s->stored > 0 ? (double)s->file_bytes / (double)s->stored : 0.0);
    if (s->spilled_bytes > 0)
        fprintf(stderr, "  %-22s %14s  (%llu runs)\n", "sorted on disk",
                dx_progress_size(s->spilled_bytes, a), (unsigned long long)s->runs);
    fprintf(stderr, "  %-22s %13.1fs  (%s records/s)\n", "time", s->total_seconds,
            dx_progress_count((uint64_t)((double)s->records / seconds), b));
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        fprintf(stderr, "  %-22s %14s\n", "peak memory",
                dx_progress_size((uint64_t)usage.ru_maxrss * 1024, a));
}

/* One run with these options, and what became of it in words. store: NULL, or where its input is. */
static int ingest(const struct dx_options *options, struct dx_ingest_options *o,
                  struct dx_file_store_options *store, struct dx_error *err)
{
    bool with_rules = dx_options_has(options, OPT_SUPPRESS_TOMBSTONES);
    struct dx_tombstone_rules rules = { .root = NULL };
    struct dx_file_store_counts counts;
    struct dx_ingest_stats stats;
    const char **meta = calloc(o->meta_count + 1, sizeof *meta);
    int rc;

    if (meta == NULL)
        return dx_fail(err, DX_E_NOMEM, "out of memory");
    for (size_t i = 0; i < o->meta_count; i++)
        meta[i] = dx_options_nth(options, OPT_DATASET_META, i);
    o->meta = meta;
    dx_progress_init(&progress, STDERR_FILENO);
    o->progress = &progress;
    o->stopped = dx_interrupted;
    o->say = say;
    rc = store != NULL
             ? dx_ingest_file_store(o, store, &counts, &stats, with_rules ? &rules : NULL, err)
             : dx_ingest_run(o, &stats, err);
    dx_progress_end(&progress);
    if (rc == DX_OK) {
        if (store != NULL)
            store_summary(store->dir, &counts);
        summary(o, &stats);
        if (with_rules)
            rules_summary(&rules);
    } else if (stats.rejects_path != NULL) {
        fprintf(stderr, "records rejected before it failed: %s\n", stats.rejects_path);
    }
    free(stats.rejects_path);
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
    return ingest(options, &o, NULL, err);
}

static int read_receive(const struct dx_options *options, const struct dx_ingest_options *o,
                        struct dx_receive_options *r, struct dx_amqp_url *url, char spool[PATH_MAX],
                        struct dx_error *err)
{
    uint64_t wait_s = 0;
    int rc = dx_amqp_url_parse(url, dx_options_text(options, OPT_FROM), err);

    if (rc == DX_OK)
        rc = dx_options_number(options, OPT_TRANSFERS, 0, UINT64_MAX, &r->transfers, err);
    if (rc == DX_OK)
        rc = dx_options_number(options, OPT_WAIT, 0, 1000000000, &wait_s, err);
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
    if (r->spool == NULL && strstr(o->root, "://") != NULL)
        return dx_fail(err, DX_E_INVALID,
                       "--spool DIR is missing: segments are kept on a local disk until their rows "
                       "are in the lake");
    if (r->spool == NULL) {
        (void)snprintf(spool, PATH_MAX, "%s/spool", o->root);
        r->spool = spool;
    }
    r->url = url;
    r->dataset = o->dataset;
    r->needs_dataset = o->want.dataset == NULL;
    r->wait_ms = wait_s * 1000;
    return DX_OK;
}

static int receive(const struct dx_options *options, const struct dx_ingest_options *o,
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
    int rc = read_receive(options, o, &r, &url, spool, err);

    if (rc < 0) {
        dx_amqp_url_release(&url);
        return usage(err);
    }
    dx_interrupt_catch();
    rc = dx_receive_run(&r, &stats, err);
    dx_amqp_url_release(&url);
    fprintf(stderr,
            "received: %llu transfers, %llu segments of %s; %llu messages over %llu connections, "
            "%llu came twice, %llu were put back, %llu were no segments\n",
            (unsigned long long)stats.transfers, (unsigned long long)stats.segments,
            dx_progress_size(stats.bytes, size), (unsigned long long)stats.messages,
            (unsigned long long)stats.connections, (unsigned long long)stats.again,
            (unsigned long long)stats.requeued, (unsigned long long)stats.bad);
    if (rc < 0)
        fprintf(stderr, "domaindex ingest: %s\n", err->text);
    return rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

static int run(const struct dx_options *options)
{
    struct dx_ingest_options o = { .root = NULL };
    struct dx_file_store_options store = { .dir = NULL };
    struct dx_error err = DX_ERROR_INIT;
    int rc = read_options(options, &o, &err);

    if (rc == DX_OK)
        rc = read_store(options, &store, &err);
    if (rc < 0)
        return usage(&err);
    if (has_queue(options)) {
        rc = receive(options, &o, &err);
        dx_columns_want_release(&o.want);
        return rc;
    }
    dx_interrupt_catch();
    rc = ingest(options, &o, store.dir != NULL ? &store : NULL, &err);
    if (rc < 0)
        fprintf(stderr, "domaindex ingest: %s\n", err.text);
    return rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

const struct dx_command dx_command_ingest = {
    .name = "ingest",
    .synopsis = "--root ROOT (--dataset NAME | --dataset-column C) [options] INPUT... | --from "
                "SOURCE",
    .summary = "add raw records to the lake",
    .description =
        "Reads URLs with optional time, dataset and further columns, brings each URL into its "
        "canonical form and stores every distinct (URL, time, extras) of a dataset once, as "
        "sorted Parquet files below ROOT/urls. Run 'domaindex publish' afterwards to make them "
        "answerable.\n\n"
        "INPUT is a file, - for standard input, or an object as https://host/path/file.tsv.gz or "
        "s3://bucket/path/file.tsv.gz, which is read by ranges and must not change meanwhile; "
        "plain, gzip and zstd are told apart by content. "
        "C is a number from 1 or a name: of the header line in TSV and CSV, a dotted path in "
        "JSONL, with quotes around parts that hold dots (metadata.\"WARC-Target-URI\"). TSV has no "
        "quoting; CSV is RFC 4180; a JSONL or text line may be 16 MiB long.\n\n"
        "Times are Unix seconds, milliseconds or microseconds, ISO 8601 or yyyymmddhhmmss; an "
        "empty one is no time. Records that cannot be taken are counted by reason and written to "
        "a TSV file: input, line number, reason, raw record. They never end the run. Damaged or "
        "cut input does, and then nothing is added.\n\n"
        "Ingesting what the lake has already adds nothing, so an interrupted or repeated run is "
        "simply run again. The stored bytes do not depend on the order of records, on --threads "
        "or on --memory.\n\n"
        "With --replace each dataset that has rows in this run gets these and loses those it had, "
        "with the next publish; until then, and if the run dies, the old rows stay, and the same "
        "run again begins anew. A plain run into a dataset whose replacement is unfinished is "
        "refused, and so is replacing one that has files which were not published yet.\n\n"
        "With --from amqp://host:port/vhost?queue=NAME the records come over a broker (AMQP 0-9-1, "
        "RabbitMQ) as segments, as 'domaindex ship' sends them: u32 number, u32 how many there "
        "are, little-endian, and a part of what --format reads; a JSON array of objects too. A "
        "segment is synced to the spool before it is acknowledged, the last one of a transfer "
        "when its rows are in the lake: whoever is killed or cut off, nothing is lost and nothing "
        "is there twice. One that is not the expected one is put back, with a pause that grows. A "
        "message tells its transfer (message-id), its dataset and the sum of all bytes (headers "
        "`dataset`, `sha256`); for those that do not, --dataset NAME names it, and the queue is "
        "one transfer after the other, so that nothing can tell a late copy from a segment of the "
        "next one. A message that is no segment ends the run and stays in the queue, or is moved "
        "to "
        "--bad-to; a transfer whose bytes are not what the sender has summed ends it, too. One run "
        "consumes a queue. "
        "User and password: DOMAINDEX_AMQP_USER and DOMAINDEX_AMQP_PASSWORD, or in the address, "
        "where others on the machine can see them; DOMAINDEX_AMQP_CA: certificates to trust with "
        "amqps://.\n\n"
        "With an s3:// root everything is sorted and written in the work directory, which needs "
        "room for that and for the largest file the lake has of the datasets of the run; finished "
        "files are then put into the store, and nothing there is ever replaced but "
        "urls/registry.json and urls/_writers, each on the condition that nobody else has changed "
        "it. A run that dies leaves whole files, new names in the registry at most, and its "
        "entry in urls/_writers; the same run again adds what is missing. The first run into a "
        "root tries whether the store keeps such conditions, refuses one that does not, and notes "
        "it "
        "in index/store.json. "
        "Address, region and credentials come from AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_PROFILE, "
        "AWS_ACCESS_KEY_ID and so on. http:// and https:// roots can only be read.\n\n"
        "Several runs may add to one s3:// root at once, from any machines. Those with datasets "
        "in common take turns, from looking at what is stored to the last file: a run enters its "
        "datasets into urls/_writers and waits while another one is there. Who is entered says "
        "every 15 seconds that it lives; after 60 seconds of silence, or at once if it ran "
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
        "With --from file-store INPUT is a directory with the files index, index.tomb, tags and "
        "the folder store. Each page of it becomes a row with the extras content_type, title and "
        "tags (a JSON array). What is in a storage file can be named as payload.NAME for "
        "--extra-column and --ts-column. Lines that are none, hashes that are not their key's, "
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
    .run = run,
};
