/* SPDX-License-Identifier: Apache-2.0
 * blob_spill.h - long byte strings that wait on disk beside the records that name them.
 *
 *   rc = dx_blob_spill_new(&a, tmp_dir, &err);
 *   rc = dx_blob_spill_put(a, bytes, &place, &err);          appended; place goes into the record
 *   rc = dx_blob_spill_get(a, &place, &buf, &err);           replaces what is in buf
 *   dx_blob_spill_free(&a);
 *
 * For the few records whose bytes are too many for a sort, which holds each one whole. The file has
 * no name once it is open. What is read back is compared with a hash of what was written. put may
 * be called by several threads at once, get too; no get of what another thread is putting.
 */
#ifndef DX_BUILDER_SORT_BLOB_SPILL_H
#define DX_BUILDER_SORT_BLOB_SPILL_H

#include "base/buf.h"
#include "base/bytes.h"

struct dx_blob_spill;

struct dx_blob_spill_place {
    uint64_t offset;
    uint64_t size;
    uint64_t hash;
};

int dx_blob_spill_new(struct dx_blob_spill **a, const char *tmp_dir, struct dx_error *err);
int dx_blob_spill_put(struct dx_blob_spill *a, struct dx_span bytes,
                      struct dx_blob_spill_place *place, struct dx_error *err);
int dx_blob_spill_get(struct dx_blob_spill *a, const struct dx_blob_spill_place *place,
                      struct dx_buf *to, struct dx_error *err);
uint64_t dx_blob_spill_size(struct dx_blob_spill *a);
void dx_blob_spill_free(struct dx_blob_spill **a);

#endif
