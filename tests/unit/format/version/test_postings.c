/* SPDX-License-Identifier: Apache-2.0
 * Postings: files and directory built from a model, each pair found again, absent pairs absent,
 * the plain files as docs/FORMAT.md says, every flip of directory and frames, frames of another
 * place or build.
 */
#include "format/version/postings.h"
#include "tests/support/damage.h"

#include <unistd.h>

#define PAIRS 1500
#define MORE 3 /* pairs: a list over 1 MiB among them */

static int failures;
static struct dx_zstd_decoder *decoder;

struct pair {
    struct dx_pair_place place;
    struct dx_span payload;
};

struct version {
    struct pair pairs[PAIRS + MORE];
    size_t count;
    struct dx_buf payloads;
    struct dx_buf idx;
    struct dx_buf dat;
    struct dx_buf directory;
    unsigned flags;
};

static void add_pair(struct version *v, uint64_t domain, uint32_t dataset, size_t runs)
{
    static struct dx_run list[400000];
    size_t front = v->payloads.size;
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < runs; i++)
        list[i] = (struct dx_run){ (uint32_t)(i / 50000), (uint32_t)(i / 500), i * 7, 1 + i % 3 };
    EXPECT(dx_payload_encode(list, runs, 0, &v->payloads, &err) == DX_OK, "%s", err.text);
    v->pairs[v->count++] = (struct pair){ { domain, dataset }, { NULL, v->payloads.size - front } };
}

static void write_page(struct dx_postings_files *files, struct dx_postings_draft *draft,
                       struct dx_zstd_encoder *encoder, const struct dx_build_id *build)
{
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_postings_draft_encode(draft, files->totals.pages + 1, PAIRS + MORE, build, encoder,
                                    &err) == DX_OK &&
               dx_postings_files_page(files, draft, NULL) < 0,
           "a page out of turn");
    EXPECT(dx_postings_draft_encode(draft, files->totals.pages, PAIRS + MORE, build, encoder,
                                    &err) == DX_OK &&
               dx_postings_files_page(files, draft, &err) == DX_OK,
           "%s", err.text);
    EXPECT(dx_postings_draft_encode(draft, files->totals.pages, PAIRS + MORE, build, encoder,
                                    &err) == DX_OK &&
               dx_postings_files_page(files, draft, NULL) < 0,
           "the same page again");
    dx_postings_draft_clear(draft);
}

static void write_files(struct version *v, const struct dx_build_id *build,
                        struct dx_postings_files *files)
{
    struct dx_zstd_encoder *encoder = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings_draft draft;
    size_t at = 0;
    int rc = dx_zstd_encoder_new(&encoder, 0, &err);

    dx_postings_draft_init(&draft);
    if (rc == DX_OK)
        rc = dx_postings_files_begin(files, v->count, dx_envelope_sink_buf, &v->idx,
                                     dx_envelope_sink_buf, &v->dat, &err);
    for (size_t i = 0; rc >= 0 && i < v->count; i++) {
        struct pair *p = &v->pairs[i];

        p->payload.data = v->payloads.data + at;
        at += p->payload.size;
        EXPECT(dx_postings_files_end(files, NULL) < 0, "before the last pair");
        if (dx_postings_draft_full(&draft, p->payload.size))
            write_page(files, &draft, encoder, build);
        rc = dx_postings_draft_add(&draft, p->place, p->payload, &err);
        EXPECT(dx_postings_draft_add(&draft, p->place, p->payload, NULL) < 0,
               "the same pair again");
        EXPECT(draft.page.entries == DX_POSTINGS_PAGE_ENTRIES ||
                   (dx_postings_draft_add(
                        &draft, (struct dx_pair_place){ p->place.domain, p->place.dataset + 2 },
                        p->payload, NULL) < 0 &&
                    dx_postings_draft_add(&draft, (struct dx_pair_place){ p->place.domain + 1, 1 },
                                          p->payload, NULL) < 0 &&
                    dx_postings_draft_add(&draft, (struct dx_pair_place){ p->place.domain + 2, 0 },
                                          p->payload, NULL) < 0),
               "a pair that does not follow");
    }
    write_page(files, &draft, encoder, build);
    if (rc >= 0)
        rc = dx_postings_files_end(files, &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_postings_draft_release(&draft);
    dx_zstd_encoder_free(&encoder);
}

#define DATASETS 130

/* u32 dataset_id, u32 file_id of each dataset: ids are odd, and the lists of the first one count from file 0. */
static struct dx_span first_files(void)
{
    static uint8_t bytes[DATASETS * 8];

