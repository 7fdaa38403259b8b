/* SPDX-License-Identifier: Apache-2.0
 * cmd_completion.c - domaindex completion: the completion script of a shell.
 */
#include "builder/cli/commands.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/command/shell_completion.h"
#include "base/log.h"

#define SCRIPT_MAX ((size_t)1 << 20)

static int print_script(enum dx_shell shell)
{
    struct dx_completion_command *commands = calloc(dx_command_count, sizeof *commands);
    const struct dx_completion completion = { "domaindex", commands, dx_command_count };
    struct dx_buf out = DX_BUF_INIT(SCRIPT_MAX);
    struct dx_error err = DX_ERROR_INIT;

    if (commands == NULL) {
        (void)dx_no_memory(&err, "completion");
        return dx_command_fail("completion", DX_EXIT_REFUSED, &err);
    }
    for (size_t i = 0; i < dx_command_count; i++)
        commands[i] = (struct dx_completion_command){ dx_commands[i]->name, dx_commands[i]->summary,
                                                      dx_commands[i]->options,
                                                      dx_commands[i]->option_count };
    dx_completion_script(&completion, shell, &out);
    free(commands);
    return dx_command_print("completion", DX_EXIT_DONE, &out);
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
