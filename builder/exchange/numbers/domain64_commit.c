/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/numbers/domain64_commit.h"

#include <assert.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/nonce.h"
#include "base/path.h"
#include "builder/root/root.h"
#include "builder/root/root_lock.h"
#include "builder/root/root_probe.h"
#include "fetch/store/store.h"

/* Others hold the lock while they copy a book. */
#define LOCK_WAIT_MS 60000
#define LOCK_STEP_MS 20

static int folder_of(const char *root, char path[PATH_MAX], struct dx_error *err)
{
    int rc = dx_path_format(path, PATH_MAX, err, "%s/" DX_NUMBER_FOLDER, root);

    return rc == DX_OK ? dx_dir_make(path, err) : rc;
}

static int take_lock(struct dx_root_lock *lock, const char *folder, struct dx_error *err)
{
    const struct timespec step = { 0, LOCK_STEP_MS * 1000000L };
    int rc = DX_E_BUSY;

    for (unsigned ms = 0; rc == DX_E_BUSY && ms < LOCK_WAIT_MS; ms += LOCK_STEP_MS) {
        rc = dx_root_lock_take(lock, folder, err);
        if (rc == DX_E_BUSY)
            (void)nanosleep(&step, NULL);
    }
    return rc;
}

/* Under the lock whatever has a temporary name is of a process that died. */
static void sweep_temporary(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL)
        if (strstr(e->d_name, ".tmp-") != NULL)
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d != NULL)
        (void)closedir(d);
}

static int enter(const char *root, struct dx_root_lock *lock, struct dx_error *err)
{
    char folder[PATH_MAX];
    int rc = DX_OK;

    if (!dx_root_in_place(root))
        return DX_OK;
    rc = folder_of(root, folder, err);
    if (rc == DX_OK)
        rc = take_lock(lock, folder, err);
    if (rc == DX_OK)
        sweep_temporary(folder);
    return rc;
}

static int put_list(const struct dx_root *remote, const struct dx_domain64_manifest *list,
                    const char *etag, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_DOMAIN64_MANIFEST_MAX);
    struct dx_put put = { .object = DX_DOMAIN64_MANIFEST_FILE,
                          .if_absent = etag == NULL,
                          .if_match = etag };
    char written[DX_SOURCE_ETAG];
    int rc = dx_domain64_manifest_write(list, &text, err);

    put.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK && etag != NULL && etag[0] == '\0')
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     "the store tells no ETag, without which two writers cannot be kept apart");
    if (rc == DX_OK)
        rc = dx_store_put(remote->store, &put, written, err);
    dx_buf_release(&text);
    return rc;
}

/* The list that is there: 1; 0: there is none. */
static int read_list(const struct dx_root *remote, struct dx_domain64_manifest *list,
                     struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_DOMAIN64_MANIFEST_MAX);
    char etag[DX_SOURCE_ETAG];
    int rc = dx_root_get(remote, DX_DOMAIN64_MANIFEST_FILE, DX_DOMAIN64_MANIFEST_MAX, &text, etag,
                         err);

    if (rc == 1) {
        rc = dx_domain64_manifest_parse(list, dx_span_of(text.data, text.size),
                                        DX_DOMAIN64_MANIFEST_FILE, err);
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
    return rc;
}

int dx_domain64_init_look(const struct dx_root *remote, enum dx_domain64_layout layout,
                          struct dx_domain64_manifest *list, struct dx_error *err)
{
    int rc;

    *list = (struct dx_domain64_manifest){ .layout = (uint32_t)layout };
    rc = read_list(remote, list, err);
    return rc < 0 ? rc : rc == 0;
}

int dx_domain64_init(const char *root, struct dx_root *remote, enum dx_domain64_layout layout,
                     struct dx_domain64_manifest *list, struct dx_error *err)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    struct timespec now;
    int rc = DX_OK;

    *list = (struct dx_domain64_manifest){ .layout = (uint32_t)layout };
    dx_nonce(list->id);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (!remote->in_place)
        rc = dx_root_enter(remote, 0, now.tv_sec * INT64_C(1000000), err);
    if (rc == DX_OK)
        rc = enter(root, &lock, err);
    if (rc == DX_OK)
        rc = put_list(remote, list, NULL, err);
    rc = rc == DX_OK ? 1 : rc;
    if (rc == DX_E_EXISTS || rc == DX_E_UNKNOWN) {
        rc = read_list(remote, list, err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_UNKNOWN, "%s: it may have been made or not", root);
        else if (rc == 1)
            rc = 0;
    }
    dx_root_lock_drop(&lock);
    return rc;
}

/* ---- a commit ---- */

struct leftover {
    const struct dx_domain64_commit *commit;
    char object[DX_DOMAIN64_SEGMENTS_MAX][DX_NUMBER_OBJECT];
    size_t count;
};

static bool names(const struct dx_domain64_manifest *list, const char *object)
{
    char its[DX_NUMBER_OBJECT];

    for (size_t i = 0; i < list->count; i++) {
        dx_number_object(&list->file[i], its);
        if (strcmp(its, object) == 0)
            return true;
    }
    return false;
}

/* What no list can name any more: books that the list before had, and those that end before this
 * one's last filling, since the next writer adds fillings or merges up to the last. A book that
 * ends with it may be of a merge that has followed already. */
static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct leftover *l = ctx;
    const struct dx_domain64_commit *c = l->commit;
    const char *name = listed->object + strlen(DX_NUMBER_FOLDER);
    unsigned long last = strlen(name) > 13 ? strtoul(name + 7, NULL, 10) : 0;

    (void)err;
    if (last == 0 || strlen(listed->object) >= DX_NUMBER_OBJECT || strstr(name, ".d64") == NULL ||
        l->count == DX_DOMAIN64_SEGMENTS_MAX || names(c->list, listed->object))
        return DX_OK;
    if (last < dx_domain64_manifest_last(c->list) || names(c->before, listed->object))
        (void)snprintf(l->object[l->count++], DX_NUMBER_OBJECT, "%s", listed->object);
    return DX_OK;
}

/* A courtesy: what stays, the next one removes. */
static void remove_leftovers(const struct dx_domain64_commit *c)
{
    static struct leftover l; /* 4 kB; a command is one thread here */

    l.commit = c;
    l.count = 0;
    if (dx_store_list(c->remote->store, DX_NUMBER_FOLDER, see, &l, NULL) < 0)
        return;
    for (size_t i = 0; i < l.count; i++)
        (void)dx_store_remove(c->remote->store, l.object[i], NULL);
}

int dx_domain64_commit(const struct dx_domain64_commit *c, struct dx_error *err)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    char object[DX_NUMBER_OBJECT];
    char etag[DX_SOURCE_ETAG];
    struct dx_put put = { .object = object, .path = c->path, .if_absent = true };
    int rc;

    assert(c->list->count > 0); /* the last one is at path */
    rc = enter(c->root, &lock, err);
    dx_number_object(&c->list->file[c->list->count - 1], object);
    if (rc == DX_OK && c->path != NULL)
        rc = dx_store_put(c->remote->store, &put, etag, err);
    if (rc == DX_E_EXISTS) /* of one who died here, with the same bytes */
        rc = DX_OK;
    if (rc == DX_OK)
        rc = put_list(c->remote, c->list, c->etag, err);
    if (rc == DX_OK)
        remove_leftovers(c);
    dx_root_lock_drop(&lock);
    return rc < 0 ? dx_fail_in(err, "%s", c->root) : DX_OK;
}
