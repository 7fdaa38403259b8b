/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/current.h"

#include "base/clock.h"
#include "loader/current_parts.h"
#include "loader/followed/suppressions_live.h"
#include "loader/lease.h"
#include "loader/objects.h"
#include "loader/version_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RETRY_MS 60000        /* a candidate that failed, while the manifest is the same */
#define POISONED_RETRY_MS 500 /* the same while nothing is served */
#define TEND_MIN_MS 1000      /* between two looks at what is over while there is nothing */
#define COARSE_MS 2000        /* the coarse clock is late while a guest's processor is not run */
#define HOLD_ROUNDS 4         /* of a lease, while publishers flip */

static bool copy_text(const char **text)
{
    if (*text == NULL)
        return true;
    *text = strdup(*text);
    return *text != NULL;
}

/* All texts of the options, so that the caller's may go. */
static int copy_options(struct dx_current *cur, const struct dx_version_options *from,
                        struct dx_error *err)
{
    struct dx_source_options *o = &cur->source_options;
    bool ok;
    int rc;

    cur->options = *from;
    ok = copy_text(&cur->options.mirror_dir);
    rc = dx_version_source_options(from, o, err);
    if (rc < 0) {
        *o = (struct dx_source_options)DX_SOURCE_OPTIONS_INIT;
        return rc;
    }
    ok = copy_text(&o->ca_file) && ok;
    ok = copy_text(&o->s3_endpoint) && ok;
    ok = copy_text(&o->s3_region) && ok;
    ok = copy_text(&o->s3_profile) && ok;
    cur->options.source = o;
    return ok ? DX_OK : dx_no_memory(err, "%s", cur->root);
}

static void free_options(struct dx_current *cur)
{
    free((void *)cur->options.mirror_dir);
    free((void *)cur->source_options.ca_file);
    free((void *)cur->source_options.s3_endpoint);
    free((void *)cur->source_options.s3_region);
    free((void *)cur->source_options.s3_profile);
}

