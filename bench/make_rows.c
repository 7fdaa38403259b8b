/* SPDX-License-Identifier: Apache-2.0
 * make_rows - made-up crawls of any size: rows on standard output, or what must be answered of
 * them.
 *
 *   make_rows --domains N [options] | domaindex ingest --dataset-column 1 --ts-column 2 --url-column 3 -
 *   make_rows --domains N [options] --totals           domains, rows and sizes, as JSON
 *   make_rows --domains N [options] --expect K         what K drawn domains have, by a recount
 *   make_rows --domains N [options] --ask K [--zipf S] K names, drawn by Zipf's law over their ranks
 *
 * options: --datasets D (20), --seed S (1), --begin B: domains have the names from B on, so that
 * another run has others; --prefix P of the names of datasets (crawl).
 *
 * A row is dataset, Unix time, URL, with tabs. Rows come as from a crawl: in no order. All follows
 * from the options: the same again gives the same bytes, in memory that does not grow.
 *
 * Domain i has rank i: the first have most rows. Three of four have one row, a fifth has two, one
 * in 20 has more; of those one in s^1.3 has s or more (Pareto), 1.7 rows a domain in the middle.
 * The datasets of a domain are drawn by Zipf's law over --datasets. One row in 64 is the URL of an
 * earlier row at another time, one in 64 is spelled with capitals: ingest must find that it is the
 * same site.
 *
 * --expect prints, for each drawn domain, its name and for each of its datasets, in order of names,
 * NAME:URLS:ROWS:FIRST:LAST, with tabs between. A quarter of the drawn domains is of the first ones
 * by rank, half of all; a quarter stands for domains that no row has: only the name.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/names.h"

#define CLASSES_MAX 128
#define DATASETS_MAX 65536
#define PREFIX_MAX 64
#define OUT_SIZE ((size_t)1 << 20)
#define ROW_MAX 512
#define TIME_FIRST 1577836800u /* 2020-01-01 */
#define TIME_SPAN (6u * 31536000u)
#define DOMAINS_MAX (UINT64_C(1) << 31)
#define EXPECT_ROWS_MAX 4000000u /* of one domain; the first of 100 M has 600,000 */
#define TWO_ROWS 0.25            /* of the domains have two or more */
#define TAIL 0.2                 /* and TAIL * s^-PARETO have s or more, for s from 3 on */
#define PARETO 1.3

/* Domains of one size stand together, and so do their rows. */
struct size_class {
    uint64_t size;
    uint64_t first_domain; /* rank */
    uint64_t first_row;
};

struct crawl {
    uint64_t domains;
    uint64_t begin; /* number of the name of rank 0 */
    uint64_t seed;
    const char *prefix; /* of the names of datasets */
    uint32_t dataset_count;
    double *dataset_share;                    /* of datasets 0 to i, together */
    struct size_class class[CLASSES_MAX + 1]; /* the last one is the end */
    size_t class_count;
    uint64_t rows;
    unsigned row_bits;
};

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static uint64_t draw(const struct crawl *c, uint64_t a, uint64_t b)
{
    return mix(mix(c->seed ^ a) ^ b * UINT64_C(0xD6E8FEB86659FD93));
}

static double fraction(uint64_t r)
{
    return (double)(r >> 11) * 0x1p-53;
}

/* ---- how many rows a domain has ---- */

/* How many of n domains have `size` rows or more. */
static uint64_t with_size(uint64_t n, uint64_t size)
{
    double share = size <= 1 ? 1 : size == 2 ? TWO_ROWS : TAIL * pow((double)size, -PARETO);

    return (uint64_t)(share * (double)n);
}

/* Sizes are 1 to 8, then each a quarter larger than the one before, as long as a domain has it. */
static void make_classes(struct crawl *c)
{
    uint64_t sizes[CLASSES_MAX];
    size_t n = 0;
    uint64_t domain = 0;

    for (uint64_t size = 1; n < CLASSES_MAX && (size == 1 || with_size(c->domains, size) > 0);
         size += size < 8 ? 1 : size / 4)
        sizes[n++] = size;
    while (n-- > 0) {
        c->class[c->class_count++] = (struct size_class){ sizes[n], domain, c->rows };
        c->rows += (with_size(c->domains, sizes[n]) - domain) * sizes[n];
        domain = with_size(c->domains, sizes[n]);
    }
    c->class[c->class_count] = (struct size_class){ 1, c->domains, c->rows };
    while (c->row_bits < 2 || UINT64_C(1) << c->row_bits < c->rows)
        c->row_bits++;
}

