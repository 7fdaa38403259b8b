/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/all_urls_task.h"

#include "loader/domain_pairs.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/rows/cursor.h"
#include "query/suppression/counts_only.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AROUND_ROW 120   /* bytes of names, signs, ids and time of an item */
#define AROUND_ROWS 1024 /* of the rest of an answer, without its datasets */

#define ITEMS_MAX ((size_t)64 << 20)   /* bytes of the items of a filtered page */
#define ITEMS_ENOUGH ((size_t)8 << 20) /* one that comes to it ends with the rows of its dataset */

/* ---- the answer ---- */

int dx_all_urls_cursor(const struct all_urls_task *task, struct dx_domain_rows_place next,
                       struct dx_domain_rows_place end, bool has_kept,
                       const struct dx_cursor_position *position, struct dx_json *j,
                       struct dx_error *err)
{
    const struct dx_version *v = task->view.version;
    struct dx_cursor c = {
        .kind = DX_CURSOR_ALL_URLS,
        .build = v->entry.build,
        .began_s = task->ask.paging.from != NULL ? task->ask.paging.from->began_s
                                                 : task->ask.paging.began_s,
        .limit = (uint32_t)task->ask.page.limit,
        .domain_id = task->found.domain_id,
        .fields = task->ask.fields,
        .next_dataset = next.dataset_id,
        .next_row = next.row,
        .end_dataset = end.dataset_id,
        .end_row = end.row,
        .dataset_count = (uint8_t)task->only.count,
        .filter_size = task->filter_size,
        .sort = (uint8_t)task->ask.order.sort,
        .reverse = task->ask.order.reverse,
        .has_kept = has_kept,
        .subdomains = task->ask.subdomains,
        .collapse = (uint8_t)task->ask.order.collapse,
        .collapse_digits = (uint8_t)task->ask.order.digits,
        .closest_us = task->ask.order.closest_us,
        .range = task->range_hash,
    };
    char text[DX_CURSOR_TEXT];
    int rc;

    memcpy(c.version, v->entry.version, sizeof c.version);
    memcpy(c.datasets, task->only.ids, task->only.count * sizeof *task->only.ids);
    memcpy(c.filter, task->filter, task->filter_size);
    if (position != NULL)
        c.position = *position;
    rc = dx_cursor_write(&c, task->ask.paging.cursors, task->ask.paging.principal, text, err);
    if (rc == DX_OK)
        dx_json_str(j, text);
    return rc;
}

/* Where this answer's rows may go to: the end of the listing, or of the cursor's part of it. A place and not the number of a visible
 * row: rules that come and go between two pages neither move the border of two parts nor end a listing early. */
static struct dx_domain_rows_place end_of(const struct all_urls_task *task)
{
    const struct dx_cursor *from = task->ask.paging.from;

    return from == NULL ? DX_DOMAIN_ROWS_END
                        : (struct dx_domain_rows_place){ from->end_dataset, from->end_row };
}

/* Whether the total is known: all rows of a domain, a host or a prefix are in the listing. */
static bool is_counted(const struct all_urls_task *task)
{
    return task->mode != ALL_URLS_FILTERED && !dx_row_filter_any(&task->rest) &&
           dx_url_range_contiguous(&task->range) && task->ask.order.collapse == DX_COLLAPSE_NONE;
}

/* That have a visible row of what is listed, or, where that is not known, of the domain. */
static uint64_t count_datasets(const struct all_urls_task *task)
{
    return task->mode == ALL_URLS_MERGED && task->range.kind != DX_URL_RANGE_DOMAIN
               ? task->merged.found.range_datasets
               : dx_domain_rows_datasets(&task->rows);
}

