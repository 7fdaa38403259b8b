/* SPDX-License-Identifier: Apache-2.0
 * Seals: the bytes are those that other programs make by the words of the header, and nothing opens but
 * what was sealed, with what stands beside it.
 */
#include "fetch/seal.h"

#include "tests/support/damage.h"

static unsigned failures;
static uint8_t key[DX_SEAL_KEY]; /* 0, 1, 2, ... */

/* By `openssl dgst -mac HMAC` and `openssl enc -aes-256-ctr`. */
static const struct {
    const char *with, *plain, *sealed;
} rows[] = {
    { "with", "what nobody reads, for as long as it is sealed: 64 bytes and more",
      "ce9765b8e0330d125235c4ae745d857453cc8df0e15ed17166a4b799c51b70dd3ec04377805479355432bcdcbcfd"
      "9fddb66fd9cf7ae33dde1a74397a12825280617f7f01918cd840b59b24273231626097" },
    { "", "", "9f0cd9b94097fe4929918d2b8942b344" },
    { "a", "b", "d19c7f7e76c790a2495ef42fc92e5d2ad9" },
    { "", "ab", "69fddf74df4d919a0fe4fb95f48193274e0c" },
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
        EXPECT((dx_unseal(key, with, dx_span_of(sealed, size), back) == 0) ==
                   (i < DX_SEAL_KEY / 2 || plain.size > 0),
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
    EXPECT(dx_unseal(key, dx_span_of(long_text, 0), dx_span_of(long_text, sizeof long_text), out) ==
                   0 &&
               dx_unseal(key, dx_span_of(long_text, DX_SEAL_MAX + 1),
                         dx_span_of(long_text, DX_SEAL_EXTRA), out) == 0,
           "longer ones");
    return failures > 0;
}
