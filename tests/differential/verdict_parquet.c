/* SPDX-License-Identifier: Apache-2.0
 * verdict_parquet.c - a Parquet file, column by column: "no CODE reason", or "ok ROWS" and for each leaf a line "C", a tab, and separated by
 * tabs its physical type, logical type, i or u and the bits of an integer type (0: of none), "nested" or "flat", and its path in hexadecimal; behind it a line a value:
 * a number, x and bytes in hexadecimal, N for null (of a nested column a value that is not there is left out). A column that is refused ends
 * with a line "E", a tab, the code, a tab, the reason.
 */
#include "parquet/chunk.h"
#include "tests/differential/verdict.h"

#include <inttypes.h>

#define COLUMN_MAX ((size_t)4 << 20) /* bytes of text of a column */

static int read_range(void *file, uint64_t offset, size_t size, uint8_t *to, struct dx_error *err)
{
    const struct dx_span *f = file;

    if (offset > f->size || size > f->size - offset)
        return dx_fail(err, DX_E_TRUNCATED, "behind the end");
    if (size > 0)
        memcpy(to, f->data + offset, size);
    return DX_OK;
}

/* Of the repeated node of each repetition level, the definition level at which it has an element. */
static void find_levels(const struct dx_pq_footer *f, uint32_t leaf, uint8_t level_def[256])
{
    memset(level_def, 0, 256);
    for (uint32_t node = f->leaf[leaf]; node > 0; node = f->node[node].parent)
        if (f->node[node].repetition == DX_PQ_REPEATED)
            level_def[f->node[node].max_rep] = f->node[node].max_def;
}

/* An element that follows a list which is null or empty, or an absent one that goes on with a list. */
static bool levels_contradict(const struct dx_pq_values *v, uint32_t i, uint8_t *def_before,
                              const uint8_t level_def[256])
{
    bool wrong = false;

    if (v->rep != NULL && v->def != NULL) {
        uint8_t least = v->rep[i] > 0 ? level_def[v->rep[i]] : 0;

        wrong = v->def[i] < least || *def_before < least;
        *def_before = v->def[i];
    }
    return wrong;
}

static void put_value(const struct dx_pq_column *c, const struct dx_pq_values *v, uint32_t i,
                      bool is_nested, struct dx_buf *out)
{
    int64_t us;

    if (dx_pq_is_null(v, i)) {
        dx_buf_str(out, is_nested ? "" : "N\n");
    } else if (v->spans != NULL && c->type >= DX_PQ_BYTE_ARRAY) {
        dx_buf_u8(out, 'x');
        dx_verdict_hex(out, v->spans[i]);
        dx_buf_u8(out, '\n');
    } else if (c->type == DX_PQ_INT96) {
        if (dx_pq_int96_us(v->spans[i].data, &us))
            dx_buf_fmt(out, "%" PRId64 "\n", us);
        else
            dx_buf_str(out, "overflow\n");
    } else if (c->is_unsigned) {
        dx_buf_fmt(out, "%" PRIu64 "\n", (uint64_t)v->ints[i]);
    } else {
        dx_buf_fmt(out, "%" PRId64 "\n", v->ints[i]);
    }
}

static int read_column(struct dx_span file, const struct dx_pq_footer *f, uint32_t leaf,
                       bool is_nested, struct dx_buf *out, struct dx_error *err)
{
    static const struct dx_pq_limits limits = { 1 << 20, 1 << 17 };
    const struct dx_pq_fetch fetch = { read_range, &file, 4096 };
    struct dx_pq_reader r = DX_PQ_READER_INIT;
    struct dx_pq_values v = DX_PQ_VALUES_INIT;
    size_t begin = out->size;
    uint64_t rows; /* that began; readers stop behind those of the row group */
    uint8_t level_def[256];
    uint8_t def_before = 0;
    int rc = 0;

    find_levels(f, leaf, level_def);
    dx_buf_init(&r.walk.window, 0);
    for (uint32_t g = 0; rc == 0 && g < f->group_count; g++) {
        rc = is_nested ? dx_pq_reader_open_fetch(&r, &fetch, f, g, leaf, &limits, err)
                       : dx_pq_reader_open(&r, file, f, g, leaf, &limits, err);
        rows = 0;
        while (rc >= 0 && (rc = dx_pq_reader_next(&r, &v, err)) == 1) {
            for (uint32_t i = 0; i < v.row_count && rc >= 0; i++) {
                if (levels_contradict(&v, i, &def_before, level_def))
                    rc = dx_fail(err, DX_E_CORRUPT, "levels that contradict each other");
                rows += v.rep == NULL || v.rep[i] == 0;
                if (rows <= f->group[g].row_count)
                    put_value(&r.walk.column, &v, i, is_nested, out);
            }
            if (rc >= 0 && out->size - begin > COLUMN_MAX)
                rc = dx_fail(err, DX_E_LIMIT, "too much for this test");
        }
    }
    dx_pq_reader_release(&r);
    dx_pq_values_release(&v);
    return rc;
}

void dx_verdict_parquet(struct dx_span input, struct dx_buf *out)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pq_footer f;
    char path[1000];
    int rc = dx_pq_footer_open(&f, input, &err);

    if (rc < 0) {
        dx_buf_fmt(out, "no %d %s", rc, err.text);
        return;
    }
    dx_buf_fmt(out, "ok %" PRIu64 "\n", f.row_count);
    for (uint32_t leaf = 0; leaf < f.leaf_count && out->size < DX_VERDICT_MAX / 2; leaf++) {
        const struct dx_pq_node *n = &f.node[f.leaf[leaf]];
        bool is_nested = n->max_rep > 0 || n->max_def > 1;

        dx_pq_footer_path(&f, leaf, path, sizeof path);
        dx_buf_fmt(out, "C\t%s\t%s\t%c%u\t%s\t", dx_pq_type_name((unsigned)n->type),
                   dx_pq_logical_name(n->logical), n->is_unsigned ? 'u' : 'i',
                   n->logical == DX_PQ_LOGICAL_INTEGER ? n->bit_width : 0u,
                   is_nested ? "nested" : "flat");
        dx_verdict_hex(out, dx_span_str(path));
        dx_buf_u8(out, '\n');
        rc = read_column(input, &f, leaf, is_nested, out, &err);
        if (rc < 0)
            dx_buf_fmt(out, "E\t%d\t%s\n", rc, err.text);
    }
    dx_pq_footer_release(&f);
}
