/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/version.h"

#include <roaring/roaring.h>

#include "base/file.h"
#include "canon/psl.h"
#include "fetch/source_open.h"
#include "loader/followed/suppressions_live.h"
#include "loader/guard/guard.h"
#include "loader/hot_keys.h"
#include "loader/version_copies.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int dx_caches_new(struct dx_caches **caches, const struct dx_version_options *o,
                  struct dx_error *err)
{
    struct dx_caches *c = calloc(1, sizeof *c);
    int rc;

    *caches = NULL;
    if (c == NULL)
        return dx_no_memory(err, "caches");
    dx_open_parts_init(&c->parts);
    (void)pthread_mutex_init(&c->open_lock, NULL);
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
        dx_suppressions_live_close(&(*caches)->suppressions);
        dx_page_cache_free(&(*caches)->idx);
        dx_page_cache_free(&(*caches)->payload);
        dx_page_cache_free(&(*caches)->pages);
        dx_hot_keys_free(&(*caches)->hot);
        dx_open_parts_release(&(*caches)->parts);
        (void)pthread_mutex_destroy(&(*caches)->open_lock);
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

int dx_version_no_index(const char *root, struct dx_error *err)
{
    return dx_fail(err, DX_E_NOT_FOUND,
                   "%s/" DX_MANIFEST_FILE
                   ": no index here yet. Run `domaindex ingest` and `domaindex "
                   "publish --root %s` first",
                   root, root);
}

int dx_version_manifest_parse(struct dx_span text, const char *root, struct dx_manifest *m,
                              struct dx_error *err)
{
    char *name = NULL;
    int rc;