static void write_head(const struct all_urls_task *task, struct dx_json *j)
{
    bool counted = is_counted(task);
    uint64_t total = task->mode == ALL_URLS_MERGED ? task->merged.found.range_rows
                                                   : dx_domain_rows_total(&task->rows);
    uint64_t datasets = count_datasets(task);

    dx_answer_summarize(task->task.summary,
                        (struct dx_answer_summary){ .domain_id = task->found.domain_id,
                                                    .has_domain_id = true,
                                                    .datasets = datasets,
                                                    .rows = counted ? total : 0 });
    dx_json_object(j);
    if (task->ask.of_host) {
        dx_json_key(j, "host");
        dx_json_text(j, task->range.host);
        dx_json_key(j, "subdomains");
        dx_json_bool(j, task->ask.subdomains);
    }
    dx_domain_json(j, dx_span_of(task->found.domain, task->found.domain_size));
    dx_json_key(j, "domain_id");
    dx_json_hex64(j, task->found.domain_id);
    dx_json_key_u64(j, "dataset_count", datasets);
    if (counted) { /* else it is not known how many there are */
        dx_json_key_u64(j, "total", total);
        dx_json_key_u64(j, "total_est", total);
    }
    if (task->withheld_rows > 0)
        dx_json_key_u64(j, "withheld_rows", task->withheld_rows);
    if (task->counts_only > 0)
        dx_json_key_u64(j, "counts_only_datasets", task->counts_only);
}

static int write_plan(const struct all_urls_task *task, struct dx_json *j, struct dx_error *err)
{
    uint64_t total = dx_domain_rows_total(&task->rows);
    uint64_t parts = task->ask.plan;
    uint64_t begin = 0;
    int rc = DX_OK;

    dx_json_key(j, "cursors");
    dx_json_array(j);
    for (uint64_t i = 0; i < parts && rc == DX_OK; i++) {
        uint64_t end = begin + total / parts + (i < total % parts);

        rc = dx_all_urls_cursor(
            task, i == 0 ? DX_DOMAIN_ROWS_FIRST : dx_domain_rows_place(&task->rows, begin),
            i + 1 == parts ? DX_DOMAIN_ROWS_END : dx_domain_rows_place(&task->rows, end), false,
            NULL, j, err);
        begin = end;
    }
    dx_json_end(j);
    return rc;
}

void dx_all_urls_dataset(const struct all_urls_task *task, uint32_t dataset_id, struct dx_json *j)
{
    const struct dx_dataset *d = dx_registry_by_id(&task->view.version->registry, dataset_id);

    dx_json_object(j);
    dx_json_key_u64(j, "dataset_id", dataset_id);
    dx_json_key(j, "dataset");
    dx_json_str(j, d->name); /* it is there: checked in add_pair */
    dx_json_end(j);
}

/* Id and name of the datasets that the items of this page are of. */
static void write_datasets(const struct all_urls_task *task, struct dx_json *j)
{
    const struct dx_domain_rows *r = &task->rows;

    dx_json_key(j, "datasets");
    dx_json_array(j);
    for (size_t i = 0; i < r->segment_count; i++) {
        uint32_t id = r->pairs[r->segments[i].pair].dataset_id;

        if (i == 0 || id != r->pairs[r->segments[i - 1].pair].dataset_id)
            dx_all_urls_dataset(task, id, j);
    }
    dx_json_end(j);
}

static void begin_dataset(void *ctx, uint32_t dataset_id)
{
    dx_item_text_dataset(ctx, dataset_id);
}

static int write_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    return dx_item_text_write(ctx, row, err);
}

static int write_stretch(void *ctx, const struct dx_listing_stretch *s, struct dx_error *err)
{
    return dx_item_text_stretch(ctx, s, err);
}

static int write_page(struct all_urls_task *task, struct dx_json *j, struct dx_error *err)
{
    struct dx_item_text items;
    const struct dx_domain_rows_taker taker = { &items, begin_dataset, write_row, write_stretch };
    uint64_t next = task->offset + task->rows.row_count;
    bool more = next < task->end;
    int rc;

    write_datasets(task, j);
    dx_json_key_u64(j, "offset", task->offset);
    dx_json_key(j, "items");
    dx_json_array(j);
    dx_item_text_init(&items, j, task->ask.fields, task->view.version);
    rc = dx_domain_rows_each(&task->rows, &taker, err);
    dx_item_text_release(&items);
    if (rc < 0)
        return rc;
    dx_json_end(j);
    dx_json_key(j, "next_offset");
    more ? dx_json_u64(j, next) : dx_json_null(j);
    if (task->ask.paging.cursors == NULL)
        return DX_OK;
    dx_json_key(j, "next_cursor");
    if (more)
        return dx_all_urls_cursor(task, task->rows.next, end_of(task), false, NULL, j, err);
    dx_json_null(j);
    return DX_OK;
}

