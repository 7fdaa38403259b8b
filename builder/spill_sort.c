/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/spill_sort.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "builder/spill_file.h"

#define BLOCK_PLAIN (64 * 1024)  /* records a block: what a merge holds of each run */
#define BLOCK_HEADER 16          /* u32 plain size, u32 compressed size, u64 checksum */
#define READER_COST (160 * 1024) /* a plain and a compressed block and what hangs on them */
#define FAN_IN_MAX 128           /* bounds open files, too */
#define RECORD_PARTS 8           /* a record is at most this part of the budget */

/* In the arena records grow from the front, entries from the back. Between them there
 * must be room for a second set of entries: the merge sort needs it. */
struct entry {
    uint64_t prefix; /* first 8 bytes of the key, big-endian, zero-filled */
    uint64_t at;     /* offset of the record in the arena */
};

struct run {
    int fd;
    unsigned level; /* how often its records were merged */
    uint64_t seed;  /* of its block checksums: no block passes for one of another run */
    uint64_t size;
};

struct reader {
    const struct run *run;
    uint64_t offset;
    uint64_t block;
    struct dx_buf packed;
    struct dx_buf plain;
    struct dx_bytes rest; /* of the plain block */
    uint64_t prefix;
    struct dx_span key;
    struct dx_span value;
};

struct dx_spill_sort {
    char *dir;
    size_t memory;
    uint8_t *arena;
    size_t records_end;
    size_t entry_count;
    uint64_t count;
    uint64_t spilled;
    uint64_t returned;

    struct run *runs;
    size_t run_count;
    size_t run_capacity;
    uint64_t next_seed;

    bool finished;
    size_t next_entry;      /* when all fit into memory */
    struct reader *readers; /* when not */
    size_t *heap;           /* readers by current record; the smallest first */
    size_t heap_size;
    size_t reader_count;
    bool advance; /* the record of heap[0] was handed out */
    ZSTD_CCtx *cctx;
    ZSTD_DCtx *dctx;
};

static uint64_t prefix_of(struct dx_span key)
{
    uint64_t v = 0;

    for (size_t i = 0; i < 8; i++)
        v = v << 8 | (i < key.size ? key.data[i] : 0);
    return v;
}

static size_t fan_in(const struct dx_spill_sort *s)
{
    size_t n = s->memory / READER_COST;

    return n < 4 ? 4 : n > FAN_IN_MAX ? FAN_IN_MAX : n;
}

int dx_spill_sort_new(struct dx_spill_sort **out, const char *dir, size_t memory_bytes,
                      struct dx_error *err)
{
    struct dx_spill_sort *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return dx_fail(err, DX_E_NOMEM, "sort: out of memory");
    if (memory_bytes < DX_SPILL_SORT_MEMORY_MIN)
        memory_bytes = DX_SPILL_SORT_MEMORY_MIN;
    s->memory = memory_bytes & ~(size_t)15;
    s->arena = mmap(NULL, s->memory, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->arena == MAP_FAILED)
        s->arena = NULL;
    s->dir = strdup(dir);
    s->cctx = ZSTD_createCCtx();
    s->dctx = ZSTD_createDCtx();
    if (s->arena == NULL || s->dir == NULL || s->cctx == NULL || s->dctx == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(s->cctx, ZSTD_c_compressionLevel, 1))) {
        dx_spill_sort_free(&s);
        return dx_fail(err, DX_E_NOMEM, "sort: no memory for a budget of %zu bytes", memory_bytes);
    }
    *out = s;
    return DX_OK;
}

static struct entry *entries(const struct dx_spill_sort *s)
{
    return (struct entry *)(void *)(s->arena + s->memory) - s->entry_count;
}

static struct dx_span record_key(const struct dx_spill_sort *s, uint64_t at)
{
    return dx_span_of(s->arena + at + 8, dx_load_u32(s->arena + at));
}

static struct dx_span record_value(const struct dx_spill_sort *s, uint64_t at)
{
    struct dx_span key = record_key(s, at);

    return dx_span_of(key.data + key.size, dx_load_u32(s->arena + at + 4));
}

static bool entry_after(const struct dx_spill_sort *s, const struct entry *a, const struct entry *b)
{
    if (a->prefix != b->prefix)
        return a->prefix > b->prefix;
    return dx_span_compare(record_key(s, a->at), record_key(s, b->at)) > 0;
}

