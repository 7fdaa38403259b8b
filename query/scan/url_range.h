/* SPDX-License-Identifier: Apache-2.0
 * url_range.h - which URLs of a registered domain a listing is of: all, of a host, of a host and what is below it, with a
 * path prefix, or one.
 *
 *   const struct dx_url_range r = { DX_URL_RANGE_PREFIX, host, dx_span_str("/wiki/") };
 *   dx_url_range_side(&r, host, path_query)      where a row stands to it
 *   dx_url_range_has(&r, host, path_query)
 *   dx_url_range_contiguous(&r)                  whether its rows stand together in order of (host, path_query)
 *
 * Hosts have their port, unless it is that of the scheme, and are compared byte by byte, as paths are; the scheme does not
 * count. Hosts below another one do not stand together in byte order: of such a range side says only within or not. Spans
 * are borrowed. Pure; any thread.
 */
#ifndef DX_QUERY_SCAN_URL_RANGE_H
#define DX_QUERY_SCAN_URL_RANGE_H

#include "base/bytes.h"

enum dx_url_range_kind {
    DX_URL_RANGE_DOMAIN, /* all of the domain: the spans are not used */
    DX_URL_RANGE_HOST,
    DX_URL_RANGE_SUBDOMAINS, /* the host, with whatever port, and all below it */
    DX_URL_RANGE_PREFIX,     /* of one host: path_query begins with `path` */
    DX_URL_RANGE_URL         /* host and path_query, of whatever scheme */
};

struct dx_url_range {
    enum dx_url_range_kind kind;
    struct dx_span host, path;
};

enum { DX_URL_BEFORE = -1, DX_URL_WITHIN = 0, DX_URL_BEHIND = 1 };

int dx_url_range_side(const struct dx_url_range *r, struct dx_span host, struct dx_span path_query);

static inline bool dx_url_range_has(const struct dx_url_range *r, struct dx_span host,
                                    struct dx_span path_query)
{
    return dx_url_range_side(r, host, path_query) == DX_URL_WITHIN;
}

static inline bool dx_url_range_contiguous(const struct dx_url_range *r)
{
    return r->kind != DX_URL_RANGE_SUBDOMAINS;
}

#endif
