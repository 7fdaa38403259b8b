/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/url.h"
#include "loader/domain_pairs.h"
#include "loader/version_parts.h"
#include "query/answers/answer.h"
#include "query/answers/distinct_urls.h"
#include "query/answers/domain_text.h"
#include "query/answers/task_kind.h"
#include "query/rows/listing.h"
#include "query/suppression/suppression_view.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <stdlib.h>

/* What is known of the domain: a plain value, so that a task can have it. */
struct known {
    struct dx_view view;
    struct dx_found found;
    struct dx_suppression_view withheld;
    struct dx_domain_pairs pairs; /* that are shown */
    bool some_hidden;             /* from the view: of other datasets */
    unsigned fields;
    struct dx_dataset_order order;
    uint64_t withheld_rows;
    uint64_t distinct_url_count;
    bool distinct_dense;
};

struct domain_task {
    struct dx_task task;
    struct known known;
    struct dx_distinct_urls distinct;
};

static bool has_urls(const struct known *k, size_t i)
{
    return !dx_registry_of_counts(&k->view.version->registry, k->pairs.ids[i]);
}

/* Among the counts of the index: there the domain itself may have more URLs than it shows. */
static int rank_of(void *ctx, size_t i, uint64_t *rank, struct dx_error *err)
{
    const struct known *k = ctx;
    const struct dx_version *v = k->view.version;
    uint32_t id = k->pairs.ids[i];
    uint64_t urls = k->pairs.counts[i].url_count;
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&k->withheld, id);
    int rc = dx_version_rank(v, id, urls, rank, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: dataset %u of a domain has no domains in %s",
                     k->found.part->directory, (unsigned)id, DX_FILE_DATASET_DOMAINS);
    if (rc >= 0 && hidden != NULL && hidden->url_count > urls)
        --*rank;
    return rc;
}

/* ---- how many distinct URLs ---- */

/* Of the datasets of URLs. */
static uint64_t sum_of(const struct known *k, uint64_t *largest)
{
    uint64_t sum = 0;

    *largest = 0;
    for (size_t i = 0; i < k->pairs.count; i++) {
        if (!has_urls(k, i))
            continue;
        sum += k->pairs.counts[i].url_count;
        if (k->pairs.counts[i].url_count > *largest)
            *largest = k->pairs.counts[i].url_count;
    }
    return sum;
}

/* Whether several datasets of URLs are shown: of one its own number is exact, whatever else has the domain. */
static bool have_unions(const struct known *k)
{
    size_t with_urls = 0;

    for (size_t i = 0; i < k->pairs.count && with_urls < 2; i++)
        with_urls += has_urls(k, i);
    return with_urls > 1;
}

/* As the index has it, of all its datasets or of one. */
static int read_distinct(struct known *k, struct dx_error *err)
{
    const bool unions = have_unions(k);
    uint64_t less = 0;
    uint64_t largest;
    uint64_t sum;
    int rc = DX_OK;

    if (k->withheld.entry != NULL && unions) {
        k->distinct_url_count = k->withheld.distinct_url_count; /* of what is left */
        k->distinct_dense = k->withheld.distinct_dense;
        return DX_OK;
    }
    sum = sum_of(k, &largest);
    if (unions)
        rc = dx_counts_distinct(&k->found.part->counts, k->found.ordinal, &less, &k->distinct_dense,
                                err);
    if (rc >= 0 && less > sum - largest)
        rc = dx_fail(
            err, DX_E_CORRUPT,
            "%s: domain %llu has %llu URLs, %llu of them repeated, and %llu in one dataset",
            k->found.part->directory, (unsigned long long)k->found.ordinal, (unsigned long long)sum,
            (unsigned long long)less, (unsigned long long)largest);
    k->distinct_url_count = sum - less;
    return rc < 0 ? rc : DX_OK;
}

/* ---- the answer ---- */

static int finish(int rc, const struct dx_error *err, struct dx_buf *body,
                  struct dx_problem *problem)
{
    if (rc >= 0)
        return 1;
    dx_buf_clear(body);
    return dx_problem_of_error(problem, err);
}

static int write_answer(struct known *k, struct dx_answer_summary *summary, struct dx_buf *body,
                        struct dx_error *err)
{
    const struct dx_version *v = k->view.version;
    const struct dx_domain_text t = {
        .domain = dx_span_of(k->found.domain, k->found.domain_size),
        .domain_id = k->found.domain_id,
        .ids = k->pairs.ids,
        .pairs = k->pairs.counts,
        .count = k->pairs.count,
        .fields = k->fields,
        .order = k->order,
        .distinct_url_count = k->distinct_url_count,
        .distinct_dense = k->distinct_dense,
        .rank = rank_of,
        .rank_ctx = k,
        .registry = &v->registry,
        .withheld = &k->withheld,
        .withheld_rows = k->withheld_rows,
        .version = dx_span_str(v->entry.version),
        .summary = summary,
    };

