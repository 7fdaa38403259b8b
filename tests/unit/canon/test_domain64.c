/* SPDX-License-Identifier: Apache-2.0
 * test_domain64.c - numbers and ranges by a table, there and back, in both layouts.
 */
#include "canon/domain64.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int failures;

static void require(bool ok, const char *what)
{
    if (!ok) {
        printf("FAIL %s\n", what);
        failures++;
    }
}

static const struct {
    enum dx_domain64_layout layout;
    struct dx_domain64 d;
    uint64_t key; /* 0: an error */
} rows[] = {
    { DX_DOMAIN64_SUB8, { 1, 1, 0, 0 }, UINT64_C(72057598332895232) },
    { DX_DOMAIN64_SUB8, { 1, 1, 1, 0 }, UINT64_C(72057598349672448) },
    { DX_DOMAIN64_SUB8, { 1, 1, 2, 0 }, UINT64_C(72057598366449664) },
    { DX_DOMAIN64_SUB8, { 1, 1, 2, 1 }, UINT64_C(72057598366449665) },
    { DX_DOMAIN64_SUB8, { 1, 1, 2, 2 }, UINT64_C(72057598366449666) },
    { DX_DOMAIN64_SUB8, { 255, 0xffffff, 255, 0xffffff }, UINT64_MAX },
    { DX_DOMAIN64_SUB8, { 256, 1, 0, 0 }, 0 },
    { DX_DOMAIN64_SUB8, { 1, 0x1000000, 0, 0 }, 0 },
    { DX_DOMAIN64_SUB8, { 1, 1, 256, 0 }, 0 },
    { DX_DOMAIN64_SUB8, { 1, 1, 0, 0x1000000 }, 0 },
    { DX_DOMAIN64_SUB8, { 0, 1, 0, 0 }, 0 },
    { DX_DOMAIN64_SUB8, { 1, 0, 0, 0 }, 0 },
    { DX_DOMAIN64_SUB24, { 1, 1, 0, 0 }, UINT64_C(0x0100000100000000) },
    { DX_DOMAIN64_SUB24, { 1, 1, 1, 0 }, UINT64_C(0x0100000100000100) },
    { DX_DOMAIN64_SUB24, { 255, 0xffffff, 0xffffff, 0 }, UINT64_C(0xffffffffffffff00) },
    { DX_DOMAIN64_SUB24, { 1, 1, 0x1000000, 0 }, 0 },
    { DX_DOMAIN64_SUB24, { 1, 1, 1, 1 }, 0 }, /* no room for paths */
};

static const struct {
    enum dx_domain64_layout layout;
    enum dx_domain64_part part;
    struct dx_domain64 d;
    uint64_t from, to;
} ranges[] = {
    { DX_DOMAIN64_SUB8, DX_PART_TLD, { 1, 7, 7, 7 }, UINT64_C(1) << 56, UINT64_C(2) << 56 },
    { DX_DOMAIN64_SUB8,
      DX_PART_DOMAIN,
      { 1, 1, 7, 7 },
      UINT64_C(0x0100000100000000),
      UINT64_C(0x0100000200000000) },
    { DX_DOMAIN64_SUB8,
      DX_PART_SUBDOMAIN,
      { 1, 1, 1, 7 },
      UINT64_C(0x0100000101000000),
      UINT64_C(0x0100000102000000) },
    { DX_DOMAIN64_SUB8,
      DX_PART_SUBDOMAIN,
      { 1, 0xffffff, 255, 0 },
      UINT64_C(0x01ffffffff000000),
      UINT64_C(0x0200000000000000) },
    { DX_DOMAIN64_SUB8,
      DX_PART_PATH,
      { 1, 1, 1, 5 },
      UINT64_C(0x0100000101000005),
      UINT64_C(0x0100000101000006) },
    { DX_DOMAIN64_SUB8,
      DX_PART_TLD,
      { 127, 0, 0, 0 },
      UINT64_C(0x7f00000000000000),
      UINT64_C(0x8000000000000000) },
    { DX_DOMAIN64_SUB8, DX_PART_TLD, { 255, 0, 0, 0 }, UINT64_C(0xff00000000000000), 0 },
    { DX_DOMAIN64_SUB24,
      DX_PART_SUBDOMAIN,
      { 1, 1, 1, 0 },
      UINT64_C(0x0100000100000100),
      UINT64_C(0x0100000100000200) },
    { DX_DOMAIN64_SUB24,
      DX_PART_PATH,
      { 1, 1, 1, 0 },
      UINT64_C(0x0100000100000100),
      UINT64_C(0x0100000100000200) },
};

