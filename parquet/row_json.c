/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/row_json.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "parquet/chunk.h"
#include "parquet/value_text.h"

#define DEPTH_MAX 30 /* base/json_out.h */
#define SLOTS_MAX ((size_t)1 << 20)
#define NAMES_SHOWN 300 /* bytes in a message */

/* A slot of a row: levels, and the text of a value that is there. */
struct slot {
    uint8_t def, rep;
    size_t at, size; /* in text */
};

/* The slots of all rows, one row behind the other; those of row i begin at first[i]. */
struct dx_pq_row_leaf {
    bool wanted;
    struct slot *slot;
    size_t count, room;
    size_t *first;
    size_t next, end; /* to be written */
};

/* ---- columns ---- */

static const struct dx_pq_node *node_of(const struct dx_pq_rows *r, uint32_t leaf)
{
    return &r->footer->node[r->footer->leaf[leaf]];
}

/* Behind the node and all below it; leaves in between are wanted or not. */
static void mark_leaves(struct dx_pq_rows *r, uint32_t *node, uint32_t *leaf, bool wanted)
{
    uint32_t children = r->footer->node[*node].child_count;

    (*node)++;
    if (children == 0)
        r->leaf[(*leaf)++].wanted = wanted;
    for (uint32_t i = 0; i < children; i++)
        mark_leaves(r, node, leaf, wanted);
}

static uint32_t node_behind(const struct dx_pq_footer *f, uint32_t node)
{
    uint32_t left = 1; /* nodes still to be passed over */

    for (; left > 0; node++)
        left += f->node[node].child_count - 1;
    return node;
}

static int no_such_column(const struct dx_pq_footer *f, struct dx_span name, struct dx_error *err)
{
    struct dx_buf names = DX_BUF_INIT(NAMES_SHOWN);

    for (uint32_t i = 0, node = 1; i < f->node[0].child_count; i++, node = node_behind(f, node)) {
        if (names.size + f->node[node].name.size + 6 > NAMES_SHOWN) {
            dx_buf_str(&names, ", ...");
            break;
        }
        dx_buf_str(&names, i > 0 ? ", " : "");
        dx_buf_append(&names, f->node[node].name.data, f->node[node].name.size);
    }
    (void)dx_fail(err, DX_E_NOT_FOUND, "there is no column '%.*s'; there are %.*s",
                  (int)(name.size < 100 ? name.size : 100), (const char *)name.data,
                  (int)names.size, (const char *)names.data);
    dx_buf_release(&names);
    return DX_E_NOT_FOUND;
}

static int want_column(struct dx_pq_rows *r, struct dx_span name, struct dx_error *err)
{
    const struct dx_pq_footer *f = r->footer;

    for (uint32_t i = 0, node = 1; i < f->node[0].child_count; i++, node = node_behind(f, node))
        if (dx_span_equal(f->node[node].name, name)) {
            r->wanted[i] = true;
            return DX_OK;
        }
    return no_such_column(f, name, err);
}

int dx_pq_rows_columns(struct dx_pq_rows *r, const struct dx_pq_footer *footer,
                       const struct dx_span *name, size_t count, struct dx_error *err)
{
    uint32_t children = footer->node[0].child_count;
    uint32_t node = 1;
    uint32_t leaf = 0;
    int rc = DX_OK;

    r->footer = footer;
    r->wanted = calloc((size_t)children + 1, sizeof *r->wanted);
    r->leaf = calloc((size_t)footer->leaf_count + 1, sizeof *r->leaf);
    if (r->wanted == NULL || r->leaf == NULL)
        return dx_no_memory(err, "columns");
    for (size_t i = 0; rc == DX_OK && i < count; i++)
        rc = want_column(r, name[i], err);
    for (uint32_t i = 0; i < children; i++) {
        r->wanted[i] = r->wanted[i] || count == 0;
        mark_leaves(r, &node, &leaf, r->wanted[i]);
    }
    return rc;
}

