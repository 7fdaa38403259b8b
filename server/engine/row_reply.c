/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/row_reply.h"

#include "server/engine/charge.h"
#include "server/engine/chunked_reply.h"
#include "server/engine/delivery.h"
#include "server/engine/job_wait.h"
#include "server/engine/row_part.h"
#include "server/engine/shedding.h"
#include "server/engine/single_answer.h"
#include "server/routes/route.h"

#include <stdio.h>
#include <stdlib.h>

#define WAITS_MAX 100        /* of DX_WAIT_LATER in a row for a worker: some seconds */
#define RULES_WAITS_MAX 1200 /* until it is known what a new rule hides: a minute */

void dx_row_reply_release(struct dx_connection *c)
{
    if (c->bulk == NULL)
        dx_chunked_give_place(c);
    dx_row_part_free(&c->rows);
}

/* ---- the reply ---- */

static struct dx_chunked_head head_of(const struct dx_row_reply *r)
{
    const struct dx_row_format_words *f = &dx_row_formats[r->pages.format];

    return (struct dx_chunked_head){ .content_type = f->media,
                                     .disposition = r->disposition,
                                     .coding = dx_coding_name(r->coding),
                                     .has_lines = f->has_lines };
}

static void end(struct dx_connection *c)
{
    dx_row_reply_release(c);
    dx_buf_release(&c->stream.out_head);
    dx_stream_let_go(&c->stream);
    dx_exchange_sent(c, DX_SENT_ALL);
    if (c->stream.wait == DX_WAIT_IDLE && c->pending.size > 0)
        dx_stream_turn_later(&c->stream);
}

/* Nothing is sent of it any more. */
static void drop(struct dx_connection *c)
{
    dx_row_reply_release(c);
    dx_buf_release(&c->stream.out_head);
    dx_stream_let_go(&c->stream);
}

static void fail(struct dx_connection *c, int rc, const struct dx_problem *problem)
{
    struct dx_chunked_head head;

    if (!c->list_begun) {
        drop(c);
        dx_deliver_no_answer(c, rc, problem);
        return;
    }
    head = head_of(c->rows);
    if (dx_chunked_break_off(c, &head, problem, 0, NULL))
        end(c);
}

static void wait_later(struct dx_connection *c)
{
    dx_stream_wait(&c->stream, DX_WAIT_LATER);
}

/* The next page goes to a worker. */
static void ask_page(struct dx_connection *c)
{
    struct dx_row_reply *r = c->rows;
    struct dx_exchange x = { .c = c,
                             .ask = dx_row_pages_next(&r->pages),
                             .paid = c->paid,
                             .deadline_ms = dx_job_wait_deadline_ms(c->stream.loop) };
    struct dx_problem problem;

    if (dx_job_wait_begin(&x))
        return;
    if (c->list_waits++ < WAITS_MAX) {
        wait_later(c);
        return;
    }
    (void)dx_problem_set(&problem, DX_PROBLEM_UNAVAILABLE, "overloaded", "Server is overloaded",
                         "too many listings are being read; try again in a moment");
    problem.retry_s = 1;
    fail(c, 0, &problem);
}

/* A page is paid for once, before it is made, however often it waits then. A client without budget waits, as what it has so
 * far would be wasted otherwise. */
void dx_row_reply_go_on(struct dx_connection *c)
{
    struct dx_problem problem;
    struct dx_row_reply *r = c->rows;
    double cost = dx_cost_of_ask(dx_row_pages_next(&r->pages));

    c->marked_us = c->stream.loop->now_us;
    dx_shed_note_list(c);
    if (dx_exchange_may_go_on(c, &problem) != 1) {
        fail(c, 0, &problem);
        return;
    }
    c->list_owes = !r->paid && !dx_charge_go_on(c, cost);
    if (c->list_owes) {
        wait_later(c);
        return;
    }
    r->paid = true;
    c->paid = cost;
    ask_page(c);
}

static void send_part(struct dx_connection *c, struct dx_buf *part)
{
    struct dx_chunked_head head = head_of(c->rows);
    bool last = c->rows->pages.ended || c->head.method == DX_METHOD_HEAD;

    dx_stream_let_go(&c->stream);
    c->stream.out_body = *part;
    dx_stream_hold(&c->stream, c->list_counted + part->capacity);
    dx_buf_init(part, DX_BODY_MAX);
    dx_chunked_frame(c, &head, last);
    dx_exchange_mark(c, DX_STAGE_ANSWER);
    if (!dx_chunked_push(c))
        return;
    if (last)
        end(c);
    else
        dx_row_reply_go_on(c);
}

/* Rules that are added while it is under way must not break it off: what they hide of a domain takes a moment to be known. */
static bool may_wait_for_rules(const struct dx_connection *c, const struct dx_job *job)
{
    return c->list_begun && job->rc == DX_E_BUSY && c->rows->waits++ < RULES_WAITS_MAX;
}

