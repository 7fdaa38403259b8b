/* SPDX-License-Identifier: Apache-2.0
 * domain_counts.dxc: round trips with extremes, every flip and cut, each section damaged with its
 * sums made true again.
 */
#include "format/core/counts.h"
#include "tests/support/damage.h"

#define DOMAINS 100
#define PAIRS 24

static int failures;

struct model {
    size_t count[DOMAINS];
    struct dx_pair_count pairs[DOMAINS][PAIRS];
    uint64_t less[DOMAINS];
    bool dense[DOMAINS];
    unsigned flags;
};

static bool equal(const struct dx_pair_count *a, const struct dx_pair_count *b)
{
    return a->url_count == b->url_count && a->row_count == b->row_count && a->has_ts == b->has_ts &&
           a->first_us == b->first_us && a->last_us == b->last_us;
}

enum kind { SOME_TIMES, EXTREMES, ALL_TIMES, NO_TIMES, KINDS };

/* The sum of a domain's counts less the largest. */
static uint64_t most_less(const struct model *m, size_t domain)
{
    uint64_t largest = 0;
    uint64_t sum = 0;

    for (size_t k = 0; k < m->count[domain]; k++) {
        uint64_t n = m->pairs[domain][k].url_count;

        sum += n;
        largest = n > largest ? n : largest;
    }
    return sum - largest;
}

static void make_model(struct model *m, enum kind kind)
{
    bool extreme = kind == EXTREMES;
    uint64_t seed = extreme ? 11 : 5;
    uint64_t distinct_seed = 3;

    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < DOMAINS; i++) {
        m->count[i] = i == 50 ? PAIRS : 1 + random_below(&seed, 4);
        for (size_t k = 0; k < m->count[i]; k++) {
            struct dx_pair_count *p = &m->pairs[i][k];

            p->url_count = 1 + random_below(&seed, 1u << random_below(&seed, 20));
            p->row_count = p->url_count + random_below(&seed, 3);
            p->has_ts = kind == ALL_TIMES || (kind != NO_TIMES && random_below(&seed, 3) != 0);
            if (!p->has_ts)
                continue;
            p->first_us = (int64_t)(1200000000 + random_below(&seed, 1000000000)) * 1000000;
            p->last_us = p->first_us;
            if (p->row_count > 1)
                p->last_us += (int64_t)random_below(&seed, 1000) * 60000000;
        }
    }
    for (size_t i = 0; i < DOMAINS; i++) {
        if (m->count[i] == 1 || random_below(&distinct_seed, 3) == 0)
            continue;
        m->less[i] = random_below(&distinct_seed, most_less(m, i) + 1);
        m->dense[i] = random_below(&distinct_seed, 2) != 0;
    }
    if (!extreme)
        return;
    m->less[3] = m->less[4] = 0;
    m->pairs[3][0] = (struct dx_pair_count){ INT64_MAX, (uint64_t)INT64_MAX + 7, true, INT64_MIN,
                                             INT64_MAX };
    m->pairs[4][0] = (struct dx_pair_count){ 1, UINT64_C(1) << 61, true, INT64_MAX, INT64_MAX };
}

