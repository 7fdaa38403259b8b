/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/cli/publish_command.h"
#include "builder/cli/publish_report.h"
#include "builder/maintain/compact.h"
#include "builder/root/interrupt.h"
#include "builder/root/progress.h"

#define GROUPS_SHOWN 50

#define JSON_MAX ((size_t)1 << 20)

enum {
    OPT_ROOT,
    OPT_MEMORY,
    OPT_THREADS,
    OPT_WORK_DIR,
    OPT_CACHE_DIR,
    OPT_DRY_RUN,
    OPT_WAIT,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

#define AT(member) DX_OPT_PLACE(struct dx_compact_options, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = DX_PUBLISH_OPTION_ROOT(AT(publish.root)),
    [OPT_MEMORY] = DX_PUBLISH_OPTION_MEMORY(AT(publish.memory)),
    [OPT_THREADS] = DX_PUBLISH_OPTION_THREADS(AT(publish.threads)),
    [OPT_WORK_DIR] = DX_PUBLISH_OPTION_WORK_DIR(AT(publish.work_dir)),
    [OPT_CACHE_DIR] = DX_PUBLISH_OPTION_CACHE_DIR(AT(publish.cache_dir)),
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL, "say what would be merged, and change nothing",
                      DX_OPT_FLAG, AT(dry_run) },
    [OPT_WAIT] = DX_OPTION_WAIT(AT(publish.lock_wait_ms)),
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = DX_OPTION_JSON,
};

static int print_json(const struct dx_compact_options *o, const struct dx_compact_result *r,
                      int code)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, o->dry_run);
    dx_json_key_u64(&j, "files_taken", r->files_taken);
    dx_json_key_u64(&j, "bytes_taken", r->bytes_taken);
    dx_json_key_u64(&j, "files_made", r->files_made);
    dx_json_key_u64(&j, "bytes_made", r->bytes_made);
    dx_json_key_u64(&j, "rows_suppressed", r->rows_left_out);
    dx_json_key_u64(&j, "rows_equal", r->rows_equal);
    dx_json_key_u64(&j, "groups_left", r->left.groups);
    dx_publish_report_json_left_out(&r->left_out, &j);
    dx_publish_report_json_damaged(&r->publish.damaged, &j);
    if (!o->dry_run) {
        dx_json_key(&j, "publish");
        dx_json_object(&j);
        dx_publish_report_json(&r->publish, &j);
        dx_json_end(&j);
    }
    return dx_command_json_print("compact", code, &j, &out);
}

static void print_groups(const struct dx_compact_plan *plan, const char *what)
{
    for (size_t i = 0; i < plan->count && i < GROUPS_SHOWN; i++) {
        const struct dx_compact_group *g = &plan->group[i];
        char rows[32];

        if (g->files == 0)
            continue;
        (void)dx_line_print(
            stderr, "  dataset_id %u: %zu file%s, %s row%s, %s by %u range%s of prefixes",
            g->dataset_id, g->files, dx_plural(g->files), dx_progress_count(g->rows, rows),
            dx_plural(g->rows), what, g->ranges, dx_plural(g->ranges));
    }
    if (plan->count > GROUPS_SHOWN)
        (void)dx_line_print(stderr, "  and %zu more", plan->count - GROUPS_SHOWN);
}

static void dry_summary(const struct dx_compact_result *r)
{
    char size[32];

    (void)dx_line_print(stderr, "compact: would merge %llu file%s of %s",
                        (unsigned long long)r->files_taken, dx_plural(r->files_taken),
                        dx_progress_size(r->bytes_taken, size));
    print_groups(&r->plan, "to be written");
    if (r->files_new > 0)
        (void)dx_line_print(
            stderr,
            "would be published first, and looked at then, as no version has them yet: %llu file%s",
            (unsigned long long)r->files_new, dx_plural(r->files_new));
    if (r->rules_last > 0)
        (void)dx_line_print(
            stderr,
            "files with rows that suppressions hit are found when it runs; the log's "
            "last number is %llu",
            (unsigned long long)r->rules_last);
}

