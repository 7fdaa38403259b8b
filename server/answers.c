/* SPDX-License-Identifier: Apache-2.0 */
#include "server/answers.h"

#include "query/view.h"

#include <assert.h>
#include <stdio.h>

/* More datasets than this in one page take a while to write out. */
#define DATASETS_INLINE_MAX 1000

/* Members of rows with a tag, unless others are asked for. */
#define TAG_FIELDS (DX_FIELDS_DEFAULT | DX_FIELD_TITLE | DX_FIELD_TAGS)

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
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *current;

    if (slot->canon != NULL && slot->version == v) {
        *canon = slot->canon;
        return DX_OK;
    }
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

void dx_ask_content(const struct dx_ask *ask, struct dx_ask_content *content)
{
    content->type = "application/json";
    content->disposition = NULL;
    if (!ask->csv)
        return;
    content->type = "text/csv; charset=utf-8; header=present";
    (void)snprintf(content->room, sizeof content->room,
                   "attachment; filename=\"dataset-%u-top-domains.csv\"",
                   (unsigned)ask->dataset_id);
    content->disposition = content->room;
}

/* Where not all may be seen, sketches may have to be read. */
static bool is_scoped_domain(const struct dx_ask *ask)
{
    return ask->route == DX_ROUTE_DOMAIN && ask->scope != NULL;
}

bool dx_ask_may_block(const struct dx_ask *ask)
{
    /* A ranking is a copy, but for it each suppression is looked up: 2 us for each of any number. */
    return ask->route == DX_ROUTE_TOP_DOMAINS || ask->route == DX_ROUTE_URLS ||
           ask->route == DX_ROUTE_URL || ask->route == DX_ROUTE_URLID ||
           ask->route == DX_ROUTE_DIFF || ask->route == DX_ROUTE_HOSTS ||
           ask->route == DX_ROUTE_PATHS || ask->route == DX_ROUTE_CHANGES ||
           ask->route == DX_ROUTE_OVERLAP || ask->route == DX_ROUTE_TAGS ||
           ask->route == DX_ROUTE_TAG || ask->route == DX_ROUTE_RANGE ||
           ask->route ==
               DX_ROUTE_KEYS || /* a registry is mapped, and not in memory as an index is */
           is_scoped_domain(ask) ||
           (ask->route == DX_ROUTE_DATASETS && ask->page.limit > DATASETS_INLINE_MAX);
}

bool dx_ask_may_be_brief(const struct dx_answers *answers, const struct dx_ask *ask)
{
    return is_scoped_domain(ask) ||
           (answers->urls_brief && ask->route == DX_ROUTE_URLS &&
            ask->page.limit <= DX_LIMIT_DEFAULT && !dx_row_filter_any(&ask->filter));
}

/* ---- what an ask says of versions and cursors ---- */

static int bad_parameter(struct dx_problem *problem, const char *name, struct dx_span value,
                         const char *what)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "%s: '%.*s' %s", name, value.size > 60 ? 60 : (int)value.size,
                          (const char *)value.data, what);
}

static int mismatch(struct dx_problem *problem, const char *what)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "cursor-mismatch",
                          "The cursor is of another question",
                          "%s; a cursor goes with the path that it came from, and needs no "
                          "parameter but limit",
                          what);
}

static void offer_text(const char *name, struct dx_span value, struct dx_buf *b)
{
    if (value.data == NULL)
        return;
    dx_buf_fmt(b, "&%s=", name);
    for (size_t i = 0; i < value.size; i++) {
        uint8_t c = value.data[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     c == '-' || c == '.' || c == '_' || c == '~' || c == '/';

        dx_buf_fmt(b, plain ? "%c" : "%%%02X", c);
    }
}

static void offer_top(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_fmt(b, "/top-domains?limit=%llu&format=%s", (unsigned long long)ask->page.limit,
               ask->csv ? "csv" : "json");
    if (ask->share.size == 0)
        return;
    dx_buf_str(b, "&share=");
    for (size_t i = 0; i < ask->share.size; i++)
        dx_buf_fmt(b,
                   ask->share.data[i] == '.' ||
                           (ask->share.data[i] >= '0' && ask->share.data[i] <= '9')
                       ? "%c"
                       : "%%%02X",
                   ask->share.data[i]);
}

static void put_escaped(struct dx_span text, struct dx_buf *b)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     c == '-' || c == '.' || c == '_' || c == '~';

        dx_buf_fmt(b, plain ? "%c" : "%%%02X", c);
    }
}

