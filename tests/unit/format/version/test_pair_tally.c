/* SPDX-License-Identifier: Apache-2.0
 * Hosts, paths, sections and distinct URLs of random sorted rows against a count by brute force;
 * what is stored when; hosts that are too many.
 */
#include "format/version/pair_tally.h"
#include "format/version/url_sketch.h"
#include "tests/support/damage.h"

#include <stdlib.h>
#include <time.h>

#define ROWS_MAX 20000

static int failures;
static uint64_t seed = 1;

struct row {
    char host[64];
    char path_query[96];
    char scheme[8];
    bool new_url;
};

static struct row rows[ROWS_MAX];
static size_t row_count;

/* ---- rows ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int c = strcmp(x->host, y->host);

    return c != 0 ? c : strcmp(x->path_query, y->path_query);
}

/* Few letters, so that paths nest and meet, with bytes on both sides of '?' and '/'. */
static void random_text(char *to, size_t size, const char *letters)
{
    size_t n = random_below(&seed, size);
    size_t count = strlen(letters);

    for (size_t i = 0; i < n; i++)
        to[i] = letters[random_below(&seed, count)];
    to[n] = '\0';
}

static void random_row(struct row *r, const char *domain, unsigned hosts, size_t length)
{
    static const char *const schemes[] = { "http", "https", "ftp" };
    static const char *const ports[] = { "", "", ":8080", ".", ".:81" };
    char path[40];
    char query[24];
    unsigned host = (unsigned)random_below(&seed, hosts);

    random_text(path, length, "ab-/!a0.~");
    random_text(query, length < 20 ? length : 20, "a=?&/");
    if (host < 2)
        (void)snprintf(r->host, sizeof r->host, "%s%s", host == 0 ? "" : "www.", domain);
    else
        (void)snprintf(r->host, sizeof r->host, "%c%u.%s%s", 'a' + (int)(host % 26), host, domain,
                       ports[host % 5]);
    (void)snprintf(r->path_query, sizeof r->path_query, "/%s%s%s", path,
                   random_below(&seed, 2) ? "?" : "", random_below(&seed, 3) ? "" : query);
    (void)snprintf(r->scheme, sizeof r->scheme, "%s", schemes[random_below(&seed, 3)]);
}

static void random_rows(size_t n, const char *domain, unsigned hosts, size_t length)
{
    row_count = n;
    for (size_t i = 0; i < n; i++)
        random_row(&rows[i], domain, hosts, length);
    qsort(rows, n, sizeof rows[0], compare_rows);
    for (size_t i = 0; i < n; i++) {
        rows[i].new_url = true;
        for (size_t k = i; k > 0 && compare_rows(&rows[k - 1], &rows[i]) == 0; k--)
            rows[i].new_url = rows[i].new_url && strcmp(rows[k - 1].scheme, rows[i].scheme) != 0;
    }
}

/* ---- by brute force ---- */

struct entry {
    char host[64];
    char path[96];
    struct dx_fact fact;
};

static struct entry expected[ROWS_MAX];

static void cut_to(const struct row *r, int what, char *path)
{
    char *end;

    (void)snprintf(path, 96, "%s", what < 0 ? "" : r->path_query);
    end = strchr(path, '?');
    if (end != NULL)
        *end = '\0';
    if (what == DX_PATHS_SECTION) {
        end = strchr(path + 1, '/');
        path[end == NULL ? 1 : end - path + 1] = '\0';
    }
}

/* Entries move when they are sorted, so their spans are made when they are looked at. */
static struct dx_fact fact_of(const struct entry *e)
{
    return (struct dx_fact){ dx_span_str(e->host), dx_span_str(e->path), e->fact.url_count,
                             e->fact.row_count };
}

static int compare_entries(const void *a, const void *b)
{
    struct dx_fact x = fact_of(a);
    struct dx_fact y = fact_of(b);

    return dx_fact_compare(&x, &y);
}

static int compare_by_text(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int c = strcmp(x->host, y->host);

    return c != 0 ? c : strcmp(x->path, y->path);
}

