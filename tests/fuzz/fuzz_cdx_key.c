/* SPDX-License-Identifier: Apache-2.0
 * fuzz_cdx_key.c - any bytes as a resumeKey: what is read is written as the same text.
 */
#include "query/cdx/cdx_key.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_cdx_key key;
    struct dx_buf out = DX_BUF_INIT(DX_CDX_KEY_MAX);

    if (dx_cdx_key_read(dx_span_of(data, size), &key) &&
        (!dx_cdx_key_write(&key, &out) || out.failed ||
         !dx_span_equal(dx_span_of(out.data, out.size), dx_span_of(data, size))))
        abort();
    dx_buf_release(&out);
    return 0;
}
