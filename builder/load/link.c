/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/link.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include "builder/load/tls_client.h"

int dx_address_parse(const char *text, struct dx_address *out, struct dx_error *err)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                              .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const char *colon = strrchr(text, ':');
    char host[64];
    size_t n = colon == NULL ? 0 : (size_t)(colon - text);
    bool bracket = n > 2 && text[0] == '[' && text[n - 1] == ']';

    if (n == 0 || n >= sizeof(host) || colon[1] == '\0')
        return dx_fail(err, DX_E_INVALID, "%s: not ADDRESS:PORT", text);
    memcpy(host, text + bracket, n - 2 * bracket);
    host[n - 2 * bracket] = '\0';
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return dx_fail(err, DX_E_INVALID, "%s: not ADDRESS:PORT in numbers", text);
    memcpy(&out->storage, found->ai_addr, found->ai_addrlen);
    out->size = found->ai_addrlen;
    freeaddrinfo(found);
    return DX_OK;
}

int dx_address_local(const char *path, struct dx_address *out, struct dx_error *err)
{
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    const size_t size = strlen(path);

    if (size == 0 || size >= sizeof local.sun_path)
        return dx_fail(err, DX_E_INVALID, "%s: the path of a socket has 1 to %zu bytes", path,
                       sizeof local.sun_path - 1);
    memcpy(local.sun_path, path, size + 1);
    memcpy(&out->storage, &local, sizeof local);
    out->size = sizeof local;
    return DX_OK;
}

int dx_link_open(struct dx_link *l, const struct dx_address *to, const struct dx_tls_client *tls,
                 struct dx_error *err)
{
    int one = 1;

    dx_link_close(l);
    l->fd = socket(to->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0)
        return dx_fail_errno(err, errno, "socket");
    if (to->storage.ss_family != AF_UNIX)
        (void)setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (tls != NULL && (l->ssl = dx_tls_client_ssl(tls, l->fd, err)) == NULL) {
        dx_link_close(l);
        return DX_E_NOMEM;
    }
    l->events = EPOLLOUT;
    if (connect(l->fd, (const struct sockaddr *)&to->storage, to->size) != 0 &&
        errno != EINPROGRESS) {
        (void)dx_fail_errno(err, errno, "connect");
        dx_link_close(l);
        return DX_E_IO;
    }
    return 0;
}

void dx_link_close(struct dx_link *l)
{
    uint64_t received = l->received;

    SSL_free(l->ssl); /* without close_notify: no reply is due, or it failed */
    if (l->fd >= 0)
        (void)close(l->fd);
    free(l->held);
    dx_hash_state_free(&l->hashing);
    *l = (struct dx_link)DX_LINK_INIT;
    l->received = received;
}

static int finish_connect(struct dx_link *l, struct dx_error *err)
{
    int why = 0;
    socklen_t size = sizeof(why);

    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0 || why != 0)
        return dx_fail_errno(err, why, "connect");
    l->connected = true;
    l->events = EPOLLIN;
    return DX_OK;
}

/* 1: TLS stands; the first call finds out whether the socket is connected. */
static int shake(struct dx_link *l, struct dx_error *err)
{
    int n;
    int rc;

    errno = 0;
    n = SSL_do_handshake(l->ssl);
    if (n == 1) {
        l->connected = true;
        l->events = EPOLLIN;
        return 1;
    }
    rc = dx_tls_client_code(l->ssl, n, "TLS handshake", &l->events, err);
    return rc == 1 ? dx_fail(err, DX_E_TRUNCATED, "TLS handshake: the server closed") : rc;
}

/* What was taken, 0: it waits for l->events, <0. */
static ssize_t send_tls(struct dx_link *l, struct dx_error *err)
{
    int n;
    int rc;

    errno = 0;
    n = SSL_write(l->ssl, l->unsent.data,
                  (int)(l->unsent.size < INT_MAX ? l->unsent.size : INT_MAX));
    if (n > 0)
        return n;
    rc = dx_tls_client_code(l->ssl, n, "send", &l->events, err);
    if (rc == 0) /* whatever it waits for */
        l->events = EPOLLIN | EPOLLOUT;
    return rc == 1 ? dx_fail(err, DX_E_TRUNCATED, "the server closed") : rc;
}

/* The same; 0 also if the server ended. *ended says which. */
static ssize_t receive_bytes(struct dx_link *l, uint8_t *to, size_t size, bool *ended,
                             struct dx_error *err)
{
    uint32_t events; /* those of the socket stay: it is read again when it has more */
    ssize_t n;
    int rc;

