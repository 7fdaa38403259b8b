/* SPDX-License-Identifier: Apache-2.0
 * What is read back from answers, and that nothing else is taken for it. */
#include "server/told.h"

#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static const struct {
    const char *body;
    struct dx_told told;
} rows[] = {
    { "{\"domain\":\"a.com\",\"domain_id\":\"0xf7cf7572ec22564d\",\"dataset_count\":6,\"url_"
      "count\":7,"
      "\"row_count\":8,\"distinct_url_count\":7,\"datasets\":[{\"dataset_id\":1,\"row_count\":99}]"
      "}",
      { 0xf7cf7572ec22564d, true, 0, 6, 8 } },
    { "{\"domain\":\"a.com\",\"domain_id\":\"0x0000000000000001\",\"dataset_id\":12,\"dataset\":"
      "\"x\","
      "\"total\":3,\"total_est\":3,\"offset\":0,\"items\":[]}",
      { 1, true, 12, 0, 3 } },
    { "{\"dataset_id\":4294967295,\"name\":\"\\\"}\\\\\",\"share\":0.5,\"next\":null,\"row_count\":"
      "2}",
      { 0, false, 4294967295, 0, 2 } },
    { "{\"dataset_id\":4294967296,\"row_count\":99999999999999999999}",
      { 0, false, 0, 0, UINT64_MAX } },
    /* A name that a client chose is no member. */
    { "{\"asked\":\"http://a.com/\\\",\\\"row_count\\\":5,\\\"x\\\":\\\"\",\"dataset_count\":1}",
      { 0, false, 0, 1, 0 } },
    { "{\"asked\":\"\\\\\",\"row_count\":5}", { 0, false, 0, 0, 5 } },
    { "{\"domain_id\":\"0xF7CF7572EC22564D\",\"row_count\":5}", { 0, false, 0, 0, 5 } },
    { "{\"domain_id\":\"f7cf7572ec22564d\",\"row_count\":5}", { 0, false, 0, 0, 5 } },
    { "{\"datasets\":[{\"row_count\":5}],\"row_count\":6}", { 0, false, 0, 0, 0 } },
    { "{\"a\":{\"row_count\":5},\"row_count\":6}", { 0, false, 0, 0, 0 } },
    { "{\"row_count\":-5,\"dataset_count\":2}", { 0, false, 0, 2, 0 } },
    { "{\"row_count\":5", { 0, false, 0, 0, 5 } },
    { "{\"row_count\":", { 0, false, 0, 0, 0 } },
    { "{\"row_count", { 0, false, 0, 0, 0 } },
    { "{\"x\":\"\\", { 0, false, 0, 0, 0 } },
    { "{}", { 0, false, 0, 0, 0 } },
    { "{", { 0, false, 0, 0, 0 } },
    { "[{\"row_count\":5}]", { 0, false, 0, 0, 0 } },
    { "dataset_id,row_count\n1,2\n", { 0, false, 0, 0, 0 } },
    { "", { 0, false, 0, 0, 0 } },
};

static bool is_same(const struct dx_told *a, const struct dx_told *b)
{
    return a->has_domain_id == b->has_domain_id &&
           (!a->has_domain_id || a->domain_id == b->domain_id) && a->dataset_id == b->dataset_id &&
           a->datasets == b->datasets && a->rows == b->rows;
}

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = strlen(rows[i].body);
        uint8_t *exact = malloc(size + 1); /* nothing behind it may be read */
        struct dx_told told;

        memcpy(exact, rows[i].body, size);
        dx_told_read((struct dx_span){ exact, size }, &told);
        if (!is_same(&told, &rows[i].told)) {
            printf("%s: id %d %016" PRIx64 ", dataset %u, %" PRIu64 " datasets, %" PRIu64 " rows\n",
                   rows[i].body, told.has_domain_id, told.domain_id, told.dataset_id, told.datasets,
                   told.rows);
            failures++;
        }
        free(exact);
    }
}

/* A long name before the counts is passed over; more than an answer can have is not looked at. */
static void test_long(size_t name, uint64_t want)
{
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_told told;

    dx_buf_str(&body, "{\"asked\":\"");
    for (size_t i = 0; i < name; i++)
        dx_buf_str(&body, "x");
    dx_buf_str(&body, "\",\"row_count\":7,\"rows\":[]}");
    dx_told_read(dx_span_of(body.data, body.size), &told);
    if (body.failed || told.rows != want) {
        printf("name of %zu bytes: %" PRIu64 " rows, not %" PRIu64 "\n", name, told.rows, want);
        failures++;
    }
    dx_buf_release(&body);
}

int main(void)
{
    test_rows();
    test_long(16384, 7);
    test_long(DX_TOLD_BYTES, 0);
    printf("%zu rows, %d failures\n", sizeof rows / sizeof *rows, failures);
    return failures != 0;
}
