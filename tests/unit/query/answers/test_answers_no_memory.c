/* SPDX-License-Identifier: Apache-2.0
 * A version is opened and asked while memory runs out: the answer is an error, never a shorter list
 * and never "not there".
 */
#include "query/answers/answer.h"

#include "query/view/view.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/asker.h"
#include "tests/support/small_root.h"

static int said(int rc, const struct dx_problem *p, struct dx_buf *body, struct dx_error *err)
{
    dx_buf_release(body);
    if (rc == 1)
        return DX_OK;
    return dx_fail(err, rc < 0 ? (enum dx_code)rc : DX_E_CORRUPT, "%s: %s", p->slug, p->detail);
}

static int opening(void *ctx, struct dx_error *err)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    int rc = dx_caches_new(&caches, &options, err);

    if (rc == DX_OK)
        rc = dx_version_open_named(&v, ctx, NULL, caches, &options, err);
    if (v != NULL)
        dx_version_unpin(v);
    dx_caches_free(&caches);
    return rc;
}

static int domain(void *ctx, struct dx_error *err)
{
    struct asker *a = ctx;
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem p = { 0 };
    char name[64];

    dx_test_root_domain(3, name);
    return said(dx_answer_domain(DX_VIEW_ALL(a->v), a->canon, dx_span_str(name),
                                 DX_DOMAIN_FIELDS_ALL, &body, &p),
                &p, &body, err);
}

static int listing(void *ctx, struct dx_error *err)
{
    struct asker *a = ctx;
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem p = { 0 };
    char name[64];

    dx_test_root_domain(3, name);
    return said(dx_answer_urls(DX_VIEW_ALL(a->v), a->canon, dx_span_str(name), 1,
                               (struct dx_page_of){ 0, 100 }, DX_FIELDS_ALL, &body, &p),
                &p, &body, err);
}

static int single_url(void *ctx, struct dx_error *err)
{
    struct asker *a = ctx;
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem p = { 0 };
    char url[128];

    dx_test_root_url(3, 1, 0, url);
    return said(dx_answer_url(DX_VIEW_ALL(a->v), a->canon, dx_span_str(url), 10, &body, &p), &p,
                &body, err);
}

static int completion(void *ctx, struct dx_error *err)
{
    const struct dx_complete_ask ask = { dx_span_str("name"), 20 };
    struct asker *a = ctx;
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem p = { 0 };

    return said(dx_answer_complete(DX_VIEW_ALL(a->v), a->canon, &ask, &body, &p), &p, &body, err);
}

int main(void)
{
    struct dx_test_root r;
    struct asker a;
    size_t failures;

    dx_test_root_make(&r, 40, 3);
    failures = fail_alloc_each("opening", 300, opening, r.path);
    open_asker(&a, r.path);
    failures += fail_alloc_each("domain", FAIL_ALLOC_GOES_ON, domain, &a);
    failures += fail_alloc_each("listing", FAIL_ALLOC_GOES_ON | 300, listing, &a);
    failures += fail_alloc_each("single URL", FAIL_ALLOC_GOES_ON | 300, single_url, &a);
    failures += fail_alloc_each("completion", FAIL_ALLOC_GOES_ON, completion, &a);
    close_asker(&a);
    dx_test_root_remove(&r);
    return failures > 0;
}
