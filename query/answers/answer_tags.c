/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "canon/ids.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/tag_page.h"
#include "query/answers/task_kind.h"
#include "query/scan/tag_sets.h"
#include "query/suppression/suppression_tags.h"
#include "query/view/tag_names.h"

/* What a page may look at, files of tags and bytes of their sets: some ten milliseconds. A page
 * that comes to either ends there, and its cursor goes on. */
#define LOOK_MAX 100000
#define SETS_MAX (64u << 20)

/* Each round applies all rules again, so one that found hidden tags is followed by a larger one. */
#define ROUND_MAX 16384

#define ADVICE "Ask for one dataset, or for another prefix."

/* Tags are taken in rounds: as many as the page lacks, and more where many before were hidden; then
 * what is hidden of them is found out, and those of which nothing is left go. One more than the
 * page has is looked for, so that there is a cursor only if something follows. */
struct tags_task {
    struct dx_task task;
    struct dx_tag_page page;
    struct dx_tags_ask ask;
    struct dx_tag_names names; /* that were not looked at yet */
    bool ended;                /* there are none */
    uint64_t looked;
    uint64_t set_bytes;
    struct dx_tag_sets *sets;
    size_t capacity;
    size_t count; /* of them */
    size_t done;  /* of which it is known what may be shown */
    size_t gone;  /* tags of which nothing was left */
    bool stopped; /* the page may look at no more */
    bool hides;   /* hidden is of the tags from done on */
    struct dx_suppression_tags hidden;
    struct dx_canon *canon; /* of the first round, or own */
    struct dx_canon *own;
};

/* ---- a round ---- */

/* So many that the next round finds the page's, if tags go on as they were. */
static size_t round_size(const struct tags_task *t)
{
    size_t lacking = (size_t)t->ask.limit + 1 - t->done;
    size_t more = t->gone < ROUND_MAX / 4 ? 4 * t->gone : ROUND_MAX;

    return lacking + more < ROUND_MAX ? lacking + more : ROUND_MAX;
}

static int take_tags(struct tags_task *t, struct dx_error *err)
{
    const uint32_t *dataset = t->page.dataset != NULL ? &t->page.dataset->dataset_id : NULL;
    size_t end = t->done + round_size(t);

    if (end > t->capacity) {
        struct dx_tag_sets *to = realloc(t->sets, end * sizeof *to);

        if (to == NULL)
            return dx_no_memory(err, "tags");
        t->sets = to;
        t->capacity = end;
    }
    while (!t->ended && t->count < end && !t->stopped) {
        struct dx_tag_sets *s = &t->sets[t->count];
        struct dx_span tag;
        uint64_t number;
        int rc = dx_tag_names_next(&t->names, &tag, &number, err);

        t->ended = rc == 0;
        if (rc != 1)
            return rc;
        rc = dx_tag_sets_open(s, &t->page.view, tag, dataset, err);
        if (rc < 0) {
            dx_tag_sets_release(s);
            return rc;
        }
        s->number = number;
        t->looked += 1 + s->looked;
        t->set_bytes += s->set_bytes;
        if (rc == 1)
            t->count++;
        else
            dx_tag_sets_release(s);
        t->stopped = t->looked > LOOK_MAX || t->set_bytes > SETS_MAX;
    }
    return DX_OK;
}

/* A single file says how many domains it has, sets of several have to be joined. */
static int count_domains(struct tags_task *t, bool all, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = t->done; rc == DX_OK && i < t->count; i++) {
        if (!all && t->sets[i].file_count == 1)
            continue;
        rc = dx_tag_sets_domains(&t->sets[i], err);
        if (rc == DX_OK)
            dx_tag_sets_count(&t->sets[i]);
    }
    return rc;
}

/* The tags from i on are left for the next page. */
static int cut(struct tags_task *t, size_t i, struct dx_error *err)
{
    int rc = dx_tag_names_seek(&t->names, t->sets[i].tag, err);

    assert(i < t->count);
    while (t->count > i)
        dx_tag_sets_release(&t->sets[--t->count]);
    t->stopped = true;
    t->ended = false;
    return rc;
}

