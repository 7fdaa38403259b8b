/* SPDX-License-Identifier: Apache-2.0 */
#include "server/single_answer.h"

#include "server/delivery.h"
#include "server/exchange.h"
#include "server/job_wait.h"
#include "server/kept_reply.h"
#include "server/toll.h"

#define KEPT_COST 1 /* of an answer that is sent as it was kept */

static void leave_to_worker(struct dx_connection *c, struct dx_job_want *want)
{
    want->paid = c->paid;
    if (!dx_job_wait_begin(c, want))
        dx_job_wait_refuse(c, &want->task);
}

/* Beyond what it costs to look whether the answer is kept. */
static bool pay_the_rest(struct dx_connection *c)
{
    double cost = dx_cost_of_ask(&c->stream.loop->ask);

    return cost <= KEPT_COST || dx_toll_take(c, cost - KEPT_COST);
}

void dx_single_answer(struct dx_connection *c, struct dx_span target, struct dx_span match)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_serving *serving = loop->serving;
    const struct dx_answers *answers = serving->answers;
    struct dx_job_want want = { .match = match };
    struct dx_problem problem;
    int rc = dx_exchange_find_version(c, &problem);

    if (!dx_toll_take(c, KEPT_COST))
        return;
    if (rc == 1 && serving->hot != NULL &&
        dx_answer_key_make(&loop->key, answers, c->version, &loop->ask))
        want.key = &loop->key;
    if (want.key != NULL && dx_deliver_kept(c, want.key, match))
        return;
    if ((rc == 1 || rc == DX_ASK_COLD) && !pay_the_rest(c))
        return;
    want.cold = rc == DX_ASK_COLD;
    if (want.cold || (rc == 1 && dx_ask_may_block(&loop->ask)))
        want.deadline_ms = dx_job_wait_deadline_ms(loop);
    loop->ask.brief = rc == 1 && dx_ask_may_be_brief(answers, &loop->ask);
    if (want.deadline_ms > 0 && !loop->ask.brief) {
        leave_to_worker(c, &want);
        return;
    }
    c->record.from = DX_FROM_LOOP;
    if (rc == 1)
        rc = dx_ask_answer(answers, &loop->canon, c->version, &loop->ask, want.deadline_ms,
                           &want.task, &loop->body, &problem);
    if (dx_kept_reply_wants(c, rc, &problem, target))
        loop->keep = target;
    if (rc == DX_TASK_WAITS) {
        leave_to_worker(c, &want);
    } else {
        dx_toll_more(c, &(struct dx_cost_seen){ .body_bytes = loop->body.size });
        dx_deliver_answer(c, rc, &loop->body, &problem, match, want.key, &loop->ask);
    }
    loop->keep.size = 0;
}

void dx_single_answered(struct dx_connection *c, struct dx_job *job)
{
    c->record.from = DX_FROM_WORKER;
    dx_toll_of_job(job);
    dx_deliver_answer(c, job->rc, &job->body, &job->problem,
                      (struct dx_span){ c->match, c->match_size }, job->about, &job->ask);
}

void dx_single_answer_late(struct dx_connection *c)
{
    struct dx_problem problem;

    dx_job_wait_cancel(c);
    c->closing = true;
    (void)dx_problem_set(&problem, DX_PROBLEM_UNAVAILABLE, "timeout", "Answer took too long",
                         "the pages could not be read in time; try again, or ask for fewer rows");
    dx_deliver_problem(c, &problem);
}
