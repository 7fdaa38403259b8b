/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_base.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder/lake/lake_files.h"
#include "builder/scan/index_lake.h"
#include "builder/scan/parts_policy.h"
#include "builder/sort/spill_sort.h"
#include "canon/url.h"
#include "format/version/tag_list.h"
#include "loader/objects.h"
#include "loader/version_parts.h"

#include <roaring/roaring.h>

struct path_key {
    struct dx_span path;
};

static int compare_key(const void *key, const void *element)
{
    const struct path_key *k = key;

    return dx_span_compare(k->path, dx_span_str(((const struct dx_index_file *)element)->path));
}

/* ---- what became of each dataset ---- */

static int compare_ids(const void *key, const void *element)
{
    uint32_t id = *(const uint32_t *)key;
    uint32_t other = ((const struct dx_index_dataset *)element)->dataset_id;

    return id < other ? -1 : id > other;
}

static int compare_datasets(const void *a, const void *b)
{
    return compare_ids(&((const struct dx_index_dataset *)a)->dataset_id, b);
}

static const struct dx_index_dataset *find_dataset(const struct dx_index_lake *lake,
                                                   uint32_t dataset_id)
{
    return lake->change_count == 0 ? NULL
                                   : bsearch(&dataset_id, lake->changes, lake->change_count,
                                             sizeof *lake->changes, compare_ids);
}

enum dx_index_change dx_index_change_of(const struct dx_index_lake *lake, uint32_t dataset_id)
{
    const struct dx_index_dataset *d = find_dataset(lake, dataset_id);

    return d == NULL ? DX_INDEX_NEW : d->change;
}

bool dx_index_stays(const struct dx_index_lake *lake, size_t i)
{
    enum dx_index_change change;

    assert(i < lake->file_count);
    if (!lake->files[i].known)
        return false;
    change = dx_index_change_of(lake, lake->files[i].dataset_id);
    return change == DX_INDEX_SAME || change == DX_INDEX_GROWN;
}

bool dx_index_is_known(const struct dx_index_lake *lake, size_t i)
{
    assert(i < lake->file_count);
    return lake->files[i].path != NULL && lake->files[i].known;
}

/* One record a file, then those of a dataset put together. */
static void sum_up(struct dx_index_lake *lake)
{
    struct dx_index_dataset *to = lake->changes;
    size_t count = 0;

    qsort(to, lake->change_count, sizeof *to, compare_datasets);
    for (size_t i = 0; i < lake->change_count; i++) {
        if (count == 0 || to[count - 1].dataset_id != to[i].dataset_id) {
            to[count++] = to[i];
            continue;
        }
        to[count - 1].known += to[i].known;
        to[count - 1].fresh += to[i].fresh;
        to[count - 1].lost += to[i].lost;
    }
    lake->change_count = count;
    for (size_t i = 0; i < count; i++) {
        if (to[i].known + to[i].lost == 0)
            to[i].change = DX_INDEX_NEW;
        else if (to[i].known + to[i].fresh == 0)
            to[i].change = DX_INDEX_GONE;
        else if (to[i].lost > 0 || (to[i].fresh > 0 && lake->rescan_grown))
            to[i].change = DX_INDEX_REDONE;
        else
            to[i].change = to[i].fresh > 0 ? DX_INDEX_GROWN : DX_INDEX_SAME;
    }
}

/* ---- numbers ---- */

struct rebase {
    struct dx_index_lake *lake;
    struct dx_version *base;
    bool *taken;                 /* parallel to lake->files */
    struct dx_index_file *files; /* by file_id, in the making */
    size_t file_count;
    struct dx_index_dataset *changes; /* one a file at first */
    size_t change_count;
};

static int check_same(const struct rebase *r, const struct dx_part *part,
                      const struct dx_index_file *now, const struct dx_pages_file *then,
                      struct dx_error *err)
{
    const struct dx_object object = { DX_OBJECT_LAKE, then->file_id };
    const char *etag = dx_objects_pin(part->objects, object, then->size).etag;
    bool other_etag = etag != NULL && now->etag != NULL && now->etag[0] != '\0' &&
                      strcmp(etag, now->etag) != 0;

    if (now->frozen)
        return DX_OK;
    if (now->dataset_id == then->dataset_id && now->size == then->size && !other_etag)
        return DX_OK;
    r->lake->replaced = now;
    if (other_etag)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: replaced in place, or restored: it has other ETags than in version %s",
                       now->path, dx_version_name(r->base));
    return dx_fail(err, DX_E_CORRUPT, "%s: replaced in place: %llu bytes, and %llu in version %s",
                   now->path, (unsigned long long)now->size, (unsigned long long)then->size,
                   dx_version_name(r->base));
}

