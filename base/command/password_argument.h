/* SPDX-License-Identifier: Apache-2.0
 * password_argument.h - passwords in arguments, which all users of the machine can see in a list of processes.
 *
 *   if (dx_password_arguments_hide(argc, argv)) …       in main, before the arguments are used
 *
 * The password of scheme://user:password@host, and all behind "password=" (a connection string of
 * PostgreSQL), is overwritten by x where the system shows it; argv[i] is then a copy, which lives as
 * long as the process and has the password. Until then, for some milliseconds, it can be seen.
 * true: there was one. If memory is too short for the copy, the argument keeps it.
 */
#ifndef DX_BASE_COMMAND_PASSWORD_ARGUMENT_H
#define DX_BASE_COMMAND_PASSWORD_ARGUMENT_H

#include <stdbool.h>

bool dx_password_arguments_hide(int argc, char **argv);

#endif
