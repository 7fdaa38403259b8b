/* SPDX-License-Identifier: Apache-2.0
 * Which variables of the environment are used, and notifications; the rest by
 * tests/e2e/supervisor.py, with sockets at descriptor 3.
 */
#include "server/process/supervisor.h"

#include "tests/support/fail.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static int failures;

static const struct {
    const char *name;
    const char *notify; /* "@": the test's own socket */
    const char *watchdog_us, *watchdog_pid, *listen_pid, *listen_fds;
    const char *error; /* NULL: fine */
    unsigned watchdog_ms;
} rows[] = {
    { .name = "nothing" },
    { .name = "no notify socket, no watchdog", .watchdog_us = "5000000" },
    { .name = "a watchdog", .notify = "@", .watchdog_us = "5000000", .watchdog_ms = 5000 },
    { .name = "short", .notify = "@", .watchdog_us = "1", .watchdog_ms = 1 },
    { .name = "long",
      .notify = "@",
      .watchdog_us = "18446744073709551615",
      .watchdog_ms = 86400000 },
    { .name = "no number", .notify = "@", .watchdog_us = "5 s" },
    { .name = "negative", .notify = "@", .watchdog_us = "-1" },
    { .name = "overflow", .notify = "@", .watchdog_us = "99999999999999999999" },
    { .name = "of another", .notify = "@", .watchdog_us = "5000000", .watchdog_pid = "1" },
    { .name = "relative", .notify = "run/notify", .error = "not the path of a socket" },
    { .name = "vsock", .notify = "vsock:2:1234", .error = "not the path of a socket" },
    { .name = "gone", .notify = "/nonexistent/notify", .error = "/nonexistent/notify" },
    { .name = "sockets of another", .listen_pid = "1", .listen_fds = "1" },
    { .name = "no sockets", .listen_pid = "$", .listen_fds = "0" },
    { .name = "no number of sockets", .listen_pid = "$", .listen_fds = "x" },
    { .name = "too many", .listen_pid = "$", .listen_fds = "3", .error = "3 sockets" },
    { .name = "far too many", .listen_pid = "$", .listen_fds = "4294967297", .error = "sockets" },
    { .name = "not open", .listen_pid = "$", .listen_fds = "1", .error = "descriptor 3" },
};

static void set(const char *name, const char *value)
{
    if (value == NULL)
        (void)unsetenv(name);
    else
        (void)setenv(name, value, 1);
}

static void check_row(size_t i, const char *own)
{
    static const char *const gone[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
                                        "LISTEN_PID",    "LISTEN_FDS",    "LISTEN_FDNAMES" };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_supervisor s;
    char pid[24];
    int rc;

    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    set("NOTIFY_SOCKET",
        rows[i].notify != NULL && strcmp(rows[i].notify, "@") == 0 ? own : rows[i].notify);
    set("WATCHDOG_USEC", rows[i].watchdog_us);
    set("WATCHDOG_PID", rows[i].watchdog_pid);
    set("LISTEN_PID",
        rows[i].listen_pid != NULL && rows[i].listen_pid[0] == '$' ? pid : rows[i].listen_pid);
    set("LISTEN_FDS", rows[i].listen_fds);
    rc = dx_supervisor_open(&s, &err);
    if (rows[i].error == NULL ? rc != DX_OK
                              : rc == DX_OK || strstr(err.text, rows[i].error) == NULL)
        FAIL("%s: %d %s", rows[i].name, rc, err.text);
    for (size_t k = 0; k < sizeof gone / sizeof gone[0]; k++)
        if (getenv(gone[k]) != NULL)
            FAIL("%s: %s is still there", rows[i].name, gone[k]);
    if (rc < 0)
        return;
    if (s.watchdog_ms != rows[i].watchdog_ms)
        FAIL("%s: watchdog of %u ms", rows[i].name, s.watchdog_ms);
    if (dx_supervisor_listener(&s, "http") != -1 || dx_supervisor_listener(&s, "no such") != -1)
        FAIL("%s: a socket", rows[i].name);
    dx_supervisor_tell(&s, "nobody minds");
    dx_supervisor_close(&s);
}

/* A message of any length is one datagram of bounded size; a supervisor that comes back is notified
 * again. */
static void check_tell(int own, const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_supervisor s;
    char bytes[4096];
    char text[3000];
    ssize_t n;

    set("NOTIFY_SOCKET", path);
    if (dx_supervisor_open(&s, &err) < 0) {
        FAIL("%s", err.text);
        return;
    }
    while (recv(own, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    dx_supervisor_tell(&s, "STATUS=%s", text);
    n = recv(own, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n != 1023 || memcmp(bytes, "STATUS=xx", 9) != 0)
        FAIL("%zd bytes of a long one", n);
    (void)close(own);
    (void)unlink(path);
    dx_supervisor_tell(&s, "WATCHDOG=1");
    own = socket(AF_UNIX, SOCK_DGRAM, 0);
    memcpy(at.sun_path, path, strlen(path) + 1);
    if (bind(own, (const struct sockaddr *)&at, sizeof at) < 0)
        FAIL("cannot bind %s again", path);
    dx_supervisor_tell(&s, "WATCHDOG=%d", 1);
    n = recv(own, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n != 10 || memcmp(bytes, "WATCHDOG=1", 10) != 0)
        FAIL("%zd bytes told to the one that came back", n);
    dx_supervisor_begin(&s);
    dx_supervisor_loaded(&s);
    dx_supervisor_loaded(&s);
    dx_supervisor_begin(&s);
    dx_supervisor_close(&s);
    (void)close(own);
}

int main(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    char dir[] = "/tmp/domaindex-test-XXXXXX";
    int own = socket(AF_UNIX, SOCK_DGRAM, 0);

    (void)close(3); /* a row asks for what is not there */
    if (own == 3)
        own = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (own == 3)
        own = dup2(own, 9);
    (void)close(3);
    if (mkdtemp(dir) == NULL)
        return 1;
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s/notify", dir);
    if (bind(own, (const struct sockaddr *)&at, sizeof at) < 0)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(i, at.sun_path);
    check_tell(own, at.sun_path);
    (void)unlink(at.sun_path);
    (void)rmdir(dir);
    return failures == 0 ? 0 : 1;
}
