/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/maintain/gc.h"
#include "builder/root/progress.h"
#include "format/root/lease_json.h"

#define JSON_MAX 4096

enum {
    OPT_ROOT,
    OPT_KEEP,
    OPT_KEEP_FOR,
    OPT_DELETE,
    OPT_DRY_RUN,
    OPT_TTL,
    OPT_LIFE,
    OPT_REQUEST,
    OPT_SKEW,
    OPT_SHARE,
    OPT_SPOOL,
    OPT_THREADS,
    OPT_WAIT,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

#define LEASE_TIME DX_OPT_TIME(0, DX_LEASE_SECONDS_MAX)
#define AT(member) DX_OPT_PLACE(struct dx_gc_options, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "where the lake and the index live: a directory or s3://bucket/prefix",
                   DX_OPT_ONE_TEXT, AT(root) },
    [OPT_KEEP] = { "keep", "N", "5", "the newest versions that stay", DX_OPT_NUMBER(1, 100000),
                   AT(keep) },
    [OPT_KEEP_FOR] = { "keep-for", "TIME", "24h",
                       "those that were current less than this ago stay too; s, m, h, d",
                       DX_OPT_TIME(0, UINT64_C(100) * 366 * 86400), AT(keep_for_s) },
    [OPT_DELETE] = { "delete", NULL, NULL, "do what is due; without it nothing is changed",
                     DX_OPT_FLAG, AT(remove) },
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL, "change nothing: what it does without --delete",
                      DX_OPT_FLAG },
    [OPT_TTL] = { "lease-ttl", "TIME", "600s",
                  "how long a server's lease holds, at least as its "
                  "configuration says",
                  LEASE_TIME, AT(ttl_s) },
    [OPT_LIFE] = { "cursor-life", "TIME", "900s", "how long a listing can be continued, the same",
                   LEASE_TIME, AT(cursor_life_s) },
    [OPT_REQUEST] = { "longest-request", "TIME", NULL,
                      "how long a request can take, the same; 60s, and 0 if lease-ttl and "
                      "cursor-life are 0",
                      LEASE_TIME, AT(request_s) },
    [OPT_SKEW] = { "skew", "TIME", NULL,
                   "by how much clocks may run apart in that time; 60s, and 0 as above", LEASE_TIME,
                   AT(skew_s) },
    [OPT_SHARE] = { "max-share", "PERCENT", "50",
                    "refuse to take more than this of the bytes of all versions",
                    DX_OPT_NUMBER(0, 100), AT(max_share) },
    [OPT_SPOOL] = { "keep-spool", "TIME", "7d",
                    "files below spool/ of jobs that began a task this long ago and did not end "
                    "go; longer than "
                    "any job takes",
                    DX_OPT_TIME(0, UINT64_C(100) * 366 * 86400), AT(spool_s) },
    [OPT_THREADS] = { "threads", "N", "8", "removals at a time", DX_OPT_NUMBER(1, 64),
                      AT(threads) },
    [OPT_WAIT] = { "wait", "SECONDS", "10",
                   "in a directory: each change waits so long for another command that writes "
                   "there",
                   DX_OPTION_WAIT_KIND, AT(lock_wait_ms) },
    [OPT_QUIET] = { "quiet", NULL, NULL, "no lines on versions, only the sum", DX_OPT_FLAG },
    [OPT_JSON] = DX_OPTION_JSON,
};

static int print_json(const struct dx_gc_options *o, const struct dx_gc_result *r)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;

    dx_json_open(&j, &out);
    dx_json_object(&j);
    dx_json_key(&j, "deleted");
    dx_json_bool(&j, o->remove);
    dx_json_key_u64(&j, "condemned", r->condemned);
    dx_json_key_u64(&j, "dropped", r->dropped);
    dx_json_key_u64(&j, "removed", r->removed);
    dx_json_key_u64(&j, "waiting", r->waiting);
    dx_json_key_u64(&j, "objects", r->objects);
    dx_json_key_u64(&j, "bytes", r->bytes);
    dx_json_end(&j);
    dx_buf_u8(&out, '\n');
    return dx_command_print("gc", DX_EXIT_DONE, &out);
}

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    (void)dx_line_print(stdout, "%s", line);
    (void)fflush(stdout); /* so that a pipe shows how far it is */
}

