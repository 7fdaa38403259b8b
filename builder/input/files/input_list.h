/* SPDX-License-Identifier: Apache-2.0
 * input_list.h - the inputs that a command line names: files, folders, patterns, lists, cluster indexes,
 * object stores.
 *
 *   rc = dx_input_list_make(&list, operand, count, &filter, &err);
 *   list.path[i], list.count                                      the inputs, in order
 *   list.size[i]                                                  bytes that it must have, 0: any
 *   list.taken, list.left_out, list.odd                           of folders, for people
 *   dx_input_list_release(&list);
 *
 *   FILE, -, https://host/FILE, s3://bucket/FILE      as it is
 *   DIR/, s3://bucket/PREFIX/                         all files below, in byte order of their paths: the Parquet
 *                                                     files if there are some, else those of all other
 *                                                     formats. Names that begin with '.' or '_' (also of
 *                                                     folders), checksums (.crc), cluster indexes (.idx, .loc), README, LICENSE and dataset
 *                                                     descriptions are left out, and counted
 *   'data-*.parquet', 's3://bucket/crawl=*'          glob(7), where no file has that very name; what matches
 *                                                     may be folders, of a store prefixes
 *   'crawl/ ** /x.parquet' without the blanks         the folder name ** is any number of folders, none too, but
 *                                                     not those that a folder leaves out; elsewhere ** is *.
 *                                                     Braces {a,b} are refused: a shell expands them
 *   @LIST                                             each line of a text file, also of a compressed or a remote one,
 *                                                     is one of these, without the blanks and tabs around it; empty lines and
 *                                                     those that begin with # are passed over; no list names a list. With filter.base a
 *                                                     line that is a relative path is below that address or folder. A remote
 *                                                     list cannot name local files
 *   FILE.idx, https://host/FILE.idx                   where it is the cluster index of a ZipNum CDX
 *                                                     (cluster_index.h): the shards that it names, beside it or
 *                                                     where FILE.loc says
 *
 * A folder that has a cluster index must have all of its shards, each of the size that the index says.
 * Of a folder of Hugging Face's cache (refs/, blobs/, snapshots/) the one snapshot is read.
 *
 * Of what folders have the filter takes those that match a pattern of `include`, if there is one, and
 * none of `exclude`. A pattern is glob(7)'s for the end of a path, from a '/' on, and a star stands for
 * '/' too: "*.gz", "test/" and a star. Files that an operand names are taken as they are.
 *
 * A pattern or folder without a file is an error. At most DX_INPUTS_MAX inputs. A symbolic link to a folder
 * is followed where an operand names or matches it, and not below a folder. May block. One thread.
 */
#ifndef DX_BUILDER_INPUT_FILES_INPUT_LIST_H
#define DX_BUILDER_INPUT_FILES_INPUT_LIST_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define DX_INPUTS_MAX 1000000

struct dx_input_filter {
    const char *const *include; /* NULL at the end; NULL: any */
    const char *const *exclude;
    const char *base; /* of relative lines in lists; NULL: as they are */
};

struct dx_input_entry;

struct dx_input_list {
    const char **path;
    uint64_t *size;
    size_t count;
    size_t taken, left_out; /* of folders */
    char *odd; /* the first one left out that its name or the filter does not explain, or NULL */
    const char *odd_why; /* "not Parquet, ..." */

    /* private: */
    struct dx_input_entry *entry;
    size_t room;
    char **cluster; /* indexes seen in the folder at hand */
    size_t cluster_count;
    const struct dx_input_filter *filter;
};

int dx_input_list_make(struct dx_input_list *list, const char *const *operand, size_t count,
                       const struct dx_input_filter *filter, struct dx_error *err);
/* An error if two of the inputs are one file, by whatever name, or one address. */
int dx_input_list_check_once(const struct dx_input_list *list, struct dx_error *err);
void dx_input_list_release(struct dx_input_list *list);

#endif
