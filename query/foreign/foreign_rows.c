/* SPDX-License-Identifier: Apache-2.0 */
#include "query/foreign/foreign_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_in.h"
#include "base/json_out.h"
#include "base/limits.h"
#include "canon/url.h"
#include "canon/url_texts.h"
#include "format/text/locator.h"
#include "loader/version.h"
#include "parquet/chunk.h"
#include "parquet/row_json.h"
#include "query/answers/answer_end.h"
#include "query/answers/task_kind.h"
#include "query/foreign/foreign_folder.h"
#include "query/suppression/shown_request.h"
#include "query/view/domain_json.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

#define LISTING_BODY_MAX ((size_t)64 << 20)
#define TEXT_MAX \
    ((size_t)1 << 20) /* of a member; longer than each that a row of the lake may have */
#define WINDOW (1u << 20)

/* An item of the listing; texts are those of its answer. */
struct item {
    const char *url, *ts, *locator; /* ts, locator: NULL: null */
    struct dx_locator place;        /* kind NONE: it leads to no row */
    size_t at, size;                /* its row, in texts; size 0: none */
    bool is_seen;                   /* its URL, in the row */
};

struct foreign_task {
    struct dx_task task;
    struct dx_task *listing; /* at work; NULL: it has ended */
    const struct dx_foreign_folder *folder;
    struct dx_version *version;
    uint64_t deadline_ms;
    struct dx_buf answer; /* of the listing */
    struct dx_buf columns;
    struct dx_span column[DX_FOREIGN_COLUMNS];
    size_t column_count;

    struct item *item;
    struct item **order; /* those that lead to rows, by file, row group and row */
    size_t count, ordered;
    struct dx_foreign_file file[DX_FOREIGN_FILES];
    struct dx_pq_rows rows[DX_FOREIGN_FILES]; /* the columns of each */
    size_t file_count;
    uint64_t bytes; /* of column chunks */
    unsigned chunks;
    struct dx_buf texts;
    struct dx_canon *canon;
    struct item *const *of; /* the items of the row being written, */
    size_t of_count;
    struct dx_shown_request shown;
    int is_shown; /* the row being written: 1; 0: a rule hides a URL in it; <0: unknown, why_not */
    struct dx_error why_not;
};

/* ---- the items ---- */

static int compare_files(const struct dx_locator *a, const struct dx_locator *b)
{
    int order = dx_span_compare(a->name, b->name);

    if (order == 0)
        order = (a->was_size > b->was_size) - (a->was_size < b->was_size);
    return order != 0 ? order : (a->was_hash > b->was_hash) - (a->was_hash < b->was_hash);
}

static int compare_items(const void *a, const void *b)
{
    const struct dx_locator *x = &(*(struct item *const *)a)->place;
    const struct dx_locator *y = &(*(struct item *const *)b)->place;
    int order = compare_files(x, y);

    for (int i = 0; order == 0 && i < 2; i++)
        order = (x->place[i] > y->place[i]) - (x->place[i] < y->place[i]);
    return order;
}

static const char *text_of(struct dx_json_in *in, const struct dx_json_node *o, const char *member)
{
    return dx_json_in_null(o, member) ? NULL : dx_json_in_str(in, o, member, TEXT_MAX);
}

static int read_items(struct foreign_task *t, struct dx_json_in *in,
                      const struct dx_json_node *answer, struct dx_error *err)
{
    const struct dx_json_node *node;
    struct dx_json_list list;

    t->item = calloc(DX_FOREIGN_LIMIT_MAX, sizeof *t->item);
    t->order = calloc(DX_FOREIGN_LIMIT_MAX, sizeof(struct item *));
    if (t->item == NULL || t->order == NULL)
        return dx_no_memory(err, "rows");
    dx_json_in_list(in, &list, answer, "items", DX_FOREIGN_LIMIT_MAX);
    while ((node = dx_json_in_next(in, &list)) != NULL) {
        struct item *item = &t->item[t->count];

        *item = (struct item){ .url = dx_json_in_str(in, node, "url", TEXT_MAX),
                               .ts = text_of(in, node, "ts"),
                               .locator = text_of(in, node, DX_LOCATOR_COLUMN) };
        if (item->locator != NULL && dx_locator_parse(dx_span_str(item->locator), &item->place) &&
            item->place.was_size > 0)
            t->order[t->ordered++] = item;
        t->count++;
    }
    qsort(t->order, t->ordered, sizeof(struct item *), compare_items);
    return DX_OK;
}

