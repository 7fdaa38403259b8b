/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_pair.h"

/* No byte of a key is zero, so a zero behind it keeps the order of keys of which one is
 * the beginning of the other. */
static void put_big_endian(struct dx_buf *out, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        dx_buf_u8(out, (uint8_t)(v >> shift));
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static void put_facts(const struct dx_index_pair *pair, struct dx_buf *value)
{
    dx_buf_varint(value, pair->facts.size);
    dx_buf_append(value, pair->facts.data, pair->facts.size);
    if (pair->facts.size == 0) {
        dx_buf_varint(value, pair->aside.offset);
        dx_buf_varint(value, pair->aside.size);
        dx_buf_u64(value, pair->aside.hash);
    }
    dx_buf_varint(value, pair->sketch.size);
    dx_buf_append(value, pair->sketch.data, pair->sketch.size);
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
    uint8_t surt[DX_SURT_MAX];
    size_t size = dx_surt_key(pair->domain, surt);
    uint32_t file_id = 0;

    if (size == 0 || memchr(surt, 0, size) != NULL)
        return dx_fail(err, DX_E_INVALID, "\"%.*s\" is not a domain", (int)pair->domain.size,
                       (const char *)pair->domain.data);
    dx_buf_clear(key);
    dx_buf_append(key, surt, size);
    dx_buf_u8(key, 0);
    put_big_endian(key, pair->dataset_id);

    dx_buf_clear(value);
    dx_buf_varint(value, pair->count.url_count);
    dx_buf_varint(value, pair->count.row_count);
    dx_buf_u8(value, pair->count.has_ts);
    if (pair->count.has_ts) {
        dx_buf_u64(value, (uint64_t)pair->count.first_us);
        dx_buf_u64(value, (uint64_t)pair->count.last_us);
    }
    put_facts(pair, value);
    for (size_t i = 0; i < count; i++) {
        dx_buf_varint(value, runs[i].file_id - file_id); /* modulo 2^32 where it descends */
        dx_buf_varint(value, runs[i].row_group);
        dx_buf_varint(value, runs[i].first_row);
        dx_buf_varint(value, runs[i].row_count);
        file_id = runs[i].file_id;
    }
    if (key->failed)
        return dx_buf_fail(key, err, "pair");
    return value->failed ? dx_buf_fail(value, err, "pair") : DX_OK;
}

int dx_index_pair_surt(struct dx_span key, struct dx_span *surt, struct dx_error *err)
{
    if (key.size < 6 || key.size > DX_SURT_MAX + 5)
        return dx_fail(err, DX_E_CORRUPT, "pair: a key of %zu bytes", key.size);
    *surt = dx_span_of(key.data, key.size - 5);
    return DX_OK;
}

int dx_index_pair_decode(struct dx_span key, struct dx_span value, struct dx_index_pair *pair,
                         struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(value);
    int rc = dx_index_pair_surt(key, &pair->surt, err);

    if (rc != DX_OK)
        return rc;
    pair->dataset_id = big_endian(key.data + key.size - 4);
    pair->domain = dx_span_of(NULL, 0);
    pair->domain_size = dx_surt_domain(pair->surt, pair->domain_text);
    pair->count = (struct dx_pair_count){ 0 };
    pair->count.url_count = dx_bytes_varint(&r);
    pair->count.row_count = dx_bytes_varint(&r);
    pair->count.has_ts = dx_bytes_u8(&r) != 0;
    if (pair->count.has_ts) {
        pair->count.first_us = (int64_t)dx_bytes_u64(&r);
        pair->count.last_us = (int64_t)dx_bytes_u64(&r);
    }
    take_facts(&r, pair);
    pair->runs = dx_bytes_take(&r, dx_bytes_left(&r));
    if (r.failed || pair->domain_size == 0)
        return dx_fail(err, DX_E_CORRUPT, "pair: a damaged record");
    return DX_OK;
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

struct dx_span dx_index_pair_domain(const struct dx_index_pair *pair)
{
    return dx_span_of(pair->domain_text, pair->domain_size);
}
