/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/backup.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/periodic.h"
#include "builder/lake/lake_membership.h"
#include "builder/maintain/backup_end.h"
#include "builder/maintain/backup_texts.h"
#include "builder/root/manifest_edit.h"
#include "builder/root/parallel.h"
#include "builder/root/root_probe.h"
#include "builder/root/work_folder.h"
#include "fetch/store/store.h"
#include "format/root/suppressions_floor.h"
#include "loader/lease.h"
#include "loader/version.h"

#define MARK_HEAD "domaindex backup 1\n"
#define MARK_MAX 16384
#define HOLD_ROUNDS 20 /* versions that go while we ask for their lease */

struct backup;

/* A lease of the wanted versions in one of the roots; lease NULL: none. */
struct holding {
    struct backup *b;
    const char *root;
    struct dx_lease *lease;
    struct dx_periodic *renewing;
};

struct backup {
    const struct dx_backup_options *o;
    struct dx_backup_result *result;
    struct dx_backup_end from, to; /* to.r.source NULL: a directory that is not there yet */
    struct dx_work_folder work;

    struct dx_manifest now;                    /* the source's, while the versions are held */
    const struct dx_manifest_version **wanted; /* by sequence; with the parts of each */
    size_t wanted_count;
    struct holding held; /* in the source, so that no collector removes them */
    struct holding
        copied; /* in the destination, so that none takes what is there already for leftovers */

    struct dx_manifest then; /* the destination's; no versions: it has none */
    char then_etag[DX_SOURCE_ETAG];
    struct dx_buf mark;          /* as it is there */
    struct dx_backup_list wants; /* of the wanted versions */
    struct dx_backup_list known; /* of the destination's manifest */
    struct dx_manifest made;     /* the destination's to be */
    uint64_t sequence, access;   /* of made */
    size_t strange;              /* objects there that are of no version */
};

static void say(const struct backup *b, const char *line)
{
    if (b->o->say != NULL)
        b->o->say(line);
}

/* ---- the ends ---- */

static int check_apart(const struct backup *b, struct dx_error *err)
{
    size_t from = strlen(b->from.id);
    size_t to = strlen(b->to.id);
    const char *inner = from < to ? b->to.id : b->from.id;
    size_t n = from < to ? from : to;

    if (strncmp(b->from.id, b->to.id, n) == 0 && (inner[n] == '\0' || inner[n] == '/'))
        return dx_fail(err, DX_E_INVALID, "%s and %s: one is, or is in, the other", b->o->root,
                       b->o->to);
    return DX_OK;
}

/* A dry run makes nothing. */
static int open_ends(struct backup *b, struct dx_error *err)
{
    const struct dx_backup_options *o = b->o;
    int rc = dx_backup_end_open(&b->from, o->root, DX_ROOT_READ, err);

    if (rc == DX_OK && o->dry_run && dx_root_in_place(o->to) && access(o->to, F_OK) < 0) {
        b->to = (struct dx_backup_end){ .root = o->to, .r = DX_ROOT_INIT };
        return DX_OK;
    }
    if (rc == DX_OK)
        rc = dx_backup_end_open(&b->to, o->to, DX_ROOT_WRITE, err);
    if (rc == DX_OK)
        rc = check_apart(b, err);
    return rc == DX_OK && !o->dry_run
               ? dx_root_enter(&b->to.r, 0, (int64_t)time(NULL) * 1000000, err)
               : rc;
}

/* ---- the source: versions and their lease ---- */

static int want(struct backup *b, const struct dx_manifest_version *v, struct dx_error *err)
{
    if (v == NULL || v->state == DX_VERSION_DROPPED)
        return dx_fail(err, DX_E_NOT_FOUND, "%s: version %s is not listed, or being removed",
                       b->o->root, b->o->version);
    b->wanted[b->wanted_count++] = v;
    return DX_OK;
}

/* Behind the older versions that it has files of; each of them is a version of its own. */
static int want_with_parts(struct backup *b, const struct dx_manifest_version *v,
                           struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; v != NULL && i < v->part_count && rc == DX_OK; i++) {
        const struct dx_manifest_version *part = dx_manifest_find(&b->now, v->parts[i]);

        rc = part != NULL && part->state != DX_VERSION_DROPPED
                 ? want(b, part, err)
                 : dx_fail(err, DX_E_CORRUPT, "%s: manifest: version %s: its part %s is not listed",
                           b->o->root, v->version, v->parts[i]);
    }
    return rc < 0 ? rc : want(b, v, err);
}