/* The manifest if it is not the one that was taken last: 1, else 0. */
static int read_manifest(struct dx_current *cur, char etag[DX_SOURCE_ETAG], struct dx_manifest *m,
                         struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    int rc = dx_followed_read(&cur->followed, &text, etag, err);

    if (rc == DX_E_NOT_FOUND)
        rc = dx_version_no_index(cur->root, err);
    if (rc == 1) {
        rc = dx_version_manifest_parse(dx_span_of(text.data, text.size), cur->root, m, err);
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
    return rc;
}

/* Whether v is what the entry says, to the byte. */
static bool is_entry(const struct dx_version *v, const struct dx_manifest_version *entry)
{
    return strcmp(v->entry.version, entry->version) == 0 &&
           memcmp(&v->entry.build, &entry->build, sizeof entry->build) == 0 &&
           v->entry.file_count == entry->file_count &&
           strcmp(v->entry.pack.name, entry->pack.name) == 0 &&
           dx_hash128_equal(&v->entry.pack.hash, &entry->pack.hash) &&
           memcmp(v->entry.files, entry->files, entry->file_count * sizeof *entry->files) == 0;
}

/* ---- pins ---- */

/* The lease of what is served has run out, or will before a request could end. */
static bool is_fenced(struct dx_current *cur)
{
    uint64_t fence = atomic_load_explicit(&cur->fence_ms, memory_order_acquire);

    /* Far from it the coarse clock tells, at a third of the cost; asked for each request. */
    return fence != UINT64_MAX && dx_clock_coarse_ms() + COARSE_MS >= fence &&
           dx_clock_ms() >= fence;
}

struct dx_version *dx_current_pin(struct dx_current *cur)
{
    struct dx_version *v;

    if (is_fenced(cur))
        return NULL;
    (void)pthread_mutex_lock(&cur->lock);
    v = cur->version;
    dx_version_pin(v);
    (void)pthread_mutex_unlock(&cur->lock);
    return v;
}

struct dx_version *dx_current_pin_again(struct dx_current *cur, struct dx_version *held)
{
    /* The caller's pin keeps held alive, so no other version can have its address: if it is
     * the current one at this instant, one more pin on it is a pin on the current version. */
    if (held == NULL || is_fenced(cur) ||
        held != atomic_load_explicit(&cur->version, memory_order_acquire))
        return dx_current_pin(cur);
    dx_version_pin(held);
    return held;
}

bool dx_current_is(struct dx_current *cur, const struct dx_version *held)
{
    return !is_fenced(cur) && held == atomic_load_explicit(&cur->version, memory_order_acquire);
}

struct dx_version *dx_current_pin_resident(struct dx_current *cur, const char *name)
{
    struct dx_open_version *item = dx_open_versions_find(&cur->open_versions, name);

    if (item == NULL || !dx_current_may_use(cur, item->version) ||
        (item != cur->open_versions.items && dx_version_poisoned(item->version)))
        return NULL;
    if (item->fetched)
        item->since_ms = dx_clock_ms();
    dx_version_pin(item->version);
    return item->version;
}

const struct dx_manifest_version *dx_current_kept(const struct dx_shared_manifest *listed,
                                                  const char *name)
{
    const struct dx_manifest_version *entry = dx_manifest_find(&listed->manifest, name);

    return entry == NULL || entry->state == DX_VERSION_DROPPED ? NULL : entry;
}

enum dx_pin_result dx_current_pin_named(struct dx_current *cur, const char *name,
                                        struct dx_version **v)
{
    enum dx_pin_result result;
    uint32_t sequence;

    *v = NULL;
    if (!dx_version_name_ok(dx_span_str(name), &sequence))
        return dx_version_name_formed(dx_span_str(name)) ? DX_PIN_GONE : DX_PIN_UNKNOWN;
    (void)pthread_mutex_lock(&cur->lock);
    *v = dx_current_pin_resident(cur, name);
    if (*v != NULL)
        result = DX_PIN_HELD;
    else if (dx_current_kept(cur->listed, name) != NULL)
        result = DX_PIN_NOT_OPEN;
    else if (sequence > cur->listed->manifest.sequence)
        result = DX_PIN_NEWER;
    else
        result = DX_PIN_GONE;
    (void)pthread_mutex_unlock(&cur->lock);
    return result;
}

/* ---- manifests ---- */

/* Nothing that matters here has changed, so that what was said of the one is true of the other. */
static bool same_list(const struct dx_manifest *a, const struct dx_manifest *b)
{
    if (a->sequence != b->sequence || a->version_count != b->version_count)
        return false;
    for (size_t i = 0; i < a->version_count; i++)
        if (strcmp(a->versions[i].version, b->versions[i].version) != 0 ||
            a->versions[i].state != b->versions[i].state ||
            a->versions[i].superseded_us != b->versions[i].superseded_us ||
            a->versions[i].cleansed != b->versions[i].cleansed)
            return false;
    return true;
}

/* Whether m may follow on what was seen; with the lock. */
static int follows(const struct dx_current *cur, const struct dx_manifest *m, struct dx_error *err)
{
    const struct dx_manifest *seen = &cur->listed->manifest;

    if (m->sequence < seen->sequence)
        return dx_fail(err, DX_E_INVALID,
                       "%s: manifest went back from sequence %llu to %llu; kept %s", cur->root,
                       (unsigned long long)seen->sequence, (unsigned long long)m->sequence,
                       seen->current);
    if (m->sequence == seen->sequence && strcmp(m->current, seen->current) != 0)
        return dx_fail(err, DX_E_INVALID,
                       "%s: manifest says now that sequence %llu is version %s, and said %s; a "
                       "flip must raise the sequence",
                       cur->root, (unsigned long long)m->sequence, m->current, seen->current);
    return DX_OK;
}

uint64_t dx_current_seen(struct dx_current *cur)
{
    uint64_t seen;

    (void)pthread_mutex_lock(&cur->lock);
    seen = cur->listed == NULL ? 0 : cur->listed->manifest.sequence;
    (void)pthread_mutex_unlock(&cur->lock);
    return seen;
}

int dx_current_take(struct dx_current *cur, struct dx_manifest *m, uint64_t since,
                    struct dx_error *err)
{
    struct dx_shared_manifest *listed = NULL;
    int rc = dx_shared_manifest_new(&listed, m, err);
    bool news = true;

    if (rc < 0)
        return rc;
    (void)pthread_mutex_lock(&cur->lock);
    if (cur->listed != NULL) {
        const struct dx_manifest *seen = &cur->listed->manifest;
        bool overtaken = listed->manifest.sequence >= since &&
                         listed->manifest.sequence < seen->sequence;

        news = !overtaken && !same_list(seen, &listed->manifest);
        rc = overtaken ? DX_OK : follows(cur, &listed->manifest, err);
    }
    if (rc == DX_OK && listed->manifest.access > atomic_load(&cur->access))
        atomic_store(&cur->access, listed->manifest.access);
    if (rc == DX_OK && news) {
        struct dx_shared_manifest *before = cur->listed;

        for (size_t i = 0; i < cur->open_versions.count; i++)
            dx_version_list(cur->open_versions.items[i].version, listed);
        cur->listed = listed;
        listed = before;
    }
    (void)pthread_mutex_unlock(&cur->lock);
    dx_shared_manifest_put(&listed);
    return rc;
}

struct dx_shared_manifest *dx_current_listed(struct dx_current *cur)
{
    struct dx_shared_manifest *listed;

    (void)pthread_mutex_lock(&cur->lock);
    listed = dx_shared_manifest_hold(cur->listed);
    (void)pthread_mutex_unlock(&cur->lock);
    return listed;
}

/* Held, if there is a lease: the current version of *listed, a manifest that was read after. */
static int hold_current(struct dx_current *cur, struct dx_shared_manifest **listed,
                        const struct dx_manifest_version **entry, struct dx_error *err)
{
    int rc = DX_OK;

    *listed = dx_current_listed(cur);
    for (int round = 0; round < HOLD_ROUNDS; round++) {
        char name[DX_VERSION_NAME];

        *entry = dx_manifest_current(&(*listed)->manifest);
        if (*entry == NULL)
            return dx_fail(err, DX_E_NOT_FOUND,
                           "%s: no version is current. `domaindex publish --root %s` makes one",
                           cur->root, cur->root);
        memcpy(name, (*entry)->version, sizeof name);
        (void)pthread_mutex_lock(&cur->lock);
        memcpy(cur->candidate, name, sizeof name);
        (void)pthread_mutex_unlock(&cur->lock);
        rc = dx_current_hold(cur, name, err);
        if (rc < 0 && rc != DX_E_NOT_FOUND)
            return rc;
        dx_shared_manifest_put(listed);
        *listed = dx_current_listed(cur);
        *entry = dx_manifest_current(&(*listed)->manifest);
        if (rc == DX_OK && *entry != NULL && strcmp((*entry)->version, name) == 0)
            return DX_OK;
    }
    return rc < 0 ? rc
                  : dx_fail(err, DX_E_BUSY, "%s: another version is current each time one looks",
                            cur->root);
}

/* ---- flips ---- */

void dx_current_trim(struct dx_current *cur)
{
    struct dx_version *gone;

    while ((gone = dx_open_versions_excess(&cur->open_versions)) != NULL) {
        dx_current_leaves(cur, gone);
        (void)pthread_mutex_unlock(&cur->lock);
        dx_version_unpin(gone);
        (void)pthread_mutex_lock(&cur->lock);
    }
}

/* Takes over the pin on v. */
static void swap(struct dx_current *cur, struct dx_version *v)
{
    struct dx_version *spare;
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)pthread_mutex_lock(&cur->lock);
    spare = dx_open_versions_promote(&cur->open_versions, v, dx_clock_ms());
    atomic_store_explicit(&cur->version, v, memory_order_release);
    dx_current_set_fence(cur);
    dx_version_list(v, cur->listed);
    cur->candidate[0] = '\0';
    cur->stats.loaded_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    dx_current_trim(cur);
    (void)pthread_mutex_unlock(&cur->lock);
    dx_version_unpin(spare);
}

