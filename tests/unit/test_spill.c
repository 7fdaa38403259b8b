/* SPDX-License-Identifier: Apache-2.0
 * The external sorter against qsort, at budgets that make it spill and merge in several
 * passes, and the spill file's replay. */
#include "builder/spill_file.h"
#include "builder/spill_sort.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

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
    bool spills;
} rows[] = {
    { "empty", 0, 1 << 20, 8, 4, 8, false },
    { "one", 1, 1 << 20, 8, 4, 8, false },
    { "in memory", 5000, 4 << 20, 30, 3, 40, false },
    { "empty keys and values", 3000, 1 << 20, 1, 1, 1, false },
    { "few runs", 20000, 1 << 19, 30, 3, 40, true },
    { "several passes", 60000, 64 << 10, 12, 2, 60, true },
    { "large values", 2000, 1 << 20, 20, 26, 100000, true },
};

static int sort_row(size_t row, const char *dir)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_spill_sort *s = NULL;
    struct record *want = calloc(rows[row].records + 1, sizeof *want);
    struct dx_span key;
    struct dx_span value;
    size_t size = 0;
    size_t n = 0;
    int rc;

    seed = 88172645463325252u + row;
    bytes = malloc(rows[row].records * (rows[row].key_max + rows[row].value_max) + 1);
    if (want == NULL || bytes == NULL)
        abort();
    rc = dx_spill_sort_new(&s, dir, rows[row].memory, &err);
    for (size_t i = 0; rc == DX_OK && i < rows[row].records; i++) {
        struct record *r = &want[i];

        *r = (struct record){ size, (uint32_t)(draw() % rows[row].key_max),
                              (uint32_t)(draw() % rows[row].value_max), (uint32_t)i };
        for (size_t k = 0; k < r->key_size; k++)
            bytes[size++] = (uint8_t)('a' + draw() % rows[row].letters);
        for (size_t k = 0; k < r->value_size; k++)
            bytes[size++] = (uint8_t)draw();
        rc = dx_spill_sort_add(s, key_of(r), dx_span_of(bytes + r->at + r->key_size, r->value_size),
                               &err);
    }
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(s, &err);
    qsort(want, rows[row].records, sizeof *want, compare);
    for (int pass = 0; pass < 2 && rc == DX_OK; pass++) {
        n = 0;
        while (rc == DX_OK && (rc = dx_spill_sort_next(s, &key, &value, &err)) == 1) {
            const struct record *r = &want[n];

            rc = DX_OK;
            if (n == rows[row].records || !dx_span_equal(key, key_of(r)) ||
                !dx_span_equal(value, dx_span_of(bytes + r->at + r->key_size, r->value_size)))
                rc = dx_fail(&err, DX_E_CORRUPT, "record %zu of %zu differs", n, rows[row].records);
            n++;
        }
        if (rc == DX_OK && n != rows[row].records)
            rc = dx_fail(&err, DX_E_CORRUPT, "%zu of %zu records", n, rows[row].records);
        if (rc == DX_OK)
            rc = dx_spill_sort_rewind(s, &err);
    }
    if (rc == DX_OK && (dx_spill_sort_spilled(s) > 0) != rows[row].spills)
        rc = dx_fail(&err, DX_E_CORRUPT, "spilled %llu bytes",
                     (unsigned long long)dx_spill_sort_spilled(s));
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
    int rc = dx_spill_sort_new(&s, dir, 64 << 10, &err);

    bytes = calloc(1, 64 << 10);
    if (rc == DX_OK)
        rc = dx_spill_sort_add(s, dx_span_str("k"), dx_span_of(bytes, 16 << 10), &err);
    free(bytes);
    dx_spill_sort_free(&s);
    if (rc == DX_E_LIMIT && strstr(err.text, "--memory") != NULL)
        return 0;
    fprintf(stderr, "a record over an eighth of the budget: %d %s\n", rc, err.text);
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

        for (size_t k = 0; k < sizes[i]; k++)
            dx_buf_u8(&want, (uint8_t)draw());
        rc = dx_spill_file_append(f, dx_span_of(want.data + from, sizes[i]), &err);
    }
    if (rc == DX_OK)
        rc = dx_spill_file_replay(f, collect, &got, &err);
    bad = rc != DX_OK || dx_spill_file_size(f) != want.size ||
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
    int rc = dx_spill_sort_new(&s, dir, 64 << 10, &err);
    uint8_t text[8] = { 0 };

    (void)close(lowest);
    for (uint32_t i = 0; rc == DX_OK && i < 4000; i++) {
        dx_store_u32(text, i * 2654435761u);
        rc = dx_spill_sort_add(s, dx_span_of(text, 8), dx_span_of(text, 4), &err);
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

int main(void)
{
    char dir[] = "/tmp/dx-test-spill-XXXXXX";
    struct dx_error err = DX_ERROR_INIT;
    int bad = 0;

    if (mkdtemp(dir) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bad += sort_row(i, dir);
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
