/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/page.h"

#include "base/few_bytes.h"
#include "parquet/codec.h"
#include "parquet/delta.h"
#include "parquet/hybrid.h"
#include "parquet/thrift.h"

#include <stdlib.h>
#include <zlib.h>

#define BATCH 512 /* levels and indices are unpacked through the stack in pieces */
#define INT96_SIZE 12

/* ---- header ---- */

struct raw_header {
    int32_t type, uncompressed, compressed, crc;
    int32_t values, nulls, rows, encoding, def_encoding, rep_encoding, def_size, rep_size;
    bool has_crc, is_compressed;
    bool has_data, has_dictionary, has_v2;
};

static void read_data_head(struct dx_thrift *t, struct raw_header *h)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;

    while (dx_thrift_next(t, &f)) {
        if (f.id == 1)
            dx_thrift_i32(t, &f, &h->values);
        else if (f.id == 2)
            dx_thrift_i32(t, &f, &h->encoding);
        else if (f.id == 3)
            dx_thrift_i32(t, &f, &h->def_encoding);
        else if (f.id == 4)
            dx_thrift_i32(t, &f, &h->rep_encoding);
        else
            dx_thrift_skip(t, f.type);
    }
}

static void read_v2_head(struct dx_thrift *t, struct raw_header *h)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;

    while (dx_thrift_next(t, &f)) {
        switch (f.id) {
        case 1:
            dx_thrift_i32(t, &f, &h->values);
            break;
        case 2:
            dx_thrift_i32(t, &f, &h->nulls);
            break;
        case 3:
            dx_thrift_i32(t, &f, &h->rows);
            break;
        case 4:
            dx_thrift_i32(t, &f, &h->encoding);
            break;
        case 5:
            dx_thrift_i32(t, &f, &h->def_size);
            break;
        case 6:
            dx_thrift_i32(t, &f, &h->rep_size);
            break;
        case 7:
            dx_thrift_bool(t, &f, &h->is_compressed);
            break;
        default:
            dx_thrift_skip(t, f.type);
        }
    }
}

static void read_head(struct dx_thrift *t, struct raw_header *h)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;

    while (dx_thrift_next(t, &f)) {
        switch (f.id) {
        case 1:
            dx_thrift_i32(t, &f, &h->type);
            break;
        case 2:
            dx_thrift_i32(t, &f, &h->uncompressed);
            break;
        case 3:
            dx_thrift_i32(t, &f, &h->compressed);
            break;
        case 4:
            h->has_crc |= dx_thrift_i32(t, &f, &h->crc);
            break;
        case 5:
            if (dx_thrift_struct(t, &f)) {
                h->has_data = true;
                read_data_head(t, h);
            }
            break;
        case 7:
            if (dx_thrift_struct(t, &f)) {
                h->has_dictionary = true;
                read_data_head(t, h); /* the same first two fields */
            }
            break;
        case 8:
            if (dx_thrift_struct(t, &f)) {
                h->has_v2 = true;
                read_v2_head(t, h);
            }
            break;
        default:
            dx_thrift_skip(t, f.type);
        }
    }
}

static int check_head(const struct raw_header *h, struct dx_error *err)
{
    if (h->type < 0 || h->type > DX_PQ_PAGE_DATA_V2)
        return dx_fail(err, DX_E_CORRUPT, "page header: unknown page type %d", h->type);
    if (h->uncompressed < 0 || h->compressed < 0)
        return dx_fail(err, DX_E_CORRUPT, "page header: sizes %d and %d", h->compressed,
                       h->uncompressed);
    if (h->type == DX_PQ_PAGE_INDEX && h->has_data + h->has_v2 + h->has_dictionary == 0)
        return DX_OK;
    if ((h->type == DX_PQ_PAGE_DATA && !h->has_data) ||
        (h->type == DX_PQ_PAGE_DATA_V2 && !h->has_v2) ||
        (h->type == DX_PQ_PAGE_DICTIONARY && !h->has_dictionary) || h->type == DX_PQ_PAGE_INDEX ||
        h->has_data + h->has_v2 + h->has_dictionary != 1)
        return dx_fail(err, DX_E_CORRUPT, "page header: not the fields of page type %d", h->type);
    if (h->values < 0 || h->encoding < 0 || h->encoding > UINT8_MAX)
        return dx_fail(err, DX_E_CORRUPT, "page header: %d values, encoding %d", h->values,
                       h->encoding);
    if (h->type != DX_PQ_PAGE_DATA_V2)
        return DX_OK;
    if (h->nulls < 0 || h->nulls > h->values || h->def_size < 0 || h->rep_size < 0)
        return dx_fail(err, DX_E_CORRUPT,
                       "page header: %d nulls of %d values, levels of %d+%d bytes", h->nulls,
                       h->values, h->rep_size, h->def_size);
    if ((int64_t)h->def_size + h->rep_size > h->compressed ||
        (int64_t)h->def_size + h->rep_size > h->uncompressed)
        return dx_fail(err, DX_E_CORRUPT, "page header: levels of %d+%d bytes in a page of %d",
                       h->rep_size, h->def_size, h->compressed);
    return DX_OK;
}

