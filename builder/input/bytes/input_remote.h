/* SPDX-License-Identifier: Apache-2.0
 * input_remote.h - the bytes of one object behind http://, https:// or s3://, from front to back.
 *
 *   rc = dx_input_remote_open(&r, "https://host/path/file.tsv.gz", &err);
 *   n = dx_input_remote_read(r, to, size, &err);        bytes, 0 at the end, <0 error
 *   dx_input_remote_close(&r);
 *
 * Read by ranges (input_ranges.h), a window at a time. Exactly the object's bytes come: a reply
 * that ends early is an error, never the end. Memory: DX_INPUT_WINDOW. One thread at a time.
 */
#ifndef DX_BUILDER_INPUT_BYTES_INPUT_REMOTE_H
#define DX_BUILDER_INPUT_BYTES_INPUT_REMOTE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dx_input_remote;

int dx_input_remote_open(struct dx_input_remote **r, const char *url, struct dx_error *err);
void dx_input_remote_close(struct dx_input_remote **r);
/* The next read is from there on; what is at hand of it is not read again. */
void dx_input_remote_seek(struct dx_input_remote *r, uint64_t offset);
ssize_t dx_input_remote_read(struct dx_input_remote *r, uint8_t *to, size_t size,
                             struct dx_error *err);

/* Bytes of the object. */
uint64_t dx_input_remote_total(const struct dx_input_remote *r);

#endif
