/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/backup_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "builder/lake/listed_files.h"

static int add(struct dx_backup_list *l, const struct dx_backup_object *object,
               struct dx_error *err)
{
    struct dx_backup_object *more = dx_array_room(l->object, l->count, &l->room, sizeof *more);
    char *name = strdup(object->name);

    if (more != NULL)
        l->object = more;
    if (more == NULL || name == NULL) {
        free(name);
        return dx_no_memory(err, "backup: %zu objects", l->count + 1);
    }
    more[l->count] = *object;
    more[l->count++].name = name;
    return DX_OK;
}

struct walk {
    struct dx_backup_list *list;
    const struct dx_manifest_version *entry;
};

static int see_file(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    const struct walk *w = ctx;
    char name[DX_PARQUET_ROOT_MAX + DX_FILES_PATH_MAX + 2];
    struct dx_backup_object object = { .name = name, .size = row->size, .lake = true };

    (void)snprintf(name, sizeof name, "%s%.*s", w->entry->parquet_root, (int)row->path.size,
                   (const char *)row->path.data);
    if (!dx_hash128_parse(row->etag, &object.hash))
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "version %s: files.tsv has no hash of %s; publish --full --force first",
                       w->entry->version, name);
    return add(w->list, &object, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct dx_backup_object *)a)->name,
                  ((const struct dx_backup_object *)b)->name);
}

bool dx_backup_object_same(const struct dx_backup_object *a, const struct dx_backup_object *b)
{
    return a->size == b->size && dx_hash128_equal(&a->hash, &b->hash);
}

static int sort_objects(struct dx_backup_list *l, struct dx_error *err)
{
    size_t kept = 0;
    int rc = DX_OK;

    if (l->count > 1)
        qsort(l->object, l->count, sizeof *l->object, by_name);
    for (size_t i = 0; i < l->count; i++) {
        if (kept == 0 || by_name(&l->object[i], &l->object[kept - 1]) != 0) {
            l->object[kept++] = l->object[i];
            continue;
        }
        if (rc == DX_OK && !dx_backup_object_same(&l->object[i], &l->object[kept - 1]))
            rc = dx_fail(err, DX_E_CORRUPT, "%s: two versions name it with different contents",
                         l->object[i].name);
        free(l->object[i].name);
    }
    l->count = kept;
    return rc;
}

int dx_backup_list_read(struct dx_backup_list *l, struct dx_source *source,
                        const struct dx_manifest_version *entry, struct dx_error *err)
{
    struct walk walk = { l, entry };
    int rc = dx_listed_files(source, NULL, entry, see_file, &walk, err);

    for (size_t i = 0; rc == DX_OK && i < dx_manifest_object_count(entry); i++) {
        const struct dx_manifest_file *file = dx_manifest_object(entry, i);
        char name[DX_MANIFEST_FILE_PATH];
        const struct dx_backup_object object = { .name = name,
                                                 .size = file->size,
                                                 .hash = file->hash };

        dx_manifest_file_path(entry, file, name);
        if (strcmp(file->name, DX_FILE_ETAGS) != 0) /* of the store that it is in */
            rc = add(l, &object, err);
    }
    return rc < 0 ? rc : sort_objects(l, err);
}

struct dx_backup_object *dx_backup_list_find(const struct dx_backup_list *l, const char *name)
{
    struct dx_backup_object key = { .name = (char *)(uintptr_t)name };

    return l->count == 0 ? NULL : bsearch(&key, l->object, l->count, sizeof key, by_name);
}

void dx_backup_list_release(struct dx_backup_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->object[i].name);
    free(l->object);
    *l = (struct dx_backup_list)DX_BACKUP_LIST_INIT;
}
