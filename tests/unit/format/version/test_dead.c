/* SPDX-License-Identifier: Apache-2.0
 * dead.dxb: what is written comes back; every flip and cut is found; what the writer refuses.
 */
#include "format/version/dead.h"
#include "tests/support/damage.h"

#include <roaring/roaring.h>

#define PARTS 3

static int failures;

static const struct dx_build_id builds[PARTS + 1] = { { { 1 } }, { { 2 } }, { { 3 } }, { { 9 } } };

/* Part 0 with every third of 5,000 domains, part 1 with none, part 2 with one. */
static void add_part(struct dx_dead_writer *w, unsigned i)
{
    roaring_bitmap_t *b = roaring_bitmap_create();
    struct dx_error err = DX_ERROR_INIT;

    for (uint32_t k = 0; i == 0 && k < 5000; k += 3)
        roaring_bitmap_add(b, k);
    if (i == 2)
        roaring_bitmap_add(b, 7);
    EXPECT(dx_dead_writer_part(w, &builds[i], i == 2 ? 8 : 5000, b, &err) == DX_OK, "%s", err.text);
    for (uint32_t k = 1; i != 1 && k <= (i == 0 ? 400u : 2u); k++) {
        const struct dx_dead_rank rank = { 1 + k / 100, k, i == 0 ? 1 + k % 7 : 1 };

        EXPECT(dx_dead_writer_rank(w, &rank, &err) == DX_OK, "%s", err.text);
        EXPECT(dx_dead_writer_rank(w, &rank, NULL) == DX_E_INVALID, "the same rank twice");
    }
    roaring_bitmap_free(b);
}

static void write_all(struct dx_buf *file)
{
    roaring_bitmap_t *gone = roaring_bitmap_create();
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dead_writer w;

    dx_dead_writer_init(&w);
    for (unsigned i = 0; i < PARTS; i++)
        add_part(&w, i);
    for (uint32_t k = 2; k <= 40; k += 2)
        roaring_bitmap_add(gone, k);
    EXPECT(dx_dead_writer_gone(&w, gone, &err) == DX_OK, "%s", err.text);
    roaring_bitmap_free(gone);
    EXPECT(dx_dead_writer_end(&w, &builds[PARTS], dx_envelope_sink_buf, file, &err) == DX_OK, "%s",
           err.text);
    dx_dead_writer_release(&w);
}

