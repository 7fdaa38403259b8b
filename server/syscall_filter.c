/* SPDX-License-Identifier: Apache-2.0 */
#include "server/syscall_filter.h"

#include <errno.h>
#include <linux/netlink.h>
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
#define SOCK_TYPE_MASK 0xfu
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* By name: a call that this machine, or this libseccomp, does not have is left out. Found by strace over
 * the end-to-end tests of the server; what is in no trace is there for other C libraries and kernels. */
static const char *const allowed[] = {
    /* files: where, landlock says */
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev",
    "pwritev2", "open", "openat", "close", "lseek", "_llseek", "stat", "lstat", "fstat", "stat64",
    "lstat64", "fstat64", "newfstatat", "fstatat64", "statx", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getdents", "getdents64", "getcwd", "fcntl", "fcntl64", "flock",
    "fsync", "fdatasync", "fallocate", "ftruncate", "ftruncate64", "mkdir", "mkdirat", "rmdir",
    "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "utimensat",
    "utimensat_time64", "statfs", "fstatfs", "statfs64", "fstatfs64", "fadvise64", "fadvise64_64",
    "readahead", "copy_file_range", "dup", "dup2", "dup3", "umask",
    /* waiting */
    "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6", "pselect6_time64",
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
    "eventfd2", "pipe", "pipe2", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
    "signalfd4", "timerfd_create", "timerfd_settime", "timerfd_gettime", "nanosleep",
    "clock_nanosleep", "clock_nanosleep_time64", "sched_yield", "restart_syscall",
    /* network: sockets of which kind, below */
    "socketpair", "bind", "listen", "accept", "accept4", "connect", "getsockname", "getpeername",
    "getsockopt", "setsockopt", "shutdown", "send", "sendto", "sendmsg", "sendmmsg", "recv",
    "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64", "sendfile", "sendfile64",
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

/* Tried by C libraries before what they did of old. */
static const char *const unknown[] = {
    "clone3",
    "close_range",
    "openat2",
    "fchmodat2",
    "futex_waitv",
    "futex_wait",
    "futex_wake",
    "futex_requeue",
    "map_shadow_stack",
    "mseal",
    "set_mempolicy_home_node",
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

static int add_sockets(scmp_filter_ctx ctx)
{
    static const int families[] = { AF_UNIX, AF_INET, AF_INET6 };
    static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
    struct scmp_arg_cmp when[2];
    int rc = 0;

    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (size_t t = 0; t < sizeof types / sizeof types[0] && rc == 0; t++) {
            when[0] = is(0, (uint64_t)families[f]);
            when[1] = masked(1, SOCK_TYPE_MASK, (uint64_t)types[t]);
            rc = add(ctx, SCMP_ACT_ALLOW, "socket", 2, when);
        }
    when[0] = is(0, AF_NETLINK); /* a resolver asks which addresses this machine has */
    when[1] = is(2, NETLINK_ROUTE);
    return rc != 0 ? rc : add(ctx, SCMP_ACT_ALLOW, "socket", 2, when);
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
    struct scmp_arg_cmp thread = masked(0, CLONE_THREAD_FLAG, CLONE_THREAD_FLAG);
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

static int fill(scmp_filter_ctx ctx, const struct dx_syscall_filter_options *options)
{
    static const unsigned long controls[] = { FIONBIO, FIONREAD, TCGETS };
    static const unsigned long wishes[] = { PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_SET_VMA };
    int rc = add_all(ctx, SCMP_ACT_ALLOW, allowed, sizeof allowed / sizeof allowed[0]);

    if (rc == 0)
        rc = add_all(ctx, SCMP_ACT_ERRNO(ENOSYS), unknown, sizeof unknown / sizeof unknown[0]);
    if (rc == 0 && options->modes)
        rc = add(ctx, SCMP_ACT_ALLOW, "fchmod", 0, NULL);
    if (rc == 0)
        rc = add_sockets(ctx);
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

int dx_syscall_filter_enter(const struct dx_syscall_filter_options *options, struct dx_error *err)
{
    scmp_filter_ctx ctx;
    int rc;

    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
        return 0;
    ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (ctx == NULL)
        return dx_fail(err, DX_E_NOMEM, "seccomp: no filter");
    rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
    if (rc == 0)
        rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, not a list */
    if (rc == 0)
        rc = fill(ctx, options);
    if (rc == 0)
        rc = seccomp_load(ctx);
    seccomp_release(ctx);
    if (rc == -ENOSYS || rc == -EOPNOTSUPP)
        return 0;
    return rc < 0 ? dx_fail_errno(err, -rc, "seccomp: no filter") : 1;
}
