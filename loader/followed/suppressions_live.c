/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/followed/suppressions_live.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "format/root/rules.h"
#include "format/root/suppressions_floor.h"
#include "loader/followed/followed.h"

struct snapshot {
    struct dx_rules *rules;
    long pins; /* one is of the current snapshot itself */
    struct snapshot *next;
};

struct dx_suppressions_live {
    char *root;
    enum dx_suppressions_live_use use;
    struct dx_followed followed;      /* of the polling thread alone */
    struct dx_suppressions_floor log; /* that was taken last; of the polling thread alone */
    _Atomic bool any;                 /* whether there is an active rule: no lock if not */
    _Atomic uint64_t turn;            /* odd: the rules are being exchanged */
    pthread_mutex_t lock;             /* of what follows */
    struct snapshot *current;         /* NULL: no rules */
    struct snapshot *coming;          /* not in force yet; NULL: none */
    struct snapshot *snapshots;       /* all that are alive */
    struct dx_error failure;          /* of the last poll; its text is empty if it was well */
    void *kept;
    void (*drop)(void *kept);
};

/* ---- reading ---- */

/* The log if it is not the one that was taken last: 1, else 0. */
static int read_log(struct dx_suppressions_live *o, char etag[DX_SOURCE_ETAG],
                    struct dx_suppressions *log, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_MAX);
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    rc = dx_followed_read(&o->followed, &text, etag, &why);
    if (rc == DX_E_NOT_FOUND && o->log.lines == 0)
        rc = 0;
    else if (rc == DX_E_NOT_FOUND)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s/" DX_SUPPRESSIONS_FILE ": it had %" PRIu64
                     " line%s and is gone; the rules "
                     "stay in force. Restore it",
                     o->root, o->log.lines, dx_plural(o->log.lines));
    else if (rc < 0 && err != NULL)
        *err = why;
    if (rc == 1)
        rc = dx_suppressions_parse(dx_span_of(text.data, text.size), DX_SUPPRESSIONS_FILE, log,
                                   err);
    else
        *log = (struct dx_suppressions)DX_SUPPRESSIONS_INIT;
    dx_buf_release(&text);
    return rc < 0 ? rc : log->text.size > 0;
}

/* ---- snapshots ---- */

/* With the lock. What it returns has no holder left: the caller frees it without the lock, as it may be large. */
static struct snapshot *let_go(struct dx_suppressions_live *o, struct snapshot *s)
{
    struct snapshot **at = &o->snapshots;

    if (s == NULL || --s->pins > 0)
        return NULL;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    return s;
}

static void free_snapshot(struct snapshot *s)
{
    if (s == NULL)
        return;
    dx_rules_free(&s->rules);
    free(s);
}

static int take_log(struct dx_suppressions_live *o, const struct dx_suppressions *log,
                    struct dx_error *err)
{
    struct snapshot *s = calloc(1, sizeof *s);
    struct snapshot *never;
    int rc = s == NULL ? dx_no_memory(err, "suppressions") : dx_rules_new(&s->rules, log, err);

    if (rc < 0) {
        free(s);
        return rc;
    }
    s->pins = 1;
    dx_suppressions_floor_of(log, &o->log);
    (void)pthread_mutex_lock(&o->lock);
    s->next = o->snapshots;
    o->snapshots = s;
    if (o->coming != NULL)
        atomic_fetch_add(&o->turn,
                         2); /* what was found for those that never came is not of these */
    never = let_go(o, o->coming);
    o->coming = s;
    (void)pthread_mutex_unlock(&o->lock);
    free_snapshot(never);
    return 1;
}

void dx_suppressions_live_exchange(struct dx_suppressions_live *o)
{
    struct snapshot *before = NULL;

    if (o == NULL)
        return;
    (void)pthread_mutex_lock(&o->lock);
    if (o->coming != NULL) {
        atomic_fetch_add(&o->turn, 1);
        before = let_go(o, o->current);
        o->current = o->coming;
        o->coming = NULL;
        atomic_store_explicit(&o->any, o->current->rules->count > 0, memory_order_release);
        atomic_fetch_add(&o->turn, 1);
    }
    (void)pthread_mutex_unlock(&o->lock);
    free_snapshot(before);
}

/* With the lock. */
static const struct dx_rules *pin_snapshot(struct snapshot *s)
{
    if (s == NULL)
        return NULL;
    s->pins++;
    return s->rules;
}

