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

/* The parts of s between `from`, last one first, joined by `to`. */
static void turn(struct dx_span s, uint8_t from, uint8_t to, uint8_t *out)
{
    size_t end = s.size;
    size_t n = 0;

    for (;;) {
        const uint8_t *last = memrchr(s.data, from, end);
        size_t begin = last == NULL ? 0 : (size_t)(last + 1 - s.data);

        memcpy(out + n, s.data + begin, end - begin);
        n += end - begin;
        if (begin == 0)
            return;
        out[n++] = to;
        end = begin - 1;
    }
}

size_t dx_surt_key(struct dx_span domain, uint8_t out[DX_SURT_MAX])
{
    if (domain.size == 0 || domain.size > DX_DOMAIN_MAX || memchr(domain.data, ' ', domain.size))
        return 0;
    if (is_ip_literal(domain))
        memcpy(out, domain.data, domain.size);
    else
        turn(domain, '.', ' ', out);
    return domain.size;
}

size_t dx_surt_domain(struct dx_span key, uint8_t out[DX_SURT_MAX])
{
    struct dx_span domain;

    if (key.size == 0 || key.size > DX_DOMAIN_MAX)
        return 0;
    domain = dx_span_of(out, key.size);
    if (is_ip_literal(key) && memchr(key.data, ' ', key.size) == NULL) {
        memcpy(out, key.data, key.size);
        return key.size;
    }
    if (memchr(key.data, '.', key.size) != NULL)
        return 0;
    turn(key, ' ', '.', out);
    return is_ip_literal(domain) ? 0 : key.size;
}
