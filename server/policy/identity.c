/* SPDX-License-Identifier: Apache-2.0 */
#include "server/policy/identity.h"

#include "base/crypto/sha256.h"
#include "base/decimal.h"
#include "format/root/access_token.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>

#define V4_PREFIX 96 /* bits before the address in ::ffff:a.b.c.d */

/* ---- addresses ---- */

static void map_v4(const void *v4, struct dx_address *address)
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

    memcpy(address->bytes, prefix, sizeof prefix);
    memcpy(address->bytes + sizeof prefix, v4, 4);
}

void dx_address_of(const struct sockaddr *from, struct dx_address *address)
{
    *address = (struct dx_address){ { 0 } };
    if (from->sa_family == AF_INET)
        map_v4(&((const struct sockaddr_in *)(const void *)from)->sin_addr, address);
    else if (from->sa_family == AF_INET6)
        memcpy(address->bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
               sizeof address->bytes);
}

/* 32 or 128: the bits that a prefix of it may have; 0: it is not an address. */
static unsigned parse_address(struct dx_span text, struct dx_address *address)
{
    char copy[INET6_ADDRSTRLEN];
    uint8_t v4[4];

    if (text.size == 0 || text.size >= sizeof copy || memchr(text.data, '\0', text.size) != NULL)
        return 0;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (inet_pton(AF_INET, copy, v4) == 1) {
        map_v4(v4, address);
        return 32;
    }
    return inet_pton(AF_INET6, copy, address->bytes) == 1 ? 128 : 0;
}

static bool prefix_of(struct dx_span text, unsigned most, unsigned *bits)
{
    uint64_t v;
    bool ok = dx_decimal_plain(text, most, &v);

    *bits = (unsigned)v;
    return ok;
}

static bool no_bits_behind(const struct dx_network *n)
{
    for (unsigned i = n->bits; i < 128; i++)
        if ((n->address.bytes[i / 8] >> (7 - i % 8) & 1) != 0)
            return false;
    return true;
}

bool dx_network_parse(struct dx_span text, struct dx_network *network)
{
    const uint8_t *slash = text.size == 0 ? NULL : memchr(text.data, '/', text.size);
    struct dx_span host = text;
    unsigned most;

    *network = (struct dx_network){ .bits = 128 };
    if (dx_span_equal(text, dx_span_str("unix")))
        return true;
    if (slash != NULL)
        host.size = (size_t)(slash - text.data);
    most = parse_address(host, &network->address);
    if (most == 0)
        return false;
    if (slash == NULL)
        return true;
    if (!prefix_of(dx_span_of(slash + 1, text.size - host.size - 1), most, &network->bits))
        return false;
    network->bits += most == 32 ? V4_PREFIX : 0;
    return no_bits_behind(network);
}

bool dx_network_has(const struct dx_network *network, const struct dx_address *address)
{
    unsigned whole = network->bits / 8;
    unsigned rest = network->bits % 8;

    if (memcmp(network->address.bytes, address->bytes, whole) != 0)
        return false;
    return rest == 0 ||
           ((network->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest)) == 0;
}

bool dx_identity_is_proxy(const struct dx_identity_rules *rules, const struct dx_address *address)
{
    for (size_t i = 0; i < rules->proxy_count; i++)
        if (dx_network_has(&rules->proxies[i], address))
            return true;
    return false;
}

/* As proxies write it: some with a port, and then of IPv6 in brackets. */
static bool parse_forwarded(struct dx_span text, struct dx_address *address)
{
    const uint8_t *end;

    if (parse_address(text, address) > 0)
        return true;
    if (text.size == 0)
        return false;
    if (text.data[0] == '[') {
        end = memchr(text.data, ']', text.size);
        return end != NULL &&
               parse_address(dx_span_of(text.data + 1, (size_t)(end - text.data) - 1), address) > 0;
    }
    end = memchr(text.data, ':', text.size);
    return end != NULL &&
           parse_address(dx_span_of(text.data, (size_t)(end - text.data)), address) > 0;
}

/* The element behind the last comma; the rest is what is before it. */
static struct dx_span last_element(struct dx_span *rest)
{
    size_t at = rest->size;
    struct dx_span element;

    while (at > 0 && rest->data[at - 1] != ',')
        at--;
    element = dx_span_trimmed(dx_span_from(*rest, at));
    rest->size = at > 0 ? at - 1 : 0;
    return element;
}

/* Leftwards from the peer of the connection, as long as each one is a trusted proxy. Text that is
 * not an address ends the walk: the one right of it is the last that is known. */
static void find_address(const struct dx_identity_rules *rules, const struct dx_request_head *head,
                         struct dx_span bytes, struct dx_address *address)
{
    uint32_t count = head->address_count < DX_HEAD_ADDRESSES ? head->address_count
                                                             : DX_HEAD_ADDRESSES;

    for (uint32_t i = 0; i < count; i++) {
        struct dx_span rest = dx_head_slice(
            bytes, head->address[(head->address_count - 1 - i) % DX_HEAD_ADDRESSES]);

        while (rest.size > 0) {
            struct dx_span element = last_element(&rest);
            struct dx_address next;

            if (element.size == 0)
                continue; /* empty elements of lists say nothing */
            if (!parse_forwarded(element, &next))
                return;
            *address = next;
            if (!dx_identity_is_proxy(rules, address))
                return;
        }
    }
}

