/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/dataset_registry.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/path.h"
#include "builder/lake/lake_layout.h"

struct dx_dataset_registry {
    struct dx_registry datasets;
    bool changed;
};

bool dx_dataset_registry_name_valid(struct dx_span name)
{
    return dx_dataset_text_ok(name, DX_DATASET_REGISTRY_NAME_MAX);
}

void dx_dataset_registry_free(struct dx_dataset_registry **reg)
{
    if (*reg == NULL)
        return;
    dx_registry_release(&(*reg)->datasets);
    free(*reg);
    *reg = NULL;
}

void dx_dataset_registry_take(struct dx_dataset_registry **reg, struct dx_registry *registry)
{
    *registry = (*reg)->datasets;
    (*reg)->datasets = (struct dx_registry)DX_REGISTRY_INIT;
    dx_dataset_registry_free(reg);
}

int dx_dataset_registry_new(struct dx_dataset_registry **reg, struct dx_error *err)
{
    *reg = calloc(1, sizeof **reg);
    if (*reg == NULL)
        return dx_no_memory(err, "registry");
    (*reg)->datasets.next_id = 1;
    return DX_OK;
}

uint32_t dx_dataset_registry_find(const struct dx_dataset_registry *reg, struct dx_span name)
{
    const struct dx_dataset *d = dx_registry_by_name(&reg->datasets, name);

    return d == NULL ? 0 : d->dataset_id;
}

const struct dx_dataset *dx_dataset_registry_get(const struct dx_dataset_registry *reg, uint32_t id)
{
    return dx_registry_by_id(&reg->datasets, id);
}

const struct dx_registry *dx_dataset_registry_registry(const struct dx_dataset_registry *reg)
{
    return &reg->datasets;
}

size_t dx_dataset_registry_count(const struct dx_dataset_registry *reg)
{
    return reg->datasets.count;
}

const struct dx_dataset *dx_dataset_registry_at(const struct dx_dataset_registry *reg, size_t i)
{
    assert(i < reg->datasets.count);
    return &reg->datasets.datasets[i];
}

void dx_dataset_registry_skip_id(struct dx_dataset_registry *reg)
{
    reg->datasets.next_id++;
    reg->changed = true;
}

int dx_dataset_registry_add(struct dx_dataset_registry *reg, struct dx_span name, uint32_t *id,
                            struct dx_error *err)
{
    struct dx_dataset *d;
    int rc;

    *id = dx_dataset_registry_find(reg, name);
    if (*id != 0)
        return DX_OK;
    if (reg->datasets.next_id > DX_DATASET_ID_MAX)
        return dx_fail(err, DX_E_LIMIT, "registry: all %u dataset ids are used", DX_DATASET_ID_MAX);
    rc = dx_registry_add(&reg->datasets, name, &d, err);
    if (rc < 0)
        return rc;
    *id = d->dataset_id;
    reg->changed = true;
    return DX_OK;
}

void dx_dataset_registry_set_kind(struct dx_dataset_registry *reg, uint32_t id,
                                  enum dx_dataset_kind kind)
{
    struct dx_dataset *d = dx_registry_by_id(&reg->datasets, id);

    if (d == NULL || d->kind == kind)
        return;
    dx_registry_set_kind(&reg->datasets, d, kind);
    reg->changed = true;
}

static bool has_meta(const struct dx_dataset *d, const char *key, const char *value)
{
    for (size_t i = 0; i < d->metadata_count; i++)
        if (strcmp(d->metadata[i].key, key) == 0)
            return strcmp(d->metadata[i].value, value) == 0;
    return false;
}

int dx_dataset_registry_set(struct dx_dataset_registry *reg, uint32_t id, const char *key,
                            const char *value, struct dx_error *err)
{
    struct dx_dataset *d = dx_registry_by_id(&reg->datasets, id);
    int rc;

    if (d == NULL)
        return dx_fail(err, DX_E_NOT_FOUND, "registry: no dataset %u", id);
    if (*value == '\0') {
        if (dx_registry_meta_remove(d, dx_span_str(key)))
            reg->changed = true;
        return DX_OK;
    }
    if (has_meta(d, key, value))
        return DX_OK;
    rc = dx_registry_meta(d, dx_span_str(key), dx_span_str(value), err);
    if (rc == DX_OK)
        reg->changed = true;
    return rc;
}

int dx_dataset_registry_parse(struct dx_dataset_registry **reg, struct dx_span text,
                              const char *what, struct dx_error *err)
{
    int rc = dx_dataset_registry_new(reg, err);

    if (rc == DX_OK)
        rc = dx_registry_parse_root(&(*reg)->datasets, text, what, err);
    if (rc < 0)
        dx_dataset_registry_free(reg);
    return rc;
}

