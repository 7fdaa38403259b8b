/* SPDX-License-Identifier: Apache-2.0
 * test_urlkey.c - keys of URLs, as surt 0.3.1 makes them: surt.surt("https://" + host + path).
 */
#include "canon/urlkey.h"

#include <stdio.h>
#include <string.h>

static int failures;

static const struct {
    const char *host, *path_query, *want;
} rows[] = {
    { "example.com", "/", "com,example)/" },
    { "www.example.com", "/A/B.html", "com,example)/a/b.html" },
    { "www2.example.com", "/x/", "com,example)/x" },
    { "wwwx.example.com", "/", "com,example,wwwx)/" },
    { "www.com", "/", "com)/" },
    { "example.com.", "/x", "com,example)/x" },
    { "www.example.com.:8080", "/x", "com,example:8080)/x" },
    { "1.2.3.4.", "/", "4,3,2,1)/" },
    { "a..example.com", "/", "com,example,,a)/" },
    { "example.com:8080", "/?", "com,example:8080)/" },
    { "a.b.example.co.uk", "/?b=2&a=1", "uk,co,example,b,a)/?a=1&b=2" },
    { "example.com", "/?a&a=&a=1&A=0", "com,example)/?a&a=&a=0&a=1" },
    { "example.com", "/?b&a&&c", "com,example)/?&a&b&c" },
    { "example.com", "/%41%2541%252541", "com,example)/aaa" },
    { "example.com", "/a%2Fb%2f..%2Fc", "com,example)/a/c" },
    { "example.com", "/%252e%252e/x", "com,example)/../x" },
    { "example.com", "/a//b/./c/../d//", "com,example)/a/b/d" },
    { "example.com", "//", "com,example)/" },
    { "example.com", "/../../a", "com,example)/a" },
    { "example.com", "/caf%C3%A9?q=%C3%A9%20x+y", "com,example)/caf%c3%a9?q=%c3%a9%20x+y" },
    { "example.com", "/a%23b%3Fc?d%23e", "com,example)/a%23b?c?d%23e" },
    { "example.com", "/100%25", "com,example)/100%25" },
    { "example.com", "/%zz%4", "com,example)/%25zz%254" },
    { "1.2.3.4", "/a", "4,3,2,1)/a" },
    { "[2001:db8::1]", "/a", "2001:db8::1)/a" },
    { "[2001:db8::1]:8443", "/a", "2001:db8::1:8443)/a" },
    { "example.com", "/(abcdefghijklmnopqrstuvwx)/p.aspx", "com,example)/p.aspx" },
    { "example.com", "/d/(S(abcdefghijklmnopqrstuvwx)f(ABCDEFGHIJKLMNOPQRSTUVWX))/p.ASPX?x=1",
      "com,example)/d/p.aspx?x=1" },
    { "example.com", "/d/(S(abcdefghijklmnopqrstuvw))/p.aspx",
      "com,example)/d/(s(abcdefghijklmnopqrstuvw))/p.aspx" },
    { "example.com", "/(abcdefghijklmnopqrstuvwx)/.aspx",
      "com,example)/(abcdefghijklmnopqrstuvwx)/.aspx" },
    { "example.com", "/(abcdefghijklmnopqrstuvwx)/a%3F.aspx",
      "com,example)/(abcdefghijklmnopqrstuvwx)/a?.aspx" },
    { "example.com", "/?jsessionid=0123456789abcdef0123456789ABCDEF", "com,example)/" },
    { "example.com", "/?a=1&jsessionid=0123456789abcdef0123456789ABCDEF&b=2",
      "com,example)/?a=1&b=2" },
    { "example.com", "/?phpsessid=0123456789abcdef0123456789abcdef&", "com,example)/" },
    { "example.com", "/?xsid=0123456789abcdef0123456789abcdef&z=1", "com,example)/?xz=1" },
    { "example.com", "/?sid=0123456789abcdef0123456789abcdef0",
      "com,example)/?sid=0123456789abcdef0123456789abcdef0" },
    { "example.com", "/?ASPSESSIONIDABCDEFGH=abcdefghijklmnopqrstuvwx&z", "com,example)/?z" },
    { "example.com", "/?cfid=1&cftoken=2&z=1", "com,example)/?z=1" },
    { "example.com", "/?y=0&cfid=1&cftoken=2", "com,example)/?&y=0" },
    { "example.com", "/?cfid=&cftoken=2", "com,example)/?cfid=&cftoken=2" },
    { "example.com", "/?cfid=1&cftoken=", "com,example)/?cfid=1&cftoken=" },
    { "example.com", "/?a=b=c&a=b", "com,example)/?a=b&a=b=c" },
    { "example.com", "/a?b?c", "com,example)/a?b?c" },
    { "example.com", "/a;jsessionid=0123456789abcdef0123456789abcdef",
      "com,example)/a;jsessionid=0123456789abcdef0123456789abcdef" },
    { "example.com", "/~x/!$&'()*+,:@|[]{}^`\\\"<>", "com,example)/~x/!$&'()*+,:@|[]{}^`\\\"<>" },
    { "xn--mnchen-3ya.de", "/", "de,xn--mnchen-3ya)/" },
    { "example.com", "/%00%7F%FF", "com,example)/%00%7f%ff" },
    { "example.com", "/?%26=%3D&a", "com,example)/?&==&a" },
    { "example.com", "/a/.", "com,example)/a" },
    { "example.com", "/a/..", "com,example)/" },
    { "example.com", "/%2e%2e%2fa", "com,example)/../a" },
    { "example.com", "/x/%2F%2e%2e/y", "com,example)/x/y" },
    { "example.com", "/?sid=0123456789abcdef0123456789abcdef&sid=0123456789abcdef0123456789abcdef",
      "com,example)/?&sid=0123456789abcdef0123456789abcdef" },
    { "example.com", "/%", "com,example)/%25" },
    { "example.com", "/%2", "com,example)/%252" },
    { "example.com", "/%25%34%31", "com,example)/a" },
    { "example.com", "/?a=1&b=2&", "com,example)/?&a=1&b=2" },
};

