/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/part.h"

#include "base/file.h"
#include "fetch/source_open.h"
#include "format/core/zseek_whole.h"
#include "format/version/etags_tsv.h"
#include "loader/guard/guard.h"
#include "loader/objects.h"
#include "loader/version_copies.h"
#include "loader/warm_map.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* "root/index/version/name", in a pack "root/index/version/part.pack:name": for messages; of malloc.
 * NULL: out of memory. */
static char *path_of_file(const struct dx_part *p, const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s/%s%s", p->root, p->directory,
                    dx_manifest_packed(&p->entry) ? DX_FILE_PACK ":" : "", name) < 0
               ? NULL
               : path;
}

/* Whether bytes are what the manifest lists: always the size, the hash when asked for. path is for
 * messages. */
static int check_listed(const struct dx_part *p, const char *name, const char *path,
                        struct dx_span bytes, bool hash, struct dx_error *err)
{
    const struct dx_manifest_file *f = dx_manifest_file(&p->entry, name);
    struct dx_hash128 found;

    if (f == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s", p->entry.version,
                       name);
    if (bytes.size != f->size)
        return dx_fail(err, bytes.size < f->size ? DX_E_TRUNCATED : DX_E_CORRUPT,
                       "%s: %zu bytes, the manifest says %llu", path, bytes.size,
                       (unsigned long long)f->size);
    if (!hash || (p->open_flags & DX_OPEN_UNCHECKED))
        return DX_OK;
    found = dx_hash128_of(bytes);
    if (!dx_hash128_equal(&found, &f->hash))
        return dx_fail(err, DX_E_CORRUPT, "%s: its hash is not the one in the manifest", path);
    return DX_OK;
}

#define MAPPED_COUNT (DX_COPY_DEAD + 1)

static int open_reader(struct dx_part *p, enum dx_copy which, struct dx_span file, unsigned flags,
                       const char *name, struct dx_error *err)
{
    switch (which) {
    case DX_COPY_DICTIONARY:
        return dx_dictionary_open(&p->dictionary, file, flags, name, err);
    case DX_COPY_MPHF:
        return dx_mphf_open(&p->mphf, file, flags, name, err);
    case DX_COPY_MEMBERSHIP:
        return dx_membership_open(&p->membership, file, flags, name, err);
    case DX_COPY_COUNTS:
        return dx_counts_open(&p->counts, file, flags, name, err);
    case DX_COPY_POSTINGS:
        return dx_postings_open(&p->postings, file, flags, name, err);
    case DX_COPY_PAGES:
        return dx_pages_open(&p->pages, file, flags, name, err);
    case DX_COPY_DATASET_DOMAINS:
        return dx_dataset_domains_open(&p->dataset_domains, file, flags, name, err);
    case DX_COPY_COLD:
        return dx_cold_open(&p->cold, file, flags, name, err);
    case DX_COPY_TAGS:
        p->tags = &p->tags_file;
        return dx_tags_open(&p->tags_file, file, flags, name, err);
    case DX_COPY_DEAD:
        p->dead = &p->dead_file;
        return dx_dead_open(&p->dead_file, file, flags, name, err);
    default:
        break;
    }
    return dx_fail(err, DX_E_INVALID, "%s: no such file of a version", name);
}

/* Where a listed file lies on this machine. copy: of its object, if not under its name below the
 * root. */
struct located {
    char *path; /* of malloc */
    struct dx_map_range in_pack;
    const struct dx_map_range *range; /* NULL: the whole file */
};

static int locate_file(const struct dx_part *p, const char *name, const char *copy,
                       struct located *at, struct dx_error *err)
{
    const struct dx_manifest_file *f = dx_manifest_file(&p->entry, name);
    struct dx_manifest_place place;

    *at = (struct located){ .path = NULL };
    if (f == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s", p->entry.version,
                       name);
    dx_manifest_place(&p->entry, f, &place);
    if (copy != NULL)
        at->path = strdup(copy);
    else if (asprintf(&at->path, "%s/%s", p->root, place.object) < 0)
        at->path = NULL;
    if (at->path == NULL)
        return dx_no_memory(err, "%s", name);
    at->in_pack = (struct dx_map_range){ place.at, f->size, place.total };
    at->range = dx_manifest_packed(&p->entry) ? &at->in_pack : NULL;
    return DX_OK;
}

