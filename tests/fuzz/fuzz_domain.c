/* SPDX-License-Identifier: Apache-2.0
 * fuzz_domain.c - any bytes as a domain, as a public suffix list and as a host name.
 *
 * The domain of a domain is that domain. Input up to the first '\n' is the name; what
 * follows, if anything, is a list to use instead of the built-in one. The table of rules
 * (suffix_rules.h) says what libpsl says.
 */
#include "canon/host.h"
#include "canon/suffix_rules.h"
#include "canon/url.h"

#include <libpsl.h>
#include <stdio.h>
#include <stdlib.h>

static const char list[] = "com\norg\nuk\nco.uk\n*.ck\n!www.ck\nde\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static void check_name(struct dx_canon *c, struct dx_span name)
{
    static uint8_t first[DX_DOMAIN_MAX + 2];
    struct dx_span domain;
    enum dx_reject why;
    size_t size;
    int rc = dx_canon_domain(c, name, &domain, &why);

    require(rc == (why == DX_REJECT_NONE) && rc == (domain.size > 0), "reason");
    if (rc == 0)
        return;
    require(domain.size <= DX_DOMAIN_MAX, "length");
    require(domain.data[0] != '.' && domain.data[domain.size - 1] != '.', "dots around");
    require(memchr(domain.data, '.', domain.size) != NULL || domain.data[0] == '[', "labels");
    for (size_t i = 0; i < domain.size; i++)
        require(domain.data[i] > ' ' && domain.data[i] < 0x7f &&
                    !(domain.data[i] >= 'A' && domain.data[i] <= 'Z'),
                "lower-case ASCII");
    size = domain.size;
    memcpy(first, domain.data, size);
    require(dx_canon_domain(c, (struct dx_span){ first, size }, &domain, &why) == 1 &&
                dx_span_equal(domain, (struct dx_span){ first, size }),
            "the domain of a domain");
}

/* The host parser by itself: what it writes, it reads back the same. */
static void check_host(struct dx_span raw)
{
    static uint8_t one[DX_HOST_ROOM];
    static uint8_t two[DX_HOST_ROOM];
    struct dx_host host;
    struct dx_host again;
    enum dx_reject why;

    if (dx_host_parse(raw, one, sizeof one, &host, &why) == 1)
        require(dx_host_parse(host.text, two, sizeof two, &again, &why) == 1 &&
                    host.kind == again.kind && dx_span_equal(host.text, again.text),
                "host of a host");
}

static void check_rules(struct dx_span text, struct dx_span name)
{
    struct dx_suffix_rules *rules = NULL;
    FILE *stream = fmemopen((void *)(uintptr_t)text.data, text.size, "r");
    psl_ctx_t *psl = stream == NULL ? NULL : psl_load_fp(stream);
    struct dx_span domain = { NULL, 0 };
    char host[256];
    const char *want;
    int rc;

    require(dx_suffix_rules_new_below(&rules, text, dx_span_of(NULL, 0), NULL) == 0, "rules");
    if (psl != NULL && rules != NULL && name.size > 0 && name.size < sizeof host &&
        name.data[0] != '.' && name.data[name.size - 1] != '.' &&
        memchr(name.data, '\0', name.size) == NULL) {
        memcpy(host, name.data, name.size);
        host[name.size] = '\0';
        (void)dx_suffix_rules_find(rules, name, DX_SUFFIX_ICANN, &domain);
        require(domain.data == NULL || (domain.data >= name.data &&
                                        domain.data + domain.size == name.data + name.size),
                "the end of the name");
        rc = dx_suffix_rules_find(rules, name, DX_SUFFIX_ALL, &domain);
        want = psl_registrable_domain(psl, host);
        require(rc == (want != NULL), "a domain");
        require(want == NULL || dx_span_equal(domain, dx_span_str(want)), "libpsl's domain");
    }
    dx_suffix_rules_free(&rules);
    psl_free(psl);
    if (stream != NULL)
        (void)fclose(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_psl *built_in;
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    struct dx_span name = { data, newline == NULL ? size : (size_t)(newline - data) };
    struct dx_psl *given = NULL;
    struct dx_canon *c = NULL;

    if (built_in == NULL)
        require(dx_psl_new(&built_in, dx_span_str(list), NULL) == 0, "start");
    if (newline != NULL) {
        struct dx_span text = { newline + 1, size - name.size - 1 };

        (void)dx_psl_new(&given, text, NULL);
        if (text.size > 0)
            check_rules(text, name);
    }
    require(dx_canon_new(&c, given != NULL ? given : built_in, NULL) == 0, "start");
    check_name(c, name);
    if (name.size <= DX_URL_MAX)
        check_host(name);
    dx_canon_free(&c);
    dx_psl_free(&given);
    return 0;
}
