/* SPDX-License-Identifier: Apache-2.0
 * fuzz_url.c - any bytes as a URL: the canonical form is well formed and its own canonical form.
 */
#include "canon/url.h"

#include <stdio.h>
#include <stdlib.h>

static const char list[] =
    "com\norg\nnet\nde\nuk\nco.uk\n*.ck\n!www.ck\ngithub.io\nio\njp\nkyoto.jp\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static struct dx_canon *canon(void)
{
    static struct dx_canon *made;
    static struct dx_psl *psl;

    if (made == NULL)
        require(dx_psl_new(&psl, dx_span_str(list), NULL) == 0 &&
                    dx_canon_new(&made, psl, NULL) == 0,
                "start");
    return made;
}

static bool starts_with(struct dx_span s, const char *text)
{
    return s.size >= strlen(text) && memcmp(s.data, text, strlen(text)) == 0;
}

/* What comes before what, without gaps: scheme "://" host path_query. */
static void check_parts(const struct dx_url *url, bool has_domain)
{
    const uint8_t *at = url->url.data;

    require(url->url.size <= DX_URL_MAX, "length");
    require(url->scheme.data == at, "scheme begins the URL");
    at += url->scheme.size;
    require(memcmp(at, "://", 3) == 0, "'://'");
    at += 3;
    require(url->host.data == at && url->hostname.data == at, "host follows");
    require(url->hostname.size > 0 && url->hostname.size <= url->host.size, "hostname in host");
    require(url->hostname.size == url->host.size || at[url->hostname.size] == ':', "port");
    at += url->host.size;
    require(url->path_query.data == at, "path follows");
    require(at + url->path_query.size == url->url.data + url->url.size, "path ends the URL");
    require(url->path_query.size > 0 && at[0] == '/', "path begins with '/'");
    for (size_t i = 0; i < url->url.size; i++)
        require(url->url.data[i] > ' ' && url->url.data[i] < 0x7f, "printable ASCII");
    require(memchr(url->url.data, '#', url->url.size) == NULL, "no fragment");
    require(!has_domain || url->domain.size > 0, "domain");
}

static void check_domain(const struct dx_url *url)
{
    struct dx_span host = url->hostname;

    if (host.data[host.size - 1] == '.')
        host.size--;
    require(url->domain.size <= DX_DOMAIN_MAX, "domain length");
    require(url->domain.size <= host.size && memcmp(host.data + host.size - url->domain.size,
                                                    url->domain.data, url->domain.size) == 0,
            "domain ends the hostname");
    require(url->domain.size == host.size || host.data[host.size - url->domain.size - 1] == '.',
            "domain begins at a label");
}

/* The path holds no empty and no dot segment. */
static void check_path(struct dx_span s)
{
    const uint8_t *mark = memchr(s.data, '?', s.size);
    size_t size = mark == NULL ? s.size : (size_t)(mark - s.data);

    require(mark == NULL || size + 1 < s.size, "no lone '?'");
    for (size_t i = 0; i < size; i++) {
        struct dx_span rest = { s.data + i, size - i };

        require(s.data[i] != '\\', "no backslash");
        if (s.data[i] != '/')
            continue;
        require(!starts_with(rest, "//") && !starts_with(rest, "/./") && !starts_with(rest, "/../"),
                "no empty or dot segment");
        require(!dx_span_equal(rest, dx_span_str("/.")) && !dx_span_equal(rest, dx_span_str("/..")),
                "no dot segment at the end");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t first[DX_URL_MAX];
    static uint8_t first_domain[DX_DOMAIN_MAX];
    struct dx_canon *c = canon();
    struct dx_span domain;
    struct dx_url url;
    enum dx_reject why;
    enum dx_reject again;
    size_t domain_size;
    size_t url_size;
    int rc = dx_canon_url(c, (struct dx_span){ data, size }, &url, &why);

    require(rc == (why == DX_REJECT_NONE), "reason");
    if (rc == 0 && why != DX_REJECT_PUBLIC_SUFFIX) {
        require(url.url.size == 0 && url.domain.size == 0, "nothing after a rejection");
        return 0;
    }
    check_parts(&url, rc == 1);
    check_path(url.path_query);
    if (rc == 1)
        check_domain(&url);
    url_size = url.url.size;
    memcpy(first, url.url.data, url_size);
    domain_size = url.domain.size;
    if (domain_size > 0)
        memcpy(first_domain, url.domain.data, domain_size);
    require(dx_canon_url(c, (struct dx_span){ first, url_size }, &url, &again) == rc &&
                again == why,
            "canonical form judged otherwise");
    require(dx_span_equal(url.url, (struct dx_span){ first, url_size }), "idempotence");
    require(dx_span_equal(url.domain, (struct dx_span){ first_domain, domain_size }),
            "domain of the canonical form");
    require(dx_canon_domain(c, (struct dx_span){ first, url_size }, &domain, &again) == rc &&
                again == why &&
                dx_span_equal(domain, (struct dx_span){ first_domain, domain_size }),
            "dx_canon_domain of the canonical form");
    return 0;
}
