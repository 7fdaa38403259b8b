/* SPDX-License-Identifier: Apache-2.0
 * cdx_domains.h - the domains below a host, in order of the first key that a row of each may have.
 *
 *   struct dx_cdx_domains d;
 *   rc = dx_cdx_domains_init(&d, &view, host, from, &err);              from: a urlkey; size 0: all
 *   while ((rc = dx_cdx_domains_next(&d, &problem)) == 1)
 *       ... d.at ...                                                    the walk that came to it (query/scan/domain_walk.h)
 *       ... dx_cdx_domains_key(&d) ...                                   that first key, "com,example)/"
 *     1   the next one; d.at->pairs.count 0: nothing of it may be shown, and nothing is said of it
 *     0   behind the last one
 *    <0   problem
 *   dx_cdx_domains_release(&d);                                         also after a failure
 *
 * All keys of a domain lie from "com,example)/" up to "com,example;": its hosts, and ports. So in the order of names the first keys
 * are in order too, and where one lies behind what is looked for, so do all that come later. Not so of www.co.uk, and www2.co.uk, whose own key
 * is "uk,co)/": such domains come before all others below co.uk.
 *
 * With `from` domains are left out of which all keys lie before it: where to begin is looked up in the dictionary. Before the first
 * one in order come those whose names begin it, which may have hosts or ports behind.
 *
 * What the view has is held by the caller; from is copied. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_DOMAINS_H
#define DX_QUERY_CDX_CDX_DOMAINS_H

#include "query/scan/domain_walk.h"

struct dx_cdx_domains {
    struct dx_domain_walk *at;

    /* private */
    struct dx_view view;
    size_t host_size; /* of its key */
    struct dx_domain_walk all;
    bool begun, waits; /* `all` came to a domain that stands behind those of `few` */
    uint8_t last[DX_SURT_MAX +
                 2]; /* key of that one, or the beginning of `from` with a space behind it */
    size_t last_size;
    /* Names below which `few` are looked for: beginnings of `last`. */
    bool of_from;
    size_t place;
    unsigned kind;
    bool has_few;
    struct dx_domain_walk few;
    uint8_t key[DX_SURT_MAX + 2];
};

int dx_cdx_domains_init(struct dx_cdx_domains *d, const struct dx_view *view, struct dx_span host,
                        struct dx_span from, struct dx_error *err);
int dx_cdx_domains_next(struct dx_cdx_domains *d, struct dx_problem *problem);
struct dx_span dx_cdx_domains_key(struct dx_cdx_domains *d);
void dx_cdx_domains_release(struct dx_cdx_domains *d);

#endif
