/* SPDX-License-Identifier: Apache-2.0
 * thrift.h - Thrift's compact protocol, as Parquet's metadata uses it.
 *
 *   struct dx_thrift t = dx_thrift_of(span);
 *   struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;      one for each struct being read
 *   while (dx_thrift_next(&t, &f)) {                      false: end of the struct, or failed
 *       switch (f.id) {
 *       case 1: dx_thrift_i32(&t, &f, &version); break;
 *       case 2: if (dx_thrift_list(&t, &f, DX_THRIFT_STRUCT, &n)) ...read n elements...; break;
 *       default: dx_thrift_skip(&t, f.type);
 *       }
 *   }
 *   if (t.bytes.failed) ...                               one check after many reads
 *
 * A typed read returns true and sets its output; a field of another type than asked is
 * skipped and leaves the output as it was, as generated readers do. A struct field is
 * entered by dx_thrift_struct and then read with a field of its own. Counts of lists and
 * lengths of strings never exceed the bytes left. Skipping is bounded in depth.
 *
 * Writing appends to a dx_buf; struct begin and end nest to DX_THRIFT_DEPTH_MAX.
 * Nothing is owned; one thread at a time.
 */
#ifndef DX_PARQUET_THRIFT_H
#define DX_PARQUET_THRIFT_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_THRIFT_DEPTH_MAX 32

enum dx_thrift_type {
    DX_THRIFT_TRUE = 1, /* a bool field's value is its type; in lists a byte */
    DX_THRIFT_FALSE = 2,
    DX_THRIFT_BYTE = 3,
    DX_THRIFT_I16 = 4,
    DX_THRIFT_I32 = 5,
    DX_THRIFT_I64 = 6,
    DX_THRIFT_DOUBLE = 7,
    DX_THRIFT_BINARY = 8,
    DX_THRIFT_LIST = 9,
    DX_THRIFT_SET = 10,
    DX_THRIFT_MAP = 11,
    DX_THRIFT_STRUCT = 12,
    DX_THRIFT_UUID = 13
};

struct dx_thrift {
    struct dx_bytes bytes;
};

struct dx_thrift_field {
    int16_t id;
    uint8_t type;
};

#define DX_THRIFT_FIELD_INIT \
    {                        \
        0, 0                 \
    }

static inline struct dx_thrift dx_thrift_of(struct dx_span s)
{
    return (struct dx_thrift){ dx_bytes_of(s) };
}

bool dx_thrift_next(struct dx_thrift *t, struct dx_thrift_field *f);
void dx_thrift_skip(struct dx_thrift *t, uint8_t type);

bool dx_thrift_bool(struct dx_thrift *t, const struct dx_thrift_field *f, bool *out);
bool dx_thrift_i8(struct dx_thrift *t, const struct dx_thrift_field *f, int8_t *out);
bool dx_thrift_i32(struct dx_thrift *t, const struct dx_thrift_field *f, int32_t *out);
bool dx_thrift_i64(struct dx_thrift *t, const struct dx_thrift_field *f, int64_t *out);
bool dx_thrift_binary(struct dx_thrift *t, const struct dx_thrift_field *f, struct dx_span *out);
bool dx_thrift_struct(struct dx_thrift *t, const struct dx_thrift_field *f);
bool dx_thrift_list(struct dx_thrift *t, const struct dx_thrift_field *f, uint8_t element,
                    uint32_t *count);

/* Elements of lists, which have no field. */
int32_t dx_thrift_element_i32(struct dx_thrift *t);

struct dx_thrift_out {
    struct dx_buf *buf;
    unsigned depth;
    int16_t last[DX_THRIFT_DEPTH_MAX];
};

static inline struct dx_thrift_out dx_thrift_out_to(struct dx_buf *buf)
{
    return (struct dx_thrift_out){ .buf = buf };
}

void dx_thrift_put_bool(struct dx_thrift_out *o, int16_t id, bool v);
void dx_thrift_put_i8(struct dx_thrift_out *o, int16_t id, int8_t v);
void dx_thrift_put_i16(struct dx_thrift_out *o, int16_t id, int16_t v);
void dx_thrift_put_i32(struct dx_thrift_out *o, int16_t id, int32_t v);
void dx_thrift_put_i64(struct dx_thrift_out *o, int16_t id, int64_t v);
void dx_thrift_put_binary(struct dx_thrift_out *o, int16_t id, struct dx_span v);

/* A struct in a field; with id 0 the outermost one, or an element of a list. */
void dx_thrift_put_begin(struct dx_thrift_out *o, int16_t id);
void dx_thrift_put_end(struct dx_thrift_out *o);

/* The elements follow: begin with id 0 / end, or the element functions. */
void dx_thrift_put_list(struct dx_thrift_out *o, int16_t id, uint8_t element, uint32_t count);
void dx_thrift_put_element_bool(struct dx_thrift_out *o, bool v);
void dx_thrift_put_element_int(struct dx_thrift_out *o, int64_t v); /* i16, i32, i64 */
void dx_thrift_put_element_binary(struct dx_thrift_out *o, struct dx_span v);

#endif
