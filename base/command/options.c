/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command/options.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/command/near_name.h"

/* The row that `text` (after the dashes, up to '=' or the end) names, or table_size. */
static size_t find(const struct dx_option *table, size_t n, const char *text, size_t length)
{
    size_t i = 0;

    while (i < n && (strlen(table[i].name) != length || memcmp(table[i].name, text, length) != 0))
        i++;
    return i;
}

static int fail_unknown(const struct dx_options *o, const char *text, size_t length,
                        struct dx_error *err)
{
    struct dx_near_name near = DX_NEAR_NAME_INIT(text, length);

    for (size_t i = 0; i < o->table_size; i++)
        dx_near_name_try(&near, o->table[i].name);
    if (near.best == NULL)
        return dx_fail(err, DX_E_INVALID, "unknown option '--%.*s'", (int)length, text);
    return dx_fail(err, DX_E_INVALID, "unknown option '--%.*s'; did you mean '--%s'?", (int)length,
                   text, near.best);
}

bool dx_option_is_path(const struct dx_option *option)
{
    static const char *const names[] = {
        "FILE", "DIR", "ROOT", "DEST", "SOURCE", "LIST", "DIR|URL"
    };

    for (size_t i = 0; option->arg != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(option->arg, names[i]) == 0)
            return true;
    return false;
}