static int map_listed(struct dx_part *p, const char *name, const char *copy,
                      enum dx_map_advice advice, struct dx_map *map, struct dx_error *err)
{
    struct located at;
    int rc = locate_file(p, name, copy, &at, err);

    if (rc == DX_OK)
        rc = dx_guard_map_range(p->guard, map, at.path, at.range, advice, err);
    free(at.path);
    return rc;
}

static int open_mapped(struct dx_part *p, enum dx_copy which, const char *name, const char *copy,
                       struct dx_map *map, struct dx_part_how how, struct dx_error *err)
{
    char *path = path_of_file(p, name);
    int rc;

    if (path == NULL)
        return dx_no_memory(err, "%s", name);
    rc = map_listed(p, name, copy, DX_MAP_RANDOM, map, err);
    if (rc == DX_OK && how.verify && map->bytes.size > 0) /* else page by page, by faults */
        rc = dx_warm_map(name, map->bytes, how.beside, err);
    if (rc == DX_OK)
        rc = check_listed(p, name, path, map->bytes, how.verify, err);
    if (rc == DX_OK)
        rc = open_reader(p, which, map->bytes,
                         p->open_flags | (how.verify ? DX_OPEN_VERIFY_ALL : 0), path, err);
    free(path);
    return rc;
}

static const struct {
    const char *name;
    size_t map; /* offset in struct dx_part */
} mapped[MAPPED_COUNT] = {
    [DX_COPY_DICTIONARY] = { DX_FILE_DOMAINS_DICT, offsetof(struct dx_part, map_dictionary) },
    [DX_COPY_MPHF] = { DX_FILE_DOMAINS_MPHF, offsetof(struct dx_part, map_mphf) },
    [DX_COPY_MEMBERSHIP] = { DX_FILE_MEMBERSHIP, offsetof(struct dx_part, map_membership) },
    [DX_COPY_COUNTS] = { DX_FILE_COUNTS, offsetof(struct dx_part, map_counts) },
    [DX_COPY_POSTINGS] = { DX_FILE_POSTINGS_DIR, offsetof(struct dx_part, map_postings) },
    [DX_COPY_PAGES] = { DX_FILE_PAGES, offsetof(struct dx_part, map_pages) },
    [DX_COPY_DATASET_DOMAINS] = { DX_FILE_DATASET_DOMAINS,
                                  offsetof(struct dx_part, map_dataset_domains) },
    [DX_COPY_COLD] = { DX_FILE_COLD, offsetof(struct dx_part, map_cold) },
    [DX_COPY_TAGS] = { DX_FILE_TAGS, offsetof(struct dx_part, map_tags) },
    [DX_COPY_DEAD] = { DX_FILE_DEAD, offsetof(struct dx_part, map_dead) },
};

static struct dx_map *map_of(const struct dx_part *p, int which)
{
    return (struct dx_map *)((uintptr_t)p + mapped[which].map);
}

static int open_maps(struct dx_part *p, const struct dx_version_copies *copies,
                     struct dx_part_how how, struct dx_error *err)
{
    int rc = DX_OK;

    for (int i = 0; rc >= 0 && i < MAPPED_COUNT; i++)
        if ((i != DX_COPY_TAGS && i != DX_COPY_DEAD) ||
            dx_manifest_file(&p->entry, mapped[i].name) != NULL)
            rc = open_mapped(p, (enum dx_copy)i, mapped[i].name, copies->path[i], map_of(p, i), how,
                             err);
    if (rc >= 0)
        atomic_store(&p->warm, how.verify);
    return rc < 0 ? rc : DX_OK;
}

int dx_part_maps(const struct dx_part *p,
                 int (*each)(void *ctx, const char *name, struct dx_span bytes,
                             struct dx_error *err),
                 void *ctx, struct dx_error *err)
{
    int rc = DX_OK;

    for (int i = 0; rc >= 0 && i < MAPPED_COUNT; i++) {
        struct dx_span bytes = map_of(p, i)->bytes;

        if (bytes.size > 0)
            rc = each(ctx, mapped[i].name, bytes, err);
    }
    return rc < 0 ? rc : DX_OK;
}

