/* SPDX-License-Identifier: Apache-2.0
 * Pages of places of URLs: round trips, which pages may have an id, and bytes that are not a page.
 */
#include "format/version/url_ids.h"

#include <stdlib.h>

#include "tests/support/damage.h"

#define PLACES_MAX 5000
#define ID(n) ((uint64_t)(n) << (64 - DX_URL_ID_KEPT))

static unsigned failures;
static struct dx_url_place places[PLACES_MAX];

static int by_place(const void *a, const void *b)
{
    return dx_url_place_compare(a, b);
}

/* Of the units that they lie in. The same twice is two URLs. */
static void widen(size_t n)
{
    for (size_t i = 0; i < n; i++)
        dx_url_place_widen(&places[i], places[i].rows > 1 && i % 2 == 0);
    qsort(places, n, sizeof *places, by_place);
}

/* Exact ones. id_bits: so many leading ones differ; the fewer, the more are equal. */
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
            places[i].rows += random_next(random) >> random_below(random, 64) >> 2;
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

/* ---- a file of pages ---- */

struct file {
    struct dx_buf directory, stored;
    struct dx_cold cold;
};

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

/* Pages of `each` places; a directory that has no others. */
static void write_file(struct file *f, size_t n, size_t each)
{
    struct dx_build_id build = { { 7 } };
    struct dx_cold_writer writers[DX_COLD_FILES];
    struct dx_cold_writer *w = &writers[DX_COLD_URL_IDS];
    struct dx_buf plain = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    dx_buf_init(&f->directory, 1 << 20);
    dx_buf_init(&f->stored, 1 << 20);
    for (unsigned i = 0; rc == DX_OK && i < DX_COLD_FILES; i++)
        rc = dx_cold_writer_begin(&writers[i], (enum dx_cold_file)i, &build, 1,
                                  i == DX_COLD_URL_IDS ? keep : drop, &f->stored, &err);
    for (size_t i = 0; rc == DX_OK && i < n; i += each) {
        size_t count = n - i < each ? n - i : each;
        uint64_t key;

        rc = dx_url_page_encode(&plain, &w->url_ids, &key, places + i, count, &err);
        if (rc == DX_OK)
            rc = dx_cold_writer_page(w, key, 0, (uint32_t)count, dx_span_of(plain.data, plain.size),
                                     &err);
    }
    for (unsigned i = 0; rc == DX_OK && i < DX_COLD_FILES; i++)
        rc = dx_cold_writer_end(&writers[i], &err);
    if (rc == DX_OK)
        rc = dx_cold_directory_write(writers, &build, keep, &f->directory, &err);
    EXPECT(rc == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < DX_COLD_FILES; i++)
        dx_cold_writer_release(&writers[i]);
    dx_buf_release(&plain);
    EXPECT(dx_cold_open(&f->cold, dx_span_of(f->directory.data, f->directory.size), 0, "x", &err) ==
                   DX_OK &&
               dx_url_id_list_check(&f->cold, &err) == DX_OK,
           "%s", err.text);
}

static void close_file(struct file *f)
{
    dx_cold_close(&f->cold);
    dx_buf_release(&f->directory);
    dx_buf_release(&f->stored);
}

/* Ends at a guard. */
static struct damaged plain_of(const struct file *f, uint32_t number, struct dx_cold_page *page)
{
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    uint8_t plain[1 << 17];
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_cold_page(&f->cold, DX_COLD_URL_IDS, number, page, &err) == 1 &&
               page->plain_size <= sizeof plain &&
               dx_cold_decode(&f->cold, page, decoder, 0,
                              dx_span_of(f->stored.data + page->offset, page->stored_size), plain,
                              &err) == DX_OK,
           "%s", err.text);
    dx_zstd_decoder_free(&decoder);
    return damaged_copy(dx_span_of(plain, page->plain_size));
}

