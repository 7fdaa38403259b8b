/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/compact.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_files.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/maintain/compact_merge.h"
#include "builder/maintain/compact_survey.h"
#include "builder/policy/suppress.h"
#include "builder/root/root.h"
#include "builder/scan/scan_faults.h"
#include "format/root/rules.h"

#define RUNS_MAX 8       /* each is without datasets that the one before found damaged in the end */
#define INGEST_ROOM 4096 /* files of one run in one folder: as many as 16 billion rows need */

/* A new file that waits in tmp_dir for its number. */
struct made {
    struct dx_lake_path where;
    size_t number;
};

/* A file that the scan refused after files of its dataset were merged. */
struct refused {
    char *path;
    struct dx_error why;
};

/* What a dataset's merges change. */
struct mark {
    uint64_t files_taken, bytes_taken, rows_left_out, rows_equal;
    struct dx_compact_left left;
    size_t made_count;
};

struct compaction {
    const struct dx_compact_options *o;
    struct dx_compact_result *result;
    struct dx_root root;
    uint64_t scale;
    struct dx_rules *rules;
    bool lacks_files; /* the lake: of the current version */
    struct refused *refused;
    size_t refused_count, refused_capacity;

    /* while rewriting */
    const struct dx_rewrite_in *in;
    struct dx_compact_survey survey;
    struct dx_compact_file *file; /* of in->files */
    uint64_t cleansed;
    struct made *made;
    size_t made_count;
    size_t made_capacity;
};

/* ---- what the log says ---- */

static int read_rules(struct compaction *c, struct dx_error *err)
{
    struct dx_suppressions log;
    int rc = dx_suppress_read(c->root.name, &log, err);

    if (rc == DX_OK)
        rc = dx_rules_new(&c->rules, &log, err);
    c->result->rules_last = log.count;
    dx_suppressions_release(&log);
    return rc;
}

static bool has_rules(const struct compaction *c)
{
    return c->rules != NULL && c->rules->count > 0;
}

/* ---- damaged files ---- */

/* A file cannot be read, or not be rewritten: its dataset stays as it is, and the compaction goes on,
 * unless the machine or the store may be to blame. */
static int leave_dataset(struct compaction *c, uint32_t file, const struct dx_error *fault,
                         struct dx_rewrite_out *out, struct dx_error *err)
{
    uint32_t dataset_id = c->in->files[file].dataset_id;

    if (dx_scan_of_machine((int)fault->code)) {
        if (err != NULL)
            *err = *fault;
        return (int)fault->code;
    }
    for (size_t i = 0; i < c->in->file_count; i++)
        if (c->in->files[i].dataset_id == dataset_id) {
            c->file[i].fixed = c->file[i].frozen = true;
            c->file[i].hit = false;
            out->goes[i] = false;
        }
    return dx_scan_faults_add(&out->faults, file, fault, err);
}

/* What an earlier run found in the end. */
static int leave_refused(struct compaction *c, struct dx_rewrite_out *out, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t k = 0; k < c->refused_count; k++)
        for (size_t i = 0; rc == DX_OK && i < c->in->file_count; i++)
            if (!c->in->files[i].frozen && strcmp(c->in->files[i].path, c->refused[k].path) == 0)
                rc = leave_dataset(c, (uint32_t)i, &c->refused[k].why, out, err);
    return rc;
}

static int refuse(void *ctx, const char *path, const struct dx_error *fault, struct dx_error *err)
{
    struct compaction *c = ctx;
    struct refused *to = dx_array_room(c->refused, c->refused_count, &c->refused_capacity,
                                       sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "compact");
    c->refused = to;
    to += c->refused_count;
    *to = (struct refused){ strdup(path), *fault };
    if (to->path == NULL)
        return dx_no_memory(err, "compact");
    c->refused_count++;
    return DX_OK;
}

/* ---- which files ---- */

/* A version that was cleansed by more rules than there are: the log is another one. */
static bool is_clean(const struct compaction *c)
{
    return c->survey.cleansed == c->in->rules_last;
}

