/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/check/verify.h"

#include "base/map.h"
#include "base/path.h"
#include "builder/root/parallel.h"
#include "builder/root/root.h"
#include "loader/followed/access.h"
#include "loader/followed/suppressions_live.h"
#include "loader/guard/bus_fault.h"
#include "loader/version_parts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* One wrong suffix list can make every domain of a version a damage: a reader of a thousand lines
 * does not want a million. */
#define REPORTED_MAX 1000
#define THREADS 8 /* that fetch objects */

void dx_verify_found(struct dx_verify *w, const char *fmt, ...)
{
    char text[800];
    size_t n = 0;
    va_list ap;

    if (++w->result->damages > REPORTED_MAX + 1)
        return;
    if (w->result->damages > REPORTED_MAX) {
        w->options->found(w->options->ctx, "more: all are counted, but no more are listed");
        return;
    }
    if (w->part != NULL && w->version->part_count > 1)
        n = (size_t)snprintf(text, sizeof text, "part %s: ", w->part->entry.version);
    va_start(ap, fmt);
    (void)vsnprintf(text + n, sizeof text - n, fmt, ap);
    va_end(ap);
    w->options->found(w->options->ctx, text);
}

void dx_verify_enter(struct dx_verify *w, size_t part)
{
    assert(part < w->version->part_count);
    w->at = part;
    w->part = w->version->parts[part].part;
}

void dx_verify_leave(struct dx_verify *w)
{
    w->part = NULL;
}

size_t dx_verify_part_of_file(const struct dx_verify *w, uint64_t file_id)
{
    const struct dx_version *v = w->version;
    const struct dx_part *part = dx_version_part_of_file(v, file_id);
    size_t i = 0;

    while (i < v->part_count && v->parts[i].part != part)
        i++;
    return i;
}

bool dx_verify_is_damage(const struct dx_verify *w, int code)
{
    bool network = code == DX_E_TIMEOUT || code == DX_E_BUSY || code == DX_E_UNSUPPORTED;

    return code != DX_E_NOMEM && code != DX_E_IO && (w->root.in_place || !network);
}

int dx_verify_damage(struct dx_verify *w, const struct dx_error *why, struct dx_error *err)
{
    assert(why->code != DX_OK);
    if (!dx_verify_is_damage(w, (int)why->code)) {
        if (err != NULL)
            *err = *why;
        return (int)why->code;
    }
    dx_verify_found(w, "%s", why->text);
    return DX_OK;
}

int dx_verify_map(const struct dx_verify *w, const char *name, struct dx_map *map,
                  struct dx_error *why)
{
    const struct dx_manifest_version *entry;
    struct dx_version_files copies = w->copies;
    const struct dx_manifest_file *file;
    struct dx_manifest_place place;
    struct dx_map_range range;
    char *path = NULL;
    int rc;

    assert(w->part != NULL); /* dx_verify_enter */
    entry = &w->part->entry;
    if (!w->root.in_place) {
        copies.entry = entry;
        return dx_version_files_map(&copies, name, map, why);
    }
    file = dx_manifest_file(entry, name);
    if (file == NULL)
        return dx_fail(why, DX_E_CORRUPT, "manifest: version %s lists no %s", entry->version, name);
    dx_manifest_place(entry, file, &place);
    range = (struct dx_map_range){ place.at, file->size, place.total };
    if (asprintf(&path, "%s/%s", w->version->root, place.object) < 0)
        return dx_no_memory(why, "%s", name);
    rc = dx_map_open_range(map, path, dx_manifest_packed(entry) ? &range : NULL, DX_MAP_SEQUENTIAL,
                           why);
    free(path);
    return rc;
}

uint64_t dx_verify_payload_sum(uint64_t domain_id, uint32_t dataset_id, struct dx_span payload)
{
    return dx_hash64_seeded(payload, domain_id ^ (uint64_t)dataset_id << 32);
}

void dx_verify_phase(const struct dx_verify *w, const char *name)
{
    dx_verify_phase_of(w, name, 0);
}

