/* SPDX-License-Identifier: Apache-2.0
 * settings_check.h - whether a server with these settings could start, as far as that shows without its root.
 *
 *   rc = dx_settings_check(&s, &err);    the error names the option
 *
 * Files that they name are read; the log of requests, sockets and the folder of copies could be made: nothing of it stays.
 * The root is not opened, and no port is taken. Of the thread that owns the settings.
 */
#ifndef DX_SERVER_PROCESS_SETTINGS_CHECK_H
#define DX_SERVER_PROCESS_SETTINGS_CHECK_H

#include "base/error.h"

struct dx_settings;

int dx_settings_check(const struct dx_settings *s, struct dx_error *err);

#endif
