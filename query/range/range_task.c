/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/range_task.h"

#include <stdlib.h>

#include "format/root/scope.h"
#include "loader/followed/domain64_registry.h"
#include "loader/version_parts.h"
#include "query/answers/answer_end.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"

#define NAMES_MAX ((size_t)4096)       /* a suffix, a filter, some numbers */
#define ITEMS_MAX ((size_t)64 << 20)   /* bytes of the items of a page */
#define ITEMS_ENOUGH ((size_t)8 << 20) /* a page that comes to it ends */

#define KEPT_PAGES 1024 /* that come next, once all rows were read */

enum { PAGE, PRICE, AFTER, WHOLE, KEPT };

static bool has_order(const struct dx_range_task *task)
{
    return task->ask.order.sort != DX_CURSOR_SORT_NONE;
}

/* ---- items ---- */

static int write_item(struct dx_range_task *task, const struct dx_listing_row *row,
                      struct dx_span domain, uint32_t dataset_id, uint64_t number,
                      struct dx_error *err)
{
    struct dx_json *j = &task->json;
    int rc;

    dx_json_object(j);
    rc = dx_item_text_members(&task->text, row, err);
    if (task->what.numbers != NULL) {
        dx_json_key(j, "domain64");
        dx_json_hex64(j, number);
    }
    dx_json_key(j, "domain");
    dx_json_text(j, domain);
    dx_json_key_u64(j, "dataset_id", dataset_id);
    dx_json_end(j);
    if (rc == DX_OK && task->items.failed)
        rc = dx_buf_fail(&task->items, err, "answer");
    return rc;
}

static bool is_full(const struct dx_range_task *task)
{
    return task->items.size >= ITEMS_ENOUGH;
}

static int take_row(void *ctx, const struct dx_range_row *row, struct dx_error *err)
{
    struct dx_range_task *task = ctx;
    int rc = write_item(task, row->row, row->domain, row->dataset_id, row->number, err);

    return rc < 0 ? rc : is_full(task);
}

/* Of all rows those of the page behind an offset. */
static int count_row(void *ctx, const struct dx_range_row *row, struct dx_error *err)
{
    struct dx_range_task *task = ctx;
    uint64_t before = task->total++;

    if (before < task->ask.offset || task->has_next)
        return DX_OK;
    if (before - task->ask.offset < task->ask.limit && !is_full(task))
        return write_item(task, row->row, row->domain, row->dataset_id, row->number, err);
    task->has_next = true;
    task->next = row->place;
    return DX_OK;
}

static int order_row(void *ctx, const struct dx_range_row *row, struct dx_error *err)
{
    struct dx_range_task *task = ctx;
    const struct dx_range_order_at of = { row->dataset_id, row->place.at.row, row->version_number,
                                          row->number };

    return dx_range_order_add(&task->order, row->row, &of, err);
}

static int write_ordered(struct dx_range_task *task, struct dx_error *err)
{
    const struct dx_order_page *p = &task->ordered;
    uint8_t domain[DX_SURT_MAX];
    size_t size;
    uint64_t i;
    int rc = DX_OK;

    task->total = p->head.total;
    for (i = 0; rc >= 0 && i < p->head.count && !is_full(task); i++) {
        const struct dx_range_order_at *of = dx_order_page_get(p, i, &task->row);

        task->last = of;
        rc = dx_version_domain(task->page.view.version, of->domain, domain, &size, err);
        if (rc == 1)
            rc = write_item(task, &task->row, dx_span_of(domain, size), of->dataset_id, of->number,
                            err);
    }
    task->written = i;
    if (i == p->head.count && !p->head.more)
        task->last = NULL;
    else if (i == p->head.count && task->state != KEPT && !task->order.whole)
        task->last = dx_range_order_last(&task->order, &task->row);
    return rc < 0 ? rc : DX_OK;
}

/* ---- pages that are kept ---- */

/* The row that the cursor names. */
static struct dx_range_order_at row_of_cursor(const struct dx_range_task *task)
{
    const struct dx_cursor *from = &task->page.from;

    return (struct dx_range_order_at){ from->next_dataset, from->next_row, from->next_number, 0 };
}

static struct dx_page_cache *cache_of(const struct dx_range_task *task)
{
    return task->page.view.version->caches->pages;
}

