/* SPDX-License-Identifier: Apache-2.0 */
#include "server/kept_reply.h"

#include "query/domain_text.h"
#include "server/delivery.h"
#include "server/exchange.h"
#include "server/toll.h"

static uint64_t scope_key(const struct dx_connection *c)
{
    return dx_scope_key(dx_exchange_scope(c));
}

/* Makes the store be of what c would be answered from; false: nothing can be kept or found. */
static bool begin(struct dx_connection *c)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;
    struct dx_hot_state of = { .table = c->under_table };
    uint64_t state[2];

    if (loop->hot.max_bytes == 0 || answers->state == NULL || c->version == NULL || c->closing ||
        c->version != dx_lent_pins_now(&loop->pins) || !answers->state(c->version, state))
        return false;
    of.version = state[0];
    of.state = state[1];
    dx_hot_replies_begin(&loop->hot, &of);
    return true;
}

/* What no answer may do without is asked for here as well; where it says no, the usual way says why. */
static bool may_send(struct dx_connection *c, const struct dx_hot_reply *r)
{
    const struct dx_serving *serving = c->stream.loop->serving;
    struct dx_problem *ignored = &c->stream.loop->problem;

    return dx_delivery_has_room(c, r->body_size) &&
           (serving->answers->intact == NULL || serving->answers->intact(c->version, ignored));
}

/* Only answers about a domain are kept. */
static void record(struct dx_connection *c, const struct dx_hot_reply *r)
{
    c->record.route = DX_ROUTE_DOMAIN;
    c->record.from = DX_FROM_HOT;
    c->record.refusal = r->refusal;
    dx_exchange_tell(c, &r->told);
}

bool dx_kept_reply_answer(struct dx_connection *c, struct dx_span target, struct dx_span match)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;
    struct dx_hot_reply *r = begin(c) ? dx_hot_replies_get(&loop->hot, scope_key(c), target) : NULL;
    struct dx_span bytes;

    if (r == NULL || !may_send(c, r))
        return false;
    bytes = dx_hot_reply_bytes(r, loop->date_second, loop->date);
    if (bytes.size == 0)
        return false;
    if (!dx_toll_take(c, 1))
        return true;
    dx_loop_count(&loop->counts.hot_hits);
    record(c, r);
    if (r->status == 200 && answers->asked_again != NULL)
        answers->asked_again(c->version, dx_domain_text_subject(dx_hot_reply_body(r)));
    if (match.size > 0 && r->etag[0] != '\0' && dx_reply_etag_matches(match, r->etag)) {
        dx_deliver_unchanged(c, r->etag);
        return true;
    }
    if (c->head.method == DX_METHOD_HEAD)
        bytes.size = r->head_size;
    dx_delivery_record(c, r->status);
    dx_exchange_sent(c, dx_stream_send_hot(&c->stream, r, bytes));
    return true;
}

bool dx_kept_reply_wants(struct dx_connection *c, int rc, const struct dx_problem *problem,
                         struct dx_span target)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_hot_state before = loop->hot.of;

    /* The answer follows from the target, the scope, the version and the state alone. */
    if (loop->ask.route != DX_ROUTE_DOMAIN || loop->ask.version.data != NULL ||
        (rc != 1 && (rc != 0 || problem->kind != DX_PROBLEM_NOT_FOUND)) || !begin(c))
        return false;
    /* The state that was found before the answer was made, and still the same. */
    return dx_hot_state_same(&before, &loop->hot.of) &&
           dx_hot_replies_wants(&loop->hot, scope_key(c), target);
}
