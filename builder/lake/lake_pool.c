/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/quiet_thread.h"
#include "builder/lake/lake_page.h"

enum { PAGES_MAX = 2 * DX_LAKE_POOL_THREADS_MAX + 1, TASKS_MAX = 4 * PAGES_MAX };

struct entry {
    struct dx_lake_task task;
    bool ready; /* its page is encoded, or it has none */
    struct dx_error err;
};

struct encoder {
    pthread_t id;
    struct dx_lake_pool *pool;
    struct dx_pq_page_writer writer;
};

/* Entries [head, tail) are not finished, those from `next` on wait for a thread. head and the
 * unused pages are the caller's alone. */
struct dx_lake_pool {
    pthread_mutex_t lock; /* of next, tail, stop, and ready of each entry */
    pthread_cond_t changed;
    struct entry entry[TASKS_MAX];
    uint64_t head;
    uint64_t next;
    uint64_t tail;
    bool stop;
    struct encoder encoder[DX_LAKE_POOL_THREADS_MAX]; /* 0: the caller's thread */
    unsigned threads;                                 /* started, with the caller's */
    struct dx_lake_page *idle[PAGES_MAX];
    size_t idle_count;
    size_t pages; /* made */
    size_t pages_max;
};

static struct entry *entry_at(struct dx_lake_pool *pool, uint64_t i)
{
    return &pool->entry[i % TASKS_MAX];
}

/* Under the lock: the next entry that needs a thread, or NULL. */
static struct entry *take(struct dx_lake_pool *pool)
{
    while (pool->next < pool->tail && entry_at(pool, pool->next)->ready)
        pool->next++;
    return pool->next < pool->tail ? entry_at(pool, pool->next++) : NULL;
}

/* Under the lock, which it lets go meanwhile. */
static void encode(struct encoder *e, struct entry *entry)
{
    struct dx_lake_pool *pool = e->pool;

    (void)pthread_mutex_unlock(&pool->lock);
    (void)dx_lake_page_encode(entry->task.page, &e->writer, &entry->err);
    (void)pthread_mutex_lock(&pool->lock);
    entry->ready = true;
    (void)pthread_cond_broadcast(&pool->changed);
}

static void *help(void *arg)
{
    struct encoder *e = arg;
    struct dx_lake_pool *pool = e->pool;

    (void)pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        struct entry *entry = take(pool);

        if (entry != NULL)
            encode(e, entry);
        else
            (void)pthread_cond_wait(&pool->changed, &pool->lock);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int dx_lake_pool_new(struct dx_lake_pool **out, unsigned threads, struct dx_error *err)
{
    struct dx_lake_pool *pool = calloc(1, sizeof *pool);

    *out = pool;
    if (pool == NULL)
        return dx_no_memory(err, "lake file");
    if (threads > DX_LAKE_POOL_THREADS_MAX)
        threads = DX_LAKE_POOL_THREADS_MAX;
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->changed, NULL);
    pool->threads = 1;
    for (unsigned i = 0; i < DX_LAKE_POOL_THREADS_MAX; i++) {
        pool->encoder[i].pool = pool;
        pool->encoder[i].writer = (struct dx_pq_page_writer)DX_PQ_PAGE_WRITER_INIT(0);
    }
    /* Fewer than asked for is slower and no error. */
    while (pool->threads < threads && dx_quiet_thread(&pool->encoder[pool->threads].id, help,
                                                      &pool->encoder[pool->threads]) == 0)
        pool->threads++;
    pool->pages_max = pool->threads == 1 ? 1 : 2 * pool->threads + 1;
    return DX_OK;
}

