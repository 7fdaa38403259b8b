/* SPDX-License-Identifier: Apache-2.0
 * fuzz_store_key.c - any bytes as a URL: a key or a reason, bit 63 is 0, and it is the key of what
 * is said.
 *
 * What was hashed need not read as itself: of "http:/%2fa|" it is "http://a%7C", as the original
 * has it.
 */
#include "canon/store_key.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_store_key k = DX_STORE_KEY_INIT;

    for (int clean = 0; clean < 2; clean++) {
        int rc = dx_store_key_of(&k, dx_span_of(data, size), clean, NULL);

        if (rc < 0 || (rc == 1) != (k.why == NULL) || (rc == 1 && k.key >> 63 != 0))
            abort();
        if (rc == 1 && k.key != dx_store_key(dx_span_of(k.text.data, k.text.size),
                                             dx_span_of(k.host.data, k.host.size)))
            abort();
    }
    return 0;
}
