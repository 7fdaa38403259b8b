/* SPDX-License-Identifier: Apache-2.0
 * names.h - made-up registered domains, for benchmarks of any size.
 *
 *   char name[NAME_ROOM];
 *   size_t size = make_name(i, name);         "kitchenlab24.com", NUL-terminated
 *
 * Distinct for distinct i by construction, the same in every run, in no order: the first n are
 * n distinct names for any n, and those from n on are strangers of the same kind. Words in
 * several languages by rank, syllables, digits, hyphens; suffixes by their shares of
 * registrations. All are canonical; two dozen of the first 2^28 are public suffixes of companies
 * ("github.io") and so no domains. i below NAME_COUNT_MAX; from 2^28 on they become longer.
 * Threads may call it at once; 70 ns.
 */
#ifndef DX_BENCH_NAMES_H
#define DX_BENCH_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define NAME_ROOM 96
#define NAME_COUNT_MAX (UINT64_C(1) << 40)

size_t make_name(uint64_t i, char out[NAME_ROOM]);

#endif
