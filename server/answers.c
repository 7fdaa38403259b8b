/* SPDX-License-Identifier: Apache-2.0 */
#include "server/answers.h"

#include <assert.h>

/* More datasets than this in one page take a while to write out. */
#define DATASETS_INLINE_MAX 1000

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

bool dx_ask_may_block(const struct dx_ask *ask)
{
    return ask->route == DX_ROUTE_URLS ||
           (ask->route == DX_ROUTE_DATASETS && ask->page.limit > DATASETS_INLINE_MAX);
}

static int answer_urls(const struct dx_answers *answers, struct dx_canon *canon,
                       struct dx_version *v, const struct dx_ask *ask, uint64_t deadline_ms,
                       struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    unsigned fields = DX_FIELDS_DEFAULT;
    struct dx_span bad = { NULL, 0 };

    if (ask->fields.data != NULL && !answers->fields_parse(ask->fields, &fields, &bad))
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "fields: '%.*s' is no field; there are url_id, url, ts, raw_url and "
                              "extras, separated by commas",
                              bad.size > 60 ? 60 : (int)bad.size, (const char *)bad.data);
    return answers->urls(v, canon, ask->asked, ask->dataset_id, ask->page, fields, deadline_ms,
                         task, body, problem);
}

int dx_ask_answer(const struct dx_answers *answers, struct dx_canon_slot *slot,
                  struct dx_version *v, const struct dx_ask *ask, uint64_t deadline_ms,
                  struct dx_task **task, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_canon *canon = NULL;
    struct dx_canon *once = NULL;
    int rc;

    *task = NULL;
    if (ask->route == DX_ROUTE_DATASETS)
        return answers->datasets(v, ask->page, body, problem);
    if (ask->route == DX_ROUTE_DATASET)
        return answers->dataset(v, ask->dataset_id, body, problem);
    if (ask->route == DX_ROUTE_VERSIONS)
        return answers->versions(v, body, problem);
    rc = canon_for(slot, answers, v, &canon, &once, problem);
    if (rc < 0)
        return rc;
    if (ask->route == DX_ROUTE_DOMAIN) {
        rc = answers->domain(v, canon, ask->asked, body, problem);
    } else if (ask->route == DX_ROUTE_NORMALIZE) {
        rc = answers->normalize(v, canon, ask->asked, body, problem);
    } else {
        assert(ask->route == DX_ROUTE_URLS);
        rc = answer_urls(answers, canon, v, ask, deadline_ms, task, body, problem);
    }
    if (once != NULL)
        answers->canon_free(&once);
    return rc;
}
