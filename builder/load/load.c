/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/load.h"

#include "builder/load/chance.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 256
#define LOOK_NS 100000000u /* timeouts are looked for that often */
#define SECOND_NS UINT64_C(1000000000)

struct slot {
    struct dx_link link;
    uint32_t watched; /* events that epoll knows */
    uint32_t part, target;
    bool busy, hash;
    uint64_t due_ns, sent_ns;
};

struct loop {
    const struct dx_load_plan *plan;
    struct dx_mix_part *parts;
    struct dx_picker which; /* of the parts */
    struct dx_load_result *result;
    int epoll;
    struct slot *slots;
    uint32_t *idle; /* a ring: the one that has been idle longest is next */
    uint32_t idle_first, idle_count, busy_count;
    uint8_t *scratch;
    uint64_t random;
    uint64_t warm_ns, end_ns, give_up_ns; /* by now_ns() */
    uint64_t looked_ns;
    uint64_t asked;
    struct dx_schedule schedule;
    uint64_t begin_ns, next_ns; /* of the schedule, by now_ns() */
    bool behind;                /* something is due, and no connection was idle */
};

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static double cpu_s(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_THREAD, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static bool is_open_loop(const struct loop *l)
{
    return l->plan->rate > 0;
}

static bool may_ask(const struct loop *l, uint64_t due)
{
    return due < l->end_ns && (l->plan->requests_max == 0 || l->asked < l->plan->requests_max);
}

static bool is_refusal(unsigned status)
{
    return status == 429 || status == 503;
}

static uint64_t failures(const struct dx_load_result *r)
{
    return r->connect_errors + r->broken + r->timeouts;
}

/* ---- one connection ---- */

static int watch(struct loop *l, struct slot *s, int how, struct dx_error *err)
{
    struct epoll_event event = { .events = s->link.events, .data.ptr = s };

    s->watched = s->link.events;
    if (epoll_ctl(l->epoll, how, s->link.fd, &event) != 0)
        return dx_fail_errno(err, errno, "epoll_ctl");
    return DX_OK;
}

static int open_slot(struct loop *l, struct slot *s, struct dx_error *err)
{
    int rc = dx_link_open(&s->link, &l->plan->address, l->plan->tls, err);

    return rc < 0 ? rc : watch(l, s, EPOLL_CTL_ADD, err);
}

static void count_latency(struct loop *l, const struct slot *s, uint64_t now)
{
    uint64_t when = is_open_loop(l) ? s->due_ns : now;

    if (when < l->warm_ns || when > l->end_ns)
        return;
    l->result->requests++;
    dx_hdr_add(&l->parts[s->part].latency, now - s->due_ns);
    dx_hdr_add(&l->result->latency, now - s->due_ns);
    dx_hdr_add(&l->result->service, now - s->sent_ns);
}

/* The request, if there is one, is lost; the connection is opened again. */
static void lose(struct loop *l, struct slot *s, uint64_t *counter, const struct dx_error *why)
{
    struct dx_error err = DX_ERROR_INIT;

    if (failures(l->result) == 0)
        l->result->first_error = *why;
    (*counter)++;
    if (s->busy)
        l->busy_count--;
    s->busy = false;
    if (failures(l->result) < DX_LOAD_ERRORS_MAX && open_slot(l, s, &err) < 0) {
        l->result->connect_errors++;
        dx_link_close(&s->link);
    }
}

static void send_request(struct loop *l, struct slot *s, uint64_t due, uint64_t now)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_mix_part *part;
    uint32_t every = l->plan->verify_every;

    s->part = dx_picker_next(&l->which, &l->random);
    part = &l->parts[s->part];
    s->target = dx_mix_part_next(part, &l->random);
    s->hash = l->plan->learn ||
              (every > 0 && l->asked % every == 0 && dx_mix_part_knows_body(part, s->target));
    s->due_ns = due;
    s->sent_ns = now;
    s->busy = true;
    l->asked++;
    l->busy_count++;
    if (dx_link_ask(&s->link, dx_targets_request(&part->targets, s->target), s->hash, &err) < 0)
        lose(l, s, &l->result->broken, &err);
    else if (s->watched != s->link.events && watch(l, s, EPOLL_CTL_MOD, &err) < 0)
        lose(l, s, &l->result->broken, &err);
}

