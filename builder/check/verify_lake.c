/* SPDX-License-Identifier: Apache-2.0
 * The lake: that its files are there, and with `deep` that the index says of them what a
 * new scan says.
 */
#include "base/log.h"
#include "builder/check/verify.h"
#include "builder/check/verify_pairs.h"
#include "builder/lake/lake_fetch.h"
#include "builder/lake/lake_layout.h"
#include "builder/root/parallel.h"
#include "builder/scan/index_lake.h"
#include "builder/scan/index_pair.h"
#include "builder/scan/index_scan.h"
#include "builder/scan/index_strays.h"
#include "builder/sort/spill_sort.h"

#include "base/file.h"
#include "fetch/store/store.h"
#include "format/version/facts.h"
#include "format/version/url_sketch.h"
#include "loader/objects.h"
#include "loader/version_parts.h"
#include "loader/version_walk.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#define THREADS 8 /* that ask for objects */

struct found {
    bool there;
    uint64_t size;
    char wrong[384]; /* what else; "": nothing */
};

struct lake_check {
    struct found *found;                  /* parallel to lake.files */
    const struct dx_index_file **by_path; /* those that are not holes */
    size_t by_path_count;
    struct dx_verify *w;
    struct dx_version *v;
    struct dx_index_lake lake;
    struct dx_registry registry; /* for the totals that the scan finds */
    struct dx_version_walk walk; /* live domains of all parts */
    bool begun;                  /* walk is at the domain that the pairs are at */
    uint64_t domain_id;          /* of that domain */
    uint32_t rank;               /* of the next dataset in its set */
    /* of the index, beside the pairs, by part */
    struct dx_verify_pairs facts[DX_PARTS_MAX], sketches[DX_PARTS_MAX];
    struct dx_buf aside;  /* facts that the scan put aside */
    struct dx_buf sketch; /* of an old part, as it is written now */
    struct dx_buf runs, payload;
    uint64_t postings_sum;
};

/* A file that pages.dxp names, as the scan wants it. */
static int take_file(struct lake_check *c, const struct dx_part *part, uint64_t i,
                     const struct dx_pages_file *file, struct dx_error *err)
{
    const struct dx_object object = { DX_OBJECT_LAKE, (uint32_t)i };
    struct dx_pin pin = dx_objects_pin(part->objects, object, file->size);
    struct dx_index_file *f = &c->lake.files[i];
    struct dx_lake_path parsed;
    char path[DX_LAKE_PATH_MAX];

    f->dataset_id = file->dataset_id;
    f->size = file->size;
    f->path = strndup((const char *)file->path.data, file->path.size);
    f->prefix = strdup("00-ff"); /* only for messages here */
    f->etag = strdup(pin.etag == NULL ? "" : pin.etag);
    if (f->path == NULL || f->prefix == NULL || f->etag == NULL)
        return dx_no_memory(err, "verify");
    (void)snprintf(path, sizeof path, DX_LAKE_DIR "/%s", f->path);
    f->prefix_first = 0;
    f->prefix_last = 255;
    if (dx_lake_path_parse(dx_span_str(path), &parsed)) {
        f->prefix_first = parsed.first;
        f->prefix_last = parsed.last;
    }
    return DX_OK;
}

static int compare_paths(const void *a, const void *b)
{
    const struct dx_index_file *const *x = a;
    const struct dx_index_file *const *y = b;

    return strcmp((*x)->path, (*y)->path);
}

/* *all_there: false if not all records could be read. */
static int take_part(struct lake_check *c, const struct dx_part *part, bool *all_there,
                     struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dx_pages_file file;
    int rc = DX_OK;

    assert(part->pages.first_file == c->lake.file_count);
    for (uint64_t i = 0; rc == DX_OK && i < part->pages.files; i++) {
        uint64_t id = part->pages.first_file + i;
        int there = dx_pages_file(&part->pages, id, &file, &why);

        c->lake.file_count = (size_t)id + 1;
        if (there < 0) {
            *all_there = false;
            return dx_verify_damage(c->w, &why, err);
        }
        if (there == 0)
            continue; /* a file that went */
        if (dx_version_is_gone(c->v, id)) {
            c->lake.files[id].row_groups = file.row_groups;
            continue;
        }
        rc = take_file(c, part, id, &file, err);
        c->by_path[c->by_path_count++] = &c->lake.files[id];
    }
    return rc;
}

