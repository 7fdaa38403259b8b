/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/known_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "builder/lake/lake_file.h"
#include "loader/objects.h"
#include "loader/version_parts.h"

int dx_known_file_open(struct dx_known_file *f, struct dx_version *base, uint32_t file_id,
                       struct dx_error *err)
{
    const struct dx_object object = { DX_OBJECT_LAKE, file_id };
    int rc;

    *f = (struct dx_known_file){ .base = base };
    rc = dx_version_file(base, file_id, &f->part, &f->file, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "version %s: a posting names file %u, which is not there",
                     dx_version_name(base), (unsigned)file_id);
    if (rc < 0)
        return rc;
    f->pin = dx_objects_pin(f->part->objects, object, f->file.size);
    if (asprintf(&f->object, "%s%.*s", base->entry.parquet_root, (int)f->file.path.size,
                 (const char *)f->file.path.data) >= 0)
        return DX_OK;
    f->object = NULL;
    return dx_no_memory(err, "lake file");
}

void dx_known_file_close(struct dx_known_file *f)
{
    for (size_t i = 0; i < DX_KNOWN_COLUMNS; i++) {
        dx_pq_values_release(&f->columns[i].values);
        dx_pq_dictionary_release(&f->columns[i].dictionary);
        free(f->columns[i].raw);
    }
    free(f->object);
    *f = (struct dx_known_file)DX_KNOWN_FILE_INIT;
}

/* ---- places ---- */

static void take_column(struct dx_known_column *c, const struct dx_page_column *from)
{
    c->type = (struct dx_pq_column){ .type = from->physical_type,
                                     .codec = from->codec,
                                     .max_def = from->max_def,
                                     .time_unit = from->time_unit,
                                     .type_length = from->type_length };
    c->first = c->at = *from;
    c->page.rows = 0;
    c->has_dictionary = false;
}

static int to_group(struct dx_known_file *f, uint32_t row_group, struct dx_error *err)
{
    struct dx_page_column column;
    struct dx_page_group group;
    unsigned seen[DX_KNOWN_COLUMNS] = { 0 };
    int rc;

    if (f->has_group && f->group == row_group)
        return DX_OK;
    f->has_group = false;
    rc = dx_pages_group(&f->part->pages, &f->file, row_group, &group, err);
    while (rc == 1 && dx_page_group_next(&group, &column) == 1)
        if (column.role >= DX_ROLE_SCHEME && column.role <= DX_ROLE_PATH_QUERY &&
            column.physical_type == DX_PQ_BYTE_ARRAY) {
            seen[column.role - DX_ROLE_SCHEME]++;
            take_column(&f->columns[column.role - DX_ROLE_SCHEME], &column);
        }
    if (rc < 0)
        return rc;
    if (rc == 0 || seen[0] != 1 || seen[1] != 1 || seen[2] != 1)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: row group %u is not in pages.dxp of version %s as it "
                       "must be",
                       f->object, (unsigned)row_group, dx_version_name(f->base));
    f->group = row_group;
    f->group_rows = group.rows;
    f->has_group = true;
    return DX_OK;
}

static bool holds(const struct dx_page_location *page, uint64_t row)
{
    return row >= page->first_row && row - page->first_row < page->rows;
}

/* The page with the row, which is below the rows of the group, to which the pages add up. */
static void find_page(struct dx_known_column *c, uint64_t row)
{
    if (c->page.rows == 0 || row < c->page.first_row)
        c->at = c->first;
    while (dx_page_column_next(&c->at, &c->page) == 1)
        if (holds(&c->page, row))
            return;
}

/* ---- bytes ---- */

static int plan_column(struct dx_known_file *f, struct dx_known_column *c, struct dx_read *reads,
                       size_t *count, struct dx_error *err)
{
    size_t dictionary = c->has_dictionary ? 0 : c->first.dictionary.size;
    size_t need = (size_t)c->page.size + dictionary;

    if (need > c->raw_capacity) {
        free(c->raw);
        c->raw = malloc(need);
        c->raw_capacity = c->raw == NULL ? 0 : need;
    }
    if (c->raw == NULL)
        return dx_no_memory(err, "%s: page of %zu bytes", f->object, need);
    reads[(*count)++] = (struct dx_read){ f->object, c->page.offset, c->page.size, c->raw };
    if (dictionary > 0)
        reads[(*count)++] = (struct dx_read){ f->object, c->first.dictionary.offset, dictionary,
                                              c->raw + c->page.size };
    return DX_OK;
}

