/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sandbox_trial.h"

#include "fetch/source.h"
#include "server/sandbox.h"
#include "server/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
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
#define NO_ADDRESS 1L /* faults if a call that got through looked there */

/* What a row needs to mean something. */
enum {
    NEEDS_FILES = 1,  /* landlock */
    NEEDS_PORTS = 2,  /* landlock 4 */
    NEEDS_SCOPES = 4, /* landlock 6 */
    NEEDS_LOCAL = 8,  /* a root that is a directory */
};

struct trial {
    const struct dx_settings *settings;
    struct dx_sandbox sandbox;
    char dir[PATH_SIZE / 2];
    char secret[PATH_SIZE];  /* a file in it */
    char other[PATH_SIZE];   /* a name in it */
    char planted[PATH_SIZE]; /* a name in the root */
    pid_t outside;
    int listener; /* of the process outside */
    int abstract;
    struct sockaddr_in address;
    struct sockaddr_un abstract_address;
    socklen_t abstract_size;
    unsigned refused;
    unsigned failed;
};

/* ---- calls that seccomp refuses, whatever their arguments ---- */

static const struct {
    const char *name;
    long number;
    long arguments[3];
} calls[] = {
    { "become another program", SYS_execve, { NO_ADDRESS } },
    { "the same by a descriptor", SYS_execveat, { -1, NO_ADDRESS } },
    { "trace", SYS_ptrace, { PTRACE_TRACEME } },
    { "write to another process's memory", SYS_process_vm_writev, { 1 } },
    { "take a handle on a process", SYS_pidfd_open, { 1 } },
    { "a raw socket", SYS_socket, { AF_INET, SOCK_RAW, IPPROTO_ICMP } },
    { "a packet socket", SYS_socket, { AF_PACKET, SOCK_DGRAM } },
    { "a socket to the host of a virtual machine", SYS_socket, { AF_VSOCK, SOCK_STREAM } },
    { "a socket of the audit", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT } },
    { "a socket of the kernel's ciphers", SYS_socket, { AF_ALG, SOCK_SEQPACKET } },
    { "a nameless file to run", SYS_memfd_create, { NO_ADDRESS } },
    { "mount", SYS_mount, { NO_ADDRESS, NO_ADDRESS, NO_ADDRESS } },
    { "unmount", SYS_umount2, { NO_ADDRESS } },
    { "change the root", SYS_chroot, { NO_ADDRESS } },
    { "exchange the root", SYS_pivot_root, { NO_ADDRESS } },
    { "a name space", SYS_unshare, { CLONE_NEWUSER } },
    { "another's name space", SYS_setns, { -1 } },
    { "become another user", SYS_setresuid, { -1, -1, -1 } },
    { "another group", SYS_setresgid, { -1, -1, -1 } },
    { "capabilities", SYS_capset, { NO_ADDRESS } },
    { "a program for the kernel", SYS_bpf, { -1 } },
    { "count the machine's events", SYS_perf_event_open, { NO_ADDRESS } },
    { "the keys of the kernel", SYS_keyctl, { -1 } },
    { "calls by a ring", SYS_io_uring_setup, { 1, NO_ADDRESS } },
    { "handle page faults", SYS_userfaultfd, { -1 } },
    { "load a module", SYS_finit_module, { -1, NO_ADDRESS } },
    { "another kernel", SYS_kexec_load, { -1, -1, NO_ADDRESS } },
    { "reboot", SYS_reboot, { 0 } },
    { "set the clock", SYS_clock_settime, { -1, NO_ADDRESS } },
    { "another name for the machine", SYS_sethostname, { NO_ADDRESS, -1 } },
    { "other rules of execution", SYS_personality, { 0xffffffff } },
    { "be dumped and traced again", SYS_prctl, { PR_SET_DUMPABLE, 1 } },
    { "a file by its handle", SYS_open_by_handle_at, { -1, NO_ADDRESS } },
    { "the log of the kernel", SYS_syslog, { 10 } },
    { "swap", SYS_swapoff, { NO_ADDRESS } },
    { "watch all files", SYS_fanotify_init, { -1 } },
    { "a higher limit", SYS_prlimit64, { 0, RLIMIT_CORE, NO_ADDRESS } },
    { "rights of a file", SYS_fchmodat, { AT_FDCWD, NO_ADDRESS, 0777 } },
    { "owner of a file", SYS_fchownat, { AT_FDCWD, NO_ADDRESS } },
    { "cut a file by name", SYS_truncate, { NO_ADDRESS } },
    { "a device", SYS_mknodat, { AT_FDCWD, NO_ADDRESS, S_IFCHR } },
    { "attributes of a file", SYS_setxattr, { NO_ADDRESS, NO_ADDRESS, NO_ADDRESS } },
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
    return page == MAP_FAILED ? 0 : mprotect(page, 4096, PROT_READ | PROT_EXEC);
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

