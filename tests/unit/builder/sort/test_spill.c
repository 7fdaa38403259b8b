/* SPDX-License-Identifier: Apache-2.0
 * The external sorter against qsort, at budgets that make it spill and merge in several
 * passes, in order of adding and with one record a key; damaged runs; no memory; the spill file's replay. */
#include "builder/sort/spill_ahead.h"
#include "builder/sort/spill_file.h"
#include "builder/sort/spill_run.h"
#include "builder/sort/spill_sort.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/fail.h"
#include "tests/support/sample.h"

static int failures;

struct record {
    size_t at; /* in `bytes` */
    uint32_t key_size;
    uint32_t value_size;
    uint32_t number;
};

static uint8_t *bytes;
static uint64_t seed;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* size */
static size_t fill(uint8_t *to, size_t size)
{
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t drawn = draw();

        memcpy(to + at, &drawn, size - at < sizeof drawn ? size - at : sizeof drawn);
    }
    return size;
}

static struct dx_span key_of(const struct record *r)
{
    return dx_span_of(bytes + r->at, r->key_size);
}

static int compare(const void *a, const void *b)
{
    const struct record *x = a;
    const struct record *y = b;
    int c = dx_span_compare(key_of(x), key_of(y));

    return c != 0 ? c : (x->number > y->number) - (x->number < y->number);
}

static const struct {
    const char *name;
    size_t records;
    size_t memory;
    size_t key_max;
    unsigned letters; /* few letters: many equal keys and long shared prefixes */
    size_t value_max;
    bool spills, passes;
    size_t shared; /* bytes that the keys of each half begin with */
} rows[] = {
    { "empty", 0, 1 << 20, 8, 4, 8, false, false, 0 },
    { "one", 1, 1 << 20, 8, 4, 8, false, false, 0 },
    { "in memory", 5000, 4 << 20, 30, 3, 40, false, false, 0 },
    { "empty keys and values", 3000, 1 << 20, 1, 1, 1, false, false, 0 },
    { "few runs", 20000, 1 << 19, 30, 3, 40, true, false, 0 },
    { "several passes", 60000, 64 << 10, 12, 2, 60, true, true, 0 },
    { "one key, few runs", 30000, 1 << 19, 1, 1, 40, true, false, 0 },
    { "one key, in memory", 30000, 4 << 20, 1, 1, 40, false, false, 0 },
    { "large values", 2000, 1 << 20, 20, 26, 100000, true, true, 0 },
    { "in memory, 4 bytes shared", 5000, 4 << 20, 30, 3, 40, false, false, 4 },
    { "in memory, 8 bytes shared", 5000, 4 << 20, 3, 3, 40, false, false, 8 },
    { "in memory, 20 bytes shared", 5000, 4 << 20, 30, 3, 40, false, false, 20 },
    { "few runs, 5 bytes shared", 20000, 1 << 19, 30, 3, 40, true, false, 5 },
};

static int new_sort(struct dx_spill_sort **s, const char *dir, size_t memory, struct dx_error *err)
{
    struct dx_spill_sort_options options = { .dir = dir, .memory_bytes = memory, .lanes = 1 };

    return dx_spill_sort_new(s, &options, err);
}