static void ready(struct loop *l, struct slot *s, uint64_t now)
{
    if (!is_open_loop(l) && may_ask(l, now)) {
        send_request(l, s, now, now);
        return;
    }
    assert(l->idle_count < l->plan->connections); /* each is in the ring once */
    l->idle[(l->idle_first + l->idle_count) % l->plan->connections] = (uint32_t)(s - l->slots);
    l->idle_count++;
}

static void take_answer(struct loop *l, struct slot *s)
{
    struct dx_mix_part *part = &l->parts[s->part];
    struct dx_error err = DX_ERROR_INIT;
    uint64_t now = now_ns();

    l->result->requests_total++;
    l->result->refused += is_refusal(s->link.head.status);
    l->busy_count--;
    s->busy = false;
    count_latency(l, s, now);
    if (l->plan->learn) {
        dx_mix_part_learn(part, s->target, &s->link.head, &s->link.hash);
    } else if (!dx_mix_part_judge(part, s->target, &s->link.head, s->hash ? &s->link.hash : NULL,
                                  &err)) {
        if (l->result->wrong++ == 0)
            l->result->first_wrong = err;
    }
    if (!s->link.head.close)
        ready(l, s, now);
    else if (open_slot(l, s, &err) < 0)
        lose(l, s, &l->result->connect_errors, &err);
}

/* It stays in the ring; ask_due opens it again. That a server closes it is its right, that it sends
 * bytes without a request is not. */
static void close_idle(struct loop *l, struct slot *s, const struct dx_error *why)
{
    if (why->code == DX_E_CORRUPT) {
        if (failures(l->result) == 0)
            l->result->first_error = *why;
        l->result->broken++;
    }
    dx_link_close(&s->link);
}

/* An idle connection that the server closes is taken out of the ring when it is its turn. */
static void handle_events(struct loop *l, struct slot *s, uint32_t events)
{
    struct dx_error err = DX_ERROR_INIT;
    bool connecting = !s->link.connected;
    int rc = 0;

    if (s->link.fd < 0)
        return;
    if ((events & EPOLLOUT) != 0 || connecting) {
        rc = dx_link_write(&s->link, &err);
        if (rc < 0) {
            lose(l, s, connecting ? &l->result->connect_errors : &l->result->broken, &err);
            return;
        }
        if (s->watched != s->link.events && watch(l, s, EPOLL_CTL_MOD, &err) < 0) {
            lose(l, s, &l->result->broken, &err);
            return;
        }
        if (connecting) {
            if (s->link.connected)
                ready(l, s, now_ns());
            return;
        }
    }
    if ((events & ~(uint32_t)EPOLLOUT) == 0)
        return;
    rc = dx_link_read(&s->link, l->scratch, &err);
    if (rc > 0)
        take_answer(l, s);
    else if (rc < 0 && s->busy)
        lose(l, s, &l->result->broken, &err);
    else if (rc < 0)
        close_idle(l, s, &err);
}

/* ---- the load ---- */

static void advance(struct loop *l)
{
    l->next_ns = l->begin_ns + dx_schedule_next(&l->schedule);
}

static void ask_due(struct loop *l, uint64_t now)
{
    while (l->next_ns <= now && l->idle_count > 0 && may_ask(l, l->next_ns)) {
        struct slot *s = &l->slots[l->idle[l->idle_first]];
        struct dx_error err = DX_ERROR_INIT;

        l->idle_first = (l->idle_first + 1) % l->plan->connections;
        l->idle_count--;
        if (s->link.fd < 0) {
            if (open_slot(l, s, &err) < 0)
                lose(l, s, &l->result->connect_errors, &err);
            continue;
        }
        if (!l->behind)
            dx_hdr_add(&l->result->late, now - l->next_ns);
        send_request(l, s, l->next_ns, now);
        advance(l);
        now = now_ns();
    }
    l->behind = l->next_ns <= now && l->idle_count == 0;
}

