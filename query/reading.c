/* SPDX-License-Identifier: Apache-2.0 */
#include "query/reading.h"

#include "cache/flight.h"
#include "loader/version.h"

#include <stdlib.h>

void dx_reading_begin(struct dx_reading *r, struct dx_version *v, struct dx_source *source,
                      uint64_t deadline_ms)
{
    r->version = v;
    r->source = source;
    r->flight = NULL;
    r->wave = (struct dx_wave){ .deadline_ms = deadline_ms };
}

void dx_reading_release(struct dx_reading *r)
{
    free(r->reads);
    free(r->pins);
    free(r->seen);
    free(r->objects);
    *r = (struct dx_reading){ 0 };
}

static bool resize(void **array, size_t count, size_t element)
{
    void *to = realloc(*array, count * element);

    if (to != NULL)
        *array = to;
    return to != NULL;
}

static bool grow(struct dx_reading *r)
{
    size_t count = r->capacity == 0 ? 16 : r->capacity * 2;

    if (!resize((void **)&r->reads, count, sizeof *r->reads) ||
        !resize((void **)&r->pins, count, sizeof *r->pins) ||
        !resize((void **)&r->seen, count, sizeof *r->seen) ||
        !resize((void **)&r->objects, count, sizeof *r->objects))
        return false;
    r->capacity = count;
    return true;
}

int dx_reading_add(struct dx_reading *r, struct dx_object object, const char *name, uint64_t total,
                   uint64_t offset, size_t size, uint8_t *to, struct dx_error *err)
{
    size_t i = r->wave.count;

    if (i == r->capacity && !grow(r))
        return dx_fail(err, DX_E_NOMEM, "reads of an answer: out of memory");
    r->reads[i] = (struct dx_read){ name, offset, size, to };
    r->pins[i] = dx_objects_pin(r->version->objects, object, total);
    r->seen[i].etag[0] = '\0';
    r->objects[i] = object;
    r->report = (struct dx_wave_report){ .seen = r->seen, .failed = i + 1 };
    r->wave.reads = r->reads;
    r->wave.pins = r->pins;
    r->wave.report = &r->report;
    r->wave.count = i + 1;
    return DX_OK;
}

int dx_reading_perform(struct dx_reading *r, struct dx_error *err)
{
    if (r->flight == NULL)
        return dx_source_read_wave(r->source, &r->wave, err);
    if (!dx_flight_wait(r->flight, r->wave.deadline_ms))
        return dx_fail(err, DX_E_TIMEOUT,
                       "a block that another request reads did not come in time");
    return DX_OK;
}

static void drop_cached(struct dx_version *v, struct dx_object o)
{
    struct dx_error ignored;
    struct dx_postings_shard shard;
    struct dx_pages_file file;
    uint64_t first = (uint64_t)o.number << 32;

    if (o.kind == DX_OBJECT_LAKE) {
        if (dx_pages_file(&v->pages, o.number, &file, &ignored) == 1)
            (void)dx_page_cache_drop(v->caches->pages, file.hash.bytes, 0, UINT64_MAX);
        return;
    }
    if (dx_postings_shard_get(&v->postings, o.number, &shard, &ignored) == DX_OK)
        (void)dx_page_cache_drop(o.kind == DX_OBJECT_IDX ? v->caches->idx : v->caches->payload,
                                 shard.build.bytes, first, first + UINT32_MAX);
}

void dx_reading_fetched(struct dx_reading *r, int rc)
{
    struct dx_version *v = r->version;

    if (r->flight != NULL)
        return;
    if (rc == DX_OK) {
        for (size_t i = 0; i < r->wave.count; i++)
            if (r->seen[i].etag[0] != '\0')
                dx_objects_seen(v->objects, r->objects[i], r->seen[i].etag);
    } else if ((rc == DX_E_CONFLICT || rc == DX_E_TRUNCATED) && r->report.failed < r->wave.count) {
        dx_objects_broke(v->objects, r->objects[r->report.failed]);
        drop_cached(v, r->objects[r->report.failed]);
    }
}