static void put_text(struct dx_buf *b, struct dx_span text)
{
    dx_buf_u64(b, text.size);
    if (text.size > 0)
        dx_buf_append(b, text.data, text.size);
}

/* What all its pages depend on, but for `limit` rows of where they begin. */
static int name_question(struct dx_range_task *task, struct dx_error *err)
{
    const struct dx_version *v = task->page.view.version;
    const struct dx_range_what *w = &task->what;
    const struct dx_url_order *o = &task->ask.order;
    struct dx_build_id numbers = { { 0 } };
    struct dx_buf b = DX_BUF_INIT(NAMES_MAX);
    bool ok;

    if (w->numbers != NULL)
        numbers = dx_domain64_registry_state(w->numbers);
    dx_buf_append(&b, v->entry.build.bytes, sizeof v->entry.build.bytes);
    dx_buf_append(&b, numbers.bytes, sizeof numbers.bytes);
    dx_buf_u64(&b, task->turn);
    dx_buf_u64(&b, dx_scope_key(task->page.view.scope));
    dx_buf_u64(&b, w->numbers != NULL);
    dx_buf_u64(&b, w->range.from);
    dx_buf_u64(&b, w->range.to);
    dx_buf_u64(&b, w->dataset == NULL ? UINT64_MAX : w->dataset->dataset_id);
    dx_buf_u64(&b, w->fields);
    dx_buf_u64(&b, w->limit);
    dx_buf_u64(&b, w->look_max);
    dx_buf_u64(&b, (uint64_t)o->sort << 1 | o->reverse);
    dx_buf_u64(&b, (uint64_t)o->closest_us);
    dx_buf_u64(&b, (uint64_t)o->collapse << 32 | o->digits);
    put_text(&b, w->suffix);
    put_text(&b, dx_span_of(task->filter, task->filter_size));
    ok = !b.failed && dx_sha256(dx_span_of(b.data, b.size), task->names);
    dx_buf_release(&b);
    return ok ? DX_OK : dx_no_memory(err, "rows of a listing");
}

/* Whether the page is at hand: 1, 0, <0. */
static int find_kept(struct dx_range_task *task, struct dx_error *err)
{
    const struct dx_range_order_at of = row_of_cursor(task);
    struct dx_cache_key key;
    int rc;

    task->turn = dx_suppressed_turn(task->page.view.version);
    rc = name_question(task, err);
    if (rc == DX_OK)
        rc = dx_order_page_key(&key, task->names, task->page.goes_on ? &of : NULL, err);
    if (rc < 0)
        return rc;
    return task->turn % 2 == 0 && dx_order_page_find(&task->ordered, cache_of(task), &key);
}

static bool keep(struct dx_range_task *task, const struct dx_order_page *p,
                 const struct dx_range_order_at *of)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cache_key key;

    if (dx_order_page_key(&key, task->names, of, &err) < 0)
        return false;
    dx_order_page_keep(p, cache_of(task), &key);
    return true;
}

/* The page that the order has now, behind the row `of`. */
static bool keep_page(struct dx_range_task *task, const struct dx_range_order_at *of)
{
    const struct dx_order_page p = dx_order_page_of(&task->order, &task->ordered.head);

    return task->order.whole && keep(task, &p, of);
}

/* An answer whose items are long ends within its page: the next one goes on there. */
static bool keep_rest(struct dx_range_task *task)
{
    const uint64_t n = task->written;
    struct dx_order_page rest;

    if (n == 0 || n == task->ordered.head.count)
        return true;
    rest = dx_order_page_rest(&task->ordered, n);
    return keep(task, &rest, dx_order_page_get(&task->ordered, n - 1, &task->row));
}

/* Once the answer is written: what it is made of may go. */
static void keep_pages(struct dx_range_task *task)
{
    const struct dx_range_order_at from = row_of_cursor(task);
    struct dx_range_order *o = &task->order;
    struct dx_error err = DX_ERROR_INIT;
    bool ok = task->turn % 2 == 0 && task->turn == dx_suppressed_turn(task->page.view.version);

    if (ok && (!task->page.goes_on || o->met)) /* else the position may be made up */
        ok = keep_page(task, task->page.goes_on ? &from : NULL) && keep_rest(task);
    for (unsigned n = 0; ok && n < KEPT_PAGES && o->more && o->whole; n++) {
        const struct dx_range_order_at last = *dx_range_order_last(o, &task->row);

        ok = dx_range_order_page(o, &err) == DX_OK && keep_page(task, &last);
    }
}

