/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_membership.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/path.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_absent.h"
#include "builder/lake/listed_files.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

#include <roaring/roaring.h>

_Static_assert(DX_VERSION_NAME == 24, "dx_lake_claim_version");

/* A path, by its hash: files are millions, and 128 bits do not meet by chance. */
struct name {
    struct dx_hash128 hash; /* of the path relative to the root */
    bool current;
    bool by_version; /* not a compaction's list alone */
    bool there;      /* in the lake */
};

struct naming {
    const struct dx_root *root;
    const struct dx_manifest *manifest;
    struct name *names;
    size_t count;
    size_t capacity;
    const struct dx_manifest_version *reading;
    roaring_bitmap_t *gone; /* file_ids of its older parts that the current version does not have */
    struct dx_buf path;     /* parquet_root and a path */
    struct dx_lake_absent absent;
    size_t lacked_from; /* in absent.list: those that the current version lacked already */
};

static int by_hash(const void *a, const void *b)
{
    const struct name *x = a;
    const struct name *y = b;
    int c = memcmp(x->hash.bytes, y->hash.bytes, sizeof x->hash.bytes);

    return c != 0 ? c : (int)y->current - (int)x->current;
}

/* In order, each once; what the current version has comes first and stays. */
static void sort_names(struct naming *n)
{
    size_t kept = 0;

    if (n->count > 1)
        qsort(n->names, n->count, sizeof *n->names, by_hash);
    for (size_t i = 0; i < n->count; i++)
        if (kept == 0 || !dx_hash128_equal(&n->names[i].hash, &n->names[kept - 1].hash))
            n->names[kept++] = n->names[i];
        else
            n->names[kept - 1].by_version |= n->names[i].by_version;
    n->count = kept;
}

static int grow(struct naming *n, struct dx_error *err)
{
    size_t capacity = n->capacity == 0 ? 256 : n->capacity * 2;
    struct name *grown = realloc(n->names, capacity * sizeof *grown);

    if (grown == NULL)
        return dx_no_memory(err, "lake: %zu named files", capacity);
    n->names = grown;
    n->capacity = capacity;
    return DX_OK;
}

/* Versions have most of their files in common: room is made by keeping each name once, and grows
 * only if that does not help for long. */
static int make_room(struct naming *n, struct dx_error *err)
{
    if (n->count < n->capacity)
        return DX_OK;
    sort_names(n);
    return n->count > n->capacity / 2 || n->capacity == 0 ? grow(n, err) : DX_OK;
}

static int add_name(struct naming *n, struct dx_span path, bool current, bool by_version,
                    struct dx_error *err)
{
    int rc = make_room(n, err);

    if (rc == DX_OK)
        n->names[n->count++] = (struct name){ dx_hash128_of(path), current, by_version, false };
    return rc;
}

/* ---- versions ---- */

/* The current version, or a part of it: what its list has, the current version has. */
static bool is_current(const struct naming *n, const struct dx_manifest_version *v)
{
    const struct dx_manifest_version *current = dx_manifest_current(n->manifest);
    bool is = current != NULL && strcmp(v->version, current->version) == 0;

    for (size_t i = 0; current != NULL && i < current->part_count; i++)
        is = is || strcmp(v->version, current->parts[i]) == 0;
    return is;
}

/* The path of a row relative to the root, ended by a NUL that does not count. */
static int write_path(struct naming *n, const struct dx_files_row *row, struct dx_span *path,
                      struct dx_error *err)
{
    dx_buf_clear(&n->path);
    dx_buf_str(&n->path, n->reading->parquet_root);
    dx_buf_append(&n->path, row->path.data, row->path.size);
    dx_buf_u8(&n->path, '\0');
    if (n->path.failed)
        return dx_buf_fail(&n->path, err, "path of a lake file");
    *path = dx_span_of(n->path.data, n->path.size - 1);
    return DX_OK;
}

static int add_listed(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct naming *n = ctx;
    bool is_gone = n->gone != NULL && roaring_bitmap_contains(n->gone, row->file_id);
    struct dx_span path;
    int rc = write_path(n, row, &path, err);

    return rc == DX_OK ? add_name(n, path, is_current(n, n->reading) && !is_gone, true, err) : rc;
}

/* Of a version's missing files; those of a part are its own version's. */
static int add_missing(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct naming *n = ctx;
    struct dx_span path;
    int rc = write_path(n, row, &path, err);

    return rc == DX_OK ? add_name(n, path, strcmp(n->reading->version, n->manifest->current) == 0,
                                  true, err)
                       : rc;
}

