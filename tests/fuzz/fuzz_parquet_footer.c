/* SPDX-License-Identifier: Apache-2.0
 * A whole file: footer, then every page of every column that the footer admits. Limits are
 * small, so that a decompression bomb costs little.
 */
#include "parquet/chunk.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink; /* keeps the reads of values */

#define PAGES_MAX 64 /* of one input: a loop over tiny pages proves nothing more */

static unsigned read_chunk(struct dx_span file, const struct dx_pq_footer *f, uint32_t group,
                           uint32_t leaf)
{
    static const struct dx_pq_limits limits = { 1 << 16, 1 << 14 };
    struct dx_pq_reader r = DX_PQ_READER_INIT;
    struct dx_pq_values v = DX_PQ_VALUES_INIT;
    unsigned pages = 0;
    char path[64];

    (void)dx_pq_footer_path(f, leaf, path, sizeof(path));
    if (dx_pq_reader_open(&r, file, f, group, leaf, &limits, NULL) == DX_OK) {
        unsigned type = r.walk.column.type;

        while (pages++ < PAGES_MAX && dx_pq_reader_next(&r, &v, NULL) == 1)
            for (uint32_t i = 0; i < v.row_count; i++)
                if (!dx_pq_is_null(&v, i) && (type == DX_PQ_BYTE_ARRAY || type == DX_PQ_FIXED))
                    for (size_t k = 0; k < v.spans[i].size; k++)
                        sink += v.spans[i].data[k];
    }
    dx_pq_reader_release(&r);
    dx_pq_values_release(&v);
    return pages;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span file = dx_span_of(data, size);
    struct dx_pq_footer f;
    unsigned pages = 0;

    if (dx_pq_footer_open(&f, file, NULL) < 0)
        return 0;
    for (uint32_t g = 0; g < f.group_count; g++)
        for (uint32_t i = 0; i < f.leaf_count && pages < PAGES_MAX; i++)
            pages += read_chunk(file, &f, g, i);
    dx_pq_footer_release(&f);
    return 0;
}
