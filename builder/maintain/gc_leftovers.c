/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc_leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/lake_membership.h"
#include "fetch/store/store.h"

struct search {
    struct dx_gc_leftovers *to;
    const struct dx_gc_root *g;
    const struct dx_gc_names *names;
    struct dx_gc_objects lists; /* of compactions */
    struct dx_gc_objects dead;  /* lake files that they name, sorted */
};

/* No entry, and there will never be one. */
static bool is_over(const struct dx_manifest *m, const char *version)
{
    uint32_t sequence = 0;

    return dx_version_name_ok(dx_span_str(version), &sequence) && sequence <= m->sequence &&
           dx_manifest_find(m, version) == NULL;
}

static int add_folder(struct dx_gc_leftovers *l, const char *version, struct dx_error *err)
{
    if (l->folder_count > 0 && strcmp(l->folder[l->folder_count - 1], version) == 0)
        return DX_OK;
    if (l->folder_count == l->folder_room) {
        size_t room = l->folder_room == 0 ? 16 : 2 * l->folder_room;
        char(*more)[DX_VERSION_NAME] = reallocarray(l->folder, room, sizeof *more);

        if (more == NULL)
            return dx_no_memory(err, "gc");
        l->folder = more;
        l->folder_room = room;
    }
    memcpy(l->folder[l->folder_count++], version, DX_VERSION_NAME);
    return DX_OK;
}

static int see_index(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct search *s = ctx;
    const char *at = listed->object + strlen(DX_INDEX_DIR "/");
    size_t n = strcspn(at, "/");
    char version[DX_VERSION_NAME];
    int rc;

    if (dx_lake_claim_version(listed->object, version))
        return is_over(&s->g->edit.manifest, version)
                   ? dx_gc_objects_add(&s->lists, listed->object, listed->size, err)
                   : DX_OK;
    if (n != DX_VERSION_NAME - 1 || at[n] != '/')
        return DX_OK;
    memcpy(version, at, n);
    version[n] = '\0';
    if (!is_over(&s->g->edit.manifest, version) || dx_gc_names_any(s->names, listed->object))
        return DX_OK;
    rc = add_folder(s->to, version, err);
    return rc < 0 ? rc : dx_gc_objects_add(&s->to->index, listed->object, listed->size, err);
}

/* Folders of a directory that have no file any more are in no listing of objects. */
static int see_empty_folders(struct search *s, struct dx_error *err)
{
    char path[PATH_MAX];
    const struct dirent *e;
    DIR *dir;
    int rc;

    if (!s->g->root.in_place)
        return DX_OK;
    rc = dx_path_format(path, sizeof path, err, "%s/" DX_INDEX_DIR, s->g->root.name);
    if (rc < 0)
        return rc;
    dir = opendir(path);
    if (dir == NULL)
        return dx_fail_errno(err, errno, "%s: cannot open folder", path);
    while (rc == DX_OK && (errno = 0, e = readdir(dir)) != NULL)
        if (is_over(&s->g->edit.manifest, e->d_name))
            rc = add_folder(s->to, e->d_name, err);
    if (rc == DX_OK && errno != 0)
        rc = dx_fail_errno(err, errno, "%s: cannot read folder", path);
    (void)closedir(dir);
    return rc;
}

/* ---- compactions ---- */

/* Only what is surely the path of a lake file, whatever the list says. */
static int add_line(struct search *s, struct dx_span line, const char *list, struct dx_error *err)
{
    char object[DX_OBJECT_NAME_MAX + 1];
    uint32_t dataset;

    if (line.size > DX_OBJECT_NAME_MAX || memchr(line.data, '\0', line.size) != NULL)
        return dx_fail(err, DX_E_CORRUPT, "%s: a line is not the path of a lake file", list);
    memcpy(object, line.data, line.size);
    object[line.size] = '\0';
    if (!dx_object_name_valid(object) || !dx_lake_dataset_of(object, &dataset))
        return dx_fail(err, DX_E_CORRUPT, "%s: '%.100s' is not the path of a lake file", list,
                       object);
    return dx_gc_names_any(s->names, object) ? DX_OK : dx_gc_objects_add(&s->dead, object, 0, err);
}

static int read_list(struct search *s, const char *list, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_LAKE_CLAIM_MAX);
    char etag[DX_SOURCE_ETAG];
    struct dx_bytes at;
    int rc = dx_root_get(&s->g->root, list, DX_LAKE_CLAIM_MAX, &text, etag, err);

    rc = rc < 0 ? rc : DX_OK;
    at = dx_bytes_of(dx_span_of(text.data, text.size));
    while (rc == DX_OK && dx_bytes_left(&at) > 0) {
        const uint8_t *end = memchr(at.at, '\n', dx_bytes_left(&at));
        size_t n = end == NULL ? dx_bytes_left(&at) : (size_t)(end - at.at);

        rc = add_line(s, dx_bytes_take(&at, n), list, err);
        (void)dx_bytes_take(&at, end != NULL);
    }
    dx_buf_release(&text);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int see_lake(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct search *s = ctx;
    const char *object = listed->object;

    return bsearch(&object, s->dead.name, s->dead.count, sizeof *s->dead.name, by_name) == NULL
               ? DX_OK
               : dx_gc_objects_add(&s->to->lake, object, listed->size, err);
}

/* Listed for their sizes, and because most lists are of files that are gone. */
static int find_lake(struct search *s, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < s->lists.count && rc == DX_OK; i++)
        rc = read_list(s, s->lists.name[i], err);
    if (rc < 0 || s->dead.count == 0)
        return rc;
    qsort(s->dead.name, s->dead.count, sizeof *s->dead.name, by_name);
    return dx_store_list(s->g->root.store, DX_LAKE_DIR "/", see_lake, s, err);
}

int dx_gc_leftovers_find(struct dx_gc_leftovers *l, const struct dx_gc_root *g,
                         const struct dx_gc_names *names, struct dx_error *err)
{
    struct search s = { l, g, names, DX_GC_OBJECTS_INIT, DX_GC_OBJECTS_INIT };
    int rc;

    *l = (struct dx_gc_leftovers)DX_GC_LEFTOVERS_INIT;
    rc = dx_store_list(g->root.store, DX_INDEX_DIR "/", see_index, &s, err);
    if (rc == DX_OK)
        rc = find_lake(&s, err);
    if (rc == DX_OK)
        rc = see_empty_folders(&s, err);
    dx_gc_objects_release(&s.lists);
    dx_gc_objects_release(&s.dead);
    if (rc < 0)
        dx_gc_leftovers_release(l);
    return rc;
}

void dx_gc_leftovers_release(struct dx_gc_leftovers *l)
{
    dx_gc_objects_release(&l->index);
    dx_gc_objects_release(&l->lake);
    free(l->folder);
    *l = (struct dx_gc_leftovers)DX_GC_LEFTOVERS_INIT;
}
