/* SPDX-License-Identifier: Apache-2.0
 * config_file.h - a settings file whose keys are the options of a program.
 *
 *   struct dx_config_file f;
 *   rc = dx_config_file_read(&f, path, table, table_size, &err);
 *   for (size_t i = 0; i < f.count; i++)
 *       ... f.entries[i].index, .text, .line ...       in the order of the file
 *   dx_config_file_release(&f);
 *
 * "key = value" lines; no sections, no continued lines. A line that begins with '#' or ';' is a
 * comment, and so is the rest of a line behind white space and one of them. A value in " or ' is
 * taken as it stands between them (there are no escapes):
 *
 *   # domaindexd.conf
 *   root = /srv/domaindex         # on the big disk
 *   access-file = "/srv/a #1.json"
 *
 * Refused, with path and line: a key that is not an option with a value, a key given twice, a
 * section, an empty value, a quote that is not closed, a line over DX_CONFIG_LINE_MAX bytes,
 * control bytes, a file over DX_CONFIG_FILE_MAX bytes. What values mean is for the caller.
 * Read-only after read: threads may share it.
 */
#ifndef DX_CONFIG_CONFIG_FILE_H
#define DX_CONFIG_CONFIG_FILE_H

#include "base/bytes.h"
#include "base/command/options.h"

#define DX_CONFIG_FILE_MAX 65536 /* bytes: settings are few */
#define DX_CONFIG_LINE_MAX 4200  /* a path, its key and a comment */
#define DX_CONFIG_SHOWN 60       /* bytes of a line in a message */

struct dx_config_entry {
    size_t index; /* into the option table */
    unsigned line;
    char *text;
};

struct dx_config_file {
    struct dx_config_entry *entries;
    size_t count;
};

int dx_config_file_read(struct dx_config_file *f, const char *path, const struct dx_option *table,
                        size_t table_size, struct dx_error *err);

/* The same from memory; name stands for the path in messages. */
int dx_config_file_parse(struct dx_config_file *f, const char *name, struct dx_span text,
                         const struct dx_option *table, size_t table_size, struct dx_error *err);

/* NULL: the file does not have it. */
const struct dx_config_entry *dx_config_file_find(const struct dx_config_file *f, size_t index);
void dx_config_file_release(struct dx_config_file *f);

#endif
