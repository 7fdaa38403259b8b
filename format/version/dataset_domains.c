/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/dataset_domains.h"

#include "base/bits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define HEADER_SIZE 64
#define TAG_LIST DX_KIND('L', 'I', 'S', 'T')
#define TAG_DSET DX_KIND('D', 'S', 'E', 'T')
#define RECORD_SIZE 40
#define COUNTS_MAX \
    ((UINT64_C(1) << 24) - 1) /* different ones of a dataset: 2^47 URLs have no more */
#define RICE_MAX 32
#define SMALL_COUNTS 4096 /* counts that are tallied in place */

static uint64_t bytes_of(uint64_t n, unsigned bits)
{
    return (n * bits + 7) / 8; /* n is below 2^32, bits at most 128 */
}

static uint64_t block_count(uint64_t domains)
{
    return domains / DX_DATASET_DOMAINS_BLOCK + (domains % DX_DATASET_DOMAINS_BLOCK != 0);
}

/* ---- open ---- */

static int open_sections(struct dx_dataset_domains *d, struct dx_error *err)
{
    const struct dx_envelope *e = &d->envelope;
    struct dx_span header;
    struct dx_bytes r;
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    d->domains = dx_bytes_u64(&r);
    d->pairs = dx_bytes_u64(&r);
    rc = dx_envelope_reserved(e, &r, err);
    if (rc < 0)
        return rc;
    if (d->domains > UINT32_MAX || d->pairs < d->domains || (d->domains == 0) != (d->pairs == 0))
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %" PRIu64 " domains have %" PRIu64 " pairs",
                       e->name, d->domains, d->pairs);
    d->ordinal_bits = dx_bits_of_number(d->domains == 0 ? 0 : d->domains - 1);
    rc = dx_envelope_section(e, TAG_LIST, &d->lists, err);
    if (rc >= 0)
        rc = dx_envelope_section(e, TAG_DSET, &d->table, err);
    d->datasets = d->table.size / RECORD_SIZE;
    if (rc >= 0 && (d->table.size % RECORD_SIZE != 0 || d->datasets > d->pairs))
        rc = dx_fail(err, DX_E_CORRUPT, "%s: section DSET: %zu bytes for %" PRIu64 " pairs",
                     e->name, d->table.size, d->pairs);
    return rc;
}

int dx_dataset_domains_open(struct dx_dataset_domains *d, struct dx_span file, unsigned flags,
                            const char *name, struct dx_error *err)
{
    int rc;

    *d = (struct dx_dataset_domains){ .domains = 0 };
    rc = dx_envelope_open(&d->envelope, file, DX_DATASET_DOMAINS_MAGIC, DX_DATASET_DOMAINS_VERSION,
                          flags, name, err);
    if (rc >= 0)
        rc = open_sections(d, err);
    if (rc < 0)
        dx_dataset_domains_close(d);
    return rc;
}

void dx_dataset_domains_close(struct dx_dataset_domains *d)
{
    dx_envelope_close(&d->envelope);
    *d = (struct dx_dataset_domains){ .domains = 0 };
}

/* ---- a dataset's list ---- */

static void place_parts(struct dx_domain_list *list, unsigned ordinal_bits, uint64_t data_size)
{
    list->rank_bits = dx_bits_of_number(list->domains);
    list->skip_bits = dx_bits_of_number(data_size);
    list->skip_at = list->data_at + data_size;
    list->hist_at = list->skip_at +
                    bytes_of(block_count(list->domains), ordinal_bits + list->skip_bits);
    list->head_at = list->hist_at + bytes_of(list->counts, list->count_bits + list->rank_bits);
    list->end_at = list->head_at + bytes_of(list->head, ordinal_bits);
}

static int read_record(const struct dx_dataset_domains *d, const uint8_t *at,
                       struct dx_domain_list *list, struct dx_error *err)
{
    uint64_t data_size = dx_load_u64(at + 24);

    *list = (struct dx_domain_list){ .dataset_id = dx_load_u32(at),
                                     .domains = dx_load_u32(at + 4),
                                     .urls = dx_load_u64(at + 8),
                                     .data_at = dx_load_u64(at + 16),
                                     .head = dx_load_u32(at + 32),
                                     .counts = dx_load_u32(at + 36) & COUNTS_MAX,
                                     .count_bits = at[39] };
    if (list->domains == 0 || list->domains > d->domains || list->urls < list->domains ||
        list->counts == 0 || list->counts > list->domains || list->count_bits == 0 ||
        list->count_bits > 64 || list->head > list->domains)
        return dx_envelope_corrupt(&d->envelope, TAG_DSET, at, err,
                                   "dataset %" PRIu32 " has %" PRIu64 " domains, %" PRIu64
                                   " URLs, %" PRIu64 " counts of %u bits",
                                   list->dataset_id, list->domains, list->urls, list->counts,
                                   list->count_bits);
    if (list->data_at > d->lists.size || data_size > d->lists.size - list->data_at)
        return dx_envelope_corrupt(&d->envelope, TAG_DSET, at, err,
                                   "dataset %" PRIu32 " has its list outside LIST",
                                   list->dataset_id);
    place_parts(list, d->ordinal_bits, data_size);
    if (list->end_at > d->lists.size)
        return dx_envelope_corrupt(&d->envelope, TAG_DSET, at, err,
                                   "dataset %" PRIu32 " has a list to %" PRIu64 ", LIST has %zu",
                                   list->dataset_id, list->end_at, d->lists.size);
    return 1;
}