/* ---- what has to be read ---- */

static int plan_group(struct foreign_task *t, const struct dx_pq_rows *rows, uint64_t group,
                      struct dx_error *err)
{
    unsigned chunks = 0;
    uint64_t bytes = group > UINT32_MAX ? 0 : dx_pq_rows_stored(rows, (uint32_t)group, &chunks);

    t->chunks += chunks;
    if (bytes > DX_LISTING_READ_MAX || t->bytes + bytes > DX_LISTING_READ_MAX)
        return dx_fail(err, DX_E_LIMIT,
                       "these rows lie in over %u MiB of column chunks of foreign files",
                       DX_LISTING_READ_MAX >> 20);
    if (t->chunks > DX_FOREIGN_CHUNKS)
        return dx_fail(err, DX_E_LIMIT, "these rows lie in over %u column chunks of foreign files",
                       DX_FOREIGN_CHUNKS);
    t->bytes += bytes;
    return DX_OK;
}

static int plan_file(struct foreign_task *t, const struct dx_locator *place, size_t *footers,
                     struct dx_error *err)
{
    struct dx_foreign_file *file = &t->file[t->file_count];
    struct dx_pq_rows *rows = &t->rows[t->file_count];
    int rc;

    if (t->file_count == DX_FOREIGN_FILES)
        return dx_fail(err, DX_E_LIMIT, "these rows lie in over %u foreign files",
                       DX_FOREIGN_FILES);
    t->file_count++;
    *rows = (struct dx_pq_rows)DX_PQ_ROWS_INIT;
    rc = dx_foreign_file_open(file, t->folder, place, DX_FOREIGN_FOOTERS - *footers, err);
    file->deadline_ms = t->deadline_ms;
    *footers += file->metadata.size;
    if (rc < 0)
        return rc;
    rc = dx_pq_rows_columns(rows, &file->footer, t->column, t->column_count, err);
    return rc < 0 ? dx_fail_in(err, "%.200s", file->name) : DX_OK;
}

/* Opens all files and adds up what their column chunks have, before one is read. */
static int plan(struct foreign_task *t, struct dx_error *err)
{
    size_t footers = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < t->ordered; i++) {
        const struct dx_locator *at = &t->order[i]->place;
        const struct dx_locator *before = i > 0 ? &t->order[i - 1]->place : NULL;
        bool is_new = before == NULL || compare_files(at, before) != 0;

        if (is_new)
            rc = plan_file(t, at, &footers, err);
        if (rc == DX_OK && (is_new || at->place[0] != before->place[0]))
            rc = plan_group(t, &t->rows[t->file_count - 1], at->place[0], err);
    }
    return rc;
}

/* ---- the rows ---- */

/* The row is of the URLs that one of its texts is. */
static void note_url(struct foreign_task *t, struct dx_span text)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_url url = { .url = text };

    if (dx_canon_url(t->canon, text, &url, &reject) != 1)
        url.url = text;
    for (size_t i = 0; i < t->of_count; i++)
        if (dx_span_equal(url.url, dx_span_str(t->of[i]->url)))
            t->of[i]->is_seen = true;
}

static int note_one(void *ctx, struct dx_span text)
{
    struct foreign_task *t = ctx;

    if (t->is_shown == 1)
        t->is_shown = dx_shown_request_text(&t->shown, text, &t->why_not);
    if (t->column_count == 0)
        note_url(t, text);
    return 0;
}

/* A row is of all URLs in it: of a list of them, of other columns, or in their JSON. */
static void note_text(void *ctx, struct dx_span text)
{
    const struct foreign_task *t = ctx;

    if (t->column_count == 0 ||
        dx_suppressed_line(t->version) > 0) /* else nothing is asked of it */
        (void)dx_url_texts_row(text, note_one, ctx);
}

/* Pages may be others though size and footer of the file are what they were: its writer gave them no checksums. Of some
 * columns nothing can be said, as the URL may be in another one. */
