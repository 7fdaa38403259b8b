/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/thrift.h"

#include <assert.h>

static int64_t zigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static int64_t read_int(struct dx_thrift *t, int64_t min, int64_t max)
{
    int64_t v = zigzag(dx_bytes_varint(&t->bytes));

    if (v < min || v > max) {
        t->bytes.failed = true;
        return 0;
    }
    return v;
}

bool dx_thrift_next(struct dx_thrift *t, struct dx_thrift_field *f)
{
    uint8_t head = dx_bytes_u8(&t->bytes);
    int32_t id;

    if (t->bytes.failed || head == 0)
        return false;
    id = head >> 4 != 0 ? f->id + (head >> 4) : (int32_t)read_int(t, INT16_MIN, INT16_MAX);
    f->type = head & 0x0f;
    if (id > INT16_MAX || f->type == 0 || f->type > DX_THRIFT_UUID)
        t->bytes.failed = true;
    f->id = (int16_t)id;
    return !t->bytes.failed;
}

/* Type and number of elements. Each takes a byte or more, so a count over the bytes left
 * is refused before anybody allocates for it. */
static uint32_t read_list_head(struct dx_thrift *t, uint8_t *element)
{
    uint8_t head = dx_bytes_u8(&t->bytes);
    uint64_t count = head >> 4;

    if (count == 15)
        count = dx_bytes_varint(&t->bytes);
    *element = head & 0x0f;
    if (count > dx_bytes_left(&t->bytes) || count > INT32_MAX)
        t->bytes.failed = true;
    if (count > 0 && (*element == 0 || *element > DX_THRIFT_UUID))
        t->bytes.failed = true;
    return t->bytes.failed ? 0 : (uint32_t)count;
}

static void skip_value(struct dx_thrift *t, uint8_t type, bool in_list, unsigned depth);

static void skip_list(struct dx_thrift *t, unsigned depth)
{
    uint8_t element;
    uint32_t count = read_list_head(t, &element);

    for (uint32_t i = 0; i < count && !t->bytes.failed; i++)
        skip_value(t, element, true, depth);
}

static void skip_map(struct dx_thrift *t, unsigned depth)
{
    uint64_t count = dx_bytes_varint(&t->bytes);
    uint8_t types;

    if (count == 0)
        return;
    types = dx_bytes_u8(&t->bytes);
    if (count > dx_bytes_left(&t->bytes) / 2)
        t->bytes.failed = true;
    for (uint64_t i = 0; i < count && !t->bytes.failed; i++) {
        skip_value(t, types >> 4, true, depth);
        skip_value(t, types & 0x0f, true, depth);
    }
}

static void skip_struct(struct dx_thrift *t, unsigned depth)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;

    while (dx_thrift_next(t, &f))
        skip_value(t, f.type, false, depth);
}

static struct dx_span read_binary(struct dx_thrift *t)
{
    return dx_bytes_take(&t->bytes, dx_bytes_varint(&t->bytes));
}

static void skip_value(struct dx_thrift *t, uint8_t type, bool in_list, unsigned depth)
{
    if (depth == DX_THRIFT_DEPTH_MAX) {
        t->bytes.failed = true;
        return;
    }
    switch (type) {
    case DX_THRIFT_TRUE:
    case DX_THRIFT_FALSE:
        if (in_list)
            (void)dx_bytes_u8(&t->bytes);
        break;
    case DX_THRIFT_BYTE:
        (void)dx_bytes_u8(&t->bytes);
        break;
    case DX_THRIFT_I16:
    case DX_THRIFT_I32:
    case DX_THRIFT_I64:
        (void)dx_bytes_varint(&t->bytes);
        break;
    case DX_THRIFT_DOUBLE:
        (void)dx_bytes_take(&t->bytes, 8);
        break;
    case DX_THRIFT_BINARY:
        (void)read_binary(t);
        break;
    case DX_THRIFT_LIST:
    case DX_THRIFT_SET:
        skip_list(t, depth + 1);
        break;
    case DX_THRIFT_MAP:
        skip_map(t, depth + 1);
        break;
    case DX_THRIFT_STRUCT:
        skip_struct(t, depth + 1);
        break;
    case DX_THRIFT_UUID:
        (void)dx_bytes_take(&t->bytes, 16);
        break;
    default:
        t->bytes.failed = true;
    }
}

void dx_thrift_skip(struct dx_thrift *t, uint8_t type)
{
    skip_value(t, type, false, 0);
}

/* True: the field is of this type and its value comes next. Else it is passed over. */
static bool expect(struct dx_thrift *t, const struct dx_thrift_field *f, uint8_t type)
{
    if (f->type == type)
        return true;
    dx_thrift_skip(t, f->type);
    return false;
}

bool dx_thrift_bool(struct dx_thrift *t, const struct dx_thrift_field *f, bool *out)
{
    if (f->type != DX_THRIFT_TRUE && !expect(t, f, DX_THRIFT_FALSE))
        return false;
    *out = f->type == DX_THRIFT_TRUE;
    return true;
}