    if (asprintf(&name, "%s/" DX_MANIFEST_FILE, root) < 0)
        return dx_no_memory(err, "%s", root);
    rc = dx_manifest_parse(text, name, m, err);
    free(name);
    return rc;
}

int dx_version_manifest_get(struct dx_source *source, const char *root, const char *if_none_match,
                            char etag[DX_SOURCE_ETAG], struct dx_manifest *m, struct dx_error *err)
{
    const struct dx_get get = { .object = DX_MANIFEST_FILE,
                                .cap = DX_MANIFEST_MAX,
                                .if_none_match = if_none_match };
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    int rc;

    *m = (struct dx_manifest)DX_MANIFEST_INIT;
    rc = dx_source_get(source, &get, &text, etag, err);
    if (rc == DX_E_NOT_FOUND)
        rc = dx_version_no_index(root, err);
    if (rc == 1) {
        rc = dx_version_manifest_parse(dx_span_of(text.data, text.size), root, m, err);
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
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

    if (asprintf(&path, "%s/" DX_MANIFEST_FILE, root) < 0)
        return dx_no_memory(err, "%s", root);
    rc = dx_file_read(path, DX_MANIFEST_MAX, &text, err);
    if (rc == DX_OK)
        rc = dx_version_manifest_parse(dx_span_of(text.data, text.size), root, m, err);
    else if (rc == DX_E_NOT_FOUND)
        rc = dx_version_no_index(root, err);
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

static bool is_listed_psl(const struct dx_version *v, struct dx_span text)
{
    struct dx_hash128 hash = dx_hash128_of(text);

    return dx_hash128_equal(&v->entry.psl_hash, &hash);
}

/* The root's list, if it is the version's, as it is until another one is adopted. It is not compressed: to decode the version's own
 * takes a process that asks about one name longer than all the rest. */
static bool read_root_psl(const struct dx_version *v, struct dx_buf *text)
{
    char *path = NULL;
    bool same = false;

    if (dx_source_remote(v->root) || asprintf(&path, "%s/" DX_LAKE_PSL, v->root) < 0)
        return false;
    if (dx_file_read(path, DX_PSL_TEXT_MAX, text, NULL) == DX_OK)
        same = is_listed_psl(v, dx_span_of(text->data, text->size));
    free(path);
    return same;
}

static int decode_psl(const struct dx_version *v, struct dx_buf *text, struct dx_error *err)
{
    int rc = dx_part_expand(dx_version_own(v), DX_FILE_PSL, DX_PSL_TEXT_MAX, text, err);

    if (rc == DX_OK && !is_listed_psl(v, dx_span_of(text->data, text->size)))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "manifest: psl_hash of version %s is not that of " DX_FILE_PSL,
                     v->entry.version);
    return rc;
}

/* The version's own file has to be there and whole, whichever text is read. */
static int open_psl(struct dx_version *v, const char *copy, struct dx_span tail,
                    struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_PSL_TEXT_MAX);
    struct dx_buf shared = DX_BUF_INIT(DX_PSL_TEXT_MAX);
    const struct dx_buf *list = &text;
    int rc = dx_part_read_stored(dx_version_own(v), DX_FILE_PSL, copy, DX_PSL_TEXT_MAX, &text, err);

    if (rc == DX_OK && tail.size > 0 && read_root_psl(v, &shared))
        list = &shared;
    else if (rc == DX_OK)
        rc = decode_psl(v, &text, err);
    if (rc == DX_OK)
        rc = dx_psl_new_below(&v->psl, dx_span_of(list->data, list->size), tail, err);
    dx_buf_release(&shared);
    dx_buf_release(&text);
    return rc;
}

static int open_texts(struct dx_version *v, const struct dx_version_copies *copies,
                      const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    const struct dx_part *part = dx_version_own(v);
    int rc = dx_part_read(part, DX_FILE_DATASETS, copies->path[DX_COPY_DATASETS], DX_REGISTRY_MAX,
                          &text, err);

    if (rc == DX_OK)
        rc = dx_registry_parse(&v->registry, dx_span_of(text.data, text.size), DX_FILE_DATASETS,
                               err);
    if (rc == DX_OK)
        rc = dx_dataset_heads_new(&v->heads, &v->registry, err);
    dx_buf_release(&text);
    return rc == DX_OK ? open_psl(v, copies->path[DX_COPY_PSL], options->tail, err) : rc;
}

static uint64_t add_bytes(uint64_t sum, uint64_t more)
{
    return __builtin_add_overflow(sum, more, &sum) ? UINT64_MAX : sum;
}

/* The entry of its i-th part, itself the last; NULL: the manifest lacks it. */
static const struct dx_manifest_version *part_entry(const struct dx_manifest *m,
                                                    const struct dx_manifest_version *entry,
                                                    size_t i)
{
    return i == entry->part_count ? entry : dx_manifest_find(m, entry->parts[i]);
}

uint64_t dx_version_mapped_bytes_of(const struct dx_manifest *m,
                                    const struct dx_manifest_version *entry)
{
    return dx_version_mapped_bytes_with(NULL, 0, "", m, entry);
}

uint64_t dx_version_fresh_bytes_of(struct dx_caches *caches, const char *root,
                                   const struct dx_manifest *m,
                                   const struct dx_manifest_version *entry)
{
    uint64_t sum = 0;

    for (size_t i = 0; i <= entry->part_count; i++) {
        const struct dx_manifest_version *part = part_entry(m, entry, i);

        if (part != NULL)
            sum = add_bytes(sum, dx_open_parts_fresh_bytes(&caches->parts, root, part));
    }
    return sum;
}

/* Whether one of the first `count` versions has a part of that name and build. */
static bool has_part(struct dx_version *const *versions, size_t count, const char *root,
                     const struct dx_manifest_version *entry)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < versions[i]->part_count; k++) {
            const struct dx_part *part = versions[i]->parts[k].part;

            if (strcmp(part->entry.version, entry->version) == 0 &&
                memcmp(&part->entry.build, &entry->build, sizeof entry->build) == 0 &&
                strcmp(part->root, root) == 0)
                return true;
        }
    return false;
}

