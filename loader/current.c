/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/current.h"

#include "base/clock.h"
#include "fetch/local_etag.h"
#include "loader/objects.h"
#include "loader/residents.h"
#include "loader/version.h"
#include "loader/warm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RETRY_MS 60000        /* a candidate that failed, while the manifest is the same */
#define POISONED_RETRY_MS 500 /* the same while nothing is served */

/* One open for all who want the same version. On the list, and with those who wait for it. */
struct flight {
    struct flight *next;
    char name[DX_VERSION_NAME];
    unsigned holders;
    bool done;
    int rc;
    struct dx_error err;
};

struct dx_current {
    char *root;
    struct dx_current_options how;
    struct dx_version_options options;
    struct dx_source_options source_options; /* that `options` names; of a remote root */
    struct dx_caches *caches;
    struct dx_version *_Atomic version; /* the first resident; written under the lock */

    /* Of the owner's thread. */
    struct dx_source *source;  /* of the manifest; NULL: the root is a directory */
    char etag[DX_SOURCE_ETAG]; /* of the manifest that was taken last; "": none */
    bool refused;              /* the candidate of that manifest has failed */
    struct dx_error refusal;   /* then: why */
    uint64_t retry_ms;         /* and not again before */

    pthread_mutex_t lock; /* of all below, and of the step from finding a version to pinning it */
    pthread_cond_t landed;
    struct flight *flights;
    struct dx_residents residents;
    struct dx_shared_manifest *listed; /* the manifest that was taken last */
    struct dx_error failure;           /* of the last reload; its text is empty if it was well */
    struct dx_current_stats stats;     /* what is counted here; the rest is filled in when asked */
};

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
    return ok ? DX_OK : dx_fail(err, DX_E_NOMEM, "%s: out of memory", cur->root);
}

static void free_options(struct dx_current *cur)
{
    free((void *)cur->options.mirror_dir);
    free((void *)cur->source_options.ca_file);
    free((void *)cur->source_options.s3_endpoint);
    free((void *)cur->source_options.s3_region);
    free((void *)cur->source_options.s3_profile);
}

/* Of a directory, by its path each time: it may be another directory by now. Taken before the file
 * is read: if it is replaced in between, the next look finds it new. */
static bool stat_manifest(const char *root, char etag[DX_SOURCE_ETAG])
{
    char *path = NULL;
    struct stat st;
    bool found;

    if (asprintf(&path, "%s/index/manifest.json", root) < 0)
        return false;
    found = stat(path, &st) == 0;
    if (found)
        dx_local_etag(&st, etag);
    free(path);
    return found;
}

/* The manifest if it is not the one that was taken last: 1, else 0. */
static int read_manifest(struct dx_current *cur, char etag[DX_SOURCE_ETAG], struct dx_manifest *m,
                         struct dx_error *err)
{
    int rc;

    etag[0] = '\0';
    if (cur->source != NULL)
        return dx_version_manifest_get(cur->source, cur->root,
                                       cur->etag[0] == '\0' ? NULL : cur->etag, etag, m, err);
    if (stat_manifest(cur->root, etag) && strcmp(etag, cur->etag) == 0)
        return 0;
    rc = dx_version_manifest(cur->root, m, err);
    return rc < 0 ? rc : 1;
}

/* ---- one version, from its entry to where it may serve ---- */

static void phase_done(struct dx_current *cur, double *phase, double begin)
{
    (void)pthread_mutex_lock(&cur->lock);
    *phase = dx_clock_s() - begin;
    (void)pthread_mutex_unlock(&cur->lock);
}

static int prepare(struct dx_current *cur, struct dx_version *v, struct dx_error *err)
{
    for (size_t i = 0; i < cur->how.prepare_count; i++) {
        const struct dx_prepare *p = &cur->how.prepare[i];
        double begin = dx_clock_s();

        if (p->run(p->ctx, v, err) < 0)
            return dx_fail_in(err, "%s of version %s", p->name, dx_version_name(v));
        phase_done(cur, &cur->stats.prepare_s[i], begin);
    }
    return DX_OK;
}

