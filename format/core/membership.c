/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/membership.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define HEADER_SIZE 64
#define TAG_SETS DX_KIND('S', 'E', 'T', 'S')
#define TAG_INDX DX_KIND('I', 'N', 'D', 'X')
#define ENTRY_MIN 3
#define ENTRY_MAX 5
#define OFFSET_MAX ((UINT64_C(1) << (8 * ENTRY_MAX - 1)) - 1) /* an entry has a bit for its kind */

static uint64_t load_entry(const uint8_t *p, unsigned size)
{
    uint64_t v = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16;

    for (unsigned i = ENTRY_MIN; i < size; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static int open_sections(struct dx_membership *m, struct dx_error *err)
{
    const struct dx_envelope *e = &m->envelope;
    struct dx_span header;
    struct dx_bytes r;
    uint64_t index_offset;
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    m->domains = dx_bytes_u64(&r);
    index_offset = dx_bytes_u64(&r);
    m->sets = dx_bytes_u64(&r);
    m->pairs = dx_bytes_u64(&r);
    m->entry_size = dx_bytes_u8(&r);
    rc = dx_envelope_reserved(e, &r, err);
    if (rc < 0)
        return rc;
    if (m->entry_size < ENTRY_MIN || m->entry_size > ENTRY_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: entries of %u bytes", e->name,
                       m->entry_size);
    if (m->sets > m->domains || m->sets >= DX_MEMBERSHIP_STORED || m->pairs < m->domains)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: %" PRIu64 " sets and %" PRIu64 " pairs for %" PRIu64 " domains",
                       e->name, m->sets, m->pairs, m->domains);
    rc = dx_envelope_section(e, TAG_SETS, &m->set_bytes, err);
    if (rc >= 0)
        rc = dx_envelope_array(e, TAG_INDX, m->entry_size, m->domains, &m->entries, err);
    if (rc >= 0 && index_offset != (uint64_t)(m->entries.data - e->body.data))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: header: index_offset is %" PRIu64 ", INDX begins at %td", e->name,
                     index_offset, m->entries.data - e->body.data);
    return rc;
}

int dx_membership_open(struct dx_membership *m, struct dx_span file, unsigned flags,
                       const char *name, struct dx_error *err)
{
    int rc;

    *m = (struct dx_membership){ .domains = 0 };
    rc = dx_envelope_open(&m->envelope, file, DX_MEMBERSHIP_MAGIC, DX_MEMBERSHIP_VERSION, flags,
                          name, err);
    if (rc >= 0)
        rc = open_sections(m, err);
    if (rc < 0)
        dx_membership_close(m);
    return rc;
}

void dx_membership_close(struct dx_membership *m)
{
    dx_envelope_close(&m->envelope);
    *m = (struct dx_membership){ .domains = 0 };
}

static int stored_set(const struct dx_membership *m, uint64_t offset, struct dx_dataset_set *set,
                      struct dx_error *err)
{
    const struct dx_envelope *e = &m->envelope;
    struct dx_span rest = dx_span_from(m->set_bytes, offset);
    struct dx_span stored;
    uint64_t size;
    int rc;

    rc = dx_envelope_check(e, rest.data,
                           rest.size < DX_DATASET_SET_HEAD ? rest.size : DX_DATASET_SET_HEAD, err);
    if (rc < 0)
        return rc;
    size = dx_dataset_set_size(rest);
    if (size == 0)
        return dx_envelope_corrupt(e, TAG_SETS, rest.data, err,
                                   "a set does not fit the %zu bytes that are left", rest.size);
    stored = dx_span_of(rest.data, (size_t)size);
    rc = dx_envelope_check(e, stored.data, stored.size, err);
    if (rc >= 0)
        rc = dx_dataset_set_open(set, stored, e->name, err);
    if (rc < 0)
        return rc;
    if (set->count == 1 && set->first < DX_MEMBERSHIP_STORED)
        return dx_envelope_corrupt(e, TAG_SETS, stored.data, err,
                                   "a set of the one id %" PRIu32 " belongs into the index",
                                   set->first);
    return 1;
}

int dx_membership_get(const struct dx_membership *m, uint64_t ordinal, struct dx_dataset_set *set,
                      struct dx_error *err)
{
    const struct dx_envelope *e = &m->envelope;
    uint64_t stored = UINT64_C(1) << (8 * m->entry_size - 1);
    const uint8_t *at;
    uint64_t entry;
    int rc;