static int bind_port(const struct trial *t)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)t;
    at.sin_port = htons(1); /* a port that no server is told to listen on */
    return fd < 0 ? 0 : bind(fd, (const struct sockaddr *)&at, sizeof at);
}

static int connect_port(const struct trial *t)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd < 0 ? 0 : connect(fd, (const struct sockaddr *)&t->address, sizeof t->address);
}

static int connect_abstract(const struct trial *t)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd < 0 ? 0
                  : connect(fd, (const struct sockaddr *)&t->abstract_address, t->abstract_size);
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
    { "listen on another port", bind_port, NEEDS_PORTS },
    { "connect to another server", connect_port, NEEDS_PORTS | NEEDS_LOCAL },
    { "connect to an abstract socket", connect_abstract, NEEDS_SCOPES },
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

    (void)snprintf(from, sizeof from, "%s/leases", t->settings->root);
    if (t->settings->lease == DX_LEASE_NO || access(from, W_OK) != 0)
        return 0; /* there is none to be written */
    (void)snprintf(from, sizeof from, "%s/leases/.trial-%ld", t->settings->root, (long)getpid());
    (void)snprintf(to, sizeof to, "%s/leases/.tried-%ld", t->settings->root, (long)getpid());
    fd = open(from, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    (void)close(fd);
    if (rename(from, to) == 0)
        return unlink(to);
    (void)unlink(from);
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

/* ---- trying ---- */

static bool may_try(const struct trial *t, const char *name, unsigned needs)
{
    const char *why = NULL;

    if ((needs & NEEDS_LOCAL) != 0 && t->sandbox.remote)
        why = "this root is reached over a network";
    else if (((needs & NEEDS_FILES) != 0 && t->sandbox.landlock < 1) ||
             ((needs & NEEDS_PORTS) != 0 && t->sandbox.landlock < 4) ||
             ((needs & NEEDS_SCOPES) != 0 && t->sandbox.landlock < 6))
        why = "this kernel cannot hold it";
    if (why != NULL)
        (void)printf("not tried: %s (%s)\n", name, why);
    return why == NULL;
}

/* Only these say that it was the sandbox; others, that the call was looked at. */
static void judge(struct trial *t, const char *name, long result, int error)
{
    bool ok = result < 0 && (error == EPERM || error == EACCES || error == ENOSYS ||
                             error == EXDEV); /* of a link or rename that landlock refuses */

    t->refused += ok;
    t->failed += !ok;
    (void)printf("%s: %s (%s)\n", ok ? "refused" : "NOT REFUSED", name,
                 result < 0 ? strerror(error) : "it succeeded");
}

static void try_all(struct trial *t)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const long *a = calls[i].arguments;
        long result = syscall(calls[i].number, a[0], a[1], a[2], NO_ADDRESS, NO_ADDRESS);

        judge(t, calls[i].name, result, errno);
    }
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        if (may_try(t, acts[i].name, acts[i].needs)) {
            int result = acts[i].act(t);

            judge(t, acts[i].name, result, errno);
        }
    for (size_t i = 0; i < sizeof duties / sizeof duties[0]; i++)
        if (may_try(t, duties[i].name, duties[i].needs)) {
            bool ok = duties[i].act(t) >= 0;

            t->failed += !ok;
            (void)printf("%s: %s%s%s\n", ok ? "allowed" : "NOT ALLOWED", duties[i].name,
                         ok ? "" : ": ", ok ? "" : strerror(errno));
        }
}

