/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "loader/domain_pairs.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/answers/host_merge.h"
#include "query/answers/task_kind.h"
#include "query/rows/domain_pages.h"
#include "query/rows/listing.h"
#include "query/suppression/suppression_view.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <stdlib.h>

/* Of all pages of an answer, decoded: a few million hosts. */
#define FACTS_BYTES (128u << 20)

#define ADVICE "Ask for the hosts of one dataset with dataset=."

struct hosts_task {
    struct dx_task task;
    struct dx_view view;
    struct dx_hosts_ask ask;
    struct dx_found found;
    struct dx_suppression_view withheld;
    struct dx_domain_pairs pairs; /* those that are asked for, as the index counts them */
    struct dx_domain_pages pages;
};

static struct dx_span domain_of(const struct hosts_task *t)
{
    return dx_span_of(t->found.domain, t->found.domain_size);
}

/* Stored facts, or those of what is visible. */
static int add_pair(struct hosts_task *t, struct dx_host_merge *m, size_t i, struct dx_span facts,
                    struct dx_error *err)
{
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&t->withheld,
                                                                        t->pairs.ids[i]);

    bool of_counts = dx_view_of_counts(&t->view, t->pairs.ids[i]);

    if (hidden == NULL)
        return dx_host_merge_add(m, facts, domain_of(t), &t->pairs.counts[i], of_counts, err);
    if (hidden->visible.row_count == 0)
        return DX_OK;
    if (hidden->facts.size == 0)
        return dx_fail(
            err, DX_E_LIMIT,
            "a part of this domain is suppressed in dataset %u, and what is left are too "
            "many rows to count their hosts",
            (unsigned)hidden->dataset_id);
    return dx_host_merge_add(m, hidden->facts, domain_of(t), &hidden->visible, of_counts, err);
}

/* Whether a pair that lies in the pages is none of the answer's: of another dataset than that which
 * is asked for, or not to be seen. */
static bool is_other(const struct hosts_task *t, uint32_t id)
{
    return t->ask.one_dataset ? id != t->ask.dataset_id : !dx_view_shows(&t->view, id);
}

/* Facts and membership say the same of which datasets are there, or one of them is wrong. */
static int add_pairs(struct hosts_task *t, struct dx_host_merge *m, struct dx_error *err)
{
    struct dx_span facts;
    uint32_t id = 0;
    size_t n = 0;
    int rc;

    while ((rc = dx_domain_pages_next(&t->pages, &id, &facts, err)) == 1) {
        if (is_other(t, id))
            continue;
        if (n == t->pairs.count || id != t->pairs.ids[n])
            break;
        rc = add_pair(t, m, n++, facts, err);
        if (rc < 0)
            return rc;
    }
    if (rc < 0 || (rc == 0 && n == t->pairs.count))
        return rc;
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: domain 0x%016llx has %zu datasets by its set, and other ones by its facts",
                   t->found.part->directory, (unsigned long long)t->found.domain_id,
                   t->pairs.count);
}

static void write_host(const struct dx_host_merge *m, const struct dx_host_total *h,
                       struct dx_json *j)
{
    dx_json_object(j);
    dx_json_key(j, "host");
    dx_json_text(j, dx_host_merge_text(m, h));
    dx_json_key(j, "dataset_count");
    dx_json_u64(j, h->dataset_count);
    dx_json_key(j, "url_count");
    h->row_count > 0 ? dx_json_u64(j, h->url_count) : dx_json_null(j);
    dx_json_key(j, "row_count");
    h->row_count > 0 ? dx_json_u64(j, h->row_count) : dx_json_null(j);
    if (h->page_count > 0)
        dx_json_key_u64(j, "page_count", h->page_count);
    dx_json_end(j);
}

static void write_body(const struct hosts_task *t, const struct dx_host_merge *m,
                       struct dx_buf *body)
{
    const struct dx_page_of *page = &t->ask.page;
    bool more = page->offset < m->host_count && m->host_count - page->offset > page->limit;
    struct dx_json j;

    dx_answer_summarize(
        t->task.summary,
        (struct dx_answer_summary){ .domain_id = t->found.domain_id, .has_domain_id = true });
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_domain_json(&j, domain_of(t));
    dx_json_key(&j, "domain_id");
    dx_json_hex64(&j, t->found.domain_id);
    dx_json_key(&j, "host_count");
    dx_json_u64(&j, m->host_count);
    dx_json_key(&j, "hosts");
    dx_json_array(&j);
    for (size_t i = 0; i < m->count; i++)
        write_host(m, &m->hosts[i], &j);
    dx_json_end(&j);
    dx_json_key(&j, "offset");
    dx_json_u64(&j, page->offset);
    dx_json_key(&j, "next_offset");
    more ? dx_json_u64(&j, page->offset + page->limit) : dx_json_null(&j);
    dx_answer_end(&j, t->view.version);
}

