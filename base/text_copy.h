/* SPDX-License-Identifier: Apache-2.0
 * text_copy.h - a span as a C string of its own.
 *
 *   char *text = dx_text_copy(span);     of malloc; NULL: out of memory
 *
 * Any thread.
 */
#ifndef DX_BASE_TEXT_COPY_H
#define DX_BASE_TEXT_COPY_H

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

static inline char *dx_text_copy(struct dx_span s)
{
    char *to = malloc(s.size + 1);

    if (to == NULL)
        return NULL;
    if (s.size > 0)
        memcpy(to, s.data, s.size);
    to[s.size] = '\0';
    return to;
}

#endif
