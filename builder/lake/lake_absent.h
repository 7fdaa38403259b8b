/* SPDX-License-Identifier: Apache-2.0
 * lake_absent.h - lake files that a listing lacks, asked for one by one.
 *
 *   struct dx_lake_absent a = { .root = &root };
 *   rc = dx_lake_list_add(&a.list, path, size, "", &err);            as often as needed
 *   rc = dx_lake_absent_look(&a, &err);
 *   a.there[i]      a.list.file[i] is there all the same; its size and ETag are those of now
 *   dx_lake_absent_release(&a);
 *
 * A listing of a store may be empty or short, and a folder may be one that is not mounted yet: only
 * the answer to a question for the object itself says that it is not there, or that there is no permission to read it, which is one
 * dataset's matter too. Any other answer (no reply, an error of the disk) is an error. On a store it costs one GET of one byte
 * for each file, 16 at a time. One thread at a time.
 */
#ifndef DX_BUILDER_LAKE_LAKE_ABSENT_H
#define DX_BUILDER_LAKE_LAKE_ABSENT_H

#include "builder/lake/lake_layout.h"

struct dx_root;

struct dx_lake_absent {
    const struct dx_root *root;
    struct dx_lake_list list;
    bool *there;
};

int dx_lake_absent_look(struct dx_lake_absent *a, struct dx_error *err);
void dx_lake_absent_release(struct dx_lake_absent *a);

#endif
