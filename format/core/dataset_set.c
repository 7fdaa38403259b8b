/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/dataset_set.h"

#include <roaring/roaring.h>

#include <assert.h>
#include <inttypes.h>

#define ROARING_NO_RUNS 12346u
#define ROARING_RUNS 12347u
#define ROARING_OFFSETS_FROM 4 /* with runs, fewer containers have no offset header */
#define ARRAY_MAX 4096         /* ids of an array container; more is a bitset */
#define BITSET_BYTES 8192

enum container_kind { ARRAY, BITSET, RUNS };

struct container {
    enum container_kind kind;
    uint32_t high;       /* key << 16 */
    uint32_t count;      /* ids, 1..65536 */
    size_t offset;       /* of data, from the front of the bitmap */
    struct dx_span data; /* array: u16 ids; bitset: 8192 bytes; runs: (u16 start, u16 length-1) */
};

struct walk {
    struct dx_bytes at; /* behind the headers: the next container */
    const uint8_t *run_flags;
    const uint8_t *keys;
    const uint8_t *offsets; /* NULL: none */
    uint32_t containers;
    uint32_t taken;
};

static const char *walk_begin(struct walk *w, struct dx_span bitmap)
{
    struct dx_bytes r = dx_bytes_of(bitmap);
    uint32_t cookie = dx_bytes_u32(&r);

    *w = (struct walk){ .at = r };
    if (r.failed)
        return "shorter than its cookie";
    if (cookie == ROARING_NO_RUNS) {
        w->containers = dx_bytes_u32(&r);
    } else if ((cookie & 0xffff) == ROARING_RUNS) {
        w->containers = (cookie >> 16) + 1;
        w->run_flags = dx_bytes_take(&r, (w->containers + 7) / 8).data;
        if (!r.failed && (w->containers & 7) != 0 &&
            w->run_flags[w->containers / 8] >> (w->containers & 7) != 0)
            return "run flags beyond the last container";
    } else {
        return "unknown cookie";
    }
    if (!r.failed && (w->containers == 0 || w->containers > 65536))
        return "number of containers is not in 1..65536";
    w->keys = dx_bytes_take(&r, (uint64_t)w->containers * 4).data;
    if (w->run_flags == NULL || w->containers >= ROARING_OFFSETS_FROM)
        w->offsets = dx_bytes_take(&r, (uint64_t)w->containers * 4).data;
    if (r.failed)
        return "ends inside its headers";
    w->at = r;
    return NULL;
}

/* The next container; its bytes are inside the bitmap, what is in them is not looked at. */
static const char *walk_next(struct walk *w, struct container *c)
{
    uint32_t i = w->taken++;

    c->high = (uint32_t)dx_load_u16(w->keys + 4 * (size_t)i) << 16;
    c->count = (uint32_t)dx_load_u16(w->keys + 4 * (size_t)i + 2) + 1;
    c->offset = dx_bytes_at(&w->at);
    if (w->run_flags != NULL && (w->run_flags[i / 8] >> (i & 7) & 1) != 0) {
        c->kind = RUNS;
        c->data = dx_bytes_take(&w->at, (uint64_t)dx_bytes_u16(&w->at) * 4);
    } else if (c->count <= ARRAY_MAX) {
        c->kind = ARRAY;
        c->data = dx_bytes_take(&w->at, (uint64_t)c->count * 2);
    } else {
        c->kind = BITSET;
        c->data = dx_bytes_take(&w->at, BITSET_BYTES);
    }
    return w->at.failed ? "ends inside a container" : NULL;
}

static const char *check_array(const struct container *c)
{
    for (size_t i = 2; i < c->data.size; i += 2)
        if (dx_load_u16(c->data.data + i) <= dx_load_u16(c->data.data + i - 2))
            return "ids of an array do not ascend";
    return NULL;
}

static const char *check_bitset(const struct container *c)
{
    uint32_t count = 0;

    for (size_t i = 0; i < BITSET_BYTES; i += 8)
        count += (uint32_t)__builtin_popcountll(dx_load_u64(c->data.data + i));
    return count == c->count ? NULL : "cardinality of a bitset is wrong";
}

