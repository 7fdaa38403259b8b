/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/compact_plan.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "builder/lake/lake_layout.h"

#define RANGES_MAX 256

/* The files of one dataset. */
struct planning {
    struct dx_compact_plan *plan;
    struct dx_compact_file *file;
    size_t count;
    uint64_t scale;
    unsigned ranges;
    unsigned part[RANGES_MAX]; /* of each range: the first of those that belong together */
    struct {
        size_t files;
        uint64_t rows;
        bool merge;
        uint32_t group;
    } sum[RANGES_MAX]; /* by the first range */
};

static unsigned range_of(const struct planning *p, uint8_t prefix)
{
    assert(p->ranges >= 1 && p->ranges <= 256);
    return prefix / (256 / p->ranges);
}

static unsigned part_of(const struct planning *p, const struct dx_compact_file *f)
{
    return p->part[range_of(p, f->first)];
}

static bool is_mergeable(const struct dx_compact_file *f)
{
    return f->ours && !f->fixed;
}

/* Ranges that some file reaches over belong together. */
static void join_ranges(struct planning *p)
{
    bool joined[RANGES_MAX] = { false }; /* range r and the one before it */

    for (size_t i = 0; i < p->count; i++)
        if (is_mergeable(&p->file[i]))
            for (unsigned r = range_of(p, p->file[i].first); r < range_of(p, p->file[i].last); r++)
                joined[r + 1] = true;
    for (unsigned r = 0; r < p->ranges; r++)
        p->part[r] = r > 0 && joined[r] ? p->part[r - 1] : r;
}

static void sum_parts(struct planning *p)
{
    for (unsigned r = 0; r < p->ranges; r++) {
        p->sum[r].files = 0;
        p->sum[r].rows = 0;
        p->sum[r].group = 0;
    }
    for (size_t i = 0; i < p->count; i++) {
        unsigned part = part_of(p, &p->file[i]);

        if (!is_mergeable(&p->file[i]))
            continue;
        p->sum[part].files++;
        p->sum[part].rows += p->file[i].rows;
    }
    for (unsigned r = 0; r < p->ranges; r++) {
        uint64_t rows = p->sum[r].rows * p->scale;
        uint64_t full = rows == 0 ? 1 : (rows - 1) / DX_LAKE_ROWS_A_FILE + 1;

        p->sum[r].merge = p->sum[r].files > full;
    }
}

static int new_group(struct planning *p, uint32_t *number, struct dx_error *err)
{
    struct dx_compact_plan *plan = p->plan;
    struct dx_compact_group *grown = dx_array_room(plan->group, plan->count, &plan->capacity,
                                                   sizeof *grown);

    if (grown == NULL)
        return dx_no_memory(err, "compact: groups");
    plan->group = grown;
    plan->group[plan->count++] = (struct dx_compact_group){ .dataset_id = p->file[0].dataset_id,
                                                            .ranges = p->ranges };
    *number = (uint32_t)plan->count;
    return DX_OK;
}

static int take_files(struct planning *p, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < p->count; i++) {
        struct dx_compact_file *f = &p->file[i];
        unsigned part = part_of(p, f);
        struct dx_compact_group *group;

        f->group = 0;
        if (f->fixed || !(f->hit || (f->ours && p->sum[part].merge)))
            continue;
        if (p->sum[part].group == 0)
            rc = new_group(p, &p->sum[part].group, err);
        if (rc < 0)
            break;
        f->group = p->sum[part].group;
        group = &p->plan->group[f->group - 1];
        group->files++;
        group->rows += f->rows;
    }
    return rc;
}

static int plan_dataset(struct planning *p, struct dx_error *err)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < p->count; i++)
        rows += p->file[i].rows;
    p->ranges = dx_lake_range_count(rows * p->scale);
    join_ranges(p);
    sum_parts(p);
    return take_files(p, err);
}

int dx_compact_plan(struct dx_compact_plan *plan, struct dx_compact_file *file, size_t count,
                    uint64_t scale, struct dx_error *err)
{
    struct planning *p = calloc(1, sizeof *p);
    int rc = DX_OK;

    assert(scale > 0);
    *plan = (struct dx_compact_plan){ NULL, 0, 0 };
    if (p == NULL)
        return dx_no_memory(err, "compact");
    p->plan = plan;
    p->scale = scale;
    for (size_t i = 0; rc == DX_OK && i < count; i += p->count) {
        p->file = &file[i];
        p->count = 1;
        while (i + p->count < count && file[i + p->count].dataset_id == file[i].dataset_id)
            p->count++;
        rc = plan_dataset(p, err);
    }
    free(p);
    if (rc < 0)
        dx_compact_plan_release(plan);
    return rc;
}

void dx_compact_plan_release(struct dx_compact_plan *plan)
{
    free(plan->group);
    *plan = (struct dx_compact_plan){ NULL, 0, 0 };
}
