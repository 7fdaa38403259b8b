/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/json_out.h"
#include "builder/cli/command.h"
#include "builder/lake/adopt_list.h"
#include "builder/lake/lake_adopt.h"
#include "builder/root/interrupt.h"

#include <stdio.h>

enum { OPT_ROOT, OPT_LIST, OPT_REPLACE, OPT_PSL, OPT_WAIT, OPT_DRY_RUN, OPT_JSON, OPT_COUNT };

#define AT(member) DX_OPT_PLACE(struct dx_lake_adopt, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "a directory", DX_OPT_TEXT, AT(root) },
    [OPT_LIST] = { "list", "FILE", NULL,
                   "the files, a line each: size, range of prefixes, dataset, path, with tabs "
                   "between",
                   DX_OPT_TEXT },
    [OPT_REPLACE] = { "replace", NULL, NULL,
                      "the files take the place of all that their datasets had", DX_OPT_FLAG,
                      AT(replace) },
    [OPT_PSL] = { "psl", "FILE", NULL,
                  "public suffix list that the files were written with; if not given the system's",
                  DX_OPT_TEXT, AT(psl_path) },
    [OPT_WAIT] = DX_OPTION_WAIT(AT(lock_wait_ms)),
    [OPT_DRY_RUN] = DX_OPTION_DRY_RUN(AT(dry_run), "check the list and the lake; move nothing"),
    [OPT_JSON] = DX_OPTION_JSON,
};

static int print_json(const struct dx_lake_adopt *a)
{
    struct dx_buf out = DX_BUF_INIT(4096);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key_u64(&j, "files", a->files_moved);
    dx_json_key_u64(&j, "datasets", a->datasets);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, a->dry_run);
    return dx_command_json_print("adopt", DX_EXIT_DONE, &j, &out);
}

static int read_list(struct dx_adopt_list *list, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_ADOPT_TEXT_MAX);
    int rc = dx_file_read(path, DX_ADOPT_TEXT_MAX, &text, err);

    if (rc == DX_OK)
        rc = dx_adopt_list_parse(list, dx_span_of(text.data, text.size), path, err);
    dx_buf_release(&text);
    return rc;
}

static int run(const struct dx_options *options)
{
    struct dx_adopt_list list = DX_ADOPT_LIST_INIT;
    struct dx_lake_adopt a = { .files = &list, .stopped = dx_interrupted };
    struct dx_error err = DX_ERROR_INIT;
    const char *path = dx_options_text(options, OPT_LIST);
    int rc = dx_options_store(options, &a, &err);
    int code = DX_EXIT_DONE;

    if (rc == DX_OK)
        rc = dx_options_operands(options, 0, &err);
    if (rc == DX_OK && (a.root == NULL || path == NULL))
        rc = dx_fail(&err, DX_E_INVALID, "--root ROOT and --list FILE are needed");
    if (rc < 0) {
        fprintf(stderr, "domaindex adopt: %s\nTry 'domaindex help adopt'.\n", err.text);
        return DX_EXIT_USAGE;
    }
    dx_interrupt_catch();
    rc = read_list(&list, path, &err);
    if (rc == DX_OK)
        rc = dx_lake_adopt_run(&a, &err);
    if (rc < 0)
        code = dx_command_fail("adopt", DX_EXIT_REFUSED, &err);
    else if (dx_options_has(options, OPT_JSON))
        code = print_json(&a);
    else
        fprintf(stderr, "%s: files %zu, datasets %zu\n",
                a.dry_run ? "adopt: dry run: would be adopted" : "adopted", a.files_moved,
                a.datasets);
    dx_adopt_list_release(&list);
    return code;
}

const struct dx_command dx_command_adopt = {
    .name = "adopt",
    .synopsis = "--root ROOT --list FILE [--replace] [--psl FILE] [--wait SECONDS] [--dry-run] "
                "[--json]",
    .summary = "move lake files that other processes wrote into the lake",
    .description =
        "For engines that write a lake in parallel: each of their tasks runs 'domaindex ingest' "
        "into a root of its own, on the file system of ROOT, with a range of domains that no other "
        "task has and with ROOT/psl.dat as --psl; then one adopt moves the files of all tasks, "
        "and 'domaindex publish' indexes them. The data source for Spark works so.\n\n"
        "All files count or none: a run that dies leaves each dataset as it was, and the next one "
        "removes what it had moved. A dataset that has rows is refused without --replace, as "
        "nothing compares old and new rows. The files are moved, not copied. They are in the order "
        "in which listings show their rows: of each dataset by domain and URL.",
    .example =
        "domaindex adopt --root /srv/domaindex --list files.tsv --psl /srv/domaindex/psl.dat",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run,
};