static int sort_row(size_t row, const char *dir)
{
    const size_t records = dx_sample(rows[row].records,
                                     rows[row].records / (rows[row].passes ? 3 : 1));
    struct dx_spill_sort_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_spill_sort *s = NULL;
    struct record *want = calloc(records + 1, sizeof *want);
    struct dx_span key;
    struct dx_span value;
    size_t size = 0;
    size_t n = 0;
    int rc;

    seed = 88172645463325252u + row;
    bytes = malloc(records * (rows[row].shared + rows[row].key_max + rows[row].value_max) + 1);
    if (want == NULL || bytes == NULL)
        abort();
    rc = new_sort(&s, dir, rows[row].memory, &err);
    for (size_t i = 0; rc == DX_OK && i < records; i++) {
        struct record *r = &want[i];

        *r = (struct record){ size, (uint32_t)(draw() % rows[row].key_max),
                              (uint32_t)(draw() % rows[row].value_max), (uint32_t)i };
        r->key_size += (uint32_t)rows[row].shared;
        for (size_t k = 0; k < rows[row].shared; k++)
            bytes[size++] = (uint8_t)('m' - (k + 1 == rows[row].shared && i > records / 2));
        for (size_t k = rows[row].shared; k < r->key_size; k++)
            bytes[size++] = (uint8_t)('a' + draw() % rows[row].letters);
        size += fill(bytes + size, r->value_size);
        rc = dx_spill_sort_add(s, 0, key_of(r),
                               dx_span_of(bytes + r->at + r->key_size, r->value_size), &err);
    }
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(s, &err);
    qsort(want, records, sizeof *want, compare);
    for (int pass = 0; pass < 2 && rc == DX_OK; pass++) {
        n = 0;
        while (rc == DX_OK && (rc = dx_spill_sort_next(s, &key, &value, &err)) == 1) {
            const struct record *r = &want[n];

            rc = DX_OK;
            if (n == records || !dx_span_equal(key, key_of(r)) ||
                !dx_span_equal(value, dx_span_of(bytes + r->at + r->key_size, r->value_size)))
                rc = dx_fail(&err, DX_E_CORRUPT, "record %zu of %zu differs", n, records);
            n++;
        }
        if (rc == DX_OK && n != records)
            rc = dx_fail(&err, DX_E_CORRUPT, "%zu of %zu records", n, records);
        if (rc == DX_OK)
            rc = dx_spill_sort_rewind(s, &err);
    }
    if (rc == DX_OK) {
        dx_spill_sort_get_stats(s, &stats);
        if ((stats.spilled_bytes > 0) != rows[row].spills ||
            (stats.passes > 0) != rows[row].passes || dx_spill_sort_count(s) != records)
            rc = dx_fail(&err, DX_E_CORRUPT, "spilled %llu bytes in %llu runs, %llu passes",
                         (unsigned long long)stats.spilled_bytes, (unsigned long long)stats.runs,
                         (unsigned long long)stats.passes);
    }
    if (rc != DX_OK)
        fprintf(stderr, "row \"%s\": %s\n", rows[row].name, err.text);
    dx_spill_sort_free(&s);
    free(want);
    free(bytes);
    return rc != DX_OK;
}

static int too_large(const char *dir)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_spill_sort *s = NULL;
    int rc = new_sort(&s, dir, 64 << 10, &err);

    bytes = calloc(1, 64 << 10);
    if (rc == DX_OK)
        rc = dx_spill_sort_add(s, 0, dx_span_str("k"), dx_span_of(bytes, 16 << 10), &err);
    free(bytes);
    dx_spill_sort_free(&s);
    if (rc == DX_E_LIMIT && strstr(err.text, "--memory") != NULL)
        return 0;
    fprintf(stderr, "a record over a quarter of the budget: %d %s\n", rc, err.text);
    return 1;
}

static int collect(void *ctx, struct dx_span piece, struct dx_error *err)
{
    struct dx_buf *b = ctx;

    dx_buf_append(b, piece.data, piece.size);
    return b->failed ? dx_buf_fail(b, err, "collect") : DX_OK;
}

static int replay(const char *dir)
{
    static const size_t sizes[] = { 0, 1, 7, 1000, 131071, 131072, 131073, 400000 };
    struct dx_buf want = DX_BUF_INIT(1 << 24);
    struct dx_buf got = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_spill_file *f = NULL;
    int rc = dx_spill_file_new(&f, dir, &err);
    int bad;

    seed = 1;
    for (size_t i = 0; rc == DX_OK && i < sizeof sizes / sizeof *sizes; i++) {
        size_t from = want.size;

        (void)dx_buf_reserve(&want, sizes[i] + 1);
        for (size_t k = 0; k < sizes[i]; k++)
            dx_buf_u8(&want, (uint8_t)draw());
        rc = dx_spill_file_append(f, dx_span_of(want.data + from, sizes[i]), &err);
    }
    if (rc == DX_OK)
        rc = dx_spill_file_replay(f, collect, &got, &err);
    bad = rc != DX_OK ||
          !dx_span_equal(dx_span_of(want.data, want.size), dx_span_of(got.data, got.size));
    if (bad)
        fprintf(stderr, "replay: %zu of %zu bytes: %s\n", got.size, want.size, err.text);
    dx_spill_file_free(&f);
    dx_buf_release(&want);
    dx_buf_release(&got);
    return bad;
}

