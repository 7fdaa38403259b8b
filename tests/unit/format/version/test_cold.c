/* SPDX-License-Identifier: Apache-2.0
 * cold.dxp and pages of pairs: each entry found again, absent ones absent, pages of several frames;
 * every flip and cut of directory and pages; pages of another place; what writers refuse.
 */
#include "format/version/cold.h"
#include "format/version/pair_pages.h"
#include "tests/support/damage.h"

#define ENTRIES 20000
#define LARGE 700 /* the entry of over 2 MiB */

static int failures;
static struct dx_zstd_decoder *decoder;

struct entry {
    uint64_t ordinal;
    uint32_t dataset_id;
    uint32_t rank; /* among the pairs of the ordinal */
    size_t size;
};

struct built {
    struct dx_buf file[DX_COLD_FILES];
    struct dx_buf directory;
};

static struct entry entries[ENTRIES];
static uint8_t text[3 << 20];

static struct dx_span bytes_of(size_t i)
{
    return dx_span_of(text + i % 1000, entries[i].size);
}

static void make_entries(void)
{
    uint64_t seed = 3;
    uint64_t ordinal = 1;
    uint32_t dataset_id = 0;
    uint32_t rank = 0;

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)random_next(&seed);
    for (size_t i = 0; i < ENTRIES; i++) {
        if (i > 0 && random_below(&seed, 3) > 0) {
            ordinal += 1 + (random_below(&seed, 50) == 0) * random_below(&seed, 1000000000000);
            dataset_id = rank = 0;
        }
        dataset_id += 1 + (uint32_t)random_below(&seed, 1000);
        entries[i] = (struct entry){ ordinal, dataset_id, rank++, 1 + random_below(&seed, 20) };
    }
    entries[LARGE].size = (2 << 20) + 7;
    entries[ENTRIES - 1].dataset_id = UINT32_MAX;
    entries[ENTRIES - 1].rank = 0;
    entries[ENTRIES - 1].ordinal = UINT64_MAX;
}

static void write_pairs(struct dx_cold_writer *w, size_t count)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pair_pages pages;
    int rc = DX_OK;

    dx_pair_pages_begin(&pages, w);
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        rc = dx_pair_pages_add(&pages, entries[i].ordinal, entries[i].dataset_id, bytes_of(i),
                               &err);
        EXPECT(dx_pair_pages_add(&pages, entries[i].ordinal, entries[i].dataset_id, bytes_of(i),
                                 NULL) < 0,
               "the same pair again");
    }
    if (rc >= 0)
        rc = dx_pair_pages_end(&pages, &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_pair_pages_release(&pages);
}

