/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_task.h"

#include "base/array.h"
#include "base/clock.h"
#include "canon/urlkey.h"
#include "loader/version_parts.h"
#include "query/answers/task_kind.h"
#include "query/cdx/capture_row.h"
#include "query/cdx/cdx_domains.h"
#include "query/cdx/cdx_query.h"
#include "query/cdx/cdx_scope.h"
#include "query/cdx/cdx_search.h"
#include "query/cdx/cdx_select.h"
#include "query/cdx/cdx_sequence.h"
#include "query/cdx/cdx_text.h"
#include "query/scan/domains_ahead.h"
#include "query/suppression/suppression_view.h"
#include "query/view/dataset_list.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <stdlib.h>

#define WINDOW_ROWS 65536 /* that are read at a time */
#define CLOCK_ROWS 256    /* between two looks at the clock: an expression may take 10 ms a row */

#define CLOCK_DOMAINS 256                          /* the same, of domains that are passed by */
#define STEP_US 500                                /* of a step that passes domains by */
#define FIRST_GROUP 2                              /* domains; each group is twice the one before */
#define BODY_ENOUGH (DX_CDX_BODY_MAX - (1u << 20)) /* ends an answer that can be gone on behind */

#define HOST_ROWS 65536 /* of a domain: with more of them those of a host are searched for */

#define ADVICE                                                                                    \
    "Ask for less: pages (page=0, as many as showNumPages says) have no such bound, of a domain " \
    "with all below it, a host or a suffix; with showResumeKey=true an answer ends in time and "  \
    "says where to go on; a URL, a prefix or a host instead of a domain, one dataset; "           \
    "/v1/host/{host}/urls and "                                                                   \
    "/v1/suffix/{suffix}/urls list all rows."

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
    size_t datasets;             /* of it */
    struct dx_cdx_search search; /* for the rows of its host */
    bool begun;                  /* with the domains below the host, if they are asked for */
    struct dx_cdx_domains domains;
    uint64_t passed; /* domains */

    /* A pass over the rows. */
    bool first_done; /* the registered domain is in the group, or was */
    bool ends;       /* behind the group there is nothing of use */
    struct dx_domains_ahead ahead;
    size_t most;     /* domains of the group that comes */
    bool grouped;    /* the group at hand has all its domains */
    uint64_t number; /* of the row that comes */
    uint64_t looked; /* rows, in all passes */
    uint64_t look_max, host_rows;
    uint64_t in_scope; /* rows of the first pass */
    bool by_domains;   /* pages are of rows in the order of domains */
    bool based;        /* select and sequence know where the page begins */
    uint64_t counted;  /* rows of the domains so far */
    uint64_t untimed;
    bool again;    /* it is not the first */
    bool in_piece; /* of the search */
    bool short_of; /* it ended before `frontier`, for there was enough to look at */
    struct dx_buf frontier;
    uint64_t half_ms, soft_ms;
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

/* The row is of the scope, or of the pages that are counted (is_in). */
static int take_scope_row(struct cdx_task *task, const struct dx_listing_row *row, bool is_in,
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
    task->untimed += is_in && !task->again && task->row.timestamp == 0;
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
    struct dx_cdx_keys keys = task->search.in_pieces ? task->search.piece
                                                     : dx_cdx_scope_keys(&task->scope);
    bool is_in;
    int rc = check_time(task, err);

    task->number++;
    if (rc < 0 || !dx_cdx_scope_may_have(&task->scope, row->host))
        return rc;
    if (!dx_urlkey_make(&task->key, row->host, row->path_query))
        return dx_urlkey_no_memory(&task->key)
                   ? dx_no_memory(err, "the key of a URL")
                   : dx_fail(err, DX_E_LIMIT, "a URL has a key of over %u bytes", DX_URLKEY_MAX);
    is_in = dx_cdx_keys_has(&keys, dx_span_of(task->key.key.data, task->key.key.size));
    return is_in || task->by_domains ? take_scope_row(task, row, is_in, err) : DX_OK;
}

/* ---- a window ---- */

