/* SPDX-License-Identifier: Apache-2.0
 * cost.h - what a question costs, in the units that token buckets count
 * (server/policy/admission.h).
 *
 *   cost = dx_cost_of_ask(&ask);                  before anything is looked up: the ask says it all
 *   cost = dx_cost_of_names(n);                   of a POST, as its names come
 *   more = dx_cost_more(cost, &seen);             afterwards: what it cost beyond that
 *
 * A unit is the cost of an uncached answer about a domain from mapped files, HTTP and all: about 20
 * microseconds of one core. What has to be read, and long computing, is known only afterwards: that
 * is a debt of the client (server/policy/admission.h). The table of docs/API.md describes this
 * module; the server's own routes cost nothing, so that no supervisor is ever refused. Pure; any
 * thread.
 */
#ifndef DX_SERVER_ROUTES_COST_H
#define DX_SERVER_ROUTES_COST_H

#include "server/routes/target.h"

struct dx_cost_seen {
    uint64_t requests;   /* of a store or a disk */
    uint64_t bytes;      /* that they fetched, as they are stored */
    uint64_t body_bytes; /* of the answer */
    int64_t answer_us;   /* of computing */
};

/* ask as dx_ask_resolve leaves it: a cursor may fetch the limit. */
double dx_cost_of_ask(const struct dx_ask *ask);
double dx_cost_of_names(uint64_t names);
double dx_cost_more(double paid, const struct dx_cost_seen *seen);

#endif
