/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/periodic.h"
#include "builder/cli/command.h"
#include "builder/maintain/backup.h"
#include "builder/root/interrupt.h"
#include "builder/root/progress.h"
#include "format/root/lease_json.h"

#define TICK_MS 200
#define THREADS_MAX 64
#define JSON_MAX 65536

enum {
    OPT_ROOT,
    OPT_TO,
    OPT_VERSION,
    OPT_ALL,
    OPT_RECHECK,
    OPT_FORCE,
    OPT_DRY_RUN,
    OPT_QUIET,
    OPT_JSON,
    OPT_THREADS,
    OPT_LEASE_TTL,
    OPT_WORK_DIR,
    OPT_COUNT
};

#define AT(member) DX_OPT_PLACE(struct dx_backup_options, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "what is copied: a directory, http(s)://... or s3://bucket/prefix",
                   DX_OPT_ONE_TEXT, AT(root) },
    [OPT_TO] = { "to", "DEST", NULL,
                 "where to: a directory or s3://bucket/prefix; empty, or an earlier backup of "
                 "ROOT",
                 DX_OPT_ONE_TEXT, AT(to) },
    [OPT_VERSION] = { "version", "VERSION", NULL, "copy this version instead of the current one",
                      DX_OPT_ONE_TEXT, AT(version) },
    [OPT_ALL] = { "all", NULL, NULL, "copy every version that can be read", DX_OPT_FLAG, AT(all) },
    [OPT_RECHECK] = { "recheck", NULL, NULL,
                      "read what DEST has already, and copy what is damaged there again",
                      DX_OPT_FLAG, AT(recheck) },
    [OPT_FORCE] = { "force", NULL, NULL,
                    "take a DEST that is not known as a backup of ROOT, as after ROOT was moved",
                    DX_OPT_FLAG, AT(force) },
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL, "say how much would be copied, and write nothing",
                      DX_OPT_FLAG, AT(dry_run) },
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = { "json", NULL, NULL, "the summary as JSON on standard output", DX_OPT_FLAG },
    [OPT_THREADS] = { "threads", "N", "8", "objects at a time", DX_OPT_NUMBER(1, THREADS_MAX),
                      AT(threads) },
    [OPT_LEASE_TTL] = { "lease-ttl", "SECONDS", "600",
                        "how long the lease on ROOT outlives a killed backup; not above that of "
                        "'domaindex gc'",
                        DX_OPT_NUMBER(1, DX_LEASE_SECONDS_MAX), AT(lease_ttl_s) },
    [OPT_WORK_DIR] = { "work-dir", "DIR", NULL,
                       "for large objects of a store on their way, one a thread; TMPDIR, or /tmp",
                       DX_OPT_TEXT, AT(work_dir) },
};

struct screen {
    struct dx_backup_progress counters;
    struct dx_progress progress;
};

static uint64_t show(void *ctx, bool asked)
{
    struct screen *s = ctx;

    (void)asked;
    dx_progress_total(&s->progress, atomic_load(&s->counters.bytes_total), false);
    dx_progress_at(&s->progress, atomic_load(&s->counters.bytes),
                   atomic_load(&s->counters.objects));
    return TICK_MS;
}

static void say(const char *line)
{
    (void)dx_line_print(stderr, "domaindex backup: %s", line);
}

static int parse(const struct dx_options *options, struct dx_backup_options *o,
                 struct dx_error *err)
{
    int rc = dx_options_store(options, o, err);

    if (rc == DX_OK && (o->root == NULL || o->to == NULL))
        rc = dx_fail(err, DX_E_INVALID, "--root ROOT and --to DEST are needed");
    if (rc == DX_OK && options->operand_count > 0)
        rc = dx_fail(err, DX_E_INVALID, "%s: no operand is expected", options->operand[0]);
    if (rc == DX_OK && o->all && o->version != NULL)
        rc = dx_fail(err, DX_E_INVALID, "--all and --version exclude each other");
    return rc;
}

static int print_json(const struct dx_backup_options *o, const struct dx_backup_result *r,
                      uint64_t ms)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "version");
    dx_json_str(&j, r->version);
    dx_json_key_u64(&j, "versions", r->versions);
    dx_json_key_u64(&j, "versions_new", r->versions_new);
    dx_json_key_u64(&j, "objects", r->objects);
    dx_json_key_u64(&j, "bytes", r->bytes);
    dx_json_key_u64(&j, "objects_copied", r->objects_copied);
    dx_json_key_u64(&j, "bytes_copied", r->bytes_copied);
    dx_json_key(&j, "seconds");
    dx_json_double(&j, (double)ms / 1000);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, o->dry_run);
    return dx_command_json_print("backup", DX_EXIT_DONE, &j, &out);
}

