/* SPDX-License-Identifier: Apache-2.0
 * dataset_domains.h - dataset_domains.dxt: the domains of each dataset with their URL counts.
 *
 *   rc = dx_dataset_domains_open(&d, file, flags, name, &err);
 *   rc = dx_dataset_domains_of(&d, dataset_id, &list, &err);              1, 0 it has no domain, <0
 *   rc = dx_dataset_domains_rank(&d, &list, url_count, &rank, &err);      1 + domains with more URLs
 *   rc = dx_dataset_domains_top(&d, &list, first, n, out, &err);          out[0 .. n): most URLs first,
 *                                                                         equal ones by ordinal; first + n <= list.domains
 *   dx_domain_cursor_begin(&c, &d, &list);                                by ordinal:
 *   while ((rc = dx_domain_cursor_next(&c, &err)) == 1) ... c.ordinal, c.url_count ...
 *   dx_dataset_domains_close(&d);
 *
 * Nothing is allocated by readers but what top needs beyond the stored head of the ranking. rank costs a binary search, top within
 * the head a copy, beyond it a walk over the list. Borrowing and threads: as in membership.h.
 *
 * Writing: dataset by dataset, ascending; of each its domains by ordinal:
 *
 *   rc = dx_dataset_domains_writer_begin(&w, domains, pairs, &build, sink, ctx, &err);
 *   rc = dx_dataset_domains_writer_dataset(&w, dataset_id, &err);
 *   rc = dx_dataset_domains_writer_add(&w, ordinal, url_count, &err);
 *   rc = dx_dataset_domains_writer_end(&w, &err);
 *   dx_dataset_domains_writer_release(&w);
 */
#ifndef DX_FORMAT_DATASET_DOMAINS_H
#define DX_FORMAT_DATASET_DOMAINS_H

#include "base/buf.h"
#include "format/envelope.h"

#define DX_DATASET_DOMAINS_MAGIC DX_KIND('D', 'X', 'T', 'D')
#define DX_DATASET_DOMAINS_VERSION 1

struct dx_domain_count {
    uint64_t ordinal;
    uint64_t url_count;
};

struct dx_dataset_domains {
    struct dx_envelope envelope;
    uint64_t domains; /* of the version */
    uint64_t pairs;
    uint64_t datasets; /* that have a domain */
    struct dx_span sections[4];
};

struct dx_domain_list {
    uint32_t dataset_id;
    uint64_t domains;
    uint64_t urls;  /* sum of url_count */
    uint64_t at[6]; /* places in the sections */
};

int dx_dataset_domains_open(struct dx_dataset_domains *d, struct dx_span file, unsigned flags,
                            const char *name, struct dx_error *err);
int dx_dataset_domains_of(const struct dx_dataset_domains *d, uint32_t dataset_id,
                          struct dx_domain_list *list, struct dx_error *err);
int dx_dataset_domains_rank(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                            uint64_t url_count, uint64_t *rank, struct dx_error *err);
int dx_dataset_domains_top(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                           uint64_t first, size_t n, struct dx_domain_count *out,
                           struct dx_error *err);
void dx_dataset_domains_close(struct dx_dataset_domains *d);

struct dx_domain_cursor {
    const struct dx_dataset_domains *d;
    struct dx_domain_list list;
    uint64_t ordinal;
    uint64_t url_count;
    uint64_t at[4]; /* private */
};

void dx_domain_cursor_begin(struct dx_domain_cursor *c, const struct dx_dataset_domains *d,
                            const struct dx_domain_list *list);
int dx_domain_cursor_next(struct dx_domain_cursor *c, struct dx_error *err);
/* On to the first domain whose ordinal is at least this one. */
int dx_domain_cursor_seek(struct dx_domain_cursor *c, uint64_t ordinal, struct dx_error *err);

#endif