static void check_part(const struct dx_dead *d, unsigned i)
{
    static const uint64_t domains[PARTS] = { 1667, 0, 1 }, ranks[PARTS] = { 400, 0, 2 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset_set set;
    struct dx_dead_part p;
    uint32_t ids[2000];

    EXPECT(dx_dead_part(d, i, &p, &err) == DX_OK && p.domains == domains[i] &&
               p.ranks == ranks[i] && memcmp(&p.build, &builds[i], sizeof p.build) == 0,
           "part %u: %s", i, err.text);
    for (uint64_t k = 0; k < p.ranks; k++) {
        struct dx_dead_rank r;

        EXPECT(dx_dead_rank(d, &p, k, &r, &err) == DX_OK && r.url_count == k + 1 &&
                   r.dataset_id == 1 + (k + 1) / 100 && r.domains == (i == 0 ? 1 + (k + 1) % 7 : 1),
               "rank %llu: %s", (unsigned long long)k, err.text);
    }
    if (p.domains == 0)
        return;
    EXPECT(dx_dead_ordinals(d, &p, &set, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_dataset_set_ids(&set, ids, 2000) == p.domains, "count");
    for (uint64_t k = 0; k < p.domains; k++)
        EXPECT(ids[k] == (i == 0 ? 3 * k : 7), "ordinal %u", (unsigned)ids[k]);
}

static int read_all(struct dx_span file)
{
    struct dx_dataset_set gone;
    struct dx_dead d;
    int rc = dx_dead_open(&d, file, DX_OPEN_VERIFY_ALL, "dead.dxb", NULL);

    for (uint64_t i = 0; rc >= 0 && i < d.parts; i++) {
        struct dx_dataset_set set;
        struct dx_dead_part p;

        rc = dx_dead_part(&d, i, &p, NULL);
        if (rc >= 0 && p.domains > 0)
            rc = dx_dead_ordinals(&d, &p, &set, NULL);
    }
    if (rc >= 0)
        rc = dx_dead_gone(&d, &gone, NULL);
    dx_dead_close(&d);
    return rc;
}

static void check_damage(const struct dx_buf *file)
{
    uint8_t *copy = malloc(file->size);

    memcpy(copy, file->data, file->size);
    for (size_t i = 0; i < file->size; i += 1 + i % 5) {
        copy[i] ^= (uint8_t)(1u << i % 8);
        EXPECT(read_all(dx_span_of(copy, file->size)) < 0, "flip at %zu", i);
        copy[i] = file->data[i];
    }
    for (size_t n = 0; n < file->size; n += 1 + n / 16)
        EXPECT(read_all(dx_span_of(copy, n)) < 0, "cut at %zu", n);
    EXPECT(read_all(dx_span_of(copy, file->size)) == DX_OK, "sound");
    free(copy);
}

/* Sound sums, and a header that says another number of parts. */
static void check_parts(const struct dx_buf *file)
{
    static const uint64_t counts[] = { 0, PARTS + 1, UINT64_MAX };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dead dead;

        for (unsigned k = 0; k < 8; k++)
            d.bytes[8 + k] = (uint8_t)(counts[i] >> 8 * k);
        envelope_resum(d.bytes, d.size);
        EXPECT(dx_dead_open(&dead, dx_span_of(d.bytes, d.size), 0, "dead.dxb", &err) ==
                       DX_E_CORRUPT &&
                   (i == 1 || strstr(err.text, " parts") != NULL),
               "%llu parts: %s", (unsigned long long)counts[i], err.text);
        damaged_free(&d);
    }
}

/* Sound sums, and one rank of part 0 that cannot be. */
static void check_ranks(const struct dx_buf *file)
{
    static const struct {
        uint64_t k, url_count, domains;
    } rows[] = {
        { 0, 0, 2 },          /* of no URLs */
        { 1, 2, 0 },          /* of no domains */
        { 1, 2, 1668 },       /* of more than are dead */
        { 1, 2, UINT64_MAX }, /* the same */
        { 1, 1, 3 },
        { 2, 1, 4 },               /* as the one before, and behind it */
        { 398, UINT64_MAX, 1668 }, /* in order */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dead_part p;
        struct dx_dead_rank rank;
        struct dx_dead dead;
        uint8_t *at;

        EXPECT(dx_dead_open(&dead, dx_span_of(d.bytes, d.size), 0, "dead.dxb", &err) == DX_OK &&
                   dx_dead_part(&dead, 0, &p, &err) == DX_OK,
               "%s", err.text);
        at = d.bytes + (dead.ranks.data - d.bytes) + 20 * (p.first_rank + rows[i].k);
        dx_dead_close(&dead);
        for (unsigned k = 0; k < 8; k++) {
            at[4 + k] = (uint8_t)(rows[i].url_count >> 8 * k);
            at[12 + k] = (uint8_t)(rows[i].domains >> 8 * k);
        }
        envelope_resum(d.bytes, d.size);
        EXPECT(dx_dead_open(&dead, dx_span_of(d.bytes, d.size), 0, "dead.dxb", &err) == DX_OK &&
                   dx_dead_rank(&dead, &p, rows[i].k, &rank, &err) == DX_E_CORRUPT &&
                   strstr(err.text, "rank") != NULL,
               "row %zu: %s", i, err.text);
        dx_dead_close(&dead);
        damaged_free(&d);
    }
}

int main(void)
{
    struct dx_buf file = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset_set set;
    struct dx_dead_part p;
    struct dx_dead d;

    write_all(&file);
    EXPECT(dx_dead_open(&d, dx_span_of(file.data, file.size), 0, "dead.dxb", &err) == DX_OK, "%s",
           err.text);
    EXPECT(d.parts == PARTS && dx_dead_part(&d, PARTS, &p, NULL) == DX_E_INVALID, "parts");
    for (unsigned i = 0; i < PARTS; i++)
        check_part(&d, i);
    EXPECT(d.gone == 20 && dx_dead_gone(&d, &set, &err) == DX_OK && dx_dataset_set_last(&set) == 40,
           "files that left: %s", err.text);
    dx_dead_close(&d);
    check_damage(&file);
    check_parts(&file);
    check_ranks(&file);
    dx_buf_release(&file);
    return failures > 0;
}
