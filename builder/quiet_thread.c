/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/quiet_thread.h"

#include <signal.h>

int dx_quiet_thread(pthread_t *thread, void *(*work)(void *ctx), void *ctx)
{
    sigset_t all;
    sigset_t before;
    int e;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    e = pthread_create(thread, NULL, work, ctx);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e;
}
