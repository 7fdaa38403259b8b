/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/mphf.h"

#include "base/bits.h"
#include "base/quiet_thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC DX_KIND('D', 'X', 'M', 'P')
#define HEADER_SIZE 64
#define TAG_PILOTS DX_KIND('P', 'I', 'L', 'O')
#define TAG_SLOTS DX_KIND('S', 'L', 'O', 'T')
#define TAG_COLLISIONS DX_KIND('C', 'O', 'L', 'L')
#define COLLISION_SIZE 16
#define FINGERPRINT_BITS_MAX 16

#define MIX UINT64_C(0x9E3779B97F4A7C15)       /* 2^64 / golden ratio, odd */
#define MIX_PILOT UINT64_C(0xD1B54A32D192ED03) /* odd; unrelated to MIX */

__extension__ typedef unsigned __int128 u128;

/* ---- arithmetic of a lookup: docs/FORMAT.md 5.2 ---- */

/* High half of a product: maps a whole-range a to 0..b-1. */
static inline uint64_t high(uint64_t a, uint64_t b)
{
    return (uint64_t)((u128)a * b >> 64);
}

static inline uint32_t part_of(uint64_t hash, uint32_t parts)
{
    return (uint32_t)high(hash, parts);
}

/*
 * Bucket within the part. The low half of hash * parts is uniform within the part; x^2 (1+x) / 2
 * makes the first buckets large, which are placed while most slots are free, and the 1/16 of
 * x keeps the very first from growing so large that two of its keys share a slot.
 */
static inline uint32_t bucket_of(uint64_t hash, uint32_t parts, uint32_t part_buckets)
{
    uint64_t x = hash * parts;
    uint64_t y = high(high(x, x), UINT64_C(1) << 63 | x >> 1);

    return (uint32_t)high(y - (y >> 4) + (x >> 4), part_buckets);
}

static inline uint32_t slot_of(uint64_t hash, uint8_t pilot, uint32_t part_slots)
{
    return (uint32_t)high((hash ^ pilot * MIX_PILOT) * MIX, part_slots);
}

static uint64_t dictionary_buckets_of(uint64_t n)
{
    return (n + DX_DICTIONARY_BUCKET - 1) / DX_DICTIONARY_BUCKET;
}

/* What a slot has in front of its fingerprint: the domain's number, as long as eight bits are left, since a stranger whose
 * fingerprint fits costs a look into the dictionary; else that of its bucket. */
struct slots {
    uint64_t empty; /* a number that none has */
    unsigned size;  /* bytes */
    unsigned fingerprint_bits;
    bool has_ordinals;
};

#define FINGERPRINT_BITS_LEAST 8

static struct slots slots_of(uint64_t n, uint32_t version)
{
    struct slots s = { .empty = n, .size = 4, .has_ordinals = true };
    unsigned bits = dx_bits_of_number(n);

    if (version == DX_MPHF_VERSION_OLD || bits + FINGERPRINT_BITS_LEAST > 32) {
        s.empty = dictionary_buckets_of(n);
        s.has_ordinals = false;
        bits = dx_bits_of_number(s.empty);
    } else if (bits + FINGERPRINT_BITS_LEAST <= 24) {
        s.size = 3;
    }
    s.fingerprint_bits = 8 * s.size - bits < FINGERPRINT_BITS_MAX ? 8 * s.size - bits
                                                                  : FINGERPRINT_BITS_MAX;
    return s;
}

static inline uint32_t load_slot(const uint8_t *p, unsigned size)
{
    return size == 4 ? dx_load_u32(p) : dx_load_u16(p) | (uint32_t)p[2] << 16;
}

static void store_slot(uint8_t *p, unsigned size, uint32_t v)
{
    for (unsigned i = 0; i < size; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

/* ---- reader ---- */

static int parse_header(struct dx_mphf *m, struct dx_span header, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(header);
    const char *name = m->envelope.name;
    struct slots slots;

    (void)dx_bytes_u64(&r); /* magic and version: checked by the envelope */
    m->n = dx_bytes_u64(&r);
    m->seed = dx_bytes_u64(&r);
    m->parts = dx_bytes_u32(&r);
    m->part_buckets = dx_bytes_u32(&r);
    m->part_slots = dx_bytes_u32(&r);
    m->fingerprint_bits = dx_bytes_u32(&r);
    m->collision_count = dx_bytes_u64(&r);
    memcpy(m->text_hash.bytes, dx_bytes_take(&r, 16).data, 16);
    if (m->n > DX_DICTIONARY_N_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %llu keys, at most %u", name,
                       (unsigned long long)m->n, DX_DICTIONARY_N_MAX);
    if (m->n > 0 && (m->parts == 0 || m->part_buckets == 0 || m->part_slots == 0 ||
                     (uint64_t)m->parts * m->part_slots < m->n))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: %u parts of %u buckets and %u slots for "
                       "%llu keys",
                       name, m->parts, m->part_buckets, m->part_slots, (unsigned long long)m->n);
    slots = slots_of(m->n, m->version);
    if (m->fingerprint_bits != slots.fingerprint_bits)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: fingerprints of %u bits, expected %u", name,
                       m->fingerprint_bits, slots.fingerprint_bits);
    m->fingerprint_mask = (UINT32_C(1) << slots.fingerprint_bits) - 1;
    m->slot_size = slots.size;
    m->has_ordinals = slots.has_ordinals;
    m->empty = slots.empty;
    return DX_OK;
}

/* What a collision stands for; the block is hashed by the caller. */
static struct dx_collision collision_at(const struct dx_mphf *m, size_t i)
{
    const uint8_t *p = m->collisions.data + COLLISION_SIZE * i;

    return (struct dx_collision){ dx_load_u64(p), dx_load_u64(p + 8) };
}

static int open_collisions(struct dx_mphf *m, struct dx_error *err)
{
    int rc = dx_envelope_array(&m->envelope, TAG_COLLISIONS, COLLISION_SIZE, m->collision_count,
                               &m->collisions, err);

    if (rc == DX_OK)
        rc = dx_envelope_check(&m->envelope, m->collisions.data, m->collisions.size, err);
    for (size_t i = 0; rc == DX_OK && i < m->collision_count; i++) {
        uint64_t ordinal = collision_at(m, i).ordinal;

        if (ordinal >= m->n || (i > 0 && ordinal <= collision_at(m, i - 1).ordinal))
            rc = dx_envelope_corrupt(&m->envelope, TAG_COLLISIONS,
                                     m->collisions.data + COLLISION_SIZE * i, err,
                                     "ordinal %llu is not ascending below %llu",
                                     (unsigned long long)ordinal, (unsigned long long)m->n);
    }
    return rc;
}

