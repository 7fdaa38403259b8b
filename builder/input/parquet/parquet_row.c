/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/parquet/parquet_row.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "builder/input/bytes/input_ranges.h"
#include "builder/input/parquet/parquet_footer.h"
#include "format/text/locator.h"
#include "parquet/chunk.h"
#include "parquet/value_text.h"

#define WINDOW (1u << 20)
#define DEPTH_MAX 30 /* base/json_out.h */
#define SLOTS_MAX ((size_t)1 << 20)

/* A slot of the row: levels, and the text of a value that is there. */
struct slot {
    uint8_t def, rep;
    size_t at, size; /* in text */
};

struct leaf {
    struct slot *slot;
    size_t count, room;
    size_t next; /* to be written */
};

struct row {
    struct dx_input_ranges *ranges;
    struct dx_buf metadata;
    struct dx_pq_footer footer;
    struct dx_buf text; /* of all values */
    struct leaf *leaf;
    struct dx_json json;
    void (*seen)(void *ctx, struct dx_span text);
    void *ctx;
};

/* ---- slots of the row ---- */

static const struct dx_pq_node *node_of(const struct row *r, uint32_t leaf)
{
    return &r->footer.node[r->footer.leaf[leaf]];
}

static int add_slot(struct row *r, uint32_t leaf, const struct dx_pq_values *v, uint32_t i,
                    struct dx_error *err)
{
    struct leaf *l = &r->leaf[leaf];
    const struct dx_pq_node *node = node_of(r, leaf);
    bool is_null = dx_pq_is_null(v, i);
    struct slot *s;

    if (l->count == l->room) {
        size_t room = l->room == 0 ? 1 : l->room * 2;
        struct slot *more = room > SLOTS_MAX ? NULL : realloc(l->slot, room * sizeof *more);

        if (room > SLOTS_MAX)
            return dx_fail(err, DX_E_LIMIT, "over %zu elements in the row", SLOTS_MAX);
        if (more == NULL)
            return dx_no_memory(err, "elements of a row");
        l->slot = more;
        l->room = room;
    }
    s = &l->slot[l->count++];
    s->def = v->def != NULL ? v->def[i] : is_null ? 0 : node->max_def;
    s->rep = v->rep != NULL ? v->rep[i] : 0;
    s->at = r->text.size;
    if (!is_null && dx_pq_text_is_plain(node))
        dx_buf_append(&r->text, v->spans[i].data, v->spans[i].size);
    else if (!is_null)
        dx_pq_value_text(node, v, i, &r->text);
    s->size = r->text.size - s->at;
    return r->text.failed ? dx_buf_fail(&r->text, err, "the row") : DX_OK;
}

/* The slots of the row in one column. */
static int read_leaf(struct row *r, uint32_t group, uint64_t row, uint32_t leaf,
                     const struct dx_pq_limits *limits, struct dx_error *err)
{
    const struct dx_pq_fetch from = { dx_parquet_footer_fetch, r->ranges, WINDOW };
    struct dx_pq_reader reader = DX_PQ_READER_INIT;
    struct dx_pq_values v = DX_PQ_VALUES_INIT;
    uint64_t begun = 0; /* rows */
    int rc = dx_pq_text_check(&r->footer, leaf, err);

    dx_buf_init(&reader.walk.window, 0);
    if (rc == DX_OK)
        rc = dx_pq_reader_open_fetch(&reader, &from, &r->footer, group, leaf, limits, err);
    while (rc >= 0 && begun <= row + 1 && (rc = dx_pq_reader_next(&reader, &v, err)) == 1)
        for (uint32_t i = 0; rc >= 0 && i < v.row_count && begun <= row + 1; i++) {
            begun += v.rep == NULL || v.rep[i] == 0;
            if (begun == row + 1)
                rc = add_slot(r, leaf, &v, i, err);
        }
    if (rc >= 0 && r->leaf[leaf].count == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "row %" PRIu64 " does not begin", row);
    dx_pq_values_release(&v);
    dx_pq_reader_release(&reader);
    return rc < 0 ? rc : DX_OK;
}

static int read_leaves(struct row *r, uint32_t group, uint64_t row,
                       const struct dx_pq_limits *limits, struct dx_error *err)
{
    int rc = DX_OK;

    for (uint32_t i = 0; rc == DX_OK && i < r->footer.leaf_count; i++) {
        char path[160];

        rc = read_leaf(r, group, row, i, limits, err);
        if (rc < 0)
            (void)dx_fail_in(err, "row group %" PRIu32 ", column %s", group,
                             dx_pq_footer_path(&r->footer, i, path, sizeof path));
    }
    return rc;
}

