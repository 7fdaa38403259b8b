/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_file.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct dx_config_file *file;
    const char *name;
    const struct dx_option *table;
    size_t table_size;
    unsigned line;
    struct dx_error *err;
};

static int refuse(const struct reading *r, const char *what, struct dx_span word)
{
    return dx_fail(r->err, DX_E_INVALID, "%s:%u: %s '%.*s'", r->name, r->line, what,
                   word.size < DX_CONFIG_SHOWN ? (int)word.size : DX_CONFIG_SHOWN,
                   word.size == 0 ? "" : (const char *)word.data);
}

/* ---- a line ---- */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static struct dx_span trim_left(struct dx_span s)
{
    while (s.size > 0 && is_space(s.data[0]))
        s = (struct dx_span){ s.data + 1, s.size - 1 };
    return s;
}

static struct dx_span trim(struct dx_span s)
{
    s = trim_left(s);
    while (s.size > 0 && is_space(s.data[s.size - 1]))
        s.size--;
    return s;
}

static bool is_comment(struct dx_span s)
{
    return s.size > 0 && (s.data[0] == '#' || s.data[0] == ';');
}

/* Between a quote and the next one of its kind; behind it a comment at most. */
static int take_quoted(const struct reading *r, struct dx_span text, struct dx_span *value)
{
    const uint8_t *end = memchr(text.data + 1, text.data[0], text.size - 1);
    struct dx_span rest;

    if (end == NULL)
        return refuse(r, "the quote is not closed:", text);
    *value = (struct dx_span){ text.data + 1, (size_t)(end - text.data) - 1 };
    rest = (struct dx_span){ end + 1, text.size - value->size - 2 };
    if (trim_left(rest).size == 0 || (is_space(rest.data[0]) && is_comment(trim_left(rest))))
        return DX_OK;
    return refuse(r, "only a comment may stand behind the quoted value:", text);
}

/* '#' and ';' begin a comment behind white space only: they are letters of paths and addresses
 * too. */
static int take_value(const struct reading *r, struct dx_span text, struct dx_span *value)
{
    size_t end = 0;

    text = trim(text);
    if (text.size > 0 && (text.data[0] == '"' || text.data[0] == '\''))
        return take_quoted(r, text, value);
    while (end < text.size &&
           !((end == 0 || is_space(text.data[end - 1])) && is_comment(dx_span_from(text, end))))
        end++;
    *value = trim((struct dx_span){ text.data, end });
    return DX_OK;
}

static int check_line(const struct reading *r, struct dx_span line)
{
    if (line.size > DX_CONFIG_LINE_MAX)
        return dx_fail(r->err, DX_E_INVALID, "%s:%u: the line is over %d bytes", r->name, r->line,
                       DX_CONFIG_LINE_MAX);
    for (size_t i = 0; i < line.size; i++)
        if ((line.data[i] < 0x20 && line.data[i] != '\t') || line.data[i] == 0x7f)
            return dx_fail(r->err, DX_E_INVALID, "%s:%u: byte %zu of the line is a control byte",
                           r->name, r->line, i + 1);
    return DX_OK;
}

/* ---- entries ---- */

static int add_entry(const struct reading *r, size_t index, struct dx_span value)
{
    struct dx_config_file *f = r->file;
    struct dx_config_entry *entries = realloc(f->entries, (f->count + 1) * sizeof *entries);
    char *text = strndup((const char *)value.data, value.size);

    if (entries != NULL)
        f->entries = entries;
    if (entries == NULL || text == NULL) {
        free(text);
        return dx_no_memory(r->err, "%s", r->name);
    }
    f->entries[f->count++] = (struct dx_config_entry){ index, r->line, text };
    return DX_OK;
}

static int take_entry(const struct reading *r, struct dx_span key, struct dx_span value)
{
    size_t index = 0;

    while (index < r->table_size && !dx_span_equal(key, dx_span_str(r->table[index].name)))
        index++;
    if (index == r->table_size)
        return refuse(r, "unknown key", key);
    if (r->table[index].arg == NULL)
        return refuse(r, "only for the command line:", key);
    if (dx_config_file_find(r->file, index) != NULL)
        return refuse(r, "given twice:", key);
    if (value.size == 0)
        return refuse(r, "no value for", key);
    return add_entry(r, index, value);
}

static int take_line(const struct reading *r, struct dx_span line)
{
    const uint8_t *equals = line.size == 0 ? NULL : memchr(line.data, '=', line.size);
    struct dx_span value = { NULL, 0 };
    int rc = check_line(r, line);

    if (rc < 0 || trim_left(line).size == 0 || is_comment(line))
        return rc;
    if (is_space(line.data[0])) /* elsewhere that goes on with the value above */
        return refuse(r, "the line begins with white space:", line);
    if (line.data[0] == '[')
        return refuse(r, "there are no sections:", line);
    if (equals == NULL)
        return refuse(r, "not 'key = value':", line);
    rc = take_value(r, (struct dx_span){ equals + 1, line.size - (size_t)(equals + 1 - line.data) },
                    &value);
    return rc < 0 ? rc
                  : take_entry(r, trim((struct dx_span){ line.data, (size_t)(equals - line.data) }),
                               value);
}

/* Without its end, "\n" or "\r\n". */
static struct dx_span next_line(struct dx_bytes *left)
{
    size_t size = dx_bytes_left(left);
    const uint8_t *newline = memchr(left->at, '\n', size);
    struct dx_span line = dx_bytes_take(left,
                                        newline == NULL ? size : (size_t)(newline - left->at));

    if (newline != NULL)
        (void)dx_bytes_take(left, 1);
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

static struct dx_span without_mark(struct dx_span text)
{
    static const uint8_t mark[] = { 0xef, 0xbb, 0xbf }; /* U+FEFF, of some editors */

    return text.size >= sizeof mark && memcmp(text.data, mark, sizeof mark) == 0
               ? (struct dx_span){ text.data + sizeof mark, text.size - sizeof mark }
               : text;
}

int dx_config_file_parse(struct dx_config_file *f, const char *name, struct dx_span text,
                         const struct dx_option *table, size_t table_size, struct dx_error *err)
{
    struct dx_bytes left = dx_bytes_of(without_mark(text));
    struct reading r = {
        .file = f, .name = name, .table = table, .table_size = table_size, .err = err
    };
    int rc = DX_OK;

    *f = (struct dx_config_file){ NULL, 0 };
    if (text.size > DX_CONFIG_FILE_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: over %d bytes", name, DX_CONFIG_FILE_MAX);
    while (rc == DX_OK && dx_bytes_left(&left) > 0) {
        r.line++;
        rc = take_line(&r, next_line(&left));
    }
    if (rc < 0)
        dx_config_file_release(f);
    return rc;
}

int dx_config_file_read(struct dx_config_file *f, const char *path, const struct dx_option *table,
                        size_t table_size, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_CONFIG_FILE_MAX + 1);
    int rc = dx_file_read(path, DX_CONFIG_FILE_MAX, &text, err);

    *f = (struct dx_config_file){ NULL, 0 };
    if (rc == DX_OK)
        rc = dx_config_file_parse(f, path, (struct dx_span){ text.data, text.size }, table,
                                  table_size, err);
    dx_buf_release(&text);
    return rc;
}

const struct dx_config_entry *dx_config_file_find(const struct dx_config_file *f, size_t index)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->entries[i].index == index)
            return &f->entries[i];
    return NULL;
}

void dx_config_file_release(struct dx_config_file *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->entries[i].text);
    free(f->entries);
    *f = (struct dx_config_file){ NULL, 0 };
}