/* All rows are there: the page of them. */
static int make_page(struct dx_range_task *task, struct dx_error *err)
{
    const struct dx_order_page_head seen = { .rows_seen = task->rows.rows_seen,
                                             .pages_seen = task->rows.pages_seen,
                                             .bytes_seen = task->rows.bytes_seen };
    int rc;

    dx_range_order_end(&task->order);
    rc = dx_range_order_page(&task->order, err);
    task->ordered = dx_order_page_of(&task->order, &seen);
    return rc;
}

/* ---- cursors ---- */

/* What all cursors of the question have. */
static struct dx_cursor cursor_of(const struct dx_range_task *task)
{
    struct dx_cursor c = { .kind = task->question->cursor,
                           .began_s = task->ask.paging.began_s,
                           .limit = (uint32_t)task->ask.limit,
                           .fields = task->ask.fields,
                           .filter_size = task->filter_size,
                           .sort = (uint8_t)task->ask.order.sort,
                           .reverse = task->ask.order.reverse,
                           .closest_us = task->ask.order.closest_us,
                           .collapse = (uint8_t)task->ask.order.collapse,
                           .collapse_digits = (uint8_t)task->ask.order.digits };

    memcpy(c.filter, task->filter, task->filter_size);
    dx_tag_page_place(&task->page, &c);
    task->question->put(task, &c);
    return c;
}

static int write_cursor(const struct dx_range_task *task, const struct dx_cursor *c,
                        struct dx_json *j, struct dx_error *err)
{
    return dx_tag_page_cursor(c, task->ask.paging.cursors, task->ask.paging.principal, j, err);
}

static int write_next(const struct dx_range_task *task, struct dx_json *j, struct dx_error *err)
{
    const struct dx_range_order_at *last = task->last;
    const struct dx_range_place *next = task->has_next ? &task->next : &task->rows.next;
    struct dx_cursor c = cursor_of(task);
    int rc = DX_OK;

    c.next_number = last != NULL ? last->domain : next->number;
    c.next_dataset = last != NULL ? last->dataset_id : next->at.dataset_id;
    c.next_row = last != NULL ? last->row : next->at.row;
    if (last != NULL)
        dx_cursor_position_set(&c.position, task->row.has_ts, task->row.ts_us, task->row.host,
                               task->row.path_query);
    if (last != NULL && task->ask.order.collapse != DX_COLLAPSE_NONE)
        rc = dx_range_order_value(&task->order, &task->row, &c.position, err);
    return rc < 0 ? rc : write_cursor(task, &c, j, err);
}

static int write_plan(struct dx_range_task *task, struct dx_json *j, struct dx_error *err)
{
    uint64_t bounds[DX_PLAN_MAX + 1];
    struct dx_cursor c = cursor_of(task);
    int rc = task->question->split(task, bounds, err);

    dx_json_key(j, "cursors");
    dx_json_array(j);
    for (unsigned k = 0; k < task->ask.plan && rc >= 0; k++) {
        task->question->part(&c, bounds[k], bounds[k + 1]);
        rc = write_cursor(task, &c, j, err);
    }
    dx_json_end(j);
    return rc < 0 ? rc : DX_OK;
}

/* ---- the answer ---- */

/* What reading all rows took is said of each page of an order, also of one that was kept. */
static void write_cost(const struct dx_range_task *task, struct dx_json *j)
{
    const struct dx_version *v = task->page.view.version;
    const struct dx_order_page_head *h = &task->ordered.head;
    const struct dx_range_rows *r = &task->rows;

    if (has_order(task))
        dx_answer_cost(j, v, h->rows_seen, h->pages_seen, h->bytes_seen);
    else
        dx_answer_cost(j, v, r->rows_seen, r->pages_seen, r->bytes_seen);
}

static int write_rows(struct dx_range_task *task, struct dx_json *j, struct dx_error *err)
{
    const struct dx_range_rows *rows = &task->rows;

    dx_json_end(&task->json);
    dx_json_key(j, "items");
    dx_json_number(j, dx_span_of(task->items.data, task->items.size));
    if (task->filter_size > 0 || task->what.numbers != NULL || task->what.whole)
        write_cost(task, j);
    dx_json_key(j, "next_cursor");
    if (rows->more || task->has_next || task->last != NULL)
        return write_next(task, j, err);
    dx_json_null(j);
    return DX_OK;
}