    for (uint32_t i = 0; i < DATASETS; i++) {
        dx_store_u32(bytes + (size_t)8 * i, 2 * i + 1);
        dx_store_u32(bytes + (size_t)8 * i + 4, i * i);
    }
    return dx_span_of(bytes, sizeof bytes);
}

static void build_version(struct version *v, uint8_t build_byte)
{
    struct dx_build_id build = { { build_byte } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings_files files;
    struct dx_postings_writer w;
    struct dx_span records;
    uint64_t seed = 2;
    uint64_t domain = UINT64_MAX;
    uint32_t dataset = 0;
    int rc;

    memset(v, 0, sizeof *v);
    dx_buf_init(&v->directory, 1 << 24);
    dx_buf_init(&v->payloads, 1 << 24);
    dx_buf_init(&v->idx, 1 << 24);
    dx_buf_init(&v->dat, 1 << 24);
    for (size_t i = 0; i < PAIRS; i++) {
        if (i % 3 == 0 || i > 1400)
            domain++;
        dataset = i % 3 == 0 || i > 1400 ? 0 : dataset + 1;
        add_pair(v, domain, dataset, i == 700 ? 120000 : 1 + random_below(&seed, 4));
    }
    add_pair(v, domain + 1, 0, 2);
    add_pair(v, domain + 2, 0, 400000);
    add_pair(v, domain + 2, 1, 1);
    write_files(v, &build, &files);
    records = dx_span_of(files.records.data, files.records.size);
    files.totals.datasets = DATASETS;
    rc = dx_postings_writer_begin(&w, &files.totals, &build, dx_envelope_sink_buf, &v->directory,
                                  &err);
    if (rc >= 0)
        rc = dx_postings_writer_pages(&w, dx_span_of(records.data, 64), &err);
    EXPECT(rc >= 0 && dx_postings_writer_end(&w, first_files(), NULL) < 0, "pages are missing");
    if (rc >= 0)
        rc = dx_postings_writer_pages(&w, dx_span_of(records.data + 64, records.size - 64), &err);
    EXPECT(dx_postings_writer_end(&w, dx_span_of(first_files().data, DATASETS * 8 - 8), NULL) < 0,
           "a dataset is missing");
    if (rc >= 0)
        rc = dx_postings_writer_end(&w, first_files(), &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_postings_writer_release(&w);
    dx_postings_files_release(&files);
}

static void release_version(struct version *v)
{
    dx_buf_release(&v->payloads);
    dx_buf_release(&v->idx);
    dx_buf_release(&v->dat);
    dx_buf_release(&v->directory);
}

/* Everything a request does; the payload is borrowed from *plain_dat, which the caller frees. */
static int look_up(const struct dx_postings *p, const struct version *s, struct dx_pair_place place,
                   uint8_t **plain_dat, struct dx_span *payload, struct dx_error *err)
{
    uint8_t plain[DX_POSTINGS_IDX_PLAIN_MAX];
    struct dx_postings_page page;
    struct dx_posting posting;
    struct dx_span bytes;
    int rc = dx_postings_page_find(p, place, &page, err);

    if (rc <= 0)
        return rc;
    if (!dx_span_slice(dx_span_of(s->idx.data, s->idx.size), page.idx_offset, page.idx_size,
                       &bytes))
        return DX_E_TRUNCATED;
    rc = dx_postings_idx_decode(&page, decoder, 0, bytes, plain, err);
    if (rc >= 0)
        rc = dx_postings_entry_find(&page, dx_span_of(plain, page.idx_plain), place, &posting, err);
    if (rc <= 0)
        return rc;
    if (!dx_span_slice(dx_span_of(s->dat.data, s->dat.size), page.dat_offset, page.dat_size,
                       &bytes))
        return DX_E_TRUNCATED;
    *plain_dat = malloc(page.dat_plain);
    rc = dx_postings_dat_decode(&page, decoder, 0, bytes, *plain_dat, err);
    if (rc >= 0)
        rc = dx_postings_payload(&page, dx_span_of(*plain_dat, page.dat_plain), &posting, payload,
                                 err);
    return rc < 0 ? rc : 1;
}

static void test_first_files(const struct version *v)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings p;
    struct dx_payload list;
    uint32_t file;

    EXPECT(dx_postings_open(&p, dx_span_of(v->directory.data, v->directory.size), 0, "p.dxp",
                            &err) == DX_OK,
           "%s", err.text);
    for (uint32_t i = 0; i < DATASETS; i++) {
        EXPECT(dx_postings_first_file(&p, 2 * i + 1, &file, &err) == 1 && file == i * i,
               "dataset %u: %s", 2 * i + 1, err.text);
        EXPECT(dx_postings_first_file(&p, 2 * i, &file, &err) == 0, "dataset %u", 2 * i);
        EXPECT(dx_postings_list(&p, 0, 2 * i + 1, dx_span_of("\x06\x05\x00", 3), "list", &list,
                                &err) == DX_OK &&
                   list.before.file_id == i * i + 3,
               "list of dataset %u: %s", 2 * i + 1, err.text);
    }
    EXPECT(dx_postings_list(&p, 0, 2 * DATASETS + 1, dx_span_of("\x06\x05\x00", 3), "list", &list,
                            &err) == DX_E_CORRUPT &&
               strstr(err.text, "no first file of dataset 261") != NULL,
           "%s", err.text);
    dx_postings_close(&p);
}

static void test_lookups(const struct version *v)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings p;

    EXPECT(dx_postings_open(&p, dx_span_of(v->directory.data, v->directory.size),
                            DX_OPEN_VERIFY_ALL, "p.dxp", &err) == DX_OK,
           "%s", err.text);
    for (size_t k = 0; k < v->count; k++) {
        const struct pair *want = &v->pairs[k];
        struct dx_payload list;
        struct dx_span payload = { NULL, 0 };
        uint8_t *plain = NULL;
        bool last = k + 1 == v->count || v->pairs[k + 1].place.domain != want->place.domain;
        int rc = look_up(&p, v, want->place, &plain, &payload, &err);

        EXPECT(rc == 1 && dx_span_equal(payload, want->payload), "pair %zu: %s", k, err.text);
        EXPECT(dx_postings_list(&p, want->place.domain, 1, payload, "list", &list, &err) == DX_OK,
               "pair %zu: %s", k, err.text);
        free(plain);
        plain = NULL;
        rc = look_up(&p, v,
                     (struct dx_pair_place){ want->place.domain,
                                             last ? want->place.dataset + 1 : UINT32_MAX },
                     &plain, &payload, &err);
        EXPECT(rc == 0, "pair %zu: behind the last of the domain: %d", k, rc);
        free(plain);
    }
    EXPECT(look_up(&p, v, (struct dx_pair_place){ p.totals.domains, 0 }, &(uint8_t *){ NULL },
                   &(struct dx_span){ NULL, 0 }, &err) == 0,
           "behind all pages");
    dx_postings_close(&p);
}

/* The directory alone: pages compared with those of the sound file. */
static enum verdict try_directory(void *ctx, struct dx_span file)
{
    const struct version *v = ctx;
    struct dx_postings sound;
    struct dx_postings p;
    enum verdict verdict = SAME_ANSWERS;