void dx_verify_phase_of(const struct dx_verify *w, const char *name, uint64_t bytes)
{
    struct dx_verify_progress *p = w->options->progress;

    if (p != NULL) {
        atomic_store(&p->bytes, 0);
        atomic_store(&p->items, 0);
        atomic_store(&p->bytes_total, bytes);
    }
    if (w->options->phase != NULL)
        w->options->phase(w->options->ctx, name);
}

/* The entry of part i, oldest first; behind the older ones that of the version itself. The manifest
 * has them all, or it would not have been read. */
static const struct dx_manifest_version *part_entry(const struct dx_manifest *m,
                                                    const struct dx_manifest_version *entry,
                                                    size_t i)
{
    return i < entry->part_count ? dx_manifest_find(m, entry->parts[i]) : entry;
}

static uint64_t size_of(const struct dx_manifest *m, const struct dx_manifest_version *entry)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i <= entry->part_count; i++) {
        const struct dx_manifest_version *part = part_entry(m, entry, i);

        for (size_t k = 0; part != NULL && k < dx_manifest_object_count(part); k++)
            bytes += dx_manifest_object(part, k)->size;
    }
    return bytes;
}

/* Size and hash of one object. */
static int check_file(struct dx_verify *w, const struct dx_manifest_version *entry,
                      const struct dx_manifest_file *f, struct dx_error *err)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error why = DX_ERROR_INIT;
    _Atomic unsigned lost = 0;
    struct dx_hash128 hash;
    char object[DX_MANIFEST_FILE_PATH];
    char *path = NULL;
    int rc = DX_OK;

    dx_manifest_file_path(entry, f, object);
    if (asprintf(&path, "%s/%s", w->options->root, object) < 0)
        return dx_no_memory(err, "%s", f->name);
    w->result->files++;
    if (dx_map_open(&map, path, DX_MAP_SEQUENTIAL, &why) < 0) {
        rc = dx_verify_damage(w, &why, err);
        goto out;
    }
    w->result->bytes += map.bytes.size;
    if (w->options->progress != NULL) {
        atomic_fetch_add(&w->options->progress->bytes, map.bytes.size);
        atomic_fetch_add(&w->options->progress->items, 1);
    }
    (void)dx_bus_add(map.base, map.length, &lost, 1, NULL);
    hash = dx_hash128_of(map.bytes);
    dx_bus_remove(map.base);
    if (dx_bus_check(&lost, path, &why) < 0) {
        w->lost_page = true;
        dx_verify_found(w, "%s; what the version says is not compared", why.text);
    } else if (map.bytes.size != f->size)
        dx_verify_found(w, "%s: %zu bytes, the manifest says %llu", path, map.bytes.size,
                        (unsigned long long)f->size);
    else if (!dx_hash128_equal(&hash, &f->hash))
        dx_verify_found(w, "%s: its hash is not the one in the manifest", path);
out:
    dx_map_close(&map);
    free(path);
    return rc;
}

/* What the cache had already was not read: that the object is there, with this size. */
static int ask_for(void *ctx, size_t i, struct dx_error *err)
{
    const struct dx_verify *w = ctx;
    const struct dx_manifest_file *f = dx_manifest_object(w->copies.entry, i);
    struct dx_pin pin = { f->size, NULL };
    char object[DX_MANIFEST_FILE_PATH];
    uint8_t byte;
    struct dx_read read = { object, 0, 1, &byte };
    struct dx_source_batch batch = { .reads = &read, .pins = &pin, .count = 1 };

    dx_manifest_file_path(w->copies.entry, f, object);
    return f->size == 0 ? DX_OK : dx_source_read_batch(w->root.source, &batch, err);
}

static int fetch_files(struct dx_verify *w, const struct dx_manifest_version *entry,
                       struct dx_error *err)
{
    size_t count = dx_manifest_object_count(entry);
    struct dx_error *found = calloc(count + 1, sizeof *found);
    struct dx_error why = DX_ERROR_INIT;
    int rc = DX_OK;

