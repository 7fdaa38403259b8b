/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index_text.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "builder/publish_probe.h"
#include "builder/remote_root.h"
#include "builder/root_lock.h"
#include "fetch/store.h"

/* Others hold the lock for a read, a write and two syncs. */
#define LOCK_WAIT_MS 30000
#define LOCK_STEP_MS 20

/* On object storage somebody wins each time, so this many lose to as many others. */
#define TRIES 50
#define TRY_STEP_MS 50

static void rest(unsigned ms)
{
    const struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

    (void)nanosleep(&t, NULL);
}

/* An edit tells a text without bytes from none. */
static struct dx_span span_of(const struct dx_buf *text, bool there)
{
    return !there            ? dx_span_of(NULL, 0)
           : text->size == 0 ? dx_span_str("")
                             : dx_span_of(text->data, text->size);
}

/* ---- a directory ---- */

static int path_of(const char *root, const char *name, char path[PATH_MAX], struct dx_error *err)
{
    int n = snprintf(path, PATH_MAX, "%s/%s", root, name);

    return n >= 0 && n < PATH_MAX ? DX_OK : dx_fail(err, DX_E_INVALID, "%s: path too long", root);
}

static int read_local(const char *root, const char *object, size_t cap, struct dx_buf *out,
                      struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    char path[PATH_MAX];
    int rc = path_of(root, object, path, err);

    if (rc < 0)
        return rc;
    rc = dx_file_read(path, cap, out, &why);
    if (rc == DX_E_NOT_FOUND)
        return 0;
    if (rc < 0 && err != NULL)
        *err = why;
    return rc < 0 ? rc : 1;
}

/* A mistyped root is not made into one. */
static int check_root(const char *root, struct dx_error *err)
{
    char lake[PATH_MAX];
    char index[PATH_MAX];
    int rc = path_of(root, "urls", lake, err);

    if (rc == DX_OK)
        rc = path_of(root, "index", index, err);
    if (rc == DX_OK && access(lake, F_OK) < 0 && access(index, F_OK) < 0)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: neither a lake nor an index is there", root);
    return rc;
}

static int take_lock(struct dx_root_lock *lock, const char *directory, struct dx_error *err)
{
    uint64_t until_ms = dx_clock_ms() + LOCK_WAIT_MS;
    int rc;

    while ((rc = dx_root_lock_take(lock, directory, err)) == DX_E_BUSY && dx_clock_ms() < until_ms)
        rest(LOCK_STEP_MS);
    return rc;
}

/* What somebody left who was killed while he wrote: under the lock nobody else writes. */
static void sweep(const char *directory, const char *object)
{
    const char *name = strrchr(object, '/') + 1;
    size_t n = strlen(name);
    DIR *d = opendir(directory);
    struct dirent *entry;

    while (d != NULL && (entry = readdir(d)) != NULL)
        if (strncmp(entry->d_name, name, n) == 0 && strncmp(entry->d_name + n, ".tmp-", 5) == 0)
            (void)unlinkat(dirfd(d), entry->d_name, 0);
    if (d != NULL)
        (void)closedir(d);
}

static int change_local(const char *root, const struct dx_index_text_change *c,
                        struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(c->cap);
    struct dx_buf made = DX_BUF_INIT(c->cap);
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    char directory[PATH_MAX];
    char path[PATH_MAX];
    int rc = check_root(root, err);

    if (rc == DX_OK)
        rc = path_of(root, "index", directory, err);
    if (rc == DX_OK)
        rc = path_of(root, c->object, path, err);
    if (rc == DX_OK)
        rc = take_lock(&lock, directory, err);
    if (rc == DX_OK) {
        sweep(directory, c->object);
        if (c->begin != NULL)
            c->begin(c->ctx);
        rc = read_local(root, c->object, c->cap, &text, err);
    }
    if (rc >= 0)
        rc = c->edit(c->ctx, span_of(&text, rc == 1), &made, err);
    if (rc == 1) {
        rc = dx_file_replace(path, dx_span_of(made.data, made.size), err);
        rc = rc < 0 ? rc : 1;
    }
    dx_root_lock_drop(&lock);
    dx_buf_release(&text);
    dx_buf_release(&made);
    return rc;
}

/* ---- object storage ---- */

/* One look and one put. 1 and 0 as change; DX_E_EXISTS, DX_E_CONFLICT, DX_E_UNKNOWN: look again. */
static int try_remote(const struct dx_remote_root *remote, const struct dx_index_text_change *c,
                      struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(c->cap);
    struct dx_buf made = DX_BUF_INIT(c->cap);
    struct dx_put put = { .object = c->object };
    char etag[DX_SOURCE_ETAG];
    char written[DX_SOURCE_ETAG];
    bool there;
    int rc;

    if (c->begin != NULL)
        c->begin(c->ctx);
    rc = dx_remote_root_get(remote, c->object, c->cap, &text, etag, err);
    there = rc > 0;
    if (there && etag[0] == '\0')
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     "%s: the store tells no ETag, without which two writers cannot be kept apart",
                     c->object);
    if (rc >= 0)
        rc = c->edit(c->ctx, span_of(&text, there), &made, err);
    if (rc == 1) {
        put.bytes = dx_span_of(made.data, made.size);
        put.if_absent = !there;
        put.if_match = there ? etag : NULL;
        rc = dx_store_put(remote->store, &put, written, err);
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
    dx_buf_release(&made);
    return rc;
}

static int probe(const struct dx_remote_root *remote, const char *root, struct dx_error *err)
{
    struct timespec now;
    char *url;
    int rc = dx_remote_root_url(root, &url, err);

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (rc == DX_OK)
        rc = dx_publish_probe(remote, url, now.tv_sec * INT64_C(1000000), err);
    free(url);
    return rc;
}

static int change_remote(const char *root, const struct dx_index_text_change *c,
                         struct dx_error *err)
{
    struct dx_remote_root remote;
    int rc = dx_remote_root_open(&remote, root, DX_REMOTE_WRITE, err);

    if (rc == DX_OK)
        rc = probe(&remote, root, err);
    for (unsigned i = 0; rc >= 0 && i < TRIES; i++) {
        if (i > 0)
            rest(TRY_STEP_MS + (unsigned)getpid() % TRY_STEP_MS);
        rc = try_remote(&remote, c, err);
        if (rc != DX_E_EXISTS && rc != DX_E_CONFLICT && rc != DX_E_UNKNOWN)
            break;
        if (i + 1 < TRIES)
            rc = DX_OK;
    }
    dx_remote_root_close(&remote);
    return rc < 0 ? dx_fail_in(err, "%s", root) : rc;
}

/* ---- either ---- */

int dx_index_text_read(const char *root, const char *object, size_t cap, struct dx_buf *out,
                       struct dx_error *err)
{
    struct dx_remote_root remote;
    char etag[DX_SOURCE_ETAG];
    int rc;

    if (!dx_source_remote(root))
        return read_local(root, object, cap, out, err);
    rc = dx_remote_root_open(&remote, root, DX_REMOTE_READ, err);
    if (rc == DX_OK)
        rc = dx_remote_root_get(&remote, object, cap, out, etag, err);
    dx_remote_root_close(&remote);
    return rc;
}

int dx_index_text_change(const char *root, const struct dx_index_text_change *change,
                         struct dx_error *err)
{
    return dx_source_remote(root) ? change_remote(root, change, err)
                                  : change_local(root, change, err);
}
