/* SPDX-License-Identifier: Apache-2.0
 * guard_parts.h - what loader/guard/guard.c and loader/guard/guard_watch.c, the thread that watches its files,
 * share.
 *
 *   err = dx_guard_watch_lease(fd);                            0, or errno: no lease
 *   f = dx_guard_watch_file(g, path, fd, base, leased);        one more file of g
 *   dx_guard_watch_add(g);                                     the thread looks at it from now on
 *   ok = dx_guard_look(g);  dx_guard_leases_hold()             before what was read is believed
 *   dx_guard_watch_take(f, &out);  dx_guard_watch_remove(g);   one file less; all of it
 *
 * The thread waits for signals of leases, events of inotify and the wake of loader/guard/bus_fault.h, and
 * looks at all files at least once a second. Files come and go under the watch's lock.
 */
#ifndef DX_LOADER_GUARD_GUARD_PARTS_H
#define DX_LOADER_GUARD_GUARD_PARTS_H

#include "base/map.h"

#include <sys/stat.h>

#include <stdatomic.h>

#define DX_GUARD_FILES 16 /* of a version; each has a number in dx_guard.word */

enum dx_guard_cause { DX_GUARD_BUS = 1, DX_GUARD_WRITER, DX_GUARD_TIMES, DX_GUARD_EVENT };

struct dx_guard_file {
    char *path;
    int fd; /* -1: was unmapped */
    void *base;
    _Atomic bool leased;
    int watch; /* of inotify; -1: none */

    /* Without a lease, as they were before the first byte was believed: */
    _Atomic bool timed; /* the three are set */
    off_t size;
    struct timespec modified;
    nlink_t links;
    _Atomic int64_t changed_ns; /* the time that moves with names and rights too */
};

struct dx_guard {
    struct dx_guard *next;
    char *name;
    _Atomic unsigned word; /* 0: sound; else cause and file of the first that was noticed */
    _Atomic bool unleased; /* some file has no lease */
    bool reported;
    size_t count;
    struct dx_guard_file files[DX_GUARD_FILES];
};

static inline unsigned dx_guard_word(enum dx_guard_cause cause, size_t file)
{
    return (unsigned)cause | (unsigned)file << 8;
}

static inline enum dx_guard_cause dx_guard_word_cause(unsigned word)
{
    return (enum dx_guard_cause)(word & 0xff);
}

static inline size_t dx_guard_word_file(unsigned word)
{
    return word >> 8;
}

static inline int64_t dx_guard_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

bool dx_guard_watching(void); /* whether it was started */
void dx_guard_watch_add(struct dx_guard *g);
void dx_guard_watch_remove(struct dx_guard *g);

int dx_guard_watch_lease(int fd); /* 0, or errno */

/* One more file, with its inotify watch if it has no lease; path and fd are g's now. */
struct dx_guard_file *dx_guard_watch_file(struct dx_guard *g, char *path, int fd, void *base,
                                          bool leased);
/* One less; what it held is the caller's. */
void dx_guard_watch_take(struct dx_guard_file *f, struct dx_guard_file *out);

/* Whether no lease can have been taken from us unseen: the thread has looked lately. */
bool dx_guard_leases_hold(void);
bool dx_guard_look(struct dx_guard *g); /* at all its files; false: poisoned */

#endif
