/* SPDX-License-Identifier: Apache-2.0
 * Rows of a CDX answer in each form, filters of each dialect, names of columns.
 */
#include "query/cdx/cdx_text.h"

#include "query/cdx/cdx_filter.h"
#include "query/cdx/cdx_host.h"
#include "query/view/problem.h"
#include "tests/support/damage.h"

static unsigned failures;

#define NONE    \
    {           \
        NULL, 0 \
    }
#define TEXT(s)                             \
    {                                       \
        (const uint8_t *)(s), sizeof(s) - 1 \
    }

static const struct dx_span rows[2][DX_CDX_COLUMNS] = {
    {
        [DX_CDX_URLKEY] = TEXT("com,example)/"),
        [DX_CDX_TIMESTAMP] = TEXT("20240614081530"),
        [DX_CDX_ORIGINAL] = TEXT("https://example.com/"),
        [DX_CDX_MIME] = TEXT("text/html"),
        [DX_CDX_STATUS] = TEXT("200"),
        [DX_CDX_FILENAME] = TEXT("a\"b.warc.gz"),
    },
    {
        [DX_CDX_URLKEY] = TEXT("com,example)/b"),
        [DX_CDX_TIMESTAMP] = TEXT("-"), /* it has no time */
        [DX_CDX_ORIGINAL] = TEXT("https://example.com/b"),
        [DX_CDX_ORIG_LENGTH] = TEXT("7"),
    },
};

#define W DX_CDX_WAYBACK
#define P DX_CDX_PYWB

static const struct {
    struct dx_cdx_ask ask;
    const char *type, *text;
    unsigned rows;
    const char *key;
} forms[] = {
    { { .dialect = W, .output = DX_CDX_TEXT }, "text/plain", "", 0, "" },
    { { .dialect = W, .output = DX_CDX_TEXT },
      "text/plain",
      "com,example)/ 20240614081530 https://example.com/ text/html 200 - -\n"
      "com,example)/b - https://example.com/b - - - -\n\nkey\n",
      2,
      "key" },
    { { .dialect = W,
        .output = DX_CDX_TEXT,
        .field_count = 2,
        .fields = { { DX_CDX_STATUS, TEXT("statuscode") }, { DX_CDX_URLKEY, TEXT("urlkey") } } },
      "text/plain",
      "200 com,example)/\n- com,example)/b\n",
      2,
      "" },
    { { .dialect = W, .output = DX_CDX_JSON }, "application/json", "[]\n", 0, "" },
    { { .dialect = W, .output = DX_CDX_JSON }, "application/json", "[[],\n[\"key\"]]\n", 0, "key" },
    { { .dialect = W,
        .output = DX_CDX_JSON,
        .field_count = 2,
        .fields = { { DX_CDX_URLKEY, TEXT("urlkey") }, { DX_CDX_FILENAME, TEXT("filename") } } },
      "application/json",
      "[[\"urlkey\",\"filename\"],\n[\"com,example)/\", \"a\\\"b.warc.gz\"],\n"
      "[\"com,example)/b\", \"-\"],\n[],\n[\"key\"]]\n",
      2,
      "key" },
    { { .dialect = P, .output = DX_CDX_TEXT },
      "text/plain",
      "com,example)/ 20240614081530 {\"url\": \"https://example.com/\", \"mime\": \"text/html\", "
      "\"status\": \"200\", \"filename\": \"a\\\"b.warc.gz\"}\n",
      1,
      "" },
    { { .dialect = P,
        .output = DX_CDX_CDXJ,
        .field_count = 2,
        .fields = { { DX_CDX_URLKEY, TEXT("urlkey") }, { DX_CDX_STATUS, TEXT("status") } } },
      "text/x-cdxj",
      /* the key stands in front already */
      "com,example)/ 20240614081530 {\"status\": \"200\"}\ncom,example)/b - {}\n",
      2,
      "" },
    { { .dialect = P,
        .output = DX_CDX_JSON,
        .field_count = 2,
        .fields = { { DX_CDX_NONE, TEXT("nope") }, { DX_CDX_URLKEY, TEXT("urlkey") } } },
      "text/x-ndjson",
      "{\"urlkey\": \"com,example)/\"}\n",
      1,
      "" },
    { { .dialect = P, .output = DX_CDX_TEXT, .resolve_revisits = true },
      "text/plain",
      "com,example)/ 20240614081530 https://example.com/ text/html 200 a\"b.warc.gz - - -\n"
      "com,example)/b - https://example.com/b 7 - -\n",
      2,
      "" },
    { { .dialect = P, .output = DX_CDX_LINK }, "application/link-format", "", 0, "" },
    { { .dialect = P, .output = DX_CDX_LINK },
      "application/link-format",
      "<https://example.com/>; rel=\"memento\"; datetime=\"Fri, 14 Jun 2024 08:15:30 GMT\",\n"
      "<https://example.com/b>; rel=\"memento\"\n",
      2,
      "" },
};

static void check_forms(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct dx_buf out = DX_BUF_INIT(4096);
        struct dx_cdx_text t;

        dx_cdx_text_begin(&t, &forms[i].ask, &out);
        for (unsigned n = 0; n < forms[i].rows; n++)
            dx_cdx_text_row(&t, rows[n]);
        dx_cdx_text_end(&t, dx_span_str(forms[i].key));
        EXPECT(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(forms[i].text)),
               "row %zu: '%.*s' instead of '%s'", i, (int)out.size, (const char *)out.data,
               forms[i].text);
        EXPECT(strcmp(dx_cdx_text_type(&forms[i].ask), forms[i].type) == 0, "row %zu: %s", i,
               dx_cdx_text_type(&forms[i].ask));
        dx_buf_release(&out);
    }
}

