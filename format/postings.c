/* SPDX-License-Identifier: Apache-2.0 */
#include "format/postings.h"

#include "base/bits.h"

#include <assert.h>
#include <inttypes.h>

#define HEADER_SIZE 64
#define TAG_SHRD DX_KIND('S', 'H', 'R', 'D')
#define TAG_PAGE DX_KIND('P', 'A', 'G', 'E')
#define KIND_IDX DX_KIND('P', 'I', 'D', 'X')
#define KIND_DAT DX_KIND('P', 'D', 'A', 'T')
#define IDX_MAGIC DX_KIND('P', 'D', 'X', '1')
#define IDX_VERSION 3
#define RICE_MAX 63

void dx_postings_shard_name(uint32_t shard, char out[DX_POSTINGS_SHARD_NAME])
{
    static const char digits[] = "0123456789abcdef";

    assert(shard < DX_POSTINGS_SHARDS);
    out[0] = digits[shard >> 8];
    out[1] = digits[shard >> 4 & 15];
    out[2] = digits[shard & 15];
    out[3] = '\0';
}

static int compare_pair(uint64_t domain_a, uint32_t dataset_a, uint64_t domain_b,
                        uint32_t dataset_b)
{
    if (domain_a != domain_b)
        return domain_a < domain_b ? -1 : 1;
    return dataset_a == dataset_b ? 0 : dataset_a < dataset_b ? -1 : 1;
}

/* ---- the directory ---- */

static void read_shard(const uint8_t *record, struct dx_postings_shard *s, uint64_t *reserved)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(record, DX_POSTINGS_SHARD_RECORD));

    s->first_page = dx_bytes_u64(&r);
    s->pages = dx_bytes_u64(&r);
    s->entries = dx_bytes_u64(&r);
    s->idx_size = dx_bytes_u64(&r);
    s->dat_size = dx_bytes_u64(&r);
    memcpy(s->build.bytes, dx_bytes_take(&r, 16).data, 16);
    memcpy(s->idx_hash.bytes, dx_bytes_take(&r, 16).data, 16);
    memcpy(s->dat_hash.bytes, dx_bytes_take(&r, 16).data, 16);
    *reserved = dx_bytes_u64(&r);
}

static void append_shard(struct dx_buf *b, const struct dx_postings_shard *s)
{
    dx_buf_u64(b, s->first_page);
    dx_buf_u64(b, s->pages);
    dx_buf_u64(b, s->entries);
    dx_buf_u64(b, s->idx_size);
    dx_buf_u64(b, s->dat_size);
    dx_buf_append(b, s->build.bytes, 16);
    dx_buf_append(b, s->idx_hash.bytes, 16);
    dx_buf_append(b, s->dat_hash.bytes, 16);
    dx_buf_u64(b, 0);
}

static void read_page(const uint8_t *record, struct dx_postings_page *p)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(record, DX_POSTINGS_PAGE_RECORD));

    p->first_domain_id = dx_bytes_u64(&r);
    p->first_dataset_id = dx_bytes_u32(&r);
    p->entries = dx_bytes_u32(&r);
    p->idx_offset = dx_bytes_u64(&r);
    p->dat_offset = dx_bytes_u64(&r);
    p->idx_size = dx_bytes_u32(&r);
    p->idx_packed = dx_bytes_u32(&r);
    p->dat_size = dx_bytes_u32(&r);
    p->dat_plain = dx_bytes_u32(&r);
    p->idx_sum = dx_bytes_u64(&r);
    p->dat_sum = dx_bytes_u64(&r);
}

static void append_page(struct dx_buf *b, const struct dx_postings_page *p)
{
    dx_buf_u64(b, p->first_domain_id);
    dx_buf_u32(b, p->first_dataset_id);
    dx_buf_u32(b, p->entries);
    dx_buf_u64(b, p->idx_offset);
    dx_buf_u64(b, p->dat_offset);
    dx_buf_u32(b, p->idx_size);
    dx_buf_u32(b, p->idx_packed);
    dx_buf_u32(b, p->dat_size);
    dx_buf_u32(b, p->dat_plain);
    dx_buf_u64(b, p->idx_sum);
    dx_buf_u64(b, p->dat_sum);
}

static const char *shard_fault(const struct dx_postings_shard *s, uint64_t reserved,
                               uint64_t first_page, uint64_t pages_left)
{
    static const struct dx_postings_shard empty;

    if (reserved != 0)
        return "reserved bytes are not zero";
    if (s->first_page != first_page)
        return "does not begin where the shard before it ends";
    if (s->pages > pages_left || s->pages > UINT32_MAX)
        return "has more pages than there are";
    if (s->pages > s->entries || s->entries > s->pages * DX_POSTINGS_PAGE_ENTRIES)
        return "has too few or too many entries for its pages";
    if (s->pages == 0 &&
        (s->idx_size != 0 || s->dat_size != 0 || memcmp(&s->build, &empty.build, 16) != 0 ||
         memcmp(&s->idx_hash, &empty.idx_hash, 16) != 0 ||
         memcmp(&s->dat_hash, &empty.dat_hash, 16) != 0))
        return "is empty and yet has files";
    return NULL;
}

