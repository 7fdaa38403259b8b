/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/locator_name.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "builder/root/root.h"
#include "fetch/source.h"

static bool is_part(const char *at, size_t n, const char *part)
{
    return n == strlen(part) && memcmp(at, part, n) == 0;
}

/* Without empty parts and "."; false: it has a "..", or is too long. */
static bool clean_path(const char *path, char name[DX_LOCATOR_NAME_MAX + 1])
{
    size_t size = 0;

    if (strlen(path) > DX_LOCATOR_NAME_MAX)
        return false;
    if (path[0] == '/')
        name[size++] = '/';
    while (*path != '\0') {
        size_t n = strcspn(path, "/");

        if (is_part(path, n, ".."))
            return false;
        if (n > 0 && !is_part(path, n, ".")) {
            if (size > 0 && name[size - 1] != '/')
                name[size++] = '/';
            memcpy(name + size, path, n);
            size += n;
        }
        path += n;
        path += *path == '/';
    }
    name[size] = '\0';
    return true;
}

size_t dx_locator_name(const char *input, char name[DX_LOCATOR_NAME_MAX + 1])
{
    char shown[DX_ROOT_SHOWN];
    char real[PATH_MAX];
    bool ok;

    if (dx_source_remote(input)) {
        (void)dx_root_shown(input, shown);
        ok = strlen(shown) <= DX_LOCATOR_NAME_MAX;
        if (ok)
            memcpy(name, shown, strlen(shown) + 1);
    } else if (strcmp(input, "-") == 0) {
        ok = false;
    } else {
        ok = clean_path(input, name) || (realpath(input, real) != NULL && clean_path(real, name));
    }
    return ok && dx_locator_name_valid(dx_span_str(name)) ? strlen(name) : 0;
}
