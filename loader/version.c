/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/version.h"

#include "base/file.h"
#include "format/etags_tsv.h"
#include "loader/guard.h"
#include "loader/hot_keys.h"
#include "loader/objects.h"
#include "loader/overlay.h"
#include "loader/version_copies.h"

#include <assert.h>
#include <stddef.h>
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
        rc = dx_hot_keys_new(&c->hot, err);
    if (rc == DX_OK)
        *caches = c;
    else
        dx_caches_free(&c);
    return rc;
}

void dx_caches_free(struct dx_caches **caches)
{
    if (*caches != NULL) {
        /* First: its thread may be reading for an answer. */
        dx_overlay_close(&(*caches)->overlay);
        dx_page_cache_free(&(*caches)->idx);
        dx_page_cache_free(&(*caches)->payload);
        dx_page_cache_free(&(*caches)->pages);
        dx_hot_keys_free(&(*caches)->hot);
        free(*caches);
    }
    *caches = NULL;
}

int dx_version_source_options(const struct dx_version_options *options,
                              struct dx_source_options *out, struct dx_error *err)
{
    const char *wrong;

    if (options->source != NULL) {
        *out = *options->source;
        return DX_OK;
    }
    *out = (struct dx_source_options)DX_SOURCE_OPTIONS_INIT;
    wrong = dx_source_options_env(out);
    return wrong == NULL ? DX_OK : dx_fail(err, DX_E_INVALID, "%s", wrong);
}

static int open_source(struct dx_source **source, const char *root,
                       const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_source_options o;
    int rc;

    if (!dx_source_remote(root))
        return dx_source_open_local(source, root, err);
    rc = dx_version_source_options(options, &o, err);
    return rc == DX_OK ? dx_source_open(source, root, &o, err) : rc;
}

#define MANIFEST "index/manifest.json"

static int no_index(const char *root, struct dx_error *err)
{
    return dx_fail(err, DX_E_NOT_FOUND,
                   "%s/" MANIFEST ": no index here yet. Run `domaindex ingest` and `domaindex "
                   "publish --root %s` first",
                   root, root);
}

