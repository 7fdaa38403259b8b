/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"
#include "loader/version_parts.h"
#include "query/answers/answer_end.h"
#include "query/changes/answer_changes.h"
#include "query/changes/diff_json.h"
#include "query/suppression/suppression_view.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

/* ---- which version is meant ---- */

static const struct dx_manifest_version *by_number(const struct dx_manifest *m, uint64_t sequence)
{
    for (size_t i = 0; i < m->version_count; i++)
        if (m->versions[i].sequence == sequence)
            return &m->versions[i];
    return NULL;
}

const struct dx_manifest_version *dx_answer_version_before(const struct dx_manifest *m,
                                                           uint64_t sequence)
{
    const struct dx_manifest_version *found = NULL;

    for (size_t i = 0; i < m->version_count; i++)
        if (m->versions[i].sequence < sequence && m->versions[i].state != DX_VERSION_DROPPED)
            found = &m->versions[i];
    return found;
}

/* A number of at most six digits, as they stand in a name. */
static bool number_of(struct dx_span text, uint64_t *number)
{
    return text.size <= 6 && dx_decimal(text, 999999, number) && *number > 0;
}

static int find_meant(const struct dx_version *v, const struct dx_manifest *m, struct dx_span text,
                      char name[DX_VERSION_NAME], struct dx_problem *problem)
{
    const struct dx_manifest_version *found = NULL;
    uint64_t number = 0;

    if (text.data == NULL) {
        found = dx_answer_version_before(m, v->entry.sequence);
        if (found == NULL)
            return dx_problem_set(
                problem, DX_PROBLEM_NOT_FOUND, "no-version-before", "No version before this one",
                "no version before %s is kept: there is nothing to compare with", v->entry.version);
    } else if (number_of(text, &number)) {
        found = by_number(m, number);
        if (found == NULL && number > m->sequence)
            return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "version-newer",
                                  "This server does not have this version yet",
                                  "version %llu is newer than all that this server has seen; ask "
                                  "again in a second",
                                  (unsigned long long)number);
        if (found == NULL)
            return dx_problem_set(problem, DX_PROBLEM_GONE, "version-gone", "This version is gone",
                                  "version %llu is not kept; /v1/versions lists those that are",
                                  (unsigned long long)number);
    } else if (!dx_version_name_formed(text)) {
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-version", "No such version",
                              "'%.*s' is neither name nor number of a version; /v1/versions lists "
                              "them",
                              text.size > 60 ? 60 : (int)text.size, (const char *)text.data);
    } else {
        memcpy(name, text.data, text.size);
        name[text.size] = '\0';
        return 1;
    }
    memcpy(name, found->version, DX_VERSION_NAME);
    return 1;
}

int dx_answer_version_meant(struct dx_version *v, struct dx_span text, char name[DX_VERSION_NAME],
                            struct dx_problem *problem)
{
    struct dx_shared_manifest *listed = dx_version_listed(v);
    int rc;

    if (listed == NULL) {
        struct dx_error err = DX_ERROR_INIT;

        (void)dx_fail(&err, DX_E_INVALID, "version %s was opened without its manifest",
                      v->entry.version);
        return dx_problem_of_error(problem, &err);
    }
    rc = find_meant(v, &listed->manifest, text, name, problem);
    dx_shared_manifest_put(&listed);
    return rc;
}

/* ---- one domain ---- */

static int write_answer(const struct dx_diff_item *item, const struct dx_view *before,
                        const struct dx_view *after, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    rc = dx_diff_item_write(item, before->version, after->version, &j, err);
    if (rc < 0)
        return rc;
    dx_json_key(&j, "from");
    dx_json_str(&j, before->version->entry.version);
    dx_json_key(&j, "to");
    dx_json_str(&j, after->version->entry.version);
    dx_answer_end(&j, after->version);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

static int in_neither(const struct dx_view *before, const struct dx_view *after,
                      struct dx_span domain, struct dx_problem *problem)
{
    return dx_problem_set(
        problem, DX_PROBLEM_NOT_FOUND, "domain-not-found", "No dataset contains this domain",
        "%.*s is neither in version %s nor in %s.", (int)domain.size, (const char *)domain.data,
        before->version->entry.version, after->version->entry.version);
}

/* Nothing of it is to be shown, and the words are the same whether it is there or not. */
static int no_side(const struct dx_diff_item *item, const struct dx_view *before,
                   const struct dx_view *after, struct dx_problem *problem)
{
    struct dx_span domain = dx_span_of(item->domain, item->domain_size);

    return item->withheld ? dx_suppressed_problem(domain, problem)
                          : in_neither(before, after, domain, problem);
}

/* By the suppressions of now, which may be others at the end. */
static int compare_versions(const struct dx_view *before, const struct dx_view *after,
                            struct dx_span domain, struct dx_answer_summary *summary,
                            struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_version_walk walk_before = { .version = NULL };
    struct dx_version_walk walk_after = { .version = NULL };
    struct dx_diff_item item = { .before = { NULL, NULL, 0 }, .after = { NULL, NULL, 0 } };
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    item.domain_size = domain.size;
    memcpy(item.domain, domain.data, domain.size);
    if (dx_lookup_allowed(after, domain, problem) == 0) {
        item.withheld = problem->kind == DX_PROBLEM_WITHHELD;
        return no_side(&item, before, after, problem);
    }
    rc = dx_diff_find(&item, before, &walk_before, &item.before, problem);
    if (rc == 1)
        rc = dx_diff_find(&item, after, &walk_after, &item.after, problem);
    item.change = dx_sides_change(&item.before, &item.after);
    if (rc == 1 && item.before.count + item.after.count == 0)
        rc = no_side(&item, before, after, problem);
    if (rc == 1 && write_answer(&item, before, after, body, &err) < 0) {
        dx_buf_clear(body);
        rc = dx_problem_of_error(problem, &err);
    }
    if (rc == 1)
        dx_answer_summarize(summary, (struct dx_answer_summary){ .domain_id = item.domain_id,
                                                                 .has_domain_id = true });
    dx_version_walk_end(&walk_before);
    dx_version_walk_end(&walk_after);
    return rc;
}

int dx_answer_diff(const struct dx_view *before, const struct dx_view *after,
                   struct dx_canon *canon, struct dx_span asked, struct dx_answer_summary *summary,
                   struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_span domain;
    uint64_t number;
    int rc = dx_lookup_name(canon, asked, &domain, problem);

    if (rc <= 0)
        return rc;
    /* A rule that comes between the two sides would be a change that there never was. */
    do {
        dx_buf_clear(body);
        number = dx_suppressed_line(after->version);
        rc = compare_versions(before, after, domain, summary, body, problem);
    } while (number != dx_suppressed_line(after->version));
    return rc;
}
