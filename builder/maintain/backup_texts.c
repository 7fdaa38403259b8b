/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/backup_texts.h"

#include <assert.h>
#include <string.h>

#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_layout.h"
#include "builder/policy/suppress.h"
#include "builder/publish/publish_job.h"
#include "canon/psl.h"
#include "format/root/access_json.h"
#include "format/root/domain64_manifest.h"
#include "format/root/suppressions_floor.h"

/* Books are merged and removed while they are copied: the list is read again. */
#define BOOK_ROUNDS 10

/* One text at both ends; data NULL: it is not there. */
struct pair {
    const struct dx_backup_end *from, *to;
    struct dx_span now, then;
    struct dx_backup_least least;
    const char *work;
};

typedef int check_pair(const struct pair *p, struct dx_error *err);

static int lost(const struct pair *p, const char *object, struct dx_error *err)
{
    return dx_fail(err, DX_E_INVALID,
                   "%s has no %s, and its backup %s has one: it was lost; copy that file back "
                   "before the next backup",
                   p->from->root, object, p->to->root);
}

/* An older table must not take the place of one that is lost: what it hid would be shown. */
static int check_least(const struct pair *p, uint64_t generation, struct dx_error *err)
{
    int rc = dx_access_check_least(generation, p->least.access_from, p->from->root, err);

    if (rc < 0 || generation >= p->least.access_to)
        return rc;
    return dx_fail(err, DX_E_INVALID,
                   DX_ACCESS_FILE " of %s (generation %llu; 0: none) is older than %llu, which was "
                                  "in force in %s (" DX_MANIFEST_FILE
                                  "), and what that hid could be shown. Restore the newer table in "
                                  "%s; or give it up: 'domaindex access accept --root %s'",
                   p->from->root, (unsigned long long)generation,
                   (unsigned long long)p->least.access_to, p->to->root, p->to->root, p->to->root);
}

static int check_access(const struct pair *p, struct dx_error *err)
{
    struct dx_access_json now = DX_ACCESS_JSON_INIT;
    struct dx_access_json then = DX_ACCESS_JSON_INIT;
    int rc = DX_OK;

    if (p->now.data == NULL)
        return p->then.data == NULL ? check_least(p, 0, err) : lost(p, DX_ACCESS_FILE, err);
    rc = dx_access_json_parse(&now, p->now, DX_ACCESS_FILE, err);
    if (rc == DX_OK)
        rc = check_least(p, now.generation, err);
    if (rc == DX_OK && p->then.data != NULL)
        rc = dx_access_json_parse(&then, p->then, DX_ACCESS_FILE, err);
    if (rc == DX_OK && then.generation > now.generation)
        rc = dx_fail(err, DX_E_INVALID,
                     DX_ACCESS_FILE ": generation %llu in %s is older than %llu in its backup %s",
                     (unsigned long long)now.generation, p->from->root,
                     (unsigned long long)then.generation, p->to->root);
    dx_access_json_release(&now);
    dx_access_json_release(&then);
    return rc;
}

/* What was in force in the copy's place, though its log may be lost: 1, or 0 if nothing is
 * known. */
static int read_floor(const struct pair *p, struct dx_buf *text,
                      struct dx_suppressions_floor *floor, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    int rc = p->to->r.source == NULL ? 0
                                     : dx_root_get(&p->to->r, DX_SUPPRESSIONS_FLOOR,
                                                   DX_SUPPRESSIONS_FLOOR_MAX, text, etag, err);

    if (rc == 1 && dx_suppressions_floor_parse(dx_span_of(text->data, text->size),
                                               DX_SUPPRESSIONS_FLOOR, floor, err) < 0)
        rc = DX_E_CORRUPT;
    return rc < 0 ? dx_fail_in(err, "%s", p->to->root) : rc;
}