/* Files that are merged anyway are skipped; for one that may not go all rules that hit it count. */
static int find_hits(struct compaction *c, struct dx_rewrite_out *out, struct dx_error *err)
{
    uint64_t lowest = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < c->in->file_count; i++) {
        struct dx_compact_file *f = &c->file[i];
        struct dx_error fault = DX_ERROR_INIT;
        uint64_t number = 0;

        if (f->group != 0 || f->frozen || (!f->fixed && is_clean(c)))
            continue;
        if (c->o->stopped != NULL && c->o->stopped())
            return dx_fail(err, DX_E_IO, "interrupted; nothing was changed");
        if (dx_compact_hit(c->in, (uint32_t)i, !f->fixed, &number, &fault) < 0) {
            rc = leave_dataset(c, (uint32_t)i, &fault, out, err);
            continue;
        }
        f->hit = number != 0 && !f->fixed;
        if (f->fixed && number != 0 && (lowest == 0 || number < lowest))
            lowest = number;
    }
    if (lowest != 0)
        c->cleansed = lowest - 1;
    return rc;
}

static int plan(struct compaction *c, struct dx_rewrite_out *out, struct dx_error *err)
{
    int rc = dx_compact_plan(&c->result->plan, c->file, c->in->file_count, c->scale, err);

    c->cleansed = c->in->rules_last;
    if (rc < 0 || !has_rules(c))
        return rc;
    rc = find_hits(c, out, err);
    dx_compact_plan_release(&c->result->plan);
    return rc < 0 ? rc
                  : dx_compact_plan(&c->result->plan, c->file, c->in->file_count, c->scale, err);
}

/* ---- merging ---- */

static int stage_path(const struct compaction *c, size_t number, char path[PATH_MAX],
                      struct dx_error *err)
{
    return dx_path_format(path, PATH_MAX, err, "%s/compacted-%08zu", c->in->tmp_dir, number);
}

static int keep_made(void *ctx, const char *path, const struct dx_lake_path *where,
                     struct dx_error *err)
{
    struct compaction *c = ctx;
    struct made *grown;
    char to[PATH_MAX];
    int rc = stage_path(c, c->made_count, to, err);

    if (rc < 0)
        return rc;
    grown = dx_array_room(c->made, c->made_count, &c->made_capacity, sizeof *grown);
    if (grown == NULL)
        return dx_no_memory(err, "compact: files");
    c->made = grown;
    if (rename(path, to) < 0)
        return dx_fail_errno(err, errno, "%s: cannot rename to %s", path, to);
    c->made[c->made_count] = (struct made){ *where, c->made_count };
    c->made_count++;
    return DX_OK;
}

static void count_merge(struct compaction *c, const struct dx_compact_merge *m,
                        struct dx_rewrite_out *out)
{
    struct dx_compact_result *r = c->result;

    for (size_t i = 0; i < m->file_count; i++) {
        out->goes[m->file[i]] = true;
        r->files_taken++;
        r->bytes_taken += c->in->files[m->file[i]].size;
    }
    r->rows_left_out += m->rows_left_out;
    r->rows_equal += m->rows_equal;
}

/* The files that a merge could not read: DX_OK, and the dataset is left. */
static int leave_faulty(struct compaction *c, const struct dx_scan_faults *faults,
                        struct dx_rewrite_out *out, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < faults->count; i++)
        rc = leave_dataset(c, faults->list[i].file_id, &faults->list[i].err, out, err);
    return rc;
}

/* 1, or 0: they cannot be merged with all their columns, and why; or one of them cannot be read. */
static int merge_files(struct compaction *c, const struct dx_compact_group *g, const uint32_t *file,
                       size_t count, struct dx_rewrite_out *out, struct dx_compact_left *left,
                       struct dx_error *err)
{
    const struct dx_dataset *d = dx_registry_by_id(c->in->registry, g->dataset_id);
    struct dx_compact_merge m = { .in = c->in,
                                  .file = file,
                                  .file_count = count,
                                  .dataset_id = g->dataset_id,
                                  .dataset_name = d == NULL ? "" : d->name,
                                  .ranges = g->ranges,
                                  .rows_a_file = DX_LAKE_ROWS_A_FILE / c->scale,
                                  .stopped = c->o->stopped };
    int rc = dx_compact_merge_columns(&m, err);

