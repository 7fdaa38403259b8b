/* SPDX-License-Identifier: Apache-2.0
 * cmd_completion.c - domaindex completion: the completion script of a shell.
 */
#include "builder/cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "builder/input/records/profile.h"

#define SCRIPT_MAX ((size_t)1 << 20)

static void put_profiles(struct dx_buf *names)
{
    for (size_t i = 0; i < dx_profile_count; i++)
        dx_buf_fmt(names, "%s%s", i == 0 ? "" : " ", dx_profiles[i].name);
    dx_buf_u8(names, '\0');
}

/* The options of a command and those of all: *at is behind them. */
static struct dx_completion_command describe(const struct dx_command *c, const char *operands,
                                             struct dx_option **at)
{
    struct dx_option *options = *at;

    if (c->option_count > 0)
        memcpy(options, c->options, c->option_count * sizeof *options);
    memcpy(options + c->option_count, dx_command_general,
           dx_command_general_count * sizeof *options);
    *at += c->option_count + dx_command_general_count;
    return (struct dx_completion_command){ c->name, c->summary, operands, options,
                                           c->option_count + dx_command_general_count };
}

static size_t count_options(void)
{
    size_t n = 0;

    for (size_t i = 0; i < dx_command_count; i++)
        n += dx_commands[i]->option_count + dx_command_general_count;
    return n;
}

static int print_script(enum dx_shell shell)
{
    struct dx_completion_command *commands = calloc(dx_command_count, sizeof *commands);
    struct dx_option *options = calloc(count_options(), sizeof *options);
    struct dx_option *at = options;
    struct dx_completion completion = { "domaindex", commands, dx_command_count, "profile", NULL };
    struct dx_buf out = DX_BUF_INIT(SCRIPT_MAX);
    struct dx_buf profiles = DX_BUF_INIT(SCRIPT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    int code;

    put_profiles(&profiles);
    if (commands == NULL || options == NULL || profiles.failed) {
        (void)dx_no_memory(&err, "completion");
        code = dx_command_fail("completion", DX_EXIT_REFUSED, &err);
        goto out;
    }
    completion.values = (const char *)profiles.data;
    for (size_t i = 0; i < dx_command_count; i++)
        commands[i] = describe(dx_commands[i],
                               dx_commands[i] == &dx_command_profiles ? completion.values
                                                                      : dx_commands[i]->operands,
                               &at);
    dx_completion_script(&completion, shell, &out);
    code = dx_command_print("completion", DX_EXIT_DONE, &out);
out:
    free(commands);
    free(options);
    dx_buf_release(&profiles);
    return code;
}

static int run_completion(const struct dx_options *options)
{
    enum dx_shell shell = options->operand_count == 1 ? dx_shell_parse(options->operand[0])
                                                      : DX_SHELL_NONE;

    if (shell == DX_SHELL_NONE) {
        (void)dx_line_print(stderr,
                            "domaindex completion: one operand is needed: bash, zsh or fish");
        return DX_EXIT_USAGE;
    }
    return print_script(shell);
}

const struct dx_command dx_command_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|fish",
    .operands = "bash zsh fish",
    .summary = "print the completion script of a shell",
    .description = "Prints a script that makes the shell complete commands, options, values and "
                   "paths of domaindex. "
                   "'cmake --install' and the packages put the scripts where the shells look for "
                   "them. By hand: "
                   "'source <(domaindex completion bash)'; for zsh a file _domaindex in a folder "
                   "of fpath; for fish "
                   "~/.config/fish/completions/domaindex.fish. 'domaindexd --completion SHELL' "
                   "prints that of the "
                   "server.",
    .example = "domaindex completion bash > ~/.local/share/bash-completion/completions/domaindex",
    .options = NULL,
    .option_count = 0,
    .run = run_completion,
};
