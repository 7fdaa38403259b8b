/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/followed/access.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "format/root/access_table.h"
#include "loader/followed/followed.h"

struct dx_access {
    char *root;
    const char *name;            /* of the table, for messages */
    struct dx_followed followed; /* of the poller alone */
    bool required;
    const _Atomic uint64_t *least;       /* generation that the manifest names; may be NULL */
    _Atomic uint64_t turn;               /* odd: the table is being exchanged */
    _Atomic uint64_t good_ms;            /* the last look that was well */
    _Atomic bool failed;                 /* the last one */
    _Atomic bool there;                  /* there was one once, good or not, or should be */
    pthread_mutex_t lock;                /* of what follows */
    const struct dx_access_table *table; /* the last good one; NULL: none was seen */
    struct dx_error failure;             /* of the last look; its text is empty if it was well */
    int64_t read_us;
};

/* ---- reading ---- */

/* Whether the table may follow the one that holds; only who polls changes that, so it is read as it
 * is. */
static int check_table(const struct dx_access *a, const struct dx_access_table *t,
                       struct dx_error *err)
{
    uint64_t generation = dx_access_table_generation(t);
    uint64_t last = a->table == NULL ? 0 : dx_access_table_generation(a->table);

    if (generation < last)
        return dx_fail(err, DX_E_INVALID,
                       "%s: generation %" PRIu64 ", but %" PRIu64 " was in force: it is an older "
                       "one. Any 'domaindex access' command that changes it makes it the newest",
                       a->name, generation, last);
    if (generation == last && !dx_access_table_same(t, a->table))
        return dx_fail(err, DX_E_INVALID,
                       "%s: generation %" PRIu64 " is in force with another text: it was changed "
                       "by hand. Restore it, or give it a higher generation",
                       a->name, generation);
    if (a->required && dx_access_table_open(t))
        return dx_fail(err, DX_E_INVALID,
                       "%s: is not in force, and this server requires a table: 'domaindex access "
                       "init' puts it in force",
                       a->name);
    return DX_OK;
}

static int none(const struct dx_access *a, uint64_t least, struct dx_error *err)
{
    if (a->table == NULL && least > 0)
        return dx_access_check_least(0, least, a->root, err);
    if (a->table != NULL)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "%s: had generation %" PRIu64 " and is gone. Restore it, or make a new one: "
                       "'domaindex access init'",
                       a->name, dx_access_table_generation(a->table));
    if (a->required)
        return dx_fail(
            err, DX_E_NOT_FOUND,
            "%s: not found, and this server requires one: 'domaindex access init' creates it",
            a->name);
    return 0;
}

static int check_least(const struct dx_access *a, const struct dx_access_table *t, uint64_t least,
                       struct dx_error *err)
{
    return dx_access_check_least(t == NULL ? 0 : dx_access_table_generation(t), least, a->root,
                                 err);
}

/* The table if it is not the one that was taken last: 1, else 0. */
static int read_table(struct dx_access *a, char etag[DX_SOURCE_ETAG],
                      const struct dx_access_table **t, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_ACCESS_MAX);
    struct dx_error why = DX_ERROR_INIT;
    /* Before the table, which is written before the manifest. */
    uint64_t least = a->least == NULL ? 0 : atomic_load(a->least);
    int rc;

    *t = NULL;
    if (least > 0)
        atomic_store(&a->there, true);
    rc = dx_followed_read(&a->followed, &text, etag, &why);
    if (rc == DX_E_NOT_FOUND)
        rc = none(a, least, err);
    else if (rc < 0)
        *err = why;
    if (rc == 1) {
        atomic_store(&a->there, true);
        rc = dx_access_table_parse(t, dx_span_of(text.data, text.size), a->name, a->table, err);
        rc = rc == DX_OK ? check_table(a, *t, err) : rc;
        rc = rc == DX_OK ? 1 : rc;
    }
    if (rc >= 0 && check_least(a, rc == 1 ? *t : a->table, least, err) < 0)
        rc = DX_E_CORRUPT;
    dx_buf_release(&text);
    if (rc < 0)
        dx_access_table_drop(t);
    return rc;
}

/* ---- the table that holds ---- */

static int64_t now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void exchange(struct dx_access *a, const struct dx_access_table *t)
{
    const struct dx_access_table *old;

    (void)pthread_mutex_lock(&a->lock);
    /* Before the turn: a caller that pins at the new turn must not take it for a server without a
     * table. */
    (void)atomic_fetch_add(&a->turn, 1);
    old = a->table;
    a->table = t;
    (void)atomic_fetch_add(&a->turn, 1);
    (void)pthread_mutex_unlock(&a->lock);
    dx_access_table_drop(&old);
}

