/* SPDX-License-Identifier: Apache-2.0
 * surt.h - the key by which domains are ordered: "example.co.uk" <-> "uk co example".
 *
 *   uint8_t key[DX_SURT_MAX];
 *   size_t n = dx_surt_key(domain, key);         0: no domain (empty, over 253 bytes, a space in
 * it) size_t m = dx_surt_domain(span_of_key, out); 0: no key of any domain
 *
 * An IP literal (begins with '[', or its last label is all digits) is its own key. The
 * two functions are exact inverses: dx_surt_domain accepts only what dx_surt_key makes.
 * A space sorts below every byte of a host, so byte order of keys is order label by label.
 * No state; any thread.
 */
#ifndef DX_FORMAT_CORE_SURT_H
#define DX_FORMAT_CORE_SURT_H

#include "base/bytes.h"
#include "base/limits.h"

#define DX_SURT_MAX 256

size_t dx_surt_key(struct dx_span domain, uint8_t out[DX_SURT_MAX]);
size_t dx_surt_domain(struct dx_span key, uint8_t out[DX_SURT_MAX]);

#endif
