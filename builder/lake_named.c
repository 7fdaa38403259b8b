/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake_named.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "builder/listed_files.h"
#include "builder/registry.h"
#include "fetch/store.h"

_Static_assert(DX_VERSION_NAME == 24, "dx_lake_claim_version");

/* A path, by its hash: files are millions, and 128 bits do not meet by chance. */
struct name {
    struct dx_hash128 hash; /* of the path relative to the root */
    bool current;
    bool there; /* in the lake */
};

struct naming {
    const struct dx_lake_named_from *from;
    struct dx_source *source;
    struct name *names;
    size_t count;
    size_t capacity;
    const struct dx_manifest_version *reading;
    struct dx_buf path; /* parquet_root and a path */
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
    n->count = kept;
}

static int grow(struct naming *n, struct dx_error *err)
{
    size_t capacity = n->capacity == 0 ? 256 : n->capacity * 2;
    struct name *grown = realloc(n->names, capacity * sizeof *grown);

    if (grown == NULL)
        return dx_fail(err, DX_E_NOMEM, "lake: out of memory for %zu named files", capacity);
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

static int add_name(struct naming *n, struct dx_span path, bool current, struct dx_error *err)
{
    int rc = make_room(n, err);

    if (rc == DX_OK)
        n->names[n->count++] = (struct name){ dx_hash128_of(path), current, false };
    return rc;
}

/* ---- versions ---- */

static bool is_current(const struct naming *n, const struct dx_manifest_version *v)
{
    return strcmp(v->version, n->from->manifest->current) == 0;
}

static int add_listed(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct naming *n = ctx;

    dx_buf_clear(&n->path);
    dx_buf_str(&n->path, n->reading->parquet_root);
    dx_buf_append(&n->path, row->path.data, row->path.size);
    if (n->path.failed)
        return dx_buf_fail(&n->path, err, "path of a lake file");
    return add_name(n, dx_span_of(n->path.data, n->path.size), is_current(n, n->reading), err);
}

/* The same list is the same bytes, below the same parquet_root: it need not be read twice. */
static bool same_list(const struct dx_manifest_version *a, const struct dx_manifest_version *b)
{
    const struct dx_manifest_file *x = dx_manifest_file(a, DX_FILE_FILES_TSV);
    const struct dx_manifest_file *y = dx_manifest_file(b, DX_FILE_FILES_TSV);

    return x != NULL && y != NULL && x->size == y->size && dx_hash128_equal(&x->hash, &y->hash) &&
           strcmp(a->parquet_root, b->parquet_root) == 0;
}

/* Another one has, or will, read it: the current version itself, or the first with that list. */
static bool is_read(const struct naming *n, size_t i)
{
    const struct dx_manifest *m = n->from->manifest;
    const struct dx_manifest_version *current = dx_manifest_current(m);

    if (is_current(n, &m->versions[i]))
        return false;
    if (current != NULL && same_list(&m->versions[i], current))
        return true;
    for (size_t k = 0; k < i; k++)
        if (same_list(&m->versions[i], &m->versions[k]))
            return true;
    return false;
}

static int read_versions(struct naming *n, struct dx_error *err)
{
    const struct dx_manifest *m = n->from->manifest;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->version_count; i++) {
        if (is_read(n, i))
            continue;
        n->reading = &m->versions[i];
        rc = dx_listed_files(n->source, n->reading, add_listed, n, err);
        if (rc < 0)
            (void)dx_fail_in(err,
                             "%s: the list of the lake files that version %s has cannot be read, "
                             "and without it files that were taken out would come back; restore "
                             "it from a copy",
                             n->from->root, n->reading->version);
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

        rc = add_name(n, line, false, err);
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

    if (!dx_lake_claim_version(object, version) ||
        dx_manifest_find(n->from->manifest, version) != NULL)
        return DX_OK;
    rc = dx_source_get(n->source, &get, &text, etag, &why);
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
    int rc = DX_OK;
    int size = snprintf(path, sizeof path, "%s/" DX_LAKE_CLAIMS, n->from->root);

    if (size < 0 || (size_t)size >= sizeof path)
        return dx_fail(err, DX_E_INVALID, "%s: path too long", n->from->root);
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

static enum dx_lake_naming naming_of(struct naming *n, const char *path)
{
    struct dx_hash128 hash = dx_hash128_of(dx_span_str(path));
    struct name *name = n->count == 0
                            ? NULL
                            : bsearch(&hash, n->names, n->count, sizeof *n->names, by_hash_alone);

    if (name == NULL)
        return DX_LAKE_NEW;
    name->there = true;
    return name->current ? DX_LAKE_CURRENT : DX_LAKE_OUT;
}

static int name_files(struct naming *n, struct dx_lake_named *to, struct dx_error *err)
{
    to->naming = calloc(to->list.count + 1, sizeof *to->naming);
    if (to->naming == NULL)
        return dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    for (size_t i = 0; i < to->list.count; i++) {
        to->naming[i] = naming_of(n, to->list.file[i].path);
        to->new_count += to->naming[i] == DX_LAKE_NEW;
        to->current_count += to->naming[i] == DX_LAKE_CURRENT;
        to->out_count += to->naming[i] == DX_LAKE_OUT;
    }
    for (size_t i = 0; i < n->count; i++)
        to->gone_count += n->names[i].current && !n->names[i].there;
    return DX_OK;
}

int dx_lake_named_open(struct dx_lake_named *to, const struct dx_lake_named_from *from,
                       struct dx_error *err)
{
    struct naming n = { .from = from, .source = from->source };
    struct dx_source *own = NULL;
    int rc = DX_OK;

    *to = (struct dx_lake_named)DX_LAKE_NAMED_INIT;
    dx_buf_init(&n.path, DX_OBJECT_NAME_MAX + 1);
    if (n.source == NULL)
        rc = dx_source_open_local(&own, from->root, err);
    if (n.source == NULL)
        n.source = own;
    if (rc == DX_OK)
        rc = read_versions(&n, err);
    if (rc == DX_OK)
        rc = from->store == NULL ? dx_lake_list(&to->list, from->root, err)
                                 : dx_lake_list_store(&to->list, from->store, err);
    if (rc == DX_OK)
        rc = from->store == NULL ? walk_claims(&n, err)
                                 : dx_store_list(from->store, DX_LAKE_CLAIMS, see_claim, &n, err);
    sort_names(&n);
    if (rc == DX_OK)
        rc = name_files(&n, to, err);
    if (rc < 0)
        dx_lake_named_close(to);
    free(n.names);
    dx_buf_release(&n.path);
    dx_source_close(&own);
    return rc;
}

static void take_out(struct dx_lake_named *n, size_t i)
{
    if (n->naming[i] == DX_LAKE_OUT)
        return;
    n->new_count -= n->naming[i] == DX_LAKE_NEW;
    n->current_count -= n->naming[i] == DX_LAKE_CURRENT;
    n->out_count++;
    n->naming[i] = DX_LAKE_OUT;
}

/* The files of one dataset, [from, to). */
static int apply_to(struct dx_lake_named *n, size_t from, size_t to, const struct dx_registry *r,
                    struct dx_error *err)
{
    bool is_replaced = false;

    for (size_t i = from; i < to; i++) {
        const char *path = n->list.file[i].path;
        enum dx_lake_standing standing = dx_registry_path_standing(r, path);
        bool is_new = n->naming[i] == DX_LAKE_NEW;

        if (n->naming[i] == DX_LAKE_OUT)
            continue;
        if (standing == DX_LAKE_UNKNOWN)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: dataset %u is not in urls/registry.json; bring that file back or "
                           "move the dataset's folder away",
                           path, n->list.file[i].dataset_id);
        is_replaced = is_replaced || (is_new && standing == DX_LAKE_REPLACES);
        if (standing == DX_LAKE_REMOVED ||
            (is_new && (standing == DX_LAKE_REPLACED || standing == DX_LAKE_MAKING)))
            take_out(n, i);
    }
    for (size_t i = from; is_replaced && i < to; i++)
        if (n->naming[i] == DX_LAKE_CURRENT)
            take_out(n, i);
    return DX_OK;
}

int dx_lake_named_apply(struct dx_lake_named *n, const struct dx_registry *registry,
                        struct dx_error *err)
{
    size_t to;
    int rc = DX_OK;

    for (size_t from = 0; rc == DX_OK && from < n->list.count; from = to) {
        for (to = from;
             to < n->list.count && n->list.file[to].dataset_id == n->list.file[from].dataset_id;)
            to++;
        rc = apply_to(n, from, to, registry, err);
    }
    return rc;
}

void dx_lake_named_keep(struct dx_lake_named *n)
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

void dx_lake_named_close(struct dx_lake_named *n)
{
    dx_lake_list_release(&n->list);
    free(n->naming);
    n->naming = NULL;
}
