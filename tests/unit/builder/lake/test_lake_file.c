/* SPDX-License-Identifier: Apache-2.0
 * Lake files: what is written is read back, row by row; cuts, order, bytes and damage.
 *
 *   test_lake_file                                the tests
 *   test_lake_file --write FILE.parquet ROWS.tsv SEED COUNT   a file and its rows as text
 *   test_lake_file --urls URLS.tsv FILE.parquet ROWS.tsv      the same from real URLs: sorted
 *                             lines of domain, host, path_query, scheme, ts (or empty), raw_url
 *                             (or empty); prints sizes by column and the speed
 *
 * ROWS.tsv is for tests/e2e/parquet_peers.py: a line a row, strings in hex, "N" for null.
 */
#include "builder/lake/lake_file.h"
#include "builder/lake/lake_pool.h"
#include "builder/lake/lake_scan.h"
#include "canon/ids.h"

#include "base/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/damage.h"
#include "tests/support/fail.h"
#include "tests/support/sample.h"

static unsigned failures;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- seeded rows, in order ---- */

#define EXTRAS 3
static const char *const extra_names[EXTRAS] = { "title", "lang", "mixed" };

/* Row number n of a seed; every call with the same arguments gives the same row. Numbers
 * grow with the sort order. */
struct maker {
    uint64_t seed;
    bool utf8, micros;
    char domain[64], host[80], path[9000], raw[9000], extra[EXTRAS][300];
    struct dx_span extras[EXTRAS];
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t s = a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xbf58476d1ce4e5b9) + 1;

    s ^= s >> 29;
    (void)next_random(&s);
    return next_random(&s);
}

static struct dx_span noise(char *to, size_t size, uint64_t *r, bool utf8)
{
    static const char *const letters[] = {
        "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x99\x82", "a", "%2F", "\"", "\\", "\t", "'", "z"
    };
    size_t used = 0;

    while (used < size) {
        uint64_t drawn = next_random(r);
        const char *letter = letters[drawn % 10];
        size_t n = utf8 ? strlen(letter) : sizeof drawn;

        if (utf8 && n > size - used)
            break;
        if (n > size - used)
            n = size - used;
        memcpy(to + used, utf8 ? letter : (const char *)&drawn, n);
        used += n;
    }
    return dx_span_of(to, used);
}

static int64_t make_ts(const struct maker *m, uint64_t *r)
{
    /* years 1677..2262: all that every peer can hold in microseconds */
    int64_t us = (int64_t)(next_random(r) % UINT64_C(18000000000000000)) -
                 INT64_C(9000000000000000);

    return m->micros ? us : us - us % 1000;
}

static void make_row(struct maker *m, uint64_t n, struct dx_lake_row *row)
{
    uint64_t domain = (n / 1000 % 2 == 0 ? n : n / 1000 * 1000) / 37, r = mix(m->seed, n);
    size_t size = next_random(&r) % 60;

    *row = (struct dx_lake_row){ .dataset_id = 0 }; /* what the path of the file does not say */
    if (n % 701 == 5)
        size = 8192;
    (void)snprintf(m->domain, sizeof(m->domain), "d%09" PRIu64 ".example", domain);
    (void)snprintf(m->host, sizeof(m->host), "h%06u.%s", (unsigned)(n / 500), m->domain);
    (void)snprintf(m->path, sizeof(m->path), "/%09" PRIu64 "/", n);
    row->path_query = noise(m->path + strlen(m->path), size, &r, m->utf8);
    row->path_query = dx_span_of(m->path, strlen("/000000000/") + row->path_query.size);
    row->domain = dx_span_str(m->domain);
    row->domain_id = dx_domain_id(row->domain);
    row->host = dx_span_str(m->host);
    row->scheme = dx_span_str(next_random(&r) % 3 == 0 ? "http" : "https");
    row->url_id = dx_hash64(row->path_query);
    row->raw_url = (struct dx_span){ NULL, 0 };
    if (next_random(&r) % 3 == 0)
        row->raw_url = noise(m->raw, next_random(&r) % 50, &r, m->utf8);
    row->has_ts = next_random(&r) % 5 != 0;
    row->ts_us = row->has_ts ? make_ts(m, &r) : 0;
    for (size_t i = 0; i < EXTRAS; i++) {
        m->extras[i] = (struct dx_span){ NULL, 0 };
        if (i != 1 && next_random(&r) % 2 == 0) /* lang is null in all rows */
            m->extras[i] = noise(m->extra[i], next_random(&r) % 200, &r, m->utf8 || i == 0);
    }
    row->extra = m->extras;
}

static bool same_span(struct dx_span a, struct dx_span b)
{
    return (a.data == NULL) == (b.data == NULL) && dx_span_equal(a, b);
}

