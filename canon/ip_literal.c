/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/ip_literal.h"

#include "base/hex.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* The IPv4 number parser: decimal, 0octal, 0xhex; "0x" is 0. Stops growing at 2^40. */
static bool parse_number(struct dx_span s, uint64_t *value)
{
    unsigned radix = 10;
    size_t at = 0;

    *value = 0;
    if (s.size == 0)
        return false;
    if (s.size >= 2 && s.data[0] == '0' && (s.data[1] | 0x20) == 'x') {
        radix = 16;
        at = 2;
    } else if (s.size >= 2 && s.data[0] == '0') {
        radix = 8;
        at = 1;
    }
    for (; at < s.size; at++) {
        unsigned digit = (unsigned)dx_hex_digit(s.data[at]); /* none: UINT_MAX */

        if (digit >= radix)
            return false;
        if (*value < (uint64_t)1 << 40)
            *value = *value * radix + digit;
    }
    return true;
}

static struct dx_span without_last_dot(struct dx_span host)
{
    if (host.size > 0 && host.data[host.size - 1] == '.')
        host.size--;
    return host;
}

bool dx_ipv4_meant(struct dx_span host)
{
    struct dx_span s = without_last_dot(host);
    struct dx_span last;
    size_t begin = s.size;
    uint64_t value;
    size_t digits = 0;

    while (begin > 0 && s.data[begin - 1] != '.')
        begin--;
    last = dx_span_from(s, begin);
    if (last.size == 0 || !is_digit(last.data[0]))
        return false;
    while (digits < last.size && is_digit(last.data[digits]))
        digits++;
    return digits == last.size || parse_number(last, &value);
}

bool dx_ipv4_parse(struct dx_span host, uint32_t *address)
{
    struct dx_span s = without_last_dot(host);
    uint64_t sum = 0;
    uint64_t value;
    unsigned count = 0;
    size_t begin = 0;

    for (size_t i = 0; i <= s.size; i++) {
        if (i < s.size && s.data[i] != '.')
            continue;
        if (count == 4 || !parse_number((struct dx_span){ s.data + begin, i - begin }, &value))
            return false;
        begin = i + 1;
        if (i == s.size)
            break;
        if (value > 255)
            return false;
        sum |= value << (24 - 8 * count);
        count++;
    }
    if (count > 3 || value >= (uint64_t)1 << (32 - 8 * count))
        return false;
    *address = (uint32_t)(sum | value);
    return true;
}

static size_t put_decimal(uint8_t *out, unsigned v)
{
    size_t n = 0;

    if (v >= 100)
        out[n++] = (uint8_t)('0' + v / 100);
    if (v >= 10)
        out[n++] = (uint8_t)('0' + v / 10 % 10);
    out[n++] = (uint8_t)('0' + v % 10);
    return n;
}

size_t dx_ipv4_text(uint32_t address, uint8_t out[DX_IPV4_TEXT])
{
    size_t n = 0;

    for (int shift = 24; shift >= 0; shift -= 8) {
        n += put_decimal(out + n, address >> shift & 255);
        if (shift > 0)
            out[n++] = '.';
    }
    return n;
}

/* The dotted end of an IPv6 address: four decimal numbers, no leading zeros, nothing after. */
static bool parse_dotted_end(struct dx_span s, uint16_t pieces[2])
{
    unsigned number[4];
    size_t at = 0;

    for (int i = 0; i < 4; i++) {
        unsigned v = 0;
        size_t begin = at;

        while (at < s.size && is_digit(s.data[at]) && at - begin < 3)
            v = v * 10 + (s.data[at++] - '0');
        if (at == begin || v > 255 || (at - begin > 1 && s.data[begin] == '0'))
            return false;
        number[i] = v;
        if (i < 3 && (at == s.size || s.data[at++] != '.'))
            return false;
    }
    pieces[0] = (uint16_t)(number[0] << 8 | number[1]);
    pieces[1] = (uint16_t)(number[2] << 8 | number[3]);
    return at == s.size;
}

bool dx_ipv6_parse(struct dx_span s, uint16_t address[8])
{
    size_t count = 0;
    size_t gap = 0; /* pieces up to and with the first zero of "::", which is one at least */
    size_t at = 0;
    bool gap_seen = false;

    memset(address, 0, 8 * sizeof *address);
    if (s.size >= 1 && s.data[0] == ':') {
        if (s.size < 2 || s.data[1] != ':')
            return false;
        at = 2;
        gap = ++count;
        gap_seen = true;
    }
    while (at < s.size) {
        unsigned value = 0;
        size_t begin = at;

        if (count == 8)
            return false;
        if (s.data[at] == ':') {
            if (gap_seen)
                return false;
            gap = ++count;
            gap_seen = true;
            at++;
            continue;
        }
        while (at < s.size && at - begin < 4 && dx_hex_digit(s.data[at]) >= 0)
            value = value << 4 | (unsigned)dx_hex_digit(s.data[at++]);
        if (at < s.size && s.data[at] == '.') {
            if (at == begin || count > 6 ||
                !parse_dotted_end(dx_span_from(s, begin), address + count))
                return false;
            count += 2;
            break;
        }
        address[count++] = (uint16_t)value;
        if (at == s.size)
            break;
        if (s.data[at++] != ':' || at == s.size)
            return false;
    }
    if (!gap_seen)
        return count == 8;
    /* What stands behind "::" belongs at the end; with eight pieces it is there already. */
    for (size_t i = 0; count < 8 && i < count - gap; i++) {
        address[7 - i] = address[count - 1 - i];
        address[count - 1 - i] = 0;
    }
    return true;
}

size_t dx_ipv6_text(const uint16_t address[8], uint8_t out[DX_IPV6_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    size_t best = 8;
    size_t best_size = 1; /* a single zero is not shortened */
    size_t n = 0;

    for (size_t i = 0; i < 8; i++) {
        size_t run = 0;

        while (i + run < 8 && address[i + run] == 0)
            run++;
        if (run > best_size) {
            best = i;
            best_size = run;
        }
    }
    for (size_t i = 0; i < 8; i++) {
        bool started = false;

        if (i == best) {
            out[n++] = ':';
            if (i == 0)
                out[n++] = ':';
            i += best_size - 1;
            continue;
        }
        for (int shift = 12; shift >= 0; shift -= 4) {
            unsigned digit = address[i] >> shift & 15;

            started = started || digit != 0 || shift == 0;
            if (started)
                out[n++] = (uint8_t)digits[digit];
        }
        if (i < 7)
            out[n++] = ':';
    }
    return n;
}
