/* SPDX-License-Identifier: Apache-2.0
 * lake_pool.h - pages of lake files encoded by several threads and finished in their order.
 *
 *   rc = dx_lake_pool_new(&pool, threads, &err);      the caller's is one of them; 1: no others
 *   rc = dx_lake_pool_page(pool, &page, &err);        an empty one, the caller's until it is put
 *   rc = dx_lake_pool_put(pool, &task, &err);         <0: not taken; the error may be an earlier task's
 *   rc = dx_lake_pool_step(pool, &err);               finishes the oldest task: 1, or 0 if there is none
 *   rc = dx_lake_pool_drain(pool, &err);              all
 *   dx_lake_pool_stop(pool);                          drops what is not finished
 *   dx_lake_pool_free(&pool);                         stops too
 *
 * A task has a page, which any thread encodes, or none. Its `finish` is called by the caller's
 * thread in the order of put, within put, page, step or drain; so what several threads did shows in
 * the time only. While the oldest page is not ready the caller's thread encodes others. Compression
 * contexts and the storage of pages go from file to file: a lake of thousands of small files would
 * otherwise allocate them again for each.
 *
 * Pages at a time: two a thread and one, each with its strings (page_bytes_max) twice at most. All
 * calls by one thread.
 */
#ifndef DX_BUILDER_LAKE_LAKE_POOL_H
#define DX_BUILDER_LAKE_LAKE_POOL_H

#include "base/error.h"

#define DX_LAKE_POOL_THREADS_MAX 16 /* one thread fills pages: more could not be fed */

struct dx_lake_page;
struct dx_lake_pool;

struct dx_lake_task {
    struct dx_lake_page *page; /* or NULL; the pool's again after finish */
    void *ctx;
    int (*finish)(void *ctx, struct dx_lake_page *page, struct dx_error *err);
    void (*drop)(void *ctx); /* or NULL; instead of finish, and after one that failed */
};

int dx_lake_pool_new(struct dx_lake_pool **pool, unsigned threads, struct dx_error *err);
void dx_lake_pool_free(struct dx_lake_pool **pool);

int dx_lake_pool_page(struct dx_lake_pool *pool, struct dx_lake_page **page, struct dx_error *err);
void dx_lake_pool_give_back(struct dx_lake_pool *pool, struct dx_lake_page **page);

int dx_lake_pool_put(struct dx_lake_pool *pool, const struct dx_lake_task *task,
                     struct dx_error *err);
int dx_lake_pool_step(struct dx_lake_pool *pool, struct dx_error *err);
int dx_lake_pool_drain(struct dx_lake_pool *pool, struct dx_error *err);
void dx_lake_pool_stop(struct dx_lake_pool *pool);

#endif
