/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_adopt.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/lake/adopt_files.h"
#include "builder/lake/adopt_list.h"
#include "builder/lake/adopt_rows.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_claim.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/lake/suffix_list.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

struct dataset {
    const char *name; /* of the list */
    uint32_t file_count;
    uint32_t id;
    uint32_t first_part, end_part;
};

struct adopting {
    struct dx_lake_adopt *a;
    struct dx_root root;
    struct dx_lake_snapshot now;
    struct dx_buf psl;
    bool psl_is_new;
    struct dataset *datasets;
    size_t count;
    size_t *dataset_of; /* by file */
    const char **leftovers;
    size_t leftover_count;
    struct dx_adopt_files files;
};

/* ---- what is to be adopted ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct dataset *)a)->name, ((const struct dataset *)b)->name);
}

static int find_datasets(struct adopting *m, struct dx_error *err)
{
    const struct dx_adopt_list *files = m->a->files;
    size_t n = 0;

    m->datasets = calloc(files->count, sizeof *m->datasets);
    m->dataset_of = calloc(files->count, sizeof *m->dataset_of);
    if (m->datasets == NULL || m->dataset_of == NULL)
        return dx_no_memory(err, "%zu files", files->count);
    for (size_t i = 0; i < files->count; i++)
        m->datasets[i].name = files->file[i].dataset;
    qsort(m->datasets, files->count, sizeof *m->datasets, by_name);
    for (size_t i = 0; i < files->count; i++)
        if (i == 0 || strcmp(m->datasets[i].name, m->datasets[n - 1].name) != 0)
            m->datasets[n++] = m->datasets[i];
    m->count = n;
    for (size_t i = 0; i < files->count; i++) {
        const struct dataset key = { .name = files->file[i].dataset };
        const struct dataset *found = bsearch(&key, m->datasets, n, sizeof key, by_name);

        m->dataset_of[i] = (size_t)(found - m->datasets);
        m->datasets[m->dataset_of[i]].file_count++;
    }
    return DX_OK;
}

/* ---- what there is ---- */

static int read_psl(struct adopting *m, struct dx_error *err)
{
    struct dx_buf lake = DX_SUFFIX_LIST_INIT;
    int rc = dx_suffix_list_read(m->a->psl_path, &m->psl, err);

    if (rc == DX_OK)
        rc = dx_suffix_list_of_lake(&m->root, &lake, err);
    m->psl_is_new = rc == 0;
    if (rc > 0 &&
        !dx_span_equal(dx_span_of(lake.data, lake.size), dx_span_of(m->psl.data, m->psl.size)))
        rc = dx_fail(err, DX_E_INVALID,
                     "the suffix list of the files is not %s/" DX_LAKE_PSL
                     ", which this lake's domains came from; write the files with that one",
                     m->a->root);
    dx_buf_release(&lake);
    return rc < 0 ? rc : DX_OK;
}

static int check_dataset(const struct adopting *m, const struct dataset *d, struct dx_error *err)
{
    if (d->id != 0 &&
        dx_dataset_registry_get(m->now.dataset_registry, d->id)->kind == DX_DATASET_COUNTS)
        return dx_fail(err, DX_E_INVALID,
                       "dataset '%s' is of counts, which only ingest writes; nothing was adopted",
                       d->name);
    if (d->id == 0 || !dx_lake_snapshot_has_rows(&m->now, d->id))
        return DX_OK;
    if (!m->a->replace)
        return dx_fail(
            err, DX_E_EXISTS,
            "dataset '%s' has rows, and the new ones were not compared with them; "
            "--replace puts the new ones in their place, 'domaindex ingest' adds to them",
            d->name);
    return dx_lake_snapshot_check_published(&m->now, d->id, d->name, err);
}

static int look(struct adopting *m, struct dx_error *err)
{
    int rc = dx_lake_snapshot_open(&m->now, &m->root, err);

    for (size_t i = 0; rc == DX_OK && i < m->count; i++) {
        struct dataset *d = &m->datasets[i];

        d->id = dx_dataset_registry_find(m->now.dataset_registry, dx_span_str(d->name));
        rc = check_dataset(m, d, err);
    }
    return rc;
}