static int record_at(const struct dx_dataset_domains *d, uint64_t number, const uint8_t **at,
                     struct dx_error *err)
{
    *at = d->table.data + number * RECORD_SIZE;
    return dx_envelope_check(&d->envelope, *at, RECORD_SIZE, err);
}

int dx_dataset_domains_at(const struct dx_dataset_domains *d, uint64_t number,
                          struct dx_domain_list *list, struct dx_error *err)
{
    const uint8_t *at;
    int rc;

    if (number >= d->datasets)
        return 0;
    rc = record_at(d, number, &at, err);
    return rc < 0 ? rc : read_record(d, at, list, err);
}

/* Ids ascend and mostly follow each other: the first look is at the last place where it can be. */
int dx_dataset_domains_of(const struct dx_dataset_domains *d, uint32_t dataset_id,
                          struct dx_domain_list *list, struct dx_error *err)
{
    uint64_t low = 0;
    uint64_t high = d->datasets; /* behind the last place */
    uint64_t look = 0;

    for (bool first = true; low < high; first = false) {
        const uint8_t *at;
        uint32_t id;
        int rc = record_at(d, look, &at, err);

        if (rc < 0)
            return rc;
        id = dx_load_u32(at);
        if (id == dataset_id)
            return read_record(d, at, list, err);
        if (id < dataset_id)
            low = look + 1;
        else
            high = look;
        if (first && id < dataset_id && dataset_id - id < high)
            high = (uint64_t)(dataset_id - id) + 1;
        look = first ? high - (high > 0) : low + (high - low) / 2;
    }
    return 0;
}

/* Row i of a part whose rows have `bits`, at most 128: as dx_bits_at wants it. */
static int row_at(const struct dx_dataset_domains *d, uint64_t part, uint64_t i, unsigned bits,
                  struct dx_span *row, uint64_t *at, struct dx_error *err)
{
    uint64_t bit = i * bits;
    size_t byte = (size_t)(part + bit / 8);

    *row = dx_span_from(d->lists, byte);
    *at = bit % 8;
    return dx_envelope_check(&d->envelope, row->data, (size_t)((*at + bits + 7) / 8), err);
}

/* ---- the ranking ---- */

struct dx_domain_hist {
    uint64_t count;
    uint64_t at_least; /* domains with so many URLs or more */
};

static int hist_at(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                   uint64_t i, struct dx_domain_hist *h, struct dx_error *err)
{
    struct dx_span row;
    uint64_t at;
    int rc = row_at(d, list->hist_at, i, list->count_bits + list->rank_bits, &row, &at, err);

    if (rc < 0)
        return rc;
    h->count = dx_bits_at(row, at, list->count_bits);
    h->at_least = dx_bits_at(row, at + list->count_bits, list->rank_bits);
    return DX_OK;
}

/* The first entry whose count is at most url_count, list->counts if none is. */
static int hist_of_count(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                         uint64_t url_count, uint64_t *i, struct dx_error *err)
{
    /* Counts descend to 1 or more, so the entry that is so many before the end has at least
     * url_count. Most domains have few URLs, and of small counts none is missing: the first look
     * finds them there. */
    uint64_t low = url_count < list->counts ? list->counts - url_count : 0;
    uint64_t high = list->counts;
    uint64_t look = low;

    while (low < high) {
        struct dx_domain_hist h;
        int rc = hist_at(d, list, look, &h, err);

        if (rc < 0)
            return rc;
        if (h.count <= url_count)
            high = look;
        else
            low = look + 1;
        look = low + (high - low) / 2;
    }
    *i = low;
    return DX_OK;
}

/* The entry of the domain at this place of the ranking, from 0. */
static int hist_of_place(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                         uint64_t place, uint64_t *i, struct dx_error *err)
{
    uint64_t low = 0;
    uint64_t high = list->counts;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct dx_domain_hist h;
        int rc = hist_at(d, list, middle, &h, err);

        if (rc < 0)
            return rc;
        if (h.at_least > place)
            high = middle;
        else
            low = middle + 1;
    }
    *i = low;
    return DX_OK;
}

static int hist_corrupt(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                        struct dx_error *err)
{
    return dx_envelope_corrupt(&d->envelope, TAG_LIST, d->lists.data + list->hist_at, err,
                               "dataset %" PRIu32 ": its ranking is not that of its domains",
                               list->dataset_id);
}

