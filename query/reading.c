/* SPDX-License-Identifier: Apache-2.0 */
#include "query/reading.h"

#include "loader/version.h"
#include "query/wanted.h"

#include <stdlib.h>

/* Less time than this is too little for another attempt at a store that struggles. */
#define LATE_MS 1000

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
    free(r->owners);
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
        !resize((void **)&r->owners, count, sizeof *r->owners))
        return false;
    r->capacity = count;
    return true;
}

int dx_reading_add(struct dx_reading *r, struct dx_wanted *owner, uint64_t offset, size_t size,
                   uint8_t *to, struct dx_error *err)
{
    size_t i = r->wave.count;

    if (i == r->capacity && !grow(r))
        return dx_fail(err, DX_E_NOMEM, "reads of an answer: out of memory");
    r->reads[i] = (struct dx_read){ owner->name, offset, size, to };
    r->pins[i] = dx_objects_pin(r->version->objects, owner->object, owner->total);
    r->seen[i].etag[0] = '\0';
    r->owners[i] = owner;
    r->report = (struct dx_wave_report){ .seen = r->seen, .failed = i + 1 };
    r->wave.reads = r->reads;
    r->wave.pins = r->pins;
    r->wave.report = &r->report;
    r->wave.count = i + 1;
    return DX_OK;
}

void dx_reading_wait(struct dx_reading *r, struct dx_flight *flight)
{
    if (r->flight == NULL)
        r->flight = flight;
}

enum dx_reading_state dx_reading_state(const struct dx_reading *r)
{
    if (r->wave.count > 0)
        return DX_READING_READ;
    return r->flight != NULL ? DX_READING_WAIT : DX_READING_DONE;
}

int dx_reading_perform(struct dx_reading *r, struct dx_error *err)
{
    if (dx_reading_state(r) == DX_READING_READ)
        return dx_source_read_wave(r->source, &r->wave, err);
    /* Without a deadline: the leader has one. */
    if (r->flight != NULL &&
        !dx_flight_wait(r->flight,
                        r->wave.deadline_ms != 0 ? r->wave.deadline_ms : UINT64_MAX / 1000 / 2))
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
    if (o.kind == DX_OBJECT_COLD) {
        (void)dx_page_cache_drop(v->caches->payload, v->entry.build.bytes, first,
                                 first + UINT32_MAX);
        return;
    }
    if (dx_postings_shard_get(&v->postings, o.number, &shard, &ignored) == 1)
        (void)dx_page_cache_drop(o.kind == DX_OBJECT_IDX ? v->caches->idx : v->caches->payload,
                                 shard.build.bytes, first, first + UINT32_MAX);
}

struct dx_wanted *dx_reading_failed(const struct dx_reading *r)
{
    return r->report.failed < r->wave.count ? r->owners[r->report.failed] : NULL;
}

bool dx_reading_late(const struct dx_reading *r)
{
    return r->wave.deadline_ms != 0 && dx_clock_ms() + LATE_MS >= r->wave.deadline_ms;
}

uint64_t dx_reading_bytes(const struct dx_reading *r)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < r->wave.count; i++)
        bytes += r->reads[i].size;
    return bytes;
}

int dx_reading_fetched(struct dx_reading *r, int rc, struct dx_error *err)
{
    struct dx_version *v = r->version;
    const struct dx_wanted *failed = dx_reading_failed(r);

    for (size_t i = 0; i < r->wave.count && rc == DX_OK; i++)
        memcpy(r->owners[i]->etag, r->seen[i].etag, sizeof r->owners[i]->etag);
    if (failed == NULL || (rc != DX_E_CONFLICT && rc != DX_E_TRUNCATED && rc != DX_E_NOT_FOUND))
        return rc;
    dx_objects_broke(v->objects, failed->object);
    drop_cached(v, failed->object);
    if (rc == DX_E_TRUNCATED) /* its size was demanded */
        err->code = DX_E_CONFLICT;
    return (int)err->code;
}
