/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/manifest_edit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "builder/root/root_lock.h"
#include "fetch/store/store.h"
#include "loader/version.h"

#define TRIES 32 /* collectors that may change the manifest between a read and its put */
#define FLIPS 4  /* and flips, before a change of something else */

static int read_text(struct dx_manifest_edit *e, struct dx_buf *text, struct dx_error *err)
{
    const struct dx_get get = { .object = DX_MANIFEST_FILE, .cap = DX_MANIFEST_MAX };
    struct dx_store_stamp stamp = { .now_us = 0 };
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_store_read(e->root->store, DX_MANIFEST_FILE, 0, text, &stamp, &why);

    memcpy(e->etag, stamp.etag, sizeof e->etag);
    e->now_us = stamp.now_us;
    if (rc == DX_E_UNSUPPORTED && e->root->source != NULL) {
        e->now_us = 0;
        dx_buf_clear(text);
        rc = dx_source_get(e->root->source, &get, text, e->etag, &why);
        rc = rc == DX_E_NOT_FOUND ? 0 : rc;
    }
    if (rc == 1 && e->etag[0] == '\0')
        rc = dx_fail(&why, DX_E_UNSUPPORTED,
                     "%s: the store gives no ETag of " DX_MANIFEST_FILE
                     ", so nothing can be put on "
                     "the condition that it is still the same",
                     e->root->name);
    if (rc != 1)
        e->etag[0] = '\0';
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

int dx_manifest_edit_read(struct dx_manifest_edit *e, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    int rc = read_text(e, &text, err);

    dx_manifest_release(&e->manifest);
    if (rc == 1) {
        rc = dx_version_manifest_parse(dx_span_of(text.data, text.size), e->root->name,
                                       &e->manifest, err);
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
    return rc;
}

/* What is put must be readable: by the time a server finds out that it is not, the one before is overwritten. */
static int write_text(const struct dx_manifest_edit *e, struct dx_buf *text, struct dx_error *err)
{
    struct dx_manifest again = DX_MANIFEST_INIT;
    int rc = dx_manifest_write(&e->manifest, text, err);

    if (rc == DX_OK) {
        rc = dx_version_manifest_parse(dx_span_of(text->data, text->size), e->root->name, &again,
                                       err);
        dx_manifest_release(&again);
    }
    return rc;
}

int dx_manifest_edit_put(struct dx_manifest_edit *e, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    struct dx_put put = { .object = DX_MANIFEST_FILE,
                          .if_absent = e->etag[0] == '\0',
                          .if_match = e->etag[0] == '\0' ? NULL : e->etag };
    char etag[DX_SOURCE_ETAG];
    int rc = write_text(e, &text, err);

    assert(!e->root->in_place || e->put_lock_ms > 0 || e->root->lock.fd >= 0);
    put.bytes = dx_span_of(text.data, text.size);
    lock.wait_ms = e->put_lock_ms;
    if (rc == DX_OK && e->root->in_place && e->put_lock_ms > 0)
        rc = dx_root_lock_take(&lock, e->root->name, err);
    if (rc == DX_OK) {
        e->may_be_there = true;
        rc = dx_store_put(e->root->store, &put, etag, err);
    }
    if (rc == DX_OK)
        memcpy(e->etag, etag, sizeof e->etag);
    dx_root_lock_drop(&lock);
    dx_buf_release(&text);
    return rc;
}

static int say_lost(const struct dx_manifest_edit *e, const char *before, struct dx_error *err)
{
    const char *now = e->manifest.current;

    return dx_fail(err, DX_E_CONFLICT,
                   "%s: another publish or rollback was first: %s is current now, where %s was. "
                   "Nothing was changed; see `domaindex versions`, and run it again if it is still "
                   "needed",
                   e->root->name, now[0] == '\0' ? "no version" : now,
                   before[0] == '\0' ? "none" : before);
}

static int say_unknown(const struct dx_manifest_edit *e, const struct dx_manifest_change *c,
                       struct dx_error *err)
{
    (void)dx_fail_in(
        err,
        "%s: outcome unknown: the manifest write that makes version %s current may have "
        "been applied, or may still be (see `domaindex versions`)",
        e->root->name, c->version);
    if (err != NULL)
        err->code = DX_E_UNKNOWN;
    return DX_E_UNKNOWN;
}

/* What became of a put that ended with rc: as dx_manifest_edit_run, and 0: another manifest is
 * there, read. A directory shows the new name before that is durable: then the error stays. */
static int resolve(struct dx_manifest_edit *e, const struct dx_manifest_change *c, int rc,
                   struct dx_error *err)
{
    int is_there = dx_manifest_edit_read(e, NULL);
    bool is_ours = is_there == 1 && c->is_ours(c->ctx, &e->manifest);

    e->may_be_there = is_ours || is_there < 0 || rc == DX_E_UNKNOWN;
    if (is_ours)
        return e->root->in_place ? rc : 1;
    if (e->may_be_there)
        return say_unknown(e, c, err);
    return rc == DX_E_CONFLICT || rc == DX_E_EXISTS ? 0 : rc;
}

int dx_manifest_edit_run(struct dx_manifest_edit *e, const struct dx_manifest_change *c,
                         struct dx_error *err)
{
    uint64_t sequence = c->sequence;
    char current[DX_VERSION_NAME];
    int rc = dx_manifest_edit_read(e, err);

    if (rc < 0)
        return rc;
    if (c->current == NULL)
        sequence = e->manifest.sequence;
    (void)snprintf(current, sizeof current, "%s",
                   c->current == NULL ? e->manifest.current : c->current);
    e->may_be_there = false;
    for (unsigned i = 0; i < TRIES; i++) {
        if (e->manifest.sequence != sequence || strcmp(e->manifest.current, current) != 0)
            return say_lost(e, current, err);
        rc = c->edit(c->ctx, e, err);
        if (rc != 1)
            return rc;
        rc = dx_manifest_edit_put(e, err);
        if (rc == DX_OK)
            return 1;
        if (e->may_be_there)
            rc = resolve(e, c, rc, err);
        if (rc != 0)
            return rc;
    }
    return dx_fail(err, DX_E_BUSY,
                   "%s: the manifest changed %d times between a read and the write; try again",
                   e->root->name, TRIES);
}

int dx_manifest_edit_root(const char *name, const struct dx_manifest_change *change,
                          uint64_t lock_ms, struct dx_error *err)
{
    struct dx_root root = DX_ROOT_INIT;
    struct dx_manifest_edit e = { .root = &root, .put_lock_ms = lock_ms };
    int rc = dx_root_open(&root, name, DX_ROOT_WRITE, err);

    assert(lock_ms > 0); /* each put takes the root's lock */
    if (rc == DX_OK && !root.in_place)
        rc = dx_root_enter(&root, 0, (int64_t)time(NULL) * 1000000, err);
    if (rc == DX_OK)
        rc = dx_manifest_edit_run(&e, change, err);
    for (unsigned i = 1; i < FLIPS && rc == DX_E_CONFLICT; i++)
        rc = dx_manifest_edit_run(&e, change, err);
    dx_manifest_edit_release(&e);
    dx_root_close(&root);
    return rc;
}

void dx_manifest_edit_release(struct dx_manifest_edit *e)
{
    dx_manifest_release(&e->manifest);
}