    if (rc == 1 && (rc = dx_compact_merge_run(&m, keep_made, c, err)) == DX_OK) {
        count_merge(c, &m, out);
        rc = 1;
    } else if (rc == 0 && left->groups++ == 0) {
        (void)snprintf(left->why, sizeof left->why, "%s", m.why);
    } else if (rc < 0 && m.faults.count > 0) {
        rc = leave_faulty(c, &m.faults, out, err);
    }
    dx_compact_merge_release(&m);
    return rc;
}

/* Of files that stay apart those that rules hit. */
static int rewrite_hit(struct compaction *c, const struct dx_compact_group *g, const uint32_t *file,
                       size_t count, struct dx_rewrite_out *out, struct dx_error *err)
{
    for (size_t i = 0; i < count && !c->file[file[i]].frozen; i++) {
        struct dx_compact_left left = { 0 };
        struct dx_error fault = DX_ERROR_INIT;
        uint64_t number = 0;
        int rc = dx_compact_hit(c->in, file[i], true, &number, &fault);

        if (rc < 0)
            return leave_dataset(c, file[i], &fault, out, err);
        if (number != 0)
            rc = merge_files(c, g, &file[i], 1, out, &left, err);
        if (rc < 0)
            return rc;
        if (left.groups > 0) {
            (void)dx_fail(&fault, DX_E_UNSUPPORTED,
                          "suppression %llu hits rows of %s, which cannot be rewritten with all "
                          "its columns (%s); take the rows out of that file by other means, under "
                          "another name, and publish",
                          (unsigned long long)number, c->in->files[file[i]].path, left.why);
            return leave_dataset(c, file[i], &fault, out, err);
        }
    }
    return DX_OK;
}

static int merge_group(struct compaction *c, uint32_t number, uint32_t *indexes,
                       struct dx_rewrite_out *out, struct dx_error *err)
{
    const struct dx_compact_group *g = &c->result->plan.group[number - 1];
    size_t count = 0;
    int rc;

    assert(number > 0 && number <= c->result->plan.count);
    for (size_t i = 0; i < c->in->file_count; i++)
        if (c->file[i].group == number)
            indexes[count++] = (uint32_t)i;
    rc = merge_files(c, g, indexes, count, out, &c->result->left, err);
    if (rc == 0 && has_rules(c))
        rc = rewrite_hit(c, g, indexes, count, out, err);
    return rc < 0 ? rc : DX_OK;
}

static struct mark mark_of(const struct compaction *c)
{
    const struct dx_compact_result *r = c->result;

    return (struct mark){ r->files_taken, r->bytes_taken, r->rows_left_out,
                          r->rows_equal,  r->left,        c->made_count };
}

static void go_back(struct compaction *c, const struct mark *to)
{
    struct dx_compact_result *r = c->result;

    r->files_taken = to->files_taken;
    r->bytes_taken = to->bytes_taken;
    r->rows_left_out = to->rows_left_out;
    r->rows_equal = to->rows_equal;
    r->left = to->left;
    c->made_count = to->made_count; /* the files there are written over, or go with tmp_dir */
}

static bool is_left(const struct compaction *c, uint32_t dataset_id)
{
    for (size_t i = 0; i < c->in->file_count; i++)
        if (c->file[i].dataset_id == dataset_id)
            return c->file[i].frozen;
    return false;
}

/* The groups of one dataset, from `first` on: all of them or none. */
static int merge_dataset(struct compaction *c, uint32_t first, uint32_t *end, uint32_t *indexes,
                         struct dx_rewrite_out *out, struct dx_error *err)
{
    struct dx_compact_plan *plan = &c->result->plan;
    uint32_t dataset_id = plan->group[first - 1].dataset_id;
    const struct mark before = mark_of(c);
    int rc = DX_OK;