static int in_child(struct trial *t)
{
    struct dx_error err = DX_ERROR_INIT;

    if (dx_sandbox_enter(&t->sandbox, t->settings, &err) < 0) {
        (void)printf("no sandbox: %s\n", err.text);
        return 1;
    }
    if (t->sandbox.off != NULL || !t->sandbox.seccomp) {
        (void)printf("no sandbox: %s\n",
                     t->sandbox.off != NULL ? t->sandbox.off : "this kernel has no seccomp");
        return 1;
    }
    try_all(t);
    (void)printf("%u refused, %u not as they should be; landlock %d\n", t->refused, t->failed,
                 t->sandbox.landlock);
    return t->failed == 0 && t->sandbox.landlock > 0 ? 0 : 1;
}

/* ---- what the child reaches for ---- */

static bool set_out(struct trial *t)
{
    const char *tmp = getenv("TMPDIR");
    socklen_t size = sizeof t->address;
    int fd;

    if (snprintf(t->dir, sizeof t->dir, "%s/domaindexd-trial-XXXXXX",
                 tmp == NULL || tmp[0] != '/' ? "/tmp" : tmp) >= (int)sizeof t->dir ||
        mkdtemp(t->dir) == NULL)
        return false;
    (void)snprintf(t->secret, sizeof t->secret, "%s/secret", t->dir);
    (void)snprintf(t->other, sizeof t->other, "%s/other", t->dir);
    (void)snprintf(t->planted, sizeof t->planted, "%s/index/.sandbox-trial-%ld", t->settings->root,
                   (long)getpid());
    fd = open(t->secret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    (void)close(fd);
    t->outside = getpid();
    t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    t->address = (struct sockaddr_in){ .sin_family = AF_INET,
                                       .sin_addr = { htonl(INADDR_LOOPBACK) } };
    t->abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    t->abstract_address.sun_family = AF_UNIX;
    t->abstract_size = sizeof(sa_family_t); /* the kernel finds a name */
    return bind(t->listener, (const struct sockaddr *)&t->address, size) == 0 &&
           listen(t->listener, 8) == 0 &&
           getsockname(t->listener, (struct sockaddr *)&t->address, &size) == 0 &&
           bind(t->abstract, (const struct sockaddr *)&t->abstract_address, t->abstract_size) ==
               0 &&
           listen(t->abstract, 8) == 0 &&
           (t->abstract_size = sizeof t->abstract_address,
            getsockname(t->abstract, (struct sockaddr *)&t->abstract_address, &t->abstract_size)) ==
               0;
}

static void clean_up(const struct trial *t)
{
    (void)unlink(t->secret);
    (void)unlink(t->other);
    (void)rmdir(t->other);
    if (!dx_source_remote(t->settings->root))
        (void)unlink(t->planted);
    (void)rmdir(t->dir);
}

bool dx_sandbox_trial(const struct dx_settings *settings)
{
    struct trial t = { .settings = settings, .listener = -1, .abstract = -1 };
    int status = 1;
    pid_t child;

    if (!set_out(&t)) {
        (void)printf("cannot prepare: %s\n", strerror(errno));
        clean_up(&t);
        return false;
    }
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        status = in_child(&t);
        (void)fflush(stdout);
        _exit(status);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        status = 1;
    clean_up(&t);
    if (t.listener >= 0)
        (void)close(t.listener);
    if (t.abstract >= 0)
        (void)close(t.abstract);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
