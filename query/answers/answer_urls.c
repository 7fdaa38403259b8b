/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/item_text.h"
#include "query/answers/task_kind.h"
#include "query/rows/cursor.h"
#include "query/rows/listing.h"
#include "query/scan/filtered_rows.h"
#include "query/suppression/suppression_view.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <stdlib.h>

#define AROUND_ROW 96    /* bytes of names, signs, id and time of an item */
#define AROUND_ROWS 1024 /* of the rest of an answer */

struct item_writer {
    struct dx_item_text text;
    const struct dx_suppression_pair *hidden;
    uint64_t place; /* of the next row */
};

static int write_stretch(void *ctx, const struct dx_listing_stretch *s, struct dx_error *err)
{
    struct item_writer *w = ctx;
    int rc = dx_item_text_stretch(&w->text, s, err);

    w->place += rc == 1 ? s->row_count : 0;
    return rc;
}

static int write_item(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct item_writer *w = ctx;

    if (dx_suppression_view_hidden(w->hidden, w->place++))
        return DX_OK;
    return dx_item_text_write(&w->text, row, err);
}

struct urls_task {
    struct dx_task task;
    struct dx_listing listing;
    struct dx_found found;
    const struct dx_dataset *dataset;
    struct dx_urls_ask ask;
    struct dx_cursor from; /* of ask */
    struct dx_suppression_view withheld;
    const struct dx_suppression_pair *hidden; /* NULL: nothing of this pair is */
    bool is_filtered; /* then `filtered` in place of `listing`; a plan is made of that */
    struct dx_filtered_rows filtered;
    struct dx_row_regexes regexes; /* of the filter */
    uint16_t filter_size;          /* packed, for cursors */
    uint8_t filter[DX_ROW_FILTER_MAX];
};

/* Rows are numbered twice: by their place in the payload, which is what is read and what cursors
 * hold, and by how many visible ones stand before, which is what clients count. */
static uint64_t visible_before(const struct urls_task *task, uint64_t place)
{
    return dx_suppression_view_visible_before(task->hidden, place);
}

static uint64_t visible_total(const struct urls_task *task)
{
    return visible_before(task, task->listing.total);
}

/* Where this answer's rows may go: to the end of the listing, or of the cursor's part of it. */
static uint64_t end_of(const struct urls_task *task)
{
    return task->ask.paging.from != NULL ? task->ask.paging.from->end_row : task->listing.total;
}

static int write_cursor(const struct urls_task *task, uint64_t next, uint64_t end,
                        struct dx_json *j, struct dx_error *err)
{
    const struct dx_listing *l = &task->listing;
    struct dx_cursor c = {
        .kind = task->ask.foreign ? DX_CURSOR_FOREIGN : DX_CURSOR_LISTING,
        .build = l->version->entry.build,
        .began_s = task->ask.paging.from != NULL ? task->ask.paging.from->began_s
                                                 : task->ask.paging.began_s,
        .limit = (uint32_t)task->ask.page.limit,
        .domain_id = task->found.domain_id,
        .dataset_id = l->dataset_id,
        .fields = l->fields,
        .next_row = next,
        .end_row = end,
        .filter_size = task->filter_size,
    };
    char text[DX_CURSOR_TEXT];
    int rc;

    memcpy(c.version, l->version->entry.version, sizeof c.version);
    memcpy(c.filter, task->filter, task->filter_size);
    rc = dx_cursor_write(&c, task->ask.paging.cursors, task->ask.paging.principal, text, err);
    if (rc == DX_OK)
        dx_json_str(j, text);
    return rc;
}

