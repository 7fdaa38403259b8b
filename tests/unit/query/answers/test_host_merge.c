/* SPDX-License-Identifier: Apache-2.0
 * Hosts over datasets: sorted lists put together against a count by brute force, in both orders,
 * page by page; facts of a pair with every byte damaged.
 */
#include "query/answers/host_merge.h"
#include "tests/support/damage.h"

#define PAIRS 40
#define HOSTS_MAX 12000 /* over twice a page and what is kept beside it */
#define DOMAIN "x.com"

static int failures;
static uint64_t seed = 5;

struct host {
    char name[32];
    uint32_t datasets;
    uint64_t urls, rows;
};

static struct host all[HOSTS_MAX];
static size_t host_count;

struct pair {
    struct dx_buf facts;
    struct dx_pair_count counts;
};

static struct pair pairs[PAIRS];

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct host *)a)->name, ((const struct host *)b)->name);
}

static int by_urls(const void *a, const void *b)
{
    const struct host *x = a;
    const struct host *y = b;

    if (x->urls != y->urls)
        return x->urls > y->urls ? -1 : 1;
    return by_name(a, b);
}

static void make_hosts(size_t count)
{
    static const char *const ends[] = { "", ":81", ".", ".:8080" };

    host_count = count;
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct host){ .datasets = 0 };
        if (i < 2)
            (void)snprintf(all[i].name, sizeof all[i].name, "%s" DOMAIN, i == 0 ? "" : "www.");
        else
            (void)snprintf(all[i].name, sizeof all[i].name, "%c%zu." DOMAIN "%s",
                           'a' + (int)(i * 7 % 26), i, ends[i % 4]);
    }
    qsort(all, count, sizeof all[0], by_name);
}

/* Each pair has some of the hosts. */
static void make_pair(struct pair *p, uint64_t one_in)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_facts_writer w;
    int rc = DX_OK;

    dx_buf_init(&p->facts, DX_FACTS_BYTES_MAX);
    p->counts = (struct dx_pair_count){ .row_count = 0 };
    dx_facts_writer_init(&w);
    dx_facts_writer_begin(&w, dx_span_str(DOMAIN));
    for (size_t i = 0; i < host_count && rc >= 0; i++) {
        struct dx_fact f = { .host = dx_span_str(all[i].name) };

        if (random_below(&seed, one_in) > 0 && (i + 1 < host_count || p->counts.row_count > 0))
            continue;
        f.url_count = 1 + random_below(&seed, 5);
        f.row_count = f.url_count + random_below(&seed, 4);
        rc = dx_facts_writer_host(&w, &f, &err);
        p->counts.url_count += f.url_count;
        p->counts.row_count += f.row_count;
        all[i].datasets++;
        all[i].urls += f.url_count;
        all[i].rows += f.row_count;
    }
    if (rc >= 0)
        rc = dx_facts_writer_end(&w, NULL, &p->facts, &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_facts_writer_release(&w);
}

static void check_page(size_t pair_count, size_t distinct, bool name_order, uint64_t offset,
                       uint64_t limit)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_host_merge m;
    size_t want = offset >= distinct ? 0 : distinct - offset < limit ? distinct - offset : limit;
    int rc = dx_host_merge_init(&m, pair_count, name_order, (struct dx_page_of){ offset, limit },
                                &err);

    for (size_t i = 0; i < pair_count && rc >= 0; i++)
        rc = dx_host_merge_add(&m, dx_span_of(pairs[i].facts.data, pairs[i].facts.size),
                               dx_span_str(DOMAIN), &pairs[i].counts, false, &err);
    if (rc >= 0)
        rc = dx_host_merge_run(&m, &err);
    EXPECT(rc >= 0, "%s", err.text);
    EXPECT(m.host_count == distinct && m.count == want, "%llu+%llu: %zu of %zu",
           (unsigned long long)offset, (unsigned long long)limit, m.count, want);
    for (size_t i = 0; i < m.count && i < want; i++) {
        const struct host *h = &all[offset + i];

        EXPECT(dx_span_equal(dx_host_merge_text(&m, &m.hosts[i]), dx_span_str(h->name)) &&
                   m.hosts[i].url_count == h->urls && m.hosts[i].row_count == h->rows &&
                   m.hosts[i].dataset_count == h->datasets,
               "host %zu of %llu+%llu: %s", i, (unsigned long long)offset,
               (unsigned long long)limit, h->name);
    }
    dx_host_merge_release(&m);
}

