/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/surt.h"

#include <string.h>

static bool is_ip_literal(struct dx_span s)
{
    size_t i = s.size;

    if (s.data[0] == '[')
        return true;
    while (i > 0 && s.data[i - 1] >= '0' && s.data[i - 1] <= '9')
        i--;
    return i < s.size && (i == 0 || s.data[i - 1] == '.');
}

/* Labels are short: for them a call of memcpy is most of the work. */
static void copy_label(uint8_t *out, const uint8_t *from, size_t n)
{
    for (; n >= 8; n -= 8, out += 8, from += 8)
        dx_store_u64(out, dx_load_u64(from));
    for (size_t i = 0; i < n; i++)
        out[i] = from[i];
}

/* The parts of s between `from`, last one first, joined by `to`; false: s has a `to`. */
static bool turn(struct dx_span s, uint8_t from, uint8_t to, uint8_t *out)
{
    size_t end = s.size;

    for (size_t i = s.size; i-- > 0;) {
        if (s.data[i] == to)
            return false;
        if (s.data[i] != from)
            continue;
        copy_label(out, s.data + i + 1, end - i - 1);
        out += end - i - 1;
        *out++ = to;
        end = i;
    }
    copy_label(out, s.data, end);
    return true;
}

size_t dx_surt_key(struct dx_span domain, uint8_t out[DX_SURT_MAX])
{
    if (domain.size == 0 || domain.size > DX_DOMAIN_MAX)
        return 0;
    if (!is_ip_literal(domain))
        return turn(domain, '.', ' ', out) ? domain.size : 0;
    if (memchr(domain.data, ' ', domain.size) != NULL)
        return 0;
    memcpy(out, domain.data, domain.size);
    return domain.size;
}

size_t dx_surt_domain(struct dx_span key, uint8_t out[DX_SURT_MAX])
{
    if (key.size == 0 || key.size > DX_DOMAIN_MAX)
        return 0;
    if (is_ip_literal(key) && memchr(key.data, ' ', key.size) == NULL) {
        memcpy(out, key.data, key.size);
        return key.size;
    }
    return turn(key, ' ', '.', out) && !is_ip_literal(dx_span_of(out, key.size)) ? key.size : 0;
}
