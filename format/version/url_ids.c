/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/url_ids.h"

#include <inttypes.h>

#define HEADER_SIZE 16
#define CUT (64 - DX_URL_ID_KEPT)

/* ---- which pages ---- */

int dx_url_ids_pages(const struct dx_cold *c, uint64_t url_id, uint32_t *first, uint32_t *count,
                     struct dx_error *err)
{
    uint64_t id = dx_url_id_kept(url_id);
    struct dx_cold_page page;
    uint32_t last;
    int rc = dx_cold_find(c, DX_COLD_URL_IDS, id, UINT32_MAX, &page, err);

    if (rc != 1)
        return rc;
    last = page.number;
    /* A page that begins with the id: the one before may end with it, and may be all of it. */
    while (rc == 1 && page.key == id && page.number > 0)
        rc = dx_cold_page(c, DX_COLD_URL_IDS, page.number - 1, &page, err);
    if (rc < 0)
        return rc;
    *first = page.number;
    *count = last - page.number + 1;
    return 1;
}

/* ---- reading ---- */

static int corrupt(const struct dx_url_page *u, struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "%s: page %" PRIu32 ": entry %" PRIu32 " of %" PRIu32 ": %s",
                   u->name, u->number, u->taken, u->count, what);
}

int dx_url_page_open(struct dx_url_page *u, const struct dx_cold_page *page, struct dx_span plain,
                     const char *name, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(plain);
    uint64_t first;
    uint64_t bytes;

    *u = (struct dx_url_page){ .name = name, .number = page->number };
    u->count = dx_bytes_u32(&r);
    u->gap_k = dx_bytes_u8(&r);
    u->group_bits = dx_bytes_u8(&r);
    u->row_bits = dx_bytes_u8(&r);
    u->rows_k = dx_bytes_u8(&r);
    first = dx_bytes_u64(&r);
    if (r.failed || u->count == 0 || u->count > DX_URL_PAGE_MAX || u->count != page->entries)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: page %" PRIu32 ": %" PRIu32 " entries in %zu bytes, cold.dxp says "
                       "%" PRIu32,
                       name, u->number, u->count, plain.size, page->entries);
    if (u->gap_k > 63 || u->rows_k > 63 || u->group_bits > 64 || u->row_bits > 64)
        return corrupt(u, err, "a width over 64 bits");
    if (first >> DX_URL_ID_KEPT != 0 || first << CUT != page->key)
        return corrupt(u, err, "the first id is not the one that cold.dxp has");
    bytes = ((uint64_t)u->count * (u->group_bits + u->row_bits) + 7) / 8;
    if (bytes > dx_bytes_left(&r))
        return corrupt(u, err, "the places are cut");
    u->places = dx_bytes_take(&r, (size_t)bytes);
    u->bits = dx_bits_of(dx_bytes_take(&r, dx_bytes_left(&r)));
    u->last.id = first;
    return DX_OK;
}

/* Behind the last entry: nothing is left but zeros up to a whole byte. */
static int end(const struct dx_url_page *u, struct dx_error *err)
{
    uint64_t used = (uint64_t)u->count * (u->group_bits + u->row_bits);

    if (!dx_bits_done(&u->bits) || dx_bits_at(u->places, used, (8 - used % 8) % 8) != 0)
        return corrupt(u, err, "there are bits behind the last one");
    return 0;
}

int dx_url_page_next(struct dx_url_page *u, struct dx_url_place *place, struct dx_error *err)
{
    uint64_t at = (uint64_t)u->taken * (u->group_bits + u->row_bits);
    uint64_t gap;

    if (u->taken == u->count)
        return end(u, err);
    gap = u->taken == 0 ? 0 : dx_bits_rice(&u->bits, u->gap_k);
    if (gap > dx_bits_mask(DX_URL_ID_KEPT) - u->last.id)
        return corrupt(u, err, "the id is over 48 bits");
    place->id = u->last.id + gap;
    place->group = dx_bits_at(u->places, at, u->group_bits);
    place->row = dx_bits_at(u->places, at + u->group_bits, u->row_bits);
    place->rows = dx_bits_rice(&u->bits, u->rows_k);
    if (u->bits.failed || place->rows == UINT64_MAX)
        return corrupt(u, err, "is cut, or a number in it is over 64 bits");
    place->rows++;
    if (u->taken > 0 && dx_url_place_compare(&u->last, place) >= 0)
        return corrupt(u, err, "does not stand behind the one before");
    u->last = *place;
    u->taken++;
    place->id <<= CUT;
    return 1;
}