/* ---- JSON ---- */

static bool is_number(const struct dx_pq_node *node, struct dx_span text)
{
    if (node->logical != DX_PQ_LOGICAL_NONE && node->logical != DX_PQ_LOGICAL_INTEGER)
        return false;
    switch (node->type) {
    case DX_PQ_BOOLEAN:
    case DX_PQ_INT32:
    case DX_PQ_INT64:
        return node->time_unit == DX_PQ_TIME_NONE;
    case DX_PQ_FLOAT:
    case DX_PQ_DOUBLE: /* JSON has no inf and nan */
        return text.size > 0 && memchr(text.data, 'n', text.size) == NULL &&
               memchr(text.data, 'N', text.size) == NULL;
    default:
        return false;
    }
}

static struct slot *slot_of(const struct row *r, uint32_t leaf)
{
    struct leaf *l = &r->leaf[leaf];

    return l->next < l->count ? &l->slot[l->next] : NULL;
}

static int ends_early(struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "the columns of a list differ in their elements");
}

static int write_node(struct row *r, uint32_t *node, uint32_t *leaf, unsigned depth, bool is_named,
                      struct dx_error *err);

/* Behind the node and all below it, without a word: one slot of each leaf is used up. */
static void pass_over(struct row *r, uint32_t *node, uint32_t *leaf)
{
    uint32_t children = r->footer.node[*node].child_count;

    (*node)++;
    if (children == 0)
        r->leaf[(*leaf)++].next++;
    for (uint32_t i = 0; i < children; i++)
        pass_over(r, node, leaf);
}

static int write_value(struct row *r, const struct dx_pq_node *n, uint32_t leaf,
                       struct dx_error *err)
{
    struct slot *s = slot_of(r, leaf);
    struct dx_span text;

    if (s == NULL)
        return ends_early(err);
    text = s->size > 0 ? dx_span_of(r->text.data + s->at, s->size) : dx_span_str("");
    r->leaf[leaf].next++;
    if (s->def < n->max_def) {
        dx_json_null(&r->json);
    } else if (is_number(n, text)) {
        dx_json_number(&r->json, text);
    } else {
        dx_json_text(&r->json, text);
        r->seen(r->ctx, text);
    }
    return DX_OK;
}

/* A list's repeated group with one member, its element: the group has no name of its own. */
static bool is_list_of_three(const struct row *r, uint32_t node)
{
    const struct dx_pq_node *list = &r->footer.node[node];
    const struct dx_pq_node *repeated = list + 1;

    return list->logical == DX_PQ_LOGICAL_LIST && list->child_count == 1 &&
           repeated->repetition == DX_PQ_REPEATED && repeated->child_count == 1 &&
           !dx_span_equal(repeated->name, dx_span_str("array")); /* old writers: a struct of one */
}

static bool is_wrapper(const struct row *r, uint32_t node)
{
    const struct dx_pq_node *n = &r->footer.node[node];

    return (n->logical == DX_PQ_LOGICAL_LIST || n->logical == DX_PQ_LOGICAL_MAP) &&
           n->child_count == 1 && (n + 1)->repetition == DX_PQ_REPEATED;
}

static int write_members(struct row *r, uint32_t count, uint32_t *node, uint32_t *leaf,
                         unsigned depth, struct dx_error *err)
{
    int rc = DX_OK;

    dx_json_object(&r->json);
    for (uint32_t i = 0; rc == DX_OK && i < count; i++)
        rc = write_node(r, node, leaf, depth, true, err);
    if (rc == DX_OK)
        dx_json_end(&r->json);
    return rc;
}

/* What is at the node, once: its repetition and absence are dealt with. */
static int write_content(struct row *r, uint32_t *node, uint32_t *leaf, unsigned depth,
                         struct dx_error *err)
{
    const struct dx_pq_node *n = &r->footer.node[*node];

    if (n->child_count == 0) {
        (*node)++;
        return write_value(r, n, (*leaf)++, err);
    }
    if (is_wrapper(r, *node)) {
        (*node)++;
        return write_node(r, node, leaf, depth, false, err);
    }
    (*node)++;
    return write_members(r, n->child_count, node, leaf, depth + 1, err);
}

