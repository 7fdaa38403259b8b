/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/suppression_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "canon/url.h"
#include "format/root/rules.h"
#include "format/root/scope.h"
#include "format/text/host_pages.h"
#include "format/version/facts.h"
#include "format/version/pair_tally.h"
#include "format/version/url_sketch.h"
#include "loader/domain_pairs.h"
#include "loader/version.h"
#include "query/rows/listing.h"
#include "query/rows/row_tally.h"
#include "query/view/lookup.h"

/* Of a window: it is one that a client could ask for. */
#define WINDOW_ROWS DX_LIMIT_MAX
#define WINDOW_WAIT_MS 10000

/* Distinct URLs of a pair that are hidden: 1 GB of hashes. */
#define URLS_MAX (64u << 20)

struct scan {
    struct dx_version *version;
    const struct dx_part *part; /* that has the domain */
    const struct dx_rules_of *of;
    struct dx_suppression_pair pair;
    size_t range_capacity;
    bool of_counts; /* rows are hosts, and what counts are their pages */
    uint64_t rows;  /* to read; of hosts the first window says how many */
    uint64_t position;
    uint64_t hidden;
    struct dx_hash128 *urls; /* that are hidden: distinct below `sorted` */
    size_t url_count, url_capacity, sorted;
    struct dx_buf url;           /* scratch */
    struct dx_url_sketch sketch; /* of the visible rows */
    struct dx_row_tally tally;   /* the same, until they are too many */
    bool tally_over;
};

/* ---- distinct URLs ---- */

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct dx_hash128));
}

static void make_distinct(struct scan *s)
{
    size_t n = 0;

    if (s->url_count > s->sorted)
        qsort(s->urls, s->url_count, sizeof *s->urls, by_bytes);
    for (size_t i = 0; i < s->url_count; i++)
        if (n == 0 || by_bytes(&s->urls[n - 1], &s->urls[i]) != 0)
            s->urls[n++] = s->urls[i];
    s->url_count = s->sorted = n;
}

static int url_room(struct scan *s, struct dx_error *err)
{
    struct dx_hash128 *to;
    size_t more;

    if (s->url_count < s->url_capacity)
        return DX_OK;
    make_distinct(s);
    if (s->url_count > URLS_MAX)
        return dx_fail(err, DX_E_LIMIT, "suppressions hide over %u URLs of one dataset", URLS_MAX);
    if (s->url_count < s->url_capacity / 2)
        return DX_OK;
    more = s->url_capacity == 0 ? 256 : s->url_capacity * 2;
    to = realloc(s->urls, more * sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "suppressed rows");
    s->urls = to;
    s->url_capacity = more;
    return DX_OK;
}

static int add_url(struct scan *s, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_hash128 hash;
    int rc;

    dx_buf_clear(&s->url);
    dx_buf_append(&s->url, row->scheme.data, row->scheme.size);
    dx_buf_append(&s->url, "://", 3);
    dx_buf_append(&s->url, row->host.data, row->host.size);
    dx_buf_append(&s->url, row->path_query.data, row->path_query.size);
    if (s->url.failed)
        return dx_buf_fail(&s->url, err, "URL of a row");
    hash = dx_hash128_of(dx_span_of(s->url.data, s->url.size));
    /* Rows of a file are sorted: most repetitions follow each other. */
    if (s->url_count > 0 && by_bytes(&s->urls[s->url_count - 1], &hash) == 0)
        return DX_OK;
    rc = url_room(s, err);
    if (rc == DX_OK)
        s->urls[s->url_count++] = hash;
    return rc;
}

/* ---- rows ---- */

static int hide_row(struct scan *s, struct dx_error *err)
{
    struct dx_suppression_pair *p = &s->pair;
    struct dx_suppression_range *to;

    assert(p->range_count == 0 || p->ranges[p->range_count - 1].end <= s->position);
    if (p->range_count > 0 && p->ranges[p->range_count - 1].end == s->position) {
        p->ranges[p->range_count - 1].end++;
        s->hidden++;
        return DX_OK;
    }
    to = dx_array_room(p->ranges, p->range_count, &s->range_capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "suppressed rows");
    p->ranges = to;
    p->ranges[p->range_count++] = (struct dx_suppression_range){ s->position, s->position + 1,
                                                                 s->hidden };
    s->hidden++;
    return DX_OK;
}