static int take_files(struct lake_check *c, bool *all_there, struct dx_error *err)
{
    size_t files = 0;
    int rc = DX_OK;

    for (size_t i = 0; i < c->v->part_count; i++)
        files += c->v->parts[i].part->pages.files;
    c->lake.files = calloc(files + 1, sizeof *c->lake.files);
    c->found = calloc(files + 1, sizeof *c->found);
    c->by_path = calloc(files + 1, sizeof *c->by_path);
    if (c->lake.files == NULL || c->found == NULL || c->by_path == NULL)
        return dx_no_memory(err, "verify");
    for (size_t i = 0; rc == DX_OK && *all_there && i < c->v->part_count; i++) {
        const struct dx_part *part = c->v->parts[i].part;

        if (part->pages.first_file == c->lake.file_count)
            rc = take_part(c, part, all_there, err);
        else
            *all_there = false; /* dx_verify_files has said that the numbers do not go on */
    }
    if (rc == DX_OK)
        qsort(c->by_path, c->by_path_count, sizeof *c->by_path, compare_paths);
    return rc;
}

static void note(struct found *found, const char *text)
{
    (void)snprintf(found->wrong, sizeof found->wrong, "%.*s", (int)sizeof found->wrong - 1, text);
}

static int look_in_folder(void *ctx, size_t i, struct dx_error *err)
{
    struct lake_check *c = ctx;
    struct dx_error why = DX_ERROR_INIT;
    char *full = NULL;
    int rc;

    if (c->lake.files[i].path == NULL)
        return DX_OK;
    if (asprintf(&full, "%s/%s%s", c->v->root, c->v->entry.parquet_root, c->lake.files[i].path) < 0)
        return dx_no_memory(err, "verify");
    rc = dx_file_size(full, &c->found[i].size, &why);
    free(full);
    c->found[i].there = rc == DX_OK;
    if (rc < 0 && !dx_verify_is_damage(c->w, rc)) {
        *err = why;
        return rc;
    }
    if (rc < 0)
        note(&c->found[i], why.text);
    return DX_OK;
}

/* Of files that no listing had, for it may be short, one byte is requested, with size and ETag as
 * demanded. */
static int look_by_range(void *ctx, size_t i, struct dx_error *err)
{
    struct lake_check *c = ctx;
    const struct dx_index_file *f = &c->lake.files[i];
    struct dx_pin pin = { f->size, f->etag == NULL || f->etag[0] == '\0' ? NULL : f->etag };
    struct dx_error why = DX_ERROR_INIT;
    char object[DX_OBJECT_NAME_MAX + 1];
    uint8_t byte;
    struct dx_read read = { object, 0, 1, &byte };
    struct dx_source_batch batch = { .reads = &read, .pins = &pin, .count = 1 };
    int rc;

    if (f->path == NULL || c->found[i].there)
        return DX_OK;
    (void)snprintf(object, sizeof object, "%s%s", c->v->entry.parquet_root, f->path);
    rc = dx_source_read_batch(c->w->root.source, &batch, &why);
    if (rc == DX_E_NOT_FOUND)
        return DX_OK;
    if (rc < 0 && !dx_verify_is_damage(c->w, rc)) {
        *err = why;
        return rc;
    }
    if (rc < 0)
        note(&c->found[i], why.text);
    c->found[i].there = true;
    c->found[i].size = f->size;
    return DX_OK;
}

static int by_path(const void *key, const void *element)
{
    return strcmp(key, (*(const struct dx_index_file *const *)element)->path);
}

