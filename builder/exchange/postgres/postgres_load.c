/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/postgres/postgres_load.h"

#include <inttypes.h>
#include <stdio.h>

#include "builder/exchange/numbers/visible_rows.h"
#include "builder/exchange/postgres/postgres.h"
#include "format/exchange/pg_copy.h"

#define SEND_BYTES (256u << 10)
#define COPY_BYTES (64u << 20) /* the server's errors are heard when a COPY ends */
#define ROW_ROOM ((size_t)4 * DX_LAKE_ROW_BYTES_MAX) /* a mended byte is three */
#define TELL_EVERY 4096
#define URL_SHOWN 200

/* ---- COPY ---- */

static int begin_copy(struct dx_postgres_load *l, struct dx_error *err)
{
    if (l->dry_run)
        return DX_OK;
    dx_buf_clear(&l->sql);
    dx_buf_str(&l->sql, "COPY ");
    dx_postgres_quote(l->ddl->table, "", &l->sql);
    dx_buf_str(&l->sql, " (");
    dx_postgres_ddl_columns(l->ddl, &l->sql);
    dx_buf_str(&l->sql, ") FROM STDIN (FORMAT binary)");
    dx_buf_u8(&l->sql, 0);
    if (l->sql.failed)
        return dx_buf_fail(&l->sql, err, "export: a statement");
    l->copied = 0;
    dx_buf_clear(&l->copy);
    dx_pg_copy_begin(&l->copy);
    return dx_postgres_copy(l->db, (const char *)l->sql.data, err);
}

static int send(struct dx_postgres_load *l, struct dx_error *err)
{
    int rc;

    if (l->copy.failed)
        return dx_buf_fail(&l->copy, err, "export: a row");
    rc = l->dry_run ? DX_OK : dx_postgres_put(l->db, dx_span_of(l->copy.data, l->copy.size), err);
    l->copied += l->copy.size;
    dx_buf_clear(&l->copy);
    return rc;
}

/* A trigger or a rule of the table may drop rows without an error. */
static int end_copy(struct dx_postgres_load *l, struct dx_error *err)
{
    uint64_t rows = 0;
    int rc;

    dx_pg_copy_end(&l->copy);
    rc = send(l, err);
    if (rc < 0 || l->dry_run)
        return rc;
    rc = dx_postgres_copied(l->db, &rows, err);
    l->taken += rows;
    if (rc == DX_OK && l->taken != l->n.rows)
        rc = dx_fail(err, DX_E_CONFLICT,
                     "PostgreSQL: the table took %" PRIu64 " of %" PRIu64
                     " rows; look for a trigger that drops rows",
                     l->taken, l->n.rows);
    return rc;
}

/* ---- a row ---- */

static struct dx_span column_of(const struct dx_lake_scan *scan, const struct dx_lake_row *row,
                                const char *name)
{
    size_t k = 0;

    for (size_t i = 0; i < scan->column_count; i++) {
        const struct dx_lake_scan_column *c = &scan->column[i];

        if (c->role != DX_LAKE_EXTRA && c->role != DX_LAKE_RAW_URL)
            continue;
        if (dx_span_equal(c->name, dx_span_str(name)))
            return c->role == DX_LAKE_RAW_URL ? row->raw_url : row->extra[k];
        k += c->role == DX_LAKE_EXTRA;
    }
    return (struct dx_span){ NULL, 0 };
}

static struct dx_span url_of(struct dx_postgres_load *l, const struct dx_lake_row *row)
{
    dx_buf_clear(&l->url);
    dx_buf_append(&l->url, row->scheme.data, row->scheme.size);
    dx_buf_str(&l->url, "://");
    dx_buf_append(&l->url, row->host.data, row->host.size);
    dx_buf_append(&l->url, row->path_query.data, row->path_query.size);
    return dx_span_of(l->url.data, l->url.size);
}

static int left_out(const struct dx_postgres_load *l, uint64_t *count, struct dx_span url,
                    const char *why, struct dx_error *err)
{
    ++*count;
    if (!l->strict)
        return 0;
    return dx_fail(err, DX_E_NOT_FOUND,
                   "--strict: '%.*s' %s; 'domaindex domain64 fill' numbers what has room",
                   url.size < URL_SHOWN ? (int)url.size : URL_SHOWN, (const char *)url.data, why);
}

