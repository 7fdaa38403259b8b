/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/lookup.h"

#include "base/limits.h"
#include "base/put.h"
#include "canon/url.h"
#include "loader/hot_keys.h"
#include "loader/version.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

#include <assert.h>
#include <stdio.h>

/* What the caller can do about each reject. */
static const char *advise_reject(enum dx_reject why)
{
    switch (why) {
    case DX_REJECT_EMPTY:
        return "nothing was asked. Put a domain, host or URL into the path";
    case DX_REJECT_TOO_LONG:
        return "it is longer than a name can be";
    case DX_REJECT_SCHEME:
        return "only http, https and ftp URLs are indexed";
    case DX_REJECT_HOST_MISSING:
        return "it names no host";
    case DX_REJECT_HOST_INVALID:
        return "its host is neither a valid name nor an IP address";
    case DX_REJECT_PORT_INVALID:
        return "its port is not a number up to 65535";
    case DX_REJECT_UTF8_INVALID:
        return "its host is not valid UTF-8";
    case DX_REJECT_PUBLIC_SUFFIX:
        return "it is a public suffix, or a single label: ask for a domain registered under it";
    case DX_REJECT_NONE:
    case DX_REJECT_COUNT:
        break;
    }
    return "it cannot be read";
}

int dx_lookup_no_name(enum dx_reject why, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "not-a-domain",
                          "This is not a domain name", "%s (%s).", advise_reject(why),
                          dx_reject_name(why));
}

int dx_lookup_name(struct dx_canon *canon, struct dx_span asked, struct dx_span *domain,
                   struct dx_problem *problem)
{
    enum dx_reject why = DX_REJECT_NONE;

    return dx_canon_domain(canon, asked, domain, &why) != 0 ? 1 : dx_lookup_no_name(why, problem);
}

int dx_lookup_url(struct dx_canon *canon, struct dx_span asked, struct dx_url *url,
                  struct dx_problem *problem)
{
    enum dx_reject why = DX_REJECT_NONE;

    if (dx_canon_url(canon, asked, url, &why) != 0)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "not-a-url",
                          "This cannot be an indexed URL", "%s (%s).", advise_reject(why),
                          dx_reject_name(why));
}

int dx_lookup_no_domain(const struct dx_view *view, struct dx_span domain,
                        struct dx_problem *problem)
{
    uint8_t *p = (uint8_t *)problem->detail;

    /* By hand: printf would take longer than the whole look-up, and most strangers end here. The
     * longest text has 140 characters and the name. */
    static_assert(sizeof problem->detail > 200 + DX_DOMAIN_MAX, "the words fit");
    problem->kind = DX_PROBLEM_NOT_FOUND;
    problem->slug = "domain-not-found";
    problem->title = "No dataset contains this domain";
    problem->retry_s = 0;
    problem->says_message = false;
    problem->restart[0] = '\0';
    p = dx_put(p, domain.data, domain.size < DX_DOMAIN_MAX ? domain.size : DX_DOMAIN_MAX);
    p = dx_put_u64(DX_PUT(p, " is in none of the "), dx_view_datasets(view));
    p = DX_PUT(p, " datasets of version ");
    p = dx_put(p, view->version->entry.version, strlen(view->version->entry.version));
    p = DX_PUT(p, ". /v1/normalize?q= shows how a name is reduced to its domain.");
    *p = '\0';
    return 0;
}

int dx_lookup_no_pair(const struct dx_view *view, const struct dx_found *found, uint32_t dataset_id,
                      struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "domain-not-in-dataset",
                          "This dataset does not contain this domain",
                          "%.*s is not in dataset %u of version %s. /v1/domain/%.*s lists the "
                          "datasets that contain it.",
                          (int)found->domain_size, (const char *)found->domain,
                          (unsigned)dataset_id, view->version->entry.version,
                          (int)found->domain_size, (const char *)found->domain);
}

int dx_lookup_counts_only(const char *what, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_CONFLICT, "counts-only",
                          "There are counts, but no URLs",
                          "%s says which hosts it has and how many pages of each, and has no URLs "
                          "to list. /v1/domain and its /hosts have the counts.",
                          what);
}

int dx_lookup_without(const struct dx_view *view, struct dx_span domain, enum dx_effect effect,
                      struct dx_problem *problem)
{
    return effect == DX_EFFECT_WITHHELD ? dx_suppressed_problem(domain, problem)
                                        : dx_lookup_no_domain(view, domain, problem);
}

int dx_lookup_allowed(const struct dx_view *view, struct dx_span domain, struct dx_problem *problem)
{
    struct dx_rule_hit hit = dx_suppressed_domain(view->version, domain);

    return hit.number == 0 ? 1 : dx_lookup_without(view, domain, hit.effect, problem);
}

int dx_lookup_domain(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                     struct dx_found *found, struct dx_problem *problem)
{
    struct dx_version *v = view->version;
    DX_UNINITIALIZED struct dx_error err;
    struct dx_span domain;
    int rc = dx_lookup_name(canon, asked, &domain, problem);

    dx_error_begin(&err);
    if (rc == 0)
        return rc;
    rc = dx_lookup_allowed(view, domain, problem);
    if (rc == 0)
        return rc;
    rc = dx_version_find(v, domain, &found->part, &found->ordinal, &found->domain_id, &err);
    if (rc == 1)
        rc = dx_view_has(view, found->part, found->ordinal, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 0)
        return dx_lookup_no_domain(view, domain, problem);
    dx_hot_keys_note(v->caches != NULL ? v->caches->hot : NULL, domain);
    found->domain_size = domain.size; /* dx_canon_domain keeps it within DX_DOMAIN_MAX */
    memcpy(found->domain, domain.data, domain.size);
    return 1;
}

int dx_lookup_dataset(const struct dx_view *view, uint32_t dataset_id,
                      const struct dx_dataset **dataset, struct dx_problem *problem)
{
    *dataset = view->scope == NULL || dx_scope_has(view->scope, dataset_id)
                   ? dx_registry_by_id(&view->version->registry, dataset_id)
                   : NULL;
    if (*dataset != NULL && !dx_view_shows(view, dataset_id)) {
        char what[32];

        (void)snprintf(what, sizeof what, "Dataset %u", (unsigned)dataset_id);
        return dx_lookup_counts_only(what, problem);
    }
    if (*dataset == NULL)
        return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "dataset-not-found", "No such dataset",
                              "Dataset %u is not in version %s. /v1/datasets lists those that are.",
                              (unsigned)dataset_id, view->version->entry.version);
    return 1;
}