/* What the kernel says that programs may take without swapping; UINT64_MAX: it does not say. */
static uint64_t memory_available(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    unsigned long long kb = 0;
    char line[128];

    if (f == NULL)
        return UINT64_MAX;
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
            break;
    (void)fclose(f);
    return kb == 0 ? UINT64_MAX : (uint64_t)kb * 1024;
}

/* Makes room for so many bytes more: lets residents go until there is. */
static int admit(struct dx_current *cur, const char *name, uint64_t bytes, bool brought_only,
                 struct dx_error *err)
{
    const uint64_t cap = cur->how.resident_bytes;
    uint64_t mapped = atomic_load(&cur->caches->mapped_bytes);
    uint64_t available;

    while (cap > 0 && (bytes > cap || mapped > cap - bytes)) {
        struct dx_version *gone;

        (void)pthread_mutex_lock(&cur->lock);
        gone = dx_residents_evict(&cur->residents, brought_only);
        (void)pthread_mutex_unlock(&cur->lock);
        if (gone == NULL)
            return dx_fail(err, DX_E_BUSY,
                           "version %s needs %llu bytes of mapped files beside %llu that are in "
                           "use, and resident-max is %llu: raise it, or wait until older "
                           "versions are let go",
                           name, (unsigned long long)bytes, (unsigned long long)mapped,
                           (unsigned long long)cap);
        dx_version_unpin(gone);
        mapped = atomic_load(&cur->caches->mapped_bytes);
    }
    available = cur->how.warm ? memory_available() : UINT64_MAX;
    if (bytes > available)
        return dx_fail(err, DX_E_BUSY,
                       "version %s has %llu bytes to map and the machine has %llu bytes of memory "
                       "to give; with warm no it is loaded all the same",
                       name, (unsigned long long)bytes, (unsigned long long)available);
    return DX_OK;
}

/* Whether v is what the entry says, to the byte. */
static bool is_entry(const struct dx_version *v, const struct dx_manifest_version *entry)
{
    return strcmp(v->entry.version, entry->version) == 0 &&
           memcmp(&v->entry.build, &entry->build, sizeof entry->build) == 0 &&
           v->entry.file_count == entry->file_count &&
           memcmp(v->entry.files, entry->files, entry->file_count * sizeof *entry->files) == 0;
}

/* Opened, listed, counted; nobody has seen it. */
static int load(struct dx_current *cur, struct dx_shared_manifest *listed,
                const struct dx_manifest_version *entry, struct dx_version **v,
                struct dx_error *err)
{
    const struct dx_version *before = atomic_load(&cur->version);
    struct dx_version_options options = cur->options;
    int rc;

    /* Its files are known to be touched: what was not put right is found now, and copies of a
     * remote root are brought again, instead of failing block by block. */
    if (before != NULL && dx_version_poisoned(before) && is_entry(before, entry))
        options.verify = true;
    rc = dx_version_open(v, cur->root, entry, cur->caches, &options, err);

    if (rc == DX_OK)
        dx_version_list(*v, listed);
    return rc;
}

/* As load, and all that a version goes through before it is the current one. */
static int load_current(struct dx_current *cur, struct dx_shared_manifest *listed,
                        const struct dx_manifest_version *entry, bool first, struct dx_version **v,
                        enum dx_reload_step *step, struct dx_error *err)
{
    uint64_t bytes = dx_version_mapped_bytes(entry);
    bool warm = cur->how.warm && (!first || bytes <= memory_available());
    double begin;
    int rc;

    *v = NULL;
    *step = DX_RELOAD_MEMORY;
    rc = first ? DX_OK : admit(cur, entry->version, bytes, false, err);
    begin = dx_clock_s();
    if (rc == DX_OK) {
        *step = DX_RELOAD_LOAD;
        rc = load(cur, listed, entry, v, err);
    }
    if (rc == DX_OK) {
        phase_done(cur, &cur->stats.load_s, begin);
        begin = dx_clock_s();
        *step = DX_RELOAD_WARM;
        rc = warm ? dx_warm_maps(*v, err) : DX_OK;
        if (rc == DX_OK)
            rc = dx_warm_keys(*v, cur->caches->hot, err);
    }
    if (rc == DX_OK) {
        phase_done(cur, &cur->stats.warm_s, begin);
        *step = DX_RELOAD_PREPARE;
        rc = prepare(cur, *v, err);
    }
    if (rc == DX_OK && !dx_version_intact(*v))
        rc = dx_version_damage(*v, err);
    if (rc == DX_OK)
        return DX_OK;
    dx_version_unpin(*v);
    *v = NULL;
    return rc;
}