static const char *check_runs(const struct container *c)
{
    uint32_t count = 0;
    uint32_t next = 0; /* smallest start allowed */

    for (size_t i = 0; i < c->data.size; i += 4) {
        uint32_t start = dx_load_u16(c->data.data + i);
        uint32_t last = start + dx_load_u16(c->data.data + i + 2);

        if (last > 0xffff)
            return "a run leaves its container";
        if (start < next)
            return "runs overlap, touch or do not ascend";
        next = last + 2; /* a touching run would be the same run */
        count += last - start + 1;
    }
    return count == c->count ? NULL : "cardinality of runs is wrong";
}

static const char *check_container(const struct container *c)
{
    switch (c->kind) {
    case ARRAY:
        return check_array(c);
    case BITSET:
        return check_bitset(c);
    default:
        return check_runs(c);
    }
}

static uint32_t container_first(const struct container *c)
{
    size_t i = 0;

    if (c->kind != BITSET)
        return c->high | dx_load_u16(c->data.data);
    while (i < BITSET_BYTES - 1 && c->data.data[i] == 0)
        i++;
    /* The set bit above them: none is left only if the bytes change while they are read. */
    return c->high | (uint32_t)(8 * i + (size_t)__builtin_ctz(c->data.data[i] | 0x100u));
}

/* The bounded walk of a Roaring bitmap in the portable format; all structure is checked.
 * count and first get what it holds. An empty bitmap and one of 2^32 ids are refused. */
static int check_roaring(struct dx_span bitmap, uint32_t *count, uint32_t *first, const char *name,
                         struct dx_error *err)
{
    struct container c = { 0 };
    struct walk w;
    const char *why = walk_begin(&w, bitmap);
    uint64_t total = 0;
    uint32_t last_high = 0;

    while (why == NULL && w.taken < w.containers) {
        uint32_t i = w.taken;

        why = walk_next(&w, &c);
        if (why == NULL && i > 0 && c.high <= last_high)
            why = "keys do not ascend";
        if (why == NULL && w.offsets != NULL && dx_load_u32(w.offsets + 4 * (size_t)i) != c.offset)
            why = "offset header is wrong";
        if (why == NULL)
            why = check_container(&c);
        if (why != NULL)
            break;
        if (i == 0)
            *first = container_first(&c);
        last_high = c.high;
        total += c.count;
    }
    if (why == NULL && dx_bytes_left(&w.at) != 0)
        why = "bytes behind the last container";
    if (why == NULL && total > UINT32_MAX)
        why = "holds all 2^32 ids";
    if (why != NULL)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: Roaring bitmap of %zu bytes, container %" PRIu32 ": %s", name,
                       bitmap.size, w.taken == 0 ? 0 : w.taken - 1, why);
    *count = (uint32_t)total;
    return DX_OK;
}

/* Size and kind in one number: size * 2, and 1 for a Roaring bitmap. */
static uint64_t read_head(struct dx_bytes *r, bool *roaring)
{
    uint64_t head = dx_bytes_varint(r);

    *roaring = (head & 1) != 0;
    return head >> 1;
}

uint64_t dx_dataset_set_size(struct dx_span bytes)
{
    struct dx_bytes r = dx_bytes_of(bytes);
    bool roaring;
    uint64_t size = read_head(&r, &roaring);

    return r.failed || size > dx_bytes_left(&r) ? 0 : dx_bytes_at(&r) + size;
}

static int open_deltas(struct dx_dataset_set *set, struct dx_bytes r, const char *name,
                       struct dx_error *err)
{
    uint64_t id = dx_bytes_varint(&r);
    uint64_t count = 1;