/* The disk changes a byte of a run behind the sorter's back: it must say so. */
static int damaged(const char *dir)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_spill_sort *s = NULL;
    struct dx_span key;
    struct dx_span value;
    int lowest = dup(0);
    int rc = new_sort(&s, dir, 64 << 10, &err);
    uint8_t text[8] = { 0 };

    (void)close(lowest);
    for (uint32_t i = 0; rc == DX_OK && i < 4000; i++) {
        dx_store_u32(text, i * 2654435761u);
        rc = dx_spill_sort_add(s, 0, dx_span_of(text, 8), dx_span_of(text, 4), &err);
    }
    /* The first run's file took the lowest free descriptor. */
    if (rc != DX_OK || pwrite(lowest, "x", 1, 200) != 1) {
        fprintf(stderr, "damaged: cannot set up: %s\n", err.text);
        dx_spill_sort_free(&s);
        return 1;
    }
    rc = dx_spill_sort_finish(s, &err);
    while (rc == DX_OK && (rc = dx_spill_sort_next(s, &key, &value, &err)) == 1)
        rc = DX_OK;
    dx_spill_sort_free(&s);
    if (rc == DX_E_CORRUPT)
        return 0;
    fprintf(stderr, "damaged run: %d %s\n", rc, err.text);
    return 1;
}

struct pair {
    uint8_t key[40];
    uint8_t value[12];
    size_t key_size;
    size_t value_size;
};

/* Long common beginnings, many duplicates, keys and values that continue each other. */
static void make(struct pair *r, unsigned kinds)
{
    long pick = random() % kinds;

    r->key_size = (size_t)snprintf((char *)r->key, sizeof r->key, "%.*s%ld", (int)(pick % 23),
                                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", pick / 3);
    r->value_size = (size_t)random() % 12;
    for (size_t i = 0; i < r->value_size; i++)
        r->value[i] = (uint8_t)(random() % 3);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;
    int c = dx_span_compare(dx_span_of(x->key, x->key_size), dx_span_of(y->key, y->key_size));

    return c != 0 ? c
                  : dx_span_compare(dx_span_of(x->value, x->value_size),
                                    dx_span_of(y->value, y->value_size));
}

static size_t files_left(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);

    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    return n - 2;
}

static int count_one(void *ctx, struct dx_span key, struct dx_span value, struct dx_error *err)
{
    (void)key;
    (void)value;
    (void)err;
    ++*(size_t *)ctx;
    return 0;
}

static void check_distinct(const char *dir, size_t n, unsigned kinds, size_t memory, unsigned lanes,
                           unsigned fan_in)
{
    struct dx_spill_sort_options options = {
        .dir = dir, .memory_bytes = memory, .lanes = lanes, .distinct = true, .fan_in = fan_in
    };
    struct pair *all = calloc(n + 1, sizeof *all);
    struct dx_spill_sort_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_spill_sort *s = NULL;
    struct dx_span key;
    struct dx_span value;
    size_t each = 0;
    size_t i = 0;
    int rc = dx_spill_sort_new(&s, &options, &err);

    for (size_t k = 0; rc == 0 && k < n; k++) {
        make(&all[k], kinds);
        rc = dx_spill_sort_add(s, (unsigned)k % lanes, dx_span_of(all[k].key, all[k].key_size),
                               dx_span_of(all[k].value, all[k].value_size), &err);
        if (k == n / 2) /* a lane may be ended and go on */
            rc = dx_spill_sort_end(s, 0, &err);
    }
    for (unsigned lane = 0; rc == 0 && lane < lanes; lane++)
        rc = dx_spill_sort_end(s, lane, &err);
    qsort(all, n, sizeof *all, compare_pairs);
    if (rc == 0)
        rc = dx_spill_sort_each(s, count_one, &each, &err);
    if (rc == 0)
        rc = dx_spill_sort_finish(s, &err);
    while (rc >= 0 && (rc = dx_spill_sort_next(s, &key, &value, &err)) == 1) {
        if (i >= n || !dx_span_equal(key, dx_span_of(all[i].key, all[i].key_size)) ||
            !dx_span_equal(value, dx_span_of(all[i].value, all[i].value_size))) {
            FAIL("n %zu, memory %zu, fan %u: record %zu differs", n, memory, fan_in, i);
            break;
        }
        for (i++; i < n && dx_span_equal(key, dx_span_of(all[i].key, all[i].key_size));)
            i++;
    }
    if (rc < 0)
        FAIL("%s", err.text);
    if (i != n)
        FAIL("n %zu, memory %zu, fan %u: ends at %zu", n, memory, fan_in, i);
    dx_spill_sort_get_stats(s, &stats);
    if (dx_spill_sort_count(s) != n || each > n)
        FAIL("added %llu, each %zu of %zu", (unsigned long long)dx_spill_sort_count(s), each, n);
    if (memory < n * 10 && (stats.runs == 0 || (fan_in == 2 && stats.passes == 0)))
        FAIL("n %zu, memory %zu: nothing was spilled", n, memory);
    dx_spill_sort_free(&s);
    if (files_left(dir) != 0)
        FAIL("%zu files left", files_left(dir));
    free(all);
}

