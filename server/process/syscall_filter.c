/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#define CLONE_THREAD_FLAG 0x10000u /* sched.h has it only beside other things */
#define CLONE_NAMESPACES 0x7e020000u
#define SOCK_TYPE_MASK 0xfu
#define SECCOMP_SET_FILTER 1u
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* By name: a call that this machine, or this libseccomp, does not have is left out. Found by strace
 * over the end-to-end tests of the server; what is in no trace is there for other C libraries and
 * kernels. */
static const char *const allowed[] = {
    /* files: where, landlock says */
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev",
    "pwritev2", "open", "openat", "openat2", "close", "lseek", "_llseek", "stat", "lstat", "fstat",
    "stat64", "lstat64", "fstat64", "newfstatat", "fstatat64", "statx", "access", "faccessat",
    "faccessat2", "readlink", "readlinkat", "getdents", "getdents64", "getcwd", "flock", "fsync",
    "fdatasync", "mkdir", "mkdirat", "link", "linkat", "unlink", "unlinkat", "rename", "renameat",
    "renameat2", "statfs", "fstatfs", "statfs64", "fstatfs64", "fadvise64", "fadvise64_64",
    "readahead", "umask",
    /* waiting */
    "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6", "pselect6_time64",
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
    "eventfd2", "pipe", "pipe2", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
    "signalfd4", "timerfd_create", "timerfd_settime", "timerfd_gettime", "nanosleep",
    "clock_nanosleep", "clock_nanosleep_time64", "sched_yield", "restart_syscall",
    /* network: sockets of which kind, their options, and what is sent, below */
    "accept", "accept4", "getsockname", "getpeername", "getsockopt", "shutdown", "recv", "recvfrom",
    "sendfile", "sendfile64",
    /* memory: executable, below */
    "brk", "munmap", "mremap", "madvise", "msync", "mincore", "membarrier",
    /* threads: new ones, below */
    "futex", "futex_time64", "set_robust_list", "get_robust_list", "rseq", "set_tid_address",
    "sched_getaffinity", "sched_getparam", "sched_getscheduler", "getcpu", "gettid", "exit",
    "exit_group", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn", "rt_sigtimedwait",
    "rt_sigtimedwait_time64", "rt_sigpending", "rt_sigsuspend", "sigaltstack",
    /* about itself */
    "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getrusage", "times",
    "getrlimit", "ugetrlimit", "uname", "sysinfo", "getrandom", "clock_gettime", "clock_gettime64",
    "clock_getres", "clock_getres_time64", "gettimeofday", "time"
};

static const char *const tree[] = { "rmdir",       "fallocate", "ftruncate",
                                    "ftruncate64", "fchmod",    "copy_file_range" };

/* Tried by C libraries before what they did of old. */
static const char *const unknown[] = {
    "clone3",     "close_range",   "fchmodat2",        "futex_waitv", "futex_wait",
    "futex_wake", "futex_requeue", "map_shadow_stack", "mseal",       "set_mempolicy_home_node",
    "cachestat",
};

static int add(scmp_filter_ctx ctx, uint32_t action, const char *name, unsigned count,
               const struct scmp_arg_cmp *when)
{
    int number = seccomp_syscall_resolve_name(name);

    if (number == __NR_SCMP_ERROR)
        return 0;
    return seccomp_rule_add_array(ctx, action, number, count, when);
}

static int add_all(scmp_filter_ctx ctx, uint32_t action, const char *const *names, size_t count)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add(ctx, action, names[i], 0, NULL);
    return rc;
}

static struct scmp_arg_cmp is(unsigned argument, uint64_t value)
{
    return (struct scmp_arg_cmp){ argument, SCMP_CMP_EQ, value, 0 };
}

static struct scmp_arg_cmp masked(unsigned argument, uint64_t mask, uint64_t value)
{
    return (struct scmp_arg_cmp){ argument, SCMP_CMP_MASKED_EQ, mask, value };
}

