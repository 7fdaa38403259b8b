/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reloader.h"

#include "base/clock.h"
#include "base/log.h"
#include "loader/current.h"
#include "loader/version.h"
#include "server/server.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STOP_WAIT_S 1

struct dx_reloader {
    struct dx_current *current;
    unsigned poll_ms;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct dx_server *server; /* told under the lock, so that it cannot go meanwhile */
    bool asked;
    bool stopping;
    uint64_t random;
    char said[sizeof(((struct dx_error *)0)->text)]; /* of the thread alone: the last failure */
};

static void look(struct dx_reloader *r, bool asked)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_current_reload(r->current, &err);
    struct dx_version *v;

    if (rc < 0) {
        if (asked || strcmp(err.text, r->said) != 0)
            dx_log(DX_LOG_ERROR, "reload: kept the old version: %s", err.text);
        memcpy(r->said, err.text, sizeof r->said);
        return;
    }
    if (rc == 1) {
        (void)pthread_mutex_lock(&r->lock);
        if (r->server != NULL)
            dx_server_version_changed(r->server);
        (void)pthread_mutex_unlock(&r->lock);
    }
    if (rc == 0 && !asked && r->said[0] == '\0')
        return;
    r->said[0] = '\0';
    v = dx_current_pin(r->current);
    dx_log(DX_LOG_INFO, rc == 1 ? "reload: serving version %s" : "reload: nothing newer than %s",
           dx_version_name(v));
    dx_version_unpin(v);
}

/* With the lock: until something is asked for, or it is time to look. */
static void rest(struct dx_reloader *r)
{
    uint64_t until_ms;

    if (r->poll_ms == 0) {
        while (!r->asked && !r->stopping)
            (void)pthread_cond_wait(&r->changed, &r->lock);
        return;
    }
    r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    until_ms = dx_clock_ms() + r->poll_ms - r->poll_ms / 4 +
               (r->random >> 33) % (r->poll_ms / 2 + 1);
    while (!r->asked && !r->stopping && dx_cond_wait_until(&r->changed, &r->lock, until_ms))
        ;
}

static void *run(void *argument)
{
    struct dx_reloader *r = argument;

    (void)pthread_mutex_lock(&r->lock);
    for (;;) {
        bool asked;

        rest(r);
        if (r->stopping)
            break;
        asked = r->asked;
        r->asked = false;
        (void)pthread_mutex_unlock(&r->lock);
        look(r, asked);
        (void)pthread_mutex_lock(&r->lock);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

int dx_reloader_start(struct dx_reloader **out, struct dx_current *current, unsigned poll_ms,
                      struct dx_error *err)
{
    struct dx_reloader *r = calloc(1, sizeof *r);
    struct timespec now;
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_fail(err, DX_E_NOMEM, "reload: out of memory");
    r->current = current;
    r->poll_ms = poll_ms;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    r->random = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)r;
    (void)pthread_mutex_init(&r->lock, NULL);
    dx_cond_init(&r->changed);
    rc = pthread_create(&r->thread, NULL, run, r);
    if (rc != 0) {
        free(r);
        return dx_fail_errno(err, rc, "reload: cannot start a thread");
    }
    *out = r;
    return DX_OK;
}

void dx_reloader_tell(struct dx_reloader *r, struct dx_server *server)
{
    (void)pthread_mutex_lock(&r->lock);
    r->server = server;
    (void)pthread_mutex_unlock(&r->lock);
}

void dx_reloader_ask(struct dx_reloader *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->asked = true;
    (void)pthread_cond_signal(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
}

bool dx_reloader_stop(struct dx_reloader **out)
{
    struct dx_reloader *r = *out;
    struct timespec until;

    (void)pthread_mutex_lock(&r->lock);
    r->stopping = true;
    r->server = NULL;
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
