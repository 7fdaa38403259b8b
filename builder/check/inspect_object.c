/* SPDX-License-Identifier: Apache-2.0
 * Single objects of a remote root, by URL.
 */
#include "builder/check/inspect.h"

#include "base/hex.h"
#include "builder/root/root.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* false: it is too long, or no percent-encoding. */
static bool decode(const char *text, bool percent, char object[1025])
{
    const char *end = text + strlen(text);
    size_t n = 0;

    for (; text < end && n < 1024; text++) {
        int c = percent ? dx_hex_escape(text, end) : -1;

        if (percent && *text == '%' && c <= 0)
            return false;
        object[n++] = c < 0 ? *text : (char)c;
        text += c < 0 ? 0 : 2;
    }
    object[n] = '\0';
    return text == end;
}

int dx_inspect_split(const char *url, char **root, char object[1025], struct dx_error *err)
{
    bool s3 = strncasecmp(url, "s3://", 5) == 0;
    const char *host = strstr(url, "://");
    const char *last = strrchr(url, '/');
    char shown[DX_ROOT_SHOWN];

    *root = NULL;
    (void)dx_root_shown(url, shown);
    if (host == NULL || last < host + 3 || last == host + 3)
        return dx_fail(err, DX_E_INVALID, "%s: names no object", shown);
    if (!s3 && strpbrk(url, "?#") != NULL)
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: a URL with a query is not read", shown);
    if (!decode(last + 1, !s3, object) || !dx_object_name_valid(object))
        return dx_fail(err, DX_E_INVALID, "%s: no name of an object behind its last slash", shown);
    *root = strndup(url, (size_t)(last - url));
    return *root == NULL ? dx_no_memory(err, "inspect") : DX_OK;
}

int dx_inspect_object(const char *url, bool deep, struct dx_buf *json, struct dx_error *err)
{
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_buf bytes = DX_BUF_INIT(DX_INSPECT_OBJECT_MAX);
    char etag[DX_SOURCE_ETAG];
    char object[1025];
    struct dx_get get = { .object = object,
                          .cap = DX_INSPECT_OBJECT_MAX,
                          .deadline_ms = dx_clock_ms() + DEADLINE_MS };
    char *root;
    int rc = dx_inspect_split(url, &root, object, err);

    if (rc == DX_OK)
        rc = dx_root_open(&remote, root, DX_ROOT_READ, err);
    if (rc == DX_OK)
        rc = dx_source_get(remote.source, &get, &bytes, etag, err);
    if (rc >= 0)
        rc = dx_inspect_span(url, dx_span_of(bytes.data, bytes.size), deep, json, err);
    dx_root_close(&remote);
    dx_buf_release(&bytes);
    free(root);
    return rc;
}