const struct dx_rules *dx_suppressions_live_pin_turn(struct dx_suppressions_live *o, uint64_t *turn)
{
    const struct dx_rules *rules;

    *turn = 0;
    if (o == NULL || !atomic_load_explicit(&o->any, memory_order_acquire))
        return NULL;
    (void)pthread_mutex_lock(&o->lock);
    rules = pin_snapshot(o->current);
    *turn = atomic_load(&o->turn);
    (void)pthread_mutex_unlock(&o->lock);
    return rules;
}

const struct dx_rules *dx_suppressions_live_pin(struct dx_suppressions_live *o)
{
    uint64_t turn;

    return dx_suppressions_live_pin_turn(o, &turn);
}

const struct dx_rules *dx_suppressions_live_pin_next(struct dx_suppressions_live *o, uint64_t *turn)
{
    const struct dx_rules *rules;

    *turn = 0;
    if (o == NULL)
        return NULL;
    (void)pthread_mutex_lock(&o->lock);
    rules = pin_snapshot(o->coming);
    *turn = atomic_load(&o->turn) + 2;
    (void)pthread_mutex_unlock(&o->lock);
    return rules;
}

uint64_t dx_suppressions_live_turn(const struct dx_suppressions_live *o)
{
    return o == NULL ? 0 : atomic_load_explicit(&o->turn, memory_order_acquire);
}

void dx_suppressions_live_unpin(struct dx_suppressions_live *o, const struct dx_rules *rules)
{
    struct snapshot *s;

    if (rules == NULL)
        return;
    (void)pthread_mutex_lock(&o->lock);
    /* The first one nearly always: few logs are replaced while an answer is made. */
    for (s = o->snapshots; s->rules != rules; s = s->next)
        ;
    s = let_go(o, s);
    (void)pthread_mutex_unlock(&o->lock);
    free_snapshot(s);
}

/* ---- open, poll, close ---- */

/* What the log has at least; read before the log, which only grows. No floor: any log will do. */
static int read_floor(const char *root, const struct dx_source_options *options,
                      struct dx_suppressions_floor *floor, struct dx_error *err)
{
    struct dx_followed f = { .object = DX_SUPPRESSIONS_FLOOR, .cap = DX_SUPPRESSIONS_FLOOR_MAX };
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_FLOOR_MAX);
    struct dx_error why = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc = dx_followed_open(&f, root, NULL, options, &why);

    *floor = (struct dx_suppressions_floor){ .lines = 0 };
    if (rc == DX_OK)
        rc = dx_followed_read(&f, &text, etag, &why);
    if (rc == 1)
        rc = dx_suppressions_floor_parse(dx_span_of(text.data, text.size), DX_SUPPRESSIONS_FLOOR,
                                         floor, &why);
    if (rc == DX_E_NOT_FOUND)
        rc = DX_OK;
    dx_buf_release(&text);
    dx_followed_close(&f);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc < 0 ? dx_fail_in(err, "%s", root) : DX_OK;
}

/* floor, m: what the log has at least, beside what was taken; may be NULL. */
static int poll_log(struct dx_suppressions_live *o, const struct dx_suppressions_floor *floor,
                    const struct dx_manifest *m, struct dx_error *err)
{
    struct dx_suppressions log;
    char etag[DX_SOURCE_ETAG];
    int rc = read_log(o, etag, &log, err);

    if (rc == 1 && !dx_suppressions_floor_holds(&o->log, &log))
        rc = dx_fail(err, DX_E_INVALID,
                     "%s/" DX_SUPPRESSIONS_FILE ": not a continuation of the %" PRIu64
                     " lines that are in force; they stay. Restore it, and add to it with "
                     "'domaindex suppress'",
                     o->root, o->log.lines);
    if (rc >= 0 && floor != NULL && dx_suppressions_floor_check(&log, floor, o->root, err) < 0)
        rc = DX_E_CORRUPT;
    if (rc >= 0 && m != NULL && dx_suppressions_floor_check_bound(&log, m, o->root, err) < 0)
        rc = DX_E_CORRUPT;
    if (rc == 1)
        rc = log.count > o->log.lines ? take_log(o, &log, err) : 0;
    dx_suppressions_release(&log);
    if (rc >= 0)
        dx_followed_take(&o->followed, etag);
    return rc;
}