    if (ordinal >= m->domains)
        return dx_fail(err, DX_E_INVALID, "%s: no domain %" PRIu64 ", there are %" PRIu64, e->name,
                       ordinal, m->domains);
    at = m->entries.data + m->entry_size * ordinal;
    rc = dx_envelope_check(e, at, m->entry_size, err);
    if (rc < 0)
        return rc;
    entry = load_entry(at, m->entry_size);
    if (entry < (stored < DX_MEMBERSHIP_STORED ? stored : DX_MEMBERSHIP_STORED)) {
        dx_dataset_set_one(set, (uint32_t)entry);
        return 1;
    }
    if ((entry & stored) == 0 || (entry ^ stored) >= m->set_bytes.size)
        return dx_envelope_corrupt(e, TAG_INDX, at, err,
                                   "domain %" PRIu64 " has entry %" PRIx64 ", SETS has %zu bytes",
                                   ordinal, entry, m->set_bytes.size);
    return stored_set(m, entry ^ stored, set, err);
}

void dx_set_store_init(struct dx_set_store *store, size_t max_bytes)
{
    *store = (struct dx_set_store){ .sets = 0 };
    dx_buf_init(&store->bytes, max_bytes);
    dx_buf_init(&store->ends, SIZE_MAX / 2);
    dx_buf_init(&store->hashes, SIZE_MAX / 2);
}

void dx_set_store_release(struct dx_set_store *store)
{
    dx_buf_release(&store->bytes);
    dx_buf_release(&store->ends);
    dx_buf_release(&store->hashes);
    free(store->slots);
    *store = (struct dx_set_store){ .sets = 0 };
}

static uint64_t set_end(const struct dx_set_store *store, uint32_t number)
{
    return dx_load_u64(store->ends.data + 8 * (size_t)number);
}

static struct dx_span set_span(const struct dx_set_store *store, uint32_t number)
{
    uint64_t begin = number == 0 ? 0 : set_end(store, number - 1);

    return dx_span_of(store->bytes.data + begin, (size_t)(set_end(store, number) - begin));
}

static void place(uint32_t *slots, size_t slot_count, uint64_t hash, uint32_t number)
{
    size_t i = (size_t)hash & (slot_count - 1);

    while (slots[i] != 0)
        i = (i + 1) & (slot_count - 1);
    slots[i] = number + 1;
}

/* At most half of the slots are taken, so that probing ends soon. */
static int grow(struct dx_set_store *store, struct dx_error *err)
{
    size_t slot_count = store->slot_count == 0 ? 1024 : 2 * store->slot_count;
    uint32_t *slots;

    if ((size_t)store->sets + 1 <= store->slot_count / 2)
        return DX_OK;
    slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return dx_no_memory(err, "%" PRIu32 " unique sets", store->sets);
    for (uint32_t i = 0; i < store->sets; i++)
        place(slots, slot_count, dx_load_u64(store->hashes.data + 8 * (size_t)i), i);
    free(store->slots);
    store->slots = slots;
    store->slot_count = slot_count;
    return DX_OK;
}

/* The number of an equal stored set, or store->sets. */
static uint32_t find_equal(const struct dx_set_store *store, uint64_t hash, struct dx_span bytes)
{
    for (size_t i = (size_t)hash & (store->slot_count - 1); store->slots[i] != 0;
         i = (i + 1) & (store->slot_count - 1)) {
        uint32_t number = store->slots[i] - 1;

        if (dx_load_u64(store->hashes.data + 8 * (size_t)number) == hash &&
            dx_span_equal(set_span(store, number), bytes))
            return number;
    }
    return store->sets;
}

static int add_stored(struct dx_set_store *store, const uint32_t *ids, size_t count,
                      uint32_t *entry, struct dx_error *err)
{
    size_t front = store->bytes.size;
    struct dx_span bytes;
    uint64_t hash;
    uint32_t number;
    int rc = grow(store, err);

    if (rc >= 0)
        rc = dx_dataset_set_encode(ids, count, &store->bytes, err);
    if (rc < 0)
        return rc;
    bytes = dx_buf_from(&store->bytes, front);
    hash = dx_hash64(bytes);
    number = find_equal(store, hash, bytes);
    if (number < store->sets) {
        store->bytes.size = front;
    } else {
        if (store->sets + 1 >= DX_MEMBERSHIP_STORED || store->bytes.size > OFFSET_MAX)
            return dx_fail(err, DX_E_LIMIT, "%" PRIu32 " unique sets of %zu bytes are too many",
                           store->sets, store->bytes.size);
        dx_buf_u64(&store->ends, store->bytes.size);
        dx_buf_u64(&store->hashes, hash);
        if (store->ends.failed || store->hashes.failed)
            return dx_no_memory(err, "%" PRIu32 " unique sets", store->sets);
        place(store->slots, store->slot_count, hash, store->sets++);
    }
    *entry = DX_MEMBERSHIP_STORED | number;
    return DX_OK;
}

