/* SPDX-License-Identifier: Apache-2.0 */
#include <roaring/roaring.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "canon/ids.h"
#include "canon/url.h"
#include "loader/version_parts.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/item_text.h"
#include "query/answers/tag_page.h"
#include "query/answers/task_kind.h"
#include "query/scan/tag_rows.h"
#include "query/scan/tag_sets.h"
#include "query/suppression/suppression_tags.h"
#include "query/view/number_walk.h"

/* What an answer may look at: bytes of sets, and pairs of a page, of which each is two frames of
 * postings. */
#define SETS_MAX (128u << 20)
#define PAIRS_MAX 4096

#define ADVICE "Ask for one dataset with dataset=, or for fewer with a smaller limit."

enum state { HIDDEN, READ };

struct tag_task {
    struct dx_task task;
    enum state state;
    struct dx_tag_page page;
    struct dx_tag_ask ask; /* tag: in text */
    uint8_t *text;
    struct dx_tag_sets sets;
    bool hides; /* some suppression is in force */
    struct dx_suppression_tags hidden;
    /* a page of domains */
    uint32_t *numbers;
    size_t count;
    struct dx_pair_runs runs;
    uint64_t *rows; /* with the tag, of each pair of runs */
    bool more;
    uint32_t next; /* number */
    /* a page of rows */
    struct dx_tag_rows page_rows;
};

static const struct dx_suppression_tags *hidden_of(const struct tag_task *t)
{
    return t->hides ? &t->hidden : NULL;
}

static int not_found(const struct tag_task *t, struct dx_problem *problem)
{
    struct dx_span tag = t->ask.tag;

    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "tag-not-found", "No row has this tag",
                          "no row of %s%s version %s has the tag '%.*s'%s. /v1/tags lists the tags "
                          "that are; they are compared byte by byte.",
                          t->page.dataset != NULL ? "this dataset in" : "",
                          t->page.dataset != NULL ? "" : "any dataset of",
                          t->page.view.version->entry.version, tag.size > 60 ? 60 : (int)tag.size,
                          (const char *)tag.data, tag.size > 60 ? " (and so on)" : "");
}

/* ---- a page of domains ---- */

static int want_pairs(struct tag_task *t, uint32_t number, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t k = 0; rc == DX_OK && k < t->sets.dataset_count; k++)
        if (roaring_bitmap_contains(t->sets.datasets[k].domains, number))
            rc = dx_pair_runs_add(&t->runs, number, t->sets.datasets[k].dataset_id, err);
    return rc;
}

static int begin_domains(struct tag_task *t, struct dx_error *err)
{
    struct dx_version *v = t->page.view.version;
    struct dx_number_walk w;
    int rc;

    t->numbers = malloc(((size_t)t->ask.limit + 1) * sizeof *t->numbers);
    if (t->numbers == NULL)
        return dx_no_memory(err, "domains of a tag");
    dx_pair_runs_init(&t->runs, v, t->ask.deadline_ms);
    rc = dx_number_walk_begin(&w, v, t->sets.domains,
                              t->page.goes_on ? 1 + t->page.from.next_row : 0, err);
    while (rc == DX_OK && w.has && t->count < t->ask.limit && t->runs.pair_count < PAIRS_MAX) {
        rc = want_pairs(t, w.number, err);
        t->numbers[t->count++] = w.number;
        if (rc == DX_OK)
            rc = dx_number_walk_next(&w, err);
    }
    t->more = rc == DX_OK && w.has;
    t->next = t->more ? w.number : 0;
    return rc;
}

/* How many rows of each pair have the tag, file by file. */
static int count_rows(struct tag_task *t, struct dx_error *err)
{
    int rc = DX_OK;

    t->rows = calloc(t->runs.pair_count + 1, sizeof *t->rows);
    if (t->rows == NULL)
        return dx_no_memory(err, "domains of a tag");
    for (size_t f = 0; rc == DX_OK && f < t->sets.file_count; f++) {
        const struct dx_tag_set_file *file = &t->sets.files[f];
        roaring_bitmap_t *rows;
        size_t end;
        size_t i = dx_pair_runs_of_file(&t->runs, file->at.file_id, &end);

        if (i == end)
            continue;
        rc = dx_tag_sets_rows(&t->sets, file, hidden_of(t), &rows, err);
        for (; rc == DX_OK && i < end; i++)
            t->rows[t->runs.runs[i].pair] += roaring_bitmap_range_cardinality(
                rows, t->runs.runs[i].row, t->runs.runs[i].row + t->runs.runs[i].rows);
        if (rc == DX_OK)
            roaring_bitmap_free(rows);
    }
    return rc;
}

