/* SPDX-License-Identifier: Apache-2.0
 * root_lock.h - one writer at a time in a root.
 *
 *   struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
 *   lock.wait_ms = 5000;                           how long to wait for another writer; else DX_ROOT_LOCK_MOMENT_MS
 *   rc = dx_root_lock_take(&lock, root, &err);     DX_E_BUSY: another process writes there
 *   dx_root_lock_drop(&lock);                      also done by the end of the process
 *
 * An exclusive flock on ROOT/.lock; the file stays. ROOT is made if it is not there.
 * Readers take no lock: published files never change. A lock is for one thread at a time. A change of rules or of the
 * access table has it for a moment, for which no other command is refused.
 */
#ifndef DX_BUILDER_ROOT_ROOT_LOCK_H
#define DX_BUILDER_ROOT_ROOT_LOCK_H

#include "base/error.h"

#include <stdint.h>

#define DX_ROOT_LOCK_MOMENT_MS 500

struct dx_root_lock {
    int fd;
    uint64_t wait_ms;
};

#define DX_ROOT_LOCK_INIT \
    {                     \
        -1, 0             \
    }

int dx_root_lock_take(struct dx_root_lock *lock, const char *root, struct dx_error *err);
void dx_root_lock_drop(struct dx_root_lock *lock);

#endif
