/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/list_line.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define DATE_SIZE 10
#define NUMBER_MIN 8 /* digits: 20240131; "Windows 95" is a title */

static bool is_control(uint8_t c)
{
    return c < ' ' || c == 0x7f;
}

static struct dx_span without_ends(struct dx_span s)
{
    while (s.size > 0 && s.data[0] <= ' ')
        s = dx_span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && s.data[s.size - 1] <= ' ')
        s.size--;
    return s;
}

static const uint8_t *find_control(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (is_control(s.data[i]))
            return s.data + i;
    return NULL;
}

bool dx_span_has_control(struct dx_span text)
{
    return find_control(without_ends(text)) != NULL;
}

bool dx_list_line_has_blank(struct dx_span line)
{
    struct dx_span s = without_ends(line);

    return s.size > 0 && memchr(s.data, ' ', s.size) != NULL;
}

/* Bytes that can separate columns. */
static const uint8_t separates[256] = {
    [0x00 ... ' '] = 1, [0x7f] = 1, [','] = 1, [';'] = 1, ['|'] = 1
};

/* Nearly no line has one of them: eight bytes to a branch. */
static bool may_split(struct dx_span s)
{
    size_t i = 0;

    for (; s.size - i >= 8; i += 8) {
        const uint8_t *p = s.data + i;

        if ((separates[p[0]] | separates[p[1]] | separates[p[2]] | separates[p[3]] |
             separates[p[4]] | separates[p[5]] | separates[p[6]] | separates[p[7]]) != 0)
            return true;
    }
    for (; i < s.size; i++)
        if (separates[s.data[i]] != 0)
            return true;
    return false;
}

static bool ends_cell(struct dx_span s, size_t at, const char *ends)
{
    return at == s.size || (s.data[at] != 0 && strchr(ends, s.data[at]) != NULL);
}

/* 2024-01-31 or, if `slashes`, 2024/01/31, in front of one of `ends` or of nothing. */
static bool is_date(struct dx_span s, bool slashes, const char *ends)
{
    for (size_t i = 0; i < DATE_SIZE; i++) {
        bool between = i == 4 || i == 7;

        if (i == s.size || (!between && !isdigit(s.data[i])) ||
            (between && s.data[i] != '-' && !(slashes && s.data[i] == '/')))
            return false;
    }
    return ends_cell(s, DATE_SIZE, ends);
}

static bool is_long_number(struct dx_span s)
{
    size_t n = 0;

    while (n < s.size && isdigit(s.data[n]))
        n++;
    return n >= NUMBER_MIN && ends_cell(s, n, " ,;|.");
}

static bool begins(struct dx_span s, const char *text)
{
    size_t n = strlen(text);

    return s.size >= n && strncasecmp((const char *)s.data, text, n) == 0;
}

/* What stands behind the first blanks is a column of its own. */
static bool is_behind_blanks(struct dx_span s)
{
    return begins(s, "http://") || begins(s, "https://") || is_long_number(s) ||
           (s.data[0] == '#' && ends_cell(s, 1, " ")) || is_date(s, true, "T ,;|");
}

static size_t host_end(struct dx_span s, size_t at)
{
    while (at < s.size && s.data[at] != 0 && strchr("/\\?#", s.data[at]) == NULL)
        at++;
    return at;
}

/* A comma or a semicolon in the host, which no name has; else DX_LIST_LINE_WHOLE. */
static int split_in_host(struct dx_span s)
{
    size_t begin = host_end(s, 0);
    size_t end = begin;

    if (begin + 1 < s.size && begin > 0 && s.data[begin - 1] == ':' && s.data[begin] == '/')
        while (begin < s.size && s.data[begin] == '/')
            end = ++begin;
    else
        begin = 0;
    for (end = host_end(s, end); end > begin && s.data[end - 1] != '@'; end--)
        if (s.data[end - 1] == ',' || s.data[end - 1] == ';')
            return s.data[end - 1];
    return DX_LIST_LINE_WHOLE;
}

static int split_by_date(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++) {
        const char ends[] = { 'T', ' ', (char)s.data[i], '\0' };

        if ((s.data[i] == ',' || s.data[i] == ';' || s.data[i] == '|') &&
            is_date(dx_span_from(s, i + 1), false, ends))
            return s.data[i];
    }
    return DX_LIST_LINE_WHOLE;
}

int dx_list_line_split(struct dx_span line)
{
    struct dx_span s = without_ends(line);
    const uint8_t *at;
    int by;

    if (!may_split(s))
        return DX_LIST_LINE_WHOLE;
    at = find_control(s);
    if (at != NULL)
        return *at;
    at = memchr(s.data, ' ', s.size);
    if (at != NULL && is_behind_blanks(without_ends(dx_span_from(s, (size_t)(at - s.data)))))
        return ' ';
    by = split_in_host(s);
    return by != DX_LIST_LINE_WHOLE ? by : split_by_date(s);
}