/* A resident with those bytes, pinned, or NULL. One of the same name with other bytes goes. */
static struct dx_version *pin_same(struct dx_current *cur, const struct dx_manifest_version *entry)
{
    struct dx_version *gone = NULL;
    struct dx_version *v;

    (void)pthread_mutex_lock(&cur->lock);
    v = dx_current_pin_resident(cur, entry->version);
    if (v != NULL && (!is_entry(v, entry) || dx_version_poisoned(v))) {
        struct dx_open_version *item = dx_open_versions_find(&cur->open_versions, entry->version);

        if (item->version != atomic_load(&cur->version))
            gone = dx_open_versions_remove(&cur->open_versions, item);
        dx_current_leaves(cur, gone);
        dx_version_unpin(v);
        v = NULL;
    }
    (void)pthread_mutex_unlock(&cur->lock);
    dx_version_unpin(gone);
    return v;
}

void dx_current_drop_poisoned(struct dx_current *cur)
{
    struct dx_version *gone;

    do {
        gone = NULL;
        (void)pthread_mutex_lock(&cur->lock);
        for (size_t i = 1; i < cur->open_versions.count && gone == NULL; i++) {
            struct dx_open_version *item = &cur->open_versions.items[i];

            if (dx_version_poisoned(item->version))
                gone = dx_open_versions_remove(&cur->open_versions, item);
        }
        dx_current_leaves(cur, gone);
        (void)pthread_mutex_unlock(&cur->lock);
        dx_version_unpin(gone);
    } while (gone != NULL);
}

