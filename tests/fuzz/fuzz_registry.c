/* SPDX-License-Identifier: Apache-2.0
 * datasets.json: what is accepted is written, and that is accepted and written the same again.
 */
#include "format/registry_json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_registry r = DX_REGISTRY_INIT;
    struct dx_registry back = DX_REGISTRY_INIT;
    struct dx_buf a = DX_BUF_INIT(16 * size + 4096);
    struct dx_buf b = DX_BUF_INIT(16 * size + 4096);

    if (dx_registry_parse(&r, dx_span_of(data, size), "fuzz", NULL) >= 0) {
        if (dx_registry_write(&r, &a, NULL) < 0 ||
            dx_registry_parse(&back, dx_span_of(a.data, a.size), "fuzz", NULL) < 0 ||
            dx_registry_write(&back, &b, NULL) < 0 || a.size != b.size ||
            memcmp(a.data, b.data, a.size) != 0)
            abort();
        for (size_t i = 0; i < r.count; i++)
            if (dx_registry_by_name(&r, dx_span_str(r.datasets[i].name)) != &r.datasets[i] ||
                dx_registry_by_id(&r, r.datasets[i].dataset_id) != &r.datasets[i])
                abort();
    }
    dx_registry_release(&r);
    dx_registry_release(&back);
    dx_buf_release(&a);
    dx_buf_release(&b);
    return 0;
}
