/* SPDX-License-Identifier: Apache-2.0
 * The text of a domain's answer, beside what base/json_out.h writes of the same values: names that
 * need escapes, ids with gaps, all widths of numbers, times of all kinds, hidden rows.
 */
#include "base/fraction.h"
#include "base/json_out.h"
#include "format/root/registry_json.h"
#include "loader/dataset_heads.h"
#include "query/answers/domain_text.h"
#include "query/suppression/suppression_view.h"
#include "tests/support/damage.h"

#include <stdlib.h>

#define DATASETS 600

static unsigned failures;

static uint64_t rng_state = 88172645463325252u;

static uint64_t draw(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state;
}

static const char *const odd_names[] = {
    "a\"b", "back\\slash",      "m\xc3\xbcnchen", "\xe2\x80\xa8", "\x7f",
    "",     "\xf0\x9f\x98\x80", "a/b <c>"
};

/* gaps: every third id was removed. */
static void make_registry(struct dx_registry *r, char (*names)[32], bool gaps)
{
    *r = (struct dx_registry)DX_REGISTRY_INIT;
    r->datasets = calloc(DATASETS, sizeof *r->datasets);
    for (uint32_t id = 1; r->count < DATASETS; id++) {
        char *name = names[r->count];

        if (gaps && id % 3 == 0)
            continue;
        (void)snprintf(name, sizeof *names, "%s%u", odd_names[id % 8], (unsigned)(draw() % 1000));
        r->datasets[r->count++] = (struct dx_dataset){ .dataset_id = id,
                                                       .name = name,
                                                       .urls = (draw() >> draw() % 64) / 2 + 1 };
    }
}

static int64_t draw_time(void)
{
    switch (draw() % 4) {
    case 0:
        return (int64_t)(draw() % 2000000000) * 1000000;
    case 1:
        return (int64_t)(draw() % UINT64_C(4000000000000000)) - INT64_C(2000000000000000);
    case 2:
        return (int64_t)(draw() % 2000000000000) * 1000;
    default:
        return (int64_t)draw();
    }
}

static struct dx_pair_count draw_pair(uint64_t most)
{
    struct dx_pair_count p = { .url_count = (draw() >> draw() % 64) % most + 1 };

    p.row_count = p.url_count + draw() % 3;
    p.has_ts = draw() % 4 != 0;
    if (p.has_ts) {
        p.first_us = draw_time();
        p.last_us = draw_time();
    }
    return p;
}

static void number(struct dx_json *j, const char *key, uint64_t v)
{
    dx_json_key(j, key);
    dx_json_u64(j, v);
}

static void time_or_null(struct dx_json *j, const char *key, bool has_ts, int64_t us)
{
    dx_json_key(j, key);
    has_ts ? dx_json_time_us(j, us) : dx_json_null(j);
}

/* Some number of the dataset and the count, which stands for a rank. */
static uint64_t fake_rank(uint32_t id, uint64_t urls)
{
    return urls % 7 == 0 ? UINT64_MAX - id : urls % 1000 * id;
}

static int rank_of(void *ctx, size_t i, uint64_t *rank, struct dx_error *err)
{
    const struct dx_domain_text *t = ctx;

    if (t->domain_id == UINT64_MAX)
        return dx_fail(err, DX_E_LIMIT, "no rank today");
    *rank = fake_rank(t->ids[i], t->pairs[i].url_count);
    return DX_OK;
}

/* Those of `fields`, in the order of the bits. */
static void write_item(const struct dx_domain_text *t, size_t i, const struct dx_registry *r,
                       struct dx_json *j)
{
    const struct dx_dataset *d = dx_registry_by_id(r, t->ids[i]);
    const struct dx_pair_count *p = &t->pairs[i];

    dx_json_object(j);
    number(j, "dataset_id", t->ids[i]);
    if (t->fields & DX_DOMAIN_FIELD_NAME) {
        dx_json_key(j, "name");
        dx_json_str(j, d->name);
    }
    if (t->fields & DX_DOMAIN_FIELD_URLS)
        number(j, "url_count", p->url_count);
    if (t->fields & DX_DOMAIN_FIELD_URLS_EST)
        number(j, "url_count_est", p->url_count);
    if (t->fields & DX_DOMAIN_FIELD_ROWS)
        number(j, "row_count", p->row_count);
    if (t->fields & DX_DOMAIN_FIELD_FIRST_TS)
        time_or_null(j, "first_ts", p->has_ts, p->first_us);
    if (t->fields & DX_DOMAIN_FIELD_LAST_TS)
        time_or_null(j, "last_ts", p->has_ts, p->last_us);
    if (t->fields & DX_DOMAIN_FIELD_SHARE) {
        dx_json_key(j, "share");
        dx_json_fraction(j, p->url_count, d->urls);
    }
    if (t->fields & DX_DOMAIN_FIELD_RANK)
        number(j, "rank", fake_rank(t->ids[i], p->url_count));
    dx_json_end(j);
}