static int check_urls(struct foreign_task *t, struct dx_error *err)
{
    if (t->column_count == 0)
        (void)dx_url_texts_path(t->of[0]->place.name, note_one, t); /* the URL may be from there */
    for (size_t i = 0; t->column_count == 0 && i < t->of_count; i++) {
        const struct item *item = t->of[i];

        if (!item->is_seen)
            return dx_fail(
                err, DX_E_CONFLICT,
                "row %llu of row group %llu is not of %.200s; its bytes changed since it was "
                "indexed",
                (unsigned long long)item->place.place[1], (unsigned long long)item->place.place[0],
                item->url);
    }
    return DX_OK;
}

/* The row of t->of, which are several if it has a list of URLs. */
static int write_row(struct foreign_task *t, struct dx_pq_rows *rows, size_t row,
                     struct dx_error *err)
{
    size_t begin = t->texts.size;
    struct dx_json j;
    int rc;

    t->is_shown = 1;
    dx_json_open(&j, &t->texts);
    rc = dx_pq_rows_json(rows, row, &j, note_text, t, err);
    if (rc == DX_OK)
        rc = check_urls(t, err);
    if (rc == DX_OK && t->is_shown < 0) {
        *err = t->why_not;
        return t->is_shown;
    }
    if (t->is_shown == 0)
        t->texts.size = begin;
    for (size_t i = 0; i < t->of_count; i++) {
        t->of[i]->at = begin;
        t->of[i]->size = t->texts.size - begin;
    }
    return rc;
}

static int write_rows(struct foreign_task *t, struct dx_pq_rows *rows, struct item *const *item,
                      size_t count, struct dx_error *err)
{
    size_t row = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < count; i += t->of_count) {
        if (t->deadline_ms != 0 && dx_clock_ms() > t->deadline_ms)
            return dx_fail(err, DX_E_TIMEOUT, "rows of foreign files: not looked through in time");
        t->of = item + i;
        t->of_count = 1;
        while (i + t->of_count < count &&
               item[i + t->of_count]->place.place[1] == item[i]->place.place[1])
            t->of_count++;
        rc = write_row(t, rows, row++, err);
    }
    if (rc == DX_OK && t->texts.failed)
        rc = dx_buf_fail(&t->texts, err, "rows of foreign files");
    return rc;
}

static int read_group(struct foreign_task *t, size_t file, struct item *const *item, size_t count,
                      struct dx_error *err)
{
    const struct dx_pq_fetch fetch = { dx_foreign_file_read, &t->file[file], WINDOW };
    static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    struct dx_pq_rows *rows = &t->rows[file];
    uint64_t *row;
    size_t n = 0;
    int rc;

    row = calloc(count, sizeof *row);
    if (row == NULL)
        return dx_no_memory(err, "rows");
    for (size_t i = 0; i < count; i++)
        if (i == 0 || item[i]->place.place[1] != item[i - 1]->place.place[1])
            row[n++] = item[i]->place.place[1];
    rows->text_max = DX_LISTING_READ_MAX;
    rc = dx_pq_rows_read(rows, &fetch, item[0]->place.place[0], row, n, &limits, err);
    if (rc == DX_OK)
        rc = write_rows(t, rows, item, count, err);
    free(row);
    return rc < 0 ? dx_fail_in(err, "%.200s", t->file[file].name) : DX_OK;
}

static int read_all(struct foreign_task *t, struct dx_error *err)
{
    size_t file = 0;
    int rc = DX_OK;

    for (size_t i = 0, n; rc == DX_OK && i < t->ordered; i += n) {
        const struct dx_locator *at = &t->order[i]->place;
        bool is_next = i > 0 && compare_files(at, &t->order[i - 1]->place) != 0;

        if (is_next)
            rc = dx_foreign_file_end(&t->file[file++], err);
        if (rc == DX_OK && (i == 0 || is_next))
            rc = dx_foreign_file_again(&t->file[file], t->folder, err);
        for (n = 1; i + n < t->ordered; n++) {
            const struct dx_locator *next = &t->order[i + n]->place;

            if (compare_files(at, next) != 0 || at->place[0] != next->place[0])
                break;
        }
        if (rc == DX_OK)
            rc = read_group(t, file, t->order + i, n, err);
    }
    return rc == DX_OK && t->ordered > 0 ? dx_foreign_file_end(&t->file[file], err) : rc;
}

/* ---- the answer ---- */

