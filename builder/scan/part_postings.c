/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/part_postings.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "loader/objects.h"
#include "loader/part.h"

#define FOLLOW_MIN 2           /* pages in a row, before more are read at a time */
#define AHEAD_BYTES (1u << 20) /* of each of the two files, read at a time */

static int name_file(struct dx_part_postings *b, enum dx_part_postings_file which,
                     struct dx_error *err)
{
    const struct dx_object object = { which == DX_PART_IDX ? DX_OBJECT_IDX : DX_OBJECT_DAT, 0 };
    const char *file = which == DX_PART_IDX ? DX_FILE_POSTINGS_IDX : DX_FILE_POSTINGS_DAT;
    const struct dx_manifest_file *listed = dx_manifest_file(&b->part->entry, file);

    if (listed == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s",
                       b->part->entry.version, file);
    dx_manifest_place(&b->part->entry, listed, &b->place[which]);
    b->pin[which] = dx_objects_pin(b->part->objects, object, b->place[which].total);
    return DX_OK;
}

int dx_part_postings_open(struct dx_part_postings *b, const struct dx_part *part,
                          struct dx_error *err)
{
    int rc;

    *b = (struct dx_part_postings){ .part = part };
    b->decoder = dx_zstd_decoder_new();
    rc = b->decoder == NULL ? dx_no_memory(err, "postings") : name_file(b, DX_PART_IDX, err);
    if (rc == DX_OK)
        rc = name_file(b, DX_PART_DAT, err);
    if (rc != DX_OK)
        dx_part_postings_close(b);
    return rc;
}

void dx_part_postings_close(struct dx_part_postings *b)
{
    for (int i = 0; i < DX_PART_FILES; i++) {
        free(b->raw[i]);
        free(b->plain[i]);
    }
    dx_zstd_decoder_free(&b->decoder);
    *b = (struct dx_part_postings){ 0 };
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
static int plan_read(const struct dx_part_postings *b, const struct dx_postings_page *first,
                     bool ahead, uint64_t *end, size_t size[DX_PART_FILES], struct dx_error *err)
{
    uint64_t idx_end = first->idx_offset + first->idx_size;
    uint64_t dat_end = first->dat_offset + first->dat_size;

    *end = (uint64_t)first->number + 1;
    while (ahead) {
        struct dx_postings_page page;
        int rc = dx_postings_page_at(&b->part->postings, *end, &page, err);

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
    size[DX_PART_IDX] = (size_t)(idx_end - first->idx_offset);
    size[DX_PART_DAT] = (size_t)(dat_end - first->dat_offset);
    return DX_OK;
}

static int read_frames(struct dx_part_postings *b, const struct dx_postings_page *first, bool ahead,
                       struct dx_error *err)
{
    struct dx_read reads[DX_PART_FILES];
    struct dx_source_batch batch = { .reads = reads, .pins = b->pin, .count = DX_PART_FILES };
    size_t size[DX_PART_FILES];
    uint64_t end;
    int rc = plan_read(b, first, ahead, &end, size, err);

    b->raw_first = b->raw_end = 0;
    b->raw_at[DX_PART_IDX] = first->idx_offset;
    b->raw_at[DX_PART_DAT] = first->dat_offset;
    for (int i = 0; rc == DX_OK && i < DX_PART_FILES; i++) {
        rc = reserve(&b->raw[i], &b->raw_capacity[i], size[i], err);
        reads[i] = (struct dx_read){ b->place[i].object, b->place[i].at + b->raw_at[i], size[i],
                                     b->raw[i] };
    }
    if (rc == DX_OK)
        rc = dx_source_read_batch(b->part->paged, &batch, err);
    if (rc != DX_OK)
        return rc;
    b->raw_first = first->number;
    b->raw_end = end;
    return DX_OK;
}

static int decode_page(struct dx_part_postings *b, const struct dx_postings_page *page,
                       struct dx_error *err)
{
    const uint8_t *idx = b->raw[DX_PART_IDX] + (page->idx_offset - b->raw_at[DX_PART_IDX]);
    const uint8_t *dat = b->raw[DX_PART_DAT] + (page->dat_offset - b->raw_at[DX_PART_DAT]);
    unsigned flags = b->part->open_flags;
    int rc = reserve(&b->plain[DX_PART_IDX], &b->plain_capacity[DX_PART_IDX],
                     DX_POSTINGS_IDX_PLAIN_MAX, err);

    assert(page->number >= b->raw_first && page->number < b->raw_end);
    if (rc == DX_OK)
        rc = reserve(&b->plain[DX_PART_DAT], &b->plain_capacity[DX_PART_DAT], page->dat_plain, err);
    if (rc == DX_OK)
        rc = dx_postings_idx_decode(page, b->decoder, flags, dx_span_of(idx, page->idx_size),
                                    b->plain[DX_PART_IDX], err);
    if (rc >= 0)
        rc = dx_postings_dat_decode(page, b->decoder, flags, dx_span_of(dat, page->dat_size),
                                    b->plain[DX_PART_DAT], err);
    return rc < 0 ? dx_fail_in(err, "version %s", b->part->entry.version) : DX_OK;
}

static int load(struct dx_part_postings *b, uint64_t number, bool ahead, struct dx_error *err)
{
    int rc = dx_postings_page_at(&b->part->postings, number, &b->page, err);

    if (rc == 0)
        return dx_fail(err, DX_E_CORRUPT, "version %s: postings have no page %llu",
                       b->part->entry.version, (unsigned long long)number);
    if (rc == 1 && (number < b->raw_first || number >= b->raw_end))
        rc = read_frames(b, &b->page, ahead, err);
    return rc < 0 ? rc : decode_page(b, &b->page, err);
}

int dx_part_postings_load(struct dx_part_postings *b, uint64_t number, struct dx_error *err)
{
    b->has_page = false;
    return load(b, number, false, err);
}

/* The page at hand, if the pair can be in no other. */
static int enter_page(struct dx_part_postings *b, struct dx_pair_place place, struct dx_error *err)
{
    struct dx_postings_page page;
    int rc = dx_postings_page_find(&b->part->postings, place, &page, err);

    if (rc != 1 || (b->has_page && page.number == b->page.number))
        return rc;
    b->follow = b->has_page && page.number == b->page.number + 1 ? b->follow + 1 : 0;
    b->has_page = false;
    rc = load(b, page.number, b->follow >= FOLLOW_MIN, err);
    b->has_page = rc == DX_OK;
    return rc < 0 ? rc : 1;
}

int dx_part_postings_find(struct dx_part_postings *b, struct dx_pair_place place,
                          struct dx_span *payload, struct dx_error *err)
{
    struct dx_posting posting;
    int rc = enter_page(b, place, err);

    if (rc == 1)
        rc = dx_postings_entry_find(&b->page, dx_span_of(b->plain[DX_PART_IDX], b->page.idx_plain),
                                    place, &posting, err);
    if (rc == 1)
        rc = dx_postings_payload(&b->page, dx_span_of(b->plain[DX_PART_DAT], b->page.dat_plain),
                                 &posting, payload, err) < 0
                 ? (int)err->code
                 : 1;
    return rc;
}