static void print_summary(const struct dx_compact_result *r)
{
    char a[32];
    char b[32];

    if (r->published[0] != '\0')
        (void)dx_line_print(stderr, "compact: version %s has the files that no version had yet",
                            r->published);
    (void)dx_line_print(stderr, "compact: %llu file%s of %s became %llu of %s",
                        (unsigned long long)r->files_taken, dx_plural(r->files_taken),
                        dx_progress_size(r->bytes_taken, a), (unsigned long long)r->files_made,
                        dx_progress_size(r->bytes_made, b));
    print_groups(&r->plan, "written");
    if (r->rows_left_out > 0)
        (void)dx_line_print(stderr, "%s row%s left out that suppressions hit",
                            dx_progress_count(r->rows_left_out, a), dx_plural(r->rows_left_out));
    if (r->rows_equal > 0)
        (void)dx_line_print(stderr, "%s row%s left out that stood there twice",
                            dx_progress_count(r->rows_equal, a), dx_plural(r->rows_equal));
    if (r->left.groups > 0)
        (void)dx_line_print(stderr,
                            "groups of files that stay as they are: %zu, the first because of %s",
                            r->left.groups, r->left.why);
    if (r->publish.unchanged)
        (void)dx_line_print(stderr, "compact: nothing to do; version %s stays", r->publish.version);
}

static int parse(const struct dx_options *options, struct dx_compact_options *o,
                 struct dx_error *err)
{
    int rc = dx_options_store(options, o, err);

    o->stopped = dx_interrupted;
    return rc == DX_OK ? dx_publish_command_take(options, &o->publish, err) : rc;
}

static int run_compact(const struct dx_options *options)
{
    /* Merging is a part of the second phase: both count rows. */
    struct dx_publish_screen screen = { .scanning = "merging, scanning" };
    struct dx_compact_options o = { .publish = { .progress = &screen.counters } };
    struct dx_compact_result result;
    struct dx_error err = DX_ERROR_INIT;
    int rc = parse(options, &o, &err);
    bool complete;
    int status;

    if (rc != DX_OK)
        return dx_command_fail("compact", DX_EXIT_USAGE, &err);
    dx_interrupt_catch();
    dx_publish_screen_open(&screen);
    rc = dx_compact(&o, &result, &err);
    dx_publish_screen_close(&screen);
    if (rc != DX_OK)
        return dx_command_fail("compact", DX_EXIT_REFUSED, &err);
    dx_publish_report_left_out("compact", &result.left_out);
    dx_publish_report_damaged("compact", &result.publish.damaged);
    if (result.new_wait)
        (void)dx_line_print(
            stderr,
            "compact: %llu new file%s not published and not merged, as publish refuses while files "
            "are missing",
            (unsigned long long)result.files_new, dx_plural(result.files_new));
    dx_publish_report_rows_twice("compact", &result.publish);
    complete = result.left_out.count == 0 && result.publish.damaged.count == 0 &&
               result.publish.rows_twice == 0;
    status = complete ? DX_EXIT_DONE : DX_EXIT_REFUSED;
    if (dx_options_has(options, OPT_JSON))
        status = print_json(&o, &result, status);
    else if (o.dry_run)
        dry_summary(&result);
    else {
        if (!dx_options_has(options, OPT_QUIET))
            print_summary(&result);
        status = dx_publish_command_end("compact", result.publish.version, complete);
    }
    dx_compact_result_release(&result);
    return status;
}

const struct dx_command dx_command_compact = {
    .name = "compact",
    .synopsis = "--root ROOT [--memory SIZE] [--threads N] [--work-dir DIR] [--dry-run] [--json]",
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
        "no publish takes and gc removes; run it again. It does not wait for ingests, on s3:// "
        "either; if another publisher is faster, it ends with a conflict.\n\n"
        "If there is nothing to merge and the current version is a full one, nothing is "
        "written.\n\n"
        "A lake file that is damaged or missing stops the compaction of its dataset alone: that "
        "dataset stays as it "
        "is, with its suppressed rows, the others are compacted, the file is named, and the exit "
        "code is 1. The "
        "version is then merged with the current one. If no dataset is sound, or the store cannot "
        "be read, the "
        "command fails and changes nothing.",
    .example = "domaindex compact --root /srv/domaindex --memory 4G",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_compact,
};