int dx_mphf_open(struct dx_mphf *m, struct dx_span file, unsigned flags, const char *name,
                 struct dx_error *err)
{
    struct dx_span header;
    int rc;

    memset(m, 0, sizeof *m);
    m->version = dx_envelope_version(file, DX_MPHF_VERSION_OLD, DX_MPHF_VERSION);
    rc = dx_envelope_open(&m->envelope, file, MAGIC, m->version, flags, name, err);
    if (rc < 0)
        return rc;
    rc = dx_envelope_header(&m->envelope, HEADER_SIZE, &header, err);
    if (rc == DX_OK)
        rc = parse_header(m, header, err);
    if (rc == DX_OK)
        rc = dx_envelope_array(&m->envelope, TAG_PILOTS, 1, (uint64_t)m->parts * m->part_buckets,
                               &m->pilots, err);
    if (rc == DX_OK)
        rc = dx_envelope_array(&m->envelope, TAG_SLOTS, m->slot_size,
                               (uint64_t)m->parts * m->part_slots, &m->slots, err);
    if (rc == DX_OK)
        rc = open_collisions(m, err);
    if (rc < 0)
        dx_mphf_close(m);
    return rc;
}

void dx_mphf_close(struct dx_mphf *m)
{
    if (m == NULL)
        return;
    dx_envelope_close(&m->envelope);
    memset(m, 0, sizeof *m);
}