static void copy_u64(struct dx_json_in *in, const struct dx_json_node *answer, const char *member,
                     struct dx_json *j)
{
    if (dx_json_in_has(answer, member))
        dx_json_key_u64(j, member, dx_json_in_u64(in, answer, member, 0, INT64_MAX));
}

/* As the listing goes on: filtered ones have no offsets, and servers without cursors no cursor. */
static void write_next(struct dx_json_in *in, const struct dx_json_node *answer, struct dx_json *j)
{
    if (dx_json_in_null(answer, "next_offset")) {
        dx_json_key(j, "next_offset");
        dx_json_null(j);
    } else {
        copy_u64(in, answer, "next_offset", j);
    }
    if (dx_json_in_has(answer, "next_cursor") || dx_json_in_null(answer, "next_cursor")) {
        dx_json_key(j, "next_cursor");
        dx_json_in_null(answer, "next_cursor")
            ? dx_json_null(j)
            : dx_json_str(j, dx_json_in_str(in, answer, "next_cursor", TEXT_MAX));
    }
}

static void write_item(const struct foreign_task *t, const struct item *item, struct dx_json *j)
{
    dx_json_object(j);
    dx_json_key(j, "url");
    dx_json_str(j, item->url);
    dx_json_key(j, "ts");
    item->ts != NULL ? dx_json_str(j, item->ts) : dx_json_null(j);
    dx_json_key(j, DX_LOCATOR_COLUMN);
    item->locator != NULL ? dx_json_str(j, item->locator) : dx_json_null(j);
    dx_json_key(j, "row");
    if (item->size > 0)
        dx_json_number(j, dx_span_of(t->texts.data + item->at, item->size)); /* JSON as it is */
    else
        dx_json_null(j);
    dx_json_end(j);
}

static int write_answer(const struct foreign_task *t, struct dx_json_in *in,
                        const struct dx_json_node *answer, struct dx_buf *body,
                        struct dx_error *err)
{
    struct dx_json j;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_domain_json(&j, dx_span_str(dx_json_in_str(in, answer, "domain", TEXT_MAX)));
    copy_u64(in, answer, "dataset_id", &j);
    dx_json_key(&j, "dataset");
    dx_json_str(&j, dx_json_in_str(in, answer, "dataset", TEXT_MAX));
    copy_u64(in, answer, "total", &j);
    copy_u64(in, answer, "withheld_rows", &j);
    copy_u64(in, answer, "offset", &j);
    dx_json_key(&j, "items");
    dx_json_array(&j);
    for (size_t i = 0; i < t->count; i++)
        write_item(t, &t->item[i], &j);
    dx_json_end(&j);
    write_next(in, answer, &j);
    dx_json_key(&j, "cost");
    dx_json_object(&j);
    dx_json_key_u64(&j, "rows", t->ordered);
    dx_json_key_u64(&j, "chunks", t->chunks);
    dx_json_key_u64(&j, "bytes", t->bytes);
    dx_json_end(&j);
    dx_answer_end(&j, t->version);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

static int problem_of(struct dx_problem *problem, const struct dx_error *err)
{
    if (err->code == DX_E_INVALID)
        return dx_problem_set(problem, DX_PROBLEM_FORBIDDEN, "foreign-not-served",
                              "This server does not read the file of a row",
                              "%s. Ask for fields=locator, and read it with `domaindex "
                              "fetch-record`.",
                              err->text);
    return dx_problem_advised(problem, err,
                              "Ask for fewer rows with a smaller limit, or for fewer columns.");
}

/* The listing is there. */
static int read_listing(struct foreign_task *t, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json_in in;
    const struct dx_json_node *answer = dx_json_in_open(
        &in, dx_span_of(t->answer.data, t->answer.size), LISTING_BODY_MAX, "the listing");
    int rc = in.rc;

    if (rc == DX_OK)
        rc = read_items(t, &in, answer, &err);
    if (rc == DX_OK && in.rc == DX_OK)
        rc = plan(t, &err);
    if (rc == DX_E_NOT_FOUND && t->file_count > 0 && t->file[t->file_count - 1].known) {
        (void)dx_json_in_close(&in, NULL);
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "no-such-column",
                              "A file does not have this column", "%s", err.text);
    }
    if (rc == DX_OK && in.rc == DX_OK && t->ordered > 0)
        rc = dx_version_canon_new(t->version, &t->canon, &err);
    if (rc == DX_OK && in.rc == DX_OK)
        rc = read_all(t, &err);
    if (rc == DX_OK && in.rc == DX_OK)
        rc = write_answer(t, &in, answer, body, &err);
    if (rc < 0 && err.code != DX_OK)
        (void)dx_json_in_close(&in, NULL);
    else
        rc = dx_json_in_close(&in, &err);
    if (rc < 0) {
        dx_buf_clear(body);
        return problem_of(problem, &err);
    }
    return 1;
}

