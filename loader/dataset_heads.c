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

int dx_dataset_heads_new(struct dx_dataset_heads *h, const struct dx_registry *registry,
                         struct dx_error *err)
{
    size_t n = registry->count;

    h->registry = registry;
    h->text = (struct dx_buf)DX_BUF_INIT(TEXT_MAX);
    h->at = malloc((n + 1) * sizeof *h->at);
    h->ranks = n > 0 && n <= DX_RANKED_MAX ? calloc(n * DX_RANKS_KEPT, sizeof *h->ranks) : NULL;
    if (h->at == NULL || (h->ranks == NULL && n > 0 && n <= DX_RANKED_MAX)) {
        dx_dataset_heads_release(h);
        return dx_no_memory(err, "datasets");
    }
    for (size_t i = 0; i < n; i++) {
        h->at[i] = (uint32_t)h->text.size;
        write_head(&h->text, &registry->datasets[i]);
    }
    h->at[n] = (uint32_t)h->text.size;
    if (!h->text.failed)
        return DX_OK;
    dx_dataset_heads_release(h);
    return dx_no_memory(err, "datasets: their names");
}

void dx_dataset_heads_release(struct dx_dataset_heads *h)
{
    free(h->at);
    h->at = NULL;
    free((void *)h->ranks);
    h->ranks = NULL;
    dx_buf_release(&h->text);
}
