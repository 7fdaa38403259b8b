/* SPDX-License-Identifier: Apache-2.0
 * loop.h - what the connections of one event loop share, and what other threads ask of it. The loop itself
 * runs in loop_thread.h.
 *
 *   dx_loop_give(loop, &guest);      a connection, from the accepting loop
 *   dx_loop_job_done(job);           from a worker
 *   dx_loop_job_fetch(job);          from a worker: its reads are done here
 *   dx_loop_read(loop, job);         from the loop's thread: the same at once
 *   dx_loop_tell(loop, DX_LOOP_SHED);
 *
 * give, job_done, job_fetch and tell are safe from every thread; they queue under the loop's lock
 * and wake it through an eventfd. All else in struct dx_loop belongs to its own thread.
 *
 * Deadlines need no timer each: every wait has one constant limit, so a list in order of
 * entry is in order of expiry, and a tick looks at the heads of the lists.
 */
#ifndef DX_SERVER_ENGINE_LOOP_H
#define DX_SERVER_ENGINE_LOOP_H

#include "server/cache/body_cache.h"
#include "server/cache/loop_access.h"
#include "server/cache/loop_versions.h"
#include "server/cache/reply_cache.h"
#include "server/engine/server_options.h"
#include "server/engine/workers.h"
#include "server/http/coding.h"
#include "server/http/reply.h"
#include "server/observe/request_counts.h"

#include <sys/queue.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <stdatomic.h>

#define DX_LOOP_READ_MAX 16384 /* bytes of one read */

/* What a connection waits for. READY is none of the lists: it has bytes and awaits its turn. */
enum dx_wait {
    DX_WAIT_HEAD, /* the rest of a head, or the first one of a new connection */
    DX_WAIT_IDLE, /* the next head */
    DX_WAIT_JOB,
    DX_WAIT_WRITE,
    DX_WAIT_BODY,   /* more of a body, or its turn to work on it */
    DX_WAIT_LATER,  /* a moment, until something that a body's names need may be there */
    DX_WAIT_LINGER, /* the client's end, after ours */
    DX_WAIT_COUNT,
    DX_WAIT_CLOSED = DX_WAIT_COUNT
};

enum {
    DX_LOOP_SHED = 1,    /* close a few connections: server/engine/shedding.h */
    DX_LOOP_REFRESH = 2, /* a version flipped */
    DX_LOOP_DRAIN = 4,   /* no accepts; idle ones are closed, replies close */
    DX_LOOP_QUIT = 8,    /* close all and end */
    DX_LOOP_SHED_READERS = 16,
    DX_LOOP_SHED_LISTS = 32
};

struct dx_stream;
struct dx_loop;
TAILQ_HEAD(dx_stream_list, dx_stream);
TAILQ_HEAD(dx_job_list, dx_job);

/* What all loops share; read-only but for the atomics. */
struct dx_serving {
    struct dx_server_options options;
    const struct dx_answers *answers;
    struct dx_workers *workers;
    struct dx_admission *admission;
    struct dx_body_cache *bodies; /* NULL: no answers are kept */
    struct dx_request_log *log;   /* NULL: requests are not written down */
    struct dx_loop **loops;
    unsigned loop_count;
    struct dx_buf openapi, docs; /* server/routes/openapi.h; as they are sent */
    char vary[96];               /* fields that name the caller */
    char version_caching
        [64];      /* Cache-Control of what a request with a version gets; "": as of others */
    uint64_t seed; /* not to be guessed: of tables that strangers fill */
    _Atomic bool draining;
    _Atomic unsigned connections; /* open now, all loops */
    _Atomic size_t held_bytes;    /* of bodies that wait for their clients, and of lists of names */
    _Atomic size_t list_bytes;    /* of these lists alone */
};

/* Written by the loop's thread, read by any. */
struct dx_loop_counts {
    _Atomic uint64_t accepted;
    _Atomic uint64_t requests;
    _Atomic uint64_t rejected;
    _Atomic uint64_t timeouts;
    _Atomic uint64_t shed;
    _Atomic uint64_t overloaded;
    _Atomic uint64_t accept_pauses;
    _Atomic uint64_t handshakes[DX_HANDSHAKES];
    _Atomic uint64_t hot_hits;
    _Atomic uint64_t hot_bytes; /* kept now */
    _Atomic int64_t ticked_ms;  /* monotonic: the loop turned then */
};

