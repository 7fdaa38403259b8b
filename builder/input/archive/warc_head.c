/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/archive/warc_head.h"

#include "base/decimal.h"

#include <ctype.h>
#include <strings.h>

bool dx_warc_begins(struct dx_span bytes)
{
    return bytes.size >= 6 && memcmp(bytes.data, "WARC/", 5) == 0 &&
           (bytes.data[5] == '1' || bytes.data[5] == '0');
}

size_t dx_http_head_size(struct dx_span bytes)
{
    const uint8_t *at = bytes.data;
    const uint8_t *end = bytes.data + bytes.size;

    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at++;
        if (at < end && *at == '\n')
            return (size_t)(at + 1 - bytes.data);
        if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
            return (size_t)(at + 2 - bytes.data);
    }
    return 0;
}

/* The next line, without its end. */
static struct dx_span next_line(struct dx_span *rest)
{
    const uint8_t *end = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
    size_t n = end == NULL ? rest->size : (size_t)(end - rest->data);
    struct dx_span line = dx_span_of(rest->data, n);

    n += end != NULL;
    *rest = dx_span_from(*rest, n);
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

static bool is_folded(struct dx_span rest)
{
    return rest.size > 0 && (rest.data[0] == ' ' || rest.data[0] == '\t');
}

/* "WARC/1.0" */
static bool is_version(struct dx_span s)
{
    size_t n = 7;

    if (!dx_warc_begins(s) || s.size < 8 || s.data[6] != '.')
        return false;
    while (n < s.size && isdigit(s.data[n]))
        n++;
    return n > 7 && dx_span_trimmed(dx_span_from(s, n)).size == 0;
}

static bool is_field_of(struct dx_span line, const char *name)
{
    size_t n = strlen(name);

    return line.size > n && line.data[n] == ':' &&
           strncasecmp((const char *)line.data, name, n) == 0;
}

/* "name: value", or what continues the value of the line before. */
static bool is_field(struct dx_span line)
{
    size_t n = 0;

    if (is_folded(line))
        return true;
    while (n < line.size && line.data[n] > ' ' && line.data[n] != ':' && line.data[n] != 0x7f)
        n++;
    return n > 0 && n < line.size && line.data[n] == ':';
}

/* Where the version of another record begins at the end of the line; line.size: nowhere. */
static size_t find_version(struct dx_span line)
{
    const uint8_t *at = memrchr(line.data, '/', line.size);
    size_t n = at == NULL || at - line.data < 4 ? line.size : (size_t)(at - 4 - line.data);

    return is_version(dx_span_from(line, n)) ? n : line.size;
}

/* A record that was cut inside its head, with the next one behind it: a line that is not a field, or a value
 * that ends with the version of that one. A URL may end so: what is behind it tells. */
static bool is_cut(struct dx_span line)
{
    return !is_field(line) ||
           (find_version(line) < line.size && !is_field_of(line, "WARC-Target-URI"));
}

size_t dx_warc_head_size(struct dx_span bytes)
{
    struct dx_span left = bytes;
    bool is_first = true;

    while (left.size > 0 && memchr(left.data, '\n', left.size) != NULL) {
        struct dx_span at = left;
        struct dx_span line = next_line(&left);

        if (!is_first && line.size == 0)
            return (size_t)(left.data - bytes.data);
        if (!is_first && is_cut(line))
            return (size_t)(at.data - bytes.data);
        is_first = false;
    }
    return 0;
}

struct dx_span dx_head_field(struct dx_span head, const char *name)
{
    size_t n = strlen(name);

    while (head.size > 0) {
        struct dx_span line = next_line(&head);
        struct dx_span value;

        if (!is_field_of(line, name))
            continue;
        value = dx_span_of(line.data + n + 1, line.size - n - 1);
        while (is_folded(head)) {
            line = next_line(&head);
            value.size = (size_t)(line.data + line.size - value.data);
        }
        return dx_span_trimmed(value);
    }
    return (struct dx_span){ NULL, 0 };
}

enum dx_warc_type dx_warc_type(struct dx_span name)
{
    static const char *const names[] = { [DX_WARC_OTHER] = "",
                                         [DX_WARC_RESPONSE] = "response",
                                         [DX_WARC_RESOURCE] = "resource",
                                         [DX_WARC_CONVERSION] = "conversion",
                                         [DX_WARC_REVISIT] = "revisit",
                                         [DX_WARC_METADATA] = "metadata" };

    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (dx_span_is_word(name, names[i]))
            return (enum dx_warc_type)i;
    return DX_WARC_OTHER;
}

/* Whether what is behind a URL that ends with a version is the head of a record by itself. */
static bool is_head_of_another(struct dx_span rest)
{
    enum dx_warc_type type = dx_warc_type(dx_head_field(rest, "WARC-Type"));

    return dx_head_field(rest, "WARC-Type").size > 0 &&
           dx_head_field(rest, "Content-Length").size > 0 &&
           (dx_head_field(rest, "WARC-Target-URI").size > 0 || type == DX_WARC_OTHER ||
            type == DX_WARC_METADATA);
}

/* Whether all of its lines are of one record, up to an empty one. */
static bool is_whole(struct dx_span head)
{
    struct dx_span line = next_line(&head);

    while (head.size > 0 && (line = next_line(&head)).size > 0)
        if (is_cut(line) || (find_version(line) < line.size && is_head_of_another(head)))
            return false;
    return line.size == 0;
}

const char *dx_warc_head_parse(struct dx_span head, struct dx_warc_head *record)
{
    struct dx_span first = head;
    struct dx_span url = dx_head_field(head, "WARC-Target-URI");
    struct dx_span type = dx_head_field(head, "WARC-Type");

    *record = (struct dx_warc_head){ .type = dx_warc_type(type) };
    record->content_type = dx_head_field(head, "Content-Type");
    if (url.size >= 2 && url.data[0] == '<' && url.data[url.size - 1] == '>')
        url = dx_span_of(url.data + 1, url.size - 2);
    record->url = url;
    if (!is_version(next_line(&first)))
        return "its version is none of 0.17 to 1.1";
    if (!is_whole(head))
        return "its head is cut or damaged";
    if (!dx_decimal(dx_head_field(head, "Content-Length"), INT64_MAX, &record->content_length))
        return "its Content-Length is not a number";
    return type.size == 0 ? "it has no WARC-Type" : NULL;
}

struct dx_span dx_head_mime(struct dx_span value)
{
    const uint8_t *end = value.size == 0 ? NULL : memchr(value.data, ';', value.size);

    return dx_span_trimmed(end == NULL ? value
                                       : dx_span_of(value.data, (size_t)(end - value.data)));
}

/* "HTTP/1.1 200 OK", "HTTP/2 200" */
struct dx_span dx_http_status(struct dx_span block)
{
    struct dx_span none = { NULL, 0 };
    struct dx_span line;
    const uint8_t *blank;
    size_t n = 0;

    if (block.size < 5 || memcmp(block.data, "HTTP/", 5) != 0)
        return none;
    line = next_line(&block);
    blank = memchr(line.data, ' ', line.size);
    if (blank == NULL)
        return none;
    line = dx_span_trimmed(dx_span_of(blank, (size_t)(line.data + line.size - blank)));
    while (n < line.size && isdigit(line.data[n]))
        n++;
    return n == 3 ? dx_span_of(line.data, 3) : none;
}
