/* SPDX-License-Identifier: Apache-2.0
 * test_store_key.c - keys of URLs against those that Go's net/url and hash/fnv lead to.
 */
#include "canon/store_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canon/url.h"

static int failures;

/* 0: refused. */
static const struct {
    const char *url;
    uint64_t key, clean;
} rows[] = {
    { "https://example.com/", UINT64_C(6452323252155173144), UINT64_C(6452323252155173144) },
    { "http://example.com:8080/a?b=c#f", UINT64_C(6443113064819196588),
      UINT64_C(6472628975969283597) },
    { "HTTP://EXAMPLE.com/A", UINT64_C(8750509056928488445), UINT64_C(8750509056928488445) },
    { "http://user:p%40ss@h.org:1/p?q", UINT64_C(6817074574431437378),
      UINT64_C(6833457136901574921) },
    { "http://a@b@c.org/", UINT64_C(6467224041036690084), UINT64_C(6467224041036690084) },
    { "http://[::1]:80/x", UINT64_C(2718482059183372180), UINT64_C(2718482059183372180) },
    { "http://[fe80::1%25eth0]/", UINT64_C(7998088795981613992), UINT64_C(7998088795981613992) },
    { "http://m\303\274nchen.de/\303\274?\303\274=1#\303\274", UINT64_C(8029070356280030528),
      UINT64_C(8046737007117809469) },
    { "http://m%c3%bcnchen.de/%c3%bc", UINT64_C(8011158624596647108),
      UINT64_C(8011158624596647108) },
    { "http://e.com/a b|c", UINT64_C(5929309644023415355), UINT64_C(5929309644023415355) },
    { "http://e.com/%2fa%zz", UINT64_C(0), UINT64_C(0) },
    { "http://e.com?", UINT64_C(5943705003265951358), UINT64_C(5943705003265951358) },
    { "http://e.com/?#", UINT64_C(5980525302733885168), UINT64_C(5980525302733885168) },
    { "http://e.com/#", UINT64_C(5943687411079899918), UINT64_C(5943687411079899918) },
    { "http://e.com/a%2fb%41", UINT64_C(5966395728439957720), UINT64_C(5966395728439957720) },
    { "http://e.com/?z=1&a=2&z=0&a=1", UINT64_C(5978869333430211242),
      UINT64_C(5922366924635309367) },
    { "http://e.com/?utm_source=x&b=a+b%20c&utm_brand=&UTM_SOURCE=1", UINT64_C(5971174130169257842),
      UINT64_C(5978081767990251423) },
    { "http://e.com/?utm_source=x", UINT64_C(5912055623358202597), UINT64_C(5943687411079899918) },
    { "http://e.com/?a;b&c=%&d", UINT64_C(5967358025168741409), UINT64_C(5939753259353689160) },
    { "http://e.com/?a=%C3%BC~!*'()", UINT64_C(5919156330419805115),
      UINT64_C(5917019922179652137) },
    { "http://e.com/?=&&=1", UINT64_C(5941877428214630792), UINT64_C(5909771291435382138) },
    { "mailto:a@b.c?subject=1", UINT64_C(72056309560007573), UINT64_C(72056309560007573) },
    { "//host/p", UINT64_C(4490333392034672072), UINT64_C(4490333392034672072) },
    { "/p?q=1", UINT64_C(39160663115012495), UINT64_C(39160663115012495) },
    { "p/q:r", UINT64_C(21092243061784590), UINT64_C(21092243061784590) },
    { "p:q", UINT64_C(52764572343554946), UINT64_C(52764572343554946) },
    { "1p:q", UINT64_C(0), UINT64_C(0) },
    { "\303\251%3Ab", UINT64_C(27659784457418389), UINT64_C(27659784457418389) },
    { "http:/a", UINT64_C(8188098971845980), UINT64_C(8188098971845980) },
    { "http:///a", UINT64_C(52874290584549430), UINT64_C(52874290584549430) },
    { "http:", UINT64_C(50967625914788407), UINT64_C(50967625914788407) },
    { "http://e.com:/", UINT64_C(5920975752976025482), UINT64_C(5920975752976025482) },
    { "http://e.com:8x/", UINT64_C(0), UINT64_C(0) },
    { "http://e<.com/", UINT64_C(1027871402536159561), UINT64_C(1027871402536159561) },
    { "http://e.com/a#b%zz", UINT64_C(0), UINT64_C(0) },
    { "http://%41.com/", UINT64_C(0), UINT64_C(0) },
};

