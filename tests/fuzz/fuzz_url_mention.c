/* SPDX-License-Identifier: Apache-2.0
 * fuzz_url_mention.c - a line of any bytes as the URL, the rest as the text that may have it: what is the URL is a row of it; and
 * its canonical form is found behind JSON's escapes, doubled quotes, separators and percent escapes of a folder's name.
 */
#include "canon/url.h"
#include "canon/url_mention.h"

#include <stdio.h>
#include <stdlib.h>

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
        require(dx_psl_new(&psl, dx_span_str("com\norg\nco.uk\n"), NULL) == 0 &&
                    dx_canon_new(&made, psl, NULL) == 0,
                "start");
    return made;
}

/* The text in a block that ends with it, so that ASan sees a read behind it. */
static void check_any(const struct dx_url_mention *m, struct dx_span text)
{
    uint8_t *exact = malloc(text.size + (text.size == 0));
    struct dx_span s = dx_span_of(exact, text.size);

    require(exact != NULL, "memory");
    if (text.size > 0)
        memcpy(exact, text.data, text.size);
    require(!dx_url_mention_is(m, s) || text.size == 0 || text.size > DX_URL_MAX ||
                dx_url_mention_row(m, s),
            "what is the URL is a row of it");
    (void)dx_url_mention_line(m, s);
    (void)dx_url_mention_path(m, s);
    free(exact);
}

/* way: which characters are escaped, and how. */
static struct dx_span put_json(char *to, struct dx_span url, unsigned way)
{
    size_t n = 0;

    n += (size_t)sprintf(to, "{\"n\": 1, \"u\": \"");
    for (size_t i = 0; i < url.size; i++) {
        char c = (char)url.data[i];

        if (c == '"' || c == '\\' || (c == '/' && way % 2))
            to[n++] = '\\';
        if (way / 2 % 2 && strchr("&=<>'", c) != NULL)
            n += (size_t)sprintf(to + n, way / 4 % 2 ? "\\u%04x" : "\\u%04X", (unsigned)c);
        else
            to[n++] = c;
    }
    n += (size_t)sprintf(to + n, "\", \"z\": []}");
    return dx_span_of((const uint8_t *)to, n);
}

static struct dx_span put_csv(char *to, struct dx_span url)
{
    size_t n = (size_t)sprintf(to, "2020,\"");

    for (size_t i = 0; i < url.size; i++) {
        if (url.data[i] == '"')
            to[n++] = '"';
        to[n++] = (char)url.data[i];
    }
    n += (size_t)sprintf(to + n, "\",200");
    return dx_span_of((const uint8_t *)to, n);
}

static struct dx_span put_folder(char *to, struct dx_span url)
{
    size_t n = (size_t)sprintf(to, "lake/url=");

    for (size_t i = 0; i < url.size; i++)
        if (url.data[i] == '/' || url.data[i] == '%' || url.data[i] == '=')
            n += (size_t)sprintf(to + n, "%%%02x", (unsigned)url.data[i]);
        else
            to[n++] = (char)url.data[i];
    n += (size_t)sprintf(to + n, "/n=2/part.parquet");
    return dx_span_of((const uint8_t *)to, n);
}

static void check_written(struct dx_span url)
{
    static char text[6 * DX_URL_MAX + 64];
    static const char *const around[][2] = { { "2020\t", "\t200" },
                                             { "com,a)/ 2020 ", " 200" },
                                             { "", "" } };
    const struct dx_url_mention m = { .url = &url, .count = 1 };

    for (unsigned way = 0; way < 8; way++)
        require(dx_url_mention_row(&m, put_json(text, url, way)) &&
                    dx_url_mention_line(&m, put_json(text, url, way)),
                "within JSON");
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        int n = sprintf(text, "%s%.*s%s", around[i][0], (int)url.size, (const char *)url.data,
                        around[i][1]);

        require(dx_url_mention_line(&m, dx_span_of((const uint8_t *)text, (size_t)n)),
                "as a field");
    }
    require(dx_url_mention_line(&m, put_csv(text, url)), "as a field of CSV");
    require(dx_url_mention_path(&m, put_folder(text, url)), "as a folder");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    struct dx_span first = dx_span_of(data, end == NULL ? size : (size_t)(end - data));
    struct dx_span rest = dx_span_of(data + first.size, size - first.size);
    struct dx_url_mention m = { .canon = canon(), .url = &first, .count = 1 };
    enum dx_reject reject = DX_REJECT_NONE;
    static char kept[DX_URL_MAX];
    struct dx_url url;

    check_any(&m, rest);
    check_any(&m, first);
    if (dx_canon_url(canon(), first, &url, &reject) != 1)
        return 0;
    memcpy(kept, url.url.data, url.url.size);
    first = dx_span_of((const uint8_t *)kept, url.url.size);
    check_any(&m, rest);
    check_written(first);
    return 0;
}
