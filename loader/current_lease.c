/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/current_parts.h"

#include "base/clock.h"
#include "loader/current.h"
#include "loader/lease.h"

#include <stdio.h>

/* Open versions, those being fetched, those that leave, a candidate, and one more. */
#define NAMES_MAX (DX_RESIDENT_MAX + 1 + DX_FETCHING_MAX + DX_LEAVING_MAX + 2)

struct names {
    char text[NAMES_MAX][DX_VERSION_NAME];
    const char *list[NAMES_MAX];
    size_t count;
};

static void add_name(struct names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->text[i], name) == 0)
            return;
    (void)snprintf(n->text[n->count], sizeof n->text[0], "%s", name);
    n->list[n->count] = n->text[n->count];
    n->count++;
}

static void forget_left(struct dx_current *cur, uint64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < cur->leaving_count; i++)
        if (cur->leaving[i].until_ms > now_ms)
            cur->leaving[kept++] = cur->leaving[i];
    cur->leaving_count = kept;
}

void dx_current_leaves(struct dx_current *cur, const struct dx_version *v)
{
    const uint64_t now = dx_clock_ms();

    if (v == NULL || cur->how.lease == NULL)
        return;
    forget_left(cur, now);
    if (cur->leaving_count == DX_LEAVING_MAX) { /* the first of them has had the most time */
        memmove(cur->leaving, cur->leaving + 1, (DX_LEAVING_MAX - 1) * sizeof cur->leaving[0]);
        cur->leaving_count--;
    }
    memcpy(cur->leaving[cur->leaving_count].name, v->entry.version, DX_VERSION_NAME);
    cur->leaving[cur->leaving_count++].until_ms = now + cur->how.request_ms;
}

/* All that this process goes on with. With the lock. */
static void collect(struct dx_current *cur, const char *name, struct names *n)
{
    n->count = 0;
    for (size_t i = 0; i < cur->open_versions.count; i++)
        add_name(n, dx_version_name(cur->open_versions.items[i].version));
    for (const struct dx_fetching *b = cur->fetching; b != NULL; b = b->next)
        add_name(n, b->name);
    forget_left(cur, dx_clock_ms());
    for (size_t i = 0; i < cur->leaving_count; i++)
        add_name(n, cur->leaving[i].name);
    if (cur->candidate[0] != '\0')
        add_name(n, cur->candidate);
    if (name != NULL)
        add_name(n, name);
}

bool dx_current_may_use(struct dx_current *cur, const struct dx_version *v)
{
    return cur->how.lease == NULL ||
           dx_lease_until(cur->how.lease, dx_version_name(v)) > dx_clock_ms() + cur->how.request_ms;
}

void dx_current_set_fence(struct dx_current *cur)
{
    struct dx_version *v = atomic_load(&cur->version);
    uint64_t until = UINT64_MAX;

    if (cur->how.lease != NULL && v != NULL) {
        until = dx_lease_until(cur->how.lease, dx_version_name(v));
        until = until > cur->how.request_ms ? until - cur->how.request_ms : 0;
    }
    atomic_store(&cur->fence_ms, until);
}

/* A resident whose lease ran out before this one, and that is not listed any more; with the
 * lock. */
static struct dx_version *take_lost(struct dx_current *cur)
{
    for (size_t i = 1; i < cur->open_versions.count; i++) {
        struct dx_open_version *item = &cur->open_versions.items[i];

        if (dx_lease_until(cur->how.lease, dx_version_name(item->version)) == 0)
            return dx_open_versions_remove(&cur->open_versions, item);
    }
    return NULL;
}

static void let_lost_go(struct dx_current *cur)
{
    struct dx_version *gone;

    do {
        (void)pthread_mutex_lock(&cur->lock);
        gone = take_lost(cur);
        dx_current_set_fence(cur);
        (void)pthread_mutex_unlock(&cur->lock);
        dx_version_unpin(gone);
    } while (gone != NULL);
}

int dx_current_hold(struct dx_current *cur, const char *name, struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error why = DX_ERROR_INIT;
    struct names names;
    uint64_t since;
    int rc;

    if (cur->how.lease == NULL)
        return DX_OK;
    (void)pthread_mutex_lock(&cur->lease_lock);
    since = dx_current_seen(cur);
    (void)pthread_mutex_lock(&cur->lock);
    collect(cur, name, &names);
    (void)pthread_mutex_unlock(&cur->lock);
    rc = dx_lease_hold(cur->how.lease, names.list, names.count, &m, &why);
    if (rc == DX_OK) {
        let_lost_go(cur);
        rc = dx_current_take(cur, &m, since, &why);
    }
    dx_manifest_release(&m);
    if (rc == DX_OK && name != NULL && dx_lease_until(cur->how.lease, name) == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s: version %s is not listed any more, so it may be removed any time",
                     cur->root, name);
    else if (rc < 0 && err != NULL)
        *err = why;
    (void)pthread_mutex_unlock(&cur->lease_lock);
    (void)pthread_mutex_lock(&cur->lock);
    cur->lease_failure = why;
    (void)pthread_mutex_unlock(&cur->lock);
    return rc;
}

int dx_current_renew(struct dx_current *cur, char rival[DX_RIVAL_TEXT], struct dx_error *err)
{
    const char *words;
    int rc = dx_current_hold(cur, NULL, err);

    rival[0] = '\0';
    if (cur->how.lease == NULL)
        return rc;
    (void)pthread_mutex_lock(&cur->lease_lock);
    words = dx_lease_rival(cur->how.lease);
    if (words != NULL)
        (void)snprintf(rival, DX_RIVAL_TEXT, "%s", words);
    (void)pthread_mutex_unlock(&cur->lease_lock);
    return rc;
}