int dx_dataset_domains_rank(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                            uint64_t url_count, uint64_t *rank, struct dx_error *err)
{
    struct dx_domain_hist h = { 0, 0 };
    uint64_t i;
    int rc = hist_of_count(d, list, url_count, &i, err);

    if (rc >= 0 && i > 0)
        rc = hist_at(d, list, i - 1, &h, err);
    *rank = 1 + h.at_least;
    return rc;
}

static int top_of_head(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                       uint64_t first, size_t n, struct dx_domain_count *out, struct dx_error *err)
{
    struct dx_domain_hist h = { 0, 0 };
    uint64_t i;
    int rc = hist_of_place(d, list, first, &i, err);

    for (size_t k = 0; rc >= 0 && k < n; k++) {
        struct dx_span row;
        uint64_t at;

        while (rc >= 0 && first + k >= h.at_least) {
            if (i == list->counts)
                return hist_corrupt(d, list, err);
            rc = hist_at(d, list, i++, &h, err);
        }
        if (rc >= 0)
            rc = row_at(d, list->head_at, first + k, d->ordinal_bits, &row, &at, err);
        if (rc < 0)
            break;
        out[k] = (struct dx_domain_count){ dx_bits_at(row, at, d->ordinal_bits), h.count };
        if (out[k].ordinal >= d->domains)
            return hist_corrupt(d, list, err);
    }
    return rc;
}

/* Counts from entry `from` to entry `last` of the histogram, and where each has its next place. */
struct places {
    uint64_t from;
    uint64_t last;
    uint64_t high; /* count of `from` */
    uint64_t low;  /* count of `last` */
    uint64_t *next;
};

static int places_begin(struct places *p, const struct dx_dataset_domains *d,
                        const struct dx_domain_list *list, struct dx_error *err)
{
    struct dx_domain_hist h = { 0, 0 };
    uint64_t n = p->last - p->from + 1;
    int rc = DX_OK;

    p->next = malloc((size_t)n * sizeof *p->next);
    if (p->next == NULL)
        return dx_no_memory(err, "%s: %" PRIu64 " counts", d->envelope.name, n);
    if (p->from > 0)
        rc = hist_at(d, list, p->from - 1, &h, err);
    for (uint64_t i = p->from; rc >= 0 && i <= p->last; i++) {
        uint64_t before = h.at_least;
        uint64_t above = h.count;

        p->next[i - p->from] = before;
        rc = hist_at(d, list, i, &h, err);
        if (rc >= 0 && (h.at_least <= before || h.at_least > list->domains || h.count == 0 ||
                        (i > 0 && h.count >= above)))
            return hist_corrupt(d, list, err);
        if (i == p->from)
            p->high = h.count;
        p->low = h.count;
    }
    return rc;
}

/* The place of the domain at hand, whose count lies within. */
static int place_of(const struct places *p, const struct dx_dataset_domains *d,
                    const struct dx_domain_list *list, uint64_t url_count, uint64_t *place,
                    struct dx_error *err)
{
    struct dx_domain_hist h = { 0, 0 };
    uint64_t i = p->last;
    int rc = DX_OK;

    if (url_count != p->low) /* the one that most have, where the end of the ranking is asked for */
        rc = hist_of_count(d, list, url_count, &i, err);
    if (rc >= 0 && (i < p->from || i > p->last))
        return hist_corrupt(d, list, err);
    if (rc >= 0)
        rc = hist_at(d, list, i, &h, err);
    if (rc < 0)
        return rc;
    if (h.count != url_count || p->next[i - p->from] >= h.at_least)
        return hist_corrupt(d, list, err);
    *place = p->next[i - p->from]++;
    return DX_OK;
}

static int top_of_list(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                       uint64_t first, size_t n, struct dx_domain_count *out, struct dx_error *err)
{
    struct places p = { 0 };
    struct dx_domain_cursor c;
    uint64_t place;
    size_t filled = 0;
    int rc = hist_of_place(d, list, first, &p.from, err);

    if (rc >= 0)
        rc = hist_of_place(d, list, first + n - 1, &p.last, err);
    if (rc >= 0 && (p.last >= list->counts || p.from > p.last))
        rc = hist_corrupt(d, list, err);
    if (rc >= 0)
        rc = places_begin(&p, d, list, err);
    dx_domain_cursor_begin(&c, d, list);
    while (rc >= 0 && filled < n && (rc = dx_domain_cursor_next(&c, err)) == 1) {
        if (c.url_count < p.low || c.url_count > p.high)
            continue;
        rc = place_of(&p, d, list, c.url_count, &place, err);
        if (rc >= 0 && place >= first && place - first < n) {
            out[place - first] = (struct dx_domain_count){ c.ordinal, c.url_count };
            filled++;
        }
    }
    free(p.next);
    if (rc >= 0 && filled < n)
        rc = hist_corrupt(d, list, err);
    return rc < 0 ? rc : DX_OK;
}