static void write_head(const struct urls_task *task, struct dx_json *j)
{
    dx_answer_summarize(task->task.summary,
                        (struct dx_answer_summary){
                            .domain_id = task->found.domain_id,
                            .has_domain_id = true,
                            .rows = task->filter_size == 0 ? visible_total(task) : 0,
                        });
    dx_json_object(j);
    dx_domain_json(j, dx_span_of(task->found.domain, task->found.domain_size));
    dx_json_key(j, "domain_id");
    dx_json_hex64(j, task->found.domain_id);
    dx_json_key(j, "dataset_id");
    dx_json_u64(j, task->dataset->dataset_id);
    dx_json_key(j, "dataset");
    dx_json_str(j, task->dataset->name);
    if (task->filter_size == 0) { /* else it is not known how many there are */
        dx_json_key(j, "total");
        dx_json_u64(j, visible_total(task));
        dx_json_key(j, "total_est");
        dx_json_u64(j, visible_total(task));
    }
    if (task->hidden != NULL && task->hidden->withheld_rows > 0) {
        dx_json_key(j, "withheld_rows");
        dx_json_u64(j, task->hidden->withheld_rows);
    }
}

static void write_tail(const struct urls_task *task, struct dx_json *j)
{
    dx_answer_end(j, task->listing.version);
}

/* The place of a visible row; behind the last one, the end. */
static uint64_t place_of(const struct urls_task *task, uint64_t visible)
{
    return visible >= visible_total(task)
               ? task->listing.total
               : dx_suppression_view_window(task->hidden, visible, 1).offset;
}

/* Parts whose sizes differ by one row at most. With more parts than rows the last ones are empty:
 * a client that asked for so many gets as many. */
static int write_plan(const struct urls_task *task, struct dx_json *j, struct dx_error *err)
{
    uint64_t total = visible_total(task);
    uint64_t parts = task->ask.plan;
    uint64_t begin = 0;
    int rc = DX_OK;

    dx_json_key(j, "cursors");
    dx_json_array(j);
    for (uint64_t i = 0; i < parts && rc == DX_OK; i++) {
        uint64_t end = begin + total / parts + (i < total % parts);

        rc = write_cursor(task, i == 0 ? 0 : place_of(task, begin), place_of(task, end), j, err);
        begin = end;
    }
    dx_json_end(j);
    return rc;
}

static int write_filtered_item(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    return dx_item_text_write(ctx, row, err);
}

static int write_filtered_page(struct urls_task *task, struct dx_json *j, struct dx_error *err)
{
    struct dx_filtered_rows *f = &task->filtered;
    struct dx_item_text items;
    int rc;

    dx_json_key(j, "items");
    dx_json_array(j);
    dx_item_text_init(&items, j, task->listing.fields, task->listing.version);
    rc = dx_filtered_rows_each(f, write_filtered_item, &items, err);
    dx_item_text_release(&items);
    if (rc < 0)
        return rc;
    dx_json_end(j);
    dx_answer_cost(j, task->listing.version, f->rows_seen, f->pages_seen, f->bytes_seen);
    dx_json_key(j, "next_cursor");
    if (visible_before(task, f->next) < visible_before(task, f->end))
        return write_cursor(task, f->next, f->end, j, err);
    dx_json_null(j);
    return DX_OK;
}

static int write_page(struct urls_task *task, struct dx_json *j, struct dx_error *err)
{
    struct dx_listing *l = &task->listing;
    struct item_writer items = { .hidden = task->hidden, .place = l->window.offset };
    const struct dx_listing_taker taker = { &items, write_item,
                                            task->hidden == NULL ? write_stretch : NULL };
    uint64_t next = l->window.offset + l->row_count;
    bool more = visible_before(task, next) < visible_before(task, end_of(task));
    int rc;

    dx_json_key(j, "offset");
    dx_json_u64(j, task->ask.paging.from == NULL ? task->ask.page.offset
                                                 : visible_before(task, l->window.offset));
    dx_json_key(j, "items");
    dx_json_array(j);
    dx_item_text_init(&items.text, j, l->fields, l->version);
    rc = dx_listing_rows(l, &taker, err);
    dx_item_text_release(&items.text);
    if (rc < 0)
        return rc;
    dx_json_end(j);
    dx_json_key(j, "next_offset");
    more ? dx_json_u64(j, visible_before(task, next)) : dx_json_null(j);
    if (task->ask.paging.cursors == NULL)
        return DX_OK;
    dx_json_key(j, "next_cursor");
    if (more)
        return write_cursor(task, next, end_of(task), j, err);
    dx_json_null(j);
    return DX_OK;
}

