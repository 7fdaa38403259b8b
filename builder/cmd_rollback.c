/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "builder/command.h"
#include "builder/publish_time.h"
#include "builder/rollback.h"

enum { OPT_ROOT, OPT_TO, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "where the index lives: a directory or s3://bucket/prefix" },
    [OPT_TO] = { "to", "VERSION", NULL, "the same as the operand" },
};

static int run(const struct dx_options *options)
{
    struct dx_rollback_options o = { .root = dx_options_text(options, OPT_ROOT) };
    struct dx_rollback_result r;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    o.version = dx_options_text(options, OPT_TO);
    if (o.root == NULL || options->operand_count + (o.version != NULL) != 1) {
        (void)fprintf(stderr, "domaindex rollback: --root ROOT and one VERSION are needed\n");
        return DX_EXIT_USAGE;
    }
    if (o.version == NULL)
        o.version = options->operand[0];
    rc = dx_publish_time(&o.now_us, &o.fixed_time, &err);
    if (rc != DX_OK) {
        (void)fprintf(stderr, "domaindex rollback: %s\n", err.text);
        return DX_EXIT_USAGE;
    }
    rc = dx_rollback(&o, &r, &err);
    if (rc != DX_OK) {
        (void)fprintf(stderr, "domaindex rollback: %s\n", err.text);
        return DX_EXIT_REFUSED;
    }
    if (r.unchanged)
        (void)fprintf(stderr, "rollback: version %s is current already; nothing was changed\n",
                      r.to);
    else
        (void)fprintf(stderr, "rollback: from %s to %s, sequence %llu\n", r.from, r.to,
                      (unsigned long long)r.sequence);
    if (printf("%s\n", r.to) < 0 || fflush(stdout) != 0) {
        (void)fprintf(stderr,
                      "domaindex rollback: version %s is current, but standard output failed\n",
                      r.to);
        return DX_EXIT_REFUSED;
    }
    return DX_EXIT_DONE;
}

const struct dx_command dx_command_rollback = {
    .name = "rollback",
    .synopsis = "--root ROOT VERSION",
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
        "again; so do rows that an ingest left out because the version of then had them already.",
    .example = "domaindex rollback --root /srv/domaindex 000003-20261119T103000Z",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run,
};
