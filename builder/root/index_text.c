/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/index_text.h"

#include <assert.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "builder/root/root.h"
#include "builder/root/root_lock.h"
#include "fetch/store/store.h"
#include "format/version/names.h"

/* Others hold the lock for a read, a write and two syncs. */
#define LOCK_WAIT_MS 30000
#define LOCK_STEP_MS 20

/* On object storage one writer wins each time, so this many tries lose to as many others. */
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

static int read_local(const char *root, const char *object, size_t cap, struct dx_buf *out,
                      struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    char path[PATH_MAX];
    int rc = dx_path_format(path, PATH_MAX, err, "%s/%s", root, object);

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
    int rc = dx_path_format(lake, PATH_MAX, err, "%s/" DX_LAKE_DIR, root);

    if (rc == DX_OK)
        rc = dx_path_format(index, PATH_MAX, err, "%s/" DX_INDEX_DIR, root);
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

/* What a killed writer left: under the lock no other process writes. */
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

    assert(strncmp(c->object, DX_INDEX_DIR "/", strlen(DX_INDEX_DIR "/")) == 0);
    if (rc == DX_OK)
        rc = dx_path_format(directory, PATH_MAX, err, "%s/" DX_INDEX_DIR, root);
    if (rc == DX_OK)
        rc = dx_path_format(path, PATH_MAX, err, "%s/%s", root, c->object);
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

/* One look and one put. *again: the put was refused, or its outcome is not known; what edit says is
 * final. */
static int try_remote(const struct dx_root *remote, const struct dx_index_text_change *c,
                      bool *again, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(c->cap);
    struct dx_buf made = DX_BUF_INIT(c->cap);
    struct dx_put put = { .object = c->object };
    char etag[DX_SOURCE_ETAG];
    char written[DX_SOURCE_ETAG];
    bool there;
    int rc;

    *again = false;
    if (c->begin != NULL)
        c->begin(c->ctx);
    rc = dx_root_get(remote, c->object, c->cap, &text, etag, err);
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
        *again = rc == DX_E_EXISTS || rc == DX_E_CONFLICT || rc == DX_E_UNKNOWN;
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
    dx_buf_release(&made);
    return rc;
}

int dx_index_text_change_on(const struct dx_root *remote, const struct dx_index_text_change *c,
                            struct dx_error *err)
{
    unsigned tries = c->tries == 0 ? TRIES : c->tries;
    unsigned step_ms = c->wait_ms == 0 ? TRY_STEP_MS : c->wait_ms;
    bool again = true;
    int rc = DX_OK;

    for (unsigned i = 0; i < tries; i++) {
        if (i > 0)
            rest(step_ms + (unsigned)(dx_clock_ms() + (unsigned)getpid()) % step_ms);
        if (c->stopped != NULL && c->stopped())
            return dx_fail(err, DX_E_IO, "interrupted");
        rc = try_remote(remote, c, &again, err);
        if (!again)
            return rc;
    }
    return rc == DX_E_UNKNOWN
               ? rc
               : dx_fail(err, DX_E_BUSY,
                         "%s: changed by others %u times while this command wanted to change it; "
                         "run it again",
                         c->object, tries);
}

static int change_remote(const char *root, const struct dx_index_text_change *change,
                         struct dx_error *err)
{
    struct dx_root remote;
    struct timespec now;
    int rc = dx_root_open(&remote, root, DX_ROOT_WRITE, err);

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (rc == DX_OK)
        rc = dx_root_enter(&remote, 0, now.tv_sec * INT64_C(1000000), err);
    if (rc == DX_OK)
        rc = dx_index_text_change_on(&remote, change, err);
    dx_root_close(&remote);
    return rc < 0 ? dx_fail_in(err, "%s", root) : rc;
}

/* ---- either ---- */

int dx_index_text_read(const char *root, const char *object, size_t cap, struct dx_buf *out,
                       struct dx_error *err)
{
    struct dx_root remote;
    char etag[DX_SOURCE_ETAG];
    int rc;

    if (dx_root_in_place(root)) {
        rc = read_local(root, object, cap, out, err);
        return rc == 0 ? check_root(root, err) : rc;
    }
    rc = dx_root_open(&remote, root, DX_ROOT_READ, err);
    if (rc == DX_OK)
        rc = dx_root_get(&remote, object, cap, out, etag, err);
    dx_root_close(&remote);
    return rc;
}

int dx_index_text_change(const char *root, const struct dx_index_text_change *change,
                         struct dx_error *err)
{
    return dx_root_in_place(root) ? change_local(root, change, err)
                                  : change_remote(root, change, err);
}