static void forget_candidate(struct dx_current *cur)
{
    (void)pthread_mutex_lock(&cur->lock);
    cur->candidate[0] = '\0';
    (void)pthread_mutex_unlock(&cur->lock);
}

/* The current version of the manifest, unless it is served: 1, 0 or <0. */
static int load_current(struct dx_current *cur, enum dx_reload_step *step, struct dx_error *err)
{
    struct dx_shared_manifest *listed = dx_current_listed(cur);
    const struct dx_manifest_version *entry = dx_manifest_current(&listed->manifest);
    struct dx_version *next = NULL;
    int rc;

    dx_current_drop_poisoned(cur);
    if (entry != NULL && is_entry(atomic_load(&cur->version), entry) &&
        !dx_version_poisoned(atomic_load(&cur->version))) {
        dx_shared_manifest_put(&listed);
        return 0;
    }
    dx_shared_manifest_put(&listed);
    *step = DX_RELOAD_LEASE;
    rc = hold_current(cur, &listed, &entry, err);
    if (rc == DX_OK) {
        next = pin_same(cur, entry);
        if (next == NULL)
            rc = dx_current_load(cur, listed, entry, false, &next, step, err);
    }
    dx_shared_manifest_put(&listed);
    forget_candidate(cur);
    if (rc < 0)
        return rc;
    *step = DX_RELOAD_OK;
    swap(cur, next);
    dx_current_drop_poisoned(cur);
    return 1;
}

/* *again: it is what was refused before and not tried again yet. */
static int reload_manifest(struct dx_current *cur, enum dx_reload_step *step, bool *again,
                           struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    const uint64_t since = dx_current_seen(cur);
    struct dx_shared_manifest *listed;
    char etag[DX_SOURCE_ETAG];
    int rc = read_manifest(cur, etag, &manifest, err);

    *again = false;
    *step = DX_RELOAD_MANIFEST;
    if (rc == 1) {
        rc = dx_current_take(cur, &manifest, since, err);
        if (rc == DX_OK)
            dx_followed_take(&cur->followed, etag);
    }
    dx_manifest_release(&manifest);
    if (rc < 0)
        return rc;
    listed = dx_current_listed(cur);
    if (listed == cur->refused && dx_clock_ms() < cur->retry_ms) {
        *again = true;
        *err = cur->refusal;
        rc = err->code;
    } else {
        rc = load_current(cur, step, err);
        dx_shared_manifest_put(&cur->refused);
        if (rc < 0) {
            cur->refused = dx_current_listed(cur);
            cur->refusal = *err;
            cur->retry_ms = dx_clock_ms() + (dx_version_poisoned(atomic_load(&cur->version))
                                                 ? POISONED_RETRY_MS
                                                 : RETRY_MS);
        }
    }
    dx_shared_manifest_put(&listed);
    return rc;
}

