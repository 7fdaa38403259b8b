/* SPDX-License-Identifier: Apache-2.0
 * test_library_canon.c - canonical URLs of libdomaindex, one at a time and in batches, are those of canon/; wrong offsets.
 */
#include "canon/ids.h"
#include "canon/url.h"
#include "lib/domaindex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static const char list[] = "com\nco.uk\nuk\ngithub.io\n";

static void check(bool ok, const char *what, size_t row)
{
    if (!ok) {
        failures++;
        printf("row %zu: %s\n", row, what);
    }
}

static const char *const rows[] = { "HTTP://WWW.Example.COM:80/a/../b?z=1&a=2#top",
                                    "https://a.b.co.uk/x%7Ey",
                                    "",
                                    "mailto:x@y.z",
                                    "http://co.uk/",
                                    "http://10.1.2.3:8080/",
                                    "example.com",
                                    "http://github.io/",
                                    "http://me.github.io/page",
                                    "http://exa mple.com/" };
#define ROWS (sizeof rows / sizeof rows[0])

static bool same(struct domaindex_text text, const struct domaindex_strings *s, size_t i)
{
    size_t size = (size_t)(s->offset[i + 1] - s->offset[i]);

    return text.size == size && (size == 0 || memcmp(text.data, s->data + s->offset[i], size) == 0);
}

/* A batch is what single calls give. */
static void test_batch(struct domaindex_canon *canon)
{
    struct domaindex_error err;
    struct domaindex_batch *batch;
    struct domaindex_strings column[DOMAINDEX_COLUMNS];
    struct domaindex_strings in = { .count = ROWS };
    int32_t offset[ROWS + 1] = { 3 }; /* a slice: the first text does not begin at 0 */
    char data[1024] = "...";
    size_t rejected = 0;

    for (size_t i = 0; i < ROWS; i++) {
        size_t size = strlen(rows[i]);

        memcpy(data + offset[i], rows[i], size);
        offset[i + 1] = offset[i] + (int32_t)size;
    }
    in.offset = offset;
    in.data = data;
    in.data_size = (size_t)offset[ROWS];
    if (domaindex_canon_batch(canon, &in, &batch, &err) != DOMAINDEX_OK) {
        check(false, err.text, 0);
        return;
    }
    for (int c = 0; c < DOMAINDEX_COLUMNS; c++)
        check(domaindex_batch_strings(batch, c, &column[c]) == DOMAINDEX_OK, "column", 0);
    check(domaindex_batch_strings(batch, DOMAINDEX_COLUMNS, &in) == DOMAINDEX_E_INVALID,
          "no column", 0);
    for (size_t i = 0; i < ROWS; i++) {
        struct domaindex_url url;
        int rc = domaindex_canon_url(canon, rows[i], strlen(rows[i]), &url, &err);

        check((rc == 1) == (url.reject == 0), "rc and reject", i);
        check(same(url.url, &column[DOMAINDEX_URL], i), "url", i);
        check(same(url.domain, &column[DOMAINDEX_DOMAIN], i), "domain", i);
        check(same(url.scheme, &column[DOMAINDEX_SCHEME], i), "scheme", i);
        check(same(url.host, &column[DOMAINDEX_HOST], i), "host", i);
        check(same(url.path_query, &column[DOMAINDEX_PATH_QUERY], i), "path_query", i);
        check(domaindex_batch_rejects(batch)[i] == url.reject, "reject", i);
        check(domaindex_batch_domain_ids(batch)[i] == url.domain_id, "domain_id", i);
        check(domaindex_batch_url_ids(batch)[i] == url.url_id, "url_id", i);
        rejected += rc == 0;
    }
    check(domaindex_batch_count(batch) == ROWS, "count", 0);
    check(domaindex_batch_rejected(batch) == rejected && rejected == 5, "rejected", rejected);
    domaindex_batch_free(&batch);
    check(batch == NULL, "freed", 0);
}

static void test_bad_offsets(struct domaindex_canon *canon)
{
    static const int32_t bad[][3] = { { -1, 0, 0 }, { 0, 2, 1 }, { 0, 0, 4 } };
    struct domaindex_error err;
    struct domaindex_batch *batch;

    for (size_t i = 0; i < 3; i++) {
        struct domaindex_strings in = {
            .count = 2, .offset = bad[i], .data = "abc", .data_size = 3
        };

        check(domaindex_canon_batch(canon, &in, &batch, &err) == DOMAINDEX_E_INVALID &&
                  batch == NULL && strstr(err.text, "offset") != NULL,
              "bad offsets", i);
    }
}

static void test_one(struct domaindex_canon *canon)
{
    struct domaindex_url url;
    struct domaindex_error err;

    check(domaindex_canon_url(canon, rows[0], strlen(rows[0]), &url, &err) == 1 &&
              url.url.size == strlen("http://www.example.com/b?a=2&z=1") &&
              memcmp(url.url.data, "http://www.example.com/b?a=2&z=1", url.url.size) == 0,
          "canonical", 0);
    check(url.url_id == dx_url_id(dx_span_str("http://www.example.com/b?a=2&z=1")), "url_id", 0);
    check(domaindex_canon_url(canon, "http://co.uk/", 13, &url, NULL) == 0 &&
              strcmp(domaindex_reject_name(url.reject), "public_suffix") == 0 && url.url.size == 0,
          "a suffix", 0);
    check(domaindex_reject_name(-1) == NULL && domaindex_reject_name(99) == NULL &&
              strcmp(domaindex_reject_name(0), "none") == 0,
          "names", 0);
}

int main(void)
{
    struct domaindex_error err;
    struct domaindex_canon *canon;

    if (domaindex_canon_new(&canon, list, sizeof list - 1, &err) != DOMAINDEX_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    test_one(canon);
    test_batch(canon);
    test_bad_offsets(canon);
    check(domaindex_canon_rules() == DX_CANON_VERSION && domaindex_abi() == DOMAINDEX_ABI,
          "numbers", 0);
    domaindex_canon_free(&canon);
    domaindex_canon_free(&canon);
    return failures > 0;
}
