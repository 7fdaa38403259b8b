/* SPDX-License-Identifier: Apache-2.0
 * Rankings of a small root against a sort of all that is visible, with nothing suppressed, with
 * whole domains, parts and a whole suffix; shares; and what the domain's own answer says of its
 * rank.
 */
#include "query/answers/top_domains.h"

#include "builder/policy/suppress.h"
#include "canon/url.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#include <stdlib.h>

#define DOMAINS 1600 /* so that dataset 1 has a stored head, and domains beyond it */
#define DATASETS 2

static unsigned failures;

static uint64_t random_state = 4321;

static unsigned pick(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((random_state >> 33) % n);
}

/* ---- shares ---- */

static const struct {
    const char *text;
    uint32_t millionths; /* 0: refused */
} shares[] = {
    { "10%", 100000 },
    { "12.5%", 125000 },
    { "0.1", 100000 },
    { "1", 1000000 },
    { "100%", 1000000 },
    { "1.0", 1000000 },
    { "0.0001%", 1 },
    { "0.000001", 1 },
    { "5.0%", 50000 },
    { "1.00%", 10000 },
    { "99.9999%", 999999 },
    { "0.5%", 5000 },
    { "", 0 },
    { "%", 0 },
    { "0", 0 },
    { "0%", 0 },
    { "0.0", 0 },
    { "1.1", 0 },
    { "100.0001%", 0 },
    { "101%", 0 },
    { "010%", 0 },
    { "00.1", 0 },
    { ".5", 0 },
    { "5.", 0 },
    { "5.%", 0 },
    { "10%%", 0 },
    { "10 %", 0 },
    { " 10%", 0 },
    { "+10%", 0 },
    { "-1%", 0 },
    { "1e-1", 0 },
    { "0.00001%", 0 },
    { "0.0000001", 0 },
    { "1000%", 0 },
    { "0,1", 0 },
    { "4294967296", 0 },
    { "0.1%0", 0 },
    { "ten", 0 },
};

static void test_shares(void)
{
    struct dx_share s;

    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        bool taken = dx_share_parse(dx_span_str(shares[i].text), &s);

        EXPECT(taken == (shares[i].millionths > 0) &&
                   (!taken || s.millionths == shares[i].millionths),
               "'%s': %d, %u", shares[i].text, taken, taken ? (unsigned)s.millionths : 0);
    }
    s.millionths = 100000;
    EXPECT(dx_share_select(s, 0) == 0 && dx_share_select(s, 1) == 1 &&
               dx_share_select(s, 10) == 1 && dx_share_select(s, 11) == 2 &&
               dx_share_select(s, 100) == 10,
           "a tenth, rounded up");
    s.millionths = 1000000;
    EXPECT(dx_share_select(s, UINT64_MAX) == UINT64_MAX, "all");
    s.millionths = 1;
    EXPECT(dx_share_select(s, UINT64_MAX) == UINT64_MAX / 1000000 + 1, "a millionth");
}

/* ---- a restatement of what is visible ---- */

struct rule {
    enum dx_suppress_kind kind;
    unsigned domain;  /* DOMAINS: all below co.uk */
    unsigned dataset; /* of a prefix: its rows from 0 to `row` */
    unsigned row;
};

static struct rule rules[200];
static unsigned rule_count;

static bool is_hidden(unsigned domain, unsigned dataset, unsigned row)
{
    char name[64];

    dx_test_root_domain(domain, name);
    for (unsigned i = 0; i < rule_count; i++) {
        const struct rule *r = &rules[i];

        if (r->domain == DOMAINS && strlen(name) > 6 &&
            strcmp(name + strlen(name) - 6, ".co.uk") == 0)
            return true;
        if (r->domain == domain &&
            (r->kind == DX_SUPPRESS_DOMAIN || (r->dataset == dataset && r->row == row)))
            return true;
    }
    return false;
}

struct want {
    char name[64];
    uint8_t key[DX_SURT_MAX];
    size_t key_size;
    uint64_t stored, urls, rank;
};