/* The protocols that a family's type has by default and by name; others, such as MPTCP, go their
 * own ways. */
static int add_socket(scmp_filter_ctx ctx, int family, int type, int protocol)
{
    const struct scmp_arg_cmp when[3] = { is(0, (uint64_t)family),
                                          masked(1, SOCK_TYPE_MASK, (uint64_t)type),
                                          is(2, (uint64_t)protocol) };

    return add(ctx, SCMP_ACT_ALLOW, "socket", 3, when);
}

static int add_sockets(scmp_filter_ctx ctx, const struct dx_syscall_filter_options *options)
{
    static const int families[] = { AF_INET, AF_INET6 };
    int rc = 0;

    for (size_t f = 0; f < sizeof families / sizeof families[0] && rc == 0; f++) {
        if (options->inet)
            rc = add_socket(ctx, families[f], SOCK_STREAM, 0);
        if (options->inet && rc == 0)
            rc = add_socket(ctx, families[f], SOCK_STREAM, IPPROTO_TCP);
        if (options->udp && rc == 0)
            rc = add_socket(ctx, families[f], SOCK_DGRAM, 0);
        if (options->udp && rc == 0)
            rc = add_socket(ctx, families[f], SOCK_DGRAM, IPPROTO_UDP);
    }
    if (options->unix_sockets && rc == 0)
        rc = add_socket(ctx, AF_UNIX, SOCK_STREAM, 0);
    return rc;
}

/* Calls about sockets that only some roots need. */
static int add_calls(scmp_filter_ctx ctx, const struct dx_syscall_filter_options *options)
{
    static const char *const listening[] = { "bind", "listen" };
    static const char *const connecting[] = { "connect", "recvmsg" };
    const struct scmp_arg_cmp pair[2] = { is(0, AF_UNIX), masked(1, SOCK_TYPE_MASK, SOCK_STREAM) };
    int rc = options->listen ? add_all(ctx, SCMP_ACT_ALLOW, listening, 2) : 0;

    if (rc == 0 && options->connect)
        rc = add_all(ctx, SCMP_ACT_ALLOW, connecting, 2);
    /* libevent and libcurl wake themselves by pairs. */
    return rc != 0 ? rc : add(ctx, SCMP_ACT_ALLOW, "socketpair", 2, pair);
}

/* With an address a datagram goes anywhere, and with MSG_FASTOPEN a connection is made without
 * connect. */
static int add_sending(scmp_filter_ctx ctx, const struct dx_syscall_filter_options *options)
{
    const struct scmp_arg_cmp to[2] = { masked(3, MSG_FASTOPEN, 0), is(4, 0) };
    struct scmp_arg_cmp flags = masked(3, MSG_FASTOPEN, 0);
    int rc = add(ctx, SCMP_ACT_ALLOW, "sendto", 2, to);

    if (rc == 0)
        rc = add(ctx, SCMP_ACT_ALLOW, "send", 1, &flags);
    if (rc == 0 && options->udp) /* two questions of a resolver at once */
        rc = add(ctx, SCMP_ACT_ALLOW, "sendmmsg", 1, &flags);
    flags = masked(2, MSG_FASTOPEN, 0);
    if (rc == 0 && options->unix_sockets)
        rc = add(ctx, SCMP_ACT_ALLOW, "sendmsg", 1, &flags);
    return rc;
}

