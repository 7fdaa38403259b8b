/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/version_pair.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "builder/scan/known_file.h"
#include "builder/scan/part_postings.h"
#include "cache/page_cache.h"
#include "loader/version_parts.h"

#define RUNS_BYTES_MAX (512u << 20)
#define FILES_MIN 8
#define LOOKUP_MAPS (256u << 10)              /* of each part, at most */
#define LOOKUPS_MIN 64                        /* before pages are dropped */
#define LOOKUPS_SHARE 32                      /* of those so far: a small scan maps little */
#define KIND_BOTH DX_KIND('P', 'B', 'O', 'T') /* idx and dat of a page, one behind the other */

struct dx_version_pair_slot {
    struct dx_known_file file;
    uint32_t file_id;
    bool open;
    uint64_t find; /* that used it last */
};

int dx_version_pair_new(struct dx_version_pair **out, struct dx_version *base,
                        struct dx_page_cache *cache, size_t memory_bytes, struct dx_error *err)
{
    struct dx_version_pair *k = calloc(1, sizeof *k);

    assert(base->part_count > 0);
    *out = NULL;
    if (k == NULL)
        return dx_no_memory(err, "pairs of the version before");
    dx_buf_init(&k->runs, RUNS_BYTES_MAX);
    k->base = base;
    k->cache = cache;
    k->mapped_max = memory_bytes / (LOOKUP_MAPS * base->part_count);
    k->slot_max = memory_bytes / DX_KNOWN_FILE_BYTES;
    if (k->slot_max < FILES_MIN)
        k->slot_max = FILES_MIN;
    *out = k;
    return DX_OK;
}

void dx_version_pair_free(struct dx_version_pair **known)
{
    struct dx_version_pair *k = *known;

    if (k == NULL)
        return;
    for (size_t i = 0; i < k->slot_count; i++)
        dx_known_file_close(&k->slots[i].file);
    free(k->slots);
    free(k->cursors);
    dx_buf_release(&k->runs);
    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        dx_part_postings_close(&k->postings[i]);
    free(k);
    *known = NULL;
}

/* ---- the pair ---- */

/* Both frames of the page, plain, as one block. */
static int load_page(struct dx_version_pair *k, const struct dx_postings_page *page,
                     const struct dx_cache_key *key, struct dx_cached **block, struct dx_error *err)
{
    size_t size = (size_t)page->idx_plain + page->dat_plain;
    struct dx_part_postings *b = &k->postings[k->part];
    uint8_t *bytes;
    int rc = b->part != NULL ? DX_OK : dx_part_postings_open(b, k->base->parts[k->part].part, err);

    if (rc == DX_OK)
        rc = dx_part_postings_load(b, page->number, err);
    if (rc != DX_OK)
        return rc;
    bytes = malloc(size);
    if (bytes == NULL)
        return dx_no_memory(err, "pairs of the version before");
    memcpy(bytes, b->plain[DX_PART_IDX], page->idx_plain);
    memcpy(bytes + page->idx_plain, b->plain[DX_PART_DAT], page->dat_plain);
    *block = dx_page_cache_add(k->cache, key, bytes, size);
    return *block == NULL ? dx_no_memory(err, "pairs of the version before") : DX_OK;
}

static int take_runs(struct dx_version_pair *k, const struct dx_postings_page *page,
                     struct dx_span block, struct dx_pair_place place, uint32_t dataset_id,
                     struct dx_error *err)
{
    struct dx_span idx = dx_span_of(block.data, page->idx_plain);
    struct dx_span dat = dx_span_of(block.data + page->idx_plain, page->dat_plain);
    struct dx_posting posting;
    struct dx_payload payload;
    struct dx_span bytes;
    struct dx_run run;
    int rc = dx_postings_entry_find(page, idx, place, &posting, err);

