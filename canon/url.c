/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/url.h"

#include "base/hash.h"
#include "canon/host.h"
#include "canon/ip_literal.h"
#include "canon/path_query.h"

#include <assert.h>
#include <stdlib.h>

/* Domains of hosts seen lately. Lists of URLs repeat hosts, and libpsl needs longer for one
 * than all the rest of the work together. */
enum { CACHE_SLOTS = 1024, CACHE_HOST_MAX = 60 }; /* a slot is one cache line */
enum { OUT_ROOM = 16 + DX_HOST_ROOM + 8 + 3 * DX_URL_MAX + 8 };

static_assert(DX_URL_MAX <= DX_QUERY_MAX, "dx_query_work holds a whole query");
static_assert(DX_HOST_ROOM >= DX_URL_MAX, "dx_host_parse needs room for what it reads");

struct slot {
    uint8_t size; /* of the host; 0: the slot is empty */
    uint8_t domain_at;
    uint8_t domain_size; /* 0: the host has none */
    uint8_t host[CACHE_HOST_MAX + 1];
};

struct dx_canon {
    const struct dx_psl *psl;
    uint8_t clean[DX_URL_MAX]; /* the input without tabs and line ends, when it had some */
    uint8_t out[OUT_ROOM];
    struct dx_query_work query;
    bool in_order;              /* hosts do not come again: the cache is not asked */
    uint16_t seen[CACHE_SLOTS]; /* from the hash of the host that asked for the slot last */
    struct slot cache[CACHE_SLOTS];
};

struct scheme {
    const char *name;
    uint8_t size;
    uint16_t port;
};

enum { HTTP, HTTPS, FTP, SCHEMES };
static const struct scheme schemes[SCHEMES] = {
    [HTTP] = { "http", 4, 80 },
    [HTTPS] = { "https", 5, 443 },
    [FTP] = { "ftp", 3, 21 },
};

int dx_canon_new(struct dx_canon **c, const struct dx_psl *psl, struct dx_error *err)
{
    *c = calloc(1, sizeof **c);
    if (*c == NULL)
        return dx_no_memory(err, "canonicaliser");
    (*c)->psl = psl;
    return DX_OK;
}

void dx_canon_in_order(struct dx_canon *c)
{
    c->in_order = true;
}

void dx_canon_free(struct dx_canon **c)
{
    free(*c);
    *c = NULL;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') < 26;
}

static bool is_slash(uint8_t c)
{
    return c == '/' || c == '\\';
}

static bool ends_authority(uint8_t c)
{
    return is_slash(c) || c == '?' || c == '#';
}

static bool is_dropped(uint8_t c)
{
    return c == '\t' || c == '\n' || c == '\r';
}

static void skip(struct dx_span *s, size_t n)
{
    s->data += n;
    s->size -= n;
}

/* Where the first tab or line end is, or s.size. Nearly no URL has one: eight bytes at once. */
static size_t first_dropped(struct dx_span s)
{
    const uint64_t ones = UINT64_MAX / 255;
    size_t at = 0;
    uint64_t word;

    while (s.size - at >= sizeof word) {
        memcpy(&word, s.data + at, sizeof word);
        if (((word - ones * ('\r' + 1)) & ~word & ones << 7) != 0) /* a byte up to '\r' */
            break;
        at += sizeof word;
    }
    while (at < s.size && !is_dropped(s.data[at]))
        at++;
    return at;
}

/* Without C0 controls and spaces around, and without tabs and line ends inside. */
static struct dx_span clean(struct dx_canon *c, struct dx_span s)
{
    size_t at;
    size_t n;

    while (s.size > 0 && s.data[0] <= ' ')
        skip(&s, 1);
    while (s.size > 0 && s.data[s.size - 1] <= ' ')
        s.size--;
    at = first_dropped(s);
    if (at == s.size)
        return s;
    memcpy(c->clean, s.data, at);
    for (n = at; at < s.size; at++)
        if (!is_dropped(s.data[at]))
            c->clean[n++] = s.data[at];
    return (struct dx_span){ c->clean, n };
}

/* Is this, behind a name and ':', a port and nothing else of the authority? */
static bool port_follows(struct dx_span s)
{
    size_t n = 0;

    while (n < s.size && is_digit(s.data[n]))
        n++;
    return n > 0 && (n == s.size || ends_authority(s.data[n]));
}

