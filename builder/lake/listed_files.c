/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/listed_files.h"

#include <stdio.h>

#include "builder/root/version_files.h"
#include "format/core/zseek_whole.h"
#include "format/version/dead.h"

#include <roaring/roaring.h>

#define FILE_MAX ((size_t)1 << 31)  /* compressed */
#define PLAIN_MAX ((size_t)2 << 30) /* as the builder writes at most: some ten million files */

static int read_copy(struct dx_source *source, struct dx_mirror *copies,
                     const struct dx_manifest_version *entry, const char *name, struct dx_buf *out,
                     struct dx_error *err)
{
    const struct dx_version_files files = { .mirror = copies, .source = source, .entry = entry };
    const struct dx_manifest_file *file = dx_manifest_file(entry, name);
    struct dx_map map = DX_MAP_INIT;
    int rc = dx_version_files_map(&files, name, &map, err);

    if (rc < 0)
        return rc;
    rc = dx_version_file_check(file, map.bytes, entry->version, err);
    dx_buf_append(out, map.bytes.data, map.bytes.size);
    dx_map_close(&map);
    return rc == DX_OK && out->failed ? dx_buf_fail(out, err, name) : rc;
}

static int read_file(struct dx_source *source, struct dx_mirror *copies,
                     const struct dx_manifest_version *entry, const char *name, struct dx_buf *out,
                     struct dx_error *err)
{
    return copies == NULL ? dx_version_file_read(source, entry, name, FILE_MAX, out, err)
                          : read_copy(source, copies, entry, name, out, err);
}

static int read_rows(struct dx_span plain, const char *name, uint64_t first, dx_listed_file *each,
                     void *ctx, struct dx_error *err)
{
    struct dx_files_tsv tsv;
    struct dx_files_row row;
    int rc;

    dx_files_tsv_begin(&tsv, plain, name);
    tsv.next_id = first;
    while ((rc = dx_files_tsv_next(&tsv, &row, err)) == 1) {
        rc = row.dataset_id == 0 ? DX_OK : each(ctx, &row, err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int read_list(struct dx_source *source, struct dx_mirror *copies,
                     const struct dx_manifest_version *entry, const char *list, uint64_t first,
                     dx_listed_file *each, void *ctx, struct dx_error *err)
{
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_buf plain = DX_BUF_INIT(PLAIN_MAX);
    char name[DX_MANIFEST_FILE_PATH];
    int rc;

    dx_name_of_version(name, entry->version, list);
    rc = read_file(source, copies, entry, list, &file, err);
    if (rc < 0)
        (void)dx_fail_in(err, "%s", name);
    if (rc == DX_OK)
        rc = dx_zseek_read(dx_span_of(file.data, file.size), name, &plain, err);
    dx_buf_release(&file);
    if (rc == DX_OK)
        rc = read_rows(dx_span_of(plain.data, plain.size), name, first, each, ctx, err);
    dx_buf_release(&plain);
    return rc;
}

int dx_listed_files(struct dx_source *source, struct dx_mirror *copies,
                    const struct dx_manifest_version *entry, dx_listed_file *each, void *ctx,
                    struct dx_error *err)
{
    return read_list(source, copies, entry, DX_FILE_FILES_TSV, entry->part.first_file, each, ctx,
                     err);
}

int dx_listed_gone(struct dx_source *source, struct dx_mirror *copies,
                   const struct dx_manifest_version *entry, struct roaring_bitmap_s **gone,
                   struct dx_error *err)
{
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_dead dead = { .parts = 0 };
    char name[DX_MANIFEST_FILE_PATH];
    struct dx_dataset_set set;
    int rc;

    *gone = NULL;
    if (entry->gone_files == 0)
        return DX_OK;
    dx_name_of_version(name, entry->version, DX_FILE_DEAD);
    rc = read_file(source, copies, entry, DX_FILE_DEAD, &file, err);
    if (rc < 0)
        (void)dx_fail_in(err, "%s", name);
    if (rc == DX_OK)
        rc = dx_dead_open(&dead, dx_span_of(file.data, file.size), 0, name, err);
    if (rc == DX_OK && dead.gone != entry->gone_files)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: %llu files left, the manifest says %llu", name,
                     (unsigned long long)dead.gone, (unsigned long long)entry->gone_files);
    if (rc == DX_OK)
        rc = dx_dead_gone(&dead, &set, err);
    if (rc == DX_OK && (*gone = dx_dataset_set_bitmap(&set)) == NULL)
        rc = dx_no_memory(err, "%s", name);
    dx_dead_close(&dead);
    dx_buf_release(&file);
    return rc;
}

/* Passes on what did not leave. */
struct sieve {
    dx_listed_file *each;
    void *ctx;
    const roaring_bitmap_t *gone;
};

static int sift(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    const struct sieve *s = ctx;

    return s->gone != NULL && roaring_bitmap_contains(s->gone, row->file_id)
               ? DX_OK
               : s->each(s->ctx, row, err);
}

int dx_listed_files_all(struct dx_source *source, struct dx_mirror *copies,
                        const struct dx_manifest *m, const struct dx_manifest_version *entry,
                        dx_listed_file *each, void *ctx, struct dx_error *err)
{
    roaring_bitmap_t *gone;
    struct sieve sieve = { .each = each, .ctx = ctx };
    int rc = dx_listed_gone(source, copies, entry, &gone, err);

    sieve.gone = gone;
    for (size_t i = 0; rc == DX_OK && i < entry->part_count; i++) {
        const struct dx_manifest_version *part = dx_manifest_find(m, entry->parts[i]);

        if (part != NULL)
            rc = dx_listed_files(source, copies, part, sift, &sieve, err);
        else if (entry->state != DX_VERSION_DROPPED)
            rc = dx_fail(err, DX_E_CORRUPT, "version %s: its part %s is not listed", entry->version,
                         entry->parts[i]);
    }
    if (gone != NULL)
        roaring_bitmap_free(gone);
    return rc == DX_OK ? dx_listed_files(source, copies, entry, each, ctx, err) : rc;
}

int dx_listed_missing(struct dx_source *source, struct dx_mirror *copies,
                      const struct dx_manifest_version *entry, dx_listed_file *each, void *ctx,
                      struct dx_error *err)
{
    return entry->missing_files == 0
               ? DX_OK
               : read_list(source, copies, entry, DX_FILE_MISSING, 0, each, ctx, err);
}
