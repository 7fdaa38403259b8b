/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/answer_suffix.h"

#include <stdlib.h>

#include "base/id_hash.h"
#include "base/json_out.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/answers/tag_page.h"
#include "query/range/suffix_name.h"
#include "query/range/suffix_sums.h"
#include "query/view/counts_json.h"

/* What one request may cost: domains examined, 0.1 to 0.2 us each. */
#define LOOK_MAX 1000000

struct page {
    struct dx_tag_page of; /* the question */
    const struct dx_suffix_ask *ask;
    struct dx_suffix_name name;
    struct dx_suffix_sums sums;
    bool known;                 /* the totals are those of all domains */
    struct dx_suffix_sum total; /* of the datasets asked for */
    struct dx_suffix_sum
        *each; /* of each dataset, if all domains were added on this page; else NULL */
    struct dx_suffix_sum at; /* of the dataset at hand */
    uint64_t count;          /* items */
    bool
        more; /* another page goes on at the dataset next_dataset, if the totals are known, and there at place */
    uint32_t next_dataset;
    uint64_t place;
};

/* ---- the question ---- */

/* A sum over two states of the suppressions is of neither. */
static int go_on(struct page *p, struct dx_problem *problem)
{
    const struct dx_cursor *from = &p->of.from;
    struct dx_suffix_sum *const to[] = { &p->total, &p->at };

    if (from->tag_hash != dx_id64(p->name.suffix))
        return dx_tag_page_mismatch("another suffix", problem);
    if (p->sums.line != from->line)
        return dx_problem_set(problem, DX_PROBLEM_GONE, "cursor-expired", "The cursor is too old",
                              "suppressions changed while the domains of a suffix were added up; "
                              "begin again without the cursor");
    p->known = from->rows;
    p->next_dataset = from->next_dataset;
    p->place = from->next_row;
    for (size_t i = 0; i < 2; i++) {
        const uint64_t *of = from->suffix_sums[i];

        *to[i] = (struct dx_suffix_sum){
            of[0], { of[1], of[2], of[3] != 0, (int64_t)of[4], (int64_t)of[5] }, of[6]
        };
    }
    return 1;
}

/* ---- the sums ---- */

static int add_total(struct page *p, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    bool begins = !p->of.goes_on && p->of.dataset == NULL;
    int rc;

    if (begins) {
        p->each = calloc(p->of.view.version->registry.count + 1, sizeof *p->each);
        if (p->each == NULL) {
            (void)dx_no_memory(&err, "sums of a suffix");
            return dx_problem_of_error(problem, &err);
        }
    }
    rc = dx_suffix_sums_add(&p->sums, p->of.dataset, &p->place, &p->total, p->each, problem);
    p->known = rc == 1;
    p->more = rc == 0;
    if (rc == 1)
        p->place = 0;
    return rc < 0 ? rc : 1;
}

/* The members of an object, and its end. */
static void write_sum(const struct dx_suffix_sum *sum, const struct dx_dataset *d,
                      struct dx_json *j)
{
    dx_json_key_u64(j, "domain_count", sum->domains);
    dx_suffix_sum_json(sum, d, j);
    dx_json_end(j);
}

/* False: the page is full. */
static bool write_item(struct page *p, const struct dx_dataset *d, const struct dx_suffix_sum *sum,
                       struct dx_json *j)
{
    if (sum->domains == 0)
        return true;
    if (p->count == p->ask->limit) {
        p->more = true;
        p->next_dataset = d->dataset_id;
        return false;
    }
    dx_json_object(j);
    dx_json_key_u64(j, "dataset_id", d->dataset_id);
    dx_json_key(j, "name");
    dx_json_str(j, d->name);
    dx_counts_json_kind(j, d);
    write_sum(sum, d, j);
    p->count++;
    return true;
}

/* One after the other, from where the cursor says: each is a walk over its own domains. */
static int add_dataset(struct page *p, const struct dx_dataset *d, struct dx_json *j,
                       struct dx_problem *problem)
{
    int rc = dx_suffix_sums_add(&p->sums, d, &p->place, &p->at, NULL, problem);

    if (rc == 0) {
        p->more = true;
        p->next_dataset = d->dataset_id;
        return 1;
    }
    if (rc == 1) {
        (void)write_item(p, d, &p->at, j);
        p->at = (struct dx_suffix_sum){ .domains = 0 };
        p->place = 0;
    }
    return rc;
}

