/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/current.h"

#include "loader/version.h"

#include <pthread.h>
#include <stdlib.h>

struct dx_current {
    char *root;
    struct dx_version_options options;
    struct dx_caches *caches;
    pthread_mutex_t lock; /* guards version and the step from reading it to pinning it */
    struct dx_version *_Atomic version; /* written under the lock */
};

int dx_current_open(struct dx_current **out, const char *root,
                    const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_current *cur = calloc(1, sizeof *cur);
    struct dx_version *first = NULL;
    int rc;

    *out = NULL;
    if (cur == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    (void)pthread_mutex_init(&cur->lock, NULL);
    cur->options = *options;
    cur->root = strdup(root);
    rc = cur->root == NULL ? dx_fail(err, DX_E_NOMEM, "%s: out of memory", root)
                           : dx_caches_new(&cur->caches, options, err);
    if (rc == DX_OK)
        rc = dx_version_open_named(&first, root, NULL, cur->caches, options, err);
    atomic_store(&cur->version, first);
    if (rc == DX_OK)
        *out = cur;
    else
        dx_current_close(&cur);
    return rc;
}

void dx_current_close(struct dx_current **cur)
{
    if (*cur != NULL) {
        dx_version_unpin((*cur)->version);
        dx_caches_free(&(*cur)->caches);
        (void)pthread_mutex_destroy(&(*cur)->lock);
        free((*cur)->root);
        free(*cur);
    }
    *cur = NULL;
}

struct dx_version *dx_current_pin(struct dx_current *cur)
{
    struct dx_version *v;

    (void)pthread_mutex_lock(&cur->lock);
    v = cur->version;
    dx_version_pin(v);
    (void)pthread_mutex_unlock(&cur->lock);
    return v;
}

struct dx_version *dx_current_pin_again(struct dx_current *cur, struct dx_version *held)
{
    /* The caller's pin keeps held alive, so no other version can have its address: if it is
     * the current one at this instant, one more pin on it is a pin on the current version. */
    if (held == NULL || held != atomic_load_explicit(&cur->version, memory_order_acquire))
        return dx_current_pin(cur);
    dx_version_pin(held);
    return held;
}

int dx_current_reload(struct dx_current *cur, struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_version *next = NULL;
    struct dx_version *before = atomic_load(&cur->version); /* only this thread replaces it */
    bool newer;
    int rc = dx_version_manifest(cur->root, &manifest, err);

    if (rc < 0)
        return rc;
    newer = manifest.sequence > before->manifest.sequence;
    if (manifest.sequence < before->manifest.sequence)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: manifest went back from sequence %llu to %llu; kept %s", cur->root,
                     (unsigned long long)before->manifest.sequence,
                     (unsigned long long)manifest.sequence, before->entry.version);
    dx_manifest_release(&manifest);
    if (rc < 0 || !newer)
        return rc;
    rc = dx_version_open_named(&next, cur->root, NULL, cur->caches, &cur->options, err);
    if (rc < 0)
        return rc;
    (void)pthread_mutex_lock(&cur->lock);
    atomic_store_explicit(&cur->version, next, memory_order_release);
    (void)pthread_mutex_unlock(&cur->lock);
    dx_version_unpin(before);
    return 1;
}
