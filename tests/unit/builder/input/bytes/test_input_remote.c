/* SPDX-License-Identifier: Apache-2.0
 * test_input_remote.c - the bytes of a server that cuts, at lengths around those of the ranges. Real stores: tests/e2e/ingest_s3.py.
 */
#include "builder/input/bytes/input_remote.h"

#include "builder/input/bytes/input_ranges.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/fail.h"
#include "tests/support/listener.h"

static int failures;

/* ---- a server ---- */

enum behaviour {
    HONEST,
    ENDS_EARLY,  /* ranges behind the first: of an object that ends within them */
    GONE_EARLY,  /* ranges behind the first: 416 */
    CUT,         /* ranges behind the first: the connection ends within the body */
    OTHER_TOTAL, /* ranges behind the first: of an object that is longer */
    CUT_SMALL,   /* a whole object: the connection ends within the body */
};

static bool answer(void *ctx, int fd, const char *request);

static struct {
    struct dx_listener listener;
    _Atomic enum behaviour behaviour;
    atomic_ullong total;
    atomic_uint requests;
} server = { .listener = { .head = answer } };

static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(i * 7 + (i >> 8) + 3);
}

#define CYCLE 65536u /* bytes after which they come again */

static uint8_t cycle[2 * CYCLE];

static bool send_bytes(int fd, uint64_t from, uint64_t n)
{
    while (n > 0) {
        size_t take = n < CYCLE ? (size_t)n : CYCLE;

        if (!dx_listener_send(fd, cycle + from % CYCLE, take))
            return false;
        from += take;
        n -= take;
    }
    return true;
}

static bool answer(void *ctx, int fd, const char *request)
{
    const char *range = strstr(request, "Range: bytes=");
    unsigned long long total = server.total;
    unsigned long long first = 0;
    unsigned long long last = 0;
    unsigned long long size;
    char head[300];
    bool later;

    (void)ctx;
    atomic_fetch_add(&server.requests, 1);
    if (range == NULL) {
        size = server.behaviour == CUT_SMALL ? total / 2 : total;
        (void)snprintf(head, sizeof head,
                       "HTTP/1.1 200 OK\r\nETag: \"v\"\r\nContent-Length: %llu\r\n\r\n", total);
        return dx_listener_send(fd, head, strlen(head)) && send_bytes(fd, 0, size) && size == total;
    }
    if (sscanf(range, "Range: bytes=%llu-%llu", &first, &last) != 2)
        return false;
    later = first > 0;
    if (later && server.behaviour == OTHER_TOTAL)
        total += 1;
    if (later && server.behaviour == ENDS_EARLY)
        total = last = last - 5;
    if (last >= total)
        last = total - 1;
    if (first >= total || (later && server.behaviour == GONE_EARLY)) {
        (void)snprintf(head, sizeof head, "HTTP/1.1 416 x\r\nContent-Length: 0\r\n\r\n");
        return dx_listener_send(fd, head, strlen(head));
    }
    size = last - first + 1;
    (void)snprintf(head, sizeof head,
                   "HTTP/1.1 206 x\r\nETag: \"v\"\r\nContent-Range: bytes %llu-%llu/%llu\r\n"
                   "Content-Length: %llu\r\n\r\n",
                   first, last, total, size);
    if (later && server.behaviour == CUT)
        return dx_listener_send(fd, head, strlen(head)) && send_bytes(fd, first, size / 2) && false;
    return dx_listener_send(fd, head, strlen(head)) && send_bytes(fd, first, size);
}

/* ---- reading ---- */

/* Bytes that came, all of them right; negative: the error at the end. */
static int64_t read_all(const char *url, struct dx_error *err)
{
    static uint8_t part[256 * 1024];
    struct dx_input_remote *r = NULL;
    uint64_t n = 0;
    ssize_t got;
    int rc = dx_input_remote_open(&r, url, err);

    if (rc < 0)
        return rc;
    while ((got = dx_input_remote_read(r, part, sizeof part, err)) > 0) {
        for (size_t i = 0; i < (size_t)got; i += CYCLE)
            if (memcmp(part + i, cycle + (n + i) % CYCLE,
                       (size_t)got - i < CYCLE ? (size_t)got - i : CYCLE) != 0) {
                FAIL("%s: a wrong byte from %llu on", url, (unsigned long long)(n + i));
                break;
            }
        n += (uint64_t)got;
        if (dx_input_remote_total(r) != server.total)
            FAIL("%s: has %llu bytes", url, (unsigned long long)dx_input_remote_total(r));
    }
    dx_input_remote_close(&r);
    return got < 0 ? got : (int64_t)n;
}

static void test_bytes(void)
{
#define C DX_INPUT_CHUNK
    static const struct {
        enum behaviour behaviour;
        unsigned long long total;
        unsigned requests; /* 0: any number */
        bool error;
    } rows[] = {
        { HONEST, 0, 1, false },
        { HONEST, 100, 1, false },
        { HONEST, C, 1, false },
        { HONEST, C + 1ull, 4, false },
        { HONEST, 2ull * C, 4, false },
        { HONEST, 6ull * C, 0, false },
        { HONEST, 6ull * C + 777, 0, false },
        { ENDS_EARLY, 3ull * C + 9, 0, true },
        { GONE_EARLY, 3ull * C + 9, 0, true },
        { CUT, C + 9999ull, 0, true },
        { OTHER_TOTAL, 3ull * C + 9, 0, true },
        { CUT_SMALL, 5000, 0, true },
    };
    char url[100];

    dx_listener_begin(&server.listener);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/root/object", server.listener.port);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        int64_t got;

        server.behaviour = rows[i].behaviour;
        server.total = rows[i].total;
        atomic_store(&server.requests, 0);
        got = read_all(url, &err);
        if (rows[i].error ? got >= 0 || strstr(err.text, url) == NULL
                          : got < 0 || (unsigned long long)got != rows[i].total)
            FAIL("row %zu: %lld bytes of %llu: %s", i, (long long)got, rows[i].total, err.text);
        if (rows[i].requests != 0 && atomic_load(&server.requests) != rows[i].requests)
            FAIL("row %zu: %u requests", i, atomic_load(&server.requests));
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof cycle; i++)
        cycle[i] = byte_at(i);
    test_bytes();
    return failures == 0 ? 0 : 1;
}
