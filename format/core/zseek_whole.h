/* SPDX-License-Identifier: Apache-2.0
 * zseek_whole.h - a file in the zstd seekable format (zseek.h), read as a whole.
 *
 *   if (dx_zseek_named(name))                          ends in .zst
 *       rc = dx_zseek_read(file, path, &buf, &err);    the content of buf: all plain bytes
 *   rc = dx_zseek_expand(&buf, path, cap, &err);       the same in the place of the stored bytes
 *
 * DX_E_LIMIT: the plain bytes are more than the buffer's max, or than cap, which is its max then;
 * none of them was decoded. No state; any thread.
 */
#ifndef DX_FORMAT_CORE_ZSEEK_WHOLE_H
#define DX_FORMAT_CORE_ZSEEK_WHOLE_H

#include "base/buf.h"
#include "base/bytes.h"

bool dx_zseek_named(const char *name);
int dx_zseek_read(struct dx_span file, const char *name, struct dx_buf *to, struct dx_error *err);
int dx_zseek_expand(struct dx_buf *text, const char *name, size_t cap, struct dx_error *err);

#endif
