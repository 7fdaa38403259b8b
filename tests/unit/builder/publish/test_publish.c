/* SPDX-License-Identifier: Apache-2.0
 * Small random lakes (several files a dataset, overlapping prefixes, a URL in several files),
 * published, then every pair recounted in plain arrays: counts, times, and which rows the runs
 * lead to. Then the same with ids of few bits, so that collisions are everywhere, the same bytes
 * for any threads and memory, and lakes that must be refused. */
#include "builder/check/verify.h"
#include "builder/publish/publish.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "builder/index/index_identity.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_scan.h"
#include "builder/publish/publish_lake.h"
#include "builder/scan/index_lake.h"
#include "builder/scan/index_scan.h"
#include "canon/ids.h"
#include "canon/ip_literal.h"
#include "format/core/dictionary.h"
#include "format/core/membership.h"
#include "format/core/mphf.h"
#include "format/version/pages.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/root_registry.h"
#include "tests/support/sample.h"

#define DATASETS 5
#define DOMAINS_MAX 320
#define TEXT 96

struct row {
    uint32_t dataset;
    uint32_t file;   /* file_id */
    uint32_t number; /* in the file */
    char domain[TEXT];
    char host[TEXT];
    char path[TEXT];
    char scheme[8];
    bool has_ts;
    int64_t ts;
};

struct file {
    char path[160]; /* relative to ROOT */
    uint32_t dataset;
    unsigned first, last;
};

static struct row *rows;
static size_t row_count;
static struct file files[64];
static size_t file_count;
static char domains[DOMAINS_MAX][TEXT];
static size_t domain_count;
static uint64_t seed;
static int bad;

static void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void fail(const char *fmt, ...)
{
    va_list args;

    if (bad++ > 20)
        return;
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
}

