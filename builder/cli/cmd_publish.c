/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/command/process.h"
#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/cli/iceberg_tables.h"
#include "builder/cli/publish_command.h"
#include "builder/cli/publish_report.h"
#include "builder/publish/publish.h"
#include "builder/publish/publish_merge.h"
#include "builder/publish/publish_plan.h"
#include "builder/root/interrupt.h"
#include "builder/root/progress.h"
#include "builder/scan/parts_policy.h"

#define JSON_MAX ((size_t)1 << 20)

enum {
    OPT_ROOT,
    OPT_MEMORY,
    OPT_THREADS,
    OPT_WORK_DIR,
    OPT_CACHE_DIR,
    OPT_PSL,
    OPT_PARTS,
    OPT_MERGE_MAX,
    OPT_NO_MERGE,
    OPT_PACK,
    OPT_FULL,
    OPT_FORCE,
    OPT_DRY_RUN,
    OPT_WAIT,
    OPT_ALLOW_MISSING,
    OPT_FOREIGN_ROWS,
    OPT_ICEBERG,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

#define AT(member) DX_OPT_PLACE(struct dx_publish_options, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = DX_PUBLISH_OPTION_ROOT(AT(root)),
    [OPT_MEMORY] = DX_PUBLISH_OPTION_MEMORY(AT(memory)),
    [OPT_THREADS] = DX_PUBLISH_OPTION_THREADS(AT(threads)),
    [OPT_WORK_DIR] = DX_PUBLISH_OPTION_WORK_DIR(AT(work_dir)),
    [OPT_CACHE_DIR] = DX_PUBLISH_OPTION_CACHE_DIR(AT(cache_dir)),
    [OPT_PSL] = { "psl", "FILE", NULL,
                  "Public Suffix List for the version, if the lake has none of its own",
                  DX_OPT_TEXT, AT(psl_path) },
    [OPT_PARTS] = { "parts", "N", "8",
                    "parts that the version may have: new domains are one beside those of the "
                    "version before; 1: all are merged into one",
                    DX_OPT_NUMBER(1, DX_PARTS_MAX), AT(parts_max) },
    [OPT_MERGE_MAX] = { "merge-max", "PAIRS", "4000000",
                        "merge at most so many (domain, dataset) pairs of older parts before the "
                        "version is current, while there are fewer than --parts: what is left is "
                        "merged after it; 0: no limit",
                        DX_OPT_NUMBER(0, UINT32_MAX), AT(merge_max) },
    [OPT_NO_MERGE] = { "no-merge", NULL, NULL,
                       "end when the version is current, and leave larger merges to a later "
                       "publish",
                       DX_OPT_FLAG },
    [OPT_PACK] = { "pack", "SIZE", NULL,
                   "put the files of the new part into one object where they have at most so many "
                   "bytes; 0: never; if not given 8M on object storage, and 0 in a directory",
                   DX_OPT_SIZE(0, DX_PUBLISH_PACK_MAX), AT(pack_max) },
    [OPT_FULL] = { "full", NULL, NULL,
                   "read the whole lake, also where the current version could be merged with",
                   DX_OPT_FLAG, AT(full) },
    [OPT_FORCE] = { "force", NULL, NULL, "publish also when the lake has not changed", DX_OPT_FLAG,
                    AT(force) },
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL,
                      "list the lake, say what a version would have, and change nothing",
                      DX_OPT_FLAG },
    [OPT_WAIT] = DX_OPTION_WAIT(AT(lock_wait_ms)),
    [OPT_ALLOW_MISSING] = { "allow-missing", "DATASET", NULL,
                            "publish without those lake files of this dataset that are not there; "
                            "may be given several times",
                            DX_OPT_TEXT },
    [OPT_FOREIGN_ROWS] = { "foreign-rows", "REFUSE|SKIP", NULL,
                           "of a lake file with rows that are not in canonical "
                           "form leave the whole "
                           "file out, or only those rows; if not given as the current version has "
                           "it, refuse at first",
                           DX_OPT_CHOICE },
    [OPT_ICEBERG] = { "iceberg", NULL, NULL,
                      "then bring the Iceberg tables in ROOT/iceberg up to date, by the Python "
                      "package",
                      DX_OPT_FLAG },
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = DX_OPTION_JSON,
};