static void print_note(void *ctx, const char *line)
{
    (void)ctx;
    (void)dx_line_print(stderr, "%s", line);
}

static int read_options(const struct dx_options *options, struct dx_gc_options *o,
                        struct dx_error *err)
{
    int rc = dx_options_store(options, o, err);

    if (rc < 0)
        return rc;
    if (o->root == NULL)
        return dx_fail(err, DX_E_INVALID, "--root ROOT is needed");
    if (o->remove && dx_options_has(options, OPT_DRY_RUN))
        return dx_fail(err, DX_E_INVALID, "--delete and --dry-run exclude each other");
    /* Without servers there are neither requests nor their clocks, unless it is said. */
    if (o->ttl_s == 0 && o->cursor_life_s == 0 && !dx_options_has(options, OPT_REQUEST))
        o->request_s = 0;
    if (o->ttl_s == 0 && o->cursor_life_s == 0 && !dx_options_has(options, OPT_SKEW))
        o->skew_s = 0;
    o->say = dx_options_has(options, OPT_QUIET)  ? NULL
             : dx_options_has(options, OPT_JSON) ? print_note
                                                 : print_line;
    return dx_options_operands(options, 0, err);
}

static int run_gc(const struct dx_options *options)
{
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;
    struct dx_gc_result r;
    struct dx_error err = DX_ERROR_INIT;
    char size[32];
    int rc = read_options(options, &o, &err);

    if (rc != DX_OK)
        return dx_command_fail("gc", DX_EXIT_USAGE, &err);
    rc = dx_gc(&o, &r, &err);
    if (rc != DX_OK)
        return dx_command_fail("gc", DX_EXIT_REFUSED, &err);
    if (dx_options_has(options, OPT_JSON))
        return print_json(&o, &r);
    if (printf("%s: condemned %u, dropped %u, removed %u, waiting %u; %llu objects, %s\n",
               o.remove ? "done" : "nothing was changed (--delete does it); due", r.condemned,
               r.dropped, r.removed, r.waiting, (unsigned long long)r.objects,
               dx_progress_size(r.bytes, size)) < 0 ||
        fflush(stdout) != 0) {
        (void)dx_line_print(stderr, "domaindex gc: standard output failed");
        return DX_EXIT_REFUSED;
    }
    return DX_EXIT_DONE;
}

const struct dx_command dx_command_gc = {
    .name = "gc",
    .synopsis = "--root ROOT [--keep N] [--keep-for TIME] [--delete] [--wait SECONDS] [--json]",
    .summary = "remove versions that are not kept, and what only they have",
    .description =
        "Says what would go; with --delete one step of it is done: what is due now. Run it from "
        "cron. A version that is neither current, nor one of the newest, nor was current a short "
        "time ago is condemned; when servers and cursors have had their time (the sum of "
        "--lease-ttl, --cursor-life, --longest-request and --skew), a later run drops it: it "
        "cannot be opened any more; and when no server's lease names it, its lake files and "
        "objects "
        "are removed, but for those that another version has too. A rollback to a version that "
        "is condemned saves it.\n"
        "Removed is what the version's own lists name, and what is left below index/ of versions "
        "that were never published or are removed. Lake files that no version ever had are new "
        "data, and stay, as does all that is not known.\n"
        "It can be killed at any time, and run beside itself, publishes, rollbacks and servers; "
        "the next run goes on. All times are by the clock of the store. It refuses a root without "
        "a manifest or with a list of files that cannot be read, to take more than --max-share of "
        "the bytes, and to work beside a server whose leases or cursors live longer than these "
        "options say.",
    .example = "domaindex gc --root /srv/domaindex --keep 5 --keep-for 24h --delete",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_gc,
};
