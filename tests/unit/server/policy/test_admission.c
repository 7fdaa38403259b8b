/* SPDX-License-Identifier: Apache-2.0
 * test_admission.c - what an address, a principal and a list may take, by a table of takes and times; under threads.
 */
#include "server/policy/admission.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fail.h"
#include "tests/support/sample.h"

static int failures;

static struct dx_admission *make(const struct dx_admission_options *options)
{
    struct dx_admission *a;
    struct dx_error err = DX_ERROR_INIT;

    if (dx_admission_new(&a, options, 0x1234, &err) < 0) {
        printf("%s\n", err.text);
        exit(1);
    }
    return a;
}

static struct dx_address v4(uint32_t n)
{
    return (struct dx_address){ { [10] = 0xff,
                                  [11] = 0xff,
                                  [12] = (uint8_t)(n >> 24),
                                  [13] = (uint8_t)(n >> 16),
                                  [14] = (uint8_t)(n >> 8),
                                  [15] = (uint8_t)n } };
}

static struct dx_address v6(uint32_t network, uint32_t host)
{
    struct dx_address a = { { 0x20, 0x01, 0x0d, 0xb8 } };

    memcpy(a.bytes + 4, &network, sizeof network);
    memcpy(a.bytes + 12, &host, sizeof host);
    return a;
}

static const struct dx_admission_options by_address = { .address_cost_per_s = 10,
                                                        .address_burst = 20,
                                                        .addresses_max = 1024 };

/* One address asks as the rows say, one after the other. */
static void test_bucket(void)
{
    static const struct {
        int64_t at_ms;
        double cost;
        bool taken;
        unsigned wait_s;
        const char *why;
    } rows[] = {
        { 1000, 1, true, 0, "a new one is full: 20" },
        { 1000, 18, true, 0, "19 left" },
        { 1000, 100, true, 0, "1 left: taken, into debt" },
        { 1000, 1, false, 10, "-99: ten seconds and a little" },
        { 1000, 0, true, 0, "what costs nothing is always taken" },
        { 5000, 1, false, 6, "-59" },
        { 500, 1, false, 6, "time that goes back pays nothing" },
        { 5000, 1, false, 6, "nor does it when it comes again" },
        { 10900, 1, false, 1, "exactly empty" },
        { 11000, 2, true, 0, "1 left" },
        { 11000, 1, false, 1, "-1" },
        { 9000000, 20, true, 0, "full, not fuller" },
        { 9000000, 1, false, 1, "empty" },
        { 9000000, -5, true, 0, "a cost below 0 is none" },
        { 9000000, 1, false, 1, "and gives nothing" },
        { 9000100, 1e9, true, 0, "1 left" },
        { 9000100, 1, false, DX_ADMISSION_DEBT_S, "a debt has an end" },
        { 9000100 + 1000 * (int64_t)DX_ADMISSION_DEBT_S + 1, 1, true, 0, "and is paid then" },
    };
    struct dx_admission *a = make(&by_address);
    const struct dx_who who = { .principal = NULL, .address = v4(0x7f000001) };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned wait_s = 77;
        bool taken = dx_admission_take(a, &who, rows[i].cost, rows[i].at_ms, &wait_s);

        CHECK(taken == rows[i].taken && wait_s == rows[i].wait_s, "%zu: %s: %d, wait %u", i,
              rows[i].why, taken, wait_s);
    }
    dx_admission_free(&a);
}

static void test_more(void)
{
    struct dx_admission *a = make(&by_address);
    const struct dx_who who = { .principal = NULL, .address = v4(1) };
    unsigned wait_s;

    CHECK(dx_admission_take(a, &who, 1, 0, &wait_s), "a new one");
    dx_admission_more(a, &who, 49, 0);
    CHECK(!dx_admission_take(a, &who, 1, 0, &wait_s) && wait_s == 4, "-30: wait %u", wait_s);
    dx_admission_free(&a);
}

static unsigned taken_of(struct dx_admission *a, const struct dx_who *who, unsigned times)
{
    unsigned wait_s;
    unsigned n = 0;

    for (unsigned i = 0; i < times; i++)
        n += dx_admission_take(a, who, 1, 0, &wait_s);
    return n;
}

/* Which clients share a bucket, and which have none. */
static void test_whose(void)
{
    struct dx_admission *a = make(&by_address);
    const struct dx_address local = { { 0 } };

    CHECK(taken_of(a, &(struct dx_who){ .principal = NULL, .address = v4(1) }, 30) == 20,
          "an address of IPv4");
    CHECK(taken_of(a, &(struct dx_who){ .principal = NULL, .address = v4(2) }, 30) == 20,
          "its neighbour");
    CHECK(taken_of(a, &(struct dx_who){ .principal = NULL, .address = v6(1, 1) }, 15) == 15,
          "an address of IPv6");
    CHECK(taken_of(a, &(struct dx_who){ .principal = NULL, .address = v6(1, 2) }, 15) == 5,
          "the same network");
    CHECK(taken_of(a, &(struct dx_who){ .principal = NULL, .address = v6(2, 1) }, 15) == 15,
          "the next network");
    CHECK(taken_of(a, &(struct dx_who){ .principal = NULL, .address = local }, 100) == 100,
          "a local socket");
    dx_admission_free(&a);
}

