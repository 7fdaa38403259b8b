/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc_names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "builder/lake/listed_files.h"
#include "builder/maintain/gc_plan.h"

/* By its hash: lake files are millions, and 128 bits do not meet by chance. */
struct dx_gc_name {
    struct dx_hash128 hash;
    uint64_t size;
    uint32_t version; /* index in the manifest */
};

static int add(struct dx_gc_names *n, struct dx_span object, uint64_t size, size_t version,
               struct dx_error *err)
{
    if (n->count == n->room) {
        size_t room = n->room == 0 ? 1024 : 2 * n->room;
        struct dx_gc_name *more = reallocarray(n->names, room, sizeof *more);

        if (more == NULL)
            return dx_no_memory(err, "gc: %zu names", room);
        n->names = more;
        n->room = room;
    }
    n->names[n->count++] = (struct dx_gc_name){ dx_hash128_of(object), size, (uint32_t)version };
    return DX_OK;
}

static int by_hash(const void *a, const void *b)
{
    return memcmp(((const struct dx_gc_name *)a)->hash.bytes,
                  ((const struct dx_gc_name *)b)->hash.bytes, sizeof(struct dx_hash128));
}

/* ---- lists ---- */

/* What is done with each lake file of a version, by its name from the root. */
struct walk {
    const struct dx_manifest_version *v;
    size_t version;
    struct dx_gc_names *names;     /* added to, or */
    const struct dx_gc_names *all; /* those that no other has are added to */
    struct dx_gc_objects *own;
};

static int see_file(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct walk *w = ctx;
    char object[DX_PARQUET_ROOT_MAX + DX_FILES_PATH_MAX + 2];
    int n = snprintf(object, sizeof object, "%s%.*s", w->v->parquet_root, (int)row->path.size,
                     (const char *)row->path.data);

    assert(n > 0 && (size_t)n < sizeof object); /* both have been held against their limits */
    if (w->names != NULL)
        return add(w->names, dx_span_of(object, (size_t)n), row->size, w->version, err);
    return dx_gc_names_other(w->all, object, w->version)
               ? DX_OK
               : dx_gc_objects_add(w->own, object, row->size, err);
}

/* Also those that it lacks: they may be back by now, and a later publish takes them. */
static int walk_files(struct dx_source *source, struct walk *w, struct dx_error *err)
{
    int rc = dx_listed_files(source, NULL, w->v, see_file, w, err);

    return rc == DX_OK ? dx_listed_missing(source, NULL, w->v, see_file, w, err) : rc;
}

static int read_version(struct dx_gc_names *n, struct dx_source *source,
                        const struct dx_manifest *m, size_t i, struct dx_error *err)
{
    struct walk walk = { .v = &m->versions[i], .version = i, .names = n };
    int rc = walk_files(source, &walk, err);

    for (size_t k = 0; k < dx_manifest_object_count(walk.v) && rc == DX_OK; k++) {
        const struct dx_manifest_file *f = dx_manifest_object(walk.v, k);
        char object[DX_MANIFEST_FILE_PATH];

        dx_manifest_file_path(walk.v, f, object);
        rc = add(n, dx_span_str(object), f->size, i, err);
    }
    return rc;
}

int dx_gc_names_read(struct dx_gc_names *n, struct dx_source *source, const struct dx_manifest *m,
                     struct dx_error *err)
{
    int rc = DX_OK;

    *n = (struct dx_gc_names)DX_GC_NAMES_INIT;
    for (size_t i = 0; i < m->version_count && rc == DX_OK; i++)
        rc = read_version(n, source, m, i, err);
    if (rc == DX_OK && n->count > 1)
        qsort(n->names, n->count, sizeof *n->names, by_hash);
    if (rc < 0)
        dx_gc_names_release(n);
    return rc;
}

void dx_gc_names_release(struct dx_gc_names *n)
{
    free(n->names);
    *n = (struct dx_gc_names)DX_GC_NAMES_INIT;
}

void dx_gc_names_forget(struct dx_gc_names *n, size_t version)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->count; i++) {
        if (n->names[i].version == version)
            continue;
        n->names[kept] = n->names[i];
        n->names[kept++].version -= n->names[i].version > version;
    }
    n->count = kept;
}

/* ---- questions ---- */

/* The first of that name, or count. */
static size_t find(const struct dx_gc_names *n, const char *object, struct dx_gc_name *key)
{
    size_t lo = 0;
    size_t hi = n->count;

    key->hash = dx_hash128_of(dx_span_str(object));
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (by_hash(&n->names[mid], key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool dx_gc_names_other(const struct dx_gc_names *n, const char *object, size_t version)
{
    struct dx_gc_name key;

    for (size_t i = find(n, object, &key); i < n->count && by_hash(&n->names[i], &key) == 0; i++)
        if (n->names[i].version != version)
            return true;
    return false;
}

bool dx_gc_names_any(const struct dx_gc_names *n, const char *object)
{
    return dx_gc_names_other(n, object, SIZE_MAX);
}

void dx_gc_names_share(const struct dx_gc_names *n, const bool *going, uint64_t *total,
                       uint64_t *gone, uint64_t *objects)
{
    *total = *gone = *objects = 0;
    for (size_t i = 0, end; i < n->count; i = end) {
        bool goes = true;

        for (end = i; end < n->count && by_hash(&n->names[i], &n->names[end]) == 0; end++)
            goes = goes && going[n->names[end].version];
        *total += n->names[i].size;
        *gone += goes ? n->names[i].size : 0;
        *objects += goes;
    }
}

void dx_gc_names_going(const struct dx_gc_names *n, const struct dx_gc_planned *planned,
                       bool *going, size_t count, uint64_t *total, uint64_t *gone)
{
    uint64_t ours, all, objects;

    for (size_t i = 0; i < count; i++)
        going[i] = planned[i].step == DX_GC_REMOVE;
    dx_gc_names_share(n, going, &all, &ours, &objects);
    for (size_t i = 0; i < count; i++)
        going[i] = planned[i].step != DX_GC_KEEP;
    dx_gc_names_share(n, going, total, gone, &objects);
    *total -= ours;
    *gone -= ours;
}

static bool has_lists(const struct dx_manifest_file *object)
{
    return strcmp(object->name, DX_FILE_FILES_TSV) == 0 ||
           strcmp(object->name, DX_FILE_MISSING) == 0 || strcmp(object->name, DX_FILE_PACK) == 0;
}

int dx_gc_names_own(const struct dx_gc_names *n, struct dx_source *source,
                    const struct dx_manifest *m, size_t i, struct dx_gc_objects *lake,
                    struct dx_gc_objects *index, struct dx_gc_objects *last, struct dx_error *err)
{
    struct walk walk = { .v = &m->versions[i], .version = i, .all = n, .own = lake };
    int rc = walk_files(source, &walk, err);

    assert(i < m->version_count);
    for (size_t k = 0; k < dx_manifest_object_count(walk.v) && rc == DX_OK; k++) {
        const struct dx_manifest_file *f = dx_manifest_object(walk.v, k);
        char object[DX_MANIFEST_FILE_PATH];

        dx_manifest_file_path(walk.v, f, object);
        if (!dx_gc_names_other(n, object, i))
            rc = dx_gc_objects_add(has_lists(f) ? last : index, object, f->size, err);
    }
    return rc;
}
