/* SPDX-License-Identifier: Apache-2.0
 * sandbox.h - what domaindexd takes from itself before it serves: by landlock and seccomp, where
 * the kernel has them.
 *
 *   rc = dx_sandbox_enter(&sandbox, settings, &err);   before the first thread; cannot be taken back
 *   dx_sandbox_log(&sandbox);                          what is in force, and what is left out
 *   rc = dx_sandbox_narrow(&sandbox, &err);            once it listens: what only the start needed goes
 *
 * May be read: the root, the folders of files that settings name, what systemd hands over as
 * credentials; for a root that is reached over a network also what names, certificates and
 * libraries need (/etc, /usr/lib …). May be written: the leases of a root that is a directory, the
 * copies of one that is not, the log of requests. Folders that are to be written are made first. A
 * root whose index, lake or leases are links to elsewhere is read where they lead; links deeper in
 * it are not followed out of it.
 *
 * A root that is a directory needs no socket of its own once it listens: none can be made, bound,
 * listened on or connected, and nothing is sent but on the connections that are accepted. A root
 * over a network needs TCP to the store, and UDP if its name has to be resolved; unix sockets only
 * where a local resolver has one (systemd-resolved, nscd).
 *
 * --sandbox auto: as much as the kernel has. yes: DX_E_UNSUPPORTED if it lacks files or system
 * calls. no: nothing. Builds with sanitizers or coverage have none, since these want to do what it
 * forbids.
 */
#ifndef DX_SERVER_PROCESS_SANDBOX_H
#define DX_SERVER_PROCESS_SANDBOX_H

#include "base/error.h"
#include "server/process/syscall_filter.h"

#include <stdbool.h>

struct dx_settings;

struct dx_sandbox {
    int landlock; /* its version; 0: none */
    bool seccomp;
    struct dx_syscall_filter_options sockets; /* after narrow */
    bool remote;     /* what names and certificates need may be read, and connections made */
    const char *off; /* why there is none; NULL: there is, as far as the kernel has it */
};

int dx_sandbox_enter(struct dx_sandbox *sandbox, const struct dx_settings *settings,
                     struct dx_error *err);
int dx_sandbox_narrow(const struct dx_sandbox *sandbox, struct dx_error *err);
void dx_sandbox_log(const struct dx_sandbox *sandbox);

#endif
