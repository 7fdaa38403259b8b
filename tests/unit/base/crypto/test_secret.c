/* SPDX-License-Identifier: Apache-2.0
 * A secret in a process: before and after, with and without a program's leave. Each in a child, for
 * nothing takes it back.
 */
#include "base/crypto/secret.h"

#include "tests/support/damage.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned failures;

static const struct {
    const char *name, *value; /* of the environment */
    bool begins, holds;
    bool dumpable;
} rows[] = {
    { NULL, NULL, false, false, true },
    { NULL, NULL, true, false, true },
    { NULL, NULL, false, true, true }, /* a program that uses the library */
    { NULL, NULL, true, true, false },
    { "AWS_SECRET_ACCESS_KEY", "x", false, false, true },
    { "AWS_SECRET_ACCESS_KEY", "x", true, false, false },
    { "AWS_SESSION_TOKEN", "x", true, false, false },
    { "AWS_CONTAINER_AUTHORIZATION_TOKEN", "x", true, false, false },
    { "PGPASSWORD", "x", true, false, false },
    { "DOMAINDEX_AMQP_PASSWORD", "x", true, false, false },
    { "https_proxy", "http://u:p@host", true, false, false },
    { "https_proxy", "http://host", true, false, true },
    { "PGUSER", "x", true, false, true },
};

static unsigned read_filter(void)
{
    FILE *f = fopen("/proc/self/coredump_filter", "re");
    unsigned filter = 99;

    if (f != NULL) {
        (void)!fscanf(f, "%x", &filter);
        (void)fclose(f);
    }
    return filter;
}

/* In a child: whether row i is so. */
static bool try_row(size_t i)
{
    const unsigned filter = read_filter();

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (rows[k].name != NULL)
            (void)unsetenv(rows[k].name);
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (rows[i].name != NULL)
        (void)setenv(rows[i].name, rows[i].value, 1);
    if (rows[i].begins)
        dx_secret_begin();
    for (unsigned times = 0; times < 2 && rows[i].holds; times++)
        dx_secret_held();
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == rows[i].dumpable &&
           read_filter() == (rows[i].dumpable ? filter : 0);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pid_t child = fork();
        int status = -1;

        if (child == 0)
            _exit(try_row(i) ? 0 : 1);
        EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0, "row %zu: %d", i,
               status);
    }
    return failures > 0;
}
