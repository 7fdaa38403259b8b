/* SPDX-License-Identifier: Apache-2.0
 * spill_merge.h - one sorted stream out of several.
 *
 *   rc = dx_spill_merge_new(&m, codec, max_sources, distinct, &err);
 *   rc = dx_spill_merge_add_run(m, &run, &err);            spill_run.h
 *   rc = dx_spill_merge_add_memory(m, entries, n, &err);   sorted; borrowed until free
 *   while ((rc = dx_spill_merge_next(m, &key, &value, &err)) == 1) ...   valid until the next
 *   dx_spill_merge_free(&m);
 *
 * Order and `distinct` as spill_sort.h says; of equal keys in several sources those of the
 * source that was added first come first. One thread at a time.
 */
#ifndef DX_BUILDER_SORT_SPILL_MERGE_H
#define DX_BUILDER_SORT_SPILL_MERGE_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_spill_codec;
struct dx_spill_merge;
struct dx_spill_run;

/* A record in memory: key size u32, value size u32, key, value. */
#define DX_SPILL_RECORD_HEADER 8

struct dx_spill_entry {
    uint64_t cache; /* private to the sort */
    const uint8_t *record;
};

int dx_spill_merge_new(struct dx_spill_merge **m, struct dx_spill_codec *codec, size_t max_sources,
                       bool distinct, struct dx_error *err);
int dx_spill_merge_add_run(struct dx_spill_merge *m, const struct dx_spill_run *run,
                           struct dx_error *err);
int dx_spill_merge_add_memory(struct dx_spill_merge *m, const struct dx_spill_entry *entries,
                              size_t n, struct dx_error *err);
int dx_spill_merge_next(struct dx_spill_merge *m, struct dx_span *key, struct dx_span *value,
                        struct dx_error *err);
void dx_spill_merge_free(struct dx_spill_merge **m);

static inline struct dx_span dx_spill_record_key(const uint8_t *record)
{
    return dx_span_of(record + DX_SPILL_RECORD_HEADER, dx_load_u32(record));
}

static inline struct dx_span dx_spill_record_value(const uint8_t *record)
{
    struct dx_span key = dx_spill_record_key(record);

    return dx_span_of(key.data + key.size, dx_load_u32(record + 4));
}

#endif
