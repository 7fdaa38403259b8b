/* SPDX-License-Identifier: Apache-2.0
 * index/suppressions.floor: the input as the file, and as its lines with a right checksum. What is
 * accepted is written again byte for byte, and a log can be compared with it.
 */
#include "format/root/suppressions_floor.h"

#include <stdlib.h>

#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_floor(struct dx_span text)
{
    struct dx_buf again = DX_BUF_INIT(DX_SUPPRESSIONS_FLOOR_MAX);
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_suppressions_floor floor;

    if (dx_suppressions_floor_parse(text, "fuzz", &floor, NULL) == DX_OK) {
        if (dx_suppressions_floor_write(&floor, &again, NULL) < 0 || again.size != text.size ||
            memcmp(again.data, text.data, text.size) != 0)
            abort();
        if ((dx_suppressions_floor_check(&log, &floor, "fuzz", NULL) == DX_OK) !=
            (floor.lines == 0))
            abort();
    }
    dx_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf file = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_hash128 sum;
    char hex[DX_HASH128_TEXT];

    read_floor(dx_span_of(data, size));
    dx_buf_append(&file, data, size);
    sum = dx_hash128_of(dx_span_of(file.data, file.size));
    dx_hash128_text(&sum, hex);
    dx_buf_fmt(&file, "checksum\t%s\n", hex);
    read_floor(dx_span_of(file.data, file.size));
    dx_buf_release(&file);
    return 0;
}