static void build(struct built *b, uint8_t build_byte, size_t count)
{
    struct dx_cold_writer w[DX_COLD_FILES];
    struct dx_build_id build_id = { { build_byte } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span one = dx_span_of(text, 1);

    dx_buf_init(&b->directory, 1 << 24);
    for (int i = 0; i < DX_COLD_FILES; i++) {
        dx_buf_init(&b->file[i], 1 << 26);
        EXPECT(dx_cold_writer_begin(&w[i], (enum dx_cold_file)i, &build_id, 1, dx_envelope_sink_buf,
                                    &b->file[i], &err) >= 0,
               "%s", err.text);
    }
    write_pairs(&w[DX_COLD_FACTS], count);
    write_pairs(&w[DX_COLD_SKETCHES], count / 2);
    EXPECT(dx_cold_writer_page(&w[DX_COLD_SKETCHES], UINT64_MAX, 1, 2, one, NULL) < 0,
           "entries over bytes");
    EXPECT(dx_cold_writer_page(&w[DX_COLD_URL_IDS], 5, 1, 0, one, NULL) < 0, "no entries");
    EXPECT(dx_cold_writer_page(&w[DX_COLD_URL_IDS], 5, 1, 1, one, &err) >= 0, "%s", err.text);
    EXPECT(dx_cold_writer_page(&w[DX_COLD_URL_IDS], 5, 1, 1, one, NULL) < 0, "the same key");
    EXPECT(dx_cold_directory_write(w, &build_id, dx_envelope_sink_buf, &b->directory, NULL) < 0,
           "before the ends");
    for (int i = 0; i < DX_COLD_FILES; i++)
        EXPECT(dx_cold_writer_end(&w[i], &err) >= 0, "%s", err.text);
    EXPECT(dx_cold_writer_page(&w[DX_COLD_URL_IDS], 6, 1, 1, one, NULL) < 0, "behind the end");
    EXPECT(dx_cold_directory_write(w, &build_id, dx_envelope_sink_buf, &b->directory, &err) >= 0,
           "%s", err.text);
    for (int i = 0; i < DX_COLD_FILES; i++)
        dx_cold_writer_release(&w[i]);
}

static void release(struct built *b)
{
    for (int i = 0; i < DX_COLD_FILES; i++)
        dx_buf_release(&b->file[i]);
    dx_buf_release(&b->directory);
}

static struct dx_span directory_of(const struct built *b)
{
    return dx_span_of(b->directory.data, b->directory.size);
}

/* The decoded page; the caller frees it. NULL: refused. */
static uint8_t *decode(const struct dx_cold *c, const struct dx_cold_page *page, unsigned flags,
                       struct dx_span file, struct dx_error *err)
{
    uint8_t *plain = malloc(page->plain_size);
    struct dx_span stored;

    if (plain == NULL)
        abort();
    if (!dx_span_slice(file, page->offset, page->stored_size, &stored) ||
        dx_cold_decode(c, page, decoder, flags, stored, plain, err) < 0) {
        free(plain);
        return NULL;
    }
    return plain;
}

/* ---- all of it ---- */

static void check_all(const struct built *b, const struct dx_cold *c, enum dx_cold_file file,
                      size_t count)
{
    struct dx_span whole = dx_span_of(b->file[file].data, b->file[file].size);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_page page;
    size_t n = 0;

    EXPECT(c->size[file] == whole.size && c->entries[file] == count, "header");
    for (uint32_t number = 0; dx_cold_page(c, file, number, &page, &err) == 1; number++) {
        uint8_t *plain = decode(c, &page, 0, whole, &err);
        struct dx_pair_page p = dx_pair_page_of(&page, DX_COLD_VERSION,
                                                dx_span_of(plain, page.plain_size));
        struct dx_span bytes;
        uint64_t ordinal;
        uint32_t rank;
        int rc;

        for (; (rc = dx_pair_page_next(&p, &ordinal, &rank, &bytes, &err)) == 1; n++)
            EXPECT(n < count && ordinal == entries[n].ordinal && rank == entries[n].rank &&
                       dx_span_equal(bytes, bytes_of(n)),
                   "entry %zu", n);
        EXPECT(plain != NULL && rc == 0, "%s", err.text);
        free(plain);
    }
    EXPECT(n == count && dx_cold_verify(c, &err) >= 0, "%zu of %zu: %s", n, count, err.text);
}

/* From entry to entry of each page in steps, to pairs that are there and to some between them. */
static void check_seek(const struct built *b, const struct dx_cold *c)
{
    struct dx_span whole = dx_span_of(b->file[DX_COLD_FACTS].data, b->file[DX_COLD_FACTS].size);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_page page;
    size_t first = 0;

    for (uint32_t number = 0; dx_cold_page(c, DX_COLD_FACTS, number, &page, &err) == 1; number++) {
        uint8_t *plain = decode(c, &page, 0, whole, &err);

        for (size_t step = 1; step < 40; step += 13) {
            struct dx_pair_page p = dx_pair_page_of(&page, DX_COLD_VERSION,
                                                    dx_span_of(plain, page.plain_size));
            struct dx_span bytes;
            uint64_t ordinal;
            uint32_t rank;

            for (size_t i = first; i < first + page.entries; i += step) {
                bool between = i > first && step > 1 && entries[i - 1].ordinal < entries[i].ordinal;
                uint64_t at = between ? entries[i - 1].ordinal + 1 : entries[i].ordinal;

                EXPECT(dx_pair_page_seek(&p, at, between ? 0 : entries[i].rank, &ordinal, &rank,
                                         &bytes, &err) == 1 &&
                           ordinal == entries[i].ordinal && rank == entries[i].rank &&
                           dx_span_equal(bytes, bytes_of(i)),
                       "entry %zu in steps of %zu: %s", i, step, err.text);
            }
            EXPECT(first + page.entries == ENTRIES || /* whose last one is the largest */
                       (dx_pair_page_seek(&p, UINT64_MAX, 0, &ordinal, &rank, &bytes, &err) == 0 &&
                        p.left == 0),
                   "behind the last one");
        }
        first += page.entries;
        free(plain);
    }
}

/* The bytes of one pair: 1, 0, <0. */
static int find_pair(const struct dx_cold_page *page, struct dx_span plain, uint64_t ordinal,
                     uint32_t sub, struct dx_span *bytes, struct dx_error *err)
{
    struct dx_pair_page p = dx_pair_page_of(page, DX_COLD_VERSION, plain);
    uint64_t o;
    uint32_t s;
    int rc = dx_pair_page_seek(&p, ordinal, sub, &o, &s, bytes, err);

    return rc == 1 ? o == ordinal && s == sub : rc;
}

static void check_find(const struct built *b, const struct dx_cold *c)
{
    struct dx_span whole = dx_span_of(b->file[DX_COLD_FACTS].data, b->file[DX_COLD_FACTS].size);
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < ENTRIES; i += i == LARGE - 1 ? 1 : 37) {
        struct dx_cold_page page;
        struct dx_span bytes = { NULL, 0 };
        uint8_t *plain;

        EXPECT(dx_cold_find(c, DX_COLD_FACTS, entries[i].ordinal, entries[i].rank, &page, &err) ==
                   1,
               "page of entry %zu: %s", i, err.text);
        plain = decode(c, &page, 0, whole, &err);
        EXPECT(plain != NULL &&
                   find_pair(&page, dx_span_of(plain, page.plain_size), entries[i].ordinal,
                             entries[i].rank, &bytes, &err) == 1 &&
                   dx_span_equal(bytes, bytes_of(i)),
               "entry %zu: %s", i, err.text);
        if (plain != NULL && i > 0 && entries[i - 1].ordinal < entries[i].ordinal)
            EXPECT(find_pair(&page, dx_span_of(plain, page.plain_size), entries[i].ordinal,
                             UINT32_MAX, &bytes, &err) == 0,
                   "entry before %zu: %s", i, err.text);
        free(plain);
    }
    EXPECT(dx_cold_find(c, DX_COLD_FACTS, 0, 0, &(struct dx_cold_page){ .number = 0 }, &err) == 0,
           "before all");
}