int dx_mphf_match(const struct dx_mphf *m, const struct dx_dictionary *d, struct dx_error *err)
{
    const char *a = m->envelope.name;
    const char *b = d->envelope.name;

    if (memcmp(m->envelope.build.bytes, d->envelope.build.bytes, 16) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: its build id is not that of %s", a, b);
    if (m->n != d->info.n)
        return dx_fail(err, DX_E_CORRUPT, "%s: %llu keys, but %s has %llu domains", a,
                       (unsigned long long)m->n, b, (unsigned long long)d->info.n);
    if (!dx_hash128_equal(&m->text_hash, &d->info.text_hash))
        return dx_fail(err, DX_E_CORRUPT, "%s: its hash of the domains is not that of %s", a, b);
    return DX_OK;
}

static inline const uint8_t *pilot_in(const struct dx_mphf *m, uint64_t hash, uint32_t part)
{
    return m->pilots.data + (size_t)part * m->part_buckets +
           bucket_of(hash, m->parts, m->part_buckets);
}

static inline const uint8_t *slot_in(const struct dx_mphf *m, uint64_t hash, uint32_t part,
                                     uint8_t pilot)
{
    return m->slots.data +
           m->slot_size * ((size_t)part * m->part_slots + slot_of(hash, pilot, m->part_slots));
}

static inline const uint8_t *pilot_at(const struct dx_mphf *m, uint64_t hash)
{
    return pilot_in(m, hash, part_of(hash, m->parts));
}

static inline const uint8_t *slot_at(const struct dx_mphf *m, uint64_t hash, uint8_t pilot)
{
    return slot_in(m, hash, part_of(hash, m->parts), pilot);
}

/* 1 and the number in this slot if the fingerprint is the key's, else 0. */
static inline int read_slot(const struct dx_mphf *m, const uint8_t *slot, uint64_t hash,
                            uint64_t *number)
{
    uint32_t value = load_slot(slot, m->slot_size);

    if (((value ^ (uint32_t)hash) & m->fingerprint_mask) != 0)
        return 0;
    *number = value >> m->fingerprint_bits;
    return *number != m->empty;
}

static inline uint64_t bucket_in(const struct dx_mphf *m, uint64_t number)
{
    return m->has_ordinals ? number / DX_DICTIONARY_BUCKET : number;
}

int dx_mphf_domain_id(const struct dx_mphf *m, uint64_t ordinal, struct dx_span domain,
                      uint64_t *domain_id, struct dx_error *err)
{
    size_t low = 0;
    size_t count = m->collision_count;
    int rc;

    *domain_id = dx_id64(domain);
    if (count == 0)
        return DX_OK;
    rc = dx_envelope_check(&m->envelope, m->collisions.data, m->collisions.size, err);
    if (rc < 0)
        return rc;
    while (count > 0) {
        size_t half = count / 2;

        if (collision_at(m, low + half).ordinal < ordinal) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    if (low < m->collision_count && collision_at(m, low).ordinal == ordinal)
        *domain_id = collision_at(m, low).domain_id;
    return DX_OK;
}

/* What is left when the fingerprint fits: the string decides. *ordinal is the number in the slot, and then the domain's. */
static int find_exact(const struct dx_mphf *m, const struct dx_dictionary *d, struct dx_span domain,
                      uint64_t hash, uint64_t *ordinal, uint64_t *domain_id, struct dx_error *err)
{
    int rc = m->has_ordinals ? dx_dictionary_is(d, *ordinal, domain, err)
                             : dx_dictionary_find_in_bucket(d, *ordinal, domain, ordinal, err);

    if (rc != 1)
        return rc;
    if (m->seed == 0 && m->collision_count == 0) {
        *domain_id = hash;
        return 1;
    }
    rc = dx_mphf_domain_id(m, *ordinal, domain, domain_id, err);
    return rc < 0 ? rc : 1;
}

static inline uint64_t hash_from(const struct dx_mphf *m, struct dx_span domain, uint64_t hash)
{
    return m->seed == 0 ? hash : dx_hash64_seeded(domain, m->seed);
}

struct dx_mphf_probe dx_mphf_probe(const struct dx_mphf *m, struct dx_span domain, uint64_t hash)
{
    struct dx_mphf_probe p = { .hash = hash_from(m, domain, hash) };

    assert(m->n > 0);
    p.at = pilot_at(m, p.hash);
    __builtin_prefetch(p.at);
    return p;
}

void dx_mphf_probe_next(struct dx_mphf_probe *p, const struct dx_mphf *m)
{
    p->rc = dx_envelope_check(&m->envelope, p->at, 1, NULL);
    if (p->rc < 0)
        return;
    p->at = slot_at(m, p->hash, *p->at);
    __builtin_prefetch(p->at);
}

int dx_mphf_probe_end(const struct dx_mphf_probe *p, const struct dx_mphf *m,
                      const struct dx_dictionary *d, struct dx_span domain, uint64_t *ordinal,
                      uint64_t *domain_id, struct dx_error *err)
{
    int rc = p->rc < 0 ? dx_envelope_check(&m->envelope, p->at, 1, err)
                       : dx_envelope_check(&m->envelope, p->at, m->slot_size, err);

    if (rc < 0)
        return rc;
    return read_slot(m, p->at, p->hash, ordinal)
               ? find_exact(m, d, domain, p->hash, ordinal, domain_id, err)
               : 0;
}

/* The processor works on the next names while it waits for the memory of this one, as far as its window of some hundred
 * instructions reaches: so this calls nothing, and keeps nothing for after a call. */
uint64_t dx_mphf_number(const struct dx_mphf *m, uint64_t hash)
{
    const uint32_t part = part_of(hash, m->parts); /* not read again behind an atomic load */
    const bool all = dx_envelope_all_hashed(&m->envelope);
    const uint8_t *pilot;
    const uint8_t *slot;
    uint64_t number;

    if (m->n == 0)
        return DX_MPHF_ABSENT;
    pilot = pilot_in(m, hash, part);
    if (!all && !dx_envelope_hashed(&m->envelope, pilot))
        return DX_MPHF_UNKNOWN;
    slot = slot_in(m, hash, part, *pilot);
    if (!all && !(dx_envelope_hashed(&m->envelope, slot) &&
                  dx_envelope_hashed(&m->envelope, slot + m->slot_size - 1)))
        return DX_MPHF_UNKNOWN;
    return read_slot(m, slot, hash, &number) ? number : DX_MPHF_ABSENT;
}

/* Hashes what dx_mphf_number reads. */
static int hash_blocks(const struct dx_mphf *m, uint64_t hash, struct dx_error *err)
{
    const uint8_t *pilot = pilot_at(m, hash);
    int rc = dx_envelope_check(&m->envelope, pilot, 1, err);

    return rc < 0 ? rc
                  : dx_envelope_check(&m->envelope, slot_at(m, hash, *pilot), m->slot_size, err);
}

int dx_mphf_find_number(const struct dx_mphf *m, const struct dx_dictionary *d,
                        struct dx_span domain, uint64_t hash, uint64_t number, uint64_t *ordinal,
                        uint64_t *domain_id, struct dx_error *err)
{
    if (number == DX_MPHF_UNKNOWN) {
        int rc = hash_blocks(m, hash, err);

        if (rc < 0)
            return rc;
        number = dx_mphf_number(m, hash);
    }
    *ordinal = number;
    return number == DX_MPHF_ABSENT ? 0 : find_exact(m, d, domain, hash, ordinal, domain_id, err);
}

int dx_mphf_other_has_id(const struct dx_mphf *m, const struct dx_dictionary *d,
                         struct dx_span domain, uint64_t domain_id, struct dx_error *err)
{
    uint64_t number;
    uint64_t end;
    int rc;

    if (m->n == 0 || m->seed != 0 || m->collision_count > 0)
        return m->n > 0;
    rc = hash_blocks(m, domain_id, err);
    number = rc < 0 ? DX_MPHF_ABSENT : dx_mphf_number(m, domain_id);
    if (number == DX_MPHF_ABSENT)
        return rc;
    end = m->has_ordinals ? number + 1 : (number + 1) * DX_DICTIONARY_BUCKET;
    if (!m->has_ordinals)
        number *= DX_DICTIONARY_BUCKET;
    for (; number < end; number++) {
        uint8_t text[DX_SURT_MAX];
        size_t size;

        rc = dx_dictionary_get(d, number, text, &size, err);
        if (rc != 1)
            return rc;
        if (dx_id64(dx_span_of(text, size)) == domain_id)
            return !dx_span_equal(dx_span_of(text, size), domain);
    }
    return 0;
}

#define BATCH 32 /* lookups whose memory accesses overlap */
#define LINE 64

struct lane {
    uint64_t hash;
    uint64_t number;
    const uint8_t *at; /* what the next step reads */
};

/*
 * Each step touches what the step before asked the caches for. A lane ends when hits[i].rc is
 * set; 1 means "still going" until the last step.
 */
static void find_lanes(const struct dx_mphf *m, const struct dx_dictionary *d,
                       const struct dx_span *domains, const uint64_t *hashes, size_t count,
                       struct dx_mphf_hit *hits)
{
    DX_UNINITIALIZED struct lane lanes[BATCH];

    for (size_t i = 0; i < count; i++) {
        lanes[i].hash = hashes == NULL ? dx_mphf_hash(domains[i], m->seed)
                                       : hash_from(m, domains[i], hashes[i]);
        lanes[i].at = pilot_at(m, lanes[i].hash);
        __builtin_prefetch(lanes[i].at);
    }
    for (size_t i = 0; i < count; i++) {
        hits[i].rc = dx_envelope_check(&m->envelope, lanes[i].at, 1, NULL);
        if (hits[i].rc < 0)
            continue;
        hits[i].rc = 1;
        lanes[i].at = slot_at(m, lanes[i].hash, *lanes[i].at);
        __builtin_prefetch(lanes[i].at);
    }
    for (size_t i = 0; i < count; i++) {
        int rc;

        if (hits[i].rc != 1)
            continue;
        rc = dx_envelope_check(&m->envelope, lanes[i].at, m->slot_size, NULL);
        hits[i].rc = rc < 0 ? rc : read_slot(m, lanes[i].at, lanes[i].hash, &hits[i].ordinal);
        if (hits[i].rc == 1)
            dx_dictionary_prefetch(d, bucket_in(m, hits[i].ordinal));
    }
    for (size_t i = 0; i < count; i++) {
        struct dx_span entries;
        int rc;

        if (hits[i].rc != 1)
            continue;
        rc = dx_dictionary_bucket_bounds(d, bucket_in(m, hits[i].ordinal), &entries, NULL);
        if (rc < 0) {
            hits[i].rc = rc;
            continue;
        }
        for (size_t k = 0; k < entries.size + LINE; k += LINE)
            __builtin_prefetch(entries.data + (k < entries.size ? k : entries.size - 1));
    }
    for (size_t i = 0; i < count; i++) {
        if (hits[i].rc == 1)
            hits[i].rc = find_exact(m, d, domains[i], lanes[i].hash, &hits[i].ordinal,
                                    &hits[i].domain_id, NULL);
    }
}

void dx_mphf_find_batch(const struct dx_mphf *m, const struct dx_dictionary *d,
                        const struct dx_span *domains, const uint64_t *hashes, size_t count,
                        struct dx_mphf_hit *hits)
{
    for (size_t i = 0; i < count; i += BATCH) {
        size_t n = count - i < BATCH ? count - i : BATCH;

        if (m->n > 0)
            find_lanes(m, d, domains + i, hashes == NULL ? NULL : hashes + i, n, hits + i);
        for (size_t k = i; m->n == 0 && k < i + n; k++)
            hits[k].rc = 0;
    }
}

#define COLLISION_SEEDS 256 /* more domains with one hash than this are not believed */

static int verify_collision(const struct dx_mphf *m, size_t i, struct dx_span domain,
                            struct dx_error *err)
{
    uint64_t id = collision_at(m, i).domain_id;

    for (uint64_t seed = 1; seed <= COLLISION_SEEDS; seed++) {
        if (dx_id64_seeded(domain, seed) == id)
            return DX_OK;
    }
    return dx_envelope_corrupt(
        &m->envelope, TAG_COLLISIONS, m->collisions.data + COLLISION_SIZE * i, err,
        "%016llx is not a seeded hash of its domain", (unsigned long long)id);
}

/* Domains in order of the dictionary are all over the slots, so they are looked up together. */
#define VERIFY_BATCH 256
#define VERIFY_THREADS_MAX 64
#define VERIFY_SHARE (1u << 14) /* domains, below which a thread costs more than it does */

/* Domains [ordinal, end), of one thread. */
struct verify {
    const struct dx_mphf *m;
    const struct dx_dictionary *d;
    uint64_t ordinal; /* of the first of the batch */
    uint64_t end;
    size_t count;     /* of the batch */
    size_t collision; /* the next */
    struct dx_span domains[VERIFY_BATCH];
    struct lane lanes[VERIFY_BATCH];
    uint8_t text[VERIFY_BATCH][DX_SURT_MAX];
    pthread_t thread;
    struct dx_error err;
    int rc;
};

/* The numbers of the batch as the function has them; the file was checked before. */
static void verify_lanes(struct verify *v)
{
    const struct dx_mphf *m = v->m;

    for (size_t k = 0; k < v->count; k++) {
        v->lanes[k].hash = dx_mphf_hash(v->domains[k], m->seed);
        v->lanes[k].at = pilot_at(m, v->lanes[k].hash);
        __builtin_prefetch(v->lanes[k].at);
    }
    for (size_t k = 0; k < v->count; k++) {
        v->lanes[k].at = slot_at(m, v->lanes[k].hash, *v->lanes[k].at);
        __builtin_prefetch(v->lanes[k].at);
    }
    for (size_t k = 0; k < v->count; k++)
        if (!read_slot(m, v->lanes[k].at, v->lanes[k].hash, &v->lanes[k].number))
            v->lanes[k].number = m->empty;
}

/* Whether domain i is found at i. The dictionary's walk gave its text, so where the number is stored it is enough to compare
 * that; the last domain of each bucket is looked up whole, so that the place of the bucket is the one that the walk came to,
 * and each entry of it reads as it did there. */
static int verify_domain(const struct verify *v, size_t k, uint64_t i, struct dx_error *err)
{
    uint64_t ordinal = v->lanes[k].number;
    bool whole = !v->m->has_ordinals || i % DX_DICTIONARY_BUCKET == DX_DICTIONARY_BUCKET - 1 ||
                 i + 1 == v->d->info.n || ordinal != i; /* which may say more */
    uint64_t id;
    int rc = ordinal != v->m->empty;

    if (rc == 1 && whole)
        rc = find_exact(v->m, v->d, v->domains[k], v->lanes[k].hash, &ordinal, &id, err);
    if (rc < 0 || (rc == 1 && ordinal == i))
        return rc < 0 ? rc : DX_OK;
    return dx_fail(err, DX_E_CORRUPT, "%s: domain %llu of %s is not found", v->m->envelope.name,
                   (unsigned long long)i, v->d->envelope.name);
}

static int verify_batch(struct verify *v, struct dx_error *err)
{
    const struct dx_mphf *m = v->m;
    int rc = DX_OK;

    verify_lanes(v);
    for (size_t k = 0; k < v->count && rc == DX_OK; k++) {
        uint64_t i = v->ordinal + k;

        rc = verify_domain(v, k, i, err);
        if (rc == DX_OK && v->collision < m->collision_count &&
            collision_at(m, v->collision).ordinal == i)
            rc = verify_collision(m, v->collision++, v->domains[k], err);
    }
    v->ordinal += v->count;
    v->count = 0;
    return rc;
}

static int verify_domains(struct verify *v, struct dx_error *err)
{
    struct dx_dictionary_cursor c;
    struct dx_span key;
    int rc = DX_OK;

    dx_dictionary_seek(&c, v->d, v->ordinal);
    for (uint64_t left = v->end - v->ordinal; left > 0; left--) {
        uint8_t *text = v->text[v->count];

        rc = dx_dictionary_next(&c, &key, err);
        if (rc <= 0)
            break;
        v->domains[v->count++] = dx_span_of(text, dx_surt_domain(key, text));
        if (v->count == VERIFY_BATCH)
            rc = verify_batch(v, err);
        if (rc < 0)
            break;
    }
    return rc < 0 ? rc : verify_batch(v, err);
}

static void *verify_share(void *ctx)
{
    struct verify *v = ctx;

    v->rc = verify_domains(v, &v->err);
    return NULL;
}

static size_t collision_from(const struct dx_mphf *m, uint64_t ordinal)
{
    size_t low = 0;
    size_t high = m->collision_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (collision_at(m, middle).ordinal < ordinal)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Shares of one size; of several errors that of the first share is returned. */
static int verify_shares(const struct dx_mphf *m, const struct dx_dictionary *d, unsigned shares,
                         struct verify *all, struct dx_error *err)
{
    unsigned started = 1;

    for (unsigned i = 0; i < shares; i++) {
        all[i].m = m;
        all[i].d = d;
        all[i].ordinal = d->info.n * i / shares;
        all[i].end = d->info.n * (i + 1) / shares;
        all[i].collision = collision_from(m, all[i].ordinal);
        all[i].err = (struct dx_error)DX_ERROR_INIT;
    }
    while (started < shares &&
           dx_quiet_thread(&all[started].thread, verify_share, &all[started]) == 0)
        started++;
    (void)verify_share(&all[0]);
    for (unsigned i = started; i < shares; i++)
        (void)verify_share(&all[i]);
    for (unsigned i = 1; i < started; i++)
        (void)pthread_join(all[i].thread, NULL);
    for (unsigned i = 0; i < shares; i++)
        if (all[i].rc < 0) {
            if (err != NULL)
                *err = all[i].err;
            return all[i].rc;
        }
    return DX_OK;
}

int dx_mphf_verify(const struct dx_mphf *m, const struct dx_dictionary *d, unsigned threads,
                   struct dx_error *err)
{
    struct verify *all = NULL;
    unsigned shares = threads < VERIFY_THREADS_MAX ? threads : VERIFY_THREADS_MAX;
    int rc = dx_envelope_verify(&m->envelope, err);

    if (rc == DX_OK)
        rc = dx_mphf_match(m, d, err);
    if (rc < 0)
        return rc;
    while (shares > 1 && d->info.n / shares < VERIFY_SHARE)
        shares--;
    shares = shares == 0 ? 1 : shares;
    all = calloc(shares, sizeof *all);
    if (all == NULL)
        return dx_no_memory(err, "%s", m->envelope.name);
    rc = verify_shares(m, d, shares, all, err);
    free(all);
    return rc;
}

/* ---- builder ---- */

#define PART_KEYS (1u << 18) /* a part's tables fit the second-level cache */
#define BUCKET_MAX \
    1023 /* keys; the largest has about 50: with more than this the hashes are not random */
#define RECENT 16                /* buckets just placed are not evicted again: no short cycles */
#define EVICTIONS_A_SLOT 10      /* give up: the seed is hopeless */
#define WRITE_WINDOW (64u << 20) /* slots in memory while writing, when no cap is given */
#define SLOTS_MORE 8             /* for tiny parts, where 1 % is less than one slot */
#define NO_OWNER UINT32_MAX

/* A part while it is built. One thread. */
struct part {
    uint32_t slots;
    uint32_t buckets;
    uint32_t key_count;
    uint64_t *keys;   /* by bucket */
    uint32_t *starts; /* of each bucket in keys; one more: the end */
    uint32_t *order;  /* buckets, largest first */
    uint32_t *owner;  /* of each slot, or NO_OWNER */
    uint16_t *weight; /* of each slot: the size of its owner; 0: it has none */
    uint64_t *taken;  /* a bit a slot: what the hot loop reads */
    uint32_t *heap;   /* buckets without a place, largest on top */
    uint32_t heap_size;
    uint8_t *pilots; /* the part's, in the result */
    uint32_t recent[RECENT];
    uint32_t recent_size; /* fewer than RECENT where there are few buckets */
    uint32_t placed;      /* how many went into `recent` */
    uint64_t evictions;
};

static size_t words_of(uint32_t slots)
{
    return (size_t)slots / 64 + 1;
}

static void part_release(struct part *p)
{
    free(p->keys);
    free(p->starts);
    free(p->order);
    free(p->owner);
    free(p->weight);
    free(p->taken);
    free(p->heap);
    memset(p, 0, sizeof *p);
}

static int part_init(struct part *p, uint32_t slots, uint32_t buckets, uint32_t keys_max,
                     struct dx_error *err)
{
    memset(p, 0, sizeof *p);
    p->slots = slots;
    p->buckets = buckets;
    p->recent_size = buckets / 8 < RECENT ? buckets / 8 + 1 : RECENT;
    p->keys = malloc(((size_t)keys_max + 1) * sizeof *p->keys);
    p->starts = malloc(((size_t)buckets + 2) * sizeof *p->starts);
    p->order = malloc((size_t)buckets * sizeof *p->order);
    p->owner = malloc((size_t)slots * sizeof *p->owner);
    p->weight = malloc((size_t)slots * sizeof *p->weight);
    p->taken = malloc(words_of(slots) * sizeof *p->taken);
    p->heap = malloc((size_t)buckets * sizeof *p->heap);
    if (p->keys == NULL || p->starts == NULL || p->order == NULL || p->owner == NULL ||
        p->weight == NULL || p->taken == NULL || p->heap == NULL)
        return dx_no_memory(err, "mphf: part of %u keys", keys_max);
    return DX_OK;
}

static inline uint32_t bucket_size(const struct part *p, uint32_t bucket)
{
    return p->starts[bucket + 1] - p->starts[bucket];
}

/* Sorts the part's keys by bucket. */
static void group_keys(struct part *p, const uint64_t *hashes, uint32_t count, uint32_t parts)
{
    uint32_t *next = p->starts + 1; /* next[b] is where b's next key goes; ends as starts[b+1] */

    p->key_count = count;
    memset(p->starts, 0, ((size_t)p->buckets + 2) * sizeof *p->starts);
    for (uint32_t i = 0; i < count; i++)
        p->starts[bucket_of(hashes[i], parts, p->buckets) + 2]++;
    for (uint32_t b = 2; b <= p->buckets; b++)
        p->starts[b] += p->starts[b - 1];
    for (uint32_t i = 0; i < count; i++)
        p->keys[next[bucket_of(hashes[i], parts, p->buckets)]++] = hashes[i];
}

/* The order must not depend on the order in which keys came: sorted within the bucket. */
static bool sort_bucket(uint64_t *keys, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        uint32_t k = i;

        for (; k > 0 && keys[k - 1] > key; k--)
            keys[k] = keys[k - 1];
        keys[k] = key;
        if (k > 0 && keys[k - 1] == key)
            return false;
    }
    return true;
}

/* False: two keys share a hash, or a bucket is too large. */
static bool order_buckets(struct part *p)
{
    uint32_t of_size[BUCKET_MAX + 2] = { 0 };

    for (uint32_t b = 0; b < p->buckets; b++) {
        uint32_t size = bucket_size(p, b);

        if (size > BUCKET_MAX || !sort_bucket(p->keys + p->starts[b], size))
            return false;
        of_size[BUCKET_MAX - size + 1]++;
    }
    for (uint32_t i = 1; i <= BUCKET_MAX; i++)
        of_size[i] += of_size[i - 1];
    for (uint32_t b = 0; b < p->buckets; b++)
        p->order[of_size[BUCKET_MAX - bucket_size(p, b)]++] = b;
    return true;
}

static bool heap_above(const struct part *p, uint32_t a, uint32_t b)
{
    uint32_t sa = bucket_size(p, a);
    uint32_t sb = bucket_size(p, b);

    return sa != sb ? sa > sb : a < b;
}

static void heap_push(struct part *p, uint32_t bucket)
{
    uint32_t i = p->heap_size++;

    while (i > 0 && heap_above(p, bucket, p->heap[(i - 1) / 2])) {
        p->heap[i] = p->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    p->heap[i] = bucket;
}

static uint32_t heap_pop(struct part *p)
{
    uint32_t top = p->heap[0];
    uint32_t last = p->heap[--p->heap_size];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= p->heap_size)
            break;
        if (child + 1 < p->heap_size && heap_above(p, p->heap[child + 1], p->heap[child]))
            child++;
        if (!heap_above(p, p->heap[child], last))
            break;
        p->heap[i] = p->heap[child];
        i = child;
    }
    p->heap[i] = last;
    return top;
}

static inline bool is_taken(const struct part *p, uint32_t slot)
{
    return p->taken[slot >> 6] >> (slot & 63) & 1;
}

static inline void flip(struct part *p, uint32_t slot)
{
    p->taken[slot >> 6] ^= UINT64_C(1) << (slot & 63);
}

/* The first pilot that puts all keys of the bucket on free slots; -1 if there is none. */
static int free_pilot(struct part *p, const uint64_t *keys, uint32_t count)
{
    for (int pilot = 0; pilot < 256; pilot++) {
        uint32_t i = 0;

        while (i < count && !is_taken(p, slot_of(keys[i], (uint8_t)pilot, p->slots)))
            i++;
        if (i < count)
            continue;
        /* Taken one after the other, two keys of the bucket on one slot show. */
        for (i = 0; i < count; i++) {
            uint32_t slot = slot_of(keys[i], (uint8_t)pilot, p->slots);

            if (is_taken(p, slot))
                break;
            flip(p, slot);
        }
        for (uint32_t k = 0; k < i; k++)
            flip(p, slot_of(keys[k], (uint8_t)pilot, p->slots));
        if (i == count)
            return pilot;
    }
    return -1;
}

static bool is_recent(const struct part *p, uint32_t bucket)
{
    for (uint32_t i = 0; i < p->recent_size && i < p->placed; i++) {
        if (p->recent[i] == bucket)
            return true;
    }
    return false;
}

static bool evicts_recent(const struct part *p, const uint64_t *keys, uint32_t count, uint8_t pilot)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t owner = p->owner[slot_of(keys[i], pilot, p->slots)];

        if (owner != NO_OWNER && is_recent(p, owner))
            return true;
    }
    return false;
}