static int open_window(struct cdx_task *task, struct dx_ahead_domain *s, struct dx_error *err)
{
    uint64_t left = s->end - s->number;

    s->wanted = left < WINDOW_ROWS ? left : WINDOW_ROWS;
    s->rows.listing.extras = dx_capture_row_extras;
    s->rows.listing.extra_count = dx_capture_row_extra_count;
    if (task->looked + s->wanted > task->look_max)
        return dx_fail(err, DX_E_LIMIT, "over %llu rows would have to be looked at",
                       (unsigned long long)task->look_max);
    return dx_domain_rows_begin(&s->rows, s->number, s->wanted, err);
}

/* The rows of the first domain are there; behind its last one it goes. */
static int take_window(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_domain_rows_taker taker = { task, begin_dataset, take_row, NULL };
    struct dx_ahead_domain *s = dx_domains_ahead_first(&task->ahead);
    int rc;

    task->select.group = s->group;
    task->number = s->number; /* tells rows apart that are alike, which are of one domain */
    rc = dx_domain_rows_each(&s->rows, &taker, err);
    s->number += s->rows.row_count;
    if (rc == DX_OK && s->rows.row_count == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: a window of a domain has no row",
                     s->found.part->directory);
    if (rc == DX_OK && s->number < s->end) {
        dx_ahead_domain_again(s);
        return open_window(task, s, err);
    }
    dx_domains_ahead_pop(&task->ahead);
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

static int add_pair(struct cdx_task *task, const struct dx_part *part, struct dx_domain_rows *rows,
                    const struct dx_suppression_view *withheld, uint32_t dataset_id,
                    const struct dx_pair_count *counts, struct dx_error *err)
{
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(withheld, dataset_id);

    if (dx_view_dataset(&task->view, part, dataset_id, err) == NULL)
        return (int)err->code;
    if (task->only.count > 0 && !dx_dataset_list_has(&task->only, dataset_id))
        return DX_OK;
    if ((hidden != NULL && hidden->visible.row_count == 0) || !may_match(task, counts))
        return DX_OK;
    return dx_domain_rows_add(rows, dataset_id, counts, hidden, err);
}

static int add_pairs(struct cdx_task *task, const struct dx_part *part, struct dx_domain_rows *rows,
                     const struct dx_suppression_view *withheld,
                     const struct dx_domain_pairs *pairs, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < pairs->count; i++)
        rc = add_pair(task, part, rows, withheld, pairs->ids[i], &pairs->counts[i], err);
    return rc;
}

static uint64_t page_rows(const struct cdx_task *task)
{
    return (uint64_t)task->ask.page_size * DX_CDX_BLOCK_ROWS;
}

/* Where a page of suffix begins, by the rows of the domains before the first one that is read. */
static void base_page(struct cdx_task *task, uint64_t before)
{
    if (task->based)
        return;
    task->based = true;
    task->sequence.rank = before;
    task->select.keep = (task->ask.page + 1) * page_rows(task) - before;
}

/* Whether the rows of a domain are more than may be put in order: its pages are stretches of its rows as listings have them then, each
 * in order of keys. */
static bool is_large(const struct cdx_task *task, uint64_t rows)
{
    return task->by_domains && rows > task->look_max;
}

/* A domain all of whose rows are of the scope is counted, and read only where the page has some of them. Whether it is not. */
static bool is_counted(struct cdx_task *task, uint64_t rows)
{
    uint64_t first = task->ask.page * page_rows(task);
    uint64_t before = task->counted;

    task->counted += rows;
    if (task->ask.count_pages || (task->by_domains && task->counted <= first)) {
        task->in_scope += task->again ? 0 : rows;
        return true;
    }
    if (!task->by_domains)
        return false;
    base_page(task, is_large(task, rows) && before < first ? first : before);
    task->ends = before >= first + page_rows(task);
    return task->ends;
}

