/* SPDX-License-Identifier: Apache-2.0
 * codec.h - the compression codecs of Parquet pages.
 *
 *   struct dx_pq_codec_state *st = NULL;           kept between calls, one for each thread
 *   rc = dx_pq_decompress(&st, codec, from, to, plain_size, &err);
 *   rc = dx_pq_compress_zstd(&st, level, from, &buf, &err);
 *   dx_pq_codec_state_free(&st);
 *
 * Decompression fills exactly plain_size bytes at `to`; more or fewer is DX_E_CORRUPT. The
 * state is made when it is first needed.
 */
#ifndef DX_PARQUET_CODEC_H
#define DX_PARQUET_CODEC_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

struct dx_pq_codec_state;

bool dx_pq_codec_is_known(unsigned codec);

int dx_pq_decompress(struct dx_pq_codec_state **st, unsigned codec, struct dx_span from,
                     uint8_t *to, size_t plain_size, struct dx_error *err);
int dx_pq_compress_zstd(struct dx_pq_codec_state **st, int level, struct dx_span from,
                        struct dx_buf *to, struct dx_error *err);
void dx_pq_codec_state_free(struct dx_pq_codec_state **st);

#endif
