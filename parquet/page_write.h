/* SPDX-License-Identifier: Apache-2.0
 * page_write.h - values to one v1 data page with CRC.
 *
 *   struct dx_pq_page_writer w = DX_PQ_PAGE_WRITER_INIT(level);
 *   rc = dx_pq_page_write(&w, &column, DX_PQ_DELTA_BYTE_ARRAY, &values, &buf, &info, &err);
 *   dx_pq_page_writer_release(&w);
 *
 * The reverse of dx_pq_page_decode: values in row order, null slots passed over. Appends
 * header and body to buf. `values` needs row_count, valid (NULL: no nulls; only where
 * max_def is 1) and ints or spans as page.h tells. Encodings: PLAIN of all types but
 * BOOLEAN, DELTA_BINARY_PACKED of INT32 and INT64, DELTA_LENGTH_BYTE_ARRAY and
 * DELTA_BYTE_ARRAY of BYTE_ARRAY. Codecs: UNCOMPRESSED and ZSTD. The same input gives the
 * same bytes. One thread at a time for one writer.
 */
#ifndef DX_PARQUET_PAGE_WRITE_H
#define DX_PARQUET_PAGE_WRITE_H

#include "parquet/page.h"

struct dx_pq_page_writer {
    int level;
    struct dx_buf body, packed;
    int64_t *numbers; /* values without nulls, or two lengths for each */
    size_t number_capacity;
    struct dx_pq_codec_state *codec;
};

#define DX_PQ_PAGE_WRITER_INIT(zstd_level) \
    {                                      \
        .level = (zstd_level)              \
    }

struct dx_pq_page_info {
    uint32_t size;              /* header and body */
    uint32_t uncompressed_size; /* header and plain body: what the column's sum counts */
};

int dx_pq_page_write(struct dx_pq_page_writer *w, const struct dx_pq_column *column,
                     unsigned encoding, const struct dx_pq_values *values, struct dx_buf *out,
                     struct dx_pq_page_info *info, struct dx_error *err);
void dx_pq_page_writer_release(struct dx_pq_page_writer *w);

#endif
