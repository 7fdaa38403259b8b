/* SPDX-License-Identifier: Apache-2.0
 * commands.h - all subcommands of `domaindex`, in the order in which help lists them.
 *
 *   for (size_t i = 0; i < dx_command_count; i++)
 *       ... dx_commands[i]->name ...
 *
 * Constants. A new command is a line in commands.c.
 */
#ifndef DX_BUILDER_CLI_COMMANDS_H
#define DX_BUILDER_CLI_COMMANDS_H

#include "builder/cli/command.h"

extern const struct dx_command *const dx_commands[];
extern const size_t dx_command_count;

#endif
