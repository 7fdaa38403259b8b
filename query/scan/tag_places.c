/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/tag_places.h"

#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

#include "loader/version_parts.h"
#include "query/rows/pair_runs.h"

void dx_tag_places_init(struct dx_tag_places *p, const struct dx_version *v, struct dx_span tag)
{
    assert(dx_tag_fits(tag)); /* no other is indexed */
    *p = (struct dx_tag_places){ .version = v, .tag = tag };
}

static void leave_file(struct dx_tag_places *p)
{
    if (p->rows != NULL)
        roaring_bitmap_free(p->rows);
    free(p->bases);
    p->rows = NULL;
    p->bases = NULL;
    p->has_file = false;
}

void dx_tag_places_release(struct dx_tag_places *p)
{
    leave_file(p);
}

static int enter_part(struct dx_tag_places *p, uint32_t file_id, struct dx_error *err)
{
    const struct dx_part *part = dx_version_part_of_file(p->version, file_id);
    int rc;

    if (part == NULL)
        return dx_fail(err, DX_E_CORRUPT, "no part has lake file %lu", (unsigned long)file_id);
    if (part == p->part)
        return DX_OK;
    rc = part->tags == NULL ? 0 : dx_tags_find(part->tags, p->tag, &p->number, err);
    p->part = rc < 0 ? NULL : part;
    p->is_in_part = rc == 1;
    return rc < 0 ? rc : DX_OK;
}

static int read_rows(struct dx_tag_places *p, const struct dx_tag_file *file, struct dx_error *err)
{
    struct dx_dataset_set rows;
    struct dx_dataset_set domains;
    int rc = dx_tag_file_sets(p->part->tags, file, &rows, &domains, err);

    if (rc >= 0)
        rc = dx_file_group_rows(p->version, file->file_id, &p->bases, &p->group_count, err);
    if (rc < 0)
        return rc;
    p->rows = dx_dataset_set_bitmap(&rows);
    return p->rows == NULL ? dx_no_memory(err, "rows of a tag") : DX_OK;
}

static int enter_file(struct dx_tag_places *p, uint32_t file_id, struct dx_error *err)
{
    struct dx_tag_cursor c;
    struct dx_tag_file file;
    int rc;

    if (p->has_file && p->file_id == file_id)
        return DX_OK;
    leave_file(p);
    rc = enter_part(p, file_id, err);
    if (rc == DX_OK && p->is_in_part) {
        rc = dx_tags_files(p->part->tags, p->number, &c, err);
        if (rc >= 0)
            rc = dx_tag_cursor_seek(&c, file_id, err);
        if (rc >= 0)
            rc = dx_tag_cursor_next(&c, &file, err);
        if (rc == 1 && file.file_id == file_id)
            rc = read_rows(p, &file, err);
    }
    p->has_file = rc >= 0;
    p->file_id = file_id;
    return rc < 0 ? rc : DX_OK;
}

/* The first row of the run, from the skip-th on, that has the tag: 1, with how many are before it in the run; 0, <0. */
static int next_of_run(struct dx_tag_places *p, const struct dx_run *run, uint64_t skip,
                       uint64_t *at, struct dx_error *err)
{
    roaring_uint32_iterator_t it;
    uint64_t first;
    int rc = enter_file(p, run->file_id, err);

    if (rc < 0 || p->rows == NULL)
        return rc < 0 ? rc : 0;
    if (run->row_group >= p->group_count)
        return dx_fail(err, DX_E_CORRUPT, "lake file %lu has no row group %lu",
                       (unsigned long)run->file_id, (unsigned long)run->row_group);
    first = p->bases[run->row_group] + run->first_row;
    if (first + skip > UINT32_MAX)
        return 0;
    roaring_init_iterator(p->rows, &it);
    if (!roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)(first + skip)) ||
        it.current_value - first >= run->row_count)
        return 0;
    *at = it.current_value - first;
    return 1;
}

static size_t run_of(const uint64_t *places, size_t count, uint64_t place)
{
    size_t low = 0;
    size_t high = count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (places[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int dx_tag_places_next(struct dx_tag_places *p, const struct dx_run *runs, const uint64_t *places,
                       size_t count, uint64_t from, uint64_t *place, struct dx_error *err)
{
    int rc = 0;

    assert(count > 0 && places[0] <= from);
    for (size_t i = run_of(places, count, from); rc == 0 && i < count; i++) {
        uint64_t skip = from > places[i] ? from - places[i] : 0;
        uint64_t at = 0;

        if (skip >= runs[i].row_count)
            continue;
        rc = next_of_run(p, &runs[i], skip, &at, err);
        *place = places[i] + at;
    }
    return rc;
}
