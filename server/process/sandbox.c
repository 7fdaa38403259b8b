/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/sandbox.h"

#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "loader/mirror.h"
#include "server/http/listening.h"
#include "server/process/landlock.h"
#include "server/process/settings.h"
#include "server/process/syscall_filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FULL_ABI 6 /* older ones leave something out */

/* For one name lookup, when the server begins to listen. */
static const char *const name_files[] = {
    "/etc/hosts",    "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/host.conf",
    "/etc/gai.conf", "/etc/services",      "/etc/localtime",
};

/* For repeated name lookups. /etc as a whole: its files are replaced by new ones, which a rule for
 * a file does not cover, and a resolver without its file asks 127.0.0.1. */
static const char *const remote_folders[] = {
    "/etc",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/ssl",
    "/usr/share/ca-certificates",
    "/usr/local/lib",
    "/usr/local/share/ca-certificates",
};

/* About the machine and the process itself. */
static const char *const self_files[] = {
    "/proc/self",
    "/proc/meminfo",
    "/proc/sys/fs/lease-break-time",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup", /* loader/memory_room.h */
    "/dev/null",
    "/dev/urandom",
};

static int allow_all(struct dx_landlock *l, const char *const *paths, size_t count,
                     struct dx_error *err)
{
    int rc = 1;

    for (size_t i = 0; i < count && rc >= 0; i++)
        rc = dx_landlock_path(l, paths[i], DX_LANDLOCK_READ, err);
    return rc;
}

/* The folder of a file, which may be replaced; NULL: no file. */
static int allow_folder_of(struct dx_landlock *l, const char *file, unsigned rights,
                           struct dx_error *err)
{
    char path[PATH_MAX];
    char real[PATH_MAX];
    char *slash;
    int rc = 1;

    if (file == NULL || strlen(file) >= sizeof path)
        return 1;
    memcpy(path, file, strlen(file) + 1);
    slash = strrchr(path, '/');
    if (slash == NULL)
        memcpy(path, ".", 2);
    else
        slash[slash == path] = '\0';
    rc = dx_landlock_path(l, path, rights, err);
    /* Where a link leads: secrets are often links into a folder that is exchanged as a whole, and
     * logs to another disk. */
    if (rc >= 0 && realpath(file, real) != NULL && strcmp(real, file) != 0) {
        *strrchr(real, '/') = '\0';
        rc = dx_landlock_path(l, real[0] == '\0' ? "/" : real,
                              rights & (DX_LANDLOCK_READ | DX_LANDLOCK_APPEND), err);
    }
    return rc;
}

static int allow_below(struct dx_landlock *l, const char *root, const char *name, unsigned rights,
                       struct dx_error *err)
{
    char path[PATH_MAX];

    if (dx_path_format(path, sizeof path, NULL, "%s/%s", root, name) < 0)
        return 1;
    return dx_landlock_path(l, path, rights, err);
}

/* ---- what the settings want ---- */

static bool has_lease(const struct dx_settings *s)
{
    char path[PATH_MAX];

    if (s->lease == DX_LEASE_NO ||
        dx_path_format(path, sizeof path, NULL, "%s/" DX_MANIFEST_FILE, s->root) < 0)
        return false;
    return access(path, F_OK) == 0; /* perhaps no root at all: nothing is made in it */
}

