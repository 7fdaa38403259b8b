/* SPDX-License-Identifier: Apache-2.0
 * cold_page.h - a page of a cold file that an answer needs: checked bytes, through the cache.
 *
 *   rc = dx_cold_page_find(&p, part, caches, DX_COLD_FACTS, ordinal, sub, &err);
 *                                       1: the last page that begins at or before this key; 0: none
 *   rc = dx_cold_page_at(&p, part, caches, DX_COLD_FACTS, number, &err);    1, 0 behind the last page
 *   rc = dx_cold_page_advance(&p, &reading, decoder, &err);      as dx_block_request_advance: steps of a task
 *   if (p.wanted.block != NULL)  ... p.page, dx_cold_page_bytes(&p) ...            until release
 *   dx_cold_page_release(&p);                                    at the end, on every path; zeroed is fine
 *
 * Pages that are advanced together are one batch. Reads go to dx_part_cold_source(part, file), so
 * `reading` has to be begun with it. decoder: one of the caller's thread, used by this call only.
 */
#ifndef DX_QUERY_ROWS_COLD_PAGE_H
#define DX_QUERY_ROWS_COLD_PAGE_H

#include "format/version/cold.h"
#include "format/version/manifest.h"
#include "query/view/block_request.h"

struct dx_caches;
struct dx_part;

struct dx_cold_page_wanted {
    const struct dx_part *part;
    struct dx_cold_page page;
    struct dx_block_request wanted;
    char name[DX_MANIFEST_FILE_PATH]; /* of the object */
};

int dx_cold_page_find(struct dx_cold_page_wanted *p, const struct dx_part *part,
                      const struct dx_caches *caches, enum dx_cold_file file, uint64_t key,
                      uint32_t sub, struct dx_error *err);
int dx_cold_page_at(struct dx_cold_page_wanted *p, const struct dx_part *part,
                    const struct dx_caches *caches, enum dx_cold_file file, uint32_t number,
                    struct dx_error *err);
int dx_cold_page_advance(struct dx_cold_page_wanted *p, struct dx_read_batch *reading,
                         struct dx_zstd_decoder *decoder, struct dx_error *err);
struct dx_span dx_cold_page_bytes(const struct dx_cold_page_wanted *p);
void dx_cold_page_release(struct dx_cold_page_wanted *p);

#endif
