/* SPDX-License-Identifier: Apache-2.0
 * For the Python package, which makes the tables: a metadata file counts as soon as it is there, so of two
 * updates only one may put the file of a number. pyarrow, by which it writes all others, knows no conditions.
 */
#include <stdio.h>

#include "builder/cli/command.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

#define TRIES 16
#define HINT_MAX 32
#define NAME_MAX_BYTES 128

enum { OPT_ROOT, OPT_TABLE, OPT_NUMBER, OPT_COUNT };

static const char *const tables[] = { "rows", "presence" };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "a directory, or s3://bucket/prefix", DX_OPT_ONE_TEXT },
    [OPT_TABLE] = { "table", "ROWS|PRESENCE", NULL, "which of the tables in ROOT/iceberg",
                    DX_OPT_CHOICE },
    [OPT_NUMBER] = { "number", "N", NULL, "of the metadata file: one more than the newest",
                     DX_OPT_NUMBER(1, UINT32_MAX) },
};

/* Of a hint that is there; 0: it says no number. */
static uint64_t hinted(const struct dx_buf *text)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text->size && text->data[i] >= '0' && text->data[i] <= '9'; i++)
        n = n > UINT32_MAX ? n : n * 10 + (text->data[i] - '0');
    return n;
}

/* Never back to an older file, which the update that made a newer one may have removed. */
static int raise_hint(struct dx_store *store, const char *table, uint64_t number,
                      struct dx_error *err)
{
    char object[NAME_MAX_BYTES];
    char words[HINT_MAX];
    int n = snprintf(words, sizeof words, "%llu", (unsigned long long)number);
    int rc = DX_E_CONFLICT;

    (void)snprintf(object, sizeof object, "iceberg/%s/metadata/version-hint.text", table);
    for (int i = 0; (rc == DX_E_CONFLICT || rc == DX_E_EXISTS) && i < TRIES; i++) {
        struct dx_buf text = DX_BUF_INIT(4096);
        struct dx_store_stamp stamp;
        char etag[DX_SOURCE_ETAG];

        rc = dx_store_read(store, object, 0, &text, &stamp, err);
        if (rc == 0 || (rc == 1 && hinted(&text) < number)) {
            const struct dx_put put = { .object = object,
                                        .bytes = dx_span_of(words, (size_t)n),
                                        .if_absent = rc == 0,
                                        .if_match = rc == 0 ? NULL : stamp.etag };

            rc = dx_store_put(store, &put, etag, err);
        }
        dx_buf_release(&text);
    }
    return rc < 0 ? rc : DX_OK;
}

static int commit_metadata(struct dx_store *store, const char *table, uint64_t number,
                           const char *path, struct dx_error *err)
{
    char object[NAME_MAX_BYTES];
    char etag[DX_SOURCE_ETAG];
    const struct dx_put put = { .object = object, .path = path, .if_absent = true };
    int rc;

    (void)snprintf(object, sizeof object, "iceberg/%s/metadata/v%llu.metadata.json", table,
                   (unsigned long long)number);
    rc = dx_store_put(store, &put, etag, err);
    if (rc == DX_E_EXISTS)
        return dx_fail(err, DX_E_EXISTS, "%s is there already: another update was faster", object);
    if (rc == DX_OK && (rc = raise_hint(store, table, number, err)) < 0)
        rc = dx_fail_in(err, "%s is the newest metadata, but its number is not in the hint",
                        object);
    return rc;
}

static int run_commit_table(const struct dx_options *options)
{
    struct dx_root root = DX_ROOT_INIT;
    struct dx_error err = DX_ERROR_INIT;
    const char *name = dx_options_text(options, OPT_ROOT);
    uint64_t number = 0;
    uint64_t table = 0;
    int rc = dx_options_operands(options, 1, &err);

    if (rc == DX_OK &&
        (name == NULL || options->operand_count != 1 || !dx_options_has(options, OPT_TABLE) ||
         !dx_options_has(options, OPT_NUMBER)))
        rc = dx_fail(&err, DX_E_INVALID, "--root, --table, --number and FILE are needed");
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_NUMBER, &number, &err);
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_TABLE, &table, &err);
    if (rc < 0)
        return dx_command_fail("commit-table", DX_EXIT_USAGE, &err);
    rc = dx_root_open(&root, name, DX_ROOT_WRITE, &err);
    if (rc == DX_OK && !root.in_place)
        rc = dx_root_enter(&root, 0, 0, &err); /* does the store keep conditions? */
    if (rc == DX_OK)
        rc = commit_metadata(root.store, tables[table], number, options->operand[0], &err);
    dx_root_close(&root);
    return rc < 0 ? dx_command_fail("commit-table", DX_EXIT_REFUSED, &err) : DX_EXIT_DONE;
}

const struct dx_command dx_command_commit_table = {
    .name = "commit-table",
    .synopsis = "--root ROOT --table rows|presence --number N FILE",
    .operands = DX_COMPLETE_FILES,
    .summary = "make a file the newest metadata of an Iceberg table, if no other update did",
    .description =
        "The last step of an update of the tables in ROOT/iceberg, by which 'domaindex publish "
        "--iceberg' and the Python package end one: FILE becomes metadata file N of the table on "
        "the "
        "condition that no file has this name, and version-hint.text is raised to N. If two "
        "updates race, "
        "one succeeds; the other fails, exits with 1, and nothing of the table has changed by it.",
    .example = "domaindex commit-table --root s3://lake/p --table rows --number 7 v7.json",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_commit_table,
};
