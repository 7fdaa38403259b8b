/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/suppression_cache.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/quiet_thread.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"

#define BUCKETS (1u << 16)

/* Of what is kept: the least recently requested go first. A domain with a million separate
 * hidden rows holds 24 MB. What was requested within KEPT_MS is kept beyond it: an answer about many domains needs what is
 * hidden of all of them at once, and would never be given if some of it went whenever more came. */
#define KEPT_BYTES ((size_t)256 << 20)
#define KEPT_MOST ((size_t)2 << 30)
#define KEPT_MS 60000

/* How often it is looked for what no version has any more. */
#define SWEEP_MS 10000

/* Rows that could not be read are not tried again sooner: each try may wait for a store. */
#define AGAIN_MS 1000

/* The answer is the same for the same rules about the same domain of the same build, whatever else
 * the log says and whatever the version is called. Those of one domain and build share a bucket. */
struct key {
    struct dx_build_id build;
    uint64_t domain_id;
    uint64_t sign;
};

enum state { WANTED, READY, FAILED };

struct dx_suppression_entry {
    struct key key;
    enum state state;
    bool
        superseded; /* rows of the same domain and build were read for other rules since it was asked for */
    long pins;
    struct dx_suppression_rows rows; /* of READY; never changes then */
    char *failure;                   /* of FAILED; NULL: out of memory */
    uint64_t again_ms;
    uint64_t used_ms; /* of a listed one */
    bool listed;      /* not of WANTED */
    struct suppression_cache *cache;
    struct dx_suppression_entry *in_bucket;
    struct dx_suppression_entry *newer, *older; /* by use, of listed ones */
};

struct job {
    struct key key;
    struct dx_version *version; /* pinned */
    struct dx_found found;
    struct job *next;
};

struct suppression_cache {
    struct dx_suppressions_live *suppressions;
    pthread_mutex_t lock; /* of all below, and of the entries */
    pthread_cond_t work;
    pthread_cond_t done;
    struct dx_suppression_entry **buckets;
    struct dx_suppression_entry *newest, *oldest;
    size_t bytes, kept_bytes; /* now; what is kept of any age */
    uint64_t swept_ms;
    struct job *first, **last;
    size_t jobs; /* queued, or in the thread's hands */
    bool started;
    _Atomic bool stopping;
    pthread_t thread;
};

/* ---- entries, under the lock ---- */

static size_t bucket_of(const struct key *key)
{
    uint8_t bytes[24];

    memcpy(bytes, key->build.bytes, 16);
    dx_store_u64(bytes + 16, key->domain_id);
    return (size_t)dx_hash64(dx_span_of(bytes, sizeof bytes)) % BUCKETS;
}

static bool same_domain(const struct key *a, const struct key *b)
{
    return a->domain_id == b->domain_id &&
           memcmp(a->build.bytes, b->build.bytes, sizeof a->build.bytes) == 0;
}

static bool same_key(const struct key *a, const struct key *b)
{
    return a->sign == b->sign && same_domain(a, b);
}

