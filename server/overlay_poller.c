/* SPDX-License-Identifier: Apache-2.0 */
#include "server/overlay_poller.h"

#include "base/log.h"
#include "loader/current.h"
#include "loader/overlay.h"
#include "loader/version.h"
#include "query/withheld.h"
#include "server/pace.h"
#include "server/repeater.h"

#include <stdlib.h>
#include <string.h>

#define LOCAL_POLL_MS 500u

struct dx_overlay_poller {
    struct dx_current *current;
    struct dx_repeater *repeater;
    /* of the thread alone: */
    struct dx_pace pace;
    char said[sizeof(((struct dx_error *)0)->text)]; /* the last failure */
};

static void prepare(struct dx_overlay_poller *p)
{
    struct dx_version *v = dx_current_pin(p->current);
    struct dx_error err = DX_ERROR_INIT;

    if (v != NULL && dx_withheld_prepare(v, 0, &err) < 0)
        dx_log(DX_LOG_ERROR, "suppressions: %s", err.text);
    dx_version_unpin(v);
}

static void look(struct dx_overlay_poller *p, bool asked)
{
    struct dx_overlay *overlay = dx_current_caches(p->current)->overlay;
    struct dx_overlay_health health;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_overlay_poll(overlay, &err);

    if (rc < 0) {
        if (asked || strcmp(err.text, p->said) != 0)
            dx_log(DX_LOG_ERROR, "suppressions: kept those that were known: %s", err.text);
        memcpy(p->said, err.text, sizeof p->said);
        return;
    }
    if (rc == 1 || p->said[0] != '\0') {
        dx_overlay_health(overlay, &health);
        dx_log(DX_LOG_INFO, "suppressions: %llu rules, log of %llu lines",
               (unsigned long long)health.rules, (unsigned long long)health.number);
    }
    p->said[0] = '\0';
    if (rc == 1)
        prepare(p);
}

static uint64_t work(void *context, bool asked)
{
    struct dx_overlay_poller *p = context;

    look(p, asked);
    return dx_pace_next(&p->pace);
}

int dx_overlay_poller_start(struct dx_overlay_poller **out, struct dx_current *current, bool remote,
                            unsigned poll_ms, struct dx_error *err)
{
    struct dx_overlay_poller *p = calloc(1, sizeof *p);
    int rc;

    *out = NULL;
    if (p == NULL)
        return dx_fail(err, DX_E_NOMEM, "suppressions: out of memory");
    p->current = current;
    dx_pace_begin(&p->pace, remote || poll_ms < LOCAL_POLL_MS ? poll_ms : LOCAL_POLL_MS);
    rc = dx_repeater_start(&p->repeater, "suppressions", dx_pace_next(&p->pace), work, p, err);
    if (rc == DX_OK)
        *out = p;
    else
        free(p);
    return rc;
}

void dx_overlay_poller_ask(struct dx_overlay_poller *p)
{
    dx_repeater_ask(p->repeater);
}

bool dx_overlay_poller_stop(struct dx_overlay_poller **out)
{
    struct dx_overlay_poller *p = *out;

    if (p == NULL)
        return true;
    if (!dx_repeater_stop(&p->repeater))
        return false;
    free(p);
    *out = NULL;
    return true;
}
