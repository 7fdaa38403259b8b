/* SPDX-License-Identifier: Apache-2.0
 * cdx_scope.h - which rows a CDX question is about: a range of keys.
 *
 *   struct dx_cdx_scope s;
 *   rc = dx_cdx_scope_init(&s, canon, ask, &problem);        1; 0: not a URL, or a public suffix where it is not asked what is below; <0
 *   ... s.domain ...                                         the registered domain of the rows; size 0: a public suffix has none
 *   ... s.host, s.below ...                                  below: and all domains whose names are below this one
 *   dx_cdx_scope_may_have(&s, host)                          whether a row of this host may be in it: cheap
 *   keys = dx_cdx_scope_keys(&s); dx_cdx_keys_has(&keys, urlkey)    (query/cdx/cdx_between.h)
 *   dx_cdx_scope_release(&s);                                also after a failure
 *
 * The same ranges as pywb's calc_search_range: exact, prefix, host (without ports), domain (and its subdomains, of whatever domain they are). One thread.
 */
#ifndef DX_QUERY_CDX_CDX_SCOPE_H
#define DX_QUERY_CDX_CDX_SCOPE_H

#include "canon/urlkey.h"
#include "query/cdx/cdx_ask.h"
#include "query/cdx/cdx_between.h"

struct dx_canon;
struct dx_problem;

struct dx_cdx_scope {
    struct dx_buf domain;
    struct dx_buf host; /* canonical, without "www." and port */
    bool below;         /* hosts below it too */

    /* private */
    struct dx_buf start, end; /* of keys with a space behind them */
};

int dx_cdx_scope_init(struct dx_cdx_scope *s, struct dx_canon *canon, const struct dx_cdx_ask *ask,
                      struct dx_problem *problem);
bool dx_cdx_scope_may_have(const struct dx_cdx_scope *s, struct dx_span host);
struct dx_cdx_keys dx_cdx_scope_keys(const struct dx_cdx_scope *s); /* until release */
void dx_cdx_scope_release(struct dx_cdx_scope *s);

#endif
