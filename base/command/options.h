/* SPDX-License-Identifier: Apache-2.0
 * options.h - command-line options from one table: parsing, bounds, where values go, help and
 * manual.
 *
 *   enum { OPT_ROOT, OPT_MEMORY, OPT_DEEP, OPT_COUNT };
 *   #define AT(m) DX_OPT_PLACE(struct verify, m)
 *   static const struct dx_option table[OPT_COUNT] = {
 *       [OPT_ROOT]   = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_TEXT, AT(root) },
 *       [OPT_MEMORY] = { "memory", "SIZE", "1G", "memory budget", DX_OPT_SIZE(64 << 20, DX_OPTION_OPEN), AT(memory) },
 *       [OPT_DEEP]   = { "deep", NULL, NULL, "read all rows too", DX_OPT_FLAG, AT(deep) },
 *   };
 *   struct dx_options o;
 *   rc = dx_options_parse(&o, table, OPT_COUNT, argc, argv, &err);   argv[0] is skipped
 *   rc = dx_options_store(&o, &verify, &err);                        into the places: last given, else default
 *   const char *root = dx_options_text(&o, OPT_ROOT);                or one by one
 *   rc = dx_options_value(&o, OPT_MEMORY, &bytes, &err);
 *   o.operand[0 .. o.operand_count)                                  what is not an option
 *   dx_options_release(&o);
 *
 * "--name value" and "--name=value" are the same; an option without `arg` is a flag; "--" ends
 * options; "-" is an operand. Unknown or incomplete options, and values out of their bounds, are
 * DX_E_INVALID with a message: the bounds, or the option that is spelled nearly so. Values are
 * borrowed from argv. One thread at a time; once parsed, any thread may read it.
 */
#ifndef DX_BASE_COMMAND_OPTIONS_H
#define DX_BASE_COMMAND_OPTIONS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

enum dx_option_kind {
    DX_OPTION_FLAG,   /* without a value: true */
    DX_OPTION_TEXT,   /* any */
    DX_OPTION_NUMBER, /* a whole number */
    DX_OPTION_SIZE,   /* 64K, 8M, 2G, 1T or plain bytes */
    DX_OPTION_TIME,   /* 90, 90s, 15m, 24h, 7d: seconds */
    DX_OPTION_SHARE,  /* 0.1 or 10%: millionths */
    DX_OPTION_YES_NO, /* true, false */
    DX_OPTION_CHOICE  /* the place of a word in `arg`, "AUTO|YES|NO", from 0 */
};

/* What the member is that a value goes to. */
enum dx_option_type {
    DX_IN_NOTHING, /* the program looks it up itself */
    DX_IN_BOOL,
    DX_IN_UNSIGNED,
    DX_IN_U64,
    DX_IN_I64,
    DX_IN_DOUBLE,
    DX_IN_TEXT
};

struct dx_option {
    const char *name;     /* without dashes */
    const char *arg;      /* name of the value, NULL for a flag */
    const char *fallback; /* default value as text, or NULL */
    const char *help;     /* one sentence, lower case, no full stop */
    enum dx_option_kind kind;
    bool once;      /* a second value that is another one is refused: one of both would be lost */
    bool or_zero;   /* 0 too, beside [min, max]: it means something of its own */
    uint64_t min;   /* of NUMBER, SIZE and TIME; both bounds are taken */
    uint64_t max;   /* DX_OPTION_OPEN: none */
    unsigned scale; /* what is stored is the value times this; 0: as it is */
    enum dx_option_type type;
    size_t offset; /* of the member, in the struct that is given to dx_options_store */
    /* Instead of storing: text is not NULL, `at` is the member. */
    int (*read)(const struct dx_option *option, const char *text, void *at, struct dx_error *err);
};

#define DX_OPTION_OPEN (UINT64_MAX / 4) /* no bound, but that sums of some do not overflow */
#define DX_OPT_FLAG .kind = DX_OPTION_FLAG
#define DX_OPT_TEXT .kind = DX_OPTION_TEXT
#define DX_OPT_ONE_TEXT .kind = DX_OPTION_TEXT, .once = true
#define DX_OPT_SHARE .kind = DX_OPTION_SHARE
#define DX_OPT_YES_NO .kind = DX_OPTION_YES_NO
#define DX_OPT_CHOICE .kind = DX_OPTION_CHOICE
#define DX_OPT_NUMBER(least, most) .kind = DX_OPTION_NUMBER, .min = (least), .max = (most)
#define DX_OPT_SIZE(least, most) .kind = DX_OPTION_SIZE, .min = (least), .max = (most)
#define DX_OPT_TIME(least, most) .kind = DX_OPTION_TIME, .min = (least), .max = (most)
#define DX_OPT_PLACE(struct_type, member) \
    .offset = offsetof(struct_type, member),                      \
    .type = _Generic(((struct_type *)0)->member,                  \
        bool: DX_IN_BOOL,                                         \
        unsigned: DX_IN_UNSIGNED,                                 \
        unsigned long: DX_IN_U64,                                 \
        long: DX_IN_I64,                                          \
        double: DX_IN_DOUBLE,                                     \
        const char *: DX_IN_TEXT)

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

/* Of the kinds from NUMBER on, within the bounds of its row. An option that was not given and has
 * no default leaves *value alone. */
int dx_options_value(const struct dx_options *o, size_t index, uint64_t *value,
                     struct dx_error *err);
/* All rows that have a place in *to; an option that was not given and has no default leaves it
 * alone. */
int dx_options_store(const struct dx_options *o, void *to, struct dx_error *err);

/* The same for one text, as of a settings file. */
int dx_option_value(const struct dx_option *option, const char *text, uint64_t *value,
                    struct dx_error *err);
int dx_option_store(const struct dx_option *option, const char *text, void *to,
                    struct dx_error *err);

/* Whether its value is a file, a directory or a root: an empty one is refused. */
bool dx_option_is_path(const struct dx_option *option);

/* DX_E_INVALID where there are more than `most` operands; */
int dx_options_operands(const struct dx_options *o, size_t most, struct dx_error *err);

/* The option lines of --help, and of the manual page (mdoc), with bounds and default. */
void dx_options_help(const struct dx_option *table, size_t table_size, struct dx_buf *out);
void dx_options_mdoc(const struct dx_option *table, size_t table_size, struct dx_buf *out);

/* "64M" -> 67108864; false if it is not a size. */
bool dx_size_parse(const char *text, uint64_t *bytes);
/* "24h" -> 86400, "90" -> 90; false if it is not a time. */
bool dx_seconds_parse(const char *text, uint64_t *seconds);

#endif
