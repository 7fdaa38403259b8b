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
    dx_buf_release(&w->suffixes);
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

static void put_plain(struct dx_buf *out, const struct dx_pq_column *c,
                      const struct dx_pq_values *v)
{
    for (uint32_t i = 0; i < v->row_count; i++) {
        if (dx_pq_is_null(v, i))
            continue;
        switch (c->type) {
        case DX_PQ_INT32:
        case DX_PQ_FLOAT:
            dx_buf_u32(out, (uint32_t)v->ints[i]);
            break;
        case DX_PQ_INT64:
        case DX_PQ_DOUBLE:
            dx_buf_u64(out, (uint64_t)v->ints[i]);
            break;
        case DX_PQ_BYTE_ARRAY:
            dx_buf_u32(out, (uint32_t)v->spans[i].size);
            dx_buf_append(out, v->spans[i].data, v->spans[i].size);
            break;
        default:
            dx_buf_append(out, v->spans[i].data, v->spans[i].size);
        }
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

    while (k < n && a.data[k] == b.data[k])
        k++;
    return k;
}

/* Prefix lengths (only with_prefix), suffix lengths, suffixes. */
static void put_delta_strings(struct dx_pq_page_writer *w, const struct dx_pq_values *v,
                              bool with_prefix)
{
    int64_t *prefix = w->numbers, *suffix = w->numbers + v->row_count;
    struct dx_span before = { NULL, 0 };
    size_t n = 0;

    clear(&w->suffixes);
    for (uint32_t i = 0; i < v->row_count; i++) {
        struct dx_span s = v->spans[i];
        size_t shared;

        if (dx_pq_is_null(v, i))
            continue;
        shared = with_prefix ? shared_prefix(before, s) : 0;
        prefix[n] = (int64_t)shared;
        suffix[n++] = (int64_t)(s.size - shared);
        dx_buf_append(&w->suffixes, s.data + shared, s.size - shared);
        before = s;
    }
    if (with_prefix)
        dx_pq_delta_write(&w->body, 32, prefix, n);
    dx_pq_delta_write(&w->body, 32, suffix, n);
    dx_buf_append(&w->body, w->suffixes.data, w->suffixes.size);
    w->body.failed |= w->suffixes.failed;
}

static int put_values(struct dx_pq_page_writer *w, const struct dx_pq_column *c, unsigned encoding,
                      const struct dx_pq_values *v, struct dx_error *err)
{
    bool is_int = c->type == DX_PQ_INT32 || c->type == DX_PQ_INT64;
    bool is_string = c->type == DX_PQ_BYTE_ARRAY;

    if (!need_numbers(w, (size_t)v->row_count * 2 + 1))
        return dx_fail(err, DX_E_NOMEM, "page: no memory for %u values", v->row_count);
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
