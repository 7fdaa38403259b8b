/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_host.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "query/scan/url_range.h"

/* In byte order those of each kind stand together: the host; the same with a dot behind it, which others may stand before; "www." before
 * these; all that begin with "www" and a digit. */
enum { OWN, OWN_DOTTED, WWW, WWW_DOTTED, NUMBERED, KINDS };

#define WWW_DOT "www."
#define WWW_SIZE (sizeof WWW_DOT - 1)

/* Else the kinds would not be apart. */
bool dx_cdx_host_can(struct dx_span host)
{
    return host.size > 0 && (host.size < 3 || memcmp(host.data, WWW_DOT, 3) != 0);
}

void dx_cdx_host_init(struct dx_cdx_host *h, struct dx_version *v, const struct dx_part *part,
                      uint64_t ordinal, struct dx_span host, bool alone, uint64_t deadline_ms)
{
    *h = (struct dx_cdx_host){ .host = host, .alone = alone, .exact = alone, .begun = true };
    dx_domain_rows_init(&h->rows, v, part, ordinal, DX_FIELD_URL, deadline_ms);
    dx_row_streams_init(&h->streams, &h->rows);
}

int dx_cdx_host_begin(struct dx_cdx_host *h, struct dx_error *err)
{
    return dx_domain_rows_begin_runs(&h->rows, err);
}

void dx_cdx_host_release(struct dx_cdx_host *h)
{
    if (h->begun) {
        dx_row_streams_release(&h->streams);
        dx_domain_rows_release(&h->rows);
    }
    free(h->ranges);
    *h = (struct dx_cdx_host){ .begun = false };
}

/* ---- where a host stands ---- */

/* To the host: a port behind it, and what begins with that, counts as within unless it stands alone. */
static int side_of(const struct dx_cdx_host *h, struct dx_span host)
{
    bool dotted = h->kind == OWN_DOTTED || h->kind == WWW_DOTTED;
    size_t n = host.size < h->host.size ? host.size : h->host.size;
    int order = n == 0 ? 0 : memcmp(host.data, h->host.data, n);

    if (order != 0 || host.size < h->host.size + dotted)
        return order > 0 ? DX_URL_BEHIND : DX_URL_BEFORE;
    if (dotted && host.data[n++] != '.')
        return host.data[n - 1] > '.' ? DX_URL_BEHIND : DX_URL_BEFORE;
    if (host.size == n)
        return DX_URL_WITHIN;
    return h->alone || host.data[n] > ':' ? DX_URL_BEHIND : DX_URL_WITHIN;
}

static int side_of_numbered(struct dx_span host)
{
    size_t n = host.size < 3 ? host.size : 3;
    int order = memcmp(host.data, WWW_DOT, n);

    if (order != 0 || host.size < WWW_SIZE)
        return order > 0 ? DX_URL_BEHIND : DX_URL_BEFORE;
    return host.data[3] < '0' ? DX_URL_BEFORE : host.data[3] > '9' ? DX_URL_BEHIND : DX_URL_WITHIN;
}

static int side_of_www(const struct dx_cdx_host *h, struct dx_span host)
{
    size_t n = host.size < WWW_SIZE ? host.size : WWW_SIZE;
    int order = memcmp(host.data, WWW_DOT, n);

    if (order != 0 || host.size < WWW_SIZE)
        return order > 0 ? DX_URL_BEHIND : DX_URL_BEFORE;
    return side_of(h, dx_span_of(host.data + WWW_SIZE, host.size - WWW_SIZE));
}

static int side(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row)
{
    const struct dx_cdx_host *h = ctx;

    (void)stream;
    (void)place;
    return h->kind == NUMBERED ? side_of_numbered(row->host)
           : h->kind >= WWW    ? side_of_www(h, row->host)
                               : side_of(h, row->host);
}

/* ---- the search ---- */

/* What was found of a kind; then all is looked at again. */
static int take_ranges(struct dx_cdx_host *h, struct dx_error *err)
{
    for (size_t i = 0; i < h->streams.count; i++) {
        struct dx_row_stream *st = &h->streams.streams[i];
        const struct dx_domain_rows_range found = { st->pair, st->low, st->high };
        struct dx_domain_rows_range *to;

        st->low = st->first;
        st->high = st->end;
        if (found.first == found.end)
            continue;
        to = dx_array_room(h->ranges, h->count, &h->capacity, sizeof *to);
        if (to == NULL)
            return dx_no_memory(err, "rows of a host");
        h->ranges = to;
        h->ranges[h->count++] = found;
        h->exact = h->exact && h->kind != NUMBERED;
    }
    return DX_OK;
}

int dx_cdx_host_step(struct dx_cdx_host *h, struct dx_error *err)
{
    int rc = dx_row_streams_open(&h->streams, err);

    while (rc == DX_LISTING_DONE && h->kind < KINDS) {
        if (!h->searching)
            dx_row_streams_search(&h->streams,
                                  &(struct dx_row_streams_question){ .ctx = h, .side = side });
        h->searching = true;
        rc = dx_row_streams_find(&h->streams, err);
        if (rc != DX_LISTING_DONE)
            break;
        rc = take_ranges(h, err);
        h->searching = false;
        h->kind += h->alone || h->kind == NUMBERED ? 1
                                                   : 2; /* beside ports, the dot is among them */
    }
    if (rc != DX_LISTING_DONE)
        return rc;
    dx_domain_rows_sort(h->ranges, h->count);
    for (size_t i = 0; i < h->count; i++)
        h->total += dx_cdx_host_visible(h, &h->ranges[i]);
    return DX_LISTING_DONE;
}

uint64_t dx_cdx_host_visible(const struct dx_cdx_host *h, const struct dx_domain_rows_range *r)
{
    struct dx_domain_rows_place first = { h->rows.pairs[r->pair].dataset_id, r->first };
    struct dx_domain_rows_place end = { first.dataset_id, r->end };
    uint64_t before = 0;
    uint64_t upto = 0;

    assert(r->pair < h->rows.pair_count);
    (void)dx_domain_rows_before(&h->rows, &first, &before);
    (void)dx_domain_rows_before(&h->rows, &end, &upto);
    return upto - before;
}

struct dx_read_batch *dx_cdx_host_reading(struct dx_cdx_host *h)
{
    return dx_row_streams_reading(&h->streams);
}

int dx_cdx_host_fetched(struct dx_cdx_host *h, int rc, struct dx_error *err)
{
    return dx_row_streams_fetched(&h->streams, rc, err);
}
