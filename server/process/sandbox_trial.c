/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/sandbox_trial.h"

#include "base/path.h"
#include "fetch/source.h"
#include "server/process/sandbox.h"
#include "server/process/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_SIZE 4096
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define NO_ADDRESS 1L /* faults if a call that got through looked there */

/* What a row needs to mean something. */
enum {
    NEEDS_FILES = 1, /* landlock */
    NEEDS_LOCAL = 8, /* a root that is a directory */
    NEEDS_NO_UDP = 16,
    NEEDS_NO_UNIX = 32,
};

struct trial {
    const struct dx_settings *settings;
    struct dx_sandbox sandbox;
    char dir[PATH_SIZE / 2];
    char secret[PATH_SIZE];  /* a file in it */
    char other[PATH_SIZE];   /* a name in it */
    char planted[PATH_SIZE]; /* a name in the root */
    pid_t outside;
    int listener; /* of the process outside, and the others */
    int datagrams;
    int abstract;
    int named;   /* unix, of a path: a stream */
    int letters; /* datagrams */
    struct sockaddr_in address;
    struct sockaddr_in datagram_address;
    struct sockaddr_un abstract_address;
    struct sockaddr_un named_address;
    struct sockaddr_un letters_address;
    socklen_t abstract_size;
    int client;   /* of `accepted` */
    int accepted; /* a connection, such as a server has */
    int notify;   /* a connected datagram socket, such as a supervisor's */
    unsigned refused;
    unsigned not_shown;
    unsigned failed;
};

/* ---- calls that seccomp refuses, whatever their arguments ---- */

