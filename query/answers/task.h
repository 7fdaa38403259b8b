/* SPDX-License-Identifier: Apache-2.0
 * task.h - an answer that has to read first, one step at a time.
 *
 *   struct dx_urls_ask ask = { .asked = domain, .dataset_id = 2, .page = { 0, 1000 }, ... };
 *   rc = dx_task_urls(&view, canon, &ask, &task, &body, &problem);
 *   while (rc == DX_TASK_WAITS) {
 *       struct dx_read_batch *r = dx_task_reading(task);
 *       rc = dx_read_batch_perform(r, &err);             or without blocking: query/view/read_batch.h
 *       rc = dx_task_resume(task, rc, &err, &body, &problem);
 *   }
 *   1, 0, <0: as query/answers/answer.h
 *   dx_task_free(&task);                              also before the end; NULL is fine
 *
 * Steps only compute: they decode, check and write out. What the view has must be held until free;
 * the canonicaliser and what `asked`, `tag`, `prefix`, `filter` and `from` of the ask point to are
 * needed for the first step only, what `cursors` and `principal` point to until free. Steps of one
 * task may be taken by several threads, one after the other. With `brief` of the ask the first step
 * ends within some hundred microseconds, and what takes longer is left to the next one: then it
 * waits for nothing (DX_READ_BATCH_DONE), and is resumed with DX_OK. task is NULL after an rc other
 * than DX_TASK_WAITS from dx_task_urls.
 */
#ifndef DX_QUERY_ANSWERS_TASK_H
#define DX_QUERY_ANSWERS_TASK_H

#include "query/answers/answer.h"
#include "query/answers/dataset_order.h"
#include "query/rows/row_filter.h"
#include "query/view/read_batch.h"

enum { DX_TASK_WAITS = 2 };

#define DX_PLAN_MAX 64 /* parts of a listing that is fetched in parallel */

struct dx_task;

/* GET /v1/domain/{d}: waits only where a view hides some of the domain's datasets and shows
 * several, so that their distinct URLs have to be counted. */
struct dx_domain_ask {
    struct dx_span asked;
    unsigned fields;               /* DX_DOMAIN_FIELD_... */
    struct dx_dataset_order order; /* all zero: all datasets, by id */
    bool brief;
    uint64_t deadline_ms;
};

int dx_task_domain(const struct dx_view *view, struct dx_canon *canon,
                   const struct dx_domain_ask *ask, struct dx_task **task,
                   struct dx_answer_summary *summary, struct dx_buf *body,
                   struct dx_problem *problem);

/* GET /v1/domain/{d}/datasets/{id}/urls */
struct dx_urls_ask {
    struct dx_span asked;
    uint32_t dataset_id;
    struct dx_page_of page; /* with `from`, the cursor decides where it begins */
    unsigned fields;
    struct dx_row_filter filter; /* of a cursor: its own */
    unsigned plan;               /* so many cursors instead of rows; 0: rows */
    struct dx_paging paging;
    bool foreign; /* it is for dx_task_foreign_rows, whose cursors these are */
    bool brief;   /* the caller must not be held: see below */
    /* on the clock of dx_clock_ms, for all that is waited for; 0: the source's own for each batch */
    uint64_t deadline_ms;
};

int dx_task_urls(const struct dx_view *view, struct dx_canon *canon, const struct dx_urls_ask *ask,
                 struct dx_task **task, struct dx_answer_summary *summary, struct dx_buf *body,
                 struct dx_problem *problem);

/* In which order rows come; all 0: by dataset_id, then as the listing of each goes. */
struct dx_url_order {
    enum dx_cursor_sort sort;
    bool reverse;       /* not of nearness */
    int64_t closest_us; /* of nearness */
    unsigned collapse;  /* enum dx_collapse (query/scan/collapse.h), by an order alone */
    unsigned digits;    /* of it */
};

/* GET /v1/domain/{d}/urls and /v1/host/{h}/urls: the rows of all its datasets. A page may be short, and go on all the
 * same. */
struct dx_all_urls_ask {
    struct dx_span asked;
    bool of_host;              /* asked is a host, and only its rows */
    bool subdomains;           /* and those of hosts below it */
    struct dx_url_order order; /* of a cursor: its own, as subdomains are */
    struct dx_span
        datasets; /* as of query/view/dataset_list.h; data NULL: all, or those of the cursor */
    struct dx_page_of page; /* with `from`, the cursor decides where it begins */
    unsigned fields;
    struct dx_row_filter filter; /* of a cursor: its own */
    unsigned plan;               /* so many cursors instead of rows; 0: rows */
    struct dx_paging paging;
    bool brief;           /* of a whole domain alone, by dataset, with no filter or one of times */
    uint64_t deadline_ms; /* as above */
};

int dx_task_all_urls(const struct dx_view *view, struct dx_canon *canon,
                     const struct dx_all_urls_ask *ask, struct dx_task **task,
                     struct dx_answer_summary *summary, struct dx_buf *body,
                     struct dx_problem *problem);