static int write_pair(const struct tag_task *t, size_t pair, struct dx_json *j,
                      struct dx_error *err)
{
    const struct dx_pair_runs_pair *p = &t->runs.pairs[pair];
    const struct dx_dataset *dataset = dx_tag_page_dataset(&t->page, p->dataset_id, err);

    if (dataset == NULL)
        return (int)err->code;
    if (t->rows[pair] == 0)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: domain %llu has a tag in dataset %lu, but none of its rows has",
                       dx_version_own(t->page.view.version)->directory,
                       (unsigned long long)p->number, (unsigned long)p->dataset_id);
    dx_json_object(j);
    dx_json_key_u64(j, "dataset_id", p->dataset_id);
    dx_json_key(j, "name");
    dx_json_str(j, dataset->name);
    dx_json_key_u64(j, "row_count", t->rows[pair]);
    dx_json_end(j);
    return DX_OK;
}

static int write_domain(const struct tag_task *t, uint32_t number, struct dx_json *j,
                        struct dx_error *err)
{
    const struct dx_version *v = t->page.view.version;
    const struct dx_version_part *p = &v->parts[dx_version_part_at(v, number)];
    uint8_t domain[DX_SURT_MAX];
    uint64_t domain_id = 0;
    size_t pair = dx_pair_runs_from(&t->runs, 0, number);
    uint64_t rows = 0;
    size_t size = 0;
    int rc = dx_dictionary_get(&p->part->dictionary, number - p->first, domain, &size, err);

    if (rc >= 0)
        rc = dx_mphf_domain_id(&p->part->mphf, number - p->first, dx_span_of(domain, size),
                               &domain_id, err);
    for (size_t i = pair; i < t->runs.pair_count && t->runs.pairs[i].number == number; i++)
        rows += t->rows[i];
    dx_json_object(j);
    dx_json_key(j, "domain");
    dx_json_text(j, dx_span_of(domain, size));
    dx_json_key(j, "domain_id");
    dx_json_hex64(j, domain_id);
    dx_json_key_u64(j, "row_count", rows);
    dx_json_key(j, "datasets");
    dx_json_array(j);
    while (rc >= 0 && pair < t->runs.pair_count && t->runs.pairs[pair].number == number)
        rc = write_pair(t, pair++, j, err);
    dx_json_end(j);
    dx_json_end(j);
    return rc;
}

static int write_domains(struct tag_task *t, struct dx_json *j, struct dx_error *err)
{
    int rc = count_rows(t, err);

    for (size_t i = 0; rc >= 0 && i < t->count; i++)
        rc = write_domain(t, t->numbers[i], j, err);
    return rc;
}

/* ---- a page of rows ---- */

static int begin_rows(struct tag_task *t, struct dx_problem *problem)
{
    const struct dx_cursor *from = t->page.goes_on ? &t->page.from : NULL;
    struct dx_error err = DX_ERROR_INIT;
    size_t file = 0;
    int rc;

    while (from != NULL && file < t->sets.file_count &&
           t->sets.files[file].at.file_id != from->next_file)
        file++;
    if (from != NULL && file == t->sets.file_count)
        return dx_tag_page_mismatch("rows of a file that has none any more", problem);
    dx_tag_rows_init(&t->page_rows, &t->sets, hidden_of(t), t->ask.fields | DX_FIELD_URL,
                     t->ask.deadline_ms);
    rc = dx_tag_rows_begin(&t->page_rows, file, from != NULL ? from->next_row : 0, t->ask.limit,
                           &err);
    return rc < 0 ? dx_problem_advised(problem, &err, ADVICE) : 1;
}

struct row_writer {
    const struct tag_task *task;
    struct dx_item_text text;
};

static int write_row(void *ctx, const struct dx_tag_set_file *file,
                     const struct dx_listing_row *row, struct dx_error *err)
{
    struct row_writer *w = ctx;
    struct dx_json *j = w->text.json;
    const struct dx_dataset *dataset = dx_tag_page_dataset(&w->task->page, file->dataset_id, err);
    struct dx_span domain;
    int rc;

    if (dataset == NULL)
        return (int)err->code;
    if (dx_canon_host_domain(w->task->page.view.version->psl, row->host, &domain) != 1)
        domain = row->host;
    dx_json_object(j);
    rc = dx_item_text_members(&w->text, row, err);
    dx_json_key(j, "domain");
    dx_json_text(j, domain);
    dx_json_key_u64(j, "dataset_id", file->dataset_id);
    dx_json_key(j, "dataset");
    dx_json_str(j, dataset->name);
    dx_json_end(j);
    return rc < 0 || !j->buf->failed ? rc : dx_buf_fail(j->buf, err, "answer");
}

