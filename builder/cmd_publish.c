/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "builder/command.h"
#include "builder/progress.h"
#include "builder/publish.h"
#include "builder/publish_command.h"
#include "builder/publish_report.h"
#include "builder/ticker.h"

#define TICK_MS 100

enum {
    OPT_ROOT,
    OPT_MEMORY,
    OPT_THREADS,
    OPT_WORK_DIR,
    OPT_PSL,
    OPT_FULL,
    OPT_FORCE,
    OPT_QUIET,
    OPT_COUNT
};

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = DX_PUBLISH_OPTION_ROOT,
    [OPT_MEMORY] = DX_PUBLISH_OPTION_MEMORY,
    [OPT_THREADS] = DX_PUBLISH_OPTION_THREADS,
    [OPT_WORK_DIR] = DX_PUBLISH_OPTION_WORK_DIR,
    [OPT_PSL] = { "psl", "FILE", NULL,
                  "Public Suffix List for the version, if the lake has none of its own" },
    [OPT_FULL] = { "full", NULL, NULL,
                   "read the whole lake, also where the current version could be merged with" },
    [OPT_FORCE] = { "force", NULL, NULL, "publish also when the lake has not changed" },
    [OPT_QUIET] = { "quiet", NULL, NULL, "no summary" },
};

/* The progress line, from the counters of a running publish. */
struct screen {
    struct dx_publish_progress counters;
    struct dx_progress progress;
    int phase; /* that is shown */
};

static uint64_t show(void *ctx)
{
    static const char *const names[DX_PUBLISH_PHASES] = { "listing", "scanning", "indexing",
                                                          "uploading", "checking" };
    static const char *const units[DX_PUBLISH_PHASES] = { "rows", "rows", "rows", "files",
                                                          "files" };
    struct screen *s = ctx;
    int phase = atomic_load(&s->counters.phase);

    if (phase != s->phase)
        dx_progress_phase(&s->progress, names[phase], units[phase],
                          atomic_load(&s->counters.bytes_total));
    s->phase = phase;
    dx_progress_at(&s->progress, atomic_load(&s->counters.bytes), atomic_load(&s->counters.items));
    return TICK_MS;
}

static int publish(const struct dx_publish_options *o, struct screen *s,
                   struct dx_publish_result *result, struct dx_error *err)
{
    struct dx_ticker ticker = DX_TICKER_INIT;
    int rc;

    dx_progress_init(&s->progress, STDERR_FILENO);
    (void)dx_ticker_start(&ticker, 1, show, s, NULL); /* a courtesy */
    rc = dx_publish(o, result, err);
    dx_ticker_stop(&ticker);
    dx_progress_end(&s->progress);
    return rc;
}

/* Which kind of version it is, and what was read for it. */
static void kind(const struct dx_publish_result *r, struct dx_buf *out)
{
    char files[32];
    char rows[32];

    if (r->incremental)
        dx_buf_fmt(out, "merged with version %s", dx_manifest_find(&r->manifest, r->version)->base);
    else
        dx_buf_fmt(out, "from the whole lake: %s", r->why);
    dx_buf_fmt(out, "; read: files %s, rows %s", dx_progress_count(r->files_scanned, files),
               dx_progress_count(r->rows_scanned, rows));
    if (r->incremental)
        dx_buf_fmt(out, "; shards written %llu, shared %llu",
                   (unsigned long long)r->index.shards_rewritten,
                   (unsigned long long)r->index.shards_shared);
    dx_buf_u8(out, '\n');
}

/* Of each phase, and of each phase of the index. */
static void report_seconds(const char *what, const double *phases, const double *index,
                           struct dx_buf *out)
{
    static const char *const names[DX_PUBLISH_PHASES] = { "list", "scan", "index", "upload",
                                                          "check" };

    dx_buf_fmt(out, "%s:", what);
    for (int i = 0; i < DX_PUBLISH_PHASES; i++)
        dx_buf_fmt(out, " %s %.2f", names[i], phases[i]);
    dx_buf_str(out, " (index:");
    for (int i = 0; i < DX_INDEX_PHASES; i++)
        dx_buf_fmt(out, " %s %.2f", dx_index_phase_name((enum dx_index_phase)i), index[i]);
    dx_buf_str(out, ")\n");
}

static void summary(const struct dx_publish_result *r)
{
    const struct dx_manifest_version *entry = dx_manifest_find(&r->manifest, r->version);
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    struct rusage usage;
    char size[32];

    kind(r, &text);
    if (entry != NULL) {
        dx_publish_report(entry, r->lake_bytes, &text);
        dx_publish_report_held(entry, &r->index, &text);
    }
    report_seconds("seconds", r->seconds, r->index.seconds, &text);
    report_seconds("CPU seconds", r->cpu_s, r->index.cpu_s, &text);
    (void)getrusage(RUSAGE_SELF, &usage);
    dx_buf_fmt(&text, "peak memory %s", dx_progress_size((uint64_t)usage.ru_maxrss * 1024, size));
    dx_buf_fmt(&text, ", sorted on disk %s", dx_progress_size(r->index.spilled_bytes, size));
    dx_buf_fmt(&text, ", domain_id collisions %llu\n", (unsigned long long)r->index.collisions);
    if (!text.failed)
        (void)fwrite(text.data, 1, text.size, stderr);
    dx_buf_release(&text);
}

