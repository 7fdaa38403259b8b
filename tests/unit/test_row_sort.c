/* SPDX-License-Identifier: Apache-2.0
 * test_row_sort.c - the external sort against qsort, with budgets that force runs and passes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/row_merge.h"
#include "builder/row_run.h"
#include "builder/row_sort.h"

static int failures;
static char dir[] = "/tmp/dx-test-row-sort-XXXXXX";

#define FAIL(...)                                       \
    do {                                                \
        failures++;                                     \
        fprintf(stderr, "%s:%d: ", __func__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fputc('\n', stderr);                            \
    } while (0)

struct record {
    uint8_t key[40];
    uint8_t value[12];
    size_t key_size;
    size_t value_size;
};

/* Long common beginnings, many duplicates, values that continue each other. Keys end in a
 * byte that stands nowhere else in them, so they are prefix-free. */
static void make(struct record *r, unsigned kinds)
{
    long pick = random() % kinds;

    r->key_size = (size_t)snprintf((char *)r->key, sizeof r->key, "%.*s%ld", (int)(pick % 23),
                                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", pick / 3);
    r->key[r->key_size++] = 0;
    r->value_size = (size_t)random() % 12;
    for (size_t i = 0; i < r->value_size; i++)
        r->value[i] = (uint8_t)(random() % 3);
}

static int compare(const void *a, const void *b)
{
    const struct record *x = a;
    const struct record *y = b;
    int c = dx_span_compare(dx_span_of(x->key, x->key_size), dx_span_of(y->key, y->key_size));

    return c != 0 ? c
                  : dx_span_compare(dx_span_of(x->value, x->value_size),
                                    dx_span_of(y->value, y->value_size));
}

static size_t files_left(void)
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

static void check(size_t n, unsigned kinds, size_t memory, unsigned lanes, unsigned fan_in)
{
    struct dx_row_sort_options options = {
        .dir = dir, .memory_bytes = memory, .lanes = lanes, .fan_in = fan_in
    };
    struct record *all = calloc(n + 1, sizeof *all);
    struct dx_row_sort_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_sort *s = NULL;
    struct dx_span key;
    struct dx_span value;
    size_t each = 0;
    size_t i = 0;
    int rc = dx_row_sort_new(&s, &options, &err);

    for (size_t k = 0; rc == 0 && k < n; k++) {
        make(&all[k], kinds);
        rc = dx_row_sort_add(s, (unsigned)k % lanes, dx_span_of(all[k].key, all[k].key_size),
                             dx_span_of(all[k].value, all[k].value_size), &err);
        if (k == n / 2) /* a lane may be ended and go on */
            rc = dx_row_sort_lane_end(s, 0, &err);
    }
    for (unsigned lane = 0; rc == 0 && lane < lanes; lane++)
        rc = dx_row_sort_lane_end(s, lane, &err);
    qsort(all, n, sizeof *all, compare);
    if (rc == 0)
        rc = dx_row_sort_each(s, count_one, &each, &err);
    if (rc == 0)
        rc = dx_row_sort_merge(s, &err);
    while (rc >= 0 && (rc = dx_row_sort_next(s, &key, &value, &err)) == 1) {
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
    dx_row_sort_get_stats(s, &stats);
    if (stats.added != n || each > n)
        FAIL("added %llu, each %zu of %zu", (unsigned long long)stats.added, each, n);
    if (memory < n * 10 && (stats.runs == 0 || (fan_in == 2 && stats.passes == 0)))
        FAIL("n %zu, memory %zu: nothing was spilled", n, memory);
    dx_row_sort_free(&s);
    if (files_left() != 0)
        FAIL("%zu files left", files_left());
    free(all);
}

/* A run that the disk changed or cut is refused, wherever. */
static void test_damaged_run(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_codec *codec = NULL;
    struct dx_row_run_writer *w = NULL;
    struct dx_buf bytes = DX_BUF_INIT(1 << 20);
    char path[64];
    uint64_t size;

    (void)snprintf(path, sizeof path, "%s/run", dir);
    if (dx_row_codec_new(&codec, &err) < 0 || dx_row_run_create(&w, codec, path, &err) < 0)
        FAIL("%s", err.text);
    for (int i = 0; i < 3000; i++) {
        char key[32];
        int n = snprintf(key, sizeof key, "key %06d", i * i % 4001);

        if (dx_row_run_write(w, dx_span_of(key, (size_t)n), dx_span_of(key, 3), &err) < 0)
            FAIL("%s", err.text);
    }
    if (dx_row_run_finish(&w, &size, &err) < 0 || dx_file_read(path, 1 << 20, &bytes, &err) < 0)
        FAIL("%s", err.text);
    for (size_t at = 0; at < bytes.size; at += 1 + at / 50) {
        for (int how = 0; how < 2; how++) {
            struct dx_row_run_reader *r = NULL;
            struct dx_span key;
            struct dx_span value;
            int n = 0;
            int fd;
            int rc;

            (void)unlink(path);
            fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
            bytes.data[at] ^= (uint8_t)(how == 0 ? 0x10 : 0);
            if (write(fd, bytes.data, how == 0 ? bytes.size : at) < 0)
                FAIL("write");
            bytes.data[at] ^= (uint8_t)(how == 0 ? 0x10 : 0);
            (void)close(fd);
            rc = dx_row_run_open(&r, codec, path, &err);
            while (rc >= 0 && (rc = dx_row_run_read(r, &key, &value, &err)) == 1)
                n++;
            if (rc >= 0)
                FAIL("%s at %zu: %d records, no error", how == 0 ? "flip" : "cut", at, n);
            dx_row_run_close(&r);
        }
    }
    (void)unlink(path);
    dx_row_codec_free(&codec);
    dx_buf_release(&bytes);
}

int main(void)
{
    static const struct {
        size_t n;
        unsigned kinds;
        size_t memory;
        unsigned lanes, fan_in;
    } rows[] = {
        { 0, 1, 65536, 1, 8 },
        { 1, 1, 65536, 2, 8 },
        { 5000, 1, 4096, 1, 3 },
        { 20000, 100000, 8192, 1, 2 },
        { 20000, 100000, 16384, 3, 4 },
        { 20000, 50, 16384, 2, 256 },
        { 20000, 100000, 1 << 22, 2, 8 },
        { 3000, 1000, 1024, 1, 2 },
        { 50000, 1000000, 65536, 2, 5 },
    };

    if (mkdtemp(dir) == NULL)
        return 1;
    srandom(1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(rows[i].n, rows[i].kinds, rows[i].memory, rows[i].lanes, rows[i].fan_in);
    test_damaged_run();
    (void)rmdir(dir);
    return failures == 0 ? 0 : 1;
}