bool dx_thrift_i8(struct dx_thrift *t, const struct dx_thrift_field *f, int8_t *out)
{
    if (!expect(t, f, DX_THRIFT_BYTE))
        return false;
    *out = (int8_t)dx_bytes_u8(&t->bytes);
    return !t->bytes.failed;
}

bool dx_thrift_i32(struct dx_thrift *t, const struct dx_thrift_field *f, int32_t *out)
{
    if (!expect(t, f, DX_THRIFT_I32))
        return false;
    *out = dx_thrift_element_i32(t);
    return !t->bytes.failed;
}

bool dx_thrift_i64(struct dx_thrift *t, const struct dx_thrift_field *f, int64_t *out)
{
    if (!expect(t, f, DX_THRIFT_I64))
        return false;
    *out = zigzag(dx_bytes_varint(&t->bytes));
    return !t->bytes.failed;
}

bool dx_thrift_binary(struct dx_thrift *t, const struct dx_thrift_field *f, struct dx_span *out)
{
    if (!expect(t, f, DX_THRIFT_BINARY))
        return false;
    *out = read_binary(t);
    return !t->bytes.failed;
}

bool dx_thrift_struct(struct dx_thrift *t, const struct dx_thrift_field *f)
{
    return expect(t, f, DX_THRIFT_STRUCT);
}

bool dx_thrift_list(struct dx_thrift *t, const struct dx_thrift_field *f, uint8_t element,
                    uint32_t *count)
{
    uint8_t found;

    if (f->type != DX_THRIFT_LIST && !expect(t, f, DX_THRIFT_SET))
        return false;
    *count = read_list_head(t, &found);
    if (*count == 0 || found == element)
        return !t->bytes.failed;
    for (uint32_t i = 0; i < *count && !t->bytes.failed; i++)
        skip_value(t, found, true, 1);
    return false;
}

int32_t dx_thrift_element_i32(struct dx_thrift *t)
{
    return (int32_t)read_int(t, INT32_MIN, INT32_MAX);
}

static void put_varint(struct dx_thrift_out *o, int64_t v)
{
    dx_buf_varint(o->buf, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_field(struct dx_thrift_out *o, int16_t id, uint8_t type)
{
    int delta;

    assert(o->depth > 0);
    delta = id - o->last[o->depth - 1];
    if (delta > 0 && delta <= 15) {
        dx_buf_u8(o->buf, (uint8_t)(delta << 4 | type));
    } else {
        dx_buf_u8(o->buf, type);
        put_varint(o, id);
    }
    o->last[o->depth - 1] = id;
}

void dx_thrift_put_bool(struct dx_thrift_out *o, int16_t id, bool v)
{
    put_field(o, id, v ? DX_THRIFT_TRUE : DX_THRIFT_FALSE);
}

void dx_thrift_put_i8(struct dx_thrift_out *o, int16_t id, int8_t v)
{
    put_field(o, id, DX_THRIFT_BYTE);
    dx_buf_u8(o->buf, (uint8_t)v);
}

void dx_thrift_put_i16(struct dx_thrift_out *o, int16_t id, int16_t v)
{
    put_field(o, id, DX_THRIFT_I16);
    put_varint(o, v);
}

void dx_thrift_put_i32(struct dx_thrift_out *o, int16_t id, int32_t v)
{
    put_field(o, id, DX_THRIFT_I32);
    put_varint(o, v);
}

void dx_thrift_put_i64(struct dx_thrift_out *o, int16_t id, int64_t v)
{
    put_field(o, id, DX_THRIFT_I64);
    put_varint(o, v);
}

void dx_thrift_put_binary(struct dx_thrift_out *o, int16_t id, struct dx_span v)
{
    put_field(o, id, DX_THRIFT_BINARY);
    dx_thrift_put_element_binary(o, v);
}

void dx_thrift_put_begin(struct dx_thrift_out *o, int16_t id)
{
    if (id != 0)
        put_field(o, id, DX_THRIFT_STRUCT);
    assert(o->depth < DX_THRIFT_DEPTH_MAX);
    o->last[o->depth++] = 0;
}

void dx_thrift_put_end(struct dx_thrift_out *o)
{
    assert(o->depth > 0);
    o->depth--;
    dx_buf_u8(o->buf, 0);
}

void dx_thrift_put_list(struct dx_thrift_out *o, int16_t id, uint8_t element, uint32_t count)
{
    put_field(o, id, DX_THRIFT_LIST);
    if (count < 15) {
        dx_buf_u8(o->buf, (uint8_t)(count << 4 | element));
    } else {
        dx_buf_u8(o->buf, (uint8_t)(0xf0 | element));
        dx_buf_varint(o->buf, count);
    }
}

void dx_thrift_put_element_bool(struct dx_thrift_out *o, bool v)
{
    dx_buf_u8(o->buf, v ? DX_THRIFT_TRUE : DX_THRIFT_FALSE);
}

void dx_thrift_put_element_int(struct dx_thrift_out *o, int64_t v)
{
    put_varint(o, v);
}

void dx_thrift_put_element_binary(struct dx_thrift_out *o, struct dx_span v)
{
    dx_buf_varint(o->buf, v.size);
    dx_buf_append(o->buf, v.data, v.size);
}