static int write_answer(struct dx_range_task *task, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    task->question->head(task, &j);
    if (task->what.whole && task->ask.order.collapse == DX_COLLAPSE_NONE)
        dx_json_key_u64(&j, "total", task->total);
    if (task->what.whole && task->ask.offset > 0)
        dx_json_key_u64(&j, "offset", task->ask.offset);
    rc = task->ask.plan > 0 ? write_plan(task, &j, err) : write_rows(task, &j, err);
    dx_answer_end(&j, task->page.view.version);
    if (task->items.failed)
        return dx_buf_fail(&task->items, err, "answer");
    return rc == DX_OK && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* ---- the task ---- */

static int check_line(const struct dx_range_task *task, struct dx_error *err)
{
    const struct dx_version *v = task->page.view.version;

    if (!task->what.whole || task->line == dx_suppressed_line(v))
        return DX_OK;
    return dx_fail(err, DX_E_BUSY, "%s: suppressions changed while rows were put in order",
                   v->entry.version);
}

static int end_task(struct dx_range_task *task, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = check_line(task, &err);

    if (rc >= 0 && task->question->check != NULL)
        rc = task->question->check(task, &err);
    if (rc >= 0 && task->state == WHOLE && has_order(task))
        rc = make_page(task, &err);
    if (rc >= 0 && task->what.whole && has_order(task))
        rc = write_ordered(task, &err);
    if (rc >= 0)
        rc = write_answer(task, body, &err);
    if (rc == DX_OK && task->state == WHOLE && has_order(task))
        keep_pages(task);
    else if (rc == DX_OK && task->state == KEPT)
        (void)keep_rest(task);
    if (rc == DX_OK)
        return 1;
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}

static int begin_order(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_range_task *task = ctx;
    const struct dx_range_order_at of = row_of_cursor(task);

    return dx_range_order_begin(&task->order, row, &of, err);
}

static int begin_position(struct dx_range_task *task, struct dx_problem *problem)
{
    const struct dx_cursor_position *p = &task->page.from.position;
    struct dx_error err = DX_ERROR_INIT;

    task->row.host = dx_cursor_position_host(p);
    task->row.path_query = dx_cursor_position_path(p);
    task->row.has_ts = p->has_ts;
    task->row.ts_us = p->ts_us;
    return begin_order(task, &task->row, &err) < 0 ? dx_problem_of_error(problem, &err) : 1;
}

static int begin_after(struct dx_range_task *task, struct dx_problem *problem)
{
    const struct dx_range_order_at of = row_of_cursor(task);

    task->state = WHOLE;
    if (!has_order(task) || !task->page.goes_on)
        return 1;
    if (task->page.from.position.has_value)
        dx_range_order_like(&task->order, task->page.from.position.value);
    if (task->page.from.position.given)
        return begin_position(task, problem);
    task->state = AFTER;
    return dx_range_row_begin(&task->after, &task->page.view, &of, task->ask.deadline_ms, problem);
}

static int step_after(struct dx_range_task *task, struct dx_problem *problem)
{
    const struct dx_listing_taker taker = { .ctx = task, .row = begin_order };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_listing_step(&task->after.listing, &err);

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE)
        rc = dx_listing_rows(&task->after.listing, &taker, &err);
    task->state = WHOLE;
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

/* What comes before all rows are read. */
static int step_before(struct dx_range_task *task, struct dx_problem *problem)
{
    int rc = 1;

    if (task->state == PRICE) {
        rc = dx_range_price_step(&task->price, problem);
        if (rc == 0) /* for nothing: others have their turn */
            return DX_TASK_WAITS;
        if (rc == 1)
            rc = begin_after(task, problem);
    }
    return rc == 1 && task->state == AFTER ? step_after(task, problem) : rc;
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_range_task *task = (struct dx_range_task *)of;
    bool reads = task->ask.plan == 0 && task->state != KEPT;
    int rc = reads ? step_before(task, problem) : 1;

    if (rc == 1 && reads)
        rc = dx_range_rows_step(&task->rows, problem);
    return rc == 1 ? end_task(task, body, problem) : rc;
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    struct dx_range_task *task = (struct dx_range_task *)of;

    return task->state == AFTER ? &task->after.listing.reading : dx_range_rows_reading(&task->rows);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    struct dx_range_task *task = (struct dx_range_task *)of;

    return task->state == AFTER ? dx_listing_fetched(&task->after.listing, rc, err)
                                : dx_range_rows_fetched(&task->rows, rc, err);
}

static void release_task(struct dx_task *of)
{
    struct dx_range_task *task = (struct dx_range_task *)of;

    dx_range_rows_release(&task->rows);
    dx_range_price_release(&task->price);
    dx_range_row_release(&task->after);
    if (task->state == KEPT)
        dx_order_page_put(&task->ordered, cache_of(task));
    dx_range_order_release(&task->order);
    dx_item_text_release(&task->text);
    dx_buf_release(&task->items);
    dx_row_regexes_release(&task->regexes);
    if (task->question->release != NULL)
        task->question->release(task);
    free(task);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* ---- before it ---- */

int dx_range_task_init(struct dx_range_task *task, const struct dx_range_question *question,
                       const struct dx_view *view, const struct dx_range_ask *ask,
                       struct dx_problem *problem)
{
    const struct dx_view urls = dx_view_urls(view);
    int rc;

    task->task.kind = &kind;
    task->question = question;
    task->ask = *ask;
    dx_buf_init(&task->items, ITEMS_MAX);
    dx_json_open(&task->json, &task->items);
    dx_json_array(&task->json);
    dx_item_text_init(&task->text, &task->json, ask->fields, view->version);
    /* The ask's own texts end with the first step. */
    task->filter_size = (uint16_t)dx_row_filter_pack(&ask->filter, task->filter);
    (void)dx_row_filter_unpack(dx_span_of(task->filter, task->filter_size), &task->ask.filter);
    rc = dx_row_filter_compile(&task->ask.filter, &task->regexes, problem);
    if (rc == 1)
        rc = dx_tag_page_begin(&task->page, &urls, ask->paging.from, ask->one_dataset,
                               ask->dataset_id, problem);
    task->what = (struct dx_range_what){ .dataset = task->page.dataset,
                                         .filter = task->ask.filter,
                                         .fields = ask->fields,
                                         .limit = ask->limit,
                                         .offset = ask->offset,
                                         .look_max = ask->look_max,
                                         .deadline_ms = ask->deadline_ms };
    return rc;
}

/* All rows are read: with an order, and where rows are counted by reading them. */
static int begin_whole(struct dx_range_task *task, struct dx_error *err)
{
    int rc;

    task->state = PRICE;
    task->line = dx_suppressed_line(task->page.view.version);
    task->what.offset = 0;
    if (has_order(task)) {
        task->what.fields |= DX_FIELD_URL | DX_FIELD_TS; /* that orders look at */
        task->what.with_digest = task->ask.order.collapse == DX_COLLAPSE_DIGEST;
        dx_range_order_init(&task->order, &task->ask.order, task->ask.limit);
    }
    rc = has_order(task) ? find_kept(task, err) : 0;
    if (rc == 1)
        task->state = KEPT;
    return rc == 0 ? dx_range_price_init(&task->price, &task->page.view, &task->what, err) : rc;
}

int dx_range_task_begin(struct dx_range_task *task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_cursor *from = &task->page.from;
    const struct dx_range_place place = { from->next_number,
                                          { from->next_dataset, from->next_row } };
    struct dx_error err = DX_ERROR_INIT;
    bool by_count = task->what.numbers != NULL && task->ask.offset > 0;
    int rc = DX_OK;

    task->what.whole = task->ask.plan == 0 && (has_order(task) || by_count);
    if (task->what.whole)
        rc = begin_whole(task, &err);
    if (rc >= 0 && task->state != KEPT)
        rc = dx_range_rows_init(&task->rows, &task->page.view, &task->what,
                                !task->what.whole ? take_row
                                : has_order(task) ? order_row
                                                  : count_row,
                                task, &err);
    if (rc == DX_OK && task->page.goes_on && !task->what.whole)
        rc = dx_range_rows_begin(&task->rows, &place, from->has_end ? &from->end : NULL, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : step_task(&task->task, body, problem);
}
