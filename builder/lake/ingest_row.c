/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/ingest_row.h"

#define SIGN ((uint64_t)1 << 63)

static void put_be(struct dx_buf *b, uint64_t v, int bytes)
{
    uint8_t to[8];

    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
    dx_buf_append(b, to, (size_t)bytes);
}

static void put_text(struct dx_buf *b, struct dx_span s)
{
    dx_buf_append(b, s.data, s.size);
    dx_buf_u8(b, 0);
}

static void put_extra(struct dx_buf *b, struct dx_span s)
{
    dx_buf_u8(b, s.data != NULL);
    if (s.data == NULL)
        return;
    while (s.size > 0) {
        const uint8_t *zero = memchr(s.data, 0, s.size);
        size_t n = zero == NULL ? s.size : (size_t)(zero - s.data) + 1;

        dx_buf_append(b, s.data, n);
        if (zero != NULL)
            dx_buf_u8(b, 0xff);
        s.data += n;
        s.size -= n;
    }
    dx_buf_u8(b, 0);
}

void dx_ingest_row_put(struct dx_buf *key, struct dx_buf *value, const struct dx_ingest_row *row,
                       size_t extra_count)
{
    dx_buf_clear(key);
    put_be(key, row->dataset, 4);
    put_text(key, row->domain);
    put_text(key, row->host);
    put_text(key, row->path_query);
    dx_buf_u8(key, row->has_ts);
    if (row->has_ts)
        put_be(key, (uint64_t)row->ts_us ^ SIGN, 8);
    put_text(key, row->scheme);
    for (size_t i = 0; i < extra_count; i++)
        put_extra(key, row->extra[i]);
    dx_buf_clear(value);
    dx_buf_u8(value, !row->existing);
    put_extra(value, row->raw_url);
    dx_buf_u8(value, row->locator.data == NULL);
    if (row->locator.data != NULL)
        dx_buf_append(value, row->locator.data, row->locator.size);
}

static uint64_t take_be(struct dx_bytes *r, int bytes)
{
    uint64_t v = 0;

    for (int i = 0; i < bytes; i++)
        v = v << 8 | dx_bytes_u8(r);
    return v;
}

uint32_t dx_ingest_row_dataset(struct dx_span key)
{
    struct dx_bytes r = dx_bytes_of(key);

    return (uint32_t)take_be(&r, 4);
}

bool dx_ingest_row_is_existing(struct dx_span value)
{
    return value.size > 0 && value.data[0] == 0;
}

static struct dx_span take_text(struct dx_bytes *r)
{
    const uint8_t *zero = r->failed || dx_bytes_left(r) == 0 ? NULL
                                                             : memchr(r->at, 0, dx_bytes_left(r));
    struct dx_span s;

    if (zero == NULL) {
        r->failed = true;
        return (struct dx_span){ NULL, 0 };
    }
    s = dx_bytes_take(r, (uint64_t)(zero - r->at));
    (void)dx_bytes_u8(r);
    return s;
}

/* Rare: a text with zero bytes is put together again in scratch, which has room. */
static struct dx_span unescape(struct dx_bytes *r, struct dx_span part, struct dx_buf *scratch)
{
    size_t mark = scratch->size;

    for (;;) {
        dx_buf_append(scratch, part.data, part.size);
        if (dx_bytes_left(r) == 0 || *r->at != 0xff)
            break;
        (void)dx_bytes_u8(r);
        dx_buf_u8(scratch, 0);
        part = take_text(r);
        if (r->failed)
            break;
    }
    return dx_span_of(scratch->data + mark, scratch->size - mark);
}

static struct dx_span take_extra(struct dx_bytes *r, struct dx_buf *scratch)
{
    struct dx_span s;

    if (dx_bytes_u8(r) == 0)
        return (struct dx_span){ NULL, 0 };
    s = take_text(r);
    if (!r->failed && dx_bytes_left(r) > 0 && *r->at == 0xff)
        return unescape(r, s, scratch);
    return s;
}

bool dx_ingest_row_get(struct dx_span key, struct dx_span value, size_t extra_count,
                       struct dx_ingest_row *row, struct dx_span *extra, struct dx_buf *scratch)
{
    struct dx_bytes r = dx_bytes_of(key);
    struct dx_bytes v = dx_bytes_of(value);

    dx_buf_clear(scratch);
    if ((memchr(key.data, 0xff, key.size) != NULL ||
         memchr(value.data, 0xff, value.size) != NULL) &&
        dx_buf_reserve(scratch, key.size + value.size) == NULL)
        return false;
    row->dataset = (uint32_t)take_be(&r, 4);
    row->domain = take_text(&r);
    row->host = take_text(&r);
    row->path_query = take_text(&r);
    row->has_ts = dx_bytes_u8(&r) != 0;
    row->ts_us = row->has_ts ? (int64_t)(take_be(&r, 8) ^ SIGN) : 0;
    row->scheme = take_text(&r);
    for (size_t i = 0; i < extra_count; i++)
        extra[i] = take_extra(&r, scratch);
    row->extra = extra;
    row->existing = dx_bytes_u8(&v) == 0;
    row->raw_url = take_extra(&v, scratch);
    row->locator = dx_bytes_u8(&v) == 0 ? dx_bytes_take(&v, dx_bytes_left(&v))
                                        : (struct dx_span){ NULL, 0 };
    return !r.failed && !v.failed && dx_bytes_left(&r) == 0 && dx_bytes_left(&v) == 0;
}
