/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_layout.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/path.h"
#include "fetch/source.h"
#include "format/version/files_tsv.h"

#define DEPTH_MAX 16 /* folders below urls/ */

size_t dx_lake_dir_format(const struct dx_lake_path *path, char text[DX_LAKE_PATH_MAX])
{
    int n = snprintf(text, DX_LAKE_PATH_MAX, DX_LAKE_DIR "/dataset_id=%u/domain_prefix=%02x",
                     path->dataset_id, path->first);

    assert(path->first <= path->last);
    if (path->first != path->last)
        n += snprintf(text + n, DX_LAKE_PATH_MAX - (size_t)n, "-%02x", path->last);
    return (size_t)n;
}

size_t dx_lake_path_format(const struct dx_lake_path *path, char text[DX_LAKE_PATH_MAX])
{
    size_t n = dx_lake_dir_format(path, text);

    assert(path->part <= DX_LAKE_PART_MAX);
    n += (size_t)snprintf(text + n, DX_LAKE_PATH_MAX - n, "/part-%05u.parquet", path->part);
    return n;
}

static bool literal(struct dx_bytes *r, const char *text)
{
    struct dx_span got = dx_bytes_take(r, strlen(text));

    return !r->failed && dx_span_equal(got, dx_span_str(text));
}

static bool hex_byte(struct dx_bytes *r, uint8_t *v)
{
    *v = 0;
    for (int i = 0; i < 2; i++) {
        uint8_t c = dx_bytes_u8(r);

        if (c >= '0' && c <= '9')
            *v = (uint8_t)(*v << 4 | (c - '0'));
        else if (c >= 'a' && c <= 'f')
            *v = (uint8_t)(*v << 4 | (c - 'a' + 10));
        else
            return false;
    }
    return !r->failed;
}

/* At least `digits` digits, no more than needed. */
static bool number(struct dx_bytes *r, size_t digits, uint64_t max, uint32_t *v)
{
    const uint8_t *from = r->at;
    uint64_t n = 0;

    while (dx_bytes_left(r) > 0 && *r->at >= '0' && *r->at <= '9' && n <= max)
        n = n * 10 + (uint64_t)(*r->at++ - '0');
    *v = (uint32_t)n;
    return n <= max && (size_t)(r->at - from) >= digits &&
           ((size_t)(r->at - from) == digits || *from != '0');
}

bool dx_lake_path_parse(struct dx_span text, struct dx_lake_path *path)
{
    struct dx_bytes r = dx_bytes_of(text);

    if (!literal(&r, DX_LAKE_DIR "/dataset_id=") || !number(&r, 1, INT32_MAX, &path->dataset_id) ||
        !literal(&r, "/domain_prefix=") || !hex_byte(&r, &path->first))
        return false;
    path->last = path->first;
    if (dx_bytes_left(&r) > 0 && *r.at == '-' &&
        (!literal(&r, "-") || !hex_byte(&r, &path->last) || path->last <= path->first))
        return false;
    return literal(&r, "/part-") && number(&r, 5, DX_LAKE_PART_MAX, &path->part) &&
           literal(&r, ".parquet") && dx_bytes_left(&r) == 0;
}

unsigned dx_lake_range_count(uint64_t rows)
{
    return rows < DX_LAKE_ROWS_ONE_RANGE ? 1 : rows < DX_LAKE_ROWS_16_RANGES ? 16 : 256;
}

void dx_lake_list_release(struct dx_lake_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->file[i].path);
        free(list->file[i].etag);
    }
    free(list->file);
    *list = (struct dx_lake_list){ NULL, 0, 0 };
}

bool dx_lake_dataset_of(const char *path, uint32_t *id)
{
    struct dx_bytes r = dx_bytes_of(dx_span_str(path));

    return literal(&r, DX_LAKE_DIR "/dataset_id=") && number(&r, 1, INT32_MAX, id) &&
           literal(&r, "/");
}

/* What no version can have is left out, and reported: a folder of one dataset must not be able to
 * stop the others. */
static int leave_out(struct dx_left_out *left, const char *path, const char *why)
{
    dx_left_out_note(left, path, why);
    return 0;
}