static bool same_row(const struct dx_lake_row *a, const struct dx_lake_row *b, size_t extras,
                     bool with_url_id)
{
    for (size_t i = 0; i < extras; i++)
        if (!same_span(a->extra[i], b->extra[i]))
            return false;
    return a->dataset_id == b->dataset_id && a->domain_id == b->domain_id &&
           (!with_url_id || a->url_id == b->url_id) && same_span(a->domain, b->domain) &&
           same_span(a->scheme, b->scheme) && same_span(a->host, b->host) &&
           same_span(a->path_query, b->path_query) && same_span(a->raw_url, b->raw_url) &&
           a->has_ts == b->has_ts && a->ts_us == b->ts_us;
}

/* Only the pool has threads, and the rest takes minutes under TSan: other builds do it. */
#ifdef __SANITIZE_THREAD__
static const bool under_tsan = true;
#else
static const bool under_tsan = false;
#endif

static char folder[] = "/tmp/dx_lake_XXXXXX";

static const char *path_of(const char *name)
{
    static char path[200];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int write_file(const char *path, struct maker *m, uint64_t count,
                      const struct dx_lake_schema *schema, const struct dx_lake_options *options,
                      struct dx_lake_stats *stats, struct dx_error *err)
{
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_lake_row row;
    int rc;

    (void)unlink(path);
    rc = dx_lake_file_open(&w, path, schema, options, err);
    for (uint64_t i = 0; rc == DX_OK && i < count; i++) {
        make_row(m, i, &row);
        rc = dx_lake_file_add(&w, &row, err);
    }
    if (rc == DX_OK)
        rc = dx_lake_file_close(&w, DX_SYNC_NOW, stats, err);
    dx_lake_file_abort(&w);
    return rc;
}

/* ---- round trips ---- */

static void check_pages(const struct dx_lake_scan *s, const struct dx_lake_options *o,
                        const char *name)
{
    const struct dx_lake_chunk *first = &s->group.column[0];

    for (size_t i = 0; i < s->column_count; i++) {
        const struct dx_lake_chunk *c = &s->group.column[i];

        CHECK(c->page_count == first->page_count && !c->has_dictionary, "%s: column %zu", name, i);
        for (uint32_t k = 0; k < c->page_count && k < first->page_count; k++)
            CHECK(c->page[k].first_row == first->page[k].first_row &&
                      c->page[k].row_count == first->page[k].row_count &&
                      c->page[k].row_count <= o->page_rows_max,
                  "%s: column %zu page %u", name, i, k);
    }
}

/* Rows without a time, as the statistics of the group have them. */
static void check_nulls(const struct dx_lake_scan *s, struct maker *m, uint64_t first,
                        const char *name)
{
    uint64_t nulls = 0;

    for (uint64_t i = 0; i < s->group.row_count; i++) {
        struct dx_lake_row row;

        make_row(m, first + i, &row);
        nulls += !row.has_ts;
    }
    for (size_t i = 0; i < s->column_count; i++)
        if (s->column[i].role == DX_LAKE_TS) {
            const struct dx_pq_statistics *got =
                &s->footer.group[s->group.number].chunk[s->column[i].leaf].statistics;

            CHECK(got->has_null_count && got->null_count == nulls,
                  "%s: row group %" PRIu32 ": %" PRIu64 " nulls of %" PRIu64, name, s->group.number,
                  got->null_count, nulls);
        }
}

static void check_file(const char *path, struct maker *m, uint64_t count, bool url_id,
                       const struct dx_lake_options *o, const struct dx_lake_stats *stats,
                       const char *name)
{
    struct dx_lake_scan s = DX_LAKE_SCAN_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_hash128 hash;
    struct dx_lake_row want, row;
    uint64_t n = 0, groups = 0;
    int rc = dx_lake_scan_open(&s, path, &err);

    CHECK(rc == DX_OK, "%s: %s", name, err.text);
    if (rc < 0)
        return;
    CHECK(s.extra_count == EXTRAS && s.footer.row_count == count, "%s", name);
    while ((rc = dx_lake_scan_group(&s, &err)) == 1) {
        groups++;
        CHECK(s.group.row_count <= o->group_rows_max, "%s", name);
        check_pages(&s, o, name);
        while ((rc = dx_lake_scan_row(&s, &row, &err)) == 1) {
            make_row(m, n, &want);
            CHECK(same_row(&want, &row, EXTRAS, url_id), "%s: row %" PRIu64, name, n);
            n++;
        }
        CHECK(rc == 0, "%s: %s", name, err.text);
        check_nulls(&s, m, n - s.group.row_count, name);
    }
    CHECK(rc == 0 && n == count && groups == stats->row_groups && stats->rows == count,
          "%s: %" PRIu64 " rows: %s", name, n, err.text);
    CHECK(dx_lake_scan_hash(&s, &hash, &err) == 0 && dx_hash128_equal(&hash, &stats->hash), "%s",
          name);
    dx_lake_scan_close(&s);
}

static void test_round_trips(void)
{
    static const struct {
        const char *name;
        uint64_t count;
        bool utf8, micros, url_id;
        struct dx_lake_options options;
    } rows[] = {
        { "no rows", 0, true, false, true, DX_LAKE_OPTIONS_DEFAULT },
        { "one row", 1, true, false, true, DX_LAKE_OPTIONS_DEFAULT },
        { "default", 9000, true, false, true, DX_LAKE_OPTIONS_DEFAULT },
        { "any bytes, micros", 9000, false, true, true, DX_LAKE_OPTIONS_DEFAULT },
        { "no url_id", 500, true, true, false, DX_LAKE_OPTIONS_DEFAULT },
        { "pages of 1", 100, true, true, true, { 1, 1, 1 << 20, 3, 7, 1 << 20, 1 } },
        { "pages of 4..9", 3000, false, true, true, { 4, 9, 1 << 20, 50, 120, 1 << 20, 3 } },
        { "pages of 500 bytes", 3000, true, true, true, { 100, 200, 500, 900, 999, 1 << 20, 3 } },
        { "groups of 5000 bytes", 3000, true, false, true, { 10, 20, 1 << 20, 900, 999, 5000, 9 } },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        static struct maker m;
        struct dx_lake_schema schema = { extra_names, EXTRAS, "a dataset", rows[i].micros,
                                         rows[i].url_id };
        const uint64_t count = rows[i].count > 1000 ? dx_sample(rows[i].count, rows[i].count / 5)
                                                    : rows[i].count;
        struct dx_lake_stats stats, again;
        struct dx_error err = DX_ERROR_INIT;

        m = (struct maker){ .seed = i + 1, .utf8 = rows[i].utf8, .micros = rows[i].micros };
        CHECK(write_file(path_of("a"), &m, count, &schema, &rows[i].options, &stats, &err) == 0,
              "%s: %s", rows[i].name, err.text);
        check_file(path_of("a"), &m, count, rows[i].url_id, &rows[i].options, &stats, rows[i].name);
        CHECK(write_file(path_of("b"), &m, count, &schema, &rows[i].options, &again, &err) == 0 &&
                  dx_hash128_equal(&stats.hash, &again.hash),
              "%s: other bytes the second time", rows[i].name);
        printf("%-22s %6" PRIu64 " rows %8" PRIu64 " bytes %3" PRIu64 " groups %4" PRIu64
               " pages\n",
               rows[i].name, stats.rows, stats.size, stats.row_groups, stats.pages);
    }
}

/* ---- several threads ---- */

enum { FILES = 9 };

struct closed {
    unsigned count;
    struct dx_hash128 hash[FILES];
};

static int remember_closed(void *ctx, const struct dx_lake_stats *stats, struct dx_error *err)
{
    struct closed *c = ctx;

    (void)err;
    c->hash[c->count++] = stats->hash;
    return DX_OK;
}

static void pooled_path(unsigned file, char out[250])
{
    char name[16];

    (void)snprintf(name, sizeof(name), "pool-%u", file);
    (void)snprintf(out, 250, "%s", path_of(name));
    (void)unlink(out);
}

static uint64_t pooled_rows(unsigned file)
{
    return file % 4 == 3 ? 1 : 300 + dx_sample(DX_ROUNDS(700, 250), DX_ROUNDS(150, 70)) * file;
}

static int add_rows(struct dx_lake_file *w, uint64_t seed, uint64_t count, struct dx_error *err)
{
    static struct maker m;
    struct dx_lake_row row;
    int rc = DX_OK;

    m = (struct maker){ .seed = seed, .utf8 = seed % 2 == 0 };
    for (uint64_t i = 0; rc == DX_OK && i < count; i++) {
        make_row(&m, i, &row);
        rc = dx_lake_file_add(w, &row, err);
    }
    return rc;
}

static int write_pooled(struct dx_lake_pool *pool, const struct dx_lake_schema *schema,
                        const struct dx_lake_options *options, struct closed *closed,
                        struct dx_error *err)
{
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    int rc = DX_OK;

    for (unsigned i = 0; rc == DX_OK && i < FILES; i++) {
        char path[250];

        pooled_path(i, path);
        rc = dx_lake_file_open_in(&w, pool, path, schema, options, err);
        if (rc == DX_OK)
            rc = add_rows(&w, i, pooled_rows(i), err);
        if (rc == DX_OK)
            rc = dx_lake_file_close_later(&w, DX_SYNC_LATER, remember_closed, closed, err);
    }
    if (rc == DX_OK)
        rc = dx_lake_pool_drain(pool, err);
    dx_lake_file_abort(&w);
    return rc;
}

static struct dx_hash128 hash_alone(unsigned file, const struct dx_lake_schema *schema,
                                    const struct dx_lake_options *options)
{
    struct maker m = { .seed = file, .utf8 = file % 2 == 0 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_lake_stats stats = { 0 };

    CHECK(write_file(path_of("a"), &m, pooled_rows(file), schema, options, &stats, &err) == DX_OK,
          "%s", err.text);
    return stats.hash;
}

/* The bytes do not depend on threads, also where row groups end by the size of their pages. */
static void test_pool(void)
{
    static const struct dx_lake_options options[] = {
        { 8, 16, 1 << 20, 400, 800, 20000, 9 },
        { 64, 128, 4096, 1 << 20, 1 << 20, 1 << 20, 1 },
        DX_LAKE_OPTIONS_DEFAULT,
    };
    const struct dx_lake_schema schema = { extra_names, EXTRAS, "set", true, true };

    for (unsigned i = 0; i < 3; i++) {
        struct dx_hash128 alone[FILES];

        for (unsigned k = 0; k < FILES; k++)
            alone[k] = hash_alone(k, &schema, &options[i]);
        for (unsigned threads = under_tsan ? 3 : 1; threads < 6; threads += 2 + 4 * under_tsan) {
            struct closed closed = { 0 };
            struct dx_lake_pool *pool = NULL;
            struct dx_error err = DX_ERROR_INIT;

            CHECK(dx_lake_pool_new(&pool, threads, &err) == DX_OK, "%s", err.text);
            CHECK(write_pooled(pool, &schema, &options[i], &closed, &err) == DX_OK, "%s", err.text);
            CHECK(closed.count == FILES, "%u files", closed.count);
            for (unsigned k = 0; k < closed.count; k++)
                CHECK(dx_hash128_equal(&closed.hash[k], &alone[k]),
                      "file %u: other bytes with a pool of %u", k, threads);
            dx_lake_pool_free(&pool);
        }
    }
}

/* Pages go from a file of small ones to one of large ones. */
static void test_pool_options(void)
{
    static const struct dx_lake_options options[] = {
        { 64, 128, 600, 1 << 20, 1 << 20, 1 << 20, 1 },
        DX_LAKE_OPTIONS_DEFAULT,
    };
    const struct dx_lake_schema schema = { extra_names, EXTRAS, "set", true, true };
    struct dx_lake_pool *pool = NULL;
    struct dx_error err = DX_ERROR_INIT;

    CHECK(dx_lake_pool_new(&pool, 2, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < 2; i++) {
        struct closed closed = { 0 };

        CHECK(write_pooled(pool, &schema, &options[i], &closed, &err) == DX_OK, "%s", err.text);
        CHECK(closed.count == FILES, "%u files", closed.count);
    }
    dx_lake_pool_free(&pool);
}

/* A disk that is full: the error is reported, no thread waits, and only files that were closed
 * stay. */
static void test_pool_full_disk(void)
{
    const struct dx_lake_schema schema = { extra_names, EXTRAS, "set", true, true };
    const struct dx_lake_options options = { 64, 128, 1 << 20, 400, 800, 1 << 20, 1 };
    struct rlimit before;

    (void)signal(SIGXFSZ, SIG_IGN);
    (void)getrlimit(RLIMIT_FSIZE, &before);
    for (unsigned threads = 1; threads < 6; threads += 2) {
        const struct rlimit small = { dx_sample(200000, 70000), before.rlim_max };
        struct closed closed = { 0 };
        struct dx_lake_pool *pool = NULL;
        struct dx_error err = DX_ERROR_INIT;

        char path[250];

        for (unsigned i = 0; i < FILES; i++)
            pooled_path(i, path);
        CHECK(dx_lake_pool_new(&pool, threads, &err) == DX_OK, "%s", err.text);
        (void)setrlimit(RLIMIT_FSIZE, &small);
        CHECK(write_pooled(pool, &schema, &options, &closed, &err) == DX_E_IO, "%s", err.text);
        (void)setrlimit(RLIMIT_FSIZE, &before);
        CHECK(closed.count > 0 && closed.count < FILES, "%u files", closed.count);
        dx_lake_pool_free(&pool);
        for (unsigned i = 0; i < FILES; i++) {
            char name[16];

            (void)snprintf(name, sizeof(name), "pool-%u", i);
            (void)snprintf(path, sizeof(path), "%s", path_of(name));
            CHECK((access(path, F_OK) == 0) == (i < closed.count), "file %u of %u", i,
                  closed.count);
            (void)unlink(path);
        }
    }
}

/* What is given up leaves no file, neither the open one nor those that wait to be closed. */
static void test_pool_abort(void)
{
    const struct dx_lake_schema schema = { NULL, 0, NULL, true, true };
    struct closed closed = { 0 };
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_lake_pool *pool = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char path[3][250];

    CHECK(dx_lake_pool_new(&pool, 3, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < 3; i++) {
        pooled_path(i, path[i]);
        CHECK(dx_lake_file_open_in(&w, pool, path[i], &schema, NULL, &err) == DX_OK, "%s",
              err.text);
        CHECK(add_rows(&w, i, 50, &err) == DX_OK, "%s", err.text);
        if (i < 2)
            CHECK(dx_lake_file_close_later(&w, DX_SYNC_LATER, remember_closed, &closed, &err) ==
                      DX_OK,
                  "%s", err.text);
    }
    dx_lake_file_abort(&w);
    for (unsigned i = 0; i < 3; i++)
        CHECK(closed.count > i || access(path[i], F_OK) != 0, "file %u was left", i);
    dx_lake_pool_free(&pool);
}

/* Rows of a domain stay in one page unless it is larger than one. */
static void test_borders(void)
{
    static const struct dx_lake_options options = { 8, 16, 1 << 20, 40, 80, 1 << 20, 1 };
    static const struct {
        unsigned sizes[8]; /* rows of each domain */
        const char *pages; /* rows of each page; a bar is a row group */
    } rows[] = {
        { { 3, 3, 3, 3 }, "9 3" },          { { 8, 8, 1 }, "8 8 1" },
        { { 40, 3 }, "16 16 8|3" },         { { 17, 2 }, "16 3" },
        { { 100 }, "16 16 16 16 16|16 4" }, { { 5, 40, 40 }, "16 16 13|16 16 8" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dx_lake_schema schema = { NULL, 0, NULL, false, true };
        struct dx_lake_file w = DX_LAKE_FILE_INIT;
        struct dx_lake_scan s = DX_LAKE_SCAN_INIT;
        struct dx_error err = DX_ERROR_INIT;
        char text[200] = "";
        int rc;

        (void)unlink(path_of("a"));
        rc = dx_lake_file_open(&w, path_of("a"), &schema, &options, &err);
        for (unsigned d = 0; rc == DX_OK && d < 8; d++)
            for (unsigned k = 0; rc == DX_OK && k < rows[i].sizes[d]; k++) {
                char name[8];
                struct dx_lake_row row = { .scheme = dx_span_str("http"),
                                           .path_query = dx_span_str("/") };

                (void)snprintf(name, sizeof(name), "%c.org", 'a' + (int)d);
                row.domain = row.host = dx_span_str(name);
                rc = dx_lake_file_add(&w, &row, &err);
            }
        if (rc == DX_OK)
            rc = dx_lake_file_close(&w, DX_SYNC_NOW, NULL, &err);
        dx_lake_file_abort(&w);
        if (rc == DX_OK)
            rc = dx_lake_scan_open(&s, path_of("a"), &err);
        while (rc >= 0 && (rc = dx_lake_scan_group(&s, &err)) == 1)
            for (uint32_t k = 0; k < s.group.column[0].page_count; k++) {
                size_t n = strlen(text);

                (void)snprintf(text + n, sizeof(text) - n, "%s%u",
                               k > 0                ? " "
                               : s.group.number > 0 ? "|"
                                                    : "",
                               s.group.column[0].page[k].row_count);
            }
        CHECK(rc == 0 && strcmp(text, rows[i].pages) == 0, "row %zu: %s, want %s; %s", i, text,
              rows[i].pages, err.text);
        dx_lake_scan_close(&s);
    }
}

/* ---- refusals ---- */

static void test_refusals(void)
{
    static const struct {
        const char *name;
        struct {
            const char *domain, *host, *path, *scheme;
            int64_t ts;
        } row[2];
        const char *text;
    } rows[] = {
        { "domain",
          { { "b.org", "b.org", "/", "http", 0 }, { "a.org", "a.org", "/", "http", 0 } },
          "domain \"a.org\" after \"b.org\"" },
        { "host",
          { { "b.org", "b.org", "/", "http", 0 }, { "b.org", "a.b.org", "/", "http", 0 } },
          "host \"a.b.org\" after" },
        { "path",
          { { "b.org", "b.org", "/b", "http", 0 }, { "b.org", "b.org", "/a", "http", 0 } },
          "path_query \"/a\" after" },
        { "time",
          { { "b.org", "b.org", "/", "http", 2000 }, { "b.org", "b.org", "/", "ftp", 1000 } },
          "a ts earlier than 2000 us" },
        { "equal rows are fine",
          { { "b.org", "b.org", "/", "http", 0 }, { "b.org", "b.org", "/", "http", 0 } },
          NULL },
        { "microseconds",
          { { "b.org", "b.org", "/", "http", 0 }, { "b.org", "b.org", "/", "http", 1001 } },
          "1001 us in a file of milliseconds" },
    };
    static const char *const taken[] = { "domain" }, *const twice[] = { "x", "x" };
    const struct dx_lake_options one = { 1, 1, 1 << 20, 1, 1, 1 << 20, 1 };
    struct dx_lake_schema schema = { NULL, 0, NULL, false, true };
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
        size_t r = i / 2;
        int rc;

        (void)unlink(path_of("a"));
        rc = dx_lake_file_open(&w, path_of("a"), &schema, i % 2 == 0 ? NULL : &one, &err);
        for (size_t k = 0; rc == DX_OK && k < 2; k++) {
            struct dx_lake_row row = { .domain = dx_span_str(rows[r].row[k].domain),
                                       .host = dx_span_str(rows[r].row[k].host),
                                       .path_query = dx_span_str(rows[r].row[k].path),
                                       .scheme = dx_span_str(rows[r].row[k].scheme),
                                       .has_ts = true,
                                       .ts_us = rows[r].row[k].ts };
            rc = dx_lake_file_add(&w, &row, &err);
        }
        CHECK(rows[r].text == NULL ? rc == 0 : rc < 0 && strstr(err.text, rows[r].text) != NULL,
              "%s: %s", rows[r].name, err.text);
        dx_lake_file_abort(&w);
        CHECK(access(path_of("a"), F_OK) < 0, "%s: a file is left", rows[r].name);
    }
    schema.extra_names = taken;
    schema.extra_count = 1;
    CHECK(dx_lake_file_open(&w, path_of("a"), &schema, NULL, &err) < 0, "a taken name");
    schema.extra_names = twice;
    schema.extra_count = 2;
    CHECK(dx_lake_file_open(&w, path_of("a"), &schema, NULL, &err) < 0, "a name twice");
}

/* ---- damage ---- */

/* 1: all rows as written; 0: refused; -1: other rows. Reads only what a user of rows does. */
static int read_damaged(const char *path, struct maker *m, uint64_t count)
{
    struct dx_lake_scan s = DX_LAKE_SCAN_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_lake_row want, row;
    uint64_t n = 0;
    bool same = true;
    int rc = dx_lake_scan_open(&s, path, &err);

    while (rc >= 0 && (rc = dx_lake_scan_group(&s, &err)) == 1)
        while ((rc = dx_lake_scan_row(&s, &row, &err)) == 1) {
            make_row(m, n++, &want);
            same = same && n <= count && s.extra_count == EXTRAS &&
                   same_row(&want, &row, EXTRAS, true);
        }
    dx_lake_scan_close(&s);
    return rc < 0 ? 0 : same && n == count ? 1 : -1;
}

/* In place: a file that is rewritten for every bit costs a flush each on some systems. */
static void flip(int fd, const struct dx_buf *file, size_t bit)
{
    uint8_t byte = (uint8_t)(file->data[bit / 8] ^ 1u << (bit % 8));

    if (pwrite(fd, &byte, 1, (off_t)(bit / 8)) != 1)
        abort();
}

static void restore(int fd, const struct dx_buf *file)
{
    if (pwrite(fd, file->data, file->size, 0) != (ssize_t)file->size)
        abort();
}

/* Pages have their CRC, the footer our checksum; index pages are not read. Each bit, or every
 * DX_FLIP_STEP-th. */
#define DAMAGE_ROWS 5

static void test_damage(void)
{
    static struct maker m = { .seed = 3, .utf8 = true, .micros = true };
    struct dx_lake_schema schema = { extra_names, EXTRAS, "d", true, true };
    static const struct dx_lake_options options = { 1, 2, 1 << 20, 2, 3, 1 << 20, 3 };
    struct dx_lake_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    unsigned result[3] = { 0, 0, 0 };
    int fd;

    if (write_file(path_of("a"), &m, DAMAGE_ROWS, &schema, &options, &stats, &err) < 0 ||
        dx_file_read(path_of("a"), file.max, &file, &err) < 0) {
        CHECK(false, "%s", err.text);
        return;
    }
    fd = open(path_of("c"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    restore(fd, &file);
    for (size_t n = file.size - 1; n < file.size; n -= damaged_step()) {
        if (ftruncate(fd, (off_t)n) < 0)
            abort();
        CHECK(read_damaged(path_of("c"), &m, DAMAGE_ROWS) == 0, "cut at %zu is read", n);
    }
    restore(fd, &file);
    for (size_t bit = 0; bit < file.size * 8; bit += damaged_step()) {
        int r;

        flip(fd, &file, bit);
        r = read_damaged(path_of("c"), &m, DAMAGE_ROWS);
        result[r + 1]++;
        if (pwrite(fd, file.data + bit / 8, 1, (off_t)(bit / 8)) != 1)
            abort();
        CHECK(r >= 0, "bit %zu of byte %zu gives other rows", bit % 8, bit / 8);
    }
    printf("%zu bytes, bits: %u refused, %u without effect\n", file.size, result[1], result[2]);
    (void)close(fd);
    dx_buf_release(&file);
}

/* ---- files for others ---- */

static void put_hex(FILE *f, struct dx_span s)
{
    if (s.data == NULL) {
        (void)fputc('N', f);
        return;
    }
    (void)fputc('x', f);
    for (size_t i = 0; i < s.size; i++)
        (void)fprintf(f, "%02x", s.data[i]);
}

static void put_line(FILE *f, const struct dx_lake_row *row, size_t extras)
{
    put_hex(f, row->domain);
    (void)fprintf(f, "\t%" PRIu64 "\t", row->domain_id);
    put_hex(f, row->scheme);
    (void)fputc('\t', f);
    put_hex(f, row->host);
    (void)fputc('\t', f);
    put_hex(f, row->path_query);
    (void)fputc('\t', f);
    put_hex(f, row->raw_url);
    if (row->has_ts)
        (void)fprintf(f, "\t%" PRId64, row->ts_us);
    else
        (void)fprintf(f, "\tN");
    for (size_t i = 0; i < extras; i++) {
        (void)fputc('\t', f);
        put_hex(f, row->extra[i]);
    }
    (void)fprintf(f, "\t%" PRIu64 "\n", row->url_id);
}

static int write_for_peers(char **argv)
{
    static struct maker m = { .utf8 = true };
    uint64_t count = strtoull(argv[3], NULL, 10);
    struct dx_lake_schema schema = { extra_names, EXTRAS, "peers", false, true };
    struct dx_lake_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_lake_row row;
    FILE *f = fopen(argv[1], "w");

    m.seed = strtoull(argv[2], NULL, 10);
    m.micros = schema.ts_micros = m.seed % 2 == 1;
    m.utf8 = m.seed % 3 != 0;
    if (f == NULL || write_file(argv[0], &m, count, &schema, NULL, &stats, &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    for (uint64_t i = 0; i < count; i++) {
        make_row(&m, i, &row);
        put_line(f, &row, EXTRAS);
    }
    return fclose(f) == 0 ? 0 : 1;
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_stats(const struct dx_lake_stats *stats, double spent)
{
    uint64_t pages = 0;

    printf("%" PRIu64 " rows, %" PRIu64 " row groups, %" PRIu64 " pages a column, %" PRIu64
           " bytes, %.2f bytes/row, %.2f s in the writer, %.0f rows/s\n",
           stats->rows, stats->row_groups, stats->pages, stats->size,
           (double)stats->size / (double)stats->rows, spent, (double)stats->rows / spent);
    for (size_t i = 0; i < stats->column_count; i++) {
        printf("  %-12s %10" PRIu64 " bytes %7.3f bytes/row\n", stats->column[i].name,
               stats->column[i].bytes, (double)stats->column[i].bytes / (double)stats->rows);
        pages += stats->column[i].bytes;
    }
    printf("  %-12s %10" PRIu64 " bytes %7.3f bytes/row\n", "index, footer", stats->size - pages,
           (double)(stats->size - pages) / (double)stats->rows);
}

static int write_urls(char **argv)
{
    struct dx_lake_schema schema = { NULL, 0, "urls", false, true };
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_lake_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    FILE *in = fopen(argv[0], "r"), *out = argv[2] != NULL ? fopen(argv[2], "w") : NULL;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    double spent = 0;
    int rc;

    if (in == NULL)
        return 1;
    rc = dx_lake_file_open(&w, argv[1], &schema, NULL, &err);
    while (rc == DX_OK && (size = getline(&line, &capacity, in)) > 0) {
        char *field[6], *rest = line;
        struct dx_lake_row row = { .domain_id = 0 };
        double start;

        line[size - 1] = '\0';
        for (int i = 0; i < 6; i++) {
            field[i] = strsep(&rest, "\t");
            if (field[i] == NULL)
                return 1;
        }
        row.domain = dx_span_str(field[0]);
        row.host = dx_span_str(field[1]);
        row.path_query = dx_span_str(field[2]);
        row.scheme = dx_span_str(field[3]);
        row.has_ts = field[4][0] != '\0';
        row.ts_us = strtoll(field[4], NULL, 10) * 1000000;
        if (field[5][0] != '\0')
            row.raw_url = dx_span_str(field[5]);
        row.domain_id = dx_domain_id(row.domain);
        row.url_id = mix(dx_hash64(row.path_query), dx_hash64(row.host));
        start = seconds();
        rc = dx_lake_file_add(&w, &row, &err);
        spent += seconds() - start;
        if (out != NULL)
            put_line(out, &row, 0);
    }
    spent -= seconds();
    if (rc == DX_OK)
        rc = dx_lake_file_close(&w, DX_SYNC_NOW, &stats, &err);
    spent += seconds();
    dx_lake_file_abort(&w);
    free(line);
    (void)fclose(in);
    if (out != NULL && fclose(out) != 0)
        return 1;
    if (rc < 0)
        printf("%s\n", err.text);
    else
        print_stats(&stats, spent);
    return rc < 0;
}

/* Replaces text by other text of the same length, wherever it stands in the file. */
static void patch(const char *path, const char *from, const char *to)
{
    struct dx_buf bytes = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    uint8_t *at;

    CHECK(dx_file_read(path, bytes.max, &bytes, &err) == DX_OK, "%s", err.text);
    at = memmem(bytes.data, bytes.size, from, strlen(from));
    CHECK(at != NULL, "no '%s' in %s", from, path);
    if (at != NULL)
        memcpy(at, to, strlen(from));
    CHECK(dx_file_replace(path, dx_span_of(bytes.data, bytes.size), &err) == DX_OK, "%s", err.text);
    dx_buf_release(&bytes);
}

/* A file of one row. */
static void write_one(const char *path)
{
    struct dx_lake_schema schema = { NULL, 0, NULL, false, true };
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_lake_stats stats;
    struct dx_lake_row row = { .domain = dx_span_str("a.org"),
                               .host = dx_span_str("a.org"),
                               .path_query = dx_span_str("/"),
                               .scheme = dx_span_str("http") };

    (void)unlink(path);
    CHECK(dx_lake_file_open(&w, path, &schema, NULL, &err) == DX_OK, "%s", err.text);
    CHECK(dx_lake_file_add(&w, &row, &err) == DX_OK, "%s", err.text);
    CHECK(dx_lake_file_close(&w, DX_SYNC_LATER, &stats, &err) == DX_OK, "%s", err.text);
}

static void test_canon_version(void)
{
    struct dx_lake_scan s = DX_LAKE_SCAN_INIT;
    struct dx_error err = DX_ERROR_INIT;

    write_one(path_of("canon"));
    CHECK(dx_lake_scan_open(&s, path_of("canon"), &err) == DX_OK, "%s", err.text);
    dx_lake_scan_close(&s);
    patch(path_of("canon"),
          "\x17" DX_LAKE_CANON_KEY "\x18\x01"
          "1",
          "\x17" DX_LAKE_CANON_KEY "\x18\x01"
          "2");
    CHECK(dx_lake_scan_open(&s, path_of("canon"), &err) < 0 &&
              strstr(err.text, "wrong checksum") != NULL,
          "%s", err.text);
    patch(path_of("canon"), "domaindex.footer_xxh3", "domaindex.footer_none");
    CHECK(dx_lake_scan_open(&s, path_of("canon"), &err) == DX_E_UNSUPPORTED &&
              strstr(err.text, "canonical form 2") != NULL,
          "%s", err.text);
    (void)unlink(path_of("canon"));
}

/* In the footer, of ts: field 10 is its logical type, of that field 8 TIMESTAMP and 7 TIME; both begin with whether it is UTC, and
 * a unit: field 1 milliseconds, 4 none that there is. */
static void test_ts_type(void)
{
    static const struct {
        const char *from, *to, *words;
    } rows[] = {
        { "\x4c\x8c\x11\x1c", "\x4c\x7c\x11\x1c", "column ts is INT64 (TIME)" },
        { "\x4c\x8c\x11\x1c\x1c", "\x4c\x8c\x11\x1c\x4c", "column ts is INT64 (TIMESTAMP)" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_lake_scan s = DX_LAKE_SCAN_INIT;
        struct dx_error err = DX_ERROR_INIT;

        write_one(path_of("ts"));
        patch(path_of("ts"), rows[i].from, rows[i].to);
        patch(path_of("ts"), "domaindex.footer_xxh3", "domaindex.footer_none");
        CHECK(dx_lake_scan_open(&s, path_of("ts"), &err) == DX_E_UNSUPPORTED &&
                  strstr(err.text, rows[i].words) != NULL,
              "row %zu: %s", i, err.text);
        dx_lake_scan_close(&s);
    }
    (void)unlink(path_of("ts"));
}

int main(int argc, char **argv)
{
    struct dx_error err = DX_ERROR_INIT;

    if (argc == 6 && strcmp(argv[1], "--write") == 0)
        return write_for_peers(argv + 2);
    if (argc >= 4 && strcmp(argv[1], "--urls") == 0)
        return write_urls(argv + 2);
    if (mkdtemp(folder) == NULL)
        return 1;
    if (!under_tsan) {
        test_round_trips();
        test_borders();
        test_damage();
    }
    test_pool();
    test_pool_options();
    test_pool_full_disk();
    test_pool_abort();
    test_refusals();
    test_canon_version();
    test_ts_type();
    if (getenv("DX_KEEP") == NULL)
        (void)dx_dir_remove(folder, &err);
    if (failures > 0)
        printf("%u checks failed\n", failures);
    return failures > 0;
}
