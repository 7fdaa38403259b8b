/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_missing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "builder/index/index_out.h"
#include "builder/lake/dataset_registry.h"
#include "format/core/zseek.h"
#include "format/version/files_tsv.h"

#define LINE_MAX_BYTES 1200
#define NAMED_MAX 3 /* datasets that an error names */
#define TSV_MAX (2u << 30)

/* ---- refused ---- */

static bool is_allowed(const struct dx_publish_allow *allow, const struct dx_registry *r,
                       uint32_t dataset_id)
{
    const struct dx_dataset *d = dx_registry_by_id(r, dataset_id);

    for (size_t i = 0; d != NULL && i < allow->count; i++)
        if (strcmp(allow->dataset[i], d->name) == 0)
            return true;
    return false;
}

static int check_names(const struct dx_publish_allow *allow, const struct dx_registry *r,
                       struct dx_error *err)
{
    for (size_t i = 0; i < allow->count; i++) {
        bool known = false;

        for (size_t k = 0; k < r->count; k++)
            known = known || strcmp(allow->dataset[i], r->datasets[k].name) == 0;
        if (!known)
            return dx_fail(err, DX_E_INVALID, "--allow-missing %.255s: no dataset has that name",
                           allow->dataset[i]);
    }
    return DX_OK;
}

static void say_file(const struct dx_publish_allow *allow, const char *root,
                     const struct dx_lake_entry *file)
{
    char line[LINE_MAX_BYTES];

    if (allow->say == NULL)
        return;
    (void)snprintf(line, sizeof line, "%s/%s: is not there", root, file->path);
    allow->say(allow->say_ctx, line);
}

/* Of one dataset, [from, to): tells its files and adds it to the words of the error. */
static void tell_dataset(const struct dx_publish_allow *allow, const struct dx_registry *r,
                         const char *root, const struct dx_lake_list *list, size_t from, size_t to,
                         size_t before, unsigned *datasets, struct dx_buf *words)
{
    const struct dx_dataset *d = dx_registry_by_id(r, list->file[from].dataset_id);

    assert(from < to);
    for (size_t i = from; i < to && before + (i - from) < DX_PUBLISH_MISSING_SAID; i++)
        say_file(allow, root, &list->file[i]);
    if (++*datasets <= NAMED_MAX)
        dx_buf_fmt(words, "%s'%.60s' (%zu)", *datasets == 1 ? "" : ", ", d == NULL ? "" : d->name,
                   to - from);
}

static int refuse(const char *root, const char *version, size_t files, unsigned datasets,
                  const char *first, struct dx_buf *words, struct dx_error *err)
{
    if (datasets > NAMED_MAX)
        dx_buf_fmt(words, " and %u more", datasets - NAMED_MAX);
    dx_buf_u8(words, '\0');
    return dx_fail(
        err, DX_E_NOT_FOUND,
        "%.100s: %zu lake file%s of version %s not there, or not to be read (permission), of "
        "dataset%s %s; first: %.90s; nothing was published. Mount or restore "
        "them, or publish without them: --allow-missing NAME for each dataset",
        root, files, dx_plural(files), version, dx_plural(datasets),
        words->failed ? "?" : (const char *)words->data, first);
}

int dx_publish_missing_check(const struct dx_lake_membership *n, const struct dx_registry *r,
                             const struct dx_publish_allow *allow, const char *root,
                             const char *version, struct dx_error *err)
{
    const struct dx_lake_list *list = &n->missing;
    struct dx_buf words = DX_BUF_INIT(1024);
    const char *first = NULL;
    unsigned datasets = 0;
    size_t files = 0;
    size_t to;
    int rc = check_names(allow, r, err);

    for (size_t from = 0; rc == DX_OK && from < list->count; from = to) {
        uint32_t id = list->file[from].dataset_id;

        for (to = from; to < list->count && list->file[to].dataset_id == id;)
            to++;
        if (is_allowed(allow, r, id))
            continue;
        first = first != NULL ? first : list->file[from].path;
        tell_dataset(allow, r, root, list, from, to, files, &datasets, &words);
        files += to - from;
    }
    if (files > 0)
        rc = refuse(root, version, files, datasets, first, &words, err);
    dx_buf_release(&words);
    return rc;
}

/* ---- allowed ---- */

int dx_publish_missing_raise(const struct dx_lake_membership *n, const struct dx_root *root,
                             struct dx_error *err)
{
    const struct dx_lake_list *list = &n->missing;
    const char **paths;
    int rc;

    if (list->count == 0)
        return DX_OK;
    paths = calloc(list->count, sizeof *paths);
    if (paths == NULL)
        return dx_no_memory(err, "publish");
    for (size_t i = 0; i < list->count; i++)
        paths[i] = list->file[i].path;
    rc = dx_dataset_registry_raise_in(root, paths, list->count, err);
    free(paths);
    return rc;
}

static int add_rows(struct dx_files_tsv_writer *w, const struct dx_lake_list *list,
                    const char *parquet_root, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < list->count; i++) {
        const struct dx_lake_entry *file = &list->file[i];
        struct dx_files_row row = { .file_id = (uint32_t)w->next_id,
                                    .dataset_id = file->dataset_id,
                                    .domain_prefix = dx_span_str("00-ff"),
                                    .path = dx_span_str(file->path + strlen(parquet_root)),
                                    .size = file->size,
                                    .etag = dx_span_str("missing") };

        assert(strncmp(file->path, parquet_root, strlen(parquet_root)) == 0);
        rc = dx_files_tsv_write(w, &row, err);
    }
    return rc;
}

static int write_lines(struct dx_index_out *out, struct dx_span text, struct dx_error *err)
{
    struct dx_bytes lines = dx_bytes_of(text);
    struct dx_zseek_writer w = { 0 };
    int rc = dx_zseek_writer_init(&w, 0, dx_index_out_sink, out, err);

    while (rc == DX_OK && dx_bytes_left(&lines) > 0) {
        const uint8_t *end = memchr(lines.at, '\n', dx_bytes_left(&lines));

        rc = dx_zseek_writer_line(&w, dx_bytes_take(&lines, (size_t)(end - lines.at)), err);
        (void)dx_bytes_u8(&lines);
    }
    if (rc == DX_OK)
        rc = dx_zseek_writer_finish(&w, err);
    dx_zseek_writer_release(&w);
    return rc;
}

int dx_publish_missing_write(const struct dx_lake_membership *n, const char *dir, enum dx_sync sync,
                             struct dx_manifest_version *entry, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_buf text = DX_BUF_INIT(TSV_MAX);
    struct dx_files_tsv_writer w;
    int rc;

    entry->missing_files = n->missing.count + n->lacked.count;
    if (entry->missing_files == 0)
        return DX_OK;
    dx_files_tsv_writer_begin(&w, &text);
    rc = add_rows(&w, &n->missing, entry->parquet_root, err);
    if (rc == DX_OK)
        rc = add_rows(&w, &n->lacked, entry->parquet_root, err);
    if (rc == DX_OK)
        rc = dx_index_out_open(&out, dir, DX_FILE_MISSING, sync, err);
    if (rc == DX_OK)
        rc = write_lines(&out, dx_span_of(text.data, text.size), err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, entry, err);
    dx_index_out_abort(&out);
    dx_buf_release(&text);
    return rc;
}
