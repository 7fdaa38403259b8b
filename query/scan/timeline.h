/* SPDX-License-Identifier: Apache-2.0
 * timeline.h - how many rows of a domain have a time on each day, over several datasets, without I/O.
 *
 *   struct dx_timeline t;
 *   dx_timeline_init(&t, v, part, ordinal, deadline_ms);
 *   rc = dx_timeline_add(&t, dataset_id, &counts, hidden, &err);       its pairs, by ascending dataset_id
 *   rc = dx_timeline_begin(&t, &err);
 *   while ((rc = dx_timeline_step(&t, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(dx_timeline_reading(&t), &err);
 *       rc = dx_timeline_fetched(&t, rc, &err);
 *       if (rc < 0) break;
 *   }
 *   if (rc == DX_LISTING_DONE)
 *       ... t.rows[i] of day t.first_day + i, i < t.days; t.untimed ...
 *   dx_timeline_release(&t);                           once, after init, on every path
 *
 * Visible rows alone. Of a pair without times, of one row, and of two rows at different times the index has all
 * that is needed; of others the times are read, a window of rows after the other, and compared with the first and the
 * last time that the index has: DX_E_CORRUPT where they differ.
 *
 * Over DX_TIMELINE_ROWS rows to read: DX_E_LIMIT, by begin. Over DX_TIMELINE_PAGES pages of the lake or DX_TIMELINE_BYTES of
 * them: DX_E_LIMIT, by step, once the posting lists are read and before any of these pages is. Memory: 8 bytes a day between the first time and the last, 29 MB at most,
 * and the pages of one window. v and what `hidden` points to must stay until release. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_TIMELINE_H
#define DX_QUERY_SCAN_TIMELINE_H

#include "query/scan/domain_rows.h"

#define DX_TIMELINE_ROWS (4u << 20)
/* Of the lake, over all windows: what is held at once is bounded by those of one. */
#define DX_TIMELINE_PAGES 65536
#define DX_TIMELINE_BYTES (UINT64_C(256) << 20)

struct dx_timeline {
    uint64_t row_count; /* visible, of all pairs */
    uint64_t untimed;   /* of them: without a time */
    bool has_ts;        /* some row has one: these are the first and the last */
    int64_t first_us, last_us;
    int64_t first_day; /* since 1970-01-01 */
    size_t days;
    uint64_t *rows;
    uint64_t rows_read, pages_read, bytes_read;
    /* of init: DX_TIMELINE_ROWS, DX_TIMELINE_PAGES, and how many rows are read at a time. Tests have smaller ones */
    uint64_t rows_max, pages_max, window_rows;

    /* private */
    int64_t *times; /* of pairs that are not read */
    size_t time_count, time_capacity;
    struct dx_domain_rows pairs; /* those to read */
    bool planned;                /* what is to be read is known: pages_read and bytes_read */
    bool open;                   /* a window of them is */
    uint64_t next;               /* visible row that the next window begins with */
    uint32_t dataset_id;         /* of the rows that come */
    const struct dx_domain_rows_pair *pair; /* the same; NULL: none yet */
    struct dx_pair_count seen;              /* of it; url_count unused */
};

void dx_timeline_init(struct dx_timeline *t, struct dx_version *v, const struct dx_part *part,
                      uint64_t ordinal, uint64_t deadline_ms);
int dx_timeline_add(struct dx_timeline *t, uint32_t dataset_id, const struct dx_pair_count *counts,
                    const struct dx_suppression_pair *hidden, struct dx_error *err);
int dx_timeline_begin(struct dx_timeline *t, struct dx_error *err);
int dx_timeline_step(struct dx_timeline *t, struct dx_error *err);
struct dx_read_batch *dx_timeline_reading(struct dx_timeline *t);
int dx_timeline_fetched(struct dx_timeline *t, int rc, struct dx_error *err);
void dx_timeline_release(struct dx_timeline *t);

#endif
