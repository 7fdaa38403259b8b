/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dataset_heads.h"

#include "base/json_out.h"
#include "base/put.h"
#include "format/registry_json.h"

#include <stdlib.h>

#define TEXT_MAX ((size_t)UINT32_MAX)

static void write_head(struct dx_buf *b, const struct dx_dataset *d)
{
    uint8_t digits[DX_PUT_U64_MAX];

    dx_buf_str(b, "{\"dataset_id\":");
    dx_buf_append(b, digits, (size_t)(dx_put_u64(digits, d->dataset_id) - digits));
    dx_buf_str(b, ",\"name\":\"");
    dx_json_escape(b, dx_span_str(d->name));
    dx_buf_str(b, "\",");
}

int dx_dataset_heads_new(struct dx_dataset_heads *h, const struct dx_registry *registry,
                         struct dx_error *err)
{
    h->count = registry->count;
    h->text = (struct dx_buf)DX_BUF_INIT(TEXT_MAX);
    h->heads = malloc((h->count + 1) * sizeof *h->heads);
    if (h->heads == NULL)
        return dx_fail(err, DX_E_NOMEM, "datasets: out of memory");
    for (size_t i = 0; i < h->count; i++) {
        h->heads[i] = (struct dx_dataset_head){ registry->datasets[i].dataset_id,
                                                (uint32_t)h->text.size };
        write_head(&h->text, &registry->datasets[i]);
    }
    h->heads[h->count] = (struct dx_dataset_head){ UINT32_MAX, (uint32_t)h->text.size };
    if (!h->text.failed)
        return DX_OK;
    dx_dataset_heads_release(h);
    return dx_fail(err, DX_E_NOMEM, "datasets: out of memory for their names");
}

void dx_dataset_heads_release(struct dx_dataset_heads *h)
{
    free(h->heads);
    dx_buf_release(&h->text);
    h->heads = NULL;
    h->count = 0;
}

bool dx_dataset_heads_find(const struct dx_dataset_heads *h, uint32_t dataset_id, size_t *i)
{
    size_t low = 0;
    size_t high = h->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (h->heads[middle].dataset_id < dataset_id)
            low = middle + 1;
        else
            high = middle;
    }
    *i = low;
    return low < h->count && h->heads[low].dataset_id == dataset_id;
}
