/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_pair.h"

#include "base/few_bytes.h"
#include "base/put.h"

#include <assert.h>

#define VARINT_MAX 10
/* Of a value without facts, sketch and runs; of a run. */
#define HEAD_MAX (2 * VARINT_MAX + 1 + 16 + 4 * VARINT_MAX + 8)
#define RUN_MAX (4 * VARINT_MAX)

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static uint8_t *put_u64(uint8_t *p, uint64_t v)
{
    dx_store_u64(p, v);
    return p + 8;
}

static uint8_t *put_bytes(uint8_t *p, struct dx_span bytes)
{
    p = dx_put_varint(p, bytes.size);
    dx_few_copy(p, bytes.data, bytes.size);
    return p + bytes.size;
}

/* No byte of a domain's key is zero, so a zero behind it keeps the order of keys of which one is
 * the beginning of the other. */
static int put_key(const struct dx_index_pair *pair, struct dx_buf *key, struct dx_error *err)
{
    uint8_t *to;
    size_t size;

    dx_buf_clear(key);
    to = dx_buf_reserve(key, DX_SURT_MAX + 5);
    if (to == NULL)
        return dx_buf_fail(key, err, "pair");
    size = dx_surt_key(pair->domain, to);
    if (size == 0 || memchr(to, 0, size) != NULL)
        return dx_fail(err, DX_E_INVALID, "\"%.*s\" is not a domain", (int)pair->domain.size,
                       (const char *)pair->domain.data);
    to[size] = 0;
    for (unsigned i = 0; i < 4; i++)
        to[size + 1 + i] = (uint8_t)(pair->dataset_id >> (24 - 8 * i));
    key->size = size + 5;
    return DX_OK;
}

static uint8_t *put_head(const struct dx_index_pair *pair, uint8_t *p)
{
    p = dx_put_varint(p, pair->count.url_count);
    p = dx_put_varint(p, pair->count.row_count);
    *p++ = pair->count.has_ts;
    if (pair->count.has_ts) {
        p = put_u64(p, (uint64_t)pair->count.first_us);
        p = put_u64(p, (uint64_t)pair->count.last_us);
    }
    p = put_bytes(p, pair->facts);
    if (pair->facts.size == 0) {
        p = dx_put_varint(p, pair->aside.offset);
        p = dx_put_varint(p, pair->aside.size);
        p = put_u64(p, pair->aside.hash);
    }
    return put_bytes(p, pair->sketch);
}

static int damaged(struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "pair: a damaged record");
}

static void take_facts(struct dx_bytes *r, struct dx_index_pair *pair)
{
    pair->facts = dx_bytes_take(r, dx_bytes_varint(r));
    if (pair->facts.size == 0) {
        pair->aside.offset = dx_bytes_varint(r);
        pair->aside.size = dx_bytes_varint(r);
        pair->aside.hash = dx_bytes_u64(r);
    }
    pair->sketch = dx_bytes_take(r, dx_bytes_varint(r));
}

int dx_index_pair_encode(const struct dx_index_pair *pair, const struct dx_run *runs, size_t count,
                         struct dx_buf *key, struct dx_buf *value, struct dx_error *err)
{
    uint32_t file_id = 0;
    uint8_t *to;
    int rc = put_key(pair, key, err);

    assert(pair->facts.size <= DX_INDEX_PAIR_FACTS); /* longer ones are put aside */
    if (rc != DX_OK)
        return rc;
    dx_buf_clear(value);
    to = dx_buf_reserve(value, HEAD_MAX + pair->facts.size + pair->sketch.size);
    if (to != NULL)
        value->size = (size_t)(put_head(pair, to) - to);
    for (size_t i = 0; i < count && to != NULL; i++) {
        uint8_t *p = to = dx_buf_reserve(value, RUN_MAX);

        if (to == NULL)
            break;
        p = dx_put_varint(p, runs[i].file_id - file_id); /* modulo 2^32 where it descends */
        p = dx_put_varint(p, runs[i].row_group);
        p = dx_put_varint(p, runs[i].first_row);
        p = dx_put_varint(p, runs[i].row_count);
        value->size += (size_t)(p - to);
        assert(value->size <= value->capacity);
        file_id = runs[i].file_id;
    }
    return to == NULL ? dx_buf_fail(value, err, "pair") : DX_OK;
}

int dx_index_pair_surt(struct dx_span key, struct dx_span *surt, struct dx_error *err)
{
    if (key.size < 6 || key.size > DX_SURT_MAX + 5)
        return dx_fail(err, DX_E_CORRUPT, "pair: a key of %zu bytes", key.size);
    *surt = dx_span_of(key.data, key.size - 5);
    return DX_OK;
}

int dx_index_pair_head(struct dx_span key, struct dx_span value, struct dx_index_pair *pair,
                       struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(value);
    int rc = dx_index_pair_surt(key, &pair->surt, err);

    if (rc != DX_OK)
        return rc;
    pair->dataset_id = big_endian(key.data + key.size - 4);
    pair->domain = dx_span_of(NULL, 0);
    pair->count = (struct dx_pair_count){ 0 };
    pair->count.url_count = dx_bytes_varint(&r);
    pair->count.row_count = dx_bytes_varint(&r);
    pair->count.has_ts = dx_bytes_u8(&r) != 0;
    if (pair->count.has_ts) {
        pair->count.first_us = (int64_t)dx_bytes_u64(&r);
        pair->count.last_us = (int64_t)dx_bytes_u64(&r);
    }
    pair->rest = dx_bytes_take(&r, dx_bytes_left(&r));
    return r.failed ? damaged(err) : DX_OK;
}

int dx_index_pair_decode(struct dx_span key, struct dx_span value, struct dx_index_pair *pair,
                         struct dx_error *err)
{
    int rc = dx_index_pair_head(key, value, pair, err);
    struct dx_bytes r;

    if (rc != DX_OK)
        return rc;
    r = dx_bytes_of(pair->rest);
    take_facts(&r, pair);
    pair->runs = dx_bytes_take(&r, dx_bytes_left(&r));
    return r.failed ? damaged(err) : DX_OK;
}

int dx_index_pair_runs(struct dx_span encoded, struct dx_buf *runs, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(encoded);
    uint64_t file_id = 0;

    while (dx_bytes_left(&r) > 0 && !r.failed) {
        struct dx_run run;

        file_id += dx_bytes_varint(&r);
        run.file_id = (uint32_t)file_id;
        run.row_group = (uint32_t)dx_bytes_varint(&r);
        run.first_row = dx_bytes_varint(&r);
        run.row_count = dx_bytes_varint(&r);
        dx_buf_append(runs, &run, sizeof run);
    }
    if (r.failed)
        return dx_fail(err, DX_E_CORRUPT, "pair: a damaged list of runs");
    return runs->failed ? dx_buf_fail(runs, err, "runs of a pair") : DX_OK;
}

struct dx_span dx_index_pair_domain(const struct dx_index_pair *pair, uint8_t out[DX_SURT_MAX])
{
    return dx_span_of(out, dx_surt_domain(pair->surt, out));
}