static void put_fields(unsigned bits, unsigned usual, struct dx_buf *b)
{
    for (unsigned f = 0, n = 0; bits != usual && f < DX_FIELD_COUNT; f++)
        if ((bits >> f & 1) != 0)
            dx_buf_fmt(b, "%s%s", n++ == 0 ? "&fields=" : ",", dx_field_names[f]);
}

static void offer_tags(const struct dx_ask *ask, uint64_t limit, struct dx_buf *b)
{
    dx_buf_str(b, "/v1/tags");
    if (ask->route == DX_ROUTE_TAG) {
        dx_buf_u8(b, '/');
        put_escaped(ask->asked, b);
    }
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)limit);
    if (ask->of_urls) {
        dx_buf_str(b, "&of=urls");
        put_fields(ask->field_bits, TAG_FIELDS, b);
    }
    if (ask->one_dataset)
        dx_buf_fmt(b, "&dataset=%u", (unsigned)ask->dataset_id);
    if (ask->prefix.size > 0) {
        dx_buf_str(b, "&prefix=");
        put_escaped(ask->prefix, b);
    }
}

static void offer_range(const struct dx_ask *ask, uint64_t limit, struct dx_buf *b)
{
    dx_buf_fmt(b, "/v1/range?from=0x%016llx", (unsigned long long)ask->range_first);
    if (ask->range_end != 0)
        dx_buf_fmt(b, "&to=0x%016llx", (unsigned long long)ask->range_end);
    if (ask->one_dataset)
        dx_buf_fmt(b, "&dataset=%u", (unsigned)ask->dataset_id);
    dx_buf_fmt(b, "&limit=%llu", (unsigned long long)limit);
    put_fields(ask->field_bits, DX_FIELDS_DEFAULT, b);
}

/* The question again, from its beginning and of the version that is current then. Written as text
 * for a client to follow: what is no plain character of a path segment is escaped. */
static void offer_restart(const struct dx_ask *ask, struct dx_problem *problem)
{
    struct dx_buf b = DX_BUF_INIT(sizeof problem->restart - 1);
    uint64_t limit = ask->limit_given || ask->from.limit == 0 ? ask->page.limit : ask->from.limit;
    bool of_url = ask->route == DX_ROUTE_URL;

    if (ask->route == DX_ROUTE_URLS || ask->route == DX_ROUTE_DOMAIN ||
        ask->route == DX_ROUTE_DIFF || ask->route == DX_ROUTE_HOSTS ||
        ask->route == DX_ROUTE_PATHS || of_url) {
        dx_buf_str(&b, of_url ? "/v1/url?u=" : "/v1/domain/");
        put_escaped(ask->asked, &b);
    }
    if (ask->route == DX_ROUTE_URLS) {
        dx_buf_fmt(&b, "/datasets/%u/urls?limit=%llu", (unsigned)ask->dataset_id,
                   (unsigned long long)limit);
        if (ask->plan > 0)
            dx_buf_fmt(&b, "&plan=%u", ask->plan);
        put_fields(ask->field_bits, DX_FIELDS_DEFAULT, &b);
        offer_text("tag", ask->filter.tag, &b);
        offer_text("mime", ask->filter.mime, &b);
        offer_text("prefix", ask->filter.prefix, &b);
    } else if (ask->route == DX_ROUTE_DOMAIN) {
        for (unsigned f = 0, n = 0;
             ask->field_bits != DX_DOMAIN_FIELDS_ALL && f < DX_DOMAIN_FIELD_COUNT; f++)
            if ((ask->field_bits >> f & 1) != 0)
                dx_buf_fmt(&b, "%s%s", n++ == 0 ? "?fields=" : ",", dx_domain_field_names[f]);
    } else if (ask->route == DX_ROUTE_HOSTS) {
        dx_buf_fmt(&b, "/hosts?limit=%llu%s", (unsigned long long)limit,
                   ask->by_name ? "&order=name" : "");
        if (ask->one_dataset)
            dx_buf_fmt(&b, "&dataset=%u", (unsigned)ask->dataset_id);
    } else if (ask->route == DX_ROUTE_PATHS) {
        dx_buf_fmt(&b, "/datasets/%u/paths?limit=%llu%s", (unsigned)ask->dataset_id,
                   (unsigned long long)limit, ask->sections ? "&by=section" : "");
    } else if (ask->route == DX_ROUTE_DIFF) {
        dx_buf_str(&b, "/diff");
    } else if (ask->route == DX_ROUTE_OVERLAP) {
        dx_buf_fmt(&b, "/v1/datasets/%u/overlap/%u", (unsigned)ask->dataset_id,
                   (unsigned)ask->other_id);
    } else if (ask->route == DX_ROUTE_DATASETS || ask->route == DX_ROUTE_DATASET ||
               ask->route == DX_ROUTE_TOP_DOMAINS) {
        dx_buf_str(&b, "/v1/datasets");
        if (ask->route != DX_ROUTE_DATASETS)
            dx_buf_fmt(&b, "/%u", (unsigned)ask->dataset_id);
        if (ask->route == DX_ROUTE_TOP_DOMAINS)
            offer_top(ask, &b);
    } else if (of_url && ask->limit_given) {
        dx_buf_fmt(&b, "&limit=%llu", (unsigned long long)limit);
    } else if (ask->route == DX_ROUTE_URLID) {
        dx_buf_fmt(&b, "/v1/urlid/0x%016llx", (unsigned long long)ask->url_id);
    } else if (ask->route == DX_ROUTE_KEYS) {
        dx_buf_str(&b, "/v1/keys?url=");
        put_escaped(ask->asked, &b);
    } else if (ask->route == DX_ROUTE_RANGE) {
        offer_range(ask, limit, &b);
    } else if (ask->route == DX_ROUTE_CHANGES) {
        dx_buf_str(&b, "/v1/changes");
    } else if (ask->route == DX_ROUTE_TAG ||
               /* a cursor does not say of which prefix it is */
               (ask->route == DX_ROUTE_TAGS &&
                (ask->cursor.data == NULL || ask->prefix.data != NULL))) {
        offer_tags(ask, limit, &b);
    } else if (ask->route == DX_ROUTE_NAMES) {
        dx_buf_str(&b, DX_HEAD_POST_PATH);
    }
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
                             "is no name of a version; /v1/versions lists them");
    memcpy(out, value.data, value.size);
    out[value.size] = '\0';
    return 1;
}

