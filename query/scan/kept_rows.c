/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/kept_rows.h"

#include <assert.h>

/* Followed by the texts, and before them a struct kept_extra for each extra. Copied in and out: texts have any length, so
 * nothing is aligned. */
struct kept_row {
    int64_t ts_us;
    uint32_t scheme, host, path_query, raw_url; /* bytes */
    uint32_t extra_count;
    bool has_ts, has_raw_url;
};

struct kept_extra {
    uint32_t name, size; /* bytes */
    bool has;
};

void dx_kept_rows_init(struct dx_kept_rows *k)
{
    dx_buf_init(&k->bytes, DX_KEPT_ROWS_BYTES);
}

void dx_kept_rows_release(struct dx_kept_rows *k)
{
    dx_buf_release(&k->bytes);
}

static void add_text(struct dx_buf *b, struct dx_span text)
{
    if (text.size > 0)
        dx_buf_append(b, text.data, text.size);
}

int dx_kept_rows_add(struct dx_kept_rows *k, const struct dx_listing_row *row, size_t *at,
                     struct dx_error *err)
{
    const struct kept_row head = {
        .ts_us = row->ts_us,
        .scheme = (uint32_t)row->scheme.size,
        .host = (uint32_t)row->host.size,
        .path_query = (uint32_t)row->path_query.size,
        .raw_url = (uint32_t)row->raw_url.size,
        .extra_count = (uint32_t)row->extra_count,
        .has_ts = row->has_ts,
        .has_raw_url = row->raw_url.data != NULL,
    };
    struct dx_buf *b = &k->bytes;

    *at = b->size;
    dx_buf_append(b, &head, sizeof head);
    for (size_t i = 0; i < row->extra_count; i++) {
        const struct kept_extra extra = { (uint32_t)row->extra[i].name.size,
                                          (uint32_t)row->extra[i].value.size,
                                          row->extra[i].value.data != NULL };

        dx_buf_append(b, &extra, sizeof extra);
    }
    add_text(b, row->scheme);
    add_text(b, row->host);
    add_text(b, row->path_query);
    add_text(b, row->raw_url);
    for (size_t i = 0; i < row->extra_count; i++) {
        add_text(b, row->extra[i].name);
        add_text(b, row->extra[i].value);
    }
    if (b->no_memory)
        return dx_no_memory(err, "rows of a listing");
    if (b->failed)
        return dx_fail(err, DX_E_LIMIT, "these rows have more than %zu MiB of text",
                       DX_KEPT_ROWS_BYTES >> 20);
    return DX_OK;
}

static struct dx_span take_text(const uint8_t **p, size_t size)
{
    struct dx_span s = dx_span_of(*p, size);

    *p += size;
    return s;
}

void dx_kept_rows_get(const struct dx_kept_rows *k, size_t at, struct dx_listing_row *row)
{
    const uint8_t *extras = k->bytes.data + at + sizeof(struct kept_row);
    struct kept_row head;
    const uint8_t *p;

    assert(at + sizeof head <= k->bytes.size);
    memcpy(&head, k->bytes.data + at, sizeof head);
    p = extras + head.extra_count * sizeof(struct kept_extra);
    row->ts_us = head.ts_us;
    row->has_ts = head.has_ts;
    row->scheme = take_text(&p, head.scheme);
    row->host = take_text(&p, head.host);
    row->path_query = take_text(&p, head.path_query);
    row->raw_url = take_text(&p, head.raw_url);
    if (!head.has_raw_url)
        row->raw_url = dx_span_of(NULL, 0);
    row->extra_count = head.extra_count;
    for (size_t i = 0; i < head.extra_count; i++) {
        struct kept_extra extra;

        memcpy(&extra, extras + i * sizeof extra, sizeof extra);
        row->extra[i].name = take_text(&p, extra.name);
        row->extra[i].value = take_text(&p, extra.size);
        if (!extra.has)
            row->extra[i].value = dx_span_of(NULL, 0);
    }
}

void dx_kept_rows_url(const struct dx_kept_rows *k, size_t at, struct dx_span *host,
                      struct dx_span *path_query)
{
    struct kept_row head;
    const uint8_t *p;

    assert(at + sizeof head <= k->bytes.size);
    memcpy(&head, k->bytes.data + at, sizeof head);
    p = k->bytes.data + at + sizeof head + head.extra_count * sizeof(struct kept_extra) +
        head.scheme;
    *host = take_text(&p, head.host);
    *path_query = take_text(&p, head.path_query);
}
