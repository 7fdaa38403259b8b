/* SPDX-License-Identifier: Apache-2.0
 * Seals: the bytes are those of another implementation of RFC 5297, and nothing opens but what was
 * sealed, with the text that stands beside it.
 */
#include "base/crypto/seal.h"

#include "tests/support/damage.h"

static unsigned failures;
static uint8_t key[DX_SEAL_KEY]; /* 0, 1, 2, ... */

/* By AESSIV of the Python package `cryptography`. */
static const struct {
    const char *with, *plain, *sealed;
} rows[] = {
    { "with", "what nobody reads, for as long as it is sealed: 64 bytes and more",
      "de0d9fa32395bbbad308d91915e71df57f19f34a5b75dcc9d1a4877d6b2f97c6d46dde957d5fc3a817f2d648283d"
      "79aaaa3b7656f48b865c2aba04a3d2132c13b73c6a4b939f4968761c466bd60102a6a1" },
    { "w", "p", "7a15763ef5f3789ed39b1e8c0e16167222" },
    { "a", "b", "17885db27c5bbc01b281a0d9742b5d6a50" },
    { "a longer text that stands beside it, over two blocks", "0123456789abcdef",
      "d0c3c1bf22cbed4a8e8825744807e291eb996d0c8226b20ebd2e0b558798aa3f" },
};

static void check_row(size_t row)
{
    struct dx_span with = dx_span_str(rows[row].with);
    struct dx_span plain = dx_span_str(rows[row].plain);
    uint8_t sealed[DX_SEAL_EXTRA + 128];
    uint8_t back[128];
    char hex[2 * sizeof sealed + 1] = "";
    size_t size = DX_SEAL_EXTRA + plain.size;

    EXPECT(dx_seal(key, with, plain, sealed), "out of memory");
    for (size_t i = 0; i < size; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", sealed[i]);
    EXPECT(strcmp(hex, rows[row].sealed) == 0, "row %zu: %s", row, hex);
    EXPECT(dx_unseal(key, with, dx_span_of(sealed, size), back) == 1 &&
               memcmp(back, plain.data, plain.size) == 0,
           "row %zu does not open", row);
    EXPECT(dx_unseal(key, dx_span_str("wit"), dx_span_of(sealed, size), back) == 0,
           "row %zu opens with something else", row);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        EXPECT(dx_unseal(key, with, dx_span_of(sealed, size), back) == 0, "row %zu, bit %zu", row,
               bit);
        sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t n = 0; n < size; n++)
        EXPECT(dx_unseal(key, with, dx_span_of(sealed, n), back) == 0, "row %zu, %zu bytes", row,
               n);
    for (size_t i = 0; i < sizeof key; i++) {
        key[i] ^= 0x80;
        EXPECT(dx_unseal(key, with, dx_span_of(sealed, size), back) == 0,
               "row %zu opens with another key", row);
        key[i] ^= 0x80;
    }
}

int main(void)
{
    static uint8_t long_text[DX_SEAL_MAX + DX_SEAL_EXTRA + 1];
    static uint8_t out[sizeof long_text];

    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(i);
    EXPECT(dx_seal(key, dx_span_of(long_text, 24), dx_span_of(long_text, DX_SEAL_MAX - 24), out) &&
               dx_unseal(key, dx_span_of(long_text, 24),
                         dx_span_of(out, DX_SEAL_MAX - 24 + DX_SEAL_EXTRA), long_text) == 1,
           "the longest");
    EXPECT(dx_unseal(key, dx_span_of(long_text, 25),
                     dx_span_of(out, DX_SEAL_MAX - 24 + DX_SEAL_EXTRA), long_text) == 0 &&
               dx_unseal(key, dx_span_of(long_text, 24), dx_span_of(out, DX_SEAL_EXTRA),
                         long_text) == 0,
           "a byte more than the longest, and nothing");
    EXPECT(dx_unseal(key, dx_span_of(long_text, 0), dx_span_of(long_text, sizeof long_text), out) ==
                   0 &&
               dx_unseal(key, dx_span_of(long_text, DX_SEAL_MAX + 1),
                         dx_span_of(long_text, DX_SEAL_EXTRA), out) == 0,
           "longer ones");
    return failures > 0;
}
