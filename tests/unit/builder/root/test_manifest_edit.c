/* SPDX-License-Identifier: Apache-2.0
 * What becomes of a write of the manifest: each way in which a put can end, with what other writers
 * did before it and with what can be read after it. A store between the edit and a directory plays
 * the part.
 */
#include "builder/root/manifest_edit.h"

#include <stdio.h>
#include <stdlib.h>

#include "fetch/store/store.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define VERSION_US 1732184400000000

enum before { NOTHING, COLLECTOR, FLIP, MANY_COLLECTORS };

/* What the store does with a put. */
enum put { APPLY, REFUSE, APPLY_AND_LOSE, LOSE, FAIL, APPLY_AND_FAIL };

static const struct row {
    const char *name;
    enum before before;
    enum put put;
    bool reads_fail;   /* after the put */
    bool is_directory; /* given to the edit */
    int want;
    bool may_be_there;
    bool is_there;
} rows[] = {
    { "applied", NOTHING, APPLY, false, false, 1, true, true },
    { "a collector was there", COLLECTOR, APPLY, false, false, 1, true, true },
    { "collectors each time", MANY_COLLECTORS, APPLY, false, false, DX_E_BUSY, false, false },
    { "another flip", FLIP, APPLY, false, false, DX_E_CONFLICT, false, false },
    { "applied, reply lost", NOTHING, APPLY_AND_LOSE, false, false, 1, true, true },
    { "reply lost, nothing there", NOTHING, LOSE, false, false, DX_E_UNKNOWN, true, false },
    { "reply lost, store gone", NOTHING, APPLY_AND_LOSE, true, false, DX_E_UNKNOWN, true, true },
    { "failed", NOTHING, FAIL, false, false, DX_E_IO, false, false },
    { "failed, store gone", NOTHING, FAIL, true, false, DX_E_UNKNOWN, true, false },
    { "refused, store gone", NOTHING, REFUSE, true, false, DX_E_UNKNOWN, true, false },
    { "applied, called failed", NOTHING, APPLY_AND_FAIL, false, false, 1, true, true },
    { "renamed, not durable", NOTHING, APPLY_AND_FAIL, false, true, DX_E_IO, true, true },
};

static unsigned failures;

static struct {
    struct dx_store store;
    struct dx_store *inner;
    const struct row *row;
    unsigned puts;
    bool has_put;
} play;

/* ---- the store ---- */

/* Another writer: a mark, or a flip to the same version. */
static void meddle(bool flip)
{
    const struct dx_root other = { .name = "other", .store = play.inner };
    struct dx_manifest_edit e = { .root = &other };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_manifest_edit_read(&e, &err);

    if (rc == 1) {
        e.manifest.versions[0].cleansed++;
        rc = flip ? dx_manifest_flip(&e.manifest, e.manifest.current, e.manifest.sequence + 1,
                                     VERSION_US, &err)
                  : DX_OK;
    }
    if (rc == DX_OK)
        rc = dx_manifest_edit_put(&e, &err);
    EXPECT(rc == DX_OK, "%s: another writer: %s", play.row->name, err.text);
    dx_manifest_edit_release(&e);
}

static int put(struct dx_store *store, const struct dx_put *p, char etag[DX_SOURCE_ETAG],
               struct dx_error *err)
{
    const struct row *r = play.row;
    int rc = DX_OK;

    (void)store;
    if (r->before == MANY_COLLECTORS || (r->before != NOTHING && play.puts == 0))
        meddle(r->before == FLIP);
    play.puts++;
    play.has_put = true;
    if (r->put == APPLY || r->put == APPLY_AND_LOSE || r->put == APPLY_AND_FAIL)
        rc = dx_store_put(play.inner, p, etag, err);
    if (rc < 0 || r->put == APPLY)
        return rc;
    return r->put == REFUSE                             ? dx_fail(err, DX_E_CONFLICT, "refused")
           : r->put == APPLY_AND_LOSE || r->put == LOSE ? dx_fail(err, DX_E_UNKNOWN, "lost")
                                                        : dx_fail(err, DX_E_IO, "failed");
}

