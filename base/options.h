/* SPDX-License-Identifier: Apache-2.0
 * options.h - command-line options from one table, which also yields help and manual.
 *
 *   enum { OPT_ROOT, OPT_MEMORY, OPT_COUNT };
 *   static const struct dx_option table[OPT_COUNT] = {
 *       [OPT_ROOT]   = { "root", "ROOT", NULL, "where the lake and the index live" },
 *       [OPT_MEMORY] = { "memory", "SIZE", "1G", "memory budget; K, M, G, T are powers of 1024" },
 *   };
 *   struct dx_options o;
 *   rc = dx_options_parse(&o, table, OPT_COUNT, argc, argv, &err);   argv[0] is skipped
 *   const char *root = dx_options_text(&o, OPT_ROOT);                last given, else default
 *   rc = dx_options_size(&o, OPT_MEMORY, min, max, &bytes, &err);
 *   o.operand[0 .. o.operand_count)                                  what is no option
 *   dx_options_release(&o);
 *
 * "--name value" and "--name=value" are the same; an option without `arg` is a flag;
 * "--" ends options; "-" is an operand. Unknown or incomplete options are
 * DX_E_INVALID with words. Values are borrowed from argv.
 */
#ifndef DX_BASE_OPTIONS_H
#define DX_BASE_OPTIONS_H

#include "base/buf.h"
#include "base/error.h"

struct dx_option {
    const char *name;     /* without dashes */
    const char *arg;      /* name of the value, NULL for a flag */
    const char *fallback; /* default value as text, or NULL */
    const char *help;     /* one sentence, lower case, no full stop */
};

struct dx_options {
    const struct dx_option *table;
    size_t table_size;
    struct dx_option_value {
        size_t index;
        const char *text;
    } * given; /* in the order given */
    size_t given_count;
    const char **operand;
    size_t operand_count;
};

int dx_options_parse(struct dx_options *o, const struct dx_option *table, size_t table_size,
                     int argc, char **argv, struct dx_error *err);
void dx_options_release(struct dx_options *o);

bool dx_options_has(const struct dx_options *o, size_t index);         /* given by the user */
const char *dx_options_text(const struct dx_options *o, size_t index); /* may be NULL */
const char *dx_options_nth(const struct dx_options *o, size_t index, size_t nth); /* NULL at end */
int dx_options_size(const struct dx_options *o, size_t index, uint64_t min, uint64_t max,
                    uint64_t *bytes, struct dx_error *err); /* 64K, 8M, 2G, 1T or plain bytes */
int dx_options_number(const struct dx_options *o, size_t index, uint64_t min, uint64_t max,
                      uint64_t *value, struct dx_error *err);

/* The option lines of --help, and of the manual page (mdoc). */
void dx_options_help(const struct dx_option *table, size_t table_size, struct dx_buf *out);
void dx_options_mdoc(const struct dx_option *table, size_t table_size, struct dx_buf *out);

/* "64M" -> 67108864; false if it is no size. */
bool dx_size_parse(const char *text, uint64_t *bytes);

#endif