uint64_t dx_version_mapped_bytes_with(struct dx_version *const *versions, size_t count,
                                      const char *root, const struct dx_manifest *m,
                                      const struct dx_manifest_version *entry)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < versions[i]->part_count; k++) {
            const struct dx_part *part = versions[i]->parts[k].part;

            if (!has_part(versions, i, part->root, &part->entry))
                sum = add_bytes(sum, dx_part_mapped_bytes(&part->entry));
        }
    for (size_t i = 0; i <= entry->part_count; i++) {
        const struct dx_manifest_version *part = part_entry(m, entry, i);

        if (part != NULL && !has_part(versions, count, root, part))
            sum = add_bytes(sum, dx_part_mapped_bytes(part));
    }
    return sum;
}

static void version_close(struct dx_version *v)
{
    if (v->kept != NULL)
        v->drop(v->kept);
    dx_dead_domains_release(v->parts, v->part_count, &v->dead);
    dx_dataset_heads_release(&v->heads);
    dx_registry_release(&v->registry);
    dx_psl_free(&v->psl);
    dx_source_close(&v->source);
    dx_shared_manifest_put(&v->listed);
    (void)pthread_mutex_destroy(&v->listed_lock);
    free(v->entry.files);
    free(v->root);
    free(v);
}

/* ---- opening ---- */

/* The registry and the canonical form are those that the manifest speaks of. */
static int check_texts(const struct dx_version *v, struct dx_error *err)
{
    if (v->registry.count != v->entry.datasets)
        return dx_fail(err, DX_E_CORRUPT,
                       "datasets in " DX_FILE_DATASETS ": %zu, the manifest says %llu",
                       v->registry.count, (unsigned long long)v->entry.datasets);
    if (v->entry.canon_version != DX_CANON_VERSION)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "version %s has canonical form %u, this program knows %d", v->entry.version,
                       (unsigned)v->entry.canon_version, DX_CANON_VERSION);
    return DX_OK;
}

static int open_etags(const struct dx_version *v, struct dx_part *part, const char *copy,
                      const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_source_options so;
    char *url = NULL;
    int rc = dx_version_source_options(options, &so, err);

    if (rc == DX_OK)
        rc = dx_source_root_url(v->root, &so, &url, err);
    if (rc == DX_OK)
        rc = dx_part_take_etags(part, copy, url, options->verify, err);
    free(url);
    return rc;
}

static int check_sum(const struct dx_version *v, const char *what, uint64_t sum, uint64_t want,
                     struct dx_error *err)
{
    return sum == want
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT,
                         "version %s: its parts have %llu %s, the manifest says %llu",
                         v->entry.version, (unsigned long long)sum, what, (unsigned long long)want);
}

static bool is_gone(const struct dx_version *v, uint64_t file_id)
{
    return v->dead.files != NULL && roaring_bitmap_contains(v->dead.files, (uint32_t)file_id);
}

/* What the version's files of datasets of counts have: rows in pages.dxp, which are hosts, and pages, which are the rows that the
 * manifest counts. */
static int count_hosts(const struct dx_version *v, uint64_t *hosts, uint64_t *pages,
                       struct dx_error *err)
{
    *hosts = *pages = 0;
    for (size_t i = 0; i < v->registry.count; i++)
        if (v->registry.datasets[i].kind == DX_DATASET_COUNTS)
            *pages += v->registry.datasets[i].rows;
    for (size_t i = 0; v->registry.has_counts && i < v->part_count; i++) {
        const struct dx_pages *p = &v->parts[i].part->pages;

        for (uint64_t f = 0; f < p->files; f++) {
            struct dx_pages_file file;
            int rc = dx_pages_file(p, p->first_file + f, &file, err);

            if (rc < 0)
                return rc;
            if (rc == 1 && !is_gone(v, p->first_file + f) &&
                dx_registry_of_counts(&v->registry, file.dataset_id))
                *hosts += file.rows;
        }
    }
    return DX_OK;
}