/* Of each id, the one before it and the one behind it: next gives its places and no others. */
static void check_only(size_t row, const struct file *f, const struct dx_cold_page *page,
                       struct dx_span plain, size_t n)
{
    for (size_t i = 0; i<3 * n; i += n> 500 ? 37 : 1) {
        uint64_t want = dx_url_id_kept(places[i / 3].id + ID(i % 3) - ID(1));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_url_page u;
        struct dx_url_place got;
        size_t at = 0;
        bool here;
        int rc = dx_url_page_open(&u, &f->cold, page, plain, "x", &err);

        while (at < n && places[at].id != want)
            at++;
        here = at < n;
        EXPECT(dx_url_ids_on_page(&f->cold, page, want | 77, &err) == here, "row %zu: place %zu",
               row, i / 3);
        if (rc == DX_OK)
            rc = dx_url_page_only(&u, want | 99, &err);
        while (rc >= 0 && (rc = dx_url_page_next(&u, &got, &err)) == 1) {
            EXPECT(at < n && same(&got, &places[at]), "row %zu: place %zu", row, i / 3);
            at++;
        }
        EXPECT(rc == 0 && (at == n || places[at].id != want), "row %zu: of place %zu: %s", row,
               i / 3, err.text);
    }
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
        size_t n = make(&random, rows[i].n, rows[i].id_bits, rows[i].groups, rows[i].rows);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_url_page u;
        struct dx_url_place got;
        struct dx_cold_page page;
        struct damaged d;
        struct file f;
        size_t at = 0;
        int rc;

        widen(n);
        write_file(&f, n, n);
        d = plain_of(&f, 0, &page);
        rc = dx_url_page_open(&u, &f.cold, &page, dx_span_of(d.bytes, d.size), "x", &err);
        while (rc >= 0 && (rc = dx_url_page_next(&u, &got, &err)) == 1) {
            EXPECT(at < n && same(&got, &places[at]), "row %zu: place %zu", i, at);
            at++;
        }
        EXPECT(rc == 0 && at == n, "row %zu: %zu of %zu places: %s", i, at, n, err.text);
        check_only(i, &f, &page, dx_span_of(d.bytes, d.size), n);
        damaged_free(&d);
        close_file(&f);
    }
}

/* What a URL costs where ids are hashes: the promise of docs/FORMAT.md. */
static void check_size(void)
{
    struct dx_buf plain = DX_BUF_INIT(1 << 20);
    struct dx_buf lists = DX_BUF_INIT(1 << 20);
    uint64_t random = 1;
    size_t n = DX_URL_PAGE_PLACES;
    uint64_t key;
    double bits;

    for (size_t i = 0; i < n; i++)
        places[i] = (struct dx_url_place){ .id = dx_url_id_kept(random_next(&random) >> 8),
                                           .group = random_below(&random, 1247),
                                           .row = random_below(&random, 1000),
                                           .rows = 1 };
    widen(n); /* 4096 of 2^56: as dense as a million of 2^64 */
    EXPECT(dx_url_page_encode(&plain, &lists, &key, places, n, NULL) == DX_OK, "encode");
    bits = (double)(plain.size + lists.size) * 8 / (double)n;
    EXPECT(bits < 27.2, "%.2f bits a place", bits);
    dx_buf_release(&plain);
    dx_buf_release(&lists);
}

/* ---- bytes that are not a page ---- */

struct original {
    struct file file;
    struct dx_cold_page page;
    size_t count;
    bool all; /* ids of all, or of one */
    uint64_t
        few; /* rows of most: 1 of exact places, which never have 0; 0 of units, which never have 1 */
};

static enum verdict attempt(void *ctx, struct dx_span s)
{
    const struct original *o = ctx;
    struct dx_url_page u;
    struct dx_url_place got;
    struct dx_url_place last = { 0 };
    size_t at = 0;
    int rc = dx_url_page_open(&u, &o->file.cold, &o->page, s, "x", NULL);

    if (rc == DX_OK && !o->all)
        rc = dx_url_page_only(&u, places[o->count / 2].id, NULL);
    while (rc >= 0 && (rc = dx_url_page_next(&u, &got, NULL)) == 1) {
        /* Sums are the directory's: a bit may make another place, but never one out of order. */
        if (got.rows == 1 - o->few || (at > 0 && by_place(&last, &got) > 0) || at >= o->count)
            return WRONG_ANSWER;
        last = got;
        at++;
    }
    return rc < 0 ? REFUSED : SAME_ANSWERS;
}

