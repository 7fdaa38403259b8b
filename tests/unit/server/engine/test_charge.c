/* SPDX-License-Identifier: Apache-2.0
 * Buckets and caps of addresses over sockets: which clients are refused, how, and what it costs
 * them.
 */
#include "server/engine/server.h"
#include "tests/support/fail.h"
#include "tests/support/fake_server.h"
#include "tests/support/raw_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GET(target) "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"
#define LISTING "/v1/domain/a.example/datasets/1/urls"

static int failures;

static void start(struct dx_fake_server *h, const struct dx_admission_options *admission)
{
    struct dx_server_options o = dx_fake_server_options();

    o.workers = 1;
    o.admission = *admission;
    o.admission.addresses_max = 1024;
    dx_fake_server_start(h, &o);
}

static void finish(struct dx_fake_server *h)
{
    CHECK(dx_server_stop(&h->server, 60000), "stop was not clean");
    CHECK(dx_fake_free(&h->fake), "a pin is left");
}

static int ask(struct dx_raw *c, const char *text, struct dx_raw_reply *reply)
{
    (void)dx_raw_say(c, text);
    return dx_raw_reply(c, false, reply, 60000) ? reply->status : 0;
}

/* The rate is so low that nothing comes back while the test runs. */
static void test_bucket(void)
{
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        { GET("/v1/domain/a.example"), 200 },      /* 30 - 1 */
        { GET("/v1/domain/absent.example"), 404 }, /* an absent one costs the same */
        { GET("/v1/domain/a.example?x=1"), 400 },  /* no question costs, too */
        { GET(LISTING), 200 },                     /* 27 - 25 */
        { GET(LISTING), 200 },                     /* 2: taken, into debt */
        { GET("/v1/domain/a.example"), 429 },      /* -23 */
        { GET("/v1/domain/a.example?x=1"), 429 },  /* nor is nonsense looked at */
        { GET("/healthz"), 200 },                  /* supervisors are never refused */
        { GET("/readyz"), 200 },
        { GET("/v1/domain/a.example"), 429 },
        { "POST /v1/domains HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n", 429 },
    };
    struct dx_fake_server h;
    struct dx_raw_reply reply;
    struct dx_raw c;

    start(&h, &(struct dx_admission_options){ .address_cost_per_s = 0.1, .address_burst = 30 });
    (void)dx_raw_open(&c, h.port);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = ask(&c, rows[i].text, &reply);
        const char *after = status == 0 ? NULL : strstr(reply.head, "\r\nRetry-After: ");
        int seconds = after == NULL ? 0 : atoi(after + 15);

        CHECK(status == rows[i].status, "row %zu: %d: %s", i, status, c.fault);
        CHECK((status == 429) == (seconds >= 200 && seconds <= 240), "row %zu: Retry-After: %d", i,
              seconds);
        CHECK(status != 429 || dx_raw_body_has(&reply, "urn:domaindex:problem:rate-limited"),
              "row %zu: another problem", i);
    }
    CHECK(dx_raw_ended(&c, 60000), "what refuses a body leaves it unread, and closes");
    CHECK(dx_server_counts_of(h.server).admission.refused_address == 4, "%llu counted",
          (unsigned long long)dx_server_counts_of(h.server).admission.refused_address);
    dx_raw_close(&c);
    finish(&h);
}

/* Whole replies that are kept are paid for as well. */
static void test_kept(void)
{
    struct dx_fake_server h;
    struct dx_raw_reply reply;
    struct dx_raw c;
    unsigned good = 0;

    start(&h, &(struct dx_admission_options){ .address_cost_per_s = 0.1, .address_burst = 20 });
    (void)dx_raw_open(&c, h.port);
    for (int i = 0; i < 40; i++)
        good += ask(&c, GET("/v1/domain/a.example"), &reply) == 200;
    /* One more where a little has come back: what is not empty pays for one. */
    CHECK(good == 20 || good == 21, "%u of 40 are answered, of which 20 are paid", good);
    dx_raw_close(&c);
    finish(&h);
}

