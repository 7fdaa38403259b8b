/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/base_shard.h"

#include <stdio.h>
#include <stdlib.h>

#include "loader/objects.h"
#include "loader/version.h"

#define AHEAD_BYTES (128u << 10) /* of each of the two files, read at a time */

static const char *const endings[DX_BASE_FILES] = { "idx", "dat" };

static int name_file(struct dx_base_shard *s, enum dx_base_file which, struct dx_error *err)
{
    const struct dx_object object = { which == DX_BASE_IDX ? DX_OBJECT_IDX : DX_OBJECT_DAT,
                                      s->shard };
    const struct dx_manifest_file *listed;
    char shard[DX_POSTINGS_SHARD_NAME];
    char file[DX_MANIFEST_FILE_NAME];

    dx_postings_shard_name(s->shard, shard);
    (void)snprintf(file, sizeof file, "postings/%s/postings.%s.zst", shard, endings[which]);
    listed = dx_manifest_file(&s->base->entry, file);
    if (listed == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s",
                       dx_version_name(s->base), file);
    dx_manifest_file_path(&s->base->entry, listed, s->name[which]);
    s->pin[which] = dx_objects_pin(s->base->objects, object, listed->size);
    return DX_OK;
}

int dx_base_shard_open(struct dx_base_shard *s, struct dx_version *base, uint32_t shard,
                       struct dx_error *err)
{
    int rc;

    *s = (struct dx_base_shard){ .base = base, .shard = shard };
    rc = dx_postings_shard_get(&base->postings, shard, &s->record, err);
    if (rc != 1)
        return rc;
    s->decoder = dx_zstd_decoder_new();
    rc = s->decoder == NULL ? dx_fail(err, DX_E_NOMEM, "postings: out of memory")
                            : name_file(s, DX_BASE_IDX, err);
    if (rc == DX_OK)
        rc = name_file(s, DX_BASE_DAT, err);
    if (rc == DX_OK)
        return 1;
    dx_base_shard_close(s);
    return rc;
}

void dx_base_shard_close(struct dx_base_shard *s)
{
    for (int i = 0; i < DX_BASE_FILES; i++) {
        free(s->raw[i]);
        free(s->plain[i]);
    }
    dx_zstd_decoder_free(&s->decoder);
    *s = (struct dx_base_shard){ 0 };
}

static int reserve(uint8_t **bytes, size_t *capacity, size_t size, struct dx_error *err)
{
    if (size <= *capacity)
        return DX_OK;
    free(*bytes);
    *bytes = malloc(size);
    *capacity = *bytes == NULL ? 0 : size;
    return *bytes == NULL ? dx_fail(err, DX_E_NOMEM, "postings: out of memory for %zu bytes", size)
                          : DX_OK;
}

/* Frames lie one behind the other, so pages that follow each other are one range of each file. Where
 * they do not, the page alone is read. */
static int plan(const struct dx_base_shard *s, const struct dx_postings_page *first, bool ahead,
                uint32_t *end, size_t size[DX_BASE_FILES], struct dx_error *err)
{
    uint64_t idx_end = first->idx_offset + first->idx_size;
    uint64_t dat_end = first->dat_offset + first->dat_size;

    *end = first->number + 1;
    while (ahead && *end < s->record.pages) {
        struct dx_postings_page page;
        int rc = dx_postings_page_at(&s->base->postings, s->shard, *end, &page, err);

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

static int read_frames(struct dx_base_shard *s, const struct dx_postings_page *first, bool ahead,
                       struct dx_error *err)
{
    struct dx_read reads[DX_BASE_FILES];
    struct dx_wave wave = { .reads = reads, .pins = s->pin, .count = DX_BASE_FILES };
    size_t size[DX_BASE_FILES];
    uint32_t end;
    int rc = plan(s, first, ahead, &end, size, err);

    s->raw_first = s->raw_end = 0;
    s->raw_at[DX_BASE_IDX] = first->idx_offset;
    s->raw_at[DX_BASE_DAT] = first->dat_offset;
    for (int i = 0; rc == DX_OK && i < DX_BASE_FILES; i++) {
        rc = reserve(&s->raw[i], &s->raw_capacity[i], size[i], err);
        reads[i] = (struct dx_read){ s->name[i], s->raw_at[i], size[i], s->raw[i] };
    }
    if (rc == DX_OK)
        rc = dx_source_read_wave(s->base->shards, &wave, err);
    if (rc != DX_OK)
        return rc;
    s->raw_first = first->number;
    s->raw_end = end;
    return DX_OK;
}

static int decode(struct dx_base_shard *s, const struct dx_postings_page *page,
                  struct dx_error *err)
{
    const uint8_t *idx = s->raw[DX_BASE_IDX] + (page->idx_offset - s->raw_at[DX_BASE_IDX]);
    const uint8_t *dat = s->raw[DX_BASE_DAT] + (page->dat_offset - s->raw_at[DX_BASE_DAT]);
    unsigned flags = s->base->open_flags;
    int rc = reserve(&s->plain[DX_BASE_IDX], &s->plain_capacity[DX_BASE_IDX],
                     DX_POSTINGS_IDX_PLAIN_MAX, err);

    if (rc == DX_OK)
        rc = reserve(&s->plain[DX_BASE_DAT], &s->plain_capacity[DX_BASE_DAT], page->dat_plain, err);
    if (rc == DX_OK)
        rc = dx_postings_idx_decode(page, s->decoder, flags, dx_span_of(idx, page->idx_size),
                                    s->plain[DX_BASE_IDX], err);
    if (rc >= 0)
        rc = dx_postings_dat_decode(page, s->decoder, flags, dx_span_of(dat, page->dat_size),
                                    s->plain[DX_BASE_DAT], err);
    return rc < 0 ? dx_fail_in(err, "version %s", dx_version_name(s->base)) : DX_OK;
}

static int load(struct dx_base_shard *s, uint32_t number, bool ahead, struct dx_error *err)
{
    int rc = dx_postings_page_at(&s->base->postings, s->shard, number, &s->page, err);

    if (rc == 0)
        return dx_fail(err, DX_E_CORRUPT, "postings shard %03x has no page %u", (unsigned)s->shard,
                       (unsigned)number);
    if (rc == 1 && (number < s->raw_first || number >= s->raw_end))
        rc = read_frames(s, &s->page, ahead, err);
    return rc < 0 ? rc : decode(s, &s->page, err);
}

int dx_base_shard_load(struct dx_base_shard *s, uint32_t number, struct dx_error *err)
{
    return load(s, number, false, err);
}

int dx_base_shard_next(struct dx_base_shard *s, struct dx_posting *posting, struct dx_span *payload,
                       struct dx_error *err)
{
    int rc;

    if (s->next_page == 0 || s->next_entry == s->page.entries) {
        if (s->next_page >= s->record.pages)
            return 0;
        rc = load(s, s->next_page, true, err);
        if (rc != DX_OK)
            return rc;
        s->next_page++;
        s->next_entry = 0;
    }
    rc = dx_postings_entry_at(&s->page, dx_span_of(s->plain[DX_BASE_IDX], s->page.idx_plain),
                              s->next_entry, posting, err);
    if (rc == 1)
        rc = dx_postings_payload(&s->page, dx_span_of(s->plain[DX_BASE_DAT], s->page.dat_plain),
                                 posting, payload, err);
    s->next_entry++;
    return rc < 0 ? rc : 1;
}