static void must(int rc, const struct dx_error *err, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* ---- lakes ---- */

static void make_domains(size_t n)
{
    static const char *const odd[] = {
        "a.com",         "ab.com",    "a-b.com",       "a.co.uk",
        "example.co.uk", "192.0.2.1", "[2001:db8::1]", "xn--mnchen-3ya.de",
        "com.com",       "0.com",     "a.b",           "a.localhost"
    };
    domain_count = 0;
    for (size_t i = 0; i < sizeof odd / sizeof *odd && domain_count < n; i++)
        (void)snprintf(domains[domain_count++], TEXT, "%s", odd[i]);
    while (domain_count < n) {
        (void)snprintf(domains[domain_count], TEXT, "d%zu.%s", domain_count,
                       domain_count % 3 == 0   ? "com"
                       : domain_count % 3 == 1 ? "net"
                                               : "co.uk");
        domain_count++;
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int c = x->file < y->file ? -1 : x->file > y->file;

    if (c == 0)
        c = strcmp(x->domain, y->domain);
    if (c == 0)
        c = strcmp(x->host, y->host);
    if (c == 0)
        c = strcmp(x->path, y->path);
    if (c == 0)
        c = x->has_ts - y->has_ts; /* null first */
    if (c == 0)
        c = (x->ts > y->ts) - (x->ts < y->ts);
    return c != 0 ? c : strcmp(x->scheme, y->scheme);
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void make_files(unsigned per_dataset, unsigned ranges)
{
    file_count = 0;
    for (uint32_t d = 1; d <= DATASETS; d++) {
        for (unsigned p = 0; p < per_dataset; p++) {
            for (unsigned r = 0; r < ranges; r++) {
                struct file *f = &files[file_count++];
                unsigned width = 256 / ranges;

                /* Every other part covers all prefixes, the others a half: they overlap. */
                f->dataset = d;
                f->first = p % 2 == 0 ? r * width : 0;
                f->last = p % 2 == 0 ? r * width + width - 1 : 255;
                (void)snprintf(f->path, sizeof f->path,
                               "urls/dataset_id=%u/domain_prefix=%02x-%02x/part-%05u.parquet",
                               (unsigned)d, f->first, f->last, p * ranges + r);
            }
        }
    }
    qsort(files, file_count, sizeof *files, compare_files);
}

static void draw_row(struct row *r, uint32_t file)
{
    static const char *const schemes[] = { "http", "https", "ftp" };
    const char *domain;
    unsigned prefix;

    do {
        domain = domains[draw() % domain_count];
        prefix = dx_domain_prefix(dx_domain_id(dx_span_str(domain)));
    } while (prefix < files[file].first || prefix > files[file].last);
    *r = (struct row){ .dataset = files[file].dataset, .file = file };
    (void)snprintf(r->domain, TEXT, "%s", domain);
    (void)snprintf(r->host, TEXT, "%s%.60s",
                   draw() % 2 && !dx_ipv4_meant(dx_span_str(domain)) && domain[0] != '[' ? "www."
                                                                                         : "",
                   domain);
    (void)snprintf(r->path, TEXT, "/%u", (unsigned)(draw() % 6));
    (void)snprintf(r->scheme, sizeof r->scheme, "%s", schemes[draw() % 3]);
    r->has_ts = draw() % 4 != 0;
    r->ts = r->has_ts ? 1700000000000000 + (int64_t)(draw() % 5000) * 2000000 : 0;
}

static void write_file(const char *root, const struct file *f, const struct row *from, size_t n)
{
    static const struct dx_lake_options small = { 4, 8, 1 << 20, 16, 32, 1 << 20, 1 };
    struct dx_lake_schema schema = { .url_id = true };
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_lake_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/%s", root, f->path);
    *strrchr(path, '/') = '\0';
    must(dx_dir_make(path, &err), &err, "mkdir");
    path[strlen(path)] = '/';
    (void)unlink(path);
    must(dx_lake_file_open(&w, path, &schema, &small, &err), &err, "lake file");
    for (size_t i = 0; i < n; i++) {
        char url[4 * TEXT];
        struct dx_lake_row row = { .dataset_id = from[i].dataset,
                                   .domain_id = dx_domain_id(dx_span_str(from[i].domain)),
                                   .domain = dx_span_str(from[i].domain),
                                   .scheme = dx_span_str(from[i].scheme),
                                   .host = dx_span_str(from[i].host),
                                   .path_query = dx_span_str(from[i].path),
                                   .has_ts = from[i].has_ts,
                                   .ts_us = from[i].ts };

        (void)snprintf(url, sizeof url, "%s://%s%s", from[i].scheme, from[i].host, from[i].path);
        row.url_id = dx_url_id(dx_span_str(url));
        must(dx_lake_file_add(&w, &row, &err), &err, "lake row");
    }
    must(dx_lake_file_close(&w, DX_SYNC_NOW, &stats, &err), &err, "lake close");
}

static void write_dataset_registry(const char *root)
{
    struct dx_dataset_registry *dataset_registry = NULL;
    struct dx_error err = DX_ERROR_INIT;

    must(root_registry(&dataset_registry, root, &err), &err, "dataset_registry");
    for (unsigned d = 0; d < DATASETS + 1; d++) { /* the last one has no rows */
        char name[32];
        uint32_t id;

        (void)snprintf(name, sizeof name, "set %u", (DATASETS * 7 - d * 3) % 10);
        must(dx_dataset_registry_add(dataset_registry, dx_span_str(name), &id, &err), &err,
             "dataset_registry");
    }
    must(dx_dataset_registry_set(dataset_registry, 2, "licence", "CC0", &err), &err,
         "dataset_registry");
    must(dx_dataset_registry_save(dataset_registry, root, &err), &err, "dataset_registry");
    dx_dataset_registry_free(&dataset_registry);
}

static void make_lake(const char *root, size_t domains_wanted, size_t rows_a_file,
                      unsigned per_dataset, unsigned ranges)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/urls", root);
    must(dx_dir_make(path, &err), &err, "mkdir");
    write_dataset_registry(root);
    (void)snprintf(path, sizeof path, "%s/psl.dat", root);
    must(dx_file_replace(path, dx_span_str("com\nnet\nco.uk\nde\n"), &err), &err, "psl.dat");
    make_domains(domains_wanted);
    make_files(per_dataset, ranges);
    row_count = 0;
    free(rows);
    rows = calloc(file_count * rows_a_file, sizeof *rows);
    if (rows == NULL)
        abort();
    for (uint32_t f = 0; f < file_count; f++)
        for (size_t i = 0; i < rows_a_file; i++)
            draw_row(&rows[row_count++], f);
    qsort(rows, row_count, sizeof *rows, compare_rows);
    for (size_t f = 0; f < file_count; f++) {
        for (uint32_t i = 0; i < rows_a_file; i++)
            rows[f * rows_a_file + i].number = i;
        write_file(root, &files[f], rows + f * rows_a_file, rows_a_file);
    }
}

/* ---- the naive answer ---- */

/* Rows of one domain. */
static const struct row **of_domain;
static size_t of_domain_count;

static void find_rows_of(const char *domain)
{
    free(of_domain);
    of_domain = calloc(row_count + 1, sizeof *of_domain);
    if (of_domain == NULL)
        abort();
    of_domain_count = 0;
    for (size_t i = 0; i < row_count; i++)
        if (strcmp(rows[i].domain, domain) == 0)
            of_domain[of_domain_count++] = &rows[i];
}

static const struct row *row_at(uint32_t file, uint32_t number)
{
    for (size_t i = 0; i < of_domain_count; i++)
        if (of_domain[i]->file == file && of_domain[i]->number == number)
            return of_domain[i];
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].file == file && rows[i].number == number)
            return &rows[i];
    return NULL;
}

