/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quiet_thread.h"

#include <signal.h>

/* What a thread causes itself: blocked, it would end the process without its handler. */
static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

int dx_quiet_thread(pthread_t *thread, void *(*work)(void *ctx), void *ctx)
{
    sigset_t quiet;
    sigset_t before;
    int e;

    (void)sigfillset(&quiet);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        (void)sigdelset(&quiet, own[i]);
    (void)pthread_sigmask(SIG_BLOCK, &quiet, &before);
    e = pthread_create(thread, NULL, work, ctx);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e;
}