int dx_dataset_registry_save(struct dx_dataset_registry *reg, const char *root,
                             struct dx_error *err)
{
    /* Larger than what is read, so that the writer can name the limit. */
    struct dx_buf text = DX_BUF_INIT((size_t)2 * DX_REGISTRY_MAX);
    char path[PATH_MAX];
    char dir[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/" DX_DATASET_REGISTRY_FILE, root);

    if (rc < 0 || !reg->changed)
        return rc;
    rc = dx_path_format(dir, sizeof dir, err, "%s/" DX_LAKE_DIR, root);
    if (rc == DX_OK)
        rc = dx_dir_make(dir, err);
    if (rc == DX_OK)
        rc = dx_dir_sync(root, err);
    if (rc == DX_OK)
        rc = dx_dataset_registry_text(reg, &text, err);
    if (rc == DX_OK)
        rc = dx_file_replace(path, dx_span_of(text.data, text.size), err);
    if (rc == DX_OK)
        reg->changed = false;
    dx_buf_release(&text);
    return rc;
}

bool dx_dataset_registry_changed(const struct dx_dataset_registry *reg)
{
    return reg->changed;
}

void dx_dataset_registry_written(struct dx_dataset_registry *reg)
{
    reg->changed = false;
}

int dx_dataset_registry_text(const struct dx_dataset_registry *reg, struct dx_buf *out,
                             struct dx_error *err)
{
    return dx_registry_write_root(&reg->datasets, out, err);
}

/* ---- which lake files count ---- */

int dx_dataset_registry_remove(struct dx_dataset_registry *reg, uint32_t id, struct dx_error *err)
{
    int rc = dx_registry_remove(&reg->datasets, id, err);

    if (rc == DX_OK)
        reg->changed = true;
    return rc;
}

enum dx_lake_standing dx_registry_path_standing(const struct dx_registry *r, const char *path)
{
    struct dx_lake_path at;
    uint32_t id = 0;

    if (dx_lake_path_parse(dx_span_str(path), &at))
        return dx_registry_standing(r, at.dataset_id, at.part);
    return dx_lake_dataset_of(path, &id) ? dx_registry_standing(r, id, DX_LAKE_NO_PART)
                                         : DX_LAKE_UNKNOWN;
}

enum dx_lake_standing dx_dataset_registry_standing(const struct dx_dataset_registry *reg,
                                                   const char *path)
{
    return dx_registry_path_standing(&reg->datasets, path);
}

uint32_t dx_dataset_registry_next_part(const struct dx_dataset_registry *reg, uint32_t id,
                                       uint32_t listed)
{
    const struct dx_dataset *d = dx_dataset_registry_get(reg, id);

    return d != NULL && d->next_part > listed ? d->next_part : listed;
}

void dx_dataset_registry_raise(struct dx_dataset_registry *reg, const char *const *paths,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct dx_lake_path at;
        struct dx_dataset *d;

        if (!dx_lake_path_parse(dx_span_str(paths[i]), &at))
            continue;
        d = dx_registry_by_id(&reg->datasets, at.dataset_id);
        if (d == NULL || d->next_part > at.part)
            continue;
        d->next_part = at.part + 1;
        reg->changed = true;
    }
}

int dx_dataset_registry_merged(struct dx_dataset_registry *reg, uint32_t id, uint32_t first,
                               uint32_t end, struct dx_error *err)
{
    struct dx_dataset *d = dx_registry_by_id(&reg->datasets, id);

    assert(first < end);
    if (d == NULL)
        return dx_fail(err, DX_E_CONFLICT,
                       "dataset %u was removed while its files were merged; compact again", id);
    if (first == 0 || first < d->next_part || end > DX_DATASET_PART_MAX + 1)
        return dx_fail(err, DX_E_LIMIT, "dataset %u: part numbers are used up", id);
    dx_dataset_merged_add(d, (struct dx_part_range){ first, end });
    d->next_part = end;
    reg->changed = true;
    return DX_OK;
}

int dx_dataset_registry_replace(struct dx_dataset_registry *reg, uint32_t id, uint32_t part,
                                struct dx_error *err)
{
    struct dx_dataset *d = dx_registry_by_id(&reg->datasets, id);

    if (d == NULL)
        return dx_fail(err, DX_E_NOT_FOUND, "registry: no dataset %u", id);
    if (part == 0 || part > DX_DATASET_PART_MAX || part < d->end_part || part < d->replacing)
        return dx_fail(err, DX_E_LIMIT, "dataset %u: part numbers are used up", id);
    if (d->replacing == 0) /* else it stays: what an attempt before this one left is above it */
        d->replacing = part;
    if (d->next_part < part)
        d->next_part = part;
    reg->changed = true;
    return DX_OK;
}

int dx_dataset_registry_replaced(struct dx_dataset_registry *reg, uint32_t id, uint32_t part,
                                 uint32_t end, struct dx_error *err)
{
    struct dx_dataset *d = dx_registry_by_id(&reg->datasets, id);

    if (d != NULL && d->replacing == 0 && d->first_part == part && d->end_part == end)
        return DX_OK; /* done by an earlier attempt of ours whose reply was lost */
    if (d == NULL || d->replacing == 0 || d->replacing > part || end <= part)
        return dx_fail(err, DX_E_CONFLICT,
                       "dataset %u: another run has removed or replaced it since; nothing was "
                       "replaced by this run",
                       id);
    d->first_part = part;
    d->end_part = end;
    d->replacing = 0;
    if (d->next_part < end)
        d->next_part = end; /* in every folder: what comes later is not part of the replacement */
    reg->changed = true;
    return DX_OK;
}
