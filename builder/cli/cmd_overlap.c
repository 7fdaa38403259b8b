/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/root/opened_version.h"
#include "query/answers/answer.h"
#include "query/view/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX (1u << 20)

enum { OPT_ROOT, OPT_VERSION, OPT_CACHE_DIR, OPT_JSON, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_VERSION] = { "version", "VERSION", NULL, "of this version, not the current one",
                      DX_OPT_ONE_TEXT },
    [OPT_CACHE_DIR] = DX_OPTION_CACHE_DIR,
    [OPT_JSON] = DX_OPTION_JSON_ANYWAY,
};

static int print_overlap(const struct dx_opened_version *o, const char *const *said,
                         struct dx_buf *body, struct dx_error *err)
{
    struct dx_problem problem;
    uint32_t ids[2] = { 0, 0 };
    int rc = DX_OK;

    for (int i = 0; rc == DX_OK && i < 2; i++)
        rc = dx_opened_version_dataset(o, said[i], &ids[i], err);
    if (rc != DX_OK)
        return rc;
    rc = dx_answer_overlap(DX_VIEW_ALL(o->version), o->canon, ids[0], ids[1], body, &problem);
    if (rc != 1)
        return dx_fail(err, rc < 0 ? (enum dx_code)rc : DX_E_NOT_FOUND, "%s", problem.detail);
    dx_buf_u8(body, '\n');
    if (body->failed)
        return dx_buf_fail(body, err, "overlap");
    if (fwrite(body->data, 1, body->size, stdout) != body->size || fflush(stdout) != 0)
        return dx_fail(err, DX_E_IO, "standard output failed");
    return DX_OK;
}

static int run_overlap(const struct dx_options *o)
{
    struct dx_buf body = DX_BUF_INIT(ANSWER_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_opened_version opened = { .version = NULL };
    int rc;

    if (dx_options_text(o, OPT_ROOT) == NULL || o->operand_count != 2) {
        (void)dx_line_print(stderr, "domaindex overlap: --root ROOT and two datasets are needed");
        return DX_EXIT_USAGE;
    }
    options.mirror_dir = dx_options_text(o, OPT_CACHE_DIR);
    rc = dx_opened_version_open(&opened, dx_options_text(o, OPT_ROOT),
                                dx_options_text(o, OPT_VERSION), &options, &err);
    if (rc == DX_OK)
        rc = print_overlap(&opened, o->operand, &body, &err);
    if (rc < 0)
        (void)dx_command_fail("overlap", DX_EXIT_REFUSED, &err);
    dx_opened_version_close(&opened);
    dx_buf_release(&body);
    return rc == DX_OK ? DX_EXIT_DONE : DX_EXIT_REFUSED;
}

const struct dx_command dx_command_overlap = {
    .name = "overlap",
    .synopsis = "--root ROOT A B",
    .summary = "which domains two datasets share",
    .description =
        "Prints what GET /v1/datasets/A/overlap/B answers, as one line of JSON: how many domains "
        "both datasets have, how many only one, and the same weighed by distinct URLs, with the "
        "Jaccard index of each. A and B are numbers or names of datasets. All numbers are exact, "
        "and of what suppressions leave to be seen. Both lists of domains are read once, in order; "
        "memory does not grow with them.\n\n"
        "ROOT is a directory, http://..., https://... or s3://bucket/prefix; domaindex(1) names "
        "the environment variables that remote ones are reached with.",
    .example = "domaindex overlap --root ./quickstart-root 1 1",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_overlap,
};