static void unlink_use(struct suppression_cache *c, struct dx_suppression_entry *e)
{
    if (!e->listed)
        return;
    e->listed = false;
    *(e->newer != NULL ? &e->newer->older : &c->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &c->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void link_use(struct suppression_cache *c, struct dx_suppression_entry *e)
{
    e->older = c->newest;
    *(c->newest != NULL ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
    e->listed = true;
    e->used_ms = dx_clock_ms();
}

static size_t bytes_of(const struct dx_suppression_entry *e)
{
    return sizeof *e + e->rows.bytes;
}

static struct dx_suppression_entry *find(struct suppression_cache *c, const struct key *key)
{
    struct dx_suppression_entry *e = c->buckets[bucket_of(key)];

    while (e != NULL && !same_key(&e->key, key))
        e = e->in_bucket;
    return e;
}

static void forget(struct suppression_cache *c, struct dx_suppression_entry *e)
{
    struct dx_suppression_entry **at = &c->buckets[bucket_of(&e->key)];

    while (*at != e)
        at = &(*at)->in_bucket;
    *at = e->in_bucket;
    unlink_use(c, e);
    c->bytes -= bytes_of(e);
    dx_suppression_rows_release(&e->rows);
    free(e->failure);
    free(e);
}

static struct dx_suppression_entry *make(struct suppression_cache *c, const struct key *key)
{
    struct dx_suppression_entry *e = calloc(1, sizeof *e);

    if (e == NULL)
        return NULL;
    e->key = *key;
    e->cache = c;
    e->in_bucket = c->buckets[bucket_of(key)];
    c->buckets[bucket_of(key)] = e;
    c->bytes += bytes_of(e);
    return e;
}

static void make_room(struct suppression_cache *c)
{
    struct dx_suppression_entry *e = c->oldest;
    uint64_t now_ms = dx_clock_ms();

    while (e != NULL && c->bytes > c->kept_bytes &&
           (c->bytes > KEPT_MOST || now_ms - e->used_ms > KEPT_MS)) {
        struct dx_suppression_entry *newer = e->newer;

        if (e->pins == 0)
            forget(c, e);
        e = newer;
    }
}

static void supersede_others(struct suppression_cache *c, const struct dx_suppression_entry *by)
{
    for (struct dx_suppression_entry *e = c->buckets[bucket_of(&by->key)]; e != NULL;
         e = e->in_bucket)
        if (e != by && same_domain(&e->key, &by->key))
            e->superseded = true;
}

/* What reading the rows came to. rows: taken. */
static void settle_entry(struct suppression_cache *c, struct dx_suppression_entry *e, int rc,
                         struct dx_suppression_rows *rows, const struct dx_error *err)
{
    c->bytes -= bytes_of(e);
    free(e->failure);
    e->failure = NULL;
    e->rows = *rows;
    *rows = (struct dx_suppression_rows){ .pairs = NULL };
    e->state = rc < 0 ? FAILED : READY;
    if (rc < 0) {
        e->failure = strdup(err->text);
        e->again_ms = dx_clock_ms() + AGAIN_MS;
    }
    c->bytes += bytes_of(e);
    supersede_others(c, e);
    unlink_use(c, e);
    link_use(c, e);
}

/* Pins e, which is READY. */
static void use(struct suppression_cache *c, struct dx_suppression_entry *e)
{
    e->superseded = false;
    e->pins++;
    unlink_use(c, e);
    link_use(c, e);
}

/* ---- the thread that reads rows ---- */

static void free_job(struct job *job)
{
    dx_version_unpin(job->version);
    free(job);
}

static void perform_job(struct suppression_cache *c, struct job *job)
{
    const struct dx_rules *rules = dx_suppressions_live_pin(c->suppressions);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_suppression_rows rows = { .pairs = NULL };
    struct dx_suppression_entry *e;
    struct dx_rules_of of;
    bool current = dx_rules_of(rules, dx_span_of(job->found.domain, job->found.domain_size), &of) &&
                   of.sign == job->key.sign;
    int rc = !current ? 0
                      : dx_suppression_rows_read(job->version, &job->found, &of, &c->stopping,
                                                 &rows, &err);

    dx_suppressions_live_unpin(c->suppressions, rules);
    if (rc < 0)
        dx_log(DX_LOG_ERROR, "suppressions: rows of a domain could not be read: %s", err.text);
    (void)pthread_mutex_lock(&c->lock);
    e = find(c, &job->key);
    if (e != NULL && !current)
        forget(c, e); /* other rules by now: they are another entry */
    else if (e != NULL && e->state == WANTED)
        settle_entry(c, e, rc, &rows, &err);
    make_room(c);
    c->jobs--;
    (void)pthread_cond_broadcast(&c->done);
    (void)pthread_mutex_unlock(&c->lock);
    dx_suppression_rows_release(&rows);
}

static void *run_jobs(void *argument)
{
    struct suppression_cache *c = argument;

    (void)pthread_mutex_lock(&c->lock);
    for (;;) {
        struct job *job = c->first;

        if (atomic_load(&c->stopping))
            break;
        if (job == NULL) {
            (void)pthread_cond_wait(&c->work, &c->lock);
            continue;
        }
        c->first = job->next;
        if (c->first == NULL)
            c->last = &c->first;
        (void)pthread_mutex_unlock(&c->lock);
        perform_job(c, job);
        free_job(job);
        (void)pthread_mutex_lock(&c->lock);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* With the lock. false: out of memory, or no thread. */
static bool enqueue_job(struct suppression_cache *c, struct dx_version *v,
                        const struct dx_found *found, const struct key *key)
{
    struct job *job = malloc(sizeof *job);

    if (job == NULL)
        return false;
    if (!c->started && dx_quiet_thread(&c->thread, run_jobs, c) != 0) {
        free(job);
        return false;
    }
    c->started = true;
    *job = (struct job){ .key = *key, .version = v, .found = *found };
    dx_version_pin(v);
    *c->last = job;
    c->last = &job->next;
    c->jobs++;
    (void)pthread_cond_signal(&c->work);
    return true;
}

static void *cache_new(struct dx_suppressions_live *suppressions)
{
    struct suppression_cache *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->suppressions = suppressions;
    c->last = &c->first;
    c->kept_bytes = KEPT_BYTES;
    c->buckets = calloc(BUCKETS, sizeof *c->buckets);
    if (c->buckets == NULL) {
        free(c);
        return NULL;
    }
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->work, NULL);
    dx_cond_init(&c->done);
    return c;
}

static void cache_free(void *kept)
{
    struct suppression_cache *c = kept;

    (void)pthread_mutex_lock(&c->lock);
    atomic_store(&c->stopping, true);
    (void)pthread_cond_signal(&c->work);
    (void)pthread_mutex_unlock(&c->lock);
    if (c->started)
        (void)pthread_join(c->thread, NULL);
    while (c->first != NULL) {
        struct job *next = c->first->next;
        struct dx_suppression_entry *e = find(c, &c->first->key);

        if (e != NULL && e->state == WANTED)
            forget(c, e);
        free_job(c->first);
        c->first = next;
    }
    while (c->newest != NULL)
        forget(c, c->newest);
    (void)pthread_cond_destroy(&c->work);
    (void)pthread_cond_destroy(&c->done);
    (void)pthread_mutex_destroy(&c->lock);
    free(c->buckets);
    free(c);
}

/* ---- asking ---- */

/* 1: *out is READY and pinned. 0: wanted, and being read. <0: could not be read. */
static int ask_thread(struct suppression_cache *c, struct dx_version *v,
                      const struct dx_found *found, const struct key *key,
                      struct dx_suppression_entry **out, struct dx_error *err)
{
    struct dx_suppression_entry *e;
    int rc = 0;

    (void)pthread_mutex_lock(&c->lock);
    e = find(c, key);
    if (e != NULL && e->state == READY) {
        use(c, e);
        *out = e;
        rc = 1;
    } else if (e != NULL && e->state == FAILED && dx_clock_ms() < e->again_ms) {
        rc = dx_fail(err, DX_E_IO, "%s", e->failure == NULL ? "out of memory" : e->failure);
    } else if (e == NULL || e->state == FAILED) {
        e = e == NULL ? make(c, key) : e;
        if (e == NULL || !enqueue_job(c, v, found, key)) {
            if (e != NULL)
                forget(c, e);
            rc = dx_no_memory(err, "suppressed rows");
        } else {
            e->state = WANTED;
            unlink_use(c, e);
        }
    }
    (void)pthread_mutex_unlock(&c->lock);
    return rc;
}

/* The same by the caller's own time. */
static int ask_here(struct suppression_cache *c, struct dx_version *v, const struct dx_found *found,
                    const struct dx_rules_of *of, const struct key *key,
                    struct dx_suppression_entry **out, struct dx_error *err)
{
    struct dx_suppression_rows rows = { .pairs = NULL };
    struct dx_suppression_entry *e;
    int rc;

    *out = NULL;
    (void)pthread_mutex_lock(&c->lock);
    e = find(c, key);
    if (e != NULL && e->state == READY) {
        use(c, e);
        *out = e;
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (*out != NULL)
        return 1;
    rc = dx_suppression_rows_read(v, found, of, &c->stopping, &rows, err);
    if (rc < 0)
        return rc;
    (void)pthread_mutex_lock(&c->lock);
    e = find(c, key);
    if (e == NULL)
        e = make(c, key);
    if (e != NULL && e->state != READY)
        settle_entry(c, e, DX_OK, &rows, NULL);
    if (e != NULL)
        e->pins++;
    make_room(c);
    (void)pthread_mutex_unlock(&c->lock);
    dx_suppression_rows_release(&rows);
    *out = e;
    return e != NULL ? 1 : dx_no_memory(err, "suppressed rows");
}

int dx_suppression_cache_get(struct dx_suppression_entry **out, struct dx_version *v,
                             const struct dx_found *found, const struct dx_rules_of *of,
                             struct dx_error *err)
{
    struct dx_suppressions_live *o = dx_suppressed_by(v);
    struct suppression_cache *c = dx_suppressions_live_kept(o, cache_new, cache_free);
    const struct key key = { v->entry.build, found->domain_id, of->sign };

    if (c == NULL)
        return dx_no_memory(err, "suppressed rows");
    return dx_suppressions_live_use_of(o) == DX_SUPPRESSIONS_LIVE_WAIT
               ? ask_here(c, v, found, of, &key, out, err)
               : ask_thread(c, v, found, &key, out, err);
}

const struct dx_suppression_rows *dx_suppression_cache_rows(const struct dx_suppression_entry *e)
{
    return &e->rows;
}

void dx_suppression_cache_release(struct dx_suppression_entry *e)
{
    if (e == NULL)
        return;
    (void)pthread_mutex_lock(&e->cache->lock);
    assert(e->pins > 0);
    e->pins--;
    (void)pthread_mutex_unlock(&e->cache->lock);
}

void dx_suppression_cache_wait(struct dx_suppressions_live *o, uint64_t until_ms)
{
    struct suppression_cache *c = dx_suppressions_live_kept(o, NULL, NULL);

    if (c == NULL)
        return;
    (void)pthread_mutex_lock(&c->lock);
    while (c->jobs > 0 && dx_cond_wait_until(&c->done, &c->lock, until_ms))
        ;
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- what no answer needs any more ---- */

static bool is_of(const struct dx_suppression_entry *e, struct dx_version *const *versions,
                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&versions[i]->entry.build, &e->key.build, sizeof e->key.build) == 0)
            return true;
    return false;
}

/* A version that is being opened is not among the open ones yet: what was used within KEPT_MS stays. */
static void forget_unneeded(struct suppression_cache *c, struct dx_version *const *versions,
                            size_t count, uint64_t now_ms)
{
    struct dx_suppression_entry *e, *newer;

    for (e = c->oldest; e != NULL && now_ms - e->used_ms > KEPT_MS; e = newer) {
        newer = e->newer;
        if (e->pins == 0 && (e->superseded || !is_of(e, versions, count)))
            forget(c, e);
    }
}

static bool sweep_is_due(struct suppression_cache *c, uint64_t now_ms)
{
    bool due;

    (void)pthread_mutex_lock(&c->lock);
    due = c->oldest != NULL && now_ms - c->swept_ms >= SWEEP_MS;
    if (due)
        c->swept_ms = now_ms;
    (void)pthread_mutex_unlock(&c->lock);
    return due;
}

void dx_suppression_cache_sweep(struct dx_caches *caches, uint64_t now_ms)
{
    struct suppression_cache *c = dx_suppressions_live_kept(caches->suppressions, NULL, NULL);
    struct dx_version **versions = NULL;
    struct dx_error err = DX_ERROR_INIT;
    size_t count = 0;

    if (c == NULL || !sweep_is_due(c, now_ms) ||
        dx_caches_pin_open(caches, &versions, &count, &err) < 0)
        return; /* out of memory: the next sweep */
    (void)pthread_mutex_lock(&c->lock);
    forget_unneeded(c, versions, count, now_ms);
    (void)pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < count; i++)
        dx_version_unpin(versions[i]);
    free(versions);
}

size_t dx_suppression_cache_bytes(struct dx_suppressions_live *o)
{
    struct suppression_cache *c = dx_suppressions_live_kept(o, NULL, NULL);
    size_t bytes;

    if (c == NULL)
        return 0;
    (void)pthread_mutex_lock(&c->lock);
    bytes = c->bytes;
    (void)pthread_mutex_unlock(&c->lock);
    return bytes;
}

void dx_suppression_cache_keep(struct dx_suppressions_live *o, size_t bytes)
{
    struct suppression_cache *c = dx_suppressions_live_kept(o, cache_new, cache_free);

    if (c == NULL)
        return;
    (void)pthread_mutex_lock(&c->lock);
    c->kept_bytes = bytes;
    (void)pthread_mutex_unlock(&c->lock);
}
