/* SPDX-License-Identifier: Apache-2.0
 * Contexts that threads keep: the last ones given back come again, others are freed, and so are those of a thread that
 * ends (the sanitizers' word).
 */
#include "base/zstd_context.h"

#include <pthread.h>
#include <stddef.h>

#include "tests/support/damage.h"

static unsigned failures;

#define MANY (DX_ZSTD_CONTEXTS_KEPT + 2)

static void *use(void *unused)
{
    struct ZSTD_DCtx_s *c[MANY];

    for (size_t i = 0; i < MANY; i++) {
        c[i] = dx_zstd_context_take();
        EXPECT(c[i] != NULL, "context %zu", i);
        for (size_t j = 0; j < i; j++)
            EXPECT(c[i] != c[j], "%zu and %zu are one", i, j);
    }
    for (size_t i = 0; i < MANY; i++)
        dx_zstd_context_give(c[i]);
    dx_zstd_context_give(NULL);
    for (size_t i = DX_ZSTD_CONTEXTS_KEPT; i-- > 0;)
        EXPECT(dx_zstd_context_take() == c[i], "context %zu was not kept", i);
    for (size_t i = 0; i < DX_ZSTD_CONTEXTS_KEPT; i++)
        dx_zstd_context_give(c[i]);
    return unused;
}

int main(void)
{
    pthread_t thread;

    (void)use(NULL);
    EXPECT(pthread_create(&thread, NULL, use, NULL) == 0 && pthread_join(thread, NULL) == 0,
           "thread");
    return failures > 0;
}
