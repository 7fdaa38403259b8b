/* SPDX-License-Identifier: Apache-2.0
 * target.h - from a request target to the question it asks.
 *
 *   rc = dx_target_parse(target, post, &ask, &problem);    1 known; 0 problem says why not
 *
 * A '/' at the end of a path means nothing. Path segments and parameter values are percent-decoded
 * exactly once, '+' stays '+'. Parameters are strict: an unknown or repeated name, a malformed or
 * out-of-range number and a malformed escape are rejected with a problem; nothing is silently cut
 * or ignored. Decoded text lies in ask->text (or in the target itself, when nothing needed
 * decoding): both must outlive the spans of ask. No I/O, no allocation; any thread.
 */
#ifndef DX_SERVER_ROUTES_TARGET_H
#define DX_SERVER_ROUTES_TARGET_H

#include "server/routes/ask.h"

/* target: origin form, as struct dx_request_head gives it; empty or "?query" mean path "/". */
/* post: of the two that may have this path. */
int dx_target_parse(struct dx_span target, bool post, struct dx_ask *ask,
                    struct dx_problem *problem);

/* Spans of the copy lie in its own text, wherever those of ask do. */
void dx_ask_copy(struct dx_ask *copy, const struct dx_ask *ask);

/* What its path takes, as in Allow: "GET, HEAD" or "POST". NULL: no resource has this path. */
const char *dx_target_methods(struct dx_span target);

#endif
