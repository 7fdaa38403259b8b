/* SPDX-License-Identifier: Apache-2.0
 * Rows of Parquet files: every column of every file of the public corpus, each file in a process of
 * its own with limits on time and memory; tests/e2e/parquet_input.py compares the values.
 *
 *   test_parquet_rows                            all files against MANIFEST.tsv
 *   test_parquet_rows --columns FILE             the paths of its columns
 *   test_parquet_rows --dump FILE COLUMN...      rows with COLUMN... as URL and extras: the row, then each
 *                                                field in hexadecimal, N for null
 *   test_parquet_rows --each FILE COLUMN...      the same, each COLUMN alone; a line E ends each
 */
#include "builder/input/parquet/parquet_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/map.h"
#include "builder/input/records/row_record.h"
#include "parquet/footer.h"
#include "tests/support/bounded_child.h"
#include "tests/support/fail.h"
#include "tests/support/sample.h"

#define SKIP 77
#ifdef DX_TESTS_ASAN /* which keeps what was freed */
#define GROWTH_MAX_KB (1024 * 1024)
#else
#define GROWTH_MAX_KB (256 * 1024)
#endif
#define MEMORY ((uint64_t)256 << 20)

static int failures;
static uint32_t leaf_first, leaf_step = 1; /* which columns of a file are read */
static uint64_t rows_max = UINT64_MAX;     /* after which a column is read no further */

static void print_field(struct dx_span s)
{
    if (s.data == NULL)
        printf("\tN");
    else
        printf("\tx");
    for (size_t i = 0; i < s.size; i++)
        printf("%02x", s.data[i]);
}

/* Reads all rows; touches or prints each field. */
static int drain(struct dx_parquet_rows *p, size_t fields, bool print, uint64_t *rows,
                 struct dx_error *err)
{
    struct dx_span field[DX_ROW_EXTRA + DX_EXTRA_COLUMNS_MAX];
    struct dx_batch batch = { .data = NULL };
    volatile unsigned sum = 0;
    const uint64_t before = *rows;
    int rc;

    while ((rc = *rows - before < rows_max ? dx_parquet_rows_fill(p, &batch, err) : DX_OK) > 0)
        for (size_t i = 0; rc != DX_RECORDS_GROW && i < batch.count; i++) {
            if (!dx_row_record_get(dx_batch_record(&batch, i), field, fields))
                FAIL("a record that cannot be read back");
            (*rows)++;
            if (print)
                printf("%llu", (unsigned long long)batch.records[i].line);
            for (size_t k = 0; k < fields; k++) {
                for (size_t b = 0; b < field[k].size; b++)
                    sum += field[k].data[b];
                if (print && (k == DX_ROW_URL || k >= DX_ROW_EXTRA))
                    print_field(field[k]);
            }
            if (print)
                printf("\n");
        }
    (void)sum;
    dx_batch_release(&batch);
    return rc;
}

static int read_rows(const char *path, struct dx_columns_want *want, bool print, uint64_t *rows,
                     struct dx_error *err)
{
    struct dx_parquet_rows *p = NULL;
    int rc = dx_parquet_rows_open(&p, path, want, MEMORY, err);

    if (rc == DX_OK)
        rc = drain(p, DX_ROW_EXTRA + want->extra_count, print, rows, err);
    dx_parquet_rows_close(&p);
    return rc;
}

static int dump(int count, char **column, const char *path)
{
    struct dx_columns_want want = { .url = column[0], .no_ts = true };
    struct dx_error err = DX_ERROR_INIT;
    uint64_t rows = 0;
    int rc;

    for (int i = 1; i < count; i++)
        want.extra[want.extra_count++] = column[i];
    rc = read_rows(path, &want, true, &rows, &err);
    dx_columns_want_release(&want);
    printf("E\t%d\t%s\n", rc, rc < 0 ? err.text : "");
    return 0;
}

/* What one file came to; passed from the child by a pipe. */
struct outcome {
    int code; /* of the first refusal; 0: all columns were read */
    unsigned columns;
    uint64_t rows;
    char text[300];
};

static void read_columns(const char *path, const struct dx_pq_footer *f, struct outcome *o)
{
    for (uint32_t leaf = leaf_first % (f->leaf_count + (f->leaf_count == 0));
         leaf < f->leaf_count && leaf < 300; leaf += leaf_step) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_columns_want want = { .no_ts = true };
        char number[16], name[400];
        int rc;

        (void)dx_pq_footer_path(f, leaf, name, sizeof name);
        want.url = name;
        if (f->node[f->leaf[leaf]].parent == 0) {
            (void)snprintf(number, sizeof number, "%u", leaf + 1);
            want.url = f->leaf_count + 1 == f->node_count ? number : name;
        }
        rc = read_rows(path, &want, false, &o->rows, &err);
        o->columns += rc == DX_OK;
        if (rc < 0 && o->code == 0) {
            o->code = rc;
            (void)snprintf(o->text, sizeof o->text, "%.290s", err.text);
        }
    }
}