uint64_t dx_pq_rows_stored(const struct dx_pq_rows *r, uint32_t group, unsigned *chunks)
{
    uint64_t bytes = 0;

    *chunks = 0;
    for (uint32_t i = 0; group < r->footer->group_count && i < r->footer->leaf_count; i++)
        if (r->leaf[i].wanted) {
            uint64_t more = r->footer->group[group].chunk[i].compressed_size;

            bytes = more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more;
            ++*chunks;
        }
    return bytes;
}

/* ---- slots of the row ---- */

static int add_slot(struct dx_pq_rows *r, uint32_t leaf, const struct dx_pq_values *v, uint32_t i,
                    struct dx_error *err)
{
    struct dx_pq_row_leaf *l = &r->leaf[leaf];
    const struct dx_pq_node *node = node_of(r, leaf);
    bool is_null = dx_pq_is_null(v, i);
    struct slot *s;

    if (l->count == l->room) {
        size_t room = l->room == 0 ? 1 : l->room * 2;
        struct slot *more = room > SLOTS_MAX ? NULL : realloc(l->slot, room * sizeof *more);

        if (room > SLOTS_MAX)
            return dx_fail(err, DX_E_LIMIT, "over %zu elements in the rows", SLOTS_MAX);
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

/* The slots of the rows in one column. */
static int read_leaf(struct dx_pq_rows *r, const struct dx_pq_fetch *fetch, uint32_t group,
                     const uint64_t *row, size_t count, uint32_t leaf,
                     const struct dx_pq_limits *limits, struct dx_error *err)
{
    struct dx_pq_reader reader = DX_PQ_READER_INIT;
    struct dx_pq_values v = DX_PQ_VALUES_INIT;
    struct dx_pq_row_leaf *l = &r->leaf[leaf];
    uint64_t begun = 0; /* rows */
    size_t at = 0;      /* of row[] */
    int rc = dx_pq_text_check(r->footer, leaf, err);

    dx_buf_init(&reader.walk.window, 0);
    if (rc == DX_OK)
        rc = dx_pq_reader_open_fetch(&reader, fetch, r->footer, group, leaf, limits, err);
    while (rc >= 0 && at < count && (rc = dx_pq_reader_next(&reader, &v, err)) == 1)
        for (uint32_t i = 0; rc >= 0 && i < v.row_count; i++) {
            begun += v.rep == NULL || v.rep[i] == 0;
            if (at < count && begun == row[at] + 2)
                at++;
            if (at == count)
                break;
            if (begun != row[at] + 1)
                continue;
            if (v.rep == NULL || v.rep[i] == 0)
                l->first[at] = l->count;
            rc = add_slot(r, leaf, &v, i, err);
            at += v.rep == NULL; /* else it goes on until the next row begins */
        }
    if (rc >= 0 && at < count && begun == row[at] + 1)
        at++; /* the last row of the group */
    if (rc >= 0 && at < count)
        rc = dx_fail(err, DX_E_CORRUPT, "row %" PRIu64 " does not begin", row[at]);
    l->first[count] = l->count;
    dx_pq_values_release(&v);
    dx_pq_reader_release(&reader);
    return rc < 0 ? rc : DX_OK;
}

int dx_pq_rows_read(struct dx_pq_rows *r, const struct dx_pq_fetch *fetch, uint64_t group,
                    const uint64_t *row, size_t count, const struct dx_pq_limits *limits,
                    struct dx_error *err)
{
    int rc = DX_OK;

    if (group >= r->footer->group_count ||
        (count > 0 && row[count - 1] >= r->footer->group[group].row_count))
        return dx_fail(err, DX_E_CORRUPT,
                       "there is no row %" PRIu64 " of row group %" PRIu64
                       "; the file is not the one that the locator was made of",
                       count > 0 ? row[count - 1] : 0, group);
    dx_buf_clear(&r->text);
    r->text.max = r->text_max;
    for (uint32_t i = 0; rc == DX_OK && i < r->footer->leaf_count; i++) {
        struct dx_pq_row_leaf *l = &r->leaf[i];
        char path[160];

        l->count = 0;
        free(l->first);
        l->first = l->wanted ? calloc(count + 1, sizeof *l->first) : NULL;
        if (!l->wanted)
            continue;
        if (l->first == NULL)
            return dx_no_memory(err, "rows");
        rc = read_leaf(r, fetch, (uint32_t)group, row, count, i, limits, err);
        if (rc < 0)
            (void)dx_fail_in(err, "row group %" PRIu64 ", column %s", group,
                             dx_pq_footer_path(r->footer, i, path, sizeof path));
    }
    return rc;
}

/* ---- JSON ---- */

static struct slot *slot_of(const struct dx_pq_rows *r, uint32_t leaf)
{
    struct dx_pq_row_leaf *l = &r->leaf[leaf];

    return l->next < l->end ? &l->slot[l->next] : NULL;
}

static int ends_early(struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "the columns of a list differ in their elements");
}

static int write_node(struct dx_pq_rows *r, uint32_t *node, uint32_t *leaf, unsigned depth,
                      bool is_named, struct dx_error *err);

/* Behind the node and all below it, without a word: one slot of each leaf is used up. */
static void pass_over(struct dx_pq_rows *r, uint32_t *node, uint32_t *leaf)
{
    uint32_t children = r->footer->node[*node].child_count;

    (*node)++;
    if (children == 0)
        r->leaf[(*leaf)++].next++;
    for (uint32_t i = 0; i < children; i++)
        pass_over(r, node, leaf);
}

static void write_text(struct dx_pq_rows *r, const struct dx_pq_node *n, struct dx_span text)
{
    struct dx_buf hex = DX_BUF_INIT(r->json->buf->max);

    if (dx_pq_text_is_hex(n, text)) {
        dx_pq_text_hex(text, &hex);
        text = dx_span_of(hex.data, hex.size);
        r->json->buf->failed = r->json->buf->failed || hex.failed;
    }
    dx_json_text(r->json, text);
    dx_buf_release(&hex);
}

static int write_value(struct dx_pq_rows *r, const struct dx_pq_node *n, uint32_t leaf,
                       struct dx_error *err)
{
    struct slot *s = slot_of(r, leaf);
    struct dx_span text;