/* Do two of these keys share a slot? Quadratic: asked of the small buckets that come late. */
static bool share_slot(const struct part *p, const uint64_t *keys, uint32_t count, uint8_t pilot)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t slot = slot_of(keys[i], pilot, p->slots);

        for (uint32_t k = 0; k < i; k++) {
            if (slot_of(keys[k], pilot, p->slots) == slot)
                return true;
        }
    }
    return false;
}

/* What it costs to place these keys: squares of the sizes of the buckets that must go. */
static uint64_t eviction_cost(const struct part *p, const uint64_t *keys, uint32_t count,
                              uint8_t pilot, uint64_t best)
{
    uint64_t cost = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = p->weight[slot_of(keys[i], pilot, p->slots)];

        cost += size * size;
        if (cost >= best)
            return UINT64_MAX;
    }
    /* Last, as few pilots come so far. */
    return evicts_recent(p, keys, count, pilot) || share_slot(p, keys, count, pilot) ? UINT64_MAX
                                                                                     : cost;
}

/* The cheapest pilot; the search begins elsewhere each time, so that ties do not repeat. */
static int evicting_pilot(const struct part *p, const uint64_t *keys, uint32_t count)
{
    uint64_t best = UINT64_MAX;
    int found = -1;

    for (unsigned i = 0; i < 256; i++) {
        uint8_t pilot = (uint8_t)(i + p->evictions * 37);
        uint64_t cost = eviction_cost(p, keys, count, pilot, best);

        if (cost < best) {
            best = cost;
            found = pilot;
        }
    }
    return found;
}

