/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/row_sort.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "builder/row_merge.h"
#include "builder/row_run.h"

#define RECORD_HEADER 8
#define CACHED 7     /* bytes of a record in one cache word */
#define INSERTION 12 /* below this many entries insertion sort is faster */

/* Records grow from the front of memory, entries from its end downwards. */
struct lane {
    uint8_t *memory;
    size_t capacity;
    size_t used;
    size_t count;
    bool sorted;
    struct dx_row_codec *codec;
    uint64_t added;
};

struct dx_row_sort {
    const char *dir;
    unsigned lane_count;
    unsigned fan_in;
    struct lane *lane;
    pthread_mutex_t lock; /* run numbers, spilled_bytes */
    uint64_t first_run;   /* runs [first_run, next_run) exist */
    uint64_t next_run;
    uint64_t spilled_bytes;
    uint64_t passes;
    struct dx_row_merge *merge;
};

int dx_row_sort_new(struct dx_row_sort **out, const struct dx_row_sort_options *options,
                    struct dx_error *err)
{
    struct dx_row_sort *s = calloc(1, sizeof *s);
    size_t share = options->memory_bytes / options->lanes / 16 * 16;
    int rc = DX_OK;

    *out = s;
    if (s == NULL)
        return dx_fail(err, DX_E_NOMEM, "sort: out of memory");
    (void)pthread_mutex_init(&s->lock, NULL);
    s->dir = options->dir;
    s->fan_in = options->fan_in < 2 ? 2 : options->fan_in;
    s->lane_count = options->lanes;
    s->lane = calloc(options->lanes, sizeof *s->lane);
    if (s->lane == NULL)
        rc = dx_fail(err, DX_E_NOMEM, "sort: out of memory");
    for (unsigned i = 0; rc == DX_OK && i < s->lane_count; i++) {
        /* Pages that are never touched are never ours: a small input costs little. */
        s->lane[i].memory = malloc(share);
        s->lane[i].capacity = share;
        if (s->lane[i].memory == NULL)
            rc = dx_fail(err, DX_E_NOMEM,
                         "sort: cannot allocate %zu bytes; give a smaller --memory", share);
        else
            rc = dx_row_codec_new(&s->lane[i].codec, err);
    }
    if (rc < 0)
        dx_row_sort_free(out);
    return rc;
}

static void run_path(const struct dx_row_sort *s, uint64_t run, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/run-%08llu", s->dir, (unsigned long long)run);
}

static void remove_runs(struct dx_row_sort *s, uint64_t from, uint64_t to)
{
    char path[PATH_MAX];

    for (uint64_t run = from; run < to; run++) {
        run_path(s, run, path);
        (void)unlink(path);
    }
}

void dx_row_sort_free(struct dx_row_sort **handle)
{
    struct dx_row_sort *s = *handle;

    if (s == NULL)
        return;
    dx_row_merge_free(&s->merge);
    remove_runs(s, s->first_run, s->next_run);
    for (unsigned i = 0; s->lane != NULL && i < s->lane_count; i++) {
        free(s->lane[i].memory);
        dx_row_codec_free(&s->lane[i].codec);
    }
    free(s->lane);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
    *handle = NULL;
}

static struct dx_row_entry *entries_of(const struct lane *lane)
{
    return (struct dx_row_entry *)(void *)(lane->memory + lane->capacity) - lane->count;
}

/* The next 7 bytes of a record from depth, and in the low byte how many there were (8:
 * more follow). Equal words with a low byte below 8 mean equal records; compared as
 * numbers, a shorter record comes before a longer one that continues it. */
static uint64_t cache_at(const uint8_t *record, size_t depth)
{
    size_t size = (size_t)dx_load_u32(record) + dx_load_u32(record + 4);
    const uint8_t *p = record + RECORD_HEADER + depth;
    size_t left = size - depth;
    uint64_t v = 0;

    if (left > CACHED) {
        for (int i = 0; i < CACHED; i++)
            v = v << 8 | p[i];
        return v << 8 | 8;
    }
    for (size_t i = 0; i < CACHED; i++)
        v = v << 8 | (i < left ? p[i] : 0);
    return v << 8 | left;
}

static int compare_from(const struct dx_row_entry *a, const struct dx_row_entry *b, size_t depth)
{
    size_t x = (size_t)dx_load_u32(a->record) + dx_load_u32(a->record + 4);
    size_t y = (size_t)dx_load_u32(b->record) + dx_load_u32(b->record + 4);

    if (a->cache != b->cache)
        return a->cache < b->cache ? -1 : 1;
    if ((a->cache & 0xff) < 8)
        return 0;
    depth += CACHED;
    return dx_span_compare(dx_span_of(a->record + RECORD_HEADER + depth, x - depth),
                           dx_span_of(b->record + RECORD_HEADER + depth, y - depth));
}