/* The version says size and ETag of a file whose dataset stays, whatever is there now: it is read again when it is
 * restored. */
static int take_as_then(const struct dx_part *part, const struct dx_pages_file *then,
                        struct dx_index_file *file, struct dx_error *err)
{
    const struct dx_object object = { DX_OBJECT_LAKE, then->file_id };
    const char *etag = dx_objects_pin(part->objects, object, then->size).etag;
    char *copy = strdup(etag == NULL ? "" : etag);

    if (copy == NULL)
        return dx_no_memory(err, "%s", file->path);
    free(file->etag);
    file->etag = copy;
    file->size = then->size;
    return DX_OK;
}

static int take_known(struct rebase *r, uint32_t file_id, struct dx_error *err)
{
    struct dx_index_dataset *change = &r->changes[r->change_count];
    struct dx_index_file *to = &r->files[file_id];
    struct dx_index_file *from;
    struct dx_pages_file file;
    const struct dx_part *part;
    struct path_key key;
    int rc = dx_version_file(r->base, file_id, &part, &file, err);

    if (rc <= 0)
        return rc; /* a hole stays one */
    *change = (struct dx_index_dataset){ .dataset_id = file.dataset_id };
    r->change_count++;
    key.path = file.path;
    from = r->lake->file_count == 0
               ? NULL
               : bsearch(&key, r->lake->files, r->lake->file_count, sizeof *from, compare_key);
    if (from == NULL) {
        change->lost = 1;
        return DX_OK;
    }
    change->known = 1;
    r->taken[from - r->lake->files] = true;
    rc = from->frozen ? take_as_then(part, &file, from, err) : DX_OK;
    if (rc < 0)
        return rc;
    *to = *from;
    to->known = true;
    to->hash = file.hash;
    to->rows = file.rows;
    to->row_groups = file.row_groups;
    rc = dx_pages_has_column(&part->pages, &file, DX_TAGS_COLUMN, err);
    to->tagged = rc == 1;
    return rc < 0 ? rc : check_same(r, part, from, &file, err);
}

static void take_fresh(struct rebase *r)
{
    for (size_t i = 0; i < r->lake->file_count; i++) {
        const struct dx_index_file *from = &r->lake->files[i];

        if (r->taken[i])
            continue;
        r->files[r->file_count++] = *from;
        r->changes[r->change_count++] = (struct dx_index_dataset){ .dataset_id = from->dataset_id,
                                                                   .fresh = 1 };
    }
}

static int renumber(struct rebase *r, struct dx_error *err)
{
    size_t most = (size_t)r->base->entry.file_ids + r->lake->file_count;
    int rc = DX_OK;

    r->taken = calloc(r->lake->file_count + 1, sizeof *r->taken);
    r->files = calloc(most + 1, sizeof *r->files);
    r->changes = calloc(most + 1, sizeof *r->changes);
    if (r->taken == NULL || r->files == NULL || r->changes == NULL)
        return dx_no_memory(err, "lake: %zu files", most);
    for (uint64_t i = 0; rc >= 0 && i < r->base->entry.file_ids; i++)
        rc = take_known(r, (uint32_t)i, err);
    r->file_count = (size_t)r->base->entry.file_ids;
    if (rc >= 0)
        take_fresh(r);
    return rc < 0 ? rc : DX_OK;
}

static bool say_cannot(const struct dx_index_lake *lake, const struct dx_version *base,
                       char why[DX_INDEX_WHY])
{
    size_t collisions = 0;

    for (size_t i = 0; i < base->part_count; i++)
        collisions += base->parts[i].part->mphf.collision_count;
    why[0] = '\0';
    if (base->entry.canon_version != DX_CANON_VERSION)
        (void)snprintf(why, DX_INDEX_WHY, "version %s has canonical form %u, and now it is %d",
                       dx_version_name(base), (unsigned)base->entry.canon_version,
                       DX_CANON_VERSION);
    else if (collisions > 0)
        (void)snprintf(why, DX_INDEX_WHY, "version %s has %zu domains that share a hash",
                       dx_version_name(base), collisions);
    else if (base->entry.file_ids + lake->file_count > UINT32_MAX)
        (void)snprintf(why, DX_INDEX_WHY, "the numbers of files of version %s are used up",
                       dx_version_name(base));
    else if (base->numbers >= UINT32_MAX)
        (void)snprintf(why, DX_INDEX_WHY, "the parts of version %s have %llu domains together",
                       dx_version_name(base), (unsigned long long)base->numbers);
    for (size_t i = 0; i < base->part_count && why[0] == '\0'; i++)
        if (dx_cold_is_old(
                &base->parts[i].part->cold)) /* and its postings have an order of their own */
            (void)snprintf(why, DX_INDEX_WHY, "version %s has postings of an older layout",
                           base->parts[i].part->entry.version);
    return why[0] != '\0';
}

