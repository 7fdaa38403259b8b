/* SPDX-License-Identifier: Apache-2.0
 * guard.h - notices that a file was changed while it is mapped, before an answer from it leaves.
 *
 *   rc = dx_guard_start(0, &err);                 once a process, before its other threads
 *   dx_guard_tell(call, ctx);                     call(ctx, &why) for each guard that is poisoned
 *
 *   rc = dx_guard_new(&g, "version 7", &err);     of one version; NULL and DX_OK if not started
 *   rc = dx_guard_map(g, &map, path, DX_MAP_RANDOM, &err);     as dx_map_open, and watched
 *   rc = dx_guard_map_range(g, &map, path, &range, DX_MAP_RANDOM, &err);   as dx_map_open_range
 *   ... compute from map.bytes ...
 *   if (!dx_guard_intact(g))                      what was computed may be wrong: throw it away
 *       rc = dx_guard_why(g, &err);               DX_E_CONFLICT, and which file
 *   dx_guard_unmap(g, &map);                      one file before the others
 *   dx_guard_free(&g);                            before the maps are closed
 *
 *   dx_guard_stop();                              after the last guard was freed
 *
 * Published files are never written again. If one is all the same, the guard is poisoned, for good:
 * blocks that were checked once are not checked again, so nothing that was computed since can be
 * believed. Removing or renaming a file, or adding names to it, changes no byte and does no harm.
 * Files of a poisoned guard are reopened under a new guard.
 *
 * How it is noticed, for each file the first of these that the system gives:
 *
 *   lease    A read lease (fcntl F_SETLEASE), where the file belongs to the user of this process (or
 *            it has CAP_LEASE) and the file system has leases. The kernel holds back a process that opens the file for writing or truncates it until the guard has poisoned and let go, some
 *            milliseconds. No changed byte can be read before the guard is poisoned. The file must not be open for writing when it is mapped: dx_guard_map refuses with DX_E_BUSY.
 *   times    Without one, dx_guard_intact asks for size and times of the files. A write sets them
 *            before bytes change, and so does the first store into a shared mapping (not on tmpfs);
 *            inotify distinguishes a writer that sets them back from a rename. An answer costs
 *            5 µs more (six fstat, in a virtual machine); with leases 20 ns.
 *
 * What is left without a lease: a process that had the file mapped for writing, and had written to it, before
 * we mapped it; one that writes through a mapping and sets the times back before closing the file, or on
 * tmpfs until closing it; network file systems, where another machine's writes show after a while
 * (NFS: up to a minute). With and without: writes past the file system (to the device, below an
 * overlay). Blocks that had not been touched are safe even then: their checksums are checked at the
 * first touch. So: let the files belong to the user who serves them, or run the server with
 * CAP_LEASE.
 *
 * Beside both: a page that cannot be read (truncated before it was held back, a bad disk) is zeros,
 * poisons, and does not kill the process (loader/guard/bus_fault.h). A process that was stopped for
 * longer than the kernel waits for a lease (/proc/sys/fs/lease-break-time, 45 s) looks at its
 * leases before it answers.
 *
 * map, unmap and free are for the version's opener and closer; intact, poisoned and why for any
 * thread meanwhile. `call` runs in the guard's thread, which goes on when it returns, and must not
 * open or free guards. Locks are inside, and none is held while `call` runs but that of tell.
 */
#ifndef DX_LOADER_GUARD_GUARD_H
#define DX_LOADER_GUARD_GUARD_H

#include "base/map.h"

#include <stdint.h>

#define DX_GUARD_NO_LEASES 1u /* for tests: as where the kernel gives none */

struct dx_guard;

int dx_guard_start(unsigned flags, struct dx_error *err);
/* call NULL: none any more; no call is under way after the return. */
void dx_guard_tell(void (*call)(void *ctx, const struct dx_error *why), void *ctx);
void dx_guard_stop(void);

int dx_guard_new(struct dx_guard **g, const char *name, struct dx_error *err);
int dx_guard_map(struct dx_guard *g, struct dx_map *map, const char *path,
                 enum dx_map_advice advice, struct dx_error *err); /* g NULL: dx_map_open */
int dx_guard_map_range(struct dx_guard *g, struct dx_map *map, const char *path,
                       const struct dx_map_range *range, enum dx_map_advice advice,
                       struct dx_error *err);
void dx_guard_unmap(struct dx_guard *g, struct dx_map *map);
void dx_guard_free(struct dx_guard **g);

bool dx_guard_poisoned(const struct dx_guard *g); /* a look at a flag */
bool dx_guard_intact(struct dx_guard *g); /* that what was read before the call was not changed */
int dx_guard_why(const struct dx_guard *g, struct dx_error *err); /* DX_OK: sound */

struct dx_guard_counts {
    uint64_t bus_signals;
    uint64_t poisoned_by_bus, poisoned_by_writer, poisoned_by_times; /* versions so far */
    uint64_t leased, timed;                                          /* files now */
};

void dx_guard_counts_read(struct dx_guard_counts *counts);

#endif
