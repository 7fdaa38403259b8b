/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/overlap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version_parts.h"
#include "query/suppression/suppression_view.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

/* What a step does: some 50 us of each. */
#define STEP_DOMAINS 4096
#define STEP_RULES 32
#define STEP_HIDDEN 32

enum phase { FIND_HIDDEN, MERGE, EXCHANGE_WHOLE, EXCHANGE_PARTS, DONE };

/* Numbers [first, end), of domains that are hidden as a whole, or that may be hidden in part. */
struct range {
    uint64_t first, end;
};

struct dx_overlap {
    struct dx_view view;
    const struct dx_dataset *dataset[2];
    uint32_t dataset_id[2];
    size_t part; /* of the version: the cursors are in its lists */
    struct dx_domain_cursor cursor[2];
    struct dx_overlap_sums sums;
    enum phase phase;
    bool begun; /* both cursors are at a domain */

    const struct dx_rules *rules; /* pinned; NULL: none */
    uint64_t turn;                /* of the suppressions when it began */
    size_t next_rule;
    struct dx_buf whole; /* struct range: of what lies below a rule's domain */
    struct dx_buf parts; /* struct range: of single domains */
    size_t next_range;
    uint64_t next_number;
};

static int failed(struct dx_problem *problem, const struct dx_error *err)
{
    return dx_problem_of_error(problem, err);
}

static int open_dataset(struct dx_overlap *o, int i, uint32_t dataset_id,
                        struct dx_problem *problem)
{
    int rc = dx_lookup_dataset(&o->view, dataset_id, &o->dataset[i], problem);

    assert(i == 0 || i == 1);
    if (rc != 1)
        return rc;
    o->dataset_id[i] = dataset_id;
    o->sums.domains[i] = o->dataset[i]->domains;
    o->sums.urls[i] = o->dataset[i]->urls;
    return 1;
}

