/* SPDX-License-Identifier: Apache-2.0
 * counts_json.h - counts of a dataset, or of a domain in it, as members of an object.
 *
 *   dx_counts_json_kind(&j, dataset);              "kind":"counts", of a dataset of counts; else nothing
 *   dx_counts_json(&j, dataset, urls, rows);       "url_count":…,"row_count":…
 *
 * Of a dataset of counts both are null, and "page_count" follows. dataset NULL: sums over datasets of URLs. Any thread.
 */
#ifndef DX_QUERY_VIEW_COUNTS_JSON_H
#define DX_QUERY_VIEW_COUNTS_JSON_H

#include "base/json_out.h"
#include "format/root/registry_json.h"

static inline bool dx_counts_json_pages(const struct dx_dataset *dataset)
{
    return dataset != NULL && dataset->kind == DX_DATASET_COUNTS;
}

static inline void dx_counts_json_kind(struct dx_json *j, const struct dx_dataset *dataset)
{
    if (!dx_counts_json_pages(dataset))
        return;
    dx_json_key(j, "kind");
    dx_json_str(j, "counts");
}

static inline void dx_counts_json(struct dx_json *j, const struct dx_dataset *dataset,
                                  uint64_t urls, uint64_t rows)
{
    bool pages = dx_counts_json_pages(dataset);

    dx_json_key(j, "url_count");
    pages ? dx_json_null(j) : dx_json_u64(j, urls);
    dx_json_key(j, "row_count");
    pages ? dx_json_null(j) : dx_json_u64(j, rows);
    if (pages)
        dx_json_key_u64(j, "page_count", rows);
}

/* The same of sums, of one dataset or (NULL) of all: pages are of those of counts. */
static inline void dx_counts_json_sums(struct dx_json *j, const struct dx_dataset *dataset,
                                       uint64_t urls, uint64_t rows, uint64_t pages)
{
    if (dx_counts_json_pages(dataset)) {
        dx_counts_json(j, dataset, pages, pages);
        return;
    }
    dx_counts_json(j, NULL, urls, rows);
    if (pages > 0)
        dx_json_key_u64(j, "page_count", pages);
}

#endif