static int write_filtered_page(struct all_urls_task *task, struct dx_json *j, struct dx_error *err)
{
    const struct dx_filtered_domain *f = &task->filtered;
    uint64_t next = 0;

    (void)dx_domain_rows_before(&task->rows, &f->next, &next);
    dx_json_end(&task->items_json);
    dx_json_end(&task->datasets_json);
    dx_json_key(j, "datasets");
    dx_json_number(j, dx_span_of(task->datasets.data, task->datasets.size));
    dx_json_key(j, "items");
    dx_json_number(j, dx_span_of(task->items.data, task->items.size));
    dx_answer_cost(j, task->view.version, f->rows_seen, f->pages_seen, f->bytes_seen);
    if (task->items.failed)
        return dx_buf_fail(&task->items, err, "answer");
    if (task->datasets.failed)
        return dx_buf_fail(&task->datasets, err, "answer");
    dx_json_key(j, "next_cursor");
    if (next < task->end)
        return dx_all_urls_cursor(task, f->next, end_of(task), false, NULL, j, err);
    dx_json_null(j);
    return DX_OK;
}

/* Room for usual answers at once: growing step by step copies them twice. */
static void reserve(const struct all_urls_task *task, struct dx_buf *body)
{
    uint64_t bytes = AROUND_ROWS + task->rows.row_count * AROUND_ROW +
                     dx_domain_rows_text_bytes(&task->rows);

    if (bytes <= body->max - body->size)
        (void)dx_buf_reserve(body, (size_t)bytes);
}

static int write_answer(struct all_urls_task *task, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    reserve(task, body);
    dx_json_open(&j, body);
    write_head(task, &j);
    rc = task->ask.plan > 0                ? write_plan(task, &j, err)
         : task->mode == ALL_URLS_FILTERED ? write_filtered_page(task, &j, err)
         : task->mode == ALL_URLS_MERGED   ? dx_merged_urls_page(task, &j, err)
                                           : write_page(task, &j, err);
    if (rc < 0)
        return rc;
    dx_answer_end(&j, task->view.version);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

/* ---- before it ---- */

static int add_pair(struct all_urls_task *task, uint32_t dataset_id,
                    const struct dx_pair_count *counts, const struct dx_suppression_pair *hidden,
                    struct dx_error *err)
{
    if (dx_view_dataset(&task->view, task->found.part, dataset_id, err) == NULL)
        return (int)err->code;
    if (hidden != NULL)
        task->withheld_rows += hidden->withheld_rows;
    if (hidden != NULL && hidden->visible.row_count == 0)
        return DX_OK;
    return dx_domain_rows_add(&task->rows, dataset_id, counts, hidden, err);
}

/* The pairs that are shown and asked for, of which a row is visible. 1, or as query/answers/answer.h. */
static int add_pairs(struct all_urls_task *task, struct dx_problem *problem)
{
    const struct dx_suppression_pair *all_hidden = NULL; /* the first such pair */
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_view_pairs(&pairs, &task->view, task->found.part, task->found.ordinal, &err);

    for (size_t i = 0; rc >= 0 && i < pairs.count; i++) {
        const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&task->withheld,
                                                                            pairs.ids[i]);

        if (task->only.count > 0 && !dx_dataset_list_has(&task->only, pairs.ids[i]))
            continue;
        if (all_hidden == NULL && hidden != NULL && hidden->visible.row_count == 0)
            all_hidden = hidden;
        rc = add_pair(task, pairs.ids[i], &pairs.counts[i], hidden, &err);
    }
    dx_domain_pairs_release(&pairs);
    if (rc >= 0 && task->only.count == 0)
        rc = dx_counts_only_datasets(&task->view, &task->found, &task->withheld, &task->counts_only,
                                     &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (dx_domain_rows_total(&task->rows) > 0)
        return 1;
    if (task->counts_only > 0)
        return dx_lookup_counts_only("Each dataset with this domain", problem);
    if (all_hidden != NULL)
        return dx_suppression_view_no_pair(&task->view, &task->found, all_hidden, problem);
    return task->only.count > 0
               ? dx_lookup_no_pair(&task->view, &task->found, task->only.ids[0], problem)
               : dx_lookup_no_domain(
                     &task->view, dx_span_of(task->found.domain, task->found.domain_size), problem);
}

static int mismatch(struct dx_problem *problem, const char *what)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "cursor-mismatch",
                          "The cursor is of another question",
                          "this cursor goes on with a listing of %s", what);
}

