/* SPDX-License-Identifier: Apache-2.0
 * library_answer.h - an answer of the library: a body, its type and status.
 *
 *   rc = dx_library_answer_new(&a, &err);
 *   ... a->body ...
 *   rc = dx_library_answer_end(a, rc, &problem, &err);      rc as query/answers/answer.h: 1 or 0, <0 no memory
 *   domaindex_answer_free(&a);
 *
 * An answer is for one thread at a time.
 */
#ifndef DX_LIB_LIBRARY_ANSWER_H
#define DX_LIB_LIBRARY_ANSWER_H

#include "base/buf.h"
#include "format/version/manifest.h"

struct dx_problem;

struct domaindex_answer {
    int status;
    const char *type;
    char version[DX_VERSION_NAME];
    unsigned retry_s;
    struct dx_buf body;
};

int dx_library_answer_new(struct domaindex_answer **a, struct dx_error *err);
int dx_library_answer_end(struct domaindex_answer *a, int rc, const struct dx_problem *problem,
                          struct dx_error *err);

#endif
