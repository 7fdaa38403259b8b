/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/fraction.h"
#include "base/id_hash.h"
#include "base/json_out.h"
#include "canon/url.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/range/answer_suffix.h"
#include "query/range/suffix_sums.h"
#include "query/view/counts_json.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"

#define LOOK_MAX 4000000 /* a million domains: each takes four looks, since its name is read */

struct parts {
    const struct dx_view *view;
    uint8_t text[DX_DOMAIN_MAX];
    struct dx_span domain; /* in text */
    struct dx_suffix_sums sums;
    struct dx_suffix_sum total;
    struct dx_suffix_sum *each; /* of each dataset */
    uint64_t dataset_count;
    const struct dx_icann_ask *ask;
    /* of the datasets that have some: */
    uint32_t *ids;
    struct dx_pair_count *pairs;
    uint32_t *places; /* in `ids`, in order; NULL: as they are */
};

/* As ICANN's rules have it; what suppressions say of it as a whole comes first, as of any domain. */
static int find_domain(struct parts *p, struct dx_canon *canon, struct dx_span asked,
                       struct dx_problem *problem)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_span domain;

    if (dx_canon_icann_domain(canon, asked, &domain, &why) == 0)
        return dx_lookup_no_name(why, problem);
    memcpy(p->text, domain.data, domain.size);
    p->domain = dx_span_of(p->text, domain.size);
    return dx_lookup_allowed(p->view, p->domain, problem);
}

static int add_all(struct parts *p, struct dx_problem *problem)
{
    const struct dx_registry *r = &p->view->version->registry;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t place = 0;
    int rc;

    p->sums.icann = p->domain;
    p->each = calloc(r->count + 1, sizeof *p->each);
    if (p->each == NULL) {
        (void)dx_no_memory(&err, "parts of a domain");
        return dx_problem_of_error(problem, &err);
    }
    rc = dx_suffix_sums_add(&p->sums, NULL, &place, &p->total, p->each, problem);
    for (size_t i = 0; i < r->count; i++)
        p->dataset_count += p->each[i].domains > 0;
    if (rc == 0)
        return dx_problem_set(problem, DX_PROBLEM_TOO_MUCH, "too-much",
                              "The answer is over a limit",
                              "%.*s has more registered domains below it than one answer adds up; "
                              "/v1/suffix/%.*s adds up all names below it page by page",
                              (int)p->domain.size, (const char *)p->domain.data,
                              (int)p->domain.size, (const char *)p->domain.data);
    return rc == 1 && p->total.domains == 0 ? dx_suffix_sums_nothing(&p->sums, p->domain, problem)
                                            : rc;
}

static const struct dx_suffix_sum *sum_of(const struct parts *p, const struct dx_dataset *d)
{
    return &p->each[d - p->view->version->registry.datasets];
}

/* Datasets of counts are placed by their pages. */
static int order_datasets(struct parts *p, struct dx_error *err)
{
    const struct dx_registry *r = &p->view->version->registry;
    struct dx_dataset_items items = { .count = 0 };

    p->ids = malloc((p->dataset_count + 1) * sizeof *p->ids);
    p->pairs = calloc(p->dataset_count + 1, sizeof *p->pairs);
    if (p->ids == NULL || p->pairs == NULL)
        return dx_no_memory(err, "datasets of a domain");
    for (size_t i = 0; i < r->count; i++) {
        struct dx_pair_count *pair = &p->pairs[items.count];

        if (p->each[i].domains == 0)
            continue;
        *pair = p->each[i].counts;
        if (dx_counts_json_pages(&r->datasets[i]))
            pair->url_count = pair->row_count = p->each[i].pages;
        p->ids[items.count++] = r->datasets[i].dataset_id;
    }
    items.ids = p->ids;
    items.pairs = p->pairs;
    return dx_dataset_order_make(&p->ask->order, &items, &p->view->version->heads, &p->places, err);
}

static bool wants(const struct parts *p, unsigned field)
{
    return (p->ask->fields & field) != 0;
}

static void write_time(const struct dx_suffix_sum *sum, const char *name, int64_t us,
                       struct dx_json *j)
{
    dx_json_key(j, name);
    sum->counts.has_ts ? dx_json_time_us(j, us) : dx_json_null(j);
}

static void write_count(const struct dx_dataset *d, const char *name, uint64_t count,
                        struct dx_json *j)
{
    dx_json_key(j, name);
    dx_counts_json_pages(d) ? dx_json_null(j) : dx_json_u64(j, count);
}

