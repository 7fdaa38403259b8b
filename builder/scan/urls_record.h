/* SPDX-License-Identifier: Apache-2.0
 * urls_record.h - a place of a URL on its way from the scan to url_ids.dat.zst, in a temporary
 * file.
 *
 *   rc = dx_urls_record_write(&r, bytes, &err);        DX_URLS_RECORD bytes
 *   dx_urls_record_read(bytes, &r);
 *   stream = dx_urls_record_stream(bytes);             by the leading bits of the id
 *
 * The number of the row group among all is not known yet: how many the files before have, the
 * scan tells at its end. No state; any thread.
 */
#ifndef DX_BUILDER_SCAN_URLS_RECORD_H
#define DX_BUILDER_SCAN_URLS_RECORD_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_URLS_RECORD 24
#define DX_URLS_STREAM_BITS 10
#define DX_URLS_STREAMS (1u << DX_URLS_STREAM_BITS)
#define DX_URLS_ROWS_MAX (((uint64_t)1 << 40) - 1)

struct dx_urls_record {
    uint64_t id;
    uint32_t file_id;
    uint32_t row_group;
    uint64_t row, rows; /* of the place (format/version/url_place.h) */
};

/* id's upper 6 bytes, file_id, row group, row 5 bytes, rows 5 bytes. */
static inline int dx_urls_record_write(const struct dx_urls_record *r, uint8_t *to,
                                       struct dx_error *err)
{
    if (r->row > DX_URLS_ROWS_MAX || r->rows > DX_URLS_ROWS_MAX)
        return dx_fail(err, DX_E_LIMIT, "over %llu rows in a row group, or of one URL",
                       (unsigned long long)DX_URLS_ROWS_MAX);
    dx_store_u64(to, (r->id >> 16) | r->row << 48);
    dx_store_u32(to + 8, r->file_id);
    dx_store_u32(to + 12, r->row_group);
    dx_store_u64(to + 16, r->row >> 16 | r->rows << 24);
    return DX_OK;
}

static inline void dx_urls_record_read(const uint8_t *from, struct dx_urls_record *r)
{
    uint64_t head = dx_load_u64(from);
    uint64_t tail = dx_load_u64(from + 16);

    r->id = head << 16;
    r->file_id = dx_load_u32(from + 8);
    r->row_group = dx_load_u32(from + 12);
    r->row = head >> 48 | (tail & 0xffffff) << 16;
    r->rows = tail >> 24;
}

static inline size_t dx_urls_record_stream(const uint8_t *record)
{
    return (size_t)(dx_load_u64(record) << 16 >> (64 - DX_URLS_STREAM_BITS));
}

#endif
