/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/json_list.h"

#include "base/json_out.h"

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_array(struct dx_span text)
{
    return text.size > 0 && text.data[0] == '[';
}

/* Bytes of the string at the quote. */
static size_t string_size(struct dx_span s)
{
    size_t i = 1;

    while (i < s.size && s.data[i] != '"')
        i += s.data[i] == '\\' ? 2 : 1;
    return i < s.size ? i + 1 : s.size;
}

/* Bytes of the value that begins s. */
static size_t value_size(struct dx_span s)
{
    size_t depth = 0, i = 0;

    while (i < s.size) {
        uint8_t c = s.data[i];

        if (depth == 0 && i > 0 && (c == ',' || c == ']' || c == '}' || is_space(c)))
            return i;
        if (c == '"') {
            i += string_size(dx_span_from(s, i));
        } else {
            depth += c == '[' || c == '{';
            depth -= depth > 0 && (c == ']' || c == '}');
            i++;
        }
        if (depth == 0 && (c == '"' || c == ']' || c == '}'))
            return i;
    }
    return i;
}

struct dx_json_path dx_json_path_behind(const struct dx_json_path *path, size_t used)
{
    struct dx_json_path p = { .count = path->count - used, .any_case = path->any_case };

    memcpy(p.part, path->part + used, p.count * sizeof *p.part);
    return p;
}

bool dx_json_list_value(struct dx_span element, const struct dx_json_path *path, size_t used,
                        struct dx_json_value *value, struct dx_buf *scratch)
{
    const struct dx_json_path behind = dx_json_path_behind(path, used);

    if (behind.count == 0)
        return dx_json_value_of(element, value, scratch);
    *value = (struct dx_json_value){ .kind = DX_JSON_ABSENT };
    return element.data[0] != '{' || dx_json_pick(element, &behind, 1, value, scratch);
}

static int push(struct dx_json_list *l, struct dx_span array, size_t used)
{
    if (l->depth == DX_JSON_LIST_DEPTH)
        return DX_JSON_LIST_DEEP;
    l->level[l->depth].rest = dx_span_of(array.data + 1, array.size - 1);
    l->level[l->depth++].used = used;
    return 0;
}

void dx_json_list_begin(struct dx_json_list *l, const struct dx_json_path *path,
                        const struct dx_json_value *array)
{
    l->path = path;
    l->depth = 0;
    (void)push(l, array->text, array->used);
}

/* The next element of the innermost array; size 0: it has ended. */
static struct dx_span pop(struct dx_span *rest)
{
    struct dx_span s = *rest;
    size_t n;

    while (s.size > 0 && (is_space(s.data[0]) || s.data[0] == ','))
        s = dx_span_of(s.data + 1, s.size - 1);
    n = s.size == 0 || s.data[0] == ']' ? 0 : value_size(s);
    *rest = dx_span_from(s, n);
    return dx_span_of(s.data, n);
}

int dx_json_list_next(struct dx_json_list *l, struct dx_span *element, size_t *used,
                      struct dx_buf *scratch)
{
    struct dx_json_value value;
    int rc = 0;

    while (rc == 0 && l->depth > 0) {
        *element = pop(&l->level[l->depth - 1].rest);
        *used = l->level[l->depth - 1].used;
        if (element->size == 0)
            l->depth--;
        else if (is_array(*element))
            rc = push(l, *element, *used);
        else if (!dx_json_list_value(*element, l->path, *used, &value, scratch))
            rc = DX_JSON_LIST_DEEP;
        else if (dx_json_is_list(&value))
            rc = push(l, value.text, *used + value.used);
        else
            return 1;
    }
    return rc;
}

static void put_value(const struct dx_json_value *value, struct dx_buf *out)
{
    bool is_string = value->kind == DX_JSON_STRING;

    if (!dx_json_has_text(value)) {
        dx_buf_str(out, "null");
        return;
    }
    dx_buf_str(out, is_string ? "\"" : "");
    if (is_string)
        dx_json_escape(out, value->text);
    else
        dx_buf_append(out, value->text.data, value->text.size);
    dx_buf_str(out, is_string ? "\"" : "");
}

/* As deep as arrays may be in each other: the depth of the recursion is bounded. */
static bool put_array(const struct dx_json_path *path, struct dx_span array, size_t used,
                      unsigned depth, struct dx_buf *out, struct dx_buf *scratch)
{
    struct dx_span rest = dx_span_of(array.data + 1, array.size - 1);
    struct dx_json_value value;
    struct dx_span element;
    bool ok = depth < DX_JSON_LIST_DEPTH;

    dx_buf_u8(out, '[');
    for (size_t i = 0; ok && (element = pop(&rest)).size > 0; i++) {
        dx_buf_str(out, i > 0 ? "," : "");
        if (is_array(element)) {
            ok = put_array(path, element, used, depth + 1, out, scratch);
        } else if (!dx_json_list_value(element, path, used, &value, scratch)) {
            ok = false;
        } else if (value.kind == DX_JSON_LIST) {
            ok = put_array(path, value.text, used + value.used, depth + 1, out, scratch);
        } else {
            put_value(&value, out);
        }
    }
    dx_buf_u8(out, ']');
    return ok && !out->failed;
}

bool dx_json_list_text(const struct dx_json_path *path, const struct dx_json_value *array,
                       struct dx_buf *out, struct dx_buf *scratch)
{
    return put_array(path, array->text, array->used, 0, out, scratch);
}