static int check_shards(const struct dx_postings *p, struct dx_error *err)
{
    uint64_t pages = 0;
    uint64_t entries = 0;
    int rc = dx_envelope_check(&p->envelope, p->shard_records.data, p->shard_records.size, err);

    for (uint32_t i = 0; rc >= 0 && i < DX_POSTINGS_SHARDS; i++) {
        const uint8_t *at = p->shard_records.data + (size_t)i * DX_POSTINGS_SHARD_RECORD;
        struct dx_postings_shard s;
        uint64_t reserved;
        const char *why;

        read_shard(at, &s, &reserved);
        why = shard_fault(&s, reserved, pages, p->pages - pages);
        if (why != NULL)
            return dx_envelope_corrupt(&p->envelope, TAG_SHRD, at, err, "shard %03" PRIx32 " %s", i,
                                       why);
        pages += s.pages;
        entries += s.entries; /* at most 512 a page, so it cannot overflow */
    }
    if (rc >= 0 && (pages != p->pages || entries != p->pairs))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: SHRD: shards have %" PRIu64 " pages and %" PRIu64
                     " pairs, the header says %" PRIu64 " and %" PRIu64,
                     p->envelope.name, pages, entries, p->pages, p->pairs);
    return rc;
}

static int open_sections(struct dx_postings *p, struct dx_error *err)
{
    const struct dx_envelope *e = &p->envelope;
    struct dx_span header;
    struct dx_bytes r;
    uint32_t shards;
    uint32_t page_entries;
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    shards = dx_bytes_u32(&r);
    page_entries = dx_bytes_u32(&r);
    p->pages = dx_bytes_u64(&r);
    p->pairs = dx_bytes_u64(&r);
    rc = dx_envelope_reserved(e, &r, err);
    if (rc < 0)
        return rc;
    if (shards != DX_POSTINGS_SHARDS || page_entries != DX_POSTINGS_PAGE_ENTRIES)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: header: %" PRIu32 " shards and %" PRIu32
                       " entries a page, expected %d and %d",
                       e->name, shards, page_entries, DX_POSTINGS_SHARDS, DX_POSTINGS_PAGE_ENTRIES);
    rc = dx_envelope_array(e, TAG_SHRD, DX_POSTINGS_SHARD_RECORD, DX_POSTINGS_SHARDS,
                           &p->shard_records, err);
    if (rc >= 0)
        rc = dx_envelope_array(e, TAG_PAGE, DX_POSTINGS_PAGE_RECORD, p->pages, &p->page_records,
                               err);
    return rc < 0 ? rc : check_shards(p, err);
}

int dx_postings_open(struct dx_postings *p, struct dx_span file, unsigned flags, const char *name,
                     struct dx_error *err)
{
    int rc;

    *p = (struct dx_postings){ .pages = 0 };
    rc = dx_envelope_open(&p->envelope, file, DX_POSTINGS_MAGIC, DX_POSTINGS_VERSION, flags, name,
                          err);
    if (rc >= 0)
        rc = open_sections(p, err);
    if (rc < 0)
        dx_postings_close(p);
    return rc;
}

void dx_postings_close(struct dx_postings *p)
{
    dx_envelope_close(&p->envelope);
    *p = (struct dx_postings){ .pages = 0 };
}

int dx_postings_shard_get(const struct dx_postings *p, uint32_t shard,
                          struct dx_postings_shard *out, struct dx_error *err)
{
    const uint8_t *at;
    uint64_t reserved;

    if (shard >= DX_POSTINGS_SHARDS)
        return dx_fail(err, DX_E_INVALID, "%s: no shard %" PRIu32, p->envelope.name, shard);
    at = p->shard_records.data + (size_t)shard * DX_POSTINGS_SHARD_RECORD;
    read_shard(at, out, &reserved);
    /* True since the open, unless the file is overwritten meanwhile. */
    if (out->first_page > p->pages || out->pages > p->pages - out->first_page)
        return dx_envelope_corrupt(&p->envelope, TAG_SHRD, at, err,
                                   "shard %03" PRIx32 " has other pages than at the open", shard);
    return out->pages > 0;
}

