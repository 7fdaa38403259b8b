/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/parallel.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/quiet_thread.h"

struct parallel {
    size_t count;
    dx_parallel_work *work;
    void *ctx;
    atomic_size_t next;
    atomic_bool stop;
    pthread_mutex_t lock; /* of the error */
    struct dx_error err;
    size_t failed;
};

static void note(struct parallel *p, size_t i, const struct dx_error *err)
{
    (void)pthread_mutex_lock(&p->lock);
    if (p->err.code == DX_OK || i < p->failed) {
        p->err = *err;
        p->failed = i;
    }
    (void)pthread_mutex_unlock(&p->lock);
    atomic_store(&p->stop, true);
}

static void *run_work(void *ctx)
{
    struct parallel *p = ctx;

    while (!atomic_load(&p->stop)) {
        size_t i = atomic_fetch_add(&p->next, 1);
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        if (i >= p->count)
            break;
        rc = p->work(p->ctx, i, &err);
        assert(rc >= 0 || (int)err.code == rc);
        if (rc < 0)
            note(p, i, &err);
    }
    return NULL;
}

int dx_parallel(unsigned threads, size_t count, dx_parallel_work *work, void *ctx,
                struct dx_error *err)
{
    struct parallel p = { .count = count, .work = work, .ctx = ctx };
    pthread_t others[DX_PARALLEL_MAX];
    unsigned n = 0;

    threads = threads > DX_PARALLEL_MAX ? DX_PARALLEL_MAX : threads;
    (void)pthread_mutex_init(&p.lock, NULL);
    while (n + 1 < threads && n + 1 < count && dx_quiet_thread(&others[n], run_work, &p) == 0)
        n++;
    (void)run_work(&p);
    for (unsigned i = 0; i < n; i++)
        (void)pthread_join(others[i], NULL);
    (void)pthread_mutex_destroy(&p.lock);
    if (p.err.code != DX_OK && err != NULL)
        *err = p.err;
    return (int)p.err.code;
}
