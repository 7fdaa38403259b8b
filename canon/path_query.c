/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/path_query.h"

#include <assert.h>
#include <stdlib.h>

/* What to do with a byte, by bit, in a path and in a query. */
enum {
    PATH_STOP = 1,    /* '/', '\', '?', '#': ends a segment */
    PATH_ENCODE = 2,  /* the path percent-encode set */
    QUERY_STOP = 4,   /* '#' */
    QUERY_ENCODE = 8, /* the special-query percent-encode set */
    PERCENT = 16,
    UNRESERVED = 32,
    HEX = 64,
    NO_SLASH = 128 /* a PATH_STOP that is not '/' */
};
enum { BOTH = PATH_ENCODE | QUERY_ENCODE };

static const uint8_t classes[256] = {
    [0x00 ... 0x20] = BOTH,
    [0x7f ... 0xff] = BOTH,
    ['"'] = BOTH,
    ['<'] = BOTH,
    ['>'] = BOTH,
    ['\''] = QUERY_ENCODE,
    ['^'] = PATH_ENCODE,
    ['`'] = PATH_ENCODE,
    ['{'] = PATH_ENCODE,
    ['}'] = PATH_ENCODE,
    ['/'] = PATH_STOP,
    ['\\'] = PATH_STOP | NO_SLASH,
    ['?'] = PATH_STOP | NO_SLASH,
    ['#'] = PATH_STOP | NO_SLASH | QUERY_STOP,
    ['%'] = PERCENT,
    ['-'] = UNRESERVED,
    ['.'] = UNRESERVED,
    ['_'] = UNRESERVED,
    ['~'] = UNRESERVED,
    ['0' ... '9'] = UNRESERVED | HEX,
    ['A' ... 'F'] = UNRESERVED | HEX,
    ['a' ... 'f'] = UNRESERVED | HEX,
    ['G' ... 'Z'] = UNRESERVED,
    ['g' ... 'z'] = UNRESERVED,
};

static const char hex_digits[] = "0123456789ABCDEF";

static uint8_t hex_value(uint8_t c)
{
    return c <= '9' ? (uint8_t)(c - '0') : (uint8_t)((c | 0x20) - 'a' + 10);
}

static uint8_t *put_encoded(uint8_t *out, uint8_t c)
{
    *out++ = '%';
    *out++ = (uint8_t)hex_digits[c >> 4];
    *out++ = (uint8_t)hex_digits[c & 15];
    return out;
}

/* Would the hex digit about to stand at `out` become part of an escape that begins with the
 * '%' at `lone`? "%%34%31" must not become "%41", which would mean 'A' the next time. */
static bool completes_escape(const uint8_t *lone, const uint8_t *out)
{
    return lone != NULL && (out - lone == 1 || (out - lone == 2 && (classes[out[-1]] & HEX) != 0));
}

/* Copies up to the first byte of class `stop`, encoding bytes of class `encode`; decodes
 * escapes of unreserved characters and writes the digits of the others in upper case. */
static uint8_t *put_text(uint8_t *out, const uint8_t **from, const uint8_t *end, unsigned stop,
                         unsigned encode)
{
    const uint8_t *p = *from;
    const uint8_t *lone = NULL; /* the last '%' written that begins no escape */

    while (p < end) {
        uint8_t c = *p;
        uint8_t class = classes[c];

        if ((class & (stop | encode | PERCENT)) == 0) {
            *out++ = c;
            p++;
        } else if ((class & stop) != 0) {
            break;
        } else if ((class & encode) != 0) {
            out = put_encoded(out, c);
            p++;
        } else if (end - p > 2 && (classes[p[1]] & HEX) != 0 && (classes[p[2]] & HEX) != 0) {
            c = (uint8_t)(hex_value(p[1]) << 4 | hex_value(p[2]));
            p += 3;
            if ((classes[c] & UNRESERVED) != 0 &&
                !((classes[c] & HEX) != 0 && completes_escape(lone, out)))
                *out++ = c;
            else
                out = put_encoded(out, c);
        } else {
            lone = out;
            *out++ = '%';
            p++;
        }
    }
    *from = p;
    return out;
}

/* Drops each '/' that follows one. */
static uint8_t *collapse(uint8_t *begin, uint8_t *end)
{
    uint8_t *out = begin;

    for (const uint8_t *p = begin; p < end; p++)
        if (*p != '/' || p == begin || p[-1] != '/')
            *out++ = *p;
    return out;
}

/* Whether "//" or "/." begins in the 8 bytes at p; of 9. '.' and '/' differ in the lowest bit. */
static bool has_slash_pair(const uint8_t *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t differ = (dx_load_u64(p) ^ '/' * ones) | ((dx_load_u64(p + 1) | ones) ^ '/' * ones);

    return ((differ - ones) & ~differ & 0x80 * ones) != 0;
}

/* The size of what stays as it is at the front of a path, by 8 bytes; the rest is for a closer look. */
static size_t plain_words(struct dx_span text)
{
    size_t i = 0;

    for (; text.size - i > 8; i += 8) {
        const uint8_t *p = text.data + i;
        unsigned all = classes[p[0]] | classes[p[1]] | classes[p[2]] | classes[p[3]] |
                       classes[p[4]] | classes[p[5]] | classes[p[6]] | classes[p[7]];

        if ((all & (PATH_ENCODE | PERCENT | NO_SLASH)) != 0 ||
            ((all & PATH_STOP) != 0 && has_slash_pair(p)))
            break;
    }
    return i;
}

