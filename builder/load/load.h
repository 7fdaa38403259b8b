/* SPDX-License-Identifier: Apache-2.0
 * load.h - requests from one thread over many kept connections, and how long they took.
 *
 *   struct dx_load_plan plan = { .connections = 64, .seconds = 5, … };
 *   struct dx_load_result result;
 *   rc = dx_load_run(&plan, parts, part_count, &result, &err);   blocks until it is over
 *   … parts[i].latency, result …
 *   dx_load_result_release(&result);
 *
 * Closed loop (rate 0): each connection asks again as soon as it has its answer: how much a server
 * gives. A latency is from the write of the request to the end of its reply.
 *
 * Open loop: requests come at `rate` a second whatever the server does, over any connection that is
 * idle. A latency counts from the time the request should have been sent, so that a stall counts
 * for all requests it kept waiting, not for one a connection. What waits longer than timeout_ms is
 * a timeout and counts with that time. Near its time the thread polls without sleeping (spin_us),
 * because a late sender looks like a slow server: give it a core of its own. result.late is how
 * late it was.
 *
 * Only what falls between warm_s and warm_s + seconds counts: replies in the closed loop, due times
 * in the open one. All replies are judged. The load ends early after DX_LOAD_ERRORS_MAX failures.
 */
#ifndef DX_BUILDER_LOAD_LOAD_H
#define DX_BUILDER_LOAD_LOAD_H

#include "builder/load/hdr.h"
#include "builder/load/link.h"
#include "builder/load/mix_part.h"
#include "builder/load/schedule.h"

#define DX_LOAD_CONNECTIONS_MAX 10000
#define DX_LOAD_ERRORS_MAX 1000

struct dx_load_plan {
    struct dx_address address;
    const struct dx_tls_client *tls; /* NULL: plain HTTP */
    uint32_t connections;
    double warm_s, seconds;
    double rate; /* requests a second; 0: closed loop */
    enum dx_arrivals arrivals;
    uint64_t seed;
    uint32_t verify_every; /* each n-th body is hashed, where its hash is known; 0: none */
    uint32_t timeout_ms;
    uint32_t spin_us;
    uint64_t requests_max; /* ends after so many; 0: by time only */
    uint64_t refused_max;  /* ends early after so many replies 429 or 503; 0: goes on */
    bool learn;            /* answers are not compared but become what is expected */
};

struct dx_load_result {
    double seconds;          /* of what counts */
    uint64_t requests;       /* replies that count */
    uint64_t requests_total; /* all replies, those of the warm-up as well */
    uint64_t received;       /* bytes */
    uint64_t connect_errors, broken, timeouts;
    uint64_t unsent;  /* open loop: due, and no connection was idle, or one too late for a reply */
    uint64_t wrong;   /* replies that are not what was expected */
    uint64_t refused; /* replies 429 and 503 */
    bool ended_early; /* by failures or refusals */
    /* of a core that this thread took, from the first request to the last reply */
    double cpu_share;
    struct dx_hdr latency; /* of all parts, ns */
    struct dx_hdr
        service; /* the same replies from the write of the request, ns; closed loop: the same values */
    struct dx_hdr late; /* open loop: sent behind the due time though a connection was idle, ns */
    struct dx_error first_error, first_wrong;
};

int dx_load_run(const struct dx_load_plan *plan, struct dx_mix_part *parts, size_t part_count,
                struct dx_load_result *out, struct dx_error *err);
void dx_load_result_release(struct dx_load_result *r);

#endif