static int see_listed(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct lake_check *c = ctx;
    const char *path = listed->object + strlen(c->v->entry.parquet_root);
    const struct dx_index_file **at = bsearch(path, c->by_path, c->by_path_count,
                                              sizeof *c->by_path, by_path);

    (void)err;
    if (at == NULL)
        return DX_OK; /* not of this version */
    const struct dx_index_file *f = *at;
    struct found *found = &c->found[f - c->lake.files];

    found->there = true;
    found->size = listed->size;
    if (f->etag[0] != '\0' && listed->etag[0] != '\0' && strcmp(f->etag, listed->etag) != 0)
        (void)snprintf(found->wrong, sizeof found->wrong,
                       "%.200s: was replaced: its ETag is %.60s, the index was made from %.60s",
                       listed->object, listed->etag, f->etag);
    return DX_OK;
}

static int look(struct lake_check *c, struct dx_error *err)
{
    if (c->w->root.in_place)
        return dx_parallel(1, c->lake.file_count, look_in_folder, c, err);
    if (c->w->root.store != NULL) {
        int rc = dx_store_list(c->w->root.store, c->v->entry.parquet_root, see_listed, c, err);

        if (rc < 0)
            return rc;
    }
    return dx_parallel(THREADS, c->lake.file_count, look_by_range, c, err);
}

/* Missing, short and replaced ones are said. */
static int list_files(struct lake_check *c, bool *all_there, struct dx_error *err)
{
    int rc;

    *all_there = true;
    rc = take_files(c, all_there, err);
    if (rc == DX_OK)
        rc = look(c, err);
    for (size_t i = 0; rc == DX_OK && i < c->lake.file_count; i++) {
        const struct dx_index_file *f = &c->lake.files[i];
        const struct found *found = &c->found[i];
        bool sound = found->there && found->size == f->size && found->wrong[0] == '\0';

        if (f->path == NULL)
            continue;
        if (found->wrong[0] != '\0')
            dx_verify_found(c->w, "%s", found->wrong);
        else if (!found->there)
            dx_verify_found(c->w, "%s/%s%s: is not there", c->v->root, c->v->entry.parquet_root,
                            f->path);
        else if (!sound)
            dx_verify_found(c->w, "%s/%s%s: %llu bytes, the index says %llu", c->v->root,
                            c->v->entry.parquet_root, f->path, (unsigned long long)found->size,
                            (unsigned long long)f->size);
        *all_there = *all_there && sound;
    }
    return rc;
}

/* Moves to the domain of the pair; all datasets of the one before must have come. */
static int to_domain(struct lake_check *c, const struct dx_index_pair *pair, struct dx_error *why)
{
    uint8_t text[DX_SURT_MAX];
    struct dx_span domain = dx_index_pair_domain(pair, text);
    struct dx_version_walk *w = &c->walk;
    struct dx_dataset_set set;
    int rc = DX_OK;

    if (c->begun) {
        if (dx_span_equal(w->key, pair->surt))
            return DX_OK;
        rc = dx_membership_get(&w->part->membership, w->ordinal, &set, why);
        if (rc < 0)
            return rc;
        if (dx_dataset_set_count(&set) != c->rank)
            return dx_fail(why, DX_E_CORRUPT,
                           "domain %llu: the lake has it in %u datasets, its set "
                           "in %u",
                           (unsigned long long)w->ordinal, (unsigned)c->rank,
                           (unsigned)dx_dataset_set_count(&set));
    }
    rc = dx_version_walk_next(w, why);
    if (rc < 0)
        return rc;
    if (rc == 0 || !dx_span_equal(w->key, pair->surt))
        return dx_fail(why, DX_E_CORRUPT,
                       "%.*s is in the lake, but not behind domain %llu of the "
                       "dictionary",
                       (int)domain.size, (const char *)domain.data,
                       (unsigned long long)(rc == 0 ? c->v->entry.domains : w->ordinal));
    c->begun = true;
    c->rank = 0;
    rc = dx_mphf_domain_id(&w->part->mphf, w->ordinal, domain, &c->domain_id, why);
    return rc < 0 ? rc : DX_OK;
}

