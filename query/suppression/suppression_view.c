/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/suppression_view.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "query/suppression/ruled_domains.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

#define BUCKETS (1u << 16)

/* Of what is kept: the least recently requested go first. A domain with a million separate
 * hidden rows holds 24 MB. What was requested within KEPT_MS is kept beyond it: an answer about many domains needs what is
 * hidden of all of them at once, and would never be given if some of it went whenever more came. */
#define KEPT_BYTES ((size_t)256 << 20)
#define KEPT_MOST ((size_t)2 << 30)
#define KEPT_MS 60000

/* Rows that could not be read are not tried again sooner: each try may wait for a store. */
#define AGAIN_MS 1000

/* The answer is the same for the same rules about the same domain of the same build, whatever else
 * the log says and whatever the version is called. */
struct key {
    struct dx_build_id build;
    uint64_t domain_id;
    uint64_t sign;
};

enum state { WANTED, READY, FAILED };

struct dx_suppression_view_entry {
    struct key key;
    enum state state;
    long pins;
    struct dx_suppression_rows rows; /* of READY; never changes then */
    char *failure;                   /* of FAILED; NULL: out of memory */
    uint64_t again_ms;
    uint64_t used_ms; /* of a listed one */
    bool listed;      /* not of WANTED */
    struct desk *desk;
    struct dx_suppression_view_entry *in_bucket;
    struct dx_suppression_view_entry *newer, *older; /* by use, of listed ones */
};

struct job {
    struct key key;
    struct dx_version *version; /* pinned */
    struct dx_found found;
    struct job *next;
};

struct desk {
    struct dx_suppressions_live *suppressions;
    pthread_mutex_t lock; /* of all below, and of the entries */
    pthread_cond_t work;
    pthread_cond_t done;
    struct dx_suppression_view_entry **buckets;
    struct dx_suppression_view_entry *newest, *oldest;
    size_t bytes, kept_bytes; /* now; what is kept of any age */
    struct job *first, **last;
    size_t jobs; /* queued, or in the thread's hands */
    bool started;
    _Atomic bool stopping;
    pthread_t thread;
};

/* ---- entries, under the lock ---- */

static size_t bucket_of(const struct key *key)
{
    uint8_t bytes[32];

    memcpy(bytes, key->build.bytes, 16);
    dx_store_u64(bytes + 16, key->domain_id);
    dx_store_u64(bytes + 24, key->sign);
    return (size_t)dx_hash64(dx_span_of(bytes, sizeof bytes)) % BUCKETS;
}

static bool same_key(const struct key *a, const struct key *b)
{
    return a->domain_id == b->domain_id && a->sign == b->sign &&
           memcmp(a->build.bytes, b->build.bytes, sizeof a->build.bytes) == 0;
}

