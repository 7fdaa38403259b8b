/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_task.h"

#include "base/array.h"
#include "base/clock.h"
#include "canon/urlkey.h"
#include "loader/version_parts.h"
#include "query/answers/task_kind.h"
#include "query/cdx/capture_row.h"
#include "query/cdx/cdx_query.h"
#include "query/cdx/cdx_scope.h"
#include "query/cdx/cdx_select.h"
#include "query/cdx/cdx_sequence.h"
#include "query/cdx/cdx_text.h"
#include "query/scan/domain_rows.h"
#include "query/scan/domain_walk.h"
#include "query/suppression/suppression_view.h"
#include "query/view/dataset_list.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <stdlib.h>

#define WINDOW_ROWS 65536 /* that are read at a time */
#define CLOCK_ROWS 256    /* between two looks at the clock: an expression may take 10 ms a row */

#define CLOCK_DOMAINS 256 /* the same, of domains that are passed by */

#define ADVICE                                                                                 \
    "Ask for less: a host or prefix instead of a domain, a domain instead of a suffix, one "   \
    "dataset, or a smaller limit with showResumeKey=true; /v1/suffix/{suffix}/urls lists all " \
    "rows of a suffix."

/* A row as text, of an answer that is not in the order of rows. */
struct piece {
    uint64_t begin, size;
    uint64_t distance; /* seconds from closest */
};

struct cdx_task {
    struct dx_task task;
    struct dx_view view;
    struct dx_buf text; /* the parameters */
    struct dx_cdx_ask ask;
    struct dx_cdx_scope scope;
    struct dx_dataset_list only;

    /* The registered domain of the question; found.part NULL: a public suffix, or the view shows nothing of it. */
    struct dx_found found;
    struct dx_suppression_view withheld;
    bool begun; /* with the walk: of the domains below the host, if they are asked for */
    struct dx_domain_walk walk;
    uint64_t passed; /* domains */

    /* The domain at hand. */
    const struct dx_found *at;
    const struct dx_suppression_view *at_withheld;
    struct dx_domain_rows rows;

    /* A pass over the rows. */
    uint64_t next;     /* visible row that the next window begins with */
    bool open;         /* a window is being read */
    uint64_t number;   /* of the row that comes */
    uint64_t looked;   /* rows, in all passes */
    uint64_t in_scope; /* rows of the first pass */
    uint64_t untimed;
    bool again; /* it is not the first */
    uint64_t half_ms;
    struct dx_urlkey key;
    struct dx_capture_row row;
    struct dx_cdx_select select;

    /* What becomes of them. */
    struct dx_cdx_sequence sequence;
    struct dx_cdx_text out;
    struct dx_buf answer; /* of steps before the last one too */
    uint64_t emitted, skipped;
    bool more;           /* than the limit lets in */
    struct dx_buf place; /* resumeKey, behind the last one that was emitted */
    struct dx_buf pieces;
    struct piece *order;
    size_t piece_count, piece_capacity;
};

static bool in_order(const struct dx_cdx_ask *ask)
{
    return !ask->reverse && !ask->has_closest && !ask->last;
}

/* ---- rows of a window ---- */

static void begin_dataset(void *ctx, uint32_t dataset_id)
{
    struct cdx_task *task = ctx;
    const struct dx_dataset *d = dx_registry_by_id(&task->view.version->registry, dataset_id);

    dx_capture_row_dataset(&task->row, dx_span_str(d->name)); /* it is there: checked in add_pair */
}

static int check_time(struct cdx_task *task, struct dx_error *err)
{
    if (task->looked++ % CLOCK_ROWS != 0 || task->half_ms == 0 || dx_clock_ms() < task->half_ms)
        return DX_OK;
    return dx_fail(err, DX_E_LIMIT, "this takes longer than a request may: %llu rows of %.*s in",
                   (unsigned long long)task->looked, (int)task->scope.domain.size,
                   (const char *)task->scope.domain.data);
}