static void insertion_sort(struct dx_row_entry *e, size_t n, size_t depth)
{
    for (size_t i = 1; i < n; i++) {
        struct dx_row_entry moving = e[i];
        size_t at = i;

        for (; at > 0 && compare_from(&moving, &e[at - 1], depth) < 0; at--)
            e[at] = e[at - 1];
        e[at] = moving;
    }
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    if (a > b)
        return c > a ? a : c > b ? c : b;
    return c > b ? b : c > a ? c : a;
}

static uint64_t scramble(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void swap(struct dx_row_entry *a, struct dx_row_entry *b)
{
    struct dx_row_entry t = *a;

    *a = *b;
    *b = t;
}

/* Multikey quicksort on cached words (Bentley, Sedgewick 1997; Ng, Kakehi 2007): URLs
 * share long beginnings, which a comparison sort would compare again and again. Pivots
 * are drawn at random so that no input can make it slow on purpose. The recursion always
 * takes the smaller parts, so it is log2(n) deep. */
static void multikey_sort(struct dx_row_entry *e, size_t n, size_t depth, uint64_t *random)
{
    while (n > INSERTION) {
        uint64_t pivot = median(e[scramble(random) % n].cache, e[scramble(random) % n].cache,
                                e[scramble(random) % n].cache);
        size_t less = 0;
        size_t equal = 0;
        size_t more = n;
        size_t part_begin[3];
        size_t part_size[3];
        size_t largest = 0;

        while (equal < more) {
            if (e[equal].cache < pivot)
                swap(&e[less++], &e[equal++]);
            else if (e[equal].cache > pivot)
                swap(&e[equal], &e[--more]);
            else
                equal++;
        }
        part_begin[0] = 0;
        part_size[0] = less;
        part_begin[1] = less;
        part_size[1] = (pivot & 0xff) < 8 ? 0 : more - less; /* ended: all equal */
        part_begin[2] = more;
        part_size[2] = n - more;
        for (size_t i = 0; i < part_size[1]; i++)
            e[less + i].cache = cache_at(e[less + i].record, depth + CACHED);
        for (size_t i = 1; i < 3; i++)
            if (part_size[i] > part_size[largest])
                largest = i;
        for (size_t i = 0; i < 3; i++)
            if (i != largest)
                multikey_sort(e + part_begin[i], part_size[i], i == 1 ? depth + CACHED : depth,
                              random);
        e += part_begin[largest];
        n = part_size[largest];
        depth += largest == 1 ? CACHED : 0;
    }
    insertion_sort(e, n, depth);
}

static void sort_lane(struct lane *lane)
{
    struct dx_row_entry *e = entries_of(lane);
    uint64_t random = (uint64_t)(uintptr_t)lane->memory * 0x9E3779B97F4A7C15u | 1;

    if (lane->sorted)
        return;
    for (size_t i = 0; i < lane->count; i++)
        e[i].cache = cache_at(e[i].record, 0);
    multikey_sort(e, lane->count, 0, &random);
    lane->sorted = true;
}

static uint64_t new_run(struct dx_row_sort *s)
{
    uint64_t run;

    (void)pthread_mutex_lock(&s->lock);
    run = s->next_run++;
    (void)pthread_mutex_unlock(&s->lock);
    return run;
}

/* Writes everything a merge yields as one new run. */
static int write_run(struct dx_row_sort *s, struct dx_row_codec *codec, struct dx_row_merge *m,
                     struct dx_error *err)
{
    struct dx_row_run_writer *w = NULL;
    struct dx_span key;
    struct dx_span value;
    char path[PATH_MAX];
    uint64_t bytes = 0;
    int rc;

    run_path(s, new_run(s), path);
    rc = dx_row_run_create(&w, codec, path, err);
    while (rc >= 0 && (rc = dx_row_merge_next(m, &key, &value, err)) == 1)
        rc = dx_row_run_write(w, key, value, err);
    if (rc >= 0)
        rc = dx_row_run_finish(&w, &bytes, err);
    dx_row_run_abort(&w);
    (void)pthread_mutex_lock(&s->lock);
    s->spilled_bytes += bytes;
    (void)pthread_mutex_unlock(&s->lock);
    return rc;
}

static int spill(struct dx_row_sort *s, struct lane *lane, struct dx_error *err)
{
    struct dx_row_merge *m = NULL;
    int rc;

    sort_lane(lane);
    rc = dx_row_merge_new(&m, lane->codec, 1, err);
    if (rc == DX_OK)
        rc = dx_row_merge_add_memory(m, entries_of(lane), lane->count, err);
    if (rc == DX_OK)
        rc = write_run(s, lane->codec, m, err);
    dx_row_merge_free(&m);
    lane->used = 0;
    lane->count = 0;
    lane->sorted = true;
    return rc;
}

int dx_row_sort_add(struct dx_row_sort *s, unsigned lane_number, struct dx_span key,
                    struct dx_span value, struct dx_error *err)
{
    struct lane *lane = &s->lane[lane_number];
    size_t size = RECORD_HEADER + key.size + value.size;
    uint8_t *record;

    if (size > DX_ROW_MAX || size + sizeof(struct dx_row_entry) > lane->capacity)
        return dx_fail(err, DX_E_LIMIT, "sort: a record of %zu bytes does not fit a lane of %zu",
                       size, lane->capacity);
    if (lane->capacity - lane->used - lane->count * sizeof(struct dx_row_entry) <
        size + sizeof(struct dx_row_entry)) {
        int rc = spill(s, lane, err);

        if (rc < 0)
            return rc;
    }
    record = lane->memory + lane->used;
    dx_store_u32(record, (uint32_t)key.size);
    dx_store_u32(record + 4, (uint32_t)value.size);
    memcpy(record + RECORD_HEADER, key.data, key.size);
    if (value.size > 0)
        memcpy(record + RECORD_HEADER + key.size, value.data, value.size);
    lane->used += size;
    lane->count++;
    lane->added++;
    lane->sorted = false;
    *entries_of(lane) = (struct dx_row_entry){ 0, record };
    return DX_OK;
}

int dx_row_sort_lane_end(struct dx_row_sort *s, unsigned lane, struct dx_error *err)
{
    (void)err;
    sort_lane(&s->lane[lane]);
    return DX_OK;
}

int dx_row_sort_each(struct dx_row_sort *s,
                     int (*fn)(void *ctx, struct dx_span key, struct dx_span value,
                               struct dx_error *err),
                     void *ctx, struct dx_error *err)
{
    struct dx_row_run_reader *r = NULL;
    struct dx_span key;
    struct dx_span value;
    char path[PATH_MAX];
    int rc = DX_OK;

    for (uint64_t run = s->first_run; rc >= 0 && run < s->next_run; run++) {
        run_path(s, run, path);
        rc = dx_row_run_open(&r, s->lane[0].codec, path, err);
        while (rc >= 0 && (rc = dx_row_run_read(r, &key, &value, err)) == 1)
            rc = fn(ctx, key, value, err);
        dx_row_run_close(&r);
    }
    for (unsigned i = 0; rc >= 0 && i < s->lane_count; i++)
        for (size_t k = 0; rc >= 0 && k < s->lane[i].count; k++) {
            dx_row_entry_get(entries_of(&s->lane[i])[k].record, &key, &value);
            rc = fn(ctx, key, value, err);
        }
    return rc < 0 ? rc : DX_OK;
}

static int add_runs(struct dx_row_sort *s, struct dx_row_merge *m, uint64_t from, uint64_t to,
                    struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = DX_OK;

    for (uint64_t run = from; rc == DX_OK && run < to; run++) {
        run_path(s, run, path);
        rc = dx_row_merge_add_run(m, path, err);
    }
    return rc;
}

/* The oldest runs become one new run at the end of the row. */
static int pass(struct dx_row_sort *s, uint64_t runs, struct dx_error *err)
{
    struct dx_row_merge *m = NULL;
    int rc = dx_row_merge_new(&m, s->lane[0].codec, runs, err);

    if (rc == DX_OK)
        rc = add_runs(s, m, s->first_run, s->first_run + runs, err);
    if (rc == DX_OK)
        rc = write_run(s, s->lane[0].codec, m, err);
    dx_row_merge_free(&m);
    if (rc < 0)
        return rc;
    remove_runs(s, s->first_run, s->first_run + runs);
    s->first_run += runs;
    s->passes++;
    return DX_OK;
}

int dx_row_sort_merge(struct dx_row_sort *s, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && s->next_run - s->first_run > s->fan_in) {
        uint64_t surplus = s->next_run - s->first_run - s->fan_in + 1;

        rc = pass(s, surplus < s->fan_in ? surplus : s->fan_in, err);
    }
    if (rc == DX_OK)
        rc = dx_row_merge_new(&s->merge, s->lane[0].codec, s->fan_in + s->lane_count, err);
    if (rc == DX_OK)
        rc = add_runs(s, s->merge, s->first_run, s->next_run, err);
    for (unsigned i = 0; rc == DX_OK && i < s->lane_count; i++) {
        sort_lane(&s->lane[i]);
        rc = dx_row_merge_add_memory(s->merge, entries_of(&s->lane[i]), s->lane[i].count, err);
    }
    return rc;
}

int dx_row_sort_next(struct dx_row_sort *s, struct dx_span *key, struct dx_span *value,
                     struct dx_error *err)
{
    return dx_row_merge_next(s->merge, key, value, err);
}

void dx_row_sort_get_stats(const struct dx_row_sort *s, struct dx_row_sort_stats *stats)
{
    *stats = (struct dx_row_sort_stats){ .runs = s->next_run,
                                         .passes = s->passes,
                                         .spilled_bytes = s->spilled_bytes };
    for (unsigned i = 0; i < s->lane_count; i++)
        stats->added += s->lane[i].added;
}