static void look_for_timeouts(struct loop *l, uint64_t now)
{
    uint64_t late_ns = (uint64_t)l->plan->timeout_ms * 1000000;

    l->looked_ns = now;
    for (uint32_t i = 0; i < l->plan->connections; i++) {
        struct slot *s = &l->slots[i];
        struct dx_error err = DX_ERROR_INIT;

        if (!s->busy || now - s->sent_ns < late_ns)
            continue;
        (void)dx_fail(&err, DX_E_TIMEOUT, "no whole reply within %u ms", l->plan->timeout_ms);
        count_latency(l, s, now);
        lose(l, s, &l->result->timeouts, &err);
    }
}

/* Nanoseconds that epoll may wait. */
static uint64_t rest(const struct loop *l, uint64_t now)
{
    uint64_t spin = (uint64_t)l->plan->spin_us * 1000;

    if (!is_open_loop(l) || l->behind || !may_ask(l, l->next_ns))
        return LOOK_NS / 10;
    if (l->next_ns <= now + spin)
        return 0;
    return l->next_ns - now - spin < LOOK_NS ? l->next_ns - now - spin : LOOK_NS;
}

static bool ends_early(const struct loop *l)
{
    return failures(l->result) >= DX_LOAD_ERRORS_MAX ||
           (l->plan->refused_max > 0 && l->result->refused >= l->plan->refused_max);
}

static bool is_over(const struct loop *l, uint64_t now)
{
    uint64_t due = is_open_loop(l) ? l->next_ns : now;

    return ends_early(l) || now > l->give_up_ns || (!may_ask(l, due) && l->busy_count == 0);
}

/* Linux before 5.11 has no epoll_pwait2; the part of a millisecond is then waited for in turns. */
static int wait_for(const struct loop *l, struct epoll_event *events, uint64_t ns)
{
    struct timespec wait = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };
    int n = ns == 0 ? 0 : epoll_pwait2(l->epoll, events, EVENTS, &wait, NULL);

    return ns == 0 || (n < 0 && errno == ENOSYS)
               ? epoll_wait(l->epoll, events, EVENTS, (int)(ns / (SECOND_NS / 1000)))
               : n;
}

static int serve_links(struct loop *l, struct dx_error *err)
{
    struct epoll_event events[EVENTS];
    uint64_t now = now_ns();

    while (!is_over(l, now)) {
        int n;

        if (is_open_loop(l))
            ask_due(l, now);
        n = wait_for(l, events, rest(l, now));
        if (n < 0 && errno != EINTR)
            return dx_fail_errno(err, errno, "epoll_wait");
        for (int i = 0; i < n; i++)
            handle_events(l, events[i].data.ptr, events[i].events);
        now = now_ns();
        if (now - l->looked_ns >= LOOK_NS)
            look_for_timeouts(l, now);
    }
    return DX_OK;
}

/* All connections stand before the first request is sent. */
static int connect_all(struct loop *l, struct dx_error *err)
{
    struct epoll_event events[EVENTS];
    uint64_t end = now_ns() + (uint64_t)l->plan->timeout_ms * 1000000;

    l->end_ns = 0; /* ready() asks nothing yet */
    for (uint32_t i = 0; i < l->plan->connections; i++) {
        int rc;

        l->slots[i].link = (struct dx_link)DX_LINK_INIT;
        rc = open_slot(l, &l->slots[i], err);
        if (rc < 0)
            return dx_fail_in(err, "connection %u of %u", i + 1, l->plan->connections);
    }
    while (l->idle_count < l->plan->connections) {
        int n = epoll_wait(l->epoll, events, EVENTS, 10);

        for (int i = 0; i < n; i++)
            handle_events(l, events[i].data.ptr, events[i].events);
        if (failures(l->result) > 0) {
            *err = l->result->first_error;
            return err->code;
        }
        if (now_ns() > end)
            return dx_fail(err, DX_E_TIMEOUT, "%u of %u connections stand after %u ms",
                           l->idle_count, l->plan->connections, l->plan->timeout_ms);
    }
    return DX_OK;
}

