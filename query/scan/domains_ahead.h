/* SPDX-License-Identifier: Apache-2.0
 * domains_ahead.h - rows of domains that follow each other, read for several of them at once, without I/O.
 *
 *   struct dx_domains_ahead a;
 *   dx_domains_ahead_init(&a, version, deadline_ms);
 *   while (dx_domains_ahead_has_room(&a)) {
 *       s = dx_domains_ahead_add(&a, &found, fields, &err);              NULL: no memory. Behind those that it has
 *       ... s->withheld; dx_domain_rows_add(&s->rows, ...) ...
 *       rc = dx_domain_rows_begin(&s->rows, offset, limit, &err);        a window of it; or
 *       dx_ahead_domain_filter(s, &ask, &taker);                         a page of it; or, where nothing of it is wanted,
 *       dx_domains_ahead_drop(&a);                                       takes the last one away
 *   }
 *   while ((s = dx_domains_ahead_first(&a)) != NULL) {
 *       while ((rc = dx_domains_ahead_step(&a, &err)) == DX_LISTING_WAITS) {
 *           rc = dx_read_batch_perform(dx_domains_ahead_reading(&a), &err);
 *           rc = dx_domains_ahead_fetched(&a, rc, &err);
 *           if (rc < 0) break;
 *       }
 *       if (rc == DX_LISTING_DONE)
 *           ... dx_domain_rows_each(&s->rows, ...); of a page: dx_ahead_domain_give(s), and steps again ...
 *       dx_ahead_domain_again(s);                        with another window of the same domain; or
 *       dx_domains_ahead_pop(&a);
 *   }
 *   dx_domains_ahead_release(&a);
 *
 * A step is DONE where the rows of the first one are there. Posting lists of all are read in one batch, then pages of all: for the first
 * whatever they are, for the others as far as a batch has at most DX_AHEAD_PAGES pages of DX_AHEAD_BYTES. So a group of small domains
 * takes as many batches as one. What fails ahead is the error of the step whose first it is; a batch that fails is that of all. It has room for DX_AHEAD_DOMAINS domains with DX_AHEAD_PAIRS datasets and DX_AHEAD_ROWS rows, or one of
 * any size. Of a page (filter) the rows of the first dataset are read ahead, up to where they would be given away.
 *
 * What views and filters have is held by the caller. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_DOMAINS_AHEAD_H
#define DX_QUERY_SCAN_DOMAINS_AHEAD_H

#include "query/rows/row_number.h"
#include "query/scan/domain_rows.h"
#include "query/scan/filtered_domain.h"
#include "query/suppression/suppression_view.h"

#define DX_AHEAD_DOMAINS 128
#define DX_AHEAD_PAIRS 512
#define DX_AHEAD_ROWS 65536
#define DX_AHEAD_PAGES 1024
#define DX_AHEAD_BYTES (16u << 20)

struct dx_ahead_domain {
    struct dx_found found;
    struct dx_suppression_view withheld;        /* may be put here: released with it */
    struct dx_row_number numbers;               /* likewise begun, and ended with it */
    uint64_t number, first, end, wanted, group; /* the caller's */
    struct dx_domain_rows rows;
    bool is_filtered;
    struct dx_filtered_domain filtered;

    /* private */
    bool ready;          /* its rows are there */
    bool planned;        /* its pages are counted */
    bool waits;          /* for reads that were not done yet: it must not be stepped */
    struct dx_error err; /* that it failed with before its turn */
};

struct dx_domains_ahead {
    size_t count;

    /* private */
    struct dx_version *version;
    uint64_t deadline_ms;
    struct dx_ahead_domain *domains[DX_AHEAD_DOMAINS];
    struct dx_read_batch reading;
};

void dx_domains_ahead_init(struct dx_domains_ahead *a, struct dx_version *v, uint64_t deadline_ms);
bool dx_domains_ahead_has_room(const struct dx_domains_ahead *a);
struct dx_ahead_domain *dx_domains_ahead_add(struct dx_domains_ahead *a,
                                             const struct dx_found *found, unsigned fields,
                                             struct dx_error *err);
void dx_domains_ahead_drop(struct dx_domains_ahead *a);
struct dx_ahead_domain *dx_domains_ahead_first(struct dx_domains_ahead *a);
void dx_domains_ahead_pop(struct dx_domains_ahead *a);
int dx_domains_ahead_step(struct dx_domains_ahead *a, struct dx_error *err);
struct dx_read_batch *dx_domains_ahead_reading(struct dx_domains_ahead *a);
int dx_domains_ahead_fetched(struct dx_domains_ahead *a, int rc, struct dx_error *err);
/* A caller that ends a step for want of time says so by it: there is nothing to read then. */
void dx_domains_ahead_wait_for_nothing(struct dx_domains_ahead *a);
void dx_domains_ahead_release(struct dx_domains_ahead *a);

void dx_ahead_domain_filter(struct dx_ahead_domain *s, const struct dx_filtered_domain_ask *ask,
                            const struct dx_domain_rows_taker *taker);
/* Of a page that is held before its first rows: the steps that follow give them. */
void dx_ahead_domain_give(struct dx_ahead_domain *s);
/* Lets go of its window or page; another one may be begun. */
void dx_ahead_domain_again(struct dx_ahead_domain *s);

#endif
