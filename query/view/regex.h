/* SPDX-License-Identifier: Apache-2.0
 * regex.h - regular expressions of strangers: PCRE2's syntax by its DFA matcher, which does not backtrack.
 *
 *   struct dx_regex_work work = { .most = DX_REGEX_STEPS_ANSWER };                of all regexes of one answer
 *   rc = dx_regex_new(&r, pattern, DX_REGEX_BEGIN | DX_REGEX_END, &work, &problem);     1; 0: it cannot be one, and why; <0
 *   rc = dx_regex_matches(r, text, &err);                                     1, 0; <0: DX_E_LIMIT, it takes too much
 *   if (dx_regex_work_is_enough(&work)) ...                                       a page may end here
 *   dx_regex_free(&r);
 *
 * Bytes, not characters: '.' is a byte, and only ASCII letters have case. No back references, no look around, no recursion, no
 * verbs: an expression with them is refused. The matcher tries each byte as a beginning and goes on from it with all states at once, so a match
 * takes up to the square of the text's length times the states. So its steps are counted, an item of the expression that is tried at a
 * byte each: they are the same on every machine, and an answer ends, or fails, by them and not by time. A step takes some 20 ns, and up to
 * 200 where many states are followed at once (docs/notes/limits.md). A pattern has at most DX_REGEX_MAX bytes.
 *
 * `work` is borrowed and has to stay where it is. One thread at a time for a regex and its work.
 */
#ifndef DX_QUERY_VIEW_REGEX_H
#define DX_QUERY_VIEW_REGEX_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_REGEX_MAX 500 /* bytes of a pattern */

/* A page ends behind the row that comes to so many steps: 0.1 to 0.8 s. */
#define DX_REGEX_STEPS_PAGE (4u << 20)
/* An answer that cannot end there fails behind so many: 0.6 to 6 s. */
#define DX_REGEX_STEPS_ANSWER (32u << 20)

struct dx_problem;
struct dx_regex;

struct dx_regex_work {
    uint64_t steps; /* so far */
    uint64_t most;  /* more are DX_E_LIMIT */
};

static inline bool dx_regex_work_is_enough(const struct dx_regex_work *work)
{
    return work->steps >= DX_REGEX_STEPS_PAGE;
}

enum {
    DX_REGEX_BEGIN = 1,    /* it has to match from the first byte on */
    DX_REGEX_END = 2,      /* and up to the last one */
    DX_REGEX_CASELESS = 4, /* ASCII letters */
};

int dx_regex_new(struct dx_regex **r, struct dx_span pattern, unsigned flags,
                 struct dx_regex_work *work, struct dx_problem *problem);
int dx_regex_matches(struct dx_regex *r, struct dx_span text, struct dx_error *err);
void dx_regex_free(struct dx_regex **r);

#endif
