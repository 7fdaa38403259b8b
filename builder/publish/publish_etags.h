/* SPDX-License-Identifier: Apache-2.0
 * publish_etags.h - whether a version still has the ETags it was published with.
 *
 *   struct dx_publish_etags e;
 *   const struct dx_publish_etags_of of = { &remote, url, &manifest, &lake, &listing, mirror };
 *   rc = dx_publish_etags_compare(&e, &of, &err);          of the current version and its parts
 *   e.differ       objects that have another one now, or are gone; e.first is one of them
 *
 * Who restores or copies an object gives it another ETag, though its bytes are the same: the lake
 * then has the build id of the current version, and yet servers refuse its reads, because the
 * object is not the one that the version was made with (etags.tsv.zst). Only a new version says
 * the new ETags. lake: by file_id, with the ETags of a listing; listing: of index/. A file of a part
 * that is listed with another size than it was published with differs too. mirror: where copies of
 * etags.tsv.zst are, or go.
 *
 * Nothing differs if the version has no etags.tsv.zst, or one of another store: servers do not use
 * those ETags here. A store whose listing gives none says nothing.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_ETAGS_H
#define DX_BUILDER_PUBLISH_PUBLISH_ETAGS_H

#include "builder/root/root.h"

struct dx_index_lake;
struct dx_manifest;
struct dx_mirror;
struct dx_publish_listing;

struct dx_publish_etags {
    uint64_t differ;
    char first[DX_OBJECT_NAME_MAX + 1];
};

struct dx_publish_etags_of {
    const struct dx_root *remote;
    const char *url; /* dx_root.url */
    const struct dx_manifest *manifest;
    const struct dx_index_lake *lake;
    const struct dx_publish_listing *listing;
    struct dx_mirror *mirror;
};

int dx_publish_etags_compare(struct dx_publish_etags *e, const struct dx_publish_etags_of *of,
                             struct dx_error *err);

#endif