int dx_pq_page_header_parse(struct dx_span bytes, struct dx_pq_page_header *out,
                            struct dx_error *err)
{
    struct raw_header h = { .type = -1,
                            .uncompressed = -1,
                            .compressed = -1,
                            .values = -1,
                            .encoding = -1,
                            .def_encoding = DX_PQ_RLE,
                            .rep_encoding = DX_PQ_RLE,
                            .is_compressed = true };
    struct dx_thrift t;
    int rc;

    if (bytes.size > DX_PQ_PAGE_HEADER_MAX)
        bytes.size = DX_PQ_PAGE_HEADER_MAX;
    t = dx_thrift_of(bytes);
    read_head(&t, &h);
    if (t.bytes.failed)
        return dx_fail(err, DX_E_CORRUPT, "page header: broken at byte %zu of %zu",
                       dx_bytes_at(&t.bytes), bytes.size);
    rc = check_head(&h, err);
    if (rc < 0)
        return rc;
    *out = (struct dx_pq_page_header){
        .type = (uint8_t)h.type,
        .encoding = (uint8_t)h.encoding,
        .def_encoding = (uint8_t)h.def_encoding,
        .rep_encoding = (uint8_t)h.rep_encoding,
        .is_v2 = h.type == DX_PQ_PAGE_DATA_V2,
        .is_compressed = h.is_compressed,
        .has_crc = h.has_crc && h.crc != 0, /* Parquet.jl writes 0 whatever the page is */
        .crc = (uint32_t)h.crc,
        .header_size = (uint32_t)dx_bytes_at(&t.bytes),
        .compressed_size = (uint32_t)h.compressed,
        .uncompressed_size = (uint32_t)h.uncompressed,
        .value_count = h.values < 0 ? 0 : (uint32_t)h.values,
        .null_count = (uint32_t)h.nulls,
        .def_size = (uint32_t)h.def_size,
        .rep_size = (uint32_t)h.rep_size,
    };
    return DX_OK;
}

/* ---- storage ---- */

static int no_memory(struct dx_error *err, uint32_t rows)
{
    return dx_no_memory(err, "page: %u values", rows);
}

/* Room for n elements; what was there is lost. */
static bool grow(void **array, uint32_t *capacity, uint32_t n, size_t element_size)
{
    void *bigger;

    if (*array != NULL && *capacity >= n)
        return true;
    bigger = malloc((n == 0 ? 1 : (size_t)n) * element_size);
    if (bigger == NULL)
        return false;
    free(*array);
    *array = bigger;
    *capacity = n;
    return true;
}

static bool need_ints(struct dx_pq_values *v, uint32_t n)
{
    void *array = v->ints;
    bool ok = grow(&array, &v->int_capacity, n, sizeof(*v->ints));

    v->ints = array;
    return ok;
}

static bool need_spans(struct dx_pq_values *v, uint32_t n)
{
    void *array = v->spans;
    bool ok = grow(&array, &v->span_capacity, n, sizeof(*v->spans));

    v->spans = array;
    return ok;
}

static uint8_t *need_bytes(struct dx_buf *b, size_t n, struct dx_error *err)
{
    uint8_t *to;

    dx_buf_clear(b);
    b->max = n + 64;
    to = dx_buf_reserve(b, n == 0 ? 1 : n);
    if (to == NULL)
        (void)dx_no_memory(err, "page: %zu bytes", n);
    return to;
}