    for (*end = first; *end <= plan->count && plan->group[*end - 1].dataset_id == dataset_id;
         ++*end)
        if (rc == DX_OK && !is_left(c, dataset_id))
            rc = merge_group(c, *end, indexes, out, err);
    if (rc < 0 || !is_left(c, dataset_id))
        return rc;
    go_back(c, &before);
    for (uint32_t g = first; g < *end; g++)
        plan->group[g - 1].files = 0;
    return DX_OK;
}

static int merge_all(struct compaction *c, struct dx_rewrite_out *out, struct dx_error *err)
{
    uint32_t *indexes = calloc(c->in->file_count + 1, sizeof *indexes);
    int rc = indexes == NULL ? dx_no_memory(err, "compact") : DX_OK;
    uint32_t end = 1;

    for (uint32_t g = 1; rc == DX_OK && g <= c->result->plan.count; g = end)
        rc = merge_dataset(c, g, &end, indexes, out, err);
    free(indexes);
    return rc;
}

/* ---- names ---- */

static int by_folder(const void *a, const void *b)
{
    const struct made *x = a;
    const struct made *y = b;

    if (x->where.dataset_id != y->where.dataset_id)
        return x->where.dataset_id < y->where.dataset_id ? -1 : 1;
    if (x->where.first != y->where.first)
        return x->where.first < y->where.first ? -1 : 1;
    if (x->where.last != y->where.last)
        return x->where.last < y->where.last ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Above all numbers of the dataset, in whatever folder, and no lower than the registry allows. On a
 * store nothing is locked: a run that listed the lake before us may still add files, so there is
 * room for its numbers below ours. */
static uint32_t first_number(const struct compaction *c, const struct dx_lake_list *list,
                             const struct dx_dataset_registry *dataset_registry,
                             uint32_t dataset_id)
{
    uint32_t next = dx_lake_list_next_part_of(list, dataset_id, 0);

    next = dx_dataset_registry_next_part(dataset_registry, dataset_id, next);
    return (next == 0 ? 1 : next) + (c->root.in_place ? 0 : INGEST_ROOM);
}

/* The files of one dataset, from c->made[i] on; *end: above their numbers. */
static int number_dataset(struct compaction *c, size_t i, uint32_t first, uint32_t *end,
                          struct dx_error *err)
{
    assert(i < c->made_count && first > 0);
    *end = first;
    for (size_t k = i; k < c->made_count; k++) {
        struct dx_lake_path *where = &c->made[k].where;

        if (where->dataset_id != c->made[i].where.dataset_id)
            break;
        where->part = k > i && dx_lake_same_folder(where, &c->made[k - 1].where)
                          ? c->made[k - 1].where.part + 1
                          : first;
        if (where->part > DX_LAKE_PART_MAX)
            return dx_fail(err, DX_E_LIMIT, "dataset %u: part numbers are used up",
                           where->dataset_id);
        if (where->part >= *end)
            *end = where->part + 1;
    }
    return DX_OK;
}

struct reservation {
    struct compaction *c;
    const struct dx_lake_list *list;
};

/* Numbers the files and notes the numbers in the registry, in one edit of it. Before any list or
 * file has these names: from here on no publish takes such a file for new rows, whatever it sees of
 * the list; and a compaction that dies leaves a list, and new data under one of its names would be
 * neither published nor kept. */
static int reserve_parts(void *ctx, struct dx_dataset_registry *dataset_registry,
                         struct dx_error *err)
{
    const struct reservation *r = ctx;
    struct compaction *c = r->c;
    uint32_t end = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < c->made_count; i++) {
        uint32_t id = c->made[i].where.dataset_id;
        uint32_t first;

        if (i > 0 && c->made[i - 1].where.dataset_id == id)
            continue;
        first = first_number(c, r->list, dataset_registry, id);
        rc = number_dataset(c, i, first, &end, err);
        if (rc == DX_OK)
            rc = dx_dataset_registry_merged(dataset_registry, id, first, end, err);
    }
    return rc;
}

