/* SPDX-License-Identifier: Apache-2.0
 * Files of a part that are each sound and of its build, and do not belong together: refused when it is opened.
 */
#include "loader/part.h"

#include "base/file.h"
#include "format/version/names.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define FILE_MAX (1u << 20)
#define TEXT_HASH 48 /* in the header of domains.mphf: the hash of all domains */

static unsigned failures;

static int open_version(const struct dx_test_root *r, struct dx_error *err)
{
    const struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    int rc = dx_caches_new(&caches, &o, err);

    if (rc == DX_OK)
        rc = dx_version_open_named(&v, r->path, NULL, caches, &o, err);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    return rc;
}

int main(void)
{
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    char path[300];

    dx_test_root_make(&r, 20, 1);
    EXPECT(open_version(&r, &err) == DX_OK, "%s", err.text);
    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_DOMAINS_MPHF, r.path, r.version);
    EXPECT(dx_file_read(path, FILE_MAX, &file, &err) >= 0 && file.size > TEXT_HASH, "%s", err.text);
    file.data[TEXT_HASH] ^= 1;
    envelope_resum(file.data, file.size);
    EXPECT(dx_file_replace(path, dx_span_of(file.data, file.size), &err) == DX_OK, "%s", err.text);
    EXPECT(open_version(&r, &err) == DX_E_CORRUPT &&
               strstr(err.text, "its hash of the domains is not that of") != NULL,
           "%s", err.text);
    dx_buf_release(&file);
    dx_test_root_remove(&r);
    return failures > 0;
}
