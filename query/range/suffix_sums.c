/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/suffix_sums.h"

#include <roaring/roaring.h>

#include "canon/url.h"
#include "loader/version_parts.h"
#include "query/view/counts_json.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"

/* Lists of datasets are read for this many domains at a time. */
#define WINDOW (1u << 18)

#define NAME_LOOKS 3    /* a name is read and compared */
#define PAIRS_A_LOOK 16 /* of one domain, read with it */

static void spend(struct dx_suffix_sums *s, uint64_t looks)
{
    s->left -= looks < s->left ? looks : s->left;
}

/* Where the key range lies in a part. */
static int find_range(struct dx_suffix_sums *s, size_t i, struct dx_span name, struct dx_error *err)
{
    const struct dx_version_part *part = &s->view.version->parts[i];
    int rc = dx_dictionary_below(&part->part->dictionary, name, &s->first[i], &s->end[i], err);

    s->first[i] += part->first;
    s->end[i] += part->first;
    return rc;
}

int dx_suffix_sums_begin(struct dx_suffix_sums *s, const struct dx_view *view,
                         struct dx_canon *canon, struct dx_span name, uint64_t look_max,
                         struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    *s = (struct dx_suffix_sums){ .view = *view,
                                  .canon = canon,
                                  .line = dx_suppressed_line(view->version),
                                  .left = look_max,
                                  .numbers = roaring_bitmap_create(),
                                  .pairs = DX_DOMAIN_PAIRS_INIT };
    if (s->numbers == NULL)
        rc = dx_no_memory(&err, "sums of a suffix");
    for (size_t i = 0; rc == DX_OK && i < view->version->part_count; i++)
        rc = find_range(s, i, name, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

void dx_suffix_sum_json(const struct dx_suffix_sum *sum, const struct dx_dataset *dataset,
                        struct dx_json *j)
{
    dx_counts_json_sums(j, dataset, sum->counts.url_count, sum->counts.row_count, sum->pages);
    dx_json_key(j, "first_ts");
    sum->counts.has_ts ? dx_json_time_us(j, sum->counts.first_us) : dx_json_null(j);
    dx_json_key(j, "last_ts");
    sum->counts.has_ts ? dx_json_time_us(j, sum->counts.last_us) : dx_json_null(j);
}

void dx_suffix_sums_release(struct dx_suffix_sums *s)
{
    dx_suppression_domains_release(&s->hidden);
    dx_domain_pairs_release(&s->pairs);
    if (s->numbers != NULL)
        roaring_bitmap_free(s->numbers);
    s->numbers = NULL;
}

/* The next domains of one part, from the place on. */
static bool next_stretch(const struct dx_suffix_sums *s, uint64_t place, uint64_t *first,
                         uint64_t *end)
{
    uint64_t most = s->left < WINDOW ? s->left : WINDOW;

    for (size_t i = 0; i < s->view.version->part_count; i++) {
        *first = place > s->first[i] ? place : s->first[i];
        if (*first >= s->end[i])
            continue;
        *end = s->end[i] - *first < most ? s->end[i] : *first + most;
        return true;
    }
    return false;
}

/* Which domains of a stretch are shown at all. */
static int find_numbers(struct dx_suffix_sums *s, const struct dx_dataset *dataset, uint64_t first,
                        uint64_t end, struct dx_error *err)
{
    const struct dx_version *v = s->view.version;
    uint64_t listed = 0;
    int rc = DX_OK;

    roaring_bitmap_clear(s->numbers);
    if (dataset != NULL)
        rc = dx_version_add_dataset(v, dataset->dataset_id, first, end, s->numbers, &listed, err);
    else if (!dx_view_restricted(&s->view))
        roaring_bitmap_add_range(s->numbers, first, end);
    for (size_t i = 0;
         dataset == NULL && dx_view_restricted(&s->view) && rc >= 0 && i < v->registry.count; i++) {
        uint32_t id = v->registry.datasets[i].dataset_id;

        if (!dx_view_shows(&s->view, id))
            continue;
        listed++;
        rc = dx_version_add_dataset(v, id, first, end, s->numbers, &listed, err);
    }
    spend(s, 1 + listed);
    return rc < 0 ? rc : dx_version_remove_dead(v, s->numbers, err);
}

/* What the rules that hold hide of them: of the same state as all before. */
static int find_hidden(struct dx_suffix_sums *s, struct dx_problem *problem)
{
    int rc;

    dx_suppression_domains_release(&s->hidden);
    rc = dx_suppression_domains_take_out(&s->hidden, &s->view, s->canon, s->numbers, problem);
    if (rc == 1 && s->line != dx_suppressed_line(s->view.version))
        rc = dx_suppression_view_unknown(0, problem);
    return rc;
}

/* Domains of one public suffix follow each other, and are all part of the name or none of them is: 1 or 0. Where a rule
 * of ICANN stands below the name, what is registered by it is not. */
static int is_part(struct dx_suffix_sums *s, uint64_t number, struct dx_error *err)
{
    uint8_t name[DX_SURT_MAX];
    enum dx_reject why;
    struct dx_span domain;
    struct dx_span parent;
    const uint8_t *dot;
    size_t size = 0;
    int rc;

    if (s->icann.size == 0)
        return 1;
    spend(s, NAME_LOOKS);
    rc = dx_version_domain(s->view.version, number, name, &size, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "there is no domain %llu", (unsigned long long)number);
    if (rc < 0)
        return rc;
    dot = memchr(name, '.', size);
    parent = dot == NULL ? dx_span_of(name, size)
                         : dx_span_of(dot + 1, size - (size_t)(dot + 1 - name));
    if (s->parent_size > 0 && dx_span_equal(parent, dx_span_of(s->parent, s->parent_size)))
        return s->is_parent;
    s->parent_size = parent.size;
    memcpy(s->parent, parent.data, parent.size);
    s->is_parent = dx_canon_icann_domain(s->canon, dx_span_of(name, size), &domain, &why) == 1 &&
                   dx_span_equal(domain, s->icann);
    return s->is_parent;
}

static size_t index_of(const struct dx_registry *r, uint32_t id)
{
    const struct dx_dataset *d = dx_registry_by_id(r, id);

    return d == NULL ? r->count : (size_t)(d - r->datasets);
}

static void add_pair(const struct dx_suffix_sums *s, const struct dx_domain_pairs *pairs, size_t i,
                     struct dx_suffix_sum *sum)
{
    if (dx_view_of_counts(&s->view, pairs->ids[i]))
        sum->pages += pairs->counts[i].row_count;
    else
        dx_pair_count_add(&sum->counts, &pairs->counts[i]);
}

static int add_domain(struct dx_suffix_sums *s, const struct dx_dataset *dataset, uint64_t number,
                      struct dx_suffix_sum *sum, struct dx_suffix_sum *each, struct dx_error *err)
{
    const struct dx_version *v = s->view.version;
    const struct dx_version_part *of = &v->parts[dx_version_part_at(v, number)];
    const struct dx_hidden_part *hidden = dx_suppression_domains_part(&s->hidden, number);
    struct dx_domain_pairs *pairs = &s->pairs;
    bool shown = false;
    int rc = is_part(s, number, err);

    if (rc <= 0)
        return rc;
    rc = dx_view_pairs(pairs, &s->view, of->part, number - of->first, err);

    spend(s, 1 + pairs->count / PAIRS_A_LOOK);
    if (rc >= 0 && hidden != NULL)
        pairs->count = dx_suppression_view_show(&hidden->withheld, pairs->ids, pairs->counts,
                                                pairs->count, NULL);
    for (size_t i = 0; rc >= 0 && i < pairs->count; i++) {
        size_t at = each == NULL ? 0 : index_of(&v->registry, pairs->ids[i]);

        if (dataset != NULL && pairs->ids[i] != dataset->dataset_id)
            continue;
        if (each != NULL && at == v->registry.count)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: domain %llu is of dataset %lu, which is not registered",
                           of->part->directory, (unsigned long long)(number - of->first),
                           (unsigned long)pairs->ids[i]);
        add_pair(s, pairs, i, sum);
        if (each != NULL) {
            add_pair(s, pairs, i, &each[at]);
            each[at].domains++;
        }
        shown = true;
    }
    sum->domains += shown;
    return rc < 0 ? rc : DX_OK;
}

static int add_stretch(struct dx_suffix_sums *s, const struct dx_dataset *dataset, uint64_t first,
                       uint64_t end, struct dx_suffix_sum *sum, struct dx_suffix_sum *each,
                       struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    roaring_uint32_iterator_t it;
    int rc = find_numbers(s, dataset, first, end, &err);

    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (roaring_bitmap_is_empty(s->numbers))
        return 1;
    rc = find_hidden(s, problem);
    if (rc != 1)
        return rc;
    roaring_init_iterator(s->numbers, &it);
    for (rc = DX_OK; rc == DX_OK && it.has_value; (void)roaring_advance_uint32_iterator(&it))
        rc = add_domain(s, dataset, it.current_value, sum, each, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

int dx_suffix_sums_add(struct dx_suffix_sums *s, const struct dx_dataset *dataset, uint64_t *place,
                       struct dx_suffix_sum *sum, struct dx_suffix_sum *each,
                       struct dx_problem *problem)
{
    uint64_t first;
    uint64_t end;

    while (next_stretch(s, *place, &first, &end)) {
        int rc;

        if (s->left == 0)
            return 0;
        rc = add_stretch(s, dataset, first, end, sum, each, problem);
        if (rc != 1)
            return rc;
        *place = end;
    }
    return 1;
}

/* ---- why there is nothing ---- */

/* Of one domain that the view has: 1 it is withheld, 0 not, <0. */
static int is_withheld(struct dx_suffix_sums *s, uint64_t number, struct dx_problem *problem)
{
    const struct dx_version *v = s->view.version;
    const struct dx_version_part *of = &v->parts[dx_version_part_at(v, number)];
    struct dx_found found = { .part = of->part, .ordinal = number - of->first };
    struct dx_suppression_view withheld;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span name;
    int rc = is_part(s, number, &err);

    if (rc == 0)
        return 0;
    if (rc == 1)
        rc = dx_version_domain(v, number, found.domain, &found.domain_size, &err);
    name = dx_span_of(found.domain, found.domain_size);
    if (rc == 1)
        rc = dx_mphf_domain_id(&of->part->mphf, found.ordinal, name, &found.domain_id, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (dx_lookup_allowed(&s->view, name, problem) == 0)
        return problem->kind == DX_PROBLEM_WITHHELD;
    rc = dx_suppression_view_of(&s->view, &found, &withheld, problem);
    if (rc == 1)
        dx_suppression_view_release(&withheld);
    if (rc < 0)
        return dx_suppression_view_unknown(rc, problem);
    return rc == 0 && problem->kind == DX_PROBLEM_WITHHELD;
}

int dx_suffix_sums_nothing(struct dx_suffix_sums *s, struct dx_span name,
                           struct dx_problem *problem)
{
    uint64_t place = 0;
    uint64_t first;
    uint64_t end;

    while (s->left > 0 && next_stretch(s, place, &first, &end)) {
        struct dx_error err = DX_ERROR_INIT;
        roaring_uint32_iterator_t it;
        int rc = find_numbers(s, NULL, first, end, &err);

        if (rc < 0)
            return dx_problem_of_error(problem, &err);
        roaring_init_iterator(s->numbers, &it);
        for (; it.has_value; (void)roaring_advance_uint32_iterator(&it)) {
            rc = is_withheld(s, it.current_value, problem);
            if (rc != 0)
                return rc < 0 ? rc : dx_suppressed_problem(name, problem);
        }
        place = end;
    }
    return dx_lookup_no_domain(&s->view, name, problem);
}