static uint64_t size_of(const struct crawl *c, uint64_t domain)
{
    size_t i = c->class_count - 1;

    while (c->class[i].first_domain > domain)
        i--;
    return c->class[i].size;
}

/* From the end: there are the many small ones. */
static uint64_t domain_of_row(const struct crawl *c, uint64_t row, uint64_t *size, uint64_t *nth)
{
    size_t i = c->class_count - 1;

    while (c->class[i].first_row > row)
        i--;
    *size = c->class[i].size;
    *nth = (row - c->class[i].first_row) % *size;
    return c->class[i].first_domain + (row - c->class[i].first_row) / *size;
}

/* A permutation of the numbers below 2^row_bits: each step can be undone. */
static uint64_t shuffle_step(const struct crawl *c, uint64_t x)
{
    uint64_t mask = (UINT64_C(1) << c->row_bits) - 1;
    unsigned half = (c->row_bits + 1) / 2;

    for (unsigned round = 0; round < 3; round++) {
        x = (x + mix(c->seed + round)) & mask;
        x = x * (mix(c->seed ^ round) | 1) & mask;
        x ^= x >> half;
    }
    return x;
}

/* A permutation of the rows: what falls behind the last row goes on until it does not. */
static uint64_t shuffle(const struct crawl *c, uint64_t row)
{
    do
        row = shuffle_step(c, row);
    while (row >= c->rows);
    return row;
}

/* ---- what a row says ---- */

static void make_shares(struct crawl *c)
{
    double sum = 0;

    for (uint32_t i = 0; i < c->dataset_count; i++)
        c->dataset_share[i] = sum += 1.0 / (i + 1);
    for (uint32_t i = 0; i < c->dataset_count; i++)
        c->dataset_share[i] /= sum;
}

