/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/policy/suppress.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "builder/root/index_text.h"
#include "builder/root/manifest_edit.h"
#include "builder/root/root.h"
#include "format/root/suppressions_floor.h"
#include "format/version/manifest.h"

#define ACCEPT_LOCK_MS \
    60000u /* for the end of a publish, whose lock the manifest is written under */

/* Of a log that was read, or none. */
static int parse(struct dx_span text, const char *root, struct dx_suppressions *log,
                 struct dx_error *err)
{
    int rc = dx_suppressions_parse(text, DX_SUPPRESSIONS_FILE, log, err);

    return rc < 0 ? dx_fail_in(err, "%s", root) : rc;
}

/* What the manifest says of the log: what versions are cleansed by, and what it has at least. Read before
 * the log, which has no fewer lines by then. A manifest that cannot be read does not matter. */
struct cleansed {
    uint64_t number; /* the highest */
    char version[DX_VERSION_NAME];
    struct dx_manifest bound; /* without versions */
};

static struct cleansed cleansed_of(const char *root)
{
    struct cleansed c = { 0, "", DX_MANIFEST_INIT };
    struct dx_manifest m = DX_MANIFEST_INIT;

    if (dx_root_manifest(root, &m, NULL) < 0)
        return c;
    c.bound.suppressions = m.suppressions;
    c.bound.suppressions_hash = m.suppressions_hash;
    for (size_t i = 0; i < m.version_count; i++)
        if (m.versions[i].cleansed > c.number) {
            c.number = m.versions[i].cleansed;
            memcpy(c.version, m.versions[i].version, sizeof c.version);
        }
    dx_manifest_release(&m);
    return c;
}

/* A log that was lost, or is an older copy: what is added to it would get numbers that a version is
 * said to be cleansed by, and readers would leave those rules out. */
static int check_whole(const struct dx_suppressions *log, const struct cleansed *c,
                       const char *root, struct dx_error *err)
{
    int rc = dx_suppressions_floor_check_bound(log, &c->bound, root, err);

    if (rc < 0)
        return rc;
    return log->count >= c->number
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT,
                         "%s: " DX_SUPPRESSIONS_FILE " has %zu line%s, but version %s was cleansed "
                         "by %llu: the log was lost, and new rules would be taken for old ones. "
                         "Fetch it back; or 'domaindex publish --full --force', and then "
                         "'domaindex gc' until no such version is left",
                         root, log->count, dx_plural(log->count), c->version,
                         (unsigned long long)c->number);
}

/* ---- the floor ---- */

/* Read before the log. */
static int read_floor(const char *root, struct dx_suppressions_floor *floor, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_FLOOR_MAX);
    int rc = dx_index_text_read(root, DX_SUPPRESSIONS_FLOOR, DX_SUPPRESSIONS_FLOOR_MAX, &text, err);

    *floor = (struct dx_suppressions_floor){ .lines = 0 };
    if (rc == 1) {
        rc = dx_suppressions_floor_parse(dx_span_of(text.data, text.size), DX_SUPPRESSIONS_FLOOR,
                                         floor, err);
        rc = rc < 0 ? dx_fail_in(err, "%s", root) : DX_OK;
    }
    dx_buf_release(&text);
    return rc;
}

struct floor_change {
    struct dx_suppressions_floor floor;
    bool force; /* also down, and in place of a damaged one */
};

static int edit_floor(void *ctx, struct dx_span text, struct dx_buf *out, struct dx_error *err)
{
    const struct floor_change *c = ctx;
    struct dx_suppressions_floor there;
    int rc;

    if (!c->force && text.data != NULL) {
        rc = dx_suppressions_floor_parse(text, DX_SUPPRESSIONS_FLOOR, &there, err);
        if (rc < 0 || there.lines >= c->floor.lines)
            return rc < 0 ? rc : 0;
    }
    rc = dx_suppressions_floor_write(&c->floor, out, err);
    return rc < 0 ? rc : 1;
}

