/* SPDX-License-Identifier: Apache-2.0
 * pair_tally.h - what the rows of one (domain, dataset) say of its hosts, paths and distinct URLs.
 *
 *   rc = dx_pair_tally_new(&t, &err);
 *   dx_pair_tally_begin(t, domain);                      domain: copied
 *   rc = dx_pair_tally_row(t, scheme, host, path_query, new_url, &err);    every row, by (host, path_query);
 *                                           new_url: the first row with this scheme, host and path_query
 *   rc = dx_pair_tally_pages(t, host, pages, &err);      instead, of a dataset of counts: so many rows and URLs of the host.
 *                                           Such a pair has no paths, and the one hash 0 for a sketch
 *   rc = dx_pair_tally_end(t, &facts, &sketch, &err);     replaces both buffers by encoded bytes (facts.h,
 *                                                         url_sketch.h); deterministic
 *   dx_pair_tally_free(&t);
 *
 * Exact for any number of rows. Memory: the hosts of the pair (about 24 bytes and the text of
 * each), the nested paths at hand, DX_FACTS_PATHS_MAX best ones, a sketch. Where the best ones of a
 * kind come to have over DX_TALLY_PATHS_BYTES of text, the pair gets no paths, as one whose lists
 * are too long in the end. One thread at a time.
 */
#ifndef DX_FORMAT_VERSION_PAIR_TALLY_H
#define DX_FORMAT_VERSION_PAIR_TALLY_H

#include "base/buf.h"
#include "base/error.h"
#include "format/version/facts.h"

struct dx_pair_tally;

/* Of host and path of the best, twice what their lists may have in a file. */
#define DX_TALLY_PATHS_BYTES (2 * DX_FACTS_PATHS_BYTES)

/* Room that facts and sketch of a pair need at most: caps for the buffers of end. */
#define DX_PAIR_TALLY_FACTS_MAX DX_FACTS_BYTES_MAX
#define DX_PAIR_TALLY_SKETCH_MAX 4096u

int dx_pair_tally_new(struct dx_pair_tally **t, struct dx_error *err);
void dx_pair_tally_begin(struct dx_pair_tally *t, struct dx_span domain);
/* After begin: paths also if there are few rows. For answers, not for files. */
void dx_pair_tally_all_paths(struct dx_pair_tally *t);
int dx_pair_tally_row(struct dx_pair_tally *t, struct dx_span scheme, struct dx_span host,
                      struct dx_span path_query, bool new_url, struct dx_error *err);
int dx_pair_tally_pages(struct dx_pair_tally *t, struct dx_span host, uint64_t pages,
                        struct dx_error *err);
int dx_pair_tally_end(struct dx_pair_tally *t, struct dx_buf *facts, struct dx_buf *sketch,
                      struct dx_error *err);
/* Counts of the pair, at any time between begin and the next begin. */
void dx_pair_tally_counts(const struct dx_pair_tally *t, uint64_t *url_count, uint64_t *row_count);
void dx_pair_tally_free(struct dx_pair_tally **t);

#endif