/* The size of the scheme s begins with (its ':' is behind), or 0. */
static size_t scheme_size(struct dx_span s)
{
    size_t n = 0;

    if (s.size == 0 || !is_alpha(s.data[0]))
        return 0;
    while (n < s.size && (is_alpha(s.data[n]) || is_digit(s.data[n]) || s.data[n] == '+' ||
                          s.data[n] == '-' || s.data[n] == '.'))
        n++;
    return n < s.size && s.data[n] == ':' ? n : 0;
}

static bool same_scheme(struct dx_span name, const struct scheme *scheme)
{
    if (name.size != scheme->size)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if ((name.data[i] | 0x20) != scheme->name[i])
            return false;
    return true;
}

/* Takes the scheme and the slashes off s. */
static const struct scheme *take_scheme(struct dx_span *s, enum dx_reject *why)
{
    size_t size = scheme_size(*s);
    const struct scheme *scheme = NULL;

    for (size_t i = 0; size > 0 && i < SCHEMES; i++)
        if (same_scheme((struct dx_span){ s->data, size }, &schemes[i]))
            scheme = &schemes[i];
    if (scheme != NULL) {
        skip(s, size + 1);
    } else if (size > 0 &&
               !port_follows((struct dx_span){ s->data + size + 1, s->size - size - 1 })) {
        *why = DX_REJECT_SCHEME;
        return NULL;
    } else {
        scheme = &schemes[HTTP];
        if (is_slash(s->data[0]) && (s->size == 1 || !is_slash(s->data[1]))) {
            *why = DX_REJECT_HOST_MISSING; /* "/a/b" is a path */
            return NULL;
        }
    }
    while (s->size > 0 && is_slash(s->data[0]))
        skip(s, 1);
    return scheme;
}

/* Takes the authority off s; returns it without user and password. */
static struct dx_span take_authority(struct dx_span *s)
{
    struct dx_span authority = { s->data, 0 };
    size_t host_at = 0;
    size_t n = 0;

    for (; n < s->size && !ends_authority(s->data[n]); n++)
        if (s->data[n] == '@')
            host_at = n + 1;
    authority.size = n;
    skip(s, n);
    skip(&authority, host_at);
    return authority;
}

/* Splits "host:port" at the first ':' outside brackets. port: 0..65535, or -1 for none. */
static bool take_port(struct dx_span *host, int32_t *port, enum dx_reject *why)
{
    bool bracketed = false;
    size_t at = 0;
    uint32_t value = 0;

    *port = -1;
    for (; at < host->size; at++) {
        uint8_t c = host->data[at];

        if (c == ':' && !bracketed)
            break;
        bracketed = c == '[' || (bracketed && c != ']');
    }
    if (at == host->size)
        return true;
    for (size_t i = at + 1; i < host->size; i++) {
        if (!is_digit(host->data[i]) || (value = value * 10 + (host->data[i] - '0')) > 65535) {
            *why = at == 0 ? DX_REJECT_HOST_MISSING : DX_REJECT_PORT_INVALID;
            return false;
        }
    }
    if (at + 1 < host->size)
        *port = (int32_t)value;
    host->size = at;
    return true;
}

static uint8_t *put_port(uint8_t *out, uint32_t port)
{
    uint8_t digits[5];
    size_t n = sizeof digits;

    do {
        digits[--n] = (uint8_t)('0' + port % 10);
        port /= 10;
    } while (port > 0);
    *out++ = ':';
    memcpy(out, digits + n, sizeof digits - n);
    return out + (sizeof digits - n);
}

/* Whether the last host with that slot was probably this one. Where hosts hardly come again, a look at their slots would
 * cost more than it saves: 64 KB that are in no near cache. */
static bool seen_before(struct dx_canon *c, uint64_t hash)
{
    uint16_t *seen = &c->seen[hash % CACHE_SLOTS];
    uint16_t mark = (uint16_t)(hash >> 48);
    bool same = *seen == mark;

    *seen = mark;
    return same;
}

