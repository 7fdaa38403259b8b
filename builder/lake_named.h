/* SPDX-License-Identifier: Apache-2.0
 * lake_named.h - the files of a lake, and which of them the next version has.
 *
 *   struct dx_lake_named_from from = { .root = root, .manifest = &m, .source = src, .store = store };
 *   rc = dx_lake_named_open(&n, &from, &err);
 *   n.list.file[i], n.naming[i]        by dataset, then path; DX_LAKE_CURRENT...
 *   rc = dx_lake_named_apply(&n, &registry, &err);     what was removed or replaced is out, too
 *   dx_lake_named_keep(&n);            those of the current version and new ones alone
 *   dx_lake_named_close(&n);
 *
 * docs/notes/versions.md, "Which lake files a publish takes". Named is a file that files.tsv of any
 * version in the manifest lists (of dropped ones too), or the list of a compaction, whose version is
 * not in the manifest (index/claims/VERSION.lake). A file that nobody names is new.
 *
 * The order is what makes that true: the manifest was read before; the versions' lists are read;
 * *then* the lake is listed; then the lists of compactions, which are put before their files.
 * A list that cannot be read is an error: without it what was taken out would come back.
 *
 * m is borrowed until the return; without versions in it all files are new, but for those of
 * compactions. store: NULL for a directory, which is walked. source: NULL opens that of a directory.
 * Memory: 72 bytes a file that is named, by however many versions, beside the list.
 */
#ifndef DX_BUILDER_LAKE_NAMED_H
#define DX_BUILDER_LAKE_NAMED_H

#include "builder/lake_layout.h"

struct dx_manifest;
struct dx_source;
struct dx_store;

enum dx_lake_naming {
    DX_LAKE_NEW,
    DX_LAKE_CURRENT, /* the current version has it */
    DX_LAKE_OUT      /* taken out: only others name it, or it is of a compaction that died */
};

struct dx_lake_named_from {
    const char *root;
    const struct dx_manifest *manifest;
    struct dx_source *source;
    struct dx_store *store;
};

struct dx_lake_named {
    struct dx_lake_list list;
    enum dx_lake_naming *naming; /* of list.file[i] */
    size_t current_count;
    size_t new_count;
    size_t out_count;
    size_t gone_count; /* files that the current version has and the lake has not */
};

#define DX_LAKE_NAMED_INIT               \
    {                                    \
        { NULL, 0, 0 }, NULL, 0, 0, 0, 0 \
    }

/* A compaction's list: a line a file, relative to the root ("urls/..."). */
#define DX_LAKE_CLAIM_SUFFIX ".lake"
#define DX_LAKE_CLAIMS "index/claims/"
#define DX_LAKE_CLAIM_MAX ((size_t)1 << 31)

int dx_lake_named_open(struct dx_lake_named *n, const struct dx_lake_named_from *from,
                       struct dx_error *err);
/* The registry must say of files what it said before the lake was listed: dx_registry_same_standing.
 * DX_E_CORRUPT: a file that would count is of a dataset that the registry does not know. */
int dx_lake_named_apply(struct dx_lake_named *n, const struct dx_registry *registry,
                        struct dx_error *err);
void dx_lake_named_keep(struct dx_lake_named *n);
void dx_lake_named_close(struct dx_lake_named *n);

/* "index/claims/000007-20261121T103000Z.lake": the version; false if the object is none such. */
bool dx_lake_claim_version(const char *object, char version[24]);

#endif
