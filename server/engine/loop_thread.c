/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/loop_thread.h"

#include "base/clock.h"
#include "fetch/fetch_loop.h"
#include "server/engine/admin_listener.h"
#include "server/engine/connection.h"
#include "server/engine/exchange.h"
#include "server/engine/shedding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 100    /* how late a deadline may be noticed */
#define ACCEPTS_MAX 64 /* a wake, before connections have their turn */
#define REST_MS 100    /* of the listener when descriptors or connections ran out */
#define REFRESH_TICKS 10
#define TURNS_US 1000 /* of turns in a wake, before the sockets are looked at again */

/* While draining, from the accept of a connection to the first byte of its request: it is on its
 * way, and a client that opens connections ahead of its requests would not retry this one. */
#define NEWCOMER_MS 1000

/* ---- accepting ---- */

static void rest(struct dx_loop *loop)
{
    static const struct timeval pause = { 0, REST_MS * 1000 };

    dx_loop_count(&loop->counts.accept_pauses);
    (void)event_del(&loop->listen_event);
    (void)event_add(&loop->rest_event, &pause);
    dx_loops_tell(loop->serving, DX_LOOP_SHED);
}

static void on_rested(evutil_socket_t fd, short what, void *argument)
{
    struct dx_loop *loop = argument;

    (void)fd;
    (void)what;
    if (loop->listen_fd >= 0)
        (void)event_add(&loop->listen_event, NULL);
}

/* No descriptor is left: with the one kept for this the oldest waiting client is closed at once,
 * instead of hanging. */
