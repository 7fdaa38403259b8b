/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/url_id_list.h"

#include "base/bits.h"

#include <assert.h>
#include <inttypes.h>

#define HEADER_SIZE 8
#define UNIT 8       /* bytes: lists begin at multiples of it */
#define BEGINS 256   /* buckets from one that has its begin stated to the next one */
#define BEGIN_SIZE 2 /* bytes; lists of DX_URL_PAGE_MAX have 3 * 2^14 + 1 bits at most */

static int corrupt(const struct dx_url_id_list *list, struct dx_error *err, const char *what)
{
    return dx_envelope_corrupt(
        &list->cold->envelope, DX_COLD_URL_ID_LISTS, list->cold->url_ids.data, err,
        "list of %" PRIu32 " ids from %08" PRIx32 " on %s", list->count, list->first, what);
}

/* Of `count` ids that reach over `span`: of how many bits the low part is, and how many buckets there are, at most
 * 2 * count + 1. */
static void divide(uint32_t span, uint32_t count, unsigned *low_bits, uint64_t *buckets)
{
    unsigned bits = dx_bits_of_number(span / count);

    *low_bits = bits == 0 ? 0 : bits - 1;
    *buckets = ((uint64_t)span >> *low_bits) + 1;
}

static size_t begins_of(uint64_t buckets)
{
    return (size_t)((buckets - 1) / BEGINS);
}

static size_t whole_units(uint64_t bits)
{
    return (size_t)((bits + 63) / 64 * UNIT);
}

int dx_url_id_list_open(struct dx_url_id_list *list, const struct dx_cold *c,
                        const struct dx_cold_page *page, struct dx_error *err)
{
    size_t at = (size_t)(uint32_t)page->key * UNIT;
    uint64_t buckets;
    size_t begins;
    size_t high;
    size_t low;
    int rc;

    *list = (struct dx_url_id_list){ .cold = c,
                                     .first = (uint32_t)(page->key >> 32),
                                     .count = page->entries };
    if (at > c->url_ids.size || c->url_ids.size - at < HEADER_SIZE || page->entries == 0 ||
        page->entries > DX_URL_PAGE_MAX)
        return corrupt(list, err, "does not lie in the section");
    list->bytes = dx_span_of(c->url_ids.data + at, HEADER_SIZE);
    rc = dx_envelope_check(&c->envelope, list->bytes.data, HEADER_SIZE, err);
    if (rc < 0)
        return rc;
    list->last = dx_load_u32(list->bytes.data);
    if (list->last < list->first || dx_load_u32(list->bytes.data + 4) != 0)
        return corrupt(list, err, "ends before it begins");
    divide(list->last - list->first, list->count, &list->low_bits, &buckets);
    list->high_bits = list->count + buckets;
    begins = whole_units(begins_of(buckets) * BEGIN_SIZE * 8);
    high = whole_units(list->high_bits);
    low = whole_units((uint64_t)list->count * list->low_bits);
    if (c->url_ids.size - at - HEADER_SIZE < begins + high + low)
        return corrupt(list, err, "is cut");
    list->bytes.size += begins + high + low;
    list->begins = dx_span_of(list->bytes.data + HEADER_SIZE, begins);
    list->high = dx_span_of(list->begins.data + begins, high);
    list->low = dx_span_of(list->high.data + high, low);
    return dx_envelope_check(&c->envelope, list->bytes.data, list->bytes.size, err);
}

/* In line: without an instruction of the machine the compiler calls a function. */
static unsigned ones_of(uint64_t v)
{
    v -= v >> 1 & UINT64_C(0x5555555555555555);
    v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
    v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(v * UINT64_C(0x0101010101010101) >> 56);
}

/* The bit behind so many zeros from bit `at` on; high_bits: there are fewer. */
static uint64_t behind_zeros(const struct dx_url_id_list *list, uint64_t at, uint64_t count)
{
    uint64_t before = UINT64_MAX << (at & 63); /* of the first word what is not before it */

    if (count == 0)
        return at;
    for (size_t i = (size_t)(at >> 6) * UNIT; i < list->high.size; i += UNIT) {
        uint64_t zeros = ~dx_load_u64(list->high.data + i) & before;
        unsigned n = ones_of(zeros);

        before = UINT64_MAX;
        if (n < count) {
            count -= n;
            continue;
        }
        for (; count > 1; count--)
            zeros &= zeros - 1;
        return i * 8 + (unsigned)__builtin_ctzll(zeros) + 1;
    }
    return list->high_bits;
}

static uint64_t begin_at(const struct dx_url_id_list *list, uint64_t number)
{
    return number == 0 ? 0 : dx_load_u16(list->begins.data + (number - 1) * BEGIN_SIZE);
}

/* Where bucket number `bucket` begins: behind so many zeros. */
static uint64_t bucket_begin(const struct dx_url_id_list *list, uint64_t bucket)
{
    return behind_zeros(list, begin_at(list, bucket / BEGINS), bucket % BEGINS);
}

int dx_url_id_list_find(const struct dx_url_id_list *list, uint64_t url_id, uint32_t *from,
                        uint32_t *end, struct dx_error *err)
{
    uint32_t id = (uint32_t)(url_id >> 32);
    uint32_t above = id - list->first;
    uint64_t bucket = above >> list->low_bits;
    uint64_t want = above & dx_bits_mask(list->low_bits);
    uint64_t entry;
    uint64_t at;

    *from = *end = 0;
    if (id < list->first || id > list->last)
        return 0;
    at = bucket_begin(list, bucket);
    if (at < bucket)
        return corrupt(list, err, "has buckets that begin elsewhere");
    for (entry = at - bucket; at < list->high_bits && dx_bits_at(list->high, at, 1) == 1;
         at++, entry++) {
        uint64_t low;

        if (entry >= list->count)
            return corrupt(list, err, "has more ids than the page");
        low = dx_bits_at(list->low, entry * list->low_bits, list->low_bits);
        if (low > want)
            break;
        if (low < want)
            continue;
        if (*end == 0)
            *from = (uint32_t)entry;
        *end = (uint32_t)entry + 1;
    }
    return *end > 0;
}