static int drop_map(void *ctx, const char *name, struct dx_span bytes, struct dx_error *err)
{
    (void)ctx;
    (void)name;
    (void)err;
    bytes = dx_map_pages(bytes);
    (void)madvise((void *)(uintptr_t)bytes.data, bytes.size, MADV_DONTNEED); /* advice only */
    return DX_OK;
}

void dx_part_drop_pages(const struct dx_part *p)
{
    (void)dx_part_maps(p, drop_map, NULL, NULL);
}

uint64_t dx_part_mapped_bytes(const struct dx_manifest_version *entry)
{
    uint64_t sum = 0;

    for (int i = 0; i < MAPPED_COUNT; i++) {
        const struct dx_manifest_file *f = dx_manifest_file(entry, mapped[i].name);

        if (f != NULL && __builtin_add_overflow(sum, f->size, &sum))
            return UINT64_MAX;
    }
    return sum;
}

static int check_build(const struct dx_part *p, const char *name,
                       const struct dx_envelope *envelope, struct dx_error *err)
{
    return memcmp(&envelope->build, &p->entry.build, sizeof p->entry.build) == 0
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT, "%s/%s: of another build than the manifest says",
                         p->directory, name);
}

static int check_number(const char *what, uint64_t found, uint64_t want, struct dx_error *err)
{
    return found == want ? DX_OK
                         : dx_fail(err, DX_E_CORRUPT, "%s: %llu, the manifest says %llu", what,
                                   (unsigned long long)found, (unsigned long long)want);
}

static int check_dataset_domains(const struct dx_part *p, struct dx_error *err)
{
    const struct dx_dataset_domains *d = &p->dataset_domains;
    int rc = check_build(p, DX_FILE_DATASET_DOMAINS, &d->envelope, err);

    if (rc == DX_OK)
        rc = check_number("domains in " DX_FILE_DATASET_DOMAINS, d->domains, p->entry.part.domains,
                          err);
    if (rc == DX_OK)
        rc = check_number("pairs in " DX_FILE_DATASET_DOMAINS, d->pairs, p->entry.part.pairs, err);
    return rc;
}

/* The cold files are read later, by page: here what their directory says of them. */
static int check_cold(const struct dx_part *p, struct dx_error *err)
{
    int rc = check_build(p, DX_FILE_COLD, &p->cold.envelope, err);

    if (rc == DX_OK &&
        dx_cold_is_old(&p->cold) != p->postings.by_ids) /* both know pairs by rank, or neither */
        rc = dx_fail(err, DX_E_CORRUPT,
                     DX_FILE_COLD " and " DX_FILE_POSTINGS_DIR " are of different releases");
    if (rc == DX_OK)
        rc = check_number("pairs of " DX_FILE_FACTS " in " DX_FILE_COLD,
                          p->cold.entries[DX_COLD_FACTS], p->entry.part.pairs, err);
    if (rc == DX_OK)
        rc = check_number("pairs of " DX_FILE_SKETCHES " in " DX_FILE_COLD,
                          p->cold.entries[DX_COLD_SKETCHES], p->entry.part.pairs, err);
    for (unsigned i = 0; i < DX_COLD_FILES && rc == DX_OK; i++) {
        const char *name = dx_cold_file_name((enum dx_cold_file)i);
        const struct dx_manifest_file *f = dx_manifest_file(&p->entry, name);
        char what[96];

        (void)snprintf(what, sizeof what, "bytes of %s in " DX_FILE_COLD, name);
        rc = check_number(what, p->cold.size[i], f->size, err);
    }
    return rc;
}

/* Their files are read by page too. */
static int check_postings(const struct dx_part *p, struct dx_error *err)
{
    const struct dx_postings_totals *t = &p->postings.totals;
    int rc = check_number("bytes of " DX_FILE_POSTINGS_IDX " in " DX_FILE_POSTINGS_DIR, t->idx_size,
                          dx_manifest_file(&p->entry, DX_FILE_POSTINGS_IDX)->size, err);

    if (rc == DX_OK)
        rc = check_number("bytes of " DX_FILE_POSTINGS_DAT " in " DX_FILE_POSTINGS_DIR, t->dat_size,
                          dx_manifest_file(&p->entry, DX_FILE_POSTINGS_DAT)->size, err);
    return rc == DX_OK && !p->postings.by_ids
               ? check_number("datasets in " DX_FILE_POSTINGS_DIR, t->datasets,
                              p->dataset_domains.datasets, err)
               : rc;
}

