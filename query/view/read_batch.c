/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/read_batch.h"

#include "cache/flight.h"
#include "loader/version.h"

#include <assert.h>
#include <stdlib.h>

/* Less time than this is too little for another attempt at a store that struggles. */
#define LATE_MS 1000

void dx_read_batch_begin(struct dx_read_batch *r, struct dx_version *v, struct dx_source *source,
                         uint64_t deadline_ms)
{
    r->version = v;
    r->source = source;
    r->flight = NULL;
    r->batch = (struct dx_source_batch){ .deadline_ms = deadline_ms };
}

void dx_read_batch_release(struct dx_read_batch *r)
{
    free(r->reads);
    free(r->pins);
    free(r->seen);
    free(r->owners);
    *r = (struct dx_read_batch){ 0 };
}

static bool resize(void **array, size_t count, size_t element)
{
    void *to = realloc(*array, count * element);

    if (to != NULL)
        *array = to;
    return to != NULL;
}

static bool grow(struct dx_read_batch *r)
{
    size_t count = r->capacity == 0 ? 16 : r->capacity * 2;

    if (!resize((void **)&r->reads, count, sizeof *r->reads) ||
        !resize((void **)&r->pins, count, sizeof *r->pins) ||
        !resize((void **)&r->seen, count, sizeof *r->seen) ||
        !resize((void **)&r->owners, count, sizeof *r->owners))
        return false;
    r->capacity = count;
    return true;
}

int dx_read_batch_add(struct dx_read_batch *r, struct dx_read_object *owner, uint64_t offset,
                      size_t size, uint8_t *to, struct dx_error *err)
{
    size_t i = r->batch.count;

    if (i == r->capacity && !grow(r))
        return dx_no_memory(err, "reads of an answer");
    r->reads[i] = (struct dx_read){ owner->name, offset, size, to };
    r->pins[i] = dx_objects_pin(owner->part->objects, owner->object, owner->total);
    r->seen[i].etag[0] = '\0';
    r->owners[i] = owner;
    r->report = (struct dx_source_batch_report){ .seen = r->seen, .failed = i + 1 };
    r->batch.reads = r->reads;
    r->batch.pins = r->pins;
    r->batch.report = &r->report;
    r->batch.count = i + 1;
    return DX_OK;
}

void dx_read_batch_wait(struct dx_read_batch *r, struct dx_flight *flight)
{
    assert(flight != NULL);
    if (r->flight == NULL)
        r->flight = flight;
}

enum dx_read_batch_state dx_read_batch_state(const struct dx_read_batch *r)
{
    if (r->batch.count > 0)
        return DX_READ_BATCH_READ;
    return r->flight != NULL ? DX_READ_BATCH_WAIT : DX_READ_BATCH_DONE;
}

int dx_read_batch_move(struct dx_read_batch *r, struct dx_read_batch *of, struct dx_error *err)
{
    int rc = DX_OK;

    assert(r->source == of->source);
    for (size_t i = 0; rc == DX_OK && i < of->batch.count; i++)
        rc = dx_read_batch_add(r, of->owners[i], of->reads[i].offset, of->reads[i].size,
                               of->reads[i].to, err);
    r->batch.fresh = r->batch.fresh || of->batch.fresh;
    of->batch.count = 0;
    return rc;
}

int dx_read_batch_perform(struct dx_read_batch *r, struct dx_error *err)
{
    if (dx_read_batch_state(r) == DX_READ_BATCH_READ)
        return dx_source_read_batch(r->source, &r->batch, err);
    /* Without a deadline: the leader has one. */
    if (r->flight != NULL &&
        !dx_flight_wait(r->flight,
                        r->batch.deadline_ms != 0 ? r->batch.deadline_ms : UINT64_MAX / 1000 / 2))
        return dx_fail(err, DX_E_TIMEOUT,
                       "a block that another request reads did not come in time");
    return DX_OK;
}

static void drop_cached(const struct dx_caches *caches, const struct dx_part *part,
                        struct dx_object o)
{
    struct dx_error ignored;
    struct dx_pages_file file;
    uint64_t first = (uint64_t)o.number << 32;

    if (o.kind == DX_OBJECT_LAKE) {
        if (dx_pages_file(&part->pages, o.number, &file, &ignored) == 1)
            (void)dx_page_cache_drop(caches->pages, file.hash.bytes, 0, UINT64_MAX);
        return;
    }
    (void)dx_page_cache_drop(o.kind == DX_OBJECT_IDX ? caches->idx : caches->payload,
                             part->entry.build.bytes, first, first + UINT32_MAX);
}

struct dx_read_object *dx_read_batch_failed(const struct dx_read_batch *r)
{
    return r->report.failed < r->batch.count ? r->owners[r->report.failed] : NULL;
}

bool dx_read_batch_late(const struct dx_read_batch *r)
{
    return r->batch.deadline_ms != 0 && dx_clock_ms() + LATE_MS >= r->batch.deadline_ms;
}

uint64_t dx_read_batch_bytes(const struct dx_read_batch *r)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < r->batch.count; i++)
        bytes += r->reads[i].size;
    return bytes;
}

int dx_read_batch_fetched(struct dx_read_batch *r, int rc, struct dx_error *err)
{
    const struct dx_read_object *failed = dx_read_batch_failed(r);

    for (size_t i = 0; i < r->batch.count && rc == DX_OK; i++)
        memcpy(r->owners[i]->etag, r->seen[i].etag, sizeof r->owners[i]->etag);
    if (failed == NULL || (rc != DX_E_CONFLICT && rc != DX_E_TRUNCATED && rc != DX_E_NOT_FOUND))
        return rc;
    dx_objects_broke(failed->part->objects, failed->object);
    drop_cached(r->version->caches, failed->part, failed->object);
    if (rc == DX_E_TRUNCATED) /* its size was demanded */
        err->code = DX_E_CONFLICT;
    return (int)err->code;
}
