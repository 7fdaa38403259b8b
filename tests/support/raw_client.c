/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

bool dx_raw_open(struct dx_raw *c, int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    *c = (struct dx_raw){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    dx_buf_init(&c->in, (size_t)64 << 20);
    if (c->fd >= 0 && connect(c->fd, (struct sockaddr *)&address, sizeof address) == 0)
        return true;
    dx_raw_close(c);
    return false;
}

bool dx_raw_send(struct dx_raw *c, const void *data, size_t size)
{
    const uint8_t *from = data;

    while (size > 0) {
        ssize_t n = send(c->fd, from, size, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
    }
    return true;
}

bool dx_raw_say(struct dx_raw *c, const char *text)
{
    return dx_raw_send(c, text, strlen(text));
}

static long now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 1 more bytes, 0 end, -1 nothing in time, -2 reset */
static int more(struct dx_raw *c, long until)
{
    struct pollfd p = { c->fd, POLLIN, 0 };
    long left = until - now_ms();
    uint8_t *to;
    ssize_t n;

    if (poll(&p, 1, left > 0 ? (int)left : 0) <= 0)
        return -1;
    to = dx_buf_reserve(&c->in, 65536);
    if (to == NULL)
        abort();
    n = recv(c->fd, to, 65536, 0);
    if (n < 0)
        return -2;
    c->in.size += (size_t)n;
    return n > 0;
}

static bool fail(struct dx_raw *c, const char *fault)
{
    c->fault = fault;
    return false;
}

/* Value of a field in the head, NULL if it is not there; *twice if it is there again. */
static const char *field(const char *head, const char *name, bool *twice)
{
    const char *found = NULL;

    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        size_t n = strlen(name);

        if (strncasecmp(line + 2, name, n) == 0 && line[2 + n] == ':') {
            *twice = *twice || found != NULL;
            found = line + 2 + n + 2;
        }
    }
    return found;
}

static bool check_head(struct dx_raw *c, struct dx_raw_reply *r)
{
    static const char *const known[] = { "Date",
                                         "Content-Type",
                                         "Content-Length",
                                         "Content-Disposition",
                                         "Cache-Control",
                                         "ETag",
                                         "Vary",
                                         "X-Content-Type-Options",
                                         "Content-Security-Policy",
                                         "X-Domaindex-Version",
                                         "Allow",
                                         "Retry-After",
                                         "Connection" };
    unsigned fields = 0;
    unsigned counted = 0;
    bool twice = false;

    if (strncmp(r->head, "HTTP/1.1 ", 9) != 0 || sscanf(r->head + 9, "%3d ", &r->status) != 1)
        return fail(c, "no status line");
    for (const char *p = r->head; *p != '\0'; p++) {
        if ((*p == '\n') != (p > r->head && p[-1] == '\r'))
            return fail(c, "bare CR or LF in a head");
        counted += *p == '\n';
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        fields += field(r->head, known[i], &twice) != NULL;
    if (twice)
        return fail(c, "a header twice");
    if (fields + 1 != counted)
        return fail(c, "a header nobody knows");
    if (field(r->head, "Date", &twice) == NULL ||
        field(r->head, "X-Content-Type-Options", &twice) == NULL)
        return fail(c, "Date or nosniff missing");
    r->close = field(r->head, "Connection", &twice) != NULL;
    return true;
}

bool dx_raw_reply(struct dx_raw *c, bool is_head, struct dx_raw_reply *r, int timeout_ms)
{
    long until = now_ms() + timeout_ms;
    size_t head_size;
    size_t body_size = 0;
    bool twice = false;
    const char *length;
    uint8_t *end;
    int got = 1;

    *r = (struct dx_raw_reply){ .status = 0 };
    /* What was returned is over: a client that asks again and again needs no more room for it. */
    if (c->taken > 0) {
        memmove(c->in.data, c->in.data + c->taken, c->in.size - c->taken);
        c->in.size -= c->taken;
        c->taken = 0;
    }
    while ((end = c->in.size - c->taken < 4 ? NULL
                                            : memmem(c->in.data + c->taken, c->in.size - c->taken,
                                                     "\r\n\r\n", 4)) == NULL)
        if ((got = more(c, until)) != 1)
            return fail(c, got == 0 ? "closed" : got == -1 ? "nothing in time" : "reset");
    head_size = (size_t)(end - (c->in.data + c->taken)) + 4;
    if (head_size - 2 >= sizeof r->head)
        return fail(c, "the head is too long");
    memcpy(r->head, c->in.data + c->taken, head_size - 2);
    if (!check_head(c, r))
        return false;
    length = field(r->head, "Content-Length", &twice);
    if ((length == NULL) != (r->status == 304))
        return fail(c, "Content-Length is missing, or stands in a 304");
    if (length != NULL && !is_head)
        body_size = strtoul(length, NULL, 10);
    while (c->in.size - c->taken < head_size + body_size)
        if (more(c, until) != 1)
            return fail(c, "the body ends early");
    r->body = (struct dx_span){ c->in.data + c->taken + head_size, body_size };
    c->taken += head_size + body_size;
    if (body_size > 0 && r->body.data[0] != '{')
        return fail(c, "the body is no JSON object");
    return true;
}

bool dx_raw_ended(struct dx_raw *c, int timeout_ms)
{
    long until = now_ms() + timeout_ms;
    int got;

    if (c->taken < c->in.size)
        return fail(c, "more bytes than replies");
    got = more(c, until);
    if (got == 1)
        return fail(c, "more bytes than replies");
    return got == 0 || fail(c, got == -1 ? "still open" : "reset");
}

void dx_raw_close(struct dx_raw *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    dx_buf_release(&c->in);
}

void dx_raw_reset(struct dx_raw *c)
{
    struct linger now = { 1, 0 };

    (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    dx_raw_close(c);
}

bool dx_raw_body_has(const struct dx_raw_reply *r, const char *text)
{
    return r->body.size > 0 && memmem(r->body.data, r->body.size, text, strlen(text)) != NULL;
}
