/* SPDX-License-Identifier: Apache-2.0
 * files_tsv.h - files.tsv: the lake files of a version, a line each.
 *
 *   dx_files_tsv_begin(&t, plain, name);
 *   while ((rc = dx_files_tsv_next(&t, &file, &err)) == 1)  ...   0 the end, <0 error
 *
 *   dx_files_tsv_writer_begin(&w, &buf);
 *   rc = dx_files_tsv_write(&w, &file, &err);     file_ids from 0
 *
 * In a part of a version they begin at another number: set t.next_id or w.next_id behind begin.
 *
 * A number whose file went is a hole: dx_files_hole(&file), and nothing else of it is set. In a
 * version that was made from the whole lake there are none, and paths ascend; in one that was
 * merged from an older one they stand as files came. That no path stands twice is for `verify`.
 *
 * The bytes are the plain file; a caller with files.tsv.zst decodes its frames first. Spans of a
 * file are borrowed from the plain bytes. Nothing is allocated by the reader.
 * One thread at a time for a reader and for a writer.
 */
#ifndef DX_FORMAT_VERSION_FILES_TSV_H
#define DX_FORMAT_VERSION_FILES_TSV_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

#define DX_FILES_PATH_MAX 512
#define DX_FILES_ETAG_MAX 128

struct dx_files_row {
    uint32_t file_id;
    uint32_t dataset_id;          /* 0: a hole */
    struct dx_span domain_prefix; /* "9b" or "00-ff" */
    struct dx_span path;          /* relative to parquet_root */
    uint64_t size;
    struct dx_span etag; /* printable ASCII without spaces, 1..128 */
    uint64_t rows;
};

static inline bool dx_files_hole(const struct dx_files_row *file)
{
    return file->dataset_id == 0;
}

/* Relative, of components [A-Za-z0-9_][A-Za-z0-9._=-]* joined by single slashes: no "..", no
 * hidden name, no option-like name, nothing that a URL or a shell reads in its own way. */
bool dx_lake_path_ok(struct dx_span path);

struct dx_files_tsv {
    struct dx_bytes at;
    const char *name;
    uint64_t next_id;
};

void dx_files_tsv_begin(struct dx_files_tsv *t, struct dx_span plain, const char *name);
int dx_files_tsv_next(struct dx_files_tsv *t, struct dx_files_row *file, struct dx_error *err);

struct dx_files_tsv_writer {
    struct dx_buf *out;
    uint64_t next_id;
};

void dx_files_tsv_writer_begin(struct dx_files_tsv_writer *w, struct dx_buf *out);
int dx_files_tsv_write(struct dx_files_tsv_writer *w, const struct dx_files_row *file,
                       struct dx_error *err);

#endif
