/* SPDX-License-Identifier: Apache-2.0 */
#include "server/exchange.h"

void dx_exchange_begin(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;

    dx_request_head_begin(&c->head);
    c->in_head = true;
    c->version = dx_lent_pins_take(&loop->pins, loop->serving->answers, &c->lent);
    if (c->stream.wait != DX_WAIT_HEAD)
        dx_stream_wait(&c->stream, DX_WAIT_HEAD);
}

void dx_exchange_unpin(struct dx_connection *c)
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

void dx_exchange_sent(struct dx_connection *c, enum dx_sent sent)
{
    if (sent != DX_SENT_ALL)
        return;
    dx_exchange_unpin(c);
    if (c->closing) {
        dx_buf_release(&c->pending); /* nothing behind the reply is answered */
        dx_stream_linger(&c->stream);
    } else {
        dx_stream_wait(&c->stream, DX_WAIT_IDLE);
    }
}