int dx_dataset_domains_top(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                           uint64_t first, size_t n, struct dx_domain_count *out,
                           struct dx_error *err)
{
    if (first > list->domains || n > list->domains - first)
        return dx_fail(err, DX_E_INVALID,
                       "%s: dataset %" PRIu32 ": %zu domains from %" PRIu64
                       " of the ranking, it has %" PRIu64,
                       d->envelope.name, list->dataset_id, n, first, list->domains);
    if (n == 0)
        return DX_OK;
    return first + n <= list->head ? top_of_head(d, list, first, n, out, err)
                                   : top_of_list(d, list, first, n, out, err);
}

int dx_dataset_domains_check(const struct dx_dataset_domains *d, const struct dx_domain_list *list,
                             struct dx_error *err)
{
    struct places p = { .from = 0, .last = list->counts - 1 };
    struct dx_domain_cursor c;
    uint64_t urls = 0;
    int rc = places_begin(&p, d, list, err);

    dx_domain_cursor_begin(&c, d, list);
    while (rc >= 0 && (rc = dx_domain_cursor_next(&c, err)) == 1) {
        struct dx_span row;
        uint64_t place = 0;
        uint64_t at;

        urls += c.url_count;
        rc = place_of(&p, d, list, c.url_count, &place, err);
        if (rc < 0 || place >= list->head)
            continue;
        rc = row_at(d, list->head_at, place, d->ordinal_bits, &row, &at, err);
        if (rc >= 0 && dx_bits_at(row, at, d->ordinal_bits) != c.ordinal)
            rc = hist_corrupt(d, list, err);
    }
    free(p.next);
    if (rc >= 0 && urls != list->urls)
        rc = dx_envelope_corrupt(&d->envelope, TAG_LIST, d->lists.data + list->data_at, err,
                                 "dataset %" PRIu32 " has %" PRIu64 " URLs, its domains %" PRIu64,
                                 list->dataset_id, list->urls, urls);
    return rc < 0 ? rc : DX_OK;
}

/* ---- by ordinal ---- */

void dx_domain_cursor_begin(struct dx_domain_cursor *c, const struct dx_dataset_domains *d,
                            const struct dx_domain_list *list)
{
    *c = (struct dx_domain_cursor){ .d = d, .list = *list };
}

static int list_corrupt(const struct dx_domain_cursor *c, struct dx_error *err)
{
    return dx_envelope_corrupt(&c->d->envelope, TAG_LIST, c->d->lists.data + c->list.data_at, err,
                               "dataset %" PRIu32 ": block %" PRIu64 " of its list is damaged",
                               c->list.dataset_id,
                               c->passed == 0 ? 0 : (c->passed - 1) / DX_DATASET_DOMAINS_BLOCK);
}

/* First ordinal and place of block i; of the one behind the last: UINT64_MAX and the end. */
static int skip_of(const struct dx_domain_cursor *c, uint64_t i, uint64_t *first, uint64_t *place,
                   struct dx_error *err)
{
    const struct dx_domain_list *list = &c->list;
    unsigned ordinal_bits = c->d->ordinal_bits;
    struct dx_span row;
    uint64_t at;
    int rc;

    *first = UINT64_MAX;
    *place = list->skip_at - list->data_at;
    if (i >= block_count(list->domains))
        return DX_OK;
    rc = row_at(c->d, list->skip_at, i, ordinal_bits + list->skip_bits, &row, &at, err);
    if (rc < 0)
        return rc;
    *first = dx_bits_at(row, at, ordinal_bits);
    *place = dx_bits_at(row, at + ordinal_bits, list->skip_bits);
    return DX_OK;
}

/* A byte of how gaps are coded, the first count, then gap and count of each. */
static int begin_block(struct dx_domain_cursor *c, uint64_t i, struct dx_error *err)
{
    const struct dx_domain_list *list = &c->list;
    uint64_t size = list->skip_at - list->data_at;
    uint64_t first;
    uint64_t place;
    uint64_t end;
    int rc = skip_of(c, i, &first, &place, err);

    if (rc >= 0)
        rc = skip_of(c, i + 1, &c->next_block, &end, err);
    if (rc < 0)
        return rc;
    if (first >= c->d->domains || c->next_block <= first || end > size || place >= end ||
        (c->passed > 0 && first <= c->ordinal))
        return list_corrupt(c, err);
    c->row = dx_span_of(c->d->lists.data + list->data_at + place,
                        c->d->lists.size - (size_t)(list->data_at + place));
    rc = dx_envelope_check(&c->d->envelope, c->row.data, (size_t)(end - place), err);
    if (rc < 0)
        return rc;
    c->rice = c->row.data[0];
    c->at = 8;
    c->end = (end - place) * 8;
    c->ordinal = first;
    c->passed = i * DX_DATASET_DOMAINS_BLOCK;
    return c->rice > RICE_MAX ? list_corrupt(c, err) : DX_OK;
}

/* Codes that do not fit the 64 bits that next looks at. */
static int long_codes(struct dx_domain_cursor *c, bool first, struct dx_error *err)
{
    struct dx_bits r = { dx_span_of(c->row.data, (size_t)(c->end / 8)), c->at, false };
    uint64_t gap = first ? 0 : dx_bits_rice(&r, c->rice);

    c->url_count = dx_bits_gamma(&r);
    if (r.failed || gap >= c->d->domains)
        return list_corrupt(c, err);
    c->ordinal += first ? 0 : gap + 1;
    c->at = r.at;
    return DX_OK;
}