    if (rc <= 0)
        return rc;
    rc = dx_postings_payload(page, dat, &posting, &bytes, err);
    if (rc == DX_OK)
        rc = dx_postings_list(&k->base->parts[k->part].part->postings, place.domain, dataset_id,
                              bytes, dx_version_name(k->base), &payload, err);
    if (rc == DX_OK && !dx_registry_of_counts(&k->base->registry, dataset_id) &&
        payload.rows != k->count.row_count)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "version %s: a posting of %llu rows, the counts say %llu: `domaindex verify` "
                     "tells more",
                     dx_version_name(k->base), (unsigned long long)payload.rows,
                     (unsigned long long)k->count.row_count);
    while (rc == DX_OK && dx_payload_next(&payload, &run) == 1)
        dx_buf_append(&k->runs, &run, sizeof run);
    if (rc == DX_OK && k->runs.failed)
        rc = dx_buf_fail(&k->runs, err, "runs of a pair");
    return rc == DX_OK ? 1 : rc;
}

static int find_runs(struct dx_version_pair *k, struct dx_pair_place place, uint32_t dataset_id,
                     struct dx_error *err)
{
    struct dx_cache_key key = { .kind = KIND_BOTH };
    struct dx_postings_page page;
    struct dx_cached *block;
    int rc = dx_postings_page_find(&k->base->parts[k->part].part->postings, place, &page, err);

    if (rc <= 0)
        return rc;
    memcpy(key.object, page.build.bytes, sizeof key.object);
    key.part = page.number;
    block = dx_page_cache_get(k->cache, &key);
    rc = block != NULL ? DX_OK : load_page(k, &page, &key, &block, err);
    if (rc < 0)
        return rc;
    rc = take_runs(k, &page, block->bytes, place, dataset_id, err);
    dx_page_cache_put(k->cache, &block);
    return rc;
}

/* What is dropped and asked for again is mapped again, page by page: that would be most of the time of a large scan. */
static void count_lookup(struct dx_version_pair *k)
{
    uint64_t every = k->lookups / LOOKUPS_SHARE;

    if (every > k->mapped_max)
        every = k->mapped_max;
    if (every < LOOKUPS_MIN)
        every = LOOKUPS_MIN;
    k->lookups++;
    if (++k->mapped < every)
        return;
    k->mapped = 0;
    for (size_t i = 0; i < k->base->part_count; i++)
        dx_part_drop_pages(k->base->parts[i].part);
}

/* 1 and k->count, 0. */
static int find_count(struct dx_version_pair *k, uint32_t dataset_id, struct dx_pair_place *place,
                      struct dx_error *err)
{
    struct dx_dataset_set set;
    const struct dx_part *part;
    uint64_t domain_id;
    uint64_t ordinal;
    uint32_t rank;
    int rc = dx_version_find(k->base, k->domain, &part, &ordinal, &domain_id, err);

    count_lookup(k);
    if (rc == 1) {
        k->part = dx_version_part_at(k->base, dx_version_number(k->base, part, ordinal));
        rc = dx_membership_get(&part->membership, ordinal, &set, err);
    }
    if (rc == 1)
        rc = dx_dataset_set_rank(&set, dataset_id, &rank);
    if (rc == 1) {
        *place = (struct dx_pair_place){ ordinal, rank };
        rc = dx_counts_one(&part->counts, ordinal, rank, &k->count, err);
        rc = rc < 0 ? rc : 1;
    }
    return rc;
}

/* ---- files ---- */

/* A slot that is free, or whose file this pair does not need. */
static int free_slot(struct dx_version_pair *k, size_t *at, struct dx_error *err)
{
    size_t oldest = 0;

    if (k->slot_count < k->slot_max) {
        struct dx_version_pair_slot *more = realloc(k->slots, (k->slot_count + 1) * sizeof *more);

        if (more == NULL)
            return dx_no_memory(err, "pairs of the version before");
        k->slots = more;
        *at = k->slot_count++;
        k->slots[*at] = (struct dx_version_pair_slot){ .file = DX_KNOWN_FILE_INIT };
        return DX_OK;
    }
    for (size_t i = 1; i < k->slot_count; i++)
        if (k->slots[i].find < k->slots[oldest].find)
            oldest = i;
    if (k->slots[oldest].find == k->find)
        return dx_fail(err, DX_E_LIMIT,
                       "%.*s: its rows in over %zu files that are known must be compared with new "
                       "ones: raise --memory, or compact the lake",
                       (int)k->domain.size, (const char *)k->domain.data, k->slot_max);
    dx_known_file_close(&k->slots[oldest].file);
    k->slots[oldest].open = false;
    *at = oldest;
    return DX_OK;
}