static size_t part_of(const struct lake_check *c)
{
    size_t i = 0;

    assert(c->begun); /* the walk is in a part */
    while (c->v->parts[i].part != c->walk.part)
        i++;
    return i;
}

/* Facts and sketch depend on the rows alone, to the byte. */
static int check_tallies(struct lake_check *c, const struct dx_index_pair *pair,
                         struct dx_error *why)
{
    uint8_t text[DX_SURT_MAX];
    struct dx_span domain = dx_index_pair_domain(pair, text);
    struct dx_span fresh = pair->facts;
    struct dx_span facts;
    struct dx_span sketch;
    uint64_t ordinal = c->walk.ordinal;
    size_t part = part_of(c);
    int rc = dx_verify_pairs_take(&c->facts[part], ordinal, pair->dataset_id, &facts, why);

    if (rc == DX_OK)
        rc = dx_verify_pairs_take(&c->sketches[part], ordinal, pair->dataset_id, &sketch, why);
    if (rc == DX_OK)
        rc = dx_url_sketch_recode(dx_cold_version(&c->v->parts[part].part->cold), &sketch,
                                  &c->sketch, why);
    if (rc == DX_OK && fresh.size == 0) {
        rc = dx_blob_spill_get(c->lake.facts, &pair->aside, &c->aside, why);
        fresh = dx_span_of(c->aside.data, c->aside.size);
    }
    if (rc != DX_OK)
        return rc;
    if (!dx_span_equal(fresh, facts))
        dx_verify_found(c->w,
                        DX_FILE_FACTS ": %.*s in dataset %u: other hosts or paths than the lake "
                                      "has, or other counts of them",
                        (int)domain.size, (const char *)domain.data, (unsigned)pair->dataset_id);
    if (!dx_span_equal(pair->sketch, sketch))
        dx_verify_found(c->w,
                        DX_FILE_SKETCHES ": %.*s in dataset %u: not the sketch of its URLs in the "
                                         "lake",
                        (int)domain.size, (const char *)domain.data, (unsigned)pair->dataset_id);
    return DX_OK;
}

static int check_pair(struct lake_check *c, const struct dx_index_pair *pair, struct dx_error *why)
{
    uint8_t text[DX_SURT_MAX];
    struct dx_span domain = dx_index_pair_domain(pair, text);
    struct dx_pair_count count;
    struct dx_dataset_set set;
    uint32_t rank;
    int rc = to_domain(c, pair, why);

    if (rc == DX_OK)
        rc = dx_membership_get(&c->walk.part->membership, c->walk.ordinal, &set, why);
    if (rc < 0)
        return rc;
    if (dx_dataset_set_rank(&set, pair->dataset_id, &rank) != 1 || rank != c->rank)
        return dx_fail(why, DX_E_CORRUPT, "%.*s is in dataset %u by the lake, but not by its set",
                       (int)domain.size, (const char *)domain.data, (unsigned)pair->dataset_id);
    c->rank++;
    rc = dx_counts_one(&c->walk.part->counts, c->walk.ordinal, rank, &count, why);
    if (rc < 0)
        return rc;
    if (count.url_count != pair->count.url_count || count.row_count != pair->count.row_count ||
        count.has_ts != pair->count.has_ts ||
        (count.has_ts &&
         (count.first_us != pair->count.first_us || count.last_us != pair->count.last_us)))
        dx_verify_found(c->w,
                        "%.*s in dataset %u: the lake has %llu URLs in %llu rows, the counts "
                        "say %llu in %llu, or other times",
                        (int)domain.size, (const char *)domain.data, (unsigned)pair->dataset_id,
                        (unsigned long long)pair->count.url_count,
                        (unsigned long long)pair->count.row_count,
                        (unsigned long long)count.url_count, (unsigned long long)count.row_count);
    rc = check_tallies(c, pair, why);
    if (rc < 0)
        return rc;
    dx_buf_clear(&c->runs);
    dx_buf_clear(&c->payload);
    rc = dx_index_pair_runs(pair->runs, &c->runs, why);
    if (rc == DX_OK)
        rc = dx_payload_encode((const struct dx_run *)(const void *)c->runs.data,
                               c->runs.size / sizeof(struct dx_run), 0, &c->payload, why);
    if (rc < 0)
        return rc;
    c->postings_sum += dx_verify_payload_sum(c->domain_id, pair->dataset_id,
                                             dx_span_of(c->payload.data, c->payload.size));
    return DX_OK;
}