/* The same records from a thread that reads ahead, by places or by copies. */
static int check_ahead(struct dx_spill_sort *s, uint32_t n, struct dx_error *err)
{
    struct dx_spill_ahead *a = NULL;
    struct dx_span key;
    struct dx_span value;
    uint32_t i = 0;
    int rc = dx_spill_ahead_new(&a, s, err);

    for (; rc >= 0 && (rc = dx_spill_ahead_next(a, &key, &value, err)) == 1; i++) {
        char text[16];
        int size = snprintf(text, sizeof text, "com.%08u", i);

        if (!dx_span_equal(key, dx_span_of(text, (size_t)size)) ||
            !dx_span_equal(value, dx_span_of(text + 4, 8)))
            FAIL("ahead, n %u: record %u differs", n, i);
    }
    if (i != n)
        FAIL("ahead, n %u: ends at %u", n, i);
    dx_spill_ahead_free(&a);
    return rc;
}

/* Keys that no two records share may go into any lane; lanes that were not ended come out in order
 * too, from memory or from runs, and once more. */
static void check_unique(const char *dir, uint32_t n, size_t memory, unsigned lanes)
{
    struct dx_spill_sort_options options = {
        .dir = dir, .memory_bytes = memory, .lanes = lanes, .unique = true
    };
    struct dx_spill_sort_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_spill_sort *s = NULL;
    struct dx_span key;
    struct dx_span value;
    char text[16];
    int rc = dx_spill_sort_new(&s, &options, &err);

    for (uint32_t i = 0; rc == DX_OK && i < n; i++) {
        uint32_t k = (uint32_t)((uint64_t)i * 7919 % n); /* a prime that divides no n below */
        int size = snprintf(text, sizeof text, "com.%08u", k);

        rc = dx_spill_sort_add(s, (k / 3) % lanes, dx_span_of(text, (size_t)size),
                               dx_span_of(text + 4, 8), &err);
    }
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(s, &err);
    for (int pass = 0; rc == DX_OK && pass < 2; pass++) {
        uint32_t i = 0;

        for (; (rc = dx_spill_sort_next(s, &key, &value, &err)) == 1; i++) {
            int size = snprintf(text, sizeof text, "com.%08u", i);

            if (!dx_span_equal(key, dx_span_of(text, (size_t)size)) ||
                !dx_span_equal(value, dx_span_of(text + 4, 8)))
                FAIL("unique, n %u, memory %zu, lanes %u: record %u differs", n, memory, lanes, i);
        }
        if (i != n)
            FAIL("unique, n %u, memory %zu, lanes %u: ends at %u", n, memory, lanes, i);
        if (rc == DX_OK)
            rc = dx_spill_sort_rewind(s, &err);
    }
    if (rc == DX_OK)
        rc = check_ahead(s, n, &err);
    dx_spill_sort_get_stats(s, &stats);
    if (dx_spill_sort_in_memory(s) != (stats.runs == 0))
        FAIL("unique, n %u, memory %zu: in memory, or not", n, memory);
    if (rc != DX_OK || (stats.runs > 0) != (memory < (size_t)n * 40))
        FAIL("unique, n %u, memory %zu: %d %s, %llu runs", n, memory, rc, err.text,
             (unsigned long long)stats.runs);
    dx_spill_sort_free(&s);
}

