/* SPDX-License-Identifier: Apache-2.0
 * url.h - the canonical form of a URL, and of what people type for a domain.
 *
 *   dx_psl_new(&psl, list_text, &err);              one list, shared by all threads
 *   dx_canon_new(&c, psl, &err);                    one canonicaliser a thread
 *   if (dx_canon_url(c, raw, &url, &why) == 1)      1 canonical form, 0 rejected
 *       ... url.url, url.domain ...                 borrowed from c until the next call
 *   dx_canon_free(&c);  dx_psl_free(&psl);
 *
 * The rules (canon_version 1) are in docs/CANON.md. In short: WHATWG parsing; scheme
 * and host lower case, UTS-46 non-transitional to A-labels; default port, fragment and
 * user:password dropped; dot segments resolved, "//" in paths collapsed, a trailing
 * slash kept; only percent-encoded unreserved characters decoded, hex upper case; query
 * pairs sorted stably by key. Idempotent: the canonical form of url.url is url.url.
 */
#ifndef DX_CANON_URL_H
#define DX_CANON_URL_H

#include "base/bytes.h"
#include "base/error.h"
#include "canon/psl.h"
#include "canon/reject.h"

#define DX_CANON_VERSION 1
#define DX_URL_MAX 8192 /* bytes of a URL, given or canonical: longer ones are data, not names */
struct dx_canon;

struct dx_url {
    struct dx_span url;        /* scheme "://" host path_query */
    struct dx_span scheme;     /* "https" */
    struct dx_span host;       /* A-labels or IP literal, ":port" when not the default */
    struct dx_span hostname;   /* host without the port */
    struct dx_span path_query; /* begins with '/' */
    struct dx_span domain;     /* eTLD+1; an IP literal (IPv6: in brackets) is its own */
};

int dx_canon_new(struct dx_canon **c, const struct dx_psl *psl, struct dx_error *err);
void dx_canon_free(struct dx_canon **c);

/* Hosts come in order: one that is not that of the call before hardly comes again, and to keep
 * domains of hosts costs more than it spares. Answers are the same. */
void dx_canon_in_order(struct dx_canon *c);

/* A URL; without a scheme http is taken ("example.com/a", "//example.com/a"). After a
 * rejection for DX_REJECT_PUBLIC_SUFFIX all of *url but `domain` is filled; after the others
 * it is empty. */
int dx_canon_url(struct dx_canon *c, struct dx_span raw, struct dx_url *url, enum dx_reject *why);

/* The registered domain of a domain, host, host:port or URL ("WWW.Example.COM.",
 * "münchen.de"); also of an IPv6 address without brackets, as people type it. The domain of
 * a domain is that domain. */
int dx_canon_domain(struct dx_canon *c, struct dx_span raw, struct dx_span *domain,
                    enum dx_reject *why);

/* The same by the ICANN section of the list alone: "foo.github.io" is of "github.io". */
int dx_canon_icann_domain(struct dx_canon *c, struct dx_span raw, struct dx_span *domain,
                          enum dx_reject *why);

/* As dx_canon_domain, of a host that is canonical already, as a URL has it (a port may follow). 1, or 0: it
 * has none. *domain points into it. Any thread. */
int dx_canon_host_domain(const struct dx_psl *psl, struct dx_span host, struct dx_span *domain);

#endif