/* ---- damage ---- */

struct attempt {
    const struct built *b;
    unsigned flags;
};

/* A damaged directory says the same of every page that it still lists, or nothing. */
static enum verdict try_directory(void *ctx, struct dx_span bytes)
{
    const struct attempt *a = ctx;
    enum verdict v = SAME_ANSWERS;
    struct dx_cold sound;
    struct dx_cold c;

    if (dx_cold_open(&c, bytes, a->flags, "flip", NULL) < 0)
        return REFUSED;
    if (dx_cold_open(&sound, directory_of(a->b), 0, "sound", NULL) < 0)
        abort();
    for (int f = 0; f < DX_COLD_FILES && v == SAME_ANSWERS; f++)
        for (uint32_t i = 0; i <= dx_cold_page_count(&c, (enum dx_cold_file)f); i++) {
            struct dx_cold_page got;
            struct dx_cold_page want;
            int rc = dx_cold_page(&c, (enum dx_cold_file)f, i, &got, NULL);

            if (rc < 0) {
                v = REFUSED;
                break;
            }
            if (rc != dx_cold_page(&sound, (enum dx_cold_file)f, i, &want, NULL) ||
                (rc == 1 && (got.key != want.key || got.offset != want.offset ||
                             got.stored_size != want.stored_size || got.sum != want.sum ||
                             got.plain_size != want.plain_size || got.sub != want.sub ||
                             got.entries != want.entries)))
                v = WRONG_ANSWER;
        }
    if (v == SAME_ANSWERS && dx_cold_verify(&c, NULL) < 0)
        v = REFUSED;
    dx_cold_close(&c);
    dx_cold_close(&sound);
    return v;
}

