/* SPDX-License-Identifier: Apache-2.0
 * leases/{server}.json: what is accepted is written and read back as the same lease.
 */
#include "base/hash.h"
#include "format/root/lease_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What comes before a checksum, with a true one: a fuzzer finds none. */
static void summed(const uint8_t *data, size_t size, struct dx_buf *out)
{
    struct dx_hash128 sum = dx_hash128_of(dx_span_of(data, size));
    char hex[DX_HASH128_TEXT];

    dx_hash128_text(&sum, hex);
    dx_buf_append(out, data, size);
    dx_buf_fmt(out, ",\"checksum\":\"%s\"}\n", hex);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_lease_text a = DX_LEASE_TEXT_INIT;
    struct dx_lease_text b = DX_LEASE_TEXT_INIT;
    struct dx_buf in = DX_BUF_INIT(size + 100);
    struct dx_buf out = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    struct dx_buf again = DX_BUF_INIT(DX_LEASE_TEXT_MAX);

    (void)dx_lease_text_parse(&a, dx_span_of(data, size), "fuzz", NULL);
    dx_lease_text_release(&a);
    summed(data, size, &in);
    if (dx_lease_text_parse(&a, dx_span_of(in.data, in.size), "fuzz", NULL) == DX_OK)
        if (dx_lease_text_write(&a, &out, NULL) < 0 ||
            dx_lease_text_parse(&b, dx_span_of(out.data, out.size), "fuzz", NULL) < 0 ||
            dx_lease_text_write(&b, &again, NULL) < 0 || out.size != again.size ||
            memcmp(out.data, again.data, out.size) != 0)
            abort();
    dx_lease_text_release(&a);
    dx_lease_text_release(&b);
    dx_buf_release(&in);
    dx_buf_release(&out);
    dx_buf_release(&again);
    return 0;
}