static int take_codes(struct dx_domain_cursor *c, bool first, struct dx_error *err)
{
    uint64_t ahead = dx_bits_at(c->row, c->at, 64);
    unsigned used = 0;
    uint64_t gap = 0;
    unsigned ones;

    if (!first) {
        ones = ~ahead == 0 ? 64 : (unsigned)__builtin_ctzll(~ahead);
        used = ones + 1 + c->rice;
        if (ones >= DX_BITS_RICE_ONES || used > 60)
            return long_codes(c, first, err);
        gap = ((uint64_t)ones << c->rice | (ahead >> (ones + 1) & dx_bits_mask(c->rice))) + 1;
        ahead >>= used;
    }
    ones = ~ahead == 0 ? 64 : (unsigned)__builtin_ctzll(~ahead);
    if (used + 2 * ones + 1 > 64)
        return long_codes(c, first, err);
    c->url_count = UINT64_C(1) << ones | (ahead >> (ones + 1) & dx_bits_mask(ones));
    c->ordinal += gap;
    c->at += used + 2 * ones + 1;
    return DX_OK;
}

int dx_domain_cursor_next(struct dx_domain_cursor *c, struct dx_error *err)
{
    bool first = c->passed % DX_DATASET_DOMAINS_BLOCK == 0;
    int rc = DX_OK;

    if (c->passed == c->list.domains)
        return 0;
    if (first)
        rc = begin_block(c, c->passed / DX_DATASET_DOMAINS_BLOCK, err);
    if (rc >= 0)
        rc = take_codes(c, first, err);
    if (rc < 0)
        return rc;
    c->passed++;
    if (c->at > c->end || c->ordinal >= c->d->domains || c->ordinal >= c->next_block)
        return list_corrupt(c, err);
    if ((c->passed % DX_DATASET_DOMAINS_BLOCK == 0 || c->passed == c->list.domains) &&
        (c->end - c->at >= 8 || dx_bits_at(c->row, c->at, (unsigned)(c->end - c->at)) != 0))
        return list_corrupt(c, err);
    return 1;
}

/* The last block from `low` on that begins at or before the ordinal: steps that double, then
 * halves. */
static int block_of(const struct dx_domain_cursor *c, uint64_t low, uint64_t ordinal,
                    uint64_t *block, struct dx_error *err)
{
    uint64_t high = low + 1; /* the first that is not known to begin before it */
    uint64_t blocks = block_count(c->list.domains);
    uint64_t step = 1;
    uint64_t first;
    uint64_t place;
    int rc = DX_OK;

    while (rc >= 0 && high < blocks) {
        rc = skip_of(c, high, &first, &place, err);
        if (rc < 0 || first > ordinal)
            break;
        low = high;
        high = blocks - high < step ? blocks : high + step;
        step *= 2;
    }
    while (rc >= 0 && low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;

        rc = skip_of(c, middle, &first, &place, err);
        if (first > ordinal)
            high = middle;
        else
            low = middle;
    }
    *block = low;
    return rc;
}

int dx_domain_cursor_seek(struct dx_domain_cursor *c, uint64_t ordinal, struct dx_error *err)
{
    uint64_t block;
    int rc;

    if (c->passed > 0 && c->ordinal >= ordinal)
        return 1;
    if (c->passed == 0 || c->next_block <= ordinal) {
        block = c->passed == 0 ? 0 : (c->passed - 1) / DX_DATASET_DOMAINS_BLOCK + 1;
        rc = block_of(c, block, ordinal, &block, err);
        if (rc < 0)
            return rc;
        c->passed = block * DX_DATASET_DOMAINS_BLOCK; /* next begins it */
    }
    while ((rc = dx_domain_cursor_next(c, err)) == 1 && c->ordinal < ordinal)
        ;
    return rc;
}

/* ---- writing ---- */

int dx_dataset_domains_writer_begin(struct dx_dataset_domains_writer *w, uint64_t domains,
                                    uint64_t pairs, const struct dx_build_id *build,
                                    int (*sink)(void *ctx, struct dx_span bytes,
                                                struct dx_error *err),
                                    void *ctx, struct dx_error *err)
{
    struct dx_buf *const bufs[] = { &w->table, &w->large, &w->skip, &w->hist, &w->head, &w->bytes };
    int rc;

    *w = (struct dx_dataset_domains_writer){ .domains = domains, .pairs = pairs };
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        dx_buf_init(bufs[i], SIZE_MAX / 2);
    dx_envelope_writer_init(&w->envelope, DX_DATASET_DOMAINS_MAGIC, DX_DATASET_DOMAINS_VERSION,
                            build, sink, ctx);
    dx_buf_u32(&w->bytes, DX_DATASET_DOMAINS_MAGIC);
    dx_buf_u32(&w->bytes, DX_DATASET_DOMAINS_VERSION);
    dx_buf_u64(&w->bytes, domains);
    dx_buf_u64(&w->bytes, pairs);
    dx_buf_zero(&w->bytes, HEADER_SIZE - w->bytes.size);
    w->small = calloc(SMALL_COUNTS, sizeof *w->small);
    if (w->small == NULL || w->bytes.failed)
        return dx_no_memory(err, "dataset_domains");
    rc = dx_envelope_writer_header(&w->envelope, dx_span_of(w->bytes.data, w->bytes.size), err);
    return rc < 0 ? rc : dx_envelope_writer_section(&w->envelope, TAG_LIST, err);
}

