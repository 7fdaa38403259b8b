/* SPDX-License-Identifier: Apache-2.0
 * ingest_row.h - a row as a byte string that sorts as rows sort.
 *
 *   dx_ingest_row_put(&key, &value, &row, extra_count);      dx_buf, cleared first
 *   dx_ingest_row_dataset(key)
 *   ok = dx_ingest_row_get(key, value, extra_count, &row, &scratch);   false: not a row's bytes
 *
 * Key: provisional dataset u32 BE; domain, host, path_query, each with a zero byte behind;
 * time (0 for null, else 1 and 8 bytes BE with the sign bit flipped); scheme and a zero byte;
 * each extra (0 for null, else 1, the text with 00 as 00 ff, then 00). memcmp of keys is the
 * order (dataset, domain, host, path_query, ts with null first, scheme, extras), and no key
 * is the beginning of another. Value: 0 for a row that is in the lake already, 1 for a new
 * one, which sorts behind it; then the raw URL as an extra; then the locator as 0 and its bytes, or 1
 * (null). So of equal keys the least value is that of the row to keep: without a raw URL, else with
 * the least one, and with a locator, the least one.
 *
 * Canonical URLs hold no zero byte, so they need no escapes. Spans got point into key,
 * value or scratch. No state; any thread, each with buffers of its own.
 */
#ifndef DX_BUILDER_LAKE_INGEST_ROW_H
#define DX_BUILDER_LAKE_INGEST_ROW_H

#include "base/buf.h"
#include "base/bytes.h"

struct dx_ingest_row {
    uint32_t dataset; /* provisional, see ingest_datasets.h */
    struct dx_span domain;
    struct dx_span host;
    struct dx_span path_query;
    struct dx_span scheme;
    bool has_ts;
    int64_t ts_us;
    const struct dx_span *extra; /* data == NULL: null */
    bool existing;
    struct dx_span raw_url; /* data == NULL: null */
    struct dx_span locator; /* the same; does not make rows differ */
};

void dx_ingest_row_put(struct dx_buf *key, struct dx_buf *value, const struct dx_ingest_row *row,
                       size_t extra_count);
uint32_t dx_ingest_row_dataset(struct dx_span key);
bool dx_ingest_row_is_existing(struct dx_span value);

/* extra: room for extra_count; row->extra points to it afterwards. */
bool dx_ingest_row_get(struct dx_span key, struct dx_span value, size_t extra_count,
                       struct dx_ingest_row *row, struct dx_span *extra, struct dx_buf *scratch);

#endif
