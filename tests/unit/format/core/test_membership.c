/* SPDX-License-Identifier: Apache-2.0
 * domain_to_datasets.roar: round trip, equal sets once, every flip and cut, each section damaged
 * with its sums made true again, blocks of another build.
 */
#include "format/core/membership.h"
#include "tests/support/damage.h"

#define DOMAINS 300
#define IDS_MAX 6000

static int failures;

struct model {
    size_t count[DOMAINS];
    uint32_t *ids[DOMAINS];
    unsigned flags;
};

static void make_model(struct model *m)
{
    uint64_t seed = 3;

    for (size_t i = 0; i < DOMAINS; i++) {
        size_t n = i == 6 ? IDS_MAX : i % 5 == 0 ? 1 + random_below(&seed, 60) : 1 + i % 3;
        uint32_t id = 1 + (uint32_t)random_below(&seed, i % 4 == 0 ? 5 : 1000);

        m->ids[i] = malloc(n * 4);
        for (size_t k = 0; k < n;
             k++, id += 1 + (uint32_t)(i % 3 == 0 ? random_below(&seed, 9) : 0))
            m->ids[i][k] = id;
        m->count[i] = n;
    }
    m->ids[9][0] = UINT32_MAX - 1; /* one id, over 31 bits */
    m->count[9] = 1;
    m->ids[10] = realloc(m->ids[10], m->count[5] * 4); /* the same large set twice */
    memcpy(m->ids[10], m->ids[5], m->count[5] * 4);
    m->count[10] = m->count[5];
}

