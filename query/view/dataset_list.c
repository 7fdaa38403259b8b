/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/dataset_list.h"

#include "base/decimal.h"
#include "loader/version.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

/* False: not digits alone, or too large a number. */
static bool parse_id(struct dx_span word, uint32_t *id)
{
    uint64_t v;
    bool ok = dx_decimal(word, UINT32_MAX, &v);

    *id = (uint32_t)v;
    return ok;
}

static int unknown(const struct dx_view *view, struct dx_span word, bool listed,
                   struct dx_problem *problem)
{
    return dx_problem_set(
        problem, DX_PROBLEM_NOT_FOUND, "dataset-not-found", "No such dataset",
        "Dataset '%.*s' is not in version %s. /v1/datasets lists those that are.%s",
        word.size > 60 ? 60 : (int)word.size, (const char *)word.data, view->version->entry.version,
        listed ? " Commas separate datasets: give one with a comma in its name "
                 "by its id, as id:3."
               : "");
}

static bool has_prefix(struct dx_span word, const char *prefix, struct dx_span *rest)
{
    size_t n = strlen(prefix);

    if (word.size < n || memcmp(word.data, prefix, n) != 0)
        return false;
    *rest = dx_span_from(word, n);
    return true;
}

int dx_dataset_list_find(const struct dx_view *view, struct dx_span word, bool listed, uint32_t *id,
                         struct dx_problem *problem)
{
    struct dx_span name = word;
    const struct dx_dataset *d;

    if (word.size == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "dataset is a list of ids or names with commas between them");
    if (!has_prefix(word, "name:", &name) &&
        (parse_id(word, id) || (has_prefix(word, "id:", &name) && parse_id(name, id))))
        return dx_lookup_dataset(view, *id, &d, problem);
    d = dx_registry_by_name(&view->version->registry, name);
    if (d == NULL || (view->scope != NULL && !dx_scope_has(view->scope, d->dataset_id)))
        return unknown(view, word, listed, problem);
    *id = d->dataset_id;
    return dx_lookup_dataset(view, *id, &d, problem);
}

int dx_dataset_find(const struct dx_view *view, struct dx_span word, uint32_t *id,
                    struct dx_problem *problem)
{
    return dx_dataset_list_find(view, word, false, id, problem);
}

/* Keeps them ascending; one that is there already is nothing. False: there are too many. */
static bool add(struct dx_dataset_list *list, uint32_t id)
{
    size_t at = list->count;

    while (at > 0 && list->ids[at - 1] > id)
        at--;
    if (at > 0 && list->ids[at - 1] == id)
        return true;
    if (list->count == DX_DATASET_LIST_MAX)
        return false;
    memmove(list->ids + at + 1, list->ids + at, (list->count - at) * sizeof *list->ids);
    list->ids[at] = id;
    list->count++;
    return true;
}

struct dx_span dx_dataset_list_word(struct dx_span *rest)
{
    const uint8_t *comma = rest->size == 0 ? NULL : memchr(rest->data, ',', rest->size);
    size_t size = comma == NULL ? rest->size : (size_t)(comma - rest->data);
    struct dx_span word = { rest->data, size };

    *rest = comma == NULL ? dx_span_of(NULL, 0) : dx_span_of(comma + 1, rest->size - size - 1);
    return word;
}

int dx_dataset_list_parse(struct dx_dataset_list *list, const struct dx_view *view,
                          struct dx_span text, struct dx_problem *problem)
{
    bool listed = text.size > 0 && memchr(text.data, ',', text.size) != NULL;
    int rc = 1;

    list->count = 0;
    do {
        uint32_t id = 0;

        rc = dx_dataset_list_find(view, dx_dataset_list_word(&text), listed, &id, problem);
        if (rc == 1 && !add(list, id))
            rc = dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                                "dataset: over %d datasets; leave it out for all of them",
                                DX_DATASET_LIST_MAX);
    } while (rc == 1 && text.data != NULL);
    return rc;
}

bool dx_dataset_list_has(const struct dx_dataset_list *list, uint32_t dataset_id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->ids[i] == dataset_id)
            return true;
    return false;
}
