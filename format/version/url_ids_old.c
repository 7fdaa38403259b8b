/* SPDX-License-Identifier: Apache-2.0
 * Pages of url_ids.dat.zst as programs before 2026-11-28 wrote them (DX_COLD_VERSION_OLD): 48 bits of an id as the gap to
 * the one before, and its place, all in the page. docs/FORMAT.md 10.2.
 */
#include "format/version/url_ids.h"

#define ID_BITS 48
#define CUT (64 - ID_BITS)

/* r: behind the number of entries. */
int dx_url_page_old_open(struct dx_url_page *u, const struct dx_cold_page *page, struct dx_bytes *r,
                         struct dx_error *err)
{
    uint64_t first;
    uint64_t bytes;

    u->is_old = true;
    u->gap_k = dx_bytes_u8(r);
    u->group_bits = dx_bytes_u8(r);
    u->row_bits = dx_bytes_u8(r);
    u->rows_k = dx_bytes_u8(r);
    first = dx_bytes_u64(r);
    if (r->failed || u->gap_k > 63 || u->rows_k > 63 || u->group_bits > 64 || u->row_bits > 64)
        return dx_url_page_corrupt(u, err, "a width over 64 bits");
    if (first >> ID_BITS != 0 || first << CUT != page->key)
        return dx_url_page_corrupt(u, err, "the first id is not the one that cold.dxp has");
    bytes = ((uint64_t)u->count * (u->group_bits + u->row_bits) + 7) / 8;
    if (bytes > dx_bytes_left(r))
        return dx_url_page_corrupt(u, err, "the places are cut");
    u->places = dx_bytes_take(r, (size_t)bytes);
    u->bits = dx_bits_of(dx_bytes_take(r, dx_bytes_left(r)));
    u->last.id = first << CUT;
    return DX_OK;
}

/* Behind the last entry: nothing is left but zeros up to a whole byte. */
static int end(const struct dx_url_page *u, struct dx_error *err)
{
    uint64_t used = (uint64_t)u->count * (u->group_bits + u->row_bits);

    if (!dx_bits_done(&u->bits) || dx_bits_at(u->places, used, (8 - used % 8) % 8) != 0)
        return dx_url_page_corrupt(u, err, "there are bits behind the last one");
    return 0;
}

int dx_url_page_old_next(struct dx_url_page *u, struct dx_url_place *place, struct dx_error *err)
{
    uint64_t at = (uint64_t)u->taken * (u->group_bits + u->row_bits);
    uint64_t gap;

    if (u->taken == u->count)
        return end(u, err);
    gap = u->taken == 0 ? 0 : dx_bits_rice(&u->bits, u->gap_k);
    if (gap > dx_bits_mask(ID_BITS) - (u->last.id >> CUT))
        return dx_url_page_corrupt(u, err, "the id is over 48 bits");
    place->id = u->last.id + (gap << CUT);
    place->group = dx_bits_at(u->places, at, u->group_bits);
    place->row = dx_bits_at(u->places, at + u->group_bits, u->row_bits);
    place->rows = dx_bits_rice(&u->bits, u->rows_k);
    if (u->bits.failed || place->rows == UINT64_MAX)
        return dx_url_page_corrupt(u, err, "is cut, or a number in it is over 64 bits");
    place->rows++;
    if (u->taken > 0 && dx_url_place_compare(&u->last, place) >= 0)
        return dx_url_page_corrupt(u, err, "does not stand behind the one before");
    u->last = *place;
    u->taken++;
    return 1;
}