static int write_answer(struct hosts_task *t, struct dx_buf *body, struct dx_error *err)
{
    struct dx_host_merge m;
    int rc = dx_host_merge_init(&m, t->pairs.count, t->ask.by_name, t->ask.page, err);

    if (rc >= 0)
        rc = add_pairs(t, &m, err);
    if (rc >= 0)
        rc = dx_host_merge_run(&m, err);
    if (rc >= 0) {
        write_body(t, &m, body);
        rc = body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
    }
    dx_host_merge_release(&m);
    return rc;
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct hosts_task *t = (struct hosts_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_domain_pages_step(&t->pages, &err);

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE)
        rc = write_answer(t, body, &err);
    if (rc >= 0)
        return 1;
    dx_buf_clear(body);
    return dx_problem_advised(problem, &err, ADVICE);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_domain_pages_fetched(&((struct hosts_task *)of)->pages, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return &((struct hosts_task *)of)->pages.reading;
}

static void release_task(struct dx_task *of)
{
    struct hosts_task *t = (struct hosts_task *)of;

    dx_domain_pages_release(&t->pages);
    dx_domain_pairs_release(&t->pairs);
    dx_suppression_view_release(&t->withheld);
    free(t);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* Of all pairs the one that is asked for; 0: the domain is not in this dataset. */
static bool keep_one(struct dx_domain_pairs *pairs, uint32_t dataset_id)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (pairs->ids[i] == dataset_id) {
            pairs->ids[0] = dataset_id;
            pairs->counts[0] = pairs->counts[i];
            pairs->count = 1;
            return true;
        }
    return false;
}

/* 1, or why there is no answer about this dataset. */
static int only_dataset(struct hosts_task *t, struct dx_problem *problem)
{
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&t->withheld,
                                                                        t->ask.dataset_id);

    if (!keep_one(&t->pairs, t->ask.dataset_id))
        return dx_lookup_no_pair(&t->view, &t->found, t->ask.dataset_id, problem);
    return hidden != NULL && hidden->visible.row_count == 0
               ? dx_suppression_view_no_pair(&t->view, &t->found, hidden, problem)
               : 1;
}

static int find_pages(struct hosts_task *t, struct dx_error *err)
{
    const struct dx_domain_pages_of of = { t->view.version,  t->found.part, DX_COLD_FACTS,
                                           t->found.ordinal, t->pairs.ids,  t->pairs.count };
    int rc = dx_domain_pages_init(&t->pages, &of, FACTS_BYTES, t->ask.deadline_ms, err);

    if (rc >= 0 && dx_domain_pages_left(&t->pages))
        rc = dx_fail(err, DX_E_LIMIT, "the hosts of this domain take more than %u MiB",
                     FACTS_BYTES >> 20);
    return rc;
}

static int begin(struct hosts_task *t, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_view_pairs(&t->pairs, &t->view, t->found.part, t->found.ordinal, &err);

    if (rc >= 0 && t->ask.one_dataset) {
        rc = only_dataset(t, problem);
        if (rc <= 0)
            return rc;
    }
    if (rc >= 0)
        rc = find_pages(t, &err);
    if (rc >= 0)
        return 1;
    return dx_problem_advised(problem, &err, ADVICE);
}

int dx_task_hosts(const struct dx_view *view, struct dx_canon *canon,
                  const struct dx_hosts_ask *ask, struct dx_task **out,
                  struct dx_answer_summary *summary, struct dx_buf *body,
                  struct dx_problem *problem)
{
    struct hosts_task *t = calloc(1, sizeof *t);
    const struct dx_dataset *dataset;
    int rc;

    *out = NULL;
    if (t == NULL)
        return dx_task_no_memory(problem);
    t->task.kind = &kind;
    t->task.summary = summary;
    t->view = *view;
    t->ask = *ask;
    t->pairs = (struct dx_domain_pairs)DX_DOMAIN_PAIRS_INIT;
    rc = dx_lookup_domain(view, canon, ask->asked, &t->found, problem);
    if (rc == 1) /* before all that would tell a hidden domain from one that is not there */
        rc = dx_suppression_view_of(view, &t->found, &t->withheld, problem);
    if (rc == 1 && ask->one_dataset)
        rc = dx_lookup_dataset(view, ask->dataset_id, &dataset, problem);
    if (rc == 1)
        rc = begin(t, problem);
    if (rc == 1)
        rc = step_task(&t->task, body, problem);
    return dx_task_begun(&t->task, rc, out);
}