static int write_datasets(struct page *p, struct dx_json *j, struct dx_problem *problem)
{
    const struct dx_registry *r = &p->of.view.version->registry;
    int rc = 1;

    if (!p->known)
        return 1;
    if (p->of.dataset != NULL) {
        (void)write_item(p, p->of.dataset, &p->total, j);
        return 1;
    }
    for (size_t i = 0; rc == 1 && !p->more && i < r->count; i++) {
        const struct dx_dataset *d = &r->datasets[i];

        if (d->dataset_id < p->next_dataset || !dx_view_shows(&p->of.view, d->dataset_id))
            continue;
        if (p->each != NULL)
            (void)write_item(p, d, &p->each[i], j);
        else
            rc = add_dataset(p, d, j, problem);
    }
    return rc;
}

/* ---- the page ---- */

static int write_cursor(const struct page *p, struct dx_json *j, struct dx_error *err)
{
    const struct dx_suffix_sum *const of[] = { &p->total, &p->at };
    struct dx_cursor c = { .kind = DX_CURSOR_SUFFIX,
                           .began_s = p->ask->paging.began_s,
                           .limit = (uint32_t)p->ask->limit,
                           .tag_hash = dx_id64(p->name.suffix),
                           .rows = p->known,
                           .next_dataset = p->next_dataset,
                           .next_row = p->place,
                           .line = p->sums.line };

    for (size_t i = 0; i < 2; i++) {
        c.suffix_sums[i][0] = of[i]->domains;
        c.suffix_sums[i][1] = of[i]->counts.url_count;
        c.suffix_sums[i][2] = of[i]->counts.row_count;
        c.suffix_sums[i][3] = of[i]->counts.has_ts;
        c.suffix_sums[i][4] = (uint64_t)of[i]->counts.first_us;
        c.suffix_sums[i][5] = (uint64_t)of[i]->counts.last_us;
        c.suffix_sums[i][6] = of[i]->pages;
    }
    dx_tag_page_place(&p->of, &c);
    return dx_tag_page_cursor(&c, p->ask->paging.cursors, p->ask->paging.principal, j, err);
}

static int write_page(struct page *p, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_suffix_name_json(&p->name, &j);
    dx_tag_page_head(&p->of, &j);
    dx_json_key(&j, "totals");
    if (p->known) {
        dx_json_object(&j);
        write_sum(&p->total, p->of.dataset, &j);
    } else {
        dx_json_null(&j);
    }
    dx_json_key(&j, "datasets");
    dx_json_array(&j);
    rc = write_datasets(p, &j, problem);
    dx_json_end(&j);
    dx_json_key(&j, "next_cursor");
    if (rc == 1 && p->more && write_cursor(p, &j, &err) < 0)
        rc = dx_problem_of_error(problem, &err);
    if (!p->more)
        dx_json_null(&j);
    dx_answer_end(&j, p->of.view.version);
    if (rc == 1 && body->failed) {
        (void)dx_buf_fail(body, &err, "answer");
        rc = dx_problem_of_error(problem, &err);
    }
    if (rc != 1)
        dx_buf_clear(body);
    return rc;
}

int dx_answer_suffix(const struct dx_view *view, struct dx_canon *canon,
                     const struct dx_suffix_ask *ask, struct dx_buf *body,
                     struct dx_problem *problem)
{
    struct page p = { .ask = ask };
    int rc = dx_tag_page_begin(&p.of, view, ask->paging.from, ask->one_dataset, ask->dataset_id,
                               problem);

    if (rc == 1)
        rc = dx_suffix_name_read(&p.name, canon, ask->asked, problem);
    if (rc != 1)
        return rc;
    rc = dx_suffix_sums_begin(&p.sums, view, canon, p.name.suffix,
                              ask->look_max > 0 ? ask->look_max : LOOK_MAX, problem);
    if (rc == 1 && p.of.goes_on)
        rc = go_on(&p, problem);
    if (rc == 1 && !p.known)
        rc = add_total(&p, problem);
    if (rc == 1)
        rc = write_page(&p, body, problem);
    dx_suffix_sums_release(&p.sums);
    free(p.each);
    return rc;
}
