/* SPDX-License-Identifier: Apache-2.0
 * cdx_task.h - the answers of a CDX server, as tasks (query/answers/task.h).
 *
 *   struct dx_cdx_request request = { .query = ..., .dialect = DX_CDX_PYWB, .dataset = name, ... };
 *   rc = dx_task_cdx(&view, canon, &request, &task, &summary, &body, &problem);
 *   rc = dx_answer_collinfo(&view, host, &body, &problem);         the list of datasets, as Common Crawl's collinfo.json
 *
 * All visible rows of the registered domain of the question are looked at, or where these are many those of its host, and of more than may be looked at
 * those that may have a key of the question, all or a piece of the keys after the other (query/cdx/cdx_search.h); and the
 * first ones of the key range, in order, are kept: what is kept is bounded (query/cdx/cdx_select.h). Where that is less than what the answer
 * needs, rows are looked at once more, from behind the last one. With matchType=domain the domains below it are passed in the order of
 * their keys (query/cdx/cdx_domains.h), from that of resumeKey on and up to where none has a row that would be kept, and some are read ahead
 * (query/scan/domains_ahead.h): of a suffix an answer costs what its own rows cost. Pages of a suffix are stretches of rows in the order of domains, so that
 * those before a page are counted and not read; so are they of a domain with all below it and of a host, and where one has more rows than may be
 * looked at, stretches in the order of listings.
 *
 * What an answer may look at is DX_CDX_LOOK_MAX rows, half of the time of the request and DX_CDX_REGEX_STEPS. Where showResumeKey lets it, it ends
 * before the domain, or the piece of keys, that would be too much, with fewer rows and a key to go on by; else it is DX_E_LIMIT, which is 422. query: what stands
 * behind '?'. Spans are needed for the first step only. A task is for one thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_TASK_H
#define DX_QUERY_CDX_CDX_TASK_H

#include "query/answers/task.h"
#include "query/cdx/cdx_ask.h"

#define DX_CDX_LOOK_MAX (2u << 20) /* rows: some two seconds of one core */
#define DX_CDX_BODY_MAX ((size_t)32 << 20)

struct dx_cdx_request {
    struct dx_span query;
    enum dx_cdx_dialect dialect;
    struct dx_span dataset; /* its name; data NULL: all */
    uint64_t deadline_ms;
    size_t select_bytes; /* 0: DX_CDX_SELECT_BYTES. Tests have less */
    uint64_t look_max;   /* 0: DX_CDX_LOOK_MAX. Likewise */
};

int dx_task_cdx(const struct dx_view *view, struct dx_canon *canon,
                const struct dx_cdx_request *request, struct dx_task **out,
                struct dx_answer_summary *summary, struct dx_buf *body, struct dx_problem *problem);

/* host: of the request, before which "http://" is put; size 0: addresses begin with '/'. */
int dx_answer_collinfo(const struct dx_view *view, struct dx_span base, struct dx_buf *body,
                       struct dx_problem *problem);

#endif
