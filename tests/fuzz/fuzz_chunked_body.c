/* SPDX-License-Identifier: Apache-2.0
 * Chunked bodies: cut elsewhere they hold the same; what is accepted whole is made again from its sizes.
 * The first byte says how long the parts are.
 */
#include "builder/load/chunked_body.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint8_t *body;
    size_t size;
    size_t left;
    int rc;
    enum dx_chunked_at at;
};

static void need(int ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void run(const uint8_t *data, size_t size, size_t part, struct seen *s)
{
    struct dx_chunked c = { .at = DX_CHUNKED_SIZE };

    *s = (struct seen){ .body = malloc(size + 1) };
    if (s->body == NULL)
        abort();
    for (size_t at = 0; at < size && s->rc >= 0; at += part) {
        struct dx_span in = { data + at, part < size - at ? part : size - at }, piece;

        while ((s->rc = dx_chunked_next(&c, &in, &piece, NULL)) > 0) {
            need(piece.size > 0 && s->size + piece.size <= size, "a piece lies outside");
            memcpy(s->body + s->size, piece.data, piece.size);
            s->size += piece.size;
        }
        need(s->rc < 0 || in.size == 0 || c.at == DX_CHUNKED_END, "bytes are left over");
        s->left += in.size;
    }
    need(c.size == s->size, "the size is another one");
    s->at = c.at;
}

/* The plain way over a body that is whole: strtoull for sizes, strstr for lines. */
static void check_whole(const uint8_t *data, size_t size, const struct seen *s)
{
    char *text = malloc(size + 1), *at = text;
    size_t seen = 0;

    if (text == NULL)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    for (;;) {
        unsigned long long n = strtoull(at, NULL, 16);

        at = memmem(at, (size_t)(text + size - at), "\r\n", 2);
        need(at != NULL, "a size has no line");
        at += 2;
        if (n == 0)
            break;
        need(seen + n <= s->size && memcmp(s->body + seen, at, n) == 0, "another body");
        seen += n;
        at += n + 2;
    }
    need(seen == s->size, "another size");
    need((size_t)(text + size - at) >= s->left + 2 &&
             memcmp(text + size - s->left - 2, "\r\n", 2) == 0,
         "no empty line at its end");
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole, parts;
    size_t part;

    if (size < 2)
        return 0;
    part = 1 + data[0] % 16;
    data++;
    size--;
    run(data, size, size, &whole);
    run(data, size, part, &parts);
    need((whole.rc < 0) == (parts.rc < 0), "cut elsewhere it is judged otherwise");
    need(whole.size == parts.size && memcmp(whole.body, parts.body, whole.size) == 0,
         "cut elsewhere it holds something else");
    need(whole.rc < 0 || (whole.at == parts.at && whole.left == parts.left),
         "cut elsewhere it ends elsewhere");
    if (whole.rc == 0 && whole.at == DX_CHUNKED_END)
        check_whole(data, size, &whole);
    free(whole.body);
    free(parts.body);
    return 0;
}
