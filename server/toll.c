/* SPDX-License-Identifier: Apache-2.0 */
#include "server/toll.h"

#include "server/delivery.h"

bool dx_toll_take(struct dx_connection *c, double cost)
{
    struct dx_loop *loop = c->stream.loop;
    struct dx_problem problem;
    unsigned wait_s;

    if (dx_admission_take(loop->serving->admission, &c->who, cost, loop->now_ms, &wait_s)) {
        c->paid += cost;
        return true;
    }
    (void)dx_problem_set(&problem, DX_PROBLEM_TOO_MANY, "rate-limited", "Too many requests",
                         "what you have asked for of late costs more than you may spend; ask again "
                         "in %u seconds, and more slowly from then on",
                         wait_s);
    problem.retry_s = wait_s;
    dx_deliver_problem(c, &problem);
    return false;
}

void dx_toll_owe(struct dx_connection *c, double cost)
{
    struct dx_loop *loop = c->stream.loop;

    dx_admission_more(loop->serving->admission, &c->who, cost, loop->now_ms);
}

void dx_toll_more(struct dx_connection *c, const struct dx_cost_seen *seen)
{
    dx_toll_owe(c, dx_cost_more(c->paid, seen));
}

/* Who asks for much and goes away, or gets it too late, has had it done. */
void dx_toll_of_job(const struct dx_job *job)
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

bool dx_toll_go_on(struct dx_connection *c, double cost)
{
    struct dx_loop *loop = c->stream.loop;
    unsigned wait_s;

    return dx_admission_take(loop->serving->admission, &c->who, cost, loop->now_ms, &wait_s);
}
