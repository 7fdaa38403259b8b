/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/answers.h"

#include "format/version/manifest.h"
#include "query/view/view.h"
#include "server/routes/route.h"

#include <string.h>

void dx_canon_slot_release(struct dx_canon_slot *slot, const struct dx_answers *answers)
{
    if (slot->canon == NULL)
        return;
    answers->canon_free(&slot->canon);
    answers->unpin(slot->version);
    *slot = (struct dx_canon_slot){ NULL, NULL };
}

void dx_canon_slot_refresh(struct dx_canon_slot *slot, const struct dx_answers *answers)
{
    struct dx_version *current;

    if (slot->canon == NULL)
        return;
    current = answers->pin(answers->from, slot->version);
    if (current != slot->version)
        dx_canon_slot_release(slot, answers);
    answers->unpin(current);
}

/* The slot's canonicaliser when it is of v, else a new one. Of the current version it stays in
 * the slot; of an older one (the version flipped under this request) the caller frees *once.
 * The slot's pin makes pointers comparable: no new version can have its address. */
static int canon_for(struct dx_canon_slot *slot, const struct dx_answers *answers,
                     struct dx_version *v, struct dx_canon **canon, struct dx_canon **once,
                     struct dx_problem *problem)
{
    DX_UNINITIALIZED struct dx_error err;
    struct dx_version *current;

    if (slot->canon != NULL && slot->version == v) {
        *canon = slot->canon;
        return DX_OK;
    }
    dx_error_begin(&err);
    if (answers->canon_new(v, canon, &err) < 0)
        return dx_problem_of_error(problem, &err);
    current = answers->pin(answers->from, v);
    if (current == v) {
        dx_canon_slot_release(slot, answers);
        *slot = (struct dx_canon_slot){ *canon, current };
    } else {
        answers->unpin(current);
        *once = *canon;
    }
    return DX_OK;
}

bool dx_ask_may_block(const struct dx_ask *ask)
{
    const struct dx_route *route = dx_routes[ask->route];

    return route->on_loop == NULL || !route->on_loop(ask);
}

bool dx_ask_may_be_brief(const struct dx_answers *answers, const struct dx_ask *ask)
{
    const struct dx_route *route = dx_routes[ask->route];

    return route->may_be_brief != NULL && (answers->urls_brief || !route->listing) &&
           route->may_be_brief(ask);
}

/* ---- what an ask says of versions and cursors ---- */

static int bad_parameter(struct dx_problem *problem, const char *name, struct dx_span value,
                         const char *what)
{
    return dx_route_refuse(problem, "%s: '%.*s' %s", name, dx_shown(value),
                           (const char *)value.data, what);
}

/* The question again, from its beginning and of the version that is current then. Written as text
 * for a client to follow: other than plain characters of a path segment are escaped. */
static void offer_restart(const struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_route *route = dx_routes[ask->route];
    struct dx_buf b = DX_BUF_INIT(sizeof problem->restart - 1);

    if (route->restart != NULL)
        route->restart(ask, &b);
    if (ask->row_format_given && b.size > 0)
        dx_buf_fmt(&b, "%sformat=%s", memchr(b.data, '?', b.size) == NULL ? "?" : "&",
                   dx_row_formats[ask->row_format].word);
    if (!b.failed && b.size > 0)
        memcpy(problem->restart, b.data, b.size);
    problem->restart[b.failed ? 0 : b.size] = '\0';
    dx_buf_release(&b);
}

static int with_restart(const struct dx_ask *ask, int rc, struct dx_problem *problem)
{
    if (rc == 0 && problem->kind == DX_PROBLEM_GONE)
        offer_restart(ask, problem);
    return rc;
}

static int take_name(const char *parameter, struct dx_span value, char out[DX_VERSION_NAME],
                     struct dx_problem *problem)
{
    if (value.size == 0 || value.size >= DX_VERSION_NAME ||
        memchr(value.data, '\0', value.size) != NULL)
        return bad_parameter(problem, parameter, value,
                             "is neither name nor number of a version; /v1/versions lists them");
    memcpy(out, value.data, value.size);
    out[value.size] = '\0';
    return 1;
}

static bool is_of_version(const char *said, const char *name)
{
    uint32_t number = dx_version_number_said(said);
    uint32_t own = 0;

    return number == 0 ? strcmp(said, name) == 0
                       : dx_version_name_ok(dx_span_str(name), &own) && own == number;
}

