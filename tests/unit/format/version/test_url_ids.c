/* SPDX-License-Identifier: Apache-2.0
 * Pages of places of URLs: round trips, which pages may have an id, and bytes that are not a page.
 */
#include "format/version/url_ids.h"

#include <stdlib.h>

#include "format/version/url_filter.h"

#include "tests/support/damage.h"

#define PLACES_MAX 5000

static unsigned failures;
static struct dx_url_place places[PLACES_MAX];
static size_t filter_max = DX_COLD_URL_FILTER_MAX;

static int by_place(const void *a, const void *b)
{
    return dx_url_place_compare(a, b);
}

/* id_bits: so many leading ones differ; the fewer, the more are equal. */
static size_t make(uint64_t *random, size_t n, unsigned id_bits, uint64_t groups, uint64_t rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t v = random_next(random) >> (64 - id_bits) << (64 - id_bits);

        places[i] = (struct dx_url_place){ .id = dx_url_id_kept(v),
                                           .group = random_next(random) % groups,
                                           .row = random_next(random) % rows,
                                           .rows = 1 };
        if (random_below(random, 10) == 0)
            places[i].rows += random_next(random) >> random_below(random, 64) >> 1;
    }
    qsort(places, n, sizeof *places, by_place);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || by_place(&places[kept - 1], &places[i]) < 0)
            places[kept++] = places[i];
    return kept;
}

static bool same(const struct dx_url_place *a, const struct dx_url_place *b)
{
    return by_place(a, b) == 0 && a->rows == b->rows;
}

static struct dx_cold_page page_of(struct dx_span plain, uint64_t key, size_t count)
{
    return (struct dx_cold_page){ .file = DX_COLD_URL_IDS,
                                  .key = key,
                                  .entries = (uint32_t)count,
                                  .plain_size = (uint32_t)plain.size };
}

/* To each id, to the one before it and the one behind it: what next gives is the first that is not before. */
static void check_seeks(size_t row, const struct dx_cold_page *page, struct dx_span plain, size_t n)
{
    uint8_t *marks = malloc(dx_url_page_marks_size((uint32_t)n) + 1);

    for (size_t i = 0; i<3 * n; i += n> 500 ? 37 : 1) {
        uint64_t one = UINT64_C(1) << (64 - DX_URL_ID_KEPT);
        uint64_t want = places[i / 3].id + (i % 3) * one - one;
        struct dx_error err = DX_ERROR_INIT;
        struct dx_url_page u;
        struct dx_url_place got;
        size_t first = 0;
        int rc = dx_url_page_open(&u, page, plain, "x", &err);

        while (first < n && places[first].id < want)
            first++;
        if (rc == DX_OK && i == 0)
            rc = dx_url_page_mark(&u, marks, &err);
        if (rc == DX_OK && i % 2 == 0) { /* of a large page it is near then */
            dx_url_page_jump(&u, marks, want);
            EXPECT(u.taken <= first && first - u.taken <= DX_URL_PAGE_MARK,
                   "row %zu: from entry %u to place %zu", row, (unsigned)u.taken, first);
        }
        if (rc == DX_OK)
            rc = dx_url_page_seek(&u, want | (one - 1), &err);
        if (rc == DX_OK)
            rc = dx_url_page_next(&u, &got, &err);
        EXPECT(first == n ? rc == 0 : rc == 1 && same(&got, &places[first]),
               "row %zu: seek of place %zu: %d, place %zu expected: %s", row, i / 3, rc, first,
               err.text);
    }
    free(marks);
}