/* merged: the version that a merge made current afterwards; "": none. */
static int print_json(const struct dx_publish_result *r, const char *merged)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;
    bool complete = r->left_out.count == 0 && r->rows_twice == 0;

    dx_command_json_open(&j, &out);
    dx_publish_report_json(r, &j);
    dx_json_key(&j, "merged");
    if (merged[0] == '\0')
        dx_json_null(&j);
    else
        dx_json_str(&j, merged);
    return dx_command_json_print("publish", complete ? DX_EXIT_DONE : DX_EXIT_REFUSED, &j, &out);
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
        dx_buf_fmt(out, "; postings written %s, of them kept %s",
                   dx_progress_count(r->index.postings_written, files),
                   dx_progress_count(r->index.postings_kept, rows));
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

static void print_summary(const struct dx_publish_result *r)
{
    const struct dx_manifest_version *entry = dx_manifest_find(&r->manifest, r->version);
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    char size[32];

    kind(r, &text);
    if (entry != NULL) {
        dx_publish_report(entry, r->lake_bytes, &text);
        dx_publish_report_held(entry, &r->index, &text);
    }
    report_seconds("seconds", r->seconds, r->index.seconds, &text);
    report_seconds("CPU seconds", r->cpu_s, r->index.cpu_s, &text);
    dx_buf_fmt(&text, "peak memory %s", dx_progress_size(dx_process_peak(), size));
    dx_buf_fmt(&text, ", sorted on disk %s", dx_progress_size(r->index.spilled_bytes, size));
    dx_buf_fmt(&text, ", domain_id collisions %llu\n", (unsigned long long)r->index.collisions);
    if (!text.failed)
        (void)fwrite(text.data, 1, text.size, stderr);
    dx_buf_release(&text);
}

static void print_notes(const struct dx_publish_options *o, const struct dx_publish_result *r,
                        bool quiet)
{
    if (r->psl_path != NULL)
        (void)dx_line_print(stderr, "publish: %s has no psl.dat of its own; taken: %s", o->root,
                            r->psl_path);
    if (r->skipped_columns > 0)
        (void)dx_line_print(
            stderr,
            "publish: %llu column%s cannot be shown: not plain strings, or with names that are "
            "empty or too long. The first: %s",
            (unsigned long long)r->skipped_columns, dx_plural(r->skipped_columns), r->skipped);
    if (r->index.tags.rows_unread > 0)
        (void)dx_line_print(
            stderr,
            "publish: %llu row%s with a 'tags' value that is not a JSON array of strings: indexed "
            "without tags",
            (unsigned long long)r->index.tags.rows_unread, dx_plural(r->index.tags.rows_unread));
    if (r->index.tags.tags_unfit > 0)
        (void)dx_line_print(stderr,
                            "publish: %llu tag%s empty, longer than %d bytes or with control "
                            "characters: the rows are kept, and such tags do not lead to them",
                            (unsigned long long)r->index.tags.tags_unfit,
                            dx_plural(r->index.tags.tags_unfit), DX_TAG_MAX);
    if (r->times_left_out > 0)
        (void)dx_line_print(
            stderr,
            "publish: %llu row%s with a time outside of years 0000 to 9999: kept without a time",
            (unsigned long long)r->times_left_out, dx_plural(r->times_left_out));
    dx_publish_report_left_out("publish", &r->left_out);
    dx_publish_report_rows_left_out("publish", r);
    dx_publish_report_rows_twice("publish", r);
    if (r->files_missing > 0)
        (void)dx_line_print(stderr,
                            "publish: the version lacks %llu lake file%s by permission "
                            "(--allow-missing); the next publish takes what is back",
                            (unsigned long long)r->files_missing, dx_plural(r->files_missing));
    if (r->files_unlisted > 0)
        (void)dx_line_print(
            stderr,
            "publish: the listing of %s/urls lacks %llu lake file%s of the current version that "
            "can be read: others may be missing from it too; publish again later",
            o->root, (unsigned long long)r->files_unlisted, dx_plural(r->files_unlisted));
    if (r->leftovers > 0)
        (void)dx_line_print(
            stderr,
            "publish: %s/index has %llu version%s that the manifest does not name: left by "
            "publishers "
            "that died (domaindex gc removes them), or of a manifest that was lost (restore it "
            "then); the first: %s",
            o->root, (unsigned long long)r->leftovers, dx_plural(r->leftovers), r->leftover);
    if (r->other_etags > 0)
        (void)dx_line_print(
            stderr,
            "publish: the lake is as it was, but %llu object%s with other ETags than when it was "
            "published (restored or copied?), whose reads servers refuse; so it is published "
            "again. "
            "One of them: %s",
            (unsigned long long)r->other_etags, dx_plural(r->other_etags), r->other_etag);
    if (r->unchanged)
        (void)dx_line_print(stderr,
                            "publish: the lake is as it was for version %s; nothing new to publish "
                            "(--force does it anyway)",
                            r->version);
    else if (!quiet)
        print_summary(r);
}

