/* SPDX-License-Identifier: Apache-2.0
 * postings.h - pair -> posting list, for a caller that fetches the bytes itself.
 *
 *   rc = dx_postings_open(&p, file, flags, name, &err);                 postings.dxp
 *   rc = dx_postings_page_find(&p, domain_id, dataset_id, &page, &err); 1: the one page that can
 *                                                       have it; 0: no page can; <0
 *   fetch [page.idx_offset, +page.idx_size) of the shard's postings.idx.zst and
 *         [page.dat_offset, +page.dat_size) of its postings.dat.zst     both at once, if you like
 *   rc = dx_postings_idx_decode(&page, decoder, flags, compressed, plain, &err);
 *                                                       plain: room for page.idx_plain bytes, which
 *                                                       the entries take in memory
 *   rc = dx_postings_entry_find(&page, plain_idx, domain_id, dataset_id, &posting, &err);  1/0/<0
 *   rc = dx_postings_dat_decode(&page, decoder, flags, compressed, plain, &err);
 *                                                       plain: room for page.dat_plain bytes
 *   rc = dx_postings_payload(&page, plain_dat, &posting, &payload, &err);   then payload.h
 *   dx_postings_close(&p);
 *
 * A page is a plain value; the decode functions check the compressed bytes against the page's
 * sum before they look at them, and the plain idx wholly (order, entries, offsets). Everything
 * borrowed: nothing is allocated but zstd's own working memory. Threads may share p.
 *
 * decoder: one a thread (zseek.h). flags: 0, or DX_OPEN_UNCHECKED in tests.
 * The dat of a page is one frame, or several of at most 1 MiB plain when a single long list
 * fills it alone.
 *
 * Shard number: dx_postings_shard_of(domain_id); folder: dx_postings_shard_name.
 * For those who read all: dx_postings_shard_get, dx_postings_page_at, dx_postings_entry_at.
 *
 * Writing, shard by shard, pairs in ascending (domain_id, dataset_id):
 *
 *   rc = dx_shard_writer_init(&w, shard, total, &build, level, idx_sink, idx_ctx,
 *                             dat_sink, dat_ctx, pages, &err);
 *   rc = dx_shard_writer_add(&w, domain_id, dataset_id, payload, &err);
 *   rc = dx_shard_writer_finish(&w, &record, &err);
 *   dx_shard_writer_release(&w);              also after errors; do not move w before
 *
 * level: of zstd, 0 is the default; pages: a dx_buf to which 64 bytes a page are appended;
 * record: what postings.dxp says of the shard. And the directory, once all records are there
 * (DX_POSTINGS_SHARDS of them; zeroed for a shard without pairs):
 *
 *   rc = dx_postings_writer_begin(&w, records, &build, sink, ctx, &err);
 *   rc = dx_postings_writer_pages(&w, page_records, &err);   shard by shard, in any pieces
 *   rc = dx_postings_writer_end(&w, &err);
 *   dx_postings_writer_release(&w);
 *
 * A record of a shard stays valid in later versions as long as its two files are not changed:
 * its sums are bound to the build id that it was written under.
 */
#ifndef DX_FORMAT_POSTINGS_H
#define DX_FORMAT_POSTINGS_H

#include "base/buf.h"
#include "base/hash.h"
#include "format/envelope.h"
#include "format/payload.h"
#include "format/zseek.h"

#define DX_POSTINGS_MAGIC DX_KIND('D', 'X', 'P', 'D')
#define DX_POSTINGS_VERSION 2
#define DX_POSTINGS_SHARDS 1024
#define DX_POSTINGS_PAGE_ENTRIES 512
#define DX_POSTINGS_PAGE_BYTES (256u << 10) /* payload bytes that close a page early */
#define DX_POSTINGS_PAGE_RECORD 64
#define DX_POSTINGS_SHARD_RECORD 96
#define DX_POSTINGS_ENTRY 20 /* bytes of an entry in memory */
#define DX_POSTINGS_IDX_PLAIN_MAX (DX_POSTINGS_ENTRY * DX_POSTINGS_PAGE_ENTRIES)
#define DX_POSTINGS_IDX_HEADER 16    /* of a file, in front of its first page */
#define DX_POSTINGS_PAGE_HEADER 14   /* of each page */
#define DX_POSTINGS_ENTRY_PACKED 37u /* bytes an entry may need in the file: a bit, three codes */
#define DX_POSTINGS_IDX_PACKED_MAX                      \
    (DX_POSTINGS_IDX_HEADER + DX_POSTINGS_PAGE_HEADER + \
     DX_POSTINGS_ENTRY_PACKED * DX_POSTINGS_PAGE_ENTRIES)
#define DX_POSTINGS_SHARD_NAME 4 /* "3ff" and NUL */

struct dx_postings {
    struct dx_envelope envelope;
    uint64_t pages;
    uint64_t pairs;
    struct dx_span shard_records; /* SHRD */
    struct dx_span page_records;  /* PAGE */
};

struct dx_postings_shard {
    uint64_t first_page; /* among all pages; filled by the directory writer */
    uint64_t pages;
    uint64_t entries;
    uint64_t idx_size; /* of the .zst files */
    uint64_t dat_size;
    struct dx_build_id build;
    struct dx_hash128 idx_hash;
    struct dx_hash128 dat_hash;
};

