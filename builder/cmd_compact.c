/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "builder/command.h"
#include "builder/compact.h"
#include "builder/interrupt.h"
#include "builder/progress.h"
#include "builder/publish_command.h"
#include "builder/ticker.h"

#define TICK_MS 100
#define GROUPS_SHOWN 50

enum { OPT_ROOT, OPT_MEMORY, OPT_THREADS, OPT_WORK_DIR, OPT_DRY_RUN, OPT_QUIET, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = DX_PUBLISH_OPTION_ROOT,
    [OPT_MEMORY] = DX_PUBLISH_OPTION_MEMORY,
    [OPT_THREADS] = DX_PUBLISH_OPTION_THREADS,
    [OPT_WORK_DIR] = DX_PUBLISH_OPTION_WORK_DIR,
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL, "say what would be merged, and change nothing" },
    [OPT_QUIET] = { "quiet", NULL, NULL, "no summary" },
};

struct screen {
    struct dx_publish_progress counters;
    struct dx_progress progress;
    int phase; /* that is shown */
};

static void say(const char *text)
{
    (void)fprintf(stderr, "domaindex compact: %s\n", text);
}

/* Merging is a part of the first phase: both count rows. */
static uint64_t show(void *ctx)
{
    static const char *const names[DX_PUBLISH_PHASES] = { "listing", "merging, scanning",
                                                          "indexing", "uploading", "checking" };
    static const char *const units[DX_PUBLISH_PHASES] = { "rows", "rows", "rows", "files",
                                                          "files" };
    struct screen *s = ctx;
    int phase = atomic_load(&s->counters.phase);

    if (phase != s->phase)
        dx_progress_phase(&s->progress, names[phase], units[phase], 0);
    s->phase = phase;
    dx_progress_at(&s->progress, atomic_load(&s->counters.bytes), atomic_load(&s->counters.items));
    return TICK_MS;
}

static void print_groups(const struct dx_compact_plan *plan, const char *what)
{
    for (size_t i = 0; i < plan->count && i < GROUPS_SHOWN; i++) {
        const struct dx_compact_group *g = &plan->group[i];
        char rows[32];

        (void)fprintf(stderr, "  dataset_id %u: %zu files, %s rows, %s by %u %s of prefixes\n",
                      g->dataset_id, g->files, dx_progress_count(g->rows, rows), what, g->ranges,
                      g->ranges == 1 ? "range" : "ranges");
    }
    if (plan->count > GROUPS_SHOWN)
        (void)fprintf(stderr, "  and %zu more\n", plan->count - GROUPS_SHOWN);
}

static void dry_summary(const struct dx_compact_result *r)
{
    char size[32];

    (void)fprintf(stderr, "compact: would merge %llu files of %s\n",
                  (unsigned long long)r->files_taken, dx_progress_size(r->bytes_taken, size));
    print_groups(&r->plan, "to be written");
    if (r->files_new > 0)
        (void)fprintf(stderr,
                      "%llu files that no version has yet would be published first, and be looked "
                      "at then\n",
                      (unsigned long long)r->files_new);
    if (r->rules_last > 0)
        (void)fprintf(stderr,
                      "files with rows that suppressions hit are found when it runs; the log's "
                      "last number is %llu\n",
                      (unsigned long long)r->rules_last);
}

static void summary(const struct dx_compact_result *r)
{
    char a[32];
    char b[32];

    if (r->published[0] != '\0')
        (void)fprintf(stderr, "compact: version %s has the files that no version had yet\n",
                      r->published);
    (void)fprintf(stderr, "compact: %llu files of %s became %llu of %s\n",
                  (unsigned long long)r->files_taken, dx_progress_size(r->bytes_taken, a),
                  (unsigned long long)r->files_made, dx_progress_size(r->bytes_made, b));
    print_groups(&r->plan, "written");
    if (r->rows_left_out > 0)
        (void)fprintf(stderr, "%s rows left out that suppressions hit\n",
                      dx_progress_count(r->rows_left_out, a));
    if (r->rows_equal > 0)
        (void)fprintf(stderr, "%s rows left out that stood there twice\n",
                      dx_progress_count(r->rows_equal, a));
    if (r->left.groups > 0)
        (void)fprintf(stderr, "%zu groups of files stay as they are, the first because of %s\n",
                      r->left.groups, r->left.why);
    if (r->publish.unchanged)
        (void)fprintf(stderr, "compact: nothing to do; version %s stays\n", r->publish.version);
}