static int want_hidden(struct tags_task *t, struct dx_error *err)
{
    for (size_t i = t->done; i < t->count; i++) {
        int rc = dx_tag_sets_want(&t->sets[i], &t->hidden, err);

        if (rc < 0)
            return rc;
        if (rc == 0 && i == 0)
            return dx_fail(err, DX_E_LIMIT,
                           "suppressions concern over %d pairs of a domain and a dataset with the "
                           "next tag",
                           DX_TAG_HIDDEN_PAIRS);
        if (rc == 0)
            rc = cut(t, i, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int begin_hidden(struct tags_task *t, struct dx_problem *problem)
{
    roaring_bitmap_t *all = roaring_bitmap_create();
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    if (all == NULL)
        return dx_task_no_memory(problem);
    for (size_t i = t->done; i < t->count; i++)
        roaring_bitmap_or_inplace(all, t->sets[i].domains);
    if (t->canon == NULL && t->own == NULL &&
        dx_version_canon_new(t->page.view.version, &t->own, &err) < 0)
        rc = dx_problem_of_error(problem, &err);
    if (rc == 1) {
        rc = dx_suppression_tags_begin(&t->hidden, &t->page.view,
                                       t->canon != NULL ? t->canon : t->own, all,
                                       t->ask.deadline_ms, problem);
        t->hides = true;
    }
    roaring_bitmap_free(all);
    if (rc == 1 && want_hidden(t, &err) < 0)
        rc = dx_problem_advised(problem, &err, ADVICE);
    return rc;
}

/* 1, or <0. */
static int begin_round(struct tags_task *t, struct dx_problem *problem)
{
    bool hides = dx_suppression_tags_any(t->page.view.version);
    struct dx_error err = DX_ERROR_INIT;
    int rc = take_tags(t, &err);

    if (rc == DX_OK)
        rc = count_domains(t, hides, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    return hides && t->done < t->count ? begin_hidden(t, problem) : 1;
}

/* Those of which nothing is left go. */
static void keep_shown(struct tags_task *t)
{
    for (size_t i = t->done; i < t->count; i++) {
        if (t->sets[i].row_count == 0) {
            dx_tag_sets_release(&t->sets[i]);
            t->gone++;
            continue;
        }
        if (i > t->done) {
            t->sets[t->done] = t->sets[i];
            t->sets[i] = (struct dx_tag_sets){ .files = NULL };
        }
        t->done++;
    }
    t->count = t->done;
}

static int end_round(struct tags_task *t, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    for (size_t i = t->done; t->hides && rc == DX_OK && i < t->count; i++) {
        rc = dx_tag_sets_hide(&t->sets[i], &t->hidden, &err);
        if (rc == DX_OK)
            dx_tag_sets_count(&t->sets[i]);
    }
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (t->hides)
        dx_suppression_tags_release(&t->hidden);
    t->hides = false;
    t->canon = NULL; /* later rounds may be another thread's */
    keep_shown(t);
    return 1;
}

/* ---- the answer ---- */

static int write_datasets(const struct tags_task *t, const struct dx_tag_sets *s, struct dx_json *j,
                          struct dx_error *err)
{
    dx_json_key(j, "datasets");
    dx_json_array(j);
    for (size_t k = 0; k < s->dataset_count; k++) {
        const struct dx_tag_set_dataset *d = &s->datasets[k];
        const struct dx_dataset *dataset = dx_tag_page_dataset(&t->page, d->dataset_id, err);

        if (dataset == NULL)
            return (int)err->code;
        if (d->row_count == 0)
            continue;
        dx_json_object(j);
        dx_json_key_u64(j, "dataset_id", d->dataset_id);
        dx_json_key(j, "name");
        dx_json_str(j, dataset->name);
        dx_json_key_u64(j, "row_count", d->row_count);
        dx_json_key_u64(j, "domain_count", d->domain_count);
        dx_json_end(j);
    }
    dx_json_end(j);
    return DX_OK;
}

static int write_tag(const struct tags_task *t, const struct dx_tag_sets *s, struct dx_json *j,
                     struct dx_error *err)
{
    int rc;

    dx_json_object(j);
    dx_json_key(j, "tag");
    dx_json_text(j, s->tag);
    dx_json_key_u64(j, "row_count", s->row_count);
    dx_json_key_u64(j, "domain_count", s->domain_count);
    rc = write_datasets(t, s, j, err);
    dx_json_end(j);
    return rc;
}

static uint64_t prefix_hash(struct dx_span prefix)
{
    return prefix.size == 0 ? 0 : dx_id64(prefix);
}

static int write_cursor(const struct tags_task *t, uint64_t next, uint64_t end, struct dx_json *j,
                        struct dx_error *err)
{
    struct dx_cursor c = { .kind = DX_CURSOR_TAGS,
                           .began_s = t->ask.paging.began_s,
                           .limit = (uint32_t)t->ask.limit,
                           .fields = DX_FIELDS_DEFAULT,
                           .tag_hash = t->page.goes_on ? t->page.from.tag_hash
                                                       : prefix_hash(t->ask.prefix),
                           .next_row = next,
                           .end_row = end };

    dx_tag_page_place(&t->page, &c);
    return dx_tag_page_cursor(&c, t->ask.paging.cursors, t->ask.paging.principal, j, err);
}

static int write_answer(const struct tags_task *t, struct dx_buf *body, struct dx_error *err)
{
    size_t n = t->done > t->ask.limit ? (size_t)t->ask.limit : t->done;
    uint64_t next;
    uint64_t end;
    struct dx_json j;
    int rc = dx_tag_names_place(&t->names, &next, &end, err);

    if (rc < 0)
        return rc;
    if (t->done > n)
        next = t->sets[n].number;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_tag_page_head(&t->page, &j);
    dx_json_key(&j, "tags");
    dx_json_array(&j);
    for (size_t i = 0; rc >= 0 && i < n; i++)
        rc = write_tag(t, &t->sets[i], &j, err);
    dx_json_end(&j);
    dx_json_key(&j, "next_cursor");
    if (rc >= 0 && next != end)
        rc = write_cursor(t, next, end, &j, err);
    else
        dx_json_null(&j);
    dx_answer_end(&j, t->page.view.version);
    return rc >= 0 && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* ---- the task ---- */

static int read_hidden(struct tags_task *t, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = t->hides ? dx_pair_runs_step(&t->hidden.runs, &err) : DX_LISTING_DONE;

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    return rc < 0 ? dx_problem_advised(problem, &err, ADVICE) : end_round(t, problem);
}

static bool is_full(const struct tags_task *t)
{
    return t->done > t->ask.limit || t->ended || t->stopped;
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct tags_task *t = (struct tags_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = read_hidden(t, problem);

    while (rc == 1 && !is_full(t)) {
        rc = begin_round(t, problem);
        if (rc == 1)
            rc = read_hidden(t, problem);
    }
    if (rc != 1)
        return rc;
    rc = write_answer(t, body, &err);
    if (rc >= 0)
        return 1;
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_pair_runs_fetched(&((struct tags_task *)of)->hidden.runs, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return &((struct tags_task *)of)->hidden.runs.reading;
}

static void release_task(struct dx_task *of)
{
    struct tags_task *t = (struct tags_task *)of;

    if (t->hides)
        dx_suppression_tags_release(&t->hidden);
    for (size_t i = 0; i < t->count; i++)
        dx_tag_sets_release(&t->sets[i]);
    free(t->sets);
    dx_canon_free(&t->own);
    free(t);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* Which tags: of the prefix, from where the cursor goes on. A cursor says itself where its tags
 * end. Whether it is of this prefix is known by the prefix: where the tags of two begin and end
 * would tell whether hidden ones lie between. */
static int begin_names(struct tags_task *t, struct dx_problem *problem)
{
    const struct dx_version *v = t->page.view.version;
    const struct dx_cursor *from = &t->page.from;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (!t->page.goes_on) {
        rc = dx_tag_names_begin(&t->names, v, t->ask.prefix, &err);
        return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
    }
    if (t->ask.prefix.data != NULL && prefix_hash(t->ask.prefix) != from->tag_hash)
        return dx_tag_page_mismatch("another prefix", problem);
    rc = dx_tag_names_resume(&t->names, v, from->next_row, from->end_row, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    return rc == 0 ? dx_tag_page_mismatch("another prefix", problem) : 1;
}

int dx_task_tags(const struct dx_view *view, struct dx_canon *canon, const struct dx_tags_ask *ask,
                 struct dx_task **out, struct dx_buf *body, struct dx_problem *problem)
{
    struct tags_task *t = calloc(1, sizeof *t);
    const struct dx_view urls = dx_view_urls(view);
    int rc;

    *out = NULL;
    if (t == NULL)
        return dx_task_no_memory(problem);
    t->task.kind = &kind;
    t->ask = *ask;
    t->canon = canon;
    rc = dx_tag_page_begin(&t->page, &urls, ask->paging.from, ask->one_dataset, ask->dataset_id,
                           problem);
    if (rc == 1)
        rc = begin_names(t, problem);
    if (rc == 1)
        rc = step_task(&t->task, body, problem);
    t->canon = NULL;
    return dx_task_begun(&t->task, rc, out);
}
