/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/located/located_path.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "builder/root/root.h"
#include "fetch/source.h"
#include "format/text/locator.h"

#define PATH_BYTES_MAX ((size_t)4 * PATH_MAX)

static bool is_http(const char *base)
{
    return strncasecmp(base, "s3://", 5) != 0;
}

/* Parts between slashes that each name something. Of an address neither an escape that might be a
 * dot or a slash, nor what ends its path. */
static bool parts_valid(struct dx_span s, bool in_address)
{
    size_t begin = 0;

    if (in_address)
        for (size_t i = 0; i < s.size; i++)
            if (s.data[i] == '\\' || s.data[i] == '?' || s.data[i] == '#' ||
                (s.data[i] == '%' && i + 1 < s.size && strchr("2fF5", s.data[i + 1]) != NULL &&
                 i + 2 < s.size && strchr("eEfFcC", s.data[i + 2]) != NULL))
                return false;
    for (size_t i = 0; i <= s.size; i++) {
        if (i < s.size && s.data[i] != '/')
            continue;
        if (i == begin || (i - begin <= 2 && memcmp(s.data + begin, "..", i - begin) == 0))
            return false;
        begin = i + 1;
    }
    return true;
}

/* What of the name lies behind the base's text; false: it does not begin with it. */
static bool behind(struct dx_span name, const char *base, struct dx_span *rest)
{
    size_t n = strlen(base);

    while (n > 0 && base[n - 1] == '/')
        n--;
    if (name.size <= n + 1 || memcmp(name.data, base, n) != 0 || name.data[n] != '/')
        return false;
    *rest = dx_span_of(name.data + n + 1, name.size - n - 1);
    return true;
}

static int refuse(struct dx_span name, const char *base, const char *why, struct dx_error *err)
{
    char shown[DX_ROOT_SHOWN];

    return dx_fail(err, DX_E_INVALID, "the locator's file '%.*s' %s --base %s", (int)name.size,
                   (const char *)name.data, why, dx_root_shown(base, shown));
}

static void put_encoded(struct dx_buf *b, struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (isascii(s.data[i]) && (isalnum(s.data[i]) || strchr("-._~/", s.data[i]) != NULL))
            dx_buf_u8(b, s.data[i]);
        else
            dx_buf_fmt(b, "%%%02X", s.data[i]);
}

/* Links resolved, both of them: the file lies in the folder. */
static int check_links(const char *base, const char *path, struct dx_span name,
                       struct dx_error *err)
{
    char real_base[PATH_MAX];
    char real_path[PATH_MAX];
    struct dx_span rest;
    struct stat st;

    if (realpath(base, real_base) == NULL)
        return dx_fail_errno(err, errno, "--base %s", base);
    if (realpath(path, real_path) == NULL)
        return dx_fail_errno(err, errno, "%s: cannot find the locator's file; --base says where",
                             path);
    if (!behind(dx_span_str(real_path), real_base, &rest))
        return refuse(name, base, "does not lie, links followed, below", err);
    if (stat(real_path, &st) == 0 && !S_ISREG(st.st_mode))
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: not a regular file", path);
    return DX_OK;
}

int dx_located_path(const char *base, struct dx_span name, char **path, struct dx_error *err)
{
    struct dx_buf b = DX_BUF_INIT(PATH_BYTES_MAX);
    bool in_address = dx_source_remote(base);
    struct dx_span rest = name;
    char shown[DX_ROOT_SHOWN];
    char text[DX_LOCATOR_NAME_MAX + 1];
    bool is_whole;
    int rc = DX_OK;

    *path = NULL;
    if (!dx_locator_name_valid(name))
        return dx_fail(err, DX_E_INVALID, "a locator's file has no usable name");
    (void)snprintf(text, sizeof text, "%.*s", (int)name.size, (const char *)name.data);
    is_whole = text[0] == '/' || dx_source_remote(text);
    if (in_address ? is_whole && !behind(name, dx_root_shown(base, shown), &rest)
                   : dx_source_remote(text))
        return refuse(name, base, "does not lie below", err);
    if (!in_address && is_whole)
        rest = dx_span_of(name.data + 1, name.size - 1); /* links are followed in any case */
    if (!parts_valid(rest, in_address))
        return refuse(name, base, "has parts such as '..', so it may lead out of", err);
    if (in_address || !is_whole)
        dx_buf_str(&b, base);
    if (b.size == 0 || b.data[b.size - 1] != '/')
        dx_buf_u8(&b, '/');
    if (in_address && is_http(base) && !is_whole)
        put_encoded(&b, rest);
    else
        dx_buf_append(&b, rest.data, rest.size);
    dx_buf_u8(&b, 0);
    if (b.failed)
        rc = dx_buf_fail(&b, err, "path of a locator");
    if (rc == DX_OK && !in_address)
        rc = check_links(base, (const char *)b.data, name, err);
    if (rc == DX_OK && (*path = strdup((const char *)b.data)) == NULL)
        rc = dx_no_memory(err, "locator");
    dx_buf_release(&b);
    return rc;
}