static void check_damage(void)
{
    uint64_t random = 2;
    struct original o = { .count = make(&random, 40, 20, 5, 300), .all = true };
    struct dx_buf more = DX_BUF_INIT(1 << 20);
    struct verdicts v;
    struct damaged d;

    widen(o.count);
    write_file(&o.file, o.count, o.count);
    d = plain_of(&o.file, 0, &o.page);
    v = damaged_flips(&d, 0, d.size, 1, attempt, &o);
    EXPECT(v.count[WRONG_ANSWER] == 0 && v.count[REFUSED] > 0, "%zu refused", v.count[REFUSED]);
    v = damaged_cuts(&d, attempt, &o);
    EXPECT(v.count[REFUSED] == d.size, "%zu of %zu refused", v.count[REFUSED], d.size);
    dx_buf_append(&more, d.bytes, d.size);
    dx_buf_append(&more, "", 1);
    EXPECT(attempt(&o, dx_span_of(more.data, more.size)) == REFUSED, "a byte more");
    o.all = false;
    v = damaged_flips(&d, 0, d.size, 1, attempt, &o);
    EXPECT(v.count[WRONG_ANSWER] == 0 && v.count[REFUSED] > 0, "%zu refused", v.count[REFUSED]);
    dx_buf_release(&more);
    damaged_free(&d);
    close_file(&o.file);
}

static void swap_bits(uint8_t *bytes, uint64_t a, uint64_t b, unsigned width)
{
    for (unsigned i = 0; i < width; i++, a++, b++) {
        unsigned one = bytes[a / 8] >> (a % 8) & 1;
        unsigned other = bytes[b / 8] >> (b % 8) & 1;

        if (one != other) {
            bytes[a / 8] ^= (uint8_t)(1u << (a % 8));
            bytes[b / 8] ^= (uint8_t)(1u << (b % 8));
        }
    }
}

/* Entries with more rows than others are looked up by halves: out of order, whichever two, or the same twice, they are refused. */
static void check_longer(void)
{
    struct original o = { .count = 12, .all = true };
    struct dx_url_page u;
    struct damaged d;
    unsigned width;

    for (size_t i = 0; i < o.count; i++)
        places[i] = (struct dx_url_place){ .id = ID(i + 1), .rows = i % 3 == 0 ? 2 + i : 0 };
    write_file(&o.file, o.count, o.count);
    d = plain_of(&o.file, 0, &o.page);
    EXPECT(dx_url_page_open(&u, &o.file.cold, &o.page, dx_span_of(d.bytes, d.size), "x", NULL) ==
                   DX_OK &&
               u.longer_count == 4 && attempt(&o, dx_span_of(d.bytes, d.size)) == SAME_ANSWERS,
           "%u longer ones", u.longer_count);
    width = u.number_bits + u.rows_bits;
    for (unsigned i = 0; i < u.longer_count; i++)
        for (unsigned k = 0; k < i; k++) {
            uint8_t *longer = d.bytes + (u.longer.data - d.bytes);

            swap_bits(longer, (uint64_t)i * width, (uint64_t)k * width, width);
            EXPECT(attempt(&o, dx_span_of(d.bytes, d.size)) == REFUSED, "%u and %u", k, i);
            swap_bits(longer, (uint64_t)i * width, (uint64_t)k * width, width);
        }
    damaged_free(&d);
    close_file(&o.file);
}

/* A directory with all sums believed: whatever its lists say, ids are those that they begin and end with, or refused. */
static enum verdict attempt_lists(void *ctx, struct dx_span s)
{
    const struct original *o = ctx;
    struct dx_cold_page page;
    struct dx_url_id_list list;
    enum verdict v = REFUSED;
    uint64_t id;
    uint32_t from;
    uint32_t end;
    size_t n = 0;
    struct dx_cold c;
    int rc;

    if (dx_cold_open(&c, s, DX_OPEN_UNCHECKED, "x", NULL) < 0)
        return REFUSED;
    if (dx_cold_page(&c, DX_COLD_URL_IDS, 0, &page, NULL) == 1 &&
        dx_url_id_list_open(&list, &c, &page, NULL) == DX_OK) {
        for (size_t i = 0; i < o->count; i++)
            if (dx_url_id_list_find(&list, places[i].id, &from, &end, NULL) == 1 &&
                (from >= end || end > o->count))
                v = WRONG_ANSWER;
        while ((rc = dx_url_id_list_next(&list, &id, NULL)) == 1) {
            /* The low bits of one bucket may be out of order: a page says so (dx_url_page_next). */
            if (id >> 32 < list.first || id >> 32 > list.last || ++n > o->count)
                v = WRONG_ANSWER;
        }
        if (rc == 0 && v != WRONG_ANSWER)
            v = dx_url_id_list_check(&c, NULL) == DX_OK ? SAME_ANSWERS : REFUSED;
    }
    dx_cold_close(&c);
    return v;
}

