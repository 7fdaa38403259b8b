/* SPDX-License-Identifier: Apache-2.0
 * input_list.h - the inputs that a command line names: files, folders, patterns, lists, object
 * stores.
 *
 *   rc = dx_input_list_make(&list, operand, count, &filter, &err);
 *   list.path[i], list.count                                      the inputs, in order
 *   list.taken, list.left_out                                     of folders, for people
 *   dx_input_list_release(&list);
 *
 *   FILE, -, https://host/FILE, s3://bucket/FILE      as it is
 *   DIR/, s3://bucket/PREFIX/                         all files below, in byte order of their paths: the Parquet
 *                                                     files if there are some, else those of all other
 *                                                     formats. Names that begin with '.' or '_' (also of
 *                                                     folders), checksums (.crc), cluster indexes (.idx, .loc), README, LICENSE and dataset
 *                                                     descriptions are left out, and counted
 *   'crawl=2024-*'/x.parquet                          glob(7), where no file has that very name; what matches may be
 *                                                     folders
 *   @LIST                                             each line of a text file is one of these; empty lines and those
 *                                                     that begin with # are passed over; no list names a list
 *
 * Of what folders have the filter takes those that match a pattern of `include`, if there is one, and
 * none of `exclude`. A pattern is glob(7)'s for the end of a path, from a '/' on, and a star stands for
 * '/' too: "*.gz", "test/" and a star. Files that an operand names are taken as they are.
 *
 * A pattern or folder without a file is an error. At most DX_INPUTS_MAX inputs; symbolic links to
 * folders are not followed. May block. One thread.
 */
#ifndef DX_BUILDER_INPUT_FILES_INPUT_LIST_H
#define DX_BUILDER_INPUT_FILES_INPUT_LIST_H

#include "base/error.h"

#include <stddef.h>

#define DX_INPUTS_MAX 1000000

struct dx_input_filter {
    const char *const *include; /* NULL at the end; NULL: any */
    const char *const *exclude;
};

struct dx_input_list {
    const char **path;
    size_t count;
    size_t taken, left_out; /* of folders */
    size_t room;            /* private, as is filter */
    const struct dx_input_filter *filter;
};

int dx_input_list_make(struct dx_input_list *list, const char *const *operand, size_t count,
                       const struct dx_input_filter *filter, struct dx_error *err);
void dx_input_list_release(struct dx_input_list *list);

#endif