void dx_pq_values_release(struct dx_pq_values *v)
{
    free(v->valid_store);
    free(v->def_store);
    free(v->rep_store);
    free(v->ints);
    free(v->spans);
    dx_buf_release(&v->body);
    dx_buf_release(&v->text);
    dx_pq_codec_state_free(&v->codec);
    *v = (struct dx_pq_values)DX_PQ_VALUES_INIT;
}

void dx_pq_dictionary_release(struct dx_pq_dictionary *d)
{
    dx_pq_values_release(&d->values);
    d->present = false;
}

/* ---- decoding ---- */

struct decode {
    const struct dx_pq_column *column;
    const struct dx_pq_dictionary *dictionary;
    const struct dx_pq_limits *limits;
    struct dx_pq_values *out;
    struct dx_error *err;
    struct dx_pq_page_header head;
    uint32_t count; /* values that are not null */
};

static int corrupt(const struct decode *d, const char *what)
{
    return dx_fail(d->err, DX_E_CORRUPT, "page: %s (%s, %u values)", what,
                   dx_pq_encoding_name(d->head.encoding), d->count);
}

static bool is_span_type(unsigned type)
{
    return type == DX_PQ_BYTE_ARRAY || type == DX_PQ_FIXED || type == DX_PQ_INT96;
}

/* Bytes of a value as PLAIN writes it; 0: not fixed. */
static uint32_t value_size(const struct dx_pq_column *c)
{
    switch (c->type) {
    case DX_PQ_INT32:
    case DX_PQ_FLOAT:
        return 4;
    case DX_PQ_INT64:
    case DX_PQ_DOUBLE:
        return 8;
    case DX_PQ_INT96:
        return INT96_SIZE;
    case DX_PQ_FIXED:
        return c->type_length;
    default:
        return 0;
    }
}

static int64_t load_value(const struct dx_pq_column *c, const uint8_t *p)
{
    if (c->type == DX_PQ_INT64 || c->type == DX_PQ_DOUBLE)
        return (int64_t)dx_load_u64(p);
    if (c->type == DX_PQ_INT32 && !c->is_unsigned)
        return (int32_t)dx_load_u32(p);
    return dx_load_u32(p);
}

static int read_plain_strings(struct decode *d, struct dx_span values)
{
    struct dx_bytes r = dx_bytes_of(values);

    if (d->count > values.size / 4)
        return corrupt(d, "more strings than bytes");
    for (uint32_t i = 0; i < d->count; i++)
        d->out->spans[i] = dx_bytes_take(&r, dx_bytes_u32(&r));
    return r.failed ? corrupt(d, "a string reaches over the end") : DX_OK;
}

static int read_plain(struct decode *d, struct dx_span values)
{
    const struct dx_pq_column *c = d->column;
    uint32_t size = value_size(c);

    if (c->type == DX_PQ_BYTE_ARRAY)
        return read_plain_strings(d, values);
    if (c->type == DX_PQ_BOOLEAN) {
        if (d->count > (uint64_t)values.size * 8)
            return corrupt(d, "fewer bits than values");
        for (uint32_t i = 0; i < d->count; i++)
            d->out->ints[i] = values.data[i / 8] >> (i % 8) & 1;
        return DX_OK;
    }
    if ((uint64_t)size * d->count > values.size)
        return corrupt(d, "fewer bytes than values");
    for (uint32_t i = 0; i < d->count; i++) {
        const uint8_t *p = values.data + (size_t)i * size;

        if (is_span_type(c->type))
            d->out->spans[i] = dx_span_of(p, size);
        else
            d->out->ints[i] = load_value(c, p);
    }
    return DX_OK;
}

