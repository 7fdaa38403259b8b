/* SPDX-License-Identifier: Apache-2.0
 * host_range.h - the URLs of a host that was asked about.
 *
 *   rc = dx_host_range_parse(&h, canon, asked, &problem);      1; 0: it cannot be a host
 *   h.text, h.size                                             in canonical form, as rows have it
 *   range = dx_host_range_of(&h, subdomains, prefix)           borrows from h and prefix
 *   dx_host_range_hash(&h, subdomains)                         never 0: for cursors
 *
 * A host, host:port or URL; of a URL its host. With subdomains a port does not count. Plain value; any thread.
 */
#ifndef DX_QUERY_ANSWERS_HOST_RANGE_H
#define DX_QUERY_ANSWERS_HOST_RANGE_H

#include "query/scan/url_range.h"

struct dx_canon;
struct dx_problem;

#define DX_HOST_RANGE_MAX 300 /* a name of 253, a port */

struct dx_host_range {
    size_t size, name_size; /* with the port, and without */
    uint8_t text[DX_HOST_RANGE_MAX];
};

int dx_host_range_parse(struct dx_host_range *h, struct dx_canon *canon, struct dx_span asked,
                        struct dx_problem *problem);
struct dx_url_range dx_host_range_of(const struct dx_host_range *h, bool subdomains,
                                     struct dx_span prefix);
uint64_t dx_host_range_hash(const struct dx_host_range *h, bool subdomains);

#endif
