/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/page_write.h"

#include "parquet/codec.h"
#include "parquet/delta.h"
#include "parquet/hybrid.h"
#include "parquet/thrift.h"

#include <stdlib.h>
#include <zlib.h>

#define BODY_MAX (1u << 30) /* sizes in the header are i32 */

void dx_pq_page_writer_release(struct dx_pq_page_writer *w)
{
    int level = w->level;

    dx_buf_release(&w->body);
    dx_buf_release(&w->packed);
    free(w->numbers);
    dx_pq_codec_state_free(&w->codec);
    *w = (struct dx_pq_page_writer)DX_PQ_PAGE_WRITER_INIT(level);
}

static void clear(struct dx_buf *b)
{
    dx_buf_clear(b);
    b->max = BODY_MAX;
}

static bool need_numbers(struct dx_pq_page_writer *w, size_t n)
{
    int64_t *bigger;

    if (n <= w->number_capacity)
        return true;
    bigger = realloc(w->numbers, n * sizeof(*bigger));
    if (bigger == NULL)
        return false;
    w->numbers = bigger;
    w->number_capacity = n;
    return true;
}

static void put_levels(struct dx_buf *out, const struct dx_pq_values *v)
{
    size_t at = out->size;

    dx_buf_u32(out, 0); /* the size, known later */
    if (v->valid != NULL) {
        dx_pq_hybrid_write_bits(out, v->valid, v->row_count);
    } else if (v->row_count > 0) {
        dx_buf_varint(out, (uint64_t)v->row_count << 1);
        dx_buf_u8(out, 1);
    }
    if (!out->failed)
        dx_store_u32(out->data + at, (uint32_t)(out->size - at - 4));
}

/* Strings of a lake are short, and a call for each would cost more than its bytes: up to 16 go in
 * two words that may overlap. */
static uint8_t *copy_string(uint8_t *to, struct dx_span s)
{
    if (s.size >= 8 && s.size <= 16) {
        uint64_t head, tail;

        memcpy(&head, s.data, 8);
        memcpy(&tail, s.data + s.size - 8, 8);
        memcpy(to, &head, 8);
        memcpy(to + s.size - 8, &tail, 8);
    } else if (s.size >= 4 && s.size < 8) {
        uint32_t head, tail;

        memcpy(&head, s.data, 4);
        memcpy(&tail, s.data + s.size - 4, 4);
        memcpy(to, &head, 4);
        memcpy(to + s.size - 4, &tail, 4);
    } else if (s.size > 0) {
        memcpy(to, s.data, s.size);
    }
    return to + s.size;
}

static void put_plain_ints(struct dx_buf *out, size_t width, const struct dx_pq_values *v)
{
    uint8_t *to = dx_buf_reserve(out, (size_t)v->row_count * width);

    if (to == NULL)
        return;
    for (uint32_t i = 0; i < v->row_count; i++) {
        if (dx_pq_is_null(v, i))
            continue;
        if (width == 4)
            dx_store_u32(to, (uint32_t)v->ints[i]);
        else
            dx_store_u64(to, (uint64_t)v->ints[i]);
        to += width;
    }
    out->size = (size_t)(to - out->data);
}

/* with_sizes: four bytes of it in front of each. */
static void put_plain_strings(struct dx_buf *out, bool with_sizes, const struct dx_pq_values *v)
{
    size_t size = 0;
    uint8_t *to;

    for (uint32_t i = 0; i < v->row_count; i++)
        size += dx_pq_is_null(v, i) ? 0 : v->spans[i].size + 4;
    to = dx_buf_reserve(out, size);
    if (to == NULL)
        return;
    for (uint32_t i = 0; i < v->row_count; i++) {
        if (dx_pq_is_null(v, i))
            continue;
        if (with_sizes) {
            dx_store_u32(to, (uint32_t)v->spans[i].size);
            to += 4;
        }
        to = copy_string(to, v->spans[i]);
    }
    out->size = (size_t)(to - out->data);
}

static void put_plain(struct dx_buf *out, const struct dx_pq_column *c,
                      const struct dx_pq_values *v)
{
    switch (c->type) {
    case DX_PQ_INT32:
    case DX_PQ_FLOAT:
        put_plain_ints(out, 4, v);
        break;
    case DX_PQ_INT64:
    case DX_PQ_DOUBLE:
        put_plain_ints(out, 8, v);
        break;
    default:
        put_plain_strings(out, c->type == DX_PQ_BYTE_ARRAY, v);
    }
}

static void put_delta(struct dx_pq_page_writer *w, const struct dx_pq_column *c,
                      const struct dx_pq_values *v)
{
    size_t n = 0;

    for (uint32_t i = 0; i < v->row_count; i++)
        if (!dx_pq_is_null(v, i))
            w->numbers[n++] = v->ints[i];
    dx_pq_delta_write(&w->body, c->type == DX_PQ_INT32 ? 32 : 64, w->numbers, n);
}

static size_t shared_prefix(struct dx_span a, struct dx_span b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    size_t k = 0;

    while (n - k >= 8) {
        uint64_t differ = dx_load_u64(a.data + k) ^ dx_load_u64(b.data + k);

        if (differ != 0)
            return k + (size_t)__builtin_ctzll(differ) / 8;
        k += 8;
    }
    while (k < n && a.data[k] == b.data[k])
        k++;
    return k;
}