/* Whether dataset a comes before b, which is behind it by id. */
static bool comes_first(const struct dx_domain_text *t, size_t a, size_t b,
                        const struct dx_registry *r)
{
    const struct dx_pair_count *p = &t->pairs[a];
    const struct dx_pair_count *q = &t->pairs[b];
    const struct dx_dataset *d = dx_registry_by_id(r, t->ids[a]);
    const struct dx_dataset *e = dx_registry_by_id(r, t->ids[b]);
    bool more = false;
    bool same = false;

#define COMPARE(x, y) ((void)(more = (x) > (y), same = (x) == (y)))
    switch (t->order.by) {
    case DX_DOMAIN_FIELD_NAME:
        COMPARE(strcmp(d->name, e->name), 0);
        break;
    case DX_DOMAIN_FIELD_URLS:
    case DX_DOMAIN_FIELD_URLS_EST:
        COMPARE(p->url_count, q->url_count);
        break;
    case DX_DOMAIN_FIELD_ROWS:
        COMPARE(p->row_count, q->row_count);
        break;
    case DX_DOMAIN_FIELD_FIRST_TS:
    case DX_DOMAIN_FIELD_LAST_TS:
        if (!p->has_ts || !q->has_ts)
            return p->has_ts || !q->has_ts;
        if (t->order.by == DX_DOMAIN_FIELD_FIRST_TS)
            COMPARE(p->first_us, q->first_us);
        else
            COMPARE(p->last_us, q->last_us);
        break;
    case DX_DOMAIN_FIELD_SHARE:
        COMPARE((unsigned __int128)p->url_count * e->urls,
                (unsigned __int128)q->url_count * d->urls);
        break;
    case DX_DOMAIN_FIELD_RANK:
        COMPARE(fake_rank(t->ids[a], p->url_count), fake_rank(t->ids[b], q->url_count));
        break;
    default:
        COMPARE(t->ids[a], t->ids[b]);
        break;
    }
#undef COMPARE
    return same || more == t->order.reverse;
}

static void order(const struct dx_domain_text *t, const struct dx_registry *r,
                  size_t places[DATASETS])
{
    for (size_t i = 0; i < t->count; i++) {
        size_t at = i;

        for (; at > 0 && !comes_first(t, places[at - 1], i, r); at--)
            places[at] = places[at - 1];
        places[at] = i;
    }
}

static void write_items(const struct dx_domain_text *t, const struct dx_registry *r,
                        struct dx_json *j)
{
    const struct dx_page_of *page = &t->order.page;
    size_t places[DATASETS];
    uint64_t end = page->limit == 0 ? t->count : page->offset + page->limit;

    order(t, r, places);
    dx_json_key(j, "datasets");
    dx_json_array(j);
    for (size_t i = 0; i < t->count; i++)
        if (i >= page->offset && i < end)
            write_item(t, places[i], r, j);
    dx_json_end(j);
    if (page->offset == 0 && page->limit == 0)
        return;
    number(j, "offset", page->offset);
    dx_json_key(j, "next_offset");
    page->offset < t->count &&end < t->count ? dx_json_u64(j, end) : dx_json_null(j);
}

static void write_expected(const struct dx_domain_text *t, const struct dx_registry *r,
                           struct dx_buf *out)
{
    struct dx_pair_count sum = { 0 };
    struct dx_json j;

    for (size_t i = 0; i < t->count; i++)
        dx_pair_count_add(&sum, &t->pairs[i]);
    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "domain");
    dx_json_text(&j, t->domain);
    if (dx_span_equal(t->domain, dx_span_str("xn--mnchen-3ya.de"))) {
        dx_json_key(&j, "domain_unicode");
        dx_json_str(&j, "m\xc3\xbcnchen.de");
    }
    dx_json_key(&j, "domain_id");
    dx_json_hex64(&j, t->domain_id);
    number(&j, "dataset_count", t->count);
    number(&j, "url_count", sum.url_count);
    number(&j, "row_count", sum.row_count);
    number(&j, "distinct_url_count", t->distinct_url_count);
    dx_json_key(&j, "distinct_error");
    t->distinct_dense ? dx_json_number(&j, dx_span_str("0.01625")) : dx_json_u64(&j, 0);
    time_or_null(&j, "first_ts", sum.has_ts, sum.first_us);
    time_or_null(&j, "last_ts", sum.has_ts, sum.last_us);
    if (t->withheld_rows > 0)
        number(&j, "withheld_rows", t->withheld_rows);
    write_items(t, r, &j);
    dx_json_key(&j, "version");
    dx_json_text(&j, t->version);
    dx_json_key(&j, "complete");
    dx_json_bool(&j, true);
    dx_json_end(&j);
}

