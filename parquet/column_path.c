/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/column_path.h"

#include <ctype.h>

static bool same(struct dx_span a, struct dx_span b, bool any_case)
{
    if (!any_case || a.size != b.size)
        return dx_span_equal(a, b);
    for (size_t i = 0; i < a.size; i++)
        if (tolower(a.data[i]) != tolower(b.data[i]))
            return false;
    return true;
}

#define STEPS_MAX 1000000 /* a file can make many ways to walk down the same names */

/* The node behind the subtree of `node`: nodes stand depth first. */
static uint32_t behind(const struct dx_pq_footer *f, uint32_t node)
{
    uint32_t at = node + 1;

    while (at < f->node_count && f->node[at].parent >= node)
        at++;
    return at;
}

/* A group that people do not name: it only makes a list or a map. */
static bool is_wrapper(const struct dx_pq_footer *f, uint32_t node)
{
    const struct dx_pq_node *n = &f->node[node];
    const struct dx_pq_node *up = &f->node[n->parent];

    if (n->parent == 0)
        return false;
    if (up->logical == DX_PQ_LOGICAL_LIST || up->logical == DX_PQ_LOGICAL_MAP)
        return n->repetition == DX_PQ_REPEATED;
    up = &f->node[f->node[n->parent].parent]; /* the element below the repeated group of a list */
    return up->logical == DX_PQ_LOGICAL_LIST && f->node[n->parent].repetition == DX_PQ_REPEATED &&
           f->node[n->parent].child_count == 1;
}

struct search {
    const struct dx_pq_footer *f;
    const struct dx_span *part;
    size_t count;
    bool any_case;
    bool whole;        /* the path ends at the leaf */
    uint32_t not_node; /* 0: any leaf */
    bool maps;         /* the path leads through a map, by a key */
    uint32_t key_node;
    struct dx_span key;
    unsigned steps;
    uint32_t node; /* the leaf that was found */
    size_t used;
};

/* How many parts from `used` on the name is: names may hold dots. 0: none. */
static size_t named(const struct search *s, struct dx_span name, size_t used)
{
    const struct dx_span first = s->part[used];

    for (size_t i = used; i < s->count && s->part[i].data >= first.data; i++) {
        size_t size = (size_t)(s->part[i].data - first.data) + s->part[i].size;

        if (same(name, dx_span_of(first.data, size), s->any_case))
            return i - used + 1;
    }
    return 0;
}

static bool is_map(const struct dx_pq_footer *f, uint32_t node)
{
    const struct dx_pq_node *n = &f->node[node];

    return n->logical == DX_PQ_LOGICAL_MAP && n->child_count == 1 && node + 3 < f->node_count &&
           n[1].repetition == DX_PQ_REPEATED && n[1].max_rep == 1 && n[1].child_count == 2 &&
           n[2].type == DX_PQ_BYTE_ARRAY && n[2].child_count == 0;
}

/* The key is the part, or, of values other than structs, all parts that are left if they are of one text. 0: none. */
static size_t take_key(struct search *s, size_t used, bool is_last)
{
    struct dx_span first = s->part[used], last = s->part[is_last ? s->count - 1 : used];
    size_t size = (size_t)(last.data - first.data) + last.size;

    if (last.data < first.data || memchr(first.data, '"', size) != NULL)
        return 0;
    s->key = dx_span_of(first.data, size);
    return is_last ? s->count - used : 1;
}

static bool match_node(struct search *s, uint32_t node, size_t used);

static bool match_map(struct search *s, uint32_t node, size_t used)
{
    bool is_leaf = s->f->node[node + 3].type >= 0;
    size_t parts = take_key(s, used, is_leaf);

    s->key_node = parts > 0 ? node + 2 : 0;
    if (parts > 0 && match_node(s, node + 3, used + parts))
        return true;
    s->key_node = 0;
    return false;
}

static bool match_node(struct search *s, uint32_t node, size_t used)
{
    const struct dx_pq_node *n = &s->f->node[node];
    uint32_t end;

    if (n->type >= 0 && node > 0) {
        if ((s->whole && used < s->count) || node == s->not_node || (s->maps && s->key_node == 0))
            return false;
        s->node = node;
        s->used = used;
        return true;
    }
    if (s->maps && used < s->count && s->key_node == 0 && is_map(s->f, node))
        return match_map(s, node, used);
    end = behind(s->f, node);
    if (s->steps > STEPS_MAX - (end - node))
        return false;
    s->steps += end - node;
    for (uint32_t c = node + 1; used < s->count && c < end; c = behind(s->f, c)) {
        size_t parts = named(s, s->f->node[c].name, used);

        if (parts > 0 && match_node(s, c, used + parts))
            return true;
    }
    for (uint32_t c = node + 1; c < end; c = behind(s->f, c))
        if ((is_wrapper(s->f, c) || (used == s->count && n->child_count == 1)) &&
            match_node(s, c, used))
            return true;
    return false;
}

