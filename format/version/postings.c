/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/postings.h"

#include "base/bits.h"

#include <assert.h>
#include <inttypes.h>

#define HEADER_SIZE 64
#define TAG_PAGE DX_KIND('P', 'A', 'G', 'E')
#define KIND_IDX DX_KIND('P', 'I', 'D', 'X')
#define KIND_DAT DX_KIND('P', 'D', 'A', 'T')
#define IDX_MAGIC DX_KIND('P', 'D', 'X', '1')
#define IDX_VERSION 2 /* 1 is the layout of the seed specification */
#define RICE_MAX 63
#define FIRST_STEP 4         /* pages, of a search */
#define SPARE_MAX (1u << 20) /* of a draft's buffer that is kept for the next page */

static int compare_pair(uint64_t domain_a, uint32_t dataset_a, uint64_t domain_b,
                        uint32_t dataset_b)
{
    if (domain_a != domain_b)
        return domain_a < domain_b ? -1 : 1;
    return dataset_a == dataset_b ? 0 : dataset_a < dataset_b ? -1 : 1;
}

/* ---- the directory ---- */

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

static int open_sections(struct dx_postings *p, struct dx_error *err)
{
    const struct dx_envelope *e = &p->envelope;
    struct dx_postings_totals *t = &p->totals;
    struct dx_span header;
    struct dx_bytes r;
    uint32_t page_entries;
    uint32_t reserved;
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    page_entries = dx_bytes_u32(&r);
    reserved = dx_bytes_u32(&r);
    t->pages = dx_bytes_u64(&r);
    t->pairs = dx_bytes_u64(&r);
    t->idx_size = dx_bytes_u64(&r);
    t->dat_size = dx_bytes_u64(&r);
    rc = dx_envelope_reserved(e, &r, err);
    if (rc < 0)
        return rc;
    if (page_entries != DX_POSTINGS_PAGE_ENTRIES || reserved != 0)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: header: %" PRIu32 " and %" PRIu32
                       " where %d entries a page and 0 are expected: of another layout, ingest the "
                       "data into a new root: 'domaindex ingest --root NEW', then 'domaindex "
                       "publish --root NEW'",
                       e->name, page_entries, reserved, DX_POSTINGS_PAGE_ENTRIES);
    if (t->pages > UINT32_MAX || t->pages > t->pairs ||
        t->pairs > t->pages * DX_POSTINGS_PAGE_ENTRIES)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: %" PRIu64 " pages cannot have %" PRIu64 " pairs", e->name,
                       t->pages, t->pairs);
    return dx_envelope_array(e, TAG_PAGE, DX_POSTINGS_PAGE_RECORD, t->pages, &p->page_records, err);
}

int dx_postings_open(struct dx_postings *p, struct dx_span file, unsigned flags, const char *name,
                     struct dx_error *err)
{
    int rc;

    *p = (struct dx_postings){ .totals = { 0 } };
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
    *p = (struct dx_postings){ .totals = { 0 } };
}

static const char *page_fault(const struct dx_postings_page *page,
                              const struct dx_postings_totals *t)
{
    if (page->entries == 0 || page->entries > DX_POSTINGS_PAGE_ENTRIES)
        return "number of entries is not in 1..512";
    if (page->idx_packed < DX_POSTINGS_PAGE_HEADER ||
        page->idx_packed > DX_POSTINGS_IDX_HEADER + DX_POSTINGS_PAGE_HEADER +
                               page->entries * DX_POSTINGS_ENTRY_PACKED)
        return "plain idx size does not fit its entries";
    if (page->dat_plain < page->entries * DX_PAYLOAD_MIN ||
        page->dat_plain > (page->entries == 1 ? DX_PAYLOAD_MAX : DX_POSTINGS_PAGE_BYTES))
        return "plain dat size does not fit its entries";
    if (page->idx_size == 0 || page->idx_offset > t->idx_size ||
        page->idx_size > t->idx_size - page->idx_offset)
        return "idx frame is not within its file";
    if (page->dat_size == 0 || page->dat_offset > t->dat_size ||
        page->dat_size > t->dat_size - page->dat_offset)
        return "dat frame is not within its file";
    return NULL;
}