/* GET /v1/url?u=: where one URL stands, in all datasets. Its first step, too, may wait. */
#define DX_URL_LIMIT_DEFAULT 100
#define DX_URL_LIMIT_MAX 1000

struct dx_url_ask {
    struct dx_span asked;
    uint64_t limit; /* rows of each dataset that are shown */
    bool brief;
    uint64_t deadline_ms;
};

int dx_task_url(const struct dx_view *view, struct dx_canon *canon, const struct dx_url_ask *ask,
                struct dx_task **task, struct dx_answer_summary *summary, struct dx_buf *body,
                struct dx_problem *problem);

/* GET /v1/urlid/{id}: all URLs with one id. */
int dx_task_urlid(const struct dx_view *view, uint64_t url_id, uint64_t deadline_ms,
                  struct dx_task **task, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/domain/{d}/hosts */
struct dx_hosts_ask {
    struct dx_span asked;
    bool by_name;     /* in byte order; else most URLs first */
    bool one_dataset; /* of dataset_id alone */
    uint32_t dataset_id;
    struct dx_page_of page;
    uint64_t deadline_ms; /* as above */
};

int dx_task_hosts(const struct dx_view *view, struct dx_canon *canon,
                  const struct dx_hosts_ask *ask, struct dx_task **task,
                  struct dx_answer_summary *summary, struct dx_buf *body,
                  struct dx_problem *problem);

/* GET /v1/domain/{d}/timeline: rows by day, or months or years of days. */
enum dx_timeline_by { DX_TIMELINE_MONTH, DX_TIMELINE_YEAR, DX_TIMELINE_DAY };

struct dx_timeline_ask {
    struct dx_span asked;
    struct dx_span datasets; /* as of query/view/dataset_list.h; data NULL: all */
    enum dx_timeline_by by;
    uint64_t deadline_ms; /* as above */
};

int dx_task_timeline(const struct dx_view *view, struct dx_canon *canon,
                     const struct dx_timeline_ask *ask, struct dx_task **task,
                     struct dx_answer_summary *summary, struct dx_buf *body,
                     struct dx_problem *problem);

/* GET /v1/domain/{d}/datasets/{id}/paths */
struct dx_paths_ask {
    struct dx_span asked;
    uint32_t dataset_id;
    bool sections; /* first directories; else whole paths */
    bool whole;    /* all of them are wanted: more than may be listed are too many */
    uint64_t limit;
    uint64_t deadline_ms; /* as above */
};

int dx_task_paths(const struct dx_view *view, struct dx_canon *canon,
                  const struct dx_paths_ask *ask, struct dx_task **task,
                  struct dx_answer_summary *summary, struct dx_buf *body,
                  struct dx_problem *problem);

/* GET /v1/datasets/{a}/overlap/{b}: waits for nothing, but ends a step after 50 us or so. table: the numbers as the rows of an
 * array `measures`, one of domains and one of URLs, with the same members. */
int dx_task_overlap(const struct dx_view *view, struct dx_canon *canon, uint32_t a, uint32_t b,
                    bool table, struct dx_task **task, struct dx_buf *body,
                    struct dx_problem *problem);

/* GET /v1/tags: tags in byte order. A page may be short, and even empty, and go on all the same:
 * what a request may look at is bounded. */
#define DX_TAGS_LIMIT_DEFAULT 100
#define DX_TAGS_LIMIT_MAX 1000

struct dx_tags_ask {
    bool one_dataset; /* of dataset_id alone */
    uint32_t dataset_id;
    struct dx_span prefix; /* size 0: all */
    uint64_t limit;
    struct dx_paging paging;
    uint64_t deadline_ms; /* as above */
};

int dx_task_tags(const struct dx_view *view, struct dx_canon *canon, const struct dx_tags_ask *ask,
                 struct dx_task **task, struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/tags/{tag}: its domains, or its rows. Pages as those of dx_task_tags. */
struct dx_tag_ask {
    struct dx_span tag;
    bool urls;        /* rows; else domains */
    bool one_dataset; /* as above, and so on */
    uint32_t dataset_id;
    uint64_t limit;
    unsigned fields; /* of rows: DX_FIELD_... */
    struct dx_paging paging;
    struct dx_cursor *next; /* unless NULL: where the next page begins; kind 0: nowhere */
    uint64_t deadline_ms;
};

int dx_task_tag(const struct dx_view *view, struct dx_canon *canon, const struct dx_tag_ask *ask,
                struct dx_task **task, struct dx_answer_summary *summary, struct dx_buf *body,
                struct dx_problem *problem);

/* rc, err: of what the task waited for. summary: used during this step only, as that of the
 * function that began the task. */
int dx_task_resume(struct dx_task *task, int rc, struct dx_error *err,
                   struct dx_answer_summary *summary, struct dx_buf *body,
                   struct dx_problem *problem);
struct dx_read_batch *dx_task_reading(struct dx_task *task);

/* To the end, blocking where it waits, and frees it. rc: of what began it; *task may be NULL
 * then. */
int dx_task_finish(struct dx_task **task, int rc, struct dx_buf *body, struct dx_problem *problem);
void dx_task_free(struct dx_task **task);

#endif
