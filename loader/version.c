/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/version.h"

#include "base/file.h"
#include "loader/objects.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define PSL_MAX (16u << 20) /* the list has 0.3 MB */

int dx_caches_new(struct dx_caches **caches, const struct dx_version_options *o,
                  struct dx_error *err)
{
    struct dx_caches *c = calloc(1, sizeof *c);
    int rc;

    *caches = NULL;
    if (c == NULL)
        return dx_fail(err, DX_E_NOMEM, "caches: out of memory");
    rc = dx_page_cache_new(&c->idx, o->cache_bytes_idx, o->evict, err);
    if (rc == DX_OK)
        rc = dx_page_cache_new(&c->payload, o->cache_bytes_payload, o->evict, err);
    if (rc == DX_OK)
        rc = dx_page_cache_new(&c->pages, o->cache_bytes_pages, o->evict, err);
    if (rc == DX_OK)
        *caches = c;
    else
        dx_caches_free(&c);
    return rc;
}

void dx_caches_free(struct dx_caches **caches)
{
    if (*caches != NULL) {
        dx_page_cache_free(&(*caches)->idx);
        dx_page_cache_free(&(*caches)->payload);
        dx_page_cache_free(&(*caches)->pages);
        free(*caches);
    }
    *caches = NULL;
}

int dx_version_manifest(const char *root, struct dx_manifest *m, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char *path = NULL;
    int rc;

    if (asprintf(&path, "%s/index/manifest.json", root) < 0)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    rc = dx_file_read(path, DX_MANIFEST_MAX, &text, err);
    if (rc == DX_OK)
        rc = dx_manifest_parse(dx_span_of(text.data, text.size), path, m, err);
    else if (rc == DX_E_NOT_FOUND)
        rc = dx_fail(err, rc,
                     "%s: no index here yet. Run `domaindex ingest` and `domaindex "
                     "publish --root %s` first",
                     path, root);
    dx_buf_release(&text);
    free(path);
    return rc;
}

/* "root/index/version/name"; the caller frees. NULL: out of memory. */
static char *path_of(const struct dx_version *v, const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s/%s", v->root, v->directory, name) < 0 ? NULL : path;
}

/* The bytes are what the manifest says: always the size, the hash when asked for. */
static int check_listed(const struct dx_version *v, const char *name, const char *path,
                        struct dx_span bytes, bool hash, struct dx_error *err)
{
    const struct dx_manifest_file *f = dx_manifest_file(&v->entry, name);
    struct dx_hash128 found;

    if (f == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s", v->entry.version,
                       name);
    if (bytes.size != f->size)
        return dx_fail(err, bytes.size < f->size ? DX_E_TRUNCATED : DX_E_CORRUPT,
                       "%s: %zu bytes, the manifest says %llu", path, bytes.size,
                       (unsigned long long)f->size);
    if (!hash || (v->open_flags & DX_OPEN_UNCHECKED))
        return DX_OK;
    found = dx_hash128_of(bytes);
    if (!dx_hash128_equal(&found, &f->hash))
        return dx_fail(err, DX_E_CORRUPT, "%s: its hash is not the one in the manifest", path);
    return DX_OK;
}

enum mapped { DICTIONARY, MPHF, MEMBERSHIP, COUNTS, POSTINGS, PAGES, MAPPED_COUNT };

static int open_reader(struct dx_version *v, enum mapped which, struct dx_span file, unsigned flags,
                       const char *name, struct dx_error *err)
{
    switch (which) {
    case DICTIONARY:
        return dx_dictionary_open(&v->dictionary, file, flags, name, err);
    case MPHF:
        return dx_mphf_open(&v->mphf, file, flags, name, err);
    case MEMBERSHIP:
        return dx_membership_open(&v->membership, file, flags, name, err);
    case COUNTS:
        return dx_counts_open(&v->counts, file, flags, name, err);
    case POSTINGS:
        return dx_postings_open(&v->postings, file, flags, name, err);
    case PAGES:
        return dx_pages_open(&v->pages, file, flags, name, err);
    case MAPPED_COUNT:
        break;
    }
    return dx_fail(err, DX_E_INVALID, "%s: no such file of a version", name);
}

static int open_mapped(struct dx_version *v, enum mapped which, const char *name,
                       struct dx_map *map, bool verify, struct dx_error *err)
{
    char *path = path_of(v, name);
    int rc;

