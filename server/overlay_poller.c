/* SPDX-License-Identifier: Apache-2.0 */
#include "server/overlay_poller.h"

#include "base/log.h"
#include "loader/current.h"
#include "loader/overlay.h"
#include "loader/version.h"
#include "query/withheld.h"
#include "server/repeater.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOCAL_POLL_MS 500u

struct dx_overlay_poller {
    struct dx_current *current;
    unsigned poll_ms;
    struct dx_repeater *repeater;
    /* of the thread alone: */
    uint64_t random;
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

/* Servers of one store do not look all at once. */
static uint64_t rest_ms(struct dx_overlay_poller *p)
{
    if (p->poll_ms == 0)
        return DX_REPEATER_NEVER;
    p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return p->poll_ms - p->poll_ms / 4 + (p->random >> 33) % (p->poll_ms / 2 + 1);
}

static uint64_t work(void *context, bool asked)
{
    look(context, asked);
    return rest_ms(context);
}

int dx_overlay_poller_start(struct dx_overlay_poller **out, struct dx_current *current, bool remote,
                            unsigned poll_ms, struct dx_error *err)
{
    struct dx_overlay_poller *p = calloc(1, sizeof *p);
    struct timespec now;
    int rc;

    *out = NULL;
    if (p == NULL)
        return dx_fail(err, DX_E_NOMEM, "suppressions: out of memory");
    (void)clock_gettime(CLOCK_REALTIME, &now);
    p->random = (uint64_t)now.tv_nsec;
    p->current = current;
    p->poll_ms = remote || poll_ms < LOCAL_POLL_MS ? poll_ms : LOCAL_POLL_MS;
    rc = dx_repeater_start(&p->repeater, "suppressions", rest_ms(p), work, p, err);
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
