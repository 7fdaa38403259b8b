/* SPDX-License-Identifier: Apache-2.0
 * cmd_profiles.c - `domaindex profiles`: the public corpora that ingest knows.
 */
#include "builder/cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json_out.h"
#include "builder/input/records/dataset_template.h"
#include "builder/input/records/profile.h"

#define TEXT_MAX (256 * 1024)
#define PATHS_MAX ((size_t)256 << 20)

enum { OPT_JSON, OPT_NAME, OPT_COUNT };

static const struct dx_option table[OPT_COUNT] = {
    [OPT_JSON] = { "json", NULL, NULL, "a JSON array instead of text", DX_OPT_FLAG },
    [OPT_NAME] = { "datasets-of", "FILE", NULL,
                   "with NAME: how that profile names the datasets of inputs, whose paths FILE "
                   "has, a line each: a "
                   "line of JSON for each, with a prefix and the column that follows it",
                   DX_OPT_TEXT },
};

static void put_list(struct dx_buf *out, const char *label, const char *const *list,
                     const char *between, const char *none)
{
    if (list[0] == NULL && none == NULL)
        return;
    dx_buf_fmt(out, "  %-10s ", label);
    if (list[0] == NULL)
        dx_buf_str(out, none);
    for (size_t i = 0; list[i] != NULL; i++)
        dx_buf_fmt(out, "%s%s", i > 0 ? between : "", list[i]);
    dx_buf_u8(out, '\n');
}

static void put_profile(struct dx_buf *out, const struct dx_profile *p)
{
    dx_buf_fmt(out, "%s: %s\n", p->name, p->summary);
    dx_buf_fmt(out, "  %-10s %s\n", "source", p->source);
    dx_buf_fmt(out, "  %-10s %s\n", "files", p->files);
    put_list(out, "url", p->url, " or ", "of the format");
    put_list(out, "time", p->ts, " or ", p->no_ts ? "none" : "of the format");
    dx_buf_fmt(out, "  %-10s %s\n", "dataset", p->dataset);
    put_list(out, "extras", p->extra, ", ", NULL);
    put_list(out, "include", p->include, ", ", NULL);
    put_list(out, "exclude", p->exclude, ", ", NULL);
    dx_buf_fmt(out, "  %-10s domaindex ingest --root ROOT --profile %s INPUT...\n", "use", p->name);
}

static void json_text(struct dx_json *j, const char *key, const char *text)
{
    dx_json_key(j, key);
    dx_json_str(j, text);
}

static void json_list(struct dx_json *j, const char *key, const char *const *list)
{
    dx_json_key(j, key);
    dx_json_array(j);
    for (; *list != NULL; list++)
        dx_json_str(j, *list);
    dx_json_end(j);
}

static void json_profile(struct dx_json *j, const struct dx_profile *p)
{
    dx_json_object(j);
    json_text(j, "profile", p->name);
    json_text(j, "summary", p->summary);
    json_text(j, "source", p->source);
    json_text(j, "files", p->files);
    json_list(j, "url", p->url);
    json_list(j, "time", p->ts);
    json_text(j, "dataset", p->dataset);
    json_list(j, "extras", p->extra);
    json_list(j, "include", p->include);
    json_list(j, "exclude", p->exclude);
    dx_json_end(j);
}

/* one: NULL: all of them. */
static void put_profiles(struct dx_buf *out, const struct dx_profile *one, bool as_json)
{
    struct dx_json j;

    dx_json_open(&j, out);
    if (as_json)
        dx_json_array(&j);
    for (size_t i = 0; i < dx_profile_count; i++) {
        const struct dx_profile *p = &dx_profiles[i];

        if (one != NULL && p != one)
            continue;
        if (as_json)
            json_profile(&j, p);
        else if (one != NULL)
            put_profile(out, p);
        else
            dx_buf_fmt(out, "%-15s %-35s %s\n", p->name, p->files, p->summary);
    }
    if (as_json) {
        dx_json_end(&j);
        dx_buf_u8(out, '\n');
    }
}

/* A line of the file. */
static int name_one(struct dx_buf *out, const struct dx_dataset_template *t, const char *path,
                    struct dx_error *err)
{
    char prefix[DX_DATASET_TEMPLATE_MAX];
    struct dx_json j;
    int rc = dx_dataset_template_fill(t->prefix, path, prefix, sizeof prefix, err);

    if (rc < 0)
        return rc;
    dx_json_open(&j, out);
    dx_json_object(&j);
    json_text(&j, "path", path);
    json_text(&j, "prefix", prefix);
    dx_json_key(&j, "column");
    if (t->column[0] != '\0')
        dx_json_str(&j, t->column);
    else
        dx_json_null(&j);
    dx_json_end(&j);
    dx_buf_u8(out, '\n');
    return DX_OK;
}

static int name_all(struct dx_buf *out, const struct dx_profile *p, const char *file,
                    struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(PATHS_MAX);
    struct dx_dataset_template t;
    char *rest = NULL;
    int rc = dx_dataset_template_parse(&t, p->dataset, err);

    if (rc == DX_OK)
        rc = dx_file_read(file, PATHS_MAX - 1, &text, err);
    dx_buf_u8(&text, '\0');
    if (rc == DX_OK && text.failed)
        rc = dx_buf_fail(&text, err, file);
    if (rc == DX_OK)
        for (char *line = strtok_r((char *)text.data, "\n", &rest); rc == DX_OK && line != NULL;
             line = strtok_r(NULL, "\n", &rest))
            rc = name_one(out, &t, line, err);
    dx_buf_release(&text);
    return rc;
}

static int run_profiles(const struct dx_options *options)
{
    const char *file = dx_options_text(options, OPT_NAME);
    struct dx_buf out = DX_BUF_INIT(file != NULL ? 4 * PATHS_MAX : TEXT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_profile *one = NULL;

    if (dx_options_operands(options, 1, &err) < 0)
        return dx_command_fail("profiles", DX_EXIT_USAGE, &err);
    if (options->operand_count == 1 && dx_profile_get(&one, options->operand[0], &err) < 0)
        return dx_command_fail("profiles", DX_EXIT_USAGE, &err);
    if (file != NULL && one == NULL) {
        (void)dx_fail(&err, DX_E_INVALID, "--datasets-of needs the NAME of a profile");
        return dx_command_fail("profiles", DX_EXIT_USAGE, &err);
    }
    if (file != NULL && name_all(&out, one, file, &err) < 0) {
        dx_buf_release(&out);
        return dx_command_fail("profiles", DX_EXIT_REFUSED, &err);
    }
    if (file == NULL)
        put_profiles(&out, one, dx_options_has(options, OPT_JSON));
    return dx_command_print("profiles", DX_EXIT_DONE, &out);
}

const struct dx_command dx_command_profiles = {
    .name = "profiles",
    .synopsis = "[--json] [NAME [--datasets-of FILE]]",
    .summary = "list the public corpora that ingest --profile knows",
    .description =
        "Lists the profiles: for each public corpus its columns of URL and time, how its datasets "
        "are named, the further columns that are kept, and which files of a folder are read. With "
        "NAME it prints that profile. A column of which releases differ has several names: the "
        "first one that an input has is used. A dataset is named by text, {crawl} and {folder} of "
        "the input's path, and {C}, a column.",
    .example = "domaindex profiles fineweb",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_profiles,
};
