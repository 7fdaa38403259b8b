/* SPDX-License-Identifier: Apache-2.0
 * map.h - a whole file mapped read-only.
 *
 *   struct dx_map m = DX_MAP_INIT;
 *   rc = dx_map_open(&m, path, DX_MAP_RANDOM, &err);
 *   ... m.bytes ...                   borrowed: valid until dx_map_close
 *   dx_map_close(&m);
 *   rc = dx_map_open_keep(&m, path, DX_MAP_RANDOM, &fd, &err);    the same; fd is the caller's
 *
 * An empty file maps to a span of size 0. Closing is safe on a neutral or
 * half-made map. After open the struct is read-only; threads may share it.
 * A file that is cut short while mapped raises SIGBUS on touch, one that is
 * overwritten changes under its readers: publish never writes in place, and
 * removes files only by unlink. Who serves for long maps through
 * loader/guard.h, which notices both.
 */
#ifndef DX_BASE_MAP_H
#define DX_BASE_MAP_H

#include "base/bytes.h"
#include "base/error.h"

enum dx_map_advice {
    DX_MAP_SEQUENTIAL, /* read once from front to back */
    DX_MAP_RANDOM,     /* point lookups: no read-ahead */
    DX_MAP_WILLNEED    /* small and hot: read ahead now */
};

struct dx_map {
    struct dx_span bytes;
    void *base; /* NULL when nothing is mapped */
};

#define DX_MAP_INIT       \
    {                     \
        { NULL, 0 }, NULL \
    }

int dx_map_open(struct dx_map *m, const char *path, enum dx_map_advice advice,
                struct dx_error *err);

/* *fd stays open, for who watches the file; -1 after an error. */
int dx_map_open_keep(struct dx_map *m, const char *path, enum dx_map_advice advice, int *fd,
                     struct dx_error *err);
void dx_map_close(struct dx_map *m);

#endif