static uint32_t draw_dataset(const struct crawl *c, uint64_t r)
{
    double at = fraction(r);
    uint32_t low = 0;
    uint32_t high = c->dataset_count - 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (c->dataset_share[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Places among its rows after which a domain's datasets come again: half of those with more rows
 * than one stay in one dataset, a quarter has two, and so on. */
static uint64_t period(const struct crawl *c, uint64_t domain, uint64_t size)
{
    uint64_t r = draw(c, domain, 1);
    uint64_t n = 1;

    if (size > 16)
        n += r >> 32 & 7;
    while (n < size && (r & 1) != 0) {
        n++;
        r >>= 1;
    }
    return n;
}

struct row {
    uint32_t dataset;
    uint32_t ts;
    uint64_t url; /* number of the URL in the domain */
    bool capitals;
};

static struct row row_of(const struct crawl *c, uint64_t domain, uint64_t size, uint64_t nth)
{
    uint64_t datasets = period(c, domain, size);
    uint64_t r = draw(c, domain, nth + 16);
    struct row row = { .dataset = draw_dataset(c, draw(c, domain, 2) ^ mix(nth % datasets)),
                       .ts = TIME_FIRST + (uint32_t)((r & 0xffffffff) % TIME_SPAN),
                       .url = nth,
                       .capitals = (r >> 32 & 63) == 0 };

    if ((r >> 38 & 63) == 0 && nth >= datasets)
        row.url = nth - datasets; /* of the same dataset */
    return row;
}

static char *put(char *out, const char *text)
{
    size_t n = strlen(text);

    memcpy(out, text, n);
    return out + n;
}

static char *put_number(char *out, uint64_t v)
{
    char digits[20];
    int n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    while (n > 0)
        *out++ = digits[--n];
    return out;
}

static char *put_dataset(const struct crawl *c, uint32_t dataset, char *out)
{
    out = put(out, c->prefix);
    *out++ = '-';
    if (dataset + 1 < 1000)
        *out++ = '0';
    if (dataset + 1 < 100)
        *out++ = '0';
    if (dataset + 1 < 10)
        *out++ = '0';
    return put_number(out, dataset + 1);
}

/* Its number is in the path, so that two URLs of a domain differ. */
static char *put_path(char *out, uint64_t r, uint64_t url)
{
    static const char *const folders[16] = {
        "/",          "/blog/",    "/news/",    "/p/",         "/article/", "/item/",
        "/products/", "/wiki/",    "/forum/t-", "/about/",     "/en/",      "/de/seite-",
        "/2024/",     "/archive/", "/tag/",     "/images/img_"
    };
    static const char *const words[16] = { "how-to",  "review", "best", "the",    "new",  "guide",
                                           "summer",  "city",   "open", "update", "free", "story",
                                           "history", "garden", "test", "index" };
    static const char *const ends[8] = { "",     "",     "/",       ".html",
                                         ".htm", ".php", "?page=2", "?ref=home" };

    if (url == 0 && (r & 1) == 0)
        return put(out, "/");
    out = put(out, folders[r >> 1 & 15]);
    for (unsigned i = 0; i <= (r >> 5 & 3); i++) {
        out = put(out, words[r >> (8 + 4 * i) & 15]);
        *out++ = '-';
    }
    out = put_number(out, url);
    return put(out, ends[r >> 28 & 7]);
}

static char *put_url(const struct crawl *c, uint64_t domain, const struct row *row, char *out)
{
    char name[NAME_ROOM];
    size_t size = make_name(c->begin + domain, name);
    uint64_t r = draw(c, domain, 3);
    bool www = (r & 3) == 0;
    bool plain = (r >> 2 & 7) == 0; /* http */

    if (row->capitals) {
        out = put(out, plain ? "HTTP://" : "HTTPS://");
        out = put(out, www ? "WWW." : "");
        for (size_t i = 0; i < size; i++)
            *out++ = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 32) : name[i];
    } else {
        out = put(out, plain ? "http://" : "https://");
        out = put(out, www ? "www." : "");
        memcpy(out, name, size);
        out += size;
    }
    return put_path(out, draw(c, domain, ~row->url), row->url);
}

static char *put_row(const struct crawl *c, uint64_t domain, uint64_t nth, uint64_t size, char *out)
{
    struct row row = row_of(c, domain, size, nth);

    out = put_dataset(c, row.dataset, out);
    *out++ = '\t';
    out = put_number(out, row.ts);
    *out++ = '\t';
    out = put_url(c, domain, &row, out);
    *out++ = '\n';
    return out;
}

/* ---- what is printed ---- */

static void fail(const char *why)
{
    (void)fprintf(stderr, "make_rows: %s\n", why);
    exit(1);
}

static void write_all(const char *from, size_t size)
{
    while (size > 0) {
        ssize_t n = write(STDOUT_FILENO, from, size);

        if (n <= 0)
            fail("standard output failed");
        from += n;
        size -= (size_t)n;
    }
}

static void print_rows(const struct crawl *c)
{
    char *out = malloc(OUT_SIZE);
    size_t used = 0;

    if (out == NULL)
        fail("out of memory");
    for (uint64_t i = 0; i < c->rows; i++) {
        uint64_t size;
        uint64_t nth;
        uint64_t domain = domain_of_row(c, shuffle(c, i), &size, &nth);

        used = (size_t)(put_row(c, domain, nth, size, out + used) - out);
        if (used > OUT_SIZE - ROW_MAX) {
            write_all(out, used);
            used = 0;
        }
    }
    write_all(out, used);
    free(out);
}

static void print_totals(const struct crawl *c)
{
    printf("{\"domains\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"largest\": %" PRIu64
           ", \"datasets\": %" PRIu32 "}\n",
           c->domains, c->rows, c->class[0].size, c->dataset_count);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;

    if (x->dataset != y->dataset)
        return x->dataset < y->dataset ? -1 : 1;
    if (x->url != y->url)
        return x->url < y->url ? -1 : 1;
    return (x->ts > y->ts) - (x->ts < y->ts);
}

/* The rows of one domain and dataset; a row that comes twice is one. */
static size_t expect_dataset(const struct crawl *c, const struct row *rows, size_t count)
{
    char name[PREFIX_MAX + 16];
    uint64_t urls = 0;
    uint64_t kept = 0;
    uint32_t first = rows[0].ts;
    uint32_t last = rows[0].ts;
    size_t n = 0;

    for (; n < count && rows[n].dataset == rows[0].dataset; n++) {
        urls += n == 0 || rows[n].url != rows[n - 1].url;
        kept += n == 0 || compare_rows(&rows[n], &rows[n - 1]) != 0;
        first = rows[n].ts < first ? rows[n].ts : first;
        last = rows[n].ts > last ? rows[n].ts : last;
    }
    *put_dataset(c, rows[0].dataset, name) = '\0';
    printf("\t%s:%" PRIu64 ":%" PRIu64 ":%" PRIu32 ":%" PRIu32, name, urls, kept, first, last);
    return n;
}

static void expect_domain(const struct crawl *c, uint64_t domain, struct row *rows)
{
    uint64_t size = domain < c->domains ? size_of(c, domain) : 0;
    char name[NAME_ROOM];

    (void)make_name(c->begin + domain, name);
    (void)fputs(name, stdout);
    for (uint64_t i = 0; i < size; i++)
        rows[i] = row_of(c, domain, size, i);
    if (size > 0)
        qsort(rows, size, sizeof *rows, compare_rows);
    for (size_t at = 0; at < size;)
        at += expect_dataset(c, rows + at, size - at);
    (void)putchar('\n');
}

static void print_expected(const struct crawl *c, uint64_t count)
{
    struct row *rows = c->class[0].size > EXPECT_ROWS_MAX ? NULL
                                                          : malloc(c->class[0].size * sizeof *rows);

    if (rows == NULL)
        fail("the largest domain has too many rows to be counted");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t r = draw(c, i, 4);
        uint64_t first = c->domains < 4 * count ? c->domains : 4 * count;

        expect_domain(c,
                      i % 4 == 0   ? r % first
                      : i % 4 == 1 ? c->domains + r % c->domains
                                   : r % c->domains,
                      rows);
    }
    free(rows);
}

/* The rank below which a share u of all requests falls, by the integral of rank^-s. */
static uint64_t zipf_rank(uint64_t n, double s, double u)
{
    double top = (double)n + 1;
    double at = fabs(s - 1) < 1e-6 ? pow(top, u) : pow((pow(top, 1 - s) - 1) * u + 1, 1 / (1 - s));
    uint64_t rank = (uint64_t)at - 1;

    return rank < n ? rank : n - 1;
}

static void print_asked(const struct crawl *c, uint64_t count, double s)
{
    for (uint64_t i = 0; i < count; i++) {
        char name[NAME_ROOM];

        (void)make_name(c->begin + zipf_rank(c->domains, s, fraction(draw(c, i, 5))), name);
        (void)puts(name);
    }
}

/* ---- options ---- */

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    uint64_t v = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || v < least || v > most) {
        (void)fprintf(stderr, "make_rows: %s: not a number from %" PRIu64 " to %" PRIu64 "\n", text,
                      least, most);
        exit(2);
    }
    return v;
}