static void check_damaged_lists(void)
{
    uint64_t random = 3;
    struct original o = { .count = make(&random, 200, 12, 5, 300) };
    struct dx_error err = DX_ERROR_INIT;
    struct verdicts v;
    struct damaged d;
    size_t at;

    widen(o.count);
    write_file(&o.file, o.count, o.count);
    at = (size_t)(o.file.cold.url_ids.data - o.file.directory.data);
    d = damaged_copy(dx_span_of(o.file.directory.data, o.file.directory.size));
    v = damaged_flips(&d, at, at + o.file.cold.url_ids.size, 1, attempt_lists, &o);
    /* Low bits may be those of another id. */
    EXPECT(v.count[WRONG_ANSWER] == 0 && v.count[REFUSED] > 0, "%zu wrong, %zu refused",
           v.count[WRONG_ANSWER], v.count[REFUSED]);
    EXPECT(dx_cold_page(&o.file.cold, DX_COLD_URL_IDS, 0, &o.page, &err) == 1, "%s", err.text);
    o.file.cold.url_ids.size -= 8;
    EXPECT(dx_url_id_list_check(&o.file.cold, &err) == DX_E_CORRUPT &&
               dx_url_ids_on_page(&o.file.cold, &o.page, places[0].id, NULL) == DX_E_CORRUPT,
           "a word less");
    damaged_free(&d);
    close_file(&o.file);
}

/* ---- pages of DX_COLD_VERSION_OLD ---- */

static void put_gaps(struct dx_bits_out *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            dx_bits_put_rice(w, (places[i].id - places[i - 1].id) >> 16, 30);
        dx_bits_put_rice(w, places[i].rows - 1, 1);
    }
    dx_bits_flush(w);
}

/* As docs/FORMAT.md 10.2 has them. */
static void encode_old(struct dx_buf *out, size_t n)
{
    struct dx_bits_out w = { .to = out };

    dx_buf_u32(out, (uint32_t)n);
    dx_buf_append(out, "\36\13\24\1", 4);
    dx_buf_u64(out, places[0].id >> 16);
    for (size_t i = 0; i < n; i++) {
        dx_bits_put(&w, places[i].group, 11);
        dx_bits_put(&w, places[i].row, 20);
    }
    dx_bits_flush(&w);
    put_gaps(&w, n);
}

/* All of them with 48 bits of their ids, and those of one id with 32. */
static void check_old(void)
{
    struct original o = { .file.cold.envelope.version = DX_COLD_VERSION_OLD,
                          .all = true,
                          .few = 1 };
    struct dx_buf buf = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    uint64_t random = 9;
    struct dx_url_page u;
    struct dx_url_place got;
    struct verdicts v;
    struct damaged d;
    size_t n = make(&random, 300, 36, 2000, 1000000);
    size_t at = 0;
    int rc;

    for (size_t i = 0; i < n; i++)
        places[i].id |= random_below(&random, 4) << 16;
    qsort(places, n, sizeof *places, by_place);
    encode_old(&buf, n);
    d = damaged_copy(dx_span_of(buf.data, buf.size));
    o.count = n;
    o.page = (struct dx_cold_page){ .key = places[0].id, .entries = (uint32_t)n };
    rc = dx_url_page_open(&u, &o.file.cold, &o.page, dx_span_of(d.bytes, d.size), "x", &err);
    while (rc >= 0 && (rc = dx_url_page_next(&u, &got, &err)) == 1) {
        EXPECT(at < n && same(&got, &places[at]), "old: place %zu", at);
        at++;
    }
    EXPECT(rc == 0 && at == n, "old: %zu of %zu places: %s", at, n, err.text);
    EXPECT(dx_url_page_open(&u, &o.file.cold, &o.page, dx_span_of(d.bytes, d.size), "x", &err) ==
                   DX_OK &&
               dx_url_page_only(&u, places[n / 2].id, &err) == DX_OK,
           "%s", err.text);
    for (at = 0; dx_url_page_next(&u, &got, &err) == 1; at++)
        EXPECT(dx_url_id_kept(got.id) == dx_url_id_kept(places[n / 2].id), "old: another id");
    for (size_t i = 0; i < n; i++)
        at -= dx_url_id_kept(places[i].id) == dx_url_id_kept(places[n / 2].id);
    EXPECT(at == 0, "old: places of one id");
    v = damaged_flips(&d, 0, d.size, 1, attempt, &o);
    EXPECT(v.count[WRONG_ANSWER] == 0 && v.count[REFUSED] > 0, "old: %zu refused",
           v.count[REFUSED]);
    v = damaged_cuts(&d, attempt, &o);
    EXPECT(v.count[REFUSED] == d.size, "old: %zu of %zu refused", v.count[REFUSED], d.size);
    damaged_free(&d);
    dx_buf_release(&buf);
}