static int print_report(const struct dx_backup_options *o, const struct dx_backup_result *r,
                        uint64_t ms, bool json, bool quiet)
{
    char copied[32];
    char all[32];
    char rate[32];

    if (json)
        return print_json(o, r, ms);
    if (!quiet)
        (void)dx_line_print(
            stderr,
            "backup: %zu version%s, %zu of them new; %llu of %llu object%s %s, %s of %s, in "
            "%.1f s (%s/s)",
            r->versions, dx_plural(r->versions), r->versions_new,
            (unsigned long long)r->objects_copied, (unsigned long long)r->objects,
            dx_plural(r->objects), o->dry_run ? "would be copied" : "copied",
            dx_progress_size(r->bytes_copied, copied), dx_progress_size(r->bytes, all),
            (double)ms / 1000, dx_progress_size(r->bytes_copied * 1000 / (ms > 0 ? ms : 1), rate));
    return printf("%s\n", r->version) < 0 || fflush(stdout) != 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

static int make_backup(struct dx_backup_options *o, struct dx_backup_result *result,
                       struct dx_error *err)
{
    struct dx_periodic *ticker = NULL;
    struct screen screen = { .progress = { .fd = -1 } };
    int rc;

    o->progress = &screen.counters;
    dx_progress_init(&screen.progress, STDERR_FILENO);
    dx_progress_phase(&screen.progress, "backup", "objects", 0);
    dx_interrupt_catch();
    rc = dx_periodic_start(&ticker, "progress", TICK_MS, show, &screen, err);
    if (rc == DX_OK)
        rc = dx_backup(o, result, err);
    dx_periodic_stop(&ticker);
    dx_progress_end(&screen.progress);
    o->progress = NULL;
    return rc;
}

static int run_backup(const struct dx_options *options)
{
    struct dx_backup_options o = DX_BACKUP_OPTIONS_INIT;
    struct dx_backup_result result;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t begun_ms = dx_clock_ms();
    int rc = parse(options, &o, &err);
    int status;

    if (rc != DX_OK)
        return dx_command_fail("backup", DX_EXIT_USAGE, &err);
    o.stopped = dx_interrupted;
    o.say = say;
    rc = make_backup(&o, &result, &err);
    if (rc != DX_OK)
        return dx_command_fail("backup", DX_EXIT_REFUSED, &err);
    status = print_report(&o, &result, dx_clock_ms() - begun_ms, dx_options_has(options, OPT_JSON),
                          dx_options_has(options, OPT_QUIET));
    if (status != DX_EXIT_DONE)
        say("the backup is made, but standard output failed");
    return status;
}

const struct dx_command dx_command_backup = {
    .name = "backup",
    .synopsis = "--root ROOT --to DEST [--version VERSION|--all] [--dry-run] [--quiet] [--json]",
    .summary = "copy a root, whole and sound, beside everything else that runs",
    .description =
        "Copies the current version of ROOT (or one, or all that can be read) with its lake files, "
        "the registry, the suffix list, suppressions, the access table and the domain64 registry "
        "into DEST, which is a root then: it can be looked up, verified, served and published to. "
        "Prints the version that is current there. Publishes, compactions, removals and gc may run "
        "in ROOT meanwhile: a lease keeps what is being copied.\n"
        "Objects never change, so a second backup into the same DEST copies what is new and keeps "
        "the versions of before; 'domaindex gc --root DEST' removes old ones. Each object is "
        "compared with the size and hash of its version before it is written, and the manifest of "
        "DEST is replaced last: a backup that is killed leaves the one before, and the next run "
        "goes on.\n"
        "To fetch a backup back, copy it the other way into an empty place: "
        "'domaindex backup --root DEST --to ROOT --all'.\n"
        "DEST is refused if it has files and is not a backup (the message names one), if it is "
        "another root, another root's backup, or was published to on its "
        "own. Not copied are files that were ingested and not yet published, leases and spools. "
        "What ROOT and DEST need on s3:// comes from the environment, so both are at one endpoint; "
        "between two endpoints, go through a directory.",
    .example = "domaindex backup --root /srv/domaindex --to s3://backups/domaindex",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_backup,
};
