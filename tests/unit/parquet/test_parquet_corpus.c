/* SPDX-License-Identifier: Apache-2.0
 * The public Parquet corpus: every page of every flat column of every file. Each file is
 * read in a process of its own, with limits on time and memory.
 *
 *   test_parquet_corpus                 all files against MANIFEST.tsv
 *   test_parquet_corpus --list          the same, and what became of each file
 *   test_parquet_corpus --dump FILE     values as text, for tests/e2e/parquet_corpus.py
 */
#include "base/file.h"
#include "base/map.h"
#include "parquet/chunk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/bounded_child.h"

#define SKIP 77
#define GROWTH_MAX_KB (256 * 1024)

/* What one file came to; passed from the child by a pipe. */
struct outcome {
    int code;                 /* of the first refusal; 0: all columns were read */
    unsigned columns, nested; /* flat ones that were read, nested ones refused by name */
    uint64_t values;
    char text[300];
};

static void print_value(const struct dx_pq_column *c, const struct dx_pq_values *v, uint32_t i)
{
    if (dx_pq_is_null(v, i)) {
        printf("N\n");
    } else if (v->spans != NULL && c->type >= DX_PQ_BYTE_ARRAY) {
        printf("x");
        for (size_t k = 0; k < v->spans[i].size; k++)
            printf("%02x", v->spans[i].data[k]);
        printf("\n");
    } else if (c->type == DX_PQ_INT96) {
        int64_t us;

        if (dx_pq_int96_us(v->spans[i].data, &us))
            printf("%" PRId64 "\n", us);
        else
            printf("overflow\n");
    } else if (c->is_unsigned) {
        printf("%" PRIu64 "\n", (uint64_t)v->ints[i]);
    } else {
        printf("%" PRId64 "\n", v->ints[i]);
    }
}

/* Touches every byte of every value, so that a bad pointer is seen. */
static uint64_t touch(const struct dx_pq_column *c, const struct dx_pq_values *v)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < v->row_count; i++) {
        if (dx_pq_is_null(v, i))
            continue;
        if (c->type == DX_PQ_BYTE_ARRAY || c->type == DX_PQ_FIXED || c->type == DX_PQ_INT96)
            for (size_t k = 0; k < v->spans[i].size; k++)
                sum += v->spans[i].data[k];
        else
            sum += (uint64_t)v->ints[i];
    }
    return sum;
}

static int read_column(struct dx_span file, const struct dx_pq_footer *f, uint32_t leaf, bool dump,
                       uint64_t *values, struct dx_error *err)
{
    static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    struct dx_pq_reader r = DX_PQ_READER_INIT;
    struct dx_pq_values v = DX_PQ_VALUES_INIT;
    volatile uint64_t sum = 0; /* keeps the reads */
    int rc = 0;

    for (uint32_t g = 0; rc == 0 && g < f->group_count; g++) {
        rc = dx_pq_reader_open(&r, file, f, g, leaf, &limits, err);
        while (rc >= 0 && (rc = dx_pq_reader_next(&r, &v, err)) == 1) {
            sum += touch(&r.walk.column, &v);
            *values += v.row_count;
            for (uint32_t i = 0; dump && i < v.row_count; i++)
                print_value(&r.walk.column, &v, i);
        }
    }
    (void)sum;
    dx_pq_reader_release(&r);
    dx_pq_values_release(&v);
    return rc;
}

static void read_file(struct dx_span file, bool dump, struct outcome *o)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pq_footer f;
    char path[100];

    o->code = dx_pq_footer_open(&f, file, &err);
    if (o->code < 0) {
        (void)snprintf(o->text, sizeof(o->text), "%.290s", err.text);
        return;
    }
    for (uint32_t leaf = 0; leaf < f.leaf_count; leaf++) {
        const struct dx_pq_node *n = &f.node[f.leaf[leaf]];
        bool is_nested = n->max_rep > 0 || n->max_def > 1;
        int rc;

        dx_pq_footer_path(&f, leaf, path, sizeof(path));
        if (dump && !is_nested)
            printf("C\t%s\t%s\t%s\t%u\t%u\n", path, dx_pq_type_name((unsigned)n->type),
                   dx_pq_logical_name(n->logical), n->time_unit, n->scale);
        rc = read_column(file, &f, leaf, dump, &o->values, &err);
        if (rc == 0) {
            o->columns++;
        } else if (is_nested && rc == DX_E_UNSUPPORTED) {
            o->nested++;
        } else if (o->code == 0) {
            o->code = rc;
            (void)snprintf(o->text, sizeof(o->text), "%.60s: %.220s", path, err.text);
        }
    }
    dx_pq_footer_release(&f);
}

