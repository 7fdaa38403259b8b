/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/bulk_answer.h"

#include "base/clock.h"
#include "server/engine/bulk.h"
#include "server/engine/charge.h"
#include "server/engine/chunked_reply.h"
#include "server/engine/delivery.h"
#include "server/engine/job_wait.h"
#include "server/engine/shedding.h"
#include "server/routes/route.h"

#include <string.h>
#include <sys/socket.h>

#define SLICE_US 500  /* of work on a body, before others have their turn */
#define WAITS_MAX 100 /* of DX_WAIT_LATER in a row: some seconds */
#define LIST_BYTES (DX_BULK_BYTES + 2 * DX_BULK_OUT_MAX) /* of one whose client does not read */

void dx_bulk_answer_release(struct dx_connection *c)
{
    struct dx_bulk_counts counts = dx_bulk_counts_of(c->bulk);

    if (c->bulk == NULL)
        return;
    c->record.names = counts.names;
    c->record.body_bytes = counts.body_bytes;
    dx_chunked_give_place(c);
    dx_bulk_free(&c->bulk);
}

static void let_go(struct dx_connection *c)
{
    dx_bulk_answer_release(c);
    dx_buf_release(&c->stream.out_head);
    dx_stream_let_go(&c->stream);
}

/* What is left of the body is useless, and the end of it is unknown. */
static void drop(struct dx_connection *c)
{
    let_go(c);
    dx_buf_release(&c->pending);
    dx_buf_clear(&c->stream.loop->body);
    c->closing = true;
}

/* All of the answer has gone. */
static void end(struct dx_connection *c)
{
    let_go(c);
    dx_exchange_sent(c, DX_SENT_ALL);
    if (c->stream.wait == DX_WAIT_IDLE && c->pending.size > 0)
        dx_stream_turn_later(&c->stream);
}

static struct dx_chunked_head head_of(const struct dx_connection *c)
{
    return (struct dx_chunked_head){ .content_type = dx_bulk_content_type(c->bulk),
                                     .has_lines = dx_bulk_has_lines(c->bulk) };
}

static void break_off(struct dx_connection *c, const struct dx_problem *problem, int status,
                      const char *words)
{
    struct dx_chunked_head head = head_of(c);

    if (dx_chunked_break_off(c, &head, problem, status, words))
        end(c);
}

/* Of ours; the answer so far is not sent, as it may be what is wrong. */
static void fail(struct dx_connection *c, const struct dx_problem *problem)
{
    if (c->list_begun) {
        break_off(c, problem, 0, NULL);
        return;
    }
    drop(c);
    dx_deliver_failure(c, problem);
}

static void refuse(struct dx_connection *c, int status, const char *words)
{
    dx_loop_count(&c->stream.loop->counts.rejected);
    if (c->list_begun) {
        break_off(c, NULL, status, words);
        return;
    }
    drop(c);
    dx_deliver_refusal(c, status, words);
}

static bool is_intact(struct dx_connection *c, struct dx_problem *problem)
{
    const struct dx_answers *answers = c->stream.loop->serving->answers;

    return answers->intact == NULL || answers->intact(c->version, problem);
}

/* Sends what there is of the answer, if it may be believed. True: the next batch may be worked
 * on. */
static bool flush_batch(struct dx_connection *c, bool last)
{
    struct dx_chunked_head head;
    struct dx_problem broken;

    if (c->stream.out_body.size == 0 && !last)
        return true;
    if (!is_intact(c, &broken)) {
        fail(c, &broken);
        return false;
    }
    head = head_of(c);
    dx_chunked_frame(c, &head, last);
    dx_exchange_mark(c, DX_STAGE_ANSWER);
    if (!dx_chunked_push(c))
        return false;
    if (last)
        end(c);
    return !last;
}

/* The body has more to come, or never will. */
static void want_body(struct dx_connection *c)
{
    if (!flush_batch(c, false))
        return;
    if (c->stream.eof) {
        refuse(c, 400, "the body ends before its end");
        return;
    }
    dx_stream_wait(&c->stream, DX_WAIT_BODY);
    dx_stream_listen(&c->stream);
}

