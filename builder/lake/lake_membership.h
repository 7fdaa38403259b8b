/* SPDX-License-Identifier: Apache-2.0
 * lake_membership.h - the files of a lake, and which of them the next version has.
 *
 *   rc = dx_lake_membership_open(&n, &root, &m, &err);
 *   n.list.file[i], n.naming[i]        by dataset, then path; DX_LAKE_CURRENT...
 *   rc = dx_lake_membership_apply(&n, &registry, &err);     what was removed or replaced is out, too
 *   n.missing.file[i]                  that the current version has, and that are not there
 *   n.lacked.file[i]                   that it lacked already, and that are still not there
 *   dx_lake_membership_keep(&n);            those of the current version and new ones alone
 *   rc = dx_lake_membership_hold(&n, dataset_id, &err);     the replacement of this dataset is not taken: the files that it took out
 *                                      are in the list again, behind the others
 *   dx_lake_membership_close(&n);
 *
 * docs/notes/versions.md, "Which lake files a publish takes". Named is a file that files.tsv of any
 * version in the manifest lists (of dropped ones too), or the list of a compaction, whose version
 * is not in the manifest (index/claims/VERSION.lake). A file that no version names is new.
 *
 * The order is what makes that true: the manifest was read before; the versions' lists are read;
 * *then* the lake is listed; then the lists of compactions, which are put before their files.
 * A list that cannot be read is an error: without it what was taken out would come back.
 *
 * The listing does not prove that a file is gone: each file that the current version has and the
 * listing lacks is asked for by its name (lake_absent.h), and is in the list if it is there. A
 * version also has the files of its missing.tsv.zst, which it was published without by permission
 * (publish --allow-missing): those that are back are of the current version like all others.
 *
 * m is borrowed until the return; without versions in it all files are new, but for those of
 * compactions.
 * Memory: 72 bytes a file that is named, by however many versions, beside the list.
 * One thread at a time.
 */
#ifndef DX_BUILDER_LAKE_LAKE_MEMBERSHIP_H
#define DX_BUILDER_LAKE_LAKE_MEMBERSHIP_H

#include "builder/lake/lake_layout.h"
#include "format/version/names.h"

struct dx_manifest;
struct dx_root;

enum dx_lake_naming {
    DX_LAKE_NEW,
    DX_LAKE_CURRENT, /* the current version has it */
    DX_LAKE_OUT      /* taken out: only others name it, or it is of a compaction that died */
};

struct dx_lake_membership {
    struct dx_lake_list list;
    enum dx_lake_naming *naming; /* of list.file[i] */
    /* likewise, until dx_lake_membership_keep: a version in the manifest has it */
    bool *by_version;
    size_t current_count;
    size_t new_count;
    size_t out_count;
    size_t unlisted_count; /* of list, that the listing lacks */
    size_t unknown_count;  /* of out_count: new ones of datasets that the registry does not have */
    size_t unknown_first;  /* index of the first of these, until dx_lake_membership_keep */
    bool is_published;     /* a version in the manifest: else all files are new */
    struct dx_lake_list missing;
    struct dx_lake_list lacked;
    struct dx_lake_list replaced; /* of the current version, that a pending replacement takes out */
    struct dx_lake_list replaced_absent; /* likewise, of `missing` or `lacked`; not by path */
    struct dx_left_out left_out;         /* what no version can have */
};

#define DX_LAKE_MEMBERSHIP_INIT      \
    {                                \
        .left_out = DX_LEFT_OUT_INIT \
    }

/* A compaction's list: a line a file, relative to the root ("urls/..."). */
#define DX_LAKE_CLAIM_MAX ((size_t)1 << 31)

int dx_lake_membership_open(struct dx_lake_membership *n, const struct dx_root *root,
                            const struct dx_manifest *m, struct dx_error *err);
/* The registry must say of files what it said before the lake was listed:
 * dx_registry_same_standing. A file of a dataset that the registry does not have is out and
 * noted in left_out; DX_E_CORRUPT: the current version has it. */
int dx_lake_membership_apply(struct dx_lake_membership *n, const struct dx_registry *registry,
                             struct dx_error *err);
void dx_lake_membership_keep(struct dx_lake_membership *n);
int dx_lake_membership_hold(struct dx_lake_membership *n, uint32_t dataset_id,
                            struct dx_error *err);
void dx_lake_membership_close(struct dx_lake_membership *n);

/* "index/claims/000007-20261121T103000Z.lake": the version; false if the object is not one. */
bool dx_lake_claim_version(const char *object, char version[24]);

#endif
