/* SPDX-License-Identifier: Apache-2.0
 * The command line and the settings file are read while memory runs out. */
#include "server/process/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/runner/fail_alloc.h"

static int settings(void *ctx, struct dx_error *err)
{
    char *argv[] = {
        (char *)(uintptr_t) "domaindexd",      (char *)(uintptr_t) "--config",       ctx,
        (char *)(uintptr_t) "--trusted-proxy", (char *)(uintptr_t) "10.0.0.0/8,::1", NULL
    };
    struct dx_settings s;
    int rc = dx_settings_parse(&s, 5, argv, err);

    dx_settings_release(&s);
    return rc;
}

int main(void)
{
    char path[] = "/tmp/test_settings_no_memory.XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    size_t failures;

    if (f == NULL ||
        fputs("# settings\nroot = \"/r\"\nlisten = '127.0.0.1:1' # here\n"
              "principal-header = x-user\nidle-timeout-ms = 5000\n",
              f) < 0 ||
        fclose(f) != 0)
        abort();
    failures = fail_alloc_each("settings", 0, settings, path);
    (void)unlink(path);
    return failures > 0;
}