static int read_indices(struct decode *d, struct dx_span values)
{
    const struct dx_pq_values *from;
    struct dx_pq_hybrid h;
    uint32_t batch[BATCH];

    if (d->count == 0)
        return DX_OK; /* not even the byte for the width need be there */
    if (d->dictionary == NULL || !d->dictionary->present)
        return corrupt(d, "no dictionary");
    if (values.size == 0)
        return corrupt(d, "no indices");
    from = &d->dictionary->values;
    h = dx_pq_hybrid_of(dx_span_of(values.data + 1, values.size - 1), values.data[0]);
    if (h.width > 32)
        return corrupt(d, "index width over 32 bits");
    for (uint32_t done = 0; done < d->count;) {
        uint32_t n = d->count - done < BATCH ? d->count - done : BATCH;

        if (!dx_pq_hybrid_read(&h, batch, n))
            return corrupt(d, "indices end early");
        for (uint32_t i = 0; i < n; i++, done++) {
            if (batch[i] >= from->row_count)
                return corrupt(d, "index outside of the dictionary");
            if (is_span_type(d->column->type))
                d->out->spans[done] = from->spans[batch[i]];
            else
                d->out->ints[done] = from->ints[batch[i]];
        }
    }
    return DX_OK;
}

static int read_rle_booleans(struct decode *d, struct dx_span values)
{
    struct dx_bytes r = dx_bytes_of(values);
    struct dx_span runs = dx_bytes_take(&r, dx_bytes_u32(&r));
    struct dx_pq_hybrid h = dx_pq_hybrid_of(runs, 1);
    uint32_t batch[BATCH];

    if (d->count == 0)
        return DX_OK;
    if (r.failed)
        return corrupt(d, "booleans reach over the end");
    for (uint32_t done = 0; done < d->count;) {
        uint32_t n = d->count - done < BATCH ? d->count - done : BATCH;

        if (!dx_pq_hybrid_read(&h, batch, n))
            return corrupt(d, "booleans end early");
        for (uint32_t i = 0; i < n; i++)
            d->out->ints[done++] = batch[i] & 1;
    }
    return DX_OK;
}

static int read_delta(struct decode *d, struct dx_span values)
{
    struct dx_bytes r = dx_bytes_of(values);
    unsigned bits = d->column->type == DX_PQ_INT32 ? 32 : 64;
    int rc = dx_pq_delta_read(&r, bits, d->count, d->out->ints, d->err);

    if (rc == DX_OK && dx_bytes_left(&r) > 0)
        return corrupt(d, "bytes behind the last value");
    if (rc == DX_OK && bits == 32 && d->column->is_unsigned)
        for (uint32_t i = 0; i < d->count; i++)
            d->out->ints[i] = (uint32_t)d->out->ints[i];
    return rc;
}

/* Bytes left over mean that the lengths were not those of this page. */
static int end_of_strings(const struct decode *d, const struct dx_bytes *r)
{
    if (r->failed)
        return corrupt(d, "a string reaches over the end");
    return dx_bytes_left(r) > 0 ? corrupt(d, "bytes behind the last value") : DX_OK;
}

static int read_delta_lengths(struct decode *d, struct dx_span values)
{
    struct dx_bytes r = dx_bytes_of(values);
    int64_t *length = d->out->ints;
    int rc = dx_pq_delta_read(&r, 32, d->count, length, d->err);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < d->count; i++) {
        if (length[i] < 0)
            return corrupt(d, "a string of negative length");
        d->out->spans[i] = dx_bytes_take(&r, (uint64_t)length[i]);
    }
    return end_of_strings(d, &r);
}

/* Checks lengths and gives the size of all strings together. */
static int measure_delta_strings(struct decode *d, const int64_t *prefix, const int64_t *suffix,
                                 uint64_t *total)
{
    int64_t before = 0;

    *total = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        if (prefix[i] < 0 || suffix[i] < 0 || prefix[i] > before)
            return corrupt(d, "a prefix longer than the string before");
        before = prefix[i] + suffix[i];
        if (d->column->type == DX_PQ_FIXED && before != d->column->type_length)
            return corrupt(d, "a value of another length than its type");
        *total += (uint64_t)before;
        if (*total > d->limits->page_bytes)
            return dx_fail(d->err, DX_E_LIMIT, "page: strings of more than %u bytes together",
                           d->limits->page_bytes);
    }
    return DX_OK;
}

