/* SPDX-License-Identifier: Apache-2.0
 * link.h - one kept connection to the server: a request at a time, its reply as it comes.
 *
 *   struct dx_link l = DX_LINK_INIT;
 *   rc = dx_link_open(&l, &address, tls, &err);          begins to connect; events: l.events; tls NULL: plain
 *   rc = dx_link_ask(&l, request, hash_body, &err);      request stays until the reply is there
 *   rc = dx_link_write(&l, &err);                        when it can be written: connected, or more to send
 *   rc = dx_link_read(&l, scratch, &err);                when it can be read: 1 the reply is whole
 *   l.head, l.hash                                       of the last reply
 *   dx_link_close(&l);
 *
 * l.connected: also TLS stands, if there is one. Non-blocking. Functions return 1 done, 0 wait for `events`, <0 the connection is of no use any
 * more. A reply is only looked at, not kept: `scratch` is shared by all links of a thread and must
 * have DX_LINK_SCRATCH bytes; a link keeps of its own only the begin of a head that came in parts.
 * Bytes without a request are an error. A reply that is whole before its request was sent whole is the last of its
 * connection: head.close. One thread at a time.
 */
#ifndef DX_BUILDER_LOAD_LINK_H
#define DX_BUILDER_LOAD_LINK_H

#include "base/hash.h"
#include "builder/load/chunked_body.h"
#include "builder/load/reply_head.h"

#include <sys/socket.h>

struct dx_tls_client;
struct ssl_st;

#define DX_LINK_SCRATCH (256 * 1024)

struct dx_address {
    struct sockaddr_storage storage;
    socklen_t size;
};

struct dx_link {
    int fd;
    uint32_t events;    /* EPOLLIN or EPOLLOUT: what it waits for */
    struct ssl_st *ssl; /* NULL: plain */
    bool connected;
    bool asked;   /* a reply is due */
    bool in_body; /* its head is there */
    bool hash_body;
    struct dx_span unsent;
    uint8_t *held; /* the begin of a head */
    size_t held_size;
    uint64_t body_left;
    struct dx_chunked chunks; /* instead of body_left, where head.chunked */
    uint64_t received;        /* bytes since it was made, over all connections */
    struct dx_hash_state *hashing;
    struct dx_reply_head head;
    struct dx_hash128 hash;
};

#define DX_LINK_INIT \
    {                \
        .fd = -1     \
    }

/* "127.0.0.1:8080", "[::1]:8080": numbers only, a load is never sent by a name. */
int dx_address_parse(const char *text, struct dx_address *out, struct dx_error *err);

int dx_link_open(struct dx_link *l, const struct dx_address *to, const struct dx_tls_client *tls,
                 struct dx_error *err);
/* "/run/x/http": a socket in the file system. */
int dx_address_local(const char *path, struct dx_address *out, struct dx_error *err);
void dx_link_close(struct dx_link *l);

int dx_link_ask(struct dx_link *l, struct dx_span request, bool hash_body, struct dx_error *err);
int dx_link_write(struct dx_link *l, struct dx_error *err);
int dx_link_read(struct dx_link *l, uint8_t *scratch, struct dx_error *err);

#endif