static void unlink_use(struct desk *d, struct dx_suppression_view_entry *e)
{
    if (!e->listed)
        return;
    e->listed = false;
    *(e->newer != NULL ? &e->newer->older : &d->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &d->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void link_use(struct desk *d, struct dx_suppression_view_entry *e)
{
    e->older = d->newest;
    *(d->newest != NULL ? &d->newest->newer : &d->oldest) = e;
    d->newest = e;
    e->listed = true;
    e->used_ms = dx_clock_ms();
}

static size_t bytes_of(const struct dx_suppression_view_entry *e)
{
    return sizeof *e + e->rows.bytes;
}

static struct dx_suppression_view_entry *find(struct desk *d, const struct key *key)
{
    struct dx_suppression_view_entry *e = d->buckets[bucket_of(key)];

    while (e != NULL && !same_key(&e->key, key))
        e = e->in_bucket;
    return e;
}

static void forget(struct desk *d, struct dx_suppression_view_entry *e)
{
    struct dx_suppression_view_entry **at = &d->buckets[bucket_of(&e->key)];

    while (*at != e)
        at = &(*at)->in_bucket;
    *at = e->in_bucket;
    unlink_use(d, e);
    d->bytes -= bytes_of(e);
    dx_suppression_rows_release(&e->rows);
    free(e->failure);
    free(e);
}

static struct dx_suppression_view_entry *make(struct desk *d, const struct key *key)
{
    struct dx_suppression_view_entry *e = calloc(1, sizeof *e);

    if (e == NULL)
        return NULL;
    e->key = *key;
    e->desk = d;
    e->in_bucket = d->buckets[bucket_of(key)];
    d->buckets[bucket_of(key)] = e;
    d->bytes += bytes_of(e);
    return e;
}

static void make_room(struct desk *d)
{
    struct dx_suppression_view_entry *e = d->oldest;
    uint64_t now_ms = dx_clock_ms();

    while (e != NULL && d->bytes > d->kept_bytes &&
           (d->bytes > KEPT_MOST || now_ms - e->used_ms > KEPT_MS)) {
        struct dx_suppression_view_entry *newer = e->newer;

        if (e->pins == 0)
            forget(d, e);
        e = newer;
    }
}

/* What reading the rows came to. rows: taken. */
static void settle(struct desk *d, struct dx_suppression_view_entry *e, int rc,
                   struct dx_suppression_rows *rows, const struct dx_error *err)
{
    d->bytes -= bytes_of(e);
    free(e->failure);
    e->failure = NULL;
    e->rows = *rows;
    *rows = (struct dx_suppression_rows){ .pairs = NULL };
    e->state = rc < 0 ? FAILED : READY;
    if (rc < 0) {
        e->failure = strdup(err->text);
        e->again_ms = dx_clock_ms() + AGAIN_MS;
    }
    d->bytes += bytes_of(e);
    unlink_use(d, e);
    link_use(d, e);
}

/* ---- the thread that reads rows ---- */

static void free_job(struct job *job)
{
    dx_version_unpin(job->version);
    free(job);
}

static void perform(struct desk *d, struct job *job)
{
    const struct dx_rules *rules = dx_suppressions_live_pin(d->suppressions);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_suppression_rows rows = { .pairs = NULL };
    struct dx_suppression_view_entry *e;
    struct dx_rules_of of;
    bool current = dx_rules_of(rules, dx_span_of(job->found.domain, job->found.domain_size), &of) &&
                   of.sign == job->key.sign;
    int rc = !current ? 0
                      : dx_suppression_rows_read(job->version, &job->found, &of, &d->stopping,
                                                 &rows, &err);

    dx_suppressions_live_unpin(d->suppressions, rules);
    if (rc < 0)
        dx_log(DX_LOG_ERROR, "suppressions: rows of a domain could not be read: %s", err.text);
    (void)pthread_mutex_lock(&d->lock);
    e = find(d, &job->key);
    if (e != NULL && !current)
        forget(d, e); /* other rules by now: they are another entry */
    else if (e != NULL && e->state == WANTED)
        settle(d, e, rc, &rows, &err);
    make_room(d);
    d->jobs--;
    (void)pthread_cond_broadcast(&d->done);
    (void)pthread_mutex_unlock(&d->lock);
    dx_suppression_rows_release(&rows);
}

static void *run(void *argument)
{
    struct desk *d = argument;

    (void)pthread_mutex_lock(&d->lock);
    for (;;) {
        struct job *job = d->first;

        if (atomic_load(&d->stopping))
            break;
        if (job == NULL) {
            (void)pthread_cond_wait(&d->work, &d->lock);
            continue;
        }
        d->first = job->next;
        if (d->first == NULL)
            d->last = &d->first;
        (void)pthread_mutex_unlock(&d->lock);
        perform(d, job);
        free_job(job);
        (void)pthread_mutex_lock(&d->lock);
    }
    (void)pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* With the lock. false: out of memory, or no thread. */
static bool enqueue(struct desk *d, struct dx_version *v, const struct dx_found *found,
                    const struct key *key)
{
    struct job *job = malloc(sizeof *job);

    if (job == NULL)
        return false;
    if (!d->started && pthread_create(&d->thread, NULL, run, d) != 0) {
        free(job);
        return false;
    }
    d->started = true;
    *job = (struct job){ .key = *key, .version = v, .found = *found };
    dx_version_pin(v);
    *d->last = job;
    d->last = &job->next;
    d->jobs++;
    (void)pthread_cond_signal(&d->work);
    return true;
}

static void *desk_new(struct dx_suppressions_live *suppressions)
{
    struct desk *d = calloc(1, sizeof *d);

    if (d == NULL)
        return NULL;
    d->suppressions = suppressions;
    d->last = &d->first;
    d->kept_bytes = KEPT_BYTES;
    d->buckets = calloc(BUCKETS, sizeof *d->buckets);
    if (d->buckets == NULL) {
        free(d);
        return NULL;
    }
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_cond_init(&d->work, NULL);
    dx_cond_init(&d->done);
    return d;
}

static void desk_free(void *kept)
{
    struct desk *d = kept;

    (void)pthread_mutex_lock(&d->lock);
    atomic_store(&d->stopping, true);
    (void)pthread_cond_signal(&d->work);
    (void)pthread_mutex_unlock(&d->lock);
    if (d->started)
        (void)pthread_join(d->thread, NULL);
    while (d->first != NULL) {
        struct job *next = d->first->next;
        struct dx_suppression_view_entry *e = find(d, &d->first->key);

        if (e != NULL && e->state == WANTED)
            forget(d, e);
        free_job(d->first);
        d->first = next;
    }
    while (d->newest != NULL)
        forget(d, d->newest);
    (void)pthread_cond_destroy(&d->work);
    (void)pthread_cond_destroy(&d->done);
    (void)pthread_mutex_destroy(&d->lock);
    free(d->buckets);
    free(d);
}

/* ---- asking the desk ---- */

/* 1: *out is READY and pinned. 0: wanted, and being read. <0: could not be read. */
static int ask_thread(struct desk *d, struct dx_version *v, const struct dx_found *found,
                      const struct key *key, struct dx_suppression_view_entry **out,
                      struct dx_error *err)
{
    struct dx_suppression_view_entry *e;
    int rc = 0;

    (void)pthread_mutex_lock(&d->lock);
    e = find(d, key);
    if (e != NULL && e->state == READY) {
        unlink_use(d, e);
        link_use(d, e);
        e->pins++;
        *out = e;
        rc = 1;
    } else if (e != NULL && e->state == FAILED && dx_clock_ms() < e->again_ms) {
        rc = dx_fail(err, DX_E_IO, "%s", e->failure == NULL ? "out of memory" : e->failure);
    } else if (e == NULL || e->state == FAILED) {
        e = e == NULL ? make(d, key) : e;
        if (e == NULL || !enqueue(d, v, found, key)) {
            if (e != NULL)
                forget(d, e);
            rc = dx_no_memory(err, "suppressed rows");
        } else {
            e->state = WANTED;
            unlink_use(d, e);
        }
    }
    (void)pthread_mutex_unlock(&d->lock);
    return rc;
}

/* The same by the caller's own time. */
static int ask_here(struct desk *d, struct dx_version *v, const struct dx_found *found,
                    const struct dx_rules_of *of, const struct key *key,
                    struct dx_suppression_view_entry **out, struct dx_error *err)
{
    struct dx_suppression_rows rows = { .pairs = NULL };
    struct dx_suppression_view_entry *e;
    int rc;

    *out = NULL;
    (void)pthread_mutex_lock(&d->lock);
    e = find(d, key);
    if (e != NULL && e->state == READY) {
        e->pins++;
        *out = e;
    }
    (void)pthread_mutex_unlock(&d->lock);
    if (*out != NULL)
        return 1;
    rc = dx_suppression_rows_read(v, found, of, &d->stopping, &rows, err);
    if (rc < 0)
        return rc;
    (void)pthread_mutex_lock(&d->lock);
    e = find(d, key);
    if (e == NULL)
        e = make(d, key);
    if (e != NULL && e->state != READY)
        settle(d, e, DX_OK, &rows, NULL);
    if (e != NULL)
        e->pins++;
    make_room(d);
    (void)pthread_mutex_unlock(&d->lock);
    dx_suppression_rows_release(&rows);
    *out = e;
    return e != NULL ? 1 : dx_no_memory(err, "suppressed rows");
}

static int ask(struct dx_suppressions_live *o, struct dx_version *v, const struct dx_found *found,
               const struct dx_rules_of *of, struct dx_suppression_view_entry **out,
               struct dx_error *err)
{
    struct desk *d = dx_suppressions_live_kept(o, desk_new, desk_free);
    const struct key key = { v->entry.build, found->domain_id, of->sign };

    if (d == NULL)
        return dx_no_memory(err, "suppressed rows");
    return dx_suppressions_live_use_of(o) == DX_SUPPRESSIONS_LIVE_WAIT
               ? ask_here(d, v, found, of, &key, out, err)
               : ask_thread(d, v, found, &key, out, err);
}

/* ---- answers ---- */

int dx_suppression_view_unknown(int rc, struct dx_problem *problem)
{
    (void)dx_problem_set(
        problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
        "What is suppressed is not known yet",
        "suppressions concern domains of what was asked for, and what they hide is "
        "being found out, or could not be read; try again soon");
    return rc == DX_OK ? DX_E_BUSY : rc;
}

/* The words go into the log, where no name that was asked for stands. */
static int not_known(int rc, const struct dx_error *err, struct dx_problem *problem)
{
    (void)dx_problem_set(
        problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
        "What is suppressed of this domain is not known yet",
        "A suppression concerns a part of this domain, and its rows %s%s. Try again soon.",
        rc == 0 ? "are being read" : "could not be read: ", rc == 0 ? "" : err->text);
    return rc == 0 ? DX_E_BUSY : rc;
}

/* Up to which rule the version's lake has been cleansed. A log with fewer lines is not the one that
 * it was cleansed by: its numbers say nothing then. */
static uint64_t cleansed_of(const struct dx_version *v, const struct dx_rules *rules)
{
    return v->entry.cleansed > rules->number ? 0 : v->entry.cleansed;
}

int dx_suppression_view_of(const struct dx_view *view, const struct dx_found *found,
                           struct dx_suppression_view *w, struct dx_problem *problem)
{
    struct dx_span domain = dx_span_of(found->domain, found->domain_size);
    struct dx_suppressions_live *o = dx_suppressed_by(view->version);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    DX_UNINITIALIZED struct dx_error err;
    struct dx_rules_of of;
    bool concerned = dx_rules_of(rules, domain, &of);
    struct dx_hidden_sums sums;
    int rc = 1;

    dx_error_begin(&err);
    *w = (struct dx_suppression_view){ .entry = NULL };
    if (concerned && of.whole.number == 0 && of.last > cleansed_of(view->version, rules))
        rc = ask(o, view->version, found, &of, &w->entry, &err);
    dx_suppressions_live_unpin(o, rules);
    if (concerned && of.whole.number != 0)
        return dx_lookup_without(view, domain, of.whole.effect, problem);
    if (rc <= 0)
        return not_known(rc, &err, problem);
    if (w->entry != NULL) {
        w->distinct_url_count = w->entry->rows.distinct_url_count;
        w->distinct_dense = w->entry->rows.distinct_dense;
    }
    if (w->entry == NULL)
        return 1;
    sums = w->entry->rows.all;
    if (dx_view_restricted(view))
        dx_suppression_rows_sums(&w->entry->rows, view->scope, &sums);
    if (sums.visible_rows > 0)
        return 1;
    rc = dx_lookup_without(view, domain,
                           sums.withheld_rows > 0 ? DX_EFFECT_WITHHELD : DX_EFFECT_ABSENT, problem);
    dx_suppression_view_release(w);
    return rc;
}

void dx_suppression_view_release(struct dx_suppression_view *w)
{
    struct desk *d = w->entry == NULL ? NULL : w->entry->desk;

    if (d == NULL)
        return;
    (void)pthread_mutex_lock(&d->lock);
    w->entry->pins--;
    (void)pthread_mutex_unlock(&d->lock);
    w->entry = NULL;
}

static int by_dataset(const void *key, const void *element)
{
    uint32_t id = *(const uint32_t *)key;
    const struct dx_suppression_pair *pair = element;

    return (id > pair->dataset_id) - (id < pair->dataset_id);
}

const struct dx_suppression_pair *dx_suppression_view_pair(const struct dx_suppression_view *w,
                                                           uint32_t dataset_id)
{
    const struct dx_suppression_view_entry *e = w->entry;

    if (e == NULL || e->rows.count == 0)
        return NULL;
    return bsearch(&dataset_id, e->rows.pairs, e->rows.count, sizeof *e->rows.pairs, by_dataset);
}

size_t dx_suppression_view_show(const struct dx_suppression_view *w, uint32_t *ids,
                                struct dx_pair_count *counts, size_t count, uint64_t *withheld_rows)
{
    size_t n = 0;

    if (w->entry == NULL)
        return count;
    for (size_t i = 0; i < count; i++) {
        const struct dx_suppression_pair *hidden = dx_suppression_view_pair(w, ids[i]);

        if (hidden != NULL && withheld_rows != NULL)
            *withheld_rows += hidden->withheld_rows;
        if (hidden != NULL && hidden->visible.row_count == 0)
            continue;
        counts[n] = hidden == NULL ? counts[i] : hidden->visible;
        ids[n++] = ids[i];
    }
    return n;
}

int dx_suppression_view_no_pair(const struct dx_view *view, const struct dx_found *found,
                                const struct dx_suppression_pair *pair, struct dx_problem *problem)
{
    return pair->withheld_rows > 0
               ? dx_suppressed_problem(dx_span_of(found->domain, found->domain_size), problem)
               : dx_lookup_no_pair(view, found, pair->dataset_id, problem);
}

/* ---- positions ---- */

/* Ranges that begin at or below the position. */
static size_t ranges_to(const struct dx_suppression_pair *pair, uint64_t position)
{
    size_t low = 0;
    size_t high = pair->range_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pair->ranges[middle].first <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool dx_suppression_view_hidden(const struct dx_suppression_pair *pair, uint64_t position)
{
    size_t n = pair == NULL ? 0 : ranges_to(pair, position);

    return n > 0 && position < pair->ranges[n - 1].end;
}

uint64_t dx_suppression_view_visible_before(const struct dx_suppression_pair *pair,
                                            uint64_t position)
{
    size_t n = pair == NULL || position == 0 ? 0 : ranges_to(pair, position - 1);
    const struct dx_suppression_range *r;
    uint64_t end;

    if (n == 0)
        return position;
    r = &pair->ranges[n - 1];
    end = position < r->end ? position : r->end;
    return position - r->hidden - (end - r->first);
}

/* The position of the row that has so many visible ones before it; row_count: there is none. */
static uint64_t position_of(const struct dx_suppression_pair *pair, uint64_t visible)
{
    size_t low = 0;
    size_t high = pair->range_count;

    assert(pair->range_count > 0 || pair->visible.row_count == pair->row_count);
    if (visible >= pair->visible.row_count)
        return pair->row_count;
    /* The ranges that come before that row: those with at most so many visible rows before them. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pair->ranges[middle].first - pair->ranges[middle].hidden <= visible)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return visible;
    return visible + pair->ranges[low - 1].hidden +
           (pair->ranges[low - 1].end - pair->ranges[low - 1].first);
}

struct dx_page_of dx_suppression_view_window(const struct dx_suppression_pair *pair,
                                             uint64_t offset, uint64_t limit)
{
    struct dx_page_of window = { offset, limit };
    uint64_t most = limit > DX_LIMIT_MAX ? limit : DX_LIMIT_MAX;
    uint64_t end;

    if (pair == NULL || limit == 0)
        return window;
    window.offset = position_of(pair, offset);
    if (offset >= pair->visible.row_count) {
        window.limit = 0;
        return window;
    }
    end = limit > pair->visible.row_count - offset ? pair->visible.row_count : offset + limit;
    end = position_of(pair, end - 1) + 1;
    window.limit = end - window.offset < most ? end - window.offset : most;
    return window;
}

/* ---- before a version serves ---- */

/* How many domains of v are not known yet; those are wanted from now on. */
static int want_all(struct dx_version *v, struct dx_canon *canon, const struct dx_rules *rules,
                    size_t *pending, struct dx_error *err)
{
    *pending = 0;
    for (size_t i = 0; i < rules->count; i++) {
        struct dx_suppression_view_entry *entry = NULL;
        enum dx_reject why;
        struct dx_rules_of of;
        struct dx_found found;
        struct dx_span domain;
        int rc;

        if (rules->rules[i].number <= cleansed_of(v, rules) ||
            dx_canon_domain(canon, rules->rules[i].parts.host, &domain, &why) == 0 ||
            domain.size > sizeof found.domain || !dx_rules_of(rules, domain, &of) ||
            of.whole.number != 0)
            continue;
        rc = dx_version_find(v, domain, &found.part, &found.ordinal, &found.domain_id, err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        found.domain_size = domain.size;
        memcpy(found.domain, domain.data, domain.size);
        rc = ask(dx_suppressed_by(v), v, &found, &of, &entry, NULL);
        *pending += rc != 1;
        dx_suppression_view_release(&(struct dx_suppression_view){ .entry = entry });
    }
    return DX_OK;
}

static void wait_for_jobs(struct dx_suppressions_live *o, uint64_t until_ms)
{
    struct desk *d = dx_suppressions_live_kept(o, desk_new, desk_free);

    if (d == NULL)
        return;
    (void)pthread_mutex_lock(&d->lock);
    while (d->jobs > 0 && dx_cond_wait_until(&d->done, &d->lock, until_ms))
        ;
    (void)pthread_mutex_unlock(&d->lock);
}

void dx_suppression_view_keep(struct dx_version *v, size_t bytes)
{
    struct desk *d = dx_suppressions_live_kept(dx_suppressed_by(v), desk_new, desk_free);

    if (d == NULL)
        return;
    (void)pthread_mutex_lock(&d->lock);
    d->kept_bytes = bytes;
    (void)pthread_mutex_unlock(&d->lock);
}

int dx_suppression_view_ruled(struct dx_ruled_domains **out, struct dx_version *v,
                              struct dx_canon *canon, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_ruled_domains_get(out, v, canon, &err);

    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

int dx_suppression_view_prepare(struct dx_version *v, uint64_t until_ms, struct dx_error *err)
{
    struct dx_suppressions_live *o = dx_suppressed_by(v);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    struct dx_canon *canon = NULL;
    size_t pending = 0;
    int rc = dx_version_canon_new(v, &canon, err);

    if (rc == DX_OK)
        rc = dx_ruled_domains_prepare(v, canon, err);
    if (rc == DX_OK && rules != NULL)
        rc = want_all(v, canon, rules, &pending, err);
    if (rc == DX_OK && pending > 0 && until_ms > 0) {
        wait_for_jobs(o, until_ms);
        rc = want_all(v, canon, rules, &pending, err);
    }
    dx_canon_free(&canon);
    dx_suppressions_live_unpin(o, rules);
    return rc < 0 ? rc : pending == 0;
}

static void prepare_ruled(struct dx_version *v)
{
    struct dx_canon *canon = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_version_canon_new(v, &canon, &err);

    if (rc == DX_OK)
        rc = dx_ruled_domains_prepare(v, canon, &err);
    dx_canon_free(&canon);
    if (rc < 0)
        dx_log(DX_LOG_ERROR, "suppressions: version %s: %s", dx_version_name(v), err.text);
}

int dx_suppression_view_follow(struct dx_caches *caches, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dx_version **versions = NULL;
    size_t count = 0;
    int rc = dx_suppressions_live_look(caches->suppressions, err);

    if (rc == 1 && dx_caches_pin_open(caches, &versions, &count, &why) < 0)
        dx_log(DX_LOG_ERROR, "suppressions: %s", why.text);
    for (size_t i = 0; i < count; i++) {
        prepare_ruled(versions[i]);
        dx_version_unpin(versions[i]);
    }
    free(versions);
    dx_suppressions_live_exchange(caches->suppressions);
    return rc;
}