static void build(const struct model *m, uint8_t build_byte, struct dx_buf *out)
{
    struct dx_build_id id = { { build_byte } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_membership_writer w;
    struct dx_set_store store;
    uint32_t entries[DOMAINS];
    int rc = 0;

    dx_set_store_init(&store, 1 << 20);
    for (size_t i = 0; i < DOMAINS && rc >= 0; i++)
        rc = dx_set_store_add(&store, m->ids[i], m->count[i], &entries[i], &err);
    EXPECT(rc >= 0, "%s", err.text);
    EXPECT(entries[5] == entries[10] && entries[5] & DX_MEMBERSHIP_STORED, "stored once");
    rc = dx_membership_writer_begin(&w, &store, &id, dx_envelope_sink_buf, out, &err);
    if (rc >= 0)
        rc = dx_membership_writer_entries(&w, entries, 100, &err);
    EXPECT(rc >= 0 && dx_membership_writer_end(&w, NULL) < 0, "200 entries are missing");
    if (rc >= 0)
        rc = dx_membership_writer_entries(&w, entries + 100, DOMAINS - 100, &err);
    if (rc >= 0)
        rc = dx_membership_writer_end(&w, &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_membership_writer_release(&w);
    dx_set_store_release(&store);
}

/* All sets compared; a lookup that fails is a refusal. */
static enum verdict try_file(void *ctx, struct dx_span file)
{
    static uint32_t ids[IDS_MAX + 1];
    const struct model *m = ctx;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_membership r;
    enum verdict v = SAME_ANSWERS;

    if (dx_membership_open(&r, file, m->flags, "m.roar", &err) < 0)
        return REFUSED;
    for (uint64_t i = 0; i < DOMAINS; i++) {
        struct dx_dataset_set set;
        size_t n;

        if (dx_membership_get(&r, i, &set, &err) < 0) {
            if (v == SAME_ANSWERS)
                v = REFUSED;
            continue;
        }
        n = dx_dataset_set_ids(&set, ids, IDS_MAX + 1);
        if (n != m->count[i] || set.count != n || memcmp(ids, m->ids[i], 4 * n) != 0)
            v = WRONG_ANSWER;
    }
    if (dx_membership_get(&r, r.domains, &(struct dx_dataset_set){ 0 }, NULL) >= 0)
        v = WRONG_ANSWER;
    dx_membership_close(&r);
    return (m->flags & DX_OPEN_UNCHECKED) != 0 ? REFUSED : v;
}

static void test_damage(struct model *m, const struct dx_buf *file)
{
    struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
    struct verdicts v;

    m->flags = 0;
    EXPECT(try_file(m, dx_span_of(d.bytes, d.size)) == SAME_ANSWERS, "whole file");
    v = damaged_flips(&d, 0, d.size, 7, try_file, m);
    EXPECT(v.count[WRONG_ANSWER] == 0, "lazy: %zu wrong", v.count[WRONG_ANSWER]);
    m->flags = DX_OPEN_VERIFY_ALL;
    v = damaged_flips(&d, 0, d.size, 1, try_file, m);
    EXPECT(v.count[REFUSED] == v.all, "verify: %zu not refused", v.all - v.count[REFUSED]);
    v = damaged_cuts(&d, try_file, m);
    EXPECT(v.count[REFUSED] == d.size, "cuts");
    m->flags = DX_OPEN_UNCHECKED;
    (void)damaged_flips(&d, 0, d.size, 3, try_file, m); /* the sanitizers judge */
    m->flags = 0;
    printf("%zu bytes, %zu flips\n", d.size, d.size * 8);
    damaged_free(&d);
}

static void test_sections(const struct dx_buf *file)
{
    static const struct {
        const char *tag; /* NULL: header */
        size_t at;
        uint8_t value;
        const char *say;
    } rows[] = {
        { NULL, 0, 'X', "does not begin" },
        { NULL, 4, 9, "version" },
        { NULL, 8, 0, "INDX" }, /* 256 domains: of another size */
        { NULL, 16, 1, "index_offset" },
        { NULL, 30, 9, "sets" },
        { NULL, 40, 4, "INDX" },
        { NULL, 40, 2, "entries of 2 bytes" },
        { NULL, 40, 6, "entries of 6 bytes" },
        { NULL, 41, 1, "reserved" },
        { NULL, 50, 1, "reserved" },
        { "INDX", 2, 0xff, "has entry" },
        { "SETS", 0, 0, "set of 0 bytes" },
        { "SETS", 0, 2, "belongs into the index" },
        { "SETS", 0, 0x7f, "Roaring" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_membership r;
        uint64_t size;
        uint8_t *at = rows[i].tag == NULL ? d.bytes
                                          : envelope_find(d.bytes, d.size, rows[i].tag, &size);
        int rc;

        at[rows[i].at] = rows[i].value;
        envelope_resum(d.bytes, d.size);
        rc = dx_membership_open(&r, dx_span_of(d.bytes, d.size), 0, "m.roar", &err);
        for (uint64_t k = 0; rc >= 0 && k < DOMAINS; k++)
            rc = dx_membership_get(&r, k, &(struct dx_dataset_set){ 0 }, &err);
        EXPECT(rc < 0 && strstr(err.text, rows[i].say) != NULL && strstr(err.text, "m.roar"),
               "row %zu (%s): rc %d, '%s'", i, rows[i].say, rc, err.text);
        dx_membership_close(&r);
        damaged_free(&d);
    }
}

/* A sound block of a build with another id must not pass. */
static void test_swap(struct model *m, const struct dx_buf *a, const struct dx_buf *b)
{
    struct damaged d = damaged_copy(dx_span_of(a->data, a->size));
    enum verdict v;

    EXPECT(a->size == b->size && a->size > 8192, "two builds of %zu and %zu bytes", a->size,
           b->size);
    memcpy(d.bytes + 4096, b->data + 4096, 4096);
    v = try_file(m, dx_span_of(d.bytes, d.size));
    EXPECT(v == SAME_ANSWERS, "equal bytes in the body are equal");
    memcpy(d.bytes + dx_load_u64(d.bytes + d.size - 72 + 32),
           b->data + dx_load_u64(b->data + b->size - 72 + 32), 16);
    EXPECT(try_file(m, dx_span_of(d.bytes, d.size)) == REFUSED, "sums of another build");
    damaged_free(&d);
}

/* Entries are as wide as the largest single id and the last set ask for. */
static void test_widths(void)
{
    static const struct {
        uint32_t id;
        unsigned width;
    } rows[] = { { 1, 3 },
                 { 0x7fffff, 3 },
                 { 0x800000, 4 },
                 { DX_MEMBERSHIP_STORED - 1, 4 },
                 { DX_MEMBERSHIP_STORED, 3 } }; /* is stored as a set */

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint32_t ids[] = { 3, 4, rows[i].id };
        struct dx_build_id id = { { 1 } };
        struct dx_error err = DX_ERROR_INIT;
        struct dx_buf file = DX_BUF_INIT(1 << 16);
        struct dx_membership_writer w;
        struct dx_dataset_set set;
        struct dx_set_store store;
        struct dx_membership m;
        uint32_t entries[2] = { 0, 0 };
        uint32_t got[2] = { 0, 0 };

        dx_set_store_init(&store, 1 << 16);
        EXPECT(dx_set_store_add(&store, ids, 2, &entries[0], &err) >= 0 &&
                   dx_set_store_add(&store, ids + 2, 1, &entries[1], &err) >= 0 &&
                   dx_membership_writer_begin(&w, &store, &id, dx_envelope_sink_buf, &file, &err) >=
                       0 &&
                   dx_membership_writer_entries(&w, entries, 2, &err) >= 0 &&
                   dx_membership_writer_end(&w, &err) >= 0,
               "row %zu: %s", i, err.text);
        EXPECT(dx_membership_open(&m, dx_span_of(file.data, file.size), 0, "m", &err) >= 0 &&
                   m.entry_size == rows[i].width,
               "row %zu: entries of %u bytes: %s", i, m.entry_size, err.text);
        EXPECT(dx_membership_get(&m, 1, &set, &err) == 1 && dx_dataset_set_ids(&set, got, 2) == 1 &&
                   got[0] == rows[i].id,
               "row %zu: id %x: %s", i, (unsigned)got[0], err.text);
        EXPECT(dx_membership_get(&m, 0, &set, &err) == 1 && dx_dataset_set_ids(&set, got, 2) == 2 &&
                   got[0] == 3 && got[1] == 4,
               "row %zu: %s", i, err.text);
        dx_membership_close(&m);
        dx_membership_writer_release(&w);
        dx_set_store_release(&store);
        dx_buf_release(&file);
    }
}

static void test_limits(void)
{
    struct dx_error err = DX_ERROR_INIT;
    uint32_t ids[3] = { 5, 5, 6 };
    struct dx_set_store store;
    uint32_t entry;

    dx_set_store_init(&store, 6);
    EXPECT(dx_set_store_add(&store, ids, 2, &entry, &err) == DX_E_INVALID, "%s", err.text);
    EXPECT(dx_set_store_add(&store, ids, 0, &entry, &err) == DX_E_INVALID, "%s", err.text);
    EXPECT(dx_set_store_add(&store, ids + 1, 2, &entry, &err) == DX_OK, "%s", err.text);
    ids[1] = 9000;
    ids[2] = 9001;
    EXPECT(dx_set_store_add(&store, ids, 3, &entry, &err) < 0, "over the cap");
    dx_set_store_release(&store);
}

int main(void)
{
    struct dx_buf a = DX_BUF_INIT(1 << 20);
    struct dx_buf b = DX_BUF_INIT(1 << 20);
    struct model m = { .flags = 0 };

    make_model(&m);
    build(&m, 1, &a);
    build(&m, 2, &b);
    test_sections(&a);
    test_swap(&m, &a, &b);
    test_damage(&m, &a);
    test_widths();
    test_limits();
    for (size_t i = 0; i < DOMAINS; i++)
        free(m.ids[i]);
    dx_buf_release(&a);
    dx_buf_release(&b);
    return failures > 0;
}