/* ---- opening, closing ---- */

/* Takes over the pin on v. */
static void swap(struct dx_current *cur, struct dx_version *v)
{
    struct dx_version *gone;
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)pthread_mutex_lock(&cur->lock);
    gone = dx_residents_promote(&cur->residents, v, dx_clock_ms());
    atomic_store_explicit(&cur->version, v, memory_order_release);
    cur->stats.loaded_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    (void)pthread_mutex_unlock(&cur->lock);
    do {
        dx_version_unpin(gone);
        (void)pthread_mutex_lock(&cur->lock);
        gone = dx_residents_excess(&cur->residents);
        (void)pthread_mutex_unlock(&cur->lock);
    } while (gone != NULL);
}

static int open_first(struct dx_current *cur, struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    const struct dx_manifest_version *entry;
    struct dx_version *first = NULL;
    enum dx_reload_step step;
    char etag[DX_SOURCE_ETAG];
    int rc = DX_OK;

    if (dx_source_remote(cur->root))
        rc = dx_source_open(&cur->source, cur->root, &cur->source_options, err);
    if (rc == DX_OK)
        rc = read_manifest(cur, etag, &manifest, err);
    if (rc >= 0)
        rc = dx_shared_manifest_new(&cur->listed, &manifest, err);
    dx_manifest_release(&manifest);
    if (rc < 0)
        return rc;
    memcpy(cur->etag, etag, sizeof cur->etag);
    entry = dx_manifest_current(&cur->listed->manifest);
    if (entry == NULL)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "%s: no version is current. `domaindex publish --root %s` makes one",
                       cur->root, cur->root);
    rc = load_current(cur, cur->listed, entry, true, &first, &step, err);
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
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    (void)pthread_mutex_init(&cur->lock, NULL);
    (void)pthread_cond_init(&cur->landed, NULL);
    cur->how = *options;
    cur->residents.limit = options->resident_versions;
    cur->root = strdup(root);
    if (options->resident_versions < DX_RESIDENT_MIN ||
        options->resident_versions > DX_RESIDENT_MAX)
        rc = dx_fail(err, DX_E_INVALID, "%u resident versions: %d to %d can be",
                     options->resident_versions, DX_RESIDENT_MIN, DX_RESIDENT_MAX);
    else if (cur->root == NULL)
        rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    if (rc == DX_OK)
        rc = copy_options(cur, options->version, err);
    if (rc == DX_OK)
        rc = dx_caches_new(&cur->caches, options->version, err);
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
        for (size_t i = 0; i < c->residents.count; i++)
            dx_version_unpin(c->residents.items[i].version);
        dx_shared_manifest_put(&c->listed);
        dx_caches_free(&c->caches);
        dx_source_close(&c->source);
        (void)pthread_cond_destroy(&c->landed);
        (void)pthread_mutex_destroy(&c->lock);
        free_options(c);
        free(c->root);
        free(c);
    }
    *cur = NULL;
}

/* ---- pins ---- */

struct dx_version *dx_current_pin(struct dx_current *cur)
{
    struct dx_version *v;

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
    if (held == NULL || held != atomic_load_explicit(&cur->version, memory_order_acquire))
        return dx_current_pin(cur);
    dx_version_pin(held);
    return held;
}

/* With the lock. */
static struct dx_version *pin_resident(struct dx_current *cur, const char *name)
{
    struct dx_resident *item = dx_residents_find(&cur->residents, name);

    if (item == NULL)
        return NULL;
    if (item->brought)
        item->since_ms = dx_clock_ms();
    dx_version_pin(item->version);
    return item->version;
}

