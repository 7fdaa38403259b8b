/* SPDX-License-Identifier: Apache-2.0
 * stream.h - one socket of a loop: what it waits for, what is read from it, and what it has not
 * taken yet.
 *
 *   ok = dx_stream_open(s, loop, &guest, true, on_readable, on_writable, ctx);   false: shut already
 *   dx_stream_wait(s, DX_WAIT_HEAD);            from now, until the time of that wait is over
 *   bytes = dx_stream_read(s);                  size 0: nothing now, or s->eof, or shut
 *   sent = dx_stream_send(s, &head, payload, &body, NULL);
 *     DX_SENT_ALL
 *     DX_SENT_WAITS   the rest stays here: the caller's on_writable calls dx_stream_go_on
 *     DX_SENT_GONE    shut
 *   ok = dx_stream_secure(s);                   from here on it speaks TLS, once the handshake is done
 *   dx_stream_linger(s);                        ours is said; the client's end is waited for
 *   dx_stream_shut(s);                          again is fine
 *
 * by_edge: an event comes when bytes or room do, once, and not while they are there, which spares the system a look at each
 * socket of the wake before. `readable` then sets s->ending at EV_CLOSED, and reads each time. Not for TLS, which
 * has bytes of its own.
 *
 * It knows nothing of what the bytes mean. shut leaves an empty struct in no list, of which callers
 * up the stack may still look at `wait`: DX_WAIT_CLOSED. All belongs to the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_STREAM_H
#define DX_SERVER_ENGINE_STREAM_H

#include "server/engine/loop.h"

enum dx_sent { DX_SENT_ALL, DX_SENT_WAITS, DX_SENT_GONE };

struct dx_tls_link;

struct dx_stream {
    TAILQ_ENTRY(dx_stream) links; /* of loop->waits[wait] */
    TAILQ_ENTRY(dx_stream) turn;  /* of loop->turns */
    struct dx_loop *loop;
    int fd;
    struct dx_tls_link *tls; /* NULL: none, what is sent and read is plain */
    struct dx_address peer;
    bool admin; /* of the admin listener */
    enum dx_wait wait;
    bool by_edge;
    bool ending;  /* an event said that the client sends no more */
    bool reading; /* read_event is added */
    bool in_turns;
    bool eof; /* the client sends no more; it may still read */
    int64_t deadline_ms;
    struct event read_event;
    struct event write_event;
    struct dx_buf out_head;      /* what the socket did not take yet */
    struct dx_buf out_body;      /* or */
    struct dx_cached *out_block; /* NULL: none; of serving->bodies, its body is out_kept */
    /* or NULL; held, out_kept is what is sent of it, head and all */
    struct dx_cached_reply *out_hot;
    struct dx_span out_kept;
    size_t held;     /* bytes that are counted in serving->held_bytes */
    size_t sent;     /* of head and body */
    uint64_t taken;  /* bytes that the client's side took, since the caller set it to 0 */
    size_t lingered; /* bytes thrown away */
};

bool dx_stream_open(struct dx_stream *s, struct dx_loop *loop, const struct dx_guest *guest,
                    bool by_edge, event_callback_fn readable, event_callback_fn writable,
                    void *ctx);
void dx_stream_shut(struct dx_stream *s);

/* Neither between requests nor in the middle of a head. */
static inline bool dx_stream_is_busy(const struct dx_stream *s)
{
    return s->wait != DX_WAIT_HEAD && s->wait != DX_WAIT_IDLE;
}

void dx_stream_wait(struct dx_stream *s, enum dx_wait wait);
void dx_stream_turn_later(struct dx_stream *s); /* in loop->turns, if it is not there yet */

/* ---- in ---- */

void dx_stream_begin_reading(struct dx_stream *s);
void dx_stream_pause(struct dx_stream *s);

/* Tell when there is something to read. */
static inline void dx_stream_listen(struct dx_stream *s)
{
    if (!s->reading && !s->eof)
        dx_stream_begin_reading(s);
}

/* Into loop->bytes, once. */
struct dx_span dx_stream_read(struct dx_stream *s);

/* What has come and stays there, of the bare socket, into loop->bytes; and some of it is taken out. */
struct dx_span dx_stream_peek(struct dx_stream *s);
void dx_stream_skip(struct dx_stream *s, size_t size);

/* What comes is thrown away until the client ends too, for a time and so many bytes. */
void dx_stream_linger(struct dx_stream *s);
void dx_stream_discard(struct dx_stream *s);

/* ---- TLS ---- */

/* From now on through serving->options.tls. The caller shakes s->tls before it reads or sends; false: no
 * memory. While bytes wait to be written nothing is read, for one half of a TLS connection may need the other. */
bool dx_stream_secure(struct dx_stream *s);
void dx_stream_unsecure(struct dx_stream *s); /* plain again: its client does not speak TLS */
void dx_stream_want_write(struct dx_stream *s, bool wants); /* the handshake has to */

/* ---- out: nothing else is being sent ---- */

/* Head and payload. A payload that the socket does not take at once stays here: by exchange of
 * storage with `body`, or by taking over `block`, whichever it lies in. A small one is put behind
 * the head. */
enum dx_sent dx_stream_send(struct dx_stream *s, struct dx_buf *head, struct dx_span payload,
                            struct dx_buf *body, struct dx_cached **block);

/* The same for a reply that is kept: it is held, not copied, until the client has it. */
enum dx_sent dx_stream_send_hot(struct dx_stream *s, struct dx_cached_reply *r,
                                struct dx_span bytes);

/* A few bytes while nothing waits; false: they were not all taken. */
bool dx_stream_send_small(struct dx_stream *s, struct dx_span bytes);

/* out_head and out_body, as the caller filled them. */
enum dx_sent dx_stream_push(struct dx_stream *s);

/* More of what waits. DX_SENT_ALL: what is in out_* has gone, and is the caller's to clear. */
enum dx_sent dx_stream_go_on(struct dx_stream *s);

/* Bytes that are held for the client beside those that dx_stream_send holds by itself. */
void dx_stream_hold(struct dx_stream *s, size_t bytes);
void dx_stream_let_go(struct dx_stream *s); /* of these, and of the body */

#endif