static void check_merge(size_t pair_count, size_t hosts, uint64_t one_in)
{
    size_t distinct = 0;

    make_hosts(hosts);
    for (size_t i = 0; i < pair_count; i++)
        make_pair(&pairs[i], one_in);
    for (size_t i = 0; i < host_count; i++)
        if (all[i].datasets > 0)
            all[distinct++] = all[i];
    for (int order = 0; order < 2; order++) {
        qsort(all, distinct, sizeof all[0], order == 0 ? by_name : by_urls);
        check_page(pair_count, distinct, order == 0, 0, 10);
        check_page(pair_count, distinct, order == 0, 7, 1000);
        check_page(pair_count, distinct, order == 0, distinct - 1, 3);
        check_page(pair_count, distinct, order == 0, distinct, 3);
        check_page(pair_count, distinct, order == 0, INT64_MAX, 10000);
    }
    for (size_t i = 0; i < pair_count; i++)
        dx_buf_release(&pairs[i].facts);
}

/* ---- damage ---- */

/* What is read of damaged facts is in order and within the pair's counts, or refused. */
static enum verdict try_facts(void *ctx, struct dx_span bytes)
{
    const struct dx_pair_count *counts = ctx;
    struct dx_facts f = { 0 };
    struct dx_fact fact;
    uint64_t urls = 0;
    uint64_t rows = 0;
    int rc = dx_facts_open(&f, bytes, dx_span_str(DOMAIN), counts, NULL);

    while (rc >= 0 && f.has_hosts && (rc = dx_facts_host(&f, &fact, NULL)) == 1) {
        urls += fact.url_count;
        rows += fact.row_count;
    }
    if (rc == 0 && f.has_hosts && (urls != counts->url_count || rows != counts->row_count))
        return WRONG_ANSWER;
    for (unsigned k = 0; rc >= 0 && k < DX_PATHS_KINDS; k++) {
        urls = 0;
        while ((rc = dx_facts_path(&f, (enum dx_paths)k, &fact, NULL)) == 1)
            urls += fact.url_count;
        if (rc == 0 && urls > counts->url_count)
            return WRONG_ANSWER;
    }
    dx_facts_close(&f);
    return rc < 0 ? REFUSED : SAME_ANSWERS;
}

static void check_damage(void)
{
    static const char *const hosts[] = { "a." DOMAIN, DOMAIN, "b." DOMAIN ":81", "elsewhere.org" };
    static const char *const paths[] = { "/", "/a", "/b/c" };
    struct dx_pair_count counts = { .url_count = 40, .row_count = 64 };
    uint64_t path_count[DX_PATHS_KINDS] = { 4, 4 };
    struct dx_buf out = DX_BUF_INIT(4096);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_facts_writer w;
    struct damaged d;
    struct verdicts v;
    int rc = DX_OK;

    dx_facts_writer_init(&w);
    dx_facts_writer_begin(&w, dx_span_str(DOMAIN));
    for (size_t i = 0; i < 4; i++) {
        static const size_t order[] = { 0, 2, 3, 1 }; /* ascending */
        struct dx_fact f = { dx_span_str(hosts[order[i]]), { NULL, 0 }, 10, 16 };

        rc = rc < 0 ? rc : dx_facts_writer_host(&w, &f, &err);
        f.path = dx_span_str(paths[i % 3]);
        for (unsigned k = 0; k < DX_PATHS_KINDS && rc >= 0; k++)
            rc = dx_facts_writer_path(&w, (enum dx_paths)k, &f, &err);
    }
    if (rc >= 0)
        rc = dx_facts_writer_end(&w, path_count, &out, &err);
    EXPECT(rc >= 0, "%s", err.text);
    d = damaged_copy(dx_span_of(out.data, out.size));
    EXPECT(try_facts(&counts, dx_span_of(d.bytes, d.size)) == SAME_ANSWERS, "sound");
    v = damaged_flips(&d, 0, d.size, 1, try_facts, &counts);
    EXPECT(v.count[WRONG_ANSWER] == 0 && 3 * v.count[REFUSED] > v.count[SAME_ANSWERS],
           "%zu flips are refused, %zu say other texts", v.count[REFUSED], v.count[SAME_ANSWERS]);
    v = damaged_cuts(&d, try_facts, &counts);
    EXPECT(v.count[REFUSED] == d.size, "cuts");
    counts.row_count++;
    EXPECT(try_facts(&counts, dx_span_of(d.bytes, d.size)) == REFUSED, "of other counts");
    damaged_free(&d);
    dx_facts_writer_release(&w);
    dx_buf_release(&out);
}

int main(void)
{
    check_merge(1, 1, 1);
    check_merge(1, 2, 1);
    check_merge(3, 20, 2);
    check_merge(PAIRS, 300, 10);
    check_merge(3, HOSTS_MAX, 2);
    check_damage();
    return failures == 0 ? 0 : 1;
}
