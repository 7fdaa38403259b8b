/* SPDX-License-Identifier: Apache-2.0
 * gzip_out.h - a new gzip file, written in pieces; the same pieces make the same bytes.
 *
 *   struct dx_gzip_out g = DX_GZIP_OUT_INIT;
 *   rc = dx_gzip_out_open(&g, path, &err);                 path is new
 *   rc = dx_gzip_out_write(&g, bytes, &err);
 *   rc = dx_gzip_out_close(&g, &err);                      not synced: base/file.h, DX_SYNC_LATER
 *   dx_gzip_out_abort(&g);                                 safe at any time
 *
 * No time and no name are in its header. Memory: zlib's, about 300 KiB. One thread.
 */
#ifndef DX_BUILDER_INPUT_BYTES_GZIP_OUT_H
#define DX_BUILDER_INPUT_BYTES_GZIP_OUT_H

#include "base/file.h"

struct z_stream_s;

struct dx_gzip_out {
    struct z_stream_s *z; /* NULL: not open */
    struct dx_file_out out;
    bool out_open;
};

#define DX_GZIP_OUT_INIT \
    {                    \
        .z = NULL        \
    }

int dx_gzip_out_open(struct dx_gzip_out *g, const char *path, struct dx_error *err);
int dx_gzip_out_write(struct dx_gzip_out *g, struct dx_span bytes, struct dx_error *err);
int dx_gzip_out_close(struct dx_gzip_out *g, struct dx_error *err);
void dx_gzip_out_abort(struct dx_gzip_out *g);

#endif