/* A version may be given by its number too, with leading zeros or without. */
static bool is_since(struct dx_span said, const char *since)
{
    uint32_t sequence = 0;
    uint32_t number = 0;
    size_t i = 0;

    (void)dx_version_name_ok(dx_span_str(since), &sequence);
    for (; i < said.size && i < 6 && said.data[i] >= '0' && said.data[i] <= '9'; i++)
        number = number * 10 + (uint32_t)(said.data[i] - '0');
    return dx_span_equal(said, dx_span_str(since)) || (i == said.size && number == sequence);
}

static enum dx_cursor_kind cursor_kind(enum dx_route route)
{
    return route == DX_ROUTE_CHANGES ? DX_CURSOR_CHANGES
           : route == DX_ROUTE_TAGS  ? DX_CURSOR_TAGS
           : route == DX_ROUTE_TAG   ? DX_CURSOR_TAG
           : route == DX_ROUTE_RANGE ? DX_CURSOR_RANGE
                                     : DX_CURSOR_LISTING;
}

/* Of tags: what is not said is what the cursor says. */
static int agrees_on_tags(struct dx_ask *ask, const struct dx_cursor *c, struct dx_problem *problem)
{
    if (ask->one_dataset && (!c->one_dataset || c->dataset_id != ask->dataset_id))
        return mismatch(problem, "this cursor is of another dataset, or of all of them");
    if (ask->of_given && c->rows != ask->of_urls)
        return mismatch(problem, c->rows ? "this cursor is of urls" : "this cursor is of domains");
    ask->one_dataset = c->one_dataset;
    ask->dataset_id = c->dataset_id;
    ask->of_urls = c->rows;
    return 1;
}

static bool is_range_of(const struct dx_ask *ask, const struct dx_cursor *c)
{
    return (ask->range_from.data == NULL || ask->range_first == c->first) &&
           (ask->range_to.data == NULL || ask->range_end == c->end) &&
           (!ask->one_dataset || (c->one_dataset && ask->dataset_id == c->dataset_id));
}