/* Of a large domain that was counted: only what the page has of it is read. */
static void cut_to_page(struct cdx_task *task, struct dx_ahead_domain *s)
{
    uint64_t rows = dx_domain_rows_total(&s->rows);
    uint64_t before = task->counted - rows;
    uint64_t first = task->ask.page * page_rows(task);

    if (!is_large(task, rows))
        return;
    s->number = before < first ? first - before : 0;
    s->end = first + page_rows(task) - before;
    if (s->end > rows)
        s->end = rows;
    task->in_scope += task->again ? 0
                                  : s->end; /* there is this page, whatever of it is of the scope */
}

/* Rows of the group that are still to be read. */
static uint64_t pending(const struct cdx_task *task)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < task->ahead.count; i++)
        rows += dx_domain_rows_total(&task->ahead.domains[i]->rows);
    return rows;
}

/* Whether the answer may have fewer rows than its limit: its client goes on behind them, and rows need not know those before them. */
static bool may_end_early(const struct dx_cdx_ask *ask)
{
    bool collapses = ask->collapse_time > 0 || ask->collapse_count > 1 ||
                     (ask->collapse_count == 1 && (ask->collapses[0].column != DX_CDX_URLKEY ||
                                                   ask->collapses[0].characters > 0));

    return ask->show_resume_key && ask->offset == 0 && in_order(ask) && !ask->paged &&
           !ask->count_pages && !collapses && !ask->resolve_revisits;
}

/* Whether it does before the domain that was added last, since there was enough to look at. Something must be before it: else this
 * would be the next answer, too. `frontier` is "com,example)", of which the domain has "com,example)/", and no domain before it less. */
static bool is_enough(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_buf *from = &task->select.from_key;
    uint64_t rows = pending(task);
    struct dx_span key;

    if (!may_end_early(&task->ask) || (task->looked == 0 && task->ahead.count == 1) ||
        (task->looked + rows <= task->look_max &&
         (task->soft_ms == 0 || dx_clock_ms() < task->soft_ms) &&
         task->sequence.filters.work.steps < DX_CDX_REGEX_STEPS / 2))
        return false;
    key = dx_cdx_domains_key(&task->domains);
    key.size--;
    if (dx_span_compare(key, dx_span_of(from->data, from->size)) <= 0)
        return false;
    dx_buf_clear(&task->frontier);
    dx_buf_append(&task->frontier, key.data, key.size);
    task->ends = task->short_of = true;
    if (task->frontier.failed)
        (void)dx_no_memory(err, "the key of a domain");
    return true;
}

/* A domain, into the group if it has rows of use, with *added. withheld: of it. */
static int enter_domain(struct cdx_task *task, const struct dx_found *found,
                        const struct dx_suppression_view *withheld,
                        const struct dx_domain_pairs *pairs, struct dx_ahead_domain **added,
                        struct dx_error *err)
{
    struct dx_ahead_domain *s = dx_domains_ahead_add(&task->ahead, found, DX_CAPTURE_ROW_FIELDS,
                                                     err);
    int rc = s == NULL ? (int)err->code : DX_OK;

    *added = s;
    if (rc == DX_OK)
        rc = add_pairs(task, found->part, &s->rows, withheld, pairs, err);
    if (rc == DX_OK && found == &task->found && task->search.found)
        rc = dx_domain_rows_narrow(&s->rows, task->search.ranges, task->search.count, err);
    if (rc < 0)
        return rc;
    s->end = dx_domain_rows_total(&s->rows);
    s->group = task->by_domains ? task->passed : 0;
    return DX_OK;
}

static int begin_rows(struct cdx_task *task, struct dx_ahead_domain *s, bool is_of_use,
                      struct dx_error *err)
{
    if (is_of_use) {
        if (task->by_domains)
            cut_to_page(task, s);
        return open_window(task, s, err);
    }
    dx_domains_ahead_drop(&task->ahead);
    return (int)err->code;
}

/* Whether all rows of the registered domain are of the scope. */
static bool is_whole(const struct cdx_task *task)
{
    if (!task->scope.below)
        return task->search.found && task->ask.match == DX_CDX_HOST &&
               (task->search.host.exact || task->search.host.total > task->look_max);
    return dx_span_equal(dx_span_of(task->scope.host.data, task->scope.host.size),
                         dx_span_of(task->scope.domain.data, task->scope.domain.size));
}

