/* SPDX-License-Identifier: Apache-2.0
 * spill_file.h - bytes that wait on disk until they are read back once, in order.
 *
 *   rc = dx_spill_file_new(&f, dir, &err);
 *   rc = dx_spill_file_append(f, bytes, &err);            buffered
 *   rc = dx_spill_file_replay(f, sink, ctx, &err);        all bytes, in pieces
 *   dx_spill_file_free(&f);
 *
 * For sections whose size stands in front of them. The file has no name any more once
 * it is open, so a crash leaves nothing behind. What is read back is compared with a
 * hash of what was written: DX_E_CORRUPT if the disk changed it. The sink's error ends
 * the replay. One thread at a time.
 */
#ifndef DX_BUILDER_SORT_SPILL_FILE_H
#define DX_BUILDER_SORT_SPILL_FILE_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_spill_file;

int dx_spill_file_new(struct dx_spill_file **f, const char *dir, struct dx_error *err);
int dx_spill_file_append(struct dx_spill_file *f, struct dx_span bytes, struct dx_error *err);
int dx_spill_file_replay(struct dx_spill_file *f,
                         int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *ctx, struct dx_error *err);
void dx_spill_file_free(struct dx_spill_file **f);

/* A new file in dir, open for reading and writing, already without a name; or <0. */
int dx_spill_open(const char *dir, struct dx_error *err);

#endif