static void evict(struct part *p, uint32_t bucket)
{
    for (uint32_t i = p->starts[bucket]; i < p->starts[bucket + 1]; i++) {
        uint32_t slot = slot_of(p->keys[i], p->pilots[bucket], p->slots);

        p->owner[slot] = NO_OWNER;
        p->weight[slot] = 0;
        flip(p, slot);
    }
    p->evictions++;
    heap_push(p, bucket);
}

static void place(struct part *p, uint32_t bucket, uint8_t pilot)
{
    for (uint32_t i = p->starts[bucket]; i < p->starts[bucket + 1]; i++) {
        uint32_t slot = slot_of(p->keys[i], pilot, p->slots);

        if (p->owner[slot] != NO_OWNER)
            evict(p, p->owner[slot]);
        p->owner[slot] = bucket;
        p->weight[slot] = (uint16_t)bucket_size(p, bucket);
        flip(p, slot);
    }
    p->pilots[bucket] = pilot;
}

/* Places one bucket and all that it pushes out; false: not within the allowed evictions. */
static bool settle_bucket(struct part *p, uint32_t bucket)
{
    heap_push(p, bucket);
    while (p->heap_size > 0) {
        uint32_t b = heap_pop(p);
        const uint64_t *keys = p->keys + p->starts[b];
        uint32_t count = bucket_size(p, b);
        int pilot = free_pilot(p, keys, count);

        if (pilot < 0) {
            pilot = evicting_pilot(p, keys, count);
            if (pilot < 0 || p->evictions > (uint64_t)p->slots * EVICTIONS_A_SLOT)
                return false;
            p->recent[p->placed++ % p->recent_size] = b;
        }
        place(p, b, (uint8_t)pilot);
    }
    return true;
}

