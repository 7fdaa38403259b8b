/* SPDX-License-Identifier: Apache-2.0 */
#include "query/wanted.h"

#include "loader/version.h"

#include <stdlib.h>

static void drop_raw(struct dx_wanted *w)
{
    free(w->raw);
    free(w->raw_dictionary);
    w->raw = w->raw_dictionary = NULL;
}

void dx_wanted_release(struct dx_wanted *w)
{
    if (w->leads)
        dx_flight_abandon(&w->flight);
    else
        dx_flight_leave(&w->flight);
    w->leads = false;
    dx_page_cache_put(w->cache, &w->block);
    drop_raw(w);
}

static int no_memory(const struct dx_wanted *w, struct dx_error *err)
{
    return dx_fail(err, DX_E_NOMEM, "%s: out of memory for a block of it", w->name);
}

static int add_read(struct dx_wanted *w, struct dx_reading *reading, uint64_t offset, uint32_t size,
                    uint8_t **to, struct dx_error *err)
{
    if (*to == NULL)
        *to = malloc(size > 0 ? size : 1);
    if (*to == NULL)
        return no_memory(w, err);
    return dx_reading_add(reading, w, offset, size, *to, err);
}

static int ask(struct dx_wanted *w, struct dx_reading *reading, struct dx_error *err)
{
    int rc = add_read(w, reading, w->offset, w->size, &w->raw, err);

    if (rc == DX_OK && w->dictionary_size > 0)
        rc = add_read(w, reading, w->dictionary_offset, w->dictionary_size, &w->raw_dictionary,
                      err);
    return rc;
}

/* The bytes have come. */
static int take(struct dx_wanted *w, struct dx_reading *reading, dx_wanted_decode *decode,
                void *ctx, struct dx_error *err)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    int rc = decode(ctx, w, &bytes, &size, err);

    if (rc == DX_E_CORRUPT && !w->again) {
        w->again = true;
        reading->wave.fresh = true;
        return ask(w, reading, err);
    }
    if (rc == DX_OK) {
        w->block = dx_page_cache_add(w->cache, &w->key, bytes, size);
        if (w->block == NULL)
            rc = no_memory(w, err);
    }
    w->leads = false;
    /* Only now: the ETag that came with wrong bytes would keep the right ones out. */
    if (rc == DX_OK && w->etag[0] != '\0')
        dx_objects_seen(reading->version->objects, w->object, w->etag);
    if (rc == DX_OK)
        dx_flight_land(&w->flight, w->block);
    else if (rc == DX_E_NOMEM)
        dx_flight_abandon(&w->flight);
    else
        dx_flight_fail(&w->flight, err);
    drop_raw(w);
    return rc;
}

/* What somebody else was to bring: 1 it is there, 0 nobody brings it now. */
static int collect(struct dx_wanted *w, const struct dx_reading *reading, struct dx_error *err)
{
    int rc = dx_flight_result(w->flight, reading->version, &w->block, err);

    dx_flight_leave(&w->flight);
    return rc;
}

int dx_wanted_advance(struct dx_wanted *w, struct dx_reading *reading, dx_wanted_decode *decode,
                      void *ctx, struct dx_error *err)
{
    int rc;

    if (w->block != NULL)
        return DX_OK;
    if (w->leads)
        return take(w, reading, decode, ctx, err);
    if (w->flight != NULL) {
        if (!dx_flight_ended(w->flight)) {
            dx_reading_wait(reading, w->flight);
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
        dx_reading_wait(reading, w->flight);
        return DX_OK;
    case DX_CLAIM_HIT:
        break;
    }
    return DX_OK;
}

void dx_wanted_failed(struct dx_reading *reading, const struct dx_error *err)
{
    struct dx_wanted *w = dx_reading_failed(reading);

    /* The others of the wave had no fault of their own: who waits for them tries again. So does who
     * waits for this one if the time of ours has run out: he has more. */
    if (w == NULL || !w->leads || dx_reading_late(reading))
        return;
    w->leads = false;
    dx_flight_fail(&w->flight, err);
}
