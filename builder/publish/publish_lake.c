/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_lake.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/listed_files.h"
#include "builder/publish/publish_copies.h"
#include "builder/scan/index_lake.h"
#include "format/version/files_tsv.h"
#include "loader/objects.h"
#include "loader/version_parts.h"

#define LOOKS_MAX \
    10 /* a replacement ends in a moment, and another one takes far longer than a look */
#include "format/version/manifest.h"

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct dx_lake_entry *)a)->path, ((const struct dx_lake_entry *)b)->path);
}

static int take_file(struct dx_index_file *to, const struct dx_lake_entry *from,
                     struct dx_error *err)
{
    struct dx_lake_path path;
    bool ours = dx_lake_path_parse(dx_span_str(from->path), &path);
    char prefix[8] = "00-ff";

    if (strncmp(from->path, DX_LAKE_DIR "/", strlen(DX_LAKE_DIR "/")) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: outside of " DX_LAKE_DIR "/", from->path);
    if (ours && path.first == path.last)
        (void)snprintf(prefix, sizeof prefix, "%02x", path.first);
    else if (ours)
        (void)snprintf(prefix, sizeof prefix, "%02x-%02x", path.first, path.last);
    *to = (struct dx_index_file){ .path = strdup(from->path + strlen(DX_LAKE_DIR "/")),
                                  .prefix = strdup(prefix),
                                  .etag = strdup(from->etag),
                                  .size = from->size,
                                  .dataset_id = from->dataset_id,
                                  .fresh = from->fresh,
                                  .prefix_first = ours ? path.first : 0,
                                  .prefix_last = ours ? path.last : 255 };
    return to->path == NULL || to->prefix == NULL || to->etag == NULL
               ? dx_no_memory(err, "%s", from->path)
               : DX_OK;
}

static void release_files(struct dx_publish_lake *l)
{
    dx_index_lake_release(&l->lake);
    for (size_t i = 0; i < l->lake.file_count; i++) {
        free(l->lake.files[i].path);
        free(l->lake.files[i].prefix);
        free(l->lake.files[i].etag);
    }
    free(l->lake.files);
    l->lake = (struct dx_index_lake){ .root = l->root, .registry = &l->registry };
}

/* The totals of a version are the scan's. */
static void clear_totals(struct dx_registry *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct dx_dataset *d = &r->datasets[i];

        d->files = d->rows = d->urls = d->domains = 0;
        d->has_ts = false;
        d->first_us = d->last_us = 0;
    }
}

static bool is_frozen(const struct dx_publish_lake *l, uint32_t dataset_id)
{
    for (size_t i = 0; i < l->frozen_count; i++)
        if (l->frozen[i] == dataset_id)
            return true;
    return false;
}

int dx_publish_lake_freeze(struct dx_publish_lake *l, uint32_t dataset_id, struct dx_error *err)
{
    uint32_t *to;

    if (is_frozen(l, dataset_id))
        return DX_OK;
    to = dx_array_room(l->frozen, l->frozen_count, &l->frozen_capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "lake");
    l->frozen = to;
    l->frozen[l->frozen_count++] = dataset_id;
    return DX_OK;
}

bool dx_publish_lake_is_frozen(const struct dx_publish_lake *l)
{
    const struct dx_lake_list *list = &l->named.list;
    size_t i = 0;

    while (i < list->count && is_frozen(l, list->file[i].dataset_id))
        i++;
    return i > 0 && i == list->count;
}

/* Missing files of frozen datasets come into the list, at its end. */
static int take_lost(struct dx_publish_lake *l, struct dx_error *err)
{
    struct dx_lake_list *missing = &l->named.missing;
    size_t kept = 0;
    int rc = DX_OK;

    for (size_t i = 0; i < missing->count; i++) {
        struct dx_lake_entry *file = &missing->file[i];

        if (rc < 0 || !is_frozen(l, file->dataset_id)) {
            missing->file[kept++] = *file;
            continue;
        }
        rc = dx_lake_list_add(&l->named.list, &l->named.left_out, file->path, file->size,
                              file->etag, err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_CORRUPT, "%s: is not the name of a lake file", file->path);
        dx_left_out_note(&l->lost, file->path, "is not there, or not to be read (permission)");
        free(file->path);
        free(file->etag);
    }
    missing->count = kept;
    return rc < 0 ? rc : DX_OK;
}

