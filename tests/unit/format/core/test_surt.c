/* SPDX-License-Identifier: Apache-2.0
 * test_surt.c - domain to key and back, their order, and what is not a key.
 */
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

/* Label by label, as docs/FORMAT.md has it. */
static size_t naive_key(struct dx_span domain, uint8_t *out)
{
    size_t n = 0;

    for (size_t end = domain.size;;) {
        size_t begin = end;

        while (begin > 0 && domain.data[begin - 1] != '.')
            begin--;
        memcpy(out + n, domain.data + begin, end - begin);
        n += end - begin;
        if (begin == 0)
            return n;
        out[n++] = ' ';
        end = begin - 1;
    }
}

/* Names of every length, with labels of all lengths at every place of a word. */
static void check_lengths(void)
{
    uint64_t random = 1;

    for (size_t size = 1; size <= DX_DOMAIN_MAX; size++)
        for (unsigned turn = 0; turn < 40; turn++) {
            uint8_t *text = malloc(
                size); /* of this size, so that a tool sees what reads behind it */
            uint8_t key[DX_SURT_MAX], want[DX_SURT_MAX], back[DX_SURT_MAX];
            struct dx_span s = dx_span_of(text, size);
            size_t n;

            if (text == NULL)
                exit(2);
            for (size_t i = 0; i < size; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                text[i] = (random >> 33) % (turn + 2) == 0 ? '.'
                                                           : (uint8_t)('a' + (random >> 40) % 26);
            }
            n = dx_surt_key(s, key);
            if (n != size || naive_key(s, want) != n || memcmp(key, want, n) != 0 ||
                !dx_span_equal(s, dx_span_of(back, dx_surt_domain(dx_span_of(key, n), back)))) {
                printf("FAIL %zu bytes: '%.*s' gives '%.*s'\n", size, (int)size, (const char *)text,
                       (int)n, (const char *)key);
                failures++;
            }
            text[(random >> 50) % size] = ' ';
            if (dx_surt_key(s, key) != 0) {
                printf("FAIL '%.*s' has a key\n", (int)size, (const char *)text);
                failures++;
            }
            free(text);
        }
}

int main(void)
{
    check_rows();
    check_lengths();
    check_inverse();
    check_longest();
    return failures > 0;
}