static int change_floor(const char *root, struct floor_change *c, struct dx_error *err)
{
    const struct dx_index_text_change change = { .object = DX_SUPPRESSIONS_FLOOR,
                                                 .cap = DX_SUPPRESSIONS_FLOOR_MAX,
                                                 .edit = edit_floor,
                                                 .ctx = c };

    return dx_index_text_change(root, &change, err);
}

/* ---- a change ---- */

struct change {
    const char *root;
    dx_suppress_edit *edit;
    void *ctx;
    struct cleansed cleansed;
    struct dx_suppressions_floor floor; /* that was there before the log was read */
    struct dx_error floor_failure;
    struct dx_suppressions_floor was;  /* of the log before the change */
    struct dx_suppressions_floor made; /* and after it */
    struct dx_suppressions tried;      /* what the last put may have written */
    bool written;                      /* it had, though the reply was lost */
};

static void begin(void *ctx)
{
    struct change *c = ctx;

    c->cleansed = cleansed_of(c->root);
    c->floor_failure = (struct dx_error)DX_ERROR_INIT;
    (void)read_floor(c->root, &c->floor, &c->floor_failure);
}

static int edit_log(struct change *c, struct dx_suppressions *log, struct dx_buf *out,
                    struct dx_error *err)
{
    int rc;

    c->written = c->tried.count > 0 && dx_suppressions_continues(log, &c->tried);
    if (c->written) {
        dx_suppressions_floor_of(log, &c->made);
        return 0;
    }
    if (c->floor_failure.code != DX_OK) {
        if (err != NULL)
            *err = c->floor_failure;
        return (int)c->floor_failure.code;
    }
    rc = dx_suppressions_floor_check(log, &c->floor, c->root, err);
    if (rc == DX_OK)
        rc = check_whole(log, &c->cleansed, c->root, err);
    if (rc == DX_OK) {
        dx_suppressions_floor_of(log, &c->was);
        rc = c->edit(c->ctx, log, err);
        assert(rc != 1 || log->count > c->was.lines);
    }
    if (rc >= 0)
        dx_suppressions_floor_of(log, &c->made);
    if (rc != 1)
        return rc;
    rc = dx_suppressions_write(log, out, err);
    return rc < 0 ? rc : 1;
}

/* Behind the log: a log is never behind its floor unless lines were taken away. */
static int raise_floor(const struct change *c, const struct dx_suppressions_floor *to,
                       struct dx_error *err)
{
    struct floor_change floor = { .floor = *to };
    int rc = to->lines <= c->floor.lines ? 0 : change_floor(c->root, &floor, err);

    return rc < 0 ? dx_fail_in(err, "the rules are in force, but " DX_SUPPRESSIONS_FLOOR
                                    " was not written; run the same command again")
                  : rc;
}

static int edit_text(void *ctx, struct dx_span text, struct dx_buf *out, struct dx_error *err)
{
    struct change *c = ctx;
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    int rc = text.data == NULL ? DX_OK : parse(text, c->root, &log, err);

    if (rc == DX_OK)
        rc = edit_log(c, &log, out, err);
    dx_suppressions_release(&c->tried);
    if (rc == 1)
        c->tried = log;
    else
        dx_suppressions_release(&log);
    return rc;
}

static int read_log(const char *root, struct dx_suppressions *log, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_MAX);
    int rc = dx_index_text_read(root, DX_SUPPRESSIONS_FILE, DX_SUPPRESSIONS_MAX, &text, err);

    *log = (struct dx_suppressions)DX_SUPPRESSIONS_INIT;
    if (rc == 1)
        rc = parse(dx_span_of(text.data, text.size), root, log, err);
    dx_buf_release(&text);
    return rc;
}

int dx_suppress_read(const char *root, struct dx_suppressions *log, struct dx_error *err)
{
    const struct cleansed c = cleansed_of(root);
    struct dx_suppressions_floor floor;
    int rc = read_floor(root, &floor, err);

    *log = (struct dx_suppressions)DX_SUPPRESSIONS_INIT;
    if (rc == DX_OK)
        rc = read_log(root, log, err);
    if (rc == DX_OK)
        rc = dx_suppressions_floor_check(log, &floor, root, err);
    if (rc == DX_OK)
        rc = dx_suppressions_floor_check_bound(log, &c.bound, root, err);
    if (rc < 0)
        dx_suppressions_release(log);
    return rc;
}