int dx_publish_lake_again(struct dx_publish_lake *l, struct dx_error *err)
{
    const struct dx_lake_list *list = &l->named.list;
    int rc = DX_OK;

    release_files(l);
    clear_totals(&l->registry);
    l->bytes = 0;
    if (list->count > UINT32_MAX)
        return dx_fail(err, DX_E_LIMIT, "over 2^32 lake files");
    l->lake.files = calloc(list->count + 1, sizeof *l->lake.files);
    if (l->lake.files == NULL)
        return dx_no_memory(err, "lake");
    for (size_t i = 0; rc == DX_OK && i < list->count; i++) {
        rc = take_file(&l->lake.files[i], &list->file[i], err);
        l->lake.files[i].frozen = is_frozen(l, list->file[i].dataset_id);
        l->lake.file_count = i + 1;
        l->bytes += list->file[i].size;
    }
    return rc;
}

static int read_registry(struct dx_registry *registry, const struct dx_root *root, bool must_exist,
                         struct dx_error *err)
{
    struct dx_dataset_registry *dataset_registry = NULL;
    int rc = dx_dataset_registry_read(&dataset_registry, root, err);

    if (rc == 0 && must_exist)
        rc = dx_fail(
            err, DX_E_NOT_FOUND,
            "%s/" DX_DATASET_REGISTRY_FILE
            ": missing, so the names of the datasets are unknown; was the lake copied without it?",
            root->name);
    if (rc >= 0)
        dx_dataset_registry_take(&dataset_registry, registry);
    dx_dataset_registry_free(&dataset_registry);
    return rc < 0 ? rc : DX_OK;
}

/* Bytes of it; 0: none. */
static int first_line(const struct dx_buf *text)
{
    const uint8_t *end = text->size == 0 ? NULL : memchr(text->data, '\n', text->size);

    return end == NULL ? 0 : (int)(end - text->data);
}

static void remove_files(struct dx_lake_list *list, const bool *goes)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (goes[i]) {
            free(list->file[i].path);
            free(list->file[i].etag);
        } else {
            list->file[kept++] = list->file[i];
        }
    }
    list->count = kept;
}

static int leave_copies_out(struct dx_publish_lake *l, const struct dx_root *root,
                            struct dx_error *err)
{
    struct dx_lake_membership *n = &l->named;
    bool *goes = calloc(n->list.count + 1, sizeof *goes);
    int rc = goes == NULL
                 ? dx_no_memory(err, "lake")
                 : dx_publish_copies_find(root, &n->list, &l->registry, goes, &n->left_out, err);

    for (size_t i = 0; rc > 0 && i < n->list.count; i++)
        if (goes[i]) {
            l->bytes_new -= n->list.file[i].size;
            n->new_count--;
        }
    if (rc > 0)
        remove_files(&n->list, goes);
    free(goes);
    return rc < 0 ? rc : DX_OK;
}

/* Some dataset has all of its files: the lake is there, and not all of it is to be mounted or restored. */
static bool has_whole(const struct dx_lake_membership *n)
{
    bool whole = false;

    for (size_t i = 0, k = 0; !whole && i < n->list.count; i++) {
        uint32_t id = n->list.file[i].dataset_id;

        while (k < n->missing.count && n->missing.file[k].dataset_id < id)
            k++;
        whole = n->naming[i] == DX_LAKE_CURRENT &&
                (k == n->missing.count || n->missing.file[k].dataset_id != id);
    }
    return whole;
}

static int freeze_lost(struct dx_publish_lake *l, struct dx_error *err)
{
    const struct dx_lake_list *missing = &l->named.missing;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < missing->count; i++)
        rc = dx_publish_lake_freeze(l, missing->file[i].dataset_id, err);
    return rc;
}