static int check_tags(const struct dx_part *p, struct dx_error *err)
{
    const struct dx_tags *t = p->tags;
    int rc = t == NULL ? DX_OK : check_build(p, DX_FILE_TAGS, &t->envelope, err);

    if (rc == DX_OK && t != NULL)
        rc = check_number("domains in " DX_FILE_TAGS, t->domains, p->entry.part.domains, err);
    if (rc == DX_OK && t != NULL)
        rc = check_number("numbers of files in " DX_FILE_TAGS, t->files, p->entry.file_ids, err);
    return rc;
}

/* What each file says of the others, and the manifest of all: one build, the same numbers. */
static int check_together(const struct dx_part *p, struct dx_error *err)
{
    const struct {
        const char *name;
        const struct dx_envelope *envelope;
    } files[] = {
        { DX_FILE_DOMAINS_DICT, &p->dictionary.envelope },
        { DX_FILE_DOMAINS_MPHF, &p->mphf.envelope },
        { DX_FILE_MEMBERSHIP, &p->membership.envelope },
        { DX_FILE_COUNTS, &p->counts.envelope },
        { DX_FILE_POSTINGS_DIR, &p->postings.envelope },
        { DX_FILE_PAGES, &p->pages.envelope },
    };
    const struct dx_manifest_part *n = &p->entry.part;
    const struct {
        const char *what;
        uint64_t found, want;
    } numbers[] = {
        { "domains in " DX_FILE_DOMAINS_DICT, p->dictionary.info.n, n->domains },
        { "domains in " DX_FILE_DOMAINS_MPHF, p->mphf.n, n->domains },
        { "domains in " DX_FILE_MEMBERSHIP, p->membership.domains, n->domains },
        { "domains in " DX_FILE_COUNTS, p->counts.totals.domains, n->domains },
        { "pairs in " DX_FILE_MEMBERSHIP, p->membership.pairs, n->pairs },
        { "pairs in " DX_FILE_COUNTS, p->counts.totals.pairs, n->pairs },
        { "pairs in " DX_FILE_POSTINGS_DIR, p->postings.totals.pairs, n->pairs },
        { "domains in " DX_FILE_POSTINGS_DIR,
          p->postings.by_ids ? n->domains : p->postings.totals.domains, n->domains },
        { "rows in " DX_FILE_COUNTS, p->counts.totals.row_count, n->rows },
        { "urls in " DX_FILE_COUNTS, p->counts.totals.url_count, n->urls },
        { "numbers of files in " DX_FILE_PAGES, p->pages.files,
          p->entry.file_ids - p->entry.part.first_file },
    };

    int rc = DX_OK;

    for (size_t i = 0; i < sizeof files / sizeof files[0] && rc == DX_OK; i++)
        rc = check_build(p, files[i].name, files[i].envelope, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && rc == DX_OK; i++)
        rc = check_number(numbers[i].what, numbers[i].found, numbers[i].want, err);
    if (rc == DX_OK)
        rc = check_dataset_domains(p, err);
    if (rc == DX_OK)
        rc = check_postings(p, err);
    if (rc == DX_OK)
        rc = check_cold(p, err);
    if (rc == DX_OK)
        rc = check_tags(p, err);
    return rc == DX_OK ? dx_mphf_match(&p->mphf, &p->dictionary, err) : rc;
}

/* ---- ETags ---- */

