/* SPDX-License-Identifier: Apache-2.0 */
#include "server/overlay_poller.h"

#include "base/clock.h"
#include "base/log.h"
#include "loader/current.h"
#include "loader/overlay.h"
#include "loader/version.h"
#include "query/withheld.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STOP_WAIT_S 1
#define LOCAL_POLL_MS 500u

struct dx_overlay_poller {
    struct dx_current *current;
    unsigned poll_ms;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool asked;
    bool stopping;
    char said[sizeof(((struct dx_error *)0)->text)]; /* of the thread alone: the last failure */
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

/* With the lock: until something is asked for, or it is time to look. */
static void rest(struct dx_overlay_poller *p, uint64_t *random)
{
    uint64_t until_ms;

    if (p->poll_ms == 0) {
        while (!p->asked && !p->stopping)
            (void)pthread_cond_wait(&p->changed, &p->lock);
        return;
    }
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    until_ms = dx_clock_ms() + p->poll_ms - p->poll_ms / 4 + (*random >> 33) % (p->poll_ms / 2 + 1);
    while (!p->asked && !p->stopping && dx_cond_wait_until(&p->changed, &p->lock, until_ms))
        ;
}

static void *run(void *argument)
{
    struct dx_overlay_poller *p = argument;
    struct timespec now;
    uint64_t random;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    random = (uint64_t)now.tv_nsec;
    (void)pthread_mutex_lock(&p->lock);
    for (;;) {
        bool asked;

        rest(p, &random);
        if (p->stopping)
            break;
        asked = p->asked;
        p->asked = false;
        (void)pthread_mutex_unlock(&p->lock);
        look(p, asked);
        (void)pthread_mutex_lock(&p->lock);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
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
    p->poll_ms = remote || poll_ms < LOCAL_POLL_MS ? poll_ms : LOCAL_POLL_MS;
    (void)pthread_mutex_init(&p->lock, NULL);
    dx_cond_init(&p->changed);
    rc = pthread_create(&p->thread, NULL, run, p);
    if (rc != 0) {
        free(p);
        return dx_fail_errno(err, rc, "suppressions: cannot start a thread");
    }
    *out = p;
    return DX_OK;
}

void dx_overlay_poller_ask(struct dx_overlay_poller *p)
{
    (void)pthread_mutex_lock(&p->lock);
    p->asked = true;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

bool dx_overlay_poller_stop(struct dx_overlay_poller **out)
{
    struct dx_overlay_poller *p = *out;
    struct timespec until;

    if (p == NULL)
        return true;
    (void)pthread_mutex_lock(&p->lock);
    p->stopping = true;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_WAIT_S;
    if (pthread_timedjoin_np(p->thread, NULL, &until) != 0)
        return false;
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
    *out = NULL;
    return true;
}
