/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/parquet/parquet_footer.h"

#include <inttypes.h>

#include "base/hash.h"
#include "builder/input/bytes/input_ranges.h"
#include "format/text/locator.h"
#include "parquet/chunk.h"

int dx_parquet_footer_fetch(void *ranges, uint64_t offset, size_t size, uint8_t *to,
                            struct dx_error *err)
{
    return dx_input_ranges_read(ranges, offset, size, to, err);
}

int dx_parquet_footer_read(struct dx_pq_footer *footer, struct dx_input_ranges *ranges,
                           struct dx_buf *metadata, uint64_t memory, struct dx_error *err)
{
    uint64_t size = dx_input_ranges_size(ranges);
    uint8_t tail[DX_PQ_TAIL_SIZE];
    uint32_t metadata_size = 0;
    uint8_t *to;
    int rc;

    if (size < DX_PQ_TAIL_SIZE + 4)
        return dx_fail(err, DX_E_TRUNCATED, "%" PRIu64 " bytes are not a Parquet file", size);
    rc = dx_input_ranges_read(ranges, size - sizeof tail, sizeof tail, tail, err);
    if (rc == DX_OK)
        rc = dx_pq_footer_tail(dx_span_of(tail, sizeof tail), size, &metadata_size, err);
    if (rc < 0)
        return rc;
    if (metadata_size > memory)
        return dx_fail(err, DX_E_LIMIT,
                       "parquet footer: %" PRIu32 " bytes, %" PRIu64 " are left for it",
                       metadata_size, memory);
    to = dx_buf_reserve(metadata, metadata_size == 0 ? 1 : metadata_size);
    if (to == NULL)
        return dx_buf_fail(metadata, err, "metadata");
    rc = dx_input_ranges_read(ranges, size - sizeof tail - metadata_size, metadata_size, to, err);
    if (rc < 0)
        return rc;
    metadata->size = metadata_size;
    return dx_pq_footer_parse_within(footer, dx_span_of(metadata->data, metadata_size), size,
                                     memory - metadata_size, err);
}

int dx_parquet_footer_same(const struct dx_input_ranges *ranges, const struct dx_buf *metadata,
                           const struct dx_locator *locator, struct dx_error *err)
{
    uint64_t size = dx_input_ranges_size(ranges);

    if (locator->was_size == 0)
        return DX_OK;
    if (size != locator->was_size)
        return dx_fail(err, DX_E_CORRUPT,
                       "the file was replaced since it was indexed: it has %" PRIu64
                       " bytes, and had %" PRIu64,
                       size, locator->was_size);
    if (dx_hash64(dx_span_of(metadata->data, metadata->size)) != locator->was_hash)
        return dx_fail(err, DX_E_CORRUPT,
                       "the file was replaced since it was indexed: it has as many bytes, and "
                       "another footer");
    return DX_OK;
}
