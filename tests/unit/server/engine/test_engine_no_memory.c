/* SPDX-License-Identifier: Apache-2.0
 * A server starts while memory runs out: it says so, and nothing of it stays, no socket either. */
#include "server/engine/server.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runner/fail_alloc.h"
#include "tests/support/fake_answers.h"

static unsigned count(const char *folder)
{
    DIR *d = opendir(folder);
    unsigned n = 0;

    if (d == NULL)
        abort();
    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    return n;
}

static int start(void *ctx, struct dx_error *err)
{
    struct dx_server_options o = dx_server_options_default();
    struct dx_server *s = NULL;
    unsigned files = count("/proc/self/fd");
    int rc;

    o.listen = o.admin = "127.0.0.1:0";
    o.loops = 2;
    o.workers = 2;
    o.log_requests = "/dev/null";
    o.admission = (struct dx_admission_options){ .address_cost_per_s = 1,
                                                 .address_burst = 1,
                                                 .addresses_max = 1024 };
    rc = dx_server_start(&s, &o, ctx, err);
    if (rc >= 0 && !dx_server_stop(&s, 60000))
        rc = dx_fail(err, DX_E_TIMEOUT, "stop was not clean");
    if (count("/proc/self/fd") != files)
        rc = dx_fail(err, DX_E_CORRUPT, "%u descriptors, %u before", count("/proc/self/fd"), files);
    return rc;
}

int main(void)
{
    struct dx_fake *fake = dx_fake_new();
    struct dx_answers answers = dx_fake_answers(fake);
    struct dx_error err = DX_ERROR_INIT;
    size_t failures;

    (void)start(&answers, &err); /* what is opened once by the first server stays */
    failures = fail_alloc_each("start", 300, start, &answers);
    if (!dx_fake_free(&fake)) {
        printf("a pin is left\n");
        failures++;
    }
    return failures > 0;
}