/* Bottom-up merge sort: stable, never slower than n log n whatever the input; the sorted
 * entries end in the place where `e` is. */
static void sort_entries(const struct dx_spill_sort *s, struct entry *e, struct entry *tmp,
                         size_t n)
{
    struct entry *from = e;
    struct entry *to = tmp;

    for (size_t width = 1; width < n; width *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            size_t a = begin;
            size_t a_end = begin + width < n ? begin + width : n;
            size_t b = a_end;
            size_t b_end = begin + 2 * width < n ? begin + 2 * width : n;
            size_t k = begin;

            if (b < b_end && entry_after(s, &from[b - 1], &from[b])) {
                while (a < a_end && b < b_end)
                    to[k++] = entry_after(s, &from[a], &from[b]) ? from[b++] : from[a++];
            }
            memcpy(to + k, from + a, (a_end - a) * sizeof *to);
            memcpy(to + k + (a_end - a), from + b, (b_end - b) * sizeof *to);
        }
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != e)
        memcpy(e, from, n * sizeof *e);
}

/* Entries were added from the back: turned round they stand in the order of adding. */
static void sort_arena(struct dx_spill_sort *s)
{
    struct entry *e = entries(s);
    size_t n = s->entry_count;

    for (size_t i = 0; i < n / 2; i++) {
        struct entry swap = e[i];
        e[i] = e[n - 1 - i];
        e[n - 1 - i] = swap;
    }
    sort_entries(s, e, e - n, n);
}

/* ---- writing a run ---- */

struct run_writer {
    struct run run;
    struct dx_buf plain;
    struct dx_buf packed;
    uint64_t blocks;
};

static void run_writer_release(struct run_writer *w)
{
    dx_buf_release(&w->plain);
    dx_buf_release(&w->packed);
    if (w->run.fd >= 0)
        (void)close(w->run.fd);
    w->run.fd = -1;
}

static int run_writer_init(struct run_writer *w, struct dx_spill_sort *s, unsigned level,
                           struct dx_error *err)
{
    size_t most = s->memory / RECORD_PARTS + BLOCK_PLAIN + 64;

    *w = (struct run_writer){ .run = { .level = level, .seed = s->next_seed++ << 32 } };
    dx_buf_init(&w->plain, most);
    dx_buf_init(&w->packed, ZSTD_compressBound(most) + BLOCK_HEADER);
    w->run.fd = dx_spill_open(s->dir, err);
    return w->run.fd < 0 ? w->run.fd : DX_OK;
}

static int run_flush(struct run_writer *w, struct dx_spill_sort *s, struct dx_error *err)
{
    size_t room = ZSTD_compressBound(w->plain.size);
    uint8_t *to;
    size_t n;
    int rc;

    if (w->plain.size == 0)
        return DX_OK;
    dx_buf_clear(&w->packed);
    to = dx_buf_reserve(&w->packed, BLOCK_HEADER + room);
    if (to == NULL)
        return dx_buf_fail(&w->packed, err, "sort: block");
    n = ZSTD_compress2(s->cctx, to + BLOCK_HEADER, room, w->plain.data, w->plain.size);
    if (ZSTD_isError(n))
        return dx_fail(err, DX_E_NOMEM, "sort: zstd: %s", ZSTD_getErrorName(n));
    dx_store_u32(to, (uint32_t)w->plain.size);
    dx_store_u32(to + 4, (uint32_t)n);
    dx_store_u64(to + 8,
                 dx_hash64_seeded(dx_span_of(to + BLOCK_HEADER, n), w->run.seed + w->blocks));
    rc = dx_spill_write(w->run.fd, s->dir, dx_span_of(to, BLOCK_HEADER + n), err);
    w->run.size += BLOCK_HEADER + n;
    s->spilled += BLOCK_HEADER + n;
    w->blocks++;
    dx_buf_clear(&w->plain);
    return rc;
}

static int run_append(struct run_writer *w, struct dx_spill_sort *s, struct dx_span key,
                      struct dx_span value, struct dx_error *err)
{
    if (w->plain.size > 0 && w->plain.size + key.size + value.size + 10 > BLOCK_PLAIN) {
        int rc = run_flush(w, s, err);

        if (rc != DX_OK)
            return rc;
    }
    dx_buf_varint(&w->plain, key.size);
    dx_buf_varint(&w->plain, value.size);
    dx_buf_append(&w->plain, key.data, key.size);
    dx_buf_append(&w->plain, value.data, value.size);
    return w->plain.failed ? dx_buf_fail(&w->plain, err, "sort: block") : DX_OK;
}