static int read_delta_strings(struct decode *d, struct dx_span values)
{
    struct dx_bytes r = dx_bytes_of(values);
    int64_t *prefix = d->out->ints, *suffix = d->out->ints + d->count;
    const uint8_t *before = NULL;
    uint64_t total = 0;
    uint8_t *to;
    int rc;

    rc = dx_pq_delta_read(&r, 32, d->count, prefix, d->err);
    if (rc == DX_OK)
        rc = dx_pq_delta_read(&r, 32, d->count, suffix, d->err);
    if (rc == DX_OK)
        rc = measure_delta_strings(d, prefix, suffix, &total);
    if (rc < 0)
        return rc;
    to = need_bytes(&d->out->text, (size_t)total, d->err);
    if (to == NULL)
        return DX_E_NOMEM;
    for (uint32_t i = 0; i < d->count; i++) {
        struct dx_span own = dx_bytes_take(&r, (uint64_t)suffix[i]);

        if (r.failed)
            return corrupt(d, "a string reaches over the end");
        dx_few_copy(to, before, (size_t)prefix[i]);
        dx_few_copy(to + prefix[i], own.data, own.size);
        d->out->spans[i] = dx_span_of(to, (size_t)prefix[i] + own.size);
        before = to;
        to += (size_t)prefix[i] + own.size;
    }
    return end_of_strings(d, &r);
}

static int read_split(struct decode *d, struct dx_span values)
{
    const struct dx_pq_column *c = d->column;
    uint32_t size = value_size(c);
    uint8_t *to;

    /* The streams' length follows from the page's values: with bytes left over it is not known which of the two is wrong. */
    if ((uint64_t)size * d->count != values.size)
        return corrupt(d, (uint64_t)size * d->count > values.size ? "fewer bytes than values"
                                                                  : "bytes behind the last value");
    to = need_bytes(&d->out->text, (size_t)size * d->count, d->err);
    if (to == NULL)
        return DX_E_NOMEM;
    for (uint32_t b = 0; b < size; b++)
        for (uint32_t i = 0; i < d->count; i++)
            to[(size_t)i * size + b] = values.data[(size_t)b * d->count + i];
    return read_plain(d, dx_span_of(to, (size_t)size * d->count));
}

static int refuse(const struct decode *d)
{
    return dx_fail(d->err, DX_E_UNSUPPORTED, "encoding %s (%u) of %s is not supported",
                   dx_pq_encoding_name(d->head.encoding), d->head.encoding,
                   dx_pq_type_name(d->column->type));
}

static int read_values(struct decode *d, struct dx_span values)
{
    unsigned type = d->column->type;
    bool is_string = type == DX_PQ_BYTE_ARRAY;

    switch (d->head.encoding) {
    case DX_PQ_PLAIN:
        return read_plain(d, values);
    case DX_PQ_PLAIN_DICTIONARY:
    case DX_PQ_RLE_DICTIONARY:
        return read_indices(d, values);
    case DX_PQ_RLE:
        return type == DX_PQ_BOOLEAN ? read_rle_booleans(d, values) : refuse(d);
    case DX_PQ_DELTA_BINARY_PACKED:
        return type == DX_PQ_INT32 || type == DX_PQ_INT64 ? read_delta(d, values) : refuse(d);
    case DX_PQ_DELTA_LENGTH_BYTE_ARRAY:
        return is_string ? read_delta_lengths(d, values) : refuse(d);
    case DX_PQ_DELTA_BYTE_ARRAY:
        return is_string || type == DX_PQ_FIXED ? read_delta_strings(d, values) : refuse(d);
    case DX_PQ_BYTE_STREAM_SPLIT:
        return value_size(d->column) > 0 && type != DX_PQ_INT96 ? read_split(d, values) : refuse(d);
    default:
        return refuse(d);
    }
}

/* The oldest form: of a byte the most significant bit comes first, but for Impala the least. */
static bool read_packed_levels(struct dx_span levels, unsigned width, bool low_first, uint8_t *out,
                               uint32_t n)
{
    if (levels.size < ((uint64_t)n * width + 7) / 8)
        return false;
    for (uint32_t i = 0; low_first && i < n; i++)
        out[i] = (uint8_t)dx_pq_bits(levels, (uint64_t)i * width, width);
    for (uint32_t i = 0; !low_first && i < n; i++) {
        unsigned level = 0;

        for (uint64_t bit = (uint64_t)i * width; bit < (uint64_t)(i + 1) * width; bit++)
            level = level << 1 | (levels.data[bit / 8] >> (7 - bit % 8) & 1);
        out[i] = (uint8_t)level;
    }
    return true;
}

