/* SPDX-License-Identifier: Apache-2.0
 * row_merge.h - one sorted stream out of several, one record a key.
 *
 *   rc = dx_row_merge_new(&m, codec, max_sources, &err);
 *   rc = dx_row_merge_add_run(m, path, &err);             a file of row_run.h
 *   rc = dx_row_merge_add_memory(m, record, n, &err);     sorted; borrowed until free
 *   while ((rc = dx_row_merge_next(m, &key, &value, &err)) == 1) ...   valid until the next
 *   dx_row_merge_free(&m);
 *
 * Order and duplicates as row_sort.h says. One thread at a time.
 */
#ifndef DX_BUILDER_ROW_MERGE_H
#define DX_BUILDER_ROW_MERGE_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_row_codec;
struct dx_row_merge;

/* A record in memory: key size u32, value size u32, key, value. */
struct dx_row_entry {
    uint64_t cache; /* private to the sort */
    const uint8_t *record;
};

int dx_row_merge_new(struct dx_row_merge **m, struct dx_row_codec *codec, size_t max_sources,
                     struct dx_error *err);
int dx_row_merge_add_run(struct dx_row_merge *m, const char *path, struct dx_error *err);
int dx_row_merge_add_memory(struct dx_row_merge *m, const struct dx_row_entry *entries, size_t n,
                            struct dx_error *err);
int dx_row_merge_next(struct dx_row_merge *m, struct dx_span *key, struct dx_span *value,
                      struct dx_error *err);
void dx_row_merge_free(struct dx_row_merge **m);

static inline void dx_row_entry_get(const uint8_t *record, struct dx_span *key,
                                    struct dx_span *value)
{
    uint32_t key_size = dx_load_u32(record);

    *key = dx_span_of(record + 8, key_size);
    *value = dx_span_of(record + 8 + key_size, dx_load_u32(record + 4));
}

#endif
