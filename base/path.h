/* SPDX-License-Identifier: Apache-2.0
 * path.h - a path, a name or a URL made of parts, whole or not at all.
 *
 *   char path[PATH_MAX];
 *   rc = dx_path_format(path, sizeof path, &err, "%s/%s", root, object);
 *
 * DX_E_INVALID if it does not fit: the error begins with the path's beginning, and `path` is empty,
 * so that nothing is opened, written or removed under a shorter name. err may be NULL.
 */
#ifndef DX_BASE_PATH_H
#define DX_BASE_PATH_H

#include <limits.h>
#include <stddef.h>

#include "base/error.h"

int dx_path_format(char *path, size_t size, struct dx_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