static unsigned level_width(uint8_t max)
{
    return max == 0 ? 0 : 32 - (unsigned)__builtin_clz(max);
}

/* One level a slot, each at most max. */
static int read_levels(struct decode *d, struct dx_span levels, uint8_t max, unsigned encoding,
                       uint8_t *out)
{
    struct dx_pq_hybrid h = dx_pq_hybrid_of(levels, level_width(max));
    uint32_t n = d->head.value_count;
    bool packed = !d->head.is_v2 && encoding == DX_PQ_BIT_PACKED;
    uint32_t batch[BATCH];

    if (packed &&
        !read_packed_levels(levels, level_width(max), d->column->is_low_bit_first, out, n))
        return corrupt(d, "levels end early");
    for (uint32_t done = 0; !packed && done < n;) {
        uint32_t k = n - done < BATCH ? n - done : BATCH;

        if (!dx_pq_hybrid_read(&h, batch, k))
            return corrupt(d, "levels end early");
        for (uint32_t i = 0; i < k; i++)
            out[done++] = batch[i] > max ? UINT8_MAX : (uint8_t)batch[i];
    }
    for (uint32_t i = 0; i < n; i++)
        if (out[i] > max)
            return corrupt(d, "a level over the maximum");
    return DX_OK;
}

static bool need_levels(uint8_t **store, uint32_t *capacity, uint32_t n)
{
    void *array = *store;
    bool ok = grow(&array, capacity, n, 1);

    *store = array;
    return ok;
}

static int read_rep_levels(struct decode *d, struct dx_span levels)
{
    struct dx_pq_values *out = d->out;

    if (!need_levels(&out->rep_store, &out->rep_capacity, d->head.value_count))
        return no_memory(d->err, d->head.value_count);
    out->rep = out->rep_store;
    return read_levels(d, levels, d->column->max_rep, d->head.rep_encoding, out->rep);
}

/* And from them which slots have a value. */
static int read_def_levels(struct decode *d, struct dx_span levels)
{
    struct dx_pq_values *out = d->out;
    uint32_t rows = d->head.value_count, nulls = 0;
    uint8_t max = d->column->max_def;
    uint8_t *def;
    int rc;

    if (!need_levels(&out->valid_store, &out->valid_capacity, rows) ||
        (max > 1 && !need_levels(&out->def_store, &out->def_capacity, rows)))
        return no_memory(d->err, rows);
    def = max > 1 ? out->def_store : out->valid_store;
    rc = read_levels(d, levels, max, d->head.def_encoding, def);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < rows; i++) {
        uint8_t there = def[i] == max;

        out->valid_store[i] = there;
        nulls += there == 0;
    }
    out->def = max > 1 ? def : NULL;
    out->null_count = nulls;
    out->valid = nulls > 0 ? out->valid_store : NULL;
    d->count = rows - nulls;
    return DX_OK;
}

/* From one slot a value to one slot a row, from the back. */
static void spread(struct decode *d)
{
    struct dx_pq_values *v = d->out;
    bool is_span = is_span_type(d->column->type);
    uint32_t from = d->count;

    if (v->valid == NULL)
        return;
    for (uint32_t i = d->head.value_count; i-- > 0;) {
        if (is_span)
            v->spans[i] = v->valid[i] != 0 ? v->spans[--from] : (struct dx_span){ NULL, 0 };
        else
            v->ints[i] = v->valid[i] != 0 ? v->ints[--from] : 0;
    }
}

static int allocate(struct decode *d)
{
    struct dx_pq_values *v = d->out;
    uint32_t rows = d->head.value_count;
    bool is_delta_string = d->head.encoding == DX_PQ_DELTA_LENGTH_BYTE_ARRAY ||
                           d->head.encoding == DX_PQ_DELTA_BYTE_ARRAY;

    if (is_span_type(d->column->type)) {
        if (!need_spans(v, rows))
            return no_memory(d->err, rows);
        /* Lengths of prefixes and of the rest. */
        if (is_delta_string && !need_ints(v, 2 * d->count))
            return no_memory(d->err, rows);
        return DX_OK;
    }
    return need_ints(v, rows) ? DX_OK : no_memory(d->err, rows);
}

