/* SPDX-License-Identifier: Apache-2.0
 * The end of a server, and what a watchdog asks of it: a thousand listings in flight are all
 * answered, new connections may still say what they came for, a loop or workers that hang are seen.
 */
#include "base/clock.h"
#include "server/engine/server.h"
#include "tests/support/fail.h"
#include "tests/support/fake_server.h"
#include "tests/support/raw_client.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_FLIGHT 1000
#define LISTING "GET /v1/domain/gate.example/datasets/1/urls HTTP/1.1\r\nHost: h\r\n\r\n"
#define LOOKUP "GET /v1/domain/a HTTP/1.1\r\nHost: h\r\n\r\n"

static int failures;

static struct dx_server_options small_options(void)
{
    struct dx_server_options o = dx_fake_server_options();

    o.queue_max = IN_FLIGHT + 10;
    return o;
}

static void open_or_die(struct dx_raw *c, const struct dx_fake_server *h)
{
    if (!dx_raw_open(c, h->port)) {
        perror("connect");
        exit(1);
    }
}

static bool lives(const struct dx_fake_server *h, bool want, const char *words)
{
    for (int i = 0; i < 1000; i++) {
        struct dx_error why = DX_ERROR_INIT;

        if (dx_server_lives(h->server, 5000, &why) == want)
            return want || strstr(why.text, words) != NULL;
        (void)usleep(10000);
    }
    return false;
}

/* Opens the gate when the server has begun to stop. */
static void *open_later(void *argument)
{
    (void)usleep(400000);
    dx_fake_gate(argument, true);
    return NULL;
}

static void check_in_flight(void)
{
    struct dx_server_options o = small_options();
    struct dx_raw *c = calloc(IN_FLIGHT, sizeof *c);
    struct dx_raw_reply *reply = calloc(1, sizeof *reply);
    unsigned answered = 0;
    struct dx_fake_server h;
    pthread_t thread;

    dx_fake_server_start(&h, &o);
    dx_fake_gate(h.fake, false);
    for (int i = 0; i < IN_FLIGHT; i++) {
        open_or_die(&c[i], &h);
        (void)dx_raw_say(&c[i], LISTING);
    }
    for (int i = 0; i < 6000 && dx_server_counts_of(h.server).accepted < IN_FLIGHT; i++)
        (void)usleep(10000);
    if (pthread_create(&thread, NULL, open_later, h.fake) != 0)
        exit(1);
    if (!dx_server_stop(&h.server, 20000))
        FAIL("stop was not clean");
    (void)pthread_join(thread, NULL);
    for (int i = 0; i < IN_FLIGHT; i++) {
        answered += dx_raw_reply(&c[i], false, reply, 60000) && reply->status == 200 &&
                    reply->close;
        dx_raw_close(&c[i]);
    }
    if (answered != IN_FLIGHT)
        FAIL("%u of %d in flight were answered, with Connection: close", answered, IN_FLIGHT);
    if (!dx_fake_free(&h.fake))
        FAIL("a pin is left");
    free(reply);
    free(c);
}

static void *stop_now(void *argument)
{
    struct dx_fake_server *h = argument;

    if (!dx_server_stop(&h->server, 60000))
        FAIL("stop was not clean");
    return NULL;
}

/* A client that has just been accepted is not idle: its request may be on its way. */
static void check_newcomers(void)
{
    struct dx_server_options o = small_options();
    struct dx_raw_reply reply;
    struct dx_raw late, silent;
    struct dx_fake_server h;
    pthread_t thread;
    uint64_t from;

    dx_fake_server_start(&h, &o);
    open_or_die(&late, &h);
    open_or_die(&silent, &h);
    while (dx_server_counts_of(h.server).accepted < 2)
        (void)usleep(1000);
    from = dx_clock_ms();
    if (pthread_create(&thread, NULL, stop_now, &h) != 0)
        exit(1);
    (void)usleep(300000);
    (void)dx_raw_say(&late, LOOKUP);
    if (!dx_raw_reply(&late, false, &reply, 60000) || reply.status != 200 || !reply.close)
        FAIL("a first request 0.3 s after the stop began: %s", late.fault);
    if (!dx_raw_ended(&silent, 60000))
        FAIL("one that says nothing is not closed");
    (void)pthread_join(thread, NULL);
    if (dx_clock_ms() - from > 30000)
        FAIL("the stop waited %d ms for one that says nothing", (int)(dx_clock_ms() - from));
    dx_raw_close(&late);
    dx_raw_close(&silent);
    if (!dx_fake_free(&h.fake))
        FAIL("a pin is left");
}