/* True and the part's pilots, or false: this seed does not do. */
static bool build_part(struct part *p, const uint64_t *hashes, uint32_t count, uint32_t parts,
                       uint8_t *pilots)
{
    p->pilots = pilots;
    p->heap_size = 0;
    p->placed = 0;
    p->evictions = 0;
    memset(pilots, 0, p->buckets);
    memset(p->taken, 0, words_of(p->slots) * sizeof *p->taken);
    memset(p->owner, 0xff, (size_t)p->slots * sizeof *p->owner);
    memset(p->weight, 0, (size_t)p->slots * sizeof *p->weight);
    group_keys(p, hashes, count, parts);
    if (!order_buckets(p))
        return false;
    for (uint32_t i = 0; i < p->buckets && bucket_size(p, p->order[i]) > 0; i++) {
        if (!settle_bucket(p, p->order[i]))
            return false;
    }
    return true;
}

/* The parts [first, last) while their keys are in memory; threads take part after part. */
struct batch {
    struct dx_mphf_built *built;
    uint32_t first;
    uint32_t last;
    uint32_t keys_max; /* of one part */
    uint64_t *hashes;  /* by part */
    size_t *starts;    /* of each part in hashes, one more: the end */
    _Atomic uint32_t next;
    _Atomic bool hopeless;
    _Atomic bool no_memory;
};