static int read_object(struct dx_store *store, const char *object, uint64_t deadline_ms,
                       struct dx_buf *out, struct dx_store_stamp *stamp, struct dx_error *err)
{
    (void)store;
    if (play.has_put && play.row->reads_fail)
        return dx_fail(err, DX_E_TIMEOUT, "gone");
    return dx_store_read(play.inner, object, deadline_ms, out, stamp, err);
}

/* ---- the edit ---- */

struct flip {
    uint64_t sequence;
    unsigned edits;
};

static int edit(void *ctx, struct dx_manifest_edit *e, struct dx_error *err)
{
    struct flip *f = ctx;
    int rc;

    f->edits++;
    f->sequence = e->manifest.sequence + 100; /* no other writer gives it */
    rc = dx_manifest_flip(&e->manifest, e->manifest.current, f->sequence, VERSION_US, err);
    return rc < 0 ? rc : 1;
}

static bool is_ours(void *ctx, const struct dx_manifest *m)
{
    return m->sequence == ((const struct flip *)ctx)->sequence;
}

static void check(const struct dx_manifest_change *change, const struct flip *f, int rc,
                  const struct dx_manifest_edit *e, const char *text)
{
    const struct dx_root there = { .name = "now", .store = play.inner };
    struct dx_manifest_edit now = { .root = &there };
    const struct row *r = play.row;

    EXPECT(rc == r->want, "%s: %d: %s", r->name, rc, text);
    EXPECT(e->may_be_there == r->may_be_there, "%s: may be there: %d", r->name, e->may_be_there);
    EXPECT(dx_manifest_edit_read(&now, NULL) == 1 &&
               change->is_ours(change->ctx, &now.manifest) == r->is_there,
           "%s: is there", r->name);
    EXPECT(r->before != COLLECTOR || now.manifest.versions[0].cleansed > 0,
           "%s: what the collector wrote is lost", r->name);
    EXPECT(rc != DX_E_UNKNOWN || strstr(text, "outcome unknown") != NULL, "%s: %s", r->name, text);
    EXPECT(rc != DX_E_CONFLICT || f->edits == 1, "%s: %u edits", r->name, f->edits);
    dx_manifest_edit_release(&now);
}

static void test_row(const struct row *row)
{
    static const struct dx_store_ops ops = { .put = put, .read = read_object };
    struct flip f = { 0 };
    struct dx_manifest_change change = {
        .edit = edit, .is_ours = is_ours, .ctx = &f, .version = "V"
    };
    const struct dx_root edited = { .name = "root",
                                    .store = &play.store,
                                    .in_place = row->is_directory };
    struct dx_manifest_edit e = { .root = &edited };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root root;
    int rc;

    dx_test_root_make(&root, 3, 1);
    play.store.ops = &ops;
    play.row = row;
    play.puts = 0;
    play.has_put = false;
    if (dx_store_open_local(&play.inner, root.path, &err) < 0)
        abort();
    rc = dx_manifest_edit_run(&e, &change, &err);
    check(&change, &f, rc, &e, err.text);
    dx_manifest_edit_release(&e);
    dx_store_close(&play.inner);
    dx_test_root_remove(&root);
}

/* A writer that began with another manifest than the one that is there now. */
static void test_begun(void)
{
    struct flip f = { 0 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root root;
    struct dx_root edited = DX_ROOT_INIT;
    struct dx_manifest_edit e = { .root = &edited, .put_lock_ms = 1 };
    struct dx_manifest_change change = {
        .edit = edit, .is_ours = is_ours, .ctx = &f, .version = "V", .current = "", .sequence = 0
    };

    dx_test_root_make(&root, 3, 1);
    if (dx_root_open(&edited, root.path, DX_ROOT_WRITE, &err) < 0)
        abort();
    EXPECT(dx_manifest_edit_run(&e, &change, &err) == DX_E_CONFLICT && f.edits == 0 &&
               !e.may_be_there && strstr(err.text, root.version) != NULL,
           "begun without a manifest: %s", err.text);
    change.current = root.version;
    change.sequence = 1;
    EXPECT(dx_manifest_edit_run(&e, &change, &err) == 1, "begun with this one: %s", err.text);
    dx_manifest_edit_release(&e);
    dx_root_close(&edited);
    dx_test_root_remove(&root);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        test_row(&rows[i]);
    test_begun();
    return failures == 0 ? 0 : 1;
}
