/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/settings_text.h"

#include "base/log.h"

#include <string.h>

#define COMMENT_COLUMN 40

/* ---- as a file ---- */

/* The command line's; of the one option that adds up, all of them. */
static void put_given(const struct dx_settings *s, size_t index, struct dx_buf *out)
{
    const char *text;

    if (strcmp(dx_settings_table[index].name, "trusted-proxy") != 0) {
        dx_buf_str(out, dx_options_text(&s->options, index));
        return;
    }
    for (size_t n = 0; (text = dx_options_nth(&s->options, index, n)) != NULL; n++)
        dx_buf_fmt(out, "%s%s", n == 0 ? "" : ", ", text);
}

static bool needs_quotes(const char *text)
{
    size_t size = strlen(text);

    return size == 0 || strchr(" \t\"'#;", text[0]) != NULL ||
           strchr(" \t", text[size - 1]) != NULL || strstr(text, " #") != NULL ||
           strstr(text, " ;") != NULL || strstr(text, "\t#") != NULL || strstr(text, "\t;") != NULL;
}

/* What no line of a file can say stands as a comment. */
static void put_value(const char *name, const char *text, struct dx_buf *out)
{
    char quote = strchr(text, '"') == NULL ? '"' : '\'';

    if (strpbrk(text, "\r\n") != NULL ||
        (needs_quotes(text) && (text[0] == '\0' || strchr(text, quote) != NULL)))
        dx_buf_fmt(out, "# %s: a value that a file cannot hold", name);
    else if (needs_quotes(text))
        dx_buf_fmt(out, "%s = %c%s%c", name, quote, text, quote);
    else
        dx_buf_fmt(out, "%s = %s", name, text);
}

static void print_setting(const struct dx_settings *s, size_t index, struct dx_buf *out)
{
    const struct dx_option *option = &dx_settings_table[index];
    const struct dx_config_entry *entry = dx_config_file_find(&s->file, index);
    struct dx_buf value = DX_BUF_INIT(DX_CONFIG_FILE_MAX);
    size_t before = out->size;
    bool given = dx_options_has(&s->options, index);

    if (given)
        put_given(s, index, &value);
    else
        dx_buf_str(&value, entry != NULL ? entry->text : option->fallback);
    dx_buf_u8(&value, '\0');
    put_value(option->name, value.failed ? "" : (const char *)value.data, out);
    dx_buf_fmt(out, "%*s  # ",
               (int)(before + COMMENT_COLUMN > out->size ? before + COMMENT_COLUMN - out->size : 0),
               "");
    if (!given && entry != NULL)
        dx_buf_fmt(out, "%s:%u\n", s->config_path, entry->line);
    else
        dx_buf_str(out, given ? "command line\n" : "default\n");
    dx_buf_release(&value);
}

void dx_settings_print(const struct dx_settings *s, struct dx_buf *out)
{
    for (size_t i = 0; i < dx_settings_table_size; i++) {
        const struct dx_option *option = &dx_settings_table[i];

        if (option->arg == NULL || strcmp(option->name, "config") == 0 ||
            strcmp(option->name, "completion") == 0)
            continue;
        if (option->fallback != NULL || dx_options_has(&s->options, i) ||
            dx_config_file_find(&s->file, i) != NULL)
            print_setting(s, i, out);
        else
            dx_buf_fmt(out, "# %s is not set: %s\n", option->name, option->help);
    }
}

/* ---- against the file as it is now ---- */

/* Whether the file says something else of it. */
static bool log_change(const struct dx_settings *s, const struct dx_settings *now, size_t index)
{
    const char *name = dx_settings_table[index].name;
    const struct dx_config_entry *old = dx_config_file_find(&s->file, index);
    const struct dx_config_entry *new = dx_config_file_find(&now->file, index);
    const char *fallback = dx_settings_table[index].fallback;
    const char *effect = dx_options_has(&s->options, index)
                             ? "the command line gives it, so this has no effect"
                             : "this takes effect after a restart";

    if (old == new || (old != NULL && new != NULL &&strcmp(old->text, new->text) == 0))
        return false;
    if (new == NULL)
        dx_log(DX_LOG_INFO, "settings: %s: %s = %s is gone: %s", s->config_path, name, old->text,
               effect);
    else
        dx_log(DX_LOG_INFO, "settings: %s:%u: %s = %s, at the start %s: %s", s->config_path,
               new->line, name, new->text,
               old != NULL        ? old->text
               : fallback != NULL ? fallback
                                  : "not set",
               effect);
    return true;
}

void dx_settings_log_changes(const struct dx_settings *s)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_settings now;
    unsigned changed = 0;

    if (s->config_path == NULL)
        return;
    if (dx_settings_parse(&now, s->argc, s->argv, &err) < 0) {
        dx_log(
            DX_LOG_ERROR,
            "settings: %s: this server goes on with the settings of its start, but would not start "
            "again with these",
            err.text);
        return;
    }
    for (size_t i = 0; i < dx_settings_table_size; i++)
        changed += log_change(s, &now, i);
    if (changed == 0)
        dx_log(DX_LOG_INFO, "settings: %s says what it said at the start", s->config_path);
    dx_settings_release(&now);
}
