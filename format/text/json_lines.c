/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text/json_lines.h"

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Inside an element: what stands for c, or -1 where c ends the element at the outer level. */
static int take_inner_byte(struct dx_json_lines *f, uint8_t c)
{
    if (f->in_string) {
        f->in_string = f->escaped || c != '"';
        f->escaped = !f->escaped && c == '\\';
        /* A line end in a string is not JSON: it stays, and the two halves are refused. */
        return c;
    }
    if (f->depth == 0 && (c == ',' || c == ']'))
        return -1;
    if (c == '"')
        f->in_string = true;
    else if (c == '{' || c == '[')
        f->depth++;
    else if ((c == '}' || c == ']') && f->depth > 0)
        f->depth--;
    return c == '\n' || c == '\r' ? ' ' : c;
}

/* What stands for c in the lines, -1 nothing, -2 c cannot be here. */
static int take_byte(struct dx_json_lines *f, uint8_t c)
{
    int out;

    if (f->state != DX_JSON_LINES_WITHIN && is_space(c))
        return -1;
    switch (f->state) {
    case DX_JSON_LINES_BEFORE:
        f->state = DX_JSON_LINES_FIRST;
        return c == '[' ? -1 : -2;
    case DX_JSON_LINES_FIRST:
    case DX_JSON_LINES_ELEMENT:
        if (c == ']' && f->state == DX_JSON_LINES_FIRST) {
            f->state = DX_JSON_LINES_BEHIND;
            return -1;
        }
        if (c == ',' || c == ']' || c == '}')
            return -2;
        f->state = DX_JSON_LINES_WITHIN;
        return take_inner_byte(f, c);
    case DX_JSON_LINES_WITHIN:
        out = take_inner_byte(f, c);
        if (out >= 0)
            return out;
        f->state = c == ',' ? DX_JSON_LINES_ELEMENT : DX_JSON_LINES_BEHIND;
        return '\n';
    default:
        return -2;
    }
}

int dx_json_lines_push(struct dx_json_lines *f, uint8_t *bytes, size_t *size, struct dx_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < *size; i++, f->at++) {
        int out = take_byte(f, bytes[i]);

        if (out == -2) {
            f->state = DX_JSON_LINES_BROKEN;
            return dx_fail(err, DX_E_CORRUPT,
                           "a JSON array is broken at offset %llu: byte 0x%02x is not expected",
                           (unsigned long long)f->at, bytes[i]);
        }
        if (out >= 0)
            bytes[kept++] = (uint8_t)out;
    }
    *size = kept;
    return DX_OK;
}

int dx_json_lines_end(const struct dx_json_lines *f, struct dx_error *err)
{
    if (f->state == DX_JSON_LINES_BEHIND)
        return DX_OK;
    return dx_fail(err, DX_E_TRUNCATED, "a JSON array ends at offset %llu before it is closed",
                   (unsigned long long)f->at);
}