static const struct dx_manifest_version *kept_entry(const struct dx_shared_manifest *listed,
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
        return DX_PIN_UNKNOWN;
    (void)pthread_mutex_lock(&cur->lock);
    *v = pin_resident(cur, name);
    if (*v != NULL)
        result = DX_PIN_HELD;
    else if (kept_entry(cur->listed, name) != NULL)
        result = DX_PIN_COLD;
    else if (sequence > cur->listed->manifest.sequence)
        result = DX_PIN_NEWER;
    else
        result = DX_PIN_GONE;
    (void)pthread_mutex_unlock(&cur->lock);
    return result;
}

/* ---- versions by name ---- */

/* Under way in this or another thread: waits for it. With the lock. */
static bool join_flight(struct dx_current *cur, const char *name, int *rc, struct dx_error *err)
{
    struct flight *f = cur->flights;

    while (f != NULL && strcmp(f->name, name) != 0)
        f = f->next;
    if (f == NULL)
        return false;
    f->holders++;
    while (!f->done)
        (void)pthread_cond_wait(&cur->landed, &cur->lock);
    *rc = f->rc;
    if (f->rc < 0 && err != NULL)
        *err = f->err;
    if (--f->holders == 0)
        free(f);
    return true;
}

static void land_flight(struct dx_current *cur, struct flight *f, int rc,
                        const struct dx_error *err)
{
    struct flight **at = &cur->flights;

    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    f->done = true;
    f->rc = rc;
    f->err = *err;
    (void)pthread_cond_broadcast(&cur->landed);
    if (--f->holders == 0)
        free(f);
}

/* Without the lock. */
static int open_kept(struct dx_current *cur, struct dx_shared_manifest *listed, const char *name,
                     struct dx_version **v, struct dx_error *err)
{
    const struct dx_manifest_version *entry = kept_entry(listed, name);
    int rc = admit(cur, name, dx_version_mapped_bytes(entry), true, err);

    *v = NULL;
    if (rc == DX_OK)
        rc = load(cur, listed, entry, v, err);
    if (rc == DX_OK)
        rc = prepare(cur, *v, err);
    if (rc < 0) {
        dx_version_unpin(*v);
        *v = NULL;
    }
    return rc;
}

/* Makes v, with one pin of the caller's, a resident. With the lock, which it gives up meanwhile. */
static void keep_brought(struct dx_current *cur, struct dx_version *v)
{
    struct dx_version *gone;

    dx_version_pin(v);
    dx_residents_bring(&cur->residents, v, dx_clock_ms());
    cur->stats.brought++;
    while ((gone = dx_residents_excess(&cur->residents)) != NULL) {
        (void)pthread_mutex_unlock(&cur->lock);
        dx_version_unpin(gone);
        (void)pthread_mutex_lock(&cur->lock);
    }
}

/* With the lock. */
static int lead_flight(struct dx_current *cur, const char *name, struct dx_version **v,
                       struct dx_error *err)
{
    struct dx_shared_manifest *listed = dx_shared_manifest_hold(cur->listed);
    struct flight *f = calloc(1, sizeof *f);
    struct dx_error why = DX_ERROR_INIT;
    struct dx_version *other;
    int rc;

    if (f == NULL) {
        dx_shared_manifest_put(&listed);
        return dx_fail(err, DX_E_NOMEM, "version %s: out of memory", name);
    }
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    f->holders = 1;
    f->next = cur->flights;
    cur->flights = f;
    (void)pthread_mutex_unlock(&cur->lock);
    rc = open_kept(cur, listed, name, v, &why);
    dx_shared_manifest_put(&listed);
    (void)pthread_mutex_lock(&cur->lock);
    other = pin_resident(cur, name); /* by a reload, meanwhile */
    if (other != NULL) {
        dx_version_unpin(*v);
        *v = other;
        rc = DX_OK;
    } else if (rc == DX_OK) {
        keep_brought(cur, *v);
    } else {
        cur->stats.bring_failures++;
    }
    land_flight(cur, f, rc, &why);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

int dx_current_bring(struct dx_current *cur, const char *name, struct dx_version **v,
                     struct dx_error *err)
{
    int rc = DX_OK;

