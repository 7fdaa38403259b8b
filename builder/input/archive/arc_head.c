/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/archive/arc_head.h"

#include <ctype.h>

#define SCHEME_MAX 15
#define FIELDS_MAX 9 /* of a version 2 line behind its URL */
#define DATE_DIGITS_MIN 12
#define DATE_DIGITS_MAX 18 /* of which the first 14 are meant */
#define SECOND_DIGITS 14

static bool is_digits(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (!isdigit(s.data[i]))
            return false;
    return s.size > 0;
}

bool dx_arc_begins(struct dx_span bytes)
{
    return bytes.size >= 11 && memcmp(bytes.data, "filedesc://", 11) == 0;
}

bool dx_arc_may_begin(struct dx_span bytes)
{
    size_t n = 0;

    while (n < bytes.size && n < SCHEME_MAX &&
           (isalnum(bytes.data[n]) || strchr("+-.", bytes.data[n]) != NULL) && bytes.data[n] != 0)
        n++;
    return n > 0 && n < bytes.size && isalpha(bytes.data[0]) && bytes.data[n] == ':' &&
           (n + 1 == bytes.size || bytes.data[n + 1] != ' ');
}

size_t dx_arc_head_size(struct dx_span bytes)
{
    const uint8_t *end = bytes.size == 0 ? NULL : memchr(bytes.data, '\n', bytes.size);

    return end == NULL ? 0 : (size_t)(end + 1 - bytes.data);
}

/* Takes the word behind the last space off the line; false: the line has no space. */
static bool take_last(struct dx_span *line, struct dx_span *word)
{
    const uint8_t *space = memrchr(line->data, ' ', line->size);

    if (space == NULL)
        return false;
    *word = dx_span_of(space + 1, (size_t)(line->data + line->size - space - 1));
    line->size = (size_t)(space - line->data);
    return true;
}

static bool is_date(struct dx_span s)
{
    return s.size >= DATE_DIGITS_MIN && s.size <= DATE_DIGITS_MAX && is_digits(s);
}

static bool is_address(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (!isxdigit(s.data[i]) && s.data[i] != '.' && s.data[i] != ':' && s.data[i] != '-')
            return false;
    return s.size > 0;
}

static struct dx_span unless_dash(struct dx_span s)
{
    return s.size == 1 && s.data[0] == '-' ? (struct dx_span){ NULL, 0 } : s;
}

/* What is behind the date, words from the last one on. */
static bool set_rest(struct dx_arc_head *r, const struct dx_span *word, size_t n,
                     const uint8_t *mime)
{
    bool is_second = n >= 7 && is_digits(word[2]) &&
                     (is_digits(word[5]) || unless_dash(word[5]).data == NULL);
    size_t behind = is_second ? 6 : 1; /* of which the MIME type is in front */

    if (n <= behind)
        return false;
    r->length = word[0];
    r->mime = dx_span_of(mime, (size_t)(word[behind].data + word[behind].size - mime));
    if (is_second) {
        r->checksum = unless_dash(word[4]);
        r->status = unless_dash(word[5]);
    }
    return true;
}

/* The line as fields, whatever its URL is. */
static bool split_line(struct dx_span line, struct dx_arc_head *r)
{
    struct dx_span word[FIELDS_MAX];
    size_t n = 0;
    size_t kept;

    *r = (struct dx_arc_head){ .url = { NULL, 0 } };
    while (line.size > 0 && (line.data[line.size - 1] == '\n' || line.data[line.size - 1] == '\r'))
        line.size--;
    /* The words that a version 2 line has, and beyond them one at a time: a MIME type may have spaces. */
    for (;;) {
        struct dx_span before, address;

        if (!take_last(&line, &word[kept = n < FIELDS_MAX ? n : FIELDS_MAX - 1]))
            return false;
        n++;
        before = line;
        if (n < 3 || !is_date(word[kept]) || !take_last(&before, &address) || !is_address(address))
            continue;
        r->date = word[kept];
        r->ip = address;
        r->url = dx_span_trimmed(before);
        return r->url.size > 0 && set_rest(r, word, kept, r->date.data + r->date.size + 1);
    }
}

/* Where a URL begins in the word; word.size: nowhere. */
static size_t find_scheme(struct dx_span word)
{
    static const char *const schemes[] = { "http://", "https://", "ftp://", "dns:", "filedesc://" };
    size_t first = word.size;

    for (size_t i = 0; word.size > 0 && i < sizeof schemes / sizeof *schemes; i++) {
        const uint8_t *at = memmem(word.data, word.size, schemes[i], strlen(schemes[i]));

        if (at != NULL && (size_t)(at - word.data) < first)
            first = (size_t)(at - word.data);
    }
    return first;
}

