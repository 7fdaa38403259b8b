/* SPDX-License-Identifier: Apache-2.0
 * publish_listing.h - what stands below index/ of a root on object storage.
 *
 *   struct dx_publish_listing l;
 *   dx_publish_listing_init(&l, &manifest, now_us);
 *   rc = dx_publish_listing_read(&l, store, &err);
 *   l.sequence       the highest number of the manifest, of the versions in the store and of the claims;
 *                    0 if the store has no manifest and no number is above 1
 *   l.leftovers      versions that no manifest names, and whose name is over a day old where there is
 *                    a manifest; l.leftover is the first of them
 *   rc = dx_publish_listing_check_lost(&l, root, 2, &err);     DX_E_CORRUPT: the manifest was lost
 *   f = dx_publish_listing_find(&l, object);   of the current version or one of its parts; NULL: not listed
 *   dx_publish_listing_release(&l);
 *
 * Without a manifest, a version that is there with all its files was one that a lost manifest named,
 * or a publisher died just before its put. Each publisher that finds no manifest takes the number 1, however
 * many died before it: their names differ by their times. So a version with a higher number says that the
 * manifest was lost. In a directory a version of publishers that died is gone before the listing is read, so
 * that each one says so.
 *
 * A younger version may be that of a publisher at work. Nothing is removed: that is safe only for
 * a process that has changed the manifest before, so that a publisher that has slept cannot name it any more.
 * One thread at a time.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_LISTING_H
#define DX_BUILDER_PUBLISH_PUBLISH_LISTING_H

#include "fetch/source.h"
#include "format/version/manifest.h"

struct dx_listed;
struct dx_store;

struct dx_publish_listed {
    char object[DX_MANIFEST_FILE_PATH];
    char etag[DX_SOURCE_ETAG];
    uint64_t size;
};

struct dx_publish_listing {
    const struct dx_manifest *manifest;
    char old[DX_VERSION_NAME]; /* the name, but for its sequence, of a day ago */
    uint64_t sequence;
    uint64_t leftovers;
    char leftover[DX_VERSION_NAME];
    char last[DX_VERSION_NAME]; /* that was looked at; a listing is in order */
    unsigned last_objects;      /* of it */
    char whole
        [DX_VERSION_NAME]; /* the last that no manifest names and that has all files; "": none */
    struct dx_publish_listed *files;
    size_t file_count;
    size_t file_capacity;
};

void dx_publish_listing_init(struct dx_publish_listing *l, const struct dx_manifest *manifest,
                             int64_t now_us);
int dx_publish_listing_see(struct dx_publish_listing *l, const struct dx_listed *listed,
                           struct dx_error *err);
int dx_publish_listing_read(struct dx_publish_listing *l, struct dx_store *store,
                            struct dx_error *err);
int dx_publish_listing_check_lost(const struct dx_publish_listing *l, const char *root,
                                  uint32_t least, struct dx_error *err);
const struct dx_publish_listed *dx_publish_listing_find(const struct dx_publish_listing *l,
                                                        const char *object);
void dx_publish_listing_release(struct dx_publish_listing *l);

#endif
