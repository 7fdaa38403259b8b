/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <stdarg.h>
#include <stdio.h>

#define SHOWN 200 /* bytes of a path that does not fit */

int dx_path_format(char *path, size_t size, struct dx_error *err, const char *fmt, ...)
{
    char shown[SHOWN + 1];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(path, size, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < size)
        return DX_OK;
    path[0] = '\0';
    va_start(ap, fmt);
    (void)vsnprintf(shown, sizeof shown, fmt, ap);
    va_end(ap);
    return dx_fail(err, DX_E_INVALID, "%s%s: path too long (%d bytes, %zu fit)", shown,
                   n > SHOWN ? "..." : "", n, size - 1);
}
