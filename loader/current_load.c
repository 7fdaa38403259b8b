/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/current_parts.h"

#include "base/clock.h"
#include "loader/current.h"
#include "loader/memory_room.h"
#include "loader/warm.h"

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

/* Bytes that are mapped if all goes that may: of the current version, if only fetched ones go also
 * of those that it superseded, and of one more. */
static uint64_t least_bytes(struct dx_current *cur, const struct dx_manifest *m,
                            const struct dx_manifest_version *entry, bool fetched_only)
{
    struct dx_version *staying[DX_RESIDENT_MAX + 1];
    size_t count = 0;
    uint64_t sum;

    (void)pthread_mutex_lock(&cur->lock);
    for (size_t i = 0; i < cur->open_versions.count; i++) {
        const struct dx_open_version *item = &cur->open_versions.items[i];

        if (i == 0 || (fetched_only && !item->fetched))
            staying[count++] = item->version;
    }
    sum = dx_version_mapped_bytes_with(staying, count, cur->root, m, entry);
    (void)pthread_mutex_unlock(&cur->lock);
    return sum;
}

/* Makes room for a version more: closes open versions until there is. None is closed if that were
 * not enough. What it shares with one that goes has to be mapped again. */
static int make_room(struct dx_current *cur, const struct dx_manifest *m,
                     const struct dx_manifest_version *entry, bool fetched_only,
                     struct dx_error *err)
{
    const uint64_t cap = cur->how.resident_bytes;
    const char *name = entry->version;
    const bool vain = cap > 0 && least_bytes(cur, m, entry, fetched_only) > cap;
    uint64_t bytes = dx_version_fresh_bytes_of(cur->caches, cur->root, m, entry);
    uint64_t mapped = dx_open_parts_bytes(&cur->caches->parts);
    uint64_t available;
    bool capped = false;

    while (vain || (cap > 0 && (mapped > cap || bytes > cap - mapped))) {
        struct dx_version *gone = NULL;

        (void)pthread_mutex_lock(&cur->lock);
        if (!vain)
            gone = dx_open_versions_evict(&cur->open_versions, fetched_only);
        dx_current_leaves(cur, gone);
        (void)pthread_mutex_unlock(&cur->lock);
        if (gone == NULL)
            return dx_fail(err, DX_E_BUSY,
                           "version %s needs %llu bytes of mapped files beside %llu that are in "
                           "use, and resident-max is %llu: raise it, or wait until older "
                           "versions are let go",
                           name, (unsigned long long)bytes, (unsigned long long)mapped,
                           (unsigned long long)cap);
        dx_version_unpin(gone);
        mapped = dx_open_parts_bytes(&cur->caches->parts);
        bytes = dx_version_fresh_bytes_of(cur->caches, cur->root, m, entry);
    }
    available = cur->how.warm ? dx_memory_room("", &capped) : UINT64_MAX;
    if (bytes > available)
        return dx_fail(err, DX_E_BUSY,
                       "version %s has %llu bytes to map and %s has %llu bytes of memory to give; "
                       "with warm no it is loaded all the same",
                       name, (unsigned long long)bytes,
                       capped ? "the control group" : "the machine", (unsigned long long)available);
    return DX_OK;
}

/* The first version has nothing that could give way to it. */
static int fits_alone(const struct dx_current *cur, const char *name, uint64_t bytes,
                      struct dx_error *err)
{
    const uint64_t cap = cur->how.resident_bytes;

    if (cap == 0 || bytes <= cap)
        return DX_OK;
    return dx_fail(
        err, DX_E_LIMIT,
        "version %s has %llu bytes of mapped files, and resident-max is %llu: it needs at "
        "least those, and room for the next version beside them",
        name, (unsigned long long)bytes, (unsigned long long)cap);
}

/* Opened and listed; not visible yet. */
static int load(struct dx_current *cur, struct dx_shared_manifest *listed,
                const struct dx_manifest_version *entry, struct dx_part_how how,
                struct dx_version **v, struct dx_error *err)
{
    struct dx_version_options options = cur->options;
    int rc;

    options.verify = options.verify || how.verify;
    options.beside = how.beside;
    rc = dx_version_open(v, cur->root, &listed->manifest, entry, cur->caches, &options, err);
    if (rc == DX_OK)
        dx_version_list(*v, listed);
    return rc;
}

/* Its files are known to have been touched: what was not put right is found by a reload now, and
 * copies of a remote root are fetched again, instead of failing block by block. Of the owner's
 * thread. */
static bool was_touched(struct dx_current *cur, const struct dx_manifest_version *entry)
{
    const struct dx_version *v = atomic_load(&cur->version);

    return v != NULL && dx_version_poisoned(v) && strcmp(dx_version_name(v), entry->version) == 0;
}

int dx_current_load(struct dx_current *cur, struct dx_shared_manifest *listed,
                    const struct dx_manifest_version *entry, bool first, struct dx_version **v,
                    enum dx_reload_step *step, struct dx_error *err)
{
    uint64_t bytes = dx_version_mapped_bytes_of(&listed->manifest, entry);
    bool warm = cur->how.warm && (!first || bytes <= dx_memory_room("", NULL));
    double begin;
    int rc;

    *v = NULL;
    *step = DX_RELOAD_MEMORY;
    rc = first ? fits_alone(cur, entry->version, bytes, err)
               : make_room(cur, &listed->manifest, entry, false, err);
    begin = dx_clock_s();
    if (rc == DX_OK) {
        *step = DX_RELOAD_LOAD;
        rc = load(cur, listed, entry, (struct dx_part_how){ was_touched(cur, entry), !first }, v,
                  err);
    }
    if (rc == DX_OK) {
        phase_done(cur, &cur->stats.load_s, begin);
        begin = dx_clock_s();
        *step = DX_RELOAD_WARM;
        rc = warm ? dx_warm_maps(*v, !first, err) : DX_OK;
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

int dx_current_load_kept(struct dx_current *cur, struct dx_shared_manifest *listed,
                         const struct dx_manifest_version *entry, struct dx_version **v,
                         struct dx_error *err)
{
    int rc = make_room(cur, &listed->manifest, entry, true, err);

    *v = NULL;
    if (rc == DX_OK)
        rc = load(cur, listed, entry, (struct dx_part_how){ .beside = true }, v, err);
    if (rc == DX_OK)
        rc = prepare(cur, *v, err);
    if (rc == DX_OK && !dx_version_intact(*v))
        rc = dx_version_damage(*v, err);
    if (rc < 0) {
        dx_version_unpin(*v);
        *v = NULL;
    }
    return rc;
}
