/* SPDX-License-Identifier: Apache-2.0
 * posting_frames.h - the posting list of one pair, from the two frames that have it, without I/O.
 *
 *   dx_posting_frames_init(&f, part, caches);
 *   rc = dx_posting_frames_find(&f, place, &err);         loader/domain_pairs.h; 1, 0: no page can have the pair
 *   rc = dx_posting_frames_have(&f, other, &err);         1: the list of this place too
 *   rc = dx_posting_frames_advance(&f, &reading, &decoder, &err);      query/view/block_request.h: again, until
 *                                                         `reading` waits for nothing
 *   rc = dx_posting_frames_payload(&f, place, &bytes, &err);     1, 0 the pair is not there; format/version/payload.h
 *   dx_posting_frames_release(&f);                        bytes end with it
 *
 * Any number of them may be advanced together: one batch. reading is of part->paged. *decoder: NULL at
 * first, the caller frees it. f must not move from advance to release. One thread at a time.
 */
#ifndef DX_QUERY_ROWS_POSTING_FRAMES_H
#define DX_QUERY_ROWS_POSTING_FRAMES_H

#include "format/version/manifest.h"
#include "format/version/postings.h"
#include "query/view/block_request.h"

struct dx_caches;
struct dx_part;
struct dx_zstd_decoder;

struct dx_posting_frames {
    const struct dx_part *part;
    struct dx_postings_page page;
    struct dx_block_request idx, dat;
    char idx_object[DX_MANIFEST_FILE_PATH], dat_object[DX_MANIFEST_FILE_PATH];
};

void dx_posting_frames_init(struct dx_posting_frames *f, const struct dx_part *part,
                            const struct dx_caches *caches);
int dx_posting_frames_find(struct dx_posting_frames *f, struct dx_pair_place place,
                           struct dx_error *err);
int dx_posting_frames_have(const struct dx_posting_frames *f, struct dx_pair_place place,
                           struct dx_error *err);
int dx_posting_frames_advance(struct dx_posting_frames *f, struct dx_read_batch *reading,
                              struct dx_zstd_decoder **decoder, struct dx_error *err);
int dx_posting_frames_payload(const struct dx_posting_frames *f, struct dx_pair_place place,
                              struct dx_span *bytes, struct dx_error *err);
void dx_posting_frames_release(struct dx_posting_frames *f);

#endif
