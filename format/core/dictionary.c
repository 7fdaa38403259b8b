/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/dictionary.h"

#include <assert.h>
#include <string.h>

#include "base/few_bytes.h"

#define MAGIC DX_KIND('D', 'X', 'D', 'D')
#define VERSION 1
#define HEADER_SIZE 64
#define TAG_ANCHORS DX_KIND('A', 'N', 'C', 'H')
#define TAG_OFFSETS DX_KIND('O', 'F', 'F', 'S')
#define TAG_DATA DX_KIND('D', 'A', 'T', 'A')
#define BUCKET DX_DICTIONARY_BUCKET
#define BUCKETS_AN_ANCHOR 16 /* 16 buckets of 16 entries of at most 256 bytes fit a u16 */
#define LONG 15              /* in a half byte: another byte follows */
#define ENTRY_MAX (3 + DX_DOMAIN_MAX)

static uint64_t buckets_of(uint64_t n)
{
    return (n + BUCKET - 1) / BUCKET;
}

static uint64_t anchors_of(uint64_t n)
{
    return (buckets_of(n) + BUCKETS_AN_ANCHOR - 1) / BUCKETS_AN_ANCHOR + 1;
}

static int parse_header(struct dx_dictionary *d, struct dx_span header, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(header);
    const char *name = d->envelope.name;
    uint32_t bucket;

    (void)dx_bytes_u64(&r); /* magic and version: checked by the envelope */
    d->info.n = dx_bytes_u64(&r);
    bucket = dx_bytes_u32(&r);
    d->info.longest_key = dx_bytes_u32(&r);
    memcpy(d->info.text_hash.bytes, dx_bytes_take(&r, 16).data, 16);
    if (d->info.n > DX_DICTIONARY_N_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %llu domains, at most %u", name,
                       (unsigned long long)d->info.n, DX_DICTIONARY_N_MAX);
    if (bucket != BUCKET)
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: header: buckets of %u, this program reads %d",
                       name, bucket, BUCKET);
    if (d->info.longest_key > DX_DOMAIN_MAX || (d->info.longest_key == 0) != (d->info.n == 0))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: longest key of %llu has %u bytes, at most %d", name,
                       (unsigned long long)d->info.n, d->info.longest_key, DX_DOMAIN_MAX);
    for (size_t i = dx_bytes_at(&r); i < header.size; i++) {
        if (header.data[i] != 0)
            return dx_fail(err, DX_E_CORRUPT, "%s: header: reserved byte %zu is not zero", name, i);
    }
    return DX_OK;
}

static int open_sections(struct dx_dictionary *d, struct dx_error *err)
{
    uint64_t n = d->info.n;
    uint64_t anchors = anchors_of(n);
    const uint8_t *last;
    int rc;

    rc = dx_envelope_array(&d->envelope, TAG_ANCHORS, 8, anchors, &d->anchors, err);
    if (rc == DX_OK)
        rc = dx_envelope_array(&d->envelope, TAG_OFFSETS, 2, d->bucket_count, &d->offsets, err);
    if (rc == DX_OK)
        rc = dx_envelope_section(&d->envelope, TAG_DATA, &d->data, err);
    if (rc < 0)
        return rc;
    last = d->anchors.data + 8 * (anchors - 1);
    rc = dx_envelope_check(&d->envelope, last, 8, err);
    if (rc == DX_OK && dx_load_u64(last) != d->data.size)
        rc = dx_envelope_corrupt(&d->envelope, TAG_ANCHORS, last, err,
                                 "the last one is %llu, DATA has %zu bytes",
                                 (unsigned long long)dx_load_u64(last), d->data.size);
    return rc;
}