/* The same list is the same bytes, below the same parquet_root: it need not be read twice. */
static bool same_list(const struct dx_manifest_version *a, const struct dx_manifest_version *b)
{
    const struct dx_manifest_file *x = dx_manifest_file(a, DX_FILE_FILES_TSV);
    const struct dx_manifest_file *y = dx_manifest_file(b, DX_FILE_FILES_TSV);

    return x != NULL && y != NULL && x->size == y->size && dx_hash128_equal(&x->hash, &y->hash) &&
           strcmp(a->parquet_root, b->parquet_root) == 0;
}

/* Another one's reading says what this one's would: a part of the current version with the same
 * list, or the first with it. */
static bool is_read(const struct naming *n, size_t i)
{
    const struct dx_manifest *m = n->manifest;
    bool current = is_current(n, &m->versions[i]);

    for (size_t k = 0; k < m->version_count; k++)
        if (k != i && same_list(&m->versions[i], &m->versions[k]) &&
            (is_current(n, &m->versions[k]) > current ||
             (is_current(n, &m->versions[k]) == current && k < i)))
            return true;
    return false;
}

/* Parts are versions that the manifest lists, so each list is read once, with its own version. */
static int check_parts(const struct naming *n, const struct dx_manifest_version *v,
                       struct dx_error *err)
{
    for (size_t i = 0; i < v->part_count && v->state != DX_VERSION_DROPPED; i++)
        if (dx_manifest_find(n->manifest, v->parts[i]) == NULL)
            return dx_fail(err, DX_E_CORRUPT, "version %s: its part %s is not listed", v->version,
                           v->parts[i]);
    return DX_OK;
}

static int read_versions(struct naming *n, struct dx_error *err)
{
    const struct dx_manifest *m = n->manifest;
    const struct dx_manifest_version *current = dx_manifest_current(m);
    int rc = current == NULL
                 ? DX_OK
                 : dx_listed_gone(n->root->source, n->root->copies, current, &n->gone, err);

    for (size_t i = 0; rc == DX_OK && i < m->version_count; i++) {
        n->reading = &m->versions[i];
        rc = check_parts(n, n->reading, err);
        if (rc == DX_OK)
            rc = dx_listed_missing(n->root->source, n->root->copies, n->reading, add_missing, n,
                                   err);
        if (rc == DX_OK && !is_read(n, i))
            rc = dx_listed_files(n->root->source, n->root->copies, n->reading, add_listed, n, err);
        if (rc < 0)
            (void)dx_fail_in(err,
                             "%s: the list of the lake files that version %s has cannot be read, "
                             "and without it files that were taken out would come back; restore "
                             "it from a copy",
                             n->root->name, n->reading->version);
    }
    return rc;
}

/* ---- compactions ---- */

bool dx_lake_claim_version(const char *object, char version[DX_VERSION_NAME])
{
    const char *at = object + strlen(DX_LAKE_CLAIMS);

    if (strncmp(object, DX_LAKE_CLAIMS, strlen(DX_LAKE_CLAIMS)) != 0 ||
        strlen(at) != DX_VERSION_NAME - 1 + strlen(DX_LAKE_CLAIM_SUFFIX) ||
        strcmp(at + DX_VERSION_NAME - 1, DX_LAKE_CLAIM_SUFFIX) != 0)
        return false;
    memcpy(version, at, DX_VERSION_NAME - 1);
    version[DX_VERSION_NAME - 1] = '\0';
    return dx_version_name_ok(dx_span_str(version), NULL);
}

static int add_lines(struct naming *n, struct dx_span text, struct dx_error *err)
{
    struct dx_bytes lines = dx_bytes_of(text);
    int rc = DX_OK;

    while (rc == DX_OK && dx_bytes_left(&lines) > 0) {
        const uint8_t *end = memchr(lines.at, '\n', dx_bytes_left(&lines));
        struct dx_span line = dx_bytes_take(&lines, end == NULL ? dx_bytes_left(&lines)
                                                                : (size_t)(end - lines.at));

        rc = add_name(n, line, false, false, err);
        if (end != NULL)
            (void)dx_bytes_u8(&lines);
    }
    return rc;
}

static int read_claim(struct naming *n, const char *object, struct dx_error *err)
{
    struct dx_get get = { .object = object, .cap = DX_LAKE_CLAIM_MAX };
    struct dx_buf text = DX_BUF_INIT(DX_LAKE_CLAIM_MAX);
    struct dx_error why = DX_ERROR_INIT;
    char version[DX_VERSION_NAME];
    char etag[DX_SOURCE_ETAG];
    int rc;

    if (!dx_lake_claim_version(object, version) || dx_manifest_find(n->manifest, version) != NULL)
        return DX_OK;
    rc = dx_source_get(n->root->source, &get, &text, etag, &why);
    if (rc == 1)
        rc = add_lines(n, dx_span_of(text.data, text.size), &why);
    if (rc == DX_E_NOT_FOUND)
        rc = DX_OK; /* taken away since it was listed: its files are gone already */
    if (rc < 0 && err != NULL)
        *err = why;
    dx_buf_release(&text);
    return rc;
}

