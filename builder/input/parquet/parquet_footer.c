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
    int rc = dx_pq_footer_fetch(dx_parquet_footer_fetch, ranges, size, memory, metadata, err);

    return rc < 0 ? rc
                  : dx_pq_footer_parse_within(footer, dx_span_of(metadata->data, metadata->size),
                                              size, memory - metadata->size, err);
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
