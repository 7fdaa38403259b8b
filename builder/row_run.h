/* SPDX-License-Identifier: Apache-2.0
 * row_run.h - a temporary file of sorted records, written once and read back in order.
 *
 *   rc = dx_row_codec_new(&codec, &err);                one a thread, shared by its runs
 *   rc = dx_row_run_create(&w, codec, path, &err);
 *   rc = dx_row_run_write(w, key, value, &err);
 *   rc = dx_row_run_finish(&w, &bytes, &err);           or dx_row_run_abort(&w): unlinks
 *
 *   rc = dx_row_run_open(&r, codec, path, &err);
 *   while ((rc = dx_row_run_read(r, &key, &value, &err)) == 1) ...   valid until the next read
 *   dx_row_run_close(&r);
 *
 * Records stand in blocks of about 64 kB, each compressed (zstd 1) with a checksum that
 * knows its number, and an end mark: a run that a full or failing disk has changed or cut
 * is DX_E_CORRUPT or DX_E_TRUNCATED, never fewer rows. Not synced: it does not outlive
 * the process. A reader or writer holds one block. One thread at a time for a codec.
 */
#ifndef DX_BUILDER_ROW_RUN_H
#define DX_BUILDER_ROW_RUN_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_ROW_RUN_BLOCK (64u * 1024)
#define DX_ROW_MAX (1u << 20) /* key and value of one record; far above what ingest makes */

struct dx_row_codec;
struct dx_row_run_writer;
struct dx_row_run_reader;

int dx_row_codec_new(struct dx_row_codec **codec, struct dx_error *err);
void dx_row_codec_free(struct dx_row_codec **codec);

int dx_row_run_create(struct dx_row_run_writer **w, struct dx_row_codec *codec, const char *path,
                      struct dx_error *err);
int dx_row_run_write(struct dx_row_run_writer *w, struct dx_span key, struct dx_span value,
                     struct dx_error *err);
int dx_row_run_finish(struct dx_row_run_writer **w, uint64_t *bytes, struct dx_error *err);
void dx_row_run_abort(struct dx_row_run_writer **w);

int dx_row_run_open(struct dx_row_run_reader **r, struct dx_row_codec *codec, const char *path,
                    struct dx_error *err);
int dx_row_run_read(struct dx_row_run_reader *r, struct dx_span *key, struct dx_span *value,
                    struct dx_error *err);
void dx_row_run_close(struct dx_row_run_reader **r);

#endif