/* ---- who ---- */

const char *dx_identity_fault_name(enum dx_identity_fault fault)
{
    static const char *const names[DX_IDENTITY_FAULTS] = {
        [DX_IDENTITY_WELL] = "well",       [DX_IDENTITY_NONE] = "none",
        [DX_IDENTITY_SCHEME] = "scheme",   [DX_IDENTITY_MALFORMED] = "malformed",
        [DX_IDENTITY_UNKNOWN] = "unknown", [DX_IDENTITY_TWICE] = "twice"
    };

    return fault < DX_IDENTITY_FAULTS ? names[fault] : "none";
}

static int unauthorized(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_UNAUTHORIZED, "unauthorized", "Unknown caller",
                          "A valid token is needed: 'Authorization: Bearer dxk_...'. The operator "
                          "of this server issues tokens.");
}

static int twice(struct dx_problem *problem, const char *what)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "identity-twice", "Caller named twice",
                          "%s comes more than once in this request.", what);
}

/* What stands behind "Bearer"; false: it is another scheme. */
static bool bearer(struct dx_span value, struct dx_span *token)
{
    static const char scheme[] = "bearer";
    size_t n = sizeof scheme - 1;

    if (value.size < n || !dx_span_is_word(dx_span_of(value.data, n), scheme) ||
        (value.size > n && value.data[n] != ' '))
        return false;
    *token = dx_span_trimmed(dx_span_from(value, n));
    return true;
}

static_assert(sizeof((struct dx_who *)NULL)->token == DX_SHA256_SIZE, "a token's hash");

static const struct dx_principal *of_token(const struct dx_access_table *table,
                                           struct dx_span token, int64_t now_s, struct dx_who *who)
{
    who->fault = DX_IDENTITY_MALFORMED;
    if (!dx_access_token_ok(token) || !dx_sha256(token, who->token))
        return NULL;
    who->fault = DX_IDENTITY_UNKNOWN;
    who->by_token = true;
    return dx_access_table_token(table, who->token, now_s);
}

/* NULL: 401. header_name: the name from a trusted proxy; size 0: none. */
static const struct dx_principal *find_principal(const struct dx_access_table *table,
                                                 struct dx_span authorization, bool has_named,
                                                 struct dx_span header_name, int64_t now_s,
                                                 struct dx_who *who)
{
    const struct dx_principal *anonymous = dx_access_table_anonymous(table);
    const struct dx_principal *named;
    struct dx_span token;

    if (bearer(authorization, &token))
        return of_token(table, token, now_s, who);
    if (has_named && header_name.size > 0) {
        named = dx_access_table_named(table, header_name);
        return named != NULL ? named : anonymous;
    }
    /* What a proxy has checked by another scheme it passes on, and says who it was. */
    who->fault = DX_IDENTITY_SCHEME;
    if (authorization.size > 0 && !has_named)
        return NULL;
    who->fault = DX_IDENTITY_NONE;
    return dx_scope_count(anonymous->scope) > 0 ? anonymous : NULL;
}

int dx_identity_holds(const struct dx_who *who, const struct dx_access_table *table, int64_t now_s,
                      struct dx_problem *problem)
{
    const struct dx_principal *was = who->principal;
    const struct dx_principal *is;

    if (table == NULL || dx_access_table_open(table))
        return 1;
    if (was == NULL) /* of a time without a table */
        return unauthorized(problem);
    if (who->by_token)
        is = dx_access_table_token(table, who->token, now_s);
    else if (strcmp(was->name, DX_ACCESS_ANONYMOUS) == 0)
        is = dx_access_table_anonymous(table);
    else
        is = dx_access_table_named(table, dx_span_str(was->name));
    return is != NULL && dx_scope_within(was->scope, is->scope) ? 1 : unauthorized(problem);
}

int dx_identity_unknown(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "access-unknown",
                          "Access table unreadable",
                          "the access table has been unreadable for too long; all requests are "
                          "refused until it can be read");
}

int dx_identify(const struct dx_identity_rules *rules, const struct dx_access_table *table,
                const struct dx_request_head *head, struct dx_span bytes,
                const struct dx_address *peer, int64_t now_s, struct dx_who *who,
                struct dx_problem *problem)
{
    bool believed = rules->proxy_count > 0 && dx_identity_is_proxy(rules, peer);

    *who = (struct dx_who){ .address = *peer };
    if (believed)
        find_address(rules, head, bytes, &who->address);
    if (table == NULL || dx_access_table_open(table))
        return 1;
    who->fault = DX_IDENTITY_TWICE;
    if (head->authorization_count > 1)
        return twice(problem, "Authorization");
    if (believed && head->principal_count > 1)
        return twice(problem, "The header that names the caller");
    who->principal = find_principal(table, dx_head_slice(bytes, head->authorization),
                                    believed && head->principal_count > 0,
                                    dx_head_slice(bytes, head->principal), now_s, who);
    if (who->principal == NULL)
        return unauthorized(problem);
    who->fault = DX_IDENTITY_WELL;
    return 1;
}
