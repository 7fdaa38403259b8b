/* SPDX-License-Identifier: Apache-2.0 */
#include "server/exchange.h"

#include "base/clock.h"
#include "server/request_done.h"

static void begin_record(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;

    c->record = (struct dx_request_record){
        .number = loop->numbers,
        .began_us = loop->epoch_us + loop->now_us,
        .first_us = loop->now_us,
        .route = DX_ROUTE_COUNT,
        .from = DX_FROM_NONE,
    };
    c->recorded = true;
    c->marked_us = loop->now_us;
    c->stream.taken = 0;
    loop->numbers += loop->serving->options.loops;
    dx_request_begun(loop);
}

void dx_exchange_begin(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;

    begin_record(c);
    dx_request_head_begin(&c->head);
    c->in_head = true;
    c->version = dx_lent_pins_take(&loop->pins, loop->serving->answers, &c->lent);
    if (c->stream.wait != DX_WAIT_HEAD)
        dx_stream_wait(&c->stream, DX_WAIT_HEAD);
}

/* The clock is looked at for an answer alone: of a head that came in one piece this is 0. */
void dx_exchange_head_read(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;

    c->in_head = false;
    c->record.method = c->head.method;
    c->record.stage_us[DX_STAGE_HEAD] = loop->now_us - c->marked_us;
    c->marked_us = loop->now_us;
}

void dx_exchange_mark(struct dx_connection *c, enum dx_stage stage)
{
    struct dx_loop *loop = c->stream.loop;

    loop->now_us = dx_clock_us();
    c->record.stage_us[stage] += loop->now_us - c->marked_us;
    c->marked_us = loop->now_us;
}

void dx_exchange_tell(struct dx_connection *c, const struct dx_told *told)
{
    struct dx_request_record *r = &c->record;

    r->domain_id = told->domain_id;
    r->has_domain_id = told->has_domain_id;
    if (told->dataset_id != 0)
        r->dataset_id = told->dataset_id;
    r->datasets = told->datasets;
    r->rows = told->rows;
}

static void end_record(struct dx_connection *c)
{
    if (!c->recorded)
        return;
    c->recorded = false;
    c->record.sent_bytes = c->stream.taken;
    c->record.fault = c->who.fault;
    c->record.target = dx_span_of(c->target.data, c->target.size);
    dx_request_done(c->stream.loop, &c->record);
    dx_buf_clear(&c->target);
}

static void unpin(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;

    if (c->version != NULL && c->lent)
        dx_lent_pins_give(&loop->pins, answers, c->version);
    else if (c->version != NULL)
        answers->unpin(c->version);
    c->version = NULL;
    c->lent = false;
}

void dx_exchange_own_pin(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;

    if (!c->lent)
        return;
    (void)answers->pin_again(c->version);
    dx_lent_pins_give(&loop->pins, answers, c->version);
    c->lent = false;
}

int dx_exchange_no_version(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "lease-lost",
                          "The lease on the index has run out",
                          "this server could not renew its lease, so the files that it reads may "
                          "be removed; it answers again when it has a lease");
}

int dx_exchange_find_version(struct dx_connection *c, struct dx_problem *problem)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;
    int rc = dx_ask_resolve(answers, &loop->ask, (int64_t)loop->date_second, problem);

    if (rc == 1 && loop->ask.wanted[0] != '\0')
        dx_exchange_own_pin(c);
    if (rc == 1)
        rc = dx_ask_pin(answers, &loop->ask, &c->version, problem);
    return rc == 1 && c->version == NULL ? dx_exchange_no_version(problem) : rc;
}

void dx_exchange_drop(struct dx_connection *c)
{
    end_record(c);
    unpin(c);
}

void dx_exchange_sent(struct dx_connection *c, enum dx_sent sent)
{
    if (sent != DX_SENT_ALL)
        return;
    dx_exchange_drop(c);
    if (c->closing) {
        dx_buf_release(&c->pending); /* nothing behind the reply is answered */
        dx_stream_linger(&c->stream);
    } else {
        dx_stream_wait(&c->stream, DX_WAIT_IDLE);
    }
}
