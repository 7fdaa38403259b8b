/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/cold_walk.h"

#include "loader/objects.h"
#include "loader/part.h"

#include <stdlib.h>

#define AHEAD_BYTES (256u << 10) /* read at a time */

int dx_cold_walk_begin(struct dx_cold_walk *w, const struct dx_part *part, enum dx_cold_file file,
                       struct dx_error *err)
{
    const struct dx_manifest_file *listed = dx_manifest_file(&part->entry, dx_cold_file_name(file));

    *w = (struct dx_cold_walk){ .part = part, .file = file, .ahead = AHEAD_BYTES };
    if (listed == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s", part->entry.version,
                       dx_cold_file_name(file));
    dx_manifest_place(&part->entry, listed, &w->place);
    w->decoder = dx_zstd_decoder_new();
    return w->decoder != NULL ? DX_OK : dx_no_memory(err, "%s", dx_cold_file_name(file));
}

void dx_cold_walk_close(struct dx_cold_walk *w)
{
    dx_zstd_decoder_free(&w->decoder);
    free(w->raw);
    free(w->room);
    *w = (struct dx_cold_walk){ 0 };
}

static int reserve(const struct dx_cold_walk *w, uint8_t **bytes, size_t *capacity, size_t size,
                   struct dx_error *err)
{
    if (size <= *capacity)
        return DX_OK;
    free(*bytes);
    *bytes = malloc(size);
    *capacity = *bytes == NULL ? 0 : size;
    return *bytes == NULL ? dx_no_memory(err, "%s: %zu bytes", dx_cold_file_name(w->file), size)
                          : DX_OK;
}

/* The pages behind the first that lie right behind each other and are few enough to be one read. */
static int plan_read(const struct dx_cold_walk *w, size_t *size, uint32_t *end,
                     struct dx_error *err)
{
    uint64_t to = w->page.offset + w->page.stored_size;
    int rc = 1;

    *end = w->page.number + 1;
    while (rc == 1) {
        struct dx_cold_page page;

        rc = dx_cold_page(&w->part->cold, w->file, *end, &page, err);
        if (rc != 1 || page.offset != to || to + page.stored_size - w->page.offset > w->ahead)
            break;
        to += page.stored_size;
        ++*end;
    }
    *size = (size_t)(to - w->page.offset);
    return rc < 0 ? rc : DX_OK;
}

static int read_ahead(struct dx_cold_walk *w, struct dx_error *err)
{
    const struct dx_object object = { DX_OBJECT_COLD, w->file };
    const struct dx_pin pin = dx_objects_pin(w->part->objects, object, w->place.total);
    struct dx_read read = { w->place.object, w->place.at + w->page.offset, 0, NULL };
    const struct dx_source_batch batch = { .reads = &read, .pins = &pin, .count = 1 };
    uint32_t end;
    int rc = plan_read(w, &read.size, &end, err);

    w->raw_end = 0;
    if (rc == DX_OK)
        rc = reserve(w, &w->raw, &w->raw_capacity, read.size, err);
    read.to = w->raw;
    if (rc == DX_OK)
        rc = dx_source_read_batch(dx_part_cold_source(w->part, w->file), &batch, err);
    if (rc != DX_OK)
        return rc;
    w->raw_at = w->page.offset;
    w->raw_end = end;
    w->ahead = w->ahead < AHEAD_BYTES / 2 ? 2 * read.size : AHEAD_BYTES;
    return DX_OK;
}

int dx_cold_walk_seek(struct dx_cold_walk *w, uint64_t key, uint32_t sub, struct dx_error *err)
{
    struct dx_cold_page page;
    int rc = dx_cold_find(&w->part->cold, w->file, key, sub, &page, err);

    if (rc != 1 || page.number <= w->next)
        return rc < 0 ? rc : DX_OK;
    w->next = page.number;
    if (page.number >= w->raw_end)
        w->ahead = 0;
    return DX_OK;
}

int dx_cold_walk_next(struct dx_cold_walk *w, struct dx_error *err)
{
    int rc = dx_cold_page(&w->part->cold, w->file, w->next, &w->page, err);

    w->plain = dx_span_of(NULL, 0);
    if (rc <= 0)
        return rc;
    if (w->next >= w->raw_end) {
        rc = read_ahead(w, err);
        if (rc != DX_OK)
            return rc;
    }
    rc = reserve(w, &w->room, &w->room_capacity, w->page.plain_size, err);
    if (rc == DX_OK)
        rc = dx_cold_decode(&w->part->cold, &w->page, w->decoder, w->part->open_flags,
                            dx_span_of(w->raw + (w->page.offset - w->raw_at), w->page.stored_size),
                            w->room, err);
    if (rc < 0)
        return dx_fail_in(err, "version %s", w->part->entry.version);
    w->plain = dx_span_of(w->room, w->page.plain_size);
    w->next++;
    return 1;
}
