/* SPDX-License-Identifier: Apache-2.0
 * fail_alloc.h - what a function does when memory runs out: each of its allocations fails in turn.
 *
 *   static int read_it(void *ctx, struct dx_error *err);          releases all that it makes
 *   failures += fail_alloc_each("manifest", 0, read_it, &text);   0: every one of them
 *
 * `run` runs once without a failure, so that what is made once and kept is there, and then again
 * and again: with its first allocation failing, its second, and so on until one run meets no
 * failure. A run that met one must end with DX_E_NOMEM; where memory is a courtesy (a cache, a
 * filter) it may succeed instead, which the caller allows with FAIL_ALLOC_GOES_ON. No run may leave
 * memory behind. `at_most` runs are made, spread over all allocations, if there are more (all of them
 * with DX_WHOLE in the environment). Returns how many runs were wrong; each is printed with the place
 * of the allocation.
 *
 * Only allocations by the calling thread and by our own code count: malloc and its kin are replaced
 * by the linker (--wrap, tests/CMakeLists.txt), not in shared libraries. It works under sanitizers.
 */
#ifndef DX_TESTS_RUNNER_FAIL_ALLOC_H
#define DX_TESTS_RUNNER_FAIL_ALLOC_H

#include "base/error.h"

#include <stddef.h>

typedef int fail_alloc_run(void *ctx, struct dx_error *err);

#define FAIL_ALLOC_GOES_ON 0x10000u /* in at_most: a run may succeed without the memory */

size_t fail_alloc_each(const char *name, unsigned at_most, fail_alloc_run *run, void *ctx);

#endif
