/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/scan_cursor.h"

#include "base/few_bytes.h"
#include "base/limits.h"
#include "builder/lake/lake_files.h"
#include "canon/ids.h"
#include "format/text/host_pages.h"
#include "format/version/payload.h"
#include "format/version/tag_list.h"

#include <assert.h>

/* ---- order of rows ---- */

int dx_scan_place_change(const struct dx_scan_place *p, const struct dx_lake_row *row)
{
    int c;

    if (!p->any)
        return DX_SCAN_NEW_DOMAIN;
    c = dx_few_compare(row->domain, p->domain);
    if (c != 0)
        return c < 0 ? -1 : DX_SCAN_NEW_DOMAIN;
    c = dx_few_compare(row->host, p->host);
    if (c == 0)
        c = dx_few_compare(row->path_query, p->path_query);
    return c < 0 ? -1 : c == 0 ? DX_SCAN_SAME_URL : DX_SCAN_NEW_URL;
}

void dx_scan_place_set(struct dx_scan_place *p, const struct dx_lake_row *row)
{
    p->any = true;
    p->borrowed = true;
    p->domain = row->domain;
    p->host = row->host;
    p->path_query = row->path_query;
}

int dx_scan_place_keep(struct dx_scan_place *p, struct dx_error *err)
{
    if (!p->borrowed)
        return DX_OK;
    dx_buf_clear(&p->text);
    dx_buf_append(&p->text, p->domain.data, p->domain.size);
    dx_buf_append(&p->text, p->host.data, p->host.size);
    dx_buf_append(&p->text, p->path_query.data, p->path_query.size);
    if (p->text.failed)
        return dx_buf_fail(&p->text, err, "row");
    p->borrowed = false;
    p->domain.data = p->text.data;
    p->host.data = p->domain.data + p->domain.size;
    p->path_query.data = p->host.data + p->host.size;
    return DX_OK;
}

/* ---- rows of one file ---- */

/* Whether all eight bytes are from '!' to '~' and none of 'A' to 'Z'. */
static bool word_ok(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x = w & ones * 0x7f; /* sums of it with less than 0x81 stay in their byte */
    uint64_t below = ~(x + ones * (0x80 - '!'));
    uint64_t above = x + ones * (0x7f - '~');
    uint64_t upper = (x + ones * (0x80 - 'A')) & ~(x + ones * (0x7f - 'Z'));

    return ((w | below | above | upper) & ones << 7) == 0;
}

static bool domain_ok(struct dx_span domain)
{
    uint8_t few[8] = "aaaaaaaa";

    if (domain.size == 0 || domain.size > DX_DOMAIN_MAX)
        return false;
    if (domain.size < sizeof few) {
        memcpy(few, domain.data, domain.size);
        return word_ok(dx_load_u64(few));
    }
    for (size_t i = 0; i + 8 < domain.size; i += 8)
        if (!word_ok(dx_load_u64(domain.data + i)))
            return false;
    return word_ok(dx_load_u64(domain.data + domain.size - 8));
}

int dx_scan_row_fail(const struct dx_scan_cursor *c, struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_INVALID, "%s: row %llu: %s", c->file->path,
                   (unsigned long long)c->row_in_file, what);
}

static int new_domain_check(struct dx_scan_cursor *c, struct dx_error *err)
{
    const struct dx_lake_row *row = &c->row;
    uint64_t id = dx_domain_id(row->domain);
    unsigned prefix = dx_domain_prefix(id);

    if (!domain_ok(row->domain))
        return dx_scan_row_fail(c, err,
                                "column domain holds no registered domain in canonical form");
    if (row->domain_id != id)
        return dx_fail(err, DX_E_INVALID,
                       "%s: row %llu: domain_id is %016llx, but XXH3 of \"%.*s\" is %016llx",
                       c->file->path, (unsigned long long)c->row_in_file,
                       (unsigned long long)row->domain_id, (int)row->domain.size,
                       (const char *)row->domain.data, (unsigned long long)id);
    if (prefix < c->file->prefix_first || prefix > c->file->prefix_last)
        return dx_fail(err, DX_E_INVALID,
                       "%s: row %llu: domain \"%.*s\" has prefix %02x, which is outside of "
                       "domain_prefix=%s",
                       c->file->path, (unsigned long long)c->row_in_file, (int)row->domain.size,
                       (const char *)row->domain.data, prefix, c->file->prefix);
    c->domain_id = id;
    return DX_OK;
}

/* Of its own, as the text is zeroed at each call. */
static __attribute__((noinline)) int fail_form(const struct dx_scan_cursor *c, const char *why,
                                               struct dx_error *err)
{
    char text[DX_ROW_FAULT_TEXT];

    dx_lake_row_fault_text(why, &c->row, text);
    return dx_scan_row_fail(c, err, text);
}

static int check_form(const struct dx_scan_cursor *c, struct dx_error *err)
{
    const char *why = dx_lake_scan_fault(&c->scan, c->form, &c->row);

    return why == NULL ? DX_OK : fail_form(c, why, err);
}

static int check_host(const struct dx_scan_cursor *c, struct dx_error *err)
{
    uint64_t pages;

    return dx_span_equal(c->row.scheme, dx_span_str(DX_HOST_PAGES_SCHEME)) && !c->row.has_ts &&
                   c->row.raw_url.data == NULL && dx_host_pages_parse(c->row.path_query, &pages)
               ? DX_OK
               : dx_scan_row_fail(c, err,
                                  "a row of a dataset of counts is " DX_HOST_PAGES_SCHEME
                                  "://HOST" DX_HOST_PAGES_PREFIX "NUMBER without a time");
}

