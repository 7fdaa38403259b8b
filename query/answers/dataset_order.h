/* SPDX-License-Identifier: Apache-2.0
 * dataset_order.h - the datasets of a domain in the order of one of their members, and a page of them.
 *
 *   struct dx_dataset_order o = { .by = DX_DOMAIN_FIELD_URLS, .reverse = true, .page = { 0, 10 } };
 *   rc = dx_dataset_order_make(&o, &items, &heads, &places, &err);     places: of items.ids, in this order; NULL: as they are
 *   free(places);
 *   dx_dataset_order_window(&o, count, &first, &end);                 of the order
 *
 * Datasets that agree are in the order of their ids, whichever way the rest is; those without a time come last. Memory:
 * 44 bytes a dataset while it is made. Any thread.
 */
#ifndef DX_QUERY_ANSWERS_DATASET_ORDER_H
#define DX_QUERY_ANSWERS_DATASET_ORDER_H

#include "query/view/fields.h"

struct dx_dataset_heads;
struct dx_error;
struct dx_pair_count;

struct dx_dataset_order {
    unsigned by; /* DX_DOMAIN_FIELD_...; 0: by id */
    bool reverse;
    struct dx_page_of page; /* limit 0: all */
};

/* The datasets of a domain, by id. */
struct dx_dataset_items {
    const uint32_t *ids;
    const struct dx_pair_count *pairs;
    size_t count;
    int (*rank)(void *ctx, size_t i, uint64_t *rank, struct dx_error *err);
    void *rank_ctx;
};

/* `rank` is called if `by` is DX_DOMAIN_FIELD_RANK. DX_OK, or as dx_domain_text_write. */
int dx_dataset_order_make(const struct dx_dataset_order *o, const struct dx_dataset_items *items,
                          const struct dx_dataset_heads *heads, uint32_t **places,
                          struct dx_error *err);

/* Whether not all are asked for: then the answer says where a page begins and the next one does. */
static inline bool dx_dataset_order_is_paged(const struct dx_dataset_order *o)
{
    return o->page.limit > 0 || o->page.offset > 0;
}

static inline void dx_dataset_order_window(const struct dx_dataset_order *o, size_t count,
                                           size_t *first, size_t *end)
{
    *first = o->page.offset < count ? (size_t)o->page.offset : count;
    *end = o->page.limit > 0 && o->page.limit < count - *first ? *first + (size_t)o->page.limit
                                                               : count;
}

#endif
