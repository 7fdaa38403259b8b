/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/footer.h"

#include "parquet/thrift.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Fewest bytes that an element with its required fields can take; with them a count is
 * refused before memory for it is asked. */
#define NODE_BYTES_MIN 4
#define GROUP_BYTES_MIN 4
#define CHUNK_BYTES_MIN 12
#define SORTING_BYTES_MIN 4
#define KEY_VALUE_BYTES_MIN 3

#define IMPALA "impala"

enum { MILLIS_FIELD = 1, MICROS_FIELD = 2, NANOS_FIELD = 3 };

/* What one parse carries from field to field. */
struct parse {
    struct dx_pq_footer *f;
    struct dx_thrift t;
    struct dx_error *err;
    uint64_t memory_left;
    uint64_t sorting_used, sorting_room;
    bool has_groups;
};

static int fail_at(const struct parse *p, const char *what)
{
    return dx_fail(p->err, DX_E_CORRUPT, "parquet footer: %s, at byte %zu of %u", what,
                   dx_bytes_at(&p->t.bytes), p->f->size);
}

/* Room for count elements that take at least bytes_min each. */
static int allocate(struct parse *p, uint64_t count, uint64_t bytes_min, size_t element_size,
                    void **out, const char *what)
{
    if (count > dx_bytes_left(&p->t.bytes) / bytes_min)
        return dx_fail(p->err, DX_E_CORRUPT,
                       "parquet footer: %" PRIu64 " %s claimed with %zu bytes left", count, what,
                       dx_bytes_left(&p->t.bytes));
    if (count > p->memory_left / element_size)
        return dx_fail(p->err, DX_E_LIMIT,
                       "parquet footer: %" PRIu64 " %s take %" PRIu64 " bytes of memory, %" PRIu64
                       " are left for it",
                       count, what, count * element_size, p->memory_left);
    p->memory_left -= count * element_size;
    *out = calloc(count == 0 ? 1 : (size_t)count, element_size);
    if (*out == NULL)
        return dx_no_memory(p->err, "parquet footer: %" PRIu64 " %s", count, what);
    return DX_OK;
}

/* ---- schema ---- */

static void from_converted(struct dx_pq_node *n, int32_t converted)
{
    static const uint8_t logical[] = {
        DX_PQ_LOGICAL_STRING, DX_PQ_LOGICAL_MAP,       DX_PQ_LOGICAL_MAP,      DX_PQ_LOGICAL_LIST,
        DX_PQ_LOGICAL_ENUM,   DX_PQ_LOGICAL_DECIMAL,   DX_PQ_LOGICAL_DATE,     DX_PQ_LOGICAL_TIME,
        DX_PQ_LOGICAL_TIME,   DX_PQ_LOGICAL_TIMESTAMP, DX_PQ_LOGICAL_TIMESTAMP
    };

    if (converted < 0 || converted > 21)
        return;
    if (converted <= 10) {
        n->logical = logical[converted];
        if (converted >= 7) {
            n->time_unit = converted % 2 == 1 ? DX_PQ_TIME_MILLIS : DX_PQ_TIME_MICROS;
            n->is_utc = true; /* what the format says of converted types */
        }
    } else if (converted <= 18) {
        n->logical = DX_PQ_LOGICAL_INTEGER;
        n->is_unsigned = converted <= 14;
        n->bit_width = (uint8_t)(8u << ((unsigned)(converted - 11) % 4));
    } else {
        n->logical = converted == 19   ? DX_PQ_LOGICAL_JSON
                     : converted == 20 ? DX_PQ_LOGICAL_BSON
                                       : DX_PQ_LOGICAL_INTERVAL;
    }
}

static void read_decimal(struct dx_thrift *t, struct dx_pq_node *n)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
    int32_t v = 0;

    while (dx_thrift_next(t, &f)) {
        if (f.id == 1 && dx_thrift_i32(t, &f, &v))
            n->scale = (uint32_t)v;
        else if (f.id == 2 && dx_thrift_i32(t, &f, &v))
            n->precision = (uint32_t)v;
        else if (f.id != 1 && f.id != 2)
            dx_thrift_skip(t, f.type);
    }
}

static void read_time_unit(struct dx_thrift *t, struct dx_pq_node *n)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;

    while (dx_thrift_next(t, &f)) {
        if (f.id >= MILLIS_FIELD && f.id <= NANOS_FIELD)
            n->time_unit = (uint8_t)(DX_PQ_TIME_MILLIS + f.id - MILLIS_FIELD);
        dx_thrift_skip(t, f.type);
    }
}

static void read_time(struct dx_thrift *t, struct dx_pq_node *n)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;

    n->is_utc = false;
    n->time_unit = DX_PQ_TIME_NONE;
    while (dx_thrift_next(t, &f)) {
        if (f.id == 1)
            dx_thrift_bool(t, &f, &n->is_utc);
        else if (f.id == 2 && dx_thrift_struct(t, &f))
            read_time_unit(t, n);
        else if (f.id != 2)
            dx_thrift_skip(t, f.type);
    }
}

static void read_integer(struct dx_thrift *t, struct dx_pq_node *n)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
    bool is_signed = true;
    int8_t width = 0;

    while (dx_thrift_next(t, &f)) {
        if (f.id == 1)
            dx_thrift_i8(t, &f, &width);
        else if (f.id == 2)
            dx_thrift_bool(t, &f, &is_signed);
        else
            dx_thrift_skip(t, f.type);
    }
    n->bit_width = (uint8_t)width;
    n->is_unsigned = !is_signed;
}