    (void)pthread_mutex_lock(&cur->lock);
    do {
        *v = pin_resident(cur, name);
        if (*v != NULL)
            break;
        if (kept_entry(cur->listed, name) == NULL)
            rc = dx_fail(err, DX_E_NOT_FOUND,
                         "%s: version %s is not kept. `domaindex versions --root %s` lists those "
                         "that are",
                         cur->root, name, cur->root);
        else if (!join_flight(cur, name, &rc, err))
            rc = lead_flight(cur, name, v, err);
        /* Who joined finds it resident now, or, if it went already, brings it again. */
    } while (rc == DX_OK && *v == NULL);
    (void)pthread_mutex_unlock(&cur->lock);
    return rc;
}

/* ---- reloads ---- */

/* 1 taken, or <0. What m has goes to cur. */
static int take_manifest(struct dx_current *cur, struct dx_manifest *m, const char *etag,
                         struct dx_error *err)
{
    const struct dx_manifest *seen = &cur->listed->manifest;
    struct dx_shared_manifest *listed;
    int rc;

    if (m->sequence < seen->sequence)
        return dx_fail(err, DX_E_INVALID,
                       "%s: manifest went back from sequence %llu to %llu; kept %s", cur->root,
                       (unsigned long long)seen->sequence, (unsigned long long)m->sequence,
                       dx_version_name(atomic_load(&cur->version)));
    if (m->sequence == seen->sequence && strcmp(m->current, seen->current) != 0)
        return dx_fail(err, DX_E_INVALID,
                       "%s: manifest says now that sequence %llu is version %s, and said %s; a "
                       "flip must raise the sequence",
                       cur->root, (unsigned long long)m->sequence, m->current, seen->current);
    rc = dx_shared_manifest_new(&listed, m, err);
    if (rc < 0)
        return rc;
    memcpy(cur->etag, etag, sizeof cur->etag);
    cur->refused = false;
    (void)pthread_mutex_lock(&cur->lock);
    for (size_t i = 0; i < cur->residents.count; i++)
        dx_version_list(cur->residents.items[i].version, listed);
    dx_shared_manifest_put(&cur->listed);
    cur->listed = listed;
    (void)pthread_mutex_unlock(&cur->lock);
    return 1;
}

/* A resident with those bytes, pinned, or NULL. One of the same name with other bytes goes. */
static struct dx_version *pin_same(struct dx_current *cur, const struct dx_manifest_version *entry)
{
    struct dx_version *gone = NULL;
    struct dx_version *v;