/* The row is of the scope. */
static int take_scope_row(struct cdx_task *task, const struct dx_listing_row *row,
                          struct dx_error *err)
{
    int rc;

    task->in_scope += !task->again;
    if (task->ask.count_pages)
        return DX_OK;
    rc = dx_capture_row_make(&task->row, row, dx_span_of(task->key.key.data, task->key.key.size),
                             err);
    if (rc < 0)
        return rc;
    task->untimed += !task->again && task->row.timestamp == 0;
    if (dx_cdx_sequence_takes_early(&task->sequence)) {
        rc = dx_cdx_sequence_early(&task->sequence, task->row.column, task->row.timestamp, err);
        if (rc != 1)
            return rc;
    }
    return dx_cdx_select_add(&task->select, task->row.column, task->row.timestamp, task->number,
                             err);
}

static int take_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct cdx_task *task = ctx;
    int rc = check_time(task, err);

    task->number++;
    if (rc < 0 || !dx_cdx_scope_may_have(&task->scope, row->host))
        return rc;
    if (!dx_urlkey_make(&task->key, row->host, row->path_query))
        return dx_urlkey_no_memory(&task->key)
                   ? dx_no_memory(err, "the key of a URL")
                   : dx_fail(err, DX_E_LIMIT, "a URL has a key of over %u bytes", DX_URLKEY_MAX);
    if (!dx_cdx_scope_has(&task->scope, dx_span_of(task->key.key.data, task->key.key.size)))
        return DX_OK;
    return take_scope_row(task, row, err);
}

/* ---- a window ---- */

static int open_window(struct cdx_task *task, struct dx_error *err)
{
    uint64_t left = dx_domain_rows_total(&task->rows) - task->next;

    dx_domain_rows_rewind(&task->rows);
    task->rows.listing.extras = dx_capture_row_extras;
    task->rows.listing.extra_count = dx_capture_row_extra_count;
    if (task->looked + (left < WINDOW_ROWS ? left : WINDOW_ROWS) > DX_CDX_LOOK_MAX)
        return dx_fail(err, DX_E_LIMIT, "over %u rows would have to be looked at", DX_CDX_LOOK_MAX);
    task->open = true;
    return dx_domain_rows_begin(&task->rows, task->next, left < WINDOW_ROWS ? left : WINDOW_ROWS,
                                err);
}

static int take_window(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_domain_rows_taker taker = { task, begin_dataset, take_row, NULL };
    int rc = dx_domain_rows_each(&task->rows, &taker, err);

    task->open = false;
    task->next += task->rows.row_count;
    if (rc == DX_OK && task->rows.row_count == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: a window of a domain has no row",
                     task->at->part->directory);
    return rc;
}

/* ---- domains ---- */

/* Whether a row of the pair may have a time that is asked for. */
static bool may_match(const struct cdx_task *task, const struct dx_pair_count *counts)
{
    bool timed = task->ask.from > 0 || task->ask.to < DX_CDX_TIMESTAMP_MAX;

    if (!timed || !dx_cdx_sequence_takes_early(&task->sequence) || task->ask.count_pages)
        return true;
    return counts->has_ts && dx_cdx_timestamp(counts->last_us) >= task->ask.from &&
           dx_cdx_timestamp(counts->first_us) <= task->ask.to;
}

static int add_pair(struct cdx_task *task, uint32_t dataset_id, const struct dx_pair_count *counts,
                    struct dx_error *err)
{
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(task->at_withheld,
                                                                        dataset_id);

    if (dx_view_dataset(&task->view, task->at->part, dataset_id, err) == NULL)
        return (int)err->code;
    if (task->only.count > 0 && !dx_dataset_list_has(&task->only, dataset_id))
        return DX_OK;
    if ((hidden != NULL && hidden->visible.row_count == 0) || !may_match(task, counts))
        return DX_OK;
    return dx_domain_rows_add(&task->rows, dataset_id, counts, hidden, err);
}

