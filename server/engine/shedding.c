/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/shedding.h"

#include "server/engine/bulk.h"

#define AT_ONCE 64 /* connections given up in one go */

static void give_up(struct dx_loop *loop, struct dx_connection *c)
{
    dx_loop_count(&loop->counts.shed);
    loop->close(&c->stream);
}

/* Of those that have waited so long; how many went. */
static unsigned shed_waiting(struct dx_loop *loop, enum dx_wait wait, unsigned most)
{
    int64_t newest_ms = loop->now_ms + dx_loop_timeout_ms(loop, wait) - DX_SHED_MS;
    unsigned n = 0;

    for (; n < most; n++) {
        struct dx_stream *oldest = TAILQ_FIRST(&loop->waits[wait]);

        if (oldest == NULL || oldest->deadline_ms > newest_ms)
            break;
        give_up(loop, dx_connection_of(oldest));
    }
    return n;
}

void dx_shed_connections(struct dx_loop *loop)
{
    unsigned n = shed_waiting(loop, DX_WAIT_IDLE, AT_ONCE);

    (void)shed_waiting(loop, DX_WAIT_HEAD, AT_ONCE - n);
}

static int64_t waited_ms(const struct dx_loop *loop, const struct dx_stream *s)
{
    return loop->now_ms + dx_loop_timeout_ms(loop, s->wait) - s->deadline_ms;
}

static bool is_slow(const struct dx_connection *c, int64_t age_ms)
{
    return age_ms >= DX_SHED_MS && c->stream.taken < (uint64_t)age_ms * DX_SHED_BYTES_PER_S / 1000;
}

static bool holds_too_much(const struct dx_loop *loop)
{
    return atomic_load(&loop->serving->held_bytes) > loop->serving->options.reply_memory;
}

void dx_shed_readers(struct dx_loop *loop)
{
    struct dx_stream *next;
    unsigned n = 0;

    for (struct dx_stream *s = TAILQ_FIRST(&loop->waits[DX_WAIT_WRITE]);
         s != NULL && n < AT_ONCE && holds_too_much(loop); s = next) {
        next = TAILQ_NEXT(s, links);
        if (!is_slow(dx_connection_of(s), waited_ms(loop, s)))
            continue;
        give_up(loop, dx_connection_of(s));
        n++;
    }
}

void dx_shed_note_list(struct dx_connection *c)
{
    dx_list_progress_note(&c->list_progress,
                          c->stream.taken + dx_bulk_counts_of(c->bulk).body_bytes,
                          c->stream.loop->now_us);
}

static bool is_slow_list(struct dx_connection *c)
{
    dx_shed_note_list(c);
    return dx_list_progress_is_slow(&c->list_progress, c->stream.loop->now_us);
}

static void shed_lists_in(struct dx_loop *loop, enum dx_wait wait, const struct dx_connection *one)
{
    struct dx_stream *next;
    unsigned n = 0;

    for (struct dx_stream *s = TAILQ_FIRST(&loop->waits[wait]); s != NULL && n < AT_ONCE;
         s = next) {
        struct dx_connection *c = dx_connection_of(s);

        next = TAILQ_NEXT(s, links);
        /* One that owes nothing waits for us. */
        if (c == one || c->list_counted == 0 || (wait == DX_WAIT_LATER && !c->list_owes) ||
            !is_slow_list(c))
            continue;
        give_up(loop, c);
        n++;
    }
}

void dx_shed_lists(struct dx_loop *loop, const struct dx_connection *one)
{
    shed_lists_in(loop, DX_WAIT_BODY, one);
    shed_lists_in(loop, DX_WAIT_WRITE, one);
    shed_lists_in(loop, DX_WAIT_LATER, one);
}