    (void)pthread_mutex_lock(&cur->lock);
    v = pin_resident(cur, entry->version);
    if (v != NULL && (!is_entry(v, entry) || dx_version_poisoned(v))) {
        struct dx_resident *item = dx_residents_find(&cur->residents, entry->version);

        if (item->version != atomic_load(&cur->version))
            gone = dx_residents_remove(&cur->residents, item);
        dx_version_unpin(v);
        v = NULL;
    }
    (void)pthread_mutex_unlock(&cur->lock);
    dx_version_unpin(gone);
    return v;
}

/* Those whose files were changed serve nobody; who asks for one by name has it opened anew. */
static void drop_poisoned(struct dx_current *cur)
{
    struct dx_version *gone;

    do {
        gone = NULL;
        (void)pthread_mutex_lock(&cur->lock);
        for (size_t i = 0; i < cur->residents.count && gone == NULL; i++) {
            struct dx_resident *item = &cur->residents.items[i];

            if (item->version != atomic_load(&cur->version) && dx_version_poisoned(item->version))
                gone = dx_residents_remove(&cur->residents, item);
        }
        (void)pthread_mutex_unlock(&cur->lock);
        dx_version_unpin(gone);
    } while (gone != NULL);
}

/* The current version of the manifest, unless it is served: 1, 0 or <0. */
static int flip(struct dx_current *cur, enum dx_reload_step *step, struct dx_error *err)
{
    const struct dx_manifest_version *entry = dx_manifest_current(&cur->listed->manifest);
    struct dx_version *next;
    int rc = DX_OK;

    if (entry == NULL) {
        *step = DX_RELOAD_MANIFEST;
        return dx_fail(err, DX_E_INVALID, "%s: the manifest names no current version", cur->root);
    }
    drop_poisoned(cur);
    if (is_entry(atomic_load(&cur->version), entry) &&
        !dx_version_poisoned(atomic_load(&cur->version)))
        return 0;
    next = pin_same(cur, entry);
    if (next == NULL)
        rc = load_current(cur, cur->listed, entry, false, &next, step, err);
    if (rc < 0)
        return rc;
    *step = DX_RELOAD_OK;
    swap(cur, next);
    drop_poisoned(cur);
    return 1;
}

/* *again: it is what was refused before and not tried again yet. */
static int reload(struct dx_current *cur, enum dx_reload_step *step, bool *again,
                  struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc = read_manifest(cur, etag, &manifest, err);

    *again = false;
    *step = DX_RELOAD_MANIFEST;
    if (rc == 1)
        rc = take_manifest(cur, &manifest, etag, err);
    dx_manifest_release(&manifest);
    if (rc < 0)
        return rc;
    if (cur->refused && dx_clock_ms() < cur->retry_ms) {
        *again = true;
        *err = cur->refusal;
        return err->code;
    }
    rc = flip(cur, step, err);
    cur->refused = rc < 0;
    if (rc < 0) {
        cur->refusal = *err;
        cur->retry_ms = dx_clock_ms() + (dx_version_poisoned(atomic_load(&cur->version))
                                             ? POISONED_RETRY_MS
                                             : RETRY_MS);
    }
    return rc;
}

int dx_current_reload(struct dx_current *cur, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    enum dx_reload_step step;
    bool again;
    int rc = reload(cur, &step, &again, &why);

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

uint64_t dx_current_tend(struct dx_current *cur)
{
    const uint64_t life_ms = cur->how.cursor_life_ms;
    struct dx_version *gone;
    uint64_t now = dx_clock_ms();
    uint64_t next;

    do {
        (void)pthread_mutex_lock(&cur->lock);
        gone = dx_residents_over(&cur->residents, life_ms, now);
        next = dx_residents_next_ms(&cur->residents, life_ms);
        (void)pthread_mutex_unlock(&cur->lock);
        dx_version_unpin(gone);
    } while (gone != NULL);
    return next == UINT64_MAX ? next : next > now ? next - now : 0;
}

/* ---- what is said of it ---- */

struct dx_caches *dx_current_caches(struct dx_current *cur)
{
    return cur->caches;
}

/* Behind what is there already. */
static void say(struct dx_current_health *health, const char *what, const char *more)
{
    size_t used = health->sound ? 0 : strlen(health->text);

    (void)snprintf(health->text + used, sizeof health->text - used, "%s%s%s",
                   health->sound ? "" : "; ", what, more);
    health->sound = false;
}

void dx_current_health(struct dx_current *cur, struct dx_current_health *health)
{
    struct dx_error damage = DX_ERROR_INIT;
    char count[24];

    *health = (struct dx_current_health){ .sound = true, .text = "sound" };
    (void)pthread_mutex_lock(&cur->lock);
    health->objects_broken = dx_objects_broken(cur->version->objects);
    (void)snprintf(count, sizeof count, "%llu", (unsigned long long)health->objects_broken);
    if (health->objects_broken > 0)
        say(health, count, " reads found an object replaced, cut or gone");
    if (dx_version_damage(cur->version, &damage) < 0)
        say(health, "nothing is answered: ", damage.text);
    if (cur->failure.code != DX_OK)
        say(health, "the last reload failed: ", cur->failure.text);
    (void)pthread_mutex_unlock(&cur->lock);
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
    stats->published_us = cur->version->entry.published_us;
    stats->objects_broken = dx_objects_broken(cur->version->objects);
    stats->prepare_count = cur->how.prepare_count;
    for (size_t i = 0; i < stats->prepare_count; i++)
        stats->prepare_name[i] = cur->how.prepare[i].name;
    stats->resident_count = cur->residents.count;
    for (size_t i = 0; i < stats->resident_count; i++)
        memcpy(stats->resident[i], cur->residents.items[i].version->entry.version,
               sizeof stats->resident[i]);
    (void)pthread_mutex_unlock(&cur->lock);
    stats->mapped_bytes = atomic_load(&cur->caches->mapped_bytes);
    stats->mapped_versions = atomic_load(&cur->caches->mapped_versions);
}