    *ended = false;
    errno = 0;
    if (l->ssl != NULL) {
        n = SSL_read(l->ssl, to, (int)size);
        if (n > 0)
            return n;
        rc = dx_tls_client_code(l->ssl, (int)n, "recv", &events, err);
        *ended = rc == 1;
        return rc < 0 ? rc : 0;
    }
    n = recv(l->fd, to, size, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : dx_fail_errno(err, errno, "recv");
    *ended = n == 0;
    return n;
}

/* How many bytes went, 0: it has to wait. */
static ssize_t send_plain(struct dx_link *l, struct dx_error *err)
{
    ssize_t n = send(l->fd, l->unsent.data, l->unsent.size, MSG_NOSIGNAL);

    if (n >= 0)
        return n;
    if (errno != EAGAIN && errno != EINTR)
        return dx_fail_errno(err, errno, "send");
    l->events = EPOLLIN | EPOLLOUT;
    return 0;
}

int dx_link_write(struct dx_link *l, struct dx_error *err)
{
    ssize_t n;

    if (!l->connected) {
        int rc = l->ssl == NULL ? finish_connect(l, err) : shake(l, err);

        if (rc < 0 || !l->connected)
            return rc;
    }
    if (l->unsent.size == 0)
        return 1;
    n = l->ssl != NULL ? send_tls(l, err) : send_plain(l, err);
    if (n <= 0)
        return (int)n;
    l->unsent.data += n;
    l->unsent.size -= (size_t)n;
    l->events = l->unsent.size == 0 ? EPOLLIN : EPOLLIN | EPOLLOUT;
    return l->unsent.size == 0;
}

int dx_link_ask(struct dx_link *l, struct dx_span request, bool hash_body, struct dx_error *err)
{
    if (hash_body && (l->hashing = dx_hash_state_new()) == NULL)
        return dx_no_memory(err, "hash state");
    l->unsent = request;
    l->hash_body = hash_body;
    l->asked = true;
    l->in_body = false;
    return dx_link_write(l, err);
}

/* Keeps the begin of a head until more of it comes. */
static int hold(struct dx_link *l, struct dx_span bytes, struct dx_error *err)
{
    if (bytes.size > DX_REPLY_HEAD_MAX)
        return dx_fail(err, DX_E_LIMIT, "reply: no end of the head in %zu bytes", bytes.size);
    if (l->held == NULL && (l->held = malloc(DX_REPLY_HEAD_MAX)) == NULL)
        return dx_no_memory(err, "head");
    memcpy(l->held, bytes.data, bytes.size);
    l->held_size = bytes.size;
    return 0;
}

static int behind_body(size_t size, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "reply: %zu bytes behind the body", size);
}

/* 1: the end of the body is there. */
static int take_chunks(struct dx_link *l, struct dx_span bytes, struct dx_error *err)
{
    struct dx_span piece;
    int rc;

    while ((rc = dx_chunked_next(&l->chunks, &bytes, &piece, err)) > 0)
        if (l->hash_body)
            dx_hash_state_update(l->hashing, piece);
    if (rc < 0)
        return rc;
    l->head.body_size = l->chunks.size;
    if (bytes.size > 0)
        return behind_body(bytes.size, err);
    return l->chunks.at == DX_CHUNKED_END;
}

static int take_bytes(struct dx_link *l, struct dx_span bytes, struct dx_error *err)
{
    if (bytes.size > l->body_left)
        return behind_body(bytes.size - (size_t)l->body_left, err);
    if (l->hash_body)
        dx_hash_state_update(l->hashing, bytes);
    l->body_left -= bytes.size;
    return l->body_left == 0;
}

static int take_body(struct dx_link *l, struct dx_span bytes, struct dx_error *err)
{
    int rc = l->head.chunked ? take_chunks(l, bytes, err) : take_bytes(l, bytes, err);

    if (rc <= 0)
        return rc;
    if (l->hash_body) {
        l->hash = dx_hash_state_digest(l->hashing);
        dx_hash_state_free(&l->hashing);
    }
    l->asked = false;
    l->head.close = l->head.close ||
                    l->unsent.size > 0; /* no other request can go before the rest of this one */
    return 1;
}

static int take_reply(struct dx_link *l, struct dx_span bytes, size_t looked_at,
                      struct dx_error *err)
{
    size_t size;
    int rc;

    if (!l->asked)
        return dx_fail(err, DX_E_CORRUPT, "%zu bytes without a request", bytes.size);
    if (l->in_body)
        return take_body(l, bytes, err);
    size = dx_reply_head_size(bytes, looked_at);
    if (size == 0)
        return hold(l, bytes, err);
    rc = dx_reply_head_parse(dx_span_of(bytes.data, size), &l->head, err);
    if (rc < 0)
        return rc;
    free(l->held);
    l->held = NULL;
    l->held_size = 0;
    l->in_body = true;
    l->body_left = l->head.body_size;
    l->chunks = (struct dx_chunked){ .at = DX_CHUNKED_SIZE };
    return take_body(l, dx_span_from(bytes, size), err);
}

int dx_link_read(struct dx_link *l, uint8_t *scratch, struct dx_error *err)
{
    size_t held = l->held_size;
    bool ended;
    ssize_t n = receive_bytes(l, scratch + held, DX_LINK_SCRATCH - held, &ended, err);

    if (n < 0 || (n == 0 && !ended))
        return (int)n;
    if (ended)
        return dx_fail(err, DX_E_TRUNCATED, "the server closed %s",
                       l->asked ? "before the end of a reply" : "an idle connection");
    l->received += (uint64_t)n;
    if (held > 0)
        memcpy(scratch, l->held, held);
    return take_reply(l, dx_span_of(scratch, held + (size_t)n), held, err);
}