int dx_dictionary_open(struct dx_dictionary *d, struct dx_span file, unsigned flags,
                       const char *name, struct dx_error *err)
{
    struct dx_span header;
    int rc;

    memset(d, 0, sizeof *d);
    rc = dx_envelope_open(&d->envelope, file, MAGIC, VERSION, flags, name, err);
    if (rc < 0)
        return rc;
    rc = dx_envelope_header(&d->envelope, HEADER_SIZE, &header, err);
    if (rc == DX_OK)
        rc = parse_header(d, header, err);
    if (rc == DX_OK) {
        d->bucket_count = buckets_of(d->info.n);
        rc = open_sections(d, err);
    }
    if (rc < 0)
        dx_dictionary_close(d);
    return rc;
}

void dx_dictionary_close(struct dx_dictionary *d)
{
    if (d == NULL)
        return;
    dx_envelope_close(&d->envelope);
    memset(d, 0, sizeof *d);
}

/* Anchors and offsets lie inside of blocks, so the first byte of each says whether it was hashed. */
static inline int check_places(const struct dx_dictionary *d, const uint8_t *anchor,
                               const uint8_t *offset, const uint8_t *next, struct dx_error *err)
{
    const struct dx_envelope *e = &d->envelope;
    int rc;

    if (dx_envelope_all_hashed(e) || (dx_envelope_hashed(e, anchor) &&
                                      dx_envelope_hashed(e, offset) && dx_envelope_hashed(e, next)))
        return DX_OK;
    rc = dx_envelope_check(e, anchor, 1, err);
    if (rc == DX_OK)
        rc = dx_envelope_check(e, offset, 1, err);
    return rc == DX_OK ? dx_envelope_check(e, next, 1, err) : rc;
}

int dx_dictionary_bucket_bounds(const struct dx_dictionary *d, uint64_t bucket,
                                struct dx_span *entries, struct dx_error *err)
{
    bool last = (bucket + 1) % BUCKETS_AN_ANCHOR == 0 || bucket + 1 == d->bucket_count;
    const uint8_t *anchor;
    const uint8_t *offset;
    const uint8_t *next; /* what the end is read from */
    uint64_t begin;
    uint64_t end;
    int rc;

    if (bucket >= d->bucket_count)
        return dx_fail(err, DX_E_CORRUPT, "%s: bucket %llu of %llu", d->envelope.name,
                       (unsigned long long)bucket, (unsigned long long)d->bucket_count);
    anchor = d->anchors.data + 8 * (bucket / BUCKETS_AN_ANCHOR);
    offset = d->offsets.data + 2 * bucket;
    next = last ? anchor + 8 : offset + 2;
    rc = check_places(d, anchor, offset, next, err);
    if (rc < 0)
        return rc;
    begin = dx_load_u64(anchor);
    if (begin > d->data.size)
        return dx_envelope_corrupt(&d->envelope, TAG_ANCHORS, anchor, err,
                                   "%llu, DATA has %zu bytes", (unsigned long long)begin,
                                   d->data.size);
    end = last ? dx_load_u64(next) : begin + dx_load_u16(next);
    begin += dx_load_u16(offset);
    if (begin >= end || end > d->data.size || end - begin > (uint64_t)BUCKET * ENTRY_MAX)
        return dx_envelope_corrupt(&d->envelope, TAG_OFFSETS, offset, err,
                                   "bucket %llu from %llu to %llu, DATA has %zu bytes",
                                   (unsigned long long)bucket, (unsigned long long)begin,
                                   (unsigned long long)end, d->data.size);
    *entries = dx_span_of(d->data.data + begin, (size_t)(end - begin));
    return DX_OK;
}

#define LINE 64

/* The same, and its bytes are hashed. */
static int checked_bucket(const struct dx_dictionary *d, uint64_t bucket, struct dx_span *entries,
                          struct dx_error *err)
{
    int rc = dx_dictionary_bucket_bounds(d, bucket, entries, err);

    if (rc < 0)
        return rc;
    /* Most buckets are over two or three lines, of which the next is read only when the one before is there. */
    __builtin_prefetch(entries->data);
    __builtin_prefetch(entries->data + LINE);
    __builtin_prefetch(entries->data + 2 * LINE);
    return dx_envelope_check(&d->envelope, entries->data, entries->size, err);
}

