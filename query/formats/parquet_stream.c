/* SPDX-License-Identifier: Apache-2.0 */
#include "query/formats/parquet_stream.h"

#include "parquet/footer.h"
#include "parquet/page_write.h"

#include <assert.h>
#include <stdlib.h>

#define LEVEL 1 /* of zstd: the network or the disk is slower, and a server waits for neither */
#define MAGIC "PAR1"
#define FOOTER_MAX ((size_t)64 << 20)

struct chunk {
    struct dx_buf pages;
    uint64_t value_count, plain_size;
};

struct dx_parquet_stream {
    size_t column_count;
    struct dx_row_column column[DX_ROW_COLUMNS_MAX];
    struct dx_pq_column type[DX_ROW_COLUMNS_MAX];
    struct chunk chunk[DX_ROW_COLUMNS_MAX];
    struct dx_pq_page_writer writer;
    struct dx_span *spans; /* of a text column of one batch */
    size_t span_room;
    uint64_t group_rows; /* of the row group at work */
    uint64_t offset;     /* bytes of the file so far */
    uint64_t row_count;
    struct dx_pq_group *group;
    uint32_t group_count, group_room;
};

static struct dx_pq_column type_of(enum dx_column_type type)
{
    struct dx_pq_column c = { .type = DX_PQ_BYTE_ARRAY, .codec = DX_PQ_ZSTD, .max_def = 1 };

    switch (type) {
    case DX_COLUMN_HEX64:
    case DX_COLUMN_U64:
        c.type = DX_PQ_INT64;
        c.is_unsigned = true;
        break;
    case DX_COLUMN_F64:
        c.type = DX_PQ_DOUBLE;
        break;
    case DX_COLUMN_TIME:
        c.type = DX_PQ_INT64;
        c.time_unit = DX_PQ_TIME_MICROS;
        break;
    case DX_COLUMN_TEXT:
    case DX_COLUMN_JSON:
        break;
    }
    return c;
}

/* Hashes are stored as they are, sorted texts by what differs from the text before. */
static unsigned encoding_of(enum dx_column_type type)
{
    return type == DX_COLUMN_TEXT                            ? DX_PQ_DELTA_BYTE_ARRAY
           : type == DX_COLUMN_U64 || type == DX_COLUMN_TIME ? DX_PQ_DELTA_BINARY_PACKED
                                                             : DX_PQ_PLAIN;
}

int dx_parquet_stream_new(struct dx_parquet_stream **out, const struct dx_row_column *columns,
                          size_t count, struct dx_error *err)
{
    struct dx_parquet_stream *p = calloc(1, sizeof *p);

    *out = p;
    if (p == NULL)
        return dx_no_memory(err, "Parquet file");
    p->writer = (struct dx_pq_page_writer)DX_PQ_PAGE_WRITER_INIT(LEVEL);
    p->column_count = count;
    for (size_t i = 0; i < count; i++) {
        p->column[i] = columns[i];
        p->type[i] = type_of(columns[i].type);
        dx_buf_init(&p->chunk[i].pages, DX_COLUMN_TEXT_MAX);
    }
    return DX_OK;
}

void dx_parquet_stream_free(struct dx_parquet_stream **out)
{
    struct dx_parquet_stream *p = *out;

    *out = NULL;
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->column_count; i++)
        dx_buf_release(&p->chunk[i].pages);
    for (uint32_t i = 0; i < p->group_count; i++)
        free(p->group[i].chunk);
    dx_pq_page_writer_release(&p->writer);
    free(p->group);
    free(p->spans);
    free(p);
}

static int need_spans(struct dx_parquet_stream *p, size_t count, struct dx_error *err)
{
    struct dx_span *more;

    if (count <= p->span_room)
        return DX_OK;
    more = realloc(p->spans, count * sizeof *more);
    if (more == NULL)
        return dx_no_memory(err, "Parquet file");
    p->spans = more;
    p->span_room = count;
    return DX_OK;
}

static void point_at_texts(const struct dx_batch_column *c, uint32_t rows, struct dx_span *spans)
{
    static const uint8_t nothing[1];
    uint32_t begin = 0;

    for (uint32_t i = 0; i < rows; i++) {
        uint32_t end;

        memcpy(&end, c->ends.data + 4 * (size_t)i, sizeof end);
        spans[i] = c->valid.data[i] == 0 ? dx_span_of(NULL, 0)
                   : end == begin        ? dx_span_of(nothing, 0)
                                         : dx_span_of(c->text.data + begin, end - begin);
        begin = end;
    }
}

static int add_page(struct dx_parquet_stream *p, size_t i, const struct dx_batch_column *c,
                    uint32_t rows, struct dx_error *err)
{
    struct dx_pq_values v = { .row_count = rows,
                              .null_count = c->null_count,
                              .valid = c->null_count == 0 ? NULL : c->valid.data };
    struct chunk *chunk = &p->chunk[i];
    struct dx_pq_page_info info;
    int rc;

    if (dx_column_is_text(c->type)) {
        point_at_texts(c, rows, p->spans);
        v.spans = p->spans;
    } else {
        v.ints = (int64_t *)(void *)c->ints.data;
    }
    rc = dx_pq_page_write(&p->writer, &p->type[i], encoding_of(c->type), &v, &chunk->pages, &info,
                          err);
    chunk->plain_size += rc == DX_OK ? info.uncompressed_size : 0;
    chunk->value_count += rows;
    return rc;
}

