/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/lake/adopt_list.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_adopt.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/lake/suffix_list.h"
#include "builder/root/interrupt.h"
#include "builder/root/root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    OPT_ROOT,
    OPT_LIST,
    OPT_REPLACE,
    OPT_PSL,
    OPT_WAIT,
    OPT_DRY_RUN,
    OPT_PREPARE,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

#define AT(member) DX_OPT_PLACE(struct dx_lake_adopt, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "a directory, or s3://bucket/prefix", DX_OPT_ONE_TEXT,
                   AT(root) },
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
    [OPT_PREPARE] = { "prepare", "FILE", NULL,
                      "before the tasks: write the suffix list that the lake's rows need to FILE, "
                      "and print "
                      "the datasets, with --json whether they have rows; adopt nothing",
                      DX_OPT_TEXT },
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = DX_OPTION_JSON,
};

static int print_json(const struct dx_lake_adopt *a)
{
    struct dx_buf out = DX_BUF_INIT(DX_ADOPT_TEXT_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key_u64(&j, "files", a->files_moved);
    dx_json_key_u64(&j, "datasets", a->datasets);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, a->dry_run);
    dx_json_key(&j, "placed");
    dx_json_array(&j);
    for (size_t i = 0; a->placed != NULL && i < a->files_moved; i++)
        dx_json_str(&j, a->placed[i]);
    dx_json_end(&j);
    return dx_command_json_print("adopt", DX_EXIT_DONE, &j, &out);
}

/* ---- before the tasks ---- */

static int print_datasets(const struct dx_lake_snapshot *now, bool json)
{
    const struct dx_dataset_registry *registry = now->dataset_registry;
    struct dx_buf out = DX_BUF_INIT(DX_ADOPT_TEXT_MAX);
    struct dx_json j;

    if (json) {
        dx_command_json_open(&j, &out);
        dx_json_key(&j, "datasets");
        dx_json_array(&j);
    }
    for (size_t i = 0; registry != NULL && i < dx_dataset_registry_count(registry); i++) {
        const struct dx_dataset *d = dx_dataset_registry_at(registry, i);

        if (!json) {
            printf("%u\t%s\n", d->dataset_id, d->name);
            continue;
        }
        dx_json_object(&j);
        dx_json_key_u64(&j, "dataset_id", d->dataset_id);
        dx_json_key(&j, "name");
        dx_json_str(&j, d->name);
        dx_json_key(&j, "has_rows");
        dx_json_bool(&j, dx_lake_snapshot_has_rows(now, d->dataset_id));
        dx_json_end(&j);
    }
    if (!json)
        return DX_EXIT_DONE;
    dx_json_end(&j);
    return dx_command_json_print("adopt", DX_EXIT_DONE, &j, &out);
}

static bool is_new(const char *root)
{
    return dx_root_in_place(root) && access(root, F_OK) < 0 && errno == ENOENT;
}

static int prepare_tasks(const struct dx_lake_adopt *a, const char *path, bool json)
{
    struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
    struct dx_buf psl = DX_SUFFIX_LIST_INIT;
    struct dx_root root = DX_ROOT_INIT;
    struct dx_error err = DX_ERROR_INIT;
    int code;
    int rc = DX_OK;

    if (!is_new(a->root)) {
        rc = dx_root_open(&root, a->root, DX_ROOT_LIST, &err);
        if (rc == DX_OK)
            rc = dx_suffix_list_of_lake(&root, &psl, &err);
        if (rc >= 0)
            rc = dx_lake_snapshot_open(&now, &root, &err);
    }
    if (rc == DX_OK && psl.size == 0)
        rc = dx_suffix_list_read(a->psl_path, &psl, &err);
    if (rc == DX_OK)
        rc = dx_file_replace(path, dx_span_of(psl.data, psl.size), &err);
    code = rc < 0 ? dx_command_fail("adopt", DX_EXIT_REFUSED, &err) : print_datasets(&now, json);
    dx_buf_release(&psl);
    dx_lake_snapshot_close(&now);
    dx_root_close(&root);
    return code;
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

static void say(const char *text)
{
    (void)dx_line_print(stderr, "domaindex adopt: %s", text);
}

static int run_adopt(const struct dx_options *options)
{
    struct dx_adopt_list list = DX_ADOPT_LIST_INIT;
    struct dx_lake_adopt a = { .files = &list, .stopped = dx_interrupted, .say = say };
    struct dx_error err = DX_ERROR_INIT;
    const char *path = dx_options_text(options, OPT_LIST);
    const char *psl = dx_options_text(options, OPT_PREPARE);
    int rc = dx_options_store(options, &a, &err);
    int code = DX_EXIT_DONE;

    if (rc == DX_OK)
        rc = dx_options_operands(options, 0, &err);
    if (rc == DX_OK && (a.root == NULL || (path == NULL) == (psl == NULL)))
        rc = dx_fail(&err, DX_E_INVALID, "--root ROOT and one of --list and --prepare are needed");
    if (rc < 0)
        return dx_command_fail("adopt", DX_EXIT_USAGE, &err);
    dx_interrupt_catch();
    if (psl != NULL)
        return prepare_tasks(&a, psl, dx_options_has(options, OPT_JSON));
    rc = read_list(&list, path, &err);
    if (rc == DX_OK)
        rc = dx_lake_adopt_run(&a, &err);
    if (rc < 0)
        code = dx_command_fail("adopt", DX_EXIT_REFUSED, &err);
    else if (dx_options_has(options, OPT_JSON))
        code = print_json(&a);
    else if (!dx_options_has(options, OPT_QUIET))
        (void)dx_line_print(stderr, "%s: files %zu, datasets %zu",
                            a.dry_run ? "adopt: dry run: would be adopted" : "adopted",
                            a.files_moved, a.datasets);
    dx_adopt_list_release(&list);
    free(a.placed);
    return code;
}

const struct dx_command dx_command_adopt = {
    .name = "adopt",
    .synopsis = "--root ROOT (--list FILE [--replace] [--psl FILE] [--wait SECONDS] [--dry-run] | "
                "--prepare FILE) [--json]",
    .summary = "move lake files that other processes wrote into the lake",
    .description =
        "For engines that write a lake in parallel: --prepare gives the suffix list; each of their "
        "tasks runs 'domaindex ingest' with it as --psl and with --split-edges, into a root of its "
        "own, with a range of domain ids that no other task has; then one adopt makes the files of "
        "all tasks a part of the "
        "lake, and 'domaindex publish' indexes them. The data source for Spark works so.\n\n"
        "Into a directory files are moved: the tasks' roots are on its file system. Into object "
        "storage they are put from this machine, or, if their addresses are below ROOT/spool/, "
        "copied "
        "by the store and then removed there: a task adopts its own files into a root below the "
        "spool, "
        "and 'placed' of its --json says which addresses they have.\n\n"
        "All files count or none: a run that dies leaves each dataset as it was, and the next one "
        "removes what it had moved. A dataset that has rows is refused without --replace, as "
        "nothing compares old and new rows. A row that two of the files have is refused with their "
        "names, "
        "as it would be listed and counted twice: rows of domains that only one file has, by the "
        "ranges of domain ids in the footers, are not read for this; all others are compared, but "
        "not "
        "those of two objects that share a single domain and are not the same. The files are in "
        "the order "
        "in which listings show their rows: of each dataset by domain and URL.",
    .example =
        "domaindex adopt --root /srv/domaindex --list files.tsv --psl /srv/domaindex/psl.dat",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_adopt,
};
