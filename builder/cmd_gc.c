/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "builder/command.h"
#include "builder/gc.h"
#include "builder/progress.h"
#include "format/lease_json.h"

#define KEEP_MAX 100000
#define KEEP_FOR_MAX_S (100ull * 366 * 86400)
#define SHARE_MAX 100
#define THREADS_MAX 64

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
    OPT_THREADS,
    OPT_QUIET,
    OPT_COUNT
};

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "where the lake and the index live: a directory or s3://bucket/prefix" },
    [OPT_KEEP] = { "keep", "N", "5", "the newest versions that stay" },
    [OPT_KEEP_FOR] = { "keep-for", "TIME", "24h",
                       "those that were current less than this ago stay too; s, m, h, d" },
    [OPT_DELETE] = { "delete", NULL, NULL, "do what is due; without it nothing is changed" },
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL, "change nothing: what it does without --delete" },
    [OPT_TTL] = { "lease-ttl", "TIME", "600s",
                  "how long a server's lease holds, at least as its "
                  "configuration says" },
    [OPT_LIFE] = { "cursor-life", "TIME", "900s", "how long a listing can be continued, the same" },
    [OPT_REQUEST] = { "longest-request", "TIME", NULL,
                      "how long a request can take, the same; 60s, and 0 if lease-ttl and "
                      "cursor-life are 0" },
    [OPT_SKEW] = { "skew", "TIME", NULL,
                   "by how much clocks may run apart in that time; 60s, and 0 as above" },
    [OPT_SHARE] = { "max-share", "PERCENT", "50",
                    "refuse to take more than this of the bytes of all versions" },
    [OPT_THREADS] = { "threads", "N", "8", "removals at a time" },
    [OPT_QUIET] = { "quiet", NULL, NULL, "no lines on versions, only the sum" },
};

/* "90", "90s", "15m", "24h", "7d" */
static int seconds(const struct dx_options *options, size_t option, const char *fallback,
                   uint64_t most, uint64_t *to, struct dx_error *err)
{
    static const char units[] = "smhd";
    static const uint64_t worth[] = { 1, 60, 3600, 86400 };
    const char *text = dx_options_text(options, option);
    const char *at;
    const char *unit;
    uint64_t value = 0;

    text = text != NULL ? text : fallback;
    for (at = text; *at >= '0' && *at <= '9' && value <= most; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    unit = *at == '\0' ? units : strchr(units, *at);
    if (at == text || unit == NULL || (*at != '\0' && at[1] != '\0') ||
        value > most / worth[unit - units])
        return dx_fail(err, DX_E_INVALID,
                       "--%s %s: a time is a number with s, m, h or d behind it, here at most "
                       "%llu seconds",
                       options->table[option].name, text, (unsigned long long)most);
    *to = value * worth[unit - units];
    return DX_OK;
}

static int parse_times(const struct dx_options *options, struct dx_gc_options *o,
                       struct dx_error *err)
{
    uint64_t ttl = 0, life = 0, request = 0, skew = 0;
    const char *allowance;
    int rc = seconds(options, OPT_KEEP_FOR, "", KEEP_FOR_MAX_S, &o->keep_for_s, err);

    if (rc == DX_OK)
        rc = seconds(options, OPT_TTL, "", DX_LEASE_SECONDS_MAX, &ttl, err);
    if (rc == DX_OK)
        rc = seconds(options, OPT_LIFE, "", DX_LEASE_SECONDS_MAX, &life, err);
    /* Whoever says that there are no servers need not say it four times. */
    allowance = ttl == 0 && life == 0 ? "0s" : "60s";
    if (rc == DX_OK)
        rc = seconds(options, OPT_REQUEST, allowance, DX_LEASE_SECONDS_MAX, &request, err);
    if (rc == DX_OK)
        rc = seconds(options, OPT_SKEW, allowance, DX_LEASE_SECONDS_MAX, &skew, err);
    o->ttl_s = (uint32_t)ttl;
    o->cursor_life_s = (uint32_t)life;
    o->request_s = (uint32_t)request;
    o->skew_s = (uint32_t)skew;
    return rc;
}

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    (void)printf("%s\n", line);
    (void)fflush(stdout); /* so that a pipe shows how far it is */
}

