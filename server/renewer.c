/* SPDX-License-Identifier: Apache-2.0 */
#include "server/renewer.h"

#include "base/log.h"
#include "loader/current.h"
#include "server/repeater.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_MAX_MS 5000
#define RETRY_MIN_MS 100

struct dx_renewer {
    struct dx_current *current;
    uint64_t ttl_ms;
    struct dx_repeater *repeater;
    char said[sizeof(((struct dx_error *)0)->text)]; /* of the thread alone: the last failure */
};

/* Until the next renewal. */
static uint64_t renew(void *context, bool asked)
{
    struct dx_renewer *r = context;
    uint64_t retry = r->ttl_ms / 30;
    struct dx_error err = DX_ERROR_INIT;
    char rival[DX_RIVAL_TEXT];
    int rc = dx_current_renew(r->current, rival, &err);

    (void)asked;
    if (rival[0] != '\0')
        dx_log(DX_LOG_WARN, "lease: %s", rival);
    if (rc < 0 && strcmp(r->said, err.text) != 0)
        dx_log(DX_LOG_ERROR, "lease: not renewed: %s", err.text);
    if (rc == DX_OK && r->said[0] != '\0')
        dx_log(DX_LOG_INFO, "lease: renewed again");
    memcpy(r->said, err.text, sizeof r->said);
    if (rc == DX_OK)
        return r->ttl_ms / 3;
    return retry > RETRY_MAX_MS ? RETRY_MAX_MS : retry < RETRY_MIN_MS ? RETRY_MIN_MS : retry;
}

int dx_renewer_start(struct dx_renewer **out, struct dx_current *current, uint64_t ttl_ms,
                     struct dx_error *err)
{
    struct dx_renewer *r = calloc(1, sizeof *r);
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_fail(err, DX_E_NOMEM, "lease: out of memory");
    r->current = current;
    r->ttl_ms = ttl_ms;
    rc = dx_repeater_start(&r->repeater, "lease", ttl_ms / 3, renew, r, err);
    if (rc == DX_OK)
        *out = r;
    else
        free(r);
    return rc;
}

bool dx_renewer_stop(struct dx_renewer **out)
{
    struct dx_renewer *r = *out;

    if (r == NULL)
        return true;
    if (!dx_repeater_stop(&r->repeater))
        return false;
    free(r);
    *out = NULL;
    return true;
}
