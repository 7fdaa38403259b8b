/* SPDX-License-Identifier: Apache-2.0
 * Numbers as text, against the C library, at every change of length and at random.
 */
#include "base/put.h"
#include "tests/support/damage.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>

static unsigned failures;

static void check(uint64_t v)
{
    uint8_t got[DX_PUT_U64_MAX + 1] = { 0 };
    char want[32];
    size_t n = (size_t)(dx_put_u64(got, v) - got);

    (void)snprintf(want, sizeof want, "%" PRIu64, v);
    EXPECT(n == strlen(want) && memcmp(got, want, n) == 0, "%s: '%s'", want, (const char *)got);
    EXPECT(got[n] == 0, "%s: a byte behind it was written", want);
    n = (size_t)(dx_put_hex64(got, v) - got);
    (void)snprintf(want, sizeof want, "%016" PRIx64, v);
    EXPECT(n == DX_PUT_HEX64_SIZE && memcmp(got, want, n) == 0, "%s: '%.16s'", want,
           (const char *)got);
}

/* A locale of the program that libdomaindex works in changes nothing. */
static void check_real(void)
{
    static const struct {
        double v;
        int digits;
        const char *text;
    } rows[] = { { 0.1, 6, "0.1" },
                 { 1e300, 6, "1e+300" },
                 { -0.016253, 4, "-0.01625" },
                 { -1.5e-300, 16, "-1.5e-300" } };
    static const char *const locales[] = { "C", "de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8" };

    for (size_t l = 0; l < sizeof locales / sizeof *locales; l++) {
        bool there = setlocale(LC_ALL, locales[l]) != NULL;

        for (size_t i = 0; there && i < sizeof rows / sizeof *rows; i++) {
            char text[DX_PUT_REAL_MAX];
            char *end;

            *dx_put_real((uint8_t *)text, rows[i].digits, rows[i].v) = '\0';
            EXPECT(strcmp(text, rows[i].text) == 0, "%s: '%s', not '%s'", locales[l], text,
                   rows[i].text);
            EXPECT(fabs(dx_real_read("0.25,", &end) - 0.25) < 1e-9 && *end == ',' &&
                       dx_real_read_float("0.25") == 0.25f,
                   "%s: read", locales[l]);
        }
    }
    (void)setlocale(LC_ALL, "C");
}

int main(void)
{
    uint64_t random = 88172645463325252u;
    uint8_t text[64];
    uint8_t *end;

    for (uint64_t v = 0; v < 20000; v++)
        check(v);
    for (uint64_t v = 1;; v *= 10) {
        check(v - 1);
        check(v);
        check(v + 1);
        if (v > UINT64_MAX / 10)
            break;
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        check(UINT64_C(1) << bit);
        check((UINT64_C(1) << bit) - 1);
    }
    check(UINT64_MAX);
    for (unsigned i = 0; i < 200000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        check(random >> i % 64);
    }
    end = dx_put_span(DX_PUT(text, "a\":"), dx_span_of("xyz", 3));
    end = dx_put_span(end, (struct dx_span){ NULL, 0 });
    EXPECT(end - text == 6 && memcmp(text, "a\":xyz", 6) == 0, "pieces: %.6s", (const char *)text);
    check_real();
    return failures > 0;
}