static void check_rows(void)
{
    struct dx_urlkey k;

    dx_urlkey_init(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool ok = dx_urlkey_make(&k, dx_span_str(rows[i].host), dx_span_str(rows[i].path_query));

        if (!ok || !dx_span_equal(dx_span_of(k.key.data, k.key.size), dx_span_str(rows[i].want))) {
            (void)printf("%s%s: %.*s, not %s\n", rows[i].host, rows[i].path_query, (int)k.key.size,
                         (const char *)k.key.data, rows[i].want);
            failures++;
        }
    }
    dx_urlkey_release(&k);
}

/* Escapes of escapes, and parameters in the worst order. */
static void check_long(void)
{
    static char path[40000];
    struct dx_urlkey k;

    dx_urlkey_init(&k);
    path[0] = '/';
    path[1] = '%';
    for (size_t i = 2; i + 1 < sizeof path; i += 2)
        memcpy(path + i, "25", 2);
    if (!dx_urlkey_make(&k, dx_span_str("e.com"), dx_span_of(path, sizeof path)) ||
        !dx_span_equal(dx_span_of(k.key.data, k.key.size), dx_span_str("com,e)/%25"))) {
        (void)printf("escapes of escapes: %.*s\n", (int)k.key.size, (const char *)k.key.data);
        failures++;
    }
    for (size_t i = 0; i < sizeof path; i++)
        path[i] = i % 2 == 0 ? '&' : (char)('z' - i / 2 % 26);
    memcpy(path, "/?", 2);
    if (!dx_urlkey_make(&k, dx_span_str("e.com"), dx_span_of(path, sizeof path)) ||
        memcmp(k.key.data, "com,e)/?&a&a&", 13) != 0) {
        (void)printf("many parameters\n");
        failures++;
    }
    if (dx_urlkey_make(&k, dx_span_of(path, sizeof path),
                       dx_span_of(memset(path, ' ', sizeof path), sizeof path))) {
        (void)printf("a key over its bound\n");
        failures++;
    }
    dx_urlkey_release(&k);
}

/* Not more than those whose escapes hide a segment "..", and all of these. */
static void check_strays(void)
{
    static const struct {
        const char *path;
        int want;
    } strays[] = {
        { "/a/..%2Fb", 1 },
        { "/a/%2e%2E%2fb", 1 },
        { "/a/..%252Fb", 1 },
        { "/a/%2E./b", 1 },
        { "/a/%252e./b", 1 },
        { "/a/%%32E.", 1 },
        { "/a%2F..", 1 },
        { "/a%2F..?x", 1 },
        { "/a/..%2Fb?q=..%2Fc", 1 },
        { "/", 0 },
        { "", 0 },
        { "/a/..b%2F", 0 },
        { "/a/...%2Fb", 0 },
        { "/a/.%2Fb", 0 },
        { "/a?x=/..%2Fb", 0 },
        { "/a/..%20/b", 0 },
        { "/a/..%D0%9C/b", 0 },
        { "/a%2Fb/c%3A", 0 },
        { "/a/%2e%2e%20%2f", 0 },
        { "/a%", 0 },
        { "/a/..%2", 0 },
    };
    struct dx_urlkey k;

    dx_urlkey_init(&k);
    for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++)
        if (dx_urlkey_strays(&k, dx_span_str(strays[i].path)) != strays[i].want) {
            (void)printf("%s: strays: not %d\n", strays[i].path, strays[i].want);
            failures++;
        }
    dx_urlkey_release(&k);
}

int main(void)
{
    check_rows();
    check_strays();
    check_long();
    return failures != 0;
}