/* ---- in the manifest ---- */

/* A log that cannot be read, or is not the one that the manifest knows: what it knows stays. */
bool dx_suppress_bind(const char *root, struct dx_manifest *m)
{
    struct dx_suppressions log;
    struct dx_suppressions_floor floor;
    bool raised = false;

    if (read_log(root, &log, NULL) >= 0 &&
        dx_suppressions_floor_check_bound(&log, m, root, NULL) == DX_OK) {
        dx_suppressions_floor_of(&log, &floor);
        raised = dx_suppressions_floor_bind(&floor, m);
    }
    dx_suppressions_release(&log);
    return raised;
}

struct binding {
    const struct dx_suppressions_floor *to;
    bool accept; /* also down; else only where the manifest says nothing yet */
};

static int edit_binding(void *ctx, struct dx_manifest_edit *e, struct dx_error *err)
{
    const struct binding *b = ctx;
    struct dx_manifest *m = &e->manifest;

    (void)err;
    if (e->etag[0] == '\0' || b->accept != (m->suppressions > 0))
        return 0;
    if (m->suppressions == b->to->lines && dx_hash128_equal(&m->suppressions_hash, &b->to->hash))
        return 0;
    m->suppressions = b->to->lines;
    m->suppressions_hash = b->to->hash;
    return 1;
}

static bool is_bound(void *ctx, const struct dx_manifest *m)
{
    const struct binding *b = ctx;

    return m->suppressions == b->to->lines;
}

/* The sequence stays, as with marks of collectors. */
static int change_binding(const char *root, struct binding *b, uint64_t lock_ms,
                          struct dx_error *err)
{
    const struct dx_manifest_change change = {
        .edit = edit_binding, .is_ours = is_bound, .ctx = b, .version = "of these suppressions"
    };
    int rc = dx_manifest_edit_root(root, &change, lock_ms, err);

    return rc < 0 ? rc : DX_OK;
}

int dx_suppress_accept(const char *root, bool dry_run, uint64_t *lines, struct dx_error *err)
{
    struct floor_change c = { .force = true };
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    int rc = read_log(root, &log, err);

    dx_suppressions_floor_of(&log, &c.floor);
    *lines = c.floor.lines;
    dx_suppressions_release(&log);
    if (rc < 0 || dry_run)
        return rc;
    rc = change_binding(root, &(struct binding){ &c.floor, true }, ACCEPT_LOCK_MS, err);
    return rc < 0 ? rc : change_floor(root, &c, err);
}

/* The first rules of a root, if no other command is writing to it; else its publish does it. */
static void bind_first(const struct change *c)
{
    if (c->cleansed.bound.suppressions == 0 && c->made.lines > 0)
        (void)change_binding(c->root, &(struct binding){ &c->made, false }, 1, NULL);
}

int dx_suppress_change(const char *root, dx_suppress_edit *edit, void *ctx, struct dx_error *err)
{
    struct change c = { .root = root, .edit = edit, .ctx = ctx, .tried = DX_SUPPRESSIONS_INIT };
    const struct dx_index_text_change change = { .object = DX_SUPPRESSIONS_FILE,
                                                 .cap = DX_SUPPRESSIONS_MAX,
                                                 .begin = begin,
                                                 .edit = edit_text,
                                                 .ctx = &c };
    int rc = dx_index_text_change(root, &change, err);

    dx_suppressions_release(&c.tried);
    if (rc >= 0) {
        int raised = raise_floor(&c, &c.made, err);

        bind_first(&c);
        rc = raised < 0 ? raised : c.written ? 1 : rc;
    } else if (c.floor_failure.code == DX_OK) {
        (void)raise_floor(&c, &c.was, NULL); /* one that was killed has left it behind */
    }
    return rc;
}
