/* SPDX-License-Identifier: Apache-2.0
 * shell_completion.h - completion scripts for bash, zsh and fish, made from option tables.
 *
 *   const struct dx_completion_command commands[] = { { "ingest", "add records to the lake", table, count }, ... };
 *   const struct dx_completion c = { "domaindex", commands, COUNT };
 *   dx_completion_script(&c, DX_SHELL_BASH, &out);
 *
 * A program without subcommands has one command whose name is NULL. Options that take a file, a directory
 * or a root complete paths; those of the kinds CHOICE and YES_NO complete their values. What is not an option
 * completes as `operands` says. Pure; any thread.
 */
#ifndef DX_BASE_COMMAND_SHELL_COMPLETION_H
#define DX_BASE_COMMAND_SHELL_COMPLETION_H

#include "base/buf.h"
#include "base/command/options.h"

enum dx_shell { DX_SHELL_NONE, DX_SHELL_BASH, DX_SHELL_ZSH, DX_SHELL_FISH, DX_SHELL_COUNT };

#define DX_COMPLETE_FILES "FILE"

struct dx_completion_command {
    const char *name;
    const char *summary; /* one line */
    /* DX_COMPLETE_FILES; or the words that the first operand is one of, "add lift list"; NULL: options alone are offered */
    const char *operands;
    const struct dx_option *options;
    size_t option_count;
};

struct dx_completion {
    const char *program;
    const struct dx_completion_command *commands;
    size_t command_count;
    const char *
        option; /* its value is one of the words of `values`, "a b c"; NULL: no option has such words */
    const char *values;
};

/* DX_SHELL_NONE: the text names none of them. */
enum dx_shell dx_shell_parse(const char *text);
/* shell: not DX_SHELL_NONE. */
void dx_completion_script(const struct dx_completion *c, enum dx_shell shell, struct dx_buf *out);

#endif
