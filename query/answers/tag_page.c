/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/tag_page.h"

#include "base/json_out.h"
#include "loader/version.h"
#include "query/view/counts_json.h"
#include "query/view/lookup.h"

int dx_tag_page_mismatch(const char *what, struct dx_problem *problem)
{
    return dx_problem_set(
        problem, DX_PROBLEM_BAD_REQUEST, "cursor-mismatch", "The cursor is of another question",
        "this cursor goes on with %s; it goes with the path that it came from, and "
        "needs no parameter but limit",
        what);
}

int dx_tag_page_begin(struct dx_tag_page *p, const struct dx_view *view,
                      const struct dx_cursor *from, bool one_dataset, uint32_t dataset_id,
                      struct dx_problem *problem)
{
    int rc = dx_cursor_of_version(from, &view->version->entry, problem);

    *p = (struct dx_tag_page){ .view = *view, .goes_on = from != NULL };
    if (rc != 1)
        return rc;
    if (from != NULL) {
        p->from = *from;
        if (one_dataset && (!from->one_dataset || from->dataset_id != dataset_id))
            return dx_tag_page_mismatch("another dataset, or all of them", problem);
        one_dataset = from->one_dataset;
        dataset_id = from->dataset_id;
    }
    return one_dataset ? dx_lookup_dataset(view, dataset_id, &p->dataset, problem) : 1;
}

void dx_tag_page_place(const struct dx_tag_page *p, struct dx_cursor *cursor)
{
    const struct dx_version *v = p->view.version;

    memcpy(cursor->version, v->entry.version, sizeof cursor->version);
    cursor->build = v->entry.build;
    if (p->goes_on)
        cursor->began_s = p->from.began_s;
    cursor->one_dataset = p->dataset != NULL;
    cursor->dataset_id = p->dataset != NULL ? p->dataset->dataset_id : 0;
}

int dx_tag_page_cursor(const struct dx_cursor *cursor, const struct dx_cursor_key *cursors,
                       const char *principal, struct dx_json *j, struct dx_error *err)
{
    char text[DX_CURSOR_TEXT];
    int rc = dx_cursor_write(cursor, cursors, principal, text, err);

    if (rc == DX_OK)
        dx_json_str(j, text);
    return rc;
}

void dx_tag_page_head(const struct dx_tag_page *p, struct dx_json *j)
{
    if (p->dataset == NULL)
        return;
    dx_json_key_u64(j, "dataset_id", p->dataset->dataset_id);
    dx_json_key(j, "dataset");
    dx_json_str(j, p->dataset->name);
    dx_counts_json_kind(j, p->dataset);
}

const struct dx_dataset *dx_tag_page_dataset(const struct dx_tag_page *p, uint32_t dataset_id,
                                             struct dx_error *err)
{
    const struct dx_version *v = p->view.version;
    const struct dx_dataset *d = dx_registry_by_id(&v->registry, dataset_id);

    if (d == NULL)
        (void)dx_fail(err, DX_E_CORRUPT, "%s: a file is of dataset %lu, which is not registered",
                      dx_version_own(v)->directory, (unsigned long)dataset_id);
    return d;
}