/* The rows of a domain that come next. whole: all of them are of the scope. */
static int enter(struct cdx_task *task, const struct dx_found *found,
                 const struct dx_suppression_view *withheld, const struct dx_domain_pairs *pairs,
                 bool whole, struct dx_error *err)
{
    int rc = DX_OK;

    task->at = found;
    task->at_withheld = withheld;
    task->next = 0;
    dx_domain_rows_release(&task->rows);
    dx_domain_rows_init(&task->rows, task->view.version, found->part, found->domain_id,
                        DX_CAPTURE_ROW_FIELDS, task->ask.deadline_ms);
    for (size_t i = 0; rc == DX_OK && i < pairs->count; i++)
        rc = add_pair(task, pairs->ids[i], &pairs->counts[i], err);
    if (rc == DX_OK && whole && task->ask.count_pages) { /* nothing is read */
        task->next = dx_domain_rows_total(&task->rows);
        task->in_scope += task->next;
    }
    return rc;
}

static int enter_first(struct cdx_task *task, struct dx_error *err)
{
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    bool whole = task->scope.below &&
                 dx_span_equal(dx_span_of(task->scope.host.data, task->scope.host.size),
                               dx_span_of(task->scope.domain.data, task->scope.domain.size));
    int rc = dx_view_pairs(&pairs, &task->view, task->found.part, task->found.ordinal, err);

    if (rc >= 0)
        rc = enter(task, &task->found, &task->withheld, &pairs, whole, err);
    dx_domain_pairs_release(&pairs);
    return rc;
}

static int pass_domain(struct cdx_task *task, struct dx_error *err)
{
    if (task->passed++ % CLOCK_DOMAINS != 0 || task->half_ms == 0 || dx_clock_ms() < task->half_ms)
        return DX_OK;
    return dx_fail(err, DX_E_LIMIT, "this takes longer than a request may: %llu domains in",
                   (unsigned long long)task->passed);
}

/* All keys of the domain of the walk lie in ["com,example)/", "com,example;"): whether no row of it would be kept. 1, 0, <0. */
static int is_of_no_use(struct cdx_task *task, struct dx_error *err)
{
    struct dx_buf *key = &task->key.key;
    size_t size;

    if (!dx_urlkey_make(&task->key,
                        dx_span_of(task->walk.found.domain, task->walk.found.domain_size),
                        dx_span_str("/")))
        return dx_no_memory(err, "the key of a domain");
    if (dx_cdx_select_is_behind(&task->select, dx_span_of(key->data, key->size)))
        return 1;
    size = key->size - 1; /* without the slash */
    key->data[size - 1] = ';';
    return dx_cdx_select_is_before(&task->select, dx_span_of(key->data, size));
}

static int begin_walk(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_buf *host = &task->scope.host;

    if (task->begun)
        dx_domain_walk_release(&task->walk);
    task->begun = true;
    return dx_domain_walk_init(&task->walk, &task->view, NULL, dx_span_of(host->data, host->size),
                               err);
}

/* Behind the registered domain those below the host: 1 entered the next one, 0 behind the last. */
static int next_domain(struct cdx_task *task, struct dx_problem *problem)
{
    struct dx_domain_walk *w = &task->walk;
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    if (!task->scope.below)
        return 0;
    if (!task->begun)
        rc = begin_walk(task, &err);
    while (rc == DX_OK && (rc = dx_domain_walk_next(w, problem)) == 1) {
        bool is_first = task->found.part == w->found.part &&
                        task->found.ordinal == w->found.ordinal;

        rc = pass_domain(task, &err);
        if (rc < 0)
            break;
        if (w->pairs.count == 0 || is_first)
            continue;
        rc = is_of_no_use(task, &err);
        if (rc == 0)
            rc = enter(task, &w->found, &w->withheld, &w->pairs, true, &err);
        else if (rc == 1)
            rc = DX_OK;
        if (rc == DX_OK && task->next < dx_domain_rows_total(&task->rows))
            return 1;
    }
    if (rc < 0 && err.code != DX_OK)
        return dx_problem_advised(problem, &err, ADVICE);
    return rc;
}

