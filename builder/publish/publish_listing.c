/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "builder/publish/publish_upload.h"
#include "fetch/store/store.h"

#define DAY_US (86400 * (int64_t)1000000)
#define SEQUENCE_DIGITS 7 /* with the dash behind them */
#define OBJECTS_MIN 16    /* that every version has which is not in a pack (docs/FORMAT.md 11.3) */

void dx_publish_listing_init(struct dx_publish_listing *l, const struct dx_manifest *manifest,
                             int64_t now_us)
{
    *l = (struct dx_publish_listing){ .manifest = manifest, .sequence = manifest->sequence };
    for (size_t i = 0; i < manifest->version_count; i++)
        if (manifest->versions[i].sequence > l->sequence)
            l->sequence = manifest->versions[i].sequence;
    if (now_us < DAY_US || !dx_version_name_make(1, now_us - DAY_US, l->old))
        l->old[0] = '\0'; /* no version is older */
}

/* "index/NAME/..." or "index/claims/NAME". */
static bool version_of(const char *object, char name[DX_VERSION_NAME], bool *claim)
{
    const char *at = object + strlen(DX_INDEX_DIR "/");
    size_t n;

    if (strncmp(object, DX_INDEX_DIR "/", strlen(DX_INDEX_DIR "/")) != 0)
        return false;
    *claim = strncmp(object, DX_LAKE_CLAIMS, strlen(DX_LAKE_CLAIMS)) == 0;
    if (*claim)
        at = object + strlen(DX_LAKE_CLAIMS);
    n = strcspn(at, "/");
    if (n != DX_VERSION_NAME - 1 || (*claim ? at[n] != '\0' : at[n] != '/'))
        return false;
    memcpy(name, at, n);
    name[n] = '\0';
    return dx_version_name_ok(dx_span_str(name), NULL);
}

static bool has_object(const struct dx_manifest_version *v, const char *name)
{
    for (size_t i = 0; i < dx_manifest_object_count(v); i++)
        if (strcmp(dx_manifest_object(v, i)->name, name) == 0)
            return true;
    return false;
}

/* An object that the current version has, or one of its parts. */
static bool is_current(const struct dx_manifest *m, const char *version, const char *object)
{
    const struct dx_manifest_version *current = dx_manifest_current(m);
    const char *file = object + strlen(DX_INDEX_DIR "/") + strlen(version) + 1;
    bool is = current != NULL && strcmp(current->version, version) == 0;

    for (size_t i = 0; current != NULL && i < current->part_count; i++)
        is = is || strcmp(current->parts[i], version) == 0;
    if (is)
        current = dx_manifest_find(m, version);
    return is && current != NULL && has_object(current, file);
}

static int keep(struct dx_publish_listing *l, const struct dx_listed *listed, struct dx_error *err)
{
    struct dx_publish_listed *to = dx_array_room(l->files, l->file_count, &l->file_capacity,
                                                 sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "listing of " DX_INDEX_DIR "/");
    l->files = to;
    to += l->file_count;
    to->size = listed->size;
    if ((size_t)snprintf(to->object, sizeof to->object, "%s", listed->object) < sizeof to->object &&
        (size_t)snprintf(to->etag, sizeof to->etag, "%s", listed->etag) < sizeof to->etag)
        l->file_count++;
    return DX_OK;
}

static bool is_young(const struct dx_publish_listing *l, const char *name)
{
    const char *old = l->old[0] == '\0' ? "" : l->old + SEQUENCE_DIGITS;

    return l->manifest->version_count > 0 && strcmp(name + SEQUENCE_DIGITS, old) >= 0;
}

static void see_version(struct dx_publish_listing *l, const char *name, const char *object)
{
    bool first = strcmp(name, l->last) != 0;

    l->last_objects = first ? 1 : l->last_objects + 1;
    memcpy(l->last, name, sizeof l->last);
    if (dx_manifest_find(l->manifest, name) != NULL)
        return;
    if (l->last_objects == OBJECTS_MIN || strcmp(strrchr(object, '/') + 1, DX_FILE_PACK) == 0)
        memcpy(l->whole, name, sizeof l->whole);
    if (first && !is_young(l, name) && l->leftovers++ == 0)
        memcpy(l->leftover, name, sizeof l->leftover);
}

int dx_publish_listing_see(struct dx_publish_listing *l, const struct dx_listed *listed,
                           struct dx_error *err)
{
    char name[DX_VERSION_NAME];
    uint32_t sequence = 0;
    bool claim = false;

    if (!version_of(listed->object, name, &claim))
        return DX_OK;
    (void)dx_version_name_ok(dx_span_str(name), &sequence);
    if (sequence > l->sequence && (sequence > 1 || l->manifest->version_count > 0))
        l->sequence = sequence;
    if (claim)
        return DX_OK;
    see_version(l, name, listed->object);
    return is_current(l->manifest, name, listed->object) ? keep(l, listed, err) : DX_OK;
}

static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    return dx_publish_listing_see(ctx, listed, err);
}

int dx_publish_listing_check_lost(const struct dx_publish_listing *l, const char *root,
                                  uint32_t least, struct dx_error *err)
{
    uint32_t sequence = 0;

    if (l->manifest->version_count > 0 || l->whole[0] == '\0' ||
        !dx_version_name_ok(dx_span_str(l->whole), &sequence) || sequence < least)
        return DX_OK;
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: no " DX_MANIFEST_FILE ", but " DX_INDEX_DIR
                   "/%s is there: the manifest was lost (unless another first publish is at work), "
                   "and with it which files the versions had "
                   "and which a compaction replaced. Restore " DX_MANIFEST_FILE
                   " from a backup or copy of the root; or, to start again with the files that are "
                   "there, move the folders of versions (" DX_INDEX_DIR
                   "/NNNNNN-*) away, and publish again",
                   root, l->whole);
}

const struct dx_publish_listed *dx_publish_listing_find(const struct dx_publish_listing *l,
                                                        const char *object)
{
    for (size_t i = 0; i < l->file_count; i++)
        if (strcmp(l->files[i].object, object) == 0)
            return &l->files[i];
    return NULL;
}

void dx_publish_listing_release(struct dx_publish_listing *l)
{
    free(l->files);
    l->files = NULL;
    l->file_count = l->file_capacity = 0;
}

int dx_publish_listing_read(struct dx_publish_listing *l, struct dx_store *store,
                            struct dx_error *err)
{
    return dx_store_list(store, DX_INDEX_DIR "/", see, l, err);
}
