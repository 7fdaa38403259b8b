/* SPDX-License-Identifier: Apache-2.0
 * input.h - the bytes of an input file, decompressed.
 *
 *   rc = dx_input_open(&in, "urls.tsv.gz", window_max, &err);    "-" is standard input,
 *                                                                http(s):// and s3:// an object
 *   n = dx_input_read(in, to, size, &err);      bytes, 0 at the end, <0 error
 *   dx_input_close(&in);
 *
 * Plain, gzip (any number of members), zstd (any number of frames, skippable frames too), bzip2 and
 * xz (any number of streams) are distinguished by their first bytes, never by name. Of a WACZ (wacz.h) the WARC
 * files in it are read, one behind the other, each plain or compressed; offsets are those in the WACZ. Formats
 * that foreign_format.h recognises (other zip archives, lz4, Parquet...) are refused with a way out. A file that ends inside a frame, has a wrong
 * checksum or bytes that belong to no frame is an error with name and offset in the compressed
 * file. window_max bounds what a zstd frame or xz stream may make us allocate. One thread at a time.
 *
 * Where the members matter, as each may be a record, they are read one by one:
 *
 *   rc = dx_input_peek(in, &head, &err);                what the input begins with, 5 bytes at least
 *   while ((rc = dx_input_member_next(in, &err)) > 0)   a plain file is one member
 *       dx_input_member_at(in)                          its offset in the file
 *       while ((n = dx_input_member_read(in, to, size, &err)) > 0)
 *           ...                                         at 0 it ends at dx_input_consumed(in)
 *   rc = dx_input_recover(in, begins, &err);            after DX_E_CORRUPT or DX_E_TRUNCATED: 1 a later
 *                                                       member yields what begins(its first 16 bytes, or
 *                                                       all) accepts (of bzip2: begins with a block),
 *                                                       and is the next one; 0 none does
 *
 * What a store does not give, or gives wrongly, is neither of these codes: that bytes could not be read says nothing about the file.
 */
#ifndef DX_BUILDER_INPUT_BYTES_INPUT_H
#define DX_BUILDER_INPUT_BYTES_INPUT_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dx_input;

int dx_input_open(struct dx_input **in, const char *path, uint64_t window_max,
                  struct dx_error *err);
void dx_input_close(struct dx_input **in);

ssize_t dx_input_read(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err);

int dx_input_peek(struct dx_input *in, struct dx_span *head, struct dx_error *err);
int dx_input_member_next(struct dx_input *in, struct dx_error *err);
ssize_t dx_input_member_read(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err);
uint64_t dx_input_member_at(const struct dx_input *in);
int dx_input_recover(struct dx_input *in, bool (*begins)(struct dx_span first),
                     struct dx_error *err);
/* Behind a peek into a compressed file: whether a checksum in the first MiB of the member says that what was seen
 * is damaged; then dx_input_recover or dx_input_restart must follow. false: sound, or no file; nothing was read away. */
bool dx_input_front_is_damaged(struct dx_input *in);
/* Back to the front: of a file, or while nothing but the front was read; false: too late. */
bool dx_input_restart(struct dx_input *in);
/* Back to an offset of a plain file, or object; 0: it is another one, or it went back too often. */
int dx_input_seek(struct dx_input *in, uint64_t offset, struct dx_error *err);

/* Whether a plain file, or object, has no bytes up to the offset; of a WACZ, the WARC file at hand. false: that is not known. */
bool dx_input_ends_before(const struct dx_input *in, uint64_t offset);

/* Whether it is a file that is longer now than when it was opened. */
bool dx_input_has_grown(const struct dx_input *in);

/* Bytes of the file consumed so far (compressed ones, where it is compressed), and its
 * size; 0 where that is unknown (a pipe). Atomic: another thread may show progress. */
uint64_t dx_input_consumed(const struct dx_input *in);
uint64_t dx_input_file_size(const struct dx_input *in);
const char *dx_input_name(const struct dx_input *in); /* the path, or "standard input" */
bool dx_input_is_plain(const struct dx_input *in); /* not compressed: of a WACZ the file at hand */
const char *dx_input_container(const struct dx_input *in); /* "gzip", "plain", "WACZ" */

#endif
