/* SPDX-License-Identifier: Apache-2.0
 * zseek.h - files in the zstd seekable format, and single zstd frames.
 * docs/FORMAT.md section 2.1.
 *
 *   rc = dx_zseek_writer_init(&w, 0, sink, sink_ctx, &err);      level 0: DX_ZSEEK_LEVEL
 *   rc = dx_zseek_writer_frame(&w, plain, &frame, &err);         one frame to the sink
 *   rc = dx_zseek_writer_line(&w, line, &err);                   or lines: frames of 64 KiB,
 *                                                                '\n' is added
 *   rc = dx_zseek_writer_finish(&w, &err);                       the seek table
 *   dx_zseek_writer_release(&w);
 *
 *   rc = dx_zstd_encoder_new(&encoder, level, &err);             one a thread
 *   rc = dx_zstd_frames_encode(encoder, plain, &buf, &err);      appended: frames of at most
 *                                                                DX_ZSEEK_PLAIN_MAX plain bytes
 *   rc = dx_zseek_writer_encoded(&w, frames, &err);              such frames to the sink
 *
 *   struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();     one a thread
 *   rc = dx_zseek_open(&z, file, path, &err);
 *   rc = dx_zseek_decode(&z, decoder, i, &buf, &err);            buf: exactly that frame
 *   dx_zseek_close(&z);
 *
 *   rc = dx_zstd_frame_decode(decoder, compressed, plain_size, to, &err);
 *
 * The same plain bytes give the same file: one thread, one level, one libzstd. Frames
 * have content size and content checksum and are single segments; the reader refuses all
 * others, bytes behind the frame, and every sum that does not fit the file.
 * The file must outlive z. After open z is read-only; threads may share it.
 */
#ifndef DX_FORMAT_CORE_ZSEEK_H
#define DX_FORMAT_CORE_ZSEEK_H

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"

#define DX_ZSEEK_LEVEL 9
#define DX_ZSEEK_PLAIN_MAX (1u << 20)  /* of one frame: what a reader must be ready to hold */
#define DX_ZSEEK_LINES_SIZE (1u << 16) /* frames of line files: a good ratio at 60 us a frame */
#define DX_ZSEEK_FRAMES_MAX 0x8000000u /* of the seekable format */

struct dx_zstd_decoder;                            /* one thread at a time */
struct dx_zstd_decoder *dx_zstd_decoder_new(void); /* NULL: out of memory */
void dx_zstd_decoder_free(struct dx_zstd_decoder **d);

/* Whether frames of so many plain bytes can take so many stored ones. What does not compress takes half a percent more, and is held by
 * a reader before it can be checked. */
static inline bool dx_zstd_stored_fits(uint64_t stored, uint64_t plain)
{
    return stored <= 2 * plain + 4096;
}

/* Exactly one frame in, exactly plain_size bytes out (plain_size at most DX_ZSEEK_PLAIN_MAX). */
int dx_zstd_frame_decode(struct dx_zstd_decoder *d, struct dx_span compressed, size_t plain_size,
                         uint8_t *to, struct dx_error *err);

/* Several of them: all but the last of DX_ZSEEK_PLAIN_MAX bytes plain. */
int dx_zstd_frames_decode(struct dx_zstd_decoder *d, struct dx_span compressed, size_t plain_size,
                          uint8_t *to, struct dx_error *err);

struct dx_zstd_encoder; /* one thread at a time */
int dx_zstd_encoder_new(struct dx_zstd_encoder **e, int level, struct dx_error *err);
void dx_zstd_encoder_free(struct dx_zstd_encoder **e);

/* Frames as a dx_zseek_writer of the same level writes them, appended to `to`. */
int dx_zstd_frames_encode(struct dx_zstd_encoder *e, struct dx_span plain, struct dx_buf *to,
                          struct dx_error *err);

/* Where a frame lies. */
struct dx_zseek_frame {
    uint64_t offset;       /* in the file */
    uint64_t plain_offset; /* in the plain file */
    uint32_t size;
    uint32_t plain_size;
    uint32_t sum; /* low half of XXH64 of the plain bytes */
};

struct dx_zseek {
    struct dx_span file;
    uint32_t frame_count;
    uint64_t plain_size;
    uint64_t *starts; /* offset and plain offset of each frame, and of the end */
    const uint8_t *table;
    char *name;
};

int dx_zseek_open(struct dx_zseek *z, struct dx_span file, const char *name, struct dx_error *err);
void dx_zseek_close(struct dx_zseek *z);

/* i < frame_count. */
struct dx_zseek_frame dx_zseek_at(const struct dx_zseek *z, uint32_t i);

/* The frame that holds the plain byte at this offset; frame_count if it is behind the end. */

/* Replaces the content of `to` by the plain bytes of frame i. */
int dx_zseek_decode(const struct dx_zseek *z, struct dx_zstd_decoder *d, uint32_t i,
                    struct dx_buf *to, struct dx_error *err);

/* To where the caller has room for them. */
int dx_zseek_decode_to(const struct dx_zseek *z, struct dx_zstd_decoder *d, uint32_t i, uint8_t *to,
                       struct dx_error *err);

/* Decodes every frame; the XXH3-128 of all plain bytes in *plain_hash. */
int dx_zseek_verify(const struct dx_zseek *z, struct dx_hash128 *plain_hash, struct dx_error *err);

struct dx_zseek_writer {
    int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err);
    void *sink_ctx;
    struct dx_zstd_encoder *encoder;
    uint64_t size;       /* bytes given to the sink */
    uint64_t plain_size; /* bytes taken, without lines that wait for their frame */
    uint32_t frame_count;
    struct dx_buf table;
    struct dx_buf lines; /* waiting for their frame */
    struct dx_buf compressed;
    struct dx_hash_state *hashing;
    /* XXH3-128 of all plain bytes, but for those of frames that came encoded; valid after finish */
    struct dx_hash128 plain_hash;
};

int dx_zseek_writer_init(struct dx_zseek_writer *w, int level,
                         int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *sink_ctx, struct dx_error *err);

/* frame (may be NULL) tells where it lies; its compressed bytes are w->compressed until the
 * next call. */
int dx_zseek_writer_frame(struct dx_zseek_writer *w, struct dx_span plain,
                          struct dx_zseek_frame *frame, struct dx_error *err);
/* What dx_zstd_frames_encode made. */
int dx_zseek_writer_encoded(struct dx_zseek_writer *w, struct dx_span frames, struct dx_error *err);
int dx_zseek_writer_line(struct dx_zseek_writer *w, struct dx_span line, struct dx_error *err);
int dx_zseek_writer_finish(struct dx_zseek_writer *w, struct dx_error *err);
void dx_zseek_writer_release(struct dx_zseek_writer *w);

#endif
