/* SPDX-License-Identifier: Apache-2.0
 * cost.h - what a question costs, in the units that token buckets count (server/admission.h).
 *
 *   cost = dx_cost_of_ask(&ask);                  before anything is looked up: the ask says it all
 *   cost = dx_cost_of_names(n);                   of a POST, as its names come
 *   more = dx_cost_more(cost, &seen);             afterwards: what it cost beyond that
 *
 * A unit is what the answer about a domain costs that is made anew from mapped files, HTTP and all: about 20
 * microseconds of one core. What has to be read, and long computing, is known only afterwards: that is a
 * debt for who asked (server/admission.h). The table of docs/API.md is this module in words; the server's own routes
 * cost nothing, so that no supervisor is ever refused. Pure; any thread.
 */
#ifndef DX_SERVER_COST_H
#define DX_SERVER_COST_H

#include "server/target.h"

struct dx_cost_seen {
    uint64_t requests;   /* of a store or a disk */
    uint64_t bytes;      /* that they brought, as they are stored */
    uint64_t body_bytes; /* of the answer */
    int64_t answer_us;   /* of computing */
};

/* ask as dx_ask_resolve leaves it: a cursor may bring the limit. */
double dx_cost_of_ask(const struct dx_ask *ask);
double dx_cost_of_names(uint64_t names);
double dx_cost_more(double paid, const struct dx_cost_seen *seen);

#endif