static void test_principals(void)
{
    static const struct dx_principal plain = { .name = "plain" };
    static const struct dx_principal rich = { .name = "rich", .cost_per_s = 50, .cost_burst = 60 };
    static const struct dx_principal anonymous = { .name = "anonymous" };
    static const struct dx_principal poor_anonymous = { .name = "anonymous",
                                                        .cost_per_s = 1,
                                                        .cost_burst = 2 };
    const struct dx_admission_options options = { .address_cost_per_s = 10,
                                                  .address_burst = 100,
                                                  .principal_cost_per_s = 5,
                                                  .principal_burst = 7,
                                                  .addresses_max = 1024 };
    struct dx_admission *a = make(&options);
    struct dx_admission_counts counts;
    unsigned wait_s;

    CHECK(taken_of(a, &(struct dx_who){ .principal = &plain, .address = v4(1) }, 10) == 7,
          "the server's burst");
    CHECK(taken_of(a, &(struct dx_who){ .principal = &plain, .address = v4(2) }, 10) == 0,
          "from another address");
    CHECK(taken_of(a, &(struct dx_who){ .principal = &rich, .address = v4(2) }, 90) == 60,
          "the table's burst");
    CHECK(taken_of(a, &(struct dx_who){ .principal = &anonymous, .address = v4(3) }, 110) == 100,
          "anonymous has none");
    CHECK(taken_of(a, &(struct dx_who){ .principal = &poor_anonymous, .address = v4(4) }, 9) == 2,
          "unless it is given one");
    dx_admission_counts_read(a, &counts);
    CHECK(counts.refused_address == 10 && counts.refused_principal == 3 + 10 + 30 + 7 &&
              counts.addresses == 4,
          "%llu, %llu refused, %llu addresses", (unsigned long long)counts.refused_address,
          (unsigned long long)counts.refused_principal, (unsigned long long)counts.addresses);
    /* What a principal was refused has cost its address nothing: 100 - 7 are left. */
    CHECK(taken_of(a, &(struct dx_who){ .principal = NULL, .address = v4(1) }, 110) == 93,
          "what the address paid");
    CHECK(dx_admission_take(a, &(struct dx_who){ .principal = &plain, .address = v4(9) }, 1, 2000,
                            &wait_s),
          "paid after two seconds");
    dx_admission_free(&a);
}

/* A million addresses, and one that owes: memory has an end, and the debt is not forgotten for
 * them. */
static void test_many_addresses(void)
{
    struct dx_admission *a = make(&by_address);
    const size_t times = dx_sample(DX_ROUNDS(1000000, 200000), DX_ROUNDS(200000, 50000));
    const struct dx_who debtor = { .principal = NULL, .address = v4(0xc0000201) };
    struct dx_admission_counts counts;
    unsigned wait_s;
    unsigned refused = 0;

    CHECK(dx_admission_take(a, &debtor, 1e4, 0, &wait_s), "a new one");
    for (uint32_t i = 0; i < times; i++) {
        const struct dx_who who = { .principal = NULL, .address = i % 2 == 0 ? v4(i) : v6(i, 1) };

        refused += !dx_admission_take(a, &who, 1, i / 1000, &wait_s);
    }
    CHECK(refused == 0, "%u new ones were refused", refused);
    CHECK(!dx_admission_take(a, &debtor, 1, 1000, &wait_s), "the debt was forgotten");
    dx_admission_counts_read(a, &counts);
    CHECK(counts.addresses <= by_address.addresses_max && counts.addresses > 1000,
          "%llu addresses are remembered", (unsigned long long)counts.addresses);
    dx_admission_free(&a);
}

static void test_connections(void)
{
    const struct dx_admission_options options = { .address_connections = 3, .addresses_max = 1024 };
    struct dx_admission *a = make(&options);
    struct dx_address one = v4(1);
    struct dx_address local = { { 0 } };
    struct dx_admission_counts counts;

    for (unsigned i = 0; i < 5; i++)
        CHECK(dx_admission_connect(a, &one) == (i < 3), "connection %u", i);
    for (uint32_t i = 0; i < DX_ROUNDS(100000, 20000);
         i++) { /* they come and go: the count stays */
        struct dx_address other = v6(i, 0);

        CHECK(dx_admission_connect(a, &other), "another address");
        dx_admission_gone(a, &other);
    }
    CHECK(!dx_admission_connect(a, &one), "the count was forgotten");
    dx_admission_gone(a, &one);
    CHECK(dx_admission_connect(a, &one) && !dx_admission_connect(a, &one), "one in for one out");
    for (unsigned i = 0; i < 10; i++)
        dx_admission_gone(a, &one);
    for (unsigned i = 0; i < 5; i++)
        CHECK(dx_admission_connect(a, &one) == (i < 3), "after too many ends, connection %u", i);
    for (unsigned i = 0; i < 9; i++)
        CHECK(dx_admission_connect(a, &local), "a local socket has no cap");
    dx_admission_counts_read(a, &counts);
    CHECK(counts.refused_connections == 2 + 1 + 1 + 2, "%llu refused",
          (unsigned long long)counts.refused_connections);
    dx_admission_free(&a);
}

