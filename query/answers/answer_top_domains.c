/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json_out.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/top_domains.h"
#include "query/answers/top_rows.h"
#include "query/view/counts_json.h"
#include "query/view/view.h"

/* The rows of a page. */
struct page {
    uint64_t selected;
    struct dx_top_domain *rows;
    size_t count;
};

static int bad_share(struct dx_span share, struct dx_problem *problem)
{
    return dx_problem_set(
        problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
        "share '%.*s' is neither a percentage, as 10%% or 12.5%%, nor a fraction, "
        "as 0.1: above 0, at most all, four decimals of a percent at most",
        share.size > 60 ? 60 : (int)share.size, (const char *)share.data);
}

static int read_page(struct dx_top_domains *t, const struct dx_top_ask *ask, struct page *page,
                     struct dx_error *err)
{
    uint64_t left = ask->page.offset < page->selected ? page->selected - ask->page.offset : 0;

    page->count = (size_t)(left < ask->page.limit ? left : ask->page.limit);
    page->rows = malloc((page->count + 1) * sizeof *page->rows);
    if (page->rows == NULL)
        return dx_no_memory(err, "top domains");
    return dx_top_domains_read(t, ask->page.offset, page->count, page->rows, err);
}

static int write_rows(const struct dx_top_domains *t, const struct page *page, struct dx_buf *body,
                      struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < page->count && rc == DX_OK; i++) {
        if (i > 0)
            dx_buf_u8(body, ',');
        rc = dx_top_json_row(t, &page->rows[i], body, err);
    }
    return rc;
}

static int write_json(const struct dx_top_domains *t, const struct dx_top_ask *ask,
                      const struct page *page, struct dx_buf *body, struct dx_error *err)
{
    uint64_t next = ask->page.offset + page->count;
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key_u64(&j, "dataset_id", ask->dataset_id);
    dx_json_key(&j, "name");
    dx_json_str(&j, t->dataset->name);
    dx_counts_json_kind(&j, t->dataset);
    dx_json_key_u64(&j, "domain_count", t->domain_count);
    dx_json_key(&j, "url_count");
    dx_counts_json_pages(t->dataset) ? dx_json_null(&j) : dx_json_u64(&j, t->url_count);
    if (dx_counts_json_pages(t->dataset))
        dx_json_key_u64(&j, "page_count", t->url_count);
    dx_json_key(&j, "share");
    ask->share.data != NULL ? dx_json_text(&j, ask->share) : dx_json_null(&j);
    dx_json_key_u64(&j, "selected", page->selected);
    dx_json_key(&j, "domains");
    dx_json_array(&j);
    rc = write_rows(t, page, body, err);
    dx_json_end(&j);
    dx_json_key_u64(&j, "offset", ask->page.offset);
    dx_json_key(&j, "next_offset");
    page->count > 0 && next < page->selected ? dx_json_u64(&j, next) : dx_json_null(&j);
    dx_answer_end(&j, t->version);
    return rc;
}

int dx_answer_top_domains(const struct dx_view *view, struct dx_canon *canon,
                          const struct dx_top_ask *ask, struct dx_buf *body,
                          struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_share share = { 0 };
    struct page page = { .rows = NULL };
    struct dx_top_domains t;
    int rc;

    if (ask->share.data != NULL && !dx_share_parse(ask->share, &share))
        return bad_share(ask->share, problem);
    rc = dx_top_domains_open(&t, view, canon, ask->dataset_id, problem);
    if (rc == 1) {
        page.selected = ask->share.data != NULL ? dx_share_select(share, t.domain_count)
                                                : t.domain_count;
        rc = read_page(&t, ask, &page, &err);
        if (rc == DX_OK)
            rc = write_json(&t, ask, &page, body, &err);
        if (rc == DX_OK && body->failed)
            rc = dx_buf_fail(body, &err, "answer");
        rc = rc < 0 ? dx_problem_of_error(problem, &err) : 1;
    }
    free(page.rows);
    dx_top_domains_release(&t);
    if (rc < 0)
        dx_buf_clear(body);
    return rc;
}