/* Rows of the lake files are those of the pairs and those that are left out; of files of datasets of counts none are. */
static int check_rows(const struct dx_version *v, uint64_t rows, struct dx_error *err)
{
    uint64_t left_out = v->entry.rows_left_out;
    uint64_t hosts;
    uint64_t pages;
    int rc = count_hosts(v, &hosts, &pages, err);

    if (rc < 0)
        return rc;
    if (pages != v->entry.pages)
        return check_sum(v, "pages of datasets of counts", pages, v->entry.pages, err);
    if (hosts <= rows && rows - hosts == v->entry.rows - pages + left_out)
        return DX_OK;
    return dx_fail(err, DX_E_CORRUPT,
                   "version %s: rows in " DX_FILE_PAGES ": %llu, the manifest says %llu",
                   v->entry.version, (unsigned long long)(rows - hosts),
                   (unsigned long long)(v->entry.rows - pages + left_out));
}

/* The manifest's totals are those of live domains, and of the files of all parts that did not leave. */
static int check_sums(struct dx_version *v, struct dx_error *err)
{
    const struct dx_manifest_version *entry = &v->entry;
    uint64_t pairs = 0;
    uint64_t urls = 0;
    uint64_t rows = 0;
    int rc;

    v->numbers = 0;
    for (size_t i = 0; i < v->part_count; i++) {
        const struct dx_part *part = v->parts[i].part;

        v->numbers += part->entry.part.domains;
        pairs += part->entry.part.pairs;
        urls += part->entry.part.urls;
        rows += part->pages.rows;
    }
    rc = check_sum(v, "domains", v->numbers - v->dead.domains, entry->domains, err);
    if (rc == DX_OK)
        rc = check_sum(v, "pairs", pairs - v->dead.pairs, entry->pairs, err);
    if (rc == DX_OK)
        rc = check_sum(v, "URLs", urls - v->dead.urls, entry->urls, err);
    if (rc < 0)
        return rc;
    return check_rows(v, rows - v->dead.rows, err);
}

/* One that is open already; NULL: it has to be opened. */
static struct dx_part *hold_open(const struct dx_version *v,
                                 const struct dx_manifest_version *entry, bool verify,
                                 const struct dx_version_options *options)
{
    return v->caches == NULL || (verify && options->whole)
               ? NULL
               : dx_open_parts_hold(&v->caches->parts, v->root, entry, options, verify);
}

static int open_fresh(const struct dx_version *v, struct dx_part **part,
                      struct dx_version_copies *copies, bool verify,
                      const struct dx_version_options *options, struct dx_error *err)
{
    int rc = dx_part_open(*part, copies, v->source, (struct dx_part_how){ verify, options->beside },
                          err);

    if (rc == DX_OK && verify && options->whole && !dx_source_remote(v->root))
        rc = dx_part_check_others(*part, err);
    if (rc == DX_OK && copies->path[DX_COPY_ETAGS] != NULL)
        rc = open_etags(v, *part, copies->path[DX_COPY_ETAGS], options, err);
    if (rc == DX_OK && v->caches != NULL)
        dx_open_parts_add(&v->caches->parts, *part);
    return rc;
}

/* *fetched: its copies are there; what failed, if anything, failed with them. */
static int open_part(struct dx_version *v, const struct dx_manifest_version *entry,
                     const struct dx_version_options *options, bool *fetched, struct dx_error *err)
{
    bool older = strcmp(entry->version, v->entry.version) != 0;
    bool verify = options->verify && !(older && options->own_only);
    struct dx_version_copies copies = { .tree = NULL };
    struct dx_part **part = &v->parts[v->part_count++].part;
    bool shared;
    int rc = DX_OK;

    *fetched = false;
    *part = hold_open(v, entry, verify, options);
    shared = *part != NULL;
    if (shared && older)
        return DX_OK;
    if (!shared)
        rc = dx_part_new(part, v->root, entry, options->open_flags, err);
    if (rc == DX_OK && dx_source_remote(v->root)) {
        rc = dx_version_copies_fetch(&copies, v->source, entry, older, options, err);
        *fetched = rc == DX_OK;
    }
    if (rc == DX_OK && !shared)
        rc = open_fresh(v, part, &copies, verify, options, err);
    if (rc == DX_OK && !older)
        rc = open_texts(v, &copies, options, err);
    dx_version_copies_release(&copies);
    return rc;
}

