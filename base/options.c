/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The row that `text` (after the dashes, up to '=' or the end) names, or table_size. */
static size_t find(const struct dx_option *table, size_t n, const char *text, size_t length)
{
    size_t i = 0;

    while (i < n && (strlen(table[i].name) != length || memcmp(table[i].name, text, length) != 0))
        i++;
    return i;
}

static int parse_one(struct dx_options *o, int argc, char **argv, int *at, struct dx_error *err)
{
    const char *text = argv[*at] + 2;
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
    size_t index = find(o->table, o->table_size, text, length);
    const char *value = equals == NULL ? NULL : equals + 1;

    if (index == o->table_size)
        return dx_fail(err, DX_E_INVALID, "unknown option '--%.*s'", (int)length, text);
    if (o->table[index].arg == NULL && value != NULL)
        return dx_fail(err, DX_E_INVALID, "option '--%s' takes no value", o->table[index].name);
    if (o->table[index].arg != NULL && value == NULL) {
        if (*at + 1 >= argc)
            return dx_fail(err, DX_E_INVALID, "option '--%s' needs a value (%s)",
                           o->table[index].name, o->table[index].arg);
        value = argv[++*at];
    }
    o->given[o->given_count].index = index;
    o->given[o->given_count].text = value == NULL ? "" : value;
    o->given_count++;
    return DX_OK;
}

int dx_options_parse(struct dx_options *o, const struct dx_option *table, size_t table_size,
                     int argc, char **argv, struct dx_error *err)
{
    size_t room = argc > 0 ? (size_t)argc : 1;
    bool only_operands = false;

    *o = (struct dx_options){ .table = table, .table_size = table_size };
    o->given = calloc(room, sizeof *o->given);
    o->operand = calloc(room, sizeof *o->operand);
    if (o->given == NULL || o->operand == NULL) {
        dx_options_release(o);
        return dx_fail(err, DX_E_NOMEM, "options: out of memory");
    }
    for (int i = 1; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && strncmp(argv[i], "--", 2) == 0) {
            int rc = parse_one(o, argc, argv, &i, err);

            if (rc < 0) {
                dx_options_release(o);
                return rc;
            }
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
            dx_options_release(o);
            return dx_fail(err, DX_E_INVALID, "unknown option '%s'", argv[i]);
        } else {
            o->operand[o->operand_count++] = argv[i];
        }
    }
    return DX_OK;
}

void dx_options_release(struct dx_options *o)
{
    free(o->given);
    free(o->operand);
    *o = (struct dx_options){ .table = o->table, .table_size = o->table_size };
}

bool dx_options_has(const struct dx_options *o, size_t index)
{
    return dx_options_nth(o, index, 0) != NULL;
}

const char *dx_options_text(const struct dx_options *o, size_t index)
{
    for (size_t i = o->given_count; i > 0; i--)
        if (o->given[i - 1].index == index)
            return o->given[i - 1].text;
    return o->table[index].fallback;
}

const char *dx_options_nth(const struct dx_options *o, size_t index, size_t nth)
{
    for (size_t i = 0; i < o->given_count; i++)
        if (o->given[i].index == index && nth-- == 0)
            return o->given[i].text;
    return NULL;
}

/* Decimal digits only; false on anything else and on overflow. *end is behind them. */
static bool digits(const char *text, const char **end, uint64_t *value)
{
    uint64_t v = 0;

    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
            return false;
    *end = text;
    *value = v;
    return true;
}

bool dx_size_parse(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    const char *unit;

    if (!digits(text, &text, bytes))
        return false;
    if (*text == '\0')
        return true;
    unit = strchr(units, toupper((unsigned char)*text));
    if (unit == NULL ||
        (text[1] != '\0' && strcmp(text + 1, "B") != 0 && strcmp(text + 1, "iB") != 0))
        return false;
    return !__builtin_mul_overflow(*bytes, (uint64_t)1 << (10 * (unit - units + 1)), bytes);
}

static int bounded(const struct dx_option *option, const char *text, bool parsed, uint64_t value,
                   uint64_t min, uint64_t max, struct dx_error *err)
{
    if (!parsed)
        return dx_fail(err, DX_E_INVALID, "--%s: '%s' is no %s", option->name,
                       text == NULL ? "" : text, option->arg);
    if (value < min || value > max)
        return dx_fail(err, DX_E_INVALID, "--%s: %s is outside %llu..%llu", option->name, text,
                       (unsigned long long)min, (unsigned long long)max);
    return DX_OK;
}

int dx_options_size(const struct dx_options *o, size_t index, uint64_t min, uint64_t max,
                    uint64_t *bytes, struct dx_error *err)
{
    const char *text = dx_options_text(o, index);
    bool parsed = text != NULL && dx_size_parse(text, bytes);

    return bounded(&o->table[index], text, parsed, parsed ? *bytes : 0, min, max, err);
}

int dx_options_number(const struct dx_options *o, size_t index, uint64_t min, uint64_t max,
                      uint64_t *value, struct dx_error *err)
{
    const char *text = dx_options_text(o, index);
    const char *end = "";
    bool parsed = text != NULL && digits(text, &end, value) && *end == '\0';

    return bounded(&o->table[index], text, parsed, parsed ? *value : 0, min, max, err);
}

void dx_options_help(const struct dx_option *table, size_t table_size, struct dx_buf *out)
{
    for (size_t i = 0; i < table_size; i++) {
        size_t before = out->size;

        dx_buf_fmt(out, "  --%s%s%s", table[i].name, table[i].arg == NULL ? "" : " ",
                   table[i].arg == NULL ? "" : table[i].arg);
        dx_buf_fmt(out, "%*s%s", out->size - before < 26 ? (int)(26 - (out->size - before)) : 1, "",
                   table[i].help);
        if (table[i].fallback != NULL)
            dx_buf_fmt(out, " (default: %s)", table[i].fallback);
        dx_buf_u8(out, '\n');
    }
}

void dx_options_mdoc(const struct dx_option *table, size_t table_size, struct dx_buf *out)
{
    dx_buf_str(out, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < table_size; i++) {
        dx_buf_fmt(out, ".It Fl Fl %s", table[i].name);
        if (table[i].arg != NULL)
            dx_buf_fmt(out, " Ar %s", table[i].arg);
        dx_buf_fmt(out, "\n%s.\n", table[i].help);
        if (table[i].fallback != NULL)
            dx_buf_fmt(out, "Default: %s.\n", table[i].fallback);
    }
    dx_buf_str(out, ".El\n");
}
