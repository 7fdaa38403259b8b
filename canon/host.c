/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/host.h"

#include "base/hex.h"
#include "canon/idna.h"
#include "canon/ip_literal.h"

enum { DECODED_MAX = 8192 };

/* What an ASCII byte of a name becomes; 0: forbidden in a domain, 1: '%' or not ASCII. The
 * forbidden ones are C0 controls, space, DEL and # / : < > ? @ [ \ ] ^ | and, once decoded, %. */
enum { FORBIDDEN = 0, SLOW = 1 };
/* clang-format off */
static const uint8_t name_byte[256] = {
    ['!'] = '!', ['"'] = '"', ['$'] = '$', ['%'] = SLOW, ['&'] = '&', ['\''] = '\'', ['('] = '(',
    [')'] = ')', ['*'] = '*', ['+'] = '+', [','] = ',', ['-'] = '-', ['.'] = '.', [';'] = ';',
    ['='] = '=', ['_'] = '_', ['`'] = '`', ['{'] = '{', ['}'] = '}', ['~'] = '~',
    ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6',
    ['7'] = '7', ['8'] = '8', ['9'] = '9',
    ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f', ['G'] = 'g',
    ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n',
    ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r', ['S'] = 's', ['T'] = 't', ['U'] = 'u',
    ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z',
    ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['g'] = 'g',
    ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm', ['n'] = 'n',
    ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't', ['u'] = 'u',
    ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z',
    [0x80 ... 0xff] = SLOW,
};
/* clang-format on */

/* out may be raw.data. Stops at the first byte that is not plain; returns how many were. */
static size_t lower_name(struct dx_span raw, uint8_t *out)
{
    size_t i = 0;

    while (i < raw.size && name_byte[raw.data[i]] > SLOW) {
        out[i] = name_byte[raw.data[i]];
        i++;
    }
    return i;
}

static size_t percent_decode(struct dx_span raw, uint8_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < raw.size; i++) {
        int c = dx_hex_escape(raw.data + i, raw.data + raw.size);

        out[n++] = c < 0 ? raw.data[i] : (uint8_t)c;
        i += c < 0 ? 0 : 2;
    }
    return n;
}

static bool is_ascii(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] >= 0x80)
            return false;
    return true;
}

/* A name with percent-encoded or non-ASCII bytes. Apart, because of its large buffer. */
static __attribute__((noinline)) int slow_name(struct dx_span raw, uint8_t *out, size_t room,
                                               size_t *size, enum dx_reject *why)
{
    uint8_t decoded[DECODED_MAX];
    struct dx_span name = { decoded, 0 };

    if (raw.size > sizeof decoded) {
        *why = DX_REJECT_TOO_LONG;
        return 0;
    }
    name.size = percent_decode(raw, decoded);
    if (is_ascii(name)) {
        memcpy(out, name.data, name.size); /* decoding never lengthens: room >= raw.size */
        *size = name.size;
    } else if (!dx_idna_to_ascii(name, out, room, size, why)) {
        return 0;
    }
    name = (struct dx_span){ out, *size };
    *why = DX_REJECT_HOST_INVALID;
    return name.size > 0 && lower_name(name, out) == name.size;
}

static int parse_ipv6(struct dx_span raw, uint8_t *out, struct dx_host *host)
{
    uint16_t address[8];
    size_t size;

    if (raw.size < 3 || raw.data[raw.size - 1] != ']' ||
        !dx_ipv6_parse((struct dx_span){ raw.data + 1, raw.size - 2 }, address))
        return 0;
    out[0] = '[';
    size = 1 + dx_ipv6_text(address, out + 1);
    out[size++] = ']';
    *host = (struct dx_host){ { out, size }, DX_HOST_IPV6 };
    return 1;
}

int dx_host_parse(struct dx_span raw, uint8_t *out, size_t room, struct dx_host *host,
                  enum dx_reject *why)
{
    uint32_t address;
    size_t size;

    *why = DX_REJECT_HOST_MISSING;
    if (raw.size == 0)
        return 0;
    *why = DX_REJECT_TOO_LONG;
    if (room < DX_IPV6_TEXT + 2 || raw.size > room)
        return 0;
    *why = DX_REJECT_HOST_INVALID;
    if (raw.data[0] == '[')
        return parse_ipv6(raw, out, host);
    size = lower_name(raw, out);
    /* A forbidden byte is slow too: "<" and a combining U+0338 are the one letter U+226E. */
    if (size < raw.size && !slow_name(raw, out, room, &size, why))
        return 0;
    *host = (struct dx_host){ { out, size }, DX_HOST_NAME };
    if (!dx_ipv4_meant(host->text))
        return 1;
    *why = DX_REJECT_HOST_INVALID;
    if (!dx_ipv4_parse(host->text, &address))
        return 0;
    *host = (struct dx_host){ { out, dx_ipv4_text(address, out) }, DX_HOST_IPV4 };
    return 1;
}

/* ---- plain names ---- */

static const bool plain_byte[256] = {
    ['a' ... 'z'] = true,
    ['0' ... '9'] = true,
    ['-'] = true,
    ['.'] = true,
};

size_t dx_host_plain_size(struct dx_span text)
{
    size_t n = 0;

    while (n < text.size && plain_byte[text.data[n]])
        n++;
    return n;
}

bool dx_host_is_plain(struct dx_span host)
{
    bool plain = true;

    for (size_t i = 0; i < host.size; i++)
        plain &= plain_byte[host.data[i]];
    return plain && host.size > 0 && !dx_ipv4_meant(host);
}
