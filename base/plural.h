/* SPDX-License-Identifier: Apache-2.0
 * plural.h - "1 file", "2 files".
 *
 *   dx_line_print(to, "%zu file%s", n, dx_plural(n));
 */
#ifndef DX_BASE_PLURAL_H
#define DX_BASE_PLURAL_H

#include <stdint.h>

static inline const char *dx_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

#endif
