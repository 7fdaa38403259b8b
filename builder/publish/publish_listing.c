/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_listing.h"

#include <stdio.h>
#include <string.h>

#include "builder/publish/publish_upload.h"

#define DAY_US (86400 * (int64_t)1000000)
#define SEQUENCE_DIGITS 7 /* with the dash behind them */

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

void dx_publish_listing_see(struct dx_publish_listing *l, const char *object)
{
    char name[DX_VERSION_NAME];
    uint32_t sequence = 0;
    bool claim = false;

    if (!version_of(object, name, &claim))
        return;
    (void)dx_version_name_ok(dx_span_str(name), &sequence);
    if (sequence > l->sequence)
        l->sequence = sequence;
    if (claim || strcmp(name, l->last) == 0)
        return;
    memcpy(l->last, name, sizeof l->last);
    if (dx_manifest_find(l->manifest, name) != NULL ||
        strcmp(name + SEQUENCE_DIGITS, l->old[0] == '\0' ? "" : l->old + SEQUENCE_DIGITS) >= 0)
        return;
    if (l->leftovers++ == 0)
        memcpy(l->leftover, name, sizeof l->leftover);
}

static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    (void)err;
    dx_publish_listing_see(ctx, listed->object);
    return DX_OK;
}

int dx_publish_listing_read(struct dx_publish_listing *l, struct dx_store *store,
                            struct dx_error *err)
{
    return dx_store_list(store, DX_INDEX_DIR "/", see, l, err);
}