/* An older log must not take the place of one that is lost: what it hid would be shown. */
static int check_floor(const struct pair *p, const struct dx_suppressions *now,
                       struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_FLOOR_MAX);
    struct dx_suppressions_floor floor;
    int rc = read_floor(p, &text, &floor, err);

    dx_buf_release(&text);
    if (rc != 1 || dx_suppressions_floor_check(now, &floor, p->to->root, NULL) == DX_OK)
        return rc < 0 ? rc : DX_OK;
    return dx_fail(err, DX_E_INVALID,
                   DX_SUPPRESSIONS_FILE
                   " of %s (%zu lines) does not begin with the %llu lines that "
                   "were in force in %s (" DX_SUPPRESSIONS_FLOOR
                   "): it is an older or another log, and what the missing "
                   "rules hid would be shown. Restore the newer log in %s "
                   "first; or give the missing rules up: 'domaindex suppress "
                   "accept --root %s'",
                   p->from->root, now->count, (unsigned long long)floor.lines, p->to->root,
                   p->to->root, p->to->root);
}

static int check_log(const struct pair *p, struct dx_error *err)
{
    struct dx_suppressions now = DX_SUPPRESSIONS_INIT;
    struct dx_suppressions then = DX_SUPPRESSIONS_INIT;
    int rc = dx_suppress_read(p->from->root, &now, err); /* not behind its floor */

    dx_suppressions_release(&now);
    if (rc == DX_OK && p->now.data != NULL)
        rc = dx_suppressions_parse(p->now, DX_SUPPRESSIONS_FILE, &now, err);
    if (rc == DX_OK && p->then.data != NULL)
        rc = dx_suppressions_parse(p->then, DX_SUPPRESSIONS_FILE, &then, err);
    if (rc == DX_OK && p->now.data == NULL && p->then.data != NULL)
        rc = lost(p, DX_SUPPRESSIONS_FILE, err);
    else if (rc == DX_OK && !dx_suppressions_continues(&now, &then))
        rc = dx_fail(err, DX_E_INVALID,
                     DX_SUPPRESSIONS_FILE " of %s (%zu lines) does not begin with the %zu lines of "
                                          "its backup %s: fetch the lost rules back first",
                     p->from->root, now.count, then.count, p->to->root);
    else if (rc == DX_OK && now.count < p->least.lines)
        rc = dx_fail(err, DX_E_CORRUPT,
                     DX_SUPPRESSIONS_FILE
                     " of %s has %zu lines, but %llu were in force: the log was lost",
                     p->from->root, now.count, (unsigned long long)p->least.lines);
    else if (rc == DX_OK)
        rc = check_floor(p, &now, err);
    dx_suppressions_release(&now);
    dx_suppressions_release(&then);
    return rc;
}

/* Ids are never given twice, and what was removed stays so: a registry of before lacks one or the other. The id of what it lacks; 0: nothing. */
static uint32_t lacked_by(const struct dx_registry *now, const struct dx_registry *then)
{
    for (size_t i = 0; i < then->count; i++) {
        const struct dx_dataset *d = &then->datasets[i];
        const struct dx_dataset *same = dx_registry_by_id(now, d->dataset_id);

        if (same != NULL ? strcmp(same->name, d->name) != 0
                         : !dx_registry_removed(now, d->dataset_id))
            return d->dataset_id;
    }
    for (size_t i = 0; i < then->removed_count; i++)
        if (!dx_registry_removed(now, then->removed[i]))
            return then->removed[i];
    return 0;
}

static int check_registry(const struct pair *p, struct dx_error *err)
{
    struct dx_dataset_registry *now = NULL;
    struct dx_dataset_registry *then = NULL;
    uint32_t lacked = 0;
    int rc = p->now.data == NULL
                 ? dx_fail(err, DX_E_NOT_FOUND, "%s has no " DX_DATASET_REGISTRY_FILE,
                           p->from->root)
                 : dx_dataset_registry_parse(&now, p->now, DX_DATASET_REGISTRY_FILE, err);

    if (rc == DX_OK && p->then.data != NULL)
        rc = dx_dataset_registry_parse(&then, p->then, DX_DATASET_REGISTRY_FILE, err);
    if (rc == DX_OK && then != NULL)
        lacked = lacked_by(dx_dataset_registry_registry(now), dx_dataset_registry_registry(then));
    if (lacked != 0)
        rc = dx_fail(err, DX_E_INVALID,
                     DX_DATASET_REGISTRY_FILE
                     " of %s does not say of dataset %u what that of its backup %s says: it is an "
                     "older one, or another. Copy "
                     "that file back from the backup",
                     p->from->root, (unsigned)lacked, p->to->root);
    dx_dataset_registry_free(&now);
    dx_dataset_registry_free(&then);
    return rc;
}