static int choose_versions(struct backup *b, struct dx_error *err)
{
    int rc = DX_OK;

    free(b->wanted);
    b->wanted_count = 0;
    b->wanted = calloc(b->now.version_count + 1, sizeof *b->wanted);
    if (b->wanted == NULL)
        return dx_no_memory(err, "backup");
    if (!b->o->all)
        return want_with_parts(b,
                               b->o->version != NULL ? dx_manifest_said(&b->now, b->o->version)
                                                     : dx_manifest_current(&b->now),
                               err);
    for (size_t i = 0; i < b->now.version_count && rc == DX_OK; i++)
        if (b->now.versions[i].state != DX_VERSION_DROPPED)
            rc = want(b, &b->now.versions[i], err);
    return rc;
}

/* All of b->wanted, with the manifest that is there then. */
static int hold_wanted(const struct holding *h, struct dx_manifest *m, struct dx_error *err)
{
    const struct backup *b = h->b;
    const char **names = calloc(b->wanted_count + 1, sizeof *names);
    int rc = names == NULL ? dx_no_memory(err, "backup") : DX_OK;

    assert(h->lease != NULL);
    for (size_t i = 0; i < b->wanted_count && rc == DX_OK; i++)
        names[i] = b->wanted[i]->version;
    if (rc == DX_OK)
        rc = dx_lease_hold(h->lease, names, b->wanted_count, m, err);
    free(names);
    return rc;
}

/* 1: the lease holds all of b->wanted; 0: gc has removed one, so choose again from the manifest. */
static int hold(struct backup *b, struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    int rc = hold_wanted(&b->held, &m, err);

    for (size_t i = 0; i < b->wanted_count && rc >= 0; i++)
        rc = dx_lease_until(b->held.lease, b->wanted[i]->version) == 0 || rc == 1;
    if (rc >= 0)
        rc = rc == 0;
    if (rc == 0) {
        dx_manifest_release(&b->now);
        b->now = m;
    } else {
        dx_manifest_release(&m);
    }
    return rc;
}

static uint64_t renew(void *ctx, bool asked)
{
    const struct holding *h = ctx;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_manifest m = DX_MANIFEST_INIT;
    char line[640];

    (void)asked;
    if (hold_wanted(h, &m, &err) < 0) {
        (void)snprintf(line, sizeof line, "the lease was not renewed: %s", err.text);
        say(h->b, line);
    }
    dx_manifest_release(&m);
    return (uint64_t)h->b->o->lease_ttl_s * 1000 / 3;
}

static int keep_holding(struct holding *h, struct dx_error *err)
{
    return dx_periodic_start(&h->renewing, "lease", (uint64_t)h->b->o->lease_ttl_s * 1000 / 3,
                             renew, h, err);
}

static int open_lease(struct holding *h, struct dx_error *err)
{
    struct backup *b = h->b;
    struct dx_error why = DX_ERROR_INIT;
    struct dx_source_options source;
    struct dx_lease_options o = { .ttl_s = b->o->lease_ttl_s, .source = &source };
    char name[DX_LEASE_SERVER] = "backup-";
    char line[640];
    int rc = dx_root_options(&source, err);

    if (rc < 0)
        return rc;
    (void)gethostname(name + 7, sizeof name - 8);
    o.server = dx_lease_server_ok(dx_span_str(name)) ? name : "backup";
    rc = dx_lease_open(&h->lease, h->root, &o, &why);
    if (rc == DX_E_UNSUPPORTED || rc == DX_E_DENIED) {
        (void)snprintf(line, sizeof line,
                       "no lease can be written in %s, so a gc beside this can end it: %s", h->root,
                       why.text);
        say(b, line);
        return DX_OK;
    }
    if (rc < 0)
        *err = why;
    return rc;
}

static int open_source(struct backup *b, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    int rc = dx_version_manifest_get(b->from.r.source, b->o->root, NULL, etag, &b->now, err);

    rc = rc < 0 ? rc : DX_OK;
    if (rc == DX_OK && !b->o->dry_run)
        rc = open_lease(&b->held, err);
    if (rc == DX_OK)
        rc = choose_versions(b, err);
    for (int round = 0; rc == DX_OK && b->held.lease != NULL; round++) {
        rc = hold(b, err);
        if (rc == 1)
            break;
        if (rc == 0 && round == HOLD_ROUNDS)
            rc = dx_fail(err, DX_E_BUSY, "%s: versions go faster than they can be held",
                         b->o->root);
        if (rc == 0)
            rc = choose_versions(b, err);
    }
    if (rc == 1)
        rc = keep_holding(&b->held, err);
    for (size_t i = 0; i < b->wanted_count && rc == DX_OK; i++)
        rc = dx_backup_list_read(&b->wants, b->from.r.source, b->wanted[i], err);
    return rc;
}

