/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command/shell_completion.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum dx_shell dx_shell_parse(const char *text)
{
    static const char *const names[DX_SHELL_COUNT] = { "", "bash", "zsh", "fish" };

    for (unsigned i = 1; i < DX_SHELL_COUNT; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum dx_shell)i;
    return DX_SHELL_NONE;
}

/* ---- what a value may be ---- */

static bool is_listed(const struct dx_completion *c, const struct dx_option *o)
{
    return c->option != NULL && strcmp(c->option, o->name) == 0;
}

static bool has_choices(const struct dx_completion *c, const struct dx_option *o)
{
    return o->kind == DX_OPTION_CHOICE || o->kind == DX_OPTION_YES_NO || is_listed(c, o);
}

/* "AUTO|YES" as "auto yes" */
static void put_choices(const struct dx_completion *c, const struct dx_option *o,
                        struct dx_buf *out)
{
    const char *words = o->kind == DX_OPTION_YES_NO ? "YES|NO" : o->arg;

    if (is_listed(c, o))
        dx_buf_str(out, c->values);
    for (; !is_listed(c, o) && *words != '\0'; words++)
        dx_buf_u8(out, *words == '|' ? ' ' : (uint8_t)tolower((unsigned char)*words));
}

static bool takes_files(const struct dx_completion_command *command)
{
    return command->operands != NULL && strcmp(command->operands, DX_COMPLETE_FILES) == 0;
}

static void put_command_names(const struct dx_completion *c, struct dx_buf *out)
{
    for (size_t i = 0; i < c->command_count; i++)
        dx_buf_fmt(out, "%s%s", i == 0 ? "" : " ", c->commands[i].name);
}

/* Text inside '...': of `special`, each byte gets a backslash; a quote ends the string and begins it again. */
static void put_quoted(const char *text, const char *special, struct dx_buf *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            dx_buf_str(out, "'\\''");
            continue;
        }
        if (strchr(special, *text) != NULL)
            dx_buf_u8(out, '\\');
        dx_buf_u8(out, (uint8_t)*text);
    }
}

static bool has_commands(const struct dx_completion *c)
{
    return c->commands[0].name != NULL;
}

/* ---- bash ---- */

static void bash_value(const struct dx_completion *c, const struct dx_completion_command *command,
                       const struct dx_option *o, struct dx_buf *out)
{
    if (o->arg == NULL)
        return;
    dx_buf_fmt(out, "    %s:--%s) ", command->name == NULL ? "*" : command->name, o->name);
    if (has_choices(c, o)) {
        dx_buf_str(out, "values='");
        put_choices(c, o, out);
        dx_buf_str(out, "' ;;\n");
    } else
        dx_buf_str(out, dx_option_is_path(o) ? "paths=yes ;;\n" : "return ;;\n");
}

static void bash_options(const struct dx_completion_command *command, struct dx_buf *out)
{
    dx_buf_fmt(out, "    %s) options='", command->name == NULL ? "*" : command->name);
    for (size_t i = 0; i < command->option_count; i++)
        dx_buf_fmt(out, "%s--%s", i == 0 ? "" : " ", command->options[i].name);
    dx_buf_u8(out, '\'');
    if (takes_files(command))
        dx_buf_str(out, " files=yes");
    else if (command->operands != NULL)
        dx_buf_fmt(out, " words='%s'", command->operands);
    dx_buf_str(out, " ;;\n");
}

