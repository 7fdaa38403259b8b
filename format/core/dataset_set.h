/* SPDX-License-Identifier: Apache-2.0
 * dataset_set.h - a set of dataset_ids (or of rows, or of ordinals: tags.h), read where it lies.
 *
 *   n = dx_dataset_set_size(bytes);                       of the stored set that bytes begin with
 *   rc = dx_dataset_set_open(&set, stored, name, &err);   checks every byte of it once
 *   dx_dataset_set_one(&set, id);                         the set {id}
 *   n = dx_dataset_set_count(&set);
 *   n = dx_dataset_set_ids(&set, ids, cap);               ascending; at most cap, n written
 *   n = dx_dataset_set_ids_from(&set, from, ids, cap);    those from `from` on
 *   last = dx_dataset_set_last(&set);                     the largest; 0 of an empty set
 *   found = dx_dataset_set_rank(&set, id, &rank);         1: rank is its index in ids; 0: absent
 *   b = dx_dataset_set_bitmap(&set);                      for set algebra: a roaring_bitmap_t that
 *                                                         the caller frees by roaring_bitmap_free
 *
 *   rc = dx_dataset_set_encode(ids, count, &buf, &err);   ids ascend strictly, count >= 1
 *
 * A stored set says its size and kind, and is then deltas or a Roaring bitmap in the
 * portable format: docs/FORMAT.md section 6. Opening walks the whole set, so the
 * functions behind it cannot fail and allocate nothing (the bitmap: NULL is out of
 * memory). A set borrows its bytes and is a plain value: copy it, share it, drop it.
 * Threads may share one.
 */
#ifndef DX_FORMAT_CORE_DATASET_SET_H
#define DX_FORMAT_CORE_DATASET_SET_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

struct roaring_bitmap_s;

enum dx_dataset_set_kind {
    DX_DATASET_SET_ONE = 0, /* not stored: the id stands in the index entry */
    DX_DATASET_SET_DELTAS = 1,
    DX_DATASET_SET_ROARING = 2
};

#define DX_DATASET_SET_HEAD 10 /* bytes of size and kind, at most */

/* Up to so many ids writers store deltas, from there on the shorter form. */
#define DX_DATASET_SET_SMALL 32

struct dx_dataset_set {
    enum dx_dataset_set_kind kind;
    uint32_t count;
    uint32_t first;       /* smallest id */
    struct dx_span bytes; /* deltas behind the first id; or the whole Roaring bitmap */
};

/* 0: they do not begin with a size, or have fewer bytes. Reads at most
 * DX_DATASET_SET_HEAD of them. */
uint64_t dx_dataset_set_size(struct dx_span bytes);
int dx_dataset_set_open(struct dx_dataset_set *set, struct dx_span stored, const char *name,
                        struct dx_error *err);
void dx_dataset_set_one(struct dx_dataset_set *set, uint32_t id);

static inline uint32_t dx_dataset_set_count(const struct dx_dataset_set *set)
{
    return set->count;
}

size_t dx_dataset_set_ids(const struct dx_dataset_set *set, uint32_t *ids, size_t cap);
size_t dx_dataset_set_ids_from(const struct dx_dataset_set *set, uint32_t from, uint32_t *ids,
                               size_t cap);
uint32_t dx_dataset_set_last(const struct dx_dataset_set *set);
int dx_dataset_set_rank(const struct dx_dataset_set *set, uint32_t id, uint32_t *rank);
struct roaring_bitmap_s *dx_dataset_set_bitmap(const struct dx_dataset_set *set);

int dx_dataset_set_encode(const uint32_t *ids, size_t count, struct dx_buf *out,
                          struct dx_error *err);
/* The same of a bitmap that is not empty; its containers become runs where that is shorter. */
int dx_dataset_set_encode_bitmap(struct roaring_bitmap_s *b, struct dx_buf *out,
                                 struct dx_error *err);

#endif
