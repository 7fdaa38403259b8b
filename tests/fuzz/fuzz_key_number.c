/* SPDX-License-Identifier: Apache-2.0
 * fuzz_key_number.c - any bytes as a key: what is taken is taken again as it is written, in each
 * form.
 */
#include "canon/domain64.h"
#include "canon/key_number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const char *text, uint64_t key)
{
    uint64_t back;

    if (!dx_key_number(dx_span_str(text), &back) || back != key)
        abort();
    if (!dx_key_number_end(dx_span_str(text), &back) || back != key)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[32];
    uint64_t end;
    uint64_t key;

    if (!dx_key_number(dx_span_of(data, size), &key))
        return 0;
    if (!dx_key_number_end(dx_span_of(data, size), &end) || end != key)
        abort();
    (void)snprintf(text, sizeof text, "%" PRIu64, key);
    again(text, key);
    (void)snprintf(text, sizeof text, "0x%016" PRIx64, key);
    again(text, key);
    (void)snprintf(text, sizeof text, "%" PRId64, dx_domain64_signed(key));
    again(text, key);
    return 0;
}
