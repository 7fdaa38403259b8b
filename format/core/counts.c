/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/counts.h"

#include "base/bits.h"

#include <assert.h>
#include <inttypes.h>

#define HEADER_SIZE 64
#define TAG_ANCH DX_KIND('A', 'N', 'C', 'H')
#define TAG_DATA DX_KIND('D', 'A', 'T', 'A')
#define ANCHOR_ENTRY 5
#define CODE_BEYOND 15 /* below it: url_count - 1, as many rows */
#define LINE 64
#define GROUP_LINES 3 /* that are asked for at once: most groups have no more */
#define OFFSET_MAX ((UINT64_C(1) << 40) - 1)

static uint64_t load_u40(const uint8_t *p)
{
    return (uint64_t)dx_load_u32(p) | (uint64_t)p[4] << 32;
}

static uint64_t anchor_count(uint64_t domains)
{
    return domains / DX_COUNTS_GROUP + (domains % DX_COUNTS_GROUP != 0) + 1;
}

static const char *read_header(struct dx_counts *c, struct dx_span header)
{
    struct dx_counts_totals *t = &c->totals;
    struct dx_bytes r = dx_bytes_of(header);
    uint8_t times;

    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    t->domains = dx_bytes_u64(&r);
    t->pairs = dx_bytes_u64(&r);
    t->ts_base = (int64_t)dx_bytes_u64(&r);
    t->ts_unit = dx_bytes_u64(&r);
    t->row_count = dx_bytes_u64(&r);
    t->url_count = dx_bytes_u64(&r);
    times = dx_bytes_u8(&r);
    c->first_bits = dx_bytes_u8(&r);
    c->last_bits = dx_bytes_u8(&r);
    for (const uint8_t *p = r.at; p < r.end; p++)
        if (*p != 0)
            return "reserved bytes are not zero";
    if (t->ts_unit == 0)
        return "ts_unit is 0";
    if (times > DX_COUNTS_TIMES_SOME)
        return "unknown kind of times";
    c->times = (enum dx_counts_times)times;
    if (c->first_bits > 64 || c->last_bits > 64 ||
        (c->times == DX_COUNTS_TIMES_NONE && (c->first_bits | c->last_bits) != 0))
        return "times of a width that they cannot have";
    if (t->pairs < t->domains || t->url_count < t->pairs || t->row_count < t->url_count)
        return "domains, pairs, urls and rows do not ascend";
    return NULL;
}

