/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/scan_pages.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "format/version/pages.h"

static uint8_t page_role(enum dx_lake_role role)
{
    switch (role) {
    case DX_LAKE_SCHEME:
        return DX_ROLE_SCHEME;
    case DX_LAKE_HOST:
        return DX_ROLE_HOST;
    case DX_LAKE_PATH_QUERY:
        return DX_ROLE_PATH_QUERY;
    case DX_LAKE_RAW_URL:
        return DX_ROLE_RAW_URL;
    case DX_LAKE_TS:
        return DX_ROLE_TS;
    case DX_LAKE_EXTRA:
        return DX_ROLE_EXTRA;
    case DX_LAKE_DATASET_ID:
    case DX_LAKE_DOMAIN:
    case DX_LAKE_DOMAIN_ID:
    case DX_LAKE_URL_ID:
        break; /* known without reading */
    }
    return 0;
}

static int page_of(const struct dx_lake_scan *s, const struct dx_index_file *file,
                   const struct dx_lake_page *from, bool dictionary, struct dx_page_location *to,
                   struct dx_error *err)
{
    struct dx_span bytes;

    if (!dx_span_slice(s->map.bytes, from->offset, from->size, &bytes))
        return dx_fail(err, DX_E_CORRUPT, "%s: a page at offset %llu is outside of the file",
                       file->path, (unsigned long long)from->offset);
    *to = (struct dx_page_location){ from->offset, from->size,
                                     dx_page_sum(&file->hash, from->offset, bytes),
                                     dictionary ? 0 : from->first_row,
                                     dictionary ? 0 : from->row_count };
    return DX_OK;
}

static void column_of(const struct dx_lake_scan *s, size_t i, uint8_t role,
                      struct dx_page_column *to)
{
    const struct dx_lake_chunk *chunk = &s->group.column[i];

    *to = (struct dx_page_column){ .role = role,
                                   .physical_type = chunk->column.type,
                                   .codec = chunk->column.codec,
                                   .max_def = chunk->column.max_def,
                                   .time_unit = chunk->column.time_unit,
                                   .type_length = chunk->column.type_length,
                                   .name = s->column[i].name,
                                   .page_count = chunk->page_count };
}

/* A server reads whole pages, and of each its dictionary: what it could not show for one row alone
 * must not be published. */
static int check_row_bytes(const struct dx_lake_scan *s, const struct dx_index_file *file,
                           struct dx_error *err)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->column_count; i++) {
        const struct dx_lake_chunk *chunk = &s->group.column[i];
        uint32_t most = 0;

        if (page_role(s->column[i].role) == 0)
            continue;
        for (uint32_t k = 0; k < chunk->page_count; k++)
            if (chunk->page[k].size > most)
                most = chunk->page[k].size;
        bytes += (uint64_t)most + (chunk->has_dictionary ? chunk->dictionary.size : 0);
    }
    if (bytes <= DX_LISTING_READ_MAX)
        return DX_OK;
    return dx_fail(
        err, DX_E_LIMIT,
        "%s: row group %lu: a row lies in pages and dictionaries of together %llu MiB, a "
        "server reads at most %u MiB for an answer; write the file with smaller pages, or "
        "without dictionaries",
        file->path, (unsigned long)s->group.number, (unsigned long long)(bytes >> 20),
        DX_LISTING_READ_MAX >> 20);
}

int dx_scan_pages(const struct dx_lake_scan *s, const struct dx_index_file *file,
                  struct dx_buf *out, struct dx_error *err)
{
    struct dx_page_column columns[DX_LAKE_COLUMN_MAX];
    struct dx_page_location *pages = NULL;
    size_t page_count = 0;
    size_t used = 0;
    size_t n = 0;
    int rc = check_row_bytes(s, file, err);

    assert(s->next_group > 0); /* it is at a row group */
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->column_count; i++)
        page_count += s->group.column[i].page_count;
    pages = calloc(page_count + 1, sizeof *pages);
    if (pages == NULL)
        return dx_no_memory(err, "%s", file->path);
    for (size_t i = 0; rc == DX_OK && i < s->column_count; i++) {
        const struct dx_lake_chunk *chunk = &s->group.column[i];
        uint8_t role = page_role(s->column[i].role);

        if (role == 0)
            continue;
        column_of(s, i, role, &columns[n]);
        columns[n].pages = pages + used;
        if (chunk->has_dictionary)
            rc = page_of(s, file, &chunk->dictionary, true, &columns[n].dictionary, err);
        for (uint32_t k = 0; rc == DX_OK && k < chunk->page_count; k++)
            rc = page_of(s, file, &chunk->page[k], false, &pages[used++], err);
        n++;
    }
    if (rc == DX_OK)
        rc = dx_page_group_encode(out, file->size, s->group.row_count, columns, n, err);
    if (rc != DX_OK)
        dx_fail_in(err, "%s: row group %lu", file->path, (unsigned long)s->group.number);
    free(pages);
    return rc;
}