/* Entries from u->taken to `end` of which gap and number of rows lie in one word, as nearly all do, while the ids are
 * below `want`. In locals and without a call: this loop is what a lookup costs. */
static void pass_short(struct dx_url_page *u, uint64_t want, uint32_t end)
{
    const uint8_t *row = u->bits.row.data;
    const uint64_t last_at = u->bits.row.size < 8 ? 0 : (u->bits.row.size - 8) * 8;
    const unsigned gap_k = u->gap_k;
    const unsigned rows_k = u->rows_k;
    const uint64_t gap_mask = dx_bits_mask(gap_k);
    uint64_t at = u->bits.at;
    uint64_t id = u->last.id;
    uint32_t taken = u->taken;

    for (; taken < end && at < last_at; taken++) {
        /* 57 bits of the row at least; above them there are zeros, which end any code: too long then */
        uint64_t word = dx_load_u64(row + (at >> 3)) >> (at & 7);
        unsigned ones = (unsigned)__builtin_ctzll(~word | UINT64_C(1) << 31);
        unsigned used = ones + 1 + gap_k;
        uint64_t next;

        if (ones > 30 || used > 55)
            break;
        next = id + ((uint64_t)ones << gap_k | (word >> (ones + 1) & gap_mask));
        ones = (unsigned)__builtin_ctzll(~(word >> used));
        used += ones + 1 + rows_k;
        if (next >= want || ones > 30 || used > 56)
            break;
        id = next;
        at += used;
    }
    u->bits.at = at;
    u->last.id = id;
    u->taken = taken;
}

/* Entries to `end`, while the ids are below `want`. */
static int pass(struct dx_url_page *u, uint64_t want, uint32_t end, struct dx_error *err)
{
    while (u->taken < end) {
        struct dx_bits bits = u->bits;
        uint64_t gap = u->taken == 0 ? 0 : dx_bits_rice(&bits, u->gap_k);

        (void)dx_bits_rice(&bits, u->rows_k);
        if (bits.failed || gap > dx_bits_mask(DX_URL_ID_KEPT) - u->last.id)
            return corrupt(u, err, "is cut, or the id is over 48 bits");
        if (u->last.id + gap >= want)
            break;
        u->last.id += gap;
        u->bits = bits;
        u->taken++;
        pass_short(u, want, end);
    }
    return DX_OK;
}

int dx_url_page_seek(struct dx_url_page *u, uint64_t url_id, struct dx_error *err)
{
    uint64_t want = url_id >> CUT;

    return u->last.id >= want ? DX_OK : pass(u, want, u->count, err);
}

/* ---- marks: the id of the entry before, and where the bits of the entry begin ---- */

static uint32_t marks_of(uint32_t entries)
{
    return entries == 0 || entries > DX_URL_PAGE_MAX ? 0 : (entries - 1) / DX_URL_PAGE_MARK;
}

size_t dx_url_page_marks_size(uint32_t entries)
{
    return (size_t)marks_of(entries) * DX_URL_PAGE_MARK_SIZE;
}

int dx_url_page_mark(const struct dx_url_page *u, uint8_t *marks, struct dx_error *err)
{
    struct dx_url_page at = *u;
    int rc = DX_OK;

    for (uint32_t i = 1; i <= marks_of(u->count); i++, marks += DX_URL_PAGE_MARK_SIZE) {
        rc = pass(&at, UINT64_MAX, i * DX_URL_PAGE_MARK, err);
        if (rc < 0)
            return rc;
        if (at.bits.at > UINT32_MAX)
            return corrupt(&at, err, "has more bits than a page has");
        dx_store_u64(marks, at.last.id);
        dx_store_u32(marks + 8, (uint32_t)at.bits.at);
    }
    return rc;
}