    if (s == NULL)
        return ends_early(err);
    text = s->size > 0 ? dx_span_of(r->text.data + s->at, s->size) : dx_span_str("");
    r->leaf[leaf].next++;
    if (s->def < n->max_def || n->logical == DX_PQ_LOGICAL_NULL) {
        dx_json_null(r->json);
    } else if (dx_pq_text_is_number(n, text)) {
        dx_json_number(r->json, text);
    } else {
        if (r->seen != NULL)
            r->seen(r->ctx, text);
        write_text(r, n, text);
    }
    return DX_OK;
}

/* Old writers: a list's repeated group is a struct of one, by the name it has. */
static bool is_struct_of_one(const struct dx_pq_node *list, const struct dx_pq_node *repeated)
{
    const struct dx_span tuple = dx_span_str("_tuple");

    return dx_span_equal(repeated->name, dx_span_str("array")) ||
           (repeated->name.size == list->name.size + tuple.size &&
            memcmp(repeated->name.data, list->name.data, list->name.size) == 0 &&
            memcmp(repeated->name.data + list->name.size, tuple.data, tuple.size) == 0);
}

/* A list's repeated group with one member, its element: the group has no name of its own. */
static bool is_list_of_three(const struct dx_pq_rows *r, uint32_t node)
{
    const struct dx_pq_node *list = &r->footer->node[node];
    const struct dx_pq_node *repeated = list + 1;

    return list->logical == DX_PQ_LOGICAL_LIST && list->child_count == 1 &&
           repeated->repetition == DX_PQ_REPEATED && repeated->child_count == 1 &&
           !is_struct_of_one(list, repeated);
}

static bool is_wrapper(const struct dx_pq_rows *r, uint32_t node)
{
    const struct dx_pq_node *n = &r->footer->node[node];

    return (n->logical == DX_PQ_LOGICAL_LIST || n->logical == DX_PQ_LOGICAL_MAP) &&
           n->child_count == 1 && (n + 1)->repetition == DX_PQ_REPEATED;
}

static int write_members(struct dx_pq_rows *r, uint32_t count, uint32_t *node, uint32_t *leaf,
                         unsigned depth, struct dx_error *err)
{
    int rc = DX_OK;

    dx_json_object(r->json);
    for (uint32_t i = 0; rc == DX_OK && i < count; i++)
        rc = write_node(r, node, leaf, depth, true, err);
    if (rc == DX_OK)
        dx_json_end(r->json);
    return rc;
}

/* What is at the node, once: its repetition and absence are dealt with. */
static int write_content(struct dx_pq_rows *r, uint32_t *node, uint32_t *leaf, unsigned depth,
                         struct dx_error *err)
{
    const struct dx_pq_node *n = &r->footer->node[*node];

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
static int write_elements(struct dx_pq_rows *r, uint32_t *node, uint32_t *leaf, unsigned depth,
                          bool bare, struct dx_error *err)
{
    uint32_t first_node = *node;
    uint32_t first_leaf = *leaf;
    const struct dx_pq_node *n = &r->footer->node[first_node];
    const struct slot *s;
    int rc = DX_OK;

    dx_json_array(r->json);
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
        dx_json_end(r->json);
    return rc;
}

/* Moves *node and *leaf behind what was written. */
static int write_node(struct dx_pq_rows *r, uint32_t *node, uint32_t *leaf, unsigned depth,
                      bool is_named, struct dx_error *err)
{
    const struct dx_pq_node *n = &r->footer->node[*node];
    const struct slot *s = slot_of(r, *leaf);

    if (depth > DEPTH_MAX)
        return dx_fail(err, DX_E_UNSUPPORTED, "columns nested deeper than %d", DEPTH_MAX);
    if (s == NULL)
        return ends_early(err);
    if (is_named)
        dx_json_key_span(r->json, n->name);
    if (n->repetition == DX_PQ_REPEATED)
        return write_elements(r, node, leaf, depth, *node > 0 && is_list_of_three(r, n->parent),
                              err);
    if (n->child_count > 0 && n->repetition == DX_PQ_OPTIONAL && s->def < n->max_def) {
        dx_json_null(r->json);
        pass_over(r, node, leaf);
        return DX_OK;
    }
    return write_content(r, node, leaf, depth, err);
}

int dx_pq_rows_json(struct dx_pq_rows *r, size_t i, struct dx_json *json,
                    void (*seen)(void *ctx, struct dx_span text), void *ctx, struct dx_error *err)
{
    uint32_t children = r->footer->node[0].child_count;
    uint32_t node = 1;
    uint32_t leaf = 0;
    int rc = DX_OK;

    r->json = json;
    r->seen = seen;
    r->ctx = ctx;
    for (uint32_t k = 0; k < r->footer->leaf_count; k++)
        if (r->leaf[k].wanted) {
            r->leaf[k].next = r->leaf[k].first[i];
            r->leaf[k].end = r->leaf[k].first[i + 1];
        }
    dx_json_object(json);
    for (uint32_t k = 0; rc == DX_OK && k < children; k++)
        if (r->wanted[k])
            rc = write_node(r, &node, &leaf, 1, true, err);
        else
            mark_leaves(r, &node, &leaf, false);
    if (rc == DX_OK)
        dx_json_end(json);
    return rc;
}

void dx_pq_rows_release(struct dx_pq_rows *r)
{
    for (uint32_t i = 0; r->leaf != NULL && i < r->footer->leaf_count; i++) {
        free(r->leaf[i].slot);
        free(r->leaf[i].first);
    }
    free(r->leaf);
    free(r->wanted);
    dx_buf_release(&r->text);
    *r = (struct dx_pq_rows)DX_PQ_ROWS_INIT;
}