static int compare_files(struct lake_check *c, struct dx_error *why)
{
    const struct dx_part *part;
    struct dx_pages_file file;

    for (size_t i = 0; i < c->lake.file_count; i++) {
        const struct dx_index_file *f = &c->lake.files[i];
        int rc = f->path == NULL ? DX_OK : dx_version_file(c->v, i, &part, &file, why);

        if (rc < 0)
            return rc;
        if (f->path == NULL)
            continue;
        if (rc == 0 || !dx_hash128_equal(&file.hash, &f->hash) || file.rows != f->rows ||
            file.row_groups != f->row_groups)
            dx_verify_found(c->w,
                            "%s: not the file that was indexed (its hash, rows or row groups "
                            "differ)",
                            f->path);
    }
    return DX_OK;
}

/* The record of each row group (page places and sums) against a new one. */
static int compare_groups(struct lake_check *c, struct dx_error *why)
{
    struct dx_span key;
    struct dx_span record;
    int rc;

    while ((rc = dx_spill_sort_next(c->lake.groups, &key, &record, why)) == 1) {
        struct dx_page_group fresh;
        struct dx_page_group kept;
        const struct dx_part *part;
        struct dx_pages_file file;
        uint32_t group;

        if (key.size != 8)
            return dx_fail(why, DX_E_CORRUPT, "verify: a record of a row group has a bad key");
        group = __builtin_bswap32(dx_load_u32(key.data + 4));
        rc = dx_version_file(c->v, __builtin_bswap32(dx_load_u32(key.data)), &part, &file, why);
        if (rc == 1)
            rc = dx_pages_group(&part->pages, &file, group, &kept, why);
        if (rc == 1)
            rc = dx_page_group_open(&fresh, record, file.size, "scan", why);
        if (rc < 0)
            return rc;
        if (fresh.rows != kept.rows || fresh.columns != kept.columns ||
            dx_bytes_left(&fresh.at) > dx_bytes_left(&kept.at) ||
            memcmp(fresh.at.at, kept.at.at, dx_bytes_left(&fresh.at)) != 0)
            dx_verify_found(c->w,
                            "%.*s: row group %u: " DX_FILE_PAGES " does not say where its "
                            "pages are",
                            (int)file.path.size, (const char *)file.path.data, (unsigned)group);
    }
    return rc < 0 ? rc : DX_OK;
}

/* Of one file; those that the index does not list are passed over. */
static int compare_strays_of(struct lake_check *c, struct dx_index_strays *scanned, uint32_t id,
                             struct dx_error *why)
{
    const struct dx_pages *p = &dx_version_part_of_file(c->v, id)->pages;
    struct dx_page_stray stray, kept;
    uint64_t first, count;
    uint64_t n = 0;
    bool same = true;
    bool more = false;
    int listed = dx_pages_strays(p, id, &first, &count, why);
    int rc = listed;

    while (rc >= 0 && (rc = dx_index_strays_next(scanned, id, &stray, why)) == 1) {
        more = dx_page_stray_is_unknown(&stray);
        same = same && (more || n < count);
        if (more || !same)
            continue;
        rc = dx_pages_stray(p, first + n++, &kept, why);
        same = kept.row_group == stray.row_group && kept.row == stray.row;
    }
    if (rc < 0)
        return rc;
    if ((listed == 1 || count > 0) && (!same || n != count || more != (listed == 0)))
        dx_verify_found(c->w, "%s: " DX_FILE_PAGES " lists other rows whose keys stray",
                        c->lake.files[id].path);
    return DX_OK;
}