/* ---- the destination: what is there ---- */

static int read_then(struct backup *b, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char etag[DX_SOURCE_ETAG];
    int rc = dx_root_get(&b->to.r, DX_MANIFEST_FILE, DX_MANIFEST_MAX, &text, b->then_etag, err);

    if (rc == 1)
        rc = dx_manifest_parse(dx_span_of(text.data, text.size), DX_MANIFEST_FILE, &b->then, err);
    else
        b->then_etag[0] = '\0';
    dx_buf_release(&text);
    if (rc >= 0)
        rc = dx_root_get(&b->to.r, DX_BACKUP_MARK_FILE, MARK_MAX, &b->mark, etag, err);
    return rc < 0 ? dx_fail_in(err, "%s", b->o->to) : DX_OK;
}

/* A list that is damaged there makes its objects unknown: they are read, and mended. */
static int read_known(struct backup *b, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < b->then.version_count && rc == DX_OK; i++) {
        struct dx_error why = DX_ERROR_INIT;

        rc = dx_backup_list_read(&b->known, b->to.r.source, &b->then.versions[i], &why);
        if (rc == DX_E_CORRUPT || rc == DX_E_NOT_FOUND || rc == DX_E_TRUNCATED) {
            say(b, why.text);
            rc = DX_OK;
        } else if (rc < 0) {
            *err = why;
        }
    }
    return rc < 0 ? dx_fail_in(err, "%s", b->o->to) : rc;
}

static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct backup *b = ctx;
    struct dx_backup_object *o = dx_backup_list_find(&b->wants, listed->object);

    (void)err;
    if (o != NULL)
        o->there = listed->size == o->size;
    b->strange += o == NULL && strcmp(listed->object, DX_ROOT_PROBE_FILE) != 0;
    return DX_OK;
}

static void mark_of(const struct backup *b, struct dx_buf *out)
{
    dx_buf_str(out, MARK_HEAD);
    dx_buf_str(out, b->from.id);
    dx_buf_str(out, "\n");
}

static int check_mark(const struct backup *b, struct dx_error *err)
{
    struct dx_buf mark = DX_BUF_INIT(MARK_MAX);
    size_t head = strlen(MARK_HEAD);
    bool same;

    mark_of(b, &mark);
    same = !mark.failed &&
           dx_span_equal(dx_span_of(mark.data, mark.size), dx_span_of(b->mark.data, b->mark.size));
    dx_buf_release(&mark);
    if (same || b->o->force || (b->mark.size == 0 && b->then.version_count == 0 && b->strange == 0))
        return DX_OK;
    if (b->mark.size > head + 1)
        return dx_fail(err, DX_E_INVALID,
                       "%s is a backup of %.*s; if %s is that root under another name, say --force",
                       b->o->to, (int)(b->mark.size - head - 1), (const char *)b->mark.data + head,
                       b->o->root);
    return dx_fail(err, DX_E_INVALID,
                   "%s is a root of its own, not a backup of %s; take an empty destination, or "
                   "say --force",
                   b->o->to, b->o->root);
}

/* A collector may be removing its objects now, also those that are there. */
static int check_dropped(const struct backup *b, struct dx_error *err)
{
    for (size_t i = 0; i < b->wanted_count; i++) {
        const struct dx_manifest_version *v = dx_manifest_find(&b->then, b->wanted[i]->version);

        if (v != NULL && v->state == DX_VERSION_DROPPED)
            return dx_fail(err, DX_E_BUSY,
                           "%s: version %s is being removed there; run 'domaindex gc --root %s "
                           "--delete' to its end, "
                           "then back up again",
                           b->o->to, v->version, b->o->to);
    }
    return DX_OK;
}