static int go_on(struct foreign_task *t, int rc, struct dx_buf *body, struct dx_problem *problem)
{
    if (rc != DX_TASK_WAITS)
        dx_task_free(&t->listing);
    return rc == 1 ? read_listing(t, body, problem) : rc;
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct foreign_task *t = (struct foreign_task *)of;

    t->listing->summary = of->summary;
    return go_on(t, t->listing->kind->step(t->listing, &t->answer, problem), body, problem);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    struct dx_task *listing = ((struct foreign_task *)of)->listing;

    return listing->kind->fetched != NULL ? listing->kind->fetched(listing, rc, err) : rc;
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return dx_task_reading(((struct foreign_task *)of)->listing);
}

static void release_task(struct dx_task *of)
{
    struct foreign_task *t = (struct foreign_task *)of;

    dx_task_free(&t->listing);
    for (size_t i = 0; i < t->file_count; i++) {
        dx_pq_rows_release(&t->rows[i]);
        dx_foreign_file_close(&t->file[i]);
    }
    free(t->item);
    free(t->order);
    dx_buf_release(&t->answer);
    dx_buf_release(&t->columns);
    dx_buf_release(&t->texts);
    dx_shown_request_release(&t->shown);
    dx_canon_free(&t->canon);
    free(t);
}

/* 1, or 0 with the problem. */
static int take_columns(struct foreign_task *t, struct dx_span text, struct dx_problem *problem)
{
    const uint8_t *at, *end;

    dx_buf_init(&t->columns, text.size + 1);
    dx_buf_append(&t->columns, text.data, text.size);
    if (text.data == NULL || t->columns.failed)
        return t->columns.failed ? dx_task_no_memory(problem) : 1;
    at = t->columns.data;
    end = at + text.size;
    while (at <= end) {
        const uint8_t *comma = at == end ? NULL : memchr(at, ',', (size_t)(end - at));
        const uint8_t *stop = comma != NULL ? comma : end;

        if (stop == at || t->column_count == DX_FOREIGN_COLUMNS)
            return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                                  "columns: 1 to %d names with commas between them are expected",
                                  DX_FOREIGN_COLUMNS);
        t->column[t->column_count++] = dx_span_of(at, (size_t)(stop - at));
        at = stop + 1;
    }
    return 1;
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

int dx_task_foreign_rows(const struct dx_view *view, struct dx_canon *canon,
                         const struct dx_foreign_ask *ask, struct dx_task **task,
                         struct dx_answer_summary *summary, struct dx_buf *body,
                         struct dx_problem *problem)
{
    struct dx_urls_ask urls = ask->urls;
    struct foreign_task *t;
    int rc;

    *task = NULL;
    if (ask->folder == NULL)
        return dx_problem_set(problem, DX_PROBLEM_FORBIDDEN, "foreign-not-served",
                              "This server reads no files but those of its root",
                              "it runs without --foreign; ask for fields=locator, and read rows "
                              "with `domaindex fetch-record`");
    t = calloc(1, sizeof *t);
    if (t == NULL)
        return dx_task_no_memory(problem);
    t->task.kind = &kind;
    t->task.summary = summary;
    t->folder = ask->folder;
    t->version = view->version;
    t->deadline_ms = urls.deadline_ms;
    dx_buf_init(&t->answer, LISTING_BODY_MAX);
    dx_buf_init(&t->texts, body->max);
    dx_shown_request_init(&t->shown, view->version);
    rc = take_columns(t, ask->columns, problem);
    urls.fields = DX_FIELD_URL | DX_FIELD_TS | DX_FIELD_LOCATOR;
    urls.brief = false;
    urls.foreign = true;
    if (rc == 1)
        rc = dx_task_urls(view, canon, &urls, &t->listing, summary, &t->answer, problem);
    return dx_task_begun(&t->task, go_on(t, rc, body, problem), task);
}
