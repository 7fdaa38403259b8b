/* SPDX-License-Identifier: Apache-2.0
 * url_id_list.h - the ids of a page of url_ids.dat.zst, in memory: section UIDX of cold.dxp.
 *
 *   rc = dx_url_id_list_open(&list, &cold, &page, &err);         page: of cold, which has the section
 *   rc = dx_url_id_list_find(&list, url_id, &from, &end, &err);  1: entries [from, end) of the page have it, 0 none, <0
 *   while ((rc = dx_url_id_list_next(&list, &id, &err)) == 1)    all, ascending; 0 behind the last
 *   rc = dx_url_id_list_check(&cold, &err);                      the lists of all pages fill the section
 *
 *   key = dx_url_id_list_append(&section, places, count);        of the next page; its key; section.failed says it all
 *
 * Ids are in the order of Elias and Fano: the low bits of each as they are, the high ones as how many ids each bucket has.
 * So a lookup counts bits of a cache line, knows exactly which entries have the id, and an id that is absent reads no
 * page. 14 bits an id for a million of them, 10 for ten million, 7 for a hundred million.
 *
 * Borrows cold. Threads may share cold; a list is of one thread while it gives the next ones.
 */
#ifndef DX_FORMAT_VERSION_URL_ID_LIST_H
#define DX_FORMAT_VERSION_URL_ID_LIST_H

#include "format/version/cold.h"
#include "format/version/url_place.h"

struct dx_url_id_list {
    const struct dx_cold *cold;
    struct dx_span bytes;  /* all of it */
    struct dx_span begins; /* where every 256th bucket begins in high, but the first one */
    struct dx_span high;   /* for each bucket a one an id, and a zero */
    struct dx_span low;
    uint64_t high_bits;
    uint32_t first, last; /* ids; here they have 32 bits */
    uint32_t count;
    unsigned low_bits;
    /* next's place */
    uint64_t at; /* in high */
    uint32_t taken;
};

int dx_url_id_list_open(struct dx_url_id_list *list, const struct dx_cold *c,
                        const struct dx_cold_page *page, struct dx_error *err);
int dx_url_id_list_find(const struct dx_url_id_list *list, uint64_t url_id, uint32_t *from,
                        uint32_t *end, struct dx_error *err);
int dx_url_id_list_next(struct dx_url_id_list *list, uint64_t *id, struct dx_error *err);
int dx_url_id_list_check(const struct dx_cold *c, struct dx_error *err);

/* places ascend; count is at least 1. Of a section that is over 32 GiB, which no page could name, the next one fails. */
uint64_t dx_url_id_list_append(struct dx_buf *section, const struct dx_url_place *places,
                               size_t count);

#endif
