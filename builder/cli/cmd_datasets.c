/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/civil_time.h"
#include "builder/cli/command.h"
#include "builder/root/opened_version.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/view/view.h"

#define TEXT_MAX (256u << 20)

enum { OPT_ROOT, OPT_VERSION, OPT_JSON, OPT_CACHE_DIR, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_VERSION] = { "version", "VERSION", NULL, "of this version, not the current one",
                      DX_OPT_ONE_TEXT },
    [OPT_JSON] = DX_OPTION_JSON,
    [OPT_CACHE_DIR] = DX_OPTION_CACHE_DIR,
};

static void time_text(bool has, int64_t us, char out[DX_CIVIL_TEXT])
{
    if (has)
        (void)dx_civil_text_us(us, out);
    else
        (void)snprintf(out, DX_CIVIL_TEXT, "-");
}

static void print_table(const struct dx_registry *r, struct dx_buf *out)
{
    dx_buf_fmt(out, "%10s %12s %14s %14s %-20s %-20s %s\n", "id", "domains", "URLs", "rows",
               "first time", "last time", "name");
    for (size_t i = 0; i < r->count; i++) {
        const struct dx_dataset *d = &r->datasets[i];
        char first[DX_CIVIL_TEXT];
        char last[DX_CIVIL_TEXT];

        time_text(d->has_ts, d->first_us, first);
        time_text(d->has_ts, d->last_us, last);
        if (d->kind == DX_DATASET_COUNTS)
            dx_buf_fmt(out, "%10u %12llu %14s %14s %-20s %-20s %s (counts: %llu pages)\n",
                       (unsigned)d->dataset_id, (unsigned long long)d->domains, "-", "-", first,
                       last, d->name, (unsigned long long)d->rows);
        else
            dx_buf_fmt(out, "%10u %12llu %14llu %14llu %-20s %-20s %s\n", (unsigned)d->dataset_id,
                       (unsigned long long)d->domains, (unsigned long long)d->urls,
                       (unsigned long long)d->rows, first, last, d->name);
    }
}

/* What GET /v1/datasets answers, without pages. */
static int json(struct dx_version *v, struct dx_buf *out, struct dx_error *err)
{
    const struct dx_page_of all = { 0, v->registry.count };
    struct dx_problem problem;

    if (dx_answer_datasets(DX_VIEW_ALL(v), all, out, &problem) != 1)
        return dx_fail(err, DX_E_INVALID, "%s", problem.detail);
    dx_buf_u8(out, '\n');
    return DX_OK;
}

static int run_datasets(const struct dx_options *o)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_opened_version opened = { .version = NULL };
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (dx_options_text(o, OPT_ROOT) == NULL)
        (void)dx_fail(&err, DX_E_INVALID, "--root is missing");
    if (dx_options_text(o, OPT_ROOT) == NULL || dx_options_operands(o, 0, &err) < 0)
        return dx_command_fail("datasets", DX_EXIT_USAGE, &err);
    options.mirror_dir = dx_options_text(o, OPT_CACHE_DIR);
    rc = dx_opened_version_open(&opened, dx_options_text(o, OPT_ROOT),
                                dx_options_text(o, OPT_VERSION), &options, &err);
    if (rc == DX_OK && dx_options_has(o, OPT_JSON))
        rc = json(opened.version, &out, &err);
    else if (rc == DX_OK)
        print_table(&opened.version->registry, &out);
    if (rc == DX_OK && out.failed)
        rc = dx_buf_fail(&out, &err, "datasets");
    dx_opened_version_close(&opened);
    if (rc == DX_OK)
        return dx_command_print("datasets", DX_EXIT_DONE, &out);
    dx_buf_release(&out);
    return dx_command_fail("datasets", DX_EXIT_REFUSED, &err);
}

const struct dx_command dx_command_datasets = {
    .name = "datasets",
    .synopsis = "--root ROOT [--version VERSION] [--json]",
    .summary = "ids, names and sizes of the datasets of a version",
    .description = "Prints a line for each dataset: its id, the numbers of its domains, distinct "
                   "URLs and rows, "
                   "its first and last time, and its name. With --json what GET /v1/datasets "
                   "answers, without pages, on one line.\n\n"
                   "ROOT is a directory, http://..., https://... or s3://bucket/prefix.",
    .example = "domaindex datasets --root ./quickstart-root",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_datasets,
};
