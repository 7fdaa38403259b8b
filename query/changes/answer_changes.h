/* SPDX-License-Identifier: Apache-2.0
 * answer_changes.h - the answers that compare two versions, as JSON text or a feed; query/answers/answer.h says how all answers
 * are called and what they return.
 *
 *   rc = dx_answer_version_meant(v, text, name, &problem);                 which version the client names; then it is opened
 *   rc = dx_answer_diff(&before, &after, canon, asked, &summary, &body, &problem);
 *   rc = dx_answer_domain_changes(&view, canon, &ask, &summary, &body, &problem);
 *   rc = dx_answer_changes(&before, &after, &ask, &body, &problem);
 *
 * Both versions are pinned by the caller. Mapped memory only; any thread.
 */
#ifndef DX_QUERY_CHANGES_ANSWER_CHANGES_H
#define DX_QUERY_CHANGES_ANSWER_CHANGES_H

#include "query/answers/answer.h"

struct dx_manifest;
struct dx_manifest_version;

/* GET /v1/domain/{d}/diff: the datasets of a domain in two versions. canon: of `after`. */
int dx_answer_diff(const struct dx_view *before, const struct dx_view *after,
                   struct dx_canon *canon, struct dx_span asked, struct dx_answer_summary *summary,
                   struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/domain/{d}/changes: what versions changed for one domain, the newest first. Each of `limit` versions is compared with
 * the one before it. `pin` opens an older one (1; 0 with a problem: it is gone; <0), `unpin` lets it go and says whether
 * all that was read of it may be believed (false with a problem). At the deadline the answer ends early and goes on at its
 * `next_to`. atom: as a feed (changes_feed.h) instead of JSON. */
struct dx_domain_changes_ask {
    struct dx_span asked;
    uint64_t limit;
    bool atom;
    struct dx_span base;  /* of links in a feed */
    uint64_t deadline_ms; /* on the clock of dx_clock_ms */
    const void *from;     /* first argument of both */
    int (*pin)(const void *from, const char *name, struct dx_version **v,
               struct dx_problem *problem);
    bool (*unpin)(const void *from, struct dx_version *v, struct dx_problem *problem);
};

int dx_answer_domain_changes(const struct dx_view *view, struct dx_canon *canon,
                             const struct dx_domain_changes_ask *ask,
                             struct dx_answer_summary *summary, struct dx_buf *body,
                             struct dx_problem *problem);

/* GET /v1/changes: the domains that differ between two versions, in order of keys, a page at a
 * time. A page may be short, and even empty, and go on all the same: what a request may look at is
 * bounded. */
struct dx_changes_ask {
    uint64_t limit;
    struct dx_paging paging;
    uint64_t look_max; /* domains that it may look at; 0: the usual cap */
};

int dx_answer_changes(const struct dx_view *before, const struct dx_view *after,
                      const struct dx_changes_ask *ask, struct dx_buf *body,
                      struct dx_problem *problem);

/* The newest one that is older than that and not dropped; NULL: none. */
const struct dx_manifest_version *dx_answer_version_before(const struct dx_manifest *m,
                                                           uint64_t sequence);

/* The version that a client means by `text`, of those that v's manifest lists: a name, a number,
 * or, data NULL, the one before v. 1, or 0 with the problem; whether it is open is another
 * question. */
int dx_answer_version_meant(struct dx_version *v, struct dx_span text, char name[DX_VERSION_NAME],
                            struct dx_problem *problem);

#endif
