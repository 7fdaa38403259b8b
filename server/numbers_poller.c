/* SPDX-License-Identifier: Apache-2.0 */
#include "server/numbers_poller.h"

#include "base/clock.h"
#include "base/log.h"
#include "loader/numbers_now.h"

#include <stdlib.h>
#include <string.h>

#define LOCAL_POLL_MS 1000u

struct follower {
    struct dx_numbers_now *now;
    char said[sizeof(((struct dx_error *)0)->text)]; /* the last failure */
};

static void look(void *context, bool asked)
{
    struct follower *f = context;
    struct dx_numbers_health health;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_numbers_now_poll(f->now, asked, dx_clock_ms(), &err);

    dx_numbers_now_health(f->now, &health);
    if (rc < 0) {
        if (!health.sound && (asked || strcmp(err.text, f->said) != 0))
            dx_log(DX_LOG_ERROR, "domain64: %s: %s",
                   health.present ? "the numbers that were read before hold on"
                                  : "the registry cannot be read, and no number is told",
                   err.text);
        memcpy(f->said, err.text, sizeof f->said);
        return;
    }
    if (health.present && (rc == 1 || f->said[0] != '\0'))
        dx_log(DX_LOG_INFO, "domain64: registry after filling %u, %llu names",
               (unsigned)health.fillings, (unsigned long long)health.names);
    else if (rc == 1)
        dx_log(DX_LOG_WARN, "domain64: the registry is gone");
    f->said[0] = '\0';
}

int dx_numbers_poller_start(struct dx_poller **p, struct dx_numbers_now *now, bool remote,
                            unsigned poll_ms, struct dx_error *err)
{
    struct follower *f = calloc(1, sizeof *f);

    if (f != NULL)
        f->now = now;
    return dx_poller_start(
        p, "numbers", remote || poll_ms < LOCAL_POLL_MS ? poll_ms : LOCAL_POLL_MS, look, f, err);
}
