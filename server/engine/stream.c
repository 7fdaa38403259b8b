/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/stream.h"

#include "server/tls/tls_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Of a body in one go: some ten microseconds of copying, then others have their turn. */
#define SEND_MAX ((size_t)128 * 1024)
#define LINGER_BYTES_MAX (256 * 1024)

/* ---- waits, reading, the end ---- */

static void leave_wait(struct dx_stream *s)
{
    if (s->wait != DX_WAIT_CLOSED)
        TAILQ_REMOVE(&s->loop->waits[s->wait], s, links);
}

void dx_stream_wait(struct dx_stream *s, enum dx_wait wait)
{
    leave_wait(s);
    s->wait = wait;
    s->deadline_ms = s->loop->now_ms + dx_loop_timeout_ms(s->loop, wait);
    TAILQ_INSERT_TAIL(&s->loop->waits[wait], s, links);
}

void dx_stream_turn_later(struct dx_stream *s)
{
    if (!s->in_turns)
        TAILQ_INSERT_TAIL(&s->loop->turns, s, turn);
    s->in_turns = true;
    dx_loop_want_turn(s->loop);
}

void dx_stream_pause(struct dx_stream *s)
{
    if (s->reading)
        (void)event_del(&s->read_event);
    s->reading = false;
}

void dx_stream_begin_reading(struct dx_stream *s)
{
    if (s->tls == NULL || s->wait != DX_WAIT_WRITE)
        s->reading = event_add(&s->read_event, NULL) == 0;
}

void dx_stream_hold(struct dx_stream *s, size_t bytes)
{
    s->held = bytes;
    atomic_fetch_add(&s->loop->serving->held_bytes, bytes);
}

void dx_stream_let_go(struct dx_stream *s)
{
    if (s->held > 0)
        atomic_fetch_sub(&s->loop->serving->held_bytes, s->held);
    s->held = 0;
    if (s->out_block != NULL)
        dx_body_cache_put(s->loop->serving->bodies, &s->out_block);
    dx_cached_reply_drop(&s->out_hot);
    s->out_kept = (struct dx_span){ NULL, 0 };
    dx_buf_release(&s->out_body);
}

bool dx_stream_open(struct dx_stream *s, struct dx_loop *loop, const struct dx_guest *guest,
                    bool by_edge, event_callback_fn readable, event_callback_fn writable, void *ctx)
{
    int fd = guest->fd;
    int one = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    s->loop = loop;
    s->fd = fd;
    s->peer = guest->peer;
    s->admin = guest->admin;
    s->wait = DX_WAIT_CLOSED; /* in no list yet */
    dx_buf_init(&s->out_head, DX_REPLY_HEAD_MAX + DX_RECEIPT_MAX + DX_REPLY_SMALL);
    dx_buf_init(&s->out_body, DX_BODY_MAX);
    s->by_edge = by_edge;
    (void)event_assign(&s->read_event, loop->base, fd,
                       by_edge ? EV_READ | EV_CLOSED | EV_ET | EV_PERSIST : EV_READ | EV_PERSIST,
                       readable, ctx);
    (void)event_assign(&s->write_event, loop->base, fd,
                       by_edge ? EV_WRITE | EV_ET | EV_PERSIST : EV_WRITE | EV_PERSIST, writable,
                       ctx);
    loop->open++;
    dx_stream_wait(s, DX_WAIT_HEAD);
    dx_stream_listen(s);
    if (!s->reading)
        dx_stream_shut(s);
    return s->wait != DX_WAIT_CLOSED;
}

void dx_stream_shut(struct dx_stream *s)
{
    if (s->wait == DX_WAIT_CLOSED)
        return;
    /* Not in the middle of a reply: it would say that the reply is whole. */
    if (s->tls != NULL && (s->wait == DX_WAIT_IDLE || s->wait == DX_WAIT_HEAD))
        dx_tls_link_end(s->tls);
    leave_wait(s);
    s->wait = DX_WAIT_CLOSED;
    if (s->in_turns)
        TAILQ_REMOVE(&s->loop->turns, s, turn);
    s->in_turns = false;
    dx_stream_pause(s);
    (void)event_del(&s->write_event);
    dx_tls_link_free(&s->tls);
    (void)close(s->fd);
    s->fd = -1;
    dx_buf_release(&s->out_head);
    dx_stream_let_go(s);
    s->loop->open--;
    dx_serving_gone(s->loop->serving, s->admin ? NULL : &s->peer);
}

