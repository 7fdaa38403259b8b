/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/gzip_out.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* 16: a gzip header, which zlib fills with zeros */
#define MEMORY_LEVEL 8

int dx_gzip_out_open(struct dx_gzip_out *g, const char *path, struct dx_error *err)
{
    int rc;

    *g = (struct dx_gzip_out)DX_GZIP_OUT_INIT;
    rc = dx_file_out_open(&g->out, path, err);
    if (rc < 0)
        return rc;
    g->out_open = true;
    g->z = calloc(1, sizeof *g->z);
    if (g->z != NULL && deflateInit2(g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
                                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK)
        return DX_OK;
    free(g->z);
    g->z = NULL;
    dx_gzip_out_abort(g);
    return dx_no_memory(err, "%s", path);
}

static int run(struct dx_gzip_out *g, int flush, struct dx_error *err)
{
    uint8_t packed[16384];
    int rc = DX_OK;

    do {
        g->z->next_out = packed;
        g->z->avail_out = sizeof packed;
        /* With room and input it cannot fail; at the end it says so, which is not an error. */
        (void)deflate(g->z, flush);
        rc = dx_file_out_write(&g->out, dx_span_of(packed, sizeof packed - g->z->avail_out), err);
    } while (rc == DX_OK && g->z->avail_out == 0);
    return rc;
}

int dx_gzip_out_write(struct dx_gzip_out *g, struct dx_span bytes, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && bytes.size > 0) {
        size_t n = bytes.size < INT_MAX ? bytes.size : INT_MAX;

        g->z->next_in = (z_const Bytef *)bytes.data;
        g->z->avail_in = (uInt)n;
        rc = run(g, Z_NO_FLUSH, err);
        bytes = dx_span_from(bytes, n);
    }
    return rc;
}

int dx_gzip_out_close(struct dx_gzip_out *g, struct dx_error *err)
{
    int rc;

    g->z->next_in = NULL;
    g->z->avail_in = 0;
    rc = run(g, Z_FINISH, err);
    if (rc == DX_OK) {
        g->out_open = false;
        rc = dx_file_out_close(&g->out, DX_SYNC_LATER, err);
    }
    dx_gzip_out_abort(g);
    return rc;
}

void dx_gzip_out_abort(struct dx_gzip_out *g)
{
    if (g->z != NULL)
        (void)deflateEnd(g->z);
    free(g->z);
    if (g->out_open)
        dx_file_out_abort(&g->out);
    *g = (struct dx_gzip_out)DX_GZIP_OUT_INIT;
}