static void begin_load(struct loop *l)
{
    const struct dx_load_plan *plan = l->plan;
    uint32_t count = l->idle_count;

    l->begin_ns = l->looked_ns = now_ns();
    l->warm_ns = l->begin_ns + (uint64_t)(plan->warm_s * 1e9);
    l->end_ns = l->warm_ns + (uint64_t)(plan->seconds * 1e9);
    l->give_up_ns = l->end_ns + (uint64_t)plan->timeout_ms * 1000000 + LOOK_NS;
    if (is_open_loop(l)) {
        l->schedule = dx_schedule_of(plan->rate, plan->arrivals, plan->seed ^ 0x5eed);
        advance(l);
        return;
    }
    l->idle_count = 0;
    for (uint32_t i = 0; i < count; i++)
        ready(l, &l->slots[i], now_ns());
}

static void sum_up(struct loop *l, double cpu_before)
{
    struct dx_load_result *r = l->result;
    uint64_t now = now_ns();

    r->cpu_share = (cpu_s() - cpu_before) / ((double)(now - l->begin_ns + 1) * 1e-9);
    r->seconds = (double)((now < l->end_ns ? now : l->end_ns) - l->warm_ns) * 1e-9;
    if (now < l->warm_ns)
        r->seconds = 0;
    r->ended_early = ends_early(l);
    for (uint32_t i = 0; i < l->plan->connections; i++) {
        r->received += l->slots[i].link.received;
        /* Of an open loop: sent behind the end, for want of a connection. */
        r->unsent += now > l->give_up_ns && l->slots[i].busy;
    }
    for (; is_open_loop(l) && may_ask(l, l->next_ns); advance(l))
        r->unsent++;
}

static int loop_init(struct loop *l, size_t part_count, struct dx_error *err)
{
    static const struct dx_law by_share = { DX_LAW_WEIGHTS, 0 };
    uint32_t n = l->plan->connections;
    double *shares = calloc(part_count, sizeof(*shares));
    int rc = DX_OK;

    l->slots = calloc(n, sizeof(*l->slots));
    l->idle = calloc(n, sizeof(*l->idle));
    l->scratch = malloc(DX_LINK_SCRATCH);
    if (shares == NULL || l->slots == NULL || l->idle == NULL || l->scratch == NULL)
        rc = dx_no_memory(err, "%u connections", n);
    for (uint32_t i = 0; l->slots != NULL && i < n; i++)
        l->slots[i].link = (struct dx_link)DX_LINK_INIT;
    for (size_t i = 0; rc == DX_OK && i < part_count; i++)
        shares[i] = l->parts[i].share;
    if (rc == DX_OK)
        rc = dx_picker_init(&l->which, &by_share, part_count, shares, err);
    if (rc == DX_OK && (l->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        rc = dx_fail_errno(err, errno, "epoll_create1");
    free(shares);
    return rc;
}

static void loop_release(struct loop *l)
{
    for (uint32_t i = 0; l->slots != NULL && i < l->plan->connections; i++)
        dx_link_close(&l->slots[i].link);
    if (l->epoll >= 0)
        (void)close(l->epoll);
    dx_picker_release(&l->which);
    free(l->slots);
    free(l->idle);
    free(l->scratch);
}

int dx_load_run(const struct dx_load_plan *plan, struct dx_mix_part *parts, size_t part_count,
                struct dx_load_result *out, struct dx_error *err)
{
    struct loop l = {
        .plan = plan, .parts = parts, .result = out, .epoll = -1, .random = plan->seed
    };
    double cpu_before = 0;
    int rc;

    assert(plan->connections > 0 && plan->connections <= DX_LOAD_CONNECTIONS_MAX);
    *out = (struct dx_load_result){ .seconds = 0 };
    rc = dx_hdr_init(&out->latency, err);
    if (rc == DX_OK)
        rc = dx_hdr_init(&out->service, err);
    if (rc == DX_OK)
        rc = dx_hdr_init(&out->late, err);
    if (rc == DX_OK)
        rc = loop_init(&l, part_count, err);
    if (rc == DX_OK)
        rc = connect_all(&l, err);
    if (rc == DX_OK) {
        cpu_before = cpu_s();
        begin_load(&l);
        rc = serve_links(&l, err);
    }
    if (rc == DX_OK)
        sum_up(&l, cpu_before);
    loop_release(&l);
    if (rc < 0)
        dx_load_result_release(out);
    return rc;
}

void dx_load_result_release(struct dx_load_result *r)
{
    dx_hdr_release(&r->latency);
    dx_hdr_release(&r->service);
    dx_hdr_release(&r->late);
}