/* The run goes to the end of s->runs, which then owns its file. */
static int run_commit(struct run_writer *w, struct dx_spill_sort *s, struct dx_error *err)
{
    int rc = run_flush(w, s, err);

    if (rc != DX_OK)
        return rc;
    if (s->run_count == s->run_capacity) {
        size_t capacity = s->run_capacity == 0 ? 16 : s->run_capacity * 2;
        struct run *more = realloc(s->runs, capacity * sizeof *more);

        if (more == NULL)
            return dx_fail(err, DX_E_NOMEM, "sort: out of memory");
        s->runs = more;
        s->run_capacity = capacity;
    }
    s->runs[s->run_count++] = w->run;
    w->run.fd = -1;
    return DX_OK;
}

/* ---- reading runs back, merged ---- */

static int reader_block(struct reader *r, struct dx_spill_sort *s, struct dx_error *err)
{
    uint8_t header[BLOCK_HEADER];
    uint32_t plain;
    uint32_t packed;
    uint8_t *to;
    uint8_t *from;
    size_t n;
    int rc = dx_file_pread(r->run->fd, s->dir, r->offset, sizeof header, header, err);

    if (rc != DX_OK)
        return rc;
    plain = dx_load_u32(header);
    packed = dx_load_u32(header + 4);
    dx_buf_clear(&r->packed);
    dx_buf_clear(&r->plain);
    if (packed > r->run->size - r->offset - BLOCK_HEADER)
        return dx_fail(err, DX_E_CORRUPT, "%s: a sorted run is damaged at offset %llu", s->dir,
                       (unsigned long long)r->offset);
    from = dx_buf_reserve(&r->packed, packed);
    to = dx_buf_reserve(&r->plain, plain);
    if (from == NULL || to == NULL)
        return dx_buf_fail(from == NULL ? &r->packed : &r->plain, err, "sort: block");
    rc = dx_file_pread(r->run->fd, s->dir, r->offset + BLOCK_HEADER, packed, from, err);
    if (rc != DX_OK)
        return rc;
    if (dx_hash64_seeded(dx_span_of(from, packed), r->run->seed + r->block) !=
        dx_load_u64(header + 8))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: a sorted run reads otherwise than it was written, "
                       "at offset %llu: check disk and memory",
                       s->dir, (unsigned long long)r->offset);
    n = ZSTD_decompressDCtx(s->dctx, to, plain, from, packed);
    if (ZSTD_isError(n) || n != plain)
        return dx_fail(err, DX_E_CORRUPT, "%s: a sorted run is damaged at offset %llu", s->dir,
                       (unsigned long long)r->offset);
    r->rest = dx_bytes_of(dx_span_of(to, plain));
    r->offset += BLOCK_HEADER + packed;
    r->block++;
    return DX_OK;
}

/* 1 a record, 0 the end, <0 error. */
static int reader_next(struct reader *r, struct dx_spill_sort *s, struct dx_error *err)
{
    uint64_t key_size;
    uint64_t value_size;

    if (dx_bytes_left(&r->rest) == 0) {
        int rc;

        if (r->offset == r->run->size)
            return 0;
        rc = reader_block(r, s, err);
        if (rc != DX_OK)
            return rc;
    }
    key_size = dx_bytes_varint(&r->rest);
    value_size = dx_bytes_varint(&r->rest);
    r->key = dx_bytes_take(&r->rest, key_size);
    r->value = dx_bytes_take(&r->rest, value_size);
    if (r->rest.failed)
        return dx_fail(err, DX_E_CORRUPT, "%s: a sorted run is damaged before offset %llu", s->dir,
                       (unsigned long long)r->offset);
    r->prefix = prefix_of(r->key);
    return 1;
}

static bool reader_after(const struct dx_spill_sort *s, size_t a, size_t b)
{
    const struct reader *x = &s->readers[a];
    const struct reader *y = &s->readers[b];
    int c;

    if (x->prefix != y->prefix)
        return x->prefix > y->prefix;
    c = dx_span_compare(x->key, y->key);
    return c != 0 ? c > 0 : a > b; /* an earlier run holds what was added earlier */
}