static const struct {
    const char *name;
    long number;
    long arguments[3];
    unsigned needs;
} calls[] = {
    { "become another program", SYS_execve, { NO_ADDRESS }, 0 },
    { "the same by a descriptor", SYS_execveat, { -1, NO_ADDRESS }, 0 },
    { "trace", SYS_ptrace, { PTRACE_TRACEME }, 0 },
    { "write to another process's memory", SYS_process_vm_writev, { 1 }, 0 },
    { "take a handle on a process", SYS_pidfd_open, { 1 }, 0 },
    { "a raw socket", SYS_socket, { AF_INET, SOCK_RAW, IPPROTO_ICMP }, 0 },
    { "a socket for echo requests", SYS_socket, { AF_INET, SOCK_DGRAM, IPPROTO_ICMP }, 0 },
    { "a packet socket", SYS_socket, { AF_PACKET, SOCK_DGRAM }, 0 },
    { "a socket to the host of a virtual machine", SYS_socket, { AF_VSOCK, SOCK_STREAM }, 0 },
    { "a socket of the audit", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT }, 0 },
    { "a socket of the routes", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, 0 },
    { "a socket of SCTP", SYS_socket, { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, 0 },
    { "a socket of UDP-Lite", SYS_socket, { AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE }, 0 },
    { "a socket of SMC", SYS_socket, { AF_SMC, SOCK_STREAM }, 0 },
    { "bind", SYS_bind, { -1, NO_ADDRESS, 16 }, 0 },
    { "listen", SYS_listen, { -1, 1 }, 0 },
    { "connect", SYS_connect, { -1, NO_ADDRESS, 16 }, NEEDS_LOCAL },
    { "a message with an address", SYS_sendmsg, { -1, NO_ADDRESS }, NEEDS_LOCAL },
    { "many of them", SYS_sendmmsg, { -1, NO_ADDRESS, 1 }, NEEDS_LOCAL },
    { "descriptors from another process", SYS_recvmsg, { -1, NO_ADDRESS }, NEEDS_LOCAL },
    { "one descriptor in the place of another", SYS_dup3, { -1, 9 }, 0 },
    { "times of a file", SYS_utimensat, { AT_FDCWD, NO_ADDRESS, NO_ADDRESS }, 0 },
    { "cut a file that is open", SYS_ftruncate, { -1, 0 }, NEEDS_LOCAL },
#ifdef SYS_rmdir /* arm64 has unlinkat alone, which landlock rules */
    { "remove a folder", SYS_rmdir, { NO_ADDRESS }, NEEDS_LOCAL },
#endif
    { "a socket of the kernel's ciphers", SYS_socket, { AF_ALG, SOCK_SEQPACKET }, 0 },
    { "a nameless file to run", SYS_memfd_create, { NO_ADDRESS }, 0 },
    { "mount", SYS_mount, { NO_ADDRESS, NO_ADDRESS, NO_ADDRESS }, 0 },
    { "unmount", SYS_umount2, { NO_ADDRESS }, 0 },
    { "change the root", SYS_chroot, { NO_ADDRESS }, 0 },
    { "exchange the root", SYS_pivot_root, { NO_ADDRESS }, 0 },
    { "a name space", SYS_unshare, { CLONE_NEWUSER }, 0 },
    { "another's name space", SYS_setns, { -1 }, 0 },
    { "become another user", SYS_setresuid, { -1, -1, -1 }, 0 },
    { "another group", SYS_setresgid, { -1, -1, -1 }, 0 },
    { "capabilities", SYS_capset, { NO_ADDRESS }, 0 },
    { "a program for the kernel", SYS_bpf, { -1 }, 0 },
    { "count the machine's events", SYS_perf_event_open, { NO_ADDRESS }, 0 },
    { "the keys of the kernel", SYS_keyctl, { -1 }, 0 },
    { "calls by a ring", SYS_io_uring_setup, { 1, NO_ADDRESS }, 0 },
    { "handle page faults", SYS_userfaultfd, { -1 }, 0 },
    { "load a module", SYS_finit_module, { -1, NO_ADDRESS }, 0 },
    { "another kernel", SYS_kexec_load, { -1, -1, NO_ADDRESS }, 0 },
    { "reboot", SYS_reboot, { 0 }, 0 },
    { "set the clock", SYS_clock_settime, { -1, NO_ADDRESS }, 0 },
    { "another name for the machine", SYS_sethostname, { NO_ADDRESS, -1 }, 0 },
    { "other rules of execution", SYS_personality, { 0xffffffff }, 0 },
    { "be dumped and traced again", SYS_prctl, { PR_SET_DUMPABLE, 1 }, 0 },
    { "a file by its handle", SYS_open_by_handle_at, { -1, NO_ADDRESS }, 0 },
    { "the log of the kernel", SYS_syslog, { 10 }, 0 },
    { "swap", SYS_swapoff, { NO_ADDRESS }, 0 },
    { "watch all files", SYS_fanotify_init, { -1 }, 0 },
    { "a higher limit", SYS_prlimit64, { 0, RLIMIT_CORE, NO_ADDRESS }, 0 },
    { "rights of a file", SYS_fchmodat, { AT_FDCWD, NO_ADDRESS, 0777 }, 0 },
    { "owner of a file", SYS_fchownat, { AT_FDCWD, NO_ADDRESS }, 0 },
    { "cut a file by name", SYS_truncate, { NO_ADDRESS }, 0 },
    { "a device", SYS_mknodat, { AT_FDCWD, NO_ADDRESS, S_IFCHR }, 0 },
    { "attributes of a file", SYS_setxattr, { NO_ADDRESS, NO_ADDRESS, NO_ADDRESS }, 0 },
};

/* ---- those that depend on what they are about ---- */

static int fork_off(const struct trial *t)
{
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    (void)t;
    if (pid == 0)
        _exit(0);
    return (int)pid;
}

static int signal_outside(const struct trial *t)
{
    return kill(t->outside, 0);
}

static int run_data(const struct trial *t)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)t;
    return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static int map_both_ways(const struct trial *t)
{
    (void)t;
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0) == MAP_FAILED
               ? -1
               : 0;
}

static int read_secret(const struct trial *t)
{
    return open(t->secret, O_RDONLY | O_CLOEXEC);
}

static int write_secret(const struct trial *t)
{
    return open(t->secret, O_WRONLY | O_APPEND | O_CLOEXEC);
}

static int remove_secret(const struct trial *t)
{
    return unlink(t->secret);
}

static int rename_secret(const struct trial *t)
{
    return rename(t->secret, t->other);
}

