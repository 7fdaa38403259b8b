/* SPDX-License-Identifier: Apache-2.0
 * pair_pages.h - pages of facts.dat.zst and sketches.dat.zst: bytes for each pair of a part.
 *
 *   dx_pair_pages_begin(&w, &cold_writer);                          a writer that has begun (cold.h)
 *   rc = dx_pair_pages_add(&w, ordinal, dataset_id, bytes, &err);   ascending, all pairs
 *   rc = dx_pair_pages_end(&w, &err);                               the last page; then dx_cold_writer_end
 *   dx_pair_pages_release(&w);
 *
 *   struct dx_pair_page p = dx_pair_page_of(&page, version, plain);    version: dx_cold_version of its directory
 *   while ((rc = dx_pair_page_next(&p, &ordinal, &sub, &bytes, &err)) == 1) ...
 *   rc = dx_pair_page_seek(&p, at_ordinal, at_sub, &ordinal, &sub, &bytes, &err);    the next one that
 *                                                                   is not before that pair: 1, 0, <0
 *   sub = dx_pair_sub(version, dataset_id, rank);
 *
 * Every pair of a part has an entry, so which dataset an entry is of, the set of its domain says: sub is the rank of the pair, its
 * number among those of the domain, from 0. Pages of DX_COLD_VERSION_OLD name datasets: there sub is the dataset_id.
 *
 * The pairs of one domain may lie in several pages, one behind the other: from
 * dx_cold_find(c, file, ordinal, 0) on, while page.key is not above the ordinal; where that finds
 * none, from page 0 on.
 *
 * bytes are not empty. Those that are read are borrowed from plain. One thread at a time.
 */
#ifndef DX_FORMAT_VERSION_PAIR_PAGES_H
#define DX_FORMAT_VERSION_PAIR_PAGES_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/version/cold.h"

#define DX_PAIR_PAGE_COLUMNS 3 /* ordinals, sizes, bytes */

static inline uint32_t dx_pair_sub(uint32_t version, uint32_t dataset_id, uint32_t rank)
{
    return version == DX_COLD_VERSION_OLD ? dataset_id : rank;
}

struct dx_pair_pages {
    struct dx_cold_writer *out;
    struct dx_buf columns[DX_PAIR_PAGE_COLUMNS]; /* of the open page */
    struct dx_buf plain;
    uint32_t entries; /* of the open page */
    uint64_t first_ordinal;
    uint32_t first_rank;
    uint64_t last_ordinal;
    uint32_t last_dataset_id, last_rank;
    bool any;
};

void dx_pair_pages_begin(struct dx_pair_pages *w, struct dx_cold_writer *out);
int dx_pair_pages_add(struct dx_pair_pages *w, uint64_t ordinal, uint32_t dataset_id,
                      struct dx_span bytes, struct dx_error *err);
int dx_pair_pages_end(struct dx_pair_pages *w, struct dx_error *err);
void dx_pair_pages_release(struct dx_pair_pages *w);

struct dx_pair_page {
    enum dx_cold_file file;
    uint32_t number;
    uint32_t left; /* entries */
    bool first;
    uint64_t ordinal; /* of the last entry; at first of the page's key */
    uint32_t sub;
    bool names_datasets;
    struct dx_bytes columns[DX_PAIR_PAGE_COLUMNS];
    struct dx_bytes datasets;
};

struct dx_pair_page dx_pair_page_of(const struct dx_cold_page *page, uint32_t version,
                                    struct dx_span plain);
int dx_pair_page_next(struct dx_pair_page *p, uint64_t *ordinal, uint32_t *sub,
                      struct dx_span *bytes, struct dx_error *err);
int dx_pair_page_seek(struct dx_pair_page *p, uint64_t at_ordinal, uint32_t at_sub,
                      uint64_t *ordinal, uint32_t *sub, struct dx_span *bytes,
                      struct dx_error *err);

#endif
