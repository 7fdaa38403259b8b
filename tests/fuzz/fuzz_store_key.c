/* SPDX-License-Identifier: Apache-2.0
 * fuzz_store_key.c - any bytes as a URL: bit 63 is 0, and what is hashed reads as itself.
 */
#include "canon/store_key.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_store_key k = DX_STORE_KEY_INIT, again = DX_STORE_KEY_INIT;

    for (int clean = 0; clean < 2; clean++) {
        int rc = dx_store_key_of(&k, dx_span_of(data, size), clean, NULL);

        if (rc < 0 || (rc == 1) != (k.why == NULL) || (rc == 1 && k.key >> 63 != 0))
            abort();
        if (rc != 1)
            continue;
        rc = dx_store_key_of(&again, dx_span_of(k.text.data, k.text.size), clean, NULL);
        if (rc < 0 || (rc == 1 && again.key != k.key))
            abort();
    }
    return 0;
}