/* What is in w->bytes goes behind the list. */
static int put_bytes(struct dx_dataset_domains_writer *w, struct dx_error *err)
{
    if (w->bytes.failed)
        return dx_buf_fail(&w->bytes, err, "dataset_domains");
    w->lists_size += w->bytes.size;
    return dx_envelope_writer_append(&w->envelope, dx_span_of(w->bytes.data, w->bytes.size), err);
}

static uint64_t gaps_size(const struct dx_dataset_domains_writer *w, unsigned k)
{
    uint64_t bits = 0;

    for (size_t i = 1; i < w->block_count; i++)
        bits += dx_bits_rice_size(w->block[i].ordinal - w->block[i - 1].ordinal - 1, k);
    return bits;
}

/* Near the logarithm of the mean gap; where gaps come in heaps, lower. */
static unsigned best_rice(const struct dx_dataset_domains_writer *w)
{
    uint64_t spread = w->block[w->block_count - 1].ordinal - w->block[0].ordinal;
    uint64_t gaps = w->block_count - 1;
    unsigned k = gaps == 0 ? 0 : dx_bits_of_number(spread / gaps);
    uint64_t size = gaps_size(w, k);

    assert(w->block_count > 0);
    while (k > 0) {
        uint64_t lower = gaps_size(w, k - 1);

        if (lower > size)
            break;
        size = lower;
        k--;
    }
    return k;
}

/* Both codes of a domain as one number where they fit. */
static void put_domain(struct dx_bits_out *out, uint64_t gap, unsigned k, uint64_t count)
{
    unsigned ones = dx_bits_of_number(count) - 1;
    unsigned size = dx_bits_rice_size(gap, k);
    uint64_t code;

    assert(count > 0);
    if (gap >> k >= DX_BITS_RICE_ONES || size + 2 * ones + 1 > 64) {
        dx_bits_put_rice(out, gap, k);
        dx_bits_put_gamma(out, count);
        return;
    }
    code = dx_bits_mask(ones) | (count & dx_bits_mask(ones)) << (ones + 1);
    code = code << size | (gap & dx_bits_mask(k)) << (size - k) | dx_bits_mask(size - k - 1);
    dx_bits_put(out, code, size + 2 * ones + 1);
}

static int close_block(struct dx_dataset_domains_writer *w, struct dx_error *err)
{
    struct dx_bits_out out = { .to = &w->bytes };
    const struct dx_domain_count *at = w->block;
    unsigned k;

    if (w->block_count == 0)
        return DX_OK;
    k = best_rice(w);
    dx_buf_clear(&w->bytes);
    dx_buf_u64(&w->skip, at->ordinal);
    dx_buf_u64(&w->skip, w->data_size);
    dx_buf_u8(&w->bytes, (uint8_t)k);
    dx_bits_put_gamma(&out, at->url_count);
    for (size_t i = 1; i < w->block_count; i++)
        put_domain(&out, at[i].ordinal - at[i - 1].ordinal - 1, k, at[i].url_count);
    dx_bits_flush(&out);
    w->data_size += w->bytes.size;
    w->block_count = 0;
    return put_bytes(w, err);
}

int dx_dataset_domains_writer_add(struct dx_dataset_domains_writer *w, uint64_t ordinal,
                                  uint64_t url_count, struct dx_error *err)
{
    if (!w->open || w->counted || ordinal >= w->domains || url_count == 0 ||
        (w->list_count > 0 && ordinal <= w->last) || w->urls > UINT64_MAX - url_count)
        return dx_fail(err, DX_E_INVALID,
                       "dataset_domains: dataset %" PRIu32 ": domain %" PRIu64 " with %" PRIu64
                       " URLs behind domain %" PRIu64 " of %" PRIu64,
                       w->dataset_id, ordinal, url_count, w->last, w->domains);
    if (w->block_count == DX_DATASET_DOMAINS_BLOCK) {
        int rc = close_block(w, err);

        if (rc < 0)
            return rc;
    }
    w->block[w->block_count++] = (struct dx_domain_count){ ordinal, url_count };
    w->last = ordinal;
    w->list_count++;
    w->urls += url_count;
    if (url_count >= SMALL_COUNTS) {
        dx_buf_append(&w->large, &url_count, sizeof url_count);
    } else {
        w->small[url_count]++;
        if (url_count > w->small_max)
            w->small_max = (uint32_t)url_count;
    }
    return DX_OK;
}

