/* SPDX-License-Identifier: Apache-2.0
 * mirror.h - local copies of objects that never change, by their content.
 *
 *   rc = dx_mirror_open(&m, dir, &err);                     NULL: the default, see below
 *   struct dx_mirror_want want = { "index/v/domains.mphf", size, hash, etag };
 *   rc = dx_mirror_bring(m, source, &want, path, &err);     path: a file with those bytes
 *   rc = dx_mirror_sweep(m, max_age_s, &err);               removes what nobody used for so long
 *   dx_mirror_close(&m);
 *
 * DIR/objects/HH/<hash>-<size> is a whole, verified object; DIR/partial/ holds what is on its way,
 * one lock a file, so that several processes may share DIR: what one is bringing, others wait for.
 * A broken-off download goes on where it ended. A file is given its final name only after its size
 * and XXH3-128 were found right; with wrong ones it is brought once more from the beginning, then
 * it is an error. The same bytes under another version's name are there already.
 *
 * Default directory: $CACHE_DIRECTORY (systemd), else $XDG_CACHE_HOME/domaindex, else
 * ~/.cache/domaindex. Files may be removed at any time, also while they are mapped.
 */
#ifndef DX_LOADER_MIRROR_H
#define DX_LOADER_MIRROR_H

#include "base/hash.h"
#include "fetch/source.h"

#include <stdatomic.h>

struct dx_mirror;

struct dx_mirror_want {
    const char *object;
    uint64_t size;
    struct dx_hash128 hash;
    const char *etag; /* NULL: not known */
};

struct dx_mirror_counts {
    _Atomic uint64_t reused; /* objects that were there */
    _Atomic uint64_t brought;
    _Atomic uint64_t bytes; /* that came over the network */
};

int dx_mirror_open(struct dx_mirror **m, const char *dir, struct dx_error *err);
int dx_mirror_bring(struct dx_mirror *m, struct dx_source *source,
                    const struct dx_mirror_want *want, char path[4096], struct dx_error *err);
int dx_mirror_sweep(struct dx_mirror *m, uint64_t max_age_s, struct dx_error *err);
const struct dx_mirror_counts *dx_mirror_counts_of(const struct dx_mirror *m);
void dx_mirror_close(struct dx_mirror **m);

#endif
