/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/reply_reuse.h"

#include "server/engine/charge.h"
#include "server/engine/delivery.h"
#include "server/engine/exchange.h"
#include "server/routes/route.h"

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

    if (loop->replies.max_bytes == 0 || answers->state == NULL || c->version == NULL ||
        c->closing || c->version != dx_loop_versions_now(&loop->pins) ||
        !answers->state(c->version, state))
        return false;
    of.version = state[0];
    of.state = state[1];
    dx_reply_cache_begin(&loop->replies, &of);
    return true;
}

/* What no answer may do without is asked for here as well; where it says no, the usual way says
 * why. */
static bool may_send(const struct dx_exchange *x, const struct dx_cached_reply *r)
{
    const struct dx_serving *serving = x->c->stream.loop->serving;

    return dx_delivery_has_room(x->c, r->body_size) &&
           (serving->answers->intact == NULL ||
            serving->answers->intact(x->c->version, x->problem));
}

static void record(struct dx_connection *c, const struct dx_cached_reply *r)
{
    c->record.route = r->route;
    c->by_accept = dx_routes[r->route]->rows != NULL;
    c->record.from = DX_FROM_REPLY_CACHE;
    c->record.refusal = r->refusal;
    c->record.summary = r->summary;
}

bool dx_reply_reuse_answer(const struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    struct dx_loop *loop = c->stream.loop;
    const struct dx_answers *answers = loop->serving->answers;
    struct dx_cached_reply *r = begin(c)
                                    ? dx_reply_cache_get(&loop->replies, scope_key(c), x->kept_as)
                                    : NULL;
    struct dx_span bytes;

    if (r == NULL || !may_send(x, r))
        return false;
    bytes = dx_cached_reply_bytes(r, loop->date_second, loop->date);
    if (bytes.size == 0)
        return false;
    if (!dx_charge_take(c, 1))
        return true;
    dx_loop_count(&loop->counts.hot_hits);
    record(c, r);
    if (r->status == 200 && answers->asked_again != NULL)
        answers->asked_again(c->version, dx_cached_reply_subject(r));
    if (x->match.size > 0 && r->etag[0] != '\0' && dx_reply_etag_matches(x->match, r->etag)) {
        dx_deliver_unchanged(c, r->etag);
        return true;
    }
    if (c->head.method == DX_METHOD_HEAD)
        bytes.size = r->head_size;
    dx_delivery_record(c, r->status);
    dx_exchange_sent(c, dx_stream_send_hot(&c->stream, r, bytes));
    return true;
}

bool dx_reply_reuse_wants(const struct dx_exchange *x)
{
    struct dx_loop *loop = x->c->stream.loop;
    const struct dx_hot_state before = loop->replies.of;

    /* The answer follows from the target, the scope, the version and the state alone. */
    if (!dx_routes[x->ask->route]->keeps_replies || x->ask->version.data != NULL ||
        (x->rc != 1 && (x->rc != 0 || x->problem->kind != DX_PROBLEM_NOT_FOUND)) || !begin(x->c))
        return false;
    /* The state that was found before the answer was made, and still the same. */
    return dx_hot_state_same(&before, &loop->replies.of) &&
           dx_reply_cache_wants(&loop->replies, scope_key(x->c), x->kept_as);
}