    if (found == NULL)
        return dx_no_memory(err, "verify");
    w->copies.entry = entry;
    if (w->options->progress != NULL) {
        w->copies.bytes = &w->options->progress->bytes;
        w->copies.items = &w->options->progress->items;
    }
    rc = dx_version_files_fetch(&w->copies, found, err);
    w->copies.bytes = w->copies.items = NULL; /* later they come from the mirror */
    if (rc == DX_OK && w->options->cache_dir != NULL &&
        dx_parallel(w->copies.threads, count, ask_for, w, &why) < 0)
        rc = dx_verify_damage(w, &why, err);
    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        w->result->files++;
        w->result->bytes += dx_manifest_object(entry, i)->size;
        if (found[i].code != DX_OK)
            rc = dx_verify_damage(w, &found[i], err);
    }
    free(found);
    return rc;
}

/* Of the version's own folder and of those of its older parts: all that the manifest lists there. */
static int check_files(struct dx_verify *w, const struct dx_manifest *m,
                       const struct dx_manifest_version *entry, struct dx_error *err)
{
    int rc = DX_OK;

    dx_verify_phase_of(w,
                       w->root.in_place ? "hashing the files of the version"
                                        : "fetching and hashing the files of the version",
                       size_of(m, entry));
    for (size_t i = 0; i <= entry->part_count && rc == DX_OK; i++) {
        const struct dx_manifest_version *part = part_entry(m, entry, i);

        if (part == NULL)
            dx_verify_found(w, "manifest: version %s: its part %s is not listed", entry->version,
                            entry->parts[i]);
        else if (!w->root.in_place)
            rc = fetch_files(w, part, err);
        for (size_t k = 0;
             part != NULL && w->root.in_place && k < dx_manifest_object_count(part) && rc == DX_OK;
             k++)
            rc = check_file(w, part, dx_manifest_object(part, k), err);
    }
    return rc;
}

/* Facts, tags and places of URLs: of sets and counts that were found to agree. */
static int check_others(struct dx_verify *w, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && w->result->damages == 0 && i < w->version->part_count; i++) {
        dx_verify_enter(w, i);
        rc = dx_verify_facts(w, err);
        dx_verify_leave(w);
    }
    return rc == DX_OK && w->result->damages == 0 ? dx_verify_urls(w, err) : rc;
}

/* What cannot be opened cannot be compared: one damage, and the rest is left out. */
static int check_content(struct dx_verify *w, const struct dx_manifest *m,
                         const struct dx_manifest_version *entry, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    options.verify = true;
    if (!w->root.in_place) {
        options.source = &w->source_options;
        options.mirror_dir = w->mirror;
        options.mirror_postings = true;
    }
    rc = dx_caches_new(&caches, &options, err);
    if (rc < 0)
        return rc;
    dx_verify_phase(w, "opening the version");
    rc = dx_version_open(&w->version, w->options->root, m, entry, caches, &options, &why);
    if (rc == DX_E_UNSUPPORTED && w->result->damages == 0) {
        /* Each byte is as it was published, by another version of the program: no damage. */
        if (err != NULL)
            *err = why;
    } else if (rc < 0) {
        rc = dx_verify_damage(w, &why, err);
    } else {
        rc = dx_verify_files(w, err);
        if (rc == DX_OK)
            rc = dx_verify_index(w, err);
        if (rc == DX_OK)
            rc = check_others(w, err);
        if (rc == DX_OK)
            rc = dx_verify_lake(w, err);
        if (rc == DX_OK)
            rc = dx_verify_sources(w, err);
    }
    dx_verify_leave(w);
    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        free(w->parts[i].datasets);
    dx_version_unpin(w->version);
    w->version = NULL;
    dx_caches_free(&caches);
    return rc;
}

static int open_remote(struct dx_verify *w, struct dx_error *err)
{
    const char *cache = w->options->cache_dir;
    int rc = dx_root_options(&w->source_options, err);

    if (rc == DX_OK)
        rc = dx_work_folder_make(&w->folder, w->options->tmp_dir, "verify", err);
    if (rc == DX_OK)
        rc = cache != NULL
                 ? dx_path_format(w->mirror, sizeof w->mirror, err, "%s", cache)
                 : dx_path_format(w->mirror, sizeof w->mirror, err, "%s/mirror", w->folder.path);
    if (rc != DX_OK)
        return rc;
    rc = dx_mirror_open(&w->copies.mirror, w->mirror, err);
    w->copies.source = w->root.source;
    w->copies.threads = THREADS;
    return rc;
}

