/* SPDX-License-Identifier: Apache-2.0
 * url_place.h - which rows of a lake file may be of a URL: an entry of url_ids.dat.zst (url_ids.h).
 *
 *   struct dx_url_place p = { .id, .group, .row, .rows };    from the first row of the URL in a file to the last one
 *   dx_url_place_widen(&p, crosses);                         as it is kept: from the begin of a unit on
 *
 * Rows of a row group stand in units of DX_URL_UNIT, of which the last may be shorter. The text of the rows says which are of the
 * URL, so the number of the unit is enough, and takes 8 bits less than that of a row.
 * No state; any thread.
 */
#ifndef DX_FORMAT_VERSION_URL_PLACE_H
#define DX_FORMAT_VERSION_URL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define DX_URL_ID_KEPT 32
#define DX_URL_PAGE_MAX (1u << 14) /* entries */
#define DX_URL_UNIT_BITS 8
#define DX_URL_UNIT (UINT64_C(1) << DX_URL_UNIT_BITS)

struct dx_url_place {
    uint64_t id;    /* the lower bits, which are not kept, are zero */
    uint64_t group; /* row group, among all of the version: pages.h */
    uint64_t row;   /* in the row group: the first of a unit */
    uint64_t
        rows; /* 0: those of the unit; else more, to the last of the URL: they may go on in the next row groups of the file */
};

static inline uint64_t dx_url_id_kept(uint64_t url_id)
{
    return url_id >> (64 - DX_URL_ID_KEPT) << (64 - DX_URL_ID_KEPT);
}

/* crosses: its rows go on in the next row group. */
static inline void dx_url_place_widen(struct dx_url_place *p, bool crosses)
{
    uint64_t before = p->row % DX_URL_UNIT;

    p->row -= before;
    p->rows = crosses || p->rows > DX_URL_UNIT - before ? before + p->rows : 0;
}

/* Below 0, 0, above: as a stands to b. */
static inline int dx_url_place_compare(const struct dx_url_place *a, const struct dx_url_place *b)
{
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->rows < b->rows ? -1 : a->rows > b->rows;
}

#endif