static void build(const struct model *m, struct dx_buf *out)
{
    struct dx_build_id id = { { 1 } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_counts_totals t;
    struct dx_counts_writer w;
    int rc = 0;

    dx_counts_totals_init(&t);
    for (size_t i = 0; i < DOMAINS && rc >= 0; i++)
        rc = dx_counts_totals_add(&t, m->pairs[i], m->count[i], &err);
    EXPECT(rc >= 0, "%s", err.text);
    rc = dx_counts_writer_begin(&w, &t, &id, dx_envelope_sink_buf, out, &err);
    for (size_t i = 0; i < DOMAINS && rc >= 0; i++) {
        EXPECT(dx_counts_writer_end(&w, NULL) < 0, "%zu domains of %d", i, DOMAINS);
        if (m->less[i] != 0 || m->dense[i])
            dx_counts_writer_distinct(&w, m->less[i], m->dense[i]);
        rc = dx_counts_writer_add(&w, m->pairs[i], m->count[i], &err);
    }
    if (rc >= 0)
        rc = dx_counts_writer_end(&w, &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_counts_writer_release(&w);
}

static enum verdict try_file(void *ctx, struct dx_span file)
{
    const struct model *m = ctx;
    struct dx_counts c;
    enum verdict v = SAME_ANSWERS;

    if (dx_counts_open(&c, file, m->flags, "c.dxc", NULL) < 0)
        return REFUSED;
    for (uint64_t i = 0; i < DOMAINS; i++) {
        uint32_t last = (uint32_t)m->count[i] - 1;
        struct dx_pair_count got[PAIRS];
        struct dx_pair_count one;
        uint64_t less;
        bool dense;

        if (dx_counts_get(&c, i, last + 1, got, NULL) < 0 ||
            dx_counts_one(&c, i, last, &one, NULL) < 0 ||
            dx_counts_distinct(&c, i, &less, &dense, NULL) < 0) {
            if (v == SAME_ANSWERS)
                v = REFUSED;
            continue;
        }
        for (size_t k = 0; k <= last; k++)
            if (!equal(&got[k], &m->pairs[i][k]))
                v = WRONG_ANSWER;
        if (!equal(&one, &m->pairs[i][last]) || less != m->less[i] || dense != m->dense[i])
            v = WRONG_ANSWER;
    }
    dx_counts_close(&c);
    return (m->flags & DX_OPEN_UNCHECKED) != 0 ? REFUSED : v;
}

static void test_damage(struct model *m, const struct dx_buf *file)
{
    struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
    struct verdicts v;

    v = damaged_flips(&d, 0, d.size, 1, try_file, m);
    EXPECT(v.count[WRONG_ANSWER] == 0, "lazy: %zu wrong", v.count[WRONG_ANSWER]);
    m->flags = DX_OPEN_VERIFY_ALL;
    v = damaged_flips(&d, 0, d.size, 1, try_file, m);
    EXPECT(v.count[REFUSED] == v.all, "verify: %zu not refused", v.all - v.count[REFUSED]);
    v = damaged_cuts(&d, try_file, m);
    EXPECT(v.count[REFUSED] == d.size, "cuts");
    m->flags = DX_OPEN_UNCHECKED;
    (void)damaged_flips(&d, 0, d.size, 1, try_file, m); /* the sanitizers judge */
    m->flags = 0;
    printf("%zu bytes, %zu flips\n", d.size, d.size * 8);
    damaged_free(&d);
}

static void test_sections(const struct model *m, const struct dx_buf *file)
{
    static const struct {
        const char *tag;
        size_t at;
        uint8_t value;
        const char *say;
    } rows[] = {
        { NULL, 1, 'x', "does not begin" },
        { NULL, 4, 2, "version" },
        { NULL, 8, 3, "ANCH" },
        { NULL, 23, 0xff, "do not ascend" },
        { NULL, 32, 0, "ts_unit" },
        { NULL, 47, 0xff, NULL },
        { NULL, 56, 3, "unknown kind" },
        { NULL, 56, 0, "width" },
        { NULL, 57, 65, "width" },
        { NULL, 58, 65, "width" },
        { NULL, 59, 1, "reserved" },
        { NULL, 63, 1, "reserved" },
        { "ANCH", 4, 0xff, "is not within DATA" },
        { "ANCH", 5, 0xff, "DATA" },
        { "DATA", 0, 0, "does not fit its bytes" },
        { "DATA", 0, 0x7f, "group 0" },
        { "DATA", 1, 0x7f, "does not fit its bytes" },
        { "DATA", 1, 0, "group 0" },
        { "DATA", 2, 0x7f, "is cut" },
        { "DATA", 2, 1, "behind its last pair" },
        { "DATA", 3, 0, "its set" },
        { "DATA", 3, 0xff, "DATA" },
        { NULL, 31, 0x7f, "time over 64 bits" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_pair_count pairs[PAIRS];
        struct dx_counts c;
        uint64_t size;
        uint8_t *at = rows[i].tag == NULL ? d.bytes
                                          : envelope_find(d.bytes, d.size, rows[i].tag, &size);
        int rc;

        at[rows[i].at] = rows[i].value;
        if (rows[i].at == 32)
            memset(at + 32, 0, 8);
        if (rows[i].at == 31)
            memset(at + 24, 0xff, 7);
        envelope_resum(d.bytes, d.size);
        rc = dx_counts_open(&c, dx_span_of(d.bytes, d.size), 0, "c.dxc", &err);
        for (uint64_t k = 0; rc >= 0 && k < DOMAINS; k++)
            rc = dx_counts_get(&c, k, (uint32_t)m->count[k], pairs, &err);
        if (rows[i].say != NULL)
            EXPECT(rc < 0 && strstr(err.text, rows[i].say) != NULL, "row %zu (%s): rc %d, '%s'", i,
                   rows[i].say, rc, err.text);
        dx_counts_close(&c);
        damaged_free(&d);
    }
}

static void test_wrong_size(const struct model *m, const struct dx_buf *file)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pair_count pairs[PAIRS + 1];
    struct dx_counts c;

    EXPECT(dx_counts_open(&c, dx_span_of(file->data, file->size), 0, "c", &err) == DX_OK, "%s",
           err.text);
    EXPECT(c.totals.domains == DOMAINS, "%u", (unsigned)c.totals.domains);
    EXPECT(dx_counts_get(&c, 50, PAIRS + 1, pairs, &err) == DX_E_CORRUPT, "one too many");
    EXPECT(dx_counts_get(&c, 50, PAIRS - 1, pairs, &err) == DX_E_CORRUPT, "one too few");
    EXPECT(dx_counts_one(&c, 50, PAIRS, pairs, &err) == DX_E_CORRUPT, "beyond");
    EXPECT(dx_counts_get(&c, DOMAINS, 1, pairs, &err) == DX_E_INVALID, "no such domain");
    EXPECT(dx_counts_get(&c, 50, (uint32_t)m->count[50], pairs, &err) == 1, "%s", err.text);
    dx_counts_close(&c);
}

/* Column by column of two domains: {1, 1} and {1}; the byte that says how long the last column is,
 * the bits of ends, and the column itself are changed so that it does not fit the domains. */
static void test_distinct(void)
{
    static const struct {
        size_t at;
        uint8_t value;
        int rc;
        uint64_t less;
        bool dense;
        const char *say;
    } rows[] = {
        { 0, 3, 1, 1, false, NULL }, /* as it is */
        { 6, 2 << 1 | 1, 1, 2, true, NULL },
        { 6, 0x80, DX_E_CORRUPT, 0, false, "no number of distinct" },
        { 2, 0, DX_E_CORRUPT, 0, false, "no number of distinct" },
        { 3, 7, 1, 0, false, NULL }, /* three domains, then: the first has one pair */
    };
    const struct dx_pair_count pairs[] = { { 1, 1, false, 0, 0 }, { 1, 1, false, 0, 0 } };
    struct dx_build_id id = { { 1 } };
    struct dx_buf file = DX_BUF_INIT(1 << 16);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_counts_totals t;
    struct dx_counts_writer w;

    dx_counts_totals_init(&t);
    EXPECT(dx_counts_totals_add(&t, pairs, 2, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_counts_totals_add(&t, pairs, 1, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_counts_writer_begin(&w, &t, &id, dx_envelope_sink_buf, &file, &err) == DX_OK, "%s",
           err.text);
    dx_counts_writer_distinct(&w, 2, false);
    EXPECT(dx_counts_writer_add(&w, pairs, 2, &err) == DX_E_INVALID, "less than the largest");
    dx_counts_writer_distinct(&w, 1, false);
    EXPECT(dx_counts_writer_add(&w, pairs, 2, &err) == DX_OK, "%s", err.text);
    dx_counts_writer_distinct(&w, 0, true);
    EXPECT(dx_counts_writer_add(&w, pairs, 1, &err) == DX_E_INVALID, "one dataset, estimated");
    dx_counts_writer_distinct(&w, 0, false);
    EXPECT(dx_counts_writer_add(&w, pairs, 1, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_counts_writer_end(&w, &err) == DX_OK, "%s", err.text);
    dx_counts_writer_release(&w);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_of(file.data, file.size));
        uint64_t size;
        uint8_t *data = envelope_find(d.bytes, d.size, "DATA", &size);
        struct dx_counts c;
        uint64_t less = 99;
        bool dense = true;
        int rc;

        data[rows[i].at] = rows[i].value;
        envelope_resum(d.bytes, d.size);
        EXPECT(dx_counts_open(&c, dx_span_of(d.bytes, d.size), 0, "c.dxc", &err) == DX_OK, "%s",
               err.text);
        rc = dx_counts_distinct(&c, 0, &less, &dense, &err);
        EXPECT(rc == rows[i].rc && less == rows[i].less && dense == rows[i].dense,
               "row %zu: rc %d, %u less", i, rc, (unsigned)less);
        EXPECT(rows[i].say == NULL || strstr(err.text, rows[i].say) != NULL, "row %zu: %s", i,
               err.text);
        dx_counts_close(&c);
        damaged_free(&d);
    }
    dx_buf_release(&file);
}

/* Opened without a look at the last anchors, which are in another block than the header: the first question that
 * needs them is refused. */
static void test_far_anchor(void)
{
    enum { MANY = 60000 };
    static const struct dx_pair_count pair = { 1, 1, false, 0, 0 };
    const struct dx_build_id id = { { 1 } };
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_counts_totals t;
    struct dx_counts_writer w;
    struct dx_pair_count got;
    struct damaged d;
    struct dx_counts c;
    uint64_t size;
    uint8_t *anchors;
    int rc = DX_OK;

    dx_counts_totals_init(&t);
    for (unsigned i = 0; rc >= 0 && i < MANY; i++)
        rc = dx_counts_totals_add(&t, &pair, 1, &err);
    if (rc >= 0)
        rc = dx_counts_writer_begin(&w, &t, &id, dx_envelope_sink_buf, &file, &err);
    for (unsigned i = 0; rc >= 0 && i < MANY; i++)
        rc = dx_counts_writer_add(&w, &pair, 1, &err);
    if (rc >= 0)
        rc = dx_counts_writer_end(&w, &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_counts_writer_release(&w);
    d = damaged_copy(dx_span_of(file.data, file.size));
    anchors = envelope_find(d.bytes, d.size, "ANCH", &size);
    anchors[size - 1] ^= 1;
    EXPECT(size > 4096 && dx_counts_open(&c, dx_span_of(d.bytes, d.size), 0, "c.dxc", &err) >= 0,
           "%u bytes of anchors: %s", (unsigned)size, err.text);
    EXPECT(dx_counts_get(&c, 0, 1, &got, &err) == 1, "the first anchors: %s", err.text);
    rc = dx_counts_get(&c, MANY - 1, 1, &got, &err);
    EXPECT(rc == DX_E_CORRUPT && strstr(err.text, "checksum") != NULL, "the last: %d, %s", rc,
           err.text);
    dx_counts_close(&c);
    damaged_free(&d);
    dx_buf_release(&file);
}

static void test_refused_pairs(void)
{
    static const struct dx_pair_count rows[] = {
        { 0, 0, false, 0, 0 }, { 2, 1, false, 0, 0 },
        { 1, 1, true, 5, 4 },  { (uint64_t)INT64_MAX + 1, UINT64_MAX, false, 0, 0 },
        { 1, 1, true, 4, 5 },
    };
    struct dx_counts_totals t;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dx_counts_totals_init(&t);
        EXPECT(dx_counts_totals_add(&t, &rows[i], 1, NULL) < 0, "row %zu", i);
    }
    dx_counts_totals_init(&t);
    EXPECT(dx_counts_totals_add(&t, rows, 0, NULL) < 0, "no pairs");
}

/* The second pass must have what the first had: any other total, or a time beside the grid, ends it. */
static void test_other_passes(void)
{
    static const struct dx_pair_count first[2] = { { 4, 5, true, 1000000, 7000000 },
                                                   { 1, 1, true, 4000000, 4000000 } };
    static const struct {
        struct dx_pair_count one;
        const char *say; /* NULL: the same */
    } rows[] = {
        { { 4, 5, true, 1000000, 7000000 }, NULL },
        { { 4, 6, true, 1000000, 7000000 }, "the second pass had" },
        { { 3, 5, true, 1000000, 7000000 }, "the second pass had" },
        { { 4, 5, false, 0, 0 }, "the second pass had" },
        { { 4, 5, true, 4000000, 7000000 }, "the second pass had" },
        { { 4, 5, true, 1000000, 4000000 }, "the second pass had" },
        { { 4, 5, true, 1000000, 1000000 }, "the second pass had" },
        { { 4, 5, true, -2000000, 1000000 }, "a time that the first pass did not see" },
        { { 4, 5, true, 7000000, 7000000 }, "a time that the first pass did not see" },
        { { 4, 5, true, 1000000, 10000000 }, "a time that the first pass did not see" },
        { { 4, 5, true, 1000001, 7000001 }, "a time that the first pass did not see" },
        { { 4, 5, true, 1000000, 6999999 }, "a time that the first pass did not see" },
        { { 4, 3, false, 0, 0 }, "pair 0: 4 URLs in 3 rows" },
        { { 0, 3, false, 0, 0 }, "pair 0: 0 URLs in 3 rows" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_pair_count second[2] = { rows[i].one, first[1] };
        struct dx_build_id id = { { 1 } };
        struct dx_buf file = DX_BUF_INIT(1 << 16);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_counts_totals t;
        struct dx_counts_writer w;
        int rc;

        dx_counts_totals_init(&t);
        EXPECT(dx_counts_totals_add(&t, first, 2, &err) == DX_OK, "%s", err.text);
        EXPECT(dx_counts_writer_begin(&w, &t, &id, dx_envelope_sink_buf, &file, &err) == DX_OK,
               "%s", err.text);
        rc = dx_counts_writer_add(&w, second, 2, &err);
        if (rc >= 0)
            rc = dx_counts_writer_end(&w, &err);
        EXPECT(rows[i].say == NULL ? rc == DX_OK
                                   : rc == DX_E_INVALID && strstr(err.text, rows[i].say) != NULL,
               "row %zu: %d, %s", i, rc, err.text);
        dx_counts_writer_release(&w);
        dx_buf_release(&file);
    }
}

/* Another number of pairs; sums of over 64 bits; times where there were none. */
static void test_other_totals(void)
{
    const struct dx_pair_count pairs[2] = { { 1, 1, false, 0, 0 }, { 1, 1, false, 0, 0 } };
    const struct dx_pair_count timed = { 1, 1, true, 5, 5 };
    const struct dx_pair_count huge = { INT64_MAX, UINT64_MAX - 5, false, 0, 0 };
    const struct dx_pair_count many = { INT64_MAX, (uint64_t)INT64_MAX, false, 0, 0 };
    const struct dx_pair_count backwards = { 2, 2, true, 5, 4 }, twice = { 1, 1, true, 4, 5 };
    struct dx_build_id id = { { 1 } };
    struct dx_buf file = DX_BUF_INIT(1 << 16);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_counts_totals t;
    struct dx_counts_writer w;

    dx_counts_totals_init(&t);
    EXPECT(dx_counts_totals_add(&t, pairs, 2, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_counts_writer_begin(&w, &t, &id, dx_envelope_sink_buf, &file, &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_counts_writer_add(&w, &timed, 1, &err) == DX_E_INVALID &&
               strstr(err.text, "did not see") != NULL,
           "%s", err.text);
    dx_counts_writer_release(&w);
    dx_buf_clear(&file);
    EXPECT(dx_counts_writer_begin(&w, &t, &id, dx_envelope_sink_buf, &file, &err) == DX_OK &&
               dx_counts_writer_add(&w, pairs, 1, &err) == DX_OK &&
               dx_counts_writer_end(&w, &err) == DX_E_INVALID &&
               strstr(err.text, "1 pairs") != NULL,
           "%s", err.text);
    dx_counts_writer_release(&w);
    dx_buf_release(&file);
    EXPECT(dx_counts_totals_add(&t, &huge, 1, &err) == DX_OK &&
               dx_counts_totals_add(&t, &huge, 1, &err) == DX_E_LIMIT &&
               strstr(err.text, "over 64 bits") != NULL,
           "rows: %s", err.text);
    dx_counts_totals_init(&t);
    EXPECT(dx_counts_totals_add(&t, &many, 1, &err) == DX_OK &&
               dx_counts_totals_add(&t, &many, 1, &err) == DX_OK &&
               dx_counts_totals_add(&t, &many, 1, &err) == DX_E_LIMIT,
           "URLs: %s", err.text);
    EXPECT(dx_counts_totals_add(&t, pairs, 0, &err) == DX_E_INVALID &&
               strstr(err.text, "has no dataset") != NULL,
           "%s", err.text);
    EXPECT(dx_counts_totals_add(&t, &backwards, 1, &err) == DX_E_INVALID &&
               strstr(err.text, "before the first") != NULL,
           "%s", err.text);
    EXPECT(dx_counts_totals_add(&t, &twice, 1, &err) == DX_E_INVALID &&
               strstr(err.text, "one row with two times") != NULL,
           "%s", err.text);
}

int main(void)
{
    struct model *m = malloc(sizeof *m);

    test_other_passes();
    test_other_totals();
    for (int kind = 0; kind < KINDS; kind++) {
        struct dx_buf file = DX_BUF_INIT(1 << 20);

        make_model(m, (enum kind)kind);
        build(m, &file);
        EXPECT(try_file(m, dx_span_of(file.data, file.size)) == SAME_ANSWERS, "whole file");
        test_wrong_size(m, &file);
        if (kind == SOME_TIMES)
            test_sections(m, &file);
        test_damage(m, &file);
        dx_buf_release(&file);
    }
    test_distinct();
    test_far_anchor();
    test_refused_pairs();
    free(m);
    return failures > 0;
}
