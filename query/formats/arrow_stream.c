/* SPDX-License-Identifier: Apache-2.0 */
#include "query/formats/arrow_stream.h"

#define CONTINUES 0xffffffffu
#define METADATA_MAX (64 * 1024)
#define ALIGN 8 /* of buffers in a body */

/* Of Schema.fbs and Message.fbs of Arrow. */
enum { METADATA_V5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_RECORD_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_FLOATING_POINT = 3, TYPE_UTF8 = 5, TYPE_TIMESTAMP = 10 };
enum { UNIT_MICROSECOND = 2, PRECISION_DOUBLE = 2 };

/* ---- flatbuffers: tables, vectors and strings, children behind their parents ---- */

static void set_u16(struct dx_buf *b, size_t at, uint16_t v)
{
    if (!b->failed) {
        b->data[at] = (uint8_t)v;
        b->data[at + 1] = (uint8_t)(v >> 8);
    }
}

static void set_u32(struct dx_buf *b, size_t at, uint32_t v)
{
    set_u16(b, at, (uint16_t)v);
    set_u16(b, at + 2, (uint16_t)(v >> 16));
}

static void set_u64(struct dx_buf *b, size_t at, uint64_t v)
{
    set_u32(b, at, (uint32_t)v);
    set_u32(b, at + 4, (uint32_t)(v >> 32));
}

static void set_u8(struct dx_buf *b, size_t at, uint8_t v)
{
    if (!b->failed)
        b->data[at] = v;
}

/* The offset at `at` leads to what is written next. */
static void point_here(struct dx_buf *b, size_t at)
{
    set_u32(b, at, (uint32_t)(b->size - at));
}

#define FIELDS_MAX 8

struct table {
    size_t at[FIELDS_MAX]; /* where each field lies; 0: it has none */
};

/* A table with a slot for each of `sizes`, a digit a field: 0 for those that are left out. `at`: of
 * the offset that leads to it. */
static struct table put_table(struct dx_buf *b, size_t at, const char *sizes)
{
    size_t count = strlen(sizes);
    size_t vtable = b->size;
    struct table t = { { 0 } };
    size_t begin;

    dx_buf_zero(b, 4 + 2 * count);
    dx_buf_align(b, ALIGN);
    begin = b->size;
    point_here(b, at);
    dx_buf_u32(b, (uint32_t)(begin - vtable));
    for (size_t i = 0; i < count; i++) {
        size_t size = (size_t)(sizes[i] - '0');

        if (size == 0)
            continue;
        dx_buf_align(b, size);
        t.at[i] = b->size;
        dx_buf_zero(b, size);
        set_u16(b, vtable + 4 + 2 * i, (uint16_t)(t.at[i] - begin));
    }
    set_u16(b, vtable, (uint16_t)(4 + 2 * count));
    set_u16(b, vtable + 2, (uint16_t)(b->size - begin));
    dx_buf_align(b, 4);
    return t;
}

static void put_string(struct dx_buf *b, size_t at, const char *text)
{
    size_t size = strlen(text);

    dx_buf_align(b, 4);
    point_here(b, at);
    dx_buf_u32(b, (uint32_t)size);
    dx_buf_append(b, text, size + 1);
    dx_buf_align(b, 4);
}

/* Returns where its elements begin, which are zero. */
static size_t put_vector(struct dx_buf *b, size_t at, size_t count, size_t size, size_t align)
{
    size_t begin;

    dx_buf_align(b, 4);
    while (align > 4 && (b->size + 4) % align != 0 && !b->failed)
        dx_buf_zero(b, 4);
    point_here(b, at);
    dx_buf_u32(b, (uint32_t)count);
    begin = b->size;
    dx_buf_zero(b, count * size);
    return begin;
}

/* The root of a message; the returned table's third field leads to the header. */
static struct table put_message(struct dx_buf *b, uint8_t header, uint64_t body_size)
{
    struct table t;

    dx_buf_zero(b, 4);
    t = put_table(b, 0, "2148");
    set_u16(b, t.at[0], METADATA_V5);
    set_u8(b, t.at[1], header);
    set_u64(b, t.at[3], body_size);
    return t;
}

/* Length and metadata; the body is the caller's to write. */
static void put_encapsulated(struct dx_buf *metadata, struct dx_buf *out)
{
    dx_buf_align(metadata, ALIGN);
    dx_buf_u32(out, CONTINUES);
    dx_buf_u32(out, (uint32_t)metadata->size);
    dx_buf_append(out, metadata->data, metadata->size);
    out->failed = out->failed || metadata->failed;
    dx_buf_release(metadata);
}

/* ---- schema ---- */

static uint8_t type_of(enum dx_column_type type)
{
    switch (type) {
    case DX_COLUMN_HEX64:
    case DX_COLUMN_U64:
        return TYPE_INT;
    case DX_COLUMN_F64:
        return TYPE_FLOATING_POINT;
    case DX_COLUMN_TIME:
        return TYPE_TIMESTAMP;
    case DX_COLUMN_TEXT:
    case DX_COLUMN_JSON:
        break;
    }
    return TYPE_UTF8;
}

