/* SPDX-License-Identifier: Apache-2.0
 * A load of requests that are answered before they were sent whole, by servers that read on slowly or close: none of them is cut
 * and gone on with as another, and no connection is taken for two.
 */
#include "builder/load/load.h"

#include "tests/support/fail.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define REQUEST_SIZE (32u << 20) /* more than both ends of a connection hold */
#define FRONT (64u << 10)        /* of it is read, then comes the answer */
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define CLOSE_MS 300

static unsigned failures;
static uint8_t *request;

struct server {
    int fd;
    bool reads_on;
    pthread_t thread;
    atomic_uint answered, mixed, open;
};

struct connection {
    struct server *server;
    int fd;
};

/* As one request, or the begin of one, would be. */
static bool read_some(struct connection *c, size_t *at, size_t most)
{
    static _Thread_local uint8_t bytes[FRONT];
    ssize_t n = recv(c->fd, bytes, most < sizeof bytes ? most : sizeof bytes, 0);

    if (n <= 0)
        return false;
    if (*at + (size_t)n > REQUEST_SIZE || memcmp(bytes, request + *at, (size_t)n) != 0)
        atomic_fetch_add(&c->server->mixed, 1);
    *at += (size_t)n;
    return *at <= REQUEST_SIZE;
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    struct pollfd end = { .fd = c->fd, .events = POLLRDHUP };
    size_t at = 0;

    while (at < FRONT && read_some(c, &at, FRONT - at))
        continue;
    if (at == FRONT && send(c->fd, ANSWER, strlen(ANSWER), MSG_NOSIGNAL) > 0) {
        atomic_fetch_add(&c->server->answered, 1);
        while (c->server->reads_on && read_some(c, &at, FRONT))
            (void)poll(NULL, 0, 1);
        if (!c->server->reads_on)
            (void)poll(&end, 1, CLOSE_MS);
    }
    (void)close(c->fd);
    atomic_fetch_sub(&c->server->open, 1);
    free(c);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct server *s = arg;
    int fd;

    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        struct connection *c = malloc(sizeof *c);
        pthread_t thread;

        if (c == NULL)
            abort();
        *c = (struct connection){ s, fd };
        atomic_fetch_add(&s->open, 1);
        if (pthread_create(&thread, NULL, serve, c) != 0)
            abort();
        (void)pthread_detach(thread);
    }
    return NULL;
}

static void start(struct server *s, struct dx_address *address)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof to;

    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&to, sizeof to) != 0 ||
        listen(s->fd, 64) != 0 || getsockname(s->fd, (struct sockaddr *)&to, &size) != 0 ||
        pthread_create(&s->thread, NULL, accept_all, s) != 0)
        abort();
    memcpy(&address->storage, &to, sizeof to);
    address->size = sizeof to;
}

static void stop(struct server *s)
{
    (void)shutdown(s->fd, SHUT_RDWR);
    (void)pthread_join(s->thread, NULL);
    (void)close(s->fd);
    while (atomic_load(&s->open) > 0)
        (void)poll(NULL, 0, 1);
}

/* One target, whose request is the large one. */
static void make_part(struct dx_mix_part *p)
{
    static const struct dx_law in_turn = { DX_LAW_ORDER, 0 };

    if (dx_mix_part_of(p, dx_span_str("/a\n"), "large", &in_turn, "x", NULL, NULL) < 0)
        abort();
    dx_buf_clear(&p->targets.requests);
    dx_buf_append(&p->targets.requests, request, REQUEST_SIZE);
    p->targets.target[0].at = 0;
    p->targets.target[0].size = REQUEST_SIZE;
    if (p->targets.requests.failed)
        abort();
}

static void check_early(bool reads_on, double rate, uint64_t requests)
{
    struct server s = { .reads_on = reads_on };
    struct dx_load_plan plan = { .connections = 1,
                                 .seconds = 4,
                                 .rate = rate,
                                 .seed = 1,
                                 .timeout_ms = 5000,
                                 .requests_max = requests };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_load_result r;
    struct dx_mix_part part;

    make_part(&part);
    start(&s, &plan.address);
    if (dx_load_run(&plan, &part, 1, &r, &err) < 0) {
        FAIL("%s", err.text);
        r = (struct dx_load_result){ .seconds = 0 };
    }
    stop(&s);
    CHECK(r.requests_total == requests && atomic_load(&s.answered) == requests,
          "%llu replies of %u", (unsigned long long)r.requests_total, atomic_load(&s.answered));
    CHECK(atomic_load(&s.mixed) == 0, "%u times what came was no request", atomic_load(&s.mixed));
    CHECK(r.broken + r.connect_errors + r.timeouts + r.unsent + r.wrong == 0, "failures: %s",
          r.first_error.text);
    dx_load_result_release(&r);
    dx_mix_part_release(&part);
}

/* An open loop with time between two requests: what happens to a connection that is idle counts. */
int main(void)
{
    request = malloc(REQUEST_SIZE);
    if (request == NULL)
        return 1;
    for (size_t i = 0; i < REQUEST_SIZE; i += sizeof(uint32_t))
        memcpy(request + i, &(uint32_t){ (uint32_t)i }, sizeof(uint32_t));
    for (int reads_on = 0; reads_on < 2; reads_on++) {
        check_early(reads_on, 0, 10);
        check_early(reads_on, 20, 10);
        check_early(reads_on, 1000.0 / (CLOSE_MS + 200), 3);
    }
    free(request);
    return failures != 0;
}
