/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/domain64_segment.h"

#include <stdlib.h>

#define MAGIC DX_KIND('D', 'X', '6', '4')
#define VERSION 1
#define HEADER_SIZE 64
#define TAG_NAMES DX_KIND('N', 'A', 'M', 'E')
#define TAG_BUCKETS DX_KIND('B', 'U', 'C', 'K')
#define TAG_HASHES DX_KIND('H', 'A', 'S', 'H')
#define BUCKET_SIZE 16 /* u64 number of its first name, u64 where it begins */
#define HASH_SIZE 12   /* u64 hash, u32 rank */

static uint64_t buckets_of(uint64_t count)
{
    return (count + DX_NUMBER_BUCKET - 1) / DX_NUMBER_BUCKET;
}

uint64_t dx_number_hash(uint8_t part, uint64_t parent, struct dx_span name)
{
    uint8_t head[9];

    head[0] = part;
    dx_store_u64(head + 1, parent);
    return dx_hash64_seeded(name, dx_hash64(dx_span_of(head, sizeof head)));
}

/* ---- reading ---- */

static int parse_header(struct dx_domain64_segment *b, struct dx_span header, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(header);
    const char *name = b->envelope.name;

    (void)dx_bytes_u64(&r); /* magic and version: checked by the envelope */
    b->count = dx_bytes_u64(&r);
    b->info.layout = dx_bytes_u32(&r);
    b->info.first = dx_bytes_u32(&r);
    b->info.last = dx_bytes_u32(&r);
    if (b->count > DX_NUMBER_NAMES_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %llu names, at most %u", name,
                       (unsigned long long)b->count, (unsigned)DX_NUMBER_NAMES_MAX);
    if (b->info.first == 0 || b->info.last < b->info.first)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: fillings %u to %u", name,
                       (unsigned)b->info.first, (unsigned)b->info.last);
    return dx_envelope_reserved(&b->envelope, &r, err);
}

int dx_domain64_segment_open(struct dx_domain64_segment *b, struct dx_span file, unsigned flags,
                             const char *name, struct dx_error *err)
{
    struct dx_span header;
    int rc;

    memset(b, 0, sizeof *b);
    rc = dx_envelope_open(&b->envelope, file, MAGIC, VERSION, flags, name, err);
    if (rc < 0)
        return rc;
    rc = dx_envelope_header(&b->envelope, HEADER_SIZE, &header, err);
    if (rc == DX_OK)
        rc = parse_header(b, header, err);
    if (rc == DX_OK)
        rc = dx_envelope_section(&b->envelope, TAG_NAMES, &b->names, err);
    if (rc == DX_OK)
        rc = dx_envelope_array(&b->envelope, TAG_BUCKETS, BUCKET_SIZE, buckets_of(b->count),
                               &b->buckets, err);
    if (rc == DX_OK)
        rc = dx_envelope_array(&b->envelope, TAG_HASHES, HASH_SIZE, b->count, &b->hashes, err);
    if (rc < 0)
        dx_domain64_segment_close(b);
    return rc;
}

void dx_domain64_segment_close(struct dx_domain64_segment *b)
{
    if (b == NULL)
        return;
    dx_envelope_close(&b->envelope);
    memset(b, 0, sizeof *b);
}

static int bucket_at(const struct dx_domain64_segment *b, uint64_t i, uint64_t *first,
                     uint64_t *offset, struct dx_error *err)
{
    const uint8_t *p = b->buckets.data + i * BUCKET_SIZE;
    int rc = dx_envelope_check(&b->envelope, p, BUCKET_SIZE, err);

    *first = rc < 0 ? 0 : dx_load_u64(p);
    *offset = rc < 0 ? 0 : dx_load_u64(p + 8);
    return rc;
}

/* The cursor stands before the first name of the bucket. */
static int enter_bucket(struct dx_number_cursor *c, uint64_t bucket, struct dx_error *err)
{
    const struct dx_domain64_segment *b = c->book;
    uint64_t end = b->names.size;
    struct dx_span bytes;
    uint64_t begin;
    uint64_t next;
    int rc = bucket_at(b, bucket, &c->number, &begin, err);

    if (rc == DX_OK && bucket + 1 < buckets_of(b->count))
        rc = bucket_at(b, bucket + 1, &next, &end, err);
    if (rc < 0)
        return rc;
    if (begin >= end || !dx_span_slice(b->names, begin, end - begin, &bytes))
        return dx_envelope_corrupt(&b->envelope, TAG_BUCKETS,
                                   b->buckets.data + bucket * BUCKET_SIZE, err,
                                   "names from %llu to %llu of %zu", (unsigned long long)begin,
                                   (unsigned long long)end, b->names.size);
    rc = dx_envelope_check(&b->envelope, bytes.data, bytes.size, err);
    c->at = dx_bytes_of(bytes);
    c->rank = bucket * DX_NUMBER_BUCKET;
    c->name = dx_span_of(c->text, 0);
    return rc;
}