/* Versions of one name are the same version, objects of one name the same object. */
static int check_history(const struct backup *b, struct dx_error *err)
{
    for (size_t i = 0; i < b->then.version_count; i++) {
        const struct dx_manifest_version *v = &b->then.versions[i];
        bool strange = v->sequence > b->now.sequence;

        for (size_t k = 0; k < b->now.version_count && !strange; k++)
            strange = b->now.versions[k].sequence == v->sequence &&
                      (strcmp(b->now.versions[k].version, v->version) != 0 ||
                       memcmp(&b->now.versions[k].build, &v->build, sizeof v->build) != 0);
        if (strange)
            return dx_fail(err, DX_E_INVALID,
                           "%s has a version %s that is not of %s: something was published there; "
                           "take an empty destination",
                           b->o->to, v->version, b->o->root);
    }
    for (size_t i = 0; i < b->wants.count; i++) {
        const struct dx_backup_object *o = &b->wants.object[i];
        const struct dx_backup_object *known = dx_backup_list_find(&b->known, o->name);

        if (known != NULL && !dx_backup_object_same(o, known))
            return dx_fail(err, DX_E_INVALID,
                           "%s has another %s than %s: take an empty destination", b->o->to,
                           o->name, b->o->root);
    }
    return DX_OK;
}

static struct dx_backup_least texts_least(const struct backup *b)
{
    uint64_t most = b->now.suppressions > b->then.suppressions ? b->now.suppressions
                                                               : b->then.suppressions;

    for (size_t i = 0; i < b->now.version_count; i++)
        if (b->now.versions[i].cleansed > most)
            most = b->now.versions[i].cleansed;
    return (struct dx_backup_least){ most, b->now.access, b->then.access };
}

static bool is_new(const struct backup *b, const struct dx_manifest_version *v)
{
    return dx_manifest_find(&b->then, v->version) == NULL;
}

/* A collector takes a version without an entry that is not above the sequence for one that will never have one. */
static bool looks_over(const struct backup *b)
{
    for (size_t i = 0; i < b->wanted_count; i++)
        if (is_new(b, b->wanted[i]) && b->wanted[i]->sequence <= b->then.sequence)
            return true;
    return false;
}

/* Before the listing: what is there then is there for us. */
static int hold_copied(struct backup *b, struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    int rc = looks_over(b) && !b->o->dry_run ? open_lease(&b->copied, err) : DX_OK;

    if (rc < 0 || b->copied.lease == NULL)
        return rc;
    rc = hold_wanted(&b->copied, &m, err);
    dx_manifest_release(&m);
    return rc < 0 ? rc : keep_holding(&b->copied, err);
}

static int list_there(struct backup *b, struct dx_error *err)
{
    int rc;

    for (size_t i = 0; i < b->wants.count; i++)
        b->wants.object[i].there = false;
    rc = dx_store_list(b->to.r.store, DX_INDEX_DIR "/", see, b, err);
    return rc < 0 ? rc : dx_store_list(b->to.r.store, DX_LAKE_DIR "/", see, b, err);
}

/* What is below these folders is looked at by itself; a file system of its own has lost+found, and a directory that was
 * locked has .lock. */
static int refuse_foreign(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    static const char *const known[] = { DX_INDEX_DIR "/", DX_LAKE_DIR "/", "probe/", "lost+found/",
                                         "." };
    const struct backup *b = ctx;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(listed->object, known[i], strlen(known[i])) == 0)
            return DX_OK;
    return dx_fail(err, DX_E_INVALID,
                   "%s: '%s' is there, so it is neither empty nor a backup; take an empty "
                   "destination, or say --force",
                   b->o->to, listed->object);
}

/* One without mark and manifest is empty, or not a backup. */
static int check_empty(struct backup *b, struct dx_error *err)
{
    if (b->o->force || b->mark.size > 0 || b->then.version_count > 0)
        return DX_OK;
    return dx_store_list(b->to.r.store, "", refuse_foreign, b, err);
}

static int open_destination(struct backup *b, struct dx_error *err)
{
    struct dx_backup_least least;
    int rc = DX_OK;

    if (b->to.r.source != NULL) {
        rc = read_then(b, err);
        if (rc == DX_OK)
            rc = check_empty(b, err);
        if (rc == DX_OK)
            rc = hold_copied(b, err);
        if (rc == DX_OK)
            rc = read_known(b, err);
        if (rc == DX_OK)
            rc = list_there(b, err);
        if (rc == DX_OK)
            rc = check_mark(b, err);
        if (rc == DX_OK)
            rc = check_history(b, err);
        if (rc == DX_OK)
            rc = check_dropped(b, err);
    }
    least = texts_least(b);
    return rc < 0 ? rc : dx_backup_texts_check(&b->from, &b->to, &least, err);
}

