/* SPDX-License-Identifier: Apache-2.0
 * postings.h - pair -> posting list, for a caller that fetches the bytes itself.
 *
 * A pair is a place: the ordinal of its domain, and its number among the domain's pairs, from 0 (the
 * rank of its dataset_id in the domain's set). Of a directory of version 1 (p.by_ids) it is domain_id
 * and dataset_id instead; loader/pair_places.h makes either. Those are read, and not written.
 *
 *   rc = dx_postings_open(&p, file, flags, name, &err);                 postings.dxp
 *   rc = dx_postings_page_find(&p, place, &page, &err); 1: the one page that can
 *                                                       have it; 0: no page can; <0
 *   fetch [page.idx_offset, +page.idx_size) of postings.idx.zst and
 *         [page.dat_offset, +page.dat_size) of postings.dat.zst     both at once, if you like
 *   rc = dx_postings_idx_decode(&page, decoder, flags, compressed, plain, &err);
 *                                                       plain: room for page.idx_plain bytes, which
 *                                                       the entries take in memory
 *   rc = dx_postings_entry_find(&page, plain_idx, place, &posting, &err);  1/0/<0
 *   rc = dx_postings_dat_decode(&page, decoder, flags, compressed, plain, &err);
 *                                                       plain: room for page.dat_plain bytes
 *   rc = dx_postings_payload(&page, plain_dat, &posting, &payload, &err);
 *   rc = dx_postings_list(&p, ordinal, dataset_id, payload, name, &list, &err);   its runs: payload.h
 *   dx_postings_close(&p);
 *
 * A page is a plain value; the decode functions check the compressed bytes against the page's
 * sum before they look at them, and the plain idx wholly (order, entries, offsets). Everything
 * borrowed. Threads may share p.
 *
 * decoder: one a thread (zseek.h). flags: 0, or DX_OPEN_UNCHECKED in tests.
 * The dat of a page is one frame, or several of at most 1 MiB plain when a single long list
 * fills it alone. For those who read all: dx_postings_page_at, dx_postings_entry_at.
 *
 * Writing: one thread cuts the pairs, by their places without a gap, into pages; any thread
 * encodes a page; one puts them together in their order. A draft is a page in the making:
 *
 *   dx_postings_draft_init(&draft);
 *   while (!dx_postings_draft_full(&draft, payload.size))              true: it begins the next page
 *       rc = dx_postings_draft_add(&draft, place, payload, &err);
 *   rc = dx_postings_draft_encode(&draft, number, pairs, &build, encoder, &err);
 *   rc = dx_postings_files_page(&files, &draft, &err);
 *   dx_postings_draft_clear(&draft);                                   for another page
 *   dx_postings_draft_release(&draft);
 *
 *   rc = dx_postings_files_begin(&files, pairs, idx_sink, idx_ctx, dat_sink, dat_ctx, &err);
 *   rc = dx_postings_files_end(&files, &err);      files.totals and files.records hold then
 *   dx_postings_files_release(&files);             also after errors; do not move files before
 *
 * number: of the page, from 0; pairs: of all pages (it stands in the front of the idx);
 * files.records: 64 bytes a page, which the caller may take out at any time (dx_buf_clear) and
 * gives to the writer of the directory:
 *
 *   rc = dx_postings_writer_begin(&w, &files.totals, &build, sink, ctx, &err);
 *   rc = dx_postings_writer_pages(&w, records, &err);        in order, in any pieces
 *   rc = dx_postings_writer_end(&w, first_files, &err);      u32 dataset_id, u32 first file: each that has a pair, ascending
 *   dx_postings_writer_release(&w);
 */
#ifndef DX_FORMAT_VERSION_POSTINGS_H
#define DX_FORMAT_VERSION_POSTINGS_H

#include "base/buf.h"
#include "base/hash.h"
#include "format/core/envelope.h"
#include "format/core/zseek.h"
#include "format/version/payload.h"

#define DX_POSTINGS_MAGIC DX_KIND('D', 'X', 'P', 'D')
#define DX_POSTINGS_VERSION 3
#define DX_POSTINGS_VERSION_OLD 1 /* by_ids */
#define DX_POSTINGS_PAGE_ENTRIES 512
#define DX_POSTINGS_PAGE_BYTES (256u << 10) /* payload bytes that close a page early */
#define DX_POSTINGS_PAGE_RECORD 64
#define DX_POSTINGS_ENTRY 20 /* bytes of an entry in memory */
#define DX_POSTINGS_IDX_PLAIN_MAX (DX_POSTINGS_ENTRY * DX_POSTINGS_PAGE_ENTRIES)
#define DX_POSTINGS_IDX_HEADER 16  /* of a file, in front of its first page */
#define DX_POSTINGS_PAGE_HEADER 15 /* of each page, at most */
#define DX_POSTINGS_ENTRY_PACKED \
    37u /* bytes an entry may need in the file: by_ids a bit, three codes */
#define DX_POSTINGS_IDX_PACKED_MAX                      \
    (DX_POSTINGS_IDX_HEADER + DX_POSTINGS_PAGE_HEADER + \
     DX_POSTINGS_ENTRY_PACKED * DX_POSTINGS_PAGE_ENTRIES)

struct dx_pair_place {
    uint64_t domain;
    uint32_t dataset;
};

struct dx_postings_totals {
    uint64_t pages;
    uint64_t pairs;
    uint64_t domains;  /* 0 if by_ids */
    uint32_t datasets; /* that have a pair; 0 if by_ids */
    uint64_t idx_size; /* of the .zst files */
    uint64_t dat_size;
};