/* Waits for no other run. One that adds to the datasets now and has read the registry before our
 * edit numbers its files from what it has listed: within the room that is left below ours. One that
 * reads the registry later begins above our numbers. */
static int reserve_all(struct reservation *r, struct dx_error *err)
{
    const struct dx_dataset_registry_change change = {
        .edit = reserve_parts, .ctx = r, .must_exist = true, .stopped = r->c->o->stopped
    };
    struct dx_dataset_registry *dataset_registry = NULL;
    int rc = dx_dataset_registry_change(&r->c->root, &change, &dataset_registry, err);

    dx_dataset_registry_free(&dataset_registry);
    return rc;
}

/* The registry is read after the list, as commands that delete files raise it before. */
static int number(struct compaction *c, struct dx_error *err)
{
    struct dx_left_out left = DX_LEFT_OUT_INIT; /* said by the publish */
    struct dx_lake_list list = { NULL, 0, 0 };
    struct reservation r = { c, &list };
    int rc = dx_lake_list_root(&list, &left, &c->root, err);

    if (rc >= 0)
        rc = reserve_all(&r, err);
    dx_left_out_release(&left);
    dx_lake_list_release(&list);
    return rc < 0 ? rc : DX_OK;
}

static int place_file(struct compaction *c, const struct made *made, struct dx_rewrite_out *out,
                      struct dx_error *err)
{
    char below[DX_LAKE_PATH_MAX];
    char from[PATH_MAX];
    char to[PATH_MAX];
    uint64_t size = 0;
    int rc;

    rc = stage_path(c, made->number, from, err);
    (void)dx_lake_dir_format(&made->where, below);
    if (rc == DX_OK)
        rc = dx_path_format(to, sizeof to, err, "%s/%s", c->in->out_dir,
                            below + strlen(DX_LAKE_DIR "/"));
    if (rc == DX_OK)
        rc = dx_dir_make(to, err);
    (void)dx_lake_path_format(&made->where, below);
    if (rc == DX_OK)
        rc = dx_path_format(to, sizeof to, err, "%s/%s", c->in->out_dir,
                            below + strlen(DX_LAKE_DIR "/"));
    if (rc == DX_OK && rename(from, to) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot rename to %s", from, to);
    if (rc == DX_OK)
        rc = dx_file_size(to, &size, err);
    if (rc == DX_OK)
        rc = dx_rewrite_out_add(out, below + strlen(DX_LAKE_DIR "/"), err);
    c->result->files_made++;
    c->result->bytes_made += size;
    return rc;
}

static int place_all(struct compaction *c, struct dx_rewrite_out *out, struct dx_error *err)
{
    int rc = DX_OK;

    if (c->made_count == 0)
        return DX_OK;
    qsort(c->made, c->made_count, sizeof *c->made, by_folder);
    rc = number(c, err);
    for (size_t i = 0; rc == DX_OK && i < c->made_count; i++)
        rc = place_file(c, &c->made[i], out, err);
    return rc;
}

/* ---- the whole ---- */

static int rewrite_lake(void *ctx, const struct dx_rewrite_in *in, struct dx_rewrite_out *out,
                        struct dx_error *err)
{
    struct compaction *c = ctx;
    int rc;