static int write_rows(struct tag_task *t, struct dx_json *j, struct dx_error *err)
{
    struct row_writer w = { .task = t };
    int rc;

    dx_item_text_init(&w.text, j, t->ask.fields, t->page.view.version);
    rc = dx_tag_rows_each(&t->page_rows, write_row, &w, err);
    dx_item_text_release(&w.text);
    return rc;
}

/* ---- the answer ---- */

/* Kind 0: there is no next page. */
static void place_next(const struct tag_task *t, struct dx_cursor *c)
{
    *c = (struct dx_cursor){ .limit = (uint32_t)t->ask.limit,
                             .began_s = t->ask.paging.began_s,
                             .tag_hash = dx_id64(t->ask.tag),
                             .rows = t->ask.urls,
                             .fields = t->ask.fields,
                             .next_row = t->next,
                             .end_row = INT64_MAX };
    if (t->ask.urls ? t->page_rows.more : t->more)
        c->kind = DX_CURSOR_TAG;
    if (t->ask.urls && t->page_rows.more) {
        c->next_row = t->page_rows.next_row;
        c->next_file = t->sets.files[t->page_rows.next_file].at.file_id;
    }
    dx_tag_page_place(&t->page, c);
}

/* Into the answer, or to the caller in this process. */
static int write_next(const struct tag_task *t, struct dx_json *j, struct dx_error *err)
{
    struct dx_cursor c;

    place_next(t, &c);
    if (t->ask.next != NULL)
        *t->ask.next = c;
    if (t->ask.paging.cursors == NULL)
        return DX_OK;
    dx_json_key(j, "next_cursor");
    if (c.kind == DX_CURSOR_TAG)
        return dx_tag_page_cursor(&c, t->ask.paging.cursors, t->ask.paging.principal, j, err);
    dx_json_null(j);
    return DX_OK;
}

static int write_answer(struct tag_task *t, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    dx_answer_summarize(t->task.summary, (struct dx_answer_summary){ .rows = t->sets.row_count });
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "tag");
    dx_json_text(&j, t->ask.tag);
    dx_tag_page_head(&t->page, &j);
    dx_json_key_u64(&j, "domain_count", t->sets.domain_count);
    dx_json_key_u64(&j, "row_count", t->sets.row_count);
    dx_json_key(&j, "of");
    dx_json_str(&j, t->ask.urls ? "urls" : "domains");
    dx_json_key(&j, "items");
    dx_json_array(&j);
    rc = t->ask.urls ? write_rows(t, &j, err) : write_domains(t, &j, err);
    dx_json_end(&j);
    if (rc >= 0)
        rc = write_next(t, &j, err);
    dx_answer_end(&j, t->page.view.version);
    return rc >= 0 && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* ---- the steps ---- */

