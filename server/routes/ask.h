/* SPDX-License-Identifier: Apache-2.0
 * ask.h - a question: the parameters of all routes, as server/routes/target.h reads them from a
 * request target.
 *
 * A plain value of some 20 KiB. Its spans lie in its text, or in the target.
 */
#ifndef DX_SERVER_ROUTES_ASK_H
#define DX_SERVER_ROUTES_ASK_H

#include "query/answers/task.h"
#include "query/formats/row_format.h"
#include "query/rows/cursor.h"
#include "server/http/coding.h"
#include "server/http/request_head.h"
#include "server/routes/routes.h"

struct dx_scope;

struct dx_ask {
    enum dx_route_id route; /* after 0: DX_ROUTE_COUNT, or what the rest does not apply to */
    /* Texts, in ask->text or borrowed until dx_ask_copy; data NULL: not given. From here to
     * filter.below all members are spans: dx_ask_copy takes each with it. */
    struct dx_span asked; /* the domain, the tag, or the value of q or u */
    struct dx_span fields;
    struct dx_span version; /* that shall answer: also the `to` of a diff */
    struct dx_span before;  /* that it is compared with: `from` of a diff, `since` of changes */
    struct dx_span cursor;
    struct dx_span share;
    struct dx_span format;       /* of the answer */
    struct dx_span datasets;     /* a list, or ids of the columns of a matrix */
    struct dx_span columns;      /* of foreign files */
    struct dx_span prefix;       /* of tags, or of domains */
    struct dx_span suffix;       /* of domains */
    struct dx_span match, regex; /* of domains: patterns of names */
    struct dx_span query;        /* of a route that reads it itself: as it was sent */
    struct dx_span host; /* of addresses in the answer, if it has some; size 0: none is known */
    struct dx_span range_from, range_to; /* as they were written */
    /* Names instead of dataset_id and other_id: dx_ask_pin or dx_ask_fetch looks them up. */
    struct dx_span dataset_name, other_name;
    struct dx_row_filter filter; /* of a listing */

    uint32_t dataset_id;
    uint32_t other_id; /* of an overlap: that it is compared with */
    bool secure;       /* the request, of which host is, came over TLS */
    uint64_t url_id;
    uint64_t range_first, range_end; /* range_end 0: beyond all numbers */
    struct dx_page_of page;
    bool offset_given, limit_given;
    enum dx_timeline_by by;
    bool by_name;              /* order of hosts */
    bool one_dataset;          /* dataset_id is a parameter's */
    bool sections;             /* paths by section */
    bool of_given;             /* what of a tag is listed */
    bool of_urls;              /* its rows; else its domains */
    struct dx_url_order order; /* of rows of several datasets */
    bool closest_given;
    unsigned datasets_by; /* order of the datasets of a domain: DX_DOMAIN_FIELD_...; 0: by id */
    bool datasets_reverse;
    bool view_icann; /* a domain as ICANN's part of the suffix list has it */
    bool subdomains; /* of a host */
    bool of_host;    /* asked is one */
    bool atom;       /* changes of a domain, as a feed */
    bool atom_given; /* whether or not */
    unsigned plan;   /* 0: not given */
    bool row_format_given;
    enum dx_row_format row_format; /* of rows; by Accept too: server/routes/row_ask.h */
    uint64_t row_limit;            /* of a stream: of all its pages */
    bool receipt;                  /* a signed statement is wanted */
    bool wants_page;               /* of a browser: the web page rather than an answer */

    /* The caller, set between parsing and dx_ask_resolve: cursors are this principal's. NULL: there
     * is no access table. Borrowed, until the answer is there. */
    const char *principal;
    enum dx_coding coding; /* that the client wants, set as principal is */

    /* What server/routes/answers.h makes of them. */
    unsigned field_bits;
    char wanted[DX_VERSION_NAME];   /* the version that shall answer; "": the current one */
    char compared[DX_VERSION_NAME]; /* with which; "": not said */
    int64_t now_s;                  /* seconds since 1970 */
    bool brief;                     /* it is asked on a loop */
    const struct dx_scope *scope;   /* what the caller may see; NULL: everything. Held by it */

    struct dx_cursor
        from; /* kind 0: none. The last that is cleared, and only as far as it then has to be */

    uint8_t text[DX_TARGET_MAX + DX_ROW_FILTER_MAX]; /* of a target, and what its cursor fetches */
    size_t text_size;
};

#endif
