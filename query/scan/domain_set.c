/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/domain_set.h"

#include <assert.h>
#include <roaring/roaring.h>

#include "loader/version_parts.h"
#include "query/scan/name_scan.h"

static const struct dx_version_part *part_of(const struct dx_domain_set *s, size_t i)
{
    return &s->view.version->parts[i];
}

static size_t parts_of(const struct dx_domain_set *s)
{
    return s->view.version->part_count;
}

/* ---- the range ---- */

/* All, or those of the suffix. */
static int find_range(struct dx_domain_set *s, size_t i, struct dx_span suffix,
                      struct dx_error *err)
{
    const struct dx_dictionary *d = &part_of(s, i)->part->dictionary;
    struct dx_domain_set_range *range = &s->range[i];

    *range = (struct dx_domain_set_range){ 0, 0, d->info.n };
    return suffix.data == NULL ? DX_OK
                               : dx_dictionary_below(d, suffix, &range->next, &range->end, err);
}

int dx_domain_set_init(struct dx_domain_set *s, const struct dx_view *view,
                       const struct dx_dataset *dataset, struct dx_span suffix,
                       struct dx_error *err)
{
    int rc = DX_OK;

    *s = (struct dx_domain_set){ .view = *view, .dataset = dataset };
    s->numbers = roaring_bitmap_create();
    if (s->numbers == NULL)
        rc = dx_no_memory(err, "domains");
    for (size_t i = 0; rc == DX_OK && i < parts_of(s); i++)
        rc = find_range(s, i, suffix, err);
    return rc;
}

void dx_domain_set_release(struct dx_domain_set *s)
{
    if (s->numbers != NULL)
        roaring_bitmap_free(s->numbers);
    s->numbers = NULL;
}

int dx_domain_set_key(const struct dx_domain_set *s, uint64_t number,
                      struct dx_dictionary_cursor *c, struct dx_span *key, struct dx_error *err)
{
    const struct dx_version_part *of = part_of(s, dx_version_part_at(s->view.version, number));
    int rc;

    assert(number < s->view.version->numbers);
    dx_dictionary_seek(c, &of->part->dictionary, number - of->first);
    rc = dx_dictionary_next(c, key, err);
    return rc != 0 ? (rc < 0 ? rc : DX_OK)
                   : dx_fail(err, DX_E_CORRUPT, "%s: there is no domain %llu", of->part->directory,
                             (unsigned long long)(number - of->first));
}

int dx_domain_set_places(const struct dx_domain_set *s, uint64_t number, uint64_t at[DX_PARTS_MAX],
                         struct dx_error *err)
{
    struct dx_dictionary_cursor c;
    struct dx_span key;
    int rc = DX_OK;

    assert(number <= s->view.version->numbers);
    for (size_t i = 0; i < parts_of(s); i++)
        at[i] = part_of(s, i)->part->dictionary.info.n;
    if (number == s->view.version->numbers)
        return DX_OK;
    rc = dx_domain_set_key(s, number, &c, &key, err);
    for (size_t i = 0; rc >= 0 && i < parts_of(s); i++)
        rc = dx_dictionary_lower_bound(&part_of(s, i)->part->dictionary, key, &at[i], err);
    return rc < 0 ? rc : DX_OK;
}

int dx_domain_set_from(struct dx_domain_set *s, uint64_t number, struct dx_error *err)
{
    uint64_t at[DX_PARTS_MAX];
    int rc = dx_domain_set_places(s, number, at, err);

    for (size_t i = 0; rc == DX_OK && i < parts_of(s); i++) {
        struct dx_domain_set_range *range = &s->range[i];

        if (at[i] > range->next)
            range->next = at[i] < range->end ? at[i] : range->end;
    }
    return rc;
}

int dx_domain_set_to(struct dx_domain_set *s, uint64_t number, struct dx_error *err)
{
    uint64_t at[DX_PARTS_MAX];
    int rc = dx_domain_set_places(s, number, at, err);

    for (size_t i = 0; rc == DX_OK && i < parts_of(s); i++) {
        struct dx_domain_set_range *range = &s->range[i];

        if (at[i] < range->end)
            range->end = at[i] > range->next ? at[i] : range->next;
    }
    return rc;
}

