/* SPDX-License-Identifier: Apache-2.0 */
#include "format/counts.h"

#include <inttypes.h>

#define HEADER_SIZE 64
#define TAG_ANCH DX_KIND('A', 'N', 'C', 'H')
#define TAG_DATA DX_KIND('D', 'A', 'T', 'A')
#define ANCHOR_ENTRY 5
#define OFFSET_MAX ((UINT64_C(1) << 40) - 1)

static uint64_t load_u40(const uint8_t *p)
{
    return (uint64_t)dx_load_u32(p) | (uint64_t)p[4] << 32;
}

static uint64_t anchor_count(uint64_t domains)
{
    return domains / DX_COUNTS_ANCHOR + (domains % DX_COUNTS_ANCHOR != 0) + 1;
}

static int open_sections(struct dx_counts *c, struct dx_error *err)
{
    const struct dx_envelope *e = &c->envelope;
    struct dx_counts_totals *t = &c->totals;
    struct dx_span header;
    struct dx_bytes r;
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    t->domains = dx_bytes_u64(&r);
    t->pairs = dx_bytes_u64(&r);
    t->ts_base = (int64_t)dx_bytes_u64(&r);
    t->ts_unit = dx_bytes_u64(&r);
    t->row_count = dx_bytes_u64(&r);
    t->url_count = dx_bytes_u64(&r);
    if (dx_bytes_u64(&r) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: reserved bytes are not zero", e->name);
    if (t->ts_unit == 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: ts_unit is 0", e->name);
    if (t->pairs < t->domains || t->url_count < t->pairs || t->row_count < t->url_count)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: %" PRIu64 " domains, %" PRIu64 " pairs, %" PRIu64
                       " urls, %" PRIu64 " rows do not ascend",
                       e->name, t->domains, t->pairs, t->url_count, t->row_count);
    rc = dx_envelope_array(e, TAG_ANCH, ANCHOR_ENTRY, anchor_count(t->domains), &c->anchors, err);
    if (rc >= 0)
        rc = dx_envelope_section(e, TAG_DATA, &c->data, err);
    return rc;
}

int dx_counts_open(struct dx_counts *c, struct dx_span file, unsigned flags, const char *name,
                   struct dx_error *err)
{
    int rc;

    *c = (struct dx_counts){ .data = { NULL, 0 } };
    rc = dx_envelope_open(&c->envelope, file, DX_COUNTS_MAGIC, DX_COUNTS_VERSION, flags, name, err);
    if (rc >= 0)
        rc = open_sections(c, err);
    if (rc < 0)
        dx_counts_close(c);
    return rc;
}

void dx_counts_close(struct dx_counts *c)
{
    dx_envelope_close(&c->envelope);
    *c = (struct dx_counts){ .data = { NULL, 0 } };
}

/* Length of the body at r, which stands behind it then; only checked bytes are read. */
static int body_length(const struct dx_counts *c, struct dx_bytes *r, uint64_t *length,
                       struct dx_error *err)
{
    size_t some = dx_bytes_left(r) < 10 ? dx_bytes_left(r) : 10;
    const uint8_t *at = r->at;
    int rc = dx_envelope_check(&c->envelope, at, some, err);

    if (rc < 0)
        return rc;
    *length = dx_bytes_varint(r);
    if (r->failed || *length > dx_bytes_left(r))
        return dx_envelope_corrupt(&c->envelope, TAG_DATA, at, err,
                                   "body of %" PRIu64 " bytes, %zu are left before the next anchor",
                                   *length, dx_bytes_left(r));
    return DX_OK;
}

static int find_body(const struct dx_counts *c, uint64_t ordinal, struct dx_span *body,
                     struct dx_error *err)
{
    const struct dx_envelope *e = &c->envelope;
    const uint8_t *anchor;
    struct dx_bytes r;
    uint64_t begin;
    uint64_t end;
    uint64_t length = 0;
    int rc;

    if (ordinal >= c->totals.domains)
        return dx_fail(err, DX_E_INVALID, "%s: no domain %" PRIu64 ", there are %" PRIu64, e->name,
                       ordinal, c->totals.domains);
    anchor = c->anchors.data + ordinal / DX_COUNTS_ANCHOR * ANCHOR_ENTRY;
    rc = dx_envelope_check(e, anchor, 2 * ANCHOR_ENTRY, err);
    if (rc < 0)
        return rc;
    begin = load_u40(anchor);
    end = load_u40(anchor + ANCHOR_ENTRY);
    if (begin > end || end > c->data.size)
        return dx_envelope_corrupt(e, TAG_ANCH, anchor, err,
                                   "[%" PRIu64 ", %" PRIu64 ") is not within DATA of %zu bytes",
                                   begin, end, c->data.size);
    r = dx_bytes_of(dx_span_of(c->data.data + begin, (size_t)(end - begin)));
    for (uint64_t i = 0; i <= ordinal % DX_COUNTS_ANCHOR; i++) {
        (void)dx_bytes_take(&r, length);
        rc = body_length(c, &r, &length, err);
        if (rc < 0)
            return rc;
    }
    *body = dx_bytes_take(&r, length);
    return dx_envelope_check(e, body->data, body->size, err);
}

/* base + k * unit; false if it leaves 64 bits. */
static bool time_at(int64_t base, uint64_t unit, uint64_t k, int64_t *out)
{
    uint64_t distance;

    if (__builtin_mul_overflow(k, unit, &distance) ||
        distance > (uint64_t)INT64_MAX - (uint64_t)base)
        return false;
    *out = (int64_t)((uint64_t)base + distance);
    return true;
}

static const char *read_pair(const struct dx_counts *c, struct dx_bytes *r,
                             struct dx_pair_count *pair)
{
    uint64_t urls = dx_bytes_varint(r);
    uint64_t more = dx_bytes_varint(r);

    *pair = (struct dx_pair_count){ .url_count = urls >> 1, .has_ts = (urls & 1) != 0 };
    if (r->failed)
        return "is cut";
    if (pair->url_count == 0)
        return "has no URL";
    if (__builtin_add_overflow(pair->url_count, more, &pair->row_count))
        return "has a row count over 64 bits";
    if (!pair->has_ts)
        return NULL;
    urls = dx_bytes_varint(r);
    more = dx_bytes_varint(r);
    if (r->failed)
        return "is cut";
    if (!time_at(c->totals.ts_base, c->totals.ts_unit, urls, &pair->first_us) ||
        !time_at(pair->first_us, c->totals.ts_unit, more, &pair->last_us))
        return "has a time over 64 bits";
    return NULL;
}

int dx_counts_get(const struct dx_counts *c, uint64_t ordinal, uint32_t datasets,
                  struct dx_pair_count *pairs, struct dx_error *err)
{
    struct dx_span body = { NULL, 0 };
    struct dx_bytes r;
    int rc = find_body(c, ordinal, &body, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(body);
    for (uint32_t i = 0; i < datasets; i++) {
        const char *why = read_pair(c, &r, &pairs[i]);

        if (why != NULL)
            return dx_envelope_corrupt(&c->envelope, TAG_DATA, body.data, err,
                                       "domain %" PRIu64 ": pair %" PRIu32 " of %" PRIu32 " %s",
                                       ordinal, i, datasets, why);
    }
    if (dx_bytes_left(&r) != 0)
        return dx_envelope_corrupt(&c->envelope, TAG_DATA, body.data, err,
                                   "domain %" PRIu64 ": %zu bytes behind its %" PRIu32 " pairs",
                                   ordinal, dx_bytes_left(&r), datasets);
    return 1;
}

int dx_counts_one(const struct dx_counts *c, uint64_t ordinal, uint32_t rank,
                  struct dx_pair_count *pair, struct dx_error *err)
{
    struct dx_span body = { NULL, 0 };
    struct dx_bytes r;
    int rc = find_body(c, ordinal, &body, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(body);
    for (uint32_t i = 0;; i++) {
        const char *why = read_pair(c, &r, pair);

        if (why != NULL)
            return dx_envelope_corrupt(&c->envelope, TAG_DATA, body.data, err,
                                       "domain %" PRIu64 ": pair %" PRIu32 " %s", ordinal, i, why);
        if (i == rank)
            return 1;
    }
}

void dx_pair_count_add(struct dx_pair_count *sum, const struct dx_pair_count *pair)
{
    sum->url_count += pair->url_count;
    sum->row_count += pair->row_count;
    if (!pair->has_ts)
        return;
    if (!sum->has_ts || pair->first_us < sum->first_us)
        sum->first_us = pair->first_us;
    if (!sum->has_ts || pair->last_us > sum->last_us)
        sum->last_us = pair->last_us;
    sum->has_ts = true;
}

void dx_counts_totals_init(struct dx_counts_totals *t)
{
    *t = (struct dx_counts_totals){ .ts_unit = 1 };
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The distances to one time have the same divisor as the distances to the smallest. */
static void add_time(struct dx_counts_totals *t, int64_t us)
{
    uint64_t distance;

    if (!t->has_ts) {
        t->has_ts = true;
        t->ts_base = us;
        t->ts_seen = us;
        return;
    }
    if (us < t->ts_base)
        t->ts_base = us;
    distance = us > t->ts_seen ? (uint64_t)us - (uint64_t)t->ts_seen
                               : (uint64_t)t->ts_seen - (uint64_t)us;
    if (distance == 0 || t->ts_gcd == 1)
        return;
    t->ts_gcd = gcd(distance, t->ts_gcd);
    t->ts_unit = t->ts_gcd;
}

int dx_counts_totals_add(struct dx_counts_totals *t, const struct dx_pair_count *pairs, size_t n,
                         struct dx_error *err)
{
    if (n == 0)
        return dx_fail(err, DX_E_INVALID, "counts: domain %" PRIu64 " has no dataset", t->domains);
    for (size_t i = 0; i < n; i++) {
        const struct dx_pair_count *p = &pairs[i];

        if (p->url_count == 0 || p->url_count > p->row_count || p->url_count > INT64_MAX)
            return dx_fail(err, DX_E_INVALID,
                           "counts: domain %" PRIu64 ", pair %zu: %" PRIu64 " URLs in %" PRIu64
                           " rows",
                           t->domains, i, p->url_count, p->row_count);
        if (p->has_ts && p->last_us < p->first_us)
            return dx_fail(err, DX_E_INVALID,
                           "counts: domain %" PRIu64 ", pair %zu: last time is before the first",
                           t->domains, i);
        if (__builtin_add_overflow(t->row_count, p->row_count, &t->row_count) ||
            __builtin_add_overflow(t->url_count, p->url_count, &t->url_count))
            return dx_fail(err, DX_E_LIMIT, "counts: sums go over 64 bits");
        if (p->has_ts) {
            add_time(t, p->first_us);
            add_time(t, p->last_us);
        }
    }
    t->pairs += n;
    t->domains++;
    return DX_OK;
}

int dx_counts_writer_begin(struct dx_counts_writer *w, const struct dx_counts_totals *totals,
                           const struct dx_build_id *build,
                           int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                           void *ctx, struct dx_error *err)
{
    int rc;

    w->want = *totals;
    w->data_size = 0;
    dx_counts_totals_init(&w->done);
    dx_buf_init(&w->anchors, SIZE_MAX / 2);
    dx_buf_init(&w->body, SIZE_MAX / 2);
    dx_buf_init(&w->entry, SIZE_MAX / 2);
    dx_envelope_writer_init(&w->envelope, DX_COUNTS_MAGIC, DX_COUNTS_VERSION, build, sink, ctx);
    dx_buf_u32(&w->entry, DX_COUNTS_MAGIC);
    dx_buf_u32(&w->entry, DX_COUNTS_VERSION);
    dx_buf_u64(&w->entry, totals->domains);
    dx_buf_u64(&w->entry, totals->pairs);
    dx_buf_u64(&w->entry, (uint64_t)totals->ts_base);
    dx_buf_u64(&w->entry, totals->ts_unit);
    dx_buf_u64(&w->entry, totals->row_count);
    dx_buf_u64(&w->entry, totals->url_count);
    dx_buf_zero(&w->entry, 8);
    rc = w->entry.failed ? dx_buf_fail(&w->entry, err, "counts")
                         : dx_envelope_writer_header(&w->envelope,
                                                     dx_span_of(w->entry.data, w->entry.size), err);
    if (rc >= 0)
        rc = dx_envelope_writer_section(&w->envelope, TAG_DATA, err);
    return rc;
}

/* DX_E_INVALID if the time is not on the grid of the first pass. */
static int append_times(struct dx_counts_writer *w, const struct dx_pair_count *p,
                        struct dx_error *err)
{
    uint64_t first = (uint64_t)p->first_us - (uint64_t)w->want.ts_base;
    uint64_t length = (uint64_t)p->last_us - (uint64_t)p->first_us;

    if (!w->want.has_ts || p->first_us < w->want.ts_base || first % w->want.ts_unit != 0 ||
        length % w->want.ts_unit != 0)
        return dx_fail(err, DX_E_INVALID,
                       "counts: domain %" PRIu64 " has a time that the first pass did not see",
                       w->done.domains);
    dx_buf_varint(&w->body, first / w->want.ts_unit);
    dx_buf_varint(&w->body, length / w->want.ts_unit);
    return DX_OK;
}

static void append_anchor(struct dx_counts_writer *w)
{
    dx_buf_u32(&w->anchors, (uint32_t)w->data_size);
    dx_buf_u8(&w->anchors, (uint8_t)(w->data_size >> 32));
}

int dx_counts_writer_add(struct dx_counts_writer *w, const struct dx_pair_count *pairs, size_t n,
                         struct dx_error *err)
{
    int rc;

    if (w->done.domains % DX_COUNTS_ANCHOR == 0)
        append_anchor(w);
    dx_buf_clear(&w->body);
    dx_buf_clear(&w->entry);
    for (size_t i = 0; i < n; i++) {
        dx_buf_varint(&w->body, pairs[i].url_count << 1 | (pairs[i].has_ts ? 1 : 0));
        dx_buf_varint(&w->body, pairs[i].row_count - pairs[i].url_count);
        rc = pairs[i].has_ts ? append_times(w, &pairs[i], err) : DX_OK;
        if (rc < 0)
            return rc;
    }
    rc = dx_counts_totals_add(&w->done, pairs, n, err);
    if (rc < 0)
        return rc;
    dx_buf_varint(&w->entry, w->body.size);
    dx_buf_append(&w->entry, w->body.data, w->body.size);
    if (w->anchors.failed || w->body.failed || w->entry.failed)
        return dx_fail(err, DX_E_NOMEM, "counts: out of memory");
    w->data_size += w->entry.size;
    if (w->data_size > OFFSET_MAX)
        return dx_fail(err, DX_E_LIMIT, "counts: over 2^40 bytes");
    return dx_envelope_writer_append(&w->envelope, dx_span_of(w->entry.data, w->entry.size), err);
}

int dx_counts_writer_end(struct dx_counts_writer *w, struct dx_error *err)
{
    const struct dx_counts_totals *a = &w->want;
    const struct dx_counts_totals *b = &w->done;
    int rc;

    if (a->domains != b->domains || a->pairs != b->pairs || a->row_count != b->row_count ||
        a->url_count != b->url_count || a->ts_base != b->ts_base || a->ts_unit != b->ts_unit)
        return dx_fail(err, DX_E_INVALID,
                       "counts: the second pass had %" PRIu64 " domains and %" PRIu64
                       " pairs, the first %" PRIu64 " and %" PRIu64 ", or other times",
                       b->domains, b->pairs, a->domains, a->pairs);
    append_anchor(w);
    if (w->anchors.failed)
        return dx_buf_fail(&w->anchors, err, "counts");
    rc = dx_envelope_writer_section(&w->envelope, TAG_ANCH, err);
    if (rc >= 0)
        rc = dx_envelope_writer_append(&w->envelope, dx_span_of(w->anchors.data, w->anchors.size),
                                       err);
    return rc < 0 ? rc : dx_envelope_writer_finish(&w->envelope, err);
}

void dx_counts_writer_release(struct dx_counts_writer *w)
{
    dx_envelope_writer_release(&w->envelope);
    dx_buf_release(&w->anchors);
    dx_buf_release(&w->body);
    dx_buf_release(&w->entry);
}
