/* SPDX-License-Identifier: Apache-2.0
 * listing_url.h - of the runs of a planned listing the rows of one URL, once its pages are there.
 *
 *   dx_listing_keep_url(&l, url);       each piece is then from its first such row to the last one; it may have none
 *
 * A row is of the URL, or was led to by it (the column requested_url). Rows of a file stand by (domain, host, path_query), so
 * those of one page of a site lie side by side, of whatever scheme. What lies between rows that were led to may be of other URLs.
 * A piece whose pages are not as the directory says is left as it is: who walks its rows finds that.
 */
#ifndef DX_QUERY_ROWS_LISTING_URL_H
#define DX_QUERY_ROWS_LISTING_URL_H

#include "canon/url.h"
#include "query/rows/listing.h"

void dx_listing_keep_url(struct dx_listing *l, const struct dx_url *url);

#endif
