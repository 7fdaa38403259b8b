/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_state.h"

#include "builder/index/index_dead.h"
#include "builder/index/index_identity.h"
#include "builder/index/index_out.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_base.h"
#include "builder/scan/index_strays.h"
#include "builder/sort/spill_sort.h"
#include "format/core/zseek.h"
#include "format/version/manifest.h"
#include "format/version/pages.h"
#include "loader/version_parts.h"

/* The record of a row group, from the base or from the scan: that is in order of file_ids. */
static int next_group(struct dx_index_state *b, size_t file, uint32_t number,
                      struct dx_span *record, struct dx_error *err)
{
    const char *path = b->lake->files[file].path;
    const struct dx_part *part;
    struct dx_pages_file known;
    struct dx_page_group group = { 0 };
    struct dx_span key;
    int rc;

    if (dx_index_is_known(b->lake, file)) {
        rc = dx_version_file(b->lake->base, file, &part, &known, err);
        if (rc == 1)
            rc = dx_pages_group(&part->pages, &known, number, &group, err);
        *record = group.record;
    } else {
        rc = dx_spill_sort_next(b->lake->groups, &key, record, err);
    }
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: row group %lu is lost", path, (unsigned long)number);
    return rc < 0 ? rc : DX_OK;
}

static int pages_of_files(struct dx_index_state *b, struct dx_pages_writer *w, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = b->lake->first_file; rc == DX_OK && i < b->lake->file_count; i++) {
        const struct dx_index_file *from = &b->lake->files[i];
        struct dx_pages_file file = { .file_id = (uint32_t)(i - b->lake->first_file),
                                      .dataset_id = from->dataset_id,
                                      .row_groups = from->row_groups,
                                      .rows = from->rows,
                                      .size = from->size,
                                      .hash = from->hash };

        if (from->path != NULL)
            file.path = dx_span_str(from->path);
        rc = dx_pages_writer_file(w, &file, err);
        for (uint32_t g = 0; rc == DX_OK && g < from->row_groups; g++) {
            struct dx_span record = { NULL, 0 };

            rc = next_group(b, i, g, &record, err);
            if (rc == DX_OK)
                rc = dx_pages_writer_group(w, record, err);
        }
    }
    return rc;
}

static int strays_of_files(struct dx_index_state *b, struct dx_pages_writer *w,
                           struct dx_error *err)
{
    struct dx_index_strays strays;
    struct dx_page_stray stray;
    int rc = DX_OK;

    dx_index_strays_begin(&strays, b->lake);
    for (size_t i = b->lake->first_file; rc == DX_OK && i < b->lake->file_count; i++) {
        if (b->lake->files[i].path == NULL)
            continue;
        while (rc == DX_OK && (rc = dx_index_strays_next(&strays, (uint32_t)i, &stray, err)) == 1) {
            stray.file_id -= (uint32_t)b->lake->first_file;
            rc = dx_pages_writer_stray(w, &stray, err);
        }
    }
    return rc;
}

static int write_pages(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_pages_writer w = { 0 };
    uint64_t groups = 0;
    uint64_t rows = 0;
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_PAGES, b->options->sync, err);

    if (rc != DX_OK)
        return rc;
    for (size_t i = b->lake->first_file; i < b->lake->file_count; i++) {
        const struct dx_index_file *file = &b->lake->files[i];

        groups += file->path == NULL ? 0 : file->row_groups;
        rows += file->path == NULL ? 0 : file->rows;
    }
    rc = dx_pages_writer_begin(&w, b->lake->file_count - b->lake->first_file, groups, rows,
                               &b->id->build, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = pages_of_files(b, &w, err);
    if (rc == DX_OK)
        rc = strays_of_files(b, &w, err);
    if (rc == DX_OK)
        rc = dx_pages_writer_end(&w, err);
    dx_pages_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int put_lines(struct dx_zseek_writer *w, struct dx_bytes *text, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && dx_bytes_left(text) > 0) {
        const uint8_t *end = memchr(text->at, '\n', dx_bytes_left(text));
        struct dx_span line = dx_bytes_take(text, end == NULL ? dx_bytes_left(text)
                                                              : (size_t)(end - text->at));

        rc = dx_zseek_writer_line(w, line, err);
        if (end != NULL)
            (void)dx_bytes_u8(text);
    }
    return rc;
}

static int put_frames(struct dx_zseek_writer *w, struct dx_bytes *text, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && dx_bytes_left(text) > 0) {
        size_t left = dx_bytes_left(text);

        rc = dx_zseek_writer_frame(
            w, dx_bytes_take(text, left < DX_ZSEEK_PLAIN_MAX ? left : DX_ZSEEK_PLAIN_MAX), NULL,
            err);
    }
    return rc;
}

/* A file in the zstd seekable format; put: how the text is cut into frames. */
static int write_text(struct dx_index_state *b, const char *name, struct dx_span text,
                      int (*put)(struct dx_zseek_writer *, struct dx_bytes *, struct dx_error *),
                      struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_bytes at = dx_bytes_of(text);
    struct dx_zseek_writer w = { 0 };
    int rc = dx_index_out_open(&out, b->options->dir, name, b->options->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_zseek_writer_init(&w, 0, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = put(&w, &at, err);
    if (rc == DX_OK)
        rc = dx_zseek_writer_finish(&w, err);
    dx_zseek_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int write_dead(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_DEAD, b->options->sync, err);

    if (rc == DX_OK)
        rc = dx_index_dead_write(b->dead, &b->id->build, dx_index_out_sink, &out,
                                 &b->entry->gone_files, err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

int dx_index_lake_phase(struct dx_index_state *b, struct dx_error *err)
{
    int rc = write_pages(b, err);

    if (rc == DX_OK && b->dead != NULL)
        rc = write_dead(b, err);
    if (rc == DX_OK)
        rc = write_text(b, DX_FILE_FILES_TSV, dx_span_of(b->id->files.data, b->id->files.size),
                        put_lines, err);
    if (rc == DX_OK)
        rc = write_text(b, DX_FILE_DATASETS, dx_span_of(b->id->datasets.data, b->id->datasets.size),
                        put_frames, err);
    if (rc == DX_OK)
        rc = write_text(b, DX_FILE_PSL, b->options->psl_text, put_frames, err);
    return rc;
}
