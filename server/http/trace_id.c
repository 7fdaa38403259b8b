/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/trace_id.h"

#include <string.h>

/* "00-" 32 hex "-" 16 hex "-" 2 hex; later versions may have more behind another "-". */
enum { VERSION_AT = 0, TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, SIZE = 55 };

static bool is_hex(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f')))
            return false;
    return true;
}

static bool is_zero(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i] != '0')
            return false;
    return true;
}

bool dx_trace_id(struct dx_span value, char trace[DX_TRACE_TEXT])
{
    const uint8_t *p = value.data;

    trace[0] = '\0';
    if (value.size < SIZE || !is_hex(p + VERSION_AT, 2) || !is_hex(p + TRACE_AT, 32) ||
        !is_hex(p + PARENT_AT, 16) || !is_hex(p + FLAGS_AT, 2) || p[TRACE_AT - 1] != '-' ||
        p[PARENT_AT - 1] != '-' || p[FLAGS_AT - 1] != '-' || memcmp(p, "ff", 2) == 0 ||
        is_zero(p + TRACE_AT, 32) || is_zero(p + PARENT_AT, 16))
        return false;
    if (value.size > SIZE && (memcmp(p, "00", 2) == 0 || p[SIZE] != '-'))
        return false;
    memcpy(trace, p + TRACE_AT, DX_TRACE_TEXT - 1);
    trace[DX_TRACE_TEXT - 1] = '\0';
    return true;
}