struct dx_postings {
    struct dx_envelope envelope;
    struct dx_postings_totals totals;
    struct dx_span page_records; /* PAGE */
    struct dx_span first_files;  /* FILE */
    bool by_ids;
};

struct dx_postings_page {
    uint32_t number;
    bool by_ids;
    struct dx_pair_place first;
    uint32_t entries;
    uint64_t idx_offset;
    uint64_t dat_offset;
    uint32_t idx_size;   /* compressed */
    uint32_t idx_packed; /* what zstd makes of it */
    uint32_t idx_plain;  /* its entries in memory */
    uint32_t dat_size;
    uint32_t dat_plain;
    uint64_t idx_sum;
    uint64_t dat_sum;
    struct dx_build_id build; /* of the version */
    uint64_t pairs;           /* of all pages */
};

struct dx_posting {
    struct dx_pair_place place;
    uint32_t payload_offset; /* within the plain dat frame of the page */
    uint32_t payload_size;
};

int dx_postings_open(struct dx_postings *p, struct dx_span file, unsigned flags, const char *name,
                     struct dx_error *err);
int dx_postings_page_at(const struct dx_postings *p, uint64_t number, struct dx_postings_page *out,
                        struct dx_error *err); /* 1, 0 beyond */
int dx_postings_page_find(const struct dx_postings *p, struct dx_pair_place place,
                          struct dx_postings_page *out, struct dx_error *err);
void dx_postings_close(struct dx_postings *p);

int dx_postings_idx_decode(const struct dx_postings_page *page, struct dx_zstd_decoder *decoder,
                           unsigned flags, struct dx_span compressed, uint8_t *plain,
                           struct dx_error *err);
/* plain: what dx_postings_idx_decode accepted for this page. */
int dx_postings_entry_find(const struct dx_postings_page *page, struct dx_span plain,
                           struct dx_pair_place place, struct dx_posting *out,
                           struct dx_error *err);
int dx_postings_entry_at(const struct dx_postings_page *page, struct dx_span plain, uint32_t index,
                         struct dx_posting *out, struct dx_error *err); /* 1, 0 beyond */
/* The first entries of a plain postings.idx (what `zstd -dc` gives), for a caller without a directory: how
 * many are there, at most `most`; how many the file says it has in all its pages; and by what it
 * knows pairs. */
int dx_postings_idx_peek(struct dx_span plain, uint64_t *entries, bool *by_ids,
                         struct dx_posting *out, uint32_t most, struct dx_error *err);
int dx_postings_dat_decode(const struct dx_postings_page *page, struct dx_zstd_decoder *decoder,
                           unsigned flags, struct dx_span compressed, uint8_t *plain,
                           struct dx_error *err);
int dx_postings_payload(const struct dx_postings_page *page, struct dx_span plain,
                        const struct dx_posting *posting, struct dx_span *payload,
                        struct dx_error *err);
/* The file from which on lists of the dataset count: 1; 0, none of its pairs is here. */
int dx_postings_first_file(const struct dx_postings *p, uint32_t dataset_id, uint32_t *file_id,
                           struct dx_error *err);
int dx_postings_list(const struct dx_postings *p, uint64_t ordinal, uint32_t dataset_id,
                     struct dx_span payload, const char *name, struct dx_payload *list,
                     struct dx_error *err);

/* All private but `page`: what the directory will say of it, once it is encoded and written. */
struct dx_postings_draft {
    struct dx_postings_page page;
    struct dx_buf entries;  /* as in memory */
    struct dx_buf payloads; /* plain dat */
    struct dx_buf packed;   /* plain idx */
    struct dx_buf idx;      /* frames */
    struct dx_buf dat;
};

void dx_postings_draft_init(struct dx_postings_draft *d);
bool dx_postings_draft_full(const struct dx_postings_draft *d, size_t payload_size);
int dx_postings_draft_add(struct dx_postings_draft *d, struct dx_pair_place place,
                          struct dx_span payload, struct dx_error *err);
int dx_postings_draft_encode(struct dx_postings_draft *d, uint64_t number, uint64_t pairs,
                             const struct dx_build_id *build, struct dx_zstd_encoder *encoder,
                             struct dx_error *err);
void dx_postings_draft_clear(struct dx_postings_draft *d); /* a large list's memory is given back */
void dx_postings_draft_release(struct dx_postings_draft *d);

struct dx_postings_files {
    struct dx_zseek_writer idx;
    struct dx_zseek_writer dat;
    struct dx_buf records;
    struct dx_postings_totals totals;
    uint64_t pairs_want;
    struct dx_pair_place last;
};

int dx_postings_files_begin(struct dx_postings_files *f, uint64_t pairs,
                            int (*idx_sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                            void *idx_ctx,
                            int (*dat_sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                            void *dat_ctx, struct dx_error *err);
int dx_postings_files_page(struct dx_postings_files *f, struct dx_postings_draft *draft,
                           struct dx_error *err);
int dx_postings_files_end(struct dx_postings_files *f, struct dx_error *err);
void dx_postings_files_release(struct dx_postings_files *f);

struct dx_postings_writer {
    struct dx_envelope_writer envelope;
    uint64_t pages_want;
    uint64_t pages_done;
    uint32_t datasets_want;
};

int dx_postings_writer_begin(struct dx_postings_writer *w, const struct dx_postings_totals *totals,
                             const struct dx_build_id *build,
                             int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                             void *ctx, struct dx_error *err);
int dx_postings_writer_pages(struct dx_postings_writer *w, struct dx_span records,
                             struct dx_error *err);
int dx_postings_writer_end(struct dx_postings_writer *w, struct dx_span first_files,
                           struct dx_error *err);
void dx_postings_writer_release(struct dx_postings_writer *w);

#endif
