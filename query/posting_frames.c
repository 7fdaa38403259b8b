/* SPDX-License-Identifier: Apache-2.0 */
#include "query/posting_frames.h"

#include "format/zseek.h"
#include "loader/version.h"

#include <stdio.h>
#include <stdlib.h>

#define KIND_IDX DX_KIND('P', 'I', 'D', 'X')
#define KIND_DAT DX_KIND('P', 'D', 'A', 'T')

void dx_posting_frames_init(struct dx_posting_frames *f, struct dx_version *v, uint64_t domain_id,
                            uint32_t dataset_id)
{
    *f = (struct dx_posting_frames){ .version = v,
                                     .domain_id = domain_id,
                                     .dataset_id = dataset_id,
                                     .idx = { .cache = v->caches->idx },
                                     .dat = { .cache = v->caches->payload } };
}

void dx_posting_frames_release(struct dx_posting_frames *f)
{
    dx_wanted_release(&f->idx);
    dx_wanted_release(&f->dat);
}

/* A frame of one of the two files of the page's shard. */
static int want_frame(struct dx_posting_frames *f, struct dx_wanted *w, enum dx_object_kind which,
                      char name[DX_MANIFEST_FILE_PATH], struct dx_error *err)
{
    const struct dx_postings_page *page = &f->page;
    const char *base = which == DX_OBJECT_IDX ? "idx" : "dat";
    const struct dx_manifest_file *listed;
    char shard[DX_POSTINGS_SHARD_NAME];
    char file[DX_MANIFEST_FILE_NAME];

    dx_postings_shard_name(page->shard, shard);
    (void)snprintf(file, sizeof file, "postings/%s/postings.%s.zst", shard, base);
    listed = dx_manifest_file(&f->version->entry, file);
    if (listed == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s",
                       f->version->entry.version, file);
    dx_manifest_file_path(&f->version->entry, listed, name);
    memcpy(w->key.object, page->build.bytes, sizeof w->key.object);
    w->key.part = (uint64_t)page->shard << 32 | page->number;
    w->key.kind = which == DX_OBJECT_IDX ? KIND_IDX : KIND_DAT;
    w->object = (struct dx_object){ which, page->shard };
    w->name = name;
    w->total = listed->size;
    w->offset = which == DX_OBJECT_IDX ? page->idx_offset : page->dat_offset;
    w->size = which == DX_OBJECT_IDX ? page->idx_size : page->dat_size;
    return DX_OK;
}

int dx_posting_frames_find(struct dx_posting_frames *f, struct dx_error *err)
{
    int rc = dx_postings_page_find(&f->version->postings, f->domain_id, f->dataset_id, &f->page,
                                   err);

    if (rc <= 0)
        return rc;
    rc = want_frame(f, &f->idx, DX_OBJECT_IDX, f->idx_object, err);
    if (rc == DX_OK)
        rc = want_frame(f, &f->dat, DX_OBJECT_DAT, f->dat_object, err);
    return rc < 0 ? rc : 1;
}

struct frame_decoder {
    struct dx_posting_frames *frames;
    struct dx_zstd_decoder **decoder;
};

/* Raw frame -> checked plain bytes. */
static int decode_frame(void *ctx, const struct dx_wanted *w, uint8_t **bytes, size_t *size,
                        struct dx_error *err)
{
    const struct frame_decoder *d = ctx;
    const struct dx_postings_page *page = &d->frames->page;
    struct dx_span raw = dx_span_of(w->raw, w->size);
    unsigned flags = d->frames->version->open_flags;
    bool idx = w == &d->frames->idx;
    int rc;

    *size = idx ? page->idx_plain : page->dat_plain;
    *bytes = malloc(*size > 0 ? *size : 1);
    if (*d->decoder == NULL)
        *d->decoder = dx_zstd_decoder_new();
    if (*bytes == NULL || *d->decoder == NULL)
        rc = dx_fail(err, DX_E_NOMEM, "postings: out of memory");
    else
        rc = idx ? dx_postings_idx_decode(page, *d->decoder, flags, raw, *bytes, err)
                 : dx_postings_dat_decode(page, *d->decoder, flags, raw, *bytes, err);
    if (rc == DX_OK)
        return rc;
    free(*bytes);
    *bytes = NULL;
    return rc == DX_E_NOMEM ? rc : dx_fail_in(err, "%s", w->name);
}

int dx_posting_frames_advance(struct dx_posting_frames *f, struct dx_reading *reading,
                              struct dx_zstd_decoder **decoder, struct dx_error *err)
{
    struct frame_decoder d = { f, decoder };
    int rc = dx_wanted_advance(&f->idx, reading, decode_frame, &d, err);

    if (rc == DX_OK)
        rc = dx_wanted_advance(&f->dat, reading, decode_frame, &d, err);
    return rc;
}

int dx_posting_frames_payload(const struct dx_posting_frames *f, struct dx_span *bytes,
                              struct dx_error *err)
{
    struct dx_posting posting;
    int rc = dx_postings_entry_find(&f->page, f->idx.block->bytes, f->domain_id, f->dataset_id,
                                    &posting, err);

    if (rc <= 0)
        return rc;
    rc = dx_postings_payload(&f->page, f->dat.block->bytes, &posting, bytes, err);
    return rc < 0 ? rc : 1;
}
