/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/current.h"

#include "fetch/local_etag.h"
#include "loader/objects.h"
#include "loader/version.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct dx_current {
    char *root;
    struct dx_version_options options;
    struct dx_source_options source_options; /* that `options` names; of a remote root */
    struct dx_source *source;                /* of the manifest; NULL: the root is a directory */
    char etag[DX_SOURCE_ETAG];               /* of the manifest that was taken last; "": none */
    struct dx_caches *caches;
    pthread_mutex_t
        lock; /* guards version and the step from reading it to pinning it, and failure */
    struct dx_version *_Atomic version; /* written under the lock */
    struct dx_error failure;            /* of the last reload; its text is empty if it was well */
};

static bool copy_text(const char **text)
{
    if (*text == NULL)
        return true;
    *text = strdup(*text);
    return *text != NULL;
}

/* All texts of the options, so that the caller's may go. */
static int copy_options(struct dx_current *cur, const struct dx_version_options *from,
                        struct dx_error *err)
{
    struct dx_source_options *o = &cur->source_options;
    bool ok;
    int rc;

    cur->options = *from;
    ok = copy_text(&cur->options.mirror_dir);
    rc = dx_version_source_options(from, o, err);
    if (rc < 0) {
        *o = (struct dx_source_options)DX_SOURCE_OPTIONS_INIT;
        return rc;
    }
    ok = copy_text(&o->ca_file) && ok;
    ok = copy_text(&o->s3_endpoint) && ok;
    ok = copy_text(&o->s3_region) && ok;
    ok = copy_text(&o->s3_profile) && ok;
    cur->options.source = o;
    return ok ? DX_OK : dx_fail(err, DX_E_NOMEM, "%s: out of memory", cur->root);
}

static void free_options(struct dx_current *cur)
{
    free((void *)cur->options.mirror_dir);
    free((void *)cur->source_options.ca_file);
    free((void *)cur->source_options.s3_endpoint);
    free((void *)cur->source_options.s3_region);
    free((void *)cur->source_options.s3_profile);
}

/* Of a directory, by its path each time: it may be another directory by now. Taken before the file
 * is read: if it is replaced in between, the next look finds it new. */
static bool stat_manifest(const char *root, char etag[DX_SOURCE_ETAG])
{
    char *path = NULL;
    struct stat st;
    bool found;

    if (asprintf(&path, "%s/index/manifest.json", root) < 0)
        return false;
    found = stat(path, &st) == 0;
    if (found)
        dx_local_etag(&st, etag);
    free(path);
    return found;
}

/* The manifest if it is not the one that was taken last: 1, else 0. */
static int read_manifest(struct dx_current *cur, char etag[DX_SOURCE_ETAG], struct dx_manifest *m,
                         struct dx_error *err)
{
    int rc;

    etag[0] = '\0';
    if (cur->source != NULL)
        return dx_version_manifest_get(cur->source, cur->root,
                                       cur->etag[0] == '\0' ? NULL : cur->etag, etag, m, err);
    if (stat_manifest(cur->root, etag) && strcmp(etag, cur->etag) == 0)
        return 0;
    rc = dx_version_manifest(cur->root, m, err);
    return rc < 0 ? rc : 1;
}

static int open_first(struct dx_current *cur, struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_version *first = NULL;
    char etag[DX_SOURCE_ETAG];
    int rc = DX_OK;

    if (dx_source_remote(cur->root))
        rc = dx_source_open(&cur->source, cur->root, &cur->source_options, err);
    if (rc == DX_OK)
        rc = read_manifest(cur, etag, &manifest, err);
    if (rc >= 0)
        rc = dx_version_open_listed(&first, cur->root, &manifest, NULL, cur->caches, &cur->options,
                                    err);
    dx_manifest_release(&manifest);
    if (rc == DX_OK)
        memcpy(cur->etag, etag, sizeof cur->etag);
    atomic_store(&cur->version, first);
    return rc;
}

int dx_current_open(struct dx_current **out, const char *root,
                    const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_current *cur = calloc(1, sizeof *cur);
    int rc = DX_OK;

    *out = NULL;
    if (cur == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    (void)pthread_mutex_init(&cur->lock, NULL);
    cur->root = strdup(root);
    if (cur->root == NULL)
        rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    if (rc == DX_OK)
        rc = copy_options(cur, options, err);
    if (rc == DX_OK)
        rc = dx_caches_new(&cur->caches, options, err);
    if (rc == DX_OK)
        rc = open_first(cur, err);
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
        dx_source_close(&(*cur)->source);
        (void)pthread_mutex_destroy(&(*cur)->lock);
        free_options(*cur);
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

static void swap(struct dx_current *cur, struct dx_version *before, struct dx_version *next)
{
    (void)pthread_mutex_lock(&cur->lock);
    atomic_store_explicit(&cur->version, next, memory_order_release);
    (void)pthread_mutex_unlock(&cur->lock);
    dx_version_unpin(before);
}

static int reload(struct dx_current *cur, struct dx_error *err)
{
    struct dx_version *before = atomic_load(&cur->version); /* only this thread replaces it */
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_version *next = NULL;
    char etag[DX_SOURCE_ETAG];
    int rc = read_manifest(cur, etag, &manifest, err);

    if (rc <= 0)
        return rc;
    rc = DX_OK;
    if (manifest.sequence < before->manifest.sequence)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: manifest went back from sequence %llu to %llu; kept %s", cur->root,
                     (unsigned long long)before->manifest.sequence,
                     (unsigned long long)manifest.sequence, before->entry.version);
    else if (manifest.sequence > before->manifest.sequence)
        rc = dx_version_open_listed(&next, cur->root, &manifest, NULL, cur->caches, &cur->options,
                                    err);
    dx_manifest_release(&manifest);
    /* One that could not be taken is asked for again in full. */
    if (rc == DX_OK)
        memcpy(cur->etag, etag, sizeof cur->etag);
    if (next == NULL)
        return rc;
    swap(cur, before, next);
    return 1;
}

int dx_current_reload(struct dx_current *cur, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = reload(cur, &why);

    (void)pthread_mutex_lock(&cur->lock);
    cur->failure = why;
    (void)pthread_mutex_unlock(&cur->lock);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

void dx_current_health(struct dx_current *cur, struct dx_current_health *health)
{
    char broken[80] = "";

    (void)pthread_mutex_lock(&cur->lock);
    health->objects_broken = dx_objects_broken(cur->version->objects);
    if (health->objects_broken > 0)
        (void)snprintf(broken, sizeof broken, "%llu reads found an object replaced, cut or gone",
                       (unsigned long long)health->objects_broken);
    health->sound = broken[0] == '\0' && cur->failure.code == DX_OK;
    (void)snprintf(health->text, sizeof health->text, "%s%s%s%s", health->sound ? "sound" : broken,
                   broken[0] != '\0' && cur->failure.code != DX_OK ? "; " : "",
                   cur->failure.code != DX_OK ? "the last reload failed: " : "",
                   cur->failure.code != DX_OK ? cur->failure.text : "");
    (void)pthread_mutex_unlock(&cur->lock);
}