static int decode_page(const struct dx_known_file *f, struct dx_known_column *c,
                       struct dx_error *err)
{
    static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    const struct dx_page_location *dictionary = &c->first.dictionary;
    struct dx_span page = dx_span_of(c->raw, c->page.size);
    struct dx_span words = dx_span_of(c->raw + c->page.size, dictionary->size);
    bool to_read = dictionary->size > 0 && !c->has_dictionary;
    int rc = dx_page_sum_check(&f->file, &c->page, page, err);

    if (rc == DX_OK && to_read)
        rc = dx_page_sum_check(&f->file, dictionary, words, err);
    if (rc == DX_OK && to_read)
        rc = dx_pq_dictionary_decode(&c->type, words, &limits, &c->dictionary, err);
    if (rc == DX_OK && to_read)
        c->has_dictionary = true;
    if (rc == DX_OK)
        rc = dx_pq_page_decode(&c->type, page, c->has_dictionary ? &c->dictionary : NULL, &limits,
                               &c->values, err);
    if (rc == DX_OK && c->values.row_count != c->page.rows)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: page holds %u rows, pages.dxp says %llu", f->object,
                     (unsigned)c->values.row_count, (unsigned long long)c->page.rows);
    return rc;
}

/* The pages with the row that are not there yet come in one batch. */
static int fetch_pages(struct dx_known_file *f, uint64_t row, struct dx_error *err)
{
    struct dx_read reads[2 * DX_KNOWN_COLUMNS];
    struct dx_pin pins[2 * DX_KNOWN_COLUMNS];
    struct dx_source_batch batch = { .reads = reads, .pins = pins };
    bool wanted[DX_KNOWN_COLUMNS];
    int rc = DX_OK;

    assert(f->has_group && row < f->group_rows);
    for (size_t i = 0; rc == DX_OK && i < DX_KNOWN_COLUMNS; i++) {
        struct dx_known_column *c = &f->columns[i];

        wanted[i] = !holds(&c->page, row);
        if (!wanted[i])
            continue;
        find_page(c, row);
        rc = plan_column(f, c, reads, &batch.count, err);
    }
    for (size_t i = 0; i < batch.count; i++)
        pins[i] = f->pin;
    if (rc == DX_OK)
        rc = dx_source_read_batch(f->base->source, &batch, err);
    for (size_t i = 0; rc == DX_OK && i < DX_KNOWN_COLUMNS; i++)
        if (wanted[i])
            rc = decode_page(f, &f->columns[i], err);
    if (rc != DX_OK)
        f->has_group = false; /* places and values no longer belong together */
    return rc;
}

int dx_known_file_row(struct dx_known_file *f, uint32_t row_group, uint64_t row_in_group,
                      struct dx_lake_row *row, struct dx_error *err)
{
    struct dx_span *to[DX_KNOWN_COLUMNS] = { &row->scheme, &row->host, &row->path_query };
    int rc = to_group(f, row_group, err);

    if (rc == DX_OK && row_in_group >= f->group_rows)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: row group %u has %llu rows, a posting names row %llu",
                     f->object, (unsigned)row_group, (unsigned long long)f->group_rows,
                     (unsigned long long)row_in_group);
    if (rc == DX_OK &&
        !(holds(&f->columns[0].page, row_in_group) && holds(&f->columns[1].page, row_in_group) &&
          holds(&f->columns[2].page, row_in_group)))
        rc = fetch_pages(f, row_in_group, err);
    for (size_t i = 0; rc == DX_OK && i < DX_KNOWN_COLUMNS; i++) {
        const struct dx_known_column *c = &f->columns[i];
        uint32_t at = (uint32_t)(row_in_group - c->page.first_row);

        if (dx_pq_is_null(&c->values, at))
            rc = dx_fail(err, DX_E_CORRUPT, "%s: row group %u: a null in a column of the URL",
                         f->object, (unsigned)row_group);
        else
            *to[i] = c->values.spans[at];
    }
    return rc;
}