/* None is said, or the cursor's own. */
static bool agrees_filter(const struct dx_row_filter *said, const struct dx_cursor *c)
{
    uint8_t packed[DX_ROW_FILTER_MAX];
    size_t size = dx_row_filter_pack(said, packed);

    return size == 0 || (size == c->filter_size && memcmp(packed, c->filter, size) == 0);
}

/* Everything that is said beside a cursor must be what it says itself. */
static int agrees(const struct dx_ask *ask, unsigned field_bits, struct dx_problem *problem)
{
    const struct dx_cursor *c = &ask->from;
    enum dx_cursor_kind kind = cursor_kind(ask->route);

    if (c->kind != kind)
        return mismatch(problem, "this cursor is of another resource");
    if (ask->offset_given)
        return mismatch(problem, "offset and cursor both say where to begin");
    if (ask->plan > 0)
        return mismatch(problem, "a plan is made of a whole listing, not of what a cursor leaves");
    if (ask->version.data != NULL && strcmp(ask->wanted, c->version) != 0)
        return mismatch(problem, "this cursor is of another version");
    if (ask->before.data != NULL && !is_since(ask->before, c->since))
        return mismatch(problem, "this cursor is of changes since another version");
    if (kind == DX_CURSOR_LISTING && ask->dataset_id != c->dataset_id)
        return mismatch(problem, "this cursor goes on with a listing of another dataset");
    if (kind == DX_CURSOR_RANGE && !is_range_of(ask, c))
        return mismatch(problem, "this cursor goes on with another range");
    if (ask->fields.data != NULL && field_bits != c->fields)
        return mismatch(problem, "this cursor is of a listing with other fields");
    if (!agrees_filter(&ask->filter, c))
        return mismatch(problem, "this cursor is of a listing with another filter");
    return 1;
}

static int take_cursor(const struct dx_answers *answers, struct dx_ask *ask,
                       struct dx_problem *problem)
{
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
    rc = agrees(ask, ask->field_bits, problem);
    if (rc != 1)
        return rc;
    if (c->kind == DX_CURSOR_TAGS || c->kind == DX_CURSOR_TAG)
        rc = agrees_on_tags(ask, c, problem);
    if (rc != 1)
        return rc;
    if (c->kind == DX_CURSOR_LISTING || c->kind == DX_CURSOR_RANGE || c->kind == DX_CURSOR_TAG)
        ask->field_bits = c->fields;
    if (c->kind == DX_CURSOR_LISTING)
        (void)dx_row_filter_unpack(dx_span_of(c->filter, c->filter_size), &ask->filter);
    if (c->kind == DX_CURSOR_RANGE) {
        ask->range_first = c->first;
        ask->range_end = c->end;
        ask->one_dataset = c->one_dataset;
        ask->dataset_id = c->dataset_id;
    }
    if (!ask->limit_given)
        ask->page.limit = c->limit;
    memcpy(ask->wanted, c->version, sizeof ask->wanted);
    memcpy(ask->compared, c->since, sizeof ask->compared);
    if (dx_cursor_expired(c, ask->now_s, answers->cursor_life_s))
        return dx_problem_set(problem, DX_PROBLEM_GONE, "cursor-expired", "The cursor is too old",
                              "a listing by cursors must end within %u seconds of its first page; "
                              "begin again without the cursor, perhaps with plan=N to fetch parts "
                              "of it at once",
                              answers->cursor_life_s);
    return 1;
}

static bool gives_rows(const struct dx_ask *ask)
{
    return ask->route == DX_ROUTE_URLS || ask->route == DX_ROUTE_RANGE ||
           ask->route == DX_ROUTE_TAG;
}

/* How many rows come before a place of a filtered listing is not known, so pages go by cursors alone. */
static int check_filter(const struct dx_answers *answers, const struct dx_ask *ask,
                        struct dx_problem *problem)
{
    if (!dx_row_filter_any(&ask->filter))
        return 1;
    if (ask->offset_given && ask->cursor.data == NULL)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "a filtered listing takes no offset: go on with next_cursor");
    if (answers->cursor_life_s == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "this server gives no cursors, so it filters no listings");
    return dx_row_filter_check(&ask->filter, problem);
}

int dx_ask_resolve(const struct dx_answers *answers, struct dx_ask *ask, int64_t now_s,
                   struct dx_problem *problem)
{
    struct dx_span bad = { NULL, 0 };
    int rc;

