/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/cdx_line.h"

#include <ctype.h>
#include <strings.h>

#define TIME_DIGITS 14
#define TIME_DIGITS_MAX 20 /* with a fraction of the second */

static const struct {
    char letter;
    const char *name;
} letters[] = {
    { 'A', "urlkey" },     { 'N', "urlkey" },         { 'b', "timestamp" }, { 'a', "original" },
    { 'm', "mimetype" },   { 's', "statuscode" },     { 'k', "digest" },    { 'c', "checksum" },
    { 'r', "redirect" },   { 'M', "robotflags" },     { 'S', "length" },    { 'n', "arc_length" },
    { 'V', "offset" },     { 'v', "arc_offset" },     { 'g', "filename" },  { 'e', "ip" },
    { 'h', "host" },       { 'p', "path" },           { 't', "title" },     { 'Q', "language" },
    { 'D', "dat_offset" }, { 'd', "raw_dat_offset" },
};

/* Of lines without a header. */
static const char *const usual[] = { "urlkey",      "timestamp",    "original", "mimetype",
                                     "statuscode",  "digest",       "redirect", "robotflags",
                                     "length",      "offset",       "filename", "orig_length",
                                     "orig_offset", "orig_filename" };

static struct dx_span word(struct dx_span *rest)
{
    const uint8_t *end = memchr(rest->data, ' ', rest->size);
    size_t n = end == NULL ? rest->size : (size_t)(end - rest->data);
    struct dx_span s = dx_span_of(rest->data, n);

    n += end != NULL;
    *rest = dx_span_from(*rest, n);
    return s;
}

static size_t leading_digits(struct dx_span s)
{
    size_t n = 0;

    while (n < s.size && isdigit(s.data[n]))
        n++;
    return n;
}

/* "com,example)/a", "example.com/a", "dns:example.com" */
static bool is_key(struct dx_span key)
{
    for (size_t i = 0; i < key.size; i++)
        if (key.data[i] == ')' || key.data[i] == '/' || key.data[i] == ':')
            return true;
    return false;
}

/* "com,example)/ 20240102030405 ..." */
enum dx_cdx_kind dx_cdx_kind(struct dx_span line)
{
    struct dx_span key = word(&line);
    size_t digits = leading_digits(line);

    if (digits < TIME_DIGITS || digits > TIME_DIGITS_MAX || line.size == digits || !is_key(key))
        return DX_CDX_NONE;
    line = dx_span_from(line, digits);
    if (line.data[0] == '\t')
        return DX_CDX_CLUSTER;
    if (line.data[0] != ' ' || line.size == 1)
        return DX_CDX_NONE;
    return line.data[1] == '{' ? DX_CDX_JSON : DX_CDX_LINE;
}

bool dx_cdx_is_header(struct dx_span line)
{
    return line.size >= 5 &&
           (memcmp(line.data, " CDX ", 5) == 0 || memcmp(line.data, "CDX ", 4) == 0);
}

bool dx_cdx_passed_over(struct dx_span line)
{
    return dx_cdx_is_header(line) ||
           (line.size > 0 && (line.data[0] == '!' || line.data[0] == '@'));
}

size_t dx_cdx_split(struct dx_span line, struct dx_span *field, size_t max)
{
    size_t n = 0;

    while (line.size > 0 && n < max) {
        field[n] = word(&line);
        if (field[n].size == 1 && field[n].data[0] == '-')
            field[n] = (struct dx_span){ NULL, 0 };
        n++;
    }
    return n;
}

static const char *name_of(char letter)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == letter)
            return letters[i].name;
    return "";
}

static bool from_header(struct dx_span line, struct dx_cdx_layout *l)
{
    if (line.data[0] == ' ')
        (void)word(&line);
    (void)word(&line);
    while (line.size > 0 && l->count < DX_CDX_FIELDS_MAX) {
        struct dx_span letter = word(&line);

        if (letter.size != 1)
            return false;
        l->letter[l->count] = (char)letter.data[0];
        l->name[l->count++] = name_of((char)letter.data[0]);
    }
    return line.size == 0;
}

static bool from_line(struct dx_span line, struct dx_cdx_layout *l)
{
    struct dx_span field[DX_CDX_FIELDS_MAX];

    l->count = dx_cdx_split(line, field, DX_CDX_FIELDS_MAX);
    for (size_t i = 0; i < l->count; i++)
        l->name[i] = "";
    for (size_t i = 0, k = 0; i < l->count && k < sizeof usual / sizeof *usual; i++, k++) {
        if (l->count == 9 && k == 7)
            k = 9; /* no robot flags, no length */
        else if (l->count == 10 && k == 8)
            k = 9; /* no length */
        else if (l->count == 7 && k == 6)
            k = 8; /* of a CDX server: the length behind the digest */
        l->name[i] = usual[k];
    }
    return l->count == 7 || l->count == 9 || l->count == 10 || l->count == 11 || l->count == 14;
}

bool dx_cdx_layout(struct dx_span head, struct dx_cdx_layout *layout)
{
    *layout = (struct dx_cdx_layout){ .count = 0 };
    while (head.size > 0) {
        const uint8_t *end = memchr(head.data, '\n', head.size);
        size_t n = end == NULL ? head.size : (size_t)(end - head.data);
        struct dx_span line = dx_span_of(head.data, n);

        if (n > 0 && line.data[n - 1] == '\r')
            line.size--;
        if (dx_cdx_is_header(line))
            return from_header(line, layout);
        if (line.size > 0 && !dx_cdx_passed_over(line))
            return from_line(line, layout);
        n += end != NULL;
        head = dx_span_from(head, n);
    }
    return false;
}

int dx_cdx_column(const struct dx_cdx_layout *layout, const char *name)
{
    for (size_t i = 0; i < layout->count; i++)
        if (strcasecmp(layout->name[i], name) == 0 ||
            (name[0] != '\0' && name[1] == '\0' && layout->letter[i] == name[0]))
            return (int)i;
    return -1;
}

const char *dx_cdx_name(const char *given)
{
    const char *name = given[0] != '\0' && given[1] == '\0' ? name_of(given[0]) : "";

    return name[0] != '\0' ? name : given;
}

bool dx_cdx_json(struct dx_span line, struct dx_span *time, struct dx_span *json)
{
    struct dx_span rest = line;

    (void)word(&rest);
    *time = word(&rest);
    *json = rest;
    return time->size > 0 && leading_digits(*time) == time->size && rest.size > 0;
}
