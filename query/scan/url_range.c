/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/url_range.h"

#include "query/rows/row_filter.h"

static int side_of_order(int order)
{
    return order < 0 ? DX_URL_BEFORE : order > 0 ? DX_URL_BEHIND : DX_URL_WITHIN;
}

int dx_url_range_side(const struct dx_url_range *r, struct dx_span host, struct dx_span path_query)
{
    int order;

    if (r->kind == DX_URL_RANGE_DOMAIN)
        return DX_URL_WITHIN;
    if (r->kind == DX_URL_RANGE_SUBDOMAINS)
        return dx_host_below(host, r->host) ? DX_URL_WITHIN : DX_URL_BEHIND;
    order = dx_span_compare(host, r->host);
    if (order != 0 || r->kind == DX_URL_RANGE_HOST)
        return side_of_order(order);
    if (r->kind == DX_URL_RANGE_PREFIX && path_query.size > r->path.size)
        path_query.size = r->path.size;
    return side_of_order(dx_span_compare(path_query, r->path));
}
