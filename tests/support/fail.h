/* SPDX-License-Identifier: Apache-2.0
 * fail.h - FAIL("%s: %d", what, n): a line with function and place, and one more in `failures`;
 * CHECK(ok, "%s: %d", what, n): the same unless ok.
 *
 * damage.h has EXPECT, which also prints the condition. The counter `failures` is the test's own.
 */
#ifndef DX_TESTS_FAIL_H
#define DX_TESTS_FAIL_H

#include <stdio.h>

#define FAIL(...)                                       \
    do {                                                \
        failures++;                                     \
        fprintf(stderr, "%s:%d: ", __func__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fputc('\n', stderr);                            \
    } while (0)

#define CHECK(ok, ...)         \
    do {                       \
        if (!(ok))             \
            FAIL(__VA_ARGS__); \
    } while (0)

#endif