static int corrupt(const struct dx_number_cursor *c, struct dx_error *err, const char *what)
{
    return dx_envelope_corrupt(&c->book->envelope, TAG_NAMES, c->at.at, err, "name %llu: %s",
                               (unsigned long long)c->rank, what);
}

/* The name behind the one that the cursor has. */
static int read_name(struct dx_number_cursor *c, struct dx_error *err)
{
    bool first = c->rank % DX_NUMBER_BUCKET == 0;
    uint64_t gap;
    uint64_t shared;
    uint64_t rest;
    struct dx_span bytes;
    int rc = first ? enter_bucket(c, c->rank / DX_NUMBER_BUCKET, err) : DX_OK;

    if (rc < 0)
        return rc;
    gap = first ? 0 : dx_bytes_varint(&c->at);
    shared = first ? 0 : dx_bytes_varint(&c->at);
    rest = dx_bytes_varint(&c->at);
    if (c->at.failed || shared > c->name.size || rest > DX_NUMBER_NAME_MAX - shared)
        return corrupt(c, err, "longer than it may be, or cut off");
    if (!first && (gap == 0 || gap > UINT64_MAX - c->number))
        return corrupt(c, err, "numbers do not ascend");
    bytes = dx_bytes_take(&c->at, rest);
    if (c->at.failed)
        return corrupt(c, err, "cut off");
    if (rest > 0)
        memcpy(c->text + shared, bytes.data, rest);
    c->number += gap;
    c->name = dx_span_of(c->text, (size_t)(shared + rest));
    c->rank++;
    if ((c->rank % DX_NUMBER_BUCKET == 0 || c->rank == c->book->count) && dx_bytes_left(&c->at) > 0)
        return corrupt(c, err, "bytes behind the last of its bucket");
    return 1;
}

int dx_number_cursor_next(struct dx_number_cursor *c, struct dx_error *err)
{
    uint64_t last = c->number;
    bool any = c->rank > 0 && c->rank % DX_NUMBER_BUCKET == 0;
    int rc;

    if (c->held) {
        c->held = false;
        return 1;
    }
    if (c->rank >= c->book->count)
        return 0;
    rc = read_name(c, err);
    if (rc == 1 && any && c->number <= last)
        return corrupt(c, err, "numbers do not ascend");
    return rc;
}

/* The last bucket whose first number is below `number`, or not above it; 0 if none is. */
static int find_bucket(const struct dx_domain64_segment *b, uint64_t number, uint64_t *bucket,
                       struct dx_error *err)
{
    uint64_t low = 0;
    uint64_t high = buckets_of(b->count);

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t first;
        uint64_t offset;
        int rc = bucket_at(b, middle, &first, &offset, err);

        if (rc < 0)
            return rc;
        if (first < number)
            low = middle;
        else
            high = middle;
    }
    *bucket = low;
    return DX_OK;
}

static void begin(struct dx_number_cursor *c, const struct dx_domain64_segment *b, uint64_t rank)
{
    c->book = b;
    c->rank = rank;
    c->number = 0;
    c->held = false;
    c->name = dx_span_of(c->text, 0);
}

int dx_number_cursor_seek(struct dx_number_cursor *c, const struct dx_domain64_segment *b,
                          uint64_t number, struct dx_error *err)
{
    uint64_t bucket = 0;
    int rc = find_bucket(b, number, &bucket, err);

    if (rc < 0)
        return rc;
    begin(c, b, bucket * DX_NUMBER_BUCKET);
    while ((rc = dx_number_cursor_next(c, err)) == 1)
        if (c->number >= number) {
            c->held = true;
            break;
        }
    return rc < 0 ? rc : DX_OK;
}

int dx_domain64_segment_before(const struct dx_domain64_segment *b, uint64_t number,
                               uint64_t *found, struct dx_error *err)
{
    struct dx_number_cursor c;
    uint64_t bucket = 0;
    bool any = false;
    int rc = find_bucket(b, number, &bucket, err);

    if (rc < 0)
        return rc;
    begin(&c, b, bucket * DX_NUMBER_BUCKET);
    while ((rc = dx_number_cursor_next(&c, err)) == 1 && c.number < number) {
        *found = c.number;
        any = true;
    }
    return rc < 0 ? rc : any;
}