static void check_directory_damage(const struct built *b)
{
    struct attempt a = { b, 0 };
    struct damaged d = damaged_copy(directory_of(b));
    struct verdicts v = damaged_flips(&d, 0, d.size, 3, try_directory, &a);

    EXPECT(v.count[WRONG_ANSWER] == 0 && v.count[SAME_ANSWERS] == 0, "%zu flips change nothing",
           v.count[SAME_ANSWERS]);
    v = damaged_cuts(&d, try_directory, &a);
    EXPECT(v.count[REFUSED] == d.size, "cuts");
    damaged_free(&d);
}

/* With sums that are true again the bounds must hold: nothing is read beyond, all is returned or
 * refused. */
static void check_bounds(const struct built *b)
{
    struct damaged d = damaged_copy(directory_of(b));
    uint64_t size;
    size_t at = (size_t)(envelope_find(d.bytes, d.size, "FACT", &size) - d.bytes);
    size_t refused = 0;
    size_t tried = 0;

    for (size_t bit = 0; bit < size * 8 + 64 * 8; bit++) {
        size_t byte = bit < 64 * 8 ? bit / 8 : at + (bit - 64 * 8) / 8;
        struct dx_cold c;
        int rc;

        if (byte < 8)
            continue;
        d.bytes[byte] ^= (uint8_t)(1u << (bit & 7));
        envelope_resum(d.bytes, d.size);
        rc = dx_cold_open(&c, dx_span_of(d.bytes, d.size), 0, "bounds", NULL);
        if (rc >= 0) {
            rc = dx_cold_verify(&c, NULL);
            dx_cold_close(&c);
        }
        refused += rc < 0;
        tried++;
        d.bytes[byte] ^= (uint8_t)(1u << (bit & 7));
    }
    /* What is left: keys and sums, entries that are moved between pages, plain sizes. */
    EXPECT(refused * 3 > tried, "%zu of %zu refused", refused, tried);
    damaged_free(&d);
}

/* What a reader holds before it can check it follows from what it is to get: the last page of facts takes more bytes of its file. */
static void check_stored(const struct built *b, uint32_t more, bool fits)
{
    struct damaged d = damaged_copy(directory_of(b));
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_page page;
    struct dx_cold c;
    uint64_t size;
    uint8_t *last = envelope_find(d.bytes, d.size, "FACT", &size) + size - 40;
    int rc;

    dx_store_u64(d.bytes + 16, dx_load_u64(d.bytes + 16) + more);
    dx_store_u32(last + 24, dx_load_u32(last + 24) + more);
    envelope_resum(d.bytes, d.size);
    EXPECT(dx_cold_open(&c, dx_span_of(d.bytes, d.size), 0, "stored", &err) >= 0, "%s", err.text);
    rc = dx_cold_page(&c, DX_COLD_FACTS, (uint32_t)(size / 40) - 1, &page, &err);
    EXPECT(fits ? rc == 1 : rc == DX_E_CORRUPT && strstr(err.text, "takes more bytes") != NULL,
           "%u bytes more: %d: %s", (unsigned)more, rc, err.text);
    dx_cold_close(&c);
    damaged_free(&d);
}

struct page_attempt {
    const struct dx_cold *c;
    struct dx_cold_page page;
    struct dx_span plain; /* as it is */
};

static enum verdict try_page(void *ctx, struct dx_span stored)
{
    const struct page_attempt *a = ctx;
    struct dx_error err = DX_ERROR_INIT;
    uint8_t *plain = malloc(a->page.plain_size);
    enum verdict v = REFUSED;

    if (plain == NULL)
        abort();
    if (dx_cold_decode(a->c, &a->page, decoder, 0, stored, plain, &err) >= 0)
        v = memcmp(plain, a->plain.data, a->plain.size) == 0 ? SAME_ANSWERS : WRONG_ANSWER;
    free(plain);
    return v;
}

/* A plain page whose sum is not asked: entries in order, of its bytes, or refused. */
static enum verdict try_plain(void *ctx, struct dx_span plain)
{
    const struct page_attempt *a = ctx;
    struct dx_pair_page p = dx_pair_page_of(&a->page, DX_COLD_VERSION, plain);
    struct dx_span bytes;
    uint64_t ordinal = 0;
    uint32_t dataset_id = 0;
    size_t total = 0;
    int rc;