    if (path == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", name);
    rc = dx_map_open(map, path, DX_MAP_RANDOM, err);
    if (rc == DX_OK)
        rc = check_listed(v, name, path, map->bytes, verify, err);
    if (rc == DX_OK)
        rc = open_reader(v, which, map->bytes, v->open_flags | (verify ? DX_OPEN_VERIFY_ALL : 0),
                         path, err);
    free(path);
    return rc;
}

static int open_maps(struct dx_version *v, bool verify, struct dx_error *err)
{
    const struct {
        const char *name;
        struct dx_map *map;
    } files[MAPPED_COUNT] = {
        [DICTIONARY] = { DX_FILE_DOMAINS_DICT, &v->map_dictionary },
        [MPHF] = { DX_FILE_DOMAINS_MPHF, &v->map_mphf },
        [MEMBERSHIP] = { DX_FILE_MEMBERSHIP, &v->map_membership },
        [COUNTS] = { DX_FILE_COUNTS, &v->map_counts },
        [POSTINGS] = { DX_FILE_POSTINGS_DIR, &v->map_postings },
        [PAGES] = { DX_FILE_PAGES, &v->map_pages },
    };
    int rc = DX_OK;

    for (int i = 0; rc >= 0 && i < MAPPED_COUNT; i++)
        rc = open_mapped(v, (enum mapped)i, files[i].name, files[i].map, verify, err);
    return rc < 0 ? rc : DX_OK;
}

static int read_listed(struct dx_version *v, const char *name, size_t cap, struct dx_buf *text,
                       struct dx_error *err)
{
    char *path = path_of(v, name);
    int rc;

    if (path == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", name);
    rc = dx_file_read(path, cap, text, err);
    if (rc == DX_OK)
        rc = check_listed(v, name, path, dx_span_of(text->data, text->size), true, err);
    free(path);
    return rc;
}

static int open_texts(struct dx_version *v, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    int rc = read_listed(v, DX_FILE_DATASETS, DX_REGISTRY_MAX, &text, err);

    if (rc == DX_OK)
        rc = dx_registry_parse(&v->registry, dx_span_of(text.data, text.size), DX_FILE_DATASETS,
                               err);
    dx_buf_clear(&text);
    if (rc == DX_OK)
        rc = read_listed(v, DX_FILE_PSL, PSL_MAX, &text, err);
    if (rc == DX_OK)
        rc = dx_psl_new(&v->psl, dx_span_of(text.data, text.size), err);
    dx_buf_release(&text);
    return rc;
}

/* What each file says of the others, and the manifest of all: one build, the same numbers. */
static int check_together(const struct dx_version *v, struct dx_error *err)
{
    const struct {
        const char *name;
        const struct dx_envelope *envelope;
    } files[] = {
        { DX_FILE_DOMAINS_DICT, &v->dictionary.envelope },
        { DX_FILE_DOMAINS_MPHF, &v->mphf.envelope },
        { DX_FILE_MEMBERSHIP, &v->membership.envelope },
        { DX_FILE_COUNTS, &v->counts.envelope },
        { DX_FILE_POSTINGS_DIR, &v->postings.envelope },
        { DX_FILE_PAGES, &v->pages.envelope },
    };
    const struct {
        const char *what;
        uint64_t found, want;
    } numbers[] = {
        { "domains in " DX_FILE_DOMAINS_DICT, v->dictionary.info.n, v->entry.domains },
        { "domains in " DX_FILE_DOMAINS_MPHF, v->mphf.n, v->entry.domains },
        { "domains in " DX_FILE_MEMBERSHIP, v->membership.domains, v->entry.domains },
        { "domains in " DX_FILE_COUNTS, v->counts.totals.domains, v->entry.domains },
        { "pairs in " DX_FILE_MEMBERSHIP, v->membership.pairs, v->entry.pairs },
        { "pairs in " DX_FILE_COUNTS, v->counts.totals.pairs, v->entry.pairs },
        { "pairs in " DX_FILE_POSTINGS_DIR, v->postings.pairs, v->entry.pairs },
        { "rows in " DX_FILE_COUNTS, v->counts.totals.row_count, v->entry.rows },
        { "urls in " DX_FILE_COUNTS, v->counts.totals.url_count, v->entry.urls },
        { "rows in " DX_FILE_PAGES, v->pages.rows, v->entry.rows },
        { "files in " DX_FILE_PAGES, v->pages.files, v->entry.lake_files },
        { "datasets in " DX_FILE_DATASETS, v->registry.count, v->entry.datasets },
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (memcmp(&files[i].envelope->build, &v->entry.build, sizeof v->entry.build) != 0)
            return dx_fail(err, DX_E_CORRUPT, "%s/%s: of another build than the manifest says",
                           v->directory, files[i].name);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].found != numbers[i].want)
            return dx_fail(err, DX_E_CORRUPT, "%s: %llu, the manifest says %llu", numbers[i].what,
                           (unsigned long long)numbers[i].found,
                           (unsigned long long)numbers[i].want);
    /* The list was read by its size and hash in "files"; psl_hash names it once more. */
    if (!dx_hash128_equal(&v->entry.psl_hash, &dx_manifest_file(&v->entry, DX_FILE_PSL)->hash))
        return dx_fail(err, DX_E_CORRUPT,
                       "manifest: psl_hash of version %s is not that of " DX_FILE_PSL,
                       v->entry.version);
    if (v->entry.canon_version != DX_CANON_VERSION)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "version %s has canonical form %u, this program knows %d", v->entry.version,
                       (unsigned)v->entry.canon_version, DX_CANON_VERSION);
    return dx_mphf_match(&v->mphf, &v->dictionary, err);
}

