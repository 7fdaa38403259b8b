/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/sort/spill_sort.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/few_bytes.h"
#include "builder/root/parallel.h"
#include "builder/sort/spill_file.h"
#include "builder/sort/spill_merge.h"
#include "builder/sort/spill_run.h"

#define CACHED 7     /* bytes of a key in one cache word */
#define INSERTION 12 /* below this many entries insertion sort is faster */
#define RECORD_PARTS 4
#define READER_COST ((size_t)96 * 1024) /* what a merge holds of a run */
#define FAN_IN_MIN 4
#define FAN_IN_MAX 256
#define AHEAD 8 /* entries whose records are asked for before they are read */
#define HUGE_MIN ((size_t)8 << 20)
#define HUGE_EDGE ((size_t)2 << 20)
#define BY_ADDRESS SIZE_MAX /* a depth: the cache is the record's address */

/* Records grow from the front of memory, entries from its end downwards. A record that was
 * added later has a higher address: that is the order of equal keys. */
struct lane {
    uint8_t *memory;
    size_t capacity;
    size_t used;
    size_t count;
    uint64_t head;   /* of the key that was added first: 8 bytes of it, */
    size_t shared;   /* of which all keys have so many */
    size_t uncached; /* records, from the first on, whose word is not the one behind `shared` */
    bool sorted;
    struct dx_spill_codec *codec;
    int fd; /* its runs, one behind the other; -1: none yet */
    uint64_t fd_size;
    uint64_t added;
};

struct dx_spill_sort {
    char *dir;
    bool distinct;
    bool finished;
    size_t fan_in;
    struct lane *lane;
    unsigned lane_count;

    pthread_mutex_t lock;     /* of the following while lanes are filled */
    struct dx_spill_run *run; /* in the order of adding if there is one lane */
    size_t run_count;
    size_t run_capacity;
    uint64_t next_id;
    struct dx_spill_sort_stats stats;

    int merged_fd; /* runs made of runs; -1: none yet */
    uint64_t merged_size;
    struct dx_spill_merge *merge;
};

int dx_spill_sort_new(struct dx_spill_sort **out, const struct dx_spill_sort_options *options,
                      struct dx_error *err)
{
    struct dx_spill_sort *s = calloc(1, sizeof *s);
    size_t share;
    int rc = DX_OK;