static int link_secret(const struct trial *t)
{
    return link(t->secret, t->other);
}

static int make_file(const struct trial *t)
{
    return open(t->other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int make_folder(const struct trial *t)
{
    return mkdir(t->other, 0700);
}

static int make_link(const struct trial *t)
{
    return (int)syscall(SYS_symlinkat, t->secret, AT_FDCWD, t->other);
}

static int list_root(const struct trial *t)
{
    (void)t;
    return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int read_users(const struct trial *t)
{
    (void)t;
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static int read_environment(const struct trial *t)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)t->outside);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int write_root(const struct trial *t)
{
    return open(t->planted, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int stream(int family, int protocol)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
}

/* A socket that was refused is what was tried: its error stands. */
static int connect_to(int fd, const void *address, socklen_t size)
{
    return fd < 0 ? -1 : connect(fd, address, size);
}

static int bind_to(int fd, const void *address, socklen_t size)
{
    return fd < 0 ? -1 : bind(fd, address, size);
}

static int send_to(int fd, int flags, const void *address, socklen_t size)
{
    return fd < 0 ? -1 : (int)sendto(fd, "x", 1, flags | MSG_NOSIGNAL, address, size);
}

static int bind_port(const struct trial *t)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

    at.sin_port = t->address.sin_port == htons(61000) ? htons(61001) : htons(61000);
    return bind_to(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), &at, sizeof at);
}

static int connect_port(const struct trial *t)
{
    return connect_to(stream(AF_INET, 0), &t->address, sizeof t->address);
}

static int connect_mptcp(const struct trial *t)
{
    return connect_to(stream(AF_INET, IPPROTO_MPTCP), &t->address, sizeof t->address);
}

static struct msghdr message_to(const void *address, socklen_t size, struct iovec *part)
{
    *part = (struct iovec){ (void *)(uintptr_t) "x", 1 };
    return (struct msghdr){ .msg_name = (void *)(uintptr_t)address,
                            .msg_namelen = size,
                            .msg_iov = part,
                            .msg_iovlen = 1 };
}

static int fast_open(const struct trial *t)
{
    return send_to(stream(AF_INET, 0), MSG_FASTOPEN, &t->address, sizeof t->address);
}

static int fast_open_message(const struct trial *t)
{
    struct iovec part;
    struct msghdr message = message_to(&t->address, sizeof t->address, &part);

    int fd = stream(AF_INET, 0);

    return fd < 0 ? -1 : (int)sendmsg(fd, &message, MSG_FASTOPEN | MSG_NOSIGNAL);
}

static int fast_open_messages(const struct trial *t)
{
    struct iovec part;
    struct mmsghdr messages = { .msg_hdr = message_to(&t->address, sizeof t->address, &part) };

    int fd = stream(AF_INET, 0);

    return fd < 0 ? -1 : sendmmsg(fd, &messages, 1, MSG_FASTOPEN | MSG_NOSIGNAL);
}

static int fast_open_option(const struct trial *t)
{
    int fd = stream(AF_INET, 0);
    int one = 1;

    (void)t;
    return fd < 0 ? -1 : setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof one);
}

/* Without a connection left, and then with another one. */
static int reuse_accepted(const struct trial *t)
{
    const struct sockaddr none = { .sa_family = AF_UNSPEC };

    if (connect(t->accepted, &none, sizeof none) < 0)
        return -1;
    return connect(t->accepted, (const struct sockaddr *)&t->address, sizeof t->address);
}

static int send_datagram(const struct trial *t)
{
    return send_to(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), 0, &t->datagram_address,
                   sizeof t->datagram_address);
}

static int connect_datagrams(const struct trial *t)
{
    return connect_to(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP), &t->datagram_address,
                      sizeof t->datagram_address);
}

static int connect_abstract(const struct trial *t)
{
    return connect_to(stream(AF_UNIX, 0), &t->abstract_address, t->abstract_size);
}

static int connect_named(const struct trial *t)
{
    return connect_to(stream(AF_UNIX, 0), &t->named_address, sizeof t->named_address);
}