/* Of a cursor its own list; one beside it must say the same. */
static int take_datasets(struct all_urls_task *task, struct dx_problem *problem)
{
    const struct dx_cursor *from = task->ask.paging.from;
    int rc = task->ask.datasets.data == NULL
                 ? 1
                 : dx_dataset_list_parse(&task->only, &task->view, task->ask.datasets, problem);

    if (rc != 1 || from == NULL)
        return rc;
    if (task->ask.datasets.data != NULL &&
        (task->only.count != from->dataset_count ||
         memcmp(task->only.ids, from->datasets, task->only.count * sizeof *task->only.ids) != 0))
        return mismatch(problem, "other datasets");
    task->only.count = from->dataset_count;
    memcpy(task->only.ids, from->datasets, from->dataset_count * sizeof *from->datasets);
    return 1;
}

static int same_question(const struct all_urls_task *task, struct dx_problem *problem)
{
    const struct dx_cursor *from = task->ask.paging.from;
    int rc = dx_cursor_of_version(from, &task->view.version->entry, problem);

    if (rc != 1 || from == NULL)
        return rc;
    if (from->range != task->range_hash)
        return mismatch(problem, "another host, or of a whole domain");
    return from->domain_id == task->found.domain_id ? 1 : mismatch(problem, "another domain");
}

/* Only a caller that has the key can get here, or, without a key file, one that builds its own. */
static int cursor_astray(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-cursor", "Bad cursor",
                          "this cursor names rows behind the end of a dataset");
}

static int row_is_gone(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_GONE, "cursor-expired", "The cursor is too old",
                          "the last row of the page before is not visible any more, and its URL is "
                          "too long to be in a cursor; begin again without the cursor");
}

/* The row that an order goes on behind, where the cursor does not say where it stands: 1 it is visible, 0. */
static int check_place(const struct all_urls_task *task, struct dx_problem *problem)
{
    const struct dx_cursor *from = task->ask.paging.from;
    const struct dx_domain_rows *r = &task->rows;
    size_t i = 0;

    if (from == NULL || from->position.given)
        return 1;
    while (i < r->pair_count && r->pairs[i].dataset_id != from->next_dataset)
        i++;
    if (i < r->pair_count && from->next_row >= r->pairs[i].rows)
        return cursor_astray(problem);
    return i == r->pair_count || dx_suppression_view_hidden(r->pairs[i].hidden, from->next_row)
               ? row_is_gone(problem)
               : 1;
}

/* ---- a filtered page ---- */

static void begin_filtered_dataset(void *ctx, uint32_t dataset_id)
{
    struct all_urls_task *task = ctx;

    dx_all_urls_dataset(task, dataset_id, &task->datasets_json);
    dx_item_text_dataset(&task->text, dataset_id);
}

static int write_filtered_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct all_urls_task *task = ctx;
    int rc = dx_item_text_write(&task->text, row, err);

    return rc < 0 ? rc : task->items.size >= ITEMS_ENOUGH;
}

static void begin_filtered(struct all_urls_task *task)
{
    const struct dx_filtered_domain_ask ask = {
        .filter = task->rest,
        .first = dx_domain_rows_place(&task->rows, task->offset),
        .end = end_of(task),
        .limit = task->ask.page.limit,
    };
    const struct dx_domain_rows_taker taker = { .ctx = task,
                                                .dataset = begin_filtered_dataset,
                                                .row = write_filtered_row };

    task->mode = ALL_URLS_FILTERED;
    dx_buf_init(&task->items, ITEMS_MAX);
    dx_buf_init(&task->datasets, ITEMS_MAX);
    dx_json_open(&task->items_json, &task->items);
    dx_json_array(&task->items_json);
    dx_json_open(&task->datasets_json, &task->datasets);
    dx_json_array(&task->datasets_json);
    dx_item_text_init(&task->text, &task->items_json, task->ask.fields, task->view.version);
    dx_filtered_domain_init(&task->filtered, &task->rows, &ask, &taker);
}

