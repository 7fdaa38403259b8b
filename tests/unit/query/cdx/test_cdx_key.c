/* SPDX-License-Identifier: Apache-2.0
 * test_cdx_key.c - resumeKeys go there and back; other texts are refused.
 */
#include "query/cdx/cdx_key.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void failed(const char *what)
{
    (void)printf("%s\n", what);
    failures++;
}

static void check_back(struct dx_span urlkey, uint64_t timestamp, uint64_t count,
                       struct dx_span rest)
{
    struct dx_cdx_key key = {
        .timestamp = timestamp, .count = count, .urlkey = urlkey, .rest = rest
    };
    static struct dx_cdx_key back;
    struct dx_buf text = DX_BUF_INIT(DX_CDX_KEY_MAX);

    if (!dx_cdx_key_write(&key, &text) || text.failed)
        failed("not written");
    else if (!dx_cdx_key_read(dx_span_of(text.data, text.size), &back) ||
             back.timestamp != timestamp || back.count != count ||
             !dx_span_equal(back.urlkey, urlkey) || !dx_span_equal(back.rest, rest) ||
             (back.rest.data == NULL) != (rest.data == NULL))
        failed("not the same");
    dx_buf_release(&text);
}

/* The rest of the longest columns fits into a key; its order is that of the columns. */
static void check_rest(const char *many)
{
    struct dx_span columns[DX_CDX_STORED] = { { NULL, 0 } };
    struct dx_buf one = DX_BUF_INIT(DX_CDX_KEY_BYTES);
    struct dx_buf other = DX_BUF_INIT(DX_CDX_KEY_BYTES);

    columns[DX_CDX_URLKEY] = dx_span_of(many, DX_CDX_KEY_URLKEY_MAX);
    columns[DX_CDX_ORIGINAL] = columns[DX_CDX_URLKEY];
    dx_cdx_key_rest(columns, &one);
    check_back(columns[DX_CDX_URLKEY], UINT64_C(20150102030405), UINT64_C(999999999999999),
               dx_span_of(one.data, one.size));
    dx_buf_clear(&one);
    columns[DX_CDX_URLKEY] = dx_span_str("com,e)/");
    columns[DX_CDX_ORIGINAL] = dx_span_str("http://e.com/");
    columns[DX_CDX_MIME] = dx_span_str("text/html");
    dx_cdx_key_rest(columns, &one);
    columns[DX_CDX_ORIGINAL] = dx_span_str("http://e.com/!");
    columns[DX_CDX_MIME] = dx_span_of(NULL, 0);
    dx_cdx_key_rest(columns, &other);
    if (dx_span_compare(dx_span_of(one.data, one.size), dx_span_of(other.data, other.size)) >= 0)
        failed("order of a rest");
    dx_buf_release(&one);
    dx_buf_release(&other);
}

int main(void)
{
    static const char *const others[] = { "",
                                          "A",
                                          "AAAA",
                                          "Y29tLGUpLyAwIDA",
                                          "Y29tLGUpLyAwIDA=",
                                          "Y29tLGUpLyAwMSAx",
                                          "IDAgMQ",
                                          "Y29t LGU",
                                          "Y29tLGUpLyAxIDF" };
    static struct dx_cdx_key key;
    static char many[DX_CDX_KEY_URLKEY_MAX + 1];
    struct dx_buf out = DX_BUF_INIT(DX_CDX_KEY_MAX);

    check_back(dx_span_str("com,example)/a%20b?c 1"), UINT64_C(20150102030405), 1,
               dx_span_str("http://example.com/a%20b?c%201 - - "));
    check_back(dx_span_str("com,example)/ "), 0, UINT64_C(999999999999999), dx_span_of(NULL, 0));
    memset(many, 'a', sizeof many);
    check_back(dx_span_of(many, sizeof many - 1), 1, 1, dx_span_str(""));
    check_rest(many);
    if (dx_cdx_key_write(
            &(struct dx_cdx_key){ .count = 1, .urlkey = dx_span_of(many, sizeof many) }, &out))
        failed("a key that is too long");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (dx_cdx_key_read(dx_span_str(others[i]), &key))
            failed(others[i]);
    dx_buf_release(&out);
    return failures != 0;
}
