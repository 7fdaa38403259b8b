/* SPDX-License-Identifier: Apache-2.0
 * identity.h - the principal and the address of a request.
 *
 *   h.names = &rules.names;                         before a head is parsed (server/http/request_head.h)
 *   rc = dx_identify(&rules, table, &head, bytes, &peer, now_s, &who, &problem);
 *     1   who.principal, who.address
 *     0   problem: 401, or 400 where a header that decides comes twice
 *
 * table NULL, or one that is out of force: everybody may see all, and only the address is looked
 * for. Else, in this order:
 *   Authorization: Bearer TOKEN        the owner of the token; 401 if it is unknown
 *   the header that names the principal, from a trusted proxy: the one of that name; a name that the
 *                                      table does not know, or none, is anonymous
 *   another Authorization              401
 *   nothing                            anonymous; 401 if that may see nothing
 * All 401 have the same bytes. A principal lives as long as the table.
 *
 * A header that names the principal, and one that names the client's address, are believed only
 * from addresses of rules->proxies; from all others they are as if they were not there. The address
 * is the rightmost of the list that is not a proxy's; a client may have made up what stands left of
 * it. A list may come in several fields, since proxies add theirs below the client's: the last four
 * are read. Any thread.
 */
#ifndef DX_SERVER_POLICY_IDENTITY_H
#define DX_SERVER_POLICY_IDENTITY_H

#include "format/root/access_table.h"
#include "query/view/problem.h"
#include "server/http/request_head.h"

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
    /* of the headers that proxies add; address: a list as X-Forwarded-For */
    struct dx_head_names names;
    struct dx_network proxies[DX_PROXIES_MAX];
    size_t proxy_count;
};

/* Why there is no principal: for metrics, since replies do not say. */
enum dx_identity_fault {
    DX_IDENTITY_WELL,
    DX_IDENTITY_NONE,      /* no token and no name, where everybody may see nothing */
    DX_IDENTITY_SCHEME,    /* another scheme than Bearer, and no proxy has vouched for it */
    DX_IDENTITY_MALFORMED, /* no token of ours: its form or its checksum */
    DX_IDENTITY_UNKNOWN,   /* one that the table does not have, not any more, or that is over */
    DX_IDENTITY_TWICE,     /* a header that decides comes twice */
    DX_IDENTITY_FAULTS
};

const char *dx_identity_fault_name(enum dx_identity_fault fault);

struct dx_who {
    const struct dx_principal *principal; /* of the table; NULL: there is no table */
    struct dx_address address;            /* the client's, as far as proxies are believed */
    enum dx_identity_fault fault;
    bool by_token; /* of this hash; else named by a header, or anonymous */
    uint8_t token[32];
};

int dx_identify(const struct dx_identity_rules *rules, const struct dx_access_table *table,
                const struct dx_request_head *head, struct dx_span bytes,
                const struct dx_address *peer, int64_t now_s, struct dx_who *who,
                struct dx_problem *problem);

/* Whether the caller may still see what it could, by the table that is in force by now (NULL:
 * none): 1, or 0 as dx_identify's 401. For requests that last; `who` as it was filled, and its
 * table is pinned. */
int dx_identity_holds(const struct dx_who *who, const struct dx_access_table *table, int64_t now_s,
                      struct dx_problem *problem);

/* Why all requests are refused: the access table is unreadable (loader/followed/access.h). 503; returns
 * 0. */
int dx_identity_unknown(struct dx_problem *problem);

/* "10.0.0.0/8", "::1", "192.0.2.7"; "unix": any peer on a local socket. false: not an address, or
 * it has bits behind its prefix. */
bool dx_network_parse(struct dx_span text, struct dx_network *network);
/* Whether it is of rules->proxies. */
bool dx_identity_is_proxy(const struct dx_identity_rules *rules, const struct dx_address *address);

bool dx_network_has(const struct dx_network *network, const struct dx_address *address);
void dx_address_of(const struct sockaddr *from, struct dx_address *address);

#endif
