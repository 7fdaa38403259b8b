/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0x31646E6572636572)

void stop(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void value_append(struct dx_buf *out, const struct records_head *head, const struct pairs *p)
{
    uint32_t before = 0;

    dx_buf_varint(out, p->count);
    for (size_t i = 0; i < p->count; i++) {
        const struct dx_pair_count *c = &p->counts[i];

        dx_buf_varint(out, p->ids[i] - before);
        dx_buf_varint(out, c->url_count);
        dx_buf_varint(out, c->row_count - c->url_count);
        dx_buf_varint(out,
                      c->has_ts ? (uint64_t)(c->first_us - head->base_us) / head->unit_us + 1 : 0);
        if (c->has_ts)
            dx_buf_varint(out, (uint64_t)(c->last_us - c->first_us) / head->unit_us);
        before = p->ids[i];
    }
}

void record_append(struct dx_buf *out, const struct records_head *head, struct dx_span key,
                   const struct pairs *p)
{
    size_t at;

    dx_buf_u8(out, (uint8_t)key.size);
    dx_buf_append(out, key.data, key.size);
    at = out->size;
    dx_buf_u16(out, 0);
    value_append(out, head, p);
    if (out->failed || out->size - at - 2 > UINT16_MAX)
        stop("records", "a value is too long, or there is no memory");
    out->data[at] = (uint8_t)(out->size - at - 2);
    out->data[at + 1] = (uint8_t)((out->size - at - 2) >> 8);
}

void records_write(const char *path, const struct records_head *head, const struct dx_buf *body)
{
    uint8_t bytes[RECORDS_HEAD_SIZE];
    FILE *out = fopen(path, "wb");

    dx_store_u64(bytes, MAGIC);
    dx_store_u64(bytes + 8, head->count);
    dx_store_u64(bytes + 16, head->pairs);
    dx_store_u64(bytes + 24, (uint64_t)head->base_us);
    dx_store_u64(bytes + 32, head->unit_us);
    if (out == NULL || fwrite(bytes, 1, sizeof bytes, out) != sizeof bytes ||
        fwrite(body->data, 1, body->size, out) != body->size || fclose(out) != 0)
        stop(path, "cannot be written");
}

static void find_offsets(struct records *r)
{
    uint64_t at = RECORDS_HEAD_SIZE;
    const uint8_t *p = r->map.bytes.data;

    r->offsets = malloc((r->head.count + 1) * sizeof *r->offsets);
    if (r->offsets == NULL)
        stop("records", "out of memory");
    for (uint64_t i = 0; i < r->head.count; i++) {
        r->offsets[i] = at;
        at += 1u + p[at];
        at += 2u + dx_load_u16(p + at);
    }
}

void records_open(struct records *r, const char *path, bool offsets)
{
    struct dx_error err = DX_ERROR_INIT;
    const uint8_t *p;

    *r = (struct records){ .map = DX_MAP_INIT };
    if (dx_map_open(&r->map, path, DX_MAP_RANDOM, &err) < 0)
        stop("records", err.text);
    p = r->map.bytes.data;
    if (r->map.bytes.size < RECORDS_HEAD_SIZE || dx_load_u64(p) != MAGIC)
        stop(path, "no file of records");
    r->head = (struct records_head){ dx_load_u64(p + 8), dx_load_u64(p + 16),
                                     (int64_t)dx_load_u64(p + 24), dx_load_u64(p + 32) };
    if (offsets)
        find_offsets(r);
}

void record_at(const struct records *r, uint64_t i, struct dx_span *key, struct dx_span *value)
{
    const uint8_t *p = r->map.bytes.data + r->offsets[i];

    *key = dx_span_of(p + 1, *p);
    p += 1 + key->size;
    *value = dx_span_of(p + 2, dx_load_u16(p));
}

void records_close(struct records *r)
{
    dx_map_close(&r->map);
    free(r->offsets);
    r->offsets = NULL;
}

void value_decode(struct dx_span value, const struct records_head *head, struct pairs *p)
{
    struct dx_bytes b = dx_bytes_of(value);
    uint32_t id = 0;

    p->count = dx_bytes_varint(&b);
    if (p->count > PAIRS_MAX)
        stop("value", "more datasets than there is room for");
    for (size_t i = 0; i < p->count; i++) {
        struct dx_pair_count *c = &p->counts[i];
        uint64_t first;

        p->ids[i] = id += (uint32_t)dx_bytes_varint(&b);
        c->url_count = dx_bytes_varint(&b);
        c->row_count = c->url_count + dx_bytes_varint(&b);
        first = dx_bytes_varint(&b);
        c->has_ts = first > 0;
        c->first_us = c->has_ts ? head->base_us + (int64_t)((first - 1) * head->unit_us) : 0;
        c->last_us = c->has_ts ? c->first_us + (int64_t)(dx_bytes_varint(&b) * head->unit_us) : 0;
    }
}

void names_open(struct names *n, const char *path)
{
    struct dx_error err = DX_ERROR_INIT;
    const char *at;
    const char *end;

    *n = (struct names){ .map = DX_MAP_INIT };
    if (dx_map_open(&n->map, path, DX_MAP_SEQUENTIAL, &err) < 0)
        stop("names", err.text);
    at = (const char *)n->map.bytes.data;
    end = at + n->map.bytes.size;
    n->name = malloc((n->map.bytes.size / 2 + 1) * sizeof *n->name);
    if (n->name == NULL)
        stop("names", "out of memory");
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));

        if (line == NULL)
            stop(path, "its last line has no end");
        n->name[n->count++] = dx_span_of(at, (size_t)(line - at));
        at = line + 1;
    }
}

void names_close(struct names *n)
{
    dx_map_close(&n->map);
    free(n->name);
    n->name = NULL;
}
