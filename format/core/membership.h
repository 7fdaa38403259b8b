/* SPDX-License-Identifier: Apache-2.0
 * membership.h - domain_to_datasets.roar: ordinal -> set of dataset_ids.
 *
 *   rc = dx_membership_open(&m, file, flags, name, &err);
 *   dx_membership_prefetch(&m, ordinal);                  asks the caches for what get reads first
 *   rc = dx_membership_get(&m, ordinal, &set, &err);      1, or <0: each domain has a set
 *   dx_membership_close(&m);
 *
 * `file` is borrowed until close, and a set borrows from it.
 * After open the struct is read-only but for the marks of checked blocks, which are
 * atomic: threads may share it. An ordinal that is not below m.domains is DX_E_INVALID.
 *
 * Writing, in ordinal order; equal sets are kept once:
 *
 *   dx_set_store_init(&store, max_bytes);
 *   rc = dx_set_store_add(&store, ids, count, &entry, &err);   entry: u32 of the index; keep it
 *   rc = dx_membership_writer_begin(&w, &store, &build, sink, ctx, &err);
 *   rc = dx_membership_writer_entries(&w, entries, n, &err);   any number of times
 *   rc = dx_membership_writer_end(&w, &err);
 *   dx_membership_writer_release(&w);  dx_set_store_release(&store);
 *
 * Memory of a store: the bytes of the unique sets, and 24 to 48 bytes for each of them (it
 * depends on how far the arrays have grown); max_bytes caps the bytes of the sets (DX_E_NOMEM
 * beyond). The entries (4 bytes a domain) are the
 * caller's, who may keep them in a file. begin copies nothing: the store must outlive end.
 */
#ifndef DX_FORMAT_CORE_MEMBERSHIP_H
#define DX_FORMAT_CORE_MEMBERSHIP_H

#include "base/buf.h"
#include "base/hash.h"
#include "format/core/dataset_set.h"
#include "format/core/envelope.h"

#define DX_MEMBERSHIP_MAGIC DX_KIND('D', 'T', 'D', 'R')
#define DX_MEMBERSHIP_VERSION 2          /* 1 is the layout of the seed specification */
#define DX_MEMBERSHIP_STORED 0x80000000u /* bit of a store's entry: the rest is a set number */

struct dx_membership {
    struct dx_envelope envelope;
    uint64_t domains;
    uint64_t sets;
    uint64_t pairs;
    unsigned entry_size;      /* bytes: 3, 4 or 5 */
    struct dx_span set_bytes; /* SETS */
    struct dx_span entries;   /* INDX */
};

int dx_membership_open(struct dx_membership *m, struct dx_span file, unsigned flags,
                       const char *name, struct dx_error *err);
static inline void dx_membership_prefetch(const struct dx_membership *m, uint64_t ordinal)
{
    if (ordinal < m->domains)
        __builtin_prefetch(m->entries.data + m->entry_size * ordinal);
}
int dx_membership_get(const struct dx_membership *m, uint64_t ordinal, struct dx_dataset_set *set,
                      struct dx_error *err);
void dx_membership_close(struct dx_membership *m);

struct dx_set_store {
    struct dx_buf bytes;  /* the sets, one behind the other */
    struct dx_buf ends;   /* u64 a set: where it ends in bytes */
    struct dx_buf hashes; /* u64 a set */
    uint32_t *slots;      /* open addressing: set number + 1, 0 is free */
    size_t slot_count;    /* a power of two, or 0 */
    uint32_t sets;
    uint32_t single_max; /* largest id that stands in an entry */
    uint64_t pairs;      /* ids of all sets that were added, repeats counted */
    uint64_t domains;    /* sets that were added, repeats counted */
};

void dx_set_store_init(struct dx_set_store *store, size_t max_bytes);
int dx_set_store_add(struct dx_set_store *store, const uint32_t *ids, size_t count, uint32_t *entry,
                     struct dx_error *err);
void dx_set_store_release(struct dx_set_store *store);

struct dx_membership_writer {
    struct dx_envelope_writer envelope;
    const struct dx_set_store *store;
    unsigned entry_size;
    uint64_t entries; /* so far */
};

int dx_membership_writer_begin(struct dx_membership_writer *w, const struct dx_set_store *store,
                               const struct dx_build_id *build,
                               int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                               void *ctx, struct dx_error *err);
int dx_membership_writer_entries(struct dx_membership_writer *w, const uint32_t *entries,
                                 size_t count, struct dx_error *err);
int dx_membership_writer_end(struct dx_membership_writer *w, struct dx_error *err);
void dx_membership_writer_release(struct dx_membership_writer *w);

#endif
