/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/rows_twice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/text/locator.h"

static int by_hash(const void *a, const void *b)
{
    return memcmp(((const struct dx_hash128 *)a)->bytes, ((const struct dx_hash128 *)b)->bytes,
                  sizeof(struct dx_hash128));
}

static void add_text(struct dx_buf *b, struct dx_span text)
{
    dx_buf_u64(b, text.size);
    dx_buf_append(b, text.data, text.size);
}

/* Whatever the order of the columns: the sum of what each says. */
static void sum_extras(struct dx_rows_twice *t, const struct dx_lake_scan *scan,
                       const struct dx_lake_row *row, uint64_t sum[2])
{
    size_t extra = 0;

    for (size_t i = 0; i < scan->column_count; i++) {
        struct dx_span value;
        struct dx_hash128 hash;
        uint64_t part[2];

        if (scan->column[i].role != DX_LAKE_EXTRA)
            continue;
        value = row->extra[extra++];
        if (value.data == NULL ||
            dx_span_equal(scan->column[i].name, dx_span_str(DX_LOCATOR_COLUMN)))
            continue;
        dx_buf_clear(&t->scratch);
        add_text(&t->scratch, scan->column[i].name);
        add_text(&t->scratch, value);
        hash = dx_hash128_of(dx_span_of(t->scratch.data, t->scratch.size));
        memcpy(part, hash.bytes, sizeof part);
        sum[0] += part[0];
        sum[1] += part[1];
    }
}

static struct dx_hash128 hash_page(struct dx_rows_twice *t, const struct dx_lake_row *row)
{
    dx_buf_clear(&t->scratch);
    add_text(&t->scratch, row->host);
    add_text(&t->scratch, row->path_query);
    return dx_hash128_of(dx_span_of(t->scratch.data, t->scratch.size));
}

static struct dx_hash128 hash_row(struct dx_rows_twice *t, const struct dx_lake_scan *scan,
                                  const struct dx_lake_row *row)
{
    uint64_t sum[2] = { 0, 0 };

    sum_extras(t, scan, row, sum);
    dx_buf_clear(&t->scratch);
    add_text(&t->scratch, row->scheme);
    dx_buf_u64(&t->scratch, row->has_ts);
    dx_buf_u64(&t->scratch, row->has_ts ? (uint64_t)row->ts_us : 0);
    dx_buf_u64(&t->scratch, sum[0]);
    dx_buf_u64(&t->scratch, sum[1]);
    return dx_hash128_of(dx_span_of(t->scratch.data, t->scratch.size));
}

void dx_rows_twice_end(struct dx_rows_twice *t)
{
    struct dx_hash128 *rows = (struct dx_hash128 *)(void *)t->rows.data;
    size_t count = t->rows.size / sizeof *rows;
    uint64_t before = t->count;

    if (count > 1)
        qsort(rows, count, sizeof *rows, by_hash);
    for (size_t i = 1; i < count; i++)
        t->count += by_hash(&rows[i - 1], &rows[i]) == 0;
    if (before == 0 && t->count > 0)
        memcpy(t->first, t->at, sizeof t->first);
    dx_buf_clear(&t->rows);
}

int dx_rows_twice_add(struct dx_rows_twice *t, const struct dx_lake_scan *scan,
                      const struct dx_lake_row *row, struct dx_error *err)
{
    struct dx_hash128 page = hash_page(t, row);
    struct dx_hash128 hash = hash_row(t, scan, row);

    if (t->rows.size + sizeof hash > t->rows.max)
        dx_rows_twice_end(t);
    if (!dx_hash128_equal(&page, &t->page)) {
        dx_rows_twice_end(t);
        t->page = page;
        (void)snprintf(t->at, sizeof t->at, "%.*s://%.*s%.*s", (int)row->scheme.size,
                       (const char *)row->scheme.data, (int)row->host.size,
                       (const char *)row->host.data, (int)row->path_query.size,
                       (const char *)row->path_query.data);
    }
    dx_buf_append(&t->rows, &hash, sizeof hash);
    return t->rows.failed || t->scratch.failed ? dx_buf_fail(&t->rows, err, "rows of one URL")
                                               : DX_OK;
}

void dx_rows_twice_release(struct dx_rows_twice *t)
{
    dx_buf_release(&t->rows);
    dx_buf_release(&t->scratch);
}