/* What the index says of all rows of a pair, of the visible ones. */
static int show_row(struct scan *s, const struct dx_listing_row *row, uint64_t weight,
                    struct dx_error *err)
{
    const struct dx_pair_count one = { .row_count = weight,
                                       .has_ts = row->has_ts,
                                       .first_us = row->has_ts ? row->ts_us : 0,
                                       .last_us = row->has_ts ? row->ts_us : 0 };
    int rc = dx_url_sketch_add(
        &s->sketch, s->of_counts ? 0 : dx_url_sketch_hash(row->scheme, row->host, row->path_query),
        err);

    dx_pair_count_add(&s->pair.visible, &one);
    if (rc >= 0 && s->of_counts)
        rc = dx_url_sketch_settle(&s->sketch, err);
    if (rc >= 0 && s->pair.visible.row_count % (2 * DX_SKETCH_PAIR_MAX) == 0)
        rc = dx_url_sketch_settle(&s->sketch, err);
    if (rc < 0 || s->tally_over)
        return rc;
    rc = dx_row_tally_add(&s->tally, row, err);
    if (rc != DX_E_LIMIT)
        return rc;
    s->tally_over = true;
    dx_row_tally_release(&s->tally);
    return DX_OK;
}

static int each_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct scan *s = ctx;
    struct dx_rule_hit hit = dx_rules_row(s->of, row->scheme, row->host, row->path_query);
    uint64_t weight = 1;
    int rc = DX_OK;

    if (s->of_counts && !dx_host_pages_parse(row->path_query, &weight))
        return dx_fail(err, DX_E_CORRUPT, "%s: dataset %u is of counts, and has a row of a URL",
                       s->part->directory, (unsigned)s->pair.dataset_id);
    if (hit.effect == DX_EFFECT_NONE) {
        rc = show_row(s, row, weight, err);
    } else {
        s->pair.withheld_rows += hit.effect == DX_EFFECT_WITHHELD ? weight : 0;
        rc = hide_row(s, err);
        if (rc == DX_OK && !s->of_counts)
            rc = add_url(s, row, err);
    }
    s->position++;
    return rc;
}

static int read_window(struct scan *s, uint64_t ordinal, struct dx_error *err)
{
    const struct dx_page_of window = { s->position, WINDOW_ROWS };
    struct dx_listing l;
    int rc;

    dx_listing_init(&l, s->version, s->part, ordinal, s->pair.dataset_id, window,
                    DX_FIELD_URL | DX_FIELD_TS, dx_clock_ms() + WINDOW_WAIT_MS);
    while ((rc = dx_listing_step(&l, err)) == DX_LISTING_WAITS) {
        rc = dx_read_batch_perform(&l.reading, err);
        rc = dx_listing_fetched(&l, rc, err);
        if (rc < 0)
            break;
    }
    if (rc == DX_LISTING_DONE && s->of_counts && s->rows == 0 && l.total <= s->pair.row_count)
        s->rows = l.total;
    if (rc == DX_LISTING_DONE && (!l.found || l.total != s->rows || l.row_count == 0))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: domain %llu has %llu rows in dataset %u by its counts, %llu by its "
                     "posting",
                     s->part->directory, (unsigned long long)ordinal,
                     (unsigned long long)s->pair.row_count, (unsigned)s->pair.dataset_id,
                     (unsigned long long)l.total);
    if (rc == DX_LISTING_DONE)
        rc = dx_listing_rows(&l, &(struct dx_listing_taker){ s, each_row, NULL }, err);
    dx_listing_release(&l);
    return rc < 0 ? rc : DX_OK;
}

