/* SPDX-License-Identifier: Apache-2.0
 * range_rows.h - the visible rows of all domains of a suffix, or those with a number in a range of domain64, a page at a time, without I/O.
 *
 *   struct dx_range_rows r;
 *   rc = dx_range_rows_init(&r, &view, &what, take, ctx, &err);
 *   rc = dx_range_rows_begin(&r, &place, end, &err);         to go on where a page before it ended; before the domain `end`
 *   while ((rc = dx_range_rows_step(&r, &problem)) == DX_TASK_WAITS) {
 *       rc = dx_read_batch_perform(dx_range_rows_reading(&r), &err);
 *       rc = dx_range_rows_fetched(&r, rc, &err);
 *       if (rc < 0) break;
 *   }
 *     1   the page ended: r.more says whether there are more rows, and r.next where the next one begins
 *     0   problem: these rows do not have the place r.next
 *    <0   problem
 *   dx_range_rows_release(&r);                              also after an init that failed
 *
 * The first what.offset rows are left out: their domains are counted and not read.
 *
 * Rows of a domain that has few are filtered as they come, those of others by query/scan/filtered_domain.h.
 *
 * Domains are read in groups (query/scan/domains_ahead.h), of which a page ends behind a whole one unless it has its rows before.
 * In order of the keys of domains (format/core/surt.h), or of their numbers, then of datasets, then as listings go. The taker gets each
 * row with its domain and returns 1 where the page shall end behind it or soon. What the numbers of subdomains and paths say is looked at row
 * by row: those without a number are left out.
 *
 * A page ends after what.limit rows, and sooner where it has looked at DX_RANGE_DOMAINS domains, waited for DX_RANGE_BATCHES
 * batches of reads, examined DX_FILTERED_LOOK_MAX rows or DX_LISTING_READ_MAX bytes for its filter or for numbers, taken DX_REGEX_STEPS_PAGE steps
 * for its regexes, or where half of its time is over; or before a domain of which it is not known yet what suppressions hide. Only
 * visible domains and rows count: what is hidden ends no page; of a registry all domains count, whatever is there of them. Without a
 * filter and numbers `more` is exact; with them, rows that they take may be missing among those that are left.
 *
 * With what.whole the step gives all rows or a problem, not a page. The caller counts the rows first (query/range/range_price.h).
 * Limits that only reading shows end it with DX_E_LIMIT: DX_RANGE_WHOLE_PAGES, DX_RANGE_WHOLE_BYTES, and the steps of regexes
 * (query/rows/row_filter.h).
 *
 * What the view has, `numbers`, and the texts and regexes of the filter, must be held until release. One thread at a time.
 */
#ifndef DX_QUERY_RANGE_RANGE_ROWS_H
#define DX_QUERY_RANGE_RANGE_ROWS_H

#include "query/rows/row_filter.h"
#include "query/scan/domain_walk.h"
#include "query/scan/domains_ahead.h"

#define DX_RANGE_DOMAINS 20000
#define DX_RANGE_BATCHES 256
#define DX_RANGE_WHOLE_PAGES \
    524288u /* of the whole; domains that share a page count it once each */
#define DX_RANGE_WHOLE_BYTES (UINT64_C(4) << 30)

struct dx_range_place {
    uint64_t number; /* of a domain */
    struct dx_domain_rows_place at;
};

struct dx_range_what {
    struct dx_span suffix;                      /* if numbers is NULL */
    const struct dx_domain64_registry *numbers; /* NULL: of a suffix */
    struct dx_domain64_range range;             /* with numbers */
    const struct dx_dataset *dataset;           /* NULL: all that the view shows */
    struct dx_row_filter filter;                /* compiled; nothing set: all rows */
    unsigned fields;                            /* of rows */
    uint64_t limit;                             /* at least 1 */
    uint64_t offset;                            /* of a suffix, without a filter */
    uint64_t look_max;                          /* 0: DX_RANGE_DOMAINS */
    bool whole;       /* no page: see above; limit, offset and look_max say nothing */
    bool with_digest; /* of the whole: rows have the extra of this name */
    uint64_t deadline_ms;
};

struct dx_range_row {
    const struct dx_listing_row *row;
    struct dx_span domain;
    uint32_t dataset_id;
    uint64_t number; /* of a range of them */

    /* Of the whole: */
    struct dx_range_place place;
    uint64_t version_number; /* of its domain: loader/version_parts.h */
};

typedef int dx_range_take(void *ctx, const struct dx_range_row *row, struct dx_error *err);

struct dx_range_rows {
    struct dx_range_place next;
    bool more;
    uint64_t count;                             /* rows that were taken */
    uint64_t rows_seen, pages_seen, bytes_seen; /* for a filter, or numbers */

    /* private */
    bool goes_on; /* from `next` */
    struct dx_range_what what;
    dx_range_take *take;
    void *take_ctx;
    uint64_t half_ms;
    unsigned state;
    bool full;
    uint64_t skip;   /* rows that are still to be left out */
    uint64_t looked; /* at visible domains */
    uint64_t passed; /* domains, hidden ones too */
    unsigned batches;
    struct dx_domain_walk walk;
    struct dx_domains_ahead ahead;
    size_t most;      /* domains of the group that comes */
    uint64_t wanted;  /* rows of the windows of the group */
    bool stops, ends; /* behind the group: at a domain, behind all */
    struct dx_range_place stop;
    uint32_t dataset_id;                             /* of the row that comes */
    struct dx_span extras[DX_ROW_FILTER_EXTRAS + 1]; /* that the filter looks at, and digest */
    size_t extra_count;
    struct dx_row_filter look; /* of the window at hand */
    uint64_t
        place; /* of the row that comes, among the visible ones of its domain; where the filter ends the page, it stays */
    struct dx_buf scratch;
};

int dx_range_rows_init(struct dx_range_rows *r, const struct dx_view *view,
                       const struct dx_range_what *what, dx_range_take *take, void *take_ctx,
                       struct dx_error *err);
/* end: NULL, or the number of a domain of a suffix. */
int dx_range_rows_begin(struct dx_range_rows *r, const struct dx_range_place *from,
                        const uint64_t *end, struct dx_error *err);
int dx_range_rows_step(struct dx_range_rows *r, struct dx_problem *problem);
struct dx_read_batch *dx_range_rows_reading(struct dx_range_rows *r);
int dx_range_rows_fetched(struct dx_range_rows *r, int rc, struct dx_error *err);
void dx_range_rows_release(struct dx_range_rows *r);

/* Visible rows of one pair of a domain that are looked at; 0: none. */
uint64_t dx_range_rows_of_pair(const struct dx_range_what *what,
                               const struct dx_domain_pairs *pairs, size_t i,
                               const struct dx_suppression_view *withheld);

#endif