/* The members of an item of /v1/domain (query/answers/domain_text.c); a sum has no rank, so that member is null. */
static void write_dataset(const struct parts *p, size_t place, struct dx_json *j)
{
    const struct dx_dataset *d = dx_registry_by_id(&p->view->version->registry, p->ids[place]);
    const struct dx_suffix_sum *sum = sum_of(p, d);

    dx_json_object(j);
    dx_json_key_u64(j, "dataset_id", d->dataset_id);
    if (wants(p, DX_DOMAIN_FIELD_NAME)) {
        dx_json_key(j, "name");
        dx_json_str(j, d->name);
    }
    dx_counts_json_kind(j, d);
    dx_json_key_u64(j, "domain_count", sum->domains);
    if (wants(p, DX_DOMAIN_FIELD_URLS))
        write_count(d, "url_count", sum->counts.url_count, j);
    if (wants(p, DX_DOMAIN_FIELD_URLS_EST))
        write_count(d, "url_count_est", sum->counts.url_count, j);
    if (wants(p, DX_DOMAIN_FIELD_ROWS))
        write_count(d, "row_count", sum->counts.row_count, j);
    if (dx_counts_json_pages(d))
        dx_json_key_u64(j, "page_count", sum->pages);
    if (wants(p, DX_DOMAIN_FIELD_FIRST_TS))
        write_time(sum, "first_ts", sum->counts.first_us, j);
    if (wants(p, DX_DOMAIN_FIELD_LAST_TS))
        write_time(sum, "last_ts", sum->counts.last_us, j);
    if (wants(p, DX_DOMAIN_FIELD_SHARE)) {
        dx_json_key(j, "share");
        dx_json_fraction(j, p->pairs[place].url_count, d->urls);
    }
    if (wants(p, DX_DOMAIN_FIELD_RANK)) {
        dx_json_key(j, "rank");
        dx_json_null(j);
    }
    dx_json_end(j);
}

static void write_datasets(const struct parts *p, struct dx_json *j)
{
    size_t first;
    size_t end;

    dx_dataset_order_window(&p->ask->order, p->dataset_count, &first, &end);
    dx_json_key(j, "datasets");
    dx_json_array(j);
    for (size_t i = first; i < end; i++)
        write_dataset(p, p->places == NULL ? i : p->places[i], j);
    dx_json_end(j);
    if (!dx_dataset_order_is_paged(&p->ask->order))
        return;
    dx_json_key_u64(j, "offset", p->ask->order.page.offset);
    dx_json_key(j, "next_offset");
    end > first &&end < p->dataset_count ? dx_json_u64(j, end) : dx_json_null(j);
}

static int write_answer(struct parts *p, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json j;

    if (order_datasets(p, &err) < 0)
        return dx_problem_of_error(problem, &err);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_domain_json(&j, p->domain);
    dx_json_key(&j, "domain_id");
    dx_json_hex64(&j, dx_id64(p->domain));
    dx_json_key(&j, "view");
    dx_json_str(&j, "icann");
    dx_json_key_u64(&j, "domain_count", p->total.domains);
    dx_json_key_u64(&j, "dataset_count", p->dataset_count);
    dx_suffix_sum_json(&p->total, NULL, &j);
    dx_json_key(&j, "distinct_url_count");
    dx_json_null(&j);
    dx_json_key(&j, "distinct_error");
    dx_json_null(&j);
    write_datasets(p, &j);
    dx_answer_end(&j, p->view->version);
    if (!body->failed)
        return 1;
    (void)dx_buf_fail(body, &err, "answer");
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}

int dx_answer_icann(const struct dx_view *view, struct dx_canon *canon,
                    const struct dx_icann_ask *ask, struct dx_answer_summary *summary,
                    struct dx_buf *body, struct dx_problem *problem)
{
    struct parts p = { .view = view, .ask = ask };
    int rc = find_domain(&p, canon, ask->asked, problem);

    if (rc != 1)
        return rc;
    rc = dx_suffix_sums_begin(&p.sums, view, canon, p.domain, LOOK_MAX, problem);
    if (rc == 1)
        rc = add_all(&p, problem);
    if (rc == 1)
        rc = write_answer(&p, body, problem);
    dx_answer_summarize(summary, (struct dx_answer_summary){ .domain_id = dx_id64(p.domain),
                                                             .has_domain_id = true,
                                                             .datasets = p.dataset_count,
                                                             .rows = p.total.counts.row_count });
    dx_suffix_sums_release(&p.sums);
    free(p.each);
    free(p.ids);
    free(p.pairs);
    free(p.places);
    return rc;
}
