/* SPDX-License-Identifier: Apache-2.0
 * Compactions of lakes that are cut in ranges: rows, columns and times stay, files become few and
 * full; rows that suppressions hit go, from the files of other writers too; a damaged or lost file
 * stops its dataset alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "builder/ingest/ingest.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_scan.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/maintain/compact.h"
#include "builder/policy/suppress.h"
#include "builder/root/root.h"
#include "builder/scan/index_scan.h"
#include "format/root/suppressions.h"
#include "tests/support/fail.h"
#include "tests/support/sample.h"

#define RUNS 4
#define ROWS 900

static int failures;
static char top[64];

static const char *at(const char *name)
{
    static char path[8][160];
    static unsigned next;

    next = (next + 1) % 8;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", top, name);
    return path[next];
}

static void write_text(const char *path, const struct dx_buf *text)
{
    struct dx_error err = DX_ERROR_INIT;

    if (text->failed || dx_file_replace(path, dx_span_of(text->data, text->size), &err) < 0) {
        FAIL("%s: %s", path, err.text);
        exit(1);
    }
}

/* Run n of those lines, which begin with dataset, time and URL; what `o` says beside that holds. */
static void run_ingest(struct dx_ingest_options *o, const char *root, unsigned n,
                       struct dx_buf *text)
{
    const char *input = at("rows.tsv");
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;

    write_text(input, text);
    dx_buf_release(text);
    o->root = root;
    o->want.url = "3";
    o->want.ts = "2";
    o->want.dataset = "1";
    o->format = DX_RECORD_TSV;
    o->psl_path = at("psl.dat");
    o->memory_bytes = DX_INGEST_MEMORY_MIN;
    o->threads = 1;
    o->input = &input;
    o->input_count = 1;
    o->work_dir = top;
    if (dx_ingest_run(o, &stats, &err) < 0)
        FAIL("run %u: %s", n, err.text);
    free(stats.rejects_path);
}

/* Run n: hosts that other runs have too, times with milliseconds or finer, other columns. */
static void ingest(const char *root, unsigned n, uint64_t scale, bool objects)
{
    struct dx_buf text = DX_BUF_INIT(1u << 22);
    struct dx_ingest_options o = { .test_scale = scale,
                                   .test_objects = objects,
                                   .test_lease_ms = 60000 };

    for (unsigned i = 0; i < ROWS; i++)
        dx_buf_fmt(&text, "set%u\t17000000%02u.%s\tHTTP://www.site%u.com/%u\tx%u\ty%u\n",
                   i % 7 == 0, n, n % 2 == 0 ? "125" : "000250", (i * 7 + n) % 300, i, i % 5, n);
    o.want.extra[0] = n % 2 == 0 ? "4" : "5";
    o.want.extra[1] = n % 2 == 0 ? "5" : "4";
    o.want.extra_count = n == 2 ? 1 : 2;
    run_ingest(&o, root, n, &text);
}

struct sum {
    uint64_t rows, hash, hit; /* hash: of a set */
    size_t files, ranges;     /* ranges: folders of another width than 00-ff */
};

static void put_part(struct dx_buf *b, struct dx_span name, struct dx_span s)
{
    if (s.data == NULL)
        return;
    dx_buf_append(b, name.data, name.size);
    dx_buf_u8(b, '=');
    dx_buf_append(b, s.data, s.size);
    dx_buf_u8(b, 0);
}

static uint64_t row_hash(const struct dx_lake_scan *scan, const struct dx_lake_row *row)
{
    struct dx_buf b = DX_BUF_INIT(1u << 20);
    struct dx_span part[] = { row->domain, row->scheme, row->host, row->path_query, row->raw_url };
    uint64_t hash = 0;
    size_t k = 0;

    dx_buf_fmt(&b, "%u %d %lld %llx ", row->dataset_id, row->has_ts, (long long)row->ts_us,
               (unsigned long long)row->url_id);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        put_part(&b, dx_span_str(i == 4 ? "raw" : ""), part[i]);
    for (int want = 4; want <= 5; want++) /* by name: the files have them in other orders */
        for (size_t i = k = 0; i < scan->column_count; i++)
            if (scan->column[i].role == DX_LAKE_EXTRA) {
                if (scan->column[i].name.data[scan->column[i].name.size - 1] == '0' + want)
                    put_part(&b, scan->column[i].name, row->extra[k]);
                k++;
            }
    hash = dx_hash64(dx_span_of(b.data, b.size));
    dx_buf_release(&b);
    return hash;
}

