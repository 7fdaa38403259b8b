/* SPDX-License-Identifier: Apache-2.0
 * input_ranges.h - ranges of an input file: of a disk, or of an object behind http://, https:// or
 * s3://.
 *
 *   rc = dx_input_ranges_open(&r, "s3://bucket/path/part-0.parquet", &err);
 *   size = dx_input_ranges_size(r);                          bytes of the whole file
 *   rc = dx_input_ranges_read(r, offset, size, to, &err);    all of them, or an error
 *   dx_input_ranges_close(&r);
 *
 * Objects of DX_INPUT_CHUNK bytes or fewer come in one request. Of larger ones a read is cut into
 * chunks that are asked for DX_INPUT_WINDOW at a time; each must be of the same object as the
 * first, by its ETag and its length. A file that is replaced or cut while it is open is an error.
 * Memory: nothing beyond `to` but small objects. One thread at a time.
 */
#ifndef DX_BUILDER_INPUT_BYTES_INPUT_RANGES_H
#define DX_BUILDER_INPUT_BYTES_INPUT_RANGES_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define DX_INPUT_CHUNK (4u << 20)
#define DX_INPUT_WINDOW (16u << 20)

struct dx_input_ranges;

int dx_input_ranges_open(struct dx_input_ranges **r, const char *path, struct dx_error *err);
void dx_input_ranges_close(struct dx_input_ranges **r);
uint64_t dx_input_ranges_size(const struct dx_input_ranges *r);
const char *dx_input_ranges_name(const struct dx_input_ranges *r); /* without secrets */
int dx_input_ranges_read(struct dx_input_ranges *r, uint64_t offset, size_t size, uint8_t *to,
                         struct dx_error *err);

/* One range of an input that is not read otherwise: one request (of each 16 MiB) and no other. */
int dx_input_range_read(const char *path, uint64_t offset, size_t size, uint8_t *to,
                        struct dx_error *err);

#endif