/* 1 it is in the list, 0 left out, <0 error. */
static int add_file(struct dx_lake_list *list, struct dx_left_out *left, const char *path,
                    uint64_t size, const char *etag, struct dx_error *err)
{
    struct dx_lake_entry e = { .size = size };
    struct dx_lake_entry *grown;

    if (strncmp(path, DX_LAKE_DIR "/", strlen(DX_LAKE_DIR) + 1) != 0 ||
        !dx_lake_path_ok(dx_span_str(path + strlen(DX_LAKE_DIR) + 1)))
        return leave_out(
            left, path,
            "the path of this Parquet file has other characters than letters, digits and "
            "_.=-, or is too long; rename it, or take it out of the lake");
    if (!dx_lake_dataset_of(path, &e.dataset_id))
        return leave_out(
            left, path,
            "this Parquet file is in no dataset_id=N folder; move it into one, or out of "
            "the lake");
    grown = dx_array_room(list->file, list->count, &list->capacity, sizeof *grown);
    if (grown == NULL)
        return dx_no_memory(err, "lake: file names");
    list->file = grown;
    e.path = strdup(path);
    e.etag = strdup(etag);
    if (e.path == NULL || e.etag == NULL) {
        free(e.path);
        free(e.etag);
        return dx_no_memory(err, "lake");
    }
    list->file[list->count++] = e;
    return 1;
}

static bool is_parquet(const char *name)
{
    size_t n = strlen(name);

    return n > 8 && strcmp(name + n - 8, ".parquet") == 0;
}

static int list_folder(struct dx_lake_list *list, struct dx_left_out *left, int parent,
                       const char *name, const char *path, unsigned depth, struct dx_error *err);

static int visit(struct dx_lake_list *list, struct dx_left_out *left, int dir, const char *name,
                 const char *path, unsigned depth, struct dx_error *err)
{
    struct stat st;
    int rc;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? DX_OK /* a collector has removed it since */
                               : dx_fail_errno(err, errno, "%s: cannot stat", path);
    if (S_ISLNK(st.st_mode))
        return leave_out(left, path, "is a symbolic link; the lake must hold the files themselves");
    if (S_ISDIR(st.st_mode))
        return list_folder(list, left, dir, name, path, depth + 1, err);
    if (!is_parquet(name))
        return DX_OK;
    if (!S_ISREG(st.st_mode))
        return leave_out(left, path, "is not a regular file");
    rc = add_file(list, left, path, (uint64_t)st.st_size, "", err);
    return rc < 0 ? rc : DX_OK;
}

static int list_folder(struct dx_lake_list *list, struct dx_left_out *left, int parent,
                       const char *name, const char *path, unsigned depth, struct dx_error *err)
{
    struct dirent *entry;
    char *below = NULL;
    DIR *dir = NULL;
    int fd;
    int rc = DX_OK;

    if (depth > DEPTH_MAX)
        return leave_out(left, path, "this folder is more than 16 folders deep");
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && depth == 0)
        return DX_OK; /* no lake yet */
    if (fd < 0 && depth > 0 && (errno == EACCES || errno == EPERM))
        return leave_out(left, path, "this folder cannot be read: permission denied");
    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open directory", path);
    dir = fdopendir(fd);
    if (dir == NULL) {
        rc = dx_fail_errno(err, errno, "%s: cannot read directory", path);
        (void)close(fd);
        return rc;
    }
    while (rc == DX_OK) {
        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0)
                rc = dx_fail_errno(err, errno, "%s: cannot read directory", path);
            break;
        }
        if (entry->d_name[0] == '.' || entry->d_name[0] == '_')
            continue;
        if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
            below = NULL;
            rc = dx_no_memory(err, "lake");
            break;
        }
        rc = visit(list, left, fd, entry->d_name, below, depth, err);
        free(below);
    }
    (void)closedir(dir);
    return rc;
}

int dx_lake_entry_compare(const void *a, const void *b)
{
    const struct dx_lake_entry *x = a;
    const struct dx_lake_entry *y = b;

    if (x->dataset_id != y->dataset_id)
        return x->dataset_id < y->dataset_id ? -1 : 1;
    return strcmp(x->path, y->path);
}

void dx_lake_list_sort(struct dx_lake_list *list)
{
    if (list->count > 1)
        qsort(list->file, list->count, sizeof *list->file, dx_lake_entry_compare);
}

