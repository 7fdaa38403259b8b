/* SPDX-License-Identifier: Apache-2.0
 * index_scan.h - reads all lake files once and finds what the index must say.
 *
 *   struct dx_index_lake lake = { .root, .files, .file_count, .registry };
 *   rc = dx_index_scan(&lake, &options, &err);
 *   lake.pairs    one record a (domain, dataset), sorted      builder/index_pair.h
 *   lake.groups   one record a row group, sorted: key u32 file_id, u32 row group (both
 *                 big-endian), value a GRPD record of pages.dxp
 *   lake.url_places  the places of their URLs                    builder/index_urls.h
 *   lake.tags     which of their rows have which tags            builder/index_tags.h
 *   lake.files[]  size, rows, row groups, hash; lake.registry: totals of each dataset
 *   dx_index_lake_release(&lake);                             the sorters, and what rebase made
 *
 * Runs of a pair stand in order of the paths of the files, whatever their numbers. With lake.base
 * (index_base.h) only what the base does not know is read: lake.pairs then has the pairs that came
 * or changed, whole, and lake.groups the row groups of the files that were read; the totals are those
 * of the whole lake.
 *
 * Files of one dataset whose prefix ranges overlap are merged row by row, so a URL that
 * stands in several files counts once. Refused, with file and row: a file that is not
 * sorted by (domain, host, path_query), a dataset_id other than the path's, a domain_id that
 * is not XXH3 of the domain, a domain outside of the file's prefix range.
 *
 * Each byte is read twice: to be hashed (with the sum of each page), and to be decoded.
 * Results do not depend on the number of threads. On error the lake is released.
 */
#ifndef DX_BUILDER_INDEX_SCAN_H
#define DX_BUILDER_INDEX_SCAN_H

#include <limits.h>
#include <stdatomic.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

struct dx_aside;
struct dx_index_dataset;
struct dx_index_tags;
struct dx_index_urls;
struct dx_registry;
struct dx_rules;
struct dx_spill_sort;
struct dx_version;

struct dx_index_file {
    char *path;   /* relative to the lake's root */
    char *prefix; /* as in the path: "9b", "00-ff" */
    char *etag;   /* that it must have when it is brought; NULL or "": not known */
    uint32_t dataset_id;
    uint8_t prefix_first;
    uint8_t prefix_last;
    uint64_t size; /* set before if the files are brought; else found by the scan, as these: */
    uint32_t row_groups;
    uint64_t rows;
    struct dx_hash128 hash;
    bool tagged; /* it has rows, and the column `tags` */
    bool known;  /* the base has it, and said all these */
    /* found by the scan, of a file that it reads: see builder/index_tags.h */
    uint64_t tags_unread, tags_unfit;
};

struct dx_index_lake {
    const char *root;            /* directory of the paths */
    struct dx_index_file *files; /* index = file_id; by path, but with a base; path NULL: a hole */
    size_t file_count;
    struct dx_registry *registry;
    /* by dx_index_rebase: */
    struct dx_version *base; /* borrowed; NULL: all is read */
    struct dx_index_dataset *changes;
    size_t change_count;
    /* found by the scan: */
    uint64_t rows;
    uint64_t urls;
    uint64_t row_groups;
    uint64_t files_scanned;
    uint64_t rows_scanned; /* those of known files too that were read again */
    uint64_t
        suppressed_first; /* lowest number of the rules that hit a row, or what led to one; 0: none does */
    uint64_t skipped_columns; /* not indexed: no plain strings */
    char skipped[128];        /* the first of them, with its file */
    struct dx_spill_sort *pairs;
    struct dx_spill_sort *groups;
    struct dx_aside *facts;           /* those of pairs that are too long for the sorter */
    struct dx_index_urls *url_places; /* places of the URLs of the files that were read */
    struct dx_index_tags *tags;       /* and which of their rows have which tags */
};

/* Of a lake that is elsewhere: each file is brought to where it is read and dropped after it.
 * Files whose prefixes overlap are merged, so they are there together; of others at most as many
 * as fit, and as there are threads. Safe from `threads` threads at once. */
struct dx_index_bring {
    void *ctx;
    uint64_t disk_bytes; /* files there at a time; if a merge needs more: DX_E_LIMIT, at once */
    int (*bring)(void *ctx, uint32_t file_id, const char *path, struct dx_error *err);
    void (*drop)(void *ctx, uint32_t file_id, const char *path);
};

struct dx_index_scan_options {
    const char *tmp_dir;
    size_t memory;
    unsigned threads;
    const struct dx_index_bring *bring; /* NULL: the files are at lake.root; else sizes are set */
    _Atomic uint64_t *rows_done;        /* for progress; may be NULL */
    /* format/rules.h: asked for each row of the files that are scanned, for suppressed_first. For
     * rows that the base knows its entry's `cleansed` speaks. NULL: none. */
    const struct dx_rules *rules;
    struct dx_span psl_text; /* with rules */
};

int dx_index_scan(struct dx_index_lake *lake, const struct dx_index_scan_options *options,
                  struct dx_error *err);
void dx_index_lake_release(struct dx_index_lake *lake);

/* Where the file is, or will be brought to. */
int dx_index_file_path(const struct dx_index_lake *lake, const struct dx_index_file *file,
                       char path[PATH_MAX], struct dx_error *err);

#endif
