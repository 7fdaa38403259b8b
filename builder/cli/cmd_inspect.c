/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "builder/check/inspect.h"
#include "builder/cli/command.h"
#include "builder/root/root.h"
#include "fetch/source.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define OUTPUT_MAX \
    ((size_t)256 << 20) /* a footer of a million chunks; more cannot be a file of a lake */

enum { OPT_JSON, OPT_DEEP, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_JSON] = { "json", NULL, NULL, "one line of JSON for each FILE", DX_OPT_FLAG },
    [OPT_DEEP] = { "deep", NULL, NULL,
                   "read everything: all blocks, frames, records, and all pages of flat columns",
                   DX_OPT_FLAG },
};

/* The report of a file, an object, or a root, whichever `path` names. */
static int inspect_path(const char *path, bool deep, struct dx_buf *json, struct dx_error *err)
{
    bool remote = !dx_root_in_place(path);
    struct stat st = { 0 };

    if (!remote && stat(path, &st) != 0 && errno != ENOENT)
        return dx_fail_errno(err, errno, "%s", path);
    if (remote ? !dx_inspect_is_object(path) : S_ISDIR(st.st_mode))
        return dx_inspect_root(path, json, err);
    return remote ? dx_inspect_object(path, deep, json, err)
                  : dx_inspect_file(path, deep, json, err);
}

static int print_file(const char *path, const struct dx_options *o, struct dx_error *err)
{
    struct dx_buf json = DX_BUF_INIT(OUTPUT_MAX);
    struct dx_buf text = DX_BUF_INIT(OUTPUT_MAX);
    const struct dx_buf *out = &json;
    int rc = inspect_path(path, dx_options_has(o, OPT_DEEP), &json, err);

    if (rc == DX_OK && !dx_options_has(o, OPT_JSON)) {
        rc = dx_inspect_text(dx_span_of(json.data, json.size), &text, err);
        out = &text;
    } else if (rc == DX_OK) {
        dx_buf_u8(&json, '\n');
    }
    if (rc == DX_OK && fwrite(out->data, 1, out->size, stdout) != out->size)
        rc = dx_fail(err, DX_E_IO, "cannot write to standard output");
    dx_buf_release(&json);
    dx_buf_release(&text);
    return rc;
}

static int run_inspect(const struct dx_options *o)
{
    int code = DX_EXIT_DONE;

    if (o->operand_count == 0) {
        (void)dx_line_print(stderr, "domaindex inspect: name a file, a root or a URL");
        return DX_EXIT_USAGE;
    }
    for (size_t i = 0; i < o->operand_count; i++) {
        struct dx_error err = DX_ERROR_INIT;

        if (print_file(o->operand[i], o, &err) < 0) {
            (void)dx_command_fail("inspect", DX_EXIT_REFUSED, &err);
            code = DX_EXIT_REFUSED;
        }
    }
    return code;
}

const struct dx_command dx_command_inspect = {
    .name = "inspect",
    .synopsis = "[--json] [--deep] FILE|ROOT|URL...",
    .operands = DX_COMPLETE_FILES,
    .summary = "what stands in a file of an index or a lake",
    .description =
        "Tells any file of an index version or a lake by its first bytes and prints what it holds: "
        "headers, sections, counts, columns, row groups, the first entries. A directory is taken "
        "as a root and its versions are shown. With --deep everything is read and checked, and "
        "every page of a flat Parquet column is decoded. A file that is damaged or unknown gives "
        "an error and exit code 1.\n"
        "http://, https:// and s3:// URLs are read too: one that ends like a file of an index or "
        "a lake (.parquet, .zst, .json, .dat, .mphf, .dict, .roar, .dxc, .dxp) is that file, "
        "fetched whole into memory; any other is a root.",
    .example = "domaindex inspect --json ./quickstart-root",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_inspect,
};