    assert(options->lanes > 0 && options->fan_in != 1);
    assert(options->distinct || options->unique || options->lanes == 1);
    share = options->memory_bytes / options->lanes / 16 * 16;
    *out = s;
    if (s == NULL)
        return dx_no_memory(err, "sort");
    (void)pthread_mutex_init(&s->lock, NULL);
    s->merged_fd = -1;
    s->distinct = options->distinct;
    s->fan_in = options->fan_in;
    if (s->fan_in == 0)
        s->fan_in = options->memory_bytes / READER_COST;
    if (options->fan_in == 0 && s->fan_in < FAN_IN_MIN)
        s->fan_in = FAN_IN_MIN;
    if (s->fan_in > FAN_IN_MAX)
        s->fan_in = FAN_IN_MAX;
    if (share < DX_SPILL_LANE_MIN)
        share = DX_SPILL_LANE_MIN;
    s->dir = strdup(options->dir);
    s->lane = calloc(options->lanes, sizeof *s->lane);
    if (s->dir == NULL || s->lane == NULL)
        rc = dx_no_memory(err, "sort");
    for (; rc == DX_OK && s->lane_count < options->lanes; s->lane_count++) {
        struct lane *lane = &s->lane[s->lane_count];

        /* Pages that are never touched are never ours: a small input costs little. */
        *lane = (struct lane){ .capacity = share, .fd = -1, .sorted = true };
        lane->memory = mmap(NULL, share, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (lane->memory == MAP_FAILED) {
            lane->memory = NULL;
            rc = dx_fail(err, DX_E_NOMEM,
                         "sort: cannot allocate %zu bytes; give a smaller --memory", share);
            continue;
        }
        /* Records are read in the order of their keys, each in a page of its own. A few are at both
         * ends, where large pages would be most of the memory of a small publish. */
        if (share >= HUGE_MIN)
            (void)madvise(lane->memory + HUGE_EDGE, share - 2 * HUGE_EDGE, MADV_HUGEPAGE);
        rc = dx_spill_codec_new(&lane->codec, s->dir, err);
    }
    if (rc < 0)
        dx_spill_sort_free(out);
    return rc;
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void lane_forget(struct lane *lane)
{
    if (lane->memory != NULL)
        (void)munmap(lane->memory, lane->capacity);
    lane->memory = NULL;
    lane->count = 0;
}

void dx_spill_sort_free(struct dx_spill_sort **handle)
{
    struct dx_spill_sort *s = *handle;

    if (s == NULL)
        return;
    dx_spill_merge_free(&s->merge);
    for (unsigned i = 0; i < s->lane_count; i++) {
        lane_forget(&s->lane[i]);
        close_file(&s->lane[i].fd);
        dx_spill_codec_free(&s->lane[i].codec);
    }
    close_file(&s->merged_fd);
    free(s->lane);
    free(s->run);
    free(s->dir);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
    *handle = NULL;
}

/* ---- sorting a lane ---- */

static struct dx_spill_entry *entries_of(const struct lane *lane)
{
    return (struct dx_spill_entry *)(void *)(lane->memory + lane->capacity) - lane->count;
}

/* The next 7 bytes of a key from depth, and in the low byte how many there were (8: more
 * follow). Equal words with a low byte below 8 mean equal keys; compared as numbers, a
 * shorter key comes before a longer one that continues it. */
static uint64_t cache_of(struct dx_span key, size_t depth)
{
    const uint8_t *p = key.data + depth;
    size_t left = key.size - depth;
    uint64_t v = 0;

    if (left > CACHED) /* eight bytes are there */
        return __builtin_bswap64(dx_load_u64(p)) >> 8 << 8 | 8;
    for (size_t i = 0; i < CACHED; i++)
        v = v << 8 | (i < left ? p[i] : 0);
    return v << 8 | left;
}

static uint64_t cache_at(const uint8_t *record, size_t depth)
{
    return cache_of(dx_spill_record_key(record), depth);
}

static int compare_values(const uint8_t *a, const uint8_t *b)
{
    return dx_span_compare(dx_spill_record_value(a), dx_spill_record_value(b));
}

static int compare_from(const struct dx_spill_entry *a, const struct dx_spill_entry *b,
                        size_t depth, bool distinct)
{
    if (a->cache != b->cache)
        return a->cache < b->cache ? -1 : 1;
    if (depth != BY_ADDRESS && (a->cache & 0xff) == 8) {
        struct dx_span x = dx_spill_record_key(a->record);
        struct dx_span y = dx_spill_record_key(b->record);
        int c = dx_span_compare(dx_span_of(x.data + depth + CACHED, x.size - depth - CACHED),
                                dx_span_of(y.data + depth + CACHED, y.size - depth - CACHED));

        if (c != 0)
            return c;
    }
    if (distinct)
        return compare_values(a->record, b->record);
    return ((uintptr_t)a->record > (uintptr_t)b->record) -
           ((uintptr_t)a->record < (uintptr_t)b->record);
}

static void insertion_sort(struct dx_spill_entry *e, size_t n, size_t depth, bool distinct)
{
    for (size_t i = 1; i < n; i++) {
        struct dx_spill_entry moving = e[i];
        size_t at = i;

        for (; at > 0 && compare_from(&moving, &e[at - 1], depth, distinct) < 0; at--)
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

static void swap(struct dx_spill_entry *a, struct dx_spill_entry *b)
{
    struct dx_spill_entry t = *a;

    *a = *b;
    *b = t;
}

/* Entries with one key. Returns how many are left to be sorted. */
static size_t settle_equal(struct dx_spill_entry *e, size_t n, bool distinct)
{
    if (!distinct) {
        for (size_t i = 0; i < n; i++)
            e[i].cache = (uintptr_t)e[i].record;
        return n;
    }
    for (size_t i = 1; i < n; i++) /* only the first will come out */
        if (compare_values(e[i].record, e[0].record) < 0)
            swap(&e[i], &e[0]);
    return 0;
}

/* Multikey quicksort on cached words (Bentley, Sedgewick 1997; Ng, Kakehi 2007): URLs
 * share long beginnings, which a comparison sort would compare again and again. Pivots
 * are drawn at random so that no input can make it slow on purpose. The recursion always
 * takes the smaller parts, so it is log2(n) deep. */
static void multikey_sort(struct dx_spill_entry *e, size_t n, size_t depth, bool distinct,
                          uint64_t *random)
{
    while (n > INSERTION) {
        uint64_t pivot = median(e[scramble(random) % n].cache, e[scramble(random) % n].cache,
                                e[scramble(random) % n].cache);
        size_t deeper = depth;
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
        part_size[1] = more - less;
        part_begin[2] = more;
        part_size[2] = n - more;
        if (depth == BY_ADDRESS) {
            part_size[1] = 0;
        } else if ((pivot & 0xff) < 8) {
            part_size[1] = settle_equal(e + less, part_size[1], distinct);
            deeper = BY_ADDRESS;
        } else {
            deeper = depth + CACHED;
            for (size_t i = less; i < more; i++) {
                if (i + AHEAD < more)
                    __builtin_prefetch(e[i + AHEAD].record + deeper);
                e[i].cache = cache_at(e[i].record, deeper);
            }
        }
        for (size_t i = 1; i < 3; i++)
            if (part_size[i] > part_size[largest])
                largest = i;
        for (size_t i = 0; i < 3; i++)
            if (i != largest)
                multikey_sort(e + part_begin[i], part_size[i], i == 1 ? deeper : depth, distinct,
                              random);
        e += part_begin[largest];
        n = part_size[largest];
        depth = largest == 1 ? deeper : depth;
    }
    insertion_sort(e, n, depth, distinct);
}

static void sort_lane(struct lane *lane, bool distinct)
{
    struct dx_spill_entry *e;
    uint64_t random = (uint64_t)(uintptr_t)lane->memory * 0x9E3779B97F4A7C15u | 1;

    if (lane->sorted)
        return;
    e = entries_of(lane);
    for (size_t i = lane->count - lane->uncached; i < lane->count; i++)
        e[i].cache = cache_at(e[i].record, lane->shared);
    multikey_sort(e, lane->count, lane->shared, distinct, &random);
    lane->uncached = lane->count; /* the words are of other depths now */
    lane->sorted = true;
}

/* ---- runs ---- */

static int remember_run(struct dx_spill_sort *s, const struct dx_spill_run *run,
                        struct dx_error *err)
{
    struct dx_spill_run *grown;

    (void)pthread_mutex_lock(&s->lock);
    grown = dx_array_room(s->run, s->run_count, &s->run_capacity, sizeof *grown);
    if (grown != NULL) {
        s->run = grown;
        s->run[s->run_count++] = *run;
        s->stats.runs++;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return grown != NULL ? DX_OK : dx_no_memory(err, "sort: runs");
}

/* Writes everything a merge yields as one run behind the fd_size bytes that fd holds. */
static int write_run(struct dx_spill_sort *s, struct dx_spill_codec *codec,
                     struct dx_spill_merge *m, int fd, uint64_t *fd_size, struct dx_spill_run *run,
                     struct dx_error *err)
{
    struct dx_spill_run_writer *w = NULL;
    struct dx_span key;
    struct dx_span value;
    int rc;

    *run = (struct dx_spill_run){ .fd = fd, .offset = *fd_size };
    (void)pthread_mutex_lock(&s->lock);
    run->id = s->next_id++;
    (void)pthread_mutex_unlock(&s->lock);
    rc = dx_spill_run_create(&w, codec, run, err);
    while (rc >= 0 && (rc = dx_spill_merge_next(m, &key, &value, err)) == 1)
        rc = dx_spill_run_write(w, key, value, err);
    if (rc >= 0)
        rc = dx_spill_run_finish(&w, run, err);
    dx_spill_run_abort(&w);
    *fd_size += run->size;
    (void)pthread_mutex_lock(&s->lock);
    s->stats.spilled_bytes += run->size;
    (void)pthread_mutex_unlock(&s->lock);
    return rc;
}

static int spill_lane(struct dx_spill_sort *s, struct lane *lane, struct dx_error *err)
{
    struct dx_spill_merge *m = NULL;
    struct dx_spill_run run;
    int rc = DX_OK;

    if (lane->count == 0)
        return DX_OK;
    sort_lane(lane, s->distinct);
    if (lane->fd < 0) {
        lane->fd = dx_spill_open(s->dir, err);
        rc = lane->fd < 0 ? lane->fd : DX_OK;
    }
    if (rc == DX_OK)
        rc = dx_spill_merge_new(&m, lane->codec, 1, s->distinct, err);
    if (rc == DX_OK)
        rc = dx_spill_merge_add_memory(m, entries_of(lane), lane->count, err);
    if (rc == DX_OK)
        rc = write_run(s, lane->codec, m, lane->fd, &lane->fd_size, &run, err);
    if (rc == DX_OK)
        rc = remember_run(s, &run, err);
    dx_spill_merge_free(&m);
    lane->used = 0;
    lane->count = 0;
    lane->sorted = true;
    return rc;
}

/* All rows of a run may be of one dataset, whose number their keys begin with: the word that is cached is better taken from
 * behind what all keys share. */
static void note_key(struct lane *lane, struct dx_span key)
{
    uint64_t head = key.size < sizeof head ? 0 : dx_load_u64(key.data);
    size_t shared = key.size < sizeof head ? 0 : sizeof head;

    if (lane->count == 0) {
        lane->head = head;
        lane->shared = shared;
        lane->uncached = 0;
    }
    if (shared > 0 && head != lane->head)
        shared = (size_t)__builtin_ctzll(head ^ lane->head) / 8;
    if (shared < lane->shared) {
        lane->shared = shared;
        lane->uncached = lane->count;
    }
}

int dx_spill_sort_add(struct dx_spill_sort *s, unsigned lane_number, struct dx_span key,
                      struct dx_span value, struct dx_error *err)
{
    struct lane *lane = &s->lane[lane_number];
    size_t most = lane->capacity / RECORD_PARTS;
    size_t size = DX_SPILL_RECORD_HEADER + key.size + value.size;
    uint8_t *record;

    assert(!s->finished && lane_number < s->lane_count);
    if (key.size > most || value.size > most || size > most)
        return dx_fail(err, DX_E_LIMIT,
                       "sort: a record of %zu bytes, at most %zu fit: raise --memory", size, most);
    if (lane->capacity - lane->used - lane->count * sizeof(struct dx_spill_entry) <
        size + sizeof(struct dx_spill_entry)) {
        int rc = spill_lane(s, lane, err);

        if (rc < 0)
            return rc;
    }
    record = lane->memory + lane->used;
    dx_store_u32(record, (uint32_t)key.size);
    dx_store_u32(record + 4, (uint32_t)value.size);
    dx_few_copy(record + DX_SPILL_RECORD_HEADER, key.data, key.size);
    dx_few_copy(record + DX_SPILL_RECORD_HEADER + key.size, value.data, value.size);
    note_key(lane, key);
    lane->used += size;
    lane->count++;
    lane->added++;
    lane->sorted = false;
    *entries_of(lane) = (struct dx_spill_entry){ cache_of(key, lane->shared), record };
    return DX_OK;
}

int dx_spill_sort_end(struct dx_spill_sort *s, unsigned lane_number, struct dx_error *err)
{
    struct lane *lane = &s->lane[lane_number];
    bool spilled;

    assert(lane_number < s->lane_count);
    (void)pthread_mutex_lock(&s->lock);
    spilled = s->run_count > 0;
    (void)pthread_mutex_unlock(&s->lock);
    if (spilled)
        return spill_lane(s, lane, err);
    sort_lane(lane, s->distinct);
    return DX_OK;
}

int dx_spill_sort_each(struct dx_spill_sort *s,
                       int (*fn)(void *ctx, struct dx_span key, struct dx_span value,
                                 struct dx_error *err),
                       void *ctx, struct dx_error *err)
{
    struct dx_spill_run_reader *r = NULL;
    struct dx_span key;
    struct dx_span value;
    int rc = DX_OK;

    assert(!s->finished);
    for (size_t i = 0; rc >= 0 && i < s->run_count; i++) {
        rc = dx_spill_run_open(&r, s->lane[0].codec, &s->run[i], err);
        while (rc >= 0 && (rc = dx_spill_run_read(r, &key, &value, err)) == 1)
            rc = fn(ctx, key, value, err);
        dx_spill_run_close(&r);
    }
    for (unsigned i = 0; rc >= 0 && i < s->lane_count; i++)
        for (size_t k = 0; rc >= 0 && k < s->lane[i].count; k++) {
            const uint8_t *record = entries_of(&s->lane[i])[k].record;

            rc = fn(ctx, dx_spill_record_key(record), dx_spill_record_value(record), err);
        }
    return rc < 0 ? rc : DX_OK;
}

/* ---- merging ---- */

static int merge_runs(struct dx_spill_sort *s, struct dx_spill_merge **m, size_t first,
                      size_t count, struct dx_error *err)
{
    int rc = dx_spill_merge_new(m, s->lane[0].codec, count, s->distinct, err);

    for (size_t i = first; rc == DX_OK && i < first + count; i++)
        rc = dx_spill_merge_add_run(*m, &s->run[i], err);
    return rc;
}

/* Gives the space of a run back to the file system, where that can make holes. */
static void punch(const struct dx_spill_run *run)
{
    (void)fallocate(run->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)run->offset,
                    (off_t)run->size);
}

/* Neighbouring runs become one at `to`, so that older records stay in front. */
static int merge_neighbours(struct dx_spill_sort *s, size_t first, size_t count, size_t to,
                            struct dx_error *err)
{
    struct dx_spill_merge *m = NULL;
    struct dx_spill_run run;
    int rc;

    assert(count > 1 && first + count <= s->run_count && to <= first);
    rc = merge_runs(s, &m, first, count, err);
    if (rc == DX_OK)
        rc = write_run(s, s->lane[0].codec, m, s->merged_fd, &s->merged_size, &run, err);
    dx_spill_merge_free(&m);
    if (rc < 0)
        return rc;
    for (size_t i = first; i < first + count; i++)
        punch(&s->run[i]);
    s->run[to] = run;
    s->stats.passes++;
    return DX_OK;
}

/* Once over the runs from the oldest on, no longer than needed. */
static int make_pass(struct dx_spill_sort *s, struct dx_error *err)
{
    size_t out = 0;
    size_t in = 0;
    int rc = DX_OK;

    while (rc == DX_OK && s->run_count - in > 1 && out + (s->run_count - in) > s->fan_in) {
        size_t left = s->run_count - in;
        size_t count = out + left - s->fan_in + 1;

        if (count > s->fan_in)
            count = s->fan_in;
        if (count > left)
            count = left;
        rc = merge_neighbours(s, in, count, out++, err);
        in += count;
    }
    if (rc < 0)
        return rc;
    memmove(s->run + out, s->run + in, (s->run_count - in) * sizeof *s->run);
    s->run_count = out + (s->run_count - in);
    return DX_OK;
}

static int begin_merge(struct dx_spill_sort *s, struct dx_error *err)
{
    int rc;

    if (s->run_count > 0)
        return merge_runs(s, &s->merge, 0, s->run_count, err);
    rc = dx_spill_merge_new(&s->merge, s->lane[0].codec, s->lane_count, s->distinct, err);
    for (unsigned i = 0; rc == DX_OK && i < s->lane_count; i++)
        rc = dx_spill_merge_add_memory(s->merge, entries_of(&s->lane[i]), s->lane[i].count, err);
    return rc;
}

/* The lanes give their memory to the merge. */
static int merge_passes(struct dx_spill_sort *s, struct dx_error *err)
{
    int rc = DX_OK;

    for (unsigned i = 0; i < s->lane_count; i++) {
        assert(s->lane[i].count == 0);
        lane_forget(&s->lane[i]);
    }
    if (s->run_count > s->fan_in) {
        s->merged_fd = dx_spill_open(s->dir, err);
        rc = s->merged_fd < 0 ? s->merged_fd : DX_OK;
    }
    while (rc == DX_OK && s->run_count > s->fan_in)
        rc = make_pass(s, err);
    return rc;
}

static int end_lane(void *ctx, size_t lane, struct dx_error *err)
{
    return dx_spill_sort_end(ctx, (unsigned)lane, err);
}

int dx_spill_sort_finish(struct dx_spill_sort *s, struct dx_error *err)
{
    int rc;

    assert(!s->finished);
    s->finished = true;
    rc = dx_parallel(s->lane_count, s->lane_count, end_lane, s, err);
    if (rc == DX_OK && s->run_count > 0)
        rc = merge_passes(s, err);
    return rc == DX_OK ? begin_merge(s, err) : rc;
}

int dx_spill_sort_next(struct dx_spill_sort *s, struct dx_span *key, struct dx_span *value,
                       struct dx_error *err)
{
    assert(s->finished);
    return dx_spill_merge_next(s->merge, key, value, err);
}

int dx_spill_sort_rewind(struct dx_spill_sort *s, struct dx_error *err)
{
    assert(s->finished);
    dx_spill_merge_free(&s->merge);
    return begin_merge(s, err);
}

bool dx_spill_sort_in_memory(const struct dx_spill_sort *s)
{
    assert(s->finished);
    return s->run_count == 0;
}

uint64_t dx_spill_sort_count(const struct dx_spill_sort *s)
{
    uint64_t added = 0;

    for (unsigned i = 0; i < s->lane_count; i++)
        added += s->lane[i].added;
    return added;
}

void dx_spill_sort_get_stats(const struct dx_spill_sort *s, struct dx_spill_sort_stats *stats)
{
    *stats = s->stats;
}
