/* SPDX-License-Identifier: Apache-2.0 */
#include "base/zstd_context.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <zstd.h>

static _Thread_local struct kept {
    ZSTD_DCtx *contexts[DX_ZSTD_CONTEXTS_KEPT];
    size_t count;
    bool is_watched; /* the thread's end frees them */
} kept;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_end;
static bool has_key;

static void free_kept(void *of)
{
    struct kept *k = of;

    while (k->count > 0)
        (void)ZSTD_freeDCtx(k->contexts[--k->count]);
    k->is_watched = false;
}

static void make_key(void)
{
    has_key = pthread_key_create(&at_end, free_kept) == 0;
}

/* Whether the end of this thread will free what it keeps. */
static bool watch(void)
{
    if (!kept.is_watched) {
        (void)pthread_once(&once, make_key);
        kept.is_watched = has_key && pthread_setspecific(at_end, &kept) == 0;
    }
    return kept.is_watched;
}

struct ZSTD_DCtx_s *dx_zstd_context_take(void)
{
    return kept.count > 0 ? kept.contexts[--kept.count] : ZSTD_createDCtx();
}

void dx_zstd_context_give(struct ZSTD_DCtx_s *c)
{
    if (c != NULL && kept.count < DX_ZSTD_CONTEXTS_KEPT && watch())
        kept.contexts[kept.count++] = c;
    else
        (void)ZSTD_freeDCtx(c);
}