/* A debt of 24, at 20 a second: paid while the client waits. */
static void test_again(void)
{
    struct dx_fake_server h;
    struct dx_raw_reply reply;
    struct dx_raw c;

    start(&h, &(struct dx_admission_options){ .address_cost_per_s = 20, .address_burst = 2 });
    (void)dx_raw_open(&c, h.port);
    CHECK(ask(&c, GET(LISTING), &reply) == 200, "%d", reply.status);
    CHECK(ask(&c, GET("/v1/domain/a.example"), &reply) == 429 &&
              (strstr(reply.head, "\r\nRetry-After: 2\r\n") != NULL ||
               strstr(reply.head, "\r\nRetry-After: 1\r\n") != NULL),
          "%d", reply.status);
    (void)usleep(1400000);
    CHECK(ask(&c, GET("/v1/domain/a.example"), &reply) == 200, "%d", reply.status);
    dx_raw_close(&c);
    finish(&h);
}

/* A client that leaves while a worker has its request is charged for the work. */
static void test_gone(void)
{
    struct dx_fake_server h;
    struct dx_raw_reply reply;
    struct dx_raw c, other;

    start(&h, &(struct dx_admission_options){ .address_cost_per_s = 0.1, .address_burst = 100 });
    dx_fake_gate(h.fake, false);
    (void)dx_raw_open(&other, h.port);
    (void)dx_raw_open(&c, h.port);
    (void)dx_raw_say(&c, GET("/v1/domain/gate.example/datasets/1/urls")); /* 100 - 25 */
    for (int i = 0; i < 6000 && dx_fake_listings(h.fake) == 0; i++)
        (void)usleep(10000);
    dx_raw_reset(&c);
    for (int i = 0; i < 6000 && dx_server_counts_of(h.server).open > 1; i++)
        (void)usleep(10000);
    CHECK(ask(&other, GET("/v1/domain/a.example"), &reply) == 200, "%d", reply.status);
    (void)usleep(50000); /* 2500 units */
    dx_fake_gate(h.fake, true);
    for (int i = 0; i < 20 && reply.status == 200; i++) {
        (void)usleep(20000);
        (void)ask(&other, GET("/v1/domain/a.example"), &reply);
    }
    CHECK(reply.status == 429, "%d: the work was for nothing", reply.status);
    dx_raw_close(&other);
    finish(&h);
}

static void test_connections(void)
{
    struct dx_fake_server h;
    struct dx_raw_reply reply;
    struct dx_raw c[8];

    start(&h, &(struct dx_admission_options){ .address_connections = 3 });
    for (int i = 0; i < 3; i++)
        CHECK(dx_raw_open(&c[i], h.port) && ask(&c[i], GET("/v1/domain/a.example"), &reply) == 200,
              "connection %d", i);
    for (int i = 3; i < 8; i++) {
        CHECK(dx_raw_open(&c[i], h.port) && dx_raw_ended(&c[i], 60000), "connection %d stays", i);
        dx_raw_close(&c[i]);
    }
    dx_raw_close(&c[0]);
    for (int i = 0; i < 12000 && dx_server_counts_of(h.server).open > 2; i++)
        (void)usleep(5000);
    CHECK(dx_raw_open(&c[0], h.port) && ask(&c[0], GET("/v1/domain/a.example"), &reply) == 200,
          "one in for one out: %s", c[0].fault);
    CHECK(dx_server_counts_of(h.server).admission.refused_connections == 5, "%llu counted",
          (unsigned long long)dx_server_counts_of(h.server).admission.refused_connections);
    for (int i = 0; i < 3; i++)
        dx_raw_close(&c[i]);
    finish(&h);
}

/* Of a proxy that is trusted nothing is counted. */
static void test_proxy(void)
{
    static struct dx_network local;
    struct dx_fake_server h;
    struct dx_raw_reply reply;
    struct dx_raw c[5];

    if (!dx_network_parse(dx_span_str("127.0.0.0/8"), &local))
        exit(1);
    start(&h, &(struct dx_admission_options){ .address_cost_per_s = 0.1,
                                              .address_burst = 2,
                                              .address_connections = 1,
                                              .proxies = &local,
                                              .proxy_count = 1 });
    for (int i = 0; i < 5; i++)
        CHECK(dx_raw_open(&c[i], h.port) && ask(&c[i], GET("/v1/domain/a.example"), &reply) == 200,
              "connection %d", i);
    for (int i = 0; i < 5; i++)
        dx_raw_close(&c[i]);
    finish(&h);
}

int main(void)
{
    test_bucket();
    test_kept();
    test_again();
    test_gone();
    test_connections();
    test_proxy();
    return failures > 0;
}
