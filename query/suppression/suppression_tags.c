/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/suppression_tags.h"

#include <roaring/roaring.h>

#include "loader/version.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

bool dx_suppression_tags_any(struct dx_version *v)
{
    return dx_suppressed_line(v) != 0;
}

int dx_suppression_tags_begin(struct dx_suppression_tags *h, const struct dx_view *view,
                              struct dx_canon *canon, const struct roaring_bitmap_s *numbers,
                              uint64_t deadline_ms, struct dx_problem *problem)
{
    *h = (struct dx_suppression_tags){ .domains = { .whole = NULL } };
    dx_pair_runs_init(&h->runs, view->version, deadline_ms);
    return dx_suppression_domains_among(&h->domains, view, canon, numbers, problem);
}

void dx_suppression_tags_release(struct dx_suppression_tags *h)
{
    dx_pair_runs_release(&h->runs);
    dx_suppression_domains_release(&h->domains);
}

/* ---- which pairs ---- */

static int want(struct dx_suppression_tags *h, uint64_t number, uint32_t dataset_id,
                struct dx_error *err)
{
    int rc;

    if (h->runs.pair_count >= 2 * DX_TAG_HIDDEN_PAIRS) {
        dx_pair_runs_distinct(&h->runs);
        if (h->runs.pair_count >= DX_TAG_HIDDEN_PAIRS)
            return 0;
    }
    rc = dx_pair_runs_add(&h->runs, number, dataset_id, err);
    return rc < 0 ? rc : 1;
}

/* There may be many rules and few numbers, or the other way round: what is between is leapt over
 * on both sides. */
static int want_whole(struct dx_suppression_tags *h, const roaring_bitmap_t *numbers,
                      uint32_t dataset_id, struct dx_error *err)
{
    const struct dx_suppression_domains *d = &h->domains;
    roaring_uint32_iterator_t it;
    size_t i = 0;
    int rc = 1;

    roaring_init_iterator(numbers, &it);
    while (rc == 1 && it.has_value &&
           (i = dx_hidden_range_from(d->whole, d->whole_count, i, it.current_value)) <
               d->whole_count) {
        if (it.current_value >= d->whole[i].first) {
            rc = want(h, it.current_value, dataset_id, err);
            (void)roaring_advance_uint32_iterator(&it);
        } else {
            (void)roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)d->whole[i].first);
        }
    }
    return rc;
}

static int want_parts(struct dx_suppression_tags *h, const roaring_bitmap_t *numbers,
                      uint32_t dataset_id, struct dx_error *err)
{
    const struct dx_suppression_domains *d = &h->domains;
    roaring_uint32_iterator_t it;
    size_t i = 0;
    int rc = 1;

    roaring_init_iterator(numbers, &it);
    while (rc == 1 && it.has_value &&
           (i = dx_suppression_domains_part_from(d, i, it.current_value)) < d->part_count) {
        if (it.current_value < d->parts[i].number) {
            (void)roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)d->parts[i].number);
            continue;
        }
        if (dx_suppression_view_pair(&d->parts[i].withheld, dataset_id) != NULL)
            rc = want(h, d->parts[i].number, dataset_id, err);
        (void)roaring_advance_uint32_iterator(&it);
    }
    return rc;
}

int dx_suppression_tags_want(struct dx_suppression_tags *h, const struct roaring_bitmap_s *numbers,
                             uint32_t dataset_id, struct dx_error *err)
{
    int rc = want_whole(h, numbers, dataset_id, err);

    return rc == 1 ? want_parts(h, numbers, dataset_id, err) : rc;
}

/* ---- their rows ---- */

static void remove_part(const struct dx_suppression_pair *pair, const struct dx_pair_run *run,
                        roaring_bitmap_t *rows)
{
    uint64_t end = run->position + run->rows;
    size_t low = 0;
    size_t high = pair->range_count;

    /* The first range that ends behind where the run begins. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pair->ranges[middle].end <= run->position)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < pair->range_count && pair->ranges[low].first < end; low++) {
        const struct dx_suppression_range *r = &pair->ranges[low];
        uint64_t from = r->first > run->position ? r->first : run->position;
        uint64_t to = r->end < end ? r->end : end;

        roaring_bitmap_remove_range(rows, run->row + (from - run->position),
                                    run->row + (to - run->position));
    }
}

void dx_suppression_tags_remove(const struct dx_suppression_tags *h, uint32_t file_id,
                                struct roaring_bitmap_s *rows)
{
    size_t end;
    size_t i = dx_pair_runs_of_file(&h->runs, file_id, &end);

    while ((i = dx_pair_runs_with(&h->runs, i, end, rows)) < end) {
        const struct dx_pair_run *run = &h->runs.runs[i++];
        const struct dx_pair_runs_pair *of = &h->runs.pairs[run->pair];
        const struct dx_hidden_part *part = dx_suppression_domains_part(&h->domains, of->number);

        if (part != NULL)
            remove_part(dx_suppression_view_pair(&part->withheld, of->dataset_id), run, rows);
        else
            roaring_bitmap_remove_range(rows, run->row, run->row + run->rows);
    }
}
