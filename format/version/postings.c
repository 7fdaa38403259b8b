/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/postings.h"

#include "base/bits.h"
#include "base/few_bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define HEADER_SIZE 64
#define TAG_PAGE DX_KIND('P', 'A', 'G', 'E')
#define TAG_FILE DX_KIND('F', 'I', 'L', 'E')
#define FILE_RECORD 8
#define KIND_IDX DX_KIND('P', 'I', 'D', 'X')
#define KIND_DAT DX_KIND('P', 'D', 'A', 'T')
#define IDX_MAGIC DX_KIND('P', 'D', 'X', '1')
#define IDX_VERSION 3
#define IDX_VERSION_OLD 2 /* by_ids; 1 is the layout of the seed specification */
#define PAGE_HEADER_OLD 14
#define RICE_MAX 63
#define FIRST_STEP 4         /* pages, of a search */
#define SPARE_MAX (1u << 20) /* of a draft's buffer that is kept for the next page */

static int compare_places(struct dx_pair_place a, struct dx_pair_place b)
{
    if (a.domain != b.domain)
        return a.domain < b.domain ? -1 : 1;
    return a.dataset == b.dataset ? 0 : a.dataset < b.dataset ? -1 : 1;
}

/* No pair is between them: the next one of the domain, or the first of the next domain. */
static bool follows(struct dx_pair_place place, struct dx_pair_place before)
{
    return place.domain == before.domain ? place.dataset == before.dataset + 1
                                         : place.domain == before.domain + 1 && place.dataset == 0;
}

/* ---- the directory ---- */

static void read_page(const uint8_t *record, struct dx_postings_page *p)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(record, DX_POSTINGS_PAGE_RECORD));

    p->first.domain = dx_bytes_u64(&r);
    p->first.dataset = dx_bytes_u32(&r);
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
    dx_buf_u64(b, p->first.domain);
    dx_buf_u32(b, p->first.dataset);
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
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    page_entries = dx_bytes_u32(&r);
    t->datasets = dx_bytes_u32(&r);
    t->pages = dx_bytes_u64(&r);
    t->pairs = dx_bytes_u64(&r);
    t->idx_size = dx_bytes_u64(&r);
    t->dat_size = dx_bytes_u64(&r);
    if (!p->by_ids)
        t->domains = dx_bytes_u64(&r);
    rc = dx_envelope_reserved(e, &r, err);
    if (rc < 0)
        return rc;
    if (page_entries != DX_POSTINGS_PAGE_ENTRIES || (p->by_ids && t->datasets != 0))
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: header: %" PRIu32 " and %" PRIu32
                       " where %d entries a page and 0 are expected: of another layout, ingest the "
                       "data into a new root: 'domaindex ingest --root NEW', then 'domaindex "
                       "publish --root NEW'",
                       e->name, page_entries, t->datasets, DX_POSTINGS_PAGE_ENTRIES);
    if (t->pages > UINT32_MAX || t->pages > t->pairs ||
        t->pairs > t->pages * DX_POSTINGS_PAGE_ENTRIES)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: %" PRIu64 " pages cannot have %" PRIu64 " pairs", e->name,
                       t->pages, t->pairs);
    if (!p->by_ids && (t->domains > t->pairs || (t->domains == 0) != (t->pairs == 0) ||
                       t->datasets > t->pairs || (t->datasets == 0) != (t->pairs == 0)))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: %" PRIu64 " domains in %" PRIu32
                       " datasets cannot have %" PRIu64 " pairs",
                       e->name, t->domains, t->datasets, t->pairs);
    rc = dx_envelope_array(e, TAG_PAGE, DX_POSTINGS_PAGE_RECORD, t->pages, &p->page_records, err);
    return rc < 0 || p->by_ids
               ? rc
               : dx_envelope_array(e, TAG_FILE, FILE_RECORD, t->datasets, &p->first_files, err);
}

int dx_postings_open(struct dx_postings *p, struct dx_span file, unsigned flags, const char *name,
                     struct dx_error *err)
{
    uint32_t version = dx_envelope_version(file, DX_POSTINGS_VERSION_OLD, DX_POSTINGS_VERSION);
    int rc;