static void recount(uint32_t dataset, struct dx_pair_count *out)
{
    *out = (struct dx_pair_count){ 0 };
    for (size_t i = 0; i < of_domain_count; i++) {
        const struct row *r = of_domain[i];
        bool seen = false;

        if (r->dataset != dataset)
            continue;
        for (size_t k = 0; k < i && !seen; k++)
            seen = of_domain[k]->dataset == dataset && strcmp(of_domain[k]->host, r->host) == 0 &&
                   strcmp(of_domain[k]->path, r->path) == 0 &&
                   strcmp(of_domain[k]->scheme, r->scheme) == 0;
        out->url_count += !seen;
        out->row_count++;
        if (r->has_ts && (!out->has_ts || r->ts < out->first_us))
            out->first_us = r->ts;
        if (r->has_ts && (!out->has_ts || r->ts > out->last_us))
            out->last_us = r->ts;
        out->has_ts |= r->has_ts;
    }
}

/* ---- an index, read without the loader ---- */

struct index {
    char dir[PATH_MAX];
    struct dx_map maps[6];
    struct dx_dictionary dictionary;
    struct dx_mphf mphf;
    struct dx_membership membership;
    struct dx_counts counts;
    struct dx_postings postings;
    struct dx_pages pages;
    struct dx_zstd_decoder *decoder;
};

static struct dx_span map_of(struct index *x, size_t i, const char *name)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX + 64];

    (void)snprintf(path, sizeof path, "%s/%s", x->dir, name);
    must(dx_map_open(&x->maps[i], path, DX_MAP_RANDOM, &err), &err, "map");
    return x->maps[i].bytes;
}

static void index_open(struct index *x, const char *dir)
{
    struct dx_error err = DX_ERROR_INIT;
    unsigned all = DX_OPEN_VERIFY_ALL;

    memset(x, 0, sizeof *x);
    (void)snprintf(x->dir, sizeof x->dir, "%s", dir);
    x->decoder = dx_zstd_decoder_new();
    must(dx_dictionary_open(&x->dictionary, map_of(x, 0, "domains.dict"), all, "dict", &err), &err,
         "dict");
    must(dx_mphf_open(&x->mphf, map_of(x, 1, "domains.mphf"), all, "mphf", &err), &err, "mphf");
    must(dx_mphf_match(&x->mphf, &x->dictionary, &err), &err, "match");
    must(dx_membership_open(&x->membership, map_of(x, 2, "domain_to_datasets.roar"), all, "roar",
                            &err),
         &err, "roar");
    must(dx_counts_open(&x->counts, map_of(x, 3, "domain_counts.dxc"), all, "dxc", &err), &err,
         "dxc");
    must(dx_postings_open(&x->postings, map_of(x, 4, "postings.dxp"), all, "dxp", &err), &err,
         "dxp");
    must(dx_pages_open(&x->pages, map_of(x, 5, "pages.dxp"), all, "pages", &err), &err, "pages");
}

static void index_close(struct index *x)
{
    dx_dictionary_close(&x->dictionary);
    dx_mphf_close(&x->mphf);
    dx_membership_close(&x->membership);
    dx_counts_close(&x->counts);
    dx_postings_close(&x->postings);
    dx_pages_close(&x->pages);
    for (size_t i = 0; i < 6; i++)
        dx_map_close(&x->maps[i]);
    dx_zstd_decoder_free(&x->decoder);
}

static void map_file(const struct index *x, const char *name, struct dx_map *map)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX + 64];

    (void)snprintf(path, sizeof path, "%s/%s", x->dir, name);
    must(dx_map_open(map, path, DX_MAP_RANDOM, &err), &err, name);
}

static struct dx_span slice(struct dx_span all, uint64_t offset, uint64_t size)
{
    struct dx_span out = { NULL, 0 };

    if (!dx_span_slice(all, offset, size, &out))
        fail("a page outside of its file");
    return out;
}

/* The row of the model that a run's k-th row is; rows of a file are together and in order. */
static uint32_t first_row_of_group(const struct index *x, uint32_t file, uint32_t group)
{
    struct dx_pages_file f;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t before = 0;

    must(dx_pages_file(&x->pages, file, &f, &err), &err, "pages file");
    for (uint32_t g = 0; g < group; g++) {
        struct dx_page_group of;

        must(dx_pages_group(&x->pages, &f, g, &of, &err), &err, "pages group");
        before += of.rows;
    }
    return (uint32_t)before;
}

static void check_runs(const struct index *x, const char *domain, uint32_t dataset,
                       struct dx_payload *payload)
{
    struct dx_run run;
    uint64_t last = 0;
    uint64_t found = 0;
    uint64_t want = 0;