/* what: a kind of paths, or -1 for hosts. */
static size_t recount(int what)
{
    size_t n = 0;

    for (size_t i = 0; i < row_count; i++) {
        struct entry *e = &expected[i];

        (void)snprintf(e->host, sizeof e->host, "%s", rows[i].host);
        cut_to(&rows[i], what, e->path);
        e->fact = (struct dx_fact){ .url_count = rows[i].new_url, .row_count = 1 };
    }
    qsort(expected, row_count, sizeof expected[0], compare_by_text);
    for (size_t i = 0; i < row_count; i++) {
        if (n > 0 && compare_by_text(&expected[n - 1], &expected[i]) == 0) {
            expected[n - 1].fact.url_count += expected[i].fact.url_count;
            expected[n - 1].fact.row_count++;
        } else {
            expected[n++] = expected[i];
        }
    }
    return n;
}

/* ---- one set of rows ---- */

static int tally_rows(struct dx_pair_tally *t, const char *domain, bool all_paths,
                      struct dx_buf *facts, struct dx_buf *sketch, struct dx_error *err)
{
    int rc = DX_OK;

    dx_pair_tally_begin(t, dx_span_str(domain));
    if (all_paths)
        dx_pair_tally_all_paths(t);
    for (size_t i = 0; rc >= 0 && i < row_count; i++)
        rc = dx_pair_tally_row(t, dx_span_str(rows[i].scheme), dx_span_str(rows[i].host),
                               dx_span_str(rows[i].path_query), rows[i].new_url, err);
    return rc < 0 ? rc : dx_pair_tally_end(t, facts, sketch, err);
}

static bool same_fact(const struct dx_fact *a, const struct entry *e)
{
    struct dx_fact want = fact_of(e);

    return dx_fact_compare(a, &want) == 0;
}

static void check_hosts(struct dx_facts *f)
{
    struct dx_error err = DX_ERROR_INIT;
    size_t n = recount(-1);
    struct dx_fact fact;
    size_t i;
    int rc;

    EXPECT(f->has_hosts && f->host_count == n, "%zu hosts", n);
    for (i = 0; (rc = dx_facts_host(f, &fact, &err)) == 1; i++)
        EXPECT(i < n && same_fact(&fact, &expected[i]), "host %zu: %.*s, %s", i,
               (int)fact.host.size, (const char *)fact.host.data, expected[i].host);
    EXPECT(rc == 0 && i == n, "%zu of %zu hosts: %s", i, n, err.text);
}

static void check_paths(struct dx_facts *f, enum dx_paths kind)
{
    struct dx_error err = DX_ERROR_INIT;
    size_t n = recount((int)kind);
    size_t want = n < DX_FACTS_PATHS_MAX ? n : DX_FACTS_PATHS_MAX;
    struct dx_fact fact;
    size_t i;
    int rc;

    qsort(expected, n, sizeof expected[0], compare_entries);
    EXPECT(f->path_count[kind] == n && f->listed[kind] == want, "%zu paths", n);
    for (i = 0; (rc = dx_facts_path(f, kind, &fact, &err)) == 1; i++)
        EXPECT(i < want && same_fact(&fact, &expected[i]), "kind %d, path %zu: %.*s, %s", (int)kind,
               i, (int)fact.path.size, (const char *)fact.path.data, expected[i].path);
    EXPECT(rc == 0 && i == want, "%zu of %zu paths: %s", i, want, err.text);
}

static void check_sketch(const struct dx_buf *bytes, uint64_t urls)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_url_sketch all;
    struct dx_url_sketch got;

    dx_url_sketch_init(&all);
    dx_url_sketch_init(&got);
    for (size_t i = 0; i < row_count; i++)
        (void)dx_url_sketch_add(&all,
                                dx_url_sketch_hash(dx_span_str(rows[i].scheme),
                                                   dx_span_str(rows[i].host),
                                                   dx_span_str(rows[i].path_query)),
                                &err);
    EXPECT(dx_url_sketch_count(&all) == urls, "%llu URLs", (unsigned long long)urls);
    EXPECT(dx_url_sketch_settle(&all, &err) >= 0, "%s", err.text);
    EXPECT(dx_url_sketch_decode(&got, dx_span_of(bytes->data, bytes->size), &err) >= 0, "%s",
           err.text);
    EXPECT(got.dense == (urls > DX_SKETCH_PAIR_MAX) &&
               dx_url_sketch_count(&got) == dx_url_sketch_count(&all),
           "sketch of %llu URLs", (unsigned long long)urls);
    dx_url_sketch_release(&all);
    dx_url_sketch_release(&got);
}