/* None is said, or the cursor's own. */
static bool agrees_filter(const struct dx_row_filter *said, const struct dx_cursor *c)
{
    uint8_t packed[DX_ROW_FILTER_MAX];
    size_t size = dx_row_filter_pack(said, packed);

    return size == 0 || (size == c->filter_size && memcmp(packed, c->filter, size) == 0);
}

/* Everything that is said beside a cursor must be what it says itself. */
static int check_cursor(const struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_cursor *c = &ask->from;

    if (c->kind != dx_routes[ask->route]->cursor)
        return dx_route_mismatch(problem, "this cursor is of another resource");
    if (ask->offset_given)
        return dx_route_mismatch(problem, "offset and cursor both say where to begin");
    if (ask->plan > 0)
        return dx_route_mismatch(problem,
                                 "a plan is made of a whole listing, not of what a cursor leaves");
    if (ask->version.data != NULL && !is_of_version(ask->wanted, c->version))
        return dx_route_mismatch(problem, "this cursor is of another version");
    if (ask->fields.data != NULL && ask->field_bits != c->fields)
        return dx_route_mismatch(problem, "this cursor is of a listing with other fields");
    if (!agrees_filter(&ask->filter, c))
        return dx_route_mismatch(problem, "this cursor is of a listing with another filter");
    return 1;
}

static int take_cursor(const struct dx_answers *answers, struct dx_ask *ask,
                       struct dx_problem *problem)
{
    const struct dx_route *route = dx_routes[ask->route];
    struct dx_cursor *c = &ask->from;
    int rc;

    if (answers->cursor_life_s == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-cursor", "Bad cursor",
                              "this server gives no cursors");
    rc = dx_cursor_read(ask->cursor, &answers->cursor_key, ask->principal, c, problem);
    if (rc != 1) {
        c->kind = (enum dx_cursor_kind)0;
        return rc;
    }
    rc = check_cursor(ask, problem);
    if (rc == 1 && route->take_cursor != NULL)
        rc = route->take_cursor(ask, problem);
    if (rc != 1)
        return rc;
    if (route->fields != NULL)
        ask->field_bits = c->fields;
    if (c->filter_size > 0 && route->cursor != DX_CURSOR_DOMAINS) /* else it is not of rows */
        (void)dx_row_filter_unpack(dx_span_of(c->filter, c->filter_size), &ask->filter);
    if (!ask->limit_given)
        ask->page.limit = c->limit;
    memcpy(ask->wanted, c->version, sizeof ask->wanted);
    if (dx_cursor_expired(c, ask->now_s, answers->cursor_life_s))
        return dx_problem_set(problem, DX_PROBLEM_GONE, "cursor-expired", "The cursor is too old",
                              "a listing by cursors must end within %u seconds of its first page; "
                              "begin again without the cursor, perhaps with plan=N to fetch parts "
                              "of it at once",
                              answers->cursor_life_s);
    return 1;
}

/* How many rows come before a place of a filtered listing is not known, so pages go by cursors
 * alone. */
static int check_filter(const struct dx_answers *answers, struct dx_ask *ask,
                        struct dx_problem *problem)
{
    struct dx_row_filter rest = ask->filter;

    if (!dx_row_filter_any(&ask->filter))
        return 1;
    if (ask->of_host && !ask->subdomains) /* then it says where the rows are */
        rest.prefix = dx_span_of(NULL, 0);
    if (ask->offset_given && ask->cursor.data == NULL && dx_row_filter_any(&rest))
        return dx_route_refuse(problem,
                               "a filtered listing takes no offset: go on with next_cursor");
    if (answers->cursor_life_s == 0)
        return dx_route_refuse(problem, "this server gives no cursors, so it filters no listings");
    return dx_row_filter_check(&ask->filter, problem);
}

static int check_fields(struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_route_fields *fields = dx_routes[ask->route]->fields;
    struct dx_span bad = { NULL, 0 };

    if (fields == NULL)
        return 1;
    ask->field_bits = fields->usual;
    if (ask->fields.data == NULL || fields->parse(ask->fields, &ask->field_bits, &bad))
        return 1;
    return bad_parameter(problem, "fields", bad, fields->words);
}

