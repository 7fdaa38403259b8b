/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/suppression_view.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "query/suppression/ruled_domains.h"
#include "query/suppression/suppression_cache.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

/* ---- answers ---- */

int dx_suppression_view_unknown(int rc, struct dx_problem *problem)
{
    assert(rc <= 0);
    (void)dx_problem_set(
        problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
        "What is suppressed is not known yet",
        "suppressions concern domains of what was asked for, and what they hide is "
        "being found out, or could not be read; try again soon");
    return rc == DX_OK ? DX_E_BUSY : rc;
}

/* The words go into the log, where no name that was asked for stands. */
static int not_known(int rc, const struct dx_error *err, struct dx_problem *problem)
{
    (void)dx_problem_set(
        problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
        "What is suppressed of this domain is not known yet",
        "A suppression concerns a part of this domain, and its rows %s%s. Try again soon.",
        rc == 0 ? "are being read" : "could not be read: ", rc == 0 ? "" : err->text);
    return rc == 0 ? DX_E_BUSY : rc;
}

/* Up to which rule the version's lake has been cleansed. A log with fewer lines is not the one that
 * it was cleansed by: its numbers say nothing then. */
static uint64_t cleansed_of(const struct dx_version *v, const struct dx_rules *rules)
{
    return v->entry.cleansed > rules->number ? 0 : v->entry.cleansed;
}

int dx_suppression_view_of(const struct dx_view *view, const struct dx_found *found,
                           struct dx_suppression_view *w, struct dx_problem *problem)
{
    struct dx_span domain = dx_span_of(found->domain, found->domain_size);
    struct dx_suppressions_live *o = dx_suppressed_by(view->version);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    DX_UNINITIALIZED struct dx_error err;
    struct dx_rules_of of;
    bool concerned = dx_rules_of(rules, domain, &of);
    const struct dx_suppression_rows *rows;
    struct dx_hidden_sums sums;
    int rc = 1;

    dx_error_begin(&err);
    *w = (struct dx_suppression_view){ .entry = NULL };
    if (concerned && of.whole.number == 0 && of.last > cleansed_of(view->version, rules))
        rc = dx_suppression_cache_get(&w->entry, view->version, found, &of, &err);
    dx_suppressions_live_unpin(o, rules);
    if (concerned && of.whole.number != 0)
        return dx_lookup_without(view, domain, of.whole.effect, problem);
    if (rc <= 0)
        return not_known(rc, &err, problem);
    if (w->entry == NULL)
        return 1;
    rows = dx_suppression_cache_rows(w->entry);
    w->distinct_url_count = rows->distinct_url_count;
    w->distinct_dense = rows->distinct_dense;
    sums = rows->all;
    if (dx_view_restricted(view))
        dx_suppression_rows_sums(rows, view->scope, &sums);
    if (sums.visible_rows > 0)
        return 1;
    rc = dx_lookup_without(view, domain,
                           sums.withheld_rows > 0 ? DX_EFFECT_WITHHELD : DX_EFFECT_ABSENT, problem);
    dx_suppression_view_release(w);
    return rc;
}

void dx_suppression_view_release(struct dx_suppression_view *w)
{
    dx_suppression_cache_release(w->entry);
    w->entry = NULL;
}

static int by_dataset(const void *key, const void *element)
{
    uint32_t id = *(const uint32_t *)key;
    const struct dx_suppression_pair *pair = element;

    return (id > pair->dataset_id) - (id < pair->dataset_id);
}

const struct dx_suppression_pair *dx_suppression_view_pair(const struct dx_suppression_view *w,
                                                           uint32_t dataset_id)
{
    const struct dx_suppression_rows *rows = w->entry == NULL ? NULL
                                                              : dx_suppression_cache_rows(w->entry);

    if (rows == NULL || rows->count == 0)
        return NULL;
    return bsearch(&dataset_id, rows->pairs, rows->count, sizeof *rows->pairs, by_dataset);
}

size_t dx_suppression_view_show(const struct dx_suppression_view *w, uint32_t *ids,
                                struct dx_pair_count *counts, size_t count, uint64_t *withheld_rows)
{
    size_t n = 0;

    if (w->entry == NULL)
        return count;
    for (size_t i = 0; i < count; i++) {
        const struct dx_suppression_pair *hidden = dx_suppression_view_pair(w, ids[i]);

        if (hidden != NULL && withheld_rows != NULL)
            *withheld_rows += hidden->withheld_rows;
        if (hidden != NULL && hidden->visible.row_count == 0)
            continue;
        counts[n] = hidden == NULL ? counts[i] : hidden->visible;
        ids[n++] = ids[i];
    }
    return n;
}

int dx_suppression_view_no_pair(const struct dx_view *view, const struct dx_found *found,
                                const struct dx_suppression_pair *pair, struct dx_problem *problem)
{
    assert(pair->visible.row_count == 0);
    return pair->withheld_rows > 0
               ? dx_suppressed_problem(dx_span_of(found->domain, found->domain_size), problem)
               : dx_lookup_no_pair(view, found, pair->dataset_id, problem);
}

/* ---- positions ---- */

