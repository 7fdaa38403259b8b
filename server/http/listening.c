/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/listening.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTEN_BACKLOG 1024
#define UNSENT_BYTES (128 * 1024)

/* ---- by address ---- */

/* With the advice that the most usual slips need: a port alone, an IPv6 address without
 * brackets. */
static int refuse_address(const char *at, struct dx_error *err)
{
    const char *port = at[0] == ':' ? at + 1 : at;

    if (port[0] != '\0' && port[strspn(port, "0123456789")] == '\0')
        return dx_fail(
            err, DX_E_INVALID,
            "'%s' is not HOST:PORT: write 127.0.0.1:%s for this machine alone, 0.0.0.0:%s "
            "for all its IPv4 addresses",
            at, port, port);
    return dx_fail(err, DX_E_INVALID,
                   "'%s' is not HOST:PORT: write it like 127.0.0.1:8080, or [::1]:8080 for IPv6",
                   at);
}

/* "host:port" or "[v6]:port" into two strings. */
static int split_address(const char *at, char host[NI_MAXHOST], char port[8], struct dx_error *err)
{
    const char *colon = strrchr(at, ':');
    size_t host_size = colon == NULL ? 0 : (size_t)(colon - at);
    const char *from = at;
    unsigned long number = 0;

    if (host_size >= 2 && at[0] == '[' && at[host_size - 1] == ']') {
        from++;
        host_size -= 2;
    } else if (colon != NULL && memchr(at, ':', host_size) != NULL) {
        host_size = 0; /* an IPv6 address needs brackets */
    }
    if (host_size == 0 || host_size >= NI_MAXHOST || colon[1] == '\0' || strlen(colon + 1) > 5 ||
        colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return refuse_address(at, err);
    for (const char *p = colon + 1; *p != '\0'; p++)
        number = number * 10 + (unsigned long)(*p - '0');
    if (number > 65535)
        return dx_fail(err, DX_E_INVALID, "'%s': port %lu is over 65535", at, number);
    memcpy(host, from, host_size);
    host[host_size] = '\0';
    (void)snprintf(port, 8, "%lu", number);
    return DX_OK;
}

static int listen_on(const struct addrinfo *found, const char *at, int *out, struct dx_error *err)
{
    int one = 1;
    int fd = socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    found->ai_protocol);

    if (fd < 0)
        return dx_fail_errno(err, errno, "listen: %s: socket", at);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, LISTEN_BACKLOG) != 0) {
        int rc = dx_fail_errno(err, errno, "listen: %s", at);

        (void)close(fd);
        return rc;
    }
    *out = fd;
    return DX_OK;
}

/* What the kernel keeps of a client that does not read: connections inherit it. By default it takes
 * megabytes off our hands for each, at a millisecond each, and counts them nowhere. Bytes that are
 * on their way are not limited by it, so fast lines stay fast. */
static void keep_little_unsent(int fd)
{
    int bytes = UNSENT_BYTES;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes); /* not of a file */
}

static void name_address(struct dx_listening *l)
{
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t size = sizeof address;
    char host[NI_MAXHOST] = "?";
    char port[NI_MAXSERV] = "?";

    if (getsockname(l->fd, (struct sockaddr *)&address, &size) == 0 &&
        address.ss_family == AF_UNIX) {
        (void)snprintf(l->name, sizeof l->name, DX_LISTENING_UNIX "%s",
                       ((const struct sockaddr_un *)&address)->sun_path);
        return;
    }
    if (address.ss_family != AF_UNSPEC)
        (void)getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                          NI_NUMERICHOST | NI_NUMERICSERV);
    keep_little_unsent(l->fd);
    (void)snprintf(l->name, sizeof l->name, strchr(host, ':') == NULL ? "%s:%s" : "[%s]:%s", host,
                   port);
}

/* any_port: of the address with port 0. */
static int find_address(const char *at, bool any_port, struct addrinfo **found,
                        struct dx_error *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    char host[NI_MAXHOST];
    char port[8];
    int rc = split_address(at, host, port, err);

    if (rc < 0)
        return rc;
    rc = getaddrinfo(host, any_port ? "0" : port, &hints, found);
    return rc == 0 ? DX_OK : dx_fail(err, DX_E_INVALID, "listen: %s: %s", at, gai_strerror(rc));
}

static int look_at_address(const char *at, struct dx_error *err)
{
    struct addrinfo *found = NULL;
    int rc = find_address(at, true, &found, err);

    if (rc < 0)
        return rc;
    rc = DX_E_INVALID;
    for (struct addrinfo *one = found; one != NULL && rc < 0; one = one->ai_next) {
        int fd = -1;

        rc = listen_on(one, at, &fd, err);
        if (rc == DX_OK)
            (void)close(fd);
    }
    freeaddrinfo(found);
    return rc;
}

static int open_address(struct dx_listening *l, const char *at, struct dx_error *err)
{
    struct addrinfo *found = NULL;
    int rc = find_address(at, false, &found, err);

    if (rc < 0)
        return rc;
    rc = DX_E_INVALID;
    for (struct addrinfo *one = found; one != NULL && rc < 0; one = one->ai_next)
        rc = listen_on(one, at, &l->fd, err);
    freeaddrinfo(found);
    if (rc == DX_OK)
        name_address(l);
    return rc;
}