static int read_pair(struct scan *s, uint64_t ordinal, const struct dx_pair_count *count,
                     const _Atomic bool *stop, struct dx_error *err)
{
    int rc = DX_OK;

    s->pair.row_count = count->row_count;
    s->pair.url_count = count->url_count;
    s->rows = s->of_counts ? 0 : count->row_count;
    while (rc == DX_OK && (s->position < s->rows || s->rows == 0))
        rc = atomic_load(stop) ? dx_fail(err, DX_E_TIMEOUT, "reading suppressed rows was stopped")
                               : read_window(s, ordinal, err);
    if (rc < 0)
        return rc;
    make_distinct(s);
    if (s->url_count > count->url_count)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: dataset %u has %llu URLs of a domain, %zu are hidden",
                       s->part->directory, (unsigned)s->pair.dataset_id,
                       (unsigned long long)count->url_count, s->url_count);
    s->pair.visible.url_count = s->of_counts ? s->pair.visible.row_count
                                             : count->url_count - s->url_count;
    return DX_OK;
}

/* ---- all datasets of the domain ---- */

/* Facts of what is visible, where some of the pair is hidden: else the index has them. */
static int tally_visible(struct scan *s, const struct dx_found *found, struct dx_error *err)
{
    struct dx_buf facts = DX_BUF_INIT(DX_PAIR_TALLY_FACTS_MAX);
    struct dx_suppression_pair *p = &s->pair;
    uint64_t url_count;
    int rc;

    if (p->range_count == 0 || p->visible.row_count == 0 || s->tally_over)
        return DX_OK;
    rc = dx_row_tally_end(&s->tally, dx_span_of(found->domain, found->domain_size),
                          p->row_count > DX_FACTS_ROWS, &facts, &url_count, err);
    if (rc >= 0 && url_count != p->visible.url_count)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: dataset %u has %llu visible URLs of a domain by its rows, %llu by its "
                     "counts",
                     s->part->directory, (unsigned)p->dataset_id, (unsigned long long)url_count,
                     (unsigned long long)p->visible.url_count);
    if (rc < 0) {
        dx_buf_release(&facts);
        return rc;
    }
    p->facts = dx_span_of(facts.data, facts.size);
    return DX_OK;
}

/* Takes the pair from s if some of it is hidden. */
static void keep(struct dx_suppression_rows *out, struct scan *s)
{
    out->shown[out->shown_count++] = (struct dx_shown_pair){ s->pair.dataset_id,
                                                             s->pair.visible.row_count,
                                                             s->pair.withheld_rows };
    if (s->pair.range_count == 0)
        return;
    out->bytes += sizeof s->pair + s->range_capacity * sizeof *s->pair.ranges + s->pair.facts.size +
                  s->pair.sketch.size;
    out->pairs[out->count++] = s->pair;
    s->pair.ranges = NULL;
    s->pair.facts = s->pair.sketch = dx_span_of(NULL, 0);
}

/* Distinct URLs over all datasets: in one alone they are counted. */
struct distinct {
    struct dx_url_sketch all;
    size_t pairs;     /* with visible rows */
    uint64_t largest; /* url_count of them */
    uint64_t sum;
};

/* For a union with others than all: the index has it of pairs of which nothing is hidden. */
static int keep_sketch(struct scan *s, struct dx_error *err)
{
    struct dx_buf sketch = DX_BUF_INIT(DX_PAIR_TALLY_SKETCH_MAX);
    int rc;

    if (s->pair.range_count == 0)
        return DX_OK;
    rc = dx_url_sketch_encode(&s->sketch, &sketch, err);
    if (rc < 0)
        dx_buf_release(&sketch);
    else
        s->pair.sketch = dx_span_of(sketch.data, sketch.size);
    return rc;
}

static int count_distinct(struct distinct *d, struct scan *s, struct dx_error *err)
{
    int rc;

    if (s->pair.visible.row_count == 0)
        return DX_OK;
    if (s->of_counts) {
        rc = dx_url_sketch_settle(&s->sketch, err);
        return rc < 0 ? rc : keep_sketch(s, err);
    }
    d->pairs++;
    d->sum += s->pair.visible.url_count;
    if (s->pair.visible.url_count > d->largest)
        d->largest = s->pair.visible.url_count;
    rc = dx_url_sketch_settle(&s->sketch, err);
    if (rc >= 0)
        rc = keep_sketch(s, err);
    return rc < 0 ? rc : dx_url_sketch_union(&d->all, &s->sketch, err);
}

static int read_one(struct scan *s, const struct dx_found *found, const struct dx_pair_count *count,
                    const _Atomic bool *stop, struct distinct *distinct,
                    struct dx_suppression_rows *out, struct dx_error *err)
{
    int rc = read_pair(s, found->ordinal, count, stop, err);

