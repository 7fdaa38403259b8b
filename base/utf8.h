/* SPDX-License-Identifier: Apache-2.0
 * utf8.h - what is well-formed UTF-8, and characters written so.
 *
 *   n = dx_utf8_size(p, left);        bytes of the character at p, 0 if there is none; left > 0
 *   ok = dx_utf8_is_valid(s);         no overlong forms, no surrogates, at most U+10FFFF
 *   n = dx_utf8_write(out, code);     the bytes of a character, at most DX_UTF8_MAX
 *   n = dx_utf8_printable_size(p, left);       as dx_utf8_size, but 0 for the controls C0, DEL and C1
 *   dx_utf8_copy_printable(out, room, p, n);   the rest as \xNN; cut at a character, ended by a 0
 *
 * Printable text can set no colour or title of a terminal and begins no line. A backslash stays as it
 * is: what was copied already is not changed. No state; any thread.
 */
#ifndef DX_BASE_UTF8_H
#define DX_BASE_UTF8_H

#include "base/bytes.h"

#define DX_UTF8_MAX 4 /* bytes of a character */

size_t dx_utf8_size(const uint8_t *p, size_t left);
bool dx_utf8_is_valid(struct dx_span s);
size_t dx_utf8_write(uint8_t *out, uint32_t code);
size_t dx_utf8_printable_size(const uint8_t *p, size_t left);
void dx_utf8_copy_printable(char *out, size_t room, const char *text, size_t size);

#endif