static int look(struct dx_suppressions_live *o, const struct dx_suppressions_floor *floor,
                const struct dx_manifest *m, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = poll_log(o, floor, m, &why);

    (void)pthread_mutex_lock(&o->lock);
    o->failure = why;
    (void)pthread_mutex_unlock(&o->lock);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

int dx_suppressions_live_look(struct dx_suppressions_live *o, struct dx_error *err)
{
    return o == NULL ? 0 : look(o, NULL, NULL, err);
}

/* The whole log is read again: what is known of it is the hash of all of its lines. */
int dx_suppressions_live_check(struct dx_suppressions_live *o, const struct dx_manifest *m,
                               struct dx_error *err)
{
    int rc = DX_OK;

    if (o == NULL || m->suppressions == 0)
        return DX_OK;
    o->followed.etag[0] = '\0';
    rc = look(o, NULL, m, err);
    dx_suppressions_live_exchange(o);
    return rc < 0 ? rc : DX_OK;
}

int dx_suppressions_live_open(struct dx_suppressions_live **out, const char *root,
                              const struct dx_source_options *options,
                              enum dx_suppressions_live_use use, struct dx_error *err)
{
    struct dx_suppressions_live *o = calloc(1, sizeof *o);
    struct dx_suppressions_floor floor;
    int rc = DX_OK;

    *out = NULL;
    if (o == NULL)
        return dx_no_memory(err, "%s", root);
    (void)pthread_mutex_init(&o->lock, NULL);
    o->use = use;
    o->root = strdup(root);
    if (o->root == NULL)
        rc = dx_no_memory(err, "%s", root);
    o->followed = (struct dx_followed){ .object = DX_SUPPRESSIONS_FILE,
                                        .cap = DX_SUPPRESSIONS_MAX };
    if (rc == DX_OK)
        rc = dx_followed_open(&o->followed, root, NULL, options, err);
    if (rc == DX_OK)
        rc = read_floor(root, options, &floor, err);
    if (rc == DX_OK)
        rc = look(o, &floor, NULL, err);
    if (rc < 0) {
        dx_suppressions_live_close(&o);
        return rc;
    }
    dx_suppressions_live_exchange(o);
    *out = o;
    return DX_OK;
}

void dx_suppressions_live_close(struct dx_suppressions_live **out)
{
    struct dx_suppressions_live *o = *out;

    *out = NULL;
    if (o == NULL)
        return;
    if (o->kept != NULL)
        o->drop(o->kept);
    if (o->current != NULL)
        dx_suppressions_live_unpin(o, o->current->rules);
    if (o->coming != NULL)
        dx_suppressions_live_unpin(o, o->coming->rules);
    dx_followed_close(&o->followed);
    (void)pthread_mutex_destroy(&o->lock);
    free(o->root);
    free(o);
}

void dx_suppressions_live_health(struct dx_suppressions_live *o,
                                 struct dx_suppressions_live_health *health)
{
    struct dx_error why = DX_ERROR_INIT;

    *health = (struct dx_suppressions_live_health){ .sound = true };
    if (o != NULL) {
        bool hangs = dx_followed_hangs(&o->followed, &why) < 0;

        (void)pthread_mutex_lock(&o->lock);
        if (!hangs)
            why = o->failure;
        health->sound = why.code == DX_OK;
        health->look_age_ms = dx_followed_age_ms(&o->followed);
        if (o->current != NULL) {
            health->number = o->current->rules->number;
            health->rules = o->current->rules->count;
        }
        (void)snprintf(health->text, sizeof health->text, "%s", why.text);
        (void)pthread_mutex_unlock(&o->lock);
    }
    if (health->sound)
        (void)snprintf(health->text, sizeof health->text, "sound");
}

enum dx_suppressions_live_use dx_suppressions_live_use_of(const struct dx_suppressions_live *o)
{
    return o->use;
}

void *dx_suppressions_live_kept(struct dx_suppressions_live *o,
                                void *(*make)(struct dx_suppressions_live *o),
                                void (*drop)(void *kept))
{
    void *kept;

    if (o == NULL)
        return NULL;
    (void)pthread_mutex_lock(&o->lock);
    if (o->kept == NULL && make != NULL) {
        o->kept = make(o);
        o->drop = drop;
    }
    kept = o->kept;
    (void)pthread_mutex_unlock(&o->lock);
    return kept;
}