    for (size_t i = 0; i < of_domain_count; i++)
        want += of_domain[i]->dataset == dataset;
    while (dx_payload_next(payload, &run) == 1) {
        uint32_t number = first_row_of_group(x, run.file_id, run.row_group) +
                          (uint32_t)run.first_row;

        for (uint64_t k = 0; k < run.row_count; k++, number++) {
            uint64_t place = ((uint64_t)run.file_id << 32 | number) + 1;
            const struct row *r = row_at(run.file_id, number);

            if (r == NULL || r->dataset != dataset || strcmp(r->domain, domain) != 0)
                fail("%s in %u: run leads to row %u of file %u, which is %s", domain, dataset,
                     number, run.file_id, r == NULL ? "not there" : r->domain);
            if (place <= last)
                fail("%s in %u: runs are not in order", domain, dataset);
            last = place;
            found++;
        }
    }
    if (found != want || payload->rows != want)
        fail("%s in %u: runs have %llu rows, %llu expected", domain, dataset,
             (unsigned long long)found, (unsigned long long)want);
}

static void check_postings(const struct index *x, const char *domain, struct dx_pair_place place,
                           uint32_t dataset)
{
    static uint8_t plain_idx[DX_POSTINGS_IDX_PLAIN_MAX];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings_page page;
    struct dx_posting posting;
    struct dx_payload payload;
    struct dx_span bytes;
    struct dx_map idx = DX_MAP_INIT;
    struct dx_map dat = DX_MAP_INIT;
    uint8_t *plain_dat;
    int rc = dx_postings_page_find(&x->postings, place, &page, &err);

    if (rc != 1) {
        fail("%s in %u: no page (%d %s)", domain, dataset, rc, err.text);
        return;
    }
    map_file(x, DX_FILE_POSTINGS_IDX, &idx);
    map_file(x, DX_FILE_POSTINGS_DAT, &dat);
    must(dx_postings_idx_decode(&page, x->decoder, 0,
                                slice(idx.bytes, page.idx_offset, page.idx_size), plain_idx, &err),
         &err, "idx");
    rc = dx_postings_entry_find(&page, dx_span_of(plain_idx, page.idx_plain), place, &posting,
                                &err);
    plain_dat = malloc(page.dat_plain);
    if (plain_dat == NULL)
        abort();
    must(dx_postings_dat_decode(&page, x->decoder, 0,
                                slice(dat.bytes, page.dat_offset, page.dat_size), plain_dat, &err),
         &err, "dat");
    if (rc == 1) {
        must(dx_postings_payload(&page, dx_span_of(plain_dat, page.dat_plain), &posting, &bytes,
                                 &err),
             &err, "payload");
        must(
            dx_postings_list(&x->postings, place.domain, dataset, bytes, "payload", &payload, &err),
            &err, "payload");
        check_runs(x, domain, dataset, &payload);
    } else {
        fail("%s in %u: no posting (%d %s)", domain, dataset, rc, err.text);
    }
    free(plain_dat);
    dx_map_close(&idx);
    dx_map_close(&dat);
}

/* One domain against the recount: which datasets, how many, where. Returns the pairs. */
static size_t check_domain(const struct index *x, const char *domain)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pair_count want[DATASETS + 2];
    struct dx_pair_count got[DATASETS + 2];
    uint32_t ids[DATASETS + 2];
    struct dx_dataset_set set;
    uint64_t ordinal = 0;
    uint64_t id = 0;
    size_t pairs = 0;
    size_t n;
    int rc = dx_mphf_find(&x->mphf, &x->dictionary, dx_span_str(domain), &ordinal, &id, &err);

    find_rows_of(domain);
    for (uint32_t d = 1; d <= DATASETS; d++) {
        recount(d, &want[pairs]);
        if (want[pairs].row_count > 0)
            ids[pairs++] = d;
    }
    if (rc != (pairs > 0)) {
        fail("%s: find says %d, it has %zu datasets: %s", domain, rc, pairs, err.text);
        return pairs;
    }
    if (pairs == 0)
        return 0;
    must(dx_membership_get(&x->membership, ordinal, &set, &err), &err, "set");
    uint32_t got_ids[DATASETS + 2];

    n = dx_dataset_set_ids(&set, got_ids, DATASETS + 2);
    if (n != pairs || memcmp(got_ids, ids, n * sizeof *ids) != 0) {
        fail("%s: %zu datasets, %zu expected", domain, n, pairs);
        return pairs;
    }
    must(dx_counts_get(&x->counts, ordinal, (uint32_t)n, got, &err), &err, "counts");
    for (size_t i = 0; i < n; i++) {
        if (got[i].url_count != want[i].url_count || got[i].row_count != want[i].row_count ||
            got[i].has_ts != want[i].has_ts || got[i].first_us != want[i].first_us ||
            got[i].last_us != want[i].last_us)
            fail("%s in %u: %llu URLs, %llu rows, %lld..%lld; recounted %llu, %llu, %lld..%lld",
                 domain, ids[i], (unsigned long long)got[i].url_count,
                 (unsigned long long)got[i].row_count, (long long)got[i].first_us,
                 (long long)got[i].last_us, (unsigned long long)want[i].url_count,
                 (unsigned long long)want[i].row_count, (long long)want[i].first_us,
                 (long long)want[i].last_us);
        check_postings(x, domain, (struct dx_pair_place){ ordinal, (uint32_t)i }, ids[i]);
    }
    return pairs;
}

