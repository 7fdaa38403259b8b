/* SPDX-License-Identifier: Apache-2.0
 * url_place.h - where the rows of a URL begin in a lake file: an entry of url_ids.dat.zst (url_ids.h).
 */
#ifndef DX_FORMAT_VERSION_URL_PLACE_H
#define DX_FORMAT_VERSION_URL_PLACE_H

#include <stdint.h>

#define DX_URL_ID_KEPT 32
#define DX_URL_PAGE_MAX (1u << 14) /* entries */

struct dx_url_place {
    uint64_t id;    /* the lower bits, which are not kept, are zero */
    uint64_t group; /* row group, among all of the version: pages.h */
    uint64_t row;   /* in the row group */
    uint64_t rows;  /* at least 1; they may go on in the next row groups of the same file */
};

static inline uint64_t dx_url_id_kept(uint64_t url_id)
{
    return url_id >> (64 - DX_URL_ID_KEPT) << (64 - DX_URL_ID_KEPT);
}

/* Below 0, 0, above: as a stands to b. */
static inline int dx_url_place_compare(const struct dx_url_place *a, const struct dx_url_place *b)
{
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

#endif