    return dx_domain_text_write(&t, &v->heads, body, err);
}

static int read_pairs(struct known *k, struct dx_error *err)
{
    int rc = dx_domain_pairs_read(&k->pairs, k->found.part, k->found.ordinal, err);

    if (rc < 0)
        return rc;
    k->some_hidden = dx_view_show(&k->view, &k->pairs) > 0;
    k->pairs.count = dx_suppression_view_show(&k->withheld, k->pairs.ids, k->pairs.counts,
                                              k->pairs.count, &k->withheld_rows);
    return DX_OK;
}

static void forget(struct known *k)
{
    dx_domain_pairs_release(&k->pairs);
    dx_suppression_view_release(&k->withheld);
}

/* ---- where the number of distinct URLs has to be counted ---- */

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct domain_task *t = (struct domain_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_distinct_urls_step(&t->distinct, &err);

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE) {
        uint64_t largest;
        uint64_t sum = sum_of(&t->known, &largest);

        t->known.distinct_url_count = dx_url_sketch_clip(dx_url_sketch_count(&t->distinct.all),
                                                         largest, sum);
        t->known.distinct_dense = t->distinct.all.dense;
        rc = write_answer(&t->known, of->summary, body, &err);
    }
    return finish(rc, &err, body, problem);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_domain_pages_fetched(&((struct domain_task *)of)->distinct.pages, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return &((struct domain_task *)of)->distinct.pages.reading;
}

static void release_task(struct dx_task *of)
{
    struct domain_task *t = (struct domain_task *)of;

    dx_distinct_urls_release(&t->distinct);
    forget(&t->known);
    free(t);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* Takes what is known. */
static int count_distinct(struct known *k, const struct dx_domain_ask *ask, struct dx_task **out,
                          struct dx_answer_summary *summary, struct dx_buf *body,
                          struct dx_problem *problem)
{
    struct domain_task *t = calloc(1, sizeof *t);
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (t == NULL) {
        forget(k);
        return dx_task_no_memory(problem);
    }
    t->task.kind = &kind;
    t->task.summary = summary;
    t->known = *k;
    k = &t->known;
    rc = dx_distinct_urls_begin(&t->distinct, k->view.version, k->found.part, k->found.ordinal,
                                k->pairs.ids, k->pairs.count, &k->withheld, ask->deadline_ms, &err);
    t->distinct.brief = ask->brief;
    rc = rc < 0 ? finish(rc, &err, body, problem) : step_task(&t->task, body, problem);
    return dx_task_begun(&t->task, rc, out);
}

int dx_task_domain(const struct dx_view *view, struct dx_canon *canon,
                   const struct dx_domain_ask *ask, struct dx_task **task,
                   struct dx_answer_summary *summary, struct dx_buf *body,
                   struct dx_problem *problem)
{
    DX_UNINITIALIZED struct known k;
    DX_UNINITIALIZED struct dx_error err;
    int rc;

    dx_error_begin(&err);
    *task = NULL;
    k.view = *view;
    k.pairs = (struct dx_domain_pairs)DX_DOMAIN_PAIRS_INIT;
    k.fields = ask->fields;
    k.order = ask->order;
    k.withheld_rows = 0;
    k.distinct_dense = false;
    rc = dx_lookup_domain(view, canon, ask->asked, &k.found, problem);
    if (rc == 1)
        rc = dx_suppression_view_of(view, &k.found, &k.withheld, problem);
    if (rc <= 0)
        return rc;
    rc = read_pairs(&k, &err);
    if (rc >= 0 && k.some_hidden && have_unions(&k))
        return count_distinct(&k, ask, task, summary, body, problem);
    if (rc >= 0)
        rc = read_distinct(&k, &err);
    if (rc >= 0)
        rc = write_answer(&k, summary, body, &err);
    forget(&k);
    return finish(rc, &err, body, problem);
}

int dx_answer_domain(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                     unsigned fields, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_domain_ask ask = { .asked = asked, .fields = fields };
    struct dx_task *task;
    int rc = dx_task_domain(view, canon, &ask, &task, NULL, body, problem);

    return dx_task_finish(&task, rc, body, problem);
}
