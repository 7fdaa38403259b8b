/* SPDX-License-Identifier: Apache-2.0
 * foreign_format.h - formats that ingest does not read, recognised by their first bytes.
 *
 *   rc = dx_foreign_format_check(head, name, &err);      DX_E_UNSUPPORTED: names format and way out
 *   rc = dx_foreign_text_check(head, name, &err);        the same for formats that are text, and what is packed twice
 *   rc = dx_foreign_empty_check(name, &err);             DX_E_TRUNCATED: a file without a byte that by its name has some
 *
 * `head` is what a file begins with (compressed or not); 512 bytes are enough for each. A short one
 * matches what it is long enough for. The first check is right for every input, the second only
 * where the caller has not said what the lines are. No I/O; any thread.
 */
#ifndef DX_BUILDER_INPUT_BYTES_FOREIGN_FORMAT_H
#define DX_BUILDER_INPUT_BYTES_FOREIGN_FORMAT_H

#include "base/bytes.h"
#include "base/error.h"

int dx_foreign_format_check(struct dx_span head, const char *name, struct dx_error *err);
int dx_foreign_text_check(struct dx_span head, const char *name, struct dx_error *err);
int dx_foreign_empty_check(const char *name, struct dx_error *err);

#endif