static int enter_first(struct cdx_task *task, struct dx_error *err)
{
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    struct dx_ahead_domain *s;
    uint64_t rows;
    int rc = dx_view_pairs(&pairs, &task->view, task->found.part, task->found.ordinal, err);

    if (rc >= 0)
        rc = enter_domain(task, &task->found, &task->withheld, &pairs, &s, err);
    task->datasets = pairs.count;
    dx_domain_pairs_release(&pairs);
    if (rc < 0)
        return rc;
    rows = dx_domain_rows_total(&s->rows);
    return begin_rows(task, s, rows > 0 && !(is_whole(task) && is_counted(task, rows)), err);
}

static int pass_domain(struct cdx_task *task, struct dx_error *err)
{
    if (task->passed++ % CLOCK_DOMAINS != 0 || task->half_ms == 0 || dx_clock_ms() < task->half_ms)
        return DX_OK;
    return dx_fail(err, DX_E_LIMIT, "this takes longer than a request may: %llu domains in",
                   (unsigned long long)task->passed);
}

/* All keys of the domain that comes lie in ["com,example)/", "com,example;"): whether no row of it would be kept. */
static bool is_of_no_use(struct cdx_task *task)
{
    struct dx_span key = dx_cdx_domains_key(&task->domains);
    uint8_t behind[DX_SURT_MAX + 2];

    if (task->ask.paged)
        return false;
    if (dx_cdx_select_is_behind(&task->select, key)) {
        task->ends = task->ends || task->domains.at == &task->domains.all;
        return true;
    }
    memcpy(behind, key.data, key.size - 1);
    behind[key.size - 2] = ';';
    return dx_cdx_select_is_before(&task->select, dx_span_of(behind, key.size - 1));
}

static int begin_domains(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_buf *host = &task->scope.host;
    const struct dx_buf *from = &task->select.from_key;

    if (task->begun)
        dx_cdx_domains_release(&task->domains);
    task->begun = true;
    return dx_cdx_domains_init(
        &task->domains, &task->view, dx_span_of(host->data, host->size),
        task->ask.paged ? dx_span_of(NULL, 0) : dx_span_of(from->data, from->size), err);
}

/* Visible rows of a domain, in the datasets of the question. */
static uint64_t count_rows(const struct cdx_task *task, const struct dx_domain_walk *w)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < w->pairs.count; i++) {
        uint32_t id = w->pairs.ids[i];
        const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&w->withheld, id);

        if (task->only.count == 0 || dx_dataset_list_has(&task->only, id))
            rows += hidden != NULL ? hidden->visible.row_count : w->pairs.counts[i].row_count;
    }
    return rows;
}

/* The domain that `domains` came to. */
static int enter_next(struct cdx_task *task, struct dx_error *err)
{
    struct dx_domain_walk *w = task->domains.at;
    struct dx_ahead_domain *s;
    uint64_t rows;
    int rc = pass_domain(task, err);

    if (rc < 0 || w->pairs.count == 0 ||
        (task->found.part == w->found.part && task->found.ordinal == w->found.ordinal) ||
        is_of_no_use(task))
        return rc;
    rows = count_rows(task, w);
    if (rows == 0 || ((task->by_domains || task->ask.count_pages) && is_counted(task, rows)))
        return DX_OK;
    rc = enter_domain(task, &w->found, &w->withheld, &w->pairs, &s, err);
    if (rc < 0)
        return rc;
    dx_domain_walk_keep(w, &s->withheld);
    rows = dx_domain_rows_total(&s->rows);
    return begin_rows(task, s, rows > 0 && !is_enough(task, err), err);
}