static void sum_file(const char *root, const char *file, struct sum *sum)
{
    struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_lake_row row;
    char path[400];
    int rc;

    (void)snprintf(path, sizeof path, "%s/%s", root, file);
    rc = dx_lake_scan_open(&scan, path, &err);
    while (rc >= 0 && (rc = dx_lake_scan_group(&scan, &err)) == 1)
        while (rc >= 0 && (rc = dx_lake_scan_row(&scan, &row, &err)) == 1) {
            sum->rows++;
            if (dx_span_equal(row.domain, dx_span_str("site8.com")))
                sum->hit++;
            else
                sum->hash += row_hash(&scan, &row);
        }
    if (rc < 0)
        FAIL("%s", err.text);
    dx_lake_scan_close(&scan);
    sum->files++;
    sum->ranges += strstr(file, "domain_prefix=00-ff") == NULL;
}

/* Of the files that the next version would have. */
static struct sum sum_lake(const char *root)
{
    struct dx_root opened;
    struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct sum sum = { 0 };

    if (dx_root_open(&opened, root, DX_ROOT_READ, &err) < 0 ||
        dx_lake_snapshot_open(&now, &opened, &err) < 0)
        FAIL("%s", err.text);
    dx_lake_membership_keep(&now.named);
    for (size_t i = 0; i < now.named.list.count; i++)
        sum_file(root, now.named.list.file[i].path, &sum);
    dx_lake_snapshot_close(&now);
    dx_root_close(&opened);
    return sum;
}

static struct dx_compact_options options(const char *root, uint64_t scale, bool objects)
{
    return (struct dx_compact_options){ .publish = { .root = root,
                                                     .work_dir = top,
                                                     .through_store = objects,
                                                     .psl_path = at("psl.dat"),
                                                     .memory = DX_PUBLISH_MEMORY_MIN,
                                                     .threads = 2,
                                                     .now_us = 1700000000000000 },
                                        .test_scale = scale };
}

static struct dx_compact_result compact(const char *root, uint64_t scale, bool objects)
{
    struct dx_compact_options o = options(root, scale, objects);
    struct dx_compact_result r;
    struct dx_error err = DX_ERROR_INIT;

    if (dx_compact(&o, &r, &err) < 0)
        FAIL("scale %llu: %s", (unsigned long long)scale, err.text);
    return r;
}

static void test_ranges(uint64_t scale, bool objects)
{
    char root[200];
    struct dx_compact_result r;
    struct sum before;
    struct sum after;

    (void)snprintf(root, sizeof root, "%s/ranges-%llu-%d", top, (unsigned long long)scale, objects);
    for (unsigned n = 0; n < RUNS; n++)
        ingest(root, n, scale, objects);
    before = sum_lake(root);
    r = compact(root, scale, objects);
    after = sum_lake(root);
    if (after.rows != before.rows || after.hash != before.hash || after.hit != before.hit)
        FAIL("scale %llu: %llu rows became %llu", (unsigned long long)scale,
             (unsigned long long)before.rows, (unsigned long long)after.rows);
    if (r.publish.unchanged || r.files_taken == 0 ||
        after.files != before.files - r.files_taken + r.files_made)
        FAIL("%llu of %zu files became %llu: %zu", (unsigned long long)r.files_taken, before.files,
             (unsigned long long)r.files_made, after.files);
    if (scale >= 1024 ? after.ranges < 16 : after.files != 2)
        FAIL("scale %llu: %zu files, %zu of ranges", (unsigned long long)scale, after.files,
             after.ranges);
    dx_compact_result_release(&r);
    r = compact(root, scale, objects);
    if (!r.publish.unchanged || r.files_taken != 0)
        FAIL("scale %llu: a second one takes %llu files", (unsigned long long)scale,
             (unsigned long long)r.files_taken);
    dx_compact_result_release(&r);
}

