/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/secret.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static atomic_bool process_is_ours;
static atomic_bool undumpable;

/* gcore and the like leave out what it does not list. Before the process cannot be dumped: then
 * the file is root's. */
static void exclude_memory(void)
{
    int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, "0", 1);
    (void)close(fd);
}

void dx_secret_held(void)
{
    if (!atomic_load(&process_is_ours) || atomic_exchange(&undumpable, true))
        return;
    exclude_memory();
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static bool environment_has_secret(void)
{
    static const char *const secrets[] = { "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                                           "AWS_CONTAINER_AUTHORIZATION_TOKEN", "PGPASSWORD",
                                           "DOMAINDEX_AMQP_PASSWORD" };
    static const char *const proxies[] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                           "ALL_PROXY" };

    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (getenv(secrets[i]) != NULL)
            return true;
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++) {
        const char *proxy = getenv(proxies[i]);

        if (proxy != NULL && strchr(proxy, '@') != NULL) /* http://user:password@host */
            return true;
    }
    return false;
}

void dx_secret_begin(void)
{
    atomic_store(&process_is_ours, true);
    if (environment_has_secret())
        dx_secret_held();
}
