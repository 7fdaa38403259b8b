/* SPDX-License-Identifier: Apache-2.0
 * identity.h - who asks, and from where.
 *
 *   rc = dx_identify(&rules, table, &head, bytes, &peer, now_s, &who, &problem);
 *     1   who.principal, who.address
 *     0   problem: 401, or 400 where a header that decides comes twice
 *
 * A header that names the principal, and one that names the client's address, are believed only from
 * addresses of rules->proxies; from all others they are as if they were not there. Everything else
 * in docs/notes/access.md. Any thread.
 */
#ifndef DX_SERVER_IDENTITY_H
#define DX_SERVER_IDENTITY_H

#include "format/access_table.h"
#include "query/problem.h"
#include "server/request_head.h"

#include <sys/socket.h>

#define DX_PROXIES_MAX 64

struct dx_address {
    uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d; of a local socket all 0 */
};

struct dx_network {
    struct dx_address address;
    unsigned bits; /* of 128 */
};

struct dx_identity_rules {
    const char *principal_header; /* lower case; NULL: none */
    const char *address_header;   /* lower case, a list as X-Forwarded-For; NULL: none */
    struct dx_network proxies[DX_PROXIES_MAX];
    size_t proxy_count;
};

struct dx_who {
    const struct dx_principal *principal; /* of the table; NULL: there is no table */
    struct dx_address address;            /* the client's, as far as proxies are believed */
};

int dx_identify(const struct dx_identity_rules *rules, const struct dx_access_table *table,
                const struct dx_request_head *head, struct dx_span bytes,
                const struct dx_address *peer, int64_t now_s, struct dx_who *who,
                struct dx_problem *problem);

/* "10.0.0.0/8", "::1", "192.0.2.7"; false: it is none. */
bool dx_network_parse(struct dx_span text, struct dx_network *network);
bool dx_network_has(const struct dx_network *network, const struct dx_address *address);
void dx_address_of(const struct sockaddr *from, struct dx_address *address);

#endif
