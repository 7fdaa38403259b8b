/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/single_answer.h"

#include "server/engine/charge.h"
#include "server/engine/delivery.h"
#include "server/engine/job_wait.h"
#include "server/engine/reply_reuse.h"

#define KEPT_COST 1 /* of an answer that is sent as it was kept */

static void leave_to_worker(struct dx_exchange *x)
{
    x->paid = x->c->paid;
    if (!dx_job_wait_begin(x))
        dx_job_wait_refuse(x);
}

/* Beyond what it costs to look whether the answer is kept. */
static bool pay_the_rest(const struct dx_exchange *x)
{
    double cost = dx_cost_of_ask(x->ask);

    return cost <= KEPT_COST || dx_charge_take(x->c, cost - KEPT_COST);
}

static void ask_now(struct dx_exchange *x)
{
    struct dx_loop *loop = x->c->stream.loop;
    struct dx_answering asked = { .ask = x->ask,
                                  .deadline_ms = x->deadline_ms,
                                  .task = &x->task,
                                  .summary = &x->summary,
                                  .body = x->body,
                                  .problem = x->problem };

    x->rc = dx_ask_answer(loop->serving->answers, &loop->canon, x->c->version, &asked);
}

void dx_single_answer(struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    const struct dx_serving *serving = c->stream.loop->serving;
    const struct dx_answers *answers = serving->answers;
    DX_UNINITIALIZED struct dx_body_key key;

    dx_exchange_find_version(x);
    if (!dx_charge_take(c, KEPT_COST))
        return;
    if (x->rc == 1 && serving->bodies != NULL &&
        dx_body_key_make(&key, answers, c->version, x->ask))
        x->key = &key;
    if (x->key != NULL && dx_deliver_cached(x))
        return;
    if ((x->rc == 1 || x->rc == DX_ASK_NOT_OPEN) && !pay_the_rest(x))
        return;
    x->cold = x->rc == DX_ASK_NOT_OPEN;
    if (x->cold || (x->rc == 1 && dx_ask_may_block(x->ask)))
        x->deadline_ms = dx_job_wait_deadline_ms(c->stream.loop);
    x->ask->brief = x->rc == 1 && dx_ask_may_be_brief(answers, x->ask);
    if (x->deadline_ms > 0 && !x->ask->brief) {
        leave_to_worker(x);
        return;
    }
    c->record.from = DX_FROM_LOOP;
    if (x->rc == 1)
        ask_now(x);
    x->keeps_reply = dx_reply_reuse_wants(x);
    if (x->rc == DX_TASK_WAITS) {
        leave_to_worker(x);
    } else {
        dx_charge_more(c, &(struct dx_cost_seen){ .body_bytes = x->body->size });
        dx_deliver_answer(x);
    }
}

void dx_single_answered(struct dx_connection *c, struct dx_job *job)
{
    const struct dx_exchange x = { .c = c,
                                   .ask = &job->ask,
                                   .match = { c->match, c->match_size },
                                   .key = job->about,
                                   .rc = job->rc,
                                   .summary = job->summary,
                                   .body = &job->body,
                                   .encoding = job->encoding.made ? &job->encoding : NULL,
                                   .problem = &job->problem };

    c->record.from = DX_FROM_WORKER;
    dx_charge_of_job(job);
    if (job->dropped)
        dx_deliver_no_room(c);
    else
        dx_deliver_answer(&x);
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