/* ---- a pass ---- */

/* Of the domain at hand: DX_LISTING_WAITS, or DX_LISTING_DONE: all rows were looked at. */
static int read_rows(struct cdx_task *task, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && task->next < dx_domain_rows_total(&task->rows)) {
        if (!task->open)
            rc = open_window(task, err);
        if (rc == DX_OK)
            rc = dx_domain_rows_step(&task->rows, err);
        if (rc == DX_LISTING_DONE)
            rc = take_window(task, err);
    }
    return rc;
}

/* ---- rows of the answer ---- */

static int no_room(const struct dx_buf *b, struct dx_error *err)
{
    return b->no_memory
               ? dx_no_memory(err, "answer: %zu bytes", b->size)
               : dx_fail(err, DX_E_LIMIT, "the answer has over %zu bytes", DX_CDX_BODY_MAX);
}

static int keep_place(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_cdx_place *p = &task->sequence.place;
    struct dx_cdx_key key = { .timestamp = p->timestamp,
                              .count = p->count,
                              .urlkey = dx_span_of(p->urlkey.data, p->urlkey.size),
                              .rest = dx_span_of(p->rest.data, p->rest.size) };

    dx_buf_clear(&task->place);
    if (dx_cdx_key_write(&key, &task->place) && !task->place.failed)
        return DX_OK;
    if (key.urlkey.size <= DX_CDX_KEY_URLKEY_MAX)
        return dx_no_memory(err, "a resume key");
    return dx_fail(err, DX_E_LIMIT, "a key of over %d bytes cannot be gone on behind",
                   DX_CDX_KEY_URLKEY_MAX);
}

static int emit(struct cdx_task *task, const struct dx_span *columns, struct dx_error *err)
{
    if (task->skipped < task->ask.offset) {
        task->skipped++;
        return DX_OK;
    }
    if (task->emitted == task->ask.limit) {
        task->more = true;
        return DX_OK;
    }
    dx_cdx_text_row(&task->out, columns);
    task->emitted++;
    if (task->out.out->failed || task->out.out->size > DX_CDX_BODY_MAX)
        return no_room(task->out.out, err);
    return task->ask.show_resume_key && task->emitted == task->ask.limit ? keep_place(task, err)
                                                                         : DX_OK;
}

static int64_t seconds_of(uint64_t timestamp)
{
    /* days from civil (March first), as calendars are counted; years 0000 to 9999 */
    int64_t year = (int64_t)(timestamp / 10000000000);
    int64_t month = (int64_t)(timestamp / 100000000 % 100);
    int64_t day = (int64_t)(timestamp / 1000000 % 100);
    int64_t of_day = (int64_t)(timestamp / 10000 % 100 * 3600 + timestamp / 100 % 100 * 60 +
                               timestamp % 100);

    year -= month <= 2;
    month += month > 2 ? -3 : 9;
    return (365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 -
            719468) *
               86400 +
           of_day;
}

static int keep_piece(struct cdx_task *task, const struct dx_span *columns, uint64_t timestamp,
                      struct dx_error *err)
{
    struct dx_cdx_text text = { &task->ask, &task->pieces, 1 };
    int64_t distance = timestamp == 0 ? INT64_MAX : seconds_of(timestamp) - task->ask.closest_s;
    struct piece *order = dx_array_room(task->order, task->piece_count, &task->piece_capacity,
                                        sizeof *order);

    if (order == NULL)
        return dx_no_memory(err, "rows of a CDX answer");
    task->order = order;
    order = &task->order[task->piece_count++];
    order->begin = task->pieces.size;
    dx_cdx_text_row(&text, columns);
    order->size = task->pieces.size - order->begin;
    order->distance = (uint64_t)(distance < 0 ? -distance : distance);
    return task->pieces.failed ? no_room(&task->pieces, err) : DX_OK;
}

static bool page_is_over(const struct cdx_task *task)
{
    uint64_t rows = (uint64_t)task->ask.page_size * DX_CDX_BLOCK_ROWS;

    return task->ask.paged && task->sequence.rank / rows > task->ask.page;
}