static const char *page_fault(const struct dx_postings_page *page,
                              const struct dx_postings_shard *s)
{
    if (page->entries == 0 || page->entries > DX_POSTINGS_PAGE_ENTRIES)
        return "number of entries is not in 1..512";
    if (dx_postings_shard_of(page->first_domain_id) != page->shard)
        return "first domain belongs to another shard";
    if (page->idx_packed < DX_POSTINGS_PAGE_HEADER ||
        page->idx_packed > DX_POSTINGS_IDX_HEADER + DX_POSTINGS_PAGE_HEADER +
                               page->entries * DX_POSTINGS_ENTRY_PACKED)
        return "plain idx size does not fit its entries";
    if (page->dat_plain < page->entries * DX_PAYLOAD_MIN ||
        page->dat_plain > (page->entries == 1 ? DX_PAYLOAD_MAX : DX_POSTINGS_PAGE_BYTES))
        return "plain dat size does not fit its entries";
    if (page->idx_size == 0 || page->idx_offset > s->idx_size ||
        page->idx_size > s->idx_size - page->idx_offset)
        return "idx frame is not within its file";
    if (page->dat_size == 0 || page->dat_offset > s->dat_size ||
        page->dat_size > s->dat_size - page->dat_offset)
        return "dat frame is not within its file";
    return NULL;
}

static int page_of_shard(const struct dx_postings *p, const struct dx_postings_shard *s,
                         uint32_t shard, uint32_t number, struct dx_postings_page *out,
                         struct dx_error *err)
{
    const uint8_t *at;
    const char *why;
    int rc;

    at = p->page_records.data + (s->first_page + number) * DX_POSTINGS_PAGE_RECORD;
    rc = dx_envelope_check(&p->envelope, at, DX_POSTINGS_PAGE_RECORD, err);
    if (rc < 0)
        return rc;
    read_page(at, out);
    out->idx_plain = out->entries * DX_POSTINGS_ENTRY;
    out->shard_entries = s->entries;
    out->shard = shard;
    out->number = number;
    out->build = s->build;
    why = page_fault(out, s);
    if (why != NULL)
        return dx_envelope_corrupt(&p->envelope, TAG_PAGE, at, err,
                                   "page %" PRIu32 " of shard %03" PRIx32 ": %s", number, shard,
                                   why);
    return 1;
}

int dx_postings_page_at(const struct dx_postings *p, uint32_t shard, uint32_t number,
                        struct dx_postings_page *out, struct dx_error *err)
{
    struct dx_postings_shard s;
    int rc = dx_postings_shard_get(p, shard, &s, err);

    if (rc <= 0 || number >= s.pages)
        return rc < 0 ? rc : 0;
    return page_of_shard(p, &s, shard, number, out, err);
}

int dx_postings_page_records(const struct dx_postings *p, uint32_t shard, struct dx_buf *out,
                             struct dx_error *err)
{
    struct dx_postings_shard s;
    const uint8_t *at;
    size_t size;
    int rc = dx_postings_shard_get(p, shard, &s, err);

    if (rc <= 0)
        return rc;
    at = p->page_records.data + s.first_page * DX_POSTINGS_PAGE_RECORD;
    size = (size_t)s.pages * DX_POSTINGS_PAGE_RECORD;
    rc = dx_envelope_check(&p->envelope, at, size, err);
    if (rc < 0)
        return rc;
    dx_buf_append(out, at, size);
    return out->failed ? dx_buf_fail(out, err, "postings: page records") : DX_OK;
}

int dx_postings_page_find(const struct dx_postings *p, uint64_t domain_id, uint32_t dataset_id,
                          struct dx_postings_page *out, struct dx_error *err)
{
    uint32_t shard = dx_postings_shard_of(domain_id);
    struct dx_postings_shard s;
    uint64_t lo = 0; /* pages before lo begin at or before the pair, those from hi on behind it */
    uint64_t hi;
    int rc = dx_postings_shard_get(p, shard, &s, err);

    if (rc <= 0)
        return rc;
    hi = s.pages;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        const uint8_t *at;

        at = p->page_records.data + (s.first_page + mid) * DX_POSTINGS_PAGE_RECORD;
        rc = dx_envelope_check(&p->envelope, at, 12, err);
        if (rc < 0)
            return rc;
        if (compare_pair(dx_load_u64(at), dx_load_u32(at + 8), domain_id, dataset_id) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? 0 : page_of_shard(p, &s, shard, (uint32_t)(lo - 1), out, err);
}

/* ---- a page ---- */

static int page_corrupt(const struct dx_postings_page *page, struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "postings shard %03" PRIx32 ", page %" PRIu32 ": %s",
                   page->shard, page->number, what);
}

static uint64_t frame_sum(const struct dx_postings_page *page, uint32_t kind,
                          struct dx_span compressed)
{
    struct dx_identity id = { page->build, kind, (uint64_t)page->shard << 32 | page->number };

    return dx_checksum(&id, compressed);
}

static const char *front_fault(const struct dx_postings_page *page, struct dx_span packed)
{
    if (page->number != 0)
        return NULL;
    if (packed.size < DX_POSTINGS_IDX_HEADER)
        return "idx is shorter than its header";
    if (dx_load_u32(packed.data) != IDX_MAGIC)
        return "idx does not begin with PDX1";
    if (dx_load_u32(packed.data + 4) != IDX_VERSION)
        return "idx is not of version 3";
    return dx_load_u64(packed.data + 8) == page->shard_entries
               ? NULL
               : "idx says another number of entries than the directory";
}

