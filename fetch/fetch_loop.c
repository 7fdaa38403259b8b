/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_loop.h"

#include "fetch/http_multi.h"

#include <event2/event.h>
#include <stdlib.h>

struct dx_fetch_loop {
    struct event_base *base;
    struct dx_http_multi *lane;
    struct event *gate;  /* a place in a gate may be free */
    struct event *steps; /* the next instant of the lane's own timers */
    struct event *curl;  /* of libcurl's timers */
    uint64_t armed_ms;   /* when `steps` fires; UINT64_MAX: not set */
};

static void arm(struct event *event, uint64_t ms)
{
    const struct timeval wait = { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) };

    (void)evtimer_add(event, &wait);
}

/* A timer that fires too early costs a look, so it is only ever moved forward. */
static void step_at(struct dx_fetch_loop *loop, uint64_t at_ms)
{
    uint64_t now_ms = dx_clock_ms();

    if (at_ms >= loop->armed_ms)
        return;
    loop->armed_ms = at_ms;
    arm(loop->steps, at_ms > now_ms ? at_ms - now_ms : 0);
}

static void step(struct dx_fetch_loop *loop)
{
    step_at(loop, dx_http_multi_step(loop->lane));
}

static void on_step(evutil_socket_t fd, short what, void *arg)
{
    struct dx_fetch_loop *loop = arg;

    (void)fd;
    (void)what;
    loop->armed_ms = UINT64_MAX;
    step(loop);
}

static void on_gate(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    step(arg);
}

static void work(struct dx_fetch_loop *loop, curl_socket_t fd, int what)
{
    int running;

    (void)curl_multi_socket_action(dx_http_multi_multi(loop->lane), fd, what, &running);
    step(loop);
}

static void on_curl_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    work(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
    work(arg, fd,
         ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
             ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
}

/* libcurl wants to know of a socket; `kept` is the event that we have for it. Without memory for
 * one the attempt is found too slow and ends: nothing is lost but time. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *kept)
{
    struct dx_fetch_loop *loop = arg;
    struct event *event = kept;
    int events = EV_PERSIST | ((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
                 ((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0);

    (void)easy;
    if (event != NULL)
        event_free(event);
    event = what == CURL_POLL_REMOVE ? NULL
                                     : event_new(loop->base, fd, (short)events, on_socket, loop);
    if (event != NULL)
        (void)event_add(event, NULL);
    (void)curl_multi_assign(dx_http_multi_multi(loop->lane), fd, event);
    return 0;
}

static int watch_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct dx_fetch_loop *loop = arg;

    (void)multi;
    if (timeout_ms < 0)
        (void)evtimer_del(loop->curl);
    else
        arm(loop->curl, (uint64_t)timeout_ms);
    return 0;
}

int dx_fetch_loop_new(struct dx_fetch_loop **out, struct event_base *base, struct dx_error *err)
{
    struct dx_fetch_loop *loop = calloc(1, sizeof *loop);
    CURLM *multi;
    int rc;

    *out = NULL;
    if (loop == NULL)
        return dx_no_memory(err, "fetch");
    loop->base = base;
    loop->armed_ms = UINT64_MAX;
    rc = dx_http_multi_new(&loop->lane, err);
    if (rc < 0) {
        free(loop);
        return rc;
    }
    loop->gate = event_new(base, dx_http_multi_fd(loop->lane), EV_READ | EV_PERSIST, on_gate, loop);
    loop->steps = evtimer_new(base, on_step, loop);
    loop->curl = evtimer_new(base, on_curl_timer, loop);
    if (loop->gate == NULL || loop->steps == NULL || loop->curl == NULL ||
        event_add(loop->gate, NULL) < 0) {
        dx_fetch_loop_free(&loop);
        return dx_no_memory(err, "fetch");
    }
    multi = dx_http_multi_multi(loop->lane);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, loop);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, watch_timer);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, loop);
    *out = loop;
    return DX_OK;
}

static void free_event(struct event *event)
{
    if (event != NULL)
        event_free(event);
}

void dx_fetch_loop_free(struct dx_fetch_loop **out)
{
    struct dx_fetch_loop *loop = *out;

    *out = NULL;
    if (loop == NULL)
        return;
    /* Closing connections still reports sockets and timers. */
    dx_http_multi_free(&loop->lane);
    free_event(loop->gate);
    free_event(loop->steps);
    free_event(loop->curl);
    free(loop);
}

struct dx_http_multi *dx_fetch_loop_lane(struct dx_fetch_loop *loop)
{
    return loop->lane;
}

int dx_fetch_begin(struct dx_fetch_loop *loop, struct dx_source *src,
                   const struct dx_source_batch *batch, dx_fetch_done *done, void *ctx,
                   struct dx_fetch **fetch, struct dx_error *err)
{
    int rc = dx_source_batch_check(batch, err);

    *fetch = NULL;
    if (rc == DX_OK)
        rc = src->ops->begin(src, loop, batch, done, ctx, fetch, err);
    if (rc == DX_OK)
        step_at(loop, 0);
    return rc;
}

void dx_fetch_cancel(struct dx_fetch **fetch)
{
    if (*fetch != NULL)
        (*fetch)->cancel(*fetch);
    *fetch = NULL;
}
