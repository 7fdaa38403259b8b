/* SPDX-License-Identifier: Apache-2.0
 * lake_files.h - the files of a lake as a publish sees them, and what reading them found.
 *
 *   struct dx_index_lake lake = { .root, .files, .file_count, .registry };
 *   rc = dx_index_scan(&lake, &options, &err);        builder/scan/index_scan.h fills the rest
 *   dx_index_lake_release(&lake);                     builder/scan/index_lake.h
 *
 * Plain data: the caller owns `files` and `registry`; what a scan made belongs to the lake until it
 * is released. One thread at a time, but `files` may be read by many.
 */
#ifndef DX_BUILDER_LAKE_LAKE_FILES_H
#define DX_BUILDER_LAKE_LAKE_FILES_H

#include <limits.h>

#include "base/error.h"
#include "base/hash.h"
#include "format/version/manifest.h"

struct dx_blob_spill;
struct dx_index_dataset;
struct dx_index_tags;
struct dx_index_urls;
struct dx_registry;
struct dx_spill_sort;
struct dx_version;

struct dx_index_file {
    char *path;   /* relative to the lake's root */
    char *prefix; /* as in the path: "9b", "00-ff" */
    char *etag;   /* that it must have when it is fetched; NULL or "": not known */
    uint32_t dataset_id;
    uint8_t prefix_first;
    uint8_t prefix_last;
    uint64_t size; /* set before if the files are fetched; else found by the scan, as these: */
    uint32_t row_groups;
    uint64_t rows;
    struct dx_hash128 hash;
    bool tagged; /* it has rows, and the column `tags` */
    bool known;  /* the base has it, and said all these */
    bool fresh;  /* the current version does not have it: a publish may leave it out */
    bool frozen; /* its dataset stays as the base has it, whatever became of the file since */
    /* found by the scan, of a file that it reads: see builder/scan/index_tags.h */
    uint64_t tags_unread, tags_unfit;
};

struct dx_index_lake {
    const char *root;            /* directory of the paths */
    struct dx_index_file *files; /* index = file_id; by path, but with a base; path NULL: a hole */
    size_t file_count;
    struct dx_registry *registry;
    /* set before dx_index_rebase: new files are read with all of their dataset */
    bool rescan_grown;
    /* by dx_index_rebase: */
    const struct dx_index_file
        *replaced; /* of files: for which it failed, as it is another one now; NULL: it is not so */
    struct dx_version *base; /* borrowed; NULL: all is read */
    struct dx_index_dataset *changes;
    size_t change_count;
    /* by dx_index_retain: the first so many parts of the base stay parts of the new version, whose
     * own files are those from first_file on. 0 and 0: it has one part alone. */
    size_t kept_parts;
    uint64_t first_file;
    /* Of those parts, ordinals of the domains of datasets that went or were replaced: they are taken over. NULL: none. */
    struct roaring_bitmap_s *leaving[DX_PARTS_MAX];
    /* found by the scan: */
    uint64_t rows;
    uint64_t urls;
    uint64_t files_scanned;
    uint64_t rows_scanned; /* those of known files too that were read again */
    /* Lowest number of the rules that hit a row, or what led to one; 0: none does. */
    uint64_t rows_twice; /* rows more than there should be, if they were looked for */
    char twice[200];     /* URL of the first of them */
    uint64_t suppressed_first;
    uint64_t times_left_out;  /* rows whose time is outside of years 0000..9999 */
    uint64_t rows_left_out;   /* of the files that were scanned: row_fault.h */
    char first_left_out[700]; /* the first of them, with its file */
    uint64_t skipped_columns; /* not indexed: no plain strings */
    char skipped[128];        /* the first of them, with its file */
    struct dx_spill_sort *pairs;
    struct dx_spill_sort *groups;
    struct dx_spill_sort *strays;     /* rows whose keys stray: builder/scan/index_strays.h */
    struct dx_blob_spill *facts;      /* those of pairs that are too long for the sorter */
    struct dx_index_urls *url_places; /* places of the URLs of the files that were read */
    struct dx_index_tags *tags;       /* and which of their rows have which tags */
};

/* Of a lake that is elsewhere: each file is fetched to where it is read and dropped after it.
 * Files whose prefixes overlap are merged, so they are there together; of others at most as many
 * as fit, and as there are threads. Safe from `threads` threads at once. */
struct dx_index_fetch {
    void *ctx;
    uint64_t disk_bytes; /* files there at a time; if a merge needs more: DX_E_LIMIT, at once */
    int (*fetch)(void *ctx, uint32_t file_id, const char *path, struct dx_error *err);
    void (*drop)(void *ctx, uint32_t file_id, const char *path);
};

/* Where the file is, or will be fetched to. */
int dx_index_file_path(const struct dx_index_lake *lake, const struct dx_index_file *file,
                       char path[PATH_MAX], struct dx_error *err);

#endif