static int check_psl(const struct pair *p, struct dx_error *err)
{
    return p->now.data != NULL
               ? DX_OK
               : dx_fail(err, DX_E_NOT_FOUND, "%s has no " DX_LAKE_PSL, p->from->root);
}

/* Whether the numbers that `then` gave are those of `now`, as far as its list tells: books that were merged are others. */
static bool goes_on(const struct dx_domain64_manifest *now, const struct dx_domain64_manifest *then)
{
    bool same = strcmp(now->id, then->id) == 0 && now->layout == then->layout &&
                dx_domain64_manifest_last(now) >= dx_domain64_manifest_last(then);

    for (size_t i = 0; same && i < DX_NUMBER_PARTS; i++)
        same = now->names[i] >= then->names[i];
    for (size_t i = 0; i < now->count; i++)
        for (size_t k = 0; same && k < then->count; k++)
            same = now->file[i].first != then->file[k].first ||
                   now->file[i].last != then->file[k].last ||
                   dx_hash128_equal(&now->file[i].hash, &then->file[k].hash);
    return same;
}

/* Numbers that were given can be had from nowhere else. */
static int check_numbers(const struct pair *p, struct dx_error *err)
{
    struct dx_domain64_manifest now = DX_DOMAIN64_MANIFEST_INIT;
    struct dx_domain64_manifest then = DX_DOMAIN64_MANIFEST_INIT;
    int rc = DX_OK;

    if (p->now.data == NULL)
        return p->then.data == NULL ? DX_OK : lost(p, DX_DOMAIN64_MANIFEST_FILE, err);
    rc = dx_domain64_manifest_parse(&now, p->now, DX_DOMAIN64_MANIFEST_FILE, err);
    if (rc < 0 || p->then.data == NULL)
        return rc;
    rc = dx_domain64_manifest_parse(&then, p->then, DX_DOMAIN64_MANIFEST_FILE, err);
    if (rc < 0)
        return dx_fail_in(err, "%s", p->to->root);
    return goes_on(&now, &then)
               ? DX_OK
               : dx_fail(err, DX_E_INVALID,
                         DX_DOMAIN64_MANIFEST_FILE
                         " of %s (registry %.8s, %u fillings) does not go on from that of its "
                         "backup %s (registry %.8s, "
                         "%u fillings), and numbers that were given would be lost. "
                         "Copy " DX_NUMBER_FOLDER
                         " back from the backup; or, if others are meant, remove it there",
                         p->from->root, now.id, (unsigned)dx_domain64_manifest_last(&now),
                         p->to->root, then.id, (unsigned)dx_domain64_manifest_last(&then));
}

static int copy_books(const struct pair *p, struct dx_error *err)
{
    struct dx_domain64_manifest list = DX_DOMAIN64_MANIFEST_INIT;
    int rc = p->now.data == NULL
                 ? DX_OK
                 : dx_domain64_manifest_parse(&list, p->now, DX_DOMAIN64_MANIFEST_FILE, err);

    assert(p->work != NULL); /* a check has none, and copies nothing */
    for (size_t i = 0; rc == DX_OK && i < list.count; i++) {
        char name[DX_NUMBER_OBJECT];
        const struct dx_backup_object object = { .name = name,
                                                 .size = list.file[i].size,
                                                 .hash = list.file[i].hash };

        dx_number_object(&list.file[i], name);
        rc = dx_backup_end_has(p->to, &object, p->work, err);
        if (rc == 0)
            rc = dx_backup_end_copy(p->from, p->to, &object, p->work, err);
        rc = rc > 0 ? DX_OK : rc;
    }
    return rc;
}

