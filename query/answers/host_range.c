/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/host_range.h"

#include "base/hash.h"
#include "canon/url.h"
#include "query/view/lookup.h"

int dx_host_range_parse(struct dx_host_range *h, struct dx_canon *canon, struct dx_span asked,
                        struct dx_problem *problem)
{
    struct dx_url url;
    int rc = dx_lookup_url(canon, asked, &url, problem);

    if (rc == 1 && (url.host.size > sizeof h->text || url.hostname.size > url.host.size))
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "not-a-url",
                              "This cannot be an indexed URL", "the host is longer than a name is");
    if (rc != 1)
        return rc;
    h->size = url.host.size;
    h->name_size = url.hostname.size;
    memcpy(h->text, url.host.data, url.host.size);
    return 1;
}

struct dx_url_range dx_host_range_of(const struct dx_host_range *h, bool subdomains,
                                     struct dx_span prefix)
{
    struct dx_url_range r = { .kind = DX_URL_RANGE_HOST, .host = dx_span_of(h->text, h->size) };

    if (subdomains) {
        r.kind = DX_URL_RANGE_SUBDOMAINS;
        r.host.size = h->name_size;
    } else if (prefix.data != NULL) {
        r.kind = DX_URL_RANGE_PREFIX;
        r.path = prefix;
    }
    return r;
}

uint64_t dx_host_range_hash(const struct dx_host_range *h, bool subdomains)
{
    uint64_t hash = dx_hash64_seeded(dx_span_of(h->text, subdomains ? h->name_size : h->size),
                                     subdomains ? 1 : 0);

    return hash == 0 ? 1 : hash;
}
