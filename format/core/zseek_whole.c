/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/zseek_whole.h"

#include "format/core/zseek.h"

bool dx_zseek_named(const char *name)
{
    size_t size = strlen(name);

    return size > 4 && strcmp(name + size - 4, ".zst") == 0;
}

static int read_frames(const struct dx_zseek *z, struct dx_buf *to, struct dx_error *err)
{
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    uint8_t *room = dx_buf_reserve(to, (size_t)z->plain_size);
    int rc = DX_OK;

    if (decoder == NULL)
        rc = dx_no_memory(err, "%s", z->name);
    else if (room == NULL && z->plain_size > 0)
        rc = dx_buf_fail(to, err, z->name);
    for (uint32_t i = 0; rc == DX_OK && i < z->frame_count; i++) {
        struct dx_zseek_frame frame = dx_zseek_at(z, i);

        rc = dx_zseek_decode_to(z, decoder, i, room + frame.plain_offset, err);
        if (rc == DX_OK)
            to->size += frame.plain_size;
    }
    dx_zstd_decoder_free(&decoder);
    return rc;
}

int dx_zseek_read(struct dx_span file, const char *name, struct dx_buf *to, struct dx_error *err)
{
    struct dx_zseek z;
    int rc = dx_zseek_open(&z, file, name, err);

    dx_buf_clear(to);
    if (rc == DX_OK && z.plain_size > to->max)
        rc = dx_fail(err, DX_E_LIMIT, "%s: %llu bytes plain, at most %zu are read", name,
                     (unsigned long long)z.plain_size, to->max);
    if (rc == DX_OK)
        rc = read_frames(&z, to, err);
    dx_zseek_close(&z);
    return rc;
}

int dx_zseek_expand(struct dx_buf *text, const char *name, size_t cap, struct dx_error *err)
{
    struct dx_buf plain = DX_BUF_INIT(cap);
    int rc = dx_zseek_read(dx_span_of(text->data, text->size), name, &plain, err);

    dx_buf_release(text);
    *text = plain;
    return rc;
}