/* Room for usual answers at once: growing step by step copies them twice. */
static void reserve(const struct urls_task *task, struct dx_buf *body)
{
    uint64_t bytes = AROUND_ROWS + task->listing.row_count * AROUND_ROW +
                     dx_listing_text_bytes(&task->listing);

    if (bytes <= body->max - body->size)
        (void)dx_buf_reserve(body, (size_t)bytes);
}

static int write_answer(struct urls_task *task, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    reserve(task, body);
    dx_json_open(&j, body);
    write_head(task, &j);
    rc = task->ask.plan > 0  ? write_plan(task, &j, err)
         : task->is_filtered ? write_filtered_page(task, &j, err)
                             : write_page(task, &j, err);
    if (rc < 0)
        return rc;
    write_tail(task, &j);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

/* The dataset is asked of the domain's set first: membership and postings must agree. */
static int in_dataset(const struct dx_part *part, uint64_t ordinal, uint32_t dataset_id,
                      struct dx_error *err)
{
    struct dx_dataset_set set;
    uint32_t rank;
    int rc = dx_membership_get(&part->membership, ordinal, &set, err);

    return rc < 0 ? rc : dx_dataset_set_rank(&set, dataset_id, &rank);
}

/* Only a caller that has the key can get here, or, without a key file, one that builds its own. */
static int cursor_astray(const struct urls_task *task, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-cursor", "Bad cursor",
                          "this cursor ends at row %llu of a listing of %llu",
                          (unsigned long long)task->ask.paging.from->end_row,
                          (unsigned long long)task->listing.total);
}

/* A filtered listing is of the same pair, so what is known of that one is that of the other. */
static int step_rows(struct urls_task *task, struct dx_error *err)
{
    struct dx_listing *l = &task->listing;
    int rc;

    if (!task->is_filtered)
        return dx_listing_step(l, err);
    rc = dx_filtered_rows_step(&task->filtered, err);
    l->found = task->filtered.found;
    l->total = task->filtered.total;
    return rc;
}

/* Steps until something is waited for, or the answer is written. */
static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct urls_task *task = (struct urls_task *)of;
    struct dx_listing *l = &task->listing;
    struct dx_error err = DX_ERROR_INIT;
    int rc = step_rows(task, &err);

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE && !l->found)
        rc = dx_fail(&err, DX_E_CORRUPT,
                     "%s: domain 0x%016llx is in dataset %u by its set, but has no posting",
                     l->part->directory, (unsigned long long)task->found.domain_id,
                     (unsigned)l->dataset_id);
    if (rc == DX_LISTING_DONE && task->hidden != NULL && task->hidden->row_count != l->total)
        rc = dx_fail(&err, DX_E_CORRUPT,
                     "%s: domain 0x%016llx has %llu rows in dataset %u by its "
                     "posting, and had %llu",
                     l->part->directory, (unsigned long long)task->found.domain_id,
                     (unsigned long long)l->total, (unsigned)l->dataset_id,
                     (unsigned long long)task->hidden->row_count);
    if (rc == DX_OK && end_of(task) > l->total)
        return cursor_astray(task, problem);
    if (rc == DX_OK)
        rc = write_answer(task, body, &err);
    if (rc < 0) {
        dx_buf_clear(body);
        return dx_problem_advised(problem, &err, "Ask for fewer rows with a smaller limit.");
    }
    return 1;
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    struct urls_task *task = (struct urls_task *)of;

    return task->is_filtered ? dx_filtered_rows_fetched(&task->filtered, rc, err)
                             : dx_listing_fetched(&task->listing, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    struct urls_task *task = (struct urls_task *)of;

    return task->is_filtered ? dx_filtered_rows_reading(&task->filtered) : &task->listing.reading;
}

