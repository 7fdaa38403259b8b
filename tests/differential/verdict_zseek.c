/* SPDX-License-Identifier: Apache-2.0
 * verdict_zseek.c - a file in the zstd seekable format, read whole: "no reason", or "ok FRAMES", a line end, and the plain bytes as they are.
 */
#include "format/core/zseek.h"
#include "tests/differential/verdict.h"

#include <stdlib.h>

#define PLAIN_MAX ((uint64_t)32 << 20)

static int read_frames(const struct dx_zseek *z, struct dx_buf *out, struct dx_error *err)
{
    static struct dx_zstd_decoder *decoder;
    struct dx_buf plain = DX_BUF_INIT(DX_ZSEEK_PLAIN_MAX);
    int rc = z->plain_size > PLAIN_MAX ? dx_fail(err, DX_E_LIMIT, "too much for this test") : DX_OK;

    if (decoder == NULL)
        decoder = dx_zstd_decoder_new();
    if (decoder == NULL)
        abort();
    for (uint32_t i = 0; rc == DX_OK && i < z->frame_count; i++) {
        rc = dx_zseek_decode(z, decoder, i, &plain, err);
        if (rc == DX_OK)
            dx_buf_append(out, plain.data, plain.size);
    }
    dx_buf_release(&plain);
    return rc;
}

void dx_verdict_zseek(struct dx_span input, struct dx_buf *out)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_zseek z;
    int rc = dx_zseek_open(&z, input, "input", &err);

    if (rc == DX_OK) {
        dx_buf_fmt(out, "ok %u\n", z.frame_count);
        rc = read_frames(&z, out, &err);
        dx_zseek_close(&z);
    }
    if (rc < 0) {
        dx_buf_clear(out);
        dx_buf_fmt(out, "no %s", err.text);
    }
}
