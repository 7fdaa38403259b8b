/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/base_postings.h"

#include <stdio.h>
#include <stdlib.h>

#include "loader/objects.h"
#include "loader/version.h"

#define AHEAD_BYTES (1u << 20) /* of each of the two files, read at a time */

static int name_file(struct dx_base_postings *b, enum dx_base_file which, struct dx_error *err)
{
    const struct dx_object object = { which == DX_BASE_IDX ? DX_OBJECT_IDX : DX_OBJECT_DAT, 0 };
    const char *file = which == DX_BASE_IDX ? DX_FILE_POSTINGS_IDX : DX_FILE_POSTINGS_DAT;
    const struct dx_manifest_file *listed = dx_manifest_file(&b->base->entry, file);

    if (listed == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s",
                       dx_version_name(b->base), file);
    dx_manifest_file_path(&b->base->entry, listed, b->name[which]);
    b->pin[which] = dx_objects_pin(b->base->part->objects, object, listed->size);
    return DX_OK;
}

int dx_base_postings_open(struct dx_base_postings *b, struct dx_version *base, struct dx_error *err)
{
    int rc;

    *b = (struct dx_base_postings){ .base = base };
    b->decoder = dx_zstd_decoder_new();
    rc = b->decoder == NULL ? dx_no_memory(err, "postings") : name_file(b, DX_BASE_IDX, err);
    if (rc == DX_OK)
        rc = name_file(b, DX_BASE_DAT, err);
    if (rc != DX_OK)
        dx_base_postings_close(b);
    return rc;
}

void dx_base_postings_close(struct dx_base_postings *b)
{
    for (int i = 0; i < DX_BASE_FILES; i++) {
        free(b->raw[i]);
        free(b->plain[i]);
    }
    dx_zstd_decoder_free(&b->decoder);
    *b = (struct dx_base_postings){ 0 };
}

static int reserve(uint8_t **bytes, size_t *capacity, size_t size, struct dx_error *err)
{
    if (size <= *capacity)
        return DX_OK;
    free(*bytes);
    *bytes = malloc(size);
    *capacity = *bytes == NULL ? 0 : size;
    return *bytes == NULL ? dx_no_memory(err, "postings: %zu bytes", size) : DX_OK;
}

/* Frames lie one behind the other, so pages that follow each other are one range of each file.
 * Where they do not, the page alone is read. */
static int plan(const struct dx_base_postings *b, const struct dx_postings_page *first, bool ahead,
                uint64_t *end, size_t size[DX_BASE_FILES], struct dx_error *err)
{
    uint64_t idx_end = first->idx_offset + first->idx_size;
    uint64_t dat_end = first->dat_offset + first->dat_size;

    *end = (uint64_t)first->number + 1;
    while (ahead) {
        struct dx_postings_page page;
        int rc = dx_postings_page_at(&b->base->part->postings, *end, &page, err);

        if (rc < 0)
            return rc;
        if (rc == 0 || page.idx_offset != idx_end || page.dat_offset != dat_end ||
            idx_end + page.idx_size - first->idx_offset > AHEAD_BYTES ||
            dat_end + page.dat_size - first->dat_offset > AHEAD_BYTES)
            break;
        idx_end += page.idx_size;
        dat_end += page.dat_size;
        ++*end;
    }
    size[DX_BASE_IDX] = (size_t)(idx_end - first->idx_offset);
    size[DX_BASE_DAT] = (size_t)(dat_end - first->dat_offset);
    return DX_OK;
}

static int read_frames(struct dx_base_postings *b, const struct dx_postings_page *first, bool ahead,
                       struct dx_error *err)
{
    struct dx_read reads[DX_BASE_FILES];
    struct dx_source_batch batch = { .reads = reads, .pins = b->pin, .count = DX_BASE_FILES };
    size_t size[DX_BASE_FILES];
    uint64_t end;
    int rc = plan(b, first, ahead, &end, size, err);

    b->raw_first = b->raw_end = 0;
    b->raw_at[DX_BASE_IDX] = first->idx_offset;
    b->raw_at[DX_BASE_DAT] = first->dat_offset;
    for (int i = 0; rc == DX_OK && i < DX_BASE_FILES; i++) {
        rc = reserve(&b->raw[i], &b->raw_capacity[i], size[i], err);
        reads[i] = (struct dx_read){ b->name[i], b->raw_at[i], size[i], b->raw[i] };
    }
    if (rc == DX_OK)
        rc = dx_source_read_batch(b->base->part->shards, &batch, err);
    if (rc != DX_OK)
        return rc;
    b->raw_first = first->number;
    b->raw_end = end;
    return DX_OK;
}

static int decode(struct dx_base_postings *b, const struct dx_postings_page *page,
                  struct dx_error *err)
{
    const uint8_t *idx = b->raw[DX_BASE_IDX] + (page->idx_offset - b->raw_at[DX_BASE_IDX]);
    const uint8_t *dat = b->raw[DX_BASE_DAT] + (page->dat_offset - b->raw_at[DX_BASE_DAT]);
    unsigned flags = b->base->part->open_flags;
    int rc = reserve(&b->plain[DX_BASE_IDX], &b->plain_capacity[DX_BASE_IDX],
                     DX_POSTINGS_IDX_PLAIN_MAX, err);

    if (rc == DX_OK)
        rc = reserve(&b->plain[DX_BASE_DAT], &b->plain_capacity[DX_BASE_DAT], page->dat_plain, err);
    if (rc == DX_OK)
        rc = dx_postings_idx_decode(page, b->decoder, flags, dx_span_of(idx, page->idx_size),
                                    b->plain[DX_BASE_IDX], err);
    if (rc >= 0)
        rc = dx_postings_dat_decode(page, b->decoder, flags, dx_span_of(dat, page->dat_size),
                                    b->plain[DX_BASE_DAT], err);
    return rc < 0 ? dx_fail_in(err, "version %s", dx_version_name(b->base)) : DX_OK;
}

static int load(struct dx_base_postings *b, uint64_t number, bool ahead, struct dx_error *err)
{
    int rc = dx_postings_page_at(&b->base->part->postings, number, &b->page, err);

    if (rc == 0)
        return dx_fail(err, DX_E_CORRUPT, "version %s: postings have no page %llu",
                       dx_version_name(b->base), (unsigned long long)number);
    if (rc == 1 && (number < b->raw_first || number >= b->raw_end))
        rc = read_frames(b, &b->page, ahead, err);
    return rc < 0 ? rc : decode(b, &b->page, err);
}

int dx_base_postings_load(struct dx_base_postings *b, uint64_t number, struct dx_error *err)
{
    return load(b, number, false, err);
}

int dx_base_postings_next(struct dx_base_postings *b, struct dx_posting *posting,
                          struct dx_span *payload, struct dx_error *err)
{
    int rc;

    if (b->next_page == 0 || b->next_entry == b->page.entries) {
        if (b->next_page >= b->base->part->postings.totals.pages)
            return 0;
        rc = load(b, b->next_page, true, err);
        if (rc != DX_OK)
            return rc;
        b->next_page++;
        b->next_entry = 0;
    }
    rc = dx_postings_entry_at(&b->page, dx_span_of(b->plain[DX_BASE_IDX], b->page.idx_plain),
                              b->next_entry, posting, err);
    if (rc == 1)
        rc = dx_postings_payload(&b->page, dx_span_of(b->plain[DX_BASE_DAT], b->page.dat_plain),
                                 posting, payload, err);
    b->next_entry++;
    return rc < 0 ? rc : 1;
}