static int allow_root(struct dx_landlock *l, const struct dx_settings *s, struct dx_error *err)
{
    char leases[PATH_MAX];
    int rc = dx_landlock_path(l, s->root, DX_LANDLOCK_READ, err);

    if (rc >= 0)
        rc = allow_below(l, s->root, DX_INDEX_DIR, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_below(l, s->root, DX_LAKE_DIR, DX_LANDLOCK_READ, err);
    if (rc < 0 || !has_lease(s))
        return rc;
    if (dx_path_format(leases, sizeof leases, NULL, "%s/" DX_LEASE_DIR, s->root) == DX_OK)
        (void)mkdir(leases, 0755); /* as the lease itself would; may fail, and then there is none */
    return allow_below(l, s->root, DX_LEASE_DIR, DX_LANDLOCK_WRITE, err);
}

static int allow_remote(struct dx_landlock *l, const struct dx_settings *s, struct dx_error *err)
{
    static const char *const named[] = { "SSL_CERT_FILE",
                                         "OPENSSL_CONF",
                                         "AWS_SHARED_CREDENTIALS_FILE",
                                         "AWS_CONFIG_FILE",
                                         "AWS_WEB_IDENTITY_TOKEN_FILE",
                                         "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE" };
    const char *home = getenv("HOME");
    const char *certificates = getenv("SSL_CERT_DIR");
    char cache[DX_MIRROR_PATH];
    int rc = dx_mirror_place(s->cache_dir, cache, err);

    if (rc == DX_OK)
        rc = dx_dir_make_private(cache, err);
    if (rc == DX_OK)
        rc = dx_landlock_path(l, cache, DX_LANDLOCK_TREE, err);
    if (rc >= 0)
        rc = allow_all(l, remote_folders, sizeof remote_folders / sizeof remote_folders[0], err);
    for (size_t i = 0; i < sizeof named / sizeof named[0] && rc >= 0; i++)
        rc = allow_folder_of(l, getenv(named[i]), DX_LANDLOCK_READ, err);
    if (rc >= 0 && certificates != NULL)
        rc = dx_landlock_path(l, certificates, DX_LANDLOCK_READ, err);
    if (rc >= 0 && home != NULL)
        rc = allow_below(l, home, ".aws", DX_LANDLOCK_READ, err);
    return rc < 0 ? rc : allow_folder_of(l, s->source.ca_file, DX_LANDLOCK_READ, err);
}

/* HOST:PORT, of which the rest is looked at when it is opened; unix:PATH. */
static int allow_listening(struct dx_landlock *l, const char *at, struct dx_error *err)
{
    const char *colon = at == NULL ? NULL : strrchr(at, ':');
    unsigned long port;

    if (colon == NULL)
        return 1;
    if (strncmp(at, DX_LISTENING_UNIX, strlen(DX_LISTENING_UNIX)) == 0)
        return allow_folder_of(l, at + strlen(DX_LISTENING_UNIX), DX_LANDLOCK_SOCKET, err);
    port = strtoul(colon + 1, NULL, 10);
    return port > 65535 ? 1 : dx_landlock_bind(l, (unsigned)port, err);
}

/* Its folder, since it is reopened when it was moved; but of a pipe or a device that alone. */
static int allow_log(struct dx_landlock *l, const char *target, struct dx_error *err)
{
    struct stat st;

    if (target == NULL || strcmp(target, "stderr") == 0)
        return 1;
    if (stat(target, &st) == 0 && !S_ISREG(st.st_mode))
        return dx_landlock_path(l, target, DX_LANDLOCK_APPEND, err);
    return allow_folder_of(l, target, DX_LANDLOCK_APPEND, err);
}

static int allow_settings(struct dx_landlock *l, const struct dx_settings *s, bool remote,
                          struct dx_error *err)
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    int rc = remote ? allow_remote(l, s, err) : allow_root(l, s, err);

    if (rc >= 0)
        rc = allow_all(l, self_files, sizeof self_files / sizeof self_files[0], err);
    if (rc >= 0)
        rc = allow_all(l, name_files, sizeof name_files / sizeof name_files[0], err);
    if (rc >= 0 && credentials != NULL)
        rc = dx_landlock_path(l, credentials, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_folder_of(l, s->cursor_key_file, DX_LANDLOCK_READ, err);
    if (rc >= 0 && s->foreign != NULL)
        rc = dx_landlock_path(l, s->foreign, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_folder_of(l, s->receipt_key_file, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_folder_of(l, s->access_file, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_folder_of(l, s->tls.certificate, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_folder_of(l, s->tls.key, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_folder_of(l, s->tls.client_ca, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_folder_of(l, s->config_path, DX_LANDLOCK_READ, err);
    if (rc >= 0)
        rc = allow_log(l, s->server.log_requests, err);
    if (rc >= 0)
        rc = allow_listening(l, s->server.admin, err);
    return rc < 0 ? rc : allow_listening(l, s->server.listen, err);
}

/* ---- sockets ---- */

/* "HOST:PORT", "[ADDRESS]:PORT": whether HOST is a name that a resolver is asked for. */
static bool is_name(const char *at, size_t size)
{
    struct in6_addr address;
    char host[256];

    if (size >= 2 && at[0] == '[') {
        at++;
        size -= 2;
    }
    if (size == 0 || size >= sizeof host)
        return size != 0;
    memcpy(host, at, size);
    host[size] = '\0';
    return inet_pton(AF_INET, host, &address) != 1 && inet_pton(AF_INET6, host, &address) != 1;
}

static bool is_unix(const char *at)
{
    return at != NULL && strncmp(at, DX_LISTENING_UNIX, strlen(DX_LISTENING_UNIX)) == 0;
}

static bool listens_on_name(const char *at)
{
    const char *colon = at == NULL || is_unix(at) ? NULL : strrchr(at, ':');

    return colon != NULL && is_name(at, (size_t)(colon - at));
}

/* Of http(s)://HOST[:PORT]/...; of a store that is named otherwise it is not known, and is a
 * name. */
static bool root_has_name(const char *root)
{
    const char *host = strstr(root, "://");
    size_t size;

    if (strncmp(root, "http", 4) != 0 || host == NULL)
        return true;
    host += 3;
    size = strcspn(host, "/");
    for (size_t i = size; i-- > 0 && host[i] != ']';)
        if (host[i] == ':')
            size = i;
    return is_name(host, size);
}

static bool has_local_resolver(void)
{
    static const char *const sockets[] = { "/run/systemd/resolve/io.systemd.Resolve",
                                           "/run/nscd/socket", "/var/run/nscd/socket" };

    for (size_t i = 0; i < sizeof sockets / sizeof sockets[0]; i++)
        if (access(sockets[i], F_OK) == 0)
            return true;
    return false;
}

/* What is needed until the server listens, and what goes on being needed. */
static void plan_sockets(const struct dx_settings *s, bool remote,
                         struct dx_syscall_filter_options *begin,
                         struct dx_syscall_filter_options *after)
{
    bool on_unix = is_unix(s->server.listen) || is_unix(s->server.admin);
    bool on_name = listens_on_name(s->server.listen) || listens_on_name(s->server.admin);

    *after = (struct dx_syscall_filter_options){
        .libraries = remote, .tree = remote, .inet = remote, .connect = remote
    };
    if (remote && root_has_name(s->root)) {
        after->udp = true;
        after->unix_sockets = has_local_resolver();
    }
    *begin = *after;
    begin->inet = begin->listen = true;
    begin->unix_sockets = begin->unix_sockets || on_unix || (on_name && has_local_resolver());
    begin->udp = begin->udp || on_name;
    begin->connect = begin->connect || on_unix ||
                     on_name; /* unix: does another server answer there? */
}

/* ---- entering ---- */

static int enter_landlock(struct dx_sandbox *sandbox, const struct dx_settings *s,
                          struct dx_error *err)
{
    struct dx_landlock l;
    int rc = dx_landlock_open(&l, sandbox->remote ? 0 : DX_LANDLOCK_NO_CONNECT, err);

    if (rc <= 0)
        return rc;
    /* The oldest one refuses links between folders, which copies of a remote root are made of. */
    if (!(sandbox->remote && l.abi < 2)) {
        rc = allow_settings(&l, s, sandbox->remote, err);
        if (rc >= 0)
            rc = dx_landlock_enter(&l, err);
        sandbox->landlock = rc == DX_OK ? l.abi : 0;
    }
    dx_landlock_close(&l);
    return rc;
}

int dx_sandbox_enter(struct dx_sandbox *sandbox, const struct dx_settings *s, struct dx_error *err)
{
    struct dx_syscall_filter_options filter;
    int rc;

    *sandbox = (struct dx_sandbox){ .remote = dx_source_remote(s->root) };
    if (s->sandbox == DX_SANDBOX_NO) {
        sandbox->off = "--sandbox no";
        return DX_OK;
    }
#ifdef DX_NO_SANDBOX
    sandbox->off = DX_NO_SANDBOX;
#endif
    if (sandbox->off == NULL) {
        plan_sockets(s, sandbox->remote, &filter, &sandbox->sockets);
        rc = enter_landlock(sandbox, s, err);
        if (rc >= 0)
            rc = dx_syscall_filter_enter(&filter, err);
        if (rc < 0)
            return rc;
        sandbox->seccomp = rc == 1;
    }
    if (s->sandbox == DX_SANDBOX_YES && (sandbox->landlock == 0 || !sandbox->seccomp))
        return dx_fail(err, DX_E_UNSUPPORTED, "--sandbox yes: %s",
                       sandbox->off != NULL ? sandbox->off
                       : sandbox->landlock == 0
                           ? "this kernel has no landlock, or none for this root"
                           : "this kernel has no seccomp");
    return DX_OK;
}

int dx_sandbox_narrow(const struct dx_sandbox *sandbox, struct dx_error *err)
{
    return sandbox->seccomp ? dx_syscall_filter_narrow(&sandbox->sockets, err) : 0;
}

void dx_sandbox_log(const struct dx_sandbox *sandbox)
{
    if (sandbox->off != NULL) {
        dx_log(DX_LOG_WARN, "no sandbox: %s", sandbox->off);
        return;
    }
    if (sandbox->landlock == 0 || !sandbox->seccomp)
        dx_log(DX_LOG_WARN, "sandbox without %s%s%s: this kernel does not have it",
               sandbox->landlock == 0 ? "landlock (files)" : "",
               sandbox->landlock == 0 && !sandbox->seccomp ? " and " : "",
               sandbox->seccomp ? "" : "seccomp (system calls)");
    else
        dx_log(DX_LOG_INFO, "sandbox: landlock %d%s, seccomp", sandbox->landlock,
               sandbox->landlock < 4 ? " (no rules for ports, signals and abstract sockets)"
               : sandbox->landlock < FULL_ABI ? " (no rules for signals and abstract sockets)"
                                              : "");
}