/* ---- copying ---- */

/* Lake files that are new here, in the list of a version that is not in the manifest yet: they
 * belong to no version. */
static int write_claim(const struct backup *b, const struct dx_manifest_version *v,
                       struct dx_error *err)
{
    struct dx_backup_list list = DX_BACKUP_LIST_INIT;
    struct dx_buf text = DX_BUF_INIT(DX_LAKE_CLAIM_MAX);
    char name[sizeof DX_LAKE_CLAIMS + DX_VERSION_NAME + sizeof DX_LAKE_CLAIM_SUFFIX];
    int rc = dx_backup_list_read(&list, b->from.r.source, v, err);

    for (size_t i = 0; i < list.count && rc == DX_OK; i++)
        if (list.object[i].lake && dx_backup_list_find(&b->known, list.object[i].name) == NULL) {
            dx_buf_str(&text, list.object[i].name);
            dx_buf_str(&text, "\n");
        }
    (void)snprintf(name, sizeof name, DX_LAKE_CLAIMS "%s" DX_LAKE_CLAIM_SUFFIX, v->version);
    if (rc == DX_OK && text.failed)
        rc = dx_buf_fail(&text, err, name);
    if (rc == DX_OK && text.size > 0)
        rc = dx_backup_end_write(&b->to, name, dx_span_of(text.data, text.size),
                                 dx_span_of(NULL, 0), err);
    dx_backup_list_release(&list);
    dx_buf_release(&text);
    return rc;
}

static int announce(const struct backup *b, struct dx_error *err)
{
    struct dx_buf mark = DX_BUF_INIT(MARK_MAX);
    int rc;

    mark_of(b, &mark);
    rc = mark.failed
             ? dx_buf_fail(&mark, err, DX_BACKUP_MARK_FILE)
             : dx_backup_end_write(&b->to, DX_BACKUP_MARK_FILE, dx_span_of(mark.data, mark.size),
                                   dx_span_of(b->mark.data, b->mark.size), err);
    dx_buf_release(&mark);
    for (size_t i = 0; i < b->wanted_count && rc == DX_OK; i++)
        if (is_new(b, b->wanted[i]))
            rc = write_claim(b, b->wanted[i], err);
    return rc;
}

struct copying {
    struct backup *b;
    _Atomic uint64_t objects, bytes; /* that were written */
};

/* Whether the destination's manifest vouches for it. */
static bool is_known(const struct backup *b, const struct dx_backup_object *o)
{
    return o->there && !b->o->recheck && dx_backup_list_find(&b->known, o->name) != NULL;
}

static int copy_one(void *ctx, size_t i, struct dx_error *err)
{
    struct copying *c = ctx;
    struct backup *b = c->b;
    const struct dx_backup_object *o = &b->wants.object[i];
    char work[PATH_MAX];
    int rc = dx_path_format(work, sizeof work, err, "%s/%zu", b->work.path, i);

    if (rc == DX_OK)
        rc = is_known(b, o);
    if (b->o->stopped != NULL && b->o->stopped())
        return dx_fail(err, DX_E_BUSY,
                       "interrupted; %s has what it had before, and the next run goes on",
                       b->o->to);
    if (rc == 0 && o->there && !b->o->dry_run)
        rc = dx_backup_end_has(&b->to, o, work, err);
    if (rc == 0) {
        rc = b->o->dry_run ? DX_OK : dx_backup_end_copy(&b->from, &b->to, o, work, err);
        atomic_fetch_add(&c->objects, 1);
        atomic_fetch_add(&c->bytes, o->size);
    }
    if (b->o->progress != NULL) {
        atomic_fetch_add(&b->o->progress->objects, 1);
        atomic_fetch_add(&b->o->progress->bytes, o->size);
    }
    return rc < 0 ? rc : DX_OK;
}

static int copy_objects(struct backup *b, struct dx_error *err)
{
    struct copying c = { .b = b };
    int rc;

    for (size_t i = 0; i < b->wants.count; i++)
        b->result->bytes += b->wants.object[i].size;
    b->result->objects = b->wants.count;
    if (b->o->progress != NULL)
        atomic_store(&b->o->progress->bytes_total, b->result->bytes);
    rc = dx_parallel(b->o->threads, b->wants.count, copy_one, &c, err);
    b->result->objects_copied = atomic_load(&c.objects);
    b->result->bytes_copied = atomic_load(&c.bytes);
    return rc;
}

