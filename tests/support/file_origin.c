/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/file_origin.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_MAX 8192

struct link {
    struct dx_file_origin *origin;
    int fd;
};

static void send_all(int fd, const void *data, size_t n)
{
    const char *p = data;

    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        p += sent;
        n -= (size_t)sent;
    }
}

static void etag_of(const struct stat *st, char etag[64])
{
    (void)snprintf(etag, 64, "\"%llx-%llx-%lx\"", (unsigned long long)st->st_ino,
                   (unsigned long long)st->st_mtim.tv_sec, (unsigned long)st->st_mtim.tv_nsec);
}

bool dx_file_origin_etag(const struct dx_file_origin *o, const char *name, char etag[64])
{
    char path[1024];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/%s", o->folder, name);
    if (stat(path, &st) < 0)
        return false;
    etag_of(&st, etag);
    return true;
}

/* The value of a field of the head, to the end of its line; NULL: none. */
static const char *field(const char *head, const char *name)
{
    const char *at = strcasestr(head, name);

    return at == NULL ? NULL : at + strlen(name);
}

static bool field_is(const char *head, const char *name, const char *value)
{
    const char *at = field(head, name);

    return at != NULL && strncmp(at, value, strlen(value)) == 0;
}

static void decode(const char *from, char *to, size_t room)
{
    size_t n = 0;

    for (; *from != '\0' && *from != ' ' && n + 1 < room; from++) {
        unsigned byte;

        if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
            to[n++] = (char)byte;
            from += 2;
        } else {
            to[n++] = *from;
        }
    }
    to[n] = '\0';
}

static void send_bytes(int to, int fd, unsigned long long first, unsigned long long count)
{
    char *body = malloc(count + 1);

    if (body == NULL || pread(fd, body, count, (off_t)first) != (ssize_t)count)
        abort();
    send_all(to, body, count);
    free(body);
}

static void send_status(int to, const char *status)
{
    char head[128];
    int n = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);

    send_all(to, head, (size_t)n);
}

static void send_file(struct link *l, const char *head, int fd, const struct stat *st)
{
    unsigned long long total = (unsigned long long)st->st_size;
    const char *range = field(head, "\r\nRange: bytes=");
    unsigned long long first = 0;
    unsigned long long last = total - 1;
    char etag[64];
    char reply[400];
    int n;

    etag_of(st, etag);
    if (field(head, "\r\nIf-Match: ") != NULL && !field_is(head, "\r\nIf-Match: ", etag)) {
        atomic_fetch_add(&l->origin->refused, 1);
        send_status(l->fd, "412 Precondition Failed");
        return;
    }
    if (field_is(head, "\r\nIf-None-Match: ", etag)) {
        atomic_fetch_add(&l->origin->not_modified, 1);
        n = snprintf(reply, sizeof reply, "HTTP/1.1 304 Not Modified\r\nETag: %s\r\n\r\n", etag);
        send_all(l->fd, reply, (size_t)n);
        return;
    }
    if (range != NULL && sscanf(range, "%llu-%llu", &first, &last) >= 1 && first >= total) {
        send_status(l->fd, "416 Range Not Satisfiable");
        return;
    }
    if (last >= total)
        last = total - 1;
    n = snprintf(reply, sizeof reply, "HTTP/1.1 %s\r\nETag: %s\r\nContent-Length: %llu\r\n",
                 range != NULL ? "206 Partial Content" : "200 OK", etag,
                 total == 0 ? 0 : last - first + 1);
    send_all(l->fd, reply, (size_t)n);
    if (range != NULL) {
        n = snprintf(reply, sizeof reply, "Content-Range: bytes %llu-%llu/%llu\r\n", first, last,
                     total);
        send_all(l->fd, reply, (size_t)n);
    }
    send_all(l->fd, "\r\n", 2);
    if (total > 0)
        send_bytes(l->fd, fd, first, last - first + 1);
}

static void answer(struct link *l, const char *head)
{
    char name[1024];
    char path[1400];
    struct stat st;
    int fd;

    atomic_fetch_add(&l->origin->requests, 1);
    if (strncmp(head, "GET /", 5) != 0) {
        send_status(l->fd, "405 Method Not Allowed");
        return;
    }
    decode(head + 5, name, sizeof name);
    (void)snprintf(path, sizeof path, "%s/%s", l->origin->folder, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        send_status(l->fd, "404 Not Found");
    else
        send_file(l, head, fd, &st);
    if (fd >= 0)
        (void)close(fd);
}

static void *serve(void *arg)
{
    struct link *l = arg;
    char head[HEAD_MAX + 1];
    size_t size = 0;
    ssize_t n;

    while ((n = recv(l->fd, head + size, HEAD_MAX - size, 0)) > 0 && !l->origin->down) {
        char *end;

        size += (size_t)n;
        head[size] = '\0';
        while ((end = strstr(head, "\r\n\r\n")) != NULL) {
            size_t used = (size_t)(end - head) + 4;

            end[2] = '\0';
            answer(l, head);
            memmove(head, head + used, size - used + 1);
            size -= used;
        }
        if (size == HEAD_MAX)
            break;
    }
    (void)close(l->fd);
    free(l);
    return NULL;
}

static void *listen_on(void *arg)
{
    struct dx_file_origin *o = arg;
    const int on = 1;
    int fd;

    while ((fd = accept(o->fd, NULL, NULL)) >= 0) {
        struct link *l = malloc(sizeof *l);
        pthread_t thread;

        if (l == NULL)
            abort();
        if (o->down) {
            (void)close(fd);
            free(l);
            continue;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        *l = (struct link){ o, fd };
        if (pthread_create(&thread, NULL, serve, l) != 0)
            abort();
        (void)pthread_detach(thread);
    }
    return NULL;
}

struct dx_file_origin *dx_file_origin_new(const char *folder)
{
    struct dx_file_origin *o = calloc(1, sizeof *o);
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    pthread_t thread;

    if (o == NULL)
        abort();
    (void)snprintf(o->folder, sizeof o->folder, "%s", folder);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    o->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (o->fd < 0 || bind(o->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(o->fd, 100) < 0 || getsockname(o->fd, (struct sockaddr *)&address, &size) < 0 ||
        pthread_create(&thread, NULL, listen_on, o) != 0)
        abort();
    (void)pthread_detach(thread);
    (void)snprintf(o->url, sizeof o->url, "http://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    return o;
}

/* The struct stays: threads of open connections have it. */
static struct dx_file_origin *_Atomic through;

void dx_file_origin_free(struct dx_file_origin **o)
{
    (*o)->down = true;
    (void)shutdown((*o)->fd, SHUT_RDWR);
    (*o)->next = through;
    through = *o;
    *o = NULL;
}
