/* SPDX-License-Identifier: Apache-2.0
 * datasets.json and registry.json: what is accepted is written, and that is accepted and
 * written the same again.
 */
#include "format/root/registry_json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int (*parse)(struct dx_registry *, struct dx_span, const char *,
                               struct dx_error *),
                  int (*write)(const struct dx_registry *, struct dx_buf *, struct dx_error *),
                  struct dx_span text)
{
    struct dx_registry r = DX_REGISTRY_INIT;
    struct dx_registry back = DX_REGISTRY_INIT;
    struct dx_buf a = DX_BUF_INIT(16 * text.size + 4096);
    struct dx_buf b = DX_BUF_INIT(16 * text.size + 4096);

    if (parse(&r, text, "fuzz", NULL) >= 0) {
        if (write(&r, &a, NULL) < 0 || parse(&back, dx_span_of(a.data, a.size), "fuzz", NULL) < 0 ||
            write(&back, &b, NULL) < 0 || a.size != b.size || memcmp(a.data, b.data, a.size) != 0 ||
            back.next_id != r.next_id)
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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(dx_registry_parse, dx_registry_write, dx_span_of(data, size));
    check(dx_registry_parse_root, dx_registry_write_root, dx_span_of(data, size));
    return 0;
}
