/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct link {
    const struct dx_listener *listener;
    int fd;
};

bool dx_listener_send(int fd, const void *data, size_t n)
{
    for (const char *p = data; n > 0;) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Answers the whole heads among the size bytes; false: to be closed. */
static bool answer_heads(const struct link *l, char *head, size_t *size)
{
    char *end;

    while ((end = strstr(head, "\r\n\r\n")) != NULL) {
        size_t used = (size_t)(end - head) + 4;

        end[2] = '\0';
        if (!l->listener->head(l->listener->ctx, l->fd, head))
            return false;
        memmove(head, head + used, *size - used + 1);
        *size -= used;
    }
    return *size < DX_LISTENER_HEAD_MAX;
}

static void *serve(void *arg)
{
    struct link *l = arg;
    char head[DX_LISTENER_HEAD_MAX + 1];
    size_t size = 0;
    ssize_t n;

    while ((n = recv(l->fd, head + size, DX_LISTENER_HEAD_MAX - size, 0)) > 0) {
        size += (size_t)n;
        head[size] = '\0';
        if (!answer_heads(l, head, &size))
            break;
    }
    (void)close(l->fd);
    free(l);
    return NULL;
}

static void *take_connections(void *arg)
{
    const struct dx_listener *listener = arg;
    const int on = 1;
    int fd;

    while ((fd = accept(listener->fd, NULL, NULL)) >= 0) {
        struct link *l = malloc(sizeof *l);
        pthread_t thread;

        if (l == NULL)
            abort();
        if (listener->opened != NULL && !listener->opened(listener->ctx)) {
            (void)close(fd);
            free(l);
            continue;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        *l = (struct link){ listener, fd };
        if (pthread_create(&thread, NULL, serve, l) != 0)
            abort();
        (void)pthread_detach(thread);
    }
    return NULL;
}

void dx_listener_begin(struct dx_listener *l)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof at;
    pthread_t thread;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->fd < 0 || bind(l->fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(l->fd, 256) < 0 ||
        getsockname(l->fd, (struct sockaddr *)&at, &size) < 0)
        abort();
    l->port = ntohs(at.sin_port);
    if (pthread_create(&thread, NULL, take_connections, l) != 0)
        abort();
    (void)pthread_detach(thread);
}

void dx_listener_end(struct dx_listener *l)
{
    (void)shutdown(l->fd, SHUT_RDWR);
}