/* To the front of both lists of a part. */
static int enter_part(struct dx_overlap *o, size_t part, struct dx_error *err)
{
    const struct dx_dataset_domains *d = &o->view.version->parts[part].part->dataset_domains;
    int rc = DX_OK;

    o->part = part;
    o->begun = false;
    for (int i = 0; rc >= 0 && i < 2; i++) {
        struct dx_domain_list list;

        rc = dx_dataset_domains_of(d, o->dataset_id[i], &list, err);
        if (rc == 0)
            list = (struct dx_domain_list){ .domains = 0 };
        if (rc >= 0)
            dx_domain_cursor_begin(&o->cursor[i], d, &list);
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_overlap_new(struct dx_overlap **out, const struct dx_view *view, uint32_t a, uint32_t b,
                   struct dx_problem *problem)
{
    struct dx_overlap *o = calloc(1, sizeof *o);
    struct dx_version *v = view->version;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    *out = NULL;
    if (o == NULL) {
        (void)dx_no_memory(&err, "overlap");
        return failed(problem, &err);
    }
    o->view = *view;
    dx_buf_init(&o->whole, SIZE_MAX / 2);
    dx_buf_init(&o->parts, SIZE_MAX / 2);
    o->turn = dx_suppressed_turn(v);
    o->rules = dx_suppressions_live_pin(v->caches == NULL ? NULL : v->caches->suppressions);
    rc = open_dataset(o, 0, a, problem);
    if (rc == 1)
        rc = open_dataset(o, 1, b, problem);
    if (rc == 1 && enter_part(o, 0, &err) < 0)
        rc = failed(problem, &err);
    if (rc != 1) {
        dx_overlap_free(&o);
        return rc;
    }
    *out = o;
    return 1;
}

void dx_overlap_free(struct dx_overlap **overlap)
{
    struct dx_overlap *o = *overlap;

    if (o == NULL)
        return;
    if (o->rules != NULL)
        dx_suppressions_live_unpin(o->view.version->caches->suppressions, o->rules);
    dx_buf_release(&o->whole);
    dx_buf_release(&o->parts);
    free(o);
    *overlap = NULL;
}

const struct dx_overlap_sums *dx_overlap_sums_of(const struct dx_overlap *o)
{
    return &o->sums;
}

const struct dx_dataset *dx_overlap_dataset(const struct dx_overlap *o, int which)
{
    return o->dataset[which];
}

/* ---- which domains suppressions concern ---- */

static void add_range(struct dx_buf *ranges, uint64_t first, uint64_t end)
{
    const struct range r = { first, end };

    if (first < end)
        dx_buf_append(ranges, &r, sizeof r);
}

/* A rule for a domain hides every domain below it: they follow each other in the order of keys.
 * Another list of suffixes than that of the rule's day may have made domains of them. */
static int add_below(struct dx_overlap *o, struct dx_span name, struct dx_error *err)
{
    const struct dx_version *v = o->view.version;
    uint8_t key[DX_SURT_MAX + 1];
    size_t size = dx_surt_key(name, key);
    int rc = DX_OK;

    for (size_t i = 0; size > 0 && rc >= 0 && i < v->part_count; i++) {
        const struct dx_dictionary *d = &v->parts[i].part->dictionary;
        uint64_t first;
        uint64_t end;

        key[size] = ' '; /* between labels */
        rc = dx_dictionary_lower_bound(d, dx_span_of(key, size + 1), &first, err);
        key[size] = ' ' + 1;
        if (rc >= 0)
            rc = dx_dictionary_lower_bound(d, dx_span_of(key, size + 1), &end, err);
        if (rc >= 0)
            add_range(&o->whole, v->parts[i].first + first, v->parts[i].first + end);
    }
    return rc;
}

static struct dx_span parent_of(struct dx_span name)
{
    const uint8_t *dot = memchr(name.data, '.', name.size);
    size_t n = dot == NULL ? name.size : (size_t)(dot - name.data) + 1;

    return dx_span_of(name.data + n, name.size - n);
}

/* The domain of the rule's name is one of the names above it; which, the version knows. */
static int add_rule(struct dx_overlap *o, const struct dx_rule *rule, struct dx_error *err)
{
    int rc = DX_OK;

    if (rule->kind == DX_SUPPRESS_DOMAIN)
        rc = add_below(o, rule->parts.host, err);
    for (struct dx_span name = dx_rule_name(rule->parts.host); rc >= 0 && name.size > 0;
         name = parent_of(name)) {
        const struct dx_part *part;
        uint64_t ordinal;
        uint64_t id;

        rc = dx_version_find(o->view.version, name, &part, &ordinal, &id, err);
        if (rc == 1) {
            ordinal = dx_version_number(o->view.version, part, ordinal);
            add_range(&o->parts, ordinal, ordinal + 1);
        }
    }
    return rc;
}

static int by_first(const void *a, const void *b)
{
    const struct range *x = a;
    const struct range *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static struct range *ranges_of(const struct dx_buf *buf, size_t *n)
{
    *n = buf->size / sizeof(struct range);
    return (struct range *)(void *)buf->data;
}

static void unite(struct dx_buf *buf)
{
    size_t n;
    struct range *r = ranges_of(buf, &n);
    size_t kept = 0;

    if (n > 0)
        qsort(r, n, sizeof *r, by_first);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && r[i].first <= r[kept - 1].end)
            r[kept - 1].end = r[i].end > r[kept - 1].end ? r[i].end : r[kept - 1].end;
        else
            r[kept++] = r[i];
    }
    buf->size = kept * sizeof *r;
}

static int find_hidden(struct dx_overlap *o, struct dx_error *err)
{
    size_t count = o->rules == NULL ? 0 : o->rules->count;
    size_t end = count - o->next_rule < STEP_RULES ? count : o->next_rule + STEP_RULES;
    int rc = DX_OK;

    for (; rc >= 0 && o->next_rule < end; o->next_rule++)
        rc = add_rule(o, &o->rules->rules[o->next_rule], err);
    if (o->whole.failed || o->parts.failed)
        return dx_buf_fail(o->whole.failed ? &o->whole : &o->parts, err, "overlap");
    if (rc >= 0 && end == count) {
        unite(&o->whole);
        unite(&o->parts);
        o->phase = MERGE;
    }
    return rc < 0 ? rc : DX_OK;
}

/* ---- what both have ---- */

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* 1 both are at a domain, 0 one is at its end. */
static int begin_both(struct dx_overlap *o, struct dx_error *err)
{
    int rc = dx_domain_cursor_next(&o->cursor[0], err);

    if (rc == 1)
        rc = dx_domain_cursor_next(&o->cursor[1], err);
    o->begun = rc == 1;
    return rc;
}

static void add_shared(struct dx_overlap_sums *s, uint64_t a, uint64_t b)
{
    s->shared++;
    s->shared_urls[0] += a;
    s->shared_urls[1] += b;
    s->min += lesser(a, b);
}

/* What both have in the part at hand. */
static int merge(struct dx_overlap *o, struct dx_error *err)
{
    struct dx_domain_cursor *a = &o->cursor[0];
    struct dx_domain_cursor *b = &o->cursor[1];
    int rc = o->begun ? 1 : begin_both(o, err);

    for (size_t i = 0; rc == 1 && i < STEP_DOMAINS; i++) {
        if (a->ordinal < b->ordinal) {
            rc = dx_domain_cursor_seek(a, b->ordinal, err);
        } else if (a->ordinal > b->ordinal) {
            rc = dx_domain_cursor_seek(b, a->ordinal, err);
        } else {
            if (!dx_version_is_dead(o->view.version, o->part, a->ordinal))
                add_shared(&o->sums, a->url_count, b->url_count);
            rc = dx_domain_cursor_next(a, err);
            if (rc == 1)
                rc = dx_domain_cursor_next(b, err);
        }
    }
    if (rc == 0) {
        bool last = o->part + 1 == o->view.version->part_count;

        o->phase = last ? EXCHANGE_WHOLE : MERGE;
        rc = enter_part(o, last ? 0 : o->part + 1, err);
    }
    return rc < 0 ? rc : DX_OK;
}

/* ---- what of it may be shown ---- */

static void take_away(struct dx_overlap_sums *s, const uint64_t urls[2])
{
    for (int i = 0; i < 2; i++) {
        s->domains[i] -= urls[i] > 0;
        s->urls[i] -= urls[i];
    }
    if (urls[0] == 0 || urls[1] == 0)
        return;
    s->shared--;
    for (int i = 0; i < 2; i++)
        s->shared_urls[i] -= urls[i];
    s->min -= lesser(urls[0], urls[1]);
}

static void put_back(struct dx_overlap_sums *s, const uint64_t urls[2])
{
    for (int i = 0; i < 2; i++) {
        s->domains[i] += urls[i] > 0;
        s->urls[i] += urls[i];
    }
    if (urls[0] == 0 || urls[1] == 0)
        return;
    s->shared++;
    for (int i = 0; i < 2; i++)
        s->shared_urls[i] += urls[i];
    s->min += lesser(urls[0], urls[1]);
}

/* The first domain of the part at hand from `ordinal` on that either has: 1, with what each has of
 * it; 0 there is none. */
static int either_here(struct dx_overlap *o, uint64_t ordinal, uint64_t *found, uint64_t urls[2],
                       struct dx_error *err)
{
    int rc[2];

    *found = UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        struct dx_domain_cursor *c = &o->cursor[i];
        bool ended = c->passed == c->list.domains && (c->passed == 0 || c->ordinal < ordinal);

        rc[i] = ended ? 0 : dx_domain_cursor_seek(c, ordinal, err);
        if (rc[i] < 0)
            return rc[i];
        if (rc[i] == 1 && c->ordinal < *found)
            *found = c->ordinal;
    }
    for (int i = 0; i < 2; i++)
        urls[i] = rc[i] == 1 && o->cursor[i].ordinal == *found ? o->cursor[i].url_count : 0;
    return rc[0] == 1 || rc[1] == 1;
}