/* whole_ids: the verifier knows that an id is XXH3, which ids of few bits are not. */
static void check_index(const char *dir, bool whole_ids)
{
    struct dx_error err = DX_ERROR_INIT;
    struct index x;
    size_t pairs = 0;
    size_t known = 0;

    index_open(&x, dir);
    for (size_t i = 0; i < domain_count; i++) {
        size_t n = check_domain(&x, domains[i]);

        pairs += n;
        known += n > 0;
    }
    (void)check_domain(&x, "absent.example");
    if (whole_ids)
        must(dx_mphf_verify(&x.mphf, &x.dictionary, 1, &err), &err, "mphf verify");
    if (x.counts.totals.pairs != pairs || x.dictionary.info.n != known || x.pages.rows != row_count)
        fail("%s: %llu pairs, %llu domains, %llu rows; recounted %zu, %zu, %zu", dir,
             (unsigned long long)x.counts.totals.pairs, (unsigned long long)x.dictionary.info.n,
             (unsigned long long)x.pages.rows, pairs, known, row_count);
    index_close(&x);
}

/* ---- tests ---- */

static int publish(const char *root, bool force, struct dx_publish_result *r, struct dx_error *err)
{
    struct dx_publish_options o = {
        .root = root, .memory = 64 << 20, .threads = 2, .force = force, .now_us = 1732184400000000
    };

    return dx_publish(&o, r, err);
}

static size_t work_folders(const char *root)
{
    char command[PATH_MAX + 64];
    unsigned n = 99;
    FILE *f;

    (void)snprintf(command, sizeof command, "ls -A '%s/index' | grep -c -e tmp- -e spill", root);
    f = popen(command, "r");
    if (f == NULL || fscanf(f, "%u", &n) != 1)
        n = 99;
    if (f != NULL)
        (void)pclose(f);
    return n;
}

static void test_recount(const char *root, size_t domains_wanted, size_t rows_a_file,
                         unsigned per_dataset, unsigned ranges)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_result r;
    const struct dx_manifest_version *entry;
    char dir[PATH_MAX];

    make_lake(root, domains_wanted, rows_a_file, per_dataset, ranges);
    must(publish(root, false, &r, &err), &err, "publish");
    (void)snprintf(dir, sizeof dir, "%s/index/%s", root, r.version);
    check_index(dir, true);
    entry = dx_manifest_current(&r.manifest);
    if (entry == NULL || strcmp(entry->version, r.version) != 0 || entry->rows != row_count ||
        entry->datasets != DATASETS + 1 || r.unchanged)
        fail("%s: the manifest does not fit", r.version);
    if (work_folders(root) != 0)
        fail("publish left temporary files");
    dx_publish_result_release(&r);
}

static void test_unchanged(const char *root)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_result r;

    must(publish(root, false, &r, &err), &err, "publish again");
    if (!r.unchanged || strcmp(r.version, "000001-20241121T102000Z") != 0)
        fail("the same lake was published again as %s", r.version);
    dx_publish_result_release(&r);
    must(publish(root, true, &r, &err), &err, "publish --force");
    if (r.unchanged || strcmp(r.version, "000002-20241121T102000Z") != 0 ||
        r.manifest.version_count != 2)
        fail("--force published %s", r.version);
    dx_publish_result_release(&r);
}

/* An index file as an earlier program wrote it: for the loader that is the number in header and
 * trailer, with right sums. */
static void make_older(const char *path)
{
    struct dx_buf bytes = DX_BUF_INIT(64 << 20);
    struct dx_error err = DX_ERROR_INIT;
    uint8_t *trailer;

    must(dx_file_read(path, 64 << 20, &bytes, &err), &err, "read");
    trailer = bytes.data + bytes.size - 72;
    dx_store_u32(bytes.data + 4, 0);
    dx_store_u32(trailer + 20, 0);
    envelope_resum(bytes.data, bytes.size);
    must(dx_file_replace(path, dx_span_of(bytes.data, bytes.size), &err), &err, "write");
    dx_buf_release(&bytes);
}

static void expect_open(const char *root, const char *version, const char *refused)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    must(dx_caches_new(&caches, &options, &err), &err, "caches");
    rc = dx_version_open_named(&v, root, version, caches, &options, &err);
    if (refused == NULL ? rc != DX_OK
                        : rc != DX_E_UNSUPPORTED || strstr(err.text, refused) == NULL ||
                              strstr(err.text, "domaindex publish --root") == NULL)
        fail("version %s: %d %s", version, rc, err.text);
    if (rc == DX_OK)
        dx_version_unpin(v);
    dx_caches_free(&caches);
}

static void count_damage(void *ctx, const char *text)
{
    (void)ctx;
    fail("damage: %s", text);
}

