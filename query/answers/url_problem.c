/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/url_problem.h"

#include "canon/url.h"
#include "loader/version.h"
#include "query/suppression/suppression_view.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

#define SHOWN 200 /* bytes of a URL: the words behind it are to be read too */

static int shown(struct dx_span url)
{
    return url.size > SHOWN ? SHOWN : (int)url.size;
}

int dx_url_not_found(const struct dx_view *view, struct dx_span url, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "url-not-found",
                          "No dataset contains this URL",
                          "%.*s%s is in none of the %zu datasets of version %s. /v1/normalize?q= "
                          "shows the form of a URL that is looked up.",
                          shown(url), (const char *)url.data, url.size > SHOWN ? "..." : "",
                          dx_view_datasets(view), view->version->entry.version);
}

int dx_url_withheld(struct dx_span url, struct dx_problem *problem)
{
    return dx_suppressed_problem(dx_span_of(url.data, (size_t)shown(url)), problem);
}

int dx_url_may_show(const struct dx_view *view, const struct dx_url *url,
                    struct dx_problem *problem)
{
    switch (
        dx_suppressed_url(view->version, url->domain, url->scheme, url->host, url->path_query)) {
    case DX_EFFECT_WITHHELD:
        return dx_url_withheld(url->url, problem);
    case DX_EFFECT_ABSENT:
        return dx_url_not_found(view, url->url, problem);
    case DX_EFFECT_NONE:
        break;
    }
    return 1;
}