int dx_version_manifest_get(struct dx_source *source, const char *root, const char *if_none_match,
                            char etag[DX_SOURCE_ETAG], struct dx_manifest *m, struct dx_error *err)
{
    const struct dx_get get = { .object = MANIFEST,
                                .cap = DX_MANIFEST_MAX,
                                .if_none_match = if_none_match };
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char *name = NULL;
    int rc;

    *m = (struct dx_manifest)DX_MANIFEST_INIT;
    if (asprintf(&name, "%s/" MANIFEST, root) < 0)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    rc = dx_source_get(source, &get, &text, etag, err);
    if (rc == DX_E_NOT_FOUND)
        rc = no_index(root, err);
    if (rc == 1) {
        rc = dx_manifest_parse(dx_span_of(text.data, text.size), name, m, err);
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
    free(name);
    return rc;
}

static int remote_manifest(const char *root, const struct dx_version_options *options,
                           struct dx_manifest *m, struct dx_error *err)
{
    struct dx_source *source = NULL;
    char etag[DX_SOURCE_ETAG];
    int rc = open_source(&source, root, options, err);

    if (rc == DX_OK)
        rc = dx_version_manifest_get(source, root, NULL, etag, m, err);
    dx_source_close(&source);
    return rc < 0 ? rc : DX_OK;
}

static int local_manifest(const char *root, struct dx_manifest *m, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char *path = NULL;
    int rc;

    if (asprintf(&path, "%s/" MANIFEST, root) < 0)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    rc = dx_file_read(path, DX_MANIFEST_MAX, &text, err);
    if (rc == DX_OK)
        rc = dx_manifest_parse(dx_span_of(text.data, text.size), path, m, err);
    else if (rc == DX_E_NOT_FOUND)
        rc = no_index(root, err);
    dx_buf_release(&text);
    free(path);
    return rc;
}

static int read_manifest(const char *root, const struct dx_version_options *options,
                         struct dx_manifest *m, struct dx_error *err)
{
    *m = (struct dx_manifest)DX_MANIFEST_INIT;
    return dx_source_remote(root) ? remote_manifest(root, options, m, err)
                                  : local_manifest(root, m, err);
}

int dx_version_manifest(const char *root, struct dx_manifest *m, struct dx_error *err)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;

    return read_manifest(root, &options, m, err);
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

#define MAPPED_COUNT (DX_COPY_TAGS + 1)

static int open_reader(struct dx_version *v, enum dx_copy which, struct dx_span file,
                       unsigned flags, const char *name, struct dx_error *err)
{
    switch (which) {
    case DX_COPY_DICTIONARY:
        return dx_dictionary_open(&v->dictionary, file, flags, name, err);
    case DX_COPY_MPHF:
        return dx_mphf_open(&v->mphf, file, flags, name, err);
    case DX_COPY_MEMBERSHIP:
        return dx_membership_open(&v->membership, file, flags, name, err);
    case DX_COPY_COUNTS:
        return dx_counts_open(&v->counts, file, flags, name, err);
    case DX_COPY_POSTINGS:
        return dx_postings_open(&v->postings, file, flags, name, err);
    case DX_COPY_PAGES:
        return dx_pages_open(&v->pages, file, flags, name, err);
    case DX_COPY_DATASET_DOMAINS:
        return dx_dataset_domains_open(&v->dataset_domains, file, flags, name, err);
    case DX_COPY_COLD:
        return dx_cold_open(&v->cold, file, flags, name, err);
    case DX_COPY_TAGS:
        v->tags = &v->tags_file;
        return dx_tags_open(&v->tags_file, file, flags, name, err);
    default:
        break;
    }
    return dx_fail(err, DX_E_INVALID, "%s: no such file of a version", name);
}

/* copy: where its bytes are, if not under its name below the root. */
static int open_mapped(struct dx_version *v, enum dx_copy which, const char *name, const char *copy,
                       struct dx_map *map, bool verify, struct dx_error *err)
{
    char *path = path_of(v, name);
    int rc;

    if (path == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", name);
    rc = dx_guard_map(v->guard, map, copy != NULL ? copy : path, DX_MAP_RANDOM, err);
    if (rc == DX_OK)
        rc = check_listed(v, name, path, map->bytes, verify, err);
    if (rc == DX_OK)
        rc = open_reader(v, which, map->bytes, v->open_flags | (verify ? DX_OPEN_VERIFY_ALL : 0),
                         path, err);
    free(path);
    return rc;
}

static const struct {
    const char *name;
    size_t map; /* offset in struct dx_version */
} mapped[MAPPED_COUNT] = {
    [DX_COPY_DICTIONARY] = { DX_FILE_DOMAINS_DICT, offsetof(struct dx_version, map_dictionary) },
    [DX_COPY_MPHF] = { DX_FILE_DOMAINS_MPHF, offsetof(struct dx_version, map_mphf) },
    [DX_COPY_MEMBERSHIP] = { DX_FILE_MEMBERSHIP, offsetof(struct dx_version, map_membership) },
    [DX_COPY_COUNTS] = { DX_FILE_COUNTS, offsetof(struct dx_version, map_counts) },
    [DX_COPY_POSTINGS] = { DX_FILE_POSTINGS_DIR, offsetof(struct dx_version, map_postings) },
    [DX_COPY_PAGES] = { DX_FILE_PAGES, offsetof(struct dx_version, map_pages) },
    [DX_COPY_DATASET_DOMAINS] = { DX_FILE_DATASET_DOMAINS,
                                  offsetof(struct dx_version, map_dataset_domains) },
    [DX_COPY_COLD] = { DX_FILE_COLD, offsetof(struct dx_version, map_cold) },
    [DX_COPY_TAGS] = { DX_FILE_TAGS, offsetof(struct dx_version, map_tags) },
};

static struct dx_map *map_of(const struct dx_version *v, int which)
{
    return (struct dx_map *)((uintptr_t)v + mapped[which].map);
}

static int open_maps(struct dx_version *v, const struct dx_version_copies *copies, bool verify,
                     struct dx_error *err)
{
    int rc = DX_OK;

    for (int i = 0; rc >= 0 && i < MAPPED_COUNT; i++)
        if (i != DX_COPY_TAGS || dx_manifest_file(&v->entry, DX_FILE_TAGS) != NULL)
            rc = open_mapped(v, (enum dx_copy)i, mapped[i].name, copies->path[i], map_of(v, i),
                             verify, err);
    return rc < 0 ? rc : DX_OK;
}

int dx_version_maps(const struct dx_version *v,
                    int (*each)(void *ctx, const char *name, struct dx_span bytes,
                                struct dx_error *err),
                    void *ctx, struct dx_error *err)
{
    int rc = DX_OK;

    for (int i = 0; rc >= 0 && i < MAPPED_COUNT; i++) {
        struct dx_span bytes = map_of(v, i)->bytes;

        if (bytes.size > 0)
            rc = each(ctx, mapped[i].name, bytes, err);
    }
    return rc < 0 ? rc : DX_OK;
}

uint64_t dx_version_mapped_bytes(const struct dx_manifest_version *entry)
{
    uint64_t sum = 0;

    for (int i = 0; i < MAPPED_COUNT; i++) {
        const struct dx_manifest_file *f = dx_manifest_file(entry, mapped[i].name);

        if (f != NULL && __builtin_add_overflow(sum, f->size, &sum))
            return UINT64_MAX;
    }
    return sum;
}

static int read_listed(struct dx_version *v, const char *name, const char *copy, size_t cap,
                       struct dx_buf *text, struct dx_error *err)
{
    char *path = path_of(v, name);
    int rc;

    if (path == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", name);
    rc = dx_file_read(copy != NULL ? copy : path, cap, text, err);
    if (rc == DX_OK)
        rc = check_listed(v, name, path, dx_span_of(text->data, text->size), true, err);
    free(path);
    return rc;
}

static int open_texts(struct dx_version *v, const struct dx_version_copies *copies,
                      struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    int rc = read_listed(v, DX_FILE_DATASETS, copies->path[DX_COPY_DATASETS], DX_REGISTRY_MAX,
                         &text, err);

    if (rc == DX_OK)
        rc = dx_registry_parse(&v->registry, dx_span_of(text.data, text.size), DX_FILE_DATASETS,
                               err);
    if (rc == DX_OK)
        rc = dx_dataset_heads_new(&v->heads, &v->registry, err);
    dx_buf_clear(&text);
    if (rc == DX_OK)
        rc = read_listed(v, DX_FILE_PSL, copies->path[DX_COPY_PSL], PSL_MAX, &text, err);
    if (rc == DX_OK)
        rc = dx_psl_new(&v->psl, dx_span_of(text.data, text.size), err);
    dx_buf_release(&text);
    return rc;
}

static int check_build(const struct dx_version *v, const char *name,
                       const struct dx_envelope *envelope, struct dx_error *err)
{
    return memcmp(&envelope->build, &v->entry.build, sizeof v->entry.build) == 0
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT, "%s/%s: of another build than the manifest says",
                         v->directory, name);
}

static int check_number(const char *what, uint64_t found, uint64_t want, struct dx_error *err)
{
    return found == want ? DX_OK
                         : dx_fail(err, DX_E_CORRUPT, "%s: %llu, the manifest says %llu", what,
                                   (unsigned long long)found, (unsigned long long)want);
}

static int check_dataset_domains(const struct dx_version *v, struct dx_error *err)
{
    const struct dx_dataset_domains *d = &v->dataset_domains;
    int rc = check_build(v, DX_FILE_DATASET_DOMAINS, &d->envelope, err);

    if (rc == DX_OK)
        rc = check_number("domains in " DX_FILE_DATASET_DOMAINS, d->domains, v->entry.domains, err);
    if (rc == DX_OK)
        rc = check_number("pairs in " DX_FILE_DATASET_DOMAINS, d->pairs, v->entry.pairs, err);
    return rc;
}

/* The cold files are read later, by page: here what their directory says of them. */
static int check_cold(const struct dx_version *v, struct dx_error *err)
{
    int rc = check_build(v, DX_FILE_COLD, &v->cold.envelope, err);

    if (rc == DX_OK)
        rc = check_number("pairs of " DX_FILE_FACTS " in " DX_FILE_COLD,
                          v->cold.entries[DX_COLD_FACTS], v->entry.pairs, err);
    if (rc == DX_OK)
        rc = check_number("pairs of " DX_FILE_SKETCHES " in " DX_FILE_COLD,
                          v->cold.entries[DX_COLD_SKETCHES], v->entry.pairs, err);
    for (unsigned i = 0; i < DX_COLD_FILES && rc == DX_OK; i++) {
        const char *name = dx_cold_file_name((enum dx_cold_file)i);
        const struct dx_manifest_file *f = dx_manifest_file(&v->entry, name);
        char what[96];

        (void)snprintf(what, sizeof what, "bytes of %s in " DX_FILE_COLD, name);
        rc = check_number(what, v->cold.size[i], f->size, err);
    }
    return rc;
}

static int check_tags(const struct dx_version *v, struct dx_error *err)
{
    const struct dx_tags *t = v->tags;
    int rc = t == NULL ? DX_OK : check_build(v, DX_FILE_TAGS, &t->envelope, err);

    if (rc == DX_OK && t != NULL)
        rc = check_number("domains in " DX_FILE_TAGS, t->domains, v->entry.domains, err);
    if (rc == DX_OK && t != NULL)
        rc = check_number("numbers of files in " DX_FILE_TAGS, t->files, v->entry.file_ids, err);
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
        { "numbers of files in " DX_FILE_PAGES, v->pages.files, v->entry.file_ids },
        { "datasets in " DX_FILE_DATASETS, v->registry.count, v->entry.datasets },
    };

    int rc = DX_OK;

    for (size_t i = 0; i < sizeof files / sizeof files[0] && rc == DX_OK; i++)
        rc = check_build(v, files[i].name, files[i].envelope, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && rc == DX_OK; i++)
        rc = check_number(numbers[i].what, numbers[i].found, numbers[i].want, err);
    if (rc == DX_OK)
        rc = check_dataset_domains(v, err);
    if (rc == DX_OK)
        rc = check_cold(v, err);
    if (rc == DX_OK)
        rc = check_tags(v, err);
    if (rc < 0)
        return rc;
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

/* Once for each version that was opened whole: `pins` is not 0 only then. */
static void count_mapped(const struct dx_version *v, bool opened)
{
    uint64_t bytes = dx_version_mapped_bytes(&v->entry);

    if (v->caches == NULL)
        return;
    if (opened) {
        atomic_fetch_add(&v->caches->mapped_bytes, bytes);
        atomic_fetch_add(&v->caches->mapped_versions, 1);
    } else {
        atomic_fetch_sub(&v->caches->mapped_bytes, bytes);
        atomic_fetch_sub(&v->caches->mapped_versions, 1);
    }
}

static void version_close(struct dx_version *v)
{
    dx_tags_close(&v->tags_file);
    dx_cold_close(&v->cold);
    dx_dataset_domains_close(&v->dataset_domains);
    dx_pages_close(&v->pages);
    dx_postings_close(&v->postings);
    dx_counts_close(&v->counts);
    dx_membership_close(&v->membership);
    dx_mphf_close(&v->mphf);
    dx_dictionary_close(&v->dictionary);
    dx_guard_free(&v->guard);
    dx_map_close(&v->map_tags);
    dx_map_close(&v->map_cold);
    dx_map_close(&v->map_dataset_domains);
    dx_map_close(&v->map_pages);
    dx_map_close(&v->map_postings);
    dx_map_close(&v->map_counts);
    dx_map_close(&v->map_membership);
    dx_map_close(&v->map_mphf);
    dx_map_close(&v->map_dictionary);
    dx_dataset_heads_release(&v->heads);
    dx_registry_release(&v->registry);
    dx_psl_free(&v->psl);
    if (v->shards != v->source)
        dx_source_close(&v->shards);
    dx_mirror_tree_close(&v->tree);
    dx_source_close(&v->source);
    dx_objects_free(&v->objects);
    dx_shared_manifest_put(&v->listed);
    (void)pthread_mutex_destroy(&v->listed_lock);
    free(v->entry.files);
    free(v->directory);
    free(v->root);
    free(v);
}

/* ---- ETags ---- */

static int take_etags(struct dx_version *v, struct dx_etags *r, struct dx_error *err)
{
    static const enum dx_object_kind kinds[] = { [DX_ETAG_IDX] = DX_OBJECT_IDX,
                                                 [DX_ETAG_DAT] = DX_OBJECT_DAT,
                                                 [DX_ETAG_COLD] = DX_OBJECT_COLD,
                                                 [DX_ETAG_LAKE] = DX_OBJECT_LAKE };
    struct dx_etags_row row;
    int rc;

    while ((rc = dx_etags_next(r, &row, err)) == 1) {
        const struct dx_object o = { kinds[row.kind], row.number };

        if (row.kind == DX_ETAG_LAKE && row.number >= v->entry.file_ids)
            return dx_fail(err, DX_E_CORRUPT, DX_FILE_ETAGS ": lake file %u of %llu",
                           (unsigned)row.number, (unsigned long long)v->entry.file_ids);
        rc = dx_objects_set(v->objects, o, row.etag, err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* Those of another store than the one we read from say nothing. */
static int open_etags(struct dx_version *v, const char *copy,
                      const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_source_options so;
    struct dx_etags r = { .line = 0 };
    char *url = NULL;
    int rc = dx_version_source_options(options, &so, err);

    if (rc == DX_OK)
        rc = dx_source_root_url(v->root, &so, &url, err);
    if (rc == DX_OK)
        rc = dx_guard_map(v->guard, &map, copy, DX_MAP_SEQUENTIAL, err);
    if (rc == DX_OK)
        rc = check_listed(v, DX_FILE_ETAGS, copy, map.bytes, options->verify, err);
    if (rc == DX_OK)
        rc = dx_etags_open(&r, map.bytes, DX_FILE_ETAGS, err);
    if (rc == DX_OK && strcmp(r.root, url) == 0)
        rc = take_etags(v, &r, err);
    dx_etags_close(&r);
    dx_guard_unmap(v->guard, &map);
    free(url);
    return rc;
}

/* ---- opening ---- */

static int open_shards(struct dx_version *v, struct dx_version_copies *copies, struct dx_error *err)
{
    v->shards = v->source;
    if (copies->tree == NULL)
        return DX_OK;
    v->tree = copies->tree;
    copies->tree = NULL;
    v->shards = NULL;
    return dx_source_open_local(&v->shards, dx_mirror_tree_path(v->tree), err);
}

static bool listed_as(const struct dx_version *v, const char *shard, const char *file,
                      uint64_t size, const struct dx_hash128 *hash)
{
    char name[DX_MANIFEST_FILE_NAME];
    const struct dx_manifest_file *f;

    (void)snprintf(name, sizeof name, "postings/%s/%s", shard, file);
    f = dx_manifest_file(&v->entry, name);
    if (hash == NULL)
        return f == NULL;
    return f != NULL && f->size == size && dx_hash128_equal(&f->hash, hash);
}

struct dx_source *dx_version_cold_source(const struct dx_version *v, enum dx_cold_file file)
{
    return file == DX_COLD_SKETCHES ? v->source : v->shards;
}

bool dx_version_lists_shard(const struct dx_version *v, uint32_t shard,
                            const struct dx_postings_shard *record)
{
    char name[DX_POSTINGS_SHARD_NAME];

    dx_postings_shard_name(shard, name);
    if (record == NULL)
        return listed_as(v, name, "postings.idx.zst", 0, NULL) &&
               listed_as(v, name, "postings.dat.zst", 0, NULL);
    return listed_as(v, name, "postings.idx.zst", record->idx_size, &record->idx_hash) &&
           listed_as(v, name, "postings.dat.zst", record->dat_size, &record->dat_hash);
}

static int check_shard_lists(const struct dx_version *v, struct dx_error *err)
{
    for (uint32_t s = 0; s < DX_POSTINGS_SHARDS; s++) {
        struct dx_postings_shard record;
        int rc = dx_postings_shard_get(&v->postings, s, &record, err);

        if (rc < 0)
            return rc;
        if (!dx_version_lists_shard(v, s, rc == 1 ? &record : NULL))
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: shard %03x is not the one that " DX_FILE_POSTINGS_DIR " names",
                           v->directory, (unsigned)s);
    }
    return DX_OK;
}

static bool mapped_file(const char *name)
{
    for (int i = 0; i < MAPPED_COUNT; i++)
        if (strcmp(mapped[i].name, name) == 0)
            return true;
    return false;
}

/* What the manifest lists and the open has not read. */
static int check_others(const struct dx_version *v, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < v->entry.file_count; i++) {
        const struct dx_manifest_file *f = &v->entry.files[i];
        char object[DX_MANIFEST_FILE_PATH];
        struct dx_map map = DX_MAP_INIT;
        char *path = NULL;

        if (mapped_file(f->name) || strcmp(f->name, DX_FILE_DATASETS) == 0 ||
            strcmp(f->name, DX_FILE_PSL) == 0)
            continue;
        dx_manifest_file_path(&v->entry, f, object);
        if (asprintf(&path, "%s/%s", v->root, object) < 0)
            return dx_fail(err, DX_E_NOMEM, "%s: out of memory", object);
        rc = dx_map_open(&map, path, DX_MAP_SEQUENTIAL, err);
        if (rc == DX_OK)
            rc = check_listed(v, f->name, path, map.bytes, true, err);
        dx_map_close(&map);
        free(path);
    }
    return rc;
}

static int open_files(struct dx_version *v, struct dx_version_copies *copies,
                      const struct dx_version_options *options, struct dx_error *err)
{
    int rc = open_maps(v, copies, options->verify, err);

    if (rc == DX_OK)
        rc = open_texts(v, copies, err);
    if (rc == DX_OK)
        rc = check_together(v, err);
    if (rc == DX_OK && options->verify && options->whole)
        rc = check_shard_lists(v, err);
    if (rc == DX_OK && options->verify && options->whole && !dx_source_remote(v->root))
        rc = check_others(v, err);
    /* Behind the checks: pages.dxp has a record for each of so many files. */
    if (rc == DX_OK)
        rc = dx_objects_new(&v->objects, v->entry.file_ids, err);
    if (rc == DX_OK && copies->path[DX_COPY_ETAGS] != NULL)
        rc = open_etags(v, copies->path[DX_COPY_ETAGS], options, err);
    return rc == DX_OK ? open_shards(v, copies, err) : rc;
}

static int name_version(struct dx_version *v, const char *root,
                        const struct dx_manifest_version *entry, struct dx_error *err)
{
    v->root = strdup(root);
    if (v->root == NULL || asprintf(&v->directory, "index/%s", entry->version) < 0) {
        v->directory = NULL;
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    }
    return dx_manifest_version_copy(entry, &v->entry, err);
}

static int check_age(const struct dx_manifest_version *entry, struct dx_error *err)
{
    return dx_manifest_aggregates(entry)
               ? DX_OK
               : dx_fail(err, DX_E_UNSUPPORTED,
                         "version %s: of an older layout version, without " DX_FILE_COLD
                         " and what it tells of: publish it anew",
                         entry->version);
}

static _Atomic uint64_t opened = 1;

/* *brought: all copies of a remote root are there; what failed, if anything, failed with them. */
static int open_once(struct dx_version **out, const char *root,
                     const struct dx_manifest_version *entry, struct dx_caches *caches,
                     const struct dx_version_options *options, bool *brought, struct dx_error *err)
{
    struct dx_version *v = calloc(1, sizeof *v);
    struct dx_version_copies copies = { .tree = NULL };
    int rc;

    *brought = false;
    if (v == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    (void)pthread_mutex_init(&v->listed_lock, NULL);
    v->serial = atomic_fetch_add(&opened, 1);
    v->caches = caches;
    v->open_flags = options->open_flags;
    rc = check_age(entry, err);
    if (rc == DX_OK)
        rc = name_version(v, root, entry, err);
    if (rc == DX_OK)
        rc = dx_guard_new(&v->guard, entry->version, err);
    if (rc == DX_OK)
        rc = open_source(&v->source, root, options, err);
    if (rc == DX_OK && dx_source_remote(root)) {
        rc = dx_version_copies_bring(&copies, v->source, entry, options, err);
        *brought = rc == DX_OK;
    }
    if (rc == DX_OK)
        rc = open_files(v, &copies, options, err);
    if (rc == DX_OK && !dx_version_intact(v))
        rc = dx_version_damage(v, err);
    dx_version_copies_release(&copies);
    if (rc < 0) {
        version_close(v);
        return rc;
    }
    count_mapped(v, true);
    atomic_store(&v->pins, 1);
    *out = v;
    return DX_OK;
}

static bool copies_to_blame(int rc)
{
    return rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED || rc == DX_E_NOT_FOUND;
}

int dx_version_open(struct dx_version **out, const char *root,
                    const struct dx_manifest_version *manifest_entry, struct dx_caches *caches,
                    const struct dx_version_options *options, struct dx_error *err)
{
    bool brought;
    int rc;

    *out = NULL;
    rc = open_once(out, root, manifest_entry, caches, options, &brought, err);
    /* A copy that was sound when it came and is not any more: of a disk, or of somebody's hand.
     * Other failures, of memory or of rights, say nothing about the copies. */
    if (rc < 0 && brought && copies_to_blame(rc) &&
        dx_version_copies_heal(manifest_entry, options, NULL) == 1)
        rc = open_once(out, root, manifest_entry, caches, options, &brought, err);
    return rc;
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
    if (before == 1) {
        count_mapped(v, false);
        version_close(v);
    }
}

const char *dx_version_name(const struct dx_version *v)
{
    return v->entry.version;
}

bool dx_version_poisoned(const struct dx_version *v)
{
    return dx_guard_poisoned(v->guard);
}

bool dx_version_intact(const struct dx_version *v)
{
    return dx_guard_intact(v->guard);
}

int dx_version_damage(const struct dx_version *v, struct dx_error *err)
{
    return dx_guard_why(v->guard, err);
}

struct dx_shared_manifest *dx_version_listed(struct dx_version *v)
{
    struct dx_shared_manifest *l;

    (void)pthread_mutex_lock(&v->listed_lock);
    l = v->listed == NULL ? NULL : dx_shared_manifest_hold(v->listed);
    (void)pthread_mutex_unlock(&v->listed_lock);
    return l;
}

void dx_version_list(struct dx_version *v, struct dx_shared_manifest *listed)
{
    struct dx_shared_manifest *before;

    (void)dx_shared_manifest_hold(listed);
    (void)pthread_mutex_lock(&v->listed_lock);
    before = v->listed;
    v->listed = listed;
    (void)pthread_mutex_unlock(&v->listed_lock);
    dx_shared_manifest_put(&before);
}

int dx_version_canon_new(const struct dx_version *v, struct dx_canon **canon, struct dx_error *err)
{
    return dx_canon_new(canon, v->psl, err);
}

int dx_version_open_listed(struct dx_version **v, const char *root, struct dx_manifest *m,
                           const char *name, struct dx_caches *caches,
                           const struct dx_version_options *options, struct dx_error *err)
{
    const struct dx_manifest_version *entry = name == NULL ? dx_manifest_current(m)
                                                           : dx_manifest_find(m, name);
    int rc;

    *v = NULL;
    if (entry == NULL)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "%s: no version %s. `domaindex versions --root %s` lists them", root,
                       name == NULL ? "is current" : name, root);
    rc = dx_version_open(v, root, entry, caches, options, err);
    if (rc == DX_OK)
        rc = dx_shared_manifest_new(&(*v)->listed, m, err);
    if (rc < 0) {
        dx_version_unpin(*v);
        *v = NULL;
    }
    return rc;
}

int dx_version_open_named(struct dx_version **v, const char *root, const char *name,
                          struct dx_caches *caches, const struct dx_version_options *options,
                          struct dx_error *err)
{
    struct dx_manifest manifest;
    int rc = read_manifest(root, options, &manifest, err);

    *v = NULL;
    if (rc == DX_OK)
        rc = dx_version_open_listed(v, root, &manifest, name, caches, options, err);
    dx_manifest_release(&manifest);
    return rc;
}