static void test_streams(void)
{
    const struct dx_admission_options options = { .address_streams = 3,
                                                  .principal_streams = 2,
                                                  .principal_cost_per_s = 1,
                                                  .addresses_max = 1024 };
    static const struct dx_principal p = { .name = "p" }, q = { .name = "q" };
    static const struct dx_principal anonymous = { .name = "anonymous" };
    const struct {
        struct dx_who who;
        bool begins;
    } rows[] = {
        { { .principal = &p, .address = v4(1) }, true }, /* 0 */
        { { .principal = &p, .address = v4(2) }, true },
        { { .principal = &p, .address = v4(3) }, false }, /* p has two */
        { { .principal = &q, .address = v4(1) }, true },
        { { .principal = &anonymous, .address = v4(1) }, true },
        { { .principal = &q, .address = v4(1) }, false }, /* v4(1) has three; q is not counted */
        { { .principal = &q, .address = v4(4) }, true },
        { { .principal = &q, .address = v4(5) }, false },
        { { .principal = &anonymous, .address = v4(3) }, true },
        { { .principal = NULL, .address = v4(3) }, true },
        { { .principal = NULL, .address = v4(3) }, true }, /* the refused one of p is not counted */
        { { .principal = NULL, .address = v4(3) }, false },
        { { .principal = NULL, .address = { { 0 } } }, true },
    };
    struct dx_admission_stream streams[sizeof rows / sizeof *rows];
    struct dx_admission *a = make(&options);
    struct dx_admission_counts counts;
    unsigned wait_s;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(dx_admission_stream_begin(a, &rows[i].who, &streams[i]) == rows[i].begins, "row %zu",
              i);
    dx_admission_counts_read(a, &counts);
    CHECK(counts.refused_address_streams == 2 && counts.refused_principal_streams == 2,
          "%llu and %llu refused", (unsigned long long)counts.refused_address_streams,
          (unsigned long long)counts.refused_principal_streams);
    CHECK(dx_admission_take(a, &rows[0].who, 10, 0, &wait_s), "a bucket that counts is full");
    for (unsigned n = 0; n < 3; n++) /* once is enough */
        dx_admission_stream_end(a, &streams[0]);
    CHECK(dx_admission_stream_begin(a, &rows[0].who, &streams[0]), "one in for one out");
    CHECK(!dx_admission_stream_begin(a, &rows[2].who, &streams[2]), "and not two");
    dx_admission_free(&a);
}

/* ---- threads ---- */

enum { THREADS = 4, TAKES = DX_ROUNDS(100000, 50000) };

struct taker {
    struct dx_admission *a;
    unsigned taken;
};

static void *take_shared(void *argument)
{
    static const struct dx_principal p = { .name = "p", .cost_per_s = 1e-3, .cost_burst = 150000 };
    struct taker *t = argument;
    unsigned wait_s;

    for (uint32_t i = 0; i < TAKES; i++) {
        const struct dx_who who = { .principal = &p, .address = v4(i % 1000) };
        struct dx_address address = v6(i % 100, 0);

        t->taken += dx_admission_take(t->a, &who, 1, 0, &wait_s);
        if (dx_admission_connect(t->a, &address))
            dx_admission_gone(t->a, &address);
    }
    return NULL;
}

/* No unit is given out twice, and none is lost. */
static void test_threads(void)
{
    const struct dx_admission_options options = { .address_cost_per_s = 1,
                                                  .address_burst = 1e6,
                                                  .address_connections = 1000,
                                                  .addresses_max = 4096 };
    struct dx_admission *a = make(&options);
    pthread_t threads[THREADS];
    struct taker takers[THREADS];
    unsigned taken = 0;

    for (size_t i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){ a, 0 };
        if (pthread_create(&threads[i], NULL, take_shared, &takers[i]) != 0)
            exit(1);
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        taken += takers[i].taken;
    }
    CHECK(taken == 150000, "%u of 150000 units were taken", taken);
    dx_admission_free(&a);
}

int main(void)
{
    test_bucket();
    test_more();
    test_whose();
    test_principals();
    test_many_addresses();
    test_connections();
    test_streams();
    test_threads();
    return failures > 0;
}
