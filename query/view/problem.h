/* SPDX-License-Identifier: Apache-2.0
 * problem.h - why there is no answer, in terms a client can act on.
 *
 *   return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "domain-not-found", "Domain not found", "%s ...", name);    0
 *   return dx_problem_of_error(problem, &err);                  its code
 *
 * Absent, withheld, badly asked and failed are different (DESIGN promise 10). The server maps
 * kinds to HTTP status; the command line prints title and detail. A plain value: one thread at a time.
 */
#ifndef DX_QUERY_VIEW_PROBLEM_H
#define DX_QUERY_VIEW_PROBLEM_H

#include "base/error.h"

#include <stdbool.h>

enum dx_problem_kind {
    DX_PROBLEM_NOT_FOUND,    /* not in this version */
    DX_PROBLEM_BAD_REQUEST,  /* the question itself cannot be answered */
    DX_PROBLEM_UNAUTHORIZED, /* no principal, or an invalid one */
    DX_PROBLEM_FORBIDDEN,    /* the principal may not have this */
    DX_PROBLEM_WITHHELD,     /* suppressed, and the reply says so */
    DX_PROBLEM_CONFLICT,     /* what is asked about has no such answer */
    DX_PROBLEM_TOO_MUCH,     /* over a stated cap */
    DX_PROBLEM_TOO_MANY,     /* the client is over its budget: see retry_s */
    DX_PROBLEM_GONE,         /* it was there, and will not be again: see restart */
    DX_PROBLEM_UNAVAILABLE,  /* something needed could not be read; try again */
    DX_PROBLEM_DAMAGED       /* something needed contradicts its checksum or layout */
};

struct dx_problem {
    enum dx_problem_kind kind;
    const char *slug;  /* "domain-not-found": static, ends the problem's type URI */
    const char *title; /* static */
    char detail[600];  /* what was found, and what to do next */
    unsigned retry_s;  /* when to try again; 0: the kind says it, if it can */
    bool says_message; /* the document has the detail as `message` too, as CDX servers do */
    char restart[512]; /* path and query of the question that has an answer; "": none */
};

/* Returns 0, so that answers can end with `return dx_problem_set(...)`. */
int dx_problem_set(struct dx_problem *p, enum dx_problem_kind kind, const char *slug,
                   const char *title, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* From an error of a lower layer: DAMAGED or UNAVAILABLE by its code. Returns its code. */
int dx_problem_of_error(struct dx_problem *p, const struct dx_error *err);

/* The same, but of a DX_E_LIMIT that more can be said about: advice is a sentence. */
int dx_problem_advised(struct dx_problem *p, const struct dx_error *err, const char *advice);

#endif
