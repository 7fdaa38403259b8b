/* SPDX-License-Identifier: Apache-2.0
 * cold.h - files that are read a page at a time, and cold.dxp, the directory of all of them.
 * docs/FORMAT.md says what a page of each file holds; here a page is bytes with a first key.
 *
 *   rc = dx_cold_open(&c, file, flags, name, &err);                     cold.dxp, mapped
 *   rc = dx_cold_find(&c, DX_COLD_FACTS, ordinal, rank, &page, &err);
 *                                       1: the last page that begins at or before this key; 0: none
 *   rc = dx_cold_page(&c, DX_COLD_FACTS, number, &page, &err);          1, 0 behind the last
 *   fetch [page.offset, +page.stored_size) of dx_cold_file_name(DX_COLD_FACTS)
 *   rc = dx_cold_decode(&c, &page, decoder, flags, stored, plain, &err);   plain: room for page.plain_size
 *   rc = dx_cold_verify(&c, &err);                                      every page of the directory
 *   dx_cold_close(&c);
 *
 * stored bytes are checked against the page's sum before they are looked at; the sum is bound to
 * build, file and page number. Threads may share c. decoder: one a thread (zseek.h).
 *
 * Writing, file by file, pages in order of their first keys:
 *
 *   rc = dx_cold_writer_begin(&w, DX_COLD_FACTS, &build, level, sink, ctx, &err);
 *   rc = dx_cold_writer_page(&w, key, sub, entries, plain, &err);       one or more frames of at most 1 MiB
 *   rc = dx_cold_writer_end(&w, &err);                                  the seek table
 *   dx_cold_writer_release(&w);                                         after the directory
 *   rc = dx_cold_directory_write(writers, &build, dir_sink, ctx, &err); DX_COLD_FILES of them, all ended
 */
#ifndef DX_FORMAT_VERSION_COLD_H
#define DX_FORMAT_VERSION_COLD_H

#include "base/buf.h"
#include "base/hash.h"
#include "format/core/envelope.h"
#include "format/core/zseek.h"

#define DX_COLD_MAGIC DX_KIND('D', 'X', 'C', 'P')
#define DX_COLD_VERSION 5
/* Read, not written: pages of pairs name datasets (pair_pages.h), sketches are longer (url_sketch.h), pages of places have ids
 * of URLs and exact rows (url_ids.h). Nothing wrote 2 to 4 but programs between releases. */
#define DX_COLD_VERSION_OLD 1
#define DX_COLD_URL_ID_LISTS DX_KIND('U', 'I', 'D', 'X') /* format/version/url_id_list.h */
#define DX_COLD_PAGE_PLAIN (64u << 10)                   /* writers close a page that has so much */
#define DX_COLD_PAGE_PLAIN_MAX (64u << 20)               /* what a reader must be ready to hold */

enum dx_cold_file { DX_COLD_FACTS, DX_COLD_SKETCHES, DX_COLD_URL_IDS, DX_COLD_FILES };

struct dx_cold_page {
    enum dx_cold_file file;
    uint32_t number;
    uint64_t key; /* of its first entry: ordinal, or as docs/FORMAT.md 10.1 says */
    uint32_t sub; /* of pairs: pair_pages.h; of URLs 0 */
    uint32_t entries;
    uint64_t offset; /* in the .zst file */
    uint32_t stored_size;
    uint32_t plain_size;
    uint64_t sum;
};

struct dx_cold {
    struct dx_envelope envelope;
    struct dx_span pages[DX_COLD_FILES]; /* a record a page */
    uint64_t size[DX_COLD_FILES];        /* of the .zst files */
    uint64_t entries[DX_COLD_FILES];
    struct dx_span url_ids; /* lists; of DX_COLD_VERSION_OLD there are none */
};

static inline uint32_t dx_cold_version(const struct dx_cold *c)
{
    return c->envelope.version;
}

static inline bool dx_cold_is_old(const struct dx_cold *c)
{
    return c->envelope.version == DX_COLD_VERSION_OLD;
}

/* "facts.dat.zst", ... */
const char *dx_cold_file_name(enum dx_cold_file file);

int dx_cold_open(struct dx_cold *c, struct dx_span file, unsigned flags, const char *name,
                 struct dx_error *err);
int dx_cold_find(const struct dx_cold *c, enum dx_cold_file file, uint64_t key, uint32_t sub,
                 struct dx_cold_page *page, struct dx_error *err);
int dx_cold_page(const struct dx_cold *c, enum dx_cold_file file, uint32_t number,
                 struct dx_cold_page *page, struct dx_error *err);
int dx_cold_decode(const struct dx_cold *c, const struct dx_cold_page *page,
                   struct dx_zstd_decoder *decoder, unsigned flags, struct dx_span stored,
                   uint8_t *plain, struct dx_error *err);
uint64_t dx_cold_page_count(const struct dx_cold *c, enum dx_cold_file file);
/* All pages of the directory, and that they add up to what its header says. */
int dx_cold_verify(const struct dx_cold *c, struct dx_error *err);
void dx_cold_close(struct dx_cold *c);

struct dx_cold_writer {
    enum dx_cold_file file;
    struct dx_build_id build;
    struct dx_zseek_writer out;
    struct dx_buf pages;   /* records, for the directory */
    struct dx_buf stored;  /* the last page as it is in the file */
    struct dx_buf url_ids; /* of DX_COLD_URL_IDS: its section, put here by the writer of pages */
    uint64_t entries;
    bool ended;
};

int dx_cold_writer_begin(struct dx_cold_writer *w, enum dx_cold_file file,
                         const struct dx_build_id *build, int level,
                         int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *ctx, struct dx_error *err);
int dx_cold_writer_page(struct dx_cold_writer *w, uint64_t key, uint32_t sub, uint32_t entries,
                        struct dx_span plain, struct dx_error *err);
int dx_cold_writer_end(struct dx_cold_writer *w, struct dx_error *err);
void dx_cold_writer_release(struct dx_cold_writer *w);
int dx_cold_directory_write(struct dx_cold_writer *writers /* [DX_COLD_FILES] */,
                            const struct dx_build_id *build,
                            int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                            void *ctx, struct dx_error *err);

#endif