void dx_dictionary_prefetch(const struct dx_dictionary *d, uint64_t bucket)
{
    if (bucket < d->bucket_count) {
        __builtin_prefetch(d->anchors.data + 8 * (bucket / BUCKETS_AN_ANCHOR));
        __builtin_prefetch(d->offsets.data + 2 * bucket);
    }
}

struct entry {
    size_t shared;
    struct dx_span own;
};

static int corrupt_entry(const struct dx_dictionary *d, const struct dx_bytes *r,
                         struct dx_error *err, const char *what)
{
    return dx_envelope_corrupt(&d->envelope, TAG_DATA, r->at, err, "entry: %s", what);
}

/* One entry; key_size is that of the key before (0 at the head of a bucket). */
static inline int read_entry(const struct dx_dictionary *d, struct dx_bytes *r, size_t key_size,
                             struct entry *e, struct dx_error *err)
{
    uint8_t lengths = dx_bytes_u8(r);
    size_t own = lengths & 15;

    e->shared = lengths >> 4;
    if (e->shared == LONG)
        e->shared += dx_bytes_u8(r);
    if (own == LONG)
        own += dx_bytes_u8(r);
    e->own = dx_bytes_take(r, own);
    if (r->failed)
        return corrupt_entry(d, r, err, "runs out of its bucket");
    if (e->shared > key_size)
        return corrupt_entry(d, r, err, "shares more than the key before has");
    if (own == 0)
        return corrupt_entry(d, r, err, "has no bytes of its own");
    if (e->shared + own > d->info.longest_key)
        return corrupt_entry(d, r, err, "is longer than the longest key");
    return DX_OK;
}

/* The same of nearly all entries: both lengths are in one byte. false: of another one, or a damaged one. */
static inline bool read_short_entry(const uint8_t *at, const uint8_t *end, size_t key_size,
                                    struct entry *e)
{
    size_t left = (size_t)(end - at);
    size_t lengths;
    size_t own;

    if (left == 0)
        return false;
    lengths = *at;
    own = lengths & 15;
    if (lengths >= LONG << 4 || own - 1 >= LONG - 1 || own >= left || lengths >> 4 > key_size)
        return false;
    e->shared = lengths >> 4;
    e->own = (struct dx_span){ at + 1, own };
    return true;
}

/* Any entry; the next one begins behind its own bytes. Of where it is a copy, so that loops keep the place in a register. */
static __attribute__((noinline)) int read_entry_at(const struct dx_dictionary *d, const uint8_t *at,
                                                   const uint8_t *end, size_t key_size,
                                                   struct entry *e, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(at, (size_t)(end - at)));

    return read_entry(d, &r, key_size, e, err);
}

static unsigned bucket_entries(const struct dx_dictionary *d, uint64_t bucket)
{
    uint64_t left = d->info.n - bucket * BUCKET;

    return left < BUCKET ? (unsigned)left : BUCKET;
}