static int open_sections(struct dx_counts *c, struct dx_error *err)
{
    const struct dx_envelope *e = &c->envelope;
    struct dx_span header;
    const char *why;
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    why = read_header(c, header);
    if (why != NULL)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %s", e->name, why);
    rc = dx_envelope_array(e, TAG_ANCH, ANCHOR_ENTRY, anchor_count(c->totals.domains), &c->anchors,
                           err);
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

/* ---- a group ---- */

/* Where the columns of a group lie. */
struct group {
    uint64_t pairs;
    uint64_t lasts;          /* last times that are stored */
    struct dx_span bytes;    /* all of it */
    struct dx_span ends;     /* a bit a pair: the last of its domain */
    struct dx_span codes;    /* four bits a pair */
    struct dx_span timed;    /* a bit a pair; empty unless only some have times */
    struct dx_span times;    /* first times, then last ones */
    struct dx_span beyond;   /* counts that no code says */
    struct dx_span distinct; /* a varint for each domain with several pairs */
};

/* Within a group: what of each column belongs to the pairs before one. */
struct place {
    uint64_t pair;
    uint64_t firsts;
    uint64_t lasts;
    uint64_t beyond;
};

static uint64_t ones(uint64_t v)
{
    return (uint64_t)__builtin_popcountll(v);
}

/* The ones among the first n bits. */
static uint64_t count_bits(struct dx_span row, uint64_t n)
{
    uint64_t count = 0;

    for (uint64_t at = 0; at < n; at += 64)
        count += ones(dx_bits_at(row, at, n - at < 64 ? (unsigned)(n - at) : 64));
    return count;
}

static bool has_time(const struct dx_counts *c, const struct group *g, uint64_t pair)
{
    return c->times == DX_COUNTS_TIMES_ALL ||
           (c->times == DX_COUNTS_TIMES_SOME && dx_bits_at(g->timed, pair, 1) != 0);
}

static uint64_t times_before(const struct dx_counts *c, const struct group *g, uint64_t pair)
{
    if (c->times == DX_COUNTS_TIMES_SOME)
        return count_bits(g->timed, pair);
    return c->times == DX_COUNTS_TIMES_ALL ? pair : 0;
}

static const char *open_columns(const struct dx_counts *c, struct group *g)
{
    struct dx_bytes r = dx_bytes_of(g->bytes);
    uint64_t distinct;
    uint64_t bits;

    g->pairs = dx_bytes_varint(&r);
    g->lasts = dx_bytes_varint(&r);
    distinct = dx_bytes_varint(&r);
    if (r.failed || g->pairs == 0 || g->pairs > 2 * (uint64_t)g->bytes.size || g->lasts > g->pairs)
        return "has a number of pairs that does not fit its bytes";
    g->ends = dx_bytes_take(&r, (g->pairs + 7) / 8);
    g->codes = dx_bytes_take(&r, (g->pairs + 1) / 2);
    g->timed = dx_bytes_take(&r, c->times == DX_COUNTS_TIMES_SOME ? (g->pairs + 7) / 8 : 0);
    if (r.failed)
        return "is cut";
    bits = times_before(c, g, g->pairs) * c->first_bits + g->lasts * c->last_bits;
    g->times = dx_bytes_take(&r, bits / 8 + (bits % 8 != 0));
    if (r.failed || distinct > dx_bytes_left(&r))
        return "is cut";
    g->beyond = dx_bytes_take(&r, dx_bytes_left(&r) - distinct);
    g->distinct = dx_bytes_take(&r, distinct);
    return NULL;
}

static int group_corrupt(const struct dx_counts *c, const struct group *g, uint64_t ordinal,
                         const char *why, struct dx_error *err)
{
    return dx_envelope_corrupt(&c->envelope, TAG_DATA, g->bytes.data, err,
                               "group %" PRIu64 " of domain %" PRIu64 " %s",
                               ordinal / DX_COUNTS_GROUP, ordinal, why);
}

static int open_group(const struct dx_counts *c, uint64_t ordinal, struct group *g,
                      struct dx_error *err)
{
    const struct dx_envelope *e = &c->envelope;
    const uint8_t *anchor;
    const char *why;
    uint64_t begin;
    uint64_t end;
    int rc;

    if (ordinal >= c->totals.domains)
        return dx_fail(err, DX_E_INVALID, "%s: no domain %" PRIu64 ", there are %" PRIu64, e->name,
                       ordinal, c->totals.domains);
    anchor = c->anchors.data + ordinal / DX_COUNTS_GROUP * ANCHOR_ENTRY;
    rc = dx_envelope_check(e, anchor, 2 * ANCHOR_ENTRY, err);
    if (rc < 0)
        return rc;
    begin = load_u40(anchor);
    end = load_u40(anchor + ANCHOR_ENTRY);
    if (begin > end || end > c->data.size)
        return dx_envelope_corrupt(e, TAG_ANCH, anchor, err,
                                   "[%" PRIu64 ", %" PRIu64 ") is not within DATA of %zu bytes",
                                   begin, end, c->data.size);
    g->bytes = dx_span_of(c->data.data + begin, (size_t)(end - begin));
    rc = dx_envelope_check(e, g->bytes.data, g->bytes.size, err);
    if (rc < 0)
        return rc;
    why = open_columns(c, g);
    return why == NULL ? DX_OK : group_corrupt(c, g, ordinal, why, err);
}

void dx_counts_prefetch(const struct dx_counts *c, uint64_t ordinal)
{
    if (ordinal < c->totals.domains)
        __builtin_prefetch(c->anchors.data + ordinal / DX_COUNTS_GROUP * ANCHOR_ENTRY);
}

void dx_counts_prefetch_pairs(const struct dx_counts *c, uint64_t ordinal)
{
    uint64_t begin;

    if (ordinal >= c->totals.domains)
        return;
    begin = load_u40(c->anchors.data + ordinal / DX_COUNTS_GROUP * ANCHOR_ENTRY);
    for (uint64_t at = begin; at < begin + GROUP_LINES * LINE && at < c->data.size; at += LINE)
        __builtin_prefetch(c->data.data + at);
}

/* The place of the n-th one of a word that has more than n. Ones are counted in all bytes at once; the high bit of a byte of
 * `beyond` says that the n-th one is in it or below. */
static unsigned nth_one(uint64_t word, unsigned n)
{
    const uint64_t bytes = UINT64_C(0x0101010101010101);
    uint64_t sums = word - (word >> 1 & UINT64_C(0x5555555555555555));
    uint64_t beyond;
    unsigned at;

    sums = (sums & UINT64_C(0x3333333333333333)) + (sums >> 2 & UINT64_C(0x3333333333333333));
    sums = ((sums + (sums >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * bytes; /* up to each byte */
    beyond = (sums + (127 - n) * bytes) & 128 * bytes;
    at = (unsigned)__builtin_ctzll(beyond) & 56;
    n -= (unsigned)(sums << 8 >> at & 255);
    for (word = word >> at & 255; n > 0; n--)
        word &= word - 1;
    return at + (unsigned)__builtin_ctzll(word);
}

/* Behind the last one of a word that begins at `at`; `none` if it has none. */
static uint64_t behind_ones(uint64_t word, uint64_t at, uint64_t none)
{
    return word == 0 ? none : at + 64 - (unsigned)__builtin_clzll(word);
}

/* The pairs [*begin, *end) of the n-th domain of the group. */
static bool find_domain(const struct group *g, unsigned n, uint64_t *begin, uint64_t *end)
{
    unsigned left = n; /* ends to pass */

    *begin = 0;
    for (uint64_t at = 0; at < g->pairs; at += 64) {
        uint64_t word = dx_bits_at(g->ends, at,
                                   g->pairs - at < 64 ? (unsigned)(g->pairs - at) : 64);
        unsigned some = word == 0 ? 0 : (unsigned)ones(word);

        if (left < some) {
            unsigned last = nth_one(word, left);

            *end = at + last + 1;
            *begin = behind_ones(word & dx_bits_mask(last), at, *begin);
            return true;
        }
        left -= some;
        *begin = behind_ones(word, at, *begin);
    }
    return false;
}

/* Of sixteen codes of four bits: how many are not 0, how many are 15. A flag a code is added up
 * by bytes, which holds all sixteen; the sum of the bytes is the highest byte of the product. */
static void count_codes(uint64_t codes, uint64_t *some, uint64_t *all)
{
    const uint64_t low = UINT64_C(0x1111111111111111);
    const uint64_t bytes = UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t any = (codes | codes >> 1 | codes >> 2 | codes >> 3) & low;
    uint64_t every = codes & codes >> 1 & codes >> 2 & codes >> 3 & low;

    *some += (((any + (any >> 4)) & bytes) * UINT64_C(0x0101010101010101)) >> 56;
    *all += (((every + (every >> 4)) & bytes) * UINT64_C(0x0101010101010101)) >> 56;
}

/* Of up to DX_BITS_LOAD bits, where 8 bytes can be read. */
static uint64_t load_bits(const uint8_t *row, uint64_t at, unsigned width)
{
    return dx_load_u64(row + at / 8) >> at % 8 & dx_bits_mask(width);
}

static unsigned code_of(const struct group *g, uint64_t pair)
{
    return g->codes.data[pair / 2] >> (4 * (pair & 1)) & 15u;
}

static void find_place(const struct dx_counts *c, const struct group *g, uint64_t pair,
                       struct place *p)
{
    uint64_t more = 0;

    *p = (struct place){ .pair = pair, .firsts = times_before(c, g, pair) };
    for (uint64_t at = 0; at < pair; at += 16)
        count_codes(dx_bits_at(g->codes, 4 * at, pair - at < 16 ? 4 * (unsigned)(pair - at) : 64),
                    &more, &p->beyond);
    if (c->times == DX_COUNTS_TIMES_ALL)
        p->lasts = more;
    for (uint64_t i = 0; c->times == DX_COUNTS_TIMES_SOME && i < pair; i++)
        p->lasts += code_of(g, i) != 0 && has_time(c, g, i);
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

static const char *read_counts(const struct group *g, struct place *p, struct dx_bytes *beyond,
                               struct dx_pair_count *pair)
{
    unsigned code = code_of(g, p->pair);
    uint64_t more;

    if (code != CODE_BEYOND) {
        pair->url_count = pair->row_count = code + 1;
        return NULL;
    }
    p->beyond++;
    pair->url_count = dx_bytes_varint(beyond) + 1;
    more = dx_bytes_varint(beyond);
    if (beyond->failed)
        return "is cut";
    if (pair->url_count == 0 || __builtin_add_overflow(pair->url_count, more, &pair->row_count))
        return "has a count over 64 bits";
    return pair->url_count <= CODE_BEYOND && more == 0 ? "has counts that its code could say"
                                                       : NULL;
}

static const char *read_times(const struct dx_counts *c, const struct group *g, struct place *p,
                              uint64_t firsts, struct dx_pair_count *pair)
{
    uint64_t at = p->firsts * c->first_bits;
    uint64_t span = 0;

    p->firsts++;
    if (pair->row_count > 1) {
        if (p->lasts >= g->lasts)
            return "has no last time";
        span = dx_bits_at(g->times, firsts * c->first_bits + p->lasts * c->last_bits, c->last_bits);
        p->lasts++;
    }
    if (!time_at(c->totals.ts_base, c->totals.ts_unit, dx_bits_at(g->times, at, c->first_bits),
                 &pair->first_us) ||
        !time_at(pair->first_us, c->totals.ts_unit, span, &pair->last_us))
        return "has a time over 64 bits";
    return NULL;
}

static bool zero_from(struct dx_span row, uint64_t at)
{
    return dx_bits_at(row, at, (unsigned)((uint64_t)row.size * 8 - at)) == 0;
}

/* Behind the last pair of a group: nothing may be left of any column. */
static const char *end_fault(const struct dx_counts *c, const struct group *g,
                             const struct place *p, const struct dx_bytes *beyond)
{
    if (p->lasts != g->lasts)
        return "has last times that no pair has";
    if (dx_bytes_left(beyond) != 0)
        return "has bytes behind its last pair";
    if (!zero_from(g->ends, g->pairs) || !zero_from(g->codes, 4 * g->pairs) ||
        (g->timed.size > 0 && !zero_from(g->timed, g->pairs)) ||
        !zero_from(g->times, p->firsts * c->first_bits + p->lasts * c->last_bits))
        return "has bits behind its last pair";
    return NULL;
}

/* The pairs from p on up to the first that is not plain: all have times, no count is beyond the codes, and no time is near the end of
 * its column. What is damaged is not plain either, and read again where the words for it are. p moves on. */
static struct dx_pair_count *read_plain_pairs(const struct dx_counts *c, const struct group *g,
                                              struct place *p, uint64_t firsts, uint64_t end,
                                              struct dx_pair_count *pairs)
{
    const uint64_t last_at = firsts * c->first_bits;
    const uint64_t unit = c->totals.ts_unit;
    const uint64_t room = (uint64_t)INT64_MAX - (uint64_t)c->totals.ts_base;

    if (c->times != DX_COUNTS_TIMES_ALL || c->first_bits > DX_BITS_LOAD ||
        c->last_bits > DX_BITS_LOAD || g->times.size < 8)
        return pairs;
    for (; p->pair < end; p->pair++, pairs++) {
        unsigned code = code_of(g, p->pair);
        uint64_t at = p->firsts * c->first_bits;
        uint64_t distance;
        uint64_t span = 0;

        if (code == CODE_BEYOND || at / 8 > g->times.size - 8 ||
            __builtin_mul_overflow(load_bits(g->times.data, at, c->first_bits), unit, &distance) ||
            distance > room)
            break;
        if (code > 0) {
            at = last_at + p->lasts * c->last_bits;
            if (p->lasts >= g->lasts || at / 8 > g->times.size - 8 ||
                __builtin_mul_overflow(load_bits(g->times.data, at, c->last_bits), unit, &span) ||
                span > room - distance)
                break;
            p->lasts++;
        }
        p->firsts++;
        pairs->url_count = pairs->row_count = code + 1;
        pairs->has_ts = true;
        pairs->first_us = (int64_t)((uint64_t)c->totals.ts_base + distance);
        pairs->last_us = (int64_t)((uint64_t)c->totals.ts_base + distance + span);
    }
    return pairs;
}

/* Pairs [begin, end) of the group. */
static const char *read_pairs(const struct dx_counts *c, const struct group *g, uint64_t begin,
                              uint64_t end, struct dx_pair_count *pairs)
{
    struct dx_bytes beyond = dx_bytes_of(g->beyond);
    uint64_t firsts = times_before(c, g, g->pairs);
    struct place p;

    find_place(c, g, begin, &p);
    for (uint64_t i = 0; i < 2 * p.beyond && !beyond.failed; i++)
        (void)dx_bytes_varint(&beyond);
    if (beyond.failed)
        return "is cut";
    pairs = read_plain_pairs(c, g, &p, firsts, end, pairs);
    while (p.pair < end) {
        const char *why;

        *pairs = (struct dx_pair_count){ .has_ts = has_time(c, g, p.pair) };
        why = read_counts(g, &p, &beyond, pairs);
        if (why == NULL && pairs->has_ts)
            why = read_times(c, g, &p, firsts, pairs);
        if (why != NULL)
            return why;
        p.pair++;
        pairs = read_plain_pairs(c, g, &p, firsts, end, pairs + 1);
    }
    return end == g->pairs ? end_fault(c, g, &p, &beyond) : NULL;
}

/* The domain's pairs within its group; the last domain has the last pair. */
static int find_pairs(const struct dx_counts *c, uint64_t ordinal, struct group *g, uint64_t *begin,
                      uint64_t *end, struct dx_error *err)
{
    int rc = open_group(c, ordinal, g, err);
    bool last = ordinal % DX_COUNTS_GROUP == DX_COUNTS_GROUP - 1 ||
                ordinal + 1 == c->totals.domains;

    if (rc < 0)
        return rc;
    if (!find_domain(g, (unsigned)(ordinal % DX_COUNTS_GROUP), begin, end) ||
        last != (*end == g->pairs))
        return group_corrupt(c, g, ordinal, "has pairs of another number of domains", err);
    return DX_OK;
}

int dx_counts_get(const struct dx_counts *c, uint64_t ordinal, uint32_t datasets,
                  struct dx_pair_count *pairs, struct dx_error *err)
{
    struct group g;
    const char *why;
    uint64_t begin;
    uint64_t end;
    int rc = find_pairs(c, ordinal, &g, &begin, &end, err);

    if (rc < 0)
        return rc;
    if (end - begin != datasets)
        return dx_envelope_corrupt(&c->envelope, TAG_DATA, g.bytes.data, err,
                                   "domain %" PRIu64 " has %" PRIu64 " pairs, its set %" PRIu32
                                   " datasets",
                                   ordinal, end - begin, datasets);
    why = read_pairs(c, &g, begin, end, pairs);
    return why == NULL ? 1 : group_corrupt(c, &g, ordinal, why, err);
}

int dx_counts_one(const struct dx_counts *c, uint64_t ordinal, uint32_t rank,
                  struct dx_pair_count *pair, struct dx_error *err)
{
    struct group g;
    const char *why;
    uint64_t begin;
    uint64_t end;
    int rc = find_pairs(c, ordinal, &g, &begin, &end, err);

    if (rc < 0)
        return rc;
    if (rank >= end - begin)
        return dx_envelope_corrupt(&c->envelope, TAG_DATA, g.bytes.data, err,
                                   "domain %" PRIu64 " has %" PRIu64 " pairs, and no pair %" PRIu32,
                                   ordinal, end - begin, rank);
    why = read_pairs(c, &g, begin + rank, begin + rank + 1, pair);
    return why == NULL ? 1 : group_corrupt(c, &g, ordinal, why, err);
}

/* How many of the domains whose pairs end in [0, end) have several: their last pair follows one of
 * their own. */
static uint64_t several_before(const struct group *g, uint64_t end)
{
    uint64_t before = 1; /* whether the pair before is the last of its domain */
    uint64_t several = 0;

    for (uint64_t at = 0; at < end; at += 64) {
        uint64_t ends = dx_bits_at(g->ends, at, end - at < 64 ? (unsigned)(end - at) : 64);

        several += ones(ends & ~(ends << 1 | before));
        before = ends >> 63;
    }
    return several;
}

int dx_counts_distinct(const struct dx_counts *c, uint64_t ordinal, uint64_t *less, bool *dense,
                       struct dx_error *err)
{
    struct group g;
    struct dx_bytes column;
    uint64_t begin;
    uint64_t end;
    uint64_t number;
    int rc = find_pairs(c, ordinal, &g, &begin, &end, err);

    *less = 0;
    *dense = false;
    if (rc < 0)
        return rc;
    if (end - begin == 1)
        return 1;
    column = dx_bytes_of(g.distinct);
    for (uint64_t skip = several_before(&g, begin); skip > 0 && !column.failed; skip--)
        (void)dx_bytes_varint(&column);
    number = dx_bytes_varint(&column);
    if (column.failed)
        return group_corrupt(c, &g, ordinal, "has no number of distinct URLs", err);
    if (end == g.pairs && dx_bytes_left(&column) != 0)
        return group_corrupt(c, &g, ordinal, "has numbers of distinct URLs of no domain", err);
    *less = number >> 1;
    *dense = (number & 1) != 0;
    return 1;
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

static void add_times(struct dx_counts_totals *t, const struct dx_pair_count *p)
{
    uint64_t span = (uint64_t)p->last_us - (uint64_t)p->first_us;

    assert(p->first_us <= p->last_us);
    if (t->timed == 0 || p->first_us > t->first_max)
        t->first_max = p->first_us;
    if (span > t->span_max)
        t->span_max = span;
    t->timed++;
    add_time(t, p->first_us);
    if (span > 0)
        add_time(t, p->last_us);
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
        if (p->has_ts && p->row_count == 1 && p->last_us != p->first_us)
            return dx_fail(err, DX_E_INVALID,
                           "counts: domain %" PRIu64 ", pair %zu: one row with two times",
                           t->domains, i);
        if (__builtin_add_overflow(t->row_count, p->row_count, &t->row_count) ||
            __builtin_add_overflow(t->url_count, p->url_count, &t->url_count))
            return dx_fail(err, DX_E_LIMIT, "counts: sums go over 64 bits");
        if (p->has_ts)
            add_times(t, p);
    }
    t->pairs += n;
    t->domains++;
    return DX_OK;
}

/* ---- writing ---- */

static void plan_times(struct dx_counts_writer *w)
{
    const struct dx_counts_totals *t = &w->want;
    uint64_t range = (uint64_t)t->first_max - (uint64_t)t->ts_base;

    assert(t->ts_unit > 0);
    w->times = t->timed == 0          ? DX_COUNTS_TIMES_NONE
               : t->timed == t->pairs ? DX_COUNTS_TIMES_ALL
                                      : DX_COUNTS_TIMES_SOME;
    w->first_bits = t->timed == 0 ? 0 : dx_bits_of_number(range / t->ts_unit);
    w->last_bits = dx_bits_of_number(t->span_max / t->ts_unit);
}

int dx_counts_writer_begin(struct dx_counts_writer *w, const struct dx_counts_totals *totals,
                           const struct dx_build_id *build,
                           int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                           void *ctx, struct dx_error *err)
{
    struct dx_buf *b = &w->group;
    int rc;

    w->want = *totals;
    w->data_size = 0;
    plan_times(w);
    dx_counts_totals_init(&w->done);
    dx_buf_init(&w->anchors, SIZE_MAX / 2);
    dx_buf_init(&w->pairs, SIZE_MAX / 2);
    dx_buf_init(&w->ends, SIZE_MAX / 2);
    dx_buf_init(&w->distinct, SIZE_MAX / 2);
    w->distinct_bytes = 0;
    w->less = 0;
    w->dense = false;
    dx_buf_init(b, SIZE_MAX / 2);
    dx_envelope_writer_init(&w->envelope, DX_COUNTS_MAGIC, DX_COUNTS_VERSION, build, sink, ctx);
    dx_buf_u32(b, DX_COUNTS_MAGIC);
    dx_buf_u32(b, DX_COUNTS_VERSION);
    dx_buf_u64(b, totals->domains);
    dx_buf_u64(b, totals->pairs);
    dx_buf_u64(b, (uint64_t)totals->ts_base);
    dx_buf_u64(b, totals->ts_unit);
    dx_buf_u64(b, totals->row_count);
    dx_buf_u64(b, totals->url_count);
    dx_buf_u8(b, (uint8_t)w->times);
    dx_buf_u8(b, (uint8_t)w->first_bits);
    dx_buf_u8(b, (uint8_t)w->last_bits);
    dx_buf_zero(b, 5);
    rc = b->failed ? dx_buf_fail(b, err, "counts")
                   : dx_envelope_writer_header(&w->envelope, dx_span_of(b->data, b->size), err);
    if (rc >= 0)
        rc = dx_envelope_writer_section(&w->envelope, TAG_DATA, err);
    return rc;
}

/* Its first time as units behind the base, and its last as units behind the first. DX_E_INVALID if one is not on the grid of
 * the first pass. */
static int count_units(const struct dx_counts_writer *w, struct dx_pair_count *p,
                       struct dx_error *err)
{
    uint64_t unit = w->want.ts_unit;
    uint64_t first = (uint64_t)p->first_us - (uint64_t)w->want.ts_base;
    uint64_t length = (uint64_t)p->last_us - (uint64_t)p->first_us;
    uint64_t first_units = first / unit;
    uint64_t length_units = length == 0 ? 0 : length / unit;

    if (!w->want.has_ts || p->first_us < w->want.ts_base || p->first_us > w->want.first_max ||
        length > w->want.span_max || first_units * unit != first || length_units * unit != length)
        return dx_fail(err, DX_E_INVALID,
                       "counts: domain %" PRIu64 " has a time that the first pass did not see",
                       w->done.domains);
    p->first_us = (int64_t)first_units;
    p->last_us = (int64_t)length_units;
    return DX_OK;
}

/* The pairs of a domain behind those of the group, with times in units. */
static int append_pairs(struct dx_counts_writer *w, const struct dx_pair_count *pairs, size_t n,
                        struct dx_error *err)
{
    struct dx_pair_count *to = (struct dx_pair_count *)(void *)dx_buf_reserve(&w->pairs,
                                                                              n * sizeof *pairs);
    int rc = DX_OK;

    if (to == NULL)
        return dx_no_memory(err, "counts");
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        to[i] = pairs[i];
        rc = to[i].has_ts ? count_units(w, &to[i], err) : DX_OK;
    }
    w->pairs.size += n * sizeof *pairs;
    assert(w->pairs.size <= w->pairs.capacity);
    return rc;
}

static void append_anchor(struct dx_counts_writer *w)
{
    dx_buf_u32(&w->anchors, (uint32_t)w->data_size);
    dx_buf_u8(&w->anchors, (uint8_t)(w->data_size >> 32));
}

static bool is_beyond(const struct dx_pair_count *p)
{
    return p->url_count > CODE_BEYOND || p->row_count != p->url_count;
}

static bool has_last(const struct dx_pair_count *p)
{
    return p->has_ts && p->row_count > 1;
}

static void append_times(const struct dx_counts_writer *w, struct dx_bits_out *bits,
                         const struct dx_pair_count *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i].has_ts)
            dx_bits_put(bits, (uint64_t)p[i].first_us, w->first_bits);
    for (size_t i = 0; i < n; i++)
        if (has_last(&p[i]))
            dx_bits_put(bits, (uint64_t)p[i].last_us, w->last_bits);
    dx_bits_flush(bits);
}

static void append_group(struct dx_counts_writer *w, const struct dx_pair_count *p, size_t n)
{
    struct dx_bits_out bits = { .to = &w->group };
    uint64_t lasts = 0;

    for (size_t i = 0; i < n; i++)
        lasts += has_last(&p[i]);
    dx_buf_clear(&w->group);
    dx_buf_varint(&w->group, n);
    dx_buf_varint(&w->group, lasts);
    dx_buf_varint(&w->group, w->distinct.size);
    for (size_t i = 0; i < n; i++)
        dx_bits_put(&bits, w->ends.data[i], 1);
    dx_bits_flush(&bits);
    for (size_t i = 0; i < n; i++)
        dx_bits_put(&bits, is_beyond(&p[i]) ? CODE_BEYOND : p[i].url_count - 1, 4);
    dx_bits_flush(&bits);
    for (size_t i = 0; w->times == DX_COUNTS_TIMES_SOME && i < n; i++)
        dx_bits_put(&bits, p[i].has_ts, 1);
    dx_bits_flush(&bits);
    append_times(w, &bits, p, n);
    for (size_t i = 0; i < n; i++) {
        if (!is_beyond(&p[i]))
            continue;
        dx_buf_varint(&w->group, p[i].url_count - 1);
        dx_buf_varint(&w->group, p[i].row_count - p[i].url_count);
    }
    dx_buf_append(&w->group, w->distinct.data, w->distinct.size);
}

static int close_group(struct dx_counts_writer *w, struct dx_error *err)
{
    if (w->ends.size == 0)
        return DX_OK;
    append_anchor(w);
    append_group(w, (const struct dx_pair_count *)(const void *)w->pairs.data, w->ends.size);
    dx_buf_clear(&w->pairs);
    dx_buf_clear(&w->ends);
    w->distinct_bytes += w->distinct.size;
    dx_buf_clear(&w->distinct);
    if (w->anchors.failed || w->group.failed)
        return dx_no_memory(err, "counts");
    w->data_size += w->group.size;
    if (w->data_size > OFFSET_MAX)
        return dx_fail(err, DX_E_LIMIT, "counts: over 2^40 bytes");
    return dx_envelope_writer_append(&w->envelope, dx_span_of(w->group.data, w->group.size), err);
}

void dx_counts_writer_distinct(struct dx_counts_writer *w, uint64_t less, bool dense)
{
    w->less = less;
    w->dense = dense;
}

/* The number of distinct URLs can be no smaller than the largest of the counts. */
static int add_distinct(struct dx_counts_writer *w, const struct dx_pair_count *pairs, size_t n,
                        struct dx_error *err)
{
    uint64_t largest = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += pairs[i].url_count;
        if (pairs[i].url_count > largest)
            largest = pairs[i].url_count;
    }
    if (w->less > sum - largest || w->less > UINT64_MAX / 2 || (n == 1 && w->dense))
        return dx_fail(err, DX_E_INVALID,
                       "counts: domain %" PRIu64 " has %" PRIu64
                       " URLs in %zu datasets, at most %" PRIu64 " in one: it cannot have %" PRIu64
                       " less",
                       w->done.domains, sum, n, largest, w->less);
    if (n > 1)
        dx_buf_varint(&w->distinct, w->less << 1 | w->dense);
    dx_counts_writer_distinct(w, 0, false);
    return w->distinct.failed ? dx_buf_fail(&w->distinct, err, "counts") : DX_OK;
}

int dx_counts_writer_add(struct dx_counts_writer *w, const struct dx_pair_count *pairs, size_t n,
                         struct dx_error *err)
{
    int rc = append_pairs(w, pairs, n, err);

    if (rc >= 0)
        rc = add_distinct(w, pairs, n, err);
    if (rc >= 0)
        rc = dx_counts_totals_add(&w->done, pairs, n, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n; i++)
        dx_buf_u8(&w->ends, i + 1 == n);
    if (w->ends.failed)
        return dx_no_memory(err, "counts");
    return w->done.domains % DX_COUNTS_GROUP == 0 ? close_group(w, err) : DX_OK;
}

int dx_counts_writer_end(struct dx_counts_writer *w, struct dx_error *err)
{
    const struct dx_counts_totals *a = &w->want;
    const struct dx_counts_totals *b = &w->done;
    int rc;

    if (a->domains != b->domains || a->pairs != b->pairs || a->row_count != b->row_count ||
        a->url_count != b->url_count || a->ts_base != b->ts_base || a->ts_unit != b->ts_unit ||
        a->timed != b->timed || a->first_max != b->first_max || a->span_max != b->span_max)
        return dx_fail(err, DX_E_INVALID,
                       "counts: the second pass had %" PRIu64 " domains and %" PRIu64
                       " pairs, the first %" PRIu64 " and %" PRIu64 ", or other times",
                       b->domains, b->pairs, a->domains, a->pairs);
    rc = close_group(w, err);
    if (rc < 0)
        return rc;
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
    dx_buf_release(&w->pairs);
    dx_buf_release(&w->ends);
    dx_buf_release(&w->distinct);
    dx_buf_release(&w->group);
}
