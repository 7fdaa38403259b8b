/* SPDX-License-Identifier: Apache-2.0
 * json_tree.h - a JSON text as one array of values; base/json_in.h reads it member by member.
 *
 *   rc = dx_json_tree_parse(&tree, text, &err);        tree.node[0] is the value
 *   for (v = dx_json_first(o); i < o->size; i++, v = dx_json_after(v))        entries of a list
 *   dx_json_tree_release(&tree);
 *
 * An object's entry is its key, a text, and behind it the value. Each value says how many nodes it and what
 * is in it take, so what a reader does not want is passed over in one step. Texts are borrowed from the tree
 * and end with a NUL, which they do not contain.
 *
 * RFC 8259, UTF-8 alone. Refused beside what it forbids: a member that stands twice, "\u0000", half a
 * surrogate pair, more than DX_JSON_TREE_DEPTH levels. A number that is not a whole one of 64 bits is
 * DX_JSON_OTHER: its value is not kept. err says line and column, both from 1 on.
 *
 * jansson makes a block of memory and a hash of each value: 45 of the 48 million instructions that
 * `domaindex lookup` needed for the names of 1,247 datasets. It stays where documents have any shape.
 * Read-only after parse: threads may share it.
 */
#ifndef DX_BASE_JSON_TREE_H
#define DX_BASE_JSON_TREE_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_JSON_TREE_DEPTH 64

enum dx_json_kind {
    DX_JSON_NULL,
    DX_JSON_FALSE,
    DX_JSON_TRUE,
    DX_JSON_WHOLE,
    DX_JSON_OTHER, /* number */
    DX_JSON_TEXT,
    DX_JSON_ARRAY,
    DX_JSON_OBJECT
};

struct dx_json_node {
    enum dx_json_kind kind;
    uint32_t size;  /* bytes of a text, entries of a list */
    uint32_t nodes; /* of this value and of what is in it */
    union {
        int64_t number;
        const char *text;
    };
};

struct dx_json_tree {
    struct dx_json_node *node;
    size_t count, capacity;
    uint8_t *text; /* a copy, in which texts are ended and unescaped */
};

int dx_json_tree_parse(struct dx_json_tree *tree, struct dx_span text, struct dx_error *err);
void dx_json_tree_release(struct dx_json_tree *tree);

/* Of an array the first entry, of an object the first key; only if size > 0. */
static inline const struct dx_json_node *dx_json_first(const struct dx_json_node *list)
{
    return list + 1;
}

/* The node behind a value. */
static inline const struct dx_json_node *dx_json_after(const struct dx_json_node *value)
{
    return value + value->nodes;
}

#endif
