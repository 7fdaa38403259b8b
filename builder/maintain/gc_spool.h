/* SPDX-License-Identifier: Apache-2.0
 * gc_spool.h - what jobs of other engines left below spool/: files of tasks that failed, or whose driver died.
 *
 *   rc = dx_gc_spool_find(&old, &root, keep_s, &err);      objects that are to go
 *
 * A task writes below spool/JOB/ATTEMPT/ (python/src/domaindex/_spark_job.py), beginning with its
 * suffix list or registry. The age of an attempt is that of the last of these; one that has
 * neither is not ours, and stays. Nothing below spool/ counts before `adopt` has moved or copied it.
 */
#ifndef DX_BUILDER_MAINTAIN_GC_SPOOL_H
#define DX_BUILDER_MAINTAIN_GC_SPOOL_H

#include "builder/maintain/gc_objects.h"
#include "builder/maintain/gc_root.h"

int dx_gc_spool_find(struct dx_gc_objects *old, const struct dx_gc_root *g, uint64_t keep_s,
                     struct dx_error *err);

#endif
