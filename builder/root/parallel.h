/* SPDX-License-Identifier: Apache-2.0
 * parallel.h - the same work on many things, some at a time.
 *
 *   rc = dx_parallel(8, count, put_one, ctx, &err);      put_one(ctx, i, err) for each i < count
 *
 * Things are begun in order; after an error none is begun, those at work are waited for, and the
 * error of the smallest i is returned. The caller's thread works too, and is the only
 * one that gets signals. For work that waits for a network or a disk: threads are made and ended
 * in each call.
 */
#ifndef DX_BUILDER_ROOT_PARALLEL_H
#define DX_BUILDER_ROOT_PARALLEL_H

#include <stddef.h>

#include "base/error.h"

#define DX_PARALLEL_MAX 64

typedef int dx_parallel_work(void *ctx, size_t i, struct dx_error *err);

int dx_parallel(unsigned threads, size_t count, dx_parallel_work *work, void *ctx,
                struct dx_error *err);

#endif