static void check_round_trips(void)
{
    static const struct {
        size_t n;
        unsigned id_bits;
        uint64_t groups, rows;
    } rows[] = {
        { 1, 64, 1, 1 },
        { 1, 64, UINT64_MAX, UINT64_MAX },
        { 2, 1, 2, 2 },
        { 2048, 64, 1247, 65536 },
        { 2048, 16, 153, 65536 },
        { 2048, 3, 4000, 1 },
        { 500, 64, 1, 1u << 30 },
        { 2048, 40, UINT64_MAX, UINT64_MAX },
        { 5000, 64, 70000, 1000 },
        { 1000, 1, 1, 100000 },
    };
    uint64_t random = 6;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf buf = DX_BUF_INIT(1 << 20);
        size_t n = make(&random, rows[i].n, rows[i].id_bits, rows[i].groups, rows[i].rows);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_url_page u;
        struct dx_url_place got;
        struct dx_cold_page page;
        struct damaged d;
        size_t at = 0;
        int rc = dx_url_page_encode(&buf, places, n, &err);

        EXPECT(rc == DX_OK, "row %zu: %s", i, err.text);
        d = damaged_copy(dx_span_of(buf.data, buf.size)); /* ends at a guard */
        page = page_of(dx_span_of(d.bytes, d.size), places[0].id, n);
        rc = dx_url_page_open(&u, &page, dx_span_of(d.bytes, d.size), "x", &err);
        while (rc >= 0 && (rc = dx_url_page_next(&u, &got, &err)) == 1) {
            EXPECT(at < n && same(&got, &places[at]), "row %zu: place %zu", i, at);
            at++;
        }
        EXPECT(rc == 0 && at == n, "row %zu: %zu of %zu places: %s", i, at, n, err.text);
        check_seeks(i, &page, dx_span_of(d.bytes, d.size), n);
        damaged_free(&d);
        dx_buf_release(&buf);
    }
}

/* What a URL costs where ids are hashes: the promise of docs/FORMAT.md. */
static void check_size(void)
{
    struct dx_buf buf = DX_BUF_INIT(1 << 20);
    uint64_t random = 1;
    size_t n = DX_URL_PAGE_PLACES;
    double bytes;

    for (size_t i = 0; i < n; i++)
        places[i] = (struct dx_url_place){ .id = dx_url_id_kept((random_next(&random) >> 12) + 1),
                                           .group = random_below(&random, 153),
                                           .row = random_below(&random, 65536),
                                           .rows = 1 };
    qsort(places, n, sizeof *places, by_place); /* 2048 of 2^52: as dense as 8 million of 2^64 */
    EXPECT(dx_url_page_encode(&buf, places, n, NULL) == DX_OK, "encode");
    bytes = (double)buf.size / (double)n;
    EXPECT(bytes < 6.8, "%.2f bytes a place", bytes);
    dx_buf_release(&buf);
}

/* ---- bytes that are not a page ---- */

struct original {
    size_t count;
};

static enum verdict attempt(void *ctx, struct dx_span s)
{
    static uint8_t marks[4096];
    const struct original *o = ctx;
    struct dx_cold_page page = page_of(s, places[0].id, o->count);
    struct dx_url_page u;
    struct dx_url_place got;
    struct dx_url_place last = { 0 };
    size_t at = 0;
    int rc = dx_url_page_open(&u, &page, s, "x", NULL);

    if (rc == DX_OK && dx_url_page_mark(&u, marks, NULL) == DX_OK)
        dx_url_page_jump(&u, marks, places[o->count - 1].id);
    /* Sought or not, no byte outside is read, and no more places come than there are. */
    if (rc == DX_OK && dx_url_page_seek(&u, places[o->count / 2].id, NULL) == DX_OK)
        while (dx_url_page_next(&u, &got, NULL) == 1)
            if (++at > o->count)
                return WRONG_ANSWER;
    at = 0;
    if (rc == DX_OK)
        rc = dx_url_page_open(&u, &page, s, "x", NULL);
    while (rc >= 0 && (rc = dx_url_page_next(&u, &got, NULL)) == 1) {
        /* Sums are the directory's: a bit may make another place, but never one out of order. */
        if (got.rows == 0 || (at > 0 && by_place(&last, &got) >= 0) || at >= o->count)
            return WRONG_ANSWER;
        last = got;
        at++;
    }
    return rc < 0 ? REFUSED : SAME_ANSWERS;
}

static void check_damage(void)
{
    struct dx_buf buf = DX_BUF_INIT(1 << 20);
    uint64_t random = 2;
    struct original o = { make(&random, 40, 20, 5, 300) };
    struct verdicts v;
    struct damaged d;

    EXPECT(dx_url_page_encode(&buf, places, o.count, NULL) == DX_OK, "encode");
    d = damaged_copy(dx_span_of(buf.data, buf.size));
    v = damaged_flips(&d, 0, d.size, 1, attempt, &o);
    EXPECT(v.count[WRONG_ANSWER] == 0 && v.count[REFUSED] > 0, "%zu refused", v.count[REFUSED]);
    v = damaged_cuts(&d, attempt, &o);
    EXPECT(v.count[REFUSED] == d.size, "%zu of %zu refused", v.count[REFUSED], d.size);
    dx_buf_append(&buf, "", 1);
    EXPECT(attempt(&o, dx_span_of(buf.data, buf.size)) == REFUSED, "a byte more");
    damaged_free(&d);
    dx_buf_release(&buf);
}

