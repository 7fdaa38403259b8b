/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/sort/spill_ahead.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/quiet_thread.h"
#include "builder/sort/spill_sort.h"

#define BATCHES 4
#define BATCH_BYTES ((size_t)256 << 10)

#define PREFETCH 8 /* records of the sorter's memory that are asked for before they are read */

struct place {
    struct dx_span key, value;
};

/* Records as u32 size of the key, u32 size of the value, key, value; or, of a sorter that has all in
 * memory, a struct place each. */
struct batch {
    struct dx_buf records;
    int rc; /* after the records: 1 more batches, 0 the end, <0 err */
    struct dx_error err;
};

struct dx_spill_ahead {
    struct dx_spill_sort *sort;
    bool in_memory;
    struct batch batch[BATCHES];
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t change;
    size_t filled; /* batches so far */
    size_t taken;  /* of them, done with */
    bool stop;

    /* of the reader */
    bool reading; /* in batch `taken` */
    struct dx_bytes rest;
};

static void put_record(struct dx_buf *to, struct dx_span key, struct dx_span value)
{
    dx_buf_u32(to, (uint32_t)key.size);
    dx_buf_u32(to, (uint32_t)value.size);
    dx_buf_append(to, key.data, key.size);
    dx_buf_append(to, value.data, value.size);
}

static void put_place(struct dx_buf *to, struct dx_span key, struct dx_span value)
{
    const struct place place = { key, value };

    dx_buf_append(to, &place, sizeof place);
}

static int fill_batch(struct dx_spill_ahead *a, struct batch *b)
{
    struct dx_span key;
    struct dx_span value;
    size_t whole;
    int rc = 1;

    dx_buf_clear(&b->records);
    while (rc == 1 && b->records.size < BATCH_BYTES) {
        rc = dx_spill_sort_next(a->sort, &key, &value, &b->err);
        if (rc != 1)
            break;
        whole = b->records.size;
        if (a->in_memory)
            put_place(&b->records, key, value);
        else
            put_record(&b->records, key, value);
        if (b->records.failed) {
            rc = dx_buf_fail(&b->records, &b->err, "sorted records");
            b->records.size =
                whole; /* without half a record: the caller reads up to here, then gets rc */
        }
    }
    return rc;
}

static void *run_reader(void *ctx)
{
    struct dx_spill_ahead *a = ctx;
    int rc = 1;

    (void)pthread_mutex_lock(&a->lock);
    while (rc == 1 && !a->stop) {
        struct batch *b = &a->batch[a->filled % BATCHES];

        if (a->filled - a->taken == BATCHES) {
            (void)pthread_cond_wait(&a->change, &a->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&a->lock);
        rc = b->rc = fill_batch(a, b);
        (void)pthread_mutex_lock(&a->lock);
        a->filled++;
        (void)pthread_cond_broadcast(&a->change);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return NULL;
}

int dx_spill_ahead_new(struct dx_spill_ahead **out, struct dx_spill_sort *sort,
                       struct dx_error *err)
{
    struct dx_spill_ahead *a = calloc(1, sizeof *a);

    *out = a;
    if (a == NULL)
        return dx_no_memory(err, "sort");
    a->sort = sort;
    a->in_memory = dx_spill_sort_in_memory(sort);
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_cond_init(&a->change, NULL);
    for (size_t i = 0; i < BATCHES; i++) {
        dx_buf_init(&a->batch[i].records, SIZE_MAX / 2);
        a->batch[i].err = (struct dx_error)DX_ERROR_INIT;
    }
    a->has_thread = dx_quiet_thread(&a->thread, run_reader, a) == 0;
    return DX_OK;
}

/* The batch at hand has been read; waits for the next one. */
static void next_batch(struct dx_spill_ahead *a)
{
    (void)pthread_mutex_lock(&a->lock);
    if (a->reading) {
        a->taken++;
        (void)pthread_cond_broadcast(&a->change);
    }
    while (a->taken == a->filled)
        (void)pthread_cond_wait(&a->change, &a->lock);
    a->reading = true;
    (void)pthread_mutex_unlock(&a->lock);
    a->rest = dx_bytes_of(dx_span_of(a->batch[a->taken % BATCHES].records.data,
                                     a->batch[a->taken % BATCHES].records.size));
}

static void take_place(struct dx_spill_ahead *a, struct dx_span *key, struct dx_span *value)
{
    const struct place *at = (const struct place *)(const void *)a->rest.at;

    if (dx_bytes_left(&a->rest) > PREFETCH * sizeof *at) {
        __builtin_prefetch(at[PREFETCH].key.data);
        __builtin_prefetch(at[PREFETCH].value.data + 32);
    }
    *key = at->key;
    *value = at->value;
    a->rest.at += sizeof *at;
}

static void take_record(struct dx_spill_ahead *a, struct dx_span *key, struct dx_span *value)
{
    uint32_t key_size = dx_bytes_u32(&a->rest);
    uint32_t value_size = dx_bytes_u32(&a->rest);

    *key = dx_bytes_take(&a->rest, key_size);
    *value = dx_bytes_take(&a->rest, value_size);
}

int dx_spill_ahead_next(struct dx_spill_ahead *a, struct dx_span *key, struct dx_span *value,
                        struct dx_error *err)
{
    if (!a->has_thread)
        return dx_spill_sort_next(a->sort, key, value, err);
    while (dx_bytes_left(&a->rest) == 0) {
        const struct batch *b = &a->batch[a->taken % BATCHES];

        if (a->reading && b->rc != 1) {
            if (b->rc < 0 && err != NULL)
                *err = b->err;
            return b->rc;
        }
        next_batch(a);
    }
    if (a->in_memory)
        take_place(a, key, value);
    else
        take_record(a, key, value);
    return 1;
}

void dx_spill_ahead_free(struct dx_spill_ahead **handle)
{
    struct dx_spill_ahead *a = *handle;

    if (a == NULL)
        return;
    (void)pthread_mutex_lock(&a->lock);
    a->stop = true;
    (void)pthread_cond_broadcast(&a->change);
    (void)pthread_mutex_unlock(&a->lock);
    if (a->has_thread)
        (void)pthread_join(a->thread, NULL);
    for (size_t i = 0; i < BATCHES; i++)
        dx_buf_release(&a->batch[i].records);
    (void)pthread_cond_destroy(&a->change);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
    *handle = NULL;
}
