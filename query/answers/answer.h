/* SPDX-License-Identifier: Apache-2.0
 * answer.h - the answers, as JSON text, free of HTTP.
 *
 *   rc = dx_answer_domain(&view, canon, asked, DX_DOMAIN_FIELDS_ALL, &body, &problem);
 *     1   body holds the JSON of the answer
 *     0   problem says why there is none (absent, badly asked)
 *    <0   problem says what failed; body is empty
 *
 * `view` is a pinned version and what of it may be seen (query/view/view.h); `canon` belongs to the
 * calling thread and must have been made from this version's suffix list (dx_version_canon_new).
 * `asked` is percent-decoded text as the client sent it. Everything in a body comes from `view`
 * alone. All functions are safe from several threads on one version. dx_answer_urls,
 * dx_answer_all_urls and dx_answer_url read the lake and may block on disk, dx_answer_domain may where a view hides some
 * of the datasets (query/answers/task.h); the others touch mapped memory only.
 */
#ifndef DX_QUERY_ANSWERS_ANSWER_H
#define DX_QUERY_ANSWERS_ANSWER_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/version/manifest.h"
#include "query/rows/cursor.h"
#include "query/view/fields.h"
#include "query/view/problem.h"

struct dx_canon;
struct dx_domain64_live;
struct dx_version;
struct dx_view;

/* What an answer says in numbers, for the log of requests; of use only if the rc is 1. An answer
 * that has no such numbers takes none and leaves it as it is. NULL: not wanted. */
struct dx_answer_summary {
    uint64_t domain_id; /* if has_domain_id */
    bool has_domain_id;
    uint64_t datasets; /* dataset_count */
    uint64_t rows;     /* row_count, or total of a listing */
    /* Of CDX answers, for fields of the reply: rows that were left out because they have no time, whether there are more than
     * the limit let in, and whether rows were searched for by the order of paths (query/cdx/cdx_between.h has the exception). */
    uint64_t untimed_rows;
    bool more_rows;
    bool by_paths;
};

static inline void dx_answer_summarize(struct dx_answer_summary *summary,
                                       struct dx_answer_summary what)
{
    if (summary != NULL)
        *summary = what;
}

/* GET /v1/domain/{d}: the datasets that contain it, with exact counts. fields:
 * DX_DOMAIN_FIELD_... */
int dx_answer_domain(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                     unsigned fields, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/domain/{d}/datasets/{id}/urls */
int dx_answer_urls(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                   uint32_t dataset_id, struct dx_page_of page, unsigned fields,
                   struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/domain/{d}/urls */
int dx_answer_all_urls(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                       struct dx_page_of page, unsigned fields, struct dx_buf *body,
                       struct dx_problem *problem);

/* GET /v1/url?u=: limit rows of each dataset. */
int dx_answer_url(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                  uint64_t limit, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/datasets and /v1/datasets/{id} */
int dx_answer_datasets(const struct dx_view *view, struct dx_page_of page, struct dx_buf *body,
                       struct dx_problem *problem);
int dx_answer_dataset(const struct dx_view *view, uint32_t dataset_id,
                      struct dx_answer_summary *summary, struct dx_buf *body,
                      struct dx_problem *problem);

/* GET /v1/datasets/{id}/top-domains */
struct dx_top_ask {
    uint32_t dataset_id;
    struct dx_span share; /* as it was asked; data NULL: all domains */
    struct dx_page_of page;
};

int dx_answer_top_domains(const struct dx_view *view, struct dx_canon *canon,
                          const struct dx_top_ask *ask, struct dx_buf *body,
                          struct dx_problem *problem);

/* GET /v1/datasets/{a}/overlap/{b}: reads both lists of domains, some 10 ms a million. */
int dx_answer_overlap(const struct dx_view *view, struct dx_canon *canon, uint32_t a, uint32_t b,
                      struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/normalize?q= : what a URL, host or domain is reduced to, or why not. */
int dx_answer_normalize(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                        struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/keys?url= : the keys of one URL in each scheme. numbers: where its domain64 is looked up;
 * NULL: nowhere. It says nothing of whether the index has the URL. */
int dx_answer_keys(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                   struct dx_domain64_live *numbers, struct dx_answer_summary *summary,
                   struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/versions: the versions the manifest lists, which one is current, which are open here.
 * resident: NULL knows of none but v. */
int dx_answer_versions(const struct dx_view *view, bool (*resident)(void *ctx, const char *version),
                       void *ctx, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/tlds: domains, URLs and rows of each top-level domain, the last label, in byte order.
 * Those that have none (addresses) come first. A page may be short, and even empty, and go on all
 * the same: what a request may examine is bounded. A TLD is in it as a whole: cursors carry what
 * was added up so far. */
struct dx_tlds_ask {
    bool one_dataset; /* of dataset_id alone */
    uint32_t dataset_id;
    uint64_t limit;
    struct dx_paging paging;
    uint64_t look_max; /* domains that it may examine; 0: the usual cap */
};

int dx_answer_tlds(const struct dx_view *view, struct dx_canon *canon,
                   const struct dx_tlds_ask *ask, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/complete?q=: domains that go on from what was typed (query/view/completion.h says
 * which), each of which GET /v1/domain/{d} would answer with 200. Memory: 270 bytes for each of
 * limit. */
struct dx_complete_ask {
    struct dx_span asked;
    uint64_t limit;
};

int dx_answer_complete(const struct dx_view *view, struct dx_canon *canon,
                       const struct dx_complete_ask *ask, struct dx_buf *body,
                       struct dx_problem *problem);

/* GET /v1/domains: domains of a suffix, or all, in order of keys, with counts. A page may be short, and even empty, and
 * go on all the same: what a request may examine is bounded. A plan is cursors of parts with about as many names each. */
struct dx_domains_ask {
    bool one_dataset; /* of dataset_id alone */
    uint32_t dataset_id;
    struct dx_span suffix; /* "co.uk": what is below it, and it; data NULL: all */
    struct dx_span prefix; /* of names; size 0: all */
    struct dx_span match;  /* of names: query/view/name_pattern.h; data NULL: all */
    struct dx_span regex;  /* the same */
    uint64_t limit;
    unsigned fields;         /* DX_DOMAINS_FIELD_... */
    unsigned plan;           /* so many cursors instead of domains; 0: domains */
    struct dx_paging paging; /* suffix, prefix, match and fields are those of `from` */
    uint64_t look_max;       /* domains that it may examine; 0: the usual cap */
};

int dx_answer_domains(const struct dx_view *view, struct dx_canon *canon,
                      const struct dx_domains_ask *ask, struct dx_buf *body,
                      struct dx_problem *problem);

#endif