    ask->now_s = now_s;
    if (ask->route == DX_ROUTE_DOMAIN)
        ask->field_bits = DX_DOMAIN_FIELDS_ALL;
    if (ask->route == DX_ROUTE_DOMAIN && ask->fields.data != NULL &&
        !answers->domain_fields_parse(ask->fields, &ask->field_bits, &bad))
        return bad_parameter(problem, "fields", bad,
                             "is no field; there are dataset_id, name, url_count, url_count_est, "
                             "row_count, first_ts, last_ts, share and rank, separated by commas");
    if (ask->route == DX_ROUTE_TAG)
        ask->field_bits = TAG_FIELDS;
    if (gives_rows(ask) && ask->fields.data != NULL &&
        !answers->fields_parse(ask->fields, &ask->field_bits, &bad))
        return bad_parameter(problem, "fields", bad,
                             "is no field; there are url_id, url, ts, raw_url, extras, title, "
                             "content_type and tags, separated by commas");
    rc = check_filter(answers, ask, problem);
    if (rc != 1)
        return rc;
    if (ask->plan > 0 && ask->offset_given)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "a plan is made of a whole listing: it takes no offset");
    if (ask->plan > 0 && answers->cursor_life_s == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "this server gives no cursors, so it makes no plans");
    if (ask->route == DX_ROUTE_CHANGES && answers->cursor_life_s == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "this server gives no cursors, so it lists no changes");
    if ((ask->route == DX_ROUTE_TAGS || ask->route == DX_ROUTE_TAG) && answers->cursor_life_s == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "this server gives no cursors, so it lists no tags");
    if (ask->route == DX_ROUTE_TAG && ask->fields.data != NULL && !ask->of_urls &&
        ask->cursor.data == NULL)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "fields are of rows: they go with of=urls");
    if (ask->route == DX_ROUTE_RANGE && answers->cursor_life_s == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "this server gives no cursors, so it lists no ranges");
    if (ask->version.data != NULL && take_name(ask->route == DX_ROUTE_DIFF ? "to" : "version",
                                               ask->version, ask->wanted, problem) == 0)
        return 0;
    if (ask->cursor.data == NULL)
        return 1;
    return with_restart(ask, take_cursor(answers, ask, problem), problem);
}

int dx_ask_pin(const struct dx_answers *answers, const struct dx_ask *ask, struct dx_version **v,
               struct dx_problem *problem)
{
    struct dx_version *wanted = NULL;
    int rc;

    if (ask->wanted[0] == '\0' ||
        (*v != NULL && strcmp(answers->version_name(*v), ask->wanted) == 0))
        return 1;
    rc = answers->pin_named(answers->from, ask->wanted, &wanted, problem);
    if (rc == 1) {
        if (*v != NULL)
            answers->unpin(*v);
        *v = wanted;
    }
    return with_restart(ask, rc, problem);
}

int dx_ask_bring(const struct dx_answers *answers, const struct dx_ask *ask, struct dx_version **v,
                 struct dx_problem *problem)
{
    struct dx_version *wanted = NULL;
    int rc = answers->bring(answers->from, ask->wanted, &wanted, problem);

