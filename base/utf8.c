/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdio.h>

#define ESCAPED 4 /* \xNN */
#define HIGH_BITS 0x8080808080808080u

size_t dx_utf8_size(const uint8_t *p, size_t left)
{
    uint8_t c = p[0];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    if (n == 1)
        return 1;
    if (c < 0xc2 || c > 0xf4 || n > left || (p[1] & 0xc0) != 0x80 || (c == 0xe0 && p[1] < 0xa0) ||
        (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f))
        return 0;
    for (size_t k = 2; k < n; k++)
        if ((p[k] & 0xc0) != 0x80)
            return 0;
    return n;
}

bool dx_utf8_is_valid(struct dx_span s)
{
    size_t i = 0;

    /* Nearly all that comes here is ASCII: words, of which the last two may overlap. */
    while (s.size - i >= 8 && (dx_load_u64(s.data + i) & HIGH_BITS) == 0)
        i += 8;
    if (s.size >= 8 && s.size - i < 8 && (dx_load_u64(s.data + s.size - 8) & HIGH_BITS) == 0)
        return true;
    while (i < s.size) {
        size_t n;

        while (s.size - i >= 8 && (dx_load_u64(s.data + i) & HIGH_BITS) == 0)
            i += 8;
        if (i == s.size)
            break;
        n = dx_utf8_size(s.data + i, s.size - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

size_t dx_utf8_write(uint8_t *out, uint32_t code)
{
    static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (uint8_t)(0x80 | (code & 0x3f));
    out[0] = (uint8_t)(lead[n] | code);
    return n;
}

size_t dx_utf8_printable_size(const uint8_t *p, size_t left)
{
    size_t n = dx_utf8_size(p, left);

    if (p[0] < 0x20 || p[0] == 0x7f || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0))
        return 0;
    return n;
}

void dx_utf8_copy_printable(char *out, size_t room, const char *text, size_t size)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t to = 0;

    for (size_t at = 0; at < size;) {
        size_t n = dx_utf8_printable_size(p + at, size - at);

        if (to + (n > 0 ? n : ESCAPED) >= room)
            break;
        if (n > 0)
            memcpy(out + to, p + at, n);
        else
            (void)snprintf(out + to, ESCAPED + 1, "\\x%02x", p[at]);
        to += n > 0 ? n : ESCAPED;
        at += n > 0 ? n : 1;
    }
    out[to] = '\0';
}