struct rank_entry {
    uint64_t count;
    uint64_t at_least;
    uint64_t next; /* place of the next domain with this count */
};

static struct rank_entry *ranks_of(const struct dx_dataset_domains_writer *w, uint64_t *n)
{
    *n = w->hist.size / sizeof(struct rank_entry);
    return (struct rank_entry *)(void *)w->hist.data;
}

static int descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

static void add_rank(struct dx_dataset_domains_writer *w, uint64_t count, uint64_t domains,
                     uint64_t *before)
{
    struct rank_entry entry = { count, *before + domains, *before };

    dx_buf_append(&w->hist, &entry, sizeof entry);
    *before += domains;
}

/* Afterwards `small` has the place in the histogram of each small count. */
static void make_ranks(struct dx_dataset_domains_writer *w)
{
    uint64_t *large = (uint64_t *)(void *)w->large.data;
    size_t n = w->large.size / sizeof *large;
    uint64_t before = 0;

    dx_buf_clear(&w->hist);
    if (n > 0)
        qsort(large, n, sizeof *large, descending);
    for (size_t i = 0, end = 0; i < n; i = end) {
        while (end < n && large[end] == large[i])
            end++;
        add_rank(w, large[i], end - i, &before);
    }
    for (uint32_t i = w->small_max; i > 0; i--)
        if (w->small[i] > 0) {
            add_rank(w, i, w->small[i], &before);
            w->small[i] = w->hist.size / sizeof(struct rank_entry) - 1;
        }
}

static int put_skip_and_hist(struct dx_dataset_domains_writer *w, const struct dx_domain_list *list,
                             unsigned ordinal_bits, struct dx_error *err)
{
    struct dx_bits_out out = { .to = &w->bytes };
    const struct rank_entry *ranks;
    uint64_t n;

    dx_buf_clear(&w->bytes);
    for (size_t i = 0; i + 16 <= w->skip.size; i += 16) {
        dx_bits_put(&out, dx_load_u64(w->skip.data + i), ordinal_bits);
        dx_bits_put(&out, dx_load_u64(w->skip.data + i + 8), list->skip_bits);
    }
    dx_bits_flush(&out);
    ranks = ranks_of(w, &n);
    for (size_t i = 0; i < n; i++) {
        dx_bits_put(&out, ranks[i].count, list->count_bits);
        dx_bits_put(&out, ranks[i].at_least, list->rank_bits);
    }
    dx_bits_flush(&out);
    return put_bytes(w, err);
}

static uint64_t head_of(uint64_t domains)
{
    uint64_t head = domains / 10 + (domains % 10 != 0);

    if (domains <= DX_DATASET_DOMAINS_NO_HEAD)
        return 0;
    head = head < 1000 ? 1000 : head;
    return head > DX_DATASET_DOMAINS_HEAD_MAX ? DX_DATASET_DOMAINS_HEAD_MAX : head;
}

static void put_record(struct dx_dataset_domains_writer *w, const struct dx_domain_list *list)
{
    dx_buf_u32(&w->table, list->dataset_id);
    dx_buf_u32(&w->table, (uint32_t)list->domains);
    dx_buf_u64(&w->table, list->urls);
    dx_buf_u64(&w->table, list->data_at);
    dx_buf_u64(&w->table, w->data_size);
    dx_buf_u32(&w->table, (uint32_t)list->head);
    dx_buf_u32(&w->table, (uint32_t)list->counts | (uint32_t)list->count_bits << 24);
}

int dx_dataset_domains_writer_counted(struct dx_dataset_domains_writer *w, struct dx_error *err)
{
    unsigned ordinal_bits = dx_bits_of_number(w->domains == 0 ? 0 : w->domains - 1);
    struct dx_domain_list list = { .dataset_id = w->dataset_id,
                                   .domains = w->list_count,
                                   .urls = w->urls,
                                   .head = head_of(w->list_count) };
    const struct rank_entry *ranks;
    int rc;

    if (!w->open || w->counted)
        return dx_fail(err, DX_E_INVALID, "dataset_domains: no dataset is open");
    rc = close_block(w, err);
    w->counted = true;
    if (rc < 0 || w->list_count == 0)
        return rc;
    make_ranks(w);
    if (w->large.failed || w->skip.failed || w->hist.failed ||
        (list.head > 0 && dx_buf_reserve(&w->head, (size_t)list.head * 4) == NULL))
        return dx_no_memory(err, "dataset_domains: %" PRIu64 " domains", w->list_count);
    ranks = ranks_of(w, &list.counts);
    if (list.counts > COUNTS_MAX)
        return dx_fail(err, DX_E_LIMIT,
                       "dataset_domains: dataset %" PRIu32 " has over %" PRIu64 " different counts",
                       w->dataset_id, COUNTS_MAX);
    list.count_bits = dx_bits_of_number(ranks[0].count);
    list.data_at = w->lists_size - w->data_size;
    place_parts(&list, ordinal_bits, w->data_size);
    put_record(w, &list);
    rc = put_skip_and_hist(w, &list, ordinal_bits, err);
    return rc < 0 ? rc : list.head > 0;
}