    if (rc == 1) {
        if (*v != NULL)
            answers->unpin(*v);
        *v = wanted;
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

static int answer_urls(const struct dx_answers *answers, struct dx_canon *canon,
                       const struct dx_view *view, const struct dx_ask *ask, uint64_t deadline_ms,
                       struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_urls_ask urls = {
        .asked = ask->asked,
        .dataset_id = ask->dataset_id,
        .page = ask->page,
        .fields = ask->field_bits,
        .filter = ask->filter,
        .plan = ask->plan,
        .from = ask->cursor.data != NULL ? &ask->from : NULL,
        .cursors = answers->cursor_life_s > 0 ? &answers->cursor_key : NULL,
        .principal = ask->principal,
        .began_s = dx_ask_began_s(answers, ask),
        .brief = ask->brief,
        .deadline_ms = deadline_ms,
    };

    return with_restart(ask, answers->urls(view, canon, &urls, task, body, problem), problem);
}

static int answer_domain(const struct dx_answers *answers, struct dx_canon *canon,
                         const struct dx_view *view, const struct dx_ask *ask, uint64_t deadline_ms,
                         struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_domain_ask domain = { .asked = ask->asked,
                                          .fields = ask->field_bits,
                                          .brief = ask->brief,
                                          .deadline_ms = deadline_ms };

    return answers->domain(view, canon, &domain, task, body, problem);
}

static int answer_url(const struct dx_answers *answers, struct dx_canon *canon,
                      const struct dx_view *view, const struct dx_ask *ask, uint64_t deadline_ms,
                      struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_url_ask url = { .asked = ask->asked,
                                    .limit = ask->page.limit,
                                    .deadline_ms = deadline_ms };

    return answers->url(view, canon, &url, task, body, problem);
}

static int answer_hosts(const struct dx_answers *answers, struct dx_canon *canon,
                        const struct dx_view *view, const struct dx_ask *ask, uint64_t deadline_ms,
                        struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_hosts_ask hosts = { .asked = ask->asked,
                                        .by_name = ask->by_name,
                                        .one_dataset = ask->one_dataset,
                                        .dataset_id = ask->dataset_id,
                                        .page = ask->page,
                                        .deadline_ms = deadline_ms };

    return answers->hosts(view, canon, &hosts, task, body, problem);
}

static int answer_paths(const struct dx_answers *answers, struct dx_canon *canon,
                        const struct dx_view *view, const struct dx_ask *ask, uint64_t deadline_ms,
                        struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_paths_ask paths = { .asked = ask->asked,
                                        .dataset_id = ask->dataset_id,
                                        .sections = ask->sections,
                                        .limit = ask->page.limit,
                                        .deadline_ms = deadline_ms };

    return answers->paths(view, canon, &paths, task, body, problem);
}

static int answer_tags(const struct dx_answers *answers, struct dx_canon *canon,
                       const struct dx_view *view, const struct dx_ask *ask, uint64_t deadline_ms,
                       struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_tags_ask tags = { .one_dataset = ask->one_dataset,
                                      .dataset_id = ask->dataset_id,
                                      .prefix = ask->prefix,
                                      .limit = ask->page.limit,
                                      .from = ask->cursor.data != NULL ? &ask->from : NULL,
                                      .cursors = &answers->cursor_key,
                                      .principal = ask->principal,
                                      .began_s = dx_ask_began_s(answers, ask),
                                      .deadline_ms = deadline_ms };

    return with_restart(ask, answers->tags(view, canon, &tags, task, body, problem), problem);
}

static int answer_tag(const struct dx_answers *answers, struct dx_canon *canon,
                      const struct dx_view *view, const struct dx_ask *ask, uint64_t deadline_ms,
                      struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_tag_ask tag = { .tag = ask->asked,
                                    .urls = ask->of_urls,
                                    .one_dataset = ask->one_dataset,
                                    .dataset_id = ask->dataset_id,
                                    .limit = ask->page.limit,
                                    .fields = ask->field_bits,
                                    .from = ask->cursor.data != NULL ? &ask->from : NULL,
                                    .cursors = &answers->cursor_key,
                                    .principal = ask->principal,
                                    .began_s = dx_ask_began_s(answers, ask),
                                    .deadline_ms = deadline_ms };

    return with_restart(ask, answers->tag(view, canon, &tag, task, body, problem), problem);
}

static int answer_range(const struct dx_answers *answers, const struct dx_view *view,
                        const struct dx_ask *ask, uint64_t deadline_ms, struct dx_task **task,
                        struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_range_ask range = {
        .first = ask->range_first,
        .end = ask->range_end,
        .one_dataset = ask->one_dataset,
        .dataset_id = ask->dataset_id,
        .limit = ask->page.limit,
        .fields = ask->field_bits,
        .from = ask->cursor.data != NULL ? &ask->from : NULL,
        .numbers = answers->numbers,
        .cursors = &answers->cursor_key,
        .principal = ask->principal,
        .began_s = dx_ask_began_s(answers, ask),
        .deadline_ms = deadline_ms,
    };

    return with_restart(ask, answers->range(view, &range, task, body, problem), problem);
}

/* The version that v is compared with, pinned; brought if need be. */
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
    if (rc == DX_ASK_COLD)
        rc = answers->bring(answers->from, name, before, problem);
    return rc;
}

static int answer_compared(const struct dx_answers *answers, struct dx_canon *canon,
                           const struct dx_view *view, const struct dx_ask *ask,
                           struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_changes_ask changes = {
        .limit = ask->page.limit,
        .from = ask->cursor.data != NULL ? &ask->from : NULL,
        .cursors = &answers->cursor_key,
        .principal = ask->principal,
        .began_s = dx_ask_began_s(answers, ask),
    };
    struct dx_view before = { NULL, view->scope };
    int rc = pin_compared(answers, view->version, ask, &before.version, problem);

    if (rc != 1)
        return with_restart(ask, rc, problem);
    if (ask->route == DX_ROUTE_DIFF)
        rc = answers->diff(&before, view, canon, ask->asked, body, problem);
    else
        rc = answers->changes(&before, view, &changes, body, problem);
    if (answers->intact != NULL && !answers->intact(before.version, problem)) {
        dx_buf_clear(body); /* who sends it looks at v only */
        rc = DX_E_CORRUPT;
    }
    answers->unpin(before.version);
    return with_restart(ask, rc, problem);
}

static int answer_top(const struct dx_answers *answers, struct dx_canon *canon,
                      const struct dx_view *view, const struct dx_ask *ask, struct dx_buf *body,
                      struct dx_problem *problem)
{
    const struct dx_top_ask top = {
        .dataset_id = ask->dataset_id, .share = ask->share, .page = ask->page, .csv = ask->csv
    };