static void notes(const struct dx_publish_options *o, const struct dx_publish_result *r, bool quiet)
{
    if (!r->psl_own)
        (void)fprintf(stderr, "publish: %s/urls has no psl.dat of its own; taken: %s\n", o->root,
                      r->psl_path);
    if (r->skipped_columns > 0)
        (void)fprintf(stderr,
                      "publish: %llu columns are no plain strings and cannot be shown, the first: "
                      "%s\n",
                      (unsigned long long)r->skipped_columns, r->skipped);
    if (r->index.tags.rows_unread > 0)
        (void)fprintf(stderr,
                      "publish: in %llu rows the column tags is no JSON array of strings: they are "
                      "kept, and no tag leads to them\n",
                      (unsigned long long)r->index.tags.rows_unread);
    if (r->index.tags.tags_unfit > 0)
        (void)fprintf(stderr,
                      "publish: %llu tags are empty, longer than %d bytes or have control "
                      "characters: their rows are kept, and those tags do not lead to them\n",
                      (unsigned long long)r->index.tags.tags_unfit, DX_TAG_MAX);
    if (r->files_gone > 0)
        (void)fprintf(stderr,
                      "publish: %llu files that the version before has are no longer in %s/urls; "
                      "the new one is without them (if that was not meant: put them back, then "
                      "rollback to the version before, and publish)\n",
                      (unsigned long long)r->files_gone, o->root);
    if (r->leftovers > 0)
        (void)fprintf(
            stderr,
            "publish: %s/index has %llu versions that the manifest does not name and "
            "that are over a day old, left by publishers that died (domaindex gc removes them); "
            "the first: %s\n",
            o->root, (unsigned long long)r->leftovers, r->leftover);
    if (r->other_etags > 0)
        (void)fprintf(stderr,
                      "publish: the lake is as it was, but %llu objects have other ETags than they "
                      "had when it was published (restored or copied?), and servers refuse their "
                      "reads; so it is published anew. One of them: %s\n",
                      (unsigned long long)r->other_etags, r->other_etag);
    if (r->unchanged)
        (void)fprintf(stderr,
                      "publish: the lake is as it was for version %s; nothing new to publish "
                      "(--force does it anyway)\n",
                      r->version);
    else if (!quiet)
        summary(r);
}

static int parse(const struct dx_options *options, struct dx_publish_options *o,
                 struct dx_error *err)
{
    static const struct dx_publish_option_ids ids = { OPT_ROOT, OPT_MEMORY, OPT_THREADS,
                                                      OPT_WORK_DIR };

    o->psl_path = dx_options_text(options, OPT_PSL);
    o->full = dx_options_has(options, OPT_FULL);
    o->force = dx_options_has(options, OPT_FORCE);
    return dx_publish_command_take(options, &ids, o, err);
}

static int run(const struct dx_options *options)
{
    struct screen screen = { .phase = -1 };
    struct dx_publish_options o = { .progress = &screen.counters };
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;
    int rc = parse(options, &o, &err);

    if (rc != DX_OK) {
        (void)fprintf(stderr, "domaindex publish: %s\n", err.text);
        return DX_EXIT_USAGE;
    }
    rc = publish(&o, &screen, &result, &err);
    if (rc != DX_OK) {
        (void)fprintf(stderr, "domaindex publish: %s\n", err.text);
        return DX_EXIT_REFUSED;
    }
    notes(&o, &result, dx_options_has(options, OPT_QUIET));
    if (printf("%s\n", result.version) < 0 || fflush(stdout) != 0) {
        (void)fprintf(stderr,
                      "domaindex publish: version %s is published, but standard output "
                      "failed\n",
                      result.version);
        rc = -1;
    }
    dx_publish_result_release(&result);
    return rc == DX_OK ? DX_EXIT_DONE : DX_EXIT_REFUSED;
}

const struct dx_command dx_command_publish = {
    .name = "publish",
    .synopsis = "--root ROOT [--memory SIZE] [--threads N] [--psl FILE] [--full] [--force]",
    .summary = "index what is in the lake and make it the current version",
    .description =
        "Makes a new index version of the lake's files, checks it and replaces the manifest. "
        "Prints the name of the current version, alone on a line. The version has the files that "
        "the current one has, and those that no version ever had; what a removal, a compaction or "
        "a rollback took out stays out, though its bytes are there.\n"
        "Only new files are read, and the current version is merged with them: shards of the "
        "index that do not change are shared with it. The whole lake is read for the first "
        "version, with --full, with another suffix list, and where the current version cannot be "
        "merged with; the summary says which it was, and why. If "
        "the lake is as it was for the current version, nothing is written; on s3:// it must also "
        "have "
        "the ETags that it had then: an object that was restored or copied has another one, "
        "servers "
        "refuse it, and a new version is published.\n"
        "The old version stays current at every moment until the new one is complete on disk; a "
        "publish that is killed leaves nothing but a folder that the next one removes. One publish "
        "or ingest at a time works in a root.\n"
        "On s3:// the files of the lake are fetched one after another into a work folder, the "
        "version is made there, uploaded, read back from the store and checked; then the manifest "
        "is put on the condition that nobody has changed it meanwhile. Of two publishers one wins; "
        "the other is told, takes its objects away and exits with 1. A store that does not keep "
        "such conditions is refused. The work folder needs room for the index twice and for the "
        "largest files of the lake that must be read together: those of one dataset with the same "
        "range of prefixes. Endpoint, region and credentials come from AWS_ENDPOINT_URL_S3, "
        "AWS_REGION, AWS_ACCESS_KEY_ID and the like.\n"
        "If a lake file has the column `tags` (a JSON array of strings, as ingest makes of a file "
        "store), the version has tags.dxt: which rows and domains have which tag.\n"
        "SOURCE_DATE_EPOCH in the environment is taken as the time in the version's name.",
    .example = "domaindex publish --root /srv/domaindex --memory 4G",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run,
};
