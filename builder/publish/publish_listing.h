/* SPDX-License-Identifier: Apache-2.0
 * publish_listing.h - what stands below index/ of a root on object storage.
 *
 *   struct dx_publish_listing l;
 *   dx_publish_listing_init(&l, &manifest, now_us);
 *   rc = dx_publish_listing_read(&l, store, &err);
 *   l.sequence       highest of the manifest, of all versions that are there, of all names taken
 *   l.leftovers      versions that no manifest names, and whose name is over a day old; l.leftover
 *                    is the first of them
 *
 * A younger version may be that of a publisher at work. Nothing is removed: that is safe only for
 * who has changed the manifest before, so that a publisher that has slept cannot name it any more.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_LISTING_H
#define DX_BUILDER_PUBLISH_PUBLISH_LISTING_H

#include "format/version/manifest.h"

struct dx_store;

struct dx_publish_listing {
    const struct dx_manifest *manifest;
    char old[DX_VERSION_NAME]; /* the name, but for its sequence, of a day ago */
    uint64_t sequence;
    uint64_t leftovers;
    char leftover[DX_VERSION_NAME];
    char last[DX_VERSION_NAME]; /* that was looked at; a listing is in order */
};

void dx_publish_listing_init(struct dx_publish_listing *l, const struct dx_manifest *manifest,
                             int64_t now_us);
void dx_publish_listing_see(struct dx_publish_listing *l, const char *object);
int dx_publish_listing_read(struct dx_publish_listing *l, struct dx_store *store,
                            struct dx_error *err);

#endif
