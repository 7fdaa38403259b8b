/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access_poller.h"

#include "base/clock.h"
#include "base/log.h"
#include "loader/access.h"
#include "server/pace.h"
#include "server/repeater.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_POLL_MS 250u

struct dx_access_poller {
    struct dx_access *access;
    struct dx_repeater *repeater;
    /* of the thread alone: */
    struct dx_pace pace;
    bool denies;                                     /* it was said that nobody may see anything */
    char said[sizeof(((struct dx_error *)0)->text)]; /* the last failure */
};

static void refused(struct dx_access_poller *p, const struct dx_error *err, bool asked)
{
    bool denies = !dx_access_known(p->access, dx_clock_ms());

    if (asked || denies != p->denies || strcmp(err->text, p->said) != 0)
        dx_log(DX_LOG_ERROR, "access: %s: %s",
               denies ? "who may see what is not known any more, and all requests are refused"
                      : "what was known holds on",
               err->text);
    p->denies = denies;
    memcpy(p->said, err->text, sizeof p->said);
}

static void look(struct dx_access_poller *p, bool asked)
{
    struct dx_access_health health;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_access_poll(p->access, dx_clock_ms(), &err);

    if (rc < 0) {
        refused(p, &err, asked);
        return;
    }
    if (rc == 1 || p->said[0] != '\0') {
        dx_access_health(p->access, dx_clock_ms(), &health);
        if (health.present)
            dx_log(DX_LOG_INFO, "access: table of generation %llu, %llu principals",
                   (unsigned long long)health.generation, (unsigned long long)health.principals);
        else
            dx_log(DX_LOG_WARN, "access: no table is in force: everybody may see all");
    }
    p->said[0] = '\0';
    p->denies = false;
}

static uint64_t work(void *context, bool asked)
{
    struct dx_access_poller *p = context;

    look(p, asked);
    return dx_pace_next(&p->pace);
}

int dx_access_poller_start(struct dx_access_poller **out, struct dx_access *access, bool remote,
                           unsigned poll_ms, struct dx_error *err)
{
    struct dx_access_poller *p = calloc(1, sizeof *p);
    int rc;

    *out = NULL;
    if (p == NULL)
        return dx_fail(err, DX_E_NOMEM, "access: out of memory");
    p->access = access;
    dx_pace_begin(&p->pace, remote || poll_ms < LOCAL_POLL_MS ? poll_ms : LOCAL_POLL_MS);
    rc = dx_repeater_start(&p->repeater, "access", dx_pace_next(&p->pace), work, p, err);
    if (rc == DX_OK)
        *out = p;
    else
        free(p);
    return rc;
}

void dx_access_poller_ask(struct dx_access_poller *p)
{
    dx_repeater_ask(p->repeater);
}

bool dx_access_poller_stop(struct dx_access_poller **out)
{
    struct dx_access_poller *p = *out;

    if (p == NULL)
        return true;
    if (!dx_repeater_stop(&p->repeater))
        return false;
    free(p);
    *out = NULL;
    return true;
}
