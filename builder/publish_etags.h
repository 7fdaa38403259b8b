/* SPDX-License-Identifier: Apache-2.0
 * publish_etags.h - whether a version still has the ETags it was published with.
 *
 *   struct dx_publish_etags e;
 *   rc = dx_publish_etags_compare(&e, &remote, url, current, &lake, &err);
 *   e.differ       objects that have another one now, or are gone; e.first is one of them
 *   rc = dx_publish_etags_shards(&shards, &remote, url, base, &err);
 *   shards->of[DX_ETAG_IDX][shard]      as base says it, for a version that shares the object
 *
 * Who restores or copies an object gives it another ETag, though its bytes are the same: the lake
 * then has the build id of the current version, and yet servers refuse its reads, because the
 * object is not the one that the version was made with (etags.tsv.zst). Only a new version says
 * the new ETags. lake: by file_id, with the ETags of a listing; the postings are listed here, those
 * of older versions too, where this one has them.
 *
 * Nothing differs if the version has no etags.tsv.zst, or one of another store: nobody asks for
 * those ETags here. A store whose listing gives none says nothing.
 */
#ifndef DX_BUILDER_PUBLISH_ETAGS_H
#define DX_BUILDER_PUBLISH_ETAGS_H

#include "builder/remote_root.h"
#include "format/postings.h"

struct dx_index_lake;
struct dx_manifest_version;

struct dx_publish_etags {
    uint64_t differ;
    char first[DX_OBJECT_NAME_MAX + 1];
};

/* url: dx_remote_root_url. */
int dx_publish_etags_compare(struct dx_publish_etags *e, const struct dx_remote_root *remote,
                             const char *url, const struct dx_manifest_version *version,
                             const struct dx_index_lake *lake, struct dx_error *err);

struct dx_publish_shard_etags {
    char of[2][DX_POSTINGS_SHARDS][DX_SOURCE_ETAG]; /* "": not known */
};

/* *shards: to be freed. All are unknown if the version has no ETags, or those of another store. */
int dx_publish_etags_shards(struct dx_publish_shard_etags **shards,
                            const struct dx_remote_root *remote, const char *url,
                            const struct dx_manifest_version *version, struct dx_error *err);

#endif