static int check_plan(const struct dx_answers *answers, const struct dx_ask *ask,
                      struct dx_problem *problem)
{
    if (ask->plan > 0 && ask->offset_given)
        return dx_route_refuse(problem, "a plan is made of a whole listing: it takes no offset");
    if (ask->plan > 0 && answers->cursor_life_s == 0)
        return dx_route_refuse(problem, "this server gives no cursors, so it makes no plans");
    return 1;
}

int dx_ask_resolve(const struct dx_answers *answers, struct dx_ask *ask, int64_t now_s,
                   struct dx_problem *problem)
{
    const struct dx_route *route = dx_routes[ask->route];
    int rc;

    ask->now_s = now_s;
    rc = ask->row_format == DX_ROWS_JSON ? dx_route_check_limit(ask, problem) : 1;
    if (rc == 1)
        rc = check_fields(ask, problem);
    if (rc == 1)
        rc = check_filter(answers, ask, problem);
    if (rc == 1)
        rc = check_plan(answers, ask, problem);
    if (rc == 1 && ask->order.sort != DX_CURSOR_SORT_NONE && answers->cursor_life_s == 0)
        rc = dx_route_refuse(problem,
                             "this server gives no cursors, so it lists in no other order");
    if (rc == 1 && ask->subdomains && answers->cursor_life_s == 0)
        rc = dx_route_refuse(problem, "this server gives no cursors, so it lists no subdomains");
    if (rc == 1 && route->pages != NULL && answers->cursor_life_s == 0)
        rc = dx_route_refuse(problem, "this server gives no cursors, so it lists no %s",
                             route->pages);
    if (rc == 1 && route->resolve != NULL)
        rc = route->resolve(ask, problem);
    if (rc == 1 && ask->version.data != NULL)
        rc = take_name(route->version_param == NULL ? "version" : route->version_param,
                       ask->version, ask->wanted, problem);
    if (rc != 1 || ask->cursor.data == NULL)
        return rc;
    return with_restart(ask, take_cursor(answers, ask, problem), problem);
}

/* The id of a name, which next to a cursor must be the cursor's. */
static int find_dataset(const struct dx_answers *answers, const struct dx_ask *ask,
                        struct dx_version *v, struct dx_span *name, uint32_t *id,
                        struct dx_problem *problem)
{
    const struct dx_view view = { v, ask->scope, false };
    uint32_t found = 0;
    int rc;

    if (name->data == NULL)
        return 1;
    rc = answers->dataset_named == NULL
             ? dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "dataset-not-found", "No such dataset",
                              "datasets have no names here")
             : answers->dataset_named(&view, *name, &found, problem);
    if (rc == 1 && ask->cursor.data != NULL && found != *id)
        return dx_route_mismatch(problem, "this cursor is of another dataset");
    if (rc == 1) {
        *id = found;
        *name = dx_span_of(NULL, 0);
    }
    return rc;
}

/* From here on the question has ids alone. */
static int find_datasets(const struct dx_answers *answers, struct dx_ask *ask, struct dx_version *v,
                         struct dx_problem *problem)
{
    int rc;

    if (v == NULL) /* then no question is answered */
        return 1;
    rc = find_dataset(answers, ask, v, &ask->dataset_name, &ask->dataset_id, problem);
    return rc == 1 ? find_dataset(answers, ask, v, &ask->other_name, &ask->other_id, problem) : rc;
}

/* From here on the question has the name of its version, where a number was given. v: any version, pinned. */
static int name_wanted(const struct dx_answers *answers, struct dx_ask *ask, struct dx_version *v,
                       struct dx_problem *problem)
{
    char name[DX_VERSION_NAME];
    int rc;

    if (v == NULL || answers->version_meant == NULL || dx_version_number_said(ask->wanted) == 0)
        return 1;
    rc = answers->version_meant(v, dx_span_str(ask->wanted), name, problem);
    if (rc == 1)
        memcpy(ask->wanted, name, sizeof ask->wanted);
    return rc;
}

int dx_ask_pin(const struct dx_answers *answers, struct dx_ask *ask, struct dx_version **v,
               struct dx_problem *problem)
{
    struct dx_version *wanted = NULL;
    int rc = name_wanted(answers, ask, *v, problem);

    if (rc != 1)
        return with_restart(ask, rc, problem);
    if (ask->wanted[0] == '\0' ||
        (*v != NULL && strcmp(answers->version_name(*v), ask->wanted) == 0))
        return find_datasets(answers, ask, *v, problem);
    rc = answers->pin_named(answers->from, ask->wanted, &wanted, problem);
    if (rc == 1) {
        if (*v != NULL)
            answers->unpin(*v);
        *v = wanted;
        rc = find_datasets(answers, ask, *v, problem);
    }
    return with_restart(ask, rc, problem);
}

