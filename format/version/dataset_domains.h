/* SPDX-License-Identifier: Apache-2.0
 * dataset_domains.h - dataset_domains.dxt: the domains of each dataset with their URL counts.
 *
 *   rc = dx_dataset_domains_open(&d, file, flags, name, &err);
 *   rc = dx_dataset_domains_of(&d, dataset_id, &list, &err);              1, 0 it has no domain, <0
 *   rc = dx_dataset_domains_at(&d, number, &list, &err);                  1, 0 behind the last, <0
 *   rc = dx_dataset_domains_rank(&d, &list, url_count, &rank, &err);      1 + domains with more URLs
 *   rc = dx_dataset_domains_top(&d, &list, first, n, out, &err);          out[0 .. n): most URLs first,
 *                                                                         equal ones by ordinal; first + n <= list.domains
 *   dx_domain_cursor_begin(&c, &d, &list);                                by ordinal:
 *   while ((rc = dx_domain_cursor_next(&c, &err)) == 1) ... c.ordinal, c.url_count ...
 *   rc = dx_domain_cursor_seek(&c, ordinal, &err);
 *   rc = dx_dataset_domains_check(&d, &list, &err);                       all of a list, for verify
 *   dx_dataset_domains_close(&d);
 *
 * rank and top return DX_OK or <0. Nothing is allocated by readers but what top needs beyond the
 * stored head of the ranking, and check: 8 bytes a different count. rank costs a binary search, top
 * within the head a few ns a domain, beyond it a walk over the list (5 ns a domain); lists of up to
 * DX_DATASET_DOMAINS_NO_HEAD domains have no head, since a walk takes microseconds. seek costs a
 * binary search over the blocks ahead and a part of a block. Borrowing and threads: as in
 * membership.h; a cursor is one thread's.
 *
 * Writing: dataset by dataset, ascending; of each its domains by ordinal, and where the list is
 * long a second time, when the counts are known, for the head:
 *
 *   rc = dx_dataset_domains_writer_begin(&w, domains, pairs, &build, sink, ctx, &err);
 *   rc = dx_dataset_domains_writer_dataset(&w, dataset_id, &err);
 *   rc = dx_dataset_domains_writer_add(&w, ordinal, url_count, &err);
 *   rc = dx_dataset_domains_writer_counted(&w, &err);                     1: all of them again,
 *   rc = dx_dataset_domains_writer_rank(&w, ordinal, url_count, &err);        in the same order; 0: no
 *   rc = dx_dataset_domains_writer_end(&w, &err);
 *   dx_dataset_domains_writer_release(&w);
 *
 * A dataset to which nothing is added is not in the file. end refuses if not all pairs came. Memory
 * of a writer: 40 bytes a dataset; of the dataset at hand 16 bytes a block, 8 bytes a domain of
 * over 4096 URLs, 24 bytes a different count and 4 bytes a domain of the head.
 */
#ifndef DX_FORMAT_VERSION_DATASET_DOMAINS_H
#define DX_FORMAT_VERSION_DATASET_DOMAINS_H

#include "base/buf.h"
#include "format/core/envelope.h"

#define DX_DATASET_DOMAINS_MAGIC DX_KIND('D', 'X', 'T', 'D')
#define DX_DATASET_DOMAINS_VERSION 1
#define DX_DATASET_DOMAINS_BLOCK 128
#define DX_DATASET_DOMAINS_NO_HEAD 1024
#define DX_DATASET_DOMAINS_HEAD_MAX \
    (4u << 20) /* a tenth of 40 M domains: what a writer must hold */

struct dx_domain_count {
    uint64_t ordinal;
    uint64_t url_count;
};

struct dx_dataset_domains {
    struct dx_envelope envelope;
    uint64_t domains; /* of the version */
    uint64_t pairs;
    uint64_t datasets;     /* that have a domain */
    unsigned ordinal_bits; /* of a domain in SKIP and HEAD */
    struct dx_span lists;  /* LIST */
    struct dx_span table;  /* DSET */
};

/* The parts of a list lie behind each other in LIST, each from a whole byte. */
struct dx_domain_list {
    uint32_t dataset_id;
    uint64_t domains;
    uint64_t urls;    /* sum of url_count */
    uint64_t counts;  /* different ones */
    uint64_t head;    /* domains in the stored head of the ranking */
    uint64_t data_at; /* places in LIST, from here on for format/version/dataset_domains.c */
    uint64_t skip_at;
    uint64_t hist_at;
    uint64_t head_at;
    uint64_t end_at;
    unsigned count_bits;
    unsigned rank_bits;
    unsigned skip_bits;
};