static void check_refused(void)
{
    static const struct {
        const char *why;
        struct dx_url_place of[2];
        size_t count;
    } rows[] = {
        { "none", { { 0, 0, 0, 1 } }, 0 },
        { "no row", { { 0, 0, 0, 0 } }, 1 },
        { "an id with low bits", { { 1, 0, 0, 1 } }, 1 },
        { "twice", { { 1 << 16, 2, 3, 1 }, { 1 << 16, 2, 3, 1 } }, 2 },
        { "descending", { { 2 << 16, 2, 3, 1 }, { 1 << 16, 2, 3, 1 } }, 2 },
    };
    struct dx_buf buf = DX_BUF_INIT(1 << 10);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        EXPECT(dx_url_page_encode(&buf, rows[i].of, rows[i].count, NULL) == DX_E_INVALID, "%s",
               rows[i].why);
    dx_buf_release(&buf);
}

/* ---- a file of pages ---- */

static int keep(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    (void)err;
    dx_buf_append(ctx, bytes.data, bytes.size);
    return DX_OK;
}

static int drop(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    (void)ctx;
    (void)bytes;
    (void)err;
    return DX_OK;
}

/* Pages of `each` places; the directory of a cold file that has no others. */
static void write_file(struct dx_buf *directory, size_t n, size_t each)
{
    struct dx_build_id build = { { 7 } };
    struct dx_cold_writer writers[DX_COLD_FILES];
    struct dx_buf plain = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    uint32_t sub = 0;
    int rc = DX_OK;

    for (unsigned f = 0; rc == DX_OK && f < DX_COLD_FILES; f++)
        rc = dx_cold_writer_begin(&writers[f], (enum dx_cold_file)f, &build, 1, drop, NULL, &err);
    for (size_t i = 0; rc == DX_OK && i < n; i += each) {
        size_t count = n - i < each ? n - i : each;

        sub = i > 0 && places[i - each].id == places[i].id ? sub + 1 : 0;

        rc = dx_url_page_encode(&plain, places + i, count, &err);
        if (rc == DX_OK)
            rc = dx_cold_writer_page(&writers[DX_COLD_URL_IDS], places[i].id, sub, (uint32_t)count,
                                     dx_span_of(plain.data, plain.size), &err);
        writers[DX_COLD_URL_IDS].url_filter.max = filter_max;
        dx_url_filter_append(&writers[DX_COLD_URL_IDS].url_filter, places + i, count);
    }
    for (unsigned f = 0; rc == DX_OK && f < DX_COLD_FILES; f++)
        rc = dx_cold_writer_end(&writers[f], &err);
    if (rc == DX_OK)
        rc = dx_cold_directory_write(writers, &build, keep, directory, &err);
    EXPECT(rc == DX_OK, "%s", err.text);
    for (unsigned f = 0; f < DX_COLD_FILES; f++)
        dx_cold_writer_release(&writers[f]);
    dx_buf_release(&plain);
}