/* 1, 0: the row is left out. */
static int key_of(struct dx_postgres_load *l, const struct dx_lake_row *row, struct dx_span url,
                  uint64_t *key, struct dx_error *err)
{
    enum dx_domain64_part missing = DX_PART_TLD;
    struct dx_domain64_names names;
    char why[64];
    int rc;

    if (!dx_pg_copy_is_text(url))
        return left_out(l, &l->n.not_text, dx_span_str("a URL"), "is not UTF-8 text", err);
    if (!dx_domain64_names(row->domain, row->host, row->path_query, l->numbers->layout, &names))
        return left_out(l, &l->n.one_label, url, "has no domain below a TLD", err);
    rc = dx_domain64_registry_key(l->numbers, &names, key, &missing, err);
    if (rc != 0)
        return rc;
    (void)snprintf(why, sizeof why, "has no number for its %s", dx_domain64_part_name(missing));
    return left_out(l, &l->n.unnumbered[missing], url, why, err);
}

static void put_row(struct dx_postgres_load *l, const struct dx_lake_scan *scan,
                    const struct dx_lake_row *row, struct dx_span url, uint64_t key)
{
    dx_pg_copy_row(&l->copy, (uint16_t)(4 + l->ddl->column_count));
    dx_pg_copy_i64(&l->copy, dx_domain64_signed(key));
    dx_pg_copy_i32(&l->copy, (int32_t)row->dataset_id);
    (void)dx_pg_copy_text(&l->copy, url);
    if (!row->has_ts)
        dx_pg_copy_null(&l->copy);
    else if (!dx_pg_copy_time(&l->copy, row->ts_us))
        l->n.times++;
    for (size_t i = 0; i < l->ddl->column_count; i++)
        l->n.mended += dx_pg_copy_text(&l->copy, column_of(scan, row, l->ddl->column[i]));
    l->n.rows++;
}

static int add_row(void *ctx, const struct dx_lake_scan *scan, const struct dx_lake_row *row,
                   struct dx_error *err)
{
    struct dx_postgres_load *l = ctx;
    struct dx_span url = url_of(l, row);
    uint64_t key = 0;
    int rc;

    if (l->url.failed)
        return dx_buf_fail(&l->url, err, "export: a URL");
    if (++l->seen % TELL_EVERY == 0 && l->progress != NULL)
        l->progress(l->ctx, l->seen);
    rc = key_of(l, row, url, &key, err);
    if (rc != 1)
        return rc;
    put_row(l, scan, row, url, key);
    rc = l->copy.size >= SEND_BYTES || l->copy.failed ? send(l, err) : DX_OK;
    if (rc == DX_OK && l->copied >= COPY_BYTES) {
        rc = end_copy(l, err);
        if (rc == DX_OK)
            rc = begin_copy(l, err);
    }
    return rc;
}

int dx_postgres_load_rows(struct dx_postgres_load *l, uint32_t dataset_id, struct dx_error *err)
{
    struct dx_visible_rows rows = { .version = l->version,
                                    .dataset_id = dataset_id,
                                    .tmp = l->tmp,
                                    .row = add_row,
                                    .ctx = l,
                                    .stopped = l->stopped };
    int rc;

    l->n = (struct dx_postgres_counts){ .rows = 0 };
    l->seen = l->taken = 0;
    l->sql.max = l->url.max = ROW_ROOM;
    l->copy.max = 2 * ROW_ROOM;
    rc = begin_copy(l, err);
    if (rc == DX_OK)
        rc = dx_visible_rows_each(&rows, err);
    if (rc == DX_OK)
        rc = end_copy(l, err);
    l->n.hidden = rows.hidden;
    return rc;
}

void dx_postgres_load_release(struct dx_postgres_load *l)
{
    dx_buf_release(&l->sql);
    dx_buf_release(&l->copy);
    dx_buf_release(&l->url);
}

/* ---- counts ---- */

void dx_postgres_counts_add(struct dx_postgres_counts *sum, const struct dx_postgres_counts *n)
{
    sum->rows += n->rows;
    sum->hidden += n->hidden;
    for (unsigned i = 0; i < DX_DOMAIN64_PARTS; i++)
        sum->unnumbered[i] += n->unnumbered[i];
    sum->one_label += n->one_label;
    sum->not_text += n->not_text;
    sum->mended += n->mended;
    sum->times += n->times;
}

uint64_t dx_postgres_counts_left_out(const struct dx_postgres_counts *n)
{
    uint64_t sum = n->one_label + n->not_text;

    for (unsigned i = 0; i < DX_DOMAIN64_PARTS; i++)
        sum += n->unnumbered[i];
    return sum;
}