/* An entry in memory: what the caches hold, so that a search need not unpack. */
static void store_entry(uint8_t *to, const struct dx_posting *p)
{
    dx_store_u64(to, p->domain_id);
    dx_store_u32(to + 8, p->dataset_id);
    dx_store_u32(to + 12, p->payload_offset);
    dx_store_u32(to + 16, p->payload_size);
}

static void load_entry(const uint8_t *from, struct dx_posting *p)
{
    p->domain_id = dx_load_u64(from);
    p->dataset_id = dx_load_u32(from + 8);
    p->payload_offset = dx_load_u32(from + 12);
    p->payload_size = dx_load_u32(from + 16);
}

/* The numbers of a page, each kind with a Rice code of its own. */
enum column { DOMAINS, DATASETS, GAPS, SIZES, COLUMNS };

struct unpacking {
    struct dx_bits bits;
    unsigned k[COLUMNS];
    uint32_t entries;
    uint64_t first_domain_id;
};

static const char *unpack_begin(struct unpacking *u, struct dx_span packed)
{
    struct dx_bytes r = dx_bytes_of(packed);

    u->entries = dx_bytes_u16(&r);
    u->first_domain_id = dx_bytes_u64(&r);
    for (int i = 0; i < COLUMNS; i++)
        u->k[i] = dx_bytes_u8(&r);
    if (r.failed)
        return "idx: page is shorter than its header";
    for (int i = 0; i < COLUMNS; i++)
        if (u->k[i] > RICE_MAX)
            return "idx: unknown code";
    u->bits = dx_bits_of(dx_span_of(r.at, dx_bytes_left(&r)));
    return NULL;
}

static uint64_t take(struct unpacking *u, enum column column)
{
    return dx_bits_rice(&u->bits, u->k[column]);
}

/* p is the entry before (first: none) and becomes the next one. */
static const char *unpack_entry(struct unpacking *u, bool first, struct dx_posting *p)
{
    bool again = !first && dx_bits_take(&u->bits, 1) != 0;
    uint64_t dataset_id;
    uint64_t gap;

    if (first) {
        *p = (struct dx_posting){ .domain_id = u->first_domain_id };
    } else if (!again) {
        gap = take(u, DOMAINS);
        if (gap >= UINT64_MAX - p->domain_id)
            return "idx: a domain_id over 64 bits";
        p->domain_id += gap + 1;
    }
    dataset_id = again ? (uint64_t)p->dataset_id + 1 : 0;
    gap = take(u, again ? GAPS : DATASETS);
    if (gap > UINT32_MAX || dataset_id + gap > UINT32_MAX)
        return "idx: a dataset_id over 32 bits";
    p->dataset_id = (uint32_t)(dataset_id + gap);
    gap = take(u, SIZES);
    if (gap > DX_PAYLOAD_MAX - DX_PAYLOAD_MIN ||
        p->payload_size > UINT32_MAX - DX_PAYLOAD_MAX - p->payload_offset)
        return "idx: payloads are longer than they may be";
    p->payload_offset += p->payload_size;
    p->payload_size = (uint32_t)gap + DX_PAYLOAD_MIN;
    return u->bits.failed ? "idx: page is cut" : NULL;
}

/* Entries ascend by how they are coded. */
static const char *unpack(const struct dx_postings_page *page, struct dx_span packed,
                          uint8_t *plain)
{
    struct dx_posting p = { 0 };
    struct unpacking u;
    const char *why = unpack_begin(&u, packed);

    if (why == NULL && u.entries != page->entries)
        why = "idx has another number of entries than the directory says";
    for (uint32_t i = 0; why == NULL && i < page->entries; i++) {
        why = unpack_entry(&u, i == 0, &p);
        store_entry(plain + (size_t)i * DX_POSTINGS_ENTRY, &p);
    }
    if (why != NULL)
        return why;
    if (!dx_bits_done(&u.bits))
        return "idx has bits behind its last entry";
    if (u.first_domain_id != page->first_domain_id ||
        dx_load_u32(plain + 8) != page->first_dataset_id)
        return "idx does not begin with the pair that the directory names";
    if (dx_postings_shard_of(p.domain_id) != page->shard)
        return "idx: a domain belongs to another shard";
    return (uint64_t)p.payload_offset + p.payload_size == page->dat_plain
               ? NULL
               : "idx: payloads do not fill the page's dat";
}

int dx_postings_idx_decode(const struct dx_postings_page *page, struct dx_zstd_decoder *decoder,
                           unsigned flags, struct dx_span compressed, uint8_t *plain,
                           struct dx_error *err)
{
    uint8_t packed[DX_POSTINGS_IDX_PACKED_MAX];
    size_t front = page->number == 0 ? DX_POSTINGS_IDX_HEADER : 0;
    struct dx_span bytes = dx_span_of(packed, page->idx_packed);
    const char *why;
    int rc;

