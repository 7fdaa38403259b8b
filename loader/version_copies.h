/* SPDX-License-Identifier: Apache-2.0
 * version_copies.h - the local files that a version of a remote root is opened from.
 *
 *   struct dx_version_copies c;
 *   rc = dx_version_copies_fetch(&c, source, &entry, older, options, &err);   through the mirror
 *   ... c.path[DX_COPY_PAGES] ...                           NULL: the version has no such file
 *   tree = c.tree;  c.tree = NULL;                          owned by the reader of the postings
 *   dx_version_copies_release(&c);                          safe on a half-made one
 *
 *   rc = dx_version_copies_heal(&entry, older, options, &err);     1: some were damaged and are gone
 *
 * older: as a part of a newer version, which has its own registry and suffix list.
 *
 * Of a version in a pack each path is that of the pack, and `tree` holds it under its name: all is
 * read from the one copy. Else, with options.mirror_postings, `tree` holds postings, facts and url_ids under the names that
 * they have below the root; else it is NULL. Sketches stay in the store: no answer needs them.
 * What was fetched was verified; what was there already is believed, but with options.verify the
 * files of the tree are hashed again. One thread at a time.
 */
#ifndef DX_LOADER_VERSION_COPIES_H
#define DX_LOADER_VERSION_COPIES_H

#include "loader/mirror.h"

struct dx_manifest_version;
struct dx_version_options;

enum dx_copy {
    DX_COPY_DICTIONARY,
    DX_COPY_MPHF,
    DX_COPY_MEMBERSHIP,
    DX_COPY_COUNTS,
    DX_COPY_POSTINGS,
    DX_COPY_PAGES,
    DX_COPY_DATASET_DOMAINS,
    DX_COPY_COLD,
    DX_COPY_TAGS, /* these two not of every version */
    DX_COPY_DEAD,
    DX_COPY_DATASETS,
    DX_COPY_PSL,
    DX_COPY_ETAGS,
    DX_COPY_COUNT
};

struct dx_version_copies {
    char *path[DX_COPY_COUNT];
    struct dx_mirror_tree *tree;
};

int dx_version_copies_fetch(struct dx_version_copies *c, struct dx_source *source,
                            const struct dx_manifest_version *entry, bool older,
                            const struct dx_version_options *options, struct dx_error *err);
int dx_version_copies_heal(const struct dx_manifest_version *entry, bool older,
                           const struct dx_version_options *options, struct dx_error *err);
void dx_version_copies_release(struct dx_version_copies *c);

#endif