/* From the first domain on. */
static int begin_pass(struct cdx_task *task, struct dx_error *err)
{
    int rc = task->begun ? begin_walk(task, err) : DX_OK;

    return rc == DX_OK && task->found.part != NULL ? enter_first(task, err) : rc;
}

/* 1: more rows are needed; 0: the answer is complete. */
static int use_selection(struct cdx_task *task, struct dx_error *err)
{
    struct dx_span columns[DX_CDX_COLUMNS];
    int rc = dx_cdx_select_end(&task->select, err);

    for (size_t i = 0; rc >= 0 && i < task->select.count && !task->more; i++) {
        uint64_t timestamp = dx_cdx_select_row(&task->select, i, columns);

        for (unsigned c = DX_CDX_STORED; c < DX_CDX_COLUMNS; c++)
            columns[c] = dx_span_of(NULL, 0);
        rc = dx_cdx_sequence_row(&task->sequence, columns, timestamp, err);
        if (rc == 1)
            rc = in_order(&task->ask) ? emit(task, columns, err)
                                      : keep_piece(task, columns, timestamp, err);
    }
    if (rc < 0 || task->more || !task->select.cut || page_is_over(task))
        return rc < 0 ? rc : 0;
    rc = dx_cdx_select_again(&task->select, err);
    task->again = true;
    task->number = 0;
    if (rc >= 0)
        rc = begin_pass(task, err);
    return rc < 0 ? rc : 1;
}

/* ---- other orders ---- */

static int by_distance(const void *left, const void *right)
{
    const struct piece *a = left;
    const struct piece *b = right;

    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static void reverse(struct piece *pieces, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct piece swapped = pieces[i];

        pieces[i] = pieces[count - 1 - i];
        pieces[count - 1 - i] = swapped;
    }
}

static int put_pieces(struct cdx_task *task, struct dx_error *err)
{
    size_t count = task->piece_count;
    size_t begin = task->ask.offset < count ? (size_t)task->ask.offset : count;

    if (task->ask.has_closest && count > 1)
        qsort(task->order, count, sizeof *task->order, by_distance);
    else if (task->ask.reverse)
        reverse(task->order, count);
    task->more = count - begin > task->ask.limit;
    if (task->ask.last && task->more)
        begin = count - (size_t)task->ask.limit;
    for (size_t i = begin; i < count && task->emitted < task->ask.limit; i++, task->emitted++)
        dx_cdx_text_piece(
            &task->out, dx_span_of(task->pieces.data + task->order[i].begin, task->order[i].size));
    return task->out.out->failed || task->out.out->size > DX_CDX_BODY_MAX
               ? no_room(task->out.out, err)
               : DX_OK;
}

/* ---- the answer ---- */

static int no_captures(const struct cdx_task *task, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "no-captures", "No captures",
                          "No Captures found for: %.*s",
                          task->ask.shown.size > 400 ? 400 : (int)task->ask.shown.size,
                          (const char *)task->ask.shown.data);
}

static int bad_page(const struct cdx_task *task, uint64_t pages, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "Page %llu invalid: First Page is 0, Last Page is %llu",
                          (unsigned long long)task->ask.page,
                          (unsigned long long)(pages == 0 ? 0 : pages - 1));
}

static void summarize(const struct cdx_task *task)
{
    dx_answer_summarize(
        task->task.summary,
        (struct dx_answer_summary){ .domain_id = task->found.domain_id,
                                    .has_domain_id = task->found.part != NULL,
                                    .datasets = task->rows.pair_count,
                                    .rows = task->emitted,
                                    .untimed_rows = task->ask.show_untimed ? 0 : task->untimed,
                                    .more_rows = task->more });
}

/* All rows were used. 1; 0 the problem; <0 err. */
static int end_answer(struct cdx_task *task, struct dx_buf *body, struct dx_problem *problem,
                      struct dx_error *err)
{
    uint64_t pages = dx_cdx_pages(&task->ask, task->in_scope);
    bool key = task->more && task->place.size > 0;
    int rc = DX_OK;