static void say(void *ctx, const char *line)
{
    (void)ctx;
    (void)dx_line_print(stderr, "publish: %s", line);
}

/* names: room for one more than there are options. */
static int read_options(const struct dx_options *options, struct dx_publish_options *o,
                        const char **names, struct dx_error *err)
{
    uint64_t foreign = 0;
    int rc = dx_options_store(options, o, err);

    o->allow.dataset = names;
    while ((names[o->allow.count] = dx_options_nth(options, OPT_ALLOW_MISSING, o->allow.count)) !=
           NULL)
        o->allow.count++;
    o->allow.say = say;
    if (dx_options_has(options, OPT_PACK) && o->pack_max == 0)
        o->pack_max = 1; /* no version is so small */
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_FOREIGN_ROWS, &foreign, err);
    if (dx_options_has(options, OPT_FOREIGN_ROWS))
        o->foreign_rows = foreign == 0 ? DX_FOREIGN_REFUSE : DX_FOREIGN_SKIP;
    return rc == DX_OK ? dx_publish_command_take(options, o, err) : rc;
}

/* What a publish would find. */
static int print_plan(const struct dx_publish_plan *p)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, true);
    dx_json_key(&j, "current");
    if (p->current[0] == '\0')
        dx_json_null(&j);
    else
        dx_json_str(&j, p->current);
    dx_json_key_u64(&j, "files", p->files);
    dx_json_key_u64(&j, "bytes", p->bytes);
    dx_json_key_u64(&j, "files_new", p->files_new);
    dx_json_key_u64(&j, "bytes_new", p->bytes_new);
    dx_json_key_u64(&j, "files_out", p->files_out);
    dx_json_key_u64(&j, "files_missing", p->files_gone);
    return dx_command_json_print("publish", DX_EXIT_DONE, &j, &out);
}

static int show_plan(const struct dx_publish_options *o, bool json)
{
    struct dx_publish_plan p;
    struct dx_error err = DX_ERROR_INIT;
    char a[32];
    char b[32];

    if (dx_publish_plan(o, &p, &err) < 0)
        return dx_command_fail("publish", DX_EXIT_REFUSED, &err);
    if (json)
        return print_plan(&p);
    (void)dx_line_print(stderr, "publish: dry run: nothing was written; current version: %s",
                        p.current[0] == '\0' ? "none" : p.current);
    (void)dx_line_print(stderr, "files of the next version: %llu, %s; new: %llu, %s",
                        (unsigned long long)p.files, dx_progress_size(p.bytes, a),
                        (unsigned long long)p.files_new, dx_progress_size(p.bytes_new, b));
    (void)dx_line_print(stderr,
                        "files taken out: %llu; files of the current version not in the lake: %llu",
                        (unsigned long long)p.files_out, (unsigned long long)p.files_gone);
    return DX_EXIT_DONE;
}