static void set_found(const struct dx_pq_footer *f, const struct search *s,
                      struct dx_pq_column_found *found)
{
    *found = (struct dx_pq_column_found){ .used = s->used };
    while (f->leaf[found->leaf] != s->node)
        found->leaf++;
    for (uint32_t n = s->node; n != 0; n = f->node[n].parent)
        if (f->node[n].repetition == DX_PQ_REPEATED) {
            found->repeated_at = n;
            found->element_def = f->node[n].max_def;
            break;
        }
}

bool dx_pq_column_path(const struct dx_pq_footer *f, const struct dx_span *part, size_t count,
                       bool any_case, struct dx_pq_column_found *found)
{
    *found = (struct dx_pq_column_found){ 0, 0, 0, 0 };
    /* What has the whole path as its name comes before what it may go on below. */
    for (int whole = 1; whole >= 0; whole--) {
        struct search s = {
            .f = f, .part = part, .count = count, .any_case = any_case, .whole = whole > 0
        };

        if (count > 0 && match_node(&s, 0, 0) && s.used > 0) {
            set_found(f, &s, found);
            return true;
        }
    }
    return false;
}

bool dx_pq_column_other(const struct dx_pq_footer *f, const struct dx_span *part, size_t count,
                        bool any_case, uint32_t leaf, uint32_t *other)
{
    struct search s = { .f = f,
                        .part = part,
                        .count = count,
                        .any_case = any_case,
                        .whole = true,
                        .not_node = f->leaf[leaf] };
    struct dx_pq_column_found found;

    if (count == 0 || !match_node(&s, 0, 0) || s.used == 0)
        return false;
    set_found(f, &s, &found);
    *other = found.leaf;
    return true;
}

static uint32_t leaf_of(const struct dx_pq_footer *f, uint32_t node)
{
    uint32_t leaf = 0;

    while (f->leaf[leaf] != node)
        leaf++;
    return leaf;
}

bool dx_pq_column_map(const struct dx_pq_footer *f, const struct dx_span *part, size_t count,
                      bool any_case, struct dx_pq_column_found *found, struct dx_pq_column_map *map)
{
    struct search s = {
        .f = f, .part = part, .count = count, .any_case = any_case, .whole = true, .maps = true
    };

    if (count < 2 || !match_node(&s, 0, 0) || s.key_node == 0 || f->node[s.node].max_rep != 1)
        return false;
    *found = (struct dx_pq_column_found){ .leaf = leaf_of(f, s.node), .used = s.used };
    *map = (struct dx_pq_column_map){ .key_leaf = leaf_of(f, s.key_node), .key = s.key };
    return true;
}

bool dx_pq_column_number(const struct dx_pq_footer *f, unsigned long number,
                         struct dx_pq_column_found *found)
{
    struct search s = { .f = f };

    *found = (struct dx_pq_column_found){ 0, 0, 0, 0 };
    for (uint32_t i = 1; i < f->node_count; i++)
        if (f->node[i].parent == 0 && --number == 0 && match_node(&s, i, 0)) {
            set_found(f, &s, found);
            return true;
        }
    return false;
}

/* Whether two nodes have the same names from the root down. */
static bool same_names(const struct dx_pq_footer *f, uint32_t a, uint32_t b, bool any_case)
{
    while (a != 0 && b != 0 && a != b) {
        if (!same(f->node[a].name, f->node[b].name, any_case))
            return false;
        a = f->node[a].parent;
        b = f->node[b].parent;
    }
    return a == b;
}

bool dx_pq_column_twin(const struct dx_pq_footer *f, uint32_t leaf, bool any_case, uint32_t *twin)
{
    for (*twin = 0; *twin < f->leaf_count; ++*twin)
        if (*twin != leaf && same_names(f, f->leaf[leaf], f->leaf[*twin], any_case))
            return true;
    return false;
}

unsigned long dx_pq_column_number_of(const struct dx_pq_footer *f, uint32_t leaf)
{
    uint32_t top = f->leaf[leaf];
    unsigned long number = 0;

    while (f->node[top].parent != 0)
        top = f->node[top].parent;
    for (uint32_t i = 1; i <= top; i++)
        number += f->node[i].parent == 0;
    return number;
}
