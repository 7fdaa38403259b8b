/* SPDX-License-Identifier: Apache-2.0
 * fuzz_regex.c - any bytes as an expression and a text: a line of flags, the expression, a line end, the text.
 */
#include "query/view/regex.h"

#include <stdlib.h>
#include <string.h>

#include "query/view/problem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size < 2 ? NULL : memchr(data + 1, '\n', size - 1);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem = { 0 };
    struct dx_regex_work work = { .most = DX_REGEX_STEPS_PAGE };
    struct dx_regex *r = NULL;
    struct dx_span text;
    uint64_t steps;
    int rc;

    if (end == NULL)
        return 0;
    text = dx_span_of(end + 1, size - (size_t)(end + 1 - data));
    rc = dx_regex_new(&r, dx_span_of(data + 1, (size_t)(end - data) - 1), data[0] & 7u, &work,
                      &problem);
    if ((rc == 1) != (r != NULL) || (rc == 0) != (problem.slug != NULL))
        abort();
    if (rc == 1) {
        int once = (work.steps = 0, dx_regex_matches(r, text, &err));

        steps = work.steps;
        work.steps = 0;
        if (dx_regex_matches(r, text, &err) != once || work.steps != steps || steps > work.most + 1)
            abort();
    }
    dx_regex_free(&r);
    return 0;
}