static void check_rows(struct dx_pair_tally *t, const char *domain, bool all_paths)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    struct dx_pair_count counts = { 0 };
    struct dx_facts f = { 0 };
    bool paths = all_paths || row_count > DX_FACTS_ROWS;
    int rc = tally_rows(t, domain, all_paths, &facts, &sketch, &err);

    EXPECT(rc >= 0, "%s", err.text);
    dx_pair_tally_counts(t, &counts.url_count, &counts.row_count);
    EXPECT(counts.row_count == row_count, "rows");
    rc = dx_facts_open(&f, dx_span_of(facts.data, facts.size), dx_span_str(domain), &counts, &err);
    EXPECT(rc >= 0 && f.has_paths == paths, "%s", err.text);
    check_hosts(&f);
    for (unsigned k = 0; paths && k < DX_PATHS_KINDS; k++)
        check_paths(&f, (enum dx_paths)k);
    check_sketch(&sketch, counts.url_count);
    dx_facts_close(&f);
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
}

/* ---- what is stored when ---- */

static void check_size(struct dx_pair_tally *t, const char *domain, const char *host,
                       const char *other, size_t size)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);

    row_count = other == NULL ? 1 : 2;
    for (size_t i = 0; i < row_count; i++) {
        rows[i] = (struct row){ .path_query = "/x?y", .scheme = "https", .new_url = true };
        (void)snprintf(rows[i].host, sizeof rows[i].host, "%s", i == 0 ? host : other);
    }
    EXPECT(tally_rows(t, domain, false, &facts, &sketch, &err) >= 0, "%s", err.text);
    EXPECT(facts.size == size, "%s: %zu bytes", host, facts.size);
    check_rows(t, domain, false);
    check_rows(t, domain, true);
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
}

static void check_common_hosts(struct dx_pair_tally *t)
{
    check_size(t, "example.com", "example.com", NULL, 1);
    check_size(t, "example.com", "www.example.com", NULL, 1);
    check_size(t, "example.com", "example.com", "www.example.com", 3);
    check_size(t, "zzz.com", "www.zzz.com", "zzz.com", 3);
    check_size(t, "w.de", "w.de", "www.w.de", 3);
    check_size(t, "www.de", "www.de", "www.www.de", 3);
    check_size(t, "www.www.x", "www.www.www.x", "www.www.x", 3);
    check_size(t, "ww", "ww", "www.ww", 3);
    check_size(t, "www", "www", "www.www", 3);
    check_size(t, "example.com", "en.example.com", NULL, 7);
    check_size(t, "[1::8]", "[1::8]:81", NULL, 8);
    check_size(t, "example.com", "elsewhere.org", NULL, 17); /* a lake of another writer */
}

static void check_too_many_hosts(struct dx_pair_tally *t)
{
    static char host[8000];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    struct dx_pair_count counts = { 0 };
    struct dx_facts f = { 0 };
    struct dx_fact fact;
    int rc = DX_OK;
    int n = (int)(DX_FACTS_HOSTS_BYTES / (sizeof host - 1)) + 2;

    memset(host, 'h', sizeof host);
    memcpy(host + sizeof host - 6, ".x.com", 6);
    dx_pair_tally_begin(t, dx_span_str("x.com"));
    for (int i = 0; rc >= 0 && i < n; i++) {
        char digits[8];

        (void)snprintf(digits, sizeof digits, "%07d", i);
        memcpy(host, digits, 7);
        rc = dx_pair_tally_row(t, dx_span_str("http"), dx_span_of(host, sizeof host),
                               dx_span_str("/a/b"), true, &err);
    }
    EXPECT(rc >= 0 && dx_pair_tally_end(t, &facts, &sketch, &err) >= 0, "%s", err.text);
    dx_pair_tally_counts(t, &counts.url_count, &counts.row_count);
    EXPECT(dx_facts_open(&f, dx_span_of(facts.data, facts.size), dx_span_str("x.com"), &counts,
                         &err) >= 0,
           "%s", err.text);
    EXPECT(!f.has_hosts && f.host_count == (uint64_t)n && f.has_paths &&
               f.path_count[DX_PATHS_SECTION] == (uint64_t)n,
           "%d hosts", n);
    EXPECT(dx_facts_host(&f, &fact, &err) == DX_E_UNSUPPORTED, "%s", err.text);
    EXPECT(dx_facts_path(&f, DX_PATHS_EXACT, &fact, &err) == 1 && fact.host.size == sizeof host &&
               fact.url_count == 1,
           "%s", err.text);
    dx_facts_close(&f);
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
}