static bool copies_to_blame(int rc)
{
    return rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED || rc == DX_E_NOT_FOUND;
}

static void close_last(struct dx_version *v)
{
    dx_open_parts_put(&v->parts[--v->part_count].part);
    dx_dataset_heads_release(&v->heads);
    dx_registry_release(&v->registry);
    dx_psl_free(&v->psl);
}

static int open_part_or_heal(struct dx_version *v, const struct dx_manifest_version *entry,
                             const struct dx_version_options *options, struct dx_error *err)
{
    bool older = strcmp(entry->version, v->entry.version) != 0;
    bool fetched;
    int rc = open_part(v, entry, options, &fetched, err);

    /* A copy that was sound when it came and is not any more: because of a disk or a person.
     * Other failures, of memory or of rights, say nothing about the copies. */
    if (rc < 0 && fetched && copies_to_blame(rc) &&
        dx_version_copies_heal(entry, older, options, NULL) == 1) {
        close_last(v);
        rc = open_part(v, entry, options, &fetched, err);
    }
    return rc;
}

static int open_parts(struct dx_version *v, const struct dx_manifest *m,
                      const struct dx_version_options *options, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < v->entry.part_count; i++) {
        const struct dx_manifest_version *entry = m == NULL
                                                      ? NULL
                                                      : dx_manifest_find(m, v->entry.parts[i]);

        rc = entry != NULL
                 ? open_part_or_heal(v, entry, options, err)
                 : dx_fail(err, DX_E_CORRUPT, "manifest: version %s: its part %s is not listed",
                           v->entry.version, v->entry.parts[i]);
    }
    if (rc == DX_OK)
        rc = open_part_or_heal(v, &v->entry, options, err);
    if (rc == DX_OK)
        rc = check_texts(v, err);
    if (rc == DX_OK)
        rc = dx_dead_domains_join(v->parts, v->part_count, &v->dead, err);
    return rc == DX_OK ? check_sums(v, err) : rc;
}

static _Atomic uint64_t opened = 1;

static void list_open(struct dx_version *v)
{
    struct dx_caches *c = v->caches;

    if (c == NULL)
        return;
    (void)pthread_mutex_lock(&c->open_lock);
    v->next_open = c->open;
    v->at_open = &c->open;
    if (c->open != NULL)
        c->open->at_open = &v->next_open;
    c->open = v;
    (void)pthread_mutex_unlock(&c->open_lock);
    atomic_fetch_add(&c->mapped_versions, 1);
}

static void unlist_open(struct dx_version *v)
{
    struct dx_caches *c = v->caches;

    if (c == NULL)
        return;
    atomic_fetch_sub(&c->mapped_versions, 1);
    (void)pthread_mutex_lock(&c->open_lock);
    *v->at_open = v->next_open;
    if (v->next_open != NULL)
        v->next_open->at_open = v->at_open;
    (void)pthread_mutex_unlock(&c->open_lock);
}

/* One whose last pin went is about to be taken out of the list. */
static bool pin_if_open(struct dx_version *v)
{
    long pins = atomic_load(&v->pins);

    while (pins > 0 && !atomic_compare_exchange_weak(&v->pins, &pins, pins + 1))
        ;
    return pins > 0;
}