static const struct {
    const char *url, *why;
} refused[] = {
    { "", "empty" },
    { "a\tb", "control" },
    { ":a", "scheme" },
    { "a%2f:b", "scheme" },
    { "http://u\"@a/", "user" },
    { "http://u%zz@a/", "escape" },
    { "http://a b/", "host_invalid" },
    { "http://a[::1]/", "host_invalid" },
    { "http://[::1/", "host_invalid" },
    { "http://[::1]x/", "port_invalid" },
    { "http://a:b/", "port_invalid" },
    { "http://a/%", "escape" },
    { "http://a/#%a", "escape" },
};

static const struct {
    const char *url, *text, *host;
} clean[] = {
    { "HTTP://E.com:80/?b=1&a=%41#x", "http://E.com:80/?a=A&b=1", "E.com" },
    { "http://u:p@[::1]:8/?utm_term=1", "http://u:p@[::1]:8/", "::1" },
    { "http://e.com?", "http://e.com?", "e.com" },
    { "http://e.com/?k=2&j&k=1", "http://e.com/?j=&k=2&k=1", "e.com" },
};

static void fail(const char *url, const char *what)
{
    printf("FAIL %s: %s\n", url, what);
    failures++;
}

static bool is(const struct dx_buf *b, const char *text)
{
    return dx_span_equal(dx_span_of(b->data, b->size), dx_span_str(text));
}

static void check_rows(struct dx_store_key *k)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int cleaned = 0; cleaned < 2; cleaned++) {
            uint64_t want = cleaned ? rows[i].clean : rows[i].key;
            int rc = dx_store_key_of(k, dx_span_str(rows[i].url), cleaned, NULL);

            if (rc != (want != 0) || (rc == 1 && k->key != want))
                fail(rows[i].url, cleaned ? "another clean key" : "another key");
            if ((k->why == NULL) != (rc == 1))
                fail(rows[i].url, "reason");
        }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (dx_store_key_of(k, dx_span_str(refused[i].url), false, NULL) != 0 ||
            strcmp(k->why, refused[i].why) != 0)
            fail(refused[i].url, k->why == NULL ? "taken" : k->why);
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        if (dx_store_key_of(k, dx_span_str(clean[i].url), true, NULL) != 1 ||
            !is(&k->text, clean[i].text) || !is(&k->host, clean[i].host))
            fail(clean[i].url, "cleaned otherwise");
}

static void check_sums(void)
{
    static const uint8_t host[] = { 255, 1, 255 };

    if (dx_store_key(dx_span_str(""), dx_span_str("")) != (UINT64_C(0xf29ce484222325) ^ 0xcb))
        fail("", "the key of nothing");
    if (dx_store_key(dx_span_str(""), dx_span_of(host, 3)) >> 56 != 127)
        fail("", "the sum wraps, and bit 63 is 0");
}

/* The longest URL, with as many pairs and escapes as it can have. */
static void check_longest(struct dx_store_key *k)
{
    static char url[DX_URL_MAX + 1];
    struct dx_span s = dx_span_of(url, sizeof url);

    for (size_t i = 0; i < sizeof url; i++)
        url[i] = i % 2 ? '=' : '&';
    memcpy(url, "http://e.com/?", 14);
    if (dx_store_key_of(k, s, true, NULL) != 0 || strcmp(k->why, "too_long") != 0)
        fail("the longest", "one byte more is taken");
    s.size--;
    if (dx_store_key_of(k, s, true, NULL) != 1)
        fail("the longest", "pairs");
    memset(url + 14, 0xff, sizeof url - 14);
    if (dx_store_key_of(k, s, true, NULL) != 1 || dx_store_key_of(k, s, false, NULL) != 1)
        fail("the longest", "escapes");
}

int main(void)
{
    struct dx_store_key k = DX_STORE_KEY_INIT;

    check_rows(&k);
    check_sums();
    check_longest(&k);
    dx_store_key_release(&k);
    return failures > 0;
}
