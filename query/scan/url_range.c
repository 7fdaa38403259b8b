/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/url_range.h"

/* Without the port, which an IPv6 address has behind its bracket. */
static struct dx_span name_of(struct dx_span host)
{
    size_t n = host.size;

    while (n > 0 && host.data[n - 1] >= '0' && host.data[n - 1] <= '9')
        n--;
    return n > 0 && host.data[n - 1] == ':' ? dx_span_of(host.data, n - 1) : host;
}

static bool is_below(struct dx_span host, struct dx_span of)
{
    host = name_of(host);
    if (host.size == of.size)
        return dx_span_equal(host, of);
    return host.size > of.size && host.data[host.size - of.size - 1] == '.' &&
           memcmp(host.data + (host.size - of.size), of.data, of.size) == 0;
}

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
        return is_below(host, r->host) ? DX_URL_WITHIN : DX_URL_BEHIND;
    order = dx_span_compare(host, r->host);
    if (order != 0 || r->kind == DX_URL_RANGE_HOST)
        return side_of_order(order);
    if (r->kind == DX_URL_RANGE_PREFIX && path_query.size > r->path.size)
        path_query.size = r->path.size;
    return side_of_order(dx_span_compare(path_query, r->path));
}
