/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/url_ids.h"

#include <inttypes.h>

/* ---- which pages ---- */

/* What comes before it in a key: the id's kept bits. Of an old directory more of them: the same pages then, and some that
 * begin with an id beside it. */
static uint64_t kept_of(const struct dx_cold_page *page)
{
    return dx_url_id_kept(page->key);
}

int dx_url_ids_pages(const struct dx_cold *c, uint64_t url_id, uint32_t *first, uint32_t *count,
                     struct dx_error *err)
{
    uint64_t id = dx_url_id_kept(url_id);
    struct dx_cold_page page;
    uint32_t last;
    int rc = dx_cold_find(c, DX_COLD_URL_IDS, id | UINT32_MAX, UINT32_MAX, &page, err);

    if (rc != 1)
        return rc;
    last = page.number;
    /* A page that begins with the id: the one before may end with it, and may be all of it. */
    while (rc == 1 && kept_of(&page) == id && page.number > 0)
        rc = dx_cold_page(c, DX_COLD_URL_IDS, page.number - 1, &page, err);
    if (rc < 0)
        return rc;
    *first = page.number;
    *count = last - page.number + 1;
    return 1;
}

int dx_url_ids_on_page(const struct dx_cold *c, const struct dx_cold_page *page, uint64_t url_id,
                       struct dx_error *err)
{
    struct dx_url_id_list list;
    uint32_t from;
    uint32_t end;
    int rc = dx_cold_is_old(c) ? 1 : dx_url_id_list_open(&list, c, page, err);

    return rc == DX_OK ? dx_url_id_list_find(&list, url_id, &from, &end, err) : rc;
}

/* ---- reading ---- */

int dx_url_page_corrupt(const struct dx_url_page *u, struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "%s: page %" PRIu32 ": entry %" PRIu32 " of %" PRIu32 ": %s",
                   u->name, u->number, u->taken, u->count, what);
}

static bool take_bits(struct dx_bytes *r, uint64_t bits, struct dx_span *out)
{
    uint64_t bytes = (bits + 7) / 8;

    if (bytes > dx_bytes_left(r))
        return false;
    *out = dx_bytes_take(r, (size_t)bytes);
    return dx_bits_at(*out, bits, (unsigned)((8 - bits % 8) % 8)) == 0;
}

static int open_places(struct dx_url_page *u, struct dx_bytes *r, struct dx_error *err)
{
    u->group_bits = dx_bytes_u8(r);
    u->row_bits = dx_bytes_u8(r);
    u->rows_bits = dx_bytes_u8(r);
    u->number_bits = dx_bits_of_number(u->count - 1);
    if (dx_bytes_u8(r) != 0 || u->rows_bits > 63 || u->group_bits > 64 || u->row_bits > 64)
        return dx_url_page_corrupt(u, err, "a width over 64 bits");
    u->longer_count = dx_bytes_u32(r);
    if (u->row_bits + DX_URL_UNIT_BITS > 64)
        return dx_url_page_corrupt(u, err, "a row over 64 bits");
    if (r->failed || u->longer_count > u->count ||
        !take_bits(r, (uint64_t)u->count * (u->group_bits + u->row_bits), &u->places) ||
        !take_bits(r, (uint64_t)u->longer_count * (u->number_bits + u->rows_bits), &u->longer) ||
        dx_bytes_left(r) != 0)
        return dx_url_page_corrupt(u, err, "the page is cut, or has bits behind its places");
    u->end = u->count;
    return DX_OK;
}

int dx_url_page_open(struct dx_url_page *u, const struct dx_cold *c,
                     const struct dx_cold_page *page, struct dx_span plain, const char *name,
                     struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(plain);
    int rc;

    *u = (struct dx_url_page){ .name = name, .number = page->number };
    u->count = dx_bytes_u32(&r);
    if (r.failed || u->count == 0 || u->count != page->entries ||
        u->count > (dx_cold_is_old(c) ? DX_URL_PAGE_OLD_MAX : DX_URL_PAGE_MAX))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: page %" PRIu32 ": %" PRIu32 " entries in %zu bytes, cold.dxp says "
                       "%" PRIu32,
                       name, u->number, u->count, plain.size, page->entries);
    if (dx_cold_is_old(c))
        return dx_url_page_old_open(u, page, &r, err);
    rc = dx_url_id_list_open(&u->ids, c, page, err);
    return rc == DX_OK ? open_places(u, &r, err) : rc;
}

int dx_url_page_only(struct dx_url_page *u, uint64_t url_id, struct dx_error *err)
{
    u->only = true;
    u->only_id = dx_url_id_kept(url_id);
    return u->is_old ? DX_OK : dx_url_id_list_find(&u->ids, url_id, &u->taken, &u->end, err);
}

static uint64_t longer_number(const struct dx_url_page *u, uint32_t at)
{
    return dx_bits_at(u->longer, (uint64_t)at * (u->number_bits + u->rows_bits), u->number_bits);
}

