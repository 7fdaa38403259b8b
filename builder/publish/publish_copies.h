/* SPDX-License-Identifier: Apache-2.0
 * publish_copies.h - new lake files that have the same bytes as another one of their dataset.
 *
 *   goes = calloc(list->count + 1, sizeof *goes);       list: by path; file[i].fresh is set
 *   rc = dx_publish_copies_find(&root, list, &registry, goes, &left_out, &err);    how many; their goes[i] is true
 *
 * Their rows would be listed and counted twice. Of several new ones the first by path stays. Looked at are files of
 * equal size alone: in a directory the end of each, where a footer says what columns hold, and all bytes of those that end alike; on
 * object storage their ETags, of objects from 16 KiB on, where these are hashes of content. Files without rows stay, and those of datasets of
 * counts, whose numbers are added up. A file that cannot be read is not looked at: the scan says why.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_COPIES_H
#define DX_BUILDER_PUBLISH_PUBLISH_COPIES_H

#include <stdbool.h>

#include "builder/lake/lake_layout.h"
#include "builder/lake/left_out.h"

struct dx_registry;
struct dx_root;

int dx_publish_copies_find(const struct dx_root *root, const struct dx_lake_list *list,
                           const struct dx_registry *registry, bool *goes,
                           struct dx_left_out *left_out, struct dx_error *err);

#endif
