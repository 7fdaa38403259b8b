/* SPDX-License-Identifier: Apache-2.0
 * verdict_json.c - a JSON document of ours (base/json_tree.h): "no LINE: reason", or "ok " and the value: n, t, f, a whole number as i-12,
 * another one as #, a text as "HEX", lists as [v,v] and {"HEX":v,"HEX":v}.
 */
#include "base/json_tree.h"
#include "tests/differential/verdict.h"

static void put_text(const struct dx_json_node *v, struct dx_buf *out)
{
    dx_buf_u8(out, '"');
    dx_verdict_hex(out, dx_span_of(v->text, v->size));
    dx_buf_u8(out, '"');
}

/* At most DX_JSON_TREE_DEPTH calls in each other. */
static void put_value(const struct dx_json_node *v, struct dx_buf *out)
{
    const struct dx_json_node *entry = dx_json_first(v);
    bool object = v->kind == DX_JSON_OBJECT;

    if (v->kind == DX_JSON_WHOLE) {
        dx_buf_fmt(out, "i%lld", (long long)v->number);
    } else if (v->kind == DX_JSON_TEXT) {
        put_text(v, out);
    } else if (v->kind < DX_JSON_ARRAY) {
        dx_buf_str(out, v->kind == DX_JSON_NULL    ? "n"
                        : v->kind == DX_JSON_TRUE  ? "t"
                        : v->kind == DX_JSON_FALSE ? "f"
                                                   : "#");
    } else {
        dx_buf_u8(out, object ? '{' : '[');
        for (uint32_t i = 0; i < v->size; i++, entry = dx_json_after(entry)) {
            dx_buf_str(out, i > 0 ? "," : "");
            if (object) {
                put_text(entry, out);
                dx_buf_u8(out, ':');
                entry = dx_json_after(entry);
            }
            put_value(entry, out);
        }
        dx_buf_u8(out, object ? '}' : ']');
    }
}

void dx_verdict_json(struct dx_span input, struct dx_buf *out)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json_tree tree;

    if (dx_json_tree_parse(&tree, input, &err) < 0) {
        dx_buf_fmt(out, "no %s", err.text);
        return;
    }
    dx_buf_str(out, "ok ");
    put_value(&tree.node[0], out);
    dx_json_tree_release(&tree);
}
