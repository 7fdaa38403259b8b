/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/ingest_row.h"

#include <assert.h>

#define SIGN ((uint64_t)1 << 63)
#define HEAD_MAX (4 + 4 + 9) /* bytes of a key besides its texts: dataset, ends of texts, time */
#define PLAIN_VALUE 3        /* bytes of a value without texts */

static void store_be(uint8_t *to, uint64_t v)
{
    dx_store_u64(to, __builtin_bswap64(v));
}

static uint8_t *put_text(uint8_t *to, struct dx_span s)
{
    if (s.size > 0)
        memcpy(to, s.data, s.size);
    to[s.size] = 0;
    return to + s.size + 1;
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
    size_t most = HEAD_MAX + row->domain.size + row->host.size + row->path_query.size +
                  row->scheme.size;
    uint8_t *to;

    dx_buf_clear(key);
    to = dx_buf_reserve(key, most);
    if (to == NULL)
        return;
    dx_store_u32(to, __builtin_bswap32(row->dataset));
    to = put_text(to + 4, row->domain);
    to = put_text(to, row->host);
    to = put_text(to, row->path_query);
    *to++ = row->has_ts;
    if (row->has_ts) {
        store_be(to, (uint64_t)row->ts_us ^ SIGN);
        to += 8;
    }
    to = put_text(to, row->scheme);
    key->size = (size_t)(to - key->data);
    assert(key->size <= key->capacity);
    for (size_t i = 0; i < extra_count; i++)
        put_extra(key, row->extra[i]);
    dx_buf_clear(value);
    dx_buf_u8(value, !row->existing);
    put_extra(value, row->raw_url);
    dx_buf_u8(value, row->locator.data == NULL);
    if (row->locator.data != NULL)
        dx_buf_append(value, row->locator.data, row->locator.size);
}

uint32_t dx_ingest_row_dataset(struct dx_span key)
{
    return key.size < 4 ? 0 : __builtin_bswap32(dx_load_u32(key.data));
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
    return dx_buf_from(scratch, mark);
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
    if (((extra_count > 0 && memchr(key.data, 0xff, key.size) != NULL) ||
         (value.size > PLAIN_VALUE && memchr(value.data, 0xff, value.size) != NULL)) &&
        dx_buf_reserve(scratch, key.size + value.size) == NULL)
        return false;
    row->dataset = __builtin_bswap32(dx_bytes_u32(&r));
    row->domain = take_text(&r);
    row->host = take_text(&r);
    row->path_query = take_text(&r);
    row->has_ts = dx_bytes_u8(&r) != 0;
    row->ts_us = row->has_ts ? (int64_t)(__builtin_bswap64(dx_bytes_u64(&r)) ^ SIGN) : 0;
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