/* Heads that come in two pieces, the second one or both after the stop began. */
static void check_pieces(void)
{
    static const struct {
        bool begun; /* the first piece is there when the stop begins */
        const char *first, *second;
    } rows[] = {
        { true, "GET /v1/domain/a HTTP/1.1\r\nHost: h\r\n", "\r\n" },
        { true, "GE", "T /v1/domain/a HTTP/1.1\r\nHost: h\r\n\r\n" },
        { false, "GET /v1/domain/a HTTP/1.1\r\nHost: h\r\n", "\r\n" },
        { false, "GET /v1/dom", "ain/a HTTP/1.1\r\nHost: h\r\n\r\n" },
        { false, "GET /v1/domain/a HTTP/1.1\r\nHost: h\r\n\r", "\n" },
        /* behind as many bytes as the first piece has, a head would end with another target */
        { false, "GET /v1/domain/a HTTP/1.1\r\nHost: h\r\n",
          "B: y/v1/nothing/a zzzzzzzzzzzzzzzzzzz\r\n\r\n" },
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    struct dx_server_options o = small_options();
    struct dx_raw c[COUNT];
    struct dx_raw_reply reply;
    struct dx_fake_server h;
    pthread_t thread;

    dx_fake_server_start(&h, &o);
    for (int i = 0; i < COUNT; i++)
        open_or_die(&c[i], &h);
    while (dx_server_counts_of(h.server).accepted < COUNT)
        (void)usleep(1000);
    for (int i = 0; i < COUNT; i++)
        if (rows[i].begun)
            (void)dx_raw_say(&c[i], rows[i].first);
    (void)usleep(100000);
    if (pthread_create(&thread, NULL, stop_now, &h) != 0)
        exit(1);
    (void)usleep(100000);
    for (int i = 0; i < COUNT; i++)
        if (!rows[i].begun)
            (void)dx_raw_say(&c[i], rows[i].first);
    (void)usleep(100000);
    for (int i = 0; i < COUNT; i++) {
        (void)dx_raw_say(&c[i], rows[i].second);
        if (!dx_raw_reply(&c[i], false, &reply, 60000) || reply.status != 200 || !reply.close)
            FAIL("row %d: %d %s", i, reply.status, c[i].fault);
        dx_raw_close(&c[i]);
    }
    (void)pthread_join(thread, NULL);
    if (!dx_fake_free(&h.fake))
        FAIL("a pin is left");
}

static void check_lives(void)
{
    struct dx_server_options o = small_options();
    struct dx_raw c[2];
    struct dx_fake_server h;

    o.job_timeout_ms = 100;
    dx_fake_server_start(&h, &o);
    if (!lives(&h, true, ""))
        FAIL("a server that does nothing lives");
    dx_fake_gate(h.fake, false);
    open_or_die(&c[0], &h);
    (void)dx_raw_say(&c[0], LISTING);
    (void)usleep(500000);
    if (!lives(&h, true, ""))
        FAIL("one worker of two hangs");
    open_or_die(&c[1], &h);
    (void)dx_raw_say(&c[1], LISTING);
    if (!lives(&h, false, "no worker has ended a job"))
        FAIL("both workers hang, and it is not seen");
    dx_fake_gate(h.fake, true);
    if (!lives(&h, true, ""))
        FAIL("the workers go on");
    for (int i = 0; i < 2; i++)
        dx_raw_close(&c[i]);
    if (!dx_server_stop(&h.server, 60000) || !dx_fake_free(&h.fake))
        FAIL("stop");
}

/* A socket that listens already is served, and outlives the server in the process that keeps it. */
static void check_handed_over(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct dx_server_options o = small_options();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct dx_raw_reply reply;
    struct dx_fake_server h;
    struct dx_raw c;

    if (bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 16) < 0)
        exit(1);
    for (int i = 0; i < 2; i++) {
        o.listen_fd = dup(fd);
        dx_fake_server_start(&h, &o);
        open_or_die(&c, &h);
        (void)dx_raw_say(&c, LOOKUP);
        if (!dx_raw_reply(&c, false, &reply, 60000) || reply.status != 200)
            FAIL("server %d on the socket: %s", i, c.fault);
        if (!dx_server_stop(&h.server, 60000) || !dx_fake_free(&h.fake))
            FAIL("stop");
        dx_raw_close(&c);
    }
    (void)close(fd);
}

int main(void)
{
    struct rlimit limit = { 0, 0 };

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * IN_FLIGHT + 200) {
        printf("SKIPPED: needs %d descriptors\n", 2 * IN_FLIGHT + 200);
        return 77;
    }
    check_in_flight();
    check_newcomers();
    check_pieces();
    check_lives();
    check_handed_over();
    return failures == 0 ? 0 : 1;
}
