/* SPDX-License-Identifier: Apache-2.0
 * A head and a problem are written while memory runs out: a problem is whole, or 503 without a document. */
#include "server/http/reply.h"

#include "tests/runner/fail_alloc.h"

static int reply(void *ctx, struct dx_error *err)
{
    const struct dx_reply r = {
        .status = 200, .content_type = "text/plain", .body_size = 7, .date = ctx, .etag = "\"e\""
    };
    struct dx_problem problem = { 0 };
    struct dx_buf head = DX_BUF_INIT(DX_REPLY_HEAD_MAX);
    struct dx_buf body = DX_BUF_INIT(1 << 16);
    int status, rc = DX_OK;

    dx_reply_head(&r, &head);
    (void)dx_problem_set(&problem, DX_PROBLEM_TOO_MUCH, "too-much", "too much", "detail %u", 7u);
    status = dx_reply_problem(&problem, 7, true, &body);
    if (head.failed)
        rc = dx_buf_fail(&head, err, "head");
    else if (status == 503 && body.size == 0)
        rc = dx_no_memory(err, "body");
    else if (status != 422 || body.size == 0 || body.data[body.size - 1] != '}')
        rc = dx_fail(err, DX_E_CORRUPT, "%d with %zu bytes", status, body.size);
    dx_buf_release(&head);
    dx_buf_release(&body);
    return rc;
}

int main(void)
{
    return fail_alloc_each("reply", 0, reply, "Sun, 06 Nov 1994 08:49:37 GMT") > 0;
}
