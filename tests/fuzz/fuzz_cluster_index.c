/* SPDX-License-Identifier: Apache-2.0
 * Lines of a cluster index: names stay below its folder, and the blocks of each shard add up to its size.
 */
#include "builder/input/archive/cluster_index.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_cluster_index c = DX_CLUSTER_INDEX_INIT;
    struct dx_span rest = dx_span_of(data, size);
    int rc = DX_OK;

    while (rc == DX_OK && rest.size > 0) {
        const uint8_t *end = memchr(rest.data, '\n', rest.size);
        size_t n = end == NULL ? rest.size : (size_t)(end - rest.data);

        rc = dx_cluster_index_line(&c, dx_span_of(rest.data, n), NULL);
        n += end != NULL;
        rest = dx_span_of(rest.data + n, rest.size - n);
    }
    if (rc == DX_OK)
        rc = dx_cluster_index_end(&c, NULL);
    for (size_t i = 0; i < c.count; i++)
        if (!dx_cluster_name_valid(dx_span_str(c.shard[i].name)) ||
            (rc == DX_OK && c.shard[i].size == 0) || c.shard[i].name[0] == '/')
            abort();
    dx_cluster_index_release(&c);
    return 0;
}
