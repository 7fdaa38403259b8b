/* SPDX-License-Identifier: Apache-2.0
 * test_body.c - bodies of requests: a table, each row cut at every byte and taken in every amount.
 */
#include "server/http/body.h"

#include "server/http/request_head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define T(text) text, sizeof text - 1

static const struct {
    const char *name;
    uint64_t size; /* UINT64_MAX: chunked */
    const char *text;
    size_t text_size;
    const char *data;
    enum dx_body_verdict verdict;
    int status;
    size_t used; /* up to the end */
} rows[] = {
#define CHUNKED UINT64_MAX
    { "no bytes", 0, T("GET"), "", DX_BODY_END, 0, 0 },
    { "length", 3, T("abcGET"), "abc", DX_BODY_END, 0, 3 },
    { "length, cut", 5, T("abc"), "abc", DX_BODY_MORE, 0, 3 },
    { "one chunk", CHUNKED, T("3\r\nabc\r\n0\r\n\r\nGET"), "abc", DX_BODY_END, 0, 13 },
    { "two chunks", CHUNKED, T("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), "abcde", DX_BODY_END, 0, 20 },
    { "hex, both cases", CHUNKED, T("a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n"),
      "01234567890123456789a", DX_BODY_END, 0, 36 },
    { "zeros before", CHUNKED, T("0000000003\r\nabc\r\n0000000000\r\n\r\n"), "abc", DX_BODY_END, 0,
      31 },
    { "no chunks", CHUNKED, T("0\r\n\r\n"), "", DX_BODY_END, 0, 5 },
    { "line ends in a chunk", CHUNKED, T("4\r\n\r\n0\r\r\n0\r\n\r\n"), "\r\n0\r", DX_BODY_END, 0,
      14 },
    { "cut in a size", CHUNKED, T("3"), "", DX_BODY_MORE, 0, 1 },
    { "cut in a chunk", CHUNKED, T("3\r\na"), "a", DX_BODY_MORE, 0, 4 },
    { "cut before the end", CHUNKED, T("3\r\nabc\r\n0\r\n\r"), "abc", DX_BODY_MORE, 0, 12 },
    { "no digits", CHUNKED, T("\r\nabc"), "", DX_BODY_REJECT, 400, 0 },
    { "empty size", CHUNKED, T("3\r\nabc\r\n\r\n"), "abc", DX_BODY_REJECT, 400, 0 },
    { "eleven digits", CHUNKED, T("00000000003\r\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "over 2^40 in one", CHUNKED, T("ffffffffff\r\nabc"), "abc", DX_BODY_MORE, 0, 15 },
    { "over 2^64", CHUNKED, T("10000000000000003\r\nabc"), "", DX_BODY_REJECT, 400, 0 },
    { "0x", CHUNKED, T("0x3\r\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "plus", CHUNKED, T("+3\r\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "minus", CHUNKED, T("-3\r\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "space before", CHUNKED, T(" 3\r\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "space behind", CHUNKED, T("3 \r\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "extension", CHUNKED, T("3;a=b\r\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "bare semicolon", CHUNKED, T("3;\r\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "bare LF", CHUNKED, T("3\nabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "bare CR", CHUNKED, T("3\rabc\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "bare LF behind a chunk", CHUNKED, T("3\r\nabc\n0\r\n\r\n"), "abc", DX_BODY_REJECT, 400, 0 },
    { "longer than its size", CHUNKED, T("3\r\nabcd\r\n0\r\n\r\n"), "abc", DX_BODY_REJECT, 400, 0 },
    { "CR and no LF behind a chunk", CHUNKED, T("3\r\nabc\rx0\r\n"), "abc", DX_BODY_REJECT, 400,
      0 },
    { "trailer", CHUNKED, T("0\r\nA: b\r\n\r\n"), "", DX_BODY_REJECT, 400, 0 },
    { "bare LF at the end", CHUNKED, T("0\r\n\n"), "", DX_BODY_REJECT, 400, 0 },
    { "CR and no LF at the end", CHUNKED, T("0\r\n\rG"), "", DX_BODY_REJECT, 400, 0 },
    { "NUL", CHUNKED, T("3\0\r\nabc"), "", DX_BODY_REJECT, 400, 0 },
};

struct got {
    enum dx_body_verdict verdict;
    size_t used;
    size_t size;
    char data[256];
};

static void drive(struct dx_body *b, const char *text, size_t size, size_t step, size_t max,
                  struct got *g)
{
    size_t end = 0;

    *g = (struct got){ .verdict = DX_BODY_MORE };
    do {
        struct dx_span data;
        size_t used;

        end = end + step < size ? end + step : size;
        do {
            g->verdict = dx_body_next(b, dx_span_of(text + g->used, end - g->used), max, &used,
                                      &data);
            g->used += used;
            if (g->verdict == DX_BODY_DATA) {
                memcpy(g->data + g->size, data.data, data.size);
                g->size += data.size;
                if (data.size == 0 || data.size > max)
                    failures++;
            }
        } while (g->verdict == DX_BODY_DATA);
    } while (g->verdict == DX_BODY_MORE && end < size);
}

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t step = 1; step <= rows[i].text_size; step++)
            for (size_t max = 1; max < 8; max++) {
                struct dx_body b;
                struct got g;
                bool ok;

                dx_body_begin(&b, rows[i].size == CHUNKED, rows[i].size);
                drive(&b, rows[i].text, rows[i].text_size, step, max, &g);
                ok = g.verdict == rows[i].verdict && g.size == strlen(rows[i].data) &&
                     memcmp(g.data, rows[i].data, g.size) == 0 &&
                     b.reject_status == rows[i].status &&
                     (rows[i].status != 0 || g.used == rows[i].used);
                if (!ok) {
                    printf("'%s', steps of %zu, %zu at a time: verdict %d, status %d, used %zu, "
                           "'%.*s'\n",
                           rows[i].name, step, max, (int)g.verdict, b.reject_status, g.used,
                           (int)g.size, g.data);
                    failures++;
                    return;
                }
            }
}

/* The sum of chunks is bounded too, before the bytes come. */
static void check_sum(void)
{
    struct dx_body b;
    struct got g;

    dx_body_begin(&b, true, 0);
    b.total = DX_BODY_SIZE_MAX - 2;
    drive(&b, "2\r\nab\r\n1\r\n", 11, 3, 9, &g);
    if (g.verdict != DX_BODY_REJECT || b.reject_status != 413 || g.size != 2) {
        printf("over 2^40 in two: verdict %d, status %d\n", (int)g.verdict, b.reject_status);
        failures++;
    }
}

int main(void)
{
    check_rows();
    check_sum();
    printf("%zu rows, %d failures\n", sizeof rows / sizeof *rows, failures);
    return failures > 0;
}