static void read_logical(struct dx_thrift *t, struct dx_pq_node *n)
{
    static const uint8_t logical[] = {
        DX_PQ_LOGICAL_OTHER,     DX_PQ_LOGICAL_STRING,  DX_PQ_LOGICAL_MAP,     DX_PQ_LOGICAL_LIST,
        DX_PQ_LOGICAL_ENUM,      DX_PQ_LOGICAL_DECIMAL, DX_PQ_LOGICAL_DATE,    DX_PQ_LOGICAL_TIME,
        DX_PQ_LOGICAL_TIMESTAMP, DX_PQ_LOGICAL_OTHER,   DX_PQ_LOGICAL_INTEGER, DX_PQ_LOGICAL_NULL,
        DX_PQ_LOGICAL_JSON,      DX_PQ_LOGICAL_BSON,    DX_PQ_LOGICAL_UUID,    DX_PQ_LOGICAL_FLOAT16
    };
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;

    /* The union's numbers are those of the table but for the gap at 9. */
    while (dx_thrift_next(t, &f)) {
        n->logical = f.id > 0 && f.id < (int)sizeof(logical) ? logical[f.id] : DX_PQ_LOGICAL_OTHER;
        if (f.type != DX_THRIFT_STRUCT)
            dx_thrift_skip(t, f.type);
        else if (n->logical == DX_PQ_LOGICAL_DECIMAL)
            read_decimal(t, n);
        else if (n->logical == DX_PQ_LOGICAL_TIME || n->logical == DX_PQ_LOGICAL_TIMESTAMP)
            read_time(t, n);
        else if (n->logical == DX_PQ_LOGICAL_INTEGER)
            read_integer(t, n);
        else
            dx_thrift_skip(t, f.type);
    }
}

static int read_node(struct parse *p, struct dx_pq_node *n)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
    struct dx_thrift *t = &p->t;
    int32_t type = -1, length = 0, repetition = 0, children = 0, converted = -1;
    int32_t scale = 0, precision = 0;
    struct dx_pq_node from_logical = { 0 };

    while (dx_thrift_next(t, &f)) {
        switch (f.id) {
        case 1:
            dx_thrift_i32(t, &f, &type);
            break;
        case 2:
            dx_thrift_i32(t, &f, &length);
            break;
        case 3:
            dx_thrift_i32(t, &f, &repetition);
            break;
        case 4:
            dx_thrift_binary(t, &f, &n->name);
            break;
        case 5:
            dx_thrift_i32(t, &f, &children);
            break;
        case 6:
            dx_thrift_i32(t, &f, &converted);
            break;
        case 7:
            dx_thrift_i32(t, &f, &scale);
            break;
        case 8:
            dx_thrift_i32(t, &f, &precision);
            break;
        case 10:
            if (dx_thrift_struct(t, &f))
                read_logical(t, &from_logical);
            break;
        default:
            dx_thrift_skip(t, f.type);
        }
    }
    if (t->bytes.failed)
        return fail_at(p, "broken schema element");
    if (type < -1 || type > DX_PQ_FIXED)
        return fail_at(p, "unknown physical type");
    if (repetition < 0 || repetition > DX_PQ_REPEATED)
        return fail_at(p, "unknown repetition");
    if (children < 0 || length < 0)
        return fail_at(p, "negative number in the schema");
    n->type = (int8_t)type;
    n->type_length = type == DX_PQ_FIXED ? (uint32_t)length : 0;
    n->repetition = (uint8_t)repetition;
    n->child_count = (uint32_t)children;
    n->scale = (uint32_t)scale;
    n->precision = (uint32_t)precision;
    from_converted(n, converted);
    /* parquet-mr 1.12 called INTERVAL also NULL: the older name is the one that it meant. */
    if (from_logical.logical == DX_PQ_LOGICAL_NULL && n->logical != DX_PQ_LOGICAL_NONE)
        from_logical.logical = DX_PQ_LOGICAL_NONE;
    if (from_logical.logical != DX_PQ_LOGICAL_NONE && from_logical.logical != DX_PQ_LOGICAL_OTHER) {
        n->logical = from_logical.logical;
        n->time_unit = from_logical.time_unit;
        n->is_utc = from_logical.is_utc;
        n->is_unsigned = from_logical.is_unsigned;
        n->bit_width = from_logical.bit_width;
        if (n->logical == DX_PQ_LOGICAL_DECIMAL) {
            n->scale = from_logical.scale;
            n->precision = from_logical.precision;
        }
    } else if (from_logical.logical == DX_PQ_LOGICAL_OTHER && n->logical == DX_PQ_LOGICAL_NONE) {
        n->logical = DX_PQ_LOGICAL_OTHER;
    }
    if (type == DX_PQ_INT96 && n->logical == DX_PQ_LOGICAL_NONE) {
        n->logical = DX_PQ_LOGICAL_TIMESTAMP;
        n->time_unit = DX_PQ_TIME_INT96;
    }
    return DX_OK;
}

/* Parents, levels and leaves from the child counts; the tree must use every node. */
static int link_schema(struct parse *p)
{
    struct dx_pq_footer *f = p->f;
    uint32_t parent[DX_PQ_SCHEMA_DEPTH_MAX], left[DX_PQ_SCHEMA_DEPTH_MAX];
    unsigned depth = 0;

    if (f->node_count == 0)
        return fail_at(p, "empty schema");
    f->leaf = calloc(f->node_count, sizeof(*f->leaf));
    if (f->leaf == NULL)
        return dx_no_memory(p->err, "parquet footer: schema");
    for (uint32_t i = 0; i < f->node_count; i++) {
        struct dx_pq_node *n = &f->node[i];

        if (i > 0) {
            const struct dx_pq_node *up;

            if (depth == 0)
                return fail_at(p, "schema has more elements than its tree");
            n->parent = parent[depth - 1];
            up = &f->node[n->parent];
            n->max_def = (uint8_t)(up->max_def + (n->repetition != DX_PQ_REQUIRED));
            n->max_rep = (uint8_t)(up->max_rep + (n->repetition == DX_PQ_REPEATED));
            left[depth - 1]--;
        }
        if (n->child_count > f->node_count - i - 1)
            return fail_at(p, "schema element has more children than there are elements");
        if (n->child_count > 0) {
            if (depth == DX_PQ_SCHEMA_DEPTH_MAX)
                return fail_at(p, "schema is nested too deeply");
            if (n->type >= 0 && i > 0)
                return fail_at(p, "schema element has both a type and children");
            n->type = -1;
            parent[depth] = i;
            left[depth++] = n->child_count;
        } else if (i > 0) {
            /* A group without children is legal to Arrow's eyes. */
            if (n->type >= 0)
                f->leaf[f->leaf_count++] = i;
        }
        while (depth > 0 && left[depth - 1] == 0)
            depth--;
    }
    if (depth > 0)
        return fail_at(p, "schema has fewer elements than its tree");
    if (f->leaf_count == 0)
        return fail_at(p, "schema without columns");
    return DX_OK;
}

