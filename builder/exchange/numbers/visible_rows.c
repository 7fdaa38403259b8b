/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/numbers/visible_rows.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "builder/root/root.h"
#include "canon/row_form.h"
#include "canon/url.h"
#include "fetch/download.h"
#include "format/root/rules.h"
#include "format/text/locator.h"
#include "format/version/url_ids.h"
#include "loader/followed/suppressions_live.h"
#include "loader/objects.h"
#include "loader/version_parts.h"

#define LOOK_EVERY 4096

static int fetch_file(const struct dx_visible_rows *r, const struct dx_pages_file *file,
                      char path[PATH_MAX], struct dx_error *err)
{
    const struct dx_version *v = r->version;
    const struct dx_object o = { DX_OBJECT_LAKE, file->file_id };
    struct dx_pin pin = dx_objects_pin(dx_version_part_of_file(v, file->file_id)->objects, o,
                                       file->size);
    char object[PATH_MAX];
    struct dx_download d = { .source = v->source, .object = object, .size = file->size };
    bool far = !dx_root_in_place(v->root);
    int rc = dx_path_format(object, sizeof object, err, "%s%.*s", v->entry.parquet_root,
                            (int)file->path.size, (const char *)file->path.data);

    d.pin = pin;
    if (rc == DX_OK)
        rc = far ? dx_path_format(path, PATH_MAX, err, "%s/lake.parquet", r->tmp)
                 : dx_path_format(path, PATH_MAX, err, "%s/%s", v->root, object);
    return rc == DX_OK && far ? dx_download_run(&d, path, err) : rc;
}

/* Where the column is among the extras of a row, which are r->extra from here on; NULL: the file has none. */
static struct dx_span *extra_of(struct dx_visible_rows *r, const struct dx_lake_scan *scan,
                                struct dx_lake_row *row, const char *name)
{
    size_t k = 0;

    for (size_t i = 0; i < scan->column_count; i++) {
        if (scan->column[i].role != DX_LAKE_EXTRA)
            continue;
        if (dx_span_equal(scan->column[i].name, dx_span_str(name))) {
            if (row->extra != r->extra)
                memcpy(r->extra, row->extra, scan->extra_count * sizeof *r->extra);
            row->extra = r->extra;
            return &r->extra[k];
        }
        k++;
    }
    return NULL;
}

/* 1: it was a URL that a rule hides, and is null now. */
static int drop_url(struct dx_visible_rows *r, const struct dx_rules *rules, struct dx_span *text,
                    struct dx_error *err)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_url url;

    if (text == NULL || text->data == NULL)
        return 0;
    if (r->canon == NULL && dx_version_canon_new(r->version, &r->canon, err) < 0)
        return (int)err->code;
    if (dx_canon_url(r->canon, *text, &url, &reject) != 1 ||
        dx_rules_match(rules, url.domain, url.scheme, url.host, url.path_query) == 0)
        return 0;
    *text = dx_span_of(NULL, 0);
    return 1;
}

/* Of a row that is stored under its canonical URL the raw one and requested_url are that which was requested; a rule may hide it, and
 * then the locator would lead to it. */
static int drop_hidden(struct dx_visible_rows *r, const struct dx_lake_scan *scan,
                       const struct dx_rules *rules, struct dx_lake_row *row, struct dx_error *err)
{
    struct dx_span *locator;
    int requested = 0;
    int raw;

    if (rules == NULL || rules->count == 0)
        return DX_OK;
    raw = drop_url(r, rules, &row->raw_url, err);
    if (raw >= 0)
        requested = drop_url(r, rules, extra_of(r, scan, row, DX_REQUESTED_URL), err);
    if (raw < 0 || requested < 0)
        return raw < 0 ? raw : requested;
    locator = raw + requested > 0 ? extra_of(r, scan, row, DX_LOCATOR_COLUMN) : NULL;
    if (locator != NULL)
        *locator = dx_span_of(NULL, 0);
    return DX_OK;
}

static int each_row(struct dx_visible_rows *r, struct dx_lake_scan *scan, uint32_t dataset_id,
                    const struct dx_rules *rules, struct dx_error *err)
{
    struct dx_lake_row row;
    int rc;

    while ((rc = dx_lake_scan_group(scan, err)) == 1) {
        while ((rc = dx_lake_scan_row(scan, &row, err)) == 1) {
            if ((r->rows + r->hidden) % LOOK_EVERY == 0 && r->stopped != NULL && r->stopped())
                return dx_fail(err, DX_E_IO, "interrupted");
            if (dx_rules_match(rules, row.domain, row.scheme, row.host, row.path_query) != 0) {
                r->hidden++;
                continue;
            }
            r->rows++;
            row.dataset_id = dataset_id;
            rc = drop_hidden(r, scan, rules, &row, err);
            if (rc == DX_OK)
                rc = r->row(r->ctx, scan, &row, err);
            if (rc < 0)
                return rc;
        }
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int each_of_file(struct dx_visible_rows *r, const struct dx_pages_file *file,
                        const struct dx_rules *rules, struct dx_error *err)
{
    struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
    char path[PATH_MAX] = "";
    int rc = fetch_file(r, file, path, err);

    if (rc == DX_OK)
        rc = dx_lake_scan_open(&scan, path, err);
    scan.skip_by = r->form;
    if (rc == DX_OK)
        rc = each_row(r, &scan, file->dataset_id, rules, err);
    dx_lake_scan_close(&scan);
    if (!dx_root_in_place(r->version->root) && path[0] != '\0')
        (void)unlink(path);
    return rc;
}

int dx_visible_rows_each(struct dx_visible_rows *r, struct dx_error *err)
{
    const struct dx_rules *rules = dx_suppressions_live_pin(r->version->caches->suppressions);
    const struct dx_part *part;
    struct dx_pages_file file;
    int rc = DX_OK;

    assert(r->canon == NULL && r->form == NULL);
    r->rows = r->hidden = 0;
    if (r->version->entry.rows_left_out > 0)
        rc = dx_row_form_new(&r->form, r->version->psl, err);
    for (uint64_t i = 0; rc >= 0 && i < r->version->entry.file_ids; i++) {
        rc = dx_version_file(r->version, i, &part, &file, err);
        if (rc == 1 && !dx_registry_of_counts(&r->version->registry, file.dataset_id) &&
            (r->dataset_id == 0 || r->dataset_id == file.dataset_id))
            rc = each_of_file(r, &file, rules, err);
    }
    dx_canon_free(&r->canon);
    dx_row_form_free(&r->form);
    dx_suppressions_live_unpin(r->version->caches->suppressions, rules);
    return rc < 0 ? rc : DX_OK;
}