/* A run that the disk changed or cut is refused, wherever. */
static void test_damaged_run(const char *dir)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_spill_codec *codec = NULL;
    struct dx_spill_run_writer *w = NULL;
    struct dx_spill_run run = { .fd = dx_spill_open(dir, &err), .id = 7 };
    struct dx_buf all = DX_BUF_INIT(1 << 20);

    if (dx_spill_codec_new(&codec, dir, &err) < 0 || dx_spill_run_create(&w, codec, &run, &err) < 0)
        FAIL("%s", err.text);
    for (int i = 0; i < 3000; i++) {
        char key[32];
        int n = snprintf(key, sizeof key, "key %06d", i * i % 4001);

        if (dx_spill_run_write(w, dx_span_of(key, (size_t)n), dx_span_of(key, 3), &err) < 0)
            FAIL("%s", err.text);
    }
    if (dx_spill_run_finish(&w, &run, &err) < 0 || run.records != 3000 ||
        dx_buf_reserve(&all, (size_t)run.size) == NULL ||
        dx_file_pread(run.fd, "run", 0, (size_t)run.size, all.data, &err) < 0)
        FAIL("%s", err.text);
    all.size = (size_t)run.size;
    for (size_t at = 0; at <= all.size; at += 1 + at / 50) {
        for (int how = 0; how < 3; how++) {
            static const char *const names[] = { "flip", "cut", "other run" };
            struct dx_spill_run_reader *r = NULL;
            struct dx_spill_run damaged = run;
            struct dx_span key;
            struct dx_span value;
            int n = 0;
            int rc;

            if (at == all.size && how < 2)
                continue;
            if (how == 0)
                all.data[at] ^= 0x10;
            if (how == 2)
                damaged.id = at + 8;
            if (ftruncate(run.fd, 0) < 0 ||
                pwrite(run.fd, all.data, how == 1 ? at : all.size, 0) < 0)
                FAIL("write");
            if (how == 0)
                all.data[at] ^= 0x10;
            rc = dx_spill_run_open(&r, codec, &damaged, &err);
            while (rc >= 0 && (rc = dx_spill_run_read(r, &key, &value, &err)) == 1)
                n++;
            if (rc >= 0)
                FAIL("%s at %zu: %d records, no error", names[how], at, n);
            dx_spill_run_close(&r);
        }
    }
    (void)close(run.fd);
    dx_spill_codec_free(&codec);
    dx_buf_release(&all);
}

/* A few runs, and their merge. */
static int sort_without_memory(void *ctx, struct dx_error *err)
{
    struct dx_spill_sort *s = NULL;
    struct dx_span key;
    struct dx_span value;
    size_t n = 0;
    int rc = new_sort(&s, ctx, 64 << 10, err);

    for (uint32_t i = 0; rc == DX_OK && i < 5000; i++) {
        uint8_t text[8];

        dx_store_u64(text, i * UINT64_C(0x9E3779B97F4A7C15));
        rc = dx_spill_sort_add(s, 0, dx_span_of(text, sizeof text), dx_span_of(text, sizeof text),
                               err);
    }
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(s, err);
    while (rc == DX_OK && (rc = dx_spill_sort_next(s, &key, &value, err)) == 1) {
        rc = DX_OK;
        n++;
    }
    if (rc == DX_OK && n != 5000)
        rc = dx_fail(err, DX_E_CORRUPT, "%zu records", n);
    dx_spill_sort_free(&s);
    return rc;
}

int main(void)
{
    const struct {
        size_t n;
        unsigned kinds;
        size_t memory;
        unsigned lanes, fan_in;
    } distinct[] = {
        { 0, 1, 65536, 1, 8 },
        { 1, 1, 65536, 2, 8 },
        { 5000, 1, 4096, 1, 3 },
        { 20000, 100000, 8192, 1, 2 },
        { 20000, 100000, 16384, 3, 4 },
        { 20000, 50, 16384, 2, 256 },
        { 20000, 100000, 1 << 22, 2, 8 },
        { 3000, 1000, 1024, 1, 2 },
        { dx_sample(50000, 15000), 1000000, 65536, 2, 5 },
    };

    char dir[] = "/tmp/dx-test-spill-XXXXXX";
    struct dx_error err = DX_ERROR_INIT;
    int bad = 0;

    if (mkdtemp(dir) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bad += sort_row(i, dir);
    srandom(1);
    check_unique(dir, 0, 65536, 2);
    check_unique(dir, 1, 65536, 3);
    check_unique(dir, 20000, 8 << 20, 2);
    check_unique(dir, 20000, 65536, 4);
    check_unique(dir, (uint32_t)dx_sample(300000, 100000), 32 << 20, 2); /* lanes in huge pages */
    for (size_t i = 0; i < sizeof distinct / sizeof *distinct; i++)
        check_distinct(dir, distinct[i].n, distinct[i].kinds, distinct[i].memory, distinct[i].lanes,
                       distinct[i].fan_in);
    test_damaged_run(dir);
    bad += (int)fail_alloc_each("sort", 0, sort_without_memory, dir);
    bad += failures;
    bad += too_large(dir);
    bad += replay(dir);
    bad += damaged(dir);
    if (rmdir(dir) < 0) {
        fprintf(stderr, "%s is not empty after the sorters are gone\n", dir);
        bad++;
        (void)dx_dir_remove(dir, &err);
    }
    return bad != 0;
}
