/* SPDX-License-Identifier: Apache-2.0
 * scan_merge.h - the rows of some files of a dataset put in order, and what they say of each
 * domain.
 *
 *   struct dx_scan_merge m = { .lake = ..., .file_ids = ..., .count = n, ... };
 *   rc = dx_scan_merge(&m, &err);         calls pair_found for each pair; then what was found
 *
 * Files whose prefix ranges overlap are merged together, so that a URL counts once. With `postings`
 * the rows that the base has of the same domains are read too (version_pair.h), and pairs are whole.
 * pair_found gets key and value of index_pair.h; it may be called by several threads with merges of
 * their own. Ends early, as if it were done, when *stop is set.
 */
#ifndef DX_BUILDER_SCAN_SCAN_MERGE_H
#define DX_BUILDER_SCAN_SCAN_MERGE_H

#include <limits.h>
#include <stdatomic.h>

#include "builder/lake/rows_twice.h"
#include "builder/scan/index_pair.h"
#include "builder/scan/rule_redirects.h"
#include "builder/scan/scan_cursor.h"
#include "builder/scan/scan_options.h"
#include "canon/urlkey.h"
#include "format/root/registry_json.h"
#include "format/root/rules.h"

struct dx_index_lake;
struct dx_index_urls_lane;
struct dx_version_pair;
struct dx_page_cache;
struct dx_page_stray;
struct dx_pair_tally;

#define DX_SCAN_SCHEMES_MAX 8 /* of one (host, path_query); canonical URLs have three */

struct dx_scan_merge {
    /* given: */
    struct dx_index_lake *lake;
    const size_t *file_ids; /* of one dataset, by path */
    size_t count;
    const struct dx_index_scan_options *options;
    const atomic_bool *stop;
    int (*pair_found)(void *ctx, struct dx_span key, struct dx_span value, struct dx_error *err);
    /* builder/scan/index_strays.h; NULL: they are not looked for */
    int (*stray_found)(void *ctx, const struct dx_page_stray *stray, struct dx_error *err);
    void *ctx;
    struct dx_page_cache *postings;  /* of lake.base, for a dataset that grew; else NULL */
    size_t known_bytes;              /* memory for files of the base */
    struct dx_index_urls_lane *urls; /* gets the rows of these files; NULL: none */
    struct dx_pair_tally *tally;     /* of this thread */
    struct dx_row_form *form;        /* likewise; NULL: rows may have any form */

    /* found: */
    uint32_t dataset_id;
    bool of_counts;           /* rows are hosts with their pages, which all counts are of */
    struct dx_dataset totals; /* what these files add to those of their dataset */
    uint64_t rows;            /* read */
    uint64_t suppressed_first;
    uint64_t times_left_out;
    uint64_t rows_left_out;
    char first_left_out[700];
    struct dx_rows_twice twice; /* initialised by the caller */

    /* private: */
    char path[PATH_MAX];
    struct dx_scan_cursor *cursors;
    size_t *heap; /* cursors, and behind them those of what the base has of the pair */
    size_t heap_size, heap_capacity;
    struct dx_version_pair *known; /* what the base has of a dataset that grew; NULL of others */
    bool has_known;                /* the domain at hand is in it */
    struct dx_scan_place place;
    struct {
        uint8_t text[DX_SCAN_SCHEME_MAX];
        size_t size;
    } schemes[DX_SCAN_SCHEMES_MAX]; /* of the current (host, path_query) */
    size_t scheme_count;
    struct dx_index_pair pair; /* in the making; domain: in `domain` */
    uint64_t pair_rows;        /* that were read of it */
    struct dx_buf domain;
    struct dx_buf runs;
    struct dx_buf facts;
    struct dx_buf sketch;
    struct dx_buf key;
    struct dx_buf value;
    bool has_rules; /* some rule may hit rows of the domain at hand */
    struct dx_rules_of rules;
    struct dx_rule_redirects led;
    struct dx_urlkey urlkey; /* for what rows stray */
};

int dx_scan_merge(struct dx_scan_merge *m, struct dx_error *err);

#endif