int dx_caches_pin_open(struct dx_caches *c, struct dx_version ***versions, size_t *count,
                       struct dx_error *err)
{
    size_t listed = 0;

    *count = 0;
    (void)pthread_mutex_lock(&c->open_lock);
    for (struct dx_version *v = c->open; v != NULL; v = v->next_open)
        listed++;
    *versions = malloc((listed + 1) * sizeof **versions);
    for (struct dx_version *v = c->open; *versions != NULL && v != NULL; v = v->next_open)
        if (pin_if_open(v))
            (*versions)[(*count)++] = v;
    (void)pthread_mutex_unlock(&c->open_lock);
    return *versions == NULL ? dx_no_memory(err, "open versions") : DX_OK;
}

int dx_version_open(struct dx_version **out, const char *root, const struct dx_manifest *m,
                    const struct dx_manifest_version *entry, struct dx_caches *caches,
                    const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_version *v = calloc(1, sizeof *v);
    int rc;

    *out = NULL;
    if (v == NULL)
        return dx_no_memory(err, "%s", root);
    (void)pthread_mutex_init(&v->listed_lock, NULL);
    v->serial = atomic_fetch_add(&opened, 1);
    v->caches = caches;
    v->root = strdup(root);
    rc = v->root == NULL ? dx_no_memory(err, "%s", root)
                         : dx_manifest_version_copy(entry, &v->entry, err);
    if (rc == DX_OK)
        rc = open_source(&v->source, root, options, err);
    if (rc == DX_OK)
        rc = open_parts(v, m, options, err);
    if (rc == DX_OK && !dx_version_intact(v))
        rc = dx_version_damage(v, err);
    if (rc < 0) {
        version_close(v);
        return rc;
    }
    atomic_store(&v->pins, 1);
    list_open(v);
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
    if (before == 1) {
        unlist_open(v);
        version_close(v);
    }
}

const char *dx_version_name(const struct dx_version *v)
{
    return v->entry.version;
}

bool dx_version_poisoned(const struct dx_version *v)
{
    bool poisoned = false;

    for (size_t i = 0; i < v->part_count; i++)
        poisoned = poisoned || dx_guard_poisoned(v->parts[i].part->guard);
    return poisoned;
}

bool dx_version_intact(const struct dx_version *v)
{
    bool intact = true;

    for (size_t i = 0; i < v->part_count; i++)
        intact = intact && dx_guard_intact(v->parts[i].part->guard);
    return intact;
}

int dx_version_damage(const struct dx_version *v, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < v->part_count; i++)
        rc = dx_guard_why(v->parts[i].part->guard, err);
    return rc;
}

void *dx_version_kept(struct dx_version *v, void *(*make)(void), void (*drop)(void *kept))
{
    void *kept;

    (void)pthread_mutex_lock(&v->listed_lock);
    if (v->kept == NULL) {
        v->kept = make();
        v->drop = drop;
    }
    kept = v->kept;
    (void)pthread_mutex_unlock(&v->listed_lock);
    return kept;
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

/* The same of a manifest that was read before. After success the version owns what m had and m is
 * empty; after an error m is as it was. */
static int open_listed(struct dx_version **v, const char *root, struct dx_manifest *m,
                       const char *name, struct dx_caches *caches,
                       const struct dx_version_options *options, struct dx_error *err)
{
    const struct dx_manifest_version *entry = name == NULL ? dx_manifest_current(m)
                                                           : dx_manifest_said(m, name);
    int rc;

    *v = NULL;
    if (entry == NULL)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "%s: no version %s. `domaindex versions --root %s` lists them", root,
                       name == NULL ? "is current" : name, root);
    rc = dx_version_open(v, root, m, entry, caches, options, err);
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
        rc = dx_suppressions_live_check(caches->suppressions, &manifest, err);
    if (rc == DX_OK)
        rc = open_listed(v, root, &manifest, name, caches, options, err);
    dx_manifest_release(&manifest);
    return rc;
}
