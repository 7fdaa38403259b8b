/* SPDX-License-Identifier: Apache-2.0
 * input.h - the bytes of an input file, decompressed.
 *
 *   rc = dx_input_open(&in, "urls.tsv.gz", window_max, &err);    "-" is standard input,
 *                                                                http(s):// and s3:// an object
 *   n = dx_input_read(in, to, size, &err);      bytes, 0 at the end, <0 error
 *   dx_input_close(&in);
 *
 * Plain, gzip (any number of members) and zstd (any number of frames, skippable frames
 * too) are told apart by their first bytes, never by name; xz, bzip2, zip and Parquet
 * are refused by name. A file that ends inside a frame, has a wrong checksum or bytes
 * that belong to no frame is an error with name and offset in the compressed file.
 * window_max bounds what a zstd frame may make us allocate. One thread at a time.
 */
#ifndef DX_BUILDER_INPUT_H
#define DX_BUILDER_INPUT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dx_input;

int dx_input_open(struct dx_input **in, const char *path, uint64_t window_max,
                  struct dx_error *err);
void dx_input_close(struct dx_input **in);

ssize_t dx_input_read(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err);

/* Bytes of the file consumed so far (compressed ones, where it is compressed), and its
 * size; 0 where that is unknown (a pipe). Atomic: another thread may show progress. */
uint64_t dx_input_consumed(const struct dx_input *in);
uint64_t dx_input_file_size(const struct dx_input *in);
const char *dx_input_name(const struct dx_input *in); /* the path, or "standard input" */

#endif