/* ---- by name ---- */

static int hash_at(const struct dx_domain64_segment *b, uint64_t i, uint64_t *hash, uint32_t *rank,
                   struct dx_error *err)
{
    const uint8_t *p = b->hashes.data + i * HASH_SIZE;
    int rc = dx_envelope_check(&b->envelope, p, HASH_SIZE, err);

    *hash = rc < 0 ? 0 : dx_load_u64(p);
    *rank = rc < 0 ? 0 : dx_load_u32(p + 8);
    return rc;
}

int dx_number_hits_open(struct dx_number_hits *h, const struct dx_domain64_segment *b,
                        uint64_t hash, struct dx_error *err)
{
    uint64_t low = 0;
    uint64_t high = b->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t there;
        uint32_t rank;
        int rc = hash_at(b, middle, &there, &rank, err);

        if (rc < 0)
            return rc;
        if (there < hash)
            low = middle + 1;
        else
            high = middle;
    }
    begin(&h->at, b, 0);
    h->hash = hash;
    h->next = low;
    return DX_OK;
}

int dx_number_hits_next(struct dx_number_hits *h, struct dx_error *err)
{
    const struct dx_domain64_segment *b = h->at.book;
    uint64_t hash;
    uint32_t rank;
    int rc;

    if (h->next >= b->count)
        return 0;
    rc = hash_at(b, h->next, &hash, &rank, err);
    if (rc < 0 || hash != h->hash)
        return rc < 0 ? rc : 0;
    if (rank >= b->count)
        return dx_envelope_corrupt(&b->envelope, TAG_HASHES, b->hashes.data + h->next * HASH_SIZE,
                                   err, "rank %u of %llu", (unsigned)rank,
                                   (unsigned long long)b->count);
    h->next++;
    begin(&h->at, b, rank / DX_NUMBER_BUCKET * DX_NUMBER_BUCKET);
    do
        rc = dx_number_cursor_next(&h->at, err);
    while (rc == 1 && h->at.rank <= rank);
    return rc;
}

int dx_domain64_segment_verify(const struct dx_domain64_segment *b, struct dx_error *err)
{
    struct dx_number_cursor c;
    uint64_t last = 0;
    uint64_t sum = 0;
    int rc = dx_envelope_verify(&b->envelope, err);

    begin(&c, b, 0);
    if (rc == DX_OK)
        rc = 1;
    while (rc == 1)
        rc = dx_number_cursor_next(&c, err);
    for (uint64_t i = 0; rc >= 0 && i < b->count; i++) {
        uint64_t hash;
        uint32_t rank;

        rc = hash_at(b, i, &hash, &rank, err);
        if (rc == DX_OK && (hash < last || rank >= b->count))
            rc = dx_envelope_corrupt(&b->envelope, TAG_HASHES, b->hashes.data + i * HASH_SIZE, err,
                                     "entry %llu is out of order", (unsigned long long)i);
        last = hash;
        sum += rank;
    }
    if (rc >= 0 && b->count > 0 && sum != (b->count - 1) * b->count / 2)
        rc = dx_envelope_corrupt(&b->envelope, TAG_HASHES, b->hashes.data, err,
                                 "some name stands there twice");
    return rc < 0 ? rc : DX_OK;
}

/* ---- writing ---- */

int dx_number_writer_begin(struct dx_number_writer *w, const struct dx_build_id *build,
                           const struct dx_number_info *info, uint64_t count,
                           int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                           void *ctx, struct dx_error *err)
{
    struct dx_buf header = DX_BUF_INIT(HEADER_SIZE);
    int rc;

    memset(w, 0, sizeof *w);
    dx_envelope_writer_init(&w->out, MAGIC, VERSION, build, sink, ctx);
    dx_buf_init(&w->buckets, SIZE_MAX / 4);
    dx_buf_init(&w->entry, 2 * DX_NUMBER_NAME_MAX);
    dx_buf_init(&w->last_name, DX_NUMBER_NAME_MAX);
    w->info = *info;
    w->expected = count;
    if (count > DX_NUMBER_NAMES_MAX)
        return dx_fail(err, DX_E_LIMIT, "a book of numbers holds %u names, not %llu",
                       (unsigned)DX_NUMBER_NAMES_MAX, (unsigned long long)count);
    dx_buf_u32(&header, MAGIC);
    dx_buf_u32(&header, VERSION);
    dx_buf_u64(&header, count);
    dx_buf_u32(&header, info->layout);
    dx_buf_u32(&header, info->first);
    dx_buf_u32(&header, info->last);
    dx_buf_zero(&header, HEADER_SIZE - header.size);
    rc = header.failed
             ? dx_buf_fail(&header, err, "a book of numbers")
             : dx_envelope_writer_header(&w->out, dx_span_of(header.data, header.size), err);
    dx_buf_release(&header);
    return rc < 0 ? rc : dx_envelope_writer_section(&w->out, TAG_NAMES, err);
}

