/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/verify.h"

#include "base/map.h"
#include "loader/version.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* One wrong suffix list can make every domain of a version a damage: who reads a thousand lines
 * will not read a million. */
#define TOLD_MAX 1000

void dx_verify_found(struct dx_verify *w, const char *fmt, ...)
{
    char text[800];
    va_list ap;

    if (++w->result->damages > TOLD_MAX + 1)
        return;
    if (w->result->damages > TOLD_MAX) {
        w->options->found(w->options->ctx, "more: all are counted, but no more are listed");
        return;
    }
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    w->options->found(w->options->ctx, text);
}

int dx_verify_damage(struct dx_verify *w, const struct dx_error *why, struct dx_error *err)
{
    if (why->code == DX_E_NOMEM) {
        if (err != NULL)
            *err = *why;
        return DX_E_NOMEM;
    }
    dx_verify_found(w, "%s", why->text);
    return DX_OK;
}

int dx_verify_map(const struct dx_verify *w, const char *name, struct dx_map *map,
                  struct dx_error *why)
{
    char *path = NULL;
    int rc;

    if (asprintf(&path, "%s/%s/%s", w->version->root, w->version->directory, name) < 0)
        return dx_fail(why, DX_E_NOMEM, "%s: out of memory", name);
    rc = dx_map_open(map, path, DX_MAP_SEQUENTIAL, why);
    free(path);
    return rc;
}

uint64_t dx_verify_payload_sum(uint64_t domain_id, uint32_t dataset_id, struct dx_span payload)
{
    payload.data +=
        DX_PAYLOAD_CHECK_SIZE; /* the check word depends on the build, the runs do not */
    payload.size -= DX_PAYLOAD_CHECK_SIZE;
    return dx_hash64_seeded(payload, domain_id ^ (uint64_t)dataset_id << 32);
}

void dx_verify_phase(const struct dx_verify *w, const char *name)
{
    if (w->options->phase != NULL)
        w->options->phase(w->options->ctx, name);
}

/* Size and hash of one listed file. */
static int check_file(struct dx_verify *w, const struct dx_manifest_version *entry,
                      const struct dx_manifest_file *f, struct dx_error *err)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error why = DX_ERROR_INIT;
    struct dx_hash128 hash;
    char *path = NULL;

    if (asprintf(&path, "%s/index/%s/%s", w->options->root, entry->version, f->name) < 0)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", f->name);
    w->result->files++;
    if (dx_map_open(&map, path, DX_MAP_SEQUENTIAL, &why) < 0) {
        dx_verify_found(w, "%s", why.text);
        goto out;
    }
    w->result->bytes += map.bytes.size;
    hash = dx_hash128_of(map.bytes);
    if (map.bytes.size != f->size)
        dx_verify_found(w, "%s: %zu bytes, the manifest says %llu", path, map.bytes.size,
                        (unsigned long long)f->size);
    else if (!dx_hash128_equal(&hash, &f->hash))
        dx_verify_found(w, "%s: its hash is not the one in the manifest", path);
out:
    dx_map_close(&map);
    free(path);
    return DX_OK;
}

static int check_files(struct dx_verify *w, const struct dx_manifest_version *entry,
                       struct dx_error *err)
{
    int rc = DX_OK;

    dx_verify_phase(w, "hashing the files of the version");
    for (size_t i = 0; i < entry->file_count && rc == DX_OK; i++)
        rc = check_file(w, entry, &entry->files[i], err);
    return rc;
}

/* What cannot be opened cannot be compared: one damage, and the rest is left out. */
static int check_content(struct dx_verify *w, const struct dx_manifest_version *entry,
                         struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    options.verify = true;
    rc = dx_caches_new(&caches, &options, err);
    if (rc < 0)
        return rc;
    dx_verify_phase(w, "opening the version");
    rc = dx_version_open(&w->version, w->options->root, entry, caches, &options, &why);
    if (rc == DX_E_NOMEM) {
        if (err != NULL)
            *err = why;
    } else if (rc < 0) {
        dx_verify_found(w, "%s", why.text);
        rc = DX_OK;
    } else {
        rc = dx_verify_files(w, err);
        if (rc == DX_OK)
            rc = dx_verify_index(w, err);
        if (rc == DX_OK)
            rc = dx_verify_lake(w, err);
    }
    dx_version_unpin(w->version);
    w->version = NULL;
    dx_caches_free(&caches);
    return rc;
}

int dx_verify(const struct dx_verify_options *options, struct dx_verify_result *result,
              struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_verify w = { .options = options, .result = result };
    const struct dx_manifest_version *entry;
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    *result = (struct dx_verify_result){ 0 };
    rc = dx_version_manifest(options->root, &manifest, &why);
    if (rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED || rc == DX_E_UNSUPPORTED) {
        dx_verify_found(&w, "%s", why.text);
        return DX_OK;
    }
    if (rc < 0) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    entry = options->version == NULL ? dx_manifest_current(&manifest)
                                     : dx_manifest_find(&manifest, options->version);
    if (entry == NULL) {
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: the manifest has no version %s", options->root,
                     options->version == NULL ? "that is current" : options->version);
    } else {
        (void)snprintf(result->version, sizeof result->version, "%s", entry->version);
        rc = check_files(&w, entry, err);
        if (rc == DX_OK)
            rc = check_content(&w, entry, err);
    }
    dx_manifest_release(&manifest);
    return rc;
}
