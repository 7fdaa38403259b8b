/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_refuse.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "builder/lake/dataset_registry.h"
#include "builder/publish/publish_lake.h"
#include "builder/scan/scan_faults.h"

static int by_path(const void *key, const void *element)
{
    const char *path = ((const struct dx_lake_entry *)element)->path;

    return strcmp(key, path + strlen(DX_LAKE_DIR "/"));
}

/* The file's place in named.list, which is by path, whatever its file_id. */
static size_t place_of(const struct dx_lake_list *list, const char *path)
{
    const struct dx_lake_entry *e = bsearch(path, list->file, list->count, sizeof *list->file,
                                            by_path);

    return e == NULL ? list->count : (size_t)(e - list->file);
}

/* The new files of a dataset that stays as it is. */
static void leave_dataset(const struct dx_publish_refusal *r, uint32_t dataset_id, const char *why,
                          bool *goes)
{
    const struct dx_lake_list *list = &r->lake->named.list;

    for (size_t i = 0; i < list->count; i++) {
        if (list->file[i].dataset_id != dataset_id || !list->file[i].fresh || goes[i])
            continue;
        goes[i] = true;
        dx_left_out_note(r->left_out, list->file[i].path, why);
    }
}

/* A published file that is damaged may come back; one that can be read and has rows that must not
 * be shown, from before rows were checked, goes if the user asked for the whole lake. */
static bool must_stay(const struct dx_publish_refusal *r, const struct dx_scan_fault *fault)
{
    return !r->drops || fault->err.code != DX_E_INVALID;
}

static int take_faults(const struct dx_publish_refusal *r, const struct dx_scan_faults *faults,
                       bool *goes, struct dx_error *err)
{
    const struct dx_lake_list *list = &r->lake->named.list;
    int rc = DX_OK;

    assert(faults->count > 0);
    for (size_t i = 0; rc == DX_OK && i < faults->count; i++) {
        const struct dx_scan_fault *fault = &faults->list[i];
        const struct dx_index_file *file = &r->lake->lake.files[fault->file_id];
        size_t at = place_of(list, file->path);

        bool goes_away = at < list->count && (file->fresh || !must_stay(r, fault));

        if (at == list->count || (!goes_away && (!r->merges || file->frozen)))
            return dx_fail(err, fault->err.code, "%s", fault->err.text);
        if (goes[at])
            continue;
        dx_left_out_note(r->left_out, list->file[at].path, fault->err.text);
        if (goes_away)
            goes[at] = true;
        else
            rc = dx_publish_lake_freeze(r->lake, file->dataset_id, err);
    }
    for (size_t i = 0; rc == DX_OK && i < r->lake->frozen_count; i++)
        leave_dataset(r, r->lake->frozen[i],
                      "another file of its dataset is faulty, and the dataset stays as the current "
                      "version has it",
                      goes);
    return rc;
}

static bool loses_one(const struct dx_publish_refusal *r, uint32_t dataset_id, const bool *goes)
{
    const struct dx_lake_list *list = &r->lake->named.list;

    for (size_t i = 0; i < list->count; i++)
        if (goes[i] && list->file[i].dataset_id == dataset_id &&
            dx_registry_path_standing(&r->lake->registry, list->file[i].path) == DX_LAKE_REPLACES)
            return true;
    return false;
}

/* A replacement is taken as a whole or not at all: datasets of which a file of a pending one goes. How many. */
static size_t find_held(const struct dx_publish_refusal *r, bool *goes, uint32_t *held)
{
    const struct dx_lake_list *replaced = &r->lake->named.replaced;
    size_t count = 0;

    for (size_t i = 0; i < replaced->count; i++) {
        uint32_t id = replaced->file[i].dataset_id;

        if (id == 0 || (i > 0 && replaced->file[i - 1].dataset_id == id) || !loses_one(r, id, goes))
            continue;
        leave_dataset(r, id,
                      "another file of the replacement is faulty, and the dataset stays as the "
                      "current version has it; restore that file, or delete all of the replacement "
                      "and run ingest --replace again",
                      goes);
        held[count++] = id;
    }
    return count;
}

int dx_publish_refuse(const struct dx_publish_refusal *r, const struct dx_scan_faults *faults,
                      struct dx_error *err)
{
    bool *goes = calloc(r->lake->named.list.count + 1, sizeof *goes);
    uint32_t *held = calloc(r->lake->named.replaced.count + 1, sizeof *held);
    size_t held_count = 0;
    int rc = goes == NULL || held == NULL ? dx_no_memory(err, "lake")
                                          : take_faults(r, faults, goes, err);

    if (rc == DX_OK)
        held_count = find_held(r, goes, held);
    if (rc == DX_OK)
        rc = dx_publish_lake_change(r->lake, goes, NULL, 0, err);
    if (rc == DX_OK && held_count > 0)
        rc = dx_publish_lake_hold(r->lake, held, held_count, err);
    if (rc == DX_OK)
        dx_left_out_take(r->left_out, &r->lake->lost);
    if (rc == DX_OK && r->some && dx_publish_lake_is_frozen(r->lake))
        rc = dx_fail(err, faults->list[0].err.code, "all datasets would stay as they are: %.400s",
                     faults->list[0].err.text);
    free(goes);
    free(held);
    return rc;
}

/* Where new files stay out, so does a replacement that no version has yet. */
static int hold_pending(struct dx_publish_lake *lake, struct dx_error *err)
{
    const struct dx_lake_list *of[] = { &lake->named.replaced, &lake->named.replaced_absent };
    uint32_t *ids = calloc(of[0]->count + of[1]->count + 1, sizeof *ids);
    size_t count = 0;
    int rc = DX_OK;

    if (ids == NULL)
        return dx_no_memory(err, "lake");
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        for (size_t i = 0; i < of[k]->count; i++)
            if (of[k]->file[i].dataset_id != 0 &&
                (count == 0 || ids[count - 1] != of[k]->file[i].dataset_id))
                ids[count++] = of[k]->file[i].dataset_id;
    if (count > 0)
        rc = dx_publish_lake_hold(lake, ids, count, err);
    free(ids);
    return rc;
}

int dx_publish_without_fresh(struct dx_publish_lake *lake, struct dx_error *err)
{
    const struct dx_lake_list *list = &lake->named.list;
    bool *goes = calloc(list->count + 1, sizeof *goes);
    bool any = false;
    int rc = DX_OK;

    if (goes == NULL)
        return dx_no_memory(err, "lake");
    for (size_t i = 0; i < list->count; i++)
        any |= goes[i] = list->file[i].fresh;
    if (any)
        rc = dx_publish_lake_change(lake, goes, NULL, 0, err);
    if (rc == DX_OK)
        rc = hold_pending(lake, err);
    free(goes);
    return rc;
}
