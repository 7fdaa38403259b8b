/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/row_part.h"

#include <stdlib.h>

void dx_row_part_free(struct dx_row_reply **r)
{
    if (*r == NULL)
        return;
    dx_row_pages_release(&(*r)->pages);
    dx_coding_stream_free(&(*r)->coder);
    free(*r);
    *r = NULL;
}

static int no_memory(struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    (void)dx_no_memory(&err, "rows");
    return dx_problem_of_error(problem, &err);
}

static int encode(struct dx_row_reply *r, struct dx_buf *part, struct dx_problem *problem)
{
    struct dx_buf coded = DX_BUF_INIT(part->max);
    bool ok = r->coder != NULL || dx_coding_stream_new(&r->coder, r->coding);

    if (ok)
        ok = dx_coding_stream_put(r->coder, dx_span_of(part->data, part->size), r->pages.ended,
                                  &coded);
    dx_buf_release(ok ? part : &coded);
    if (!ok)
        return no_memory(problem);
    *part = coded;
    return 1;
}

int dx_row_part_make(struct dx_row_reply *r, struct dx_version *v, const struct dx_ask *ask, int rc,
                     struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_buf part = DX_BUF_INIT(body->max);

    rc = dx_row_pages_take(&r->pages, v, ask, rc, body, &part, problem);
    if (rc == 1 && !r->pages.again && r->coding != DX_CODING_NONE)
        rc = encode(r, &part, problem);
    dx_buf_release(body);
    *body = part;
    return rc;
}
