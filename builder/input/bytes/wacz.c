/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/wacz.h"

#include <stdlib.h>
#include <strings.h>

#include "base/array.h"
#include "base/buf.h"
#include "builder/input/bytes/input_ranges.h"
#include "builder/input/bytes/zip_directory.h"

struct search {
    struct dx_input_ranges *file;
    struct dx_zip_directory dir;
    struct dx_byte_range *range;
    size_t count;
    size_t room;
};

static int damaged(const struct search *s, const char *why, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: is a zip archive that is damaged or cut: %s; fetch it again",
                   dx_input_ranges_name(s->file), why);
}

static int read_range(const struct search *s, uint64_t offset, uint64_t size, struct dx_buf *b,
                      struct dx_error *err)
{
    uint8_t *to = dx_buf_reserve(b, (size_t)size + 1);
    int rc = to == NULL ? dx_buf_fail(b, err, "directory of a zip archive")
                        : dx_input_ranges_read(s->file, offset, (size_t)size, to, err);

    b->size = rc == DX_OK ? (size_t)size : 0;
    return rc;
}

static bool ends(struct dx_span name, const char *with)
{
    size_t n = strlen(with);

    return name.size > n && strncasecmp((const char *)name.data + name.size - n, with, n) == 0;
}

static bool is_warc(struct dx_span name)
{
    return name.size > 8 && memcmp(name.data, "archive/", 8) == 0 &&
           (ends(name, ".warc.gz") || ends(name, ".warc"));
}

/* Into the ranges. */
static int add_member(struct search *s, const struct dx_zip_member *m, struct dx_error *err)
{
    uint8_t head[DX_ZIP_LOCAL];
    uint64_t end = s->dir.offset; /* of all members */
    uint64_t offset;
    const char *why;
    void *to;
    int rc;

    if (!m->is_stored)
        return dx_fail(
            err, DX_E_UNSUPPORTED,
            "%s: the WARC file at offset %llu is compressed or encrypted by zip, which a "
            "WACZ does not do, so its records have no places; unpack it first: unzip -p "
            "FILE 'archive/*' | domaindex ingest ... -",
            dx_input_ranges_name(s->file), (unsigned long long)m->local);
    if (m->local > end || end - m->local < DX_ZIP_LOCAL)
        return damaged(s, "a member lies outside of it", err);
    rc = dx_input_ranges_read(s->file, m->local, sizeof head, head, err);
    if (rc < 0)
        return rc;
    why = dx_zip_data(dx_span_of(head, sizeof head), m, &offset);
    if (why == NULL && (offset > end || m->size > end - offset))
        why = "a member lies outside of it";
    if (why != NULL)
        return damaged(s, why, err);
    if (m->size == 0)
        return DX_OK;
    to = dx_array_room(s->range, s->count, &s->room, sizeof *s->range);
    if (to == NULL)
        return dx_no_memory(err, "%s", dx_input_ranges_name(s->file));
    s->range = to;
    s->range[s->count++] = (struct dx_byte_range){ offset, m->size };
    return DX_OK;
}

static int by_offset(const void *a, const void *b)
{
    uint64_t x = ((const struct dx_byte_range *)a)->offset;
    uint64_t y = ((const struct dx_byte_range *)b)->offset;

    return (x > y) - (x < y);
}

static int read_members(struct search *s, struct dx_span directory, struct dx_error *err)
{
    struct dx_bytes rest = dx_bytes_of(directory);
    struct dx_zip_member m;
    int rc;

    while ((rc = dx_zip_next(&rest, &m)) > 0) {
        if (is_warc(m.name) && (rc = add_member(s, &m, err)) < 0)
            return rc;
    }
    if (rc < 0)
        return damaged(s, "its directory is not one", err);
    if (s->count > 0)
        qsort(s->range, s->count, sizeof *s->range, by_offset);
    for (size_t i = 1; i < s->count; i++)
        if (s->range[i].offset - s->range[i - 1].offset < s->range[i - 1].size)
            return damaged(s, "members overlap", err);
    return DX_OK;
}

static int read_directory(struct search *s, struct dx_error *err)
{
    uint64_t size = dx_input_ranges_size(s->file);
    uint64_t tail = size < DX_ZIP_TAIL ? size : DX_ZIP_TAIL;
    struct dx_buf b = DX_BUF_INIT(DX_WACZ_DIRECTORY_MAX + 1);
    const char *why = NULL;
    int rc = read_range(s, size - tail, tail, &b, err);

    if (rc == DX_OK)
        why = dx_zip_end(dx_span_of(b.data, b.size), size, &s->dir);
    if (why != NULL)
        rc = damaged(s, why, err);
    else if (rc == DX_OK && s->dir.size > DX_WACZ_DIRECTORY_MAX)
        rc = dx_fail(err, DX_E_LIMIT, "%s: its directory has %llu bytes, over %u",
                     dx_input_ranges_name(s->file), (unsigned long long)s->dir.size,
                     DX_WACZ_DIRECTORY_MAX);
    dx_buf_clear(&b);
    if (rc == DX_OK)
        rc = read_range(s, s->dir.offset, s->dir.size, &b, err);
    if (rc == DX_OK)
        rc = read_members(s, dx_span_of(b.data, b.size), err);
    dx_buf_release(&b);
    return rc;
}

int dx_wacz_find(const char *path, struct dx_byte_range **range, size_t *count,
                 struct dx_error *err)
{
    struct search s = { .file = NULL };
    int rc = dx_input_ranges_open(&s.file, path, err);

    if (rc == DX_OK)
        rc = read_directory(&s, err);
    dx_input_ranges_close(&s.file);
    if (rc < 0) {
        free(s.range);
        s.range = NULL;
        s.count = 0;
    }
    *range = s.range;
    *count = s.count;
    return rc;
}
