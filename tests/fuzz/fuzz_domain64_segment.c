/* SPDX-License-Identifier: Apache-2.0
 * fuzz_domain64_segment.c - any bytes as a book of numbers, checksums believed: no read outside, an
 * end to every walk.
 */
#include "format/root/domain64_segment.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_number_cursor c;
    static struct dx_number_hits h;
    struct dx_domain64_segment b;
    uint64_t probe = size >= 8 ? dx_load_u64(data + size / 2 - 4) : 0;
    uint64_t last = 0;
    uint64_t found;
    uint64_t n = 0;

    if (dx_domain64_segment_open(&b, dx_span_of(data, size), DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return 0;
    (void)dx_domain64_segment_verify(&b, NULL);
    if (dx_number_cursor_seek(&c, &b, 0, NULL) == DX_OK)
        for (; dx_number_cursor_next(&c, NULL) == 1; n++) {
            if ((n > 0 && c.number <= last) || c.name.size > DX_NUMBER_NAME_MAX)
                abort();
            last = c.number;
        }
    if (n > b.count)
        abort();
    if (dx_domain64_segment_before(&b, probe, &found, NULL) == 1 && found >= probe)
        abort();
    if (dx_number_hits_open(&h, &b, probe, NULL) == DX_OK)
        for (n = 0; dx_number_hits_next(&h, NULL) == 1; n++)
            if (n > b.count)
                abort();
    dx_domain64_segment_close(&b);
    return 0;
}
