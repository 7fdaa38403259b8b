/* SPDX-License-Identifier: Apache-2.0
 * syscall_filter.h - the system calls that this process may make from now on (seccomp).
 *
 *   rc = dx_syscall_filter_enter(&options, &err);     1, or 0: this kernel has none
 *
 * A list of what is allowed; all else fails with EPERM, or with ENOSYS where a C library tries a new
 * call first and knows what to do without it. A call fails and the process lives: an update of a library
 * that makes one more call should cost that call and not the service, and somebody who has taken over
 * the process wins nothing by its life. For all threads; cannot be taken back.
 *
 * Not among the allowed: exec, new processes (threads are), ptrace and memory of others, signals to
 * others, memory that is made executable, sockets but for inet, inet6, unix and the routes of netlink, namespaces,
 * mounts, users, rights and owners of files, keys, bpf, io_uring, perf, modules, clocks.
 */
#ifndef DX_SERVER_SYSCALL_FILTER_H
#define DX_SERVER_SYSCALL_FILTER_H

#include "base/error.h"

#include <stdbool.h>

struct dx_syscall_filter_options {
    bool libraries; /* may be loaded yet: name services, by whoever asks for an address */
    bool modes;     /* of files that were written may be set */
};

int dx_syscall_filter_enter(const struct dx_syscall_filter_options *options, struct dx_error *err);

#endif