/* Takes groups out that have no column below. All that walks the tree may then take a node without
 * children for a leaf. */
static int drop_empty_groups(struct parse *p)
{
    struct dx_pq_footer *f = p->f;
    uint32_t *at, kept = 0, leaf = 0;
    bool any = false;

    /* From the back: a group that loses its last child is one without children. */
    for (uint32_t i = f->node_count; i-- > 1;)
        if (f->node[i].type < 0 && f->node[i].child_count == 0) {
            f->node[f->node[i].parent].child_count--;
            any = true;
        }
    if (!any)
        return DX_OK;
    at = calloc(f->node_count, sizeof *at);
    if (at == NULL)
        return dx_no_memory(p->err, "parquet footer: schema");
    for (uint32_t i = 0; i < f->node_count; i++) {
        struct dx_pq_node n = f->node[i];

        if (i > 0 && n.type < 0 && n.child_count == 0)
            continue;
        n.parent = at[n.parent];
        at[i] = kept;
        if (n.type >= 0)
            f->leaf[leaf++] = kept;
        f->node[kept++] = n;
    }
    f->node_count = kept;
    free(at);
    return DX_OK;
}

static int read_schema(struct parse *p, uint32_t count)
{
    void *nodes = NULL;
    int rc;

    if (p->f->node != NULL)
        return fail_at(p, "two schemas");
    rc = allocate(p, count, NODE_BYTES_MIN, sizeof(*p->f->node), &nodes, "schema elements");
    if (rc < 0)
        return rc;
    p->f->node = nodes;
    p->f->node_count = count;
    for (uint32_t i = 0; i < count; i++) {
        rc = read_node(p, &p->f->node[i]);
        if (rc < 0)
            return rc;
    }
    rc = link_schema(p);
    return rc < 0 ? rc : drop_empty_groups(p);
}

/* ---- row groups ---- */

static void read_statistics(struct dx_thrift *t, struct dx_pq_statistics *s)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
    int64_t nulls;

    while (dx_thrift_next(t, &f)) {
        switch (f.id) {
        case 3:
            if (dx_thrift_i64(t, &f, &nulls) && nulls >= 0) {
                s->null_count = (uint64_t)nulls;
                s->has_null_count = true;
            }
            break;
        case 5:
            dx_thrift_binary(t, &f, &s->max);
            break;
        case 6:
            dx_thrift_binary(t, &f, &s->min);
            break;
        case 7:
            dx_thrift_bool(t, &f, &s->max_is_exact);
            break;
        case 8:
            dx_thrift_bool(t, &f, &s->min_is_exact);
            break;
        default: /* 1 and 2, max and min, are in an undefined order */
            dx_thrift_skip(t, f.type);
        }
    }
}

static void read_encodings(struct dx_thrift *t, uint32_t count, uint32_t *mask)
{
    while (count-- > 0 && !t->bytes.failed) {
        int32_t encoding = dx_thrift_element_i32(t);

        if (encoding >= 0 && encoding < 32)
            *mask |= 1u << encoding;
    }
}

static int read_chunk_metadata(struct parse *p, const struct dx_pq_node *leaf,
                               struct dx_pq_chunk *c)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
    struct dx_thrift *t = &p->t;
    int32_t type = -1, codec = -1;
    int64_t values = -1, plain_size = -1, size = -1, data = -1, dictionary = -1;
    uint32_t count;

    while (dx_thrift_next(t, &f)) {
        switch (f.id) {
        case 1:
            dx_thrift_i32(t, &f, &type);
            break;
        case 2:
            if (dx_thrift_list(t, &f, DX_THRIFT_I32, &count))
                read_encodings(t, count, &c->encodings);
            break;
        case 4:
            dx_thrift_i32(t, &f, &codec);
            break;
        case 5:
            dx_thrift_i64(t, &f, &values);
            break;
        case 6:
            dx_thrift_i64(t, &f, &plain_size);
            break;
        case 7:
            dx_thrift_i64(t, &f, &size);
            break;
        case 9:
            dx_thrift_i64(t, &f, &data);
            break;
        case 11:
            dx_thrift_i64(t, &f, &dictionary);
            break;
        case 12:
            if (dx_thrift_struct(t, &f))
                read_statistics(t, &c->statistics);
            break;
        default: /* 3, the path, may be left out: columns go by their place */
            dx_thrift_skip(t, f.type);
        }
    }
    if (t->bytes.failed)
        return fail_at(p, "broken column metadata");
    if (type != leaf->type)
        return fail_at(p, "a column chunk is of another type than its column");
    if (codec < 0 || codec > UINT8_MAX)
        return fail_at(p, "a column chunk without a codec");
    if (values < 0 || size < 0 || data < 0)
        return fail_at(p, "a column chunk lacks its count, size or offset");
    c->codec = (uint8_t)codec;
    c->value_count = (uint64_t)values;
    c->uncompressed_size = plain_size < 0 ? 0 : (uint64_t)plain_size;
    c->compressed_size = (uint64_t)size;
    c->data_page_offset = (uint64_t)data;
    c->has_dictionary_offset = dictionary > 0; /* 0 is how parquet-mr once said none */
    c->dictionary_offset = dictionary > 0 ? (uint64_t)dictionary : 0;
    return DX_OK;
}

