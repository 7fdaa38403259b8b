/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_copies.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "builder/lake/lake_scan.h"
#include "builder/root/root.h"
#include "format/root/registry_json.h"

#define END_BYTES (64u << 10)    /* of a file: most footers */
#define BLOCK_BYTES (256u << 10) /* at a time, of two files */
#define MD5_ETAG 34              /* hash of the content, in quotes */
#define OBJECT_MIN (16u << 10)   /* bytes; a file without rows is smaller */

struct candidate {
    const struct dx_lake_entry *file;
    size_t at;  /* in the list */
    bool known; /* end is set */
    struct dx_hash128 end;
};

struct search {
    const struct dx_root *root;
    const struct dx_lake_list *list;
    bool *goes;
    struct dx_left_out *left_out;
    uint8_t *block; /* two of BLOCK_BYTES */
    int found;
};

/* Published files first, then by path. */
static int by_size(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;

    if (x->file->dataset_id != y->file->dataset_id)
        return x->file->dataset_id < y->file->dataset_id ? -1 : 1;
    if (x->file->size != y->file->size)
        return x->file->size < y->file->size ? -1 : 1;
    if (x->file->fresh != y->file->fresh)
        return x->file->fresh ? 1 : -1;
    return strcmp(x->file->path, y->file->path);
}

static int open_file(const struct search *s, const struct candidate *c, char path[PATH_MAX])
{
    struct stat st;
    int fd = dx_path_format(path, PATH_MAX, NULL, "%s/%s", s->root->name, c->file->path) < 0
                 ? -1
                 : dx_file_open(AT_FDCWD, path, O_NOFOLLOW, &st, NULL);

    if (fd >= 0 && (uint64_t)st.st_size != c->file->size) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* Hash of its end; a file that cannot be read has none. */
static void read_end(const struct search *s, struct candidate *c)
{
    size_t n = c->file->size < END_BYTES ? (size_t)c->file->size : END_BYTES;
    char path[PATH_MAX];
    int fd = open_file(s, c, path);

    if (fd < 0)
        return;
    c->known = dx_file_pread(fd, path, c->file->size - n, n, s->block, NULL) == DX_OK;
    c->end = dx_hash128_of(dx_span_of(s->block, n));
    (void)close(fd);
}

static bool same_bytes(const struct search *s, const struct candidate *a, const struct candidate *b)
{
    char paths[2][PATH_MAX];
    int x = open_file(s, a, paths[0]);
    int y = open_file(s, b, paths[1]);
    bool same = x >= 0 && y >= 0;

    assert(a->file->size == b->file->size);
    for (uint64_t at = 0; same && at < a->file->size; at += BLOCK_BYTES) {
        uint64_t left = a->file->size - at;
        size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;

        same = dx_file_pread(x, paths[0], at, n, s->block, NULL) == DX_OK &&
               dx_file_pread(y, paths[1], at, n, s->block + BLOCK_BYTES, NULL) == DX_OK &&
               memcmp(s->block, s->block + BLOCK_BYTES, n) == 0;
    }
    if (x >= 0)
        (void)close(x);
    if (y >= 0)
        (void)close(y);
    return same;
}

static bool has_rows(const struct search *s, const struct candidate *c)
{
    struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
    char path[PATH_MAX];
    bool has = dx_path_format(path, PATH_MAX, NULL, "%s/%s", s->root->name, c->file->path) ==
                   DX_OK &&
               dx_lake_scan_open(&scan, path, NULL) == DX_OK && scan.footer.row_count > 0;

    dx_lake_scan_close(&scan);
    return has;
}

/* Of equal size and dataset. A small object is not looked at: it may have no rows, which only a read would tell. */
static bool is_copy(const struct search *s, struct candidate *a, struct candidate *b)
{
    if (!s->root->in_place)
        return a->file->size >= OBJECT_MIN && strlen(a->file->etag) == MD5_ETAG &&
               strcmp(a->file->etag, b->file->etag) == 0;
    for (int i = 0; i < 2; i++) {
        struct candidate *c = i == 0 ? a : b;

        if (!c->known)
            read_end(s, c);
        if (!c->known)
            return false;
    }
    return dx_hash128_equal(&a->end, &b->end) && same_bytes(s, a, b) && has_rows(s, b);
}

static void note(struct search *s, const struct candidate *copy, const struct candidate *of)
{
    char why[300];

    (void)snprintf(why, sizeof why,
                   "has the same bytes as %.200s, so its rows would count twice: delete it",
                   of->file->path);
    dx_left_out_note(s->left_out, copy->file->path, why);
    s->goes[copy->at] = true;
    s->found++;
}

/* c[0 .. count): of one dataset and size, the fresh ones last. */
static void search_group(struct search *s, struct candidate *c, size_t count)
{
    assert(count > 0 && c[0].file->size == c[count - 1].file->size);
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; c[i].file->fresh && k < i; k++)
            if (!s->goes[c[k].at] && is_copy(s, &c[k], &c[i])) {
                note(s, &c[i], &c[k]);
                break;
            }
}

static size_t take_candidates(const struct dx_lake_list *list, const struct dx_registry *registry,
                              struct candidate *c)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct dx_dataset *d = dx_registry_by_id(registry, list->file[i].dataset_id);

        if (d != NULL && d->kind != DX_DATASET_COUNTS)
            c[count++] = (struct candidate){ .file = &list->file[i], .at = i };
    }
    return count;
}

int dx_publish_copies_find(const struct dx_root *root, const struct dx_lake_list *list,
                           const struct dx_registry *registry, bool *goes,
                           struct dx_left_out *left_out, struct dx_error *err)
{
    struct search s = { root, list, goes, left_out, malloc(2 * BLOCK_BYTES), 0 };
    struct candidate *c = calloc(list->count + 1, sizeof *c);
    size_t count = c == NULL ? 0 : take_candidates(list, registry, c);
    int rc = c == NULL || s.block == NULL ? dx_no_memory(err, "lake") : DX_OK;

    if (rc == DX_OK && count > 1)
        qsort(c, count, sizeof *c, by_size);
    for (size_t i = 0, end; rc == DX_OK && i < count; i = end) {
        for (end = i + 1; end < count && c[end].file->dataset_id == c[i].file->dataset_id &&
                          c[end].file->size == c[i].file->size;
             end++)
            ;
        search_group(&s, c + i, end - i);
    }
    free(c);
    free(s.block);
    return rc < 0 ? rc : s.found;
}
