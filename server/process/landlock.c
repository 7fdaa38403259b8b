/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's interface by number: headers of a distribution are older than the kernels it runs
 * on. */
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define CREATE_VERSION 1u
#define RULE_PATH 1
#define RULE_PORT 2

#define FS(n) (UINT64_C(1) << (n))
enum {
    EXECUTE,
    WRITE_FILE,
    READ_FILE,
    READ_DIR,
    REMOVE_DIR,
    REMOVE_FILE,
    MAKE_CHAR,
    MAKE_DIR,
    MAKE_REG,
    MAKE_SOCK,
    MAKE_FIFO,
    MAKE_BLOCK,
    MAKE_SYM,
    REFER,    /* from ABI 2 */
    TRUNCATE, /* 3 */
    IOCTL_DEV /* 5 */
};
#define PORT_BIND UINT64_C(1) /* 4 */
#define PORT_CONNECT UINT64_C(2)
#define SCOPE_ALL UINT64_C(3) /* 6: abstract sockets, signals */

#define READ_RIGHTS (FS(READ_FILE) | FS(READ_DIR))
#define WRITE_RIGHTS (READ_RIGHTS | FS(WRITE_FILE) | FS(TRUNCATE) | FS(MAKE_REG) | FS(REMOVE_FILE))

struct ruleset {
    uint64_t files;
    uint64_t ports;
    uint64_t scopes;
};

struct path_rule {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

struct port_rule {
    uint64_t allowed;
    uint64_t port;
};

static int find_abi(void)
{
    long abi = syscall(CREATE_RULESET, NULL, (size_t)0, CREATE_VERSION);

    return abi < 0 ? 0 : (int)abi;
}

int dx_landlock_open(struct dx_landlock *l, unsigned flags, struct dx_error *err)
{
    struct ruleset set;
    size_t size;

    *l = (struct dx_landlock){ .fd = -1, .abi = find_abi() };
    if (l->abi == 0)
        return 0;
    l->files = FS(REFER) - 1; /* all of ABI 1 */
    l->files |= l->abi >= 2 ? FS(REFER) : 0;
    l->files |= l->abi >= 3 ? FS(TRUNCATE) : 0;
    l->files |= l->abi >= 5 ? FS(IOCTL_DEV) : 0;
    if (l->abi >= 4)
        l->ports = PORT_BIND | ((flags & DX_LANDLOCK_NO_CONNECT) != 0 ? PORT_CONNECT : 0);
    l->scopes = l->abi >= 6 ? SCOPE_ALL : 0;
    set = (struct ruleset){ l->files, l->ports, l->scopes };
    /* An older kernel takes a shorter struct. */
    size = l->abi >= 6 ? sizeof set : l->abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    l->fd = (int)syscall(CREATE_RULESET, &set, size, 0u);
    if (l->fd < 0)
        return dx_fail_errno(err, errno, "landlock: no set of rules");
    return 1;
}

static uint64_t rights_of(unsigned rights)
{
    uint64_t all = 0;

    if ((rights & DX_LANDLOCK_READ) != 0)
        all |= READ_RIGHTS;
    if ((rights & (DX_LANDLOCK_WRITE | DX_LANDLOCK_TREE)) != 0)
        all |= WRITE_RIGHTS;
    if ((rights & DX_LANDLOCK_TREE) != 0)
        all |= FS(MAKE_DIR) | FS(REMOVE_DIR) | FS(REFER);
    if ((rights & DX_LANDLOCK_SOCKET) != 0)
        all |= FS(MAKE_SOCK) | FS(REMOVE_FILE);
    if ((rights & DX_LANDLOCK_APPEND) != 0)
        all |= FS(WRITE_FILE) | FS(MAKE_REG);
    return all;
}

int dx_landlock_path(struct dx_landlock *l, const char *path, unsigned rights, struct dx_error *err)
{
    const uint64_t of_files = FS(READ_FILE) | FS(WRITE_FILE) | FS(TRUNCATE);
    struct path_rule rule = { .allowed = rights_of(rights) & l->files };
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat st;
    int rc = 1;

    if (fd < 0) {
        /* What we may not see we could not use either. */
        if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
            return 0;
        return dx_fail_errno(err, errno, "landlock: %s", path);
    }
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed &= of_files; /* others are refused for a file */
    rule.parent_fd = fd;
    if (rule.allowed != 0 && syscall(ADD_RULE, l->fd, RULE_PATH, &rule, 0u) < 0)
        rc = dx_fail_errno(err, errno, "landlock: %s", path);
    (void)close(fd);
    return rc;
}

int dx_landlock_bind(struct dx_landlock *l, unsigned port, struct dx_error *err)
{
    struct port_rule rule = { .allowed = PORT_BIND & l->ports, .port = port };

    if (rule.allowed == 0)
        return 0;
    if (syscall(ADD_RULE, l->fd, RULE_PORT, &rule, 0u) < 0)
        return dx_fail_errno(err, errno, "landlock: port %u", port);
    return 1;
}

int dx_landlock_enter(struct dx_landlock *l, struct dx_error *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(RESTRICT_SELF, l->fd, 0u) < 0)
        return dx_fail_errno(err, errno, "landlock: not entered");
    return DX_OK;
}

void dx_landlock_close(struct dx_landlock *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}
