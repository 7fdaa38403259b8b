/* SPDX-License-Identifier: Apache-2.0
 * manifest.json: as it comes, and with a true checksum behind it; what is accepted is written,
 * and that is accepted and written the same again.
 */
#include "format/version/manifest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_text(struct dx_span text)
{
    struct dx_manifest m;
    struct dx_manifest back;
    struct dx_buf a = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_buf b = DX_BUF_INIT(DX_MANIFEST_MAX);

    if (dx_manifest_parse(text, "fuzz", &m, NULL) >= 0) {
        if (dx_manifest_current(&m) == NULL || dx_manifest_write(&m, &a, NULL) < 0 ||
            dx_manifest_parse(dx_span_of(a.data, a.size), "fuzz", &back, NULL) < 0 ||
            dx_manifest_write(&back, &b, NULL) < 0 || a.size != b.size ||
            memcmp(a.data, b.data, a.size) != 0)
            abort();
        dx_manifest_release(&back);
    }
    dx_manifest_release(&m);
    dx_buf_release(&a);
    dx_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *sum = size == 0 ? NULL : memmem(data, size, "\"checksum\"", 10);
    struct dx_buf text = DX_BUF_INIT(size + 100);
    char hex[DX_HASH128_TEXT];
    struct dx_hash128 hash;

    use_text(dx_span_of(data, size));
    dx_buf_append(&text, data, sum == NULL ? size : (size_t)(sum - data));
    hash = dx_hash128_of(dx_span_of(text.data, text.size));
    dx_hash128_text(&hash, hex);
    dx_buf_fmt(&text, "\"checksum\": \"%s\"\n}\n", hex);
    use_text(dx_span_of(text.data, text.size));
    dx_buf_release(&text);
    return 0;
}
