/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/url_mention.h"

#include "base/buf.h"
#include "canon/url.h"

#include <stdlib.h>

static bool is_equal_to_one(const struct dx_url_mention *m, struct dx_span url)
{
    for (size_t i = 0; i < m->count; i++)
        if (dx_span_equal(m->url[i], url))
            return true;
    return false;
}

bool dx_url_mention_is(const struct dx_url_mention *m, struct dx_span text)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_url canonical;

    return is_equal_to_one(m, text) ||
           (m->canon != NULL && dx_canon_url(m->canon, text, &canonical, &reject) == 1 &&
            is_equal_to_one(m, canonical.url));
}

static bool contains(struct dx_span text, struct dx_span url)
{
    const uint8_t *end = text.data + text.size;
    const uint8_t *at = text.data;

    while (url.size > 0 && (size_t)(end - at) >= url.size) {
        at = memmem(at, (size_t)(end - at), url.data, url.size);
        if (at == NULL)
            return false;
        at += url.size;
        if (at == end || *at <= ' ' || strchr("\"'<>,\\", *at) != NULL)
            return true;
    }
    return false;
}

bool dx_url_mention_in(const struct dx_url_mention *m, struct dx_span text)
{
    for (size_t i = 0; i < m->count; i++)
        if (contains(text, m->url[i]))
            return true;
    return dx_url_mention_is(m, text);
}

/* Fields of a line, whatever separates them: words without the marks around them. */
static bool has_word(const struct dx_url_mention *m, struct dx_span line)
{
    size_t begin = 0;

    for (size_t i = 0; i <= line.size; i++) {
        if (i < line.size && line.data[i] != 0 && strchr("\t ,\"", line.data[i]) == NULL)
            continue;
        if (i > begin && dx_url_mention_is(m, dx_span_of(line.data + begin, i - begin)))
            return true;
        begin = i + 1;
    }
    return false;
}

/* What JSON and CSV escape: "\/", "\u0026" and the like, and "". */
static void put_plain(struct dx_buf *plain, struct dx_span line)
{
    for (size_t i = 0; i < line.size; i++) {
        unsigned c = line.data[i];

        if (c == '\\' && line.size - i > 5 && memcmp(line.data + i, "\\u00", 4) == 0) {
            char hex[3] = { (char)line.data[i + 4], (char)line.data[i + 5], 0 };

            c = (unsigned)strtoul(hex, NULL, 16);
            i += 5;
        } else if (line.size - i > 1 && (c == '\\' || (c == '"' && line.data[i + 1] == '"'))) {
            c = line.data[++i];
        }
        dx_buf_u8(plain, (uint8_t)c);
    }
}

int dx_url_mention_line(const struct dx_url_mention *m, struct dx_span line, struct dx_error *err)
{
    struct dx_buf plain = DX_BUF_INIT(line.size + 1);
    int rc;

    if (dx_url_mention_in(m, line))
        return 1;
    put_plain(&plain, line);
    if (plain.failed)
        rc = dx_buf_fail(&plain, err, "a line");
    else
        rc = dx_url_mention_in(m, dx_span_of(plain.data, plain.size)) || has_word(m, line) ||
             has_word(m, dx_span_of(plain.data, plain.size));
    dx_buf_release(&plain);
    return rc;
}

int dx_url_mention_text(const struct dx_url_mention *m, struct dx_span text, struct dx_error *err)
{
    bool is_json = text.size > 0 && (text.data[0] == '{' || text.data[0] == '[');

    return is_json ? dx_url_mention_line(m, text, err) : dx_url_mention_in(m, text);
}