static int take_list(struct dx_publish_lake *l, const struct dx_root *root, const char *current,
                     const struct dx_publish_allow *allow, struct dx_error *err)
{
    struct dx_lake_membership *n = &l->named;
    int rc = dx_lake_membership_apply(n, &l->registry, err);

    if (rc == DX_OK)
        rc = allow->freezes && has_whole(n)
                 ? freeze_lost(l, err)
                 : dx_publish_missing_check(n, &l->registry, allow, root->name, current, err);
    if (rc != DX_OK)
        return rc;
    dx_lake_membership_keep(n);
    if (n->list.count == 0 && n->unknown_count > 0 && current[0] == '\0')
        return dx_fail(
            err, DX_E_INVALID, "nothing to publish: no file of the lake can be taken (%zu): %.*s",
            n->unknown_count, first_line(&n->left_out.text), (const char *)n->left_out.text.data);
    for (size_t i = 0; i < n->list.count; i++) {
        n->list.file[i].fresh = n->naming[i] == DX_LAKE_NEW;
        if (n->list.file[i].fresh)
            l->bytes_new += n->list.file[i].size;
    }
    rc = leave_copies_out(l, root, err);
    if (rc == DX_OK)
        rc = take_lost(l, err);
    if (rc < 0)
        return rc;
    if (n->list.count > 1)
        qsort(n->list.file, n->list.count, sizeof *n->list.file, by_path);
    return dx_publish_lake_again(l, err);
}

/* The names are read behind the files: a dataset has its name before it has files. */
static int look(struct dx_publish_lake *l, const struct dx_root *root,
                const struct dx_manifest *manifest, struct dx_error *err)
{
    int rc = dx_lake_membership_open(&l->named, root, manifest, err);

    if (rc == DX_OK && l->named.list.count == 0 && manifest->version_count == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "nothing to publish: %s/urls holds no Parquet file; run "
                     "`domaindex ingest --root %s ...` first",
                     root->name, root->name);
    return rc == DX_OK ? read_registry(&l->registry, root, true, err) : rc;
}

/* Until the registry, read before and after, says the same of all files. A replacement that ends in
 * between would else be seen with neither the old files nor the new. Under a lock none does. */
static int look_until_same(struct dx_publish_lake *l, const struct dx_root *root,
                           const struct dx_manifest *manifest, struct dx_error *err)
{
    for (int i = 0; i < LOOKS_MAX; i++) {
        struct dx_registry before = DX_REGISTRY_INIT;
        bool is_same = false;
        int rc = read_registry(&before, root, false, err);

        if (rc == DX_OK)
            rc = look(l, root, manifest, err);
        if (rc == DX_OK)
            is_same = dx_registry_same_standing(&before, &l->registry);
        dx_registry_release(&before);
        if (rc != DX_OK || is_same)
            return rc;
        dx_lake_membership_close(&l->named);
        dx_registry_release(&l->registry);
    }
    return dx_fail(err, DX_E_BUSY,
                   "%s: each of %d times that the lake was listed, datasets were replaced or "
                   "removed meanwhile; publish again",
                   root->name, LOOKS_MAX);
}

static int open_empty(struct dx_publish_lake *l, const struct dx_root *root, const char *dir,
                      struct dx_error *err)
{
    assert(root->in_place || dir != NULL);
    *l = (struct dx_publish_lake){ .registry = DX_REGISTRY_INIT,
                                   .named = DX_LAKE_MEMBERSHIP_INIT,
                                   .lost = DX_LEFT_OUT_INIT };
    if (!root->in_place)
        l->root = strdup(dir);
    else if (asprintf(&l->root, "%s/" DX_LAKE_DIR, root->name) < 0)
        l->root = NULL;
    return l->root == NULL ? dx_no_memory(err, "lake") : DX_OK;
}

int dx_publish_lake_open(struct dx_publish_lake *l, const struct dx_root *root,
                         const struct dx_manifest *manifest, const struct dx_publish_allow *allow,
                         const char *dir, struct dx_error *err)
{
    int rc = open_empty(l, root, dir, err);

    if (rc != DX_OK)
        return rc;
    rc = root->in_place ? look(l, root, manifest, err) : look_until_same(l, root, manifest, err);
    if (rc == DX_OK)
        rc = take_list(l, root, manifest->current, allow, err);
    if (rc != DX_OK)
        dx_publish_lake_close(l);
    return rc;
}

static int copy_registry(struct dx_registry *to, const struct dx_registry *from,
                         struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(SIZE_MAX / 2);
    int rc = dx_registry_write(from, &text, err);

    if (rc == DX_OK)
        rc = dx_registry_parse(to, dx_span_of(text.data, text.size), DX_FILE_DATASETS, err);
    dx_buf_release(&text);
    return rc;
}

