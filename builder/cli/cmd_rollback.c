/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/publish/publish_time.h"
#include "builder/publish/rollback.h"

#define JSON_MAX 4096

enum { OPT_ROOT, OPT_TO, OPT_FORCE, OPT_DRY_RUN, OPT_WAIT, OPT_QUIET, OPT_JSON, OPT_COUNT };

#define AT(member) DX_OPT_PLACE(struct dx_rollback_options, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the index lives: a directory or s3://bucket/prefix",
                   DX_OPT_ONE_TEXT, AT(root) },
    [OPT_TO] = { "to", "VERSION", NULL, "the same as the operand", DX_OPT_TEXT, AT(version) },
    [OPT_DRY_RUN] = DX_OPTION_DRY_RUN(AT(dry_run),
                                      "open VERSION and say what would change; change nothing"),
    [OPT_WAIT] = DX_OPTION_WAIT(AT(lock_wait_ms)),
    [OPT_FORCE] = { "force", NULL, NULL, "also where the next publish could then have rows twice",
                    DX_OPT_FLAG, AT(force) },
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = DX_OPTION_JSON,
};

static int print_json(const struct dx_rollback_options *o, const struct dx_rollback_result *r)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "from");
    dx_json_str(&j, r->from);
    dx_json_key(&j, "to");
    dx_json_str(&j, r->to);
    dx_json_key_u64(&j, "sequence", r->sequence);
    dx_json_key(&j, "unchanged");
    dx_json_bool(&j, r->unchanged);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, o->dry_run);
    dx_json_key_u64(&j, "files_new", r->files_new);
    return dx_command_json_print("rollback", DX_EXIT_DONE, &j, &out);
}

static void notes(const struct dx_rollback_result *r)
{
    if (r->unseen[0] != '\0')
        (void)dx_line_print(stderr, "rollback: which lake files no version has is not known: %s",
                            r->unseen);
    if (r->files_new > 0 && !r->unchanged)
        (void)dx_line_print(
            stderr,
            "rollback: %llu lake file%s in no version: the next publish takes what it can read; "
            "rows that version %s had already are not there: ingest those again",
            (unsigned long long)r->files_new, dx_plural(r->files_new), r->from);
}

static int run_rollback(const struct dx_options *options)
{
    struct dx_rollback_options o = { .root = NULL };
    struct dx_rollback_result r;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_options_store(options, &o, &err);

    if (rc == DX_OK && (o.root == NULL || options->operand_count + (o.version != NULL) != 1)) {
        (void)dx_line_print(stderr, "domaindex rollback: --root ROOT and one VERSION are needed "
                                    "('domaindex versions' lists "
                                    "them)");
        return DX_EXIT_USAGE;
    }
    if (rc == DX_OK && o.version == NULL)
        o.version = options->operand[0];
    if (rc == DX_OK)
        rc = dx_publish_time(&o.now_us, &o.fixed_time, &err);
    if (rc != DX_OK)
        return dx_command_fail("rollback", DX_EXIT_USAGE, &err);
    rc = dx_rollback(&o, &r, &err);
    if (rc != DX_OK)
        return dx_command_fail("rollback", DX_EXIT_REFUSED, &err);
    if (dx_options_has(options, OPT_QUIET)) {
        /* the version on standard output is all */
    } else if (r.unchanged)
        (void)dx_line_print(stderr, "rollback: version %s is current already; nothing was changed",
                            r.to);
    else if (o.dry_run)
        (void)dx_line_print(stderr, "rollback: dry run: %s would become current in place of %s",
                            r.to, r.from);
    else
        (void)dx_line_print(stderr, "rollback: from %s to %s, sequence %llu", r.from, r.to,
                            (unsigned long long)r.sequence);
    notes(&r);
    if (dx_options_has(options, OPT_JSON))
        return print_json(&o, &r);
    if (printf("%s\n", o.dry_run ? r.from : r.to) < 0 || fflush(stdout) != 0) {
        (void)dx_line_print(
            stderr, "domaindex rollback: version %s is current, but standard output failed", r.to);
        return DX_EXIT_REFUSED;
    }
    return DX_EXIT_DONE;
}

const struct dx_command dx_command_rollback = {
    .name = "rollback",
    .synopsis = "--root ROOT VERSION [--force] [--dry-run] [--wait SECONDS] [--quiet] [--json]",
    .summary = "make a kept version the current one again",
    .description =
        "Puts another manifest, under the next sequence, in which VERSION is current; nothing else "
        "is written, and servers take it as they take any new version. VERSION is a name that "
        "`domaindex versions` lists, or its number alone. Prints the name of the current version.\n"
        "A version that is condemned is so no more; one that is dropped is being removed and "
        "cannot "
        "come back. In a directory the version is opened first. If another version has become "
        "current meanwhile, nothing is changed, and the exit code is 1.\n"
        "What later versions had more stays out: the next publish has the files of VERSION and "
        "those that no version ever had. Rows that were taken out so come back by ingesting them "
        "again; so do rows that an ingest left out because the version of then had them already.\n"
        "Refused (exit status 1) while a dataset has lake files that no version has and VERSION "
        "has files "
        "of it that the current version has not: they were not compared, and the next publish "
        "could "
        "have rows twice. Publish first, then roll back.",
    .example = "domaindex rollback --root /srv/domaindex 000003-20261119T103000Z",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_rollback,
};
