/* SPDX-License-Identifier: Apache-2.0
 * answer.h - the answers, as JSON text, free of HTTP.
 *
 *   rc = dx_answer_domain(&view, canon, asked, DX_DOMAIN_FIELDS_ALL, &body, &problem);
 *     1   body holds the JSON of the answer
 *     0   problem says why there is none (absent, badly asked)
 *    <0   problem says what failed; body is empty
 *
 * `view` is a pinned version and what of it may be seen (query/view.h); `canon` belongs to the calling
 * thread and must have been made from this version's suffix list (dx_version_canon_new). `asked` is
 * percent-decoded text as the client sent it. Everything in a body comes from `view` alone. All functions
 * are safe from several threads on one version. dx_answer_urls and dx_answer_url read the lake and may
 * block on disk, dx_answer_domain may where a view hides some of the datasets (query/task.h); the others
 * touch mapped memory only.
 */
#ifndef DX_QUERY_ANSWER_H
#define DX_QUERY_ANSWER_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/manifest.h"
#include "query/problem.h"

#define DX_LIMIT_DEFAULT 1000 /* rows of a page when the client names none (spec 4.2) */
#define DX_LIMIT_MAX 10000    /* rows of a page at most: about 1 MB of JSON */
#define DX_CSV_LIMIT 100000   /* lines of CSV, by default and at most: a few MB */
#define DX_PATHS_LIMIT_DEFAULT 100
#define DX_PATHS_LIMIT_MAX 256 /* all that is stored: DX_FACTS_PATHS_MAX */
#define DX_DATASETS_LIMIT_DEFAULT 10000
#define DX_DATASETS_LIMIT_MAX 100000

struct dx_canon;
struct dx_cursor;
struct dx_cursor_key;
struct dx_numbers_now;
struct dx_version;
struct dx_view;

/* Which optional members the items of a URL listing carry. */
enum {
    DX_FIELD_URL_ID = 1,
    DX_FIELD_URL = 2,
    DX_FIELD_TS = 4,
    DX_FIELD_RAW_URL = 8,
    DX_FIELD_EXTRAS = 16,
    DX_FIELD_TITLE = 32,
    DX_FIELD_CONTENT_TYPE = 64,
    DX_FIELD_TAGS = 128,
    DX_FIELDS_DEFAULT = DX_FIELD_URL_ID | DX_FIELD_URL | DX_FIELD_TS,
    DX_FIELDS_NAMED = DX_FIELD_TITLE | DX_FIELD_CONTENT_TYPE |
                      DX_FIELD_TAGS, /* extras of that name */
    DX_FIELDS_ALL = 255,
    DX_FIELD_COUNT = 8
};

/* By the number of the bit. */
extern const char *const dx_field_names[DX_FIELD_COUNT];

/* Which members the datasets of a domain carry, in this order. dataset_id is there always. */
enum {
    DX_DOMAIN_FIELD_ID = 1,
    DX_DOMAIN_FIELD_NAME = 2,
    DX_DOMAIN_FIELD_URLS = 4,
    DX_DOMAIN_FIELD_URLS_EST = 8,
    DX_DOMAIN_FIELD_ROWS = 16,
    DX_DOMAIN_FIELD_FIRST_TS = 32,
    DX_DOMAIN_FIELD_LAST_TS = 64,
    DX_DOMAIN_FIELD_SHARE = 128,
    DX_DOMAIN_FIELD_RANK = 256,
    DX_DOMAIN_FIELDS_ALL = 511,
    DX_DOMAIN_FIELD_COUNT = 9
};

extern const char *const dx_domain_field_names[DX_DOMAIN_FIELD_COUNT];

struct dx_page_of {
    uint64_t offset;
    uint64_t limit;
};

/* GET /v1/domain/{d}: the datasets that contain it, with exact counts. fields: DX_DOMAIN_FIELD_... */
int dx_answer_domain(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                     unsigned fields, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/domain/{d}/datasets/{id}/urls */
int dx_answer_urls(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                   uint32_t dataset_id, struct dx_page_of page, unsigned fields,
                   struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/url?u=: limit rows of each dataset. */
int dx_answer_url(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                  uint64_t limit, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/datasets and /v1/datasets/{id} */
int dx_answer_datasets(const struct dx_view *view, struct dx_page_of page, struct dx_buf *body,
                       struct dx_problem *problem);
int dx_answer_dataset(const struct dx_view *view, uint32_t dataset_id, struct dx_buf *body,
                      struct dx_problem *problem);

/* GET /v1/datasets/{id}/top-domains. csv: RFC 4180 with a header line instead of JSON. */
struct dx_top_ask {
    uint32_t dataset_id;
    struct dx_span share; /* as it was asked; data NULL: all domains */
    struct dx_page_of page;
    bool csv;
};

int dx_answer_top_domains(const struct dx_view *view, struct dx_canon *canon,
                          const struct dx_top_ask *ask, struct dx_buf *body,
                          struct dx_problem *problem);

/* GET /v1/datasets/{a}/overlap/{b}: reads both lists of domains, some 10 ms a million. */
int dx_answer_overlap(const struct dx_view *view, uint32_t a, uint32_t b, struct dx_buf *body,
                      struct dx_problem *problem);

/* GET /v1/normalize?q= : what a URL, host or domain is reduced to, or why not. */
int dx_answer_normalize(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                        struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/keys?url= : the keys of one URL in each scheme. numbers: where its domain64 is looked up; NULL: nowhere.
 * It says nothing of whether the index has the URL. */
int dx_answer_keys(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                   struct dx_numbers_now *numbers, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/versions: the versions the manifest lists, which one is current, which are open here.
 * resident: NULL knows of none but v. */
int dx_answer_versions(const struct dx_view *view, bool (*resident)(void *ctx, const char *version),
                       void *ctx, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/domain/{d}/diff: the datasets of a domain in two versions. canon: of `after`. */
int dx_answer_diff(const struct dx_view *before, const struct dx_view *after,
                   struct dx_canon *canon, struct dx_span asked, struct dx_buf *body,
                   struct dx_problem *problem);

/* GET /v1/changes: the domains that differ between two versions, in order of keys, a page at a time.
 * A page may be short, and even empty, and go on all the same: what a request may look at is
 * bounded. */
struct dx_changes_ask {
    uint64_t limit;
    const struct dx_cursor *from; /* NULL: the first page */
    const struct dx_cursor_key *cursors;
    const char *principal; /* whose cursors are: query/cursor.h */
    int64_t began_s;       /* seconds since 1970: a cursor's life begins */
    uint64_t look_max;     /* domains that it may look at; 0: the usual cap */
};

int dx_answer_changes(const struct dx_view *before, const struct dx_view *after,
                      const struct dx_changes_ask *ask, struct dx_buf *body,
                      struct dx_problem *problem);

/* The version that a client means by `text`, of those that v's manifest lists: a name, a number, or,
 * data NULL, the one before v. 1, or 0 with the problem; whether it is open is another question. */
int dx_answer_version_meant(struct dx_version *v, struct dx_span text, char name[DX_VERSION_NAME],
                            struct dx_problem *problem);

/* "url_id,url,ts,raw_url,extras,title,content_type,tags" in any order; false names the bad word in *bad. */
bool dx_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad);

/* The same of the datasets of a domain. */
bool dx_domain_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad);

#endif