static int open_file(struct dx_version_pair *k, uint32_t file_id, size_t *at, struct dx_error *err)
{
    struct dx_version_pair_slot *slot;
    int rc;

    for (size_t i = 0; i < k->slot_count; i++)
        if (k->slots[i].open && k->slots[i].file_id == file_id) {
            k->slots[i].find = k->find;
            *at = i;
            return DX_OK;
        }
    rc = free_slot(k, at, err);
    if (rc != DX_OK)
        return rc;
    slot = &k->slots[*at];
    slot->file_id = file_id;
    slot->find = k->find;
    rc = dx_known_file_open(&slot->file, k->base, file_id, err);
    slot->open = rc == DX_OK;
    if (rc != DX_OK)
        dx_known_file_close(&slot->file);
    return rc;
}

static int add_cursor(struct dx_version_pair *k, size_t first, size_t end, uint32_t file_id,
                      struct dx_error *err)
{
    struct dx_version_pair_cursor *c;
    int rc;

    assert(first < end);
    c = dx_array_room(k->cursors, k->cursor_count, &k->cursor_capacity, sizeof *c);
    if (c == NULL)
        return dx_no_memory(err, "pairs of the version before");
    k->cursors = c;
    c = &k->cursors[k->cursor_count++];
    *c = (struct dx_version_pair_cursor){ .run = first, .end = end };
    rc = open_file(k, file_id, &c->slot, err);
    c->row.domain = k->domain;
    return rc;
}

static const struct dx_run *runs_of(const struct dx_version_pair *k, size_t *count)
{
    *count = k->runs.size / sizeof(struct dx_run);
    return (const struct dx_run *)(const void *)k->runs.data;
}

static int open_files(struct dx_version_pair *k, struct dx_error *err)
{
    size_t count;
    const struct dx_run *runs = runs_of(k, &count);
    int rc = DX_OK;

    for (size_t first = 0, end; rc == DX_OK && first < count; first = end) {
        for (end = first + 1; end < count && runs[end].file_id == runs[first].file_id;)
            end++;
        rc = add_cursor(k, first, end, runs[first].file_id, err);
    }
    return rc;
}

int dx_version_pair_find(struct dx_version_pair *k, struct dx_span domain, uint32_t dataset_id,
                         struct dx_error *err)
{
    struct dx_pair_place place;
    int rc;

    k->find++;
    k->domain = domain;
    k->cursor_count = 0;
    dx_buf_clear(&k->runs);
    rc = find_count(k, dataset_id, &place, err);
    if (rc <= 0)
        return rc;
    rc = find_runs(k, place, dataset_id, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "version %s: %.*s is in dataset %u, but has no posting there: `domaindex "
                     "verify` tells more",
                     dx_version_name(k->base), (int)domain.size, (const char *)domain.data,
                     (unsigned)dataset_id);
    if (rc == 1)
        rc = open_files(k, err);
    return rc < 0 ? rc : 1;
}

int dx_version_pair_next(struct dx_version_pair *k, size_t cursor, struct dx_error *err)
{
    struct dx_version_pair_cursor *c = &k->cursors[cursor];
    const struct dx_run *run;
    size_t count;
    int rc;

    assert(cursor < k->cursor_count);
    if (c->run == c->end)
        return 0;
    run = &runs_of(k, &count)[c->run];
    rc = dx_known_file_row(&k->slots[c->slot].file, run->row_group, run->first_row + c->row_in_run,
                           &c->row, err);
    if (rc != DX_OK)
        return rc;
    if (++c->row_in_run == run->row_count) {
        c->row_in_run = 0;
        c->run++;
    }
    return 1;
}
