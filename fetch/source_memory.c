/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/source_memory.h"

#include <stdio.h>
#include <stdlib.h>

struct source_memory {
    struct dx_source source;
    const struct dx_memory_object *objects;
    size_t count;
};

static int find(const struct dx_source *src, const char *name, const struct dx_pin *pin,
                const struct dx_memory_object **found, struct dx_error *err)
{
    const struct source_memory *memory = (const struct source_memory *)src;

    for (size_t i = 0; i < memory->count; i++) {
        const struct dx_memory_object *o = &memory->objects[i];

        if (strcmp(o->name, name) != 0)
            continue;
        if (pin != NULL && pin->total != 0 && pin->total != o->bytes.size)
            return dx_fail(err, DX_E_CONFLICT, "%s: %zu bytes, %llu expected", name, o->bytes.size,
                           (unsigned long long)pin->total);
        if (pin != NULL && pin->etag != NULL &&
            (o->etag == NULL || strcmp(pin->etag, o->etag) != 0))
            return dx_fail(err, DX_E_CONFLICT, "%s: its ETag is %s, %s is expected", name,
                           o->etag == NULL ? "none" : o->etag, pin->etag);
        *found = o;
        return DX_OK;
    }
    return dx_fail(err, DX_E_NOT_FOUND, "%s: no such object in memory", name);
}

static int read_one(const struct dx_source *src, const struct dx_source_batch *batch, size_t i,
                    struct dx_error *err)
{
    const struct dx_read *read = &batch->reads[i];
    const struct dx_memory_object *o = NULL;
    int rc = find(src, read->object, batch->pins == NULL ? NULL : &batch->pins[i], &o, err);

    if (rc < 0)
        return rc;
    if (read->size > o->bytes.size || read->offset > o->bytes.size - read->size)
        return dx_fail(err, DX_E_TRUNCATED, "%s: bytes %llu+%zu of an object of %zu", read->object,
                       (unsigned long long)read->offset, read->size, o->bytes.size);
    if (read->size > 0)
        memcpy(read->to, o->bytes.data + read->offset, read->size);
    if (batch->report != NULL && batch->report->seen != NULL) {
        (void)snprintf(batch->report->seen[i].etag, DX_SOURCE_ETAG, "%s",
                       o->etag == NULL ? "" : o->etag);
        batch->report->seen[i].total = o->bytes.size;
    }
    return DX_OK;
}

static int read_batch(struct dx_source *src, const struct dx_source_batch *batch,
                      struct dx_error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        int rc = read_one(src, batch, i, err);

        if (batch->report != NULL)
            dx_source_batch_report_read(batch, i, rc);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int get_object(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
                      char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    const struct dx_memory_object *o = NULL;
    int rc = find(src, get->object, &get->pin, &o, err);

    if (rc < 0)
        return rc;
    (void)snprintf(etag, DX_SOURCE_ETAG, "%s", o->etag == NULL ? "" : o->etag);
    if (get->if_none_match != NULL && strcmp(get->if_none_match, etag) == 0)
        return 0;
    if (o->bytes.size > get->cap)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %zu are allowed", get->object,
                       o->bytes.size, get->cap);
    dx_buf_append(out, o->bytes.data, o->bytes.size);
    return out->failed ? dx_buf_fail(out, err, get->object) : 1;
}

static void close_memory(struct dx_source *src)
{
    free(src);
}

int dx_source_open_memory(struct dx_source **src, const struct dx_memory_object *objects,
                          size_t count, struct dx_error *err)
{
    static const struct dx_source_ops ops = { .read = read_batch,
                                              .get = get_object,
                                              .close = close_memory };
    struct source_memory *memory = calloc(1, sizeof *memory);

    *src = NULL;
    if (memory == NULL)
        return dx_no_memory(err, "objects in memory");
    *memory = (struct source_memory){ { .ops = &ops }, objects, count };
    *src = &memory->source;
    return DX_OK;
}