/* ---- the manifest ---- */

/* In the state that it has there, or listed. */
static int add_version(struct dx_manifest *m, const struct dx_manifest_version *from, bool listed,
                       struct dx_error *err)
{
    struct dx_manifest_version *to = NULL;
    struct dx_manifest_version copy;
    size_t count = 0;
    int rc = dx_manifest_version_copy(from, &copy, err);

    if (rc == DX_OK)
        rc = dx_manifest_add(m, from->version, &to, err);
    if (rc < 0)
        return rc;
    /* ETags are of the store that it was in; in a pack they stay, and say nothing of another one. */
    for (size_t i = 0; i < copy.file_count; i++)
        if (dx_manifest_packed(&copy) || strcmp(copy.files[i].name, DX_FILE_ETAGS) != 0)
            copy.files[count++] = copy.files[i];
    copy.file_count = count;
    if (listed) {
        copy.state = DX_VERSION_LISTED;
        copy.condemned_us = DX_MANIFEST_NEVER;
    }
    *to = copy;
    return DX_OK;
}

/* Both lists ascend by sequence, and so does the new one. What the destination has stays as it is; what
 * its collector has marked is listed again only if it is wanted. */
static int join_versions(const struct backup *b, struct dx_manifest *m, struct dx_error *err)
{
    size_t w = 0;
    size_t t = 0;
    int rc = DX_OK;

    while (rc == DX_OK && (w < b->wanted_count || t < b->then.version_count)) {
        bool old = w == b->wanted_count || (t < b->then.version_count &&
                                            b->then.versions[t].sequence <= b->wanted[w]->sequence);
        const struct dx_manifest_version *v = old ? &b->then.versions[t] : b->wanted[w];
        bool wanted = w < b->wanted_count && v->sequence == b->wanted[w]->sequence;

        w += wanted;
        t += old;
        rc = add_version(m, v, wanted, err);
    }
    return rc;
}

/* The log and the table that are copied are read after both manifests were. */
static void bind_texts(const struct backup *b, struct dx_manifest *m)
{
    const struct dx_suppressions_floor now = { b->now.suppressions, b->now.suppressions_hash };
    const struct dx_suppressions_floor then = { b->then.suppressions, b->then.suppressions_hash };

    (void)dx_suppressions_floor_bind(&now, m);
    (void)dx_suppressions_floor_bind(&then, m);
    m->access = b->now.access > b->then.access ? b->now.access : b->then.access;
}

static int make_manifest(const struct backup *b, struct dx_manifest *m, struct dx_error *err)
{
    const char *current = b->o->all ? b->now.current : b->wanted[b->wanted_count - 1]->version;
    uint64_t sequence = b->then.sequence + 1;
    int rc = join_versions(b, m, err);

    assert(b->o->all || b->wanted_count > 0);
    m->sequence = b->then.sequence;
    memcpy(m->current, b->then.current, sizeof m->current);
    bind_texts(b, m);
    b->result->unchanged = m->version_count == b->then.version_count &&
                           strcmp(current, b->then.current) == 0;
    if (rc < 0 || b->result->unchanged)
        return rc;
    if (sequence < b->now.sequence)
        sequence = b->now.sequence;
    return dx_manifest_flip(m, current, sequence, (int64_t)time(NULL) * 1000000, err);
}

/* What was copied follows from the manifest that was read first: not even a collector may have
 * changed it. */
static int take_made(void *ctx, struct dx_manifest_edit *e, struct dx_error *err)
{
    struct backup *b = ctx;

    if (strcmp(e->etag, b->then_etag) != 0)
        return dx_fail(err, DX_E_CONFLICT,
                       "%s: the manifest was changed by another command meanwhile; run it again",
                       e->root->name);
    dx_manifest_release(&e->manifest);
    e->manifest = b->made;
    b->made = (struct dx_manifest)DX_MANIFEST_INIT;
    return 1;
}

static bool is_made(void *ctx, const struct dx_manifest *m)
{
    const struct backup *b = ctx;

    return m->sequence == b->sequence && strcmp(m->current, b->result->version) == 0 &&
           m->access == b->access;
}