static void put_type(struct dx_buf *b, size_t at, enum dx_column_type type)
{
    struct table t;

    switch (type_of(type)) {
    case TYPE_INT:
        t = put_table(b, at, "41");
        set_u32(b, t.at[0], 64);
        break;
    case TYPE_FLOATING_POINT:
        t = put_table(b, at, "2");
        set_u16(b, t.at[0], PRECISION_DOUBLE);
        break;
    case TYPE_TIMESTAMP:
        t = put_table(b, at, "24");
        set_u16(b, t.at[0], UNIT_MICROSECOND);
        put_string(b, t.at[1], "UTC");
        break;
    default:
        (void)put_table(b, at, "");
    }
}

static void put_field(struct dx_buf *b, size_t at, const struct dx_batch_column *c)
{
    struct table t = put_table(b, at, "411404");

    set_u8(b, t.at[1], 1);
    set_u8(b, t.at[2], type_of(c->type));
    put_string(b, t.at[0], c->name);
    put_type(b, t.at[3], c->type);
    (void)put_vector(b, t.at[5], 0, 4, 4);
}

void dx_arrow_schema(const struct dx_column_batch *batch, struct dx_buf *out)
{
    struct dx_buf b = DX_BUF_INIT(METADATA_MAX);
    struct table message = put_message(&b, HEADER_SCHEMA, 0);
    struct table schema = put_table(&b, message.at[2], "24");
    size_t fields = put_vector(&b, schema.at[1], batch->column_count, 4, 4);

    for (size_t i = 0; i < batch->column_count; i++)
        put_field(&b, fields + 4 * i, &batch->column[i]);
    put_encapsulated(&b, out);
}

/* ---- record batches ---- */

static size_t padded(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

/* Buffers of a column: validity, then offsets and text, or numbers. Size 0 of the first: all are
 * valid. */
static size_t buffer_sizes(const struct dx_batch_column *c, uint32_t rows, size_t size[3])
{
    size[0] = c->null_count == 0 ? 0 : (rows + 7) / 8;
    size[1] = dx_column_is_text(c->type) ? ((size_t)rows + 1) * 4 : (size_t)rows * 8;
    size[2] = c->text.size;
    return dx_column_is_text(c->type) ? 3 : 2;
}

static size_t put_buffers(const struct dx_column_batch *batch, struct dx_buf *b, size_t at)
{
    size_t offset = 0;

    for (size_t i = 0; i < batch->column_count; i++) {
        size_t size[3];
        size_t count = buffer_sizes(&batch->column[i], batch->row_count, size);

        for (size_t k = 0; k < count; k++, at += 16) {
            set_u64(b, at, offset);
            set_u64(b, at + 8, size[k]);
            offset += padded(size[k]);
        }
    }
    return offset;
}

static void put_validity(const struct dx_batch_column *c, uint32_t rows, struct dx_buf *out)
{
    for (uint32_t i = 0; i < rows; i += 8) {
        uint8_t bits = 0;

        for (uint32_t k = 0; k < 8 && i + k < rows; k++)
            bits |= (uint8_t)((c->valid.data[i + k] != 0) << k);
        dx_buf_u8(out, bits);
    }
    dx_buf_zero(out, padded((rows + 7) / 8) - (rows + 7) / 8);
}

static void put_padded(const struct dx_buf *of, struct dx_buf *out)
{
    dx_buf_append(out, of->data, of->size);
    dx_buf_zero(out, padded(of->size) - of->size);
}

static void put_column(const struct dx_batch_column *c, uint32_t rows, struct dx_buf *out)
{
    if (c->null_count > 0)
        put_validity(c, rows, out);
    if (!dx_column_is_text(c->type)) {
        put_padded(&c->ints, out);
        return;
    }
    dx_buf_u32(out, 0);
    dx_buf_append(out, c->ends.data, c->ends.size);
    dx_buf_zero(out, padded(4 + c->ends.size) - (4 + c->ends.size));
    put_padded(&c->text, out);
}

void dx_arrow_batch(const struct dx_column_batch *batch, struct dx_buf *out)
{
    struct dx_buf b = DX_BUF_INIT(METADATA_MAX);
    struct table message = put_message(&b, HEADER_RECORD_BATCH, 0);
    struct table header = put_table(&b, message.at[2], "844");
    size_t nodes = put_vector(&b, header.at[1], batch->column_count, 16, 8);
    size_t buffer_count = 0;
    size_t buffers;

    set_u64(&b, header.at[0], batch->row_count);
    for (size_t i = 0; i < batch->column_count; i++) {
        size_t size[3];

        set_u64(&b, nodes + 16 * i, batch->row_count);
        set_u64(&b, nodes + 16 * i + 8, batch->column[i].null_count);
        buffer_count += buffer_sizes(&batch->column[i], batch->row_count, size);
    }
    buffers = put_vector(&b, header.at[2], buffer_count, 16, 8);
    set_u64(&b, message.at[3], put_buffers(batch, &b, buffers));
    put_encapsulated(&b, out);
    for (size_t i = 0; i < batch->column_count; i++)
        put_column(&batch->column[i], batch->row_count, out);
}

void dx_arrow_end(struct dx_buf *out)
{
    dx_buf_u32(out, CONTINUES);
    dx_buf_u32(out, 0);
}