/* One domain more, if there is one: first the registered one, then those below the host. DX_OK, <0. */
static int next_domain(struct cdx_task *task, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    if (!task->first_done) {
        task->first_done = true;
        if (task->found.part != NULL)
            rc = enter_first(task, &err);
        return rc < 0 ? dx_problem_advised(problem, &err, ADVICE) : DX_OK;
    }
    if (!task->scope.below) {
        task->ends = true;
        return DX_OK;
    }
    if (!task->begun)
        rc = begin_domains(task, &err);
    if (rc == DX_OK) {
        rc = dx_cdx_domains_next(&task->domains, problem);
        if (rc < 0)
            return rc;
        task->ends = task->ends || rc == 0;
        rc = rc == 1 ? enter_next(task, &err) : DX_OK;
    }
    return rc < 0 ? dx_problem_advised(problem, &err, ADVICE) : DX_OK;
}

/* ---- a pass ---- */

static bool has_group(const struct cdx_task *task)
{
    return task->ahead.count > 0 &&
           (task->ends || task->ahead.count >= task->most || !task->scope.below ||
            !dx_domains_ahead_has_room(&task->ahead));
}

/* DX_LISTING_DONE: task->ahead has domains, unless none is left; DX_LISTING_WAITS: for nothing, others have their turn; <0. */
static int find_group(struct cdx_task *task, struct dx_problem *problem)
{
    int64_t until_us = dx_clock_us() + STEP_US;
    int rc = DX_OK;

    while (rc == DX_OK && !has_group(task) && !task->ends) {
        if (dx_clock_us() >= until_us) {
            dx_domains_ahead_wait_for_nothing(&task->ahead);
            return DX_LISTING_WAITS;
        }
        rc = next_domain(task, problem);
    }
    task->grouped = rc == DX_OK && task->ahead.count > 0;
    if (task->grouped && task->most < DX_AHEAD_DOMAINS)
        task->most *= 2;
    return rc < 0 ? rc : DX_LISTING_DONE;
}

/* Of a whole group: DX_LISTING_WAITS, or DX_LISTING_DONE: all its rows were looked at. */
static int read_rows(struct cdx_task *task, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && task->ahead.count > 0) {
        rc = dx_domains_ahead_step(&task->ahead, err);
        if (rc == DX_LISTING_DONE)
            rc = take_window(task, err);
    }
    task->grouped = rc != DX_OK;
    return rc == DX_OK ? dx_cdx_select_trim(&task->select, err) : rc;
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

static int emit_row(struct cdx_task *task, const struct dx_span *columns, struct dx_error *err)
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
    if (task->ask.show_resume_key && task->out.out->size > BODY_ENOUGH)
        task->ask.limit = task->emitted;
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
    task->first_done = task->ends = false;
    task->counted = task->passed = task->number = 0;
    task->most = FIRST_GROUP;
    return task->begun ? begin_domains(task, err) : DX_OK;
}

/* ---- pieces ---- */

static bool is_late(const struct cdx_task *task)
{
    return (task->soft_ms != 0 && dx_clock_ms() >= task->soft_ms) ||
           task->sequence.filters.work.steps >= DX_CDX_REGEX_STEPS / 2;
}

/* The answer ends before the piece at hand, which is too much for it. */
static int end_before_piece(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_span low = task->search.piece.low;

    dx_buf_clear(&task->frontier);
    dx_buf_append(&task->frontier, low.data, low.size);
    task->first_done = task->ends = task->short_of = true;
    return task->frontier.failed ? dx_no_memory(err, "the key of a piece") : DX_OK;
}

/* The piece that comes: of keys that were not looked at yet. */
static int begin_piece(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_buf *from = &task->select.from_key;
    uint64_t room = task->look_max > task->looked ? task->look_max - task->looked : 0;

    task->again = false;
    task->in_piece = true;
    return dx_cdx_search_piece(&task->search, dx_span_of(from->data, from->size), room, err);
}

/* It was found. */
static int enter_piece(struct cdx_task *task, struct dx_error *err)
{
    bool fits = task->looked + task->search.rows <= task->look_max && !is_late(task);

    return !fits && task->looked > 0 && may_end_early(&task->ask) ? end_before_piece(task, err)
                                                                  : DX_OK;
}

