/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "format/version/facts.h"
#include "format/version/pair_tally.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/answers/task_kind.h"
#include "query/rows/domain_pages.h"
#include "query/rows/listing.h"
#include "query/rows/row_tally.h"
#include "query/suppression/suppression_view.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <stdlib.h>

/* Paths are stored of pairs with many rows; of others the rows are read and counted now. */
struct paths_task {
    struct dx_task task;
    struct dx_view view;
    struct dx_paths_ask ask;
    struct dx_found found;
    const struct dx_dataset *dataset;
    struct dx_suppression_view withheld;
    const struct dx_suppression_pair *hidden; /* NULL: nothing of this pair is */
    struct dx_pair_count count;               /* of all rows */
    bool stored;                              /* pages, else listing */
    struct dx_domain_pages pages;
    struct dx_listing listing;
    bool listing_begun;
};

static const struct dx_pair_count *visible_count(const struct paths_task *t)
{
    return t->hidden == NULL ? &t->count : &t->hidden->visible;
}

static struct dx_span domain_of(const struct paths_task *t)
{
    return dx_span_of(t->found.domain, t->found.domain_size);
}

/* ---- the answer ---- */

static void write_counts(uint64_t urls, uint64_t rows, struct dx_json *j)
{
    dx_json_key(j, "url_count");
    dx_json_u64(j, urls);
    dx_json_key(j, "row_count");
    dx_json_u64(j, rows);
}

static void write_head(const struct paths_task *t, uint64_t path_count, struct dx_json *j)
{
    dx_answer_summarize(t->task.summary,
                        (struct dx_answer_summary){ .domain_id = t->found.domain_id,
                                                    .has_domain_id = true,
                                                    .rows = visible_count(t)->row_count });
    dx_json_object(j);
    dx_domain_json(j, domain_of(t));
    dx_json_key(j, "domain_id");
    dx_json_hex64(j, t->found.domain_id);
    dx_json_key(j, "dataset_id");
    dx_json_u64(j, t->dataset->dataset_id);
    dx_json_key(j, "dataset");
    dx_json_str(j, t->dataset->name);
    dx_json_key(j, "by");
    dx_json_str(j, t->ask.sections ? "section" : "path");
    write_counts(visible_count(t)->url_count, visible_count(t)->row_count, j);
    dx_json_key(j, "path_count");
    dx_json_u64(j, path_count);
}

static void write_tail(const struct paths_task *t, const struct dx_fact *rest, uint64_t paths,
                       struct dx_json *j)
{
    dx_json_key(j, "rest");
    dx_json_object(j);
    dx_json_key(j, "path_count");
    dx_json_u64(j, paths);
    write_counts(rest->url_count, rest->row_count, j);
    dx_json_end(j);
    dx_json_key(j, "max_error");
    dx_json_u64(j, 0);
    dx_answer_end(j, t->view.version);
}

/* The whole list is read, also behind the limit: only then it is known to be sound. */
static int write_paths(const struct paths_task *t, struct dx_facts *f, struct dx_json *j,
                       struct dx_error *err)
{
    enum dx_paths kind = t->ask.sections ? DX_PATHS_SECTION : DX_PATHS_EXACT;
    struct dx_fact rest = { .url_count = f->url_count, .row_count = f->row_count };
    struct dx_fact path;
    uint64_t n = 0;
    int rc;

    write_head(t, f->path_count[kind], j);
    dx_json_key(j, "paths");
    dx_json_array(j);
    while ((rc = dx_facts_path(f, kind, &path, err)) == 1) {
        if (n == t->ask.limit)
            continue;
        n++;
        rest.url_count -= path.url_count;
        rest.row_count -= path.row_count;
        dx_json_object(j);
        dx_json_key(j, "host");
        dx_json_text(j, path.host);
        dx_json_key(j, "path");
        dx_json_text(j, path.path);
        write_counts(path.url_count, path.row_count, j);
        dx_json_end(j);
    }
    dx_json_end(j);
    if (rc >= 0)
        write_tail(t, &rest, f->path_count[kind] - n, j);
    return rc;
}

static int write_answer(const struct paths_task *t, struct dx_span facts, struct dx_buf *body,
                        struct dx_error *err)
{
    enum dx_paths kind = t->ask.sections ? DX_PATHS_SECTION : DX_PATHS_EXACT;
    struct dx_facts f = { 0 };
    struct dx_json j;
    int rc = dx_facts_open(&f, facts, domain_of(t), visible_count(t), err);