static size_t common(const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t i = 0;

    for (; n - i >= 8; i += 8) {
        uint64_t other = dx_load_u64(a + i) ^ dx_load_u64(b + i);

        if (other != 0)
            return i + (size_t)__builtin_ctzll(other) / 8;
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/*
 * Place of the first key that is not below `key`, BUCKET-relative (the number of entries when
 * all are below); *equal tells whether it is that key. Nothing is copied: `matched` is how
 * much of `key` the entry before shares with it, and that one was below. An entry that shares
 * more with the one before differs from `key` where that did; one that shares less is above.
 */
static int search_bucket(const struct dx_dictionary *d, uint64_t bucket, struct dx_span entries,
                         struct dx_span key, unsigned *place, bool *equal, struct dx_error *err)
{
    const unsigned count = bucket_entries(d, bucket);
    const uint8_t *at = entries.data;
    const uint8_t *end = at + entries.size;
    size_t matched = 0;
    size_t size = 0;
    unsigned i;

    *equal = false;
    for (i = 0; i < count; i++) {
        DX_UNINITIALIZED struct entry e;
        size_t left;
        size_t more;

        if (!read_short_entry(at, end, size, &e)) {
            int rc = read_entry_at(d, at, end, size, &e, err);

            if (rc < 0)
                return rc;
        }
        at = e.own.data + e.own.size;
        size = e.shared + e.own.size;
        if (e.shared > matched)
            continue;
        if (e.shared < matched)
            break;
        left = key.size - matched;
        more = common(e.own.data, key.data + matched, e.own.size < left ? e.own.size : left);
        matched += more;
        if (more == left) { /* the key ended: this entry is the key, or longer and so above */
            *equal = more == e.own.size;
            break;
        }
        if (more < e.own.size && e.own.data[more] > key.data[matched])
            break;
    }
    *place = i;
    return DX_OK;
}

int dx_dictionary_find_in_bucket(const struct dx_dictionary *d, uint64_t bucket,
                                 struct dx_span domain, uint64_t *ordinal, struct dx_error *err)
{
    DX_UNINITIALIZED uint8_t key[DX_SURT_MAX];
    struct dx_span entries;
    unsigned place;
    size_t size;
    bool equal;
    int rc = checked_bucket(d, bucket, &entries, err);

    if (rc < 0)
        return rc;
    size = dx_surt_key(domain, key); /* while the bucket comes */
    if (size == 0)
        return 0;
    rc = search_bucket(d, bucket, entries, dx_span_of(key, size), &place, &equal, err);
    if (rc < 0 || !equal)
        return rc;
    *ordinal = bucket * BUCKET + place;
    return 1;
}

#define COPY \
    16 /* bytes at once: the own part of a short entry, and some behind it that do not count */

/* Entry after entry into text, of which the last one has the first *size bytes. roomy: COPY bytes can be read behind each. */
static inline int join_entries(const struct dx_dictionary *d, struct dx_span entries,
                               unsigned count, bool roomy, uint8_t text[DX_SURT_MAX + COPY],
                               size_t *size, struct dx_error *err)
{
    const uint8_t *at = entries.data;
    const uint8_t *end = at + entries.size;
    size_t n = 0;

    for (; count > 0; count--) {
        DX_UNINITIALIZED struct entry e;

        if (roomy && read_short_entry(at, end, n, &e)) {
            __builtin_memcpy(text + e.shared, e.own.data, COPY); /* memcpy is a call, hardened */
        } else {
            int rc = read_entry_at(d, at, end, n, &e, err);

            if (rc < 0)
                return rc;
            memcpy(text + e.shared, e.own.data, e.own.size);
        }
        at = e.own.data + e.own.size;
        n = e.shared + e.own.size;
    }
    *size = n;
    return DX_OK;
}

int dx_dictionary_is(const struct dx_dictionary *d, uint64_t ordinal, struct dx_span domain,
                     struct dx_error *err)
{
    DX_UNINITIALIZED uint8_t text[DX_SURT_MAX + COPY];
    DX_UNINITIALIZED uint8_t key[DX_SURT_MAX];
    const uint8_t *end = d->envelope.body.data + d->envelope.body.size;
    struct dx_span entries;
    size_t key_size;
    size_t size;
    int rc = checked_bucket(d, ordinal / BUCKET, &entries, err);

    if (rc < 0)
        return rc;
    key_size = dx_surt_key(domain, key); /* while the bucket comes */
    if (key_size == 0)
        return 0;
    rc = join_entries(d, entries, ordinal % BUCKET + 1,
                      (size_t)(end - entries.data) >= entries.size + COPY, text, &size, err);
    return rc < 0 ? rc : dx_span_equal(dx_span_of(text, size), dx_span_of(key, key_size));
}

/* The first key of a bucket, which is stored whole. */
static int bucket_head(const struct dx_dictionary *d, uint64_t bucket, struct dx_span *key,
                       struct dx_error *err)
{
    struct dx_span entries;
    struct dx_bytes r;
    struct entry e;
    int rc = checked_bucket(d, bucket, &entries, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(entries);
    rc = read_entry(d, &r, 0, &e, err);
    *key = e.own;
    return rc;
}

static int lower_bound(const struct dx_dictionary *d, struct dx_span key, uint64_t *ordinal,
                       bool *equal, struct dx_error *err)
{
    uint64_t low = 0; /* heads before it are not above key */
    uint64_t high = d->bucket_count;
    struct dx_span entries;
    unsigned place;
    int rc;

    *equal = false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct dx_span head;

        rc = bucket_head(d, middle, &head, err);
        if (rc < 0)
            return rc;
        if (dx_span_compare(head, key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ordinal = 0;
    if (low == 0)
        return DX_OK;
    rc = checked_bucket(d, low - 1, &entries, err);
    if (rc == DX_OK)
        rc = search_bucket(d, low - 1, entries, key, &place, equal, err);
    if (rc == DX_OK)
        *ordinal = (low - 1) * BUCKET + place;
    return rc;
}

int dx_dictionary_lower_bound(const struct dx_dictionary *d, struct dx_span key, uint64_t *ordinal,
                              struct dx_error *err)
{
    bool equal;

    return lower_bound(d, key, ordinal, &equal, err);
}

int dx_dictionary_find(const struct dx_dictionary *d, struct dx_span key, uint64_t *ordinal,
                       struct dx_error *err)
{
    bool equal;
    int rc = lower_bound(d, key, ordinal, &equal, err);

    return rc < 0 ? rc : equal;
}

void dx_dictionary_seek(struct dx_dictionary_cursor *c, const struct dx_dictionary *d,
                        uint64_t ordinal)
{
    c->dictionary = d;
    c->ordinal = ordinal;
    c->entries = dx_bytes_of(dx_span_of(NULL, 0));
    c->key_size = 0;
}

/* The entries of the bucket that c->ordinal is in, and the keys in it that come before. */
static int enter_bucket(struct dx_dictionary_cursor *c, struct dx_error *err)
{
    unsigned skip = (unsigned)(c->ordinal % BUCKET);
    struct dx_span entries;
    struct dx_span key;
    int rc = checked_bucket(c->dictionary, c->ordinal / BUCKET, &entries, err);

    if (rc < 0)
        return rc;
    c->entries = dx_bytes_of(entries);
    c->key_size = 0;
    c->ordinal -= skip;
    while (skip-- > 0) {
        rc = dx_dictionary_next(c, &key, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int end_bucket(const struct dx_dictionary_cursor *c, struct dx_error *err)
{
    if (dx_bytes_left(&c->entries) != 0)
        return corrupt_entry(c->dictionary, &c->entries, err,
                             "bytes behind the last of its bucket");
    return DX_OK;
}

int dx_dictionary_next(struct dx_dictionary_cursor *c, struct dx_span *key, struct dx_error *err)
{
    const struct dx_dictionary *d = c->dictionary;
    struct entry e;
    int rc;

    if (c->ordinal >= d->info.n)
        return 0;
    if (c->ordinal % BUCKET == 0 ? c->entries.at == c->entries.end : c->entries.begin == NULL) {
        rc = enter_bucket(c, err);
        if (rc < 0)
            return rc;
    }
    rc = read_entry(d, &c->entries, c->key_size, &e, err);
    if (rc < 0)
        return rc;
    dx_few_copy(c->key + e.shared, e.own.data, e.own.size);
    c->key_size = e.shared + e.own.size;
    c->ordinal++;
    *key = dx_span_of(c->key, c->key_size);
    if (c->ordinal % BUCKET == 0 || c->ordinal == d->info.n) {
        rc = end_bucket(c, err);
        if (rc < 0)
            return rc;
    }
    return 1;
}

int dx_dictionary_get(const struct dx_dictionary *d, uint64_t ordinal, uint8_t domain[DX_SURT_MAX],
                      size_t *size, struct dx_error *err)
{
    struct dx_dictionary_cursor c;
    struct dx_span key;
    int rc;

    dx_dictionary_seek(&c, d, ordinal);
    rc = dx_dictionary_next(&c, &key, err);
    if (rc <= 0)
        return rc;
    *size = dx_surt_domain(key, domain);
    if (*size == 0)
        return corrupt_entry(d, &c.entries, err, "no key of any domain");
    return 1;
}

/* Hashes lines in pieces: a call of the hash for each would cost more than the hash. */
#define TEXT_PIECE 65536

int dx_dictionary_census_init(struct dx_dictionary_census *c, struct dx_error *err)
{
    *c = (struct dx_dictionary_census){ .hashing = dx_hash_state_new(),
                                        .text = DX_BUF_INIT(TEXT_PIECE) };
    return c->hashing == NULL ? dx_no_memory(err, "hash of the domains") : DX_OK;
}

int dx_dictionary_census_add(struct dx_dictionary_census *c, struct dx_span domain,
                             struct dx_error *err)
{
    uint8_t *to;

    if (c->info.n == DX_DICTIONARY_N_MAX)
        return dx_fail(err, DX_E_LIMIT, "over %lu domains", (unsigned long)DX_DICTIONARY_N_MAX);
    if (c->text.size + domain.size + 1 > c->text.max) {
        dx_hash_state_update(c->hashing, dx_span_of(c->text.data, c->text.size));
        dx_buf_clear(&c->text);
    }
    to = dx_buf_reserve(&c->text, domain.size + 1);
    if (to == NULL)
        return dx_buf_fail(&c->text, err, "hash of the domains");
    dx_few_copy(to, domain.data, domain.size);
    to[domain.size] = '\n';
    c->text.size += domain.size + 1;
    assert(c->text.size <= c->text.capacity);
    c->info.n++;
    if (domain.size > c->info.longest_key)
        c->info.longest_key = (uint32_t)domain.size;
    return DX_OK;
}

void dx_dictionary_census_end(struct dx_dictionary_census *c)
{
    dx_hash_state_update(c->hashing, dx_span_of(c->text.data, c->text.size));
    dx_buf_clear(&c->text);
    c->info.text_hash = dx_hash_state_digest(c->hashing);
}

void dx_dictionary_census_release(struct dx_dictionary_census *c)
{
    dx_hash_state_free(&c->hashing);
    dx_buf_release(&c->text);
}

/* Keys ascend over the whole file and share all that they can; lines go into the hash. */
static int verify_keys(const struct dx_dictionary *d, struct dx_dictionary_census *census,
                       struct dx_error *err)
{
    struct dx_dictionary_cursor c;
    uint8_t last[DX_SURT_MAX] = { 0 };
    struct dx_span before = dx_span_of(last, 0);
    struct dx_span key;
    int rc;

    dx_dictionary_seek(&c, d, 0);
    while ((rc = dx_dictionary_next(&c, &key, err)) == 1) {
        uint8_t domain[DX_SURT_MAX];
        size_t size = dx_surt_domain(key, domain);

        if (size == 0)
            return corrupt_entry(d, &c.entries, err, "no key of any domain");
        if (dx_span_compare(before, key) >= 0)
            return corrupt_entry(d, &c.entries, err, "not above the key before");
        rc = dx_dictionary_census_add(census, dx_span_of(domain, size), err);
        if (rc < 0)
            return rc;
        memcpy(last, key.data, key.size);
        before.size = key.size;
    }
    if (rc == 0 && census->info.longest_key != d->info.longest_key)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: header: longest key has %u bytes, found %u",
                     d->envelope.name, d->info.longest_key, census->info.longest_key);
    return rc;
}

/* An entry that shares less than it could would make search_bucket miss the keys behind it. */
static int verify_sharing(const struct dx_dictionary *d, struct dx_error *err)
{
    for (uint64_t bucket = 0; bucket < d->bucket_count; bucket++) {
        uint8_t key[DX_SURT_MAX];
        struct dx_span entries;
        struct dx_bytes r;
        size_t size = 0;
        int rc = checked_bucket(d, bucket, &entries, err);

        if (rc < 0)
            return rc;
        r = dx_bytes_of(entries);
        for (unsigned i = 0; i < bucket_entries(d, bucket); i++) {
            struct entry e;

            rc = read_entry(d, &r, size, &e, err);
            if (rc < 0)
                return rc;
            if (e.shared < size && key[e.shared] == e.own.data[0])
                return corrupt_entry(d, &r, err, "shares less than it could");
            memcpy(key + e.shared, e.own.data, e.own.size);
            size = e.shared + e.own.size;
        }
    }
    return DX_OK;
}

int dx_dictionary_verify(const struct dx_dictionary *d, struct dx_error *err)
{
    struct dx_dictionary_census census;
    int rc = dx_dictionary_census_init(&census, err);

    if (rc == DX_OK)
        rc = dx_envelope_verify(&d->envelope, err);
    if (rc >= 0)
        rc = verify_sharing(d, err);
    if (rc == DX_OK)
        rc = verify_keys(d, &census, err);
    if (rc == DX_OK) {
        dx_dictionary_census_end(&census);
        if (!dx_hash128_equal(&census.info.text_hash, &d->info.text_hash))
            rc = dx_fail(err, DX_E_CORRUPT, "%s: header: hash of the list is not that of the keys",
                         d->envelope.name);
    }
    dx_dictionary_census_release(&census);
    return rc;
}

static int write_header(struct dx_dictionary_writer *w, struct dx_error *err)
{
    uint8_t h[HEADER_SIZE] = { 0 };
    int rc;

    dx_store_u32(h, MAGIC);
    dx_store_u32(h + 4, VERSION);
    dx_store_u64(h + 8, w->info.n);
    dx_store_u32(h + 16, BUCKET);
    dx_store_u32(h + 20, w->info.longest_key);
    memcpy(h + 24, w->info.text_hash.bytes, 16);
    rc = dx_envelope_writer_header(&w->envelope, dx_span_of(h, sizeof h), err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_section(&w->envelope, TAG_DATA, err);
    return rc;
}

int dx_dictionary_writer_init(struct dx_dictionary_writer *w, const struct dx_dictionary_info *info,
                              const struct dx_build_id *build,
                              int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                              void *sink_ctx, struct dx_error *err)
{
    int rc;

    memset(w, 0, sizeof *w);
    dx_envelope_writer_init(&w->envelope, MAGIC, VERSION, build, sink, sink_ctx);
    dx_buf_init(&w->anchors, SIZE_MAX / 2);
    dx_buf_init(&w->offsets, SIZE_MAX / 2);
    w->info = *info;
    if (info->n > DX_DICTIONARY_N_MAX)
        return dx_fail(err, DX_E_LIMIT, "dictionary: %llu domains, at most %u",
                       (unsigned long long)info->n, DX_DICTIONARY_N_MAX);
    rc = dx_dictionary_census_init(&w->census, err);
    return rc == DX_OK ? write_header(w, err) : rc;
}

/* Bookkeeping of the bucket that begins with the next entry. */
static void begin_bucket(struct dx_dictionary_writer *w)
{
    if (w->census.info.n % (BUCKET * BUCKETS_AN_ANCHOR) == 0) {
        w->anchor = w->data_size;
        dx_buf_u64(&w->anchors, w->anchor);
    }
    assert(w->data_size - w->anchor <= UINT16_MAX);
    dx_buf_u16(&w->offsets, (uint16_t)(w->data_size - w->anchor));
}

static int append_entry(struct dx_dictionary_writer *w, size_t shared, struct dx_span own,
                        struct dx_error *err)
{
    DX_UNINITIALIZED uint8_t entry[ENTRY_MAX];
    size_t n = 1;

    entry[0] = (uint8_t)((shared < LONG ? shared : LONG) << 4 |
                         (own.size < LONG ? own.size : LONG));
    if (shared >= LONG)
        entry[n++] = (uint8_t)(shared - LONG);
    if (own.size >= LONG)
        entry[n++] = (uint8_t)(own.size - LONG);
    dx_few_copy(entry + n, own.data, own.size);
    n += own.size;
    w->data_size += n;
    return dx_envelope_writer_append(&w->envelope, dx_span_of(entry, n), err);
}

int dx_dictionary_writer_add(struct dx_dictionary_writer *w, struct dx_span key,
                             struct dx_error *err)
{
    DX_UNINITIALIZED uint8_t domain[DX_SURT_MAX];
    size_t size = dx_surt_domain(key, domain);
    size_t shared;
    int rc;

    if (size == 0)
        return dx_fail(err, DX_E_INVALID, "dictionary: key %llu (%zu bytes) is of no domain",
                       (unsigned long long)w->census.info.n, key.size);
    shared = common(w->last, key.data, w->last_size < size ? w->last_size : size);
    if (shared == size || (shared < w->last_size && w->last[shared] > key.data[shared]))
        return dx_fail(err, DX_E_INVALID, "dictionary: key %llu (%.*s) is not above the one before",
                       (unsigned long long)w->census.info.n, (int)size, (const char *)domain);
    if (w->census.info.n == w->info.n)
        return dx_fail(err, DX_E_INVALID, "dictionary: more than the %llu keys promised",
                       (unsigned long long)w->info.n);
    if (w->census.info.n % BUCKET == 0) {
        begin_bucket(w);
        shared = 0;
    }
    if (w->anchors.failed || w->offsets.failed)
        return dx_no_memory(err, "dictionary: key %llu", (unsigned long long)w->census.info.n);
    rc = dx_dictionary_census_add(&w->census, dx_span_of(domain, size), err);
    if (rc < 0)
        return rc;
    dx_few_copy(w->last + shared, key.data + shared, size - shared);
    w->last_size = size;
    return append_entry(w, shared, dx_span_of(key.data + shared, size - shared), err);
}

int dx_dictionary_writer_finish(struct dx_dictionary_writer *w, struct dx_error *err)
{
    const struct dx_dictionary_info *found = &w->census.info;
    int rc;

    dx_dictionary_census_end(&w->census);
    if (found->n != w->info.n || found->longest_key != w->info.longest_key)
        return dx_fail(err, DX_E_INVALID,
                       "dictionary: %llu keys of at most %u bytes, promised %llu of %u",
                       (unsigned long long)found->n, found->longest_key,
                       (unsigned long long)w->info.n, w->info.longest_key);
    if (!dx_hash128_equal(&found->text_hash, &w->info.text_hash))
        return dx_fail(err, DX_E_INVALID, "dictionary: the keys are not those of the census");
    dx_buf_u64(&w->anchors, w->data_size);
    if (w->anchors.failed)
        return dx_buf_fail(&w->anchors, err, "dictionary");
    rc = dx_envelope_writer_section(&w->envelope, TAG_ANCHORS, err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_append(&w->envelope, dx_span_of(w->anchors.data, w->anchors.size),
                                       err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_section(&w->envelope, TAG_OFFSETS, err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_append(&w->envelope, dx_span_of(w->offsets.data, w->offsets.size),
                                       err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_finish(&w->envelope, err);
    return rc;
}

void dx_dictionary_writer_release(struct dx_dictionary_writer *w)
{
    if (w == NULL)
        return;
    dx_envelope_writer_release(&w->envelope);
    dx_buf_release(&w->anchors);
    dx_buf_release(&w->offsets);
    dx_dictionary_census_release(&w->census);
}

int dx_dictionary_below(const struct dx_dictionary *d, struct dx_span name, uint64_t *first,
                        uint64_t *end, struct dx_error *err)
{
    uint8_t key[DX_SURT_MAX + 1];
    size_t size = dx_surt_key(name, key);
    int rc;

    *first = *end = 0;
    if (size == 0)
        return DX_OK;
    rc = dx_dictionary_lower_bound(d, dx_span_of(key, size), first, err);
    key[size] = ' ' + 1; /* labels have no byte between them and the space */
    if (rc >= 0)
        rc = dx_dictionary_lower_bound(d, dx_span_of(key, size + 1), end, err);
    return rc < 0 ? rc : DX_OK;
}