/* The elements of a repeated node. `bare`: the node is a group around the element alone. */
static int write_elements(struct row *r, uint32_t *node, uint32_t *leaf, unsigned depth, bool bare,
                          struct dx_error *err)
{
    uint32_t first_node = *node;
    uint32_t first_leaf = *leaf;
    const struct dx_pq_node *n = &r->footer.node[first_node];
    const struct slot *s;
    int rc = DX_OK;

    dx_json_array(&r->json);
    s = slot_of(r, first_leaf);
    if (s != NULL && s->def < n->max_def) {
        pass_over(r, node, leaf);
        s = NULL;
    }
    while (rc == DX_OK && s != NULL) {
        *node = first_node + bare;
        *leaf = first_leaf;
        rc = bare ? write_node(r, node, leaf, depth + 1, false, err)
                  : write_content(r, node, leaf, depth + 1, err);
        s = slot_of(r, first_leaf);
        if (s != NULL && s->rep < n->max_rep)
            s = NULL;
    }
    if (rc == DX_OK)
        dx_json_end(&r->json);
    return rc;
}

/* Moves *node and *leaf behind what was written. */
static int write_node(struct row *r, uint32_t *node, uint32_t *leaf, unsigned depth, bool is_named,
                      struct dx_error *err)
{
    const struct dx_pq_node *n = &r->footer.node[*node];
    const struct slot *s = slot_of(r, *leaf);

    if (depth > DEPTH_MAX)
        return dx_fail(err, DX_E_UNSUPPORTED, "columns nested deeper than %d", DEPTH_MAX);
    if (s == NULL)
        return ends_early(err);
    if (is_named)
        dx_json_key_span(&r->json, n->name);
    if (n->repetition == DX_PQ_REPEATED)
        return write_elements(r, node, leaf, depth, *node > 0 && is_list_of_three(r, n->parent),
                              err);
    if (n->child_count > 0 && n->repetition == DX_PQ_OPTIONAL && s->def < n->max_def) {
        dx_json_null(&r->json);
        pass_over(r, node, leaf);
        return DX_OK;
    }
    return write_content(r, node, leaf, depth, err);
}

static int read_row(struct row *r, const struct dx_locator *locator,
                    const struct dx_pq_limits *limits, struct dx_error *err)
{
    uint64_t group = locator->place[0];
    uint64_t row = locator->place[1];
    uint32_t node = 1;
    uint32_t leaf = 0;
    int rc = dx_parquet_footer_read(&r->footer, r->ranges, &r->metadata, err);

    if (rc == DX_OK)
        rc = dx_parquet_footer_same(r->ranges, &r->metadata, locator, err);
    if (rc < 0)
        return rc;
    if (group >= r->footer.group_count || row >= r->footer.group[group].row_count)
        return dx_fail(err, DX_E_CORRUPT,
                       "there is no row %" PRIu64 " of row group %" PRIu64
                       "; the file is not the one that the locator was made of",
                       row, group);
    r->leaf = calloc((size_t)r->footer.leaf_count + 1, sizeof *r->leaf);
    if (r->leaf == NULL)
        return dx_no_memory(err, "columns");
    rc = read_leaves(r, (uint32_t)group, row, limits, err);
    return rc < 0 ? rc : write_members(r, r->footer.node[0].child_count, &node, &leaf, 1, err);
}

int dx_parquet_row_read(struct dx_input_ranges *ranges, const struct dx_locator *locator,
                        const struct dx_pq_limits *limits, struct dx_buf *json,
                        void (*seen)(void *ctx, struct dx_span text), void *ctx,
                        struct dx_error *err)
{
    struct row r = { .ranges = ranges, .seen = seen, .ctx = ctx };
    int rc;

    dx_buf_init(&r.metadata, DX_PQ_FOOTER_MAX);
    dx_buf_init(&r.text, json->max);
    dx_json_open(&r.json, json);
    rc = read_row(&r, locator, limits, err);
    if (rc == DX_OK && json->failed)
        rc = dx_buf_fail(json, err, "the row as JSON");
    for (uint32_t i = 0; r.leaf != NULL && i < r.footer.leaf_count; i++)
        free(r.leaf[i].slot);
    free(r.leaf);
    dx_pq_footer_release(&r.footer);
    dx_buf_release(&r.text);
    dx_buf_release(&r.metadata);
    return rc < 0 ? dx_fail_in(err, "%s", dx_input_ranges_name(ranges)) : DX_OK;
}
