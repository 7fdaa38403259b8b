/* SPDX-License-Identifier: Apache-2.0
 * A locator from a lake that anybody may have written: one text for each, and back.
 */
#include "format/text/locator.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t text[DX_LOCATOR_MAX];
    struct dx_locator l;
    size_t n;

    if (!dx_locator_parse(dx_span_of(data, size), &l))
        return 0;
    n = dx_locator_put(&l, text);
    if (!dx_span_equal(dx_span_of(text, n), dx_span_of(data, size)))
        abort();
    return 0;
}