void dx_url_page_jump(struct dx_url_page *u, const uint8_t *marks, uint64_t url_id)
{
    uint64_t want = url_id >> CUT;
    uint32_t low = 0;
    uint32_t high = marks == NULL ? 0 : marks_of(u->count);

    while (low < high) { /* the marks before low are of entries behind an id below `want` */
        uint32_t middle = low + (high - low) / 2;

        if (dx_load_u64(marks + (size_t)middle * DX_URL_PAGE_MARK_SIZE) < want)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return;
    marks += (size_t)(low - 1) * DX_URL_PAGE_MARK_SIZE;
    u->taken = low * DX_URL_PAGE_MARK;
    u->last.id = dx_load_u64(marks);
    u->bits.at = dx_load_u32(marks + 8);
}

/* ---- writing ---- */

/* The number of low bits with which numbers of this sum are shortest: near the logarithm of their
 * mean, exact enough for numbers that are by chance. */
static unsigned rice_k(uint64_t sum, size_t count)
{
    uint64_t mean = count == 0 ? 0 : sum / count;

    /* ln 2 of the mean: where half of the numbers need no further one. */
    return mean < 2 ? 0 : dx_bits_of_number(mean * 7 / 10 > 1 ? mean * 7 / 10 : 1) - 1;
}

static void put_places(struct dx_buf *out, const struct dx_url_place *places, size_t count,
                       unsigned group_bits, unsigned row_bits)
{
    struct dx_bits_out w = { .to = out };

    for (size_t i = 0; i < count; i++) {
        dx_bits_put(&w, places[i].group, group_bits);
        dx_bits_put(&w, places[i].row, row_bits);
    }
    dx_bits_flush(&w);
}

static int check(const struct dx_url_place *places, size_t count, struct dx_error *err)
{
    if (count == 0 || count > DX_URL_PAGE_MAX)
        return dx_fail(err, DX_E_INVALID, "page of %zu places of URLs", count);
    for (size_t i = 0; i < count; i++)
        if (places[i].rows == 0 || dx_url_id_kept(places[i].id) != places[i].id ||
            (i > 0 && dx_url_place_compare(&places[i - 1], &places[i]) >= 0))
            return dx_fail(err, DX_E_INVALID,
                           "place %zu of a page of URLs: id %016" PRIx64 " row group %" PRIu64
                           " row %" PRIu64 "+%" PRIu64 " may not follow the one before",
                           i, places[i].id, places[i].group, places[i].row, places[i].rows);
    return DX_OK;
}

int dx_url_page_encode(struct dx_buf *out, const struct dx_url_place *places, size_t count,
                       struct dx_error *err)
{
    struct dx_bits_out w = { .to = out };
    uint64_t group_most = 0;
    uint64_t row_most = 0;
    uint64_t rows = 0; /* may turn over: then a poor number of bits is chosen, no wrong one */
    unsigned gap_k;
    unsigned rows_k;
    int rc = check(places, count, err);

    if (rc != DX_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        group_most = places[i].group > group_most ? places[i].group : group_most;
        row_most = places[i].row > row_most ? places[i].row : row_most;
        rows += places[i].rows - 1;
    }
    gap_k = rice_k((places[count - 1].id - places[0].id) >> CUT, count - 1);
    rows_k = rice_k(rows, count);
    dx_buf_clear(out);
    dx_buf_u32(out, (uint32_t)count);
    dx_buf_u8(out, (uint8_t)gap_k);
    dx_buf_u8(out, (uint8_t)dx_bits_of_number(group_most));
    dx_buf_u8(out, (uint8_t)dx_bits_of_number(row_most));
    dx_buf_u8(out, (uint8_t)rows_k);
    dx_buf_u64(out, places[0].id >> CUT);
    put_places(out, places, count, dx_bits_of_number(group_most), dx_bits_of_number(row_most));
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            dx_bits_put_rice(&w, (places[i].id - places[i - 1].id) >> CUT, gap_k);
        dx_bits_put_rice(&w, places[i].rows - 1, rows_k);
    }
    dx_bits_flush(&w);
    return out->failed ? dx_buf_fail(out, err, "page of places of URLs") : DX_OK;
}
