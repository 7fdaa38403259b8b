/* SPDX-License-Identifier: Apache-2.0
 * writers: what is accepted is written as the same bytes.
 */
#include "builder/lake/ingest_writers.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_writers w = DX_WRITERS_INIT;
    struct dx_buf out = DX_BUF_INIT(DX_WRITERS_TEXT_MAX);

    if (dx_writers_parse(&w, dx_span_of(data, size), "fuzz", NULL) == DX_OK && size > 0)
        if (dx_writers_write(&w, &out, NULL) < 0 || out.size != size ||
            memcmp(out.data, data, size) != 0)
            abort();
    dx_writers_release(&w);
    dx_buf_release(&out);
    return 0;
}
