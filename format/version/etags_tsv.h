/* SPDX-License-Identifier: Apache-2.0
 * etags_tsv.h - etags.tsv.zst: the ETags that a version's objects had when they were written.
 * docs/FORMAT.md section 9.1.
 *
 *   rc = dx_etags_writer_begin(&w, url, sink, sink_ctx, &err);        the file goes to the sink
 *   rc = dx_etags_writer_add(&w, DX_ETAG_IDX, 0, etag, &err);         then DX_ETAG_DAT,
 *   rc = dx_etags_writer_add(&w, DX_ETAG_COLD, file, etag, &err);     then enum dx_cold_file,
 *   rc = dx_etags_writer_add(&w, DX_ETAG_LAKE, file_id, etag, &err);  then file_ids
 *   rc = dx_etags_writer_finish(&w, &err);
 *   dx_etags_writer_release(&w);                                      safe on a half-made one
 *
 *   rc = dx_etags_open(&r, file, name, &err);                         r.root: as begin was given it
 *   while ((rc = dx_etags_next(&r, &row, &err)) == 1)  ...            0 the end, <0 error
 *   dx_etags_close(&r);                                               safe on a half-made one
 *
 * `url` is what dx_source_root_url makes of the root (fetch/source.h): ETags belong to a store, so
 * they are useless to a reader of the version in another one. ETags are strong, in quotes. An
 * object without one (the store gave none, or a weak one) has no line.
 *
 * A row's etag is borrowed until the next call. `file` must outlive the reader, which holds one
 * frame at a time. One thread at a time.
 */
#ifndef DX_FORMAT_VERSION_ETAGS_TSV_H
#define DX_FORMAT_VERSION_ETAGS_TSV_H

#include "base/bytes.h"
#include "format/core/zseek.h"

#define DX_ETAGS_ROOT_MAX 8192
#define DX_ETAGS_ETAG_MAX 128 /* with its quotes */

enum dx_etag_kind { DX_ETAG_IDX, DX_ETAG_DAT, DX_ETAG_COLD, DX_ETAG_LAKE };

struct dx_etags_row {
    enum dx_etag_kind kind;
    uint32_t number; /* of postings 0; enum dx_cold_file; or file_id */
    char etag[DX_ETAGS_ETAG_MAX + 1];
};

struct dx_etags_order { /* what came last */
    bool any;
    enum dx_etag_kind kind;
    uint32_t number;
};

struct dx_etags_writer {
    struct dx_zseek_writer out;
    struct dx_etags_order last;
};

int dx_etags_writer_begin(struct dx_etags_writer *w, const char *url,
                          int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                          void *sink_ctx, struct dx_error *err);
int dx_etags_writer_add(struct dx_etags_writer *w, enum dx_etag_kind kind, uint32_t number,
                        const char *etag, struct dx_error *err);
int dx_etags_writer_finish(struct dx_etags_writer *w, struct dx_error *err);
void dx_etags_writer_release(struct dx_etags_writer *w);

struct dx_etags {
    struct dx_zseek file;
    struct dx_zstd_decoder *decoder;
    struct dx_buf frame;
    struct dx_bytes at; /* in the frame */
    uint32_t next_frame;
    uint64_t line; /* that comes next, from 0: the root */
    struct dx_etags_order last;
    char root[DX_ETAGS_ROOT_MAX + 1];
};

int dx_etags_open(struct dx_etags *r, struct dx_span file, const char *name, struct dx_error *err);
int dx_etags_next(struct dx_etags *r, struct dx_etags_row *row, struct dx_error *err);
void dx_etags_close(struct dx_etags *r);

#endif