static int by_place(const void *a, const void *b)
{
    const struct want *x = a;
    const struct want *y = b;
    int order;

    if (x->urls != y->urls)
        return x->urls > y->urls ? -1 : 1;
    order = memcmp(x->key, y->key, x->key_size < y->key_size ? x->key_size : y->key_size);
    return order != 0 ? order : (x->key_size > y->key_size) - (x->key_size < y->key_size);
}

/* All that is to be listed of a dataset; all of it is in `stored`, for what is not. */
static size_t restate(unsigned dataset, struct want *want, uint64_t stored[DOMAINS])
{
    size_t n = 0;

    for (unsigned i = 0; i < DOMAINS; i++) {
        struct want w = { .urls = 0 };

        stored[i] = dx_test_root_member(i, dataset) ? dx_test_root_rows(i, dataset) : 0;
        for (unsigned row = 0; row < stored[i]; row++)
            w.urls += !is_hidden(i, dataset, row);
        dx_test_root_domain(i, w.name);
        w.key_size = dx_surt_key(dx_span_str(w.name), w.key);
        w.stored = stored[i];
        if (w.urls > 0)
            want[n++] = w;
    }
    qsort(want, n, sizeof *want, by_place);
    for (size_t i = 0; i < n; i++)
        want[i].rank = i > 0 && want[i].urls == want[i - 1].urls ? want[i - 1].rank : i + 1;
    return n;
}

/* ---- the root ---- */

static void check_window(struct dx_top_domains *t, const struct want *want, size_t first, size_t n)
{
    struct dx_top_domain rows[DOMAINS];
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_top_domains_read(t, first, n, rows, &err);

    EXPECT(rc == DX_OK, "%zu from %zu: %s", n, first, err.text);
    for (size_t i = 0; i < n && rc == DX_OK; i++) {
        const struct want *w = &want[first + i];
        uint8_t name[DX_SURT_MAX];
        size_t size = 0;

        EXPECT(dx_top_domains_name(t, &rows[i], name, &size, &err) == 1, "%s", err.text);
        EXPECT(dx_span_equal(dx_span_of(name, size), dx_span_str(w->name)) &&
                   rows[i].url_count == w->urls && rows[i].rank == w->rank,
               "place %zu: %.*s, %llu URLs, rank %llu; want %s, %llu, %llu", first + i, (int)size,
               (const char *)name, (unsigned long long)rows[i].url_count,
               (unsigned long long)rows[i].rank, w->name, (unsigned long long)w->urls,
               (unsigned long long)w->rank);
    }
}

static void check_dataset(struct asker *a, unsigned dataset)
{
    static struct want want[DOMAINS];
    static uint64_t stored[DOMAINS];
    size_t n = restate(dataset, want, stored);
    struct dx_problem problem;
    struct dx_top_domains t;
    uint64_t urls = 0;

    for (size_t i = 0; i < n; i++)
        urls += want[i].urls;
    EXPECT(dx_top_domains_open(&t, DX_VIEW_ALL(a->v), a->canon, dataset, &problem) == 1, "%s",
           problem.detail);
    EXPECT(t.domain_count == n && t.url_count == urls,
           "dataset %u: %llu domains, %llu URLs; %zu, %llu", dataset,
           (unsigned long long)t.domain_count, (unsigned long long)t.url_count, n,
           (unsigned long long)urls);
    if (t.domain_count == n) {
        check_window(&t, want, 0, n);
        check_window(&t, want, n, 0);
        for (unsigned i = 0; i < 60; i++) {
            size_t first = pick((unsigned)n);

            check_window(&t, want, first, pick((unsigned)(n - first)) + 1);
            check_window(&t, want, first, 1);
        }
    }
    dx_top_domains_release(&t);
}

