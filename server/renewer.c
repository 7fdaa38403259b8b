/* SPDX-License-Identifier: Apache-2.0 */
#include "server/renewer.h"

#include "base/clock.h"
#include "base/log.h"
#include "loader/current.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STOP_WAIT_S 1
#define RETRY_MAX_MS 5000
#define RETRY_MIN_MS 100

struct dx_renewer {
    struct dx_current *current;
    uint64_t ttl_ms;
    pthread_t thread;
    pthread_mutex_t lock; /* of stopping */
    pthread_cond_t changed;
    bool stopping;
    char said[sizeof(((struct dx_error *)0)->text)]; /* of the thread alone: the last failure */
};

/* Until the next renewal. */
static uint64_t renew(struct dx_renewer *r)
{
    uint64_t retry = r->ttl_ms / 30;
    struct dx_error err = DX_ERROR_INIT;
    char rival[DX_RIVAL_TEXT];
    int rc = dx_current_renew(r->current, rival, &err);

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

static void *run(void *argument)
{
    struct dx_renewer *r = argument;
    uint64_t until_ms = dx_clock_ms() + r->ttl_ms / 3;

    (void)pthread_mutex_lock(&r->lock);
    while (!r->stopping) {
        while (!r->stopping && dx_cond_wait_until(&r->changed, &r->lock, until_ms))
            ;
        if (r->stopping)
            break;
        (void)pthread_mutex_unlock(&r->lock);
        until_ms = dx_clock_ms() + renew(r);
        (void)pthread_mutex_lock(&r->lock);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
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
    (void)pthread_mutex_init(&r->lock, NULL);
    dx_cond_init(&r->changed);
    rc = pthread_create(&r->thread, NULL, run, r);
    if (rc != 0) {
        free(r);
        return dx_fail_errno(err, rc, "lease: cannot start a thread");
    }
    *out = r;
    return DX_OK;
}

bool dx_renewer_stop(struct dx_renewer **out)
{
    struct dx_renewer *r = *out;
    struct timespec until;

    if (r == NULL)
        return true;
    (void)pthread_mutex_lock(&r->lock);
    r->stopping = true;
    (void)pthread_cond_signal(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_WAIT_S;
    if (pthread_timedjoin_np(r->thread, NULL, &until) != 0)
        return false;
    (void)pthread_cond_destroy(&r->changed);
    (void)pthread_mutex_destroy(&r->lock);
    free(r);
    *out = NULL;
    return true;
}
