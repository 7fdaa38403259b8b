/* SPDX-License-Identifier: Apache-2.0
 * cdx_search.h - the rows of a domain that a question about one of its hosts has to look at: those of the host, and of more than may be looked at
 * those with keys of the question; of more than that a piece of its keys after the other.
 *
 *   dx_cdx_search_init(&s, v, part, ordinal, host, alone, deadline_ms);            as dx_cdx_host_init
 *   ... dx_domain_rows_add(&s.host.rows, ...) ...                                  the pairs of the domain
 *   s.keys = ...; s.look_max = ...; s.by_keys = ...;                               by_keys: else all rows of the host are wanted, however many
 *   rc = dx_cdx_search_begin(&s, &err);
 *   while (s.searching && (rc = dx_cdx_search_step(&s, &err)) == DX_LISTING_WAITS)
 *       ... dx_cdx_host_reading(&s.host), dx_cdx_host_fetched(&s.host, rc, &err) ...
 *   if (s.found && !s.in_pieces)
 *       ... s.ranges, s.count ...                                                  for dx_domain_rows_narrow of the same pairs
 *   dx_cdx_search_piece(&s, from, room, &err);  ... steps ...                      in pieces: of keys from `from` on; of at most so many rows, if that can be
 *       ... s.ranges, s.count, s.rows ...                                          rows with keys of s.piece
 *       ... s.last; s.piece.high ...                                               whether it is the last one; else where the next one begins
 *   dx_cdx_search_release(&s);                                                     also of one that is all zero
 *
 * Pieces begin small, and each is twice the one before. Where one begins no key is: bounds lie between keys. Where rows cannot be searched for,
 * nothing is found and all have to be looked at. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_SEARCH_H
#define DX_QUERY_CDX_CDX_SEARCH_H

#include "query/cdx/cdx_places.h"

struct dx_cdx_search {
    struct dx_cdx_host host;
    struct dx_cdx_keys keys;
    uint64_t look_max;
    bool by_keys, whole; /* whole: not in pieces */
    bool searching, found, in_pieces;
    bool by_paths; /* rows whose keys stray may be missing (query/cdx/cdx_places.h) */
    const struct dx_domain_rows_range *ranges;
    size_t count;
    uint64_t rows;
    struct dx_cdx_keys piece;
    bool last;

    /* private */
    unsigned state;
    struct dx_cdx_places places;
    struct dx_buf low, high;   /* of the piece */
    size_t bounds, bounds_max; /* that a piece goes over */
    uint64_t room;
};

void dx_cdx_search_init(struct dx_cdx_search *s, struct dx_version *v, const struct dx_part *part,
                        uint64_t ordinal, struct dx_span host, bool alone, uint64_t deadline_ms);
int dx_cdx_search_begin(struct dx_cdx_search *s, struct dx_error *err);
int dx_cdx_search_step(struct dx_cdx_search *s, struct dx_error *err);
int dx_cdx_search_piece(struct dx_cdx_search *s, struct dx_span from, uint64_t room,
                        struct dx_error *err);
void dx_cdx_search_release(struct dx_cdx_search *s);

#endif