int dx_dataset_domains_open(struct dx_dataset_domains *d, struct dx_span file, unsigned flags,
                            const char *name, struct dx_error *err);
int dx_dataset_domains_of(const struct dx_dataset_domains *d, uint32_t dataset_id,
                          struct dx_domain_list *list, struct dx_error *err);
int dx_dataset_domains_at(const struct dx_dataset_domains *d, uint64_t number,
                          struct dx_domain_list *list, struct dx_error *err);
int dx_dataset_domains_rank(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                            uint64_t url_count, uint64_t *rank, struct dx_error *err);
int dx_dataset_domains_top(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                           uint64_t first, size_t n, struct dx_domain_count *out,
                           struct dx_error *err);
int dx_dataset_domains_check(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                             struct dx_error *err);
void dx_dataset_domains_close(struct dx_dataset_domains *d);

struct dx_domain_cursor {
    const struct dx_dataset_domains *d;
    struct dx_domain_list list;
    uint64_t ordinal;
    uint64_t url_count;
    uint64_t passed; /* domains, that at hand with them; the rest is private */
    /* first ordinal of the block behind this one, UINT64_MAX behind the last */
    uint64_t next_block;
    struct dx_span row; /* from the block to the end of LIST */
    uint64_t at;        /* bits of it */
    uint64_t end;
    unsigned rice;
};

void dx_domain_cursor_begin(struct dx_domain_cursor *c, const struct dx_dataset_domains *d,
                            const struct dx_domain_list *list);
/* 1, 0 behind the last, <0. */
int dx_domain_cursor_next(struct dx_domain_cursor *c, struct dx_error *err);
/* On to the first domain whose ordinal is at least this one; never back. 1, 0 there is none, <0. */
int dx_domain_cursor_seek(struct dx_domain_cursor *c, uint64_t ordinal, struct dx_error *err);

struct dx_dataset_domains_writer {
    struct dx_envelope_writer envelope;
    uint64_t domains;
    uint64_t pairs;
    uint64_t pairs_done;
    uint64_t lists_size;
    struct dx_buf table; /* DSET */

    /* the dataset at hand */
    bool open;
    bool counted;
    uint32_t dataset_id;
    uint64_t last;       /* its ordinal; in the second pass as well */
    uint64_t list_count; /* domains */
    uint64_t ranked;     /* of the second pass */
    uint64_t urls;
    uint64_t data_size;
    uint32_t small_max;  /* the largest count in `small` */
    uint64_t *small;     /* domains of each count below 4096 */
    struct dx_buf large; /* u64 counts of 4096 and more */
    struct dx_buf skip;  /* u64 first ordinal and u64 place of each block */
    struct dx_buf hist;  /* the ranking, by count descending */
    struct dx_buf head;  /* u32 ordinals */
    struct dx_buf bytes; /* scratch */
    size_t block_count;
    struct dx_domain_count block[DX_DATASET_DOMAINS_BLOCK];
};

int dx_dataset_domains_writer_begin(struct dx_dataset_domains_writer *w, uint64_t domains,
                                    uint64_t pairs, const struct dx_build_id *build,
                                    int (*sink)(void *ctx, struct dx_span bytes,
                                                struct dx_error *err),
                                    void *ctx, struct dx_error *err);
int dx_dataset_domains_writer_dataset(struct dx_dataset_domains_writer *w, uint32_t dataset_id,
                                      struct dx_error *err);
int dx_dataset_domains_writer_add(struct dx_dataset_domains_writer *w, uint64_t ordinal,
                                  uint64_t url_count, struct dx_error *err);
int dx_dataset_domains_writer_counted(struct dx_dataset_domains_writer *w, struct dx_error *err);
int dx_dataset_domains_writer_rank(struct dx_dataset_domains_writer *w, uint64_t ordinal,
                                   uint64_t url_count, struct dx_error *err);
int dx_dataset_domains_writer_end(struct dx_dataset_domains_writer *w, struct dx_error *err);
void dx_dataset_domains_writer_release(struct dx_dataset_domains_writer *w);

#endif