    if (dx_postings_open(&p, file, v->flags, "p.dxp", NULL) < 0)
        return REFUSED;
    if (dx_postings_open(&sound, dx_span_of(v->directory.data, v->directory.size),
                         DX_OPEN_UNCHECKED, "p.dxp", NULL) < 0)
        abort();
    for (size_t k = 0; k < v->count; k += 97) {
        struct dx_postings_page want;
        struct dx_postings_page got;

        memset(&want, 0, sizeof want);
        memset(&got, 0, sizeof got);
        (void)dx_postings_page_find(&sound, v->pairs[k].place, &want, NULL);
        if (dx_postings_page_find(&p, v->pairs[k].place, &got, NULL) < 0)
            verdict = verdict == SAME_ANSWERS ? REFUSED : verdict;
        else if (memcmp(&want, &got, sizeof want) != 0)
            verdict = WRONG_ANSWER;
    }
    for (uint32_t id = 0; id < 2 * DATASETS; id += 7) {
        uint32_t want = 0;
        uint32_t got = 0;
        int there = dx_postings_first_file(&sound, id, &want, NULL);
        int rc = dx_postings_first_file(&p, id, &got, NULL);

        if (rc < 0)
            verdict = verdict == SAME_ANSWERS ? REFUSED : verdict;
        else if (rc != there || want != got)
            verdict = WRONG_ANSWER;
    }
    dx_postings_close(&sound);
    dx_postings_close(&p);
    return (v->flags & DX_OPEN_UNCHECKED) != 0 ? REFUSED : verdict;
}

static void test_directory_damage(struct version *v)
{
    struct damaged d = damaged_copy(dx_span_of(v->directory.data, v->directory.size));
    struct verdicts r;

    v->flags = 0;
    r = damaged_flips(&d, 0, d.size, 1, try_directory, v);
    EXPECT(r.count[WRONG_ANSWER] == 0, "%zu wrong", r.count[WRONG_ANSWER]);
    v->flags = DX_OPEN_VERIFY_ALL;
    r = damaged_flips(&d, 0, d.size, 1, try_directory, v);
    EXPECT(r.count[SAME_ANSWERS] + r.count[WRONG_ANSWER] == 0, "all of it");
    v->flags = DX_OPEN_UNCHECKED;
    (void)damaged_flips(&d, 0, d.size, 1, try_directory, v);
    v->flags = 0;
    for (size_t n = 0; n<d.size; n += n + 300> d.size ? 1 : 101)
        EXPECT(try_directory(v, dx_span_of(d.bytes, n)) == REFUSED, "cut to %zu", n);
    damaged_free(&d);
}

static void test_sections(const struct version *v)
{
    static const struct {
        const char *tag;
        size_t at;
        uint8_t value;
        const char *say;
    } rows[] = {
        { NULL, 0, 'x', "does not begin" },
        { NULL, 4, 1, "version" },
        { NULL, 8, 1, "entries a page" },
        { NULL, 12, 1, "section FILE" },
        { NULL, 16, 4, "PAGE" },
        { NULL, 16, 99, "section PAGE" },
        { NULL, 20, 1, "pages cannot have" },
        { NULL, 27, 99, "pages cannot have" },
        { NULL, 14, 99, "cannot have" },
        { NULL, 55, 99, "cannot have" },
        { NULL, 63, 99, "reserved" },
        { "PAGE", 14, 1, "entries is not in" },
        { "PAGE", 22, 1, "idx frame is not within" },
        { "PAGE", 30, 1, "dat frame is not within" },
        { "PAGE", 35, 1, "idx frame is not within" },
        { "PAGE", 38, 1, "plain idx size" },
        { "PAGE", 43, 1, "dat frame is not within" },
        { "PAGE", 47, 1, "plain dat size" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_of(v->directory.data, v->directory.size));
        struct dx_postings_page page;
        struct dx_error err = DX_ERROR_INIT;
        struct dx_postings p;
        uint64_t size;
        uint8_t *at = rows[i].tag == NULL ? d.bytes
                                          : envelope_find(d.bytes, d.size, rows[i].tag, &size);
        int rc;

        at[rows[i].at] = rows[i].value;
        envelope_resum(d.bytes, d.size);
        rc = dx_postings_open(&p, dx_span_of(d.bytes, d.size), 0, "p.dxp", &err);
        if (rc >= 0)
            rc = dx_postings_page_at(&p, 0, &page, &err);
        EXPECT(rc < 0 && strstr(err.text, rows[i].say) != NULL, "row %zu (%s): rc %d, '%s'", i,
               rows[i].say, rc, err.text);
        dx_postings_close(&p);
        damaged_free(&d);
    }
}

struct frame_try {
    struct dx_postings_page page;
    unsigned flags;
    bool dat;
    uint8_t *plain;
    const uint8_t *want;
};

static enum verdict try_frame(void *ctx, struct dx_span s)
{
    const struct frame_try *t = ctx;
    size_t size = t->dat ? t->page.dat_plain : t->page.idx_plain;
    struct dx_posting posting;
    int rc = t->dat ? dx_postings_dat_decode(&t->page, decoder, t->flags, s, t->plain, NULL)
                    : dx_postings_idx_decode(&t->page, decoder, t->flags, s, t->plain, NULL);

