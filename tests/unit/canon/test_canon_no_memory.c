/* SPDX-License-Identifier: Apache-2.0
 * A suffix list is read and URLs are canonicalised while memory runs out. */
#include "canon/row_form.h"

#include "canon/psl.h"
#include "canon/url.h"
#include "tests/runner/fail_alloc.h"

static int urls(void *ctx, struct dx_error *err)
{
    static const char *const raw[] = { "HTTP://WWW.Example.ORG:80/%7ea/./b?b=1&a=2#c",
                                       "https://m\xC3\xBCnchen.example.org/\xC3\xA9",
                                       "https://[::1]:8080/" };
    struct dx_row_form *form = NULL;
    struct dx_canon *canon = NULL;
    struct dx_psl *psl = NULL;
    int rc = dx_psl_new(&psl, dx_span_str("org\nco.uk\n"), err);

    (void)ctx;
    if (rc == DX_OK)
        rc = dx_canon_new(&canon, psl, err);
    if (rc == DX_OK)
        rc = dx_row_form_new(&form, psl, err);
    for (unsigned i = 0; rc >= 0 && i < sizeof raw / sizeof *raw; i++) {
        enum dx_reject why = DX_REJECT_NONE;
        struct dx_url url;

        rc = dx_canon_url(canon, dx_span_str(raw[i]), &url, &why);
        if (rc == 0)
            rc = dx_fail(err, DX_E_INVALID, "%s: rejected", raw[i]);
    }
    dx_row_form_free(&form);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
    return rc;
}

int main(void)
{
    return fail_alloc_each("URLs", 0, urls, NULL) > 0;
}