    if (compressed.size != page->idx_size)
        return page_corrupt(page, err, "idx frame has another size than the directory says");
    if (page->idx_packed > sizeof packed)
        return page_corrupt(page, err, "idx is larger than a page can be");
    if ((flags & DX_OPEN_UNCHECKED) == 0 && frame_sum(page, KIND_IDX, compressed) != page->idx_sum)
        return page_corrupt(page, err, "checksum of the idx frame does not fit");
    rc = dx_zstd_frame_decode(decoder, compressed, page->idx_packed, packed, err);
    if (rc < 0)
        return dx_fail_in(err, "postings shard %03" PRIx32 ", page %" PRIu32 " of idx", page->shard,
                          page->number);
    why = front_fault(page, bytes);
    if (why == NULL)
        why = unpack(page, dx_span_of(packed + front, page->idx_packed - front), plain);
    return why == NULL ? DX_OK : page_corrupt(page, err, why);
}

int dx_postings_idx_peek(struct dx_span plain, uint64_t *entries, struct dx_posting *out,
                         uint32_t most, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(plain);
    struct dx_posting p = { 0 };
    struct unpacking u;
    const char *why;
    uint32_t version;
    uint32_t n;

    if (dx_bytes_u32(&r) != IDX_MAGIC)
        return dx_fail(err, DX_E_CORRUPT, "postings.idx: does not begin with PDX1");
    version = dx_bytes_u32(&r);
    if (version != IDX_VERSION)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "postings.idx: layout version %" PRIu32 ", this program reads %d", version,
                       IDX_VERSION);
    *entries = dx_bytes_u64(&r);
    why = r.failed ? "idx is shorter than its header"
                   : unpack_begin(&u, dx_bytes_take(&r, dx_bytes_left(&r)));
    for (n = 0; why == NULL && n < most && n < u.entries; n++) {
        why = unpack_entry(&u, n == 0, &p);
        out[n] = p;
    }
    return why == NULL ? (int)n : dx_fail(err, DX_E_CORRUPT, "postings.%s", why);
}

int dx_postings_entry_at(const struct dx_postings_page *page, struct dx_span plain, uint32_t index,
                         struct dx_posting *out, struct dx_error *err)
{
    if (plain.size != page->idx_plain)
        return page_corrupt(page, err, "plain idx has another size than the directory says");
    if (index >= page->entries)
        return 0;
    load_entry(plain.data + (size_t)index * DX_POSTINGS_ENTRY, out);
    return 1;
}

int dx_postings_entry_find(const struct dx_postings_page *page, struct dx_span plain,
                           uint64_t domain_id, uint32_t dataset_id, struct dx_posting *out,
                           struct dx_error *err)
{
    uint32_t lo = 0;
    uint32_t hi = page->entries;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int rc = dx_postings_entry_at(page, plain, mid, out, err);
        int order;

        if (rc < 0)
            return rc;
        order = compare_pair(out->domain_id, out->dataset_id, domain_id, dataset_id);
        if (order == 0)
            return 1;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return 0;
}

int dx_postings_dat_decode(const struct dx_postings_page *page, struct dx_zstd_decoder *decoder,
                           unsigned flags, struct dx_span compressed, uint8_t *plain,
                           struct dx_error *err)
{
    if (compressed.size != page->dat_size)
        return page_corrupt(page, err, "dat frame has another size than the directory says");
    if ((flags & DX_OPEN_UNCHECKED) == 0 && frame_sum(page, KIND_DAT, compressed) != page->dat_sum)
        return page_corrupt(page, err, "checksum of the dat frame does not fit");
    if (dx_zstd_frames_decode(decoder, compressed, page->dat_plain, plain, err) < 0)
        return dx_fail_in(err, "postings shard %03" PRIx32 ", page %" PRIu32 " of dat", page->shard,
                          page->number);
    return DX_OK;
}

int dx_postings_payload(const struct dx_postings_page *page, struct dx_span plain,
                        const struct dx_posting *posting, struct dx_span *payload,
                        struct dx_error *err)
{
    if (plain.size != page->dat_plain)
        return page_corrupt(page, err, "plain dat has another size than the directory says");
    if (!dx_span_slice(plain, posting->payload_offset, posting->payload_size, payload))
        return page_corrupt(page, err, "payload is not within the page's dat");
    return DX_OK;
}

/* ---- writing a shard ---- */

static int hashed_sink(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    struct dx_shard_file *f = ctx;

    dx_hash_state_update(f->hashing, bytes);
    return f->sink(f->sink_ctx, bytes, err);
}

static int shard_file_init(struct dx_shard_file *f, int level,
                           int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                           void *ctx, struct dx_error *err)
{
    f->sink = sink;
    f->sink_ctx = ctx;
    f->hashing = dx_hash_state_new();
    if (f->hashing == NULL)
        return dx_fail(err, DX_E_NOMEM, "postings: out of memory");
    return dx_zseek_writer_init(&f->zst, level, hashed_sink, f, err);
}