    if (rc < 0)
        return REFUSED;
    if (!t->dat)
        for (uint32_t i = 0;
             dx_postings_entry_at(&t->page, dx_span_of(t->plain, size), i, &posting, NULL) == 1;
             i++)
            if (posting.payload_offset > t->page.dat_plain ||
                posting.payload_size > t->page.dat_plain - posting.payload_offset)
                return WRONG_ANSWER;
    return t->want == NULL || memcmp(t->plain, t->want, size) == 0 ? SAME_ANSWERS : WRONG_ANSWER;
}

static void test_frames(const struct version *v, const struct version *other)
{
    struct frame_try t = { .flags = 0 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings_page second;
    struct dx_postings p;
    struct dx_postings q;

    (void)dx_postings_open(&p, dx_span_of(v->directory.data, v->directory.size), 0, "p", &err);
    (void)dx_postings_open(&q, dx_span_of(other->directory.data, other->directory.size), 0, "q",
                           &err);
    for (int dat = 0; dat < 2; dat++) {
        const struct dx_buf *file = dat ? &v->dat : &v->idx;
        struct damaged d;
        struct verdicts r;
        size_t size;

        EXPECT(dx_postings_page_at(&p, 0, &t.page, &err) == 1 &&
                   dx_postings_page_at(&p, 1, &second, &err) == 1,
               "%s", err.text);
        t.dat = dat != 0;
        size = dat ? t.page.dat_plain : t.page.idx_plain;
        t.plain = malloc(size);
        d = damaged_copy(dat ? dx_span_of(file->data + t.page.dat_offset, t.page.dat_size)
                             : dx_span_of(file->data + t.page.idx_offset, t.page.idx_size));
        EXPECT(try_frame(&t, dx_span_of(d.bytes, d.size)) == SAME_ANSWERS, "sound frame");
        r = damaged_flips(&d, 0, d.size, 1, try_frame, &t);
        EXPECT(r.count[REFUSED] == r.all, "dat %d", dat);
        r = damaged_cuts(&d, try_frame, &t);
        EXPECT(r.count[REFUSED] == d.size, "dat %d", dat);
        t.flags = DX_OPEN_UNCHECKED; /* zstd's own checksum and our bounds remain */
        r = damaged_flips(&d, 0, d.size, 1, try_frame, &t);
        EXPECT(r.count[WRONG_ANSWER] == 0, "dat %d", dat);
        t.flags = 0;
        t.page.number = 1; /* the same bytes as another page */
        EXPECT(try_frame(&t, dx_span_of(d.bytes, d.size)) == REFUSED, "as another page");
        (void)dx_postings_page_at(&q, 0, &second, &err);
        t.page.number = 0;
        t.page.build = second.build;
        EXPECT(try_frame(&t, dx_span_of(d.bytes, d.size)) == REFUSED, "under another build");
        free(t.plain);
        damaged_free(&d);
    }
    dx_postings_close(&p);
    dx_postings_close(&q);
}

/* The first page with other plain bytes, compressed again: the sums are believed. */
static int decode_changed(const struct dx_postings_page *page, struct dx_span plain,
                          uint8_t *entries, struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT(1 << 20);
    struct dx_postings_page changed = *page;
    struct dx_zseek_writer w;
    int rc;

    (void)dx_zseek_writer_init(&w, 0, dx_envelope_sink_buf, &out, err);
    (void)dx_zseek_writer_frame(&w, plain, NULL, err);
    changed.idx_size = (uint32_t)out.size;
    changed.idx_packed = (uint32_t)plain.size;
    rc = dx_postings_idx_decode(&changed, decoder, DX_OPEN_UNCHECKED,
                                dx_span_of(out.data, out.size), entries, err);
    dx_zseek_writer_release(&w);
    dx_buf_release(&out);
    return rc;
}

static void test_plain_damage(const struct version *v)
{
    static const struct {
        size_t at;
        uint8_t value;
        const char *say; /* NULL: accepted */
    } rows[] = {
        { 8, 0xdf, NULL }, /* N as it is */
        { 0, 'X', "PDX1" },
        { 4, 2, "another version than the directory" },
        { 9, 0, "another number of entries" },
        { 16, 1, "another number of entries" },
        { 18, 0xee, "begin with the pair" },
        { 25, 0xff, "begin with the pair" },
        { 26, 7, "begin with the pair" },
        { 30, 64, "unknown code" },
        { 30, 255, "unknown code" },
        { 30, 0, "idx" },
        { 30, 63, "idx" },
    };
    uint8_t sound[DX_POSTINGS_IDX_PACKED_MAX];
    uint8_t plain[DX_POSTINGS_IDX_PACKED_MAX];
    uint8_t entries[DX_POSTINGS_IDX_PLAIN_MAX];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings_page page;
    struct dx_postings p;
    size_t accepted = 0;

    (void)dx_postings_open(&p, dx_span_of(v->directory.data, v->directory.size), 0, "p", &err);
    (void)dx_postings_page_at(&p, 0, &page, &err);
    EXPECT(page.entries == 512 &&
               dx_zstd_frame_decode(decoder,
                                    dx_span_of(v->idx.data + page.idx_offset, page.idx_size),
                                    page.idx_packed, sound, &err) == DX_OK,
           "%s", err.text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int rc;

        memcpy(plain, sound, sizeof plain);
        plain[rows[i].at] = rows[i].value;
        rc = decode_changed(&page, dx_span_of(plain, page.idx_packed), entries, &err);
        EXPECT(rows[i].say == NULL ? rc == DX_OK : rc < 0 && strstr(err.text, rows[i].say) != NULL,
               "row %zu (%s): rc %d, '%s'", i, rows[i].say, rc, err.text);
    }
    memcpy(plain, sound, sizeof plain);
    plain[page.idx_packed] = 0;
    EXPECT(decode_changed(&page, dx_span_of(plain, page.idx_packed + 1u), entries, &err) < 0 &&
               strstr(err.text, "behind its last entry") != NULL,
           "a byte more: %s", err.text);
    for (uint32_t n = 1; n < page.idx_packed; n += 1 + n / 50)
        EXPECT(decode_changed(&page, dx_span_of(sound, n), entries, &err) < 0, "cut to %u",
               (unsigned)n);
    for (size_t bit = 31 * 8; bit < page.idx_packed * 8u; bit += 3) {
        plain[bit / 8] ^= (uint8_t)(1u << (bit & 7));
        accepted += decode_changed(&page, dx_span_of(plain, page.idx_packed), entries, &err) >= 0;
        plain[bit / 8] ^= (uint8_t)(1u << (bit & 7));
    }
    printf("%u bytes of a plain page: %zu flips say other pairs\n", (unsigned)page.idx_packed,
           accepted);
    dx_postings_close(&p);
}

/* Bits as FORMAT.md section 8.1 says, one by one. */
struct by_hand {
    const uint8_t *bytes;
    size_t bit;
};

static uint64_t hand_bits(struct by_hand *h, unsigned count)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < count; i++, h->bit++)
        v |= (uint64_t)(h->bytes[h->bit / 8] >> h->bit % 8 & 1) << i;
    return v;
}