static int read_path(const char *path, bool dump, struct outcome *o)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;

    if (dx_map_open(&map, path, DX_MAP_SEQUENTIAL, &err) < 0) {
        printf("%s\n", err.text);
        return -1;
    }
    read_file(map.bytes, dump, o);
    dx_map_close(&map);
    return 0;
}

static bool read_bounded(const char *path, void *outcome)
{
    return read_path(path, false, outcome) == 0;
}

/* NULL, or why the outcome is not what the manifest expects. */
static const char *judge(const char *expect, const char *oracles, const struct outcome *o)
{
    bool refused_by_name = o->code == DX_E_UNSUPPORTED;

    if (strcmp(expect, "NESTED") == 0 && strcmp(oracles, "EEE") == 0)
        return NULL; /* no program reads it: a broken file */

    if (strncmp(expect, "REFUSE", 6) == 0)
        return o->code == 0 && o->nested == 0 ? "was read but must be refused" : NULL;
    if (strcmp(expect, "READ") == 0 || strcmp(expect, "NESTED") == 0)
        return o->code == 0 || refused_by_name ? NULL : "must be read";
    return NULL; /* FUZZ, EITHER, OPT-…: anything but a crash */
}

struct tally {
    char expect[16];
    unsigned files, read, refused;
};

static void count(struct tally *tally, size_t size, const char *expect, const struct outcome *o)
{
    for (size_t i = 0; i < size; i++) {
        if (tally[i].expect[0] == '\0')
            (void)snprintf(tally[i].expect, sizeof(tally[i].expect), "%s", expect);
        if (strcmp(tally[i].expect, expect) != 0)
            continue;
        tally[i].files++;
        tally[i].read += o->code == 0;
        tally[i].refused += o->code != 0;
        return;
    }
}

static int run_all(const char *folder, char *manifest, bool list)
{
    struct tally tally[16] = { 0 };
    unsigned failed = 0, files = 0;
    char *rest = manifest;

    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        struct outcome o = { 0 };
        char *name = strsep(&line, "\t"), *expect = strsep(&line, "\t");
        char path[4096];
        const char *shape = strsep(&line, "\t"), *oracles = strsep(&line, "\t");
        const char *trouble;

        if (oracles == NULL || shape == NULL || strcmp(name, "file") == 0)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
        files++;
        trouble = dx_bounded_child(read_bounded, path, &o, sizeof(o), GROWTH_MAX_KB);
        if (trouble == NULL) {
            trouble = judge(expect, oracles, &o);
            count(tally, 16, expect, &o);
        }
        if (trouble != NULL)
            failed++;
        if (trouble != NULL || list ||
            (o.code != 0 && (strcmp(expect, "READ") == 0 || strcmp(expect, "NESTED") == 0)))
            printf("%s %s: %s: %u columns, %u nested, %" PRIu64 " values; %s %s\n",
                   trouble != NULL ? "FAIL" : "    ", expect, name, o.columns, o.nested, o.values,
                   o.text, trouble != NULL ? trouble : "");
    }
    for (size_t i = 0; i < 16 && tally[i].expect[0] != '\0'; i++)
        printf("%-12s %3u files: %3u read in all flat columns, %3u refused\n", tally[i].expect,
               tally[i].files, tally[i].read, tally[i].refused);
    printf("%u files, %u failed\n", files, failed);
    return failed > 0 || files == 0;
}

int main(int argc, char **argv)
{
    const char *shared = getenv("DX_SHARED_DATA");
    struct dx_buf manifest = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    char folder[2048], path[2100];
    int rc;

    if (argc == 3 && strcmp(argv[1], "--dump") == 0) {
        struct outcome o = { 0 };

        if (read_path(argv[2], true, &o) < 0)
            return 2;
        printf("E\t%d\t%s\n", o.code, o.text);
        return 0;
    }
    (void)snprintf(folder, sizeof(folder), "%s/parquet",
                   shared != NULL ? shared : "../shared/data");
    (void)snprintf(path, sizeof(path), "%s/MANIFEST.tsv", folder);
    if (dx_file_read(path, manifest.max, &manifest, &err) < 0) {
        printf("SKIPPED: no Parquet corpus: %s\n", err.text);
        return SKIP;
    }
    dx_buf_u8(&manifest, 0);
    rc = manifest.failed ? 1 : run_all(folder, (char *)manifest.data, argc == 2);
    dx_buf_release(&manifest);
    return rc;
}