static int read_chunk(struct parse *p, const struct dx_pq_node *leaf, struct dx_pq_chunk *c)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
    struct dx_thrift *t = &p->t;
    int64_t offset_index = 0, column_index = 0;
    int32_t offset_size = 0, column_size = 0;
    struct dx_span path;
    bool has_metadata = false;
    int rc;

    while (dx_thrift_next(t, &f)) {
        switch (f.id) {
        case 1:
            if (dx_thrift_binary(t, &f, &path) && path.size > 0)
                c->is_external = true;
            break;
        case 3:
            if (!dx_thrift_struct(t, &f))
                break;
            if (has_metadata)
                return fail_at(p, "two metadata of one column chunk");
            rc = read_chunk_metadata(p, leaf, c);
            if (rc < 0)
                return rc;
            has_metadata = true;
            break;
        case 4:
            dx_thrift_i64(t, &f, &offset_index);
            break;
        case 5:
            dx_thrift_i32(t, &f, &offset_size);
            break;
        case 6:
            dx_thrift_i64(t, &f, &column_index);
            break;
        case 7:
            dx_thrift_i32(t, &f, &column_size);
            break;
        case 8:
        case 9:
            c->is_encrypted = true;
            dx_thrift_skip(t, f.type);
            break;
        default:
            dx_thrift_skip(t, f.type);
        }
    }
    if (t->bytes.failed)
        return fail_at(p, "broken column chunk");
    if (!has_metadata && !c->is_encrypted)
        return fail_at(p, "a column chunk without metadata");
    if (offset_index > 0 && offset_size > 0) {
        c->offset_index_offset = (uint64_t)offset_index;
        c->offset_index_size = (uint32_t)offset_size;
    }
    if (column_index > 0 && column_size > 0) {
        c->column_index_offset = (uint64_t)column_index;
        c->column_index_size = (uint32_t)column_size;
    }
    return DX_OK;
}

static int read_sorting(struct parse *p, struct dx_pq_group *g, uint32_t count)
{
    if (count > p->sorting_room - p->sorting_used)
        return fail_at(p, "more sorting columns than bytes");
    g->sorting = p->f->sortings + p->sorting_used;
    for (uint32_t i = 0; i < count; i++) {
        struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
        struct dx_pq_sorting *s = &g->sorting[i];
        int32_t leaf = -1;

        while (dx_thrift_next(&p->t, &f)) {
            if (f.id == 1)
                dx_thrift_i32(&p->t, &f, &leaf);
            else if (f.id == 2)
                dx_thrift_bool(&p->t, &f, &s->descending);
            else if (f.id == 3)
                dx_thrift_bool(&p->t, &f, &s->nulls_first);
            else
                dx_thrift_skip(&p->t, f.type);
        }
        if (p->t.bytes.failed || leaf < 0 || (uint32_t)leaf >= p->f->leaf_count)
            return fail_at(p, "broken sorting column");
        s->leaf = (uint32_t)leaf;
    }
    g->sorting_count = count;
    p->sorting_used += count;
    return DX_OK;
}

