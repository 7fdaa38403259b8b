/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/exchange.h"

#include "base/clock.h"
#include "loader/followed/access.h"
#include "server/observe/request_log.h"

#include <string.h>

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
    dx_request_counts_begin(&loop->requests);
}

void dx_exchange_begin(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;

    begin_record(c);
    c->who = (struct dx_who){ .address = c->client };
    c->under_table = c->restricted = false;
    c->allow = NULL;
    c->negotiates = false;
    c->by_accept = false;
    c->of_version = false;
    dx_buf_clear(&c->receipt_of);
    dx_request_head_begin(&c->head);
    c->head.names = &loop->serving->options.identity.names;
    c->head.memory = &loop->heads;
    c->in_head = true;
    c->version = dx_loop_versions_take(&loop->pins, loop->serving->answers, &c->loop_ref);
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

static void record_principal(struct dx_request_record *r, const char *name)
{
    size_t size = strnlen(name, sizeof r->principal - 1);

    memcpy(r->principal, name, size);
    r->principal[size] = '\0';
}

int dx_exchange_identify(struct dx_connection *c, struct dx_span head, struct dx_problem *problem)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_server_options *options = &loop->serving->options;
    bool known = dx_access_known(options->access, (uint64_t)loop->now_ms);
    const struct dx_access_table *table = known ? dx_loop_access_now(&loop->access, options->access)
                                                : NULL;
    int rc = dx_identify(&options->identity, table, &c->head, head, &c->client,
                         (int64_t)loop->date_second, &c->who, problem);

    c->under_table = !known || table != NULL;
    c->restricted = c->under_table && (c->who.principal == NULL || c->who.principal->scope != NULL);
    if (c->who.principal != NULL)
        record_principal(&c->record, c->who.principal->name);
    return known ? rc : dx_identity_unknown(problem);
}

int dx_exchange_may_go_on(struct dx_connection *c, struct dx_problem *problem)
{
    struct dx_loop *loop = c->stream.loop;
    struct dx_access *access = loop->serving->options.access;

    if (!dx_access_known(access, (uint64_t)loop->now_ms))
        return dx_identity_unknown(problem);
    return dx_identity_holds(&c->who, dx_loop_access_now(&loop->access, access),
                             (int64_t)loop->date_second, problem);
}

void dx_exchange_mark(struct dx_connection *c, enum dx_stage stage)
{
    struct dx_loop *loop = c->stream.loop;

    loop->now_us = dx_clock_us();
    c->record.stage_us[stage] += loop->now_us - c->marked_us;
    c->marked_us = loop->now_us;
}

/* Exactly once for each record that was begun. */
static void end_record(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_serving *serving = loop->serving;

    if (!c->recorded)
        return;
    c->recorded = false;
    c->record.sent_bytes = c->stream.taken;
    c->record.fault = c->who.fault;
    c->record.target = dx_span_of(c->target.data, c->target.size);
    dx_request_counts_end(&loop->requests, &c->record);
    if (serving->log != NULL) /* each loop's numbers are those of its ring */
        dx_request_log_put(serving->log, (unsigned)(c->record.number % serving->options.loops),
                           &c->record);
    dx_buf_clear(&c->target);
}

static void unpin(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;

    if (c->version != NULL && c->loop_ref)
        dx_loop_versions_give(&loop->pins, answers, c->version);
    else if (c->version != NULL)
        answers->unpin(c->version);
    c->version = NULL;
    c->loop_ref = false;
    c->who.principal = NULL;
    dx_access_unpin(c->table);
    c->table = NULL;
}

void dx_exchange_own_pin(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;

    if (c->who.principal != NULL && c->table == NULL)
        c->table = dx_access_hold(loop->access.table);
    if (!c->loop_ref)
        return;
    (void)answers->pin_again(c->version);
    dx_loop_versions_give(&loop->pins, answers, c->version);
    c->loop_ref = false;
}

int dx_exchange_no_version(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "lease-lost",
                          "The lease on the index has run out",
                          "this server could not renew its lease, so the files that it reads may "
                          "be removed; it answers again when it has a lease");
}

void dx_exchange_find_version(struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;

    x->ask->scope = dx_exchange_scope(c);
    x->ask->principal = c->who.principal == NULL ? NULL : c->who.principal->name;
    x->rc = dx_ask_resolve(answers, x->ask, (int64_t)loop->date_second, x->problem);
    if (x->rc == 1 && x->ask->wanted[0] != '\0')
        dx_exchange_own_pin(c);
    if (x->rc == 1)
        x->rc = dx_ask_pin(answers, x->ask, &c->version, x->problem);
    c->record.dataset_id = x->ask->dataset_id; /* a cursor or a name may say it */
    if (x->rc == 1 && c->version == NULL)
        x->rc = dx_exchange_no_version(x->problem);
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