static int add_file(struct dx_publish_lake *l, const struct dx_part *part,
                    const struct dx_pages_file *file, struct dx_error *err)
{
    const struct dx_object object = { DX_OBJECT_LAKE, file->file_id };
    const char *etag = dx_objects_pin(part->objects, object, file->size).etag;
    char path[DX_FILES_PATH_MAX + sizeof DX_LAKE_DIR "/"];
    int rc;

    (void)snprintf(path, sizeof path, DX_LAKE_DIR "/%.*s", (int)file->path.size,
                   (const char *)file->path.data);
    rc = dx_lake_list_add(&l->named.list, &l->named.left_out, path, file->size,
                          etag == NULL ? "" : etag, err);
    return rc == 0 ? dx_fail(err, DX_E_CORRUPT, "%s: is not the name of a lake file", path) : rc;
}

/* What the version lacks, the next one lacks too: a merge looks at no lake. */
static int add_lacked(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct dx_publish_lake *l = ctx;
    char path[DX_FILES_PATH_MAX + sizeof DX_LAKE_DIR "/"];
    int rc;

    (void)snprintf(path, sizeof path, DX_LAKE_DIR "/%.*s", (int)row->path.size,
                   (const char *)row->path.data);
    rc = dx_lake_list_add(&l->named.lacked, &l->named.left_out, path, row->size, "", err);
    return rc < 0 ? rc : DX_OK;
}

int dx_publish_lake_of(struct dx_publish_lake *l, const struct dx_root *root,
                       const struct dx_version *version, const char *dir, struct dx_error *err)
{
    struct dx_lake_list *list = &l->named.list;
    int rc = open_empty(l, root, dir, err);

    if (rc == DX_OK)
        rc = copy_registry(&l->registry, &version->registry, err);
    for (uint64_t i = 0; rc >= 0 && i < version->entry.file_ids; i++) {
        const struct dx_part *part;
        struct dx_pages_file file;

        rc = dx_version_file(version, i, &part, &file, err);
        if (rc == 1)
            rc = add_file(l, part, &file, err);
    }
    if (rc >= 0)
        rc = dx_listed_missing(root->source, root->copies, &version->entry, add_lacked, l, err);
    if (rc >= 0 && list->count > 1)
        qsort(list->file, list->count, sizeof *list->file, by_path);
    return rc < 0 ? rc : dx_publish_lake_again(l, err);
}

int dx_publish_lake_change(struct dx_publish_lake *l, const bool *goes,
                           const struct dx_lake_entry *added, size_t count, struct dx_error *err)
{
    struct dx_lake_list *list = &l->named.list;
    int rc;

    if (goes != NULL)
        remove_files(list, goes);
    rc = take_lost(l, err);
    rc = rc < 0 ? rc : 1;
    for (size_t i = 0; rc == 1 && i < count; i++) {
        rc = dx_lake_list_add(list, &l->named.left_out, added[i].path, added[i].size, added[i].etag,
                              err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_INVALID, "%s: is not the name of a lake file", added[i].path);
    }
    if (rc < 0)
        return rc;
    if (list->count > 1)
        qsort(list->file, list->count, sizeof *list->file, by_path);
    return dx_publish_lake_again(l, err);
}

int dx_publish_lake_hold(struct dx_publish_lake *l, const uint32_t *dataset_ids, size_t count,
                         struct dx_error *err)
{
    struct dx_lake_list *list = &l->named.list;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < count; i++)
        rc = dx_lake_membership_hold(&l->named, dataset_ids[i], err);
    if (rc == DX_OK && list->count > 1)
        qsort(list->file, list->count, sizeof *list->file, by_path);
    return rc == DX_OK ? dx_publish_lake_again(l, err) : rc;
}

void dx_publish_lake_close(struct dx_publish_lake *l)
{
    release_files(l);
    dx_lake_membership_close(&l->named);
    dx_registry_release(&l->registry);
    dx_left_out_release(&l->lost);
    free(l->frozen);
    free(l->root);
    l->frozen = NULL;
    l->root = NULL;
    l->lake.root = NULL;
}