/* Ranges that begin at or below the position. */
static size_t ranges_to(const struct dx_suppression_pair *pair, uint64_t position)
{
    size_t low = 0;
    size_t high = pair->range_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pair->ranges[middle].first <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool dx_suppression_view_hidden(const struct dx_suppression_pair *pair, uint64_t position)
{
    size_t n = pair == NULL ? 0 : ranges_to(pair, position);

    return n > 0 && position < pair->ranges[n - 1].end;
}

uint64_t dx_suppression_view_visible_before(const struct dx_suppression_pair *pair,
                                            uint64_t position)
{
    size_t n = pair == NULL || position == 0 ? 0 : ranges_to(pair, position - 1);
    const struct dx_suppression_range *r;
    uint64_t end;

    if (n == 0)
        return position;
    r = &pair->ranges[n - 1];
    end = position < r->end ? position : r->end;
    return position - r->hidden - (end - r->first);
}

/* The position of the row that has so many visible ones before it; row_count: there is none. */
static uint64_t position_of(const struct dx_suppression_pair *pair, uint64_t visible)
{
    size_t low = 0;
    size_t high = pair->range_count;

    assert(pair->range_count > 0 || pair->visible.row_count == pair->row_count);
    if (visible >= pair->visible.row_count)
        return pair->row_count;
    /* The ranges that come before that row: those with at most so many visible rows before them. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pair->ranges[middle].first - pair->ranges[middle].hidden <= visible)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return visible;
    return visible + pair->ranges[low - 1].hidden +
           (pair->ranges[low - 1].end - pair->ranges[low - 1].first);
}

struct dx_page_of dx_suppression_view_window(const struct dx_suppression_pair *pair,
                                             uint64_t offset, uint64_t limit)
{
    struct dx_page_of window = { offset, limit };
    uint64_t most = limit > DX_LIMIT_MAX ? limit : DX_LIMIT_MAX;
    uint64_t end;

    if (pair == NULL || limit == 0)
        return window;
    window.offset = position_of(pair, offset);
    if (offset >= pair->visible.row_count) {
        window.limit = 0;
        return window;
    }
    end = limit > pair->visible.row_count - offset ? pair->visible.row_count : offset + limit;
    end = position_of(pair, end - 1) + 1;
    window.limit = end - window.offset < most ? end - window.offset : most;
    return window;
}

/* ---- before a version serves ---- */

/* How many domains of v are not known yet; those are wanted from now on. */
static int want_all(struct dx_version *v, struct dx_canon *canon, const struct dx_rules *rules,
                    size_t *pending, struct dx_error *err)
{
    *pending = 0;
    for (size_t i = 0; i < rules->count; i++) {
        struct dx_suppression_entry *entry = NULL;
        enum dx_reject why;
        struct dx_rules_of of;
        struct dx_found found;
        struct dx_span domain;
        int rc;

        if (rules->rules[i].number <= cleansed_of(v, rules) ||
            dx_canon_domain(canon, rules->rules[i].parts.host, &domain, &why) == 0 ||
            domain.size > sizeof found.domain || !dx_rules_of(rules, domain, &of) ||
            of.whole.number != 0)
            continue;
        rc = dx_version_find(v, domain, &found.part, &found.ordinal, &found.domain_id, err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        found.domain_size = domain.size;
        memcpy(found.domain, domain.data, domain.size);
        rc = dx_suppression_cache_get(&entry, v, &found, &of, NULL);
        *pending += rc != 1;
        dx_suppression_cache_release(entry);
    }
    return DX_OK;
}

int dx_suppression_view_ruled(struct dx_ruled_domains **out, struct dx_version *v,
                              struct dx_canon *canon, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_ruled_domains_get(out, v, canon, &err);

    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

int dx_suppression_view_prepare(struct dx_version *v, uint64_t until_ms, struct dx_error *err)
{
    struct dx_suppressions_live *o = dx_suppressed_by(v);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    struct dx_canon *canon = NULL;
    size_t pending = 0;
    int rc = dx_version_canon_new(v, &canon, err);

    if (rc == DX_OK)
        rc = dx_ruled_domains_prepare(v, canon, err);
    if (rc == DX_OK && rules != NULL)
        rc = want_all(v, canon, rules, &pending, err);
    if (rc == DX_OK && pending > 0 && until_ms > 0) {
        dx_suppression_cache_wait(o, until_ms);
        rc = want_all(v, canon, rules, &pending, err);
    }
    dx_canon_free(&canon);
    dx_suppressions_live_unpin(o, rules);
    return rc < 0 ? rc : pending == 0;
}

static void prepare_ruled(struct dx_version *v)
{
    struct dx_canon *canon = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_version_canon_new(v, &canon, &err);

    if (rc == DX_OK)
        rc = dx_ruled_domains_prepare(v, canon, &err);
    dx_canon_free(&canon);
    if (rc < 0)
        dx_log(DX_LOG_ERROR, "suppressions: version %s: %s", dx_version_name(v), err.text);
}

int dx_suppression_view_follow(struct dx_caches *caches, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dx_version **versions = NULL;
    size_t count = 0;
    int rc = dx_suppressions_live_look(caches->suppressions, err);

    if (rc == 1 && dx_caches_pin_open(caches, &versions, &count, &why) < 0)
        dx_log(DX_LOG_ERROR, "suppressions: %s", why.text);
    for (size_t i = 0; i < count; i++) {
        prepare_ruled(versions[i]);
        dx_version_unpin(versions[i]);
    }
    free(versions);
    dx_suppressions_live_exchange(caches->suppressions);
    dx_suppression_cache_sweep(caches, dx_clock_ms());
    return rc;
}
