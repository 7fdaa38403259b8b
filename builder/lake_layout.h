/* SPDX-License-Identifier: Apache-2.0
 * lake_layout.h - where the files of the lake are.
 *
 *   ROOT/urls/registry.json                 names of the datasets (registry.h)
 *   ROOT/urls/psl.dat                       the suffix list the lake's domains came from
 *   ROOT/urls/dataset_id=7/domain_prefix=00-ff/part-00000.parquet
 *
 *   n = dx_lake_path_format(&path, text);             text relative to ROOT
 *   if (dx_lake_path_parse(dx_span_str(text), &path))  false: not one of ours
 *   rc = dx_lake_list(&list, root, &err);             all files of a directory, sorted
 *   rc = dx_lake_list_store(&list, store, &err);      the same of a root on object storage
 *   list.file[i].path, .dataset_id, .size, .etag
 *   dx_lake_list_release(&list);
 *
 * domain_prefix is a range of first bytes of domain_id, both ends included; "9b" is short
 * for "9b-9b". A small dataset has one range, so that it is not hundreds of tiny files.
 *
 * The list holds every *.parquet below a dataset_id=N folder, also of other writers with
 * folders of their own below it, in order of dataset and then of path. Names that begin
 * with '.' or '_' are left out, other names too. Symbolic links, and a .parquet file that
 * belongs to no dataset, are refused: nothing is silently left out. On object storage the same
 * rules hold for the parts of an object's name; a .parquet object whose name is no plain path is
 * refused. A store that cannot list (http://, https://) does not open as one: fetch/store.h.
 */
#ifndef DX_BUILDER_LAKE_LAYOUT_H
#define DX_BUILDER_LAKE_LAYOUT_H

#include "base/bytes.h"
#include "base/error.h"
#include "format/registry_json.h"

#define DX_LAKE_DIR "urls"
#define DX_LAKE_PATH_MAX 128
#define DX_LAKE_PART_MAX DX_DATASET_PART_MAX

struct dx_lake_path {
    uint32_t dataset_id;
    uint8_t first; /* of the range of prefixes */
    uint8_t last;
    uint32_t part;
};

struct dx_store;

struct dx_lake_entry {
    char *path; /* relative to ROOT: "urls/dataset_id=..." */
    char *etag; /* strong, with quotes, as the listing says it; "": it says none, or a directory */
    uint32_t dataset_id;
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

int dx_lake_list(struct dx_lake_list *list, const char *root, struct dx_error *err);
int dx_lake_list_store(struct dx_lake_list *list, struct dx_store *store, struct dx_error *err);
void dx_lake_list_release(struct dx_lake_list *list);

/* For listings of other kinds: 1 it is in the list now, 0 its name is left out, <0 refused. */
int dx_lake_list_add(struct dx_lake_list *list, const char *object, uint64_t size, const char *etag,
                     struct dx_error *err);
void dx_lake_list_sort(struct dx_lake_list *list);

/* The first file of the dataset in a sorted list, or where it would stand. */
size_t dx_lake_list_find(const struct dx_lake_list *list, uint32_t dataset_id);

bool dx_lake_same_folder(const struct dx_lake_path *a, const struct dx_lake_path *b);
/* One more than the largest part number that a sorted list has in the folder of path. */
uint32_t dx_lake_list_next_part(const struct dx_lake_list *list, const struct dx_lake_path *path);

/* Ranges a dataset is written in, by its rows: 1, 16 or 256 of equal width. */
unsigned dx_lake_range_count(uint64_t rows);

#define DX_LAKE_ROWS_ONE_RANGE (1u << 20)  /* fewer: one file for all prefixes */
#define DX_LAKE_ROWS_16_RANGES (16u << 20) /* fewer: 16 ranges; else one a prefix */
#define DX_LAKE_ROWS_A_FILE (4u << 20)     /* a part ends at the first domain border from here */

#endif
