/* SPDX-License-Identifier: Apache-2.0
 * cmd_files.c - domaindex files: the lake files that a version has, for programs that read Parquet.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/lake/listed_files.h"
#include "builder/root/opened_version.h"
#include "builder/root/root.h"
#include "builder/root/version_files.h"
#include "format/root/registry_json.h"
#include "loader/version.h"

#define JSON_MAX ((size_t)1 << 30)

enum { OPT_ROOT, OPT_VERSION, OPT_DATASET, OPT_JSON, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "a directory, http(s)://... or s3://bucket/prefix",
                   DX_OPT_ONE_TEXT },
    [OPT_VERSION] = { "version", "VERSION", NULL, "of this version instead of the current one",
                      DX_OPT_ONE_TEXT },
    [OPT_DATASET] = { "dataset", "NAME", NULL,
                      "of this dataset alone, by its name or its id (id:7 or name:7 where it may "
                      "be either); may be given again",
                      DX_OPT_TEXT },
    [OPT_JSON] = { "json", NULL, NULL, "JSON, with datasets, rows, bytes and hashes", DX_OPT_FLAG },
};

struct files {
    const struct dx_options *options;
    char *prefix; /* of each path: the root as the readers of the list need it, and a slash */
    struct dx_root root;
    const struct dx_manifest *manifest;
    const struct dx_manifest_version *entry;
    struct dx_registry datasets;
    uint32_t *wanted; /* ids; none: of all datasets */
    size_t wanted_count, wanted_capacity;
    struct dx_json json;
    struct dx_buf out;
};

/* ---- which ---- */

static int open_root(struct files *f, struct dx_manifest *m, struct dx_error *err)
{
    const char *root = dx_options_text(f->options, OPT_ROOT);
    const char *version = dx_options_text(f->options, OPT_VERSION);
    bool local = dx_root_in_place(root);
    char *whole = local ? realpath(root, NULL) : strdup(root);
    char etag[DX_SOURCE_ETAG];
    int rc = whole == NULL ? dx_fail_errno(err, errno, "%s: cannot open directory", root) : DX_OK;

    while (rc == DX_OK && strlen(whole) > 1 && whole[strlen(whole) - 1] == '/')
        whole[strlen(whole) - 1] = '\0';
    if (rc == DX_OK && asprintf(&f->prefix, "%s/", strcmp(whole, "/") == 0 ? "" : whole) < 0)
        rc = dx_no_memory(err, "%s", root);
    free(whole);
    if (rc == DX_OK)
        rc = dx_root_open(&f->root, root, DX_ROOT_READ, err);
    if (rc == DX_OK)
        rc = dx_version_manifest_get(f->root.source, root, NULL, etag, m, err);
    if (rc < 0)
        return rc;
    f->manifest = m;
    f->entry = version == NULL ? dx_manifest_current(m) : dx_manifest_said(m, version);
    if (f->entry == NULL || f->entry->state == DX_VERSION_DROPPED)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "%s: version %s is not listed, or being removed; 'domaindex versions' "
                       "lists them",
                       root, version);
    return DX_OK;
}

static int read_datasets(struct files *f, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    int rc = dx_version_text_read(f->root.source, f->entry, DX_FILE_DATASETS, DX_REGISTRY_MAX,
                                  &text, err);

    if (rc == DX_OK)
        rc = dx_registry_parse(&f->datasets, dx_span_of(text.data, text.size), DX_FILE_DATASETS,
                               err);
    dx_buf_release(&text);
    return rc;
}

static int find_wanted(struct files *f, struct dx_error *err)
{
    const char *text;
    int rc = DX_OK;

    for (size_t n = 0; rc == DX_OK && (text = dx_options_nth(f->options, OPT_DATASET, n)) != NULL;
         n++) {
        uint32_t *room = dx_array_room(f->wanted, f->wanted_count, &f->wanted_capacity,
                                       sizeof *room);

        if (room == NULL)
            return dx_no_memory(err, "files");
        f->wanted = room;
        rc = dx_dataset_said(&f->datasets, f->entry->version, text, &room[f->wanted_count++], err);
    }
    return rc;
}

static bool is_wanted(const struct files *f, uint32_t dataset_id)
{
    for (size_t i = 0; i < f->wanted_count; i++)
        if (f->wanted[i] == dataset_id)
            return true;
    return f->wanted_count == 0;
}

/* ---- the list ---- */

