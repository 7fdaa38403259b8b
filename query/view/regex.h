/* SPDX-License-Identifier: Apache-2.0
 * regex.h - regular expressions of strangers: PCRE2's syntax by its DFA matcher, which does not backtrack.
 *
 *   rc = dx_regex_new(&r, pattern, DX_REGEX_BEGIN | DX_REGEX_END, &problem);      1; 0: it cannot be one, and why; <0
 *   rc = dx_regex_matches(r, text, &err);                                     1, 0; <0: DX_E_LIMIT, it takes too much
 *   dx_regex_free(&r);
 *
 * Bytes, not characters: '.' is a byte, and only ASCII letters have case. No back references, no look around, no recursion, no
 * verbs: an expression with them is refused. The matcher tries each byte as a beginning and goes on from it with all states at once, so a match
 * takes up to the square of the text's length times the states; docs/notes/limits.md has what that costs. A pattern has at most
 * DX_REGEX_MAX bytes. One thread at a time for a regex.
 */
#ifndef DX_QUERY_VIEW_REGEX_H
#define DX_QUERY_VIEW_REGEX_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_REGEX_MAX 500 /* bytes of a pattern */

struct dx_problem;
struct dx_regex;

enum {
    DX_REGEX_BEGIN = 1,    /* it has to match from the first byte on */
    DX_REGEX_END = 2,      /* and up to the last one */
    DX_REGEX_CASELESS = 4, /* ASCII letters */
};

int dx_regex_new(struct dx_regex **r, struct dx_span pattern, unsigned flags,
                 struct dx_problem *problem);
int dx_regex_matches(struct dx_regex *r, struct dx_span text, struct dx_error *err);
void dx_regex_free(struct dx_regex **r);

#endif
