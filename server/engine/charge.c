/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/charge.h"

#include "server/engine/delivery.h"

/* Apart from the one that asks, who would clear the problem for each request. */
static __attribute__((noinline)) void refuse(struct dx_connection *c, unsigned wait_s)
{
    struct dx_problem problem;

    (void)dx_problem_set(&problem, DX_PROBLEM_TOO_MANY, "rate-limited", "Too many requests",
                         "your recent requests cost more than your budget; retry in %u seconds, "
                         "and send fewer requests from then on",
                         wait_s);
    problem.retry_s = wait_s;
    dx_deliver_problem(c, &problem);
}

bool dx_charge_take(struct dx_connection *c, double cost)
{
    struct dx_loop *loop = c->stream.loop;
    unsigned wait_s;

    if (dx_admission_take(loop->serving->admission, &c->who, cost, loop->now_ms, &wait_s)) {
        c->paid += cost;
        return true;
    }
    refuse(c, wait_s);
    return false;
}

void dx_charge_owe(struct dx_connection *c, double cost)
{
    struct dx_loop *loop = c->stream.loop;

    dx_admission_more(loop->serving->admission, &c->who, cost, loop->now_ms);
}

void dx_charge_more(struct dx_connection *c, const struct dx_cost_seen *seen)
{
    dx_charge_owe(c, dx_cost_more(c->paid, seen));
}

/* Work for a client that disconnects, or gets it too late, is charged too. */
void dx_charge_of_job(const struct dx_job *job)
{
    const struct dx_loop *loop = job->loop;
    const struct dx_job_spent *spent = &job->spent;
    const struct dx_cost_seen seen = {
        .requests = (uint64_t)spent->storage_requests + spent->disk_reads,
        .bytes = spent->storage_bytes + spent->disk_bytes,
        .body_bytes = job->body.size,
        .answer_us = spent->answer_us,
    };

    dx_admission_more(loop->serving->admission, &job->who, dx_cost_more(job->paid, &seen),
                      loop->now_ms);
}

bool dx_charge_go_on(struct dx_connection *c, double cost)
{
    struct dx_loop *loop = c->stream.loop;
    unsigned wait_s;

    return dx_admission_take(loop->serving->admission, &c->who, cost, loop->now_ms, &wait_s);
}