static int see_claim(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    return read_claim(ctx, listed->object, err);
}

static int walk_claims(struct naming *n, struct dx_error *err)
{
    char path[PATH_MAX];
    char object[NAME_MAX + sizeof DX_LAKE_CLAIMS];
    struct dirent *e;
    DIR *dir;
    int rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_CLAIMS, n->root->name);

    if (rc < 0)
        return rc;
    dir = opendir(path);
    if (dir == NULL)
        return errno == ENOENT ? DX_OK : dx_fail_errno(err, errno, "%s: cannot read", path);
    while (rc == DX_OK) {
        errno = 0;
        e = readdir(dir);
        if (e == NULL)
            break;
        (void)snprintf(object, sizeof object, DX_LAKE_CLAIMS "%s", e->d_name);
        rc = read_claim(n, object, err);
    }
    if (rc == DX_OK && errno != 0)
        rc = dx_fail_errno(err, errno, "%s: cannot read", path);
    (void)closedir(dir);
    return rc;
}

/* ---- the lake ---- */

static int by_hash_alone(const void *key, const void *b)
{
    return memcmp(((const struct dx_hash128 *)key)->bytes, ((const struct name *)b)->hash.bytes,
                  sizeof(struct dx_hash128));
}

/* NULL: no version names it. */
static struct name *find_name(const struct naming *n, struct dx_span path)
{
    struct dx_hash128 hash = dx_hash128_of(path);

    return n->count == 0 ? NULL
                         : bsearch(&hash, n->names, n->count, sizeof *n->names, by_hash_alone);
}

static enum dx_lake_naming naming_of(const struct naming *n, const char *path, bool *by_version)
{
    const struct name *name = find_name(n, dx_span_str(path));

    *by_version = name != NULL && name->by_version;
    return name == NULL ? DX_LAKE_NEW : name->current ? DX_LAKE_CURRENT : DX_LAKE_OUT;
}

static size_t mark_there(struct naming *n, const struct dx_lake_list *list)
{
    size_t gone = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct name *name = find_name(n, dx_span_str(list->file[i].path));

        if (name != NULL)
            name->there = true;
    }
    for (size_t i = 0; i < n->count; i++)
        gone += n->names[i].current && !n->names[i].there;
    return gone;
}

static int add_absent(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct dx_left_out none = DX_LEFT_OUT_INIT; /* a version had the file, so its name is sound */
    struct naming *n = ctx;
    struct dx_span path;
    const struct name *name;
    int rc = write_path(n, row, &path, err);

    name = rc == DX_OK ? find_name(n, path) : NULL;
    if (name == NULL || name->there)
        return rc;
    rc = dx_lake_list_add(&n->absent.list, &none, (const char *)path.data, row->size, "", err);
    dx_left_out_release(&none);
    return rc < 0 ? rc : DX_OK;
}

/* Files of the current version that the listing lacks come into the list, or are said to be
 * missing. */
static int find_absent(struct naming *n, struct dx_lake_membership *to, struct dx_error *err)
{
    struct dx_lake_absent *a = &n->absent;
    int rc;

    if (mark_there(n, &to->list) == 0)
        return DX_OK;
    n->reading = dx_manifest_current(n->manifest);
    rc = dx_listed_files_all(n->root->source, n->root->copies, n->manifest, n->reading, add_absent,
                             n, err);
    n->lacked_from = a->list.count;
    if (rc == DX_OK)
        rc = dx_listed_missing(n->root->source, n->root->copies, n->reading, add_absent, n, err);
    if (rc == DX_OK)
        rc = dx_lake_absent_look(a, err);
    for (size_t i = 0; rc >= 0 && i < a->list.count; i++) {
        const struct dx_lake_entry *file = &a->list.file[i];
        struct dx_lake_list *into = a->there[i]          ? &to->list
                                    : i < n->lacked_from ? &to->missing
                                                         : &to->lacked;

        to->unlisted_count += a->there[i];
        rc = dx_lake_list_add(into, &to->left_out, file->path, file->size, file->etag, err);
    }
    dx_lake_list_sort(&to->list);
    dx_lake_list_sort(&to->missing);
    dx_lake_list_sort(&to->lacked);
    return rc < 0 ? rc : DX_OK;
}