int dx_index_rebase(struct dx_index_lake *lake, struct dx_version *base, char why[DX_INDEX_WHY],
                    struct dx_error *err)
{
    struct rebase r = { .lake = lake, .base = base };
    int rc;

    assert(lake->pairs == NULL); /* it was not scanned */
    lake->replaced = NULL;
    if (say_cannot(lake, base, why))
        return 0;
    rc = renumber(&r, err);
    if (rc == DX_OK) {
        free(lake->files);
        lake->files = r.files;
        lake->file_count = r.file_count;
        lake->changes = r.changes;
        lake->change_count = r.change_count;
        lake->base = base;
        sum_up(lake);
    } else {
        free(r.files);
        free(r.changes);
    }
    free(r.taken);
    return rc == DX_OK ? 1 : rc;
}

/* The live domains that parts[part] has of the dataset. */
static int add_leaving(struct dx_index_lake *lake, size_t part, uint32_t dataset_id,
                       struct dx_error *err)
{
    const struct dx_version *base = lake->base;
    const struct dx_dataset_domains *d = &base->parts[part].part->dataset_domains;
    struct dx_domain_list list;
    struct dx_domain_cursor c;
    int rc = dx_dataset_domains_of(d, dataset_id, &list, err);

    if (rc != 1)
        return rc;
    if (lake->leaving[part] == NULL && (lake->leaving[part] = roaring_bitmap_create()) == NULL)
        return dx_no_memory(err, "domains of dataset %lu", (unsigned long)dataset_id);
    dx_domain_cursor_begin(&c, d, &list);
    while ((rc = dx_domain_cursor_next(&c, err)) == 1)
        if (!dx_version_is_dead(base, part, c.ordinal))
            roaring_bitmap_add(lake->leaving[part], (uint32_t)c.ordinal);
    return rc;
}

static int find_leaving(struct dx_index_lake *lake, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < lake->change_count; i++)
        for (size_t k = 0; rc == DX_OK && k < lake->base->part_count; k++)
            if (lake->changes[i].change == DX_INDEX_GONE ||
                lake->changes[i].change == DX_INDEX_REDONE)
                rc = add_leaving(lake, k, lake->changes[i].dataset_id, err);
    return rc;
}

static void drop_leaving(struct dx_index_lake *lake, size_t first)
{
    for (size_t i = first; i < DX_PARTS_MAX; i++) {
        if (lake->leaving[i] != NULL)
            roaring_bitmap_free(lake->leaving[i]);
        lake->leaving[i] = NULL;
    }
}

/* Pairs of the domains that are taken over from a part, if these are as others there. */
static uint64_t leaving_pairs(const struct dx_index_lake *lake, size_t i)
{
    const struct dx_manifest_part *part = &lake->base->parts[i].part->entry.part;
    uint64_t domains = lake->leaving[i] == NULL ? 0
                                                : roaring_bitmap_get_cardinality(lake->leaving[i]);

    return domains == 0 ? 0
                        : (uint64_t)((double)domains * (double)part->pairs / (double)part->domains);
}

static void keep_parts(struct dx_index_lake *lake, size_t kept)
{
    const struct dx_version *base = lake->base;

    assert(kept == 0 || kept <= base->part_count);
    drop_leaving(lake, kept);
    lake->kept_parts = kept;
    lake->first_file = kept == 0                  ? 0
                       : kept == base->part_count ? base->entry.file_ids
                                                  : base->parts[kept].part->entry.part.first_file;
}

int dx_index_retain(struct dx_index_lake *lake, const struct dx_parts_policy *policy, bool merge,
                    struct dx_error *err)
{
    const struct dx_version *base = lake->base;
    uint64_t fresh = base == NULL ? 0 : dx_spill_sort_count(lake->pairs);
    size_t count = base == NULL ? 0 : base->part_count;
    uint64_t pairs[DX_PARTS_MAX];
    int rc = DX_OK;

    drop_leaving(lake, 0);
    if (count > 0)
        rc = find_leaving(lake, err);
    if (rc != DX_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        uint64_t leaving = leaving_pairs(lake, i);

        pairs[i] = base->parts[i].part->entry.part.pairs - leaving;
        fresh += leaving;
    }
    keep_parts(lake, merge && base != NULL
                         ? dx_parts_kept_of_merge(pairs, count, base->entry.pairs, policy)
                         : dx_parts_kept(pairs, count, fresh, policy));
    return DX_OK;
}
