/* SPDX-License-Identifier: Apache-2.0
 * verdict_regex.c - an expression and a text, written as for fuzz_regex: a byte of flags, the expression, a line end, the text. "yes", "no";
 * "limit reason": it takes too much; "refused reason"; "bad": the input has no line end.
 */
#include "query/view/regex.h"
#include "tests/differential/verdict.h"

#include "query/view/problem.h"

void dx_verdict_regex(struct dx_span input, struct dx_buf *out)
{
    const uint8_t *end = input.size < 2 ? NULL : memchr(input.data + 1, '\n', input.size - 1);
    struct dx_regex_work work = { .most = DX_REGEX_STEPS_PAGE };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem = { 0 };
    struct dx_regex *r = NULL;
    int rc;

    if (end == NULL) {
        dx_buf_str(out, "bad");
        return;
    }
    rc = dx_regex_new(&r, dx_span_of(input.data + 1, (size_t)(end - input.data) - 1),
                      input.data[0] & 7u, &work, &problem);
    if (rc != 1) {
        dx_buf_fmt(out, "refused %s", problem.detail);
        return;
    }
    rc = dx_regex_matches(r, dx_span_of(end + 1, input.size - (size_t)(end + 1 - input.data)),
                          &err);
    if (rc < 0)
        dx_buf_fmt(out, "limit %s", err.text);
    else
        dx_buf_str(out, rc == 1 ? "yes" : "no");
    dx_regex_free(&r);
}
