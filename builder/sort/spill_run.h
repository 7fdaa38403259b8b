/* SPDX-License-Identifier: Apache-2.0
 * spill_run.h - sorted records in a part of a temporary file, written once and read in order.
 *
 *   rc = dx_spill_codec_new(&codec, dir, &err);         one a thread, shared by its runs
 *   fd = dx_spill_open(dir, &err);                      spill_file.h: a file without a name
 *   struct dx_spill_run run = { .fd = fd, .offset = end of what fd holds, .id = unique };
 *   rc = dx_spill_run_create(&w, codec, &run, &err);
 *   rc = dx_spill_run_write(w, key, value, &err);
 *   rc = dx_spill_run_finish(&w, &run, &err);           run is readable; or dx_spill_run_abort(&w)
 *
 *   rc = dx_spill_run_open(&r, codec, &run, &err);      as often as wanted
 *   while ((rc = dx_spill_run_read(r, &key, &value, &err)) == 1) ...   valid until the next read
 *   dx_spill_run_close(&r);
 *
 * Records stand in blocks of about 64 kB, each compressed (zstd 1) with a checksum that knows
 * the run and the block's number, and a run knows how many records it holds: what a full or
 * failing disk has changed or cut is DX_E_CORRUPT or DX_E_TRUNCATED, never fewer rows.
 *
 * A writer or reader holds one block, the codec one compressed block. The file stays the
 * caller's; one writer at a time for a file, which appends. `dir` names the file in messages
 * and is borrowed. One thread at a time for a codec and what uses it.
 */
#ifndef DX_BUILDER_SORT_SPILL_RUN_H
#define DX_BUILDER_SORT_SPILL_RUN_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_SPILL_BLOCK (64u * 1024)

struct dx_spill_codec;
struct dx_spill_run_writer;
struct dx_spill_run_reader;

struct dx_spill_run {
    int fd;
    uint64_t id;     /* no block passes for one of a run with another id */
    uint64_t offset; /* in the file */
    uint64_t size;   /* from here on: set by finish */
    uint64_t records;
    size_t block_max; /* bytes of the largest block before compression */
};

int dx_spill_codec_new(struct dx_spill_codec **codec, const char *dir, struct dx_error *err);
void dx_spill_codec_free(struct dx_spill_codec **codec);

int dx_spill_run_create(struct dx_spill_run_writer **w, struct dx_spill_codec *codec,
                        const struct dx_spill_run *run, struct dx_error *err);
int dx_spill_run_write(struct dx_spill_run_writer *w, struct dx_span key, struct dx_span value,
                       struct dx_error *err);
int dx_spill_run_finish(struct dx_spill_run_writer **w, struct dx_spill_run *run,
                        struct dx_error *err);
void dx_spill_run_abort(struct dx_spill_run_writer **w);

int dx_spill_run_open(struct dx_spill_run_reader **r, struct dx_spill_codec *codec,
                      const struct dx_spill_run *run, struct dx_error *err);
int dx_spill_run_read(struct dx_spill_run_reader *r, struct dx_span *key, struct dx_span *value,
                      struct dx_error *err);
void dx_spill_run_close(struct dx_spill_run_reader **r);

#endif
