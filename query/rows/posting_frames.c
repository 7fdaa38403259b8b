/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/posting_frames.h"

#include "format/core/zseek.h"
#include "loader/version.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define KIND_IDX DX_KIND('P', 'I', 'D', 'X')
#define KIND_DAT DX_KIND('P', 'D', 'A', 'T')

void dx_posting_frames_init(struct dx_posting_frames *f, const struct dx_part *part,
                            const struct dx_caches *caches)
{
    *f = (struct dx_posting_frames){ .part = part,
                                     .idx = { .cache = caches->idx },
                                     .dat = { .cache = caches->payload } };
}

void dx_posting_frames_release(struct dx_posting_frames *f)
{
    dx_block_request_release(&f->idx);
    dx_block_request_release(&f->dat);
}

/* A frame of one of the two files. Its sum is part of the key, as in query/rows/cold_page.c. */
static int want_frame(struct dx_posting_frames *f, struct dx_block_request *w,
                      enum dx_object_kind which, char name[DX_MANIFEST_FILE_PATH],
                      struct dx_error *err)
{
    const struct dx_postings_page *page = &f->page;
    const char *file = which == DX_OBJECT_IDX ? DX_FILE_POSTINGS_IDX : DX_FILE_POSTINGS_DAT;
    const struct dx_manifest_file *listed = dx_manifest_file(&f->part->entry, file);
    struct dx_manifest_place place;

    if (listed == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s",
                       f->part->entry.version, file);
    dx_manifest_place(&f->part->entry, listed, &place);
    memcpy(name, place.object, DX_MANIFEST_FILE_PATH);
    memcpy(w->key.object, page->build.bytes, sizeof w->key.object);
    w->key.part = page->number;
    w->key.kind = which == DX_OBJECT_IDX ? KIND_IDX : KIND_DAT;
    w->key.more = (uint32_t)(which == DX_OBJECT_IDX ? page->idx_sum : page->dat_sum);
    w->of.part = f->part;
    w->of.object = (struct dx_object){ which, 0 };
    w->of.name = name;
    w->of.total = place.total;
    w->offset = place.at + (which == DX_OBJECT_IDX ? page->idx_offset : page->dat_offset);
    w->size = which == DX_OBJECT_IDX ? page->idx_size : page->dat_size;
    return DX_OK;
}

int dx_posting_frames_find(struct dx_posting_frames *f, struct dx_pair_place place,
                           struct dx_error *err)
{
    int rc = dx_postings_page_find(&f->part->postings, place, &f->page, err);

    if (rc <= 0)
        return rc;
    rc = want_frame(f, &f->idx, DX_OBJECT_IDX, f->idx_object, err);
    if (rc == DX_OK)
        rc = want_frame(f, &f->dat, DX_OBJECT_DAT, f->dat_object, err);
    return rc < 0 ? rc : 1;
}

int dx_posting_frames_have(const struct dx_posting_frames *f, struct dx_pair_place place,
                           struct dx_error *err)
{
    struct dx_postings_page page;
    int rc = dx_postings_page_find(&f->part->postings, place, &page, err);

    return rc == 1 ? page.number == f->page.number : rc;
}

struct frame_decoder {
    struct dx_posting_frames *frames;
    struct dx_zstd_decoder **decoder;
};

/* Raw frame -> checked plain bytes. */
static int decode_frame(void *ctx, const struct dx_block_request *w, uint8_t **bytes, size_t *size,
                        struct dx_error *err)
{
    const struct frame_decoder *d = ctx;
    const struct dx_postings_page *page = &d->frames->page;
    struct dx_span raw = dx_span_of(w->raw, w->size);
    unsigned flags = d->frames->part->open_flags;
    bool idx = w == &d->frames->idx;
    int rc;

    *size = idx ? page->idx_plain : page->dat_plain;
    *bytes = malloc(*size > 0 ? *size : 1);
    if (*d->decoder == NULL)
        *d->decoder = dx_zstd_decoder_new();
    if (*bytes == NULL || *d->decoder == NULL)
        rc = dx_no_memory(err, "postings");
    else
        rc = idx ? dx_postings_idx_decode(page, *d->decoder, flags, raw, *bytes, err)
                 : dx_postings_dat_decode(page, *d->decoder, flags, raw, *bytes, err);
    if (rc == DX_OK)
        return rc;
    free(*bytes);
    *bytes = NULL;
    return rc == DX_E_NOMEM ? rc : dx_fail_in(err, "%s", w->of.name);
}

int dx_posting_frames_advance(struct dx_posting_frames *f, struct dx_read_batch *reading,
                              struct dx_zstd_decoder **decoder, struct dx_error *err)
{
    struct frame_decoder d = { f, decoder };
    int rc = dx_block_request_advance(&f->idx, reading, decode_frame, &d, err);

    if (rc == DX_OK)
        rc = dx_block_request_advance(&f->dat, reading, decode_frame, &d, err);
    return rc;
}

int dx_posting_frames_payload(const struct dx_posting_frames *f, struct dx_pair_place place,
                              struct dx_span *bytes, struct dx_error *err)
{
    struct dx_posting posting;
    int rc = dx_postings_entry_find(&f->page, f->idx.block->bytes, place, &posting, err);

    assert(f->idx.block != NULL && f->dat.block != NULL); /* advanced until they are there */
    if (rc <= 0)
        return rc;
    rc = dx_postings_payload(&f->page, f->dat.block->bytes, &posting, bytes, err);
    return rc < 0 ? rc : 1;
}
