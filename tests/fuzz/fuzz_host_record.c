/* SPDX-License-Identifier: Apache-2.0
 * fuzz_host_record.c - any bytes as host, as count and as the path of a row of counts: a path that is taken has one text.
 */
#include "builder/input/records/host_record.h"
#include "format/text/host_pages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span text = dx_span_of(data, size);
    struct dx_buf buf = DX_BUF_INIT(1u << 20);
    char back[DX_HOST_PAGES_TEXT];
    uint64_t n = 0;
    struct dx_span url = dx_host_record_url(text, &buf);

    if (!buf.failed && url.size > size + 8)
        abort();
    if (dx_host_record_count(text, &n) == 0 && (n == 0 || n > DX_HOST_PAGES_MAX))
        abort();
    if (dx_host_pages_parse(text, &n) &&
        !dx_span_equal(dx_span_of(back, dx_host_pages_put(n, back)), text))
        abort();
    dx_buf_release(&buf);
    return 0;
}