    summarize(task);
    if (task->ask.count_pages) {
        dx_cdx_text_pages(&task->ask, task->in_scope, body);
        return body->failed ? dx_buf_fail(body, err, "answer") : 1;
    }
    if (task->ask.paged && task->ask.page > 0 && task->ask.page >= pages)
        return bad_page(task, pages, problem);
    if (!in_order(&task->ask))
        rc = put_pieces(task, err);
    if (rc < 0)
        return rc;
    if (task->emitted == 0 && task->ask.dialect == DX_CDX_PYWB)
        return no_captures(task, problem);
    summarize(task);
    dx_cdx_text_end(&task->out,
                    key ? dx_span_of(task->place.data, task->place.size) : dx_span_of(NULL, 0));
    dx_buf_append(body, task->answer.data, task->answer.size);
    if (task->answer.failed)
        return no_room(&task->answer, err);
    return body->failed ? dx_buf_fail(body, err, "answer") : 1;
}

static int step(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct cdx_task *task = (struct cdx_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    do {
        rc = read_rows(task, &err);
        if (rc == DX_LISTING_WAITS)
            return DX_TASK_WAITS;
        if (rc == DX_LISTING_DONE) {
            rc = next_domain(task, problem);
            if (rc == 0)
                rc = use_selection(task, &err);
            else if (rc < 0)
                break;
        }
    } while (rc == 1);
    if (rc == 0)
        rc = end_answer(task, body, problem, &err);
    if (rc < 0 && err.code != DX_OK)
        rc = dx_problem_advised(problem, &err, ADVICE);
    if (rc != 1)
        dx_buf_clear(body);
    problem->says_message = rc != 1;
    return rc;
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_domain_rows_fetched(&((struct cdx_task *)of)->rows, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return dx_domain_rows_reading(&((struct cdx_task *)of)->rows);
}

static void release(struct dx_task *of)
{
    struct cdx_task *task = (struct cdx_task *)of;

    dx_domain_rows_release(&task->rows);
    if (task->begun)
        dx_domain_walk_release(&task->walk);
    dx_suppression_view_release(&task->withheld);
    dx_cdx_scope_release(&task->scope);
    dx_urlkey_release(&task->key);
    dx_capture_row_release(&task->row);
    dx_cdx_select_release(&task->select);
    dx_cdx_sequence_release(&task->sequence);
    dx_buf_release(&task->place);
    dx_buf_release(&task->pieces);
    dx_buf_release(&task->answer);
    dx_buf_release(&task->text);
    free(task->order);
    free(task);
}

static const struct dx_task_kind kind = { step, fetched, reading, release };

/* ---- before it ---- */

/* Those of the path and of the parameter. */
static int take_datasets(struct cdx_task *task, struct dx_span dataset, struct dx_problem *problem)
{
    const struct dx_dataset *d;

    if (task->ask.datasets.data != NULL)
        return dx_dataset_list_parse(&task->only, &task->view, task->ask.datasets, problem);
    if (dataset.data == NULL)
        return 1;
    d = dx_registry_by_name(&task->view.version->registry, dataset);
    if (d == NULL || !dx_scope_has(task->view.scope, d->dataset_id))
        return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "dataset-not-found", "No such dataset",
                              "No dataset of version %s is called '%.*s'; /collinfo.json lists "
                              "those that are there",
                              task->view.version->entry.version,
                              dataset.size > 60 ? 60 : (int)dataset.size,
                              (const char *)dataset.data);
    task->only.ids[0] = d->dataset_id;
    task->only.count = 1;
    return dx_lookup_dataset(&task->view, d->dataset_id, &d, problem);
}

/* 1, and task->found where something of the domain is shown. */
static int find_domain(struct cdx_task *task, struct dx_canon *canon, struct dx_problem *problem)
{
    struct dx_span domain = { task->scope.domain.data, task->scope.domain.size };
    int rc;

    if (domain.size == 0)
        return 1;
    rc = dx_lookup_domain(&task->view, canon, domain, &task->found, problem);
    if (rc == 1) /* before all that would tell a hidden domain from one that is not there */
        rc = dx_suppression_view_of(&task->view, &task->found, &task->withheld, problem);
    if (rc != 1)
        task->found.part = NULL;
    return rc == 0 && problem->kind == DX_PROBLEM_NOT_FOUND ? 1 : rc;
}

/* How many rows are of use at most. */
static uint64_t rows_to_keep(const struct cdx_task *task)
{
    const struct dx_cdx_ask *ask = &task->ask;
    uint64_t page = (uint64_t)ask->page_size * DX_CDX_BLOCK_ROWS;

    if (ask->paged)
        return (ask->page + 1) * page;
    if (!in_order(ask) || ask->collapse_count > 0 || ask->collapse_time > 0 ||
        !dx_cdx_sequence_takes_early(&task->sequence))
        return UINT64_MAX;
    if (ask->limit > UINT32_MAX || ask->offset > UINT32_MAX)
        return UINT64_MAX;
    return ask->limit + ask->offset + task->sequence.resume.count + 1;
}

static void begin_rows(struct cdx_task *task, const struct dx_cdx_request *request)
{
    uint64_t now_ms = dx_clock_ms();
    const struct dx_cdx_key *resume = &task->sequence.resume;

    dx_cdx_select_init(&task->select, rows_to_keep(task),
                       request->select_bytes > 0 ? request->select_bytes : DX_CDX_SELECT_BYTES);
    if (resume->count > 0 && !task->ask.resolve_revisits)
        dx_cdx_select_from(&task->select, resume);
    if (request->deadline_ms > now_ms)
        task->half_ms = now_ms + (request->deadline_ms - now_ms) / 2;
}

static int begin(struct cdx_task *task, struct dx_canon *canon,
                 const struct dx_cdx_request *request, struct dx_buf *body,
                 struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_cdx_query_parse(request->query, request->dialect, &task->text, &task->ask, problem);

    if (rc == 1)
        rc = dx_cdx_sequence_init(&task->sequence, &task->ask, problem);
    if (rc == 1)
        rc = dx_cdx_scope_init(&task->scope, canon, &task->ask, problem);
    if (rc == 1)
        rc = take_datasets(task, request->dataset, problem);
    if (rc == 1)
        rc = find_domain(task, canon, problem);
    if (rc != 1)
        return rc;
    task->ask.deadline_ms = request->deadline_ms;
    begin_rows(task, request);
    if (begin_pass(task, &err) < 0)
        return dx_problem_of_error(problem, &err);
    dx_cdx_text_begin(&task->out, &task->ask, &task->answer);
    return step(&task->task, body, problem);
}

int dx_task_cdx(const struct dx_view *view, struct dx_canon *canon,
                const struct dx_cdx_request *request, struct dx_task **out,
                struct dx_answer_summary *summary, struct dx_buf *body, struct dx_problem *problem)
{
    struct cdx_task *task = calloc(1, sizeof *task);
    int rc;

    *out = NULL;
    if (task == NULL)
        return dx_task_no_memory(problem);
    task->task.kind = &kind;
    task->task.summary = summary;
    task->view = dx_view_urls(view);
    dx_buf_init(&task->text, request->query.size + 1);
    dx_buf_init(&task->place, DX_CDX_KEY_MAX);
    dx_buf_init(&task->pieces, DX_CDX_BODY_MAX);
    dx_buf_init(&task->answer, DX_CDX_BODY_MAX + DX_CDX_KEY_MAX);
    dx_urlkey_init(&task->key);
    dx_capture_row_init(&task->row, view->version);
    dx_domain_rows_init(&task->rows, view->version, NULL, 0, 0, request->deadline_ms);
    rc = begin(task, canon, request, body, problem);
    if (rc != 1 && rc != DX_TASK_WAITS)
        problem->says_message = true;
    return dx_task_begun(&task->task, rc, out);
}
