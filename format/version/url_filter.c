/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/url_filter.h"

#include "format/version/url_ids.h"

#include <inttypes.h>

static uint64_t blocks_of(uint64_t places)
{
    return places * DX_URL_FILTER_RATE / (8 * DX_URL_FILTER_BLOCK);
}

/* Where the bits of an id are: its block, and in bits 10 to 63 of the result nine bits for each. */
static uint64_t spread(uint64_t url_id, uint64_t blocks, uint64_t *block)
{
    uint64_t h = dx_url_id_kept(url_id) * UINT64_C(0x9E3779B97F4A7C15);

    *block = ((h >> 32) * blocks) >> 32;
    return (h ^ h >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
}

static unsigned bit_at(uint64_t bits, unsigned i)
{
    return (unsigned)(bits >> (10 + 9 * i)) & 511;
}

/* Of all pages but the last: as the first one says. */
static int stride_of(const struct dx_cold *c, uint64_t *blocks, struct dx_error *err)
{
    struct dx_cold_page first;
    int rc = dx_cold_page(c, DX_COLD_URL_IDS, 0, &first, err);

    *blocks = rc == 1 ? blocks_of(first.entries) : 0;
    return rc;
}

static int too_short(const struct dx_cold *c, struct dx_error *err)
{
    return dx_envelope_corrupt(&c->envelope, DX_COLD_URL_FILTER, c->url_filter.data, err,
                               "%zu bytes are not the filters of its %" PRIu64 " pages",
                               c->url_filter.size, dx_cold_page_count(c, DX_COLD_URL_IDS));
}

int dx_url_filter_may_have(const struct dx_cold *c, const struct dx_cold_page *page,
                           uint64_t url_id, struct dx_error *err)
{
    bool is_last = page->number + UINT64_C(1) == dx_cold_page_count(c, DX_COLD_URL_IDS);
    uint64_t stride;
    uint64_t blocks;
    uint64_t block;
    uint64_t bits;
    const uint8_t *at;
    int rc;

    if (c->url_filter.data == NULL)
        return 1;
    rc = stride_of(c, &stride, err);
    if (rc < 1)
        return rc < 0 ? rc : 1;
    blocks = is_last ? blocks_of(page->entries) : stride;
    if (blocks == 0)
        return 1;
    bits = spread(url_id, blocks, &block);
    block += page->number * stride;
    if (block >= c->url_filter.size / DX_URL_FILTER_BLOCK)
        return too_short(c, err);
    at = c->url_filter.data + block * DX_URL_FILTER_BLOCK;
    rc = dx_envelope_check(&c->envelope, at, DX_URL_FILTER_BLOCK, err);
    for (unsigned i = 0; rc >= 0 && i < DX_URL_FILTER_BITS; i++)
        if ((at[bit_at(bits, i) / 8] >> bit_at(bits, i) % 8 & 1) == 0)
            return 0;
    return rc < 0 ? rc : 1;
}

int dx_url_filter_check(const struct dx_cold *c, struct dx_error *err)
{
    uint64_t pages = dx_cold_page_count(c, DX_COLD_URL_IDS);
    struct dx_cold_page last;
    uint64_t stride;
    int rc;

    if (c->url_filter.data == NULL)
        return DX_OK;
    if (pages == 0)
        return too_short(c, err);
    rc = stride_of(c, &stride, err);
    if (rc == 1)
        rc = dx_cold_page(c, DX_COLD_URL_IDS, (uint32_t)(pages - 1), &last, err);
    if (rc < 0)
        return rc;
    return c->url_filter.size ==
                   (stride * (pages - 1) + blocks_of(last.entries)) * DX_URL_FILTER_BLOCK
               ? DX_OK
               : too_short(c, err);
}

void dx_url_filter_append(struct dx_buf *section, const struct dx_url_place *places, size_t count)
{
    uint64_t blocks = blocks_of(count);
    size_t size = (size_t)blocks * DX_URL_FILTER_BLOCK;
    uint8_t *to = blocks == 0 ? NULL : dx_buf_reserve(section, size);

    if (to == NULL)
        return;
    memset(to, 0, size);
    for (size_t i = 0; i < count; i++) {
        uint64_t block;
        uint64_t bits = spread(places[i].id, blocks, &block);

        for (unsigned n = 0; n < DX_URL_FILTER_BITS; n++)
            to[block * DX_URL_FILTER_BLOCK + bit_at(bits, n) / 8] |= (uint8_t)(1u
                                                                               << bit_at(bits, n) %
                                                                                      8);
    }
    section->size += size;
}