/* A host as long as a row of another writer's lake may be. */
static void check_long_host(struct dx_pair_tally *t)
{
    size_t size = (size_t)8 << 20;
    uint8_t *host = malloc(size);
    const struct dx_pair_count counts = { .url_count = 1, .row_count = 1 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    struct dx_facts f = { 0 };
    struct dx_fact fact;

    if (host == NULL)
        exit(1);
    memset(host, 'h', size);
    memcpy(host + size - 6, ".x.com", 6);
    dx_pair_tally_begin(t, dx_span_str("x.com"));
    dx_pair_tally_all_paths(t);
    EXPECT(dx_pair_tally_row(t, dx_span_str("http"), dx_span_of(host, size), dx_span_str("/"), true,
                             &err) >= 0 &&
               dx_pair_tally_end(t, &facts, &sketch, &err) >= 0,
           "%s", err.text);
    EXPECT(dx_facts_open(&f, dx_span_of(facts.data, facts.size), dx_span_str("x.com"), &counts,
                         &err) >= 0 &&
               dx_facts_host(&f, &fact, &err) == 1 &&
               dx_span_equal(fact.host, dx_span_of(host, size)) &&
               dx_facts_host(&f, &fact, &err) == 0,
           "%s", err.text);
    EXPECT(!f.has_paths, "paths over what is stored");
    dx_facts_close(&f);
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
    free(host);
}

/* Paths that are long, and then better ones that are not: what is held meanwhile has an end. */
static void check_long_paths(struct dx_pair_tally *t)
{
    static uint8_t path[100 << 10];
    const size_t longs = DX_TALLY_PATHS_BYTES / sizeof path + 2;
    const size_t n = longs + 2 * DX_FACTS_PATHS_MAX;
    const struct dx_pair_count counts = { .url_count = n, .row_count = n };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    struct dx_facts f = { 0 };
    int rc = DX_OK;

    dx_pair_tally_begin(t, dx_span_str("x.com"));
    dx_pair_tally_all_paths(t);
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        size_t short_one = i < longs ? 0 : i - longs;
        char text[40];
        int size = i < longs
                       ? snprintf(text, sizeof text, "/a%06zu", i)
                       : snprintf(text, sizeof text, "/b%06zu?%zu", short_one / 2, short_one % 2);

        memset(path, 'x', sizeof path);
        memcpy(path, text, (size_t)size);
        rc = dx_pair_tally_row(t, dx_span_str("http"), dx_span_str("x.com"),
                               dx_span_of(path, i < longs ? sizeof path : (size_t)size), true,
                               &err);
    }
    EXPECT(rc >= 0 && dx_pair_tally_end(t, &facts, &sketch, &err) >= 0 &&
               dx_facts_open(&f, dx_span_of(facts.data, facts.size), dx_span_str("x.com"), &counts,
                             &err) >= 0,
           "%s", err.text);
    EXPECT(f.host_count == 1 && !f.has_paths, "paths of which too many were long");
    dx_facts_close(&f);
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
}