static int new_group(struct dx_parquet_stream *p, struct dx_pq_group **out, struct dx_error *err)
{
    struct dx_pq_group *g;

    if (p->group_count == DX_PARQUET_GROUPS_MAX)
        return dx_fail(err, DX_E_LIMIT,
                       "Parquet file: %d row groups, which is the most; ask for parts with plan=N",
                       DX_PARQUET_GROUPS_MAX);
    if (p->group_count == p->group_room) {
        uint32_t room = p->group_room == 0 ? 16 : 2 * p->group_room;

        g = realloc(p->group, room * sizeof *g);
        if (g == NULL)
            return dx_no_memory(err, "Parquet file");
        p->group = g;
        p->group_room = room;
    }
    g = &p->group[p->group_count];
    *g = (struct dx_pq_group){ .row_count = p->group_rows, .offset = p->offset };
    g->chunk = calloc(p->column_count, sizeof *g->chunk);
    if (g->chunk == NULL)
        return dx_no_memory(err, "Parquet file");
    p->group_count++;
    *out = g;
    return DX_OK;
}

static void put_chunk(struct dx_parquet_stream *p, size_t i, struct dx_pq_group *g,
                      struct dx_buf *out)
{
    struct chunk *c = &p->chunk[i];

    g->chunk[i] = (struct dx_pq_chunk){ .codec = DX_PQ_ZSTD,
                                        .encodings = 1u << encoding_of(p->column[i].type) |
                                                     1u << DX_PQ_RLE,
                                        .value_count = c->value_count,
                                        .uncompressed_size = c->plain_size,
                                        .compressed_size = c->pages.size,
                                        .data_page_offset = p->offset };
    g->total_size += c->plain_size;
    g->compressed_size += c->pages.size;
    p->offset += c->pages.size;
    dx_buf_append(out, c->pages.data, c->pages.size);
    dx_buf_clear(&c->pages);
    c->value_count = c->plain_size = 0;
}

static int end_group(struct dx_parquet_stream *p, struct dx_buf *out, struct dx_error *err)
{
    struct dx_pq_group *g;
    int rc;

    if (p->group_rows == 0)
        return DX_OK;
    rc = new_group(p, &g, err);
    for (size_t i = 0; rc == DX_OK && i < p->column_count; i++)
        put_chunk(p, i, g, out);
    p->row_count += p->group_rows;
    p->group_rows = 0;
    return rc;
}

static void begin_file(struct dx_parquet_stream *p, struct dx_buf *out)
{
    if (p->offset > 0)
        return;
    dx_buf_str(out, MAGIC);
    p->offset = strlen(MAGIC);
}

int dx_parquet_stream_add(struct dx_parquet_stream *p, const struct dx_column_batch *batch,
                          struct dx_buf *out, struct dx_error *err)
{
    size_t held = 0;
    int rc = batch->row_count == 0 ? DX_OK : need_spans(p, batch->row_count, err);

    assert(batch->column_count == p->column_count);
    begin_file(p, out);
    if (batch->row_count == 0 || rc < 0)
        return rc;
    for (size_t i = 0; rc == DX_OK && i < p->column_count; i++) {
        rc = add_page(p, i, &batch->column[i], batch->row_count, err);
        held += p->chunk[i].pages.size;
    }
    p->group_rows += batch->row_count;
    if (rc == DX_OK && (p->group_rows >= DX_PARQUET_GROUP_ROWS || held >= DX_PARQUET_GROUP_BYTES))
        rc = end_group(p, out, err);
    return rc;
}

static void fill_node(const struct dx_parquet_stream *p, size_t i, struct dx_pq_node *n)
{
    enum dx_column_type type = p->column[i].type;

    *n = (struct dx_pq_node){ .name = dx_span_str(p->column[i].name),
                              .type = (int8_t)p->type[i].type,
                              .repetition = DX_PQ_OPTIONAL,
                              .max_def = 1 };
    if (dx_column_is_text(type)) {
        n->logical = DX_PQ_LOGICAL_STRING;
    } else if (type == DX_COLUMN_TIME) {
        n->logical = DX_PQ_LOGICAL_TIMESTAMP;
        n->time_unit = DX_PQ_TIME_MICROS;
        n->is_utc = true;
    } else if (type != DX_COLUMN_F64) {
        n->logical = DX_PQ_LOGICAL_INTEGER;
        n->bit_width = 64;
        n->is_unsigned = true;
    }
}

int dx_parquet_stream_end(struct dx_parquet_stream *p, struct dx_buf *out, struct dx_error *err)
{
    struct dx_pq_node node[DX_ROW_COLUMNS_MAX + 1] = {
        { .name = dx_span_str("schema"), .child_count = (uint32_t)p->column_count, .type = -1 }
    };
    uint32_t leaf[DX_ROW_COLUMNS_MAX];
    struct dx_pq_footer f = { .version = 2,
                              .created_by = dx_span_str("domaindex"),
                              .node = node,
                              .node_count = (uint32_t)p->column_count + 1,
                              .leaf = leaf,
                              .leaf_count = (uint32_t)p->column_count };
    struct dx_buf text = DX_BUF_INIT(FOOTER_MAX);
    int rc;

    begin_file(p, out);
    rc = end_group(p, out, err);
    for (size_t i = 0; i < p->column_count; i++) {
        fill_node(p, i, &node[i + 1]);
        leaf[i] = (uint32_t)i + 1;
    }
    f.row_count = p->row_count;
    f.group = p->group;
    f.group_count = p->group_count;
    if (rc == DX_OK)
        dx_pq_footer_write(&f, &text);
    if (text.failed)
        rc = dx_buf_fail(&text, err, "Parquet footer");
    dx_buf_append(out, text.data, text.size);
    dx_buf_release(&text);
    return rc;
}