int dx_current_reload(struct dx_current *cur, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    enum dx_reload_step step;
    bool again;
    int rc = reload_manifest(cur, &step, &again, &why);

    (void)pthread_mutex_lock(&cur->lock);
    cur->failure = why;
    if (rc != 0 && !again)
        cur->stats.reloads[step]++;
    (void)pthread_mutex_unlock(&cur->lock);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

void dx_current_retry(struct dx_current *cur)
{
    cur->retry_ms = 0;
}

bool dx_current_poisoned(struct dx_current *cur)
{
    return dx_version_poisoned(atomic_load(&cur->version));
}

uint64_t dx_current_tend(struct dx_current *cur)
{
    const uint64_t life_ms = cur->how.cursor_life_ms;
    struct dx_version *gone;
    uint64_t now = dx_clock_ms();
    uint64_t next;

    do {
        (void)pthread_mutex_lock(&cur->lock);
        gone = dx_open_versions_over(&cur->open_versions, life_ms, now);
        dx_current_leaves(cur, gone);
        next = dx_open_versions_next_ms(&cur->open_versions, life_ms);
        (void)pthread_mutex_unlock(&cur->lock);
        dx_version_unpin(gone);
    } while (gone != NULL);
    if (next == UINT64_MAX)
        return life_ms > TEND_MIN_MS ? life_ms : TEND_MIN_MS;
    return next > now ? next - now : 0;
}

/* ---- opening, closing ---- */

static int open_first(struct dx_current *cur, struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_shared_manifest *listed = NULL;
    const struct dx_manifest_version *entry;
    struct dx_version *first = NULL;
    enum dx_reload_step step;
    char etag[DX_SOURCE_ETAG];
    int rc;

    cur->followed = (struct dx_followed){ .object = DX_MANIFEST_FILE, .cap = DX_MANIFEST_MAX };
    rc = dx_followed_open(&cur->followed, cur->root, NULL, &cur->source_options, err);
    if (rc == DX_OK)
        rc = read_manifest(cur, etag, &manifest, err);
    if (rc >= 0)
        rc = dx_suppressions_live_check(cur->caches->suppressions, &manifest, err);
    if (rc >= 0)
        rc = dx_current_take(cur, &manifest, 0, err);
    dx_manifest_release(&manifest);
    if (rc < 0)
        return rc;
    dx_followed_take(&cur->followed, etag);
    rc = hold_current(cur, &listed, &entry, err);
    if (rc == DX_OK)
        rc = dx_current_load(cur, listed, entry, true, &first, &step, err);
    dx_shared_manifest_put(&listed);
    if (rc == DX_OK)
        swap(cur, first);
    return rc;
}

int dx_current_open(struct dx_current **out, const char *root,
                    const struct dx_current_options *options, struct dx_error *err)
{
    struct dx_current *cur = calloc(1, sizeof *cur);
    int rc = DX_OK;

    *out = NULL;
    if (cur == NULL)
        return dx_no_memory(err, "%s", root);
    (void)pthread_mutex_init(&cur->lock, NULL);
    (void)pthread_mutex_init(&cur->lease_lock, NULL);
    atomic_store(&cur->fence_ms, UINT64_MAX);
    (void)pthread_cond_init(&cur->landed, NULL);
    cur->how = *options;
    cur->open_versions.limit = options->resident_versions;
    cur->root = strdup(root);
    if (options->resident_versions < DX_RESIDENT_MIN ||
        options->resident_versions > DX_RESIDENT_MAX)
        rc = dx_fail(err, DX_E_INVALID, "%u resident versions: %d to %d can be",
                     options->resident_versions, DX_RESIDENT_MIN, DX_RESIDENT_MAX);
    else if (cur->root == NULL)
        rc = dx_no_memory(err, "%s", root);
    if (rc == DX_OK)
        rc = copy_options(cur, options->version, err);
    if (rc == DX_OK)
        rc = dx_caches_new(&cur->caches, options->version, err);
    if (rc == DX_OK)
        rc = dx_suppressions_live_open(&cur->caches->suppressions, cur->root, &cur->source_options,
                                       options->waits_for_suppressions ? DX_SUPPRESSIONS_LIVE_WAIT
                                                                       : DX_SUPPRESSIONS_LIVE_SERVE,
                                       err);
    if (rc == DX_OK)
        rc = open_first(cur, err);
    if (rc == DX_OK)
        *out = cur;
    else
        dx_current_close(&cur);
    return rc;
}

void dx_current_close(struct dx_current **cur)
{
    struct dx_current *c = *cur;

    if (c != NULL) {
        for (size_t i = 0; i < c->open_versions.count; i++)
            dx_version_unpin(c->open_versions.items[i].version);
        dx_shared_manifest_put(&c->listed);
        dx_shared_manifest_put(&c->refused);
        dx_caches_free(&c->caches);
        dx_followed_close(&c->followed);
        (void)pthread_cond_destroy(&c->landed);
        (void)pthread_mutex_destroy(&c->lock);
        (void)pthread_mutex_destroy(&c->lease_lock);
        free_options(c);
        free(c->root);
        free(c);
    }
    *cur = NULL;
}

/* ---- what is said of it ---- */

struct dx_caches *dx_current_caches(struct dx_current *cur)
{
    return cur->caches;
}

const _Atomic uint64_t *dx_current_access(const struct dx_current *cur)
{
    return &cur->access;
}

/* With the lock: one more thing that is wrong. */
static void add_words(struct dx_current_health *h, const char *what, const char *why)
{
    size_t used = h->sound ? 0 : strlen(h->text);

    (void)snprintf(h->text + used, sizeof h->text - used, "%s%s%s", used > 0 ? "; " : "", what,
                   why);
    h->sound = false;
}

void dx_current_health(struct dx_current *cur, struct dx_current_health *health)
{
    struct dx_error damage = DX_ERROR_INIT;
    struct dx_error hang = DX_ERROR_INIT;
    struct dx_suppressions_live_health suppressions;
    char broken[32];

    (void)pthread_mutex_lock(&cur->lock);
    health->sound = true;
    (void)snprintf(health->text, sizeof health->text, "sound");
    health->objects_broken = dx_version_objects_broken(cur->version);
    (void)snprintf(broken, sizeof broken, "%llu", (unsigned long long)health->objects_broken);
    if (health->objects_broken > 0)
        add_words(health, broken, " reads found an object replaced, cut or gone");
    if (dx_version_damage(cur->version, &damage) < 0)
        add_words(health, "nothing is answered: ", damage.text);
    if (cur->failure.code != DX_OK)
        add_words(health, "the last reload failed: ", cur->failure.text);
    if (cur->lease_failure.code != DX_OK)
        add_words(health, "the lease was not renewed: ", cur->lease_failure.text);
    (void)pthread_mutex_unlock(&cur->lock);
    if (dx_followed_hangs(&cur->followed, &hang) < 0)
        add_words(health, "", hang.text);
    dx_suppressions_live_health(cur->caches->suppressions, &suppressions);
    if (!suppressions.sound)
        add_words(health, "suppressions: ", suppressions.text);
}

const char *dx_reload_step_name(enum dx_reload_step step)
{
    static const char *const names[DX_RELOAD_STEPS] = {
        [DX_RELOAD_OK] = "ok",         [DX_RELOAD_MANIFEST] = "manifest",
        [DX_RELOAD_LEASE] = "lease",   [DX_RELOAD_MEMORY] = "memory",
        [DX_RELOAD_LOAD] = "load",     [DX_RELOAD_WARM] = "warm",
        [DX_RELOAD_PREPARE] = "check",
    };

    return names[step];
}

void dx_current_stats(struct dx_current *cur, struct dx_current_stats *stats)
{
    (void)pthread_mutex_lock(&cur->lock);
    *stats = cur->stats;
    stats->sequence = cur->listed->manifest.sequence;
    if (strcmp(cur->listed->manifest.current, dx_version_name(cur->version)) == 0)
        stats->served_sequence = stats->sequence;
    else
        stats->served_sequence = strtoull(dx_version_name(cur->version), NULL, 10);
    stats->published_us = cur->version->entry.published_us;
    stats->look_age_ms = dx_followed_age_ms(&cur->followed);
    stats->missing_files = cur->version->entry.missing_files;
    stats->rows_left_out = cur->version->entry.rows_left_out;
    stats->leased = cur->how.lease != NULL;
    if (stats->leased) {
        uint64_t until = dx_lease_until(cur->how.lease, dx_version_name(cur->version));
        uint64_t now = dx_clock_ms();

        stats->lease_ms = until > now ? until - now : 0;
    }
    stats->objects_broken = dx_version_objects_broken(cur->version);
    stats->prepare_count = cur->how.prepare_count;
    for (size_t i = 0; i < stats->prepare_count; i++)
        stats->prepare_name[i] = cur->how.prepare[i].name;
    stats->resident_count = cur->open_versions.count;
    for (size_t i = 0; i < stats->resident_count; i++)
        memcpy(stats->resident[i], cur->open_versions.items[i].version->entry.version,
               sizeof stats->resident[i]);
    (void)pthread_mutex_unlock(&cur->lock);
    stats->mapped_bytes = dx_open_parts_bytes(&cur->caches->parts);
    stats->mapped_versions = atomic_load(&cur->caches->mapped_versions);
}