/* The same by numbers of the version, of live domains. */
static int either(struct dx_overlap *o, uint64_t number, uint64_t *found, uint64_t urls[2],
                  struct dx_error *err)
{
    const struct dx_version *v = o->view.version;
    int rc = 0;

    for (size_t i = o->part; rc == 0 && i < v->part_count; i++) {
        uint64_t first = v->parts[i].first;

        if (i + 1 < v->part_count && number >= v->parts[i + 1].first)
            continue;
        if (i != o->part)
            rc = enter_part(o, i, err);
        if (rc >= 0)
            rc = either_here(o, number > first ? number - first : 0, found, urls, err);
        while (rc == 1 && dx_version_is_dead(v, i, *found))
            rc = either_here(o, *found + 1, found, urls, err);
        *found += first;
    }
    return rc;
}

/* What of a domain may be shown, in place of what the lists have: 1, or <0 with the problem. */
static int visible(struct dx_overlap *o, uint64_t number, uint64_t urls[2],
                   struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_suppression_view w;
    struct dx_found found;
    int rc = dx_version_domain(o->view.version, number, found.domain, &found.domain_size, &err);

    if (rc == 1)
        rc = dx_version_find(o->view.version, dx_span_of(found.domain, found.domain_size),
                             &found.part, &found.ordinal, &found.domain_id, &err);
    if (rc == 0)
        rc = dx_fail(&err, DX_E_CORRUPT, "domain %llu is not to be found by its name",
                     (unsigned long long)number);
    if (rc < 0)
        return failed(problem, &err);
    rc = dx_suppression_view_of(&o->view, &found, &w, problem);
    if (rc < 0)
        return dx_suppression_view_unknown(rc, problem);
    for (int i = 0; i < 2; i++) {
        const struct dx_suppression_pair *pair = NULL;

        if (rc == 1)
            pair = dx_suppression_view_pair(&w, o->dataset_id[i]);
        if (rc == 0)
            urls[i] = 0;
        else if (urls[i] > 0 && pair != NULL)
            urls[i] = pair->visible.url_count;
    }
    if (rc == 1)
        dx_suppression_view_release(&w);
    return 1;
}

