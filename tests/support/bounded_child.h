/* SPDX-License-Identifier: Apache-2.0
 * bounded_child.h - a file is read in a process of its own, with limits on time and memory.
 *
 *   trouble = dx_bounded_child(read_it, path, &outcome, sizeof outcome, growth_max_kb);
 *
 * read_it(path, outcome) runs in the child, on an outcome of zeros that comes back by a pipe. NULL:
 * it has returned true within a minute; else what went wrong, valid until the next call.
 */
#ifndef DX_TESTS_BOUNDED_CHILD_H
#define DX_TESTS_BOUNDED_CHILD_H

#include <stdbool.h>
#include <stddef.h>

const char *dx_bounded_child(bool (*read_it)(const char *path, void *outcome), const char *path,
                             void *outcome, size_t size, long growth_max_kb);

#endif