int dx_shard_writer_init(struct dx_shard_writer *w, uint32_t shard, uint64_t total,
                         const struct dx_build_id *build, int level,
                         int (*idx_sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *idx_ctx,
                         int (*dat_sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *dat_ctx, struct dx_buf *pages, struct dx_error *err)
{
    int rc;

    *w = (struct dx_shard_writer){
        .shard = shard, .build = *build, .pages = pages, .total = total
    };
    if (shard >= DX_POSTINGS_SHARDS || total == 0)
        return dx_fail(err, DX_E_INVALID, "postings: shard %" PRIu32 " of %" PRIu64 " pairs", shard,
                       total);
    dx_buf_init(&w->entries, DX_POSTINGS_IDX_PLAIN_MAX);
    dx_buf_init(&w->packed, DX_POSTINGS_IDX_PACKED_MAX);
    dx_buf_init(&w->payloads, DX_PAYLOAD_MAX + DX_POSTINGS_PAGE_BYTES);
    dx_buf_init(&w->frames, SIZE_MAX / 2);
    rc = shard_file_init(&w->idx, level, idx_sink, idx_ctx, err);
    return rc < 0 ? rc : shard_file_init(&w->dat, level, dat_sink, dat_ctx, err);
}

void dx_shard_writer_release(struct dx_shard_writer *w)
{
    dx_zseek_writer_release(&w->idx.zst);
    dx_zseek_writer_release(&w->dat.zst);
    dx_hash_state_free(&w->idx.hashing);
    dx_hash_state_free(&w->dat.hashing);
    dx_buf_release(&w->entries);
    dx_buf_release(&w->packed);
    dx_buf_release(&w->payloads);
    dx_buf_release(&w->frames);
    *w = (struct dx_shard_writer){ .shard = 0 };
}

static int write_frames(struct dx_zseek_writer *zst, const struct dx_buf *plain,
                        struct dx_buf *compressed, struct dx_error *err)
{
    dx_buf_clear(compressed);
    for (size_t at = 0; at < plain->size;) {
        size_t n = plain->size - at < DX_ZSEEK_PLAIN_MAX ? plain->size - at : DX_ZSEEK_PLAIN_MAX;
        int rc = dx_zseek_writer_frame(zst, dx_span_of(plain->data + at, n), NULL, err);

        if (rc < 0)
            return rc;
        dx_buf_append(compressed, zst->compressed.data, zst->compressed.size);
        at += n;
    }
    if (compressed->failed || compressed->size > UINT32_MAX)
        return dx_fail(err, DX_E_NOMEM, "postings: out of memory for a page");
    return DX_OK;
}

/* What an entry has of each column, the others untouched; which of them is a bit a column. */
static unsigned split_entry(const struct dx_posting *p, const struct dx_posting *before,
                            uint64_t of[COLUMNS])
{
    bool again = before != NULL && p->domain_id == before->domain_id;

    of[SIZES] = p->payload_size - DX_PAYLOAD_MIN;
    if (again) {
        of[GAPS] = (uint64_t)p->dataset_id - before->dataset_id - 1;
        return 1u << GAPS | 1u << SIZES;
    }
    of[DATASETS] = p->dataset_id;
    if (before == NULL)
        return 1u << DATASETS | 1u << SIZES;
    of[DOMAINS] = p->domain_id - before->domain_id - 1;
    return 1u << DOMAINS | 1u << DATASETS | 1u << SIZES;
}

/* All numbers of a column of the open page. */
struct column_stats {
    uint64_t values[DX_POSTINGS_PAGE_ENTRIES];
    uint32_t count;
};

static uint64_t rice_bits(const struct column_stats *c, unsigned k)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < c->count; i++)
        bits += dx_bits_rice_size(c->values[i], k);
    return bits;
}

/* The best k is near the bits of the mean; of equally good ones the least. */
static unsigned choose_k(const struct column_stats *c)
{
    unsigned __int128 sum = 0;
    unsigned middle;
    unsigned best;

    for (uint32_t i = 0; i < c->count; i++)
        sum += c->values[i];
    middle = c->count == 0 ? 0 : dx_bits_of_number((uint64_t)(sum / c->count));
    best = middle > 3 ? middle - 3 : 0;
    for (unsigned k = best + 1; k <= middle && k <= RICE_MAX; k++)
        if (rice_bits(c, k) < rice_bits(c, best))
            best = k;
    return best;
}

static void choose_codes(const struct dx_shard_writer *w, unsigned k[COLUMNS])
{
    struct column_stats column;

    for (unsigned i = 0; i < COLUMNS; i++) {
        struct dx_posting before;
        struct dx_posting p;

        column.count = 0;
        for (uint32_t n = 0; n < w->page_entries; n++, before = p) {
            uint64_t of[COLUMNS];

            load_entry(w->entries.data + (size_t)n * DX_POSTINGS_ENTRY, &p);
            if ((split_entry(&p, n == 0 ? NULL : &before, of) >> i & 1) != 0)
                column.values[column.count++] = of[i];
        }
        k[i] = choose_k(&column);
    }
}

