/* SPDX-License-Identifier: Apache-2.0
 * version_pair.h - what an open version knows of one (domain, dataset): counts, places of the rows,
 * and their URLs file by file.
 *
 *   rc = dx_version_pair_new(&k, base, cache, memory_bytes, &err);      one a thread
 *   rc = dx_version_pair_find(k, domain, dataset_id, &err);             1, 0 it has no such pair, <0
 *   k->count   k->runs                                           struct dx_run, by path of the files
 *   for (i = 0; i < k->cursor_count; i++)                        a cursor a file
 *       while ((rc = dx_version_pair_next(k, i, &err)) == 1)            rows by host, path_query
 *           ... k->cursors[i].row: domain, scheme, host, path_query ...
 *   dx_version_pair_free(&k);
 *
 * A cursor's row is valid until its next; cursors may be taken in any order. What find gave is
 * valid until the next find. `domain` must stay until then. Files stay open from pair to pair, as
 * many as memory_bytes allow; a pair in more files than that is DX_E_LIMIT. `cache` holds
 * pages of postings and may be shared by threads.
 */
#ifndef DX_BUILDER_SCAN_VERSION_PAIR_H
#define DX_BUILDER_SCAN_VERSION_PAIR_H

#include "base/buf.h"
#include "builder/lake/lake_file.h"
#include "builder/scan/part_postings.h"
#include "format/core/counts.h"
#include "format/version/payload.h"

struct dx_version_pair_slot;
struct dx_page_cache;
struct dx_version;

#define DX_KNOWN_FILE_BYTES (512u << 10) /* that an open file is taken to need */

struct dx_version_pair_cursor {
    struct dx_lake_row row;
    /* private */
    size_t slot;
    size_t run, end; /* in runs */
    uint64_t row_in_run;
};

struct dx_version_pair {
    struct dx_pair_count count;
    struct dx_buf runs;
    struct dx_version_pair_cursor *cursors;
    size_t cursor_count;
    /* private */
    size_t cursor_capacity;
    struct dx_version *base;
    struct dx_part_postings postings[DX_PARTS_MAX]; /* of its parts; closed until they are needed */
    size_t part;                                    /* that has the pair at hand */
    struct dx_page_cache *cache;
    struct dx_version_pair_slot *slots;
    size_t slot_count, slot_max;
    uint64_t find;                        /* number of the find at hand */
    uint64_t lookups, mapped, mapped_max; /* all; since pages were dropped, and at most */
    struct dx_span domain;
};

int dx_version_pair_new(struct dx_version_pair **k, struct dx_version *base,
                        struct dx_page_cache *cache, size_t memory_bytes, struct dx_error *err);
int dx_version_pair_find(struct dx_version_pair *k, struct dx_span domain, uint32_t dataset_id,
                         struct dx_error *err);
int dx_version_pair_next(struct dx_version_pair *k, size_t cursor, struct dx_error *err);
void dx_version_pair_free(struct dx_version_pair **k);

#endif