static void release_task(struct dx_task *of)
{
    struct urls_task *task = (struct urls_task *)of;

    if (task->is_filtered)
        dx_filtered_rows_release(&task->filtered);
    dx_row_regexes_release(&task->regexes);
    dx_listing_release(&task->listing);
    dx_suppression_view_release(&task->withheld);
    free(task);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* The window of places: a plan needs none of them, only how many there are. */
static struct dx_page_of window_of(const struct dx_urls_ask *ask,
                                   const struct dx_suppression_pair *hidden)
{
    struct dx_page_of window = ask->page;

    if (ask->plan > 0)
        return (struct dx_page_of){ 0, 0 };
    if (ask->paging.from == NULL)
        return dx_suppression_view_window(hidden, window.offset, window.limit);
    /* From the first visible row on that is not before the cursor's place, to its end at most. */
    window.offset = dx_suppression_view_visible_before(hidden, ask->paging.from->next_row);
    window = dx_suppression_view_window(hidden, window.offset, window.limit);
    if (window.offset >= ask->paging.from->end_row)
        return (struct dx_page_of){ ask->paging.from->end_row, 0 };
    if (window.limit > ask->paging.from->end_row - window.offset)
        window.limit = ask->paging.from->end_row - window.offset;
    return window;
}

/* Whether the times of the pair, in the counts of the index, leave out all its rows. */
static int is_out_of_time(const struct urls_task *task, bool *out, struct dx_error *err)
{
    const struct dx_found *found = &task->found;
    struct dx_pair_count count = { .has_ts = false };
    struct dx_dataset_set set;
    uint32_t rank = 0;
    int rc;

    *out = false;
    if (!dx_row_filter_times(&task->ask.filter))
        return DX_OK;
    rc = dx_membership_get(&found->part->membership, found->ordinal, &set, err);
    if (rc >= 0 && dx_dataset_set_rank(&set, task->ask.dataset_id, &rank) == 1)
        rc = dx_counts_one(&found->part->counts, found->ordinal, rank, &count, err);
    *out = !dx_row_filter_may_take(&task->ask.filter, count.has_ts, count.first_us, count.last_us);
    return rc < 0 ? rc : DX_OK;
}

static int begin_filtered(struct dx_version *v, struct urls_task *task, struct dx_problem *problem)
{
    const struct dx_urls_ask *ask = &task->ask;
    struct dx_filtered_ask filtered = {
        .filter = ask->filter,
        .first = ask->paging.from != NULL ? ask->paging.from->next_row : 0,
        .end = ask->paging.from != NULL ? ask->paging.from->end_row : INT64_MAX,
        .limit = ask->page.limit,
        .fields = ask->fields,
        .hidden = task->hidden,
        .deadline_ms = ask->deadline_ms,
    };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_row_filter_compile(&filtered.filter, &task->regexes, problem);

    if (rc != 1)
        return rc;
    rc = is_out_of_time(task, &filtered.nothing, &err);
    task->is_filtered = rc == DX_OK; /* so that release finds it made */
    if (rc == DX_OK)
        rc = dx_filtered_rows_init(&task->filtered, v, task->found.part, task->found.ordinal,
                                   ask->dataset_id, &filtered, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

/* Takes what withheld holds. */
static int begin_task(struct dx_version *v, const struct dx_found *found,
                      const struct dx_dataset *dataset, const struct dx_urls_ask *ask,
                      struct dx_suppression_view *withheld, struct urls_task **out,
                      struct dx_problem *problem)
{
    struct urls_task *task = malloc(sizeof *task);

    if (task == NULL) {
        dx_suppression_view_release(withheld);
        return dx_task_no_memory(problem);
    }
    task->task.kind = &kind;
    task->found = *found;
    task->dataset = dataset;
    task->ask = *ask;
    if (ask->paging.from != NULL) {
        task->from = *ask->paging.from;
        task->ask.paging.from = &task->from;
    }
    task->withheld = *withheld;
    task->hidden = dx_suppression_view_pair(&task->withheld, ask->dataset_id);
    dx_listing_init(&task->listing, v, found->part, found->ordinal, ask->dataset_id,
                    window_of(ask, task->hidden), ask->fields, ask->deadline_ms);
    task->listing.brief = ask->brief;
    task->is_filtered = false;
    task->regexes = (struct dx_row_regexes){ .of = { NULL } };
    task->filter_size = (uint16_t)dx_row_filter_pack(&ask->filter, task->filter);
    *out = task;
    return task->filter_size > 0 && ask->plan == 0 ? begin_filtered(v, task, problem) : 1;
}

/* A cursor repeats its question, it does not ask another one. */
static int same_question(const struct dx_version *v, const struct dx_found *found,
                         const struct dx_urls_ask *ask, struct dx_problem *problem)
{
    int rc = dx_cursor_of_version(ask->paging.from, &v->entry, problem);

    if (rc != 1 || ask->paging.from == NULL)
        return rc;
    if (ask->paging.from->domain_id == found->domain_id)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "cursor-mismatch",
                          "The cursor is of another question",
                          "this cursor goes on with a listing of another domain than %.*s",
                          (int)found->domain_size, (const char *)found->domain);
}

/* Whether there is anything to list, and to be shown: 1, or as query/answers/answer.h. */
static int may_list(const struct dx_view *view, const struct dx_found *found, uint32_t dataset_id,
                    const struct dx_suppression_view *withheld, struct dx_problem *problem)
{
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(withheld, dataset_id);
    struct dx_error err = DX_ERROR_INIT;
    int rc = in_dataset(found->part, found->ordinal, dataset_id, &err);

    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 0)
        return dx_lookup_no_pair(view, found, dataset_id, problem);
    return hidden != NULL && hidden->visible.row_count == 0
               ? dx_suppression_view_no_pair(view, found, hidden, problem)
               : 1;
}

int dx_task_urls(const struct dx_view *view, struct dx_canon *canon, const struct dx_urls_ask *ask,
                 struct dx_task **out, struct dx_answer_summary *summary, struct dx_buf *body,
                 struct dx_problem *problem)
{
    const struct dx_view urls = dx_view_urls(view);
    const struct dx_dataset *dataset;
    struct dx_suppression_view withheld;
    struct urls_task *task = NULL;
    struct dx_found found;
    int rc = dx_lookup_domain(view, canon, ask->asked, &found, problem);

    *out = NULL;
    if (rc == 1)
        rc = same_question(view->version, &found, ask, problem);
    if (rc == 1) /* before all that would tell a hidden domain from one that is not there */
        rc = dx_suppression_view_of(view, &found, &withheld, problem);
    if (rc <= 0)
        return rc;
    rc = dx_lookup_dataset(&urls, ask->dataset_id, &dataset, problem);
    if (rc == 1)
        rc = may_list(view, &found, ask->dataset_id, &withheld, problem);
    if (rc == 1)
        rc = begin_task(view->version, &found, dataset, ask, &withheld, &task, problem);
    else
        dx_suppression_view_release(&withheld);
    if (rc <= 0) {
        if (task != NULL)
            release_task(&task->task);
        return rc;
    }
    task->task.summary = summary;
    rc = step_task(&task->task, body, problem);
    return dx_task_begun(&task->task, rc, out);
}

int dx_answer_urls(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                   uint32_t dataset_id, struct dx_page_of page, unsigned fields,
                   struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_urls_ask ask = {
        .asked = asked, .dataset_id = dataset_id, .page = page, .fields = fields
    };
    struct dx_task *task;
    int rc = dx_task_urls(view, canon, &ask, &task, NULL, body, problem);

    return dx_task_finish(&task, rc, body, problem);
}