int dx_postings_page_at(const struct dx_postings *p, uint64_t number, struct dx_postings_page *out,
                        struct dx_error *err)
{
    const uint8_t *at;
    const char *why;
    int rc;

    if (number >= p->totals.pages)
        return 0;
    at = p->page_records.data + number * DX_POSTINGS_PAGE_RECORD;
    rc = dx_envelope_check(&p->envelope, at, DX_POSTINGS_PAGE_RECORD, err);
    if (rc < 0)
        return rc;
    read_page(at, out);
    out->number = (uint32_t)number;
    out->idx_plain = out->entries * DX_POSTINGS_ENTRY;
    out->pairs = p->totals.pairs;
    out->build = p->envelope.build;
    why = page_fault(out, &p->totals);
    if (why != NULL)
        return dx_envelope_corrupt(&p->envelope, TAG_PAGE, at, err, "page %" PRIu64 ": %s", number,
                                   why);
    return 1;
}

/* 1 the page begins behind the pair, 0 at it or before. */
static int begins_behind(const struct dx_postings *p, uint64_t number, uint64_t domain_id,
                         uint32_t dataset_id, struct dx_error *err)
{
    const uint8_t *at = p->page_records.data + number * DX_POSTINGS_PAGE_RECORD;
    int rc = dx_envelope_check(&p->envelope, at, 12, err);

    if (rc < 0)
        return rc;
    return compare_pair(dx_load_u64(at), dx_load_u32(at + 8), domain_id, dataset_id) > 0;
}

/* Ids are hashes, spread evenly: of 300,000 pages the one that is wanted lies some ten from where
 * its id says. So the search begins there and goes on in growing steps until it is past it, which
 * touches few records, near each other, and needs no table in front of them. However the ids lie,
 * it ends like a search by halves. */
int dx_postings_page_find(const struct dx_postings *p, uint64_t domain_id, uint32_t dataset_id,
                          struct dx_postings_page *out, struct dx_error *err)
{
    uint64_t lo = 0; /* pages before lo begin at or before the pair, those from hi on behind it */
    uint64_t hi = p->totals.pages;
    uint64_t probe = (uint64_t)((unsigned __int128)domain_id * hi >> 64);
    uint64_t step = FIRST_STEP;
    bool below = false;
    bool above = false;

    while (lo < hi) {
        int rc = begins_behind(p, probe, domain_id, dataset_id, err);

        if (rc < 0)
            return rc;
        if (rc == 0) {
            lo = probe + 1;
            below = true;
        } else {
            hi = probe;
            above = true;
        }
        if (hi - lo <= step || (below && above)) {
            probe = lo + (hi - lo) / 2;
        } else {
            probe = below ? lo + step : hi - 1 - step;
            step *= 2;
        }
    }
    return lo == 0 ? 0 : dx_postings_page_at(p, lo - 1, out, err);
}

/* ---- a page ---- */

static int page_corrupt(const struct dx_postings_page *page, struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "postings page %" PRIu32 ": %s", page->number, what);
}

