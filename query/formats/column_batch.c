/* SPDX-License-Identifier: Apache-2.0 */
#include "query/formats/column_batch.h"

#include "base/civil_time.h"
#include "base/decimal.h"
#include "base/hex.h"
#include "base/put.h"
#include "query/formats/json_rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_MAX 40 /* characters of a JSON number that this program writes */

void dx_column_batch_init(struct dx_column_batch *b, const struct dx_row_column *columns,
                          size_t count)
{
    assert(count <= DX_ROW_COLUMNS_MAX);
    *b = (struct dx_column_batch){ .column_count = count };
    for (size_t i = 0; i < count; i++) {
        struct dx_batch_column *c = &b->column[i];

        c->name = columns[i].name;
        c->type = columns[i].type;
        dx_buf_init(&c->valid, DX_COLUMN_TEXT_MAX);
        dx_buf_init(&c->ints, DX_COLUMN_TEXT_MAX);
        dx_buf_init(&c->text, DX_COLUMN_TEXT_MAX);
        dx_buf_init(&c->ends, DX_COLUMN_TEXT_MAX);
    }
}

void dx_column_batch_release(struct dx_column_batch *b)
{
    for (size_t i = 0; i < b->column_count; i++) {
        dx_buf_release(&b->column[i].valid);
        dx_buf_release(&b->column[i].ints);
        dx_buf_release(&b->column[i].text);
        dx_buf_release(&b->column[i].ends);
    }
    b->column_count = 0;
    b->row_count = 0;
}

void dx_column_batch_clear(struct dx_column_batch *b)
{
    for (size_t i = 0; i < b->column_count; i++) {
        dx_buf_clear(&b->column[i].valid);
        dx_buf_clear(&b->column[i].ints);
        dx_buf_clear(&b->column[i].text);
        dx_buf_clear(&b->column[i].ends);
        b->column[i].null_count = 0;
    }
    b->row_count = 0;
}

static bool read_hex64(struct dx_span s, uint64_t *v)
{
    return s.size == 20 && memcmp(s.data, "\"0x", 3) == 0 && dx_hex_number(s.data + 3, 16, v);
}

/* The bits of the number. */
static bool read_f64(struct dx_span s, uint64_t *v)
{
    char text[NUMBER_MAX + 1];
    char *end;
    double number;

    if (s.size > NUMBER_MAX)
        return false;
    memcpy(text, s.data, s.size);
    text[s.size] = '\0';
    number = dx_real_read(text, &end);
    memcpy(v, &number, sizeof *v);
    return end == text + s.size && s.size > 0;
}

static bool read_time(struct dx_span s, uint64_t *v)
{
    int64_t us;

    if (s.size < 2 || s.data[0] != '"' || !dx_civil_parse(dx_span_of(s.data + 1, s.size - 2), &us))
        return false;
    *v = (uint64_t)us;
    return true;
}

static bool read_number(enum dx_column_type type, struct dx_span s, uint64_t *v)
{
    switch (type) {
    case DX_COLUMN_HEX64:
        return read_hex64(s, v);
    case DX_COLUMN_U64:
        return dx_decimal(s, UINT64_MAX, v);
    case DX_COLUMN_F64:
        return read_f64(s, v);
    case DX_COLUMN_TIME:
        return read_time(s, v);
    case DX_COLUMN_TEXT:
    case DX_COLUMN_JSON:
        break;
    }
    return false;
}

static bool add_text(struct dx_batch_column *c, struct dx_span value)
{
    size_t before = c->text.size;
    struct dx_span plain = value;

    /* A text with escapes is decoded into the column itself. */
    if (c->type == DX_COLUMN_TEXT && !dx_json_plain(value, &c->text, &plain))
        return false;
    if (c->text.size == before)
        dx_buf_append(&c->text, plain.data, plain.size);
    return true;
}

static bool add_value(struct dx_batch_column *c, struct dx_span value)
{
    bool is_null = value.data == NULL;
    uint64_t number = 0;

    dx_buf_u8(&c->valid, !is_null);
    c->null_count += is_null;
    if (dx_column_is_text(c->type)) {
        bool ok = is_null || add_text(c, value);

        dx_buf_u32(&c->ends, (uint32_t)c->text.size);
        return ok;
    }
    if (!is_null && !read_number(c->type, value, &number))
        return false;
    dx_buf_append(&c->ints, &number, sizeof number);
    return true;
}

int dx_column_batch_add(struct dx_column_batch *b, const struct dx_span *values,
                        struct dx_error *err)
{
    for (size_t i = 0; i < b->column_count; i++) {
        struct dx_batch_column *c = &b->column[i];

        if (!add_value(c, values[i]))
            return dx_fail(err, DX_E_INVALID,
                           "answer: '%s' of a row is not of the type of its column", c->name);
        if (c->text.failed || c->ends.failed || c->ints.failed || c->valid.failed)
            return dx_buf_fail(c->text.failed ? &c->text : &c->ints, err, "rows by column");
    }
    b->row_count++;
    return DX_OK;
}
