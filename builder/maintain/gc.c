/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/civil_time.h"
#include "base/log.h"
#include "builder/lake/lake_membership.h"
#include "builder/maintain/gc_leases.h"
#include "builder/maintain/gc_leftovers.h"
#include "builder/maintain/gc_names.h"
#include "builder/maintain/gc_plan.h"
#include "builder/maintain/gc_root.h"
#include "builder/maintain/gc_spool.h"
#include "builder/root/progress.h"
#include "fetch/store/store.h"

/* Each time another process has changed the manifest between our reading and our put; publishes,
 * and other collectors, take seconds at least. */
#define ROUNDS_MAX 1000
#define LINE_MAX_BYTES 512
#define MAX_SHARE_ALL 100

struct pass {
    const struct dx_gc_options *o;
    struct dx_gc_result *result;
    struct dx_gc_root root;
    struct dx_gc_names names;        /* of the entries of root.edit.manifest */
    char names_etag[DX_SOURCE_ETAG]; /* of the manifest that they are of */
    struct dx_gc_planned *planned;   /* one a version */
    bool *going;                     /* the same */
    char (*would)[DX_VERSION_NAME];  /* of a dry run: dropped ones that it would have removed */
    size_t would_count;
};

static void say(const struct pass *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(const struct pass *p, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    va_list ap;

    if (p->o->say == NULL)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    p->o->say(p->o->say_ctx, line);
}

/* ---- step 1: what is there ---- */

/* Lists go with their entries: one that is missing is of an entry that another collector has just
 * removed, or of a root that is damaged. */
static int read_state(struct pass *p, struct dx_error *err)
{
    char missing[DX_SOURCE_ETAG] = "";

    for (;;) {
        int rc = dx_gc_root_read(&p->root, err);

        if (rc < 0 || strcmp(p->root.edit.etag, p->names_etag) == 0)
            return rc;
        dx_gc_names_release(&p->names);
        p->names_etag[0] = '\0';
        rc = dx_gc_names_read(&p->names, p->root.root.source, &p->root.edit.manifest, err);
        if (rc == DX_OK)
            memcpy(p->names_etag, p->root.edit.etag, sizeof p->names_etag);
        if (rc != DX_E_NOT_FOUND || strcmp(missing, p->root.edit.etag) == 0)
            return rc < 0 ? dx_fail_in(err,
                                       "%s: without the list of every version it is unknown what "
                                       "must stay; nothing is removed",
                                       p->o->root)
                          : rc;
        memcpy(missing, p->root.edit.etag, sizeof missing);
    }
}

static int make_plan(struct pass *p, struct dx_error *err)
{
    const struct dx_manifest *m = &p->root.edit.manifest;

    free(p->planned);
    free(p->going);
    p->planned = calloc(m->version_count + 1, sizeof *p->planned);
    p->going = calloc(m->version_count + 1, sizeof *p->going);
    if (p->planned == NULL || p->going == NULL)
        return dx_no_memory(err, "gc");
    dx_gc_plan(m, p->o, p->root.edit.now_us, p->planned);
    return DX_OK;
}

static int check_share(struct pass *p, struct dx_error *err)
{
    uint64_t total, gone;

    dx_gc_names_going(&p->names, p->planned, p->going, p->root.edit.manifest.version_count, &total,
                      &gone);
    if (p->o->max_share < MAX_SHARE_ALL && (double)gone * 100.0 > (double)total * p->o->max_share)
        return dx_fail(err, DX_E_INVALID,
                       "%s: %.0f %% of the bytes of all versions would go, and at most %u %% may; "
                       "if that is meant, say --max-share %.0f",
                       p->o->root, 100.0 * (double)gone / (double)total, p->o->max_share,
                       100.0 * (double)gone / (double)total + 0.5);
    return DX_OK;
}

static int check_leases(struct pass *p, struct dx_error *err)
{
    struct dx_gc_leases leases;
    int rc = dx_gc_leases_read(&leases, &p->root, err);

    if (rc == DX_OK)
        rc = dx_gc_leases_agree(&leases, p->o, err);
    dx_gc_leases_release(&leases);
    return rc;
}

/* ---- steps 2 and 3: marks ---- */

static void say_plan(const struct pass *p)
{
    static const char *const steps[] = { "keep", "condemn", "wait", "drop", "remove" };
    char text[DX_CIVIL_TEXT];

    (void)dx_civil_text_us(p->root.edit.now_us - p->root.edit.now_us % 1000000, text);
    say(p, "it is %s by the clock of %s", text, p->o->root);
    for (size_t i = 0; i < p->root.edit.manifest.version_count; i++) {
        const struct dx_gc_planned *planned = &p->planned[i];
        const char *version = p->root.edit.manifest.versions[i].version;

        const char *of = planned->of != NULL ? planned->of : "";

        (void)dx_civil_text_us(planned->due_us, text);
        if (planned->step == DX_GC_WAIT)
            say(p, "%s wait: condemned, to be dropped from %s on%s%s", version, text,
                *of != '\0' ? ", with " : "", of);
        else
            say(p, "%s %s%s%s%s%s", version, steps[planned->step], planned->why != NULL ? ": " : "",
                planned->why != NULL ? planned->why : "", *of != '\0' ? ": " : "", of);
    }
}

static void count_marks(struct pass *p)
{
    for (size_t i = 0; i < p->root.edit.manifest.version_count; i++) {
        p->result->condemned += p->planned[i].step == DX_GC_CONDEMN;
        p->result->dropped += p->planned[i].step == DX_GC_DROP;
    }
}

/* 1: put, look again; 0: there is nothing to mark. */
static int mark_once(struct pass *p, struct dx_error *err)
{
    int rc = read_state(p, err);

    if (rc == DX_OK)
        rc = make_plan(p, err);
    if (rc == DX_OK)
        rc = check_share(p, err);
    if (rc == DX_OK)
        rc = check_leases(p, err);
    if (rc < 0)
        return rc;
    if (dx_gc_plan_mark(&p->root.edit.manifest, p->planned, p->root.edit.now_us) == 0)
        return 0;
    say_plan(p);
    rc = dx_gc_root_put(&p->root, err);
    if (rc == 1) {
        memcpy(p->names_etag, p->root.edit.etag,
               sizeof p->names_etag); /* the entries are the same */
        count_marks(p);
    }
    return rc < 0 ? rc : 1;
}

static int mark(struct pass *p, struct dx_error *err)
{
    int rc = 1;

    for (int round = 0; rc == 1 && round < ROUNDS_MAX; round++)
        rc = mark_once(p, err);
    if (rc == 0)
        say_plan(p);
    return rc == 1 ? dx_fail(err, DX_E_BUSY, "%s: the manifest changes all the time; try again",
                             p->o->root)
                   : rc;
}

/* ---- steps 4 to 8: a dropped version ---- */

/* A listing may lack a lease that is there, and one listing too few is a version removed from under its readers: so none of some
 * may have it. Where one listing of 33 is short, three of them lacked a lease once in 25,000 simulated systems. */
#define LOOKS 5

/* 1: a lease names it. */
static int find_holder(struct pass *p, const char *version, struct dx_error *err)
{
    struct dx_gc_leases leases;
    const struct dx_gc_lease *holder;
    char until[DX_CIVIL_TEXT];
    int rc = dx_gc_leases_read(&leases, &p->root, err);

    if (rc == DX_OK)
        rc = dx_gc_leases_agree(&leases, p->o, err);
    holder = rc < 0 ? NULL : dx_gc_leases_holder(&leases, p->o, version);
    if (holder != NULL) {
        (void)dx_civil_text_us(dx_gc_lease_until_us(holder, p->o), until);
        say(p, "%s wait: server %s reads it; its lease holds until %.19sZ unless it is renewed",
            version, holder->text.server, until);
        rc = 1;
    }
    dx_gc_leases_release(&leases);
    return rc;
}

static int is_held(struct pass *p, const char *version, struct dx_error *err)
{
    int rc = 0;

    for (unsigned i = 0; i < LOOKS && rc == 0; i++)
        rc = find_holder(p, version, err);
    return rc;
}

static void say_objects(const struct pass *p, const char *version, const char *verb,
                        const struct dx_gc_objects *lake, const struct dx_gc_objects *index,
                        const struct dx_gc_objects *last)
{
    char size[32];

    say(p, "%s %s: %zu lake file%s, %zu object%s of the index, %s", version, verb, lake->count,
        dx_plural(lake->count), index->count + last->count, dx_plural(index->count + last->count),
        dx_progress_size(lake->bytes + index->bytes + last->bytes, size));
}

/* Numbers first: a name that is free again must not be given to a new file, which another
 * collector, on its way with the same list, would remove. */
static int remove_objects(struct pass *p, const struct dx_gc_objects *lake,
                          const struct dx_gc_objects *index, struct dx_error *err)
{
    struct dx_store *store = p->root.root.store;
    int rc;

    assert(p->o->remove);
    rc = dx_gc_root_raise(&p->root, (const char *const *)lake->name, lake->count, err);
    if (rc == DX_OK)
        rc = dx_gc_objects_remove(lake, store, p->o->threads, err);
    if (rc == DX_OK)
        rc = dx_gc_objects_remove(index, store, p->o->threads, err);
    return rc;
}

/* The list of its compaction, if it has one: all of its files were there before its entry was, so
 * no process is about to put one, as may be with a compaction that lost. */
static int remove_claim_list(struct pass *p, const char *version, struct dx_error *err)
{
    char list[sizeof DX_LAKE_CLAIMS + DX_VERSION_NAME + sizeof DX_LAKE_CLAIM_SUFFIX];

    (void)snprintf(list, sizeof list, DX_LAKE_CLAIMS "%s" DX_LAKE_CLAIM_SUFFIX, version);
    return dx_store_remove(p->root.root.store, list, err);
}

/* Removes what only version i has, and its entry: 1; 0 another process was faster, look again. */
static int remove_version(struct pass *p, size_t i, struct dx_error *err)
{
    struct dx_gc_objects lake = DX_GC_OBJECTS_INIT;
    struct dx_gc_objects index = DX_GC_OBJECTS_INIT;
    struct dx_gc_objects last = DX_GC_OBJECTS_INIT; /* go as leftovers, when the entry is gone */
    char version[DX_VERSION_NAME];
    int rc;

    assert(p->root.edit.manifest.versions[i].state == DX_VERSION_DROPPED);
    memcpy(version, p->root.edit.manifest.versions[i].version, sizeof version);
    rc = dx_gc_names_own(&p->names, p->root.root.source, &p->root.edit.manifest, i, &lake, &index,
                         &last, err);
    if (rc == DX_E_NOT_FOUND) {
        /* Its list is gone: so is its entry, or read_state will say more. */
        p->names_etag[0] = '\0';
        rc = 0;
        goto out;
    }
    if (rc == DX_OK && p->o->remove) {
        say_objects(p, version, "remove", &lake, &index, &last);
        rc = remove_objects(p, &lake, &index, err);
        if (rc == DX_OK)
            rc = dx_manifest_remove(&p->root.edit.manifest, version, err);
        if (rc == DX_OK)
            rc = dx_gc_root_put(&p->root, err);
        if (rc == 1) { /* the lists of all others need not be read again */
            dx_gc_names_forget(&p->names, i);
            memcpy(p->names_etag, p->root.edit.etag, sizeof p->names_etag);
        }
        if (rc == 1)
            rc = remove_claim_list(p, version, err) < 0 ? (int)err->code : 1;
    } else if (rc == DX_OK) {
        say_objects(p, version, "would remove", &lake, &index, &last);
        p->result->objects += last.count;
        p->result->bytes += last.bytes;
        rc = 1;
    }
    if (rc == 1) {
        p->result->removed++;
        p->result->objects += lake.count + index.count;
        p->result->bytes += lake.bytes + index.bytes;
    }
out:
    dx_gc_objects_release(&lake);
    dx_gc_objects_release(&index);
    dx_gc_objects_release(&last);
    return rc;
}

static bool would_remove(const struct pass *p, const char *version)
{
    for (size_t i = 0; i < p->would_count; i++)
        if (strcmp(version, p->would[i]) == 0)
            return true;
    return false;
}

/* 1: another entry has it as a part. Dropped ones are gone over newest first, so that is one that
 * has to wait itself. */
static int is_part(const struct pass *p, const char *version)
{
    const struct dx_manifest *m = &p->root.edit.manifest;

    for (size_t i = m->version_count; i-- > 0;) {
        const char *user = m->versions[i].version;

        if (strcmp(user, version) == 0 || !dx_manifest_has_part(&m->versions[i], version) ||
            would_remove(p, user))
            continue;
        say(p, "%s wait: a part of %s, which is still listed", version, user);
        return 1;
    }
    return 0;
}

/* The manifest is read (4) before the leases (5), and both after the put that dropped it. */
static int finish_version(struct pass *p, const char *version, struct dx_error *err)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        const struct dx_manifest_version *v;
        int rc = read_state(p, err);

        v = rc < 0 ? NULL : dx_manifest_find(&p->root.edit.manifest, version);
        if (v == NULL || v->state != DX_VERSION_DROPPED)
            return rc; /* another collector has done it */
        rc = is_part(p, version);
        if (rc == 0)
            rc = is_held(p, version, err);
        if (rc == 1)
            p->result->waiting++;
        if (rc != 0)
            return rc < 0 ? rc : DX_OK;
        rc = remove_version(p, (size_t)(v - p->root.edit.manifest.versions), err);
        if (rc == 1 && !p->o->remove)
            memcpy(p->would[p->would_count++], version, DX_VERSION_NAME);
        if (rc != 0)
            return rc < 0 ? rc : DX_OK;
    }
    return dx_fail(err, DX_E_BUSY, "%s: the manifest changes all the time; try again", p->o->root);
}