int dx_ask_fetch(const struct dx_answers *answers, struct dx_ask *ask, struct dx_version **v,
                 struct dx_problem *problem)
{
    struct dx_version *wanted = NULL;
    int rc = answers->fetch(answers->from, ask->wanted, &wanted, problem);

    if (rc == 1) {
        if (*v != NULL)
            answers->unpin(*v);
        *v = wanted;
        rc = find_datasets(answers, ask, *v, problem);
    }
    return with_restart(ask, rc, problem);
}

/* ---- answers ---- */

/* A cursor lives a fifteenth shorter by the rounding, and never longer. */
int64_t dx_ask_began_s(const struct dx_answers *answers, const struct dx_ask *ask)
{
    int64_t step = answers->cursor_life_s / 15 > 0 ? answers->cursor_life_s / 15 : 1;

    return ask->now_s - ask->now_s % step;
}

struct dx_paging dx_answering_paging(const struct dx_answering *a)
{
    return (struct dx_paging){
        .from = a->ask->cursor.data != NULL ? &a->ask->from : NULL,
        .cursors = a->answers->cursor_life_s > 0 ? &a->answers->cursor_key : NULL,
        .principal = a->ask->principal,
        .began_s = dx_ask_began_s(a->answers, a->ask),
    };
}

struct dx_range_ask dx_answering_range(const struct dx_answering *a)
{
    return (struct dx_range_ask){
        .one_dataset = a->ask->one_dataset,
        .dataset_id = a->ask->dataset_id,
        .limit = a->ask->page.limit,
        .offset = a->ask->page.offset,
        .order = a->ask->order,
        .fields = a->ask->field_bits,
        .plan = a->ask->plan,
        .filter = a->ask->filter,
        .paging = dx_answering_paging(a),
        .deadline_ms = a->deadline_ms,
    };
}

static int answer_of(const struct dx_answering *a)
{
    return a->answers->answer != NULL ? a->answers->answer(a) : dx_routes[a->ask->route]->answer(a);
}

/* The version that v is compared with, pinned; fetched if need be. */
static int pin_compared(const struct dx_answers *answers, struct dx_version *v,
                        const struct dx_ask *ask, struct dx_version **before,
                        struct dx_problem *problem)
{
    char name[DX_VERSION_NAME];
    int rc = 1;

    *before = NULL;
    memcpy(name, ask->compared, sizeof name);
    if (name[0] == '\0')
        rc = answers->version_meant(v, ask->before, name, problem);
    if (rc == 1)
        rc = answers->pin_named(answers->from, name, before, problem);
    if (rc == DX_ASK_NOT_OPEN)
        rc = answers->fetch(answers->from, name, before, problem);
    return rc;
}

/* Of a route that compares: also its other version is pinned, for as long. */
static int answer_compared(struct dx_answering *a)
{
    const struct dx_answers *answers = a->answers;
    struct dx_view before = { NULL, a->view->scope, false };
    int rc = pin_compared(answers, a->view->version, a->ask, &before.version, a->problem);

    if (rc != 1)
        return rc;
    a->before = &before;
    rc = answer_of(a);
    if (answers->intact != NULL && !answers->intact(before.version, a->problem)) {
        dx_buf_clear(a->body); /* the sender looks at v only */
        rc = DX_E_CORRUPT;
    }
    answers->unpin(before.version);
    return rc;
}

int dx_ask_answer(const struct dx_answers *answers, struct dx_canon_slot *slot,
                  struct dx_version *v, struct dx_answering *a)
{
    const struct dx_route *route = dx_routes[a->ask->route];
    const struct dx_view view = { v, a->ask->scope, false };
    struct dx_canon *once = NULL;
    int rc;

    *a->task = NULL;
    a->answers = answers;
    a->view = &view;
    a->before = NULL;
    a->canon = NULL;
    if (route->post)
        return 1;
    rc = route->canon ? canon_for(slot, answers, v, &a->canon, &once, a->problem) : DX_OK;
    if (rc < 0)
        return rc;
    rc = route->compares ? answer_compared(a) : answer_of(a);
    if (once != NULL)
        answers->canon_free(&once);
    return with_restart(a->ask, rc, a->problem);
}
