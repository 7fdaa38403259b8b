/* SPDX-License-Identifier: Apache-2.0
 * utf8.h - what is well-formed UTF-8.
 *
 *   n = dx_utf8_size(p, left);        bytes of the character at p, 0 if there is none; left > 0
 *   ok = dx_utf8_is_valid(s);         no overlong forms, no surrogates, at most U+10FFFF
 *
 * No state.
 */
#ifndef DX_BASE_UTF8_H
#define DX_BASE_UTF8_H

#include "base/bytes.h"

size_t dx_utf8_size(const uint8_t *p, size_t left);
bool dx_utf8_is_valid(struct dx_span s);

#endif