/* The body without compression, in out->body. `raw` is a prefix that stays as it is. */
static int unpack(struct decode *d, struct dx_span body, bool is_compressed, struct dx_span *plain)
{
    struct dx_pq_values *out = d->out;
    uint32_t size = d->head.uncompressed_size - d->head.def_size - d->head.rep_size;
    unsigned codec = is_compressed ? d->column->codec : DX_PQ_UNCOMPRESSED;
    uint8_t *to = need_bytes(&out->body, size, d->err);
    int rc;

    if (to == NULL)
        return DX_E_NOMEM;
    /* Some writers leave a page of nulls quite empty, codec or not. */
    if (size == 0 && body.size == 0)
        codec = DX_PQ_UNCOMPRESSED;
    /* Arrow before 3.0 compressed v2 pages and said that it did not. */
    if (d->head.is_v2 && codec == DX_PQ_UNCOMPRESSED && body.size != size)
        codec = d->column->codec;
    rc = dx_pq_decompress(&out->codec, codec, body, to, size, d->err);
    if (rc < 0)
        return rc;
    out->body.size = size;
    *plain = dx_span_of(out->body.data, size);
    return DX_OK;
}

/* The levels at the front of a v1 page. */
static int take_levels(const struct decode *d, struct dx_bytes *r, uint8_t max, unsigned encoding,
                       struct dx_span *levels)
{
    if (encoding == DX_PQ_BIT_PACKED)
        *levels = dx_bytes_take(r, ((uint64_t)d->head.value_count * level_width(max) + 7) / 8);
    else if (encoding == DX_PQ_RLE)
        *levels = dx_bytes_take(r, dx_bytes_u32(r));
    else
        return dx_fail(d->err, DX_E_UNSUPPORTED, "levels in encoding %s (%u)",
                       dx_pq_encoding_name(encoding), encoding);
    return r->failed ? corrupt(d, "levels reach over the end") : DX_OK;
}

static int decode_v1(struct decode *d, struct dx_span body)
{
    const struct dx_pq_column *c = d->column;
    struct dx_span plain, levels;
    struct dx_bytes r;
    int rc = unpack(d, body, true, &plain);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(plain);
    if (c->max_rep > 0) {
        rc = take_levels(d, &r, c->max_rep, d->head.rep_encoding, &levels);
        if (rc == DX_OK)
            rc = read_rep_levels(d, levels);
    }
    if (rc == DX_OK && c->max_def > 0) {
        rc = take_levels(d, &r, c->max_def, d->head.def_encoding, &levels);
        if (rc == DX_OK)
            rc = read_def_levels(d, levels);
    }
    if (rc == DX_OK)
        rc = allocate(d);
    return rc < 0 ? rc : read_values(d, dx_span_of(r.at, dx_bytes_left(&r)));
}

static int decode_v2(struct decode *d, struct dx_span body)
{
    const struct dx_pq_column *c = d->column;
    struct dx_bytes r = dx_bytes_of(body);
    struct dx_span rep = dx_bytes_take(&r, d->head.rep_size);
    struct dx_span def = dx_bytes_take(&r, d->head.def_size);
    struct dx_span plain;
    int rc = r.failed ? corrupt(d, "levels reach over the end") : DX_OK;

    if (rc == DX_OK && c->max_rep > 0)
        rc = read_rep_levels(d, rep);
    if (rc == DX_OK && c->max_def > 0)
        rc = read_def_levels(d, def);
    if (rc < 0)
        return rc;
    /* The header's number of nulls is not held against the levels: Arrow writes 0 where it makes no
     * statistics, and of nested columns writers count each slot without a value or only some. */
    rc = unpack(d, dx_span_of(r.at, dx_bytes_left(&r)), d->head.is_compressed, &plain);
    if (rc == DX_OK)
        rc = allocate(d);
    return rc < 0 ? rc : read_values(d, plain);
}

