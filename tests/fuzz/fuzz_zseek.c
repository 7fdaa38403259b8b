/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a file in the seekable format, and as a single frame. What opens and decodes
 * has the sizes that its table says.
 */
#include "format/core/zseek.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dx_zstd_decoder *decoder;

static void read_file(struct dx_span file, struct dx_buf *plain)
{
    struct dx_zseek z;
    uint64_t sum = 0;

    if (dx_zseek_open(&z, file, "fuzz", NULL) < 0)
        return;
    for (uint32_t i = 0; i < z.frame_count; i++) {
        struct dx_zseek_frame f = dx_zseek_at(&z, i);

        if (f.plain_offset != sum)
            abort();
        sum += f.plain_size;
        if (dx_zseek_decode(&z, decoder, i, plain, NULL) >= 0 && plain->size != f.plain_size)
            abort();
    }
    if (sum != z.plain_size)
        abort();
    dx_zseek_close(&z);
}

/* The first two bytes say how many plain bytes are expected; the memory has no more. */
static void read_frame(struct dx_span s)
{
    size_t plain_size;
    uint8_t *to;

    if (s.size < 2)
        return;
    plain_size = dx_load_u16(s.data);
    to = malloc(plain_size + 1);
    if (to != NULL)
        (void)dx_zstd_frame_decode(decoder, dx_span_of(s.data + 2, s.size - 2), plain_size, to,
                                   NULL);
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf plain = DX_BUF_INIT(DX_ZSEEK_PLAIN_MAX);

    if (decoder == NULL)
        decoder = dx_zstd_decoder_new();
    read_file(dx_span_of(data, size), &plain);
    read_frame(dx_span_of(data, size));
    dx_buf_release(&plain);
    return 0;
}
