/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_file.h"

#include "base/file.h"

#include <ini.h>
#include <stdlib.h>
#include <string.h>

/* What inih is given, line by line. Its reader hands out one checked line at a time, which
 * also tells the handler the number of the line it is called for. */
struct reading {
    struct dx_config_file *file;
    const char *name;
    struct dx_bytes left;
    const struct dx_option *table;
    size_t table_size;
    unsigned line;
    int rc;
    struct dx_error *err;
};

static int refuse(struct reading *r, const char *what, const char *word)
{
    if (r->rc == DX_OK)
        r->rc = dx_fail(r->err, DX_E_INVALID, "%s:%u: %s%s%s%s", r->name, r->line, what,
                        word == NULL ? "" : " '", word == NULL ? "" : word,
                        word == NULL ? "" : "'");
    return 0;
}

/* inih trims, joins indented lines to the value above and cuts comments off values; what it
 * would change is refused instead, so that a line means what it says. */
static bool line_is_plain(struct reading *r, struct dx_span line)
{
    size_t i = 0;

    if (line.size > DX_CONFIG_LINE_MAX)
        return refuse(r, "the line is over 180 bytes", NULL);
    for (; i < line.size; i++)
        if ((line.data[i] < 0x20 && line.data[i] != '\t') || line.data[i] == 0x7f)
            return refuse(r, "a control byte", NULL);
    for (i = 0; i < line.size && (line.data[i] == ' ' || line.data[i] == '\t'); i++)
        ;
    if (i > 0 && i < line.size)
        return refuse(r, "the line begins with white space", NULL);
    if (line.size == 0 || i == line.size || line.data[0] == '#' || line.data[0] == ';')
        return true;
    if (line.data[0] == '[')
        return refuse(r, "there are no sections", NULL);
    if (memchr(line.data, '=', line.size) == NULL)
        return refuse(r, "not 'key = value'", NULL);
    for (i = 1; i < line.size; i++)
        if (line.data[i] == ';' && (line.data[i - 1] == ' ' || line.data[i - 1] == '\t'))
            return refuse(r, "a comment behind a value; give it a line of its own", NULL);
    return true;
}

static char *next_line(char *to, int room, void *stream)
{
    struct reading *r = stream;
    size_t left = dx_bytes_left(&r->left);
    const uint8_t *newline;
    struct dx_span line;

    if (r->rc != DX_OK || left == 0)
        return NULL;
    newline = memchr(r->left.at, '\n', left);
    line = dx_bytes_take(&r->left, newline == NULL ? left : (size_t)(newline - r->left.at));
    if (newline != NULL)
        (void)dx_bytes_take(&r->left, 1);
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    r->line++;
    if (!line_is_plain(r, line))
        return NULL;
    if (room < 0 || line.size + 2 > (size_t)room) {
        (void)refuse(r, "the line does not fit the reader", NULL);
        return NULL;
    }
    if (line.size > 0)
        memcpy(to, line.data, line.size);
    to[line.size] = '\n';
    to[line.size + 1] = '\0';
    return to;
}

static int add_entry(struct reading *r, size_t index, const char *value)
{
    struct dx_config_file *f = r->file;
    struct dx_config_entry *entries = realloc(f->entries, (f->count + 1) * sizeof *entries);

    if (entries == NULL) {
        r->rc = dx_fail(r->err, DX_E_NOMEM, "%s: out of memory", r->name);
        return 0;
    }
    f->entries = entries;
    entries[f->count] = (struct dx_config_entry){ index, r->line, strdup(value) };
    if (entries[f->count].text == NULL) {
        r->rc = dx_fail(r->err, DX_E_NOMEM, "%s: out of memory", r->name);
        return 0;
    }
    f->count++;
    return 1;
}

static int take(void *user, const char *section, const char *key, const char *value)
{
    struct reading *r = user;
    size_t index = 0;

    (void)section;
    while (index < r->table_size && strcmp(r->table[index].name, key) != 0)
        index++;
    if (index == r->table_size)
        return refuse(r, "unknown key", key);
    if (r->table[index].arg == NULL)
        return refuse(r, "only for the command line:", key);
    for (size_t i = 0; i < r->file->count; i++)
        if (r->file->entries[i].index == index)
            return refuse(r, "given twice:", key);
    if (value == NULL || value[0] == '\0')
        return refuse(r, "no value for", key);
    return add_entry(r, index, value);
}

int dx_config_file_parse(struct dx_config_file *f, const char *name, struct dx_span text,
                         const struct dx_option *table, size_t table_size, struct dx_error *err)
{
    struct reading r = { .file = f,
                         .name = name,
                         .left = dx_bytes_of(text),
                         .table = table,
                         .table_size = table_size,
                         .err = err };

    *f = (struct dx_config_file){ NULL, 0 };
    if (text.size > DX_CONFIG_FILE_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: over %d bytes", name, DX_CONFIG_FILE_MAX);
    if (ini_parse_stream(next_line, &r, take, &r) != 0 && r.rc == DX_OK)
        (void)refuse(&r, "not 'key = value'", NULL);
    if (r.rc < 0)
        dx_config_file_release(f);
    return r.rc;
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

void dx_config_file_release(struct dx_config_file *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->entries[i].text);
    free(f->entries);
    *f = (struct dx_config_file){ NULL, 0 };
}
