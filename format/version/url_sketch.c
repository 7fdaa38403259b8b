/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/url_sketch.h"

#include "base/bits.h"
#include "base/hash.h"
#include "format/version/cold.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SEED UINT64_C(0x736b657463683438) /* ids have none, so these hashes are not theirs */
#define HASH_BITS 40
#define HASH_SIZE (HASH_BITS / 8)
#define REGISTERS DX_SKETCH_REGISTERS
#define RANK_BITS (HASH_BITS - DX_SKETCH_BITS)
#define RANK_MAX DX_SKETCH_RANK_MAX
#define PLAIN_HASHES \
    3 /* fewer than 4 do not gain from gaps: they are written whole, without their number */
#define DENSE_SIZE_MIN \
    16 /* more than those have: zeros are put behind registers of one value or two */
#define INSERTION_MAX 48

/* Layouts of before. */
#define OLD_HASH_BITS 48 /* of DX_COLD_VERSION_OLD */
#define OLD_REGISTER_BITS 6

_Static_assert(RANK_MAX == RANK_BITS + 1,
               "a register says how many zeros the rest of a hash begins with");

void dx_url_sketch_init(struct dx_url_sketch *s)
{
    *s = (struct dx_url_sketch){ .sorted = true };
    dx_buf_init(&s->hashes, SIZE_MAX / 2);
}

void dx_url_sketch_clear(struct dx_url_sketch *s)
{
    s->dense = false;
    s->sorted = true;
    dx_buf_clear(&s->hashes);
}

void dx_url_sketch_release(struct dx_url_sketch *s)
{
    dx_buf_release(&s->hashes);
    free(s->registers);
    dx_url_sketch_init(s);
}

uint64_t dx_url_sketch_host(struct dx_span scheme, struct dx_span host)
{
    return dx_hash64_seeded(host, dx_hash64_seeded(scheme, SEED));
}

uint64_t dx_url_sketch_hash_in(uint64_t host, struct dx_span path_query)
{
    return dx_hash64_seeded(path_query, host) >> (64 - HASH_BITS);
}

uint64_t dx_url_sketch_hash(struct dx_span scheme, struct dx_span host, struct dx_span path_query)
{
    return dx_url_sketch_hash_in(dx_url_sketch_host(scheme, host), path_query);
}

/* ---- few: hashes ---- */

/* The buffer holds numbers as this machine has them: only encode and decode know files. */
static uint64_t *hashes_of(const struct dx_url_sketch *s)
{
    return (uint64_t *)(void *)s->hashes.data;
}

static size_t count_of(const struct dx_url_sketch *s)
{
    return s->hashes.size / sizeof(uint64_t);
}

