/* SPDX-License-Identifier: Apache-2.0
 * id_hash.h - the hash that ids are: XXH3-64, of which builds for tests keep some leading bits.
 *
 *   uint64_t id = dx_id64(text);                 domain_id, url_id
 *   uint64_t id = dx_id64_seeded(text, seed);    of a domain whose id another one has; 0: dx_id64
 *   const char *words = dx_id_warning();         for --version; "" where ids are whole
 *
 * With DX_HASH_BITS (cmake/options.cmake) the lower bits are zero, so that ids collide everywhere
 * and tests see whether answers stay exact. All of it is this file: programs that are linked with
 * another compilation of id_hash.c have other ids. Their versions are not for other programs.
 * No state; any thread.
 */
#ifndef DX_BASE_ID_HASH_H
#define DX_BASE_ID_HASH_H

#include "base/bytes.h"

uint64_t dx_id64(struct dx_span text);
uint64_t dx_id64_seeded(struct dx_span text, uint64_t seed);
const char *dx_id_warning(void);

#endif