    *p = (struct dx_postings){ .by_ids = version == DX_POSTINGS_VERSION_OLD };
    rc = dx_envelope_open(&p->envelope, file, DX_POSTINGS_MAGIC, version, flags, name, err);
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
    if (page->idx_packed < PAGE_HEADER_OLD ||
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
    if (!dx_zstd_stored_fits(page->idx_size, page->idx_packed) ||
        !dx_zstd_stored_fits(page->dat_size, page->dat_plain))
        return "frame takes more bytes than its plain size can";
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
    out->by_ids = p->by_ids;
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
static int begins_behind(const struct dx_postings *p, uint64_t number, struct dx_pair_place place,
                         struct dx_error *err)
{
    const uint8_t *at = p->page_records.data + number * DX_POSTINGS_PAGE_RECORD;
    int rc = dx_envelope_check(&p->envelope, at, 12, err);

    if (rc < 0)
        return rc;
    return compare_places((struct dx_pair_place){ dx_load_u64(at), dx_load_u32(at + 8) }, place) >
           0;
}

/* Where the pair's page would be if all domains had as many pairs: domain_ids are hashes, spread evenly. */
static uint64_t guess_page(const struct dx_postings *p, uint64_t domain)
{
    uint64_t pages = p->totals.pages;

    if (p->by_ids)
        return (uint64_t)((unsigned __int128)domain * pages >> 64);
    return domain < p->totals.domains
               ? (uint64_t)((unsigned __int128)domain * pages / p->totals.domains)
               : pages - 1;
}

/* The page that is wanted lies near the guess. So the search begins there and goes on in growing
 * steps until it is past it, which touches few records, near each other, and needs no table in front
 * of them. However the pairs lie, it ends like a search by halves. */
int dx_postings_page_find(const struct dx_postings *p, struct dx_pair_place place,
                          struct dx_postings_page *out, struct dx_error *err)
{
    uint64_t lo = 0; /* pages before lo begin at or before the pair, those from hi on behind it */
    uint64_t hi = p->totals.pages;
    uint64_t probe = hi == 0 ? 0 : guess_page(p, place.domain);
    uint64_t step = FIRST_STEP;
    bool below = false;
    bool above = false;

    while (lo < hi) {
        int rc = begins_behind(p, probe, place, err);

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
    if (dx_load_u32(packed.data + 4) != (page->by_ids ? IDX_VERSION_OLD : IDX_VERSION))
        return "idx is of another version than the directory";
    return dx_load_u64(packed.data + 8) == page->pairs
               ? NULL
               : "idx says another number of entries than the directory";
}

/* An entry in memory: what the caches hold, so that a search need not unpack. */
static void store_entry(uint8_t *to, const struct dx_posting *p)
{
    dx_store_u64(to, p->place.domain);
    dx_store_u32(to + 8, p->place.dataset);
    dx_store_u32(to + 12, p->payload_offset);
    dx_store_u32(to + 16, p->payload_size);
}

static void load_entry(const uint8_t *from, struct dx_posting *p)
{
    p->place.domain = dx_load_u64(from);
    p->place.dataset = dx_load_u32(from + 8);
    p->payload_offset = dx_load_u32(from + 12);
    p->payload_size = dx_load_u32(from + 16);
}

/* The numbers of a page, each kind with a Rice code of its own; without by_ids there are lengths alone. */
enum column { DOMAINS, DATASETS, GAPS, SIZES, COLUMNS };

struct unpacking {
    struct dx_bits bits;
    bool by_ids;
    unsigned k[COLUMNS];
    uint32_t entries;
    struct dx_pair_place first; /* by_ids: without the dataset */
};

static const char *unpack_begin(struct unpacking *u, bool by_ids, struct dx_span packed)
{
    struct dx_bytes r = dx_bytes_of(packed);

    *u = (struct unpacking){ .by_ids = by_ids };
    u->entries = dx_bytes_u16(&r);
    u->first.domain = dx_bytes_u64(&r);
    if (!by_ids)
        u->first.dataset = dx_bytes_u32(&r);
    for (int i = by_ids ? DOMAINS : SIZES; i < COLUMNS; i++)
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

/* Of a pair of ids; the first one begins at the page's domain. */
static const char *unpack_ids(struct unpacking *u, bool first, struct dx_pair_place *p)
{
    bool again = !first && dx_bits_take(&u->bits, 1) != 0;
    uint64_t dataset_id;
    uint64_t gap;

    if (first) {
        *p = u->first;
    } else if (!again) {
        gap = take(u, DOMAINS);
        if (gap >= UINT64_MAX - p->domain)
            return "idx: a domain_id over 64 bits";
        p->domain += gap + 1;
    }
    dataset_id = again ? (uint64_t)p->dataset + 1 : 0;
    gap = take(u, again ? GAPS : DATASETS);
    if (gap > UINT32_MAX || dataset_id + gap > UINT32_MAX)
        return "idx: a dataset_id over 32 bits";
    p->dataset = (uint32_t)(dataset_id + gap);
    return NULL;
}

static const char *unpack_place(struct unpacking *u, bool first, struct dx_pair_place *p)
{
    if (first) {
        *p = u->first;
    } else if (dx_bits_take(&u->bits, 1) != 0) {
        if (p->dataset == UINT32_MAX)
            return "idx: a domain of over 2^32 pairs";
        p->dataset++;
    } else {
        if (p->domain == UINT64_MAX)
            return "idx: an ordinal over 64 bits";
        *p = (struct dx_pair_place){ p->domain + 1, 0 };
    }
    return NULL;
}

/* p is the entry before (first: none) and becomes the next one. */
static const char *unpack_entry(struct unpacking *u, bool first, struct dx_posting *p)
{
    const char *why = u->by_ids ? unpack_ids(u, first, &p->place)
                                : unpack_place(u, first, &p->place);
    uint64_t more;

    if (why != NULL)
        return why;
    if (first)
        p->payload_offset = p->payload_size = 0;
    more = take(u, SIZES);
    if (more > DX_PAYLOAD_MAX - DX_PAYLOAD_MIN ||
        p->payload_size > UINT32_MAX - DX_PAYLOAD_MAX - p->payload_offset)
        return "idx: payloads are longer than they may be";
    p->payload_offset += p->payload_size;
    p->payload_size = (uint32_t)more + DX_PAYLOAD_MIN;
    return u->bits.failed ? "idx: page is cut" : NULL;
}

/* Entries ascend by how they are coded. */
static const char *unpack_page(const struct dx_postings_page *page, struct dx_span packed,
                               uint8_t *plain)
{
    struct dx_posting p = { 0 };
    struct unpacking u;
    const char *why = unpack_begin(&u, page->by_ids, packed);

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
    if (compare_places((struct dx_pair_place){ dx_load_u64(plain), dx_load_u32(plain + 8) },
                       page->first) != 0)
        return "idx does not begin with the pair that the directory names";
    return (uint64_t)p.payload_offset + p.payload_size == page->dat_plain
               ? NULL
               : "idx: payloads do not fill the page's dat";
}

int dx_postings_idx_decode(const struct dx_postings_page *page, struct dx_zstd_decoder *decoder,
                           unsigned flags, struct dx_span compressed, uint8_t *plain,
                           struct dx_error *err)
{
    size_t front = page->number == 0 ? DX_POSTINGS_IDX_HEADER : 0;
    const char *why = NULL;
    uint8_t *packed; /* too much for the stacks that this is deep down in */
    int rc;

    if (compressed.size != page->idx_size)
        return page_corrupt(page, err, "idx frame has another size than the directory says");
    if (page->idx_packed > DX_POSTINGS_IDX_PACKED_MAX)
        return page_corrupt(page, err, "idx is larger than a page can be");
    if ((flags & DX_OPEN_UNCHECKED) == 0 && frame_sum(page, KIND_IDX, compressed) != page->idx_sum)
        return page_corrupt(page, err, "checksum of the idx frame does not fit");
    packed = malloc((size_t)page->idx_packed + 1);
    if (packed == NULL)
        return dx_no_memory(err, "page %" PRIu32 " of postings", page->number);
    rc = dx_zstd_frame_decode(decoder, compressed, page->idx_packed, packed, err);
    if (rc >= 0)
        why = front_fault(page, dx_span_of(packed, page->idx_packed));
    if (rc >= 0 && why == NULL)
        why = unpack_page(page, dx_span_of(packed + front, page->idx_packed - front), plain);
    free(packed);
    if (rc < 0)
        return dx_fail_in(err, "postings page %" PRIu32 " of idx", page->number);
    return why == NULL ? DX_OK : page_corrupt(page, err, why);
}

int dx_postings_idx_peek(struct dx_span plain, uint64_t *entries, bool *by_ids,
                         struct dx_posting *out, uint32_t most, struct dx_error *err)
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
    if (version != IDX_VERSION && version != IDX_VERSION_OLD)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "postings.idx: layout version %" PRIu32 ", this program reads %d and %d",
                       version, IDX_VERSION_OLD, IDX_VERSION);
    *entries = dx_bytes_u64(&r);
    *by_ids = version == IDX_VERSION_OLD;
    why = r.failed ? "idx is shorter than its header"
                   : unpack_begin(&u, *by_ids, dx_bytes_take(&r, dx_bytes_left(&r)));
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
                           struct dx_pair_place place, struct dx_posting *out, struct dx_error *err)
{
    uint32_t lo = 0;
    uint32_t hi = page->entries;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int rc = dx_postings_entry_at(page, plain, mid, out, err);
        int order;

        if (rc < 0)
            return rc;
        order = compare_places(out->place, place);
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

int dx_postings_first_file(const struct dx_postings *p, uint32_t dataset_id, uint32_t *file_id,
                           struct dx_error *err)
{
    uint32_t likely = dataset_id - 1; /* where it stands if all datasets have a pair */
    uint32_t low = 0;
    uint32_t high = p->totals.datasets;

    *file_id = 0;
    if (p->by_ids)
        return 1;
    while (low < high) {
        uint32_t middle = likely < high ? likely : low + (high - low) / 2;
        const uint8_t *at = p->first_files.data + (size_t)middle * FILE_RECORD;
        int rc = dx_envelope_check(&p->envelope, at, FILE_RECORD, err);
        uint32_t id = rc < 0 ? 0 : dx_load_u32(at);

        if (rc < 0)
            return rc;
        if (id == dataset_id) {
            *file_id = dx_load_u32(at + 4);
            return 1;
        }
        if (id < dataset_id)
            low = middle + 1;
        else
            high = middle;
        likely = UINT32_MAX;
    }
    return 0;
}

int dx_postings_list(const struct dx_postings *p, uint64_t ordinal, uint32_t dataset_id,
                     struct dx_span payload, const char *name, struct dx_payload *list,
                     struct dx_error *err)
{
    struct dx_payload_owner owner = { ordinal, dataset_id, 0 };
    int rc = dx_postings_first_file(p, dataset_id, &owner.first_file, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: has no first file of dataset %" PRIu32,
                     p->envelope.name, dataset_id);
    return rc < 0 ? rc : dx_payload_open(list, &owner, payload, name, err);
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

static uint64_t more_bytes(const struct dx_postings_draft *d, uint32_t entry)
{
    return dx_load_u32(d->entries.data + (size_t)entry * DX_POSTINGS_ENTRY + 16) - DX_PAYLOAD_MIN;
}

static uint64_t rice_bits(const struct dx_postings_draft *d, unsigned k)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < d->page.entries; i++)
        bits += dx_bits_rice_size(more_bytes(d, i), k);
    return bits;
}

/* Of the lengths: the best k is near the bits of the mean; of equally good ones the least. */
static unsigned choose_k(const struct dx_postings_draft *d)
{
    uint64_t mean = d->payloads.size / d->page.entries - DX_PAYLOAD_MIN;
    unsigned middle = dx_bits_of_number(mean);
    unsigned best = middle > 3 ? middle - 3 : 0;

    for (unsigned k = best + 1; k <= middle && k <= RICE_MAX; k++)
        if (rice_bits(d, k) < rice_bits(d, best))
            best = k;
    return best;
}

/* The draft's entries as they are in the file. */
static void pack_page(struct dx_postings_draft *d)
{
    struct dx_bits_out bits = { .to = &d->packed };
    unsigned k = choose_k(d);
    struct dx_posting p;

    dx_buf_clear(&d->packed);
    if (d->page.number == 0) {
        dx_buf_u32(&d->packed, IDX_MAGIC);
        dx_buf_u32(&d->packed, IDX_VERSION);
        dx_buf_u64(&d->packed, d->page.pairs);
    }
    dx_buf_u16(&d->packed, (uint16_t)d->page.entries);
    dx_buf_u64(&d->packed, d->page.first.domain);
    dx_buf_u32(&d->packed, d->page.first.dataset);
    dx_buf_u8(&d->packed, (uint8_t)k);
    for (uint32_t n = 0; n < d->page.entries; n++) {
        load_entry(d->entries.data + (size_t)n * DX_POSTINGS_ENTRY, &p);
        if (n > 0)
            dx_bits_put(&bits, p.place.dataset > 0, 1);
        dx_bits_put_rice(&bits, more_bytes(d, n), k);
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

static const char *add_fault(const struct dx_postings_draft *d, struct dx_pair_place place,
                             size_t payload_size)
{
    struct dx_posting last;

    if (payload_size < DX_PAYLOAD_MIN || payload_size > DX_PAYLOAD_MAX)
        return "has a payload that is too short or too long";
    if (dx_postings_draft_full(d, payload_size))
        return "does not fit into the page";
    if (d->page.entries == 0)
        return NULL;
    last_entry(d, &last);
    return follows(place, last.place) ? NULL : "does not follow the one before";
}

int dx_postings_draft_add(struct dx_postings_draft *d, struct dx_pair_place place,
                          struct dx_span payload, struct dx_error *err)
{
    const char *why = add_fault(d, place, payload.size);
    const struct dx_posting p = { place, (uint32_t)d->payloads.size, (uint32_t)payload.size };
    uint8_t entry[DX_POSTINGS_ENTRY];

    if (why != NULL)
        return dx_fail(err, DX_E_INVALID, "postings: pair %" PRIu32 " of domain %" PRIu64 " %s",
                       place.dataset, place.domain, why);
    if (d->page.entries == 0)
        d->page.first = place;
    store_entry(entry, &p);
    dx_buf_append(&d->entries, entry, sizeof entry);
    dx_few_append(&d->payloads, payload);
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
    pack_page(d);
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
    if (f->totals.pages == 0)
        return page->first.domain == 0 && page->first.dataset == 0 ? NULL
                                                                   : "is not of the first pair";
    return follows(page->first, f->last) ? NULL : "does not follow the one before";
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
    f->last = last.place;
    f->totals.domains = last.place.domain + 1;
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
    w->datasets_want = totals->datasets;
    dx_envelope_writer_init(&w->envelope, DX_POSTINGS_MAGIC, DX_POSTINGS_VERSION, build, sink, ctx);
    dx_buf_u32(&b, DX_POSTINGS_MAGIC);
    dx_buf_u32(&b, DX_POSTINGS_VERSION);
    dx_buf_u32(&b, DX_POSTINGS_PAGE_ENTRIES);
    dx_buf_u32(&b, totals->datasets);
    dx_buf_u64(&b, totals->pages);
    dx_buf_u64(&b, totals->pairs);
    dx_buf_u64(&b, totals->idx_size);
    dx_buf_u64(&b, totals->dat_size);
    dx_buf_u64(&b, totals->domains);
    dx_buf_zero(&b, 8);
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

int dx_postings_writer_end(struct dx_postings_writer *w, struct dx_span first_files,
                           struct dx_error *err)
{
    int rc = DX_OK;

    if (w->pages_done != w->pages_want ||
        first_files.size != (uint64_t)w->datasets_want * FILE_RECORD)
        return dx_fail(err, DX_E_INVALID,
                       "postings: %" PRIu64 " page records and first files in %zu bytes came, the "
                       "files have %" PRIu64 ", of %" PRIu32 " datasets",
                       w->pages_done, first_files.size, w->pages_want, w->datasets_want);
    for (size_t i = FILE_RECORD; rc == DX_OK && i < first_files.size; i += FILE_RECORD)
        if (dx_load_u32(first_files.data + i) <= dx_load_u32(first_files.data + i - FILE_RECORD))
            rc = dx_fail(err, DX_E_INVALID, "postings: first files are not in order of datasets");
    if (rc == DX_OK)
        rc = dx_envelope_writer_section(&w->envelope, TAG_FILE, err);
    if (rc == DX_OK)
        rc = dx_envelope_writer_append(&w->envelope, first_files, err);
    return rc == DX_OK ? dx_envelope_writer_finish(&w->envelope, err) : rc;
}

void dx_postings_writer_release(struct dx_postings_writer *w)
{
    dx_envelope_writer_release(&w->envelope);
}