static int finish_all(struct pass *p, struct dx_error *err)
{
    size_t count = 0;
    char(*dropped)[DX_VERSION_NAME] = calloc(p->root.edit.manifest.version_count + 1,
                                             sizeof *dropped);
    int rc = DX_OK;

    p->would = calloc(p->root.edit.manifest.version_count + 1, sizeof *p->would);
    if (dropped == NULL || p->would == NULL)
        rc = dx_no_memory(err, "gc");
    for (size_t i = p->root.edit.manifest.version_count; rc == DX_OK && i-- > 0;) {
        const struct dx_manifest_version *v = &p->root.edit.manifest.versions[i];

        if (v->state == DX_VERSION_DROPPED)
            memcpy(dropped[count++], v->version, sizeof *dropped);
        p->result->waiting += v->state == DX_VERSION_CONDEMNED && p->planned[i].step == DX_GC_WAIT;
    }
    for (size_t i = 0; rc == DX_OK && i < count; i++)
        rc = finish_version(p, dropped[i], err);
    free(dropped);
    return rc;
}

/* ---- step 9: what no version has ---- */

/* 1: a lease names a version that has no entry, which a backup into this root is copying. */
static int is_copied(struct pass *p, struct dx_error *err)
{
    struct dx_gc_leases leases;
    int rc = dx_gc_leases_read(&leases, &p->root, err);

    for (size_t i = 0; i < leases.count && rc == DX_OK; i++) {
        const struct dx_lease_text *t = &leases.lease[i].text;

        for (size_t k = 0; k < t->count && rc == DX_OK; k++)
            rc = dx_gc_lease_holds(&leases.lease[i], p->o) &&
                 dx_manifest_find(&p->root.edit.manifest, t->versions[k]) == NULL;
        if (rc == 1)
            say(p, "what has no entry stays: the lease of %s names a version without one",
                t->server);
    }
    dx_gc_leases_release(&leases);
    return rc;
}

