/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/changes/answer_changes.h"
#include "query/changes/changes_feed.h"
#include "query/suppression/suppression_view.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

/* One version's side of the domain, for as long as it is pinned. */
struct side {
    struct dx_view view;
    struct dx_version_walk walk;
    struct dx_diff_side datasets;
};

struct history {
    const struct dx_domain_changes_ask *ask;
    const struct dx_view *view;
    const struct dx_manifest *manifest;
    struct dx_diff_item item;
    struct side newer, older;
    uint64_t compared;
    char since[DX_VERSION_NAME];   /* the oldest version that was compared */
    char next_to[DX_VERSION_NAME]; /* "": no older one is left */
    int64_t updated_us;            /* of the newest change; 0: none yet */
    struct dx_json json;
    struct dx_buf *out; /* of json, or entries of a feed */
};

/* 1 when `older` is pinned; 0 when no older version is kept, or it was collected meanwhile; or <0. */
static int pin_older(struct history *h, struct dx_problem *problem)
{
    const struct dx_manifest_version *before = dx_answer_version_before(
        h->manifest, h->newer.view.version->entry.sequence);
    int rc;

    if (before == NULL)
        return 0;
    h->older = (struct side){ .view = { NULL, h->view->scope, false } };
    rc = h->ask->pin(h->ask->from, before->version, &h->older.view.version, problem);
    return rc == 0 && problem->kind != DX_PROBLEM_GONE ? DX_E_BUSY : rc;
}

static int let_go(const struct history *h, struct side *side, struct dx_problem *problem)
{
    bool sound = true;

    dx_version_walk_end(&side->walk);
    if (side->view.version != NULL && side->view.version != h->view->version)
        sound = h->ask->unpin(h->ask->from, side->view.version, problem);
    side->view.version = NULL;
    return sound ? DX_OK : DX_E_CORRUPT;
}

static int find(struct history *h, struct side *side, struct dx_problem *problem)
{
    return dx_diff_find(&h->item, &side->view, &side->walk, &side->datasets, problem);
}

static int write_change(struct history *h, struct dx_error *err)
{
    const struct dx_version *after = h->newer.view.version;
    const struct dx_version *before = h->older.view.version;
    int rc;

    if (h->updated_us == 0)
        h->updated_us = after->entry.published_us;
    if (h->ask->atom)
        return dx_changes_feed_entry(h->out, h->ask->base, &h->item, before, after, err);
    dx_json_object(&h->json);
    dx_json_key(&h->json, "version");
    dx_json_str(&h->json, after->entry.version);
    dx_json_key(&h->json, "published");
    dx_json_time_us(&h->json, after->entry.published_us);
    dx_json_key(&h->json, "since");
    dx_json_str(&h->json, before->entry.version);
    rc = dx_diff_change_write(&h->item, before, after, &h->json, err);
    dx_json_end(&h->json);
    return rc;
}

/* The newer side has been found, the older version is pinned. */
static int compare(struct history *h, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = find(h, &h->older, problem);

    if (rc < 0)
        return rc;
    h->item.before = h->older.datasets;
    h->item.after = h->newer.datasets;
    h->item.change = dx_sides_change(&h->item.before, &h->item.after);
    if (h->item.change != DX_CHANGE_SAME && write_change(h, &err) < 0)
        return dx_problem_of_error(problem, &err);
    h->compared++;
    memcpy(h->since, h->older.view.version->entry.version, sizeof h->since);
    return DX_OK;
}

/* At least one pair, so that who follows next_to comes to an end. */
static bool has_to_end(const struct history *h)
{
    return h->compared == h->ask->limit ||
           (h->compared > 0 && dx_clock_ms() >= h->ask->deadline_ms);
}

static void go_on(struct history *h)
{
    h->newer = h->older;
    h->older = (struct side){ .view = { NULL, NULL, false } };
}

/* 1, or <0. */
static int compare_all(struct history *h, struct dx_problem *problem)
{
    int rc = find(h, &h->newer, problem);

    while (rc >= 0 && !has_to_end(h)) {
        rc = pin_older(h, problem);
        if (rc <= 0)
            return rc < 0 ? rc : 1;
        rc = compare(h, problem);
        if (rc >= 0)
            rc = let_go(h, &h->newer, problem);
        if (rc >= 0)
            go_on(h);
    }
    if (rc >= 0 &&
        dx_answer_version_before(h->manifest, h->newer.view.version->entry.sequence) != NULL)
        memcpy(h->next_to, h->newer.view.version->entry.version, sizeof h->next_to);
    return rc < 0 ? rc : 1;
}