/* ---- the two writes of the registry ---- */

/* An id under which the lake has files is not given to a new name. */
static int add(const struct adopting *m, struct dx_dataset_registry *registry, struct dataset *d,
               struct dx_error *err)
{
    const struct dx_lake_list *list = &m->now.named.list;

    for (;;) {
        uint32_t next = dx_dataset_registry_registry(registry)->next_id;
        size_t at = dx_lake_list_find(list, next);

        if (at == list->count || list->file[at].dataset_id != next)
            return dx_dataset_registry_add(registry, dx_span_str(d->name), &d->id, err);
        dx_dataset_registry_skip_id(registry);
    }
}

static int find_or_add(const struct adopting *m, struct dx_dataset_registry *registry,
                       struct dataset *d, struct dx_error *err)
{
    d->id = dx_dataset_registry_find(registry, dx_span_str(d->name));
    return d->id == 0 ? add(m, registry, d, err) : DX_OK;
}

/* Numbers that no other run is given, also if this one dies and what it sent arrives later. */
static void reserve(struct dx_dataset_registry *registry, const struct dataset *d)
{
    const struct dx_lake_path last = { .dataset_id = d->id,
                                       .last = 255,
                                       .part = d->first_part + d->file_count - 1 };
    char text[DX_LAKE_PATH_MAX];
    const char *path = text;

    assert(d->first_part > 0 && d->file_count > 0);
    if (last.part > DX_LAKE_PART_MAX)
        return; /* refused when they are given */
    (void)dx_lake_path_format(&last, text);
    dx_dataset_registry_raise(registry, &path, 1);
}

static int edit_begin(void *ctx, struct dx_dataset_registry *registry, struct dx_error *err)
{
    struct adopting *m = ctx;
    int rc = DX_OK;

    dx_dataset_registry_raise(registry, m->leftovers, m->leftover_count);
    for (size_t i = 0; rc == DX_OK && i < m->count; i++) {
        struct dataset *d = &m->datasets[i];
        uint32_t listed;

        rc = find_or_add(m, registry, d, err);
        if (rc < 0)
            return rc;
        listed = dx_lake_snapshot_next_part(&m->now, d->id);
        /* Not 0: that means no mark. */
        d->first_part = dx_dataset_registry_next_part(registry, d->id, listed == 0 ? 1 : listed);
        d->end_part = d->first_part;
        rc = dx_dataset_registry_replace(registry, d->id, d->first_part, err);
        if (rc == DX_OK)
            reserve(registry, d);
    }
    return rc;
}

static int edit_end(void *ctx, struct dx_dataset_registry *registry, struct dx_error *err)
{
    const struct adopting *m = ctx;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->count; i++)
        rc = dx_dataset_registry_replaced(registry, m->datasets[i].id, m->datasets[i].first_part,
                                          m->datasets[i].end_part, err);
    return rc;
}

/* What earlier runs that died left of these datasets; no version can have named it. */
static int find_leftovers(struct adopting *m, struct dx_error *err)
{
    m->leftovers = calloc(m->now.leftover_count + 1, sizeof *m->leftovers);
    if (m->leftovers == NULL)
        return dx_no_memory(err, "adopt");
    for (size_t i = 0; i < m->now.leftover_count; i++) {
        const struct dx_lake_entry *file = &m->now.named.list.file[m->now.leftover[i]];

        for (size_t k = 0; k < m->count; k++)
            if (m->datasets[k].id != 0 && m->datasets[k].id == file->dataset_id)
                m->leftovers[m->leftover_count++] = file->path;
    }
    return DX_OK;
}