static void check_some(const struct dx_registry *r, const struct dx_dataset_heads *heads)
{
    static const char *const domains[] = { "example.com", "[2001:db8::1]", "xn--mnchen-3ya.de" };
    const struct dx_suppression_view nothing = { .entry = NULL };
    uint32_t ids[DATASETS];
    struct dx_pair_count pairs[DATASETS];
    struct dx_domain_text t = { .domain = dx_span_str(domains[draw() % 3]),
                                .domain_id = draw(),
                                .ids = ids,
                                .pairs = pairs,
                                .fields = draw() % 3 == 0 ? DX_DOMAIN_FIELDS_ALL
                                                          : draw() % (DX_DOMAIN_FIELDS_ALL + 1),
                                .distinct_url_count = draw() >> draw() % 64,
                                .distinct_dense = draw() % 2 == 0,
                                .rank = rank_of,
                                .withheld = &nothing,
                                .withheld_rows = draw() % 3 == 0 ? draw() : 0,
                                .version = dx_span_str("000042-20240614T081530Z") };
    struct dx_buf got = DX_BUF_INIT(1 << 20);
    struct dx_buf want = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    uint64_t each = draw() % 50 + 1;

    t.rank_ctx = &t;
    if (draw() % 2 == 0) {
        t.order.by = draw() % 4 == 0 ? 0 : 1U << draw() % DX_DOMAIN_FIELD_COUNT;
        t.order.reverse = draw() % 2 == 0;
    }
    if (draw() % 3 == 0)
        t.order.page = (struct dx_page_of){ draw() % 3 == 0 ? draw() % DATASETS : 0,
                                            draw() % DATASETS };
    for (size_t i = 0; i < r->count; i++)
        if (draw() % each == 0) {
            pairs[t.count] = draw_pair(r->datasets[i].urls);
            ids[t.count++] = r->datasets[i].dataset_id;
        }
    EXPECT(dx_domain_text_write(&t, heads, &got, &err) == DX_OK, "%s", err.text);
    write_expected(&t, r, &want);
    EXPECT(dx_span_equal(dx_span_of(got.data, got.size), dx_span_of(want.data, want.size)),
           "%zu datasets:\n%.*s\n%.*s", t.count, (int)got.size, (const char *)got.data,
           (int)want.size, (const char *)want.data);
    dx_buf_release(&got);

    /* Any cap below its size: an error, and never a byte over it. */
    got = (struct dx_buf)DX_BUF_INIT(draw() % want.size);
    EXPECT(dx_domain_text_write(&t, heads, &got, &err) < 0 && got.capacity <= got.max, "cap %zu",
           got.max);
    dx_buf_release(&got);
    t.order.page = (struct dx_page_of){ 0 };
    if (t.count > 0 && (t.fields & DX_DOMAIN_FIELD_RANK) != 0) {
        t.domain_id = UINT64_MAX;
        got = (struct dx_buf)DX_BUF_INIT(1 << 20);
        EXPECT(dx_domain_text_write(&t, heads, &got, &err) == DX_E_LIMIT, "a rank that failed");
        dx_buf_release(&got);
        t.domain_id = 0;
    }
    t.order = (struct dx_dataset_order){ 0 };
    if (t.count > 0) { /* more URLs than the dataset has */
        size_t i = draw() % t.count;
        uint64_t urls = pairs[i].url_count;

        pairs[i].url_count = dx_registry_by_id(r, ids[i])->urls + 1;
        got = (struct dx_buf)DX_BUF_INIT(1 << 20);
        EXPECT(dx_domain_text_write(&t, heads, &got, &err) == DX_E_CORRUPT, "too many URLs");
        dx_buf_release(&got);
        pairs[i].url_count = urls;
    }
    if (t.count > 0) { /* a dataset that the registry does not have */
        ids[draw() % t.count] = draw() % 2 == 0 ? 0 : r->datasets[r->count - 1].dataset_id + 1;
        got = (struct dx_buf)DX_BUF_INIT(1 << 20);
        EXPECT(dx_domain_text_write(&t, heads, &got, &err) == DX_E_CORRUPT, "an unknown dataset");
        dx_buf_release(&got);
    }
    dx_buf_release(&want);
}

int main(void)
{
    static char names[DATASETS][32];

    for (unsigned gaps = 0; gaps < 2; gaps++) {
        struct dx_dataset_heads heads;
        struct dx_error err = DX_ERROR_INIT;
        struct dx_registry r;

        make_registry(&r, names, gaps == 1);
        EXPECT(dx_dataset_heads_new(&heads, &r, &err) == DX_OK, "%s", err.text);
        for (uint32_t id = 0; id < 2 * DATASETS; id++) {
            const struct dx_dataset *want = dx_registry_by_id(&r, id);
            const struct dx_dataset_head *got = dx_dataset_heads_get(&heads, id);

            EXPECT(want == NULL ? got == NULL
                                : got != NULL && got->dataset_id == id && got->urls == want->urls,
                   "dataset %u", (unsigned)id);
        }
        EXPECT(dx_dataset_heads_get(&heads, UINT32_MAX) == NULL, "no dataset");
        for (unsigned i = 0; i < 400; i++)
            check_some(&r, &heads);
        dx_dataset_heads_release(&heads);
        free(r.datasets);
    }
    return failures > 0;
}
