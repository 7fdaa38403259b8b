/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/maintain/dataset_remove.h"
#include "builder/root/interrupt.h"
#include "builder/root/progress.h"

#define JSON_MAX ((size_t)16 << 20)

enum { OPT_ROOT, OPT_DATASET, OPT_DRY_RUN, OPT_WAIT, OPT_QUIET, OPT_JSON, OPT_COUNT };

#define AT(member) DX_OPT_PLACE(struct dx_dataset_remove, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "where the lake and the index live: a directory or s3://bucket/prefix",
                   DX_OPT_ONE_TEXT, AT(root) },
    [OPT_DATASET] = { "dataset", "NAME", NULL, "dataset to remove; may be given several times",
                      DX_OPT_TEXT },
    [OPT_DRY_RUN] = DX_OPTION_DRY_RUN(AT(dry_run), "say what would be removed, and change nothing"),
    [OPT_WAIT] = DX_OPTION_WAIT(AT(lock_wait_ms)),
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = DX_OPTION_JSON,
};

static void say(const char *text)
{
    (void)dx_line_print(stderr, "domaindex remove: %s", text);
}

static int read_options(const struct dx_options *options, struct dx_dataset_remove *r,
                        struct dx_error *err)
{
    int rc = dx_options_store(options, r, err);

    if (rc == DX_OK)
        rc = dx_options_operands(options, 0, err);
    if (rc < 0)
        return rc;
    if (r->root == NULL)
        return dx_fail(err, DX_E_INVALID, "--root ROOT is missing");
    while (dx_options_nth(options, OPT_DATASET, r->count) != NULL)
        r->count++;
    return r->count > 0 ? DX_OK : dx_fail(err, DX_E_INVALID, "--dataset NAME is missing");
}

/* Also with --quiet: no other command will say so again. */
static void say_unpublished(const struct dx_dataset_remove *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->result[i].unpublished > 0)
            (void)dx_line_print(stderr,
                                "remove: %s: %llu file%s that no version has, and none will take; "
                                "gc does not remove "
                                "them, delete them yourself; first: %s",
                                r->names[i], (unsigned long long)r->result[i].unpublished,
                                dx_plural(r->result[i].unpublished), r->result[i].first);
}

static void print_summary(const struct dx_dataset_remove *r)
{
    char size[32];

    for (size_t i = 0; i < r->count; i++)
        (void)dx_line_print(stderr, "%s: %s (dataset_id %u), files %llu, %s",
                            r->dry_run ? "would be removed" : "removed", r->names[i],
                            r->result[i].dataset_id, (unsigned long long)r->result[i].files,
                            dx_progress_size(r->result[i].bytes, size));
    if (r->dry_run)
        return;
    (void)dx_line_print(
        stderr,
        "Versions that have it go on answering. It is gone with the next "
        "'domaindex publish'; its files go when gc takes the last of those versions. While a newer "
        "version uses their parts of the index, 'domaindex publish --parts 1' merges these "
        "first.");
}

static int print_json(const struct dx_dataset_remove *r)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, r->dry_run);
    dx_json_key(&j, "datasets");
    dx_json_array(&j);
    for (size_t i = 0; i < r->count; i++) {
        dx_json_object(&j);
        dx_json_key_u64(&j, "dataset_id", r->result[i].dataset_id);
        dx_json_key(&j, "name");
        dx_json_str(&j, r->names[i]);
        dx_json_key_u64(&j, "files", r->result[i].files);
        dx_json_key_u64(&j, "bytes", r->result[i].bytes);
        dx_json_key_u64(&j, "files_unpublished", r->result[i].unpublished);
        dx_json_end(&j);
    }
    dx_json_end(&j);
    return dx_command_json_print("remove", DX_EXIT_DONE, &j, &out);
}

static int run_remove(const struct dx_options *options)
{
    struct dx_dataset_remove r = { .stopped = dx_interrupted, .say = say };
    struct dx_error err = DX_ERROR_INIT;
    const char **names;
    int rc = read_options(options, &r, &err);
    int code = DX_EXIT_DONE;

    if (rc < 0)
        return dx_command_fail("remove", DX_EXIT_USAGE, &err);
    assert(r.count > 0); /* read_options */
    names = calloc(r.count, sizeof *names);
    if (names == NULL) {
        (void)dx_no_memory(&err, "remove");
        return dx_command_fail("remove", DX_EXIT_REFUSED, &err);
    }
    for (size_t i = 0; i < r.count; i++)
        names[i] = dx_options_nth(options, OPT_DATASET, i);
    r.names = names;
    dx_interrupt_catch();
    rc = dx_dataset_remove_run(&r, &err);
    if (rc >= 0)
        say_unpublished(&r);
    if (rc < 0)
        code = dx_command_fail("remove", DX_EXIT_REFUSED, &err);
    else if (dx_options_has(options, OPT_JSON))
        code = print_json(&r);
    else if (!dx_options_has(options, OPT_QUIET))
        print_summary(&r);
    free(r.result);
    free(names);
    return code;
}

const struct dx_command dx_command_remove = {
    .name = "remove",
    .synopsis = "--root ROOT --dataset NAME... [--dry-run] [--wait SECONDS] [--quiet] [--json]",
    .summary = "take datasets out of the lake",
    .description =
        "Marks datasets as removed, all of them or none. Nothing is deleted: the versions that "
        "are there go on answering with them, the next 'domaindex publish' leaves them out, and "
        "their files go with the last version that names them (domaindex gc). A version whose part "
        "of the index a "
        "newer one uses stays until it is merged: 'domaindex publish --parts 1' does that at once. "
        "The id is never "
        "given again; ingesting under the same name later begins a new dataset.\n\n"
        "Files that were not published, also those that no publish could take, stay where they "
        "are: "
        "no version will ever name them, so gc does not delete them. The command prints how many "
        "there are, and the first; delete them yourself. What is left of a replacement that died "
        "is deleted.\n\n"
        "Programs that read the Parquet files of ROOT/urls/ still see its rows until gc has "
        "deleted "
        "the files; 'domaindex files' lists those of a version.\n\n"
        "After a rollback to a version that has the dataset it is served again, until the next "
        "publish leaves it out again. To take single domains, hosts or URLs out of answers at "
        "once, see domaindex suppress.",
    .example = "domaindex remove --root /srv/domaindex --dataset old-crawl",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_remove,
};
