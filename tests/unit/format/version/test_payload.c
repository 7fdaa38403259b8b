/* SPDX-License-Identifier: Apache-2.0
 * Posting lists: round trips, the bytes of docs/FORMAT.md, every flip and cut, and what is refused.
 */
#include "format/version/payload.h"
#include "tests/support/damage.h"

#define RUNS 40

static int failures;

struct model {
    struct dx_run runs[RUNS];
    size_t count;
    uint32_t first_file;
    bool damaged; /* any list will do whose totals are its own */
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

    if (dx_payload_open(&p, &(struct dx_payload_owner){ 77, 5, m->first_file }, s, "p", NULL) < 0)
        return REFUSED;
    for (; dx_payload_next(&p, &run) == 1; n++) {
        rows += run.row_count;
        if (!m->damaged && (n >= m->count || memcmp(&run, &m->runs[n], sizeof run) != 0))
            return WRONG_ANSWER;
    }
    return rows == p.rows && n == p.runs && (n == m->count || m->damaged) ? SAME_ANSWERS
                                                                          : WRONG_ANSWER;
}

static void test_rounds(void)
{
    uint64_t seed = 1;

    for (int i = 0; i < 200; i++) {
        struct dx_buf b = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        struct model m = { .damaged = false };
        struct damaged d;
        struct verdicts v;

        make_runs(&m, &seed);
        m.first_file = (uint32_t)random_below(&seed, m.runs[0].file_id + UINT64_C(1));
        EXPECT(dx_payload_encode(m.runs, m.count, m.first_file, &b, &err) == DX_OK, "%s", err.text);
        d = damaged_copy(dx_span_of(b.data, b.size));
        EXPECT(try_payload(&m, dx_span_of(d.bytes, d.size)) == SAME_ANSWERS, "list %d", i);
        m.damaged = true;
        v = damaged_flips(&d, 0, d.size, 1, try_payload, &m);
        EXPECT(v.count[WRONG_ANSWER] == 0, "list %d: totals", i);
        for (size_t n = 0; n < d.size; n++)
            EXPECT(try_payload(&m, dx_span_of(d.bytes, n)) != WRONG_ANSWER, "list %d: cut", i);
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
        const struct dx_payload_owner first = { 1, 1, 0 };
        struct dx_payload p;
        struct dx_run run;

        for (size_t i = 0; i < files; i++)
            runs[i] = (struct dx_run){ (uint32_t)(i * 7919 % 1009), 0, i, 1 };
        EXPECT(dx_payload_encode(runs, files, 0, &b, &err) == DX_OK, "%s", err.text);
        EXPECT(dx_payload_open(&p, &first, dx_span_of(b.data, b.size), "p", &err) == DX_OK, "%s",
               err.text);
        for (size_t i = 0; i < files && dx_payload_next(&p, &run) == 1; i++)
            EXPECT(run.file_id == runs[i].file_id, "%zu files, run %zu", files, i);
        dx_buf_clear(&b);
        runs[files - 1].file_id = runs[0].file_id; /* comes back at the end */
        if (files > 2)
            EXPECT(dx_payload_encode(runs, files, 0, &b, &err) == DX_E_INVALID &&
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
        uint32_t first_file;
    } rows[] = {
        { { { 8, 0, 0, 1 } }, 1, "before the first", 9 },
        { { { 0, 0, 0, 1 } }, 0, "without rows", 0 },
        { { { 0, 0, 0, 0 } }, 1, "is empty", 0 },
        { { { 0, 0, UINT64_MAX, 1 } }, 1, "beyond 64 bits", 0 },
        { { { 0, 0, 0, UINT64_MAX }, { 1, 0, 0, 1 } }, 2, "rows over 64 bits", 0 },
        { { { 1, 1, 0, 1 }, { 1, 0, 0, 1 } }, 2, "behind the run", 0 },
        { { { 1, 1, 0, 3 }, { 1, 1, 2, 1 } }, 2, "behind the run", 0 },
        { { { 1, 0, 0, 1 }, { 0, 0, 0, 1 }, { 1, 0, 5, 1 } }, 3, "comes back", 0 },
        { { { 1, 0, 0, 1 }, { 2, 0, 0, 1 }, { 1, 1, 0, 1 } }, 3, "comes back", 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf b = DX_BUF_INIT(1000);
        struct dx_error err = DX_ERROR_INIT;

        EXPECT(dx_payload_encode(rows[i].runs, rows[i].count, rows[i].first_file, &b, &err) < 0 &&
                   strstr(err.text, rows[i].say) != NULL,
               "row %zu: '%s'", i, err.text);
        dx_buf_release(&b);
    }
}

/* The bytes as FORMAT.md has them, and what no list can say. */
static void test_bytes(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *say; /* NULL: it is run below */
        struct dx_run last;
        uint32_t first_file;
    } rows[] = {
        { "\x06\x05\x00", 3, NULL, { 10, 0, 5, 1 }, 7 },
        { "\xfe\xff\xff\xff\x1f\x05\x00", 7, "over 32 bits", { 0 }, 1 },
        { "\x06\x05\x00", 3, NULL, { 3, 0, 5, 1 }, 0 },
        { "\x07\x01\x05\x02", 4, NULL, { 3, 2, 5, 3 }, 0 },
        { "\x06\x05\x00\x00\x02\x03", 6, NULL, { 3, 0, 8, 4 }, 0 }, /* further on in the group */
        { "\x06\x05\x00\x01\x00\x02\x03", 7, NULL, { 3, 1, 2, 4 }, 0 }, /* in the next group */
        { "\x06\x05\x00\x08\x02\x03", 6, NULL, { 5, 0, 2, 4 }, 0 },     /* two files on */
        { "\x06\x05\x00\x0a\x02\x03", 6, NULL, { 1, 0, 2, 4 }, 0 },     /* two files back */
        { "", 0, "of 0 bytes", { 0 }, 0 },
        { "\x06\x05", 2, "is cut", { 0 }, 0 },
        { "\x07\x05\x00", 3, "is cut", { 0 }, 0 },
        { "\x06\x05\x00\x0e\x02\x03", 6, NULL, { 0, 0, 2, 4 }, 0 },
        { "\x06\x05\x00\x12\x02\x03", 6, "below 0", { 0 }, 0 },
        { "\x06\x05\x00\x02\x02\x03", 6, "below 0", { 0 }, 0 }, /* no step, but a sign */
        { "\x80\x80\x80\x80\x20\x05\x00", 7, "over 32 bits", { 0 }, 0 },
        { "\x06\x05\x00\xfc\xff\xff\xff\x3f\x05\x00", 10, "over 32 bits", { 0 }, 0 },
        { "\x07\xff\xff\xff\xff\x0f\x05\x00", 8, "row group", { 0 }, 0 },
        { "\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 12, "beyond 64 bits", { 0 }, 0 },
        { "\x06\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "beyond 64 bits", { 0 }, 0 },
        { "\x06\x05\x00\x08\x00\x00\x0a\x00\x00", 9, "comes back", { 0 }, 0 },
        { "\x06\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x04\x00\x00",
          15,
          "rows over",
          { 0 },
          0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_of(rows[i].bytes, rows[i].size));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_run runs[3];
        struct dx_payload p;
        struct dx_buf b = DX_BUF_INIT(100);
        size_t n = 0;
        const struct dx_payload_owner owner = { 1, 1, rows[i].first_file };
        int rc = dx_payload_open(&p, &owner, dx_span_of(d.bytes, d.size), "p", &err);

        if (rows[i].say != NULL) {
            EXPECT(rc == DX_E_CORRUPT && strstr(err.text, rows[i].say) != NULL, "row %zu: %d '%s'",
                   i, rc, err.text);
        } else {
            EXPECT(rc == DX_OK, "row %zu: %s", i, err.text);
            while (n < 3 && dx_payload_next(&p, &runs[n]) == 1)
                n++;
            EXPECT(n > 0 && memcmp(&runs[n - 1], &rows[i].last, sizeof runs[0]) == 0, "row %zu", i);
            EXPECT(dx_payload_encode(runs, n, rows[i].first_file, &b, &err) == DX_OK &&
                       b.size == d.size && memcmp(b.data, d.bytes, d.size) == 0,
                   "row %zu: other bytes", i);
        }
        dx_buf_release(&b);
        damaged_free(&d);
    }
}

/* The same list counted from other files. */
static void test_rebase(void)
{
    static const struct {
        uint32_t from, to;
        int rc;
    } rows[] = {
        { 7, 7, DX_OK },
        { 7, 0, DX_OK },
        { 7, 10, DX_OK },
        { 7, 11, DX_E_CORRUPT },
        { UINT32_MAX - 2, 0, DX_E_CORRUPT },
    };
    static const struct dx_run runs[] = { { 10, 3, 5, 1 }, { 8, 0, 300, 700 } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf from = DX_BUF_INIT(100);

    EXPECT(dx_payload_encode(runs, 2, 7, &from, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf want = DX_BUF_INIT(100);
        struct dx_buf got = DX_BUF_INIT(100);
        int rc = dx_payload_rebase(dx_span_of(from.data, from.size), rows[i].from, rows[i].to, &got,
                                   &err);

        EXPECT(rc == rows[i].rc, "row %zu: %d", i, rc);
        if (rc == DX_OK)
            EXPECT(
                dx_payload_encode(runs, 2, rows[i].to, &want, &err) == DX_OK &&
                    dx_span_equal(dx_span_of(want.data, want.size), dx_span_of(got.data, got.size)),
                "row %zu: other bytes", i);
        dx_buf_release(&want);
        dx_buf_release(&got);
    }
    EXPECT(dx_payload_rebase(dx_span_of(NULL, 0), 0, 0, &from, &err) == DX_E_CORRUPT, "no bytes");
    dx_buf_release(&from);
}

int main(void)
{
    test_rebase();
    test_rounds();
    test_order_of_files();
    test_refused();
    test_bytes();
    return failures > 0;
}