/* A deep copy, by way of a manifest with this one version. */
static int copy_entry(struct dx_version *v, const struct dx_manifest_version *from,
                      struct dx_error *err)
{
    v->entry = *from;
    v->entry.files = calloc(from->file_count > 0 ? from->file_count : 1, sizeof *from->files);
    if (v->entry.files == NULL)
        return dx_fail(err, DX_E_NOMEM, "version %s: out of memory", from->version);
    if (from->file_count > 0)
        memcpy(v->entry.files, from->files, from->file_count * sizeof *from->files);
    v->entry.file_capacity = from->file_count;
    return DX_OK;
}

static void version_close(struct dx_version *v)
{
    dx_pages_close(&v->pages);
    dx_postings_close(&v->postings);
    dx_counts_close(&v->counts);
    dx_membership_close(&v->membership);
    dx_mphf_close(&v->mphf);
    dx_dictionary_close(&v->dictionary);
    dx_map_close(&v->map_pages);
    dx_map_close(&v->map_postings);
    dx_map_close(&v->map_counts);
    dx_map_close(&v->map_membership);
    dx_map_close(&v->map_mphf);
    dx_map_close(&v->map_dictionary);
    dx_registry_release(&v->registry);
    dx_psl_free(&v->psl);
    if (v->shards != v->source)
        dx_source_close(&v->shards);
    dx_source_close(&v->source);
    dx_objects_free(&v->objects);
    dx_manifest_release(&v->manifest);
    free(v->entry.files);
    free(v->directory);
    free(v->root);
    free(v);
}

int dx_version_open(struct dx_version **out, const char *root,
                    const struct dx_manifest_version *manifest_entry, struct dx_caches *caches,
                    const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_version *v = calloc(1, sizeof *v);
    int rc;

    *out = NULL;
    if (v == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    v->caches = caches;
    v->open_flags = options->open_flags;
    v->root = strdup(root);
    if (v->root == NULL || asprintf(&v->directory, "index/%s", manifest_entry->version) < 0) {
        v->directory = NULL;
        rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
        goto out;
    }
    rc = copy_entry(v, manifest_entry, err);
    if (rc == DX_OK)
        rc = dx_source_open_local(&v->source, root, err);
    if (rc == DX_OK)
        rc = open_maps(v, options->verify, err);
    if (rc == DX_OK)
        rc = open_texts(v, err);
    if (rc == DX_OK)
        rc = check_together(v, err);
    /* Behind the checks: pages.dxp has a record for each of so many files. */
    if (rc == DX_OK)
        rc = dx_objects_new(&v->objects, v->entry.lake_files, err);
    v->shards = v->source;
out:
    if (rc < 0) {
        version_close(v);
        return rc;
    }
    atomic_store(&v->pins, 1);
    *out = v;
    return DX_OK;
}

void dx_version_pin(struct dx_version *v)
{
    long before = atomic_fetch_add_explicit(&v->pins, 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
}

void dx_version_unpin(struct dx_version *v)
{
    long before;

    if (v == NULL)
        return;
    before = atomic_fetch_sub_explicit(&v->pins, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        version_close(v);
}

const char *dx_version_name(const struct dx_version *v)
{
    return v->entry.version;
}

int dx_version_canon_new(const struct dx_version *v, struct dx_canon **canon, struct dx_error *err)
{
    return dx_canon_new(canon, v->psl, err);
}

int dx_version_open_named(struct dx_version **v, const char *root, const char *name,
                          struct dx_caches *caches, const struct dx_version_options *options,
                          struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    const struct dx_manifest_version *entry;
    int rc = dx_version_manifest(root, &manifest, err);

    *v = NULL;
    if (rc < 0)
        return rc;
    entry = name == NULL ? dx_manifest_current(&manifest) : dx_manifest_find(&manifest, name);
    if (entry == NULL)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s: no version %s. `domaindex versions --root %s` lists them", root,
                     name == NULL ? "is current" : name, root);
    else
        rc = dx_version_open(v, root, entry, caches, options, err);
    if (rc == DX_OK)
        (*v)->manifest = manifest; /* owned by the version now */
    else
        dx_manifest_release(&manifest);
    return rc;
}