/* Which visible rows are wanted, and the first window of them. */
static int begin_rows(struct all_urls_task *task, struct dx_problem *problem)
{
    const struct dx_cursor *from = task->ask.paging.from;
    const struct dx_domain_rows_place end = end_of(task);
    struct dx_domain_rows *r = &task->rows;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t limit = task->ask.page.limit;

    task->offset = task->ask.page.offset;
    if (!dx_domain_rows_before(r, &end, &task->end) ||
        (from != NULL &&
         !dx_domain_rows_before(
             r, &(struct dx_domain_rows_place){ from->next_dataset, from->next_row },
             &task->offset)))
        return cursor_astray(problem);
    if (task->ask.plan > 0)
        return 1;
    if (dx_row_filter_any(&task->rest) || task->rest.below.data != NULL) {
        begin_filtered(task);
        return 1;
    }
    if (task->offset >= task->end)
        limit = 0;
    else if (limit > task->end - task->offset)
        limit = task->end - task->offset;
    return dx_domain_rows_begin(r, task->offset, limit, &err) < 0
               ? dx_problem_of_error(problem, &err)
               : 1;
}

/* ---- the task ---- */

static const char *advice_of(const struct all_urls_task *task)
{
    if (task->mode != ALL_URLS_MERGED && !task->bounding)
        return "Ask for fewer rows with a smaller limit.";
    if (task->ask.order.sort > DX_CURSOR_SORT_URL)
        return "Ask for less with from= and to=, dataset=, or /v1/host/{host}/urls with prefix=; "
               "or "
               "with sort=url, which has no such limit.";
    return "Ask for fewer datasets with dataset=, or a smaller limit.";
}

static int side_of_range(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row)
{
    const struct all_urls_task *task = ctx;

    (void)stream;
    (void)place;
    return dx_url_range_side(&task->range, row->host, row->path_query);
}

static int advance(struct all_urls_task *task, struct dx_error *err)
{
    switch (task->mode) {
    case ALL_URLS_FILTERED:
        return dx_filtered_domain_step(&task->filtered, err);
    case ALL_URLS_MERGED:
        return dx_merged_page_step(&task->merged, err);
    default:
        return dx_domain_rows_step(&task->rows, err);
    }
}

/* The rows of the range: then `rows` has no others. */
static int find_bounds(struct all_urls_task *task, struct dx_error *err)
{
    struct dx_row_streams *s = &task->streams;
    struct dx_domain_rows_range *ranges;
    int rc = dx_row_streams_open(s, err);

    if (rc == DX_LISTING_DONE && !task->searching)
        dx_row_streams_search(
            s, &(struct dx_row_streams_question){ .ctx = task, .side = side_of_range });
    task->searching = rc == DX_LISTING_DONE;
    if (rc == DX_LISTING_DONE)
        rc = dx_row_streams_find(s, err);
    if (rc != DX_LISTING_DONE)
        return rc;
    ranges = calloc(s->count + 1, sizeof *ranges);
    if (ranges == NULL)
        return dx_no_memory(err, "listing");
    for (size_t i = 0; i < s->count; i++)
        ranges[i] = (struct dx_domain_rows_range){ s->streams[i].pair, s->streams[i].low,
                                                   s->streams[i].high };
    rc = dx_row_bounds_keep(task->view.version->caches->pages, &task->bounds, ranges, s->count,
                            err);
    dx_domain_rows_rewind(&task->rows);
    if (rc == DX_OK)
        rc = dx_domain_rows_narrow(&task->rows, ranges, s->count, err);
    free(ranges);
    dx_row_streams_release(s);
    task->bounding = false;
    return rc;
}