static void report_merge(const struct dx_publish_result *r)
{
    const struct dx_manifest_version *v = dx_manifest_find(&r->manifest, r->version);
    char pairs[32];

    (void)fprintf(stderr, "parts merged: version %s has the same in %zu part%s", r->version,
                  v->part_count + 1, dx_plural(v->part_count + 1));
    (void)dx_line_print(stderr, "; pairs written %s, CPU seconds %.2f",
                        dx_progress_count(v->part.pairs, pairs),
                        r->cpu_s[DX_PUBLISH_BUILD] + r->cpu_s[DX_PUBLISH_CHECK]);
}

/* One step of a merge. *due: whether there is another. */
static int merge_step(struct dx_publish_options *o, bool quiet, char merged[DX_VERSION_NAME],
                      bool *due, struct dx_error *err)
{
    const struct dx_parts_policy policy = { o->parts_max, o->merge_max };
    struct dx_publish_result result;
    int rc;

    *due = false;
    if (!o->fixed_time)
        o->now_us = (int64_t)time(NULL) * 1000000;
    rc = dx_publish(o, &result, err);
    if (rc < 0)
        return rc;
    if (!result.unchanged) {
        memcpy(merged, result.version, sizeof result.version);
        *due = dx_publish_merge_due(&result.manifest, &policy);
        if (!quiet)
            report_merge(&result);
    }
    dx_publish_result_release(&result);
    return DX_OK;
}

/* Larger merges, now that the version is current: what becomes of them does not matter to what was
 * published. merged: the version of the last step; "": none. */
static void merge_parts(const struct dx_options *options,
                        const struct dx_publish_options *published, const struct dx_manifest *m,
                        bool quiet, char merged[DX_VERSION_NAME])
{
    const struct dx_parts_policy policy = { published->parts_max, published->merge_max };
    struct dx_publish_options o = *published;
    struct dx_error err = DX_ERROR_INIT;
    bool due = !dx_options_has(options, OPT_NO_MERGE) && dx_publish_merge_due(m, &policy);
    int rc = DX_OK;

    merged[0] = '\0';
    if (due)
        dx_interrupt_catch();
    o.merge = true;
    o.stopped = dx_interrupted;
    o.progress = NULL;
    for (unsigned i = 0; rc == DX_OK && due && i < DX_PARTS_MAX; i++)
        rc = merge_step(&o, quiet, merged, &due, &err);
    if (rc < 0)
        (void)dx_line_print(
            stderr,
            "publish: parts were not merged, which changes no answer, and a later publish "
            "merges them: %s",
            err.text);
}

static int run_publish(const struct dx_options *options)
{
    struct dx_publish_screen screen = { .scanning = "scanning", .totals = true };
    struct dx_publish_options o = { .progress = &screen.counters };
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;
    char merged[DX_VERSION_NAME];
    const char **names = calloc(options->given_count + 1, sizeof *names);
    int rc = names == NULL ? dx_no_memory(&err, "publish") : read_options(options, &o, names, &err);
    bool json;
    bool quiet;

    if (rc != DX_OK) {
        free(names);
        return dx_command_fail("publish", DX_EXIT_USAGE, &err);
    }
    if (dx_options_has(options, OPT_DRY_RUN)) {
        rc = show_plan(&o, dx_options_has(options, OPT_JSON));
        free(names);
        return rc;
    }
    dx_publish_screen_open(&screen);
    rc = dx_publish(&o, &result, &err);
    dx_publish_screen_close(&screen);
    free(names);
    if (rc != DX_OK)
        return dx_command_fail("publish", DX_EXIT_REFUSED, &err);
    json = dx_options_has(options, OPT_JSON);
    quiet = json || dx_options_has(options, OPT_QUIET);
    print_notes(&o, &result, quiet);
    if (!json)
        rc = dx_publish_command_end("publish", result.version,
                                    result.left_out.count == 0 && result.rows_twice == 0);
    merge_parts(options, &o, &result.manifest, quiet, merged);
    if (json)
        rc = print_json(&result, merged);
    dx_publish_result_release(&result);
    if (dx_options_has(options, OPT_ICEBERG) && dx_iceberg_tables_update(o.root, &err) < 0)
        return dx_command_fail("publish", DX_EXIT_REFUSED, &err);
    return rc;
}

