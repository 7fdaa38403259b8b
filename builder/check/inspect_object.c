/* SPDX-License-Identifier: Apache-2.0
 * Single objects of a remote root, by URL.
 */
#include "builder/check/inspect.h"

#include "builder/root/root.h"

#include <stdlib.h>
#include <string.h>

#define DEADLINE_MS (3600u * 1000u) /* of one object whose size is not known before */

bool dx_inspect_is_object(const char *url)
{
    static const char *const ends[] = { ".parquet", ".zst",  ".json", ".dat", ".mphf",
                                        ".dict",    ".roar", ".dxc",  ".dxp" };
    size_t n = strlen(url);

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t m = strlen(ends[i]);

        if (n > m && strcmp(url + n - m, ends[i]) == 0 && url[n - m - 1] != '/')
            return true;
    }
    return false;
}

int dx_inspect_object(const char *url, bool deep, struct dx_buf *json, struct dx_error *err)
{
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_buf bytes = DX_BUF_INIT(DX_INSPECT_OBJECT_MAX);
    char etag[DX_SOURCE_ETAG];
    struct dx_get get = { .cap = DX_INSPECT_OBJECT_MAX,
                          .deadline_ms = dx_clock_ms() + DEADLINE_MS };
    char *root;
    char *object;
    int rc = dx_root_split(url, &root, &object, err);

    if (rc == DX_OK)
        rc = dx_root_open(&remote, root, DX_ROOT_READ, err);
    get.object = object;
    if (rc == DX_OK)
        rc = dx_source_get(remote.source, &get, &bytes, etag, err);
    if (rc >= 0)
        rc = dx_inspect_span(url, dx_span_of(bytes.data, bytes.size), deep, json, err);
    dx_root_close(&remote);
    dx_buf_release(&bytes);
    free(root);
    free(object);
    return rc;
}