static bool lies_in(const struct dx_buf *ranges, uint64_t number)
{
    size_t high;
    const struct range *r = ranges_of(ranges, &high);
    size_t low = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r[middle].end <= number)
            low = middle + 1;
        else if (r[middle].first > number)
            high = middle;
        else
            return true;
    }
    return false;
}

/* The domains of either in the ranges, one a turn: 1 there are more, 0 no, <0. */
static int exchange_next(struct dx_overlap *o, const struct dx_buf *ranges,
                         struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    size_t n;
    const struct range *r = ranges_of(ranges, &n);
    uint64_t urls[2];
    uint64_t found;
    int rc;

    if (o->next_range == n)
        return 0;
    if (o->next_number < r[o->next_range].first)
        o->next_number = r[o->next_range].first;
    rc = either(o, o->next_number, &found, urls, &err);
    if (rc < 0)
        return failed(problem, &err);
    if (rc == 0)
        return 0;
    if (found >= r[o->next_range].end) {
        o->next_range++;
        return 1;
    }
    o->next_number = found + 1;
    if (ranges == &o->whole) {
        take_away(&o->sums, urls);
    } else if (!lies_in(&o->whole, found)) {
        take_away(&o->sums, urls);
        rc = visible(o, found, urls, problem);
        put_back(&o->sums, urls);
    }
    return rc < 0 ? rc : 1;
}

static int exchange(struct dx_overlap *o, const struct dx_buf *ranges, enum phase then,
                    struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    for (size_t i = 0; rc == 1 && i < STEP_HIDDEN; i++)
        rc = exchange_next(o, ranges, problem);
    if (rc == 0) {
        rc = enter_part(o, 0, &err);
        if (rc < 0)
            return failed(problem, &err);
        o->next_range = 0;
        o->next_number = 0;
        o->phase = then;
    }
    return rc < 0 ? rc : DX_OK;
}

/* What was found out belongs together only if no other suppressions came meanwhile. */
static int check_turn(const struct dx_overlap *o, struct dx_problem *problem)
{
    if (o->turn % 2 == 0 && o->turn == dx_suppressed_turn(o->view.version))
        return 1;
    (void)dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
                         "What is suppressed has just changed",
                         "a suppression came while two datasets were compared; try again");
    return DX_E_BUSY;
}

static int turn_of(struct dx_overlap *o, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    switch (o->phase) {
    case FIND_HIDDEN:
        rc = find_hidden(o, &err);
        break;
    case MERGE:
        rc = merge(o, &err);
        break;
    case EXCHANGE_WHOLE:
        return exchange(o, &o->whole, EXCHANGE_PARTS, problem);
    case EXCHANGE_PARTS:
        return exchange(o, &o->parts, DONE, problem);
    case DONE:
        return check_turn(o, problem);
    }
    return rc < 0 ? failed(problem, &err) : 0;
}

int dx_overlap_step(struct dx_overlap *o, struct dx_problem *problem)
{
    enum phase before;
    int rc;

    do {
        before = o->phase;
        rc = turn_of(o, problem);
    } while (rc == 0 && o->phase != before); /* it had some of its time left */
    return rc;
}