/* Whether rows are left behind those that were selected. */
static bool has_more_pieces(const struct cdx_task *task)
{
    return task->search.in_pieces && !task->search.last;
}

/* A pass over what is left: 1, <0. */
static int go_on(struct cdx_task *task, struct dx_error *err)
{
    int rc;

    if (task->select.cut) {
        rc = dx_cdx_select_again(&task->select, err);
        task->again = true;
    } else {
        rc = dx_cdx_select_behind(&task->select, task->search.piece.high, err);
        if (rc == DX_OK)
            rc = begin_piece(task, err);
    }
    if (rc >= 0)
        rc = begin_pass(task, err);
    return rc < 0 ? rc : 1;
}

/* Ends the answer behind the row that came last, or before the domain that was too much. */
static int end_short(struct cdx_task *task, struct dx_error *err)
{
    struct dx_cdx_key key = { .count = 1,
                              .urlkey = dx_span_of(task->frontier.data, task->frontier.size) };

    task->more = true;
    if (task->select.cut)
        return keep_place(task, err);
    dx_buf_clear(&task->place);
    return dx_cdx_key_write(&key, &task->place) && !task->place.failed
               ? DX_OK
               : dx_no_memory(err, "a resume key");
}

static bool is_behind_frontier(const struct cdx_task *task, struct dx_span urlkey)
{
    return task->short_of &&
           dx_span_compare(urlkey, dx_span_of(task->frontier.data, task->frontier.size)) > 0;
}

/* Whether a row has a place in the pages, by the counts of its domain, and is not of the scope: a port of the name. */
static bool is_counted_only(const struct cdx_task *task, struct dx_span urlkey)
{
    struct dx_cdx_keys keys = dx_cdx_scope_keys(&task->scope);

    return task->by_domains && !dx_cdx_keys_has(&keys, urlkey);
}

/* 1: more rows are needed; 0: the answer is complete. */
static int use_selection(struct cdx_task *task, struct dx_error *err)
{
    struct dx_span columns[DX_CDX_COLUMNS];
    int rc = dx_cdx_select_end(&task->select, err);

    for (size_t i = 0; rc >= 0 && i < task->select.count && !task->more; i++) {
        uint64_t timestamp = dx_cdx_select_row(&task->select, i, columns);

        if (is_behind_frontier(task, columns[DX_CDX_URLKEY])) {
            task->select.cut = false;
            break;
        }
        if (is_counted_only(task, columns[DX_CDX_URLKEY])) {
            task->sequence.rank++;
            continue;
        }
        for (unsigned c = DX_CDX_STORED; c < DX_CDX_COLUMNS; c++)
            columns[c] = dx_span_of(NULL, 0);
        rc = dx_cdx_sequence_row(&task->sequence, columns, timestamp, err);
        if (rc == 1)
            rc = in_order(&task->ask) ? emit_row(task, columns, err)
                                      : keep_piece(task, columns, timestamp, err);
    }
    if (rc >= 0 && !task->more &&
        (task->short_of || (task->select.cut && may_end_early(&task->ask))))
        rc = end_short(task, err);
    if (rc < 0 || task->more || page_is_over(task) || (!task->select.cut && !has_more_pieces(task)))
        return rc < 0 ? rc : 0;
    return go_on(task, err);
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
                                    .datasets = task->datasets,
                                    .rows = task->emitted,
                                    .untimed_rows = task->ask.show_untimed ? 0 : task->untimed,
                                    .more_rows = task->more,
                                    .by_paths = task->search.by_paths });
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
    if (task->emitted == 0 && !key && task->ask.dialect == DX_CDX_PYWB)
        return no_captures(task, problem);
    summarize(task);
    dx_cdx_text_end(&task->out,
                    key ? dx_span_of(task->place.data, task->place.size) : dx_span_of(NULL, 0));
    dx_buf_append(body, task->answer.data, task->answer.size);
    if (task->answer.failed)
        return no_room(&task->answer, err);
    return body->failed ? dx_buf_fail(body, err, "answer") : 1;
}