/* No id of a page is called absent, few strangers are called present, and a section that does not fit is refused. */
static void check_filter(size_t n, size_t each)
{
    struct dx_buf directory = DX_BUF_INIT(1 << 20);
    uint64_t random = n + each;
    struct dx_error err = DX_ERROR_INIT;
    size_t passed = 0;
    struct dx_cold c;
    struct dx_cold_page page;

    n = make(&random, n, 64, 50, 50);
    write_file(&directory, n, each);
    EXPECT(dx_cold_open(&c, dx_span_of(directory.data, directory.size), 0, "x", &err) == DX_OK &&
               dx_url_filter_check(&c, &err) == DX_OK,
           "%s", err.text);
    for (size_t i = 0; i < n; i++) {
        uint32_t first;
        uint32_t count;

        EXPECT(dx_cold_page(&c, DX_COLD_URL_IDS, (uint32_t)(i / each), &page, &err) == 1 &&
                   dx_url_filter_may_have(&c, &page, places[i].id, &err) == 1,
               "%zu of %zu, pages of %zu: called absent", i, n, each);
        if (dx_url_ids_pages(&c, random_next(&random), &first, &count, &err) == 1 &&
            dx_cold_page(&c, DX_COLD_URL_IDS, first, &page, &err) == 1)
            passed += dx_url_filter_may_have(&c, &page, random_next(&random), &err) == 1;
    }
    EXPECT(each < 52 ? c.url_filter.data == NULL : passed * (n < 1000 ? 4 : 40) < n,
           "%zu of %zu strangers pass", passed, n);
    if (c.url_filter.data != NULL) {
        c.url_filter.size -= DX_URL_FILTER_BLOCK;
        EXPECT(dx_url_filter_check(&c, NULL) == DX_E_CORRUPT, "a block less");
        c.url_filter.size = 0;
        EXPECT(dx_url_filter_may_have(&c, &page, 1, NULL) == DX_E_CORRUPT, "no block");
    }
    dx_cold_close(&c);
    dx_buf_release(&directory);
}

/* Of more filters than a directory may have it has none. */
static void check_filter_max(void)
{
    struct dx_buf directory = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    uint64_t random = 5;
    size_t n = make(&random, 3000, 64, 50, 50);
    struct dx_cold_page page;
    struct dx_cold c;

    for (unsigned over = 0; over < 2; over++) {
        filter_max = n / 52 * DX_URL_FILTER_BLOCK / (over == 0 ? 1 : 2);
        dx_buf_clear(&directory);
        write_file(&directory, n, 200);
        EXPECT(dx_cold_open(&c, dx_span_of(directory.data, directory.size), 0, "x", &err) ==
                       DX_OK &&
                   (c.url_filter.data == NULL) == (over == 1) &&
                   dx_url_filter_check(&c, &err) == DX_OK &&
                   dx_cold_page(&c, DX_COLD_URL_IDS, 0, &page, &err) == 1 &&
                   dx_url_filter_may_have(&c, &page, places[0].id, &err) == 1,
               "over %u: %s", over, err.text);
        dx_cold_close(&c);
    }
    filter_max = DX_COLD_URL_FILTER_MAX;
    dx_buf_release(&directory);
}

/* Every page that has the id is among those that are named, and none without need. */
static void check_pages(size_t n, size_t each, unsigned id_bits)
{
    struct dx_buf directory = DX_BUF_INIT(1 << 20);
    uint64_t random = n * each;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold c;

    n = make(&random, n, id_bits, 50, 50);
    write_file(&directory, n, each);
    EXPECT(dx_cold_open(&c, dx_span_of(directory.data, directory.size), 0, "x", &err) == DX_OK,
           "%s", err.text);
    for (size_t i = 0; i < 2 * n; i++) {
        uint64_t id = i < n ? places[i].id | random_below(&random, 65536)
                            : random_next(&random) >> (64 - id_bits) << (64 - id_bits);
        uint32_t first = 0;
        uint32_t count = 0;
        size_t least = n;
        size_t most = 0;
        int rc = dx_url_ids_pages(&c, id, &first, &count, &err);

        for (size_t p = 0; p < n; p++)
            if (places[p].id == dx_url_id_kept(id)) {
                least = p / each < least ? p / each : least;
                most = p / each;
            }
        if (least == n)
            EXPECT(rc == 0 || (rc == 1 && count == 1), "id %zu is nowhere: %d, %u pages", i, rc,
                   (unsigned)count);
        else
            EXPECT(rc == 1 && first <= least && first + count > most && first + 1 >= least &&
                       first + count == most + 1,
                   "id %zu: %u+%u, it is on pages %zu to %zu", i, (unsigned)first, (unsigned)count,
                   least, most);
    }
    dx_cold_close(&c);
    dx_buf_release(&directory);
}

int main(void)
{
    check_round_trips();
    check_size();
    check_damage();
    check_refused();
    check_pages(1, 10, 64);
    check_pages(300, 7, 64);
    check_pages(300, 7, 3);
    check_pages(400, 1, 4);
    check_pages(64, 64, 1);
    check_filter(5000, 2048);
    check_filter(5000, 1000);
    check_filter(100, 100);
    check_filter(100, 51);
    check_filter_max();
    return failures == 0 ? 0 : 1;
}