static int compare_strays(struct lake_check *c, struct dx_error *why)
{
    struct dx_index_strays scanned;
    int rc = DX_OK;

    dx_index_strays_begin(&scanned, &c->lake);
    for (size_t i = 0; rc == DX_OK && i < c->lake.file_count; i++)
        if (c->lake.files[i].path != NULL)
            rc = compare_strays_of(c, &scanned, (uint32_t)i, why);
    return rc;
}

/* Dead domains of older parts are passed over. */
static int open_pairs(struct lake_check *c, struct dx_error *why)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < c->v->part_count; i++) {
        dx_verify_enter(c->w, i);
        rc = dx_verify_pairs_open(&c->facts[i], c->w, DX_COLD_FACTS, why);
        if (rc == DX_OK)
            rc = dx_verify_pairs_open(&c->sketches[i], c->w, DX_COLD_SKETCHES, why);
        c->facts[i].skip = c->sketches[i].skip = c->v->parts[i].dead != NULL;
        dx_verify_leave(c->w);
    }
    return rc;
}

static bool same_postings(const struct lake_check *c)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < c->v->part_count; i++)
        sum += c->w->parts[i].postings_sum;
    return sum == c->postings_sum;
}

static int compare_pairs(struct lake_check *c, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dx_index_pair pair;
    struct dx_span key;
    struct dx_span value;
    uint64_t pairs = 0;
    int rc;

    dx_verify_phase(c->w, "comparing the index with the lake");
    dx_version_walk_begin(&c->walk, c->v, 0);
    rc = open_pairs(c, &why);
    while (rc >= 0 && (rc = dx_spill_sort_next(c->lake.pairs, &key, &value, &why)) == 1) {
        rc = dx_index_pair_decode(key, value, &pair, &why);
        if (rc == DX_OK)
            rc = check_pair(c, &pair, &why);
        if (rc < 0)
            break;
        pairs++;
    }
    if (rc == 0 && pairs != c->v->entry.pairs)
        rc = dx_fail(&why, DX_E_CORRUPT,
                     "the lake has %llu (domain, dataset) pairs, the index %llu",
                     (unsigned long long)pairs, (unsigned long long)c->v->entry.pairs);
    dx_version_walk_end(&c->walk);
    if (rc == 0)
        rc = compare_files(c, &why);
    if (rc == 0)
        rc = compare_groups(c, &why);
    if (rc == 0)
        rc = compare_strays(c, &why);
    if (rc == 0)
        rc = dx_verify_url_places(c->w, &c->lake, &why);
    if (rc == 0)
        rc = dx_verify_tags_lake(c->w, &c->lake, &why);
    if (rc < 0)
        return dx_verify_damage(c->w, &why, err);
    if (!same_postings(c))
        dx_verify_found(c->w, "postings do not name the rows that the lake has");
    return DX_OK;
}

static uint64_t size_of(const struct lake_check *c)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < c->lake.file_count; i++)
        bytes += c->lake.files[i].size;
    return bytes;
}

/* Where the scan finds the files: in the root, or in the work folder when they were fetched. */
static int place_of(const struct lake_check *c, char **root, uint64_t *disk_bytes,
                    struct dx_error *err)
{
    struct statvfs st;
    int n = c->w->root.in_place ? asprintf(root, "%s/%s", c->v->root, c->v->entry.parquet_root)
                                : asprintf(root, "%s/lake", c->w->folder.path);

    if (n < 0) {
        *root = NULL;
        return dx_no_memory(err, "verify");
    }
    if (!c->w->root.in_place && statvfs(c->w->folder.path, &st) < 0)
        return dx_fail_errno(err, errno, "%s: cannot ask for free space", c->w->folder.path);
    if (!c->w->root.in_place)
        *disk_bytes = (uint64_t)st.f_bavail * st.f_frsize / 10 * 9; /* the rest: for the sort */
    return DX_OK;
}