/* The first URL of the last word that has one; url.size: none. */
static size_t find_last_url(struct dx_span url)
{
    for (size_t end = url.size; end > 0;) {
        const uint8_t *blank = memrchr(url.data, ' ', end);
        size_t begin = blank == NULL ? 0 : (size_t)(blank + 1 - url.data);
        size_t at = find_scheme(dx_span_of(url.data + begin, end - begin));

        if (at < end - begin)
            return begin + at;
        end = begin == 0 ? 0 : begin - 1;
    }
    return url.size;
}

/* Whether the text begins with an address, or is the beginning of one. */
static bool is_cut_behind_url(struct dx_span text)
{
    size_t n = 0;
    unsigned dots = 0;

    for (; n < text.size && (isdigit(text.data[n]) || text.data[n] == '.'); n++)
        dots += text.data[n] == '.';
    return n > 0 && isdigit(text.data[0]) && (n == text.size || (text.data[n] == ' ' && dots == 3));
}

/* Where in what stands for the URL another record begins; url.size: nowhere. */
static size_t find_cut(struct dx_span url)
{
    const uint8_t *blank = memchr(url.data, ' ', url.size);
    size_t behind = blank == NULL ? url.size : (size_t)(blank + 1 - url.data);
    size_t at = find_last_url(url);

    return at > behind && at < url.size &&
                   is_cut_behind_url(dx_span_of(url.data + behind, at - behind))
               ? at
               : url.size;
}

/* What a line was cut in, with a URL behind it, may look like a scheme. */
static bool is_glued(struct dx_span url)
{
    size_t at = find_scheme(url);
    size_t n = 0;

    while (n < at && (isalnum(url.data[n]) || memchr("+-.:", url.data[n], 4) != NULL))
        n++;
    return at > 0 && at < url.size && n == at;
}

bool dx_arc_head_parse(struct dx_span line, struct dx_arc_head *r)
{
    return dx_arc_may_begin(line) && split_line(line, r) && find_cut(r->url) == r->url.size;
}

size_t dx_arc_find(struct dx_span line, bool is_line_start)
{
    struct dx_arc_head r;
    size_t at;

    if (is_line_start && dx_arc_head_parse(line, &r) && !is_glued(r.url))
        return 0;
    if (!split_line(line, &r) || !is_digits(r.length))
        return line.size;
    at = find_last_url(r.url);
    if (at == r.url.size)
        return line.size;
    at = (size_t)(r.url.data + at - line.data);
    return dx_arc_head_parse(dx_span_from(line, at), &r) ? at : line.size;
}

static void put_field(struct dx_buf *out, const char *name, struct dx_span value)
{
    if (value.data == NULL)
        return;
    dx_buf_fmt(out, "%s: ", name);
    dx_buf_append(out, value.data, value.size);
    dx_buf_str(out, "\r\n");
}

/* 20080430204825 as 2008-04-30T20:48:25Z; dates of fewer digits as they are. */
static void put_date(struct dx_buf *out, struct dx_span date)
{
    const char *d = (const char *)date.data;

    if (date.size < SECOND_DIGITS)
        put_field(out, "WARC-Date", date);
    else
        dx_buf_fmt(out, "WARC-Date: %.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ\r\n", d, d + 4, d + 6, d + 8,
                   d + 10, d + 12);
}

void dx_arc_head_as_warc(const struct dx_arc_head *r, struct dx_buf *out)
{
    bool no_type = dx_span_is_word(r->mime, "no-type") || unless_dash(r->mime).data == NULL;

    dx_buf_fmt(out, "WARC/1.0\r\nWARC-Type: %s\r\n",
               dx_arc_begins(r->url) ? "warcinfo" : "response");
    put_field(out, "WARC-Target-URI", r->url);
    put_date(out, r->date);
    put_field(out, "WARC-IP-Address", r->ip);
    put_field(out, "Content-Type", no_type ? (struct dx_span){ NULL, 0 } : r->mime);
    put_field(out, "Content-Length", r->length);
    put_field(out, "WARC-Payload-Digest", r->checksum);
    put_field(out, "Result-Code", r->status);
    dx_buf_str(out, "\r\n");
}
