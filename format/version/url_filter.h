/* SPDX-License-Identifier: Apache-2.0
 * url_filter.h - which url_ids a page of url_ids.dat.zst cannot have: section UFLT of cold.dxp.
 *
 *   rc = dx_url_filter_may_have(&cold, &page, url_id, &err);     1 it may, 0 it has not, <0
 *   rc = dx_url_filter_check(&cold, &err);                       the section has the size of its pages' filters
 *
 *   dx_url_filter_append(&section, places, count);               of the next page; section.failed says it all
 *
 * The filter of a page is a Bloom filter in blocks of a cache line: an id sets DX_URL_FILTER_BITS bits of one block, so a
 * look is one line of mapped memory. At most 10 bits a place; about one absent id in eighty cannot be distinguished from one that
 * is there. A directory without the section, as older ones are, says that any page may have any id; so does a page of
 * fewer places than fill a block. All pages but the last have one number of places.
 *
 * Threads may share cold.
 */
#ifndef DX_FORMAT_VERSION_URL_FILTER_H
#define DX_FORMAT_VERSION_URL_FILTER_H

#include "format/version/cold.h"

struct dx_url_place;

#define DX_URL_FILTER_BLOCK 64 /* bytes */
#define DX_URL_FILTER_BITS 6   /* set by an id */
#define DX_URL_FILTER_RATE 10  /* bits a place */

int dx_url_filter_may_have(const struct dx_cold *c, const struct dx_cold_page *page,
                           uint64_t url_id, struct dx_error *err);
int dx_url_filter_check(const struct dx_cold *c, struct dx_error *err);
void dx_url_filter_append(struct dx_buf *section, const struct dx_url_place *places, size_t count);

#endif