static uint64_t hand_rice(struct by_hand *h, unsigned k)
{
    uint64_t ones = 0;

    while (ones < 32 && hand_bits(h, 1) == 1)
        ones++;
    return ones == 32 ? hand_bits(h, 64) : ones << k | hand_bits(h, k);
}

/* All pairs of a plain idx; bytes that were used. */
static size_t hand_idx(const struct version *s, const uint8_t *idx)
{
    struct by_hand h = { idx, 16 * 8 };

    for (size_t i = 0; i < s->count;) {
        uint64_t entries = hand_bits(&h, 16);
        uint64_t domain = hand_bits(&h, 64);
        uint64_t dataset = hand_bits(&h, 32);
        unsigned k = (unsigned)hand_bits(&h, 8);

        EXPECT(entries > 0 && entries <= 512 && entries <= s->count - i, "%u entries",
               (unsigned)entries);
        if (entries == 0 || entries > s->count - i)
            return 0;
        for (uint64_t n = 0; n < entries; n++, i++) {
            bool again = n > 0 && hand_bits(&h, 1) == 1;

            domain += n > 0 && !again;
            dataset = n == 0 ? dataset : again ? dataset + 1 : 0;
            EXPECT(domain == s->pairs[i].place.domain && dataset == s->pairs[i].place.dataset &&
                       hand_rice(&h, k) + 3 == s->pairs[i].payload.size,
                   "entry %zu", i);
        }
        h.bit = (h.bit + 7) / 8 * 8;
    }
    return h.bit / 8;
}

