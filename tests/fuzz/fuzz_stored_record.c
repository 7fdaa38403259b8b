/* SPDX-License-Identifier: Apache-2.0
 * The bytes at a locator: a WARC record, plain or compressed by itself, or anything else.
 */
#include "builder/input/located/stored_record.h"

#include <stdlib.h>

#define MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink; /* keeps the reads of values */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_stored_record s;

    if (dx_stored_record_open(&s, dx_span_of(data, size), MAX, NULL) == 1) {
        if (s.size > size || s.record.size > MAX + 4 || s.target.size > s.record.size)
            abort();
        for (size_t i = 0; i < s.record.size; i++)
            sink += s.record.data[i];
        for (size_t i = 0; i < s.target.size; i++)
            sink += s.target.data[i];
    }
    dx_stored_record_close(&s);
    return 0;
}