static int rank_of(struct dx_dataset_domains_writer *w, uint64_t url_count,
                   struct rank_entry **entry)
{
    uint64_t n;
    struct rank_entry *ranks = ranks_of(w, &n);
    uint64_t low = 0;
    uint64_t high = n;

    if (url_count < SMALL_COUNTS)
        low = w->small[url_count];
    else
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;

            if (ranks[middle].count <= url_count)
                high = middle;
            else
                low = middle + 1;
        }
    *entry = low < n ? &ranks[low] : NULL;
    return low < n && ranks[low].count == url_count && ranks[low].next < ranks[low].at_least;
}

int dx_dataset_domains_writer_rank(struct dx_dataset_domains_writer *w, uint64_t ordinal,
                                   uint64_t url_count, struct dx_error *err)
{
    struct rank_entry *entry;
    uint64_t place;

    if (!w->counted || w->ranked >= w->list_count || ordinal > UINT32_MAX ||
        (w->ranked > 0 && ordinal <= w->last) || !rank_of(w, url_count, &entry))
        return dx_fail(err, DX_E_INVALID,
                       "dataset_domains: dataset %" PRIu32 ": domain %" PRIu64 " with %" PRIu64
                       " URLs comes otherwise than at first",
                       w->dataset_id, ordinal, url_count);
    w->ranked++;
    w->last = ordinal;
    place = entry->next++;
    if (place < head_of(w->list_count))
        dx_store_u32(w->head.data + 4 * place, (uint32_t)ordinal);
    return DX_OK;
}

static int put_head(struct dx_dataset_domains_writer *w, struct dx_error *err)
{
    unsigned ordinal_bits = dx_bits_of_number(w->domains == 0 ? 0 : w->domains - 1);
    struct dx_bits_out out = { .to = &w->bytes };
    uint64_t n = head_of(w->list_count);

    if (n > 0 && w->ranked != w->list_count)
        return dx_fail(err, DX_E_INVALID,
                       "dataset_domains: dataset %" PRIu32 ": %" PRIu64 " of %" PRIu64
                       " domains came a second time",
                       w->dataset_id, w->ranked, w->list_count);
    dx_buf_clear(&w->bytes);
    for (uint64_t i = 0; i < n; i++)
        dx_bits_put(&out, dx_load_u32(w->head.data + 4 * i), ordinal_bits);
    dx_bits_flush(&out);
    return put_bytes(w, err);
}

static int close_list(struct dx_dataset_domains_writer *w, struct dx_error *err)
{
    int rc = DX_OK;

    if (!w->open)
        return DX_OK;
    if (!w->counted)
        rc = dx_dataset_domains_writer_counted(w, err);
    if (rc >= 0)
        rc = put_head(w, err);
    w->open = false;
    w->pairs_done += w->list_count;
    memset(w->small, 0, ((size_t)w->small_max + 1) * sizeof *w->small);
    w->small_max = 0;
    return rc;
}

int dx_dataset_domains_writer_dataset(struct dx_dataset_domains_writer *w, uint32_t dataset_id,
                                      struct dx_error *err)
{
    int rc = close_list(w, err);

    if (rc < 0)
        return rc;
    if (w->table.size > 0 && dx_load_u32(w->table.data + w->table.size - RECORD_SIZE) >= dataset_id)
        return dx_fail(err, DX_E_INVALID,
                       "dataset_domains: dataset %" PRIu32 " comes behind one of a higher id",
                       dataset_id);
    w->open = true;
    w->counted = false;
    w->dataset_id = dataset_id;
    w->last = 0;
    w->list_count = 0;
    w->ranked = 0;
    w->urls = 0;
    w->data_size = 0;
    w->block_count = 0;
    dx_buf_clear(&w->large);
    dx_buf_clear(&w->skip);
    return DX_OK;
}

int dx_dataset_domains_writer_end(struct dx_dataset_domains_writer *w, struct dx_error *err)
{
    int rc = close_list(w, err);

    if (rc < 0)
        return rc;
    if (w->pairs_done != w->pairs)
        return dx_fail(err, DX_E_INVALID, "dataset_domains: %" PRIu64 " pairs came, not %" PRIu64,
                       w->pairs_done, w->pairs);
    if (w->table.failed)
        return dx_buf_fail(&w->table, err, "dataset_domains");
    rc = dx_envelope_writer_section(&w->envelope, TAG_DSET, err);
    if (rc >= 0)
        rc = dx_envelope_writer_append(&w->envelope, dx_span_of(w->table.data, w->table.size), err);
    return rc < 0 ? rc : dx_envelope_writer_finish(&w->envelope, err);
}

void dx_dataset_domains_writer_release(struct dx_dataset_domains_writer *w)
{
    struct dx_buf *const bufs[] = { &w->table, &w->large, &w->skip, &w->hist, &w->head, &w->bytes };

    dx_envelope_writer_release(&w->envelope);
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        dx_buf_release(bufs[i]);
    free(w->small);
    w->small = NULL;
}