static void sort_few(uint64_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        size_t k = i;

        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

/* By bytes from the lowest: five passes, an odd number, so the result is copied back. */
static void sort_many(uint64_t *v, uint64_t *other, size_t n)
{
    for (unsigned shift = 0; shift < HASH_BITS; shift += 8) {
        size_t starts[256] = { 0 };
        size_t sum = 0;
        uint64_t *swap = v;

        for (size_t i = 0; i < n; i++)
            starts[v[i] >> shift & 255]++;
        for (unsigned i = 0; i < 256; i++) {
            size_t count = starts[i];

            starts[i] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            other[starts[v[i] >> shift & 255]++] = v[i];
        v = other;
        other = swap;
    }
    memcpy(other, v, n * sizeof *v);
}

/* Sorted and distinct. append has made the room behind the hashes that the passes need. */
static void put_in_order(struct dx_url_sketch *s)
{
    uint64_t *v = hashes_of(s);
    size_t n = count_of(s);
    size_t kept = 0;

    if (s->sorted)
        return;
    if (n > INSERTION_MAX)
        sort_many(v, v + n, n);
    else
        sort_few(v, n);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || v[kept - 1] != v[i])
            v[kept++] = v[i];
    s->hashes.size = kept * sizeof *v;
    s->sorted = true;
}

/* ---- many: registers ---- */

static void note(uint8_t *registers, uint64_t hash)
{
    uint64_t rest = hash & dx_bits_mask(RANK_BITS);
    uint8_t *at = registers + (hash >> RANK_BITS & (REGISTERS - 1));
    uint8_t rank = (uint8_t)(RANK_BITS - dx_bits_of_number(rest) + 1);

    if (rank > *at)
        *at = rank;
}

static int need_registers(struct dx_url_sketch *s, struct dx_error *err)
{
    if (s->registers == NULL)
        s->registers = malloc(REGISTERS);
    return s->registers == NULL ? dx_no_memory(err, "sketch") : DX_OK;
}

/* Registers are there. */
static void make_dense(struct dx_url_sketch *s)
{
    if (s->dense)
        return;
    memset(s->registers, 0, REGISTERS);
    for (size_t i = 0; i < count_of(s); i++)
        note(s->registers, hashes_of(s)[i]);
    dx_buf_clear(&s->hashes);
    s->sorted = true;
    s->dense = true;
}

int dx_url_sketch_settle(struct dx_url_sketch *s, struct dx_error *err)
{
    int rc;

    if (s->dense || count_of(s) <= DX_SKETCH_PAIR_MAX)
        return DX_OK;
    put_in_order(s);
    if (count_of(s) <= DX_SKETCH_PAIR_MAX)
        return DX_OK;
    rc = need_registers(s, err);
    if (rc >= 0)
        make_dense(s);
    return rc;
}

static void settle_union(struct dx_url_sketch *s)
{
    if (s->dense || count_of(s) <= DX_SKETCH_UNION_MAX)
        return;
    put_in_order(s);
    if (count_of(s) > DX_SKETCH_UNION_MAX)
        make_dense(s);
}

/* With room for as many again, to sort them. Registers are there before they can be needed, and a
 * list is looked at for doubles only when it is twice what it may be, so that sorting is rare. */
static int append(struct dx_url_sketch *s, const void *hashes, size_t size, struct dx_error *err)
{
    int rc = DX_OK;

    if (dx_buf_reserve(&s->hashes, s->hashes.size + 2 * size) == NULL)
        return dx_buf_fail(&s->hashes, err, "sketch");
    memcpy(s->hashes.data + s->hashes.size, hashes, size);
    s->hashes.size += size;
    assert(s->hashes.size <= s->hashes.capacity);
    if (count_of(s) > DX_SKETCH_UNION_MAX)
        rc = need_registers(s, err);
    if (rc >= 0 && count_of(s) >= 2 * (size_t)DX_SKETCH_UNION_MAX)
        settle_union(s);
    return rc;
}

int dx_url_sketch_add(struct dx_url_sketch *s, uint64_t hash, struct dx_error *err)
{
    uint8_t *to;

    hash &= dx_bits_mask(HASH_BITS);
    if (s->dense) {
        note(s->registers, hash);
        return DX_OK;
    }
    s->sorted = s->hashes.size == 0;
    if (count_of(s) >= DX_SKETCH_UNION_MAX)
        return append(s, &hash, sizeof hash, err);
    to = dx_buf_reserve(&s->hashes, s->hashes.size + 2 * sizeof hash); /* as append */
    if (to == NULL)
        return dx_buf_fail(&s->hashes, err, "sketch");
    memcpy(to, &hash, sizeof hash);
    s->hashes.size += sizeof hash;
    assert(s->hashes.size <= s->hashes.capacity);
    return DX_OK;
}

static void raise_registers(uint8_t *registers, const uint8_t *others)
{
    for (size_t i = 0; i < REGISTERS; i++)
        registers[i] = others[i] > registers[i] ? others[i] : registers[i];
}

int dx_url_sketch_union(struct dx_url_sketch *s, const struct dx_url_sketch *other,
                        struct dx_error *err)
{
    if (other->dense) {
        int rc = need_registers(s, err);

        if (rc >= 0) {
            make_dense(s);
            raise_registers(s->registers, other->registers);
        }
        return rc;
    }
    if (s->dense) {
        for (size_t i = 0; i < count_of(other); i++)
            note(s->registers, hashes_of(other)[i]);
        return DX_OK;
    }
    if (other->hashes.size == 0)
        return DX_OK;
    s->sorted = s->hashes.size == 0 && other->sorted;
    return append(s, other->hashes.data, other->hashes.size, err);
}

/*
 * The improved raw estimator of O. Ertl, "New cardinality estimation algorithms for HyperLogLog
 * sketches" (2017): one formula from empty to full, without tables of bias. Only +, *, / and sqrt
 * of doubles, each rounded once by IEEE 754 (x86-64 without -ffast-math, C11 without contraction),
 * so the same registers give the same number everywhere.
 */
static double sigma(double x)
{
    double y = 1;
    double z = x;
    double before;

    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

static double tau(double x)
{
    double y = 1;
    double z = 1 - x;
    double before;

    if (x == 0 || x == 1)
        return 0;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

static uint64_t estimate(const uint8_t *registers)
{
    const double m = REGISTERS;
    const double half_by_ln2 = 0.72134752044448170368; /* 1 / (2 ln 2) */
    uint32_t counts[RANK_MAX + 1] = { 0 };
    double z;

    for (size_t i = 0; i < REGISTERS; i++)
        counts[registers[i]]++;
    if (counts[0] == REGISTERS)
        return 0;
    z = m * tau(1 - counts[RANK_MAX] / m);
    for (unsigned k = RANK_BITS; k >= 1; k--)
        z = 0.5 * (z + counts[k]);
    z += m * sigma(counts[0] / m);
    return z > 0 ? (uint64_t)(half_by_ln2 * m * m / z + 0.5) : UINT64_C(1) << HASH_BITS;
}

uint64_t dx_url_sketch_count(struct dx_url_sketch *s)
{
    settle_union(s);
    put_in_order(s);
    return s->dense ? estimate(s->registers) : count_of(s);
}

uint64_t dx_url_sketch_clip(uint64_t count, uint64_t largest, uint64_t sum)
{
    return count < largest ? largest : count > sum ? sum : count;
}

/* ---- bytes ---- */

/* Gaps of n hashes are about 2^hash_bits / n. */
static unsigned rice_of(uint64_t n, unsigned hash_bits)
{
    return hash_bits - dx_bits_of_number(n);
}

/* Whole bytes: nearly all sketches. */
static void encode_plain(const uint64_t *v, size_t n, struct dx_buf *out)
{
    uint8_t *to = dx_buf_reserve(out, (n - 1) * HASH_SIZE + sizeof *v);

    if (to == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        dx_store_u64(to + i * HASH_SIZE, v[i]);
    out->size += n * HASH_SIZE;
    assert(out->size <= out->capacity);
}

static void encode_hashes(const struct dx_url_sketch *s, struct dx_buf *out)
{
    struct dx_bits_out bits = { .to = out };
    const uint64_t *v = hashes_of(s);
    size_t n = count_of(s);
    uint64_t next = 0; /* the least that can follow */

    if (n <= PLAIN_HASHES) {
        encode_plain(v, n, out);
        return;
    }
    dx_buf_varint(out, n);
    for (size_t i = 0; i < n; i++) {
        dx_bits_put_rice(&bits, v[i] - next, rice_of(n, HASH_BITS));
        next = v[i] + 1;
    }
    dx_bits_flush(&bits);
}

int dx_url_sketch_encode(struct dx_url_sketch *s, struct dx_buf *out, struct dx_error *err)
{
    struct dx_bits_out bits = { .to = out };
    size_t begin = out->size;
    int rc = dx_url_sketch_settle(s, err);

    if (rc < 0)
        return rc;
    put_in_order(s);
    if (!s->dense && count_of(s) == 0)
        return dx_fail(err, DX_E_INVALID, "sketch: of no URL");
    if (s->dense) {
        dx_buf_u8(out, 0);
        dx_sketch_registers_put(&bits, s->registers);
        dx_bits_flush(&bits);
        while (!out->failed && out->size - begin < DENSE_SIZE_MIN)
            dx_buf_u8(out, 0);
    } else {
        encode_hashes(s, out);
    }
    return out->failed ? dx_buf_fail(out, err, "sketch") : DX_OK;
}

static int take_old_registers(struct dx_bits *bits, unsigned hash_bits, uint8_t *registers,
                              struct dx_error *err)
{
    unsigned most = hash_bits - DX_SKETCH_BITS + 1;

    for (size_t i = 0; i < REGISTERS; i++) {
        uint8_t rank = (uint8_t)dx_bits_take(bits, OLD_REGISTER_BITS);

        if (bits->failed || rank > most)
            return dx_fail(err, DX_E_CORRUPT, "sketch: register %zu is %u, at most %u", i, rank,
                           most);
        registers[i] = rank < RANK_MAX ? rank : RANK_MAX; /* that of a hash that was cut */
    }
    return DX_OK;
}

/* What stands behind registers that take few bytes: the byte 0 and these are DENSE_SIZE_MIN. */
static int take_zeros(struct dx_bits *bits, struct dx_error *err)
{
    bool zero = bits->row.size + 1 == DENSE_SIZE_MIN;

    while (zero && 8 * bits->row.size - bits->at >= 8)
        zero = dx_bits_take(bits, 8) == 0;
    return zero ? DX_OK : dx_fail(err, DX_E_CORRUPT, "sketch: registers are cut");
}

/* bits is behind the byte 0. */
static int decode_dense(struct dx_url_sketch *s, struct dx_bits *bits, uint32_t version,
                        unsigned hash_bits, struct dx_error *err)
{
    int rc = need_registers(s, err);

    if (rc < 0)
        return rc;
    make_dense(s);
    rc = version != DX_COLD_VERSION_OLD ? dx_sketch_registers_take(bits, s->registers, err)
                                        : take_old_registers(bits, hash_bits, s->registers, err);
    if (rc >= 0 && version != DX_COLD_VERSION_OLD && bits->row.size + 1 <= DENSE_SIZE_MIN)
        rc = take_zeros(bits, err);
    if (rc >= 0 && !dx_bits_done(bits))
        rc = dx_fail(err, DX_E_CORRUPT, "sketch: has bits behind its last register");
    return rc;
}

static int decode_hashes(struct dx_url_sketch *s, uint64_t n, struct dx_bits *bits,
                         unsigned hash_bits, struct dx_error *err)
{
    uint64_t next = 0;

    if (n == 0 || n > DX_SKETCH_PAIR_MAX)
        return dx_fail(err, DX_E_CORRUPT, "sketch: number of hashes is not in 1..%d",
                       DX_SKETCH_PAIR_MAX);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = n <= PLAIN_HASHES ? dx_bits_take(bits, hash_bits)
                                       : dx_bits_rice(bits, rice_of(n, hash_bits));
        uint64_t cut;

        if (n > PLAIN_HASHES && v <= dx_bits_mask(hash_bits))
            v += next;
        if (v < next || v > dx_bits_mask(hash_bits))
            return dx_fail(err, DX_E_CORRUPT, "sketch: hash %d does not ascend in %u bits", (int)i,
                           hash_bits);
        cut = v >> (hash_bits - HASH_BITS);
        if (count_of(s) == 0 || hashes_of(s)[count_of(s) - 1] != cut)
            dx_buf_append(&s->hashes, &cut, sizeof cut);
        next = v + 1;
    }
    if (!dx_bits_done(bits))
        return dx_fail(err, DX_E_CORRUPT, "sketch: is cut, or has bits behind its last hash");
    return s->hashes.failed ? dx_buf_fail(&s->hashes, err, "sketch") : DX_OK;
}

static int decode(struct dx_url_sketch *s, uint32_t version, struct dx_span bytes,
                  struct dx_error *err)
{
    unsigned hash_bits = version == DX_COLD_VERSION_OLD ? OLD_HASH_BITS : HASH_BITS;
    bool whole = version != DX_COLD_VERSION_OLD && bytes.size <= PLAIN_HASHES * HASH_SIZE &&
                 bytes.size % HASH_SIZE == 0;
    struct dx_bytes r = dx_bytes_of(bytes);
    uint64_t n = whole ? bytes.size / HASH_SIZE : dx_bytes_varint(&r);
    struct dx_bits bits = dx_bits_of(dx_span_of(r.at, dx_bytes_left(&r)));

    if (r.failed || (!whole && n > 0 && n <= PLAIN_HASHES && version != DX_COLD_VERSION_OLD))
        return dx_fail(err, DX_E_CORRUPT, "sketch: %zu bytes do not say how many hashes they are",
                       bytes.size);
    return n == 0 && bytes.size > 0 ? decode_dense(s, &bits, version, hash_bits, err)
                                    : decode_hashes(s, n, &bits, hash_bits, err);
}

int dx_url_sketch_decode_of(struct dx_url_sketch *s, uint32_t version, struct dx_span bytes,
                            struct dx_error *err)
{
    int rc;

    dx_url_sketch_clear(s);
    rc = decode(s, version, bytes, err);
    if (rc < 0)
        dx_url_sketch_clear(s);
    return rc;
}

int dx_url_sketch_decode(struct dx_url_sketch *s, struct dx_span bytes, struct dx_error *err)
{
    return dx_url_sketch_decode_of(s, DX_COLD_VERSION, bytes, err);
}

int dx_url_sketch_recode(uint32_t version, struct dx_span *bytes, struct dx_buf *buf,
                         struct dx_error *err)
{
    struct dx_url_sketch s;
    int rc;

    if (version != DX_COLD_VERSION_OLD)
        return DX_OK;
    dx_url_sketch_init(&s);
    dx_buf_clear(buf);
    rc = dx_url_sketch_decode_of(&s, version, *bytes, err);
    if (rc >= 0)
        rc = dx_url_sketch_encode(&s, buf, err);
    dx_url_sketch_release(&s);
    *bytes = dx_span_of(buf->data, buf->size);
    return rc;
}