static void take_answer(struct dx_connection *c, struct dx_job *job)
{
    struct dx_row_reply *r = c->rows;

    if (job->rc != 1 && may_wait_for_rules(c, job)) {
        wait_later(c);
        return;
    }
    r->waits = 0;
    r->paid = false;
    if (r->pages.again)
        dx_row_reply_go_on(c);
    else if (job->rc != 1)
        fail(c, job->rc, &job->problem);
    else
        send_part(c, &job->body);
}

void dx_row_reply_answered(struct dx_connection *c, struct dx_job *job)
{
    struct dx_problem broken;
    const struct dx_answers *answers = c->stream.loop->serving->answers;

    c->rows = job->rows;
    job->rows = NULL;
    c->record.from = DX_FROM_WORKER;
    dx_charge_of_job(job);
    c->list_waits = 0;
    if (answers->intact != NULL && !answers->intact(c->version, &broken))
        fail(c, DX_E_CORRUPT, &broken);
    else
        take_answer(c, job);
}

void dx_row_reply_is_out(struct dx_connection *c)
{
    dx_exchange_mark(c, DX_STAGE_SEND);
    dx_buf_clear(&c->stream.out_head);
    dx_buf_clear(&c->stream.out_body);
    if (c->list_ended || c->list_failed)
        end(c);
    else
        dx_row_reply_go_on(c);
}

/* The job goes on by itself, with what it has of the reply: what is left here is its head. */
void dx_row_reply_late(struct dx_connection *c)
{
    const struct dx_row_reply *r = c->job->rows;
    const struct dx_chunked_head head = head_of(r);
    struct dx_problem problem;

    if (!c->list_begun) {
        dx_row_reply_release(c);
        dx_stream_let_go(&c->stream);
        dx_single_answer_late(c);
        return;
    }
    (void)dx_problem_set(&problem, DX_PROBLEM_UNAVAILABLE, "timeout", "Answer took too long",
                         "the pages could not be read in time; try again");
    if (dx_chunked_break_off(c, &head, &problem, 0, NULL)) {
        dx_job_wait_cancel(c);
        end(c);
        return;
    }
    if (c->job != NULL)
        dx_job_wait_cancel(c);
}

/* ---- the beginning ---- */

static struct dx_row_reply *new_reply(const struct dx_exchange *x)
{
    struct dx_row_reply *r = malloc(sizeof *r);
    const struct dx_ask *ask = x->ask;
    const struct dx_route *route = dx_routes[ask->route];
    enum dx_row_format format = ask->row_format;

    if (r == NULL)
        return NULL;
    memset(r, 0, offsetof(struct dx_row_reply, pages));
    dx_row_pages_begin(&r->pages, x->c->stream.loop->serving->answers, x->c->version, ask);
    r->coding = dx_row_formats[format].is_compressed ? DX_CODING_NONE : ask->coding;
    (void)snprintf(r->disposition, sizeof r->disposition, "%s; filename=\"%s.%s\"",
                   dx_row_formats[format].has_lines || dx_row_formats[format].of_urls
                       ? "inline"
                       : "attachment",
                   route->name, dx_row_formats[format].extension);
    return r;
}

static size_t bytes_of(const struct dx_row_reply *r)
{
    return DX_ROW_REPLY_BYTES + (r->coding == DX_CODING_NONE ? 0 : DX_CODING_STREAM_BYTES);
}

/* x->ask is resolved, and paid for. */
static void begin_reply(struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    struct dx_row_reply *r = new_reply(x);
    enum dx_place place = r == NULL ? DX_PLACE_NONE : dx_chunked_take_place(c, bytes_of(r));

    if (place != DX_PLACE_TAKEN) {
        dx_row_part_free(&r);
        dx_chunked_refuse(c, place);
        return;
    }
    c->rows = r;
    x->ask = dx_row_pages_next(&r->pages);
    x->cold = x->rc == DX_ASK_NOT_OPEN;
    x->deadline_ms = dx_job_wait_deadline_ms(c->stream.loop);
    x->paid = c->paid;
    if (dx_job_wait_begin(x))
        return;
    drop(c);
    dx_deliver_overloaded(c, "too many listings are being read");
}

static double cost_of_page(const struct dx_ask *ask)
{
    struct dx_ask page;

    memcpy(&page, ask, offsetof(struct dx_ask, text));
    page.page.limit = page.limit_given && page.page.limit < DX_ROW_PAGE ? page.page.limit
                                                                        : DX_ROW_PAGE;
    return dx_cost_of_ask(&page);
}

void dx_row_reply(struct dx_exchange *x)
{
    struct dx_connection *c = x->c;

    dx_exchange_find_version(x);
    dx_exchange_own_pin(c); /* for as long as the client likes */
    if (!dx_charge_take(c, x->rc == 1 || x->rc == DX_ASK_NOT_OPEN ? cost_of_page(x->ask) : 1))
        return;
    if (x->rc != 1 && x->rc != DX_ASK_NOT_OPEN)
        dx_deliver_no_answer(c, x->rc, x->problem);
    else if (!dx_delivery_is_broken(c) && !dx_delivery_is_overloaded(c, DX_ROW_REPLY_BYTES))
        begin_reply(x);
}
