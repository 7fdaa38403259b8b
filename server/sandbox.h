/* SPDX-License-Identifier: Apache-2.0
 * sandbox.h - what domaindexd takes from itself before it serves: by landlock and seccomp, where the kernel has them.
 *
 *   rc = dx_sandbox_enter(&sandbox, settings, &err);   before the first thread; cannot be taken back
 *   dx_sandbox_log(&sandbox);                          what is in force, and what is left out
 *
 * May be read: the root, the folders of files that settings name, what systemd hands over as credentials; for a
 * root that is reached over a network also what names, certificates and libraries need (/etc, /usr/lib …).
 * May be written: the leases of a root that is a directory, the copies of one that is not, the log of requests.
 * Folders that are to be written are made first. A root whose index, lake or leases are links to elsewhere is read
 * where they lead; links deeper in it are not followed out of it.
 *
 * --sandbox auto: as much as the kernel has. yes: DX_E_UNSUPPORTED if it lacks files or system calls. no: nothing.
 * Builds with sanitizers or coverage have none, since these want to do what it forbids.
 */
#ifndef DX_SERVER_SANDBOX_H
#define DX_SERVER_SANDBOX_H

#include "base/error.h"

#include <stdbool.h>

struct dx_settings;

struct dx_sandbox {
    int landlock; /* its version; 0: none */
    bool seccomp;
    bool remote;     /* what names and certificates need may be read, and connections made */
    const char *off; /* why there is none; NULL: there is, as far as the kernel has it */
};

int dx_sandbox_enter(struct dx_sandbox *sandbox, const struct dx_settings *settings,
                     struct dx_error *err);
void dx_sandbox_log(const struct dx_sandbox *sandbox);

#endif
