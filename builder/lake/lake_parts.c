/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_parts.h"

#include <assert.h>

#include "builder/lake/ingest_row.h"
#include "builder/lake/lake_pool.h"
#include "canon/ids.h"
#include "format/text/locator.h"

void dx_lake_parts_init(struct dx_lake_parts *p, const struct dx_lake_parts_options *options)
{
    *p = (struct dx_lake_parts){ .o = *options, .file = DX_LAKE_FILE_INIT };
    dx_buf_init(&p->domain, 1u << 16);
    dx_buf_init(&p->scratch, (size_t)DX_LAKE_ROW_BYTES_MAX * 4);
    dx_buf_init(&p->url, 1u << 20);
}

void dx_lake_parts_release(struct dx_lake_parts *p)
{
    dx_lake_file_abort(&p->file);
    if (p->o.pool != NULL)
        dx_lake_pool_stop(p->o.pool);
    dx_buf_release(&p->domain);
    dx_buf_release(&p->scratch);
    dx_buf_release(&p->url);
}

void dx_lake_parts_begin(struct dx_lake_parts *p, const struct dx_lake_schema *schema,
                         uint32_t dataset_id)
{
    size_t n = schema->extra_count;

    assert(p->file.writer == NULL && n <= DX_LAKE_EXTRA_MAX);
    p->schema = schema;
    p->has_locator = n > 0 && strcmp(schema->extra_names[n - 1], DX_LOCATOR_COLUMN) == 0;
    p->dataset_id = dataset_id;
}

int dx_lake_parts_end(struct dx_lake_parts *p, struct dx_error *err)
{
    struct dx_lake_stats stats;
    int rc;

    if (p->file.writer == NULL)
        return DX_OK;
    if (p->o.pool != NULL)
        return dx_lake_file_close_later(&p->file, DX_SYNC_LATER, p->o.closed, p->o.ctx, err);
    rc = dx_lake_file_close(&p->file, DX_SYNC_LATER, &stats, err);
    return rc < 0 ? rc : p->o.closed(p->o.ctx, &stats, err);
}

int dx_lake_parts_finish(struct dx_lake_parts *p, struct dx_error *err)
{
    int rc = dx_lake_parts_end(p, err);

    return rc == DX_OK && p->o.pool != NULL ? dx_lake_pool_drain(p->o.pool, err) : rc;
}

static int open_file(struct dx_lake_parts *p, struct dx_error *err)
{
    struct dx_lake_options options = DX_LAKE_OPTIONS_DEFAULT;
    char path[PATH_MAX];
    int rc = p->o.open(p->o.ctx, path, err);

    p->rows = 0;
    if (rc < 0)
        return rc;
    if (p->o.zstd_level != 0)
        options.zstd_level = p->o.zstd_level;
    if (p->o.pool != NULL)
        return dx_lake_file_open_in(&p->file, p->o.pool, path, p->schema, &options, err);
    return dx_lake_file_open(&p->file, path, p->schema, &options, err);
}

static uint64_t url_id(struct dx_lake_parts *p, const struct dx_ingest_row *row)
{
    dx_buf_clear(&p->url);
    dx_buf_append(&p->url, row->scheme.data, row->scheme.size);
    dx_buf_str(&p->url, "://");
    dx_buf_append(&p->url, row->host.data, row->host.size);
    dx_buf_append(&p->url, row->path_query.data, row->path_query.size);
    return dx_url_id(dx_span_of(p->url.data, p->url.size));
}

static void keep_domain(struct dx_lake_parts *p, struct dx_span domain)
{
    dx_buf_clear(&p->domain);
    dx_buf_append(&p->domain, domain.data, domain.size);
    p->domain_id = dx_domain_id(domain);
}

int dx_lake_parts_add(struct dx_lake_parts *p, struct dx_span key, struct dx_span value,
                      struct dx_error *err)
{
    size_t extras = p->schema->extra_count - p->has_locator;
    struct dx_ingest_row row;
    struct dx_lake_row out;
    bool is_new;
    int rc = DX_OK;

    if (!dx_ingest_row_get(key, value, extras, &row, p->extra, &p->scratch))
        return dx_fail(err, DX_E_CORRUPT, "lake file: a sorted row does not parse");
    if (p->has_locator)
        p->extra[extras] = row.locator;
    is_new = !dx_span_equal(row.domain, dx_span_of(p->domain.data, p->domain.size));
    if (is_new && p->file.writer != NULL && p->rows >= p->o.rows_a_file)
        rc = dx_lake_parts_end(p, err);
    if (rc == DX_OK && p->file.writer == NULL)
        rc = open_file(p, err);
    if (rc < 0)
        return rc;
    if (is_new || p->rows == 0)
        keep_domain(p, row.domain);
    out = (struct dx_lake_row){ .dataset_id = p->dataset_id,
                                .domain_id = p->domain_id,
                                .url_id = url_id(p, &row),
                                .domain = row.domain,
                                .scheme = row.scheme,
                                .host = row.host,
                                .path_query = row.path_query,
                                .raw_url = row.raw_url,
                                .has_ts = row.has_ts,
                                .ts_us = row.ts_us,
                                .extra = row.extra };
    if (p->domain.failed || p->url.failed)
        return dx_buf_fail(&p->url, err, "lake file: a row");
    p->rows++;
    return dx_lake_file_add(&p->file, &out, err);
}