int dx_access_poll(struct dx_access *a, uint64_t now_ms, struct dx_error *err)
{
    const struct dx_access_table *t;
    struct dx_error why = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc;

    if (a == NULL)
        return 0;
    rc = read_table(a, etag, &t, &why);
    if (rc == 1 && a->table != NULL && dx_access_table_same(t, a->table)) {
        dx_access_table_drop(&t); /* the same bytes in another file */
        rc = 0;
    }
    if (rc == 1)
        exchange(a, t);
    if (rc >= 0) {
        dx_followed_take(&a->followed, etag);
        atomic_store(&a->good_ms, now_ms);
    }
    atomic_store(&a->failed, rc < 0);
    (void)pthread_mutex_lock(&a->lock);
    a->failure = why;
    if (rc >= 0)
        a->read_us = now_us();
    (void)pthread_mutex_unlock(&a->lock);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

const struct dx_access_table *dx_access_pin(struct dx_access *a)
{
    const struct dx_access_table *t = NULL;

    if (a == NULL || !atomic_load(&a->there))
        return NULL;
    (void)pthread_mutex_lock(&a->lock);
    if (a->table != NULL && !dx_access_table_open(a->table))
        t = dx_access_table_hold(a->table);
    (void)pthread_mutex_unlock(&a->lock);
    return t;
}

const struct dx_access_table *dx_access_hold(const struct dx_access_table *t)
{
    return dx_access_table_hold(t);
}

void dx_access_unpin(const struct dx_access_table *t)
{
    dx_access_table_drop(&t);
}

uint64_t dx_access_turn(const struct dx_access *a)
{
    return a == NULL ? 0 : atomic_load_explicit(&a->turn, memory_order_acquire);
}

/* Signed: the poller may have read the clock after us. */
static bool is_stale(const _Atomic uint64_t *since_ms, uint64_t now_ms)
{
    return (int64_t)(now_ms - atomic_load_explicit(since_ms, memory_order_relaxed)) >=
           DX_ACCESS_STALE_MS;
}

bool dx_access_known(const struct dx_access *a, uint64_t now_ms)
{
    if (a == NULL || !atomic_load_explicit(&a->there, memory_order_relaxed))
        return true;
    /* A look that does not end tells no more than one that fails. */
    if (!atomic_load_explicit(&a->failed, memory_order_relaxed) &&
        (atomic_load_explicit(&a->followed.began_ms, memory_order_relaxed) == 0 ||
         !is_stale(&a->followed.began_ms, now_ms)))
        return true;
    return !is_stale(&a->good_ms, now_ms);
}

void dx_access_health(struct dx_access *a, uint64_t now_ms, struct dx_access_health *health)
{
    struct dx_error why = DX_ERROR_INIT;
    bool hangs;

    *health = (struct dx_access_health){ .sound = true, .known = true, .text = "sound" };
    if (a == NULL)
        return;
    health->known = dx_access_known(a, now_ms);
    health->look_age_ms = dx_followed_age_ms(&a->followed);
    hangs = dx_followed_hangs(&a->followed, &why) < 0;
    (void)pthread_mutex_lock(&a->lock);
    if (!hangs)
        why = a->failure;
    health->sound = why.code == DX_OK;
    health->read_us = a->read_us;
    if (a->table != NULL) {
        health->present = !dx_access_table_open(a->table);
        health->generation = dx_access_table_generation(a->table);
        health->principals = dx_access_table_principals(a->table);
    }
    if (!health->sound)
        (void)snprintf(health->text, sizeof health->text, "%s", why.text);
    (void)pthread_mutex_unlock(&a->lock);
}

/* ---- open, close ---- */

int dx_access_open(struct dx_access **out, const struct dx_access_where *where, uint64_t now_ms,
                   struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dx_access *a = calloc(1, sizeof *a);
    int rc;

    *out = NULL;
    if (a == NULL)
        return dx_no_memory(err, "access table");
    (void)pthread_mutex_init(&a->lock, NULL);
    a->followed = (struct dx_followed){ .object = DX_ACCESS_FILE, .cap = DX_ACCESS_MAX };
    a->least = where->least;
    a->root = strdup(where->root);
    rc = a->root == NULL
             ? dx_no_memory(&why, "access table")
             : dx_followed_open(&a->followed, where->root, where->file, where->source, &why);
    a->name = a->followed.path != NULL ? a->followed.path : DX_ACCESS_FILE;
    a->required = where->required;
    if (rc == DX_OK)
        rc = dx_access_poll(a, now_ms, &why);
    if (rc >= 0 && where->file != NULL && a->table == NULL)
        rc = dx_fail(&why, DX_E_NOT_FOUND, "%s: there is no such file", where->file);
    *out = a;
    if (rc >= 0)
        return DX_OK;
    dx_access_close(out);
    if (err != NULL)
        *err = why;
    return rc;
}

void dx_access_close(struct dx_access **out)
{
    struct dx_access *a = *out;

    *out = NULL;
    if (a == NULL)
        return;
    dx_access_table_drop(&a->table);
    dx_followed_close(&a->followed);
    (void)pthread_mutex_destroy(&a->lock);
    free(a->root);
    free(a);
}

int dx_access_check(const struct dx_access_where *where, struct dx_error *err)
{
    struct dx_access *a;
    int rc = dx_access_open(&a, where, dx_clock_ms(), err);

    dx_access_close(&a);
    return rc;
}
