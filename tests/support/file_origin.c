/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/file_origin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    (void)dx_listener_send(to, body, count);
    free(body);
}

static void send_status(int to, const char *status)
{
    char head[128];
    int n = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);

    (void)dx_listener_send(to, head, (size_t)n);
}

static void send_file(struct dx_file_origin *o, int to, const char *head, int fd,
                      const struct stat *st)
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
        atomic_fetch_add(&o->refused, 1);
        send_status(to, "412 Precondition Failed");
        return;
    }
    if (field_is(head, "\r\nIf-None-Match: ", etag)) {
        atomic_fetch_add(&o->not_modified, 1);
        n = snprintf(reply, sizeof reply, "HTTP/1.1 304 Not Modified\r\nETag: %s\r\n\r\n", etag);
        (void)dx_listener_send(to, reply, (size_t)n);
        return;
    }
    if (range != NULL && sscanf(range, "%llu-%llu", &first, &last) >= 1 && first >= total) {
        send_status(to, "416 Range Not Satisfiable");
        return;
    }
    if (last >= total)
        last = total - 1;
    n = snprintf(reply, sizeof reply, "HTTP/1.1 %s\r\nETag: %s\r\nContent-Length: %llu\r\n",
                 range != NULL ? "206 Partial Content" : "200 OK", etag,
                 total == 0 ? 0 : last - first + 1);
    (void)dx_listener_send(to, reply, (size_t)n);
    if (range != NULL) {
        n = snprintf(reply, sizeof reply, "Content-Range: bytes %llu-%llu/%llu\r\n", first, last,
                     total);
        (void)dx_listener_send(to, reply, (size_t)n);
    }
    (void)dx_listener_send(to, "\r\n", 2);
    if (total > 0)
        send_bytes(to, fd, first, last - first + 1);
}

static bool is_up(void *ctx)
{
    return !((struct dx_file_origin *)ctx)->down;
}

static bool answer(void *ctx, int to, const char *head)
{
    struct dx_file_origin *o = ctx;
    char name[1024];
    char path[1400];
    struct stat st;
    int fd;

    if (o->down)
        return false;
    atomic_fetch_add(&o->requests, 1);
    if (strncmp(head, "GET /", 5) != 0) {
        send_status(to, "405 Method Not Allowed");
        return true;
    }
    decode(head + 5, name, sizeof name);
    (void)snprintf(path, sizeof path, "%s/%s", o->folder, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        send_status(to, "404 Not Found");
    else
        send_file(o, to, head, fd, &st);
    if (fd >= 0)
        (void)close(fd);
    return true;
}

struct dx_file_origin *dx_file_origin_new(const char *folder)
{
    struct dx_file_origin *o = calloc(1, sizeof *o);

    if (o == NULL)
        abort();
    (void)snprintf(o->folder, sizeof o->folder, "%s", folder);
    o->listener = (struct dx_listener){ .head = answer, .opened = is_up, .ctx = o };
    dx_listener_begin(&o->listener);
    (void)snprintf(o->url, sizeof o->url, "http://127.0.0.1:%u", o->listener.port);
    return o;
}

/* The struct stays: threads of open connections have it. */
static struct dx_file_origin *_Atomic through;

void dx_file_origin_free(struct dx_file_origin **o)
{
    (*o)->down = true;
    dx_listener_end(&(*o)->listener);
    (*o)->next = through;
    through = *o;
    *o = NULL;
}
