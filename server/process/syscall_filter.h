/* SPDX-License-Identifier: Apache-2.0
 * syscall_filter.h - the system calls that this process may make from now on (seccomp).
 *
 *   rc = dx_syscall_filter_enter(&options, &err);     1, or 0: this kernel has none
 *   rc = dx_syscall_filter_narrow(&options, &err);    what only the start needed goes: once it listens
 *
 * A list of what is allowed; all else fails with EPERM, or with ENOSYS where a C library tries a
 * new call first and knows what to do without it. A call fails and the process lives: an update of
 * a library that makes one more call should cost that call and not the service, and an attacker who
 * has taken over the process gains nothing if it lives. For all threads; cannot be taken back.
 *
 * Not among the allowed: exec, new processes (threads are), ptrace and memory of others, signals to
 * others, memory that is made executable, namespaces, mounts, users, rights, times and owners of
 * files, keys, bpf, io_uring, perf, modules, clocks. Sockets are TCP (no other protocol of
 * SOCK_STREAM), and as the options say UDP and unix. No address may be given with what is sent, nor
 * MSG_FASTOPEN or an option for it: a connection is made by connect, which landlock sees, or not at
 * all. Of options of sockets and commands of fcntl only those that are in use.
 */
#ifndef DX_SERVER_PROCESS_SYSCALL_FILTER_H
#define DX_SERVER_PROCESS_SYSCALL_FILTER_H

#include "base/error.h"

#include <stdbool.h>

struct dx_syscall_filter_options {
    bool libraries; /* may be loaded yet: name services, at lookups of addresses */
    bool tree;      /* copies of a remote root are made: folders, links, modes, lengths */
    bool inet;      /* TCP sockets */
    bool udp;       /* a resolver's */
    bool unix_sockets;
    bool listen;  /* bind and listen */
    bool connect; /* also messages to and from a resolver */
};

int dx_syscall_filter_enter(const struct dx_syscall_filter_options *options, struct dx_error *err);

/* After enter, for all threads; options: what of the sockets is still allowed. */
int dx_syscall_filter_narrow(const struct dx_syscall_filter_options *options, struct dx_error *err);

#endif