static void write_bash(const struct dx_completion *c, struct dx_buf *out)
{
    dx_buf_fmt(out,
               "# bash completion of %s\n"
               "_%s() {\n"
               "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} "
               "command=${COMP_WORDS[1]}\n"
               "    local options= values= paths= words= files= word=\n"
               "    COMPREPLY=()\n"
               "    if [ \"$cur\" = = ]; then\n"
               "        cur=\n"
               "    elif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -ge 2 ]; then\n"
               "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
               "    fi\n",
               c->program, c->program);
    if (has_commands(c)) {
        dx_buf_str(out, "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        mapfile -t COMPREPLY < "
                        "<(compgen -W 'help ");
        put_command_names(c, out);
        dx_buf_str(out, "' -- \"$cur\")\n        return\n    fi\n");
    }
    dx_buf_str(out, "    case $command in\n");
    if (has_commands(c)) {
        dx_buf_str(out, "    help) options=--man words='");
        put_command_names(c, out);
        dx_buf_str(out, "' ;;\n");
    }
    for (size_t i = 0; i < c->command_count; i++)
        bash_options(&c->commands[i], out);
    dx_buf_str(out, "    esac\n    case $command:$prev in\n");
    for (size_t i = 0; i < c->command_count; i++)
        for (size_t k = 0; k < c->commands[i].option_count; k++)
            bash_value(c, &c->commands[i], &c->commands[i].options[k], out);
    dx_buf_fmt(out,
               "    esac\n"
               "    for word in \"${COMP_WORDS[@]:2:COMP_CWORD > 2 ? COMP_CWORD - 2 : 0}\"; do\n"
               "        [[ \" $words \" == *\" $word \"* ]] && words=\n"
               "    done\n"
               "    if [ -n \"$values\" ]; then\n"
               "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\")\n"
               "    elif [ -n \"$paths\" ] || { [ -n \"$files\" ] && [[ $cur != -* ]]; }; then\n"
               "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
               "        compopt -o filenames 2>/dev/null\n"
               "    elif [ -n \"$words\" ] && [[ $cur != -* ]]; then\n"
               "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
               "    else\n"
               "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
               "    fi\n"
               "}\n"
               "complete -F _%s %s\n",
               c->program, c->program);
}

/* ---- zsh ---- */

static void zsh_option(const struct dx_completion *c, const struct dx_option *o, const char *indent,
                       struct dx_buf *out)
{
    dx_buf_fmt(out, " \\\n%s'*--%s%s[", indent, o->name, o->arg == NULL ? "" : "=");
    put_quoted(o->help, "[]:\\", out);
    dx_buf_u8(out, ']');
    if (o->arg != NULL) {
        dx_buf_u8(out, ':');
        put_quoted(o->arg, ":\\", out);
        if (has_choices(c, o)) {
            dx_buf_str(out, ":(");
            put_choices(c, o, out);
            dx_buf_u8(out, ')');
        } else
            dx_buf_str(out, dx_option_is_path(o) ? ":_files" : ": ");
    }
    dx_buf_u8(out, '\'');
}

static void zsh_command(const struct dx_completion *c, const struct dx_completion_command *command,
                        struct dx_buf *out)
{
    const char *indent = command->name == NULL ? "        " : "            ";

    if (command->name != NULL)
        dx_buf_fmt(out, "    %s)\n        _arguments", command->name);
    else
        dx_buf_str(out, "    _arguments");
    for (size_t i = 0; i < command->option_count; i++)
        zsh_option(c, &command->options[i], indent, out);
    if (takes_files(command))
        dx_buf_fmt(out, " \\\n%s'*:file:_files'", indent);
    else if (command->operands != NULL)
        dx_buf_fmt(out, " \\\n%s'1:action:(%s)' '*: : '", indent, command->operands);
    dx_buf_str(out, command->name == NULL ? "\n" : " ;;\n");
}

static void write_zsh(const struct dx_completion *c, struct dx_buf *out)
{
    dx_buf_fmt(out, "#compdef %s\n_%s() {\n", c->program, c->program);
    if (!has_commands(c)) {
        zsh_command(c, &c->commands[0], out);
        dx_buf_fmt(out, "}\n_%s \"$@\"\n", c->program);
        return;
    }
    dx_buf_str(
        out,
        "    local -a commands\n    commands=(\n        'help:show the manual of a command'\n");
    for (size_t i = 0; i < c->command_count; i++) {
        dx_buf_fmt(out, "        '%s:", c->commands[i].name);
        put_quoted(c->commands[i].summary, ":\\", out);
        dx_buf_str(out, "'\n");
    }
    dx_buf_str(out, "    )\n"
                    "    if ((CURRENT == 2)); then\n"
                    "        _describe command commands\n"
                    "        return\n"
                    "    fi\n"
                    "    shift words\n"
                    "    ((CURRENT--))\n"
                    "    case $words[1] in\n"
                    "    help) ((CURRENT == 2)) && _describe command commands ;;\n");
    for (size_t i = 0; i < c->command_count; i++)
        zsh_command(c, &c->commands[i], out);
    dx_buf_fmt(out, "    esac\n}\n_%s \"$@\"\n", c->program);
}