/* The open page's entries as they are in the file. */
static void pack(struct dx_shard_writer *w)
{
    struct dx_bits_out bits = { .to = &w->packed };
    struct dx_posting before;
    struct dx_posting p;
    unsigned k[COLUMNS];

    dx_buf_clear(&w->packed);
    choose_codes(w, k);
    if (w->page_count == 0) {
        dx_buf_u32(&w->packed, IDX_MAGIC);
        dx_buf_u32(&w->packed, IDX_VERSION);
        dx_buf_u64(&w->packed, w->total);
    }
    dx_buf_u16(&w->packed, (uint16_t)w->page_entries);
    dx_buf_u64(&w->packed, w->first_domain_id);
    for (unsigned i = 0; i < COLUMNS; i++)
        dx_buf_u8(&w->packed, (uint8_t)k[i]);
    for (uint32_t n = 0; n < w->page_entries; n++, before = p) {
        uint64_t of[COLUMNS];
        unsigned which;

        load_entry(w->entries.data + (size_t)n * DX_POSTINGS_ENTRY, &p);
        which = split_entry(&p, n == 0 ? NULL : &before, of);
        if (n > 0)
            dx_bits_put(&bits, which >> GAPS & 1, 1);
        for (unsigned i = 0; i < COLUMNS; i++)
            if ((which >> i & 1) != 0)
                dx_bits_put_rice(&bits, of[i], k[i]);
    }
    dx_bits_flush(&bits);
}

static int close_page(struct dx_shard_writer *w, struct dx_error *err)
{
    struct dx_postings_page page = { .shard = w->shard,
                                     .number = w->page_count,
                                     .first_domain_id = w->first_domain_id,
                                     .first_dataset_id = w->first_dataset_id,
                                     .entries = w->page_entries,
                                     .idx_offset = w->idx.zst.size,
                                     .dat_offset = w->dat.zst.size,
                                     .dat_plain = (uint32_t)w->payloads.size,
                                     .build = w->build };
    int rc;

    pack(w);
    if (w->packed.failed)
        return dx_buf_fail(&w->packed, err, "postings: page");
    page.idx_packed = (uint32_t)w->packed.size;
    rc = write_frames(&w->idx.zst, &w->packed, &w->frames, err);
    if (rc < 0)
        return rc;
    page.idx_size = (uint32_t)w->frames.size;
    page.idx_sum = frame_sum(&page, KIND_IDX, dx_span_of(w->frames.data, w->frames.size));
    rc = write_frames(&w->dat.zst, &w->payloads, &w->frames, err);
    if (rc < 0)
        return rc;
    page.dat_size = (uint32_t)w->frames.size;
    page.dat_sum = frame_sum(&page, KIND_DAT, dx_span_of(w->frames.data, w->frames.size));
    append_page(w->pages, &page);
    if (w->pages->failed)
        return dx_buf_fail(w->pages, err, "postings: page records");
    w->page_count++;
    w->page_entries = 0;
    dx_buf_clear(&w->entries);
    dx_buf_clear(&w->payloads);
    return DX_OK;
}

static const char *add_fault(const struct dx_shard_writer *w, uint64_t domain_id,
                             uint32_t dataset_id, size_t payload_size)
{
    if (dx_postings_shard_of(domain_id) != w->shard)
        return "belongs to another shard";
    if (payload_size < DX_PAYLOAD_MIN || payload_size > DX_PAYLOAD_MAX)
        return "has a payload that is too short or too long";
    if (w->entry_count == w->total)
        return "is one more than was announced";
    if (w->entry_count > 0 &&
        compare_pair(domain_id, dataset_id, w->last_domain_id, w->last_dataset_id) <= 0)
        return "does not ascend";
    return w->page_count == UINT32_MAX ? "is in one page too many" : NULL;
}

int dx_shard_writer_add(struct dx_shard_writer *w, uint64_t domain_id, uint32_t dataset_id,
                        struct dx_span payload, struct dx_error *err)
{
    const char *why = add_fault(w, domain_id, dataset_id, payload.size);
    uint8_t entry[DX_POSTINGS_ENTRY];
    struct dx_posting p;
    int rc;

    if (why != NULL)
        return dx_fail(err, DX_E_INVALID,
                       "postings shard %03" PRIx32 ": pair (%016" PRIx64 ", %" PRIu32 ") %s",
                       w->shard, domain_id, dataset_id, why);
    if (w->page_entries == DX_POSTINGS_PAGE_ENTRIES ||
        (w->page_entries > 0 && w->payloads.size + payload.size > DX_POSTINGS_PAGE_BYTES)) {
        rc = close_page(w, err);
        if (rc < 0)
            return rc;
    }
    if (w->page_entries == 0) {
        w->first_domain_id = domain_id;
        w->first_dataset_id = dataset_id;
    }
    p = (struct dx_posting){ domain_id, dataset_id, (uint32_t)w->payloads.size,
                             (uint32_t)payload.size };
    store_entry(entry, &p);
    dx_buf_append(&w->entries, entry, sizeof entry);
    dx_buf_append(&w->payloads, payload.data, payload.size);
    if (w->entries.failed || w->payloads.failed)
        return dx_fail(err, DX_E_NOMEM, "postings: out of memory for a page");
    w->page_entries++;
    w->entry_count++;
    w->last_domain_id = domain_id;
    w->last_dataset_id = dataset_id;
    return DX_OK;
}

