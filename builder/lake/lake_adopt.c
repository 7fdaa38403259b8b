/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_adopt.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/lake/adopt_list.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/lake/suffix_list.h"
#include "builder/root/root.h"
#include "fetch/store.h"

struct dataset {
    const char *name; /* of the list */
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
    }
    return DX_OK;
}

/* Its files are those of other datasets, and of versions: moved away, these would have lost them. */
static int check_outside(const char *path, const char *real_root, struct dx_error *err)
{
    static const char *const own[] = { DX_LAKE_DIR, "index" };
    char real[PATH_MAX];
    size_t n = strlen(real_root);

    if (realpath(path, real) == NULL)
        return dx_fail_errno(err, errno, "%s", path);
    if (strncmp(real, real_root, n) != 0 || real[n] != '/')
        return DX_OK;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(real + n + 1, own[i], strlen(own[i])) == 0 &&
            real[n + 1 + strlen(own[i])] == '/')
            return dx_fail(err, DX_E_INVALID, "%s: lies in the lake itself, of which it is a file",
                           path);
    return DX_OK;
}

static int by_number(const void *a, const void *b)
{
    ino_t x = *(const ino_t *)a;
    ino_t y = *(const ino_t *)b;

    return (x > y) - (x < y);
}

/* Of a file that stands there twice the second move would fail, with the others moved already. */
static int check_once(ino_t *numbers, size_t count, struct dx_error *err)
{
    qsort(numbers, count, sizeof *numbers, by_number);
    for (size_t i = 1; i < count; i++)
        if (numbers[i] == numbers[i - 1])
            return dx_fail(err, DX_E_INVALID, "the list has one file twice (inode %llu)",
                           (unsigned long long)numbers[i]);
    return DX_OK;
}

static int check_file(const struct dx_adopt_file *f, dev_t device, ino_t *number,
                      struct dx_error *err)
{
    struct stat st;

    if (lstat(f->path, &st) < 0)
        return dx_fail_errno(err, errno, "%s", f->path);
    *number = st.st_ino;
    if (!S_ISREG(st.st_mode))
        return dx_fail(err, DX_E_INVALID, "%s: not a regular file", f->path);
    if ((uint64_t)st.st_size != f->size)
        return dx_fail(err, DX_E_CONFLICT, "%s has %llu bytes, and %llu are expected", f->path,
                       (unsigned long long)st.st_size, (unsigned long long)f->size);
    if (st.st_dev != device)
        return dx_fail(err, DX_E_INVALID, "%s: not on the file system of the root; copy it first",
                       f->path);
    return DX_OK;
}

