/* SPDX-License-Identifier: Apache-2.0
 * host_merge.h - the hosts of a domain over its datasets: sorted lists put together, a page of them
 * kept.
 *
 *   dx_host_merge_init(&m, pairs, by_name, page);              room for so many pairs
 *   rc = dx_host_merge_add(&m, facts, domain, &counts, of_counts, &err);  each pair's bytes (format/version/facts.h); borrowed
 *   rc = dx_host_merge_run(&m, &err);                          m.host_count, m.hosts[0 .. m.count)
 *   dx_host_merge_release(&m);
 *
 * by_name: in byte order; else most URLs first, then most pages, equal ones in byte order. Counts of a host are sums
 * over the datasets; those of datasets of counts are pages. DX_E_LIMIT: more than DX_HOST_MERGE_MAX hosts of all pairs, or of one so many
 * that they are not stored. Memory: a reader a pair, and the hosts up to the end of the page,
 * twice. One thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_HOST_MERGE_H
#define DX_QUERY_ANSWERS_HOST_MERGE_H

#include "format/version/facts.h"
#include "query/view/fields.h"

#define DX_HOST_MERGE_MAX 4000000u /* about two seconds of one thread */

struct dx_host_total {
    size_t at; /* of its text in m.text */
    uint32_t size;
    uint32_t dataset_count;
    uint64_t url_count;
    uint64_t row_count;
    uint64_t page_count;
};

struct dx_host_source;

struct dx_host_merge {
    uint64_t host_count;
    struct dx_host_total *hosts;
    size_t count;
    struct dx_buf text;

    /* private */
    bool by_name;
    struct dx_page_of page;
    size_t capacity;
    struct dx_host_source *sources;
    size_t source_count, source_capacity;
    struct dx_host_source **heap; /* those that have hosts left, the first in order in front */
    size_t left;
    uint64_t entries; /* of all pairs */
};

int dx_host_merge_init(struct dx_host_merge *m, size_t pairs, bool by_name, struct dx_page_of page,
                       struct dx_error *err);
int dx_host_merge_add(struct dx_host_merge *m, struct dx_span facts, struct dx_span domain,
                      const struct dx_pair_count *counts, bool of_counts, struct dx_error *err);
int dx_host_merge_run(struct dx_host_merge *m, struct dx_error *err);
void dx_host_merge_release(struct dx_host_merge *m);

static inline struct dx_span dx_host_merge_text(const struct dx_host_merge *m,
                                                const struct dx_host_total *h)
{
    return dx_span_of(m->text.data + h->at, h->size);
}

#endif