/* For rows of the host. DX_LISTING_DONE, DX_LISTING_WAITS, <0. */
static int search_rows(struct cdx_task *task, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && task->search.searching) {
        rc = dx_cdx_search_step(&task->search, err);
        if (rc != DX_LISTING_DONE)
            break;
        task->by_domains = task->ask.paged && is_whole(task);
        if (task->in_piece)
            rc = enter_piece(task, err);
        else if (task->search.in_pieces)
            rc = begin_piece(task, err);
    }
    return rc;
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct cdx_task *task = (struct cdx_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    do {
        rc = search_rows(task, &err);
        if (rc == DX_LISTING_WAITS)
            return DX_TASK_WAITS;
        if (rc < 0)
            break;
        rc = task->grouped ? DX_LISTING_DONE : find_group(task, problem);
        if (rc == DX_LISTING_WAITS)
            return DX_TASK_WAITS;
        if (rc < 0)
            break;
        if (task->ahead.count == 0)
            rc = use_selection(task, &err);
        else {
            rc = read_rows(task, &err);
            if (rc == DX_LISTING_WAITS)
                return DX_TASK_WAITS;
            rc = rc < 0 ? rc : 1;
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
    struct cdx_task *task = (struct cdx_task *)of;

    return task->search.searching ? dx_cdx_host_fetched(&task->search.host, rc, err)
                                  : dx_domains_ahead_fetched(&task->ahead, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    struct cdx_task *task = (struct cdx_task *)of;

    return task->search.searching ? dx_cdx_host_reading(&task->search.host)
                                  : dx_domains_ahead_reading(&task->ahead);
}

static void release_task(struct dx_task *of)
{
    struct cdx_task *task = (struct cdx_task *)of;

    dx_domains_ahead_release(&task->ahead);
    dx_cdx_search_release(&task->search);
    if (task->begun)
        dx_cdx_domains_release(&task->domains);
    dx_suppression_view_release(&task->withheld);
    dx_cdx_scope_release(&task->scope);
    dx_urlkey_release(&task->key);
    dx_capture_row_release(&task->row);
    dx_cdx_select_release(&task->select);
    dx_cdx_sequence_release(&task->sequence);
    dx_buf_release(&task->place);
    dx_buf_release(&task->frontier);
    dx_buf_release(&task->pieces);
    dx_buf_release(&task->answer);
    dx_buf_release(&task->text);
    free(task->order);
    free(task);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* ---- before it ---- */

/* That of the path alone, whatever the parameter names beside it. */
static int take_path_dataset(struct cdx_task *task, struct dx_span dataset,
                             struct dx_problem *problem)
{
    const struct dx_dataset *d = dx_registry_by_name(&task->view.version->registry, dataset);
    bool left_out;

    if (d == NULL || !dx_scope_has(task->view.scope, d->dataset_id))
        return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "dataset-not-found", "No such dataset",
                              "No dataset of version %s is called '%.*s'; /collinfo.json lists "
                              "those that are there",
                              task->view.version->entry.version,
                              dataset.size > 60 ? 60 : (int)dataset.size,
                              (const char *)dataset.data);
    left_out = task->only.count > 0 && !dx_dataset_list_has(&task->only, d->dataset_id);
    task->only.ids[0] = d->dataset_id;
    task->only.count = 1;
    if (left_out)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "this path is of one dataset, which 'dataset' does not name; "
                              "/index?dataset= takes others");
    return dx_lookup_dataset(&task->view, d->dataset_id, &d, problem);
}

static int take_datasets(struct cdx_task *task, struct dx_span dataset, struct dx_problem *problem)
{
    int rc = 1;

    if (task->ask.datasets.data != NULL)
        rc = dx_dataset_list_parse(&task->only, &task->view, task->ask.datasets, problem);
    return rc == 1 && dataset.data != NULL ? take_path_dataset(task, dataset, problem) : rc;
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

/* Of a question about one host of a domain with many rows. */
static int begin_host(struct cdx_task *task, struct dx_error *err)
{
    const struct dx_found *found = &task->found;
    const struct dx_span host = { task->scope.host.data, task->scope.host.size };
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    int rc;

    if (found->part == NULL || task->scope.below || !dx_cdx_host_can(host))
        return DX_OK;
    dx_cdx_search_init(&task->search, task->view.version, found->part, found->ordinal, host,
                       task->ask.match == DX_CDX_HOST, task->ask.deadline_ms);
    rc = dx_view_pairs(&pairs, &task->view, found->part, found->ordinal, err);
    if (rc >= 0)
        rc = add_pairs(task, found->part, &task->search.host.rows, &task->withheld, &pairs, err);
    dx_domain_pairs_release(&pairs);
    if (rc < 0 || dx_domain_rows_total(&task->search.host.rows) <= task->host_rows) {
        dx_cdx_search_release(&task->search);
        return rc;
    }
    task->search.keys = dx_cdx_scope_keys(&task->scope);
    task->search.look_max = task->look_max;
    task->search.by_keys = task->ask.match != DX_CDX_HOST ||
                           !(task->ask.paged || task->ask.count_pages);
    task->search.whole = task->ask.count_pages;
    rc = dx_cdx_search_begin(&task->search, err);
    return rc == DX_E_LIMIT ? DX_OK : rc;
}

/* How many rows are of use at most. */
static uint64_t rows_to_keep(const struct cdx_task *task)
{
    const struct dx_cdx_ask *ask = &task->ask;

    if (ask->paged)
        return (ask->page + 1) * page_rows(task);
    if (!in_order(ask) || ask->collapse_count > 0 || ask->collapse_time > 0 ||
        !dx_cdx_sequence_takes_early(&task->sequence))
        return UINT64_MAX;
    if (ask->limit > UINT32_MAX || ask->offset > UINT32_MAX)
        return UINT64_MAX;
    return ask->limit + ask->offset + task->sequence.resume.count + 1;
}

static void begin_selection(struct cdx_task *task, const struct dx_cdx_request *request)
{
    uint64_t now_ms = dx_clock_ms();
    const struct dx_cdx_key *resume = &task->sequence.resume;

    task->look_max = request->look_max > 0 ? request->look_max : DX_CDX_LOOK_MAX;
    task->host_rows = task->look_max < HOST_ROWS ? task->look_max : HOST_ROWS;
    dx_cdx_select_init(&task->select, rows_to_keep(task),
                       request->select_bytes > 0 ? request->select_bytes : DX_CDX_SELECT_BYTES);
    if (resume->count > 0 && !task->ask.resolve_revisits)
        dx_cdx_select_from(&task->select, resume);
    if (request->deadline_ms > now_ms) {
        task->half_ms = now_ms + (request->deadline_ms - now_ms) / 2;
        task->soft_ms = now_ms + (request->deadline_ms - now_ms) / 4;
    }
}

static int begin_task(struct cdx_task *task, struct dx_canon *canon,
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
    task->by_domains = task->ask.paged && task->scope.below &&
                       (task->found.part == NULL || is_whole(task));
    begin_selection(task, request);
    if (begin_host(task, &err) < 0 || begin_pass(task, &err) < 0)
        return dx_problem_of_error(problem, &err);
    dx_cdx_text_begin(&task->out, &task->ask, &task->answer);
    return step_task(&task->task, body, problem);
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
    dx_buf_init(&task->frontier, DX_SURT_MAX + 8);
    dx_buf_init(&task->pieces, DX_CDX_BODY_MAX);
    dx_buf_init(&task->answer, DX_CDX_BODY_MAX + DX_CDX_KEY_MAX);
    dx_urlkey_init(&task->key);
    dx_capture_row_init(&task->row, view->version);
    dx_domains_ahead_init(&task->ahead, view->version, request->deadline_ms);
    rc = begin_task(task, canon, request, body, problem);
    if (rc != 1 && rc != DX_TASK_WAITS)
        problem->says_message = true;
    return dx_task_begun(&task->task, rc, out);
}