/* ---- fish ---- */

static void fish_option(const struct dx_completion *c, const struct dx_completion_command *command,
                        const struct dx_option *o, struct dx_buf *out)
{
    dx_buf_fmt(out, "complete -c %s", c->program);
    if (command->name != NULL)
        dx_buf_fmt(out, " -n '__fish_seen_subcommand_from %s'", command->name);
    dx_buf_fmt(out, " -l %s", o->name);
    if (o->arg != NULL && has_choices(c, o)) {
        dx_buf_str(out, " -x -a '");
        put_choices(c, o, out);
        dx_buf_u8(out, '\'');
    } else if (o->arg != NULL)
        dx_buf_str(out, dx_option_is_path(o) ? " -r -F" : " -x");
    dx_buf_str(out, " -d '");
    put_quoted(o->help, "\\", out);
    dx_buf_str(out, "'\n");
}

/* `words` until one of them stands in the line, and no paths. */
static void fish_operands(const struct dx_completion *c, const char *name, const char *words,
                          struct dx_buf *out)
{
    dx_buf_fmt(out, "complete -c %s -f", c->program);
    if (name != NULL)
        dx_buf_fmt(out, " -n '__fish_seen_subcommand_from %s", name);
    if (name != NULL && words != NULL)
        dx_buf_fmt(out, "; and not __fish_seen_subcommand_from %s", words);
    dx_buf_str(out, name == NULL ? "" : "'");
    if (words != NULL)
        dx_buf_fmt(out, " -a '%s'", words);
    dx_buf_u8(out, '\n');
    if (words != NULL && name != NULL)
        fish_operands(c, name, NULL, out);
}

static void fish_help(const struct dx_completion *c, struct dx_buf *out)
{
    struct dx_buf names = DX_BUF_INIT(64 * 1024);

    put_command_names(c, &names);
    dx_buf_u8(&names, '\0');
    dx_buf_fmt(out,
               "complete -c %s -f -n __fish_use_subcommand -a help -d 'show the manual of a "
               "command'\n",
               c->program);
    if (names.failed)
        out->failed = true;
    else
        fish_operands(c, "help", (const char *)names.data, out);
    dx_buf_release(&names);
}

static void write_fish(const struct dx_completion *c, struct dx_buf *out)
{
    dx_buf_fmt(out, "# fish completion of %s\n", c->program);
    if (has_commands(c))
        fish_help(c, out);
    for (size_t i = 0; i < c->command_count; i++) {
        const struct dx_completion_command *command = &c->commands[i];

        if (command->name != NULL) {
            dx_buf_fmt(out, "complete -c %s -f -n __fish_use_subcommand -a %s -d '", c->program,
                       command->name);
            put_quoted(command->summary, "\\", out);
            dx_buf_str(out, "'\n");
        }
        for (size_t k = 0; k < command->option_count; k++)
            fish_option(c, command, &command->options[k], out);
        if (!takes_files(command))
            fish_operands(c, command->name, command->operands, out);
    }
}

void dx_completion_script(const struct dx_completion *c, enum dx_shell shell, struct dx_buf *out)
{
    static void (*const writers[DX_SHELL_COUNT])(const struct dx_completion *,
                                                 struct dx_buf *) = { NULL, write_bash, write_zsh,
                                                                      write_fish };

    assert(writers[shell] != NULL);

    writers[shell](c, out);
}