    if (rc >= 0 && !f.has_paths)
        rc = dx_fail(err, DX_E_LIMIT, "the paths of this domain are too long to be stored");
    if (rc >= 0 && t->ask.whole && f.path_count[kind] > DX_FACTS_PATHS_MAX)
        rc = dx_fail(err, DX_E_LIMIT,
                     "there are %llu %s, of which the first %d can be listed: ask for limit=%d, or "
                     "list the URLs, which have every path",
                     (unsigned long long)f.path_count[kind], t->ask.sections ? "sections" : "paths",
                     DX_FACTS_PATHS_MAX, DX_FACTS_PATHS_MAX);
    if (rc >= 0) {
        dx_json_open(&j, body);
        rc = write_paths(t, &f, &j, err);
    }
    if (rc >= 0 && body->failed)
        rc = dx_buf_fail(body, err, "answer");
    dx_facts_close(&f);
    return rc;
}

/* ---- stored paths ---- */

static int answer_stored(struct paths_task *t, struct dx_buf *body, struct dx_error *err)
{
    struct dx_span facts;
    uint32_t id;
    int rc;

    do
        rc = dx_domain_pages_next(&t->pages, &id, &facts, err);
    while (rc == 1 && id != t->ask.dataset_id);
    if (rc == 1)
        return write_answer(t, facts, body, err);
    return rc < 0 ? rc
                  : dx_fail(err, DX_E_CORRUPT,
                            "%s: domain 0x%016llx is in dataset %u by its set, but has no facts",
                            t->found.part->directory, (unsigned long long)t->found.domain_id,
                            (unsigned)t->ask.dataset_id);
}

/* ---- paths of rows ---- */

struct row_taker {
    struct dx_row_tally tally;
    const struct dx_suppression_pair *hidden;
    uint64_t place;
};

static int take_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct row_taker *r = ctx;

    return dx_suppression_view_hidden(r->hidden, r->place++)
               ? DX_OK
               : dx_row_tally_add(&r->tally, row, err);
}

static int check_listing(const struct paths_task *t, struct dx_error *err)
{
    const struct dx_listing *l = &t->listing;

    if (l->found && l->total == t->count.row_count && l->row_count == l->total)
        return DX_OK;
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: domain 0x%016llx has %llu rows in dataset %u by its counts, %llu by its "
                   "posting",
                   t->found.part->directory, (unsigned long long)t->found.domain_id,
                   (unsigned long long)t->count.row_count, (unsigned)l->dataset_id,
                   (unsigned long long)l->total);
}

static int check_urls(const struct paths_task *t, uint64_t url_count, struct dx_error *err)
{
    if (url_count == visible_count(t)->url_count)
        return DX_OK;
    return dx_fail(
        err, DX_E_CORRUPT,
        "%s: domain 0x%016llx has %llu URLs in dataset %u by its counts, %llu by its rows",
        t->found.part->directory, (unsigned long long)t->found.domain_id,
        (unsigned long long)visible_count(t)->url_count, (unsigned)t->ask.dataset_id,
        (unsigned long long)url_count);
}

static int answer_rows(struct paths_task *t, struct dx_buf *body, struct dx_error *err)
{
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct row_taker taker = { .hidden = t->hidden };
    uint64_t url_count;
    int rc = check_listing(t, err);

    dx_row_tally_init(&taker.tally);
    if (rc >= 0)
        rc = dx_listing_rows(&t->listing, &(struct dx_listing_taker){ &taker, take_row, NULL },
                             err);
    if (rc >= 0)
        rc = dx_row_tally_end(&taker.tally, domain_of(t), true, &facts, &url_count, err);
    if (rc >= 0)
        rc = check_urls(t, url_count, err);
    if (rc >= 0)
        rc = write_answer(t, dx_span_of(facts.data, facts.size), body, err);
    dx_row_tally_release(&taker.tally);
    dx_buf_release(&facts);
    return rc;
}

/* ---- the task ---- */

static int finish(int rc, const struct dx_error *err, struct dx_buf *body,
                  struct dx_problem *problem)
{
    if (rc >= 0)
        return 1;
    dx_buf_clear(body);
    return dx_problem_of_error(problem, err);
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct paths_task *t = (struct paths_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = t->stored ? dx_domain_pages_step(&t->pages, &err) : dx_listing_step(&t->listing, &err);

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE)
        rc = t->stored ? answer_stored(t, body, &err) : answer_rows(t, body, &err);
    return finish(rc, &err, body, problem);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    struct paths_task *t = (struct paths_task *)of;