/* A connection that was accepted. */
struct dx_guest {
    int fd;
    bool admin; /* by the admin listener: no client, and not counted as one */
    struct dx_address peer;
};

/* server/engine/admin_listener.h */
struct dx_admin_listener {
    struct dx_loop *loop; /* NULL: not begun */
    struct event event;
    unsigned open;
    bool rests; /* there were no descriptors, or too many connections */
};

struct dx_loop {
    struct dx_serving *serving;
    void (*close)(
        struct dx_stream *s); /* its connection, which is freed: for what knows streams alone */
    struct event_base *base;
    pthread_t thread;
    bool started;

    pthread_mutex_t lock;   /* of the five below */
    struct dx_guest *given; /* connections to take */
    size_t given_count;
    size_t given_room;
    struct dx_job *done;
    struct dx_job *to_fetch;
    bool ended; /* the thread reads nothing any more */
    unsigned commands;

    int wake_fd;
    struct event wake_event;
    struct event tick_event;
    struct event turn_event; /* connections that had their share of a wake and have more */

    int listen_fd;  /* -1: none */
    int reserve_fd; /* given up to accept and close when descriptors run out */
    struct event listen_event;
    struct event rest_event; /* ends a pause of the listener */
    unsigned next_loop;
    struct dx_admin_listener admin; /* not begun but in one loop */

    struct dx_stream_list waits[DX_WAIT_COUNT];
    struct dx_stream_list turns;
    unsigned open;
    bool draining;              /* replies close, new connections get one */
    _Atomic bool deaf;          /* drains, and whom it accepted before is counted in serving */
    int64_t newcomers_until_ms; /* then, connections that have said nothing yet are closed too */
    bool quitting;
    unsigned ticks;

    int64_t now_ms;   /* monotonic; as of the wake */
    int64_t now_us;   /* the same clock, as it was looked at last */
    int64_t epoch_us; /* what now_us is since 1970, less now_us */
    time_t date_second;
    char date[DX_HTTP_DATE_TEXT];
    time_t said_second; /* last log line about a failed answer */

    struct dx_fetch_loop *fetch;
    struct dx_job_list fetching;
    struct dx_job_list answered; /* their connections have not been resumed */

    struct dx_canon_slot canon;
    struct dx_loop_versions pins;
    struct dx_loop_access access;
    struct dx_reply_cache replies;
    struct dx_ask ask;
    struct dx_buf head;
    struct dx_buf body;
    struct dx_buf kept_as; /* of a whole reply in a content coding: its key */
    struct {
        size_t size; /* 0: none */
        uint8_t text[64];
        enum dx_coding chosen;
    } codings; /* the Accept-Encoding that was read last: most clients send the same one */
    struct dx_head_memory heads;
    uint8_t bytes[DX_LOOP_READ_MAX];

    uint64_t numbers; /* of requests; each loop has those of its own */
    struct dx_loop_counts counts;
    struct dx_request_counts requests;
    struct dx_histogram lag; /* of ticks */
    int64_t tick_us;         /* the last one, or the beginning */
};

struct dx_server_counts dx_serving_counts(const struct dx_serving *serving);

void dx_loop_give(struct dx_loop *loop, const struct dx_guest *guest);
void dx_loop_job_done(struct dx_job *job);
void dx_loop_job_fetch(struct dx_job *job);
void dx_loop_read(struct dx_loop *loop, struct dx_job *job);
void dx_loop_tell(struct dx_loop *loop, unsigned what);
void dx_loops_tell(struct dx_serving *serving, unsigned what); /* all of them */
void dx_loop_end_fetches(
    struct dx_loop *loop); /* what is read now, and whatever comes later, ends as cancelled */

/* A connection of this address has ended, or none came of it. */
void dx_serving_gone(struct dx_serving *serving,
                     const struct dx_address *peer); /* NULL: of the admin listener */

/* For connections: the clock as of this wake, and the Date of now. */
void dx_loop_clock(struct dx_loop *loop);
int64_t dx_loop_timeout_ms(const struct dx_loop *loop, enum dx_wait wait);
int64_t dx_monotonic_ms(void);

/* loop->turns are taken up at the next wake, behind the sockets. */
void dx_loop_want_turn(struct dx_loop *loop);

/* One writer each: no read-modify-write needed. */
static inline void dx_loop_count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

#endif