/* ---- in ---- */

static ssize_t receive(const struct dx_stream *s, uint8_t *to, size_t size)
{
    ssize_t n;

    do
        n = recv(s->fd, to, size, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

/* No event comes for bytes that are left, nor for an end behind them: to listen once more asks for one. */
static void listen_again(struct dx_stream *s)
{
    if (s->by_edge && s->reading) {
        dx_stream_pause(s);
        dx_stream_listen(s);
    }
}

struct dx_span dx_stream_read(struct dx_stream *s)
{
    uint8_t *to = s->loop->bytes;
    ssize_t n = s->tls == NULL ? receive(s, to, sizeof s->loop->bytes)
                               : dx_tls_link_read(s->tls, to, sizeof s->loop->bytes);

    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        dx_stream_shut(s);
    if (n == 0) {
        s->eof = true;
        dx_stream_pause(s);
    }
    if (n == (ssize_t)sizeof s->loop->bytes || (n > 0 && s->ending))
        listen_again(s);
    return (struct dx_span){ to, n > 0 ? (size_t)n : 0 };
}

struct dx_span dx_stream_peek(struct dx_stream *s)
{
    ssize_t n = recv(s->fd, s->loop->bytes, sizeof s->loop->bytes, MSG_PEEK);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        dx_stream_shut(s);
    return (struct dx_span){ s->loop->bytes, n > 0 ? (size_t)n : 0 };
}

void dx_stream_skip(struct dx_stream *s, size_t size)
{
    (void)!recv(s->fd, s->loop->bytes, size, 0); /* what was peeked at is there */
}

/* A client that still sends would get a reset for unread bytes, and the reset may destroy the reply
 * before it is read: so read on for a while. */
void dx_stream_linger(struct dx_stream *s)
{
    if (s->tls != NULL)
        dx_tls_link_end(s->tls);
    if (s->eof || shutdown(s->fd, SHUT_WR) != 0) {
        dx_stream_shut(s);
        return;
    }
    s->lingered = 0;
    dx_stream_wait(s, DX_WAIT_LINGER);
    dx_stream_listen(s);
}

void dx_stream_discard(struct dx_stream *s)
{
    struct dx_span bytes = dx_stream_read(s);

    s->lingered += bytes.size;
    if (s->eof || s->lingered > LINGER_BYTES_MAX)
        dx_stream_shut(s);
}

/* ---- TLS ---- */

bool dx_stream_secure(struct dx_stream *s)
{
    s->tls = dx_tls_link_new(s->loop->serving->options.tls, s->fd);
    return s->tls != NULL;
}

void dx_stream_unsecure(struct dx_stream *s)
{
    dx_tls_link_free(&s->tls);
}

void dx_stream_want_write(struct dx_stream *s, bool wants)
{
    if (!wants)
        (void)event_del(&s->write_event);
    else if (event_add(&s->write_event, NULL) != 0)
        dx_stream_shut(s);
}

/* ---- out ---- */

static struct dx_span some_of(struct dx_span s)
{
    return (struct dx_span){ s.data, s.size < SEND_MAX ? s.size : SEND_MAX };
}

/* Head and body in one call, as much as goes in one go; not by sendmsg, which may carry an address
 * and is refused by the sandbox (SIGPIPE is ignored). Returns bytes taken, or -1: the client is
 * gone. */
static ssize_t send_both(const struct dx_stream *s, struct dx_span head, struct dx_span all)
{
    struct dx_span body = some_of(all);
    ssize_t n;

    if (s->tls != NULL)
        return dx_tls_link_write(s->tls, head, body);
    do {
        if (body.size == 0) {
            n = send(s->fd, head.data, head.size, MSG_NOSIGNAL);
        } else if (head.size == 0) {
            n = send(s->fd, body.data, body.size, MSG_NOSIGNAL);
        } else {
            struct iovec parts[2] = { { (void *)(uintptr_t)head.data, head.size },
                                      { (void *)(uintptr_t)body.data, body.size } };

            n = writev(s->fd, parts, 2);
        }
    } while (n < 0 && errno == EINTR);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : n;
}

static struct dx_span span_of(const struct dx_buf *b)
{
    return (struct dx_span){ b->data, b->size };
}

static struct dx_span rest_of(struct dx_span all, size_t sent)
{
    return sent >= all.size ? (struct dx_span){ all.data, 0 } : dx_span_from(all, sent);
}

static struct dx_span out_body(const struct dx_stream *s)
{
    return s->out_kept.data != NULL ? s->out_kept : span_of(&s->out_body);
}

static void swap(struct dx_buf *a, struct dx_buf *b)
{
    struct dx_buf t = *a;

    *a = *b;
    *b = t;
}

static enum dx_sent gone(struct dx_stream *s)
{
    dx_stream_shut(s);
    return DX_SENT_GONE;
}

/* The rest goes when the client has taken so many bytes. */
static enum dx_sent wait_to_write(struct dx_stream *s, size_t sent)
{
    s->sent = sent;
    if (s->out_head.failed || event_add(&s->write_event, NULL) != 0)
        return gone(s);
    dx_stream_wait(s, DX_WAIT_WRITE);
    if (s->tls != NULL)
        dx_stream_pause(s);
    return DX_SENT_WAITS;
}

/* The same, and accounts for a body that waits for its client. A kept one counts for each who
 * waits, though it is there once: out of the cache it may live for them alone. */
static enum dx_sent hold_and_wait(struct dx_stream *s, size_t sent)
{
    dx_stream_hold(s, s->out_kept.data != NULL ? s->out_kept.size : s->out_body.capacity);
    return wait_to_write(s, sent);
}

enum dx_sent dx_stream_send(struct dx_stream *s, struct dx_buf *head, struct dx_span payload,
                            struct dx_buf *body, struct dx_cached **block)
{
    ssize_t n;

    if (payload.size <= DX_REPLY_SMALL) {
        dx_buf_append(head, payload.data, payload.size);
        payload.size = 0;
    }
    n = head->failed ? -1 : send_both(s, span_of(head), payload);
    if (n < 0)
        return gone(s);
    s->taken += (size_t)n;
    if ((size_t)n == head->size + payload.size)
        return DX_SENT_ALL;
    dx_buf_clear(&s->out_head);
    dx_buf_append(&s->out_head, head->data, head->size);
    if (block != NULL) {
        s->out_block = *block;
        s->out_kept = payload;
        *block = NULL;
    } else if (payload.size > 0) {
        swap(&s->out_body, body);
    }
    return hold_and_wait(s, (size_t)n);
}

enum dx_sent dx_stream_send_hot(struct dx_stream *s, struct dx_cached_reply *r,
                                struct dx_span bytes)
{
    ssize_t n = send_both(s, some_of(bytes), (struct dx_span){ NULL, 0 });

    if (n < 0)
        return gone(s);
    s->taken += (size_t)n;
    if ((size_t)n == bytes.size)
        return DX_SENT_ALL;
    dx_buf_clear(&s->out_head);
    dx_cached_reply_hold(r);
    s->out_hot = r;
    s->out_kept = bytes;
    return hold_and_wait(s, (size_t)n);
}

bool dx_stream_send_small(struct dx_stream *s, struct dx_span bytes)
{
    return send_both(s, bytes, (struct dx_span){ NULL, 0 }) == (ssize_t)bytes.size;
}

enum dx_sent dx_stream_push(struct dx_stream *s)
{
    ssize_t n = s->out_head.failed || s->out_body.failed
                    ? -1
                    : send_both(s, span_of(&s->out_head), span_of(&s->out_body));

    if (n < 0)
        return gone(s);
    s->taken += (size_t)n;
    return (size_t)n == s->out_head.size + s->out_body.size ? DX_SENT_ALL
                                                            : wait_to_write(s, (size_t)n);
}

enum dx_sent dx_stream_go_on(struct dx_stream *s)
{
    struct dx_span body = out_body(s);
    size_t body_sent = s->sent > s->out_head.size ? s->sent - s->out_head.size : 0;
    ssize_t n = send_both(s, rest_of(span_of(&s->out_head), s->sent), rest_of(body, body_sent));

    if (n < 0)
        return gone(s);
    s->sent += (size_t)n;
    s->taken += (size_t)n;
    if (s->sent < s->out_head.size + body.size) {
        if (s->by_edge && n > 0)
            dx_stream_turn_later(s); /* there was room, and no event says so twice */
        return DX_SENT_WAITS;
    }
    (void)event_del(&s->write_event);
    return DX_SENT_ALL;
}
