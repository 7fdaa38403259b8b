/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dataset_heads.h"

#include "base/json_out.h"
#include "base/put.h"

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

static void set_head(struct dx_dataset_heads *h, size_t i)
{
    const struct dx_dataset *d = &h->registry->datasets[i];
    size_t at = h->text.size;

    write_head(&h->text, d);
    h->heads[i] = (struct dx_dataset_head){ .dataset_id = d->dataset_id,
                                            .at = (uint32_t)at,
                                            .urls = d->urls,
                                            .of_counts = d->kind == DX_DATASET_COUNTS };
    if (h->text.size - at > h->longest)
        h->longest = (uint32_t)(h->text.size - at);
}

int dx_dataset_heads_new(struct dx_dataset_heads *h, const struct dx_registry *registry,
                         struct dx_error *err)
{
    size_t n = registry->count;

    *h = (struct dx_dataset_heads){ .registry = registry,
                                    .text = DX_BUF_INIT(TEXT_MAX),
                                    .heads = calloc(n + 1, sizeof *h->heads) };
    if (n > 0 && n <= DX_RANKED_MAX)
        h->ranks = calloc(n * DX_RANKS_KEPT, sizeof *h->ranks);
    if (h->heads == NULL || (h->ranks == NULL && n > 0 && n <= DX_RANKED_MAX)) {
        dx_dataset_heads_release(h);
        return dx_no_memory(err, "datasets");
    }
    for (size_t i = 0; i < n; i++)
        set_head(h, i);
    h->heads[n].at = (uint32_t)h->text.size;
    h->count = (uint32_t)n;
    if (!h->text.failed)
        return DX_OK;
    dx_dataset_heads_release(h);
    return dx_no_memory(err, "datasets: their names");
}

void dx_dataset_heads_release(struct dx_dataset_heads *h)
{
    free(h->heads);
    h->heads = NULL;
    h->count = 0;
    free((void *)h->ranks);
    h->ranks = NULL;
    dx_buf_release(&h->text);
}

const struct dx_dataset_head *dx_dataset_heads_search(const struct dx_dataset_heads *h,
                                                      uint32_t dataset_id)
{
    const struct dx_dataset *d = dx_registry_by_id(h->registry, dataset_id);

    return d == NULL ? NULL : &h->heads[d - h->registry->datasets];
}