/* As dx_psl_domain, with the cache in front, where a host comes in when it is asked for again. */
static bool find_domain(struct dx_canon *c, struct dx_span host, struct dx_span *domain)
{
    uint64_t hash;
    struct slot *slot;

    if (c->in_order || host.size > CACHE_HOST_MAX)
        return dx_psl_domain(c->psl, host, domain) == 1;
    hash = dx_hash64(host);
    if (!seen_before(c, hash))
        return dx_psl_domain(c->psl, host, domain) == 1;
    slot = &c->cache[hash % CACHE_SLOTS];
    if (slot->size != host.size || memcmp(slot->host, host.data, host.size) != 0) {
        bool found = dx_psl_domain(c->psl, host, domain) == 1;

        slot->size = (uint8_t)host.size;
        slot->domain_at = found ? (uint8_t)(domain->data - host.data) : 0;
        slot->domain_size = (uint8_t)domain->size;
        memcpy(slot->host, host.data, host.size);
    }
    *domain = (struct dx_span){ host.data + slot->domain_at, slot->domain_size };
    return slot->domain_size > 0;
}

/* Scheme, host and port into c->out and *url; *rest is what follows the authority. */
static uint8_t *write_origin(struct dx_canon *c, struct dx_span raw, struct dx_span *rest,
                             struct dx_url *url, struct dx_host *host, enum dx_reject *why)
{
    const struct scheme *scheme;
    struct dx_span authority;
    uint8_t *out = c->out;
    int32_t port;

    *why = DX_REJECT_TOO_LONG;
    if (raw.size > DX_URL_MAX)
        return NULL;
    *rest = clean(c, raw);
    *why = DX_REJECT_EMPTY;
    if (rest->size == 0)
        return NULL;
    scheme = take_scheme(rest, why);
    if (scheme == NULL)
        return NULL;
    authority = take_authority(rest);
    if (!take_port(&authority, &port, why))
        return NULL;
    memcpy(out, scheme->name, scheme->size);
    url->scheme = (struct dx_span){ out, scheme->size };
    memcpy(out + scheme->size, "://", 3);
    out += scheme->size + 3;
    if (!dx_host_parse(authority, out, DX_HOST_ROOM, host, why))
        return NULL;
    url->hostname = host->text;
    url->host = host->text;
    out += host->text.size;
    if (port >= 0 && port != scheme->port) {
        out = put_port(out, (uint32_t)port);
        url->host.size = (size_t)(out - url->host.data);
    }
    *why = DX_REJECT_NONE;
    return out;
}

static bool set_domain(struct dx_canon *c, const struct dx_host *host, struct dx_span *domain)
{
    if (host->kind == DX_HOST_NAME)
        return find_domain(c, host->text, domain);
    *domain = host->text;
    return true;
}

/* The size of "https://" or "http://", and of the scheme in it. */
static size_t plain_scheme(struct dx_span raw, size_t *scheme)
{
    if (raw.size > 8 && memcmp(raw.data, "https://", 8) == 0) {
        *scheme = 5;
        return 8;
    }
    *scheme = 4;
    return raw.size > 7 && memcmp(raw.data, "http://", 7) == 0 ? 7 : 0;
}

/* Nearly every URL is in its canonical form already, and seeing that costs a fraction of writing it: a
 * host of lower-case letters, digits, '-' and '.', and a path and query that stay as they are. false:
 * this one is to be written, or rejected. */
static bool keep_canonical(struct dx_canon *c, struct dx_span raw, struct dx_url *url)
{
    size_t scheme;
    size_t at = plain_scheme(raw, &scheme);
    size_t end;
    struct dx_span host;
    struct dx_span path;

    if (at == 0 || raw.size > DX_URL_MAX)
        return false;
    end = at + dx_host_plain_size(dx_span_from(raw, at));
    host = (struct dx_span){ raw.data + at, end - at };
    path = dx_span_from(raw, end);
    if (host.size == 0 || !dx_path_query_is_plain(path) || dx_ipv4_meant(host))
        return false;
    memcpy(c->out, raw.data, raw.size);
    url->url = (struct dx_span){ c->out, raw.size };
    url->scheme = (struct dx_span){ c->out, scheme };
    url->host = url->hostname = (struct dx_span){ c->out + at, host.size };
    url->path_query = (struct dx_span){ c->out + end, path.size };
    return true;
}