/* What is hidden is known: 1 there is something left. */
static int begin_page(struct tag_task *t, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = t->hides ? dx_tag_sets_hide(&t->sets, &t->hidden, &err) : DX_OK;

    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    dx_tag_sets_count(&t->sets);
    if (t->sets.row_count == 0)
        return not_found(t, problem);
    t->state = READ;
    if (t->ask.urls)
        return begin_rows(t, problem);
    rc = begin_domains(t, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

static int read_some(struct tag_task *t, struct dx_error *err)
{
    if (t->state == HIDDEN)
        return t->hides ? dx_pair_runs_step(&t->hidden.runs, err) : DX_LISTING_DONE;
    return t->ask.urls ? dx_tag_rows_step(&t->page_rows, err) : dx_pair_runs_step(&t->runs, err);
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct tag_task *t = (struct tag_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = read_some(t, &err);

    if (rc == DX_LISTING_DONE && t->state == HIDDEN) {
        rc = begin_page(t, problem);
        if (rc != 1)
            return rc;
        rc = read_some(t, &err);
    }
    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc >= 0)
        rc = write_answer(t, body, &err);
    if (rc >= 0)
        return 1;
    dx_buf_clear(body);
    return dx_problem_advised(problem, &err, ADVICE);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    struct tag_task *t = (struct tag_task *)of;

    if (t->state == HIDDEN)
        return dx_pair_runs_fetched(&t->hidden.runs, rc, err);
    return t->ask.urls ? dx_listing_fetched(&t->page_rows.listing, rc, err)
                       : dx_pair_runs_fetched(&t->runs, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    struct tag_task *t = (struct tag_task *)of;

    if (t->state == HIDDEN)
        return &t->hidden.runs.reading;
    return t->ask.urls ? &t->page_rows.listing.reading : &t->runs.reading;
}

static void release_task(struct dx_task *of)
{
    struct tag_task *t = (struct tag_task *)of;

    if (t->page_rows.sets != NULL)
        dx_tag_rows_release(&t->page_rows);
    dx_pair_runs_release(&t->runs);
    if (t->hides)
        dx_suppression_tags_release(&t->hidden);
    dx_tag_sets_release(&t->sets);
    free(t->numbers);
    free(t->rows);
    free(t->text);
    free(t);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* ---- the task ---- */

/* 1: sets are of the tag, as the index has them; 0: the problem. */
static int find_tag(struct tag_task *t, struct dx_problem *problem)
{
    const uint32_t *dataset = t->page.dataset != NULL ? &t->page.dataset->dataset_id : NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = 0;

    if (dx_tag_fits(t->ask.tag))
        rc = dx_tag_sets_open(&t->sets, &t->page.view, t->ask.tag, dataset, &err);
    if (rc == 1 && t->sets.set_bytes > SETS_MAX)
        rc = dx_fail(&err, DX_E_LIMIT,
                     "so many rows have this tag that their numbers take over %u MiB",
                     SETS_MAX >> 20);
    if (rc == 1)
        rc = dx_tag_sets_domains(&t->sets, &err) < 0 ? (int)err.code : 1;
    if (rc < 0)
        return dx_problem_advised(problem, &err, ADVICE);
    return rc == 0 ? not_found(t, problem) : 1;
}

static int begin_hidden(struct tag_task *t, struct dx_canon *canon, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (!dx_suppression_tags_any(t->page.view.version))
        return 1;
    t->hides = true;
    rc = dx_suppression_tags_begin(&t->hidden, &t->page.view, canon, t->sets.domains,
                                   t->ask.deadline_ms, problem);
    if (rc < 0)
        return rc;
    rc = dx_tag_sets_want(&t->sets, &t->hidden, &err);
    if (rc == 0)
        rc = dx_fail(&err, DX_E_LIMIT,
                     "suppressions concern over %d pairs of a domain and a dataset with this tag",
                     DX_TAG_HIDDEN_PAIRS);
    return rc < 0 ? dx_problem_advised(problem, &err, ADVICE) : 1;
}

/* The question that a cursor is of. */
static int same_question(const struct tag_task *t, struct dx_problem *problem)
{
    const struct dx_cursor *from = &t->page.from;

    if (!t->page.goes_on)
        return 1;
    if (from->tag_hash != dx_id64(t->ask.tag))
        return dx_tag_page_mismatch("another tag", problem);
    if (from->rows != t->ask.urls)
        return dx_tag_page_mismatch(from->rows ? "of=urls" : "of=domains", problem);
    return 1;
}

static struct tag_task *new_task(const struct dx_tag_ask *ask)
{
    struct tag_task *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->task.kind = &kind;
    t->ask = *ask;
    t->text = malloc(ask->tag.size + 1);
    if (t->text == NULL) {
        free(t);
        return NULL;
    }
    if (ask->tag.size > 0)
        memcpy(t->text, ask->tag.data, ask->tag.size);
    t->ask.tag = dx_span_of(t->text, ask->tag.size);
    return t;
}

int dx_task_tag(const struct dx_view *view, struct dx_canon *canon, const struct dx_tag_ask *ask,
                struct dx_task **out, struct dx_answer_summary *summary, struct dx_buf *body,
                struct dx_problem *problem)
{
    struct tag_task *t = new_task(ask);
    const struct dx_view urls = dx_view_urls(view);
    int rc;

    *out = NULL;
    if (t == NULL)
        return dx_task_no_memory(problem);
    t->task.summary = summary;
    rc = dx_tag_page_begin(&t->page, &urls, ask->paging.from, ask->one_dataset, ask->dataset_id,
                           problem);
    if (rc == 1)
        rc = same_question(t, problem);
    if (rc == 1)
        rc = find_tag(t, problem);
    if (rc == 1)
        rc = begin_hidden(t, canon, problem);
    if (rc == 1)
        rc = step_task(&t->task, body, problem);
    return dx_task_begun(&t->task, rc, out);
}
