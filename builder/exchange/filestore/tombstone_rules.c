/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/filestore/tombstone_rules.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "builder/input/bytes/gzip_lines.h"
#include "builder/policy/suppress.h"
#include "builder/policy/suppress_values.h"
#include "format/version/store_index.h"

#define REASON "deleted in the file store of dataset "
#define LIFT_REASON "is there again in the file store of dataset "
#define LISTS_MAX ((uint64_t)1 << 40) /* of files that we wrote ourselves */

/* A canonical URL that something is to be said of. */
struct tomb {
    char *url;
    bool dead;  /* the tombstone has it */
    bool alive; /* the store has a page of it */
    bool ruled; /* in the log that is edited there is a rule */
};

struct work {
    struct dx_tombstone_rules *t;
    struct dx_suppress_values values; /* its canonicaliser */
    char reason[DX_SUPPRESSIONS_REASON_MAX];
    char lift_reason[DX_SUPPRESSIONS_REASON_MAX];
    struct tomb *tombs;
    size_t count, capacity;
    size_t *slots; /* of tombs, 1 more; 0 is free */
    size_t slot_mask;
};

/* ---- the set of URLs ---- */

static size_t slot_of(const struct work *w, struct dx_span url)
{
    size_t at = (size_t)dx_hash64(url) & w->slot_mask;

    assert(w->count <= w->slot_mask); /* a free slot ends the search */
    while (w->slots[at] != 0 && !dx_span_equal(dx_span_str(w->tombs[w->slots[at] - 1].url), url))
        at = (at + 1) & w->slot_mask;
    return at;
}

static struct tomb *find(const struct work *w, struct dx_span url)
{
    size_t slot = w->slots == NULL ? 0 : w->slots[slot_of(w, url)];

    return slot == 0 ? NULL : &w->tombs[slot - 1];
}

static int grow_set(struct work *w, struct dx_error *err)
{
    size_t capacity = w->capacity == 0 ? 64 : 2 * w->capacity;
    struct tomb *tombs = realloc(w->tombs, capacity * sizeof *tombs);
    size_t *slots = calloc(2 * capacity, sizeof *slots);

    if (tombs != NULL)
        w->tombs = tombs;
    if (tombs == NULL || slots == NULL) {
        free(slots);
        return dx_no_memory(err, "tombstone");
    }
    free(w->slots);
    w->slots = slots;
    w->capacity = capacity;
    w->slot_mask = 2 * capacity - 1;
    for (size_t i = 0; i < w->count; i++)
        w->slots[slot_of(w, dx_span_str(w->tombs[i].url))] = i + 1;
    return DX_OK;
}

/* The one of this URL, made if need be; NULL: failed. */
static struct tomb *tomb_of(struct work *w, struct dx_span url, struct dx_error *err)
{
    struct tomb *tomb = find(w, url);
    char *text;

    if (tomb != NULL || (w->count == w->capacity && grow_set(w, err) < 0))
        return tomb;
    text = strndup((const char *)url.data, url.size);
    if (text == NULL || w->count == DX_SUPPRESSIONS_LINES_MAX) {
        (void)(text == NULL
                   ? dx_no_memory(err, "tombstone")
                   : dx_fail(err, DX_E_LIMIT,
                             "over %u deleted URLs: more than the log of suppressions can hold; "
                             "'ingest --replace' takes them out of the dataset instead",
                             DX_SUPPRESSIONS_LINES_MAX));
        free(text);
        return NULL;
    }
    w->slots[slot_of(w, url)] = w->count + 1;
    tomb = &w->tombs[w->count++];
    *tomb = (struct tomb){ .url = text };
    return tomb;
}

/* ---- what is known of them ---- */

static int take_dead(struct work *w, struct dx_span key, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct tomb *tomb;
    struct dx_span url;

    if (dx_suppress_values_canonical(&w->values, DX_SUPPRESS_URL, key, &url, &why) < 0) {
        w->t->unusable++;
        return DX_OK;
    }
    tomb = tomb_of(w, url, err);
    if (tomb == NULL)
        return (int)err->code;
    tomb->dead = true;
    return DX_OK;
}

static int take_live(struct work *w, struct dx_span key, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct tomb *tomb;
    struct dx_span url;

    (void)err;
    if (dx_suppress_values_canonical(&w->values, DX_SUPPRESS_URL, key, &url, &why) < 0)
        return DX_OK;
    tomb = find(w, url);
    if (tomb != NULL)
        tomb->alive = true;
    return DX_OK;
}