/* Behind the last id there is the zero of its bucket, and then nothing. */
static int check_end(const struct dx_url_id_list *list, struct dx_error *err)
{
    uint64_t low = (uint64_t)list->count * list->low_bits;
    size_t begins = begins_of(list->high_bits - list->count);

    for (size_t i = 1; i <= begins; i++)
        if (behind_zeros(list, begin_at(list, i - 1), BEGINS) != begin_at(list, i))
            return corrupt(list, err, "has buckets that begin elsewhere");
    for (size_t i = begins * BEGIN_SIZE; i < list->begins.size; i++)
        if (list->begins.data[i] != 0)
            return corrupt(list, err, "has bits behind the begins of its buckets");

    if (list->at + 1 != list->high_bits ||
        dx_bits_at(list->high, list->at, (unsigned)(list->high.size * 8 - list->at)) != 0 ||
        dx_bits_at(list->low, low, (unsigned)(list->low.size * 8 - low)) != 0)
        return corrupt(list, err, "has bits behind the last one");
    return 0;
}

int dx_url_id_list_next(struct dx_url_id_list *list, uint64_t *id, struct dx_error *err)
{
    uint64_t above;

    if (list->taken == list->count)
        return check_end(list, err);
    while (list->at < list->high_bits && dx_bits_at(list->high, list->at, 1) == 0)
        list->at++;
    above = (list->at - list->taken) << list->low_bits |
            dx_bits_at(list->low, (uint64_t)list->taken * list->low_bits, list->low_bits);
    if (list->at >= list->high_bits || above > list->last - list->first ||
        (list->taken == 0 && above != 0) ||
        (list->taken + 1 == list->count && above != list->last - list->first))
        return corrupt(list, err, "has other ids than it begins and ends with");
    list->at++;
    list->taken++;
    *id = (list->first + above) << 32;
    return 1;
}

int dx_url_id_list_check(const struct dx_cold *c, struct dx_error *err)
{
    uint64_t pages = dx_cold_page_count(c, DX_COLD_URL_IDS);
    size_t size = 0;
    int rc = 1;

    if (dx_cold_is_old(c))
        return DX_OK;
    for (uint64_t i = 0; rc == 1 && i < pages; i++) {
        struct dx_cold_page page;
        struct dx_url_id_list list;

        rc = dx_cold_page(c, DX_COLD_URL_IDS, (uint32_t)i, &page, err);
        if (rc == 1)
            rc = dx_url_id_list_open(&list, c, &page, err);
        if (rc < 0)
            return rc;
        if (list.bytes.data != c->url_ids.data + size)
            return corrupt(&list, err, "does not begin where the one before ends");
        size += list.bytes.size;
        rc = 1;
    }
    if (size != c->url_ids.size)
        return dx_envelope_corrupt(&c->envelope, DX_COLD_URL_ID_LISTS, c->url_ids.data, err,
                                   "%zu bytes, the lists of its %" PRIu64 " pages have %zu",
                                   c->url_ids.size, pages, size);
    return DX_OK;
}

/* ---- writing ---- */

static uint32_t id_of(const struct dx_url_place *place)
{
    return (uint32_t)(place->id >> 32);
}

static void put_begins(struct dx_bits_out *w, const struct dx_url_place *places, size_t count,
                       unsigned low_bits, uint64_t buckets)
{
    uint32_t first = id_of(&places[0]);
    size_t ids = 0;

    for (uint64_t i = 1; i <= begins_of(buckets); i++) {
        while (ids < count && (id_of(&places[ids]) - first) >> low_bits < i * BEGINS)
            ids++;
        dx_bits_put(w, i * BEGINS + ids, BEGIN_SIZE * 8);
    }
}

static void fill_unit(struct dx_bits_out *w, uint64_t bits)
{
    dx_bits_put(w, 0, (unsigned)((64 - bits % 64) % 64));
}

uint64_t dx_url_id_list_append(struct dx_buf *section, const struct dx_url_place *places,
                               size_t count)
{
    struct dx_bits_out w = { .to = section };
    uint32_t first = id_of(&places[0]);
    uint64_t key = (uint64_t)first << 32 | section->size / UNIT;
    uint64_t bucket = 0;
    uint64_t buckets;
    unsigned low_bits;

    assert(count > 0);
    if (section->size / UNIT > UINT32_MAX)
        section->failed = true;
    divide(id_of(&places[count - 1]) - first, (uint32_t)count, &low_bits, &buckets);
    dx_buf_u32(section, id_of(&places[count - 1]));
    dx_buf_u32(section, 0);
    put_begins(&w, places, count, low_bits, buckets);
    fill_unit(&w, begins_of(buckets) * BEGIN_SIZE * 8);
    for (size_t i = 0; i < count; i++) {
        uint64_t zeros = ((id_of(&places[i]) - first) >> low_bits) - bucket;

        bucket += zeros;
        for (; zeros > 62; zeros -= 62)
            dx_bits_put(&w, 0, 62);
        dx_bits_put(&w, UINT64_C(1) << zeros, (unsigned)zeros + 1);
    }
    dx_bits_put(&w, 0, 1);
    fill_unit(&w, count + buckets);
    for (size_t i = 0; i < count; i++)
        dx_bits_put(&w, id_of(&places[i]) - first, low_bits);
    fill_unit(&w, (uint64_t)count * low_bits);
    return key;
}