static void turn_one_away(struct dx_loop *loop)
{
    int fd;

    if (loop->reserve_fd < 0)
        return;
    (void)close(loop->reserve_fd);
    fd = accept4(loop->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
    loop->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* A client at its cap of connections is closed without a reply: a reply would cost more than the
 * request. */
static void hand_out(struct dx_loop *loop, const struct dx_guest *guest)
{
    struct dx_serving *serving = loop->serving;
    struct dx_loop *to = serving->loops[loop->next_loop % serving->loop_count];

    dx_loop_count(&loop->counts.accepted);
    if (!dx_admission_connect(serving->admission, &guest->peer)) {
        (void)close(guest->fd);
        return;
    }
    loop->next_loop++;
    atomic_fetch_add(&serving->connections, 1);
    if (to == loop)
        dx_connection_open(loop, guest);
    else
        dx_loop_give(to, guest);
}

static bool is_full(const struct dx_loop *loop)
{
    return atomic_load(&loop->serving->connections) >= loop->serving->options.connections_max;
}

static void on_accept(evutil_socket_t listen_fd, short what, void *argument)
{
    struct dx_loop *loop = argument;

    (void)what;
    dx_loop_clock(loop);
    for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        socklen_t size = sizeof from;
        struct dx_guest guest = { .fd = -1 }; /* of no admin */

        /* Idle ones of this loop make room at once: newcomers behind a crowd of idle ones would wait
         * for one rest after the other. */
        if (is_full(loop))
            dx_shed_connections(loop);
        if (is_full(loop)) {
            rest(loop); /* newcomers wait in the listener's queue */
            return;
        }
        guest.fd = accept4(listen_fd, (struct sockaddr *)&from, &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (guest.fd >= 0) {
            dx_address_of((const struct sockaddr *)&from, &guest.peer);
            hand_out(loop, &guest);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            turn_one_away(loop);
            rest(loop);
            return;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        }
        /* else: that client has gone already, or a signal came: the next one */
    }
}

/* Clients that wait in a listener that closes are reset. In one that a supervisor keeps, the next
 * server accepts them. */
static void take_the_rest(struct dx_loop *loop)
{
    if (loop->listen_fd >= 0 && loop->serving->options.listen_fd < 0)
        on_accept(loop->listen_fd, EV_READ, loop);
}

static void stop_accepting(struct dx_loop *loop)
{
    if (loop->listen_fd < 0)
        return;
    if (event_initialized(&loop->listen_event)) {
        (void)event_del(&loop->listen_event);
        (void)event_del(&loop->rest_event);
    }
    (void)close(loop->listen_fd);
    loop->listen_fd = -1;
}

/* ---- what the loop is woken for ---- */

static void for_all(struct dx_loop *loop, void (*act)(struct dx_connection *c))
{
    for (unsigned wait = 0; wait < DX_WAIT_COUNT; wait++) {
        /* act may move a connection to a later place: stop at the one that is the last now */
        struct dx_stream *last = TAILQ_LAST(&loop->waits[wait], dx_stream_list);
        struct dx_stream *s = TAILQ_FIRST(&loop->waits[wait]);

        while (s != NULL) {
            struct dx_stream *next = s == last ? NULL : TAILQ_NEXT(s, links);

            act(dx_connection_of(s));
            s = next;
        }
    }
}

/* Lets go of what is no longer current. */
static void refresh(struct dx_loop *loop)
{
    dx_canon_slot_refresh(&loop->canon, loop->serving->answers);
    dx_loop_versions_refresh(&loop->pins, loop->serving->answers);
    (void)dx_loop_access_now(&loop->access, loop->serving->options.access);
}

static void run_commands(struct dx_loop *loop, unsigned commands)
{
    if ((commands & DX_LOOP_SHED) != 0)
        dx_shed_connections(loop);
    if ((commands & DX_LOOP_SHED_READERS) != 0)
        dx_shed_readers(loop);
    if ((commands & DX_LOOP_SHED_LISTS) != 0)
        dx_shed_lists(loop, NULL);
    if ((commands & DX_LOOP_REFRESH) != 0)
        refresh(loop);
    if ((commands & (DX_LOOP_DRAIN | DX_LOOP_QUIT)) != 0 && !loop->draining) {
        loop->draining = true;
        loop->newcomers_until_ms = loop->now_ms + NEWCOMER_MS;
        take_the_rest(loop);
        stop_accepting(loop);
        atomic_store(&loop->deaf, true);
        for_all(loop, dx_connection_drain);
    }
    if ((commands & DX_LOOP_QUIT) != 0) {
        loop->quitting = true;
        dx_admin_listener_end(&loop->admin);
        for_all(loop, dx_connection_close);
    }
}

/* ---- what workers and other loops give ---- */

static struct dx_job *oldest_first(struct dx_job *newest)
{
    struct dx_job *first = NULL;

    while (newest != NULL) {
        struct dx_job *next = newest->next;

        newest->next = first;
        first = newest;
        newest = next;
    }
    return first;
}

/* Answers of workers. A long one takes a millisecond to be handed to the kernel, so that a few of
 * them at once would keep all short ones waiting: the rest has its turn behind the sockets. */
static void deliver(struct dx_loop *loop)
{
    int64_t until_us = dx_clock_us() + TURNS_US;
    struct dx_job *job;

    while ((job = TAILQ_FIRST(&loop->answered)) != NULL) {
        TAILQ_REMOVE(&loop->answered, job, queue);
        dx_connection_answered(job);
        if (dx_clock_us() >= until_us)
            break;
    }
    if (!TAILQ_EMPTY(&loop->answered))
        dx_loop_want_turn(loop);
}

static void on_wake(evutil_socket_t fd, short what, void *argument)
{
    struct dx_loop *loop = argument;
    struct dx_job *to_fetch;
    struct dx_job *done;
    struct dx_job *next;
    unsigned commands;
    uint64_t ignored;

    (void)what;
    if (read(fd, &ignored, sizeof ignored) < 0)
        return;
    dx_loop_clock(loop);
    for (;;) {
        struct dx_guest given = { .fd = -1 };

        (void)pthread_mutex_lock(&loop->lock);
        if (loop->given_count > 0)
            given = loop->given[--loop->given_count];
        (void)pthread_mutex_unlock(&loop->lock);
        if (given.fd < 0)
            break;
        dx_connection_open(loop, &given);
    }
    (void)pthread_mutex_lock(&loop->lock);
    done = loop->done;
    loop->done = NULL;
    to_fetch = loop->to_fetch;
    loop->to_fetch = NULL;
    commands = loop->commands;
    loop->commands = 0;
    (void)pthread_mutex_unlock(&loop->lock);
    for (to_fetch = oldest_first(to_fetch); to_fetch != NULL; to_fetch = next) {
        next = to_fetch->next;
        dx_loop_read(loop, to_fetch);
    }
    for (done = oldest_first(done); done != NULL; done = next) {
        next = done->next;
        TAILQ_INSERT_TAIL(&loop->answered, done, queue);
    }
    deliver(loop);
    run_commands(loop, commands);
}

static void on_turn(evutil_socket_t fd, short what, void *argument)
{
    struct dx_loop *loop = argument;
    struct dx_stream *last = TAILQ_LAST(&loop->turns, dx_stream_list);
    int64_t until_us = dx_clock_us() + TURNS_US;
    struct dx_stream *s;

    (void)fd;
    (void)what;
    dx_loop_clock(loop);
    deliver(loop);
    /* Those that queue again while this runs come behind `last`, at the next wake. */
    while ((s = TAILQ_FIRST(&loop->turns)) != NULL) {
        bool is_last = s == last;

        dx_connection_turn(dx_connection_of(s));
        if (is_last || dx_clock_us() >= until_us)
            break;
    }
    if (!TAILQ_EMPTY(&loop->turns))
        dx_loop_want_turn(loop);
}

static void on_tick(evutil_socket_t fd, short what, void *argument)
{
    struct dx_loop *loop = argument;
    struct dx_stream *s;

    (void)fd;
    (void)what;
    dx_loop_clock(loop);
    dx_histogram_add(&loop->lag, loop->now_us - loop->tick_us - TICK_MS * 1000);
    loop->tick_us = loop->now_us;
    atomic_store_explicit(&loop->counts.ticked_ms, loop->now_ms, memory_order_relaxed);
    for (unsigned wait = 0; wait < DX_WAIT_COUNT; wait++)
        while ((s = TAILQ_FIRST(&loop->waits[wait])) != NULL && s->deadline_ms <= loop->now_ms)
            dx_connection_expire(dx_connection_of(s));
    if (loop->draining && loop->newcomers_until_ms != 0 &&
        loop->now_ms >= loop->newcomers_until_ms) {
        loop->newcomers_until_ms = 0;
        for_all(loop, dx_connection_drain);
    }
    dx_admin_listener_tick(&loop->admin);
    if (loop == loop->serving->loops[0])
        dx_workers_expire(loop->serving->workers);
    if (++loop->ticks % REFRESH_TICKS == 0)
        refresh(loop);
}

static void *run(void *argument)
{
    struct dx_loop *loop = argument;

    (void)pthread_setname_np(pthread_self(),
                             "dx-loop"); /* for tools that list threads one by one */
    dx_loop_clock(loop);
    loop->tick_us = loop->now_us;
    while (!loop->quitting || loop->open > 0)
        if (event_base_loop(loop->base, EVLOOP_ONCE) != 0)
            break;
    dx_loop_end_fetches(loop);
    dx_canon_slot_release(&loop->canon, loop->serving->answers);
    dx_loop_versions_release(&loop->pins, loop->serving->answers);
    dx_loop_access_release(&loop->access);
    return NULL;
}

/* ---- made and unmade ---- */

static int init_events(struct dx_loop *loop, struct dx_error *err)
{
    static const struct timeval tick = { 0, TICK_MS * 1000 };
    struct event_config *config = event_config_new();

    if (config != NULL) {
        (void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
        loop->base = event_base_new_with_config(config);
        event_config_free(config);
    }
    if (loop->base == NULL)
        return dx_fail(err, DX_E_NOMEM, "event loop: cannot be made");
    loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (loop->wake_fd < 0)
        return dx_fail_errno(err, errno, "event loop: eventfd");
    (void)event_assign(&loop->wake_event, loop->base, loop->wake_fd, EV_READ | EV_PERSIST, on_wake,
                       loop);
    (void)event_assign(&loop->tick_event, loop->base, -1, EV_PERSIST, on_tick, loop);
    (void)event_assign(&loop->turn_event, loop->base, -1, 0, on_turn, loop);
    if (event_add(&loop->wake_event, NULL) != 0 || event_add(&loop->tick_event, &tick) != 0)
        return dx_no_memory(err, "event loop");
    if (dx_fetch_loop_new(&loop->fetch, loop->base, err) < 0)
        return (int)err->code;
    if (loop->listen_fd < 0)
        return DX_OK;
    loop->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)event_assign(&loop->listen_event, loop->base, loop->listen_fd, EV_READ | EV_PERSIST,
                       on_accept, loop);
    (void)event_assign(&loop->rest_event, loop->base, -1, 0, on_rested, loop);
    if (event_add(&loop->listen_event, NULL) != 0)
        return dx_no_memory(err, "event loop");
    return DX_OK;
}

static void close_stream(struct dx_stream *s)
{
    dx_connection_close(dx_connection_of(s));
}

int dx_loop_new(struct dx_loop **out, struct dx_serving *serving, int listen_fd,
                struct dx_error *err)
{
    struct dx_loop *loop = calloc(1, sizeof *loop);
    int rc;

    *out = NULL;
    if (loop == NULL) {
        if (listen_fd >= 0)
            (void)close(listen_fd);
        return dx_no_memory(err, "event loop");
    }
    loop->serving = serving;
    loop->close = close_stream;
    loop->wake_fd = -1;
    loop->listen_fd = listen_fd;
    loop->reserve_fd = -1;
    for (unsigned wait = 0; wait < DX_WAIT_COUNT; wait++)
        TAILQ_INIT(&loop->waits[wait]);
    TAILQ_INIT(&loop->turns);
    TAILQ_INIT(&loop->fetching);
    TAILQ_INIT(&loop->answered);
    dx_buf_init(&loop->head, DX_REPLY_HEAD_MAX + DX_RECEIPT_MAX + DX_REPLY_SMALL);
    dx_reply_cache_init(&loop->replies, serving->options.hot_memory / serving->options.loops,
                        serving->seed);
    dx_buf_init(&loop->body, DX_BODY_MAX);
    dx_buf_init(&loop->kept_as, DX_TARGET_MAX + 8);
    (void)pthread_mutex_init(&loop->lock, NULL);
    atomic_init(&loop->counts.ticked_ms, dx_monotonic_ms());
    /* Each loop has every so many-th number; 0 is not used. */
    loop->numbers = (uint64_t)serving->options.loops + serving->loop_count;
    rc = init_events(loop, err);
    if (rc < 0)
        dx_loop_free(&loop);
    *out = loop;
    return rc;
}

int dx_loop_start(struct dx_loop *loop, struct dx_error *err)
{
    int rc = pthread_create(&loop->thread, NULL, run, loop);

    if (rc != 0)
        return dx_fail_errno(err, rc, "event loop: cannot start a thread");
    loop->started = true;
    return DX_OK;
}

void dx_loop_join(struct dx_loop *loop)
{
    if (loop->started)
        (void)pthread_join(loop->thread, NULL);
    loop->started = false;
}

void dx_loop_free(struct dx_loop **out)
{
    struct dx_loop *loop = *out;
    struct dx_job *next;

    if (loop == NULL)
        return;
    stop_accepting(loop);
    dx_admin_listener_end(&loop->admin);
    while ((next = TAILQ_FIRST(&loop->answered)) != NULL) {
        TAILQ_REMOVE(&loop->answered, next, queue);
        next->next = loop->done;
        loop->done = next;
    }
    for (struct dx_job *job = loop->done; job != NULL; job = next) {
        next = job->next;
        loop->serving->answers->unpin(job->version);
        dx_job_free(&job);
    }
    for (size_t i = 0; i < loop->given_count; i++)
        (void)close(loop->given[i].fd);
    free(loop->given);
    dx_fetch_loop_free(&loop->fetch);
    if (loop->base != NULL)
        event_base_free(loop->base);
    if (loop->wake_fd >= 0)
        (void)close(loop->wake_fd);
    if (loop->reserve_fd >= 0)
        (void)close(loop->reserve_fd);
    dx_reply_cache_release(&loop->replies);
    dx_buf_release(&loop->head);
    dx_buf_release(&loop->body);
    dx_buf_release(&loop->kept_as);
    (void)pthread_mutex_destroy(&loop->lock);
    free(loop);
    *out = NULL;
}