static int add_options(scmp_filter_ctx ctx)
{
    static const struct {
        int level, option;
    } rows[] = {
        { SOL_SOCKET, SO_REUSEADDR },       { SOL_SOCKET, SO_KEEPALIVE },
        { SOL_SOCKET, SO_SNDTIMEO },        { SOL_SOCKET, SO_RCVTIMEO },
        { SOL_SOCKET, SO_SNDBUF },          { SOL_SOCKET, SO_RCVBUF },
        { SOL_SOCKET, SO_LINGER },          { IPPROTO_TCP, TCP_NODELAY },
        { IPPROTO_TCP, TCP_NOTSENT_LOWAT }, { IPPROTO_TCP, TCP_USER_TIMEOUT },
        { IPPROTO_TCP, TCP_KEEPIDLE },      { IPPROTO_TCP, TCP_KEEPINTVL },
        { IPPROTO_TCP, TCP_KEEPCNT },       { IPPROTO_IPV6, IPV6_V6ONLY },
        { IPPROTO_IP, IP_RECVERR },         { IPPROTO_IPV6, IPV6_RECVERR },
        { IPPROTO_IP, IP_MTU_DISCOVER },    { IPPROTO_IPV6, IPV6_MTU_DISCOVER },
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && rc == 0; i++) {
        const struct scmp_arg_cmp when[2] = { is(1, (uint64_t)rows[i].level),
                                              is(2, (uint64_t)rows[i].option) };

        rc = add(ctx, SCMP_ACT_ALLOW, "setsockopt", 2, when);
    }
    return rc;
}

static int add_memory(scmp_filter_ctx ctx, const struct dx_syscall_filter_options *options)
{
    struct scmp_arg_cmp when = masked(2, PROT_EXEC, 0);
    int rc = add(ctx, SCMP_ACT_ALLOW, "mmap", 1, &when);

    if (rc == 0)
        rc = add(ctx, SCMP_ACT_ALLOW, "mmap2", 1, &when);
    if (rc == 0)
        rc = add(ctx, SCMP_ACT_ALLOW, "mprotect", 1, &when);
    if (rc == 0 && options->libraries) { /* mapped so at once, and never writable */
        when = masked(2, PROT_EXEC | PROT_WRITE, PROT_EXEC);
        rc = add(ctx, SCMP_ACT_ALLOW, "mmap", 1, &when);
    }
    return rc;
}

/* Threads of this process, and signals to itself alone. */
static int add_self(scmp_filter_ctx ctx)
{
    struct scmp_arg_cmp thread = masked(0, CLONE_THREAD_FLAG | CLONE_NAMESPACES, CLONE_THREAD_FLAG);
    struct scmp_arg_cmp self = is(0, (uint64_t)getpid());
    struct scmp_arg_cmp look = is(2, 0); /* at limits, without a new one */
    int rc = add(ctx, SCMP_ACT_ALLOW, "clone", 1, &thread);

    if (rc == 0)
        rc = add(ctx, SCMP_ACT_ALLOW, "kill", 1, &self);
    if (rc == 0)
        rc = add(ctx, SCMP_ACT_ALLOW, "tgkill", 1, &self);
    return rc != 0 ? rc : add(ctx, SCMP_ACT_ALLOW, "prlimit64", 1, &look);
}

static int add_by_number(scmp_filter_ctx ctx, const char *name, unsigned argument,
                         const unsigned long *numbers, size_t count)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        struct scmp_arg_cmp when = is(argument, numbers[i]);

        rc = add(ctx, SCMP_ACT_ALLOW, name, 1, &when);
    }
    return rc;
}