static int put_manifest(struct backup *b, struct dx_error *err)
{
    struct dx_manifest_edit e = { .root = &b->to.r };
    const struct dx_manifest_change change = { .edit = take_made,
                                               .is_ours = is_made,
                                               .ctx = b,
                                               .version = b->result->version,
                                               .current = b->then.current,
                                               .sequence = b->then.sequence };
    int rc;

    b->sequence = b->made.sequence;
    b->access = b->made.access;
    rc = dx_manifest_edit_run(&e, &change, err);
    if (rc == DX_E_LIMIT)
        (void)dx_fail_in(err, "%s has too many versions (domaindex gc --root %s removes them)",
                         b->o->to, b->o->to);
    dx_manifest_edit_release(&e);
    return rc < 0 ? rc : DX_OK;
}

/* A collector that began before us may have removed, or may remove, what it took for leftovers. */
static int check_there(struct backup *b, struct dx_error *err)
{
    int rc = b->copied.lease != NULL ? list_there(b, err) : DX_OK;

    for (size_t i = 0; i < b->wants.count && rc == DX_OK && b->copied.lease != NULL; i++)
        if (!b->wants.object[i].there)
            rc = dx_fail(
                err, DX_E_BUSY,
                "%s: another command has removed %s, which was copied; run the backup again",
                b->o->to, b->wants.object[i].name);
    return rc;
}

static int flip(struct backup *b, struct dx_error *err)
{
    int rc = check_there(b, err);
    bool changed;

    if (rc == DX_OK)
        rc = make_manifest(b, &b->made, err);

    for (size_t i = 0; i < b->wanted_count; i++)
        b->result->versions_new += is_new(b, b->wanted[i]);
    b->result->versions = b->wanted_count;
    memcpy(b->result->version, b->o->all ? b->now.current : b->wanted[b->wanted_count - 1]->version,
           sizeof b->result->version);
    /* The access table that was copied is bound also where no version is new. */
    changed = !b->result->unchanged || (rc == DX_OK && b->made.access != b->then.access);
    return rc == DX_OK && changed && !b->o->dry_run ? put_manifest(b, err) : rc;
}

/* ---- all of it ---- */

static int copy_all(struct backup *b, struct dx_error *err)
{
    const struct dx_backup_least least = texts_least(b);
    char work[sizeof b->work.path + 24];
    int rc = DX_OK;

    if (!b->o->dry_run) {
        rc = dx_work_folder_make(&b->work, b->o->work_dir, "backup", err);
        if (rc == DX_OK)
            rc = announce(b, err);
    }
    if (rc == DX_OK)
        rc = copy_objects(b, err);
    if (rc == DX_OK)
        rc = dx_path_format(work, sizeof work, err, "%s/text", b->work.path);
    if (rc == DX_OK && !b->o->dry_run)
        rc = dx_backup_texts_copy(&b->from, &b->to, &least, work, err);
    return rc < 0 ? rc : flip(b, err);
}

static void let_go(struct holding *h)
{
    dx_periodic_stop(&h->renewing);
    dx_lease_close(&h->lease);
}

static void release(struct backup *b)
{
    let_go(&b->held);
    let_go(&b->copied);
    dx_backup_list_release(&b->wants);
    dx_backup_list_release(&b->known);
    dx_manifest_release(&b->now);
    dx_manifest_release(&b->then);
    dx_manifest_release(&b->made);
    dx_buf_release(&b->mark);
    free(b->wanted);
    dx_work_folder_remove(&b->work);
    dx_backup_end_close(&b->from);
    dx_backup_end_close(&b->to);
}

int dx_backup(const struct dx_backup_options *o, struct dx_backup_result *result,
              struct dx_error *err)
{
    struct backup b = { .o = o,
                        .result = result,
                        .work = DX_WORK_FOLDER_INIT,
                        .now = DX_MANIFEST_INIT,
                        .then = DX_MANIFEST_INIT,
                        .made = DX_MANIFEST_INIT,
                        .mark = DX_BUF_INIT(MARK_MAX),
                        .held = { &b, o->root, NULL, NULL },
                        .copied = { &b, o->to, NULL, NULL } };
    int rc;

    *result = (struct dx_backup_result){ .objects = 0 };
    rc = open_ends(&b, err);
    if (rc == DX_OK)
        rc = open_source(&b, err);
    if (rc == DX_OK)
        rc = open_destination(&b, err);
    if (rc == DX_OK)
        rc = copy_all(&b, err);
    release(&b);
    return rc;
}