int dx_shard_writer_finish(struct dx_shard_writer *w, struct dx_postings_shard *record,
                           struct dx_error *err)
{
    int rc;

    if (w->entry_count != w->total)
        return dx_fail(err, DX_E_INVALID,
                       "postings shard %03" PRIx32 ": %" PRIu64 " pairs came, %" PRIu64
                       " were announced",
                       w->shard, w->entry_count, w->total);
    rc = close_page(w, err);
    if (rc >= 0)
        rc = dx_zseek_writer_finish(&w->idx.zst, err);
    if (rc >= 0)
        rc = dx_zseek_writer_finish(&w->dat.zst, err);
    if (rc < 0)
        return rc;
    *record = (struct dx_postings_shard){ .pages = w->page_count,
                                          .entries = w->entry_count,
                                          .idx_size = w->idx.zst.size,
                                          .dat_size = w->dat.zst.size,
                                          .build = w->build,
                                          .idx_hash = dx_hash_state_digest(w->idx.hashing),
                                          .dat_hash = dx_hash_state_digest(w->dat.hashing) };
    return DX_OK;
}

/* ---- writing the directory ---- */

static int write_front(struct dx_postings_writer *w, const struct dx_postings_shard *records,
                       uint64_t pairs, struct dx_error *err)
{
    struct dx_buf b = DX_BUF_INIT(HEADER_SIZE + DX_POSTINGS_SHARDS * DX_POSTINGS_SHARD_RECORD);
    int rc;

    dx_buf_u32(&b, DX_POSTINGS_MAGIC);
    dx_buf_u32(&b, DX_POSTINGS_VERSION);
    dx_buf_u32(&b, DX_POSTINGS_SHARDS);
    dx_buf_u32(&b, DX_POSTINGS_PAGE_ENTRIES);
    dx_buf_u64(&b, w->pages_want);
    dx_buf_u64(&b, pairs);
    dx_buf_zero(&b, 32);
    for (size_t i = 0; i < DX_POSTINGS_SHARDS; i++)
        append_shard(&b, &records[i]);
    rc = b.failed ? dx_buf_fail(&b, err, "postings") : DX_OK;
    if (rc >= 0)
        rc = dx_envelope_writer_header(&w->envelope, dx_span_of(b.data, HEADER_SIZE), err);
    if (rc >= 0)
        rc = dx_envelope_writer_section(&w->envelope, TAG_SHRD, err);
    if (rc >= 0)
        rc = dx_envelope_writer_append(&w->envelope,
                                       dx_span_of(b.data + HEADER_SIZE, b.size - HEADER_SIZE), err);
    dx_buf_release(&b);
    return rc;
}

int dx_postings_writer_begin(struct dx_postings_writer *w,
                             struct dx_postings_shard records[DX_POSTINGS_SHARDS],
                             const struct dx_build_id *build,
                             int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                             void *ctx, struct dx_error *err)
{
    uint64_t pairs = 0;
    int rc;

    w->pages_want = 0;
    w->pages_done = 0;
    for (size_t i = 0; i < DX_POSTINGS_SHARDS; i++) {
        records[i].first_page = w->pages_want;
        w->pages_want += records[i].pages;
        pairs += records[i].entries;
    }
    dx_envelope_writer_init(&w->envelope, DX_POSTINGS_MAGIC, DX_POSTINGS_VERSION, build, sink, ctx);
    rc = write_front(w, records, pairs, err);
    return rc < 0 ? rc : dx_envelope_writer_section(&w->envelope, TAG_PAGE, err);
}

int dx_postings_writer_pages(struct dx_postings_writer *w, struct dx_span records,
                             struct dx_error *err)
{
    if (records.size % DX_POSTINGS_PAGE_RECORD != 0)
        return dx_fail(err, DX_E_INVALID, "postings: %zu bytes are no whole page records",
                       records.size);
    w->pages_done += records.size / DX_POSTINGS_PAGE_RECORD;
    return dx_envelope_writer_append(&w->envelope, records, err);
}

int dx_postings_writer_end(struct dx_postings_writer *w, struct dx_error *err)
{
    if (w->pages_done != w->pages_want)
        return dx_fail(err, DX_E_INVALID,
                       "postings: %" PRIu64 " page records came, the shards have %" PRIu64,
                       w->pages_done, w->pages_want);
    return dx_envelope_writer_finish(&w->envelope, err);
}

void dx_postings_writer_release(struct dx_postings_writer *w)
{
    dx_envelope_writer_release(&w->envelope);
}