/* The strings, each without its first prefix[n] bytes. */
static void put_suffixes(struct dx_buf *out, const struct dx_pq_values *v, const int64_t *prefix,
                         size_t size)
{
    uint8_t *to = dx_buf_reserve(out, size);
    size_t n = 0;

    if (to == NULL)
        return;
    for (uint32_t i = 0; i < v->row_count; i++) {
        struct dx_span s = v->spans[i];

        if (dx_pq_is_null(v, i))
            continue;
        to = copy_string(to, dx_span_of(s.data + prefix[n], s.size - (size_t)prefix[n]));
        n++;
    }
    out->size += size;
}

/* Prefix lengths (only with_prefix), suffix lengths, suffixes. */
static void put_delta_strings(struct dx_pq_page_writer *w, const struct dx_pq_values *v,
                              bool with_prefix)
{
    int64_t *prefix = w->numbers, *suffix = w->numbers + v->row_count;
    struct dx_span before = { NULL, 0 };
    size_t size = 0;
    size_t n = 0;

    for (uint32_t i = 0; i < v->row_count; i++) {
        struct dx_span s = v->spans[i];
        size_t shared;

        if (dx_pq_is_null(v, i))
            continue;
        shared = with_prefix ? shared_prefix(before, s) : 0;
        prefix[n] = (int64_t)shared;
        suffix[n++] = (int64_t)(s.size - shared);
        size += s.size - shared;
        before = s;
    }
    if (with_prefix)
        dx_pq_delta_write(&w->body, 32, prefix, n);
    dx_pq_delta_write(&w->body, 32, suffix, n);
    put_suffixes(&w->body, v, prefix, size);
}

static int put_values(struct dx_pq_page_writer *w, const struct dx_pq_column *c, unsigned encoding,
                      const struct dx_pq_values *v, struct dx_error *err)
{
    bool is_int = c->type == DX_PQ_INT32 || c->type == DX_PQ_INT64;
    bool is_string = c->type == DX_PQ_BYTE_ARRAY;

    if (!need_numbers(w, (size_t)v->row_count * 2 + 1))
        return dx_no_memory(err, "page: %u values", v->row_count);
    if (encoding == DX_PQ_PLAIN && c->type != DX_PQ_BOOLEAN)
        put_plain(&w->body, c, v);
    else if (encoding == DX_PQ_DELTA_BINARY_PACKED && is_int)
        put_delta(w, c, v);
    else if ((encoding == DX_PQ_DELTA_BYTE_ARRAY || encoding == DX_PQ_DELTA_LENGTH_BYTE_ARRAY) &&
             is_string)
        put_delta_strings(w, v, encoding == DX_PQ_DELTA_BYTE_ARRAY);
    else
        return dx_fail(err, DX_E_UNSUPPORTED, "page: %s is not written as %s",
                       dx_pq_type_name(c->type), dx_pq_encoding_name(encoding));
    return w->body.failed ? dx_buf_fail(&w->body, err, "page") : DX_OK;
}

static void put_header(struct dx_buf *out, const struct dx_pq_page_header *h)
{
    struct dx_thrift_out o = dx_thrift_out_to(out);

    dx_thrift_put_begin(&o, 0);
    dx_thrift_put_i32(&o, 1, DX_PQ_PAGE_DATA);
    dx_thrift_put_i32(&o, 2, (int32_t)h->uncompressed_size);
    dx_thrift_put_i32(&o, 3, (int32_t)h->compressed_size);
    dx_thrift_put_i32(&o, 4, (int32_t)h->crc);
    dx_thrift_put_begin(&o, 5);
    dx_thrift_put_i32(&o, 1, (int32_t)h->value_count);
    dx_thrift_put_i32(&o, 2, h->encoding);
    dx_thrift_put_i32(&o, 3, DX_PQ_RLE);
    dx_thrift_put_i32(&o, 4, DX_PQ_RLE);
    dx_thrift_put_end(&o);
    dx_thrift_put_end(&o);
}

int dx_pq_page_write(struct dx_pq_page_writer *w, const struct dx_pq_column *c, unsigned encoding,
                     const struct dx_pq_values *v, struct dx_buf *out, struct dx_pq_page_info *info,
                     struct dx_error *err)
{
    struct dx_pq_page_header h = { .encoding = (uint8_t)encoding, .value_count = v->row_count };
    const struct dx_buf *body = &w->body;
    size_t start = out->size;
    int rc;

    clear(&w->body);
    if (c->max_def > 0)
        put_levels(&w->body, v);
    rc = put_values(w, c, encoding, v, err);
    if (rc < 0)
        return rc;
    if (c->codec == DX_PQ_ZSTD) {
        clear(&w->packed);
        rc = dx_pq_compress_zstd(&w->codec, w->level, dx_span_of(w->body.data, w->body.size),
                                 &w->packed, err);
        body = &w->packed;
    } else if (c->codec != DX_PQ_UNCOMPRESSED) {
        rc = dx_fail(err, DX_E_UNSUPPORTED, "page: %s is not written", dx_pq_codec_name(c->codec));
    }
    if (rc < 0)
        return rc;
    h.uncompressed_size = (uint32_t)w->body.size;
    h.compressed_size = (uint32_t)body->size;
    h.crc = (uint32_t)crc32_z(0, body->data, body->size);
    put_header(out, &h);
    h.header_size = (uint32_t)(out->size - start);
    dx_buf_append(out, body->data, body->size);
    if (out->failed)
        return dx_buf_fail(out, err, "pages");
    *info = (struct dx_pq_page_info){ h.header_size + h.compressed_size,
                                      h.header_size + h.uncompressed_size };
    return DX_OK;
}
