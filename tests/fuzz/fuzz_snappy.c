/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a block of Snappy: accepted or refused as by libsnappy, with the same bytes.
 */
#include "parquet/snappy.h"

#include <snappy-c.h>
#include <stdlib.h>

#define PLAIN_MAX (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(struct dx_span block, size_t plain_size)
{
    uint8_t *ours = malloc(plain_size + 1);
    char *theirs = malloc(plain_size + 1);
    bool ok;

    if (ours == NULL || theirs == NULL)
        abort();
    ok = dx_snappy_decode(block, ours, plain_size);
    if (ok != (snappy_uncompress((const char *)block.data, block.size, theirs, &plain_size) ==
               SNAPPY_OK) ||
        (ok && memcmp(ours, theirs, plain_size) != 0))
        abort();
    free(theirs);
    free(ours);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span block = dx_span_of(data, size);
    size_t ours = 0;
    size_t theirs = 0;
    bool sized = dx_snappy_size(block, &ours);

    if (sized != (snappy_uncompressed_length((const char *)data, size, &theirs) == SNAPPY_OK) ||
        ours != theirs)
        abort();
    if (sized && ours <= PLAIN_MAX)
        compare(block, ours);
    return 0;
}