static int send_letter(const struct trial *t)
{
    return send_to(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), 0, &t->letters_address,
                   sizeof t->letters_address);
}

static int send_letter_of_pair(const struct trial *t)
{
    int pair[2] = { -1, -1 };

    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    return send_to(pair[0], 0, &t->letters_address, sizeof t->letters_address);
}

/* The supervisor's socket, to another one. */
static int redirect_notify(const struct trial *t)
{
    return send_to(t->notify, 0, &t->letters_address, sizeof t->letters_address);
}

static int redirect_notify_message(const struct trial *t)
{
    struct iovec part;
    struct msghdr message = message_to(&t->letters_address, sizeof t->letters_address, &part);

    return (int)sendmsg(t->notify, &message, 0);
}

static int reconnect_notify(const struct trial *t)
{
    return connect(t->notify, (const struct sockaddr *)&t->letters_address,
                   sizeof t->letters_address);
}

static int listen_unbound(const struct trial *t)
{
    int fd = stream(AF_INET, 0);

    (void)t;
    return fd < 0 ? -1 : listen(fd, 1);
}

static int bind_any(const struct trial *t)
{
    const struct sockaddr_in any = { .sin_family = AF_INET,
                                     .sin_addr = { htonl(INADDR_LOOPBACK) } };

    (void)t;
    return bind_to(stream(AF_INET, 0), &any, sizeof any);
}

static int bind_abstract(const struct trial *t)
{
    const struct sockaddr_un any = { .sun_family = AF_UNIX };

    (void)t;
    return bind_to(stream(AF_UNIX, 0), &any, sizeof any.sun_family);
}

static int own_signals(const struct trial *t)
{
    return fcntl(t->client, F_SETOWN, (int)t->outside);
}

static int touch_secret(const struct trial *t)
{
    return utimensat(AT_FDCWD, t->secret, NULL, 0);
}

static const struct {
    const char *name;
    int (*act)(const struct trial *t); /* not negative: it succeeded; else errno says more */
    unsigned needs;
} acts[] = {
    { "another process", fork_off, 0 },
    { "a signal to another process", signal_outside, 0 },
    { "run what was written", run_data, 0 },
    { "memory to write and run", map_both_ways, 0 },
    { "read another's file", read_secret, NEEDS_FILES },
    { "write to it", write_secret, NEEDS_FILES },
    { "remove it", remove_secret, NEEDS_FILES },
    { "rename it", rename_secret, NEEDS_FILES },
    { "link it", link_secret, NEEDS_FILES },
    { "make a file", make_file, NEEDS_FILES },
    { "make a folder", make_folder, NEEDS_FILES },
    { "make a symbolic link", make_link, 0 },
    { "list the file system", list_root, NEEDS_FILES },
    { "read who the users are", read_users, NEEDS_FILES | NEEDS_LOCAL },
    { "read another's environment", read_environment, NEEDS_FILES },
    { "write into the index", write_root, NEEDS_FILES | NEEDS_LOCAL },
    { "touch it", touch_secret, 0 },
    { "listen on another port", bind_port, 0 },
    { "listen on any port", bind_any, 0 },
    { "listen without a port", listen_unbound, 0 },
    { "listen on an abstract name", bind_abstract, 0 },
    { "connect to another server", connect_port, NEEDS_LOCAL },
    { "connect by MPTCP", connect_mptcp, 0 },
    { "connect by sending (MSG_FASTOPEN)", fast_open, 0 },
    { "the same with sendmsg", fast_open_message, 0 },
    { "the same with sendmmsg", fast_open_messages, 0 },
    { "the same with an option", fast_open_option, 0 },
    { "connect an accepted connection elsewhere", reuse_accepted, NEEDS_LOCAL },
    { "send a datagram", send_datagram, 0 },
    { "connect for datagrams", connect_datagrams, NEEDS_NO_UDP },
    { "connect to an abstract socket", connect_abstract, NEEDS_NO_UNIX },
    { "connect to a unix socket", connect_named, NEEDS_NO_UNIX },
    { "send to a unix socket", send_letter, 0 },
    { "send to it from a pair", send_letter_of_pair, 0 },
    { "send to it from the supervisor's socket", redirect_notify, 0 },
    { "the same with sendmsg from there", redirect_notify_message, NEEDS_NO_UNIX },
    { "connect the supervisor's socket elsewhere", reconnect_notify, NEEDS_LOCAL },
    { "signals of a socket to another process", own_signals, 0 },
};

