/* SPDX-License-Identifier: Apache-2.0
 * fuzz_domain64_manifest.c - index/domain64/registry.tsv: what is accepted is written as the same
 * bytes.
 */
#include "format/root/domain64_manifest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_one(struct dx_span text)
{
    static struct dx_domain64_manifest l;
    struct dx_buf out = DX_BUF_INIT(DX_DOMAIN64_MANIFEST_MAX);

    if (dx_domain64_manifest_parse(&l, text, "fuzz", NULL) == DX_OK &&
        (dx_domain64_manifest_write(&l, &out, NULL) < 0 ||
         !dx_span_equal(dx_span_of(out.data, out.size), text)))
        abort();
    dx_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf in = DX_BUF_INIT(size + 100);
    struct dx_hash128 sum = dx_hash128_of(dx_span_of(data, size));
    char hex[DX_HASH128_TEXT];

    try_one(dx_span_of(data, size));
    dx_hash128_text(&sum, hex); /* what comes before a checksum, with a true one */
    dx_buf_append(&in, data, size);
    dx_buf_fmt(&in, "checksum\t%s\n", hex);
    try_one(dx_span_of(in.data, in.size));
    dx_buf_release(&in);
    return 0;
}