static int name_files(const struct naming *n, struct dx_lake_membership *to, struct dx_error *err)
{
    to->naming = calloc(to->list.count + 1, sizeof *to->naming);
    to->by_version = calloc(to->list.count + 1, sizeof *to->by_version);
    if (to->naming == NULL || to->by_version == NULL)
        return dx_no_memory(err, "lake");
    for (size_t i = 0; i < to->list.count; i++) {
        to->naming[i] = naming_of(n, to->list.file[i].path, &to->by_version[i]);
        to->new_count += to->naming[i] == DX_LAKE_NEW;
        to->current_count += to->naming[i] == DX_LAKE_CURRENT;
        to->out_count += to->naming[i] == DX_LAKE_OUT;
    }
    return DX_OK;
}

int dx_lake_membership_open(struct dx_lake_membership *to, const struct dx_root *root,
                            const struct dx_manifest *m, struct dx_error *err)
{
    struct naming n = { .root = root, .manifest = m, .absent = { .root = root } };
    int rc;

    *to = (struct dx_lake_membership)DX_LAKE_MEMBERSHIP_INIT;
    to->is_published = m->version_count > 0;
    dx_buf_init(&n.path, DX_OBJECT_NAME_MAX + 1);
    rc = read_versions(&n, err);
    if (rc == DX_OK)
        rc = dx_lake_list_root(&to->list, &to->left_out, root, err);
    if (rc == DX_OK)
        rc = root->in_place ? walk_claims(&n, err)
                            : dx_store_list(root->store, DX_LAKE_CLAIMS, see_claim, &n, err);
    sort_names(&n);
    if (rc == DX_OK)
        rc = find_absent(&n, to, err);
    if (rc == DX_OK)
        rc = name_files(&n, to, err);
    if (rc < 0)
        dx_lake_membership_close(to);
    dx_lake_absent_release(&n.absent);
    if (n.gone != NULL)
        roaring_bitmap_free(n.gone);
    free(n.names);
    dx_buf_release(&n.path);
    return rc;
}

static void take_out(struct dx_lake_membership *n, size_t i)
{
    if (n->naming[i] == DX_LAKE_OUT)
        return;
    n->new_count -= n->naming[i] == DX_LAKE_NEW;
    n->current_count -= n->naming[i] == DX_LAKE_CURRENT;
    n->out_count++;
    n->naming[i] = DX_LAKE_OUT;
}

static int unknown_dataset(const struct dx_lake_entry *file, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: dataset %u is not in registry.json; fetch that file back or "
                   "move the dataset's folder away",
                   file->path, file->dataset_id);
}

/* A file that no version has, in a folder of a dataset that has no name: nothing of it counts, and
 * the datasets beside it do not wait for it. */
static void leave_unknown(struct dx_lake_membership *n, size_t i)
{
    char why[200];

    (void)snprintf(
        why, sizeof why,
        "dataset %u is not in registry.json; restore that file, or move the folder out of "
        "urls/ (ingest registers a dataset and writes its folder)",
        n->list.file[i].dataset_id);
    dx_left_out_note(&n->left_out, n->list.file[i].path, why);
    if (n->unknown_count++ == 0)
        n->unknown_first = i;
    take_out(n, i);
}

/* The files of one dataset, [from, to). A replacement is pending while no version has any of its
 * files: a file that was lost and is named by no version any more must not take out those beside
 * it. */
static int apply_to(struct dx_lake_membership *n, size_t from, size_t to,
                    const struct dx_registry *r, bool *is_replaced, struct dx_error *err)
{
    bool is_pending = false;
    bool is_over = false;

    for (size_t i = from; i < to; i++) {
        const char *path = n->list.file[i].path;
        enum dx_lake_standing standing = dx_registry_path_standing(r, path);
        bool is_new = n->naming[i] == DX_LAKE_NEW;

        is_over = is_over || (n->by_version[i] && standing == DX_LAKE_REPLACES);
        if (n->naming[i] == DX_LAKE_OUT)
            continue;
        if (standing == DX_LAKE_UNKNOWN && !is_new)
            return unknown_dataset(&n->list.file[i], err);
        if (standing == DX_LAKE_UNKNOWN)
            leave_unknown(n, i);
        is_pending = is_pending || (is_new && standing == DX_LAKE_REPLACES);
        if (standing == DX_LAKE_REMOVED ||
            (is_new && (standing == DX_LAKE_REPLACED || standing == DX_LAKE_MAKING ||
                        (standing == DX_LAKE_MERGED && n->is_published))))
            take_out(n, i);
    }
    *is_replaced = is_pending && !is_over;
    for (size_t i = from; *is_replaced && i < to; i++)
        if (n->naming[i] == DX_LAKE_CURRENT) {
            const struct dx_lake_entry *file = &n->list.file[i];
            int rc = dx_lake_list_add(&n->replaced, &n->left_out, file->path, file->size,
                                      file->etag, err);

            if (rc < 0)
                return rc;
            take_out(n, i);
        }
    return DX_OK;
}

