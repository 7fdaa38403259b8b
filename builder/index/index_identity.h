/* SPDX-License-Identifier: Apache-2.0
 * index_identity.h - the build id: what a version is made from, in 16 bytes.
 *
 *   rc = dx_index_identity(&lake, psl_text, &id, &err);      after the scan of the lake
 *   id.build  id.psl_hash  id.datasets  id.files             texts of datasets.json, files.tsv
 *   dx_index_identity_release(&id);
 *
 * docs/FORMAT.md section 1 says what is hashed. The same lake gives the same id, if its files have
 * the same numbers, and the version the same older parts. `files` has the files of the new part.
 * One thread at a time.
 */
#ifndef DX_BUILDER_INDEX_INDEX_IDENTITY_H
#define DX_BUILDER_INDEX_INDEX_IDENTITY_H

#include "base/buf.h"
#include "base/hash.h"

struct dx_index_lake;

struct dx_index_identity {
    struct dx_build_id build;
    struct dx_build_id
        same; /* that a version has if it has this lake, and the parts of lake.base */
    struct dx_hash128 psl_hash;
    struct dx_buf datasets;
    struct dx_buf files;
};

int dx_index_identity(const struct dx_index_lake *lake, struct dx_span psl_text,
                      struct dx_index_identity *id, struct dx_error *err);
void dx_index_identity_release(struct dx_index_identity *id);

#endif