int dx_number_writer_name(struct dx_number_writer *w, uint64_t number, struct dx_span name,
                          struct dx_error *err)
{
    bool first = w->count % DX_NUMBER_BUCKET == 0;
    struct dx_span rest;
    size_t shared = 0;
    int rc;

    if (name.size > DX_NUMBER_NAME_MAX || w->count >= w->expected ||
        (w->count > 0 && number <= w->last_number))
        return dx_fail(err, DX_E_INVALID, "number 0x%016llx: out of order, too long or too many",
                       (unsigned long long)number);
    dx_buf_clear(&w->entry);
    if (first) {
        dx_buf_u64(&w->buckets, number);
        dx_buf_u64(&w->buckets, w->names_size);
    } else {
        while (shared < name.size && shared < w->last_name.size &&
               name.data[shared] == w->last_name.data[shared])
            shared++;
        dx_buf_varint(&w->entry, number - w->last_number);
        dx_buf_varint(&w->entry, shared);
    }
    dx_buf_varint(&w->entry, name.size - shared);
    rest = dx_span_from(name, shared);
    dx_buf_append(&w->entry, rest.data, rest.size);
    dx_buf_clear(&w->last_name);
    dx_buf_append(&w->last_name, name.data, name.size);
    if (w->entry.failed || w->buckets.failed || w->last_name.failed)
        return dx_no_memory(err, "a book of numbers");
    rc = dx_envelope_writer_append(&w->out, dx_span_of(w->entry.data, w->entry.size), err);
    w->names_size += w->entry.size;
    w->last_number = number;
    w->count++;
    return rc;
}

/* Between names and hashes. */
static int put_buckets(struct dx_number_writer *w, struct dx_error *err)
{
    int rc = dx_envelope_writer_section(&w->out, TAG_BUCKETS, err);

    if (w->count != w->expected)
        return dx_fail(err, DX_E_INVALID, "a book of numbers: %llu names of %llu",
                       (unsigned long long)w->count, (unsigned long long)w->expected);
    if (rc == DX_OK)
        rc = dx_envelope_writer_append(&w->out, dx_span_of(w->buckets.data, w->buckets.size), err);
    return rc < 0 ? rc : dx_envelope_writer_section(&w->out, TAG_HASHES, err);
}

int dx_number_writer_hash(struct dx_number_writer *w, uint64_t hash, uint32_t rank,
                          struct dx_error *err)
{
    uint8_t entry[HASH_SIZE];
    int rc = w->hashes == 0 ? put_buckets(w, err) : DX_OK;

    if (rc < 0)
        return rc;
    if (rank >= w->count || hash < w->last_hash)
        return dx_fail(err, DX_E_INVALID, "a book of numbers: hashes are out of order");
    dx_store_u64(entry, hash);
    dx_store_u32(entry + 8, rank);
    w->last_hash = hash;
    w->hashes++;
    return dx_envelope_writer_append(&w->out, dx_span_of(entry, sizeof entry), err);
}

int dx_number_writer_end(struct dx_number_writer *w, struct dx_error *err)
{
    int rc = w->hashes == 0 ? put_buckets(w, err) : DX_OK;

    if (rc == DX_OK && w->hashes != w->count)
        rc = dx_fail(err, DX_E_INVALID, "a book of numbers: %llu hashes of %llu names",
                     (unsigned long long)w->hashes, (unsigned long long)w->count);
    return rc < 0 ? rc : dx_envelope_writer_finish(&w->out, err);
}

void dx_number_writer_release(struct dx_number_writer *w)
{
    dx_envelope_writer_release(&w->out);
    dx_buf_release(&w->buckets);
    dx_buf_release(&w->entry);
    dx_buf_release(&w->last_name);
}