/* A version whose layout this program does not read is refused, and a lake is published over it
 * without it: when something is new, as it is with another build id, and when it is asked. */
static void test_older(const char *root)
{
    static const char *const names[] = { "domain_to_datasets.roar", "domain_counts.dxc",
                                         "postings.dxp" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dx_publish_options o = { .root = root,
                                        .memory = 64 << 20,
                                        .threads = 2,
                                        .force = true,
                                        .full = i == 0,
                                        .now_us = 1732184400000000 };
        struct dx_error err = DX_ERROR_INIT;
        struct dx_publish_result r;
        struct dx_manifest m = DX_MANIFEST_INIT;
        char path[PATH_MAX];

        must(dx_version_manifest(root, &m, &err), &err, "manifest");
        (void)snprintf(path, sizeof path, "%s/index/%s/%s", root, m.current, names[i]);
        make_older(path);
        expect_open(root, m.current, names[i]);
        must(dx_publish(&o, &r, &err), &err, "publish over an older layout");
        if (r.incremental || r.unchanged ||
            strstr(r.why, o.full ? "asked for" : "layout version") == NULL)
            fail("%s of an older layout: %s", names[i], r.why);
        expect_open(root, r.version, NULL);
        expect_open(root, m.current, names[i]);
        (void)snprintf(path, sizeof path, "%s/index/%s", root, r.version);
        check_index(path, true);
        dx_manifest_release(&m);
        dx_publish_result_release(&r);
    }
}

/* A root of before release 1.0: nothing reads it, nothing is changed, and the words say what to
 * do. */
static void test_draft(const char *root)
{
    static const char tail[] = "\"checksum\"";
    const struct dx_verify_options check = {
        .root = root, .tmp_dir = "/tmp", .memory = 64 << 20, .threads = 1, .found = count_damage
    };
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_buf draft = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_buf after = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_verify_result found;
    struct dx_publish_result r;
    struct dx_hash128 sum;
    char hex[DX_HASH128_TEXT];
    char path[PATH_MAX];
    uint8_t *at;

    (void)snprintf(path, sizeof path, "%s/index/manifest.json", root);
    must(dx_file_read(path, DX_MANIFEST_MAX, &text, &err), &err, "manifest");
    at = memmem(text.data, text.size, "domaindex-index\",\n  \"format_version\": 2", 39);
    if (at == NULL)
        fail("not the head of a manifest");
    dx_buf_append(&draft, text.data, (size_t)(at - text.data));
    dx_buf_str(&draft, "domaindex-manifest\",\n  \"format_version\": 3");
    at += 39;
    dx_buf_append(&draft, at,
                  (size_t)((uint8_t *)memmem(text.data, text.size, tail, sizeof tail - 1) - at));
    sum = dx_hash128_of(dx_span_of(draft.data, draft.size));
    dx_hash128_text(&sum, hex);
    dx_buf_fmt(&draft, "%s: \"%s\"\n}\n", tail, hex);
    must(dx_file_replace(path, dx_span_of(draft.data, draft.size), &err), &err, "manifest");
    if (publish(root, true, &r, &err) != DX_E_UNSUPPORTED ||
        strstr(err.text, "index/manifest.json") == NULL ||
        strstr(err.text, "'domaindex-manifest' version 3") == NULL ||
        strstr(err.text, "domaindex ingest --root NEW") == NULL)
        fail("publish over a root of before 1.0: %s", err.text);
    dx_publish_result_release(&r);
    if (dx_verify(&check, &found, &err) != DX_E_UNSUPPORTED ||
        strstr(err.text, "domaindex ingest --root NEW") == NULL)
        fail("verify of a root of before 1.0: %s", err.text);
    must(dx_file_read(path, DX_MANIFEST_MAX, &after, &err), &err, "manifest");
    if (!dx_span_equal(dx_span_of(after.data, after.size), dx_span_of(draft.data, draft.size)))
        fail("the manifest was changed");
    must(dx_file_replace(path, dx_span_of(text.data, text.size), &err), &err, "manifest");
    dx_buf_release(&text);
    dx_buf_release(&draft);
    dx_buf_release(&after);
}

struct variant {
    unsigned threads;
    size_t scan_memory;
    size_t memory;
    unsigned hash_bits;
};