    return answers->top_domains(view, canon, &top, body, problem);
}

int dx_ask_answer(const struct dx_answers *answers, struct dx_canon_slot *slot,
                  struct dx_version *v, const struct dx_ask *ask, uint64_t deadline_ms,
                  struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_view view = { v, ask->scope };
    struct dx_canon *canon = NULL;
    struct dx_canon *once = NULL;
    int rc;

    *task = NULL;
    if (ask->route == DX_ROUTE_NAMES)
        return 1;
    if (ask->route == DX_ROUTE_DATASETS)
        return answers->datasets(&view, ask->page, body, problem);
    if (ask->route == DX_ROUTE_DATASET)
        return answers->dataset(&view, ask->dataset_id, body, problem);
    if (ask->route == DX_ROUTE_OVERLAP)
        return answers->overlap(&view, ask->dataset_id, ask->other_id, task, body, problem);
    if (ask->route == DX_ROUTE_VERSIONS)
        return answers->versions(answers->from, &view, body, problem);
    if (ask->route == DX_ROUTE_CHANGES)
        return answer_compared(answers, NULL, &view, ask, body, problem);
    if (ask->route == DX_ROUTE_URLID)
        return answers->urlid(&view, ask->url_id, deadline_ms, task, body, problem);
    if (ask->route == DX_ROUTE_RANGE)
        return answer_range(answers, &view, ask, deadline_ms, task, body, problem);
    rc = canon_for(slot, answers, v, &canon, &once, problem);
    if (rc < 0)
        return rc;
    if (ask->route == DX_ROUTE_TOP_DOMAINS) {
        rc = answer_top(answers, canon, &view, ask, body, problem);
    } else if (ask->route == DX_ROUTE_DOMAIN) {
        rc = answer_domain(answers, canon, &view, ask, deadline_ms, task, body, problem);
    } else if (ask->route == DX_ROUTE_KEYS) {
        rc = answers->keys(&view, canon, ask->asked, answers->numbers, body, problem);
    } else if (ask->route == DX_ROUTE_NORMALIZE) {
        rc = answers->normalize(&view, canon, ask->asked, body, problem);
    } else if (ask->route == DX_ROUTE_URL) {
        rc = answer_url(answers, canon, &view, ask, deadline_ms, task, body, problem);
    } else if (ask->route == DX_ROUTE_HOSTS) {
        rc = answer_hosts(answers, canon, &view, ask, deadline_ms, task, body, problem);
    } else if (ask->route == DX_ROUTE_PATHS) {
        rc = answer_paths(answers, canon, &view, ask, deadline_ms, task, body, problem);
    } else if (ask->route == DX_ROUTE_DIFF) {
        rc = answer_compared(answers, canon, &view, ask, body, problem);
    } else if (ask->route == DX_ROUTE_TAGS) {
        rc = answer_tags(answers, canon, &view, ask, deadline_ms, task, body, problem);
    } else if (ask->route == DX_ROUTE_TAG) {
        rc = answer_tag(answers, canon, &view, ask, deadline_ms, task, body, problem);
    } else {
        assert(ask->route == DX_ROUTE_URLS);
        rc = answer_urls(answers, canon, &view, ask, deadline_ms, task, body, problem);
    }
    if (once != NULL)
        answers->canon_free(&once);
    return rc;
}
