/* SPDX-License-Identifier: Apache-2.0
 * target.h - from a request target to the question it asks.
 *
 *   rc = dx_target_parse(target, &ask, &problem);    1 known; 0 problem says why not
 *
 * Path segments and parameter values are percent-decoded exactly once, '+' stays '+'.
 * Parameters are strict: an unknown or repeated name, a number that is none or out of
 * range, a malformed escape are refused with words, nothing is silently cut or ignored.
 * Decoded text lies in ask->text (or in the target itself, when nothing needed decoding):
 * both must outlive the spans of ask. No I/O, no allocation; any thread.
 */
#ifndef DX_SERVER_TARGET_H
#define DX_SERVER_TARGET_H

#include "query/cursor.h"
#include "query/task.h"
#include "server/request_head.h"

struct dx_scope;

enum dx_route {
    DX_ROUTE_DOMAIN,
    DX_ROUTE_URLS,
    DX_ROUTE_DATASETS,
    DX_ROUTE_DATASET,
    DX_ROUTE_TOP_DOMAINS,
    DX_ROUTE_OVERLAP,
    DX_ROUTE_NORMALIZE,
    DX_ROUTE_URL,
    DX_ROUTE_URLID,
    DX_ROUTE_HOSTS,
    DX_ROUTE_PATHS,
    DX_ROUTE_DIFF,
    DX_ROUTE_CHANGES,
    DX_ROUTE_VERSIONS,
    DX_ROUTE_TAGS,
    DX_ROUTE_TAG,
    DX_ROUTE_NAMES,
    DX_ROUTE_KEYS,
    DX_ROUTE_RANGE,
    DX_ROUTE_HEALTHZ,
    DX_ROUTE_READYZ,
    DX_ROUTE_METRICS, /* these two are not parsed here: server/admin_routes.h */
    DX_ROUTE_PROGRAM,
    DX_ROUTE_COUNT
};

struct dx_ask {
    enum dx_route route;  /* after 0: DX_ROUTE_COUNT, or what the rest is no question to */
    struct dx_span asked; /* the domain, the tag, or the value of q or u */
    /* Values of parameters; data NULL: not given. */
    struct dx_span fields;
    struct dx_span version; /* that shall answer: also the `to` of a diff */
    struct dx_span before;  /* that it is compared with: `from` of a diff, `since` of changes */
    struct dx_span cursor;
    struct dx_span share;
    struct dx_span format;       /* of the answer */
    struct dx_span datasets;     /* ids, of the columns of a matrix */
    struct dx_row_filter filter; /* of a listing */
    struct dx_span prefix;       /* of tags */
    uint32_t dataset_id;
    uint32_t other_id; /* of an overlap: that it is compared with */
    uint64_t url_id;
    struct dx_span range_from, range_to; /* as they were written; data NULL: not given */
    uint64_t range_first, range_end;     /* range_end 0: beyond all numbers */
    struct dx_page_of page;
    bool offset_given, limit_given;
    bool by_name;     /* order of hosts */
    bool one_dataset; /* dataset_id is a parameter's */
    bool sections;    /* paths by section */
    bool of_given;    /* what of a tag is listed */
    bool of_urls;     /* its rows; else its domains */
    unsigned plan;    /* 0: not given */
    bool csv;         /* rather than JSON */

    /* Who asks, set between parsing and dx_ask_resolve: cursors are this principal's. NULL: there is no table of
     * access. Borrowed, until the answer is there. */
    const char *principal;

    /* What server/answers.h makes of them. */
    unsigned field_bits;
    char wanted[DX_VERSION_NAME];   /* the version that shall answer; "": the current one */
    char compared[DX_VERSION_NAME]; /* with which; "": not said */
    struct dx_cursor from;          /* kind 0: none */
    int64_t now_s;                  /* seconds since 1970 */
    bool brief;                     /* it is asked on a loop */
    const struct dx_scope *scope;   /* what who asks may see; NULL: everything. Held by him */

    uint8_t text[DX_TARGET_MAX + DX_ROW_FILTER_MAX]; /* of a target, and what its cursor brings */
    size_t text_size;
};

/* target: origin form, as struct dx_request_head gives it; empty or "?query" mean path "/". */
int dx_target_parse(struct dx_span target, struct dx_ask *ask, struct dx_problem *problem);

#endif