static int each_key(struct work *w, const char *name,
                    int (*take)(struct work *w, struct dx_span key, struct dx_error *err),
                    struct dx_error *err)
{
    const struct dx_gzip_limits limits = { .line_max = DX_STORE_LINE_MAX, .bytes_max = LISTS_MAX };
    struct dx_gzip_lines l = DX_GZIP_LINES_INIT;
    int folder = open(w->t->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dx_span line;
    int rc;

    if (folder < 0)
        return dx_fail_errno(err, errno, "%s: cannot open directory", w->t->folder);
    rc = dx_gzip_lines_open(&l, folder, name, &limits, err);
    while (rc == 1 && (rc = dx_gzip_lines_next(&l, &line, err)) == 1) {
        int taken = take(w, line, err);

        rc = taken < 0 ? taken : 1;
    }
    dx_gzip_lines_close(&l);
    (void)close(folder);
    return rc < 0 ? rc : DX_OK;
}

static bool is_active_url(const struct dx_suppression *line)
{
    return !line->lift && line->other == 0 && line->kind == DX_SUPPRESS_URL &&
           line->policy == DX_SUPPRESS_ABSENT;
}

static bool is_ours(const struct work *w, const struct dx_suppressions *log,
                    const struct dx_suppression *line)
{
    return dx_span_equal(dx_suppression_reason(log, line), dx_span_str(w->reason));
}

/* Rules of earlier runs, so that pages which are there again are looked out for. */
static int take_rules(struct work *w, struct dx_error *err)
{
    struct dx_suppressions log;
    int rc = dx_suppress_read(w->t->root, &log, err);

    for (size_t i = 0; rc == DX_OK && i < log.count; i++)
        if (is_active_url(&log.lines[i]) && is_ours(w, &log, &log.lines[i]) &&
            tomb_of(w, dx_suppression_value(&log, &log.lines[i]), err) == NULL)
            rc = (int)err->code;
    dx_suppressions_release(&log);
    return rc;
}

/* ---- the change ---- */

static int64_t now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000;
}

/* Lifts what is alive again, and sees for which URLs there are rules. */
static int lift_rules(struct work *w, struct dx_suppressions *log, struct dx_error *err)
{
    size_t count = log->count;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        struct tomb *tomb = is_active_url(&log->lines[i])
                                ? find(w, dx_suppression_value(log, &log->lines[i]))
                                : NULL;
        uint64_t number;

        if (tomb == NULL)
            continue;
        if (!tomb->alive || !is_ours(w, log, &log->lines[i])) {
            tomb->ruled = true;
            continue;
        }
        rc = dx_suppressions_lift(log, now_us(), i + 1, dx_span_str(w->lift_reason), &number, err);
        w->t->lifted += rc == DX_OK;
    }
    return rc;
}

static int edit_log(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    struct work *w = ctx;
    uint64_t number;
    int rc;

    w->t->added = w->t->lifted = w->t->kept = w->t->live_too = 0;
    for (size_t i = 0; i < w->count; i++)
        w->tombs[i].ruled = false;
    rc = lift_rules(w, log, err);
    for (size_t i = 0; rc == DX_OK && i < w->count; i++) {
        const struct tomb *tomb = &w->tombs[i];
        const struct dx_suppress_rule rule = { .time_us = now_us(),
                                               .kind = DX_SUPPRESS_URL,
                                               .policy = DX_SUPPRESS_ABSENT,
                                               .value = dx_span_str(tomb->url),
                                               .reason = dx_span_str(w->reason) };

        if (!tomb->dead)
            continue;
        w->t->live_too += tomb->alive;
        w->t->kept += !tomb->alive && tomb->ruled;
        if (tomb->alive || tomb->ruled)
            continue;
        rc = dx_suppressions_add(log, &rule, &number, err);
        w->t->added += rc == DX_OK;
    }
    return rc < 0 ? rc : w->t->added + w->t->lifted > 0;
}

int dx_tombstone_rules_apply(struct dx_tombstone_rules *t, struct dx_error *err)
{
    struct work w = { .t = t };
    int rc = dx_suppress_values_open(&w.values, t->root, err);

    t->unusable = 0;
    (void)snprintf(w.reason, sizeof w.reason, REASON "%s", t->dataset);
    (void)snprintf(w.lift_reason, sizeof w.lift_reason, LIFT_REASON "%s", t->dataset);
    if (rc == DX_OK)
        rc = take_rules(&w, err);
    if (rc == DX_OK)
        rc = each_key(&w, t->dead, take_dead, err);
    if (rc == DX_OK && w.count > 0)
        rc = each_key(&w, t->live, take_live, err);
    if (rc == DX_OK && w.count > 0)
        rc = dx_suppress_change(t->root, edit_log, &w, err);
    for (size_t i = 0; i < w.count; i++)
        free(w.tombs[i].url);
    free(w.tombs);
    free(w.slots);
    dx_suppress_values_release(&w.values);
    return rc;
}
