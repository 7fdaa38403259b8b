/* SPDX-License-Identifier: Apache-2.0
 * spool.h - many streams of bytes in one temporary file, each read back in the order of its writes.
 *
 *   rc = dx_spool_new(&s, tmp_dir, streams, memory_bytes, &err);        streams: numbered from 0
 *   rc = dx_spool_add(s, stream, bytes, &err);                          appends
 *   rc = dx_spool_finish(s, &err);
 *   rc = dx_spool_replay(s, stream, take, ctx, &err);                   its bytes, in pieces, in order
 *   dx_spool_free(&s);
 *
 * For what arrives mixed and is wanted apart: pairs by dataset, URLs by hash. No sort, a write a
 * full chunk; a stream that is shorter than a chunk is never written. A record that was added at once
 * may come in two pieces. A stream can be replayed any number of times, and all of them in any order.
 * The take's error ends the replay.
 *
 * Memory: a chunk a stream that has bytes: memory_bytes / streams, but at least DX_SPOOL_CHUNK_MIN
 * and at most DX_SPOOL_CHUNK_MAX, and 32 bytes a stream. The file has no name once it is open, so a
 * crash leaves nothing behind; what is read back is compared with a hash of what was written:
 * DX_E_CORRUPT if the disk changed it. One thread at a time.
 */
#ifndef DX_BUILDER_SPOOL_H
#define DX_BUILDER_SPOOL_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_SPOOL_CHUNK_MIN 256u
#define DX_SPOOL_CHUNK_MAX (64u << 10)

struct dx_spool;

int dx_spool_new(struct dx_spool **s, const char *tmp_dir, size_t streams, size_t memory_bytes,
                 struct dx_error *err);
int dx_spool_add(struct dx_spool *s, size_t stream, struct dx_span bytes, struct dx_error *err);
int dx_spool_finish(struct dx_spool *s, struct dx_error *err);
int dx_spool_replay(struct dx_spool *s, size_t stream,
                    int (*take)(void *ctx, struct dx_span piece, struct dx_error *err), void *ctx,
                    struct dx_error *err);
uint64_t dx_spool_size(const struct dx_spool *s, size_t stream); /* bytes that were added */
uint64_t dx_spool_written(const struct dx_spool *s);             /* bytes of the file */
void dx_spool_free(struct dx_spool **s);

#endif
