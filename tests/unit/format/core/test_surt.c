/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/surt.h"

#include <stdio.h>
#include <stdlib.h>

static int failures;

static const struct {
    const char *domain;
    const char *key; /* NULL: no domain */
} rows[] = {
    { "example.com", "com example" },
    { "example.co.uk", "uk co example" },
    { "localhost", "localhost" },
    { "xn--mnchen-3ya.de", "de xn--mnchen-3ya" },
    { "1.2.3.4", "1.2.3.4" },
    { "[2001:db8::1]", "[2001:db8::1]" },
    { "4chan.org", "org 4chan" },
    { "123.com", "com 123" },
    { "7", "7" },
    { "a.7", "a.7" }, /* a last label of digits is taken for an address */
    { "a-b.c", "c a-b" },
    { "", NULL },
    { "a b", NULL },
};

/* What no domain has as its key. */
static const char *const no_keys[] = {
    "", "example.com", "123 com", "[ com.x", "com. example", "1.2.3.4 x",
};

static bool is(const uint8_t *got, size_t size, const char *want)
{
    return size == (want == NULL ? 0 : strlen(want)) && (size == 0 || memcmp(got, want, size) == 0);
}

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t key[DX_SURT_MAX];
        uint8_t domain[DX_SURT_MAX];
        size_t n = dx_surt_key(dx_span_str(rows[i].domain), key);

        if (!is(key, n, rows[i].key) ||
            (n > 0 && !is(domain, dx_surt_domain(dx_span_of(key, n), domain), rows[i].domain))) {
            printf("FAIL %s: key '%.*s'\n", rows[i].domain, (int)n, (const char *)key);
            failures++;
        }
    }
    for (size_t i = 0; i < sizeof no_keys / sizeof *no_keys; i++) {
        uint8_t domain[DX_SURT_MAX];

        if (dx_surt_domain(dx_span_str(no_keys[i]), domain) != 0) {
            printf("FAIL '%s' passes as a key\n", no_keys[i]);
            failures++;
        }
    }
}

/* Any text that is a key comes from exactly the domain that has it, and the other way round. */
static void check_inverse(void)
{
    static const char letters[] = "a1. [";
    uint8_t text[8];
    uint8_t there[DX_SURT_MAX];
    uint8_t back[DX_SURT_MAX];

    for (unsigned number = 0; number < 5 * 5 * 5 * 5 * 5 * 5; number++) {
        unsigned rest = number;
        struct dx_span s = dx_span_of(text, 0);
        size_t n;

        for (; rest > 0; rest /= 5)
            text[s.size++] = (uint8_t)letters[rest % 5];
        n = dx_surt_key(s, there);
        if (n > 0 &&
            !dx_span_equal(s, dx_span_of(back, dx_surt_domain(dx_span_of(there, n), back)))) {
            printf("FAIL domain '%.*s' does not come back\n", (int)s.size, (const char *)text);
            failures++;
        }
        n = dx_surt_domain(s, there);
        if (n > 0 && !dx_span_equal(s, dx_span_of(back, dx_surt_key(dx_span_of(there, n), back)))) {
            printf("FAIL key '%.*s' does not come back\n", (int)s.size, (const char *)text);
            failures++;
        }
    }
}

static void check_longest(void)
{
    uint8_t text[DX_DOMAIN_MAX + 1];
    uint8_t key[DX_SURT_MAX];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 2 ? '.' : 'a';
    if (dx_surt_key(dx_span_of(text, DX_DOMAIN_MAX), key) != DX_DOMAIN_MAX ||
        dx_surt_key(dx_span_of(text, DX_DOMAIN_MAX + 1), key) != 0 ||
        dx_surt_domain(dx_span_of(text, DX_DOMAIN_MAX + 1), key) != 0) {
        printf("FAIL at %d bytes\n", DX_DOMAIN_MAX);
        failures++;
    }
}

int main(void)
{
    check_rows();
    check_inverse();
    check_longest();
    return failures > 0;
}