/* Of a dataset of counts: rows and URLs are pages, there are no paths, and the sketch is of one hash. */
static void check_pages(struct dx_pair_tally *t)
{
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    const struct dx_pair_count count = { .url_count = 10007, .row_count = 10007 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_url_sketch s;
    struct dx_facts f;
    struct dx_fact fact;

    dx_pair_tally_begin(t, dx_span_str("x.com"));
    EXPECT(dx_pair_tally_pages(t, dx_span_str("a.x.com"), 3, &err) >= 0 &&
               dx_pair_tally_pages(t, dx_span_str("a.x.com"), 4, &err) >= 0 &&
               dx_pair_tally_pages(t, dx_span_str("b.x.com"), 10000, &err) >= 0 &&
               dx_pair_tally_end(t, &facts, &sketch, &err) >= 0,
           "%s", err.text);
    EXPECT(dx_facts_open(&f, dx_span_of(facts.data, facts.size), dx_span_str("x.com"), &count,
                         &err) >= 0 &&
               f.host_count == 2 && !f.has_paths,
           "%s", err.text);
    EXPECT(dx_facts_host(&f, &fact, &err) == 1 && fact.row_count == 7 && fact.url_count == 7,
           "first host");
    EXPECT(dx_facts_host(&f, &fact, &err) == 1 && fact.row_count == 10000, "second host");
    dx_facts_close(&f);
    dx_url_sketch_init(&s);
    EXPECT(dx_url_sketch_decode(&s, dx_span_of(sketch.data, sketch.size), &err) >= 0 &&
               dx_url_sketch_count(&s) == 1,
           "sketch");
    dx_url_sketch_release(&s);
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
}

static void check_refused(struct dx_pair_tally *t)
{
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    struct dx_span http = dx_span_str("http");
    struct dx_span path = dx_span_str("/");

    dx_pair_tally_begin(t, dx_span_str("x.com"));
    EXPECT(dx_pair_tally_end(t, &facts, &sketch, NULL) < 0, "no rows");
    dx_pair_tally_begin(t, dx_span_str("x.com"));
    EXPECT(dx_pair_tally_row(t, http, dx_span_str("b.x.com"), path, true, NULL) >= 0 &&
               dx_pair_tally_row(t, http, dx_span_str("a.x.com"), path, true, NULL) >= 0 &&
               dx_pair_tally_end(t, &facts, &sketch, NULL) < 0,
           "hosts that descend");
    dx_pair_tally_begin(t, dx_span_str("x.com"));
    EXPECT(dx_pair_tally_row(t, http, dx_span_str("x.com"), path, false, NULL) >= 0 &&
               dx_pair_tally_end(t, &facts, &sketch, NULL) < 0,
           "rows and no URL");
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
}

/* `test_pair_tally N`: CPU time of a row, over N rounds of many small and of one large pair. */
static void measure(struct dx_pair_tally *t, int rounds)
{
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    static const size_t sizes[] = { 1, 3, 10, 100, 1000, ROWS_MAX };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct timespec from;
        struct timespec to;
        size_t n = ROWS_MAX / sizes[i];

        random_rows(sizes[i], "example.com", 1 + (unsigned)(sizes[i] / 200), 36);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        for (size_t k = 0; k < (size_t)rounds * n; k++)
            (void)tally_rows(t, "example.com", false, &facts, &sketch, NULL);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        printf("%6zu rows a pair: %.1f ns a row\n", sizes[i],
               ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
                   (double)((size_t)rounds * n * sizes[i]));
    }
    dx_buf_release(&facts);
    dx_buf_release(&sketch);
}

int main(int argc, char **argv)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pair_tally *t;

    if (dx_pair_tally_new(&t, &err) < 0)
        return 1;
    if (argc > 1) {
        measure(t, atoi(argv[1]));
        dx_pair_tally_free(&t);
        return 0;
    }
    check_common_hosts(t);
    check_pages(t);
    check_refused(t);
    for (int round = 0; round < 300; round++) {
        random_rows(1 + random_below(&seed, 60), "x.com", 1 + (unsigned)random_below(&seed, 5),
                    2 + random_below(&seed, 8));
        check_rows(t, "x.com", round % 2 == 0);
    }
    for (int round = 0; round < 3; round++) {
        random_rows(DX_FACTS_ROWS + (round > 0), "x.com", round == 2 ? 400 : 1, 6);
        check_rows(t, "x.com", round == 2);
    }
    random_rows(ROWS_MAX, "x.com", 60, 12);
    check_rows(t, "x.com", false);
    check_too_many_hosts(t);
    check_long_host(t);
    check_long_paths(t);
    random_rows(ROWS_MAX, "x.com", 60, 12);
    check_rows(t, "x.com", false);
    dx_pair_tally_free(&t);
    return failures == 0 ? 0 : 1;
}