bool dx_path_query_is_plain(struct dx_span text)
{
    enum { NOT_IN_PATH = PATH_STOP | PATH_ENCODE | PERCENT };
    enum { NOT_IN_QUERY = QUERY_STOP | QUERY_ENCODE | PERCENT };
    size_t query;
    size_t i;

    if (text.size == 0 || text.data[0] != '/')
        return false;
    for (i = plain_words(text); i < text.size; i++) {
        if ((classes[text.data[i]] & NOT_IN_PATH) == 0)
            continue;
        if (text.data[i] != '/')
            break;
        if (i + 1 < text.size && (text.data[i + 1] == '/' || text.data[i + 1] == '.'))
            return false;
    }
    if (i == text.size)
        return true;
    if (text.data[i] != '?')
        return false;
    query = i + 1;
    for (i = query; i < text.size; i++)
        if ((classes[text.data[i]] & NOT_IN_QUERY) != 0 || text.data[i] == '&')
            return false;
    return query != text.size; /* a lone '?' asks nothing */
}

uint8_t *dx_path_write(uint8_t *out, struct dx_span *rest)
{
    const uint8_t *p = rest->data;
    const uint8_t *end = rest->data + rest->size;
    uint8_t *begin = out;
    bool doubled = false;

    if (p == end || (*p != '/' && *p != '\\')) {
        *out++ = '/';
        return out;
    }
    /* Dots are resolved while empty segments still count, as the URL Standard has it; only
     * then are slashes collapsed. So "/a//../b" is "/a/b", before and after. */
    for (;;) {
        uint8_t *segment;
        bool last;

        p++;
        *out++ = '/';
        segment = out;
        out = put_text(out, &p, end, PATH_STOP, PATH_ENCODE);
        last = p == end || *p == '?' || *p == '#';
        if (out == segment + 1 && segment[0] == '.') {
            out = last ? segment : segment - 1;
        } else if (out == segment + 2 && segment[0] == '.' && segment[1] == '.') {
            out = segment - 1;
            while (out > begin && *--out != '/')
                ;
            if (last)
                *out++ = '/';
        } else if (out == segment && !last) {
            doubled = true;
        }
        if (last)
            break;
    }
    rest->size -= (size_t)(p - rest->data);
    rest->data = p;
    return doubled ? collapse(begin, out) : out;
}

static int compare_keys(const struct dx_query_pair *a, const struct dx_query_pair *b)
{
    return dx_span_compare((struct dx_span){ a->text, a->key_size },
                           (struct dx_span){ b->text, b->key_size });
}

/* For qsort, which is not stable: equal keys keep the order of their places. */
static int compare_pairs(const void *left, const void *right)
{
    const struct dx_query_pair *a = left;
    const struct dx_query_pair *b = right;
    int c = compare_keys(a, b);

    return c != 0 ? c : (a->text > b->text) - (a->text < b->text);
}

static void sort_pairs(struct dx_query_pair *pairs, size_t count)
{
    if (count > 16) {
        qsort(pairs, count, sizeof *pairs, compare_pairs);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct dx_query_pair pair = pairs[i];
        size_t at = i;

        for (; at > 0 && compare_keys(&pairs[at - 1], &pair) > 0; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
}

static struct dx_query_pair pair_at(const uint8_t *text, const uint8_t *end)
{
    const uint8_t *amp = memchr(text, '&', (size_t)(end - text));
    const uint8_t *stop = amp == NULL ? end : amp;
    const uint8_t *equals = memchr(text, '=', (size_t)(stop - text));

    return (struct dx_query_pair){ text, (uint32_t)(stop - text),
                                   (uint32_t)((equals == NULL ? stop : equals) - text) };
}

/* Sorts the pairs of [begin, end) in place. */
static void sort_query(struct dx_query_work *w, uint8_t *begin, const uint8_t *end)
{
    size_t count = 0;
    bool sorted = true;
    uint8_t *out;

    for (const uint8_t *at = begin;;) {
        struct dx_query_pair *pair = &w->pairs[count++];

        *pair = pair_at(at, end);
        sorted = sorted && (count == 1 || compare_keys(pair - 1, pair) <= 0);
        at += pair->size;
        if (at == end)
            break;
        at++;
    }
    if (sorted)
        return;
    sort_pairs(w->pairs, count);
    out = w->text;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            *out++ = '&';
        if (w->pairs[i].size > 0)
            memcpy(out, w->pairs[i].text, w->pairs[i].size);
        out += w->pairs[i].size;
    }
    memcpy(begin, w->text, (size_t)(out - w->text));
}

uint8_t *dx_query_write(struct dx_query_work *w, uint8_t *out, struct dx_span *rest)
{
    const uint8_t *p = rest->data;
    const uint8_t *end = rest->data + rest->size;
    uint8_t *begin = out + 1;

    assert(rest->size <= DX_QUERY_MAX);
    if (p == end || *p != '?')
        return out;
    p++;
    *out++ = '?';
    out = put_text(out, &p, end, QUERY_STOP, QUERY_ENCODE);
    rest->size -= (size_t)(p - rest->data);
    rest->data = p;
    if (out == begin)
        return begin - 1; /* a lone '?' asks nothing */
    sort_query(w, begin, out);
    return out;
}
