/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a block of Snappy: accepted or refused as by libsnappy, with the same bytes. Only 2^32 bytes or more, of a block or a literal,
 * are refused where libsnappy takes the low 32 bits of the number.
 */
#include "parquet/snappy.h"

#include <snappy-c.h>
#include <stdlib.h>

#define PLAIN_MAX (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_long_literal(struct dx_span block)
{
    return memmem(block.data, block.size, "\xfc\xff\xff\xff\xff", 5) != NULL;
}

static void compare(struct dx_span block, size_t plain_size)
{
    uint8_t *ours = malloc(plain_size + 1);
    char *theirs = malloc(plain_size + 1);
    bool by_them;
    bool ok;

    if (ours == NULL || theirs == NULL)
        abort();
    ok = dx_snappy_decode(block, ours, plain_size);
    by_them = snappy_uncompress((const char *)block.data, block.size, theirs, &plain_size) ==
              SNAPPY_OK;
    if (ok ? !by_them || memcmp(ours, theirs, plain_size) != 0
           : by_them && !has_long_literal(block))
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
    bool by_them = snappy_uncompressed_length((const char *)data, size, &theirs) == SNAPPY_OK;

    if (sized ? !by_them || ours != theirs : by_them && data[4] < 0x10)
        abort();
    if (sized && ours <= PLAIN_MAX)
        compare(block, ours);
    return 0;
}