static int begin_lake(const struct adopting *m, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_DIR, m->a->root);

    if (rc == DX_OK)
        rc = dx_dir_make(path, err);
    if (rc < 0 || !m->psl_is_new)
        return rc;
    rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_PSL, m->a->root);
    return rc < 0 ? rc : dx_file_replace(path, dx_span_of(m->psl.data, m->psl.size), err);
}

static int begin(struct adopting *m, struct dx_error *err)
{
    const struct dx_dataset_registry_change change = { .edit = edit_begin, .ctx = m };
    int rc = find_leftovers(m, err);

    if (rc == DX_OK && m->root.in_place)
        rc = begin_lake(m, err);
    if (rc == DX_OK)
        rc = dx_dataset_registry_change(&m->root, &change, &m->now.dataset_registry, err);
    for (size_t i = 0; rc == DX_OK && i < m->leftover_count; i++)
        rc = dx_store_remove(m->root.store, m->leftovers[i], err);
    return rc;
}

static int end(struct adopting *m, struct dx_error *err)
{
    const struct dx_dataset_registry_change change = { .edit = edit_end,
                                                       .ctx = m,
                                                       .must_exist = true };
    int rc = dx_dataset_registry_change(&m->root, &change, &m->now.dataset_registry, err);

    /* What fails behind the replacement of the registry fails too late. */
    return rc < 0
               ? dx_fail_in(
                     err, "the files may count already; run it again with new files and --replace")
               : DX_OK;
}

/* ---- a store: the names, then the right to write, then what there is by then ---- */

static int edit_names(void *ctx, struct dx_dataset_registry *registry, struct dx_error *err)
{
    struct adopting *m = ctx;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->count; i++)
        rc = find_or_add(m, registry, &m->datasets[i], err);
    return rc;
}

static int take_claim(struct adopting *m, struct dx_error *err)
{
    const struct dx_ingest_claim_options options = {
        .remote = &m->root, .root = m->a->root, .stopped = m->a->stopped, .say = m->a->say
    };
    uint32_t *ids = calloc(m->count, sizeof *ids);
    int rc;

    if (ids == NULL)
        return dx_no_memory(err, "%zu datasets", m->count);
    for (size_t i = 0; i < m->count; i++)
        ids[i] = m->datasets[i].id;
    rc = dx_ingest_claim_take(&m->files.claim, &options, ids, m->count, err);
    free(ids);
    return rc;
}

static int claim(struct adopting *m, struct dx_error *err)
{
    const struct dx_dataset_registry_change change = { .edit = edit_names, .ctx = m };
    int rc = dx_suffix_list_begin(&m->root, dx_span_of(m->psl.data, m->psl.size), err);

    if (rc == DX_OK)
        rc = dx_dataset_registry_change(&m->root, &change, &m->now.dataset_registry, err);
    if (rc == DX_OK)
        rc = take_claim(m, err);
    if (rc < 0)
        return rc;
    dx_lake_snapshot_close(&m->now);
    return look(m, err);
}

/* ---- the whole ---- */

/* Numbers in the order of the list, which is that of the rows. */
static int number(struct adopting *m, struct dx_error *err)
{
    const struct dx_adopt_list *list = m->a->files;

    for (size_t i = 0; i < list->count; i++) {
        struct dataset *d = &m->datasets[m->dataset_of[i]];

        if (d->end_part > DX_LAKE_PART_MAX)
            return dx_fail(err, DX_E_LIMIT, "dataset %u: part numbers are used up", d->id);
        m->files.to[i] = (struct dx_lake_path){ .dataset_id = d->id,
                                                .first = list->file[i].first,
                                                .last = list->file[i].last,
                                                .part = d->end_part++ };
    }
    return DX_OK;
}

/* Folders of prefixes are new names in that of their dataset, which is one in urls/. */
static int sync_parents(const struct adopting *m, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->count; i++) {
        rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_DIR "/dataset_id=%u", m->a->root,
                            m->datasets[i].id);
        if (rc == DX_OK)
            rc = dx_dir_sync(path, err);
    }
    if (rc == DX_OK)
        rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_DIR, m->a->root);
    return rc == DX_OK ? dx_dir_sync(path, err) : rc;
}