static void want_later(struct dx_connection *c, const struct dx_problem *problem)
{
    if (c->list_waits == WAITS_MAX)
        fail(c, problem);
    else if (flush_batch(c, false))
        dx_stream_wait(&c->stream, DX_WAIT_LATER);
    c->list_waits++;
}

static void take_pending(struct dx_connection *c)
{
    struct dx_buf *p = &c->pending;
    size_t used = dx_bulk_take(c->bulk, (struct dx_span){ p->data, p->size });

    /* Also with no bytes: a body may end before any come, or at those taken before. */
    if (used == p->size) {
        dx_buf_clear(p);
        return;
    }
    memmove(p->data, p->data + used, p->size - used);
    p->size -= used;
}

bool dx_bulk_answer_takes(const struct dx_connection *c)
{
    return c->bulk != NULL && c->stream.wait == DX_WAIT_BODY;
}

size_t dx_bulk_answer_take(struct dx_connection *c, struct dx_span bytes)
{
    return c->pending.size > 0 ? 0 : dx_bulk_take(c->bulk, bytes);
}

/* One batch of names. True: the next one may be worked on at once. */
static bool step_names(struct dx_connection *c)
{
    struct dx_problem problem;
    struct dx_bulk_refusal why;
    enum dx_bulk_step did;

    take_pending(c);
    did = dx_bulk_step(c->bulk, &c->stream.out_body, &problem);
    if (did == DX_BULK_LATER) {
        want_later(c, &problem);
        return false;
    }
    c->list_waits = 0;
    if (did == DX_BULK_MORE && c->pending.size == 0) {
        want_body(c);
        return false;
    }
    if (did == DX_BULK_END) {
        dx_charge_owe(c, dx_cost_of_names(dx_bulk_counts_of(c->bulk).names - c->bulk_paid));
        (void)flush_batch(c, true);
        return false;
    }
    if (did == DX_BULK_FAILED) {
        (void)is_intact(c, &problem); /* else that is why it failed */
        fail(c, &problem);
        return false;
    }
    if (did == DX_BULK_REFUSED) {
        why = dx_bulk_refusal_of(c->bulk);
        refuse(c, why.status, why.words);
        return false;
    }
    return c->stream.out_body.size < DX_BULK_OUT_MAX || flush_batch(c, false);
}

/* Names are charged when they have been read. A client without budget waits, with its list:
 * refusing the rest would waste the work done. */
static bool pay(struct dx_connection *c)
{
    uint64_t names = dx_bulk_counts_of(c->bulk).names;

    if (!dx_charge_go_on(c, dx_cost_of_names(names - c->bulk_paid)))
        return false;
    c->bulk_paid = names;
    return true;
}

/* A principal that loses access while its list is in progress gets no more of it, however long the
 * list is. */
static bool may_go_on(struct dx_connection *c)
{
    struct dx_problem problem;

    if (dx_exchange_may_go_on(c, &problem) == 1)
        return true;
    if (c->list_begun) {
        break_off(c, &problem, 0, NULL);
    } else {
        drop(c);
        dx_deliver_problem(c, &problem);
    }
    return false;
}

/* Batches until something has to be waited for, or others have waited long enough. */
void dx_bulk_answer_go_on(struct dx_connection *c)
{
    int64_t until_us = dx_clock_us() + SLICE_US;
    bool more;

    c->marked_us = until_us - SLICE_US; /* the time while the client sent counts for no stage */
    dx_shed_note_list(c);
    dx_stream_pause(&c->stream);
    if (!may_go_on(c))
        return;
    c->list_owes = !pay(c);
    if (c->list_owes) {
        dx_stream_wait(&c->stream, DX_WAIT_LATER);
        return;
    }
    dx_stream_wait(&c->stream, DX_WAIT_BODY);
    do
        more = step_names(c);
    while (more && dx_clock_us() < until_us);
    if (more)
        dx_stream_turn_later(&c->stream);
    if (c->recorded)
        dx_exchange_mark(c, DX_STAGE_ANSWER);
}

void dx_bulk_answer_is_out(struct dx_connection *c)
{
    dx_exchange_mark(c, DX_STAGE_SEND);
    dx_buf_clear(&c->stream.out_head);
    dx_buf_clear(&c->stream.out_body);
    if (c->list_ended || c->list_failed)
        end(c);
    else
        dx_bulk_answer_go_on(c);
}