static int read_chunks(struct parse *p, struct dx_pq_group *g, uint32_t count)
{
    if (count != p->f->leaf_count)
        return fail_at(p, "a row group has not one chunk for each column");
    for (uint32_t i = 0; i < count; i++) {
        int rc = read_chunk(p, &p->f->node[p->f->leaf[i]], &g->chunk[i]);

        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int read_group(struct parse *p, struct dx_pq_group *g)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
    struct dx_thrift *t = &p->t;
    int64_t rows = -1, total = 0, offset = 0, compressed = 0;
    bool has_chunks = false, has_sorting = false;
    uint32_t count;
    int rc = DX_OK;

    while (rc == DX_OK && dx_thrift_next(t, &f)) {
        switch (f.id) {
        case 1:
            if (!dx_thrift_list(t, &f, DX_THRIFT_STRUCT, &count))
                break;
            rc = has_chunks ? fail_at(p, "two lists of chunks") : read_chunks(p, g, count);
            has_chunks = true;
            break;
        case 2:
            dx_thrift_i64(t, &f, &total);
            break;
        case 3:
            dx_thrift_i64(t, &f, &rows);
            break;
        case 4:
            if (!dx_thrift_list(t, &f, DX_THRIFT_STRUCT, &count))
                break;
            rc = has_sorting ? fail_at(p, "two lists of sorting columns")
                             : read_sorting(p, g, count);
            has_sorting = true;
            break;
        case 5:
            dx_thrift_i64(t, &f, &offset);
            break;
        case 6:
            dx_thrift_i64(t, &f, &compressed);
            break;
        default: /* 7, the ordinal, is an i16 that overflows in real files */
            dx_thrift_skip(t, f.type);
        }
    }
    if (rc < 0)
        return rc;
    if (t->bytes.failed)
        return fail_at(p, "broken row group");
    if (!has_chunks || rows < 0)
        return fail_at(p, "a row group without chunks or row count");
    g->row_count = (uint64_t)rows;
    g->total_size = total < 0 ? 0 : (uint64_t)total;
    g->offset = offset < 0 ? 0 : (uint64_t)offset;
    g->compressed_size = compressed < 0 ? 0 : (uint64_t)compressed;
    return DX_OK;
}

static int read_groups(struct parse *p, uint32_t count)
{
    struct dx_pq_footer *f = p->f;
    size_t left = dx_bytes_left(&p->t.bytes);
    void *groups = NULL, *chunks = NULL, *sortings = NULL;
    int rc;

    if (p->has_groups)
        return fail_at(p, "two lists of row groups");
    if (f->leaf_count == 0)
        return fail_at(p, "row groups before the schema");
    p->has_groups = true;
    rc = allocate(p, count, GROUP_BYTES_MIN + (uint64_t)CHUNK_BYTES_MIN * f->leaf_count,
                  sizeof(*f->group), &groups, "row groups");
    if (rc < 0)
        return rc;
    f->group = groups;
    f->group_count = count;
    rc = allocate(p, (uint64_t)count * f->leaf_count, CHUNK_BYTES_MIN, sizeof(*f->chunks), &chunks,
                  "column chunks");
    if (rc < 0)
        return rc;
    f->chunks = chunks;
    /* Most files have none or some sorting columns a row group: room for as many as columns. */
    p->sorting_room = (uint64_t)count * f->leaf_count;
    if (p->sorting_room > left / SORTING_BYTES_MIN)
        p->sorting_room = left / SORTING_BYTES_MIN;
    rc = allocate(p, p->sorting_room, 1, sizeof(*f->sortings), &sortings, "sorting columns");
    if (rc < 0)
        return rc;
    f->sortings = sortings;
    for (uint32_t i = 0; i < count; i++) {
        f->group[i].chunk = f->chunks + (size_t)i * f->leaf_count;
        rc = read_group(p, &f->group[i]);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

/* ---- the whole ---- */

static int read_key_values(struct parse *p, uint32_t count)
{
    struct dx_pq_footer *f = p->f;
    void *pairs = NULL;
    int rc;

    if (f->key_value != NULL)
        return fail_at(p, "two lists of key-value metadata");
    rc = allocate(p, count, KEY_VALUE_BYTES_MIN, sizeof(*f->key_value), &pairs, "key-value pairs");
    if (rc < 0)
        return rc;
    f->key_value = pairs;
    f->key_value_count = count;
    for (uint32_t i = 0; i < count && !p->t.bytes.failed; i++) {
        struct dx_thrift_field field = DX_THRIFT_FIELD_INIT;

        while (dx_thrift_next(&p->t, &field)) {
            if (field.id == 1)
                dx_thrift_binary(&p->t, &field, &f->key_value[i].key);
            else if (field.id == 2)
                dx_thrift_binary(&p->t, &field, &f->key_value[i].value);
            else
                dx_thrift_skip(&p->t, field.type);
        }
    }
    return p->t.bytes.failed ? fail_at(p, "broken key-value metadata") : DX_OK;
}

static int check_rows(struct parse *p, int64_t rows)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < p->f->group_count; i++)
        if (__builtin_add_overflow(sum, p->f->group[i].row_count, &sum))
            return fail_at(p, "row counts overflow");
    /* Some writers left the total at 0; what is read goes by the row groups. */
    if (rows < 0 || (rows > 0 && (uint64_t)rows != sum))
        return dx_fail(p->err, DX_E_CORRUPT,
                       "parquet footer: %" PRId64 " rows in the file, %" PRIu64
                       " in its row groups",
                       rows, sum);
    p->f->row_count = sum;
    return DX_OK;
}

static int read_file(struct parse *p)
{
    struct dx_thrift_field f = DX_THRIFT_FIELD_INIT;
    struct dx_thrift *t = &p->t;
    int64_t rows = -1;
    uint32_t count;
    int rc = DX_OK;

    while (rc == DX_OK && dx_thrift_next(t, &f)) {
        switch (f.id) {
        case 1:
            dx_thrift_i32(t, &f, &p->f->version);
            break;
        case 2:
            if (dx_thrift_list(t, &f, DX_THRIFT_STRUCT, &count))
                rc = read_schema(p, count);
            break;
        case 3:
            dx_thrift_i64(t, &f, &rows);
            break;
        case 4:
            if (dx_thrift_list(t, &f, DX_THRIFT_STRUCT, &count))
                rc = read_groups(p, count);
            break;
        case 5:
            if (dx_thrift_list(t, &f, DX_THRIFT_STRUCT, &count))
                rc = read_key_values(p, count);
            break;
        case 6:
            dx_thrift_binary(t, &f, &p->f->created_by);
            break;
        default: /* 8 and 9: some columns are encrypted (read_chunk), and a signature follows */
            dx_thrift_skip(t, f.type);
        }
    }
    if (rc < 0)
        return rc;
    if (t->bytes.failed)
        return fail_at(p, "broken metadata");
    if (p->f->leaf_count == 0)
        return fail_at(p, "no schema");
    return check_rows(p, rows);
}

int dx_pq_footer_parse(struct dx_pq_footer *f, struct dx_span metadata, uint64_t file_size,
                       struct dx_error *err)
{
    return dx_pq_footer_parse_within(f, metadata, file_size, UINT64_MAX, err);
}

int dx_pq_footer_parse_within(struct dx_pq_footer *f, struct dx_span metadata, uint64_t file_size,
                              uint64_t memory, struct dx_error *err)
{
    struct parse p = { .f = f, .t = dx_thrift_of(metadata), .err = err, .memory_left = memory };
    int rc;

    *f = (struct dx_pq_footer){ 0 };
    if (metadata.size > DX_PQ_FOOTER_MAX)
        return dx_fail(err, DX_E_LIMIT, "parquet footer: %zu bytes, limit %u", metadata.size,
                       DX_PQ_FOOTER_MAX);
    if (metadata.size + DX_PQ_TAIL_SIZE > file_size)
        return dx_fail(err, DX_E_TRUNCATED, "parquet footer: %zu bytes in a file of %" PRIu64,
                       metadata.size, file_size);
    f->size = (uint32_t)metadata.size;
    f->offset = file_size - metadata.size - DX_PQ_TAIL_SIZE;
    rc = read_file(&p);
    f->memory = memory - p.memory_left;
    if (rc < 0)
        dx_pq_footer_release(f);
    return rc;
}

/* From the last bytes of a file: size of the metadata before them. */
static int read_tail(struct dx_span tail, uint64_t file_size, uint32_t *size, struct dx_error *err)
{
    if (tail.size < DX_PQ_TAIL_SIZE || file_size < DX_PQ_TAIL_SIZE + 4)
        return dx_fail(err, DX_E_TRUNCATED, "parquet: a file of %" PRIu64 " bytes", file_size);
    tail.data += tail.size - DX_PQ_TAIL_SIZE;
    if (memcmp(tail.data + 4, "PARE", 4) == 0)
        return dx_fail(
            err, DX_E_UNSUPPORTED,
            "parquet: the footer is encrypted, and with it what all columns are; decrypt "
            "the file first");
    if (memcmp(tail.data + 4, "PAR1", 4) != 0)
        return dx_fail(
            err, DX_E_CORRUPT,
            "parquet: no PAR1 at the end: cut short, or no Parquet file; fetch it again");
    *size = dx_load_u32(tail.data);
    if (*size > file_size - DX_PQ_TAIL_SIZE - 4)
        return dx_fail(err, DX_E_TRUNCATED,
                       "parquet: %u bytes of metadata claimed in a file of %" PRIu64, *size,
                       file_size);
    if (*size > DX_PQ_FOOTER_MAX)
        return dx_fail(err, DX_E_LIMIT, "parquet: %u bytes of metadata, limit %u", *size,
                       DX_PQ_FOOTER_MAX);
    return DX_OK;
}

int dx_pq_footer_fetch(dx_pq_read *read, void *ctx, uint64_t file_size, uint64_t max,
                       struct dx_buf *metadata, struct dx_error *err)
{
    uint8_t tail[DX_PQ_TAIL_SIZE];
    uint32_t size = 0;
    uint8_t *to;
    int rc;

    if (file_size < DX_PQ_TAIL_SIZE + 4)
        return dx_fail(err, DX_E_TRUNCATED, "parquet: a file of %" PRIu64 " bytes", file_size);
    rc = read(ctx, file_size - sizeof tail, sizeof tail, tail, err);
    if (rc == DX_OK)
        rc = read_tail(dx_span_of(tail, sizeof tail), file_size, &size, err);
    if (rc < 0)
        return rc;
    if (size > max)
        return dx_fail(err, DX_E_LIMIT,
                       "parquet footer: %" PRIu32 " bytes, %" PRIu64 " are left for it", size, max);
    to = dx_buf_reserve(metadata, size == 0 ? 1 : size);
    if (to == NULL)
        return dx_buf_fail(metadata, err, "metadata");
    rc = read(ctx, file_size - sizeof tail - size, size, to, err);
    metadata->size += rc == DX_OK ? size : 0;
    return rc;
}

int dx_pq_footer_open(struct dx_pq_footer *f, struct dx_span file, struct dx_error *err)
{
    struct dx_span metadata;
    uint32_t size;
    int rc;

    *f = (struct dx_pq_footer){ 0 };
    rc = read_tail(file, file.size, &size, err);
    if (rc < 0)
        return rc;
    if (memcmp(file.data, "PAR1", 4) != 0)
        return dx_fail(err, DX_E_CORRUPT, "parquet: no PAR1 at the start");
    metadata = dx_span_of(file.data + file.size - DX_PQ_TAIL_SIZE - size, size);
    return dx_pq_footer_parse(f, metadata, file.size, err);
}

void dx_pq_footer_release(struct dx_pq_footer *f)
{
    free(f->node);
    free(f->leaf);
    free(f->group);
    free(f->chunks);
    free(f->sortings);
    free(f->key_value);
    *f = (struct dx_pq_footer){ 0 };
}

int64_t dx_pq_footer_leaf(const struct dx_pq_footer *f, struct dx_span name)
{
    for (uint32_t i = 0; i < f->leaf_count; i++) {
        const struct dx_pq_node *n = &f->node[f->leaf[i]];

        if (n->parent == 0 && dx_span_equal(n->name, name))
            return i;
    }
    return -1;
}

const char *dx_pq_footer_path(const struct dx_pq_footer *f, uint32_t leaf, char *text, size_t size)
{
    uint32_t node[DX_PQ_SCHEMA_DEPTH_MAX + 1];
    unsigned depth = 0;
    size_t used = 0;

    assert(leaf < f->leaf_count && size > 0);
    for (uint32_t n = f->leaf[leaf]; n != 0; n = f->node[n].parent)
        node[depth++] = n;
    text[0] = '\0';
    while (depth-- > 0 && used < size) {
        const struct dx_span *name = &f->node[node[depth]].name;
        int n = snprintf(text + used, size - used, "%.*s%s",
                         name->size > 200 ? 200 : (int)name->size,
                         name->data == NULL ? "" : (const char *)name->data, depth == 0 ? "" : ".");

        used += (size_t)(n < 0 ? 0 : n);
    }
    return text;
}

static int refuse(struct dx_error *err, const char *path, const char *why)
{
    return dx_fail(err, DX_E_UNSUPPORTED, "column %s is %s", path, why);
}

int dx_pq_footer_column(const struct dx_pq_footer *f, uint32_t group, uint32_t leaf,
                        struct dx_pq_column *column, struct dx_error *err)
{
    const struct dx_pq_node *n = &f->node[f->leaf[leaf]];
    char path[160];
    int rc;

    if (n->max_rep > 0 || n->max_def > 1)
        return refuse(err, dx_pq_footer_path(f, leaf, path, sizeof(path)),
                      n->max_rep > 0 ? "repeated" : "nested");
    rc = dx_pq_footer_nested_column(f, group, leaf, column, err);
    column->with_levels = false;
    return rc;
}

int dx_pq_footer_nested_column(const struct dx_pq_footer *f, uint32_t group, uint32_t leaf,
                               struct dx_pq_column *column, struct dx_error *err)
{
    const struct dx_pq_chunk *c;
    const struct dx_pq_node *n;
    uint64_t start;
    char path[160];

    assert(group < f->group_count && leaf < f->leaf_count);
    c = &f->group[group].chunk[leaf];
    n = &f->node[f->leaf[leaf]];
    dx_pq_footer_path(f, leaf, path, sizeof(path));
    *column = (struct dx_pq_column){
        .type = (uint8_t)n->type,
        .codec = c->codec,
        .max_def = n->max_def,
        .max_rep = n->max_rep,
        .time_unit = n->logical == DX_PQ_LOGICAL_TIMESTAMP ? n->time_unit : DX_PQ_TIME_NONE,
        .is_unsigned = n->logical == DX_PQ_LOGICAL_INTEGER && n->is_unsigned,
        .is_low_bit_first = f->created_by.size >= strlen(IMPALA) &&
                            memcmp(f->created_by.data, IMPALA, strlen(IMPALA)) == 0,
        .type_length = n->type_length,
        .with_levels = true,
    };
    if (c->is_encrypted)
        return refuse(err, path, "encrypted; decrypt it first, or do without that column");
    if (c->is_external)
        return refuse(err, path, "in another file");
    if (n->max_rep == 0 && c->value_count != f->group[group].row_count)
        return dx_fail(err, DX_E_CORRUPT,
                       "column %s: %" PRIu64 " values in row group %u of %" PRIu64 " rows", path,
                       c->value_count, group, f->group[group].row_count);
    start = c->data_page_offset;
    if (c->has_dictionary_offset && c->dictionary_offset < start)
        start = c->dictionary_offset;
    if (start > f->offset || c->compressed_size > f->offset - start)
        return dx_fail(err, DX_E_CORRUPT,
                       "column %s: %" PRIu64 " bytes at %" PRIu64
                       " in row group %u reach over the data's end at %" PRIu64,
                       path, c->compressed_size, start, group, f->offset);
    return DX_OK;
}

/* ---- writing ---- */

static void put_unit(struct dx_thrift_out *o, int16_t id, unsigned unit)
{
    dx_thrift_put_begin(o, id);
    dx_thrift_put_begin(o, (int16_t)(MILLIS_FIELD + (int)unit - DX_PQ_TIME_MILLIS));
    dx_thrift_put_end(o);
    dx_thrift_put_end(o);
}

static int converted_of(const struct dx_pq_node *n)
{
    switch (n->logical) {
    case DX_PQ_LOGICAL_STRING:
        return 0;
    case DX_PQ_LOGICAL_TIMESTAMP:
        return n->time_unit == DX_PQ_TIME_MILLIS ? 9 : n->time_unit == DX_PQ_TIME_MICROS ? 10 : -1;
    case DX_PQ_LOGICAL_INTEGER:
        return (n->is_unsigned ? 11 : 15) + __builtin_ctz(n->bit_width) - 3;
    default:
        return -1;
    }
}

static void put_logical(struct dx_thrift_out *o, const struct dx_pq_node *n)
{
    dx_thrift_put_begin(o, 10);
    switch (n->logical) {
    case DX_PQ_LOGICAL_STRING:
        dx_thrift_put_begin(o, 1);
        dx_thrift_put_end(o);
        break;
    case DX_PQ_LOGICAL_TIMESTAMP:
        dx_thrift_put_begin(o, 8);
        dx_thrift_put_bool(o, 1, n->is_utc);
        put_unit(o, 2, n->time_unit);
        dx_thrift_put_end(o);
        break;
    default:
        assert(n->logical == DX_PQ_LOGICAL_INTEGER);
        dx_thrift_put_begin(o, 10);
        dx_thrift_put_i8(o, 1, (int8_t)n->bit_width);
        dx_thrift_put_bool(o, 2, !n->is_unsigned);
        dx_thrift_put_end(o);
    }
    dx_thrift_put_end(o);
}

static void put_node(struct dx_thrift_out *o, const struct dx_pq_node *n, bool is_root)
{
    int converted = converted_of(n);

    dx_thrift_put_begin(o, 0);
    if (n->type >= 0)
        dx_thrift_put_i32(o, 1, n->type);
    if (n->type_length > 0)
        dx_thrift_put_i32(o, 2, (int32_t)n->type_length);
    if (!is_root)
        dx_thrift_put_i32(o, 3, n->repetition);
    dx_thrift_put_binary(o, 4, n->name);
    if (is_root)
        dx_thrift_put_i32(o, 5, (int32_t)n->child_count);
    if (converted >= 0)
        dx_thrift_put_i32(o, 6, converted);
    if (n->logical != DX_PQ_LOGICAL_NONE)
        put_logical(o, n);
    dx_thrift_put_end(o);
}

static void put_statistics(struct dx_thrift_out *o, int16_t id, const struct dx_pq_statistics *s)
{
    if (!s->has_null_count && s->min.data == NULL && s->max.data == NULL)
        return;
    dx_thrift_put_begin(o, id);
    if (s->has_null_count)
        dx_thrift_put_i64(o, 3, (int64_t)s->null_count);
    if (s->max.data != NULL)
        dx_thrift_put_binary(o, 5, s->max);
    if (s->min.data != NULL)
        dx_thrift_put_binary(o, 6, s->min);
    if (s->max.data != NULL)
        dx_thrift_put_bool(o, 7, s->max_is_exact);
    if (s->min.data != NULL)
        dx_thrift_put_bool(o, 8, s->min_is_exact);
    dx_thrift_put_end(o);
}

static void put_chunk(struct dx_thrift_out *o, const struct dx_pq_node *n,
                      const struct dx_pq_chunk *c)
{
    uint64_t start = c->has_dictionary_offset ? c->dictionary_offset : c->data_page_offset;

    dx_thrift_put_begin(o, 0);
    dx_thrift_put_i64(o, 2, (int64_t)start);
    dx_thrift_put_begin(o, 3);
    dx_thrift_put_i32(o, 1, n->type);
    dx_thrift_put_list(o, 2, DX_THRIFT_I32, (uint32_t)__builtin_popcount(c->encodings));
    for (int i = 0; i < 32; i++)
        if ((c->encodings >> i & 1) != 0)
            dx_thrift_put_element_int(o, i);
    dx_thrift_put_list(o, 3, DX_THRIFT_BINARY, 1);
    dx_thrift_put_element_binary(o, n->name);
    dx_thrift_put_i32(o, 4, c->codec);
    dx_thrift_put_i64(o, 5, (int64_t)c->value_count);
    dx_thrift_put_i64(o, 6, (int64_t)c->uncompressed_size);
    dx_thrift_put_i64(o, 7, (int64_t)c->compressed_size);
    dx_thrift_put_i64(o, 9, (int64_t)c->data_page_offset);
    if (c->has_dictionary_offset)
        dx_thrift_put_i64(o, 11, (int64_t)c->dictionary_offset);
    put_statistics(o, 12, &c->statistics);
    dx_thrift_put_end(o);
    if (c->offset_index_size > 0) {
        dx_thrift_put_i64(o, 4, (int64_t)c->offset_index_offset);
        dx_thrift_put_i32(o, 5, (int32_t)c->offset_index_size);
    }
    if (c->column_index_size > 0) {
        dx_thrift_put_i64(o, 6, (int64_t)c->column_index_offset);
        dx_thrift_put_i32(o, 7, (int32_t)c->column_index_size);
    }
    dx_thrift_put_end(o);
}

static void put_group(struct dx_thrift_out *o, const struct dx_pq_footer *f, uint32_t number)
{
    const struct dx_pq_group *g = &f->group[number];

    dx_thrift_put_begin(o, 0);
    dx_thrift_put_list(o, 1, DX_THRIFT_STRUCT, f->leaf_count);
    for (uint32_t i = 0; i < f->leaf_count; i++)
        put_chunk(o, &f->node[f->leaf[i]], &g->chunk[i]);
    dx_thrift_put_i64(o, 2, (int64_t)g->total_size);
    dx_thrift_put_i64(o, 3, (int64_t)g->row_count);
    if (g->sorting_count > 0)
        dx_thrift_put_list(o, 4, DX_THRIFT_STRUCT, g->sorting_count);
    for (uint32_t i = 0; i < g->sorting_count; i++) {
        dx_thrift_put_begin(o, 0);
        dx_thrift_put_i32(o, 1, (int32_t)g->sorting[i].leaf);
        dx_thrift_put_bool(o, 2, g->sorting[i].descending);
        dx_thrift_put_bool(o, 3, g->sorting[i].nulls_first);
        dx_thrift_put_end(o);
    }
    if (g->offset > 0)
        dx_thrift_put_i64(o, 5, (int64_t)g->offset);
    if (g->compressed_size > 0)
        dx_thrift_put_i64(o, 6, (int64_t)g->compressed_size);
    if (number <= INT16_MAX)
        dx_thrift_put_i16(o, 7, (int16_t)number);
    dx_thrift_put_end(o);
}

static void put_key_values(struct dx_thrift_out *o, const struct dx_pq_footer *f)
{
    if (f->key_value_count == 0)
        return;
    dx_thrift_put_list(o, 5, DX_THRIFT_STRUCT, f->key_value_count);
    for (uint32_t i = 0; i < f->key_value_count; i++) {
        dx_thrift_put_begin(o, 0);
        dx_thrift_put_binary(o, 1, f->key_value[i].key);
        if (f->key_value[i].value.data != NULL)
            dx_thrift_put_binary(o, 2, f->key_value[i].value);
        dx_thrift_put_end(o);
    }
}

void dx_pq_footer_write(const struct dx_pq_footer *f, struct dx_buf *out)
{
    struct dx_thrift_out o = dx_thrift_out_to(out);
    size_t start = out->size;

    assert(f->node_count == f->leaf_count + 1);
    dx_thrift_put_begin(&o, 0);
    dx_thrift_put_i32(&o, 1, f->version);
    dx_thrift_put_list(&o, 2, DX_THRIFT_STRUCT, f->node_count);
    for (uint32_t i = 0; i < f->node_count; i++)
        put_node(&o, &f->node[i], i == 0);
    dx_thrift_put_i64(&o, 3, (int64_t)f->row_count);
    dx_thrift_put_list(&o, 4, DX_THRIFT_STRUCT, f->group_count);
    for (uint32_t i = 0; i < f->group_count; i++)
        put_group(&o, f, i);
    put_key_values(&o, f);
    if (f->created_by.data != NULL)
        dx_thrift_put_binary(&o, 6, f->created_by);
    dx_thrift_put_list(&o, 7, DX_THRIFT_STRUCT, f->leaf_count);
    for (uint32_t i = 0; i < f->leaf_count; i++) { /* each in the order of its type */
        dx_thrift_put_begin(&o, 0);
        dx_thrift_put_begin(&o, 1);
        dx_thrift_put_end(&o);
        dx_thrift_put_end(&o);
    }
    dx_thrift_put_end(&o);
    dx_buf_u32(out, (uint32_t)(out->size - start));
    dx_buf_str(out, "PAR1");
}