static void *batch_worker(void *arg)
{
    struct batch *batch = arg;
    struct dx_mphf_built *b = batch->built;
    struct part part;
    uint32_t i;

    if (part_init(&part, b->part_slots, b->part_buckets, batch->keys_max, NULL) < 0)
        atomic_store(&batch->no_memory, true);
    while (!atomic_load(&batch->hopeless) && !atomic_load(&batch->no_memory) &&
           (i = atomic_fetch_add(&batch->next, 1)) < batch->last) {
        size_t start = batch->starts[i - batch->first];
        size_t end = batch->starts[i - batch->first + 1];

        if (!build_part(&part, batch->hashes + start, (uint32_t)(end - start), b->parts,
                        b->pilots + (size_t)i * b->part_buckets))
            atomic_store(&batch->hopeless, true);
    }
    part_release(&part);
    return NULL;
}

#define THREADS_MAX 64

static int run_workers(struct batch *batch, unsigned threads, struct dx_error *err)
{
    pthread_t others[THREADS_MAX];
    unsigned started = 0;

    if (threads > batch->last - batch->first)
        threads = batch->last - batch->first;
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    /* A thread that cannot be had is done without. */
    while (started + 1 < threads &&
           pthread_create(&others[started], NULL, batch_worker, batch) == 0)
        started++;
    (void)batch_worker(batch);
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(others[i], NULL);
    if (atomic_load(&batch->no_memory))
        return dx_no_memory(err, "mphf: part of %u keys", batch->keys_max);
    return atomic_load(&batch->hopeless) ? DX_MPHF_RESEED : DX_OK;
}

/* Collects the keys of the batch's parts, in one pass. starts: as run_workers wants them. */
static void collect_keys(struct batch *batch, const uint64_t *hashes, const uint32_t *counts)
{
    const struct dx_mphf_built *b = batch->built;
    uint32_t n = batch->last - batch->first;

    batch->starts[0] = 0;
    for (uint32_t i = 0; i < n; i++)
        batch->starts[i + 1] = batch->starts[i] + counts[batch->first + i];
    for (uint64_t i = 0; i < b->n; i++) {
        uint32_t part = part_of(hashes[i], b->parts);

        if (part >= batch->first && part < batch->last)
            batch->hashes[batch->starts[part - batch->first]++] = hashes[i];
    }
    for (uint32_t i = n; i > 0; i--) /* each start has moved to its end */
        batch->starts[i] = batch->starts[i - 1];
    batch->starts[0] = 0;
}

static int build_batches(struct dx_mphf_built *b, const uint64_t *hashes, const uint32_t *counts,
                         uint32_t keys_max, unsigned threads, struct dx_error *err)
{
    struct batch batch = { .built = b, .keys_max = keys_max };
    size_t room = b->memory_bytes / sizeof *batch.hashes;
    int rc = DX_OK;

    if (b->memory_bytes == 0 || room > b->n)
        room = b->n;
    if (room < keys_max)
        room = keys_max;
    batch.hashes = malloc(room * sizeof *batch.hashes);
    batch.starts = malloc(((size_t)b->parts + 1) * sizeof *batch.starts);
    if (batch.hashes == NULL || batch.starts == NULL)
        rc = dx_no_memory(err, "mphf: %zu keys", room);
    while (rc == DX_OK && batch.last < b->parts) {
        size_t keys = 0;

        batch.first = batch.last;
        while (batch.last < b->parts && keys + counts[batch.last] <= room)
            keys += counts[batch.last++];
        collect_keys(&batch, hashes, counts);
        atomic_store(&batch.next, batch.first);
        rc = run_workers(&batch, threads, err);
    }
    free(batch.hashes);
    free(batch.starts);
    return rc;
}

/*
 * Mean load of 0.99, and never above 0.996 in the fullest part: near 1 a part takes many
 * evictions. 3.5 keys a bucket is what 8-bit pilots carry with ease.
 */
static int plan(struct dx_mphf_built *b, uint32_t keys_max)
{
    uint64_t mean = (b->n + b->parts - 1) / b->parts;
    uint64_t slots = mean * 100 / 99 + SLOTS_MORE;
    uint64_t least = (uint64_t)keys_max * 1000 / 996 + SLOTS_MORE;

    b->part_buckets = (uint32_t)((2 * mean + 6) / 7 + 1);
    /* Hashes that are not random crowd into one part. */
    if (least > 2 * slots + 64)
        return DX_MPHF_RESEED;
    b->part_slots = (uint32_t)(slots > least ? slots : least);
    return DX_OK;
}

