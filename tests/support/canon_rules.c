/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/canon_rules.h"

#include "base/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { READ_MAX = 256 << 20 };

static _Noreturn void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

bool dx_test_shared(char path[DX_TEST_PATH], const char *name)
{
    const char *folder = getenv("DX_SHARED_DATA");

    (void)snprintf(path, DX_TEST_PATH, "%s/%s", folder == NULL ? "../shared/data" : folder, name);
    return access(path, R_OK) == 0;
}

void dx_test_read(const char *path, struct dx_buf *out)
{
    struct dx_error err = DX_ERROR_INIT;

    dx_buf_clear(out);
    if (dx_file_read(path, READ_MAX, out, &err) < 0)
        stop(path, err.text);
}

void dx_test_read_zst(const char *path, struct dx_buf *out)
{
    struct dx_buf packed = DX_BUF_INIT(READ_MAX);
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in;

    dx_test_read(path, &packed);
    dx_buf_clear(out);
    in = (ZSTD_inBuffer){ packed.data, packed.size, 0 };
    while (stream != NULL && in.pos < in.size) {
        char piece[1 << 16];
        ZSTD_outBuffer to = { piece, sizeof piece, 0 };
        size_t rc = ZSTD_decompressStream(stream, &to, &in);

        if (ZSTD_isError(rc))
            stop(path, ZSTD_getErrorName(rc));
        dx_buf_append(out, piece, to.pos);
    }
    if (stream == NULL || out->failed)
        stop(path, "out of memory");
    (void)ZSTD_freeDStream(stream);
    dx_buf_release(&packed);
}

static struct dx_psl *psl_of(struct dx_span text, const char *name)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_psl *psl = NULL;

    if (dx_psl_new(&psl, text, &err) < 0)
        stop(name, err.text);
    return psl;
}

struct dx_psl *dx_test_psl(const char *text)
{
    return psl_of(dx_span_str(text), "built-in list");
}

struct dx_psl *dx_test_psl_file(const char *path)
{
    struct dx_buf text = DX_BUF_INIT(READ_MAX);
    struct dx_psl *psl;

    dx_test_read(path, &text);
    psl = psl_of((struct dx_span){ text.data, text.size }, path);
    dx_buf_release(&text);
    return psl;
}

bool dx_test_line(struct dx_span *text, struct dx_span *line)
{
    if (text->size == 0)
        return false;
    *line = dx_test_field(text, '\n');
    return true;
}

struct dx_span dx_test_field(struct dx_span *line, char by)
{
    const uint8_t *at = line->size == 0 ? NULL : memchr(line->data, by, line->size);
    size_t size = at == NULL ? line->size : (size_t)(at - line->data);
    struct dx_span field = { line->data, size };

    line->data += size + (at != NULL);
    line->size -= size + (at != NULL);
    return field;
}

static bool is_escape(struct dx_span s, size_t at)
{
    return s.data[at] == '%' && s.size - at > 2 && isxdigit(s.data[at + 1]) &&
           isxdigit(s.data[at + 2]);
}

/* Rule 7. An escape is decoded if its character is unreserved, but not where the decoded
 * character would be the first or second hex digit behind a '%' that begins no escape. */
static void escape_rule(struct dx_span s, struct dx_buf *out)
{
    for (size_t i = 0; i < s.size; i++) {
        char digits[3] = "";
        bool joins;
        int c;

        if (!is_escape(s, i)) {
            dx_buf_u8(out, s.data[i]);
            continue;
        }
        memcpy(digits, s.data + i + 1, 2);
        c = (int)strtol(digits, NULL, 16);
        joins = isxdigit(c) && ((i >= 1 && s.data[i - 1] == '%') ||
                                (i >= 2 && s.data[i - 2] == '%' && isxdigit(s.data[i - 1])));
        if (c < 128 && (isalnum(c) || (c != 0 && strchr("-._~", c) != NULL)) && !joins)
            dx_buf_u8(out, (uint8_t)c);
        else
            dx_buf_fmt(out, "%%%02X", (unsigned)c);
        i += 2;
    }
}

void dx_test_path_rules(struct dx_span pathname, struct dx_buf *out)
{
    struct dx_buf escaped = DX_BUF_INIT(READ_MAX);

    escape_rule(pathname, &escaped);
    dx_buf_clear(out);
    for (size_t i = 0; i < escaped.size; i++) {
        if (escaped.data[i] == '/' && i > 0 && escaped.data[i - 1] == '/')
            continue;
        if (escaped.data[i] == '^') /* in the standard's path encode set since 2024 */
            dx_buf_str(out, "%5E");
        else
            dx_buf_u8(out, escaped.data[i]);
    }
    dx_buf_release(&escaped);
}

static struct dx_span key_of(struct dx_span pair)
{
    return dx_test_field(&pair, '=');
}

void dx_test_query_rules(struct dx_span search, struct dx_buf *out)
{
    static struct dx_span pairs[8193];
    struct dx_buf escaped = DX_BUF_INIT(READ_MAX);
    struct dx_span left;
    size_t count = 0;

    dx_buf_clear(out);
    if (search.size > 0)
        escape_rule((struct dx_span){ search.data + 1, search.size - 1 }, &escaped);
    left = (struct dx_span){ escaped.data, escaped.size };
    if (left.size == 0)
        goto out;
    for (size_t begin = 0; begin <= left.size;) {
        struct dx_span rest = { left.data + begin, left.size - begin };

        if (count == sizeof pairs / sizeof *pairs)
            stop("query rules", "too many pairs");
        pairs[count] = dx_test_field(&rest, '&');
        begin += pairs[count++].size + 1;
    }
    /* Selection by "the first of the least keys", again and again: slow and plainly stable. */
    for (size_t done = 0; done < count; done++) {
        size_t least = done;
        struct dx_span pair;

        for (size_t i = done + 1; i < count; i++)
            if (dx_span_compare(key_of(pairs[i]), key_of(pairs[least])) < 0)
                least = i;
        pair = pairs[least];
        memmove(pairs + done + 1, pairs + done, (least - done) * sizeof *pairs);
        pairs[done] = pair;
        dx_buf_u8(out, done == 0 ? '?' : '&');
        dx_buf_append(out, pair.data, pair.size);
    }
out:
    dx_buf_release(&escaped);
}
