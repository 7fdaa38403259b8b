/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access_poller.h"

#include "base/clock.h"
#include "base/log.h"
#include "loader/access.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_POLL_MS 250u

struct follower {
    struct dx_access *access;
    bool denies;                                     /* it was said that nobody may see anything */
    char said[sizeof(((struct dx_error *)0)->text)]; /* the last failure */
};

static void refused(struct follower *f, const struct dx_error *err, bool asked)
{
    bool denies = !dx_access_known(f->access, dx_clock_ms());

    if (asked || denies != f->denies || strcmp(err->text, f->said) != 0)
        dx_log(DX_LOG_ERROR, "access: %s: %s",
               denies ? "who may see what is not known any more, and all requests are refused"
                      : "what was known holds on",
               err->text);
    f->denies = denies;
    memcpy(f->said, err->text, sizeof f->said);
}

static void look(void *context, bool asked)
{
    struct follower *f = context;
    struct dx_access_health health;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_access_poll(f->access, dx_clock_ms(), &err);

    if (rc < 0) {
        refused(f, &err, asked);
        return;
    }
    if (rc == 1 || f->said[0] != '\0') {
        dx_access_health(f->access, dx_clock_ms(), &health);
        if (health.present)
            dx_log(DX_LOG_INFO, "access: table of generation %llu, %llu principals",
                   (unsigned long long)health.generation, (unsigned long long)health.principals);
        else
            dx_log(DX_LOG_WARN, "access: no table is in force: everybody may see all");
    }
    f->said[0] = '\0';
    f->denies = false;
}

int dx_access_poller_start(struct dx_poller **p, struct dx_access *access, bool remote,
                           unsigned poll_ms, struct dx_error *err)
{
    struct follower *f = calloc(1, sizeof *f);

    if (f != NULL)
        f->access = access;
    return dx_poller_start(p, "access", remote || poll_ms < LOCAL_POLL_MS ? poll_ms : LOCAL_POLL_MS,
                           look, f, err);
}
