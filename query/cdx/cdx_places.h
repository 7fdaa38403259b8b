/* SPDX-License-Identifier: Apache-2.0
 * cdx_places.h - which rows of a host may have keys of a range, of a host with more rows than may be looked at.
 *
 *   dx_cdx_places_init(&p, &host, leaf);                    host: DONE (query/cdx/cdx_host.h); so many rows are not cut any more
 *   dx_cdx_places_search(&p, &keys);                        rows with these keys (query/cdx/cdx_between.h)
 *   while ((rc = dx_cdx_places_step(&p, &err)) == DX_LISTING_WAITS)
 *       ... dx_cdx_host_reading(host), dx_cdx_host_fetched(host, rc, &err) ...
 *   p.ranges, p.count, p.rows                               once it is DONE: as those of the host. All rows with these keys are in them, others may be
 *   dx_cdx_places_sample(&p, &keys, count);  ... steps ...  of about so many rows at equal distances, in what was found last
 *   p.bounds, p.bound_count                                 what stands between their keys: in order, apart, and no key itself
 *   dx_cdx_places_release(&p);
 *
 * Rows are in order of paths and keys nearly are: where two rows stand that have no such key between them (dx_cdx_between), the rows between
 * them are left out; the others are cut, and looked at again. So a search reads some slices for each place where rows with
 * these keys begin or end. After DX_CDX_PLACES_LOOKS rows no more is cut.
 *
 * Rows whose keys stray are in what is found as far as the index lists them (format/version/pages.h): all are, unless p.by_paths; of more than
 * DX_CDX_PLACES_STRAYS of the host it is.
 *
 * keys are held by the caller until DONE. DX_E_UNSUPPORTED: rows are not in order. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_PLACES_H
#define DX_QUERY_CDX_CDX_PLACES_H

#include "query/cdx/cdx_between.h"
#include "query/cdx/cdx_host.h"

#define DX_CDX_PLACES_LOOKS 65536
#define DX_CDX_PLACES_BOUND 1024 /* bytes of a bound at most */
#define DX_CDX_PLACES_STRAYS 4096

struct dx_cdx_places_stretch {
    size_t stream;
    uint64_t first, end;
};

struct dx_cdx_places {
    struct dx_domain_rows_range *ranges;
    size_t count;
    uint64_t rows; /* visible */
    struct dx_span *bounds;
    size_t bound_count;
    bool
        by_paths; /* some file has rows whose keys stray that are not listed: they may be missing */

    /* private */
    struct dx_cdx_host *host;
    uint64_t leaf;
    const struct dx_cdx_keys *keys;
    size_t capacity;
    struct dx_cdx_places_stretch *strays; /* a row each, of the host */
    size_t stray_count;
    bool has_strays; /* they were looked up */
    struct dx_cdx_between between;
    /* That are cut: those from `asked` to `at` by the rows of the batch. */
    struct dx_cdx_places_stretch *open;
    size_t open_count, open_capacity, asked, at;
    unsigned parts;       /* that each of them is cut into */
    size_t looks;         /* so far */
    bool begun, reads;    /* a search; a batch */
    struct dx_buf looked; /* host and path of its rows, and the sizes of both before them */
    size_t looked_at;
    /* Of a sample. */
    bool samples;
    uint64_t distance, next;
    size_t range, bound_capacity;
    struct dx_buf text;
};

void dx_cdx_places_init(struct dx_cdx_places *p, struct dx_cdx_host *host, uint64_t leaf);
void dx_cdx_places_search(struct dx_cdx_places *p, const struct dx_cdx_keys *keys);
void dx_cdx_places_sample(struct dx_cdx_places *p, const struct dx_cdx_keys *keys, size_t count);
int dx_cdx_places_step(struct dx_cdx_places *p, struct dx_error *err);
void dx_cdx_places_release(struct dx_cdx_places *p);

#endif