int dx_pq_column_check(const struct dx_pq_column *c, struct dx_error *err)
{
    if (c->max_rep > 0 && !c->with_levels)
        return dx_fail(err, DX_E_UNSUPPORTED, "the column is repeated");
    if (c->max_def > 1 && !c->with_levels)
        return dx_fail(err, DX_E_UNSUPPORTED, "the column is nested");
    if (!dx_pq_codec_is_known(c->codec))
        return dx_fail(err, DX_E_UNSUPPORTED, "codec %s (%u) is not supported",
                       dx_pq_codec_name(c->codec), c->codec);
    if (c->type > DX_PQ_FIXED)
        return dx_fail(err, DX_E_UNSUPPORTED, "physical type %u is not known", c->type);
    return DX_OK;
}

/* Header, limits, checksum; the body of the page. */
static int begin_page(struct decode *d, struct dx_span page, struct dx_span *body)
{
    const struct dx_pq_page_header *h = &d->head;
    int rc;

    d->out->row_count = 0;
    d->out->null_count = 0;
    d->out->valid = d->out->def = d->out->rep = NULL;
    rc = dx_pq_column_check(d->column, d->err);
    if (rc == DX_OK)
        rc = dx_pq_page_header_parse(page, &d->head, d->err);
    if (rc < 0)
        return rc;
    if (h->uncompressed_size > d->limits->page_bytes || h->compressed_size > d->limits->page_bytes)
        return dx_fail(d->err, DX_E_LIMIT, "page: %u bytes, %u decompressed, limit %u",
                       h->compressed_size, h->uncompressed_size, d->limits->page_bytes);
    if (h->value_count > d->limits->page_rows)
        return dx_fail(d->err, DX_E_LIMIT, "page: %u values, limit %u", h->value_count,
                       d->limits->page_rows);
    if (!dx_span_slice(page, h->header_size, h->compressed_size, body))
        return dx_fail(d->err, DX_E_TRUNCATED, "page: %zu bytes, its header says %u+%u", page.size,
                       h->header_size, h->compressed_size);
    if (h->has_crc && crc32_z(0, body->data, body->size) != h->crc)
        return dx_fail(d->err, DX_E_CORRUPT, "page: wrong CRC, damaged");
    d->count = h->value_count;
    return DX_OK;
}

int dx_pq_page_decode(const struct dx_pq_column *column, struct dx_span page,
                      const struct dx_pq_dictionary *dictionary, const struct dx_pq_limits *limits,
                      struct dx_pq_values *out, struct dx_error *err)
{
    struct decode d = {
        .column = column, .dictionary = dictionary, .limits = limits, .out = out, .err = err
    };
    struct dx_span body;
    int rc = begin_page(&d, page, &body);

    if (rc < 0)
        return rc;
    if (d.head.type != DX_PQ_PAGE_DATA && d.head.type != DX_PQ_PAGE_DATA_V2)
        return dx_fail(err, DX_E_CORRUPT, "page: type %u where data is expected", d.head.type);
    rc = d.head.is_v2 ? decode_v2(&d, body) : decode_v1(&d, body);
    if (rc < 0)
        return rc;
    spread(&d);
    out->row_count = d.head.value_count;
    return DX_OK;
}

int dx_pq_dictionary_decode(const struct dx_pq_column *column, struct dx_span page,
                            const struct dx_pq_limits *limits, struct dx_pq_dictionary *out,
                            struct dx_error *err)
{
    struct decode d = { .column = column, .limits = limits, .out = &out->values, .err = err };
    struct dx_span body, plain;
    int rc;

    out->present = false;
    rc = begin_page(&d, page, &body);
    if (rc < 0)
        return rc;
    if (d.head.type != DX_PQ_PAGE_DICTIONARY)
        return dx_fail(err, DX_E_CORRUPT, "page: type %u where a dictionary is expected",
                       d.head.type);
    if (d.head.encoding != DX_PQ_PLAIN && d.head.encoding != DX_PQ_PLAIN_DICTIONARY)
        return refuse(&d);
    rc = unpack(&d, body, true, &plain);
    if (rc == DX_OK)
        rc = allocate(&d);
    if (rc == DX_OK)
        rc = read_plain(&d, plain);
    if (rc < 0)
        return rc;
    out->values.row_count = d.head.value_count;
    out->present = true;
    return DX_OK;
}
