/* SPDX-License-Identifier: Apache-2.0
 * publish_etags.h - whether a version still has the ETags it was published with.
 *
 *   struct dx_publish_etags e;
 *   rc = dx_publish_etags_compare(&e, &remote, url, &manifest, current, &lake, &err);
 *   e.differ       objects that have another one now, or are gone; e.first is one of them
 *
 * Who restores or copies an object gives it another ETag, though its bytes are the same: the lake
 * then has the build id of the current version, and yet servers refuse its reads, because the
 * object is not the one that the version was made with (etags.tsv.zst). Only a new version says
 * the new ETags. lake: by file_id, with the ETags of a listing; the folders of the version's parts
 * are listed here.
 *
 * Nothing differs if the version has no etags.tsv.zst, or one of another store: servers do not use
 * those ETags here. A store whose listing gives none says nothing.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_ETAGS_H
#define DX_BUILDER_PUBLISH_PUBLISH_ETAGS_H

#include "builder/root/root.h"

struct dx_index_lake;
struct dx_manifest;
struct dx_manifest_version;

struct dx_publish_etags {
    uint64_t differ;
    char first[DX_OBJECT_NAME_MAX + 1];
};

/* url: dx_root_store_url. */
int dx_publish_etags_compare(struct dx_publish_etags *e, const struct dx_root *remote,
                             const char *url, const struct dx_manifest *m,
                             const struct dx_manifest_version *version,
                             const struct dx_index_lake *lake, struct dx_error *err);

#endif
