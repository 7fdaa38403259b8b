/* SPDX-License-Identifier: Apache-2.0
 * settings_text.h - the settings in force as text: as a file, and against what the file says now.
 *
 *   dx_settings_print(&s, &text);        a settings file that sets all of it; comments say where from
 *   dx_settings_log_changes(&s);         a line for each key that its file has changed since the start
 *
 * All settings are read at the start only. Of the thread that owns them; reads files.
 */
#ifndef DX_SERVER_PROCESS_SETTINGS_TEXT_H
#define DX_SERVER_PROCESS_SETTINGS_TEXT_H

#include "base/buf.h"
#include "server/process/settings.h"

void dx_settings_print(const struct dx_settings *s, struct dx_buf *out);
void dx_settings_log_changes(const struct dx_settings *s);

#endif