static void build_variant(const char *root, const char *dir, const struct variant *v,
                          struct dx_manifest *manifest, struct dx_index_stats *stats)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_lake lake;
    struct dx_index_identity id;
    struct dx_manifest_version *entry;
    struct dx_span psl = dx_span_str("com\nnet\nco.uk\nde\n");
    struct dx_root opened;
    struct dx_index_scan_options scan = { .tmp_dir = dir,
                                          .memory = v->scan_memory,
                                          .threads = v->threads };
    struct dx_index_options options = { dir,        dir,         psl,          v->memory,
                                        v->threads, DX_SYNC_NOW, v->hash_bits, NULL };
    struct dx_manifest none = DX_MANIFEST_INIT;
    const struct dx_publish_allow allow = { .count = 0 };

    must(dx_dir_make(dir, &err), &err, "mkdir");
    must(dx_manifest_add(manifest, "000001-20241121T102000Z", &entry, &err), &err, "manifest");
    must(dx_root_open(&opened, root, DX_ROOT_READ, &err), &err, "root");
    must(dx_publish_lake_open(&lake, &opened, &none, &allow, NULL, &err), &err, "lake");
    dx_root_close(&opened);
    must(dx_index_scan(&lake.lake, &scan, &err), &err, "scan");
    must(dx_index_identity(&lake.lake, psl, &id, &err), &err, "identity");
    must(dx_index_build(&lake.lake, &id, &options, entry, stats, &err), &err, "build");
    dx_index_identity_release(&id);
    dx_publish_lake_close(&lake);
}

/* What a compaction was copying when it was killed. */
static void test_swept(const char *root)
{
    static const char *const names[] = { "index/claims/.tmp-0123456789abcdef",
                                         "urls/dataset_id=1/.tmp-0123456789abcdef",
                                         "urls/dataset_id=1/domain_prefix=77/.tmp-0123456789abcdef",
                                         "urls/dataset_id=1/domain_prefix=77/.kept" };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_result r;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/index/claims", root);
    must(dx_dir_make(path, &err), &err, path);
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=1/domain_prefix=77", root);
    must(dx_dir_make(path, &err), &err, path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", root, names[i]);
        must(dx_file_replace(path, dx_span_str("half"), &err), &err, path);
    }
    must(publish(root, false, &r, &err), &err, "publish beside stale files");
    dx_publish_result_release(&r);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool kept = strstr(names[i], ".kept") != NULL;

        (void)snprintf(path, sizeof path, "%s/%s", root, names[i]);
        if ((access(path, F_OK) == 0) != kept)
            fail("%s %s", path, kept ? "was removed" : "stays");
    }
}

static void test_variants(const char *root)
{
    static const struct variant variants[] = {
        { 1, 64 << 20, 64 << 20, 0 },
        { 2, 1 << 30, 1 << 30, 0 },
        { 3, 64 << 20, 256 << 10, 0 }, /* everything spills */
        { 7, 64 << 20, 1 << 20, 0 },
    };
    struct dx_manifest first = DX_MANIFEST_INIT;
    struct dx_index_stats stats;
    char dir[PATH_MAX];

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        struct dx_manifest m = DX_MANIFEST_INIT;

        (void)snprintf(dir, sizeof dir, "%s/variant-%zu", root, i);
        build_variant(root, dir, &variants[i], i == 0 ? &first : &m, &stats);
        for (size_t k = 0; i > 0 && k < first.versions[0].file_count; k++) {
            const struct dx_manifest_file *a = &first.versions[0].files[k];
            const struct dx_manifest_file *b = dx_manifest_file(&m.versions[0], a->name);

            if (b == NULL || b->size != a->size || !dx_hash128_equal(&a->hash, &b->hash))
                fail("variant %zu: %s differs", i, a->name);
        }
        if (i > 0 && m.versions[0].file_count != first.versions[0].file_count)
            fail("variant %zu: %zu files", i, m.versions[0].file_count);
        dx_manifest_release(&m);
    }
    dx_manifest_release(&first);
}

static void test_hash_bits(const char *root)
{
    static const struct variant variants[] = {
        { 2, 64 << 20, 64 << 20, 16 },
        { 2, 64 << 20, 64 << 20, 10 },
        { 1, 64 << 20, 256 << 10, 9 },
    };

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        struct dx_manifest m = DX_MANIFEST_INIT;
        struct dx_index_stats stats;
        char dir[PATH_MAX];

        (void)snprintf(dir, sizeof dir, "%s/bits-%u", root, variants[i].hash_bits);
        build_variant(root, dir, &variants[i], &m, &stats);
        if (stats.collisions == 0)
            fail("hash_bits %u: no collision", variants[i].hash_bits);
        check_index(dir, false);
        dx_manifest_release(&m);
    }
}

/* ---- lakes that are refused ---- */