void dx_lake_pool_free(struct dx_lake_pool **handle)
{
    struct dx_lake_pool *pool = *handle;

    if (pool == NULL)
        return;
    dx_lake_pool_stop(pool);
    (void)pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i < pool->threads; i++)
        (void)pthread_join(pool->encoder[i].id, NULL);
    for (unsigned i = 0; i < DX_LAKE_POOL_THREADS_MAX; i++)
        dx_pq_page_writer_release(&pool->encoder[i].writer);
    for (size_t i = 0; i < pool->idle_count; i++)
        dx_lake_page_free(&pool->idle[i]);
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
    *handle = NULL;
}

void dx_lake_pool_give_back(struct dx_lake_pool *pool, struct dx_lake_page **page)
{
    if (*page == NULL)
        return;
    assert(pool->idle_count < PAGES_MAX);
    pool->idle[pool->idle_count++] = *page;
    *page = NULL;
}

int dx_lake_pool_page(struct dx_lake_pool *pool, struct dx_lake_page **page, struct dx_error *err)
{
    int rc = DX_OK;

    *page = NULL;
    while (rc >= 0 && pool->idle_count == 0 && pool->pages == pool->pages_max)
        rc = dx_lake_pool_step(pool, err);
    if (rc < 0)
        return rc;
    if (pool->idle_count > 0) {
        *page = pool->idle[--pool->idle_count];
        return DX_OK;
    }
    *page = dx_lake_page_new();
    if (*page == NULL)
        return dx_no_memory(err, "lake file: page");
    pool->pages++;
    return DX_OK;
}

int dx_lake_pool_put(struct dx_lake_pool *pool, const struct dx_lake_task *task,
                     struct dx_error *err)
{
    int rc = DX_OK;

    while (rc >= 0 && pool->tail - pool->head == TASKS_MAX)
        rc = dx_lake_pool_step(pool, err);
    if (rc < 0)
        return rc;
    (void)pthread_mutex_lock(&pool->lock);
    *entry_at(pool, pool->tail++) = (struct entry){ .task = *task, .ready = task->page == NULL };
    if (task->page != NULL)
        (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->lock);
    return DX_OK;
}

/* Waits for the oldest entry, and works on others meanwhile. */
static struct entry *await_oldest(struct dx_lake_pool *pool)
{
    struct entry *first = entry_at(pool, pool->head);

    assert(pool->head < pool->tail);
    (void)pthread_mutex_lock(&pool->lock);
    while (!first->ready) {
        struct entry *entry = take(pool);

        if (entry != NULL)
            encode(&pool->encoder[0], entry);
        else
            (void)pthread_cond_wait(&pool->changed, &pool->lock);
    }
    if (pool->next == pool->head)
        pool->next++;
    (void)pthread_mutex_unlock(&pool->lock);
    return first;
}

int dx_lake_pool_step(struct dx_lake_pool *pool, struct dx_error *err)
{
    struct entry *entry;
    int rc;

    if (pool->head == pool->tail)
        return 0;
    entry = await_oldest(pool);
    pool->head++;
    rc = (int)entry->err.code;
    if (rc < 0 && err != NULL)
        *err = entry->err;
    if (rc == DX_OK)
        rc = entry->task.finish(entry->task.ctx, entry->task.page, err);
    dx_lake_pool_give_back(pool, &entry->task.page);
    if (rc < 0 && entry->task.drop != NULL)
        entry->task.drop(entry->task.ctx);
    return rc < 0 ? rc : 1;
}

int dx_lake_pool_drain(struct dx_lake_pool *pool, struct dx_error *err)
{
    int rc;

    do {
        rc = dx_lake_pool_step(pool, err);
    } while (rc == 1);
    return rc;
}

void dx_lake_pool_stop(struct dx_lake_pool *pool)
{
    /* What waits for a thread is done first: the threads need not know of it, and it is little. */
    while (pool->head < pool->tail) {
        struct entry *entry = await_oldest(pool);

        pool->head++;
        dx_lake_pool_give_back(pool, &entry->task.page);
        if (entry->task.drop != NULL)
            entry->task.drop(entry->task.ctx);
    }
}
