/* SPDX-License-Identifier: Apache-2.0
 * verdict_url.c - "ok URL DOMAIN", or "no REASON": a canonical URL has no blanks.
 */
#include "tests/differential/verdict.h"

#include <stdio.h>

#include "base/file.h"
#include "canon/url.h"

#define LIST_MAX ((size_t)64 << 20)

static struct dx_canon *canon;

bool dx_verdict_suffixes(const char *path)
{
    struct dx_buf text = DX_BUF_INIT(LIST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    static struct dx_psl *psl; /* as long as canon */
    int rc = dx_file_read(path, LIST_MAX, &text, &err);

    if (rc == DX_OK)
        rc = dx_psl_new(&psl, dx_span_of(text.data, text.size), &err);
    if (rc == DX_OK)
        rc = dx_canon_new(&canon, psl, &err);
    if (rc < 0)
        (void)fprintf(stderr, "verdicts: %s\n", err.text);
    dx_buf_release(&text);
    return rc == DX_OK;
}

void dx_verdict_url(struct dx_span input, struct dx_buf *out)
{
    struct dx_url url;
    enum dx_reject why;

    if (dx_canon_url(canon, input, &url, &why) != 1) {
        dx_buf_fmt(out, "no %s", dx_reject_name(why));
        return;
    }
    dx_buf_str(out, "ok ");
    dx_buf_append(out, url.url.data, url.url.size);
    dx_buf_str(out, " ");
    dx_buf_append(out, url.domain.data, url.domain.size);
}