    return t->stored ? dx_domain_pages_fetched(&t->pages, rc, err)
                     : dx_listing_fetched(&t->listing, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    struct paths_task *t = (struct paths_task *)of;

    return t->stored ? &t->pages.reading : &t->listing.reading;
}

static void release_task(struct dx_task *of)
{
    struct paths_task *t = (struct paths_task *)of;

    dx_domain_pages_release(&t->pages);
    if (t->listing_begun)
        dx_listing_release(&t->listing);
    dx_suppression_view_release(&t->withheld);
    free(t);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* The pair's counts: 1, 0 it is not there, <0. */
static int read_count(struct paths_task *t, struct dx_error *err)
{
    struct dx_dataset_set set;
    uint32_t rank;
    int rc = dx_membership_get(&t->found.part->membership, t->found.ordinal, &set, err);

    if (rc < 0)
        return rc;
    rc = dx_dataset_set_rank(&set, t->ask.dataset_id, &rank);
    return rc <= 0 ? rc
                   : dx_counts_one(&t->found.part->counts, t->found.ordinal, rank, &t->count, err);
}

/* What of a pair with many rows is left when some are suppressed was counted when they were
 * found. */
static int answer_visible(struct paths_task *t, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = t->hidden->facts.size > 0
                 ? write_answer(t, t->hidden->facts, body, &err)
                 : dx_fail(&err, DX_E_LIMIT,
                           "a part of this domain is suppressed in this dataset, and what is left "
                           "are too many rows to count their paths");

    return finish(rc, &err, body, problem);
}

static int begin_task(struct paths_task *t, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_domain_pages_of of = { t->view.version,  t->found.part,      DX_COLD_FACTS,
                                           t->found.ordinal, &t->ask.dataset_id, 1 };
    const struct dx_page_of all = { 0, t->count.row_count };
    struct dx_error err = DX_ERROR_INIT;

    t->stored = t->count.row_count > DX_FACTS_ROWS;
    if (t->stored && t->hidden != NULL)
        return answer_visible(t, body, problem);
    if (t->stored &&
        dx_domain_pages_init(&t->pages, &of, DX_COLD_PAGE_PLAIN_MAX, t->ask.deadline_ms, &err) < 0)
        return finish((int)err.code, &err, body, problem);
    if (!t->stored) {
        dx_listing_init(&t->listing, t->view.version, t->found.part, t->found.ordinal,
                        t->ask.dataset_id, all, DX_FIELD_URL, t->ask.deadline_ms);
        t->listing_begun = true;
    }
    return step_task(&t->task, body, problem);
}

/* Whether the pair may be shown: 1, or as query/answers/answer.h. */
static int may_tell(struct paths_task *t, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = read_count(t, &err);

    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 0)
        return dx_lookup_no_pair(&t->view, &t->found, t->ask.dataset_id, problem);
    t->hidden = dx_suppression_view_pair(&t->withheld, t->ask.dataset_id);
    return t->hidden != NULL && t->hidden->visible.row_count == 0
               ? dx_suppression_view_no_pair(&t->view, &t->found, t->hidden, problem)
               : 1;
}

int dx_task_paths(const struct dx_view *view, struct dx_canon *canon,
                  const struct dx_paths_ask *ask, struct dx_task **out,
                  struct dx_answer_summary *summary, struct dx_buf *body,
                  struct dx_problem *problem)
{
    struct paths_task *t = calloc(1, sizeof *t);
    int rc;

    *out = NULL;
    if (t == NULL)
        return dx_task_no_memory(problem);
    t->task.kind = &kind;
    t->task.summary = summary;
    t->view = dx_view_urls(view);
    t->ask = *ask;
    rc = dx_lookup_domain(view, canon, ask->asked, &t->found, problem);
    if (rc == 1) /* before all that would tell a hidden domain from one that is not there */
        rc = dx_suppression_view_of(view, &t->found, &t->withheld, problem);
    if (rc == 1)
        rc = dx_lookup_dataset(&t->view, ask->dataset_id, &t->dataset, problem);
    if (rc == 1)
        rc = may_tell(t, problem);
    if (rc == 1)
        rc = begin_task(t, body, problem);
    return dx_task_begun(&t->task, rc, out);
}
