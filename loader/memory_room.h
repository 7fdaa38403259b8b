/* SPDX-License-Identifier: Apache-2.0
 * memory_room.h - how much memory this process may still take without swapping, and without being killed.
 *
 *   bytes = dx_memory_room("", &capped);         UINT64_MAX: the system does not say
 *
 * What the machine has to give (MemAvailable), or what is left below the limit of one of the control groups that the process is in,
 * if that is less: memory.max of version 2, memory.limit_in_bytes of version 1, of its own group and of those above it. Pages of
 * files count as free, as in MemAvailable: the kernel takes them back. In a container the groups above are not to be seen, and the
 * root that is seen is the container's own. capped: a limit was less than what the machine has; may be NULL. Any thread.
 *
 * root: before /proc and /sys; for tests.
 */
#ifndef DX_LOADER_MEMORY_ROOM_H
#define DX_LOADER_MEMORY_ROOM_H

#include <stdbool.h>
#include <stdint.h>

uint64_t dx_memory_room(const char *root, bool *capped);

#endif