static int row_check(struct dx_scan_cursor *c, struct dx_error *err)
{
    const struct dx_lake_row *row = &c->row;
    int change = dx_scan_place_change(&c->place, row);

    if (change < 0)
        return dx_scan_row_fail(c, err,
                                "not in order of (domain, host, path_query): the index needs "
                                "sorted files; ingest the rows again");
    if (c->scan.has_dataset_id && row->dataset_id != c->file->dataset_id)
        return dx_fail(err, DX_E_INVALID, "%s: row %llu: dataset_id is %lu, the path says %lu",
                       c->file->path, (unsigned long long)c->row_in_file,
                       (unsigned long)row->dataset_id, (unsigned long)c->file->dataset_id);
    if (row->scheme.size == 0 || row->scheme.size > DX_SCAN_SCHEME_MAX)
        return dx_scan_row_fail(c, err, "the scheme is empty or over 32 bytes");
    if (change != DX_SCAN_NEW_DOMAIN && row->domain_id != c->domain_id)
        return dx_scan_row_fail(c, err, "domain_id differs from that of the row before");
    c->change = (unsigned)change;
    if (change == DX_SCAN_NEW_DOMAIN) {
        int rc = new_domain_check(c, err);

        if (rc < 0)
            return rc;
    }
    if (c->of_counts) {
        int rc = check_host(c, err);

        if (rc < 0)
            return rc;
    }
    return c->form == NULL || c->skips ? DX_OK : check_form(c, err);
}

/* A row stands at its place in the file, whatever was left out before it. */
static void take_place(struct dx_scan_cursor *c)
{
    uint64_t before = c->row_in_file;

    assert(c->in_group && c->scan.next_row > 0);
    c->row_in_group = c->scan.next_row - 1;
    c->row_in_file = c->group_first + c->row_in_group;
    c->after_gap = c->place.any && c->row_in_file != before + 1;
}

/* 1 a row in c->row, 0 the end of the file, <0 error. */
int dx_scan_cursor_next(struct dx_scan_cursor *c, struct dx_error *err)
{
    int rc = dx_lake_scan_keeps(&c->scan) ? DX_OK : dx_scan_place_keep(&c->place, err);

    if (rc < 0)
        return rc;
    while (!c->in_group || (rc = dx_lake_scan_row(&c->scan, &c->row, err)) == 0) {
        if (c->in_group)
            c->group_first += c->scan.group.row_count;
        c->in_group = false;
        rc = dx_lake_scan_group(&c->scan, err);
        if (rc <= 0)
            return rc;
        c->in_group = true;
    }
    if (rc < 0)
        return rc;
    take_place(c);
    rc = row_check(c, err);
    if (rc == DX_OK && c->change != DX_SCAN_SAME_URL)
        dx_scan_place_set(&c->place, &c->row);
    return rc == DX_OK ? 1 : rc;
}

/* The row that cursor_next gave stands in the domain's runs. */
int dx_scan_cursor_run(struct dx_scan_cursor *c, struct dx_error *err)
{
    uint64_t at = c->row_in_group;
    struct dx_run run = { c->file_id, c->scan.group.number, at, 1 };

    assert(c->in_group);
    if (c->runs.size > 0) {
        struct dx_run *last = (struct dx_run *)(void *)(c->runs.data + c->runs.size) - 1;

        if (last->row_group == run.row_group && last->first_row + last->row_count == at) {
            last->row_count++;
            return DX_OK;
        }
    }
    dx_buf_append(&c->runs, &run, sizeof run);
    return c->runs.failed ? dx_buf_fail(&c->runs, err, c->file->path) : DX_OK;
}

void dx_scan_cursor_init(struct dx_scan_cursor *c, const struct dx_index_file *file,
                         uint32_t file_id)
{
    *c = (struct dx_scan_cursor){ .scan = DX_LAKE_SCAN_INIT, .file = file, .file_id = file_id };
    dx_buf_init(&c->place.text, DX_LAKE_ROW_BYTES_MAX);
    dx_buf_init(&c->runs, DX_SCAN_RUNS_MAX);
}

int dx_scan_cursor_open(struct dx_scan_cursor *c, const char *path, struct dx_error *err)
{
    int rc = dx_lake_scan_open(&c->scan, path, err);
    size_t extra = 0;

    assert(!c->skips || c->form != NULL);
    if (c->skips)
        c->scan.skip_by = c->form;
    c->requested = c->scan.requested;
    c->tags = 0;
    for (size_t i = 0; rc == DX_OK && i < c->scan.column_count; i++) {
        if (c->scan.column[i].role != DX_LAKE_EXTRA)
            continue;
        extra++;
        if (dx_span_equal(c->scan.column[i].name, dx_span_str(DX_TAGS_COLUMN)))
            c->tags = extra;
    }
    if (rc == DX_OK && c->of_counts && extra > 0)
        rc = dx_fail(err, DX_E_INVALID, "%s: a file of a dataset of counts has no extra columns",
                     c->file->path);
    return rc;
}

void dx_scan_cursor_close(struct dx_scan_cursor *c)
{
    dx_lake_scan_close(&c->scan);
    dx_tag_run_release(&c->tagged);
    dx_buf_release(&c->place.text);
    dx_buf_release(&c->runs);
}