/* Few have more rows than the others, which stand in order. */
static uint64_t rows_of(const struct dx_url_page *u, uint32_t number)
{
    uint32_t low = 0;
    uint32_t high = u->longer_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (longer_number(u, middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == u->longer_count || longer_number(u, low) != number)
        return 0;
    return dx_bits_at(u->longer, (uint64_t)low * (u->number_bits + u->rows_bits) + u->number_bits,
                      u->rows_bits) +
           2;
}

/* Behind the last entry. */
static int check_longer(const struct dx_url_page *u, struct dx_error *err)
{
    for (uint32_t i = 0; i < u->longer_count; i++)
        if (longer_number(u, i) >= u->count ||
            (i > 0 && longer_number(u, i - 1) >= longer_number(u, i)))
            return dx_url_page_corrupt(u, err, "entries of more rows are out of order");
    return 0;
}

/* The ids of those that are given alone are known. */
static int next_id(struct dx_url_page *u, uint64_t *id, struct dx_error *err)
{
    *id = u->only_id;
    return u->only ? u->taken < u->end : dx_url_id_list_next(&u->ids, id, err);
}

static int old_next(struct dx_url_page *u, struct dx_url_place *place, struct dx_error *err)
{
    int rc;

    do
        rc = dx_url_page_old_next(u, place, err);
    while (rc == 1 && u->only && dx_url_id_kept(place->id) != u->only_id);
    return rc;
}

int dx_url_page_next(struct dx_url_page *u, struct dx_url_place *place, struct dx_error *err)
{
    uint64_t at = (uint64_t)u->taken * (u->group_bits + u->row_bits);
    int rc;

    if (u->is_old)
        return old_next(u, place, err);
    rc = next_id(u, &place->id, err);
    if (rc != 1)
        return rc < 0 || u->only ? rc : check_longer(u, err);
    place->group = dx_bits_at(u->places, at, u->group_bits);
    place->row = dx_bits_at(u->places, at + u->group_bits, u->row_bits) << DX_URL_UNIT_BITS;
    place->rows = rows_of(u, u->taken);
    if (u->any && dx_url_place_compare(&u->last, place) > 0)
        return dx_url_page_corrupt(u, err, "does not stand behind the one before");
    u->last = *place;
    u->any = true;
    u->taken++;
    return 1;
}

/* ---- writing ---- */

static int check(const struct dx_url_place *places, size_t count, struct dx_error *err)
{
    if (count == 0 || count > DX_URL_PAGE_MAX)
        return dx_fail(err, DX_E_INVALID, "page of %zu places of URLs", count);
    for (size_t i = 0; i < count; i++)
        if (places[i].rows == 1 || places[i].rows > UINT64_C(1) << 63 ||
            places[i].row % DX_URL_UNIT != 0 || dx_url_id_kept(places[i].id) != places[i].id ||
            (i > 0 && dx_url_place_compare(&places[i - 1], &places[i]) > 0))
            return dx_fail(err, DX_E_INVALID,
                           "place %zu of a page of URLs: id %016" PRIx64 " row group %" PRIu64
                           " row %" PRIu64 "+%" PRIu64 " may not follow the one before",
                           i, places[i].id, places[i].group, places[i].row, places[i].rows);
    return DX_OK;
}

int dx_url_page_encode(struct dx_buf *plain, struct dx_buf *lists, uint64_t *key,
                       const struct dx_url_place *places, size_t count, struct dx_error *err)
{
    struct dx_bits_out w = { .to = plain };
    uint64_t group_most = 0;
    uint64_t row_most = 0;
    uint64_t rows_most = 0;
    uint32_t longer = 0;
    unsigned group_bits, row_bits, rows_bits;
    int rc = check(places, count, err);

    if (rc != DX_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        group_most = places[i].group > group_most ? places[i].group : group_most;
        row_most = places[i].row > row_most ? places[i].row : row_most;
        rows_most = places[i].rows > rows_most ? places[i].rows : rows_most;
        longer += places[i].rows > 0;
    }
    group_bits = dx_bits_of_number(group_most);
    row_bits = dx_bits_of_number(row_most >> DX_URL_UNIT_BITS);
    rows_bits = rows_most > 2 ? dx_bits_of_number(rows_most - 2) : 0;
    dx_buf_clear(plain);
    dx_buf_u32(plain, (uint32_t)count);
    dx_buf_u8(plain, (uint8_t)group_bits);
    dx_buf_u8(plain, (uint8_t)row_bits);
    dx_buf_u8(plain, (uint8_t)rows_bits);
    dx_buf_u8(plain, 0);
    dx_buf_u32(plain, longer);
    for (size_t i = 0; i < count; i++) {
        dx_bits_put(&w, places[i].group, group_bits);
        dx_bits_put(&w, places[i].row >> DX_URL_UNIT_BITS, row_bits);
    }
    dx_bits_flush(&w);
    for (size_t i = 0; i < count; i++) {
        if (places[i].rows == 0)
            continue;
        dx_bits_put(&w, i, dx_bits_of_number(count - 1));
        dx_bits_put(&w, places[i].rows - 2, rows_bits);
    }
    dx_bits_flush(&w);
    *key = dx_url_id_list_append(lists, places, count);
    if (lists->failed)
        return dx_buf_fail(lists, err, "lists of url_ids");
    return plain->failed ? dx_buf_fail(plain, err, "page of places of URLs") : DX_OK;
}
