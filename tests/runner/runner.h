/* SPDX-License-Identifier: Apache-2.0
 * runner.h - the table of a room's tests, which the build writes (tests/CMakeLists.txt) and
 * runner.c reads.
 */
#ifndef DX_TESTS_RUNNER_RUNNER_H
#define DX_TESTS_RUNNER_RUNNER_H

#include <stddef.h>
#include <stdint.h>

struct test {
    const char *name;
    int (*plain)(void); /* one of the two */
    int (*with_arguments)(int argc, char **argv);
};

struct fuzz_target {
    const char *name;
    int (*input)(const uint8_t *data, size_t size);
};

/* Each ends with a row without a name. */
extern const struct test tests[];
extern const struct fuzz_target fuzz_targets[];

#endif