static void check_widen(void)
{
    static const struct {
        uint64_t row, rows;
        bool crosses;
        uint64_t want_row, want_rows;
    } rows[] = {
        { 0, 1, false, 0, 0 },       { 255, 1, false, 0, 0 },
        { 256, 1, false, 256, 0 },   { 0, 256, false, 0, 0 },
        { 0, 257, false, 0, 257 },   { 255, 2, false, 0, 257 },
        { 300, 212, false, 256, 0 }, { 300, 213, false, 256, 257 },
        { 10, 3, true, 0, 13 },      { 511, UINT64_MAX / 2, false, 256, UINT64_MAX / 2 + 255 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_url_place p = { .row = rows[i].row, .rows = rows[i].rows };

        dx_url_place_widen(&p, rows[i].crosses);
        EXPECT(p.row == rows[i].want_row && p.rows == rows[i].want_rows, "row %zu: %llu+%llu", i,
               (unsigned long long)p.row, (unsigned long long)p.rows);
    }
}

static void check_refused(void)
{
    static const struct {
        const char *why;
        struct dx_url_place of[2];
        size_t count;
    } rows[] = {
        { "none", { { 0, 0, 0, 0 } }, 0 },
        { "an exact row", { { 0, 0, 0, 1 } }, 1 },
        { "within a unit", { { 0, 0, 3, 0 } }, 1 },
        { "too many rows", { { 0, 0, 0, UINT64_MAX } }, 1 },
        { "an id with low bits", { { 1 << 16, 0, 0, 0 } }, 1 },
        { "descending", { { ID(2), 2, 256, 0 }, { ID(1), 2, 256, 0 } }, 2 },
        { "rows descending", { { ID(1), 2, 256, 300 }, { ID(1), 2, 256, 0 } }, 2 },
    };
    struct dx_buf buf = DX_BUF_INIT(1 << 10);
    struct dx_buf lists = DX_BUF_INIT(1 << 10);
    uint64_t key;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        EXPECT(dx_url_page_encode(&buf, &lists, &key, rows[i].of, rows[i].count, NULL) ==
                   DX_E_INVALID,
               "%s", rows[i].why);
    dx_buf_release(&lists);
    dx_buf_release(&buf);
}

/* Every page that has the id is among those that are named, and none without need. */
static void check_pages(size_t n, size_t each, unsigned id_bits)
{
    uint64_t random = n * each;
    struct dx_error err = DX_ERROR_INIT;
    struct file f;

    n = make(&random, n, id_bits, 50, 50);
    widen(n);
    write_file(&f, n, each);
    for (size_t i = 0; i < 2 * n; i++) {
        uint64_t id = i < n ? places[i].id | random_below(&random, 65536)
                            : random_next(&random) >> (64 - id_bits) << (64 - id_bits);
        uint32_t first = 0;
        uint32_t count = 0;
        size_t least = n;
        size_t most = 0;
        int rc = dx_url_ids_pages(&f.cold, id, &first, &count, &err);

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
    close_file(&f);
}

int main(void)
{
    check_round_trips();
    check_size();
    check_damage();
    check_longer();
    check_damaged_lists();
    check_old();
    check_widen();
    check_refused();
    check_pages(1, 10, 64);
    check_pages(300, 7, 64);
    check_pages(300, 7, 3);
    check_pages(400, 1, 4);
    check_pages(64, 64, 1);
    return failures == 0 ? 0 : 1;
}