/* Of the log that was copied: that of the root may be of a longer one by now. */
static int write_floor(const struct pair *p, struct dx_error *err)
{
    struct dx_buf now = DX_BUF_INIT(DX_SUPPRESSIONS_FLOOR_MAX);
    struct dx_buf then = DX_BUF_INIT(DX_SUPPRESSIONS_FLOOR_MAX);
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_suppressions_floor floor;
    struct dx_suppressions_floor before;
    int rc = dx_suppressions_parse(p->now, DX_SUPPRESSIONS_FILE, &log, err);

    if (rc == DX_OK) {
        dx_suppressions_floor_of(&log, &floor);
        rc = dx_suppressions_floor_write(&floor, &now, err);
    }
    if (rc == DX_OK)
        rc = read_floor(p, &then, &before, err);
    if (rc >= 0)
        rc = dx_backup_end_write(p->to, DX_SUPPRESSIONS_FLOOR, dx_span_of(now.data, now.size),
                                 rc == 1 ? dx_span_of(then.data, then.size) : dx_span_of(NULL, 0),
                                 err);
    dx_suppressions_release(&log);
    dx_buf_release(&now);
    dx_buf_release(&then);
    return rc;
}

static const struct text {
    const char *object;
    size_t cap;
    check_pair *check;  /* NULL: any bytes will do */
    check_pair *before; /* done before it is written; NULL: nothing */
    check_pair *after;
} texts[] = {
    { DX_ACCESS_FILE, DX_ACCESS_MAX, check_access, NULL, NULL },
    { DX_LAKE_PSL, DX_PSL_TEXT_MAX, check_psl, NULL, NULL },
    { DX_DATASET_REGISTRY_FILE, DX_REGISTRY_MAX, check_registry, NULL, NULL },
    { DX_DOMAIN64_MANIFEST_FILE, DX_DOMAIN64_MANIFEST_MAX, check_numbers, copy_books, NULL },
    { DX_SUPPRESSIONS_FILE, DX_SUPPRESSIONS_MAX, check_log, NULL, write_floor },
};

static int read_text(const struct dx_backup_end *e, const struct text *t, struct dx_buf *out,
                     struct dx_span *text, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    int rc;

    *text = dx_span_of(NULL, 0);
    if (e->r.source == NULL)
        return DX_OK;
    out->size = 0;
    rc = dx_root_get(&e->r, t->object, t->cap, out, etag, err);
    if (rc == 1)
        *text = out->size == 0 ? dx_span_str("") : dx_span_of(out->data, out->size);
    return rc < 0 ? dx_fail_in(err, "%s", e->root) : DX_OK;
}

static int take_text(const struct text *t, struct pair *p, bool write, struct dx_error *err)
{
    struct dx_buf now = DX_BUF_INIT(t->cap);
    struct dx_buf then = DX_BUF_INIT(t->cap);
    int rc = read_text(p->from, t, &now, &p->now, err);

    if (rc == DX_OK)
        rc = read_text(p->to, t, &then, &p->then, err);
    if (rc == DX_OK && t->check != NULL)
        rc = t->check(p, err);
    if (rc == DX_OK && write && t->before != NULL)
        rc = t->before(p, err);
    if (rc == DX_OK && write && p->now.data != NULL)
        rc = dx_backup_end_write(p->to, t->object, p->now, p->then, err);
    if (rc >= 0 && write && p->now.data != NULL && t->after != NULL)
        rc = t->after(p, err);
    dx_buf_release(&now);
    dx_buf_release(&then);
    return rc;
}

static int take_texts(struct pair *p, bool write, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < sizeof texts / sizeof *texts; i++)
        for (int round = 0; round < BOOK_ROUNDS; round++) {
            rc = take_text(&texts[i], p, write, err);
            if (rc != DX_E_NOT_FOUND || texts[i].before == NULL)
                break;
        }
    return rc;
}

int dx_backup_texts_check(const struct dx_backup_end *from, const struct dx_backup_end *to,
                          const struct dx_backup_least *least, struct dx_error *err)
{
    struct pair p = { .from = from, .to = to, .least = *least };

    return take_texts(&p, false, err);
}

int dx_backup_texts_copy(const struct dx_backup_end *from, const struct dx_backup_end *to,
                         const struct dx_backup_least *least, const char *work,
                         struct dx_error *err)
{
    struct pair p = { .from = from, .to = to, .least = *least, .work = work };

    return take_texts(&p, true, err);
}