static void damage_row(const char *root, size_t row)
{
    struct row mine[3];
    struct file f = { "urls/dataset_id=1/domain_prefix=00-ff/part-00099.parquet", 1, 0, 255 };

    for (size_t i = 0; i < 3; i++) {
        mine[i] = (struct row){ .dataset = 1, .number = (uint32_t)i };
        (void)snprintf(mine[i].domain, TEXT, "r%zu.com", i);
        (void)snprintf(mine[i].host, TEXT, "r%zu.com", i);
        (void)snprintf(mine[i].path, TEXT, "/");
        (void)snprintf(mine[i].scheme, 8, "http");
    }
    switch (row) {
    case 0:
        (void)snprintf(mine[2].domain, TEXT, "UPPER.com");
        (void)snprintf(mine[1].domain, TEXT, "AAA.com");
        (void)snprintf(mine[0].domain, TEXT, "A.com");
        break;
    case 1:
        f.first = 0;
        (void)snprintf(f.path, sizeof f.path, "%s",
                       "urls/dataset_id=1/domain_prefix=00/part-00099.parquet");
        break;
    case 2:
        mine[1].scheme[0] = '\0';
        break;
    case 3:
        for (size_t i = 0; i < 3; i++)
            mine[i].dataset = 77;
        (void)snprintf(f.path, sizeof f.path, "%s",
                       "urls/dataset_id=77/domain_prefix=00-ff/part-00099.parquet");
        break;
    default:
        break;
    }
    write_file(root, &f, mine, 3);
    if (row == 4 || row == 5) {
        char path[PATH_MAX];
        struct stat st;
        int fd;

        (void)snprintf(path, sizeof path, "%s/%s", root, f.path);
        fd = open(path, O_RDWR);
        if (fd < 0 || fstat(fd, &st) < 0)
            abort();
        if (row == 4 && ftruncate(fd, st.st_size - 1) < 0)
            abort();
        for (off_t at = 4; row == 5 && at < 40; at++)
            if (pwrite(fd, "\xff", 1, at) != 1)
                abort();
        (void)close(fd);
    }
}

static const char *left_out_of(struct dx_publish_result *r)
{
    dx_buf_u8(&r->left_out.text, '\0');
    return (const char *)r->left_out.text.data;
}

/* A faulty file is left out, and the lake is then as it was. */
static void test_refused(const char *root)
{
    static const char *const wants[] = {
        "canonical form",    "outside of domain_prefix=00", "scheme",
        "dataset 77 is not", "part-00099.parquet",          "part-00099.parquet",
    };

    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_publish_result r;
        struct dx_manifest m = DX_MANIFEST_INIT;
        char command[PATH_MAX + 128];
        const char *words;
        int rc;

        damage_row(root, i);
        rc = publish(root, false, &r, &err);
        words = rc < 0 ? err.text : left_out_of(&r);
        if (strstr(words, wants[i]) == NULL || strstr(words, "part-00099.parquet") == NULL ||
            (rc >= 0 && !r.unchanged))
            fail("refusal %zu: %d \"%s\", \"%s\" expected", i, rc, words, wants[i]);
        if (rc >= 0)
            dx_publish_result_release(&r);
        must(dx_version_manifest(root, &m, &err), &err, "manifest after a refusal");
        if (strcmp(m.current, "000002-20241121T102000Z") != 0)
            fail("refusal %zu: %s is current", i, m.current);
        dx_manifest_release(&m);
        if (work_folders(root) != 0)
            fail("refusal %zu left temporary files", i);
        (void)snprintf(command, sizeof command,
                       "find '%s/urls' -name part-00099.parquet -delete; rm -rf "
                       "'%s/urls/dataset_id=77'",
                       root, root);
        if (system(command) != 0)
            abort();
    }
}

static void test_empty(const char *root)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_result r;
    int rc = publish(root, false, &r, &err);

    if (rc != DX_E_NOT_FOUND || strstr(err.text, "nothing to publish") == NULL)
        fail("an empty root: %d %s", rc, err.text);
}

int main(void)
{
    static const struct {
        size_t domains, rows_a_file;
        unsigned per_dataset, ranges;
    } lakes[] = {
        { 1, 1, 1, 1 }, { 12, 60, 1, 1 }, { 40, 40, 3, 1 }, { 60, 30, 2, 4 }, { 320, 150, 3, 2 },
    };
    /* Memory if there is a disk of it: thousands of small files are synced here. */
    char on_disk[] = "/tmp/dx-test-publish-XXXXXX";
    char in_memory[] = "/dev/shm/dx-test-publish-XXXXXX";
    char *base = access("/dev/shm", W_OK) == 0 ? in_memory : on_disk;
    struct dx_error err = DX_ERROR_INIT;
    char root[PATH_MAX];

    if (mkdtemp(base) == NULL)
        return 1;
    (void)snprintf(root, sizeof root, "%s/empty", base);
    test_empty(root);
    for (size_t i = 0; i < DX_ROUNDS(5, 4); i++) {
        seed = 88172645463325252u + i;
        (void)snprintf(root, sizeof root, "%s/%zu", base, i);
        test_recount(root, lakes[i].domains, lakes[i].rows_a_file, lakes[i].per_dataset,
                     lakes[i].ranges);
    }
    test_unchanged(root);
    test_swept(root);
    test_variants(root);
    test_hash_bits(root);
    test_refused(root);
    test_older(root);
    test_draft(root);
    free(rows);
    free(of_domain);
    if (getenv("DX_KEEP") == NULL)
        (void)dx_dir_remove(base, &err);
    if (bad > 0)
        fprintf(stderr, "%d failures (DX_KEEP=1 keeps %s)\n", bad, base);
    return bad != 0;
}