/* Of the domain's own answer: among the counts of the index, itself not among them. */
static void check_rank(struct asker *a, unsigned domain, unsigned dataset)
{
    static struct want want[DOMAINS];
    static uint64_t stored[DOMAINS];
    size_t n = restate(dataset, want, stored);
    struct dx_buf body = DX_BUF_INIT(1 << 16);
    struct dx_problem problem;
    uint64_t rank = 1;
    char name[64];
    char text[64];
    size_t i = 0;

    dx_test_root_domain(domain, name);
    while (i < n && strcmp(want[i].name, name) != 0)
        i++;
    if (i == n)
        return; /* not visible there */
    for (unsigned other = 0; other < DOMAINS; other++)
        rank += other != domain && stored[other] > want[i].urls;
    EXPECT(dx_answer_domain(DX_VIEW_ALL(a->v), a->canon, dx_span_str(name), DX_DOMAIN_FIELD_RANK,
                            &body, &problem) == 1,
           "%s: %s", name, problem.detail);
    dx_buf_u8(&body, 0);
    (void)snprintf(text, sizeof text, "{\"dataset_id\":%u,\"rank\":%llu", dataset,
                   (unsigned long long)rank);
    EXPECT(!body.failed && strstr((const char *)body.data, text) != NULL, "%s: no %s in %s", name,
           text, body.failed ? "" : (const char *)body.data);
    dx_buf_release(&body);
}

static int say(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    unsigned first = *(const unsigned *)ctx;

    for (unsigned i = first; i < rule_count; i++) {
        const struct rule *r = &rules[i];
        struct dx_suppress_rule rule = { .kind = r->kind,
                                         .policy = i % 2 ? DX_SUPPRESS_ABSENT
                                                         : DX_SUPPRESS_WITHHELD };
        char value[128] = "co.uk";
        uint64_t number;
        int rc;

        if (r->domain < DOMAINS && r->kind == DX_SUPPRESS_DOMAIN)
            dx_test_root_domain(r->domain, value);
        else if (r->domain < DOMAINS)
            dx_test_root_url(r->domain, r->dataset, r->row, value);
        rule.value = dx_span_str(value);
        rc = dx_suppressions_add(log, &rule, &number, err);
        if (rc < 0)
            return rc;
    }
    return 1;
}

static void check_root(const struct dx_test_root *r)
{
    struct dx_problem problem;
    struct dx_top_domains t;
    struct asker a;

    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    for (unsigned d = 1; d <= DATASETS; d++) {
        check_dataset(&a, d);
        for (unsigned i = 0; i < rule_count && i < 40; i += (unsigned)dx_sample(1, 7))
            check_rank(&a, rules[i].domain, d);
        for (size_t i = 0; i < dx_sample(20, 5); i++)
            check_rank(&a, pick(DOMAINS), d);
    }
    EXPECT(dx_top_domains_open(&t, DX_VIEW_ALL(a.v), a.canon, DATASETS + 1, &problem) == 0 &&
               strcmp(problem.slug, "dataset-not-found") == 0,
           "no such dataset");
    dx_top_domains_release(&t);
    close_asker(&a);
}

int main(void)
{
    struct dx_test_root r;
    struct dx_error err = DX_ERROR_INIT;
    unsigned first = 0;

    test_shares();
    dx_test_root_make(&r, DOMAINS, DATASETS);
    check_root(&r);
    /* Some domains whole, single URLs of others, and all of some others in one dataset. */
    for (unsigned i = 0; i < 30; i++)
        rules[rule_count++] = (struct rule){ .kind = DX_SUPPRESS_DOMAIN, .domain = pick(DOMAINS) };
    for (unsigned i = 0; i < 40; i++) {
        unsigned domain = pick(DOMAINS);

        rules[rule_count++] = (struct rule){ DX_SUPPRESS_URL, domain, 1,
                                             pick(dx_test_root_rows(domain, 1)) };
    }
    for (unsigned i = 0; i < 10; i++) {
        unsigned domain = pick(DOMAINS);

        for (unsigned row = 0; row < dx_test_root_rows(domain, 1); row++)
            rules[rule_count++] = (struct rule){ DX_SUPPRESS_URL, domain, 1, row };
    }
    EXPECT(dx_suppress_change(r.path, say, &first, &err) == 1, "%s", err.text);
    check_root(&r);
    first = rule_count;
    rules[rule_count++] = (struct rule){ .kind = DX_SUPPRESS_DOMAIN, .domain = DOMAINS };
    EXPECT(dx_suppress_change(r.path, say, &first, &err) == 1, "%s", err.text);
    check_root(&r);
    dx_test_root_remove(&r);
    return failures > 0;
}