static int parse_one(struct dx_options *o, int argc, char **argv, int *at, struct dx_error *err)
{
    const char *text = argv[*at] + 2;
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
    size_t index = find(o->table, o->table_size, text, length);
    const char *value = equals == NULL ? NULL : equals + 1;

    if (index == o->table_size)
        return fail_unknown(o, text, length, err);
    if (o->table[index].arg == NULL && value != NULL)
        return dx_fail(err, DX_E_INVALID, "option '--%s' takes no value", o->table[index].name);
    if (o->table[index].arg != NULL && value == NULL) {
        if (*at + 1 >= argc)
            return dx_fail(err, DX_E_INVALID, "option '--%s' needs a value (%s)",
                           o->table[index].name, o->table[index].arg);
        value = argv[++*at];
    }
    if (value != NULL && value[0] == '\0' && dx_option_is_path(&o->table[index]))
        return dx_fail(err, DX_E_INVALID, "--%s: the value is empty; give a %s",
                       o->table[index].name, o->table[index].arg);
    if (o->table[index].once && dx_options_has(o, index) &&
        strcmp(dx_options_text(o, index), value) != 0)
        return dx_fail(err, DX_E_INVALID,
                       "--%s is given twice, as '%s' and '%s', and only one of them can hold",
                       o->table[index].name, dx_options_text(o, index), value);
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
        return dx_no_memory(err, "options");
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

/* ---- values ---- */

bool dx_seconds_parse(const char *text, uint64_t *seconds)
{
    static const char units[] = "smhd";
    static const uint64_t worth[] = { 1, 60, 3600, 86400 };
    const char *unit;

    if (!digits(text, &text, seconds))
        return false;
    if (*text == '\0')
        return true;
    unit = strchr(units, *text);
    return unit != NULL && text[1] == '\0' &&
           !__builtin_mul_overflow(*seconds, worth[unit - units], seconds);
}

static bool parse_share(const char *text, uint64_t *ppm)
{
    char *end = NULL;
    double share = isdigit((unsigned char)*text) || *text == '.' ? strtod(text, &end) : -1;

    if (end != NULL && strcmp(end, "%") == 0)
        share /= 100;
    else if (end == NULL || *end != '\0')
        return false;
    if (!(share >= 0 && share <= 1))
        return false;
    *ppm = (uint64_t)(share * 1e6 + 0.5);
    return true;
}

/* The word of "AUTO|YES|NO" at *at, which goes behind it; 0: no more. */
static size_t next_word(const char **at, const char **word)
{
    size_t n = strcspn(*at, "|");

    *word = *at;
    *at += n + ((*at)[n] == '|');
    return n;
}

static bool parse_choice(const char *words, const char *text, uint64_t *which)
{
    const char *word;
    size_t n;

    *which = 0;
    while ((n = next_word(&words, &word)) > 0) {
        size_t i = 0;

        while (i < n && text[i] == tolower((unsigned char)word[i]))
            i++;
        if (i == n && text[n] == '\0')
            return true;
        ++*which;
    }
    return false;
}

static bool parse_whole(const char *text, uint64_t *value)
{
    return digits(text, &text, value) && *text == '\0';
}

static bool parse_value(const struct dx_option *option, const char *text, uint64_t *value)
{
    switch (option->kind) {
    case DX_OPTION_NUMBER:
        return parse_whole(text, value);
    case DX_OPTION_SIZE:
        return dx_size_parse(text, value);
    case DX_OPTION_TIME:
        return dx_seconds_parse(text, value);
    case DX_OPTION_SHARE:
        return parse_share(text, value);
    case DX_OPTION_YES_NO:
        *value = strcmp(text, "yes") == 0;
        return *value == 1 || strcmp(text, "no") == 0;
    case DX_OPTION_CHOICE:
        return parse_choice(option->arg, text, value);
    case DX_OPTION_FLAG:
    case DX_OPTION_TEXT:
        break;
    }
    assert(false && "a kind that has a value");
    return false;
}

/* "auto, yes nor no" */
static void put_choices(const char *words, struct dx_buf *out)
{
    const char *word;
    size_t n;
    bool first = true;

    while ((n = next_word(&words, &word)) > 0) {
        dx_buf_str(out, first ? "" : *words == '\0' ? " nor " : ", ");
        for (size_t i = 0; i < n; i++)
            dx_buf_u8(out, (uint8_t)tolower((unsigned char)word[i]));
        first = false;
    }
}

static int fail_form(const struct dx_option *option, const char *text, struct dx_error *err)
{
    static const char *const wanted[] = {
        [DX_OPTION_NUMBER] = "a whole number",
        [DX_OPTION_SIZE] = "a size; give bytes, or a number with K, M, G or T, as 256M",
        [DX_OPTION_TIME] = "a time; give a number with s, m, h or d, as 24h",
        [DX_OPTION_SHARE] = "a share; give a number from 0 to 1, or per cent as 10%",
    };
    struct dx_buf words = DX_BUF_INIT(1024);

    if (option->kind == DX_OPTION_YES_NO || option->kind == DX_OPTION_CHOICE)
        put_choices(option->kind == DX_OPTION_YES_NO ? "YES|NO" : option->arg, &words);
    else
        dx_buf_str(&words, wanted[option->kind]);
    (void)dx_fail(err, DX_E_INVALID, "--%s: '%s' is %s %.*s", option->name, text,
                  option->kind >= DX_OPTION_YES_NO ? "neither" : "not", (int)words.size,
                  (const char *)words.data);
    dx_buf_release(&words);
    return DX_E_INVALID;
}

/* In the largest unit that divides it. */
static void put_bound(const struct dx_option *option, uint64_t value, struct dx_buf *out)
{
    static const char units[] = "KMGT";
    static const struct {
        uint64_t worth;
        char unit;
    } times[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' } };
    int unit = -1;

    if (option->kind == DX_OPTION_TIME) {
        for (size_t i = 0; i < sizeof times / sizeof times[0] && value > 0; i++)
            if (value % times[i].worth == 0) {
                dx_buf_fmt(out, "%" PRIu64 "%c", value / times[i].worth, times[i].unit);
                return;
            }
        dx_buf_fmt(out, "%" PRIu64 "%s", value, value == 0 ? "" : "s");
        return;
    }
    while (option->kind == DX_OPTION_SIZE && value > 0 && value % 1024 == 0 && unit < 3) {
        value /= 1024;
        unit++;
    }
    dx_buf_fmt(out, "%" PRIu64, value);
    if (unit >= 0)
        dx_buf_u8(out, (uint8_t)units[unit]);
}

/* "1 to 64", "0, or 64K to 1T", "at least 64M"; nothing where the kind or the arg says all. */
static void write_bounds(const struct dx_option *option, struct dx_buf *out)
{
    bool has_max = option->max != DX_OPTION_OPEN;

    if (option->kind != DX_OPTION_NUMBER && option->kind != DX_OPTION_SIZE &&
        option->kind != DX_OPTION_TIME)
        return;
    if (!has_max && option->min == 0)
        return;
    if (option->or_zero)
        dx_buf_str(out, "0, or ");
    if (!has_max)
        dx_buf_str(out, "at least ");
    put_bound(option, option->min, out);
    if (has_max) {
        dx_buf_str(out, " to ");
        put_bound(option, option->max, out);
    }
}

static int fail_bounds(const struct dx_option *option, const char *text, uint64_t value,
                       struct dx_error *err)
{
    struct dx_buf bounds = DX_BUF_INIT(128);

    if (value < option->min || option->max != DX_OPTION_OPEN)
        write_bounds(option, &bounds);
    (void)dx_fail(err, DX_E_INVALID, "--%s: %s is too %s%s%.*s", option->name, text,
                  value < option->min ? "small" : "large", bounds.size > 0 ? "; give " : "",
                  (int)bounds.size, (const char *)bounds.data);
    dx_buf_release(&bounds);
    return DX_E_INVALID;
}

int dx_option_value(const struct dx_option *option, const char *text, uint64_t *value,
                    struct dx_error *err)
{
    bool bounded = option->kind == DX_OPTION_NUMBER || option->kind == DX_OPTION_SIZE ||
                   option->kind == DX_OPTION_TIME;
    uint64_t v = 0;

    if (!parse_value(option, text, &v))
        return fail_form(option, text, err);
    if (bounded && (v < option->min || v > option->max) && !(v == 0 && option->or_zero))
        return fail_bounds(option, text, v, err);
    *value = option->scale == 0 ? v : v * option->scale;
    return DX_OK;
}

int dx_options_value(const struct dx_options *o, size_t index, uint64_t *value,
                     struct dx_error *err)
{
    const char *text = dx_options_text(o, index);

    return text == NULL ? DX_OK : dx_option_value(&o->table[index], text, value, err);
}

static void store_value(enum dx_option_type type, uint64_t value, void *at)
{
    switch (type) {
    case DX_IN_BOOL:
        *(bool *)at = value != 0;
        return;
    case DX_IN_UNSIGNED:
        assert(value <= UINT_MAX); /* by the bounds of its row */
        *(unsigned *)at = (unsigned)value;
        return;
    case DX_IN_U64:
        *(uint64_t *)at = value;
        return;
    case DX_IN_I64:
        assert(value <= INT64_MAX);
        *(int64_t *)at = (int64_t)value;
        return;
    case DX_IN_DOUBLE:
        *(double *)at = (double)value;
        return;
    case DX_IN_TEXT:
    case DX_IN_NOTHING:
        break;
    }
    assert(false && "a member that holds a number");
}

int dx_option_store(const struct dx_option *option, const char *text, void *to,
                    struct dx_error *err)
{
    void *at = (char *)to + option->offset;
    uint64_t value = 1; /* of a flag */
    int rc = DX_OK;

    if (option->read != NULL)
        return option->read(option, text, at, err);
    if (option->type == DX_IN_NOTHING)
        return DX_OK;
    if (option->kind == DX_OPTION_TEXT) {
        *(const char **)at = text;
        return DX_OK;
    }
    if (option->kind != DX_OPTION_FLAG)
        rc = dx_option_value(option, text, &value, err);
    if (rc == DX_OK)
        store_value(option->type, value, at);
    return rc;
}

int dx_options_store(const struct dx_options *o, void *to, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < o->table_size && rc == DX_OK; i++) {
        const char *text = dx_options_text(o, i);

        if (text != NULL)
            rc = dx_option_store(&o->table[i], text, to, err);
    }
    return rc;
}

int dx_options_operands(const struct dx_options *o, size_t most, struct dx_error *err)
{
    if (o->operand_count <= most)
        return DX_OK;
    return dx_fail(err, DX_E_INVALID,
                   "unexpected argument '%.80s'; values are given to options, as --name VALUE",
                   o->operand[most]);
}

/* " (1 to 64; default: 8)" */
static void put_facts(const struct dx_option *option, struct dx_buf *out)
{
    struct dx_buf facts = DX_BUF_INIT(1024);

    write_bounds(option, &facts);
    if (option->fallback != NULL)
        dx_buf_fmt(&facts, "%sdefault: %s", facts.size > 0 ? "; " : "", option->fallback);
    if (facts.size > 0)
        dx_buf_fmt(out, " (%.*s)", (int)facts.size, (const char *)facts.data);
    dx_buf_release(&facts);
}

void dx_options_help(const struct dx_option *table, size_t table_size, struct dx_buf *out)
{
    for (size_t i = 0; i < table_size; i++) {
        size_t before = out->size;

        dx_buf_fmt(out, "  --%s%s%s", table[i].name, table[i].arg == NULL ? "" : " ",
                   table[i].arg == NULL ? "" : table[i].arg);
        dx_buf_fmt(out, "%*s%s", out->size - before < 26 ? (int)(26 - (out->size - before)) : 1, "",
                   table[i].help);
        put_facts(&table[i], out);
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
        dx_buf_fmt(out, "\n%s", table[i].help);
        put_facts(&table[i], out);
        dx_buf_str(out, ".\n");
    }
    dx_buf_str(out, ".El\n");
}
