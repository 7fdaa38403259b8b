/* SPDX-License-Identifier: Apache-2.0
 * sandbox_trial.h - tries what a process in the sandbox must not be able to do, and what it must.
 *
 *   ok = dx_sandbox_trial(settings);        a line to standard output for each
 *
 * A child enters the sandbox that these settings make; this process, outside, gives it a file, two
 * listening sockets and itself to reach for, in a folder of its own below $TMPDIR or /tmp, and
 * takes it all away afterwards. Nothing that is tried would do harm if it succeeded. False:
 * something succeeded that must not, or the other way round; or there is no sandbox here.
 */
#ifndef DX_SERVER_PROCESS_SANDBOX_TRIAL_H
#define DX_SERVER_PROCESS_SANDBOX_TRIAL_H

#include <stdbool.h>

struct dx_settings;

bool dx_sandbox_trial(const struct dx_settings *settings);

#endif
