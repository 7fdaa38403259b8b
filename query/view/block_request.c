/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/block_request.h"

#include "loader/version.h"

#include <assert.h>
#include <stdlib.h>

static void drop_raw(struct dx_block_request *w)
{
    free(w->raw);
    free(w->raw_dictionary);
    w->raw = w->raw_dictionary = NULL;
}

void dx_block_request_release(struct dx_block_request *w)
{
    if (w->leads)
        dx_flight_abandon(&w->flight);
    else
        dx_flight_leave(&w->flight);
    w->leads = false;
    dx_page_cache_put(w->cache, &w->block);
    drop_raw(w);
}

static int no_memory(const struct dx_block_request *w, struct dx_error *err)
{
    return dx_no_memory(err, "%s: block of it", w->of.name);
}

static int add_read(struct dx_block_request *w, struct dx_read_batch *reading, uint64_t offset,
                    uint32_t size, uint8_t **to, struct dx_error *err)
{
    if (*to == NULL)
        *to = malloc(size > 0 ? size : 1);
    if (*to == NULL)
        return no_memory(w, err);
    return dx_read_batch_add(reading, &w->of, offset, size, *to, err);
}

static int ask(struct dx_block_request *w, struct dx_read_batch *reading, struct dx_error *err)
{
    int rc = add_read(w, reading, w->offset, w->size, &w->raw, err);

    assert(w->leads);
    if (rc == DX_OK && w->dictionary_size > 0)
        rc = add_read(w, reading, w->dictionary_offset, w->dictionary_size, &w->raw_dictionary,
                      err);
    return rc;
}

/* The bytes have come. */
static int take_bytes(struct dx_block_request *w, struct dx_read_batch *reading,
                      dx_block_request_decode *decode, void *ctx, struct dx_error *err)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    int rc = decode(ctx, w, &bytes, &size, err);

    assert(w->leads && w->block == NULL);
    if (rc == DX_E_CORRUPT && ++w->refused < DX_BLOCK_READS) {
        reading->batch.fresh = true;
        return ask(w, reading, err);
    }
    if (rc == DX_OK) {
        w->block = dx_page_cache_add(w->cache, &w->key, bytes, size);
        if (w->block == NULL)
            rc = no_memory(w, err);
    }
    w->leads = false;
    /* Only now: the ETag that came with wrong bytes would keep the right ones out. */
    if (rc == DX_OK && w->of.etag[0] != '\0')
        dx_objects_seen(w->of.part->objects, w->of.object, w->of.etag);
    if (rc == DX_OK)
        dx_flight_land(&w->flight, w->block);
    else if (rc == DX_E_NOMEM)
        dx_flight_abandon(&w->flight);
    else
        dx_flight_fail(&w->flight, err);
    drop_raw(w);
    return rc;
}

/* A block that another request was to fetch: 1 it is there, 0 no request fetches it now. */
static int collect(struct dx_block_request *w, const struct dx_read_batch *reading,
                   struct dx_error *err)
{
    int rc = dx_flight_result(w->flight, reading->version, &w->block, err);

    assert(!w->leads);
    dx_flight_leave(&w->flight);
    return rc;
}

int dx_block_request_advance(struct dx_block_request *w, struct dx_read_batch *reading,
                             dx_block_request_decode *decode, void *ctx, struct dx_error *err)
{
    int rc;

    if (w->block != NULL)
        return DX_OK;
    if (w->leads)
        return take_bytes(w, reading, decode, ctx, err);
    if (w->flight != NULL) {
        if (!dx_flight_ended(w->flight)) {
            dx_read_batch_wait(reading, w->flight);
            return DX_OK;
        }
        rc = collect(w, reading, err);
        if (rc != 0)
            return rc < 0 ? rc : DX_OK;
    }
    switch (dx_flight_claim(w->cache, &w->key, reading->version, &w->block, &w->flight)) {
    case DX_CLAIM_LEAD:
        w->leads = true;
        return ask(w, reading, err);
    case DX_CLAIM_WAIT:
        dx_read_batch_wait(reading, w->flight);
        return DX_OK;
    case DX_CLAIM_HIT:
        break;
    }
    return DX_OK;
}

void dx_block_request_failed(struct dx_read_batch *reading, const struct dx_error *err)
{
    /* All owners are requests, which begin with what the batch knows of them. */
    struct dx_block_request *w = (struct dx_block_request *)dx_read_batch_failed(reading);

    /* The others of the batch had no fault of their own: requests that wait for them try again. So
     * do those that wait for this one if our time has run out: they have more. */
    if (w == NULL || !w->leads || dx_read_batch_late(reading))
        return;
    w->leads = false;
    dx_flight_fail(&w->flight, err);
}