static int no_rows(const struct all_urls_task *task, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "host-not-found",
                          "No dataset has URLs of this host",
                          "%.*s is in version %s, but no URL of the host %.*s. "
                          "/v1/domain/%.*s/hosts lists its hosts.",
                          (int)task->found.domain_size, (const char *)task->found.domain,
                          task->view.version->entry.version, (int)task->range.host.size,
                          (const char *)task->range.host.data, (int)task->found.domain_size,
                          (const char *)task->found.domain);
}

/* With the rows of the range at hand: which of them. */
static int begin_bounded(struct all_urls_task *task, struct dx_problem *problem)
{
    if (dx_domain_rows_total(&task->rows) == 0 && task->range.kind == DX_URL_RANGE_HOST &&
        task->withheld_rows == 0)
        return no_rows(task, problem);
    return begin_rows(task, problem);
}

/* Where the rows of the range are: as was found before, or by a search. */
static int begin_bounds(struct all_urls_task *task, struct dx_problem *problem)
{
    struct dx_page_cache *pages = task->view.version->caches->pages;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_bounds bounds;
    int rc = dx_row_bounds_key(&task->bounds, &task->rows, &task->range, &err);

    if (rc == DX_OK && dx_row_bounds_find(&bounds, pages, &task->bounds)) {
        rc = dx_domain_rows_narrow(&task->rows, bounds.ranges, bounds.count, &err);
        dx_row_bounds_put(&bounds, pages);
        return rc < 0 ? dx_problem_of_error(problem, &err) : begin_bounded(task, problem);
    }
    if (rc == DX_OK)
        rc = dx_domain_rows_begin_runs(&task->rows, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    dx_row_streams_init(&task->streams, &task->rows);
    task->bounding = true;
    return 1;
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct all_urls_task *task = (struct all_urls_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    bool was_bounding = task->bounding;
    int rc = was_bounding ? find_bounds(task, &err) : DX_LISTING_DONE;

    if (rc == DX_LISTING_DONE && was_bounding) {
        rc = begin_bounded(task, problem);
        if (rc != 1)
            return rc;
        rc = DX_LISTING_DONE;
    }
    if (rc == DX_LISTING_DONE)
        rc = advance(task, &err);
    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE)
        rc = write_answer(task, body, &err);
    if (rc < 0) {
        dx_buf_clear(body);
        return dx_problem_advised(problem, &err, advice_of(task));
    }
    return 1;
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    struct all_urls_task *task = (struct all_urls_task *)of;

    if (task->bounding)
        return dx_row_streams_fetched(&task->streams, rc, err);
    return task->mode == ALL_URLS_FILTERED ? dx_filtered_domain_fetched(&task->filtered, rc, err)
           : task->mode == ALL_URLS_MERGED ? dx_merged_page_fetched(&task->merged, rc, err)
                                           : dx_domain_rows_fetched(&task->rows, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    struct all_urls_task *task = (struct all_urls_task *)of;

    if (task->bounding)
        return dx_row_streams_reading(&task->streams);
    return task->mode == ALL_URLS_FILTERED ? dx_filtered_domain_reading(&task->filtered)
           : task->mode == ALL_URLS_MERGED ? dx_merged_page_reading(&task->merged)
                                           : dx_domain_rows_reading(&task->rows);
}

static void release_task(struct dx_task *of)
{
    struct all_urls_task *task = (struct all_urls_task *)of;

    if (task->mode == ALL_URLS_FILTERED) {
        dx_filtered_domain_release(&task->filtered);
        dx_item_text_release(&task->text);
        dx_buf_release(&task->items);
        dx_buf_release(&task->datasets);
    }
    if (task->mode == ALL_URLS_MERGED)
        dx_merged_page_release(&task->merged);
    if (task->bounding)
        dx_row_streams_release(&task->streams);
    dx_domain_rows_release(&task->rows);
    dx_suppression_view_release(&task->withheld);
    dx_row_regexes_release(&task->regexes);
    free(task);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* What is asked: the range, and what of the filter it does not say. */
static int set_range(struct all_urls_task *task, struct dx_canon *canon, struct dx_problem *problem)
{
    const struct dx_all_urls_ask *ask = &task->ask;
    int rc;

    task->rest = ask->filter;
    task->range = (struct dx_url_range){ .kind = DX_URL_RANGE_DOMAIN };
    if (!ask->of_host)
        return 1;
    rc = dx_host_range_parse(&task->host, canon, ask->asked, problem);
    if (rc != 1)
        return rc;
    task->range = dx_host_range_of(&task->host, ask->subdomains, ask->filter.prefix);
    task->range_hash = dx_host_range_hash(&task->host, ask->subdomains);
    if (ask->subdomains)
        task->rest.below = task->range.host;
    else
        task->rest.prefix = dx_span_of(NULL, 0);
    return 1;
}

static int begin_task(struct all_urls_task *task, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = take_datasets(task, problem);

    if (rc == 1)
        rc = add_pairs(task, problem);
    if (rc != 1)
        return rc;
    if (task->ask.order.sort != DX_CURSOR_SORT_NONE) {
        rc = check_place(task, problem);
        if (rc != 1)
            return rc;
        if (dx_merged_urls_begin(task, &err) < 0)
            return dx_problem_advised(problem, &err, advice_of(task));
        return 1;
    }
    if (task->range.kind == DX_URL_RANGE_DOMAIN || !dx_url_range_contiguous(&task->range))
        return begin_rows(task, problem);
    return begin_bounds(task, problem);
}

/* Whether a brief one ends before its first step. */
static bool is_long(struct all_urls_task *task)
{
    if (task->mode == ALL_URLS_FILTERED)
        task->filtered.brief = true;
    return task->bounding || task->mode == ALL_URLS_MERGED ||
           (task->mode == ALL_URLS_WINDOW && !dx_domain_rows_all_kept(&task->rows));
}

int dx_task_all_urls(const struct dx_view *view, struct dx_canon *canon,
                     const struct dx_all_urls_ask *ask, struct dx_task **out,
                     struct dx_answer_summary *summary, struct dx_buf *body,
                     struct dx_problem *problem)
{
    struct all_urls_task *task = malloc(sizeof *task);
    int rc;

    *out = NULL;
    if (task == NULL)
        return dx_task_no_memory(problem);
    memset(task, 0, offsetof(struct all_urls_task, streams));
    task->task.kind = &kind;
    task->task.summary = summary;
    task->view = dx_view_urls(view);
    task->ask = *ask;
    if (ask->paging.from != NULL) {
        task->from = *ask->paging.from;
        task->ask.paging.from = &task->from;
    }
    /* The ask's own texts end with the first step. */
    task->filter_size = (uint16_t)dx_row_filter_pack(&ask->filter, task->filter);
    (void)dx_row_filter_unpack(dx_span_of(task->filter, task->filter_size), &task->ask.filter);
    rc = dx_row_filter_compile(&task->ask.filter, &task->regexes, problem);
    if (rc == 1)
        rc = dx_lookup_domain(view, canon, ask->asked, &task->found, problem);
    if (rc == 1)
        rc = set_range(task, canon, problem);
    dx_domain_rows_init(&task->rows, view->version, task->found.part, task->found.ordinal,
                        ask->fields, ask->deadline_ms);
    task->rows.keeps = (ask->fields & ~DX_PAIR_ROWS_FIELDS) == 0;
    if (rc == 1)
        rc = same_question(task, problem);
    if (rc == 1) /* before all that would tell a hidden domain from one that is not there */
        rc = dx_suppression_view_of(view, &task->found, &task->withheld, problem);
    if (rc == 1)
        rc = begin_task(task, problem);
    if (rc == 1)
        rc = ask->brief && is_long(task) ? DX_TASK_WAITS : step_task(&task->task, body, problem);
    return dx_task_begun(&task->task, rc, out);
}

int dx_answer_all_urls(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                       struct dx_page_of page, unsigned fields, struct dx_buf *body,
                       struct dx_problem *problem)
{
    const struct dx_all_urls_ask ask = { .asked = asked, .page = page, .fields = fields };
    struct dx_task *task;
    int rc = dx_task_all_urls(view, canon, &ask, &task, NULL, body, problem);

    return dx_task_finish(&task, rc, body, problem);
}
