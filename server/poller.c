/* SPDX-License-Identifier: Apache-2.0 */
#include "server/poller.h"

#include "server/pace.h"
#include "server/repeater.h"

#include <stdlib.h>

struct dx_poller {
    struct dx_repeater *repeater;
    struct dx_pace pace; /* of the thread alone */
    dx_poller_look *look;
    void *context;
};

static uint64_t work(void *context, bool asked)
{
    struct dx_poller *p = context;

    p->look(p->context, asked);
    return dx_pace_next(&p->pace);
}

int dx_poller_start(struct dx_poller **out, const char *what, unsigned period_ms,
                    dx_poller_look *look, void *context, struct dx_error *err)
{
    struct dx_poller *p = context == NULL ? NULL : calloc(1, sizeof *p);
    int rc;

    *out = NULL;
    if (p == NULL) {
        free(context);
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", what);
    }
    p->look = look;
    p->context = context;
    dx_pace_begin(&p->pace, period_ms);
    rc = dx_repeater_start(&p->repeater, what, dx_pace_next(&p->pace), work, p, err);
    if (rc == DX_OK) {
        *out = p;
    } else {
        free(context);
        free(p);
    }
    return rc;
}

void dx_poller_ask(struct dx_poller *p)
{
    dx_repeater_ask(p->repeater);
}

bool dx_poller_stop(struct dx_poller **out)
{
    struct dx_poller *p = *out;

    if (p == NULL)
        return true;
    if (!dx_repeater_stop(&p->repeater))
        return false;
    free(p->context);
    free(p);
    *out = NULL;
    return true;
}
