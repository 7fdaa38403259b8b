/* SPDX-License-Identifier: Apache-2.0 */
#include "base/csv_out.h"

#include "base/put.h"

static bool is_plain(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] == '"' || s.data[i] == ',' || s.data[i] == '\r' || s.data[i] == '\n')
            return false;
    return true;
}

void dx_csv_text(struct dx_buf *b, struct dx_span s)
{
    if (is_plain(s)) {
        dx_buf_append(b, s.data, s.size);
        return;
    }
    dx_buf_u8(b, '"');
    while (s.size > 0) {
        const uint8_t *quote = memchr(s.data, '"', s.size);
        size_t n = quote == NULL ? s.size : (size_t)(quote - s.data) + 1;

        dx_buf_append(b, s.data, n);
        if (quote != NULL)
            dx_buf_u8(b, '"');
        s = dx_span_from(s, n);
    }
    dx_buf_u8(b, '"');
}

void dx_csv_u64(struct dx_buf *b, uint64_t v)
{
    uint8_t *to = dx_buf_reserve(b, DX_PUT_U64_MAX);

    if (to != NULL)
        b->size += (size_t)(dx_put_u64(to, v) - to);
}
