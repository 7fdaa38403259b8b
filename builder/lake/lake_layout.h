/* SPDX-License-Identifier: Apache-2.0
 * lake_layout.h - where the files of the lake are.
 *
 *   ROOT/registry.json                      names of the datasets (dataset_registry.h)
 *   ROOT/psl.dat                            the suffix list the lake's domains came from
 *   ROOT/urls/dataset_id=7/domain_prefix=00-ff/part-00000.parquet
 *
 *   n = dx_lake_path_format(&path, text);             text relative to ROOT
 *   if (dx_lake_path_parse(dx_span_str(text), &path))  false: not one of ours
 *   rc = dx_lake_list(&list, &left, root, &err);      all files of a directory, sorted
 *   rc = dx_lake_list_store(&list, &left, store, &err);   the same of a root on object storage
 *   rc = dx_lake_list_root(&list, &left, &root, &err);    of either (builder/root/root.h)
 *   list.file[i].path, .dataset_id, .size, .etag
 *   dx_lake_list_release(&list);
 *
 * domain_prefix is a range of first bytes of domain_id, both ends included; "9b" is short
 * for "9b-9b". A small dataset has one range, so that it is not hundreds of tiny files.
 *
 * The list holds every *.parquet below a dataset_id=N folder, also of other writers with folders of
 * their own below it, in order of dataset and then of path. Names that begin with '.' or '_' are
 * left out, other names too. Symbolic links, what is called .parquet and is not a regular file, a
 * .parquet file that belongs to no dataset or whose name is not a plain path, and folders that are
 * too deep or cannot be read are noted in `left` (left_out.h): the caller says so. On object
 * storage the same rules hold for the parts of an object's name. A store that cannot list (http://,
 * https://) does not open as one: fetch/store/store.h.
 * Paths: no state, any thread. A list: one thread at a time; several may read it.
 */
#ifndef DX_BUILDER_LAKE_LAKE_LAYOUT_H
#define DX_BUILDER_LAKE_LAKE_LAYOUT_H

#include "base/bytes.h"
#include "base/error.h"
#include "builder/lake/left_out.h"
#include "format/root/registry_json.h"
#include "format/version/names.h"

#define DX_LAKE_PATH_MAX 128
#define DX_LAKE_PART_MAX DX_DATASET_PART_MAX

struct dx_lake_path {
    uint32_t dataset_id;
    uint8_t first; /* of the range of prefixes */
    uint8_t last;
    uint32_t part;
};

struct dx_root;
struct dx_store;

struct dx_lake_entry {
    char *path; /* relative to ROOT: "urls/dataset_id=..." */
    char *etag; /* strong, with quotes, as the listing says it; "": it says none, or a directory */
    uint32_t dataset_id;
    bool fresh; /* set by publish_lake: the current version does not have it */
    uint64_t size;
};

struct dx_lake_list {
    struct dx_lake_entry *file;
    size_t count;
    size_t capacity;
};

size_t dx_lake_path_format(const struct dx_lake_path *path, char text[DX_LAKE_PATH_MAX]);
/* The folder part alone, without a slash at its end. */
size_t dx_lake_dir_format(const struct dx_lake_path *path, char text[DX_LAKE_PATH_MAX]);
bool dx_lake_path_parse(struct dx_span text, struct dx_lake_path *path);
/* The dataset of any path below urls/dataset_id=N/. */
bool dx_lake_dataset_of(const char *path, uint32_t *id);

/* urls/ has Parquet files alone, so that programs can read it as a folder. For a caller that finds no
 * DX_LAKE_PSL or no registry: DX_E_UNSUPPORTED with what to do if they are where they were before.
 * source: NULL for a directory. */
struct dx_source;
int dx_lake_check_names(const char *root, struct dx_source *source, struct dx_error *err);

int dx_lake_list(struct dx_lake_list *list, struct dx_left_out *left, const char *root,
                 struct dx_error *err);
int dx_lake_list_store(struct dx_lake_list *list, struct dx_left_out *left, struct dx_store *store,
                       struct dx_error *err);
int dx_lake_list_root(struct dx_lake_list *list, struct dx_left_out *left,
                      const struct dx_root *root, struct dx_error *err);
void dx_lake_list_release(struct dx_lake_list *list);

/* For listings of other kinds: 1 it is in the list now, 0 it is left out, <0 no memory. */
int dx_lake_list_add(struct dx_lake_list *list, struct dx_left_out *left, const char *object,
                     uint64_t size, const char *etag, struct dx_error *err);
int dx_lake_entry_compare(const void *a, const void *b); /* of entries: by dataset, then by path */
void dx_lake_list_sort(struct dx_lake_list *list);

/* The first file of the dataset in a sorted list, or where it would stand. */
size_t dx_lake_list_find(const struct dx_lake_list *list, uint32_t dataset_id);

bool dx_lake_same_folder(const struct dx_lake_path *a, const struct dx_lake_path *b);
/* One more than the largest part number that a sorted list has in the folder of path. */
uint32_t dx_lake_list_next_part(const struct dx_lake_list *list, const struct dx_lake_path *path);
/* The same of all folders of a dataset; at least `least`. */
uint32_t dx_lake_list_next_part_of(const struct dx_lake_list *list, uint32_t dataset_id,
                                   uint32_t least);

/* Ranges a dataset is written in, by its rows: 1, 16 or 256 of equal width. */
unsigned dx_lake_range_count(uint64_t rows);

#define DX_LAKE_ROWS_ONE_RANGE (1u << 20)  /* fewer: one file for all prefixes */
#define DX_LAKE_ROWS_16_RANGES (16u << 20) /* fewer: 16 ranges; else one a prefix */
#define DX_LAKE_ROWS_A_FILE (4u << 20)     /* a part ends at the first domain border from here */
#define DX_LAKE_ROWS_EDGES (4u << 10) /* fewer: one file also where edges are to be split off */

#endif