int dx_domain_set_between(struct dx_domain_set *s, struct dx_span low, struct dx_span high,
                          struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc >= 0 && i < parts_of(s); i++) {
        const struct dx_dictionary *d = &part_of(s, i)->part->dictionary;
        struct dx_domain_set_range *range = &s->range[i];
        uint64_t first;
        uint64_t end = range->end;

        rc = dx_dictionary_lower_bound(d, low, &first, err);
        if (rc >= 0 && high.data != NULL)
            rc = dx_dictionary_lower_bound(d, high, &end, err);
        range->next = first > range->next ? first : range->next;
        range->end = end < range->end ? end : range->end;
        if (range->next > range->end)
            range->next = range->end;
    }
    return rc < 0 ? rc : DX_OK;
}

/* ---- which of it are visible ---- */

bool dx_domain_set_is_whole(const struct dx_domain_set *s)
{
    return s->dataset == NULL && !dx_view_restricted(&s->view);
}

/* Of datasets that are visible, and asked for: what they have of the next stretch. */
static int add_window(struct dx_domain_set *s, const uint64_t *from, uint64_t *looked,
                      struct dx_error *err)
{
    const struct dx_registry *r = &s->view.version->registry;
    int rc = 0;

    for (size_t k = 0; rc >= 0 && k < r->count; k++) {
        uint32_t id = r->datasets[k].dataset_id;

        if (s->dataset != NULL ? id != s->dataset->dataset_id : !dx_view_shows(&s->view, id))
            continue;
        *looked += s->dataset == NULL;
        for (size_t i = 0; rc >= 0 && i < parts_of(s); i++)
            rc = dx_version_add_dataset(s->view.version, id, part_of(s, i)->first + from[i],
                                        part_of(s, i)->first + s->range[i].known, s->numbers,
                                        looked, err);
    }
    ++*looked;
    return rc < 0 ? rc : DX_OK;
}

/* Of each part up to `size` names from `from + done` on: 1 there were some, 0, <0. */
static int search_stretch(struct dx_domain_set *s, const uint64_t *from, uint64_t done,
                          uint64_t size, struct dx_error *err)
{
    bool whole = dx_domain_set_is_whole(s);
    bool any = false;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < parts_of(s); i++) {
        const struct dx_dictionary *d = &part_of(s, i)->part->dictionary;
        uint64_t first = part_of(s, i)->first;
        uint64_t known = s->range[i].known;
        uint64_t at = from[i] + done;
        uint64_t end;

        if (known - from[i] <= done)
            continue;
        any = true;
        end = known - at < size ? known : at + size;
        rc = whole ? dx_name_scan_range(s->scan, d, at, end, first, s->found, err)
                   : dx_name_scan_numbers(s->scan, d, at, end, first, s->numbers, s->found, err);
    }
    return rc < 0 ? rc : any;
}

/* Which of the names from `from` on the pattern takes. Where its regex takes too much, a part is known up to where all were searched
 * for as many names: each goes on, so that the set does. */
static int search_names(struct dx_domain_set *s, const uint64_t *from, struct dx_error *err)
{
    uint64_t size = dx_name_scan_stretch(s->scan);
    uint64_t done = 0;
    int rc = 1;

    while (rc == 1 && (done == 0 || !dx_name_scan_is_enough(s->scan))) {
        rc = search_stretch(s, from, done, size, err);
        done = done > UINT64_MAX - size ? UINT64_MAX : done + size;
    }
    for (size_t i = 0; rc == 1 && i < parts_of(s); i++) {
        struct dx_domain_set_range *range = &s->range[i];
        uint64_t first = part_of(s, i)->first;

        if (range->known - from[i] <= done)
            continue;
        roaring_bitmap_remove_range(s->numbers, first + from[i] + done, first + range->known);
        range->known = from[i] + done;
    }
    return rc < 0 ? rc : DX_OK;
}