/* `zstd -dc` of the two files, read by hand as section 8 describes them. */
static void test_plain(const struct version *s)
{
    struct dx_buf plain[2] = { DX_BUF_INIT(1 << 24), DX_BUF_INIT(1 << 24) };
    const struct dx_buf *files[2] = { &s->idx, &s->dat };

    for (int i = 0; i < 2; i++) {
        char path[] = "/tmp/dx_test_postings_XXXXXX";
        char command[100];
        int fd = mkstemp(path);
        FILE *pipe;
        uint8_t chunk[4096];
        size_t n;

        if (fd < 0 || write(fd, files[i]->data, files[i]->size) != (ssize_t)files[i]->size)
            abort();
        (void)close(fd);
        (void)snprintf(command, sizeof command, "zstd -dcq < %s", path);
        pipe = popen(command, "r");
        while ((n = fread(chunk, 1, sizeof chunk, pipe)) > 0)
            dx_buf_append(&plain[i], chunk, n);
        EXPECT(pclose(pipe) == 0, "%s", command);
        (void)unlink(path);
    }
    const uint8_t *idx = plain[0].data;
    struct dx_posting first[3];
    struct dx_error err = DX_ERROR_INIT;
    uint64_t entries = 0;
    bool by_ids = true;
    int count = dx_postings_idx_peek(dx_span_of(idx, plain[0].size), &entries, &by_ids, first, 3,
                                     &err);

    EXPECT(plain[0].size > 30 && memcmp(idx, "PDX1\3\0\0\0", 8) == 0 &&
               dx_load_u64(idx + 8) == s->count,
           "header of idx, %zu bytes", plain[0].size);
    EXPECT(hand_idx(s, idx) == plain[0].size, "all of idx, %zu bytes", plain[0].size);
    EXPECT(count == 3 && !by_ids && entries == s->count, "the first entries: %d %s", count,
           err.text);
    for (int i = 0; i < count; i++)
        EXPECT(first[i].place.domain == s->pairs[i].place.domain &&
                   first[i].place.dataset == s->pairs[i].place.dataset &&
                   first[i].payload_offset ==
                       (size_t)(s->pairs[i].payload.data - s->pairs[0].payload.data) &&
                   first[i].payload_size == s->pairs[i].payload.size,
               "entry %d", i);
    EXPECT(plain[1].size == s->payloads.size &&
               memcmp(plain[1].data, s->payloads.data, plain[1].size) == 0,
           "dat is the payloads, %zu bytes", plain[1].size);
    dx_buf_release(&plain[0]);
    dx_buf_release(&plain[1]);
}