int dx_mphf_build(struct dx_mphf_built *b, const uint64_t *hashes, uint64_t n, uint64_t seed,
                  size_t memory_bytes, unsigned threads, struct dx_error *err)
{
    uint32_t *counts = NULL;
    uint32_t keys_max = 0;
    int rc = DX_OK;

    memset(b, 0, sizeof *b);
    b->n = n;
    b->seed = seed;
    b->memory_bytes = memory_bytes;
    if (n > DX_DICTIONARY_N_MAX)
        return dx_fail(err, DX_E_LIMIT, "mphf: %llu keys, at most %u", (unsigned long long)n,
                       DX_DICTIONARY_N_MAX);
    if (n == 0)
        return DX_OK;
    b->parts = (uint32_t)((n + PART_KEYS - 1) / PART_KEYS);
    counts = calloc(b->parts, sizeof *counts);
    if (counts == NULL)
        return dx_no_memory(err, "mphf: %u parts", b->parts);
    for (uint64_t i = 0; i < n; i++)
        counts[part_of(hashes[i], b->parts)]++;
    for (uint32_t i = 0; i < b->parts; i++)
        keys_max = counts[i] > keys_max ? counts[i] : keys_max;
    rc = plan(b, keys_max);
    if (rc == DX_OK) {
        b->pilots = malloc((size_t)b->parts * b->part_buckets);
        if (b->pilots == NULL)
            rc = dx_no_memory(err, "mphf: %u x %u pilots", b->parts, b->part_buckets);
    }
    if (rc == DX_OK)
        rc = build_batches(b, hashes, counts, keys_max, threads, err);
    free(counts);
    if (rc != DX_OK)
        dx_mphf_built_release(b);
    return rc;
}

void dx_mphf_built_release(struct dx_mphf_built *b)
{
    if (b == NULL)
        return;
    free(b->pilots);
    memset(b, 0, sizeof *b);
}

static int write_header(struct dx_envelope_writer *w, const struct dx_mphf_built *b,
                        size_t collision_count, const struct dx_hash128 *text_hash,
                        struct dx_error *err)
{
    uint8_t h[HEADER_SIZE] = { 0 };

    dx_store_u32(h, MAGIC);
    dx_store_u32(h + 4, DX_MPHF_VERSION);
    dx_store_u64(h + 8, b->n);
    dx_store_u64(h + 16, b->seed);
    dx_store_u32(h + 24, b->parts);
    dx_store_u32(h + 28, b->part_buckets);
    dx_store_u32(h + 32, b->part_slots);
    dx_store_u32(h + 36, slots_of(b->n, DX_MPHF_VERSION).fingerprint_bits);
    dx_store_u64(h + 40, collision_count);
    memcpy(h + 48, text_hash->bytes, 16);
    return dx_envelope_writer_header(w, dx_span_of(h, sizeof h), err);
}

/* The slots of the parts [first, last) into window. */
static int fill_window(const struct dx_mphf_built *b, const uint64_t *hashes, uint32_t first,
                       uint32_t last, uint8_t *window, struct dx_error *err)
{
    const struct slots of = slots_of(b->n, DX_MPHF_VERSION);
    const unsigned bits = of.fingerprint_bits;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    const uint32_t empty = (uint32_t)(of.empty << bits);

    for (size_t i = 0; i < (size_t)(last - first) * b->part_slots; i++)
        store_slot(window + of.size * i, of.size, empty);
    for (uint64_t i = 0; i < b->n; i++) {
        uint32_t part = part_of(hashes[i], b->parts);
        uint64_t number = of.has_ordinals ? i : i / DX_DICTIONARY_BUCKET;
        uint8_t pilot;
        uint8_t *slot;

        if (part < first || part >= last)
            continue;
        pilot = b->pilots[(size_t)part * b->part_buckets +
                          bucket_of(hashes[i], b->parts, b->part_buckets)];
        slot = window + of.size * ((size_t)(part - first) * b->part_slots +
                                   slot_of(hashes[i], pilot, b->part_slots));
        if (load_slot(slot, of.size) != empty)
            return dx_fail(err, DX_E_INVALID, "mphf: hash %llu is not as it was in the build",
                           (unsigned long long)i);
        store_slot(slot, of.size, (uint32_t)number << bits | ((uint32_t)hashes[i] & mask));
    }
    return DX_OK;
}

static int write_slots(struct dx_envelope_writer *w, const struct dx_mphf_built *b,
                       const uint64_t *hashes, struct dx_error *err)
{
    size_t part_bytes = slots_of(b->n, DX_MPHF_VERSION).size * (size_t)b->part_slots;
    size_t memory = b->memory_bytes == 0 ? WRITE_WINDOW : b->memory_bytes;
    uint32_t at_once;
    uint8_t *window;
    int rc = DX_OK;

    if (b->parts == 0)
        return DX_OK;
    at_once = memory / part_bytes > b->parts ? b->parts : (uint32_t)(memory / part_bytes);
    if (at_once == 0)
        at_once = 1;
    window = malloc(at_once * part_bytes);
    if (window == NULL)
        return dx_no_memory(err, "mphf: %zu bytes of slots", at_once * part_bytes);
    for (uint32_t first = 0; rc == DX_OK && first < b->parts; first += at_once) {
        uint32_t last = b->parts - first < at_once ? b->parts : first + at_once;

        rc = fill_window(b, hashes, first, last, window, err);
        if (rc == DX_OK)
            rc = dx_envelope_writer_append(w, dx_span_of(window, (last - first) * part_bytes), err);
    }
    free(window);
    return rc;
}

static int write_collisions(struct dx_envelope_writer *w, const struct dx_collision *collisions,
                            size_t count, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        uint8_t entry[COLLISION_SIZE];

        assert(i == 0 || collisions[i].ordinal > collisions[i - 1].ordinal);
        dx_store_u64(entry, collisions[i].ordinal);
        dx_store_u64(entry + 8, collisions[i].domain_id);
        rc = dx_envelope_writer_append(w, dx_span_of(entry, sizeof entry), err);
    }
    return rc;
}

int dx_mphf_write(const struct dx_mphf_built *b, const uint64_t *hashes,
                  const struct dx_hash128 *text_hash, const struct dx_collision *collisions,
                  size_t collision_count, const struct dx_build_id *build,
                  int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                  void *sink_ctx, struct dx_error *err)
{
    struct dx_span pilots = dx_span_of(b->pilots, (size_t)b->parts * b->part_buckets);
    struct dx_envelope_writer w;
    int rc;

    dx_envelope_writer_init(&w, MAGIC, DX_MPHF_VERSION, build, sink, sink_ctx);
    rc = write_header(&w, b, collision_count, text_hash, err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_section(&w, TAG_PILOTS, err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_append(&w, pilots, err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_section(&w, TAG_SLOTS, err);
    if (rc == DX_OK)
        rc = write_slots(&w, b, hashes, err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_section(&w, TAG_COLLISIONS, err);
    if (rc == DX_OK)
        rc = write_collisions(&w, collisions, collision_count, err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_finish(&w, err);
    dx_envelope_writer_release(&w);
    return rc;
}