size_t dx_lake_list_find(const struct dx_lake_list *list, uint32_t dataset_id)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->file[middle].dataset_id < dataset_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool dx_lake_same_folder(const struct dx_lake_path *a, const struct dx_lake_path *b)
{
    return a->dataset_id == b->dataset_id && a->first == b->first && a->last == b->last;
}

/* folder: NULL, or the files of this one alone. */
static uint32_t next_part(const struct dx_lake_list *list, uint32_t dataset_id,
                          const struct dx_lake_path *folder, uint32_t least)
{
    for (size_t i = dx_lake_list_find(list, dataset_id);
         i < list->count && list->file[i].dataset_id == dataset_id; i++) {
        struct dx_lake_path there;

        if (dx_lake_path_parse(dx_span_str(list->file[i].path), &there) && there.part >= least &&
            (folder == NULL || dx_lake_same_folder(&there, folder)))
            least = there.part + 1;
    }
    return least;
}

uint32_t dx_lake_list_next_part(const struct dx_lake_list *list, const struct dx_lake_path *path)
{
    return next_part(list, path->dataset_id, path, 0);
}

uint32_t dx_lake_list_next_part_of(const struct dx_lake_list *list, uint32_t dataset_id,
                                   uint32_t least)
{
    return next_part(list, dataset_id, NULL, least);
}

static bool is_there(const char *root, struct dx_source *source, const char *object)
{
    const struct dx_get get = { .object = object, .cap = 1 };
    struct dx_buf text = DX_BUF_INIT(1);
    char etag[DX_SOURCE_ETAG];
    char path[PATH_MAX];
    int rc;

    if (source == NULL)
        return dx_path_format(path, sizeof path, NULL, "%s/%s", root, object) == DX_OK &&
               access(path, F_OK) == 0;
    rc = dx_source_get(source, &get, &text, etag, NULL);
    dx_buf_release(&text);
    return rc >= 0 || rc == DX_E_LIMIT;
}

int dx_lake_check_names(const char *root, struct dx_source *source, struct dx_error *err)
{
    if (!is_there(root, source, "urls/psl.dat") && !is_there(root, source, "urls/registry.json"))
        return DX_OK;
    if (source != NULL)
        return dx_fail(
            err, DX_E_UNSUPPORTED,
            "urls/psl.dat, urls/registry.json: places of an older domaindex; copy these "
            "objects to psl.dat and registry.json of the root, then remove the old ones");
    return dx_fail(err, DX_E_UNSUPPORTED,
                   "%s: its registry is where an older domaindex had it; run: mv %s/urls/psl.dat "
                   "%s/urls/registry.json %s/",
                   root, root, root, root);
}

int dx_lake_list(struct dx_lake_list *list, struct dx_left_out *left, const char *root,
                 struct dx_error *err)
{
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc;

    *list = (struct dx_lake_list){ NULL, 0, 0 };
    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open directory", root);
    rc = list_folder(list, left, fd, DX_LAKE_DIR, DX_LAKE_DIR, 0, err);
    (void)close(fd);
    if (rc < 0) {
        dx_lake_list_release(list);
        return dx_fail_in(err, "%s", root);
    }
    dx_lake_list_sort(list);
    return DX_OK;
}

/* A name that begins with '.' or '_' anywhere below urls/ hides what is below it. */
static bool is_hidden(const char *object)
{
    for (const char *at = strchr(object, '/'); at != NULL; at = strchr(at + 1, '/'))
        if (at[1] == '.' || at[1] == '_')
            return true;
    return false;
}

static unsigned folders_of(const char *object)
{
    unsigned slashes = 0;

    for (; *object != '\0'; object++)
        slashes += *object == '/';
    return slashes - 1; /* the first is that of urls/ */
}

int dx_lake_list_add(struct dx_lake_list *list, struct dx_left_out *left, const char *object,
                     uint64_t size, const char *etag, struct dx_error *err)
{
    const char *last = strrchr(object, '/');

    if (strncmp(object, DX_LAKE_DIR "/", strlen(DX_LAKE_DIR) + 1) != 0 || !is_parquet(last + 1) ||
        is_hidden(object))
        return 0;
    if (folders_of(object) > DEPTH_MAX)
        return leave_out(left, object, "is more than 16 folders deep");
    return add_file(list, left, object, size, etag, err);
}