/* What a reader holds before it can check it follows from what it is to get. */
static void check_stored(uint32_t idx_size, uint32_t dat_size, bool fits)
{
    static const uint8_t first_file[8] = { 1 };
    const struct dx_postings_totals totals = { .pages = 1,
                                               .pairs = 1,
                                               .domains = 1,
                                               .datasets = 1,
                                               .idx_size = UINT32_MAX,
                                               .dat_size = UINT32_MAX };
    const struct dx_build_id build = { { 9 } };
    struct dx_buf file = DX_BUF_INIT(1 << 16);
    struct dx_buf record = DX_BUF_INIT(64);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings_page page;
    struct dx_postings_writer w;
    struct dx_postings p;
    int rc = dx_postings_writer_begin(&w, &totals, &build, dx_envelope_sink_buf, &file, &err);

    dx_buf_zero(&record, 12);
    dx_buf_u32(&record, 1);
    dx_buf_zero(&record, 16);
    dx_buf_u32(&record, idx_size);
    dx_buf_u32(&record, 40);
    dx_buf_u32(&record, dat_size);
    dx_buf_u32(&record, 20);
    dx_buf_zero(&record, 16);
    if (rc >= 0)
        rc = dx_postings_writer_pages(&w, dx_span_of(record.data, record.size), &err);
    if (rc >= 0)
        rc = dx_postings_writer_end(&w, dx_span_of(first_file, sizeof first_file), &err);
    dx_postings_writer_release(&w);
    if (rc >= 0)
        rc = dx_postings_open(&p, dx_span_of(file.data, file.size), 0, "p", &err);
    EXPECT(rc >= 0, "%s", err.text);
    rc = dx_postings_page_at(&p, 0, &page, &err);
    EXPECT(fits ? rc == 1 : rc == DX_E_CORRUPT && strstr(err.text, "takes more bytes") != NULL,
           "%u and %u bytes: %d: %s", (unsigned)idx_size, (unsigned)dat_size, rc, err.text);
    dx_postings_close(&p);
    dx_buf_release(&record);
    dx_buf_release(&file);
}

/* A directory alone, whose pages begin where `first` says: however ids lie, the last page that does
 * not begin behind the pair is found. */
static void search(size_t pages, uint64_t (*first)(size_t i))
{
    static const uint8_t first_file[8] = { 1 };
    const struct dx_postings_totals totals = { .pages = pages,
                                               .pairs = pages,
                                               .domains = pages,
                                               .datasets = pages > 0,
                                               .idx_size = UINT32_MAX,
                                               .dat_size = UINT32_MAX };
    const struct dx_build_id build = { { 9 } };
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings_writer w;
    struct dx_postings p;
    int rc = dx_postings_writer_begin(&w, &totals, &build, dx_envelope_sink_buf, &file, &err);

    for (size_t i = 0; rc >= 0 && i < pages; i++) {
        struct dx_buf record = DX_BUF_INIT(64);

        dx_buf_u64(&record, first(i));
        dx_buf_u32(&record, 5);
        dx_buf_u32(&record, 1);
        dx_buf_zero(&record, 16);
        for (int k = 0; k < 4; k++)
            dx_buf_u32(&record, 20);
        dx_buf_zero(&record, 16);
        rc = dx_postings_writer_pages(&w, dx_span_of(record.data, record.size), &err);
        dx_buf_release(&record);
    }
    if (rc >= 0)
        rc = dx_postings_writer_end(&w, dx_span_of(first_file, 8 * totals.datasets), &err);
    if (rc >= 0)
        rc = dx_postings_open(&p, dx_span_of(file.data, file.size), 0, "p", &err);
    EXPECT(rc >= 0, "%s", err.text);
    for (size_t i = 0; rc >= 0 && i < pages; i++) {
        struct dx_postings_page page = { .number = UINT32_MAX };

        EXPECT(dx_postings_page_find(&p, (struct dx_pair_place){ first(i), 5 }, &page, &err) == 1 &&
                   page.number == i,
               "page %zu of %zu", i, pages);
        rc = dx_postings_page_find(&p, (struct dx_pair_place){ first(i), 4 }, &page, &err);
        EXPECT(rc == (i > 0) && (i == 0 || page.number == i - 1), "before page %zu of %zu", i,
               pages);
        EXPECT(dx_postings_page_find(&p, (struct dx_pair_place){ first(i), 6 }, &page, &err) == 1 &&
                   page.number == i,
               "in page %zu of %zu", i, pages);
    }
    EXPECT(dx_postings_page_find(&p, (struct dx_pair_place){ UINT64_MAX, 9 },
                                 &(struct dx_postings_page){ 0 }, &err) == (pages > 0),
           "behind all of %zu", pages);
    dx_postings_writer_release(&w);
    dx_postings_close(&p);
    dx_buf_release(&file);
}

static uint64_t evenly(size_t i)
{
    return (uint64_t)i * (UINT64_MAX / 2100) + (i * 2654435761u & 0xffffff);
}

static uint64_t all_low(size_t i)
{
    return (uint64_t)i * 3;
}

static uint64_t all_high(size_t i)
{
    return UINT64_MAX - 10000 + i;
}