static bool read_file(const char *path, struct outcome *o, bool list)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pq_footer f;
    char name[400];

    if (dx_map_open(&map, path, DX_MAP_SEQUENTIAL, &err) < 0)
        return false;
    o->code = dx_pq_footer_open(&f, map.bytes, &err);
    if (o->code < 0) {
        (void)snprintf(o->text, sizeof o->text, "%.290s", err.text);
        dx_map_close(&map);
        return true;
    }
    for (uint32_t leaf = 0; list && leaf < f.leaf_count; leaf++)
        printf("%s\n", dx_pq_footer_path(&f, leaf, name, sizeof name));
    if (!list)
        read_columns(path, &f, o);
    dx_pq_footer_release(&f);
    dx_map_close(&map);
    return true;
}

static bool read_bounded(const char *path, void *outcome)
{
    failures = 0;
    return read_file(path, outcome, false) && failures == 0;
}

static void judge(const char *name, const char *expect, const char *oracles,
                  const struct outcome *o)
{
    bool must = (strcmp(expect, "READ") == 0 || strcmp(expect, "NESTED") == 0) &&
                strcmp(oracles, "EEE") != 0; /* which no reader takes: a broken file */

    if (must && o->code != 0 && o->code != DX_E_UNSUPPORTED)
        FAIL("%s must be read: %s", name, o->text);
    if (strncmp(expect, "REFUSE", 6) == 0 && o->code == 0)
        FAIL("%s must be refused", name);
}

static int run_all(const char *folder, char *manifest)
{
    unsigned files = 0, read = 0, columns = 0;
    uint64_t rows = 0;
    char *rest = manifest;

    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        struct outcome o = { 0 };
        const char *name = strsep(&line, "\t"), *expect = strsep(&line, "\t");
        const char *shape = strsep(&line, "\t"), *oracles = strsep(&line, "\t");
        const char *trouble;
        char path[4096];

        if (oracles == NULL || shape == NULL || strcmp(name, "file") == 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        leaf_step = strncmp(expect, "REFUSE", 6) == 0 ? 1 : (uint32_t)dx_sample(1, 13);
        leaf_first = files % leaf_step;
        rows_max = leaf_step == 1 ? UINT64_MAX : 5000;
        trouble = dx_bounded_child(read_bounded, path, &o, sizeof o, GROWTH_MAX_KB);
        if (trouble != NULL)
            FAIL("%s %s", name, trouble);
        else
            judge(name, expect, oracles, &o);
        files++;
        read += o.code == 0;
        columns += o.columns;
        rows += o.rows;
        if (o.code != 0 && (strcmp(expect, "READ") == 0 || strcmp(expect, "NESTED") == 0))
            printf("     %s %s: %s\n", expect, name, o.text);
    }
    printf("%u files, %u read in all columns, %u columns, %llu rows\n", files, read, columns,
           (unsigned long long)rows);
    return failures > 0 || files == 0;
}

int main(int argc, char **argv)
{
    const char *shared = getenv("DX_SHARED_DATA");
    struct dx_buf manifest = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct outcome o = { 0 };
    char folder[2048], path[2100];
    int rc;

    if (argc >= 4 && strcmp(argv[1], "--dump") == 0)
        return dump(argc - 3, argv + 3, argv[2]);
    for (int i = 3; argc >= 4 && strcmp(argv[1], "--each") == 0 && i < argc; i++)
        (void)dump(1, argv + i, argv[2]);
    if (argc >= 4 && strcmp(argv[1], "--each") == 0)
        return 0;
    if (argc == 3 && strcmp(argv[1], "--columns") == 0)
        return read_file(argv[2], &o, true) ? 0 : 2;
    (void)snprintf(folder, sizeof folder, "%s/parquet", shared != NULL ? shared : "../shared/data");
    (void)snprintf(path, sizeof path, "%s/MANIFEST.tsv", folder);
    if (dx_file_read(path, manifest.max, &manifest, &err) < 0) {
        printf("SKIPPED: no Parquet corpus: %s\n", err.text);
        return SKIP;
    }
    dx_buf_u8(&manifest, 0);
    rc = manifest.failed ? 1 : run_all(folder, (char *)manifest.data);
    dx_buf_release(&manifest);
    return rc;
}
