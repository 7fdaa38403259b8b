/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/mirror.h"

#include "base/quiet_thread.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define TELL_EVERY_S 2

struct batch {
    struct dx_mirror *m;
    struct dx_source *source;
    const struct dx_mirror_batch *plan;
    _Atomic size_t next;
    _Atomic bool stop;
    /* guards what is below, and is held during the caller's progress function */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned running;
    int rc;
    struct dx_error err; /* the first one */
    struct dx_mirror_progress progress;
    uint64_t bytes_before;
};

static void tell(struct batch *b, const char *object, uint64_t size, uint64_t ms)
{
    b->progress.object = object;
    b->progress.size = size;
    b->progress.ms = ms;
    b->progress.bytes = atomic_load(&dx_mirror_counts_of(b->m)->bytes) - b->bytes_before;
    if (b->plan->tell != NULL)
        b->plan->tell(b->plan->tell_ctx, &b->progress);
}

static int fetch_one(struct batch *b, size_t i, struct dx_error *err)
{
    const struct dx_mirror_want *want = &b->plan->wants[i];
    uint64_t begin = dx_clock_ms();
    char path[DX_MIRROR_PATH];
    bool reused = b->plan->have != NULL && b->plan->have(b->plan->ctx, i);
    int rc = DX_OK;

    if (!reused) {
        rc = dx_mirror_obtain(b->m, b->source, want, path, err);
        reused = rc == 0;
        if (rc >= 0)
            rc = b->plan->got == NULL ? DX_OK : b->plan->got(b->plan->ctx, i, path, err);
    }
    (void)pthread_mutex_lock(&b->lock);
    if (rc == DX_OK && reused) {
        b->progress.objects_reused++;
    } else if (rc == DX_OK) {
        b->progress.objects_fetched++;
        tell(b, want->object, want->size, dx_clock_ms() - begin);
    }
    (void)pthread_mutex_unlock(&b->lock);
    return rc;
}

static void run_worker(struct batch *b)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;
    size_t i;

    while (rc == DX_OK && !atomic_load(&b->stop) &&
           (i = atomic_fetch_add(&b->next, 1)) < b->plan->count)
        rc = fetch_one(b, i, &err);
    (void)pthread_mutex_lock(&b->lock);
    if (rc < 0 && b->rc == DX_OK) {
        b->rc = rc;
        b->err = err;
        atomic_store(&b->stop, true);
    }
    b->running--;
    (void)pthread_cond_signal(&b->ended);
    (void)pthread_mutex_unlock(&b->lock);
}

static void *helper(void *arg)
{
    run_worker(arg);
    return NULL;
}

/* Until all helpers are through; the caller's progress function is called now and then. */
static void wait_for_all(struct batch *b)
{
    (void)pthread_mutex_lock(&b->lock);
    while (b->running > 0) {
        struct timespec until;

        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += TELL_EVERY_S;
        if (pthread_cond_timedwait(&b->ended, &b->lock, &until) != 0 && b->running > 0)
            tell(b, NULL, 0, 0);
    }
    (void)pthread_mutex_unlock(&b->lock);
}

int dx_mirror_fetch_all(struct dx_mirror *m, struct dx_source *source,
                        const struct dx_mirror_batch *plan, struct dx_error *err)
{
    struct batch b = {
        .m = m,
        .source = source,
        .plan = plan,
        .progress = { .objects = plan->count },
        .bytes_before = atomic_load(&dx_mirror_counts_of(m)->bytes),
    };
    pthread_t threads[DX_MIRROR_THREADS];
    size_t want = plan->count < DX_MIRROR_THREADS ? plan->count : DX_MIRROR_THREADS;
    uint64_t begin = dx_clock_ms();
    size_t count = 0;

    (void)pthread_mutex_init(&b.lock, NULL);
    (void)pthread_cond_init(&b.ended, NULL);
    b.running = (unsigned)want;
    while (count < want && dx_quiet_thread(&threads[count], helper, &b) == 0)
        count++;
    (void)pthread_mutex_lock(&b.lock);
    b.running -= (unsigned)(want - count);
    if (count == 0)
        b.running = 1;
    (void)pthread_mutex_unlock(&b.lock);
    if (count == 0)
        run_worker(&b); /* no thread to be had: one after the other, here */
    wait_for_all(&b);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    if (b.rc == DX_OK)
        tell(&b, NULL, 0, dx_clock_ms() - begin);
    (void)pthread_cond_destroy(&b.ended);
    (void)pthread_mutex_destroy(&b.lock);
    if (b.rc < 0 && err != NULL)
        *err = b.err;
    return b.rc;
}

static void rate_text(uint64_t bytes, uint64_t ms, char text[80])
{
    double mb = (double)bytes / 1e6;

    if (ms == 0)
        (void)snprintf(text, 80, "%.1f MB", mb);
    else
        (void)snprintf(text, 80, "%.1f MB in %.1f s, %.1f MB/s", mb, (double)ms / 1e3,
                       mb * 1e3 / (double)ms);
}

void dx_mirror_progress_text(const struct dx_mirror_progress *p, char text[DX_MIRROR_LINE])
{
    char rate[80];

    if (p->object != NULL) {
        rate_text(p->size, p->ms, rate);
        (void)snprintf(text, DX_MIRROR_LINE, "fetched %.120s: %s", p->object, rate);
        return;
    }
    rate_text(p->bytes, p->ms, rate);
    (void)snprintf(text, DX_MIRROR_LINE, "%llu of %llu files fetched (%s), %llu were there",
                   (unsigned long long)p->objects_fetched, (unsigned long long)p->objects, rate,
                   (unsigned long long)p->objects_reused);
}