/* 1: found; 0: they stay for the next pass. The objects are listed before leases are looked for, and the manifest is read again after
 * them: a backup that has put one of them holds a lease then, or its version has an entry. */
static int find_leftovers(struct pass *p, struct dx_gc_leftovers *l, struct dx_error *err)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        char etag[DX_SOURCE_ETAG];
        int rc = read_state(p, err);

        memcpy(etag, p->root.edit.etag, sizeof etag);
        if (rc == DX_OK)
            rc = dx_gc_leftovers_find(l, &p->root, &p->names, err);
        if (rc == DX_OK)
            rc = is_copied(p, err);
        if (rc == DX_OK)
            rc = read_state(p, err);
        if (rc == DX_OK && strcmp(etag, p->root.edit.etag) == 0)
            return 1;
        dx_gc_leftovers_release(l);
        if (rc != DX_OK)
            return rc < 0 ? rc : 0;
    }
    return dx_fail(err, DX_E_BUSY, "%s: the manifest changes all the time; try again", p->o->root);
}

static int clear_leftovers(struct pass *p, struct dx_error *err)
{
    const struct dx_gc_objects none = DX_GC_OBJECTS_INIT;
    struct dx_gc_leftovers l = DX_GC_LEFTOVERS_INIT;
    int rc = find_leftovers(p, &l, err);

    if (rc <= 0)
        return rc;
    rc = DX_OK;
    if (l.lake.count + l.index.count > 0)
        say_objects(p, "without an entry:", p->o->remove ? "remove" : "would remove", &l.lake,
                    &l.index, &none);
    if (p->o->remove)
        rc = remove_objects(p, &l.lake, &l.index, err);
    for (size_t i = 0; rc == DX_OK && p->o->remove && i < l.folder_count; i++)
        rc = dx_gc_root_tidy(&p->root, l.folder[i], err);
    if (rc == DX_OK && p->o->remove)
        rc = dx_gc_root_sweep(&p->root, err);
    if (rc == DX_OK) {
        p->result->objects += l.lake.count + l.index.count;
        p->result->bytes += l.lake.bytes + l.index.bytes;
    }
    dx_gc_leftovers_release(&l);
    return rc;
}