static int parse(const struct dx_options *options, struct dx_gc_options *o, struct dx_error *err)
{
    uint64_t keep = 0, share = 0, threads = 0;
    int rc;

    o->root = dx_options_text(options, OPT_ROOT);
    if (o->root == NULL)
        return dx_fail(err, DX_E_INVALID, "--root ROOT is needed");
    if (options->operand_count > 0)
        return dx_fail(err, DX_E_INVALID, "%s: no operand is expected", options->operand[0]);
    if (dx_options_has(options, OPT_DELETE) && dx_options_has(options, OPT_DRY_RUN))
        return dx_fail(err, DX_E_INVALID, "--delete and --dry-run exclude each other");
    rc = dx_options_number(options, OPT_KEEP, 1, KEEP_MAX, &keep, err);
    if (rc == DX_OK)
        rc = dx_options_number(options, OPT_SHARE, 0, SHARE_MAX, &share, err);
    if (rc == DX_OK)
        rc = dx_options_number(options, OPT_THREADS, 1, THREADS_MAX, &threads, err);
    if (rc == DX_OK)
        rc = parse_times(options, o, err);
    o->keep = (unsigned)keep;
    o->max_share = (unsigned)share;
    o->threads = (unsigned)threads;
    o->remove = dx_options_has(options, OPT_DELETE);
    o->say = dx_options_has(options, OPT_QUIET) ? NULL : print_line;
    return rc;
}

static int run(const struct dx_options *options)
{
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;
    struct dx_gc_result r;
    struct dx_error err = DX_ERROR_INIT;
    char size[32];
    int rc = parse(options, &o, &err);

    if (rc != DX_OK) {
        (void)fprintf(stderr, "domaindex gc: %s\n", err.text);
        return DX_EXIT_USAGE;
    }
    rc = dx_gc(&o, &r, &err);
    if (rc != DX_OK) {
        (void)fprintf(stderr, "domaindex gc: %s\n", err.text);
        return DX_EXIT_REFUSED;
    }
    if (printf("%s: condemned %u, dropped %u, removed %u, waiting %u; %llu objects, %s\n",
               o.remove ? "done" : "nothing was changed (--delete does it); due", r.condemned,
               r.dropped, r.removed, r.waiting, (unsigned long long)r.objects,
               dx_progress_size(r.bytes, size)) < 0 ||
        fflush(stdout) != 0) {
        (void)fprintf(stderr, "domaindex gc: standard output failed\n");
        return DX_EXIT_REFUSED;
    }
    return DX_EXIT_DONE;
}

const struct dx_command dx_command_gc = {
    .name = "gc",
    .synopsis = "--root ROOT [--keep N] [--keep-for TIME] [--delete]",
    .summary = "remove versions that are not kept, and what only they have",
    .description =
        "Says what would go; with --delete one step of it is done: what is due now. Run it from "
        "cron. A version that is neither current, nor one of the newest, nor was current a short "
        "time ago is condemned; when servers and cursors have had their time (the sum of "
        "--lease-ttl, --cursor-life, --longest-request and --skew), a later run drops it: nobody "
        "can come to it any more; and when no server's lease names it, its lake files and objects "
        "are removed, but for those that another version has too. A rollback to a version that "
        "is condemned saves it.\n"
        "Removed is what the version's own lists name, and what is left below index/ of versions "
        "that were never published or are removed. Lake files that no version ever had are new "
        "data, and stay, as does all that is not known.\n"
        "It can be killed at any time, and run beside itself, publishes, rollbacks and servers; "
        "the next run goes on. All times are by the clock of the store. It refuses a root without "
        "a manifest or with a list of files that cannot be read, to take more than --max-share of "
        "the bytes, and to work beside a server whose leases or cursors live longer than it was "
        "told.",
    .example = "domaindex gc --root /srv/domaindex --keep 5 --keep-for 24h --delete",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run,
};
