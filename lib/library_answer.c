/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/library_answer.h"

#include "lib/domaindex.h"
#include "server/http/reply.h"

#include <stdlib.h>

#define BODY_MAX ((size_t)256 << 20)

int dx_library_answer_new(struct domaindex_answer **out, struct dx_error *err)
{
    struct domaindex_answer *a = calloc(1, sizeof *a);

    *out = a;
    if (a == NULL)
        return dx_no_memory(err, "answer");
    a->type = "application/json";
    dx_buf_init(&a->body, BODY_MAX);
    return DX_OK;
}

int dx_library_answer_end(struct domaindex_answer *a, int rc, const struct dx_problem *problem,
                          struct dx_error *err)
{
    if (rc == 1) {
        a->status = 200;
    } else {
        a->status = dx_reply_problem(problem, 0, true, &a->body);
        a->type = "application/problem+json";
        a->retry_s = problem->retry_s > 0                   ? problem->retry_s
                     : a->status == 503 || a->status == 429 ? 1
                                                            : 0;
    }
    dx_buf_u8(&a->body, '\0');
    if (a->body.no_memory)
        return dx_no_memory(err, "the answer");
    if (a->body.failed)
        return dx_fail(err, DX_E_LIMIT, "the answer is over %zu bytes; ask for a smaller page",
                       BODY_MAX);
    a->body.size--;
    return rc == 1 ? 1 : 0;
}

int domaindex_answer_status(const struct domaindex_answer *a)
{
    return a->status;
}

const char *domaindex_answer_type(const struct domaindex_answer *a)
{
    return a->type;
}

const char *domaindex_answer_version(const struct domaindex_answer *a)
{
    return a->version;
}

unsigned domaindex_answer_retry_s(const struct domaindex_answer *a)
{
    return a->retry_s;
}

const char *domaindex_answer_body(const struct domaindex_answer *a, size_t *size)
{
    *size = a->body.size;
    return (const char *)a->body.data;
}

void domaindex_answer_free(struct domaindex_answer **a)
{
    if (*a != NULL)
        dx_buf_release(&(*a)->body);
    free(*a);
    *a = NULL;
}
