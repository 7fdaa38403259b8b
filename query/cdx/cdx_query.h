/* SPDX-License-Identifier: Apache-2.0
 * cdx_query.h - from the parameters of a CDX request, as they stand behind its '?', to what it asks for.
 *
 *   struct dx_buf text = DX_BUF_INIT(query.size + 1);          spans of ask lie in it
 *   rc = dx_cdx_query_parse(query, DX_CDX_WAYBACK, &text, &ask, &problem);      1; 0: a value that cannot be; <0
 *
 * A '+' is a space, names that are unknown are ignored, and of a name that comes twice the last value counts, but for `filter` and
 * `collapse`: as the servers do whose clients send them. What is known and cannot be served is refused. docs/API.md has the table.
 * Pure; any thread.
 */
#ifndef DX_QUERY_CDX_CDX_QUERY_H
#define DX_QUERY_CDX_CDX_QUERY_H

#include "base/buf.h"
#include "query/cdx/cdx_ask.h"

#define DX_CDX_LIMIT_WAYBACK 150000
#define DX_CDX_LIMIT_PYWB 100000

struct dx_problem;

int dx_cdx_query_parse(struct dx_span query, enum dx_cdx_dialect dialect, struct dx_buf *text,
                       struct dx_cdx_ask *ask, struct dx_problem *problem);

/* One parameter as it was sent, undecoded; data NULL: it is not there. */
struct dx_span dx_cdx_query_value(struct dx_span query, const char *name);

#endif