int dx_canon_url(struct dx_canon *c, struct dx_span raw, struct dx_url *url, enum dx_reject *why)
{
    struct dx_span rest;
    struct dx_host host;
    uint8_t *path;
    uint8_t *end;

    memset(url, 0, sizeof *url);
    if (keep_canonical(c, raw, url)) {
        host = (struct dx_host){ url->hostname, DX_HOST_NAME };
        goto domain;
    }
    path = write_origin(c, raw, &rest, url, &host, why);
    if (path == NULL)
        goto reject;
    end = dx_path_write(path, &rest);
    end = dx_query_write(&c->query, end, &rest);
    url->path_query = (struct dx_span){ path, (size_t)(end - path) };
    url->url = (struct dx_span){ c->out, (size_t)(end - c->out) };
    *why = DX_REJECT_TOO_LONG;
    if (url->url.size > DX_URL_MAX)
        goto reject;
domain:
    *why = set_domain(c, &host, &url->domain) ? DX_REJECT_NONE : DX_REJECT_PUBLIC_SUFFIX;
    return *why == DX_REJECT_NONE;
reject:
    memset(url, 0, sizeof *url);
    return 0;
}

/* "::1": an IPv6 address without its brackets, written as the host it means. */
static bool bare_ipv6(struct dx_canon *c, struct dx_span raw, struct dx_span *domain)
{
    uint16_t address[8];
    size_t size;

    if (raw.size > DX_URL_MAX)
        return false;
    raw = clean(c, raw);
    if (!dx_ipv6_parse(raw, address))
        return false;
    size = dx_ipv6_text(address, c->out + 1);
    c->out[0] = '[';
    c->out[size + 1] = ']';
    *domain = (struct dx_span){ c->out, size + 2 };
    return true;
}

/* 1 with the host of what was given, or *domain, if it is an IPv6 address without brackets; 0. No scheme, port, path or
 * address is written with the bytes of a plain name alone but IPv4. */
static int take_host(struct dx_canon *c, struct dx_span raw, struct dx_host *host,
                     struct dx_span *domain, enum dx_reject *why)
{
    struct dx_span rest;
    struct dx_url url;

    *domain = (struct dx_span){ NULL, 0 };
    *why = DX_REJECT_NONE;
    if (raw.size <= CACHE_HOST_MAX && dx_host_is_plain(raw)) {
        memcpy(c->out, raw.data, raw.size);
        *host = (struct dx_host){ { c->out, raw.size }, DX_HOST_NAME };
        return 1;
    }
    return bare_ipv6(c, raw, domain) || write_origin(c, raw, &rest, &url, host, why) != NULL;
}

int dx_canon_domain(struct dx_canon *c, struct dx_span raw, struct dx_span *domain,
                    enum dx_reject *why)
{
    struct dx_host host;

    if (take_host(c, raw, &host, domain, why) == 0)
        return 0;
    if (domain->data != NULL || set_domain(c, &host, domain))
        return 1;
    *domain = (struct dx_span){ NULL, 0 };
    *why = DX_REJECT_PUBLIC_SUFFIX;
    return 0;
}

int dx_canon_icann_domain(struct dx_canon *c, struct dx_span raw, struct dx_span *domain,
                          enum dx_reject *why)
{
    struct dx_host host;

    if (take_host(c, raw, &host, domain, why) == 0)
        return 0;
    if (domain->data == NULL && host.kind != DX_HOST_NAME)
        *domain = host.text;
    if (domain->data != NULL || dx_psl_icann_domain(c->psl, host.text, domain) == 1)
        return 1;
    *why = DX_REJECT_PUBLIC_SUFFIX;
    return 0;
}

int dx_canon_host_domain(const struct dx_psl *psl, struct dx_span host, struct dx_span *domain)
{
    const uint8_t *end = host.size == 0        ? NULL
                         : host.data[0] == '[' ? memchr(host.data, ']', host.size)
                                               : memchr(host.data, ':', host.size);
    bool is_ipv6 = host.size > 0 && host.data[0] == '[';

    *domain = end == NULL ? host
                          : (struct dx_span){ host.data, (size_t)(end - host.data) + is_ipv6 };
    if (is_ipv6 || (host.size > 0 && dx_ipv4_meant(*domain)))
        return 1;
    return dx_psl_domain(psl, *domain, domain);
}