struct dx_postings_page {
    uint32_t shard;
    uint32_t number; /* within the shard */
    uint64_t first_domain_id;
    uint32_t first_dataset_id;
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
    struct dx_build_id build; /* of the shard */
    uint64_t shard_entries;
};

struct dx_posting {
    uint64_t domain_id;
    uint32_t dataset_id;
    uint32_t payload_offset; /* within the plain dat frame of the page */
    uint32_t payload_size;
};

static inline uint32_t dx_postings_shard_of(uint64_t domain_id)
{
    return (uint32_t)(domain_id >> 54);
}

void dx_postings_shard_name(uint32_t shard, char out[DX_POSTINGS_SHARD_NAME]);

int dx_postings_open(struct dx_postings *p, struct dx_span file, unsigned flags, const char *name,
                     struct dx_error *err);
int dx_postings_shard_get(const struct dx_postings *p, uint32_t shard,
                          struct dx_postings_shard *out, struct dx_error *err); /* 1, 0 empty */
int dx_postings_page_at(const struct dx_postings *p, uint32_t shard, uint32_t number,
                        struct dx_postings_page *out, struct dx_error *err); /* 1, 0 beyond */
/* The PAGE records of a shard, for a writer of the next directory that shares it: appended. */
int dx_postings_page_records(const struct dx_postings *p, uint32_t shard, struct dx_buf *out,
                             struct dx_error *err);
int dx_postings_page_find(const struct dx_postings *p, uint64_t domain_id, uint32_t dataset_id,
                          struct dx_postings_page *out, struct dx_error *err);
void dx_postings_close(struct dx_postings *p);

int dx_postings_idx_decode(const struct dx_postings_page *page, struct dx_zstd_decoder *decoder,
                           unsigned flags, struct dx_span compressed, uint8_t *plain,
                           struct dx_error *err);
/* plain: what dx_postings_idx_decode accepted for this page. */
int dx_postings_entry_find(const struct dx_postings_page *page, struct dx_span plain,
                           uint64_t domain_id, uint32_t dataset_id, struct dx_posting *out,
                           struct dx_error *err);
int dx_postings_entry_at(const struct dx_postings_page *page, struct dx_span plain, uint32_t index,
                         struct dx_posting *out, struct dx_error *err); /* 1, 0 beyond */
/* The first entries of a plain postings.idx (what `zstd -dc` gives), for who has no directory: how
 * many are there, at most `most`; and how many the file says it has in all its pages. */
int dx_postings_idx_peek(struct dx_span plain, uint64_t *entries, struct dx_posting *out,
                         uint32_t most, struct dx_error *err);
int dx_postings_dat_decode(const struct dx_postings_page *page, struct dx_zstd_decoder *decoder,
                           unsigned flags, struct dx_span compressed, uint8_t *plain,
                           struct dx_error *err);
int dx_postings_payload(const struct dx_postings_page *page, struct dx_span plain,
                        const struct dx_posting *posting, struct dx_span *payload,
                        struct dx_error *err);

struct dx_shard_file {
    int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err);
    void *sink_ctx;
    struct dx_hash_state *hashing; /* of the .zst file */
    struct dx_zseek_writer zst;
};

struct dx_shard_writer {
    uint32_t shard;
    struct dx_build_id build;
    struct dx_shard_file idx;
    struct dx_shard_file dat;
    struct dx_buf *pages;
    struct dx_buf entries;  /* of the open page, as in memory */
    struct dx_buf packed;   /* and as in the file */
    struct dx_buf payloads; /* plain dat of the open page */
    struct dx_buf frames;   /* compressed dat of the open page */
    uint32_t page_entries;
    uint32_t page_count;
    uint64_t entry_count;
    uint64_t total; /* entries that there will be */
    uint64_t last_domain_id;
    uint32_t last_dataset_id;
    uint64_t first_domain_id; /* of the open page */
    uint32_t first_dataset_id;
};

/* total: number of pairs that will be added (it stands in the front of the idx file). */
int dx_shard_writer_init(struct dx_shard_writer *w, uint32_t shard, uint64_t total,
                         const struct dx_build_id *build, int level,
                         int (*idx_sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *idx_ctx,
                         int (*dat_sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *dat_ctx, struct dx_buf *pages, struct dx_error *err);
int dx_shard_writer_add(struct dx_shard_writer *w, uint64_t domain_id, uint32_t dataset_id,
                        struct dx_span payload, struct dx_error *err);
int dx_shard_writer_finish(struct dx_shard_writer *w, struct dx_postings_shard *record,
                           struct dx_error *err);
void dx_shard_writer_release(struct dx_shard_writer *w);

struct dx_postings_writer {
    struct dx_envelope_writer envelope;
    uint64_t pages_want;
    uint64_t pages_done;
};

int dx_postings_writer_begin(struct dx_postings_writer *w,
                             struct dx_postings_shard records[DX_POSTINGS_SHARDS],
                             const struct dx_build_id *build,
                             int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                             void *ctx, struct dx_error *err);
int dx_postings_writer_pages(struct dx_postings_writer *w, struct dx_span records,
                             struct dx_error *err);
int dx_postings_writer_end(struct dx_postings_writer *w, struct dx_error *err);
void dx_postings_writer_release(struct dx_postings_writer *w);

#endif