/* An order of another kind puts rows together that were written one by one. */
static void check_pieces(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct dx_buf out = DX_BUF_INIT(4096), one = DX_BUF_INIT(4096);
        struct dx_cdx_text t, piece;

        dx_cdx_text_begin(&t, &forms[i].ask, &out);
        for (unsigned n = 0; n < forms[i].rows; n++) {
            dx_buf_clear(&one);
            dx_cdx_text_begin(&piece, &forms[i].ask, &one);
            piece.rows = 1;
            dx_cdx_text_row(&piece, rows[n]);
            dx_cdx_text_piece(&t, dx_span_of(one.data, one.size));
        }
        dx_cdx_text_end(&t, dx_span_str(forms[i].key));
        EXPECT(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(forms[i].text)),
               "row %zu: '%.*s'", i, (int)out.size, (const char *)out.data);
        dx_buf_release(&out);
        dx_buf_release(&one);
    }
}

static void check_counts(void)
{
    static const struct {
        struct dx_cdx_ask ask;
        uint64_t rows;
        const char *type, *text;
    } counts[] = {
        { { .dialect = W, .page_size = 50 }, 0, "text/plain", "0\n" },
        { { .dialect = W, .page_size = 1 }, 3000, "text/plain", "1\n" },
        { { .dialect = W, .page_size = 1 }, 3001, "text/plain", "2\n" },
        { { .dialect = W, .output = DX_CDX_JSON, .page_size = 50 },
          150001,
          "application/json",
          "[[\"numpages\"],\n[\"2\"]]\n" },
        { { .dialect = P, .page_size = 5 },
          15001,
          "application/json",
          "{\"pages\": 2, \"pageSize\": 5, \"blocks\": 6}\n" },
    };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct dx_cdx_ask ask = counts[i].ask;
        struct dx_buf out = DX_BUF_INIT(200);

        ask.count_pages = true;
        dx_cdx_text_pages(&ask, counts[i].rows, &out);
        EXPECT(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(counts[i].text)),
               "%llu rows: '%.*s'", (unsigned long long)counts[i].rows, (int)out.size,
               (const char *)out.data);
        EXPECT(strcmp(dx_cdx_text_type(&ask), counts[i].type) == 0, "%s", dx_cdx_text_type(&ask));
        dx_buf_release(&out);
    }
}

/* takes: of the first row; -1: refused. */
static const struct {
    enum dx_cdx_dialect dialect;
    const char *filter;
    int takes;
} filters[] = {
    { W, "original:https://example.com/", 1 },
    { W, "original:example", 0 }, /* a regular expression of the whole value */
    { W, "original:.*example.*", 1 },
    { W, "!original:.*example.*", 0 },
    { W, "~original:example", 1 },
    { W, "~!original:example", 0 },
    { W, "!~original:example", 0 },
    { W, "~original:other", 0 },
    { W, "=original:https://example.com/", 1 },
    { W, "=original:https://example.com/.*", 0 },
    { W, "~original:", 1 },
    { W, "length:-", 1 }, /* there is none */
    { W, "2:.*example.*", 1 },
    { W, "4:200", 1 },
    { W, "10:200", -1 },
    { W, "7:200", -1 },
    { W, "k:x", -1 },
    { W, "original", -1 },
    { W, "original:(", -1 },
    { P, "url:example", 1 },
    { P, "u:example", 1 },
    { P, "k:com,example", 1 },
    { P, "~url:https", 1 },
    { P, "~url:example", 0 },
    { P, "=status:200", 1 },
    { P, "=status:20", 0 },
    { P, "length:", 1 },
    { P, "=l:", 1 },
    { P, "=s:", 1 },
    { P, "s:7", 0 },
    { P, "2:example", 0 }, /* no row has such a member */
    { P, "example", 1 },   /* of the whole line */
    { P, "!\"status\": \"200\"", 1 },
    { P, "=", 0 },
    { P, "", 1 },
};

static void check_filters(void)
{
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        struct dx_cdx_ask ask = { .dialect = filters[i].dialect, .filter_count = 2 };
        struct dx_error err = DX_ERROR_INIT;
        struct dx_problem problem;
        struct dx_cdx_filters f;
        int rc;

        ask.filters[0] = dx_span_str(filters[i].filter);
        ask.filters[1] = dx_span_str("~urlkey:com"); /* that all rows pass, in both dialects */
        rc = dx_cdx_filters_init(&f, &ask, &problem);
        EXPECT(rc == (filters[i].takes >= 0), "%s: %d", filters[i].filter, rc);
        if (rc == 1) {
            EXPECT(f.count == 2, "%s: %zu filters", filters[i].filter, f.count);
            EXPECT(dx_cdx_filters_take(&f, rows[0], &err) == filters[i].takes, "%s: %s",
                   filters[i].filter, err.text);
        } else {
            EXPECT(problem.kind == DX_PROBLEM_BAD_REQUEST, "%s", problem.detail);
        }
        dx_cdx_filters_release(&f);
    }
}

static void check_hosts(void)
{
    EXPECT(dx_cdx_host_can(dx_span_str("a")) && dx_cdx_host_can(dx_span_str("ww")) &&
               dx_cdx_host_can(dx_span_str("example.com")) &&
               !dx_cdx_host_can(dx_span_str("www.example.com")) &&
               !dx_cdx_host_can(dx_span_str("www")) && !dx_cdx_host_can(dx_span_str("")),
           "hosts whose rows can be searched");
}

int main(void)
{
    check_forms();
    check_pieces();
    check_counts();
    check_filters();
    check_hosts();
    return failures != 0;
}