const struct dx_command dx_command_publish = {
    .name = "publish",
    .synopsis = "--root ROOT [--memory SIZE] [--threads N] [--psl FILE] [--full] [--force] "
                "[--allow-missing DATASET]... [--foreign-rows refuse|skip] [--iceberg] "
                "[--no-merge] [--dry-run] "
                "[--wait SECONDS] [--json]",
    .summary = "index what is in the lake and make it the current version",
    .description =
        "Makes a new index version of the lake's files, checks it and replaces the manifest. "
        "Prints the name of the version, alone on a line. The version has the files that "
        "the current one has, and those that no version ever had; what a removal, a compaction or "
        "a rollback took out stays out, though its bytes are there.\n"
        "Only new files are read, and the current version is merged with them. The whole lake is "
        "read for the first "
        "version, with --full, with another suffix list, and where the current version cannot be "
        "merged with; the summary says which it was, and why. If "
        "the lake is as it was for the current version, nothing is written; on s3:// it must also "
        "have "
        "the ETags that it had then: an object that was restored or copied has another one, "
        "servers "
        "refuse it, and a new version is published.\n"
        "A faulty lake file (damaged, rows that are not sorted or not in canonical "
        "form, pages too "
        "large to be served, a symbolic link...) is left out, with its name and the reason on "
        "standard "
        "error; the rest is published, and the exit code is 1. A file that the current version has "
        "is not let "
        "go of: its dataset stays as that version has it.\n"
        "With --foreign-rows skip a file of other programs is taken without its faulty rows: those "
        "whose scheme, host, path_query or domain is not that of a canonical URL, or whose "
        "domain_id or url_id is not theirs. The version records how many (rows_left_out), and "
        "compact, export, domain64 and verify leave out the same. It stays so with later publishes "
        "until --foreign-rows refuse is given or the suffix list changes. Files that are not "
        "sorted or cannot be decoded are left out whole all the same.\n"
        "A lake file that the current version has and that is not there (a part of the lake is not "
        "mounted, a store answers wrongly) ends the publish with exit status 1 and nothing "
        "changed: "
        "each is asked for by its name, not only by listing. With --allow-missing DATASET the "
        "version is published without that dataset's missing files; it keeps their names, gc "
        "leaves them alone, and the next publish takes those that are back. If rows were ingested "
        "meanwhile that these files have too, it says how many stand twice and exits with 1; "
        "compact leaves the second ones out.\n"
        "The version is a part of what is new beside the parts of the version before. Parts of a "
        "size are merged: at most --merge-max pairs before the version is current, and larger "
        "ones after that, into another version that has the same, while other commands may write. "
        "A merge that is ended (SIGTERM, kill) loses the step that it was at; a later publish does "
        "it.\n"
        "The old version stays current at every moment until the new one is complete on disk; a "
        "publish that is killed leaves nothing but a folder that the next one removes. One publish "
        "or ingest at a time works in a root.\n"
        "On s3:// the files of the lake are fetched one after another into a work folder, the "
        "version is made there, uploaded, read back from the store and checked; then the manifest "
        "is put on the condition that it was not changed meanwhile. If two publishers race, one "
        "succeeds; the other fails with a conflict, removes its objects and exits with 1. A store "
        "that does not keep "
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
    .run = run_publish,
};