void dx_bulk_answer_late(struct dx_connection *c)
{
    if (c->stream.wait == DX_WAIT_LATER) {
        if (!c->list_owes) /* else storage was not what was slow */
            dx_exchange_mark(c, DX_STAGE_STORAGE);
        dx_bulk_answer_go_on(c);
        return;
    }
    c->marked_us = c->stream.loop->now_us;
    refuse(c, 408, "the body did not go on in time");
}

/* c->version is the one that shall answer. */
static void open_list(struct dx_connection *c, const struct dx_ask *ask)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct dx_serving *serving = c->stream.loop->serving;
    bool closing = c->closing;
    enum dx_place place;
    struct dx_problem problem;
    int rc;

    c->closing = true; /* what refuses it leaves the body unread */
    if (dx_delivery_is_broken(c) || dx_delivery_is_overloaded(c, LIST_BYTES)) {
        dx_bulk_answer_release(c);
        return;
    }
    rc = dx_bulk_open(c->bulk, serving->answers, c->version, ask, &problem);
    if (rc != 1) {
        dx_bulk_answer_release(c);
        dx_deliver_no_answer(c, rc, &problem);
        return;
    }
    place = dx_chunked_take_place(c, LIST_BYTES);
    if (place != DX_PLACE_TAKEN) {
        dx_bulk_answer_release(c);
        dx_chunked_refuse(c, place);
        return;
    }
    c->closing = closing;
    c->bulk_paid = 0;
    /* A new reply's first bytes on a socket that has taken all before them: they fit. */
    if (c->head.expects && !dx_stream_send_small(&c->stream, dx_span_str(go_on))) {
        dx_stream_shut(&c->stream);
        return;
    }
    dx_stream_wait(&c->stream, DX_WAIT_BODY);
    dx_stream_turn_later(&c->stream);
}

/* A worker fetches the version. */
static void want_version(struct dx_exchange *x)
{
    struct dx_connection *c = x->c;

    x->cold = true;
    x->deadline_ms = dx_job_wait_deadline_ms(c->stream.loop);
    if (dx_job_wait_begin(x))
        return;
    c->closing = true; /* its body is not read */
    dx_bulk_answer_release(c);
    dx_job_wait_refuse(x);
}

/* False: refused, and the body is not read. */
static bool pay_begin(const struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    bool closing = c->closing;

    c->closing = true;
    if (!dx_charge_take(c, dx_cost_of_ask(x->ask)))
        return false;
    c->closing = closing;
    return true;
}

void dx_bulk_answer(struct dx_connection *c, struct dx_span head, struct dx_span target)
{
    struct dx_bulk_refusal why;
    struct dx_problem problem;
    struct dx_exchange x = { .c = c, .ask = &c->stream.loop->ask, .problem = &problem };

    x.rc = dx_target_parse(target, true, x.ask, &problem);
    c->by_accept = true;
    if (x.rc == 1 && c->head.accept.size > 0 && !c->head.accept_twice)
        dx_routes[x.ask->route]->choose(dx_head_slice(head, c->head.accept), x.ask);
    c->record.route = x.ask->route;
    c->record.from = DX_FROM_LOOP;
    dx_exchange_own_pin(c); /* for as long as the client likes */
    if (x.rc == 1)
        dx_exchange_find_version(&x);
    if (x.rc != 1 && x.rc != DX_ASK_NOT_OPEN) {
        c->closing = true;
        dx_deliver_no_answer(c, x.rc, &problem);
    } else if (!pay_begin(&x)) {
        return;
    } else if (dx_bulk_new(&c->bulk, &c->head, head, &why) == 0) {
        dx_deliver_refusal(c, why.status, why.words);
    } else if (x.rc == DX_ASK_NOT_OPEN) {
        want_version(&x);
    } else {
        open_list(c, x.ask);
    }
}

void dx_bulk_answered(struct dx_connection *c, struct dx_job *job)
{
    if (job->rc == 1) {
        open_list(c, &job->ask);
        return;
    }
    c->closing = true;
    dx_bulk_answer_release(c);
    if (!dx_delivery_is_broken(c))
        dx_deliver_no_answer(c, job->rc, &job->problem);
}