/* ---- the pass ---- */

/* What those that are to be condemned or dropped have, if they all went together. */
static void say_later(const struct pass *p)
{
    const struct dx_manifest *m = &p->root.edit.manifest;
    uint64_t total, gone, objects;
    unsigned versions = 0;
    char size[32];

    for (size_t i = 0; i < m->version_count; i++) {
        p->going[i] = p->planned[i].step != DX_GC_KEEP;
        versions += p->going[i];
    }
    dx_gc_names_share(&p->names, p->going, &total, &gone, &objects);
    if (versions > 0)
        say(p,
            "%u version%s to go, now or later, with %llu object%s of index and lake, %s of their "
            "own",
            versions, dx_plural(versions), (unsigned long long)objects, dx_plural(objects),
            dx_progress_size(gone, size));
}

static int dry_run(struct pass *p, struct dx_error *err)
{
    int rc = read_state(p, err);

    if (rc == DX_OK)
        rc = make_plan(p, err);
    if (rc == DX_OK) {
        say_plan(p);
        say_later(p);
        rc = check_share(p, err);
    }
    if (rc == DX_OK)
        rc = check_leases(p, err);
    if (rc == DX_OK)
        count_marks(p);
    return rc;
}

static int clear_spool(struct pass *p, struct dx_error *err)
{
    struct dx_gc_objects old = DX_GC_OBJECTS_INIT;
    int rc = dx_gc_spool_find(&old, &p->root, p->o->spool_s, err);

    if (rc == DX_OK && old.count > 0)
        say(p, "spool: %s %zu object%s, %llu bytes, of jobs that did not end",
            p->o->remove ? "remove" : "would remove", old.count, dx_plural(old.count),
            (unsigned long long)old.bytes);
    if (rc == DX_OK && p->o->remove)
        rc = dx_gc_objects_remove(&old, p->root.root.store, p->o->threads, err);
    if (rc == DX_OK) {
        p->result->objects += old.count;
        p->result->bytes += old.bytes;
    }
    dx_gc_objects_release(&old);
    return rc;
}

int dx_gc(const struct dx_gc_options *o, struct dx_gc_result *result, struct dx_error *err)
{
    struct dx_error own = DX_ERROR_INIT;
    struct pass p = { .o = o, .result = result };
    int rc;

    assert(o->keep > 0 && o->max_share <= MAX_SHARE_ALL);
    err = err != NULL ? err : &own;
    *result = (struct dx_gc_result){ 0 };
    rc = dx_gc_root_open(&p.root, o->root, o->remove, o->lock_wait_ms, err);
    if (rc < 0)
        return rc;
    rc = o->remove ? mark(&p, err) : dry_run(&p, err);
    if (rc == DX_OK)
        rc = finish_all(&p, err);
    if (rc == DX_OK)
        rc = clear_leftovers(&p, err);
    if (rc == DX_OK)
        rc = clear_spool(&p, err);
    free(p.planned);
    free(p.going);
    free(p.would);
    dx_gc_names_release(&p.names);
    dx_gc_root_close(&p.root);
    return rc;
}