    while ((rc = dx_pair_page_next(&p, &ordinal, &dataset_id, &bytes, NULL)) == 1) {
        if (bytes.data < plain.data || bytes.data + bytes.size > plain.data + plain.size)
            return WRONG_ANSWER;
        total += bytes.size;
    }
    return rc < 0 || total >= plain.size ? REFUSED : SAME_ANSWERS;
}

static void check_page_damage(const struct built *b, const struct dx_cold *c)
{
    struct dx_span whole = dx_span_of(b->file[DX_COLD_FACTS].data, b->file[DX_COLD_FACTS].size);
    struct page_attempt a = { .c = c };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span stored = { NULL, 0 };
    struct damaged d;
    struct verdicts v;
    uint8_t *plain;

    EXPECT(dx_cold_page(c, DX_COLD_FACTS, 2, &a.page, &err) == 1, "%s", err.text);
    plain = decode(c, &a.page, 0, whole, &err);
    EXPECT(plain != NULL && dx_span_slice(whole, a.page.offset, a.page.stored_size, &stored), "%s",
           err.text);
    a.plain = dx_span_of(plain, a.page.plain_size);
    d = damaged_copy(stored);
    v = damaged_flips(&d, 0, d.size, 101, try_page, &a);
    EXPECT(v.count[SAME_ANSWERS] == 0 && v.count[WRONG_ANSWER] == 0, "flips of a page");
    damaged_free(&d);
    d = damaged_copy(a.plain);
    v = damaged_flips(&d, 0, d.size, 11, try_plain, &a);
    EXPECT(v.count[WRONG_ANSWER] == 0, "flips of a plain page");
    v = damaged_cuts(&(struct damaged){ d.bytes, 2000, d.base, d.mapped }, try_plain, &a);
    EXPECT(v.count[REFUSED] == 2000, "cuts of a plain page");
    damaged_free(&d);
    free(plain);
}

static void check_places(const struct built *b, const struct dx_cold *c, const struct built *other)
{
    struct dx_span whole = dx_span_of(b->file[DX_COLD_FACTS].data, b->file[DX_COLD_FACTS].size);
    struct dx_cold_page page;
    struct dx_cold_page moved;
    struct dx_cold foreign;

    EXPECT(dx_cold_page(c, DX_COLD_FACTS, 1, &page, NULL) == 1, "page");
    moved = page;
    moved.number = 3;
    EXPECT(decode(c, &moved, 0, whole, NULL) == NULL, "as another page");
    moved = page;
    moved.file = DX_COLD_SKETCHES;
    EXPECT(decode(c, &moved, 0, whole, NULL) == NULL, "as a page of another file");
    EXPECT(dx_cold_open(&foreign, directory_of(other), 0, "other", NULL) >= 0, "open");
    EXPECT(decode(&foreign, &page, 0, whole, NULL) == NULL, "as a page of another build");
    dx_cold_close(&foreign);
}

int main(void)
{
    static struct built b;
    static struct built small;
    static struct built other;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold c;

    decoder = dx_zstd_decoder_new();
    make_entries();
    build(&b, 1, ENTRIES);
    build(&other, 2, ENTRIES);
    EXPECT(dx_cold_open(&c, directory_of(&b), 0, "cold.dxp", &err) >= 0, "%s", err.text);
    EXPECT(dx_cold_page_count(&c, DX_COLD_FACTS) > 4, "pages");
    check_all(&b, &c, DX_COLD_FACTS, ENTRIES);
    check_all(&b, &c, DX_COLD_SKETCHES, ENTRIES / 2);
    check_find(&b, &c);
    check_seek(&b, &c);
    check_places(&b, &c, &other);
    check_directory_damage(&b);
    check_stored(&b, 100, true);
    check_stored(&b, 1u << 30, false);
    check_bounds(&b);
    check_page_damage(&b, &c);
    dx_cold_close(&c);
    build(&small, 1, 0);
    EXPECT(dx_cold_open(&c, directory_of(&small), 0, "cold.dxp", &err) >= 0, "%s", err.text);
    check_all(&small, &c, DX_COLD_FACTS, 0);
    dx_cold_close(&c);
    release(&b);
    release(&other);
    release(&small);
    dx_zstd_decoder_free(&decoder);
    return failures == 0 ? 0 : 1;
}