static int add_rules(scmp_filter_ctx ctx, const struct dx_syscall_filter_options *options)
{
    static const unsigned long controls[] = { FIONBIO, FIONREAD, TCGETS };
    /* F_SETOWN_EX names the owner of a lease through a pointer, which no filter can check: landlock
     * holds signals to others back. */
    static const unsigned long commands[] = { F_GETFD,  F_SETFD,     F_GETFL,
                                              F_SETFL,  F_GETLEASE,  F_SETLEASE,
                                              F_SETSIG, F_SETOWN_EX, F_DUPFD_CLOEXEC };
    const struct scmp_arg_cmp narrow = is(0, SECCOMP_SET_FILTER);
    static const unsigned long wishes[] = { PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_SET_VMA };
    int rc = add_all(ctx, SCMP_ACT_ALLOW, allowed, sizeof allowed / sizeof allowed[0]);

    if (rc == 0)
        rc = add_all(ctx, SCMP_ACT_ERRNO(ENOSYS), unknown, sizeof unknown / sizeof unknown[0]);
    if (rc == 0 && options->tree)
        rc = add_all(ctx, SCMP_ACT_ALLOW, tree, sizeof tree / sizeof tree[0]);
    if (rc == 0)
        rc = add_sockets(ctx, options);
    if (rc == 0)
        rc = add_calls(ctx, options);
    if (rc == 0)
        rc = add_sending(ctx, options);
    if (rc == 0)
        rc = add_options(ctx);
    if (rc == 0)
        rc = add_by_number(ctx, "fcntl", 1, commands, sizeof commands / sizeof commands[0]);
    if (rc == 0)
        rc = add_by_number(ctx, "fcntl64", 1, commands, sizeof commands / sizeof commands[0]);
    if (rc == 0) /* a further filter, which can only take away: until narrow */
        rc = add(ctx, SCMP_ACT_ALLOW, "seccomp", 1, &narrow);
    if (rc == 0)
        rc = add_memory(ctx, options);
    if (rc == 0)
        rc = add_self(ctx);
    if (rc == 0)
        rc = add_by_number(ctx, "ioctl", 1, controls, sizeof controls / sizeof controls[0]);
    if (rc == 0)
        rc = add_by_number(ctx, "prctl", 0, wishes, sizeof wishes / sizeof wishes[0]);
    return rc;
}

/* Loads what fill put into a filter of which the rest gets `action`. */
static int load_filter(uint32_t action, const struct dx_syscall_filter_options *options, bool first,
                       int (*put)(scmp_filter_ctx, const struct dx_syscall_filter_options *),
                       struct dx_error *err)
{
    scmp_filter_ctx ctx = seccomp_init(action);
    int rc;

    if (ctx == NULL)
        return dx_fail(err, DX_E_NOMEM, "seccomp: no filter");
    rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
    if (rc == 0)
        rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, first);
    if (rc == 0)
        rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, not a list */
    if (rc == 0)
        rc = put(ctx, options);
    if (rc == 0)
        rc = seccomp_load(ctx);
    seccomp_release(ctx);
    if (first && (rc == -ENOSYS || rc == -EOPNOTSUPP))
        return 0;
    return rc < 0 ? dx_fail_errno(err, -rc, "seccomp: no filter") : 1;
}

int dx_syscall_filter_enter(const struct dx_syscall_filter_options *options, struct dx_error *err)
{
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
        return 0;
    return load_filter(SCMP_ACT_ERRNO(EPERM), options, true, add_rules, err);
}

/* A list of what is taken away: what is not on it is still as the first filter says. */
static int take_away(scmp_filter_ctx ctx, const struct dx_syscall_filter_options *options)
{
    static const char *const listening[] = { "seccomp", "bind", "listen" };
    static const char *const connecting[] = { "connect", "socket",   "socketpair",
                                              "sendmsg", "sendmmsg", "recvmsg" };
    const struct scmp_arg_cmp unix_family = is(0, AF_UNIX);
    int rc = add_all(ctx, SCMP_ACT_ERRNO(EPERM), listening, sizeof listening / sizeof listening[0]);

    if (rc == 0 && !options->connect)
        rc = add_all(ctx, SCMP_ACT_ERRNO(EPERM), connecting,
                     sizeof connecting / sizeof connecting[0]);
    else if (rc == 0 && !options->unix_sockets)
        rc = add(ctx, SCMP_ACT_ERRNO(EPERM), "socket", 1, &unix_family);
    return rc;
}

int dx_syscall_filter_narrow(const struct dx_syscall_filter_options *options, struct dx_error *err)
{
    return load_filter(SCMP_ACT_ALLOW, options, false, take_away, err);
}
