/* SPDX-License-Identifier: Apache-2.0
 * map.h - a file, or a range of one, mapped read-only.
 *
 *   struct dx_map m = DX_MAP_INIT;
 *   rc = dx_map_open(&m, path, DX_MAP_RANDOM, &err);
 *   ... m.bytes ...                   borrowed: valid until dx_map_close
 *   dx_map_close(&m);
 *   struct dx_map_range r = { at, size, total };
 *   rc = dx_map_open_range(&m, path, &r, DX_MAP_RANDOM, &err);    these bytes of a file of `total`
 *   rc = dx_map_open_keep(&m, path, NULL, DX_MAP_RANDOM, &fd, &err);    fd is the caller's
 *
 * An empty file maps to a span of size 0. Closing is safe on a neutral or
 * half-made map. After open the struct is read-only; threads may share it.
 * A file that is cut short while mapped raises SIGBUS on touch, one that is
 * overwritten changes under its readers: publish never writes in place, and
 * removes files only by unlink. A process that serves for long maps through
 * loader/guard/guard.h, which notices both.
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

/* Of a file, behind its name: what such a SIGBUS means. */
#define DX_MAP_LOST_PAGE \
    "a page of this file cannot be read: it was cut short while it was read, or the disk fails"

struct dx_map {
    struct dx_span bytes;
    void *base;    /* NULL when nothing is mapped; a page boundary at or before the bytes */
    size_t length; /* from base to the end of the bytes */
};

#define DX_MAP_INIT          \
    {                        \
        { NULL, 0 }, NULL, 0 \
    }

struct dx_map_range {
    uint64_t at, size;
    uint64_t total; /* what the file must have: less is DX_E_TRUNCATED, more DX_E_CORRUPT */
};

int dx_map_open(struct dx_map *m, const char *path, enum dx_map_advice advice,
                struct dx_error *err);

int dx_map_open_range(struct dx_map *m, const char *path, const struct dx_map_range *range,
                      enum dx_map_advice advice, struct dx_error *err);

/* range: NULL for the whole file. *fd stays open, for a caller that watches the file; -1 after an error. */
int dx_map_open_keep(struct dx_map *m, const char *path, const struct dx_map_range *range,
                     enum dx_map_advice advice, int *fd, struct dx_error *err);
void dx_map_close(struct dx_map *m);

/* From the page boundary at or before the bytes of a map, for madvise. */
struct dx_span dx_map_pages(struct dx_span bytes);

/* Reads pages of a map (dx_map_pages, or some of them) into memory: 0, or an errno; what the system cannot do is passed over. What
 * the page cache does not have comes in pages of 2 MiB where kernel and file system have those for files. Lookups all over a map
 * of such pages wait a third less (docs/notes/index-files.md); they are the page cache's, as others are. Blocking. */
int dx_map_fill(struct dx_span pages);

#endif
