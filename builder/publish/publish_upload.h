/* SPDX-License-Identifier: Apache-2.0
 * publish_upload.h - the files of a new version onto object storage.
 *
 *   rc = dx_publish_upload_claim(store, version, &err);     DX_E_EXISTS: the name is taken
 *   struct dx_publish_upload u = { .store = store, .dir = dir, .entry = entry, ... };
 *   rc = dx_publish_upload_files(&u, &err);      objects of its own folder, some at a time
 *   etag = dx_publish_upload_etag(&u, name);     as the store gave it; "" if it gave none
 *   rc = dx_publish_upload_one(&u, name, &err);  one more file
 *   dx_publish_upload_undo(&u);                  takes away what was put
 *   dx_publish_upload_release(&u);
 *
 * A version's name belongs to the publisher that first put index/claims/VERSION, which stays for ever: so no two
 * publishers, nor a put that arrives late and a later publisher, write under one name. Each file is
 * put on the condition that there is no such object. What undo cannot take away (the store is
 * gone), no manifest names. One thread calls; `threads` put and remove files meanwhile.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_UPLOAD_H
#define DX_BUILDER_PUBLISH_PUBLISH_UPLOAD_H

#include "fetch/store/store.h"
#include "format/version/manifest.h"
#include "format/version/names.h"

#include <stdatomic.h>

struct dx_publish_upload {
    struct dx_store *store;
    const char *dir; /* of the files */
    const struct dx_manifest_version *entry;
    unsigned threads;
    _Atomic uint64_t *bytes; /* += of each file; may be NULL */
    _Atomic uint64_t *items;
    /* private */
    struct dx_publish_uploaded *files; /* one an object, and one more */
    size_t file_count;
};

int dx_publish_upload_claim(struct dx_store *store, const char *version, struct dx_error *err);
int dx_publish_upload_files(struct dx_publish_upload *u, struct dx_error *err);
const char *dx_publish_upload_etag(const struct dx_publish_upload *u, const char *name);
int dx_publish_upload_one(struct dx_publish_upload *u, const char *name, struct dx_error *err);
void dx_publish_upload_undo(struct dx_publish_upload *u);
void dx_publish_upload_release(struct dx_publish_upload *u);

#endif