static void heap_sink(struct dx_spill_sort *s, size_t at)
{
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < s->heap_size; child++)
            if (reader_after(s, s->heap[least], s->heap[child]))
                least = child;
        if (least == at)
            return;
        size_t swap = s->heap[at];
        s->heap[at] = s->heap[least];
        s->heap[least] = swap;
        at = least;
    }
}

static void merge_end(struct dx_spill_sort *s)
{
    for (size_t i = 0; i < s->reader_count; i++) {
        dx_buf_release(&s->readers[i].packed);
        dx_buf_release(&s->readers[i].plain);
    }
    free(s->readers);
    free(s->heap);
    s->readers = NULL;
    s->heap = NULL;
    s->reader_count = 0;
    s->heap_size = 0;
    s->advance = false;
}

static int merge_begin(struct dx_spill_sort *s, size_t first, size_t count, struct dx_error *err)
{
    size_t most = s->memory / RECORD_PARTS + BLOCK_PLAIN + 64;

    s->readers = calloc(count, sizeof *s->readers);
    s->heap = calloc(count, sizeof *s->heap);
    if (s->readers == NULL || s->heap == NULL) {
        merge_end(s);
        return dx_fail(err, DX_E_NOMEM, "sort: out of memory");
    }
    s->reader_count = count;
    for (size_t i = 0; i < count; i++) {
        struct reader *r = &s->readers[i];

        r->run = &s->runs[first + i];
        dx_buf_init(&r->packed, ZSTD_compressBound(most));
        dx_buf_init(&r->plain, most);
        r->rest = dx_bytes_of(dx_span_of(NULL, 0));
    }
    for (size_t i = 0; i < count; i++) {
        int rc = reader_next(&s->readers[i], s, err);

        if (rc < 0)
            return rc;
        if (rc == 1)
            s->heap[s->heap_size++] = i;
    }
    for (size_t i = s->heap_size; i-- > 0;)
        heap_sink(s, i);
    return DX_OK;
}

static int merge_next(struct dx_spill_sort *s, struct dx_span *key, struct dx_span *value,
                      struct dx_error *err)
{
    if (s->advance) {
        int rc = reader_next(&s->readers[s->heap[0]], s, err);

        if (rc < 0)
            return rc;
        if (rc == 0)
            s->heap[0] = s->heap[--s->heap_size];
        heap_sink(s, 0);
        s->advance = false;
    }
    if (s->heap_size == 0)
        return 0;
    *key = s->readers[s->heap[0]].key;
    *value = s->readers[s->heap[0]].value;
    s->advance = true;
    return 1;
}

/* The last `count` runs become one. */
static int merge_tail(struct dx_spill_sort *s, size_t count, struct dx_error *err)
{
    size_t first = s->run_count - count;
    struct run_writer w;
    struct dx_span key;
    struct dx_span value;
    int rc = run_writer_init(&w, s, s->runs[first].level + 1, err);

    if (rc == DX_OK)
        rc = merge_begin(s, first, count, err);
    while (rc == DX_OK) {
        rc = merge_next(s, &key, &value, err);
        if (rc <= 0)
            break;
        rc = run_append(&w, s, key, value, err);
    }
    merge_end(s);
    if (rc == DX_OK) {
        for (size_t i = first; i < s->run_count; i++)
            (void)close(s->runs[i].fd);
        s->run_count = first;
        rc = run_commit(&w, s, err);
    }
    run_writer_release(&w);
    return rc;
}

static int spill(struct dx_spill_sort *s, struct dx_error *err)
{
    const struct entry *e;
    struct run_writer w;
    int rc;

    if (s->entry_count == 0)
        return DX_OK;
    sort_arena(s);
    e = entries(s);
    rc = run_writer_init(&w, s, 0, err);
    for (size_t i = 0; rc == DX_OK && i < s->entry_count; i++)
        rc = run_append(&w, s, record_key(s, e[i].at), record_value(s, e[i].at), err);
    if (rc == DX_OK)
        rc = run_commit(&w, s, err);
    run_writer_release(&w);
    s->entry_count = 0;
    s->records_end = 0;
    if (rc != DX_OK || s->run_count < fan_in(s) ||
        s->runs[s->run_count - fan_in(s)].level != s->runs[s->run_count - 1].level)
        return rc;
    /* The merge takes the memory that the arena gives back here. */
    (void)madvise(s->arena, s->memory, MADV_DONTNEED);
    while (rc == DX_OK && s->run_count >= fan_in(s) &&
           s->runs[s->run_count - fan_in(s)].level == s->runs[s->run_count - 1].level)
        rc = merge_tail(s, fan_in(s), err);
    return rc;
}

