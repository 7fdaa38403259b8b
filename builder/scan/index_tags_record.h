/* SPDX-License-Identifier: Apache-2.0
 * index_tags_record.h - the rows that a tag has in a domain of a file, on their way from the scan
 * to tags.dxt through a sorter.
 *
 *   size = dx_tags_key(tag, file_id, first_row, key);            by tag, then file, then row
 *   ok = dx_tags_key_parse(key, &tag, &file_id, &first_row);     tag is borrowed from the key
 *
 * The tag ends in a zero byte, which no tag has, so that byte order of keys is that of tags;
 * numbers are big-endian. The value: varint size and bytes of the domain, then for each further row
 * a varint (row - the one before - 1). No state; any thread.
 */
#ifndef DX_BUILDER_SCAN_INDEX_TAGS_RECORD_H
#define DX_BUILDER_SCAN_INDEX_TAGS_RECORD_H

#include "format/version/tags.h"

#define DX_TAGS_KEY_NUMBERS 9 /* the zero, u32 file_id, u32 row */
#define DX_TAGS_KEY_MAX (DX_TAG_MAX + DX_TAGS_KEY_NUMBERS)

static inline size_t dx_tags_key(struct dx_span tag, uint32_t file_id, uint64_t row,
                                 uint8_t key[DX_TAGS_KEY_MAX])
{
    uint8_t *p = key + tag.size;

    memcpy(key, tag.data, tag.size);
    *p++ = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        p[0] = (uint8_t)(file_id >> shift);
        p[4] = (uint8_t)(row >> shift);
        p++;
    }
    return tag.size + DX_TAGS_KEY_NUMBERS;
}

static inline bool dx_tags_key_parse(struct dx_span key, struct dx_span *tag, uint32_t *file_id,
                                     uint32_t *row)
{
    const uint8_t *p;

    if (key.size <= DX_TAGS_KEY_NUMBERS)
        return false;
    *tag = dx_span_of(key.data, key.size - DX_TAGS_KEY_NUMBERS);
    p = key.data + tag->size + 1;
    *file_id = *row = 0;
    for (int i = 0; i < 4; i++) {
        *file_id = *file_id << 8 | p[i];
        *row = *row << 8 | p[4 + i];
    }
    return true;
}

#endif