static int check_files(const struct adopting *m, struct dx_error *err)
{
    const struct dx_adopt_list *files = m->a->files;
    char real_root[PATH_MAX];
    struct stat root;
    ino_t *numbers;
    int rc = DX_OK;

    if (stat(m->a->root, &root) < 0 || realpath(m->a->root, real_root) == NULL)
        return dx_fail_errno(err, errno, "%s", m->a->root);
    numbers = calloc(files->count, sizeof *numbers);
    if (numbers == NULL)
        return dx_no_memory(err, "%zu files", files->count);
    for (size_t i = 0; rc == DX_OK && i < files->count; i++)
        rc = check_file(&files->file[i], root.st_dev, &numbers[i], err);
    for (size_t i = 0; rc == DX_OK && i < files->count; i++)
        rc = check_outside(files->file[i].path, real_root, err);
    if (rc == DX_OK)
        rc = check_once(numbers, files->count, err);
    free(numbers);
    for (size_t i = 0; rc == DX_OK && !m->a->dry_run && i < files->count; i++)
        rc = dx_file_sync(files->file[i].path, err);
    return rc;
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

static bool has_rows(const struct adopting *m, uint32_t id)
{
    const struct dx_lake_list *list = &m->now.named.list;

    for (size_t i = dx_lake_list_find(list, id); i < list->count && list->file[i].dataset_id == id;
         i++)
        if (m->now.named.naming[i] != DX_LAKE_OUT)
            return true;
    return false;
}

static int check_dataset(const struct adopting *m, const struct dataset *d, struct dx_error *err)
{
    if (d->id == 0 || !has_rows(m, d->id))
        return DX_OK;
    if (!m->a->replace)
        return dx_fail(
            err, DX_E_EXISTS,
            "dataset '%s' has rows, and the new ones were not compared with them; "
            "--replace puts the new ones in their place, 'domaindex ingest' adds to them",
            d->name);
    if (dx_lake_snapshot_is_unpublished(&m->now, d->id))
        return dx_fail(err, DX_E_INVALID,
                       "dataset '%s' has files that no version has yet, and they would count "
                       "beside the new ones; publish first, then replace it",
                       d->name);
    return DX_OK;
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

static int edit_begin(void *ctx, struct dx_dataset_registry *registry, struct dx_error *err)
{
    struct adopting *m = ctx;
    int rc = DX_OK;

    dx_dataset_registry_raise(registry, m->leftovers, m->leftover_count);
    for (size_t i = 0; rc == DX_OK && i < m->count; i++) {
        struct dataset *d = &m->datasets[i];
        uint32_t listed;

        d->id = dx_dataset_registry_find(registry, dx_span_str(d->name));
        if (d->id == 0)
            rc = add(m, registry, d, err);
        if (rc < 0)
            return rc;
        listed = dx_lake_snapshot_next_part(&m->now, d->id);
        /* Not 0: that means no mark. */
        d->first_part = dx_dataset_registry_next_part(registry, d->id, listed == 0 ? 1 : listed);
        d->end_part = d->first_part;
        rc = dx_dataset_registry_replace(registry, d->id, d->first_part, err);
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

static int begin(struct adopting *m, struct dx_error *err)
{
    const struct dx_dataset_registry_change change = { .edit = edit_begin, .ctx = m };
    char path[PATH_MAX];
    int rc = find_leftovers(m, err);

    if (rc == DX_OK)
        rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_DIR, m->a->root);
    if (rc == DX_OK)
        rc = dx_dir_make(path, err);
    if (rc == DX_OK && m->psl_is_new) {
        rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_PSL, m->a->root);
        if (rc == DX_OK)
            rc = dx_file_replace(path, dx_span_of(m->psl.data, m->psl.size), err);
    }
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

    return rc < 0 ? dx_fail_in(err, "no file counts; run it again with new files") : DX_OK;
}

/* ---- files ---- */

static int move(struct adopting *m, size_t i, struct dx_error *err)
{
    const struct dx_adopt_file *f = &m->a->files->file[i];
    struct dataset *d = &m->datasets[m->dataset_of[i]];
    const struct dx_lake_path at = {
        .dataset_id = d->id, .first = f->first, .last = f->last, .part = d->end_part
    };
    char below[DX_LAKE_PATH_MAX];
    char folder[PATH_MAX];
    char to[PATH_MAX];
    int rc;

    if (at.part > DX_LAKE_PART_MAX)
        return dx_fail(err, DX_E_LIMIT, "dataset %u: part numbers are used up", d->id);
    (void)dx_lake_dir_format(&at, below);
    rc = dx_path_format(folder, sizeof folder, err, "%s/%s", m->a->root, below);
    if (rc == DX_OK)
        rc = dx_dir_make(folder, err);
    (void)dx_lake_path_format(&at, below);
    if (rc == DX_OK)
        rc = dx_path_format(to, sizeof to, err, "%s/%s", m->a->root, below);
    if (rc == DX_OK && rename(f->path, to) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot rename to %s", f->path, to);
    if (rc == DX_OK)
        rc = dx_dir_sync(folder, err);
    if (rc < 0)
        return rc;
    d->end_part++;
    m->a->files_moved++;
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

static int run(struct adopting *m, struct dx_error *err)
{
    int rc = find_datasets(m, err);

    if (rc == DX_OK)
        rc = read_psl(m, err);
    if (rc == DX_OK)
        rc = look(m, err);
    if (rc == DX_OK)
        rc = check_files(m, err);
    if (rc == DX_OK && m->a->stopped != NULL && m->a->stopped())
        rc = dx_fail(err, DX_E_BUSY, "interrupted; nothing was adopted");
    if (rc == DX_OK && m->a->dry_run) {
        m->a->files_moved = m->a->files->count;
        return DX_OK;
    }
    if (rc == DX_OK)
        rc = begin(m, err);
    for (size_t i = 0; rc == DX_OK && i < m->a->files->count; i++)
        rc = move(m, i, err);
    if (rc == DX_OK)
        rc = sync_parents(m, err);
    return rc == DX_OK ? end(m, err) : rc;
}

int dx_lake_adopt_run(struct dx_lake_adopt *a, struct dx_error *err)
{
    struct adopting m = {
        .a = a, .root = DX_ROOT_INIT, .now = DX_LAKE_SNAPSHOT_INIT, .psl = DX_SUFFIX_LIST_INIT
    };
    int rc = DX_OK;

    a->files_moved = a->datasets = 0;
    if (a->files->count == 0)
        return dx_fail(err, DX_E_INVALID, "the list has no file");
    if (!dx_root_in_place(a->root))
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: files are moved by rename, which object storage does not have; use "
                       "'domaindex ingest'",
                       a->root);
    rc = dx_root_open(&m.root, a->root, a->dry_run ? DX_ROOT_READ : DX_ROOT_WRITE, err);
    if (rc == DX_OK && !a->dry_run)
        rc = dx_root_enter(&m.root, a->lock_wait_ms, 0, err);
    if (rc == DX_OK)
        rc = run(&m, err);
    a->datasets = m.count;
    free(m.leftovers);
    free(m.datasets);
    free(m.dataset_of);
    dx_buf_release(&m.psl);
    dx_lake_snapshot_close(&m.now);
    dx_root_close(&m.root);
    return rc;
}
