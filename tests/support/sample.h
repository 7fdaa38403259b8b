/* SPDX-License-Identifier: Apache-2.0
 * sample.h - how many rounds a test does: all, or a part.
 *
 *   DX_ROUNDS(50000, 10000)    a part under ThreadSanitizer, which takes ten times as long for each
 *   dx_sample(50000, 10000)    all with DX_WHOLE=1 (scripts/test.sh long), else a part
 */
#ifndef DX_TESTS_SUPPORT_SAMPLE_H
#define DX_TESTS_SUPPORT_SAMPLE_H

#include <stddef.h>
#include <stdlib.h>

#ifdef __SANITIZE_THREAD__
#define DX_ROUNDS(all, some) (some)
#else
#define DX_ROUNDS(all, some) (all)
#endif

static inline size_t dx_sample(size_t all, size_t some)
{
    return getenv("DX_WHOLE") != NULL ? all : some;
}

#endif