/* 1, 0 with the problem of what is withheld, or <0. A domain that rules hide as a whole is as one that never was, unless
 * the policy says so: so its versions are compared too, and it is in none of them. */
static int collect(struct history *h, struct dx_problem *problem)
{
    struct dx_span domain = dx_span_of(h->item.domain, h->item.domain_size);
    int rc;

    if (dx_lookup_allowed(h->view, domain, problem) == 0 && problem->kind == DX_PROBLEM_WITHHELD)
        return 0;
    h->newer.view = *h->view;
    rc = compare_all(h, problem);
    if (let_go(h, &h->older, problem) < 0 || let_go(h, &h->newer, problem) < 0)
        return DX_E_CORRUPT;
    if (rc == 1 && h->item.withheld && h->updated_us == 0)
        return dx_suppressed_problem(domain, problem);
    return rc;
}

static int collect_json(struct history *h, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_json *j = &h->json;
    int rc;

    h->out = body;
    dx_json_open(j, body);
    dx_json_object(j);
    dx_domain_json(j, dx_span_of(h->item.domain, h->item.domain_size));
    dx_json_key(j, "changes");
    dx_json_array(j);
    rc = collect(h, problem);
    dx_json_end(j);
    dx_json_key_u64(j, "compared", h->compared);
    dx_json_key(j, "since");
    h->since[0] != '\0' ? dx_json_str(j, h->since) : dx_json_null(j);
    dx_json_key(j, "next_to");
    h->next_to[0] != '\0' ? dx_json_str(j, h->next_to) : dx_json_null(j);
    dx_answer_end(j, h->view->version);
    return rc;
}

static int collect_feed(struct history *h, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_buf entries = DX_BUF_INIT(body->max);
    int rc;

    h->out = &entries;
    rc = collect(h, problem);
    dx_changes_feed_write(body, h->ask->base, dx_span_of(h->item.domain, h->item.domain_size),
                          h->updated_us != 0 ? h->updated_us : h->view->version->entry.published_us,
                          dx_span_of(entries.data, entries.size));
    body->failed = body->failed || entries.failed;
    dx_buf_release(&entries);
    return rc;
}

static int write_answer(const struct dx_view *view, const struct dx_domain_changes_ask *ask,
                        struct dx_span domain, struct dx_answer_summary *summary,
                        struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_shared_manifest *listed = dx_version_listed(view->version);
    struct history h = { .ask = ask, .view = view };
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (listed == NULL) {
        (void)dx_fail(&err, DX_E_INVALID, "version %s was opened without its manifest",
                      view->version->entry.version);
        return dx_problem_of_error(problem, &err);
    }
    h.manifest = &listed->manifest;
    h.item.domain_size = domain.size;
    memcpy(h.item.domain, domain.data, domain.size);
    dx_buf_clear(body);
    rc = ask->atom ? collect_feed(&h, body, problem) : collect_json(&h, body, problem);
    if (rc == 1 && body->failed) {
        (void)dx_buf_fail(body, &err, "answer");
        rc = dx_problem_of_error(problem, &err);
    }
    if (rc == 1 && h.item.domain_id != 0)
        dx_answer_summarize(summary, (struct dx_answer_summary){ .domain_id = h.item.domain_id,
                                                                 .has_domain_id = true });
    dx_shared_manifest_put(&listed);
    return rc;
}

int dx_answer_domain_changes(const struct dx_view *view, struct dx_canon *canon,
                             const struct dx_domain_changes_ask *ask,
                             struct dx_answer_summary *summary, struct dx_buf *body,
                             struct dx_problem *problem)
{
    struct dx_span domain;
    uint64_t number;
    int rc = dx_lookup_name(canon, ask->asked, &domain, problem);

    if (rc <= 0)
        return rc;
    /* A rule that comes between two sides would be a change that there never was. */
    do {
        number = dx_suppressed_line(view->version);
        rc = write_answer(view, ask, domain, summary, body, problem);
    } while (number != dx_suppressed_line(view->version));
    if (rc <= 0)
        dx_buf_clear(body);
    return rc;
}
