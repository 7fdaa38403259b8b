/* SPDX-License-Identifier: Apache-2.0
 * row_pages.h - rows of any number in another format: page after page of the JSON answer of one version.
 *
 *   dx_row_pages_begin(&p, answers, v, &ask);                   ask is resolved, its row_format is not JSON
 *   do {
 *       rc = ... dx_ask_answer of dx_row_pages_next(&p), into body ...
 *       rc = dx_row_pages_take(&p, v, &ask, rc, &body, &part, &problem);  ask: as it was answered, from v
 *       ... part ...                                            1: one behind the other they are the whole
 *   } while (rc == 1 && !p.ended);
 *   dx_row_pages_release(&p);
 *
 * A page that is too large to read or to hold is asked for again with fewer rows: part is empty then, and
 * `again` is set. What pages there are depends on the version and the question, and, where pages go by offset, on the
 * suppressions: an offset counts what is visible. So such rows fail if a rule comes or goes between their pages: one would
 * be missing, or there twice. v of begin may be any open version of the root. One thread at a time.
 */
#ifndef DX_SERVER_ROUTES_ROW_PAGES_H
#define DX_SERVER_ROUTES_ROW_PAGES_H

#include "query/formats/row_writer.h"
#include "server/routes/row_ask.h"

#define DX_ROW_PAGE 5000 /* rows; fewer where they are large */

struct dx_row_pages {
    struct dx_row_writer *writer; /* NULL: the first page has not come */
    const struct dx_answers *answers;
    enum dx_row_format format;
    uint64_t page_rows; /* of a page at most */
    bool has_pages;     /* else the first one has all rows */
    uint64_t left;      /* rows that are wanted still */
    bool ended;         /* there is no page behind the one that came */
    bool again;
    bool by_offset; /* the page that is asked for */
    uint64_t
        turn; /* of the suppressions, before the first page; odd: none that can be found again */
    struct dx_ask ask; /* the next page; large, so the last member */
};

void dx_row_pages_begin(struct dx_row_pages *p, const struct dx_answers *answers,
                        struct dx_version *v, const struct dx_ask *ask);
void dx_row_pages_release(struct dx_row_pages *p);
struct dx_ask *dx_row_pages_next(struct dx_row_pages *p);
int dx_row_pages_take(struct dx_row_pages *p, struct dx_version *v, const struct dx_ask *ask,
                      int rc, const struct dx_buf *body, struct dx_buf *part,
                      struct dx_problem *problem);

#endif
