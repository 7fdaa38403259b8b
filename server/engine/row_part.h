/* SPDX-License-Identifier: Apache-2.0
 * row_part.h - what a stream of rows (server/engine/row_reply.h) has while a worker makes its next part.
 *
 *   r->coding = coding;  dx_row_pages_begin(&r->pages, answers, v, ask);
 *   rc = dx_row_part_make(r, v, &ask, rc, &body, &problem);  body: the page's JSON, and then the part
 *   dx_row_part_free(&r);
 *
 * One thread at a time.
 */
#ifndef DX_SERVER_ENGINE_ROW_PART_H
#define DX_SERVER_ENGINE_ROW_PART_H

#include "server/http/coding.h"
#include "server/routes/row_pages.h"

#define DX_ROW_DISPOSITION 80

struct dx_row_reply {
    struct dx_coding_stream *coder;
    enum dx_coding coding;
    bool paid;      /* the page that is being made, or waited for */
    unsigned waits; /* times in a row that it waited for what rules hide */
    char disposition[DX_ROW_DISPOSITION];
    struct dx_row_pages pages; /* large, so the last member */
};

int dx_row_part_make(struct dx_row_reply *r, struct dx_version *v, const struct dx_ask *ask, int rc,
                     struct dx_buf *body, struct dx_problem *problem);
void dx_row_part_free(struct dx_row_reply **r);

#endif