static bool is_among(const uint32_t *ids, size_t count, uint32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Files that are not there and that the next version would not have anyway are not missing. */
static int apply_absent(struct dx_lake_membership *n, struct dx_lake_list *list,
                        const struct dx_registry *r, const uint32_t *replaced, size_t count,
                        struct dx_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct dx_lake_entry *file = &list->file[i];
        enum dx_lake_standing standing = dx_registry_path_standing(r, file->path);
        bool is_replaced;
        int rc;

        if (standing == DX_LAKE_UNKNOWN)
            return unknown_dataset(file, err);
        is_replaced = standing != DX_LAKE_REMOVED && is_among(replaced, count, file->dataset_id);
        rc = is_replaced ? dx_lake_list_add(&n->replaced_absent, &n->left_out, file->path,
                                            file->size, file->etag, err)
                         : DX_OK;
        if (rc < 0)
            return rc;
        if (standing == DX_LAKE_REMOVED || is_replaced) {
            free(file->path);
            free(file->etag);
            *file = (struct dx_lake_entry){ .path = NULL };
        }
    }
    for (size_t i = 0; i < list->count; i++)
        if (list->file[i].path != NULL)
            list->file[kept++] = list->file[i];
    list->count = kept;
    return DX_OK;
}

int dx_lake_membership_apply(struct dx_lake_membership *n, const struct dx_registry *registry,
                             struct dx_error *err)
{
    uint32_t *replaced = calloc(registry->count + 1, sizeof *replaced);
    size_t count = 0;
    size_t to;
    int rc = replaced == NULL ? dx_no_memory(err, "lake") : DX_OK;

    for (size_t from = 0; rc == DX_OK && from < n->list.count; from = to) {
        uint32_t id = n->list.file[from].dataset_id;
        bool is_replaced = false;

        for (to = from; to < n->list.count && n->list.file[to].dataset_id == id;)
            to++;
        rc = apply_to(n, from, to, registry, &is_replaced, err);
        if (is_replaced)
            replaced[count++] = id;
    }
    if (rc == DX_OK)
        rc = apply_absent(n, &n->missing, registry, replaced, count, err);
    if (rc == DX_OK)
        rc = apply_absent(n, &n->lacked, registry, replaced, count, err);
    free(replaced);
    return rc;
}

void dx_lake_membership_keep(struct dx_lake_membership *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->list.count; i++) {
        struct dx_lake_entry *file = &n->list.file[i];

        if (n->naming[i] == DX_LAKE_OUT) {
            free(file->path);
            free(file->etag);
            continue;
        }
        n->list.file[kept] = *file;
        n->naming[kept++] = n->naming[i];
    }
    n->list.count = kept;
}

int dx_lake_membership_hold(struct dx_lake_membership *n, uint32_t dataset_id, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < n->replaced_absent.count; i++)
        if (n->replaced_absent.file[i].dataset_id == dataset_id)
            return dx_fail(err, DX_E_NOT_FOUND,
                           "%s: is not there, and the replacement of its dataset cannot be taken: "
                           "one of its files is faulty",
                           n->replaced_absent.file[i].path);
    for (size_t i = 0; rc >= 0 && i < n->replaced.count; i++) {
        struct dx_lake_entry *file = &n->replaced.file[i];

        if (file->dataset_id != dataset_id)
            continue;
        rc = dx_lake_list_add(&n->list, &n->left_out, file->path, file->size, file->etag, err);
        file->dataset_id = 0; /* no dataset has it */
        assert(n->out_count > 0);
        n->out_count--;
    }
    return rc < 0 ? rc : DX_OK;
}

void dx_lake_membership_close(struct dx_lake_membership *n)
{
    dx_lake_list_release(&n->replaced);
    dx_lake_list_release(&n->replaced_absent);
    dx_lake_list_release(&n->list);
    dx_left_out_release(&n->left_out);
    dx_lake_list_release(&n->missing);
    dx_lake_list_release(&n->lacked);
    free(n->naming);
    free(n->by_version);
    n->naming = NULL;
    n->by_version = NULL;
}