static uint64_t frame_sum(const struct dx_postings_page *page, uint32_t kind,
                          struct dx_span compressed)
{
    struct dx_identity id = { page->build, kind, page->number };

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
        return "idx is not of version 2";
    return dx_load_u64(packed.data + 8) == page->pairs
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
        return dx_fail_in(err, "postings page %" PRIu32 " of idx", page->number);
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
        return dx_fail_in(err, "postings page %" PRIu32 " of dat", page->number);
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

/* ---- writing a page ---- */

void dx_postings_draft_init(struct dx_postings_draft *d)
{
    *d = (struct dx_postings_draft){ .page = { .number = 0 } };
    dx_buf_init(&d->entries, DX_POSTINGS_IDX_PLAIN_MAX);
    dx_buf_init(&d->payloads, DX_PAYLOAD_MAX + DX_POSTINGS_PAGE_BYTES);
    dx_buf_init(&d->packed, DX_POSTINGS_IDX_PACKED_MAX);
    dx_buf_init(&d->idx, UINT32_MAX);
    dx_buf_init(&d->dat, UINT32_MAX);
}

void dx_postings_draft_release(struct dx_postings_draft *d)
{
    dx_buf_release(&d->entries);
    dx_buf_release(&d->payloads);
    dx_buf_release(&d->packed);
    dx_buf_release(&d->idx);
    dx_buf_release(&d->dat);
}

void dx_postings_draft_clear(struct dx_postings_draft *d)
{
    d->page = (struct dx_postings_page){ .number = 0 };
    if (d->payloads.size > SPARE_MAX || d->dat.size > SPARE_MAX) {
        dx_buf_release(&d->payloads);
        dx_buf_release(&d->dat);
    }
    dx_buf_clear(&d->entries);
    dx_buf_clear(&d->payloads);
}

/* What an entry has of each column, the others untouched; which of them is a bit a column. */
static unsigned split_entry(const struct dx_posting *p, const struct dx_posting *before,
                            uint64_t of[COLUMNS])
{
    bool again = before != NULL && p->domain_id == before->domain_id;

    assert(before == NULL || p->domain_id > before->domain_id ||
           (p->domain_id == before->domain_id && p->dataset_id > before->dataset_id));
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

/* All numbers of a column of the page. */
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

static void choose_codes(const struct dx_postings_draft *d, unsigned k[COLUMNS])
{
    struct column_stats column;

    for (unsigned i = 0; i < COLUMNS; i++) {
        struct dx_posting before;
        struct dx_posting p;

        column.count = 0;
        for (uint32_t n = 0; n < d->page.entries; n++, before = p) {
            uint64_t of[COLUMNS];

            load_entry(d->entries.data + (size_t)n * DX_POSTINGS_ENTRY, &p);
            if ((split_entry(&p, n == 0 ? NULL : &before, of) >> i & 1) != 0)
                column.values[column.count++] = of[i];
        }
        k[i] = choose_k(&column);
    }
}

/* The draft's entries as they are in the file. */
static void pack(struct dx_postings_draft *d)
{
    struct dx_bits_out bits = { .to = &d->packed };
    struct dx_posting before;
    struct dx_posting p;
    unsigned k[COLUMNS];

    dx_buf_clear(&d->packed);
    choose_codes(d, k);
    if (d->page.number == 0) {
        dx_buf_u32(&d->packed, IDX_MAGIC);
        dx_buf_u32(&d->packed, IDX_VERSION);
        dx_buf_u64(&d->packed, d->page.pairs);
    }
    dx_buf_u16(&d->packed, (uint16_t)d->page.entries);
    dx_buf_u64(&d->packed, d->page.first_domain_id);
    for (unsigned i = 0; i < COLUMNS; i++)
        dx_buf_u8(&d->packed, (uint8_t)k[i]);
    for (uint32_t n = 0; n < d->page.entries; n++, before = p) {
        uint64_t of[COLUMNS];
        unsigned which;

        load_entry(d->entries.data + (size_t)n * DX_POSTINGS_ENTRY, &p);
        which = split_entry(&p, n == 0 ? NULL : &before, of);
        if (n > 0)
            dx_bits_put(&bits, which >> GAPS & 1, 1);
        for (unsigned i = 0; i < COLUMNS; i++)
            if ((which >> i & 1) != 0)
                dx_bits_put_rice(&bits, of[i], k[i]);
    }
    dx_bits_flush(&bits);
}

bool dx_postings_draft_full(const struct dx_postings_draft *d, size_t payload_size)
{
    return d->page.entries == DX_POSTINGS_PAGE_ENTRIES ||
           (d->page.entries > 0 && d->payloads.size + payload_size > DX_POSTINGS_PAGE_BYTES);
}

static void last_entry(const struct dx_postings_draft *d, struct dx_posting *last)
{
    load_entry(d->entries.data + (size_t)(d->page.entries - 1) * DX_POSTINGS_ENTRY, last);
}

static const char *add_fault(const struct dx_postings_draft *d, uint64_t domain_id,
                             uint32_t dataset_id, size_t payload_size)
{
    struct dx_posting last;

    if (payload_size < DX_PAYLOAD_MIN || payload_size > DX_PAYLOAD_MAX)
        return "has a payload that is too short or too long";
    if (dx_postings_draft_full(d, payload_size))
        return "does not fit into the page";
    if (d->page.entries == 0)
        return NULL;
    last_entry(d, &last);
    return compare_pair(domain_id, dataset_id, last.domain_id, last.dataset_id) <= 0
               ? "does not ascend"
               : NULL;
}

int dx_postings_draft_add(struct dx_postings_draft *d, uint64_t domain_id, uint32_t dataset_id,
                          struct dx_span payload, struct dx_error *err)
{
    const char *why = add_fault(d, domain_id, dataset_id, payload.size);
    const struct dx_posting p = { domain_id, dataset_id, (uint32_t)d->payloads.size,
                                  (uint32_t)payload.size };
    uint8_t entry[DX_POSTINGS_ENTRY];

    if (why != NULL)
        return dx_fail(err, DX_E_INVALID, "postings: pair (%016" PRIx64 ", %" PRIu32 ") %s",
                       domain_id, dataset_id, why);
    if (d->page.entries == 0) {
        d->page.first_domain_id = domain_id;
        d->page.first_dataset_id = dataset_id;
    }
    store_entry(entry, &p);
    dx_buf_append(&d->entries, entry, sizeof entry);
    dx_buf_append(&d->payloads, payload.data, payload.size);
    if (d->entries.failed || d->payloads.failed)
        return dx_no_memory(err, "postings: page");
    d->page.entries++;
    return DX_OK;
}

int dx_postings_draft_encode(struct dx_postings_draft *d, uint64_t number, uint64_t pairs,
                             const struct dx_build_id *build, struct dx_zstd_encoder *encoder,
                             struct dx_error *err)
{
    struct dx_postings_page *page = &d->page;
    int rc;

    if (number > UINT32_MAX)
        return dx_fail(err, DX_E_LIMIT, "postings: more than %" PRIu32 " pages", UINT32_MAX);
    assert(page->entries > 0);
    page->number = (uint32_t)number;
    page->pairs = pairs;
    page->build = *build;
    pack(d);
    if (d->packed.failed)
        return dx_buf_fail(&d->packed, err, "postings: page");
    dx_buf_clear(&d->idx);
    dx_buf_clear(&d->dat);
    rc = dx_zstd_frames_encode(encoder, dx_span_of(d->packed.data, d->packed.size), &d->idx, err);
    if (rc == DX_OK)
        rc = dx_zstd_frames_encode(encoder, dx_span_of(d->payloads.data, d->payloads.size), &d->dat,
                                   err);
    if (rc < 0)
        return rc;
    page->idx_packed = (uint32_t)d->packed.size;
    page->dat_plain = (uint32_t)d->payloads.size;
    page->idx_size = (uint32_t)d->idx.size;
    page->dat_size = (uint32_t)d->dat.size;
    page->idx_sum = frame_sum(page, KIND_IDX, dx_span_of(d->idx.data, d->idx.size));
    page->dat_sum = frame_sum(page, KIND_DAT, dx_span_of(d->dat.data, d->dat.size));
    return DX_OK;
}

/* ---- writing the files ---- */

int dx_postings_files_begin(struct dx_postings_files *f, uint64_t pairs,
                            int (*idx_sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                            void *idx_ctx,
                            int (*dat_sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                            void *dat_ctx, struct dx_error *err)
{
    int rc;

    *f = (struct dx_postings_files){ .pairs_want = pairs };
    dx_buf_init(&f->records, SIZE_MAX / 2);
    rc = dx_zseek_writer_init(&f->idx, 0, idx_sink, idx_ctx, err);
    return rc < 0 ? rc : dx_zseek_writer_init(&f->dat, 0, dat_sink, dat_ctx, err);
}

void dx_postings_files_release(struct dx_postings_files *f)
{
    dx_zseek_writer_release(&f->idx);
    dx_zseek_writer_release(&f->dat);
    dx_buf_release(&f->records);
}

static const char *page_order_fault(const struct dx_postings_files *f,
                                    const struct dx_postings_draft *draft)
{
    const struct dx_postings_page *page = &draft->page;

    if (page->number != f->totals.pages)
        return "comes out of turn";
    if (page->pairs != f->pairs_want || page->entries > f->pairs_want - f->totals.pairs)
        return "has more pairs than were announced";
    return f->totals.pages > 0 && compare_pair(page->first_domain_id, page->first_dataset_id,
                                               f->last_domain_id, f->last_dataset_id) <= 0
               ? "does not ascend"
               : NULL;
}

int dx_postings_files_page(struct dx_postings_files *f, struct dx_postings_draft *draft,
                           struct dx_error *err)
{
    const char *why = page_order_fault(f, draft);
    struct dx_posting last;
    int rc;

    if (why != NULL)
        return dx_fail(err, DX_E_INVALID, "postings: page %" PRIu32 " %s", draft->page.number, why);
    draft->page.idx_offset = f->idx.size;
    draft->page.dat_offset = f->dat.size;
    rc = dx_zseek_writer_encoded(&f->idx, dx_span_of(draft->idx.data, draft->idx.size), err);
    if (rc == DX_OK)
        rc = dx_zseek_writer_encoded(&f->dat, dx_span_of(draft->dat.data, draft->dat.size), err);
    if (rc < 0)
        return rc;
    append_page(&f->records, &draft->page);
    if (f->records.failed)
        return dx_buf_fail(&f->records, err, "postings: page records");
    last_entry(draft, &last);
    f->last_domain_id = last.domain_id;
    f->last_dataset_id = last.dataset_id;
    f->totals.pages++;
    f->totals.pairs += draft->page.entries;
    return DX_OK;
}

int dx_postings_files_end(struct dx_postings_files *f, struct dx_error *err)
{
    int rc;

    if (f->totals.pairs != f->pairs_want)
        return dx_fail(err, DX_E_INVALID,
                       "postings: %" PRIu64 " pairs came, %" PRIu64 " were announced",
                       f->totals.pairs, f->pairs_want);
    rc = dx_zseek_writer_finish(&f->idx, err);
    if (rc == DX_OK)
        rc = dx_zseek_writer_finish(&f->dat, err);
    f->totals.idx_size = f->idx.size;
    f->totals.dat_size = f->dat.size;
    return rc;
}

/* ---- writing the directory ---- */

int dx_postings_writer_begin(struct dx_postings_writer *w, const struct dx_postings_totals *totals,
                             const struct dx_build_id *build,
                             int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                             void *ctx, struct dx_error *err)
{
    struct dx_buf b = DX_BUF_INIT(HEADER_SIZE);
    int rc;

    w->pages_want = totals->pages;
    w->pages_done = 0;
    dx_envelope_writer_init(&w->envelope, DX_POSTINGS_MAGIC, DX_POSTINGS_VERSION, build, sink, ctx);
    dx_buf_u32(&b, DX_POSTINGS_MAGIC);
    dx_buf_u32(&b, DX_POSTINGS_VERSION);
    dx_buf_u32(&b, DX_POSTINGS_PAGE_ENTRIES);
    dx_buf_u32(&b, 0);
    dx_buf_u64(&b, totals->pages);
    dx_buf_u64(&b, totals->pairs);
    dx_buf_u64(&b, totals->idx_size);
    dx_buf_u64(&b, totals->dat_size);
    dx_buf_zero(&b, 16);
    rc = b.failed ? dx_buf_fail(&b, err, "postings")
                  : dx_envelope_writer_header(&w->envelope, dx_span_of(b.data, b.size), err);
    dx_buf_release(&b);
    return rc < 0 ? rc : dx_envelope_writer_section(&w->envelope, TAG_PAGE, err);
}

int dx_postings_writer_pages(struct dx_postings_writer *w, struct dx_span records,
                             struct dx_error *err)
{
    if (records.size % DX_POSTINGS_PAGE_RECORD != 0)
        return dx_fail(err, DX_E_INVALID, "postings: %zu bytes are not whole page records",
                       records.size);
    w->pages_done += records.size / DX_POSTINGS_PAGE_RECORD;
    return dx_envelope_writer_append(&w->envelope, records, err);
}

int dx_postings_writer_end(struct dx_postings_writer *w, struct dx_error *err)
{
    if (w->pages_done != w->pages_want)
        return dx_fail(err, DX_E_INVALID,
                       "postings: %" PRIu64 " page records came, the files have %" PRIu64,
                       w->pages_done, w->pages_want);
    return dx_envelope_writer_finish(&w->envelope, err);
}

void dx_postings_writer_release(struct dx_postings_writer *w)
{
    dx_envelope_writer_release(&w->envelope);
}