static int scan_files(struct lake_check *c, struct dx_error *err)
{
    struct dx_verify_progress *progress = c->w->options->progress;
    struct dx_lake_fetch b = { .source = c->w->root.source,
                               .lake = &c->lake,
                               .parquet_root = c->v->entry.parquet_root,
                               .bytes = progress == NULL ? NULL : &progress->bytes };
    struct dx_index_fetch fetch = { &b, 0, dx_lake_fetch_file, dx_lake_fetch_drop };
    const struct dx_index_scan_options options = { .tmp_dir = c->w->options->tmp_dir,
                                                   .memory = c->w->options->memory,
                                                   .psl = c->v->psl,
                                                   .skip_rows = c->v->entry.rows_left_out > 0,
                                                   .threads = c->w->options->threads,
                                                   .fetch = c->w->root.in_place ? NULL : &fetch,
                                                   .find_twice = true,
                                                   .rows_done = progress == NULL
                                                                    ? NULL
                                                                    : &progress->items };
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    struct dx_error why = DX_ERROR_INIT;
    char *root = NULL;
    int rc = dx_registry_write(&c->v->registry, &text, &why);

    if (rc == DX_OK)
        rc = dx_registry_parse(&c->registry, dx_span_of(text.data, text.size), DX_FILE_DATASETS,
                               &why);
    dx_buf_release(&text);
    if (rc == DX_OK)
        rc = place_of(c, &root, &fetch.disk_bytes, &why);
    if (rc == DX_OK) {
        dx_verify_phase_of(c->w, "reading all rows of the lake",
                           c->w->root.in_place ? 0 : size_of(c));
        c->lake.root = root;
        c->lake.registry = &c->registry;
        rc = dx_index_scan(&c->lake, &options, &why);
    }
    c->w->result->rows_twice = rc == DX_OK ? c->lake.rows_twice : 0;
    if (c->w->result->rows_twice > 0)
        dx_verify_found(c->w,
                        "the lake files have %llu row%s twice, listed and counted twice; "
                        "first: %s (`domaindex compact` merges small files; of large ones, ingest "
                        "the dataset again with --replace)",
                        (unsigned long long)c->lake.rows_twice, dx_plural(c->lake.rows_twice),
                        c->lake.twice);
    if (rc == DX_OK) {
        rc = compare_pairs(c, err);
        dx_index_lake_release(&c->lake);
    } else {
        rc = dx_verify_damage(c->w, &why, err);
    }
    free(root);
    return rc;
}

int dx_verify_lake(struct dx_verify *w, struct dx_error *err)
{
    struct lake_check c = { .w = w, .v = w->version, .registry = DX_REGISTRY_INIT };
    uint64_t before = w->result->damages;
    bool all_there = false;
    int rc;

    dx_verify_phase(w, "looking for the files of the lake");
    dx_buf_init(&c.runs, SIZE_MAX / 4);
    dx_buf_init(&c.payload, DX_PAYLOAD_MAX);
    dx_buf_init(&c.aside, DX_FACTS_BYTES_MAX);
    dx_buf_init(&c.sketch, DX_FACTS_BYTES_MAX);
    rc = list_files(&c, &all_there, err);
    /* Against an index that contradicts itself a comparison says nothing new. */
    if (rc == DX_OK && w->options->deep && all_there && before == 0)
        rc = scan_files(&c, err);
    for (size_t i = 0; c.lake.files != NULL && i < c.lake.file_count; i++) {
        free(c.lake.files[i].path);
        free(c.lake.files[i].prefix);
        free(c.lake.files[i].etag);
    }
    free(c.lake.files);
    free(c.by_path);
    free(c.found);
    dx_registry_release(&c.registry);
    for (size_t i = 0; i < DX_PARTS_MAX; i++) {
        dx_verify_pairs_close(&c.facts[i]);
        dx_verify_pairs_close(&c.sketches[i]);
    }
    dx_buf_release(&c.aside);
    dx_buf_release(&c.sketch);
    dx_buf_release(&c.runs);
    dx_buf_release(&c.payload);
    return rc;
}