static void suppress(const char *root, const char *domain)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_buf text = DX_BUF_INIT(1u << 20);
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_suppress_rule rule = { .time_us = 1700000000000000,
                                           .kind = DX_SUPPRESS_DOMAIN,
                                           .value = dx_span_str(domain) };
    char path[300];
    uint64_t number;

    (void)snprintf(path, sizeof path, "%s/" DX_SUPPRESSIONS_FILE, root);
    if (dx_suppressions_add(&log, &rule, &number, &err) < 0 ||
        dx_suppressions_write(&log, &text, &err) < 0)
        FAIL("%s", err.text);
    write_text(path, &text);
    dx_buf_release(&text);
    dx_suppressions_release(&log);
}

/* The file of our own as another writer would call it. */
static void rename_file(const char *root)
{
    char from[300];
    char to[300];

    (void)snprintf(from, sizeof from, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-00000.parquet",
                   root);
    (void)snprintf(to, sizeof to, "%s/urls/dataset_id=1/theirs.parquet", root);
    if (rename(from, to) < 0)
        FAIL("%s: cannot rename", from);
}

static void test_suppressed(bool theirs)
{
    char root[200];
    struct dx_compact_result r;
    struct sum before;
    struct sum after;

    (void)snprintf(root, sizeof root, "%s/suppressed-%d", top, theirs);
    ingest(root, 0, 1, false);
    if (theirs)
        rename_file(root);
    before = sum_lake(root);
    r = compact(root, 1, false);
    if (r.files_taken != 0 || before.hit == 0)
        FAIL("%llu files taken, %llu rows to be hit", (unsigned long long)r.files_taken,
             (unsigned long long)before.hit);
    dx_compact_result_release(&r);
    suppress(root, "site8.com");
    r = compact(root, 1, false);
    after = sum_lake(root);
    if (after.hit != 0 || after.hash != before.hash || after.rows != before.rows - before.hit ||
        r.rows_left_out != before.hit)
        FAIL("%llu rows, %llu of them hit; left out %llu of %llu", (unsigned long long)after.rows,
             (unsigned long long)after.hit, (unsigned long long)r.rows_left_out,
             (unsigned long long)before.hit);
    if (!r.publish.unchanged && dx_manifest_current(&r.publish.manifest)->cleansed != 1)
        FAIL("cleansed %llu",
             (unsigned long long)dx_manifest_current(&r.publish.manifest)->cleansed);
    dx_compact_result_release(&r);
    r = compact(root, 1, false);
    if (!r.publish.unchanged)
        FAIL("a second one publishes");
    dx_compact_result_release(&r);
}

#define WIDE 25 /* columns of a run: of two runs there are more than a file may have */

/* Run n has columns that no other run has. */
static void ingest_wide(const char *root, unsigned n)
{
    struct dx_buf text = DX_BUF_INIT(1u << 22);
    char column[WIDE][8];
    struct dx_ingest_options o = { .want = { .extra_count = 0 } };

    for (unsigned i = 0; i < 20; i++) {
        dx_buf_fmt(&text, "wide\t17000000%02u\thttp://www.site%u.com/%u", n, i, n);
        for (unsigned k = 0; k < 2 * WIDE; k++)
            dx_buf_fmt(&text, "\tx%u", k);
        dx_buf_u8(&text, '\n');
    }
    for (unsigned k = 0; k < WIDE; k++) {
        (void)snprintf(column[k], sizeof column[k], "%u", 4 + n * WIDE + k);
        o.want.extra[o.want.extra_count++] = column[k];
    }
    run_ingest(&o, root, n, &text);
}