struct job {
    bool totals;
    uint64_t expect;
    uint64_t ask;
    double zipf;
};

static void parse(int argc, char **argv, struct crawl *c, struct job *job)
{
    static const struct option table[] = {
        { "domains", 1, NULL, 'n' }, { "datasets", 1, NULL, 'd' },
        { "seed", 1, NULL, 's' },    { "begin", 1, NULL, 'b' },
        { "prefix", 1, NULL, 'p' },  { "totals", 0, NULL, 't' },
        { "expect", 1, NULL, 'e' },  { "ask", 1, NULL, 'a' },
        { "zipf", 1, NULL, 'z' },    { 0 },
    };
    int o;

    while ((o = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (o) {
        case 'n':
            c->domains = number(optarg, 1, DOMAINS_MAX);
            break;
        case 'd':
            c->dataset_count = (uint32_t)number(optarg, 1, DATASETS_MAX);
            break;
        case 's':
            c->seed = number(optarg, 0, UINT64_MAX);
            break;
        case 'b':
            c->begin = number(optarg, 0, DOMAINS_MAX);
            break;
        case 'p':
            if (strlen(optarg) > PREFIX_MAX)
                fail("a prefix is too long");
            c->prefix = optarg;
            break;
        case 't':
            job->totals = true;
            break;
        case 'e':
            job->expect = number(optarg, 1, DOMAINS_MAX);
            break;
        case 'a':
            job->ask = number(optarg, 1, DOMAINS_MAX);
            break;
        case 'z':
            job->zipf = strtod(optarg, NULL);
            break;
        default:
            exit(2);
        }
    if (optind < argc)
        fail("operands are not known");
}

int main(int argc, char **argv)
{
    struct crawl c = { .domains = 1000000, .dataset_count = 20, .seed = 1, .prefix = "crawl" };
    struct job job = { .zipf = 0.99 };

    parse(argc, argv, &c, &job);
    c.dataset_share = calloc(c.dataset_count, sizeof *c.dataset_share);
    if (c.dataset_share == NULL)
        fail("out of memory");
    make_shares(&c);
    make_classes(&c);
    if (job.totals)
        print_totals(&c);
    else if (job.expect > 0)
        print_expected(&c, job.expect);
    else if (job.ask > 0)
        print_asked(&c, job.ask, job.zipf);
    else
        print_rows(&c);
    free(c.dataset_share);
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("standard output failed");
    return 0;
}