/* ---- what must go on ---- */

static void *nothing(void *argument)
{
    return argument;
}

static int start_thread(const struct trial *t)
{
    pthread_t thread;

    (void)t;
    errno = pthread_create(&thread, NULL, nothing, NULL);
    return errno != 0 ? -1 : pthread_join(thread, NULL);
}

static int read_root(const struct trial *t)
{
    return open(t->settings->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int write_lease(const struct trial *t)
{
    char from[PATH_SIZE];
    char to[PATH_SIZE];
    int fd;

    if (t->settings->lease == DX_LEASE_NO ||
        dx_path_format(from, sizeof from, NULL, "%s/" DX_LEASE_DIR, t->settings->root) < 0 ||
        access(from, W_OK) != 0)
        return 0; /* there is none to be written */
    if (dx_path_format(from, sizeof from, NULL, "%s/" DX_LEASE_FOLDER ".trial-%ld",
                       t->settings->root, (long)getpid()) < 0 ||
        dx_path_format(to, sizeof to, NULL, "%s/" DX_LEASE_FOLDER ".tried-%ld", t->settings->root,
                       (long)getpid()) < 0)
        return -1;
    fd = open(from, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    (void)close(fd);
    if (link(from, to) == 0 && unlink(from) == 0 && rename(to, from) == 0)
        return unlink(from);
    (void)unlink(from);
    (void)unlink(to);
    return -1;
}

static const struct {
    const char *name;
    int (*act)(const struct trial *t);
    unsigned needs;
} duties[] = {
    { "start a thread", start_thread, 0 },
    { "read the root", read_root, NEEDS_LOCAL },
    { "write the lease", write_lease, NEEDS_LOCAL },
};

/* ---- outside of the sandbox ---- */

#define CALLS (sizeof calls / sizeof calls[0])
#define ACTS (sizeof acts / sizeof acts[0])

/* What each gives where there is no sandbox: 0, or the error. */
struct controls {
    int call[CALLS];
    int act[ACTS];
};

static bool is_refusal(int error)
{
    return error == EPERM || error == EACCES || error == ENOSYS ||
           error == EXDEV; /* of a link or rename that landlock refuses */
}

static bool renew_trial(struct trial *t); /* what a deed may have used up */

static long make_call(size_t i)
{
    const long *a = calls[i].arguments;

    return syscall(calls[i].number, a[0], a[1], a[2], NO_ADDRESS, NO_ADDRESS);
}

static int may_write_root(const struct trial *t)
{
    char path[PATH_SIZE];

    return dx_path_format(path, sizeof path, NULL, "%s/" DX_INDEX_DIR, t->settings->root) < 0
               ? -1
               : access(path, W_OK);
}

/* In a process of its own, since some of them succeed. */
static int run_control(const struct trial *t, bool call, size_t i)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        long result;

        (void)alarm(10);
        if (!call && acts[i].act == write_root) /* not into what may be served by others */
            result = may_write_root(t);
        else
            result = call ? make_call(i) : acts[i].act(t);
        _exit(result < 0 ? errno & 0xff : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return EINTR;
    return WEXITSTATUS(status);
}

static bool take_controls(struct trial *t, struct controls *c)
{
    bool ok = true;

    for (size_t i = 0; i < CALLS; i++)
        c->call[i] = run_control(t, true, i);
    for (size_t i = 0; i < ACTS && ok; i++) {
        c->act[i] = run_control(t, false, i);
        ok = renew_trial(t);
    }
    return ok;
}

/* ---- trying ---- */

static bool may_try(const struct trial *t, const char *name, unsigned needs)
{
    const char *why = NULL;

    if (((needs & NEEDS_NO_UDP) != 0 && t->sandbox.sockets.udp) ||
        ((needs & NEEDS_NO_UNIX) != 0 && t->sandbox.sockets.unix_sockets))
        why = "a resolver needs it";

    else if ((needs & NEEDS_LOCAL) != 0 && t->sandbox.remote)
        why = "this root is reached over a network";
    else if ((needs & NEEDS_FILES) != 0 && t->sandbox.landlock < 1)
        why = "this kernel cannot hold it";
    if (why != NULL)
        (void)printf("not tried: %s (%s)\n", name, why);
    return why == NULL;
}

/* Refused says something only of what succeeds, or is looked at, without the sandbox. */
static void judge(struct trial *t, const char *name, long result, int error, bool shown)
{
    bool ok = result < 0 && is_refusal(error);

    t->refused += ok && shown;
    t->not_shown += ok && !shown;
    t->failed += !ok;
    (void)printf("%s: %s (%s)\n",
                 !ok     ? "NOT REFUSED"
                 : shown ? "refused"
                         : "not shown, since it fails without the sandbox too",
                 name, result < 0 ? strerror(error) : "it succeeded");
}

static void try_all(struct trial *t, const struct controls *c)
{
    for (size_t i = 0; i < CALLS; i++)
        if (may_try(t, calls[i].name, calls[i].needs)) {
            long result = make_call(i);

            judge(t, calls[i].name, result, errno, !is_refusal(c->call[i]));
        }
    for (size_t i = 0; i < ACTS; i++)
        if (may_try(t, acts[i].name, acts[i].needs)) {
            int result = acts[i].act(t);

            judge(t, acts[i].name, result, errno, c->act[i] == 0);
        }
    for (size_t i = 0; i < sizeof duties / sizeof duties[0]; i++)
        if (may_try(t, duties[i].name, duties[i].needs)) {
            bool ok = duties[i].act(t) >= 0;

            t->failed += !ok;
            (void)printf("%s: %s%s%s\n", ok ? "allowed" : "NOT ALLOWED", duties[i].name,
                         ok ? "" : ": ", ok ? "" : strerror(errno));
        }
}

static int in_child(struct trial *t, const struct controls *c)
{
    struct dx_error err = DX_ERROR_INIT;

    if (dx_sandbox_enter(&t->sandbox, t->settings, &err) < 0 ||
        dx_sandbox_narrow(&t->sandbox, &err) < 0) {
        (void)printf("no sandbox: %s\n", err.text);
        return 1;
    }
    if (t->sandbox.off != NULL || !t->sandbox.seccomp) {
        (void)printf("no sandbox: %s\n",
                     t->sandbox.off != NULL ? t->sandbox.off : "this kernel has no seccomp");
        return 1;
    }
    try_all(t, c);
    (void)printf("%u refused, %u not as they should be, %u not shown; landlock %d\n", t->refused,
                 t->failed, t->not_shown, t->sandbox.landlock);
    return t->failed == 0 && t->sandbox.landlock > 0 ? 0 : 1;
}

/* ---- what the child reaches for ---- */

static bool make_secret(const struct trial *t)
{
    int fd = open(t->secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    return fd >= 0 && close(fd) == 0;
}

static bool make_folder_for(struct trial *t)
{
    const char *tmp = getenv("TMPDIR");

    return dx_path_format(t->dir, sizeof t->dir, NULL, "%s/domaindexd-trial-XXXXXX",
                          tmp == NULL || tmp[0] != '/' ? "/tmp" : tmp) == DX_OK &&
           mkdtemp(t->dir) != NULL &&
           dx_path_format(t->secret, sizeof t->secret, NULL, "%s/secret", t->dir) == DX_OK &&
           dx_path_format(t->other, sizeof t->other, NULL, "%s/other", t->dir) == DX_OK &&
           dx_path_format(t->planted, sizeof t->planted, NULL,
                          "%s/" DX_INDEX_DIR "/.sandbox-trial-%ld", t->settings->root,
                          (long)getpid()) == DX_OK &&
           make_secret(t);
}

/* Bound to any port of this machine. */
static bool open_inet(int *fd, int type, struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;

    *fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){ .sin_family = AF_INET,
                                     .sin_addr = { htonl(INADDR_LOOPBACK) } };
    return bind(*fd, (const struct sockaddr *)address, size) == 0 &&
           (type != SOCK_STREAM || listen(*fd, 64) == 0) &&
           getsockname(*fd, (struct sockaddr *)address, &size) == 0;
}

/* Bound to a name below the folder; NULL: to an abstract one, which the kernel finds. */
static bool open_unix(const struct trial *t, int *fd, int type, const char *name,
                      struct sockaddr_un *address, socklen_t *size)
{
    *fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    *size = sizeof(sa_family_t);
    if (name != NULL) {
        if (dx_path_format(address->sun_path, sizeof address->sun_path, NULL, "%s/%s", t->dir,
                           name) < 0)
            return false;
        *size = sizeof *address;
    }
    if (bind(*fd, (const struct sockaddr *)address, *size) < 0 ||
        (type == SOCK_STREAM && listen(*fd, 64) < 0))
        return false;
    *size = sizeof *address;
    return name != NULL || getsockname(*fd, (struct sockaddr *)address, size) == 0;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void remove_traces(const struct trial *t)
{
    (void)unlink(t->other);
    (void)rmdir(t->other);
    if (!dx_source_remote(t->settings->root))
        (void)unlink(t->planted);
}

static bool renew_trial(struct trial *t)
{
    shut(&t->client);
    shut(&t->accepted);
    shut(&t->notify);
    remove_traces(t);
    t->client = stream(AF_INET, 0);
    t->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    /* What deeds have left in the queue goes first. */
    while ((t->accepted = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        shut(&t->accepted);
    if (connect(t->client, (const struct sockaddr *)&t->address, sizeof t->address) < 0 ||
        connect(t->notify, (const struct sockaddr *)&t->letters_address,
                sizeof t->letters_address) < 0)
        return false;
    t->accepted = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC);
    return t->accepted >= 0 && make_secret(t);
}

static bool set_out(struct trial *t)
{
    socklen_t size;

    t->outside = getpid();
    return make_folder_for(t) && open_inet(&t->listener, SOCK_STREAM, &t->address) &&
           fcntl(t->listener, F_SETFL, O_NONBLOCK) == 0 &&
           open_inet(&t->datagrams, SOCK_DGRAM, &t->datagram_address) &&
           open_unix(t, &t->abstract, SOCK_STREAM, NULL, &t->abstract_address, &t->abstract_size) &&
           open_unix(t, &t->named, SOCK_STREAM, "stream", &t->named_address, &size) &&
           open_unix(t, &t->letters, SOCK_DGRAM, "letters", &t->letters_address, &size) &&
           renew_trial(t);
}

static void clean_up(struct trial *t)
{
    int *const fds[] = { &t->listener, &t->datagrams, &t->abstract, &t->named,
                         &t->letters,  &t->client,    &t->accepted, &t->notify };

    remove_traces(t);
    (void)unlink(t->secret);
    (void)unlink(t->named_address.sun_path);
    (void)unlink(t->letters_address.sun_path);
    (void)rmdir(t->dir);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        shut(fds[i]);
}

bool dx_sandbox_trial(const struct dx_settings *settings)
{
    struct trial t = { .settings = settings,
                       .listener = -1,
                       .datagrams = -1,
                       .abstract = -1,
                       .named = -1,
                       .letters = -1,
                       .client = -1,
                       .accepted = -1,
                       .notify = -1 };
    struct controls c;
    int status = 1;
    pid_t child = -1;

    (void)fflush(stdout);
    if (!set_out(&t) || !take_controls(&t, &c)) {
        (void)printf("cannot prepare: %s\n", strerror(errno));
        clean_up(&t);
        return false;
    }
    child = fork();
    if (child == 0) {
        status = in_child(&t, &c);
        if (fflush(stdout) != 0 || ferror(stdout)) {
            (void)fprintf(stderr, "domaindexd: cannot write to standard output: %s\n",
                          strerror(errno));
            status = 1;
        }
        _exit(status);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        status = 1;
    clean_up(&t);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