/* Files that have too many columns together stay as they are, and the result says why; rows of them that are suppressed go all the
 * same. */
static void test_left(bool objects)
{
    char root[200];
    struct dx_compact_result r;
    struct sum before;
    struct sum after;

    (void)snprintf(root, sizeof root, "%s/left-%d", top, objects);
    ingest_wide(root, 0);
    ingest_wide(root, 1);
    before = sum_lake(root);
    r = compact(root, 1, objects);
    after = sum_lake(root);
    if (r.files_taken != 0 || r.left.groups != 1 || strstr(r.left.why, "further columns") == NULL ||
        after.files != 2 || after.rows != before.rows || after.hash != before.hash)
        FAIL("%llu files taken, %zu groups left, '%s', %zu files",
             (unsigned long long)r.files_taken, r.left.groups, r.left.why, after.files);
    dx_compact_result_release(&r);
    suppress(root, "site8.com");
    r = compact(root, 1, objects);
    after = sum_lake(root);
    if (before.hit != 2 || after.hit != 0 || after.hash != before.hash ||
        after.rows != before.rows - before.hit || after.files != 2)
        FAIL("%llu rows of %llu, %llu of them hit", (unsigned long long)after.rows,
             (unsigned long long)before.rows, (unsigned long long)after.hit);
    dx_compact_result_release(&r);
    r = compact(root, 1, objects);
    if (!r.publish.unchanged || r.files_taken != 0)
        FAIL("a second one takes %llu files", (unsigned long long)r.files_taken);
    dx_compact_result_release(&r);
}

static void publish_all(const char *root, bool objects)
{
    const struct dx_compact_options o = options(root, 1, objects);
    struct dx_publish_result r;
    struct dx_error err = DX_ERROR_INIT;

    if (dx_publish(&o.publish, &r, &err) < 0)
        FAIL("%s: %s", root, err.text);
    dx_publish_result_release(&r);
}

/* A merge that cannot read a file leaves its dataset, and `cleansed`, as they were. */
static void check_left(const char *root, const struct sum *before, bool objects)
{
    struct dx_compact_result r = compact(root, 1, objects);
    const struct dx_manifest_version *v = dx_manifest_current(&r.publish.manifest);

    if (r.publish.damaged.count != 1 || r.publish.unchanged || !r.publish.incremental ||
        r.files_taken != RUNS || r.files_made != 1 || v == NULL || v->cleansed != 0)
        FAIL("%llu damaged, %llu files taken, %llu made",
             (unsigned long long)r.publish.damaged.count, (unsigned long long)r.files_taken,
             (unsigned long long)r.files_made);
    if (r.rows_left_out == 0 || r.rows_left_out >= before->hit)
        FAIL("%llu rows left out of %llu", (unsigned long long)r.rows_left_out,
             (unsigned long long)before->hit);
    dx_compact_result_release(&r);
    r = compact(root, 1, objects);
    if (r.publish.damaged.count != 1 || !r.publish.unchanged || r.files_taken != 0)
        FAIL("a second one takes %llu files", (unsigned long long)r.files_taken);
    dx_compact_result_release(&r);
}

/* lost: the file is not there; else it is cut. The other dataset of the lake is merged. */
static void test_damaged(bool objects, bool lost)
{
    char root[200];
    char file[320];
    char aside[330];
    struct dx_compact_result r;
    struct sum before;
    struct sum after;

    (void)snprintf(root, sizeof root, "%s/damaged-%d-%d", top, objects, lost);
    for (unsigned n = 0; n < RUNS; n++)
        ingest(root, n, 1, objects);
    publish_all(root, objects);
    suppress(root, "site8.com");
    before = sum_lake(root);
    (void)snprintf(file, sizeof file, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-00001.parquet",
                   root);
    (void)snprintf(aside, sizeof aside, "%s.aside", file);
    if (rename(file, aside) < 0 ||
        (!lost && dx_file_replace(file, dx_span_str("PAR1 cut"), NULL) < 0))
        FAIL("%s: cannot be damaged", file);
    check_left(root, &before, objects);
    if (rename(aside, file) < 0)
        FAIL("%s: cannot be restored", file);
    after = sum_lake(root);
    if (after.hash != before.hash || after.hit == 0 || after.files != RUNS + 1)
        FAIL("%zu files, %llu rows hit", after.files, (unsigned long long)after.hit);
    r = compact(root, 1, objects);
    after = sum_lake(root);
    if (r.publish.damaged.count != 0 || r.publish.incremental || after.hit != 0 ||
        after.hash != before.hash || after.files != 2 ||
        dx_manifest_current(&r.publish.manifest)->cleansed != 1)
        FAIL("restored: %zu files, %llu rows hit", after.files, (unsigned long long)after.hit);
    dx_compact_result_release(&r);
}

