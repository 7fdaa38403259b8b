/* SPDX-License-Identifier: Apache-2.0
 * The texts of a version are parsed, copied and written while memory runs out. */
#include "format/version/manifest.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "format/version/pair_tally.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

static int manifest(void *ctx, struct dx_error *err)
{
    const struct dx_buf *text = ctx;
    struct dx_buf again = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest_version *v = NULL;
    char name[DX_VERSION_NAME];
    int rc = dx_manifest_parse(dx_span_of(text->data, text->size), "manifest", &m, err);

    if (rc == DX_OK && !dx_version_name_make(m.sequence + 1, m.versions[0].published_us, name))
        abort();
    if (rc == DX_OK)
        rc = dx_manifest_add(&m, name, &v, err);
    if (rc == DX_OK) {
        struct dx_manifest_version blank = *v;

        rc = dx_manifest_version_copy(&m.versions[0], v, err);
        if (rc == DX_OK) {
            memcpy(v->version, blank.version, sizeof v->version);
            v->sequence = blank.sequence;
        }
    }
    if (rc == DX_OK)
        rc = dx_manifest_flip(&m, name, m.sequence + 1, m.versions[0].published_us, err);
    if (rc == DX_OK)
        rc = dx_manifest_write(&m, &again, err);
    dx_manifest_release(&m);
    dx_buf_release(&again);
    return rc;
}

static int tally(void *ctx, struct dx_error *err)
{
    struct dx_buf facts = DX_BUF_INIT(1 << 20);
    struct dx_buf sketch = DX_BUF_INIT(1 << 20);
    struct dx_pair_tally *t = NULL;
    int rc = dx_pair_tally_new(&t, err);
    char path[32];

    (void)ctx;
    if (rc == DX_OK)
        dx_pair_tally_begin(t, dx_span_str("a.org"));
    for (unsigned i = 0; rc == DX_OK && i < 5000; i++) {
        (void)snprintf(path, sizeof path, "/%04u/x", i);
        rc = dx_pair_tally_row(t, dx_span_str("https"), dx_span_str("www.a.org"), dx_span_str(path),
                               true, err);
    }
    if (rc == DX_OK)
        rc = dx_pair_tally_end(t, &facts, &sketch, err);
    dx_pair_tally_free(&t);
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
    return rc;
}

int main(void)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    size_t failures;
    char path[200];

    dx_test_root_make(&r, 20, 2);
    (void)snprintf(path, sizeof path, "%s/" DX_MANIFEST_FILE, r.path);
    if (dx_file_read(path, DX_MANIFEST_MAX, &text, &err) < 0)
        abort();
    failures = fail_alloc_each("manifest", 400, manifest, &text);
    failures += fail_alloc_each("tally", 200, tally, NULL);
    dx_buf_release(&text);
    dx_test_root_remove(&r);
    return failures > 0;
}
