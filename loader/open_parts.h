/* SPDX-License-Identifier: Apache-2.0
 * open_parts.h - the parts that a process has open, one copy of each for all versions that have it.
 *
 *   struct dx_open_parts t;  dx_open_parts_init(&t);
 *   part = dx_open_parts_hold(&t, root, entry, &options, verify);      NULL: not open, or of no use here
 *   dx_open_parts_add(&t, part);                  a part that was just opened; the caller is its holder
 *   dx_open_parts_put(&part);                     the last holder's closes it; of a part that was not added too
 *   n = dx_open_parts_fresh_bytes(&t, root, entry);       bytes to map for it: 0 if it is open
 *   n = dx_open_parts_bytes(&t);                  mapped, of all
 *   dx_open_parts_release(&t);                    none is held any more
 *
 * What is shared: mappings, the bits that say which blocks were checked, the guard, copies of
 * postings, ETags that were learned. A part is the same if root, version, build id, and size and
 * hash of all its files are. One whose files were changed, or whose objects were lost, is not given
 * to others; nor one that was opened without the check of all bytes to versions that want that, or without
 * copies of its postings.
 *
 * Threads: any. A part has its own lock for nothing but its holders: it is read-only.
 */
#ifndef DX_LOADER_OPEN_PARTS_H
#define DX_LOADER_OPEN_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dx_manifest_version;
struct dx_part;
struct dx_version_options;

struct dx_open_parts {
    pthread_mutex_t lock;
    struct dx_part *first;
    _Atomic uint64_t mapped_bytes;
};

void dx_open_parts_init(struct dx_open_parts *t);
void dx_open_parts_release(struct dx_open_parts *t);

struct dx_part *dx_open_parts_hold(struct dx_open_parts *t, const char *root,
                                   const struct dx_manifest_version *entry,
                                   const struct dx_version_options *options, bool verify);
void dx_open_parts_add(struct dx_open_parts *t, struct dx_part *part);
void dx_open_parts_put(struct dx_part **part);

uint64_t dx_open_parts_fresh_bytes(struct dx_open_parts *t, const char *root,
                                   const struct dx_manifest_version *entry);
uint64_t dx_open_parts_bytes(const struct dx_open_parts *t);

#endif