int dx_spill_sort_add(struct dx_spill_sort *s, struct dx_span key, struct dx_span value,
                      struct dx_error *err)
{
    size_t need = 8 + key.size + value.size;
    uint8_t *to;

    assert(!s->finished);
    if (key.size > s->memory || value.size > s->memory || need > s->memory / RECORD_PARTS)
        return dx_fail(err, DX_E_LIMIT,
                       "sort: a record of %zu bytes does not fit a budget of %zu "
                       "bytes: raise --memory",
                       need, s->memory);
    if (s->records_end + need + 2 * (s->entry_count + 1) * sizeof(struct entry) > s->memory) {
        int rc = spill(s, err);

        if (rc != DX_OK)
            return rc;
    }
    to = s->arena + s->records_end;
    dx_store_u32(to, (uint32_t)key.size);
    dx_store_u32(to + 4, (uint32_t)value.size);
    if (key.size > 0)
        memcpy(to + 8, key.data, key.size);
    if (value.size > 0)
        memcpy(to + 8 + key.size, value.data, value.size);
    s->entry_count++;
    *entries(s) = (struct entry){ prefix_of(key), s->records_end };
    s->records_end += need;
    s->count++;
    return DX_OK;
}

int dx_spill_sort_finish(struct dx_spill_sort *s, struct dx_error *err)
{
    size_t most = fan_in(s);
    int rc;

    assert(!s->finished);
    s->finished = true;
    if (s->run_count == 0) {
        sort_arena(s);
        return DX_OK;
    }
    rc = spill(s, err);
    (void)munmap(s->arena, s->memory);
    s->arena = NULL;
    while (rc == DX_OK && s->run_count > most) {
        size_t count = s->run_count - most + 1;

        rc = merge_tail(s, count < most ? count : most, err);
    }
    return rc == DX_OK ? merge_begin(s, 0, s->run_count, err) : rc;
}

int dx_spill_sort_next(struct dx_spill_sort *s, struct dx_span *key, struct dx_span *value,
                       struct dx_error *err)
{
    int rc;

    assert(s->finished);
    if (s->run_count == 0) {
        uint64_t at;

        if (s->next_entry == s->entry_count)
            return 0;
        at = entries(s)[s->next_entry++].at;
        *key = record_key(s, at);
        *value = record_value(s, at);
        return 1;
    }
    rc = merge_next(s, key, value, err);
    if (rc == 1)
        s->returned++;
    if (rc == 0 && s->returned != s->count)
        return dx_fail(err, DX_E_CORRUPT, "%s: %llu records were sorted, %llu came back", s->dir,
                       (unsigned long long)s->count, (unsigned long long)s->returned);
    return rc;
}

int dx_spill_sort_rewind(struct dx_spill_sort *s, struct dx_error *err)
{
    assert(s->finished);
    s->next_entry = 0;
    s->returned = 0;
    if (s->run_count == 0)
        return DX_OK;
    merge_end(s);
    return merge_begin(s, 0, s->run_count, err);
}

uint64_t dx_spill_sort_count(const struct dx_spill_sort *s)
{
    return s->count;
}

uint64_t dx_spill_sort_spilled(const struct dx_spill_sort *s)
{
    return s->spilled;
}

void dx_spill_sort_free(struct dx_spill_sort **sort)
{
    struct dx_spill_sort *s = *sort;

    if (s == NULL)
        return;
    merge_end(s);
    for (size_t i = 0; i < s->run_count; i++)
        (void)close(s->runs[i].fd);
    free(s->runs);
    if (s->arena != NULL)
        (void)munmap(s->arena, s->memory);
    ZSTD_freeCCtx(s->cctx);
    ZSTD_freeDCtx(s->dctx);
    free(s->dir);
    free(s);
    *sort = NULL;
}