static void test_search(void)
{
    for (size_t pages = 0; pages < 40; pages++) {
        search(pages, evenly);
        search(pages, all_low);
        search(pages, all_high);
    }
    search(2000, evenly);
    search(2000, all_low);
    search(2000, all_high);
}

/* Pages that come otherwise than announced, and payloads that no list has. */
static void test_refused_pages(void)
{
    static const struct {
        uint64_t number, pairs, want; /* of the page; of the files */
        struct dx_pair_place place;
        const char *say;
    } rows[] = {
        { 1, 2, 2, { 0, 0 }, "page 1 comes out of turn" },
        { 0, 3, 2, { 0, 0 }, "has more pairs than were announced" },
        { 0, 0, 0, { 0, 0 }, "has more pairs than were announced" },
        { 0, 2, 2, { 1, 0 }, "is not of the first pair" },
        { 0, 2, 2, { 0, 1 }, "is not of the first pair" },
        { 0, 2, 2, { 0, 0 }, "1 pairs came, 2 were announced" },
        { UINT64_C(1) << 32, 2, 2, { 0, 0 }, "more than 4294967295 pages" },
    };
    static uint8_t large[DX_PAYLOAD_MAX + 1];
    const struct dx_build_id build = { { 1 } };
    struct dx_zstd_encoder *encoder = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_postings_draft draft;
    struct dx_postings_writer w;
    struct dx_postings_totals totals = { .datasets = 2 };
    struct dx_buf idx = DX_BUF_INIT(1 << 20), dat = DX_BUF_INIT(1 << 20);
    uint8_t files[16] = { 0 };

    EXPECT(dx_zstd_encoder_new(&encoder, 0, &err) == DX_OK, "%s", err.text);
    dx_postings_draft_init(&draft);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_postings_files f;
        int rc;

        EXPECT(dx_postings_files_begin(&f, rows[i].want, dx_envelope_sink_buf, &idx,
                                       dx_envelope_sink_buf, &dat, &err) == DX_OK,
               "%s", err.text);
        EXPECT(dx_postings_draft_add(&draft, rows[i].place, dx_span_of(large, 100), &err) == DX_OK,
               "%s", err.text);
        rc = dx_postings_draft_encode(&draft, rows[i].number, rows[i].pairs, &build, encoder, &err);
        if (rc == DX_OK)
            rc = dx_postings_files_page(&f, &draft, &err);
        if (rc == DX_OK)
            rc = dx_postings_files_end(&f, &err);
        EXPECT(rc < 0 && strstr(err.text, rows[i].say) != NULL, "row %zu: %d, %s", i, rc, err.text);
        dx_postings_files_release(&f);
        dx_postings_draft_clear(&draft);
    }
    EXPECT(dx_postings_draft_add(&draft, rows[0].place, dx_span_of(large, DX_PAYLOAD_MIN - 1),
                                 &err) == DX_E_INVALID &&
               strstr(err.text, "too short or too long") != NULL,
           "%s", err.text);
    EXPECT(dx_postings_draft_add(&draft, rows[0].place, dx_span_of(large, sizeof large), &err) ==
                   DX_E_INVALID &&
               strstr(err.text, "too short or too long") != NULL,
           "%s", err.text);
    dx_postings_draft_release(&draft);
    dx_zstd_encoder_free(&encoder);
    dx_buf_clear(&idx);
    EXPECT(dx_postings_writer_begin(&w, &totals, &build, dx_envelope_sink_buf, &idx, &err) >= 0,
           "%s", err.text);
    EXPECT(dx_postings_writer_pages(&w, dx_span_of(large, DX_POSTINGS_PAGE_RECORD - 1), &err) ==
                   DX_E_INVALID &&
               strstr(err.text, "are not whole page records") != NULL,
           "%s", err.text);
    files[0] = files[8] = 7;
    EXPECT(dx_postings_writer_end(&w, dx_span_of(files, sizeof files), &err) == DX_E_INVALID &&
               strstr(err.text, "are not in order of datasets") != NULL,
           "%s", err.text);
    dx_postings_writer_release(&w);
    dx_buf_release(&idx);
    dx_buf_release(&dat);
}

int main(void)
{
    struct version *v = malloc(sizeof *v);
    struct version *other = malloc(sizeof *other);

    decoder = dx_zstd_decoder_new();
    build_version(v, 1);
    build_version(other, 2);
    test_refused_pages();
    test_first_files(v);
    test_lookups(v);
    test_plain(v);
    check_stored(4000, 4000, true);
    check_stored(1u << 30, 20, false);
    check_stored(20, 1u << 30, false);
    test_search();
    test_sections(v);
    test_frames(v, other);
    test_plain_damage(v);
    test_directory_damage(v);
    release_version(v);
    release_version(other);
    free(v);
    free(other);
    dx_zstd_decoder_free(&decoder);
    return failures > 0;
}