static int list_paths(struct adopting *m, struct dx_error *err)
{
    const size_t count = m->a->files->count;

    m->a->placed = calloc(count, sizeof *m->a->placed);
    if (m->a->placed == NULL)
        return dx_no_memory(err, "%zu files", count);
    for (size_t i = 0; i < count; i++)
        (void)dx_lake_path_format(&m->files.to[i], m->a->placed[i]);
    return DX_OK;
}

static int place_files(struct adopting *m, struct dx_error *err)
{
    int rc = begin(m, err);

    if (rc == DX_OK)
        rc = number(m, err);
    if (rc == DX_OK)
        rc = list_paths(m, err);
    if (rc == DX_OK)
        rc = dx_adopt_files_place(&m->files, err);
    if (rc == DX_OK && m->root.in_place)
        rc = sync_parents(m, err);
    if (rc == DX_OK && m->files.claim != NULL)
        rc = dx_ingest_claim_check(m->files.claim, err);
    if (rc == DX_OK)
        rc = end(m, err);
    if (rc == DX_OK && m->files.claim != NULL)
        rc = dx_ingest_claim_confirm(m->files.claim, err);
    if (rc < 0)
        return rc;
    m->a->files_moved = m->a->files->count;
    dx_adopt_files_discard(&m->files);
    return DX_OK;
}

static int check_all(struct adopting *m, struct dx_error *err)
{
    struct dx_adopt_rows rows = { .files = &m->files, .stopped = m->a->stopped };
    int rc = find_datasets(m, err);

    rows.dataset_of = m->dataset_of;
    if (rc == DX_OK)
        rc = read_psl(m, err);
    if (rc == DX_OK)
        rc = look(m, err);
    if (rc == DX_OK)
        rc = dx_adopt_files_check(&m->files, err);
    if (rc == DX_OK)
        rc = dx_adopt_rows_check(&rows, err);
    if (rc == DX_OK && m->a->stopped != NULL && m->a->stopped())
        rc = dx_fail(err, DX_E_BUSY, "interrupted; nothing was adopted");
    return rc;
}

static int run(struct adopting *m, struct dx_error *err)
{
    int rc = check_all(m, err);

    if (rc == DX_OK && m->a->dry_run) {
        m->a->files_moved = m->a->files->count;
        return DX_OK;
    }
    if (rc == DX_OK)
        rc = m->root.in_place ? dx_adopt_files_sync(&m->files, err) : claim(m, err);
    return rc == DX_OK ? place_files(m, err) : rc;
}

int dx_lake_adopt_run(struct dx_lake_adopt *a, struct dx_error *err)
{
    struct adopting m = {
        .a = a, .root = DX_ROOT_INIT, .now = DX_LAKE_SNAPSHOT_INIT, .psl = DX_SUFFIX_LIST_INIT
    };
    int rc = DX_OK;

    m.files = (struct dx_adopt_files){ .root = &m.root, .list = a->files };
    a->files_moved = a->datasets = 0;
    a->placed = NULL;
    if (a->files->count == 0)
        return dx_fail(err, DX_E_INVALID, "the list has no file");
    rc = dx_root_open(&m.root, a->root, a->dry_run ? DX_ROOT_LIST : DX_ROOT_WRITE, err);
    if (rc == DX_OK && !a->dry_run)
        rc = dx_root_enter(&m.root, a->lock_wait_ms, 0, err);
    if (rc == DX_OK)
        rc = run(&m, err);
    a->datasets = m.count;
    if (rc < 0) {
        free(a->placed);
        a->placed = NULL;
    }
    free(m.leftovers);
    free(m.datasets);
    free(m.dataset_of);
    dx_buf_release(&m.psl);
    dx_adopt_files_release(&m.files);
    dx_ingest_claim_drop(&m.files.claim);
    dx_lake_snapshot_close(&m.now);
    dx_root_close(&m.root);
    return rc;
}