/* ---- by file ---- */

/* A socket that a killed process left behind refuses; one that a process serves does not. */
static int remove_stale(const struct sockaddr_un *address, const char *at, struct dx_error *err)
{
    struct stat st;
    bool served;
    int fd;

    if (lstat(address->sun_path, &st) != 0)
        return errno == ENOENT ? DX_OK : dx_fail_errno(err, errno, "listen: %s", at);
    if (!S_ISSOCK(st.st_mode))
        return dx_fail(err, DX_E_EXISTS, "listen: %s exists and is not a socket", at);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return dx_fail_errno(err, errno, "listen: %s: socket", at);
    served = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
             errno != ECONNREFUSED;
    (void)close(fd);
    if (served)
        return dx_fail(err, DX_E_BUSY, "listen: %s: another process listens there", at);
    return unlink(address->sun_path) == 0 || errno == ENOENT
               ? DX_OK
               : dx_fail_errno(err, errno, "listen: %s: cannot remove the old socket", at);
}

static int bind_file(struct dx_listening *l, const struct sockaddr_un *address, const char *at,
                     unsigned mode, struct dx_error *err)
{
    struct stat st;
    mode_t before;
    int rc;

    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0)
        return dx_fail_errno(err, errno, "listen: %s: socket", at);
    /* By the umask: never wider than it is to be, not for a moment, and a server in its sandbox
     * cannot change modes. What other threads make meanwhile is for fewer eyes. */
    before = umask(0777 & ~(mode_t)mode);
    rc = bind(l->fd, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    (void)umask(before);
    if (rc != 0)
        return dx_fail_errno(err, rc, "listen: %s", at);
    memcpy(l->path, address->sun_path, sizeof l->path);
    if (lstat(l->path, &st) != 0 || listen(l->fd, LISTEN_BACKLOG) != 0)
        return dx_fail_errno(err, errno, "listen: %s", at);
    l->device = st.st_dev;
    l->inode = st.st_ino;
    l->made = st.st_ctim;
    return DX_OK;
}

static int check_unix(const char *at, struct dx_error *err)
{
    const char *path = at + strlen(DX_LISTENING_UNIX);
    const size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;

    return path[0] == '/' && strlen(path) <= most
               ? DX_OK
               : dx_fail(err, DX_E_INVALID,
                         "'%s' is not unix:PATH with an absolute path of at most %zu bytes", at,
                         most);
}

static int open_unix(struct dx_listening *l, const char *at, unsigned mode, struct dx_error *err)
{
    const char *path = at + strlen(DX_LISTENING_UNIX);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int rc;

    memcpy(address.sun_path, path, strlen(path) + 1);
    rc = remove_stale(&address, at, err);
    if (rc == DX_OK)
        rc = bind_file(l, &address, at, mode, err);
    if (rc == DX_OK)
        (void)snprintf(l->name, sizeof l->name, "%s", at);
    return rc;
}

static int look_at_file(const char *at, struct dx_error *err)
{
    const char *path = at + strlen(DX_LISTENING_UNIX);
    char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    struct stat st;

    (void)snprintf(folder, sizeof folder, "%.*s/", (int)(strrchr(path, '/') - path), path);
    if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return dx_fail(err, DX_E_EXISTS, "listen: %s exists and is not a socket", at);
    return access(folder, W_OK | X_OK) == 0 ? DX_OK : dx_fail_errno(err, errno, "listen: %s", at);
}

static bool is_unix(const char *at)
{
    return strncmp(at, DX_LISTENING_UNIX, strlen(DX_LISTENING_UNIX)) == 0;
}

int dx_listening_check(const char *at, struct dx_error *err)
{
    char host[NI_MAXHOST];
    char port[8];

    return is_unix(at) ? check_unix(at, err) : split_address(at, host, port, err);
}

int dx_listening_look(const char *at, struct dx_error *err)
{
    int rc = dx_listening_check(at, err);

    if (rc < 0)
        return rc;
    return is_unix(at) ? look_at_file(at, err) : look_at_address(at, err);
}

int dx_listening_open(struct dx_listening *l, const char *at, unsigned mode, struct dx_error *err)
{
    int rc = dx_listening_check(at, err);

    if (rc < 0)
        rc = dx_fail_in(err, "listen");
    else
        rc = is_unix(at) ? open_unix(l, at, mode, err) : open_address(l, at, err);
    if (rc < 0)
        dx_listening_close(l);
    return rc;
}

void dx_listening_take(struct dx_listening *l, int fd)
{
    *l = (struct dx_listening){ .fd = fd };
    name_address(l);
}

void dx_listening_close(struct dx_listening *l)
{
    struct stat st;

    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
    if (l->path[0] != '\0' && lstat(l->path, &st) == 0 && st.st_dev == l->device &&
        st.st_ino == l->inode && st.st_ctim.tv_sec == l->made.tv_sec &&
        st.st_ctim.tv_nsec == l->made.tv_nsec)
        (void)unlink(l->path);
    l->path[0] = '\0';
}
