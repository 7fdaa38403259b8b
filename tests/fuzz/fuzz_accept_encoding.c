/* SPDX-License-Identifier: Apache-2.0
 * Accept-Encoding: any bytes choose a coding; a refused one is never chosen. */
#include "server/http/coding.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum dx_coding coding = dx_coding_choose(dx_span_of(data, size));

    if (coding >= DX_CODING_COUNT || (size == 0 && coding != DX_CODING_NONE))
        abort();
    return 0;
}
