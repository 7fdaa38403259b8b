/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/guard/guard.h"

#include "loader/guard/bus_fault.h"
#include "loader/guard/guard_parts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_TRIES 20 /* a writer who is just closing */
#define BUSY_WAIT_MS 10
#define TICK_MS 20 /* no kernel counts file times in longer steps */

int dx_guard_new(struct dx_guard **out, const char *name, struct dx_error *err)
{
    struct dx_guard *g;

    *out = NULL;
    if (!dx_guard_watching())
        return DX_OK;
    g = calloc(1, sizeof *g);
    if (g == NULL)
        return dx_no_memory(err, "%s", name);
    g->name = strdup(name);
    if (g->name == NULL) {
        free(g);
        return dx_no_memory(err, "%s", name);
    }
    dx_guard_watch_add(g);
    *out = g;
    return DX_OK;
}

static void sleep_ms(long ms)
{
    const struct timespec wait = { 0, ms * 1000000 };

    (void)nanosleep(&wait, NULL);
}

/* 1 leased, 0 no leases here. */
static int take_lease(int fd, const char *path, struct dx_error *err)
{
    for (int tries = 0; tries < BUSY_TRIES; tries++) {
        int rc = dx_guard_watch_lease(fd);

        if (rc != EAGAIN)
            return rc == 0;
        sleep_ms(BUSY_WAIT_MS);
    }
    return dx_fail(
        err, DX_E_BUSY,
        "%s: another process has it open for writing. Published files are never written again: "
        "find out who does (fuser -v), then try again",
        path);
}

/* A second write within one step of the file system's clock would leave the times as they are, so
 * they are taken when the last one is over. */
static int take_times(struct dx_guard_file *f, struct dx_error *err)
{
    struct timespec now;
    struct stat st;
    int64_t age_ns;

    for (;;) {
        if (fstat(f->fd, &st) < 0)
            return dx_fail_errno(err, errno, "%s: cannot stat", f->path);
        (void)clock_gettime(CLOCK_REALTIME, &now);
        age_ns = dx_guard_ns(&now) - dx_guard_ns(&st.st_ctim);
        if (age_ns < 0 || age_ns >= TICK_MS * 1000000L)
            break;
        sleep_ms(TICK_MS - (long)(age_ns / 1000000));
    }
    f->size = st.st_size;
    f->modified = st.st_mtim;
    f->links = st.st_nlink;
    atomic_store(&f->changed_ns, dx_guard_ns(&st.st_ctim));
    atomic_store(&f->timed, true);
    return DX_OK;
}

/* What is released: the range of SIGBUS, the lease with its descriptor. */
static void end_file(struct dx_guard_file *f)
{
    dx_bus_remove(f->base);
    if (f->fd >= 0)
        (void)close(f->fd);
    free(f->path);
}

/* fd is g's after DX_OK. The range stands before anybody reads from the map. */
static int watch_map(struct dx_guard *g, const struct dx_map *map, const char *path, int fd,
                     struct dx_error *err)
{
    char *copy = strdup(path);
    int leased;
    int rc = DX_OK;

    if (copy == NULL)
        return dx_no_memory(err, "%s", path);
    leased = take_lease(fd, path, err);
    if (leased < 0)
        rc = leased;
    else if (map->base != NULL)
        rc = dx_bus_add(map->base, map->length, &g->word, dx_guard_word(DX_GUARD_BUS, g->count),
                        err);
    if (rc < 0) {
        free(copy);
        return rc;
    }
    (void)dx_guard_watch_file(g, copy, fd, map->base, leased == 1);
    return DX_OK;
}

int dx_guard_map(struct dx_guard *g, struct dx_map *map, const char *path,
                 enum dx_map_advice advice, struct dx_error *err)
{
    return dx_guard_map_range(g, map, path, NULL, advice, err);
}

int dx_guard_map_range(struct dx_guard *g, struct dx_map *map, const char *path,
                       const struct dx_map_range *range, enum dx_map_advice advice,
                       struct dx_error *err)
{
    struct dx_guard_file *f;
    int fd;
    int rc;

    if (g == NULL)
        return dx_map_open_range(map, path, range, advice, err);
    assert(g->count < DX_GUARD_FILES);
    rc = dx_map_open_keep(map, path, range, advice, &fd, err);
    if (rc < 0)
        return rc;
    rc = watch_map(g, map, path, fd, err);
    if (rc < 0) {
        (void)close(fd);
        dx_map_close(map);
        return rc;
    }
    f = &g->files[g->count - 1];
    if (!atomic_load(&f->leased) && !atomic_load(&f->timed))
        rc = take_times(f, err);
    if (rc < 0)
        dx_guard_unmap(g, map);
    return rc;
}

void dx_guard_unmap(struct dx_guard *g, struct dx_map *map)
{
    for (size_t i = 0; g != NULL && map->base != NULL && i < g->count; i++)
        if (g->files[i].base == map->base) {
            struct dx_guard_file old;

            dx_guard_watch_take(&g->files[i], &old);
            end_file(&old);
        }
    dx_map_close(map);
}

void dx_guard_free(struct dx_guard **out)
{
    struct dx_guard *g = *out;

    if (g == NULL)
        return;
    dx_guard_watch_remove(g);
    for (size_t i = 0; i < g->count; i++)
        end_file(&g->files[i]);
    free(g->name);
    free(g);
    *out = NULL;
}

bool dx_guard_poisoned(const struct dx_guard *g)
{
    return g != NULL && atomic_load(&g->word) != 0;
}

bool dx_guard_intact(struct dx_guard *g)
{
    if (g == NULL)
        return true;
    /* What was computed has been read before the flag is. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&g->word) != 0)
        return false;
    if (!atomic_load(&g->unleased) && dx_guard_leases_hold())
        return true;
    return dx_guard_look(g);
}

int dx_guard_why(const struct dx_guard *g, struct dx_error *err)
{
    static const char *const causes[] = {
        [DX_GUARD_BUS] = "a page of it could not be read: it was cut short, or the disk fails",
        [DX_GUARD_WRITER] = "a process opened it for writing or truncated it",
        [DX_GUARD_TIMES] = "its size or times changed",
        [DX_GUARD_EVENT] = "a process wrote to it",
    };
    unsigned word = g == NULL ? 0 : atomic_load(&g->word);
    const char *path;

    if (word == 0)
        return DX_OK;
    path = g->files[dx_guard_word_file(word)].path;
    return dx_fail(err, DX_E_CONFLICT, "%s: %s while it was served", path == NULL ? g->name : path,
                   causes[dx_guard_word_cause(word)]);
}