static int take_etags(struct dx_part *p, struct dx_etags *r, struct dx_error *err)
{
    static const enum dx_object_kind kinds[] = { [DX_ETAG_IDX] = DX_OBJECT_IDX,
                                                 [DX_ETAG_DAT] = DX_OBJECT_DAT,
                                                 [DX_ETAG_COLD] = DX_OBJECT_COLD,
                                                 [DX_ETAG_LAKE] = DX_OBJECT_LAKE };
    struct dx_etags_row row;
    int rc;

    while ((rc = dx_etags_next(r, &row, err)) == 1) {
        const struct dx_object o = { kinds[row.kind], row.number };

        if (row.kind == DX_ETAG_LAKE && row.number >= p->entry.file_ids)
            return dx_fail(err, DX_E_CORRUPT, DX_FILE_ETAGS ": lake file %u of %llu",
                           (unsigned)row.number, (unsigned long long)p->entry.file_ids);
        rc = dx_objects_set(p->objects, o, row.etag, err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

int dx_part_take_etags(struct dx_part *p, const char *copy, const char *root_url, bool verify,
                       struct dx_error *err)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_etags r = { .line = 0 };
    int rc = map_listed(p, DX_FILE_ETAGS, copy, DX_MAP_SEQUENTIAL, &map, err);

    if (rc == DX_OK)
        rc = check_listed(p, DX_FILE_ETAGS, copy, map.bytes, verify, err);
    if (rc == DX_OK)
        rc = dx_etags_open(&r, map.bytes, DX_FILE_ETAGS, err);
    if (rc == DX_OK && strcmp(r.root, root_url) == 0)
        rc = take_etags(p, &r, err);
    dx_etags_close(&r);
    dx_guard_unmap(p->guard, &map);
    return rc;
}

/* ---- opening ---- */

static int open_paged(struct dx_part *p, struct dx_version_copies *copies, struct dx_error *err)
{
    p->paged = p->source;
    if (copies->tree == NULL)
        return DX_OK;
    p->tree = copies->tree;
    copies->tree = NULL;
    p->paged = NULL;
    return dx_source_open_local(&p->paged, dx_mirror_tree_path(p->tree), err);
}

struct dx_source *dx_part_cold_source(const struct dx_part *p, enum dx_cold_file file)
{
    return file == DX_COLD_SKETCHES && !dx_manifest_packed(&p->entry) ? p->source : p->paged;
}

static int read_packed(const struct dx_part *p, const char *name, size_t cap, struct dx_buf *text,
                       struct dx_error *err)
{
    const struct dx_manifest_file *f = dx_manifest_file(&p->entry, name);
    struct dx_manifest_place place;
    struct dx_read read;
    struct dx_pin pin;
    const struct dx_source_batch batch = { .reads = &read, .pins = &pin, .count = 1 };
    uint8_t *to;

    if (f == NULL || f->size > cap)
        return dx_fail(err, f == NULL ? DX_E_CORRUPT : DX_E_LIMIT,
                       "manifest: version %s: no usable line of %s", p->entry.version, name);
    dx_manifest_place(&p->entry, f, &place);
    to = dx_buf_reserve(text, (size_t)f->size);
    if (to == NULL)
        return dx_buf_fail(text, err, name);
    pin = (struct dx_pin){ place.total, NULL };
    read = (struct dx_read){ place.object, place.at, (size_t)f->size, to };
    text->size += (size_t)f->size;
    return f->size == 0 ? DX_OK : dx_source_read_batch(p->paged, &batch, err);
}

/* The name of the manifest's line: that of an older version is another one. */
static const char *listed_name(const struct dx_part *p, const char *name)
{
    const struct dx_manifest_file *f = dx_manifest_file(&p->entry, name);

    return f == NULL ? name : f->name;
}

int dx_part_read_stored(const struct dx_part *p, const char *name, const char *copy, size_t cap,
                        struct dx_buf *stored, struct dx_error *err)
{
    const char *listed = listed_name(p, name);
    char *path = path_of_file(p, listed);
    int rc;

    if (path == NULL)
        return dx_no_memory(err, "%s", name);
    rc = dx_manifest_packed(&p->entry) ? read_packed(p, listed, cap, stored, err)
                                       : dx_file_read(copy != NULL ? copy : path, cap, stored, err);
    if (rc == DX_OK)
        rc = check_listed(p, listed, path, dx_span_of(stored->data, stored->size), true, err);
    free(path);
    return rc;
}

int dx_part_expand(const struct dx_part *p, const char *name, size_t cap, struct dx_buf *text,
                   struct dx_error *err)
{
    const char *listed = listed_name(p, name);
    char *path;
    int rc;

    if (!dx_zseek_named(listed)) /* of an older version: not compressed */
        return DX_OK;
    path = path_of_file(p, listed);
    if (path == NULL)
        return dx_no_memory(err, "%s", name);
    rc = dx_zseek_expand(text, path, cap, err);
    free(path);
    return rc;
}

int dx_part_read(const struct dx_part *p, const char *name, const char *copy, size_t cap,
                 struct dx_buf *text, struct dx_error *err)
{
    int rc = dx_part_read_stored(p, name, copy, cap, text, err);

    return rc == DX_OK ? dx_part_expand(p, name, cap, text, err) : rc;
}

static bool mapped_file(const char *name)
{
    for (int i = 0; i < MAPPED_COUNT; i++)
        if (strcmp(mapped[i].name, name) == 0)
            return true;
    return false;
}

int dx_part_check_others(const struct dx_part *p, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < p->entry.file_count; i++) {
        const struct dx_manifest_file *f = &p->entry.files[i];
        struct dx_map map = DX_MAP_INIT;
        struct located at;

        if (mapped_file(f->name) || f == dx_manifest_file(&p->entry, DX_FILE_DATASETS) ||
            f == dx_manifest_file(&p->entry, DX_FILE_PSL))
            continue;
        rc = locate_file(p, f->name, NULL, &at, err);
        if (rc == DX_OK)
            rc = dx_map_open_range(&map, at.path, at.range, DX_MAP_SEQUENTIAL, err);
        if (rc == DX_OK)
            rc = check_listed(p, f->name, at.path, map.bytes, true, err);
        dx_map_close(&map);
        free(at.path);
    }
    return rc;
}

int dx_part_new(struct dx_part **out, const char *root, const struct dx_manifest_version *entry,
                unsigned open_flags, struct dx_error *err)
{
    struct dx_part *p = calloc(1, sizeof *p);
    int rc;

    *out = p;
    if (p == NULL)
        return dx_no_memory(err, "%s", root);
    p->open_flags = open_flags;
    p->root = strdup(root);
    if (p->root == NULL || asprintf(&p->directory, DX_INDEX_DIR "/%s", entry->version) < 0) {
        p->directory = NULL;
        return dx_no_memory(err, "%s", root);
    }
    rc = dx_manifest_version_copy(entry, &p->entry, err);
    if (rc == DX_OK && entry->part_count == 0)
        p->entry.part = (struct dx_manifest_part){ entry->domains, entry->pairs, entry->rows,
                                                   entry->urls, 0 };
    return rc == DX_OK ? dx_guard_new(&p->guard, entry->version, err) : rc;
}

int dx_part_open(struct dx_part *p, struct dx_version_copies *copies, struct dx_source *source,
                 struct dx_part_how how, struct dx_error *err)
{
    int rc;

    p->source = dx_source_hold(source);
    p->verified = how.verify;
    p->copied = copies->path[DX_COPY_MPHF] != NULL;
    rc = open_maps(p, copies, how, err);
    p->pages.first_file = p->entry.part.first_file;
    if (rc == DX_OK)
        rc = check_together(p, err);
    /* Behind the checks: pages.dxp has a record for each of so many files. */
    if (rc == DX_OK)
        rc = dx_objects_new(&p->objects, p->entry.file_ids, err);
    return rc == DX_OK ? open_paged(p, copies, err) : rc;
}

void dx_part_free(struct dx_part **part)
{
    struct dx_part *p = *part;

    *part = NULL;
    if (p == NULL)
        return;
    dx_dead_close(&p->dead_file);
    dx_tags_close(&p->tags_file);
    dx_cold_close(&p->cold);
    dx_dataset_domains_close(&p->dataset_domains);
    dx_pages_close(&p->pages);
    dx_postings_close(&p->postings);
    dx_counts_close(&p->counts);
    dx_membership_close(&p->membership);
    dx_mphf_close(&p->mphf);
    dx_dictionary_close(&p->dictionary);
    dx_guard_free(&p->guard);
    for (int i = 0; i < MAPPED_COUNT; i++)
        dx_map_close(map_of(p, i));
    if (p->paged != p->source)
        dx_source_close(&p->paged);
    dx_source_close(&p->source);
    dx_mirror_tree_close(&p->tree);
    dx_objects_free(&p->objects);
    free(p->entry.files);
    free(p->directory);
    free(p->root);
    free(p);
}