    c->in = in;
    c->file = calloc(in->file_count + 1, sizeof *c->file);
    if (c->file == NULL)
        return dx_no_memory(err, "compact");
    rc = dx_compact_survey_open(&c->survey, &c->root, err);
    for (size_t i = 0; rc == DX_OK && i < in->file_count; i++) {
        dx_compact_survey_file(&c->survey, in->files[i].path, in->files[i].dataset_id, &c->file[i]);
        c->file[i].frozen = in->files[i].frozen;
        c->file[i].fixed = c->file[i].fixed || in->files[i].frozen;
    }
    if (rc == DX_OK)
        rc = leave_refused(c, out, err);
    if (rc == DX_OK)
        rc = plan(c, out, err);
    if (rc == DX_OK)
        rc = merge_all(c, out, err);
    if (rc == DX_OK)
        rc = place_all(c, out, err);
    out->cleansed = c->cleansed;
    return rc;
}

/* From the names that they have to new ones. */
static int move_file(struct compaction *c, const struct made *made, uint32_t part,
                     struct dx_rewrite_out *out, struct dx_error *err)
{
    struct dx_lake_path before = made->where;
    char name[DX_LAKE_PATH_MAX];
    char from[PATH_MAX];
    char to[PATH_MAX];
    int rc;

    before.part = part;
    (void)dx_lake_path_format(&before, name);
    rc = dx_path_format(from, sizeof from, err, "%s/%s", c->in->out_dir,
                        name + strlen(DX_LAKE_DIR "/"));
    (void)dx_lake_path_format(&made->where, name);
    if (rc == DX_OK)
        rc = dx_path_format(to, sizeof to, err, "%s/%s", c->in->out_dir,
                            name + strlen(DX_LAKE_DIR "/"));
    if (rc == DX_OK && rename(from, to) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot rename to %s", from, to);
    return rc == DX_OK ? dx_rewrite_out_add(out, name + strlen(DX_LAKE_DIR "/"), err) : rc;
}

static int rename_all(void *ctx, const struct dx_rewrite_in *in, struct dx_rewrite_out *out,
                      struct dx_error *err)
{
    struct compaction *c = ctx;
    uint32_t *part = calloc(c->made_count + 1, sizeof *part);
    int rc = DX_OK;

    c->in = in;
    if (part == NULL)
        return dx_no_memory(err, "compact");
    for (size_t i = 0; i < c->made_count; i++)
        part[i] = c->made[i].where.part;
    if (c->made_count > 0)
        rc = number(c, err);
    for (size_t i = 0; rc == DX_OK && i < c->made_count; i++)
        rc = move_file(c, &c->made[i], part[i], out, err);
    free(part);
    return rc;
}

/* new: how many files no version names yet. file: NULL, or of each file that the next version
 * has. */
static int look_at_lake(struct compaction *c, struct dx_error *err)
{
    struct dx_compact_result *r = c->result;
    struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
    int rc = dx_lake_snapshot_open(&now, &c->root, err);

    if (rc < 0)
        return rc;
    r->files_new = now.named.new_count;
    c->lacks_files = now.named.missing.count > 0;
    dx_lake_membership_keep(&now.named);
    if (c->o->dry_run && now.named.current_count > 0) {
        const struct dx_lake_list *list = &now.named.list;

        c->file = calloc(list->count + 1, sizeof *c->file);
        rc = c->file == NULL ? dx_no_memory(err, "compact")
                             : dx_compact_survey_open(&c->survey, &c->root, err);
        for (size_t i = 0; rc == DX_OK && i < list->count; i++)
            dx_compact_survey_file(&c->survey, list->file[i].path + strlen(DX_LAKE_DIR "/"),
                                   list->file[i].dataset_id, &c->file[i]);
        if (rc == DX_OK)
            rc = dx_compact_plan(&r->plan, c->file, list->count, c->scale, err);
        for (size_t i = 0; rc == DX_OK && i < list->count; i++)
            if (c->file[i].group != 0) {
                r->files_taken++;
                r->bytes_taken += list->file[i].size;
            }
    }
    dx_lake_snapshot_close(&now);
    return rc;
}

/* What no version names yet: taken out it would be named by none, and come back as new rows. */
static int publish_new(struct compaction *c, struct dx_error *err)
{
    struct dx_publish_result first;
    int rc = dx_publish(&c->o->publish, &first, err);

    if (rc < 0)
        return rc;
    if (!first.unchanged)
        memcpy(c->result->published, first.version, sizeof c->result->published);
    dx_left_out_take(&c->result->left_out, &first.left_out);
    dx_publish_result_release(&first);
    return DX_OK;
}

/* Of a lake that has no sound dataset, or of a file that a rewrite has made. */
static int say_damaged(int rc, struct dx_error *err)
{
    struct dx_error why = *err;

    if ((rc != DX_E_CORRUPT && rc != DX_E_TRUNCATED) || strstr(why.text, "dataset_id=") == NULL)
        return rc;
    return dx_fail(err, why.code,
                   "%.300s; nothing was merged. Restore that file, or take its dataset out "
                   "('domaindex remove', 'domaindex ingest --replace'), and compact again; "
                   "'domaindex verify --deep' finds others",
                   why.text);
}

/* Nothing is known of the run before but what it refused. */
static void begin_again(struct compaction *c)
{
    struct dx_compact_result *r = c->result;

    dx_compact_survey_close(&c->survey);
    dx_compact_plan_release(&r->plan);
    free(c->file);
    c->file = NULL;
    c->made_count = 0;
    r->files_taken = r->bytes_taken = r->files_made = r->bytes_made = 0;
    r->rows_left_out = r->rows_equal = 0;
    r->left = (struct dx_compact_left){ 0 };
}

static int run_rewrite(struct compaction *c, const struct dx_publish_options *o,
                       struct dx_error *err)
{
    size_t refused = 0;
    int rc = dx_publish(o, &c->result->publish, err);