static void write_json(struct files *f, const char *path, const struct dx_files_row *row,
                       const struct dx_dataset *d)
{
    dx_json_object(&f->json);
    dx_json_key(&f->json, "path");
    dx_json_str(&f->json, path);
    dx_json_key_u64(&f->json, "dataset_id", row->dataset_id);
    dx_json_key(&f->json, "dataset");
    dx_json_str(&f->json, d == NULL ? "" : d->name);
    if (d != NULL && d->kind == DX_DATASET_COUNTS) {
        dx_json_key(&f->json, "kind");
        dx_json_str(&f->json, "counts");
    }
    dx_json_key_u64(&f->json, "rows", row->rows);
    dx_json_key_u64(&f->json, "bytes", row->size);
    dx_json_key(&f->json, "xxh3_128");
    dx_json_text(&f->json, row->etag);
    dx_json_end(&f->json);
}

static int see_file(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct files *f = ctx;
    const struct dx_dataset *d = dx_registry_by_id(&f->datasets, row->dataset_id);
    bool printed = true;
    char *path = NULL;

    if (!is_wanted(f, row->dataset_id))
        return DX_OK;
    if (asprintf(&path, "%s%s%.*s", f->prefix, f->entry->parquet_root, (int)row->path.size,
                 (const char *)row->path.data) < 0)
        return dx_no_memory(err, "files");
    if (dx_options_has(f->options, OPT_JSON))
        write_json(f, path, row, d);
    else
        printed = puts(path) >= 0;
    free(path);
    if (!printed)
        return dx_fail(err, DX_E_IO, "standard output failed");
    return f->out.failed ? dx_buf_fail(&f->out, err, "files") : DX_OK;
}

static int list_files(struct files *f, struct dx_error *err)
{
    bool json = dx_options_has(f->options, OPT_JSON);
    int rc;

    dx_json_open(&f->json, &f->out);
    if (json) {
        dx_json_object(&f->json);
        dx_json_key(&f->json, "version");
        dx_json_str(&f->json, f->entry->version);
        dx_json_key(&f->json, "files");
        dx_json_array(&f->json);
    }
    rc = dx_listed_files_all(f->root.source, NULL, f->manifest, f->entry, see_file, f, err);
    if (rc == DX_OK && json) {
        dx_json_end(&f->json);
        dx_json_end(&f->json);
        dx_buf_u8(&f->out, '\n');
    }
    return rc;
}

static int run_files(const struct dx_options *options)
{
    struct files f = { .options = options,
                       .root = DX_ROOT_INIT,
                       .datasets = DX_REGISTRY_INIT,
                       .out = DX_BUF_INIT(JSON_MAX) };
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    int rc, code;

    if (dx_options_text(options, OPT_ROOT) == NULL || options->operand_count > 0) {
        (void)dx_line_print(stderr, "domaindex files: --root ROOT is needed, and no operand");
        return DX_EXIT_USAGE;
    }
    rc = open_root(&f, &m, &err);
    if (rc == DX_OK)
        rc = read_datasets(&f, &err);
    if (rc == DX_OK)
        rc = find_wanted(&f, &err);
    if (rc == DX_OK)
        rc = list_files(&f, &err);
    code = rc < 0 ? dx_command_fail("files", DX_EXIT_REFUSED, &err)
                  : dx_command_print("files", DX_EXIT_DONE, &f.out);
    dx_registry_release(&f.datasets);
    dx_buf_release(&f.out);
    dx_root_close(&f.root);
    dx_manifest_release(&m);
    free(f.wanted);
    free(f.prefix);
    return code;
}

const struct dx_command dx_command_files = {
    .name = "files",
    .synopsis = "--root ROOT [--version VERSION] [--dataset NAME]... [--json]",
    .summary = "list the lake files that a version has",
    .description =
        "Prints the paths of the Parquet files that the current version (or VERSION) has, one a "
        "line: absolute paths of a directory, URLs of a store, as read_parquet() of DuckDB and "
        "others take them. ROOT/urls/ has more than that: files of other versions, of removed and "
        "replaced datasets until 'gc' removes them, and files that were ingested and not yet "
        "published. Programs that read the folder read those rows too.\n"
        "Rows that 'suppress' hides are in these files until 'compact' has taken them out: "
        "'suppress list --json' has the rules, and readers of the files must apply them.",
    .example = "domaindex files --root /srv/domaindex --dataset crawl-2026",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_files,
};