    if (rc == DX_OK)
        rc = tally_visible(s, found, err);
    if (rc == DX_OK)
        rc = count_distinct(distinct, s, err);
    if (rc == DX_OK)
        keep(out, s);
    return rc;
}

void dx_suppression_rows_sums(const struct dx_suppression_rows *h, const struct dx_scope *scope,
                              struct dx_hidden_sums *sums)
{
    *sums = (struct dx_hidden_sums){ 0, 0 };
    for (size_t i = 0; i < h->shown_count; i++) {
        if (!dx_scope_has(scope, h->shown[i].dataset_id))
            continue;
        sums->visible_rows += h->shown[i].visible_rows;
        sums->withheld_rows += h->shown[i].withheld_rows;
    }
}

static void release_scan(struct scan *s)
{
    free(s->pair.ranges);
    free((uint8_t *)s->pair.facts.data);
    free((uint8_t *)s->pair.sketch.data);
    free(s->urls);
    dx_buf_release(&s->url);
    dx_url_sketch_release(&s->sketch);
    dx_row_tally_release(&s->tally);
}

static int read_pairs(struct dx_version *v, const struct dx_found *found,
                      const struct dx_domain_pairs *pairs, const struct dx_rules_of *of,
                      const _Atomic bool *stop, struct dx_suppression_rows *out,
                      struct dx_error *err)
{
    struct distinct distinct = { .pairs = 0 };
    int rc = DX_OK;

    dx_url_sketch_init(&distinct.all);
    for (size_t i = 0; i < pairs->count && rc == DX_OK; i++) {
        struct scan s = {
            .version = v, .part = found->part, .of = of, .pair = { .dataset_id = pairs->ids[i] }
        };

        dx_buf_init(&s.url, 4 * DX_URL_MAX);
        dx_url_sketch_init(&s.sketch);
        dx_row_tally_init(&s.tally);
        s.of_counts = s.tally.of_counts = dx_registry_of_counts(&v->registry, pairs->ids[i]);
        rc = read_one(&s, found, &pairs->counts[i], stop, &distinct, out, err);
        release_scan(&s);
    }
    out->distinct_url_count = dx_url_sketch_clip(dx_url_sketch_count(&distinct.all),
                                                 distinct.largest, distinct.sum);
    out->distinct_dense = distinct.pairs > 1 && distinct.all.dense;
    dx_url_sketch_release(&distinct.all);
    dx_suppression_rows_sums(out, NULL, &out->all);
    return rc;
}

int dx_suppression_rows_read(struct dx_version *v, const struct dx_found *found,
                             const struct dx_rules_of *of, const _Atomic bool *stop,
                             struct dx_suppression_rows *out, struct dx_error *err)
{
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    int rc = dx_domain_pairs_read(&pairs, found->part, found->ordinal, err);

    *out = (struct dx_suppression_rows){ .pairs = NULL };
    if (rc >= 0) {
        out->pairs = calloc(pairs.count + 1, sizeof *out->pairs);
        out->shown = calloc(pairs.count + 1, sizeof *out->shown);
        out->bytes = (pairs.count + 1) * (sizeof *out->pairs + sizeof *out->shown);
        rc = out->pairs == NULL || out->shown == NULL
                 ? dx_no_memory(err, "suppressed rows")
                 : read_pairs(v, found, &pairs, of, stop, out, err);
    }
    /* It would be believed of the same build after its files were put right. */
    if (rc >= 0 && !dx_version_intact(v))
        rc = dx_version_damage(v, err);
    dx_domain_pairs_release(&pairs);
    if (rc < 0)
        dx_suppression_rows_release(out);
    return rc < 0 ? rc : DX_OK;
}

void dx_suppression_rows_release(struct dx_suppression_rows *h)
{
    for (size_t i = 0; i < h->count; i++) {
        free(h->pairs[i].ranges);
        free((uint8_t *)h->pairs[i].facts.data);
        free((uint8_t *)h->pairs[i].sketch.data);
    }
    free(h->shown);
    free(h->pairs);
    *h = (struct dx_suppression_rows){ .pairs = NULL };
}