static const struct {
    const char *domain, *host, *path; /* as a row has them */
    const char *part[DX_DOMAIN64_PARTS];
} names[] = {
    { "a.com", "a.com", "/", { "com", "a", "", "" } },
    { "a.co.uk", "x.y.a.co.uk:81", "/p?q", { "co.uk", "a", "x.y", "p?q" } },
    { "a.com", "www.a.com.", "/", { "com", "a", "www", "" } },
    { "127.0.0.1", "127.0.0.1:80", "/x", { "[ip]", "127.0.0.1", "", "x" } },
    { "[::1]", "[::1]", "/", { "[ip]", "[::1]", "", "" } },
    { "[::1]", "[::1]:8", "/", { "[ip]", "[::1]", "", "" } },
};

static void check_names(void)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dx_domain64_names got;
        bool ok = dx_domain64_names(dx_span_str(names[i].domain), dx_span_str(names[i].host),
                                    dx_span_str(names[i].path), DX_DOMAIN64_SUB8, &got);

        for (unsigned part = 0; ok && part < DX_DOMAIN64_PARTS; part++)
            ok = dx_span_equal(got.part[part], dx_span_str(names[i].part[part]));
        require(ok, names[i].host);
        require(dx_domain64_names(dx_span_str(names[i].domain), dx_span_str(names[i].host),
                                  dx_span_str("/p"), DX_DOMAIN64_SUB24, &got) &&
                    got.part[DX_PART_PATH].size == 0,
                "no path in 8-24-24-8");
    }
}

/* Names that have no number. */
static void check_no_names(void)
{
    static const char *const domains[] = { "", "com", ".com", "a.", "." };
    struct dx_domain64_names got;

    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        require(!dx_domain64_names(dx_span_str(domains[i]), dx_span_str(domains[i]),
                                   dx_span_str("/"), DX_DOMAIN64_SUB8, &got),
                domains[i]);
    require(dx_domain64_names(dx_span_str("12345"), dx_span_str("12345"), dx_span_str("/"),
                              DX_DOMAIN64_SUB8, &got) &&
                dx_span_equal(got.part[DX_PART_TLD], dx_span_str("[ip]")),
            "an address of one number");
    require(dx_domain64_names(dx_span_str("a.c0m"), dx_span_str("12.a.c0m:81"), dx_span_str("/"),
                              DX_DOMAIN64_SUB8, &got) &&
                dx_span_equal(got.part[DX_PART_SUBDOMAIN], dx_span_str("12")),
            "labels with digits");
}

static bool equal(const struct dx_domain64 *a, const struct dx_domain64 *b)
{
    return a->tld == b->tld && a->domain == b->domain && a->subdomain == b->subdomain &&
           a->path == b->path;
}

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_domain64 back;
        struct dx_domain64_range range = { 0, 0 };
        int rc = dx_domain64_range(&rows[i].d, DX_PART_PATH, rows[i].layout, &range, NULL);
        uint64_t key = range.from;
        bool ok = rows[i].key == 0
                      ? rc < 0
                      : rc == DX_OK && key == rows[i].key &&
                            dx_domain64_unpack(key, rows[i].layout, &back, NULL) == DX_OK &&
                            equal(&back, &rows[i].d);

        if (!ok) {
            printf("FAIL row %zu: %d, 0x%016" PRIx64 "\n", i, rc, key);
            failures++;
        }
    }
}

static void check_ranges(void)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct dx_domain64_range r;
        int rc = dx_domain64_range(&ranges[i].d, ranges[i].part, ranges[i].layout, &r, NULL);

        if (rc < 0 || r.from != ranges[i].from || r.to != ranges[i].to ||
            !dx_domain64_in(&r, r.from) || !dx_domain64_in(&r, r.to - 1) ||
            dx_domain64_in(&r, r.from - 1) || (r.to != 0 && dx_domain64_in(&r, r.to))) {
            printf("FAIL range %zu: 0x%016" PRIx64 " 0x%016" PRIx64 "\n", i, r.from, r.to);
            failures++;
        }
    }
}

int main(void)
{
    struct dx_domain64 d;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_domain64_range range;

    check_rows();
    check_ranges();
    check_names();
    check_no_names();
    require(dx_domain64_unpack(UINT64_C(0x0100000100000101), DX_DOMAIN64_SUB24, &d, NULL) < 0,
            "a reserved byte that is not 0");
    require(dx_domain64_unpack(0, DX_DOMAIN64_SUB8, &d, NULL) < 0, "TLD 0");
    require(dx_domain64_signed(UINT64_MAX) == -1 && dx_domain64_signed(5) == 5 &&
                dx_domain64_signed(UINT64_C(1) << 63) == INT64_MIN,
            "signed");
    d = (struct dx_domain64){ .tld = 1, .domain = 1, .subdomain = 300, .path = 0 };
    require(dx_domain64_range(&d, DX_PART_PATH, DX_DOMAIN64_SUB8, &range, &err) == DX_E_LIMIT &&
                strstr(err.text, "subdomain 300, the field holds 255") != NULL,
            "words of a full field");
    return failures > 0;
}
