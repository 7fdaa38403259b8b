/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/current_parts.h"

#include "base/clock.h"
#include "loader/current.h"

#include <stdio.h>
#include <stdlib.h>

/* Under way in this or another thread: waits for it. With the lock. */
static bool join_flight(struct dx_current *cur, const char *name, int *rc, struct dx_error *err)
{
    struct dx_fetching *f = cur->fetching;

    while (f != NULL && strcmp(f->name, name) != 0)
        f = f->next;
    if (f == NULL)
        return false;
    f->holders++;
    while (!f->done)
        (void)pthread_cond_wait(&cur->landed, &cur->lock);
    *rc = f->rc;
    if (f->rc < 0 && err != NULL)
        *err = f->err;
    if (--f->holders == 0)
        free(f);
    return true;
}

static void land_flight(struct dx_current *cur, struct dx_fetching *f, int rc,
                        const struct dx_error *err)
{
    struct dx_fetching **at = &cur->fetching;

    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    cur->fetching_count--;
    f->done = true;
    f->rc = rc;
    f->err = *err;
    (void)pthread_cond_broadcast(&cur->landed);
    if (--f->holders == 0)
        free(f);
}

/* Held, if there is a lease, and then opened. Without the lock. */
static int open_kept(struct dx_current *cur, const char *name, struct dx_version **v,
                     struct dx_error *err)
{
    const struct dx_manifest_version *entry;
    struct dx_shared_manifest *listed;
    int rc = dx_current_hold(cur, name, err);

    *v = NULL;
    if (rc < 0)
        return rc;
    (void)pthread_mutex_lock(&cur->lock);
    *v = dx_current_pin_resident(cur, name); /* all it wanted was to be held */
    (void)pthread_mutex_unlock(&cur->lock);
    if (*v != NULL)
        return DX_OK;
    dx_current_drop_poisoned(cur);
    listed = dx_current_listed(cur);
    entry = dx_current_kept(listed, name);
    rc = entry != NULL ? dx_current_load_kept(cur, listed, entry, v, err)
                       : dx_fail(err, DX_E_NOT_FOUND, "version %s has just gone", name);
    dx_shared_manifest_put(&listed);
    return rc;
}

/* Makes v, with one pin of the caller's, a resident. With the lock, which it gives up meanwhile. */
static void keep_fetched(struct dx_current *cur, struct dx_version *v)
{
    dx_version_pin(v);
    dx_version_list(v, cur->listed);
    dx_open_versions_fetch(&cur->open_versions, v, dx_clock_ms());
    cur->stats.fetched++;
    dx_current_trim(cur);
}

/* With the lock. */
static int lead_flight(struct dx_current *cur, const char *name, struct dx_version **v,
                       struct dx_error *err)
{
    struct dx_fetching *f = calloc(1, sizeof *f);
    struct dx_error why = DX_ERROR_INIT;
    struct dx_version *spare = NULL;
    struct dx_version *other;
    int rc;

    if (f == NULL || cur->fetching_count == DX_FETCHING_MAX) {
        free(f);
        return dx_fail(err, DX_E_BUSY, "version %s: too many are being opened; try again", name);
    }
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    f->holders = 1;
    f->next = cur->fetching;
    cur->fetching = f;
    cur->fetching_count++;
    (void)pthread_mutex_unlock(&cur->lock);
    rc = open_kept(cur, name, v, &why);
    (void)pthread_mutex_lock(&cur->lock);
    other = dx_current_pin_resident(cur, name); /* by a reload, meanwhile */
    if (other == NULL && rc == DX_OK && !dx_current_may_use(cur, *v))
        rc = dx_fail(&why, DX_E_BUSY, "version %s: its lease ran out while it was opened", name);
    if (other != NULL) {
        spare = *v;
        *v = other;
        rc = DX_OK;
    } else if (rc == DX_OK) {
        keep_fetched(cur, *v);
    } else {
        spare = *v;
        *v = NULL;
        cur->stats.fetch_failures++;
    }
    land_flight(cur, f, rc, &why);
    if (spare != NULL) {
        (void)pthread_mutex_unlock(&cur->lock);
        dx_version_unpin(spare);
        (void)pthread_mutex_lock(&cur->lock);
    }
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

int dx_current_fetch(struct dx_current *cur, const char *name, struct dx_version **v,
                     struct dx_error *err)
{
    int rc = DX_OK;

    (void)pthread_mutex_lock(&cur->lock);
    do {
        *v = dx_current_pin_resident(cur, name);
        if (*v != NULL)
            break;
        if (dx_current_kept(cur->listed, name) == NULL)
            rc = dx_fail(err, DX_E_NOT_FOUND,
                         "%s: version %s is not kept. `domaindex versions --root %s` lists those "
                         "that are",
                         cur->root, name, cur->root);
        else if (!join_flight(cur, name, &rc, err))
            rc = lead_flight(cur, name, v, err);
        /* A caller that joined finds it resident now, or, if it went already, fetches it again. */
    } while (rc == DX_OK && *v == NULL);
    (void)pthread_mutex_unlock(&cur->lock);
    return rc;
}
