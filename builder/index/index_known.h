/* SPDX-License-Identifier: Apache-2.0
 * index_known.h - which domains of a scan the base has, by their numbers there.
 *
 *   struct dx_index_known k = DX_INDEX_KNOWN_INIT;
 *   rc = dx_index_known_find(&k, &lake, memory, &err);   after the scan; lake.pairs stands anywhere then
 *   number = dx_index_known_at(&k, i);                   of the i-th domain of the scan, by key:
 *                                                        loader/version_parts.h; DX_INDEX_UNKNOWN
 *   dx_index_known_release(&k);
 *
 * Domains are looked up once for all passes over the pairs, many at a time, so that they wait for
 * memory together. Held are 4 bytes a domain of the scan. memory: about what is mapped of the base's
 * files at a time at most; of a small scan less. One thread.
 */
#ifndef DX_BUILDER_INDEX_INDEX_KNOWN_H
#define DX_BUILDER_INDEX_INDEX_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct dx_index_lake;

#define DX_INDEX_UNKNOWN UINT32_MAX

struct dx_index_known {
    uint32_t *numbers;
    size_t count, capacity;
};

#define DX_INDEX_KNOWN_INIT \
    {                       \
        NULL, 0, 0          \
    }

int dx_index_known_find(struct dx_index_known *k, struct dx_index_lake *lake, size_t memory,
                        struct dx_error *err);
void dx_index_known_release(struct dx_index_known *k);

static inline uint32_t dx_index_known_at(const struct dx_index_known *k, uint64_t i)
{
    return i < k->count ? k->numbers[i] : DX_INDEX_UNKNOWN;
}

/* So many lookups in the parts of the base, each of which maps some 256 KiB of each, may follow each other before their
 * pages are dropped. */
uint64_t dx_index_known_lookups(const struct dx_index_lake *lake, size_t memory);
void dx_index_known_drop(const struct dx_index_lake *lake);

#endif
