/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tls/tls_link.h"

#include "server/tls/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

struct dx_tls_link {
    SSL *ssl;
    bool ready;
    bool broken;  /* libssl must not be called again */
    bool waiting; /* a record is half out */
};

struct dx_tls_link *dx_tls_link_new(struct dx_tls *tls, int fd)
{
    struct dx_tls_link *link = calloc(1, sizeof *link);

    if (link == NULL)
        return NULL;
    link->ssl = dx_tls_ssl_new(tls);
    if (link->ssl == NULL || SSL_set_fd(link->ssl, fd) != 1)
        dx_tls_link_free(&link);
    else
        SSL_set_accept_state(link->ssl);
    ERR_clear_error();
    return link;
}

/* ---- handshake ---- */

static enum dx_shake failed(struct dx_tls_link *link)
{
    unsigned long e = ERR_peek_error();

    link->broken = true;
    return ERR_GET_LIB(e) == ERR_LIB_SSL && ERR_GET_REASON(e) == SSL_R_HTTP_REQUEST
               ? DX_SHAKE_HTTP
               : DX_SHAKE_FAILED;
}

enum dx_shake dx_tls_link_shake(struct dx_tls_link *link)
{
    enum dx_shake is = DX_SHAKE_DONE;
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(link->ssl);
    if (rc == 1) {
        link->ready = true;
        return is;
    }
    switch (SSL_get_error(link->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        is = DX_SHAKE_READS;
        break;
    case SSL_ERROR_WANT_WRITE:
        is = DX_SHAKE_WRITES;
        break;
    default:
        is = failed(link);
        break;
    }
    ERR_clear_error();
    return is;
}

bool dx_tls_link_resumed(const struct dx_tls_link *link)
{
    return SSL_session_reused(link->ssl) == 1;
}

/* ---- bytes ---- */

/* -1 with errno, or 0 where the client has said that it sends no more. A read that wants to write has
 * an answer to a change of keys to send: the next call of either kind sends it. */
static ssize_t no_bytes(struct dx_tls_link *link, int rc)
{
    int error = SSL_get_error(link->ssl, rc);

    ERR_clear_error();
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        errno = EAGAIN;
        return -1;
    }
    link->broken = true;
    errno = ECONNRESET;
    return -1;
}

ssize_t dx_tls_link_read(struct dx_tls_link *link, uint8_t *to, size_t size)
{
    size_t got;
    int rc;

    ERR_clear_error();
    rc = SSL_read_ex(link->ssl, to, size, &got);
    return rc == 1 ? (ssize_t)got : no_bytes(link, rc);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The next record's bytes: of both parts, so that a small head and its body are one record. */
static struct dx_span next_record(struct dx_span head, struct dx_span body,
                                  uint8_t room[DX_TLS_RECORD])
{
    size_t of_head = least(head.size, DX_TLS_RECORD);
    size_t of_body = least(body.size, DX_TLS_RECORD - of_head);

    if (of_head == 0)
        return (struct dx_span){ body.data, of_body };
    if (of_body == 0)
        return (struct dx_span){ head.data, of_head };
    memcpy(room, head.data, of_head);
    memcpy(room + of_head, body.data, of_body);
    return (struct dx_span){ room, of_head + of_body };
}

ssize_t dx_tls_link_write(struct dx_tls_link *link, struct dx_span head, struct dx_span body)
{
    uint8_t room[DX_TLS_RECORD];
    size_t all = 0;

    while (head.size + body.size > 0) {
        struct dx_span record = next_record(head, body, room);
        size_t taken;
        size_t of_head;
        int rc;

        ERR_clear_error();
        rc = SSL_write_ex(link->ssl, record.data, record.size, &taken);
        link->waiting = rc != 1;
        if (rc != 1)
            return no_bytes(link, rc) < 0 && errno == EAGAIN ? (ssize_t)all : -1;
        all += taken;
        of_head = least(taken, head.size);
        head = dx_span_from(head, of_head);
        body = dx_span_from(body, taken - of_head);
    }
    return (ssize_t)all;
}

/* ---- the end ---- */

void dx_tls_link_end(struct dx_tls_link *link)
{
    if (!link->ready || link->broken || link->waiting)
        return;
    (void)SSL_shutdown(link->ssl); /* the client's is waited for by the reader */
    ERR_clear_error();
}

void dx_tls_link_free(struct dx_tls_link **link)
{
    if (*link == NULL)
        return;
    SSL_free((*link)->ssl);
    free(*link);
    *link = NULL;
}
