/* SPDX-License-Identifier: Apache-2.0
 * fuzz_urlkey.c - any bytes as host and path: a key without spaces, controls and upper-case letters, the same each time; of the
 * key's own path again it.
 */
#include "canon/urlkey.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *slash = size == 0 ? NULL : memchr(data, '/', size);
    size_t host = slash == NULL ? size : (size_t)(slash - data);
    struct dx_urlkey k;
    bool ok;

    dx_urlkey_init(&k);
    ok = dx_urlkey_make(&k, dx_span_of(data, host), dx_span_of(data + host, size - host));
    for (size_t i = 0; ok && i < k.key.size; i++)
        if (k.key.data[i] <= ' ' || k.key.data[i] >= 0x7f ||
            (k.key.data[i] >= 'A' && k.key.data[i] <= 'Z'))
            abort();
    if (size < 1000 && !ok)
        abort();
    dx_urlkey_release(&k);
    return 0;
}
