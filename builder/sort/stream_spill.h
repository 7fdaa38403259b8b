/* SPDX-License-Identifier: Apache-2.0
 * stream_spill.h - many streams of bytes in one temporary file, each read back in the order of its
 * writes.
 *
 *   rc = dx_stream_spill_new(&s, tmp_dir, streams, memory_bytes, &err);        streams: numbered from 0
 *   rc = dx_stream_spill_add(s, stream, bytes, &err);                          appends
 *   dx_stream_spill_expect(s, stream);                                         soon something will be added to it
 *   rc = dx_stream_spill_finish(s, &err);
 *   rc = dx_stream_spill_replay(s, stream, take, ctx, &err);                   its bytes, in pieces, in order
 *   dx_stream_spill_free(&s);
 *
 * For what arrives mixed and is wanted apart: pairs by dataset, URLs by hash. No sort, a write a
 * full chunk; a stream that is shorter than a chunk is never written. A record that was added at
 * once may come in two pieces. A stream can be replayed any number of times, and all of them in any
 * order. The take's error ends the replay.
 *
 * Memory: a chunk a stream that has bytes: memory_bytes / streams, but at least
 * DX_STREAM_SPILL_CHUNK_MIN and at most DX_STREAM_SPILL_CHUNK_MAX, and 32 bytes a stream. The file
 * has no name once it is open, so a crash leaves nothing behind; what is read back is compared with
 * a hash of what was written: DX_E_CORRUPT if the disk changed it. One thread at a time.
 */
#ifndef DX_BUILDER_SORT_STREAM_SPILL_H
#define DX_BUILDER_SORT_STREAM_SPILL_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_STREAM_SPILL_CHUNK_MIN 256u
#define DX_STREAM_SPILL_CHUNK_MAX (64u << 10)

struct dx_stream_spill;

int dx_stream_spill_new(struct dx_stream_spill **s, const char *tmp_dir, size_t streams,
                        size_t memory_bytes, struct dx_error *err);
int dx_stream_spill_add(struct dx_stream_spill *s, size_t stream, struct dx_span bytes,
                        struct dx_error *err);
void dx_stream_spill_expect(const struct dx_stream_spill *s, size_t stream);
int dx_stream_spill_finish(struct dx_stream_spill *s, struct dx_error *err);
int dx_stream_spill_replay(struct dx_stream_spill *s, size_t stream,
                           int (*take)(void *ctx, struct dx_span piece, struct dx_error *err),
                           void *ctx, struct dx_error *err);
uint64_t dx_stream_spill_size(const struct dx_stream_spill *s,
                              size_t stream);                      /* bytes that were added */
uint64_t dx_stream_spill_written(const struct dx_stream_spill *s); /* bytes of the file */
void dx_stream_spill_free(struct dx_stream_spill **s);

#endif