static const char *lifting; /* the root */

static int lift_first(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    uint64_t number;
    int rc = dx_suppressions_lift(log, 1700000000000000, 1, dx_span_str(""), &number, err);

    (void)ctx;
    return rc < 0 ? rc : 1;
}

/* Asked between files: by then the rules were read. */
static bool lift_now(void)
{
    struct dx_error err = DX_ERROR_INIT;

    if (lifting != NULL && dx_suppress_change(lifting, lift_first, NULL, &err) != 1)
        FAIL("lift: %s", err.text);
    lifting = NULL;
    return false;
}

/* Rows that may be shown again must not go with the compaction that has left them out already. */
static void test_lifted(bool objects)
{
    struct dx_compact_options o;
    struct dx_compact_result r;
    struct dx_error err = DX_ERROR_INIT;
    struct sum before;
    struct sum after;
    char root[200];

    (void)snprintf(root, sizeof root, "%s/lifted-%d", top, objects);
    ingest(root, 0, 1, false);
    r = compact(root, 1, objects);
    dx_compact_result_release(&r);
    before = sum_lake(root);
    suppress(root, "site8.com");
    o = options(root, 1, objects);
    o.stopped = lift_now;
    lifting = root;
    if (dx_compact(&o, &r, &err) != DX_E_BUSY || strstr(err.text, "lifted") == NULL)
        FAIL("lifted meanwhile: %s", err.text);
    after = sum_lake(root);
    if (after.rows != before.rows || after.files != before.files)
        FAIL("%llu rows of %llu", (unsigned long long)after.rows, (unsigned long long)before.rows);
    r = compact(root, 1, objects);
    after = sum_lake(root);
    if (after.rows != before.rows)
        FAIL("again: %llu rows of %llu", (unsigned long long)after.rows,
             (unsigned long long)before.rows);
    dx_compact_result_release(&r);
}

int main(void)
{
    struct dx_buf psl = DX_BUF_INIT(64);
    struct dx_error err = DX_ERROR_INIT;

    (void)snprintf(top, sizeof top, "/tmp/dx-test-compact-XXXXXX");
    if (mkdtemp(top) == NULL)
        return 1;
    dx_buf_str(&psl, "com\n");
    write_text(at("psl.dat"), &psl);
    dx_buf_release(&psl);
    if (dx_sample(DX_ROUNDS(true, false), false))
        test_ranges(1, false);
    if (dx_sample(true, false))
        test_ranges(1u << 16, false);
    if (dx_sample(true, DX_ROUNDS(true, false)))
        test_ranges(1024, false);
    test_ranges(1024, true);
    if (dx_sample(true, DX_ROUNDS(true, false)))
        test_suppressed(false);
    test_suppressed(true);
    if (dx_sample(true, false)) {
        test_left(false);
        test_lifted(true);
    }
    test_left(true);
    test_lifted(false);
    for (unsigned i = 0; i < dx_sample(4, DX_ROUNDS(4, 1)); i += (unsigned)dx_sample(1, 3))
        test_damaged(i % 2 == 1, i / 2 == 1);
    (void)dx_dir_remove(top, &err);
    return failures == 0 ? 0 : 1;
}
