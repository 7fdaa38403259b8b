/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/chunked_reply.h"

#include "server/engine/delivery.h"
#include "server/engine/shedding.h"

#include <sys/socket.h>

#define OWN_RETRY_S 5                /* until a client that has as many as it may asks again */
#define BODY_KEEP_BYTES (256 * 1024) /* a buffer larger than this is given back between parts */

/* A list costs its client a few bytes and may last: so lists have half of what replies may hold,
 * and leave the other to all other answers. One is always taken. */
static bool is_full(const struct dx_serving *serving, size_t others, size_t bytes)
{
    return others > 0 && others + bytes > serving->options.reply_memory / 2;
}

static bool take_bytes(struct dx_connection *c, size_t bytes)
{
    struct dx_serving *serving = c->stream.loop->serving;
    size_t others = atomic_fetch_add(&serving->list_bytes, bytes);

    if (is_full(serving, others, bytes)) {
        dx_shed_lists(c->stream.loop, c); /* those of other loops come too late for this one */
        dx_loops_tell(serving, DX_LOOP_SHED_LISTS);
        others = atomic_load(&serving->list_bytes) - bytes;
    }
    if (is_full(serving, others, bytes)) {
        atomic_fetch_sub(&serving->list_bytes, bytes);
        return false;
    }
    c->list_counted = bytes;
    return true;
}

enum dx_place dx_chunked_take_place(struct dx_connection *c, size_t bytes)
{
    struct dx_admission *admission = c->stream.loop->serving->admission;

    if (!dx_admission_stream_begin(admission, &c->who, &c->list_of))
        return DX_PLACE_NONE_OWN;
    if (!take_bytes(c, bytes)) {
        dx_admission_stream_end(admission, &c->list_of);
        return DX_PLACE_NONE;
    }
    c->list_begun = c->list_failed = c->list_ended = c->list_owes = false;
    c->list_waits = 0;
    dx_list_progress_begin(&c->list_progress, c->stream.loop->now_us);
    dx_stream_hold(&c->stream, bytes);
    return DX_PLACE_TAKEN;
}

void dx_chunked_refuse(struct dx_connection *c, enum dx_place place)
{
    struct dx_problem problem;

    if (place == DX_PLACE_NONE) {
        dx_deliver_overloaded(c, "too many lists are answered");
        return;
    }
    (void)dx_problem_set(&problem, DX_PROBLEM_TOO_MANY, "too-many-streams",
                         "Too many streams at once",
                         "your address or principal has as many streams of rows and lists of names "
                         "in progress as it may; read one to its end or close it, then retry");
    problem.retry_s = OWN_RETRY_S;
    dx_deliver_problem(c, &problem);
}

void dx_chunked_give_place(struct dx_connection *c)
{
    struct dx_serving *serving = c->stream.loop->serving;

    atomic_fetch_sub(&serving->list_bytes, c->list_counted);
    c->list_counted = 0;
    dx_admission_stream_end(serving->admission, &c->list_of);
}

bool dx_chunked_push(struct dx_connection *c)
{
    struct dx_stream *s = &c->stream;

    if (dx_stream_push(s) != DX_SENT_ALL)
        return false;
    dx_buf_clear(&s->out_head);
    dx_buf_clear(&s->out_body);
    if (s->out_body.capacity > BODY_KEEP_BYTES)
        dx_buf_release(&s->out_body);
    return true;
}

static void begin_reply(struct dx_connection *c, const struct dx_chunked_head *h)
{
    struct dx_loop *loop = c->stream.loop;
    struct dx_reply r = {
        .status = 200,
        .content_type = h->content_type,
        .disposition = h->disposition,
        .chunked = !c->head.http_1_0,
        .until_close = c->head.http_1_0,
        .date = loop->date,
        .version = loop->serving->answers->version_name(c->version),
        .coding = h->coding,
        .negotiated = c->negotiates,
        .by_accept = c->by_accept,
        .origin = loop->serving->options.origin,
        .vary = c->under_table ? loop->serving->vary : NULL,
    };

    c->closing = c->closing || c->head.http_1_0;
    r.close = c->closing;
    c->list_begun = true;
    dx_delivery_record(c, r.status);
    dx_reply_head(&r, &c->stream.out_head);
}

/* What is in out_body as a chunk, behind the reply's head if that is not out yet. */
void dx_chunked_frame(struct dx_connection *c, const struct dx_chunked_head *h, bool last)
{
    struct dx_stream *s = &c->stream;

    dx_buf_clear(&s->out_head);
    if (!c->list_begun)
        begin_reply(c, h);
    c->list_ended = last;
    if (c->head.method == DX_METHOD_HEAD)
        dx_buf_clear(&s->out_body);
    if (c->head.method == DX_METHOD_HEAD || c->head.http_1_0)
        return;
    if (s->out_body.size > 0) {
        dx_buf_fmt(&s->out_head, "%zx\r\n", s->out_body.size);
        dx_buf_str(&s->out_body, "\r\n");
    }
    if (last)
        dx_buf_str(&s->out_body, "0\r\n\r\n");
}

bool dx_chunked_break_off(struct dx_connection *c, const struct dx_chunked_head *h,
                          const struct dx_problem *problem, int status, const char *words)
{
    struct dx_buf *out = &c->stream.out_body;
    struct dx_buf *body = &c->stream.loop->body;
    const struct linger reset = { .l_onoff = 1 };

    c->closing = true;
    c->list_failed = true;
    if (problem == NULL)
        c->record.refusal = dx_reply_http_slug(status);
    dx_buf_clear(out);
    dx_buf_clear(&c->stream.out_head);
    if (problem != NULL)
        dx_delivery_write_failure(c, problem, body);
    else
        dx_reply_http_problem(status, words, body);
    if (h->has_lines && h->coding == NULL) {
        dx_buf_str(out, "{\"error\":");
        if (body->size > 0)
            dx_buf_append(out, body->data, body->size);
        else
            dx_buf_str(out, "null");
        dx_buf_str(out, "}\n");
        dx_chunked_frame(c, h, false);
    }
    if (!c->head.http_1_0)
        return dx_chunked_push(c);
    (void)setsockopt(c->stream.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    dx_stream_shut(&c->stream);
    return false;
}