/* As a server reads it when it begins: whole, and not behind its floor, or what the manifest says. */
static int check_suppressions(struct dx_verify *w, const struct dx_manifest *m,
                              struct dx_error *err)
{
    struct dx_source_options source;
    struct dx_suppressions_live *suppressions = NULL;
    struct dx_error why = DX_ERROR_INIT;
    int rc = w->root.in_place ? DX_OK : dx_root_options(&source, &why);

    if (rc == DX_OK)
        rc = dx_suppressions_live_open(&suppressions, w->options->root,
                                       w->root.in_place ? NULL : &source, DX_SUPPRESSIONS_LIVE_WAIT,
                                       &why);
    if (rc == DX_OK)
        rc = dx_suppressions_live_check(suppressions, m, &why);
    dx_suppressions_live_close(&suppressions);
    return rc < 0 ? dx_verify_damage(w, &why, err) : DX_OK;
}

/* As a server reads it when it begins, where the manifest says that there is one. */
static int check_access(struct dx_verify *w, const struct dx_manifest *m, struct dx_error *err)
{
    _Atomic uint64_t least = m->access;
    const struct dx_access_where where = { .root = w->options->root,
                                           .source = w->root.in_place ? NULL : &w->source_options,
                                           .least = &least };
    struct dx_error why = DX_ERROR_INIT;

    if (m->access == 0 || dx_access_check(&where, &why) == DX_OK)
        return DX_OK;
    return dx_verify_damage(w, &why, err);
}

static int check_version(struct dx_verify *w, struct dx_error *err)
{
    const struct dx_verify_options *o = w->options;
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    const struct dx_manifest_version *entry;
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_root_manifest(o->root, &manifest, &why);

    if (rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED) {
        dx_verify_found(w, "%s", why.text);
        return DX_OK;
    }
    if (rc < 0) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    entry = o->version == NULL ? dx_manifest_current(&manifest)
                               : dx_manifest_said(&manifest, o->version);
    if (entry == NULL) {
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: the manifest has no version %s", o->root,
                     o->version == NULL ? "that is current" : o->version);
    } else {
        (void)snprintf(w->result->version, sizeof w->result->version, "%s", entry->version);
        rc = check_suppressions(w, &manifest, err);
        if (rc == DX_OK)
            rc = check_access(w, &manifest, err);
        if (rc == DX_OK)
            rc = check_files(w, &manifest, entry, err);
        if (rc == DX_OK && !w->lost_page) /* which would end the process */
            rc = check_content(w, &manifest, entry, err);
        if (rc == DX_OK && entry == dx_manifest_current(&manifest))
            dx_verify_lake_notes(w, entry);
    }
    dx_manifest_release(&manifest);
    return rc;
}

int dx_verify(const struct dx_verify_options *options, struct dx_verify_result *result,
              struct dx_error *err)
{
    struct dx_verify *w = calloc(1, sizeof *w); /* too large for a small stack */
    int rc = DX_OK;

    *result = (struct dx_verify_result){ 0 };
    if (w == NULL)
        return dx_no_memory(err, "verify");
    w->options = options;
    w->result = result;
    w->root = (struct dx_root)DX_ROOT_INIT;
    w->folder = (struct dx_work_folder)DX_WORK_FOLDER_INIT;
    rc = dx_root_open(&w->root, options->root, DX_ROOT_LIST, err);
    if (rc == DX_OK && !w->root.in_place)
        rc = open_remote(w, err);
    if (rc == DX_OK)
        rc = check_version(w, err);
    dx_mirror_close(&w->copies.mirror);
    dx_root_close(&w->root);
    dx_work_folder_remove(&w->folder);
    free(w);
    return rc;
}