/* The next `step` names of each part. */
static int add_step(struct dx_domain_set *s, uint64_t step, uint64_t *looked, struct dx_error *err)
{
    bool whole = dx_domain_set_is_whole(s);
    uint64_t from[DX_PARTS_MAX];
    int rc = DX_OK;

    for (size_t i = 0; i < parts_of(s); i++) {
        struct dx_domain_set_range *range = &s->range[i];

        from[i] = range->known;
        range->known += range->end - range->known < step ? range->end - range->known : step;
        if (!whole)
            continue;
        *looked += range->known - from[i];
        roaring_bitmap_add_range(s->numbers, part_of(s, i)->first + from[i],
                                 part_of(s, i)->first + range->known);
    }
    if (!whole)
        rc = add_window(s, from, looked, err);
    return rc == DX_OK && s->scan != NULL ? search_names(s, from, err) : rc;
}

static bool is_known(const struct dx_domain_set *s)
{
    bool all = true;

    for (size_t i = 0; i < parts_of(s); i++)
        all = all && s->range[i].known == s->range[i].end;
    return all;
}

/* Where some part is not known to its end, the set ends before the least key that is not: what
 * other parts have behind it is taken out. */
static int cut_unknown(struct dx_domain_set *s, struct dx_error *err)
{
    struct dx_dictionary_cursor least; /* has the bytes of key */
    struct dx_span key = { NULL, 0 };
    int rc = DX_OK;

    s->more = false;
    for (size_t i = 0; rc >= 0 && i < parts_of(s); i++) {
        struct dx_dictionary_cursor c;
        struct dx_span its;

        if (s->range[i].known == s->range[i].end)
            continue;
        dx_dictionary_seek(&c, &part_of(s, i)->part->dictionary, s->range[i].known);
        rc = dx_dictionary_next(&c, &its, err);
        if (rc == 1 && (!s->more || dx_span_compare(its, key) < 0)) {
            least = c;
            key = dx_span_of(least.key, its.size);
            s->next = part_of(s, i)->first + s->range[i].known;
            s->more = true;
        }
    }
    for (size_t i = 0; rc >= 0 && s->more && i < parts_of(s); i++) {
        const struct dx_version_part *part = part_of(s, i);
        uint64_t end;

        rc = dx_dictionary_lower_bound(&part->part->dictionary, key, &end, err);
        if (rc >= 0 && end < s->range[i].known)
            roaring_bitmap_remove_range(s->numbers, part->first + end,
                                        part->first + s->range[i].known);
    }
    return rc < 0 ? rc : DX_OK;
}

static bool is_enough(const struct dx_domain_set *s)
{
    return s->scan != NULL && (roaring_bitmap_and_cardinality(s->numbers, s->found) > s->enough ||
                               dx_name_scan_is_enough(s->scan));
}

int dx_domain_set_find(struct dx_domain_set *s, uint64_t max, struct dx_error *err)
{
    uint64_t step = s->scan != NULL || !dx_domain_set_is_whole(s) ? DX_DOMAIN_SET_WINDOW : max;
    uint64_t looked = 0;
    int rc = DX_OK;

    assert(s->scan == NULL || s->found != NULL);
    roaring_bitmap_clear(s->numbers);
    for (size_t i = 0; i < parts_of(s); i++)
        s->range[i].known = s->range[i].next;
    while (rc == DX_OK && !is_known(s) && looked < max && !is_enough(s))
        rc = add_step(s, step, &looked, err);
    if (rc == DX_OK)
        rc = cut_unknown(s, err);
    if (rc == DX_OK)
        rc = dx_version_remove_dead(s->view.version, s->numbers, err);
    if (rc >= 0 && s->scan != NULL)
        roaring_bitmap_and_inplace(s->numbers, s->found);
    return rc < 0 ? rc : DX_OK;
}

int dx_domain_set_count(struct dx_domain_set *s, uint64_t max, struct dx_error *err)
{
    uint64_t looked = 0;
    int rc = DX_OK;

    if (dx_domain_set_is_whole(s))
        return DX_OK;
    for (size_t i = 0; i < parts_of(s); i++)
        s->range[i].known = s->range[i].next;
    while (rc == DX_OK && !is_known(s) && looked < max)
        rc = add_step(s, DX_DOMAIN_SET_WINDOW, &looked, err);
    if (rc == DX_OK && !is_known(s))
        rc = dx_fail(err, DX_E_LIMIT,
                     "a plan would have to count over %llu domains of datasets; ask for a suffix, "
                     "or without plan",
                     (unsigned long long)max);
    return rc < 0 ? rc : dx_version_remove_dead(s->view.version, s->numbers, err);
}
