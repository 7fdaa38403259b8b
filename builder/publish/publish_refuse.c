/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_refuse.h"

#include <stdlib.h>
#include <string.h>

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
static void leave_dataset(const struct dx_publish_refusal *r, uint32_t dataset_id, bool *goes)
{
    const struct dx_lake_list *list = &r->lake->named.list;

    for (size_t i = 0; i < list->count; i++) {
        if (list->file[i].dataset_id != dataset_id || !list->file[i].fresh || goes[i])
            continue;
        goes[i] = true;
        dx_left_out_note(r->left_out, list->file[i].path,
                         "another file of its dataset is faulty, and the dataset stays as the "
                         "current version has it");
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
        leave_dataset(r, r->lake->frozen[i], goes);
    return rc;
}

int dx_publish_refuse(const struct dx_publish_refusal *r, const struct dx_scan_faults *faults,
                      struct dx_error *err)
{
    bool *goes = calloc(r->lake->named.list.count + 1, sizeof *goes);
    int rc = goes == NULL ? dx_no_memory(err, "lake") : take_faults(r, faults, goes, err);

    if (rc == DX_OK)
        rc = dx_publish_lake_change(r->lake, goes, NULL, 0, err);
    free(goes);
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
    free(goes);
    return rc;
}
