/* SPDX-License-Identifier: Apache-2.0
 * verify_pairs.h - facts or sketches of all pairs of a part, one after the other, for verify.
 *
 *   struct dx_verify_pairs p = { 0 };
 *   rc = dx_verify_pairs_open(&p, w, DX_COLD_FACTS, &why);     maps the file of the part that w looks at
 *   p.skip = true;                                             take passes over domains that are not asked for
 *   rc = dx_verify_pairs_take(&p, ordinal, dataset_id, &bytes, &why);
 *                                     DX_OK: the next entry is of this pair; <0 it is not. Of a domain all pairs are taken
 *   rc = dx_verify_pairs_end(&p, &why);                        nothing is left
 *   dx_verify_pairs_close(&p);                                 safe on a zeroed one
 *
 *   rc = dx_verify_pairs_page(&p, &page, &plain, &why);        or page by page: 1, 0 behind the last;
 *                                                              url_ids.dat.zst too
 *
 * From the file itself (dx_verify_map), so that each byte of it is seen. Spans are valid until the
 * next call. One thread.
 */
#ifndef DX_BUILDER_CHECK_VERIFY_PAIRS_H
#define DX_BUILDER_CHECK_VERIFY_PAIRS_H

#include "base/map.h"
#include "format/version/pair_pages.h"

struct dx_verify;

struct dx_verify_pairs {
    const struct dx_cold *cold;
    enum dx_cold_file file;
    struct dx_map map;
    struct dx_zstd_decoder *decoder;
    struct dx_buf plain; /* of the page at hand */
    struct dx_pair_page at;
    uint32_t next;    /* page */
    uint64_t ordinal; /* that was taken last, and the number of its pair */
    uint32_t rank;
    bool any;
    bool in_page;
    bool skip;
};

int dx_verify_pairs_open(struct dx_verify_pairs *p, const struct dx_verify *w,
                         enum dx_cold_file file, struct dx_error *why);
int dx_verify_pairs_page(struct dx_verify_pairs *p, struct dx_cold_page *page,
                         struct dx_span *plain, struct dx_error *why);
int dx_verify_pairs_take(struct dx_verify_pairs *p, uint64_t ordinal, uint32_t dataset_id,
                         struct dx_span *bytes, struct dx_error *why);
int dx_verify_pairs_end(struct dx_verify_pairs *p, struct dx_error *why);
void dx_verify_pairs_close(struct dx_verify_pairs *p);

#endif