    for (int i = 1; rc < 0 && c->refused_count > refused && i < RUNS_MAX; i++) {
        refused = c->refused_count;
        begin_again(c);
        rc = dx_publish(o, &c->result->publish, err);
    }
    return rc;
}

static int run_compaction(struct compaction *c, struct dx_error *err)
{
    struct dx_error own = DX_ERROR_INIT;
    const struct dx_publish_rewrite hook = { c, rewrite_lake, rename_all, refuse };
    struct dx_publish_options p = c->o->publish;
    int rc = read_rules(c, err);

    if (rc == DX_OK)
        rc = look_at_lake(c, err);
    if (rc < 0 || c->o->dry_run)
        return rc;
    c->result->new_wait = c->result->files_new > 0 && c->lacks_files;
    if (c->result->files_new > 0 && !c->lacks_files)
        rc = publish_new(c, err);
    p.rewrite = &hook;
    p.allow.freezes = true;
    p.rules = c->rules;
    p.rules_last = c->result->rules_last;
    if (rc != DX_OK)
        return rc;
    err = err != NULL ? err : &own;
    rc = run_rewrite(c, &p, err);
    return rc < 0 ? say_damaged(rc, err) : rc;
}

int dx_compact(const struct dx_compact_options *options, struct dx_compact_result *result,
               struct dx_error *err)
{
    struct compaction c = { .o = options,
                            .result = result,
                            .root = DX_ROOT_INIT,
                            .scale = options->test_scale == 0 ? 1 : options->test_scale };
    int rc;

    *result = (struct dx_compact_result){ .publish = { .manifest = DX_MANIFEST_INIT,
                                                       .damaged = DX_LEFT_OUT_INIT },
                                          .left_out = DX_LEFT_OUT_INIT };
    rc = dx_root_open(
        &c.root, options->publish.root,
        options->dry_run && !options->publish.through_store ? DX_ROOT_LIST : DX_ROOT_WRITE, err);
    c.root.in_place = c.root.in_place && !options->publish.through_store;
    if (rc == DX_OK)
        rc = run_compaction(&c, err);
    dx_compact_survey_close(&c.survey);
    free(c.file);
    free(c.made);
    for (size_t i = 0; i < c.refused_count; i++)
        free(c.refused[i].path);
    free(c.refused);
    dx_rules_free(&c.rules);
    dx_root_close(&c.root);
    if (rc < 0)
        dx_compact_result_release(result);
    return rc;
}

void dx_compact_result_release(struct dx_compact_result *result)
{
    dx_publish_result_release(&result->publish);
    dx_left_out_release(&result->left_out);
    dx_compact_plan_release(&result->plan);
}
