/* SPDX-License-Identifier: Apache-2.0 */
#include "server/overlay_poller.h"

#include "base/log.h"
#include "loader/current.h"
#include "loader/overlay.h"
#include "loader/version.h"
#include "query/withheld.h"

#include <stdlib.h>
#include <string.h>

#define LOCAL_POLL_MS 500u

struct follower {
    struct dx_current *current;
    char said[sizeof(((struct dx_error *)0)->text)]; /* the last failure */
};

static void prepare(struct follower *f)
{
    struct dx_version *v = dx_current_pin(f->current);
    struct dx_error err = DX_ERROR_INIT;

    if (v != NULL && dx_withheld_prepare(v, 0, &err) < 0)
        dx_log(DX_LOG_ERROR, "suppressions: %s", err.text);
    dx_version_unpin(v);
}

static void look(void *context, bool asked)
{
    struct follower *f = context;
    struct dx_overlay *overlay = dx_current_caches(f->current)->overlay;
    struct dx_overlay_health health;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_overlay_poll(overlay, &err);

    if (rc < 0) {
        if (asked || strcmp(err.text, f->said) != 0)
            dx_log(DX_LOG_ERROR, "suppressions: kept those that were known: %s", err.text);
        memcpy(f->said, err.text, sizeof f->said);
        return;
    }
    if (rc == 1 || f->said[0] != '\0') {
        dx_overlay_health(overlay, &health);
        dx_log(DX_LOG_INFO, "suppressions: %llu rules, log of %llu lines",
               (unsigned long long)health.rules, (unsigned long long)health.number);
    }
    f->said[0] = '\0';
    if (rc == 1)
        prepare(f);
}

int dx_overlay_poller_start(struct dx_poller **p, struct dx_current *current, bool remote,
                            unsigned poll_ms, struct dx_error *err)
{
    struct follower *f = calloc(1, sizeof *f);

    if (f != NULL)
        f->current = current;
    return dx_poller_start(p, "suppressions",
                           remote || poll_ms < LOCAL_POLL_MS ? poll_ms : LOCAL_POLL_MS, look, f,
                           err);
}
