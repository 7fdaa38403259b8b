/* SPDX-License-Identifier: Apache-2.0
 * Posting lists: round trips, every flip and cut, lists of another pair or build.
 */
#include "format/envelope.h"
#include "format/payload.h"
#include "tests/support/damage.h"

#define RUNS 40

static int failures;
static const struct dx_build_id build = { { 9, 8, 7 } };

struct model {
    struct dx_run runs[RUNS];
    size_t count;
    unsigned flags;
};

static void make_runs(struct model *m, uint64_t *seed)
{
    struct dx_run r = { .row_count = 1 };

    m->count = 1 + random_below(seed, RUNS);
    for (size_t i = 0; i < m->count; i++) {
        switch (random_below(seed, 3)) {
        case 0:
            r.file_id += 1 + (uint32_t)random_below(seed, 1000);
            r.row_group = (uint32_t)random_below(seed, 1000);
            r.first_row = random_below(seed, UINT64_C(1) << random_below(seed, 50));
            break;
        case 1:
            r.row_group += 1 + (uint32_t)random_below(seed, 3);
            r.first_row = 0;
            break;
        default:
            r.first_row += r.row_count + random_below(seed, 2);
        }
        r.row_count = 1 + random_below(seed, UINT64_C(1) << random_below(seed, 50));
        m->runs[i] = r;
    }
}

static enum verdict try_payload(void *ctx, struct dx_span s)
{
    const struct model *m = ctx;
    struct dx_payload p;
    struct dx_run run;
    uint64_t rows = 0;
    size_t n = 0;

    if (dx_payload_open(&p, &build, 77, 5, s, m->flags, "p", NULL) < 0)
        return REFUSED;
    for (; dx_payload_next(&p, &run) == 1; n++) {
        rows += run.row_count;
        if ((m->flags & DX_OPEN_UNCHECKED) == 0 &&
            (n >= m->count || memcmp(&run, &m->runs[n], sizeof run) != 0))
            return WRONG_ANSWER;
    }
    return rows == p.rows && n == p.runs && (n == m->count || (m->flags & DX_OPEN_UNCHECKED) != 0)
               ? SAME_ANSWERS
               : WRONG_ANSWER;
}

static void test_rounds(void)
{
    uint64_t seed = 1;

    for (int i = 0; i < 200; i++) {
        struct dx_buf b = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_payload p;
        struct model m = { .flags = 0 };
        struct damaged d;
        struct verdicts v;

        make_runs(&m, &seed);
        EXPECT(dx_payload_encode(&build, 77, 5, m.runs, m.count, &b, &err) == DX_OK, "%s",
               err.text);
        d = damaged_copy(dx_span_of(b.data, b.size));
        EXPECT(try_payload(&m, dx_span_of(d.bytes, d.size)) == SAME_ANSWERS, "list %d", i);
        v = damaged_flips(&d, 0, d.size, 1, try_payload, &m);
        EXPECT(v.count[REFUSED] == d.size * 8, "list %d", i);
        v = damaged_cuts(&d, try_payload, &m);
        EXPECT(v.count[REFUSED] == d.size, "list %d", i);
        m.flags = DX_OPEN_UNCHECKED;
        v = damaged_flips(&d, 0, d.size, 1, try_payload, &m);
        EXPECT(v.count[WRONG_ANSWER] == 0, "list %d: totals", i);
        EXPECT(dx_payload_open(&p, &build, 78, 5, dx_span_of(b.data, b.size), 0, "p", &err) < 0,
               "another domain");
        EXPECT(dx_payload_open(&p, &build, 77, 6, dx_span_of(b.data, b.size), 0, "p", &err) < 0,
               "another dataset");
        EXPECT(dx_payload_open(&p, &(struct dx_build_id){ { 1 } }, 77, 5,
                               dx_span_of(b.data, b.size), 0, "p", &err) < 0,
               "another build");
        damaged_free(&d);
        dx_buf_release(&b);
    }
}

/* Files in any order, each in one place: few of them and many. */
static void test_order_of_files(void)
{
    enum { MOST = 300 };
    struct dx_run runs[MOST];

    for (size_t files = 2; files <= MOST; files += files < 70 ? 1 : 46) {
        struct dx_buf b = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_payload p;
        struct dx_run run;

        for (size_t i = 0; i < files; i++)
            runs[i] = (struct dx_run){ (uint32_t)(i * 7919 % 1009), 0, i, 1 };
        EXPECT(dx_payload_encode(&build, 1, 1, runs, files, &b, &err) == DX_OK, "%s", err.text);
        EXPECT(dx_payload_open(&p, &build, 1, 1, dx_span_of(b.data, b.size), 0, "p", &err) == DX_OK,
               "%s", err.text);
        for (size_t i = 0; i < files && dx_payload_next(&p, &run) == 1; i++)
            EXPECT(run.file_id == runs[i].file_id, "%zu files, run %zu", files, i);
        dx_buf_clear(&b);
        runs[files - 1].file_id = runs[0].file_id; /* comes back at the end */
        if (files > 2)
            EXPECT(dx_payload_encode(&build, 1, 1, runs, files, &b, &err) == DX_E_INVALID &&
                       strstr(err.text, "comes back") != NULL,
                   "%zu files: %s", files, err.text);
        dx_buf_release(&b);
    }
}

static void test_refused(void)
{
    static const struct {
        struct dx_run runs[3];
        size_t count;
        const char *say;
    } rows[] = {
        { { { 0, 0, 0, 1 } }, 0, "without rows" },
        { { { 0, 0, 0, 0 } }, 1, "is empty" },
        { { { 0, 0, UINT64_MAX, 1 } }, 1, "beyond 64 bits" },
        { { { 0, 0, 0, UINT64_MAX }, { 1, 0, 0, 1 } }, 2, "rows over 64 bits" },
        { { { 1, 1, 0, 1 }, { 1, 0, 0, 1 } }, 2, "behind the run" },
        { { { 1, 1, 0, 3 }, { 1, 1, 2, 1 } }, 2, "behind the run" },
        { { { 1, 0, 0, 1 }, { 0, 0, 0, 1 }, { 1, 0, 5, 1 } }, 3, "comes back" },
        { { { 1, 0, 0, 1 }, { 2, 0, 0, 1 }, { 1, 1, 0, 1 } }, 3, "comes back" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf b = DX_BUF_INIT(1000);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_payload p;

        EXPECT(dx_payload_encode(&build, 1, 1, rows[i].runs, rows[i].count, &b, &err) < 0 &&
                   strstr(err.text, rows[i].say) != NULL,
               "row %zu: '%s'", i, err.text);
        dx_buf_clear(&b);
        dx_buf_u32(&b, 0);
        for (size_t k = 0; k < rows[i].count; k++) {
            dx_buf_varint(&b, rows[i].runs[k].file_id);
            dx_buf_varint(&b, rows[i].runs[k].row_group);
            dx_buf_varint(&b, rows[i].runs[k].first_row);
            dx_buf_varint(&b, rows[i].runs[k].row_count);
        }
        EXPECT(dx_payload_open(&p, &build, 1, 1, dx_span_of(b.data, b.size), DX_OPEN_UNCHECKED, "p",
                               &err) < 0 &&
                   (rows[i].count == 0 || strstr(err.text, rows[i].say) != NULL),
               "row %zu: '%s'", i, err.text);
        dx_buf_release(&b);
    }
}

int main(void)
{
    test_rounds();
    test_order_of_files();
    test_refused();
    return failures > 0;
}