    if (r.failed)
        return dx_fail(err, DX_E_CORRUPT, "%s: set ends in its first id", name);
    *set = (struct dx_dataset_set){ .kind = DX_DATASET_SET_DELTAS,
                                    .first = (uint32_t)id,
                                    .bytes = { r.at, dx_bytes_left(&r) } };
    for (; dx_bytes_left(&r) > 0 && id <= UINT32_MAX; count++) {
        uint64_t gap = dx_bytes_varint(&r);

        if (r.failed)
            return dx_fail(err, DX_E_CORRUPT, "%s: set ends in id %" PRIu64, name, count);
        id = gap > UINT32_MAX ? gap : id + 1 + gap;
    }
    if (id > UINT32_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: id in a set is over 32 bits", name);
    set->count = (uint32_t)count;
    return DX_OK;
}

int dx_dataset_set_open(struct dx_dataset_set *set, struct dx_span stored, const char *name,
                        struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(stored);
    bool roaring;
    uint64_t size = read_head(&r, &roaring);

    *set = (struct dx_dataset_set){ .count = 0 };
    if (r.failed || size == 0 || size != dx_bytes_left(&r))
        return dx_fail(err, DX_E_CORRUPT, "%s: set of %" PRIu64 " bytes in %zu", name, size,
                       stored.size);
    if (!roaring)
        return open_deltas(set, r, name, err);
    set->kind = DX_DATASET_SET_ROARING;
    set->bytes = dx_bytes_take(&r, size);
    return check_roaring(set->bytes, &set->count, &set->first, name, err);
}

void dx_dataset_set_one(struct dx_dataset_set *set, uint32_t id)
{
    *set = (struct dx_dataset_set){ .kind = DX_DATASET_SET_ONE, .count = 1, .first = id };
}

/* Index of the first id of an array that is not below `low`. */
static uint32_t array_lower(const struct container *c, uint32_t low)
{
    uint32_t lo = 0;
    uint32_t hi = c->count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (dx_load_u16(c->data.data + 2 * (size_t)mid) < low)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Those whose low half is at least `low`. */
static size_t container_ids(const struct container *c, uint32_t low, uint32_t *ids, size_t cap)
{
    size_t n = 0;

    if (c->kind == ARRAY) {
        for (size_t i = 2 * (size_t)array_lower(c, low); i < c->data.size && n < cap; i += 2)
            ids[n++] = c->high | dx_load_u16(c->data.data + i);
        return n;
    }
    if (c->kind == RUNS) {
        for (size_t i = 0; i < c->data.size && n < cap; i += 4) {
            uint32_t begin = dx_load_u16(c->data.data + i);
            uint32_t end = begin + dx_load_u16(c->data.data + i + 2) + 1;

            for (uint32_t id = begin < low ? low : begin; id < end && n < cap; id++)
                ids[n++] = c->high | id;
        }
        return n;
    }
    for (size_t i = low / 64u * 8u; i < BITSET_BYTES && n < cap; i += 8) {
        uint64_t bits = dx_load_u64(c->data.data + i);

        if (8 * i < low)
            bits &= UINT64_MAX << (low & 63);
        for (; bits != 0 && n < cap; bits &= bits - 1)
            ids[n++] = c->high | (uint32_t)(8 * i + (size_t)__builtin_ctzll(bits));
    }
    return n;
}

size_t dx_dataset_set_ids_from(const struct dx_dataset_set *set, uint32_t from, uint32_t *ids,
                               size_t cap)
{
    struct dx_bytes r = dx_bytes_of(set->bytes);
    uint32_t id = set->first;
    size_t n = 0;

    if (cap == 0 || set->count == 0)
        return 0;
    if (set->kind == DX_DATASET_SET_ROARING) {
        struct container c;
        struct walk w;

        if (walk_begin(&w, set->bytes) != NULL)
            return 0; /* not after open */
        while (w.taken < w.containers && n < cap && walk_next(&w, &c) == NULL)
            if ((c.high | 0xffffu) >= from)
                n += container_ids(&c, c.high >= from ? 0 : from & 0xffffu, ids + n, cap - n);
        return n;
    }
    for (uint32_t i = 0; i < set->count && n < cap; i++) {
        if (id >= from)
            ids[n++] = id;
        if (i + 1 < set->count)
            id += 1 + (uint32_t)dx_bytes_varint(&r);
    }
    return n;
}

size_t dx_dataset_set_ids(const struct dx_dataset_set *set, uint32_t *ids, size_t cap)
{
    return dx_dataset_set_ids_from(set, 0, ids, cap);
}

static uint32_t container_last(const struct container *c)
{
    size_t i = BITSET_BYTES - 8;
    uint64_t bits;

    if (c->kind == ARRAY)
        return c->high | dx_load_u16(c->data.data + c->data.size - 2);
    if (c->kind == RUNS)
        return c->high | (dx_load_u16(c->data.data + c->data.size - 4) +
                          (uint32_t)dx_load_u16(c->data.data + c->data.size - 2));
    while (i > 0 && dx_load_u64(c->data.data + i) == 0)
        i -= 8;
    bits = dx_load_u64(c->data.data + i) | 1; /* as in container_first: bytes may change */
    return c->high | (uint32_t)(8 * i + 63 - (size_t)__builtin_clzll(bits));
}

uint32_t dx_dataset_set_last(const struct dx_dataset_set *set)
{
    struct dx_bytes r = dx_bytes_of(set->bytes);
    struct container c = { 0 };
    struct walk w;
    uint32_t id = set->first;

    if (set->kind != DX_DATASET_SET_ROARING) {
        for (uint32_t i = 1; i < set->count; i++)
            id += 1 + (uint32_t)dx_bytes_varint(&r);
        return id;
    }
    if (walk_begin(&w, set->bytes) != NULL)
        return 0; /* not after open */
    while (w.taken < w.containers && walk_next(&w, &c) == NULL)
        continue;
    return c.data.size == 0 ? 0 : container_last(&c);
}

static int array_rank(const struct container *c, uint16_t low, uint32_t *rank)
{
    uint32_t at = array_lower(c, low);

    *rank += at;
    return at < c->count && dx_load_u16(c->data.data + 2 * (size_t)at) == low;
}

static int bitset_rank(const struct container *c, uint16_t low, uint32_t *rank)
{
    size_t word = low / 64u * 8u;
    uint64_t bits = dx_load_u64(c->data.data + word);

    for (size_t i = 0; i < word; i += 8)
        *rank += (uint32_t)__builtin_popcountll(dx_load_u64(c->data.data + i));
    *rank += (uint32_t)__builtin_popcountll(bits & ((UINT64_C(1) << (low & 63)) - 1));
    return (int)(bits >> (low & 63) & 1);
}

static int runs_rank(const struct container *c, uint16_t low, uint32_t *rank)
{
    for (size_t i = 0; i < c->data.size; i += 4) {
        uint32_t start = dx_load_u16(c->data.data + i);
        uint32_t more = dx_load_u16(c->data.data + i + 2);

        if (low < start)
            return 0;
        if (low <= start + more) {
            *rank += low - start;
            return 1;
        }
        *rank += more + 1;
    }
    return 0;
}

static int roaring_rank(struct dx_span bitmap, uint32_t id, uint32_t *rank)
{
    struct container c;
    struct walk w;

    if (walk_begin(&w, bitmap) != NULL)
        return 0; /* not after open */
    while (w.taken < w.containers && walk_next(&w, &c) == NULL) {
        if (c.high < (id & 0xffff0000u)) {
            *rank += c.count;
            continue;
        }
        if (c.high != (id & 0xffff0000u))
            return 0;
        if (c.kind == ARRAY)
            return array_rank(&c, (uint16_t)id, rank);
        return c.kind == BITSET ? bitset_rank(&c, (uint16_t)id, rank)
                                : runs_rank(&c, (uint16_t)id, rank);
    }
    return 0;
}

int dx_dataset_set_rank(const struct dx_dataset_set *set, uint32_t id, uint32_t *rank)
{
    struct dx_bytes r = dx_bytes_of(set->bytes);
    uint32_t at = set->first;

    *rank = 0;
    if (set->count == 0 || id < at)
        return 0;
    if (set->kind == DX_DATASET_SET_ROARING)
        return roaring_rank(set->bytes, id, rank);
    while (at < id && *rank + 1 < set->count) {
        at += 1 + (uint32_t)dx_bytes_varint(&r);
        (*rank)++;
    }
    return at == id;
}

struct roaring_bitmap_s *dx_dataset_set_bitmap(const struct dx_dataset_set *set)
{
    struct dx_bytes r = dx_bytes_of(set->bytes);
    roaring_bitmap_t *b;
    uint32_t id = set->first;

    if (set->kind == DX_DATASET_SET_ROARING)
        return roaring_bitmap_portable_deserialize_safe((const char *)set->bytes.data,
                                                        set->bytes.size);
    b = roaring_bitmap_create();
    for (uint32_t i = 0; b != NULL && i < set->count; i++) {
        roaring_bitmap_add(b, id);
        if (i + 1 < set->count)
            id += 1 + (uint32_t)dx_bytes_varint(&r);
    }
    return b;
}

static size_t varint_size(uint64_t v)
{
    size_t n = 1;

    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

static size_t deltas_size(const uint32_t *ids, size_t count)
{
    size_t n = varint_size(ids[0]);

    for (size_t i = 1; i < count; i++)
        n += varint_size(ids[i] - ids[i - 1] - 1);
    return n;
}

static void encode_deltas(const uint32_t *ids, size_t count, struct dx_buf *out)
{
    dx_buf_varint(out, 2 * (uint64_t)deltas_size(ids, count));
    dx_buf_varint(out, ids[0]);
    for (size_t i = 1; i < count; i++)
        dx_buf_varint(out, ids[i] - ids[i - 1] - 1);
}

/* Where it is shorter than the `deltas` bytes of the other form. */
static bool put_bitmap(roaring_bitmap_t *b, size_t deltas, struct dx_buf *out)
{
    size_t size;
    uint8_t *to;

    (void)roaring_bitmap_run_optimize(b);
    size = roaring_bitmap_portable_size_in_bytes(b);
    if (deltas <= size)
        return false;
    dx_buf_varint(out, 2 * (uint64_t)size + 1);
    to = dx_buf_reserve(out, size);
    if (to != NULL)
        out->size += roaring_bitmap_portable_serialize(b, (char *)to);
    return true;
}

int dx_dataset_set_encode(const uint32_t *ids, size_t count, struct dx_buf *out,
                          struct dx_error *err)
{
    roaring_bitmap_t *b;

    if (count == 0 || count > UINT32_MAX)
        return dx_fail(err, DX_E_INVALID, "a set of %zu datasets cannot be stored", count);
    for (size_t i = 1; i < count; i++)
        if (ids[i] <= ids[i - 1])
            return dx_fail(err, DX_E_INVALID,
                           "ids of a set do not ascend: %" PRIu32 " behind %" PRIu32, ids[i],
                           ids[i - 1]);
    if (count <= DX_DATASET_SET_SMALL) {
        encode_deltas(ids, count, out);
        return out->failed ? dx_buf_fail(out, err, "set of datasets") : DX_OK;
    }
    b = roaring_bitmap_of_ptr(count, ids);
    if (b == NULL)
        return dx_no_memory(err, "set of %zu datasets", count);
    if (!put_bitmap(b, deltas_size(ids, count), out))
        encode_deltas(ids, count, out);
    roaring_bitmap_free(b);
    return out->failed ? dx_buf_fail(out, err, "set of datasets") : DX_OK;
}

/* A set as deltas: first measured, then put. */
struct deltas {
    struct dx_buf *out; /* NULL: only measured */
    size_t size;
    bool any;
    uint32_t last;
};

static bool add_delta(uint32_t id, void *ctx)
{
    struct deltas *d = ctx;
    uint64_t delta = d->any ? id - d->last - 1 : id;

    if (d->out == NULL)
        d->size += varint_size(delta);
    else
        dx_buf_varint(d->out, delta);
    d->any = true;
    d->last = id;
    return true;
}

int dx_dataset_set_encode_bitmap(struct roaring_bitmap_s *b, struct dx_buf *out,
                                 struct dx_error *err)
{
    struct deltas measure = { .out = NULL };
    struct deltas put = { .out = out };
    uint64_t count = roaring_bitmap_get_cardinality(b);

    if (count == 0 || count > UINT32_MAX)
        return dx_fail(err, DX_E_INVALID, "a set of %" PRIu64 " members cannot be stored", count);
    (void)roaring_iterate(b, add_delta, &measure);
    if (count <= DX_DATASET_SET_SMALL || !put_bitmap(b, measure.size, out)) {
        dx_buf_varint(out, 2 * (uint64_t)measure.size);
        (void)roaring_iterate(b, add_delta, &put);
    }
    return out->failed ? dx_buf_fail(out, err, "set") : DX_OK;
}
