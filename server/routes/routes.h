/* SPDX-License-Identifier: Apache-2.0
 * routes.h - all resources, a line each.
 *
 *   DX_ROUTE_DOMAIN                       a number, for counters and comparisons
 *   dx_routes[DX_ROUTE_DOMAIN]            what it is: server/routes/route.h
 *   dx_route_name(DX_ROUTE_DOMAIN)        "domain"; DX_ROUTE_COUNT, and all else: "none"
 *
 * Constants. Any thread.
 */
#ifndef DX_SERVER_ROUTES_ROUTES_H
#define DX_SERVER_ROUTES_ROUTES_H

/* In the order in which a path that no route has is shown the nearest ones. */
#define DX_ROUTES(X)                  \
    X(DOMAIN, domain)                 \
    X(DIFF, diff)                     \
    X(DOMAIN_CHANGES, domain_changes) \
    X(HOSTS, hosts)                   \
    X(PATHS, paths)                   \
    X(TIMELINE, timeline)             \
    X(CHANGES, changes)               \
    X(URLS, urls)                     \
    X(FOREIGN_ROWS, foreign_rows)     \
    X(ALL_URLS, all_urls)             \
    X(HOST_URLS, host_urls)           \
    X(DATASETS, datasets)             \
    X(DATASET, dataset)               \
    X(TOP_DOMAINS, top_domains)       \
    X(OVERLAP, overlap)               \
    X(NORMALIZE, normalize)           \
    X(DOMAINS, domains)               \
    X(NAMES, names)                   \
    X(URL, url)                       \
    X(URLID, urlid)                   \
    X(TAGS, tags)                     \
    X(TAG, tag)                       \
    X(TLDS, tlds)                     \
    X(SUFFIX, suffix)                 \
    X(SUFFIX_URLS, suffix_urls)       \
    X(COMPLETE, complete)             \
    X(KEYS, keys)                     \
    X(RANGE, range)                   \
    X(VERSIONS, versions)             \
    X(CDX, cdx)                       \
    X(CDX_INDEX, cdx_index)           \
    X(DATASET_INDEX, dataset_index)   \
    X(COLLINFO, collinfo)             \
    X(HEALTHZ, healthz)               \
    X(READYZ, readyz)                 \
    X(OPENAPI, openapi)               \
    X(RECEIPT_KEY, receipt_key)       \
    X(DOCS, docs)                     \
    X(METRICS, metrics)               \
    X(PROGRAM, program)

#define DX_ROUTE_NUMBER(number, name) DX_ROUTE_##number,
enum dx_route_id { DX_ROUTES(DX_ROUTE_NUMBER) DX_ROUTE_COUNT };
#undef DX_ROUTE_NUMBER

struct dx_route;

#define DX_ROUTE_DECLARE(number, name) extern const struct dx_route dx_route_##name;
DX_ROUTES(DX_ROUTE_DECLARE)
#undef DX_ROUTE_DECLARE

extern const struct dx_route *const dx_routes[DX_ROUTE_COUNT];

const char *dx_route_name(enum dx_route_id route);

#endif