static int parse(const struct dx_options *options, struct dx_compact_options *o,
                 struct dx_error *err)
{
    static const struct dx_publish_option_ids ids = { OPT_ROOT, OPT_MEMORY, OPT_THREADS,
                                                      OPT_WORK_DIR };

    o->dry_run = dx_options_has(options, OPT_DRY_RUN);
    o->stopped = dx_interrupted;
    o->say = say;
    return dx_publish_command_take(options, &ids, &o->publish, err);
}

static int compact(const struct dx_compact_options *o, struct screen *s,
                   struct dx_compact_result *result, struct dx_error *err)
{
    struct dx_ticker ticker = DX_TICKER_INIT;
    int rc;

    dx_interrupt_catch();
    dx_progress_init(&s->progress, STDERR_FILENO);
    (void)dx_ticker_start(&ticker, 1, show, s, NULL); /* a courtesy */
    rc = dx_compact(o, result, err);
    dx_ticker_stop(&ticker);
    dx_progress_end(&s->progress);
    return rc;
}

static int run(const struct dx_options *options)
{
    struct screen screen = { .phase = -1 };
    struct dx_compact_options o = { .publish = { .progress = &screen.counters } };
    struct dx_compact_result result;
    struct dx_error err = DX_ERROR_INIT;
    int rc = parse(options, &o, &err);

    if (rc != DX_OK) {
        (void)fprintf(stderr, "domaindex compact: %s\n", err.text);
        return DX_EXIT_USAGE;
    }
    rc = compact(&o, &screen, &result, &err);
    if (rc != DX_OK) {
        (void)fprintf(stderr, "domaindex compact: %s\n", err.text);
        return DX_EXIT_REFUSED;
    }
    if (o.dry_run)
        dry_summary(&result);
    else if (!dx_options_has(options, OPT_QUIET))
        summary(&result);
    if (!o.dry_run && (printf("%s\n", result.publish.version) < 0 || fflush(stdout) != 0)) {
        (void)fprintf(stderr,
                      "domaindex compact: version %s is published, but standard output failed\n",
                      result.publish.version);
        rc = -1;
    }
    dx_compact_result_release(&result);
    return rc == DX_OK ? DX_EXIT_DONE : DX_EXIT_REFUSED;
}

const struct dx_command dx_command_compact = {
    .name = "compact",
    .synopsis = "--root ROOT [--memory SIZE] [--threads N] [--work-dir DIR] [--dry-run]",
    .summary = "merge small lake files and take suppressed rows out, as a new version",
    .description =
        "Many small ingests leave many small files, and a domain's rows in several of them. This "
        "merges the files of a dataset that share ranges of prefixes into full-sized sorted ones, "
        "where there are more of them than full-sized ones would be, and publishes the result as "
        "a full version: the index is what a publish of a new lake with just these files gives. "
        "Answers are the same; the order of rows within a listing may be another one. Prints the "
        "name of the current version, alone on a line.\n\n"
        "Rows that suppressions hit (domaindex suppress) are left out, in the files of other "
        "writers too, whose rows then stand in files of ours. Of rows that are equal but for the "
        "URL as it was given one stays.\n\n"
        "Files that no version has yet are published first. The old files stay for the older "
        "versions, and go with them (domaindex gc): until then the lake takes the room of both. "
        "The merged rows are sorted on disk meanwhile. A compaction that dies leaves files that "
        "no publish takes and gc removes; run it again. On s3:// it waits, for a moment, for those "
        "who add to the datasets that it has merged.\n\n"
        "If there is nothing to merge and the current version is a full one, nothing is written.",
    .example = "domaindex compact --root /srv/domaindex --memory 4G",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run,
};