int dx_set_store_add(struct dx_set_store *store, const uint32_t *ids, size_t count, uint32_t *entry,
                     struct dx_error *err)
{
    int rc = DX_OK;

    if (count == 1 && ids[0] < DX_MEMBERSHIP_STORED) {
        *entry = ids[0];
        store->single_max = ids[0] > store->single_max ? ids[0] : store->single_max;
    } else {
        rc = add_stored(store, ids, count, entry, err);
    }
    if (rc < 0)
        return rc;
    store->pairs += count;
    store->domains++;
    return DX_OK;
}

static uint64_t align_up(uint64_t v)
{
    return (v + DX_ENVELOPE_ALIGN - 1) & ~(uint64_t)(DX_ENVELOPE_ALIGN - 1);
}

/* The fewest bytes that hold all ids and offsets, and a bit for which it is. */
static unsigned entry_size(const struct dx_set_store *s)
{
    unsigned size = ENTRY_MIN;

    while (size < ENTRY_MAX &&
           (s->single_max >> (8 * size - 1) != 0 || s->bytes.size > UINT64_C(1) << (8 * size - 1)))
        size++;
    return size;
}

static int write_header(struct dx_membership_writer *w, struct dx_error *err)
{
    const struct dx_set_store *s = w->store;
    struct dx_buf header = DX_BUF_INIT(HEADER_SIZE);
    int rc;

    dx_buf_u32(&header, DX_MEMBERSHIP_MAGIC);
    dx_buf_u32(&header, DX_MEMBERSHIP_VERSION);
    dx_buf_u64(&header, s->domains);
    dx_buf_u64(&header, align_up(HEADER_SIZE + s->bytes.size));
    dx_buf_u64(&header, s->sets);
    dx_buf_u64(&header, s->pairs);
    dx_buf_u8(&header, (uint8_t)w->entry_size);
    dx_buf_zero(&header, 23);
    rc = header.failed
             ? dx_buf_fail(&header, err, "header")
             : dx_envelope_writer_header(&w->envelope, dx_span_of(header.data, header.size), err);
    dx_buf_release(&header);
    return rc;
}

int dx_membership_writer_begin(struct dx_membership_writer *w, const struct dx_set_store *store,
                               const struct dx_build_id *build,
                               int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                               void *ctx, struct dx_error *err)
{
    int rc;

    w->store = store;
    w->entry_size = entry_size(store);
    w->entries = 0;
    dx_envelope_writer_init(&w->envelope, DX_MEMBERSHIP_MAGIC, DX_MEMBERSHIP_VERSION, build, sink,
                            ctx);
    rc = write_header(w, err);
    if (rc >= 0)
        rc = dx_envelope_writer_section(&w->envelope, TAG_SETS, err);
    if (rc >= 0)
        rc = dx_envelope_writer_append(&w->envelope,
                                       dx_span_of(store->bytes.data, store->bytes.size), err);
    if (rc >= 0)
        rc = dx_envelope_writer_section(&w->envelope, TAG_INDX, err);
    return rc;
}

/* In the file an entry names a set by its place. */
static uint64_t file_entry(const struct dx_membership_writer *w, uint32_t entry)
{
    uint32_t number = entry & ~DX_MEMBERSHIP_STORED;

    assert(number == entry || number < w->store->sets);
    if (number == entry)
        return entry;
    return UINT64_C(1) << (8 * w->entry_size - 1) |
           (number == 0 ? 0 : set_end(w->store, number - 1));
}

int dx_membership_writer_entries(struct dx_membership_writer *w, const uint32_t *entries,
                                 size_t count, struct dx_error *err)
{
    uint8_t chunk[1024 * ENTRY_MAX];
    size_t done = 0;
    int rc = DX_OK;

    while (rc >= 0 && done < count) {
        size_t n = count - done < 1024 ? count - done : 1024;

        for (size_t i = 0; i < n; i++) {
            uint64_t entry = file_entry(w, entries[done + i]);

            for (unsigned k = 0; k < w->entry_size; k++)
                chunk[w->entry_size * i + k] = (uint8_t)(entry >> (8 * k));
        }
        rc = dx_envelope_writer_append(&w->envelope, dx_span_of(chunk, w->entry_size * n), err);
        done += n;
    }
    w->entries += count;
    return rc;
}

int dx_membership_writer_end(struct dx_membership_writer *w, struct dx_error *err)
{
    if (w->entries != w->store->domains)
        return dx_fail(err, DX_E_INVALID,
                       "membership: %" PRIu64 " entries were written, %" PRIu64 " sets added",
                       w->entries, w->store->domains);
    return dx_envelope_writer_finish(&w->envelope, err);
}

void dx_membership_writer_release(struct dx_membership_writer *w)
{
    dx_envelope_writer_release(&w->envelope);
}
